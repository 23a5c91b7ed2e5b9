--
-- Charges for bills: rows of the ledger, split into a part for each resource type that was charged.
--

CREATE TYPE yquota_internal.paid_resource AS (
	resource_type text,
	resource_seconds numeric,
	amount numeric
);
COMMENT ON TYPE yquota_internal.paid_resource IS
	'Part of ledger rows that one resource type pays for';
COMMENT ON COLUMN yquota_internal.paid_resource.resource_type IS 'NULL for a part of the booked amounts that the timelines do not explain';
COMMENT ON COLUMN yquota_internal.paid_resource.resource_seconds IS 'native units times seconds';
COMMENT ON COLUMN yquota_internal.paid_resource.amount IS 'credits';

CREATE FUNCTION yquota_internal.add_paid_resources(
	state internal, allocation yquota.resource, factors text[], "from" timestamptz, "to" timestamptz,
	padding interval, amount numeric, sign integer) RETURNS internal
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_add_paid_resources';
COMMENT ON FUNCTION yquota_internal.add_paid_resources(internal, yquota.resource, text[], timestamptz, timestamptz, interval, numeric, integer) IS
	'Transition function of paid_resources()';

CREATE FUNCTION yquota_internal.finish_paid_resources(state internal) RETURNS yquota_internal.paid_resource[]
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_finish_paid_resources';
COMMENT ON FUNCTION yquota_internal.finish_paid_resources(internal) IS 'Final function of paid_resources()';

