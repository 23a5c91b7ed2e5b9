--
-- Prices by project: a factor for the containers and reservations of one project. The test uses its
-- own database, because prices and the clock are global.
--
CREATE DATABASE yquota_project_factor;
\c yquota_project_factor
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('labs'), ('ops');

-- a factor can only be set for an existing project
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('project', 'nobody', 0.5);
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('project', 'lab', 0.5), ('username', 'ann', 0.1);

-- A project whose name merely begins with the same letters does not pay the factor. A user of the
-- project pays both factors.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 10:00+00', 'lab', 'ann', '[vcores=10]'),
	('CONTAINER_START', 'c2', '2026-03-02 10:00+00', 'lab', 'bob', '[vcores=10]'),
	('CONTAINER_START', 'c3', '2026-03-02 10:00+00', 'labs', 'bob', '[vcores=10]'),
	('CONTAINER_START', 'c4', '2026-03-02 10:00+00', NULL, 'lab__bob', '[vcores=10]');
SELECT container_id, factors FROM yquota.container ORDER BY 1;

-- a quote uses the factor of the project that pays
SELECT quoted.paying_project, quoted.cost, quoted.factor, quoted.factors_in_force
FROM (VALUES ('lab', 'bob'), ('lab', 'ann'), ('labs', 'bob'), (NULL, 'lab__bob')) AS v (project, username),
	 yquota.price_quote('[vcores=10]', '1 s', username => v.username, project => v.project) AS quoted;

-- the project has another factor from an instant on, and later none
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('project', 'lab', '2026-03-02 10:00:10+00', 0.000003), ('project', 'lab', '2026-03-02 10:00:30+00', NULL);
SELECT yquota.set_clock('2026-03-02 10:01+00');
-- an outage of the project uses the same factor name
SELECT yquota.report_outage('2026-03-02 10:00:40+00', '2026-03-02 10:00:50+00', 'test', 'lab') > 0 AS reported;
SELECT yquota.report_outage('2026-03-02 10:00:40+00', '2026-03-02 10:00:45+00', 'test', 'ops') > 0 AS reported;
SELECT container_id, factors, cost FROM yquota.container_cost JOIN yquota.container USING (container_id) ORDER BY 1;
SELECT "from", "to", factors, factors_in_force, factor, forgiven, amount FROM yquota.explain_charge('c1');
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 10:01+00' FROM yquota.container;
SELECT container_id, amount FROM yquota.charge ORDER BY 1;

-- rerate() computes past usage with another factor of the project
SELECT project, was, would_be, difference FROM yquota.rerate('2026-03-02 10:00+00', '2026-03-02 10:01+00',
	'{"factors": [{"dimension": "project", "name": "labs", "factor": 0.25}, {"dimension": "project", "name": "lab", "factor": 1}]}');
SELECT * FROM yquota.rerate('2026-03-02 10:00+00', '2026-03-02 10:01+00',
	'{"factors": [{"dimension": "project", "name": "nobody", "factor": 1}]}');

-- a factor cannot change time that has been charged, and a future point can be withdrawn
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('project', 'labs', '2026-03-02 10:00+00', 2);
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('project', 'labs', '2026-03-02 11:00+00', 2);
SELECT yquota.withdraw_point('yquota.price_factor', '2026-03-02 11:00+00', 'labs', 'project');

-- factors of five dimensions and of waiting, each with all its decimals, give an exact amount
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES
	('project', 'ops', 0.000011), ('queue', 'root', 0.000013), ('application', 'application_1', 0.000017),
	('username', 'eve', 0.000019), ('execution_type', 'OPPORTUNISTIC', 0.000023);
INSERT INTO yquota.charging_rule (waiting_factor) VALUES (0.000029);
SELECT yquota.set_multiplier('GENERAL', 0.000000000000000031);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, application_id, execution_type, is_running, allocation) VALUES
	('CONTAINER_START', 'c5', '2026-03-02 10:01+00', 'ops', 'eve', 'root.x', 'application_1', 'OPPORTUNISTIC', false, '[vcores=1]'),
	('CONTAINER_FINISH', 'c5', '2026-03-02 10:01:00.000037+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT amount, scale(amount), amount = 31e-18 * 37e-6 * 11e-6 * 13e-6 * 17e-6 * 19e-6 * 23e-6 * 29e-6 AS exact
FROM yquota.charge WHERE container_id = 'c5';
SELECT amount FROM yquota.explain_charge('c5');
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_project_factor;
