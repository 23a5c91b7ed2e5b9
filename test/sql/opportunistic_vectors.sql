-- Test vectors by name, with the results that Hadoop's tests assert. They cover the node load
-- monitor (M, K), the queue limit (L), selection (S), the central allocator (C) and the distributed
-- allocator (D).
CREATE EXTENSION IF NOT EXISTS yquota;
SET client_min_messages = warning;
BEGIN;
SELECT yquota.set_clock('2026-03-02 10:00+00');
CREATE SCHEMA vec;
CREATE SEQUENCE vec.tick;

-- Show the result of a named vector, and the expected result if it differs.
CREATE FUNCTION vec.is(vector text, found text, expected text) RETURNS text LANGUAGE sql
	RETURN format('%s: %s%s', vector, found, CASE WHEN found IS DISTINCT FROM expected THEN ' instead of ' || expected END);

CREATE FUNCTION vec.resource(memory bigint, vcores bigint) RETURNS yquota.resource LANGUAGE sql
	RETURN format('[memory-mb=%s,vcores=%s]', memory, vcores)::yquota.resource;

CREATE PROCEDURE vec.configure(comparator text, sigma real DEFAULT 1, min_length integer DEFAULT 5, max_length integer DEFAULT 15, nodes_used integer DEFAULT 10, most integer DEFAULT -1)
	LANGUAGE plpgsql AS $$
BEGIN
	UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true, node_load_comparator = comparator, queue_limit_stdev = sigma,
		min_queue_length = min_length, max_queue_length = max_length, opportunistic_nodes_used = nodes_used, opportunistic_max_per_heartbeat = most,
		opportunistic_minimum_allocation_mb = 1024, opportunistic_minimum_allocation_vcores = 1,
		opportunistic_maximum_allocation_mb = 1024, opportunistic_maximum_allocation_vcores = 10,
		opportunistic_increment_allocation_mb = 512, opportunistic_increment_allocation_vcores = 1;
END $$;

-- Remove all nodes, the node list and all requests.
CREATE PROCEDURE vec.clear() LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.resource_request;
	DELETE FROM yquota.blacklist;
	DELETE FROM yquota.node;
	DELETE FROM yquota_internal.load_list;
	PERFORM yquota.report_nodes('{}');
END $$;

CREATE FUNCTION vec.report(name text, length integer, allocated yquota.resource DEFAULT NULL, wait integer DEFAULT NULL, capacity integer DEFAULT 200,
	total yquota.resource DEFAULT '[memory-mb=1024,vcores=8]', rack text DEFAULT '/r1', state yquota.node_state DEFAULT 'RUNNING') RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO yquota.node AS n (name, rack, total, state) VALUES (report.name, report.rack, report.total, report.state)
	ON CONFLICT ON CONSTRAINT node_pkey DO UPDATE SET total = excluded.total, state = excluded.state;
	RETURN r.accepted FROM yquota.report_nodes(ARRAY[ROW(report.name, 0, 0, 0, length, wait * interval '1 ms', capacity,
		timestamptz '2026-03-02 09:00+00' + nextval('vec.tick') * interval '1 s', allocated, NULL)::yquota.node_report]) AS r;
END $$;

CREATE FUNCTION vec.sorted() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock(yquota.clock() + interval '1 s');
	PERFORM yquota.report_nodes('{}');
	RETURN (SELECT string_agg(o.node, ' ' ORDER BY o.place) FROM yquota.opportunistic_node AS o);
END $$;

-- By default Hadoop knows only memory and cores
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100",
	"yarn.scheduler.maximum-allocation-mb": "1000000", "yarn.scheduler.maximum-allocation-vcores": "1000"}');

-- -- M: order ------------------------------------------------------------------------
CALL vec.configure('QUEUE_WAIT_TIME');
CALL vec.clear();
SELECT count(vec.report(n, 0, wait => w)) FROM (VALUES ('h1', 15), ('h2', 5), ('h3', 10)) AS r (n, w);
SELECT vec.is('M1', vec.sorted(), 'h2 h3 h1');
SELECT count(vec.report('h3', 0, wait => 2));
SELECT vec.is('M2', vec.sorted(), 'h3 h2 h1');
SELECT count(vec.report('h4', 0));
SELECT vec.is('M3', vec.sorted(), 'h3 h2 h1');
SELECT count(vec.report('h2', 0, wait => 1, state => 'DECOMMISSIONING'));
SELECT vec.is('M4', vec.sorted(), 'h3 h1');
SELECT count(vec.report('h2', 0, wait => 1));
SELECT vec.is('M5', vec.sorted(), 'h2 h3 h1');

