--
-- The bills of a period as a journal, which the site's own bookkeeping imports.  A project has a row for its usage and
-- a row for its credit, both without its sub-projects.  The last rows balance the others.
--

CREATE FUNCTION yquota_internal.billing_journal_as_owner(ends_at timestamptz)
	RETURNS TABLE (line integer, booking_date date, bill text, project text, cost_centre text, account text,
				   debit numeric, credit numeric, currency text)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	last_day CONSTANT date := yquota_internal.billing_day(billing_journal_as_owner.ends_at - interval '1 microsecond', yquota_internal.billing_timezone());
BEGIN
	IF billing_journal_as_owner.ends_at IS NULL THEN
		RAISE EXCEPTION 'period of a journal must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM FROM yquota_internal.billed_period(billing_journal_as_owner.ends_at);
	RETURN QUERY
	WITH part AS (
		SELECT issued.number, issued.project, issued.cost_centre, issued.currency,
			   CASE WHEN bill.item IN ('grant', 'transfer', 'expired') THEN 'credit' ELSE 'usage' END AS account, sum(bill.rounded) AS amount
		FROM (SELECT b.* FROM yquota.issued_bill AS b
			  WHERE b.ends_at = billing_journal_as_owner.ends_at AND EXISTS (SELECT FROM yquota.project WHERE project.name = b.project)
				AND (yquota_internal.reads_all() OR b.project = ANY (yquota_internal.readable_projects()))
			  -- a project that has been deleted has no bill any more
			  OFFSET 0) AS issued
		CROSS JOIN LATERAL yquota_internal.bill_as_owner(issued.project, issued.ends_at, 'queue') AS bill
		WHERE bill.subject = issued.project
		  -- a conversion of the opening balance corrects no earlier bill
		  AND (bill.item NOT IN ('opening balance', 'conversion', 'closing balance') OR bill.item = 'conversion' AND bill.corrected_period IS NOT NULL)
		  AND bill.currency IS NOT DISTINCT FROM issued.currency
		GROUP BY issued.number, issued.project, issued.cost_centre, issued.currency, 5
		HAVING sum(bill.rounded) <> 0
	), entry AS (
		SELECT part.number, part.project, part.cost_centre, part.account, part.currency, part.amount FROM part
		UNION ALL
		SELECT NULL, NULL, NULL, part.account, part.currency, - sum(part.amount) FROM part GROUP BY part.account, part.currency
	)
	SELECT row_number() OVER (ORDER BY entry.project IS NULL, entry.project COLLATE "C", entry.account COLLATE "C" DESC)::integer,
		   last_day, entry.number, entry.project, entry.cost_centre, entry.account,
		   CASE WHEN entry.amount < 0 THEN - entry.amount END, CASE WHEN entry.amount >= 0 THEN entry.amount END, entry.currency
	FROM entry
	ORDER BY 1;
END
$$;
COMMENT ON FUNCTION yquota_internal.billing_journal_as_owner(timestamptz) IS
	'The result of billing_journal() for the calling role';

CREATE FUNCTION yquota.billing_journal(ends_at timestamptz)
	RETURNS TABLE (line integer, booking_date date, bill text, project text, cost_centre text, account text,
				   debit numeric, credit numeric, currency text)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.billing_journal(timestamptz) IS
	'Return the bills of the closed period that ends at an instant as a journal for other bookkeeping.  Each project has a row of its usage and a row of its credit, with its cost centre.  Amounts are rounded as on the bills, and debit and credit balance';

CREATE FUNCTION yquota_internal.billing_journal_as_owner(ends_at date)
	RETURNS TABLE (line integer, booking_date date, bill text, project text, cost_centre text, account text,
				   debit numeric, credit numeric, currency text)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.billing_journal_as_owner(yquota_internal.billing_day_start(ends_at, yquota_internal.billing_timezone()));
$$;
COMMENT ON FUNCTION yquota_internal.billing_journal_as_owner(date) IS
	'The result of billing_journal() for the calling role';

CREATE FUNCTION yquota.billing_journal(ends_at date)
	RETURNS TABLE (line integer, booking_date date, bill text, project text, cost_centre text, account text,
				   debit numeric, credit numeric, currency text)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.billing_journal(date) IS
	'Return the bills of the closed period that ends where a date begins in the time zone of bills as a journal for other bookkeeping';
