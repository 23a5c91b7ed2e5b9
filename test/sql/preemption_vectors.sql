-- Test vectors of preemption by name, with the results that Hadoop's own tests assert. They cover
-- reservations, queues with priorities, the dead zone, and the time between mark and kill.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_preemption_vectors WITH (FORCE);
CREATE DATABASE yquota_preemption_vectors;
\c yquota_preemption_vectors
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');

-- Create nodes of so many MiB, leaf queues with percentages of the cluster, and an application in
-- each leaf.
CREATE PROCEDURE pg_temp.cluster(nodes integer, mb bigint, percents text[], priorities integer[] DEFAULT '{0,0,0}') LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
	INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable, preemption_total_preemption_per_round, preemption_natural_termination_factor,
		minimum_allocation_mb, maximum_allocation_mb, maximum_am_resource_percent) VALUES (true, 1, 1, 1, 1024, 0);
	INSERT INTO yquota.queue (path, ordering_policy, position) VALUES ('root', 'priority-utilization', 1);
	INSERT INTO yquota.queue (path, capacity, user_limit_factor, priority, position)
	SELECT 'root.' || chr(96 + i), percents[i], 1000, priorities[i], 1 + i FROM generate_subscripts(percents, 1) AS i;
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
	INSERT INTO yquota.node (name, total)
	SELECT 'n' || i, yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1000)) FROM generate_series(1, nodes) AS i;
	PERFORM yquota.submit_application(format('application_1_%s', lpad(i::text, 4, '0')), 'u', '{}', 'root.' || chr(96 + i),
		am_resource => '[memory-mb=1,vcores=1]', unmanaged => true, project => 'p')
	FROM generate_subscripts(percents, 1) AS i;
END $$;

CREATE FUNCTION pg_temp.application(queue text) RETURNS text LANGUAGE sql
	RETURN format('application_1_%s', lpad((ascii(queue) - 96)::text, 4, '0'));
CREATE FUNCTION pg_temp.next_container(queue text, number bigint DEFAULT 1) RETURNS text LANGUAGE sql
	RETURN format('container_1_%s_01_%s', lpad((ascii(queue) - 96)::text, 4, '0'),
		lpad((number + (SELECT count(*) FROM yquota.container AS c WHERE c.queue = 'root.' || next_container.queue))::text, 6, '0'));

-- Start containers on a node. The first may be the application master.
CREATE PROCEDURE pg_temp.run(queue text, node text, containers integer, mb bigint, is_am boolean DEFAULT false) LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, priority, is_am)
	SELECT 'CONTAINER_START', pg_temp.next_container(queue, i), yquota.clock(), 'p', pg_temp.application(queue), 'u', 'root.' || queue, node,
		   yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), 1, is_am AND i = 1
	FROM generate_series(1, containers) AS i;
$$;

CREATE PROCEDURE pg_temp.ask(queue text, mb bigint, containers integer, priority integer DEFAULT 1) LANGUAGE sql AS $$
	SELECT yquota.request_containers(pg_temp.application(queue), yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), containers,
		priority => ask.priority);
$$;

-- Insert a reservation, whether its node has room or not.
CREATE PROCEDURE pg_temp.reserve(queue text, node text, mb bigint) LANGUAGE sql AS $$
	CALL pg_temp.ask(queue, mb, 1);
	INSERT INTO yquota.reserved_container (node, application_id, priority, allocation_request_id, container_id, label, allocation, reserved_at)
	SELECT node, pg_temp.application(queue), 1, -1, pg_temp.next_container(queue), '',
		   yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), yquota.clock();
$$;

-- Return the actions of a round by selector and node, with the numbers of the containers within
-- their applications.
CREATE FUNCTION pg_temp.round() RETURNS TABLE (outcome text, selector text, queue text, node text, containers bigint, numbers text) LANGUAGE sql AS $$
	SELECT p.outcome, p.selector, p.queue, p.node, count(*),
		   string_agg(right(p.container_id, 6)::integer::text, ' ' ORDER BY p.container_id DESC)
	FROM yquota.preempt_containers() AS p GROUP BY 1, 2, 3, 4 ORDER BY 2 DESC, 1, 3, 4
