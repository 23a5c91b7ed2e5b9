--
-- yquota's own orders of a node's container queue: which OPPORTUNISTIC container starts next, and
-- which ones are killed when the node needs their room.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_node_queue_order WITH (FORCE);
CREATE DATABASE yquota_node_queue_order;
\c yquota_node_queue_order
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, maximum_am_resource_percent) VALUES (20, 1);
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.default', '100');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=4096,vcores=8]');
SELECT count(*) FROM generate_series(1, 3) AS n, yquota.submit_application('application_1_000' || n, 'u' || n, '{}', 'default', project => 'p', unmanaged => true);
UPDATE yquota.application SET priority = substr(application_id, 17)::integer * 10;

CREATE FUNCTION pg_temp.told(actions yquota.node_action[]) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' ', a.action, a.container_id, 'for ' || a.made_room_for), ', ' ORDER BY a.number), 'nothing')
	FROM unnest(actions) WITH ORDINALITY AS a (action, container_id, execution_type, allocation, exit_status, diagnostics, made_room_for, number)
$$;
-- Let a container of an application (app, 1 to 3) and of its user arrive at the node, and return the
-- actions.
CREATE FUNCTION pg_temp.come(id text, app integer, mb integer, duration interval DEFAULT NULL, vcores integer DEFAULT 1, type text DEFAULT 'OPPORTUNISTIC') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	told text;
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
	VALUES ('CONTAINER_START', id, yquota.clock(), 'p', 'application_1_000' || app, 'u' || app, 'root.default', 'n',
			format('[memory-mb=%s,vcores=%s]', mb, vcores)::yquota.resource, type::yquota.execution_type, type = 'GUARANTEED');
	INSERT INTO yquota_internal.expected_duration (container_id, expected_duration) SELECT id, duration WHERE duration IS NOT NULL;
	told := pg_temp.told(ARRAY(SELECT a FROM yquota.enqueue_container('n', id) AS a));
	RETURN told;
END
$$;
CREATE FUNCTION pg_temp.ends(id text, exit_status integer DEFAULT 0) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.container_ended('n', id, exit_status => ends.exit_status) AS a))
$$;
CREATE FUNCTION pg_temp.later(by interval) RETURNS void LANGUAGE sql AS $$SELECT yquota.set_clock(yquota.clock() + by)$$;

-- A running container fills the node, and five containers wait.
CREATE FUNCTION pg_temp.queue_up(wanted text) RETURNS text LANGUAGE sql AS $$
	UPDATE yquota.scheduler_setting SET node_queue_order = wanted;
	SELECT pg_temp.come('r', 1, 4096);
	SELECT string_agg(pg_temp.come(id, app, mb, duration), ', ' ORDER BY place)
	FROM (VALUES (1, 'a', 1, 1024, NULL::interval), (2, 'b', 2, 1024, '9 min'), (3, 'c', 3, 2048, '5 min'), (4, 'd', 2, 1024, '5 min'), (5, 'e', 1, 1024, '1 min'))
		AS w (place, id, app, mb, duration)
$$;

\echo NULL and arrival stand for the order of Hadoop; a head without room stops all behind it
BEGIN;
SELECT pg_temp.queue_up(NULL);
SELECT pg_temp.ends('r');
ROLLBACK;
BEGIN;
SELECT pg_temp.queue_up('arrival');
SELECT pg_temp.ends('r');
ROLLBACK;

\echo the shortest first: e, then c before d, which came later, then b, and last a, whose duration is unknown
BEGIN;
SELECT pg_temp.queue_up('shortest_first');
SELECT pg_temp.ends('r');
SELECT pg_temp.ends('e');
SELECT pg_temp.ends('d');
ROLLBACK;

\echo the application with the largest priority first: 3, then 2, then 1
BEGIN;
SELECT pg_temp.queue_up('application_priority');
SELECT pg_temp.ends('r');
SELECT pg_temp.ends('c');
ROLLBACK;

\echo the user with the fewest running containers first: one of each user, and no second one before c has room
BEGIN;
SELECT pg_temp.queue_up('fair_by_user');
SELECT pg_temp.ends('r');
ROLLBACK;
\echo u1 has two running containers; u3 and u2 come before it, then u2 again, because b came before e
BEGIN;
UPDATE yquota.scheduler_setting SET node_queue_order = 'fair_by_user';
SELECT pg_temp.come('r1', 1, 1024), pg_temp.come('r2', 1, 1024), pg_temp.come('g', 3, 2048, type => 'GUARANTEED');
SELECT pg_temp.come('a', 1, 512), pg_temp.come('b', 2, 512), pg_temp.come('c', 3, 512), pg_temp.come('d', 2, 512), pg_temp.come('e', 1, 512);
SELECT pg_temp.ends('g');
ROLLBACK;

