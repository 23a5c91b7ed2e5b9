--
-- Queues that submissions create: their guarantee and use, and the functions
-- that change them (docs/design.md 5).
--
-- The two tables have no foreign key, so that queues can be truncated; the
-- check at commit deletes their rows about removed queues.
--

CREATE TABLE yquota_internal.active_leaf (
	queue yquota.queue_path NOT NULL,
	label text COLLATE "C" NOT NULL,
	PRIMARY KEY (queue, label)
);
COMMENT ON TABLE yquota_internal.active_leaf IS
	'Leaves of managed parents that have the capacity of their template, per label; all others have none guaranteed';
COMMENT ON COLUMN yquota_internal.active_leaf.label IS 'partition of the nodes; empty for the default one';

-- Limits of queues depend on active_leaf, although its rows are not configuration.
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
	'Queues that were created below parents with auto-queue-creation-v2.enabled, with their last use';
COMMENT ON COLUMN yquota_internal.created_queue.last_used_at IS
	'yquota''s clock when an application was submitted, or a queue created below it; up to a tenth of the expiration time too early';
COMMENT ON COLUMN yquota_internal.created_queue.is_marked IS 'whether the last run of remove_unused_queues() found it empty';

CREATE FUNCTION yquota.create_queue(path text) RETURNS SETOF text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_create_queue';
COMMENT ON FUNCTION yquota.create_queue(text) IS
	'Creates a leaf, and parents that it lacks, as a submission to it would; returns the paths of the created queues, none if the queue exists';

CREATE FUNCTION yquota.manage_queues() RETURNS TABLE (queue text, label text, active boolean)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_manage_queues';
COMMENT ON FUNCTION yquota.manage_queues() IS
	'Takes the guarantee of leaves of managed parents that have no applications, and gives it to those that have some; returns the changes.  The worker does it when QueueManagementDynamicEditPolicy is in force';

CREATE FUNCTION yquota.remove_unused_queues() RETURNS SETOF text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_remove_unused_queues';
COMMENT ON FUNCTION yquota.remove_unused_queues() IS
	'Marks automatically created queues of the second generation that are empty, and removes those that were marked and have been idle for longer than the expiration time; returns the paths of these.  The worker does it when AutoCreatedQueueDeletionPolicy is in force';

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
	'Milliseconds between two runs of manage_queues() and of remove_unused_queues() that the configuration asks for';

SELECT pg_extension_config_dump('yquota_internal.active_leaf', '');
SELECT pg_extension_config_dump('yquota_internal.created_queue', '');
