--
-- Credit that applications hold from their submission on. A vcore costs one credit per second here,
-- so every figure can be checked by hand.
--
CREATE DATABASE yquota_submission_hold;
\c yquota_submission_hold
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
\pset null '-'
SELECT yquota.set_clock('2026-03-02 10:00:00+00');
INSERT INTO yquota.project (name, quota_mode) VALUES ('lab', 'PREPAID'), ('ops', 'NOLIMIT'), ('big', 'PREPAID');
INSERT INTO yquota.project (name, quota_mode, parent) VALUES ('part', 'PREPAID', 'big');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 10000, 'budget'), ('big', 500, 'budget');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=65536,vcores=64]');
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent) VALUES (0.5);
INSERT INTO yquota.queue (path, capacity, max_parallel_apps) VALUES
	('root', NULL, NULL), ('root.a', '50', NULL), ('root.b', '50', NULL), ('root.b.one', '50', 1), ('root.b.two', '50', NULL);
CREATE FUNCTION expect(allocation yquota.resource, count integer, duration interval DEFAULT NULL, name text DEFAULT NULL)
	RETURNS yquota.container_request LANGUAGE sql
	AS 'SELECT ROW(name, allocation, count, NULL, NULL, NULL, NULL, NULL, duration)::yquota.container_request';
CREATE VIEW holds AS
	SELECT hold_id, project, application_id, amount, of_submission, held_at::time, CASE WHEN expires_at = 'infinity' THEN 'infinity' ELSE expires_at::time::text END AS expires_at,
		   released_at::time FROM yquota.hold ORDER BY hold_id;
CREATE VIEW balance AS SELECT project, held, remaining FROM yquota.project_balance WHERE held <> 0 OR project = 'lab' ORDER BY project;

--
-- A submission without a hold starts, although its cost is 36 times the remaining credit
--
SELECT state, quoted_cost, held, hold_id FROM yquota.submit_application('application_1_0001', 'ann', NULL, 'root.a', project => 'lab', lifetime => 3600);
SELECT state, quoted_cost, held, hold_id FROM yquota.submit_application('application_1_0002', 'ann', NULL, 'root.a', project => 'lab', lifetime => 3600,
	expected => ARRAY[expect('[vcores=10]', 10)]);
-- With a hold the submission is refused. The result shows the cost, the remaining credit, and the
-- lifetime that would fit.
SELECT state, decided_by, decided_at, reason, quoted_cost, held, hold_id, available, fitting_lifetime
FROM yquota.submit_application('application_1_0003', 'ann', NULL, 'root.a', project => 'lab', lifetime => 3600,
	expected => ARRAY[expect('[vcores=10]', 10)], hold => 'quote');
-- with the lifetime that fits, the submission is accepted
SELECT state, quoted_cost, held, hold_id, available
FROM yquota.submit_application('application_1_0003', 'ann', NULL, 'root.a', project => 'lab', lifetime => 100,
	expected => ARRAY[expect('[vcores=10]', 10)], hold => 'quote', dry_run => true);
SELECT * FROM holds;
SELECT state, quoted_cost, held, hold_id, available
FROM yquota.submit_application('application_1_0003', 'ann', NULL, 'root.a', project => 'lab', lifetime => 100,
	expected => ARRAY[expect('[vcores=10]', 10)], hold => 'quote');
SELECT * FROM holds;
SELECT * FROM balance;
-- nothing remains for other applications or for hold()
SELECT state, decided_by, reason, available, fitting_lifetime
FROM yquota.submit_application('application_1_0004', 'ann', NULL, 'root.a', project => 'lab', lifetime => 100,
	expected => ARRAY[expect('[vcores=1]', 1)], hold => 'quote');
SELECT state, decided_by, reason, available, fitting_lifetime
FROM yquota.submit_application('application_1_0004', 'ann', NULL, 'root.a', project => 'lab', hold_amount => 0.5);
SELECT yquota.hold('lab', 'application_1_0004', 1, '1 hour');
-- this hold cannot be released by hand, and a repeated submission gets the lost reply
SELECT yquota.release_hold(1);
SELECT state, queue, priority, lifetime, held, hold_id FROM yquota.submit_application('application_1_0003', 'ann', NULL, 'root.a', project => 'lab', lifetime => 100,
	expected => ARRAY[expect('[vcores=10]', 10)], hold => 'quote');
