--
-- Rejected rows as a feed sees them: one warning for each statement, the feed's own rejects, and
-- ends that differ. The test uses its own database, because the clock is global.
--
CREATE DATABASE yquota_my_rejects;
\c yquota_my_rejects
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-02 10:00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab');
CREATE ROLE yquota_feed_a;
CREATE ROLE yquota_feed_b;
CREATE ROLE yquota_feed_watch IN ROLE yquota_feed_a;
CREATE ROLE yquota_feed_reader;
CREATE ROLE yquota_feed_member;
SELECT yquota.allow_role('yquota_feed_a', 'operator');
SELECT yquota.allow_role('yquota_feed_b', 'operator');
SELECT yquota.allow_role('yquota_feed_reader', 'viewer');
SELECT yquota.allow_role('yquota_feed_member', 'member', 'lab');

--
-- Each statement gives a single warning, whatever its form
--
SET ROLE yquota_feed_a;
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'a1', '2026-03-02 09:00', 'lab', '[vcores=1]', 'rm-a'),
	('CONTAINER_START', 'a2', '2026-03-02 09:00', 'lab', '[vcores=2]', 'rm-a');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'a3', '2026-03-02 09:00', 'new', '[vcores=1]', 'rm-a');
-- The warning names the first container by its id. A container whose event does not wait is
-- preferred.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'a6', '2026-03-02 09:00', 'new', '[vcores=1]', 'rm-a'),
	('CONTAINER_FINISH', 'a4', '2026-03-02 09:30', NULL, NULL, 'rm-a'),
	('CONTAINER_START', 'a5', '2026-03-02 09:00', 'lab', NULL, 'rm-a'),
	('CONTAINER_FINISH', 'a2', '2026-03-02 09:30', NULL, NULL, 'rm-a');
COPY yquota.container_event (event, container_id, occurred_at, source) FROM STDIN;
CONTAINER_FINISH	a7	2026-03-02 09:10	rm-a
CONTAINER_UPDATE	a8	2026-03-02 09:10	rm-a
CONTAINER_FINISH	a1	2026-03-02 09:10	rm-a
\.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', 'many' || i, '2026-03-02 09:00', CASE WHEN i % 2 = 0 THEN 'lab' ELSE 'new' END, '[vcores=1]', NULL
FROM generate_series(1, 5000) AS i;
-- each execution of a prepared statement or of a statement in a function counts as a statement
PREPARE start(text) AS INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', $1, '2026-03-02 09:00', 'nobody', '[vcores=1]');
EXECUTE start('p1');
DO $$ BEGIN FOR i IN 2 .. 3 LOOP EXECUTE format('EXECUTE start(%L)', 'p' || i); END LOOP; END $$;
-- with set_aside_quietly there is no warning, and with error there is an error as always
SET yquota.on_bad_event = set_aside_quietly;
EXECUTE start('p4');
SET yquota.on_bad_event = error;
EXECUTE start('p5');
SET yquota.on_bad_event = set_aside;

--
-- Each role sees the rows that it sent, and so do members of the role
--
SET ROLE yquota_feed_b;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'b1', '2026-03-02 09:00', 'secret', '[vcores=1]', 'rm-a');
SELECT source, waiting, sqlstate, reason, event, container_id, project, allocation, sent_by FROM yquota.my_rejects;
-- a cheap function that reveals its arguments does not get rows of others
CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001
	AS $$ BEGIN RAISE WARNING 'seen: %', $1; RETURN true; END $$;
SELECT container_id FROM yquota.my_rejects WHERE pg_temp.tell(container_id);
SELECT count(*) FROM yquota.event_reject;
DELETE FROM yquota.my_rejects;
SET ROLE yquota_feed_a;
SELECT source, waiting, sqlstate, count(*) FROM yquota.my_rejects GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT reject_id, waiting, reason, detail, event, container_id, occurred_at, sent_by FROM yquota.my_rejects WHERE container_id ~ '^a' ORDER BY container_id;
SET ROLE yquota_feed_watch;
SELECT count(*), min(sent_by), max(sent_by) FROM yquota.my_rejects;
SET ROLE yquota_feed_reader;
SELECT count(*) FROM yquota.my_rejects;
SET ROLE yquota_feed_member;
SELECT count(*) FROM yquota.my_rejects;
RESET ROLE;
-- a role that may read everything sees all rows
SELECT sent_by, count(*) FROM yquota.my_rejects GROUP BY sent_by ORDER BY sent_by;

