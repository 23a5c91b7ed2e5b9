--
-- Costs of waiting containers, which are OPPORTUNISTIC containers that do not run
-- (charging_rule.waiting_factor). One vcore costs one credit per second, and the amounts are
-- computed by hand.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_waiting_factor WITH (FORCE);
CREATE DATABASE yquota_waiting_factor;
\c yquota_waiting_factor
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 100000, 'test');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=100]'), ('n2', '[vcores=100]');
CREATE FUNCTION start(id text, at timestamptz, is_running boolean, type yquota.execution_type DEFAULT 'OPPORTUNISTIC') RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, execution_type, is_running)
	VALUES ('CONTAINER_START', id, at, 'lab', 'ann', 'root.a', 'n1', '[vcores=1]', type, is_running);
$$;
CREATE FUNCTION run(id text, at timestamptz, is_running boolean) RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running)
	VALUES ('CONTAINER_UPDATE', id, at, is_running);
$$;
CREATE FUNCTION finish(id text, at timestamptz) RETURNS numeric
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', id, at);
	SELECT sum(amount) FROM yquota.charge WHERE container_id = id;
$$;
CREATE VIEW ledger AS
	SELECT container_id, number, corrects, "from"::time, "to"::time, execution_type AS type, padding, dominant, amount, waiting_factor AS factor
	FROM yquota.charge;
CREATE VIEW usage AS
	SELECT 'queue' AS of, concat_ws(' ', queue, username) AS name, execution_type::text AS type, containers, allocation FROM yquota.queue_usage
	UNION ALL SELECT 'node', node, NULL, containers, guaranteed OPERATOR(yquota.+) opportunistic FROM yquota.node_usage WHERE containers <> 0
	UNION ALL SELECT 'project', project, NULL, NULL, allocation FROM yquota.project_usage;

--
-- The factor is 0 to 1 and has at most 6 decimals
--
\set VERBOSITY terse
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 13:00', 1.000001);
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 13:00', -0.1);
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 13:00', 0.1234567);
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 13:00', 'NaN');
\set VERBOSITY default

--
-- Without a rule waiting is free, and the container counts in usage only while it runs
--
SELECT start('w1', '2026-03-02 08:00', false);
SELECT container_id, execution_type, is_running, waiting_factor, factors FROM yquota.container;
SELECT * FROM usage ORDER BY 1, 2;
SELECT run('w1', '2026-03-02 08:10', true);
SELECT container_id, execution_type, is_running, waiting_factor, factors FROM yquota.container;
SELECT * FROM usage ORDER BY 1, 2;
-- the container is paused for five minutes
SELECT run('w1', '2026-03-02 08:20', false);
SELECT * FROM usage ORDER BY 1, 2;
SELECT run('w1', '2026-03-02 08:25', true);
SELECT finish('w1', '2026-03-02 08:30');
SELECT * FROM ledger WHERE container_id = 'w1' ORDER BY number;
-- a rule of the past is refused if it would change that charge, and accepted otherwise
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 08:20', 0.5);
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 08:20:00.000001', 0.5);

--
-- The rule in force when a wait begins applies to the whole wait
--
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, waiting_factor) VALUES
	('2026-03-02 09:00', '0', 0.25), ('2026-03-02 10:00', '0', 1), ('2026-03-02 11:00', '30 min', 0.000001);
SELECT start('w2', '2026-03-02 09:00', false);
-- the container moves to another node and continues to wait
INSERT INTO yquota.container_event (event, container_id, occurred_at, node) VALUES ('CONTAINER_UPDATE', 'w2', '2026-03-02 10:10', 'n2');
SELECT run('w2', '2026-03-02 10:20', true);
SELECT run('w2', '2026-03-02 10:30', false);
SELECT finish('w2', '2026-03-02 10:40');
SELECT * FROM ledger WHERE container_id = 'w2' ORDER BY number;
SELECT "from"::time, "to"::time, factors, factors_in_force, factor, rate, amount FROM yquota.explain_charge('w2');

