--
-- The bills of a period as a journal, which the site's accounting system imports.  A project has a row for its usage
-- and a row for its credit, both without its sub-projects.  The last rows balance the others.
--
-- On a bill, the rounded lines of a project add up to the difference of its rounded balances.  The journal computes
-- this difference for all projects at once.  In this difference, the lines about grants are the project's credit, and
-- the other lines are its usage.
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
	WITH bill AS (
		SELECT issued FROM yquota.issued_bill AS issued
		WHERE issued.ends_at = billing_journal_as_owner.ends_at
		  AND (yquota_internal.reads_all() OR issued.project = ANY (yquota_internal.readable_projects()))
	), change AS (
		SELECT credit.project, credit.until, credit.granted, - credit.lost AS lost, 0 AS used
		FROM yquota_internal.billed_credit AS credit
		WHERE credit.until <= billing_journal_as_owner.ends_at
		UNION ALL
		SELECT charged.project, charged.until, 0, 0, sum(charged.amount)
		FROM yquota_internal.billed_charge AS charged
		WHERE charged.until <= billing_journal_as_owner.ends_at
		GROUP BY charged.project, charged.until
	), own AS (
		SELECT (bill.issued).project, bill.issued,
			   yquota_internal.round_for_bill(sum(change.granted + change.lost - change.used), bill.issued)
			   - yquota_internal.round_for_bill(coalesce(sum(change.granted + change.lost - change.used) FILTER (WHERE change.until < (bill.issued).ends_at), 0), bill.issued) AS total,
			   coalesce(sum(yquota_internal.round_for_bill(change.granted, bill.issued) + yquota_internal.round_for_bill(change.lost, bill.issued))
						FILTER (WHERE change.until = (bill.issued).ends_at), 0) AS credit
		FROM bill JOIN change ON change.project = (bill.issued).project
		GROUP BY bill.issued
	), part AS (
		SELECT (own.issued).number, own.project, (own.issued).cost_centre, (own.issued).currency, side.account, side.amount
		FROM own CROSS JOIN LATERAL (VALUES ('credit', own.credit), ('usage', own.total - own.credit)) AS side (account, amount)
		WHERE side.amount <> 0
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
	'Return the result of billing_journal() for the calling role';

CREATE FUNCTION yquota.billing_journal(ends_at timestamptz)
	RETURNS TABLE (line integer, booking_date date, bill text, project text, cost_centre text, account text,
				   debit numeric, credit numeric, currency text)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.billing_journal(timestamptz) IS
	'Return the bills of the closed period that ends at an instant as a journal for accounting systems.  Each project has a row of its usage and a row of its credit, with its cost centre.  Amounts are rounded as on the bills, and debit and credit balance';

CREATE FUNCTION yquota_internal.billing_journal_as_owner(ends_at date)
	RETURNS TABLE (line integer, booking_date date, bill text, project text, cost_centre text, account text,
				   debit numeric, credit numeric, currency text)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.billing_journal_as_owner(yquota_internal.billing_day_start(ends_at, yquota_internal.billing_timezone()));
$$;
COMMENT ON FUNCTION yquota_internal.billing_journal_as_owner(date) IS
	'Return the result of billing_journal() for the calling role';

CREATE FUNCTION yquota.billing_journal(ends_at date)
	RETURNS TABLE (line integer, booking_date date, bill text, project text, cost_centre text, account text,
				   debit numeric, credit numeric, currency text)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.billing_journal(date) IS
	'Return the bills of the closed period that ends where a date begins in the time zone of bills as a journal for accounting systems';
