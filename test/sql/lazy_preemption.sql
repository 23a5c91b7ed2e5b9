-- Lazy preemption: containers that a round has made killable run until an allocation needs their
-- room. The tests show which allocations may take the room, and which containers are killed for
-- them.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_lazy_preemption WITH (FORCE);
CREATE DATABASE yquota_lazy_preemption;
\c yquota_lazy_preemption
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable, lazy_preemption_enabled, preemption_total_preemption_per_round,
	preemption_natural_termination_factor, per_node_heartbeat_maximum_offswitch_assignments, maximum_am_resource_percent)
VALUES (true, true, 1, 1, 100, 1);
INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor, ordering_policy, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1), ('root.a', '50', NULL, 10, NULL, 2), ('root.b', '50', NULL, NULL, NULL, 3),
	('root.b.x', '50', NULL, 10, 'fair', 4), ('root.b.y', '50', NULL, 10, NULL, 5);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=8192,vcores=8]'), ('n2', '[memory-mb=8192,vcores=8]');

CREATE FUNCTION pg_temp.submit(number integer, username text, queue text, containers integer, mb bigint DEFAULT 1024) RETURNS bigint
	LANGUAGE sql AS $$
	SELECT s.state FROM yquota.submit_application('application_1_000' || number, username, '{}', queue, project => 'p', unmanaged => true) AS s;
	SELECT yquota.request_containers('application_1_000' || number, yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), containers)
$$;
-- run a cycle and show its decisions briefly
CREATE FUNCTION pg_temp.cycle(nodes text[] DEFAULT NULL, dry boolean DEFAULT false, explain boolean DEFAULT false)
	RETURNS TABLE (decision text, container text, queue text, node text, mb bigint, stopped_by text, used bigint, maximum bigint)
	LANGUAGE sql AS $$
	SELECT s.decision, replace(s.container_id, 'container_1_', ''), s.queue, s.node, yquota.amount(s.allocation, 'memory-mb'),
		   s.stopped_by, yquota.amount(s.used, 'memory-mb'), yquota.amount(s.maximum, 'memory-mb')
	FROM yquota.schedule(nodes, dry_run => dry, explain => explain) AS s
$$;
-- run two rounds, separated by the wait before a kill
CREATE FUNCTION pg_temp.preempt() RETURNS TABLE (outcome text, container text, node text, mb bigint)
	LANGUAGE sql AS $$
	SELECT yquota.set_clock(yquota.clock() + interval '1 second');
	SELECT count(*) FROM yquota.preempt_containers();
	SELECT yquota.set_clock(yquota.clock() + interval '15 seconds');
	SELECT p.outcome, replace(p.container_id, 'container_1_', ''), p.node, yquota.amount(p.allocation, 'memory-mb')
	FROM yquota.preempt_containers() AS p
$$;
CREATE FUNCTION pg_temp.forget() RETURNS bigint
	LANGUAGE sql AS $$ SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision)) $$;
CREATE FUNCTION pg_temp.make_killable(id text) RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.preemption_mark (container_id, marked_at, application_id, queue, selector, is_killable, told_at)
	SELECT container_id, yquota.clock(), application_id, queue, 'fifo', true, yquota.clock() FROM yquota.container WHERE container_id = id
$$;
CREATE TEMPORARY VIEW killable AS
	SELECT replace(m.container_id, 'container_1_', '') AS container, c.node, yquota.amount(c.allocation, 'memory-mb') AS mb
	FROM yquota.preemption_mark AS m JOIN yquota.container AS c USING (container_id) WHERE m.is_killable ORDER BY m.container_id;

\echo one leaf has the whole cluster; another leaf below its guarantee makes containers killable, but they run on
SELECT pg_temp.submit(1, 'ann', 'a', 16);
SELECT count(*) FROM pg_temp.cycle();
SELECT pg_temp.submit(2, 'bob', 'x', 2, 2048);
SELECT * FROM pg_temp.cycle();
SELECT * FROM pg_temp.preempt();
SELECT * FROM killable;
SELECT count(*) FROM yquota.container;
SELECT pg_temp.forget();

\echo a dry run names the containers that would be killed, and changes nothing
SELECT * FROM pg_temp.cycle(dry => true);
SELECT count(*) AS killable, (SELECT count(*) FROM yquota.decision) AS decisions, (SELECT count(*) FROM yquota.container) AS running FROM killable;

\echo an allocation kills the containers whose room it needs, the oldest ones of the node first
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 1);
SELECT * FROM pg_temp.cycle();
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048,vcores=1]', 1);
SELECT * FROM pg_temp.cycle();
SELECT * FROM killable;
SELECT decision, replace(container_id, 'container_1_', '') AS container, application_id, queue, node, priority, advised
FROM yquota.decision ORDER BY decision_id;
SELECT replace(container_id, 'container_1_', '') AS container, exit_status, source FROM yquota.container_event
WHERE event = 'CONTAINER_FINISH' ORDER BY 1;
SELECT * FROM yquota.verify();
\echo the reasons of the kills: the round that made the container killable, and the request that needed its room
SELECT replace(container_id, 'container_1_', '') AS container, username, queue, marked_at, killed_at, is_advised, selector,
	   needed_by_application, needed_by_queue FROM yquota.preempted_container ORDER BY 1;
