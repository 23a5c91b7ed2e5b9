--
-- Free time before a preemption (charging_rule.free_before_preemption), and the loss by preemption.
-- One vcore costs one credit per second, and the amounts are computed by hand.
--
CREATE DATABASE yquota_free_before_preemption;
\c yquota_free_before_preemption
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 100000, 'test');
CREATE FUNCTION start(id text, at timestamptz, of_project text DEFAULT 'lab', queue text DEFAULT 'root.a') RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation)
	VALUES ('CONTAINER_START', id, at, of_project, 'ann', queue, '[vcores=1]');
$$;
CREATE FUNCTION finish(id text, at timestamptz, source text, exit_status integer DEFAULT -102) RETURNS numeric
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, source, exit_status)
	VALUES ('CONTAINER_FINISH', id, at, source, exit_status);
	SELECT sum(amount) FROM yquota.charge WHERE container_id = id;
$$;
CREATE VIEW ledger AS
	SELECT container_id, number, corrects, "from"::time, "to"::time, settled_by, padding, dominant, amount, given_back
	FROM yquota.charge;

--
-- A rule sets 0 to 1 hour, and cannot take effect at a time for which a container has been charged
--
\set VERBOSITY terse
INSERT INTO yquota.charging_rule (effective_at, free_before_preemption) VALUES ('2026-03-02 12:00', '1 hour 1 microsecond');
INSERT INTO yquota.charging_rule (effective_at, free_before_preemption) VALUES ('2026-03-02 12:00', '-1 second');
\set VERBOSITY default
SELECT start('early', '2026-03-02 08:00'), finish('early', '2026-03-02 09:00', 'scheduler');
INSERT INTO yquota.charging_rule (effective_at, free_before_preemption) VALUES ('2026-03-02 08:00', '10 min');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, free_before_preemption, any_preemption_source) VALUES
	('2026-03-02 10:00', '0', '10 min', false), ('2026-03-02 10:30', '20 min', '10 min', true);
SELECT effective_at, minimum_run_time, free_before_preemption, any_preemption_source FROM yquota.charging_rule ORDER BY 1;

--
-- A container that yquota preempts is free for its last 10 minutes, so 50 of 60 minutes are charged
--
SELECT start('p1', '2026-03-02 10:00'), finish('p1', '2026-03-02 11:00', 'scheduler');
SELECT * FROM ledger WHERE container_id = 'p1' ORDER BY number;
SELECT "from"::time, "to"::time, rate, amount, given_back, forgiven FROM yquota.explain_charge('p1');
-- Time is not free with another exit status, nor when only a feed reports the preemption.
SELECT start('p2', '2026-03-02 10:00'), finish('p2', '2026-03-02 11:00', 'scheduler', -100);
SELECT start('p3', '2026-03-02 10:00'), finish('p3', '2026-03-02 11:00', 'rm');
-- yquota's own FINISH arrives after the feed's, and is repeated
SELECT finish('p3', '2026-03-02 11:05', 'scheduler'), finish('p3', '2026-03-02 11:05', 'scheduler');
SELECT * FROM ledger WHERE container_id = 'p3' ORDER BY number;
-- The earliest end counts: 28 of 38 minutes are charged. All are charged when an earlier end is
-- not a preemption.
SELECT start('p4', '2026-03-02 10:00'), finish('p4', '2026-03-02 10:40', 'node_lost'), finish('p4', '2026-03-02 10:38', 'rm'),
	   finish('p4', '2026-03-02 10:35', 'rm', 0), finish('p4', '2026-03-02 10:33', 'rm');
-- among ends at one instant the smallest exit status counts
SELECT start('p5', '2026-03-02 10:00'), finish('p5', '2026-03-02 11:00', 'rm', 0), finish('p5', '2026-03-02 11:00', 'scheduler'),
	   finish('p5', '2026-03-02 11:00', 'rm', -105);
