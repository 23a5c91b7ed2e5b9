--
-- Opportunistic containers in figures: for metrics and reports; and alerts about nodes
-- whose reports are late, or differ from the books.
--

-- With the owner's rights, as price_check().
CREATE FUNCTION yquota_internal.opportunistic_figures()
	RETURNS TABLE (name text, value numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH given AS (
			SELECT COALESCE(sum(c.node_local), 0) AS node_local, COALESCE(sum(c.rack_local), 0) AS rack_local,
				   COALESCE(sum(c.off_switch), 0) AS off_switch, COALESCE(sum(extract(epoch FROM c.latency)), 0) AS latency
			FROM yquota_internal.opportunistic_count AS c
		), reported AS (
			SELECT COALESCE((SELECT sum(l.containers) FROM yquota.node_lease AS l), 0)
				   + COALESCE((SELECT sum(e.containers) FROM yquota_internal.lease_epoch AS e), 0) AS containers
		), running AS (
			SELECT COALESCE(sum(u.containers), 0) AS containers,
				   COALESCE(yquota.amount(yquota.sum(u.allocation), 'memory-mb'), 0) AS memory,
				   COALESCE(yquota.amount(yquota.sum(u.allocation), 'vcores'), 0) AS vcores
			FROM yquota.queue_usage AS u
			WHERE u.execution_type = 'OPPORTUNISTIC'
		), queued AS (
			SELECT count(*) FILTER (WHERE q.execution_type = 'OPPORTUNISTIC') AS opportunistic,
				   count(*) FILTER (WHERE q.execution_type = 'GUARANTEED') AS guaranteed
			FROM yquota_internal.queued_container AS q
		)
		SELECT figure.name, figure.value
		FROM given, reported, running, queued, LATERAL (VALUES
			('containers_allocated', running.containers + queued.opportunistic),
			('containers_allocated_total', given.node_local + given.rack_local + given.off_switch + reported.containers),
			('containers_released_total', greatest(given.node_local + given.rack_local + given.off_switch + reported.containers
												   - running.containers - queued.opportunistic, 0)),
			('containers_node_local_total', given.node_local),
			('containers_rack_local_total', given.rack_local),
			('containers_off_switch_total', given.off_switch),
			('containers_distributed_total', reported.containers),
			('allocation_latency_seconds_total', given.latency),
			('containers_running', running.containers),
			('memory_mib', running.memory),
			('vcores', running.vcores),
			('containers_queued', queued.opportunistic),
			('guaranteed_containers_queued', queued.guaranteed)
		) AS figure (name, value)
		-- nothing of clusters that have nothing to do with them
		WHERE given.node_local + given.rack_local + given.off_switch + reported.containers + running.containers
			  + queued.opportunistic + queued.guaranteed > 0
		   OR (SELECT s.opportunistic_allocation_enabled FROM yquota.scheduler_setting AS s);
	END;
COMMENT ON FUNCTION yquota_internal.opportunistic_figures() IS
	'Figures of opportunistic containers for metrics; none where there are no such containers and none are given out';

CREATE FUNCTION yquota_internal.tell_of_nodes(of_kind text, nodes text[], since timestamptz, words text, now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF cardinality(nodes) > 0 THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES (of_kind, 'node',
				format(words, cardinality(nodes), since, array_to_string(nodes[:5], ', ') || CASE WHEN cardinality(nodes) > 5 THEN ', …' ELSE '' END),
				now_at)
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
	ELSE
		UPDATE yquota.alert AS a SET cleared_at = now_at
		WHERE a.kind = of_kind AND a.subject = 'node' AND a.cleared_at IS NULL;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.tell_of_nodes(text, text[], timestamptz, text, timestamptz) IS
	'Raise an alert about some nodes, or clear it when there are none; words with places for their number, an instant and some of their names';
REVOKE ALL ON FUNCTION yquota_internal.tell_of_nodes(text, text[], timestamptz, text, timestamptz) FROM PUBLIC;

--
-- Counters are compared, not the containers, as this is done every few seconds.
-- Containers that wait are not in them, and cost nothing by default.
--
CREATE FUNCTION yquota_internal.note_node_differences(now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH differing AS MATERIALIZED (
			SELECT r.node
			FROM yquota_internal.node_queue_report AS r
			JOIN yquota.node_usage AS u ON u.node = r.node AND u.state = 'RUNNING'
			WHERE r.running_opportunistic <> u.running_containers_o
			   OR r.running_guaranteed + r.queued_guaranteed <> u.containers - u.running_containers_o
		), gone AS (
			DELETE FROM yquota_internal.node_difference AS d
			WHERE NOT EXISTS (SELECT FROM differing AS n WHERE n.node = d.node)
		)
		INSERT INTO yquota_internal.node_difference (node, since)
		SELECT n.node, now_at FROM differing AS n ORDER BY n.node
		ON CONFLICT (node) DO NOTHING;
	END;
COMMENT ON FUNCTION yquota_internal.note_node_differences(timestamptz) IS
	'Keep since when the reports of nodes and the books have different numbers of running containers';
REVOKE ALL ON FUNCTION yquota_internal.note_node_differences(timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.watch_node_reports(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	setting yquota.scheduler_setting;
	late record;
	differing record;
BEGIN
	SELECT * INTO setting FROM yquota.scheduler_setting;
	IF setting.opportunistic_allocation_enabled THEN
		SELECT array_agg(r.node::text ORDER BY r.reported_at, r.node) AS nodes, min(r.reported_at) AS since INTO late
		FROM yquota_internal.node_queue_report AS r
		JOIN yquota.node AS n ON n.name = r.node AND n.state = 'RUNNING'
		WHERE r.reported_at < now_at - greatest(10 * coalesce(setting.node_sorting_interval, '1 s'), '1 minute');
		PERFORM yquota_internal.note_node_differences(now_at);
		SELECT array_agg(d.node::text ORDER BY d.since, d.node) AS nodes, min(d.since) AS since INTO differing
		FROM yquota_internal.node_difference AS d
		WHERE d.since < now_at - interval '5 minutes';
	ELSE
		SELECT NULL::text[] AS nodes, NULL::timestamptz AS since INTO late;
		differing := late;
		DELETE FROM yquota_internal.node_difference;
	END IF;
	PERFORM yquota_internal.tell_of_nodes('node_reports_late', late.nodes, late.since,
		'%s nodes run and do not report their queues, the first since %s: %s; look at their agents and at report_nodes()', now_at);
	PERFORM yquota_internal.tell_of_nodes('node_reports_differ', differing.nodes, differing.since,
		'%s nodes report other numbers of running containers than the books have, the first since %s: %s; look at yquota.node_queue_report and at what feeds miss', now_at);
END
$$;
COMMENT ON FUNCTION yquota_internal.watch_node_reports(timestamptz) IS
	'Alert while opportunistic allocation is on and RUNNING nodes that have reported do so no more, for ten sorting intervals and a minute at least, or report other numbers of containers than the books have for more than five minutes';
REVOKE ALL ON FUNCTION yquota_internal.watch_node_reports(timestamptz) FROM PUBLIC;