CALL vec.configure('QUEUE_LENGTH');
CALL vec.clear();
SELECT count(vec.report(n, l)) FROM (VALUES ('h1', 15), ('h2', 5), ('h3', 10)) AS r (n, l);
SELECT vec.is('M6', vec.sorted(), 'h2 h3 h1');
SELECT count(vec.report('h3', 2));
SELECT vec.is('M7', vec.sorted(), 'h3 h2 h1');
SELECT count(vec.report('h4', 20));
SELECT vec.is('M7', vec.sorted(), 'h3 h2 h1 h4');
SELECT count(vec.report('h3', 200));
SELECT vec.is('M8', vec.sorted(), 'h2 h1 h4');
SELECT count(vec.report('h2', 5, state => 'DECOMMISSIONING'));
SELECT vec.is('M9', vec.sorted(), 'h1 h4');
SELECT count(vec.report('h2', 5));
SELECT vec.is('M9', vec.sorted(), 'h2 h1 h4');

-- by resources, in units of 128 MB and a core
CALL vec.configure('QUEUE_LENGTH_THEN_RESOURCES');
CALL vec.clear();
SELECT count(vec.report(n, l, vec.resource(128 * u, u))) FROM (VALUES ('h1', 0, 3), ('h2', 0, 2), ('h3', 5, 3), ('h4', 10, 2)) AS r (n, l, u);
SELECT vec.is('M10', vec.sorted(), 'h2 h1 h3 h4');
SELECT count(vec.report('h3', 10, vec.resource(384, 3)));
SELECT vec.is('M11', vec.sorted(), 'h2 h1 h4 h3');
SELECT count(vec.report('h3', 200, vec.resource(384, 3)));
SELECT vec.is('M12', vec.sorted(), 'h2 h1 h4');
SELECT count(vec.report('h2', 0, vec.resource(256, 2), state => 'DECOMMISSIONING'));
SELECT vec.is('M13', vec.sorted(), 'h1 h4');
SELECT count(vec.report('h2', 0, vec.resource(256, 2)));
SELECT vec.is('M13', vec.sorted(), 'h2 h1 h4');
SELECT count(vec.report('h2', 0, vec.resource(256, 2), capacity => 0));
SELECT vec.is('M14', vec.sorted(), 'h2 h1 h4');
DELETE FROM yquota.node WHERE name = 'h2';
SELECT count(vec.report('h2', 1, vec.resource(256, 2), capacity => 0));
SELECT vec.is('M15', vec.sorted(), 'h1 h4');
CALL vec.clear();
SELECT count(vec.report('h' || u, 0, vec.resource(128 * u, u))) FROM generate_series(1, 4) AS u;
SELECT vec.is('M16', vec.sorted(), 'h1 h2 h3 h4');
SELECT count(vec.report('h1', 0, vec.resource(128, 1), total => vec.resource(256, 2)));
SELECT vec.is('M17', vec.sorted(), 'h2 h3 h4 h1');
SELECT count(vec.report('h2', 0, vec.resource(128, 1), total => vec.resource(128, 1)));
SELECT vec.is('M18', vec.sorted(), 'h3 h4 h1 h2');

-- -- K: two nodes (allocated; capability; length) ------------------------------------
CREATE FUNCTION vec.first(a1 bigint, b1 bigint, m1 bigint, v1 bigint, l1 integer, a2 bigint, b2 bigint, m2 bigint, v2 bigint, l2 integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CALL vec.clear();
	-- both report at one instant, so equal nodes are ordered by name
	INSERT INTO yquota.node (name, total) VALUES ('n1', vec.resource(m1, v1)), ('n2', vec.resource(m2, v2));
	PERFORM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, l1, NULL, 200, NULL, vec.resource(a1, b1), NULL), ROW('n2', 0, 0, 0, l2, NULL, 200, NULL, vec.resource(a2, b2), NULL)]::yquota.node_report[]);
	RETURN vec.sorted();
