--
-- yquota.charging = deferred: events are kept and nothing is charged, so that no problem with
-- charging stops a feed. charge_deferred() later charges the events, with the same totals
-- (docs/design.md 1.1, 1.7).
--
CREATE DATABASE yquota_deferred;
\c yquota_deferred
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');

--
-- Roles that may defer events and charge deferred events
--
SHOW yquota.charging;
SET yquota.charging = off;
CREATE ROLE yquota_test_deferred_feed;
CREATE ROLE yquota_test_deferred_administrator;
GRANT USAGE ON SCHEMA yquota TO yquota_test_deferred_feed, yquota_test_deferred_administrator;
GRANT INSERT ON yquota.container_event TO yquota_test_deferred_feed;
SET ROLE yquota_test_deferred_feed;
SET yquota.charging = deferred;
SELECT * FROM yquota.charge_deferred();
RESET ROLE;
GRANT SET ON PARAMETER yquota.charging TO yquota_test_deferred_administrator;
GRANT EXECUTE ON FUNCTION yquota.charge_deferred TO yquota_test_deferred_administrator;
SET ROLE yquota_test_deferred_administrator;
SET yquota.charging = deferred;
SELECT * FROM yquota.charge_deferred();
RESET ROLE;
RESET yquota.charging;

-- Containers that already run
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'before', '2026-03-02 09:00', 'lab', '[vcores=2]', 'rm'),
	('QUOTA_COMPUTE', NULL, '2026-03-02 09:10', NULL, NULL, 'rm');

--
-- Charging is broken: counters cannot be posted
--
ALTER TABLE yquota_internal.counter_delta ADD COLUMN surprise integer;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'a', '2026-03-02 09:20', 'lab', '[vcores=1]');
SET yquota.charging = deferred;
SET ROLE yquota_test_deferred_feed;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'a', '2026-03-02 09:20', 'lab', '[vcores=1]', 'rm'),
	('CONTAINER_START', 'b', '2026-03-02 09:20', 'ops', '[vcores=3]', 'rm');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, source) VALUES
	('CONTAINER_UPDATE', 'before', '2026-03-02 09:30', '[vcores=4]', 'rm'),
	('QUOTA_COMPUTE', NULL, '2026-03-02 09:40', NULL, 'rm'),
	('CONTAINER_FINISH', 'b', '2026-03-02 09:50', NULL, 'rm');
COPY yquota.container_event (event, container_id, occurred_at, project, allocation) FROM stdin;
CONTAINER_START	c	2026-03-02 09:20	lab	[vcores=1]
CONTAINER_FINISH	c	2026-03-02 09:21	\N	\N
\.
-- no row is refused, whatever it contains
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', NULL, '2026-03-02 09:20', 'lab', '[vcores=1]', 'broken'),
	('CONTAINER_START', '', NULL, 'lab', '[vcores=1]', 'broken'),
	('CONTAINER_START', 'n1', 'infinity', 'lab', '[vcores=1]', 'broken'),
	('CONTAINER_START', 'n2', '2026-03-02 09:20', 'nobody', '[vcores=-1]', 'broken'),
	('CONTAINER_START', 'n3', '2026-03-02 09:20', 'lab', NULL, 'broken'),
	('CONTAINER_FINISH', 'n4', '2026-03-02 09:20', NULL, NULL, 'broken'),
	('QUOTA_COMPUTE', NULL, '2027-03-02 09:20', NULL, NULL, 'broken');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', string_agg(encode(sha256(number::text::bytea), 'hex'), ''), '2026-03-02 09:20', 'lab', '[vcores=1]', 'broken'
FROM generate_series(1, 100) AS number;
INSERT INTO yquota.container_event (event, container_id) SELECT 'CONTAINER_FINISH', 'nothing' WHERE false;
RESET ROLE;
ALTER TABLE yquota_internal.counter_delta DROP COLUMN surprise;

