--
-- Figures of opportunistic containers for metrics and reports, and alerts about nodes. A node
-- causes an alert when its report is late or differs from the books.
--

-- Runs with the owner's rights, like price_check().
CREATE FUNCTION yquota_internal.opportunistic_figures()
	RETURNS TABLE (name text, labels jsonb, value numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	WITH counted AS (
		SELECT COALESCE(sum(c.central), 0) AS central, COALESCE(sum(c.demoted), 0) AS demoted,
			   COALESCE(sum(c.promoted_by_rule), 0) AS promoted_by_rule,
			   COALESCE(sum(c.node_local), 0) AS node_local, COALESCE(sum(c.rack_local), 0) AS rack_local,
			   COALESCE(sum(c.off_switch), 0) AS off_switch,
			   COALESCE(sum(c.timed), 0) AS timed, COALESCE(sum(c.latency), 0) AS latency
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
	), total AS MATERIALIZED (
		SELECT c.*, reported.containers AS distributed,
			   c.central + reported.containers + c.demoted AS given, running.containers + queued.opportunistic AS present,
			   running.containers AS running, running.memory, running.vcores,
			   queued.opportunistic AS queued, queued.guaranteed AS guaranteed_queued
		FROM counted AS c, reported, running, queued
		-- show no figures in clusters without opportunistic containers
		WHERE c.central + reported.containers + c.demoted + running.containers + queued.opportunistic + queued.guaranteed > 0
		   OR (SELECT s.opportunistic_allocation_enabled FROM yquota.scheduler_setting AS s)
	), within AS (
		SELECT b.bound, COALESCE(sum(c.within[b.number]), 0) AS containers
		FROM unnest(yquota_internal.latency_bounds()) WITH ORDINALITY AS b (bound, number)
		LEFT JOIN yquota_internal.opportunistic_count AS c ON true
		GROUP BY b.bound
		ORDER BY b.bound
	)
	SELECT figure.name, '{}'::jsonb, figure.value
	FROM total AS t, LATERAL (VALUES
		('containers_allocated', t.present),
		('containers_allocated_total', t.given),
		('containers_released_total', greatest(t.given - t.present, 0)),
		('containers_node_local_total', t.node_local),
		('containers_rack_local_total', t.rack_local),
		('containers_off_switch_total', t.off_switch),
		('containers_distributed_total', t.distributed),
		('containers_demoted_total', t.demoted),
		('containers_promoted_by_rule_total', t.promoted_by_rule),
		('allocation_latency_seconds_sum', trim_scale(t.latency / 1000000.0)),
		('allocation_latency_seconds_count', t.timed),
		('containers_running', t.running),
		('memory_mib', t.memory),
		('vcores', t.vcores),
		('containers_queued', t.queued),
		('guaranteed_containers_queued', t.guaranteed_queued)
	) AS figure (name, value)
	UNION ALL
	SELECT 'allocation_latency_seconds_bucket', jsonb_build_object('le', trim_scale(w.bound / 1000000.0)::text), w.containers
	FROM total, within AS w
	UNION ALL
	SELECT 'allocation_latency_seconds_bucket', jsonb_build_object('le', '+Inf'), t.timed FROM total AS t
	UNION ALL
	SELECT figure.name, jsonb_build_object('queue', l.name), figure.value
	FROM yquota_internal.opportunistic_limit AS l
	LEFT JOIN yquota_internal.opportunistic_holding AS h ON h.scope = 'queue' AND h.name = l.name
	CROSS JOIN LATERAL (VALUES
		('queue_containers', coalesce(h.containers, 0)::numeric),
		('queue_maximum_containers', l.maximum_containers::numeric)
	) AS figure (name, value)
	WHERE l.scope = 'queue' AND figure.value IS NOT NULL;
$$;
COMMENT ON FUNCTION yquota_internal.opportunistic_figures() IS
	'Return figures of opportunistic containers for metrics, with latencies as a histogram.  Returns no row if no such containers exist and the allocation of such containers is off';

CREATE FUNCTION yquota_internal.tell_of_nodes(of_kind text, nodes text[], since timestamptz, words text, now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF cardinality(nodes) > 0 THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES (of_kind, 'node',
				format(words, cardinality(nodes), yquota_internal.instant_text(since),
					   array_to_string(nodes[:5], ', ') || CASE WHEN cardinality(nodes) > 5 THEN ', ...' ELSE '' END),
				now_at)
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
	ELSE
		UPDATE yquota.alert AS a SET cleared_at = now_at
		WHERE a.kind = of_kind AND a.subject = 'node' AND a.cleared_at IS NULL;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.tell_of_nodes(text, text[], timestamptz, text, timestamptz) IS
	'Raise an alert about some nodes, or clear the alert if there are no nodes.  The detail is formatted with the number of nodes, an instant and some names of nodes';

--
-- Compares counters rather than containers, because this runs every few seconds. Counters leave out
-- waiting containers, which cost nothing by default.
--
CREATE FUNCTION yquota_internal.note_node_differences(now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
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
$$;
COMMENT ON FUNCTION yquota_internal.note_node_differences(timestamptz) IS
	'Record since when a node has reported another number of running containers than the books have';

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
		'%s nodes are running but do not report their queues, the first since %s: %s; look at their agents and at report_nodes()', now_at);
	PERFORM yquota_internal.tell_of_nodes('node_reports_differ', differing.nodes, differing.since,
		'%s nodes report other numbers of running containers than the books have, the first since %s: %s; look at yquota.node_queue_report and at missing events of feeds', now_at);
END
$$;
COMMENT ON FUNCTION yquota_internal.watch_node_reports(timestamptz) IS
	'While opportunistic allocation is on, raise an alert if RUNNING nodes have not reported for ten sorting intervals, and at least a minute.  Raise another alert if nodes have reported other numbers of containers than the books for more than five minutes';
