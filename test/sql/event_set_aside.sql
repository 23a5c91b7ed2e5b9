--
-- yquota.on_bad_event = set_aside (docs/design.md 1.7): the bad row goes to event_reject with its
-- reason, and the rest of the statement is charged. An UPDATE or FINISH of a container not yet
-- started waits for its START.
--
CREATE DATABASE yquota_event_set_aside;
\c yquota_event_set_aside
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
SET yquota.on_bad_event = set_aside;

-- Every possible error, in one statement, between good rows
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, exit_status, source) VALUES
	('CONTAINER_START', 'b', '2026-03-02 09:00', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', NULL, '2026-03-02 09:00', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', '', '2026-03-02 09:00', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', 'c01', NULL, 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', 'c02', 'infinity', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', 'c03', '-infinity', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', 'c04', '2026-03-02 10:05:01', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', 'c05', '2026-03-02 09:00', 'lab', NULL, NULL, 'rm'),
	('CONTAINER_START', 'c06', '2026-03-02 09:00', 'lab', '[vcores=-1]', NULL, 'rm'),
	('CONTAINER_START', 'c07', '2026-03-02 09:00', 'lab', '[memory-mb=9223372036854775807]', NULL, 'rm'),
	('CONTAINER_START', 'c08', '2026-03-02 09:00', 'lab', '[fpga=1]', NULL, 'rm'),
	('CONTAINER_START', 'c09', '2026-03-02 09:00', 'nobody', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_START', 'c10', '2026-03-02 09:00', NULL, '[vcores=1]', NULL, 'rm'),
	('QUOTA_COMPUTE', NULL, '2026-03-02 11:00', NULL, NULL, NULL, 'rm'),
	('QUOTA_COMPUTE', NULL, '2026-03-02 09:59', NULL, NULL, NULL, 'rm'),
	-- events after a good START in the same statement
	('CONTAINER_START', 'd01', '2026-03-02 09:00', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_UPDATE', 'd01', '2026-03-02 08:59', NULL, '[vcores=2]', NULL, 'rm'),
	('CONTAINER_UPDATE', 'd01', '2026-03-02 09:01', 'ops', '[vcores=2]', NULL, 'rm'),
	('CONTAINER_UPDATE', 'd01', '2026-03-02 09:02', NULL, '[fpga=2]', NULL, 'rm'),
	('CONTAINER_FINISH', 'd01', '2026-03-02 09:03', NULL, NULL, 0, 'rm'),
	('CONTAINER_FINISH', 'd01', '2026-03-02 09:04', NULL, NULL, 0, 'rm'),
	('CONTAINER_START', 'd02', '2026-03-02 09:00', 'lab', '[vcores=1]', NULL, 'rm'),
	('CONTAINER_FINISH', 'd02', '2026-03-02 08:59', NULL, NULL, 0, 'rm'),
	-- waits
	('CONTAINER_UPDATE', 'w01', '2026-03-02 09:00:10', NULL, '[vcores=2]', NULL, 'rm'),
	('CONTAINER_FINISH', 'w01', '2026-03-02 09:00:20', NULL, NULL, 3, 'rm'),
	('CONTAINER_FINISH', 'w02', '2026-03-02 09:00:20', NULL, NULL, NULL, 'rm'),
	('CONTAINER_START', 'z', '2026-03-02 09:00', 'lab', '[vcores=1]', NULL, 'rm');
SELECT container_id, event, occurred_at, waiting, sqlstate, reason, detail FROM yquota.event_reject
ORDER BY container_id NULLS FIRST, occurred_at, event;
SELECT container_id FROM yquota.container ORDER BY 1;
SELECT container_id, amount FROM yquota.charge ORDER BY 1;
SELECT * FROM yquota.charged_through;
-- the log has them all, and the feed's counter as well
SELECT count(*) FROM yquota.container_event;
SELECT source, events, last_event_at, waiting, rejected FROM yquota.feed_status;
SELECT * FROM yquota.verify();

--
-- Waiting: the same FINISH twice, then the START; in the order of time, not of
-- arrival
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) VALUES ('CONTAINER_FINISH', 'w01', '2026-03-02 09:00:20', 3);
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue) VALUES ('CONTAINER_UPDATE', 'w01', '2026-03-02 09:00:05', 'root.b');
SELECT event, occurred_at FROM yquota.event_reject WHERE container_id = 'w01' AND waiting ORDER BY 2;
RESET yquota.on_bad_event;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES ('CONTAINER_START', 'w01', '2026-03-02 09:00', 'lab', 'root.a', '[vcores=1]');
SELECT number, "from", "to", queue, allocation, exit_status, amount FROM yquota.charge WHERE container_id = 'w01' ORDER BY 1;
SELECT count(*) FROM yquota.event_reject WHERE container_id = 'w01';
SELECT * FROM yquota.verify();
-- a waiting event that turns out bad is set aside for good, even in error mode
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'w02', '2026-03-02 09:00:30', 'lab', '[vcores=1]');
SELECT event, occurred_at, waiting, sqlstate, reason FROM yquota.event_reject WHERE container_id = 'w02';
SELECT container_id, started_at FROM yquota.container WHERE container_id = 'w02';
-- a refused START does not wake waiting events
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'w03', '2026-03-02 09:00:20');
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_FINISH', 'w03', '2026-03-02 09:00:20', NULL, NULL), ('CONTAINER_START', 'w03', '2026-03-02 09:00', 'nobody', '[vcores=1]');
SELECT event, waiting, sqlstate FROM yquota.event_reject WHERE container_id = 'w03' ORDER BY event;
-- the project comes, its START is sent again and brings the FINISH along
INSERT INTO yquota.project (name) VALUES ('nobody');
SELECT * FROM yquota.retry_rejects(container_id => 'w03');
SELECT amount FROM yquota.charge WHERE container_id = 'w03';
SELECT count(*) FROM yquota.event_reject WHERE container_id = 'w03';
-- all the others: one is good now
SELECT * FROM yquota.retry_rejects();
SELECT container_id FROM yquota.container ORDER BY 1;
SELECT * FROM yquota.verify();