--
-- Functions of yquota send events in the name of their caller
--
SET ROLE yquota_feed_b;
SELECT * FROM yquota.reconcile('[{"container_id": "b2", "project": "unknown", "allocation": {"vcores": 1}, "started_at": "2026-03-02T09:50:00Z"},
	{"container_id": "a1"}]', '2026-03-02 10:00', false) WHERE container_id IN ('a1', 'b2');
SELECT source, container_id, sent_by FROM yquota.my_rejects ORDER BY container_id;
RESET ROLE;
CREATE FUNCTION public.send_start(id text) RETURNS void LANGUAGE sql SECURITY DEFINER
	SET search_path = pg_catalog
	AS $$ INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
		VALUES ('CONTAINER_START', id, '2026-03-02 09:00', 'nobody', '[vcores=1]') $$;
-- a SECURITY DEFINER function sends events in the name of its owner
ALTER FUNCTION public.send_start(text) OWNER TO yquota_feed_b;
SET ROLE yquota_feed_a;
SELECT public.send_start('f1');
RESET ROLE;
SELECT container_id, sent_by FROM yquota.event_reject WHERE container_id = 'f1';

--
-- The sender stays the same when a row is tried again, waits for a START of another feed, or was
-- deferred
--
SET ROLE yquota_feed_a;
INSERT INTO yquota.container_event (event, container_id, occurred_at, source) VALUES ('CONTAINER_FINISH', 'w1', '2026-03-02 09:10', 'rm-a');
SET ROLE yquota_feed_b;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'w1', '2026-03-02 09:20', 'lab', '[vcores=1]', 'rm-b');
RESET ROLE;
SELECT event, container_id, waiting, reason, sent_by FROM yquota.event_reject WHERE container_id = 'w1';
SELECT * FROM yquota.retry_rejects(container_id => 'b1');
SELECT * FROM yquota.retry_rejects(container_id => 'w1');
SELECT container_id, waiting, sent_by FROM yquota.event_reject WHERE container_id IN ('b1', 'w1') ORDER BY 1;
SET yquota.charging = deferred;
SET ROLE yquota_feed_b;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'd1', '2026-03-02 09:20', 'lab', '[vcores=1]', 'rm-b'),
	('CONTAINER_START', 'd2', '2026-03-02 09:20', 'none', '[vcores=1]', 'rm-b');
RESET ROLE;
RESET yquota.charging;
SELECT container_id, sent_by FROM yquota_internal.deferred_event ORDER BY 1;
-- the result includes the number of rows that were set aside
SELECT * FROM yquota.charge_deferred();
SELECT container_id, sent_by FROM yquota.event_reject WHERE container_id ~ '^d';
-- a row disappears when its event has been accepted
INSERT INTO yquota.project (name) VALUES ('secret');
SELECT * FROM yquota.retry_rejects(container_id => 'b1');
SET ROLE yquota_feed_b;
SELECT container_id FROM yquota.my_rejects ORDER BY 1;
RESET ROLE;
-- sent_by keeps the name that the role had when it sent the row
ALTER ROLE yquota_feed_b RENAME TO yquota_feed_c;
SET ROLE yquota_feed_c;
SELECT count(*) FROM yquota.my_rejects;
RESET ROLE;
ALTER ROLE yquota_feed_c RENAME TO yquota_feed_b;

