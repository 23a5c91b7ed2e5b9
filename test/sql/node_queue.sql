-- Containers that start, wait, are paused and are killed at a node: vectors E1 to E16 and U1 to U6.
-- Further tests are about repeated calls, recovery, the work of a node's agent, lost nodes, and bad
-- input.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_node_queue WITH (FORCE);
CREATE DATABASE yquota_node_queue;
\c yquota_node_queue
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, maximum_am_resource_percent) VALUES (10, 1);
INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=2048,vcores=4]');

CREATE FUNCTION pg_temp.c(number integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT format('container_1_0001_01_%s', lpad(number::text, 6, '0'))
$$;
CREATE FUNCTION pg_temp.n(container_id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT ltrim(split_part(container_id, '_', 5), '0')
$$;
-- Return the orders that an agent gets, in one line.
CREATE FUNCTION pg_temp.told(actions yquota.node_action[]) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(concat_ws(' ', a.action, pg_temp.n(a.container_id), 'for ' || pg_temp.n(a.made_room_for)), ', ' ORDER BY a.number), 'nothing')
	FROM unnest(actions) WITH ORDINALITY AS a (action, container_id, execution_type, allocation, exit_status, diagnostics, made_room_for, number)
$$;
CREATE FUNCTION pg_temp.start(number integer, type yquota.execution_type, size text, node text DEFAULT 'n') RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
	VALUES ('CONTAINER_START', pg_temp.c(number), yquota.clock(), 'p', 'application_1_0009', 'u', 'root.default', start.node, start.size::yquota.resource, start.type, start.type = 'GUARANTEED')
$$;
CREATE FUNCTION pg_temp.change_type(number integer, type yquota.execution_type) RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type)
	VALUES ('CONTAINER_UPDATE', pg_temp.c(number), yquota.clock(), change_type.type)
$$;
CREATE FUNCTION pg_temp.enqueue(number integer) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.enqueue_container('n', pg_temp.c(number)) AS a))
$$;
CREATE FUNCTION pg_temp.ended(number integer, exit_status integer DEFAULT 0) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.container_ended('n', pg_temp.c(number), exit_status => ended.exit_status) AS a))
$$;
CREATE FUNCTION pg_temp.paused(number integer) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.container_paused('n', pg_temp.c(number)) AS a))
$$;
CREATE FUNCTION pg_temp.advance() RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.advance_node_queue('n') AS a))
$$;
CREATE FUNCTION pg_temp.shed(n integer) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.told(ARRAY(SELECT a FROM yquota.shed_containers('n', shed.n) AS a))
$$;