$$;

\echo P5: use of 43 with a guarantee of 40 is within the dead zone, trunc(40 * 1.1) = 44, and so is 21 of 20; 45 is beyond
BEGIN;
CALL pg_temp.cluster(1, 100, '{40,40,20}');
CALL pg_temp.run('a', 'n1', 39, 1, true);
CALL pg_temp.run('b', 'n1', 43, 1, true);
CALL pg_temp.run('c', 'n1', 21, 1, true);
CALL pg_temp.ask('a', 1, 10);
SELECT queue, yquota.amount(used, 'memory-mb') AS used, yquota.amount(ideal, 'memory-mb') AS ideal, yquota.amount(to_be_preempted, 'memory-mb') AS to_be_preempted,
	   yquota.amount(actually_to_be_preempted, 'memory-mb') AS actually, yquota.amount(dead_zone_limit, 'memory-mb') AS dead_zone_limit
FROM yquota.preemption_state;
SELECT * FROM pg_temp.round();
CALL pg_temp.run('b', 'n1', 1, 1);
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM pg_temp.round();
CALL pg_temp.run('b', 'n1', 1, 1);
SELECT yquota.set_clock('2026-03-02 10:00:02+00');
SELECT * FROM pg_temp.round();
ROLLBACK;

\echo 12.7: containers are marked, then observed, then killed when max_wait_before_kill is over, within the limit
BEGIN;
CALL pg_temp.cluster(1, 100, '{40,40,20}');
UPDATE yquota.scheduler_setting SET preemption_max_wait_before_kill = 10000;
CALL pg_temp.run('b', 'n1', 60, 1, true);
CALL pg_temp.run('c', 'n1', 40, 1, true);
CALL pg_temp.ask('a', 1, 10);
SELECT * FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:05+00');
SELECT * FROM pg_temp.round();
SAVEPOINT waits;
SELECT yquota.set_clock('2026-03-02 10:00:09.999999+00');
SELECT * FROM pg_temp.round();
ROLLBACK TO waits;
SELECT yquota.set_clock('2026-03-02 10:00:10+00');
SELECT * FROM pg_temp.round();
ROLLBACK TO waits;
SELECT yquota.set_clock('2026-03-02 10:00:10.001+00');
SELECT * FROM pg_temp.round();
SELECT decision, count(*), min(decided_at), max(decided_at) FROM yquota.decision GROUP BY 1 ORDER BY 3;
ROLLBACK;
\echo 12.7: a policy that only observes
BEGIN;
CALL pg_temp.cluster(1, 100, '{40,40,20}');
UPDATE yquota.scheduler_setting SET preemption_observe_only = true;
CALL pg_temp.run('a', 'n1', 90, 1);
CALL pg_temp.run('b', 'n1', 10, 1);
CALL pg_temp.ask('a', 1, 10);
CALL pg_temp.ask('b', 1, 20);
CALL pg_temp.ask('c', 1, 50);
SELECT * FROM pg_temp.round();
SELECT (SELECT count(*) FROM yquota.preemption_mark) AS marks, (SELECT count(*) FROM yquota.decision) AS decisions;
ROLLBACK;