SELECT * FROM holds;
-- a submission by another user or without a hold is a duplicate
SELECT * FROM yquota.submit_application('application_1_0003', 'bob', NULL, 'root.a', project => 'lab', lifetime => 100,
	expected => ARRAY[expect('[vcores=10]', 10)], hold => 'quote');
SELECT * FROM yquota.submit_application('application_1_0003', 'ann', NULL, 'root.a', project => 'lab', lifetime => 100);
SELECT * FROM yquota.submit_application('application_1_0003', 'ann', NULL, 'root.a', project => 'lab', hold_amount => 9999);
SELECT * FROM yquota.submit_application('application_1_0002', 'ann', NULL, 'root.a', project => 'lab', hold_amount => 1);

--
-- The cost of the application uses up its hold, and the rest is released when the application ends
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 10:00+00', 'lab', 'application_1_0003', '[vcores=10]'),
	('CONTAINER_START', 'c2', '2026-03-02 10:00+00', 'lab', 'application_1_0001', '[vcores=1]');
SELECT yquota.set_clock('2026-03-02 10:00:30+00');
SELECT * FROM balance;
SELECT yquota.move_application('application_1_0003', 'root.b.two');
SELECT * FROM holds;
SELECT * FROM balance;
SELECT * FROM yquota.verify();
SELECT yquota.finish_application('application_1_0003', 'FAILED');
SELECT * FROM holds;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'c1', '2026-03-02 10:00:30.000002+00'), ('CONTAINER_FINISH', 'c2', '2026-03-02 10:00:30+00');
SELECT * FROM balance;
-- even after that a repeated submission gets the first reply
SELECT state, held, hold_id FROM yquota.submit_application('application_1_0003', 'ann', NULL, 'root.a', project => 'lab', lifetime => 100,
	expected => ARRAY[expect('[vcores=10]', 10)], hold => 'quote');

--
-- The hold does not expire while the application waits. From activation it expires with the
-- lifetime.
--
SELECT state, held, hold_id FROM yquota.submit_application('application_2_0001', 'ann', NULL, 'root.b.one', project => 'lab', lifetime => 600, hold_amount => 100);
SELECT state, held, hold_id FROM yquota.submit_application('application_2_0002', 'ann', NULL, 'root.b.one', project => 'lab', lifetime => 600, hold_amount => 200);
SELECT state, held, hold_id FROM yquota.submit_application('application_2_0003', 'ann', NULL, 'root.a', project => 'lab', hold_amount => 300);
SELECT * FROM holds WHERE released_at IS NULL;
SELECT yquota.set_clock('2026-03-02 10:05+00');
SELECT yquota.finish_application('application_2_0001', 'KILLED');
SELECT application_id, state, activated_at::time FROM yquota.application WHERE application_id LIKE 'application_2_%' ORDER BY 1;
SELECT * FROM holds WHERE application_id LIKE 'application_2_%';
SELECT yquota.update_application_lifetime('application_2_0002', 900) - yquota.clock() AS lives;
SELECT * FROM holds WHERE application_id = 'application_2_0002';
-- a moved application waits again or is active at once
SELECT yquota.move_application('application_2_0002', 'root.a');
SELECT * FROM holds WHERE application_id = 'application_2_0002';
-- After the lifetime the application holds nothing, with or without a worker, and a longer lifetime
-- does not restore the hold
SELECT yquota.set_clock('2026-03-02 10:25:00+00');
SELECT * FROM balance;
SELECT yquota.update_application_lifetime('application_2_0002', 900) - yquota.clock() AS lives;
SELECT * FROM balance;
SELECT * FROM yquota.verify();
-- an application whose hold has expired ends
SELECT yquota.finish_application('application_2_0002');
SELECT * FROM holds WHERE application_id = 'application_2_0002';