-- Play a vector. Its steps are, for example, "O 1024" (a container arrives), "O 512 x 3", "end 2",
-- "pause 1", "limit 2", "promote 2" or "demote 1". Return the orders that the agent gets after each
-- step.
CREATE FUNCTION pg_temp.play_step(step text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	words text[] := string_to_array(step, ' ');
	number integer;
	told text[];
BEGIN
	CASE words[1]
		WHEN 'end' THEN RETURN pg_temp.ended(words[2]::integer);
		WHEN 'pause' THEN RETURN pg_temp.paused(words[2]::integer);
		WHEN 'limit' THEN RETURN pg_temp.shed(words[2]::integer);
		WHEN 'promote' THEN PERFORM pg_temp.change_type(words[2]::integer, 'GUARANTEED'); RETURN pg_temp.advance();
		WHEN 'demote' THEN PERFORM pg_temp.change_type(words[2]::integer, 'OPPORTUNISTIC'); RETURN pg_temp.advance();
		ELSE
			FOR i IN 1 .. coalesce(words[4]::integer, 1) LOOP
				number := (SELECT count(*) + 1 FROM yquota.node_queue);
				PERFORM pg_temp.start(number, CASE words[1] WHEN 'G' THEN 'GUARANTEED' ELSE 'OPPORTUNISTIC' END::yquota.execution_type,
									  CASE WHEN words[2] LIKE '[%' THEN words[2] ELSE format('[memory-mb=%s,vcores=1]', words[2]) END);
				told := told || pg_temp.enqueue(number);
			END LOOP;
			RETURN array_to_string(told, '; ');
	END CASE;
END $$;
CREATE FUNCTION pg_temp.play(VARIADIC steps text[]) RETURNS TABLE (step text, told text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH step IN ARRAY steps LOOP
		PERFORM yquota.set_clock(yquota.clock() + interval '1 s');
		told := pg_temp.play_step(step);
		RETURN NEXT;
	END LOOP;
END $$;
CREATE TEMPORARY VIEW queue AS
	SELECT pg_temp.n(q.container_id) AS c, left(q.execution_type::text, 1) AS type, q.state, q.left_reason AS reason, c.is_running
	FROM yquota.node_queue AS q LEFT JOIN yquota.container AS c USING (container_id)
	ORDER BY q.left_at IS NOT NULL, q.state IN ('QUEUED', 'PAUSED'), q.place;

\echo E1: both containers run
BEGIN; SELECT * FROM pg_temp.play('G 1024', 'O 1024'); TABLE queue; ROLLBACK;
\echo E2: both are larger than the node, so both wait
BEGIN; SELECT * FROM pg_temp.play('G 3072', 'O 3072'); TABLE queue; ROLLBACK;
\echo E3: the first runs, and two wait
BEGIN; SELECT * FROM pg_temp.play('O 2048', 'O 1024', 'O 1024'); TABLE queue; ROLLBACK;
\echo E4: ten wait, and the eleventh is rejected
BEGIN; SELECT * FROM pg_temp.play('G 2048', 'O 2048 x 11');
SELECT state, left_reason, exit_status, diagnostics, queue_limit, count(*) FROM yquota.node_queue GROUP BY 1, 2, 3, 4, 5 ORDER BY 1; ROLLBACK;
\echo E5: the first is killed, and the second waits until the guaranteed one has ended
BEGIN; SELECT * FROM pg_temp.play('O 2048', 'O 2048', 'G 2048', 'end 1', 'end 3'); TABLE queue; ROLLBACK;
\echo E6: where containers are paused, the first goes on afterwards
BEGIN; UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = true;
SELECT * FROM pg_temp.play('O 2048', 'G 2048', 'pause 1'); TABLE queue; SELECT * FROM pg_temp.play('end 2'); TABLE queue;
SELECT decision, pg_temp.n(container_id) AS c, diagnostics FROM yquota.decision ORDER BY decision_id; ROLLBACK;
\echo E7: a limit of two rejects the four newest
BEGIN; SELECT * FROM pg_temp.play('G 2048', 'O 512 x 6', 'limit 2'); TABLE queue;
SELECT decision, pg_temp.n(container_id) AS c, diagnostics FROM yquota.decision ORDER BY decision_id; ROLLBACK;
\echo E8: a waiting container is killed
BEGIN; SELECT * FROM pg_temp.play('G 2048', 'O 512 x 2', 'end 2'); TABLE queue; ROLLBACK;
\echo E9: the two newest are killed
BEGIN; SELECT * FROM pg_temp.play('O 512 x 3', 'G 1500', 'end 3', 'end 2'); TABLE queue; ROLLBACK;
\echo E10: exactly two are killed
BEGIN; SELECT * FROM pg_temp.play('O 512 x 4', 'G 512 x 2'); TABLE queue;
SELECT pg_temp.n(container_id) AS c, pg_temp.n(made_room_for) AS made_room_for, diagnostics FROM yquota.node_queue WHERE state = 'KILLING' ORDER BY place;
ROLLBACK;
\echo E11: of two waiting containers the first is stopped
BEGIN; SELECT * FROM pg_temp.play('G 2048', 'O 512', 'O 512', 'end 2'); TABLE queue; ROLLBACK;
\echo E12: a waiting container is promoted, and the node makes room for it
BEGIN; SELECT * FROM pg_temp.play('O 2048', 'O 1024', 'promote 2', 'end 1'); TABLE queue; ROLLBACK;
\echo E13: a running container is demoted, and goes on
BEGIN; SELECT * FROM pg_temp.play('G 512', 'demote 1'); TABLE queue;
-- from now on container 1 can be killed
SELECT * FROM pg_temp.play('G 2048', 'end 1'); ROLLBACK;
\echo E14: two fit, and the third does not
BEGIN; UPDATE yquota.node SET total = '[memory-mb=1024,vcores=8]'; UPDATE yquota.scheduler_setting SET vmem_pmem_ratio = 2;
SELECT * FROM pg_temp.play('O [memory-mb=512,vcores=4] x 3'); ROLLBACK;
\echo E15: on a node without a queue for opportunistic containers, guaranteed ones start by force
BEGIN; UPDATE yquota.scheduler_setting SET opportunistic_queue_capacity = NULL; UPDATE yquota.node SET total = '[memory-mb=2048,vcores=1]';
SELECT * FROM pg_temp.play('G [memory-mb=2048,vcores=4]', 'G 512'); ROLLBACK;
\echo E16: on such a node, opportunistic containers are rejected although the node is idle
BEGIN; UPDATE yquota.scheduler_setting SET opportunistic_queue_capacity = 0;
SELECT * FROM pg_temp.play('O 512'); TABLE queue;
SELECT decision, pg_temp.n(container_id) AS c, diagnostics FROM yquota.decision; ROLLBACK;

\echo a node that reports a queue capacity of its own has that capacity
BEGIN;
SELECT node, accepted FROM yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, 1, NULL, NULL, NULL)::yquota.node_report]);
SELECT * FROM pg_temp.play('G 2048', 'O 512 x 2'); SELECT DISTINCT decision, execution_type, queue_limit FROM yquota.decision JOIN yquota.node_queue USING (container_id, execution_type); ROLLBACK;
\echo the last reported capacity counts, even where the load list keeps the first; it outlives the reports, which are not logged
BEGIN;
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, 1, NULL, NULL, NULL)::yquota.node_report]);
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, 2, NULL, NULL, NULL)::yquota.node_report]);
SELECT queue_capacity FROM yquota.node_queue_report;
DELETE FROM yquota_internal.node_queue_report;
SELECT * FROM pg_temp.play('G 2048', 'O 512 x 3'); SELECT queue_limit FROM yquota.node_queue WHERE left_reason = 'rejected';
\echo a node out of service keeps its capacity; a node that reports none any more, or is removed, loses it
UPDATE yquota.node SET state = 'LOST'; UPDATE yquota.node SET state = 'RUNNING';
SELECT * FROM yquota_internal.node_queue_capacity;
SAVEPOINT told;
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n', 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL)::yquota.node_report]);
SELECT count(*) FROM yquota_internal.node_queue_capacity;
SELECT * FROM pg_temp.play('O 512'); SELECT queue_limit FROM yquota.node_queue WHERE left_reason = 'rejected';
ROLLBACK TO told;
DELETE FROM yquota.node;
SELECT count(*) FROM yquota_internal.node_queue_capacity;
ROLLBACK;
\echo BY_RESOURCES: as many containers wait as fit into the node, and none starts by force
BEGIN; UPDATE yquota.scheduler_setting SET opportunistic_queue_policy = 'BY_RESOURCES', opportunistic_queue_capacity = 0;
SELECT * FROM pg_temp.play('G 1024', 'O 1024', 'O 512', 'G 4096'); TABLE queue; ROLLBACK;
\echo a repeated call returns the first answer and changes nothing
BEGIN;
SELECT * FROM pg_temp.play('O 1024', 'O 1024', 'O 512', 'G 1024');
CREATE TEMPORARY TABLE before AS SELECT to_jsonb(q) AS row FROM yquota.node_queue AS q;
SELECT number, pg_temp.enqueue(number) FROM generate_series(1, 4) AS number;
SELECT count(*) AS changed FROM yquota.node_queue AS q WHERE to_jsonb(q) NOT IN (SELECT row FROM before);
SELECT * FROM pg_temp.play('limit 0');
SELECT pg_temp.enqueue(3), pg_temp.shed(0);
SELECT pg_temp.ended(2), pg_temp.ended(2), pg_temp.enqueue(2);
SELECT count(*) AS ends FROM yquota.container_event WHERE event = 'CONTAINER_FINISH' AND container_id = pg_temp.c(2);
SELECT * FROM yquota.verify();
ROLLBACK;

