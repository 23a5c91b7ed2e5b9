-- Costs of reservations: exact amounts, ends, corrections, periods, reports, roles and verify().

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation_charge WITH (FORCE);
CREATE DATABASE yquota_reservation_charge;
\c yquota_reservation_charge
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, parent) VALUES ('lab', NULL), ('laser', 'lab'), ('web', NULL);
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy, position) VALUES
	('root', NULL, NULL, NULL, 1), ('root.plan', '80', true, 'NoOverCommitPolicy', 2), ('root.other', '20', NULL, NULL, 3);
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=102400,vcores=100]' FROM generate_series(1, 10) AS i;
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
CREATE FUNCTION pg_temp.at(hour time) RETURNS timestamptz LANGUAGE sql RETURN '2026-03-02 00:00+00'::timestamptz + hour;
-- Return the contract of containers of one size that run together from one time to another.
CREATE FUNCTION pg_temp.contract(arrival time, deadline time, containers integer, size yquota.resource, recurrence interval DEFAULT NULL)
	RETURNS yquota.reservation_contract LANGUAGE sql
	RETURN yquota.reservation_contract(pg_temp.at(arrival), pg_temp.at(deadline),
		ARRAY[yquota.reservation_request(size, containers, deadline - arrival, containers)], 'ALL', recurrence);
CREATE FUNCTION pg_temp.reserve(number integer, project text, contract yquota.reservation_contract) RETURNS text LANGUAGE sql
	RETURN (SELECT format('%s %s', accepted, decided_by) FROM yquota.submit_reservation(format('reservation_1_%s', number), 'root.plan', 'ann', '{}', project, contract));
CREATE VIEW ledger AS SELECT right(reservation_id, 1) AS r, number AS n, version AS v, project, username, to_char("from", 'HH24:MI:SS') AS "from", to_char("to", 'HH24:MI:SS') AS "to",
	amount, to_char(booked_at, 'HH24:MI:SS.US') AS booked_at, corrects FROM yquota.reservation_charge;
CREATE VIEW balance AS SELECT project, charged, accrued, burn_rate FROM yquota.project_balance WHERE charged <> 0 OR accrued <> 0 OR burn_rate <> 0 ORDER BY project;

-- Without a reserved_factor a reservation costs nothing. A reservation that was accepted before the first
-- reserved_factor costs nothing either.
SELECT pg_temp.reserve(1, 'lab', pg_temp.contract('12:00', '12:10', 10, '[memory-mb=1024,vcores=1]'));
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (pg_temp.at('11:00'), 0.5);
-- a rule cannot apply to reservations that are already accepted
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (pg_temp.at('09:00'), 0.5);
\set VERBOSITY terse
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (pg_temp.at('11:30'), 1.1);
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (pg_temp.at('11:30'), 0.0000001);
\set VERBOSITY default
SELECT yquota.set_clock(pg_temp.at('11:00'));
-- 10 containers of 1 vcore and 1 GiB cost 10 credits per second, and half of that is 5.
SELECT pg_temp.reserve(2, 'laser', pg_temp.contract('12:00', '12:10', 10, '[memory-mb=1024,vcores=1]'));
SELECT reservation_id, reserved_factor, repeats_allocation FROM yquota.reservation_definition ORDER BY 1;
TABLE yquota_internal.accruing_reservation;
TABLE balance;

-- The cost accrues: 300 s * 5, and 7.5 per second from 12:05.
SELECT yquota.set_multiplier('GENERAL', 1.5, pg_temp.at('12:05'));
SELECT yquota.set_clock(pg_temp.at('12:05'));
TABLE balance;
-- 1.5 seconds and a microsecond: 7.5 * 1.500001
SELECT yquota.set_clock(pg_temp.at('12:05:01.500001'));
TABLE balance;
SELECT * FROM yquota.cost_between(pg_temp.at('12:04:59'), 'infinity', '{project,username,queue,application_id,execution_type,node,container_id}');
SELECT * FROM yquota.balance_at('lab', pg_temp.at('12:05:01'));
-- an ended reservation still owes its cost until it is posted: 300 * 5 + 300 * 7.5 = 3750
SELECT yquota.set_clock(pg_temp.at('12:20'));
TABLE balance;
SELECT * FROM yquota.verify();
SELECT yquota_internal.book_reservations(), yquota_internal.book_reservations();
TABLE balance;
TABLE ledger;
TABLE yquota_internal.accruing_reservation;
SELECT * FROM yquota.verify();

