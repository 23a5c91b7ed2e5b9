-- Running containers whose allocation grows or shrinks, or whose execution type changes.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_container_update WITH (FORCE);
CREATE DATABASE yquota_container_update;
\c yquota_container_update
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, maximum_allocation_mb) VALUES (1, 8192);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, position) VALUES
	('root', NULL, NULL, 1), ('root.a', '50', 2, 2), ('root.b', '50', 2, 3);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('h1', '[memory-mb=8192,vcores=8]'), ('h2', '[memory-mb=8192,vcores=8]');

CREATE FUNCTION pg_temp.gb(gb integer) RETURNS yquota.resource LANGUAGE sql IMMUTABLE AS $$
	SELECT format('[memory-mb=%s,vcores=1]', gb * 1024)::yquota.resource
$$;
-- Return the decisions of a heartbeat of a node.
CREATE FUNCTION pg_temp.heartbeat(node text) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(format('%s %s %s', s.decision, right(s.container_id, 9), s.allocation), ', '), 'nothing')
	FROM yquota.node_heartbeat(ARRAY[node]) AS s
$$;
CREATE FUNCTION pg_temp.c(number integer, app integer DEFAULT 1) RETURNS text LANGUAGE sql AS $$
	SELECT format('container_1_%s_01_%s', lpad(app::text, 4, '0'), lpad(number::text, 6, '0'))
$$;
CREATE TEMPORARY VIEW running AS
	SELECT right(c.container_id, 14) AS container, c.node, c.allocation, c.execution_type, coalesce(v.version, 0) AS version
	FROM yquota.container AS c LEFT JOIN yquota_internal.container_version AS v USING (container_id) ORDER BY c.container_id;
CREATE TEMPORARY VIEW pending AS
	SELECT right(container_id, 14) AS container, update_type, node, label, allocation, priority AS p, allocation_request_id AS id
	FROM yquota.container_update ORDER BY container_id;
CREATE TEMPORARY VIEW reserved AS
	SELECT node, right(container_id, 9) AS container, right(container_to_update, 9) AS to_update, allocation FROM yquota.reserved_container ORDER BY 1;
SELECT s.state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', am_resource => pg_temp.gb(1)) AS s;
SELECT pg_temp.heartbeat('h1');
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(2), 1);
SELECT pg_temp.heartbeat('h1');
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id IN (pg_temp.c(1), pg_temp.c(2))));

\echo an increase is pending until the own node of the container is offered
SELECT yquota.set_clock('2026-03-02 10:10+00');
SELECT yquota.update_container(pg_temp.c(2), 0, pg_temp.gb(4));
TABLE pending;
SELECT application_id, has_outstanding_requests FROM yquota.application;
SELECT yquota_internal.requested_resources();
SELECT pg_temp.heartbeat('h2');
SELECT * FROM yquota.schedule(dry_run => true) \gx
SELECT pg_temp.heartbeat('h1');
TABLE pending;
TABLE running;
SELECT application_id, has_outstanding_requests FROM yquota.application;
SELECT decision, right(container_id, 9) AS container, node, allocation, locality FROM yquota.decision ORDER BY decision_id;
SELECT queue, containers, allocation FROM yquota.queue_usage;
\echo a decrease takes effect at once; its version shows that the caller knows of the increase
SELECT yquota.set_clock('2026-03-02 10:20+00');
SELECT yquota.update_container(pg_temp.c(2), 1, pg_temp.gb(1));
TABLE running;
SELECT count(*) FROM yquota.decision;
SELECT node, guaranteed, available FROM yquota.scheduler_node;
\echo each update uses up a container number, as in Hadoop
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(1), 1);
SELECT pg_temp.heartbeat('h1');
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
\echo a demotion takes effect at once, a promotion when there is room; new containers come before promotions
SELECT yquota.update_container(pg_temp.c(2), 2, execution_type => 'OPPORTUNISTIC');
SELECT node, guaranteed, opportunistic FROM yquota.node_usage WHERE node = 'h1';
SELECT yquota.update_container(pg_temp.c(2), 3, execution_type => 'GUARANTEED', priority => 7, allocation_request_id => 9);
TABLE pending;
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(1), 1, priority => 20);
SELECT pg_temp.heartbeat('h1');
SELECT pg_temp.heartbeat('h1');
TABLE running;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
\echo the charge: 2 GB and 1 core for 600 s, 4 GB for 600 s, then 1 GB until now
SELECT yquota.set_clock('2026-03-02 10:30+00');
SELECT right(container_id, 9) AS container, cost FROM yquota.container_cost WHERE container_id = pg_temp.c(2);
SELECT * FROM yquota.verify();

