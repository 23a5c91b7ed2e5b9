--
-- Thresholds of remaining credit, of grants that expire, and of credit that lasts for little time.
-- Alerts are raised, cleared and raised again, or raised once.
--
CREATE DATABASE yquota_low_balance;
\c yquota_low_balance
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
-- in New York clocks go forward on March 8th
INSERT INTO yquota.billing_setting (timezone) VALUES ('America/New_York');
INSERT INTO yquota.project (name) SELECT unnest('{amount,single,several,rate,quiet}'::text[]);
INSERT INTO yquota.project (name, on_exhausted) VALUES ('hard', 'stop');
CREATE VIEW told AS
	SELECT subject, detail, severity, raised_at, cleared_at FROM yquota.alert WHERE kind = 'spending_threshold' ORDER BY alert_id;
CREATE PROCEDURE spend(project text, at timestamptz, credits integer) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock(at);
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
		('CONTAINER_START', format('%s %s', project, at), at - interval '1 second', project, format('[vcores=%s]', credits)::yquota.resource),
		('CONTAINER_FINISH', format('%s %s', project, at), at, NULL, NULL);
	PERFORM yquota.quota_compute();
END $$;

-- a row sets exactly one column, within its range
INSERT INTO yquota.spending_threshold (project) VALUES ('amount');
INSERT INTO yquota.spending_threshold (project, fraction, remaining) VALUES ('amount', 0.5, 100);
INSERT INTO yquota.spending_threshold (project, remaining) VALUES ('amount', 'NaN');
INSERT INTO yquota.spending_threshold (project, remaining) VALUES ('amount', -1e31);
INSERT INTO yquota.spending_threshold (before_expiry) VALUES ('0');
INSERT INTO yquota.spending_threshold (before_expiry) VALUES ('10 years 1 day');
INSERT INTO yquota.spending_threshold (lasts_less_than) VALUES ('-3 days');
INSERT INTO yquota.spending_threshold (before_expiry) VALUES ('7 days'), ('168 hours');
INSERT INTO yquota.spending_threshold (project, remaining) VALUES ('nobody', 1);

-- A row replaces only rows of the same column. Fractions stay, and a row with "remaining" for one project replaces the
-- row for all projects.
INSERT INTO yquota.spending_threshold (project, remaining) VALUES (NULL, 500), ('hard', 0), ('rate', -1e30), ('single', -1e30), ('several', -1e30);
SELECT * FROM yquota_internal.project_threshold WHERE project IN ('amount', 'hard') ORDER BY project, fraction, remaining;
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('amount', 1000, 'March'), ('hard', 10, 'March');
CALL spend('amount', '2026-03-02 10:10+00', 499);
SELECT * FROM told;
-- held credit still counts as remaining
SELECT yquota.hold('amount', 'app', 400, '1 day') > 0 AS held, yquota.quota_compute();
SELECT * FROM told;
CALL spend('amount', '2026-03-02 10:20+00', 1);
SELECT * FROM told;
SELECT figures FROM yquota.alert WHERE subject = 'amount 500 credits';
SELECT yquota.quota_compute();
SELECT count(*) FROM told;
-- a grant clears the alert, and it is raised again later
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('amount', 0.5, 'more');
SELECT yquota.quota_compute();
SELECT subject, cleared_at FROM told WHERE subject LIKE 'amount %';
CALL spend('amount', '2026-03-02 10:30+00', 1);
CALL spend('hard', '2026-03-02 10:31+00', 10);
SELECT * FROM told WHERE raised_at >= '2026-03-02 10:30+00';
DELETE FROM yquota.spending_threshold WHERE remaining = 500;
SELECT yquota.quota_compute();
SELECT subject, cleared_at FROM told WHERE subject LIKE '% credits';

-- a grant expires: alerts come seven days before, by the time zone of bills, and one day before
INSERT INTO yquota.spending_threshold (before_expiry) VALUES ('7 days'), ('1 day');
SELECT yquota.set_clock('2026-03-02 11:00+00');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
	('single', 1000, 'to March 12th', '2026-03-12 04:00+00'),
	('several', 100, 'to March 20th', '2026-03-20 04:00+00'), ('several', 1000, 'to March 31st', '2026-03-31 04:00+00'),
	('quiet', 100, 'to March 12th', '2026-03-12 04:00+00'), ('quiet', -100, 'taken back', 'infinity');
