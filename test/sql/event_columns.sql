--
-- Event numbers, and the columns for what the scheduler knows of a container
--
CREATE DATABASE yquota_event_columns;
\c yquota_event_columns
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT set_clock FROM yquota.set_clock('2026-03-02 12:00+00');
INSERT INTO yquota.project (name) VALUES ('lab');
SELECT count(*) > 0 AS is_numbered FROM pg_attribute WHERE attrelid = 'yquota.container_event'::regclass AND attname = 'event_id' AND attidentity = 'a';
SELECT count(*) FROM pg_index WHERE indrelid = 'yquota.container_event'::regclass;
CREATE VIEW roles AS
	SELECT container_id, priority, allocation_request_id, asked_label, is_am, is_running FROM yquota.container ORDER BY container_id;

-- COPY works with the new columns and without them
COPY yquota.container_event (event, container_id, occurred_at, project, allocation, source) FROM STDIN (DELIMITER ' ');
CONTAINER_START container_1_0001_01_000001 2026-03-02T10:00Z lab [vcores=1] rm
CONTAINER_START container_1_0001_01_000011 2026-03-02T10:00Z lab [vcores=1] rm
CONTAINER_START plain 2026-03-02T10:00Z lab [vcores=1] rm
\.
COPY yquota.container_event (event, container_id, occurred_at, project, allocation, priority, allocation_request_id, asked_label, is_am, is_running) FROM STDIN (DELIMITER ' ');
CONTAINER_START container_1_0002_01_000001 2026-03-02T10:00Z lab [vcores=1] 3 7 ssd f f
CONTAINER_START master 2026-03-02T10:00Z lab [vcores=1] \N \N \N t \N
\.
SELECT * FROM roles;
-- only the server assigns event_id
INSERT INTO yquota.container_event (event, event_id) VALUES ('QUOTA_COMPUTE', 1);
SELECT count(*) = count(DISTINCT event_id) AS are_distinct, count(event_id) FROM yquota.container_event;

-- NULL in an UPDATE leaves a column unchanged, in every order of arrival
INSERT INTO yquota.container_event (event, container_id, occurred_at, priority, is_running) VALUES
	('CONTAINER_UPDATE', 'plain', '2026-03-02 10:20', 5, false),
	('CONTAINER_UPDATE', 'plain', '2026-03-02 10:30', NULL, true);
INSERT INTO yquota.container_event (event, container_id, occurred_at, priority, asked_label) VALUES ('CONTAINER_UPDATE', 'plain', '2026-03-02 10:10', 9, 'gpu');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'master', '2026-03-02 10:10', '[vcores=2]');
SELECT * FROM roles WHERE container_id IN ('plain', 'master');
-- a waiting container is charged like a running one
SELECT "from", "to", dominant FROM yquota.charge WHERE container_id = 'plain' ORDER BY number;

-- among these columns only is_running makes a repeated event a different event
INSERT INTO yquota.container_event (event, container_id, occurred_at, priority, is_running) VALUES ('CONTAINER_UPDATE', 'plain', '2026-03-02 10:20', 6, false);
INSERT INTO yquota.container_event (event, container_id, occurred_at, priority, is_running) VALUES ('CONTAINER_UPDATE', 'plain', '2026-03-02 10:20', 5, true);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, priority, is_running) VALUES ('CONTAINER_START', 'plain', '2026-03-02 10:00', 'lab', '[vcores=1]', 8, false);
SELECT * FROM roles WHERE container_id = 'plain';
SELECT * FROM yquota.verify();

-- Each event without effect is recorded once: a known event, an empty event, and an event after the
-- end.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'twice', '2026-03-02 10:00', 'lab', '[vcores=1]'),
	('CONTAINER_START', 'twice', '2026-03-02 10:00', 'lab', '[vcores=1]'),
	('CONTAINER_UPDATE', 'twice', '2026-03-02 10:01', 'lab', NULL),
	('CONTAINER_UPDATE', 'twice', '2026-03-02 10:02', 'lab', '[vcores=2]'),
	('CONTAINER_UPDATE', 'twice', '2026-03-02 10:02', 'lab', '[vcores=2]'),
	('CONTAINER_FINISH', 'twice', '2026-03-02 10:04', NULL, NULL);
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_FINISH', 'twice', '2026-03-02 10:03', NULL),
	('CONTAINER_FINISH', 'twice', '2026-03-02 10:04', NULL),
	('CONTAINER_UPDATE', 'twice', '2026-03-02 10:04', '[vcores=3]');
SELECT log.event, log.occurred_at::time, log.allocation, count(idle.event_id) AS without_effect, count(*) AS logged
FROM yquota.container_event AS log LEFT JOIN yquota_internal.event_without_effect AS idle USING (event_id)
WHERE log.container_id = 'twice' GROUP BY 1, 2, 3 ORDER BY 1, 2;
-- a START that became an UPDATE keeps its event_id
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
	('CONTAINER_START', 'plain', '2026-03-02 10:00', 'lab', 'root.other', '[vcores=7]'),
	('CONTAINER_START', 'plain', '2026-03-02 10:00', 'lab', 'root.more', '[vcores=7]');
