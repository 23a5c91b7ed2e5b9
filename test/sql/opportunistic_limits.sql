-- Limits of sharing: how many OPPORTUNISTIC containers queues, users and applications may have at
-- once, running and waiting. Refused requests stay outstanding.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic_limits WITH (FORCE);
CREATE DATABASE yquota_opportunistic_limits;
\c yquota_opportunistic_limits
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p'), ('q');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.a.x', '50'), ('root.a.y', '50'), ('root.b', '50');
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_anywhere_order, opportunistic_queue_capacity)
VALUES (1, true, 'round_robin', 50);
INSERT INTO yquota.node (name, total) SELECT 'n' || n, '[memory-mb=8192,vcores=8]' FROM generate_series(1, 3) AS n;
SELECT count(*) FROM (VALUES (1, 'ann', 'x', 'p'), (2, 'bob', 'y', 'p'), (3, 'ann', 'b', 'q')) AS v (n, username, queue, project),
	LATERAL yquota.submit_application('application_1_000' || n, username, NULL, queue, project => v.project, unmanaged => true);
SELECT count(*) FROM yquota.report_nodes(ARRAY(SELECT ROW(n.name, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL)::yquota.node_report FROM yquota.node AS n));

-- Allocate to an application, and return the result in one line, with the refusals.
CREATE FUNCTION pg_temp.ask(application integer, count integer, size text DEFAULT '[memory-mb=1024,vcores=1]', priority integer DEFAULT 1)
	RETURNS TABLE (given bigint, refused text) LANGUAGE sql AS $$
	SELECT count(*) FILTER (WHERE g.decision = 'allocated'),
		   string_agg(format('priority %s, %s: %s, %s', g.priority, g.allocation, g.stopped_by, g.stopped_at), '; ') FILTER (WHERE g.decision = 'passed over')
	FROM yquota.allocate_opportunistic('application_1_000' || application,
		CASE WHEN count > 0 THEN ARRAY[ROW('*', size, count, priority, priority, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request] ELSE '{}' END) AS g
$$;
CREATE FUNCTION pg_temp.end_some(application integer, count integer) RETURNS bigint LANGUAGE sql AS $$
	WITH ended AS (
		INSERT INTO yquota.container_event (event, container_id, occurred_at)
		SELECT 'CONTAINER_FINISH', c.container_id, yquota.clock() FROM yquota.container AS c
		WHERE c.application_id = 'application_1_000' || application ORDER BY c.container_id LIMIT count
		RETURNING 1)
	SELECT count(*) FROM ended
$$;
CREATE TEMPORARY VIEW usage AS SELECT scope, name, maximum_containers AS most, maximum_resource, containers, allocation FROM yquota.opportunistic_limit_usage ORDER BY 1, 2;
-- Compute the contents of the view from the containers themselves, and return the rows that differ.
CREATE TEMPORARY VIEW differing AS
	SELECT u.scope, u.name, u.containers, u.allocation FROM yquota.opportunistic_limit_usage AS u
	CROSS JOIN LATERAL (
		SELECT count(*) AS containers, coalesce(yquota.sum(c.allocation), '[]') AS allocation FROM yquota.container AS c
		WHERE c.execution_type = 'OPPORTUNISTIC' AND CASE u.scope WHEN 'queue' THEN c.queue = u.name OR c.queue LIKE u.name || '.%'
			WHEN 'user' THEN c.username = u.name ELSE c.application_id = u.name END) AS held
	WHERE (u.containers, u.allocation::text) IS DISTINCT FROM (held.containers, held.allocation::text);

\echo the worked example: five for the queue root.a with all queues below it, three for each application
BEGIN;
SELECT * FROM pg_temp.ask(1, 2);
UPDATE yquota.queue SET opportunistic_maximum_containers = 5 WHERE path = 'root.a';
UPDATE yquota.scheduler_setting SET opportunistic_application_maximum_containers = 3;
TABLE usage;
SELECT * FROM pg_temp.ask(1, 4);
SELECT * FROM pg_temp.ask(2, 4);
SELECT * FROM pg_temp.ask(3, 4);
TABLE usage;
SELECT application_id, priority, count FROM yquota.resource_request ORDER BY 1;
-- a container of each application ends, and outstanding requests are served
SELECT pg_temp.end_some(1, 1), pg_temp.end_some(2, 1);
SELECT * FROM pg_temp.ask(1, 0);
SELECT * FROM pg_temp.ask(2, 0);
TABLE usage;
TABLE differing;
SELECT * FROM yquota.verify();
ROLLBACK;
TABLE usage;

\echo TRUNCATE takes away the limits, and their counters with them
BEGIN;
UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_containers = 9;
SELECT count(*) AS counting FROM yquota_internal.opportunistic_counting;
TRUNCATE yquota.scheduler_setting;
SELECT count(*) AS counting FROM yquota_internal.opportunistic_counting;
ROLLBACK;

\echo verify() compares the counters with the books
BEGIN;
UPDATE yquota.queue SET opportunistic_maximum_containers = 5 WHERE path = 'root.a';
SELECT * FROM pg_temp.ask(1, 2);
SELECT count(*) FROM yquota.verify();
INSERT INTO yquota_internal.opportunistic_change (queue, username, application_id, containers, allocation)
VALUES ('root.a', 'ann', 'application_1_0099', 1, '[memory-mb=1024]');
SELECT * FROM yquota.verify() ORDER BY subject;
ROLLBACK;

\echo without a limit nothing is counted; the end of the last limit removes the counters
BEGIN;
SELECT * FROM pg_temp.ask(1, 2);
SELECT (SELECT count(*) FROM yquota_internal.opportunistic_change) + (SELECT count(*) FROM yquota_internal.opportunistic_counter) AS rows;
UPDATE yquota.queue SET opportunistic_maximum_containers = 9 WHERE path = 'root';
TABLE usage;
SELECT * FROM pg_temp.ask(1, 9);
UPDATE yquota.queue SET opportunistic_maximum_containers = NULL WHERE path = 'root';
SELECT (SELECT count(*) FROM yquota_internal.opportunistic_change) + (SELECT count(*) FROM yquota_internal.opportunistic_counter) AS rows;
SELECT * FROM pg_temp.ask(1, 9);
-- containers were not counted while no limit was set
UPDATE yquota.queue SET opportunistic_maximum_containers = 12 WHERE path = 'root';
TABLE usage;
SELECT * FROM pg_temp.ask(1, 9);
DELETE FROM yquota.queue WHERE path = 'root.b';
ROLLBACK;

\echo limits of one resource type and of several; the size of a container counts as rounded
BEGIN;
UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_resource = '[memory-mb=6144]', opportunistic_increment_allocation_mb = 1024;
SELECT * FROM pg_temp.ask(1, 3, '[memory-mb=1500,vcores=3]');
SELECT * FROM pg_temp.ask(1, 5, '[memory-mb=1024,vcores=1]', 2);
-- a user's containers in all queues count
SELECT * FROM pg_temp.ask(3, 1);
SELECT * FROM pg_temp.ask(2, 1);
UPDATE yquota.queue SET opportunistic_maximum_resource = '[memory-mb=65536,vcores=3]' WHERE path = 'root.a.y';
-- the request for larger containers is refused, and the request for smaller ones is not
SELECT * FROM pg_temp.ask(2, 1, '[memory-mb=1024,vcores=3]', 3);
SELECT * FROM pg_temp.ask(2, 9, '[memory-mb=1024,vcores=1]', 4);
TABLE usage;
TABLE differing;
UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_resource = NULL, opportunistic_user_maximum_containers = 0;
SELECT * FROM pg_temp.ask(1, 0);
ROLLBACK;

\echo promotions, demotions, moves, resizes and containers of other sources change the counters
BEGIN;
UPDATE yquota.queue SET opportunistic_maximum_containers = CASE path WHEN 'root.b' THEN 1 ELSE 4 END WHERE path IN ('root.a', 'root.b');
SELECT * FROM pg_temp.ask(1, 2);
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'container_1_0001_01_000001', yquota.clock() + interval '1 s', 'GUARANTEED');
TABLE usage;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type) VALUES
	('CONTAINER_START', 'other1', yquota.clock(), 'p', 'application_1_0002', 'bob', 'root.a.y', 'n1', '[memory-mb=512]', 'OPPORTUNISTIC'),
	('CONTAINER_START', 'other2', yquota.clock(), 'p', 'application_1_0002', 'bob', 'root.a.y', 'n1', '[memory-mb=512]', 'GUARANTEED'),
	('CONTAINER_START', 'other3', yquota.clock(), 'p', NULL, NULL, NULL, 'n1', '[memory-mb=512]', 'OPPORTUNISTIC');
