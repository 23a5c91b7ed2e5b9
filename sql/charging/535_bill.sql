-- The bill of a project for a period that has been closed.
--
-- All lines of a bill are read as they were booked when the period was closed (booked_cost(), billed_credit), so a
-- bill never changes.  Its closing balance is the opening balance of the next bill.  All later bookings are on the
-- next bill.  They concern the next period, or correct earlier ones.

CREATE FUNCTION yquota_internal.billed_balance(projects text[], ends_at timestamptz, closed_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN trim_scale(
		coalesce((SELECT sum(credit.granted - credit.lost) FROM yquota_internal.billed_credit AS credit
				  WHERE credit.project = projects[1] AND credit.until <= ends_at), 0)
		- coalesce((SELECT sum(cost.amount)
					FROM yquota_internal.booked_cost('-infinity', ends_at, '{}', closed_at, of_projects => projects) AS cost), 0));
COMMENT ON FUNCTION yquota_internal.billed_balance(text[], timestamptz, timestamptz) IS
	'Return the balance at the end of a billed period: the billed credit of the first project, less the billed cost of all given projects';

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
	PERFORM FROM yquota_internal.billed_period(ends_at);
	PERFORM yquota_internal.check_visible_project(project);
END
$$;
COMMENT ON FUNCTION yquota_internal.check_bill(text, timestamptz) IS
	'Refuse a bill of a period that has not been closed, or of a project that the reader may not see';

CREATE FUNCTION yquota_internal.bill_as_owner(project text, ends_at timestamptz)
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, reason text, amount numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	period record;
	projects text[];
BEGIN
	PERFORM yquota_internal.check_bill(bill_as_owner.project, bill_as_owner.ends_at);
	SELECT * INTO period FROM yquota_internal.billed_period(bill_as_owner.ends_at);
	projects := yquota_internal.family_of(bill_as_owner.project);
	RETURN QUERY
	WITH entry (place, item, subject, queue, username, application_id, corrected_period, reason, grant_id, amount) AS MATERIALIZED (
		SELECT 1, 'opening balance', bill_as_owner.project, NULL::text, NULL::text, NULL::text, NULL::timestamptz, NULL::text, NULL::bigint,
			   CASE WHEN isfinite(period.starts_at)
					THEN yquota_internal.billed_balance(projects, period.starts_at, period.closed_before) ELSE 0 END
		UNION ALL
		SELECT side.place, side.item, credit.project, NULL, NULL, NULL, NULL, credit.reason, credit.grant_id, side.amount
		FROM yquota_internal.billed_credit AS credit
		LEFT JOIN yquota.quota_grant AS given ON given.grant_id = credit.grant_id AND given.kind = 'transfer'
		CROSS JOIN LATERAL (VALUES (CASE WHEN given.grant_id IS NULL THEN 2 ELSE 3 END, coalesce(given.kind, 'grant'), credit.granted),
								   (4, 'expired', - credit.lost)) AS side (place, item, amount)
		WHERE credit.project = bill_as_owner.project AND credit.until = bill_as_owner.ends_at AND side.amount <> 0
		UNION ALL
		SELECT 5, 'charge', cost.project, cost.queue, cost.username, cost.application_id, NULL, NULL, NULL, - cost.amount
		FROM yquota_internal.booked_cost(period.starts_at, bill_as_owner.ends_at, '{project,queue,username,application_id}',
										 period.closed_at, of_projects => projects) AS cost
		WHERE cost.amount <> 0
		UNION ALL
		SELECT 6, 'correction', cost.project, cost.queue, cost.username, cost.application_id, earlier.until, NULL, NULL, - cost.amount
		FROM yquota_internal.period AS earlier
		CROSS JOIN LATERAL yquota_internal.booked_cost(
			earlier.starts_at, earlier.until, '{project,queue,username,application_id}',
			period.closed_at, period.closed_before, projects) AS cost
		WHERE earlier.until < bill_as_owner.ends_at AND cost.amount <> 0
	), page AS (
		SELECT entry.* FROM entry
		UNION ALL
		SELECT 7, 'closing balance', bill_as_owner.project, NULL, NULL, NULL, NULL, NULL, NULL, trim_scale(sum(entry.amount))
		FROM entry
	)
	SELECT row_number() OVER (ORDER BY page.place, page.corrected_period, page.subject COLLATE "C", page.queue COLLATE "C",
									   page.username COLLATE "C", page.application_id COLLATE "C", page.grant_id)::integer AS line,
		   page.item, page.subject, page.queue, page.username, page.application_id, page.corrected_period, page.reason, page.amount
	FROM page
	ORDER BY 1;
END;
$$;
COMMENT ON FUNCTION yquota_internal.bill_as_owner(text, timestamptz) IS
	'The result of bill() for the calling role';

CREATE FUNCTION yquota.bill(project text, ends_at timestamptz)
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, reason text, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill(text, timestamptz) IS
	'Return the bill of a project and its sub-projects for the closed period that ends at an instant.  A bill never changes.  It has the opening balance, the grants and what expired of them, charges, corrections of earlier bills, and the closing balance, which is the sum';

CREATE FUNCTION yquota_internal.bill_as_owner(project text, ends_at date)
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, reason text, amount numeric)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.bill_as_owner(project, yquota_internal.billing_day_start(ends_at, yquota_internal.billing_timezone()));
$$;
COMMENT ON FUNCTION yquota_internal.bill_as_owner(text, date) IS
	'The result of bill() for the calling role';

CREATE FUNCTION yquota.bill(project text, ends_at date)
	RETURNS TABLE (line integer, item text, subject text, queue text, username text, application_id text,
				   corrected_period timestamptz, reason text, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill(text, date) IS
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
	'The result of bill_by_calendar() for the calling role';

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
	'The result of bill_by_calendar() for the calling role';

CREATE FUNCTION yquota.bill_by_calendar(project text, ends_at date)
	RETURNS TABLE (subject text, calendars text, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.bill_by_calendar(text, date) IS
	'Return the charges on the bill of a project and its sub-projects by the calendars that were open.  The closed period ends where a date begins in the time zone of bills';