--
-- Calls that a feed has set aside: one row for each call, however often the call is repeated
--
SET ROLE yquota_feed_a;
SELECT yquota.reject_call('rm-a', '{"function": "yquota.finish_application", "arguments": ["application_1_1", "FINISHED"]}', '42704', 'application "application_1_1" does not exist');
SELECT yquota.reject_call('rm-a', '{"arguments": ["application_1_1", "FINISHED"], "function": "yquota.finish_application"}', '42704', 'application "application_1_1" does not exist') = max(reject_id) AS is_known FROM yquota.my_rejects WHERE call IS NOT NULL;
SELECT yquota.reject_call(NULL, '{"table": "yquota.container_event", "row": "CONTAINER_END"}', '22P02', 'invalid input value for enum', 'a detail') > 0 AS is_set_aside;
SET ROLE yquota_feed_b;
SELECT yquota.reject_call('rm-b', '{"function": "yquota.finish_application", "arguments": ["application_1_1", "FINISHED"]}', '42704', NULL) > 0 AS is_set_aside;
-- a repeated call gets the current reason and the role that sent it last
SELECT yquota.reject_call(NULL, '{"table": "yquota.container_event", "row": "CONTAINER_END"}', '22007', 'other words') > 0 AS is_set_aside;
SELECT source, waiting, sqlstate, reason, detail, event, container_id, recorded_at, sent_by, call FROM yquota.my_rejects WHERE call IS NOT NULL ORDER BY source;
SELECT yquota.reject_call('rm-b', '["finish_application"]', '42704', 'no object');
SELECT yquota.reject_call('rm-b', NULL, '42704', 'nothing');
SELECT yquota.reject_call('rm-b', '{}', 'bad', 'no SQLSTATE');
SELECT yquota.reject_call('rm-b', '{}', NULL, 'no SQLSTATE');
SELECT count(*) FROM yquota.feed_reject;
DELETE FROM yquota.feed_reject;
SET ROLE yquota_feed_a;
SELECT source, call FROM yquota.my_rejects WHERE call IS NOT NULL ORDER BY source;
SELECT source, events, rejected_calls, problem FROM yquota.feed_status WHERE rejected_calls > 0 ORDER BY source;

--
-- Events that a feed still keeps, and problems that it reports
--
SELECT yquota.report_feed_problem('rm-a', '42501', 'permission denied for function node_lost');
SELECT yquota.report_feed_problem('rm-new', '42P01', 'relation does not exist');
SELECT yquota.report_feed_problem(NULL, 'XX000', 'cache lookup failed');
RESET ROLE;
SELECT yquota.set_clock('2026-03-02 10:05:00+00');
SET ROLE yquota_feed_a;
SELECT yquota.report_feed_problem('rm-a', '42501', 'permission denied for function node_lost');
SELECT yquota.report_feed_problem('rm-new', '3F000', NULL);
SELECT source, problem, problem_since FROM yquota.feed_status WHERE problem IS NOT NULL ORDER BY source;
RESET ROLE;
SELECT labels, value FROM yquota.metrics WHERE metric = 'yquota_feed_problem' ORDER BY labels ->> 'source';
SELECT yquota_internal.worker_record(0, '2026-03-02 10:06+00', NULL, NULL, NULL, NULL, NULL, '{}');
SELECT kind, subject, detail, raised_at FROM yquota.alert WHERE kind = 'feed_problem' AND cleared_at IS NULL ORDER BY subject;
SET ROLE yquota_feed_b;
SELECT yquota.report_feed_problem('rm-a', NULL);
SELECT yquota.report_feed_problem('rm-a', NULL);
SELECT yquota.report_feed_problem(NULL, NULL);
RESET ROLE;
SELECT yquota_internal.worker_record(0, '2026-03-02 10:07+00', NULL, NULL, NULL, NULL, NULL, '{}');
SELECT subject FROM yquota.alert WHERE kind = 'feed_problem' AND cleared_at IS NULL;
SELECT source, problem FROM yquota.feed_status WHERE problem IS NOT NULL;
-- an administrator deletes rows that are dealt with, and the worker deletes old rows
SELECT yquota_internal.forget_rejected_calls('2026-03-02 10:00+00', 10);
SELECT yquota_internal.forget_rejected_calls('2026-03-02 10:01+00', 2);
DELETE FROM yquota.feed_reject;
SELECT source, rejected_calls FROM yquota.feed_status WHERE rejected_calls > 0;

