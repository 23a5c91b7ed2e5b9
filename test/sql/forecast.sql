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

-- members see only their projects
CREATE ROLE yquota_forecast_member;
SELECT yquota.allow_role('yquota_forecast_member', 'member', 'steady');
SET ROLE yquota_forecast_member;
SELECT project, ends_at FROM yquota.forecast();
SELECT project, ends_at FROM yquota.forecast('uneven');
RESET ROLE;
\c postgres
DROP DATABASE yquota_forecast;
DROP ROLE yquota_forecast_member;