\echo several updates in one call of an application master; the order is promotions, increases, demotions, decreases
SELECT right(container_id, 9) AS container, outcome, reason, version, allocation
FROM yquota.update_containers('application_1_0001', ARRAY[
	ROW(pg_temp.c(1), 0, pg_temp.gb(2), NULL, NULL, NULL), ROW(pg_temp.c(2), 4, '[memory-mb=9000]', NULL, NULL, NULL),
	ROW(pg_temp.c(1), 0, pg_temp.gb(3), NULL, NULL, NULL), ROW(pg_temp.c(99), 0, pg_temp.gb(3), NULL, NULL, NULL),
	ROW(pg_temp.c(2), 3, pg_temp.gb(3), NULL, NULL, NULL), ROW(pg_temp.c(2), 4, '[memory-mb=-1]', NULL, NULL, NULL),
	ROW(pg_temp.c(2), 4, NULL, 'GUARANTEED', NULL, NULL), ROW(pg_temp.c(2), 4, NULL, 'OPPORTUNISTIC', NULL, NULL)]::yquota.container_update_request[]);
TABLE pending;
TABLE running;
\echo the next increase replaces the first; a decrease or a request for the present size ends it; sizes are rounded up
SELECT yquota.update_container(pg_temp.c(1), 0, '[memory-mb=2500,vcores=3]');
TABLE pending;
SELECT yquota.update_container(pg_temp.c(1), 0, pg_temp.gb(1));
TABLE pending;
SELECT application_id, has_outstanding_requests FROM yquota.application;
\echo an outstanding promotion is not replaced, and only GUARANTEED containers become larger
SELECT yquota.update_container(pg_temp.c(2), 5, execution_type => 'GUARANTEED');
SELECT yquota.update_container(pg_temp.c(2), 5, execution_type => 'GUARANTEED');
SELECT yquota.update_container(pg_temp.c(2), 5, pg_temp.gb(2));
TABLE pending;
\echo a decrease that is rounded up to the present size counts as an update
BEGIN;
SELECT yquota.update_container(pg_temp.c(1), 0, '[memory-mb=100,vcores=1]');
SELECT * FROM running WHERE container LIKE '%_01_000001';
ROLLBACK;

\echo a refused update is an error
SELECT yquota.update_container('container_9', 0, pg_temp.gb(1));
SELECT yquota.update_container(pg_temp.c(2), 1, pg_temp.gb(1));
SELECT yquota.update_container(pg_temp.c(2), -1, pg_temp.gb(1));
SELECT yquota.update_container(pg_temp.c(1), 0, pg_temp.gb(9));
SELECT yquota.update_container(pg_temp.c(1), 0, '[tpu=1]');
SELECT yquota.update_container(pg_temp.c(1), 0);
SELECT yquota.update_container(pg_temp.c(1), 0, pg_temp.gb(2), 'OPPORTUNISTIC');
SELECT yquota.update_container(NULL, 0, pg_temp.gb(2));
SELECT yquota.update_container(pg_temp.c(1), NULL, pg_temp.gb(2));
SELECT yquota.update_containers('application_1_0001', NULL);
SELECT yquota.update_containers('application_1_0001', '{NULL}');
SELECT yquota.update_containers('application_9_0001', '{}');
SELECT yquota.update_containers('application_1_0001', '{}');
INSERT INTO yquota.container_event (event, container_id, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'nowhere', 'p', 'application_1_0001', 'ann', 'root.a', pg_temp.gb(1)),
	('CONTAINER_START', 'alone', 'p', NULL, 'ann', 'root.a', pg_temp.gb(1));
SELECT yquota.update_container('nowhere', 0, pg_temp.gb(2));
SELECT yquota.update_container('alone', 0, pg_temp.gb(2));
SELECT yquota.release_containers('{nowhere,alone}');

\echo V112: room for an increase is reserved, and the increase is made when there is room
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE container_id NOT IN (pg_temp.c(1))));
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(2), 1, 'h1'), yquota.request_containers('application_1_0001', pg_temp.gb(2), 1, '/default-rack', relax_locality => false),
	   yquota.request_containers('application_1_0001', pg_temp.gb(2), 1, relax_locality => false);
