--
-- A price that follows the load of node queues: the factor, how its points are published, and
-- points that are set by hand. Further tests are about the rights to set points, and the amounts
-- that members pay.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic_price WITH (FORCE);
CREATE DATABASE yquota_opportunistic_price;
\c yquota_opportunistic_price
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.scheduler_setting (opportunistic_allocation_enabled, opportunistic_queue_capacity) VALUES (true, 4);
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, total, state) SELECT 'n' || n, '[memory-mb=8192,vcores=8]', 'RUNNING' FROM generate_series(1, 5) AS n;
CREATE FUNCTION report(node text, queued integer, capacity integer) RETURNS boolean LANGUAGE sql
	RETURN (SELECT accepted FROM yquota.report_nodes(ARRAY[ROW(node, 0, 0, 0, queued, NULL, capacity, NULL, NULL, NULL)::yquota.node_report]));
CREATE VIEW points AS
	SELECT effective_at, factor, load FROM yquota.price_factor WHERE dimension = 'execution_type' AND name = 'OPPORTUNISTIC' ORDER BY effective_at;
CREATE VIEW explained AS SELECT nodes, load, computed_factor, factor, effective_at, set_by_hand, outcome FROM yquota.explain_opportunistic_price();
INSERT INTO yquota.container_event (event, container_id, project, allocation, execution_type) VALUES
	('CONTAINER_START', 'g', 'p', '[vcores=1]', 'GUARANTEED'), ('CONTAINER_START', 'o', 'p', '[vcores=1]', 'OPPORTUNISTIC');

\echo the price is off
SELECT report('n4', 5, 10), report('n5', 9, 10);
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points;
SELECT * FROM explained;
SELECT count(*) FROM yquota.metrics WHERE family = 'opportunistic_price';
SELECT DISTINCT opportunistic_factor, next_opportunistic_factor, next_opportunistic_effective_at FROM yquota.current_price;

\echo bounds of the factor
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (-0.1, 1);
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.5, 1000000.1);
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.5, 0.4);
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.0000001, 1);
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.5, 'NaN');
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.5, NULL);

\echo a what-if
BEGIN;
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.1, 2);
SELECT * FROM explained;
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points;
SELECT yquota.set_clock('2026-03-02 11:00:01+00');
SELECT container_id, trim_scale(cost) AS cost FROM yquota.container_cost ORDER BY 1;
ROLLBACK;
SELECT * FROM points;

-- Three queues hold 1 of 4, 3 of 3 and 7 of 6: L = (1/4 + 1 + 1) / 3 = 0.75, and the factor is 0.2
-- + (1 - 0.2) x 0.75 = 0.8. A queue without capacity does not count. A node that reports no
-- capacity has the capacity of the setting.
\echo the worked example
DELETE FROM yquota.node WHERE name IN ('n4', 'n5');
INSERT INTO yquota.node (name, total, state) VALUES ('n4', '[memory-mb=8192,vcores=8]', 'RUNNING');
SELECT report('n1', 1, NULL), report('n2', 3, 3), report('n3', 7, 6), report('n4', 2, 0);
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1);
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1);
SELECT * FROM points;
SELECT * FROM yquota.explain_opportunistic_price();
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points;
SELECT DISTINCT opportunistic_factor, next_opportunistic_factor, next_opportunistic_effective_at FROM yquota.current_price;
CREATE ROLE yquota_test_price_exporter;
GRANT SELECT ON yquota.metrics TO yquota_test_price_exporter;
SET ROLE yquota_test_price_exporter;
SELECT metric, value FROM yquota.metrics WHERE family = 'opportunistic_price' ORDER BY 1;
RESET ROLE;
DROP OWNED BY yquota_test_price_exporter;
DROP ROLE yquota_test_price_exporter;
-- the computation is repeated
SELECT outcome FROM explained;
SELECT count(*) FROM yquota.compute_prices();
SELECT count(*) FROM points;