CREATE VIEW expiring AS
	SELECT regexp_replace(subject, 'grant \d+', reason) AS subject, regexp_replace(alert.detail, 'Grant \d+', 'Grant') AS detail, raised_at, cleared_at,
		   figures ->> 'expiring' AS expiring, figures ->> 'expires_at' AS expires_at
	FROM yquota.alert JOIN yquota.quota_grant ON quota_grant.grant_id = (figures ->> 'grant_id')::bigint ORDER BY alert_id;
SELECT yquota.set_clock('2026-03-05 04:59:59.999999+00'), yquota.quota_compute();
SELECT * FROM expiring;
SELECT yquota.set_clock('2026-03-05 05:00+00'), yquota.quota_compute(), yquota.quota_compute();
SELECT * FROM expiring;
SELECT figures - 'grant_id' AS figures FROM yquota.alert WHERE subject LIKE 'single grant%';
SELECT yquota.set_clock('2026-03-11 04:00+00'), yquota.quota_compute();
SELECT * FROM expiring;
-- When the grant is spent, the alert is cleared. Credit that returns later raises no second alert.
CALL spend('single', '2026-03-11 05:00+00', 1000);
SELECT subject, cleared_at FROM expiring;
SELECT count(*) AS voided FROM yquota.void_events('single 2026-03-11 05:00:00+00', 'a mistake');
SELECT yquota.quota_compute();
SELECT remaining FROM yquota.grant_status WHERE project = 'single';
SELECT subject, cleared_at FROM expiring;
-- the grant that expires first is spent first
CALL spend('several', '2026-03-12 05:00+00', 60);
SELECT yquota.set_clock('2026-03-13 04:00+00'), yquota.quota_compute();
SELECT * FROM expiring WHERE subject LIKE 'several %';
CALL spend('several', '2026-03-13 05:00+00', 39);
SELECT subject, cleared_at FROM expiring WHERE subject LIKE 'several %';
CALL spend('several', '2026-03-13 06:00+00', 1);
SELECT subject, cleared_at FROM expiring WHERE subject LIKE 'several %';
CALL spend('several', '2026-03-13 07:00+00', 200);
SELECT yquota.set_clock('2026-03-25 04:00+00'), yquota.quota_compute();
SELECT subject, expiring, cleared_at FROM expiring WHERE subject LIKE 'several %';
SELECT amount, remaining FROM yquota.grant_status WHERE project = 'several' AND state = 'valid';
-- when a grant has expired, its alert is cleared, too, and its crossing is forgotten
SELECT yquota.set_clock('2026-03-31 04:00+00'), yquota.quota_compute(), yquota.quota_compute();
SELECT subject, expiring, raised_at, cleared_at FROM expiring WHERE subject LIKE 'several %';
SELECT count(*) FROM yquota_internal.told_crossing WHERE before_expiry IS NOT NULL;
-- a new threshold raises its alert at once, and a deleted threshold clears its alert
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('single', 7, 'to April 2nd', '2026-04-02 04:00+00');
DELETE FROM yquota.spending_threshold WHERE before_expiry IS NOT NULL;
INSERT INTO yquota.spending_threshold (project, before_expiry) VALUES ('single', '30 days');
SELECT yquota.quota_compute();
DELETE FROM yquota.spending_threshold WHERE before_expiry IS NOT NULL;
SELECT yquota.set_clock('2026-03-31 05:00+00'), yquota.quota_compute();
SELECT * FROM expiring WHERE raised_at >= '2026-03-31';

