--
-- Sub-projects: their spending also counts for the projects above them. A vcore costs one credit
-- per second here, so every figure can be checked by hand.
--
CREATE DATABASE yquota_sub_project;
\c yquota_sub_project
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
-- rows may be inserted in any order, and physics has no grants of its own
INSERT INTO yquota.project (name, parent) VALUES ('laser', 'physics'), ('physics', 'uni'), ('uni', NULL), ('maths', 'uni'), ('other', NULL);
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('uni', 1000, 'year'), ('laser', 300, 'share'), ('maths', 5000, 'more than there is');
CREATE VIEW balance AS
	SELECT project, granted, charged + accrued AS spent, held, remaining, available, limited_by, burn_rate, exhausted_at
	FROM yquota.project_balance ORDER BY project;
TABLE yquota_internal.project_family ORDER BY 1, 2;
TABLE balance;

--
-- Spending of a sub-project counts for the projects above, to the microsecond
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'l1', '2026-03-02 09:59:50.000001+00', 'laser', 'app_l', '[vcores=3]'),
	('CONTAINER_START', 'm1', '2026-03-02 10:00:00+00', 'maths', 'app_m', '[vcores=2]'),
	('CONTAINER_START', 'p1', '2026-03-02 10:00:00+00', 'physics', 'app_p', '[vcores=1]'),
	('CONTAINER_START', 'u1', '2026-03-02 10:00:00+00', 'uni', 'app_u', '[vcores=4]');
SELECT yquota.set_clock('2026-03-02 10:00:10+00');
TABLE balance;
-- results are the same after compaction, and when some charges are settled
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'l1', '2026-03-02 10:00:05+00'), ('CONTAINER_FINISH', 'm1', '2026-03-02 10:00:10+00');
SELECT project, charged, accrued, remaining, available FROM yquota.project_balance ORDER BY project;
SELECT yquota.quota_compute();
SELECT project, charged, accrued, remaining, available FROM yquota.project_balance ORDER BY project;
SELECT project, charged, accrued, remaining, available FROM yquota.project_balance WHERE project = 'physics';
SELECT project, amount FROM yquota.cost_between('-infinity', 'infinity', '{project}') ORDER BY project;

--
-- Holds also count for the projects above, and siblings cannot both hold the last credit
--
SELECT yquota.hold('laser', 'app_h', 255.000004, '1 hour');
SELECT yquota.hold('laser', 'app_h', 255.000003, '1 hour');
SELECT yquota.hold('physics', 'app_h', 600, '1 hour');
SELECT project, held, remaining, available, limited_by FROM yquota.project_balance ORDER BY project;
SELECT yquota.hold('maths', 'app_i', 30, '1 hour');
SELECT yquota.release_hold(hold_id) FROM yquota.hold WHERE project = 'laser';
SELECT yquota.hold('maths', 'app_i', 30, '1 hour');
SELECT remaining, affordable FROM yquota.price_quote('[vcores=1]', '254.999999 s', project => 'laser');
SELECT remaining, affordable FROM yquota.price_quote('[vcores=1]', '200 s', project => 'physics');
SELECT remaining, affordable FROM yquota.price_quote('[vcores=1]', '100000 s', project => 'other');
SELECT yquota.release_hold(hold_id) FROM yquota.hold WHERE released_at IS NULL;

--
-- A project above without any grant limits no project. Where no project above has a grant, there is
-- no credit, and NOLIMIT has no limit.
--
INSERT INTO yquota.project (name, parent, quota_mode) VALUES ('a', NULL, 'PREPAID'), ('a.rich', 'a', 'PREPAID'), ('a.poor', 'a', 'PREPAID'),
	('a.free', 'a', 'NOLIMIT'), ('a.free.rich', 'a.free', 'PREPAID'), ('a.free.poor', 'a.free', 'PREPAID'), ('uni.free', 'uni', 'NOLIMIT'), ('uni.free.x', 'uni.free', 'PREPAID');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('a.rich', 10, 'x'), ('a.free', 5, 'x'), ('a.free.rich', 20, 'x');
