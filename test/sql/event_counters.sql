--
-- Counters (docs/design.md 3): statements append deltas, compaction adds them up, and readers see
-- equal sums before and after.
--
CREATE DATABASE yquota_event_counters;
\c yquota_event_counters
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.node (name, label, total) VALUES ('n1', '', '[memory-mb=8192,vcores=8]'), ('g1', 'gpu', '[vcores=8,yarn.io/gpu=4]');
CREATE VIEW seen AS
	SELECT (SELECT jsonb_agg(b ORDER BY b.project) FROM (SELECT project, charged, accrued FROM yquota.project_balance) AS b) AS balances,
		   (SELECT jsonb_agg(q ORDER BY q.queue, q.label, q.username, q.execution_type) FROM yquota.queue_usage AS q) AS queues,
		   (SELECT jsonb_agg(n ORDER BY n.node) FROM yquota.node_usage AS n) AS nodes,
		   (SELECT jsonb_agg(f ORDER BY f.source) FROM yquota.feed_status AS f) AS feeds,
		   (SELECT jsonb_agg(c ORDER BY c.project, c.shape, c.factors, c.reference_at) FROM yquota_internal.rate_class AS c) AS classes;

-- A statement about one container writes one delta. A statement about several containers writes one
-- delta per project, one for queues and one for nodes.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, source)
VALUES ('CONTAINER_START', 'a', '2026-03-02 09:10', 'lab', 'ann', 'root.a', 'n1', '[memory-mb=2048,vcores=2]', 'rm');
SELECT scope, project, shape, weight, reference_at, accrual_base, queue, label, node, allocation, containers, events FROM yquota_internal.counter_delta;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation, source) VALUES
	('CONTAINER_START', 'b', '2026-03-02 09:20', 'lab', 'ann', 'root.a', 'g1', '[memory-mb=1024,vcores=1]', 'rm'),
	('CONTAINER_START', 'c', '2026-03-02 08:20', 'lab', 'bob', 'root.a', 'g1', '[memory-mb=3072,vcores=3]', 'rm'),
	('CONTAINER_START', 'd', '2026-03-02 08:20', 'ops', 'bob', NULL, NULL, '[vcores=1]', NULL);
SELECT scope, project, weight, reference_at, accrual_base, containers, source, events, last_event_at, changed_from, packed IS NOT NULL AS packed
FROM yquota_internal.counter_delta ORDER BY scope, project, source;
SELECT scope, project, shape, weight, reference_at, accrual_base, queue, label, username, node, execution_type, allocation, containers
FROM yquota_internal.counter_change WHERE scope <> 'f' ORDER BY scope, project, reference_at, queue, label, username, node;

-- Compaction changes nothing that a reader sees
CREATE TABLE before AS SELECT * FROM seen;
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT count(*) AS deltas FROM yquota_internal.counter_delta;
SELECT before = seen AS same FROM before, seen;
SELECT * FROM yquota_internal.rate_class_counter ORDER BY project, reference_at;
SELECT * FROM yquota_internal.usage_counter ORDER BY queue, label, username;
SELECT * FROM yquota_internal.node_counter ORDER BY node;
SELECT source, events, last_event_at FROM yquota_internal.feed_counter ORDER BY source;
SELECT yquota_internal.compact_counters();
SELECT * FROM yquota.verify();

-- Some deltas are compacted and some are not. A container that started and ended in between leaves
-- nothing.
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, queue) VALUES
	('CONTAINER_FINISH', 'b', '2026-03-02 09:30', NULL, NULL), ('CONTAINER_UPDATE', 'c', '2026-03-02 09:40', '[memory-mb=1024,vcores=1]', 'root.b');
TRUNCATE before;
INSERT INTO before SELECT * FROM seen;
SELECT project, charged, accrued FROM yquota.project_balance ORDER BY 1;
SELECT * FROM yquota.verify();
SELECT yquota.quota_compute();
SELECT before.balances = seen.balances AND before.queues = seen.queues AND before.nodes = seen.nodes AND before.classes = seen.classes AS same FROM before, seen;
SELECT * FROM yquota_internal.project_counter ORDER BY 1;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'a', '2026-03-02 09:50'), ('CONTAINER_FINISH', 'c', '2026-03-02 09:50'), ('CONTAINER_FINISH', 'd', '2026-03-02 09:50');
SELECT yquota.quota_compute();
SELECT * FROM yquota_internal.rate_class_counter;
SELECT * FROM yquota_internal.usage_counter;
SELECT * FROM yquota_internal.node_counter;
SELECT * FROM yquota_internal.project_counter ORDER BY 1;
SELECT project, charged, accrued FROM yquota.project_balance ORDER BY 1;
SELECT * FROM yquota.verify();

