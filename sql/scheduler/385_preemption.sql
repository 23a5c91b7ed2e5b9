--
-- Preemption: which containers give their resources back, and when (seed 004).
-- Decided in C (src/scheduler/preemption/); these functions run as the owner, and a
-- role that may call preempt_containers() speaks for the resource manager.
--

CREATE TABLE yquota.preemption_mark (
	container_id text COLLATE "C" PRIMARY KEY,
	marked_at timestamptz NOT NULL,
	application_id text COLLATE "C" NOT NULL,
	queue text COLLATE "C" NOT NULL,
	selector text NOT NULL,
	is_killable boolean NOT NULL DEFAULT false,
	is_advised boolean NOT NULL DEFAULT false,
	told_at timestamptz CHECK ((told_at IS NOT NULL) = (is_killable OR is_advised))
);
COMMENT ON TABLE yquota.preemption_mark IS
	'Running containers that preempt_containers() has selected, until they end or it forgets them; written by it only';
COMMENT ON COLUMN yquota.preemption_mark.marked_at IS 'when it was selected first; later by the time in which the server did not run';
COMMENT ON COLUMN yquota.preemption_mark.queue IS 'full path of the leaf when it was selected first';
COMMENT ON COLUMN yquota.preemption_mark.selector IS
	'which selected it first: queue_priority, reserved, fifo, fifo_balance or intra_queue';
COMMENT ON COLUMN yquota.preemption_mark.is_killable IS
	'its wait is over, and it ends when another container needs its room (lazy_preemption_enabled)';
COMMENT ON COLUMN yquota.preemption_mark.is_advised IS
	'its wait is over, and the resource manager is to end it (preemption_mode)';
COMMENT ON COLUMN yquota.preemption_mark.told_at IS 'when its wait was over; NULL: it waits';

CREATE TABLE yquota_internal.preemption_round (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	round_at timestamptz NOT NULL,
	server_started_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.preemption_round IS
	'One row, or none before the first round: the last round of preempt_containers()';
COMMENT ON COLUMN yquota_internal.preemption_round.round_at IS 'its as_of';
COMMENT ON COLUMN yquota_internal.preemption_round.server_started_at IS
	'start of the server that recorded it, by the system''s clock: the time until the first round of another server, or of this one after a new start, is no waiting';

CREATE FUNCTION yquota_internal.preemption_off_because() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT CASE WHEN s.scheduler_monitor_enable IS NOT TRUE THEN 'yarn.resourcemanager.scheduler.monitor.enable'
					WHEN NOT EXISTS (SELECT FROM unnest(s.scheduler_monitor_policies) AS p (policy)
									 WHERE p.policy ~ E'(^|\\.)ProportionalCapacityPreemptionPolicy$')
					THEN 'yarn.resourcemanager.scheduler.monitor.policies' END
		FROM (SELECT) AS one
		LEFT JOIN (SELECT o.scheduler_monitor_enable,
						  coalesce(o.scheduler_monitor_policies, '{ProportionalCapacityPreemptionPolicy}') AS scheduler_monitor_policies
				   FROM yquota.scheduler_setting AS o) AS s ON true;
	END;
COMMENT ON FUNCTION yquota_internal.preemption_off_because() IS
	'Hadoop''s property that has rounds of preemption off; NULL: there are rounds';
REVOKE ALL ON FUNCTION yquota_internal.preemption_off_because() FROM PUBLIC;

CREATE FUNCTION yquota.preempt_containers(
	as_of timestamptz DEFAULT NULL, dry_run boolean DEFAULT false, explain boolean DEFAULT false)
	RETURNS TABLE (
		outcome text, container_id text, application_id text, username text, queue text, node text, label text,
		allocation yquota.resource, selector text, marked_at timestamptz, kill_at timestamptz, killed_at timestamptz,
		used yquota.resource, guaranteed yquota.resource, ideal yquota.resource,
		to_be_preempted yquota.resource, actually_to_be_preempted yquota.resource, reason text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_preempt_containers';
COMMENT ON FUNCTION yquota.preempt_containers(timestamptz, boolean, boolean) IS
	'Run one round of preemption at as_of (NULL: the clock): mark containers of queues above their guarantee, and end those that were marked long enough before.  One row for each container or cancelled reservation, with the figures of its queue (native units); with explain also one for each leaf that loses nothing.  Nothing happens, and the only row says so, while the configuration has preemption off.  A dry run changes nothing';
REVOKE ALL ON FUNCTION yquota.preempt_containers(timestamptz, boolean, boolean) FROM PUBLIC;

CREATE FUNCTION yquota_internal.preemption_figures()
	RETURNS TABLE (
		queue text, label text, ordinal integer, guaranteed yquota.resource, maximum yquota.resource,
		used yquota.resource, pending yquota.resource, ideal yquota.resource,
		to_be_preempted yquota.resource, actually_to_be_preempted yquota.resource,
		dead_zone_limit yquota.resource, untouchable yquota.resource,
		is_disabled boolean, disabled_by text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_preemption_figures';
COMMENT ON FUNCTION yquota_internal.preemption_figures() IS
	'The figures that a round of preemption would compute now, by queue and label';
REVOKE ALL ON FUNCTION yquota_internal.preemption_figures() FROM PUBLIC;

CREATE VIEW yquota.preemption_state WITH (security_barrier) AS
	SELECT f.queue, f.label, f.guaranteed, f.maximum, f.used, f.pending, f.ideal, f.to_be_preempted,
		   f.actually_to_be_preempted, f.dead_zone_limit, f.untouchable, f.is_disabled AS disabled, f.disabled_by
	FROM yquota_internal.preemption_figures() AS f
	ORDER BY f.ordinal, f.label;
COMMENT ON VIEW yquota.preemption_state IS
	'What preemption would take from each queue now, and the figures that lead to it, per label; native units';
COMMENT ON COLUMN yquota.preemption_state.label IS 'partition of the nodes; empty for the default one';
COMMENT ON COLUMN yquota.preemption_state.used IS 'by GUARANTEED containers and reserved containers';
COMMENT ON COLUMN yquota.preemption_state.pending IS 'demand of running applications within the limits of their users';
COMMENT ON COLUMN yquota.preemption_state.ideal IS 'what the queue would have if all resources were given out anew';
COMMENT ON COLUMN yquota.preemption_state.to_be_preempted IS 'beyond the ideal amount, as far as others want it';
COMMENT ON COLUMN yquota.preemption_state.actually_to_be_preempted IS
	'asked from the leaf in this round, by natural_termination_factor and max_ignored_over_capacity; NULL for parents';
COMMENT ON COLUMN yquota.preemption_state.dead_zone_limit IS
	'a leaf that uses no more than this loses nothing (max_ignored_over_capacity); NULL for parents';
COMMENT ON COLUMN yquota.preemption_state.untouchable IS 'above the guarantee, and kept all the same, since preemption is disabled there';
COMMENT ON COLUMN yquota.preemption_state.disabled_by IS
	'property that disables it, and the queue that sets it; NULL when it is not disabled';

SELECT pg_extension_config_dump('yquota.preemption_mark', '');
SELECT pg_extension_config_dump('yquota_internal.preemption_round', '');
