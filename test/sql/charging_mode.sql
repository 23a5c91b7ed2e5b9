--
-- Charging modes (charging_rule.charging_mode): the dearest resource, the sum of all resources, and
-- the sum of the dearest resources of each price group. The amounts are computed by hand: 1024 MiB
-- and one vcore cost one credit per second each, and a GPU costs ten.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_charging_mode WITH (FORCE);
CREATE DATABASE yquota_charging_mode;
\c yquota_charging_mode
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000000, 'test'), ('ops', 1000000, 'test');
SELECT yquota.set_base_price('yarn.io/gpu', 10, effective_at => '2026-03-02 10:00');
CREATE FUNCTION start(id text, project text, at timestamptz, allocation yquota.resource) RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation)
	VALUES ('CONTAINER_START', id, at, project, 'ann', 'root.a', allocation);
$$;
CREATE FUNCTION finish(id text, at timestamptz) RETURNS numeric
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', id, at);
	SELECT sum(amount) FROM yquota.charge WHERE container_id = id;
$$;

--
-- Refused rules
--
INSERT INTO yquota.charging_rule (project, charging_mode) VALUES ('nobody', 'sum');
\set VERBOSITY terse
INSERT INTO yquota.charging_rule (charging_mode) VALUES ('cheapest');
INSERT INTO yquota.charging_rule (charging_mode) VALUES (NULL);
INSERT INTO yquota.charging_rule (project, charging_mode) VALUES (NULL, 'sum');
INSERT INTO yquota.charging_rule (project, charging_mode, minimum_run_time) VALUES ('lab', 'sum', '1 min');
INSERT INTO yquota.charging_rule (project, charging_mode, free_before_preemption) VALUES ('lab', 'sum', '1 min');
INSERT INTO yquota.charging_rule (project, charging_mode, any_preemption_source) VALUES ('lab', 'sum', true);
INSERT INTO yquota.charging_rule (project, charging_mode, waiting_factor) VALUES ('lab', 'sum', 1);
INSERT INTO yquota.charging_rule (project, charging_mode, reserved_factor) VALUES ('lab', 'sum', 1);
\set VERBOSITY default

--
-- A mode applies to running containers from its instant on, here 600 s under each mode
--
SELECT start('c1', 'lab', '2026-03-02 10:00', '[memory-mb=1024,vcores=1]'), start('c2', 'ops', '2026-03-02 10:00', '[memory-mb=2048,vcores=1,yarn.io/gpu=1]');
SELECT container_id, xmin AS row_of_c1 FROM yquota.container WHERE container_id = 'c1' \gset
INSERT INTO yquota.charging_rule (effective_at, charging_mode) VALUES
	('2026-03-02 10:10', 'sum'), ('2026-03-02 10:20', 'sum_of_groups'), ('2026-03-02 10:30', 'dearest');
SELECT xmin = :'row_of_c1' AS is_untouched, factors FROM yquota.container WHERE container_id = 'c1';
SELECT yquota.set_clock('2026-03-02 10:05');
SELECT project, burn_rate, accrued FROM yquota.project_balance ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 10:15');
SELECT project, burn_rate, accrued FROM yquota.project_balance ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 10:25');
SELECT project, burn_rate, accrued FROM yquota.project_balance ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 10:35');
SELECT project, burn_rate, accrued FROM yquota.project_balance ORDER BY 1;
SELECT "from"::time, "to"::time, charging_mode, dominant, rate, rates, amount FROM yquota.explain_charge('c1');
SELECT "from"::time, "to"::time, charging_mode, dominant, rate, rates, amount FROM yquota.explain_charge('c2');
-- c1 costs 600 + 1200 + 600 + 600, and c2 costs 6000 + 7800 + 7200 + 6000
SELECT yquota.set_clock('2026-03-02 10:40');
SELECT finish('c1', '2026-03-02 10:40'), finish('c2', '2026-03-02 10:40');
SELECT container_id, dominant, amount FROM yquota.charge ORDER BY 1;
SELECT * FROM yquota.verify();

