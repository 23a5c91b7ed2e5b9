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
	'Make a table from rows that are HTML already. figures is the number of last columns that contain numbers, at most twelve.  Without rows (NULL), the result is the text None';

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
COMMENT ON FUNCTION yquota_internal.chart_now(yquota_internal.chart_frame) IS 'Draw a dotted line at the present.  The label of the line stays within the chart even if the line is at an edge; NULL if the present is outside the chart';

CREATE FUNCTION yquota_internal.chart_mark(amount numeric, label text, frame yquota_internal.chart_frame) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT format('<path class="capacity" d="M64 %1$sH632"/><g><text x="628" y="%2$s" class="e">%3$s</text></g>', mark.y, mark.y + 15, yquota_internal.html(label))
			FROM (SELECT yquota_internal.chart_y(amount, frame) AS y) AS mark);
COMMENT ON FUNCTION yquota_internal.chart_mark(numeric, text, yquota_internal.chart_frame) IS 'Draw a dashed line at an amount, with a label below it';

-- A chart has its exact amounts as values: a title at each bar and point, and a CSV file.

CREATE TYPE yquota_internal.chart_row AS (
	"from" timestamptz,
	"to" timestamptz,
	amounts numeric[]
);
COMMENT ON TYPE yquota_internal.chart_row IS 'Amounts of a chart in a range of time, or at an instant';
COMMENT ON COLUMN yquota_internal.chart_row."to" IS 'NULL: the amounts hold at the instant "from"';
COMMENT ON COLUMN yquota_internal.chart_row.amounts IS 'amounts in the order of the names of the chart; NULL: unknown';