-- The log has all events, and the books have none of them
SELECT count(*) FROM yquota.container_event;
SELECT container_id, allocation, charges FROM yquota.container;
SELECT count(*) FROM yquota.charge;
SELECT count(*) FROM yquota.event_reject;
SELECT * FROM yquota.charged_through;
SELECT * FROM yquota.feed_status ORDER BY source;
SELECT project, charged, accrued FROM yquota.project_balance ORDER BY project;
SELECT * FROM yquota.verify();
SELECT * FROM yquota.verify('2026-03-02 09:45');
-- all rows of a statement have the same arrival number
SELECT array_agg(DISTINCT container_id ORDER BY container_id) FROM yquota_internal.deferred_event
WHERE source IS DISTINCT FROM 'broken' GROUP BY arrival ORDER BY arrival;

-- Functions that need complete books are refused
SELECT yquota.reconcile('[]', '2026-03-02 09:55');
SELECT yquota.node_lost('n1');
SELECT yquota.void_events(container_id => 'before', reason => 'test');
DELETE FROM yquota.project WHERE name = 'ops';
SELECT yquota.seal_history();
CREATE TABLE ledger (LIKE yquota.charge);
SELECT * FROM yquota.archive('ledger', 'infinity');
-- deferred events may decide in which queue a container is, and whether it exists
BEGIN;
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
SELECT state FROM yquota.submit_application('moves', 'ada', NULL, 'a', unmanaged => true);
SELECT yquota.move_application('moves', 'a');
SELECT yquota.move_application('moves', 'b');
ROLLBACK;
SELECT * FROM yquota.verify();

--
-- verify() finds a lost row of the kept events, and of the log
--
BEGIN;
DELETE FROM yquota_internal.deferred_event WHERE container_id = 'a';
SELECT * FROM yquota.verify();
ROLLBACK;
BEGIN;
DELETE FROM yquota.container_event WHERE container_id = 'c' AND event = 'CONTAINER_FINISH';
SELECT problem, subject, found FROM yquota.verify();
ROLLBACK;

--
-- A session that charges cannot overtake deferred events
--
RESET yquota.charging;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'a', '2026-03-02 09:25');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'unheard of', '2026-03-02 09:25');
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, source) VALUES
	('CONTAINER_FINISH', 'a', '2026-03-02 09:25', 'rm'),
	('CONTAINER_FINISH', 'before', '2026-03-02 09:55', 'rm');
SELECT container_id, waiting FROM yquota.event_reject;
SELECT container_id, "from", "to", amount FROM yquota.charge ORDER BY number;
SELECT * FROM yquota.verify();

--
-- A role that is not a superuser charges the deferred events
--
SET ROLE yquota_test_deferred_administrator;
SET yquota.on_bad_event = error;
SELECT * FROM yquota.charge_deferred(0);
-- the error names the row, and the remaining events stay
SELECT * FROM yquota.charge_deferred();
SELECT * FROM yquota.charge_deferred(1);
SET yquota.on_bad_event = set_aside;
-- all events of a container are charged together, here including two rows of c
SELECT * FROM yquota.charge_deferred(3);
-- a call that is rolled back keeps the events
BEGIN;
SELECT * FROM yquota.charge_deferred();
ROLLBACK;
SELECT * FROM yquota.charge_deferred(2);
-- an event without a container, or with an impossible container id, is charged last
SELECT * FROM yquota.charge_deferred(1000);
SELECT * FROM yquota.charge_deferred();
RESET ROLE;
SELECT left(container_id, 10) AS container_id, event, waiting, sqlstate, left(reason, 60) AS reason
FROM yquota.event_reject ORDER BY container_id NULLS FIRST, event;
SELECT * FROM yquota.charged_through;
SELECT * FROM yquota.feed_status ORDER BY source;
SELECT container_id, number, corrects, "from", "to", allocation, amount FROM yquota.charge ORDER BY container_id, number;
SELECT container_id FROM yquota.container;
SELECT project, charged, accrued FROM yquota.project_balance ORDER BY project;
SELECT * FROM yquota.verify();
RESET yquota.on_bad_event;

