--
-- Opportunistic containers beside guaranteed ones: views by node, queue and application, and tasks
-- of MapReduce jobs. Scheduling, preemption, credit and reconcile() handle them, too.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic_usage WITH (FORCE);
CREATE DATABASE yquota_opportunistic_usage;
\c yquota_opportunistic_usage
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_queue_capacity, opportunistic_allocation_enabled,
	per_node_heartbeat_maximum_offswitch_assignments) VALUES (1, 10, true, 100);
INSERT INTO yquota.queue (path, capacity, user_limit_factor) VALUES
	('root', NULL, NULL), ('root.a', '50', 10), ('root.b', '50', 10), ('root.b.c', '50', 10), ('root.b.d', '50', 10);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=4096,vcores=4]'), ('n2', '[memory-mb=4096,vcores=4]');
SELECT s.application_id, s.state FROM (VALUES (1, 'a'), (2, 'c')) AS v (n, queue)
CROSS JOIN LATERAL yquota.submit_application('application_1_000' || n, 'ann', '{}', v.queue, project => 'p', unmanaged => true) AS s;

CREATE FUNCTION pg_temp.c(number integer, app integer DEFAULT 1) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('container_1_000%s_01_%s', app, lpad((100 + number)::text, 6, '0'))
$$;
CREATE FUNCTION pg_temp.start(number integer, node text, mb integer, is_running boolean, app integer DEFAULT 1, queue text DEFAULT 'root.a',
	type yquota.execution_type DEFAULT 'OPPORTUNISTIC', project text DEFAULT 'p') RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
	VALUES ('CONTAINER_START', pg_temp.c(number, app), yquota.clock(), start.project, 'application_1_000' || app, 'ann', start.queue, start.node,
			yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), start.type, start.is_running)
$$;
CREATE TEMPORARY VIEW nodes AS
	SELECT node, guaranteed, available, running_containers_o AS running, mem_used_o AS mb, vcores_used_o AS vcores, queued_containers AS queued
	FROM yquota.scheduler_node ORDER BY node;
CREATE TEMPORARY VIEW queues AS
	SELECT queue, used, running_containers_o AS running, mem_used_o AS mb, vcores_used_o AS vcores, queued_containers AS queued
	FROM yquota.scheduler_queue;
CREATE TEMPORARY VIEW applications AS
	SELECT application_id, running_containers_o AS running, mem_used_o AS mb, vcores_used_o AS vcores, queued_containers AS queued
	FROM yquota.scheduler_application ORDER BY 1;

\echo no usage yet
TABLE nodes;
TABLE queues;
\echo containers run and wait; a queue may be named by its last part; n3 is unknown
SELECT pg_temp.start(1, 'n1', 1024, true), pg_temp.start(2, 'n1', 2048, true), pg_temp.start(3, 'n1', 512, false), pg_temp.start(4, 'n2', 512, false),
	   pg_temp.start(1, 'n1', 1024, true, 2, 'root.b.c'), pg_temp.start(2, 'n2', 256, true, 2, 'c'), pg_temp.start(3, 'n2', 256, false, 2, 'c'),
	   pg_temp.start(4, 'n3', 128, true, 2, 'nowhere');
TABLE nodes;
TABLE queues;
TABLE applications;
SELECT node, opportunistic, containers, running_containers_o FROM yquota.node_usage ORDER BY node;
\echo compaction changes nothing; a pause and an end change the usage
SELECT yquota_internal.compact_counters() > 0 AS compacted;
TABLE nodes;
INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running) VALUES ('CONTAINER_UPDATE', pg_temp.c(2), yquota.clock(), false);
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', pg_temp.c(2, 2), yquota.clock()), ('CONTAINER_FINISH', pg_temp.c(4, 2), yquota.clock());
TABLE nodes;
TABLE queues;
TABLE applications;

\echo n1 is full of opportunistic containers; still, guaranteed ones are scheduled there, as many as would fit without them
BEGIN;
SELECT pg_temp.start(n, 'n1', 1024, true) FROM generate_series(11, 13) AS n;
TABLE nodes;
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 9);
SELECT node, count(*) FROM yquota.schedule('{n1}') WHERE decision = 'allocated' GROUP BY 1;
SELECT count(*) FROM yquota.schedule('{n1}');
TABLE nodes;
\echo at the node, the guaranteed containers wait until the others have been killed
SELECT e.action, e.execution_type, count(*) FROM yquota.container AS c, yquota.enqueue_container('n1', c.container_id) AS e
WHERE c.node = 'n1' AND c.execution_type = 'OPPORTUNISTIC' AND c.is_running GROUP BY 1, 2 ORDER BY 1, 2;
SELECT e.action, e.execution_type, count(*) FROM yquota.container AS c, yquota.enqueue_container('n1', c.container_id) AS e
WHERE c.node = 'n1' AND c.execution_type = 'GUARANTEED' GROUP BY 1, 2 ORDER BY 1, 2;
TABLE nodes;
SELECT state, execution_type, count(*) FROM yquota.node_queue GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM yquota.verify();
ROLLBACK;

