-- Quotes of reservations, the credit that is held for them, and refusals for lack of credit.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation_hold WITH (FORCE);
CREATE DATABASE yquota_reservation_hold;
\c yquota_reservation_hold
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, parent, on_exhausted) VALUES
	('lab', NULL, 'refuse_submission'), ('laser', 'lab', 'allow'), ('web', NULL, 'allow'), ('poor', NULL, 'drain');
INSERT INTO yquota.project (name, quota_mode) VALUES ('ops', 'NOLIMIT');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy, position) VALUES
	('root', NULL, NULL, NULL, 1), ('root.plan', '100', true, 'NoOverCommitPolicy', 2);
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=102400,vcores=100]' FROM generate_series(1, 10) AS i;
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES ('2026-03-02 10:00+00', 0.5);
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 10000, 'budget');
CREATE FUNCTION pg_temp.at(hour time) RETURNS timestamptz LANGUAGE sql RETURN '2026-03-02 00:00+00'::timestamptz + hour;
CREATE FUNCTION pg_temp.contract(arrival time, deadline time, containers integer) RETURNS yquota.reservation_contract LANGUAGE sql
	RETURN yquota.reservation_contract(pg_temp.at(arrival), pg_temp.at(deadline),
		ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', containers, deadline - arrival, containers)], 'ALL');
CREATE VIEW balance AS SELECT project, charged, accrued, held, remaining, available FROM yquota.project_balance WHERE charged <> 0 OR accrued <> 0 OR held <> 0 OR project = 'lab' ORDER BY project;
CREATE VIEW hold AS SELECT hold_id, project, reservation_id, application_id, amount, state, spent, outstanding, to_char(held_at, 'HH24:MI') AS held_at, to_char(released_at, 'HH24:MI') AS released_at FROM yquota.hold_status ORDER BY hold_id;

-- 10 containers for 10 minutes cost 10 per second * 0.5 * 600 = 3000. With a price that will rise
-- by half at 12:05 they cost 1500 + 2250.
SELECT * FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'lab') \gx
SELECT yquota.set_multiplier('GENERAL', 1.5, pg_temp.at('12:05'));
SELECT cost, affordable FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'plan', 'ann', '{}', NULL);
SELECT accepted, quoted_cost FROM yquota.submit_reservation('reservation_1_1', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('12:00', '12:10', 10), dry_run => true);
SELECT accepted, decided_by, cost FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10000), 'root.plan', 'ann', '{}', 'lab');
SELECT * FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'nobody');
SELECT * FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.nowhere', 'ann', '{}', 'lab');
SELECT * FROM yquota.price_quote(NULL::yquota.reservation_contract, 'root.plan', 'ann', '{}', 'lab');
-- At multiplier 3 they cost 3 * 3000, because 3 also replaces the multiplier of 12:05. Four such reservations at
-- multiplier 2.5 cost 4 * 2.5 * 0.5 * 600. The credit of 10000 does not cover multiplier 4. The calendar stays: 3 *
-- (1500 + 0.5 * 1500).
SELECT asked.n, asked.multiplier, quote.accepted, quote.decided_by, quote.cost, quote.affordable
FROM (VALUES (1, 10, 3), (2, 4, 2.5), (3, 10, 0), (4, 10, NULL), (5, 10, 4)) AS asked (n, containers, multiplier)
CROSS JOIN LATERAL yquota.price_quote(pg_temp.contract('12:00', '12:10', asked.containers), 'root.plan', 'ann', '{}', 'lab', asked.multiplier) AS quote ORDER BY asked.n;
SELECT reason FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'lab', multiplier => 4);
BEGIN;
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('noon', 'GENERAL', 'UTC', '12:05', '13:00', 0.5);
SELECT cost FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'lab', multiplier => 3);
ROLLBACK;
-- a group other than GENERAL keeps its larger multiplier: a GiB costs 3 there, and a vcore 2
BEGIN;
INSERT INTO yquota.price_group (name) VALUES ('MEMORY');
UPDATE yquota.resource_type SET price_group = 'MEMORY' WHERE name = 'memory-mb';
SELECT yquota.set_multiplier('MEMORY', 3, pg_temp.at('10:00'));
SELECT cost, 10 * 3 * 0.5 * 600 AS expected FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'lab', multiplier => 2);
ROLLBACK;
-- a multiplier is checked and rounded as by set_multiplier()
SELECT * FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'lab', multiplier => -1);
SELECT * FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'lab', multiplier => 'NaN');
SELECT cost FROM yquota.price_quote(pg_temp.contract('12:00', '12:10', 10), 'root.plan', 'ann', '{}', 'lab', multiplier => 1.0000000000000000005);
SELECT count(*) FROM yquota.reservation_definition;

