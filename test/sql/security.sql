--
-- Rights of a feed that may only insert events, of a reader of views, and of an administrator who
-- is not a superuser. Further tests are about calls that every role may try.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_security WITH (FORCE);
CREATE DATABASE yquota_security;
\c yquota_security
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
CREATE ROLE yquota_test_feed;
CREATE ROLE yquota_test_reader;
CREATE ROLE yquota_test_administrator;
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.billing_currency (effective_at, code, symbol, credits_per_unit) VALUES ('-infinity', 'EUR', 'EUR', 100);
SELECT yquota.allow_role('yquota_test_feed', 'operator');
SELECT yquota.allow_role('yquota_test_reader', 'viewer');
SELECT yquota.allow_role('yquota_test_administrator', 'admin');
-- further privileges that an administrator gets by GRANT
GRANT INSERT, UPDATE ON yquota.base_price, yquota.price, yquota.price_pin TO yquota_test_administrator;
GRANT UPDATE ON yquota.quota_grant TO yquota_test_administrator;

--
-- A feed sends all four kinds of events, has bad events set aside, and sees only balances.
--
SET SESSION AUTHORIZATION yquota_test_feed;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 09:00', 'lab', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'c2', '2026-03-02 09:00', 'lab', 'n1', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'c1', '2026-03-02 09:10', '[vcores=2]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2026-03-02 09:20');
INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c3', '2026-03-02 09:20');
RESET yquota.on_bad_event;
-- rows of a role without the owner's rights are charged even with the settings of a dump
SET check_function_bodies = off;
SET row_security = off;
SET client_min_messages = warning;
COPY yquota.container_event (event, container_id, occurred_at, recorded_at) FROM stdin;
CONTAINER_FINISH	c2	2026-03-02 09:20	2020-01-01
\.
RESET check_function_bodies;
RESET row_security;
SELECT count(*) FROM yquota.container_event;
SELECT count(*) FROM yquota.event_reject;
UPDATE yquota.container_event SET container_id = 'x';
DELETE FROM yquota.container_event;
TRUNCATE yquota.container_event;
SELECT project, remaining FROM yquota.project_balance;
SELECT count(*) FROM yquota.container_cost;
SELECT yquota_internal.compact_counters();
SELECT yquota_internal.restoring();
SET yquota.max_clock_skew = '10 years';
SET yquota.auto_create_project = on;
RESET SESSION AUTHORIZATION;
SELECT event, container_id, waiting, sqlstate FROM yquota.event_reject ORDER BY reject_id;
SELECT container_id, allocation, "to", amount FROM yquota.charge ORDER BY container_id, number;

--
-- A viewer reads every view and the books, and cannot write.
--
SET SESSION AUTHORIZATION yquota_test_reader;
SELECT format('SELECT count(t::text) > 0 AS %I FROM yquota.%I AS t', relname, relname)
FROM pg_class WHERE relnamespace = 'yquota'::regnamespace AND relkind = 'v' ORDER BY relname \gexec
SELECT project, charged, accrued FROM yquota.project_balance;
SELECT count(*) FROM yquota.charge;
SELECT * FROM yquota.cost_between('-infinity', 'infinity');
SELECT * FROM yquota.verify();
INSERT INTO yquota.project (name) VALUES ('mine');
SELECT yquota.set_multiplier('GPU', 0);
-- an object planted under the name of an object that a view uses does not run
CREATE TEMP TABLE counter_delta (note text);
CREATE FUNCTION pg_temp.accrued(yquota.resource, text[], timestamptz, timestamptz) RETURNS numeric
	LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'planted'; END$$;
SELECT count(*) FROM yquota.container_cost;
DROP FUNCTION pg_temp.accrued;
RESET SESSION AUTHORIZATION;