--
-- GUARANTEED containers pay and count whatever is_running says. A promotion ends a wait, and the
-- demotion of a container that does not run begins one.
--
SELECT start('g1', '2026-03-02 09:00', false, 'GUARANTEED');
SELECT * FROM usage ORDER BY 1, 2;
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'g1', '2026-03-02 09:10', 'OPPORTUNISTIC');
SELECT * FROM usage ORDER BY 1, 2;
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'g1', '2026-03-02 09:20', 'GUARANTEED');
SELECT finish('g1', '2026-03-02 09:30');
SELECT * FROM ledger WHERE container_id = 'g1' ORDER BY number;
-- a late demotion of a container that never ran
SELECT start('g2', '2026-03-02 09:00', false, 'GUARANTEED'), finish('g2', '2026-03-02 09:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'g2', '2026-03-02 09:10', 'OPPORTUNISTIC');
SELECT * FROM ledger WHERE container_id = 'g2' ORDER BY number;
-- all events in one statement, with other containers around them
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, execution_type, is_running) VALUES
	('CONTAINER_START', 'g3', '2026-03-02 09:00', 'lab', '[vcores=1]', 'GUARANTEED', false),
	('CONTAINER_UPDATE', 'g3', '2026-03-02 09:05', NULL, '[vcores=2]', NULL, NULL),
	('CONTAINER_FINISH', 'g3', '2026-03-02 09:30', NULL, NULL, NULL, NULL);
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'g3', '2026-03-02 09:10', 'OPPORTUNISTIC');
SELECT * FROM ledger WHERE container_id = 'g3' ORDER BY number;

--
-- Late events in any order: first the end, then that the container ran, then an earlier pause
--
SELECT start('l1', '2026-03-02 09:00', false), finish('l1', '2026-03-02 10:00');
SELECT run('l1', '2026-03-02 09:40', true);
SELECT run('l1', '2026-03-02 09:10', true), run('l1', '2026-03-02 09:20', false);
SELECT "from", "to", amount, factor FROM ledger JOIN (SELECT number AS n FROM yquota_internal.charge_in_effect WHERE container_id = 'l1') AS e ON n = number
WHERE container_id = 'l1' ORDER BY 1;
-- a repeated event is known, and a contradicting event is refused
SELECT run('l1', '2026-03-02 09:20', false);
SELECT run('l1', '2026-03-02 09:20', true);

--
-- Waiting counts as run time. Padding after a wait is charged with the factor of the wait.
--
SELECT start('p1', '2026-03-02 11:00', false), finish('p1', '2026-03-02 11:10');
SELECT start('p2', '2026-03-02 11:00', true), run('p2', '2026-03-02 11:05', false), finish('p2', '2026-03-02 11:10');
SELECT start('p3', '2026-03-02 11:00', false), run('p3', '2026-03-02 11:05', true), finish('p3', '2026-03-02 11:10');
-- padding is charged, too, after a wait of length zero
SELECT start('p4', '2026-03-02 11:00', true), run('p4', '2026-03-02 11:10', false), finish('p4', '2026-03-02 11:10');
SELECT * FROM ledger WHERE container_id LIKE 'p_' ORDER BY container_id, number;

--
-- All factors together, to the last digit, and an outage
--
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('queue', 'root.f', '2026-03-02 11:30', 0.000001), ('username', 'eve', '2026-03-02 11:30', 0.000003),
	('application', 'application_1_0001', '2026-03-02 11:30', 0.000007), ('execution_type', 'OPPORTUNISTIC', '2026-03-02 11:30', 0.000011);
