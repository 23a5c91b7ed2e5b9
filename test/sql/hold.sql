--
-- Holds: credit set aside for applications before they are launched.  A vcore
-- costs one credit per second here, so every figure can be checked by hand.
--
CREATE DATABASE yquota_hold;
\c yquota_hold
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00:00+00');
INSERT INTO yquota.project (name, quota_mode, on_exhausted) VALUES
	('lab', 'PREPAID', 'stop'), ('ops', 'NOLIMIT', 'allow'), ('poor', 'PREPAID', 'allow');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'budget');
CREATE VIEW balance AS
	SELECT project, granted, charged, accrued, held, remaining, exhausted_at FROM yquota.project_balance
	WHERE project = 'lab';
CREATE VIEW status AS
	SELECT hold_id, application_id, amount, state, spent, outstanding FROM yquota.hold_status ORDER BY hold_id;

--
-- Held credit no longer remains, and more than the remaining credit cannot be held
--
SELECT yquota.hold('lab', 'app_1', 600, '1 hour', 'nightly');
SELECT yquota.hold('lab', 'app_2', 400.000000000000000000000000000000000000000000000001, '1 hour');
SELECT yquota.hold('lab', 'app_2', 400, '10 min');
SELECT yquota.hold('lab', 'app_3', 0.000001, '1 hour');
SELECT * FROM balance;
SELECT * FROM status;
-- a client can rely on the SQLSTATE alone
DO $$
BEGIN
	PERFORM yquota.hold('lab', 'app_3', 1, '1 hour');
EXCEPTION WHEN SQLSTATE 'YQ001' THEN
	RAISE WARNING 'no credit';
END
$$;
-- a NOLIMIT project may always hold credit
SELECT yquota.hold('ops', 'app_9', 1e9, '1 hour');
SELECT project, held, remaining FROM yquota.project_balance WHERE project = 'ops';
SELECT yquota.hold('poor', 'app_9', 1, '1 hour');

--
-- The spending of an application uses up its own hold, and no other
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 10:00+00', 'lab', 'app_1', '[vcores=2]'),
	('CONTAINER_START', 'c2', '2026-03-02 10:00+00', 'lab', 'app_4', '[vcores=1]'),
	('CONTAINER_START', 'c3', '2026-03-02 10:00+00', 'ops', 'app_1', '[vcores=7]');
SELECT yquota.set_clock('2026-03-02 10:01:00+00');
SELECT * FROM balance;
SELECT * FROM status;
-- nothing remains, but held credit is left, so nothing has to be stopped
SELECT * FROM yquota.exhausted_work;
-- a settlement moves credits from accrued to charged, and changes nothing else
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'c1', '2026-03-02 10:00:30+00', '[vcores=2]');
SELECT * FROM balance;
SELECT * FROM status;

--
-- A hold expires by the clock
--
SELECT yquota.set_clock('2026-03-02 10:09:59.999999+00');
SELECT * FROM status;
SELECT yquota.set_clock('2026-03-02 10:10+00');
SELECT * FROM status;
SELECT * FROM balance;
SELECT yquota.release_hold(2);
-- more than the hold is spent: nothing is outstanding, and nothing is returned
SELECT yquota.set_clock('2026-03-02 10:20+00');
SELECT * FROM status;
SELECT * FROM balance;
SELECT project, remaining, container_id FROM yquota.exhausted_work ORDER BY container_id;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'c1', '2026-03-02 10:05+00'), ('CONTAINER_FINISH', 'c2', '2026-03-02 10:01+00');
SELECT * FROM status;
SELECT * FROM balance;

--
-- Costs from before the hold do not use it up, exact to the microsecond
--
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 2000, 'more');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'd1', '2026-03-02 10:10+00', 'lab', 'app_5', '[vcores=1]'),
	('CONTAINER_START', 'd2', '2026-03-02 10:19+00', 'lab', 'app_5', '[vcores=1]');
SELECT yquota.release_hold(1), yquota.release_hold(1);
SELECT yquota.set_clock('2026-03-02 10:20:00.5+00');
SELECT remaining FROM balance;
SELECT yquota.hold('lab', 'app_5', 3.000001, '1 hour');
SELECT yquota.set_clock('2026-03-02 10:20:01+00');
SELECT spent, outstanding FROM status WHERE application_id = 'app_5';
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'd1', '2026-03-02 10:20:00.75+00');
SELECT spent, outstanding FROM status WHERE application_id = 'app_5';
-- charges of the application are reversed and corrected, and the hold follows
SELECT yquota.report_outage('2026-03-02 10:20:00.6+00', '2026-03-02 10:20:00.7+00', 'switch');
SELECT spent, outstanding FROM status WHERE application_id = 'app_5';
SELECT container_id, "from", "to", corrects, amount FROM yquota.charge WHERE application_id = 'app_5' ORDER BY number;