END $$;
SELECT vec.is('K1', vec.first(5, 5, 10, 10, 10, 6, 6, 10, 10, 10), 'n1 n2');
SELECT vec.is('K1 turned', vec.first(6, 6, 10, 10, 10, 5, 5, 10, 10, 10), 'n2 n1');
SELECT vec.is('K2', vec.first(5, 5, 10, 10, 5, 3, 3, 10, 10, 10), 'n1 n2');
SELECT vec.is('K3', vec.first(0, 0, 1, 1, 5, 0, 0, 0, 0, 5), 'n1 n2');
SELECT vec.is('K3 turned', vec.first(0, 0, 0, 0, 5, 0, 0, 1, 1, 5), 'n2 n1');
SELECT vec.is('K4', vec.first(5, 5, 10, 10, 10, 5, 5, 10, 10, 10), 'n1 n2');
SELECT vec.is('K5', vec.first(6, 5, 10, 10, 10, 5, 6, 10, 10, 10), 'n1 n2');
SELECT vec.is('K5 turned', vec.first(5, 6, 10, 10, 10, 6, 5, 10, 10, 10), 'n2 n1');
SELECT vec.is('K6', vec.first(5, 5, 10, 10, 10, 5, 6, 10, 12, 10), 'n2 n1');
SELECT vec.is('K7', vec.first(5, 5, 10, 10, 10, 6, 5, 12, 10, 10), 'n2 n1');
SELECT vec.is('K8', vec.first(5, 11, 10, 100, 10, 6, 10, 10, 100, 10), 'n1 n2');
SELECT vec.is('K8 turned', vec.first(6, 10, 10, 100, 10, 5, 11, 10, 100, 10), 'n2 n1');

-- -- L: the queue limit -----------------------------------------------------------------
CREATE FUNCTION vec.limit_of(lengths integer[]) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	CALL vec.clear();
	PERFORM vec.report('h' || n, l) FROM unnest(lengths) WITH ORDINALITY AS u (l, n);
	PERFORM vec.sorted();
	RETURN max_queue_length FROM yquota_internal.load_list;
END $$;
CALL vec.configure('QUEUE_LENGTH', 0, 6, 100);
SELECT vec.is('L1', vec.limit_of('{}')::text, '6');
SELECT vec.is('L2', vec.limit_of('{15,5,10}')::text, '10');
SELECT vec.is('L3', vec.limit_of('{110,120,130,140,150,160}')::text, '100');
SELECT vec.is('L4', vec.limit_of('{1,2,3,4,5,6}')::text, '6');
CALL vec.configure('QUEUE_LENGTH', 1, 5, 15);
SELECT vec.is('L5', vec.limit_of('{15,5,10}')::text, '14');
CALL vec.configure('QUEUE_LENGTH', 1, 0, 15);
SELECT vec.is('L6', vec.limit_of('{0,0,1}')::text, '1');
-- full nodes do not count, and when all nodes are full the limit does not change
SELECT vec.is('S8', vec.limit_of('{200,200,8}')::text, '8');
SELECT count(vec.report('h3', 200));
SELECT vec.is('S8', coalesce(vec.sorted(), 'none'), 'none'), max_queue_length FROM yquota_internal.load_list;

-- -- S: selection ------------------------------------------------------------------------
CREATE SEQUENCE vec.application;
-- create an application that requests one container at the given place and nowhere else
CREATE FUNCTION vec.application() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	app text := 'application_1_' || lpad(nextval('vec.application')::text, 4, '0');
BEGIN
	PERFORM yquota.submit_application(application_id => app, username => 'u', groups => '{}', queue => 'root.default', unmanaged => true, project => 'p');
	UPDATE yquota.application SET state = 'ACTIVE' WHERE application_id = app;
	RETURN app;
