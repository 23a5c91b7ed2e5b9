--
-- Retention: history older than so many months is archived one segment at a time, and the books do
-- not change. A vcore costs one credit per second.
--
CREATE DATABASE yquota_retention;
\c yquota_retention
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SET jit = off;
SELECT yquota.set_clock('2026-01-01 00:00');
SELECT yquota.set_multiplier('GENERAL', 1.000000000000000003, '2026-01-10 12:07');
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
-- tags of an application that runs, and of an application that never runs
SELECT yquota.set_application_tags('a1', '{team=search}'), yquota.set_application_tags('a9', '{team=search}');
-- January: some containers end in it, and some continue
SELECT yquota.set_clock('2026-01-31 00:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-01-10 12:00', 'lab', 'a1', 'ann', 'root.x', '[vcores=1]'), ('CONTAINER_FINISH', 'c1', '2026-01-10 12:20', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'c2', '2026-01-20 22:50', 'lab', 'a2', 'bob', 'root.x', '[vcores=2]'), ('CONTAINER_FINISH', 'c2', '2026-01-21 01:10', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'c3', '2026-01-20 23:59', 'web', 'a3', 'ann', 'root.y', '[vcores=3]'), ('CONTAINER_UPDATE', 'c3', '2026-01-21 00:01', NULL, NULL, NULL, NULL, '[vcores=1]'),
	('CONTAINER_FINISH', 'c3', '2026-01-21 00:02', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'runs', '2026-01-30 23:59', 'web', 'a4', 'bob', 'root.y', '[vcores=1]'), ('CONTAINER_UPDATE', 'runs', '2026-01-30 23:59:30', NULL, NULL, NULL, NULL, '[vcores=2]');
SELECT * FROM yquota.forgive('2026-01-21 00:30', '2026-01-21 00:40', 'switch replaced');
-- all days are rolled up
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT yquota.set_clock('2026-02-02 10:00');
SELECT settled, closed_at FROM yquota.close_period('2026-02-01');
SELECT settled, closed_at FROM yquota.close_period('2026-02-01');
-- this container is reported late, so it is on the bill of February
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'late', '2026-01-15 00:00', 'lab', 'a1', 'ann', 'root.x', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-01-15 00:00:07', NULL, NULL, NULL, NULL, NULL);
SELECT yquota.seal_history();
-- February
SELECT yquota.set_clock('2026-03-01 10:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c5', '2026-02-10 12:00', 'lab', 'a1', 'ann', 'root.x', '[vcores=5]'), ('CONTAINER_FINISH', 'c5', '2026-02-10 13:00', NULL, NULL, NULL, NULL, NULL);
SELECT settled, closed_at FROM yquota.close_period('2026-03-01');
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT yquota.seal_history();
SELECT yquota.quota_compute();

-- reports to compare
CREATE VIEW bills AS SELECT period.ends_at, booking.closed_at, bill.* FROM yquota.billing_period AS period, yquota.billing_period AS booking,
	LATERAL yquota.cost_between(period.starts_at, period.ends_at, '{project,username,queue,application_id,execution_type}', booking.closed_at) AS bill
	WHERE booking.closed_at >= period.closed_at;
CREATE VIEW told AS
	SELECT 'bill' AS what, bills::text AS line FROM bills
	UNION ALL SELECT 'day', day::text FROM yquota.cost_by_day('2026-01-01', '2026-03-02', '{project,username,queue,application_id,execution_type}') AS day
	UNION ALL SELECT 'day of Tokyo', day::text FROM yquota.cost_by_day('2026-01-01', '2026-03-02', '{project}', 'Asia/Tokyo') AS day
	UNION ALL SELECT 'quarter', cost::text FROM yquota.cost_between('2026-01-20 23:45', '2026-01-21 00:15', '{username}') AS cost
	UNION ALL SELECT 'all', cost::text FROM yquota.cost_between('-infinity', 'infinity') AS cost
	UNION ALL SELECT 'tag', cost::text FROM yquota.cost_between('-infinity', 'infinity', '{project,tag:team}') AS cost
	UNION ALL SELECT 'top', cost::text FROM yquota.top_costs('2026-01-15', '2026-02-15', '{queue}') AS cost
	UNION ALL SELECT 'balance', concat(project, charged, accrued) FROM yquota.project_balance
	UNION ALL SELECT 'problem', problem::text FROM yquota.verify() AS problem;