-- A discount for containers in the queues below the plan is a factor of the plan's queue. The
-- reservation also pays that factor.
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.plan', pg_temp.at('13:00'), 0.8), ('queue', 'root.plan', pg_temp.at('14:00'), 1);
SELECT yquota.set_clock(pg_temp.at('13:10'));
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation)
SELECT 'CONTAINER_START', queue, pg_temp.at('13:00'), 'web', queue, '[memory-mb=1024,vcores=1]'
FROM unnest('{root.plan.reservation_1_0002,root.plan.plan-default,root.plan,root.planet,root.other}'::text[]) AS queue;
-- 600 s * 1.5 = 900 without the discount, and 720 with it
SELECT container_id, cost FROM yquota.container_cost ORDER BY container_id;
INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, pg_temp.at('13:10') FROM yquota.container;

-- An update applies from its own time, and keeps the first rule: 8 GiB cost 8 * 1.5 * 0.8 * 0.5 = 4.8 per
-- second.
SELECT pg_temp.reserve(3, 'laser', pg_temp.contract('13:15', '13:55', 2, '[memory-mb=4096,vcores=1]'));
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (pg_temp.at('13:10:00.000001'), 0.25);
SELECT yquota.set_clock(pg_temp.at('13:11'));
SELECT pg_temp.reserve(4, 'web', pg_temp.contract('13:15', '13:55', 2, '[memory-mb=4096,vcores=1]'));
SELECT yquota.set_clock(pg_temp.at('13:20'));
SELECT accepted, "from", "to" FROM yquota.update_reservation('reservation_1_3', 'ann', '{}', pg_temp.contract('13:30', '13:50', 4, '[memory-mb=4096,vcores=1]'));
-- 300 s * 4.8 = 1440, and the other reservation costs 2.4 per second
TABLE ledger;
TABLE balance;
SELECT reservation_id, version, reserved_factor FROM yquota.reservation_definition WHERE reservation_id >= 'reservation_1_0003' ORDER BY 1, 2;
-- The reservation is deleted after 5 of 20 minutes: 300 s * 9.6 = 2880.
SELECT yquota.set_clock(pg_temp.at('13:35'));
SELECT deleted, ended_at FROM yquota.delete_reservation('reservation_1_3', 'ann', '{}');
SELECT * FROM ledger WHERE r = '3';
SELECT yquota.set_clock(pg_temp.at('13:36'));
TABLE balance;
SELECT * FROM yquota.verify();

-- A period ends while a reservation continues, and later postings are on the next bill. The
-- reservation has cost 25 * 60 * 2.4 = 3600 so far. The bill of laser is 3750 + 1440 + 2880 = 8070.
-- The bill of web is 3600 + 3 * 720 + 2 * 900 = 7560.
SELECT yquota.set_clock(pg_temp.at('13:50'));
SELECT closed_at FROM yquota_internal.close_period_at(pg_temp.at('13:40'), 100);
SELECT amount FROM yquota.closed_period;
SELECT * FROM ledger WHERE r = '4';
TABLE yquota_internal.accruing_reservation;
SELECT project, amount FROM yquota.cost_between('-infinity', pg_temp.at('13:40'), as_booked => (SELECT closed_at FROM yquota.closed_period)) ORDER BY 1;
-- A late outage forgives 2 minutes of the closed period, 60 s at 2.4 and 60 s at 9.6. The correction is
-- booked in the next period.
SELECT * FROM yquota.forgive(pg_temp.at('13:34'), pg_temp.at('13:36'), 'late');
SELECT * FROM ledger WHERE n > 1 ORDER BY r, n;
SELECT project, amount FROM yquota.cost_between('-infinity', pg_temp.at('13:40'), as_booked => (SELECT closed_at FROM yquota.closed_period)) ORDER BY 1;
SELECT project, amount FROM yquota.cost_between('-infinity', pg_temp.at('13:40')) ORDER BY 1;
SELECT * FROM yquota.verify();
-- an outage of a single project adds and removes the factor of that project
SELECT * FROM yquota.forgive(pg_temp.at('13:41'), pg_temp.at('13:42'), 'for web', 'web');
SELECT yquota.set_clock(pg_temp.at('14:05'));
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT * FROM ledger WHERE r = '4';
TABLE balance;

