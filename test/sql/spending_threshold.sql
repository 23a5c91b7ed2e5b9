--
-- Thresholds of spending: each crossing makes one alert and one notification. The next crossing
-- counts only after spending was below the threshold again.
--
CREATE DATABASE yquota_spending_threshold;
\c yquota_spending_threshold
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, on_exhausted) VALUES ('lab', 'allow'), ('web', 'stop'), ('free', 'allow');
INSERT INTO yquota.project (name, quota_mode, on_exhausted) VALUES ('ops', 'NOLIMIT', 'stop');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'March'), ('web', 100, 'March'), ('ops', 100, 'March');
-- notifications are tested in the test of the worker
CREATE VIEW told AS
	SELECT subject, detail, raised_at::time, cleared_at::time FROM yquota.alert WHERE kind = 'spending_threshold' ORDER BY alert_id;

-- an event itself raises no alert, whatever it spends
INSERT INTO yquota.container_event (event, container_id, project, application_id, allocation)
SELECT 'CONTAINER_START', project || '1', project, project || '_app', '[vcores=1]' FROM unnest('{lab,web,free,ops}'::text[]) AS project;
SELECT yquota.set_clock('2026-03-02 10:08:20+00');
SELECT project, granted, charged + accrued AS spent FROM yquota.project_balance ORDER BY project;
INSERT INTO yquota.container_event (event, source) VALUES ('QUOTA_COMPUTE', 'by hand');
SELECT * FROM told;

-- 500 are spent: lab is at half, the other projects have nothing left, and free never had a grant
SELECT yquota.quota_compute();
SELECT * FROM told;
SELECT yquota.quota_compute();
SELECT yquota_internal.note_crossings(yquota.clock());
SELECT count(*) FROM told;

-- a microsecond before the threshold, and at the threshold
SELECT yquota.set_clock('2026-03-02 10:13:19.999999+00');
SELECT yquota_internal.note_crossings(yquota.clock());
SELECT yquota.set_clock('2026-03-02 10:13:20+00');
SELECT yquota_internal.note_crossings(yquota.clock());
SELECT * FROM told WHERE subject LIKE 'lab %';

-- the worker did not run for a long time, and each threshold raises one alert
SELECT yquota.set_clock('2026-03-02 10:15:00+00');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('web', 900, 'more');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'web %';
SELECT yquota.set_clock('2026-03-02 12:00:00+00');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE raised_at = '12:00' OR subject LIKE 'web %';

-- after a grant has expired, its spent part still counts
INSERT INTO yquota.project (name) VALUES ('brief');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('brief', 1000, 'a day', '2026-03-03 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'b1', '2026-03-02 12:00+00', 'brief', '[vcores=1]'), ('CONTAINER_FINISH', 'b1', '2026-03-02 12:00:10+00', NULL, NULL);
SELECT yquota_internal.note_crossings(yquota.clock());
SELECT yquota.set_clock('2026-03-03 12:00:00+00');
SELECT yquota_internal.note_crossings(yquota.clock());
SELECT * FROM told WHERE subject LIKE 'brief %';

-- other thresholds: for all projects, and for one project
INSERT INTO yquota.spending_threshold (project, fraction) VALUES (NULL, 0.95), ('lab', 0.123456), ('lab', 10);
SELECT * FROM yquota_internal.project_threshold ORDER BY project, fraction;
SELECT yquota_internal.note_crossings(yquota.clock());
SELECT subject, cleared_at FROM told WHERE raised_at = '12:00' AND cleared_at IS NULL ORDER BY subject;
DELETE FROM yquota.spending_threshold WHERE project IS NULL;
SELECT yquota_internal.note_crossings(yquota.clock());
SELECT subject FROM told WHERE cleared_at IS NULL ORDER BY subject;
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('lab', 0.1234560);
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('lab', 0);
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('lab', 'NaN');
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('lab', 80);
UPDATE yquota.spending_threshold SET fraction = 10.5 WHERE project = 'lab' AND fraction = 10;
INSERT INTO yquota.spending_threshold (project, fraction) VALUES (NULL, 0.0000001);
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('nobody', 0.5);
SELECT table_name, operation, new FROM yquota.audit WHERE table_name LIKE '%spending_threshold' AND operation = 'INSERT' ORDER BY audit_id;

-- a budget's thresholds count by month: 90 of 100 were spent in March, and 10, then 50 in April
INSERT INTO yquota.project (name) VALUES ('monthly');
INSERT INTO yquota.budget (project, period, amount) VALUES ('monthly', 'month', 100);
SELECT yquota.set_clock('2026-03-31 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'm1', '2026-03-03 12:00+00', 'monthly', '[vcores=1]'), ('CONTAINER_FINISH', 'm1', '2026-03-03 12:01:30+00', NULL, NULL);
SELECT yquota.quota_compute();
SELECT yquota.set_clock('2026-04-01 12:00:10+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'm2', '2026-04-01 12:00+00', 'monthly', '[vcores=1]'), ('CONTAINER_FINISH', 'm2', '2026-04-01 12:00:10+00', NULL, NULL);
SELECT yquota.quota_compute();
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'monthly';
SELECT * FROM told WHERE subject LIKE 'monthly %';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'm3', '2026-04-01 12:00+00', 'monthly', '[vcores=40]'), ('CONTAINER_FINISH', 'm3', '2026-04-01 12:00:01+00', NULL, NULL);
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'monthly %';

-- late events move spending below a threshold and above it again, which raises only one alert
INSERT INTO yquota.project (name) VALUES ('late');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('late', 10000, 'April');
CREATE PROCEDURE late(at timestamptz, id text, core_seconds integer) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock(at);
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
		('CONTAINER_START', id, '2026-04-01 12:00+00', 'late', format('[vcores=%s]', core_seconds / 100)::yquota.resource),
		('CONTAINER_FINISH', id, '2026-04-01 12:01:40+00', NULL, NULL);
	PERFORM yquota.quota_compute();
END $$;
SELECT yquota.set_clock('2026-04-01 14:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'l1', '2026-04-01 12:00+00', 'late', '[vcores=1]');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'late %';
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'l1', '2026-04-01 12:10+00');
SELECT yquota.quota_compute();
CALL late('2026-04-01 14:01+00', 'l2', 5000);
CALL late('2026-04-01 14:02+00', 'l3', 100);
SELECT yquota.set_clock('2026-04-01 14:03+00');
SELECT * FROM told WHERE subject LIKE 'late %';
-- neither a grant that is too small nor the late event after it clears the alert
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'ln', '2026-04-01 12:00+00', 'late', '[vcores=1]');
SELECT yquota.quota_compute();
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('late', 10, 'a little');
CALL late('2026-04-01 14:04+00', 'l4', 100);
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'ln', '2026-04-01 12:00:01+00');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'late %';
-- A void clears the alert when spending is then below the threshold. Forgiven time, corrections and
-- grants do the same. The next crossing raises an alert again.
SELECT count(*) FROM yquota.void_events('l4', 'a test');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'late %';
CALL late('2026-04-01 14:05+00', 'l5', 9000);
SELECT project, amount FROM yquota.forgive('2026-04-01 12:01+00', '2026-04-01 12:05+00', 'a test', 'late');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'late %';
CALL late('2026-04-01 14:06+00', 'l6', 9000);
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('late', 3000, 'too much was charged', 'correction');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'late %';
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('late', 100000, 'more');
SELECT yquota.quota_compute();
SELECT * FROM told WHERE subject LIKE 'late %';
SELECT count(*) AS still_known FROM yquota_internal.told_crossing AS known JOIN yquota.alert USING (alert_id) WHERE known.project = 'late' AND cleared_at IS NULL;

