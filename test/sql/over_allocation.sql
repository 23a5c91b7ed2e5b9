-- OPPORTUNISTIC containers beyond a node's resources, by its measured use. The test includes the
-- worked example of docs/opportunistic.md, types and ages of reports, containers that must make
-- room, and bad input.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_over_allocation WITH (FORCE);
CREATE DATABASE yquota_over_allocation;
\c yquota_over_allocation
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity) VALUES (10);
INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=10240,vcores=16]');

-- Containers are named by the last part of their ids.
CREATE FUNCTION pg_temp.c(number integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('container_1_0001_01_%s', lpad(number::text, 6, '0'))
$$;
CREATE FUNCTION pg_temp.told(actions yquota.node_action[]) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' ', a.action, right(a.container_id, 2), 'for ' || right(a.made_room_for, 2)), ', ' ORDER BY a.number), 'nothing')
	FROM unnest(actions) WITH ORDINALITY AS a (action, container_id, execution_type, allocation, exit_status, diagnostics, made_room_for, number)
$$;
CREATE FUNCTION pg_temp.arrive(number integer, type text, size text) RETURNS text LANGUAGE sql AS $$
	SELECT yquota.set_clock(yquota.clock() + interval '1 s');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
	VALUES ('CONTAINER_START', pg_temp.c(number), yquota.clock(), 'p', 'application_1_0001', 'u', 'root.default', 'n', size::yquota.resource,
			CASE type WHEN 'G' THEN 'GUARANTEED' ELSE 'OPPORTUNISTIC' END::yquota.execution_type, type = 'G');
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.enqueue_container('n', pg_temp.c(number)) AS a));
$$;
CREATE FUNCTION pg_temp.ended(number integer, at timestamptz DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT yquota.set_clock(yquota.clock() + interval '1 s');
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.container_ended('n', pg_temp.c(number), ended.at) AS a));
$$;
CREATE FUNCTION pg_temp.paused(number integer) RETURNS text LANGUAGE sql AS $$
	SELECT yquota.set_clock(yquota.clock() + interval '1 s');
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.container_paused('n', pg_temp.c(number)) AS a));
$$;
CREATE FUNCTION pg_temp.advance() RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.advance_node_queue('n') AS a))
$$;
-- The node reports, and a second later its agent asks for work.
CREATE FUNCTION pg_temp.report(measured text, reported_at timestamptz DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT yquota.set_clock(yquota.clock() + interval '1 s');
	SELECT yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, NULL, report.reported_at, NULL, report.measured::yquota.resource)::yquota.node_report]);
	SELECT yquota.set_clock(yquota.clock() + interval '1 s');
	SELECT pg_temp.advance();
$$;
CREATE FUNCTION pg_temp.room(resource_type text DEFAULT 'memory-mb')
	RETURNS TABLE (total bigint, allocated bigint, guaranteed bigint, free bigint, measured bigint, since bigint, room bigint, excess bigint, freed bigint)
	LANGUAGE sql AS $$
	SELECT r.total, r.allocated, r.guaranteed, r.free, r.measured, r.opportunistic_since, r.room, r.excess, r.freed
	FROM yquota.node_room AS r WHERE r.node = 'n' AND r.resource_type = room.resource_type
$$;
CREATE TEMPORARY VIEW queue AS
	SELECT right(q.container_id, 2) AS c, left(q.execution_type::text, 1) AS type, q.state, q.left_reason AS reason, right(q.made_room_for, 2) AS room_for, q.diagnostics
	FROM yquota.node_queue AS q ORDER BY q.container_id;

