--
-- A report as one HTML page: nothing in it comes from elsewhere, and charts are
-- SVG.  Every text from users is escaped where it enters a page: html() is the
-- only way for text.
--

CREATE FUNCTION yquota_internal.html(content text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN coalesce(replace(replace(replace(replace(replace(content,
		'&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'), '–');
COMMENT ON FUNCTION yquota_internal.html(text) IS 'Text that stands for itself in HTML, a dash for none';

CREATE FUNCTION yquota_internal.html_number(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN number IS NULL THEN '–'
				WHEN abs(number) >= 1e15 THEN round(number)::text
				WHEN abs(number) >= 1000 OR number = round(number) THEN to_char(number, 'FM999,999,999,999,990')
				ELSE to_char(number, 'FM990.00') END;
COMMENT ON FUNCTION yquota_internal.html_number(numeric) IS 'A number as people read it';

CREATE FUNCTION yquota_internal.html_axis(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN abs(number) >= 1e15 THEN to_char(number, 'FM9.9EEEE')
				WHEN abs(number) >= 1e12 THEN trim_scale(round(number / 1e12, 1)) || ' T'
				WHEN abs(number) >= 1e9 THEN trim_scale(round(number / 1e9, 1)) || ' G'
				WHEN abs(number) >= 1e6 THEN trim_scale(round(number / 1e6, 1)) || ' M'
				WHEN abs(number) >= 1e4 THEN trim_scale(round(number / 1e3, 1)) || ' k'
				ELSE yquota_internal.html_number(number) END;
COMMENT ON FUNCTION yquota_internal.html_axis(numeric) IS 'A number in the margin of a chart, where there is room for seven characters';

CREATE FUNCTION yquota_internal.html_table(heads text[], body text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN body IS NULL THEN '<p>None.</p>'
				ELSE '<div class="wide"><table><thead><tr><th>' || array_to_string(heads, '</th><th>')
					|| '</th></tr></thead><tbody>' || body || '</tbody></table></div>' END;
COMMENT ON FUNCTION yquota_internal.html_table(text[], text) IS 'A table of rows that are HTML already; NULL for no rows';

-- A page around a body that is HTML already
CREATE FUNCTION yquota_internal.html_page(title text, explanation text, body text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>'
		|| yquota_internal.html(title) || '</title><style>'
		|| ':root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--rule:#d5dae0}'
		'@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--rule:#3a4048}}'
		'*{box-sizing:border-box}body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:0 auto;padding:1rem}'
		'h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}figure{margin:1.5rem 0}figcaption{font-weight:600}'
		'.wide{overflow-x:auto}svg{display:block;width:100%;min-width:34rem}svg text{font-size:11px;fill:var(--ink)}.y{text-anchor:end}.x{text-anchor:middle}.x:last-of-type{text-anchor:end}'
		'svg line{stroke:var(--rule)}path{fill:var(--c)}path.line{fill:none;stroke:var(--c);stroke-width:2}path.band{opacity:.25}'
		'.legend{margin:.2rem 0;font-size:.85rem;overflow-wrap:anywhere}.legend span{display:inline-block;margin-right:.8rem}.legend i{display:inline-block;width:.8em;height:.8em;background:var(--c);margin-right:.3em}'
		'.c1{--c:#3b7dd8}.c2{--c:#e08a2c}.c3{--c:#3fa66b}.c4{--c:#c8504f}.c5{--c:#8a67c9}.c6{--c:#2aa3a8}.c7{--c:#c65f9e}.c8{--c:#8a9099}'
		'table{border-collapse:collapse;width:100%;min-width:40rem;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--rule);vertical-align:top;max-width:24rem;overflow-wrap:break-word}'
		'@media print{body{max-width:none;font-size:11px}figure,tr{break-inside:avoid}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}'
		'</style></head><body><h1>' || yquota_internal.html(title) || '</h1><p>' || yquota_internal.html(explanation) || '</p>' || body || '</body></html>';
COMMENT ON FUNCTION yquota_internal.html_page(text, text, text) IS
	'A page around a body that is HTML already, with the style of light and dark screens, narrow ones and paper';

-- Where an instant or amount lies in a chart of 640 by 240
CREATE FUNCTION yquota_internal.chart_x(at timestamptz, "from" timestamptz, "to" timestamptz) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN round(64 + 568 * (extract(epoch FROM at) - extract(epoch FROM "from"))
				 / nullif(extract(epoch FROM "to") - extract(epoch FROM "from"), 0), 1);
COMMENT ON FUNCTION yquota_internal.chart_x(timestamptz, timestamptz, timestamptz) IS 'How far right an instant is in a chart; NULL in one without width';

CREATE FUNCTION yquota_internal.chart_y(amount numeric, bottom numeric, top numeric) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN round(210 - 200 * (amount - bottom) / nullif(top - bottom, 0), 1);
COMMENT ON FUNCTION yquota_internal.chart_y(numeric, numeric, numeric) IS 'How far down an amount is in a chart; NULL in one without height';

CREATE FUNCTION yquota_internal.chart(
	title text, "from" timestamptz, "to" timestamptz, bottom numeric, top numeric, body text, legend text[], zone text)
	RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '<figure><figcaption>' || yquota_internal.html(title) || '</figcaption><p class="legend">'
		|| coalesce((SELECT string_agg(format('<span><i class="c%s"></i>%s</span>', name.number, yquota_internal.html(name.text)), ' ' ORDER BY name.number)
					 FROM unnest(legend) WITH ORDINALITY AS name (text, number)), '')
		|| '</p><div class="wide"><svg viewBox="0 0 640 240" role="img" aria-label="' || yquota_internal.html(title) || '">'
		|| (SELECT string_agg(format('<line x1="64" x2="632" y1="%1$s" y2="%1$s"/><text x="58" y="%2$s" class="y">%3$s</text>',
									 210 - 50 * line.number, 215 - 50 * line.number, yquota_internal.html_axis(bottom + (top - bottom) * line.number / 4)), '' ORDER BY line.number)
			FROM generate_series(0, 4) AS line (number))
		|| (SELECT string_agg(format('<text x="%s" y="232" class="x">%s</text>', 64 + 142 * mark.number,
									 to_char(("from" + ("to" - "from") * mark.number / 4) AT TIME ZONE zone,
											 CASE WHEN "to" - "from" <= interval '3 days' THEN 'MM-DD HH24:MI' ELSE 'YYYY-MM-DD' END)), '' ORDER BY mark.number)
			FROM generate_series(0, 4) AS mark (number))
		|| coalesce(body, '') || '</svg></div></figure>';
COMMENT ON FUNCTION yquota_internal.chart(text, timestamptz, timestamptz, numeric, numeric, text, text[], text) IS
	'A chart around shapes that are SVG already';

CREATE FUNCTION yquota_internal.report_cuts("from" timestamptz, "to" timestamptz, zone text) RETURNS timestamptz[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT "from" UNION
		SELECT hour.at FROM generate_series(date_trunc('hour', "from"), "to", interval '1 hour') AS hour (at)
		WHERE "to" - "from" <= interval '3 days' AND hour.at > "from" AND hour.at < "to" UNION
		SELECT day.at FROM (
			SELECT yquota_internal.billing_day_start(yquota_internal.billing_day("from", zone) + number, zone) AS at
			FROM generate_series(1, least(4000, extract(day FROM "to" - "from")::integer + 1),
								 CASE WHEN "to" - "from" <= interval '100 days' THEN 1 ELSE 7 END) AS number) AS day
		WHERE "to" - "from" > interval '3 days' AND day.at > "from" AND day.at < "to" UNION
		SELECT "to"
		ORDER BY 1);
COMMENT ON FUNCTION yquota_internal.report_cuts(timestamptz, timestamptz, text) IS
	'Where the bars of a report begin and end: hours up to three days, days up to a hundred, weeks beyond';

CREATE TYPE yquota_internal.report_part AS (
	part integer,
	name text,
	amount numeric
);
COMMENT ON TYPE yquota_internal.report_part IS
	'Spending of a project or a queue between an instant of a report and the next';

-- Read once, for a chart, a table and the balances of the past.
CREATE FUNCTION yquota_internal.report_parts(cuts timestamptz[], by text, of_project text)
	RETURNS yquota_internal.report_part[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT ROW(cost.part, coalesce(CASE by WHEN 'queue' THEN cost.queue ELSE cost.project END, '(none)'), cost.amount)::yquota_internal.report_part
		FROM yquota_internal.cost_in_parts(cuts, ARRAY[by], of_project) AS cost);
COMMENT ON FUNCTION yquota_internal.report_parts(timestamptz[], text, text) IS
	'Spending of projects or queues between each of some instants and the next';
REVOKE ALL ON FUNCTION yquota_internal.report_parts(timestamptz[], text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.report_spending(
	title text, spendings yquota_internal.report_part[], cuts timestamptz[], zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH spent AS MATERIALIZED (
			SELECT s.part, s.name, s.amount FROM unnest(spendings) AS s WHERE s.part < cardinality(cuts)
		), ranked AS (
			SELECT spent.name, least(8, row_number() OVER (ORDER BY sum(spent.amount) DESC, spent.name)) AS place
			FROM spent GROUP BY spent.name
		), bar AS (
			SELECT spent.part, ranked.place, greatest(sum(spent.amount), 0) AS amount
			FROM spent JOIN ranked USING (name)
			GROUP BY spent.part, ranked.place
		), stacked AS (
			SELECT bar.*, sum(bar.amount) OVER (PARTITION BY bar.part ORDER BY bar.place) AS reaches FROM bar
		), scale AS (
			SELECT coalesce(greatest(max(stacked.reaches), 0.01), 1) AS top FROM stacked
		)
		SELECT yquota_internal.chart(title, cuts[1], cuts[cardinality(cuts)], 0, scale.top,
			(SELECT string_agg(series.path, '')
			 FROM (SELECT format('<path class="c%s" d="%s"/>', stacked.place, string_agg(
							 format('M%s %sH%sV%sH%sZ', box.x1, box.y1, box.x2, box.y2, box.x1), '' ORDER BY stacked.part)) AS path
				   FROM stacked
				   CROSS JOIN LATERAL (
					 SELECT yquota_internal.chart_x(cuts[stacked.part], cuts[1], cuts[cardinality(cuts)]) AS x1,
							yquota_internal.chart_x(cuts[stacked.part + 1], cuts[1], cuts[cardinality(cuts)]) - 0.5 AS x2,
							yquota_internal.chart_y(stacked.reaches, 0, scale.top) AS y1,
							yquota_internal.chart_y(stacked.reaches - stacked.amount, 0, scale.top) AS y2) AS box
				   GROUP BY stacked.place) AS series),
			(SELECT array_agg(series.name ORDER BY series.place)
			 FROM (SELECT ranked.place, CASE WHEN ranked.place = 8 AND count(*) > 1 THEN 'all others' ELSE min(ranked.name) END AS name
				   FROM ranked GROUP BY ranked.place) AS series), zone)
		FROM scale;
	END;
COMMENT ON FUNCTION yquota_internal.report_spending(text, yquota_internal.report_part[], timestamptz[], text) IS
	'Chart of spending, stacked by project or queue';
REVOKE ALL ON FUNCTION yquota_internal.report_spending(text, yquota_internal.report_part[], timestamptz[], text) FROM PUBLIC;

-- A point holds until the next one; of those that fall into one of 285 columns the
-- last is shown.  One that was set by hand tells of no utilization.
CREATE FUNCTION yquota_internal.report_prices(
	title text, show_utilization boolean, "from" timestamptz, "to" timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH point AS (
			SELECT price_group.name AS price_group, 64 + 2 * place.number AS x,
				   CASE WHEN show_utilization THEN last.utilization ELSE last.multiplier END AS value
			FROM yquota.price_group
			CROSS JOIN generate_series(0, 284) AS place (number)
			CROSS JOIN LATERAL (
				SELECT price.utilization, price.multiplier
				FROM yquota.price
				WHERE price.price_group = price_group.name
				  AND price.effective_at < least("from" + ("to" - "from") * ((place.number + 0.5) / 284), "to")
				  AND price.effective_at >= CASE WHEN place.number = 0 THEN '-infinity' ELSE "from" + ("to" - "from") * ((place.number - 0.5) / 284) END
				  AND (NOT show_utilization OR price.utilization IS NOT NULL)
				ORDER BY price.effective_at DESC
				LIMIT 1) AS last
		), scale AS (
			SELECT greatest(max(point.value), 1) AS top FROM point
		), series AS (
			SELECT point.price_group, row_number() OVER (ORDER BY point.price_group) AS place,
				   string_agg(format('H%sV%s', point.x, yquota_internal.chart_y(point.value, 0, scale.top)), '' ORDER BY point.x) AS path,
				   (array_agg(yquota_internal.chart_y(point.value, 0, scale.top) ORDER BY point.x))[1] AS first_y
			FROM point CROSS JOIN scale
			GROUP BY point.price_group
		)
		SELECT yquota_internal.chart(title, "from", "to", 0, coalesce((SELECT scale.top FROM scale), 1),
			(SELECT string_agg(format('<path class="line c%s" d="M64 %s%sH632"/>', least(series.place, 8), series.first_y, series.path), '') FROM series),
			(SELECT array_agg(series.price_group ORDER BY series.place) FROM series WHERE series.place <= 8), zone);
	END;
COMMENT ON FUNCTION yquota_internal.report_prices(text, boolean, timestamptz, timestamptz, text) IS
	'Chart of multipliers, or of the utilization that they were computed from';
REVOKE ALL ON FUNCTION yquota_internal.report_prices(text, boolean, timestamptz, timestamptz, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.report_balances(
	spendings yquota_internal.report_part[], cuts timestamptz[], of_project text, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.html_table(
			'{Project,Granted,Spent,Held,Remaining,"Per hour now","Lasts at this rate until","Lasts as in this window until"}',
			string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
				yquota_internal.html(balance.project), yquota_internal.html_number(balance.granted),
				yquota_internal.html_number(balance.charged + balance.accrued), yquota_internal.html_number(balance.held),
				yquota_internal.html_number(balance.remaining), yquota_internal.html_number(balance.burn_rate * 3600),
				coalesce(to_char(balance.exhausted_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), '–'),
				CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN
					coalesce(to_char(yquota_internal.used_up_at(yquota.statement_clock(), balance.granted - balance.charged - balance.accrued,
						spent.amount / (extract(epoch FROM cuts[cardinality(cuts)]) - extract(epoch FROM cuts[1]))) AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), '–')
					ELSE 'no limit' END), '' ORDER BY balance.charged + balance.accrued DESC, balance.project))
		FROM (SELECT * FROM yquota.project_balance AS b WHERE of_project IS NULL OR b.project = of_project
			  ORDER BY b.charged + b.accrued DESC, b.project LIMIT 50) AS balance
		LEFT JOIN (SELECT s.name, sum(s.amount) AS amount FROM unnest(spendings) AS s
				   WHERE s.part < cardinality(cuts) GROUP BY s.name) AS spent ON spent.name = balance.project;
	END;
COMMENT ON FUNCTION yquota_internal.report_balances(yquota_internal.report_part[], timestamptz[], text, text) IS
	'Table of balances, and of how long they last at the present rate and at that of a window; the fifty with most spending';
REVOKE ALL ON FUNCTION yquota_internal.report_balances(yquota_internal.report_part[], timestamptz[], text, text) FROM PUBLIC;

--
-- The balance over the time of a report, and how it may go on, before holds.
-- Projects without a limit have none.
--

-- Spending until an instant is the present spending, less the spending since.
CREATE FUNCTION yquota_internal.past_balances(
	spendings yquota_internal.report_part[], cuts timestamptz[], until timestamptz, of_project text)
	RETURNS TABLE (at timestamptz, balance numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH books AS MATERIALIZED (
			SELECT s.project, p.parent, s.charged + s.accrued AS spent
			FROM yquota_internal.spending AS s JOIN yquota.project AS p ON p.name = s.project
		), limited AS MATERIALIZED (
			-- books of a project have those of its sub-projects in them, which count once
			SELECT b.project, coalesce(own.spent, 0) - CASE WHEN of_project IS NULL THEN coalesce(below.spent, 0) ELSE 0 END AS spent
			FROM yquota.project_balance AS b
			LEFT JOIN books AS own ON own.project = b.project
			LEFT JOIN (SELECT books.parent, sum(books.spent) AS spent FROM books GROUP BY books.parent) AS below ON below.parent = b.project
			WHERE b.quota_mode = 'PREPAID' AND (of_project IS NULL OR b.project = of_project)
		), spent AS MATERIALIZED (
			SELECT s.part, s.amount FROM unnest(spendings) AS s
			WHERE s.name IN (SELECT limited.project FROM limited)
			   OR s.name IN (SELECT family.member FROM yquota_internal.project_family AS family WHERE family.ancestor = of_project)
		), change AS MATERIALIZED (
			SELECT '-infinity'::timestamptz AS at,
				   coalesce((SELECT sum(spent.amount) FROM spent), 0) - (SELECT sum(limited.spent) FROM limited) AS amount
			UNION ALL
			SELECT least(cuts[spent.part + 1], until), -sum(spent.amount)
			FROM spent WHERE cuts[spent.part] < until GROUP BY 1
			UNION ALL
			SELECT life.begins_at, life.amount
			FROM yquota_internal.grant_life AS life JOIN limited USING (project)
			UNION ALL
			SELECT life.leaves_at, -life.amount
			FROM yquota_internal.grant_life AS life JOIN limited USING (project)
			WHERE life.leaves_at < 'infinity'
			UNION ALL
			SELECT life.expires_at, -lost.lost
			FROM yquota_internal.lost_credit AS lost
			JOIN limited USING (project)
			JOIN yquota_internal.grant_life AS life USING (grant_id, project)
		)
		SELECT point.at, (SELECT sum(change.amount) FROM change WHERE change.at <= point.at)
		FROM (SELECT unnest(cuts) AS at UNION SELECT until) AS point
		WHERE point.at <= until AND EXISTS (SELECT FROM limited)
		ORDER BY point.at;
	END;
COMMENT ON FUNCTION yquota_internal.past_balances(yquota_internal.report_part[], timestamptz[], timestamptz, text) IS
	'Credit that projects together had left at instants up to a last one; spendings reach to the clock';
REVOKE ALL ON FUNCTION yquota_internal.past_balances(yquota_internal.report_part[], timestamptz[], timestamptz, text) FROM PUBLIC;

-- The band of charging/570_forecast.sql; credit does not come back, nor does the band.
CREATE FUNCTION yquota_internal.report_forecast(
	since timestamptz, until timestamptz, credit numeric, days bigint, mean numeric, deviation numeric)
	RETURNS TABLE (at timestamptz, expected numeric, least_left numeric, most_left numeric)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT since + (until - since) * (step.number / 40.0), greatest(credit - mean * later.days, 0),
			   greatest(credit - mean * later.days - spread.amount, 0),
			   least(greatest(credit - mean * later.days + spread.amount, 0), credit)
		FROM generate_series(0, 40) AS step (number)
		CROSS JOIN LATERAL (SELECT (extract(epoch FROM until) - extract(epoch FROM since)) / 86400 * step.number / 40) AS later (days)
		CROSS JOIN LATERAL (SELECT CASE WHEN report_forecast.days < 2 THEN 0
									ELSE 1.645 * deviation * sqrt(later.days + later.days ^ 2 / report_forecast.days) END) AS spread (amount);
	END;
COMMENT ON FUNCTION yquota_internal.report_forecast(timestamptz, timestamptz, numeric, bigint, numeric, numeric) IS
	'Rest of credit that is spent with a mean and a standard deviation per day, and its range';
REVOKE ALL ON FUNCTION yquota_internal.report_forecast(timestamptz, timestamptz, numeric, bigint, numeric, numeric) FROM PUBLIC;

CREATE FUNCTION yquota_internal.balance_chart(
	past timestamptz[], balances numeric[], days bigint, mean numeric, deviation numeric, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH span AS (
			SELECT past[1] AS starts_at, past[cardinality(past)] AS now, balances[cardinality(balances)] AS credit,
				   past[cardinality(past)] + greatest((past[cardinality(past)] - past[1]) / 2, interval '1 hour') AS ends_at
		), scale AS (
			SELECT least(min(b.amount), 0) AS bottom, greatest(max(b.amount), min(b.amount) + 0.01, 0.01) AS top FROM unnest(balances) AS b (amount)
		), past_line AS (
			SELECT string_agg(format('%s %s', yquota_internal.chart_x(p.at, span.starts_at, span.ends_at),
									 yquota_internal.chart_y(p.amount, scale.bottom, scale.top)), 'L' ORDER BY p.at) AS d
			FROM unnest(past, balances) AS p (at, amount), span, scale
		), point AS (
			SELECT f.at, yquota_internal.chart_x(f.at, span.starts_at, span.ends_at) AS x,
				   yquota_internal.chart_y(f.expected, scale.bottom, scale.top) AS expected,
				   yquota_internal.chart_y(f.least_left, scale.bottom, scale.top) AS least_left,
				   yquota_internal.chart_y(f.most_left, scale.bottom, scale.top) AS most_left
			FROM span, scale, yquota_internal.report_forecast(span.now, span.ends_at, span.credit, days, mean, deviation) AS f
			WHERE span.credit > 0
		)
		SELECT yquota_internal.chart('Balance, and its forecast if days to come are like the last ones', span.starts_at, span.ends_at,
			scale.bottom, scale.top,
			concat('<path class="line c1" d="M', past_line.d, '"/>',
				(SELECT format('<path class="band c2" d="M%sL%sZ"/><path class="line c2" d="M%s"/>',
						string_agg(format('%s %s', p.x, p.most_left), 'L' ORDER BY p.at), string_agg(format('%s %s', p.x, p.least_left), 'L' ORDER BY p.at DESC),
						string_agg(format('%s %s', p.x, p.expected), 'L' ORDER BY p.at))
				 FROM point AS p HAVING count(*) > 0)),
			'{Balance,"Forecast, with its range in nine cases of ten"}', zone)
		FROM span, scale, past_line;
	END;
COMMENT ON FUNCTION yquota_internal.balance_chart(timestamptz[], numeric[], bigint, numeric, numeric, text) IS
	'Chart of balances at ascending instants, and of how the last one may go on';
REVOKE ALL ON FUNCTION yquota_internal.balance_chart(timestamptz[], numeric[], bigint, numeric, numeric, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.forecast_in_words(
	days bigint, ends_at timestamptz, earliest_at timestamptz, latest_at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN NOT isfinite(ends_at) THEN 'At the rate of the last days they last for more than a hundred years.'
				ELSE concat('If days to come are like the last ', days, ', they last until ', to_char(ends_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
					CASE WHEN isfinite(latest_at) THEN
							concat(', in nine cases of ten between ', to_char(earliest_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
								   ' and ', to_char(latest_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'))
						 WHEN isfinite(earliest_at) THEN
							concat(', in nineteen cases of twenty beyond ', to_char(earliest_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI')) END, '.') END;
COMMENT ON FUNCTION yquota_internal.forecast_in_words(bigint, timestamptz, timestamptz, timestamptz, text) IS
	'A sentence about when credit will be used up';
REVOKE ALL ON FUNCTION yquota_internal.forecast_in_words(bigint, timestamptz, timestamptz, timestamptz, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.report_balance_chart(
	spendings yquota_internal.report_part[], cuts timestamptz[], until timestamptz, of_project text, zone text) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	past timestamptz[];
	balances numeric[];
	pattern record;
	lasts record;
BEGIN
	SELECT array_agg(p.at ORDER BY p.at), array_agg(p.balance ORDER BY p.at) INTO past, balances
	FROM yquota_internal.past_balances(spendings, cuts, until, of_project) AS p;
	IF past IS NULL OR cardinality(past) < 2 THEN
		RETURN '<p>There is no balance to show.</p>';
	END IF;
	SELECT * INTO pattern FROM yquota_internal.spending_per_day(yquota_internal.days_before(until, 14), of_project, true);
	SELECT * INTO lasts FROM yquota_internal.days_until_spent(balances[cardinality(balances)], coalesce(pattern.mean, 0),
															 coalesce(pattern.deviation, 0), coalesce(pattern.days, 1));
	RETURN yquota_internal.balance_chart(past, balances, coalesce(pattern.days, 1), coalesce(pattern.mean, 0), coalesce(pattern.deviation, 0), zone)
		|| format('<p>On %s there were %s credits. %s</p>', to_char(until AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
			yquota_internal.html_number(balances[cardinality(balances)]),
			CASE WHEN balances[cardinality(balances)] > 0 THEN
				yquota_internal.forecast_in_words(coalesce(pattern.days, 1), yquota_internal.days_later(until, lasts.expected),
					yquota_internal.days_later(until, lasts.earliest), yquota_internal.days_later(until, lasts.latest), zone) END);
END
$$;
COMMENT ON FUNCTION yquota_internal.report_balance_chart(yquota_internal.report_part[], timestamptz[], timestamptz, text, text) IS
	'Chart of the balance of a project, or of all together, and how long it lasts; spendings reach to the clock';
REVOKE ALL ON FUNCTION yquota_internal.report_balance_chart(yquota_internal.report_part[], timestamptz[], timestamptz, text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.report_applications("from" timestamptz, "to" timestamptz, of_project text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.html_table('{Application,Project,User,Queue,Credits}',
			string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
				yquota_internal.html(dear.application_id), yquota_internal.html(dear.project), yquota_internal.html(dear.username),
				yquota_internal.html(dear.queue), yquota_internal.html_number(dear.amount)), '' ORDER BY dear.amount DESC, dear.application_id))
		FROM (SELECT * FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], '{application_id,project,username,queue}', of_project)
			  ORDER BY amount DESC, application_id LIMIT 15) AS dear;
	END;
COMMENT ON FUNCTION yquota_internal.report_applications(timestamptz, timestamptz, text) IS 'Table of the dearest applications';
REVOKE ALL ON FUNCTION yquota_internal.report_applications(timestamptz, timestamptz, text) FROM PUBLIC;

-- NULL where there is none.
CREATE FUNCTION yquota_internal.report_opportunistic("from" timestamptz, "to" timestamptz, of_project text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH seen AS (
			SELECT p.name FROM yquota.project AS p
			WHERE (of_project IS NULL OR p.name = of_project)
			  AND ((SELECT yquota_internal.reads_all()) OR p.name = ANY ((SELECT yquota_internal.readable_projects())::text[]))
		), spent AS (
			SELECT c.project, c.amount
			FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], '{project,execution_type}', of_project) AS c
			WHERE c.execution_type = 'OPPORTUNISTIC'
		), held AS (
			SELECT c.project, count(*) FILTER (WHERE c.is_running) AS running, count(*) FILTER (WHERE NOT c.is_running) AS waiting,
				   sum(yquota.amount(c.allocation, 'memory-mb')) FILTER (WHERE c.is_running) AS memory,
				   sum(yquota.amount(c.allocation, 'vcores')) FILTER (WHERE c.is_running) AS vcores
			FROM yquota.container AS c
			WHERE c.execution_type = 'OPPORTUNISTIC' AND c.started_at < "to"
			GROUP BY c.project
		), gone AS (
			SELECT q.project, count(*) FILTER (WHERE q.left_reason = 'killed') AS killed,
				   count(*) FILTER (WHERE q.left_reason = 'rejected') AS rejected, count(*) FILTER (WHERE q.left_reason = 'shed') AS shed
			FROM yquota.node_queue AS q
			WHERE q.left_at >= "from" AND q.left_at < "to" AND q.left_reason IN ('killed', 'rejected', 'shed')
			GROUP BY q.project
		), line AS (
			SELECT s.name AS project, p.amount, h.running, h.waiting, h.memory, h.vcores, g.killed, g.rejected, g.shed
			FROM seen AS s
			LEFT JOIN spent AS p ON p.project = s.name
			LEFT JOIN held AS h ON h.project = s.name
			LEFT JOIN gone AS g ON g.project = s.name
			WHERE num_nonnulls(p.amount, h.running, g.killed) > 0
		)
		SELECT '<h2>Opportunistic containers</h2>' || yquota_internal.html_table(
			'{Project,Credits,"Running now","MiB now","Virtual cores now","Waiting now","Killed for guaranteed ones",Rejected,Shed}',
			string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
				yquota_internal.html(line.project), yquota_internal.html_number(coalesce(line.amount, 0)),
				yquota_internal.html_number(coalesce(line.running, 0)), yquota_internal.html_number(coalesce(line.memory, 0)),
				yquota_internal.html_number(coalesce(line.vcores, 0)), yquota_internal.html_number(coalesce(line.waiting, 0)),
				yquota_internal.html_number(coalesce(line.killed, 0)), yquota_internal.html_number(coalesce(line.rejected, 0)),
				yquota_internal.html_number(coalesce(line.shed, 0))), '' ORDER BY line.amount DESC NULLS LAST, line.project))
		FROM (SELECT * FROM line ORDER BY line.amount DESC NULLS LAST, line.project LIMIT 50) AS line
		HAVING count(*) > 0;
	END;
COMMENT ON FUNCTION yquota_internal.report_opportunistic(timestamptz, timestamptz, text) IS
	'Table of opportunistic containers by project: what they cost in a window, run and wait now, and how many nodes did without; the fifty with most spending; NULL where there is none';
REVOKE ALL ON FUNCTION yquota_internal.report_opportunistic(timestamptz, timestamptz, text) FROM PUBLIC;

-- Of all projects, containers without a project included, only for roles that read all.
CREATE FUNCTION yquota_internal.report_trouble("from" timestamptz, "to" timestamptz, of_project text, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT '<h2>Events set aside</h2>' || yquota_internal.html_table('{Source,Reason,Events,Last}',
				(SELECT string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>', yquota_internal.html(bad.source),
						yquota_internal.html(bad.reason), bad.events, to_char(bad.last_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI')), '' ORDER BY bad.events DESC, bad.reason)
				 FROM (SELECT reject.source, reject.reason, count(*) AS events, max(reject.recorded_at) AS last_at
					   FROM yquota.event_reject AS reject
					   WHERE reject.recorded_at >= "from" AND reject.recorded_at < "to"
						 AND (of_project IS NULL OR reject.project = of_project)
						 AND ((SELECT yquota_internal.reads_all()) OR reject.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
					   GROUP BY reject.source, reject.reason ORDER BY count(*) DESC, reject.reason LIMIT 20) AS bad))
			|| '<h2>Outages</h2>' || yquota_internal.html_table('{From,To,Project,Forgiven,Reason}',
				(SELECT string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
						to_char(outage.started_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), to_char(outage.ended_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
						yquota_internal.html(coalesce(outage.project, 'all')), CASE WHEN outage.forgiven THEN 'yes' ELSE 'no' END,
						yquota_internal.html(outage.reason)), '' ORDER BY outage.started_at, outage.outage_id)
				 FROM yquota.outage AS outage
				 WHERE outage.started_at < "to" AND outage.ended_at > "from"
				   AND (of_project IS NULL OR outage.project IS NULL OR outage.project = of_project)
				   AND ((SELECT yquota_internal.reads_all()) OR outage.project IS NULL OR outage.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))));
	END;
COMMENT ON FUNCTION yquota_internal.report_trouble(timestamptz, timestamptz, text, text) IS 'Tables of events set aside and of outages';
REVOKE ALL ON FUNCTION yquota_internal.report_trouble(timestamptz, timestamptz, text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.report_html_as_owner("from" timestamptz, "to" timestamptz, project text)
	RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- compiling takes longer than the query
	SET jit = off
	AS $$
DECLARE
	zone CONSTANT text := yquota_internal.billing_timezone();
	now CONSTANT timestamptz := yquota.statement_clock();
	cuts timestamptz[];
	-- the window's, and to the clock where it ends before
	known_cuts timestamptz[];
	by_project yquota_internal.report_part[];
	of_family yquota_internal.report_part[];
	title text;
BEGIN
	PERFORM yquota_internal.check_report('report_html', '{}', "from", "to");
	IF NOT isfinite("from") OR NOT isfinite("to") OR "from" = "to" THEN
		RAISE EXCEPTION 'window of a report must have two ends'
			USING ERRCODE = 'datetime_field_overflow';
	-- a difference of timestamps may overflow, and be less than nothing
	ELSIF extract(epoch FROM "to") - extract(epoch FROM "from") > extract(epoch FROM interval '4000 days') THEN
		RAISE EXCEPTION 'cannot report on more than 4000 days at once'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT EXISTS (SELECT FROM yquota.project_balance AS b WHERE b.project = report_html_as_owner.project)
		AND report_html_as_owner.project IS NOT NULL THEN
		RAISE EXCEPTION 'project "%" does not exist', report_html_as_owner.project
			USING ERRCODE = 'undefined_object';
	END IF;
	cuts := yquota_internal.report_cuts("from", "to", zone);
	known_cuts := cuts || CASE WHEN "to" < now THEN ARRAY[now] END;
	by_project := yquota_internal.report_parts(known_cuts, 'project', report_html_as_owner.project);
	of_family := by_project || ARRAY(
		SELECT ROW(part.*)::yquota_internal.report_part
		FROM yquota_internal.project_family AS family
		CROSS JOIN LATERAL unnest(yquota_internal.report_parts(known_cuts, 'project', family.member)) AS part
		WHERE family.ancestor = report_html_as_owner.project);
	title := format('Use of the cluster, %s', coalesce('project ' || report_html_as_owner.project, 'all projects'));
	RETURN yquota_internal.html_page(title,
		format('From %s to %s, time zone %s; written at %s. Amounts are credits, rounded.',
			to_char("from" AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), to_char("to" AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), zone,
			to_char(now AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI')),
		concat('<h2>Prices and utilization</h2>',
			yquota_internal.report_prices('Multiplier on base prices', false, "from", "to", zone),
			yquota_internal.report_prices('Utilization that it was computed from (1 is all of the cluster)', true, "from", "to", zone),
			'<h2>Spending</h2>',
			yquota_internal.report_spending('Credits by project', by_project, cuts, zone),
			yquota_internal.report_spending('Credits by queue', yquota_internal.report_parts(cuts, 'queue', report_html_as_owner.project), cuts, zone),
			'<h2>Balances and forecast</h2>',
			yquota_internal.report_balance_chart(of_family, known_cuts, least("to", now), report_html_as_owner.project, zone),
			yquota_internal.report_balances(by_project, cuts, report_html_as_owner.project, zone),
			'<h2>Dearest applications</h2>', yquota_internal.report_applications("from", "to", report_html_as_owner.project),
			yquota_internal.report_opportunistic("from", "to", report_html_as_owner.project),
			yquota_internal.report_trouble("from", "to", report_html_as_owner.project, zone)));
END
$$;
COMMENT ON FUNCTION yquota_internal.report_html_as_owner(timestamptz, timestamptz, text) IS
	'The result of report_html() for the calling role';
REVOKE ALL ON FUNCTION yquota_internal.report_html_as_owner(timestamptz, timestamptz, text) FROM PUBLIC;

CREATE FUNCTION yquota.report_html("from" timestamptz, "to" timestamptz, project text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.report_html(timestamptz, timestamptz, text) IS
	'A window as one HTML page with charts, of one project or of all that the calling role may see';
REVOKE ALL ON FUNCTION yquota.report_html(timestamptz, timestamptz, text) FROM PUBLIC;
