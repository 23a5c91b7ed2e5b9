-- Idle cost: the value of capacity that no container held (semantics/charging 9).
--
-- Capacity is valued at the list price: the price of a resource type at each instant, times the factor of the node
-- label.  No other factor, no outage and no wait lowers the list price.  The code that computes charges also integrates
-- the list price, under terms without outages and other factors (cost_under_terms()).
--
-- Allocations are valued in the same way.  A part of the value is carried along: by the charging mode, another
-- resource of the container pays at that time.  The rest is charged or free.  "charged" comes from the terms in force,
-- and "free" is the difference.  The unsold value is capacity less allocations.  It is negative where containers held
-- more than RUNNING nodes offered.

-- A segment is divided where its node changes the label.  Rows that reverse other rows have the sign -1.
CREATE VIEW yquota_internal.held_segment AS
	SELECT segment.project, segment.application_id, segment.username, segment.queue, segment.execution_type,
		   segment.allocation, segment.factors, segment.sign, segment.waits, segment.pays,
		   segment."from" AS segment_from, segment."to" AS segment_to,
		   coalesce(span.label, '') AS label, greatest(segment."from", span."from") AS "from", least(segment."to", span."to") AS "to"
	FROM (
		SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type, c.allocation,
			   yquota_internal.factor_names(c.project, c.application_id, c.username, c.queue, c.node, c."from",
											c.execution_type, c.waiting_factor) AS factors,
			   CASE WHEN c.corrects IS NULL THEN 1 ELSE -1 END AS sign,
			   c.waiting_factor IS NOT NULL AS waits, c.given_back IS NULL AS pays, c."from", c."to"
		FROM yquota.charge AS c
		WHERE c."from" < c."to"
		UNION ALL
		SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type, c.allocation, c.factors,
			   1, c.waiting_factor IS NOT NULL, true, c.settled_at, yquota.statement_clock()
		FROM yquota.container AS c
		WHERE c.settled_at < yquota.statement_clock()
	) AS segment
	LEFT JOIN yquota_internal.label_span AS span
		ON span.node = segment.node AND span."from" < segment."to" AND span."to" > segment."from";
COMMENT ON VIEW yquota_internal.held_segment IS
	'Allocations of containers, settled or running, under a label of their node.  pays is false in time that is free because of a preemption';

