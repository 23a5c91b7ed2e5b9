-- Promotion by rule: OPPORTUNISTIC containers that have run for queue.auto_promote_after become
-- GUARANTEED when there is room. The promotion follows the rules of update_container(), and the
-- containers that have run longest come first.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_auto_promotion WITH (FORCE);
CREATE DATABASE yquota_auto_promotion;
\c yquota_auto_promotion
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
SELECT yquota.set_base_price('vcores', 0.01, 1), yquota.set_base_price('memory-mb', 0.01, 1024);
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, maximum_am_resource_percent, auto_update_containers) VALUES (10, 1, true);
INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor) VALUES
	('root', NULL, NULL, NULL), ('root.a', '50', '75', 4), ('root.b', '50', NULL, NULL);
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=8192,vcores=8]'), ('n2', '[memory-mb=8192,vcores=8]');
SELECT count(*) FROM (VALUES (1, 'ann', 'a'), (2, 'bob', 'b')) AS v (n, username, queue),
	LATERAL yquota.submit_application('application_1_000' || n, username, NULL, queue, project => 'p', unmanaged => true);

-- Start a container of an application on a node and, if there is no room, queue it there.
CREATE FUNCTION pg_temp.start(application integer, number integer, node text, memory integer, type yquota.execution_type DEFAULT 'OPPORTUNISTIC')
	RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	id text := format('container_1_%s_01_%s', lpad(application::text, 4, '0'), lpad((100 + number)::text, 6, '0'));
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running, priority, allocation_request_id)
	SELECT 'CONTAINER_START', id, yquota.clock(), 'p', a.application_id, a.username, a.queue, start.node,
		   format('[memory-mb=%s,vcores=1]', memory)::yquota.resource, type, type = 'GUARANTEED', 7, number
	FROM yquota.application AS a WHERE a.application_id = 'application_1_' || lpad(application::text, 4, '0');
	RETURN (SELECT string_agg(e.action, ', ') FROM yquota.enqueue_container(start.node, id) AS e);