-- credit that a row takes back from a grant is not spent, also after the grant has expired
INSERT INTO yquota.project (name, on_exhausted) VALUES ('back', 'allow');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('back', 1000, 'one day', '2026-04-02 00:00+00');
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('back', -400, 'too much was granted', 'correction');
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from) VALUES ('back', 1000, 'the next day', '2026-04-02 00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'back1', '2026-04-01 12:00+00', 'back', '[vcores=1]'),
	('CONTAINER_FINISH', 'back1', '2026-04-01 12:01:40+00', NULL, NULL);
SELECT granted, spent FROM yquota_internal.threshold_balance WHERE project = 'back';
SELECT yquota.set_clock('2026-04-02 00:00+00');
SELECT granted, spent FROM yquota_internal.threshold_balance WHERE project = 'back';
SELECT yquota_internal.expire_grants(yquota.clock());
SELECT lost, taken FROM yquota.expired_grant WHERE project = 'back';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'back2', '2026-04-02 00:00+00', 'back', '[vcores=1]');
SELECT yquota.set_clock('2026-04-02 00:08:20+00');
SELECT granted, spent FROM yquota_internal.threshold_balance WHERE project = 'back';
SELECT yquota_internal.note_crossings(yquota.clock()) > 0 AS raised;
SELECT detail FROM told WHERE subject LIKE 'back %';
UPDATE yquota.expired_grant SET taken = taken - 1 WHERE project = 'back';
SELECT * FROM yquota.verify();
UPDATE yquota.expired_grant SET taken = taken + 1 WHERE project = 'back';

-- a project name of the largest length
INSERT INTO yquota.project (name) VALUES (repeat(E'\x01', 255));
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES (repeat(E'\x01', 255), -1, 'fine');
SELECT yquota_internal.note_crossings(yquota.clock());

-- in an isolation level that could hide alerts of other sessions, only the worker raises alerts
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('free', -1, 'fine');
SELECT yquota_internal.note_crossings(yquota.clock());
ROLLBACK;

-- rights of an administrator and of a viewer
CREATE ROLE yquota_threshold_admin;
CREATE ROLE yquota_threshold_viewer;
SELECT yquota.allow_role('yquota_threshold_admin', 'admin'), yquota.allow_role('yquota_threshold_viewer', 'viewer');
SET ROLE yquota_threshold_admin;
DELETE FROM yquota.spending_threshold;
INSERT INTO yquota.spending_threshold (fraction) VALUES (0.25), (1);
SELECT yquota.quota_compute();
RESET ROLE;
SET ROLE yquota_threshold_viewer;
SELECT * FROM yquota.spending_threshold ORDER BY fraction;
INSERT INTO yquota.spending_threshold (fraction) VALUES (0.3);
RESET ROLE;
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_spending_threshold;
DROP ROLE yquota_threshold_admin, yquota_threshold_viewer;
