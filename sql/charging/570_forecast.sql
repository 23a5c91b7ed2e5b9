-- Forecast of the end of credit from recent spending.
--
-- Spending in the last n intervals of 24 hours has a mean m and a standard deviation s.  The forecast assumes that
-- future days are like these days, and independent.  Then the cost of h days is m h, plus or minus z s sqrt(h + h^2
-- / n).  The term h is the variance of the future days.  The term h^2 / n is that of the mean, which is known from
-- only n days.  The remaining credit r lasts until m h = r.  The range ends where the limits of that band reach r.
-- These points are the roots of
--
--     (m^2 - q / n) h^2 - (2 m r + q) h + r^2 = 0      with q = (z s)^2
--
-- Here z = 1.645, for a probability of 90 %.  If the first coefficient is not positive, the range has no upper end.

CREATE FUNCTION yquota_internal.days_later(since timestamptz, days numeric) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN days > 36500 THEN 'infinity'::timestamptz
		   ELSE since + (round(days * 86400) || ' seconds')::interval END;
COMMENT ON FUNCTION yquota_internal.days_later(timestamptz, numeric) IS
	'Return an instant that is a number of 24-hour intervals later; NULL beyond a hundred years';

CREATE FUNCTION yquota_internal.days_until_spent(
	credit numeric, mean numeric, deviation numeric, days bigint,
	OUT expected numeric, OUT earliest numeric, OUT latest numeric)
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	never CONSTANT numeric := 'Infinity';
	q CONSTANT numeric := (1.645 * deviation) ^ 2;
	a CONSTANT numeric := mean ^ 2 - q / nullif(days, 0);
	b CONSTANT numeric := 2 * mean * credit + q;
	root CONSTANT numeric := sqrt(greatest(b ^ 2 - 4 * a * credit ^ 2, 0));
BEGIN
	IF credit <= 0 THEN
		SELECT 0, 0, 0 INTO expected, earliest, latest;
		RETURN;
	END IF;
	expected := CASE WHEN mean > 0 THEN credit / mean ELSE never END;
	IF days < 2 THEN
		RETURN;
	END IF;
	-- use a form that loses no precision if a is about 0
	earliest := CASE WHEN b + root > 0 THEN 2 * credit ^ 2 / (b + root) ELSE never END;
	latest := CASE WHEN a > 0 THEN (b + root) / (2 * a) ELSE never END;
END
$$;
COMMENT ON FUNCTION yquota_internal.days_until_spent(numeric, numeric, numeric, bigint) IS
	'Return the days until credit is used up, given the mean and standard deviation of spending per day and the number of observed days.  One observed day gives no range';

-- Days end at full quarter-hours, because archived history has only full quarter-hours.  A project that has just begun
-- has no earlier spending.  The time before its first spending says nothing about its pattern and is ignored.
CREATE FUNCTION yquota_internal.days_before(until timestamptz, days integer) RETURNS timestamptz[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT cut.at
		FROM generate_series(least(days, 1000), 0, -1) AS number
		CROSS JOIN LATERAL (SELECT yquota_internal.next_quarter_hour(until) - number * interval '24 hours' AS at) AS cut
		WHERE yquota_internal.is_reported_from(cut.at, '{project}')
		ORDER BY cut.at);
COMMENT ON FUNCTION yquota_internal.days_before(timestamptz, integer) IS
	'Return instants at intervals of 24 hours, up to the first full quarter-hour after an instant, as far back as costs are known';

-- The cost of a day is computed from its single charges, because the sums in archives and roll-ups have no prices.
CREATE FUNCTION yquota_internal.cost_at_multipliers(cuts timestamptz[], of_project text, multipliers yquota.price[])
	RETURNS TABLE (part integer, project text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- JIT compilation takes longer than the query
	SET jit = off
	AS $$
		SELECT split_part(cost.project, ' ', 1)::integer, substr(cost.project, strpos(cost.project, ' ') + 1), cost.amount
		FROM yquota_internal.cost_under_terms(
			yquota_internal.priced_cost_query('(SELECT s."from" AS since, s."to" AS until)', $condition$
				AND ((SELECT yquota_internal.reads_all())
					 OR s.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))$condition$, cuts),
			NULL, multipliers, NULL, NULL, cuts[1], cuts[cardinality(cuts)], of_project, NULL) AS cost;
$$;
COMMENT ON FUNCTION yquota_internal.cost_at_multipliers(timestamptz[], text, yquota.price[]) IS
	'Return the cost between each of some ascending instants and the next one as if the multipliers had been different.  The projects are those that the calling role may see, or one of them';

