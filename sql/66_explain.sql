--
-- Why a container cost what it did.
--

CREATE FUNCTION yquota_internal.explain_charge_as_owner(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
	WITH segment AS (
		SELECT row_number() OVER () AS id, part.*
		FROM (
			SELECT c.project, c.application_id, c.username, c.queue, c.execution_type,
				   c.allocation, c."from", c."to", c.padding
			FROM yquota_internal.charge_in_effect AS c
			WHERE c.container_id = explain_charge_as_owner.container_id
			UNION ALL
			SELECT c.project, c.application_id, c.username, c.queue, c.execution_type,
				   c.allocation, c.settled_at, yquota.statement_clock(), NULL
			FROM yquota.container AS c
			WHERE c.container_id = explain_charge_as_owner.container_id
			  AND c.settled_at < yquota.statement_clock()
		) AS part
		WHERE (SELECT yquota_internal.reads_all())
		   OR part.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	), point AS (
		-- every instant at which the price of what the container held could change
		SELECT p.effective_at AS at
		FROM yquota.price AS p
		WHERE p.price_group IN (SELECT t.price_group FROM yquota.resource_type AS t, segment
								WHERE yquota.amount(segment.allocation, t.name) <> 0)
		UNION
		SELECT b.effective_at FROM yquota.base_price AS b
		WHERE EXISTS (SELECT FROM segment WHERE yquota.amount(segment.allocation, b.resource_type) <> 0)
		UNION
		SELECT f.effective_at FROM yquota.price_factor AS f
		WHERE (f.dimension::text, f.name) IN (
			SELECT names[i], names[i + 1]
			FROM segment
			CROSS JOIN LATERAL yquota_internal.factor_names(segment.project, segment.application_id,
				segment.username, segment.queue, segment.execution_type) AS names
			CROSS JOIN LATERAL generate_series(1, cardinality(names), 2) AS i)
		UNION
		SELECT e.at FROM yquota.outage AS o, unnest(ARRAY[o.started_at, o.ended_at]) AS e(at)
		WHERE o.forgiven
		  AND (o.project IS NULL OR o.project IN (SELECT segment.project FROM segment))
	), stretch AS (
		SELECT segment.*, cut.at AS since,
			   lead(cut.at, 1, segment."to") OVER (PARTITION BY segment.id ORDER BY cut.at) AS until
		FROM segment
		CROSS JOIN LATERAL (
			SELECT segment."from" AS at
			UNION
			SELECT point.at FROM point WHERE point.at > segment."from" AND point.at < segment."to"
		) AS cut
	)
	SELECT stretch.since, stretch.until, stretch.queue, stretch.allocation,
		   due.dominant, yquota.amount(stretch.allocation, due.dominant),
		   trim_scale(now.multiplier),
		   trim_scale(yquota_internal.divide_half_even(now.multiplier * base.base_price, base.unit, 18)),
		   factor.names, due.rate, stretch.padding,
		   trim_scale(CASE WHEN stretch.padding IS NULL
			   THEN yquota_internal.accrued(stretch.allocation, factor.names, stretch.since, stretch.until)
			   ELSE due.rate * yquota_internal.microseconds(stretch.padding) * 0.000001 END)
	FROM stretch
	CROSS JOIN LATERAL (
		SELECT yquota_internal.factor_names(stretch.project, stretch.application_id,
			stretch.username, stretch.queue, stretch.execution_type) AS names
	) AS factor
	CROSS JOIN LATERAL (
		SELECT yquota_internal.rate(stretch.allocation, factor.names, stretch.since) AS rate,
			   -- nothing changes within a microsecond
			   yquota_internal.dominant(stretch.allocation, factor.names, stretch.since,
										stretch.since + interval '1 microsecond') AS dominant
	) AS due
	LEFT JOIN LATERAL (
		SELECT p.multiplier
		FROM yquota.resource_type AS t
		JOIN yquota.price AS p ON p.price_group = t.price_group
		WHERE t.name = due.dominant AND p.effective_at <= stretch.since
		ORDER BY p.effective_at DESC
		LIMIT 1
	) AS now ON true
	LEFT JOIN LATERAL yquota_internal.base_price_at(due.dominant, stretch.since) AS base ON true
	ORDER BY stretch.since, stretch.until, stretch.padding NULLS FIRST
	$$;
COMMENT ON FUNCTION yquota_internal.explain_charge_as_owner(text) IS
	'What explain_charge() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.explain_charge_as_owner(text) FROM PUBLIC;

CREATE FUNCTION yquota.explain_charge(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.explain_charge(text) IS
	'The bill of one container: a row per stretch of constant price and allocation, and one for padding; sums up to its cost in container_cost, to the last digit';
REVOKE ALL ON FUNCTION yquota.explain_charge(text) FROM PUBLIC;