--
-- The dominant resource has the largest share of the total. Vcores cost 2 for 900 s and 0 for 300
-- s, and memory costs 1 for 1200 s. A free resource has no share.
--
INSERT INTO yquota.charging_rule (effective_at, charging_mode) VALUES ('2026-03-02 10:40', 'sum');
SELECT yquota.set_base_price('vcores', 0, effective_at => '2026-03-02 10:55');
SELECT start('d1', 'lab', '2026-03-02 10:40', '[memory-mb=1024,vcores=2]');
SELECT yquota.set_clock('2026-03-02 11:00');
SELECT yquota.set_base_price('vcores', 1);
SELECT finish('d1', '2026-03-02 11:00');
SELECT dominant, amount FROM yquota.charge WHERE container_id = 'd1';
SELECT "from"::time, "to"::time, dominant, held, price, rate, rates FROM yquota.explain_charge('d1');

--
-- A mode of a project overrides the mode of all projects until a rule sets it to NULL
--
INSERT INTO yquota.charging_rule (effective_at) VALUES ('2026-03-02 11:00');
SELECT start('p1', 'lab', '2026-03-02 11:00', '[memory-mb=1024,vcores=1]'), start('p2', 'ops', '2026-03-02 11:00', '[memory-mb=1024,vcores=1]');
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES
	('lab', '2026-03-02 11:10', 'sum'), ('lab', '2026-03-02 11:20', NULL), ('lab', '2026-03-02 11:30', 'dearest');
INSERT INTO yquota.charging_rule (effective_at, charging_mode) VALUES ('2026-03-02 11:25', 'sum');
SELECT container_id, factors FROM yquota.container ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 11:40');
SELECT start('p3', 'lab', '2026-03-02 11:05', '[memory-mb=1024,vcores=1]');
SELECT "from"::time, "to"::time, factors, charging_mode, rates, amount FROM yquota.explain_charge('p1');
-- the amounts are 600 + 1200 + 300 + 600 + 600, and 1500 + 1800
SELECT finish('p1', '2026-03-02 11:40'), finish('p2', '2026-03-02 11:40'), finish('p3', '2026-03-02 11:40');
SELECT * FROM yquota.verify();
-- A rule of the future can be withdrawn. When its last rule is withdrawn, the project is no longer
-- among the container's factors.
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('ops', '2026-03-02 12:10', 'sum_of_groups');
SELECT start('w1', 'ops', '2026-03-02 11:40', '[vcores=1]');
SELECT factors FROM yquota.container WHERE container_id = 'w1';
SELECT yquota.withdraw_point('yquota.charging_rule', '2026-03-02 12:10') AS of_all, yquota.withdraw_point('yquota.charging_rule', '2026-03-02 12:10', 'ops') AS of_ops;
SELECT factors FROM yquota.container WHERE container_id = 'w1';
SELECT finish('w1', '2026-03-02 11:40');
SELECT description FROM yquota.pricing_change ORDER BY version DESC LIMIT 2;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO yquota.charging_rule (project, charging_mode) VALUES ('ops', 'sum');
ROLLBACK;

--
-- Modes combine with factors, outages and waits. Padding is charged in the mode at the FINISH.
--
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2026-03-02 11:40', 0.5);
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, waiting_factor, charging_mode) VALUES
	('2026-03-02 11:50', '10 min', 0.25, 'dearest'), ('2026-03-02 11:55', '10 min', 0.25, 'sum');