END $$;
CREATE FUNCTION vec.selected(place text, blacklist text[] DEFAULT '{}') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN coalesce((SELECT r.node FROM yquota_internal.allocate_opportunistic(vec.application(),
		ARRAY[ROW(place, '[memory-mb=128,vcores=1]', 1, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request], blacklist, '{}', NULL, NULL, '{}') AS r), 'null');
EXCEPTION WHEN invalid_parameter_value THEN
	-- the search for any node does not use the random order
	RETURN 'null';
END $$;
CREATE PROCEDURE vec.three_nodes(capacities integer[] DEFAULT '{5,5,5}') LANGUAGE plpgsql AS $$
BEGIN
	CALL vec.clear();
	PERFORM vec.report(n, l, capacity => c, rack => r) FROM (VALUES ('h1', 2, capacities[1], '/rack1'), ('h2', 5, capacities[2], '/rack2'), ('h3', 4, capacities[3], '/rack2')) AS v (n, l, c, r);
	PERFORM vec.sorted();
END $$;
CALL vec.configure('QUEUE_LENGTH');
CALL vec.three_nodes();
SELECT vec.is('S1', vec.selected('h1'), 'h1');
SELECT vec.is('S2', vec.selected('h1', '{h1}'), 'null');
SELECT vec.is('S3', vec.selected('h2'), 'null');
SELECT vec.is('S4', vec.selected('h3'), 'h3');
CALL vec.three_nodes();
SELECT vec.is('S5', vec.selected('/rack1'), 'h1');
SELECT vec.is('S6', vec.selected('/rack1', '{h1}'), 'null');
SELECT vec.is('S8', vec.selected('/rack2', '{h3}'), 'null');
SELECT vec.is('S7', vec.selected('/rack2'), 'h3');
CALL vec.three_nodes('{5,5,10}');
SELECT vec.is('S9', count(*)::text, '2') FROM yquota.opportunistic_node;
CREATE FUNCTION vec.any(blacklist text[]) RETURNS text LANGUAGE sql
	RETURN coalesce((SELECT r.node FROM yquota.allocate_opportunistic(vec.application(),
		ARRAY[ROW('*', '[memory-mb=128,vcores=1]', 1, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request], blacklist) AS r), 'null');
SELECT vec.is('S10', (vec.any('{}') IN ('h1', 'h3'))::text, 'true');
SELECT vec.is('S10', vec.any('{h1}'), 'h3'), vec.is('S10', vec.any('{h1,h3}'), 'null');
-- with the third comparator a node takes containers in its free room, then in its queue, and then
-- none
CALL vec.configure('QUEUE_LENGTH_THEN_RESOURCES');
CALL vec.clear();
SELECT count(vec.report('h1', 0, '[]')), vec.sorted();
CREATE FUNCTION vec.any_of(size yquota.resource) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	chosen text;
BEGIN
	SELECT r.node INTO chosen
	FROM yquota.allocate_opportunistic(vec.application(), ARRAY[ROW('*', size, 1, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]) AS r;
	RETURN format('%s, %s queued, %s allocated', coalesce(chosen, 'null'), n.queue_length + n.slots, n.allocated) FROM yquota_internal.reported_nodes() AS n;
END $$;
SELECT vec.is('M19', vec.any_of('[memory-mb=128,vcores=1]'), 'h1, 0 queued, [memory-mb=128,vcores=1] allocated');
SELECT vec.is('M19', vec.any_of('[memory-mb=1024,vcores=8]'), 'h1, 1 queued, [memory-mb=128,vcores=1] allocated');
SELECT vec.is('M19', vec.any_of('[memory-mb=1152,vcores=9]'), 'null, 1 queued, [memory-mb=128,vcores=1] allocated');

-- -- C: the central allocator --------------------------------------------------------------
CREATE PROCEDURE vec.nodes(racks text[], length integer, capacities integer[]) LANGUAGE plpgsql AS $$
BEGIN
	CALL vec.clear();
	PERFORM vec.report('h' || n, length, rack => r, capacity => capacities[n]) FROM unnest(racks) WITH ORDINALITY AS u (r, n);
	PERFORM vec.sorted();
END $$;
-- requests of 1 GB with priority 1: id, places, count
CREATE TYPE vec.ask AS (id bigint, places text[], count integer);
CREATE FUNCTION vec.requests(asks vec.ask[]) RETURNS yquota.container_request[] LANGUAGE sql
	RETURN coalesce((SELECT array_agg(ROW(p.name, '[memory-mb=1024,vcores=1]', a.count, 1, a.id, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request ORDER BY a.id, p.place)
					 FROM unnest(asks) AS a (id, places, count) CROSS JOIN LATERAL unnest(a.places) WITH ORDINALITY AS p (name, place)), '{}');
-- return how many containers each node gets, and for which ids
CREATE FUNCTION vec.allocated(app text, asks vec.ask[] DEFAULT '{}', blacklist text[] DEFAULT '{}') RETURNS text LANGUAGE sql
	RETURN (SELECT coalesce(string_agg(format('%s on %s', n.containers, n.node), ', ' ORDER BY n.node), 'none')
			FROM (SELECT r.node, count(*) AS containers FROM yquota.allocate_opportunistic(app, vec.requests(asks), blacklist) AS r GROUP BY r.node) AS n);
CREATE FUNCTION vec.outstanding(app text) RETURNS bigint LANGUAGE sql
	RETURN (SELECT coalesce(sum(r.count), 0) FROM yquota.resource_request AS r WHERE r.application_id = app AND r.resource_name = '*');
CREATE FUNCTION vec.ids(app text) RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(format('%s: %s', d.allocation_request_id, d.node), ', ' ORDER BY d.allocation_request_id, d.node)
			FROM yquota.decision AS d WHERE d.application_id = app AND d.allocation_request_id > 1);
CREATE FUNCTION vec.containers(app text, asks vec.ask[] DEFAULT '{}') RETURNS bigint LANGUAGE sql
	RETURN (SELECT count(*) FROM yquota.allocate_opportunistic(app, vec.requests(asks)));
CALL vec.configure('QUEUE_LENGTH');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1}', 2, '{100}');
SELECT vec.is('C1', vec.allocated(:'app', '{"(1,{*},1)"}'), '1 on h1'), vec.outstanding(:'app');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1,/r1}', 2, '{100,100}');
SELECT vec.is('C2', vec.allocated(:'app', '{"(1,{*},1)"}', '{h1,h2}'), 'none'), vec.outstanding(:'app');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1,/r1,/r1}', 2, '{3,3,3}');
SELECT vec.is('C3', vec.allocated(:'app', '{"(1,{*},1)","(2,{*},1)","(3,{*},1)"}'), '1 on h1, 1 on h2, 1 on h3');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1,/r1,/r1}', 2, '{5,5,5}');
SELECT vec.is('C4', vec.containers(:'app', '{"(1,{*},1)","(2,\"{/r1,h1,*}\",1)","(3,\"{/r1,h1,*}\",1)"}')::text, '3'), vec.ids(:'app');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1,/r1,/r1}', 2, '{5,5,5}');
SELECT vec.is('C5', vec.allocated(:'app', '{"(2,\"{/r1,h1,*}\",2)"}'), '2 on h1');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r2,/r1,/r3}', 2, '{5,5,5}');
SELECT vec.is('C6', vec.allocated(:'app', '{"(2,\"{/r1,h4,*}\",1)"}'), '1 on h2');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r2,/r1,/r3,/r1}', 4, '{5,5,5,5}');
SELECT vec.is('C7', vec.allocated(:'app', '{"(1,\"{/r1,h5,*}\",1)","(2,\"{/r1,h5,*}\",1)"}'), '1 on h2, 1 on h4');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r2,/r1,/r3,/r1}', 4, '{5,5,5,5}');
SELECT vec.is('C8', vec.allocated(:'app', '{"(2,\"{/r1,h5,*}\",2)"}'), '1 on h2, 1 on h4');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r2,/r1,/r2,/r1}', 4, '{5,5,5,5}');
SELECT vec.is('C9', vec.containers(:'app', '{"(2,\"{/r3,h6,*}\",2)"}')::text, '2');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1,/r1,/r1,/r2}', 0, '{500,500,500,300}');
SELECT vec.is('C10', vec.allocated(:'app', '{"(2,\"{/r1,h1,*}\",1000)"}'), '500 on h1, 500 on h2');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1,/r1,/r1,/r2}', 0, '{500,500,500,300}');
SELECT vec.is('C11', vec.containers(:'app', array_agg(ROW(id, '{*,h5,/r1}', 1)::vec.ask))::text, '100') FROM generate_series(1, 100) AS id;
SELECT vec.application() AS app \gset
CALL vec.configure('QUEUE_LENGTH', most => 2);
CALL vec.nodes('{/r1,/r1,/r1}', 2, '{5,5,5}');
SELECT vec.is('C12', concat_ws(', ', vec.containers(:'app', '{"(2,\"{/r3,h6,*}\",3)"}'), vec.containers(:'app')), '2, 1');
SELECT vec.application() AS app \gset
CALL vec.nodes('{/r1,/r1,/r1}', 2, '{5,5,5}');
SELECT vec.is('C13', concat_ws(', ', vec.containers(:'app', '{"(1,{*},1)","(2,{h6},2)","(3,{/r3},2)"}'), vec.containers(:'app'), vec.containers(:'app')), '2, 2, 1');
SELECT vec.application() AS app \gset
CALL vec.configure('QUEUE_LENGTH');
CALL vec.nodes('{/r1,/r1,/r1}', 2, '{500,500,500}');
SELECT vec.is('C14', vec.containers(:'app', array_agg(ROW(id, '{h1}', 1)::vec.ask))::text, '20') FROM generate_series(1, 20) AS id;
SELECT vec.application() AS app \gset
CALL vec.configure('QUEUE_LENGTH', most => 100);
SELECT vec.is('C15', vec.containers(:'app', array_agg(ROW(id, '{h1}', 1)::vec.ask))::text, '20') FROM generate_series(1, 20) AS id;

