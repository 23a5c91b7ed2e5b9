--
-- Figures of reservations for monitoring systems, and alerts about plans that do not keep
-- their promises.
--

CREATE FUNCTION yquota_internal.plans_now(OUT plan text, OUT resource_name text, OUT capacity bigint, OUT committed bigint)
	RETURNS SETOF record
	LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_plans_now';
COMMENT ON FUNCTION yquota_internal.plans_now() IS
	'Return the capacity and the promises of each plan at the clock; native units';

-- Returns an instant: the queue of each reservation that was active before this instant should
-- exist by now.
CREATE FUNCTION yquota_internal.plan_follower_due() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT date_trunc('milliseconds', yquota.statement_clock())
			   - greatest(10 * interval '1 ms' * coalesce((SELECT s.reservation_system_planfollower_time_step FROM yquota.scheduler_setting AS s), 1000), interval '1 minute');
$$;
COMMENT ON FUNCTION yquota_internal.plan_follower_due() IS
	'Return the clock minus ten steps of the plan follower, or the clock minus a minute if a minute is longer.  By now the plan follower should have handled everything that began before the returned instant';

CREATE FUNCTION yquota_internal.reservation_figures()
	RETURNS TABLE (plan text, accepted bigint, active bigint, replanned bigint, queues_missing bigint)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH clock AS MATERIALIZED (
			SELECT date_trunc('milliseconds', yquota.statement_clock()) AS now, yquota_internal.plan_follower_due() AS due,
				   coalesce((SELECT s.reservation_repeats_allocation FROM yquota.scheduler_setting AS s), false) AS repeats
		), seen AS MATERIALIZED (
			SELECT d.queue, d.reservation_id, d.ended_by, l.is_accepted,
				   l.is_accepted AND d.arrival <= clock.now AND (d.recurrence IS NULL OR o.occurs) AS is_active,
				   l.is_accepted AND d.arrival <= clock.due AND d.accepted_at <= clock.due AND (d.recurrence IS NULL OR o.occurs AND o.occurred) AS is_due
			FROM yquota.reservation_definition AS d CROSS JOIN clock
			CROSS JOIN LATERAL (
				SELECT d.ended_at IS NULL AND (d.deadline > clock.now OR clock.repeats AND d.recurrence IS NOT NULL) AS is_accepted) AS l
			CROSS JOIN LATERAL (
				SELECT yquota_internal.reservation_occurs(d.arrival, d.deadline, d.recurrence, clock.now, clock.now) AS occurs,
					   yquota_internal.reservation_occurs(d.arrival, d.deadline, d.recurrence, clock.due, clock.due) AS occurred) AS o
			WHERE l.is_accepted OR d.ended_by = 'replanned'
		)
		SELECT q.path::text, count(*) FILTER (WHERE s.is_accepted), count(*) FILTER (WHERE s.is_active), count(*) FILTER (WHERE s.ended_by = 'replanned'),
			   count(*) FILTER (WHERE s.is_due AND NOT EXISTS (
					SELECT FROM yquota.reservation_queue AS r WHERE r.plan = q.path AND r.reservation_id = s.reservation_id))
		FROM yquota.queue AS q LEFT JOIN seen AS s ON s.queue = q.path::text
		WHERE q.reservable
		GROUP BY q.path;
$$;
COMMENT ON FUNCTION yquota_internal.reservation_figures() IS
	'Return numbers of reservations of each plan for metrics: accepted reservations that have not ended, and the active ones among them.  Also counts reservations that ended because the plan became too small, and active reservations for which the plan follower has not made a queue yet';

CREATE FUNCTION yquota_internal.tell_of_plans(of_kind text, plans text[], details text[], now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		UPDATE yquota.alert AS a SET cleared_at = now_at
		WHERE a.kind = of_kind AND a.cleared_at IS NULL AND a.subject <> ALL (coalesce(plans, '{}'));
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		SELECT of_kind, p.plan, p.detail, now_at FROM unnest(plans, details) AS p (plan, detail) ORDER BY p.plan
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
$$;
COMMENT ON FUNCTION yquota_internal.tell_of_plans(text, text[], text[], timestamptz) IS
	'Raise an alert about each of the given plans, and clear the alerts about other plans';

CREATE FUNCTION yquota_internal.watch_plans(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	plans text[];
	details text[];
BEGIN
	SELECT array_agg(o.plan), array_agg(o.detail) INTO plans, details
	FROM (SELECT n.plan, 'promised at this time: '
				|| string_agg(format('%s of %s %s', n.committed, n.capacity, n.resource_name), ', ' ORDER BY n.resource_name)
				|| '; the plan has become smaller: add nodes, raise its capacity, or delete reservations' AS detail
		  FROM yquota_internal.plans_now() AS n WHERE n.committed > n.capacity GROUP BY n.plan) AS o;
	PERFORM yquota_internal.tell_of_plans('plan_overcommitted', plans, details, now_at);
	SELECT array_agg(o.queue), array_agg(o.detail) INTO plans, details
	FROM (SELECT d.queue, format('%s reservations were ended in the last hour because the plan has become too small, such as %s of %s; tell their users, who may submit them again',
								 count(*), min(d.reservation_id), min(d.username)) AS detail
		  FROM yquota.reservation_definition AS d
		  WHERE d.ended_by = 'replanned' AND d.ended_at > now_at - interval '1 hour' GROUP BY d.queue) AS o;
	PERFORM yquota_internal.tell_of_plans('reservations_replanned', plans, details, now_at);
	SELECT array_agg(f.plan), array_agg(format('%s active reservations have no queue; look at worker_status and at the locks of the plan', f.queues_missing)) INTO plans, details
	FROM yquota_internal.reservation_figures() AS f
	WHERE f.queues_missing > 0 AND (SELECT s.reservation_system_enable FROM yquota.scheduler_setting AS s);
	PERFORM yquota_internal.tell_of_plans('plan_not_followed', plans, details, now_at);
END
$$;
COMMENT ON FUNCTION yquota_internal.watch_plans(timestamptz) IS
	'Raise an alert while a plan has promised more than it has, and for an hour after reservations were ended because of that.  Raise another alert while active reservations lack a queue that is due';