SELECT project, remaining, available, limited_by FROM yquota.project_balance WHERE project LIKE 'a%' OR project LIKE 'uni.%' ORDER BY project;
-- metrics show the same values, and a project without a limit has neither metric
SELECT labels ->> 'project' AS project, value AS available
FROM yquota.metrics WHERE metric = 'yquota_project_available_credits' AND labels ->> 'project' ~ '^(a|uni[.])' ORDER BY project;
SELECT labels ->> 'project' AS project, labels ->> 'limited_by' AS limited_by, metric, value
FROM yquota.metrics WHERE family = 'project_limit' AND labels ->> 'project' ~ '^(a|uni[.])' ORDER BY project;
SELECT yquota.hold('a.poor', 'x', 1, '1 hour');
SELECT yquota.hold('uni.free', 'x', 100000, '1 hour'), yquota.hold('a.free.poor', 'x', 100000, '1 hour');
SELECT yquota.hold('physics', 'x', 1, '1 hour');
SELECT yquota.release_hold(hold_id) FROM yquota.hold WHERE released_at IS NULL;
-- a budget limits the project from its first grant on
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from) VALUES ('physics', 50, 'from March 3 on', '2026-03-03 00:00+00');
SELECT project, granted, available, limited_by FROM yquota.project_balance WHERE project = 'physics';

--
-- When a budget is used up, the strictest on_exhausted counts, of all projects from this one up to
-- the one with the budget
--
UPDATE yquota.project SET on_exhausted = 'drain' WHERE name = 'physics';
UPDATE yquota.project SET on_exhausted = 'refuse_submission' WHERE name = 'uni';
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=65536,vcores=64]');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.q', '100');
CREATE VIEW work AS SELECT project, on_exhausted, action, remaining, container_id FROM yquota.exhausted_work ORDER BY container_id;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'l2', '2026-03-02 10:00:10+00', 'laser', 'app_l', '[vcores=51]'), ('CONTAINER_START', 'm2', '2026-03-02 10:00:10+00', 'maths', 'app_m', '[vcores=1]');
-- the budget of laser is used up, and laser's own policy allows work
SELECT yquota.set_clock('2026-03-02 10:00:15.000001+00');
SELECT project, available, limited_by, exhausted_at, action FROM yquota.project_balance WHERE project IN ('laser', 'physics', 'maths', 'uni') ORDER BY project;
TABLE work;
SELECT application_id, state, decided_by, decided_at, reason FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'q', project => 'laser');
-- the budget of uni is used up
SELECT yquota.set_clock('2026-03-02 10:00:25.526316+00');
SELECT project, available, limited_by, exhausted_at, action FROM yquota.project_balance WHERE project IN ('laser', 'physics', 'maths', 'uni') ORDER BY project;
TABLE work;
SELECT application_id, state, decided_by, decided_at, reason FROM yquota.submit_application('application_1_0002', 'ann', '{}', 'q', project => 'laser');
SELECT application_id, state, decided_by, decided_at, reason FROM yquota.submit_application('application_1_0003', 'ann', '{}', 'q', project => 'maths');
UPDATE yquota.project SET on_exhausted = 'stop' WHERE name = 'uni';
TABLE work;
UPDATE yquota.project SET on_exhausted = 'allow' WHERE name IN ('uni', 'physics');
TABLE work;
SELECT application_id, state, decided_by FROM yquota.submit_application('application_1_0004', 'ann', '{}', 'q', project => 'maths');

--
-- Spending of sub-projects crosses thresholds of the projects above
--
SELECT yquota.quota_compute();
SELECT subject, detail FROM yquota.alert WHERE kind = 'spending_threshold' ORDER BY alert_id;