--
-- Two UPDATEs of one instant, one statement: one of them is a fact; and a
-- statement is all or nothing when it is rolled back
--
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'z', '2026-03-02 09:10', '[vcores=3]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'z', '2026-03-02 09:10', '[vcores=4]'), ('CONTAINER_UPDATE', 'z', '2026-03-02 09:10', '[vcores=3]');
SELECT allocation, sqlstate FROM yquota.event_reject WHERE container_id = 'z';
SELECT allocation FROM yquota.container WHERE container_id = 'z';
SELECT * FROM yquota.verify();
ROLLBACK;
SELECT count(*) FROM yquota.event_reject WHERE container_id = 'z';
SELECT allocation FROM yquota.container WHERE container_id = 'z';

--
-- Many: every third of 3000 is bad
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', 'm' || i, '2026-03-02 09:00', 'ops', CASE WHEN i % 3 <> 0 THEN '[vcores=1]'::yquota.resource END, 'many'
FROM generate_series(1, 3000) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at, source)
SELECT 'CONTAINER_FINISH', 'm' || i, '2026-03-02 09:00:10', 'many' FROM generate_series(3000, 1, -1) AS i;
SELECT waiting, sqlstate, count(*) FROM yquota.event_reject WHERE source = 'many' GROUP BY 1, 2 ORDER BY 1;
SELECT count(*), sum(amount) FROM yquota.charge WHERE project = 'ops';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source)
SELECT 'CONTAINER_START', 'm' || i, '2026-03-02 09:00', 'ops', '[vcores=2]', 'many' FROM generate_series(3, 3000, 3) AS i;
SELECT waiting, sqlstate, count(*) FROM yquota.event_reject WHERE source = 'many' GROUP BY 1, 2 ORDER BY 1;
SELECT count(*), sum(amount) FROM yquota.charge WHERE project = 'ops';
SELECT * FROM yquota.verify();

--
-- A START that is refused leaves the events that wait for it waiting. An event that is still bad
-- when it is tried again is set aside again, once. The books still agree with the log.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'r1', '2026-03-02 09:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'r1', '2026-03-02 09:00', 'newcomers', '[vcores=1]');
SELECT event, waiting, sqlstate FROM yquota.event_reject WHERE container_id = 'r1' ORDER BY reject_id;
SELECT * FROM yquota.retry_rejects(container_id => 'r1');
SELECT * FROM yquota.retry_rejects(container_id => 'r1');
SELECT event, waiting, sqlstate FROM yquota.event_reject WHERE container_id = 'r1' ORDER BY reject_id;
-- the log has each of them once, however often it is tried
SELECT event, count(*) FROM yquota.container_event WHERE container_id = 'r1' GROUP BY event ORDER BY event;
SELECT * FROM yquota.verify();
-- beside one that is accepted now, and with the reason of today
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'again 1', '2026-03-02 09:00', 'nobody knows', '[vcores=1]'),
	('CONTAINER_START', 'again 2', '2026-03-02 09:00', 'late comers', '[vcores=1]'),
	('CONTAINER_START', 'again 2', '2026-03-02 09:00', 'late comers', '[vcores=1]');