--
-- Statements are charged in the order in which they arrived, where the order matters. The cases are
-- a START repeated with the current allocation, two FINISHes, and two UPDATEs of one instant.
-- Further cases are a FINISH before an UPDATE, and an UPDATE that arrived before its START.
--
SET yquota.on_bad_event = set_aside;
CREATE FUNCTION pg_temp.send(id text, kind text, at time, vcores integer) RETURNS void
LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES (('CONTAINER_' || kind)::yquota.container_event_type, current_setting('yquota.charging') || ' ' || id,
			date '2026-03-02' + at, CASE kind WHEN 'START' THEN 'lab' END, ('[vcores=' || vcores || ']')::yquota.resource)
$$;
CREATE PROCEDURE pg_temp.send_all() LANGUAGE sql AS $$
	SELECT pg_temp.send('repeated', 'START', '08:00', 1);
	SELECT pg_temp.send('repeated', 'UPDATE', '08:10', 2);
	SELECT pg_temp.send('repeated', 'START', '08:00', 2);
	SELECT pg_temp.send('repeated', 'UPDATE', '08:20', 3);
	SELECT pg_temp.send('finished', 'START', '08:00', 1);
	SELECT pg_temp.send('finished', 'FINISH', '08:30', NULL);
	SELECT pg_temp.send('finished', 'FINISH', '08:20', NULL);
	SELECT pg_temp.send('finished', 'UPDATE', '08:10', 2);
	SELECT pg_temp.send('updated', 'START', '08:00', 1);
	SELECT pg_temp.send('updated', 'UPDATE', '08:10', 3);
	SELECT pg_temp.send('updated', 'UPDATE', '08:10', 2);
	SELECT pg_temp.send('past', 'START', '08:00', 1);
	SELECT pg_temp.send('past', 'UPDATE', '08:40', 2);
	SELECT pg_temp.send('past', 'FINISH', '08:30', NULL);
	SELECT pg_temp.send('early', 'UPDATE', '08:10', 2);
	SELECT pg_temp.send('early', 'START', '08:00', 1);
	SELECT pg_temp.send('early', 'FINISH', '08:40', NULL);
	SELECT pg_temp.send('early and twice', 'UPDATE', '08:10', 2);
	SELECT pg_temp.send('early and twice', 'START', '08:00', 1);
	SELECT pg_temp.send('early and twice', 'UPDATE', '08:10', 2);
	SELECT pg_temp.send('early and twice', 'FINISH', '08:40', NULL);
	SELECT pg_temp.send('sent twice', 'START', '08:00', 1);
	SELECT pg_temp.send('sent twice', 'FINISH', '08:40', NULL);
	SELECT pg_temp.send('sent twice', 'START', '08:00', 1);
	SELECT pg_temp.send('sent twice', 'FINISH', '08:40', NULL);
$$;
CALL pg_temp.send_all();
SET yquota.charging = deferred;
CALL pg_temp.send_all();
-- the caller's own setting of yquota.charging does not matter
SELECT * FROM yquota.charge_deferred();
RESET yquota.charging;
CREATE VIEW pg_temp.outcome AS
	SELECT split_part(container_id, ' ', 1) AS mode, substr(container_id, strpos(container_id, ' ') + 1) AS id,
		   'charge' AS what, concat_ws(' ', "from"::time, "to"::time, allocation, amount) AS row
	FROM yquota_internal.charge_in_effect
	UNION ALL
	SELECT split_part(container_id, ' ', 1), substr(container_id, strpos(container_id, ' ') + 1),
		   'container', concat_ws(' ', settled_at::time, allocation)
	FROM yquota.container
	UNION ALL
	SELECT split_part(container_id, ' ', 1), substr(container_id, strpos(container_id, ' ') + 1),
		   'reject', concat_ws(' ', event, occurred_at::time, allocation, waiting)
	FROM yquota.event_reject;
SELECT id, what, row FROM pg_temp.outcome WHERE mode = 'deferred' ORDER BY 1, 2, 3;
SELECT id, what, row FROM pg_temp.outcome WHERE mode IN ('on', 'deferred') GROUP BY 1, 2, 3 HAVING count(*) <> 2;
SELECT * FROM yquota.verify();