\echo times of waiting
BEGIN;
UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = true;
SELECT * FROM pg_temp.play('O 2048', 'O 1024', 'G 2048', 'pause 1', 'end 3', 'end 1', 'limit 5', 'end 2');
SELECT pg_temp.n(container_id) AS c, enqueued_at::time, started_at::time, left_at::time, waited, pauses, left_reason FROM yquota.node_queue ORDER BY 1;
SELECT pg_temp.n(container_id) AS c, event, occurred_at::time, is_running, source FROM yquota.container_event WHERE event <> 'CONTAINER_START' ORDER BY 3, 1;
SELECT * FROM yquota.verify();
ROLLBACK;

-- a container counts in the queue until its end, whenever the queue hears of that end
BEGIN;
SELECT * FROM pg_temp.play('O 2048', 'O 1024');
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', pg_temp.c(2), yquota.clock());
SELECT yquota.set_clock(yquota.clock() + interval '1 h');
SELECT pg_temp.advance();
SELECT waited, left_at - enqueued_at AS there FROM yquota.node_queue WHERE container_id = pg_temp.c(2);
-- the earliest of several ends also counts here
SELECT container_id FROM yquota.container_ended('n', pg_temp.c(2), yquota.clock() - interval '3600.5 s', 143);
SELECT waited, left_at - enqueued_at AS there, exit_status FROM yquota.node_queue WHERE container_id = pg_temp.c(2);
ROLLBACK;