SELECT yquota.set_clock('2026-03-02 12:30');
SELECT start('f1', 'ops', '2026-03-02 11:50', '[memory-mb=1024,vcores=1]'), start('f2', 'ops', '2026-03-02 11:50', '[memory-mb=1024,vcores=1]');
-- f1 costs 240 s and 360 s of padding, one resource at 0.5. f2 costs 300 s of one resource, 60 s of
-- two, and 240 s of padding of two.
SELECT finish('f1', '2026-03-02 11:54'), finish('f2', '2026-03-02 11:56');
SELECT container_id, padding, dominant, amount FROM yquota.charge WHERE container_id LIKE 'f_' ORDER BY 1, number;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation, execution_type, is_running) VALUES
	('CONTAINER_START', 'f3', '2026-03-02 12:00', 'ops', 'root.a', '[memory-mb=1024,vcores=1]', 'OPPORTUNISTIC', false),
	('CONTAINER_UPDATE', 'f3', '2026-03-02 12:10', NULL, NULL, NULL, NULL, true),
	('CONTAINER_FINISH', 'f3', '2026-03-02 12:20', NULL, NULL, NULL, NULL, NULL);
-- 600 s of two resources at 0.5 x 0.25, and 600 s of two resources at 0.5
SELECT amount FROM yquota.charge WHERE container_id = 'f3' ORDER BY number;
SELECT yquota.report_outage('2026-03-02 12:05', '2026-03-02 12:15', 'test');
SELECT "from"::time, "to"::time, charging_mode, forgiven, rates, amount FROM yquota.explain_charge('f3');
SELECT * FROM yquota.verify();

--
-- A rule of the past is refused where it would change amounts of its project that are charged or
-- shown
--
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, waiting_factor, charging_mode) VALUES ('2026-03-02 12:19', '10 min', 0.25, 'dearest');
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('ops', '2026-03-02 12:19', 'dearest');
-- a rule of the past is accepted when it repeats the mode in force, or affects no container
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, waiting_factor, charging_mode) VALUES ('2026-03-02 12:19', '10 min', 0.25, 'sum');
SELECT start('l1', 'lab', '2026-03-02 12:00', '[memory-mb=1024,vcores=1]');
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('lab', '2026-03-02 12:18', 'sum');
-- 0.5 x (1080 s of one resource, less the outage of 600 s, and 720 s of two)
SELECT accrued FROM yquota.container_cost WHERE container_id = 'l1';
SELECT yquota.quota_compute();
INSERT INTO yquota.charging_rule (project, effective_at, charging_mode) VALUES ('lab', '2026-03-02 12:29', 'dearest');
SELECT * FROM yquota.verify();
SELECT finish('l1', '2026-03-02 12:30');

--
-- A quote equals the charge, and names its mode and reason
--
INSERT INTO yquota.charging_rule (effective_at, charging_mode) VALUES
	('2026-03-02 12:31', 'dearest'), ('2026-03-02 12:32', 'sum'), ('2026-03-02 12:33', 'sum_of_groups');
CREATE VIEW quote AS
	SELECT q.charging_mode, q.dominant, q.price_per_second, q.rates, q.alone, q.cost, q.reason
	FROM yquota.price_quote('[memory-mb=2048,vcores=1,yarn.io/gpu=1]', '20 min', project => 'ops') AS q;
\x on
SELECT yquota.set_clock('2026-03-02 12:31');
SELECT * FROM quote;
SELECT yquota.set_clock('2026-03-02 12:32');
SELECT * FROM quote;
SELECT yquota.set_clock('2026-03-02 12:33');
SELECT * FROM quote;
\x off

--
-- A resource type may move to another price group before any container is charged for it, and the
-- sum changes with the group
--
INSERT INTO yquota.price_group (name) VALUES ('FPGA');
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('yarn.io/fpga', 'GPU', 3);
SELECT price_per_second, rates FROM yquota.price_quote('[vcores=1,yarn.io/gpu=1,yarn.io/fpga=1]', '1 s');
UPDATE yquota.resource_type SET price_group = 'FPGA' WHERE name = 'yarn.io/fpga';
SELECT price_per_second, rates FROM yquota.price_quote('[vcores=1,yarn.io/gpu=1,yarn.io/fpga=1]', '1 s');