CREATE TABLE told_before AS SELECT * FROM told;
SELECT what, count(*) FROM told_before GROUP BY what ORDER BY what;
CREATE FUNCTION difference() RETURNS TABLE (what text, line text) LANGUAGE sql
	AS 'WITH now AS MATERIALIZED (TABLE told) (TABLE now EXCEPT ALL TABLE told_before) UNION ALL (TABLE told_before EXCEPT ALL TABLE now)';

-- the job does nothing by default, and nothing before it is due
SELECT yquota_internal.run_job('retention', 'worker');
INSERT INTO yquota.retention_setting (keep_months) VALUES (1);
INSERT INTO yquota.retention_setting (seal_interval) VALUES ('-1 day');
INSERT INTO yquota.retention_setting (keep_months) VALUES (2);
SELECT yquota_internal.run_job('retention', 'worker');
-- the clock for the reports is set back after each run
CREATE FUNCTION retain(at timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	outcome text;
BEGIN
	PERFORM yquota.set_clock(at);
	outcome := yquota_internal.run_job('retention', 'worker');
	PERFORM yquota.set_clock('2026-03-01 10:00');
	RETURN outcome;
END $$;
INSERT INTO yquota.preempted_container (container_id, project, application_id, queue, node, label, allocation, killed_at, is_advised)
SELECT 'p' || number, 'lab', 'a1', 'root.x', 'n1', '', '[vcores=1]', killed_at, false
FROM unnest('{2026-01-10 12:00,2026-02-02 09:59:59,2026-02-02 10:00}'::timestamptz[]) WITH ORDINALITY AS k (killed_at, number);
INSERT INTO yquota.utilization_history (price_group, quarter_hour, measurements, average, highest)
VALUES ('GENERAL', '2026-01-10 12:00', 1, 0, 0), ('GENERAL', '2026-02-02 10:00', 1, 0, 0);
SELECT retain('2026-04-02 09:59:59');
SELECT container_id FROM yquota.preempted_container ORDER BY 1;
SELECT quarter_hour FROM yquota.utilization_history;
SELECT retain('2026-04-02 10:00');
SELECT container_id FROM yquota.preempted_container ORDER BY 1;
SELECT * FROM difference();
SELECT application_id FROM yquota.application_tags ORDER BY 1;
SELECT retain('2026-04-02 10:00');
SELECT retain('2026-04-02 10:00');
SELECT segment, history, target, archived_at FROM yquota.archived_history ORDER BY 1, 2;
SELECT container_id, number, amount, tableoid::regclass AS archived_in FROM yquota_archive.charge ORDER BY 1, 2;
SELECT event, container_id, tableoid::regclass AS archived_in FROM yquota_archive.container_event ORDER BY occurred_at, event;
SELECT * FROM difference();
-- reports are the same, whether the days are rolled up again or not
SELECT yquota.roll_up_charges() >= 0 AS rolled_up;
SELECT * FROM difference();
UPDATE yquota_internal.rollup_state SET horizon = NULL;
SELECT * FROM difference();
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT * FROM difference();

-- explain_charge() reads an archived container from the archive, and reports that are no longer
-- possible give the reason
SELECT * FROM yquota.explain_charge('c2');
SELECT sum(amount) FROM yquota.explain_charge('c5');
SELECT * FROM yquota.explain_charge('nobody');
SELECT * FROM yquota.cost_between('2026-01-01', '2026-02-01', '{container_id}');
SELECT * FROM yquota.cost_between('2026-01-20 12:07', '2026-02-01');
SELECT * FROM yquota.cost_between('-infinity', '2026-02-01', '{node}', as_booked => '2026-03-01 10:00');
SELECT * FROM yquota.cost_between('-infinity', '2026-02-01', as_booked => '2026-02-15');
SELECT * FROM yquota.rerate('2026-01-01', '2026-02-01', '{"base_prices": {"vcores": 2}}');
SELECT * FROM yquota.forgive('2026-01-01', '2026-02-01', 'too late');
SELECT yquota.report_html('2026-01-01 00:07', '2026-02-01') IS NULL;
SET client_min_messages = error;
CREATE ROLE yquota_retention_member;
SELECT yquota.allow_role('yquota_retention_member', 'member', 'web');
SET ROLE yquota_retention_member;
SELECT * FROM yquota.explain_charge('c2');
SELECT * FROM yquota.explain_charge('c3');
SELECT * FROM yquota.cost_between('-infinity', '2026-02-01');
SELECT project, amount FROM yquota.cost_between('-infinity', '2026-02-01', as_booked => '2026-02-02 10:00');
INSERT INTO yquota.retention_setting (keep_months) VALUES (2);
RESET ROLE;
SELECT yquota.disallow_role('yquota_retention_member', 'member', 'web');
DROP ROLE yquota_retention_member;
RESET client_min_messages;

-- an archive table with another name is reported as missing
ALTER TABLE yquota_archive.charge_1 NO INHERIT yquota_archive.charge;
SELECT count(*) FROM yquota_archive.charge;
ALTER TABLE yquota_archive.charge_1 RENAME TO charge_of_january;
SELECT * FROM yquota.explain_charge('c2');
ALTER TABLE yquota_archive.charge_of_january RENAME TO charge_1;
ALTER TABLE yquota_archive.charge_1 INHERIT yquota_archive.charge;
SELECT project, digest.charged = opening.charged AND digest.digest = opening.digest AS is_right
FROM yquota.archive_digest('yquota_archive.charge') AS digest JOIN yquota.opening_balance AS opening USING (project) ORDER BY project;
-- verify() finds changed sums
BEGIN;
UPDATE yquota_internal.archived_cost SET amount = amount + 1 WHERE project = 'web';
SELECT problem, subject FROM yquota.verify();
ROLLBACK;

-- history of a period that is not closed stays
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'runs', '2026-03-01 09:00');
SELECT yquota.seal_history();
SELECT yquota.quota_compute();
SELECT retain('2027-01-01 00:00');
SELECT retain('2027-01-01 00:00');
SELECT yquota.set_clock('2026-05-02 00:00');
SELECT settled, closed_at FROM yquota.close_period('2026-05-01');
SELECT yquota.quota_compute();
SELECT retain('2027-01-01 00:00');
SELECT retain('2027-01-01 00:00');
SELECT retain('2027-01-01 00:00');
SELECT * FROM yquota.verify();
SELECT project, charged - amount AS difference FROM yquota.project_balance JOIN yquota.cost_between('-infinity', 'infinity') USING (project) ORDER BY project;
SELECT * FROM bills EXCEPT SELECT (told_before.line::bills).* FROM told_before WHERE what = 'bill' ORDER BY 1, 2, 3, 4;

-- code of a role that owns a table in the archive schema does not run
UPDATE yquota.retention_setting SET archive_schema = 'public';
CREATE ROLE yquota_retention_other;
CREATE TABLE public.charge (LIKE yquota.charge);
ALTER TABLE public.charge OWNER TO yquota_retention_other;
SELECT yquota_internal.make_archive_table('yquota.charge', 'public', 9);
DROP TABLE public.charge;
DROP ROLE yquota_retention_other;

\c postgres
DROP DATABASE yquota_retention;
