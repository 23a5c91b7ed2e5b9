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
			SELECT spent.part, ranked.place, sum(spent.amount) AS amount
			FROM spent JOIN ranked USING (name)
			GROUP BY spent.part, ranked.place
		), edge AS (
			SELECT cut.number, least(cut.at, (report).now) AS at, lead(least(cut.at, (report).now)) OVER (ORDER BY cut.number) AS next_at
			FROM unnest(cuts) WITH ORDINALITY AS cut (at, number)
			WHERE cut.number = 1 OR cuts[cut.number - 1] < (report).now
		), frame AS (
			SELECT yquota_internal.chart_frame((report)."from", (report)."to", (report).now, (report).zone, 0, max(stack.amount)) AS frame
			FROM (SELECT sum(greatest(bar.amount, 0)) AS amount FROM bar GROUP BY bar.part) AS stack
			HAVING max(stack.amount) > 0
		)
		SELECT coalesce(
			(SELECT yquota_internal.chart(title, 'credits per ' || yquota_internal.report_step((report)."from", (report)."to"), frame.frame, 'credits',
				yquota_internal.chart_areas(
					(SELECT array_agg(ROW(series.place,
							ARRAY(SELECT greatest(bar.amount, 0)::double precision FROM edge
								  LEFT JOIN bar ON bar.part = edge.number AND bar.place = series.place
								  WHERE edge.next_at IS NOT NULL ORDER BY edge.number))::yquota_internal.chart_area)
					 FROM series),
					(SELECT array_agg(yquota_internal.chart_x(edge.at, frame.frame)::double precision ORDER BY edge.number) FROM edge),
					(frame.frame).top::double precision),
				yquota_internal.chart_legend((SELECT array_agg(series.name ORDER BY series.place) FROM series), true),
				ARRAY['Total'] || (SELECT array_agg(series.name ORDER BY series.place) FROM series),
				ARRAY(SELECT ROW(edge.at, edge.next_at,
							coalesce((SELECT sum(spent.amount) FROM spent WHERE spent.part = edge.number), 0)
							|| ARRAY(SELECT coalesce(bar.amount, 0) FROM series LEFT JOIN bar ON bar.part = edge.number AND bar.place = series.place
									 ORDER BY series.place))::yquota_internal.chart_row
					  FROM edge WHERE edge.next_at IS NOT NULL),
				true)
			 FROM frame),
			yquota_internal.chart_in_words(title, yquota_internal.report_nothing(report, 'Nothing was spent in this window.')));
	END;
COMMENT ON FUNCTION yquota_internal.report_spending(text, text[], integer[], numeric[], timestamptz[], yquota_internal.report_window) IS
	'Draw the spending between each of some instants and the next one, stacked by name: the fifteen largest, and the others together';

