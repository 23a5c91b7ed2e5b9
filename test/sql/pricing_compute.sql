--
-- Multipliers computed from utilization (docs/design.md 2). The test covers figures computed by
-- hand, the cap, the floor by GENERAL, published and unpublished multipliers, and an unknown
-- cluster.
--
CREATE DATABASE yquota_pricing_compute;
\c yquota_pricing_compute
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
\set SHOW_CONTEXT never

-- Only the formula: vector 6.7, then 6.1 (4, 17, 9), then rounding and the cap.
SELECT utilization, yquota_internal.multiplier(utilization, 1, 0.2, 1, NULL) AS increment_1,
	   yquota_internal.multiplier(utilization, 1, 0.2, 2, NULL) AS increment_2
FROM unnest(ARRAY[0, 0.2, 0.21, 0.35, 0.5, 0.75, 0.9, 1, 1.5, 2]) AS utilization;
SELECT yquota_internal.multiplier(7, 14, 0.2, 10, NULL) AS general_2019,
	   yquota_internal.multiplier(1, 1, 0.2, 20, NULL) AS gpu_2019,
	   yquota_internal.multiplier(15, 15, 0.2, 10, NULL) AS variable_2016;
-- a third and two thirds, then ties: half a unit of the 18th decimal is rounded to even
SELECT used, total, yquota_internal.multiplier(used, total, 0, increment, NULL)
FROM (VALUES (1, 3, 1::numeric), (2, 3, 1), (1, 1, 0.0000000000000000005),
			 (1, 1, 0.0000000000000000015), (1, 1, 0.0000000000000000025),
			 (1, 1, 0.00000000000000000050000000000000000001))
	AS v (used, total, increment);
-- rounding used / total first would give 333334.333333333333
SELECT yquota_internal.multiplier(1, 3, 0, 1000000, NULL);
SELECT cap, yquota_internal.multiplier(1, 1, 0.2, 10, cap)
FROM unnest(ARRAY[1, 8.5, 9, 10, 1.0000000000000000015]) AS cap;
SELECT yquota_internal.multiplier(NULL, 1, 0.2, 1, 2);
SELECT yquota_internal.multiplier(1, 0, 0.2, 1, NULL);
SELECT yquota_internal.multiplier('NaN', 1, 0.2, 1, NULL);
SELECT yquota_internal.multiplier(1, 'Infinity', 0.2, 1, NULL);

--
-- A new cluster has no node yet, and never had a GPU.
--
SELECT yquota.set_clock('2026-03-02 08:00');
INSERT INTO yquota.project (name) VALUES ('Project07');
SELECT * FROM yquota.compute_prices();
SELECT * FROM yquota.compute_prices();
SELECT kind, subject, detail, raised_at, cleared_at FROM yquota.alert ORDER BY alert_id;

--
-- Vector 6.1: 7 of 14 GB and one of one GPU are used.
--
INSERT INTO yquota.node (name, total, state) VALUES
	('n1', '[memory-mb=4096,vcores=4,yarn.io/gpu=1]', 'RUNNING'),
	('n2', '[memory-mb=10240,vcores=10]', 'RUNNING'),
	('n3', '[memory-mb=102400,vcores=100]', 'DECOMMISSIONING'),
	('n4', '[memory-mb=102400,vcores=100]', 'UNHEALTHY');
UPDATE yquota.price_group SET increment_factor = 10 WHERE name = 'GENERAL';
UPDATE yquota.price_group SET increment_factor = 20 WHERE name = 'GPU';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, execution_type) VALUES
	('CONTAINER_START', 'am', '2026-03-02 08:00', 'Project07', '[memory-mb=1024,vcores=1]', 'GUARANTEED'),
	('CONTAINER_START', 'c3', '2026-03-02 08:00', 'Project07', '[memory-mb=3072,vcores=3]', 'GUARANTEED'),
	('CONTAINER_START', 'c2', '2026-03-02 08:00', 'Project07', '[memory-mb=2048,vcores=2]', 'GUARANTEED'),
	('CONTAINER_START', 'c1', '2026-03-02 08:00', 'Project07', '[memory-mb=1024,vcores=1,yarn.io/gpu=1]', 'GUARANTEED'),
	-- this OPPORTUNISTIC container does not count
	('CONTAINER_START', 'o1', '2026-03-02 08:00', 'Project07', '[memory-mb=7168,vcores=7]', 'OPPORTUNISTIC');
SELECT yquota.set_clock('2026-03-02 08:00:10');
SELECT * FROM yquota.compute_prices();
SELECT kind, subject, raised_at, cleared_at FROM yquota.alert ORDER BY alert_id;

-- A price is published ahead, so it can be seen before it takes effect.
SELECT resource_type, multiplier, price, effective_at, next_multiplier, next_effective_at
FROM yquota.current_price ORDER BY resource_type;
SELECT yquota.set_clock('2026-03-02 08:00:11');
SELECT resource_type, multiplier, price, effective_at, next_multiplier, next_effective_at
FROM yquota.current_price ORDER BY resource_type;

