-- Reservations in monitoring systems: metrics, and alerts about plans.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation_metrics WITH (FORCE);
CREATE DATABASE yquota_reservation_metrics;
\c yquota_reservation_metrics
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
CREATE VIEW figures AS
	SELECT metric, labels, trim_scale(value) AS value FROM yquota.metrics WHERE family IN ('reservation', 'reservation_refused', 'plan') ORDER BY metric, labels;
CREATE VIEW alerts AS SELECT kind, subject, detail, raised_at, cleared_at FROM yquota.alert ORDER BY alert_id;
CREATE FUNCTION reserve(number integer, username text, arrival timestamptz, containers integer, recurrence interval DEFAULT NULL, dry_run boolean DEFAULT false) RETURNS text LANGUAGE sql
	RETURN (SELECT coalesce(decided_by, 'accepted') FROM yquota.submit_reservation('reservation_1_' || number, 'root.plan', username, '{}', 'p', yquota.reservation_contract(arrival, arrival + interval '1 hour',
		ARRAY[yquota.reservation_request('[memory-mb=1000,vcores=1]', containers, '1 hour', containers)], 'ALL', recurrence), dry_run));

-- There are no metrics without plans, nor for a plan without nodes.
SELECT * FROM figures;
SELECT yquota_internal.watch_plans(yquota.clock());
INSERT INTO yquota.queue (path, capacity, reservable) VALUES ('root', NULL, NULL), ('root.plan', '50', true), ('root.idle', '50', true);
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
SELECT * FROM figures;
INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=200000,vcores=400]');

-- Metrics of accepted, active and refused reservations.
SELECT reserve(10001, 'ann', '2026-03-02 10:00+00', 40), reserve(10002, 'bob', '2026-03-02 12:00+00', 60), reserve(10003, 'cid', '2026-03-02 10:00+00', 20, '12 hours');
-- the submissions have created the queues of their reservations
SELECT count(*) FROM yquota.reservation_queue WHERE reservation_id IS NOT NULL;
DELETE FROM yquota.reservation_queue;
SELECT reserve(10004, 'dan', '2026-03-02 10:00+00', 101), reserve(10004, 'dan', '2026-03-02 10:00+00', 90), reserve(10004, 'dan', '2026-03-02 08:00+00', 1), reserve(10004, 'dan', '2026-03-02 08:00+00', 1);
SELECT reserve(10004, 'dan', '2026-03-02 10:00+00', 90, dry_run => true);
SELECT accepted FROM yquota.update_reservation('reservation_1_10001', 'ann', '{}', yquota.reservation_contract('2026-03-02 10:00+00', '2026-03-02 11:00+00',
	ARRAY[yquota.reservation_request('[memory-mb=1000,vcores=1]', 200, '1 hour', 200)], 'ALL'));
SELECT * FROM figures;
SELECT yquota.set_clock('2026-03-02 11:00+00');
SELECT * FROM figures WHERE labels @> '{"plan": "root.plan"}' AND NOT labels ? 'decided_by';
-- a periodic reservation is over after its first instance, unless it has its allocation in each
-- period
SELECT yquota.set_clock('2026-03-02 22:30+00');
SELECT * FROM figures WHERE metric = 'yquota_reservation_accepted' AND labels @> '{"plan": "root.plan"}';
UPDATE yquota.scheduler_setting SET reservation_repeats_allocation = true;
SELECT * FROM figures WHERE metric IN ('yquota_reservation_accepted', 'yquota_reservation_active', 'yquota_reservation_queues_missing') AND labels @> '{"plan": "root.plan"}';
UPDATE yquota.scheduler_setting SET reservation_repeats_allocation = NULL;

-- Alerts: a queue is missing after a minute, or after ten steps of the plan follower if these are
-- longer.
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT * FROM alerts;
SELECT yquota.set_clock('2026-03-02 10:02+00');
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = 20000;
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT count(*) FROM alerts WHERE cleared_at IS NULL;
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = NULL;
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT * FROM alerts;
SELECT yquota_internal.watch_plans(yquota.clock());
INSERT INTO yquota.reservation_queue (plan, name, reservation_id, capacity, maximum_capacity) VALUES
	('root.plan', 'reservation_1_10001', 'reservation_1_10001', 0.4, 1), ('root.plan', 'reservation_1_10003', 'reservation_1_10003', 0.2, 1);
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT kind, cleared_at FROM alerts;
-- the plan has more reservations than resources, and without a worker quota_compute() raises the
-- alert
UPDATE yquota.node SET total = '[memory-mb=100000,vcores=400]';
SELECT metric, value FROM figures WHERE metric = 'yquota_plan_committed_ratio' AND labels @> '{"plan": "root.plan"}';
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT * FROM alerts WHERE kind = 'plan_overcommitted';
UPDATE yquota.node SET total = '[memory-mb=200000,vcores=400]';
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT kind, cleared_at FROM alerts;

-- A round of the worker, and then a round with nothing to do.
SELECT yquota_internal.worker_follow_plans() AS postponed;
SELECT yquota_internal.worker_follow_plans() AS postponed;
SELECT metric, CASE WHEN metric LIKE '%duration%' THEN (value > 0)::text ELSE (value)::text END AS value FROM yquota.metrics WHERE family = 'plan_follower' ORDER BY metric;
-- When the plan has become too small, the round ends reservations, the last accepted one first. An alert
-- reports the ended reservations for an hour.
UPDATE yquota.node SET total = '[memory-mb=100000,vcores=400]';
SELECT outcome, reservation_id FROM yquota.follow_plans() WHERE outcome = 'replanned';
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT * FROM alerts WHERE cleared_at IS NULL;
SELECT metric, value FROM figures WHERE metric IN ('yquota_reservation_replanned', 'yquota_reservation_active') AND labels @> '{"plan": "root.plan"}';
SELECT yquota.set_clock('2026-03-02 11:02:00.001+00');
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT kind, cleared_at FROM alerts WHERE kind = 'reservations_replanned';

-- A role that may read metrics also sees these.
CREATE ROLE yquota_metrics_reader IN ROLE pg_monitor;
SELECT yquota.allow_role('yquota_metrics_reader', 'viewer');
GRANT SELECT ON figures TO yquota_metrics_reader;
SET ROLE yquota_metrics_reader;
SELECT metric, count(*) FROM yquota.metrics WHERE family IN ('reservation', 'reservation_refused', 'plan', 'plan_follower') GROUP BY metric ORDER BY metric;
RESET ROLE;
SELECT yquota.disallow_role('yquota_metrics_reader', 'viewer');

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_reservation_metrics WITH (FORCE);
DROP ROLE yquota_metrics_reader;