-- explain_reservation() adds up to the cost, to the last digit.
SELECT "from", "to", version, username, allocation, dominant, held, multiplier, price, reserved_factor, factors, rate, amount, forgiven, settled
FROM yquota.explain_reservation('reservation_1_0002');
SELECT "from", "to", version, dominant, reserved_factor, factors, factors_in_force, factor, rate, amount, forgiven FROM yquota.explain_reservation('reservation_1_0003');
SELECT c.reservation_id, sum(c.amount) AS ledger, (SELECT sum(e.amount) FROM yquota.explain_reservation(c.reservation_id) AS e) AS bill
FROM yquota.reservation_charge AS c GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM yquota.explain_reservation('reservation_1_0001');
SELECT count(*) FROM yquota.explain_reservation(NULL);

-- Reports are the same before and after a roll-up.
CREATE TABLE reported AS SELECT * FROM yquota.cost_by_day('2026-03-02', '2026-03-02', '{project,username,queue}');
CREATE TABLE quarters AS SELECT n, c.* FROM generate_series(0, 16) AS n, LATERAL yquota.cost_between(pg_temp.at('11:00') + n * interval '15 min', pg_temp.at('11:15') + n * interval '15 min', '{project,queue}') AS c;
SELECT project, username, queue, amount FROM reported ORDER BY 1, 2, 3;
-- all days are rolled up
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT count(*) FROM (TABLE reported EXCEPT SELECT * FROM yquota.cost_by_day('2026-03-02', '2026-03-02', '{project,username,queue}')) AS d;
SELECT sum(q.amount) = (SELECT sum(amount) FROM reported) AS adds_up FROM quarters AS q;
SELECT project, queue, sum(amount) AS amount FROM yquota.daily_cost WHERE day = '2026-03-02' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT rank, project, amount FROM yquota.top_costs(pg_temp.at('00:00'), pg_temp.at('15:00'));
SELECT * FROM yquota.balance_at('lab', pg_temp.at('13:32'));
SELECT * FROM yquota.rerate(pg_temp.at('12:00'), pg_temp.at('14:00'), '{"base_prices": {"memory-mb": {"base_price": 2, "unit": 1024}}}');
SELECT * FROM yquota.verify();

-- A periodic reservation pays for its first instance. A setting makes it pay for each instance.
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (pg_temp.at('14:05:00.000001'), 1);
SELECT yquota.set_clock(pg_temp.at('14:06'));
SELECT pg_temp.reserve(5, 'web', pg_temp.contract('14:10', '14:15', 1, '[memory-mb=1024,vcores=1]', '30 min'));
UPDATE yquota.scheduler_setting SET reservation_repeats_allocation = true;
SELECT pg_temp.reserve(6, 'web', pg_temp.contract('14:10', '14:15', 1, '[memory-mb=1024,vcores=2]', '30 min'));
SELECT reservation_id, "from", "to" FROM yquota.reservation_allocation WHERE reservation_id >= 'reservation_1_0005' ORDER BY 1;
-- 300 s * 1.5 = 450, and three instances and 100 s of the fourth: 1000 s * 3
SELECT yquota.set_clock(pg_temp.at('15:41:40'));
SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'web';
SELECT yquota_internal.book_reservations();
SELECT * FROM ledger WHERE r >= '5';
SELECT * FROM yquota_internal.accruing_reservation;
SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'web';
SELECT * FROM yquota.verify();
SELECT yquota.set_clock(pg_temp.at('15:44'));
SELECT deleted FROM yquota.delete_reservation('reservation_1_6', 'ann', '{}');
SELECT * FROM ledger WHERE r >= '6' AND n > 3;
SELECT * FROM yquota_internal.accruing_reservation;
SELECT * FROM yquota.verify();