\echo R1: 5 containers make room for a reservation of 9 where 4 are free
BEGIN;
CALL pg_temp.cluster(2, 50, '{50,50}');
UPDATE yquota.scheduler_setting SET preemption_select_based_on_reserved_containers = true;
CALL pg_temp.run('a', 'n1', 45, 1, true);
CALL pg_temp.run('a', 'n2', 45, 1);
CALL pg_temp.run('b', 'n1', 1, 1, true);
CALL pg_temp.reserve('b', 'n1', 9);
SELECT * FROM pg_temp.round();
ROLLBACK;
\echo R2: 10 containers for the reservation, and 5 more because the queue must give them up
BEGIN;
CALL pg_temp.cluster(2, 50, '{30,70}');
UPDATE yquota.scheduler_setting SET preemption_select_based_on_reserved_containers = true;
CALL pg_temp.run('a', 'n2', 35, 1, true);
CALL pg_temp.run('a', 'n1', 10, 1);
CALL pg_temp.run('b', 'n2', 5, 1, true);
CALL pg_temp.reserve('b', 'n1', 50);
CALL pg_temp.ask('b', 1, 20, 2);
SELECT * FROM pg_temp.round();
ROLLBACK;
\echo R3: the reserved node runs an application master, so it can never become free
BEGIN;
CALL pg_temp.cluster(2, 50, '{30,70}');
UPDATE yquota.scheduler_setting SET preemption_select_based_on_reserved_containers = true;
CALL pg_temp.run('a', 'n1', 10, 1, true);
CALL pg_temp.run('a', 'n2', 35, 1);
CALL pg_temp.run('b', 'n2', 5, 1, true);
CALL pg_temp.reserve('b', 'n1', 50);
CALL pg_temp.ask('b', 1, 20, 2);
SELECT * FROM pg_temp.round();
ROLLBACK;
\echo R4: use of 90 with a guarantee of 85 is within the dead zone
BEGIN;
CALL pg_temp.cluster(2, 50, '{85,15}');
UPDATE yquota.scheduler_setting SET preemption_select_based_on_reserved_containers = true;
CALL pg_temp.run('a', 'n1', 45, 1, true);
CALL pg_temp.run('a', 'n2', 45, 1);
CALL pg_temp.run('b', 'n1', 1, 1, true);
CALL pg_temp.reserve('b', 'n1', 9);
SELECT * FROM pg_temp.round();
ROLLBACK;
\echo R5: one more is free on the node
BEGIN;
CALL pg_temp.cluster(2, 50, '{50,50}');
UPDATE yquota.scheduler_setting SET preemption_select_based_on_reserved_containers = true;
CALL pg_temp.run('a', 'n1', 45, 1, true);
CALL pg_temp.run('a', 'n2', 45, 1);
CALL pg_temp.reserve('b', 'n1', 9);
SELECT * FROM pg_temp.round();
ROLLBACK;
\echo R6: containers of size 2, of which 4 make 8
BEGIN;
CALL pg_temp.cluster(2, 50, '{50,50}');
UPDATE yquota.scheduler_setting SET preemption_select_based_on_reserved_containers = true;
CALL pg_temp.run('a', 'n1', 24, 2, true);
CALL pg_temp.run('a', 'n2', 21, 2);
CALL pg_temp.reserve('b', 'n1', 9);
SELECT * FROM pg_temp.round();
ROLLBACK;
\echo R7: another node has enough free room
BEGIN;
CALL pg_temp.cluster(4, 25, '{50,50}');
UPDATE yquota.scheduler_setting SET preemption_select_based_on_reserved_containers = true;
CALL pg_temp.run('a', 'n1', 10, 2, true);
CALL pg_temp.run('a', 'n2', 10, 2);
CALL pg_temp.run('a', 'n3', 10, 2);
CALL pg_temp.run('a', 'n4', 10, 2);
CALL pg_temp.reserve('b', 'n1', 9);
SELECT * FROM pg_temp.round();
ROLLBACK;

\echo Q1: the reservation of a queue with priority is too young, then old enough; then its container runs
BEGIN;
CALL pg_temp.cluster(2, 20, '{10,20,70}', '{0,0,1}');
UPDATE yquota.scheduler_setting SET underutilized_preemption_enabled = true, underutilized_preemption_reserved_container_delay_ms = 1000;
CALL pg_temp.run('b', 'n1', 4, 1, true);
CALL pg_temp.run('b', 'n2', 3, 1);
CALL pg_temp.ask('c', 18, 1);
SELECT decision, node FROM yquota.schedule('{n1}');
SELECT * FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:16+00');
SELECT * FROM pg_temp.round();
SELECT decision, node, yquota.amount(allocation, 'memory-mb') AS mb FROM yquota.schedule('{n1}');
SELECT yquota.set_clock('2026-03-02 10:00:17+00');
SELECT * FROM pg_temp.round();
SELECT * FROM yquota.verify();
ROLLBACK;
\echo with lazy preemption, containers that are already killable serve the reservation
BEGIN;
CALL pg_temp.cluster(2, 20, '{10,20,70}', '{0,0,1}');
UPDATE yquota.scheduler_setting SET underutilized_preemption_enabled = true, underutilized_preemption_reserved_container_delay_ms = 1000,
	lazy_preemption_enabled = true;
