--
-- Grants that begin later and expire. The grant that expires first is spent first, and the rest of
-- it is lost. A vcore costs one credit per second here, so every figure can be checked by hand.
--
CREATE DATABASE yquota_grant_expiry;
\c yquota_grant_expiry
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-01 00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('web');
INSERT INTO yquota.quota_grant (project, amount, reason, kind, expires_at) VALUES
	('lab', 1000, 'for good', 'grant', 'infinity'),
	('lab', 500, 'March', 'budget', '2026-04-01 00:00+00'),
	('lab', 300, 'first week', 'grant', '2026-03-08 00:00+00');
INSERT INTO yquota.quota_grant (project, amount, reason, kind, valid_from, expires_at) VALUES
	('lab', 500, 'April', 'budget', '2026-04-01 00:00+00', '2026-05-01 00:00+00');
CREATE VIEW status AS SELECT grant_id, kind, amount, state, spent, remaining, lost FROM yquota.grant_status WHERE project = 'lab' ORDER BY grant_id;
CREATE VIEW balance AS SELECT granted, charged, accrued, remaining, exhausted_at FROM yquota.project_balance WHERE project = 'lab';
-- the remaining parts of all grants add up to the remaining credit
CREATE VIEW consistent AS
	SELECT (SELECT sum(remaining) FROM status) - (SELECT remaining FROM balance) AS owed,
		   (SELECT sum(lost) FROM yquota_internal.lost_credit WHERE project = 'lab') AS lost;
SELECT * FROM status;
SELECT * FROM balance;

-- the grant that expires first is spent first
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-01 00:00+00', 'lab', 'app_1', '[vcores=1]');
SELECT yquota.set_clock('2026-03-01 00:01+00');
SELECT * FROM status;
SELECT yquota.set_clock('2026-03-01 00:10+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'c1', '2026-03-01 00:06:40+00');
SELECT * FROM status;
SELECT * FROM balance;

-- a container runs across an expiry, so its cost is divided there
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('lab', 50, 'until Monday', '2026-03-02 00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c2', '2026-03-01 00:10+00', 'lab', 'app_1', '[]');
SELECT yquota.set_clock('2026-03-02 00:00:10+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'c2', '2026-03-01 23:59:30+00', '[vcores=1]');
SELECT * FROM status;
SELECT * FROM balance;
SELECT * FROM consistent;
-- the worker records the losses, which changes no balance
SELECT yquota_internal.expire_grants(yquota.clock());
SELECT yquota_internal.expire_grants(yquota.clock());
SELECT * FROM yquota.expired_grant;
SELECT * FROM status WHERE grant_id = 5;
SELECT * FROM balance;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c2', '2026-03-02 00:00:10+00');
SELECT * FROM balance;

-- a late event is paid at once by the grants that were valid at its time
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c3', '2026-03-01 12:00+00', 'lab', 'app_1', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c3', '2026-03-01 12:00:15+00');
SELECT * FROM balance;
SELECT yquota.set_clock('2026-03-03 00:00:10+00');
SELECT yquota_internal.expire_grants(yquota.clock());
SELECT * FROM yquota.expired_grant;
SELECT * FROM balance;
SELECT * FROM consistent;

-- A negative correction is spending at the time of its booking. A refund is credit like any other.
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('lab', -100, 'March was too much', 'correction');
INSERT INTO yquota.quota_grant (project, amount, reason, kind, external_id) VALUES ('lab', 40, 'c1 failed for us', 'refund', 'ticket-1');
SELECT * FROM status;
SELECT * FROM balance;
SELECT * FROM consistent;

-- a grant that expired in the past is lost
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from, expires_at) VALUES ('lab', 77, 'too late', '2026-02-01', '2026-03-01');
SELECT * FROM status WHERE grant_id > 7;
SELECT granted, remaining FROM balance;

-- several months pass while the worker is away
SELECT yquota.set_clock('2026-05-01 00:00+00');
SELECT * FROM status;
SELECT * FROM balance;
SELECT * FROM consistent;
SELECT yquota_internal.expire_grants(yquota.clock());
SELECT * FROM balance;
SELECT * FROM consistent;