--
-- Several holds of an application: the oldest hold is used up first
--
SELECT yquota.hold('lab', 'app_5', 10, '1 hour');
SELECT yquota.hold('lab', 'app_5', 20, '1 hour');
SELECT yquota.set_clock('2026-03-02 10:20:03.5+00');
SELECT * FROM status WHERE application_id = 'app_5';
SELECT yquota.set_clock('2026-03-02 10:20:13+00');
SELECT * FROM status WHERE application_id = 'app_5';
SELECT held FROM balance;
SELECT yquota.release_hold(6);
SELECT * FROM status WHERE application_id = 'app_5';

--
-- A hold lets its application be admitted
--
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=65536,vcores=64]');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
UPDATE yquota.project SET on_exhausted = 'refuse_submission' WHERE name = 'lab';
SELECT action FROM yquota.project_balance WHERE project = 'lab';
SELECT yquota.hold('lab', 'application_1_1', (SELECT remaining FROM balance), '1 hour') > 0 AS held;
SELECT action FROM yquota.project_balance WHERE project = 'lab';
SELECT application_id, state, decided_by, reason
FROM unnest('{application_1_1,application_1_2}'::text[]) AS id,
	 yquota.submit_application(id, 'ann', NULL, 'root.a', project => 'lab');

--
-- Bad input changes nothing
--
SELECT yquota.hold(NULL, 'app', 1, '1 hour');
SELECT yquota.hold('lab', NULL, 1, '1 hour');
SELECT yquota.hold('lab', 'app', NULL, '1 hour');
SELECT yquota.hold('lab', 'app', 1, NULL);
SELECT yquota.hold('lab', '', 1, '1 hour');
SELECT yquota.hold('lab', 'app', 0, '1 hour');
SELECT yquota.hold('lab', 'app', 'NaN', '1 hour');
SELECT yquota.hold('lab', 'app', 1, '-1 hour');
SELECT yquota.hold('lab', 'app', 1, '11 years');
SELECT yquota.hold('nobody', 'app', 1, '1 hour');
SELECT yquota.release_hold(4711);
SELECT yquota.release_hold(NULL);

--
-- Operators, administrators and members of the project may hold credit
--
CREATE ROLE yquota_test_holder;
CREATE ROLE yquota_test_holding_feed;
SELECT yquota.allow_role('yquota_test_holder', 'member', 'ops');
SELECT yquota.allow_role('yquota_test_holding_feed', 'operator');
SET SESSION AUTHORIZATION yquota_test_holder;
SELECT yquota.hold('lab', 'app_6', 1, '1 hour');
SELECT yquota.hold('nobody', 'app_6', 1, '1 hour');
SELECT yquota.release_hold(1);
SELECT yquota.hold('ops', 'app_6', 5, '1 hour', 'mine');
SELECT project, application_id, held_by, reason FROM yquota.hold_status WHERE application_id = 'app_6';
SELECT count(*) FROM yquota.hold;
INSERT INTO yquota.hold (project) VALUES ('ops');
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION yquota_test_holding_feed;
SELECT yquota.release_hold(8);
SELECT yquota.hold('ops', 'app_6', 1, '1 hour');
RESET SESSION AUTHORIZATION;
SELECT hold_id, project, held_by, released_by, state FROM yquota.hold_status WHERE application_id = 'app_6';
-- a role with the privilege to insert rows cannot insert a hold
GRANT INSERT ON yquota.hold TO yquota_test_holder;
SET SESSION AUTHORIZATION yquota_test_holder;
INSERT INTO yquota.hold (project, application_id, amount, held_by, held_at, expires_at) VALUES ('ops', 'app', 1, 'me', now(), 'infinity');
RESET SESSION AUTHORIZATION;

--
-- A repeated external_id returns the first hold, whatever has happened to that hold
--
INSERT INTO yquota.project (name, quota_mode) VALUES ('twice', 'PREPAID'), ('twin', 'PREPAID');
INSERT INTO yquota.project (name, quota_mode, parent) VALUES ('small', 'PREPAID', 'twin');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('twice', 100, 'budget'), ('twin', 50, 'budget');
CREATE VIEW kept AS
	SELECT project, amount, state, spent, outstanding, external_id, reason, expires_at - held_at AS ttl FROM yquota.hold_status
	WHERE external_id IS NOT NULL ORDER BY hold_id;
SELECT yquota.hold('twice', 'app_1', 60, '1 hour', 'first', external_id => 'x') AS first \gset
SELECT yquota.hold('twice', 'app_1', 60.0, '2 hours', 'second', 'x') = :first AS same;
SELECT * FROM kept;
-- another project may use the same external_id
SELECT yquota.hold('small', 'app_1', 50, '1 hour', external_id => 'x') > :first AS held;
-- an external_id cannot be reused with another amount or for another application
SELECT yquota.hold('twice', 'app_1', 61, '1 hour', external_id => 'x');
SELECT yquota.hold('twice', 'app_2', 60, '1 hour', external_id => 'x');
SELECT yquota.hold('twice', 'app_2', 60, '1 hour', external_id => 'x', replace => true);
-- replace => true changes the amount, as far as credit allows
SELECT yquota.hold('twice', 'app_1', 100, '1 hour', external_id => 'x', replace => true) = :first AS same;
SELECT yquota.hold('twice', 'app_1', 100.000001, '1 hour', external_id => 'x', replace => true);
SELECT yquota.hold('small', 'app_1', 51, '1 hour', external_id => 'x', replace => true);
SELECT held, remaining FROM yquota.project_balance WHERE project = 'twice';
SELECT yquota.set_clock('2026-03-02 10:30+00');
SELECT yquota.hold('twice', 'app_1', 30, '1 hour', external_id => 'x', replace => true) = :first AS same;
SELECT yquota.hold('twice', 'app_1', 30, '1 hour', external_id => 'x', replace => true) = :first AS same;
-- balances of the past still show the former amount
SELECT yquota.set_clock('2026-03-02 10:31+00');
SELECT at::time, held, remaining FROM unnest('{2026-03-02 10:29+00,2026-03-02 10:30+00}'::timestamptz[]) AS at,
	yquota.balance_at('twice', at) ORDER BY at;