-- In a chart with lines, a row begins where a line changes its value.
CREATE FUNCTION yquota_internal.step_rows(points yquota_internal.chart_point[], until timestamptz) RETURNS yquota_internal.chart_row[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH point AS MATERIALIZED (
			SELECT p.* FROM unnest(points) AS p
		), known AS (
			SELECT instant.at, line.name, point.amount, count(point.at) OVER (PARTITION BY line.name ORDER BY instant.at) AS points
			FROM (SELECT DISTINCT point.at FROM point) AS instant
			CROSS JOIN (SELECT DISTINCT point.name FROM point) AS line
			LEFT JOIN point ON point.at = instant.at AND point.name = line.name
		), held AS (
			SELECT known.at, known.name, max(known.amount) OVER (PARTITION BY known.name, known.points) AS amount FROM known
		), row AS (
			SELECT held.at, array_agg(held.amount ORDER BY held.name) AS amounts FROM held GROUP BY held.at
		), turn AS (
			SELECT row.at, row.amounts, row.amounts IS DISTINCT FROM lag(row.amounts) OVER (ORDER BY row.at) AS turns FROM row
		), span AS (
			SELECT turn.at, lead(turn.at, 1, until) OVER (ORDER BY turn.at) AS ends_at, turn.amounts FROM turn WHERE turn.turns
		)
		SELECT array_agg(ROW(span.at, span.ends_at, span.amounts)::yquota_internal.chart_row ORDER BY span.at)
		FROM span WHERE num_nonnulls(VARIADIC span.amounts) > 0 AND span.at < span.ends_at;
$$;
COMMENT ON FUNCTION yquota_internal.step_rows(yquota_internal.chart_point[], timestamptz) IS
	'Return the rows of a chart with stepped lines, up to an instant, in the order of their names';

CREATE FUNCTION yquota_internal.minutes_text(duration interval) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN concat(trim_scale(round(extract(epoch FROM duration) / 60, 1)), ' minutes');
COMMENT ON FUNCTION yquota_internal.minutes_text(interval) IS 'Format the step of a chart';

CREATE FUNCTION yquota_internal.report_lines(
	title text, axis text, unit text, bottom numeric, capacity numeric, points yquota_internal.chart_point[],
	report yquota_internal.report_window, otherwise text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH frame AS (
			SELECT yquota_internal.chart_frame((report)."from", (report)."to", (report).now, (report).zone,
											   least(min(p.amount), bottom), max(p.amount)) AS frame,
				   least((report)."to", (report).now) AS until
			FROM unnest(points) AS p HAVING count(p.amount) > 0
		), line AS (
			SELECT ARRAY(SELECT DISTINCT p.name FROM unnest(points) AS p ORDER BY p.name) AS names
		)
		SELECT coalesce(
			(SELECT yquota_internal.chart(title, axis, frame.frame, unit,
				concat(CASE WHEN capacity <= (frame.frame).top THEN yquota_internal.chart_mark(capacity, 'capacity', frame.frame) END,
					   yquota_internal.chart_steps(points, frame.until, frame.frame)),
				yquota_internal.chart_legend(line.names, false), line.names, yquota_internal.step_rows(points, frame.until), false)
			 FROM frame CROSS JOIN line),
			yquota_internal.chart_in_words(title, yquota_internal.report_nothing(report, otherwise)));
	END;
COMMENT ON FUNCTION yquota_internal.report_lines(text, text, text, numeric, numeric, yquota_internal.chart_point[], yquota_internal.report_window, text) IS
	'Draw lines above a bottom line, which is moved down to the lowest amount if necessary.  Draw a dashed line at a capacity within the chart.  Return a text when there are no lines';

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
			-- select the factor that follows the load of node queues, and manual points between its points
			SELECT factor.name, factor.effective_at, coalesce(factor.factor, 1)
			FROM yquota.price_factor AS factor
			WHERE factor.dimension = 'execution_type' AND factor.name = 'OPPORTUNISTIC'
			  AND EXISTS (SELECT FROM yquota.price_factor AS computed WHERE computed.load IS NOT NULL)
		)
		SELECT array_agg(ROW(line.name, greatest(last.effective_at, (report)."from"), coalesce(last.value,
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

CREATE FUNCTION yquota_internal.utilization_step(report yquota_internal.report_window) RETURNS interval
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN interval '15 minutes' * ceil(greatest((extract(epoch FROM (report)."to") - extract(epoch FROM (report)."from")) / (284 * 900), 1))::integer;
COMMENT ON FUNCTION yquota_internal.utilization_step(yquota_internal.report_window) IS
	'Return the time over which the chart of utilization averages: the fewest whole quarter-hours with which the window fits into 285 columns';

-- A measurement is valid until the next one, or until the next computation of prices if that comes first.
CREATE FUNCTION yquota_internal.report_utilization(report yquota_internal.report_window) RETURNS yquota_internal.chart_point[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH span AS (
			SELECT yquota_internal.utilization_step(report) AS width,
				   greatest(interval '15 minutes', 2 * yquota_internal.duration('yquota.price_interval')) AS patience
		), measured AS (
			SELECT h.price_group, date_bin(span.width, h.quarter_hour, (report)."from") AS at, max(h.quarter_hour) AS last_at,
				   round(100 * sum(h.average * h.measurements) / sum(h.measurements), 4) AS amount
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

CREATE FUNCTION yquota_internal.utilization_in_words(points yquota_internal.chart_point[]) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT format('<p>Utilization is above 100 %% (%s) where containers hold more than the nodes in state RUNNING have, for example after a loss of nodes.%s</p>',
					  string_agg(format('%s: %s %%', yquota_internal.html(line.name), yquota_internal.number_text(line.highest)), ', ' ORDER BY line.name),
					  CASE WHEN bool_or(price_group.count_pending) THEN ' It includes demand that waits for containers.' END)
		FROM (SELECT p.name, max(p.amount) AS highest FROM unnest(points) AS p GROUP BY p.name HAVING max(p.amount) > 100) AS line
		JOIN yquota.price_group ON price_group.name = line.name
		HAVING count(*) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.utilization_in_words(yquota_internal.chart_point[]) IS
	'Return a sentence that explains a utilization above 100 percent; NULL if there is none';

CREATE FUNCTION yquota_internal.report_utilization_chart(report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT concat(yquota_internal.report_lines('Utilization of the cluster',
						format('%% of the running nodes, average of %s', yquota_internal.minutes_text(yquota_internal.utilization_step(report))),
						'%', 0, 100, measured.points, report, 'Utilization was not measured in this window.'),
					  yquota_internal.utilization_in_words(measured.points))
		FROM (SELECT yquota_internal.report_utilization(report) AS points OFFSET 0) AS measured;
$$;
COMMENT ON FUNCTION yquota_internal.report_utilization_chart(yquota_internal.report_window) IS
	'Draw the measured utilization in a window, with a sentence if it exceeds 100 percent';

-- Draws the balance during the time of a report, and its forecast.  Holds are not deducted.  Projects without a limit
-- are left out.

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
	'Return the credit that budgets together had left at instants up to a last one.  The caller passes the costs up to the clock';

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
			SELECT f.at, round(f.expected, 2) AS credits, round(f.least_left, 2) AS least_credits, round(f.most_left, 2) AS most_credits,
				   yquota_internal.chart_x(f.at, scale.frame) AS x, yquota_internal.chart_y(f.expected, scale.frame) AS expected,
				   yquota_internal.chart_y(f.least_left, scale.frame) AS least_left, yquota_internal.chart_y(f.most_left, scale.frame) AS most_left
			FROM span, scale, yquota_internal.report_forecast(span.last_at, span.ends_at, span.credit, days, mean, deviation) AS f
			WHERE days IS NOT NULL AND span.credit > 0
		)
		SELECT yquota_internal.chart(CASE WHEN days IS NULL THEN 'Balance' ELSE 'Balance, and its forecast if days to come are like the last ones' END,
			'credits left, at the end of each ' || yquota_internal.report_step((report)."from", (report)."to"), scale.frame, 'credits',
			concat('<path class="line c1" d="M', past_line.d, '"/>',
				(SELECT format('<path class="band c2" d="M%sL%sZ"/><path class="line c2" d="M%s"/>',
						string_agg(format('%s %s', p.x, p.most_left), 'L' ORDER BY p.at), string_agg(format('%s %s', p.x, p.least_left), 'L' ORDER BY p.at DESC),
						string_agg(format('%s %s', p.x, p.expected), 'L' ORDER BY p.at))
				 FROM point AS p HAVING count(*) > 0)),
			CASE WHEN EXISTS (SELECT FROM point) THEN yquota_internal.chart_legend('{Balance,"Forecast, with its range in nine cases of ten"}', false) END,
			CASE WHEN EXISTS (SELECT FROM point) THEN '{Balance,Forecast,Least,Most}' ELSE '{Balance}'::text[] END,
			ARRAY(SELECT ROW(p.at, NULL, CASE WHEN EXISTS (SELECT FROM point) THEN ARRAY[p.amount, NULL, NULL, NULL] ELSE ARRAY[p.amount] END)::yquota_internal.chart_row
				  FROM unnest(past, balances) AS p (at, amount)
				  UNION ALL
				  SELECT ROW(p.at, NULL, ARRAY[NULL, p.credits, p.least_credits, p.most_credits])::yquota_internal.chart_row FROM point AS p, span WHERE p.at > span.last_at),
			false)
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
	'Draw the balance of budgets together and, if the window reaches the clock, how long it lasts.  The caller passes the costs up to the clock';
