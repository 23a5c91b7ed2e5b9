--
-- The watch over thresholds of spending (charging/300_spending_threshold.sql).  The watch raises an
-- alert for each threshold that has been crossed since its last run, and notifies listeners. An
-- open alert records that the crossing was reported. Each crossing is therefore reported only once,
-- whichever session looks, and however late.
--
-- Fractions and credits that remain are compared at each compute interval.  Late events can move
-- spending over such a threshold and back again, so late events clear no alert. An alert is cleared
-- when the threshold is no longer crossed after a deliberate change. Deliberate changes are a
-- grant, a new threshold, a void, and forgiven time.
--
-- Thresholds before an expiry, and thresholds of the time for which credit lasts, are computed from
-- the ledger. A job checks both every quarter of an hour. It reports a threshold before an expiry
-- once per grant. The rate of spending is that of the last 24 hours, because a present rate would
-- change with each container. The alert is cleared when the credit lasts a quarter longer than the
-- threshold. A rate near the threshold therefore does not raise the alert again and again.
--

CREATE VIEW yquota_internal.leased_project AS
	SELECT DISTINCT given.project
	FROM yquota_internal.taken_lease AS lease
	JOIN yquota.quota_grant AS given ON given.grant_id = lease.grant_id
	WHERE yquota.statement_clock() < given.expires_at;
COMMENT ON VIEW yquota_internal.leased_project IS
	'Projects with leases of a federated budget.  This database knows only a part of such a budget';

CREATE VIEW yquota_internal.threshold_balance AS
	SELECT credit.project, balance.granted, balance.spent
	FROM yquota_internal.begun_credit AS credit
	LEFT JOIN yquota_internal.spending ON spending.project = credit.project
	LEFT JOIN yquota_internal.expired_credit AS expired ON expired.project = credit.project
	-- compute this once instead of once per threshold
	CROSS JOIN LATERAL (
		SELECT trim_scale(credit.granted - coalesce(expired.lost + expired.spent, 0)) AS granted,
			   trim_scale(coalesce(spending.charged + spending.accrued, 0) - coalesce(expired.spent, 0)) AS spent
		OFFSET 0
	) AS balance
	WHERE credit.has_own;
COMMENT ON VIEW yquota_internal.threshold_balance IS
	'Credit that projects were granted and have spent by the clock.  The part that expired grants paid is left out of both';

-- Truncates names of projects in subjects, because an index limits their length.
CREATE VIEW yquota_internal.crossed_threshold AS
	SELECT project.name AS project, threshold.fraction, threshold.remaining, threshold.before_expiry, threshold.lasts_less_than,
		   NULL::bigint AS grant_id, NULL::timestamptz AS expires_at, NULL::numeric AS expiring, NULL::numeric AS spent_per_day,
		   coalesce(threshold.fraction >= 1 AND (project.credit_limit = 0 OR (threshold.fraction - 1) * balance.granted >= project.credit_limit),
					threshold.remaining <= -project.credit_limit)
		   AND project.quota_mode = 'PREPAID' AND project.on_exhausted <> 'allow' AS hard,
		   concat(left(project.name, 600), ' ', coalesce(trim_scale(threshold.fraction * 100) || ' %', trim_scale(threshold.remaining) || ' credits')) AS subject,
		   balance.granted, balance.spent,
		   true AS is_new, true AS stays
	FROM yquota_internal.threshold_balance AS balance
	JOIN yquota.project ON project.name = balance.project
	JOIN yquota_internal.project_threshold AS threshold
		ON threshold.project = project.name
		AND (balance.spent >= threshold.fraction * balance.granted
			 OR balance.granted - balance.spent <= threshold.remaining
				AND threshold.project NOT IN (SELECT leased.project FROM yquota_internal.leased_project AS leased))
	UNION ALL
	SELECT project.name, NULL, threshold.remaining, NULL, NULL, NULL, NULL, NULL, NULL,
		   threshold.remaining <= -project.credit_limit AND project.quota_mode = 'PREPAID' AND project.on_exhausted <> 'allow',
		   concat(left(project.name, 600), ' ', trim_scale(threshold.remaining), ' credits in all clusters'),
		   budget.amount, budget.spent, true, false
	FROM (SELECT term.project, sum(term.amount) AS amount, trim_scale(sum(term.spent)) AS spent
		  FROM yquota.federated_budget_status AS term
		  GROUP BY term.project) AS budget
	JOIN yquota.project ON project.name = budget.project
	JOIN yquota_internal.project_threshold AS threshold
		ON threshold.project = project.name AND budget.amount - budget.spent <= threshold.remaining;