\echo the next call sees an end that another source has reported
BEGIN;
SELECT * FROM pg_temp.play('O 2048', 'O 2048', 'O 1024');
SELECT pg_temp.n(r) AS released FROM yquota.release_containers(ARRAY[pg_temp.c(1), pg_temp.c(3)]) AS r;
TABLE queue;
SELECT action, pg_temp.n(container_id) AS c FROM yquota.node_work('n');
SELECT pg_temp.advance();
TABLE queue;
SELECT action, pg_temp.n(container_id) AS c, exit_status FROM yquota.node_work('n');
\echo the agent reports the ends, too: the earliest end counts, and every reported end is kept
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
SELECT pg_temp.ended(1, 143), pg_temp.ended(1, 143), pg_temp.ended(3, 143);
SELECT action, pg_temp.n(container_id) AS c FROM yquota.node_work('n');
SELECT pg_temp.n(container_id) AS c, left_at::time, exit_status, is_acknowledged FROM yquota.node_queue WHERE left_at IS NOT NULL ORDER BY 1;
SELECT pg_temp.n(container_id) AS c, max("to")::time AS ended FROM yquota.charge GROUP BY 1 ORDER BY 1;
SELECT pg_temp.n(container_id) AS c, occurred_at::time, exit_status, is_own FROM yquota_internal.reported_end ORDER BY 1, 2;
SELECT * FROM yquota.verify();
ROLLBACK;

\echo one call sees ends and promotions: an ended container does not start, and none starts only to be killed at once
BEGIN;
SELECT * FROM pg_temp.play('O 2048', 'O 1024', 'O 1024', 'O 1536');
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', pg_temp.c(n), yquota.clock() FROM generate_series(1, 2) AS n;
SELECT pg_temp.change_type(4, 'GUARANTEED');
SELECT pg_temp.advance();
SELECT pg_temp.n(container_id) AS c, state, started_at::time, left_at::time FROM yquota.node_queue ORDER BY 1;
SELECT event, is_running FROM yquota.container_event WHERE container_id = pg_temp.c(2) ORDER BY event_id;
SELECT * FROM yquota.verify();
ROLLBACK;