-- The results of the query are texts, because rows of a query in cost_under_terms() have one text and one number.
CREATE FUNCTION yquota_internal.list_values("from" timestamptz, "to" timestamptz)
	RETURNS TABLE (label text, resource_type text, project text, capacity numeric, allocated numeric, paying numeric, waiting numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT listed.*
		FROM yquota_internal.cost_under_terms(
			$query$
				SELECT to_jsonb(v)::text, NULL::numeric
				FROM (
					SELECT s.label, entry.name AS resource_type, NULL AS project,
						   sum(yquota_internal.accrued(jsonb_build_object(entry.name, entry.amount)::yquota.resource,
							   yquota_internal.factor_names('', NULL, NULL, NULL, NULL, NULL, NULL, NULL, s.label),
							   s."from", s."to")) AS capacity, 0 AS allocated, 0 AS paying, 0 AS waiting
					FROM (SELECT c.label, greatest(c."from", $1) AS "from", least(c."to", $2) AS "to", yquota.sum(c.total) AS total
						  FROM yquota_internal.capacity_segment AS c
						  WHERE c."from" < $2 AND c."to" > $1
						  GROUP BY 1, 2, 3) AS s
					CROSS JOIN LATERAL yquota.resource_entries(s.total) AS entry
					JOIN yquota.resource_type AS type ON type.name = entry.name
					GROUP BY s.label, entry.name
					UNION ALL
					SELECT held.label, part.resource_type, held.project, 0, part.alone, part.amount, part.waiting
					FROM (SELECT s.label, s.project,
								 yquota_internal.part_costs(s.allocation,
									yquota_internal.factor_names(s.project, s.application_id, s.username, s.queue, NULL, NULL,
																 s.execution_type, NULL, s.label),
									greatest(s."from", $1), least(s."to", $2), s.sign, s.waits) AS parts
						  FROM yquota_internal.held_segment AS s
						  WHERE s.segment_from < $2 AND s.segment_to > $1 AND s."from" < $2 AND s."to" > $1
						  GROUP BY s.label, s.project) AS held
					CROSS JOIN LATERAL unnest(held.parts) AS part
				) AS v
			$query$,
			NULL, NULL, NULL,
			ARRAY(SELECT f FROM yquota.price_factor AS f WHERE f.dimension = 'label'),
			"from", "to", NULL, NULL, without_outages => true) AS found
		CROSS JOIN LATERAL jsonb_to_record(found.project::jsonb) AS listed (
			label text, resource_type text, project text, capacity numeric, allocated numeric, paying numeric, waiting numeric);
$$;
COMMENT ON FUNCTION yquota_internal.list_values(timestamptz, timestamptz) IS
	'Return values at the list price in a window: of the capacity (with project NULL), and of the allocations of each project.  "paying" is the part of the allocations that pays by the charging mode, and "waiting" the part of containers that waited';

CREATE FUNCTION yquota_internal.charged_parts("from" timestamptz, "to" timestamptz)
	RETURNS TABLE (label text, resource_type text, project text, charged numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT held.label, part.resource_type, held.project, part.amount
		FROM (SELECT s.label, s.project,
					 yquota_internal.part_costs(s.allocation, s.factors, greatest(s."from", charged_parts."from"),
												least(s."to", charged_parts."to"), s.sign, s.waits) AS parts
			  FROM yquota_internal.held_segment AS s
			  WHERE s.segment_from < charged_parts."to" AND s.segment_to > charged_parts."from"
				AND s."from" < charged_parts."to" AND s."to" > charged_parts."from" AND s.pays
			  GROUP BY s.label, s.project) AS held
		CROSS JOIN LATERAL unnest(held.parts) AS part;
$$;
COMMENT ON FUNCTION yquota_internal.charged_parts(timestamptz, timestamptz) IS
	'Return the credits that containers of each project owe in a window, by label and by the resource type that pays';

CREATE TYPE yquota_internal.idle_part AS (
	label text,
	resource_type text,
	project text,
	capacity numeric,
	allocated numeric,
	charged numeric,
	carried_along numeric,
	free numeric,
	waiting numeric
);
COMMENT ON TYPE yquota_internal.idle_part IS
	'Values of a window at the list price, by label and resource type.  A row without a project has the capacity, and a row with a project has its allocations';

CREATE FUNCTION yquota_internal.idle_parts("from" timestamptz, "to" timestamptz) RETURNS yquota_internal.idle_part[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT ROW(value.label, value.resource_type, value.project, value.capacity, value.allocated, coalesce(due.charged, 0),
				   value.allocated - value.paying, value.paying - coalesce(due.charged, 0), value.waiting)::yquota_internal.idle_part
		FROM yquota_internal.list_values("from", "to") AS value
		LEFT JOIN yquota_internal.charged_parts("from", "to") AS due USING (label, resource_type, project));
COMMENT ON FUNCTION yquota_internal.idle_parts(timestamptz, timestamptz) IS
	'Return the values of a window as rows of idle_part';

--
-- Shares of projects
--

-- Shares are differences of these amounts, so they add up to the whole.
CREATE FUNCTION yquota_internal.amount_through(amount numeric, weight numeric, total numeric) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN weight = total THEN amount ELSE yquota_internal.divide_half_even(amount * weight, nullif(total, 0), 6) END;
COMMENT ON FUNCTION yquota_internal.amount_through(numeric, numeric, numeric) IS
	'Return the part of an amount that corresponds to a weight out of a total weight.  The part is rounded half to even to 6 decimals, but exact for the total weight';

CREATE TYPE yquota_internal.idle_share AS (
	label text,
	resource_type text,
	project text,
	unsold numeric
);
COMMENT ON TYPE yquota_internal.idle_share IS
	'Share of the unsold capacity of a label and resource type';

CREATE FUNCTION yquota_internal.shares_by_cost("from" timestamptz, "to" timestamptz, wholes yquota_internal.idle_share[])
	RETURNS SETOF yquota_internal.idle_share
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT share.label, share.resource_type, share.project,
			   share.through - lag(share.through, 1, 0::numeric) OVER (PARTITION BY share.label, share.resource_type ORDER BY share.project)
		FROM (
			SELECT whole.label, whole.resource_type, cost.project,
				   yquota_internal.amount_through(whole.unsold, cost.through, cost.total) AS through
			FROM unnest(wholes) AS whole
			CROSS JOIN (
				SELECT spent.project, sum(spent.amount) OVER (ORDER BY spent.project) AS through, sum(spent.amount) OVER () AS total
				FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], '{project}') AS spent
				WHERE spent.amount > 0
			) AS cost
		) AS share;
