--
-- A bill as one HTML page.
--

CREATE FUNCTION yquota_internal.money_text(amount numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN to_char(amount, 'FM999,999,999,999,999,999,999,999,999,990' || CASE WHEN scale(amount) > 0 THEN rpad('.', scale(amount) + 1, '0') ELSE '' END);
COMMENT ON FUNCTION yquota_internal.money_text(numeric) IS 'Format a number with all of its decimals';

CREATE FUNCTION yquota_internal.html_money(amount numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN format(CASE WHEN amount < 0 THEN '<span class="negative">%s</span>' ELSE '%s' END, yquota_internal.money_text(amount));
COMMENT ON FUNCTION yquota_internal.html_money(numeric) IS 'Format a rounded amount, marked when it is negative';

CREATE FUNCTION yquota_internal.instant_in_words(at timestamptz, zone text, is_end boolean) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN at = yquota_internal.billing_day_start(yquota_internal.billing_day(at, zone), zone)
				THEN to_char(yquota_internal.billing_day(at, zone) - is_end::integer, 'FMDD FMMonth YYYY')
				ELSE to_char(at AT TIME ZONE zone, 'FMDD FMMonth YYYY, HH24:MI') END;
COMMENT ON FUNCTION yquota_internal.instant_in_words(timestamptz, text, boolean) IS
	'Return the start or the end of a period as a date, with the time of day unless a day begins at this instant.  If a period ends at the beginning of a day, its last day is the day before';

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

-- On a narrow screen a row of the statement takes several lines, so that its amount stays on the screen.  The first
-- twenty rows of a table of applications are in one column.  Browsers repeat a head only if it is much lower than the
-- column.
CREATE FUNCTION yquota_internal.bill_style() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN '.facts{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.5rem;margin:1rem 0}.facts div{display:contents}.facts dd{margin:0;font-weight:600;overflow-wrap:anywhere;white-space:pre-line}'
		'.bill td:nth-child(-n+3){overflow-wrap:anywhere}.bill td:last-child{white-space:nowrap}.apps{columns:17rem;column-gap:2.5rem;margin-bottom:1rem}.apps :is(th,td){padding:.1rem 0;border:0;overflow-wrap:anywhere}'
		'.apps thead th{border-bottom:1px solid var(--rule)}.apps :is(th,td):last-child{text-align:right;white-space:nowrap;padding-left:.6rem}.apps th[colspan]{text-align:left;padding-left:0}.apps .y td:first-child::before{content:"..."}.apps tr:has(th),.apps tr:nth-child(-n+20){break-after:avoid}'
		'@media screen and (max-width:40rem){.bill :is(table,tbody){display:block}.bill thead{display:none}'
		'.bill tr{display:grid;grid-template-columns:auto 1fr auto;column-gap:.75rem;padding:.35rem 0;border-bottom:1px solid var(--rule)}'
		'.bill td{border:0;padding:0;max-width:none}.bill td:first-child{grid-column:1/3}.bill td:last-child{grid-area:1/3;padding:0}'
		'.bill td:empty{display:none}.bill td:nth-child(n+2):not(:last-child){font-size:.8rem;padding:0}.bill td:nth-child(4){grid-column:1/3;text-align:left}.bill td:nth-child(5):not(:empty)::before{content:"at "}}'
		'@media print{.apps{columns:3}h2+p{break-after:avoid}@page{@bottom-right{font:9px sans-serif;content:counter(page) " / " counter(pages)}}}';
COMMENT ON FUNCTION yquota_internal.bill_style() IS 'Return the style of bills';

CREATE TYPE yquota_internal.bill_line AS (
	line integer,
	item text,
	subject text,
	queue text,
	username text,
	application_id text,
	name text,
	quantity numeric,
	unit text,
	unit_price numeric,
	other_currency text,
	shown numeric
);
COMMENT ON TYPE yquota_internal.bill_line IS
	'Line of a page of a bill';
COMMENT ON COLUMN yquota_internal.bill_line.name IS 'item and reason, in words; HTML already';
COMMENT ON COLUMN yquota_internal.bill_line.other_currency IS 'currency of an amount that is not in the currency of the bill, or credits; NULL for other amounts';
COMMENT ON COLUMN yquota_internal.bill_line.shown IS 'rounded amount';

CREATE FUNCTION yquota_internal.bill_lines(bill yquota.issued_bill) RETURNS yquota_internal.bill_line[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT ROW(b.line, b.item, b.subject, b.queue, b.username, b.application_id,
				   concat(upper(left(kind.name, 1) COLLATE "C"), substr(kind.name, 2), CASE WHEN b.reason <> '' THEN ': ' || yquota_internal.html(b.reason) END),
				   b.quantity, b.unit, b.unit_price,
				   CASE WHEN b.currency IS DISTINCT FROM (bill).currency THEN coalesce(b.currency, 'credits') END, b.rounded)::yquota_internal.bill_line
		FROM yquota_internal.bill_as_owner((bill).project, (bill).ends_at, 'application') AS b
		CROSS JOIN LATERAL (SELECT regexp_replace(b.item, '^application ', '')) AS kind (name)
		ORDER BY b.line);
COMMENT ON FUNCTION yquota_internal.bill_lines(yquota.issued_bill) IS 'Return the lines of the page of a bill';

CREATE FUNCTION yquota_internal.bill_facts(bill yquota.issued_bill, period text, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT '<dl class="facts">' || string_agg(yquota_internal.report_figure(fact.name, yquota_internal.html(fact.value)), '' ORDER BY fact.place) || '</dl>'
		FROM (VALUES
			(1, 'Project', (bill).project),
			(2, 'Addressee', (bill).addressee),
			(3, 'Cost centre', (bill).cost_centre),
			(4, 'Period', period),
			(5, 'Issued', to_char(yquota_internal.billing_day((bill).issued_at, zone), 'FMDD FMMonth YYYY')),
			(6, 'Currency', CASE WHEN (bill).currency IS NULL THEN 'credits'
								  ELSE format('%s, %s credits each', (bill).currency, trim_scale((bill).credits_per_unit)) END),
			(7, 'Time zone', zone)) AS fact (place, name, value)
		WHERE fact.value <> '';
	END;
COMMENT ON FUNCTION yquota_internal.bill_facts(yquota.issued_bill, text, text) IS 'Make the list of facts at the head of a bill';

CREATE FUNCTION yquota_internal.bill_sums(lines yquota_internal.bill_line[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT concat('<dl class="sums">', string_agg(yquota_internal.report_figure(i.name, yquota_internal.html_money(i.shown)), '' ORDER BY i.place), '</dl>')
		FROM (SELECT upper(left(l.item, 1) COLLATE "C") || substr(l.item, 2) AS name, min(l.line) AS place, sum(l.shown) AS shown
			  FROM unnest(lines) AS l
			  WHERE l.other_currency IS NULL AND l.item NOT IN ('application charge', 'application correction')
			  GROUP BY l.item) AS i;
	END;
COMMENT ON FUNCTION yquota_internal.bill_sums(yquota_internal.bill_line[]) IS 'Make the figures of a bill, one for each item';

CREATE FUNCTION yquota_internal.bill_statement(lines yquota_internal.bill_line[], head text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT concat('<h2>Statement</h2><div class="bill">', yquota_internal.html_table(ARRAY['Item', 'Project', 'Queue', 'Quantity', 'Unit price', head],
			string_agg(format('<tr%s><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
				CASE WHEN l.item = 'closing balance' THEN ' class="sum"' END, l.name, yquota_internal.html(l.subject),
				CASE WHEN l.item IN ('charge', 'correction') THEN yquota_internal.html(l.queue) END,
				CASE WHEN l.quantity IS NOT NULL THEN concat_ws(' ', yquota_internal.money_text(l.quantity), yquota_internal.html(l.unit)) END,
				yquota_internal.money_text(l.unit_price),
				concat_ws(' ', yquota_internal.html_money(l.shown), l.other_currency)), '' ORDER BY l.line), 3), '</div>')
		FROM unnest(lines) AS l
		WHERE l.item NOT IN ('application charge', 'application correction');
	END;
COMMENT ON FUNCTION yquota_internal.bill_statement(yquota_internal.bill_line[], text) IS
	'Make the table of a bill, with rows for the charges of a project in a queue';

-- The identifiers of YARN's applications begin alike, and a table shows their beginning once.  End tags that HTML does
-- not need are left out.  So the page stays small.
CREATE FUNCTION yquota_internal.bill_applications(lines yquota_internal.bill_line[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH application AS (
			SELECT min(l.line) AS line, l.name, l.other_currency, l.subject, l.queue, l.username, known.beginning,
				   coalesce(substr(l.application_id, length(known.beginning) + 1), l.application_id, 'no application') AS ending, sum(l.shown) AS shown
			FROM unnest(lines) AS l CROSS JOIN LATERAL (SELECT substring(l.application_id FROM '^(application_[0-9]+_)[0-9]+$')) AS known (beginning)
			WHERE l.item IN ('application charge', 'application correction')
			GROUP BY l.name, l.other_currency, l.subject, l.queue, l.username, known.beginning, l.application_id
		), owner AS (
			SELECT a.name, a.other_currency, a.subject, a.queue, a.beginning, a.username, min(a.line) AS place, sum(a.shown) AS shown,
				   concat('<tr><th>', yquota_internal.html(a.username), '<th>', yquota_internal.money_text(sum(a.shown)),
						  string_agg(concat('<tr><td>', yquota_internal.html(a.ending), '<td>', yquota_internal.money_text(a.shown)), '' ORDER BY a.line)) AS rows
			FROM application AS a
			GROUP BY a.name, a.other_currency, a.subject, a.queue, a.beginning, a.username
		), part AS (
			SELECT min(o.place) AS place,
				   concat('<div class="apps"><table', CASE WHEN o.beginning IS NOT NULL THEN ' class="y"' END, '><thead><tr><th>',
						  concat_ws(', ', o.name, yquota_internal.html(o.subject), CASE WHEN o.queue IS NOT NULL THEN yquota_internal.html(o.queue) END),
						  '<th>', concat_ws(' ', yquota_internal.money_text(sum(o.shown)), o.other_currency),
						  '<tr><th colspan="2">' || o.beginning || '&hellip;', '<tbody>', string_agg(o.rows, '' ORDER BY o.place), '</table></div>') AS content
			FROM owner AS o
			GROUP BY o.name, o.other_currency, o.subject, o.queue, o.beginning
		)
		SELECT '<h2>Appendix: applications</h2><p>Applications are rounded one by one, so their sums may differ from the statement. The statement counts.</p>'
			|| string_agg(part.content, '' ORDER BY part.place)
		FROM part;
	END;
COMMENT ON FUNCTION yquota_internal.bill_applications(yquota_internal.bill_line[]) IS
	'List the charges of applications by project, queue and user; NULL without charges';

CREATE FUNCTION yquota_internal.bill_divided(bill yquota.issued_bill, head text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT '<h2>Charges by calendar</h2><div class="bill">' || yquota_internal.html_table(ARRAY['Calendars', 'Project', head],
				string_agg(yquota_internal.html_row(CASE WHEN b.calendars IS NULL THEN 'none' ELSE yquota_internal.html(b.calendars) END,
					yquota_internal.html(b.subject), yquota_internal.html_money(yquota_internal.round_for_bill(b.amount, bill))), ''
					ORDER BY b.calendars COLLATE "C" NULLS LAST, b.subject COLLATE "C"), 1) || '</div>'
		FROM yquota_internal.bill_by_calendar_as_owner((bill).project, (bill).ends_at) AS b
		HAVING count(b.calendars) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.bill_divided(yquota.issued_bill, text) IS
	'Make a table of charges by calendar; NULL if no calendar was open';

CREATE FUNCTION yquota_internal.bill_html_as_owner(project text, ends_at timestamptz) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- JIT compilation takes longer than the query
	SET jit = off
	AS $$
DECLARE
	zone CONSTANT text := yquota_internal.billing_timezone();
	bill yquota.issued_bill;
	period text;
	head text;
	lines yquota_internal.bill_line[];
BEGIN
	-- check first, because an error in a query below would quote the query as context
	PERFORM yquota_internal.check_bill(bill_html_as_owner.project, bill_html_as_owner.ends_at);
	bill := yquota_internal.bill_terms(bill_html_as_owner.project, bill_html_as_owner.ends_at);
	period := (SELECT yquota_internal.period_in_words(p.starts_at, p.until, zone)
			   FROM yquota_internal.period AS p WHERE p.until = bill_html_as_owner.ends_at);
	head := CASE WHEN bill.symbol IS NULL THEN 'Credits' ELSE format('Amount (%s)', yquota_internal.html(bill.symbol)) END;
	lines := yquota_internal.bill_lines(bill);
	RETURN yquota_internal.html_page(
		concat('Bill ', coalesce(bill.number, 'of ' || bill.project), ', ', period),
		format('Amounts are %s. Charges are negative. The rows of the statement add up to the closing balance.', coalesce(bill.currency, 'credits')),
		concat(yquota_internal.bill_facts(bill, period, zone),
			yquota_internal.bill_sums(lines),
			yquota_internal.bill_statement(lines, head),
			yquota_internal.bill_divided(bill, head),
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
