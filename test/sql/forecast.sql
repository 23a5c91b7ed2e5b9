--
-- Forecasts of when credit will be used up.
--
CREATE DATABASE yquota_forecast;
\c yquota_forecast
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
INSERT INTO yquota.project (name, quota_mode) VALUES ('steady', 'PREPAID'), ('uneven', 'PREPAID'), ('young', 'PREPAID'), ('idle', 'PREPAID'),
	('spent', 'PREPAID'), ('free', 'NOLIMIT'), ('wild', 'PREPAID');
INSERT INTO yquota.quota_grant (project, amount, reason)
SELECT name, 3600 * 24 * 14 + 3600 * 240, 'a year''s' FROM yquota.project WHERE name <> 'spent';
SELECT yquota.set_clock('2026-03-15 12:00+00');
-- steady uses one vcore-hour per hour for 14 days, uneven twice that every other day, and young
-- runs for two days only
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'steady', '2026-03-01 12:00+00', 'steady', '[vcores=1]'),
	('CONTAINER_START', 'young', '2026-03-14 12:00+00', 'young', '[vcores=1]'),
	('CONTAINER_START', 'free', '2026-03-01 12:00+00', 'free', '[vcores=1]'),
	('CONTAINER_START', 'spent', '2026-03-01 12:00+00', 'spent', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT e::yquota.container_event_type, 'uneven' || i, '2026-03-01 12:00+00'::timestamptz + (i + CASE e WHEN 'CONTAINER_FINISH' THEN 1 ELSE 0 END) * interval '24 h', 'uneven',
	   '[vcores=2]' FROM generate_series(0, 12, 2) AS i, unnest('{CONTAINER_START,CONTAINER_FINISH}'::text[]) AS e;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT e::yquota.container_event_type, 'wild', '2026-03-01 12:00+00'::timestamptz + CASE e WHEN 'CONTAINER_FINISH' THEN 1 ELSE 0 END * interval '24 h', 'wild',
	   '[vcores=14]' FROM unnest('{CONTAINER_START,CONTAINER_FINISH}'::text[]) AS e;
-- steady and uneven have 240 hours left, which is ten days
SELECT * FROM yquota.forecast();
-- The upper bound of the cost reaches the remaining credit at earliest_at, and the lower bound at
-- latest_at. The remaining credit is ten days of even spending.
SELECT project, extract(epoch FROM earliest_at - '2026-03-15 12:00+00') / 86400 AS days, cost.early, cost.late
FROM yquota.forecast('uneven')
CROSS JOIN LATERAL (SELECT extract(epoch FROM earliest_at - '2026-03-15 12:00+00') / 86400 AS e, extract(epoch FROM latest_at - '2026-03-15 12:00+00') / 86400 AS l) AS h
CROSS JOIN LATERAL (SELECT round((86400 * e + 1.645 * 86400 * sqrt(14 / 13.0) * sqrt(e + e * e / 14)) / 86400, 2) AS early,
						   round((86400 * l - 1.645 * 86400 * sqrt(14 / 13.0) * sqrt(l + l * l / 14)) / 86400, 2) AS late) AS cost;
-- forecasts from the last week and from one day, and for a project that does not exist
SELECT observed_days, spent_per_day, ends_at, earliest_at, latest_at FROM yquota.forecast('steady', 7);
SELECT observed_days, spent_per_day, ends_at, earliest_at, latest_at FROM yquota.forecast('steady', 1);
SELECT * FROM yquota.forecast('nobody');
SELECT * FROM yquota.forecast('steady', 0);
SELECT * FROM yquota.forecast('steady', NULL);

-- A higher price: spending and time change in proportion.  The multiplier that is in force changes nothing.
SELECT project, spent_per_day, ends_at FROM yquota.forecast(multiplier => 2.5);
SELECT count(*) AS differ
FROM (SELECT f FROM yquota.forecast() AS f EXCEPT SELECT f FROM yquota.forecast(multiplier => 1) AS f) AS changed;
SELECT spent_per_day, ends_at FROM yquota.forecast('steady', multiplier => 0);
SELECT * FROM yquota.forecast('steady', multiplier => -0.1);
-- The assumed multiplier replaces the multipliers of the past, but a larger multiplier of another group stays. A
-- calendar of the past, a factor and the minimum run time stay, too.
BEGIN;
INSERT INTO yquota.project (name, quota_mode) VALUES ('family', 'PREPAID'), ('child', 'NOLIMIT');
UPDATE yquota.project SET parent = 'family' WHERE name = 'child';
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('family', 10000000, 'a year''s');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-15 12:00+00', '1 minute');
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('project', 'child', 0.5);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'UTC', '00:00', '06:00', 0.25);
SELECT yquota.set_multiplier('GENERAL', 4), yquota.set_multiplier('GPU', 3);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'own', '2026-03-15 12:00+00', 'family', '[vcores=1,yarn.io/gpu=1]'),
	('CONTAINER_START', 'short', '2026-03-15 12:00+00', 'child', '[vcores=1]'),
	('CONTAINER_FINISH', 'short', '2026-03-15 12:00:10+00', 'child', NULL),
	('CONTAINER_START', 'long', '2026-03-15 12:00+00', 'child', '[vcores=4]');