SELECT amount, replaced_amounts, replaced_at FROM yquota.hold WHERE hold_id = :first;
-- An amount up to the spent amount holds nothing more. Beyond the spent amount, the project needs
-- credit for each further amount.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'x1', '2026-03-02 10:30:20+00', 'twice', 'app_1', '[vcores=1]'),
	('CONTAINER_START', 'x2', '2026-03-02 10:30:30+00', 'twice', 'app_2', '[vcores=1]');
SELECT held, remaining FROM yquota.project_balance WHERE project = 'twice';
SELECT yquota.hold('twice', 'app_1', 71, '1 hour', external_id => 'x', replace => true);
SELECT yquota.hold('twice', 'app_1', 70, '1 hour', external_id => 'x', replace => true) = :first AS same;
SELECT held, remaining FROM yquota.project_balance WHERE project = 'twice';
SELECT yquota.set_clock('2026-03-02 10:31:30+00');
SELECT yquota.hold('twice', 'app_1', 80, '1 hour', external_id => 'x', replace => true);
SELECT yquota.hold('twice', 'app_1', 69, '1 hour', external_id => 'x', replace => true) = :first AS same;
SELECT held, remaining FROM yquota.project_balance WHERE project = 'twice';
-- released, and expired
SELECT yquota.release_hold(:first);
SELECT yquota.hold('twice', 'app_1', 69, '1 hour', external_id => 'x') = :first AS same;
SELECT yquota.hold('twice', 'app_1', 69, '1 hour', external_id => 'x', replace => true) = :first AS same;
SELECT yquota.hold('twice', 'app_1', 68, '1 hour', external_id => 'x', replace => true);
SELECT yquota.hold('ops', 'app_1', 1, '1 min', external_id => 'y', replace => true) AS expired \gset
SELECT yquota.set_clock('2026-03-02 10:33+00');
SELECT yquota.hold('ops', 'app_1', 1, '1 min', external_id => 'y') = :expired AS same;
SELECT yquota.hold('ops', 'app_1', 2, '1 min', external_id => 'y', replace => true);
SELECT * FROM kept;
SELECT yquota.hold('ops', 'app_1', 1, '1 min', external_id => '');
SELECT yquota.hold('ops', 'app_1', 1, '1 min', external_id => repeat('x', 256));

--
-- A few holds look up the containers of their applications, and many read all containers.  The costs are the same
--
BEGIN;
INSERT INTO yquota.project (name) VALUES ('wide');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('wide', 1e9, 'budget');
INSERT INTO yquota.container_event (event, container_id, project, application_id, allocation)
	SELECT 'CONTAINER_START', 'wide_' || n, 'wide', 'wide_' || n % 200, '[vcores=1]' FROM generate_series(1, 8000) AS n;
INSERT INTO yquota.hold (project, application_id, amount, held_by, held_at, expires_at)
	SELECT 'wide', 'wide_' || n, 1000000, 'ada', yquota.statement_clock() + n * interval '1 s', 'infinity' FROM generate_series(0, 199) AS n;
SELECT yquota.set_clock('2026-03-02 10:50+00');
SELECT scan.size < 200 * 524288 AS many_read_all, scan.size >= 524288 AS one_looks_up
	FROM pg_relation_size('yquota.container') AS scan (size);
CREATE TEMP TABLE many AS SELECT application_id, spent, outstanding FROM yquota.hold_status WHERE project = 'wide';
SELECT count(*), min(spent), max(spent), sum(spent), sum(outstanding) FROM many;
DELETE FROM yquota.hold WHERE project = 'wide' AND application_id <> 'wide_7';
SELECT application_id, spent, outstanding FROM yquota.hold_status WHERE project = 'wide'
EXCEPT
SELECT * FROM many;
ROLLBACK;

--
-- Holds that ended long ago are deleted
--
SELECT yquota_internal.remove_ended_holds('2026-04-01 10:10+00');
SELECT yquota_internal.remove_ended_holds('2026-04-01 10:10:00.000001+00');
SELECT hold_id, state FROM status;
SELECT * FROM yquota.verify();

SELECT yquota.disallow_role('yquota_test_holder', 'member', 'ops'), yquota.disallow_role('yquota_test_holding_feed', 'operator');
\c postgres
DROP DATABASE yquota_hold;
DROP ROLE yquota_test_holder, yquota_test_holding_feed;