-- a life that is shorter than the free time costs nothing
SELECT start('p6', '2026-03-02 10:00'), finish('p6', '2026-03-02 10:05', 'scheduler');
SELECT * FROM ledger WHERE container_id = 'p6';
-- yquota's preemption counts as the end even if a container has more ends than are recorded
SELECT start('p7', '2026-03-02 10:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, source, exit_status)
SELECT 'CONTAINER_FINISH', 'p7', '2026-03-02 10:40'::timestamptz + number * interval '1 min',
	   CASE number WHEN 40 THEN 'scheduler' ELSE 'rm' END, CASE number WHEN 40 THEN -102 ELSE 0 END
FROM generate_series(1, 40) AS number;
SELECT finish('p7', '2026-03-02 10:30', 'rm');
SELECT * FROM yquota.verify();

--
-- Charges within the free time are corrected: 5 minutes at 1 credit and 5 minutes at 3 credits per
-- second
--
SELECT start('u1', '2026-03-02 10:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'u1', '2026-03-02 10:55', '[vcores=3]'), ('CONTAINER_UPDATE', 'u1', '2026-03-02 11:00', '[vcores=5]');
SELECT charged FROM yquota.container_cost WHERE container_id = 'u1';
SELECT finish('u1', '2026-03-02 11:00', 'scheduler');
SELECT * FROM ledger WHERE container_id = 'u1' ORDER BY number;
-- a late UPDATE before the free time is charged, and a late UPDATE within it is not
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'u1', '2026-03-02 10:40', '[vcores=2]'), ('CONTAINER_UPDATE', 'u1', '2026-03-02 10:52', '[vcores=9]');
SELECT sum(amount), sum(given_back) FROM yquota.charge WHERE container_id = 'u1';
-- all events in one statement, and in another order
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'u2', '2026-03-02 11:05', -102, 'scheduler'), ('CONTAINER_FINISH', 'u2', '2026-03-02 11:00', -102, 'rm');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'u2', '2026-03-02 10:00', 'lab', '[vcores=1]'), ('CONTAINER_UPDATE', 'u2', '2026-03-02 10:55', NULL, '[vcores=3]');
SELECT sum(amount), sum(given_back) FROM yquota.charge WHERE container_id = 'u2';
RESET yquota.on_bad_event;
-- all events while charging is deferred
SET yquota.charging = deferred;
SELECT start('u3', '2026-03-02 10:00'), finish('u3', '2026-03-02 11:00', 'rm'), finish('u3', '2026-03-02 11:10', 'scheduler');
RESET yquota.charging;
SELECT yquota.charge_deferred();
SELECT sum(amount), sum(given_back) FROM yquota.charge WHERE container_id = 'u3';
SELECT * FROM yquota.verify();

--
-- The minimum run time counts the whole life, of which 5 of 20 minutes are free. Under the later
-- rule every source may report a preemption.
--
SELECT start('m1', '2026-03-02 10:30'), finish('m1', '2026-03-02 10:35', 'rm');
SELECT * FROM ledger WHERE container_id = 'm1' ORDER BY number;
-- a repeated FINISH changes nothing
SELECT finish('m1', '2026-03-02 10:35', 'rm');
SELECT count(*) FROM ledger WHERE container_id = 'm1';
SELECT start('m2', '2026-03-02 10:30'), finish('m2', '2026-03-02 10:45', 'rm');

--
-- An outage within the free time is not refunded twice: 45 minutes are charged, and 5 are given
-- back
--
SELECT start('o1', '2026-03-02 10:00', 'ops', 'root.b'), finish('o1', '2026-03-02 11:00', 'scheduler');
SELECT project, amount FROM yquota.forgive('2026-03-02 10:45', '2026-03-02 10:55', 'power', 'ops');
SELECT sum(amount), sum(given_back) FROM yquota.charge WHERE container_id = 'o1';
SELECT "from"::time, "to"::time, amount, given_back, forgiven FROM yquota.explain_charge('o1');

--
-- Reports over any part of the time agree
--
SELECT amount FROM yquota.cost_between('2026-03-02 10:45', '2026-03-02 10:55', '{container_id}') WHERE container_id = 'p1';
SELECT amount FROM yquota.cost_between('2026-03-02 10:50', '2026-03-02 11:00', '{container_id}') WHERE container_id = 'p1';
SELECT spent, burn_rate FROM yquota.balance_at('ops', '2026-03-02 10:44');
SELECT spent, burn_rate FROM yquota.balance_at('ops', '2026-03-02 10:57');
SELECT project, was, would_be FROM yquota.rerate('2026-03-02 10:00', '2026-03-02 11:00', '{"base_prices": {"vcores": 2}}', 'ops');
-- all days are rolled up
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.roll_up_charges() > 0 AS rolled_up;
SELECT amount FROM yquota.cost_between('2026-03-02 10:30', '2026-03-02 11:30') WHERE project = 'ops';
SELECT * FROM yquota.verify();