SELECT change.event, change.allocation, change.queue, log.event AS came_as, log.queue AS came_with
FROM yquota.container_change AS change JOIN yquota.container_event AS log USING (event_id)
WHERE change.repeated_start;
SELECT * FROM yquota.verify();
-- verify() finds events that are wrongly recorded as having no effect
BEGIN;
INSERT INTO yquota_internal.event_without_effect
SELECT event_id FROM yquota.container_event
WHERE container_id = 'twice' AND (event, occurred_at) IN (('CONTAINER_UPDATE', '2026-03-02 10:02'), ('CONTAINER_FINISH', '2026-03-02 10:03'));
SELECT problem, subject FROM yquota.verify() ORDER BY 1, 2;
ROLLBACK;
BEGIN;
INSERT INTO yquota_internal.event_without_effect SELECT event_id FROM yquota.container_change WHERE repeated_start;
SELECT problem, subject FROM yquota.verify() ORDER BY 1, 2;
ROLLBACK;
BEGIN;
DELETE FROM yquota_internal.event_without_effect;
SELECT DISTINCT problem, regexp_replace(subject, ' .*', '') AS subject FROM yquota.verify() ORDER BY 1, 2;
ROLLBACK;

-- rejects keep these columns and the event_id, and administrators can repair them
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, priority, asked_label, is_am, is_running) VALUES
	('CONTAINER_START', 'late', '2026-03-02 11:00', 'other', '[vcores=1]', 4, 'ssd', true, false),
	('CONTAINER_START', 'later', '2026-03-02 11:00', 'other', '[vcores=1]', 4, 'ssd', true, false);
INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running) VALUES ('CONTAINER_UPDATE', 'late', '2026-03-02 11:05', true);
SELECT r.container_id, r.event, r.waiting, r.priority, r.asked_label, r.is_am, r.is_running, log.container_id = r.container_id AND log.event = r.event AS names_its_event
FROM yquota.event_reject AS r JOIN yquota.container_event AS log USING (event_id) ORDER BY reject_id;
SELECT * FROM yquota.verify();
UPDATE yquota.event_reject SET project = 'lab' WHERE container_id = 'late' AND NOT waiting;
DELETE FROM yquota.event_reject WHERE container_id = 'later';
SELECT d.container_id, d.removed, log.project FROM yquota_internal.discarded_event AS d JOIN yquota.container_event AS log USING (event_id) ORDER BY 1;
SELECT * FROM yquota.retry_rejects();
SELECT * FROM roles WHERE container_id = 'late';
SELECT count(*) FROM yquota.event_reject;
SELECT * FROM yquota.verify();

-- deferred events keep them, too
SET yquota.charging = deferred;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, priority, allocation_request_id, is_running) VALUES
	('CONTAINER_START', 'kept', '2026-03-02 11:00', 'lab', '[vcores=1]', 2, 12, false);
SELECT d.container_id, d.priority, d.allocation_request_id, d.is_running, log.priority FROM yquota_internal.deferred_event AS d JOIN yquota.container_event AS log USING (event_id);
SELECT * FROM yquota.verify();
RESET yquota.charging;
SELECT * FROM yquota.charge_deferred();
SELECT * FROM roles WHERE container_id = 'kept';

-- verify() compares them
BEGIN;
UPDATE yquota.container SET priority = 1 WHERE container_id = 'plain';
UPDATE yquota.container SET is_running = false WHERE container_id = 'container_1_0001_01_000011';
SELECT problem, subject FROM yquota.verify();
ROLLBACK;

-- a voided container starts again, with the columns of its new START
SELECT container_id, was_running FROM yquota.void_events('plain', 'wrong');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, priority) VALUES ('CONTAINER_START', 'plain', '2026-03-02 10:00', 'lab', '[vcores=1]', 1);
SELECT * FROM roles WHERE container_id = 'plain';

-- archives keep these columns
INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 11:30' FROM yquota.container WHERE container_id <> 'kept';
SELECT yquota.quota_compute() IS NOT NULL AS corrected;
SELECT yquota.seal_history();
CREATE TABLE old_charge (LIKE yquota.charge);
CREATE TABLE old_event (LIKE yquota.container_event);
SELECT history, segments, archived FROM yquota.archive('old_charge', 'infinity');
SELECT history, segments, archived, digest FROM yquota.archive('old_event', 'infinity') \gset
SELECT :'history' AS history, :segments AS segments, :archived AS archived, digest = :digest AS is_right FROM yquota.archive_digest('old_event');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'kept', '2026-03-02 11:40');
SELECT yquota.quota_compute() IS NOT NULL AS corrected;
SELECT yquota.seal_history();
CREATE TABLE new_event (LIKE yquota.container_event INCLUDING ALL);
SELECT history, segments, archived FROM yquota.archive('old_charge', 'infinity');
SELECT history, segments, archived FROM yquota.archive('new_event', 'infinity');
SELECT event, container_id, priority, allocation_request_id, event_id IS NOT NULL AS is_numbered FROM new_event WHERE container_id = 'kept' ORDER BY event;
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_event_columns;
