--
-- Logical replication copies the books as data. A subscriber fires no statement triggers when it
-- applies changes, so the copy charges nothing. The copy receives the ledger instead
-- (docs/backup.md).
--

-- Sets the replica identity of tables that have no key, but from which rows are deleted. Otherwise
-- a publication such as FOR ALL TABLES would make every DELETE on them fail.
DO $$
DECLARE
	unkeyed regclass;
BEGIN
	FOREACH unkeyed IN ARRAY '{
		yquota.container_change, yquota.role_grant, yquota.spending_threshold, yquota_internal.charge_rollup,
		yquota_internal.charged_through, yquota_internal.correction_due, yquota_internal.counter_delta,
		yquota_internal.deferred_event, yquota_internal.discarded_event, yquota_internal.event_without_effect,
		yquota_internal.feed_counter, yquota_internal.opportunistic_change, yquota_internal.opportunistic_counting,
		yquota_internal.rate_class_counter, yquota_internal.reported_end, yquota_internal.skipped_waiting,
		yquota_internal.usage_counter, yquota_internal.voided_event}'::regclass[]
	LOOP
		EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', unkeyed);
	END LOOP;
END
$$;

-- Makes sessions drop cached prices, projects and nodes also when a subscription applies a
-- change, and when rows are loaded with session_replication_role = replica.
CREATE TRIGGER invalidate_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.pricing_change
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.invalidate_prices();
ALTER TABLE yquota.pricing_change ENABLE REPLICA TRIGGER invalidate_applied;
ALTER TABLE yquota.project ENABLE ALWAYS TRIGGER signal_change;
ALTER TABLE yquota.node ENABLE ALWAYS TRIGGER signal_change, ENABLE ALWAYS TRIGGER signal_update;
ALTER TABLE yquota.node_label_history ENABLE ALWAYS TRIGGER signal_change;
ALTER TABLE yquota.event_reject ENABLE ALWAYS TRIGGER signal_change, ENABLE ALWAYS TRIGGER signal_removal;

-- Makes sessions likewise drop cached decisions about queues and effective properties.
DO $$
DECLARE
	configured regclass;
BEGIN
	FOREACH configured IN ARRAY '{
		yquota.mapping_rule, yquota.multi_node_sorting_policy, yquota.node_label, yquota.over_allocation,
		yquota.queue, yquota.queue_label, yquota.queue_user, yquota.reservation_queue, yquota.scheduler_setting,
		yquota.unmapped_property, yquota.user_setting, yquota.wildcard_template, yquota.workflow_priority_mapping}'::regclass[]
	LOOP
		EXECUTE format('CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON %s
			FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change()', configured);
		EXECUTE format('ALTER TABLE %s ENABLE REPLICA TRIGGER signal_applied', configured);
	END LOOP;
END
$$;
ALTER TABLE yquota_internal.active_leaf ENABLE ALWAYS TRIGGER signal_change;
ALTER TABLE yquota.request_interceptor ENABLE ALWAYS TRIGGER signal_change;

CREATE FUNCTION yquota.publication_commands(name text DEFAULT 'yquota') RETURNS SETOF text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH published AS (
		SELECT class.oid::regclass::text AS relation,
			   -- publish no DELETEs of append-only tables: this database deletes their rows only to compact or archive
			   -- them
			   (class.relreplident = 'd' AND NOT EXISTS (
					SELECT FROM pg_index AS index WHERE index.indrelid = class.oid AND index.indisprimary))
			   OR class.oid IN ('yquota.container_change'::regclass,
								'yquota_internal.charged_through'::regclass,
								'yquota_internal.counter_delta'::regclass) AS only_inserted
		FROM pg_extension AS extension
		JOIN pg_class AS class ON class.oid = ANY (extension.extconfig)
		WHERE extension.extname = 'yquota' AND class.relkind = 'r'
		  -- leave out tables that describe the archiving of this database
		  AND class.oid NOT IN ('yquota.history_segment'::regclass, 'yquota.opening_balance'::regclass,
								'yquota.archived_history'::regclass, 'yquota.written_history'::regclass,
								'yquota_internal.archived_cost'::regclass,
								'yquota_internal.archived_cost_since'::regclass,
								'yquota_internal.archived_preemption'::regclass,
								'yquota_internal.archived_quantity'::regclass,
								'yquota_internal.carried_container'::regclass,
								'yquota_internal.released_log'::regclass)
		  -- leave out counters, which can be computed from counter_delta
		  AND class.oid NOT IN ('yquota_internal.correction_due'::regclass,
								'yquota_internal.feed_counter'::regclass,
								'yquota_internal.node_counter'::regclass,
								'yquota_internal.project_counter'::regclass,
								'yquota_internal.rate_class_counter'::regclass,
								'yquota_internal.usage_counter'::regclass)
		  -- leave out rows that only the publisher can still charge
		  AND class.oid <> 'yquota_internal.deferred_event'::regclass
		  -- leave out federated clusters, which need the foreign tables of this database
		  AND class.oid <> 'yquota.federated_cluster'::regclass
		  -- leave out roles and audit, because a copy has its own roles
		  AND class.oid NOT IN ('yquota.audit'::regclass, 'yquota.role_grant'::regclass)
	)
	SELECT format('CREATE PUBLICATION %I FOR TABLE %s WITH (publish = %L)',
				  publication_commands.name || CASE WHEN published.only_inserted THEN '_books' ELSE '_state' END,
				  string_agg('ONLY ' || published.relation, ', ' ORDER BY published.relation),
				  CASE WHEN published.only_inserted THEN 'insert' ELSE 'insert, update, delete' END)
	FROM published
	GROUP BY published.only_inserted
	ORDER BY published.only_inserted DESC;
END;
COMMENT ON FUNCTION yquota.publication_commands(text) IS
	'Return the commands that publish the books for a copy by logical replication.  One subscription subscribes to both publications, name_books and name_state';

CREATE FUNCTION yquota.sequence_commands() RETURNS SETOF text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
	WITH sequence AS MATERIALIZED (
		SELECT class.oid::regclass AS relation
		FROM pg_extension AS extension
		JOIN pg_class AS class ON class.oid = ANY (extension.extconfig)
		WHERE extension.extname = 'yquota' AND class.relkind = 'S'
	)
	SELECT format('SELECT pg_catalog.setval(%1$L, greatest(%2$s, pg_catalog.pg_sequence_last_value(%1$L)))',
				  sequence.relation, pg_sequence_last_value(sequence.relation))
	FROM sequence
	WHERE pg_sequence_last_value(sequence.relation) IS NOT NULL
	ORDER BY sequence.relation::text;
$$;
COMMENT ON FUNCTION yquota.sequence_commands() IS
	'Return the commands that set the sequences of a copy by logical replication, for a switch-over, because sequences are not replicated';