--
-- Deleting the row of an application releases its hold
--
BEGIN;
DELETE FROM yquota.application WHERE application_id = 'application_2_0003';
SELECT * FROM balance;
ROLLBACK;
BEGIN;
TRUNCATE yquota.application CASCADE;
SELECT * FROM balance;
SELECT * FROM yquota.verify();
ROLLBACK;
SELECT * FROM balance;

--
-- The policy of a queue, which queues below inherit
--
UPDATE yquota.queue SET hold_policy = 'quote' WHERE path = 'root';
UPDATE yquota.queue SET hold_policy = 'none' WHERE path = 'root.b.two';
SELECT s.state, s.decided_by, s.decided_at, s.reason, s.quoted_cost, s.held
FROM unnest('{root.a,root.b.one,root.b.two}'::text[]) WITH ORDINALITY AS q (path, number),
	 yquota.submit_application('application_3_000' || number, 'ann', NULL, q.path, project => 'lab') AS s ORDER BY number;
-- a queue that does not exist yet inherits the policy, also in a dry run
BEGIN;
UPDATE yquota.scheduler_setting SET legacy_queue_mode_enabled = false;
UPDATE yquota.queue SET auto_queue_creation_v2_enabled = true WHERE path = 'root';
SELECT s.state, s.decided_by, s.decided_at FROM yquota.submit_application('application_3_0004', 'ann', NULL, 'root.new', dry_run => true) AS s;
ROLLBACK;
-- several sizes and durations: the shorter of duration and lifetime counts, and requests for places
-- count once
SELECT state, quoted_cost, held FROM yquota.submit_application('application_3_0010', 'ann', NULL, 'root.a', project => 'lab', lifetime => 60,
	expected => ARRAY[expect('[vcores=2]', 3, '10 s'), expect('[vcores=1]', 5, '2 min'), expect('[vcores=1]', 5, name => 'n1'), expect('[vcores=7]', 0)]);
-- without a lifetime the durations count
SELECT state, quoted_cost, held FROM yquota.submit_application('application_3_0011', 'ann', NULL, 'root.a', project => 'lab',
	expected => ARRAY[expect('[vcores=2]', 3, '10 s'), expect('[vcores=1]', 5, '2 min')]);
SELECT state, decided_by, decided_at, reason, quoted_cost FROM yquota.submit_application('application_3_0012', 'ann', NULL, 'root.a', project => 'lab',
	expected => ARRAY[expect('[vcores=2]', 3, '10 s'), expect('[vcores=1]', 5)]);
-- hold_amount is a minimum, also when the quote is less
SELECT state, quoted_cost, held FROM yquota.submit_application('application_3_0013', 'ann', NULL, 'root.a', project => 'lab',
	expected => ARRAY[expect('[vcores=2]', 3, '10 s')], hold_amount => 61.5);
SELECT state, quoted_cost, held FROM yquota.submit_application('application_3_0014', 'ann', NULL, 'root.a', project => 'lab',
	expected => ARRAY[expect('[vcores=2]', 3, '10 s')], hold_amount => 59);
-- containers without a cost hold nothing
SELECT state, quoted_cost, held, hold_id FROM yquota.submit_application('application_3_0015', 'ann', NULL, 'root.a', project => 'lab', expected => '{}');
-- the project in the username, a project without limits, and no project
SELECT state, held FROM yquota.submit_application('application_3_0016', 'lab__ann', NULL, 'root.a', hold_amount => 1, expected => '{}');
SELECT state, held FROM yquota.submit_application('application_3_0017', 'ann', NULL, 'root.a', project => 'ops', lifetime => 1000000,
	expected => ARRAY[expect('[vcores=64]', 1000000)]);