-- An accepted reservation holds its cost, and a repeated submission gets the same answer.
SELECT accepted, quoted_cost FROM yquota.submit_reservation('reservation_1_1', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('12:00', '12:10', 10));
SELECT accepted, quoted_cost FROM yquota.submit_reservation('reservation_1_1', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('12:00', '12:10', 10));
TABLE hold;
TABLE balance;
SELECT yquota.release_hold(1);

-- 6250 are left, and a reservation of 3000 * 1.5 * 1.4 = 6300 is refused by the last rule. The
-- sub-project may overdraw its own budget, but not its parent's.
SELECT accepted, decided_by, reason, "from", quoted_cost FROM yquota.submit_reservation('reservation_1_2', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('13:00', '13:10', 14));
SELECT accepted, decided_by, reason FROM yquota.submit_reservation('reservation_1_2', 'root.plan', 'ann', '{}', 'laser', pg_temp.contract('13:00', '13:10', 14));
-- a dry run offers a smaller reservation that the credit covers
SELECT accepted, decided_by, with_later_deadline, (with_fewer_containers).requests[1].num_containers
FROM unnest('{14,2000}'::integer[]) AS n, yquota.submit_reservation('reservation_1_2', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('13:00', '13:10', n), dry_run => true) ORDER BY n;
SELECT accepted, decided_by, affordable FROM yquota.price_quote(pg_temp.contract('13:00', '13:10', 14), 'root.plan', 'ann', '{}', 'lab');
-- projects that may overdraw, and NOLIMIT projects, also hold the cost
SELECT accepted, quoted_cost FROM yquota.submit_reservation('reservation_1_3', 'root.plan', 'ann', '{}', 'web', pg_temp.contract('13:00', '13:10', 14));
SELECT accepted, quoted_cost FROM yquota.submit_reservation('reservation_1_4', 'root.plan', 'ann', '{}', 'ops', pg_temp.contract('13:00', '13:10', 2));
SELECT accepted, decided_by, reason FROM yquota.submit_reservation('reservation_1_5', 'root.plan', 'ann', '{}', 'poor', pg_temp.contract('13:00', '13:10', 1));
TABLE balance;
SELECT * FROM yquota.verify();

-- The costs of the reservation and of the containers in its queue use up its hold. At 12:04 the
-- reservation has cost 1200, and a container 4 * 60 * 2 = 480.
SELECT yquota.set_clock(pg_temp.at('12:04'));
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'c1', pg_temp.at('12:00'), 'lab', 'app_1', 'ann', 'root.plan.reservation_1_0001', '[vcores=2]'),
	('CONTAINER_START', 'c2', pg_temp.at('12:00'), 'lab', 'app_2', 'ann', 'root.plan', '[vcores=1]'),
	('CONTAINER_START', 'c3', pg_temp.at('12:00'), 'web', 'app_3', 'ann', 'root.plan.reservation_1_0001', '[vcores=1]');
TABLE hold;
TABLE balance;
SELECT yquota.set_clock(pg_temp.at('12:12'));
INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, pg_temp.at('12:08') FROM yquota.container;
-- the costs of 3750 and 2 * (300 + 180 * 1.5) = 1140 exceed the hold
SELECT yquota.quota_compute() IS NOT NULL AS computed;
TABLE hold;
TABLE balance;
-- balance_at() returns the balance shown at 12:04
SELECT held, spent, remaining FROM yquota.balance_at('lab', pg_temp.at('12:04'));
SELECT * FROM yquota.verify();