\echo work stays with the agent until the agent acknowledges it
BEGIN;
SELECT * FROM pg_temp.play('G 1024', 'O 512');
SELECT action, pg_temp.n(container_id) AS c, execution_type, allocation FROM yquota.node_work('n');
SELECT yquota.acknowledge_node_work('n', ARRAY(SELECT w FROM yquota.node_work('n') AS w)) AS acknowledged;
SELECT yquota.acknowledge_node_work('n', ARRAY[ROW('start', pg_temp.c(1), NULL, NULL, NULL, NULL, NULL)::yquota.node_action]) AS again;
SELECT count(*) FROM yquota.node_work('n');
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
-- A container shrinks and is demoted at once under every setting. A container grows and is promoted
-- only while auto_update_containers is set.
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, execution_type)
VALUES ('CONTAINER_UPDATE', pg_temp.c(1), yquota.clock(), '[memory-mb=512,vcores=1]', 'OPPORTUNISTIC'),
	('CONTAINER_UPDATE', pg_temp.c(2), yquota.clock(), '[memory-mb=1024,vcores=1]', 'GUARANTEED');
SELECT action, pg_temp.n(container_id) AS c, execution_type, allocation FROM yquota.node_work('n');
UPDATE yquota.scheduler_setting SET auto_update_containers = true;
SELECT action, pg_temp.n(container_id) AS c, execution_type, allocation FROM yquota.node_work('n');
SELECT yquota.acknowledge_node_work('n', ARRAY(SELECT w FROM yquota.node_work('n') AS w)) AS acknowledged;
SELECT count(*) FROM yquota.node_work('n');
SELECT pg_temp.advance();
-- a kill remains in the agent's work until the container has ended, and an end until it is acknowledged
SELECT * FROM pg_temp.play('G 1024');
SELECT yquota.acknowledge_node_work('n', ARRAY(SELECT w FROM yquota.node_work('n') AS w)) AS acknowledged;
SELECT action, pg_temp.n(container_id) AS c, exit_status, diagnostics, pg_temp.n(made_room_for) AS made_room_for FROM yquota.node_work('n');
SELECT pg_temp.ended(1, -108);
SELECT action, pg_temp.n(container_id) AS c FROM yquota.node_work('n');
SELECT * FROM yquota.verify();
ROLLBACK;

\echo recovery: running containers run on, waiting containers wait on, missing containers have ended
BEGIN;
UPDATE yquota.scheduler_setting SET uses_pause_for_preemption = true;
SELECT * FROM pg_temp.play('O 512', 'O 512', 'O 512', 'O 512', 'O 512', 'G 512', 'pause 4', 'O 2048');
SELECT pg_temp.start(20, 'GUARANTEED', '[memory-mb=256,vcores=1]'), pg_temp.start(21, 'GUARANTEED', '[memory-mb=256,vcores=1]', 'elsewhere');
TABLE queue;
SELECT yquota.acknowledge_node_work('n', ARRAY(SELECT w FROM yquota.node_work('n') AS w)) AS acknowledged;
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
SELECT action, pg_temp.n(container_id) AS c, diagnostics
FROM yquota.recover_node_queue('n', ARRAY[pg_temp.c(1), pg_temp.c(3), pg_temp.c(6), pg_temp.c(20), pg_temp.c(21), pg_temp.c(99), pg_temp.c(99)]);
TABLE queue;
SELECT pg_temp.n(container_id) AS c, exit_status, left_reason FROM yquota.node_queue WHERE left_at IS NOT NULL ORDER BY 1;
SELECT action, pg_temp.n(container_id) AS c
FROM yquota.recover_node_queue('n', ARRAY[pg_temp.c(1), pg_temp.c(3), pg_temp.c(6), pg_temp.c(20)]);
SELECT * FROM yquota.verify();
\echo a container that waits by the rows but runs by the report of the agent runs
SELECT action, pg_temp.n(container_id) AS c
FROM yquota.recover_node_queue('n', ARRAY[pg_temp.c(1), pg_temp.c(3), pg_temp.c(6), pg_temp.c(7), pg_temp.c(20)]);
TABLE queue;
SELECT * FROM yquota.verify();
ROLLBACK;

