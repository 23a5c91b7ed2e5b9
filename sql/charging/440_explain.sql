--
-- Explanation of the cost of a container.
--

CREATE FUNCTION yquota_internal.explain_charge_as_owner(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric, node text,
		execution_type yquota.execution_type, prices jsonb, factors_in_force jsonb,
		factor numeric, forgiven boolean, settled boolean, given_back numeric)
	-- keeps its plans, which take longer to make than to run
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH segment AS (
		SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type,
			   c.allocation, c."from", c."to", c.padding, true AS settled, c.given_back IS NOT NULL AS is_free, c.waiting_factor
		FROM yquota_internal.charge_in_effect AS c
		WHERE c.container_id = explain_charge_as_owner.container_id
		UNION ALL
		SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type,
			   c.allocation, c.settled_at, yquota.statement_clock(), NULL, false, false, c.waiting_factor
		FROM yquota.container AS c
		WHERE c.container_id = explain_charge_as_owner.container_id
		  AND c.settled_at < yquota.statement_clock()
	)
	SELECT price_interval.since, price_interval.until, segment.queue, segment.allocation,
		   price_interval.dominant, yquota.amount(segment.allocation, price_interval.dominant),
		   yquota_internal.multiplier_in_force(price_interval.dominant, price_interval.since), (price_interval.prices ->> price_interval.dominant)::numeric,
		   applying.names, price_interval.rate, segment.padding,
		   trim_scale(CASE WHEN segment.is_free THEN 0
			   WHEN segment.padding IS NULL THEN price_interval.amount
			   ELSE price_interval.rate * yquota_internal.microseconds(segment.padding) * 0.000001 END),
		   segment.node, segment.execution_type, price_interval.prices, price_interval.factors_in_force,
		   price_interval.factor, price_interval.forgiven, segment.settled,
		   CASE WHEN segment.is_free THEN trim_scale(price_interval.amount) END
	FROM segment
	CROSS JOIN LATERAL (
		SELECT yquota_internal.factor_names(segment.project, segment.application_id,
			segment.username, segment.queue, segment.execution_type, segment.waiting_factor) AS names
		OFFSET 0
	) AS applying
	CROSS JOIN LATERAL yquota_internal.price_intervals(segment.allocation, applying.names,
													   segment."from", segment."to") AS price_interval
	WHERE (SELECT yquota_internal.reads_all())
	   OR segment.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	ORDER BY price_interval.since, price_interval.until, segment.padding NULLS FIRST;
	IF NOT FOUND THEN
		PERFORM yquota_internal.refuse_archived_container(container_id);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.explain_charge_as_owner(text) IS
	'The result of explain_charge() for the calling role';
REVOKE ALL ON FUNCTION yquota_internal.explain_charge_as_owner(text) FROM PUBLIC;

CREATE FUNCTION yquota.explain_charge(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric, node text,
		execution_type yquota.execution_type, prices jsonb, factors_in_force jsonb,
		factor numeric, forgiven boolean, settled boolean, given_back numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.explain_charge(text) IS
	'The bill of one container: a row per interval of constant price and allocation, and one for padding; sums up to its cost in container_cost, to the last digit.  In an interval that is free because of a preemption given_back has its cost.  An error says where it is when it has been archived';
REVOKE ALL ON FUNCTION yquota.explain_charge(text) FROM PUBLIC;