-- credit that lasts for little time at the spending rate of the last 24 hours
INSERT INTO yquota.spending_threshold (project, lasts_less_than) VALUES ('rate', '3 days');
INSERT INTO yquota.spending_threshold (project, fraction) VALUES ('rate', 10);
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('rate', 10000, 'April');
CREATE VIEW rate AS SELECT * FROM told WHERE subject LIKE 'rate %';
CALL spend('rate', '2026-04-01 10:00+00', 2500);
SELECT * FROM rate;
CALL spend('rate', '2026-04-01 11:00+00', 1);
SELECT * FROM rate;
SELECT figures FROM yquota.alert WHERE subject LIKE 'rate %';
-- spending is slower, but not slow enough: 7499 credits are left when 2000 a day are spent, and later less is spent
SELECT yquota.set_clock('2026-04-02 09:00+00'), yquota.quota_compute();
CALL spend('rate', '2026-04-02 10:30+00', 2000);
SELECT remaining / 2001 AS days FROM yquota.project_balance WHERE project = 'rate';
SELECT subject, cleared_at FROM rate;
SELECT yquota.set_clock('2026-04-03 10:15+00'), yquota.quota_compute();
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('rate', 1000, 'a little');
SELECT yquota.quota_compute();
SELECT remaining / 2000 AS days FROM yquota.project_balance WHERE project = 'rate';
SELECT subject, cleared_at FROM rate;
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('rate', 1001, 'enough');
SELECT yquota.quota_compute();
SELECT subject, cleared_at FROM rate;
CALL spend('rate', '2026-04-03 10:20+00', 100);
SELECT subject, cleared_at FROM rate;
CALL spend('rate', '2026-04-03 10:25+00', 2300);
SELECT * FROM rate;
-- when nothing is spent any more, the alert is cleared
SELECT yquota.set_clock('2026-04-05 10:15+00'), yquota.quota_compute();
SELECT subject, cleared_at FROM rate;
DELETE FROM yquota.spending_threshold WHERE lasts_less_than IS NOT NULL;
SELECT yquota_internal.note_forecasts(yquota.clock()), yquota_internal.has_forecast_thresholds();

-- the job checks thresholds of both kinds every quarter of an hour, but only if there is such a
-- threshold
SELECT yquota_internal.job_is_due('forecast', '2026-04-06 10:15+00') AS without;
INSERT INTO yquota.spending_threshold (project, lasts_less_than) VALUES ('rate', '3 days');
SELECT yquota_internal.job_is_due('forecast', '2026-04-06 10:16+00') AS first, yquota_internal.job_is_due('forecast', '2026-04-06 10:29+00') AS later,
	   yquota_internal.job_is_due('forecast', '2026-04-06 10:30+00') AS next;
SELECT yquota_internal.run_job('forecast', 'worker', '2026-04-06 10:30+00');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT yquota_internal.note_forecasts(yquota.clock());
ROLLBACK;
-- A lease is a part of a federated budget, so only the federation raises its alerts. Without a lease the project
-- gets alerts like any other.
INSERT INTO yquota.project (name) VALUES ('leased'), ('federated');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('leased', 10, 'a lease', '2026-04-06 10:00+00');
INSERT INTO yquota_internal.taken_lease (federation, identity, history, lease, period, starts_on, grant_id)
SELECT 'all', gen_random_uuid(), '1/1/1', 1, 'month', '2026-04-01', grant_id FROM yquota.quota_grant WHERE project = 'leased';
INSERT INTO yquota.spending_threshold (project, remaining, before_expiry, lasts_less_than) VALUES
	('leased', 100, NULL, NULL), ('leased', NULL, '10 days', NULL), ('leased', NULL, NULL, '10 years'), ('federated', 100, NULL, NULL);
CALL spend('leased', '2026-04-05 10:20+00', 1);
INSERT INTO yquota.federated_budget (project, period, amount) VALUES ('federated', 'month', 100);
SELECT yquota.quota_compute();
UPDATE yquota.federated_budget SET amount = 101;
SELECT yquota.quota_compute();
SELECT subject, detail, cleared_at FROM told WHERE subject ~ '^(leased|federated) ';
SELECT yquota.set_clock('2026-04-06 10:00+00'), yquota.quota_compute();
SELECT subject FROM told WHERE subject ~ '^leased ' AND cleared_at IS NULL;
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_low_balance;
