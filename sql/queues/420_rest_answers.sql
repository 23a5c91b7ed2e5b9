--
-- Answers of the ResourceManager's REST interface. /ws/v1/cluster/nodes fills node, and
-- /ws/v1/cluster/metrics fills utilization.
--

-- Hadoop 3 lists resources with units.  Earlier versions have plain numbers, of memory and
-- vcores only.
CREATE FUNCTION yquota_internal.rest_resource(
	listed jsonb, memory_mb numeric, vcores numeric) RETURNS yquota.resource
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	list CONSTANT jsonb := listed #> '{resourceInformations,resourceInformation}';
BEGIN
	IF jsonb_typeof(list) = 'array' THEN
		RETURN (SELECT format('[%s]', string_agg(format('%s=%s%s', e ->> 'name', e ->> 'value', e ->> 'units'), ','))
				FROM jsonb_array_elements(list) AS e)::yquota.resource;
	END IF;
	RETURN format('[memory-mb=%s,vcores=%s]', coalesce((listed ->> 'memory')::numeric, memory_mb, 0),
				  coalesce((listed ->> 'vCores')::numeric, vcores, 0))::yquota.resource;
END
$$;
COMMENT ON FUNCTION yquota_internal.rest_resource(jsonb, numeric, numeric) IS
	'Return the resources that the REST interface lists.  If it lists none, make them from memory (MiB) and vcores';