-- the next grant pays overdrawn credit, whenever the credit was spent
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('web', 100, 'May', '2026-05-02 00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'w1', '2026-05-01 00:00+00', 'web', 'app_2', '[vcores=1]');
SELECT yquota.set_clock('2026-05-02 00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'w1', '2026-05-01 00:03+00');
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'web';
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('web', 200, 'more', '2026-05-03 00:00+00');
SELECT amount, state, spent, remaining, lost FROM yquota.grant_status WHERE project = 'web' ORDER BY grant_id;
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'web';
SELECT yquota.set_clock('2026-05-03 00:00+00');
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'web';
SELECT yquota_internal.expire_grants(yquota.clock());
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'web';
-- which grant pays does not depend on how late the event arrives
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('web', 1000, 'for good');
SELECT yquota.set_clock('2026-06-08 00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'w2', '2026-05-02 12:00+00', 'web', 'app_2', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'w2', '2026-05-02 12:00:07+00');
SELECT yquota_internal.expire_grants(yquota.clock());
SELECT granted, charged, remaining FROM yquota.project_balance WHERE project = 'web';
SELECT amount, state, spent, remaining, lost FROM yquota.grant_status WHERE project = 'web' ORDER BY grant_id;

-- this kind of grant does not exist
\set VERBOSITY terse
INSERT INTO yquota.quota_grant (project, amount, reason, kind) VALUES ('lab', 1, 'x', 'present');
\set VERBOSITY default
SELECT * FROM yquota.verify();
BEGIN;
UPDATE yquota.expired_grant SET lost = lost + 1 WHERE grant_id = 5;
SELECT * FROM yquota.verify();
ROLLBACK;
BEGIN;
UPDATE yquota_internal.spending_mark SET spent = spent - 1 WHERE project = 'web' AND at = '2026-05-02';
SELECT * FROM yquota.verify();
ROLLBACK;
-- a member sees the status of the member's own grants
CREATE ROLE yquota_test_member;
SELECT yquota.allow_role('yquota_test_member', 'member', 'web');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('web', 5, 'a day', '2026-06-09 00:00+00');
SELECT yquota.hold('web', 'app_3', 1, '2 days') > 0 AS held;
SELECT yquota.set_clock('2026-06-09 00:00+00');
SET SESSION AUTHORIZATION yquota_test_member;
SELECT project, amount, state, remaining, lost FROM yquota.grant_status ORDER BY grant_id;
SELECT project, granted, held, remaining FROM yquota.project_balance;
SELECT project, spent, outstanding FROM yquota.hold_status;
RESET SESSION AUTHORIZATION;
SELECT yquota.disallow_role('yquota_test_member', 'member', 'web');
-- a role that may grant credit cannot choose booked_at
INSERT INTO yquota.quota_grant (project, amount, reason, booked_at) VALUES ('lab', 1, 'x', '2020-01-01') RETURNING booked_at;
UPDATE yquota.quota_grant SET booked_at = '2020-01-01' WHERE reason = 'x' RETURNING booked_at;
-- When many grants expire at once, the worker records some at a time. Balances do not depend on
-- that.
INSERT INTO yquota.project (name) SELECT 'many' || i FROM generate_series(1, 5) AS i;
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) SELECT 'many' || i, 10 * i, 'x', '2026-07-01' FROM generate_series(1, 5) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START', 'many' || i, yquota.clock(), 'many' || i, '[vcores=1]' FROM generate_series(1, 5) AS i;
SELECT yquota.set_clock(yquota.clock() + '4 s');
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', 'many' || i, yquota.clock() FROM generate_series(1, 5) AS i;
SELECT yquota.set_clock('2026-07-01 00:00+00');
CREATE VIEW many AS SELECT string_agg(concat(project, ' ', granted, ' ', remaining), ', ' ORDER BY project) AS balances,
	(SELECT count(*) FROM yquota.expired_grant WHERE project ~ '^many') AS noted
FROM yquota.project_balance WHERE project IN ('many1', 'many2', 'many3', 'many4', 'many5');
SELECT * FROM many;
-- the status of a project's grants is computed once for all of them, whatever number of grants the planner
-- estimates
BEGIN;
SET LOCAL track_functions = 'all';
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at)
SELECT 'many1', i, 'x', CASE WHEN i % 2 = 0 THEN '2026-07-02'::timestamptz ELSE '2026-07-03' END FROM generate_series(1, 200) AS i;
SELECT count(*), sum(remaining) FROM yquota.grant_status WHERE project = 'many1';
SELECT calls FROM pg_stat_xact_user_functions WHERE funcname = 'grant_outcome';
SELECT count(*) > 200 AS are_all FROM yquota.grant_status;
SELECT calls - 1 = (SELECT count(DISTINCT project) FROM yquota.quota_grant) AS once_for_each FROM pg_stat_xact_user_functions WHERE funcname = 'grant_outcome';
ROLLBACK;
-- an expired grant that was spent is recorded with a loss of zero, and no loss is due later
UPDATE yquota.quota_grant SET amount = 4 WHERE project = 'many1';
SELECT yquota_internal.expire_grants(yquota.clock(), 2);
SELECT project, lost FROM yquota.expired_grant WHERE project ~ '^many' ORDER BY project;
SELECT project, grants FROM yquota_internal.expiry_due ORDER BY project;
SELECT * FROM many;
SELECT yquota_internal.run_job('credit', 'worker') IS NULL AS is_done;
SELECT * FROM many;
SELECT yquota_internal.run_job('credit', 'worker') IS NULL AS is_done;
SELECT * FROM yquota.verify();

-- an expired grant stays expired after every later correction, so its credit cannot be held
INSERT INTO yquota.project (name) VALUES ('gone');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('gone', 10000, 'an hour', '2026-07-01 01:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START', id, yquota.clock(), 'gone', '[vcores=1]' FROM unnest('{forgiven,void,late}'::text[]) AS id;
SELECT yquota.set_clock('2026-07-01 02:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', id, '2026-07-01 00:30+00' FROM unnest('{forgiven,void}'::text[]) AS id;
CREATE VIEW gone AS
	SELECT granted, charged + accrued AS spent, remaining,
		   (SELECT past.remaining FROM yquota.balance_at('gone', yquota.clock()) AS past) AS at_clock,
		   (SELECT past.remaining FROM yquota.balance_at('gone', '2026-07-01 01:00+00') AS past) AS at_expiry,
		   (SELECT count(*) FROM yquota.verify()) AS problems
	FROM yquota.project_balance WHERE project = 'gone';
SELECT * FROM gone;
SELECT yquota.quota_compute();
SELECT * FROM gone;
-- time that the expired grant paid for is forgiven
SELECT project, amount FROM yquota.forgive('2026-07-01 00:00+00', '2026-07-01 00:10+00', 'disk');
SELECT * FROM gone;
SELECT yquota.quota_compute();
SELECT * FROM gone;
-- a container that the expired grant paid for is voided
SELECT amount FROM yquota.void_events('void', 'a test');
SELECT * FROM gone;
SELECT yquota.hold('gone', 'app_4', 1, '1 day');
SELECT yquota.quota_compute();
SELECT * FROM gone;
-- a container that seemed to run has ended earlier
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'late', '2026-07-01 00:20+00');
SELECT * FROM gone;
SELECT yquota.quota_compute();
SELECT * FROM gone;
-- an unreported container
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 'unheard', '2026-07-01 00:50+00', 'gone', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'unheard', '2026-07-01 00:55+00');
SELECT * FROM gone;
-- only the worker records the losses again
SELECT lost FROM yquota.expired_grant WHERE project = 'gone';
SELECT yquota.quota_compute();
SELECT lost FROM yquota.expired_grant WHERE project = 'gone';
SELECT * FROM gone;

-- A NOTICE names a grant that has expired already or expires at once. Past periods of budgets get
-- no NOTICE.
SET client_min_messages = notice;
INSERT INTO yquota.project (name) VALUES ('too late');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES
	('too late', 10, 'past', yquota.clock() - interval '1 day'), ('too late', 20, 'at once', yquota.clock()), ('too late', 30, 'in time', yquota.clock() + interval '1 second');
INSERT INTO yquota.quota_grant (project, amount, reason, kind, expires_at) VALUES ('too late', -5, 'back', 'correction', yquota.clock() - interval '1 day'),
	('too late', 5, 'forth', 'refund', yquota.clock() - interval '1 hour');
INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES ('too late', 'day', 1, yquota.clock()::date - 3);
SET client_min_messages = warning;

\c postgres
DROP DATABASE yquota_grant_expiry;
DROP ROLE yquota_test_member;
