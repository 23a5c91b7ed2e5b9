-- Who gets the next container: the figures of the CapacityScheduler's own tests,
-- by the names that they have among the project's vectors.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_allocation_vectors WITH (FORCE);
CREATE DATABASE yquota_allocation_vectors;
\c yquota_allocation_vectors
SET client_min_messages = error;
CREATE EXTENSION yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');

-- Ids are those of a new cluster with each configuration: containers do not come twice.
CREATE SEQUENCE pg_temp.cluster;
CREATE FUNCTION pg_temp.id(number text) RETURNS text LANGUAGE sql AS $$ SELECT format('application_%s_%s', currval('pg_temp.cluster'), number) $$;
-- Everything is replaced.  Queues: lines "path capacity maximum user-limit-factor",
-- with @label behind the path for a label and - for what is not set; nodes: "name
-- rack GB label"; then a command for the rest.
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
-- An application with a master of so many GB (none: its master is elsewhere).
CREATE FUNCTION pg_temp.submit(id text, username text, queue text, master integer DEFAULT NULL) RETURNS yquota.application_state
	LANGUAGE sql AS $$
	SELECT s.state FROM yquota.submit_application(pg_temp.id(id), username, '{}', queue, project => 'p',
		am_resource => format('[memory-mb=%s,vcores=1]', coalesce(master, 1) * 1024)::yquota.resource, unmanaged => master IS NULL) AS s
$$;
CREATE FUNCTION pg_temp.ask(id text, gb integer, count bigint, name text DEFAULT '*', priority integer DEFAULT 1, label text DEFAULT NULL)
	RETURNS bigint LANGUAGE sql AS $$
	SELECT yquota.request_containers(pg_temp.id(id), format('[memory-mb=%s,vcores=1]', gb * 1024)::yquota.resource, count, name, priority, label => label)
$$;
-- One assignment to a node, as a leaf queue's test calls it; or a whole heartbeat.
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
-- All nodes report, one after the other, so many times.
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
-- Containers of each application, and nodes kept for it.
CREATE TEMPORARY VIEW live AS
	SELECT split_part(a.application_id, '_', 3) AS app, count(c.container_id) AS live, a.reserved_containers AS reserved, a.pending_containers AS pending
	FROM yquota.scheduler_application AS a LEFT JOIN yquota.container AS c USING (application_id)
	GROUP BY a.application_id, a.reserved_containers, a.pending_containers ORDER BY 1;
CREATE TEMPORARY VIEW placed AS
	SELECT split_part(application_id, '_', 3) AS app, node, count(*) FROM yquota.container GROUP BY 1, 2 ORDER BY 1, 2;
-- GB of a leaf: held by containers, and reserved
CREATE FUNCTION pg_temp.used(leaf text, OUT held bigint, OUT reserved bigint) LANGUAGE sql AS $$
	SELECT (SELECT sum(yquota.amount(c.allocation, 'memory-mb')) / 1024 FROM yquota.container AS c WHERE c.queue = leaf),
		   (SELECT sum(yquota.amount(r.allocation, 'memory-mb')) / 1024 FROM yquota.reservation AS r
			JOIN yquota.application AS a USING (application_id) WHERE a.queue = leaf)
$$;
-- What delays for locality go by.
CREATE FUNCTION pg_temp.delay(OUT opportunities bigint, OUT outstanding bigint) LANGUAGE sql AS $$
	SELECT (SELECT max(c.opportunities) FROM yquota_internal.request_counter AS c),
		   (SELECT coalesce(max(r.count), 0) FROM yquota.resource_request AS r WHERE r.resource_name = '*')
$$;

\echo V52: reservations are given up for room elsewhere
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

