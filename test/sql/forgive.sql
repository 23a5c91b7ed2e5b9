--
-- Forgiving an interval of time once, for posted charges and for running containers. A vcore costs
-- one credit per second here.
--
CREATE DATABASE yquota_forgive;
\c yquota_forgive
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 12:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('web'), ('idle');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '10 s');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 10:00+00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'done', '2026-03-02 10:10+00', NULL, NULL),
	('CONTAINER_START', 'short', '2026-03-02 10:05+00', 'web', '[vcores=1]'), ('CONTAINER_FINISH', 'short', '2026-03-02 10:05:04+00', NULL, NULL),
	('CONTAINER_START', 'runs', '2026-03-02 10:00+00', 'web', '[vcores=2]'),
	('CONTAINER_START', 'later', '2026-03-02 11:00+00', 'idle', '[vcores=2]');
CREATE VIEW balance AS SELECT project, charged, accrued FROM yquota.project_balance ORDER BY project;
SELECT * FROM balance;
SELECT * FROM yquota.forgive('2026-03-02 10:04+00', '2026-03-02 10:06+00', 'switch replaced');
SELECT * FROM balance;
SELECT container_id, number, corrects, padding, amount FROM yquota.charge ORDER BY container_id, number;
-- Forgiving the interval again, or a part of it, changes nothing. Only time beyond it is refunded.
SELECT * FROM yquota.forgive('2026-03-02 10:04+00', '2026-03-02 10:06+00', 'switch replaced');
SELECT * FROM yquota.forgive('2026-03-02 10:04:30+00', '2026-03-02 10:05+00', 'the same', 'lab');
SELECT * FROM yquota.forgive('2026-03-02 10:05+00', '2026-03-02 10:07+00', 'it took longer', 'lab');
SELECT * FROM balance;
SELECT outage_id, project, started_at, ended_at, reason FROM yquota.outage ORDER BY outage_id;
-- a container that is reported later is not charged for that time either
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-02 10:04+00', 'idle', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-03-02 10:06:01+00', NULL, NULL);
SELECT amount FROM yquota.charge WHERE container_id = 'late';
SELECT * FROM yquota.verify();
-- the closing of a period settles running containers, and these charges are corrected at once, too
SELECT yquota.set_clock('2026-03-02 18:00+00');
SELECT * FROM yquota_internal.close_period_at('2026-03-02 16:00+00', 100);
SELECT * FROM yquota_internal.close_period_at('2026-03-02 16:00+00', 100);
SELECT * FROM yquota.forgive('2026-03-02 15:30+00', '2026-03-02 15:40+00', 'switch replaced again');
SELECT * FROM yquota.forgive('2026-03-02 15:50+00', '2026-03-02 15:55+00', 'cable', 'web');
SELECT yquota.report_outage('2026-03-02 15:56+00', '2026-03-02 15:57+00', 'cable', 'web') > 0 AS reported;
SELECT container_id, charged, accrued FROM yquota.container_cost WHERE container_id IN ('runs', 'later') ORDER BY container_id;
SELECT * FROM yquota.verify();
-- bad input
SELECT * FROM yquota.forgive(NULL, '2026-03-02 10:06+00', 'x');
SELECT * FROM yquota.forgive('2026-03-02 10:06+00', '2026-03-02 10:06+00', 'x');
SELECT * FROM yquota.forgive('-infinity', '2026-03-02 10:06+00', 'x');
SELECT * FROM yquota.forgive('2026-03-02 10:05+00', '2026-03-02 10:06+00', ' ');
SELECT * FROM yquota.forgive('2026-03-02 10:05+00', '2026-03-02 10:06+00', NULL);
SELECT * FROM yquota.forgive('2026-03-02 10:05+00', '2026-03-02 10:06+00', 'x', 'nobody');

\c postgres
DROP DATABASE yquota_forgive;
