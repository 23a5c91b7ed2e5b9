--
-- Costs and bills by the calendars that were open. A vcore costs one credit per second, and half a credit at
-- night. All amounts are checked against the same cost without a division.
--
CREATE DATABASE yquota_bill_by_calendar;
\c yquota_bill_by_calendar
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-02-20 12:00+00');
INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('lab.ml', 'lab'), ('web', NULL);
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000000, 'budget'), ('web', 1000000, 'budget');
CREATE FUNCTION run(id text, project text, from_at timestamptz, to_at timestamptz, size yquota.resource, username text DEFAULT 'ann') RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
		('CONTAINER_START', id, from_at, project, 'app_' || id, username, 'root.a', size),
		('CONTAINER_FINISH', id, to_at, NULL, NULL, NULL, NULL, NULL) $$;

-- February has no calendar
SELECT run('f1', 'lab', '2026-02-20 10:00+00', '2026-02-20 11:00+00', '[vcores=1]');
SELECT yquota.set_clock('2026-03-01 00:00+00');
SELECT settled, closed_at FROM yquota.close_period('2026-03-01');
SELECT * FROM yquota.bill_by_calendar('lab', '2026-03-01');
SELECT count(*) FROM yquota_internal.billed_calendar;

INSERT INTO yquota.price_calendar (name, price_group, timezone, weekdays, "from", "to", factor) VALUES
	('night', 'GENERAL', 'UTC', '{1,2,3,4,5,6,7}', '22:00', '06:00', 0.5), ('night', 'GPU', 'UTC', '{1,2,3,4,5,6,7}', '22:00', '06:00', 0.5),
	('weekend', 'GPU', 'UTC', '{6,7}', '00:00', '00:00', 0.25);
SELECT starts_at, calendars FROM yquota_internal.open_calendars('2026-03-06 12:00+00', '2026-03-08 12:00+00');
-- containers run for three nights, for an hour at night, by day, and on a weekend with a GPU
SELECT yquota.set_clock('2026-03-10 12:00+00');
SELECT yquota.quota_compute();
SELECT run('m1', 'lab', '2026-03-02 20:00+00', '2026-03-05 08:00+00', '[vcores=1]'), run('m2', 'lab', '2026-03-02 23:00+00', '2026-03-03 00:00+00', '[vcores=1]', 'bob'),
	run('m3', 'lab', '2026-03-02 10:00+00', '2026-03-02 10:20+00', '[vcores=1]'), run('m4', 'lab.ml', '2026-03-06 20:00+00', '2026-03-07 08:00+00', '[yarn.io/gpu=1]');
-- padding belongs to the instant at which it is charged
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-10 12:00+00', '1 min');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'm5', '2026-03-10 12:00+00', 'web', 'app_m5', 'cyd', 'root.a', '[vcores=1]');
SELECT yquota.set_clock('2026-03-11 12:00+00');
SELECT run('m6', 'web', '2026-03-11 05:59:30+00', '2026-03-11 05:59:50+00', '[vcores=1]'), run('m7', 'web', '2026-03-11 05:59:30+00', '2026-03-11 06:00:10+00', '[vcores=1]');
SELECT * FROM yquota.cost_by_calendar('2026-03-01', '2026-04-01') ORDER BY project, calendars;
-- m1 runs for two hours, three nights, two whole days between them, and two hours
SELECT (2 + 2 * 16 + 2) * 3600 AS by_day, 3 * 8 * 1800 AS by_night;
SELECT calendars, username, amount FROM yquota.cost_by_calendar('2026-03-02 12:00', '2026-03-04 03:00', '{username}') ORDER BY 2, 1;
SELECT calendars, container_id, amount FROM yquota.cost_by_calendar('-infinity', 'infinity', '{container_id}') ORDER BY 2, 1;
CREATE FUNCTION difference(from_at timestamptz, to_at timestamptz) RETURNS numeric LANGUAGE sql AS $$
	SELECT (SELECT sum(amount) FROM yquota.cost_by_calendar(from_at, to_at, '{}')) - (SELECT sum(amount) FROM yquota.cost_between(from_at, to_at, '{}')) $$;
SELECT difference('-infinity', 'infinity'), trim_scale(difference('2026-03-03 01:02:03.456789', '2026-03-07 23:00:01')) AS difference;
SELECT * FROM yquota.cost_by_calendar('2026-03-03', '2026-03-03');
-- roll-ups change nothing
CREATE TABLE before AS SELECT * FROM yquota.cost_by_calendar('2026-03-01', '2026-04-01', '{project,username}');
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
TABLE before EXCEPT ALL SELECT * FROM yquota.cost_by_calendar('2026-03-01', '2026-04-01', '{project,username}');
\set VERBOSITY terse
SELECT * FROM yquota.cost_by_calendar('2026-03-03', '2026-03-02');
SELECT * FROM yquota.cost_by_calendar('2026-03-03', NULL);
SELECT * FROM yquota.cost_by_calendar('2026-03-03', '2026-03-04', '{calendar}');
\set VERBOSITY default