\echo the application closest to its end first: 2, then 3, then 1, whose progress is unknown; a call uses the last report
BEGIN;
SELECT yquota.report_application_progress('application_1_0002', 0.1), yquota.report_application_progress('application_1_0003', 0.9000000000000000004);
SELECT yquota.report_application_progress('application_1_0002', 0.9000000000000000006), yquota.report_application_progress('application_1_0003', 0.9);
SELECT pg_temp.queue_up('closest_to_end');
SELECT pg_temp.ends('r');
SELECT pg_temp.ends('b');
SELECT yquota.report_application_progress('application_1_0003', 0), yquota.report_application_progress('application_1_0001', 1);
SELECT pg_temp.ends('d');
ROLLBACK;
\echo the progress of an application goes with its end, and with its master
BEGIN;
SELECT yquota.report_application_progress('application_1_000' || n, 1) FROM generate_series(1, 3) AS n;
SELECT yquota.finish_application('application_1_0001', 'FAILED') IS NOT NULL AS ended;
SELECT yquota.report_application_progress('application_1_0001', 1);
SELECT yquota.finish_application('application_1_0002', 'KILLED') IS NOT NULL AS ended;
INSERT INTO yquota_internal.reported_application_progress VALUES ('application_1_0002', 1, yquota.clock());
SELECT application_id, progress FROM yquota_internal.reported_application_progress ORDER BY 1;
SELECT yquota_internal.forget_reported_progress(100);
SELECT application_id, progress FROM yquota_internal.reported_application_progress ORDER BY 1;
ROLLBACK;

\echo GUARANTEED containers start first, by arrival; a paused container waits among the others
BEGIN;
UPDATE yquota.scheduler_setting SET node_queue_order = 'shortest_first', uses_pause_for_preemption = true;
SELECT pg_temp.come('a', 1, 2048, '8 min'), pg_temp.come('b', 1, 2048, '2 min');
SELECT pg_temp.come('g1', 1, 4096, type => 'GUARANTEED'), pg_temp.come('g2', 1, 1024, type => 'GUARANTEED');
SELECT pg_temp.told(ARRAY(SELECT x FROM yquota.container_paused('n', 'b') AS x)), pg_temp.told(ARRAY(SELECT x FROM yquota.container_paused('n', 'a') AS x));
SELECT pg_temp.come('c', 1, 2048, '5 min');
SELECT pg_temp.ends('g1');
SELECT pg_temp.ends('b');
SELECT pg_temp.ends('g2');
ROLLBACK;

\echo in every order, the newest arrivals are rejected
BEGIN;
SELECT pg_temp.queue_up('shortest_first');
SELECT pg_temp.told(ARRAY(SELECT x FROM yquota.shed_containers('n', 3) AS x));
SELECT pg_temp.ends('r');
ROLLBACK;