--
-- When a grant expires, the part that no sub-project has spent is lost
--
INSERT INTO yquota.project (name, parent) VALUES ('top', NULL), ('sub', 'top');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('top', 100, 'expires', '2026-03-02 11:00+00'), ('top', 50, 'stays', DEFAULT);
SELECT yquota.set_clock('2026-03-02 11:00:20+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 's1', '2026-03-02 10:59:00+00', 'sub', '[vcores=1]'), ('CONTAINER_FINISH', 's1', '2026-03-02 11:00:10+00', NULL, NULL);
SELECT project, granted, charged, remaining, available FROM yquota.project_balance WHERE project IN ('top', 'sub') ORDER BY project;
SELECT amount, state, spent, remaining, lost FROM yquota.grant_status WHERE project = 'top' ORDER BY amount;
SELECT yquota.quota_compute();
SELECT project, granted, charged, remaining, available FROM yquota.project_balance WHERE project IN ('top', 'sub') ORDER BY project;
-- forecast() reports the end of credit for the project that has the credit
SELECT project, remaining, spent_per_day, ends_at FROM yquota.forecast() WHERE project IN ('top', 'sub') ORDER BY project;
SELECT project, remaining, spent_per_day, ends_at FROM yquota.forecast('top');

--
-- Refunds and corrections do not make a project limited. While a project has no grant of its own,
-- they count for the nearest project above that has one. From its first grant on they are its own.
--
INSERT INTO yquota.project (name, parent) VALUES ('inst', NULL), ('inst.a', 'inst'), ('inst.a.b', 'inst.a'), ('alone', NULL), ('alone.a', 'alone');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('inst', 100000, 'year');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('inst', 500, 'a minute', yquota.clock() + interval '1 min');
CREATE VIEW inst AS
	SELECT now.project, now.granted, now.remaining, now.available, now.limited_by, past.granted AS granted_at, past.remaining AS remaining_at
	FROM yquota.project_balance AS now
	CROSS JOIN LATERAL (SELECT b.* FROM yquota.balance_at(now.project, yquota.clock()) AS b OFFSET 0) AS past
	WHERE now.project IN ('inst', 'inst.a', 'inst.a.b', 'alone', 'alone.a') ORDER BY now.project;
CREATE VIEW inst_status AS
	SELECT project, kind, amount, state, spent, remaining, lost, counts_for FROM yquota.grant_status WHERE project ~ '^(inst|alone)' ORDER BY grant_id;
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES
	('inst.a.b', -32400, 'too little was charged', 'correction'), ('inst.a', 400, 'a node failed', 'refund'), ('alone.a', 30, 'a node failed', 'refund');
TABLE inst;
TABLE inst_status;
SELECT yquota.hold('inst.a.b', 'app_r', 67000, '1 s') > 0 AS held;
-- an expired grant has paid for the correction, and stays expired
SELECT yquota.set_clock(yquota.clock() + interval '2 min');
TABLE inst;
SELECT yquota.quota_compute() > '-infinity' AS done;
TABLE inst_status;
-- a project between the two gets a grant
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('inst.a', 50000, 'share');
TABLE inst;
TABLE inst_status;
SELECT yquota.hold('inst.a.b', 'app_r', 18000.1, '1 s') > 0 AS held;
SELECT granted, remaining FROM yquota.balance_at('inst', yquota.clock() - interval '1 s');
SELECT yquota.quota_compute() > '-infinity' AS done;
TABLE inst;
SELECT * FROM yquota.verify();

--
-- Impossible changes
--
UPDATE yquota.project SET parent = 'other' WHERE name = 'physics';
UPDATE yquota.project SET parent = NULL WHERE name = 'maths';
UPDATE yquota.project SET parent = 'top' WHERE name = 'a.free';
UPDATE yquota.project SET description = 'of matter', parent = 'uni' WHERE name = 'physics';
INSERT INTO yquota.project (name, parent) VALUES ('x', 'x');
INSERT INTO yquota.project (name, parent) VALUES ('x', 'y'), ('y', 'z'), ('z', 'x');
INSERT INTO yquota.project (name, parent) VALUES ('x', 'nobody');
INSERT INTO yquota.project (name) VALUES ('x'), ('y'), ('z');
UPDATE yquota.project SET parent = 'x' WHERE name = 'y';
UPDATE yquota.project SET parent = 'y' WHERE name = 'z';
UPDATE yquota.project SET parent = 'z' WHERE name = 'x';
UPDATE yquota.project SET parent = CASE name WHEN 'x' THEN 'z' WHEN 'y' THEN NULL ELSE 'y' END WHERE name IN ('x', 'y', 'z');
TABLE yquota_internal.project_family ORDER BY 1, 2;
UPDATE yquota.project SET parent = 'uni' WHERE name = 'y';
SELECT ancestor, depth FROM yquota_internal.project_family WHERE member = 'x' ORDER BY depth;
DELETE FROM yquota.project WHERE name = 'y';
UPDATE yquota.project SET name = 'y2' WHERE name = 'y';
UPDATE yquota.project SET name = 'x2' WHERE name = 'x';
SELECT ancestor, member FROM yquota_internal.project_family WHERE member = 'x2' ORDER BY depth;
DELETE FROM yquota.project WHERE name = 'x2';
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO yquota.project (name, parent) VALUES ('x', 'z');
ROLLBACK;
INSERT INTO yquota.project (name, parent) SELECT 'deep ' || i, CASE WHEN i > 0 THEN 'deep ' || i - 1 END FROM generate_series(0, 15) AS i;
INSERT INTO yquota.project (name, parent) VALUES ('deep 16', 'deep 15');
INSERT INTO yquota.project (name, parent) SELECT 'ring ' || i, 'ring ' || (i + 1) % 40 FROM generate_series(0, 39) AS i;

--
-- Members of a project see the projects below it, and no projects beside or above it
--
CREATE ROLE yquota_test_scholar;
SELECT yquota.allow_role('yquota_test_scholar', 'member', 'physics');
SET ROLE yquota_test_scholar;
SELECT project, parent, available, limited_by FROM yquota.project_balance ORDER BY project;
SELECT DISTINCT project FROM yquota.readable_charge ORDER BY project;
SELECT project, container_id FROM yquota.container_cost ORDER BY container_id;
SELECT yquota.hold('laser', 'x', 1, '1 hour');
SELECT yquota.hold('maths', 'x', 1, '1 hour');
SELECT remaining FROM yquota.price_quote('[vcores=1]', '1 s', project => 'maths');
RESET ROLE;
SELECT yquota.disallow_role('yquota_test_scholar', 'member', 'physics');
DROP ROLE yquota_test_scholar;

SELECT operation, old ->> 'parent' AS was, new ->> 'parent' AS "is" FROM yquota.audit WHERE table_name = 'yquota.project' AND coalesce(old, new) ->> 'name' = 'x' ORDER BY audit_id;
SELECT * FROM yquota.verify();

--
-- A correction took an amount from grants. The amount returns to the grants when the correction
-- moves to a sub-project. Of 130 credits, 90 return to a grant that is spent later and expires, and
-- 40 to an expired grant. The loss is on the bill of the time when the amount moves.
--
SELECT yquota.set_clock('2027-01-01 00:00+00');
INSERT INTO yquota.project (name, parent) VALUES ('r', NULL), ('s', 'r');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('r', 1000, 'three days', '2027-01-04 00:00+00'), ('r', 100, 'a day', '2027-01-02 00:00+00');
SELECT yquota.set_clock('2027-01-01 01:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'of s', '2027-01-01 00:30+00', 's', '[vcores=1]'), ('CONTAINER_FINISH', 'of s', '2027-01-01 00:31+00', NULL, NULL);
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('s', -130, 'too little was charged', 'correction');
CREATE VIEW returned AS SELECT project, reason, amount, state, spent, remaining, lost, counts_for FROM yquota.grant_status WHERE project IN ('r', 's') ORDER BY grant_id;
CREATE VIEW family_balance AS
	SELECT now.project, now.granted, now.charged, now.remaining, past.granted AS granted_then, past.remaining AS remaining_then
	FROM yquota.project_balance AS now, LATERAL yquota.balance_at(now.project, yquota.clock()) AS past WHERE now.project IN ('r', 's') ORDER BY now.project;
TABLE family_balance;
TABLE returned;
SELECT yquota.set_clock('2027-01-02 06:00+00');
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from) VALUES ('s', 50, 'share of s', '2027-01-03 00:00+00');
SELECT yquota.quota_compute();
SELECT yquota.set_clock('2027-01-03 00:00+00');
TABLE family_balance;
TABLE returned;
SELECT yquota.quota_compute();
TABLE family_balance;
SELECT lost, expired_at, reason FROM yquota.expired_grant JOIN yquota.quota_grant USING (grant_id) WHERE expired_grant.project = 'r' ORDER BY expired_at;
DO $$ BEGIN WHILE (SELECT closed_at IS NULL FROM yquota.close_period(date '2027-01-03')) LOOP END LOOP; END $$;
SELECT item, reason, amount FROM yquota.bill('r', date '2027-01-03');
SELECT yquota.set_clock('2027-01-04 00:00+00');
SELECT yquota.quota_compute();
TABLE family_balance;
TABLE returned;
DO $$ BEGIN WHILE (SELECT closed_at IS NULL FROM yquota.close_period(date '2027-01-04')) LOOP END LOOP; END $$;
SELECT item, reason, amount FROM yquota.bill('r', date '2027-01-04');
SELECT item, reason, amount FROM yquota.bill('s', date '2027-01-04');
SELECT granted, remaining FROM yquota.balance_at('r', '2027-01-02 12:00+00');
SELECT * FROM yquota.verify();
-- verify() reports rows that a session has changed instead of the triggers
DELETE FROM yquota_internal.project_family WHERE ancestor = 'uni' AND member = 'laser';
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_sub_project;