SELECT yquota.update_container('other2', 0, execution_type => 'OPPORTUNISTIC');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'other1', yquota.clock() + interval '1 s', '[memory-mb=256]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue) VALUES ('CONTAINER_UPDATE', 'container_1_0001_01_000002', yquota.clock() + interval '1 s', 'root.b');
TABLE usage;
SELECT * FROM pg_temp.ask(1, 9);
-- a demotion is never refused
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'container_1_0001_01_000001', yquota.clock() + interval '2 s', 'OPPORTUNISTIC');
TABLE usage;
SELECT * FROM pg_temp.ask(1, 0);
SELECT * FROM pg_temp.ask(3, 1);
TABLE differing;
-- many deltas are compacted into the counters
UPDATE yquota.queue SET opportunistic_maximum_containers = 200 WHERE path = 'root.a';
DO $$ BEGIN FOR n IN 1 .. 70 LOOP
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type)
	VALUES ('CONTAINER_START', 'many' || n, yquota.clock(), 'p', 'application_1_0001', 'ann', 'root.a.x', 'n1', '[memory-mb=1]', 'OPPORTUNISTIC');
END LOOP; END $$;
SELECT count(*) > 64 AS many FROM yquota_internal.opportunistic_change;
SELECT * FROM pg_temp.ask(2, 1);
SELECT count(*) FROM yquota_internal.opportunistic_change;
TABLE usage;
TABLE differing;
SELECT * FROM yquota.verify();
ROLLBACK;

