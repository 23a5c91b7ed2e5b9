--
-- Recurring prices (docs/semantics/charging.md 1.3): windows by the wall clock, and the price
-- points that follow from them. Further tests are about changed calendars, points that are made
-- late, bills, and rerate().
--
CREATE DATABASE yquota_price_calendar;
\c yquota_price_calendar
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

CREATE VIEW points AS
	SELECT price_group AS of, effective_at, factor, calendar FROM yquota.calendar_factor WHERE effective_at > '-infinity';
CREATE VIEW prices AS
	SELECT resource_type, price, calendar, calendar_factor AS factor, next_calendar AS next, next_calendar_factor AS next_factor, next_calendar_effective_at AS next_at
	FROM yquota.current_price ORDER BY 1;

-- without a calendar there are no points, and the factor is 1
SELECT yquota.set_clock('2026-03-27 12:00');
INSERT INTO yquota.project (name) VALUES ('p');
SELECT count(*) FROM yquota.calendar_factor;
SELECT * FROM prices;
SELECT published, reason FROM yquota.compute_prices() LIMIT 1;

--
-- The window is a night in Madrid. Clocks go forward on 29 March, so that night has seven hours.
--
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'Europe/Madrid', '22:00', '06:00', 0.5);
SELECT * FROM yquota.price_calendar;
SELECT * FROM yquota.calendar_factor ORDER BY 1, 2 LIMIT 9;
SELECT max(effective_at) FROM points;
SELECT effective_at AT TIME ZONE 'Europe/Madrid' AS wall, factor FROM points WHERE effective_at BETWEEN '2026-03-28' AND '2026-03-30' ORDER BY 1;
SELECT * FROM prices;
SELECT resource_type, effective_at, price, calendar_factor, calendar FROM yquota.price_history WHERE resource_type = 'memory-mb' ORDER BY 2 LIMIT 4;
SELECT version, effective_from, description FROM yquota.pricing_change ORDER BY 1;
-- the session's time zone does not matter
BEGIN;
SET LOCAL timezone = 'Pacific/Chatham';
CREATE TEMPORARY TABLE before AS SELECT * FROM yquota.calendar_factor;
UPDATE yquota.price_calendar SET factor = 0.5;
(SELECT * FROM yquota.calendar_factor EXCEPT SELECT * FROM before) UNION ALL (SELECT * FROM before EXCEPT SELECT * FROM yquota.calendar_factor);
ROLLBACK;
-- In autumn the night has nine hours. A time that occurs twice means its second occurrence. A skipped time is
-- read with the offset from before the change.
SELECT opens_at, closes_at - opens_at AS lasts
FROM yquota_internal.calendar_windows(ARRAY(SELECT c FROM yquota.price_calendar AS c), '2026-10-24 12:00', '2026-10-26 12:00') ORDER BY 1;
SELECT opens_at, closes_at
FROM yquota_internal.calendar_windows(ARRAY[('x', 'GENERAL', 'Europe/Madrid', '{7}', '02:30', '04:00', 2, '-infinity', 'infinity')]::yquota.price_calendar[], '2026-10-25', '2026-10-26')
UNION ALL
SELECT opens_at, closes_at
FROM yquota_internal.calendar_windows(ARRAY[('x', 'GENERAL', 'Europe/Madrid', '{7}', '02:30', '04:00', 2, '-infinity', 'infinity')]::yquota.price_calendar[], '2026-03-29', '2026-03-30');
-- a window that lies in the skipped hour does not exist
SELECT count(*)
FROM yquota_internal.calendar_windows(ARRAY[('x', 'GENERAL', 'Europe/Madrid', '{7}', '02:30', '03:15', 2, '-infinity', 'infinity')]::yquota.price_calendar[], '2026-03-28', '2026-03-31');

