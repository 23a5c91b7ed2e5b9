--
-- Prices by node label: the label in force at the time of the usage counts, whenever an event
-- arrives. The test uses its own database, because prices and the clock are global.
--
CREATE DATABASE yquota_label_factor;
\c yquota_label_factor
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.node (name, label, total) VALUES
	('n1', 'spot', '[memory-mb=65536,vcores=64]'), ('n2', '', '[memory-mb=65536,vcores=64]'), ('n3', 'gpu', '[memory-mb=65536,vcores=64]');
SELECT node, effective_at, label FROM yquota.node_label_history ORDER BY 1, 2;

--
-- Without factors of labels, a change of a label moves usage and changes no charge
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation) VALUES
	('CONTAINER_START', 'early', '2026-03-02 09:50+00', 'lab', 'root.a', 'n3', '[vcores=1]');
SELECT yquota.set_clock('2026-03-02 10:01+00');
UPDATE yquota.node SET label = 'a100' WHERE name = 'n3';
SELECT node, effective_at, label FROM yquota.node_label_history WHERE node = 'n3' ORDER BY 2;
SELECT label, containers FROM yquota.queue_usage ORDER BY 1;
SELECT count(*) AS rows FROM yquota.charge;
SELECT event FROM yquota.container_event;

--
-- Factors of labels apply from their first instant on
--
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('label', 'spot', '2026-03-02 10:02+00', 0.3), ('label', 'a100', '2026-03-02 10:02+00', 4);
SELECT container_id, settled_at, factors FROM yquota.container;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 10:02+00', 'lab', 'root.a', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'c2', '2026-03-02 10:02+00', 'lab', 'root.a', 'n2', '[vcores=1]'),
	('CONTAINER_START', 'c3', '2026-03-02 10:02+00', 'lab', 'root.a', NULL, '[vcores=1]'),
	('CONTAINER_START', 'c4', '2026-03-02 10:02+00', 'lab', 'root.a', 'elsewhere', '[vcores=1]');
SELECT container_id, label, factors FROM yquota.container ORDER BY 1;

-- the label's change affects the containers of its node and no others
SELECT yquota.set_clock('2026-03-02 10:03+00');
SELECT quoted.cost, quoted.factors_in_force
FROM (VALUES ('a100'), ('spot'), ('none'), (''), (NULL)) AS v (label), yquota.price_quote('[vcores=1]', '60 s', label => v.label) AS quoted;
UPDATE yquota.node SET label = '' WHERE name = 'n1';
UPDATE yquota.node SET label = 'spot' WHERE name = 'n2';
SELECT container_id, settled_at, label, factors, charges FROM yquota.container ORDER BY 1;
SELECT container_id, "from", "to", settled_by, amount FROM yquota.charge ORDER BY 1, 2;
SELECT label, containers FROM yquota.queue_usage ORDER BY 1;
-- a statement locks the leaf queues once, however many nodes it changes
BEGIN;
SET LOCAL track_functions = 'all';
UPDATE yquota.node SET label = label || 'x';
SELECT calls FROM pg_stat_xact_user_functions WHERE funcname = 'lock_leaves';
ROLLBACK;
-- two changes at one instant are recorded as one
UPDATE yquota.node SET label = 'a100' WHERE name = 'n2';
UPDATE yquota.node SET label = 'spot' WHERE name = 'n2';
SELECT node, effective_at, label FROM yquota.node_label_history WHERE node IN ('n1', 'n2') ORDER BY 1, 2;
SELECT * FROM yquota.verify();

--
-- Late events use the label of their time
--
SELECT yquota.set_clock('2026-03-02 10:04+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-02 10:02:30+00', 'lab', 'root.a', 'n2', '[vcores=1]'),
	('CONTAINER_START', 'past', '2026-03-02 10:01+00', 'lab', 'root.a', 'n1', '[vcores=1]'),
	('CONTAINER_FINISH', 'past', '2026-03-02 10:02:30+00', NULL, NULL, NULL, NULL);
