--
-- Over-allocation: OPPORTUNISTIC containers may take the allocations of a node beyond its total while the measured use
-- of the node is below its allocations.  The C code decides (src/opportunistic/node_queue/node_container.h).
--

CREATE TABLE yquota.over_allocation (
	resource_type text COLLATE "C" PRIMARY KEY CHECK (resource_type IN ('memory-mb', 'vcores')),
	threshold numeric CHECK (threshold > 0 AND threshold <= 10 AND scale(threshold) <= 6),
	preemption_threshold numeric
		CHECK (preemption_threshold > 0 AND preemption_threshold <= 10 AND scale(preemption_threshold) <= 6),
	CHECK (preemption_threshold >= threshold)
);
COMMENT ON TABLE yquota.over_allocation IS
	'Thresholds of measured use by resource type.  OPPORTUNISTIC containers start at a node up to the first threshold.  Above the second threshold they are killed or paused.  A type without a row is not over-allocated';
COMMENT ON COLUMN yquota.over_allocation.resource_type IS 'primary key; memory-mb or vcores. The queue of a node counts no other types, as in Hadoop, so other types are refused';
COMMENT ON COLUMN yquota.over_allocation.threshold IS 'part of the node''s total up to which OPPORTUNISTIC containers start by the measured use: above 0, at most 10, at most 6 decimals; NULL: they start by allocations alone';
COMMENT ON COLUMN yquota.over_allocation.preemption_threshold IS 'part of the total above which OPPORTUNISTIC containers are killed or paused: same range, not below threshold; NULL: they never are';
COMMENT ON CONSTRAINT over_allocation_resource_type_check ON yquota.over_allocation IS
	'As in Hadoop, only memory-mb and vcores decide whether a container starts at a node.';
SELECT pg_extension_config_dump('yquota.over_allocation', '');
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.over_allocation
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