END $$;
CREATE FUNCTION pg_temp.at(at text) RETURNS void LANGUAGE sql AS $$ SELECT yquota.set_clock(('2026-03-02 ' || at || '+00')::timestamptz) $$;
CREATE FUNCTION pg_temp.c(container_id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT ltrim(split_part(container_id, '_', 3), '0') || '.' || (split_part(container_id, '_', 5)::integer - 100)
$$;
CREATE TEMPORARY VIEW books AS
	SELECT pg_temp.c(c.container_id) AS c, c.node, left(c.execution_type::text, 1) AS type, c.is_running AS runs, coalesce(v.version, 0) AS version
	FROM yquota.container AS c LEFT JOIN yquota_internal.container_version AS v USING (container_id) ORDER BY c.container_id;
CREATE TEMPORARY VIEW log AS
	SELECT decision, pg_temp.c(container_id) AS c, queue, node, allocation, locality, priority, allocation_request_id AS request, execution_type, diagnostics
	FROM yquota.decision ORDER BY decision_id;

\echo the worked example: two of four containers have run for ten minutes, and there is room for one
BEGIN;
UPDATE yquota.queue SET auto_promote_after = '10 min' WHERE path = 'root.a';
SELECT pg_temp.start(2, 1, 'n1', 3072, 'GUARANTEED');
SELECT pg_temp.start(1, 1, 'n1', 3072);
SELECT pg_temp.at('10:01');
SELECT pg_temp.start(1, 2, 'n1', 2048);
SELECT pg_temp.at('10:05');
-- the node has no room for the container, which waits there and does not run
SELECT pg_temp.start(1, 3, 'n1', 1024);
SELECT pg_temp.at('10:09:59.999');
SELECT * FROM yquota.node_heartbeat('{n1}');
SELECT pg_temp.at('10:10');
-- the heartbeat of another node promotes no container here, and a dry run shows which one is due
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.node_heartbeat('{n2}');
SELECT decision, pg_temp.c(container_id) AS c, node, allocation, priority FROM yquota.schedule(dry_run => true);
SELECT decision, pg_temp.c(container_id) AS c, node, allocation, priority FROM yquota.node_heartbeat('{n1}');
SELECT pg_temp.at('10:11:30');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.node_heartbeat('{n1}');
SELECT pg_temp.at('10:20');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.node_heartbeat('{n1}');
TABLE books;
TABLE log;
SELECT action, pg_temp.c(container_id) AS c, execution_type FROM yquota.node_work('n1') ORDER BY 1, 2;
SELECT queue, execution_type, containers, allocation FROM yquota.queue_usage ORDER BY 1, 2;
SELECT name, value FROM yquota_internal.opportunistic_figures() WHERE name = 'containers_promoted_by_rule_total';
SELECT * FROM yquota.verify();
ROLLBACK;

\echo the container that has run longest is promoted first, within the room of the queue (12288), then of the node
BEGIN;
UPDATE yquota.queue SET auto_promote_after = '1 min' WHERE path = 'root';
SELECT count(pg_temp.start(1, n, CASE WHEN n % 2 = 0 THEN 'n1' ELSE 'n2' END, 2048)) FROM generate_series(1, 6) AS n;
SELECT pg_temp.at('10:00:30');
SELECT count(pg_temp.start(1, n, CASE WHEN n % 2 = 0 THEN 'n1' ELSE 'n2' END, 1024)) FROM generate_series(7, 8) AS n;
SELECT pg_temp.at('10:02');
SELECT decision, pg_temp.c(container_id) AS c, node FROM yquota.schedule();
-- the queue is full, and the cycle reports that for each container
SELECT decision, pg_temp.c(container_id) AS c, queue, node, allocation, stopped_by, used, maximum FROM yquota.schedule(dry_run => true, explain => true) WHERE container_id IS NOT NULL;
SELECT count(*) FROM yquota.container_update;
SELECT count(*) FROM yquota.reserved_container;
UPDATE yquota.queue SET maximum_capacity = '100' WHERE path = 'root.a';
SELECT decision, pg_temp.c(container_id) AS c, node FROM yquota.schedule();
TABLE books;
ROLLBACK;

\echo containers that are not promoted: on a node without guaranteed room, of a user at the limit, on a reserved node, on a blacklisted node
BEGIN;
UPDATE yquota.queue SET auto_promote_after = '1 min' WHERE path = 'root';
SELECT pg_temp.start(1, 1, 'n1', 2048);
SELECT pg_temp.start(2, 1, 'n1', 7168, 'GUARANTEED');
SELECT pg_temp.at('10:05');
-- The GUARANTEED container took the room of the OPPORTUNISTIC container, which is being killed and
-- so does not run.
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule(explain => true, dry_run => true) WHERE container_id IS NOT NULL;
SELECT pg_temp.start(1, 2, 'n2', 1024);
SELECT pg_temp.at('10:10');
SAVEPOINT s;
INSERT INTO yquota.container_event (event, container_id, occurred_at, node) VALUES ('CONTAINER_UPDATE', 'container_1_0002_01_000101', yquota.clock(), 'n2');
SELECT decision, pg_temp.c(container_id) AS c, node, stopped_by, maximum FROM yquota.schedule(dry_run => true, explain => true) WHERE container_id LIKE '%_0001_01_000102';
UPDATE yquota.node SET total = '[memory-mb=7168,vcores=8]' WHERE name = 'n2';
SELECT decision, pg_temp.c(container_id) AS c, node, stopped_by, maximum FROM yquota.schedule(dry_run => true, explain => true) WHERE container_id LIKE '%_0001_01_000102';
ROLLBACK TO s;
UPDATE yquota.queue SET user_limit_factor = 0.05 WHERE path = 'root.a';
SELECT pg_temp.start(1, 9, 'n2', 2048, 'GUARANTEED');
SELECT decision, pg_temp.c(container_id) AS c, node, stopped_by, used, maximum FROM yquota.schedule(dry_run => true, explain => true) WHERE container_id LIKE '%_0001_01_000102';
ROLLBACK TO s;
SELECT yquota.update_blacklist('application_1_0001', '{n2}');
SELECT decision, pg_temp.c(container_id) AS c, node, stopped_by FROM yquota.schedule(dry_run => true, explain => true) WHERE container_id LIKE '%_0001_01_000102';
ROLLBACK TO s;
SELECT yquota.request_containers('application_1_0002', '[memory-mb=8192,vcores=1]', 1, resource_name => 'n2', relax_locality => false);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=8192,vcores=1]', 1, resource_name => '/default-rack', relax_locality => false);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=8192,vcores=1]', 1, relax_locality => false);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation) VALUES
	('CONTAINER_START', 'container_1_0002_01_000150', yquota.clock(), 'p', 'application_1_0002', 'bob', 'root.b', 'n2', '[memory-mb=1024,vcores=1]');
SELECT decision, node FROM yquota.node_heartbeat('{n2}');
SELECT decision, pg_temp.c(container_id) AS c, node, stopped_by FROM yquota.schedule(dry_run => true, explain => true) WHERE container_id LIKE '%_0001_01_000102';
ROLLBACK TO s;
-- a promotion that the application requested is not counted as a promotion by rule
SELECT * FROM yquota.update_container('container_1_0001_01_000102', 0, execution_type => 'GUARANTEED');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule();
SELECT decision, diagnostics FROM yquota.decision WHERE decision = 'promoted';
ROLLBACK;