CALL pg_temp.run('b', 'n1', 4, 1, true);
CALL pg_temp.run('b', 'n2', 3, 1);
CALL pg_temp.ask('c', 18, 1);
SELECT decision, node FROM yquota.schedule('{n1}');
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:16+00');
SELECT * FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:17+00');
SELECT * FROM pg_temp.round();
SELECT reason, count(*) FROM yquota.preempt_containers(dry_run => true) GROUP BY 1;
SELECT * FROM yquota.verify();
ROLLBACK;
\echo Q2: a reservation moves to the node with less important containers; the node with an application master is left out
BEGIN;
CALL pg_temp.cluster(3, 10, '{10,20,70}', '{0,0,1}');
UPDATE yquota.scheduler_setting SET underutilized_preemption_enabled = true, underutilized_preemption_reserved_container_delay_ms = 1000,
	underutilized_preemption_allow_move_reservation = true;
CALL pg_temp.run('b', 'n1', 1, 2, true);
CALL pg_temp.run('b', 'n2', 2, 2);
CALL pg_temp.ask('c', 2, 1);
SELECT decision, node FROM yquota.schedule('{n3}');
CALL pg_temp.ask('c', 9, 1);
SELECT decision, node FROM yquota.schedule('{n3}');
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM pg_temp.round();
SELECT node, right(container_id, 6)::integer AS number, reserved_at, moved_at FROM yquota.reserved_container;
SELECT decision, node, decided_at FROM yquota.decision ORDER BY decision_id;
SELECT yquota.set_clock('2026-03-02 10:00:02+00');
SELECT * FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:17+00');
SELECT * FROM pg_temp.round();
SELECT decision, node, yquota.amount(allocation, 'memory-mb') AS mb FROM yquota.schedule('{n2}');
SELECT * FROM yquota.verify();
ROLLBACK;
\echo Q3: the queue gets no more than its guarantee, with future containers of reservations included
BEGIN;
CALL pg_temp.cluster(10, 10, '{10,20,70}', '{0,0,1}');
UPDATE yquota.scheduler_setting SET underutilized_preemption_enabled = true, underutilized_preemption_reserved_container_delay_ms = 1000;
CALL pg_temp.run('b', 'n1', 1, 1, true);
CALL pg_temp.run('b', 'n2', 1, 1);
CALL pg_temp.run('b', 'n3', 1, 1);
CALL pg_temp.run('b', 'n4', 1, 1);
CALL pg_temp.run('b', 'n5', 1, 1);
CALL pg_temp.run('b', 'n6', 1, 1);
CALL pg_temp.run('b', 'n7', 1, 1);
CALL pg_temp.run('b', 'n8', 1, 1);
CALL pg_temp.run('b', 'n9', 1, 1);
CALL pg_temp.ask('c', 10, 1);
SELECT decision, node FROM yquota.schedule('{n10}');
CALL pg_temp.ask('c', 10, 10);
SELECT decision, count(*) FROM (SELECT s.decision FROM generate_series(1, 9) AS i, yquota.schedule(ARRAY['n' || i]) AS s) AS s GROUP BY 1;
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM pg_temp.round() WHERE selector = 'queue_priority';
ROLLBACK;
\echo Q4: the reservation of the queue with the higher priority is served first
BEGIN;
CALL pg_temp.cluster(2, 10, '{10,20,70}', '{1,2,0}');
UPDATE yquota.scheduler_setting SET underutilized_preemption_enabled = true, underutilized_preemption_reserved_container_delay_ms = 1000,
	preemption_total_preemption_per_round = 0.25;
CALL pg_temp.run('c', 'n1', 1, 4);
CALL pg_temp.run('c', 'n2', 1, 4);
CALL pg_temp.reserve('a', 'n1', 8);
CALL pg_temp.reserve('b', 'n2', 8);
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM pg_temp.round() WHERE selector = 'queue_priority';
ROLLBACK;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_preemption_vectors WITH (FORCE);