SELECT DISTINCT used, guaranteed, ideal, to_be_preempted, actually_to_be_preempted FROM yquota.preempted_container;

\echo a leaf that already has its guarantee does not get the room
SELECT pg_temp.forget();
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 1);
SELECT * FROM pg_temp.cycle();
SELECT pg_temp.submit(3, 'cat', 'y', 4);
SELECT * FROM pg_temp.preempt();
SELECT yquota.request_containers('application_1_0003', '[]', 0);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 1);
SELECT * FROM pg_temp.cycle('{n1}', dry => true, explain => true);
SELECT * FROM pg_temp.cycle('{n2}', dry => true, explain => true);
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT * FROM killable;

\echo a container that ends by itself leaves free room, which is used first
INSERT INTO yquota.container_event (event, container_id, exit_status)
SELECT 'CONTAINER_FINISH', min(container_id), 0 FROM yquota.preemption_mark WHERE is_killable;
SELECT count(*) FROM killable;
SELECT * FROM killable;
SELECT yquota.request_containers('application_1_0003', '[memory-mb=2048,vcores=1]', 1);
SELECT * FROM pg_temp.cycle();
SELECT * FROM killable;

\echo after lazy preemption is switched off, killable room may still be used, and rounds kill the containers that they select
UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = NULL;
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024,vcores=1]', 2);
SELECT * FROM pg_temp.cycle('{n2}', dry => true);
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT outcome, replace(container_id, 'container_1_', '') AS container FROM yquota.preempt_containers();
SELECT * FROM killable;
SELECT replace(container_id, 'container_1_', '') AS container, needed_by_queue, used FROM yquota.preempted_container WHERE killed_at = yquota.clock() ORDER BY 1;
SELECT * FROM pg_temp.cycle();
SELECT pg_temp.forget();

\echo in a parent at its maximum, one child takes the room of another
UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = true;
UPDATE yquota.queue SET maximum_capacity = '50' WHERE path = 'root.b';
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE application_id <> 'application_1_0001'));
SELECT yquota.request_containers('application_1_0003', '[]', 0);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 8);
SELECT count(*) FROM pg_temp.cycle();
SELECT yquota.request_containers('application_1_0003', '[memory-mb=2048,vcores=1]', 1);
SELECT * FROM pg_temp.cycle(dry => true, explain => true);
-- killable containers of a parent count as free for its children, in the headroom and in the limits
-- of application masters
CREATE TEMPORARY VIEW left_to_y AS
	SELECT yquota.amount(h.queue_limit, 'memory-mb') AS queue_limit, yquota.amount(h.free, 'memory-mb') AS free, yquota.amount(h.headroom, 'memory-mb') AS headroom,
		   (SELECT yquota.amount(q.am_limit, 'memory-mb') FROM yquota.effective_queue AS q WHERE q.queue = 'root.b.y' AND q.label = '') AS am_limit
	FROM yquota.headroom('application_1_0003') AS h;
SELECT * FROM left_to_y;
SELECT * FROM pg_temp.preempt();
SELECT * FROM left_to_y;
BEGIN;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE queue = 'root.a' ORDER BY 1 LIMIT 3));
SELECT * FROM left_to_y;
SELECT pg_temp.make_killable(c.container_id) FROM yquota.container AS c WHERE c.queue = 'root.b.x'
AND NOT EXISTS (SELECT FROM yquota.preemption_mark AS m WHERE m.container_id = c.container_id);
SELECT * FROM left_to_y;
ROLLBACK;
SELECT * FROM left_to_y;
SELECT * FROM pg_temp.cycle('{n1}', dry => true, explain => true);
SELECT * FROM pg_temp.cycle();
SELECT queue, yquota.amount(used, 'memory-mb') AS used, yquota.amount(maximum, 'memory-mb') AS maximum FROM yquota.preemption_state;

\echo when a child takes room of another queue, its siblings lose elsewhere what is beyond the maximum of the parent
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024,vcores=1]', 1);
SELECT * FROM pg_temp.preempt();
SELECT * FROM killable;
SELECT pg_temp.make_killable('container_1_0001_01_000001');
SELECT * FROM pg_temp.cycle('{n1}');
SELECT queue, yquota.amount(used, 'memory-mb') AS used, yquota.amount(maximum, 'memory-mb') AS maximum FROM yquota.preemption_state;
SELECT * FROM yquota.verify();

\echo a killable container gets no increase
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT count(*) FROM yquota.release_containers('{container_1_0002_01_000008}');
SELECT pg_temp.make_killable('container_1_0003_01_000005'), pg_temp.make_killable('container_1_0001_01_000002');
SELECT yquota.update_container('container_1_0003_01_000005', 0, allocation => '[memory-mb=2048,vcores=1]');
SELECT * FROM pg_temp.cycle('{n1}', explain => true);
DELETE FROM yquota.preemption_mark WHERE container_id = 'container_1_0003_01_000005';
SELECT * FROM pg_temp.cycle('{n1}');
SELECT queue, yquota.amount(used, 'memory-mb') AS used, yquota.amount(maximum, 'memory-mb') AS maximum FROM yquota.preemption_state;
SELECT * FROM killable;
SELECT * FROM yquota.verify();