\echo local schedulers: each container beyond a limit is refused
BEGIN;
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = true, amrmproxy_enabled = true, opportunistic_application_maximum_resource = '[memory-mb=4096]';
UPDATE yquota.queue SET opportunistic_maximum_containers = 4 WHERE path = 'root.a';
SELECT count(*) FROM yquota.lease_nodes('n1');
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT container_id, accepted, reason FROM yquota.report_distributed_containers('n1', ARRAY(
	SELECT ROW(a, (l.epoch - 1) * 1099511627776 + n, 'n2', size, 1, -1, NULL, NULL, NULL, NULL)::yquota.distributed_container
	FROM yquota.node_lease AS l, (VALUES ('application_1_0001', 1, '[memory-mb=2048]'), ('application_1_0001', 2, '[memory-mb=3072]'), ('application_1_0001', 3, '[memory-mb=1024]'),
		('application_1_0002', 4, '[memory-mb=1024]'), ('application_1_0002', 5, '[memory-mb=1024]'), ('application_1_0002', 6, '[memory-mb=1024]'), ('application_1_0003', 7, '[memory-mb=1024]')) AS c (a, n, size) ORDER BY n));
TABLE usage;
TABLE differing;
-- a repeated report gets the same answers
SELECT count(*) FILTER (WHERE accepted) AS accepted, count(DISTINCT reason) AS reasons FROM yquota.report_distributed_containers('n1', ARRAY(
	SELECT ROW(a, (l.epoch - 1) * 1099511627776 + n, 'n2', '[memory-mb=2048]', 1, -1, NULL, NULL, NULL, NULL)::yquota.distributed_container
	FROM yquota.node_lease AS l, (VALUES ('application_1_0001', 1), ('application_1_0001', 2)) AS c (a, n)));
SELECT count(*) FROM yquota.report_distributed_containers('n1', '{}');
ROLLBACK;

\echo operators and members see the limits; only administrators change them
BEGIN;
UPDATE yquota.queue SET opportunistic_maximum_containers = 5 WHERE path = 'root.a';
UPDATE yquota.scheduler_setting SET opportunistic_application_maximum_containers = 3, opportunistic_user_maximum_containers = 9;
SELECT count(*) FROM (SELECT n, (pg_temp.ask(n, 1)).given FROM generate_series(1, 3) AS n) AS asked;
CREATE ROLE regress_yquota_operator; CREATE ROLE regress_yquota_member;
SELECT yquota.allow_role('regress_yquota_operator', 'operator'), yquota.allow_role('regress_yquota_member', 'member', 'q');
SET LOCAL ROLE regress_yquota_operator;
SELECT scope, name, containers FROM yquota.opportunistic_limit_usage ORDER BY 1, 2;
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 9, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SET LOCAL ROLE regress_yquota_member;
SELECT scope, name, containers FROM yquota.opportunistic_limit_usage ORDER BY 1, 2;
SAVEPOINT s;
UPDATE yquota.queue SET opportunistic_maximum_containers = 9;
ROLLBACK TO s;
ROLLBACK;

\echo refused values and levels; imports leave the limits as they are
\set VERBOSITY terse
UPDATE yquota.queue SET opportunistic_maximum_containers = -1;
UPDATE yquota.queue SET opportunistic_maximum_resource = '[memory-mb=-1]';
UPDATE yquota.queue SET opportunistic_maximum_resource = '[memory-mb=0]';
UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_containers = -1;
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE yquota.queue SET opportunistic_maximum_containers = 5 WHERE path = 'root.a';
ROLLBACK;
BEGIN;
UPDATE yquota.queue SET opportunistic_maximum_containers = 5, opportunistic_maximum_resource = '[memory-mb=5,yarn.io/gpu=1]' WHERE path = 'root.a';
UPDATE yquota.scheduler_setting SET opportunistic_user_maximum_containers = 9;
SELECT count(*) > 0 AS imported FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a,c", "yarn.scheduler.capacity.root.a.capacity": "50", "yarn.scheduler.capacity.root.c.capacity": "50"}'::jsonb);
SELECT path, opportunistic_maximum_containers, opportunistic_maximum_resource FROM yquota.queue ORDER BY path;
SELECT opportunistic_user_maximum_containers FROM yquota.scheduler_setting;
ROLLBACK;

\c postgres
DROP DATABASE yquota_opportunistic_limits;