UPDATE yquota.event_reject SET allocation = '[vcores=-1]' WHERE container_id = 'again 1';
INSERT INTO yquota.project (name) VALUES ('late comers');
SELECT * FROM yquota.retry_rejects(container_id => 'again 2');
SELECT * FROM yquota.retry_rejects(container_id => 'again 1');
SELECT container_id, allocation, sqlstate, reason FROM yquota.event_reject WHERE container_id IN ('again 1', 'again 2') ORDER BY reject_id;
SELECT container_id, count(*) FROM yquota.container_event WHERE container_id IN ('again 1', 'again 2') GROUP BY container_id ORDER BY container_id;
SELECT * FROM yquota.verify();
INSERT INTO yquota.project (name) VALUES ('newcomers');
-- also in a session that has the settings of a dump
SET check_function_bodies = off;
SET row_security = off;
SELECT * FROM yquota.retry_rejects(container_id => 'r1');
RESET check_function_bodies;
RESET row_security;
SELECT "from", "to", amount FROM yquota.charge WHERE container_id = 'r1';
SELECT count(*) FROM yquota.event_reject WHERE container_id = 'r1';
SELECT * FROM yquota.verify();

--
-- The log keeps rows that an administrator repairs or deletes, and they stay refused
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'r2', '2026-03-02 09:00', 'misspelt', '[vcores=1]'),
	('CONTAINER_START', 'r3', '2026-03-02 09:00', 'misspelt', '[vcores=1]');
UPDATE yquota.event_reject SET project = 'newcomers' WHERE container_id = 'r2';
DELETE FROM yquota.event_reject WHERE container_id = 'r3';
SELECT * FROM yquota.verify();
SELECT * FROM yquota.retry_rejects(container_id => 'r2');
SELECT container_id, project FROM yquota.container WHERE container_id IN ('r2', 'r3');
SELECT * FROM yquota.verify();
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'r3', '2026-03-02 09:30', 'newcomers', '[vcores=2]');
SELECT container_id, started_at, allocation FROM yquota.container WHERE container_id IN ('r2', 'r3') ORDER BY 1;
SELECT * FROM yquota.verify();
-- all of them at once, with an event that waits
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'r4', '2026-03-02 09:00', 'unheard-of', '[vcores=-1]'), ('CONTAINER_FINISH', 'r5', '2026-03-02 09:30', NULL, NULL);
SELECT container_id, waiting FROM yquota.event_reject WHERE container_id IN ('r4', 'r5') ORDER BY 1;
TRUNCATE yquota.event_reject;
SELECT * FROM yquota.verify();
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'r5', '2026-03-02 09:00', 'newcomers', '[vcores=1]');
SELECT container_id, started_at FROM yquota.container WHERE container_id IN ('r4', 'r5');
SELECT * FROM yquota.verify();