-- An update holds the remaining cost again, and may use the old hold: 10000 - 5460 = 4540 are left,
-- of which 4500 were held.
SELECT accepted, quoted_cost FROM yquota.submit_reservation('reservation_1_6', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('14:00', '14:10', 10));
TABLE balance;
SELECT accepted, decided_by, reason FROM yquota.update_reservation('reservation_1_6', 'ann', '{}', pg_temp.contract('14:00', '14:10', 11));
SELECT accepted, quoted_cost FROM yquota.update_reservation('reservation_1_6', 'ann', '{}', pg_temp.contract('14:00', '14:10', 8));
SELECT * FROM hold WHERE reservation_id = 'reservation_1_0006';
SELECT deleted FROM yquota.delete_reservation('reservation_1_6', 'ann', '{}');
SELECT * FROM hold WHERE reservation_id = 'reservation_1_0006';
TABLE balance;

-- A reservation stays when credit ends later.
SELECT accepted FROM yquota.submit_reservation('reservation_1_7', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('14:00', '14:10', 2));
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('lab', -9000, 'taken back', 'correction');
SELECT yquota.set_clock(pg_temp.at('14:05'));
SELECT reservation_id FROM yquota.reservation_definition WHERE project = 'lab' AND ended_at IS NULL ORDER BY 1;
SELECT accrued, available FROM yquota.project_balance WHERE project = 'lab';
-- no new reservation is accepted, not even one that costs nothing
INSERT INTO yquota.charging_rule (effective_at) VALUES (pg_temp.at('14:05:00.000001'));
SELECT yquota.set_clock(pg_temp.at('14:06'));
SELECT accepted, decided_by, quoted_cost FROM yquota.submit_reservation('reservation_1_8', 'root.plan', 'ann', '{}', 'lab', pg_temp.contract('15:00', '15:10', 1));
SELECT accepted, decided_by, quoted_cost FROM yquota.submit_reservation('reservation_1_8', 'root.plan', 'ann', '{}', 'web', pg_temp.contract('15:00', '15:10', 1));
SELECT count(*) FROM yquota.hold WHERE reservation_id = 'reservation_1_0008';
SELECT * FROM yquota.verify();

-- A removed reservation holds nothing.
SELECT yquota.set_clock('2026-03-04 10:00+00');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT count(*) FROM yquota.hold WHERE released_at IS NULL;
SELECT yquota.remove_ended_reservations('2026-03-04 10:00+00');
SELECT count(*) FROM yquota.hold WHERE released_at IS NULL;
SELECT * FROM yquota.verify();
BEGIN;
UPDATE yquota.hold SET released_by = NULL, released_at = NULL WHERE reservation_id = 'reservation_1_0001';
SELECT problem, subject FROM yquota.verify();
ROLLBACK;
SELECT yquota.set_clock('2026-03-02 14:06+00');

-- A quote does not depend on whether an id is taken.
BEGIN;
SELECT accepted FROM yquota.submit_reservation('reservation_0_9223372036854775807', 'root.plan', 'bob', '{}', 'web', pg_temp.contract('16:00', '16:10', 1));
SELECT accepted, cost FROM yquota.price_quote(pg_temp.contract('16:00', '16:10', 1), 'root.plan', 'ann', '{}', 'web');
ROLLBACK;

