--
-- The log of changes of the configuration, as Hadoop's stores keep it.  The view reads the audit.
-- For each change, however it was made, the view shows the role, Hadoop's property, and its old and
-- new value. The view shows at most yarn.scheduler.configuration.store.max-logs entries; the audit
-- keeps all of them.
--

CREATE VIEW yquota.configuration_mutation WITH (security_barrier) AS
	WITH pattern AS MATERIALIZED (
		SELECT p.*, CASE p.notation WHEN 'mappings' THEN 'legacy' WHEN 'application mappings' THEN 'application'
								    WHEN 'json rules' THEN 'json' END AS kind
		FROM yquota_internal.hadoop_pattern AS p
	), entry AS (
		SELECT a.audit_id, a.changed_at, a.transaction_id, a.session_role, a.acting_role, a.caller,
			   split_part(a.table_name, '.', 2) AS table_name, a.operation, a.old, a.new, coalesce(a.new, a.old) AS either,
			   max(a.audit_id) OVER (PARTITION BY a.transaction_id, a.pid) AS last_audit_id
		FROM yquota.audit AS a
		WHERE a.table_name IN (SELECT 'yquota.' || p.table_name FROM pattern AS p
							   UNION ALL VALUES ('yquota.unmapped_property'))
		  AND coalesce(a.new, a.old) ->> 'auto_created' IS DISTINCT FROM 'true'
	), ranked AS (
		SELECT e.*, dense_rank() OVER (ORDER BY e.last_audit_id DESC) AS rank,
			   coalesce(e.either ->> 'path', e.either ->> 'queue') AS owner,
			   coalesce(e.either ->> 'label', e.either ->> 'username', e.either ->> 'name') AS name
		FROM entry AS e
	), kept AS (
		SELECT r.* FROM ranked AS r
		WHERE r.rank <= coalesce((SELECT s.configuration_store_max_logs FROM yquota.scheduler_setting AS s), 1000)
	), change AS (
		-- show properties with a column of their own
		SELECT k.audit_id, p.head || coalesce(k.owner, '') || coalesce(p.middle, '') || CASE WHEN p.has_name THEN k.name ELSE '' END || p.tail AS property,
			   yquota_internal.hadoop_text(p.notation, k.old -> p.column_name) AS old,
			   yquota_internal.hadoop_text(p.notation, k.new -> p.column_name) AS new
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name
		WHERE p.column_name IS NOT NULL AND NOT p.is_option AND p.notation <> 'children'
		  AND (k.old -> p.column_name) IS DISTINCT FROM (k.new -> p.column_name)
		  AND yquota_internal.is_name_of_setting(p.is_former, p.column_name, k.either -> 'former_names')
		UNION ALL
		-- show properties that share a column
		SELECT k.audit_id, p.head || k.owner || p.middle || o.option || p.tail, k.old -> p.column_name ->> o.option, k.new -> p.column_name ->> o.option
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name AND p.is_option
		CROSS JOIN LATERAL (SELECT jsonb_object_keys(coalesce(k.old -> p.column_name, '{}') || coalesce(k.new -> p.column_name, '{}')) AS option) AS o
		WHERE (k.old -> p.column_name -> o.option) IS DISTINCT FROM (k.new -> p.column_name -> o.option)
		UNION ALL
		-- show properties that list the children of a queue
		SELECT k.audit_id, p.head || (k.either ->> 'parent') || p.middle, k.old ->> 'name', k.new ->> 'name'
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name AND p.notation = 'children'
		WHERE k.operation IN ('INSERT', 'DELETE') AND k.either ? 'parent'
		UNION ALL
		-- show properties whose elements are rows
		SELECT k.audit_id, p.property, yquota_internal.hadoop_rows_text(p.notation, CASE WHEN k.old IS NOT NULL THEN jsonb_build_array(k.old) END),
			   yquota_internal.hadoop_rows_text(p.notation, CASE WHEN k.new IS NOT NULL THEN jsonb_build_array(k.new) END)
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name AND p.column_name IS NULL
		WHERE k.operation <> 'TRUNCATE' AND (p.kind IS NULL OR p.kind = k.either ->> 'kind')
		UNION ALL
		SELECT k.audit_id, k.either ->> 'property', k.old ->> 'value', k.new ->> 'value'
		FROM kept AS k WHERE k.table_name = 'unmapped_property' AND k.operation <> 'TRUNCATE'
		UNION ALL
		SELECT k.audit_id, NULL, NULL, NULL FROM kept AS k WHERE k.operation = 'TRUNCATE'
	)
	SELECT k.audit_id, k.changed_at, k.transaction_id, k.session_role, k.acting_role, k.caller,
		   k.table_name, k.operation, c.property, c.old, c.new
	FROM kept AS k JOIN change AS c ON c.audit_id = k.audit_id
	ORDER BY k.audit_id DESC, c.property COLLATE "C";
COMMENT ON VIEW yquota.configuration_mutation IS
	'Changes of the configuration as changes of Hadoop''s properties, the newest first.  The view shows the last transactions that changed the configuration, at most yarn.scheduler.configuration.store.max-logs (1000) of them.  Older changes are in audit';
COMMENT ON COLUMN yquota.configuration_mutation.audit_id IS 'row of the audit';
COMMENT ON COLUMN yquota.configuration_mutation.changed_at IS 'system''s clock';
COMMENT ON COLUMN yquota.configuration_mutation.transaction_id IS 'number that all changes of one transaction share';
COMMENT ON COLUMN yquota.configuration_mutation.session_role IS 'role that logged in';
COMMENT ON COLUMN yquota.configuration_mutation.acting_role IS 'role with whose rights the statement ran';
COMMENT ON COLUMN yquota.configuration_mutation.caller IS 'user on whose behalf the change was made; NULL: none was named';
COMMENT ON COLUMN yquota.configuration_mutation.table_name IS 'without its schema';
COMMENT ON COLUMN yquota.configuration_mutation.operation IS 'INSERT, UPDATE, DELETE or TRUNCATE of a row';
COMMENT ON COLUMN yquota.configuration_mutation.property IS 'full name of the property in Hadoop; for lists of queues, rules and workflows a row for each added or removed element; NULL for TRUNCATE';
COMMENT ON COLUMN yquota.configuration_mutation.old IS 'value in the notation of Hadoop''s files; NULL: not set';
COMMENT ON COLUMN yquota.configuration_mutation.new IS 'value after the change, in the same notation; NULL: not set';