--
-- An event whose cost is out of range is set aside, whatever its kind; the rest of the statement is
-- charged
--
INSERT INTO yquota.price_group (name) VALUES ('DEAR');
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('dear', 'DEAR', 1000000000000);
SELECT yquota.set_multiplier('DEAR', 100000000, '2026-03-02 10:20');
SELECT yquota.set_multiplier('DEAR', 1, '2026-03-02 10:30');
SELECT yquota.set_clock('2026-03-02 11:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 's1', '2026-03-02 10:00', 'lab', '[vcores=1]', 'dear'),
	-- at a price out of range, and at one in range within an hour that is not
	('CONTAINER_START', 's2', '2026-03-02 10:25', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_START', 's3', '2026-03-02 10:35', 'lab', '[dear=4,vcores=1]', 'dear'),
	-- before the price, then through it: to the UPDATE, to the FINISH
	('CONTAINER_START', 's4', '2026-03-02 10:10', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_UPDATE', 's4', '2026-03-02 10:35', NULL, '[vcores=1]', 'dear'),
	('CONTAINER_START', 's5', '2026-03-02 09:50', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_FINISH', 's5', '2026-03-02 10:35', NULL, NULL, 'dear'),
	-- a container that ended before is paid, and so is a container within the hours around
	('CONTAINER_START', 's6', '2026-03-02 10:10', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_UPDATE', 's6', '2026-03-02 10:11', NULL, '[dear=5,vcores=1]', 'dear'),
	('CONTAINER_FINISH', 's6', '2026-03-02 10:12', NULL, NULL, 'dear');
-- a single event; a START whose other events are all late; the START after the others
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, source) VALUES ('CONTAINER_UPDATE', 's5', '2026-03-02 11:00', '[vcores=2]', 'dear');
INSERT INTO yquota.container_event (event, container_id, occurred_at, source) VALUES ('CONTAINER_FINISH', 's5', '2026-03-02 11:00', 'dear');
INSERT INTO yquota.container_event (event, container_id, occurred_at, source) VALUES ('CONTAINER_FINISH', 's7', '2026-03-02 11:20', 'dear'), ('CONTAINER_FINISH', 's8', '2026-03-02 11:20', 'dear');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 's7', '2026-03-02 11:00', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_START', 's8', '2026-03-02 10:10', 'lab', '[dear=4,vcores=1]', 'dear');
SET yquota.charging = deferred;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 's9', '2026-03-02 10:35', 'lab', '[dear=4,vcores=1]', 'dear'), ('CONTAINER_START', 't1', '2026-03-02 11:01', 'lab', '[dear=4,vcores=1]', 'dear');
RESET yquota.charging;
SELECT * FROM yquota.charge_deferred();
SELECT container_id, event, occurred_at, waiting, sqlstate, reason FROM yquota.event_reject WHERE source = 'dear' ORDER BY container_id, reject_id;
SELECT container_id, started_at, settled_at, charges FROM yquota.container WHERE container_id ~ '^[st][0-9]' ORDER BY 1;
SELECT container_id, number, "from", "to", amount FROM yquota.charge WHERE container_id ~ '^[st][0-9]' ORDER BY 1, 2;
SELECT * FROM yquota.verify();
-- no project pays for those ten minutes after all
SELECT yquota.report_outage('2026-03-02 10:20', '2026-03-02 10:30', 'price out of range');
SELECT * FROM yquota.retry_rejects(source => 'dear');
SELECT container_id, number, "from", "to", amount FROM yquota.charge WHERE container_id ~ '^[st][0-9]' ORDER BY 1, 2;
SELECT * FROM yquota.verify();

SELECT container_id, reason FROM yquota.suspect_container;

--
-- An event that is sent again counts by its last row of the log. The cases are an empty event, a
-- START that is known by then, an event that becomes an UPDATE, and others.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'v1', '2026-03-02 11:00', 'lab', '[vcores=1]'),
	('CONTAINER_UPDATE', 'v1', '2026-03-02 11:40', 'lab', NULL),
	('CONTAINER_UPDATE', 'v1', '2026-03-02 11:41', 'lab', '[vcores=3]'),
	('CONTAINER_START', 'v2', '2026-03-02 11:00', 'founded', '[vcores=1]'),
	('CONTAINER_START', 'v3', '2026-03-02 11:00', 'lab', '[vcores=1]'),
	('CONTAINER_START', 'v3', '2026-03-02 11:00', 'lab', '[tpu=1]'),
	('CONTAINER_FINISH', 'v3', '2026-03-02 11:40', NULL, NULL);
INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', '2026-03-02 11:40', 'mark');
SELECT event, container_id, occurred_at, sqlstate FROM yquota.event_reject
WHERE container_id ~ '^v[0-9]' OR source = 'mark' ORDER BY container_id, event, occurred_at;
INSERT INTO yquota.project (name) VALUES ('founded');
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('tpu', 'GENERAL', 1);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'v2', '2026-03-02 11:00', 'founded', '[vcores=1]'),
	('CONTAINER_UPDATE', 'v2', '2026-03-02 11:10', NULL, '[vcores=2]');
SELECT yquota.set_clock('2026-03-02 11:50');
SELECT * FROM yquota.retry_rejects(source => 'mark');
SELECT * FROM yquota.retry_rejects(container_id => 'v1');
SELECT * FROM yquota.retry_rejects(container_id => 'v2');
SELECT * FROM yquota.retry_rejects(container_id => 'v3');
SELECT container_id, number, "from", "to", allocation, amount FROM yquota.charge WHERE container_id ~ '^v[0-9]' ORDER BY 1, 2;
SELECT container_id, settled_at, allocation FROM yquota.container WHERE container_id ~ '^v[0-9]' ORDER BY 1;
SELECT log.container_id, log.event, log.occurred_at, log.allocation, count(*) AS logged, count(idle.event_id) AS without_effect
FROM yquota.container_event AS log LEFT JOIN yquota_internal.event_without_effect AS idle USING (event_id)
WHERE log.container_id ~ '^v[0-9]' OR log.source = 'mark'
GROUP BY 1, 2, 3, 4 ORDER BY 1, 3, 2, 4;
SELECT * FROM yquota.verify();

-- A line that is not a row fails its statement in this mode, too
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_PAUSE', 'z');

--
-- Unintended instants. The empty date of a program is refused whatever the event. An old START is
-- refused only by a setting, and only of a container that the books do not know.
--
SELECT yquota.set_clock('2026-03-04 10:00');
SET yquota.on_bad_event = error;
CREATE FUNCTION attempt_at(kind yquota.container_event_type, id text, at timestamptz, recorded timestamptz DEFAULT NULL) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, recorded_at)
	VALUES (kind, CASE WHEN kind <> 'QUOTA_COMPUTE' THEN id END, at, CASE WHEN kind = 'CONTAINER_START' THEN 'lab' END,
			CASE WHEN kind IN ('CONTAINER_START', 'CONTAINER_UPDATE') THEN '[vcores=1]'::yquota.resource END, coalesce(recorded, yquota.clock()));
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN sqlstate || ': ' || sqlerrm || ' / ' || hint;
END
$$;
SELECT kind, at, attempt_at(kind::yquota.container_event_type, CASE kind WHEN 'CONTAINER_START' THEN 'e1' ELSE 'b' END, at)
FROM unnest('{CONTAINER_START,CONTAINER_UPDATE,CONTAINER_FINISH,QUOTA_COMPUTE}'::text[]) AS kind,
	 unnest('{0001-01-01 00:00+00,1601-01-01 00:00+00,1970-01-01 00:00+00,1999-12-31 23:59:59.999999+00}'::timestamptz[]) AS at;
