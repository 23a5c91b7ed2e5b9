--
-- Queues that submissions create: their guarantee and use, and the functions
-- that change them (docs/design.md 5).
--
-- The two tables have no foreign key, so that queue can be truncated. The check at commit deletes
-- rows here whose queue has been removed.
--

CREATE TABLE yquota_internal.active_leaf (
	queue yquota.queue_path NOT NULL,
	label text COLLATE "C" NOT NULL,
	PRIMARY KEY (queue, label)
);
COMMENT ON TABLE yquota_internal.active_leaf IS
	'Leaf queues below managed parents that now have the capacity of their template, per label.  All other leaves below managed parents have no guarantee';
COMMENT ON COLUMN yquota_internal.active_leaf.label IS 'partition of the nodes; empty for the default partition';

-- Makes sessions compute limits again: limits of queues depend on active_leaf, although its rows
-- are not configuration.
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.active_leaf
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota_internal.active_leaf
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

CREATE TABLE yquota_internal.created_queue (
	queue yquota.queue_path PRIMARY KEY,
	last_used_at timestamptz NOT NULL,
	is_marked boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX created_queue_marked_idx ON yquota_internal.created_queue (queue) WHERE is_marked;
COMMENT ON TABLE yquota_internal.created_queue IS
	'Queues created below parents with auto-queue-creation-v2.enabled, with the time of their last use';
COMMENT ON COLUMN yquota_internal.created_queue.last_used_at IS
	'yquota''s clock when an application was last submitted to the queue, or a queue was last created below it.  The time may be too early by up to a tenth of the expiration time';
COMMENT ON COLUMN yquota_internal.created_queue.is_marked IS 'true if the last run of remove_unused_queues() found the queue empty';

CREATE FUNCTION yquota.create_queue(path text) RETURNS SETOF text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_create_queue';
COMMENT ON FUNCTION yquota.create_queue(text) IS
	'Create a leaf queue and its missing parents, as a submission to that queue would.  Returns the paths of the created queues; no row if the queue exists';

CREATE FUNCTION yquota.manage_queues() RETURNS TABLE (queue text, label text, active boolean)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_manage_queues';
COMMENT ON FUNCTION yquota.manage_queues() IS
	'Below managed parents, take the guarantee from leaves without applications, and give it to leaves with applications.  Returns the changes.  The worker calls it when QueueManagementDynamicEditPolicy is in force';

CREATE FUNCTION yquota.remove_unused_queues() RETURNS SETOF text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_remove_unused_queues';
COMMENT ON FUNCTION yquota.remove_unused_queues() IS
	'Mark empty queues that were created automatically (second generation), and remove marked ones that have been idle for longer than the expiration time.  Returns the paths of the removed queues.  The worker calls it when AutoCreatedQueueDeletionPolicy is in force';

-- Intervals at which the worker runs the two policies; NULL means never.
CREATE FUNCTION yquota_internal.queue_policy_intervals(OUT manage_interval_ms bigint, OUT removal_interval_ms bigint)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT max(CASE WHEN p.policy ~ E'(^|\\.)QueueManagementDynamicEditPolicy$'
				   THEN coalesce(s.queue_management_monitoring_interval, 1500) END),
			   max(CASE WHEN p.policy ~ E'(^|\\.)AutoCreatedQueueDeletionPolicy$'
				   THEN coalesce(s.auto_queue_creation_v2_queue_expiration_time, 300) * 1000 END)
		FROM yquota.scheduler_setting AS s
		CROSS JOIN unnest(s.scheduler_monitor_policies) AS p (policy)
		WHERE s.scheduler_monitor_enable;
$$;
COMMENT ON FUNCTION yquota_internal.queue_policy_intervals() IS
	'Return the milliseconds between two runs of manage_queues() and of remove_unused_queues(), as configured';

SELECT pg_extension_config_dump('yquota_internal.active_leaf', '');
SELECT pg_extension_config_dump('yquota_internal.created_queue', '');
