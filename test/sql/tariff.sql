--
-- price_quote() and charges compute with the values that the tariff of a project shows. The test uses its own database,
-- because prices and the clock are global.
--
CREATE DATABASE yquota_tariff;
\c yquota_tariff
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, quota_mode) VALUES ('lab', 'PREPAID'), ('ops', 'NOLIMIT'), ('secret', 'NOLIMIT');
INSERT INTO yquota.project (name, quota_mode, parent) VALUES ('lab_child', 'NOLIMIT', 'lab');

-- without configuration
SELECT * FROM yquota.tariff WHERE project = 'lab' AND resource_type = 'memory-mb' \gx

-- all parts of a tariff, now and next
SELECT yquota.set_multiplier('GENERAL', 1.123456789012345678), yquota.set_multiplier('GPU', 3.7);
SELECT yquota.set_multiplier('GENERAL', 2, '2026-03-02 18:00+00');
SELECT yquota.set_base_price('memory-mb', 0.7, 1000);
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES
	('day', 'GENERAL', 'UTC', '08:00', '12:00', 1.5), ('night', 'GPU', 'UTC', '20:00', '06:00', 0.5);
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES
	('project', 'lab', 0.75), ('label', 'spot', 0.3), ('label', 'a100', 2.5), ('label', 'old', 4), ('execution_type', 'OPPORTUNISTIC', 0.333333);
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, waiting_factor, reserved_factor, free_before_preemption, charging_mode)
VALUES ('2026-03-02 10:00+00', '10 s', 0.25, 0.5, '1 min', 'sum');
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('lab', '2026-03-02 10:00+00', 'sum_of_groups');
SELECT * FROM yquota.tariff WHERE project = 'lab' AND resource_type = 'memory-mb' \gx
SELECT project, resource_type, price_group, multiplier, calendar_factor, calendar, price, project_factor, unit_hour_price, charging_mode,
	   next_calendar_factor, next_calendar, next_calendar_effective_at
FROM yquota.tariff WHERE project IN ('lab', 'lab_child', 'ops') ORDER BY 1, 2;
-- The price of a unit for an hour is the quote for a container of one unit.  The last quote has factors of its queue,
-- its user and its execution type.
BEGIN;
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES
	('queue', 'root', 1.1), ('queue', 'root.etl', 0.8), ('username', current_user, 0.9), ('username', 'bob', 7);
SELECT count(*) AS quoted, count(*) FILTER (WHERE quote.cost <> t.unit_hour_price) AS wrong,
	   count(*) FILTER (WHERE quote.charging_mode <> t.charging_mode) AS other_mode,
	   count(*) FILTER (WHERE spot.cost <> t.unit_hour_price * (t.label_factors ->> 'spot')::numeric * t.opportunistic_factor) AS wrong_with_label,
	   count(*) FILTER (WHERE mine.cost <> t.unit_hour_price * (t.queue_factors ->> 'root.etl')::numeric * t.user_factor * t.guaranteed_factor) AS wrong_with_queue
FROM yquota.tariff AS t
CROSS JOIN LATERAL (SELECT format('[%s=%s]', t.resource_type, t.unit)::yquota.resource AS unit) AS one
CROSS JOIN LATERAL yquota.price_quote(one.unit, '1 hour', project => t.project) AS quote
CROSS JOIN LATERAL yquota.price_quote(one.unit, '1 hour', project => t.project, execution_type => 'OPPORTUNISTIC', label => 'spot') AS spot
CROSS JOIN LATERAL yquota.price_quote(one.unit, '1 hour', project => t.project, queue => 'root.etl.night', username => current_user) AS mine;
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('execution_type', 'GUARANTEED', 1.2);
SELECT DISTINCT queue_factors, user_factor, guaranteed_factor FROM yquota.tariff;
SELECT count(*) FILTER (WHERE mine.cost <> t.unit_hour_price * (t.queue_factors ->> 'root.etl')::numeric * t.user_factor * t.guaranteed_factor) AS wrong_with_guaranteed
FROM yquota.tariff AS t
CROSS JOIN LATERAL yquota.price_quote(format('[%s=%s]', t.resource_type, t.unit)::yquota.resource, '1 hour', project => t.project,
	queue => 'root.etl', username => current_user) AS mine;
ROLLBACK;

-- the view leaves out factors and rules that have ended or lie ahead
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('queue', 'root.a', '2026-03-02 10:00+00', 3), ('queue', 'root.a', '2026-03-02 10:30+00', NULL), ('queue', 'root.b', '2026-03-02 10:00+00', 2),
	('username', 'yquota_tariff_member', '2026-03-02 10:00+00', 0.5), ('username', 'yquota_tariff_viewer', '2026-03-02 11:00+00', 2),
	('label', 'old', '2026-03-02 10:30+00', NULL), ('project', 'lab', '2026-03-02 10:30+00', NULL), ('project', 'ops', '2026-03-02 11:00+00', 2);
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('lab', '2026-03-02 10:30+00', NULL);
SELECT yquota.set_clock('2026-03-02 10:30+00');
SELECT DISTINCT project, project_factor, charging_mode, label_factors, queue_factors, user_factor FROM yquota.tariff ORDER BY project;

-- A member sees the rows of the member's projects.  A viewer sees all, and an operator none.
CREATE ROLE yquota_tariff_member;
CREATE ROLE yquota_tariff_viewer;
CREATE ROLE yquota_tariff_feed;
SELECT yquota.allow_role('yquota_tariff_member', 'member', 'lab'), yquota.allow_role('yquota_tariff_viewer', 'viewer'),
	   yquota.allow_role('yquota_tariff_feed', 'operator');
SET ROLE yquota_tariff_member;
SELECT project, user_factor, count(*) FROM yquota.tariff GROUP BY project, user_factor ORDER BY project;
SELECT kind, call FROM yquota.help('price') WHERE call ~ 'tariff';
SET ROLE yquota_tariff_viewer;
SELECT project, user_factor, count(*) FROM yquota.tariff GROUP BY project, user_factor ORDER BY project;
SET ROLE yquota_tariff_feed;
SELECT project FROM yquota.tariff;
RESET ROLE;

\c postgres
DROP DATABASE yquota_tariff;
DROP ROLE yquota_tariff_member, yquota_tariff_viewer, yquota_tariff_feed;