--
-- Costs: c1 holds one vcore through the short night, and explain_charge() names the calendar
--
SELECT yquota.set_clock('2026-03-29 06:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-28 20:00', 'p', '[vcores=1]'), ('CONTAINER_START', 'c2', '2026-03-28 20:00', 'p', '[vcores=1,yarn.io/gpu=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2026-03-29 05:00');
SELECT "from", "to", dominant, multiplier, calendar, calendar_factor, price, amount, settled FROM yquota.explain_charge('c1');
-- the GPU has no calendar, so it is the dearest resource at night
SELECT "from", "to", dominant, calendar, calendar_factor, amount, settled FROM yquota.explain_charge('c2');
SELECT project, charged, accrued, burn_rate FROM yquota.project_balance;
SELECT price_per_second, cost, prices FROM yquota.price_quote('[vcores=2]', '1 hour');
SELECT * FROM yquota.verify();

--
-- A changed calendar applies from the clock on, and points that the clock has passed stay
--
SELECT yquota.set_clock('2026-03-29 23:00');
SELECT * FROM prices WHERE resource_type = 'vcores';
UPDATE yquota.price_calendar SET factor = 0.25, "to" = '05:00';
SELECT * FROM points WHERE effective_at BETWEEN '2026-03-29' AND '2026-03-31' ORDER BY 2;
-- a second change at the same instant, with another name
UPDATE yquota.price_calendar SET factor = 0.125, name = 'dark';
SELECT * FROM points WHERE effective_at BETWEEN '2026-03-29' AND '2026-03-31' ORDER BY 2;
-- when a calendar is deleted within its window, the factor is 1 from the clock on
SELECT yquota.set_clock('2026-03-29 23:30');
BEGIN;
DELETE FROM yquota.price_calendar;
SELECT * FROM points WHERE effective_at >= '2026-03-29 12:00' ORDER BY 2;
ROLLBACK;
BEGIN;
TRUNCATE yquota.price_calendar;
SELECT * FROM points WHERE effective_at >= '2026-03-29 12:00' ORDER BY 2;
ROLLBACK;
SELECT * FROM prices WHERE resource_type = 'vcores';

-- overlapping windows: the lowest factor counts, and among equal factors the first name
INSERT INTO yquota.price_calendar (name, price_group, timezone, weekdays, "from", "to", factor, valid_from, valid_until) VALUES
	('dusk', 'GENERAL', 'UTC', '{1}', '20:00', '21:00', 0.1, '-infinity', 'infinity'),
	('also dark', 'GENERAL', 'Europe/Madrid', '{1,2,3,4,5}', '22:00', '23:00', 0.125, '-infinity', 'infinity'),
	('dear', 'GENERAL', 'UTC', '{1,2,3,4,5,6,7}', '00:00', '24:00', 3, '2026-03-31 12:00', '2026-03-31 20:30');
SELECT * FROM points WHERE effective_at BETWEEN '2026-03-30 12:00' AND '2026-04-01' ORDER BY 2;
-- with a factor of zero the resource is free
UPDATE yquota.price_calendar SET factor = 0 WHERE name = 'dark';
SELECT price, calendar FROM prices WHERE resource_type = 'vcores';
DELETE FROM yquota.price_calendar WHERE name <> 'dark';

