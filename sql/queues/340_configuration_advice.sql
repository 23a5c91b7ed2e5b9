--
-- Advice about unwise configurations, which Hadoop accepts. A commit prints some of the advice as
-- warnings, and a function returns all of it.
--

CREATE FUNCTION yquota_internal.advice_about_unmapped_properties()
	RETURNS TABLE (queue text, property text, value text, advice text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT e.owner, substr(e.property, length('yarn.scheduler.capacity.') + coalesce(length(e.owner) + 1, 0) + 1), u.value, e.reason
		FROM yquota_internal.explain_unmapped_properties(ARRAY(SELECT k.property FROM yquota.unmapped_property AS k)) AS e
		JOIN yquota.unmapped_property AS u ON u.property = e.property
		ORDER BY e.property COLLATE "C";
$$;
COMMENT ON FUNCTION yquota_internal.advice_about_unmapped_properties() IS
	'Return the properties without a column, as rows of configuration_advice()';

CREATE FUNCTION yquota_internal.reservation_settings(queue text)
	RETURNS TABLE (is_enabled boolean, checks_access boolean, step bigint, largest_period bigint, smoothness integer,
				   favors_early boolean, wraps boolean, repeats boolean, plans_around boolean, reads_fractions boolean, ends_averages boolean,
				   most_windows integer, most_copies integer, most_requests integer, "window" bigint, instantaneous real, average real,
				   aligns boolean, limits_users boolean, enforcement_window bigint, moves_on_expiry boolean)
	LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
	AS $$
	SELECT coalesce(s.reservation_system_enable, false),
		   coalesce(s.acl_enable AND s.reservation_acl_enable, false),
		   CASE WHEN s.reservation_system_planfollower_time_step > 0 THEN s.reservation_system_planfollower_time_step ELSE 1000 END,
		   CASE WHEN s.reservation_system_max_periodicity > 0 THEN s.reservation_system_max_periodicity ELSE 86400000 END,
		   coalesce(s.reservation_system_smoothness_factor, 10),
		   coalesce(s.reservation_system_favor_early_allocation, true),
		   coalesce(s.reservation_wraps_periods, false), coalesce(s.reservation_repeats_allocation, false),
		   coalesce(s.reservation_plans_around_overcommitment, false), coalesce(s.reservation_reads_fractions, false),
		   coalesce(s.reservation_ends_averages, false),
		   coalesce(s.reservation_most_windows, 1000000), coalesce(s.reservation_most_copies, 86400),
		   coalesce(s.reservation_most_requests, 1000),
		   CASE WHEN q.reservation_window > 0 THEN q.reservation_window ELSE 86400000 END,
		   coalesce(q.instantaneous_max_capacity, 100::real), coalesce(q.average_capacity, 100::real),
		   substring(q.reservation_agent FROM '[^.]*$') IS DISTINCT FROM 'GreedyReservationAgent',
		   substring(q.reservation_policy FROM '[^.]*$') IS DISTINCT FROM 'NoOverCommitPolicy',
		   coalesce(q.reservation_enforcement_window, 3600000), coalesce(q.reservation_move_on_expiry, true)
	FROM (SELECT) AS one
	LEFT JOIN yquota.scheduler_setting AS s ON true
	LEFT JOIN yquota.queue AS q ON q.path = reservation_settings.queue;
$$;
COMMENT ON FUNCTION yquota_internal.reservation_settings(text) IS
	'Return the settings in force of a plan, and those of all plans.  Times are in milliseconds.  Shares are in percent, or fractions if reads_fractions is true';

-- Compares classes by their names without packages.  Adding 36500 days to any time does not
-- overflow.
CREATE FUNCTION yquota_internal.refused_settings()
	RETURNS TABLE (kind integer, queue text, place integer, property text, value text, message text)
	LANGUAGE sql STABLE PARALLEL SAFE
	AS $$
	SELECT 1 AS kind, c.queue, c.place, c.property, c.class AS value, 'the class is not known; it is ' || c.known AS message
	FROM (
		SELECT q.path::text AS queue, p.place, p.property, p.class, p.known
		FROM yquota.queue AS q
		CROSS JOIN LATERAL (VALUES
			(1, 'reservation-agent', q.reservation_agent, 'AlignedPlannerWithGreedy or GreedyReservationAgent'),
			(2, 'reservation-policy', q.reservation_policy, 'CapacityOverTimePolicy or NoOverCommitPolicy'),
			(3, 'reservation-planner', q.reservation_planner, 'SimpleCapacityReplanner')) AS p (place, property, class, known)
		WHERE q.reservable
		UNION ALL
		SELECT NULL, p.place, p.property, p.class, p.known
		FROM yquota.scheduler_setting AS s
		CROSS JOIN LATERAL (VALUES
			(1, 'yarn.resourcemanager.reservation-system.class', s.reservation_system_class, 'CapacityReservationSystem'),
			(2, 'yarn.resourcemanager.reservation-system.plan.follower', s.reservation_system_plan_follower, 'CapacitySchedulerPlanFollower')
		) AS p (place, property, class, known)
	) AS c
	WHERE substring(c.class FROM '[^.]*$') <> ALL (string_to_array(c.known, ' or '))
	UNION ALL
	SELECT 2, v.queue, v.place, v.property, v.milliseconds::text, 'it may be 3153600000000 milliseconds, 36500 days, at most'
	FROM (
		SELECT q.path::text AS queue, 1 AS place, 'reservation-window' AS property, q.reservation_window AS milliseconds
		FROM yquota.queue AS q
		WHERE q.reservable
		UNION ALL
		SELECT NULL, p.place, p.property, p.milliseconds
		FROM yquota.scheduler_setting AS s
		CROSS JOIN LATERAL (VALUES
			(1, 'yarn.resourcemanager.reservation-system.planfollower.time-step', s.reservation_system_planfollower_time_step),
			(2, 'yarn.resourcemanager.reservation-system.max-periodicity', s.reservation_system_max_periodicity)
		) AS p (place, property, milliseconds)
	) AS v
	WHERE v.milliseconds > 3153600000000
	UNION ALL
	-- refuse a largest period that a recurrence does not divide: a plan adds up repeating reservations
	-- over that period
	(SELECT 3, NULL, 1, 'yarn.resourcemanager.reservation-system.max-periodicity', e.largest_period::text,
			format('the recurrence of %s, %s, does not divide it; delete or update the reservation first', d.reservation_id, d.recurrence)
	 FROM yquota_internal.reservation_settings(NULL) AS e
	 JOIN yquota.reservation_definition AS d
		ON e.largest_period::numeric * 1000 % yquota_internal.microseconds(d.recurrence) <> 0
	 JOIN yquota.queue AS q ON q.path = d.queue AND q.reservable
	 WHERE d.ended_at IS NULL AND d.recurrence IS NOT NULL
	 ORDER BY d.reservation_id LIMIT 1);
$$;
COMMENT ON FUNCTION yquota_internal.refused_settings() IS
	'Return the settings of plans that the check at commit refuses.  They are unknown classes (kind 1), times that are too long (2), and a largest period that a reservation does not divide (3).  queue is NULL for settings of the whole scheduler';

-- A request that names nodes or racks waits for both delays, one after the other, before it may use
-- other racks (RegularContainerAllocator.canAssign). A negative additional delay means "not set".
CREATE FUNCTION yquota_internal.unwise_settings(kind text, path text)
	RETURNS TABLE (queue text, place integer, setting text, property text, value text, advice text)
	LANGUAGE sql STABLE PARALLEL SAFE
	AS $$
	SELECT q.path::text AS queue, p.place, NULL AS setting, p.property, p.value, p.advice
	FROM yquota.queue AS q
	LEFT JOIN yquota.scheduler_setting AS s ON true
	CROSS JOIN LATERAL (VALUES
		(1, 'instantaneous-max-capacity', q.instantaneous_max_capacity::text, q.instantaneous_max_capacity, NULL::bigint),
		(2, 'average-capacity', q.average_capacity::text, q.average_capacity, NULL),
		(3, 'reservation-window', q.reservation_window::text, NULL, q.reservation_window)) AS v (place, property, value, share, milliseconds)
	CROSS JOIN LATERAL (
		SELECT v.place, v.property, v.value,
			   CASE WHEN v.milliseconds <= 0 THEN 'the window is a day all the same'
					WHEN v.share <= 0 THEN 'no user may reserve anything'
					WHEN v.share <= 1 AND s.reservation_reads_fractions IS NOT TRUE THEN
						'the value is a percentage, although Hadoop''s manual calls 1 the whole plan; reservation_reads_fractions makes it a fraction' END
	) AS p (place, property, value, advice)
	WHERE unwise_settings.kind = 'plan' AND q.path = unwise_settings.path AND p.advice IS NOT NULL
	UNION ALL
	SELECT q.path::text, 1, NULL, 'auto-create-child-queue.management-policy', q.auto_create_child_queue_management_policy,
		   'leaves have capacity by GuaranteedOrZeroCapacityOverTimePolicy, the only policy that is implemented'
	FROM yquota.queue AS q
	WHERE unwise_settings.kind = 'managed parent' AND q.path = unwise_settings.path
	  AND substring(q.auto_create_child_queue_management_policy FROM '[^.]*$') <> 'GuaranteedOrZeroCapacityOverTimePolicy'
	UNION ALL
	SELECT NULL, p.place, p.setting, p.property, p.value, p.advice
	FROM yquota.scheduler_setting AS s
	CROSS JOIN yquota_internal.reservation_settings(NULL) AS e
	CROSS JOIN LATERAL (VALUES
		(1, 'reservation_system_planfollower_time_step', 'yarn.resourcemanager.reservation-system.planfollower.time-step',
		 s.reservation_system_planfollower_time_step::text,
		 CASE WHEN s.reservation_system_planfollower_time_step <= 0 THEN 'the step is 1000 milliseconds all the same'
			  WHEN e.largest_period % e.step <> 0 THEN
				'yarn.resourcemanager.reservation-system.max-periodicity is not a multiple of it: reservations that repeat begin between two rounds of the plan follower' END),
		(2, 'reservation_system_max_periodicity', 'yarn.resourcemanager.reservation-system.max-periodicity',
		 s.reservation_system_max_periodicity::text,
		 CASE WHEN s.reservation_system_max_periodicity <= 0 THEN 'the largest period is a day all the same'
			  WHEN e.largest_period % e.step <> 0 THEN
				'it is not a multiple of yarn.resourcemanager.reservation-system.planfollower.time-step: reservations that repeat begin between two rounds of the plan follower' END),
		(3, 'reservation_acl_enable', 'yarn.acl.reservation-enable', s.reservation_acl_enable::text,
		 CASE WHEN s.reservation_acl_enable AND s.acl_enable IS NOT TRUE THEN 'lists of plans are ignored: yarn.acl.enable is false' END)
	) AS p (place, setting, property, value, advice)
	WHERE unwise_settings.kind = 'reservation system' AND p.value IS NOT NULL AND p.advice IS NOT NULL
	UNION ALL
	SELECT NULL, p.place, p.setting, p.property, p.value, p.advice
	FROM yquota.scheduler_setting AS s
	CROSS JOIN LATERAL (VALUES
		(1, 'scheduler_class', 'yarn.resourcemanager.scheduler.class', s.scheduler_class,
		 CASE WHEN substring(s.scheduler_class FROM '[^.]*$') <> 'CapacityScheduler' THEN
			'decisions are those of the CapacityScheduler, the only scheduler that is implemented' END),
		(2, 'node_locality_delay', 'node-locality-delay', s.node_locality_delay::text,
		 CASE WHEN s.node_locality_delay < 0 AND (coalesce(s.rack_locality_additional_delay, -1) < 0
												  OR s.node_locality_delay::bigint + s.rack_locality_additional_delay >= 0) THEN
			'a request that names nodes or racks still waits before it may be elsewhere: rack-locality-additional-delay 0 ends that' END),
		(3, 'multi_node_placement_enabled', 'multi-node-placement-enabled', s.multi_node_placement_enabled::text,
		 CASE WHEN s.multi_node_placement_enabled THEN
			'there is no placement over several nodes: containers go to the nodes that report, one after the other, and policies that sort nodes are not asked' END)
	) AS p (place, setting, property, value, advice)
	WHERE unwise_settings.kind = 'scheduler' AND p.advice IS NOT NULL;
$$;
COMMENT ON FUNCTION yquota_internal.unwise_settings(text, text) IS
	'Return settings that name unknown objects, or have less effect than they seem to, for configuration_advice(). kind and path choose the settings of a plan or a managed parent, of the reservation system, or of the scheduler (path NULL). setting is the column of scheduler_setting; NULL for settings of queues';

CREATE FUNCTION yquota_internal.configuration_advice_as_owner()
	RETURNS TABLE (queue text, property text, value text, advice text)
	-- The function is PARALLEL UNSAFE, because it reads settings newer than the snapshot of the query.
	LANGUAGE c STABLE PARALLEL UNSAFE ROWS 100
	AS 'MODULE_PATHNAME', 'yq_sql_configuration_advice';
COMMENT ON FUNCTION yquota_internal.configuration_advice_as_owner() IS
	'Run configuration_advice(), which reads tables that only the owner may read';

CREATE FUNCTION yquota.configuration_advice()
	RETURNS TABLE (queue text, property text, value text, advice text)
	LANGUAGE sql STABLE PARALLEL UNSAFE ROWS 100 SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.configuration_advice_as_owner();
$$;
COMMENT ON FUNCTION yquota.configuration_advice() IS
	'Return advice about the configuration of queues that Hadoop accepts, and about unknown properties.  The row has the queue (NULL for settings of the whole scheduler), Hadoop''s property, its value and the reason';

CREATE FUNCTION yquota_internal.note_advice() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_note_advice';
COMMENT ON FUNCTION yquota_internal.note_advice() IS
	'Make the check at commit warn of unwise settings in rows that the transaction has changed.  The trigger''s argument is the column with the path of the queue; without an argument, the rows are settings of the whole scheduler';

CREATE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue
	FOR EACH ROW WHEN (NOT NEW.auto_created) EXECUTE FUNCTION yquota_internal.note_advice('path');
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue_label
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice('queue');
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue_user
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice('queue');
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE OR DELETE ON yquota.mapping_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_advice();
CREATE TRIGGER note_advice AFTER INSERT OR UPDATE OR DELETE ON yquota.scheduler_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice();