\echo the example: the room that is not allocated, and the room that is not in use
BEGIN;
SELECT pg_temp.arrive(1, 'G', '[memory-mb=4096,vcores=1]'), pg_temp.arrive(2, 'O', '[memory-mb=2048,vcores=1]'), pg_temp.arrive(3, 'O', '[memory-mb=2048,vcores=1]');
SELECT pg_temp.report('[memory-mb=5000,vcores=3]');
SELECT * FROM pg_temp.room();
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 0.8);
SELECT * FROM pg_temp.room();
SELECT pg_temp.arrive(4, 'O', '[memory-mb=2048,vcores=1]');
SELECT * FROM pg_temp.room();
SELECT pg_temp.arrive(5, 'O', '[memory-mb=2048,vcores=1]');
\echo the room changes with the next report
SELECT pg_temp.report('[memory-mb=5100,vcores=4]');
SELECT * FROM pg_temp.room();
\echo above the preemption threshold, the container that started last is killed
UPDATE yquota.over_allocation SET preemption_threshold = 0.9;
SELECT pg_temp.report('[memory-mb=9600,vcores=4]');
SELECT * FROM pg_temp.room();
TABLE queue;
SELECT decision, right(container_id, 2) AS c, diagnostics FROM yquota.decision WHERE decision = 'killed';
SELECT action, right(container_id, 2) AS c, exit_status, made_room_for, diagnostics FROM yquota.node_work('n') WHERE action = 'kill';
\echo the same report kills no other container, before the end of the killed one and after it
SELECT pg_temp.advance();
SELECT pg_temp.ended(5);
SELECT pg_temp.advance();
SELECT * FROM pg_temp.room();
SELECT left_reason, exit_status, diagnostics FROM yquota.node_queue WHERE left_at IS NOT NULL;
\echo the next report kills another one
SELECT pg_temp.report('[memory-mb=9600,vcores=4]');
SELECT metric, labels, value FROM yquota.metrics WHERE family IN ('over_allocation', 'node_preemption') ORDER BY 1, 2;
ROLLBACK;

\echo a GUARANTEED container gets its room by the allocations, whatever is in use: all containers beyond the size of the node are killed, too
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 1);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=4096,vcores=1]'), pg_temp.arrive(2, 'O', '[memory-mb=4096,vcores=1]'), pg_temp.report('[memory-mb=2000,vcores=1]');
SELECT pg_temp.arrive(3, 'O', '[memory-mb=4096,vcores=1]'), pg_temp.arrive(4, 'O', '[memory-mb=4096,vcores=1]');
SELECT * FROM pg_temp.room();
SELECT pg_temp.arrive(5, 'G', '[memory-mb=1024,vcores=1]');
\echo the GUARANTEED container starts when there is room by the allocations
SELECT pg_temp.ended(4), pg_temp.ended(3);
SELECT * FROM pg_temp.room();
\echo containers that started after the report count with their allocations: OPPORTUNISTIC ones on top, GUARANTEED ones as in use
SELECT pg_temp.arrive(6, 'G', '[memory-mb=512,vcores=1]');
SELECT guaranteed, guaranteed_since, opportunistic_since, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
SELECT pg_temp.arrive(7, 'O', '[memory-mb=6704,vcores=1]');
SELECT guaranteed, guaranteed_since, opportunistic_since, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
SELECT pg_temp.arrive(8, 'O', '[memory-mb=1,vcores=1]');
ROLLBACK;

\echo reports that do not count: none at all, one without a measure, one that is too old, one ahead of the clock
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold) VALUES ('memory-mb', 0.8, 0.9);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=8192,vcores=1]');
SELECT reported_at, measured, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
SELECT pg_temp.report(NULL);
SELECT reported_at, measured, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
SELECT pg_temp.report('[memory-mb=1000]', yquota.clock());
SELECT yquota.set_clock('2026-03-02 10:00:13+00');
SELECT reported_at, measured, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
SELECT yquota.set_clock('2026-03-02 10:00:13.000001+00');
SELECT reported_at, measured, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
UPDATE yquota.scheduler_setting SET report_max_age = '1 min';
SELECT reported_at, measured, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
SELECT yquota.set_clock('2026-03-02 10:00:02+00');
SELECT reported_at, measured, room FROM yquota.node_room WHERE resource_type = 'memory-mb';
\echo an old report kills no container
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, NULL, NULL, NULL, '[memory-mb=10000]')::yquota.node_report]);
SELECT yquota.set_clock('2026-03-02 10:02:00.000001+00');
SELECT pg_temp.advance();
ROLLBACK;