\echo times of waiting and pausing do not count; the setting of a leaf comes before that of its parent
BEGIN;
UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = true;
UPDATE yquota.queue SET auto_promote_after = CASE path WHEN 'root' THEN interval '10 min' ELSE '5 min' END WHERE path IN ('root', 'root.b');
SELECT pg_temp.start(1, 1, 'n1', 4096);
SELECT pg_temp.start(2, 1, 'n2', 1024);
SELECT pg_temp.at('10:04');
SELECT pg_temp.start(2, 9, 'n1', 6144, 'GUARANTEED');
SELECT action FROM yquota.container_paused('n1', 'container_1_0001_01_000101');
SELECT pg_temp.at('10:05');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule();
SELECT pg_temp.at('10:30');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule();
SELECT action FROM yquota.container_ended('n1', 'container_1_0002_01_000109');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule();
SELECT pg_temp.at('10:35:59.999999');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule();
SELECT pg_temp.at('10:36');
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule(max_containers => 0);
SELECT decision, pg_temp.c(container_id) AS c FROM yquota.schedule();
SELECT decision, c, diagnostics FROM log WHERE decision = 'promoted';
ROLLBACK;

\echo a cycle promotes at most a hundred containers, and requests come first
BEGIN;
UPDATE yquota.queue SET auto_promote_after = '1 s' WHERE path = 'root';
UPDATE yquota.queue SET maximum_capacity = '100' WHERE path = 'root.a';
UPDATE yquota.node SET total = '[memory-mb=131072,vcores=256]' WHERE name = 'n1';
UPDATE yquota.queue SET user_limit_factor = 4 WHERE path = 'root.b';
SELECT count(pg_temp.start(1, n, 'n1', 1024)) FROM generate_series(101, 220) AS n;
SELECT pg_temp.at('10:01');
SELECT decision, count(*) FROM yquota.schedule(max_containers => 3) GROUP BY 1;
SELECT decision, count(*) FROM yquota.schedule() GROUP BY 1;
UPDATE yquota.node SET total = '[memory-mb=106496,vcores=256]' WHERE name = 'n1';
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 1, resource_name => 'n1', relax_locality => false);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 1, resource_name => '/default-rack', relax_locality => false);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 1, relax_locality => false);
SELECT decision, queue FROM yquota.schedule();
SELECT * FROM yquota.verify();
ROLLBACK;

\echo a container pays as OPPORTUNISTIC until its promotion
BEGIN;
INSERT INTO yquota.price_factor (dimension, name, factor, effective_at) VALUES ('execution_type', 'OPPORTUNISTIC', 0.25, '2026-03-02 10:00+00');
UPDATE yquota.queue SET auto_promote_after = '10 s' WHERE path = 'root';
SELECT pg_temp.start(1, 1, 'n1', 1024);
SELECT pg_temp.at('10:00:40');
SELECT decision FROM yquota.node_heartbeat('{n1}');
SELECT pg_temp.at('10:01:40');
SELECT count(*) FROM yquota.container_ended('n1', 'container_1_0001_01_000101');
SELECT execution_type, "from", "to", amount FROM yquota.charge ORDER BY "from";
SELECT * FROM yquota.verify();
ROLLBACK;

\echo refused values; an import leaves the setting as it is
\set VERBOSITY terse
UPDATE yquota.queue SET auto_promote_after = '0' WHERE path = 'root.a';
UPDATE yquota.queue SET auto_promote_after = '-1 s' WHERE path = 'root.a';
UPDATE yquota.queue SET auto_promote_after = '102 years' WHERE path = 'root.a';
BEGIN;
UPDATE yquota.queue SET auto_promote_after = '1 day 02:03:04.5' WHERE path = 'root.a';
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a,c", "yarn.scheduler.capacity.root.a.capacity": "50", "yarn.scheduler.capacity.root.c.capacity": "50"}'::jsonb);
SELECT path, capacity, auto_promote_after FROM yquota.queue ORDER BY path;
ROLLBACK;

\echo only administrators change the setting
CREATE ROLE yquota_promotion_operator;
SELECT yquota.allow_role('yquota_promotion_operator', 'operator');
SET ROLE yquota_promotion_operator;
UPDATE yquota.queue SET auto_promote_after = '1 s';
SELECT count(*) FROM yquota.schedule();
RESET ROLE;

\c postgres
DROP DATABASE yquota_auto_promotion;
DROP ROLE yquota_promotion_operator;