-- A quote uses calendars even for times for which they have no points yet. The reservation pays half of the price. A
-- calendar lowers the price to a third in the first ten minutes of the reservation.
BEGIN;
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES (yquota.clock(), 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('noon', 'GENERAL', 'Europe/Madrid', '12:00', '13:00', 0.333333);
SELECT accepted, cost, 1.5 * 0.5 * 600 * 1.333333 AS expected
FROM yquota.price_quote(yquota.reservation_contract('2026-05-02 10:50+00', '2026-05-02 11:10+00', ARRAY[yquota.reservation_request('[vcores=1]', 1, '20 min')]), 'root.plan', 'ann', '{}', 'web');
SET LOCAL datestyle = 'SQL, DMY';
SET LOCAL timezone = 'Asia/Kolkata';
SELECT accepted, quoted_cost FROM yquota.submit_reservation('reservation_1_0900', 'root.plan', 'ann', '{}', 'web',
	yquota.reservation_contract('2026-05-02 10:50+00', '2026-05-02 11:10+00', ARRAY[yquota.reservation_request('[vcores=1]', 1, '20 min')]));
ROLLBACK;

-- Members may ask for quotes of their own projects.
CREATE ROLE yquota_test_quoting;
SELECT yquota.allow_role('yquota_test_quoting', 'member', 'web');
SET SESSION AUTHORIZATION yquota_test_quoting;
SELECT accepted, cost, paying_project FROM yquota.price_quote(yquota.reservation_contract('2026-03-02 16:00+00', '2026-03-02 16:10+00', ARRAY[yquota.reservation_request('[vcores=1]', 1, '10 min')]), 'root.plan', 'yquota_test_quoting', '{}', 'web');
SELECT * FROM yquota.price_quote(yquota.reservation_contract('2026-03-02 16:00+00', '2026-03-02 16:10+00', ARRAY[yquota.reservation_request('[vcores=1]', 1, '10 min')]), 'root.plan', 'yquota_test_quoting', '{}', 'lab');
SELECT * FROM yquota.price_quote(yquota.reservation_contract('2026-03-02 16:00+00', '2026-03-02 16:10+00', ARRAY[yquota.reservation_request('[vcores=1]', 1, '10 min')]), 'root.plan', 'ann', '{}', 'web');
SELECT reservation_id, project FROM yquota.hold_status;
RESET SESSION AUTHORIZATION;

-- A hold records the role whose call was accepted, and the role that ended the reservation.
CREATE ROLE yquota_test_reserving;
SELECT yquota.allow_role('yquota_test_reserving', 'operator');
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES ('2026-03-02 14:06+00', 0.5);
SELECT yquota.set_clock('2026-03-02 14:07+00');
SET ROLE yquota_test_reserving;
SELECT accepted, quoted_cost FROM generate_series(1, 3) AS n,
	yquota.submit_reservation('reservation_1_' || 10 + n, 'root.plan', 'ann', '{}', 'web',
		yquota.reservation_contract('2026-03-02 16:00+00', '2026-03-02 16:10+00', ARRAY[yquota.reservation_request('[vcores=1]', 1, '10 min')])) ORDER BY n;
SELECT deleted FROM yquota.delete_reservation('reservation_1_11', 'ann', '{}');
SELECT accepted FROM yquota.update_reservation('reservation_1_12', 'ann', '{}',
	yquota.reservation_contract('2026-03-02 16:00+00', '2026-03-02 16:20+00', ARRAY[yquota.reservation_request('[vcores=1]', 1, '20 min')]));
RESET ROLE;
SELECT reservation_id, state, held_by, released_by FROM yquota.hold_status WHERE reservation_id >= 'reservation_1_0011' ORDER BY hold_id;
SELECT yquota.set_clock('2026-03-04 10:00+00');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SET ROLE yquota_test_reserving;
SELECT yquota.remove_ended_reservations('2026-03-04 10:00+00') > 0 AS removed;
RESET ROLE;
SELECT reservation_id, state, held_by, released_by FROM yquota.hold_status WHERE reservation_id >= 'reservation_1_0011' ORDER BY hold_id;
-- a role that calls hold() through a function of the owner
CREATE FUNCTION hold_as_the_owner_does() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$SELECT yquota.hold('ops', 'app_9', 1, '1 hour')$$;
CREATE FUNCTION release_as_the_owner_does(id bigint) RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$SELECT yquota.release_hold(id)$$;
SET ROLE yquota_test_reserving;
SELECT release_as_the_owner_does(hold_as_the_owner_does());
RESET ROLE;
SELECT state, held_by, released_by FROM yquota.hold_status WHERE application_id = 'app_9';

\c postgres
DROP DATABASE yquota_reservation_hold;
DROP ROLE yquota_test_quoting, yquota_test_reserving;
