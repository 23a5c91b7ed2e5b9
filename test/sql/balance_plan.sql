--
-- The plan that a session keeps for the balance of a project leaves out empty tables. The session
-- makes a new plan when such a table has got rows. The kept plan returns the same rows as the view.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_balance_plan WITH (FORCE);
CREATE DATABASE yquota_balance_plan;
\c yquota_balance_plan
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
	('lab', 5000, 'budget', 'infinity'), ('lab', 4000, 'gift', '2026-03-02 11:00+00');
CREATE VIEW kept AS
	SELECT kept.granted, kept.accrued, kept.held, kept.remaining, kept.available,
		   ROW(kept.granted, kept.accrued, kept.held, kept.remaining, kept.available) IS NOT DISTINCT FROM
		   (SELECT ROW(c.granted, c.accrued, c.held, c.remaining, c.available)
			FROM yquota_internal.project_credit AS c WHERE c.project = 'lab') AS is_right
	FROM yquota.project_balance AS kept WHERE kept.project = 'lab';
CREATE VIEW empty AS
	SELECT pg_relation_size('yquota.hold') = 0 AS hold, pg_relation_size('yquota_internal.project_family') = 0 AS family,
		   pg_relation_size('yquota.expired_grant') = 0 AS expired,
		   pg_relation_size('yquota_internal.accruing_reservation') = 0 AS accruing;
TABLE empty;
TABLE kept;

-- a hold that is rolled back, and a hold that is committed
BEGIN;
SELECT yquota.hold('lab', 'application_1_1', 30, '1 day') IS NOT NULL AS holds;
TABLE kept;
ROLLBACK;
TABLE kept;
SELECT yquota.hold('lab', 'application_1_2', 20, '1 day') IS NOT NULL AS holds;
TABLE kept;

-- a sub-project has a running container, which costs one credit per second
INSERT INTO yquota.project (name, parent) VALUES ('laser', 'lab');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 09:59+00', 'laser', '[memory-mb=1024,vcores=1]');
TABLE kept;
SELECT project, remaining, available FROM yquota.project_balance WHERE project = 'laser';
-- The settings of a kept plan also apply to queries in functions that the plan calls. The plan uses
-- no parallel workers, because starting them takes longer than a query of few rows.
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 8;
CREATE OR REPLACE FUNCTION yquota_internal.balance_of(of_project text)
	RETURNS TABLE (project text, quota_mode yquota.quota_mode, on_exhausted yquota.exhaustion_policy,
				   has_budget boolean, remaining numeric, held numeric, burn_rate numeric, credit_limit numeric,
				   exhaustion_grace interval)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1 COST 10000 SET search_path = pg_catalog, pg_temp
	AS $$BEGIN
		RAISE WARNING 'balance of % with % workers', of_project, current_setting('max_parallel_workers_per_gather');
	END$$;
SELECT project, available FROM yquota.project_balance WHERE project = 'laser';
SHOW max_parallel_workers_per_gather;
ROLLBACK;

-- 340 credits of a grant expire, and the balance is the same before and after the worker has recorded the loss
SELECT yquota.set_clock('2026-03-02 11:00+00');
TABLE kept;
SELECT yquota.quota_compute() IS NOT NULL AS computed;
TABLE kept;

-- a reservation, for which a trigger inserts the row that accrues: 3600 s at half a credit per second
INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy, position) VALUES
	('root', NULL, NULL, NULL, 1), ('root.plan', '100', true, 'NoOverCommitPolicy', 2);
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=102400,vcores=100]');
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
INSERT INTO yquota.charging_rule (effective_at, reserved_factor) VALUES ('2026-03-02 11:00+00', 0.5);
SELECT accepted FROM yquota.submit_reservation('reservation_1_1', 'root.plan', 'ann', '{}', 'lab',
	yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 14:00+00',
		ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, '2 hours', 1)], 'ALL'));
TABLE kept;
SELECT yquota.set_clock('2026-03-02 13:00+00');
TABLE kept;
TABLE empty;

\c postgres
DROP DATABASE yquota_balance_plan;