COMMENT ON VIEW yquota_internal.crossed_threshold IS
	'Thresholds fraction and remaining that are crossed at the clock, of projects with granted credit.  The view also has the thresholds "remaining" of federated budgets';
COMMENT ON COLUMN yquota_internal.crossed_threshold.expiring IS 'remaining credits of the grant that expires';
COMMENT ON COLUMN yquota_internal.crossed_threshold.is_new IS 'false: the threshold is no longer crossed, but the credit has not risen far enough to clear the alert';
COMMENT ON COLUMN yquota_internal.crossed_threshold.stays IS 'true if only a change listed by crossing_causes() clears the alert';

-- Sets ROWS: the planner overestimates the number of crossings by far, and underestimates the
-- number of elements in an array.
CREATE FUNCTION yquota_internal.crossed_thresholds(forecasts yquota_internal.crossed_threshold[])
	RETURNS SETOF yquota_internal.crossed_threshold
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1000
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF forecasts IS NOT NULL THEN
		RETURN QUERY SELECT forecast.* FROM unnest(forecasts) AS forecast;
	-- without credit no threshold is crossed, and planning the view takes longer than this look
	ELSIF EXISTS (SELECT FROM yquota.quota_grant) OR EXISTS (SELECT FROM yquota.federated_budget) THEN
		-- plan again at each call, because a plan for few grants is slow for many grants
		RETURN QUERY EXECUTE 'SELECT crossed.* FROM yquota_internal.crossed_threshold AS crossed';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.crossed_thresholds(yquota_internal.crossed_threshold[]) IS
	'Return the rows of the array, or the rows of crossed_threshold if the array is NULL';

-- If only one grant of a project can be spent, all remaining credit is credit of this grant. The
-- history of spending is needed only for projects with several such grants.
CREATE VIEW yquota_internal.expiring_grant AS
	WITH valid AS MATERIALIZED (
		SELECT life.project, life.grant_id, life.expires_at, count(*) OVER (PARTITION BY life.project) AS grants
		FROM yquota_internal.grant_life AS life
		WHERE life.amount > 0 AND life.begins_at <= yquota.statement_clock() AND yquota.statement_clock() < life.expires_at
		  AND yquota.statement_clock() < life.leaves_at
		  AND life.project IN (SELECT threshold.project FROM yquota_internal.project_threshold AS threshold
							   WHERE threshold.before_expiry IS NOT NULL)
	), expiring AS MATERIALIZED (
		SELECT valid.project, valid.grant_id, valid.expires_at, valid.grants, threshold.before_expiry, balance.granted, balance.spent
		FROM valid
		JOIN yquota_internal.project_threshold AS threshold ON threshold.project = valid.project
		JOIN yquota_internal.threshold_balance AS balance ON balance.project = valid.project
		CROSS JOIN yquota_internal.billing_zone AS zone
		WHERE (valid.expires_at AT TIME ZONE zone.name - threshold.before_expiry) AT TIME ZONE zone.name <= yquota.statement_clock()
		  AND balance.granted > balance.spent
		  AND NOT EXISTS (SELECT FROM yquota_internal.taken_lease AS lease WHERE lease.grant_id = valid.grant_id)
	)
	SELECT single.*, single.granted - single.spent AS rest
	FROM expiring AS single
	WHERE single.grants = 1
	UNION ALL
	SELECT one.*, outcome.rest
	FROM (SELECT DISTINCT expiring.project FROM expiring WHERE expiring.grants > 1) AS several
	CROSS JOIN LATERAL yquota_internal.grant_outcome(several.project, yquota.statement_clock()) AS outcome
	JOIN expiring AS one ON one.project = several.project AND one.grant_id = outcome.grant_id
	WHERE outcome.rest > 0;
COMMENT ON VIEW yquota_internal.expiring_grant IS
	'Grants with remaining credit that expire within the time of a threshold, with that credit.  Leases are left out, because they are renewed';

CREATE FUNCTION yquota_internal.forecast_thresholds() RETURNS SETOF yquota_internal.crossed_threshold
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1000
	SET search_path = pg_catalog, pg_temp
	SET intervalstyle = 'postgres'
	-- plan again at each call, because a plan for few projects is slow for many projects
	SET plan_cache_mode = force_custom_plan
	-- the planner expects one row of thresholds and balances, although all projects may have some
	SET enable_nestloop = off
	AS $$
