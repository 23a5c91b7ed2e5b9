--
-- A bill as one HTML page.
--

CREATE FUNCTION yquota_internal.cents_text(amount numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN to_char(amount, 'FM999,999,999,999,999,999,999,990.00');
COMMENT ON FUNCTION yquota_internal.cents_text(numeric) IS 'Format a number with two decimals';

CREATE FUNCTION yquota_internal.html_cents(amount numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN format(CASE WHEN amount < 0 THEN '<span class="negative">%s</span>' ELSE '%s' END, yquota_internal.cents_text(amount));
COMMENT ON FUNCTION yquota_internal.html_cents(numeric) IS 'Format a number with two decimals, marked when it is negative';

CREATE FUNCTION yquota_internal.instant_in_words(at timestamptz, zone text, is_end boolean) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN at = yquota_internal.billing_day_start(yquota_internal.billing_day(at, zone), zone)
				THEN to_char(yquota_internal.billing_day(at, zone) - is_end::integer, 'FMDD FMMonth YYYY')
				ELSE to_char(at AT TIME ZONE zone, 'FMDD FMMonth YYYY, HH24:MI') END;
COMMENT ON FUNCTION yquota_internal.instant_in_words(timestamptz, text, boolean) IS
	'Return an edge of a period as a date, with the time of day unless this is midnight.  A period that ends at midnight ends with the day before';

CREATE FUNCTION yquota_internal.period_in_words(starts_at timestamptz, ends_at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT CASE WHEN ends_at = yquota_internal.billing_day_start((month.first_day + interval '1 month')::date, zone)
						 AND starts_at IN (yquota_internal.billing_day_start(month.first_day, zone), '-infinity')
					THEN to_char(month.first_day, 'FMMonth YYYY') || CASE WHEN isfinite(starts_at) THEN '' ELSE ' and before' END
					WHEN NOT isfinite(starts_at) THEN 'until ' || edge.last
					WHEN edge.first = edge.last THEN edge.first
					ELSE edge.first || ' to ' || edge.last END
		FROM (SELECT date_trunc('month', (ends_at - interval '1 microsecond') AT TIME ZONE zone)::date AS first_day) AS month
		CROSS JOIN (SELECT yquota_internal.instant_in_words(starts_at, zone, false) AS first,
						   yquota_internal.instant_in_words(ends_at, zone, true) AS last) AS edge;
	END;
COMMENT ON FUNCTION yquota_internal.period_in_words(timestamptz, timestamptz, text) IS
	'Return the name of a billing period: a month, or its first and last days';

-- On a narrow screen a row of the statement takes several lines, so that its amount stays on the screen.
CREATE FUNCTION yquota_internal.bill_style() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN '.facts{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.5rem;margin:1rem 0}.facts div{display:contents}.facts dd{margin:0;font-weight:600;overflow-wrap:anywhere}'
		'.apps{columns:17rem;column-gap:2.5rem;margin-bottom:1rem}.apps :is(th,td){padding:.1rem 0;border:0;overflow-wrap:anywhere}'
		'.apps thead th{border-bottom:1px solid var(--rule)}.apps :is(th,td):last-child{text-align:right;white-space:nowrap;padding-left:.6rem}.apps th[colspan]{text-align:left;padding-left:0}.apps .y td:first-child::before{content:"..."}.apps tr:has(th){break-after:avoid}'
		'@media screen and (max-width:40rem){.bill :is(table,tbody){display:block}.bill thead{display:none}'
		'.bill tr{display:grid;grid-template-columns:auto 1fr auto;column-gap:.75rem;padding:.35rem 0;border-bottom:1px solid var(--rule)}'
		'.bill td{border:0;padding:0;max-width:none}.bill td:first-child{grid-column:1/3}.bill td:last-child{grid-area:1/3;padding:0}'
		'.bill td:empty{display:none}.bill td:nth-child(n+2):not(:last-child){font-size:.8rem}}'
		'@media print{.apps{columns:3}@page{@bottom-right{font:9px sans-serif;content:counter(page) " / " counter(pages)}}}';
COMMENT ON FUNCTION yquota_internal.bill_style() IS 'Return the style of bills';

CREATE TYPE yquota_internal.bill_line AS (
	line integer,
	item text,
	subject text,
	queue text,
	username text,
	application_id text,
	name text,
	shown numeric
);
COMMENT ON TYPE yquota_internal.bill_line IS
	'Line of a page of a bill';
COMMENT ON COLUMN yquota_internal.bill_line.name IS 'item, in words; HTML already';
COMMENT ON COLUMN yquota_internal.bill_line.shown IS 'rounded amount';

CREATE FUNCTION yquota_internal.bill_lines(project text, ends_at timestamptz) RETURNS yquota_internal.bill_line[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT ROW(b.line, b.item, b.subject, b.queue, b.username, b.application_id,
				   concat(upper(left(named.item, 1) COLLATE "C"), substr(named.item, 2), CASE WHEN b.reason <> '' THEN ': ' || yquota_internal.html(b.reason) END),
				   b.rounded)::yquota_internal.bill_line
		FROM yquota_internal.bill_as_owner(project, ends_at, 'application') AS b
		CROSS JOIN LATERAL (SELECT replace(b.item, 'application ', '') AS item) AS named
		ORDER BY b.line);
COMMENT ON FUNCTION yquota_internal.bill_lines(text, timestamptz) IS
	'Return the lines of a bill, with those of its appendix';

CREATE FUNCTION yquota_internal.bill_sums(lines yquota_internal.bill_line[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT concat('<dl class="sums">', string_agg(yquota_internal.report_figure(i.name, yquota_internal.html_cents(i.shown)), '' ORDER BY i.place), '</dl>')
		FROM (SELECT upper(left(l.item, 1) COLLATE "C") || substr(l.item, 2) AS name, min(l.line) AS place, sum(l.shown) AS shown
			  FROM unnest(lines) AS l WHERE l.item NOT LIKE 'application%' GROUP BY l.item) AS i;
	END;
COMMENT ON FUNCTION yquota_internal.bill_sums(yquota_internal.bill_line[]) IS 'Make the figures of a bill, one for each item';

CREATE FUNCTION yquota_internal.bill_statement(lines yquota_internal.bill_line[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT concat('<h2>Statement</h2><div class="bill">', yquota_internal.html_table('{Item,Project,Queue,Amount}',
			string_agg(format('<tr%s><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
				CASE WHEN s.item = 'closing balance' THEN ' class="sum"' END, s.name, yquota_internal.html(s.subject),
				CASE WHEN s.item IN ('charge', 'correction') THEN yquota_internal.html(s.queue) END, yquota_internal.html_cents(s.shown)), '' ORDER BY s.place), 1), '</div>')
		FROM (SELECT l.item, l.name, l.subject, l.queue, min(l.line) AS place, sum(l.shown) AS shown
			  FROM unnest(lines) AS l
			  WHERE l.item NOT LIKE 'application%'
			  GROUP BY l.item, l.name, l.subject, l.queue, CASE WHEN l.item NOT IN ('charge', 'correction') THEN l.line END) AS s;
	END;
COMMENT ON FUNCTION yquota_internal.bill_statement(yquota_internal.bill_line[]) IS
	'Make the table of a bill, with one row for the charges of a project in a queue';

-- The identifiers of YARN's applications begin alike, and a table shows their beginning once.  Tags that HTML does not
-- need are left out.  So the page stays small.
CREATE FUNCTION yquota_internal.bill_applications(lines yquota_internal.bill_line[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH application AS (
			SELECT l.*, known.beginning, coalesce(substr(l.application_id, length(known.beginning) + 1), l.application_id, 'no application') AS ending
			FROM unnest(lines) AS l CROSS JOIN LATERAL (SELECT substring(l.application_id FROM '^(application_[0-9]+_)[0-9]+$')) AS known (beginning)
			WHERE l.item LIKE 'application%'
		), owner AS (
			SELECT a.name, a.subject, a.queue, a.beginning, a.username, min(a.line) AS place, sum(a.shown) AS shown,
				   concat('<tr><th>', yquota_internal.html(a.username), '<th>', yquota_internal.cents_text(sum(a.shown)),
						  string_agg(concat('<tr><td>', yquota_internal.html(a.ending), '<td>', yquota_internal.cents_text(a.shown)), '' ORDER BY a.line)) AS rows
			FROM application AS a
			GROUP BY a.name, a.subject, a.queue, a.beginning, a.username
		), part AS (
			SELECT min(o.place) AS place,
				   concat('<div class="apps"><table', CASE WHEN o.beginning IS NOT NULL THEN ' class="y"' END, '><thead><tr><th>',
						  concat_ws(', ', o.name, yquota_internal.html(o.subject), CASE WHEN o.queue IS NOT NULL THEN yquota_internal.html(o.queue) END), '<th>', yquota_internal.cents_text(sum(o.shown)),
						  '<tr><th colspan="2">' || o.beginning || '&hellip;', '<tbody>', string_agg(o.rows, '' ORDER BY o.place), '</table></div>') AS content
			FROM owner AS o
			GROUP BY o.name, o.subject, o.queue, o.beginning
		)
		SELECT '<h2>Appendix: applications</h2>' || string_agg(part.content, '' ORDER BY part.place)
		FROM part;
	END;
COMMENT ON FUNCTION yquota_internal.bill_applications(yquota_internal.bill_line[]) IS
	'List the charges of applications by project, queue and user; NULL without charges';

CREATE FUNCTION yquota_internal.bill_divided(project text, ends_at timestamptz) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH divided AS (
			SELECT b.calendars, b.subject, row_number() OVER (ORDER BY b.calendars COLLATE "C" NULLS LAST, b.subject COLLATE "C") AS place,
				   yquota_internal.round_for_bill(b.amount, yquota_internal.bill_terms(project, ends_at)) AS shown
			FROM yquota_internal.bill_by_calendar_as_owner(project, ends_at) AS b
		)
		SELECT '<h2>Charges by calendar</h2><div class="bill">' || yquota_internal.html_table('{Calendars,Project,Amount}',
				string_agg(yquota_internal.html_row(CASE WHEN divided.calendars IS NULL THEN 'none' ELSE yquota_internal.html(divided.calendars) END,
					yquota_internal.html(divided.subject), yquota_internal.html_cents(divided.shown)), '' ORDER BY divided.place), 1) || '</div>'
		FROM divided
		HAVING count(divided.calendars) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.bill_divided(text, timestamptz) IS
	'Make a table of charges by calendar; NULL if no calendar was open';

CREATE FUNCTION yquota_internal.bill_html_as_owner(project text, ends_at timestamptz) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone CONSTANT text := yquota_internal.billing_timezone();
	period record;
	lines yquota_internal.bill_line[];
BEGIN
	-- check first, as bill_as_owner() does, because an error in the query below would quote the whole query as
	-- context
	PERFORM yquota_internal.check_bill(bill_html_as_owner.project, bill_html_as_owner.ends_at);
	SELECT p.starts_at, p.closed_at, yquota_internal.period_in_words(p.starts_at, p.until, zone) AS name INTO period
	FROM yquota_internal.period AS p WHERE p.until = bill_html_as_owner.ends_at;
	lines := yquota_internal.bill_lines(bill_html_as_owner.project, bill_html_as_owner.ends_at);
	RETURN yquota_internal.html_page(
		format('Bill of %s, %s', bill_html_as_owner.project, period.name),
		format('Amounts are %s, rounded so that they add up to the closing balance. Charges are negative.',
			coalesce((yquota_internal.bill_terms(bill_html_as_owner.project, bill_html_as_owner.ends_at)).currency, 'credits')),
		concat('<dl class="facts">',
			yquota_internal.report_figure('Project', yquota_internal.html(bill_html_as_owner.project)),
			yquota_internal.report_figure('Period', period.name),
			yquota_internal.report_figure('Issued', to_char(yquota_internal.billing_day(period.closed_at, zone), 'FMDD FMMonth YYYY')),
			yquota_internal.report_figure('Time zone', yquota_internal.html(zone)),
			'</dl>',
			yquota_internal.bill_sums(lines),
			yquota_internal.bill_statement(lines),
			yquota_internal.bill_divided(bill_html_as_owner.project, bill_html_as_owner.ends_at),
			yquota_internal.bill_applications(lines)),
		yquota_internal.bill_style());
END
$$;
COMMENT ON FUNCTION yquota_internal.bill_html_as_owner(text, timestamptz) IS
	'Return the result of bill_html() for the calling role';

CREATE FUNCTION yquota.bill_html(project text, ends_at timestamptz) RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill_html(text, timestamptz) IS
	'Return the bill of a project and its sub-projects for the closed period that ends at an instant, as one HTML page.  A bill never changes';

CREATE FUNCTION yquota_internal.bill_html_as_owner(project text, ends_at date) RETURNS text
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.bill_html_as_owner(project, yquota_internal.billing_day_start(ends_at, yquota_internal.billing_timezone()));
COMMENT ON FUNCTION yquota_internal.bill_html_as_owner(text, date) IS
	'Return the result of bill_html() for the calling role';

CREATE FUNCTION yquota.bill_html(project text, ends_at date) RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill_html(text, date) IS
	'Return the bill of a project and its sub-projects as one HTML page.  The closed period ends where a date begins in the time zone of bills';
