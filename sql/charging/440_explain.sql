--
-- Explanation of the cost of a container.
--

CREATE VIEW yquota_internal.explained_segment AS
	SELECT c.container_id, c.project, c.application_id, c.username, c.queue, c.node, c.execution_type,
		   c.allocation, c."from", c."to", c.padding, true AS settled, c.given_back IS NOT NULL AS is_free, c.waiting_factor
	FROM yquota_internal.charge_in_effect AS c
	UNION ALL
	SELECT c.container_id, c.project, c.application_id, c.username, c.queue, c.node, c.execution_type,
		   c.allocation, c.settled_at, yquota.statement_clock(), NULL, false, false, c.waiting_factor
	FROM yquota.container AS c
	WHERE c.settled_at < yquota.statement_clock();
COMMENT ON VIEW yquota_internal.explained_segment IS
	'Segments that explain_charge() explains: rows of the ledger, and accruals of running containers';

-- Reservations are left out.  They are archived in the same way but have no finish.
CREATE FUNCTION yquota_internal.archived_explained_segments(container_id text) RETURNS yquota_internal.explained_segment[]
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH archived AS MATERIALIZED (SELECT c.* FROM unnest(yquota_internal.archived_charges_of($1)) AS c)
		SELECT coalesce(array_agg(ROW(c.container_id, c.project, c.application_id, c.username, c.queue, c.node, c.execution_type,
									  c.allocation, c."from", c."to", c.padding, true, c.given_back IS NOT NULL, c.waiting_factor
								  )::yquota_internal.explained_segment), '{}')
		FROM archived AS c
		WHERE c.corrects IS NULL
		  AND NOT EXISTS (SELECT FROM archived AS taken_back WHERE taken_back.corrects = c.number)
		  AND EXISTS (SELECT FROM archived AS ended WHERE ended.settled_by = 'CONTAINER_FINISH')
	$$;
COMMENT ON FUNCTION yquota_internal.archived_explained_segments(text) IS
	'Return the segments of a container that is not in the books, read from the archives';

CREATE FUNCTION yquota_internal.explain_charge_as_owner(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric, node text,
		execution_type yquota.execution_type, prices jsonb, factors_in_force jsonb,
		factor numeric, forgiven boolean, settled boolean, given_back numeric,
		calendar text, calendar_factor numeric, charging_mode yquota.charging_mode, rates jsonb)
	-- PL/pgSQL keeps the plans; making them takes longer than running them
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	segments yquota_internal.explained_segment[] := ARRAY(
		SELECT s FROM yquota_internal.explained_segment AS s WHERE s.container_id = explain_charge_as_owner.container_id);
BEGIN
	IF segments = '{}' AND NOT yquota_internal.knows_container(explain_charge_as_owner.container_id) THEN
		segments := yquota_internal.archived_explained_segments(explain_charge_as_owner.container_id);
	END IF;
	RETURN QUERY
	SELECT price_interval.since, price_interval.until, segment.queue, segment.allocation,
		   price_interval.dominant, yquota.amount(segment.allocation, price_interval.dominant),
		   yquota_internal.multiplier_in_force(price_interval.dominant, price_interval.since), (price_interval.prices ->> price_interval.dominant)::numeric,
		   applying.names, price_interval.rate, segment.padding,
		   trim_scale(CASE WHEN segment.is_free THEN 0
			   WHEN segment.padding IS NULL THEN price_interval.amount
			   ELSE price_interval.rate * yquota_internal.microseconds(segment.padding) * 0.000001 END),
		   segment.node, segment.execution_type, price_interval.prices, price_interval.factors_in_force,
		   price_interval.factor, price_interval.forgiven, segment.settled,
		   CASE WHEN segment.is_free THEN trim_scale(price_interval.amount) END,
		   (calendar.point).calendar::text,
		   CASE WHEN price_interval.dominant IS NOT NULL THEN trim_scale(coalesce((calendar.point).factor, 1)) END,
		   price_interval.charging_mode, price_interval.rates
	FROM unnest(segments) AS segment
	CROSS JOIN LATERAL (
		SELECT yquota_internal.factor_names(segment.project, segment.application_id,
			segment.username, segment.queue, segment.node, segment."from", segment.execution_type, segment.waiting_factor) AS names
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
	ORDER BY price_interval.since, price_interval.until, segment.padding NULLS FIRST;
END
$$;
COMMENT ON FUNCTION yquota_internal.explain_charge_as_owner(text) IS
	'Return the result of explain_charge() for the calling role';

CREATE FUNCTION yquota.explain_charge(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric, node text,
		execution_type yquota.execution_type, prices jsonb, factors_in_force jsonb,
		factor numeric, forgiven boolean, settled boolean, given_back numeric,
		calendar text, calendar_factor numeric, charging_mode yquota.charging_mode, rates jsonb)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.explain_charge(text) IS
	'Return the bill of one container: a row per interval of constant price, charging mode and allocation, and one for padding.  The rows add up exactly to its cost in container_cost.  In an interval that is free because of a preemption, given_back is the cost that the interval would have had.  The bill of an archived container comes from the archive';
