--
-- yquota.on_bad_event = set_aside (docs/design.md 1.7): the bad row goes to event_reject with its
-- reason, and the rest of the statement is charged. An UPDATE or FINISH that arrives before the
-- container's START waits for it.
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
	-- bad events follow a good START in the same statement
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
-- the log and the counter of the feed include all of these rows
SELECT count(*) FROM yquota.container_event;
SELECT source, events, last_event_at, waiting, rejected FROM yquota.feed_status;
SELECT * FROM yquota.verify();

--
-- Waiting: the same FINISH arrives twice, and then the START. The events are charged in order of
-- time, not of arrival.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) VALUES ('CONTAINER_FINISH', 'w01', '2026-03-02 09:00:20', 3);
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue) VALUES ('CONTAINER_UPDATE', 'w01', '2026-03-02 09:00:05', 'root.b');
SELECT event, occurred_at FROM yquota.event_reject WHERE container_id = 'w01' AND waiting ORDER BY 2;
RESET yquota.on_bad_event;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES ('CONTAINER_START', 'w01', '2026-03-02 09:00', 'lab', 'root.a', '[vcores=1]');
SELECT number, "from", "to", queue, allocation, exit_status, amount FROM yquota.charge WHERE container_id = 'w01' ORDER BY 1;
SELECT count(*) FROM yquota.event_reject WHERE container_id = 'w01';
SELECT * FROM yquota.verify();
-- a waiting event that turns out to be bad is set aside for good, even in error mode
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'w02', '2026-03-02 09:00:30', 'lab', '[vcores=1]');
SELECT event, occurred_at, waiting, sqlstate, reason FROM yquota.event_reject WHERE container_id = 'w02';
SELECT container_id, started_at FROM yquota.container WHERE container_id = 'w02';
-- a refused START does not release the events that wait for it
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'w03', '2026-03-02 09:00:20');
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_FINISH', 'w03', '2026-03-02 09:00:20', NULL, NULL), ('CONTAINER_START', 'w03', '2026-03-02 09:00', 'nobody', '[vcores=1]');
SELECT event, waiting, sqlstate FROM yquota.event_reject WHERE container_id = 'w03' ORDER BY event;
-- after the project exists, the START is sent again and releases the FINISH
INSERT INTO yquota.project (name) VALUES ('nobody');
SELECT * FROM yquota.retry_rejects(container_id => 'w03');
SELECT amount FROM yquota.charge WHERE container_id = 'w03';
SELECT count(*) FROM yquota.event_reject WHERE container_id = 'w03';
-- all other rejects are tried, and only one is good now
SELECT * FROM yquota.retry_rejects();
SELECT container_id FROM yquota.container ORDER BY 1;
SELECT * FROM yquota.verify();

--
-- Two UPDATEs of one instant in one statement, one of them known already. A statement that is
-- rolled back leaves nothing.
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
-- Many rows: every third of 3000 rows is bad
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
-- A refused START leaves its waiting events waiting. An event that is still bad when it is tried
-- again is set aside again, once. The books still agree with the log.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'r1', '2026-03-02 09:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'r1', '2026-03-02 09:00', 'newcomers', '[vcores=1]');
SELECT event, waiting, sqlstate FROM yquota.event_reject WHERE container_id = 'r1' ORDER BY reject_id;
SELECT * FROM yquota.retry_rejects(container_id => 'r1');
SELECT * FROM yquota.retry_rejects(container_id => 'r1');
SELECT event, waiting, sqlstate FROM yquota.event_reject WHERE container_id = 'r1' ORDER BY reject_id;
-- the log has each event once, however often it is tried
SELECT event, count(*) FROM yquota.container_event WHERE container_id = 'r1' GROUP BY event ORDER BY event;
SELECT * FROM yquota.verify();
-- a bad event is tried beside a good one, and gets its current reason
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
-- retry_rejects() works in the same way in a session that has the settings of a dump
SET check_function_bodies = off;
SET row_security = off;
SELECT * FROM yquota.retry_rejects(container_id => 'r1');
RESET check_function_bodies;
RESET row_security;
SELECT "from", "to", amount FROM yquota.charge WHERE container_id = 'r1';
SELECT count(*) FROM yquota.event_reject WHERE container_id = 'r1';
SELECT * FROM yquota.verify();