$$;
COMMENT ON FUNCTION yquota_internal.shares_by_cost(timestamptz, timestamptz, yquota_internal.idle_share[]) IS
	'Split unsold capacity over projects by their cost in a window';

-- Guarantees follow from the present configuration of queues and the present nodes.
CREATE FUNCTION yquota_internal.shares_by_guarantee("from" timestamptz, "to" timestamptz, wholes yquota_internal.idle_share[])
	RETURNS SETOF yquota_internal.idle_share
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH queue_through AS (
			SELECT q.queue, q.label, entry.name AS resource_type,
				   sum(entry.amount) OVER (PARTITION BY q.label, entry.name ORDER BY q.queue) AS through,
				   sum(entry.amount) OVER (PARTITION BY q.label, entry.name) AS total
			FROM yquota_internal.effective_queues() AS q
			CROSS JOIN LATERAL yquota.resource_entries(q.effective_capacity) AS entry
			WHERE q.kind IN ('leaf', 'plan') AND entry.amount > 0
		), queue_share AS (
			SELECT part.label, part.resource_type, part.queue,
				   part.through - lag(part.through, 1, 0::numeric) OVER (PARTITION BY part.label, part.resource_type ORDER BY part.queue) AS unsold
			FROM (SELECT whole.label, whole.resource_type, q.queue, yquota_internal.amount_through(whole.unsold, q.through, q.total) AS through
				  FROM unnest(wholes) AS whole
				  JOIN queue_through AS q ON q.label = whole.label AND q.resource_type = whole.resource_type) AS part
		), cost AS (
			SELECT spent.queue, spent.project,
				   sum(spent.amount) OVER (PARTITION BY spent.queue ORDER BY spent.project) AS through,
				   sum(spent.amount) OVER (PARTITION BY spent.queue) AS total
			FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], '{project,queue}') AS spent
			WHERE spent.amount > 0
		), share AS (
			SELECT part.label, part.resource_type, part.project,
				   part.through - lag(part.through, 1, 0::numeric) OVER (
					   PARTITION BY part.label, part.resource_type, part.queue ORDER BY part.project) AS unsold
			FROM (SELECT q.label, q.resource_type, q.queue, cost.project,
						 yquota_internal.amount_through(q.unsold, cost.through, cost.total) AS through
				  FROM queue_share AS q
				  JOIN cost ON cost.queue = q.queue) AS part
		)
		SELECT share.label, share.resource_type, share.project, sum(share.unsold)
		FROM share
		GROUP BY share.label, share.resource_type, share.project;
$$;
COMMENT ON FUNCTION yquota_internal.shares_by_guarantee(timestamptz, timestamptz, yquota_internal.idle_share[]) IS
	'Split unsold capacity over leaf queues and plans by their guaranteed resources.  Each queue''s share is split over projects by their cost in the queue, and left out if there is no such cost';

--
-- The report
--