\echo the price changes once per yquota.price_interval, and by at least 0.01
SELECT yquota.set_clock('2026-03-02 10:00:09.999999+00');
SELECT report('n1', 2, 4), report('n2', 3, 3), report('n3', 6, 6);
SELECT load, computed_factor, factor, outcome FROM explained;
SELECT count(*) FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 10:00:10+00');
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points;
-- the factor changes by less than 0.01, and then by exactly 0.01, up and down
SELECT yquota.set_clock('2026-03-02 10:00:20+00');
SELECT report('n1', 2, 4), report('n2', 3, 3), report('n3', 6, 6);
SELECT load, computed_factor, factor, outcome FROM explained;
UPDATE yquota.opportunistic_price SET min_factor = 0.876666, max_factor = 0.876666;
SELECT computed_factor, factor, outcome FROM explained;
UPDATE yquota.opportunistic_price SET min_factor = 0.876667, max_factor = 0.876667;
SELECT computed_factor, factor, outcome FROM explained;
UPDATE yquota.opportunistic_price SET min_factor = 0.856668, max_factor = 0.856668;
SELECT computed_factor, factor, outcome FROM explained;
UPDATE yquota.opportunistic_price SET min_factor = 0.856667, max_factor = 0.856667;
SELECT computed_factor, factor, outcome FROM explained;
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points;

-- Rounding is half to even: half of 0.000001 is rounded down, and half of 0.000003 up. A third is not
-- rounded before the end.
\echo rounding of the factor
SELECT yquota.set_clock('2026-03-02 10:00:21+00');
SELECT report('n1', 2, 4), report('n2', 0, 3), report('n3', 6, 6);
UPDATE yquota.opportunistic_price SET min_factor = 0.5, max_factor = 0.500001;
SELECT load, computed_factor FROM explained;
UPDATE yquota.opportunistic_price SET max_factor = 0.500003;
SELECT load, computed_factor FROM explained;
SELECT yquota.set_clock('2026-03-02 10:00:22+00');
SELECT report('n1', 0, 4), report('n2', 1, 3), report('n3', 4, 6);
UPDATE yquota.opportunistic_price SET min_factor = 0, max_factor = 1000000;
SELECT load, computed_factor FROM explained;

\echo old reports
UPDATE yquota.opportunistic_price SET min_factor = 0.2, max_factor = 1;
SELECT yquota.set_clock('2026-03-02 10:00:31.999999+00');
SELECT nodes, load, outcome FROM explained;
SELECT yquota.set_clock('2026-03-02 10:00:32+00');
SELECT nodes, load, computed_factor, factor, outcome FROM explained;
SELECT count(*) FROM yquota.compute_prices();
SELECT count(*) FROM points;
UPDATE yquota.scheduler_setting SET report_max_age = '1 day';
SELECT nodes, outcome FROM explained;
\set VERBOSITY terse
UPDATE yquota.scheduler_setting SET report_max_age = '0.5 ms';
\set VERBOSITY default
UPDATE yquota.scheduler_setting SET report_max_age = NULL;

\echo a factor set by hand
SELECT report('n1', 0, 3), report('n2', 0, 3), report('n3', 0, 3);
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points;
-- a point set by hand at the clock replaces a computed point that lies ahead
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('execution_type', 'OPPORTUNISTIC', 0.7);
SELECT * FROM points;
SELECT yquota.set_clock('2026-03-02 10:00:45+00');
SELECT report('n1', 3, 3), report('n2', 3, 3), report('n3', 3, 3);
SELECT * FROM explained;
SELECT count(*) FROM yquota.compute_prices();
SELECT count(*) FROM points;
-- a point without a factor withdraws the point set by hand
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('execution_type', 'OPPORTUNISTIC', NULL);
SELECT yquota.set_clock('2026-03-02 10:00:46+00');
SELECT outcome FROM explained;
SELECT report('n1', 0, 3), report('n2', 1, 3), report('n3', 1, 3);
SELECT computed_factor, factor, set_by_hand, outcome FROM explained;
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points;
-- a factor set for a later instant wins from that instant, until it is withdrawn
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', '2026-03-02 10:01:10+00', 3);
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT report('n1', 3, 3), report('n2', 3, 3), report('n3', 3, 3);
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points OFFSET 5;
SELECT yquota.set_clock('2026-03-02 10:01:09+00');
SELECT set_by_hand, outcome FROM explained;
SELECT yquota.withdraw_point('yquota.price_factor', '2026-03-02 10:01:10+00', 'OPPORTUNISTIC', 'execution_type');
SELECT set_by_hand, outcome FROM explained;
-- a factor at the instant of a computed point, and a factor in the past, where amounts have been
-- shown
SELECT report('n1', 0, 3), report('n2', 0, 3), report('n3', 0, 3);
SELECT count(*) FROM yquota.compute_prices('2026-03-02 10:01:11+00');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', '2026-03-02 10:01:12+00', 0.3);
SELECT * FROM points OFFSET 6;
SELECT yquota.quota_compute();
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', '2026-03-02 10:00:50+00', 0.4);
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('execution_type', 'OPPORTUNISTIC', '2026-03-02 10:01:13+00', NULL);