--
-- Cases within one transaction: TOAST values, also of other rows, and an event that is set aside
-- and sent again
--
BEGIN;
SET LOCAL yquota.charging = deferred;
SAVEPOINT a;
SELECT pg_temp.send('taken back', 'START', '08:00', 1);
ROLLBACK TO a;
SELECT pg_temp.send('one transaction', 'START', '08:00', 1);
SELECT * FROM yquota.charge_deferred();
SELECT pg_temp.send('one transaction', 'FINISH', '08:10', NULL);
SELECT * FROM yquota.charge_deferred();
COMMIT;
SELECT container_id, amount FROM yquota.charge WHERE container_id ~ 'taken back|one transaction';
SET yquota.charging = deferred;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, asked_label)
SELECT 'CONTAINER_START', 'large', '2026-03-02 08:00', 'lab', '[vcores=1]', string_agg(encode(sha256(number::text::bytea), 'hex'), '')
FROM generate_series(1, 1000) AS number;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, asked_label)
SELECT event, 'as large', occurred_at, project, allocation, asked_label FROM yquota.container_event WHERE container_id = 'large';
INSERT INTO yquota.project (name) VALUES ('nobody');
UPDATE yquota.event_reject SET allocation = '[vcores=1]' WHERE container_id = 'n2';
SELECT * FROM yquota.retry_rejects(container_id => 'n2');
SELECT * FROM yquota.verify();
SELECT * FROM yquota.charge_deferred();
RESET yquota.charging;
SELECT container_id, length(asked_label), count(*) OVER (PARTITION BY asked_label) AS alike
FROM yquota.container WHERE container_id IN ('large', 'as large', 'n2') ORDER BY container_id;
SELECT * FROM yquota.verify();

--
-- Deferred events of sealed containers are charged like others, and may then be archived
--
SELECT yquota.seal_history() IS NOT NULL AS sealed;
SELECT segments, archived > 0 AS moved FROM yquota.archive('ledger', 'infinity');
SELECT * FROM yquota.verify();

--
-- The worker raises an alert about deferred events. The time whose QUOTA_COMPUTEs were deferred is no outage.
--
SELECT yquota_internal.worker_record(0, '2026-03-02 10:00', NULL, NULL, NULL, NULL, NULL, '{}');
SELECT kind, subject FROM yquota.alert WHERE cleared_at IS NULL;
SET yquota.charging = deferred;
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.container_event (event, occurred_at) VALUES ('QUOTA_COMPUTE', 'infinity'), ('QUOTA_COMPUTE', '2026-03-02 13:00'), ('QUOTA_COMPUTE', '2026-03-02 12:00');
SELECT yquota_internal.worker_record(0, '2026-03-02 12:00', NULL, NULL, NULL, NULL, NULL, '{}');
SELECT yquota_internal.worker_record(0, '2026-03-02 12:00', NULL, NULL, NULL, NULL, NULL, '{}');
SELECT kind, subject, detail FROM yquota.alert WHERE cleared_at IS NULL;
SELECT yquota.set_clock('2026-03-02 12:00:30');
UPDATE yquota_internal.worker_state SET pid = 1, database_oid = (SELECT oid FROM pg_database WHERE datname = current_database()),
	system_identifier = (SELECT system_identifier FROM pg_control_system());
SELECT yquota_internal.worker_start(2, '2026-03-02 12:00:30');
SELECT count(*) FROM yquota.outage;
-- the time after the last deferred QUOTA_COMPUTE is an outage
SELECT yquota_internal.worker_start(3, '2026-03-02 12:03:30');
SELECT started_at, ended_at FROM yquota.outage;
RESET yquota.charging;
SELECT yquota.set_clock('2026-03-02 12:03:30');
SELECT * FROM yquota.charge_deferred();
SELECT yquota_internal.worker_record(0, '2026-03-02 12:04', NULL, NULL, NULL, NULL, NULL, '{}');
SELECT kind, cleared_at FROM yquota.alert;
SELECT * FROM yquota.charged_through;
SELECT * FROM yquota.verify();

\c postgres
REVOKE SET ON PARAMETER yquota.charging FROM yquota_test_deferred_administrator;
DROP DATABASE yquota_deferred;
DROP ROLE yquota_test_deferred_feed, yquota_test_deferred_administrator;
