--
-- The charts of a report.
--

CREATE FUNCTION yquota_internal.report_nothing(report yquota_internal.report_window, otherwise text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN (report)."from" >= (report).now THEN 'This window has not begun.' ELSE otherwise END;
COMMENT ON FUNCTION yquota_internal.report_nothing(yquota_internal.report_window, text) IS 'Return the reason why a chart is empty';

CREATE FUNCTION yquota_internal.report_spending(
	title text, names text[], parts integer[], amounts numeric[], cuts timestamptz[], report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH spent AS MATERIALIZED (
			SELECT s.name, s.part, sum(s.amount) AS amount FROM unnest(names, parts, amounts) AS s (name, part, amount) GROUP BY s.name, s.part
		), ranked AS (
			SELECT spent.name, least(16, row_number() OVER (ORDER BY sum(spent.amount) DESC, spent.name)) AS place
			FROM spent GROUP BY spent.name HAVING sum(spent.amount) > 0
		), series AS (
			SELECT ranked.place, CASE WHEN count(*) > 1 THEN format('%s others', count(*)) ELSE min(ranked.name) END AS name
			FROM ranked GROUP BY ranked.place
		), bar AS (
			SELECT spent.part, ranked.place, greatest(sum(spent.amount), 0) AS amount
			FROM spent JOIN ranked USING (name)
			GROUP BY spent.part, ranked.place
		), edge AS (
			SELECT cut.number, least(cut.at, (report).now) AS at
			FROM unnest(cuts) WITH ORDINALITY AS cut (at, number)
			WHERE cut.number = 1 OR cuts[cut.number - 1] < (report).now
		), frame AS (
			SELECT yquota_internal.chart_frame((report)."from", (report)."to", (report).now, (report).zone, 0, max(stack.amount)) AS frame
			FROM (SELECT sum(bar.amount) AS amount FROM bar GROUP BY bar.part) AS stack
			HAVING max(stack.amount) > 0
		)
		SELECT coalesce(
			(SELECT yquota_internal.chart(title, frame.frame, NULL,
				yquota_internal.chart_areas(
					(SELECT array_agg(ROW(series.place, series.name,
							ARRAY(SELECT coalesce(bar.amount, 0)::double precision FROM edge
								  LEFT JOIN bar ON bar.part = edge.number AND bar.place = series.place
								  WHERE edge.number < (SELECT max(edge.number) FROM edge) ORDER BY edge.number))::yquota_internal.chart_area)
					 FROM series),
					(SELECT array_agg(yquota_internal.chart_x(edge.at, frame.frame)::double precision ORDER BY edge.number) FROM edge),
					(frame.frame).top::double precision),
				yquota_internal.chart_legend((SELECT array_agg(series.name ORDER BY series.place) FROM series), true))
			 FROM frame),
			yquota_internal.chart_in_words(title, yquota_internal.report_nothing(report, 'Nothing was spent in this window.')));
	END;
COMMENT ON FUNCTION yquota_internal.report_spending(text, text[], integer[], numeric[], timestamptz[], yquota_internal.report_window) IS
	'Draw the spending between each of some instants and the next one, stacked by name: the fifteen largest, and the others together';

CREATE FUNCTION yquota_internal.report_lines(
	title text, unit text, bottom numeric, points yquota_internal.chart_point[], report yquota_internal.report_window, otherwise text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH frame AS (
			SELECT yquota_internal.chart_frame((report)."from", (report)."to", (report).now, (report).zone,
											   least(min(p.amount), bottom), max(p.amount)) AS frame
			FROM unnest(points) AS p HAVING count(p.amount) > 0
		)
		SELECT coalesce(
			(SELECT yquota_internal.chart(title, frame.frame, unit,
				yquota_internal.chart_steps(points, least((report)."to", (report).now), frame.frame),
				yquota_internal.chart_legend(ARRAY(SELECT DISTINCT p.name FROM unnest(points) AS p ORDER BY p.name), false))
			 FROM frame),
			yquota_internal.chart_in_words(title, yquota_internal.report_nothing(report, otherwise)));
	END;
COMMENT ON FUNCTION yquota_internal.report_lines(text, text, numeric, yquota_internal.chart_point[], yquota_internal.report_window, text) IS
	'Draw lines above a bottom line, which is moved down to the lowest amount if necessary.  Return a text when there are no lines';

-- The chart has 285 columns, and shows the last point in each.
CREATE FUNCTION yquota_internal.report_prices(report yquota_internal.report_window) RETURNS yquota_internal.chart_point[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH point AS (
			SELECT price.price_group AS name, price.effective_at, NULL::numeric AS value
			FROM yquota.price
			UNION ALL
			SELECT calendar_factor.price_group, calendar_factor.effective_at, NULL
			FROM yquota.calendar_factor
			UNION ALL
			-- the factor that follows the load of node queues, and manual points between its points
			SELECT factor.name, factor.effective_at, coalesce(factor.factor, 1)
			FROM yquota.price_factor AS factor
			WHERE factor.dimension = 'execution_type' AND factor.name = 'OPPORTUNISTIC'
			  AND EXISTS (SELECT FROM yquota.price_factor AS computed WHERE computed.load IS NOT NULL)
		)
		SELECT array_agg(ROW(line.name, place.at, coalesce(last.value,
				(SELECT price.multiplier FROM yquota.price
				 WHERE price.price_group = line.name AND price.effective_at <= last.effective_at
				 ORDER BY price.effective_at DESC LIMIT 1)
				* coalesce((SELECT f.factor FROM yquota.calendar_factor AS f
							WHERE f.price_group = line.name AND f.effective_at <= last.effective_at
							ORDER BY f.effective_at DESC LIMIT 1), 1)))::yquota_internal.chart_point)
		FROM (SELECT price_group.name FROM yquota.price_group UNION ALL SELECT 'OPPORTUNISTIC') AS line
		CROSS JOIN LATERAL (
			SELECT number, (report)."from" + ((report)."to" - (report)."from") * (number / 284.0) AS at FROM generate_series(0, 284) AS number) AS place
		CROSS JOIN LATERAL (
			SELECT point.effective_at, point.value
			FROM point
			WHERE point.name = line.name
			  AND point.effective_at < (report)."from" + ((report)."to" - (report)."from") * ((place.number + 0.5) / 284)
			  AND point.effective_at < least((report)."to", (report).now)
			  AND point.effective_at >= CASE WHEN place.number = 0 THEN '-infinity' ELSE (report)."from" + ((report)."to" - (report)."from") * ((place.number - 0.5) / 284) END
			ORDER BY point.effective_at DESC
			LIMIT 1) AS last
		WHERE place.at < least((report)."to", (report).now);
$$;
COMMENT ON FUNCTION yquota_internal.report_prices(yquota_internal.report_window) IS
	'Draw the multiplier and the calendar factor of each price group in a window, by which base prices were multiplied.  Also draw the factor of OPPORTUNISTIC containers if it follows the load of node queues';

-- The function averages over as many whole quarter-hours as are needed to fit into 285 columns.  A measurement is
-- valid until the next one, or until the next computation of prices if that comes first.
CREATE FUNCTION yquota_internal.report_utilization(report yquota_internal.report_window) RETURNS yquota_internal.chart_point[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH span AS (
			SELECT interval '15 minutes' * ceil(greatest((extract(epoch FROM (report)."to") - extract(epoch FROM (report)."from")) / (284 * 900), 1))::integer AS width,
				   greatest(interval '15 minutes', 2 * yquota_internal.duration('yquota.price_interval')) AS patience
		), measured AS (
			SELECT h.price_group, date_bin(span.width, h.quarter_hour, (report)."from") AS at, max(h.quarter_hour) AS last_at,
				   100 * sum(h.average * h.measurements) / sum(h.measurements) AS amount
			FROM yquota.utilization_history AS h CROSS JOIN span
			WHERE h.quarter_hour >= (report)."from" AND h.quarter_hour < least((report)."to", (report).now)
			GROUP BY h.price_group, date_bin(span.width, h.quarter_hour, (report)."from")
		), until AS (
			SELECT m.*, m.last_at + interval '15 minutes' + span.patience AS ends_at,
				   coalesce(lead(m.at) OVER (PARTITION BY m.price_group ORDER BY m.at), least((report)."to", (report).now)) AS next_at
			FROM measured AS m CROSS JOIN span
		)
		SELECT array_agg(ROW(point.price_group, point.at, point.amount)::yquota_internal.chart_point)
		FROM (SELECT until.price_group, until.at, until.amount FROM until
			  UNION ALL
			  SELECT until.price_group, until.last_at + interval '15 minutes', NULL FROM until WHERE until.ends_at < until.next_at) AS point;
$$;
COMMENT ON FUNCTION yquota_internal.report_utilization(yquota_internal.report_window) IS
	'Draw the measured utilization in a window, in percent';

-- The balance during the time of a report, and its forecast, before holds.  Projects without a limit are left out.

-- Spending before an instant is the present spending less the spending since the instant.
CREATE FUNCTION yquota_internal.past_balances(
	costs yquota_internal.report_cost[], cuts timestamptz[], until timestamptz, credits yquota_internal.project_credit[])
	RETURNS TABLE (at timestamptz, balance numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH budget AS MATERIALIZED (
			SELECT b.project, b.charged + b.accrued AS spent FROM yquota_internal.report_budgets(credits) AS b
		), spent AS MATERIALIZED (
			SELECT c.part, c.amount FROM unnest(costs) AS c
			WHERE c.project IN (SELECT budget.project FROM budget)
			   OR c.project IN (SELECT family.member FROM yquota_internal.project_family AS family JOIN budget ON budget.project = family.ancestor)
		), change AS MATERIALIZED (
			SELECT '-infinity'::timestamptz AS at,
				   coalesce((SELECT sum(spent.amount) FROM spent), 0) - (SELECT sum(budget.spent) FROM budget) AS amount
			UNION ALL
			SELECT least(cuts[spent.part + 1], until), -sum(spent.amount)
			FROM spent WHERE cuts[spent.part] < until GROUP BY 1
			UNION ALL
			SELECT life.begins_at, life.amount
			FROM yquota_internal.grant_life AS life JOIN budget USING (project)
			UNION ALL
			SELECT life.leaves_at, -life.amount
			FROM yquota_internal.grant_life AS life JOIN budget USING (project)
			WHERE life.leaves_at < 'infinity'
			UNION ALL
			SELECT life.loses_at, -lost.lost
			FROM yquota_internal.lost_credit AS lost
			JOIN budget USING (project)
			JOIN yquota_internal.grant_life AS life USING (grant_id, project)
		)
		SELECT point.at, (SELECT sum(change.amount) FROM change WHERE change.at <= point.at)
		FROM (SELECT unnest(cuts) AS at UNION SELECT until) AS point
		WHERE point.at <= until AND EXISTS (SELECT FROM budget)
		ORDER BY point.at;
$$;
COMMENT ON FUNCTION yquota_internal.past_balances(yquota_internal.report_cost[], timestamptz[], timestamptz, yquota_internal.project_credit[]) IS
	'Return the credit that budgets together had left at instants up to a last one.  Costs are given up to the clock';

-- The function computes the band of charging/570_forecast.sql.  Spent credit does not return, so the band ends at 0.
CREATE FUNCTION yquota_internal.report_forecast(
	since timestamptz, until timestamptz, credit numeric, days bigint, mean numeric, deviation numeric)
	RETURNS TABLE (at timestamptz, expected numeric, least_left numeric, most_left numeric)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT since + (until - since) * (step.number / 40.0), greatest(credit - mean * later.days, 0),
			   greatest(credit - mean * later.days - spread.amount, 0),
			   least(greatest(credit - mean * later.days + spread.amount, 0), credit)
		FROM generate_series(0, 40) AS step (number)
		CROSS JOIN LATERAL (SELECT (extract(epoch FROM until) - extract(epoch FROM since)) / 86400 * step.number / 40) AS later (days)
		CROSS JOIN LATERAL (SELECT CASE WHEN report_forecast.days < 2 THEN 0
									ELSE 1.645 * deviation * sqrt(later.days + later.days ^ 2 / report_forecast.days) END) AS spread (amount);
$$;
COMMENT ON FUNCTION yquota_internal.report_forecast(timestamptz, timestamptz, numeric, bigint, numeric, numeric) IS
	'Return the remaining credit, and its range, if spending has the given mean and standard deviation per day';

-- A window that reaches the clock is extended by half of the elapsed time.
CREATE FUNCTION yquota_internal.balance_chart(
	report yquota_internal.report_window, past timestamptz[], balances numeric[], days bigint, mean numeric, deviation numeric) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH span AS (
			SELECT past[cardinality(past)] AS last_at, balances[cardinality(balances)] AS credit,
				   CASE WHEN days IS NULL THEN (report)."to"
						ELSE greatest((report)."to", (report).now + greatest(((report).now - (report)."from") / 2, interval '1 hour')) END AS ends_at
		), scale AS (
			SELECT yquota_internal.chart_frame((report)."from", span.ends_at, (report).now, (report).zone, least(min(b.amount), 0), greatest(max(b.amount), 0)) AS frame
			FROM span CROSS JOIN unnest(balances) AS b (amount)
			GROUP BY span.ends_at
		), past_line AS (
			SELECT string_agg(format('%s %s', yquota_internal.chart_x(p.at, scale.frame), yquota_internal.chart_y(p.amount, scale.frame)), 'L' ORDER BY p.at) AS d
			FROM unnest(past, balances) AS p (at, amount), scale
		), point AS (
			SELECT f.at, yquota_internal.chart_x(f.at, scale.frame) AS x, yquota_internal.chart_y(f.expected, scale.frame) AS expected,
				   yquota_internal.chart_y(f.least_left, scale.frame) AS least_left, yquota_internal.chart_y(f.most_left, scale.frame) AS most_left
			FROM span, scale, yquota_internal.report_forecast(span.last_at, span.ends_at, span.credit, days, mean, deviation) AS f
			WHERE days IS NOT NULL AND span.credit > 0
		)
		SELECT yquota_internal.chart(CASE WHEN days IS NULL THEN 'Balance' ELSE 'Balance, and its forecast if days to come are like the last ones' END, scale.frame, NULL,
			concat('<path class="line c1" d="M', past_line.d, '"/>',
				(SELECT format('<path class="band c2" d="M%sL%sZ"/><path class="line c2" d="M%s"/>',
						string_agg(format('%s %s', p.x, p.most_left), 'L' ORDER BY p.at), string_agg(format('%s %s', p.x, p.least_left), 'L' ORDER BY p.at DESC),
						string_agg(format('%s %s', p.x, p.expected), 'L' ORDER BY p.at))
				 FROM point AS p HAVING count(*) > 0)),
			CASE WHEN EXISTS (SELECT FROM point) THEN yquota_internal.chart_legend('{Balance,"Forecast, with its range in nine cases of ten"}', false) END)
		FROM scale, past_line;
$$;
COMMENT ON FUNCTION yquota_internal.balance_chart(yquota_internal.report_window, timestamptz[], numeric[], bigint, numeric, numeric) IS
	'Draw balances at ascending instants, and a forecast from the last balance on.  If days is NULL, there is no forecast';

CREATE FUNCTION yquota_internal.forecast_in_words(
	days bigint, ends_at timestamptz, earliest_at timestamptz, latest_at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN NOT isfinite(ends_at) THEN 'At the rate of the last days they last for more than a hundred years.'
				ELSE concat('If days to come are like the last ', days, ', they last until ', yquota_internal.html_time(ends_at, zone),
					CASE WHEN isfinite(latest_at) THEN
							concat(', in nine cases of ten between ', yquota_internal.html_time(earliest_at, zone),
								   ' and ', yquota_internal.html_time(latest_at, zone))
						 WHEN isfinite(earliest_at) THEN
							concat(', in nineteen cases of twenty beyond ', yquota_internal.html_time(earliest_at, zone)) END, '.') END;
COMMENT ON FUNCTION yquota_internal.forecast_in_words(bigint, timestamptz, timestamptz, timestamptz, text) IS
	'Return a sentence about when credit will be used up';

CREATE FUNCTION yquota_internal.report_balance_chart(
	report yquota_internal.report_window, costs yquota_internal.report_cost[], cuts timestamptz[], credits yquota_internal.project_credit[]) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	until CONSTANT timestamptz := least(report."to", report.now);
	past timestamptz[];
	balances numeric[];
	credit numeric;
	credit_limit CONSTANT numeric := (SELECT sum(b.credit_limit) FROM yquota_internal.report_budgets(credits) AS b);
	pattern record;
	lasts record;
	forecast text;
BEGIN
	SELECT array_agg(p.at ORDER BY p.at), array_agg(p.balance ORDER BY p.at) INTO past, balances
	FROM yquota_internal.past_balances(costs, cuts, until, credits) AS p;
	IF past IS NULL OR cardinality(past) < 2 THEN
		RETURN yquota_internal.chart_in_words('Balance', yquota_internal.report_nothing(report, 'There is no balance to show: no project of this report has a budget of its own.'));
	END IF;
	credit := balances[cardinality(balances)];
	IF report."to" >= report.now THEN
		SELECT coalesce(max(p.days), 1) AS days, coalesce(max(p.mean), 0) AS mean, coalesce(max(p.deviation), 0) AS deviation INTO pattern
		FROM yquota_internal.spending_per_day(yquota_internal.days_before(until, 14), NULL,
			ARRAY(SELECT member.name FROM yquota_internal.report_budgets(credits) AS b CROSS JOIN LATERAL unnest(yquota_internal.family_of(b.project)) AS member (name))) AS p;
		IF credit + credit_limit > 0 THEN
			SELECT * INTO lasts FROM yquota_internal.days_until_spent(credit + credit_limit, pattern.mean, pattern.deviation, pattern.days);
			forecast := yquota_internal.forecast_in_words(pattern.days, yquota_internal.days_later(until, lasts.expected),
				yquota_internal.days_later(until, lasts.earliest), yquota_internal.days_later(until, lasts.latest), report.zone);
		END IF;
		RETURN yquota_internal.balance_chart(report, past, balances, pattern.days, pattern.mean, pattern.deviation)
			|| format('<p>On %s there were %s credits%s. %s</p>', yquota_internal.html_time(until, report.zone), yquota_internal.html_number(credit),
					  CASE WHEN credit_limit > 0 THEN concat(', and ', yquota_internal.html_number(credit_limit), ' of credit limit') END, forecast);
	END IF;
	RETURN yquota_internal.balance_chart(report, past, balances, NULL, NULL, NULL)
		|| format('<p>On %s there were %s credits.</p>', yquota_internal.html_time(until, report.zone), yquota_internal.html_number(credit));
END
$$;
COMMENT ON FUNCTION yquota_internal.report_balance_chart(yquota_internal.report_window, yquota_internal.report_cost[], timestamptz[], yquota_internal.project_credit[]) IS
	'Draw the balance of budgets together and, if the window reaches the clock, how long it lasts.  Costs are given up to the clock';
