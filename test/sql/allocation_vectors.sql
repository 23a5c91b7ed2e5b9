-- Allocation: which application gets the next container. The figures are those of the
-- CapacityScheduler's own tests, and the names V1, V2, … are those of the project's list of test
-- vectors.
--
-- V112 and V113 are in container_update.sql. V49 is left out: it tests a resource manager that
-- restarts and must learn its old state, and yquota never loses its state. Cases 14 to 16 and 19 of
-- V43 are left out: their queues use labels without access to them. Some of these queues have no
-- capacity at all, which no configuration can express.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_allocation_vectors WITH (FORCE);
CREATE DATABASE yquota_allocation_vectors;
\c yquota_allocation_vectors
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');

-- The number of the cluster is part of each id. A new configuration gets a new number, so container
-- ids do not repeat.
CREATE SEQUENCE pg_temp.cluster;
CREATE FUNCTION pg_temp.id(number text) RETURNS text LANGUAGE sql AS $$ SELECT format('application_%s_%s', currval('pg_temp.cluster'), number) $$;
-- Replace the whole configuration. Each line of queues is "path capacity maximum
-- user-limit-factor". A label follows its path as @label, and - is an unset value. Each node is
-- "name rack GB label". The command then changes further settings.
CREATE FUNCTION pg_temp.configure(queues text, nodes text[], command text DEFAULT '') RETURNS void
	LANGUAGE plpgsql AS $$
DECLARE
	f text[];
	position integer := 0;
BEGIN
	PERFORM yquota.release_containers(array_agg(c.container_id)) FROM yquota.container AS c HAVING count(*) > 0;
	PERFORM nextval('pg_temp.cluster');
	SET CONSTRAINTS ALL DEFERRED;
	DELETE FROM yquota.application;
	DELETE FROM yquota.decision;
	DELETE FROM yquota.node;
	TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting, yquota.node_label;
	INSERT INTO yquota.scheduler_setting (node_labels_enabled, maximum_am_resource_percent) VALUES (queues LIKE '%@%', 1);
	FOR f IN SELECT regexp_split_to_array(trim(line, E'\t '), '\s+') FROM string_to_table(trim(queues, E'\n\t '), E'\n') AS line LOOP
		position := position + 1;
		IF f[1] LIKE '%@%' THEN
			INSERT INTO yquota.node_label (name) VALUES (split_part(f[1], '@', 2)) ON CONFLICT DO NOTHING;
			INSERT INTO yquota.queue_label (queue, label, capacity, maximum_capacity)
			VALUES (split_part(f[1], '@', 1), split_part(f[1], '@', 2), nullif(f[2], '-'), nullif(f[3], '-'));
			UPDATE yquota.queue SET accessible_node_labels = array_append(accessible_node_labels, split_part(f[1], '@', 2))
			WHERE path = split_part(f[1], '@', 1);
		ELSE
			INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor, accessible_node_labels, position)
			VALUES (f[1], nullif(f[2], '-'), nullif(f[3], '-'), nullif(f[4], '-')::real, CASE WHEN f[1] <> 'root' THEN '{}'::text[] END, position);
		END IF;
	END LOOP;
	EXECUTE command;
	SET CONSTRAINTS ALL IMMEDIATE;
	INSERT INTO yquota.node (name, rack, total, label)
	SELECT split_part(n, ' ', 1), split_part(n, ' ', 2),
		   format('[memory-mb=%s,vcores=%s]', split_part(n, ' ', 3)::integer * 1024, split_part(n, ' ', 3))::yquota.resource, split_part(n, ' ', 4)
	FROM unnest(nodes) AS n;
END
$$;
-- Submit an application whose master has so many GB. Without a size the master runs outside the
-- cluster.
CREATE FUNCTION pg_temp.submit(id text, username text, queue text, master integer DEFAULT NULL) RETURNS yquota.application_state
	LANGUAGE sql AS $$
	SELECT s.state FROM yquota.submit_application(pg_temp.id(id), username, '{}', queue, project => 'p',
		am_resource => format('[memory-mb=%s,vcores=1]', coalesce(master, 1) * 1024)::yquota.resource, unmanaged => master IS NULL) AS s