-- When the clock goes back, more has been posted than is owed.
SELECT pg_temp.reserve(7, 'web', pg_temp.contract('15:45', '15:50', 1, '[memory-mb=1024,vcores=1]'));
SELECT yquota.set_clock(pg_temp.at('15:51'));
SELECT yquota_internal.book_reservations();
SELECT yquota.set_clock(pg_temp.at('15:47'));
SELECT yquota_internal.book_reservations();
SELECT deleted FROM yquota.delete_reservation('reservation_1_7', 'ann', '{}');
SELECT * FROM ledger WHERE r = '7';
SELECT * FROM yquota.verify();

-- Prices of posted charges cannot change, and their resource types cannot be deleted.
SELECT yquota.set_multiplier('GENERAL', 3, pg_temp.at('15:46'));
DELETE FROM yquota.resource_type WHERE name = 'vcores';
INSERT INTO yquota.resource_type (name, price_group) VALUES ('yarn.io/fpga', 'GPU');
DELETE FROM yquota.resource_type WHERE name = 'yarn.io/fpga';
-- Removed versions of a reservation stay in the books, and are still corrected.
SELECT yquota.remove_ended_reservations('infinity');
SELECT reservation_id FROM yquota.reservation_definition;
SELECT * FROM yquota.forgive(pg_temp.at('15:46'), pg_temp.at('15:46:30'), 'forgotten', 'web');
SELECT * FROM ledger WHERE r = '7';
SELECT * FROM yquota.verify();
-- A reservation that still accrues is not removed.
SELECT pg_temp.reserve(8, 'web', pg_temp.contract('16:00', '16:10', 1, '[memory-mb=1024,vcores=1]'));
SELECT yquota.set_clock('2026-03-04 10:00+00');
SELECT yquota.remove_ended_reservations('infinity');
SELECT yquota_internal.book_reservations();
SELECT yquota.remove_ended_reservations('infinity');
SELECT * FROM yquota.verify();

-- An id stays in use as long as it has charges, even after its rows are removed.
SELECT count(*) FROM yquota.reservation_definition WHERE reservation_id = 'reservation_1_0008';
SELECT pg_temp.reserve(8, 'web', yquota.reservation_contract('2026-03-04 11:00+00', '2026-03-04 11:10+00', ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, '10 min', 1)], 'ALL'));

-- verify() finds every error.
BEGIN;
UPDATE yquota.reservation_charge SET amount = amount + 1 WHERE reservation_id = 'reservation_1_0008';
SELECT * FROM yquota.verify();
ROLLBACK;
SELECT pg_temp.reserve(9, 'web', yquota.reservation_contract('2026-03-04 11:00+00', '2026-03-04 11:10+00', ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, '10 min', 1)], 'ALL'));
SELECT yquota.set_clock('2026-03-04 12:00+00');
SELECT yquota_internal.book_reservations();
BEGIN;
DELETE FROM yquota.reservation_charge WHERE reservation_id = 'reservation_1_0009';
SELECT * FROM yquota.verify();
ROLLBACK;
BEGIN;
UPDATE yquota.reservation_charge SET "to" = "to" - interval '1 s' WHERE reservation_id = 'reservation_1_0009';
SELECT problem, subject FROM yquota.verify();
ROLLBACK;
BEGIN;
UPDATE yquota.reservation_definition SET reserved_factor = 0.5 WHERE reservation_id = 'reservation_1_0009';
SELECT problem, subject FROM yquota.verify();
ROLLBACK;
BEGIN;
UPDATE yquota.reservation_charge SET corrects = 1 WHERE reservation_id = 'reservation_1_0009';
SELECT problem, subject FROM yquota.verify();
ROLLBACK;

-- Members see the rows of their projects, and no role can write them.
CREATE ROLE yquota_test_reserving;
SELECT yquota.allow_role('yquota_test_reserving', 'member', 'web');
SET SESSION AUTHORIZATION yquota_test_reserving;
SELECT project, count(*) FROM yquota.reservation_charge GROUP BY 1;
SELECT count(*) FROM yquota.explain_reservation('reservation_1_0004');
SELECT count(*) FROM yquota.explain_reservation('reservation_1_0002');
INSERT INTO yquota.reservation_charge SELECT * FROM yquota.reservation_charge;
SELECT yquota_internal.settle_reservations('{}', '{}');
RESET SESSION AUTHORIZATION;
\c postgres
DROP DATABASE yquota_reservation_charge;
DROP ROLE yquota_test_reserving;