-- -- D: the distributed allocator --------------------------------------------------------------
CREATE FUNCTION vec.list(nodes text[], racks text[] DEFAULT '{}', labels text[] DEFAULT '{}') RETURNS yquota.leased_node[] LANGUAGE sql
	RETURN (SELECT array_agg(ROW(n.name, coalesce(racks[n.place], '/r1'), labels[n.place])::yquota.leased_node ORDER BY n.place) FROM unnest(nodes) WITH ORDINALITY AS n (name, place));
-- Run several heartbeats, each with the same requests or only the first with them. Return the containers of each
-- heartbeat, and their nodes.
CREATE FUNCTION vec.distributed(nodes yquota.leased_node[], asks yquota.container_request[], times integer DEFAULT 1, again boolean DEFAULT false, blacklist text[] DEFAULT '{}', most integer DEFAULT -1,
	OUT containers integer[], OUT nodes_used text, OUT outstanding integer) LANGUAGE plpgsql AS $$
DECLARE
	open yquota.container_request[] := '{}';
	given text[];
	names text[] := '{}';
BEGIN
	containers := '{}';
	FOR i IN 1 .. times LOOP
		SELECT coalesce(array_agg(format('%s: %s', r.allocation_request_id, r.node)) FILTER (WHERE r.outcome = 'allocated'), '{}'),
			   coalesce(array_agg(ROW(r.resource_name, r.allocation, r.count, r.priority, r.allocation_request_id, true, r.label, 'OPPORTUNISTIC', NULL)::yquota.container_request)
						FILTER (WHERE r.outcome = 'outstanding'), '{}') INTO given, open
		FROM yquota.allocate_distributed(nodes, CASE WHEN i = 1 OR again THEN asks ELSE '{}' END, open, blacklist, most) AS r;
		names := names || given;
		containers := containers || cardinality(given);
	END LOOP;
	nodes_used := (SELECT string_agg(n, ', ' ORDER BY n) FROM unnest(names) AS n);
	outstanding := (SELECT coalesce(sum(o.count), 0) FROM unnest(open) AS o WHERE o.resource_name = '*');
