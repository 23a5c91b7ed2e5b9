--
-- project.credit_limit and project.exhaustion_grace.  A vcore costs one credit per second here, so every
-- figure can be checked by hand.
--
CREATE DATABASE yquota_credit_limit;
\c yquota_credit_limit
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
CREATE VIEW balance AS
	SELECT project, remaining, held, available, limited_by, exhausted_at, credit_limit, exhaustion_grace, acts_at, action
	FROM yquota.project_balance ORDER BY project;
CREATE VIEW work AS SELECT project, action, remaining, container_id FROM yquota.exhausted_work ORDER BY container_id;
CREATE VIEW gauge AS
	SELECT labels ->> 'project' AS project, metric, trim_scale(value) AS value FROM yquota.metrics
	WHERE metric IN ('yquota_project_remaining_credits', 'yquota_project_available_credits', 'yquota_project_exhausted',
					 'yquota_project_seconds_left', 'yquota_project_action_seconds_left')
	ORDER BY 1, 2;

--
-- The credit limit and the time of grace are at least 0
--
\set VERBOSITY terse
INSERT INTO yquota.project (name, credit_limit) VALUES ('wrong', -1);
INSERT INTO yquota.project (name, credit_limit) VALUES ('wrong', 'NaN');
INSERT INTO yquota.project (name, credit_limit) VALUES ('wrong', 'Infinity');
INSERT INTO yquota.project (name, credit_limit) VALUES ('wrong', 1e-67);
INSERT INTO yquota.project (name, exhaustion_grace) VALUES ('wrong', '-1 microsecond');
INSERT INTO yquota.project (name, exhaustion_grace) VALUES ('wrong', '10 years 1 microsecond');
\set VERBOSITY default

--
-- The balance may go below zero down to the credit limit, and work ends in the microsecond in which
-- the balance passes the limit
--
INSERT INTO yquota.project (name, on_exhausted, credit_limit) VALUES ('lab', 'stop', 30.5), ('web', 'stop', 0);
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 100, 'March'), ('web', 100, 'March');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'l1', '2026-03-02 10:00:00+00', 'lab', 'app_l', '[vcores=1]'),
	('CONTAINER_START', 'w1', '2026-03-02 10:00:00+00', 'web', 'app_w', '[vcores=1]');
TABLE balance;
SELECT yquota.set_clock('2026-03-02 10:01:40+00');
TABLE balance;
TABLE work;
TABLE gauge;
SELECT yquota.hold('lab', 'app_2', 31, '1 hour');
SELECT yquota.hold('lab', 'app_2', 30.5, '1 hour') AS hold_id \gset
TABLE balance;
SELECT yquota.release_hold(:hold_id);
SELECT yquota.set_clock('2026-03-02 10:02:10.499999+00');
SELECT * FROM balance WHERE project = 'lab';
TABLE work;
SELECT yquota.set_clock('2026-03-02 10:02:10.5+00');
SELECT * FROM balance WHERE project = 'lab';
TABLE work;
SELECT at, b.remaining, b.exhausted_at
FROM unnest('{2026-03-02 10:01:00+00,2026-03-02 10:02:10.499999+00,2026-03-02 10:02:10.5+00}'::timestamptz[]) AS at, yquota.balance_at('lab', at) AS b;
SELECT project, remaining, spent_per_day, ends_at FROM yquota.forecast();
-- a higher limit lets the work continue
UPDATE yquota.project SET credit_limit = 1000 WHERE name = 'lab';
SELECT * FROM balance WHERE project = 'lab';
TABLE work;
SELECT project, ends_at FROM yquota.forecast('lab');
SELECT operation, old ->> 'credit_limit' AS old, new ->> 'credit_limit' AS new FROM yquota.audit WHERE table_name = 'yquota.project' ORDER BY audit_id DESC LIMIT 1;
-- Thresholds are shares of the granted credit. The hard limit is where on_exhausted acts.
SELECT yquota.quota_compute();
SELECT subject, figures -> 'hard' AS hard, figures -> 'remaining' AS remaining FROM yquota.alert WHERE kind = 'spending_threshold' ORDER BY subject;
-- NOLIMIT projects have no limit
UPDATE yquota.project SET quota_mode = 'NOLIMIT', exhaustion_grace = '1 hour' WHERE name = 'lab';
SELECT * FROM balance WHERE project = 'lab';
UPDATE yquota.project SET quota_mode = 'PREPAID', exhaustion_grace = '0' WHERE name = 'lab';

--
-- Admission: the credit limit counts as credit, but during the time of grace no application is
-- accepted
--
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=65536,vcores=64]');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
CREATE VIEW admitted AS
	SELECT project, state, decided_by, reason
	FROM unnest('{lab,web}'::text[]) AS project, yquota.submit_application('application_' || project, 'ann', NULL, 'root.a', project => project, dry_run => true);
TABLE admitted;
UPDATE yquota.project SET credit_limit = 30.5, exhaustion_grace = '1 day' WHERE name = 'lab';
TABLE admitted;
TABLE work;
UPDATE yquota.project SET credit_limit = 1000, exhaustion_grace = '0' WHERE name = 'lab';

--
-- Families: each budget has its own limit and its own time of grace
--
INSERT INTO yquota.project (name, parent, on_exhausted, credit_limit, exhaustion_grace) VALUES
	('uni', NULL, 'stop', 20, '10 seconds'), ('physics', 'uni', 'drain', 7, '1 hour'), ('maths', 'uni', 'allow', 0, '0'), ('art', 'uni', 'allow', 1000, '1 day');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('uni', 100, 'year'), ('physics', 10, 'share'), ('maths', 500, 'share');
