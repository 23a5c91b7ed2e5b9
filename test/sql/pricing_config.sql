--
-- Price groups and resource types are rows (docs/design.md 2): which rows can be inserted, changed
-- and deleted, and which roles may set prices.
--
CREATE DATABASE yquota_pricing_config;
\c yquota_pricing_config
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 08:00');

-- the shipped configuration
SELECT * FROM yquota.price_group ORDER BY name;
SELECT * FROM yquota.resource_type ORDER BY name;
SELECT price_group, effective_at, multiplier FROM yquota.price ORDER BY 1, 2;
SELECT resource_type, effective_at, base_price, unit FROM yquota.base_price ORDER BY 1, 2;
SELECT resource_type, multiplier, base_price, unit, price, effective_at, unit_hour_price FROM yquota.current_price ORDER BY resource_type;
SELECT count(*) FROM yquota.pricing_change;

-- a resource type can be added to a group at any time
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 07:00', 'p', '[memory-mb=1024,vcores=1]'),
	('CONTAINER_FINISH', 'c1', '2026-03-02 07:30', 'p', NULL);
INSERT INTO yquota.resource_type VALUES ('cpu-milli', 'GENERAL', 1, 1000);
INSERT INTO yquota.resource_type VALUES ('gpu-milli', 'GPU', 2, 1000);
INSERT INTO yquota.price_group (name) VALUES ('FPGA');
INSERT INTO yquota.resource_type (name, price_group) VALUES ('yarn.io/fpga', 'FPGA');
SELECT resource_type, multiplier, base_price, unit, price, effective_at, unit_hour_price FROM yquota.current_price ORDER BY resource_type;
SELECT effective_from, description FROM yquota.pricing_change ORDER BY version;

-- values that the columns refuse
INSERT INTO yquota.resource_type VALUES ('vcores', 'GENERAL', 1, 1);
INSERT INTO yquota.resource_type VALUES ('x', 'NONE', 1, 1);
INSERT INTO yquota.resource_type VALUES ('x', 'GENERAL', 1, 0);
INSERT INTO yquota.resource_type VALUES ('x', 'GENERAL', -1, 1);
INSERT INTO yquota.resource_type VALUES ('x', 'GENERAL', 'NaN', 1);
INSERT INTO yquota.resource_type VALUES ('x', 'GENERAL', 0.0000000000000000001, 1);
INSERT INTO yquota.resource_type VALUES ('memory', 'GENERAL', 1, 1024);
INSERT INTO yquota.resource_type VALUES ('two words', 'GENERAL', 1, 1);
INSERT INTO yquota.resource_type VALUES ('', 'GENERAL', 1, 1);
INSERT INTO yquota.price_group (name, tipping_point) VALUES ('x', 1.1);
INSERT INTO yquota.price_group (name, tipping_point) VALUES ('x', -0.1);
INSERT INTO yquota.price_group (name, increment_factor) VALUES ('x', -1);
INSERT INTO yquota.price_group (name, max_multiplier) VALUES ('x', 0.9);

-- GENERAL cannot be deleted, and names cannot change
DELETE FROM yquota.price_group WHERE name = 'GENERAL';
UPDATE yquota.price_group SET name = 'ALL' WHERE name = 'GENERAL';
UPDATE yquota.price_group SET name = 'ACCELERATORS' WHERE name = 'GPU';
DELETE FROM yquota.price_group WHERE name = 'GPU';
UPDATE yquota.resource_type SET name = 'cores' WHERE name = 'vcores';
TRUNCATE yquota.resource_type CASCADE;

-- a resource type that was used cannot be deleted or change its group, and an unused type can be
-- deleted
DELETE FROM yquota.resource_type WHERE name = 'vcores';
\echo :LAST_ERROR_SQLSTATE
UPDATE yquota.resource_type SET price_group = 'GPU' WHERE name = 'vcores';
UPDATE yquota.resource_type SET price_group = 'FPGA' WHERE name = 'yarn.io/gpu';
DELETE FROM yquota.resource_type WHERE name IN ('gpu-milli', 'cpu-milli');
DELETE FROM yquota.price_group WHERE name = 'GPU';
SELECT resource_type, price_group, price FROM yquota.current_price ORDER BY 1;
SELECT price_group, effective_at FROM yquota.price ORDER BY 1;
SELECT resource_type, effective_at FROM yquota.base_price ORDER BY 1;