\echo the clock is set back
SELECT yquota.set_clock('2026-03-02 10:01:20+00');
SELECT report('n1', 0, 3), report('n2', 0, 3), report('n3', 1, 3);
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points OFFSET 6;
SELECT outcome FROM yquota.explain_opportunistic_price('2026-03-02 10:01:15+00');
SELECT yquota.quota_compute();
SELECT yquota.set_clock('2026-03-02 10:01:32+00');
SELECT report('n1', 3, 3), report('n2', 0, 3), report('n3', 3, 3);
SELECT yquota.quota_compute();
SELECT outcome FROM yquota.explain_opportunistic_price('2026-03-02 10:01:30.5+00');
SELECT count(*) FROM yquota.compute_prices('2026-03-02 10:01:30.5+00');
SELECT count(*) FROM points;
SELECT count(*) FROM yquota.compute_prices();
SELECT * FROM points OFFSET 9;

\echo the price is switched off again
DELETE FROM yquota.opportunistic_price;
SELECT * FROM points OFFSET 9;
SELECT yquota.set_clock('2026-03-02 10:01:50+00');
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1);
SELECT report('n1', 1, 4), report('n2', 3, 3), report('n3', 7, 6);
SELECT count(*) FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 10:02+00');
TRUNCATE yquota.opportunistic_price;
SELECT * FROM points OFFSET 10;

\echo the bill of a container
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'o'), ('CONTAINER_FINISH', 'g');
SELECT "from", "to", factors, trim_scale(amount) AS amount FROM yquota.explain_charge('o') ORDER BY 1;
-- the expected cost, computed by hand from the timeline of points
SELECT sum(seconds * factor) FROM (
	SELECT extract(epoch FROM least(lead(effective_at, 1, 'infinity') OVER (ORDER BY effective_at), '2026-03-02 10:02+00') - greatest(effective_at, '2026-03-02 10:00+00')) AS seconds,
		   coalesce(factor, 1) AS factor
	FROM points) AS held WHERE seconds > 0;
SELECT container_id, trim_scale(cost) AS cost FROM yquota.container_cost ORDER BY 1;
SELECT * FROM yquota.verify();

\echo the audit shows the changes of administrators
SELECT table_name, operation, new -> 'factor' AS factor, new -> 'load' AS load, new -> 'min_factor' AS min_factor, count(*)
FROM yquota.audit WHERE table_name IN ('yquota.price_factor', 'yquota.opportunistic_price') GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 5;

\echo rights of roles
CREATE ROLE yquota_test_price_admin;
CREATE ROLE yquota_test_price_operator;
CREATE ROLE yquota_test_price_member;
SELECT yquota.allow_role('yquota_test_price_admin', 'admin'), yquota.allow_role('yquota_test_price_operator', 'operator'), yquota.allow_role('yquota_test_price_member', 'member', 'p');
SET ROLE yquota_test_price_operator;
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1);
SELECT count(*) FROM yquota.explain_opportunistic_price();
SET ROLE yquota_test_price_admin;
INSERT INTO yquota.opportunistic_price (min_factor, max_factor) VALUES (0.2, 1);
SELECT count(*) FROM yquota.compute_prices();
RESET ROLE;
SELECT yquota.set_clock('2026-03-02 10:02:01+00');
SELECT report('n1', 1, 4), report('n2', 3, 3), report('n3', 7, 6);
SET ROLE yquota_test_price_admin;
INSERT INTO yquota.price_factor (dimension, name, factor, load) VALUES ('execution_type', 'OPPORTUNISTIC', 0.5, 0.5);
SELECT count(*) FROM yquota.compute_prices();
SET ROLE yquota_test_price_member;
SELECT * FROM yquota.opportunistic_price;
SELECT load, computed_factor, outcome FROM yquota.explain_opportunistic_price();
SELECT DISTINCT opportunistic_factor, next_opportunistic_factor FROM yquota.current_price;
UPDATE yquota.opportunistic_price SET max_factor = 0.2;
RESET ROLE;
SELECT yquota.disallow_role('yquota_test_price_admin', 'admin'), yquota.disallow_role('yquota_test_price_operator', 'operator'), yquota.disallow_role('yquota_test_price_member', 'member', 'p');
DROP ROLE yquota_test_price_admin, yquota_test_price_operator, yquota_test_price_member;

\c postgres
DROP DATABASE yquota_opportunistic_price WITH (FORCE);