\echo a resource type without a threshold, or without a measure, has the room of its allocations
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('vcores', 1.5);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=2048,vcores=16]'), pg_temp.report('[memory-mb=100]'), pg_temp.arrive(2, 'O', '[memory-mb=1024,vcores=1]');
SELECT pg_temp.report('[memory-mb=100,vcores=4]');
SELECT resource_type, free, measured, room FROM yquota.node_room;
SELECT pg_temp.arrive(3, 'O', '[memory-mb=1024,vcores=19]'), pg_temp.arrive(4, 'O', '[memory-mb=8000,vcores=1]');
ROLLBACK;
\echo when the use is above the threshold, the room is that of the allocations
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 0.5);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=8192,vcores=1]'), pg_temp.report('[memory-mb=5000,vcores=1]');
SELECT pg_temp.arrive(2, 'O', '[memory-mb=2048,vcores=1]'), pg_temp.arrive(3, 'O', '[memory-mb=1,vcores=1]');
SELECT * FROM pg_temp.room();
ROLLBACK;
\echo a threshold is exact: one MiB more is beyond it
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold) VALUES ('memory-mb', 0.333333, 0.7), ('vcores', 0.7, 0.7);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=10240,vcores=10]');
SELECT pg_temp.report('[memory-mb=7168,vcores=11]'), (SELECT room FROM pg_temp.room()), (SELECT excess FROM pg_temp.room()), (SELECT room FROM pg_temp.room('vcores')), (SELECT excess FROM pg_temp.room('vcores'));
SELECT pg_temp.report('[memory-mb=7169,vcores=12]');
SELECT diagnostics FROM yquota.node_queue;
ROLLBACK;

\echo while the use is above the preemption threshold, no container starts, not even in the room of the allocations
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, preemption_threshold) VALUES ('memory-mb', 0.9);
SELECT pg_temp.arrive(1, 'G', '[memory-mb=1024,vcores=1]'), pg_temp.report('[memory-mb=9300]'), pg_temp.arrive(2, 'O', '[memory-mb=1024,vcores=1]'), pg_temp.arrive(3, 'G', '[memory-mb=1024,vcores=1]');
SELECT pg_temp.report('[memory-mb=9216]');
ROLLBACK;
\echo with the policy BY_RESOURCES, a container that cannot start is rejected
BEGIN;
UPDATE yquota.scheduler_setting SET opportunistic_queue_policy = 'BY_RESOURCES';
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 0.8);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=10240,vcores=1]'), pg_temp.report('[memory-mb=5000]'), pg_temp.arrive(2, 'O', '[memory-mb=3192,vcores=1]'), pg_temp.arrive(3, 'O', '[memory-mb=1,vcores=1]');
ROLLBACK;

\echo containers are paused instead of killed; those that have paused or ended since the report count
BEGIN;
UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = true;
INSERT INTO yquota.over_allocation (resource_type, preemption_threshold) VALUES ('memory-mb', 0.5);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=1024,vcores=1]'), pg_temp.arrive(2, 'O', '[memory-mb=1024,vcores=1]'), pg_temp.arrive(3, 'O', '[memory-mb=1024,vcores=1]'), pg_temp.arrive(4, 'O', '[memory-mb=1024,vcores=1]');
SELECT pg_temp.report('[memory-mb=6000]');
SELECT pg_temp.paused(4), pg_temp.advance();
TABLE queue;
SELECT pg_temp.report('[memory-mb=6500]');
SELECT * FROM pg_temp.room();
\echo a container that was to be paused ends by itself
SELECT pg_temp.ended(3), pg_temp.ended(2), pg_temp.advance();
SELECT * FROM pg_temp.room();
\echo a container that had ended before the report was not in use any more
SELECT pg_temp.arrive(5, 'O', '[memory-mb=1024,vcores=1]'), pg_temp.report('[memory-mb=2000]');
SELECT yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, NULL, NULL, NULL, '[memory-mb=5500]')::yquota.node_report]);
SELECT pg_temp.ended(1, yquota.clock() - interval '1 s');
SELECT * FROM pg_temp.room();
\echo the paused container goes on when less is in use
SELECT pg_temp.report('[memory-mb=4000]');
ROLLBACK;

\echo containers that are ending when the report comes count, and still count when they have ended
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, preemption_threshold) VALUES ('memory-mb', 0.5);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=4096,vcores=1]'), pg_temp.arrive(2, 'O', '[memory-mb=4096,vcores=1]'), pg_temp.arrive(3, 'G', '[memory-mb=4096,vcores=1]');
SELECT pg_temp.report('[memory-mb=6000]');
SELECT pg_temp.ended(2), pg_temp.advance();
SELECT * FROM pg_temp.room();
ROLLBACK;