CREATE FUNCTION yquota_internal.chart_span_text("from" timestamptz, "to" timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT CASE WHEN clock.ends_at IS NULL THEN yquota_internal.html_time("from", zone)
					WHEN clock.starts_at = date_trunc('day', clock.starts_at) AND clock.ends_at = clock.starts_at + interval '1 day'
					THEN to_char(clock.starts_at, 'YYYY-MM-DD')
					WHEN date_trunc('day', clock.starts_at) = date_trunc('day', clock.ends_at)
					THEN concat(yquota_internal.html_time("from", zone), ' to ', to_char(clock.ends_at, 'HH24:MI'))
					ELSE concat(yquota_internal.html_time("from", zone), ' to ', yquota_internal.html_time("to", zone)) END
		FROM (SELECT "from" AT TIME ZONE zone AS starts_at, "to" AT TIME ZONE zone AS ends_at) AS clock;
$$;
COMMENT ON FUNCTION yquota_internal.chart_span_text(timestamptz, timestamptz, text) IS
	'Format a range of time to the minute; a full day is a date';

-- Browsers show the title under the mouse, and screen readers read it.  The text above the chart appears for the bar
-- that has the focus, and has three amounts at most.  A chart of more than 101 rows has fifty values, each with the
-- least and the largest amounts of neighbouring rows.
CREATE FUNCTION yquota_internal.chart_values(
	rows yquota_internal.chart_row[], names text[], unit text, is_stacked boolean, frame yquota_internal.chart_frame) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH line AS (
			SELECT r.*, ntile(CASE WHEN cardinality(rows) > 101 THEN 50 ELSE 101 END) OVER in_order AS place,
				   CASE WHEN r."to" IS NULL THEN (x.at + coalesce(lag(x.at) OVER in_order, x.at)) / 2 ELSE x.at END AS x1,
				   CASE WHEN r."to" IS NULL THEN (x.at + coalesce(lead(x.at) OVER in_order, x.at)) / 2
						ELSE yquota_internal.chart_x(r."to", frame) END AS x2
			FROM unnest(rows) AS r
			CROSS JOIN LATERAL (SELECT yquota_internal.chart_x(r."from", frame) AS at) AS x
			WINDOW in_order AS (ORDER BY r."from")
		), bar AS (
			SELECT line.place, min(line.x1) AS x1, max(line.x2) AS x2,
				   yquota_internal.chart_span_text(
					min(line."from"), CASE WHEN count(*) = 1 THEN min(line."to") ELSE max(coalesce(line."to", line."from")) END, (frame).zone) AS time
			FROM line GROUP BY line.place
		), range AS (
			SELECT line.place, c.number, min(names[c.number]) AS name, min(c.amount) AS least, max(c.amount) AS most
			FROM line CROSS JOIN LATERAL unnest(line.amounts) WITH ORDINALITY AS c (amount, number)
			GROUP BY line.place, c.number
			HAVING max(c.amount) IS NOT NULL AND (c.number = 1 OR NOT is_stacked OR max(abs(c.amount)) > 0)
		), text AS (
			SELECT r.place,
				   string_agg(concat(yquota_internal.html(r.name), ' ', trim_scale(r.least), CASE WHEN r.least < r.most THEN ' to ' || trim_scale(r.most) END),
							  E'\n' ORDER BY r.number) AS exact,
				   string_agg(concat(yquota_internal.html(left(r.name, 24)), ' ', yquota_internal.number_text(r.least),
									 CASE WHEN r.least < r.most THEN ' to ' || yquota_internal.number_text(r.most) END),
							  '; ' ORDER BY r.rank) FILTER (WHERE r.rank <= 3) AS short
			FROM (SELECT range.*, row_number() OVER (PARTITION BY range.place ORDER BY CASE WHEN is_stacked AND range.number > 1 THEN - range.most END NULLS FIRST, range.number) AS rank
				  FROM range) AS r
			GROUP BY r.place
		)
		SELECT string_agg(format(E'<g class="v" tabindex="0" role="img"><title>%1$s, %2$s\n%3$s</title><rect x="%4$s" y="10" width="%5$s" height="200"/><text x="64" y="4">%1$s: %6$s</text></g>',
								 bar.time, yquota_internal.html(unit), text.exact, round(bar.x1, 1), greatest(round(bar.x2 - bar.x1, 1), 1), text.short), '' ORDER BY bar.place)
		FROM bar JOIN text USING (place);
$$;
COMMENT ON FUNCTION yquota_internal.chart_values(yquota_internal.chart_row[], text[], text, boolean, yquota_internal.chart_frame) IS
	'Make the values of a chart, which the keyboard reaches and the mouse shows.  In a stacked chart the first name is the total, and other amounts of 0 are left out';

-- Spreadsheets compute a cell that begins with one of these signs.  An apostrophe before the sign makes it a text.
CREATE FUNCTION yquota_internal.csv_name(name text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '"' || CASE WHEN name ~ E'^[-=+@\t\r]' THEN '''' ELSE '' END || replace(name, '"', '""') || '"';
COMMENT ON FUNCTION yquota_internal.csv_name(text) IS 'Quote a name for CSV';

CREATE FUNCTION yquota_internal.csv_time(at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN replace(to_char(at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI:SS.US'), '.000000', '');
COMMENT ON FUNCTION yquota_internal.csv_time(timestamptz, text) IS 'Format an instant for CSV';

CREATE FUNCTION yquota_internal.data_uri(content text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN 'data:text/csv;charset=utf-8,' || yquota_internal.html(
		replace(replace(replace(replace(replace(replace(replace(content, '%', '%25'), '#', '%23'), '"', '%22'), ' ', '%20'), E'\t', '%09'),
				E'\r', '%0D'), E'\n', '%0A'));
COMMENT ON FUNCTION yquota_internal.data_uri(text) IS 'Return a URI that contains a CSV file, for an attribute of HTML';

CREATE FUNCTION yquota_internal.chart_csv(rows yquota_internal.chart_row[], names text[], unit text, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT concat(CASE WHEN bool_or(r."to" IS NOT NULL) THEN concat_ws(',', yquota_internal.csv_name(concat('from, ', zone)), yquota_internal.csv_name(concat('to, ', zone)))
						   ELSE yquota_internal.csv_name(concat('at, ', zone)) END,
			(SELECT string_agg(',' || yquota_internal.csv_name(format('%s, %s', name.text, unit)), '' ORDER BY name.number) FROM unnest(names) WITH ORDINALITY AS name (text, number)), E'\n',
			string_agg(concat_ws(',', yquota_internal.csv_time(r."from", zone), yquota_internal.csv_time(r."to", zone),
				(SELECT string_agg(coalesce(trim_scale(c.amount)::text, ''), ',' ORDER BY c.number) FROM unnest(r.amounts) WITH ORDINALITY AS c (amount, number))),
				E'\n' ORDER BY r."from"), E'\n')
		FROM unnest(rows) AS r;
$$;
COMMENT ON FUNCTION yquota_internal.chart_csv(yquota_internal.chart_row[], text[], text, text) IS
	'Return the rows of a chart as CSV, with all amounts exact';

CREATE FUNCTION yquota_internal.chart_file(title text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN btrim(regexp_replace(lower(title COLLATE "C"), '[^a-z0-9]+' COLLATE "C", '-', 'g'), '-');
COMMENT ON FUNCTION yquota_internal.chart_file(text) IS 'Return the name of the file of a chart, without its extension.  The link that skips the chart has this name as its target';

CREATE FUNCTION yquota_internal.chart(
	title text, axis text, frame yquota_internal.chart_frame, unit text, body text, legend text,
	names text[], rows yquota_internal.chart_row[], is_stacked boolean) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN concat('<figure><figcaption>', yquota_internal.html(title), '</figcaption>', legend,
		'<p class="axis"><span>', yquota_internal.html(axis), '</span> <span>time zone ', yquota_internal.html((frame).zone), '</span></p>',
		'<a class="skip" href="#', yquota_internal.chart_file(title), '">Skip the values of this chart</a>',
		'<svg viewBox="0 0 640 240" class="chart" role="group" aria-label="', yquota_internal.html(title), '"><g aria-hidden="true">',
		yquota_internal.chart_grid(frame, CASE unit WHEN '%' THEN unit END), body, yquota_internal.chart_now(frame), '</g>',
		yquota_internal.chart_values(rows, names, unit, is_stacked, frame), '</svg>',
		'<p class="csv"><a id="', yquota_internal.chart_file(title), '" download="', yquota_internal.chart_file(title), '.csv" href="',
		yquota_internal.data_uri(yquota_internal.chart_csv(rows, names, unit, (frame).zone)), '">', yquota_internal.html(title), ' as CSV</a></p></figure>');
COMMENT ON FUNCTION yquota_internal.chart(text, text, yquota_internal.chart_frame, text, text, text, text[], yquota_internal.chart_row[], boolean) IS
	'Draw the frame of a chart around shapes that the caller has drawn as SVG.  A text says the unit and step of the vertical axis.  The names and rows are the values of the chart';

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
			SELECT a.place, c.number, edges[c.number] AS x1, edges[c.number + 1] AS x2,
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
			SELECT e.place,
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
		SELECT string_agg(format('<path class="area c%s" d="%s"/>', a.place, a.outline), '' ORDER BY a.place)
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
		'@media screen and (max-width:40rem){svg text{font-size:17px}svg :is(.x,.y){font-size:20px}}'
		'g text{paint-order:stroke;stroke:var(--paper);stroke-width:3px}svg line{stroke:var(--grid);stroke-width:.5}line.zero{stroke:var(--ink);stroke-width:1}'
		'path.line{fill:none;stroke:var(--c);stroke-width:2}path.band{fill:var(--c);fill-opacity:.25;stroke:var(--c)}path.highest,path.capacity,path.now{fill:none;stroke:var(--ink)}path.capacity{stroke-width:2;stroke-dasharray:7 3}path.now{stroke-dasharray:1 3}'
		'.line.c2{stroke-dasharray:7 3}.line.c3{stroke-dasharray:2 2}.line.c4{stroke-dasharray:8 3 2 3}.line.c5{stroke-dasharray:12 4}.line.c6{stroke-dasharray:4 4}.line.c7{stroke-dasharray:8 2 2 2 2 2}.line.c8{stroke-dasharray:1 4}'
		'.area{stroke:var(--paper);stroke-width:1}pattern rect{fill:var(--c)}path.hatch{fill:none;stroke:var(--paper);stroke-width:1.4;opacity:.7}.patterns{position:absolute;width:0;height:0}'
		'.axis{display:flex;justify-content:space-between;gap:1rem;margin:.3rem 0 0;font-size:.85rem}.axis span+span{white-space:nowrap}.csv{margin:.2rem 0;font-size:.85rem}.chart{margin-top:1.2rem}'
		'.v{outline:0}.v rect{fill:transparent}.v text{visibility:hidden}.v:is(:focus,:hover) rect{stroke:var(--ink);stroke-width:2}.v:is(:focus,:hover) text{visibility:visible}.chart:has(.v:hover) .v:focus:not(:hover) text{visibility:hidden}'
		'.skip{position:absolute;left:-99rem}.skip:focus{position:static}'
		'.legend{margin:.2rem 0;font-size:.85rem;overflow-wrap:anywhere}.legend span{display:inline-block;margin-right:.8rem}.legend svg{display:inline-block;width:1.1em;height:1.1em;margin-right:.3em;vertical-align:-.15em}.legend .sample{width:2.2em}'
		|| (SELECT string_agg(format('.c%1$s{--c:%2$s}.c%1$s.area{fill:url(#h%1$s)}', colour.number, colour.code), '' ORDER BY colour.number)
			FROM unnest('{#4281d9,#cf7a1e,#3da268,#cd605f,#9170cc,#299ea2,#cc71a9,#a78d2b,#3266b5,#985711,#2d734c,#b04240,#7455b1,#1c7175,#a0477e,#868c96}'::text[]) WITH ORDINALITY AS colour (code, number));
COMMENT ON FUNCTION yquota_internal.chart_style() IS 'Return the style of charts, their colours and legends';

--
-- HTML pages load no script, font or image, because they are mailed, printed and kept.
--

-- Each shape has a contrast with the paper of 3 to 1 or more, and each text of 4.5 to 1.  Only the lines between rows
-- of tables and the shadow have less contrast.
--
-- A table that is wider than the screen has a shadow at its edge, so that readers see that they can
-- scroll.
CREATE FUNCTION yquota_internal.page_style() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN ':root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--grid:#868e98;--link:#0b57d0;--bad:#b3261e;--rule:#d5dae0;--shade:#0004}'
		'@media screen and (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--grid:#6b7480;--link:#8ab4f8;--bad:#ff8a80;--rule:#3a4048;--shade:#fff5}}'
		'*{box-sizing:border-box}body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:0 auto;padding:1rem}'
		'h1{font-size:1.5rem;margin:0;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .25rem}'
		'a{color:var(--link)}:focus-visible{outline:2px solid var(--link);outline-offset:2px}'
		'.sums{display:flex;flex-wrap:wrap;gap:.5rem 2rem;margin:.5rem 0}.sums div{min-width:8rem}.sums dt{font-size:.85rem}.sums dd{margin:0;font-size:1.25rem;font-weight:600;font-variant-numeric:tabular-nums}'
		'.beside{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr));gap:0 2rem}'
		'.wide{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 1rem,transparent 2rem) 0 0/100% 100% no-repeat local,'
		'linear-gradient(270deg,var(--paper) 1rem,transparent 2rem) 0 0/100% 100% no-repeat local,'
		'linear-gradient(90deg,var(--shade),transparent .75rem) 0 0/100% 100% no-repeat scroll,linear-gradient(270deg,var(--shade),transparent .75rem) 0 0/100% 100% no-repeat scroll}'
		'table{border-collapse:collapse;width:100%;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .6rem .25rem 0;border-bottom:1px solid var(--rule);vertical-align:top;max-width:24rem;overflow-wrap:break-word}'
		'td:first-child{min-width:6rem;overflow-wrap:anywhere}td.k:first-child{min-width:0}.sum td{font-weight:600;border-bottom:0}'
		|| (SELECT string_agg(format('.f%1$s :is(th,td):nth-last-child(-n+%1$s)', number), ',' ORDER BY number) || '{text-align:right;padding:.25rem 0 .25rem .6rem}'
			|| string_agg(format('.f%1$s td:nth-last-child(-n+%1$s)', number), ',' ORDER BY number) || ',.t{white-space:nowrap}'
			FROM generate_series(1, 12) AS number)
		|| '.negative{color:var(--bad);white-space:nowrap}'
		'@page{size:A4;margin:12mm}@media print{.csv,.skip{display:none}.chart{margin-top:0}html{font-size:11px}body{max-width:none;padding:0;font-size:11px}table{font-size:9px}th,td{padding-left:.3rem;padding-right:.3rem}td{overflow-wrap:anywhere}'
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