-- Four containers run, started from a to d, and each differs in another figure.
CREATE FUNCTION pg_temp.run(wanted text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE yquota.scheduler_setting SET opportunistic_kill_order = wanted;
	PERFORM pg_temp.come('a', 3, 1024), pg_temp.later('10 s'), pg_temp.come('b', 1, 512), pg_temp.later('10 s'), pg_temp.come('c', 1, 2048),
			pg_temp.later('10 s'), pg_temp.come('d', 2, 512, vcores => 2), pg_temp.later('1 s');
	RETURN (SELECT string_agg(container_id, ' ' ORDER BY place) FROM yquota.node_queue WHERE state = 'RUNNING');
END
$$;

\echo NULL and last_started stand for the order of Hadoop
BEGIN;
SELECT pg_temp.run(NULL);
SELECT * FROM yquota.explain_reclaim('n', amount => '[memory-mb=600]');
SELECT pg_temp.come('g', 1, 600, type => 'GUARANTEED');
ROLLBACK;

\echo least_paid: a has cost 31 s of one core, b 21 s, c 11 s of two, d 1 s of two
BEGIN;
SELECT pg_temp.run('least_paid');
SELECT place, container_id, running_since, kill_order, figure::numeric = e.charged + e.accrued AS figure, round(figure::numeric, 6) AS credits, chosen
FROM yquota.explain_reclaim('n', amount => '[memory-mb=600]') JOIN yquota.container_cost AS e USING (container_id) ORDER BY place;
SELECT pg_temp.come('g', 1, 1025, type => 'GUARANTEED');
ROLLBACK;

\echo lowest_priority: application 1 before 2 before 3
BEGIN;
SELECT pg_temp.run('lowest_priority');
SELECT * FROM yquota.explain_reclaim('n', amount => '[memory-mb=2100]');
SELECT pg_temp.come('g', 1, 2100, type => 'GUARANTEED');
ROLLBACK;

\echo furthest_from_end: an application of unknown progress counts as 0
BEGIN;
SELECT pg_temp.run('furthest_from_end');
SELECT yquota.report_progress(ARRAY[('b', 0.3), ('d', 0.3), ('c', 0.9), ('b', 0.25), ('nowhere', 1)]::yquota.container_progress[]);
SELECT * FROM yquota.explain_reclaim('n', amount => '[memory-mb=1025]');
SELECT pg_temp.come('g', 1, 1025, type => 'GUARANTEED');
SELECT yquota.report_progress(ARRAY[('b', 1), ('d', 0)]::yquota.container_progress[]);
SELECT * FROM yquota.explain_reclaim('n', amount => '[memory-mb=1025]');
ROLLBACK;

\echo fewest: c alone is enough for 2000, c and a for 2100, and of two equal ones d, the newer; for three cores two of d, and c, which is newer than b and a
BEGIN;
SELECT pg_temp.run('fewest');
SELECT amount, (SELECT array_agg(container_id ORDER BY place) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', amount => amount::yquota.resource))
FROM unnest('{"[]","[memory-mb=400]","[memory-mb=1000]","[memory-mb=2000]","[memory-mb=2100]","[vcores=3]","[memory-mb=2000,vcores=3]","[memory-mb=3500]","[memory-mb=3700]","[memory-mb=9000]"}'::text[]) AS amount;
SELECT pg_temp.come('g', 1, 2100, type => 'GUARANTEED');
\echo a container that is being killed is not chosen again
SELECT container_id, chosen FROM yquota.explain_reclaim('n', amount => '[memory-mb=1]');
ROLLBACK;

\echo a what-if changes the setting and takes it back
BEGIN;
SELECT pg_temp.run('fewest');
SAVEPOINT before;
UPDATE yquota.scheduler_setting SET opportunistic_kill_order = 'lowest_priority';
SELECT array_agg(container_id ORDER BY place) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', amount => '[memory-mb=2000]');
ROLLBACK TO before;
SELECT array_agg(container_id ORDER BY place) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', amount => '[memory-mb=2000]');
\echo the choice for a container that has not arrived yet, that waits, that runs, and that is promoted
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, queue, node, allocation, execution_type)
VALUES ('CONTAINER_START', 'g', yquota.clock(), 'p', 'application_1_0001', 'root.default', 'n', '[memory-mb=1025,vcores=1]', 'GUARANTEED');
SELECT array_agg(container_id ORDER BY place) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', 'g');
SELECT pg_temp.come('w', 1, 1024);
SELECT array_agg(container_id ORDER BY place) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', 'w');
SELECT array_agg(container_id ORDER BY place) AS others, count(*) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', 'a');
SELECT pg_temp.told(ARRAY(SELECT x FROM yquota.enqueue_container('n', 'g') AS x));
SELECT array_agg(container_id ORDER BY place) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', 'g');
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'w', yquota.clock(), 'GUARANTEED');
SELECT array_agg(container_id ORDER BY place) FILTER (WHERE chosen) AS chosen FROM yquota.explain_reclaim('n', 'w');
SELECT pg_temp.told(ARRAY(SELECT x FROM yquota.advance_node_queue('n') AS x));
ROLLBACK;

\echo invalid numbers and unknown objects
SELECT yquota.report_progress(NULL);
SELECT yquota.report_progress(ARRAY[('a', NULL)]::yquota.container_progress[]);
SELECT yquota.report_progress(ARRAY[('a', 1.01)]::yquota.container_progress[]);
SELECT yquota.report_progress(ARRAY[('a', 'NaN')]::yquota.container_progress[]);
SELECT yquota.report_application_progress(NULL, 1);
SELECT yquota.report_application_progress('application_1_0001', NULL);
SELECT yquota.report_application_progress('application_1_0001', -0.1);
SELECT yquota.report_application_progress('application_1_0001', 'NaN');
SELECT yquota.report_application_progress('nowhere', 1);
SELECT * FROM yquota.explain_reclaim('n');
SELECT * FROM yquota.explain_reclaim('n', 'a', '[]');
SELECT * FROM yquota.explain_reclaim('nowhere', amount => '[]');
SELECT * FROM yquota.explain_reclaim('n', 'nowhere');
UPDATE yquota.scheduler_setting SET node_queue_order = 'shortest';
UPDATE yquota.scheduler_setting SET opportunistic_kill_order = 'cheapest';

\echo the progress of an ended application is forgotten
SELECT pg_temp.come('a', 1, 1024), pg_temp.come('b', 1, 1024);
SELECT yquota.report_progress(ARRAY[('a', 0.5), ('b', 0.5)]::yquota.container_progress[]);
SELECT pg_temp.ends('a');
SELECT yquota_internal.forget_reported_progress(100);
SELECT container_id, progress, reported_at FROM yquota_internal.reported_progress;
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_node_queue_order WITH (FORCE);