SELECT yquota.set_clock('2026-03-16 12:00+00');
SELECT yquota.set_multiplier('GPU', 2);
-- own pays 2 for its GPU; child pays for 86400 s x 4, a quarter of that for six hours, and 60 s, times half
SELECT spent_per_day, 86400 * 2 + (64800 * 4 + 21600 * 4 * 0.25 + 60) * 0.5 * 1.5 AS by_hand
FROM yquota.forecast('family', 1, multiplier => 1.5);
-- each part costs the same as if it were computed alone; the padding of short lies at an instant between two parts
INSERT INTO yquota.project (name, quota_mode) VALUES ('high rise', 'NOLIMIT');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'rise', '2026-03-15 11:59+00', 'high rise', '[vcores=1]');
CREATE FUNCTION pg_temp.cost(cuts timestamptz[]) RETURNS TABLE (part integer, project text, amount numeric) LANGUAGE sql
	AS 'SELECT * FROM yquota_internal.cost_at_multipliers(cuts, NULL, yquota_internal.assumed_multipliers(1.5, yquota.clock()))';
WITH instants AS (
	SELECT '{2026-03-13 12:00+00,2026-03-14 12:00+00,2026-03-15 12:00+00,2026-03-15 12:00:10+00,2026-03-15 18:00+00,2026-03-16 12:00+00}'::timestamptz[] AS at
), together AS (
	SELECT cost.* FROM instants, pg_temp.cost(instants.at) AS cost
), alone AS (
	SELECT n, cost.project, cost.amount FROM instants, generate_series(1, 5) AS n, pg_temp.cost(instants.at[n : n + 1]) AS cost
)
SELECT (SELECT count(*) FROM together) AS together, (SELECT count(*) FROM alone) AS alone,
	   (SELECT count(*) FROM (TABLE together EXCEPT TABLE alone) AS d) AS different,
	   (SELECT string_agg(format('%s: %s', part, amount), ', ' ORDER BY part) FROM together WHERE project = 'high rise') AS high_rise,
	   (SELECT string_agg(format('%s: %s', part, amount), ', ' ORDER BY part) FROM together WHERE project = 'child') AS child;
ROLLBACK;

-- members see only their projects
CREATE ROLE yquota_forecast_member;
SELECT yquota.allow_role('yquota_forecast_member', 'member', 'steady');
SET ROLE yquota_forecast_member;
SELECT project, ends_at FROM yquota.forecast();
SELECT project, ends_at FROM yquota.forecast('uneven');
SELECT project, spent_per_day FROM yquota.forecast(multiplier => 3);
RESET ROLE;
\c postgres
DROP DATABASE yquota_forecast;
DROP ROLE yquota_forecast_member;