SELECT * FROM balance WHERE project IN ('uni', 'physics', 'maths', 'art');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'p1', '2026-03-02 10:02:10.5+00', 'physics', 'app_p', '[vcores=1]'),
	('CONTAINER_START', 'm1', '2026-03-02 10:02:10.5+00', 'maths', 'app_m', '[vcores=3]');
SELECT * FROM balance WHERE project IN ('uni', 'physics', 'maths', 'art');
-- the share of physics is used up after 17 s, and during its hour of grace nothing drains
SELECT yquota.set_clock('2026-03-02 10:02:30+00');
SELECT * FROM balance WHERE project IN ('uni', 'physics', 'maths', 'art');
SELECT * FROM work WHERE project NOT IN ('web', 'lab');
-- the share of uni is used up after 30 s, and the last microsecond of its 10 seconds of grace is
-- 10:02:50.499999
SELECT yquota.set_clock('2026-03-02 10:02:50.499999+00');
SELECT * FROM balance WHERE project IN ('uni', 'physics', 'maths', 'art');
SELECT * FROM work WHERE project NOT IN ('web', 'lab');
SELECT yquota.set_clock('2026-03-02 10:02:50.5+00');
SELECT * FROM balance WHERE project IN ('uni', 'physics', 'maths', 'art');
SELECT * FROM work WHERE project NOT IN ('web', 'lab');

--
-- The time of grace starts again after new credit, and moves with events that arrive late
--
INSERT INTO yquota.project (name, on_exhausted, exhaustion_grace) VALUES ('grace', 'stop', '1 minute');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('grace', 10, 'March');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'g1', '2026-03-02 10:02:50.5+00', 'grace', 'app_g', '[vcores=3]');
SELECT * FROM balance WHERE project = 'grace';
SELECT yquota.set_clock('2026-03-02 10:03:00+00');
SELECT * FROM balance WHERE project = 'grace';
SELECT * FROM gauge WHERE project = 'grace';
-- 10 / 3 s are 3.333334 s, rounded up to whole microseconds
SELECT yquota.set_clock('2026-03-02 10:03:53.833333+00');
SELECT acts_at, action, (SELECT count(*) FROM work WHERE project = 'grace') AS to_stop FROM balance WHERE project = 'grace';
SELECT yquota.set_clock('2026-03-02 10:03:53.833334+00');
SELECT acts_at, action, (SELECT count(*) FROM work WHERE project = 'grace') AS to_stop FROM balance WHERE project = 'grace';
-- new credit lasts for some seconds, and then another minute of grace begins
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('grace', 200, 'more');
SELECT remaining, exhausted_at, acts_at, (SELECT count(*) FROM work WHERE project = 'grace') AS to_stop FROM balance WHERE project = 'grace';
SELECT yquota.set_clock('2026-03-02 10:05:00+00');
SELECT remaining, exhausted_at, acts_at, (SELECT count(*) FROM work WHERE project = 'grace') AS to_stop FROM balance WHERE project = 'grace';
-- a late event shows that another container ran before, so the credit ended earlier
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'g2', '2026-03-02 10:03:00+00', 'grace', '[vcores=1]'), ('CONTAINER_FINISH', 'g2', '2026-03-02 10:03:06+00', 'grace', NULL);
SELECT remaining, acts_at FROM balance WHERE project = 'grace';
-- a void shows that a container never ran, so the credit has not ended at all
SELECT yquota.void_events('g1', 'never ran') \g /dev/null
SELECT remaining, acts_at, (SELECT count(*) FROM work WHERE project = 'grace') AS to_stop FROM balance WHERE project = 'grace';
-- a project that never had credit has no time of grace, and with on_exhausted allow nothing follows
-- it
INSERT INTO yquota.project (name, on_exhausted, exhaustion_grace) VALUES ('never', 'drain', '1 hour'), ('free', 'allow', '1 hour');
SELECT * FROM balance WHERE project IN ('never', 'free');

-- a single read of the books gives the same balances as a read for each instant
INSERT INTO yquota.project (name, on_exhausted, exhaustion_grace) VALUES ('steps', 'drain', '10 minutes');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at)
	SELECT 'steps', 5 * n, 'step', yquota.statement_clock() + (41 - n) * interval '3.7 s' FROM generate_series(1, 40) AS n;
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from)
	SELECT 'steps', n, 'later', yquota.statement_clock() + n * interval '7 s' FROM generate_series(1, 20) AS n;
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES (yquota.statement_clock(), '5 s');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT e.event::yquota.container_event_type, 's' || n, yquota.statement_clock() + n * interval '3.7 s' + e.after, 'steps', '[vcores=12]'
	FROM generate_series(1, 38) AS n, (VALUES ('CONTAINER_START', interval '0'), ('CONTAINER_FINISH', '3.7 s')) AS e (event, after);
SELECT yquota.set_clock('2026-03-02 10:09:00+00');
SELECT remaining, acts_at FROM balance WHERE project = 'steps';
-- the past balance as balance_at() computes it, without an archive
CREATE FUNCTION unspent_at(project text, at timestamptz) RETURNS numeric LANGUAGE sql STABLE
	RETURN yquota_internal.granted_at(project, at) - yquota_internal.spent_at(project, at, NULL);
SELECT count(*), count(*) FILTER (WHERE found.amount = unspent_at('steps', found.at)) AS same,
	   count(*) FILTER (WHERE found.amount > 0) AS positive
	FROM yquota_internal.unspent_since('steps', '2026-03-02 10:05:01+00') AS found;
SELECT unspent_at('steps', found.at - interval '1 microsecond') > 0 AS some_left, unspent_at('steps', found.at) > 0 AS still_left
	FROM (SELECT acts_at - interval '10 minutes' FROM balance WHERE project = 'steps') AS found (at);

SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_credit_limit;