SELECT pg_temp.heartbeat('h1');
SELECT yquota.update_container(pg_temp.c(1), 0, pg_temp.gb(7));
SELECT pg_temp.heartbeat('h1');
TABLE reserved;
TABLE pending;
SELECT application_id, pending_containers, pending, reserved_containers, reserved, waits_for FROM yquota.scheduler_application;
SELECT queue, used_capacity, pending_containers AS pc, reserved_containers AS rc, used, reserved, pending FROM yquota.scheduler_queue;
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE container_id <> pg_temp.c(1)));
SELECT pg_temp.heartbeat('h1');
TABLE running;
TABLE reserved;
SELECT node, guaranteed, available FROM yquota.scheduler_node ORDER BY 1;
SELECT application_id, pending_containers, pending, reserved_containers, reserved FROM yquota.scheduler_application;
\echo the reservation is given up when the increase is cancelled
SELECT yquota.update_container(pg_temp.c(1), 1, pg_temp.gb(1));
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(2), 1);
SELECT pg_temp.heartbeat('h1');
SELECT yquota.update_container(pg_temp.c(1), 2, pg_temp.gb(7));
SELECT pg_temp.heartbeat('h1');
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE container_id <> pg_temp.c(1)));
SELECT yquota.update_container(pg_temp.c(1), 2, pg_temp.gb(1));
SELECT pg_temp.heartbeat('h1');
TABLE reserved;
TABLE running;
\echo the reservation is given up when the container ends, or another size is asked for
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(2), 2);
SELECT pg_temp.heartbeat('h1'), pg_temp.heartbeat('h1');
SELECT yquota.update_container((SELECT max(container_id) FROM yquota.container), 0, pg_temp.gb(7));
SELECT pg_temp.heartbeat('h1');
TABLE reserved;
SELECT yquota.update_container((SELECT max(container_id) FROM yquota.container), 0, pg_temp.gb(6));
TABLE reserved;
SELECT pg_temp.heartbeat('h1');
TABLE reserved;
SELECT yquota.release_containers(ARRAY(SELECT max(container_id) FROM yquota.container));
SELECT pg_temp.heartbeat('h2');
TABLE reserved;
TABLE pending;
SELECT application_id, has_outstanding_requests FROM yquota.application;
SELECT yquota.release_containers(ARRAY(SELECT max(container_id) FROM yquota.container));

\echo V113: without headroom nothing is reserved
UPDATE yquota.node SET total = '[memory-mb=0,vcores=0]' WHERE name = 'h2';
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(2), 1);
SELECT pg_temp.heartbeat('h1');
SELECT yquota.update_container((SELECT max(container_id) FROM yquota.container), 0, pg_temp.gb(8));
SELECT pg_temp.heartbeat('h1');
SELECT decision, application_id, queue, allocation, stopped_by, maximum FROM yquota.schedule('{h1}', explain => true) \gx
TABLE reserved;
TABLE pending;
SELECT queue, containers, allocation FROM yquota.queue_usage;
UPDATE yquota.node SET total = '[memory-mb=8192,vcores=8]' WHERE name = 'h2';

\echo an increase that nobody acknowledges is taken back, unless node managers are told of it directly
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.update_container((SELECT max(container_id) FROM yquota.container), 0, pg_temp.gb(4));
SELECT pg_temp.heartbeat('h1');
SELECT yquota.set_clock('2026-03-02 10:45+00');
SELECT pg_temp.heartbeat('h2');
TABLE running;
UPDATE yquota.scheduler_setting SET auto_update_containers = true;
SELECT yquota.update_container((SELECT max(container_id) FROM yquota.container), 2, pg_temp.gb(4));
SELECT pg_temp.heartbeat('h1');
SELECT yquota.set_clock('2026-03-02 11:00+00');
SELECT pg_temp.heartbeat('h2');
TABLE running;
SELECT count(*) FROM yquota.decision;
SELECT * FROM yquota.verify();

\echo a what-if with a cycle in the middle of it
BEGIN;
SELECT yquota.update_container(pg_temp.c(1), 2, pg_temp.gb(2));
SELECT pg_temp.heartbeat('h1');
ROLLBACK;
TABLE running;
TABLE pending;
\echo updates go with the application
SELECT yquota.update_container(pg_temp.c(1), 2, pg_temp.gb(2));
SELECT yquota.finish_application('application_1_0001');
TABLE pending;
SELECT count(*) FROM yquota_internal.container_version;
SELECT yquota.update_container(pg_temp.c(1), 2, pg_temp.gb(2));
SELECT * FROM yquota.update_containers('application_1_0001', ARRAY[ROW(pg_temp.c(1), 2, pg_temp.gb(2), NULL, 1, -1)::yquota.container_update_request]);
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_container_update WITH (FORCE);
