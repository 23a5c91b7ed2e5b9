--
-- Timelines that are set by hand: multipliers and pins, base prices, factors, charging rules and
-- outages. Further tests are about the rule for the past, and about plain DML (docs/design.md 2).
--
CREATE DATABASE yquota_pricing_timeline;
\c yquota_pricing_timeline
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

SELECT yquota.set_clock('2026-03-02 08:00');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=10240,vcores=10,yarn.io/gpu=10]');
CREATE VIEW points AS
	SELECT price_group, effective_at, multiplier, utilization, pinned, set_by = session_user AS mine
	FROM yquota.price ORDER BY price_group, effective_at;

--
-- Pins
--
SELECT yquota.set_multiplier('GENERAL', 2.5);
SELECT * FROM yquota.compute_prices();
SELECT * FROM points;
SELECT resource_type, multiplier, pinned_until FROM yquota.current_price ORDER BY 1;
-- a multiplier that was computed for a later instant does not end a pin
SELECT yquota.set_multiplier('GPU', 7, until => '2026-03-02 08:10');
SELECT * FROM points;
SELECT resource_type, multiplier, pinned_until FROM yquota.current_price ORDER BY 1;
-- a second point at the same instant replaces the first
SELECT yquota.set_multiplier('GPU', 8, until => '2026-03-02 08:10');
SELECT * FROM points WHERE price_group = 'GPU';
-- When "until" passes, GPU returns to its floor, the pinned GENERAL
SELECT yquota.set_clock('2026-03-02 08:09:58');
SELECT price_group, multiplier, published, reason FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 08:10:00');
SELECT resource_type, multiplier, pinned_until FROM yquota.current_price ORDER BY 1;
SELECT price_group, multiplier, effective_at, published, reason FROM yquota.compute_prices();
-- cleared: computed again
SELECT yquota.clear_multiplier('GENERAL');
SELECT yquota.clear_multiplier('GENERAL');
SELECT yquota.set_clock('2026-03-02 08:10:10');
SELECT price_group, multiplier, effective_at, published, reason FROM yquota.compute_prices();

-- A pin that is set for later: prices are computed until it begins, stay unchanged during it, and
-- clear_multiplier() removes it
SELECT yquota.set_multiplier('GENERAL', 3, '2026-03-02 08:30', '2026-03-02 09:00');
INSERT INTO yquota.utilization VALUES ('vcores', 0.7, '2026-03-02 08:20'), ('memory-mb', 0.1, '2026-03-02 08:20');
SELECT yquota.set_clock('2026-03-02 08:20');
SELECT price_group, multiplier, effective_at, published, reason FROM yquota.compute_prices();
SELECT resource_type, multiplier, next_multiplier, next_effective_at, pinned_until FROM yquota.current_price ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 08:30');
SELECT price_group, multiplier, effective_at, published, reason FROM yquota.compute_prices();
SELECT yquota.set_multiplier('GENERAL', 4, '2026-03-02 08:50');
SELECT yquota.clear_multiplier('GENERAL');
SELECT price_group, multiplier, effective_at, published, reason FROM yquota.compute_prices();
SELECT * FROM points WHERE effective_at >= '2026-03-02 08:20';

-- the value is rounded half to even when it is set
SELECT yquota.set_multiplier('GPU', 1.0000000000000000005, '2026-03-02 10:00');
SELECT multiplier FROM points WHERE effective_at = '2026-03-02 10:00';
SELECT yquota.set_multiplier('GPU', 1.0000000000000000015, '2026-03-02 10:00');
SELECT multiplier FROM points WHERE effective_at = '2026-03-02 10:00';
SELECT yquota.set_multiplier('GPU', 0, '2026-03-02 10:00');
SELECT multiplier FROM points WHERE effective_at = '2026-03-02 10:00';

-- errors
SELECT yquota.set_multiplier('TPU', 2);
SELECT yquota.clear_multiplier('TPU');
SELECT yquota.set_multiplier('GPU', NULL);
SELECT yquota.set_multiplier('GPU', -0.1);
SELECT yquota.set_multiplier('GPU', 'NaN');
SELECT yquota.set_multiplier('GPU', 1e13);
SELECT yquota.set_multiplier('GPU', 2, 'infinity', 'infinity');
SELECT yquota.set_multiplier('GPU', 2, '2026-03-02 11:00', '2026-03-02 11:00');
INSERT INTO yquota.price (price_group, effective_at, multiplier) VALUES ('GPU', 'infinity', 2);
\set VERBOSITY terse
INSERT INTO yquota.price (price_group, effective_at, multiplier) VALUES ('GPU', '2026-03-02 11:00', 1.0000000000000000001);
\set VERBOSITY default
INSERT INTO yquota.price (price_group, effective_at, multiplier) VALUES ('TPU', '2026-03-02 11:00', 1);
SELECT yquota.clear_multiplier('GPU');