\echo reconcile() neither starts nor ends waiting containers
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT action, container_id FROM yquota.reconcile(
	(SELECT jsonb_agg(jsonb_build_object('container_id', container_id)) FROM yquota.container WHERE container_id <> pg_temp.c(4)), yquota.clock(), dry_run => false);
SELECT container_id, is_running FROM yquota.container ORDER BY 1;
SELECT event, container_id FROM yquota.container_event WHERE source = 'reconcile';

\echo preemption: an opportunistic container is no candidate, a promoted one is, and a demoted one loses its mark
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true, preemption_total_preemption_per_round = 1, preemption_natural_termination_factor = 1;
SELECT pg_temp.start(n, 'n1', 1024, true) FROM generate_series(21, 24) AS n;
SELECT pg_temp.start(n, 'n2', 1024, true) FROM generate_series(25, 28) AS n;
SELECT yquota.request_containers('application_1_0002', '[memory-mb=4096,vcores=1]', 2);
SELECT outcome, container_id FROM yquota.preempt_containers();
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type)
SELECT 'CONTAINER_UPDATE', pg_temp.c(n), yquota.clock(), 'GUARANTEED' FROM generate_series(21, 28) AS n;
SELECT yquota.set_clock('2026-03-02 10:00:03+00');
SELECT outcome, container_id FROM yquota.preempt_containers();
SELECT container_id FROM yquota.preemption_mark ORDER BY 1;
SELECT containers FROM yquota.preemption_message('application_1_0001');
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', pg_temp.c(28), yquota.clock(), 'OPPORTUNISTIC');
SELECT container_id FROM yquota.preemption_mark ORDER BY 1;
SELECT containers FROM yquota.preemption_message('application_1_0001');
SELECT yquota.set_clock('2026-03-02 10:00:30+00');
SELECT outcome, container_id FROM yquota.preempt_containers();
SELECT container_id FROM yquota_internal.preemption_mark ORDER BY 1;
SELECT container_id, is_running FROM yquota.container WHERE container_id IN (pg_temp.c(27), pg_temp.c(28));
SELECT * FROM yquota.verify();

\echo of a project without credit, waiting containers are to be stopped, too
INSERT INTO yquota.project (name, quota_mode, on_exhausted) VALUES ('poor', 'PREPAID', 'stop');
SELECT pg_temp.start(1, 'n1', 512, true, 3, 'root.a', project => 'poor'), pg_temp.start(2, 'n1', 512, false, 3, 'root.a', project => 'poor');
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT container_id, execution_type, action FROM yquota.exhausted_work ORDER BY 1;

\echo the sample job of 50 map tasks, 40 percent of them opportunistic: the first 40 by the counter, 20 by the share
SELECT m.execution_type, m.priority, count(*), min(n), max(n) FROM generate_series(0, 49) AS n, yquota.map_reduce_request('map', n, 40) AS m GROUP BY 1, 2 ORDER BY 2;
UPDATE yquota.scheduler_setting SET opportunistic_maps_by_share = true, opportunistic_maps_percent = 40;
SELECT m.execution_type, m.priority, count(*), string_agg(n::text, ' ' ORDER BY n) FROM generate_series(0, 49) AS n, yquota.map_reduce_request('map', n) AS m GROUP BY 1, 2 ORDER BY 2;
SELECT count(*) FILTER (WHERE x.count <> n * percent / 100) AS wrong FROM generate_series(0, 100, 7) AS percent, generate_series(1, 300, 13) AS n,
	LATERAL (SELECT count(*) FILTER (WHERE (yquota.map_reduce_request('map', i, percent)).priority = 19) FROM generate_series(0, n - 1) AS i) AS x;
UPDATE yquota.scheduler_setting SET opportunistic_maps_by_share = NULL;
SELECT percent, string_agg(n::text, ' ' ORDER BY n) FILTER (WHERE m.execution_type = 'OPPORTUNISTIC') AS opportunistic
FROM unnest('{-5,0,1,99,100,2147483647,NULL}'::integer[]) AS percent, unnest('{0,1,39,40,98,99,100,199,9223372036854775807}'::bigint[]) AS n, yquota.map_reduce_request('map', n, percent) AS m
GROUP BY 1 ORDER BY 1;
SELECT * FROM yquota.map_reduce_request('map', 3, 100, is_repeated => true);
SELECT * FROM yquota.map_reduce_request('map', percent => 100, is_repeated => true);
SELECT * FROM yquota.map_reduce_request('reduce', 0, 100);
SELECT * FROM yquota.map_reduce_request('map');
SELECT * FROM yquota.map_reduce_request('map', -1);
SELECT * FROM yquota.map_reduce_request('shuffle', 1);
SELECT * FROM yquota.map_reduce_request(NULL, 1);
UPDATE yquota.scheduler_setting SET opportunistic_maps_percent = NULL;
SELECT * FROM yquota.map_reduce_request('map', 0);
\c postgres
DROP DATABASE yquota_opportunistic_usage WITH (FORCE);