\echo V74: a queue at its maximum by a reservation takes room elsewhere
SELECT pg_temp.configure('root - - -
	root.a 10 10 -
	root.b 20 - -
	root.c 70 - -', '{h1 /default-rack 10,h2 /default-rack 90}');
SELECT pg_temp.submit('0001', 'user', 'a', 2), pg_temp.heartbeat('h1'), pg_temp.submit('0002', 'user', 'b', 1), pg_temp.heartbeat('h1');
SELECT pg_temp.ask('0001', 4, 2), pg_temp.heartbeat('h1'), pg_temp.heartbeat('h1'), (pg_temp.used('root.a')).*;
SELECT pg_temp.heartbeat('h2'), (pg_temp.used('root.a')).*;
TABLE live;

\echo V76: priorities of queues count below and above guarantees
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

\echo V77: one heartbeat, limits of users
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

\echo V79: a resource type that no node has does not keep reservations from being given up
INSERT INTO yquota.resource_type (name, price_group) VALUES ('resource1', 'GENERAL');
SELECT pg_temp.configure('root - - -
	root.a 50 50 -
	root.b 50 - -', '{h1 /default-rack 8,h2 /default-rack 8}',
	$$UPDATE yquota.scheduler_setting SET resource_calculator = 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator'$$);
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.heartbeat('h1'), pg_temp.submit('0002', 'user', 'b', 1), pg_temp.heartbeat('h1');
SELECT pg_temp.ask('0001', 7, 2), pg_temp.heartbeat('h1'), pg_temp.heartbeat('h2');
TABLE live;

\echo V80: a queue at its limit does not keep the next one from what is left
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

\echo V82: off-switch containers per heartbeat
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

\echo V91: delays for locality
SELECT pg_temp.configure('root - - -
	root.a 20 - -
	root.b 80 99 -', '{host0 /rack0 8,host1 /rack1 8,host2 /rack2 8}',
	'UPDATE yquota.scheduler_setting SET reservations_continue_look_all_nodes = false');
SELECT pg_temp.submit('0001', 'user', 'b');
SELECT count(pg_temp.ask('0001', 1, CASE name WHEN '*' THEN 3 ELSE 1 END, name)) FROM unnest('{host0,/rack0,host1,/rack1,*}'::text[]) AS name;
SELECT node, pg_temp.assign(node), (pg_temp.delay()).* FROM unnest('{host2,host2,host2,host2,host0,host1}'::text[]) AS node;
-- one node of the rack
UPDATE yquota.scheduler_setting SET node_locality_delay = 1;
INSERT INTO yquota.node (name, rack, total) VALUES ('host1_1', '/rack1', '[memory-mb=8192,vcores=8]');
SELECT pg_temp.ask('0001', 1, 1, 'host1'), pg_temp.ask('0001', 1, 3, '/rack1'), pg_temp.ask('0001', 1, 4);
SELECT n, pg_temp.assign('host1_1'), (pg_temp.delay()).* FROM generate_series(1, 3) AS n;
UPDATE yquota.scheduler_setting SET rack_locality_full_reset = false;
SELECT n, pg_temp.assign('host1_1'), (pg_temp.delay()).* FROM generate_series(1, 2) AS n;
SELECT * FROM yquota.verify();

\echo V92: delays for racks
SELECT pg_temp.configure('root - - -
	root.a 20 - -
	root.b 80 99 -', '{host1 /rack1 8,host2 /rack2 8,node2 /rack2 8,node3 /rack3 8,node4 /rack3 8}',
	$$UPDATE yquota.scheduler_setting SET reservations_continue_look_all_nodes = false, node_locality_delay = 2, rack_locality_additional_delay = 1$$);
SELECT pg_temp.submit('0001', 'user', 'b');
SELECT count(pg_temp.ask('0001', 1, CASE name WHEN '*' THEN 3 ELSE 1 END, name)) FROM unnest('{host1,/rack1,host2,/rack2,*}'::text[]) AS name;
SELECT node, pg_temp.assign(node), (pg_temp.delay()).* FROM unnest('{node2,node2,node2,node3,node3,node3,node3}'::text[]) AS node;
UPDATE yquota.scheduler_setting SET rack_locality_additional_delay = 10;
SELECT node, pg_temp.assign(node), (pg_temp.delay()).* FROM unnest('{node3,node3}'::text[]) AS node;

\echo V100: requests for a label come before others on its nodes
SELECT pg_temp.configure('root - - -
	root@y 100
	root.a 100 - -
	root.a@y 100', '{h1 /default-rack 8 y,h2 /default-rack 100}', 'UPDATE yquota.node_label SET exclusive = false');
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.submit('0002', 'user', 'a', 1), pg_temp.heartbeat('h2', 2);
SELECT pg_temp.ask('0001', 1, 8), pg_temp.ask('0002', 1, 8, label => 'y');
SELECT pg_temp.rounds(50, '{h1,h2}');
TABLE placed;

\echo V101: the same of two priorities of one application
SELECT pg_temp.configure('root - - -
	root@y 100
	root.a 100 - -
	root.a@y 100', '{h1 /default-rack 8 y,h2 /default-rack 100}', 'UPDATE yquota.node_label SET exclusive = false');
SELECT pg_temp.submit('0001', 'user', 'a', 1), pg_temp.heartbeat('h2');
SELECT pg_temp.ask('0001', 1, 1), pg_temp.ask('0001', 1, 1, priority => 2, label => 'y'), pg_temp.heartbeat('h1');
SELECT priority, count FROM yquota.resource_request;

\echo V104: idle nodes of a label serve others, when all nodes of theirs have been offered
SELECT pg_temp.configure('root - - -
	root@x 100
	root.a 50 - -
	root.a@x 100
	root.b 50 - 5', '{h1 /default-rack 10 x,h2 /default-rack 10}', 'UPDATE yquota.node_label SET exclusive = false');
SELECT pg_temp.submit('0001', 'user', 'b', 1), pg_temp.heartbeat('h2'), pg_temp.ask('0001', 1, 50);
SELECT pg_temp.rounds(10, '{h1,h2}');
TABLE placed;
-- h2 is full; the next round is the first that counts a miss too many
SELECT pg_temp.rounds(1, '{h1,h2}');
TABLE placed;
SELECT pg_temp.rounds(39, '{h1,h2}');
TABLE placed;
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_allocation_vectors WITH (FORCE);