--
-- Base prices: multiplier and base price form the price, which is rounded once more
--
SELECT yquota.set_base_price('vcores', 3, 7, '2026-03-02 08:40');
SELECT yquota.set_base_price('vcores', 0.000000000000000005, 2, '2026-03-02 08:41');
SELECT yquota.set_base_price('vcores', 0.000000000000000001, 1, '2026-03-02 08:42');
SELECT yquota.set_multiplier('GENERAL', 1.5, '2026-03-02 08:43', '2026-03-02 08:44');
SELECT yquota.set_multiplier('GENERAL', 2.5, '2026-03-02 08:44', '2026-03-02 08:46');
SELECT yquota.set_base_price('vcores', 1, 3, '2026-03-02 08:45');
SELECT yquota.set_base_price('vcores', 2, effective_at => '2026-03-02 08:47');
SELECT * FROM yquota.price_history WHERE resource_type = 'vcores' ORDER BY effective_at;
-- resource_type shows the base price in force, and an UPDATE of it makes a point at the clock
SELECT * FROM yquota.resource_type WHERE name = 'vcores';
SELECT yquota.set_clock('2026-03-02 08:46');
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM yquota.resource_type WHERE name = 'vcores';
-- copying the base price in force into resource_type makes no point, even when the clock passes the
-- next point in the meantime
BEGIN;
SELECT yquota.set_base_price('yarn.io/gpu', 4, 1, '2026-03-02 08:46:10');
SELECT yquota.set_base_price('yarn.io/gpu', 5, 1, '2026-03-02 08:46:20');
SELECT yquota.set_clock('2026-03-02 08:46:10');
CREATE FUNCTION move_clock() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN PERFORM yquota.set_clock(''2026-03-02 08:46:20''); RETURN NEW; END';
CREATE TRIGGER a_clock BEFORE UPDATE ON yquota.resource_type FOR EACH ROW EXECUTE FUNCTION move_clock();
SELECT count(*) FROM yquota.compute_prices();
SELECT effective_at, base_price FROM yquota.base_price WHERE resource_type = 'yarn.io/gpu' ORDER BY 1;
SELECT base_price, unit FROM yquota.resource_type WHERE name = 'yarn.io/gpu';
ROLLBACK;
UPDATE yquota.resource_type SET base_price = 5, unit = 2 WHERE name = 'vcores';
UPDATE yquota.resource_type SET base_price = 6 WHERE name = 'vcores';
UPDATE yquota.resource_type SET base_price = base_price WHERE name <> 'vcores';
SELECT resource_type, effective_at, base_price, unit, set_by = session_user AS mine
FROM yquota.base_price ORDER BY 1, 2;
SELECT resource_type, base_price, unit, price, effective_at FROM yquota.current_price WHERE resource_type = 'vcores';
-- errors
SELECT yquota.set_base_price('warp-cores', 1);
SELECT yquota.set_base_price('vcores', NULL);
\set VERBOSITY terse
SELECT yquota.set_base_price('vcores', -1);
SELECT yquota.set_base_price('vcores', 1, 0);
SELECT yquota.set_base_price('vcores', 1e-19);
\set VERBOSITY default
UPDATE yquota.resource_type SET unit = 0 WHERE name = 'vcores';
UPDATE yquota.resource_type SET base_price = -1 WHERE name = 'vcores';

--
-- The past can be changed as long as no charge depends on it.
--
SELECT yquota.set_multiplier('GPU', 1.25, '2020-01-01');
INSERT INTO yquota.price (price_group, effective_at, multiplier) VALUES ('GPU', '2021-01-01', 1.5);
UPDATE yquota.price SET multiplier = 1.75 WHERE price_group = 'GPU' AND effective_at = '2021-01-01';
DELETE FROM yquota.price WHERE price_group = 'GPU' AND effective_at = '2021-01-01';
SELECT yquota.set_multiplier('GPU', 1.1, '-infinity');
DELETE FROM yquota.price WHERE price_group = 'GPU' AND effective_at = '-infinity';
UPDATE yquota.price SET effective_at = '2000-01-01' WHERE price_group = 'GPU' AND effective_at = '-infinity';
SELECT * FROM points WHERE price_group = 'GPU';
TRUNCATE yquota.price;