-- A running container holds a type whose cost has not been shown yet. The type may change its
-- group, but cannot be deleted.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c2', '2026-03-02 07:50', 'p', '[yarn.io/fpga=1]');
DELETE FROM yquota.resource_type WHERE name = 'yarn.io/fpga';
UPDATE yquota.resource_type SET price_group = 'GENERAL' WHERE name = 'yarn.io/fpga';
SELECT effective_from, description FROM yquota.pricing_change ORDER BY version DESC LIMIT 1;
INSERT INTO yquota.container_event (event, occurred_at) VALUES ('QUOTA_COMPUTE', '2026-03-02 07:55');
UPDATE yquota.resource_type SET price_group = 'FPGA' WHERE name = 'yarn.io/fpga';

--
-- Rights: reading needs only SELECT. Setting a price needs EXECUTE on its function, and changing
-- rows needs privileges on the table. The session's user is recorded.
--
CREATE ROLE regress_yquota_reader;
CREATE ROLE regress_yquota_pricer;
GRANT SELECT ON yquota.current_price, yquota.price_history TO regress_yquota_reader;
GRANT EXECUTE ON FUNCTION yquota.set_multiplier, yquota.clear_multiplier, yquota.set_base_price,
	yquota.compute_prices, yquota.report_outage TO regress_yquota_pricer;
GRANT SELECT, INSERT, UPDATE, DELETE ON yquota.price, yquota.price_factor TO regress_yquota_pricer;
SET SESSION AUTHORIZATION regress_yquota_reader;
SELECT resource_type, price FROM yquota.current_price ORDER BY 1;
SELECT count(*) FROM yquota.price_history;
SELECT count(*) FROM yquota.price;
SELECT yquota.set_multiplier('GENERAL', 2);
\echo :LAST_ERROR_SQLSTATE
SELECT yquota.clear_multiplier('GENERAL');
SELECT yquota.set_base_price('vcores', 2);
SELECT yquota.compute_prices();
SELECT yquota.report_outage('2026-03-02 07:00', '2026-03-02 07:01', 'x');
\set VERBOSITY terse
SELECT yquota_internal.note_pricing_change('-infinity', 'x');
\set VERBOSITY default
SET SESSION AUTHORIZATION regress_yquota_pricer;
SELECT yquota.set_multiplier('GENERAL', 2, '2026-03-02 09:00');
SELECT yquota.set_base_price('vcores', 2, 1, '2026-03-02 09:00');
SELECT price_group, published FROM yquota.compute_prices();
SELECT yquota.report_outage('2026-03-02 07:00', '2026-03-02 07:01', 'x') IS NOT NULL AS reported;
INSERT INTO yquota.price (price_group, effective_at, multiplier, set_by, set_at)
VALUES ('GENERAL', '2026-03-02 10:00', 3, 'postgres', '2000-01-01');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('username', 'u', '2026-03-02 10:00', 3);
UPDATE yquota.price SET multiplier = 4 WHERE effective_at = '2026-03-02 10:00';
DELETE FROM yquota.price WHERE effective_at = '2026-03-02 09:00';
UPDATE yquota.price SET multiplier = 4 WHERE effective_at = '-infinity';
INSERT INTO yquota.base_price VALUES ('vcores', '2026-03-02 11:00', 1, 1);
-- triggers accept a restore only when the owner runs it
SET check_function_bodies = off;
SET row_security = off;
INSERT INTO yquota.price (price_group, effective_at, multiplier) VALUES ('GENERAL', '2026-03-02 07:10', 4);
RESET SESSION AUTHORIZATION;
RESET check_function_bodies;
RESET row_security;
SELECT price_group, effective_at, multiplier, set_by, set_at > '2020-01-01' AS set_now
FROM yquota.price WHERE set_by = 'regress_yquota_pricer';
SELECT resource_type, effective_at, base_price, set_by FROM yquota.base_price WHERE set_by = 'regress_yquota_pricer';
SELECT price_group, until, set_by FROM yquota.price_pin;
SELECT reason, reported_by FROM yquota.outage;

-- verify() finds nothing wrong
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_pricing_config;
DROP ROLE regress_yquota_reader, regress_yquota_pricer;