\echo a lost node: its waiting containers are reported as rejected
BEGIN;
SELECT * FROM pg_temp.play('O 2048', 'O 512', 'G 2048', 'O 512');
SELECT pg_temp.n(l.container_id) AS lost FROM yquota.node_lost('n') AS l;
TABLE queue;
SELECT decision, pg_temp.n(container_id) AS c, diagnostics FROM yquota.decision ORDER BY decision_id;
SELECT count(*) FROM yquota.node_lost('n');
SELECT pg_temp.start(5, 'OPPORTUNISTIC', '[memory-mb=512]');
SELECT action, diagnostics FROM yquota.enqueue_container('n', pg_temp.c(5));
UPDATE yquota.node SET state = 'RUNNING';
SELECT pg_temp.enqueue(5);
SELECT action, pg_temp.n(container_id) AS c, exit_status, diagnostics FROM yquota.node_work('n');
SELECT * FROM yquota.verify();
ROLLBACK;

\echo a removed node starts nothing, but learns of ends
BEGIN;
SELECT * FROM pg_temp.play('O 2048', 'O 512');
DELETE FROM yquota.node;
SELECT pg_temp.ended(1), pg_temp.advance(), pg_temp.ended(2);
SELECT pg_temp.advance();
ROLLBACK;

\echo the resource manager demotes and promotes waiting containers
BEGIN;
INSERT INTO yquota.queue (path, capacity, position) VALUES ('root', NULL, 1), ('root.default', '100', 2);
COMMIT;
SELECT s.state FROM yquota.submit_application('application_1_0009', 'u', '{}', 'default', project => 'p', am_resource => '[memory-mb=1024,vcores=1]', unmanaged => true) AS s;
BEGIN;
SELECT * FROM pg_temp.play('O 1024', 'G 2048', 'O 1024');
\echo U3: an update with another version
SELECT outcome, reason, version FROM yquota.update_containers('application_1_0009', ARRAY[ROW(pg_temp.c(3), 1, NULL, 'GUARANTEED', 1, -1)::yquota.container_update_request]);
\echo U1: a promotion is pending until the node is considered
SELECT yquota.update_container(pg_temp.c(3), 0, execution_type => 'GUARANTEED');
\echo U2: another update is refused meanwhile
SELECT outcome, reason, version FROM yquota.update_containers('application_1_0009', ARRAY[ROW(pg_temp.c(3), 0, NULL, 'GUARANTEED', 1, -1)::yquota.container_update_request]);
\echo U5: a demotion takes effect at once, and the node learns of it at the next call
SELECT yquota.update_container(pg_temp.c(2), 0, execution_type => 'OPPORTUNISTIC');
TABLE queue;
SELECT * FROM yquota.scheduler_node \gx
\echo U4: when the node is considered, the promoted container waits before the demoted one, which goes to the end
SELECT decision, pg_temp.n(container_id) AS c FROM yquota.node_heartbeat('{n}');
SELECT pg_temp.advance();
TABLE queue;
SELECT pg_temp.n(c.container_id) AS c, c.execution_type, v.version FROM yquota.container AS c JOIN yquota_internal.container_version AS v USING (container_id) ORDER BY 1;
SELECT pg_temp.ended(1);
SELECT * FROM yquota.verify();
\echo U6: an update of a container that has ended
SELECT outcome, reason, version FROM yquota.update_containers('application_1_0009', ARRAY[ROW(pg_temp.c(1), 0, NULL, 'GUARANTEED', 1, -1)::yquota.container_update_request]);
ROLLBACK;

