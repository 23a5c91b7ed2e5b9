--
-- HTML pages: their texts, tables and charts.  No function here reads a table of yquota.
--

--
-- Texts, numbers and tables of HTML pages.  A text from a user enters a page only through
-- html(), which escapes it.
--

CREATE FUNCTION yquota_internal.html(content text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN coalesce(replace(replace(replace(replace(replace(content,
		'&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'), '&ndash;');
COMMENT ON FUNCTION yquota_internal.html(text) IS 'Escape a text for HTML; NULL becomes a dash';

-- Rounds to two decimals, or to two significant digits below a hundredth.
CREATE FUNCTION yquota_internal.number_text(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN number IS NULL THEN '&ndash;'
				WHEN abs(number) >= 1e15 THEN round(number)::text
				WHEN abs(number) >= 1000 OR number = round(number) THEN to_char(number, 'FM999,999,999,999,990')
				WHEN abs(number) >= 0.01 THEN to_char(number, 'FM990.00')
				ELSE trim_scale(round(number, 1 - floor(log(abs(number)))::integer))::text END;
COMMENT ON FUNCTION yquota_internal.number_text(numeric) IS 'Format a number for readers, in HTML; NULL becomes a dash';

CREATE FUNCTION yquota_internal.html_number(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN number < 0 THEN '<span class="negative">' || yquota_internal.number_text(number) || '</span>'
				ELSE yquota_internal.number_text(number) END;
COMMENT ON FUNCTION yquota_internal.html_number(numeric) IS 'Format a number for readers, marked when it is negative';

CREATE FUNCTION yquota_internal.html_time(at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN isfinite(at) THEN to_char(at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI') ELSE '&ndash;' END;
COMMENT ON FUNCTION yquota_internal.html_time(timestamptz, text) IS 'Format an instant to the minute; NULL becomes a dash';

CREATE FUNCTION yquota_internal.html_row(VARIADIC cells text[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN concat('<tr><td>', array_to_string(cells, '</td><td>', ''), '</td></tr>');
COMMENT ON FUNCTION yquota_internal.html_row(text[]) IS 'Make a table row from cells that are HTML already';

CREATE FUNCTION yquota_internal.html_table(heads text[], body text, figures integer DEFAULT 0) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN body IS NULL THEN '<p>None.</p>'
				ELSE concat('<div class="wide" tabindex="0"><table', CASE WHEN figures > 0 THEN concat(' class="f', figures, '"') END,
					'><thead><tr><th>', array_to_string(heads, '</th><th>'), '</th></tr></thead><tbody>', body, '</tbody></table></div>') END;
COMMENT ON FUNCTION yquota_internal.html_table(text[], text, integer) IS
	'Make a table from rows that are HTML already. figures is the number of last columns that contain numbers, at most twelve.  Without rows (NULL) it makes the text None';

--
-- Charts as SVG, 640 wide and 240 high.  Amounts are drawn between 10 and 210 from the top, and
-- times between 64 and 632 from the left.  Charts show nothing after "now".
--

CREATE TYPE yquota_internal.chart_frame AS (
	"from" timestamptz,
	"to" timestamptz,
	now timestamptz,
	zone text,
	bottom numeric,
	top numeric,
	step numeric
);
COMMENT ON TYPE yquota_internal.chart_frame IS
	'Frame of a chart: a range of time in a time zone, and amounts between two multiples of a round step';
COMMENT ON COLUMN yquota_internal.chart_frame.now IS 'instant marked in the chart if it lies within the range of time';

CREATE TYPE yquota_internal.chart_area AS (
	place integer,
	name text,
	amounts double precision[]
);
COMMENT ON TYPE yquota_internal.chart_area IS
	'Amounts of one of several stacked areas, in columns from left to right.  Place 1 is the lowest area; there are 16 colours';

CREATE FUNCTION yquota_internal.chart_step(at_least numeric) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT trim_scale(min(digit.value * scale.power))
		FROM (SELECT ('1e' || floor(log(at_least)))::numeric AS power) AS scale
		CROSS JOIN unnest('{1,2,2.5,5,10}'::numeric[]) AS digit (value)
		WHERE digit.value * scale.power >= at_least;
	END;
COMMENT ON FUNCTION yquota_internal.chart_step(numeric) IS
	'Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is not less than a positive number';

CREATE FUNCTION yquota_internal.chart_frame(
	"from" timestamptz, "to" timestamptz, now timestamptz, zone text, lowest numeric, highest numeric)
	RETURNS yquota_internal.chart_frame
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT ROW("from", "to", now, zone, floor(lowest / step.size) * step.size, ceil(above.highest / step.size) * step.size,
				   step.size)::yquota_internal.chart_frame
		FROM (SELECT CASE WHEN chart_frame.highest > lowest THEN chart_frame.highest ELSE lowest + 1 END AS highest) AS above
		CROSS JOIN LATERAL (SELECT yquota_internal.chart_step((above.highest - lowest) / 4) AS size) AS step;
	END;
COMMENT ON FUNCTION yquota_internal.chart_frame(timestamptz, timestamptz, timestamptz, text, numeric, numeric) IS
	'Return a chart frame that has room for a lowest and a highest amount';

CREATE FUNCTION yquota_internal.chart_x(at timestamptz, frame yquota_internal.chart_frame) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN round(64 + 568 * (extract(epoch FROM at) - extract(epoch FROM (frame)."from"))
				 / nullif(extract(epoch FROM (frame)."to") - extract(epoch FROM (frame)."from"), 0), 1);
COMMENT ON FUNCTION yquota_internal.chart_x(timestamptz, yquota_internal.chart_frame) IS
	'Return the horizontal position of an instant in a chart; NULL in a chart without width';

CREATE FUNCTION yquota_internal.chart_y(amount numeric, frame yquota_internal.chart_frame) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN round(210 - 200 * (amount - (frame).bottom) / nullif((frame).top - (frame).bottom, 0), 1);
COMMENT ON FUNCTION yquota_internal.chart_y(numeric, yquota_internal.chart_frame) IS 'Return the vertical position of an amount in a chart; NULL in a chart without height';

CREATE FUNCTION yquota_internal.chart_amount_text(amount numeric, highest numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN amount = 0 THEN '0'
				WHEN highest >= 1e15 OR highest < 1e-4 THEN trim_scale(round(amount / ('1e' || floor(log(highest)))::numeric, 2)) || 'e' || floor(log(highest))
				WHEN highest >= 1e12 THEN trim_scale(amount / 1e12) || 'T'
				WHEN highest >= 1e9 THEN trim_scale(amount / 1e9) || 'G'
				WHEN highest >= 1e6 THEN trim_scale(amount / 1e6) || 'M'
				WHEN highest >= 1e4 THEN trim_scale(amount / 1e3) || 'k'
				ELSE trim_scale(amount)::text END;
COMMENT ON FUNCTION yquota_internal.chart_amount_text(numeric, numeric) IS
	'Format a round amount for the margin of a chart, in the unit of the amount that is furthest from zero';

-- Chooses at most seven labelled times in the time zone of the frame.  Labelled times are
-- midnights, even divisions of a day, Mondays, and first days of months and years.
CREATE FUNCTION yquota_internal.chart_times(frame yquota_internal.chart_frame)
	RETURNS TABLE (at timestamptz, label text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH clock AS (
			SELECT (frame)."from" AT TIME ZONE (frame).zone AS starts_at, (frame)."to" AT TIME ZONE (frame).zone AS ends_at,
				   extract(epoch FROM (frame)."to") - extract(epoch FROM (frame)."from") AS seconds
		), step AS (
			SELECT clock.*, choice.length, choice.months, choice.format
			FROM clock CROSS JOIN (VALUES
				(1, 0, 'HH24:MI:SS'), (5, 0, 'HH24:MI:SS'), (15, 0, 'HH24:MI:SS'), (60, 0, 'HH24:MI'), (300, 0, 'HH24:MI'), (900, 0, 'HH24:MI'),
				(1800, 0, 'HH24:MI'), (3600, 0, 'HH24:MI'), (10800, 0, 'HH24:MI'), (21600, 0, 'HH24:MI'), (43200, 0, 'HH24:MI'), (86400, 0, 'Mon DD'),
				(172800, 0, 'Mon DD'), (604800, 0, 'Mon DD'), (1209600, 0, 'Mon DD'), (2678400, 1, 'YYYY-MM'), (8035200, 3, 'YYYY-MM'), (15897600, 6, 'YYYY-MM'),
				(31622400, 12, 'YYYY'), (63244800, 24, 'YYYY'), (158112000, 60, 'YYYY'), (632448000, 240, 'YYYY'), (3162240000, 1200, 'YYYY')) AS choice (length, months, format)
			WHERE clock.seconds <= 6 * choice.length OR choice.months = 1200
			ORDER BY choice.length LIMIT 1
		), tick AS (
			SELECT date_bin(make_interval(secs => step.length), step.starts_at, '2000-01-03') + make_interval(secs => step.length) * number AS at, step.*
			FROM step CROSS JOIN generate_series(0, 7) AS number
			WHERE step.months = 0
			UNION ALL
			SELECT date_trunc('year', step.starts_at) - make_interval(years => extract(year FROM step.starts_at)::integer % greatest(step.months / 12, 1))
				   + make_interval(months => step.months * number), step.*
			FROM step CROSS JOIN generate_series(0, 17) AS number
			WHERE step.months > 0
		)
		SELECT tick.at AT TIME ZONE (frame).zone, to_char(tick.at, CASE WHEN tick.length < 86400 AND tick.at = date_trunc('day', tick.at) THEN 'Mon DD' ELSE tick.format END)
		FROM tick
		WHERE tick.at BETWEEN tick.starts_at AND tick.ends_at
		ORDER BY tick.at;
	END;
COMMENT ON FUNCTION yquota_internal.chart_times(yquota_internal.chart_frame) IS 'Return round instants of a chart and their texts below it';

CREATE FUNCTION yquota_internal.chart_grid(frame yquota_internal.chart_frame, unit text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT concat(
			(SELECT string_agg(format('<line x1="64" x2="632" y1="%1$s" y2="%1$s"%2$s/><text x="58" y="%3$s" class="y">%4$s%5$s</text>',
									  tick.y, CASE WHEN tick.amount = 0 THEN ' class="zero"' END, tick.y + 4,
									  yquota_internal.chart_amount_text(tick.amount, greatest(abs((frame).bottom), (frame).top)), unit), '' ORDER BY tick.amount)
			 FROM (SELECT amount, yquota_internal.chart_y(amount, frame) AS y FROM generate_series((frame).bottom, (frame).top, (frame).step) AS amount) AS tick),
			(SELECT string_agg(format('<line x1="%1$s" x2="%1$s" y1="210" y2="215"/><text x="%2$s" y="230" class="x">%3$s</text>',
									  tick.x, least(tick.x, 616), tick.label), '' ORDER BY tick.x)
			 FROM (SELECT t.label, yquota_internal.chart_x(t.at, frame) AS x FROM yquota_internal.chart_times(frame) AS t) AS tick));
	END;
COMMENT ON FUNCTION yquota_internal.chart_grid(yquota_internal.chart_frame, text) IS 'Draw lines and texts at round amounts, and marks at round instants';

CREATE FUNCTION yquota_internal.chart_now(frame yquota_internal.chart_frame) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT format('<path class="now" d="M%s 10V210"/><g><text x="%s" y="206" class="n">now</text></g>', line.x, least(greatest(line.x, 80), 616))
		FROM (SELECT yquota_internal.chart_x((frame).now, frame) AS x) AS line
		WHERE (frame).now > (frame)."from" AND (frame).now < (frame)."to";
	END;
COMMENT ON FUNCTION yquota_internal.chart_now(yquota_internal.chart_frame) IS 'Draw a dotted line at the present, whose label stays within the chart even if the line is at an edge; NULL if the present is outside the chart';

CREATE FUNCTION yquota_internal.chart(title text, frame yquota_internal.chart_frame, unit text, body text, legend text)
	RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN concat('<figure><figcaption>', yquota_internal.html(title), '</figcaption>', legend,
		'<svg viewBox="0 0 640 240" role="img" aria-label="', yquota_internal.html(title), '">',
		yquota_internal.chart_grid(frame, unit), body, yquota_internal.chart_now(frame), '</svg></figure>');
COMMENT ON FUNCTION yquota_internal.chart(text, yquota_internal.chart_frame, text, text, text) IS
	'Draw the frame of a chart around shapes that the caller has drawn as SVG. The unit follows each amount';

CREATE FUNCTION yquota_internal.chart_in_words(title text, words text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN concat('<figure><figcaption>', yquota_internal.html(title), '</figcaption><p>', yquota_internal.html(words), '</p></figure>');
COMMENT ON FUNCTION yquota_internal.chart_in_words(text, text) IS 'Return the text shown in place of an empty chart';

CREATE FUNCTION yquota_internal.chart_legend(names text[], is_stacked boolean) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT '<p class="legend">' || string_agg(
			CASE WHEN is_stacked
				 THEN format('<span><svg viewBox="0 0 14 14" aria-hidden="true"><rect class="area c%1$s" width="14" height="14"/></svg>%1$s %2$s</span>', name.place, yquota_internal.html(name.text))
				 ELSE format('<span><svg class="sample" viewBox="0 0 28 14" aria-hidden="true"><path class="line c%s" d="M0 7H28"/></svg>%s</span>', name.place, yquota_internal.html(name.text)) END,
			' ' ORDER BY name.place) || '</p>'
		FROM unnest(names) WITH ORDINALITY AS name (text, place);
	END;
COMMENT ON FUNCTION yquota_internal.chart_legend(text[], boolean) IS
	'Draw the legend of a chart: the name of each area or line, and also the number of each area; NULL without names';

-- An area shows its number where it has room for one: 14 wide and 12 high.
CREATE FUNCTION yquota_internal.chart_areas(areas yquota_internal.chart_area[], edges double precision[], top double precision) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH stacked AS MATERIALIZED (
			SELECT a.place, c.number, a.name, edges[c.number] AS x1, edges[c.number + 1] AS x2,
				   round(2100 - 2000 * sum(c.amount) OVER stack / nullif(top, 0)) / 10 AS y1,
				   round(2100 - 2000 * (sum(c.amount) OVER stack - c.amount) / nullif(top, 0)) / 10 AS y2
			FROM unnest(areas) AS a CROSS JOIN LATERAL unnest(a.amounts) WITH ORDINALITY AS c (amount, number)
			WHERE edges[c.number + 1] > edges[c.number]
			WINDOW stack AS (PARTITION BY c.number ORDER BY a.place)
		), edge AS (
			SELECT s.*,
				   s.y1 <> lag(s.y1) OVER outline AS rises, s.y2 IS DISTINCT FROM lead(s.y2) OVER outline AS falls,
				   max(s.x2) OVER ahead AS reaches, min(s.y2) OVER ahead - max(s.y1) OVER ahead AS height,
				   round(5 * (min(s.y2) OVER ahead + max(s.y1) OVER ahead) + 40) / 10 AS middle
			FROM stacked AS s
			WINDOW outline AS (PARTITION BY s.place ORDER BY s.number), ahead AS (PARTITION BY s.place ORDER BY s.x1 RANGE BETWEEN CURRENT ROW AND 13::double precision FOLLOWING)
		), area AS (
			SELECT e.place, min(e.name) AS name,
				   concat('M', min(e.x1), ' ', (array_agg(e.y1 ORDER BY e.number))[1],
						  string_agg(format('H%sV%s', e.x1, e.y1), '' ORDER BY e.number) FILTER (WHERE e.rises), 'H', max(e.x2),
						  string_agg(format('H%sV%s', e.x2, e.y2), '' ORDER BY e.number DESC) FILTER (WHERE e.falls), 'H', min(e.x1), 'Z') AS outline
			FROM edge AS e GROUP BY e.place HAVING max(e.y2 - e.y1) > 0
		), label AS (
			SELECT DISTINCT ON (e.place) e.place, (e.x1 + e.reaches) / 2 AS x, e.middle AS y
			FROM edge AS e
			WHERE e.reaches - e.x1 >= 14 AND e.height >= 12
			ORDER BY e.place, e.height DESC, e.number
		)
		SELECT string_agg(format('<path class="area c%s" d="%s"><title>%s</title></path>', a.place, a.outline, yquota_internal.html(a.name)), '' ORDER BY a.place)
			|| '<g>' || coalesce((SELECT string_agg(format('<text x="%s" y="%s" class="n">%s</text>', l.x, l.y, l.place), '' ORDER BY l.place) FROM label AS l), '') || '</g>'
		FROM area AS a;
	END;
COMMENT ON FUNCTION yquota_internal.chart_areas(yquota_internal.chart_area[], double precision[], double precision) IS
	'Draw areas one on top of the other, above zero, in columns between ascending edges; NULL when nothing is visible';

CREATE TYPE yquota_internal.chart_point AS (
	name text,
	at timestamptz,
	amount numeric
);
COMMENT ON TYPE yquota_internal.chart_point IS 'Amount that holds until the next point of the same name; NULL: unknown';

CREATE FUNCTION yquota_internal.chart_steps(points yquota_internal.chart_point[], until timestamptz, frame yquota_internal.chart_frame) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH place AS (
			SELECT p.name, row_number() OVER (ORDER BY p.name) AS number FROM unnest(points) AS p GROUP BY p.name
		), turn AS (
			SELECT p.name, p.at, yquota_internal.chart_x(p.at, frame) AS x, yquota_internal.chart_y(p.amount, frame) AS y,
				   lag(p.amount) OVER timeline AS before, p.amount
			FROM unnest(points) AS p
			WINDOW timeline AS (PARTITION BY p.name ORDER BY p.at)
		)
		SELECT string_agg(line.path, '' ORDER BY line.number)
		FROM (
			SELECT place.number, format('<path class="line c%s" d="%s%s"/>', least(place.number, 16),
					string_agg(CASE WHEN turn.before IS NULL THEN format('M%s %s', turn.x, turn.y)
									WHEN turn.amount IS NULL THEN 'H' || turn.x
									ELSE format('H%sV%s', turn.x, turn.y) END, '' ORDER BY turn.at),
					CASE WHEN (array_agg(turn.amount ORDER BY turn.at DESC))[1] IS NOT NULL THEN 'H' || yquota_internal.chart_x(until, frame) END) AS path
			FROM turn JOIN place USING (name)
			WHERE turn.amount IS DISTINCT FROM turn.before
			GROUP BY place.number) AS line;
	END;
COMMENT ON FUNCTION yquota_internal.chart_steps(yquota_internal.chart_point[], timestamptz, yquota_internal.chart_frame) IS
	'Draw a stepped line for each name, in the order of the names, up to an instant';

-- Areas differ by hatching as well as by colour; lines differ by dashes.
CREATE FUNCTION yquota_internal.chart_patterns() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN '<svg class="patterns" aria-hidden="true"><defs>'
		|| (SELECT string_agg(format('<pattern id="h%1$s" class="c%1$s" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8"/>%2$s</pattern>',
									 hatch.number, '<path class="hatch" d="' || hatch.lines || '"/>'), '' ORDER BY hatch.number)
			FROM (VALUES (1, NULL), (2, 'M-2 2L2-2M-2 10L10-2M6 10L10 6'), (3, 'M-2 6L2 10M-2-2L10 10M6-2L10 2'), (4, 'M0 4H8'), (5, 'M4 0V8'),
						 (6, 'M3 4H5M7 0H9M-1 8H1'), (7, 'M0 4H8M4 0V8'), (8, 'M-2-2L10 10M-2 10L10-2'), (9, 'M0 6L4 2L8 6'), (10, 'M0 2H8M0 5H8'),
						 (11, 'M2 0V8M5 0V8'), (12, 'M0 1H8M0 5H8M4 1V5M0 5V9M8 5V9M0-3V1M8-3V1'), (13, 'M4 1V7M1 4H7'), (14, 'M2 2H6V6H2Z'), (15, 'M6 0L2 4L6 8'),
						 (16, 'M0 0L8 8')) AS hatch (number, lines))
		|| '</defs></svg>';
COMMENT ON FUNCTION yquota_internal.chart_patterns() IS 'Return the hatching for the areas of all charts of a page';

CREATE FUNCTION yquota_internal.chart_style() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN 'figure{margin:1.5rem 0}figcaption{font-weight:600}svg{display:block;width:100%;overflow:visible}svg text{font-size:11px;fill:var(--ink)}.y{text-anchor:end}.x,.n{text-anchor:middle}.n{font-weight:600}.e{text-anchor:end}'
		'@media screen and (max-width:40rem){svg text{font-size:17px}}'
		'g text{paint-order:stroke;stroke:var(--paper);stroke-width:3px}svg line{stroke:var(--rule)}line.zero{stroke:var(--ink)}'
		'path.line{fill:none;stroke:var(--c);stroke-width:2}path.band{fill:var(--c);opacity:.25}path.highest,path.capacity,path.now{fill:none;stroke:var(--ink)}path.capacity{stroke-width:2;stroke-dasharray:7 3}path.now{stroke-dasharray:1 3}'
		'.line.c2{stroke-dasharray:7 3}.line.c3{stroke-dasharray:2 2}.line.c4{stroke-dasharray:8 3 2 3}.line.c5{stroke-dasharray:12 4}.line.c6{stroke-dasharray:4 4}.line.c7{stroke-dasharray:8 2 2 2 2 2}.line.c8{stroke-dasharray:1 4}'
		'.area{stroke:var(--paper);stroke-width:.75}pattern rect{fill:var(--c)}path.hatch{fill:none;stroke:var(--paper);stroke-width:1.4;opacity:.7}.patterns{position:absolute;width:0;height:0}'
		'.legend{margin:.2rem 0;font-size:.85rem;overflow-wrap:anywhere}.legend span{display:inline-block;margin-right:.8rem}.legend svg{display:inline-block;width:1.1em;height:1.1em;margin-right:.3em;vertical-align:-.15em}.legend .sample{width:2.2em}'
		|| (SELECT string_agg(format('.c%1$s{--c:%2$s}.c%1$s.area{fill:url(#h%1$s)}', colour.number, colour.code), '' ORDER BY colour.number)
			FROM unnest('{#3b7dd8,#e08a2c,#3fa66b,#c8504f,#8a67c9,#2aa3a8,#c65f9e,#a3892a,#2a5597,#9c5a12,#2b6f49,#8c3433,#5d4391,#1b6d70,#8a3d6c,#8a9099}'::text[]) WITH ORDINALITY AS colour (code, number));
COMMENT ON FUNCTION yquota_internal.chart_style() IS 'Return the style of charts, their colours and legends';

--
-- HTML pages load no script, font or image, because they are mailed, printed and kept.
--

-- A table that is wider than the screen has a shadow at its edge, so that readers see that they can
-- scroll.
CREATE FUNCTION yquota_internal.page_style() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ':root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--rule:#d5dae0;--shade:#0004;--bad:#b3261e}'
		'@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--rule:#3a4048;--shade:#fff5;--bad:#ff8a80}}'
		'*{box-sizing:border-box}body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:0 auto;padding:1rem}'
		'h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .25rem}'
		'.sums{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:.5rem 0}.sums div{min-width:8rem}.sums dt{font-size:.85rem}.sums dd{margin:0;font-size:1.25rem;font-weight:600;font-variant-numeric:tabular-nums}'
		'.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr));gap:0 2rem}'
		'.wide{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 1rem,transparent 2rem) 0 0/100% 100% no-repeat local,'
		'linear-gradient(270deg,var(--paper) 1rem,transparent 2rem) 0 0/100% 100% no-repeat local,'
		'linear-gradient(90deg,var(--shade),transparent .75rem) 0 0/100% 100% no-repeat scroll,linear-gradient(270deg,var(--shade),transparent .75rem) 0 0/100% 100% no-repeat scroll}'
		'table{border-collapse:collapse;width:100%;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--rule);vertical-align:top;max-width:24rem;overflow-wrap:break-word}'
		'td:first-child{min-width:6rem;overflow-wrap:anywhere}.sum td{font-weight:600;border-bottom:0}'
		|| (SELECT string_agg(format('.f%1$s :is(th,td):nth-last-child(-n+%1$s)', number), ',' ORDER BY number) || '{text-align:right;padding:.25rem 0 .25rem .6rem}'
			|| string_agg(format('.f%1$s td:nth-last-child(-n+%1$s)', number), ',' ORDER BY number) || ',.t{white-space:nowrap}'
			FROM generate_series(1, 12) AS number)
		|| '.negative{color:var(--bad);white-space:nowrap}'
		'@page{size:A4;margin:12mm}@media print{html{font-size:11px}body{max-width:none;padding:0;font-size:11px}table{font-size:9px}th,td{padding-left:.3rem;padding-right:.3rem}td{overflow-wrap:anywhere}'
		'.wide{overflow:visible;background:none}figure,tr,.sums{break-inside:avoid}h2,h3,figcaption{break-after:avoid}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}';
COMMENT ON FUNCTION yquota_internal.page_style() IS 'Return the style of texts and tables, for light and dark screens, narrow screens and paper';

CREATE FUNCTION yquota_internal.html_page(title text, explanation text, body text, style text DEFAULT yquota_internal.chart_style()) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>'
		|| yquota_internal.html(title) || '</title><style>' || yquota_internal.page_style() || style
		|| '</style></head><body><h1>' || yquota_internal.html(title) || '</h1><p>' || yquota_internal.html(explanation) || '</p>' || body || '</body></html>';
COMMENT ON FUNCTION yquota_internal.html_page(text, text, text, text) IS
	'Make a page around a body that is HTML already.  style is added to the style of all pages';