--
-- An administrator configures, and is recorded by session user, whatever name the row gives.
--
SET SESSION AUTHORIZATION yquota_test_administrator;
INSERT INTO yquota.price_group (name) VALUES ('FPGA');
INSERT INTO yquota.resource_type VALUES ('yarn.io/fpga', 'FPGA', 5, 1);
UPDATE yquota.resource_type SET base_price = 6 WHERE name = 'yarn.io/fpga';
INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=4]');
INSERT INTO yquota.utilization (resource_type, utilization, reported_at) VALUES ('vcores', 0.5, '2026-03-02 10:00');
INSERT INTO yquota.pending_demand VALUES ('rm', '[vcores=4]', '2026-03-02 10:00');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor, set_by)
VALUES ('username', 'ann', '2026-03-02 11:00', 0.5, 'postgres') RETURNING set_by;
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time, set_by)
VALUES ('2026-03-02 11:00', '1 min', 'postgres') RETURNING set_by;
INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit, set_by)
VALUES ('yarn.io/fpga', '2026-03-02 11:00', 7, 1, 'postgres') RETURNING set_by;
INSERT INTO yquota.price (price_group, effective_at, multiplier, set_by)
VALUES ('FPGA', '2026-03-02 11:00', 2, 'postgres') RETURNING set_by;
INSERT INTO yquota.price_pin (price_group, until, set_by)
VALUES ('FPGA', '2026-03-02 12:00', 'postgres') RETURNING set_by;
UPDATE yquota.price_pin SET until = '2026-03-02 13:00', set_by = 'postgres' RETURNING set_by;
INSERT INTO yquota.outage (started_at, ended_at, reason, reported_by)
VALUES ('2026-03-02 11:00', '2026-03-02 11:10', 'planned', 'postgres') RETURNING reported_by;
UPDATE yquota.outage SET reason = 'longer', ended_at = '2026-03-02 11:20', reported_by = 'postgres' RETURNING reported_by;
INSERT INTO yquota.quota_grant (project, amount, reason, granted_by, granted_at)
VALUES ('lab', 10, 'gift', 'postgres', '2020-01-01') RETURNING granted_by, granted_at > '2020-01-01' AS now;
UPDATE yquota.quota_grant SET amount = 20, granted_by = 'postgres' RETURNING granted_by;
SELECT yquota.set_multiplier('GPU', 2);
SELECT price_group, multiplier, set_by FROM yquota.price WHERE effective_at = '2026-03-02 10:00';
SELECT price_group, set_by FROM yquota.price_pin ORDER BY 1;
SELECT yquota.clear_multiplier('GPU');
SELECT price_group, published FROM yquota.compute_prices();
SELECT yquota.quota_compute();
SELECT project, amount FROM yquota.cost_between('-infinity', 'infinity');
SELECT * FROM yquota.retry_rejects();
SELECT * FROM yquota.reconcile('[{"container_id": "c2"}]', '2026-03-02 10:00');
SELECT * FROM yquota.node_lost('n1');
SELECT * FROM yquota.verify();
-- an object planted under a name that a SECURITY DEFINER function uses does not run
CREATE TEMP TABLE price_pin (price_group text, until timestamptz);
CREATE FUNCTION pg_temp.trim_scale(numeric) RETURNS numeric
	LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'planted'; END$$;
CREATE FUNCTION pg_temp.equal(text, text) RETURNS boolean
	LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'planted'; END$$;
CREATE OPERATOR pg_temp.= (FUNCTION = pg_temp.equal, LEFTARG = text, RIGHTARG = text);
SET search_path = pg_temp, pg_catalog;
SELECT yquota.set_multiplier('GPU', 3);
RESET search_path;
SELECT count(*) AS temporary_pins FROM pg_temp.price_pin;
-- an administrator cannot change the books
UPDATE yquota.charge SET amount = 0;
DELETE FROM yquota.container;
INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
SELECT yquota.set_clock('2030-01-01');
CREATE TEMP TABLE mine (price_group text, effective_at timestamptz);
CREATE TRIGGER note AFTER INSERT ON mine FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
RESET SESSION AUTHORIZATION;

--
-- The extension itself
--
ALTER EXTENSION yquota SET SCHEMA public;
CREATE EXTENSION yquota;
-- columns cannot be added to tables that the library writes directly
ALTER TABLE yquota.charge ADD COLUMN note text NOT NULL DEFAULT '';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c4', '2026-03-02 09:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'c4', '2026-03-02 09:01', NULL, NULL);
ALTER TABLE yquota.charge DROP COLUMN note;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'c4', '2026-03-02 09:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'c4', '2026-03-02 09:01', NULL, NULL);
SELECT amount FROM yquota.charge WHERE container_id = 'c4';
SELECT * FROM yquota.verify();
DROP TABLE yquota.charge;
DROP EXTENSION yquota;
SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'yquota%';
-- with the settings of a dump, the rows that CREATE EXTENSION inserts are not part of a dump
SET check_function_bodies = off;
SET row_security = off;
CREATE EXTENSION yquota;
RESET check_function_bodies;
RESET row_security;
SELECT resource_type, price FROM yquota.price_history ORDER BY 1;
SET standard_conforming_strings = off;
DROP EXTENSION yquota;
SET client_min_messages = notice;
CREATE EXTENSION yquota;
RESET standard_conforming_strings;
SET client_min_messages = warning;
\c postgres
DROP DATABASE yquota_security;
DROP ROLE yquota_test_feed, yquota_test_reader, yquota_test_administrator;