-- A finished container: points before its end are refused, and points at or after its end are
-- accepted.
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 09:00', 'p', 'root.a', '[vcores=1]'),
	('CONTAINER_FINISH', 'c1', '2026-03-02 09:10', 'p', NULL, NULL);
SELECT yquota.set_multiplier('GPU', 2, '2026-03-02 09:09:59.999999');
\echo :LAST_ERROR_SQLSTATE
-- a point that repeats the value in force changes no amount, so it is accepted at any instant
BEGIN;
SELECT yquota.set_multiplier('GENERAL', 1.0, '2026-03-02 09:05');
SELECT yquota.set_multiplier('GENERAL', 1.00, '2026-03-02 09:05');
UPDATE yquota.price SET effective_at = '2026-03-02 09:01' WHERE price_group = 'GENERAL' AND effective_at = '2026-03-02 09:05';
UPDATE yquota.price SET multiplier = 2 WHERE price_group = 'GENERAL' AND effective_at = '2026-03-02 09:01';
ROLLBACK;
BEGIN;
SELECT yquota.set_multiplier('GENERAL', 1, '2026-03-02 09:05');
DELETE FROM yquota.price WHERE price_group = 'GENERAL' AND effective_at = '2026-03-02 09:05';
SELECT base_price * 3 AS base_price, unit * 3 AS unit FROM yquota_internal.base_price_at('vcores', '2026-03-02 09:05') \gset
SELECT yquota.set_base_price('vcores', :base_price, :unit, '2026-03-02 09:05');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('username', 'none', '2026-03-02 09:05', NULL);
SELECT amount FROM yquota.cost_between('-infinity', 'infinity', '{}');
SELECT * FROM yquota.verify();
UPDATE yquota.price_factor SET factor = 2 WHERE name = 'none';
ROLLBACK;
SELECT yquota.set_multiplier('GPU', 2, '2026-03-02 09:10');
SELECT yquota.set_base_price('vcores', 2, 1, '2026-03-02 09:05');
SELECT yquota.set_base_price('vcores', 2, 1, '2026-03-02 09:20');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2026-03-02 09:00', 2);
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2026-03-02 09:30', 2);
UPDATE yquota.price SET multiplier = 3 WHERE price_group = 'GENERAL' AND effective_at = '-infinity';
DELETE FROM yquota.base_price WHERE resource_type = 'vcores' AND effective_at = '2026-03-02 08:45';
UPDATE yquota.base_price SET effective_at = '2026-03-02 09:01' WHERE resource_type = 'vcores' AND effective_at = '2026-03-02 09:20';
-- none of these points has changed the charge
SELECT container_id, "from", "to", trim_scale(amount) AS amount FROM yquota.charge;

-- A running container: only points before the charged-through mark are refused.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c2', '2026-03-02 09:40', 'p', '[vcores=1]');
SELECT yquota.set_multiplier('GPU', 2.1, '2026-03-02 09:50');
INSERT INTO yquota.container_event (event, occurred_at) VALUES ('QUOTA_COMPUTE', '2026-03-02 09:55');
SELECT yquota.set_multiplier('GPU', 2.2, '2026-03-02 09:54');
SELECT yquota.set_multiplier('GPU', 2.2, '2026-03-02 09:55');
-- points at or after the clock are never refused
SELECT yquota.set_multiplier('GPU', 2.3, '2026-03-02 10:00');
SELECT yquota.set_multiplier('GPU', 2.4, '2026-03-02 10:00');

--
-- Charging rules: refused up to the start of containers that have finished
--
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 09:01', '10 s');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 09:00', '10 s');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 08:00', '20 s');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 10:00', '30 s');
UPDATE yquota.charging_rule SET minimum_run_time = '40 s' WHERE effective_at = '2026-03-02 09:01';
DELETE FROM yquota.charging_rule WHERE effective_at = '2026-03-02 09:01';
\set VERBOSITY terse
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 11:00', '366 days');
\set VERBOSITY default
SELECT effective_at, minimum_run_time FROM yquota.charging_rule ORDER BY 1;

--
-- Factors: values that the columns refuse
--
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', '2026-03-02 11:00', 0.5);
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'BEST_EFFORT', '2026-03-02 11:00', 0.5);
\set VERBOSITY terse
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2026-03-02 11:00', 0.0000001);
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2026-03-02 11:00', -1);
\set VERBOSITY default

--
-- Outages can only be in the past
--
CREATE TEMPORARY TABLE reported AS
	SELECT yquota.report_outage('2026-03-02 09:02', '2026-03-02 09:03', 'failover') AS id;