SELECT container_id, settled_at, factors FROM yquota.container WHERE container_id = 'late';
SELECT container_id, "from", "to", settled_by, amount FROM yquota.charge WHERE container_id IN ('late', 'past') ORDER BY 1, 2;
-- a late UPDATE shows that the container was on n1 only, and the container ended before n1 lost its label
INSERT INTO yquota.container_event (event, container_id, occurred_at, node) VALUES
	('CONTAINER_UPDATE', 'late', '2026-03-02 10:02:40+00', 'n1'), ('CONTAINER_FINISH', 'late', '2026-03-02 10:02:50+00', NULL);
SELECT number, corrects, "from", "to", node, settled_by, amount FROM yquota.charge WHERE container_id = 'late' ORDER BY 1;
-- the container finishes at the instant of a change, so its padding has the price of that instant
INSERT INTO yquota.charging_rule (minimum_run_time) VALUES ('2 min');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation) VALUES
	('CONTAINER_START', 'short', '2026-03-02 10:04+00', 'lab', 'root.a', 'n2', '[vcores=1]');
SELECT yquota.set_clock('2026-03-02 10:05+00');
UPDATE yquota.node SET label = 'a100' WHERE name = 'n2';
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'short', '2026-03-02 10:05+00');
SELECT "from", "to", settled_by, padding, amount FROM yquota.charge WHERE container_id = 'short' ORDER BY number;
SELECT "from", "to", factors, factors_in_force, rate, amount FROM yquota.explain_charge('short');
SELECT * FROM yquota.verify();

--
-- Points of the past that an administrator inserts
--
SELECT yquota.set_clock('2026-03-02 10:10+00');
-- no container ran on this node
INSERT INTO yquota.node (name, label, total) VALUES ('n4', 'spot', '[vcores=64]');
SELECT effective_at, label FROM yquota.node_label_history WHERE node = 'n4' ORDER BY 1;
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n4', '2026-03-02 10:02+00', 'a100'), ('n4', '2026-03-02 10:05+00', 'spot');
-- charges for other nodes are not read, so a wrong charge there stays
BEGIN;
UPDATE yquota.charge SET amount = amount + 1 WHERE container_id = 'c2';
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n4', '2026-03-02 10:01+00', ''), ('n4', '2026-03-02 10:00:30+00', 'a100');
SELECT count(*) AS corrections FROM yquota.charge WHERE container_id = 'c2' AND corrects IS NOT NULL;
ROLLBACK;
-- Refused: container c1 runs on n1 while the node has no label, and reports have shown its cost up
-- to the clock.
INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n1', '2026-03-02 10:03:30+00', 'spot'), ('n1', '2026-03-02 10:03:40+00', '');
-- a label without a factor changes no amount, but the charges of containers are still split there
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n1', '2026-03-02 10:03:30+00', 'plain'), ('n1', '2026-03-02 10:03:40+00', '');
SELECT "from", "to", amount FROM yquota.charge WHERE container_id = 'c1' AND corrects IS NULL ORDER BY number;
SELECT effective_from, description, corrected FROM yquota.pricing_change ORDER BY version DESC LIMIT 2;
SELECT yquota_internal.uncorrected_since();
-- All points of a statement count together, in any order. Points of n4 change no amount, because no
-- container ran there.
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n4', '2026-03-02 10:02:10+00', 'spot'), ('n4', '2026-03-02 10:02:20+00', 'a100');
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n2', '2026-03-02 10:02:30+00', 'a100'), ('n2', '2026-03-02 10:02:10+00', 'plain'), ('n2', '2026-03-02 10:02:20+00', '');
BEGIN;
INSERT INTO yquota.node (name, label, total) VALUES ('n5', '', '[vcores=64]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation) VALUES
	('CONTAINER_START', 'brief', '2026-03-02 10:03+00', 'lab', 'root.a', 'n5', '[vcores=1]'),
	('CONTAINER_FINISH', 'brief', '2026-03-02 10:03:30+00', NULL, NULL, NULL, NULL);
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n5', '2026-03-02 10:02+00', 'spot'), ('n5', '2026-03-02 10:02:30+00', '');
SAVEPOINT before;
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n5', '2026-03-02 10:02:50+00', 'spot'), ('n5', '2026-03-02 10:03:10+00', '');
ROLLBACK TO before;
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n5', '2026-03-02 10:03:30+00', 'spot'), ('n5', '2026-03-02 10:03:40+00', '');
ROLLBACK;
-- refused, because a label in the history is a fact about a node that exists
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n1', '2026-03-02 10:11+00', 'spot');
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n1', '2026-03-02 10:09+00', 'plain');
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('nowhere', '2026-03-02 10:09+00', 'plain');
INSERT INTO yquota.node_label_history (node, effective_at, label) VALUES ('n1', '-infinity', 'plain');
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE yquota.node SET label = 'other' WHERE name = 'n1';
ROLLBACK;
SELECT * FROM yquota.verify();

--
-- rerate() computes past usage with other factors of labels, exactly, also where no segment of
-- charges ends
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status)
SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 10:10+00', 0 FROM yquota.container;
SELECT project, was, would_be FROM yquota.rerate('2026-03-02 09:00+00', '2026-03-02 10:10+00', '{"factors": [{"dimension": "label", "name": "gpu", "factor": 2}]}');
SELECT project, was, would_be FROM yquota.rerate('2026-03-02 09:00+00', '2026-03-02 10:10+00',
	'{"factors": [{"dimension": "label", "name": "spot", "factor": null}, {"dimension": "label", "name": "a100", "factor": null}]}');