END $$;
SELECT 'D1', * FROM vec.distributed(vec.list('{h1}'), vec.requests('{"(1,{*},1)"}'));
SELECT 'D2', * FROM vec.distributed(vec.list('{h1,h2}'), vec.requests('{"(1,{*},1)"}'), blacklist => '{h1,h2}');
SELECT 'D3', * FROM vec.distributed(vec.list('{h1,h2,h3}'), vec.requests('{"(1,{*},1)","(2,{*},1)","(3,{*},1)"}'));
SELECT 'D4', * FROM vec.distributed(vec.list('{h1,h2,h3}'), vec.requests('{"(1,{*},1)","(2,\"{/r1,h1,*}\",1)","(3,\"{/r1,h1,*}\",1)"}'));
SELECT 'D5', * FROM vec.distributed(vec.list('{h1,h2,h3}'), vec.requests('{"(2,\"{/r1,h1,*}\",2)"}'));
SELECT 'D6', * FROM vec.distributed(vec.list('{h3,h2,h4}', '{/r2,/r1,/r2}'), vec.requests('{"(1,\"{*,h1,/r1}\",1)"}'));
SELECT 'D7', * FROM vec.distributed(vec.list('{h3,h2,h5,h4}', '{/r2,/r1,/r1,/r2}'), vec.requests('{"(1,\"{/r1,h1,*}\",1)","(2,\"{/r1,h1,*}\",1)"}'));
SELECT 'D8', * FROM vec.distributed(vec.list('{h3,h2,h5,h4}', '{/r2,/r1,/r1,/r2}'), vec.requests('{"(2,\"{*,h1,/r1}\",2)"}'));
SELECT 'D9', containers FROM vec.distributed(vec.list('{h3,h2,h5,h4}', '{/r2,/r1,/r1,/r2}'), vec.requests('{"(2,\"{*,h6,/r3}\",2)"}'));
SELECT 'D10', (SELECT sum(c) FROM unnest(containers) AS c), (SELECT array_agg(DISTINCT c) FROM unnest(containers) AS c)
FROM vec.distributed(vec.list('{h3,h2,h5,h4}', '{/r2,/r1,/r1,/r2}'), vec.requests('{"(2,\"{*,h1,/r1}\",1000)"}'), 250, true);
SELECT 'D11', (SELECT sum(c) FROM unnest(containers) AS c)
FROM vec.distributed(vec.list('{h3,h2,h5,h4}', '{/r2,/r1,/r1,/r2}'), (SELECT vec.requests(array_agg(ROW(id, '{*,h1,/r1}', 1)::vec.ask)) FROM generate_series(1, 100) AS id), 25, true);
CREATE FUNCTION vec.labelled(label text) RETURNS yquota.container_request[] LANGUAGE sql
	RETURN ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 1, 1, 1, true, label, 'OPPORTUNISTIC', NULL)::yquota.container_request];