--
-- The bill of March. The container of web runs on into April.
--
SELECT yquota.set_clock('2026-03-30 12:00+00');
SELECT yquota.quota_compute();
SELECT yquota.set_clock('2026-04-01 09:00+00');
SELECT yquota.quota_compute();
SELECT settled, closed_at FROM yquota.close_period('2026-04-01');
SELECT * FROM yquota.bill_by_calendar('lab', '2026-04-01');
SELECT * FROM yquota.bill_by_calendar('web', date '2026-04-01');
CREATE VIEW compared AS
	SELECT p.name, period.ends_at, (SELECT sum(amount) FROM yquota.bill(p.name, period.ends_at) WHERE item = 'charge') AS charged,
		   (SELECT sum(amount) FROM yquota.bill_by_calendar(p.name, period.ends_at)) AS by_calendar
	FROM yquota.project AS p, yquota.billing_period AS period ORDER BY 1, 2;
TABLE compared;
CREATE TABLE issued AS SELECT p.name, period.ends_at, b.* FROM yquota.project AS p, yquota.billing_period AS period, yquota.bill_by_calendar(p.name, period.ends_at) AS b;
SELECT substring(yquota.bill_html('lab', '2026-04-01') FROM '<h2>Charges by calendar.*(?=<h2>Appendix)');
SELECT yquota.bill_html('lab', '2026-03-01') ~ 'by calendar' AS names_calendars;
SELECT * FROM yquota.verify();

-- An outage, late events and an archive do not change bills. Corrections are on the next bill.
SELECT * FROM yquota.forgive('2026-03-03 00:00+00', '2026-03-03 01:00+00', 'dark');
SELECT run('late', 'lab', '2026-03-05 21:00+00', '2026-03-05 23:00+00', '[vcores=1]');
SELECT calendars, amount FROM yquota.cost_by_calendar('2026-03-01', '2026-04-01', '{}') ORDER BY 1;
SELECT difference('-infinity', 'infinity');
SELECT p.name, period.ends_at, b.* FROM yquota.project AS p, yquota.billing_period AS period, yquota.bill_by_calendar(p.name, period.ends_at) AS b EXCEPT ALL TABLE issued;
SELECT yquota.set_clock('2026-05-01 09:00+00');
DELETE FROM yquota.price_calendar;
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'm5');
SELECT yquota.quota_compute();
SELECT settled, closed_at FROM yquota.close_period('2026-05-01');
SELECT * FROM yquota.bill_by_calendar('web', '2026-05-01');
SELECT sum(amount) FILTER (WHERE item = 'correction') AS corrected, sum(amount) FILTER (WHERE item = 'charge') AS charged FROM yquota.bill('lab', '2026-05-01');
TABLE compared;
SELECT * FROM yquota.verify();
CREATE SCHEMA archive;
CREATE TABLE archive.charge (LIKE yquota.charge);
CREATE TABLE before_archive AS SELECT * FROM yquota.cost_by_calendar('2026-03-01', '2026-05-01', '{project,username}');
SELECT yquota.seal_history() IS NOT NULL AS is_sealed;
SELECT yquota.quota_compute();
SELECT archived > 0 AS is_archived FROM yquota.archive('archive.charge', 'infinity');
TABLE before_archive EXCEPT ALL SELECT * FROM yquota.cost_by_calendar('2026-03-01', '2026-05-01', '{project,username}');
SELECT p.name, period.ends_at, b.* FROM yquota.project AS p, yquota.billing_period AS period, yquota.bill_by_calendar(p.name, period.ends_at) AS b
	WHERE ends_at < '2026-05-01' EXCEPT ALL TABLE issued;
TABLE compared;
SELECT * FROM yquota.verify();
-- archived costs are known per quarter-hour
SELECT * FROM yquota.cost_by_calendar('2026-03-01 00:01', '2026-04-01');

-- the stored rows are part of the books
UPDATE yquota_internal.billed_calendar SET amount = 0;
DELETE FROM yquota_internal.billed_calendar;
TRUNCATE yquota_internal.billed_calendar;
BEGIN;
ALTER TABLE yquota_internal.billed_calendar DISABLE TRIGGER keep;
UPDATE yquota_internal.billed_calendar SET amount = amount + 1 WHERE project = 'web' AND until = '2026-04-01' AND calendars = 'night';
INSERT INTO yquota_internal.billed_calendar VALUES ('2026-04-01', 'lab.none', '', 1);
SELECT * FROM yquota.verify() ORDER BY subject COLLATE "C";
ROLLBACK;

-- members read the bills of their own projects
CREATE ROLE yquota_test_accountant;
SELECT yquota.allow_role('yquota_test_accountant', 'member', 'web');
SET ROLE yquota_test_accountant;
SELECT count(*) FROM yquota.bill_by_calendar('web', '2026-04-01');
SELECT * FROM yquota.bill_by_calendar('lab', '2026-04-01');
SELECT DISTINCT project FROM yquota.cost_by_calendar('2026-03-01', '2026-05-01');
SELECT count(*) FROM yquota_internal.billed_calendar;
RESET ROLE;
SELECT * FROM yquota.bill_by_calendar('web', '2026-04-02');
SELECT * FROM yquota.bill_by_calendar('web', NULL);

SELECT yquota.disallow_role('yquota_test_accountant', 'member', 'web');
\c postgres
DROP DATABASE yquota_bill_by_calendar WITH (FORCE);
DROP ROLE yquota_test_accountant;