CREATE FUNCTION yquota_internal.refuse_rest_answer(what text, detail text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid answer of the ResourceManager about %', what
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = detail,
			HINT = format('Pass the JSON that /ws/v1/cluster/%s returns.', what);
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_rest_answer(text, text) IS
	'Raise the error for a text that is not an answer of the expected kind';

--
-- Nodes
--

CREATE FUNCTION yquota_internal.rest_node(element jsonb, name_from text) RETURNS yquota.node
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	labels CONSTANT jsonb := element -> 'nodeLabels';
	node yquota.node;
BEGIN
	node.name := CASE name_from WHEN 'id' THEN element ->> 'id'
				 ELSE coalesce(element ->> 'nodeHostName', split_part(element ->> 'id', ':', 1)) END;
	IF coalesce(node.name, '') = '' THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', 'A node has no name: ' || left(element::text, 200));
	END IF;
	node.rack := coalesce(element ->> 'rack', '/default-rack');
	-- take the one label that is a partition; the list may also contain labels of other types
	node.label := coalesce(CASE jsonb_typeof(labels) WHEN 'array' THEN labels ->> 0 WHEN 'string' THEN labels #>> '{}' END, '');
	node.state := element ->> 'state';
	node.total := yquota_internal.rest_resource(element -> 'totalResource',
		(element ->> 'usedMemoryMB')::numeric + (element ->> 'availMemoryMB')::numeric,
		(element ->> 'usedVirtualCores')::numeric + (element ->> 'availableVirtualCores')::numeric);
	IF node.state IS NULL THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', format('Node "%s" has no state.', node.name));
	ELSIF NOT yquota.fits_in('[]', node.total) THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', format('Node "%s" offers %s, which is negative.', node.name, node.total));
	END IF;
	RETURN node;
EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range OR program_limit_exceeded THEN
	PERFORM yquota_internal.refuse_rest_answer('nodes', format('Node "%s": %s.', node.name, SQLERRM));
END
$$;
COMMENT ON FUNCTION yquota_internal.rest_node(jsonb, text) IS
	'Turn a node of the REST interface into a row';

CREATE FUNCTION yquota_internal.rest_nodes(answer jsonb, name_from text) RETURNS yquota.node[]
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	list jsonb := answer #> '{nodes,node}';
	nodes yquota.node[];
	twice text;
BEGIN
	IF jsonb_typeof(answer) <> 'object' OR NOT answer ? 'nodes' THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', 'There is no key "nodes".');
	ELSIF jsonb_typeof(answer -> 'nodes') NOT IN ('null', 'object') OR jsonb_typeof(list) NOT IN ('null', 'array', 'object') THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', 'The key "nodes" has no list of nodes.');
	END IF;
	-- accept Hadoop's JSON: a single node is an object instead of a list, and an empty list is null
	list := CASE jsonb_typeof(list) WHEN 'array' THEN list WHEN 'object' THEN jsonb_build_array(list) ELSE '[]' END;
	SELECT array_agg(yquota_internal.rest_node(e, name_from)) INTO nodes FROM jsonb_array_elements(list) AS e;
	SELECT n.name INTO twice
	FROM unnest(nodes) AS n
	WHERE n.state = 'RUNNING'
	GROUP BY n.name HAVING count(*) > 1
	LIMIT 1;
	IF FOUND THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', format('Node "%s" is listed twice. If a host has several nodes, use name_from => ''id''.', twice));
	END IF;
	-- prefer the RUNNING entry if a host has several entries
	RETURN ARRAY(SELECT DISTINCT ON (n.name) n
				 FROM unnest(nodes) AS n
				 ORDER BY n.name, n.state <> 'RUNNING', n.state);
END
$$;
COMMENT ON FUNCTION yquota_internal.rest_nodes(jsonb, text) IS
	'Return the nodes of an answer, one row for each name';

CREATE FUNCTION yquota.import_nodes(
	answer jsonb, name_from text DEFAULT 'host', missing_are_lost boolean DEFAULT false)
	RETURNS TABLE (node text, action text, state yquota.node_state, total yquota.resource)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	nodes yquota.node[];
BEGIN
	IF answer IS NULL OR name_from IS NULL OR missing_are_lost IS NULL THEN
		RAISE EXCEPTION 'arguments of import_nodes must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF name_from NOT IN ('host', 'id') THEN
		RAISE EXCEPTION 'nodes cannot be named by "%"', name_from
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name nodes by their host, or by their id, which includes the port.';
	END IF;
	nodes := yquota_internal.rest_nodes(answer, name_from);
	-- do not mark nodes LOST: a ResourceManager that has just started lists no nodes although all of
	-- them run
	IF cardinality(nodes) = 0 THEN
		missing_are_lost := false;
		RAISE NOTICE 'the answer of the ResourceManager has no nodes, so nothing was changed'
			USING HINT = 'A ResourceManager that has just started has none.  Ask again when its nodes have registered.';
	END IF;
	RETURN QUERY
	WITH listed AS MATERIALIZED (
		SELECT n.name, n.rack, n.label, n.state,
			   -- keep the known total of a node that has left and reports none, because the node may come back
			   CASE WHEN n.state = 'RUNNING' OR known.name IS NULL OR n.total OPERATOR(yquota.<>) '[]'::yquota.resource THEN n.total
					ELSE known.total END AS total, known.name IS NULL AS is_new
		FROM unnest(nodes) AS n
		LEFT JOIN yquota.node AS known ON known.name = n.name
		WHERE known.name IS NULL
		   OR (known.rack, known.label, known.state) <> (n.rack, n.label, n.state)
		   OR known.total OPERATOR(yquota.<>) n.total
			  AND (n.state = 'RUNNING' OR n.total OPERATOR(yquota.<>) '[]'::yquota.resource)
	), written AS (
		INSERT INTO yquota.node AS known (name, rack, label, total, state, updated_at)
		SELECT l.name, l.rack, l.label, l.total, l.state, yquota.statement_clock() FROM listed AS l
		ON CONFLICT (name) DO UPDATE
			SET rack = EXCLUDED.rack, label = EXCLUDED.label, total = EXCLUDED.total,
				state = EXCLUDED.state, updated_at = EXCLUDED.updated_at
	), missing AS MATERIALIZED (
		SELECT known.name, known.state, known.total
		FROM yquota.node AS known
		WHERE known.state NOT IN ('DECOMMISSIONED', 'LOST', 'REBOOTED', 'SHUTDOWN')
		  AND NOT EXISTS (SELECT FROM unnest(nodes) AS n WHERE n.name = known.name)
	), lost AS (
		UPDATE yquota.node AS known
		SET state = 'LOST', updated_at = yquota.statement_clock()
		FROM missing
		WHERE missing_are_lost AND known.name = missing.name
	)
	SELECT l.name::text, CASE WHEN l.is_new THEN 'added' ELSE 'changed' END, l.state, l.total FROM listed AS l
	UNION ALL
	SELECT m.name::text, CASE WHEN missing_are_lost THEN 'lost' ELSE 'missing' END,
		   CASE WHEN missing_are_lost THEN 'LOST' ELSE m.state END, m.total
	FROM missing AS m
	ORDER BY 1;
END
$$;
COMMENT ON FUNCTION yquota.import_nodes(jsonb, text, boolean) IS
	'Update table node from an answer of the ResourceManager''s /ws/v1/cluster/nodes.  Returns the changed nodes, and the nodes that the answer does not name.  Missing nodes become LOST only with missing_are_lost.  An answer without nodes changes nothing';

--
-- Utilization
--

CREATE FUNCTION yquota_internal.rest_utilization(metrics jsonb)
	RETURNS TABLE (resource_type text, used numeric, pending numeric, total numeric)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT t.name, coalesce(used.amount, 0), coalesce(pending.amount, 0), total.amount
		FROM yquota.resource_entries(yquota_internal.rest_resource(
				metrics -> 'totalClusterResourcesAcrossPartition',
				(metrics ->> 'totalMB')::numeric, (metrics ->> 'totalVirtualCores')::numeric)) AS total
			JOIN yquota.resource_type AS t ON t.name = total.name
			LEFT JOIN yquota.resource_entries(yquota_internal.rest_resource(
				metrics -> 'totalUsedResourcesAcrossPartition',
				(metrics ->> 'allocatedMB')::numeric, (metrics ->> 'allocatedVirtualCores')::numeric)) AS used
				ON used.name = total.name
			LEFT JOIN yquota.resource_entries(yquota_internal.rest_resource(
				NULL, (metrics ->> 'pendingMB')::numeric, (metrics ->> 'pendingVirtualCores')::numeric)) AS pending
				ON pending.name = total.name
		WHERE total.amount > 0;
$$;
COMMENT ON FUNCTION yquota_internal.rest_utilization(jsonb) IS
	'Return usage, demand and total from the metrics of the REST interface, in native units, for resource types with any amount';

CREATE FUNCTION yquota.import_cluster_metrics(
	answer jsonb, reported_at timestamptz DEFAULT NULL, source text DEFAULT 'ResourceManager')
	RETURNS TABLE (resource_type text, utilization numeric)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	measured_at CONSTANT timestamptz := coalesce(reported_at, yquota.clock());
BEGIN
	IF answer IS NULL THEN
		RAISE EXCEPTION 'answer about metrics must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF jsonb_typeof(answer -> 'clusterMetrics') IS DISTINCT FROM 'object' THEN
		PERFORM yquota_internal.refuse_rest_answer('metrics', 'There is no key "clusterMetrics".');
	ELSIF NOT isfinite(measured_at)
		OR measured_at > yquota.clock() + yquota_internal.duration('yquota.max_clock_skew')
	THEN
		RAISE EXCEPTION 'metrics cannot be of %', measured_at
			USING ERRCODE = 'datetime_field_overflow',
				DETAIL = format('The clock shows %s.', yquota.clock());
	END IF;
	RETURN QUERY
	WITH measured AS MATERIALIZED (
		SELECT m.resource_type,
			   trim_scale(yquota_internal.divide_half_even(
				   CASE WHEN g.count_pending THEN m.used + m.pending ELSE m.used END, m.total, 18)) AS fraction
		FROM yquota_internal.rest_utilization(answer -> 'clusterMetrics') AS m
			JOIN yquota.resource_type AS t ON t.name = m.resource_type
			JOIN yquota.price_group AS g ON g.name = t.price_group
	), written AS (
		INSERT INTO yquota.utilization AS known (resource_type, utilization, reported_at, source)
		SELECT m.resource_type, m.fraction, measured_at, import_cluster_metrics.source FROM measured AS m
		ON CONFLICT (resource_type) DO UPDATE
			SET utilization = EXCLUDED.utilization, reported_at = EXCLUDED.reported_at, source = EXCLUDED.source
			-- ignore an answer that is older than the stored one
			WHERE known.reported_at <= EXCLUDED.reported_at
		RETURNING known.resource_type, known.utilization
	)
	SELECT w.resource_type::text, w.utilization FROM written AS w ORDER BY 1;
EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range OR check_violation THEN
	PERFORM yquota_internal.refuse_rest_answer('metrics', SQLERRM || '.');
END
$$;
COMMENT ON FUNCTION yquota.import_cluster_metrics(jsonb, timestamptz, text) IS
	'Report the utilization in an answer of the ResourceManager''s /ws/v1/cluster/metrics.  Returns the reported rows.  There is no row for a resource type of which the cluster has nothing, as while it starts, and for an outdated answer';