--
-- An interval may be split at any instant, at odd prices and factors
--
SELECT yquota.set_base_price('memory-mb', 1.000000000000000007, 999, '2026-03-02 12:40'), yquota.set_base_price('vcores', 0.3, 7, '2026-03-02 12:40');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('username', 'ann', '2026-03-02 12:40', 0.333333);
INSERT INTO yquota.charging_rule (effective_at, charging_mode) VALUES ('2026-03-02 12:40:00.000001', 'sum'), ('2026-03-02 12:40:00.000003', 'sum_of_groups'), ('2026-03-02 12:40:00.500001', 'sum');
SELECT count(*) AS splits, count(DISTINCT a.amount + b.amount) AS sums, bool_and(a.amount + b.amount = whole.amount) AS is_exact
FROM generate_series(0, 1000) AS n
CROSS JOIN LATERAL (SELECT timestamptz '2026-03-02 12:40' + n * interval '1.0009 ms' AS at) AS split
CROSS JOIN LATERAL yquota_internal.factor_names('lab', NULL, 'ann', 'root.a', NULL, NULL, 'GUARANTEED', NULL) AS names
CROSS JOIN LATERAL yquota_internal.accrued('[memory-mb=1000,vcores=3,yarn.io/gpu=1]', names, '2026-03-02 12:40', split.at) AS a (amount)
CROSS JOIN LATERAL yquota_internal.accrued('[memory-mb=1000,vcores=3,yarn.io/gpu=1]', names, split.at, '2026-03-02 12:40:02') AS b (amount)
CROSS JOIN LATERAL yquota_internal.accrued('[memory-mb=1000,vcores=3,yarn.io/gpu=1]', names, '2026-03-02 12:40', '2026-03-02 12:40:02') AS whole (amount);

--
-- rerate() computes past charges in another mode
--
\set day '''2026-03-02 10:00'', ''2026-03-02 11:00'''
SELECT project, was, would_be FROM yquota.rerate(:day, '{"charging_mode": "dearest"}');
SELECT project, was, would_be FROM yquota.rerate(:day, '{"charging_mode": "sum"}');
SELECT project, was, would_be FROM yquota.rerate(:day, '{"charging_mode": "sum_of_groups", "base_prices": {"yarn.io/gpu": 1}}');
INSERT INTO yquota.shadow_tariff (name, terms) VALUES ('all', '{"charging_mode": "sum"}');
SELECT tariff, project, would_be FROM yquota.shadow_costs('2026-03-02 11:00', '2026-03-02 11:40');
SELECT project, difference, posted FROM yquota.rerate(:day, '{"charging_mode": "sum"}', post => true, reason => 'test');
-- a repeated call posts nothing, even if its terms are written in another way
SELECT project, posted FROM yquota.rerate(:day, '{"charging_mode": "sum", "factors": []}', post => true, reason => 'test');
SELECT count(*) FROM yquota.quota_grant WHERE kind = 'correction';
SELECT * FROM yquota.rerate(:day, '{"charging_mode": "cheapest"}');
SELECT * FROM yquota.rerate(:day, '{"charging_mode": null}');

--
-- A billing period is closed under a mode, and a void reverses its charges
--
SELECT start('v1', 'ops', '2026-03-02 12:33', '[memory-mb=1024,vcores=1]');
SELECT yquota.set_clock('2026-03-02 13:00');
SELECT yquota_internal.close_period_at('2026-03-02 12:50', 100);
SELECT yquota_internal.close_period_at('2026-03-02 12:50', 100);
SELECT finish('v1', '2026-03-02 13:00') > 0 AS paid;
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'v1', '2026-03-02 12:45', '[vcores=1]');
SELECT * FROM yquota.verify();
SELECT project FROM yquota.void_events('v1', reason => 'test');
SELECT trim_scale(sum(amount)) FROM yquota.charge WHERE container_id = 'v1';
SELECT count(*) AS bills, bool_and(bill.amount = c.cost) AS are_whole
FROM yquota.container_cost AS c CROSS JOIN LATERAL (SELECT sum(b.amount) AS amount FROM yquota.explain_charge(c.container_id) AS b) AS bill WHERE c.cost <> 0;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_charging_mode;