--
-- A closed period keeps its bill. A preemption is corrected on the next bill, like any other late event.
--
SELECT start('c1', '2026-03-02 11:00', 'ops', 'root.b');
SELECT settled, closed_at FROM yquota_internal.close_period_at('2026-03-02 11:20', 100);
SELECT closed_at AS closed FROM yquota_internal.close_period_at('2026-03-02 11:20', 100) \gset
SELECT finish('c1', '2026-03-02 11:25', 'scheduler');
SELECT * FROM ledger WHERE container_id = 'c1' ORDER BY number;
SELECT amount FROM yquota.cost_between('-infinity', '2026-03-02 11:20', '{container_id}', :'closed') WHERE container_id = 'c1';
SELECT amount FROM yquota.cost_between('-infinity', '2026-03-02 11:20', '{container_id}') WHERE container_id = 'c1';
SELECT * FROM yquota.verify();

--
-- The container is voided, and its end is then reported by a feed: nothing is left of the
-- preemption
--
SELECT container_id, amount FROM yquota.void_events('u3', 'wrong');
SELECT sum(amount), sum(given_back) FROM yquota.charge WHERE container_id = 'u3';
SELECT start('u3', '2026-03-02 10:00'), finish('u3', '2026-03-02 11:00', 'rm');
SELECT sum(amount), sum(given_back) FROM yquota.charge WHERE container_id = 'u3';
-- verify() finds a wrong given_back, free time of a container that was not preempted, and free time
-- for a preemption that yquota did not make
BEGIN;
SET session_replication_role = replica;
UPDATE yquota.charge SET given_back = 599 WHERE container_id = 'p1' AND given_back IS NOT NULL;
UPDATE yquota.charge SET exit_status = -102 WHERE container_id = 'p2';
UPDATE yquota.container_event SET source = 'rm' WHERE container_id = 'p6';
SELECT problem, subject FROM yquota.verify() WHERE subject ~ '^p' ORDER BY 2, 1;
ROLLBACK;
SELECT * FROM yquota.verify();

--
-- Losses of preemption
--
SELECT * FROM yquota.preemption_cost('2026-03-02 09:00', '2026-03-02 12:00');
SELECT * FROM yquota.preemption_cost('2026-03-02 11:00', '2026-03-02 11:00:00.000001');
SELECT sum(gross), sum(given_back) FROM yquota.preemption_cost('-infinity', 'infinity');
SELECT * FROM yquota.preemption_cost('2026-03-02 12:00', '2026-03-02 09:00');
SELECT * FROM yquota.preemption_cost(NULL, '2026-03-02 09:00');
CREATE ROLE yquota_preempted_member;
SELECT yquota.allow_role('yquota_preempted_member', 'member', 'ops');
SET ROLE yquota_preempted_member;
SELECT * FROM yquota.preemption_cost('-infinity', 'infinity');
RESET ROLE;
-- reports are the same after the container has been archived
CREATE TABLE old_ledger (LIKE yquota.charge);
CREATE TABLE old_log (LIKE yquota.container_event);
SELECT yquota.seal_history();
SELECT yquota.set_clock('2026-03-02 13:00');
SELECT yquota.quota_compute();
SELECT history, archived > 0 AS archived FROM yquota.archive('old_ledger', 'infinity');
SELECT history, archived > 0 AS archived FROM yquota.archive('old_log', 'infinity');
SELECT * FROM yquota.preemption_cost('2026-03-02 09:00', '2026-03-02 12:00');
SELECT sum(gross), sum(given_back) FROM yquota.preemption_cost('-infinity', 'infinity');
SELECT * FROM yquota.preemption_cost('2026-03-02 09:01', '2026-03-02 12:00');
SELECT start('late', '2026-03-02 12:00', 'ops', 'root.b'), finish('late', '2026-03-02 12:30', 'rm');
SELECT * FROM yquota.preemption_cost('2026-03-02 12:00', '2026-03-02 12:31');
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_free_before_preemption;
DROP ROLE yquota_preempted_member;