CREATE FUNCTION yquota_internal.spending_per_day(
	cuts timestamptz[], of_project text, together text[], multipliers yquota.price[] DEFAULT NULL)
	RETURNS TABLE (project text, days bigint, mean numeric, deviation numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH spent AS (
			SELECT line.project, cost.part, sum(cost.amount) AS amount
			FROM (SELECT CASE WHEN cardinality(coalesce(together, yquota_internal.family_of(of_project))) = 1
							  THEN coalesce(together[1], of_project) END AS project) AS asked
			CROSS JOIN LATERAL (
				SELECT paid.part, paid.project, paid.amount
				FROM yquota_internal.cost_in_parts(cuts, '{project}', asked.project) AS paid
				WHERE multipliers IS NULL
				UNION ALL
				SELECT assumed.part, assumed.project, assumed.amount
				FROM yquota_internal.cost_at_multipliers(cuts, asked.project, multipliers) AS assumed
				WHERE multipliers IS NOT NULL
			) AS cost
			CROSS JOIN LATERAL (
				SELECT CASE WHEN together IS NULL THEN cost.project END
				UNION ALL
				SELECT family.ancestor FROM yquota_internal.project_family AS family
				WHERE together IS NULL AND family.member = cost.project
			) AS line (project)
			WHERE together IS NULL OR cost.project = ANY (together)
			GROUP BY 1, cost.part
		), summed AS (
			SELECT s.project, cardinality(cuts) - min(s.part) AS days, sum(s.amount) AS total, sum(s.amount ^ 2) AS squares
			FROM spent AS s
			WHERE s.amount <> 0
			GROUP BY s.project
		)
		SELECT s.project, s.days, s.total / s.days,
			   CASE WHEN s.days > 1 THEN sqrt(greatest(s.squares - s.total ^ 2 / s.days, 0) / (s.days - 1)) ELSE 0 END
		FROM summed AS s;
$$;
COMMENT ON FUNCTION yquota_internal.spending_per_day(timestamptz[], text, text[], yquota.price[]) IS
	'Return the mean and standard deviation of the spending of projects between each of some instants and the next one, since they began to spend.  Each project is counted with its descendants, or the given projects are counted together.  If multipliers are given, they replace the multipliers of the timeline';

CREATE FUNCTION yquota_internal.forecast_as_owner(of_project text, days integer, multiplier numeric)
	RETURNS TABLE (project text, remaining numeric, observed_days bigint, spent_per_day numeric,
				   ends_at timestamptz, earliest_at timestamptz, latest_at timestamptz)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	now CONSTANT timestamptz := yquota.statement_clock();
	multipliers CONSTANT yquota.price[] := yquota_internal.assumed_multipliers(multiplier, now);
	cuts timestamptz[];
BEGIN
	IF days IS NULL OR days NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'number of days must be between 1 and 1000'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF of_project IS NOT NULL THEN
		PERFORM yquota_internal.check_visible_project(of_project);
	END IF;
	cuts := ARRAY(SELECT cut.at FROM unnest(yquota_internal.days_before(now, days)) AS cut (at)
				  WHERE multipliers IS NULL OR cut.at >= yquota_internal.archive_horizon()
				  ORDER BY cut.at);
	RETURN QUERY
	SELECT balance.project::text, balance.remaining, coalesce(spent.days, 0), round(coalesce(spent.mean, 0), 6),
		   yquota_internal.days_later(now, until.expected), yquota_internal.days_later(now, until.earliest),
		   yquota_internal.days_later(now, until.latest)
	FROM yquota.project_balance AS balance
		LEFT JOIN yquota_internal.spending_per_day(cuts, forecast_as_owner.of_project, NULL, multipliers) AS spent ON spent.project = balance.project
		LEFT JOIN LATERAL yquota_internal.days_until_spent(balance.available, coalesce(spent.mean, 0), coalesce(spent.deviation, 0), coalesce(spent.days, 1)) AS until
			ON balance.limited_by = balance.project
	WHERE forecast_as_owner.of_project IS NULL OR balance.project = forecast_as_owner.of_project
	ORDER BY balance.project;
END
$$;
COMMENT ON FUNCTION yquota_internal.forecast_as_owner(text, integer, numeric) IS
	'Return the result of forecast() for the calling role';

CREATE FUNCTION yquota.forecast(of_project text DEFAULT NULL, days integer DEFAULT 14, multiplier numeric DEFAULT NULL)
	RETURNS TABLE (project text, remaining numeric, observed_days bigint, spent_per_day numeric,
				   ends_at timestamptz, earliest_at timestamptz, latest_at timestamptz)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.forecast(text, integer, numeric) IS
	'Forecast when the credit of a project, or of each project, will be used up if the coming days are like the last ones.  If a multiplier is given, the price group GENERAL is assumed to have it.  Returns the expected instant and a 90 % range';
