--
-- Usage of containers in resource-hours: what they held and how long, at any price.
--
CREATE DATABASE yquota_usage;
\c yquota_usage
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 12:00+00');
INSERT INTO yquota.project (name, quota_mode) VALUES ('lab', 'NOLIMIT'), ('ops', 'NOLIMIT');
INSERT INTO yquota.project (name, quota_mode, parent) VALUES ('child', 'NOLIMIT', 'lab');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, free_before_preemption) VALUES ('2026-03-02 00:00+00', '10 min', '1 min');
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('username', 'free', 0);

INSERT INTO yquota.container_event (event, container_id, application_id, occurred_at, project, username, queue, node, allocation, execution_type, is_running, exit_status) VALUES
	-- an hour of 2 vcores and 1 GiB, then half an hour of 4 vcores and 3 GiB
	('CONTAINER_START', 'c1', 'app_1', '2026-03-02 09:00+00', 'lab', 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=2]', NULL, NULL, NULL),
	('CONTAINER_UPDATE', 'c1', NULL, '2026-03-02 10:00+00', NULL, NULL, NULL, NULL, '[memory-mb=3072,vcores=4]', NULL, NULL, NULL),
	('CONTAINER_FINISH', 'c1', NULL, '2026-03-02 10:30+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	-- still running, with a GPU, since 11:30
	('CONTAINER_START', 'c2', 'app_2', '2026-03-02 11:30+00', 'ops', 'bob', 'root.a', 'n1', '[vcores=1,yarn.io/gpu=2]', NULL, NULL, NULL),
	-- 36 seconds, which the minimum run time pads to ten minutes; free of charge
	('CONTAINER_START', 'c3', 'app_1', '2026-03-02 09:00+00', 'child', 'free', 'root.b', 'n1', '[vcores=100]', NULL, NULL, NULL),
	('CONTAINER_FINISH', 'c3', NULL, '2026-03-02 09:00:36+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
	-- waits an hour, runs an hour, is paused for an hour
	('CONTAINER_START', 'c4', 'app_1', '2026-03-02 09:00+00', 'lab', 'ann', 'root.b', 'n1', '[vcores=7]', 'OPPORTUNISTIC', false, NULL),
	('CONTAINER_UPDATE', 'c4', NULL, '2026-03-02 10:00+00', NULL, NULL, NULL, NULL, NULL, NULL, true, NULL),
	('CONTAINER_UPDATE', 'c4', NULL, '2026-03-02 11:00+00', NULL, NULL, NULL, NULL, NULL, NULL, false, NULL),
	-- preempted: its last minute is given back, but was used
	('CONTAINER_START', 'c5', 'app_2', '2026-03-02 09:00+00', 'ops', 'bob', 'root.a', 'n1', '[vcores=1]', NULL, NULL, NULL),
	('CONTAINER_FINISH', 'c5', NULL, '2026-03-02 10:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, -102);
SELECT project, resource_type, unit, unit_hours, resource_seconds FROM yquota.usage_between('-infinity', 'infinity') ORDER BY 1, 2;
SELECT project, username, queue, application_id, execution_type, resource_type, unit_hours
FROM yquota.usage_between('-infinity', 'infinity', '{project,username,queue,application_id,execution_type}') ORDER BY 1, 2, 3, 4, 5, 6;
SELECT * FROM yquota.usage_between('-infinity', 'infinity', '{}') ORDER BY resource_type;
-- a window cuts containers at any microsecond
SELECT container_id, resource_type, unit_hours, resource_seconds
FROM yquota.usage_between('2026-03-02 09:59:59.999999+00', '2026-03-02 11:45+00', '{container_id}') ORDER BY 1, 2;
SELECT count(*) FROM yquota.usage_between('2026-03-02 12:00+00', 'infinity');
-- the parts of a window have the usage of the window
SELECT whole.resource_type, whole.resource_seconds, sum(part.resource_seconds) = whole.resource_seconds AS adds_up
FROM yquota.usage_between('2026-03-02 08:00+00', '2026-03-02 12:00+00', '{}') AS whole
CROSS JOIN generate_series(0, 3) AS hour
JOIN LATERAL yquota.usage_between('2026-03-02 08:00+00'::timestamptz + hour * interval '1 hour', '2026-03-02 09:00+00'::timestamptz + hour * interval '1 hour', '{}') AS part USING (resource_type)
GROUP BY 1, 2 ORDER BY 1;

-- A late change corrects the ledger; an outage and a price change nothing.  Voided events take the usage back.
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'c1', '2026-03-02 09:30+00', '[memory-mb=2048,vcores=2]');
SELECT yquota.report_outage('2026-03-02 09:00+00', '2026-03-02 09:10+00', 'test') > 0 AS reported;
SELECT project, resource_type, unit_hours FROM yquota.usage_between('-infinity', 'infinity') WHERE project = 'lab' ORDER BY 2;
SELECT count(*) AS voided FROM yquota.void_events('c3', reason => 'sent by mistake');
SELECT project, count(*) FROM yquota.usage_between('-infinity', 'infinity') GROUP BY 1 ORDER BY 1;

-- Usage from the log of events: the sizes and times of random containers, late events among them
SELECT setseed(0.25);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, allocation)
SELECT 'CONTAINER_START', 'r' || i, '2026-03-02 00:00+00'::timestamptz + i * interval '7.654321 s', (ARRAY['lab', 'ops'])[1 + i % 2], 'u' || i % 5,
	   format('[memory-mb=%s,vcores=%s]', i * 37 % 4000, i % 9)::yquota.resource FROM generate_series(1, 300) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', 'r' || i, '2026-03-02 00:00+00'::timestamptz + i * interval '7.654321 s' + (random() * 600)::integer * interval '1.000001 s',
	   format('[memory-mb=%s,vcores=%s]', i * 91 % 5000, i % 7)::yquota.resource FROM generate_series(1, 600) AS n, LATERAL (SELECT 1 + n % 300 AS i) AS c;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', 'r' || i, '2026-03-02 01:00+00'::timestamptz + i * interval '0.333 s' FROM generate_series(1, 290) AS i;
WITH state AS (
	SELECT e.container_id, e.event, e.occurred_at, e.allocation,
		   lead(e.occurred_at, 1, yquota.clock()) OVER (PARTITION BY e.container_id ORDER BY e.occurred_at, e.recorded_at, e.event) AS until
	FROM yquota.container_event AS e WHERE e.container_id ~ '^r'
), logged AS (
	SELECT state.container_id, entry.name AS resource_type, sum(entry.amount * extract(epoch FROM state.until - state.occurred_at)) AS seconds
	FROM state CROSS JOIN LATERAL yquota.resource_entries(state.allocation) AS entry
	WHERE state.event <> 'CONTAINER_FINISH'
	GROUP BY 1, 2 HAVING sum(entry.amount * extract(epoch FROM state.until - state.occurred_at)) <> 0
)
SELECT count(*) > 500 AS compared, count(*) FILTER (WHERE usage.resource_seconds IS DISTINCT FROM trim_scale(logged.seconds)) AS differ
FROM logged
FULL JOIN (SELECT * FROM yquota.usage_between('-infinity', 'infinity', '{container_id}') WHERE container_id ~ '^r') AS usage USING (container_id, resource_type);

-- bad input
SELECT * FROM yquota.usage_between('2026-03-03', '2026-03-02');
SELECT * FROM yquota.usage_between('2026-03-02', NULL);
SELECT * FROM yquota.usage_between('2026-03-02', 'infinity', '{label}');

-- members see the usage of their projects and sub-projects
CREATE ROLE yquota_usage_member;
SELECT yquota.allow_role('yquota_usage_member', 'member', 'lab');
SET ROLE yquota_usage_member;
SELECT DISTINCT project FROM yquota.usage_between('-infinity', 'infinity') ORDER BY 1;
SELECT kind, left(call, 30) AS call FROM yquota.help('cost') WHERE call ~ 'usage' ORDER BY 2;
RESET ROLE;

\c postgres
DROP DATABASE yquota_usage;
DROP ROLE yquota_usage_member;