-- errors
\set VERBOSITY terse
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('x', 'GENERAL', 'Mars/Olympus', '22:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('x', 'TPU', 'UTC', '22:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('dark', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('x', 'GENERAL', 'UTC', '22:00', '06:00', 0.0000001);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('x', 'GENERAL', 'UTC', '22:00', '06:00', 'NaN');
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('x', 'GENERAL', 'UTC', '24:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, weekdays, "from", "to", factor) VALUES ('x', 'GENERAL', 'UTC', '{0}', '22:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, weekdays, "from", "to", factor) VALUES ('x', 'GENERAL', 'UTC', '{}', '22:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, weekdays, "from", "to", factor) VALUES ('x', 'GENERAL', 'UTC', '{1,NULL}', '22:00', '06:00', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor, valid_from, valid_until) VALUES ('x', 'GENERAL', 'UTC', '22:00', '06:00', 0.5, '2026-01-01', '2026-01-01');
TRUNCATE yquota.calendar_factor;
\set VERBOSITY default
-- a calendar is refused when a price that follows from it is too large
BEGIN;
SELECT yquota.set_multiplier('GPU', 1e12);
SELECT yquota.set_base_price('yarn.io/gpu', 1e6);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('x', 'GPU', 'UTC', '22:00', '06:00', 1000000);
ROLLBACK;
-- the price is rounded once, half to even, after 42 decimals
BEGIN;
SELECT yquota.set_multiplier('GPU', 1.000000000000000001);
SELECT yquota.set_base_price('yarn.io/gpu', 0.500000000000000001, 3);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('x', 'GPU', 'UTC', '22:00', '06:00', 0.333333);
SELECT price, price = trim_scale(round(1.000000000000000001 * 0.500000000000000001 * 0.333333 / 3, 18)) AS is_rounded FROM prices WHERE resource_type = 'yarn.io/gpu';
SELECT prices FROM yquota.price_quote('[yarn.io/gpu=1]', '1 s');
SELECT yquota.set_base_price('yarn.io/gpu', 0.000000000000000003, 2);
UPDATE yquota.price_calendar SET factor = 1 WHERE name = 'x';
SELECT yquota.set_multiplier('GPU', 1);
SELECT prices FROM yquota.price_quote('[yarn.io/gpu=1]', '1 s');
UPDATE yquota.price_calendar SET factor = 0.333333 WHERE name = 'x';
SELECT yquota.set_multiplier('GPU', 0.000000000000000001);
SELECT yquota.set_base_price('yarn.io/gpu', 1000000000000, 1);
SELECT prices FROM yquota.price_quote('[yarn.io/gpu=1]', '1 s');
ROLLBACK;

--
-- Points ahead: each computation of prices, and quota_compute(), makes the missing points
--
DELETE FROM yquota.price_calendar;
SELECT yquota.set_clock('2026-04-01 12:00');
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
CREATE VIEW ahead AS SELECT count(*), max(effective_at) FROM points WHERE effective_at >= '2026-04-01 12:00';
SELECT * FROM ahead;
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM ahead;
SELECT yquota.set_clock('2026-04-02 05:59:59.999999');
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM ahead;
SELECT yquota.set_clock('2026-04-02 06:00');
SELECT yquota.quota_compute();
SELECT * FROM ahead;
SELECT yquota.quota_compute();
SELECT * FROM ahead;
-- a transaction with an old snapshot finds no missing points
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM yquota.price;
SELECT yquota.quota_compute();
COMMIT;

-- Nothing made points for 18 days, so the factors of the last known day continued. Charges made
-- with them are corrected.
SELECT yquota.set_clock('2026-04-19 12:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'd1', '2026-04-16 00:00', 'p', '[vcores=1]'), ('CONTAINER_START', 'd2', '2026-04-16 00:00', 'p', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'd1', '2026-04-18 06:00');
SELECT "from", "to", amount FROM yquota.charge WHERE container_id = 'd1' ORDER BY number;
SELECT accrued FROM yquota.container_cost WHERE container_id = 'd2';
SELECT * FROM ahead;
-- the metric is the time until the first missing point
CREATE VIEW metric AS SELECT labels, value * interval '1 s' AS ahead FROM yquota.metrics WHERE metric = 'yquota_price_calendar_ahead_seconds';
SELECT * FROM metric;
SELECT yquota.quota_compute();
SELECT * FROM ahead;
SELECT * FROM metric;
SELECT "from", "to", corrects, amount FROM yquota.charge WHERE container_id = 'd1' ORDER BY number;
SELECT sum(amount) FROM yquota.explain_charge('d1');
SELECT (2 * 16 * 1 + 6 * 0.5 + 2 * 8 * 0.5) * 3600 AS expected;
SELECT accrued FROM yquota.container_cost WHERE container_id = 'd2';
SELECT (3 * 16 * 1 + 6 * 0.5 + 3 * 8 * 0.5 + 6 * 1) * 3600 AS expected;
SELECT * FROM yquota.verify();
-- a change of calendars first makes the missing points of the old calendars
SELECT yquota.set_clock('2026-05-20 12:00');
UPDATE yquota.price_calendar SET factor = 2;
SELECT * FROM points WHERE effective_at BETWEEN '2026-05-18' AND '2026-05-21' ORDER BY 2;
SELECT * FROM yquota.verify();

--
-- Other terms
--
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c2', '2026-05-20 12:00'), ('CONTAINER_FINISH', 'd2', '2026-05-20 12:00');
-- rerate() charges d1 without any calendar, and with a calendar for half the time
CREATE FUNCTION of_day(terms jsonb) RETURNS TABLE (was numeric, would_be numeric) LANGUAGE sql AS
	$$ SELECT r.was, r.would_be FROM yquota.rerate('2026-04-17', '2026-04-18', terms) AS r $$;
SELECT * FROM of_day('{}');
SELECT * FROM of_day('{"calendars": []}');
SELECT * FROM of_day('{"calendars": [{"name": "n", "price_group": "GENERAL", "timezone": "UTC", "from": "12:00", "to": "24:00", "factor": 0.25}]}');
SELECT * FROM of_day('{"base_prices": {"vcores": 2}, "calendars": [{"name": "n", "price_group": "GPU", "timezone": "UTC", "from": "12:00", "to": "24:00", "factor": 0.25}]}');
-- equal terms in another notation are not posted a second time
SELECT difference, posted FROM yquota.rerate('2026-04-17', '2026-04-18', '{"calendars": []}', post => true, reason => 'no nights');
SELECT difference, posted FROM yquota.rerate('2026-04-17', '2026-04-18', '{"calendars": [{"name": "n", "price_group": "GENERAL", "timezone": "UTC", "from": "12:00", "to": "24:00", "factor": 1}]}');
SELECT difference, posted FROM yquota.rerate('2026-04-17', '2026-04-18', '{"calendars": [{"name": "n", "price_group": "GENERAL", "timezone": "UTC", "from": "12:00", "to": "24:00", "factor": 2}]}');
-- a shadow tariff
INSERT INTO yquota.shadow_tariff (name, terms) VALUES ('no nights', '{"calendars": []}');
SELECT * FROM yquota.shadow_costs('2026-04-17', '2026-04-18');
-- errors
SELECT * FROM of_day('{"calendars": {}}');
SELECT * FROM of_day('{"calendars": [1]}');
SELECT * FROM of_day('{"calendars": [{"name": "n", "price_group": "GENERAL", "timezone": "UTC", "from": "12:00", "to": "24:00", "factor": 1, "until": 1}]}');
SELECT * FROM of_day('{"calendars": [{"name": "n", "price_group": "GENERAL", "timezone": "UTC", "from": "12:00", "to": "24:00"}]}');
SELECT * FROM of_day('{"calendars": [{"name": "n", "price_group": "GENERAL", "timezone": "UTC", "from": "25:00", "to": "24:00", "factor": 1}]}');
SELECT * FROM yquota.rerate('-infinity', '2026-04-18', '{"calendars": []}');

-- a calendar that is always open makes one point in 14 days, so the search for missing points stays
-- short
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('flat', 'GPU', 'UTC', '00:00', '24:00', 0.9);
SELECT yquota.set_clock('2026-06-01');
SELECT yquota.quota_compute();
SELECT yquota.set_clock('2026-06-10');
SELECT yquota.quota_compute();
SELECT * FROM points WHERE of = 'GPU';
DELETE FROM yquota.price_calendar WHERE name = 'flat';

--
-- Roles: members read calendars, administrators change them, and no role changes the points
--
CREATE ROLE yquota_test_calendar_member;
CREATE ROLE yquota_test_calendar_admin;
SELECT yquota.allow_role('yquota_test_calendar_member', 'member', 'p'), yquota.allow_role('yquota_test_calendar_admin', 'admin');
SET ROLE yquota_test_calendar_member;
SELECT name, factor FROM yquota.price_calendar;
SELECT calendar, next_calendar FROM yquota.current_price WHERE resource_type = 'vcores';
UPDATE yquota.price_calendar SET factor = 0;
SELECT count(*) FROM yquota.calendar_factor;
SET ROLE yquota_test_calendar_admin;
UPDATE yquota.price_calendar SET factor = 0.75;
SELECT count(*) > 0 AS some FROM yquota.calendar_factor;
DELETE FROM yquota.calendar_factor;
RESET ROLE;
SELECT table_name, operation, acting_role, new ->> 'factor' AS factor FROM yquota.audit WHERE table_name ~ 'calendar' ORDER BY audit_id DESC LIMIT 1;

--
-- Quotes look ahead: they read the stored points, and compute later factors from the calendars
--
DELETE FROM yquota.price_calendar;
SELECT yquota.set_clock('2026-10-01 20:00');
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
SELECT price_per_second, cost, alone, dominant, prices FROM yquota.price_quote('[vcores=1]', '8 h');
SELECT (2 * 1 + 6 * 0.5) * 3600 AS expected;
-- the GPU, which has no calendar, is the dearest at night
SELECT price_per_second, cost, alone FROM yquota.price_quote('[vcores=2,yarn.io/gpu=1]', '8 h');
SELECT (2 * 2 + 6 * 1) * 3600 AS expected, 8 * 3600 AS gpu;
-- 30 days and an hour; one of the nights has nine hours, because the clocks go back on 25 October
UPDATE yquota.price_calendar SET timezone = 'Europe/Madrid';
SELECT max(effective_at) FROM points;
SELECT cost AS quoted FROM yquota.price_quote('[vcores=1]', '30 days 1 h') \gset
SELECT :quoted AS quoted, (30 * 24 + 1 - (30 * 8 + 1) * 0.5) * 3600 AS expected;
-- the quote includes a price that has been set before and takes effect later
BEGIN;
SELECT yquota.set_base_price('vcores', 3, effective_at => '2026-10-01 21:00');
SELECT cost, (1 + 3 * 3) * 0.5 * 3600 AS expected FROM yquota.price_quote('[vcores=1]', '4 h');
ROLLBACK;
-- padding is charged at the price of the end
BEGIN;
SELECT yquota.set_clock('2026-10-01 20:01');
INSERT INTO yquota.charging_rule (minimum_run_time, effective_at) VALUES ('1 min', '2026-10-01 19:59');
SELECT yquota.set_clock('2026-10-02 03:59:30');
SELECT cost, charged_time FROM yquota.price_quote('[vcores=1]', '10 s');
SELECT cost, charged_time FROM yquota.price_quote('[vcores=1]', '30 s');
SELECT cost, charged_time FROM yquota.price_quote('[vcores=1]', '40 s');
ROLLBACK;
-- all is charged as it was quoted
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'q1', '2026-10-01 20:00', 'p', '[vcores=1]');
SELECT yquota.set_clock('2026-10-31 21:00');
SELECT yquota.quota_compute();
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'q1', '2026-10-31 21:00');
SELECT sum(amount) = :quoted AS as_quoted FROM yquota.charge WHERE container_id = 'q1';
-- the chart of prices contains the nights
SELECT DISTINCT p.name, p.amount
FROM unnest(yquota_internal.report_prices(ROW('2026-10-20', '2026-10-22', yquota.clock(), 'UTC', NULL)::yquota_internal.report_window)) AS p
ORDER BY 1, 2;
-- a century of nights
SELECT cost > 36500 * 3600 * 15.9 AND cost < 36500 * 3600 * 20.1 AS is_plausible FROM yquota.price_quote('[vcores=1]', '36500 days');

--
-- The points that are made follow from the calendars
--
SELECT * FROM yquota.verify();
BEGIN;
UPDATE yquota.calendar_factor SET factor = 0.75 WHERE effective_at = '2026-11-02 21:00';
DELETE FROM yquota.calendar_factor WHERE effective_at = '2026-11-05 05:00';
INSERT INTO yquota.calendar_factor (price_group, effective_at, factor) VALUES ('GPU', '2026-11-03 12:00', 2);
SELECT * FROM yquota.verify() ORDER BY subject COLLATE "C";
-- an UPDATE of the calendar makes its points again
SAVEPOINT altered;
UPDATE yquota.price_calendar SET name = name;
SELECT * FROM yquota.verify();
ROLLBACK TO altered;
-- Calls of quota_compute() and compute_prices() also make the points again, for example when rules of time zones have
-- changed. Points that the clock has passed stay.
SELECT yquota.set_clock('2026-11-02 22:00');
SELECT price FROM prices WHERE resource_type = 'vcores';
SELECT yquota.quota_compute();
SELECT price FROM prices WHERE resource_type = 'vcores';
SELECT effective_at, factor, changed FROM yquota.calendar_factor WHERE price_group = 'GENERAL' AND effective_at BETWEEN '2026-11-02 12:00' AND '2026-11-05 12:00' ORDER BY 1;
SELECT * FROM points WHERE of = 'GPU' ORDER BY 2;
SELECT * FROM yquota.verify();
DELETE FROM yquota.calendar_factor WHERE effective_at = '2026-11-05 05:00';
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM yquota.verify();
ROLLBACK;
-- the clock is set back before a change: points between the two follow from the earlier calendars
BEGIN;
SELECT yquota.set_clock('2026-11-06 12:00');
UPDATE yquota.price_calendar SET factor = 0.25, "to" = '05:00';
SELECT yquota.set_clock('2026-11-05 12:00');
SELECT * FROM yquota.verify();
SELECT yquota.quota_compute();
SELECT * FROM points WHERE effective_at BETWEEN '2026-11-05' AND '2026-11-08' ORDER BY 2;
UPDATE yquota.calendar_factor SET factor = 0.75 WHERE effective_at = '2026-11-06 21:00';
SELECT * FROM yquota.verify();
SELECT yquota.set_clock('2026-10-01 12:00');
SELECT * FROM yquota.verify();
-- another change replaces the points after the clock
SELECT yquota.set_clock('2026-11-05 22:00');
DELETE FROM yquota.price_calendar;
SELECT * FROM points WHERE effective_at >= '2026-11-05' ORDER BY 2;
SELECT * FROM yquota.verify();
ROLLBACK;
-- points that are not made yet do not count as differences, and points of changed calendars are kept
BEGIN;
UPDATE yquota.price_calendar SET factor = 0.25;
SELECT * FROM yquota.verify();
SELECT yquota.set_clock('2026-12-24 23:00');
SELECT * FROM yquota.verify();
SELECT yquota.quota_compute();
SELECT * FROM yquota.verify();
ROLLBACK;
BEGIN;
DELETE FROM yquota.calendar_factor WHERE effective_at > '-infinity';
SELECT * FROM yquota.verify();
SELECT yquota.quota_compute();
SELECT * FROM yquota.verify();
ROLLBACK;

-- a deleted price group takes its calendars and points with it
INSERT INTO yquota.price_group (name) VALUES ('TPU');
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'TPU', 'UTC', '22:00', '06:00', 0.5);
SELECT yquota.set_clock('2026-06-20 12:00');
DELETE FROM yquota.price_group WHERE name = 'TPU';
SELECT count(*) FROM yquota.calendar_factor WHERE price_group = 'TPU';
SELECT count(*) FROM yquota.price_calendar WHERE price_group = 'TPU';

SELECT yquota.disallow_role('yquota_test_calendar_admin', 'admin'), yquota.disallow_role('yquota_test_calendar_member', 'member', 'p');
DROP ROLE yquota_test_calendar_admin, yquota_test_calendar_member;

\c postgres
DROP DATABASE yquota_price_calendar WITH (FORCE);