\echo invalid input
SELECT * FROM yquota.enqueue_container(NULL, 'c');
SELECT * FROM yquota.enqueue_container('n', '');
SELECT * FROM yquota.enqueue_container('nowhere', 'c');
SELECT action, diagnostics FROM yquota.enqueue_container('n', 'c');
SELECT pg_temp.start(50, 'OPPORTUNISTIC', '[memory-mb=512]', 'elsewhere');
SELECT action, diagnostics FROM yquota.enqueue_container('n', pg_temp.c(50));
SELECT * FROM yquota.container_ended('n', pg_temp.c(50));
SELECT * FROM yquota.container_ended('n', 'c');
SELECT * FROM yquota.container_ended('n', pg_temp.c(50), exit_status => NULL);
SELECT pg_temp.start(51, 'OPPORTUNISTIC', '[memory-mb=512]');
SELECT * FROM yquota.container_ended('n', pg_temp.c(51), 'infinity');
SELECT * FROM yquota.container_ended('n', pg_temp.c(51), yquota.clock() + interval '1 hour');
SELECT action, diagnostics FROM yquota.container_paused('n', pg_temp.c(51));
SELECT pg_temp.enqueue(51), pg_temp.paused(51);
SELECT * FROM yquota.shed_containers('n', NULL);
SELECT * FROM yquota.recover_node_queue('n', NULL);
SELECT yquota.acknowledge_node_work('n', NULL);
SELECT pg_temp.shed(-1);
BEGIN READ ONLY;
SELECT * FROM yquota.advance_node_queue('n');
ROLLBACK;
SET yquota.charging = 'deferred';
SELECT * FROM yquota.advance_node_queue('n');
RESET yquota.charging;

\echo agents are operators; viewers read; members see only their rows
CREATE ROLE regress_yquota_operator;
CREATE ROLE regress_yquota_viewer;
CREATE ROLE regress_yquota_member;
INSERT INTO yquota.project (name) VALUES ('other');
SELECT yquota.allow_role('regress_yquota_operator', 'operator'), yquota.allow_role('regress_yquota_viewer', 'viewer'),
	   yquota.allow_role('regress_yquota_member', 'member', 'other') \g /dev/null
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation, execution_type, is_running)
VALUES ('CONTAINER_START', 'theirs', yquota.clock(), 'other', 'n', '[memory-mb=512]', 'OPPORTUNISTIC', false);
SET ROLE regress_yquota_operator;
SELECT action, container_id FROM yquota.enqueue_container('n', 'theirs');
SELECT action, container_id FROM yquota.node_work('n');
SELECT yquota.acknowledge_node_work('n', ARRAY(SELECT w FROM yquota.node_work('n') AS w));
SELECT container_id, state FROM yquota.node_queue ORDER BY 1;
SET ROLE regress_yquota_viewer;
SELECT container_id, state FROM yquota.readable_node_queue ORDER BY 1;
SELECT action FROM yquota.node_work('n');
SET ROLE regress_yquota_member;
SELECT container_id, project, state FROM yquota.readable_node_queue;
SAVEPOINT s;
SELECT * FROM yquota.node_queue;
ROLLBACK TO s;
SELECT action FROM yquota.node_work('n');
ROLLBACK TO s;
SET ROLE regress_yquota_viewer;
SELECT action FROM yquota.advance_node_queue('n');
ROLLBACK;
SELECT yquota.disallow_role('regress_yquota_operator', 'operator'), yquota.disallow_role('regress_yquota_viewer', 'viewer'),
	   yquota.disallow_role('regress_yquota_member', 'member', 'other') \g /dev/null
DROP ROLE regress_yquota_operator, regress_yquota_viewer, regress_yquota_member;

\echo verify() compares the queues of nodes with the books
BEGIN;
UPDATE yquota.node_queue SET state = 'PAUSED';
INSERT INTO yquota.node_queue SELECT (q).* FROM (SELECT jsonb_populate_record(q, '{"container_id": "unknown"}') AS q FROM yquota.node_queue AS q) AS made;
SELECT * FROM yquota.verify();
UPDATE yquota.node_queue SET state = 'GONE', left_at = yquota.clock(), left_reason = 'shed', queue_limit = 1;
SELECT * FROM yquota.verify();
ROLLBACK;

