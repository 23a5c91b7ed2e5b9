--
-- The follower of plans makes, sizes and removes the queues of reservations as time passes
-- (semantics/reservations).  The C code decides (src/reservation/follow_plan.c).
--

CREATE FUNCTION yquota.follow_plans(queue text DEFAULT NULL, replan boolean DEFAULT true, dry_run boolean DEFAULT false)
	RETURNS TABLE (
		outcome text, plan text, queue text, reservation_id text, application_id text,
		capacity real, maximum_capacity real, reason text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_follow_plans';
COMMENT ON FUNCTION yquota.follow_plans(text, boolean, boolean) IS
	'Run a round of the plan follower at the clock, for one plan or (NULL) for all.  Makes and sizes queues of active reservations, and removes other queues of reservations.  Applications in a removed queue move to the default queue of the plan, or are killed.  If a plan has become too small, the reservations that were accepted last end; without replan, all reservations get less.  Returns the changes, with shares as fractions of the plan.  A dry run changes nothing, and leaves out applications';

--
-- Functions and state of the worker
--
CREATE FUNCTION yquota_internal.plan_follower_interval() RETURNS bigint
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT CASE WHEN s.reservation_system_planfollower_time_step > 0 THEN s.reservation_system_planfollower_time_step ELSE 1000 END
		FROM yquota.scheduler_setting AS s
		WHERE s.reservation_system_enable;
$$;
COMMENT ON FUNCTION yquota_internal.plan_follower_interval() IS
	'Return the milliseconds between two rounds of the worker''s plan follower; NULL: the worker runs no rounds';

-- Keeps the worker's last round that changed something, for metrics. A round that changes nothing
-- does not write here.
CREATE TABLE yquota_internal.plan_follower_round (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	round_at timestamptz NOT NULL,
	duration interval NOT NULL,
	rounds bigint NOT NULL,
	changes bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.plan_follower_round IS
	'Last round of the worker''s plan follower that has changed something, and the number of such rounds';
COMMENT ON COLUMN yquota_internal.plan_follower_round.round_at IS 'by the clock';
COMMENT ON COLUMN yquota_internal.plan_follower_round.duration IS 'duration of that round';
COMMENT ON COLUMN yquota_internal.plan_follower_round.rounds IS 'number of rounds that have changed something, since the first one';
COMMENT ON COLUMN yquota_internal.plan_follower_round.changes IS 'number of changes of queues, reservations and applications, since the first round';
SELECT pg_extension_config_dump('yquota_internal.plan_follower_round', '');

CREATE FUNCTION yquota_internal.worker_follow_plans() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	began CONSTANT timestamptz := clock_timestamp();
	done jsonb;
	changed bigint;
BEGIN
	SELECT jsonb_object_agg(o.outcome, o.rows) INTO done
	FROM (SELECT f.outcome, count(*) AS rows FROM yquota.follow_plans() AS f
		  WHERE f.outcome NOT IN ('off', 'refused') GROUP BY f.outcome) AS o;
	IF done IS NULL THEN
		RETURN 0;
	END IF;
	SELECT sum(o.value::bigint) INTO changed FROM jsonb_each_text(done) AS o;
	INSERT INTO yquota_internal.plan_follower_round AS r (round_at, duration, rounds, changes)
	VALUES (yquota.statement_clock(), clock_timestamp() - began, 1, changed)
	ON CONFLICT (only_row) DO UPDATE SET round_at = excluded.round_at, duration = excluded.duration,
		rounds = r.rounds + 1, changes = r.changes + excluded.changes;
	PERFORM pg_notify('yquota', jsonb_build_object('kind', 'plan_follower', 'at', yquota.statement_clock())::text);
	RETURN coalesce((done ->> 'postponed')::bigint, 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_follow_plans() IS
	'Run a round of the plan follower for all plans.  If the round changed something, notify channel yquota.  Returns how many queues still have to be emptied; if there are any, the next round is due at once';