--
-- An end that differs from the end known before counts for the feed that reported it
--
SELECT yquota.set_clock('2026-03-02 12:00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', 'e' || i, '2026-03-02 11:00', 'lab', '[vcores=1]', 'rm-a' FROM generate_series(1, 6) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
SELECT 'CONTAINER_FINISH', 'e' || i, '2026-03-02 11:10', 0, 'rm-a' FROM generate_series(1, 5) AS i;
SET ROLE yquota_feed_a;
SELECT source, rejected, waiting, differing_ends FROM yquota.feed_status WHERE source LIKE 'rm-%' ORDER BY source;
RESET ROLE;
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	-- Each end is reported again. The end of e1 is the same. The others have another time or exit
	-- status, e3 twice, and come from the same feed, another feed, or no feed.
	('CONTAINER_FINISH', 'e1', '2026-03-02 11:10', 0, 'rm-b'),
	('CONTAINER_FINISH', 'e2', '2026-03-02 11:11', 0, 'rm-b'),
	('CONTAINER_FINISH', 'e3', '2026-03-02 11:10', 1, 'rm-b'),
	('CONTAINER_FINISH', 'e3', '2026-03-02 11:10', 2, 'rm-b'),
	('CONTAINER_FINISH', 'e4', '2026-03-02 11:09', 0, 'rm-a'),
	('CONTAINER_FINISH', 'e5', '2026-03-02 11:12', 0, NULL);
-- a single feed reports both ends in one statement, so the difference counts for that feed
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'e6', '2026-03-02 11:10', 0, 'rm-b'),
	('CONTAINER_FINISH', 'e6', '2026-03-02 11:12', 0, 'rm-b');
-- ends that yquota sent itself are not compared
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, node, source) VALUES
	('CONTAINER_START', 'e7', '2026-03-02 11:00', 'lab', '[vcores=1]', 'n1', 'rm-a');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=4]');
SELECT * FROM yquota.node_lost('n1', '2026-03-02 11:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES ('CONTAINER_FINISH', 'e7', '2026-03-02 11:31', -100, 'rm-a');
SET ROLE yquota_feed_a;
SELECT source, rejected, waiting, differing_ends FROM yquota.feed_status WHERE source LIKE 'rm-%' OR source IS NULL ORDER BY source;
RESET ROLE;
SELECT container_id, reason FROM yquota.suspect_container WHERE container_id ~ '^e' ORDER BY 1;
SELECT container_id, source, is_booked, is_own FROM yquota_internal.reported_end WHERE container_id ~ '^e' ORDER BY container_id, occurred_at, exit_status;
SELECT * FROM yquota.verify();
-- ends that nodes report again to a restarted resource manager do not count as differences
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', 'r' || i, '2026-03-02 11:00', 'lab', '[vcores=1]', 'rm-a' FROM generate_series(1, 2) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
SELECT 'CONTAINER_FINISH', 'r' || i, '2026-03-02 11:35', -100, 'rm-a' FROM generate_series(1, 2) AS i;
SELECT yquota.report_recovery('rm-a', '2026-03-02 11:35', '2026-03-02 11:40') > 0 AS is_forgiven;
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'r1', '2026-03-02 11:40', 143, 'rm-a'),
	('CONTAINER_FINISH', 'r2', '2026-03-02 11:39', 143, 'rm-a');
SELECT container_id, reason FROM yquota.suspect_container WHERE container_id ~ '^r' ORDER BY 1;
SELECT source, differing_ends FROM yquota.feed_status WHERE source = 'rm-a';
-- differing ends count until history is sealed
SELECT yquota.set_clock('2026-03-02 13:00:00+00');
SELECT yquota.seal_history() IS NOT NULL AS sealed;
SELECT sum(differing_ends) FROM yquota.feed_status;

\c postgres
DROP DATABASE yquota_my_rejects;
DROP ROLE yquota_feed_a, yquota_feed_b, yquota_feed_watch, yquota_feed_reader, yquota_feed_member;
