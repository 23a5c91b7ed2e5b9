--
-- The audit has a row for every change of configuration, prices, grants and projects. The row holds
-- the role, the time, the client address, and the old and new values.
--
-- Frequent automatic changes are not audited: events and their results, nodes, reported utilization
-- and demand, alerts, and the state of the worker. Multipliers and factors that compute_prices()
-- writes are not audited either. Their append-only timelines already have the time, the role, and
-- the utilization or load. Decisions of administrators about events are in event_void and in the
-- log of events.
--

CREATE TABLE yquota.audit (
	audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	table_name text COLLATE "C" NOT NULL,
	operation text COLLATE "C" NOT NULL CHECK (operation IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')),
	old jsonb,
	new jsonb,
	session_role name NOT NULL DEFAULT session_user,
	acting_role name NOT NULL DEFAULT yquota_internal.acting_role(),
	caller text,
	client_address inet DEFAULT inet_client_addr(),
	application_name text DEFAULT current_setting('application_name'),
	pid integer NOT NULL DEFAULT pg_backend_pid(),
	transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id()
);
COMMENT ON TABLE yquota.audit IS
	'Changes of configuration, prices, grants and projects, with their roles: one row per changed row, and one per TRUNCATE.  Append-only';
COMMENT ON COLUMN yquota.audit.audit_id IS 'primary key';
COMMENT ON COLUMN yquota.audit.changed_at IS 'clock of the system, not of yquota';
COMMENT ON COLUMN yquota.audit.table_name IS 'with its schema';
COMMENT ON COLUMN yquota.audit.operation IS 'INSERT, UPDATE, DELETE or TRUNCATE';
COMMENT ON COLUMN yquota.audit.old IS 'the row as it was; NULL for INSERT and TRUNCATE';
COMMENT ON COLUMN yquota.audit.new IS 'the row as it is; NULL for DELETE and TRUNCATE';
COMMENT ON COLUMN yquota.audit.session_role IS 'role that logged in';
COMMENT ON COLUMN yquota.audit.acting_role IS 'role with whose rights the statement ran: the owner if a function of yquota made the change';
COMMENT ON COLUMN yquota.audit.caller IS 'user of the cluster for whom mutate_configuration() made the change; NULL: none was named';
COMMENT ON COLUMN yquota.audit.client_address IS 'NULL for a connection by a socket of the same machine, and for the worker';
COMMENT ON COLUMN yquota.audit.application_name IS 'name that the session gives itself';
COMMENT ON COLUMN yquota.audit.pid IS 'process id of the server process';
COMMENT ON COLUMN yquota.audit.transaction_id IS 'number that all rows of one transaction share';

ALTER TABLE yquota.audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.audit FOR SELECT
	USING ((SELECT yquota_internal.reads_all()));
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.audit
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Only triggers of the audited tables write the audit.', 'Read it.');

CREATE FUNCTION yquota_internal.note_audit_as_owner() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	-- write times and numbers independently of the settings of the session
	SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres'
	AS $$
BEGIN
	-- skip while a dump is restored, because the dump contains the audit
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	-- nest conditions, because NEW has other columns in other tables
	IF TG_OP = 'INSERT' AND yquota_internal.acting_role() = current_user THEN
		IF TG_TABLE_NAME = 'price' THEN
			IF NOT NEW.pinned AND NEW.utilization IS NOT NULL THEN
				RETURN NULL;
			END IF;
		ELSIF TG_TABLE_NAME = 'price_factor' THEN
			IF NEW.load IS NOT NULL THEN
				RETURN NULL;
			END IF;
		END IF;
	END IF;
	INSERT INTO yquota.audit (table_name, operation, old, new)
	VALUES (TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP,
			CASE WHEN TG_OP IN ('UPDATE', 'DELETE') THEN to_jsonb(OLD) END,
			CASE WHEN TG_OP IN ('INSERT', 'UPDATE') THEN to_jsonb(NEW) END);
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_audit_as_owner() IS
	'Write a row of the audit for each changed row, except for multipliers and factors that compute_prices() publishes';

CREATE FUNCTION yquota_internal.note_audit() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota_internal.note_audit() IS
	'Trigger of audited tables: run note_audit_as_owner(), which finds the role that made the change';

-- Audits only switching the worker on or off, and no other change of its state.
CREATE TRIGGER audit_insert AFTER INSERT ON yquota_internal.worker_state
	FOR EACH ROW WHEN (NEW.stopped_on_purpose)
	EXECUTE FUNCTION yquota_internal.note_audit();
CREATE TRIGGER audit AFTER UPDATE OF stopped_on_purpose ON yquota_internal.worker_state
	FOR EACH ROW WHEN (OLD.stopped_on_purpose <> NEW.stopped_on_purpose)
	EXECUTE FUNCTION yquota_internal.note_audit();

-- Writes the audit of queues per statement, because imports change thousands of queues. The
-- arguments of the trigger are the key columns, by which the function matches the old and new rows
-- of an UPDATE. If the key has changed, the audit row has no old values.
CREATE FUNCTION yquota_internal.note_audit_of_statement_as_owner() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		INSERT INTO yquota.audit (table_name, operation, new)
		SELECT TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP, jsonb_strip_nulls(yquota_internal.set_columns(n)) FROM new_rows AS n;
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO yquota.audit (table_name, operation, old)
		SELECT TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP, jsonb_strip_nulls(yquota_internal.set_columns(o)) FROM old_rows AS o;
	ELSE
		INSERT INTO yquota.audit (table_name, operation, old, new)
		SELECT TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME,
			   CASE WHEN n.was IS NULL THEN 'DELETE' WHEN o.was IS NULL THEN 'INSERT' ELSE TG_OP END, o.was, n.was
		FROM (SELECT j AS was, ARRAY(SELECT j ->> k FROM unnest(TG_ARGV) AS k) AS key
			  FROM old_rows AS r, jsonb_strip_nulls(yquota_internal.set_columns(r)) AS j) AS o
		FULL JOIN (SELECT j AS was, ARRAY(SELECT j ->> k FROM unnest(TG_ARGV) AS k) AS key
				   FROM new_rows AS r, jsonb_strip_nulls(yquota_internal.set_columns(r)) AS j) AS n ON n.key = o.key;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_audit_of_statement_as_owner() IS
	'Write a row of the audit for each row that a statement changed, without columns that are NULL. An UPDATE of the key is recorded as DELETE and INSERT';

CREATE FUNCTION yquota_internal.note_audit_of_statement() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota_internal.note_audit_of_statement() IS
	'Trigger of audited tables: run note_audit_of_statement_as_owner(), which finds the role that made the change';

-- Creates the triggers on the tables into which administrators may insert, except reports of the
-- cluster. Tables that functions write for administrators get the triggers, too.
DO $$
DECLARE
	audited record;
BEGIN
	FOR audited IN
		SELECT class.oid::regclass AS name,
			   class.relname = ANY ('{
					mapping_rule,multi_node_sorting_policy,node_label,opportunistic_price,over_allocation,queue,
					queue_label,queue_user,request_interceptor,scheduler_setting,unmapped_property,user_setting,
					wildcard_template,workflow_priority_mapping}') AS by_statement,
			   (SELECT string_agg(quote_literal(attribute.attname), ', ' ORDER BY k.position)
				FROM pg_index AS index, unnest(index.indkey) WITH ORDINALITY AS k (attnum, position), pg_attribute AS attribute
				WHERE index.indrelid = class.oid AND index.indisprimary
				  AND attribute.attrelid = class.oid AND attribute.attnum = k.attnum) AS key
		FROM pg_class AS class
		WHERE class.relkind = 'r'
		  AND (class.relname <> ALL ('{node,node_label_history,pending_demand,utilization}')
			   AND class.oid IN (SELECT privilege.objid FROM yquota_internal.privilege AS privilege
								 WHERE privilege.object_kind = 'TABLE' AND privilege.privilege = 'INSERT' AND 'admin' = ANY (privilege.kinds))
			   OR class.oid = ANY ('{yquota.base_price, yquota.closed_period, yquota.credit_transfer,
					yquota.federated_cluster, yquota.price, yquota.price_pin, yquota.role_grant, yquota_internal.clock_setting}'::regclass[]))
	LOOP
		IF audited.by_statement THEN
			EXECUTE format('CREATE TRIGGER audit_insert AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows
				FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement(%2$s)', audited.name, audited.key);
			EXECUTE format('CREATE TRIGGER audit_update AFTER UPDATE ON %1$s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
				FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement(%2$s)', audited.name, audited.key);
			EXECUTE format('CREATE TRIGGER audit_delete AFTER DELETE ON %1$s REFERENCING OLD TABLE AS old_rows
				FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement(%2$s)', audited.name, audited.key);
		ELSE
			EXECUTE format('CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON %s
				FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit()', audited.name);
		END IF;
		EXECUTE format('CREATE TRIGGER audit_truncate AFTER TRUNCATE ON %s
			FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit()', audited.name);
	END LOOP;
END
$$;

SELECT pg_extension_config_dump('yquota.audit', '');
SELECT pg_extension_config_dump('yquota.audit_audit_id_seq', '');