$$;
CREATE FUNCTION pg_temp.ask(id text, gb integer, count bigint, name text DEFAULT '*', priority integer DEFAULT 1, label text DEFAULT NULL)
	RETURNS bigint LANGUAGE sql AS $$
	SELECT yquota.request_containers(pg_temp.id(id), format('[memory-mb=%s,vcores=1]', gb * 1024)::yquota.resource, count, name, priority, label => label)
$$;
-- Assign containers once to a node, as the tests of leaf queues do, or run a whole heartbeat.
CREATE FUNCTION pg_temp.assign(node text, most integer DEFAULT 1) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(format('%s %s %sGB%s', split_part(s.container_id, '_', 3), s.decision,
									  yquota.amount(s.allocation, 'memory-mb') / 1024, ' ' || s.locality), ', '), 'nothing')
	FROM yquota.schedule(ARRAY[node], most) AS s
$$;
CREATE FUNCTION pg_temp.heartbeat(node text, times integer DEFAULT 1) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text;
BEGIN
	FOR i IN 1 .. times LOOP
		told := pg_temp.assign(node, NULL);
	END LOOP;
	RETURN CASE WHEN times = 1 THEN told END;
END
$$;
-- All nodes report in turn, as often as times says.
CREATE FUNCTION pg_temp.rounds(times integer, nodes text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. times LOOP
		PERFORM count(*) FROM yquota.node_heartbeat(nodes);
	END LOOP;
END
$$;
CREATE FUNCTION pg_temp.release(number text) RETURNS boolean LANGUAGE sql AS $$
	SELECT count(*) = 1 FROM yquota.release_containers(ARRAY[replace(pg_temp.id(number), 'application', 'container')])
$$;
-- Containers of each application, and nodes reserved for the application.
CREATE TEMPORARY VIEW live AS
	SELECT split_part(a.application_id, '_', 3) AS app, count(c.container_id) AS live, a.reserved_containers AS reserved, a.pending_containers AS pending
	FROM yquota.scheduler_application AS a LEFT JOIN yquota.container AS c USING (application_id)
	GROUP BY a.application_id, a.reserved_containers, a.pending_containers ORDER BY 1;
CREATE TEMPORARY VIEW placed AS
	SELECT split_part(application_id, '_', 3) AS app, node, count(*) FROM yquota.container GROUP BY 1, 2 ORDER BY 1, 2;
-- GB of a leaf queue that containers hold, and GB that reservations hold
CREATE FUNCTION pg_temp.used(leaf text, OUT held bigint, OUT reserved bigint) LANGUAGE sql AS $$
	SELECT (SELECT sum(yquota.amount(c.allocation, 'memory-mb')) / 1024 FROM yquota.container AS c WHERE c.queue = leaf),
		   (SELECT sum(yquota.amount(r.allocation, 'memory-mb')) / 1024 FROM yquota.reserved_container AS r
			JOIN yquota.application AS a USING (application_id) WHERE a.queue = leaf)
$$;
-- Counters of the delay scheduling for locality.
CREATE FUNCTION pg_temp.delay(OUT opportunities bigint, OUT outstanding bigint) LANGUAGE sql AS $$
	SELECT (SELECT max(c.opportunities) FROM yquota_internal.request_counter AS c),
		   (SELECT coalesce(max(r.count), 0) FROM yquota.resource_request AS r WHERE r.resource_name = '*')
$$;

\echo V52: an application gives up reservations for room elsewhere
SELECT pg_temp.configure('root - - -
	root.a 8.5 100 10
	root.b 91.5 100 10', '{node0 /default-rack 8,node1 /default-rack 8,node2 /default-rack 8}');
SELECT pg_temp.submit('0001', 'user_0', 'a');
SELECT pg_temp.ask('0001', 2, 1), pg_temp.ask('0001', 3, 2, priority => 5), pg_temp.ask('0001', 5, 2, priority => 10);
SELECT pg_temp.assign('node0'), pg_temp.assign('node0'), pg_temp.assign('node1');
SELECT pg_temp.assign('node0'), (pg_temp.used('root.a')).*;
SELECT pg_temp.assign('node2'), (pg_temp.used('root.a')).*;
SELECT pg_temp.assign('node1'), (pg_temp.used('root.a')).*;
TABLE live;
SELECT * FROM yquota.verify();

\echo V70: labels
SELECT pg_temp.configure('root - - -
	root@x 100
	root@y 100
	root@z 100
	root.a 10 - -
	root.a@x 100
	root.a.a1 100 - -
	root.a.a1@x 100
	root.b 20 - -
	root.b@y 100
	root.b@z 100
	root.b.b1 100 - -
	root.b.b1@y 100
	root.b.b1@z 100
	root.c 70 70 -
	root.c.c1 100 - -', '{h1 /default-rack 8 x,h2 /default-rack 8 y,h3 /default-rack 8}');
SELECT pg_temp.submit('0001', 'user', 'a1', 1), pg_temp.submit('0002', 'user', 'b1', 1), pg_temp.submit('0003', 'user', 'c1', 1);
SELECT pg_temp.heartbeat('h3'), pg_temp.heartbeat('h3'), pg_temp.heartbeat('h3');
SELECT pg_temp.ask('0001', 1, 1, label => 'x'), pg_temp.ask('0002', 1, 1, label => 'y'), pg_temp.ask('0003', 1, 1);
SELECT pg_temp.heartbeat('h2'), pg_temp.heartbeat('h1'), pg_temp.heartbeat('h3'), pg_temp.rounds(2, '{h1,h2,h3}');
TABLE placed;

\echo V74: a queue that a reservation has brought to its maximum takes room elsewhere
SELECT pg_temp.configure('root - - -
	root.a 10 10 -
	root.b 20 - -
	root.c 70 - -', '{h1 /default-rack 10,h2 /default-rack 90}');
SELECT pg_temp.submit('0001', 'user', 'a', 2), pg_temp.heartbeat('h1'), pg_temp.submit('0002', 'user', 'b', 1), pg_temp.heartbeat('h1');
SELECT pg_temp.ask('0001', 4, 2), pg_temp.heartbeat('h1'), pg_temp.heartbeat('h1'), (pg_temp.used('root.a')).*;
SELECT pg_temp.heartbeat('h2'), (pg_temp.used('root.a')).*;
TABLE live;

\echo V76: priorities of queues count below and above the guarantee
SELECT pg_temp.configure('root - - -
	root.a 10 20 100
	root.b 20 - 100
	root.c 70 - 100', '{h1 /default-rack 100}',
	$$UPDATE yquota.queue SET ordering_policy = 'priority-utilization' WHERE path = 'root';
	UPDATE yquota.queue SET priority = CASE path WHEN 'root.a' THEN 3 WHEN 'root.b' THEN 2 ELSE 1 END WHERE path <> 'root'$$);
SELECT pg_temp.submit('0001', 'user', 'a', 2), pg_temp.submit('0002', 'user', 'b', 2), pg_temp.submit('0003', 'user', 'c', 2);
SELECT pg_temp.heartbeat('h1', 3);
SELECT pg_temp.ask('0001', 5, 10), pg_temp.ask('0002', 5, 10), pg_temp.ask('0003', 5, 10);
CREATE FUNCTION pg_temp.then(times integer) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.heartbeat('h1', times);
	SELECT string_agg(live::text, ',' ORDER BY app) FROM live;
$$;
SELECT pg_temp.then(1) AS "2,1,1", pg_temp.then(1) AS "3,1,1", pg_temp.then(1) AS "3,2,1";
SELECT pg_temp.then(3) AS "3,5,1", pg_temp.then(10) AS "3,5,11", pg_temp.then(20) AS "4,6,11";

\echo V77: limits of users in one heartbeat
SELECT pg_temp.configure('root - - -
	root.a 10 - -
	root.b 20 - -
	root.c 70 - -', '{h1 /default-rack 1000}',
	$$UPDATE yquota.scheduler_setting SET per_node_heartbeat_maximum_container_assignments = -1;
	UPDATE yquota.queue SET minimum_user_limit_percent = 50 WHERE path = 'root.c'$$);
SELECT pg_temp.submit('0001', 'user1', 'c', 2), pg_temp.submit('0002', 'user2', 'c', 2);
SELECT pg_temp.heartbeat('h1', 2);
SELECT count(pg_temp.ask(id, 5, 1000, name)) FROM unnest('{0001,0002}'::text[]) AS id, unnest('{h1,/default-rack,*}'::text[]) AS name;
SELECT length(pg_temp.heartbeat('h1')) > 0;
TABLE live;
SELECT node, available FROM yquota.scheduler_node;

\echo V79: reservations are given up although no node has one of the resource types
INSERT INTO yquota.resource_type (name, price_group) VALUES ('resource1', 'GENERAL');
SELECT pg_temp.configure('root - - -
	root.a 50 50 -
	root.b 50 - -', '{h1 /default-rack 8,h2 /default-rack 8}',
	$$UPDATE yquota.scheduler_setting SET resource_calculator = 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator'$$);
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.heartbeat('h1'), pg_temp.submit('0002', 'user', 'b', 1), pg_temp.heartbeat('h1');
SELECT pg_temp.ask('0001', 7, 2), pg_temp.heartbeat('h1'), pg_temp.heartbeat('h2');
TABLE live;

\echo V80: the next queue may use what is left after a queue has reached its limit
SELECT pg_temp.configure('root - - -
	root.a 10 - -
	root.b 20 - -
	root.c 70 - -
	root.c.c1 10 10 -
	root.c.c2 90 - -', '{h1 /default-rack 10,h2 /default-rack 10}',
	$$UPDATE yquota.scheduler_setting SET resource_calculator = 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator'$$);
SELECT pg_temp.submit('0001', 'user', 'c1', 1), pg_temp.heartbeat('h1'), pg_temp.submit('0002', 'user', 'b', 1), pg_temp.heartbeat('h1');
SELECT pg_temp.ask('0001', 2, 1), pg_temp.ask('0002', 2, 1), pg_temp.heartbeat('h1');
TABLE live;

\echo V82: off-switch containers for each heartbeat
SELECT pg_temp.configure('root - - -
	root.a 100 - -', '{h1 /default-rack 20}');
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.heartbeat('h1');
SELECT pg_temp.ask('0001', 1, 10), pg_temp.heartbeat('h1');
UPDATE yquota.scheduler_setting SET per_node_heartbeat_maximum_offswitch_assignments = 3;
SELECT pg_temp.heartbeat('h1');
TABLE live;

\echo V89: a reservation waits until there is room
SELECT pg_temp.configure('root - - -
	root.a 8.5 100 -
	root.b 91.5 - -', '{node0 /default-rack 4,node1 /default-rack 4}',
	'UPDATE yquota.scheduler_setting SET reservations_continue_look_all_nodes = false');
SELECT pg_temp.submit('0001', 'user_0', 'a'), pg_temp.submit('0002', 'user_1', 'a');
SELECT pg_temp.ask('0001', 1, 2), pg_temp.ask('0002', 4, 1);
SELECT pg_temp.assign('node0'), pg_temp.assign('node0'), pg_temp.assign('node0'), (pg_temp.used('root.a')).*;
SELECT pg_temp.release('0001_01_000001'), pg_temp.assign('node0'), (pg_temp.used('root.a')).*;
SELECT pg_temp.release('0001_01_000002'), pg_temp.assign('node0'), (pg_temp.used('root.a')).*;
TABLE live;

\echo V91: delay for node locality
SELECT pg_temp.configure('root - - -
	root.a 20 - -
	root.b 80 99 -', '{host0 /rack0 8,host1 /rack1 8,host2 /rack2 8}',
	'UPDATE yquota.scheduler_setting SET reservations_continue_look_all_nodes = false');
SELECT pg_temp.submit('0001', 'user', 'b');
SELECT count(pg_temp.ask('0001', 1, CASE name WHEN '*' THEN 3 ELSE 1 END, name)) FROM unnest('{host0,/rack0,host1,/rack1,*}'::text[]) AS name;
SELECT node, pg_temp.assign(node), (pg_temp.delay()).* FROM unnest('{host2,host2,host2,host2,host0,host1}'::text[]) AS node;
-- only the node of the requested rack gets the container
UPDATE yquota.scheduler_setting SET node_locality_delay = 1;
INSERT INTO yquota.node (name, rack, total) VALUES ('host1_1', '/rack1', '[memory-mb=8192,vcores=8]');
SELECT pg_temp.ask('0001', 1, 1, 'host1'), pg_temp.ask('0001', 1, 3, '/rack1'), pg_temp.ask('0001', 1, 4);
SELECT n, pg_temp.assign('host1_1'), (pg_temp.delay()).* FROM generate_series(1, 3) AS n;
UPDATE yquota.scheduler_setting SET rack_locality_full_reset = false;
SELECT n, pg_temp.assign('host1_1'), (pg_temp.delay()).* FROM generate_series(1, 2) AS n;
SELECT * FROM yquota.verify();

\echo V92: delay for rack locality
SELECT pg_temp.configure('root - - -
	root.a 20 - -
	root.b 80 99 -', '{host1 /rack1 8,host2 /rack2 8,node2 /rack2 8,node3 /rack3 8,node4 /rack3 8}',
	$$UPDATE yquota.scheduler_setting SET reservations_continue_look_all_nodes = false, node_locality_delay = 2, rack_locality_additional_delay = 1$$);
SELECT pg_temp.submit('0001', 'user', 'b');
SELECT count(pg_temp.ask('0001', 1, CASE name WHEN '*' THEN 3 ELSE 1 END, name)) FROM unnest('{host1,/rack1,host2,/rack2,*}'::text[]) AS name;
SELECT node, pg_temp.assign(node), (pg_temp.delay()).* FROM unnest('{node2,node2,node2,node3,node3,node3,node3}'::text[]) AS node;
UPDATE yquota.scheduler_setting SET rack_locality_additional_delay = 10;
SELECT node, pg_temp.assign(node), (pg_temp.delay()).* FROM unnest('{node3,node3}'::text[]) AS node;

\echo V100: on nodes with a label, requests for the label come before others
SELECT pg_temp.configure('root - - -
	root@y 100
	root.a 100 - -
	root.a@y 100', '{h1 /default-rack 8 y,h2 /default-rack 100}', 'UPDATE yquota.node_label SET exclusive = false');
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.submit('0002', 'user', 'a', 1), pg_temp.heartbeat('h2', 2);
SELECT pg_temp.ask('0001', 1, 8), pg_temp.ask('0002', 1, 8, label => 'y');
SELECT pg_temp.rounds(50, '{h1,h2}');
TABLE placed;

\echo V101: the same with two priorities of one application
SELECT pg_temp.configure('root - - -
	root@y 100
	root.a 100 - -
	root.a@y 100', '{h1 /default-rack 8 y,h2 /default-rack 100}', 'UPDATE yquota.node_label SET exclusive = false');
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.heartbeat('h2');
SELECT pg_temp.ask('0001', 1, 1), pg_temp.ask('0001', 1, 1, priority => 2, label => 'y'), pg_temp.heartbeat('h1');
SELECT priority, count FROM yquota.resource_request;

\echo V104: idle nodes of a label serve other requests when all nodes of the label have been offered
SELECT pg_temp.configure('root - - -
	root@x 100
	root.a 50 - -
	root.a@x 100
	root.b 50 - 5', '{h1 /default-rack 10 x,h2 /default-rack 10}', 'UPDATE yquota.node_label SET exclusive = false');
SELECT pg_temp.submit('0001', 'user', 'b', 1), pg_temp.heartbeat('h2'), pg_temp.ask('0001', 1, 50);
SELECT pg_temp.rounds(10, '{h1,h2}');
TABLE placed;
-- h2 is full, and in the next round the count of missed opportunities first exceeds its limit
SELECT pg_temp.rounds(1, '{h1,h2}');
TABLE placed;
SELECT pg_temp.rounds(39, '{h1,h2}');
TABLE placed;
SELECT * FROM yquota.verify();

\echo V106: the maximum of a label does not count for requests without the label
SELECT pg_temp.configure('root - - -
	root@x 100
	root.a 50 - -
	root.a@x 50 50
	root.b 50 - -
	root.b@x 50 50', '{h1 /default-rack 10 x,h2 /default-rack 10}', 'UPDATE yquota.node_label SET exclusive = false');
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.heartbeat('h2'), pg_temp.ask('0001', 1, 10);
SELECT pg_temp.heartbeat('h1', 50);
TABLE placed;
SELECT label, containers FROM yquota.queue_usage WHERE queue = 'root.a' ORDER BY 1;

\echo V103: on nodes with a label, queues that asked for the label come before others
SELECT pg_temp.configure('root - - -
	root@x 100
	root.a 33 - -
	root.a@x 33
	root.a.a1 50 100 -
	root.a.a1@x 100
	root.a.a2 50 100 -
	root.a.a2@x 0
	root.b 33 - -
	root.b@x 33
	root.b.b1 50 100 -
	root.b.b1@x 100
	root.b.b2 50 100 -
	root.b.b2@x 0
	root.c 34 - -
	root.c@x 34
	root.c.c1 50 100 -
	root.c.c1@x 100
	root.c.c2 50 100 -
	root.c.c2@x 0', '{h1 /default-rack 20 x,h2 /default-rack 100}',
	$$UPDATE yquota.node_label SET exclusive = false;
	UPDATE yquota.queue SET default_node_label_expression = 'x' WHERE path LIKE '%1'$$);
SELECT pg_temp.submit('000' || number, 'user', queue, 1) FROM unnest('{a1,a2,b1,b2,c1,c2}'::text[]) WITH ORDINALITY AS q (queue, number);
SELECT pg_temp.heartbeat('h1', 3), pg_temp.heartbeat('h2', 3);
SELECT pg_temp.ask('000' || number, 1, 5) FROM generate_series(1, 6) AS number;
SELECT pg_temp.heartbeat('h1', 15);
SELECT count(*) FROM yquota.container WHERE node = 'h1';
TABLE live;

\echo V71: some nodes have labels, and some queues have access to them
SELECT pg_temp.configure('root - - -
	root@x 100
	root@y 100
	root@z 100
	root.a 10 10 -
	root.a@x 100
	root.a@y 50
	root.a.a1 100 100 -
	root.a.a1@x 100
	root.a.a1@y 100
	root.b 90 100 -
	root.b@y 50
	root.b@z 100
	root.b.b1 50 50 -
	root.b.b2 50 50 -
	root.b.b2@y 100
	root.b.b2@z 100', '{h1 /default-rack 2 x,h2 /default-rack 2 y,h3 /default-rack 2 y,h4 /default-rack 2 z,h5 /default-rack 2}',
	$$UPDATE yquota.queue SET default_node_label_expression = 'x' WHERE path = 'root.a.a1'$$);
SELECT pg_temp.submit('0001', 'user', 'a1', 1), pg_temp.heartbeat('h5'), pg_temp.heartbeat('h1');
SELECT pg_temp.ask('0001', 1, 1, label => 'y'), pg_temp.heartbeat('h1'), pg_temp.heartbeat('h2');
SELECT pg_temp.submit('0002', 'user', 'b1', 1), pg_temp.heartbeat('h5'), pg_temp.ask('0002', 1, 1), pg_temp.heartbeat('h5');
SELECT pg_temp.submit('0003', 'user', 'b2', 1), pg_temp.heartbeat('h5'), pg_temp.ask('0003', 1, 1, label => 'y'), pg_temp.ask('0003', 1, 1, priority => 2, label => 'z');
SELECT pg_temp.heartbeat('h1'), pg_temp.heartbeat('h3'), pg_temp.heartbeat('h4');
TABLE placed;

\echo V73: a reservation that does not fit yet is given up for room elsewhere
SELECT pg_temp.configure('root - - -
	root.a 100 - -', '{h1 /default-rack 2,h2 /default-rack 3}');
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.heartbeat('h1'), pg_temp.ask('0001', 2, 1);
SELECT pg_temp.heartbeat('h1'), pg_temp.heartbeat('h2');
TABLE live;

\echo V53: the reservation of one user leaves room for another user
SELECT pg_temp.configure('root - - -
	root.a 100 100 0.25', '{node0 /default-rack 8,node1 /default-rack 8,node2 /default-rack 8}',
	$$UPDATE yquota.queue SET minimum_user_limit_percent = 25 WHERE path = 'root.a'$$);
SELECT pg_temp.submit('0001', 'user_0', 'a'), pg_temp.submit('0002', 'user_1', 'a');
SELECT pg_temp.ask('0001', 2, 1), pg_temp.assign('node0'), pg_temp.ask('0002', 2, 1), pg_temp.assign('node1');
SELECT pg_temp.ask('0001', 8, 2, priority => 5), pg_temp.ask('0002', 2, 2, priority => 5);
SELECT pg_temp.assign('node0'), (pg_temp.used('root.a')).*;
SELECT pg_temp.assign('node1'), (pg_temp.used('root.a')).*;
TABLE live;

\echo V88: active users of a queue while its limits change
SELECT pg_temp.configure('root - - -
	root.a 8.5 100 10
	root.b 91.5 - -', '{node0 /default-rack 8}',
	'UPDATE yquota.scheduler_setting SET reservations_continue_look_all_nodes = false');
SELECT pg_temp.submit('0001', 'user0', 'a'), pg_temp.submit('0002', 'user0', 'a'), pg_temp.submit('0003', 'user1', 'a'), pg_temp.submit('0004', 'user2', 'a');
UPDATE yquota.queue SET user_limit_factor = 1 WHERE path = 'root.a';
SELECT pg_temp.ask('0001', 1, 10), pg_temp.ask('0002', 1, 10);
SELECT pg_temp.assign('node0'), pg_temp.assign('node0');
UPDATE yquota.queue SET minimum_user_limit_percent = 25 WHERE path = 'root.a';
SELECT pg_temp.assign('node0');
SELECT pg_temp.ask('0003', 3, 1), pg_temp.ask('0004', 1, 2);
UPDATE yquota.queue SET user_limit_factor = 10 WHERE path = 'root.a';
SELECT pg_temp.assign('node0'), pg_temp.assign('node0'), (pg_temp.used('root.a')).held;
UPDATE yquota.queue SET maximum_capacity = '50' WHERE path = 'root.a';
SELECT pg_temp.assign('node0');
UPDATE yquota.queue SET maximum_capacity = '100', user_limit_factor = 1 WHERE path = 'root.a';
SELECT pg_temp.assign('node0'), pg_temp.assign('node0'), (pg_temp.used('root.a')).held;
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE application_id = pg_temp.id('0001'))) IS NOT NULL AS released;
SELECT (pg_temp.used('root.a')).held;
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE application_id = pg_temp.id('0003'))) IS NOT NULL AS released;
SELECT (pg_temp.used('root.a')).held;

\echo V44: the queue that uses the smallest part of its guarantee comes first, while containers start and end
SELECT pg_temp.configure('root - - -
	root.a 25 - 100
	root.b 25 - 100
	root.c 25 - 100
	root.d 25 - 100', '{h1 /default-rack 10}',
	$$UPDATE yquota.scheduler_setting SET per_node_heartbeat_maximum_offswitch_assignments = 100$$);
CREATE FUNCTION pg_temp.give(VARIADIC numbers integer[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.ask('000' || app, 1, number) FROM unnest(numbers) WITH ORDINALITY AS n (number, app) WHERE number > 0;
	PERFORM count(*) FROM yquota.schedule('{h1}');
	RETURN (SELECT string_agg(live::text, ',' ORDER BY app) FROM live);
END
$$;
CREATE FUNCTION pg_temp.take(app text, number integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.release_containers(ARRAY(SELECT c.container_id FROM yquota.container AS c WHERE c.application_id = pg_temp.id(app) ORDER BY c.container_id LIMIT number));
	RETURN (SELECT string_agg(l.live::text, ',' ORDER BY l.app) FROM live AS l);
END
$$;
SELECT pg_temp.submit('000' || number, 'user', queue) FROM unnest('{a,b,c,d}'::text[]) WITH ORDINALITY AS q (queue, number);
SELECT pg_temp.give(1, 2, 3, 4) AS "1,2,3,4";
SELECT queue, used_capacity FROM yquota.scheduler_queue WHERE queue <> 'root';
SELECT pg_temp.take('0004', 3) AS "1,2,3,1", pg_temp.give(2, 0, 0, 0) AS "3,2,3,1", pg_temp.take('0001', 1) AS "2,2,3,1",
	   pg_temp.give(0, 1, 0, 0) AS "2,3,3,1", pg_temp.take('0002', 1) AS "2,2,3,1", pg_temp.give(1, 0, 0, 0) AS "3,2,3,1";
SELECT pg_temp.ask('0002', 1, 1), pg_temp.ask('0004', 1, 1), pg_temp.assign('h1');
TABLE live;

\echo V23: the same with queues on several levels
SELECT pg_temp.configure('root - - -
	root.a 10 - 100
	root.a.a1 50 - 100
	root.a.a2 50 - 100
	root.b 50 - 100
	root.b.b1 10 - 100
	root.b.b2 20 - 100
	root.b.b3 70 - 100
	root.c 19.5 - 100
	root.c.c1 100 - 100
	root.c.c1.c11 100 - 100
	root.c.c1.c11.c111 100 - 100
	root.c.c1.c11.c111.c1111 100 - 100
	root.d 20.5 - 100', '{h1 /default-rack 10,h2 /default-rack 10,h3 /default-rack 10}');
SELECT pg_temp.submit('000' || number, 'user', queue) FROM unnest('{a1,b2,b3,c1111}'::text[]) WITH ORDINALITY AS q (queue, number);
SELECT pg_temp.ask('0004', 1, 1), pg_temp.assign('h1'), pg_temp.ask('0002', 4, 1), pg_temp.assign('h1');
SELECT pg_temp.ask('0001', 1, 1), pg_temp.ask('0003', 2, 1), pg_temp.ask('0004', 2, 1);
SELECT pg_temp.assign('h2'), pg_temp.assign('h2'), pg_temp.assign('h2');

\echo V43: the order of queues by priority and by the used part of their guarantee
-- Configure queues of a cluster of 100 GB, each "name priority used/guaranteed guaranteed". Then
-- give containers of 1 GB, and return the queues in the order in which they get them.
CREATE FUNCTION pg_temp.order(VARIADIC queues text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rest integer := 100 - (SELECT sum(split_part(q, ' ', 4)::integer) FROM unnest(queues) AS q);
	given text := '';
BEGIN
	PERFORM pg_temp.configure('root - - -' || (SELECT string_agg(format(E'\nroot.%s %s - 100', split_part(q, ' ', 1), split_part(q, ' ', 4)), '') FROM unnest(queues) AS q)
		|| CASE WHEN rest > 0 THEN E'\nroot.z ' || rest || ' - -' ELSE '' END, '{h1 /default-rack 100}',
		$c$UPDATE yquota.queue SET ordering_policy = 'priority-utilization' WHERE path = 'root';
		UPDATE yquota.queue SET maximum_applications = 10 WHERE path <> 'root'$c$);
	UPDATE yquota.queue AS t SET priority = split_part(q, ' ', 2)::integer FROM unnest(queues) AS q WHERE t.path = 'root.' || split_part(q, ' ', 1);
	INSERT INTO yquota.container_event (event, container_id, project, username, queue, node, allocation)
	SELECT 'CONTAINER_START', pg_temp.id(split_part(q, ' ', 1)), 'p', 'other', 'root.' || split_part(q, ' ', 1), 'h1',
		   yquota.resource(format('[memory-mb=%s]', (1024 * split_part(q, ' ', 3)::numeric * greatest(split_part(q, ' ', 4)::integer, 10))::bigint))
	FROM unnest(queues) AS q;
	PERFORM pg_temp.submit('000' || number, 'user', split_part(q, ' ', 1)), pg_temp.ask('000' || number, 1, 1)
	FROM unnest(queues) WITH ORDINALITY AS t (q, number);
	FOR number IN 1 .. cardinality(queues) LOOP
		given := given || (SELECT split_part(s.queue, '.', 2) FROM yquota.schedule('{h1}', 1) AS s);
	END LOOP;
	RETURN given;
END
$$;
SELECT number, pg_temp.order(a, b), expected
FROM (VALUES (2, 'a 1 .2 20', 'b 1 .1 30', 'ba'), (3, 'a 1 1.1 20', 'b 1 1.2 30', 'ab'), (4, 'a 1 .1 20', 'b 1 1.2 30', 'ab'),
	(5, 'a 1 1.1 20', 'b 2 1.2 30', 'ba'), (6, 'a 1 .1 20', 'b 2 .2 30', 'ba'), (7, 'a 1 .1 20', 'b 2 1.2 30', 'ab'),
	(8, 'a 2 .1 20', 'b 1 1.2 30', 'ab'), (9, 'a 1 .1 20', 'b 2 1.0 30', 'ab'), (10, 'a 2 .1 20', 'b 1 1.0 30', 'ab'),
	(11, 'a 1 .1 20', 'b 1 1.0 30', 'ab'), (12, 'a 1 1.0 20', 'b 2 1.0 30', 'ba'), (17, 'a 1 .1 0', 'b 1 1.2 30', 'ba'),
	(18, 'a 1 .1 30', 'b 1 1.2 0', 'ab')) AS v (number, a, b, expected);
SELECT pg_temp.order('a 1 1.2 20', 'b 2 1.0 10', 'c 0 .2 10', 'd 0 1.1 30', 'e 3 .2 30') AS ecbad;
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_allocation_vectors WITH (FORCE);