BEGIN
	RETURN QUERY
	SELECT expiring.project, NULL::numeric, NULL::numeric, expiring.before_expiry, NULL::interval,
		   expiring.grant_id, expiring.expires_at, trim_scale(expiring.rest), NULL::numeric, false,
		   format('%s grant %s, %s', left(expiring.project, 600), expiring.grant_id, expiring.before_expiry),
		   expiring.granted, expiring.spent, true, false
	FROM yquota_internal.expiring_grant AS expiring;

	IF NOT EXISTS (SELECT FROM yquota.spending_threshold AS known WHERE known.lasts_less_than IS NOT NULL) THEN
		RETURN;
	END IF;
	RETURN QUERY
	SELECT threshold.project, NULL::numeric, NULL::numeric, NULL::interval, threshold.lasts_less_than,
		   NULL::bigint, NULL::timestamptz, NULL::numeric, trim_scale(lately.mean), false,
		   format('%s lasts less than %s', left(threshold.project, 600), threshold.lasts_less_than),
		   balance.granted, balance.spent,
		   (balance.granted - balance.spent) * 86400 < lately.mean * extract(epoch FROM threshold.lasts_less_than), false
	FROM yquota_internal.spending_per_day(yquota_internal.days_before(yquota.statement_clock(), 1), NULL, NULL) AS lately
	JOIN yquota_internal.threshold_balance AS balance ON balance.project = lately.project
	JOIN yquota_internal.project_threshold AS threshold ON threshold.project = lately.project
	WHERE threshold.lasts_less_than IS NOT NULL AND lately.mean > 0
	  AND (balance.granted - balance.spent) * 86400 < 1.25 * lately.mean * extract(epoch FROM threshold.lasts_less_than)
	  AND threshold.project NOT IN (SELECT leased.project FROM yquota_internal.leased_project AS leased);
END
$$;
COMMENT ON FUNCTION yquota_internal.forecast_thresholds() IS
	'Return the crossed thresholds before_expiry and lasts_less_than, as rows of crossed_threshold';

