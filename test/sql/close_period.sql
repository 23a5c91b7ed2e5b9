--
-- Closing billing periods: an issued bill never changes, and later changes are on the next bill. A
-- vcore costs one credit per second, until the price changes.
--
CREATE DATABASE yquota_close_period;
\c yquota_close_period
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-04-02 00:00+00');
-- Periods end with days of the time zone of bills. A literal without a type is an instant in the session's time
-- zone.
\set ON_ERROR_ROLLBACK on
BEGIN;
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.billing_setting (timezone) VALUES ('Europe/Berlin');
SELECT yquota.close_period('2026-02-01');
SELECT yquota.close_period('2026-02-01 12:00:00.000001+01');
PREPARE close_untyped AS SELECT * FROM yquota.close_period($1);
SELECT parameter_types FROM pg_prepared_statements;
DEALLOCATE close_untyped;
SELECT closed_at FROM yquota.close_period('2026-02-01 00:00 Europe/Berlin');
SELECT closed_at FROM yquota.close_period(date '2026-03-01');
SELECT closed_at FROM yquota.close_month('2026-03-15', max_containers => 1);
SELECT closed_at FROM yquota.close_month('2026-03-31');
SELECT starts_at, ends_at FROM yquota.billing_period ORDER BY 1;
SELECT item, amount FROM yquota.bill('lab', date '2026-04-01');
SELECT length(yquota.bill_html('lab', date '2026-04-01')) > 0 AS has_page;
SELECT * FROM yquota.bill('lab', '2026-04-01');
SELECT yquota.close_month('2026-04-30');
SELECT yquota.close_month(NULL), yquota.close_period(NULL::date);
SELECT yquota.close_month('infinity');
SELECT yquota.close_period(date '-infinity');
UPDATE yquota.billing_setting SET timezone = 'UTC';
ROLLBACK;
-- a day that begins at 01:00, and a day that has two midnights
BEGIN;
INSERT INTO yquota.billing_setting (timezone) VALUES ('America/Sao_Paulo');
SELECT yquota.close_period('2018-11-04 02:00+00');
SELECT yquota.close_period(date '2018-11-04') IS NOT NULL AS closed;
SELECT ends_at FROM yquota.billing_period;
ROLLBACK;
BEGIN;
INSERT INTO yquota.billing_setting (timezone) VALUES ('America/Havana');
SELECT yquota.close_period('2018-11-04 05:00+00');
SELECT yquota.close_period('2018-11-04 04:00+00') IS NOT NULL AS closed;
ROLLBACK;
\set ON_ERROR_ROLLBACK off
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '10 s');
SELECT yquota.set_multiplier('GENERAL', 1.123456789012345678, '2026-04-03 00:00+00');
SELECT yquota.set_clock('2026-05-02 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, queue, allocation) VALUES
	('CONTAINER_START', 'april', '2026-04-30 22:00+00', 'lab', 'a', 'root.x', '[vcores=1]'), ('CONTAINER_FINISH', 'april', '2026-04-30 23:00+00', NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'across', '2026-04-30 23:00+00', 'lab', 'a', 'root.x', '[vcores=1]'), ('CONTAINER_FINISH', 'across', '2026-05-01 01:00+00', NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'runs', '2026-04-30 12:00+00', 'web', 'b', 'root.y', '[vcores=2]'), ('CONTAINER_UPDATE', 'runs', '2026-04-30 18:00+00', NULL, NULL, NULL, '[vcores=3]'),
	('CONTAINER_START', 'at_end', '2026-04-30 20:00+00', 'web', 'b', 'root.y', '[vcores=1]'), ('CONTAINER_UPDATE', 'at_end', '2026-05-01 00:00+00', NULL, NULL, NULL, '[vcores=2]'),
	('CONTAINER_START', 'may', '2026-05-01 00:00+00', 'web', 'b', 'root.y', '[vcores=1]'), ('CONTAINER_FINISH', 'may', '2026-05-01 00:00:01+00', NULL, NULL, NULL, NULL);
-- all days are rolled up
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.roll_up_charges() >= 0 AS rolled_up;
CREATE TABLE before AS SELECT project, charged + accrued AS spent FROM yquota.project_balance;
CREATE TABLE april AS SELECT * FROM yquota.cost_between('-infinity', '2026-05-01', '{project,queue,container_id}');

-- the period is closed in batches, and balances and costs do not change
SELECT settled, closed_at FROM yquota.close_period('2026-05-01', 1);
SELECT until, closed_at FROM yquota.closed_period;
SELECT * FROM yquota.close_period('2026-05-02', 1);
-- verify() finds nothing between the batches
SELECT * FROM yquota.verify();
SELECT settled, closed_at FROM yquota.close_period('2026-05-01', 1);
SELECT settled, closed_at FROM yquota.close_period('2026-05-01', 1);
SELECT * FROM yquota.close_period('2026-05-01');
SELECT container_id, "from", "to", number, corrects, settled_by, amount FROM yquota.charge ORDER BY container_id, number;
SELECT container_id, settled_at, charges FROM yquota.container ORDER BY container_id;
SELECT project, charged + accrued - spent AS difference FROM yquota.project_balance JOIN before USING (project) ORDER BY project;
CREATE VIEW bill AS SELECT project, queue, container_id, amount
	FROM yquota.cost_between('-infinity', '2026-05-01', '{project,queue,container_id}', (SELECT closed_at FROM yquota.closed_period WHERE until = '2026-05-01'));
CREATE TABLE issued AS SELECT * FROM bill;
SELECT * FROM issued ORDER BY container_id;
SELECT count(*) AS differing FROM issued FULL JOIN april USING (project, queue, container_id) WHERE issued.amount IS DISTINCT FROM april.amount;
SELECT until, amount, amount = (SELECT sum(amount) FROM issued) AS adds_up FROM yquota.closed_period;
SELECT * FROM yquota.verify();

-- settling again changes nothing
SELECT yquota_internal.settle_again('{across,april,at_end,may,runs}') AS corrected;

-- late events, forgiven time and wrong events leave the issued bill as it was
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, queue, allocation) VALUES
	('CONTAINER_START', 'late', '2026-04-30 23:30+00', 'lab', 'a', 'root.x', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-05-01 00:30+00', NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'late_runs', '2026-04-30 23:30+00', 'lab', 'a', 'root.x', '[vcores=1]'),
	('CONTAINER_UPDATE', 'runs', '2026-04-30 21:00+00', NULL, NULL, 'root.z', NULL),
	('CONTAINER_FINISH', 'at_end', '2026-05-02 12:00+00', NULL, NULL, NULL, NULL);
SELECT * FROM yquota.forgive('2026-04-30 23:45+00', '2026-05-01 00:15+00', 'switch replaced');
SELECT count(*) FROM yquota.void_events('april', 'never ran');
-- the clock goes back to the closing of the period, and then before it
SELECT yquota.set_clock('2026-05-01 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, queue, allocation) VALUES
	('CONTAINER_START', 'early', '2026-04-30 23:00+00', 'lab', 'a', 'root.x', '[vcores=1]'), ('CONTAINER_FINISH', 'early', '2026-04-30 23:10+00', NULL, NULL, NULL, NULL);
SELECT yquota.set_clock('2026-06-01 10:00+00');
-- the end of a period is not an event, so nothing can be voided there
SELECT count(*) FROM yquota.void_events("from" => '2026-05-01', "to" => '2026-05-01 00:00:00.5+00', project => 'lab', reason => 'x');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'runs', '2026-05-03 00:00+00');
SELECT count(*) AS differing FROM issued FULL JOIN bill USING (project, queue, container_id) WHERE issued.amount IS DISTINCT FROM bill.amount;
SELECT count(*) AS crossing FROM yquota.charge WHERE "from" < '2026-05-01' AND "to" > '2026-05-01' AND booked_at > (SELECT begun_at FROM yquota.closed_period) AND corrects IS NULL;
SELECT * FROM yquota.verify();

-- The difference is in the next period. An outage was reported after the events in it, so the first
-- call has to correct containers.
SELECT settled, closed_at FROM yquota.close_period('2026-06-01');
SELECT settled, closed_at FROM yquota.close_period('2026-06-01');
SELECT project, april.amount AS issued, later.amount AS by_now, may.amount AS may
FROM (SELECT project, sum(amount) AS amount FROM issued GROUP BY project) AS april
JOIN yquota.cost_between('-infinity', '2026-05-01', as_booked => '2026-06-01 10:00+00') AS later USING (project)
JOIN yquota.cost_between('2026-05-01', '2026-06-01', as_booked => '2026-06-01 10:00+00') AS may USING (project) ORDER BY project;
-- the issued bill, the difference and May add up to the whole spending until then
SELECT bool_and(whole.amount = (SELECT sum(amount) FROM yquota.cost_between('-infinity', '2026-06-01', as_booked => '2026-06-01 10:00+00') AS c WHERE c.project = whole.project)) AS adds_up
FROM yquota.cost_between('-infinity', '2026-06-01') AS whole;
SELECT * FROM yquota.verify();

-- a member sees the periods and gets the bills of the member's project, but not the spending of all
-- projects
SET client_min_messages = error;
CREATE ROLE yquota_close_member;
SELECT yquota.allow_role('yquota_close_member', 'member', 'lab');
SET ROLE yquota_close_member;
SELECT * FROM yquota.billing_period ORDER BY ends_at;
SELECT period.ends_at, bill.project, bill.amount FROM yquota.billing_period AS period,
	LATERAL yquota.cost_between(period.starts_at, period.ends_at, as_booked => period.closed_at) AS bill ORDER BY 1, 2;
SELECT amount FROM yquota.closed_period;
RESET ROLE;
SELECT yquota.disallow_role('yquota_close_member', 'member', 'lab');
DROP ROLE yquota_close_member;
RESET client_min_messages;

-- A container ends exactly at the end of a period, and its FINISH arrives after the closing. Its
-- last charge is the charge that the closing made.
SELECT yquota.set_clock('2026-06-02 10:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'to_the_end', '2026-06-01 23:30+00', 'web', '[vcores=1]');
SELECT settled, closed_at FROM yquota.close_period('2026-06-02');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'to_the_end', '2026-06-02 00:00+00');
SELECT "from", "to", number, corrects, settled_by, amount FROM yquota.charge WHERE container_id = 'to_the_end' ORDER BY number;
SELECT * FROM yquota.verify();

-- bad input
SELECT yquota.close_period(NULL);
SELECT yquota.close_period('infinity');
SELECT yquota.close_period('2026-05-15');
SELECT yquota.close_period('2026-07-01');
SELECT yquota.close_period('2026-07-01', 0);
SELECT * FROM yquota.cost_between('2026-05-02', '2026-06-01', as_booked => '2026-06-01 10:00+00');
SELECT * FROM yquota.cost_between('2026-05-01', '2026-06-01', as_booked => '2026-05-31');
UPDATE yquota.closed_period SET amount = 0;
DELETE FROM yquota.closed_period;
TRUNCATE yquota.closed_period;

\c postgres
DROP DATABASE yquota_close_period;