\echo a what-if leaves nothing behind
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 2);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=8192,vcores=1]'), pg_temp.report('[memory-mb=5000,vcores=1]'), pg_temp.arrive(2, 'O', '[memory-mb=8192,vcores=1]');
ROLLBACK;
SELECT pg_temp.advance(), (SELECT count(*) FROM yquota.node_queue), (SELECT room FROM pg_temp.room());

\echo a node leaves service, or its size changes
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold) VALUES ('memory-mb', 0.8, 0.9);
SELECT pg_temp.arrive(1, 'O', '[memory-mb=8192,vcores=1]'), pg_temp.report('[memory-mb=5000]');
UPDATE yquota.node SET total = '[memory-mb=20480,vcores=1]';
SELECT room, excess FROM yquota.node_room WHERE resource_type = 'memory-mb';
UPDATE yquota.node SET total = '[memory-mb=5000,vcores=1]';
SELECT free, room, excess FROM yquota.node_room WHERE resource_type = 'memory-mb';
-- a resource type that the node does not have cannot be in excess
UPDATE yquota.node SET total = '[vcores=1]';
SELECT free, room, excess FROM yquota.node_room WHERE resource_type = 'memory-mb';
SELECT pg_temp.advance();
UPDATE yquota.node SET state = 'LOST';
SELECT total, measured, room, excess FROM yquota.node_room;
ROLLBACK;

\echo administrators set thresholds, operators and members read them; a read-only transaction sees the room
SET client_min_messages = error;
CREATE ROLE yquota_test_over_admin; CREATE ROLE yquota_test_over_agent; CREATE ROLE yquota_test_over_member;
SELECT yquota.allow_role('yquota_test_over_admin', 'admin'), yquota.allow_role('yquota_test_over_agent', 'operator'), yquota.allow_role('yquota_test_over_member', 'member', 'p');
BEGIN;
SET ROLE yquota_test_over_admin;
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 0.8);
SELECT operation, old, new FROM yquota.audit WHERE table_name LIKE '%over_allocation';
SELECT metric, value FROM yquota.metrics WHERE family LIKE '%over_allocation';
RESET ROLE;
SELECT pg_temp.arrive(1, 'O', '[memory-mb=8192,vcores=1]');
SET ROLE yquota_test_over_agent;
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, NULL, NULL, NULL, '[memory-mb=4000]')::yquota.node_report]);
SELECT action FROM yquota.advance_node_queue('n');
SELECT node, resource_type, threshold, measured, room FROM yquota.node_room;
SET ROLE yquota_test_over_member;
TABLE yquota.over_allocation;
SAVEPOINT denied;
SELECT * FROM yquota.node_room;
ROLLBACK TO denied;
DELETE FROM yquota.over_allocation;
ROLLBACK;
BEGIN READ ONLY;
SELECT resource_type, room FROM yquota.node_room;
COMMIT;
SELECT yquota.disallow_role('yquota_test_over_admin', 'admin'), yquota.disallow_role('yquota_test_over_agent', 'operator'), yquota.disallow_role('yquota_test_over_member', 'member', 'p');
DROP ROLE yquota_test_over_admin, yquota_test_over_agent, yquota_test_over_member;
SET client_min_messages = warning;

\echo invalid input
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('yarn.io/gpu', 0.8);
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 0);
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 'NaN');
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 0.8000001);
INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold) VALUES ('memory-mb', 0.8, 0.7);
INSERT INTO yquota.over_allocation (resource_type, preemption_threshold) VALUES ('memory-mb', 90);
INSERT INTO yquota.over_allocation (resource_type, threshold) VALUES ('memory-mb', 10.1);
-- the row is long, and grows
\set VERBOSITY terse
UPDATE yquota.scheduler_setting SET report_max_age = '0';
\set VERBOSITY default
-- the largest amounts
BEGIN;
INSERT INTO yquota.over_allocation (resource_type, threshold, preemption_threshold) VALUES ('memory-mb', 10, 10), ('vcores', 0.000001, 0.000001);
UPDATE yquota.node SET total = '[memory-mb=9223372036854775807,vcores=9223372036854775807]';
SELECT pg_temp.report('[memory-mb=9223372036854775807,vcores=9223372036854775807]');
SELECT resource_type, free, room, excess FROM yquota.node_room;
ROLLBACK;

\c postgres
DROP DATABASE yquota_over_allocation WITH (FORCE);