CREATE FUNCTION yquota_internal.crossing_detail(crossed yquota_internal.crossed_threshold, on_exhausted text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET intervalstyle = 'postgres'
	RETURN CASE
		WHEN (crossed).before_expiry IS NOT NULL THEN
			format('Grant %s of project "%s" expires at %s, with %s credits not spent.',
				   (crossed).grant_id, (crossed).project, yquota_internal.instant_text((crossed).expires_at), round((crossed).expiring, 2))
		WHEN (crossed).lasts_less_than IS NOT NULL THEN
			format('Project "%s" has %s credits left, and has spent %s in 24 hours: its credit lasts less than %s.', (crossed).project,
				   round((crossed).granted - (crossed).spent, 2), round((crossed).spent_per_day, 2), (crossed).lasts_less_than)
		WHEN (crossed).remaining IS NOT NULL THEN
			format('Project "%s" has %s of the %s credits granted to it left.', (crossed).project,
				   round((crossed).granted - (crossed).spent, 2), round((crossed).granted, 2))
		WHEN (crossed).granted = 0 AND (crossed).spent = 0 THEN
			format('All that was granted to project "%s" has expired or been taken back.', (crossed).project)
		ELSE
			format('Project "%s" has spent %s of the %s credits granted to it.', (crossed).project,
				   round((crossed).spent, 2), round((crossed).granted, 2))
		END || CASE WHEN (crossed).hard THEN format(' Its on_exhausted is %s.', on_exhausted) ELSE '' END;
COMMENT ON FUNCTION yquota_internal.crossing_detail(yquota_internal.crossed_threshold, text) IS
	'Return the text of an alert about a threshold';

CREATE FUNCTION yquota_internal.crossing_figures(crossed yquota_internal.crossed_threshold, held numeric) RETURNS jsonb
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET intervalstyle = 'postgres'
	SET timezone = 'UTC'
	RETURN jsonb_strip_nulls(jsonb_build_object(
		'project', (crossed).project,
		'measure', CASE WHEN (crossed).fraction IS NOT NULL THEN 'fraction'
						WHEN (crossed).remaining IS NOT NULL THEN 'remaining'
						WHEN (crossed).before_expiry IS NOT NULL THEN 'before_expiry'
						ELSE 'lasts_less_than' END,
		'threshold', coalesce(to_jsonb(trim_scale(coalesce((crossed).fraction, (crossed).remaining))),
							  to_jsonb(coalesce((crossed).before_expiry, (crossed).lasts_less_than)::text)),
		'hard', (crossed).hard, 'spent', (crossed).spent, 'granted', (crossed).granted,
		'remaining', trim_scale((crossed).granted - (crossed).spent - held),
		'grant_id', (crossed).grant_id, 'expires_at', (crossed).expires_at, 'expiring', (crossed).expiring,
		'spent_per_day', (crossed).spent_per_day));
COMMENT ON FUNCTION yquota_internal.crossing_figures(yquota_internal.crossed_threshold, numeric) IS
	'Return the figures of an alert about a threshold, for programs';

-- Sets ROWS, because the planner cannot know how many alerts are open.
CREATE FUNCTION yquota_internal.told_crossings(of_forecasts boolean)
	RETURNS TABLE (alert_id bigint, subject text, project text, fraction numeric, remaining numeric, causes text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1000
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT alert.alert_id, alert.subject, known.project, known.fraction, known.remaining, known.causes
		FROM yquota.alert
		LEFT JOIN yquota_internal.told_crossing AS known ON known.alert_id = alert.alert_id
		WHERE alert.kind = 'spending_threshold' AND alert.cleared_at IS NULL
		  AND coalesce(alert.figures ->> 'measure' IN ('before_expiry', 'lasts_less_than'), false) = of_forecasts;
$$;
COMMENT ON FUNCTION yquota_internal.told_crossings(boolean) IS
	'Return the open alerts about thresholds: those that need a forecast (before_expiry, lasts_less_than), or the others (fraction, remaining)';

CREATE FUNCTION yquota_internal.tell_crossings(now_at timestamptz, forecasts yquota_internal.crossed_threshold[] DEFAULT NULL) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- skip the rest if nothing has been crossed, as in most calls; the planner cannot know this
	SET jit = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found bigint;
BEGIN
	-- lock this table first, as the order of locks demands, although its rows are written only after the next lock
	LOCK TABLE yquota_internal.told_crossing IN ROW EXCLUSIVE MODE;
	-- run one call at a time; transactions that change or read thresholds do not wait
	LOCK TABLE yquota.spending_threshold IN SHARE UPDATE EXCLUSIVE MODE;
	-- most calls find no crossing, neither a new nor an open one
	IF NOT EXISTS (SELECT FROM yquota_internal.told_crossing)
		AND NOT EXISTS (SELECT FROM yquota.alert WHERE alert.kind = 'spending_threshold' AND alert.cleared_at IS NULL)
		AND NOT EXISTS (SELECT FROM yquota_internal.crossed_thresholds(forecasts)) THEN
		RETURN 0;
	END IF;
	WITH crossed AS MATERIALIZED (
		SELECT c.* FROM yquota_internal.crossed_thresholds(forecasts) AS c
	), told_before AS MATERIALIZED (
		SELECT t.* FROM yquota_internal.told_crossings(forecasts IS NOT NULL) AS t
	), cause AS MATERIALIZED (
		SELECT c.project, c.causes
		FROM yquota_internal.crossing_causes(ARRAY(SELECT crossed.project FROM crossed WHERE crossed.stays
												   UNION SELECT t.project FROM told_before AS t WHERE t.causes <> '')) AS c
	), forgotten AS (
		DELETE FROM yquota_internal.told_crossing AS known
		WHERE (num_nonnulls(known.before_expiry, known.lasts_less_than) = 1) = (forecasts IS NOT NULL)
		  AND NOT EXISTS (SELECT FROM told_before AS t WHERE t.alert_id = known.alert_id)
		  AND NOT EXISTS (SELECT FROM yquota.quota_grant AS given WHERE given.grant_id = known.grant_id AND now_at < given.expires_at)
	), below AS (
		UPDATE yquota.alert SET cleared_at = now_at
		FROM told_before AS t LEFT JOIN cause ON cause.project = t.project
		WHERE alert.alert_id = t.alert_id
		  AND NOT EXISTS (SELECT FROM crossed WHERE crossed.subject = t.subject)
		  AND (t.causes = '' OR t.causes IS DISTINCT FROM cause.causes
			   OR NOT EXISTS (SELECT FROM yquota_internal.project_threshold AS threshold
							  WHERE threshold.project = t.project
								AND (threshold.fraction, threshold.remaining) IS NOT DISTINCT FROM (t.fraction, t.remaining)))
	), fresh AS MATERIALIZED (
		-- skip crossings that were reported already: nearly all of them
		SELECT c.* FROM crossed AS c
		WHERE c.is_new
		  AND NOT EXISTS (SELECT FROM told_before WHERE told_before.subject = c.subject)
		  AND NOT EXISTS (SELECT FROM yquota_internal.told_crossing AS known
						  WHERE known.grant_id = c.grant_id AND known.before_expiry = c.before_expiry)
	), raised AS (
		INSERT INTO yquota.alert (kind, subject, detail, raised_at, figures)
		SELECT 'spending_threshold', crossed.subject, yquota_internal.crossing_detail(crossed, project.on_exhausted::text),
			   now_at, yquota_internal.crossing_figures(crossed, coalesce(
				   -- reads the holds of these projects once
				   ((SELECT jsonb_object_agg(holds.project, holds.held)
					 FROM yquota_internal.held_by_projects(ARRAY(SELECT DISTINCT fresh.project FROM fresh)) AS holds) ->> crossed.project)::numeric, 0))
		FROM fresh AS crossed JOIN yquota.project ON project.name = crossed.project
		ORDER BY crossed.project, crossed.fraction, crossed.remaining DESC, crossed.lasts_less_than DESC, crossed.grant_id, crossed.before_expiry DESC
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING
		RETURNING alert_id, subject
	), noted AS (
		INSERT INTO yquota_internal.told_crossing AS known
			(alert_id, project, fraction, remaining, before_expiry, lasts_less_than, grant_id, causes)
		SELECT t.alert_id, crossed.project, crossed.fraction, crossed.remaining, crossed.before_expiry, crossed.lasts_less_than,
			   crossed.grant_id, coalesce(cause.causes, '')
		FROM (SELECT raised.alert_id, raised.subject, NULL AS causes FROM raised
			  UNION ALL
			  SELECT told_before.alert_id, told_before.subject, told_before.causes FROM told_before) AS t
		JOIN crossed ON crossed.subject = t.subject
		LEFT JOIN cause ON crossed.stays AND cause.project = crossed.project
		WHERE coalesce(cause.causes, '') IS DISTINCT FROM t.causes
		ON CONFLICT (alert_id) DO UPDATE SET causes = excluded.causes
	), told AS MATERIALIZED (
		-- send only the id: every role may listen, but not every role may read the alert
		SELECT pg_notify('yquota', jsonb_build_object('kind', 'spending_threshold', 'alert_id', message.alert_id)::text)
		FROM (SELECT * FROM raised ORDER BY raised.alert_id) AS message
	)
	SELECT count(told) INTO found FROM told;
	RETURN found;
END
$$;
COMMENT ON FUNCTION yquota_internal.tell_crossings(timestamptz, yquota_internal.crossed_threshold[]) IS
	'Raise alerts, and notify channel yquota, for thresholds of the array (NULL: of crossed_threshold) that were not crossed before.  Clear alerts of the same kinds that are over.  Returns the number of raised alerts';

CREATE FUNCTION yquota_internal.note_crossings(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- give up if reports of other transactions may be invisible; the worker calls again later
	RETURN CASE WHEN yquota_internal.sees_commits() THEN yquota_internal.tell_crossings(now_at) ELSE 0 END;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_crossings(timestamptz) IS
	'Raise an alert for each threshold fraction or remaining that was crossed since the last call, and clear alerts that are over.  Returns the number of raised alerts';

CREATE FUNCTION yquota_internal.has_forecast_thresholds() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM yquota.spending_threshold AS known WHERE num_nonnulls(known.before_expiry, known.lasts_less_than) = 1)
		OR EXISTS (SELECT FROM yquota_internal.told_crossing AS told WHERE num_nonnulls(told.before_expiry, told.lasts_less_than) = 1);
COMMENT ON FUNCTION yquota_internal.has_forecast_thresholds() IS
	'Tell whether a threshold before_expiry or lasts_less_than is set, or an alert about such a threshold may be open';

CREATE FUNCTION yquota_internal.note_forecasts(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found yquota_internal.crossed_threshold[];
BEGIN
	IF NOT yquota_internal.sees_commits() OR NOT yquota_internal.has_forecast_thresholds() THEN
		RETURN 0;
	END IF;
	-- run one call at a time; note_crossings() does not wait for this long query
	LOCK TABLE yquota_internal.told_crossing IN SHARE UPDATE EXCLUSIVE MODE;
	SELECT coalesce(array_agg(crossed), '{}') INTO found FROM yquota_internal.forecast_thresholds() AS crossed;
	RETURN yquota_internal.tell_crossings(now_at, found);
END
$$;
COMMENT ON FUNCTION yquota_internal.note_forecasts(timestamptz) IS
	'Raise alerts about crossed thresholds before_expiry and lasts_less_than, and clear alerts that are over.  Returns the number of raised alerts';
