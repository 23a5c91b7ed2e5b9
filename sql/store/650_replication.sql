--
-- Logical replication.  The books are replicated as data: statement triggers do
-- not fire where changes are applied, so nothing is charged there, and need not
-- be, because the ledger comes along (docs/operations.md).
--

-- Tables without a key that rows leave: without this a publication of them, such
-- as one for all tables, would make every DELETE fail.
ALTER TABLE yquota_internal.charge_rollup REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.charged_through REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.correction_due REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.counter_delta REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.deferred_event REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.discarded_event REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.event_without_effect REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.voided_event REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.feed_counter REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.rate_class_counter REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.opportunistic_change REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.opportunistic_counting REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.reported_end REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.skipped_waiting REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.usage_counter REPLICA IDENTITY FULL;
ALTER TABLE yquota.container_change REPLICA IDENTITY FULL;
ALTER TABLE yquota.role_grant REPLICA IDENTITY FULL;
ALTER TABLE yquota.spending_threshold REPLICA IDENTITY FULL;

-- Sessions must drop cached prices, projects and nodes also when a subscription
-- applies a change, and when rows are loaded as a replica.
CREATE TRIGGER invalidate_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.pricing_change
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.invalidate_prices();
ALTER TABLE yquota.pricing_change ENABLE REPLICA TRIGGER invalidate_applied;
ALTER TABLE yquota.project ENABLE ALWAYS TRIGGER signal_change;
ALTER TABLE yquota.node ENABLE ALWAYS TRIGGER signal_change, ENABLE ALWAYS TRIGGER signal_update;
ALTER TABLE yquota.event_reject ENABLE ALWAYS TRIGGER signal_change, ENABLE ALWAYS TRIGGER signal_removal;

-- Sessions must likewise drop cached decisions about queues and effective properties.
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.queue
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.queue ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.queue_label
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.queue_label ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.queue_user
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.queue_user ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.user_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.user_setting ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.mapping_rule
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.mapping_rule ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.scheduler_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.scheduler_setting ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.wildcard_template
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.wildcard_template ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.unmapped_property
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.unmapped_property ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.multi_node_sorting_policy
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.multi_node_sorting_policy ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.node_label
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.node_label ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.workflow_priority_mapping
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.workflow_priority_mapping ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.over_allocation
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.over_allocation ENABLE REPLICA TRIGGER signal_applied;
CREATE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.reservation_queue
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.reservation_queue ENABLE REPLICA TRIGGER signal_applied;
ALTER TABLE yquota_internal.active_leaf ENABLE ALWAYS TRIGGER signal_change;
ALTER TABLE yquota.request_interceptor ENABLE ALWAYS TRIGGER signal_change;

CREATE FUNCTION yquota.publication_commands(name text DEFAULT 'yquota') RETURNS SETOF text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH published AS (
		SELECT class.oid::regclass::text AS relation,
			   -- append-only tables; rows leave the others for reasons of this
			   -- database: compaction and archiving
			   (class.relreplident = 'd' AND NOT EXISTS (
					SELECT FROM pg_index AS index WHERE index.indrelid = class.oid AND index.indisprimary))
			   OR class.oid IN ('yquota.container_change'::regclass,
								'yquota_internal.charged_through'::regclass,
								'yquota_internal.counter_delta'::regclass) AS only_inserted
		FROM pg_extension AS extension
		JOIN pg_class AS class ON class.oid = ANY (extension.extconfig)
		WHERE extension.extname = 'yquota' AND class.relkind = 'r'
		  -- not the effects of archiving on this database
		  AND class.oid NOT IN ('yquota.history_segment'::regclass, 'yquota.opening_balance'::regclass,
								'yquota.archived_history'::regclass, 'yquota.written_history'::regclass,
								'yquota_internal.archived_cost'::regclass,
								'yquota_internal.archived_cost_since'::regclass,
								'yquota_internal.archived_preemption'::regclass,
								'yquota_internal.carried_container'::regclass,
								'yquota_internal.released_log'::regclass)
		  -- nor counters that follow from counter_delta
		  AND class.oid NOT IN ('yquota_internal.correction_due'::regclass,
								'yquota_internal.feed_counter'::regclass,
								'yquota_internal.node_counter'::regclass,
								'yquota_internal.project_counter'::regclass,
								'yquota_internal.rate_class_counter'::regclass,
								'yquota_internal.usage_counter'::regclass)
		  -- nor rows that only the publisher can charge
		  AND class.oid <> 'yquota_internal.deferred_event'::regclass
		  -- nor clusters that the foreign tables of this database read
		  AND class.oid <> 'yquota.federated_cluster'::regclass
		  -- nor roles and audit: a copy has roles of its own
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
	'The commands that publish the books for a copy by logical replication: name_books and name_state, to subscribe to together';

CREATE FUNCTION yquota.sequence_commands() RETURNS SETOF text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
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
END;
COMMENT ON FUNCTION yquota.sequence_commands() IS
	'The commands that have a copy by logical replication go on with the numbers of this database, for a switch-over: sequences are not replicated';