CREATE UNLOGGED TABLE yquota_internal.node_preemption (
	node text COLLATE "C" PRIMARY KEY,
	reported_at timestamptz NOT NULL,
	freed_memory_mb bigint NOT NULL,
	freed_vcores bigint NOT NULL,
	containers bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.node_preemption IS
	'Resources freed at nodes since reports whose measured use was above a preemption threshold; written by enqueue_container() and related functions';
COMMENT ON COLUMN yquota_internal.node_preemption.reported_at IS 'time of the node''s report from which the row counts.  If the node has a newer report, the row counts as nothing freed';
COMMENT ON COLUMN yquota_internal.node_preemption.freed_memory_mb IS 'MiB of containers that have ended or paused since that report';
COMMENT ON COLUMN yquota_internal.node_preemption.freed_vcores IS 'cores of containers that have ended or paused since that report';
COMMENT ON COLUMN yquota_internal.node_preemption.containers IS 'containers that were to be killed or paused because of measured use, since the first report';

CREATE FUNCTION yquota_internal.node_room(node text)
	RETURNS TABLE (
		resource_type text, total bigint, allocated bigint, guaranteed bigint, free bigint, reported_at timestamptz, measured bigint,
		guaranteed_since bigint, opportunistic_since bigint, room bigint, excess bigint, freed bigint)
	LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 2
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_node_room';
COMMENT ON FUNCTION yquota_internal.node_room(text) IS
	'Return the room for OPPORTUNISTIC containers at a node, one row for memory-mb and one for vcores: see view node_room';

CREATE VIEW yquota.node_room WITH (security_barrier) AS
	SELECT n.name AS node, r.resource_type, r.total, r.allocated, r.guaranteed, r.free, o.threshold, r.reported_at, r.measured,
		   r.guaranteed_since, r.opportunistic_since, r.room, o.preemption_threshold, r.excess, r.freed
	FROM yquota.node AS n
	CROSS JOIN LATERAL yquota_internal.node_room(n.name) AS r
	LEFT JOIN yquota.over_allocation AS o ON o.resource_type = r.resource_type;
COMMENT ON VIEW yquota.node_room IS
	'Room for OPPORTUNISTIC containers at each node, by allocations and by the measured use, in native units of memory-mb and vcores.  Query it with a condition on the node, because each node takes as long as a call about its queue.  A standby has no measured use';
COMMENT ON COLUMN yquota.node_room.node IS 'name of a node';
COMMENT ON COLUMN yquota.node_room.resource_type IS 'memory-mb or vcores';
COMMENT ON COLUMN yquota.node_room.total IS 'total of the node; 0: it is not in service';
COMMENT ON COLUMN yquota.node_room.allocated IS 'resources allocated to containers that run there, or are being killed or paused';
COMMENT ON COLUMN yquota.node_room.guaranteed IS 'part of allocated that GUARANTEED containers hold';
COMMENT ON COLUMN yquota.node_room.free IS 'total less allocated: the room in Hadoop, by which GUARANTEED containers start. It is negative if more is allocated than the node has';
COMMENT ON COLUMN yquota.node_room.threshold IS 'as in over_allocation; NULL: none';
COMMENT ON COLUMN yquota.node_room.reported_at IS 'time of the report with the measured use; NULL: there is none, or it is older than scheduler_setting.report_max_age';
COMMENT ON COLUMN yquota.node_room.measured IS 'use in that report; NULL: not reported';
COMMENT ON COLUMN yquota.node_room.guaranteed_since IS 'resources allocated to GUARANTEED containers that have begun to run since the report';
COMMENT ON COLUMN yquota.node_room.opportunistic_since IS 'resources allocated to OPPORTUNISTIC containers that have begun to run since the report';
COMMENT ON COLUMN yquota.node_room.room IS
	'larger one of free and total x threshold - greatest(measured + guaranteed_since, guaranteed) - opportunistic_since. An OPPORTUNISTIC container up to that size starts, unless a type has an excess';
COMMENT ON COLUMN yquota.node_room.preemption_threshold IS 'as in over_allocation; NULL: none';
COMMENT ON COLUMN yquota.node_room.excess IS 'measured less total x preemption_threshold; 0 if measured is not above that product';
COMMENT ON COLUMN yquota.node_room.freed IS 'amount that containers have given back since the report, and that is deducted from the excess; NULL: there is no excess';

CREATE FUNCTION yquota_internal.over_allocation_figures()
	RETURNS TABLE (family text, metric text, labels jsonb, value numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 10
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF pg_is_in_recovery() OR NOT EXISTS (SELECT FROM yquota.over_allocation) THEN
		RETURN;
	END IF;
	RETURN QUERY
	WITH reported AS MATERIALIZED (
		SELECT r.measured, n.total
		FROM yquota_internal.node_queue_report AS r
		JOIN yquota.node AS n ON n.name = r.node
		WHERE r.measured IS NOT NULL AND r.reported_at <= yquota.clock()
		  AND r.reported_at >= yquota.clock() - coalesce((SELECT s.report_max_age FROM yquota.scheduler_setting AS s), '10 s')
	)
	SELECT 'over_allocation', 'yquota_over_allocation_' || figure.name, jsonb_build_object('resource_type', o.resource_type), figure.value
	FROM yquota.over_allocation AS o
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(yquota.amount(r.measured, o.resource_type)), 0) AS measured,
			   count(*) FILTER (WHERE yquota.amount(r.measured, o.resource_type) > 0) AS nodes,
			   count(*) FILTER (WHERE yquota.amount(r.measured, o.resource_type) > yquota.amount(r.total, o.resource_type) * o.preemption_threshold) AS exceeding
		FROM reported AS r) AS sums
	CROSS JOIN LATERAL (VALUES
		('nodes', sums.nodes::numeric),
		('measured', sums.measured),
		('nodes_in_excess', sums.exceeding::numeric)
	) AS figure (name, value)
	UNION ALL
	SELECT 'node_preemption', 'yquota_node_preemption_containers_total', '{}', coalesce(sum(p.containers), 0) FROM yquota_internal.node_preemption AS p;
END
$$;
COMMENT ON FUNCTION yquota_internal.over_allocation_figures() IS
	'Return figures of the measured use of nodes for metrics.  Returns no row if nothing is over-allocated, or on a standby';
