--
-- A bill as one HTML page.
--

CREATE FUNCTION yquota_internal.html_cents(amount numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN format(CASE WHEN amount < 0 THEN '<span class="negative">%s</span>' ELSE '%s' END,
				  to_char(amount, 'FM999,999,999,999,999,999,999,990.00'));
COMMENT ON FUNCTION yquota_internal.html_cents(numeric) IS 'Format a number with two decimals, marked when it is negative';

CREATE FUNCTION yquota_internal.bill_html_as_owner(project text, ends_at timestamptz) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone CONSTANT text := yquota_internal.billing_timezone();
	period record;
BEGIN
	-- check first, as bill_as_owner() does, because an error in the query below would quote the whole query as
	-- context
	PERFORM yquota_internal.check_bill(bill_html_as_owner.project, bill_html_as_owner.ends_at);
	SELECT p.starts_at, p.closed_at INTO period FROM yquota_internal.period AS p WHERE p.until = bill_html_as_owner.ends_at;
	RETURN (
		-- each line shows the change of the rounded balance, so that the displayed lines add up
		WITH line AS (
			SELECT b.*, CASE WHEN b.item = 'closing balance' THEN round(b.amount, 2)
							 ELSE round(sum(b.amount) OVER before_and_this, 2) - round(sum(b.amount) OVER before_and_this - b.amount, 2) END AS shown
			FROM yquota_internal.bill_as_owner(bill_html_as_owner.project, bill_html_as_owner.ends_at) AS b
			WINDOW before_and_this AS (ORDER BY b.line)
		), item AS (
			SELECT line.item, min(line.line) AS place, sum(line.shown) AS shown FROM line GROUP BY line.item
		), divided AS (
			SELECT b.calendars, b.subject, row_number() OVER by_calendar AS place,
				   round(before.amount + sum(b.amount) OVER by_calendar, 2) - round(before.amount + sum(b.amount) OVER by_calendar - b.amount, 2) AS shown
			FROM yquota_internal.bill_by_calendar_as_owner(bill_html_as_owner.project, bill_html_as_owner.ends_at) AS b
			CROSS JOIN (SELECT coalesce(sum(line.amount), 0) AS amount FROM line
						WHERE line.line < (SELECT item.place FROM item WHERE item.item = 'charge')) AS before
			WINDOW by_calendar AS (ORDER BY b.calendars COLLATE "C" NULLS LAST, b.subject COLLATE "C")
		)
		SELECT yquota_internal.html_page(
			format('Bill of %s, %s to %s', bill_html_as_owner.project,
				CASE WHEN isfinite(period.starts_at) THEN yquota_internal.html_time(period.starts_at, zone) ELSE 'the beginning' END,
				yquota_internal.html_time(bill_html_as_owner.ends_at, zone)),
			format('Closed at %s, time zone %s. Amounts are credits, rounded so that they add up to the closing balance.',
				yquota_internal.html_time(period.closed_at, zone), zone),
			concat('<dl class="sums">',
				(SELECT string_agg(yquota_internal.report_figure(upper(left(item.item, 1) COLLATE "C") || substr(item.item, 2), yquota_internal.html_cents(item.shown)), '' ORDER BY item.place)
				 FROM item),
				'</dl>',
				yquota_internal.html_table('{Item,Project,Queue,User,Application,Credits}',
					(SELECT string_agg(format('<tr%s><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
						CASE WHEN line.item = 'closing balance' THEN ' class="sum"' END,
						concat(upper(left(line.item, 1) COLLATE "C"), substr(line.item, 2), CASE WHEN line.reason <> '' THEN ': ' || yquota_internal.html(line.reason) END,
							   CASE WHEN line.corrected_period IS NOT NULL
									THEN ' of the bill until ' || yquota_internal.html_time(line.corrected_period, zone) END),
						yquota_internal.html(line.subject), yquota_internal.html(line.queue), yquota_internal.html(line.username),
						yquota_internal.html(line.application_id), yquota_internal.html_cents(line.shown)), '' ORDER BY line.line)
					 FROM line), 1),
				CASE WHEN EXISTS (SELECT FROM divided WHERE divided.calendars IS NOT NULL) THEN
					'<h2>Charges by calendar</h2>' || yquota_internal.html_table('{Calendars,Project,Credits}',
						(SELECT string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td></tr>', CASE WHEN divided.calendars IS NULL THEN 'none' ELSE yquota_internal.html(divided.calendars) END,
							yquota_internal.html(divided.subject), yquota_internal.html_cents(divided.shown)), '' ORDER BY divided.place)
						 FROM divided), 1) END)));
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
