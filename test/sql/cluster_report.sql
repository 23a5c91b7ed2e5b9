--
-- Reports for a database that reads several clusters. They show days and bills with the name of the
-- cluster, to roles that may see them.
--
CREATE DATABASE yquota_cluster_report;
\c yquota_cluster_report
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
CREATE ROLE yquota_report_viewer; CREATE ROLE yquota_report_member; CREATE ROLE yquota_report_operator;
INSERT INTO yquota.project (name) VALUES ('lab'), ('sea');
SELECT yquota.allow_role('yquota_report_viewer', 'viewer'), yquota.allow_role('yquota_report_member', 'member', 'lab'), yquota.allow_role('yquota_report_operator', 'operator') \g /dev/null
INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('north');
INSERT INTO yquota.billing_setting (timezone) VALUES ('Europe/Stockholm');
SELECT yquota.set_clock('2026-03-30 12:00+00') \g /dev/null

-- nothing has been charged
SELECT * FROM yquota.charge_by_project_day;
SELECT * FROM yquota.bill_by_project;
SELECT * FROM yquota.cluster_status;

-- days are those of the time zone of bills, including the day of 23 hours
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation) VALUES
	('CONTAINER_START', 'a', '2026-03-27 22:00+00', 'lab', 'ann', 'root.a', '[vcores=1]'),
	('CONTAINER_FINISH', 'a', '2026-03-29 22:30:00.5+00', NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'b', '2026-03-30 10:00+00', 'sea', 'bob', 'root.b', '[vcores=2]'),
	-- this container starts ahead of the clock
	('CONTAINER_START', 'c', '2026-03-30 12:01+00', 'lab', 'bob', 'root.b', '[vcores=1]');
SELECT * FROM yquota.charge_by_project_day ORDER BY day, project;
SELECT * FROM yquota.charge_by_queue_day WHERE day >= '2026-03-29' ORDER BY day, project, queue;
SELECT * FROM yquota.charge_by_user_day WHERE day = '2026-03-30' ORDER BY day, project, username;
SELECT cost.amount = sum(report.amount) AS is_whole
FROM yquota.cost_between('-infinity', 'infinity', '{}') AS cost, yquota.charge_by_project_day AS report GROUP BY cost.amount;
-- a late event of an earlier day is found, whether it is rolled up or not
SELECT yquota.roll_up_charges() \g /dev/null
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation) VALUES
	('CONTAINER_START', 'd', '2026-03-01 10:00+00', 'lab', 'ann', 'root.a', '[vcores=1]'), ('CONTAINER_FINISH', 'd', '2026-03-01 11:00+00', NULL, NULL, NULL, NULL);
SELECT * FROM yquota.charge_by_project_day WHERE day < '2026-03-27';
SELECT yquota.roll_up_charges() \g /dev/null
SELECT * FROM yquota.charge_by_project_day WHERE day < '2026-03-27';

-- a bill belongs to the month in which its period ends
SELECT closed_at IS NOT NULL AS is_closed FROM yquota.close_period('2026-02-28 23:00+00');
SELECT closed_at IS NOT NULL AS is_closed FROM yquota.close_period('2026-03-28 23:00+00');
SELECT cluster, month, project, starts_at, ends_at, charged, corrected FROM yquota.bill_by_project ORDER BY month, project;
SELECT yquota.void_events('d', 'wrong') \g /dev/null
SELECT closed_at IS NOT NULL AS is_closed FROM yquota.close_period('2026-03-29 22:00+00');
SELECT cluster, month, project, starts_at, ends_at, charged, corrected FROM yquota.bill_by_project WHERE ends_at > '2026-03-29' ORDER BY month, project;
SELECT cluster, clock, charged_through, closed_until, timezone FROM yquota.cluster_status;

-- members see their own projects, and operators see nothing
SET ROLE yquota_report_member;
SELECT DISTINCT project FROM yquota.charge_by_project_day;
SELECT DISTINCT project FROM yquota.charge_by_queue_day;
SELECT DISTINCT project FROM yquota.charge_by_user_day;
SELECT DISTINCT project FROM yquota.bill_by_project;
SELECT cluster FROM yquota.cluster_status;
SET ROLE yquota_report_viewer;
SELECT DISTINCT project FROM yquota.charge_by_project_day ORDER BY project;
SET ROLE yquota_report_operator;
SELECT FROM yquota.charge_by_project_day;
SELECT FROM yquota.bill_by_project;
RESET ROLE;

\c postgres
DROP DATABASE yquota_cluster_report;
DROP ROLE yquota_report_viewer, yquota_report_member, yquota_report_operator;