CREATE FUNCTION yquota_internal.check_idle_rule(rule text) RETURNS void
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF rule IS NULL OR rule NOT IN ('none', 'by_cost', 'by_guarantee') THEN
		RAISE EXCEPTION 'cannot split idle cost by rule %', coalesce(quote_ident(rule), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Rules are none, by_cost and by_guarantee.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_idle_rule(text) IS
	'Refuse rules that idle_cost() does not know';

CREATE FUNCTION yquota_internal.idle_cost_as_owner("from" timestamptz, "to" timestamptz, rule text)
	RETURNS TABLE (label text, resource_type text, project text, capacity numeric, allocated numeric, charged numeric,
				   carried_along numeric, free numeric, unsold numeric, waiting numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	-- JIT compilation takes longer than the query
	SET jit = off
	AS $$
#variable_conflict use_column
DECLARE
	-- later capacity is not known
	until CONSTANT timestamptz := least("to", yquota.statement_clock());
	parts yquota_internal.idle_part[];
	wholes yquota_internal.idle_share[];
	shares yquota_internal.idle_share[] := '{}';
BEGIN
	PERFORM yquota_internal.check_report('idle_cost', '{}', "from", "to");
	PERFORM yquota_internal.check_idle_rule(rule);
	PERFORM yquota_internal.refuse_archived_window("from");
	IF "from" >= until THEN
		RETURN;
	END IF;
	parts := yquota_internal.idle_parts("from", until);
	wholes := ARRAY(SELECT ROW(p.label, p.resource_type, NULL, sum(p.capacity - p.allocated))::yquota_internal.idle_share
					FROM unnest(parts) AS p GROUP BY p.label, p.resource_type);
	IF rule = 'by_cost' THEN
		shares := ARRAY(SELECT s FROM yquota_internal.shares_by_cost("from", until, wholes) AS s);
	ELSIF rule = 'by_guarantee' THEN
		shares := ARRAY(SELECT s FROM yquota_internal.shares_by_guarantee("from", until, wholes) AS s);
	END IF;
	RETURN QUERY
	SELECT line.label, line.resource_type, line.project, trim_scale(sum(line.allocated + line.unsold)), trim_scale(sum(line.allocated)),
		   trim_scale(sum(line.charged)), trim_scale(sum(line.carried_along)), trim_scale(sum(line.free)), trim_scale(sum(line.unsold)),
		   trim_scale(sum(line.waiting))
	FROM (
		SELECT p.label, p.resource_type, CASE WHEN rule <> 'none' THEN p.project END AS project,
			   p.allocated, p.charged, p.carried_along, p.free, p.waiting, 0 AS unsold
		FROM unnest(parts) AS p
		WHERE rule = 'none' OR p.project IS NOT NULL
		UNION ALL
		SELECT s.label, s.resource_type, s.project, 0, 0, 0, 0, 0, s.unsold FROM unnest(shares) AS s WHERE s.unsold <> 0
		UNION ALL
		SELECT w.label, w.resource_type, NULL, 0, 0, 0, 0, 0, w.unsold - coalesce(split.unsold, 0)
		FROM unnest(wholes) AS w
		LEFT JOIN (SELECT s.label, s.resource_type, sum(s.unsold) AS unsold
				   FROM unnest(shares) AS s GROUP BY s.label, s.resource_type) AS split USING (label, resource_type)
		WHERE rule = 'none' OR w.unsold <> coalesce(split.unsold, 0)
	) AS line
	GROUP BY line.label, line.resource_type, line.project
	ORDER BY line.label, line.resource_type, line.project;
END
$$;
COMMENT ON FUNCTION yquota_internal.idle_cost_as_owner(timestamptz, timestamptz, text) IS
	'Return the result of idle_cost() for the calling role';

CREATE FUNCTION yquota.idle_cost("from" timestamptz, "to" timestamptz, rule text DEFAULT 'none')
	RETURNS TABLE (label text, resource_type text, project text, capacity numeric, allocated numeric, charged numeric,
				   carried_along numeric, free numeric, unsold numeric, waiting numeric)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.idle_cost(timestamptz, timestamptz, text) IS
	'Return the value of the cluster''s capacity in a window at the list price, by label and resource type.  Capacity is allocated or unsold.  Allocations are charged, carried along or free.  A rule splits the unsold part over projects';