SELECT attempt_at('CONTAINER_START', 'e2', '2026-03-04 09:00', '0001-01-01 00:00+00');
SELECT attempt_at('CONTAINER_START', 'e3', '2000-01-01 00:00+00');
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'e4', '1970-01-01 00:00+00', 'lab', '[vcores=1]'), ('CONTAINER_START', 'e5', '2026-03-04 09:00', 'lab', '[vcores=1]');
SELECT * FROM yquota.retry_rejects(container_id => 'e4');
SET yquota.on_bad_event = error;
SET yquota.max_event_age = 3600;
SHOW yquota.max_event_age;
SELECT id, at, attempt_at('CONTAINER_START', id, at)
FROM (VALUES ('f1', '2026-03-04 09:00'::timestamptz), ('f2', '2026-03-04 08:59:59.999999'), ('f3', '2025-03-02 08:00'),
			 ('e3', '2000-01-01 00:00+00')) AS start (id, at);
-- by its time of recording; other events of known containers are of any age, and so are waiting
-- ones
SELECT attempt_at('CONTAINER_START', 'f4', '2026-03-03 09:00', '2026-03-03 10:00');
SELECT attempt_at('CONTAINER_UPDATE', 'e3', '2001-01-01 00:00+00'), attempt_at('CONTAINER_FINISH', 'e3', '2001-01-01 00:00:01+00');
SELECT attempt_at('CONTAINER_START', 'e3', '2000-01-01 00:00+00'), attempt_at('CONTAINER_FINISH', 'f5', '2026-03-03 09:00');
-- set aside, several at once and with their successors, until an administrator has looked
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'f6', '2026-03-03 09:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'f6', '2026-03-03 09:01', NULL, NULL),
	('CONTAINER_START', 'f7', '2026-03-03 09:00', 'lab', '[vcores=1]'), ('CONTAINER_START', 'f8', '2026-03-04 09:30', 'lab', '[vcores=1]');
SELECT container_id, event, waiting, sqlstate, reason FROM yquota.event_reject WHERE container_id LIKE 'f%' ORDER BY container_id, event;
SELECT * FROM yquota.retry_rejects();
SELECT container_id FROM yquota.container WHERE container_id LIKE 'f%' ORDER BY 1;
SELECT container_id, amount FROM yquota.charge WHERE container_id LIKE 'f%' ORDER BY 1;
SHOW yquota.max_event_age;
-- and one that is kept for later is as old as it came
SET yquota.charging = deferred;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'g1', '2026-03-04 09:30', 'lab', '[vcores=1]'), ('CONTAINER_START', 'g2', '2026-03-04 08:30', 'lab', '[vcores=1]');
RESET yquota.charging;
SELECT yquota.set_clock('2026-03-04 12:00');
SELECT * FROM yquota.charge_deferred();
SELECT container_id FROM yquota.container WHERE container_id LIKE 'g%' ORDER BY 1;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_event_set_aside;