-- Only changes are published.
SELECT yquota.set_clock('2026-03-02 08:00:20');
SELECT * FROM yquota.compute_prices();
-- A change of the configuration publishes a price. A second change for the same instant replaces
-- the price.
UPDATE yquota.price_group SET max_multiplier = 3.5 WHERE name = 'GENERAL';
SELECT * FROM yquota.compute_prices();
UPDATE yquota.price_group SET max_multiplier = NULL, tipping_point = 0.3 WHERE name = 'GENERAL';
SELECT * FROM yquota.compute_prices();
UPDATE yquota.price_group SET tipping_point = 0.2 WHERE name = 'GENERAL';
SELECT price_group, effective_at, multiplier, utilization, pinned
FROM yquota.price ORDER BY price_group, effective_at;

-- When the clock has gone back, nothing is published.
SELECT yquota.set_clock('2026-03-02 08:00:05');
SELECT * FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 08:00:20');

--
-- GENERAL is the floor: all of GENERAL is used, and the GPU is free.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, execution_type) VALUES
	('CONTAINER_UPDATE', 'c1', '2026-03-02 08:00:25', 'Project07', '[memory-mb=8192,vcores=1]', 'GUARANTEED');
SELECT yquota.set_clock('2026-03-02 08:00:30');
SELECT * FROM yquota.compute_prices();
-- GENERAL falls, and GPU falls with it
INSERT INTO yquota.container_event (event, container_id, occurred_at, project) VALUES
	('CONTAINER_FINISH', 'c1', '2026-03-02 08:00:35', 'Project07'),
	('CONTAINER_FINISH', 'c2', '2026-03-02 08:00:36', 'Project07');
SELECT yquota.set_clock('2026-03-02 08:00:40');
SELECT * FROM yquota.compute_prices();

--
-- Utilization of the past is computed from the ledger, with the containers of the time. No price is
-- published for time that has been charged.
--
SELECT as_of, p.*
FROM unnest(ARRAY['2026-03-02 07:59:59', '2026-03-02 08:00:00', '2026-03-02 08:00:24.9',
				  '2026-03-02 08:00:25', '2026-03-02 08:00:35.5', '2026-03-02 08:00:36'
				 ]::timestamptz[]) WITH ORDINALITY AS a (as_of, n),
	 LATERAL (SELECT price_group, utilization, published, reason FROM yquota.compute_prices(as_of)) AS p
WHERE price_group = 'GENERAL'
ORDER BY n;
SELECT as_of, resource_type, amount
FROM unnest(ARRAY['2026-03-02 08:00', '2026-03-02 08:00:25', '2026-03-02 08:00:36']::timestamptz[]) AS as_of,
	 LATERAL yquota_internal.guaranteed_usage(as_of)
ORDER BY 1, 2;

--
-- Pending demand counts only where it is configured, and only while the report is young.
--
INSERT INTO yquota.pending_demand (source, demand, reported_at) VALUES
	('rm1', '[memory-mb=14336]', '2026-03-02 08:00:40'),
	('rm2', '[memory-mb=6144]', '2026-03-02 08:00:40');
SELECT yquota.set_clock('2026-03-02 08:00:50');
SELECT * FROM yquota.compute_prices();
UPDATE yquota.price_group SET count_pending = true WHERE name = 'GENERAL';
SELECT * FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 08:01:40');
SELECT * FROM yquota.compute_prices();
UPDATE yquota.price_group SET count_pending = false WHERE name = 'GENERAL';

--
-- Reported utilization takes precedence while the report is young.
--
INSERT INTO yquota.utilization (resource_type, utilization, reported_at, source) VALUES
	('vcores', 1.5, '2026-03-02 08:01:45', 'rm1'),
	('yarn.io/gpu', 0.25, '2026-03-02 08:01:45', 'rm1');
SELECT yquota.set_clock('2026-03-02 08:01:50');
SELECT * FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 08:02:44.999');
SELECT * FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 08:02:45');
SELECT * FROM yquota.compute_prices();

--
-- When the cluster suddenly loses half of its nodes, the price stays until the grace of 10 min is
-- over. One alert is raised.
--
UPDATE yquota.node SET state = 'LOST' WHERE name = 'n2';
SELECT yquota.set_clock('2026-03-02 08:03:00');
SELECT * FROM yquota.compute_prices();
SELECT * FROM yquota.compute_prices();
SELECT kind, subject, detail, raised_at, cleared_at FROM yquota.alert ORDER BY alert_id;
-- the node comes back, so utilization is measured again, and the alert is cleared
UPDATE yquota.node SET state = 'RUNNING' WHERE name = 'n2';
SELECT yquota.set_clock('2026-03-02 08:04:00');
SELECT * FROM yquota.compute_prices();
-- the node is lost again, now for good, and the grace starts again
UPDATE yquota.node SET state = 'LOST' WHERE name = 'n2';
SELECT yquota.set_clock('2026-03-02 08:05:00');
SELECT price_group, multiplier, published, reason FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 08:14:59');
SELECT price_group, multiplier, published, reason FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 08:15:00');
SELECT * FROM yquota.compute_prices();
SELECT kind, subject, raised_at, cleared_at FROM yquota.alert ORDER BY alert_id;