--
-- An administrator repairs or deletes rejects. The log keeps the rows as they arrived, and counts
-- them as refused.
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
-- all rejects are removed at once, including a waiting event
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
-- An event of any kind whose cost is out of range is set aside, and the rest of the statement is
-- charged
--
INSERT INTO yquota.price_group (name) VALUES ('DEAR');
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('dear', 'DEAR', 1000000000000);
SELECT yquota.set_multiplier('DEAR', 100000000, '2026-03-02 10:20');
SELECT yquota.set_multiplier('DEAR', 1, '2026-03-02 10:30');
SELECT yquota.set_clock('2026-03-02 11:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 's1', '2026-03-02 10:00', 'lab', '[vcores=1]', 'dear'),
	-- START while the price is out of range, and START later in the same hour, when the price is in
	-- range again
	('CONTAINER_START', 's2', '2026-03-02 10:25', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_START', 's3', '2026-03-02 10:35', 'lab', '[dear=4,vcores=1]', 'dear'),
	-- START before the out-of-range price, which lasts until the UPDATE or the FINISH
	('CONTAINER_START', 's4', '2026-03-02 10:10', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_UPDATE', 's4', '2026-03-02 10:35', NULL, '[vcores=1]', 'dear'),
	('CONTAINER_START', 's5', '2026-03-02 09:50', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_FINISH', 's5', '2026-03-02 10:35', NULL, NULL, 'dear'),
	-- a container that ended before that price is charged, and so is a container of the hours
	-- around
	('CONTAINER_START', 's6', '2026-03-02 10:10', 'lab', '[dear=4,vcores=1]', 'dear'),
	('CONTAINER_UPDATE', 's6', '2026-03-02 10:11', NULL, '[dear=5,vcores=1]', 'dear'),
	('CONTAINER_FINISH', 's6', '2026-03-02 10:12', NULL, NULL, 'dear');
-- single events, then a START whose other events are all late, and a START that arrives after the
-- other events
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
-- an outage now covers these ten minutes, so no project pays for them
SELECT yquota.report_outage('2026-03-02 10:20', '2026-03-02 10:30', 'price out of range');
SELECT * FROM yquota.retry_rejects(source => 'dear');
SELECT container_id, number, "from", "to", amount FROM yquota.charge WHERE container_id ~ '^[st][0-9]' ORDER BY 1, 2;
SELECT * FROM yquota.verify();

SELECT container_id, reason FROM yquota.suspect_container;

--
-- When an event is sent again, its last row in the log counts. The cases include an empty event, a
-- START that is known by then, and an event that becomes an UPDATE.
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

-- A line that cannot be parsed as a row fails its statement in this mode, too
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_PAUSE', 'z');

--
-- Implausible instants. An instant from a program's empty date is refused for each kind of event.
-- An old START is refused only if a setting says so, and only for a container that the books do not
-- know.
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
-- The age of a START counts to recorded_at. Other events of known containers may have any age, and
-- so may waiting events.
SELECT attempt_at('CONTAINER_START', 'f4', '2026-03-03 09:00', '2026-03-03 10:00');
SELECT attempt_at('CONTAINER_UPDATE', 'e3', '2001-01-01 00:00+00'), attempt_at('CONTAINER_FINISH', 'e3', '2001-01-01 00:00:01+00');
SELECT attempt_at('CONTAINER_START', 'e3', '2000-01-01 00:00+00'), attempt_at('CONTAINER_FINISH', 'f5', '2026-03-03 09:00');
-- several old STARTs are set aside with the events that follow them, until an administrator has
-- decided
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'f6', '2026-03-03 09:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'f6', '2026-03-03 09:01', NULL, NULL),
	('CONTAINER_START', 'f7', '2026-03-03 09:00', 'lab', '[vcores=1]'), ('CONTAINER_START', 'f8', '2026-03-04 09:30', 'lab', '[vcores=1]');
SELECT container_id, event, waiting, sqlstate, reason FROM yquota.event_reject WHERE container_id LIKE 'f%' ORDER BY container_id, event;
SELECT * FROM yquota.retry_rejects();
SELECT container_id FROM yquota.container WHERE container_id LIKE 'f%' ORDER BY 1;
SELECT container_id, amount FROM yquota.charge WHERE container_id LIKE 'f%' ORDER BY 1;
SHOW yquota.max_event_age;
-- the age of a deferred event is its age on arrival
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