SELECT yquota.report_outage('2026-03-02 09:02', '2026-03-02 09:03', 'failover, again') = id AS same FROM reported;
SELECT yquota.report_outage('2026-03-02 09:02', '2026-03-02 09:03', 'of p', 'p') = id AS same FROM reported;
INSERT INTO yquota.outage (started_at, ended_at, forgiven, reason) VALUES ('2026-03-02 07:00', '2026-03-02 09:04', false, 'long gap');
SELECT project, started_at, ended_at, forgiven, reason FROM yquota.outage ORDER BY outage_id;
SELECT trim_scale(sum(amount)) AS charged FROM yquota.charge;
-- a report of a long outage, or an UPDATE of it, decides that the outage is forgiven
SELECT yquota.report_outage('2026-03-02 07:00', '2026-03-02 09:04', 'long gap') > id AS later FROM reported;
SELECT project, started_at, ended_at, forgiven FROM yquota.outage ORDER BY outage_id;
SELECT trim_scale(sum(amount)) AS charged FROM yquota.charge;
-- forgiven time stays forgiven, except where no charge depends on it
DELETE FROM yquota.outage WHERE project IS NULL;
UPDATE yquota.outage SET forgiven = false WHERE project IS NULL;
UPDATE yquota.outage SET ended_at = '2026-03-02 09:01' WHERE started_at = '2026-03-02 07:00';
UPDATE yquota.outage SET ended_at = '2026-03-02 09:05' WHERE started_at = '2026-03-02 07:00';
SELECT trim_scale(sum(amount)) AS charged FROM yquota.charge;
SELECT yquota.report_outage('2026-03-02 11:00', '2026-03-02 12:00', 'maintenance') > id AS later FROM reported;
DELETE FROM yquota.outage WHERE started_at = '2026-03-02 11:00';
-- errors
SELECT yquota.report_outage('2026-03-02 09:02', '2026-03-02 09:02', 'empty');
SELECT yquota.report_outage('-infinity', '2026-03-02 09:02', 'for ever');
SELECT yquota.report_outage(NULL, '2026-03-02 09:02', 'when?');
SELECT yquota.report_outage('2026-03-02 09:02', '2026-03-02 09:03', 'whose?', 'nobody');

-- an outage reported before or after the charge gives the same total
INSERT INTO yquota.project (name) VALUES ('before'), ('after');
SELECT yquota.report_outage('2026-03-02 09:41', '2026-03-02 09:42:30', 'switch', 'before') > id AS later FROM reported;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'before-1', '2026-03-02 09:40', 'before', '[vcores=7]'),
	('CONTAINER_START', 'before-2', '2026-03-02 09:42', 'before', '[vcores=5]'),
	('CONTAINER_FINISH', 'before-1', '2026-03-02 09:50', 'before', NULL),
	('CONTAINER_START', 'after-1', '2026-03-02 09:40', 'after', '[vcores=7]'),
	('CONTAINER_START', 'after-2', '2026-03-02 09:42', 'after', '[vcores=5]'),
	('CONTAINER_FINISH', 'after-1', '2026-03-02 09:50', 'after', NULL);
SELECT yquota.report_outage('2026-03-02 09:41', '2026-03-02 09:42:30', 'switch', 'after') > id AS later FROM reported;
SELECT project, trim_scale(charged) AS charged, trim_scale(accrued) AS accrued
FROM yquota.project_balance WHERE project IN ('before', 'after') ORDER BY project;

-- padding is charged at the price of the finish, so that instant counts as charged, too
SELECT yquota.set_clock('2026-03-02 10:05');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c3', '2026-03-02 10:01', 'p', '[vcores=1]'),
	('CONTAINER_FINISH', 'c3', '2026-03-02 10:01:10', 'p', NULL);
SELECT "from", "to", padding, trim_scale(amount) AS amount FROM yquota.charge WHERE container_id = 'c3' ORDER BY number;
SELECT yquota.set_base_price('vcores', 3, 1, '2026-03-02 10:01:10');
SELECT yquota.set_base_price('vcores', 3, 1, '2026-03-02 10:01:10.000001');

-- verify() finds nothing wrong
SELECT * FROM yquota.verify();

--
-- Every change has been recorded, in order and without gaps.
--
SELECT count(*) = max(version) AS without_gaps, count(*) > 20 AS many FROM yquota.pricing_change;
SELECT effective_from, description FROM yquota.pricing_change ORDER BY version DESC LIMIT 5;

\c postgres
DROP DATABASE yquota_pricing_timeline;
