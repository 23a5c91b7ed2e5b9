--
-- Costs by container, window and day, and running containers: docs/design.md 3 and 4. A vcore costs
-- one credit per second here, so every figure can be checked by hand. The test uses its own
-- database, because prices, rules and the clock are global.
--
CREATE DATABASE yquota_reports;
\c yquota_reports
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-31 12:00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.node (name, rack, label, total) VALUES
	('n1', '/r1', '', '[memory-mb=8192,vcores=8]'), ('n2', '/r1', 'gpu', '[memory-mb=8192,vcores=8,yarn.io/gpu=2]');

-- f1 ran for two hours, with a change after one hour. f2 ran through the night in which Stockholm's
-- clocks go forward, and r1 still runs.
INSERT INTO yquota.container_event
	(event, container_id, occurred_at, project, username, application_id, queue, node, allocation, execution_type, exit_status)
VALUES
	('CONTAINER_START', 'f1', '2026-03-02 10:00:00+00', 'lab', 'ann', 'app_1', 'root.a', 'n1', '[vcores=1]', NULL, NULL),
	('CONTAINER_UPDATE', 'f1', '2026-03-02 11:00:00+00', NULL, NULL, NULL, 'root.b', 'n2', '[vcores=2]', 'OPPORTUNISTIC', NULL),
	('CONTAINER_FINISH', 'f1', '2026-03-02 12:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 143),
	('CONTAINER_START', 'f2', '2026-03-28 22:00:00+00', 'ops', 'bob', 'app_2', 'root.a', 'n1', '[vcores=1]', NULL, NULL),
	('CONTAINER_FINISH', 'f2', '2026-03-30 00:00:00+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0),
	('CONTAINER_START', 'r1', '2026-03-31 11:00:00+00', 'lab', 'ann', 'app_3', 'root.a', 'n1', '[memory-mb=1024,vcores=4]', NULL, NULL);

--
-- Containers
--
SELECT * FROM yquota.container_cost ORDER BY container_id;
SELECT container_id, finished_at, charged, accrued, cost FROM yquota.container_cost WHERE container_id = 'f1';
SELECT container_id, finished_at, charged, accrued, cost FROM yquota.container_cost WHERE container_id = 'r1';
SELECT container_id FROM yquota.container_cost WHERE container_id = 'x';
SELECT container_id, cost FROM yquota.container_cost WHERE application_id = 'app_1';

--
-- Windows
--
SELECT * FROM yquota.cost_between('-infinity', 'infinity') ORDER BY project;
SELECT * FROM yquota.cost_between('-infinity', 'infinity', '{}');
SELECT * FROM yquota.cost_between('-infinity', 'infinity', '{container_id,queue,execution_type,node,username,application_id,project}')
ORDER BY container_id, queue;
-- the window has half an hour before the change, and half an hour after it
SELECT queue, amount FROM yquota.cost_between('2026-03-02 10:30+00', '2026-03-02 11:30+00', '{queue}') ORDER BY queue;
-- the last microsecond of f1, and the microsecond after it
SELECT amount FROM yquota.cost_between('2026-03-02 11:59:59.999999+00', '2026-03-02 12:00+00');
SELECT amount FROM yquota.cost_between('2026-03-02 12:00+00', '2026-03-02 12:00:00.000001+00');
-- a running container costs only up to the clock
SELECT amount FROM yquota.cost_between('2026-03-31 11:30+00', '2026-03-31 11:45+00');
SELECT amount FROM yquota.cost_between('2026-03-31 11:30+00', '2026-04-01 00:00+00');
SELECT amount FROM yquota.cost_between('2026-03-31 12:00+00', '2026-04-01 00:00+00');
-- an empty window costs nothing
SELECT amount FROM yquota.cost_between('2026-03-02 10:30+00', '2026-03-02 10:30+00');

SELECT * FROM yquota.cost_between('2026-03-02', '2026-03-01');
SELECT * FROM yquota.cost_between('2026-03-02', NULL);
SELECT * FROM yquota.cost_between('2026-03-02', '2026-03-03', '{project,day}');

-- a late UPDATE is settled by rows that reverse the old charge, and rows that charge again
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
VALUES ('CONTAINER_UPDATE', 'f1', '2026-03-02 11:30:00+00', '[vcores=4]');
SELECT "from", "to", number, corrects, amount FROM yquota.charge WHERE container_id = 'f1' ORDER BY number;
SELECT node, allocation, finished_at, exit_status, charged, cost FROM yquota.container_cost WHERE container_id = 'f1';
SELECT amount FROM yquota.cost_between('2026-03-02 10:00+00', '2026-03-02 12:00+00');
SELECT amount FROM yquota.cost_between('2026-03-02 11:15+00', '2026-03-02 11:45+00');

-- the last of a multiplier's 18 decimals counts for each microsecond in which the multiplier is in
-- force
SELECT yquota.set_multiplier('GENERAL', 1.000000000000000001, '2026-03-31 12:00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r2', '2026-03-31 11:59:59.999999+00', 'ops', '[vcores=7]');
SELECT yquota.set_clock('2026-03-31 12:00:00.000003+00');
SELECT project, amount FROM yquota.cost_between('2026-03-31 11:59:59.999999+00', '2026-04-01') ORDER BY project;

--
-- Padding up to the minimum run time is charged at the finish
--
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-31 12:00:01+00', '10 s');
SELECT yquota.set_multiplier('GENERAL', 1, '2026-03-31 12:00:01+00');
SELECT yquota.set_clock('2026-03-31 13:00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES
	('CONTAINER_START', 'm1', '2026-03-31 12:30:00+00', 'ops', '[vcores=1]'),
	('CONTAINER_FINISH', 'm1', '2026-03-31 12:30:04+00', 'ops', NULL);
SELECT "from", "to", padding, amount FROM yquota.charge WHERE container_id = 'm1' ORDER BY number;
SELECT finished_at, cost FROM yquota.container_cost WHERE container_id = 'm1';
SELECT amount FROM yquota.cost_between('2026-03-31 12:30:00+00', '2026-03-31 12:30:04+00', '{container_id}')
WHERE container_id = 'm1';
SELECT amount FROM yquota.cost_between('2026-03-31 12:30:04+00', '2026-03-31 12:30:05+00', '{container_id}')
WHERE container_id = 'm1';

--
-- Splitting a window at any instant changes no sum
--
SELECT count(*) AS windows, count(*) FILTER (WHERE whole <> first + second) AS wrong
FROM generate_series('2026-03-01 23:59:59.3+00'::timestamptz, '2026-03-31 13:00+00', '7 h 13 min 5.000007 s') part
CROSS JOIN LATERAL (
	SELECT (SELECT coalesce(sum(amount), 0) FROM yquota.cost_between('-infinity', part)) AS first,
		   (SELECT coalesce(sum(amount), 0) FROM yquota.cost_between(part, 'infinity')) AS second,
		   (SELECT sum(amount) FROM yquota.cost_between('-infinity', 'infinity')) AS whole
) sums;

--
-- Days: in Stockholm 29 March has 23 hours, and 25 October has 25
--
SELECT day, project, queue, amount FROM yquota.daily_cost ORDER BY day, project, queue;
-- set the time zone as if it had been set from the beginning
SET session_replication_role = replica;
INSERT INTO yquota.billing_setting (timezone) VALUES ('Europe/Stockholm');
RESET session_replication_role;
SELECT day, project, amount, amount / 3600 AS hours FROM yquota.daily_cost WHERE project = 'ops' AND application_id = 'app_2' ORDER BY day;
SELECT (SELECT sum(amount) FROM yquota.daily_cost) = (SELECT sum(cost) FROM yquota.container_cost) AS adds_up;
SELECT yquota.set_clock('2026-10-27 00:00:00+00');
SELECT day, username, amount / 4 / 3600 AS hours FROM yquota.daily_cost
WHERE application_id = 'app_3' AND day BETWEEN '2026-10-24' AND '2026-10-27' ORDER BY day;
SELECT (SELECT sum(amount) FROM yquota.daily_cost) = (SELECT sum(cost) FROM yquota.container_cost) AS adds_up;
-- a day's cost equals cost_between() of that day
SELECT day, sum(daily.amount) AS amount,
	   (SELECT amount FROM yquota.cost_between(day::timestamp AT TIME ZONE 'Europe/Stockholm',
											   (day + 1)::timestamp AT TIME ZONE 'Europe/Stockholm', '{}'))
	   = sum(daily.amount) AS equal
FROM yquota.daily_cost daily
WHERE day IN ('2026-03-28', '2026-03-29', '2026-10-25') GROUP BY day ORDER BY day;

-- midnights that do not exist, or occur twice
SELECT day, zone, yquota_internal.billing_day_start(day, zone),
	   yquota_internal.billing_day_start(day + 1, zone) - yquota_internal.billing_day_start(day, zone) AS long,
	   yquota_internal.billing_day(yquota_internal.billing_day_start(day, zone), zone) = day AS begins,
	   yquota_internal.billing_day(yquota_internal.billing_day_start(day, zone) - interval '1 microsecond', zone) = day - 1 AS ends
FROM (VALUES ('2026-03-29'::date, 'Europe/Stockholm'), ('2026-10-25', 'Europe/Stockholm'),
			 ('2018-11-04', 'America/Sao_Paulo'), ('2018-02-17', 'America/Sao_Paulo'), ('2018-02-18', 'America/Sao_Paulo'),
			 ('2024-11-03', 'America/Havana'), ('2024-11-02', 'America/Havana'), ('2026-03-29', 'UTC')) AS v (day, zone);
SET session_replication_role = replica;
DELETE FROM yquota.billing_setting;
RESET session_replication_role;

--
-- Usage
--
SELECT * FROM yquota.queue_usage ORDER BY queue, username;
SELECT * FROM yquota.node_usage ORDER BY node;
SELECT * FROM yquota.project_usage ORDER BY project;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, execution_type)
VALUES
	('CONTAINER_START', 'u1', '2026-10-26 00:00:00+00', 'ops', 'bob', 'root.a', 'n2', '[vcores=6,yarn.io/gpu=2]', 'GUARANTEED'),
	('CONTAINER_START', 'u2', '2026-10-26 00:00:00+00', 'ops', 'bob', 'root.a', 'n2', '[vcores=4]', 'OPPORTUNISTIC'),
	('CONTAINER_START', 'u3', '2026-10-26 00:00:00+00', 'ops', 'bob', 'root.a', 'n3', '[]', 'GUARANTEED');
CREATE TEMPORARY TABLE before_compaction AS
	SELECT queue_usage::text AS usage FROM yquota.queue_usage
	UNION ALL SELECT node_usage::text FROM yquota.node_usage
	UNION ALL SELECT project_usage::text FROM yquota.project_usage;
SELECT * FROM yquota.queue_usage ORDER BY queue, username, label, execution_type;
SELECT * FROM yquota.node_usage ORDER BY node;
SELECT * FROM yquota.project_usage ORDER BY project;
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT count(*) AS changed_by_compaction FROM (
	(SELECT queue_usage::text AS usage FROM yquota.queue_usage
	 UNION ALL SELECT node_usage::text FROM yquota.node_usage
	 UNION ALL SELECT project_usage::text FROM yquota.project_usage)
	EXCEPT TABLE before_compaction) difference;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', container_id, '2026-10-26 12:00:00+00' FROM yquota.container;
SELECT count(*) FROM yquota.queue_usage;
SELECT node, available, containers FROM yquota.node_usage ORDER BY node;
SELECT count(*) FROM yquota.project_usage;
SELECT * FROM yquota.verify();

--
-- For every container, explain_charge() adds up to the cost, to the last digit
--
SELECT count(*) > 0 AS some, count(*) FILTER (WHERE bill.amount IS DISTINCT FROM container_cost.cost) AS wrong
FROM yquota.container_cost
CROSS JOIN LATERAL (SELECT sum(explain_charge.amount) AS amount
					FROM yquota.explain_charge(container_cost.container_id)) AS bill
WHERE bill.amount IS NOT NULL OR container_cost.cost <> 0;
SELECT * FROM yquota.explain_charge('no such container');

--
-- Readers
--
CREATE ROLE yquota_reports_reader;
SELECT yquota.allow_role('yquota_reports_reader', 'viewer');
REVOKE EXECUTE ON FUNCTION yquota.cost_between FROM yquota_reports_reader;
SET ROLE yquota_reports_reader;
SELECT count(*) > 0 AS readable FROM yquota.daily_cost;
SELECT count(*) FROM yquota.queue_usage;
SELECT count(*) FROM yquota.node_usage;
SELECT count(*) FROM yquota.project_usage;
SELECT * FROM yquota.container_cost;
SELECT * FROM yquota.cost_between('-infinity', 'infinity');
RESET ROLE;
GRANT EXECUTE ON FUNCTION yquota.cost_between TO yquota_reports_reader;
SET ROLE yquota_reports_reader;
SELECT count(*) FROM yquota.cost_between('-infinity', 'infinity');
RESET ROLE;

\c postgres
DROP DATABASE yquota_reports;
DROP ROLE yquota_reports_reader;