-- A statement with more sums than are kept in memory
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation)
SELECT 'CONTAINER_START', 'm' || i, timestamptz '2026-03-02 00:00' + i * interval '1 second', 'ops', 'u' || i, 'root.q' || i, 'x' || i, '[vcores=1]'
FROM generate_series(1, 12000) AS i;
SELECT count(*) > 20000 AS many FROM yquota_internal.counter_change;
SELECT count(*) < 1000 AS few, max(pg_column_size(delta)) < 2000 AS small FROM yquota_internal.counter_delta AS delta;
SELECT sum(containers) FROM yquota.queue_usage;
SELECT yquota_internal.compact_counters() BETWEEN 1 AND 1000 AS compacted;
SELECT * FROM yquota.verify();
INSERT INTO yquota.container_event (event, container_id, occurred_at) SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 10:00' FROM yquota.container WHERE started_at < '2026-03-02 10:00';
SELECT count(*) FROM yquota.container WHERE started_at < '2026-03-02 10:00';

-- These bytes are not packed deltas
SELECT * FROM yquota_internal.unpack_delta('u', '\x40');
SELECT * FROM yquota_internal.unpack_delta('p', '\x01ff61');
SELECT * FROM yquota_internal.unpack_delta('p', '\x0303610203036161');
SELECT * FROM yquota_internal.unpack_delta('u', '\x4003000b');
SELECT * FROM yquota_internal.unpack_delta('u', '');

-- QUOTA_COMPUTE writes a row for the mark and a row for its feed, but none for a container
BEGIN;
DELETE FROM yquota_internal.counter_delta;
INSERT INTO yquota.container_event (event, source) VALUES ('QUOTA_COMPUTE', 'clock');
SELECT scope, source, events FROM yquota_internal.counter_delta;
ROLLBACK;
-- compaction does nothing in an isolation level that could miss an uncommitted change of prices
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT yquota_internal.compact_counters();
ROLLBACK;
-- a transaction compacts with its own changes
BEGIN;
SELECT yquota.set_multiplier('GENERAL', 2, '2026-03-02 10:00:10');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'own', '2026-03-02 10:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'own', '2026-03-02 10:00:20', NULL, NULL);
SELECT yquota_internal.compact_counters() > 0 AS compacted;
COMMIT;
SELECT amount FROM yquota.charge WHERE container_id = 'own';
SELECT count(*) FROM yquota_internal.correction_due;

--
-- Roles that may insert events: INSERT is the only privilege that a feed gets and needs
--
CREATE ROLE yquota_event_feed;
GRANT INSERT ON yquota.container_event TO yquota_event_feed;
SET ROLE yquota_event_feed;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'role', '2026-03-02 09:00', 'lab', '[vcores=1]');
SELECT event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, exit_status, source, recorded_at FROM yquota.container_event;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'role', '2026-03-02 09:01') RETURNING event;
COPY yquota.container_event (event, container_id, occurred_at) FROM STDIN;
CONTAINER_FINISH	role	2026-03-02 09:01
\.
SELECT count(*) FROM yquota.container;
SELECT count(*) FROM yquota.charge;
INSERT INTO yquota.container (container_id) VALUES ('forged');
INSERT INTO yquota.charge (container_id) VALUES ('forged');
SELECT count(*) FROM yquota_internal.counter_delta;
SELECT yquota_internal.settle_again('{role}');
SELECT yquota_internal.compact_counters();
SELECT yquota_internal.correct_late_prices();
SELECT yquota.quota_compute();
SELECT * FROM yquota.verify();
SELECT yquota.set_clock('2026-03-02 10:00');
SELECT yquota.retry_rejects();
UPDATE yquota.container_event SET source = 'x';
DELETE FROM yquota.container_event;
TRUNCATE yquota.container_event;
-- the trigger's function cannot be used on another table
RESET ROLE;
GRANT CREATE ON SCHEMA public TO yquota_event_feed;
SET ROLE yquota_event_feed;
CREATE TABLE mine (event yquota.container_event_type, container_id text);
CREATE TRIGGER charge AFTER INSERT ON mine REFERENCING NEW TABLE AS new_events FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.charge_events();
-- a feed cannot change settings of the server
SET yquota.on_bad_event = set_aside;
SET yquota.max_clock_skew = '10 years';
SET yquota.auto_create_project = on;
-- a feed creates a project only where the administrator has allowed it
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'new', '2026-03-02 09:00', 'fresh', '[vcores=1]');
RESET ROLE;
SELECT container_id, sqlstate FROM yquota.event_reject;
SET yquota.auto_create_project = on;
SELECT yquota.set_clock('2026-03-02 10:00:01');
SET ROLE yquota_event_feed;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, allocation) VALUES
	('CONTAINER_START', 'new', '2026-03-02 09:00', 'fresh', NULL, '[vcores=1]'), ('CONTAINER_START', 'new 2', '2026-03-02 09:00', NULL, 'newer__ann', '[vcores=1]'),
	('CONTAINER_START', 'new 3', '2026-03-02 09:00', '', NULL, '[vcores=1]');
RESET ROLE;
SELECT name, quota_mode, on_exhausted FROM yquota.project ORDER BY 1;
SELECT container_id, sqlstate FROM yquota.event_reject ORDER BY reject_id;
SELECT sum(amount) FROM yquota.charge WHERE container_id = 'role';
SELECT * FROM yquota.verify();

DROP TABLE mine;
\c postgres
DROP DATABASE yquota_event_counters;
DROP ROLE yquota_event_feed;