CREATE AGGREGATE yquota_internal.paid_resources(
	allocation yquota.resource, factors text[], "from" timestamptz, "to" timestamptz,
	padding interval, amount numeric, sign integer) (
	sfunc = yquota_internal.add_paid_resources,
	stype = internal,
	sspace = 512,
	finalfunc = yquota_internal.finish_paid_resources,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.paid_resources(yquota.resource, text[], timestamptz, timestamptz, interval, numeric, integer) IS
	'Sums of ledger rows by the resource type that was charged, according to the present timelines.  The parts add up to the booked amounts.  The sign is -1 for a row that reverses another row, and 0 for a free row';

-- The function lists the columns of a ledger row for the aggregate.
CREATE FUNCTION yquota_internal.paid_resources_call() RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN $query$
		yquota_internal.paid_resources(entering.allocation,
			yquota_internal.factor_names(entering.project, entering.application_id,
				entering.username, entering.queue, entering.node, entering."from", entering.execution_type, entering.waiting_factor),
			entering."from", entering."to", entering.padding, entering.amount,
			CASE WHEN entering.given_back IS NOT NULL THEN 0 WHEN entering.corrects IS NULL THEN 1 ELSE -1 END)
		$query$;
COMMENT ON FUNCTION yquota_internal.paid_resources_call() IS
	'Return the SQL that adds up the ledger rows "entering" by the resource types that were charged';

CREATE FUNCTION yquota_internal.post_archived_quantity(through integer, rows_query text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	-- without statistics the planner expects many groups, although there are few
	SET enable_sort = off
	AS $$
BEGIN
	EXECUTE format($query$
		WITH entering AS (
			SELECT * FROM (%s) AS leaving WHERE leaving.period_from < 'infinity'
		)
		INSERT INTO yquota_internal.archived_quantity (archived_through, period_from, booked_after,
			project, queue, username, application_id, resource_type, resource_seconds, amount)
		SELECT $1, spent.period_from, spent.booked_after, spent.project, spent.queue, spent.username, spent.application_id,
			   part.resource_type, trim_scale(part.resource_seconds), trim_scale(part.amount)
		FROM (SELECT entering.period_from, entering.booked_after, entering.project, entering.queue, entering.username, entering.application_id,
					 %s AS parts
			  FROM entering
			  GROUP BY 1, 2, 3, 4, 5, 6) AS spent
		CROSS JOIN LATERAL unnest(spent.parts) AS part
		$query$, yquota_internal.billed_rows_query(rows_query), yquota_internal.paid_resources_call())
	USING through;
END
$$;
COMMENT ON FUNCTION yquota_internal.post_archived_quantity(integer, text) IS
	'Store the quantities that the ledger rows of a query paid for, per billing period';

-- Different rows may have equal keys.  Charges are then compared with the bills although they have not changed.
CREATE FUNCTION yquota_internal.bill_key(project text, application_id text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN coalesce(project || '/' || application_id, project);
COMMENT ON FUNCTION yquota_internal.bill_key(text, text) IS
	'Return the key by which changed charges of a project and an application are found';

CREATE FUNCTION yquota_internal.paid_in_period(starts_at timestamptz, ends_at timestamptz, keys text[])
	RETURNS TABLE (project text, queue text, username text, application_id text, resource_type text, resource_seconds numeric, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY EXECUTE format($query$
		WITH wanted AS MATERIALIZED (SELECT unnest($3) AS key), entering AS NOT MATERIALIZED (
			SELECT entry.* FROM yquota_internal.ledger_row AS entry
			WHERE entry."from" >= $1 AND entry."from" < $2 AND entry."to" <= $2
			  AND ($3 IS NULL OR yquota_internal.bill_key(entry.project, entry.application_id) IN (SELECT wanted.key FROM wanted))
		)
		SELECT spent.project, spent.queue, spent.username, spent.application_id, part.resource_type, part.resource_seconds, part.amount
		FROM (SELECT entering.project, entering.queue, entering.username, entering.application_id, %s AS parts
			  FROM entering
			  GROUP BY 1, 2, 3, 4) AS spent
		CROSS JOIN LATERAL unnest(spent.parts) AS part
		UNION ALL
		SELECT archived.project, archived.queue, archived.username, archived.application_id, archived.resource_type,
			   archived.resource_seconds, archived.amount
		FROM yquota_internal.archived_quantity AS archived
		WHERE archived.period_from >= $1 AND archived.period_from < $2
		  AND ($3 IS NULL OR yquota_internal.bill_key(archived.project, archived.application_id) IN (SELECT wanted.key FROM wanted))
		$query$, yquota_internal.paid_resources_call())
	USING starts_at, ends_at, keys;
END
$$;
COMMENT ON FUNCTION yquota_internal.paid_in_period(timestamptz, timestamptz, text[]) IS
	'Return the resources that were paid for in a period, according to the present books.  Only rows with one of the given keys count (NULL: all)';

CREATE FUNCTION yquota_internal.changed_groups(period_end timestamptz, since xid8)
	RETURNS TABLE (starts_at timestamptz, ends_at timestamptz, keys text[])
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT period.starts_at, period.until, array_agg(DISTINCT yquota_internal.bill_key(changed.project, changed.application_id))
		FROM (SELECT coalesce(max(last.until), '-infinity') AS until, coalesce(max(last.closed_at), '-infinity') AS closed_at
			  FROM yquota.closed_period AS last WHERE last.until < period_end) AS last_bill
		CROSS JOIN LATERAL (
			SELECT entry.project, entry.application_id, entry."from"
			FROM yquota_internal.ledger_row AS entry
			WHERE entry."from" < last_bill.until AND entry.booked_at > last_bill.closed_at
			  AND (since IS NULL OR age(entry.posted_by) <= age(since::xid))
			UNION ALL
			SELECT entry.project, entry.application_id, entry."from"
			FROM yquota_internal.ledger_row AS entry
			WHERE entry."from" >= last_bill.until AND entry."from" < period_end AND age(entry.posted_by) <= age(since::xid)
			UNION ALL
			SELECT archived.project, archived.application_id, archived.period_from
			FROM yquota_internal.archived_quantity AS archived
			WHERE archived.period_from < last_bill.until AND archived.booked_after >= last_bill.closed_at AND since IS NULL) AS changed
		JOIN yquota_internal.period AS period ON changed."from" >= period.starts_at AND changed."from" < period.until
		GROUP BY period.starts_at, period.until;
$$;
COMMENT ON FUNCTION yquota_internal.changed_groups(timestamptz, xid8) IS
	'Return the earlier periods for which rows were booked since the previous bills, with the keys of these rows.  If a transaction is given, only rows of this and later transactions count, including rows of the period that ends';

-- The charges of a period on all bills add up to its charges in the ledger.
CREATE FUNCTION yquota_internal.bill_changes(
	period_end timestamptz, charged_from timestamptz, charged_until timestamptz, keys text[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota_internal.billed_charge (until, charged_until, project, queue, username, application_id, resource_type, resource_seconds, amount)
		SELECT period_end, bill_changes.charged_until, change.project, change.queue, change.username, change.application_id, change.resource_type,
			   trim_scale(sum(change.resource_seconds)), trim_scale(sum(change.amount))
		FROM (SELECT paid.* FROM yquota_internal.paid_in_period(charged_from, bill_changes.charged_until, keys) AS paid
			  UNION ALL
			  SELECT billed.project, billed.queue, billed.username, billed.application_id, billed.resource_type, - billed.resource_seconds, - billed.amount
			  FROM yquota_internal.billed_charge AS billed
			  WHERE billed.charged_until = bill_changes.charged_until
				AND (keys IS NULL OR yquota_internal.bill_key(billed.project, billed.application_id) IN (SELECT unnest(keys)))) AS change
		GROUP BY change.project, change.queue, change.username, change.application_id, change.resource_type
		HAVING sum(change.resource_seconds) <> 0 OR sum(change.amount) <> 0;
$$;
COMMENT ON FUNCTION yquota_internal.bill_changes(timestamptz, timestamptz, timestamptz, text[]) IS
	'Compare the charges of the given keys (NULL: all) in a period with the bills, and record the differences for a bill';

CREATE FUNCTION yquota_internal.bill_charges(period_end timestamptz) RETURNS xid8
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	since CONSTANT xid8 := pg_snapshot_xmin(pg_current_snapshot());
BEGIN
	PERFORM yquota_internal.bill_changes(period_end, period.starts_at, period_end, NULL)
	FROM yquota_internal.period AS period WHERE period.until = period_end;
	PERFORM yquota_internal.bill_changes(period_end, changed.starts_at, changed.ends_at, changed.keys)
	FROM yquota_internal.changed_groups(period_end, NULL) AS changed;
	RETURN since;
END
$$;
COMMENT ON FUNCTION yquota_internal.bill_charges(timestamptz) IS
	'Record the charges of a period for its bills, and the changes of the charges of earlier periods since the previous bills.  Returns a transaction: the rows of all earlier transactions are included';

CREATE FUNCTION yquota_internal.bill_later_charges(period_end timestamptz, since xid8) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.bill_changes(period_end, changed.starts_at, changed.ends_at, changed.keys)
	FROM yquota_internal.changed_groups(period_end, since) AS changed;
END
$$;
COMMENT ON FUNCTION yquota_internal.bill_later_charges(timestamptz, xid8) IS
	'Record for the bills of a period the charges that were posted since bill_charges(), which returned the transaction';

CREATE FUNCTION yquota_internal.verify_billed_charges()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET enable_nestloop = on
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT 'charges on bills differ from the ledger', format('%s in the period until %s', compared.project, compared.until),
			   trim_scale(compared.booked)::text, trim_scale(compared.billed)::text
		FROM (SELECT period.until, side.project, sum(side.booked) AS booked, sum(side.billed) AS billed
			  FROM yquota_internal.period AS period
			  CROSS JOIN (SELECT max(last.closed_at) AS closed_at FROM yquota.closed_period AS last) AS last_bill
			  CROSS JOIN LATERAL (
				SELECT amounts.project, amounts.amount AS booked, 0 AS billed
				FROM yquota_internal.period_amounts(period.starts_at, period.until, last_bill.closed_at) AS amounts
				UNION ALL
				SELECT charged.project, 0, charged.amount
				FROM yquota_internal.billed_charge AS charged
				WHERE charged.charged_until = period.until) AS side
			  WHERE period.closed_at IS NOT NULL
			  GROUP BY period.until, side.project) AS compared
		WHERE compared.booked <> compared.billed;
$$;
COMMENT ON FUNCTION yquota_internal.verify_billed_charges() IS
	'Return differences between the charges on all issued bills and the ledger';