SELECT yquota.set_base_price('vcores', 0.000000000000000013, 1, '2026-03-02 11:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation, execution_type, is_running) VALUES
	('CONTAINER_START', 'f1', '2026-03-02 11:40', 'lab', 'application_1_0001', 'eve', 'root.f', '[vcores=1]', 'OPPORTUNISTIC', false),
	('CONTAINER_FINISH', 'f1', '2026-03-02 11:40:00.000001', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT amount, scale(amount), waiting_factor FROM yquota.charge WHERE container_id = 'f1' AND padding IS NULL;
SELECT factors, factors_in_force, factor FROM yquota.explain_charge('f1') WHERE padding IS NULL;
SELECT yquota.set_base_price('vcores', 1, 1, '2026-03-02 11:45');
SELECT yquota.report_outage('2026-03-02 09:00', '2026-03-02 09:20', 'test');
SELECT sum(amount) FROM yquota.charge WHERE container_id = 'w2';

--
-- Reports, balances and burn rates of waiting containers
--
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 12:00', 0.5);
SELECT yquota.set_clock('2026-03-02 12:10');
SELECT start('r1', '2026-03-02 12:00', false, 'GUARANTEED'), start('r2', '2026-03-02 12:00', false);
SELECT burn_rate, accrued, exhausted_at FROM yquota.project_balance;
SELECT container_id, amount FROM yquota.cost_between('2026-03-02 12:05', 'infinity', '{container_id}');
SELECT container_id, accrued, cost FROM yquota.container_cost WHERE finished_at IS NULL ORDER BY 1;
SELECT * FROM usage ORDER BY 1, 2;
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT * FROM usage ORDER BY 1, 2;
SELECT burn_rate, accrued FROM yquota.project_balance;
SELECT burn_rate FROM yquota.balance_at('lab', '2026-03-02 12:05');
-- a rule of the past cannot change amounts that were shown
SELECT yquota.quota_compute();
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 12:00', 0)
ON CONFLICT (project, effective_at) DO UPDATE SET waiting_factor = 0;
-- a rule changes only later amounts
SELECT yquota.set_clock('2026-03-02 12:20');
SELECT start('r3', '2026-03-02 12:15', false), start('r4', '2026-03-02 12:12', false);
SELECT run('r4', '2026-03-02 12:14', true), run('r4', '2026-03-02 12:16', false);
INSERT INTO yquota.charging_rule (effective_at, waiting_factor) VALUES ('2026-03-02 12:14', 0.125);
SELECT container_id, waiting_factor, factors FROM yquota.container WHERE NOT is_running ORDER BY 1;
SELECT * FROM ledger WHERE container_id = 'r4' ORDER BY number;

--
-- A period ends within a wait
--
SELECT yquota_internal.close_period_at('2026-03-02 12:18', 100);
SELECT yquota_internal.close_period_at('2026-03-02 12:18', 100);
SELECT yquota.set_clock('2026-03-02 12:30');
SELECT run('r3', '2026-03-02 12:25', true), finish('r3', '2026-03-02 12:30');
SELECT * FROM ledger WHERE container_id = 'r3' ORDER BY number;

--
-- reconcile() neither starts nor ends waiting containers
--
SELECT action, container_id, detail FROM yquota.reconcile('[{"container_id": "r1"}, {"container_id": "r2"}]', '2026-03-02 12:30', false);
SELECT action, container_id, detail FROM yquota.reconcile('[{"container_id": "r2", "execution_type": "GUARANTEED"}]', '2026-03-02 12:30', false);
SELECT container_id, execution_type, is_running, waiting_factor FROM yquota.container ORDER BY 1;

--
-- Waiting containers must be stopped as well
--
SELECT start('s1', '2026-03-02 12:25', false);
UPDATE yquota.project SET on_exhausted = 'stop';
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', -100000, 'test');
SELECT container_id, action FROM yquota.exhausted_work ORDER BY 1;

SELECT * FROM yquota.verify();
-- verify() finds a wrong waiting_factor
UPDATE yquota.charge SET waiting_factor = 0.5 WHERE container_id = 'w1' AND number = 1;
UPDATE yquota.container SET waiting_factor = NULL WHERE container_id = 's1';
SELECT problem, subject FROM yquota.verify() ORDER BY 1, 2;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_waiting_factor WITH (FORCE);