-- shadow tariffs know both dimensions
INSERT INTO yquota.shadow_tariff (name, terms) VALUES
	('gpu', '{"factors": [{"dimension": "label", "name": "gpu", "factor": 2}]}'),
	('lab', '{"factors": [{"dimension": "project", "name": "lab", "factor": 0.5}]}');
SELECT tariff, project, was, would_be FROM yquota.shadow_costs('2026-03-02 09:00+00', '2026-03-02 10:10+00');
SELECT container_id, charged FROM yquota.container_cost ORDER BY 1;

-- seven factors with all their decimals give an exact amount
INSERT INTO yquota.node (name, label, total) VALUES ('n7', '', '[vcores=64]');
UPDATE yquota.node SET label = 'rare' WHERE name = 'n7';
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES
	('project', 'lab', 0.000011), ('queue', 'root', 0.000013), ('application', 'application_1', 0.000017),
	('username', 'eve', 0.000019), ('execution_type', 'OPPORTUNISTIC', 0.000023), ('label', 'rare', 0.000007);
INSERT INTO yquota.charging_rule (minimum_run_time, waiting_factor) VALUES ('0', 0.000029);
SELECT yquota.set_multiplier('GENERAL', 0.000000000000000031);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, application_id, execution_type, is_running, allocation) VALUES
	('CONTAINER_START', 'tiny', '2026-03-02 10:10+00', 'lab', 'eve', 'root.x', 'n7', 'application_1', 'OPPORTUNISTIC', false, '[vcores=1]'),
	('CONTAINER_FINISH', 'tiny', '2026-03-02 10:10:00.000037+00', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT amount, scale(amount), amount = 31e-18 * 37e-6 * 11e-6 * 13e-6 * 17e-6 * 19e-6 * 23e-6 * 29e-6 * 7e-6 AS exact
FROM yquota.charge WHERE container_id = 'tiny';
SELECT amount FROM yquota.explain_charge('tiny');
SELECT * FROM yquota.verify();

-- a project with its own price factors or charging rules cannot be renamed
INSERT INTO yquota.project (name) VALUES ('contract'), ('summed'), ('free');
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('project', 'contract', 0.9);
INSERT INTO yquota.charging_rule (project, charging_mode) VALUES ('summed', 'sum');
UPDATE yquota.project SET name = 'other' WHERE name = 'contract';
UPDATE yquota.project SET name = 'other' WHERE name = 'summed';
UPDATE yquota.project SET name = 'other' WHERE name = 'free';
\c postgres
DROP DATABASE yquota_label_factor;