SELECT 'D12', * FROM vec.distributed(vec.list('{h1}'), vec.labelled('label'));
SELECT 'D12', * FROM vec.distributed(vec.list('{h1}', labels => '{label}'), vec.labelled('label'));
SELECT 'D13', containers, outstanding FROM vec.distributed(vec.list('{h1,h2,h3,h4}'), vec.requests('{"(2,\"{*}\",3)"}'), 2, most => 2);
SELECT 'D14', containers, outstanding
FROM vec.distributed(vec.list('{h1,h2,h3,h4}'), (SELECT array_agg(ROW(r.resource_name, r.allocation, r.count, r.allocation_request_id::integer, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request)
												 FROM unnest(vec.requests('{"(1,{*},1)","(2,{h6},2)","(3,{/r3},2)"}')) AS r), 3, most => 2);
SELECT 'D15', * FROM vec.distributed(vec.list('{a,b,c,d}'), vec.requests('{"(1,{*},4)"}') || ROW('*', '[memory-mb=1024,vcores=1]', 5, 1, 1, true, NULL, 'GUARANTEED', NULL)::yquota.container_request);
SELECT 'D16', * FROM vec.distributed(vec.list('{f,e,d,c}'), vec.requests('{"(1,{*},4)"}'));
SELECT 'D17', (SELECT string_agg((vec.distributed(vec.list(l), vec.requests('{"(1,{*},1)"}'))).nodes_used, ', ' ORDER BY n)
			   FROM (VALUES (1, '{c,d,e,f}'::text[]), (2, '{f,e,d,c}'), (3, '{c,d,e,f}')) AS lists (n, l));
SELECT count(*) FROM yquota.verify();
ROLLBACK;
