--
-- Recurring budgets: each period is granted once, however often or late the worker runs, and its
-- grant pays only for the period.
--
CREATE DATABASE yquota_budget;
\c yquota_budget
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
INSERT INTO yquota.billing_setting (timezone) VALUES ('Europe/Stockholm');
-- the 10th in the budget's time zone, the 9th in UTC
SELECT yquota.set_clock('2026-03-09 23:30+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
INSERT INTO yquota.budget (project, period, amount) VALUES ('lab', 'month', 1000);
INSERT INTO yquota.budget (project, period, amount, rollover) VALUES ('web', 'week', 70.5, true), ('web', 'day', 10, false);
CREATE VIEW given AS
	SELECT project, amount, kind, reason, valid_from, expires_at FROM yquota.quota_grant ORDER BY project, reason;
SELECT * FROM given;
SELECT project, granted, remaining FROM yquota.project_balance ORDER BY project;
SELECT yquota_internal.grant_budgets(yquota.clock());

-- grants are made a day ahead, here over the night when clocks go forward
SELECT yquota.set_clock('2026-03-28 12:00+00');
SELECT yquota_internal.grant_budgets(yquota.clock()), yquota_internal.grant_budgets(yquota.clock());
SELECT reason, valid_from, expires_at FROM given WHERE reason ~ 'day|week' AND valid_from > '2026-03-26';
SELECT count(*), count(DISTINCT valid_from) FROM given WHERE reason ~ 'day';

-- the rest of a day's budget is lost, and the rest of a week's budget is not
SELECT granted, remaining FROM yquota.project_balance WHERE project = 'web';

-- the server did not run for two months, and the budgets of those months pay for their containers
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-20 00:00+00', 'lab', 'a', '[vcores=1]'), ('CONTAINER_FINISH', 'c1', '2026-03-20 00:05+00', NULL, NULL, NULL);
SELECT yquota.set_clock('2026-06-01 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c2', '2026-04-20 00:00+00', 'lab', 'a', '[vcores=1]'), ('CONTAINER_FINISH', 'c2', '2026-04-20 00:10+00', NULL, NULL, NULL);
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'lab';
SELECT yquota.quota_compute();
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'lab';
SELECT amount, state, spent, remaining, lost, begins_at, expires_at FROM yquota.grant_status WHERE project = 'lab' ORDER BY begins_at;
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'web';
SELECT * FROM yquota.verify();

-- A change applies from the next period. An amount that is removed and set again is not granted
-- twice.
UPDATE yquota.budget SET amount = 1, rollover = true WHERE project = 'lab';
DELETE FROM yquota.budget WHERE project = 'web';
SELECT yquota.set_clock('2026-06-30 12:00+00');
SELECT yquota_internal.grant_budgets(yquota.clock());
SELECT amount, valid_from, expires_at FROM given WHERE project = 'lab' AND valid_from > '2026-05-01';
INSERT INTO yquota.budget (project, period, amount) VALUES ('web', 'week', 5);
SELECT reason, amount, valid_from, expires_at FROM given WHERE project = 'web' AND valid_from > '2026-06-01';
DELETE FROM yquota.budget;
INSERT INTO yquota.budget (project, period, amount) VALUES ('lab', 'month', 3), ('lab', 'quarter', 4), ('lab', 'year', 5);
SELECT reason, amount, valid_from, expires_at FROM given WHERE project = 'lab' AND valid_from > '2026-06-01';

-- in an isolation level that would hide grants of other sessions, only the worker grants
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO yquota.budget (project, period, amount) VALUES ('web', 'year', 6);
SELECT yquota.quota_compute();
COMMIT;
SELECT count(*) FROM given WHERE amount = 6;
SELECT yquota.quota_compute();
SELECT count(*) FROM given WHERE amount = 6;
-- READ UNCOMMITTED works like READ COMMITTED
BEGIN ISOLATION LEVEL READ UNCOMMITTED;
INSERT INTO yquota.budget (project, period, amount) VALUES ('web', 'quarter', 7);
SELECT count(*) FROM given WHERE amount = 7;
ROLLBACK;

-- bad input
\set VERBOSITY terse
INSERT INTO yquota.budget (project, period, amount) VALUES ('lab', 'hour', 3);
INSERT INTO yquota.budget (project, period, amount) VALUES ('lab', 'day', -3);
INSERT INTO yquota.budget (project, period, amount) VALUES ('nobody', 'day', 3);
INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('lab', 'day', 3, '-infinity');
INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('lab', 'day', 3, '0202-01-01');
INSERT INTO yquota.budget (project, period, amount) VALUES ('lab', 'month', 3);


-- Amounts are at most 10^30 credits, so that no sum of them overflows. Balances, reports and the
-- worker's rounds show sums of such grants, also for a sub-project.
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 9e131071, 'x');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1e30 + 1e-54, 'x');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', -1e30 - 1, 'x');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 'NaN', 'x');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', '-Infinity', 'x');
INSERT INTO yquota.budget (project, period, amount) VALUES ('web', 'quarter', 1e30 + 1);
INSERT INTO yquota.budget (project, period, amount) VALUES ('web', 'quarter', 'Infinity');
INSERT INTO yquota.federated_budget (project, period, amount) VALUES ('web', 'month', 1e30 + 1);
\set VERBOSITY default
SELECT yquota.hold('lab', 'application_1_0001', 1e30 + 1, '1 day');
SELECT yquota.hold('lab', 'application_1_0001', 'NaN', '1 day');
INSERT INTO yquota.project (name, parent) VALUES ('rich', NULL), ('richer', 'rich');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at)
SELECT project, sign * 1e30, 'x', yquota.clock() + interval '40 hours' * number
FROM unnest('{rich,richer}'::text[]) AS project, generate_series(1, 10) AS number, unnest('{1,1,-1}'::numeric[]) AS sign;
INSERT INTO yquota.budget (project, period, amount, rollover) VALUES ('rich', 'month', 1e30, true);
INSERT INTO yquota.federated_budget (project, period, amount) VALUES ('rich', 'month', 1e30);
SELECT count(yquota.hold('richer', 'application_1_' || number, 1e30, '10 years')) FROM generate_series(1, 3) AS number;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'rich1', yquota.clock() - interval '1 day', 'richer', '[vcores=1]');
SELECT project, granted, accrued, held, remaining, available, exhausted_at FROM yquota.project_balance WHERE project LIKE 'rich%' ORDER BY 1;
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT yquota.set_clock(yquota.clock() + interval '200 hours');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT project, granted, accrued, held, remaining, available, exhausted_at FROM yquota.project_balance WHERE project LIKE 'rich%' ORDER BY 1;
SELECT count(*), sum(lost) FROM yquota.grant_status WHERE project LIKE 'rich%' AND state = 'expired';
SELECT metric, value FROM yquota.metrics WHERE labels ->> 'project' = 'rich' ORDER BY metric;
SELECT project, remaining, ends_at FROM yquota.forecast() WHERE project LIKE 'rich%';
SELECT granted, spent, remaining FROM yquota.balance_at('rich', yquota.clock() - interval '100 hours');
SELECT length(yquota.report_html(yquota.clock() - interval '30 days', yquota.clock())) > 0 AS reported;
SELECT project, free FROM yquota.federated_budget_status;
SELECT count(*) FROM yquota.renew_leases();
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_budget;
