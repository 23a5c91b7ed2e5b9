-- The bill of a project for a period that has been closed.
--
-- All lines of a bill are stored when the period is closed (billed_charge, billed_credit, issued_bill), so a bill never
-- changes.  Its closing balance is the opening balance of the next bill.  All later bookings are on the next bill, as
-- charges of its period or as corrections.

CREATE FUNCTION yquota_internal.billed_balances(projects text[], ends_at timestamptz) RETURNS TABLE (project text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT booked.project, sum(booked.amount)
		FROM (SELECT credit.project, credit.granted - credit.lost AS amount
			  FROM yquota_internal.billed_credit AS credit
			  WHERE credit.project = projects[1] AND credit.until <= ends_at
			  UNION ALL
			  SELECT charged.project, - charged.amount
			  FROM yquota_internal.billed_charge AS charged
			  WHERE charged.project = ANY (projects) AND charged.until <= ends_at) AS booked
		GROUP BY booked.project;
$$;
COMMENT ON FUNCTION yquota_internal.billed_balances(text[], timestamptz) IS
	'Return the parts of a balance at the end of a billed period, by project.  The part of each project is its billed cost, negative.  The part of the first project also has its billed credit';

CREATE FUNCTION yquota_internal.billed_period(ends_at timestamptz, OUT starts_at timestamptz, OUT closed_at timestamptz, OUT closed_before timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	SELECT period.starts_at, period.closed_at,
		   coalesce((SELECT last.closed_at FROM yquota.closed_period AS last WHERE last.until = period.starts_at), '-infinity')
	INTO billed_period.starts_at, billed_period.closed_at, billed_period.closed_before
	FROM yquota_internal.period
	WHERE period.until = billed_period.ends_at AND period.closed_at IS NOT NULL;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'no period that ends at % has been closed', ends_at
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Periods are the rows of yquota.billing_period that have a closed_at.';
	ELSIF '-infinity' < yquota_internal.archive_horizon() THEN
		PERFORM yquota_internal.check_archived_bill('{}', billed_period.closed_at);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.billed_period(timestamptz) IS
	'Return the beginning and closing of a billed period, and the closing of the previous period (-infinity for the first period).  Raise an error if there is no such period';

CREATE FUNCTION yquota_internal.check_bill(project text, ends_at timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF project IS NULL OR ends_at IS NULL THEN
		RAISE EXCEPTION 'project and period of a bill must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	-- a project that was never charged may have been deleted or renamed since
	IF NOT EXISTS (SELECT FROM (SELECT p.name FROM yquota.project AS p
								UNION ALL
								SELECT issued.project FROM yquota.issued_bill AS issued
								WHERE issued.ends_at = check_bill.ends_at) AS billed
				   WHERE billed.name = check_bill.project
					 AND (yquota_internal.reads_all() OR billed.name = ANY (yquota_internal.readable_projects()))) THEN
		PERFORM yquota_internal.check_visible_project(project);
		RAISE EXCEPTION 'permission denied for bills of project "%"', project
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Operators see the credit of all projects, but not the bills.';
	END IF;
	PERFORM FROM yquota_internal.billed_period(ends_at);
END
$$;
COMMENT ON FUNCTION yquota_internal.check_bill(text, timestamptz) IS
	'Refuse a bill of a period that has not been closed, or of a project that the reader may not see';

CREATE FUNCTION yquota_internal.check_bill_detail(detail text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF detail IS NULL THEN
		RAISE EXCEPTION 'detail of a bill must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF detail NOT IN ('queue', 'user', 'application') THEN
		RAISE EXCEPTION 'unknown detail of a bill: "%"', detail
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Use queue, user or application.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_bill_detail(text) IS
	'Refuse an unknown detail of a bill';

CREATE TYPE yquota_internal.bill_entry AS (
	place integer,
	item text,
	subject text,
	queue text,
	username text,
	application_id text,
	corrected_period timestamptz,
	reason text,
	grant_id bigint,
	resource_type text,
	resource_seconds numeric,
	amount numeric
);
COMMENT ON TYPE yquota_internal.bill_entry IS
	'Line of a bill with an exact amount; no balance';
COMMENT ON COLUMN yquota_internal.bill_entry.place IS 'position of the item on the bill';

CREATE FUNCTION yquota_internal.billed_grants(project text, ends_at timestamptz) RETURNS SETOF yquota_internal.bill_entry
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT side.place, side.item, credit.project, NULL::text, NULL::text, NULL::text, NULL::timestamptz, credit.reason, credit.grant_id,
			   NULL::text, NULL::numeric, side.amount
		FROM yquota_internal.billed_credit AS credit
		LEFT JOIN yquota.quota_grant AS given ON given.grant_id = credit.grant_id AND given.kind = 'transfer'
		CROSS JOIN LATERAL (VALUES (CASE WHEN given.grant_id IS NULL THEN 3 ELSE 4 END, coalesce(given.kind, 'grant'), credit.granted),
								   (5, 'expired', - credit.lost)) AS side (place, item, amount)
		WHERE credit.project = billed_grants.project AND credit.until = billed_grants.ends_at AND side.amount <> 0;
$$;
COMMENT ON FUNCTION yquota_internal.billed_grants(text, timestamptz) IS
	'Return the lines of a bill about grants, transfers, and credit that expired';

-- Lines about applications are in an appendix, after the closing balance.
CREATE FUNCTION yquota_internal.billed_costs(projects text[], ends_at timestamptz, detail text) RETURNS SETOF yquota_internal.bill_entry
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH charged AS (
			SELECT billed.*, nullif(billed.charged_until, ends_at) AS corrected_period
			FROM yquota_internal.billed_charge AS billed
			WHERE billed.project = ANY (projects) AND billed.until = ends_at
		)
		SELECT CASE WHEN charged.corrected_period IS NULL THEN 6 ELSE 7 END + section.places,
			   section.prefix || CASE WHEN charged.corrected_period IS NULL THEN 'charge' ELSE 'correction' END,
			   charged.project, charged.queue, CASE WHEN section.names_user THEN charged.username END,
			   CASE WHEN section.prefix <> '' THEN charged.application_id END, charged.corrected_period, NULL::text, NULL::bigint,
			   charged.resource_type, trim_scale(sum(charged.resource_seconds)), trim_scale(- sum(charged.amount))
		FROM (VALUES (0, '', detail = 'user', true),
					 (5, 'application ', true, detail = 'application')) AS section (places, prefix, names_user, is_asked)
		CROSS JOIN charged
		WHERE section.is_asked
		GROUP BY 1, 2, 3, 4, 5, 6, 7, charged.resource_type
		HAVING sum(charged.amount) <> 0 OR sum(charged.resource_seconds) <> 0;
$$;
COMMENT ON FUNCTION yquota_internal.billed_costs(text[], timestamptz, text) IS
	'Return the lines of a bill about charges and corrections, by the resource type that was charged.  Lines about applications come after the closing balance';

-- A project that did not exist when the period was closed got no bill.
CREATE FUNCTION yquota_internal.bill_terms(project text, ends_at timestamptz) RETURNS yquota.issued_bill
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN coalesce(
		(SELECT issued FROM yquota.issued_bill AS issued
		 WHERE issued.project = bill_terms.project AND issued.ends_at = bill_terms.ends_at),
		ROW(project, ends_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 2)::yquota.issued_bill);
COMMENT ON FUNCTION yquota_internal.bill_terms(text, timestamptz) IS
	'Return the issued bill of a project, or a row without number and currency if none was issued';

CREATE FUNCTION yquota_internal.round_for_bill(amount numeric, bill yquota.issued_bill) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN yquota_internal.divide_half_even(amount, (bill).credits_per_unit, (bill).places);
COMMENT ON FUNCTION yquota_internal.round_for_bill(numeric, yquota.issued_bill) IS
	'Convert credits to the currency of a bill, rounded half to even';

CREATE FUNCTION yquota_internal.bill_unit_price(resource_seconds numeric, unit_size numeric, amount numeric, bill yquota.issued_bill) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN resource_seconds * amount < 0
				THEN yquota_internal.divide_half_even(- amount * unit_size, resource_seconds * (bill).credits_per_unit, (bill).places + 4) END;
COMMENT ON FUNCTION yquota_internal.bill_unit_price(numeric, numeric, numeric, yquota.issued_bill) IS
	'Return the average price per unit in the currency of a bill; NULL unless a quantity was paid for or given back';

CREATE FUNCTION yquota_internal.have_equal_terms(one yquota.issued_bill, other yquota.issued_bill) RETURNS boolean
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN (one).currency IS NOT DISTINCT FROM (other).currency
		AND (one).credits_per_unit = (other).credits_per_unit AND (one).places = (other).places;
COMMENT ON FUNCTION yquota_internal.have_equal_terms(yquota.issued_bill, yquota.issued_bill) IS
	'Tell whether amounts of two bills are converted and rounded in the same way';

CREATE FUNCTION yquota_internal.describe_conversion(source text, converted yquota.issued_bill, bill yquota.issued_bill) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format('%s converted from %s to %s', source,
				  coalesce(trim_scale((converted).credits_per_unit) || ' credits per ' || (converted).currency, 'credits'),
				  coalesce(trim_scale((bill).credits_per_unit) || ' credits per ' || (bill).currency, 'credits'));
COMMENT ON FUNCTION yquota_internal.describe_conversion(text, yquota.issued_bill, yquota.issued_bill) IS
	'Describe the amounts that a line "conversion" of a bill converts';

-- Each project has its own line "rounding", so the rounded lines about a sub-project add up as on its own bill.  A
-- correction keeps the currency of the bill that it corrects, and a line "conversion" has the difference.
CREATE FUNCTION yquota_internal.bill_as_owner(project text, ends_at timestamptz, detail text)
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, corrected_bill text, reason text,
				   resource_type text, resource_seconds numeric, quantity numeric, unit text, unit_price numeric,
				   amount numeric, currency text, rounded numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	period record;
	projects text[];
	bill yquota.issued_bill;
	last_bill yquota.issued_bill;
BEGIN
	PERFORM yquota_internal.check_bill(bill_as_owner.project, bill_as_owner.ends_at);
	PERFORM yquota_internal.check_bill_detail(bill_as_owner.detail);
	SELECT * INTO period FROM yquota_internal.billed_period(bill_as_owner.ends_at);
	projects := yquota_internal.family_of(bill_as_owner.project);
	bill := yquota_internal.bill_terms(bill_as_owner.project, bill_as_owner.ends_at);
	last_bill := yquota_internal.bill_terms(bill_as_owner.project, period.starts_at);
	IF last_bill.number IS NULL THEN
		last_bill := bill;
	END IF;
	RETURN QUERY
	WITH opening AS MATERIALIZED (
		SELECT before.project, before.amount
		FROM yquota_internal.billed_balances(projects, period.starts_at) AS before
		WHERE isfinite(period.starts_at)
	), known AS MATERIALIZED (
		SELECT ended.until, CASE WHEN (issued.found).number IS NULL THEN bill ELSE issued.found END AS of_line
		FROM yquota_internal.period AS ended
		CROSS JOIN LATERAL (SELECT yquota_internal.bill_terms(bill_as_owner.project, ended.until) AS found OFFSET 0) AS issued
		WHERE ended.until <= bill_as_owner.ends_at
	), terms AS MATERIALIZED (
		SELECT known.*, NOT yquota_internal.have_equal_terms(known.of_line, bill) AS is_converted,
			   (known.of_line).currency IS NOT DISTINCT FROM bill.currency AS is_summed
		FROM known
	), entry AS MATERIALIZED (
		SELECT written.*, terms.of_line, terms.is_converted, terms.is_summed,
			   yquota_internal.round_for_bill(written.amount, terms.of_line) AS rounded
		FROM (SELECT * FROM yquota_internal.billed_grants(bill_as_owner.project, bill_as_owner.ends_at)
			  UNION ALL
			  SELECT * FROM yquota_internal.billed_costs(projects, bill_as_owner.ends_at, bill_as_owner.detail)) AS written
		JOIN terms ON terms.until = coalesce(written.corrected_period, bill_as_owner.ends_at)
	), converted AS (
		SELECT entry.subject, entry.of_line, sum(entry.amount) AS amount, coalesce(sum(entry.rounded) FILTER (WHERE entry.is_summed), 0) AS shown
		FROM entry WHERE entry.is_converted AND entry.place < 10
		GROUP BY entry.subject, entry.of_line
	), own AS (
		SELECT part.project, sum(part.opening) AS opening, sum(part.opening + part.change) AS closing, sum(part.shown) AS shown
		FROM (SELECT opening.project, opening.amount AS opening, 0 AS change, 0 AS shown FROM opening
			  UNION ALL
			  SELECT entry.subject, 0, entry.amount, CASE WHEN entry.is_converted THEN 0 ELSE entry.rounded END FROM entry WHERE entry.place < 10
			  UNION ALL
			  SELECT converted.subject, 0, 0, yquota_internal.round_for_bill(converted.amount, bill) FROM converted) AS part
		GROUP BY part.project
	), page AS (
		SELECT 1 AS place, 'opening balance' AS item, bill_as_owner.project AS subject, NULL AS queue, NULL AS username, NULL AS application_id,
			   NULL::timestamptz AS corrected_period, NULL AS corrected_bill, NULL AS reason, NULL::bigint AS grant_id, NULL AS resource_type, NULL::numeric AS resource_seconds, NULL::numeric AS unit_price,
			   coalesce(trim_scale(sum(opening.amount)), 0) AS amount, last_bill.currency, coalesce(sum(yquota_internal.round_for_bill(opening.amount, last_bill)), yquota_internal.round_for_bill(0, last_bill)) AS rounded
		FROM opening
		UNION ALL
		SELECT 2, 'conversion', bill_as_owner.project, NULL, NULL, NULL, NULL, NULL,
			   yquota_internal.describe_conversion(concat_ws(' ', 'balance of bill', last_bill.number), last_bill, bill), NULL, NULL, NULL, NULL, 0, bill.currency,
			   sum(yquota_internal.round_for_bill(opening.amount, bill))
			   - CASE WHEN last_bill.currency IS NOT DISTINCT FROM bill.currency THEN sum(yquota_internal.round_for_bill(opening.amount, last_bill)) ELSE 0 END
		FROM opening
		WHERE NOT yquota_internal.have_equal_terms(last_bill, bill)
		HAVING count(*) > 0
		UNION ALL
		SELECT entry.place, entry.item, entry.subject, entry.queue, entry.username, entry.application_id, entry.corrected_period,
			   -- a project that was inserted later has no bill of the corrected period
			   CASE WHEN entry.corrected_period IS NOT NULL THEN nullif((entry.of_line).number, bill.number) END, entry.reason, entry.grant_id,
			   entry.resource_type, entry.resource_seconds,
			   yquota_internal.bill_unit_price(entry.resource_seconds, 3600 * yquota_internal.resource_unit_size(entry.resource_type), entry.amount, entry.of_line),
			   entry.amount, (entry.of_line).currency, entry.rounded
		FROM entry
		UNION ALL
		SELECT 8, 'conversion', converted.subject, NULL, NULL, NULL, (converted.of_line).ends_at, (converted.of_line).number,
			   yquota_internal.describe_conversion('adjustment of bill ' || (converted.of_line).number, converted.of_line, bill), NULL, NULL, NULL, NULL, 0, bill.currency,
			   yquota_internal.round_for_bill(converted.amount, bill) - converted.shown
		FROM converted
		UNION ALL
		SELECT 9, 'rounding', own.project, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, bill.currency, rounding.difference
		FROM own
		CROSS JOIN LATERAL (
			SELECT yquota_internal.round_for_bill(own.closing, bill) - yquota_internal.round_for_bill(own.opening, bill) - own.shown AS difference) AS rounding
		WHERE rounding.difference <> 0
		UNION ALL
		SELECT 10, 'closing balance', bill_as_owner.project, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
			   coalesce(trim_scale(sum(own.closing)), 0), bill.currency, coalesce(sum(yquota_internal.round_for_bill(own.closing, bill)), yquota_internal.round_for_bill(0, bill))
		FROM own
	)
	SELECT row_number() OVER (ORDER BY page.place, page.corrected_period, page.subject COLLATE "C", page.queue COLLATE "C",
									   page.username COLLATE "C", page.application_id COLLATE "C", page.grant_id, page.resource_type COLLATE "C")::integer AS line,
		   page.item, page.subject, page.queue, page.username, page.application_id, page.corrected_period, page.corrected_bill,
		   CASE WHEN page.item LIKE '%correction' THEN 'adjustment of bill ' || page.corrected_bill ELSE page.reason END,
		   page.resource_type, page.resource_seconds, yquota_internal.divide_half_even(page.resource_seconds, 3600 * yquota_internal.resource_unit_size(page.resource_type), 6),
		   yquota_internal.resource_unit(page.resource_type) || '-hours', page.unit_price,
		   page.amount, page.currency, page.rounded
	FROM page
	ORDER BY 1;
END;
$$;
COMMENT ON FUNCTION yquota_internal.bill_as_owner(text, timestamptz, text) IS
	'Return the result of bill() for the calling role';

CREATE FUNCTION yquota.bill(project text, ends_at timestamptz, detail text DEFAULT 'queue')
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, corrected_bill text, reason text,
				   resource_type text, resource_seconds numeric, quantity numeric, unit text, unit_price numeric,
				   amount numeric, currency text, rounded numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill(text, timestamptz, text) IS
	'Return the bill of a project and its sub-projects for the closed period that ends at an instant.  A bill never changes.  The lines are the opening balance, grants, credit that expired, charges, corrections of earlier bills, conversions, roundings, and the closing balance, which is the sum.  Charges are added up by queue, or by queue and user.  With the detail "application", lines after the closing balance also list the charges by application';

CREATE FUNCTION yquota_internal.bill_as_owner(project text, ends_at date, detail text)
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, corrected_bill text, reason text,
				   resource_type text, resource_seconds numeric, quantity numeric, unit text, unit_price numeric,
				   amount numeric, currency text, rounded numeric)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.bill_as_owner(project, yquota_internal.billing_day_start(ends_at, yquota_internal.billing_timezone()), detail);
$$;
COMMENT ON FUNCTION yquota_internal.bill_as_owner(text, date, text) IS
	'Return the result of bill() for the calling role';

CREATE FUNCTION yquota.bill(project text, ends_at date, detail text DEFAULT 'queue')
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, corrected_bill text, reason text,
				   resource_type text, resource_seconds numeric, quantity numeric, unit text, unit_price numeric,
				   amount numeric, currency text, rounded numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill(text, date, text) IS
	'Return the bill of a project and its sub-projects for the closed period that ends where a date begins in the time zone of bills';

CREATE FUNCTION yquota_internal.bill_by_calendar_as_owner(project text, ends_at timestamptz)
	RETURNS TABLE (subject text, calendars text, amount numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	period record;
	projects text[];
BEGIN
	PERFORM yquota_internal.check_bill(bill_by_calendar_as_owner.project, bill_by_calendar_as_owner.ends_at);
	projects := yquota_internal.family_of(bill_by_calendar_as_owner.project);
	IF EXISTS (SELECT FROM yquota_internal.billed_calendar AS billed WHERE billed.until = bill_by_calendar_as_owner.ends_at) THEN
		RETURN QUERY
		SELECT billed.project, nullif(billed.calendars, ''), - billed.amount
		FROM yquota_internal.billed_calendar AS billed
		WHERE billed.until = bill_by_calendar_as_owner.ends_at AND billed.project = ANY (projects)
		ORDER BY billed.project, billed.calendars;
		RETURN;
	END IF;
	SELECT * INTO period FROM yquota_internal.billed_period(bill_by_calendar_as_owner.ends_at);
	RETURN QUERY
	SELECT cost.project, NULL::text, - cost.amount
	FROM yquota_internal.booked_cost(period.starts_at, bill_by_calendar_as_owner.ends_at, '{project}',
									 period.closed_at, of_projects => projects) AS cost
	WHERE cost.amount <> 0
	ORDER BY cost.project COLLATE "C";
END;
$$;
COMMENT ON FUNCTION yquota_internal.bill_by_calendar_as_owner(text, timestamptz) IS
	'Return the result of bill_by_calendar() for the calling role';

CREATE FUNCTION yquota.bill_by_calendar(project text, ends_at timestamptz)
	RETURNS TABLE (subject text, calendars text, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill_by_calendar(text, timestamptz) IS
	'Return the charges on the bill of a project and its sub-projects, divided by the calendars that were open.  The closed period ends at an instant.  The rows add up to the charges of bill(), and never change';

CREATE FUNCTION yquota_internal.bill_by_calendar_as_owner(project text, ends_at date)
	RETURNS TABLE (subject text, calendars text, amount numeric)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.bill_by_calendar_as_owner(project, yquota_internal.billing_day_start(ends_at, yquota_internal.billing_timezone()));
$$;
COMMENT ON FUNCTION yquota_internal.bill_by_calendar_as_owner(text, date) IS
	'Return the result of bill_by_calendar() for the calling role';

CREATE FUNCTION yquota.bill_by_calendar(project text, ends_at date)
	RETURNS TABLE (subject text, calendars text, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill_by_calendar(text, date) IS
	'Return the charges on the bill of a project and its sub-projects by the calendars that were open.  The closed period ends where a date begins in the time zone of bills';