\echo an agent reports the end of a container that was archived or voided while it ran
BEGIN;
SELECT pg_temp.ended(51);
SELECT pg_temp.start(n, 'OPPORTUNISTIC', '[memory-mb=512,vcores=1]'), pg_temp.enqueue(n) FROM generate_series(60, 62) AS n;
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', pg_temp.c(60), yquota.clock());
SELECT yquota.void_events(container_id => pg_temp.c(61), reason => 'r') \g /dev/null
SELECT pg_temp.ended(61);
CREATE TABLE archived_ledger (LIKE yquota.charge);
CREATE TABLE archived_log (LIKE yquota.container_event);
SELECT yquota.seal_history() \g /dev/null
SELECT archived FROM yquota.archive('archived_ledger', 'infinity');
SELECT archived FROM yquota.archive('archived_log', 'infinity');
SELECT pg_temp.ended(60), pg_temp.ended(60);
SELECT pg_temp.n(container_id) AS number, state, left_reason, exit_status, is_acknowledged FROM yquota.node_queue WHERE container_id >= pg_temp.c(60) ORDER BY 1;
SELECT pg_temp.ended(99);
ROLLBACK;

\echo an agent does not kill a container
BEGIN;
SELECT pg_temp.ended(51);
SELECT * FROM pg_temp.play('O 2048', 'G 2048');
SELECT yquota_internal.watch_node_queues(yquota.clock() + interval '10 minutes');
SELECT count(*) FROM yquota.alert WHERE kind = 'node_queue_held_up';
SELECT yquota_internal.watch_decisions(yquota.clock() + interval '11 minutes'), yquota_internal.watch_decisions(yquota.clock() + interval '12 minutes');
SELECT subject, detail, cleared_at IS NULL AS open FROM yquota.alert WHERE kind = 'node_queue_held_up';
SELECT pg_temp.ended(2, -108);
SELECT yquota_internal.watch_decisions(yquota.clock() + interval '13 minutes');
SELECT subject, cleared_at IS NULL AS open FROM yquota.alert WHERE kind = 'node_queue_held_up';
ROLLBACK;

\echo the clock is set back to the instant that is stored as zero
BEGIN;
SELECT pg_temp.ended(51);
SELECT yquota.set_clock('2000-01-01 00:00:01+00');
SELECT pg_temp.start(60, 'OPPORTUNISTIC', '[memory-mb=512,vcores=1]');
SELECT yquota.set_clock('2000-01-01 00:00+00');
SELECT pg_temp.enqueue(60), pg_temp.ended(60);
SELECT state, enqueued_at, started_at, left_at FROM yquota.node_queue WHERE container_id = pg_temp.c(60);
-- the end is reported again, also while the clock is behind the end
SELECT pg_temp.ended(60);
SELECT event, occurred_at, is_running FROM yquota.container_event WHERE container_id = pg_temp.c(60) ORDER BY event_id;
ROLLBACK;

\echo reconciliation does not start waiting containers
BEGIN;
SELECT pg_temp.ended(51);
SELECT * FROM pg_temp.play('O 2048', 'O 1024');
SELECT yquota.set_clock(yquota.clock() + interval '1 s');
SELECT action, container_id, detail FROM yquota.reconcile((SELECT jsonb_agg(jsonb_build_object('container_id', c.container_id, 'execution_type', c.execution_type, 'allocation', c.allocation::text)) FROM yquota.container AS c), yquota.clock(), false);
TABLE queue;
ROLLBACK;

\echo rows older than the kept history are deleted
BEGIN;
SELECT pg_temp.ended(51);
INSERT INTO yquota.retention_setting (keep_months) VALUES (2);
SELECT yquota_internal.retain_history(yquota.clock() + interval '50 days'), count(*) FROM yquota.node_queue;
SELECT yquota_internal.retain_history(yquota.clock() + interval '70 days');
SELECT count(*) FROM yquota.node_queue;
ROLLBACK;
\c postgres
DROP DATABASE yquota_node_queue WITH (FORCE);