-- While there is no node at all, the price does not change.
UPDATE yquota.node SET state = 'LOST' WHERE name = 'n1';
SELECT yquota.set_clock('2026-03-02 08:16:00');
SELECT * FROM yquota.compute_prices();
SELECT yquota.set_clock('2026-03-02 09:16:00');
SELECT price_group, multiplier, published, reason FROM yquota.compute_prices();
-- the first nodes that come back have a tenth of the cluster, so the grace applies to them
INSERT INTO yquota.node (name, total) VALUES ('n5', '[memory-mb=400,vcores=1]');
SELECT yquota.set_clock('2026-03-02 09:17:00');
SELECT price_group, multiplier, published, reason FROM yquota.compute_prices();
UPDATE yquota.node SET total = '[memory-mb=8192,vcores=8]' WHERE name = 'n5';
SELECT yquota.set_clock('2026-03-02 09:18:00');
SELECT * FROM yquota.compute_prices();
-- the GPU does not come back, and after the grace the cluster counts as one without GPUs
SELECT yquota.set_clock('2026-03-02 09:27:00');
SELECT * FROM yquota.compute_prices();
SELECT kind, subject, detail, raised_at, cleared_at FROM yquota.alert WHERE cleared_at IS NULL;

-- Exactly half of the cluster is not less than half.
UPDATE yquota.node SET total = '[memory-mb=4096,vcores=4]' WHERE name = 'n5';
SELECT yquota.set_clock('2026-03-02 09:28:00');
SELECT * FROM yquota.compute_prices();

-- Reported utilization needs no nodes, and need not cover every type. A type that nodes offered
-- before does not count as free without a report.
DELETE FROM yquota.node;
INSERT INTO yquota.resource_type VALUES ('cpu-milli', 'GENERAL', 1, 1000);
UPDATE yquota.utilization SET reported_at = '2026-03-02 09:29:00', utilization = 0.3;
INSERT INTO yquota.utilization (resource_type, utilization, reported_at)
VALUES ('memory-mb', 0.2, '2026-03-02 09:29:00');
SELECT yquota.set_clock('2026-03-02 09:29:10');
SELECT * FROM yquota.compute_prices();
DELETE FROM yquota.utilization WHERE resource_type <> 'memory-mb';
SELECT price_group, utilization, multiplier, published, reason FROM yquota.compute_prices();
DELETE FROM yquota.utilization;

--
-- FPGA is a group of its own. A type of GENERAL that no node offers is ignored.
--
INSERT INTO yquota.price_group (name, tipping_point, increment_factor) VALUES ('FPGA', 0.5, 4);
INSERT INTO yquota.resource_type VALUES ('yarn.io/fpga', 'FPGA', 2, 1);
INSERT INTO yquota.node (name, total) VALUES ('n6', '[memory-mb=16384,vcores=16,yarn.io/fpga=4]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'f1', '2026-03-02 09:30', 'Project07', '[memory-mb=1024,yarn.io/fpga=3]');
SELECT yquota.set_clock('2026-03-02 09:30:00');
SELECT * FROM yquota.compute_prices();

-- After a restart or failover the last prices are still in force.
\c -
SET timezone = 'UTC';
SELECT price_group, effective_at, multiplier FROM yquota.price
WHERE effective_at > '2026-03-02 09:30' ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 09:30:05');
SELECT resource_type, multiplier, price FROM yquota.current_price ORDER BY 1;
SELECT price_group, multiplier, published, reason FROM yquota.compute_prices();

SELECT * FROM yquota.compute_prices('infinity');

-- utilization_history has measurements by quarter of an hour, published or not, but none of an
-- unknown cluster
SELECT price_group, quarter_hour, measurements, round(average, 6) AS average, round(highest, 6) AS highest
FROM yquota.utilization_history ORDER BY price_group, quarter_hour;
SELECT yquota_internal.note_utilization('2026-03-02 12:14:59.999999', '{GENERAL,GPU}', '{0.1,3}'),
	yquota_internal.note_utilization('2026-03-02 12:00', '{GENERAL}', '{0.4}'), yquota_internal.note_utilization('2026-03-02 12:01', '{GENERAL}', '{0.3}');
SELECT price_group, measurements, average, highest FROM yquota.utilization_history WHERE quarter_hour = '2026-03-02 12:00' ORDER BY price_group;
SELECT yquota_internal.forget_utilization('2026-03-02 12:00');
SELECT count(*) FROM yquota.utilization_history;

-- verify() finds nothing wrong
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_pricing_compute;