SELECT state, decided_by, decided_at, reason FROM yquota.submit_application('application_3_0018', 'ann', NULL, 'root.a', hold_amount => 1, expected => '{}');
SELECT state, quoted_cost, held FROM yquota.submit_application('application_3_0018', 'ann', NULL, 'root.b.two', lifetime => 5, expected => ARRAY[expect('[vcores=1]', 1)]);
-- the credit of a project above, and factors and the minimum run time as in price_quote()
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('queue', 'root.a', 0.3), ('username', 'ann', 1.12);
INSERT INTO yquota.charging_rule (minimum_run_time) VALUES ('40 s');
SELECT yquota.set_clock('2026-03-02 10:30:00+00');
SELECT s.state, s.quoted_cost = 3 * q.cost + 4 * r.cost AS as_quoted, s.held = s.quoted_cost AS is_held, s.quoted_cost
FROM yquota.price_quote('[vcores=2,memory-mb=1024]', '10 s', queue => 'root.a', username => 'ann', project => 'part') AS q,
	 yquota.price_quote('[vcores=1]', '70 s', queue => 'root.a', username => 'ann', project => 'part', execution_type => 'OPPORTUNISTIC') AS r,
	 yquota.submit_application('application_3_0020', 'ann', NULL, 'root.a', project => 'part', lifetime => 70,
		expected => ARRAY[expect('[vcores=2,memory-mb=1024]', 3, '10 s'), ROW('*', '[vcores=1]', 4, NULL, NULL, NULL, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]) AS s;
SELECT state, decided_by, decided_at, reason, quoted_cost, available, fitting_lifetime
FROM yquota.submit_application('application_3_0021', 'ann', NULL, 'root.a', project => 'part', lifetime => 700,
	expected => ARRAY[expect('[vcores=2]', 3), expect('[vcores=1]', 4, '50 s')]);
SELECT * FROM balance;
-- fitting_lifetime is exact to the second
SELECT fitting_lifetime AS fitting FROM yquota.submit_application('application_3_0021', 'ann', NULL, 'root.a', project => 'part', lifetime => 700,
	expected => ARRAY[expect('[vcores=2]', 3), expect('[vcores=1]', 4, '50 s')], dry_run => true) \gset
SELECT state, held IS NOT NULL AS fits FROM generate_series(:fitting, :fitting + 1) AS lifetime,
	 yquota.submit_application('application_3_0022', 'ann', NULL, 'root.a', project => 'part', lifetime => lifetime,
		expected => ARRAY[expect('[vcores=2]', 3), expect('[vcores=1]', 4, '50 s')], dry_run => true);
SELECT * FROM yquota.verify();
SELECT count(*) AS live, count(*) FILTER (WHERE hold_id IS NOT NULL) AS held FROM yquota.application WHERE finished_at IS NULL;
DO $$ BEGIN PERFORM yquota.finish_application(application_id) FROM yquota.application WHERE finished_at IS NULL; END $$;
SELECT count(*) AS live FROM yquota.hold WHERE released_at IS NULL;
SELECT * FROM yquota.verify();

--
-- The quote looks ahead at calendars, as price_quote() does
--
INSERT INTO yquota.charging_rule (minimum_run_time, effective_at) VALUES ('0', '2026-03-02 10:31:00+00');
SELECT yquota.set_clock('2026-03-02 20:00:00+00');
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('night', 'GENERAL', 'UTC', '22:00', '06:00', 0.5);
CREATE FUNCTION quoted(project text, lifetime bigint, size yquota.resource DEFAULT '[vcores=1]', duration interval DEFAULT NULL)
	RETURNS TABLE (state yquota.application_state, quoted_cost numeric, held numeric, available numeric, fitting_lifetime bigint) LANGUAGE sql AS $$
		SELECT s.state, s.quoted_cost, s.held, s.available, s.fitting_lifetime
		FROM yquota.submit_application('application_6_0001', 'bob', NULL, 'root.b.two', project => quoted.project, lifetime => quoted.lifetime,
			expected => ARRAY[expect(size, 1, duration)], hold => 'quote', dry_run => true) AS s $$;
-- until 22:00 at the full price, until 24:00 at half of it
SELECT * FROM quoted('ops', 4 * 3600);
SELECT (2 + 2 * 0.5) * 3600 AS expected;
-- the credit pays for a lifetime that ends in the night
SELECT available, fitting_lifetime, 7200 + floor((available - 7200) * 2) AS expected FROM quoted('lab', 10 * 3600);
-- submitted in the night, the application runs into the day
SELECT yquota.set_clock('2026-03-03 05:59:00+00');
SELECT * FROM quoted('lab', 120);
SELECT * FROM quoted('lab', NULL, duration => '90 s');
-- longer than points of calendars are known
SELECT s.quoted_cost = q.cost AS as_quoted, s.quoted_cost
FROM yquota.price_quote('[vcores=3]', '100 days', queue => 'root.b.two', username => 'bob', project => 'ops') AS q, quoted('ops', 100 * 86400, '[vcores=3]') AS s;
-- a published price counts, too, and the last price stays for ever
BEGIN;
SELECT yquota.set_base_price('vcores', 3, effective_at => '2026-03-03 05:59:30+00');
SELECT * FROM quoted('lab', 60);
DELETE FROM yquota.price_calendar;
SELECT quoted_cost, 30 + 3 * (9223372036854775807 - 30)::numeric AS expected FROM quoted('ops', 9223372036854775807);
ROLLBACK;
DELETE FROM yquota.price_calendar;

--
-- Bad input records nothing
--
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', hold => 'some');
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', hold_amount => 0);
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', hold_amount => 'NaN');
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', expected => ARRAY[expect(NULL, 1)]);
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', expected => ARRAY[NULL::yquota.container_request]);
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', expected => ARRAY[expect('[vcores=1]', -1)]);
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', expected => ARRAY[expect('[vcores=1]', 1, '0')]);
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', expected => ARRAY[expect('[vcores=1]', 1, '36501 days')]);
SELECT * FROM yquota.submit_application('application_4_0001', 'ann', NULL, 'root.a', project => 'lab', expected => ARRAY[expect('[tapes=1]', 1, '1 s')]);
SELECT count(*) FROM yquota.application WHERE application_id LIKE 'application_4%';
\set VERBOSITY terse
UPDATE yquota.queue SET hold_policy = 'all' WHERE path = 'root';
\set VERBOSITY default
-- Hadoop has no property for hold_policy: exports lack it, imports leave it unchanged, and notices say so
SET client_min_messages = notice;
BEGIN;
SELECT yquota.export_hadoop_configuration()::text ~ 'hold' AS has_policy;
SELECT yquota.export_hadoop_configuration('yarn-site.xml')::text ~ 'hold' AS has_policy;
SELECT yquota.export_hadoop_configuration(NULL)::text ~ 'hold' AS has_policy;
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a,c", "yarn.scheduler.capacity.root.a.capacity": "50", "yarn.scheduler.capacity.root.c.capacity": "50"}'::jsonb);
SELECT path, capacity, hold_policy FROM yquota.queue ORDER BY path;
SELECT count(*) FROM yquota.hadoop_configuration() AS p WHERE p::text ~ 'hold';
-- a notice names at most five queues
UPDATE yquota.queue SET auto_promote_after = '1 min' WHERE path = 'root.a';
UPDATE yquota.queue SET hold_policy = 'quote', opportunistic_maximum_containers = 4 WHERE path = 'root.c';
INSERT INTO yquota.queue (path, capacity, hold_policy) SELECT 'root.c.' || i, '1w', 'none' FROM generate_series(1, 5) AS i;
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a", "yarn.scheduler.capacity.root.a.capacity": "100"}'::jsonb, 'merge');
UPDATE yquota.queue SET hold_policy = NULL, auto_promote_after = NULL;
SELECT yquota.export_hadoop_configuration()::text ~ 'hold' AS has_policy;
ROLLBACK;
SET client_min_messages = warning;

--
-- An operator's role
--
CREATE ROLE yquota_hold_manager;
SELECT yquota.allow_role('yquota_hold_manager', 'operator');
SET ROLE yquota_hold_manager;
SELECT state, held, hold_id > 0 AS has_hold FROM yquota.submit_application('application_5_0001', 'ann', NULL, 'root.b.two', project => 'lab', hold_amount => 5);
RESET ROLE;
SELECT held_by, released_by, state FROM yquota.hold_status WHERE application_id = 'application_5_0001';
SET ROLE yquota_hold_manager;
SELECT yquota.finish_application('application_5_0001');
RESET ROLE;
SELECT held_by, released_by, state FROM yquota.hold_status WHERE application_id = 'application_5_0001';

SELECT yquota.disallow_role('yquota_hold_manager', 'operator');
\c postgres
DROP DATABASE yquota_submission_hold;
DROP ROLE yquota_hold_manager;
