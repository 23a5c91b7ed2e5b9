--
-- The bill of a reservation, and its verification.
--

CREATE FUNCTION yquota_internal.explain_reservation_as_owner(reservation_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, version integer, username text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, reserved_factor numeric, factors text[],
		rate numeric, amount numeric, prices jsonb, factors_in_force jsonb, factor numeric,
		forgiven boolean, settled boolean, calendar text, calendar_factor numeric,
		charging_mode yquota.charging_mode, rates jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH segment AS (
		SELECT c.version, c.project, c.username, c.queue, c.allocation, c.reserved_factor, c."from", c."to", true AS settled
		FROM yquota_internal.reservation_charge_in_effect AS c
		WHERE c.reservation_id = explain_reservation_as_owner.reservation_id
		UNION ALL
		SELECT term.version, term.project, term.username, term.queue, term.allocation, term.reserved_factor,
			   term."from", least(term."to", yquota.statement_clock()), false
		FROM yquota_internal.accruing_term AS term
		WHERE term.reservation_id = explain_reservation_as_owner.reservation_id
		  AND term."from" < yquota.statement_clock()
	)
	SELECT price_interval.since, price_interval.until, segment.version, segment.username, segment.allocation,
		   price_interval.dominant, yquota.amount(segment.allocation, price_interval.dominant),
		   yquota_internal.multiplier_in_force(price_interval.dominant, price_interval.since), (price_interval.prices ->> price_interval.dominant)::numeric,
		   segment.reserved_factor, nullif(applying.names[3:], '{}'), price_interval.rate, trim_scale(price_interval.amount),
		   price_interval.prices, price_interval.factors_in_force - 'waiting', price_interval.factor,
		   price_interval.forgiven, segment.settled, (calendar.point).calendar::text,
		   CASE WHEN price_interval.dominant IS NOT NULL THEN trim_scale(coalesce((calendar.point).factor, 1)) END,
		   price_interval.charging_mode, price_interval.rates
	FROM segment
	CROSS JOIN LATERAL (
		-- the first two names are "waiting" and the reserved_factor
		SELECT yquota_internal.factor_names(segment.project, NULL, segment.username, segment.queue, NULL, NULL, 'GUARANTEED', segment.reserved_factor) AS names
		OFFSET 0
	) AS applying
	CROSS JOIN LATERAL yquota_internal.price_intervals(segment.allocation, applying.names,
													   segment."from", segment."to") AS price_interval
	CROSS JOIN LATERAL (
		SELECT yquota_internal.calendar_in_force(price_interval.dominant, price_interval.since) AS point
		OFFSET 0
	) AS calendar
	WHERE (SELECT yquota_internal.reads_all())
	   OR segment.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	ORDER BY price_interval.since, price_interval.until;
	IF NOT FOUND THEN
		PERFORM yquota_internal.refuse_archived_reservation(reservation_id);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.explain_reservation_as_owner(text) IS
	'Return the result of explain_reservation() for the calling role';

CREATE FUNCTION yquota.explain_reservation(reservation_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, version integer, username text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, reserved_factor numeric, factors text[],
		rate numeric, amount numeric, prices jsonb, factors_in_force jsonb, factor numeric,
		forgiven boolean, settled boolean, calendar text, calendar_factor numeric,
		charging_mode yquota.charging_mode, rates jsonb)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.explain_reservation(text) IS
	'Return the bill of a reservation: a row per interval of constant price, charging mode and allocation.  Intervals end at the clock, and intervals without a promise are left out.  The rows add up exactly to its cost.  A free reservation has no rows.  For an archived reservation, an error names the archive';

-- Verification divides the promised allocations into intervals and computes their amounts from the timelines.
CREATE FUNCTION yquota_internal.verify_reservations(since timestamptz)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH version AS MATERIALIZED (
		SELECT d.*, accruing.settled_until, coalesce(accruing.settled_until, 'infinity') AS posted_until
		FROM yquota.reservation_definition AS d
		LEFT JOIN yquota_internal.accruing_reservation AS accruing USING (reservation_id, version)
	), promised AS (
		SELECT v.reservation_id, v.version, v.project, v.username, v.queue, a.allocation, v.reserved_factor, v.posted_until,
			   greatest(v.accepted_at, a."from" + n.by) AS "from", least(v.ended_at, a."to" + n.by) AS "to"
		FROM version AS v
		JOIN yquota.reservation_allocation AS a USING (reservation_id, version)
		CROSS JOIN LATERAL (
			SELECT coalesce(number * yquota_internal.microseconds(v.recurrence), 0) * interval '1 microsecond' AS by
			FROM generate_series(0, CASE WHEN v.repeats_allocation THEN
				floor(extract(epoch FROM coalesce(v.ended_at, v.settled_until, yquota.statement_clock()) - a."from")
					  / extract(epoch FROM v.recurrence))::bigint ELSE 0 END) AS number
		) AS n
		WHERE v.reserved_factor > 0
	), due AS MATERIALIZED (
		SELECT p.reservation_id, p.version, p.project, p.username, p.queue, p.allocation, p.reserved_factor,
			   greatest(p."from", cut.starts_at) AS "from", least(p."to", cut.ends_at) AS "to"
		FROM promised AS p
		JOIN (SELECT lag(c.at, 1, '-infinity') OVER (ORDER BY c.at) AS starts_at, c.at AS ends_at
			  FROM (SELECT period.until AS at FROM yquota.closed_period AS period UNION ALL SELECT 'infinity') AS c) AS cut
			ON cut.starts_at < p."to" AND cut.ends_at > p."from"
		WHERE p."from" < p."to" AND greatest(p."from", cut.starts_at) < p.posted_until
	), posted AS MATERIALIZED (
		SELECT c.* FROM yquota_internal.reservation_charge_in_effect AS c
	), compared AS MATERIALIZED (
		SELECT reservation_id, version, "from",
			   due."to" IS NOT NULL AS is_due, posted."to" IS NOT NULL AS is_posted,
			   ROW(due.project, due.username, due.queue, due.allocation, due.reserved_factor, due."to") AS due_content,
			   ROW(posted.project, posted.username, posted.queue, posted.allocation, posted.reserved_factor, posted."to") AS posted_content,
			   coalesce(posted.project, due.project) AS project, coalesce(posted.username, due.username) AS username,
			   coalesce(posted.queue, due.queue) AS queue, coalesce(posted.allocation, due.allocation) AS allocation,
			   coalesce(posted.reserved_factor, due.reserved_factor) AS reserved_factor, coalesce(posted."to", due."to") AS "to",
			   posted.amount
		FROM due
		FULL JOIN posted USING (reservation_id, version, "from")
	)
	SELECT 'charge of a reservation differs from its promise', format('%s version %s from %s', c.reservation_id, c.version, c."from"),
		   CASE WHEN c.is_due THEN c.due_content::text END, CASE WHEN c.is_posted THEN c.posted_content::text END
	FROM compared AS c
	WHERE c.due_content::text <> c.posted_content::text
	  AND (c.is_due OR EXISTS (SELECT FROM yquota.reservation_definition AS v WHERE v.reservation_id = c.reservation_id AND v.version = c.version))
	UNION ALL
	SELECT 'charge of a reservation differs from the timelines', format('%s version %s from %s', c.reservation_id, c.version, c."from"),
		   due.amount::text, trim_scale(c.amount)::text
	FROM compared AS c
	CROSS JOIN LATERAL (SELECT yquota_internal.reservation_amount(c.project, c.username, c.queue, c.allocation, c.reserved_factor, c."from", c."to") AS amount
						OFFSET 0) AS due
	WHERE c.is_posted AND (verify_reservations.since IS NULL OR c."to" >= verify_reservations.since) AND due.amount <> c.amount
	UNION ALL
	SELECT 'reversal in the ledger of reservations differs from its charge', format('%s number %s', c.reservation_id, c.number),
		   trim_scale(-other.amount)::text, trim_scale(c.amount)::text
	FROM yquota.reservation_charge AS c
	LEFT JOIN yquota.reservation_charge AS other ON other.reservation_id = c.reservation_id AND other.number = c.corrects
	WHERE c.corrects IS NOT NULL
	  AND (other.amount, other."from", other."to") IS DISTINCT FROM (-c.amount, c."from", c."to")
	UNION ALL
	SELECT 'reservation pays a share other than that of its rule', format('%s version %s', v.reservation_id, v.version),
		   rule.part::text, v.reserved_factor::text
	FROM version AS v
	CROSS JOIN LATERAL (
		SELECT coalesce(
			(SELECT earlier.reserved_factor FROM yquota.reservation_definition AS earlier
			 WHERE earlier.reservation_id = v.reservation_id AND earlier.version < v.version ORDER BY earlier.version DESC LIMIT 1),
			CASE WHEN v.version > 1 THEN v.reserved_factor
				 ELSE (SELECT r.reserved_factor FROM yquota.charging_rule AS r
					   WHERE r.project = '' AND r.effective_at <= v.accepted_at ORDER BY r.effective_at DESC LIMIT 1) END, 0) AS part
	) AS rule
	WHERE rule.part <> v.reserved_factor
	UNION ALL
	SELECT 'hold of a reservation has outlived it', hold.reservation_id, NULL, format('hold %s', hold.hold_id)
	FROM yquota.hold
	WHERE hold.reservation_id IS NOT NULL AND hold.released_at IS NULL
	  AND NOT EXISTS (SELECT FROM version AS v WHERE v.reservation_id = hold.reservation_id AND v.ended_at IS NULL)
	UNION ALL
	SELECT 'reservation that costs nothing accrues', v.reservation_id, NULL, v.settled_until::text
	FROM version AS v
	WHERE v.settled_until IS NOT NULL AND v.reserved_factor = 0;
	END;
COMMENT ON FUNCTION yquota_internal.verify_reservations(timestamptz) IS
	'Return differences between the ledger of reservations, their promises, their rules and the timelines.  Amounts are checked from an instant on';
