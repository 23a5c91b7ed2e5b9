--
-- Charging of events (docs/design.md 1.6, 3): the four kinds of events, by INSERT and COPY, one or
-- many per statement, and the books afterwards. One vcore, 1024 memory-mb and one GPU each cost one
-- credit per second.
--
CREATE DATABASE yquota_event_lifecycle;
\c yquota_event_lifecycle
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.node (name, label, total) VALUES
	('n1', '', '[memory-mb=8192,vcores=8]'), ('g1', 'gpu', '[memory-mb=8192,vcores=8,yarn.io/gpu=4]');

--
-- A whole life
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, source)
VALUES ('CONTAINER_START', 'one', '2026-03-02 09:10', 'lab', 'app_1', 'ann', 'root.a', 'g1', '[memory-mb=2048,vcores=1]', 'rm');
SELECT container_id, project, application_id, username, queue, node, label, allocation, execution_type, started_at, settled_at, charges, factors, accrual_base FROM yquota.container;
SELECT scope, project, shape, weight, accrual_base, charged, queue, label, username, node, execution_type, allocation, containers, source, events, last_event_at
FROM yquota_internal.counter_delta;
-- an UPDATE changes only the given columns, and time before it is charged with the old values
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, node, execution_type)
VALUES ('CONTAINER_UPDATE', 'one', '2026-03-02 09:10:01.5', 'root.b', 'n1', 'OPPORTUNISTIC');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
VALUES ('CONTAINER_UPDATE', 'one', '2026-03-02 09:10:02', '[memory-mb=1024,vcores=3]');
SELECT container_id, queue, node, label, allocation, execution_type, started_at, settled_at, charges FROM yquota.container;
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status)
VALUES ('CONTAINER_FINISH', 'one', '2026-03-02 09:10:02.000001', 143);
SELECT count(*) AS running FROM yquota.container;
SELECT * FROM yquota.charge ORDER BY number;
SELECT event, occurred_at, allocation, execution_type, queue, node FROM yquota.container_change ORDER BY occurred_at;
SELECT * FROM yquota.verify();

-- An UPDATE may set nothing, or come at the start or the finish. An interval of length zero costs
-- nothing.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'two', '2026-03-02 09:20', 'lab', '[vcores=1]'),
	('CONTAINER_UPDATE', 'two', '2026-03-02 09:20', NULL, '[vcores=2]'),
	('CONTAINER_UPDATE', 'two', '2026-03-02 09:20:05', NULL, NULL),
	('CONTAINER_UPDATE', 'two', '2026-03-02 09:20:10', NULL, '[vcores=9]'),
	('CONTAINER_FINISH', 'two', '2026-03-02 09:20:10', NULL, NULL),
	('CONTAINER_START', 'three', '2026-03-02 09:20', 'lab', '[vcores=1]'),
	('CONTAINER_FINISH', 'three', '2026-03-02 09:20', NULL, NULL);
SELECT container_id, number, "from", "to", allocation, settled_by, dominant, amount FROM yquota.charge
WHERE container_id IN ('two', 'three') ORDER BY 1, 2;

-- A container with an empty allocation costs nothing, but is counted
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
	('CONTAINER_START', 'nothing', '2026-03-02 09:20', 'lab', 'root.z', '[]'),
	('CONTAINER_START', 'zero', '2026-03-02 09:20', 'lab', 'root.z', '[vcores=0]');
SELECT queue, containers, allocation FROM yquota.queue_usage WHERE queue = 'root.z';
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'zero', '2026-03-02 09:30'), ('CONTAINER_FINISH', 'nothing', '2026-03-02 09:30');
SELECT container_id, amount, dominant FROM yquota.charge WHERE queue = 'root.z' ORDER BY 1;
SELECT queue, containers, allocation FROM yquota.queue_usage WHERE queue = 'root.z';

-- The paying project is the project column, or else the project in the user name
INSERT INTO yquota.project (name) VALUES ('solo');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, allocation) VALUES
	('CONTAINER_START', 'payer 1', '2026-03-02 09:20', 'lab', 'ops__bob', '[vcores=1]'),
	('CONTAINER_START', 'payer 2', '2026-03-02 09:20', NULL, 'ops__bob', '[vcores=1]'),
	('CONTAINER_START', 'payer 3', '2026-03-02 09:20', NULL, 'ops__bob__x', '[vcores=1]'),
	('CONTAINER_START', 'payer 4', '2026-03-02 09:20', NULL, 'solo', '[vcores=1]');
SELECT container_id, project, username FROM yquota.container ORDER BY 1;
-- other events need not name the project, but a named project must be right
INSERT INTO yquota.container_event (event, container_id, occurred_at, project) VALUES
	('CONTAINER_FINISH', 'payer 1', '2026-03-02 09:20:01', 'lab'), ('CONTAINER_FINISH', 'payer 2', '2026-03-02 09:20:01', NULL),
	('CONTAINER_FINISH', 'payer 3', '2026-03-02 09:20:01', 'ops'), ('CONTAINER_FINISH', 'payer 4', '2026-03-02 09:20:01', NULL);

-- A container pays for its dearest resource
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'memory', '2026-03-02 09:20', 'lab', '[memory-mb=3000,vcores=2]'),
	('CONTAINER_START', 'gpu', '2026-03-02 09:20', 'lab', '[memory-mb=3000,vcores=2,yarn.io/gpu=3]'),
	('CONTAINER_FINISH', 'memory', '2026-03-02 09:20:01', NULL, NULL),
	('CONTAINER_FINISH', 'gpu', '2026-03-02 09:20:01', NULL, NULL);
SELECT container_id, dominant, amount FROM yquota.charge WHERE container_id IN ('memory', 'gpu') ORDER BY 1;

--
-- QUOTA_COMPUTE moves the mark forward, never back
--
SELECT * FROM yquota.charged_through;
INSERT INTO yquota.container_event (event, occurred_at, source) VALUES ('QUOTA_COMPUTE', '2026-03-02 09:50', 'a'), ('QUOTA_COMPUTE', '2026-03-02 09:55', 'b'), ('QUOTA_COMPUTE', '2026-03-02 09:40', 'c');
SELECT at, source FROM yquota_internal.charged_through;
INSERT INTO yquota.container_event (event, occurred_at) VALUES ('QUOTA_COMPUTE', '2026-03-02 09:45');
SELECT * FROM yquota.charged_through;
INSERT INTO yquota.container_event (event) VALUES ('QUOTA_COMPUTE');
SELECT * FROM yquota.charged_through;
-- a QUOTA_COMPUTE ignores the container's columns, anywhere in the statement
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, source) VALUES
	('CONTAINER_START', 'k1', '2026-03-02 09:20', 'lab', '[vcores=1]', NULL),
	('CONTAINER_UPDATE', 'k1', '2026-03-02 09:20:01', NULL, '[vcores=2]', NULL),
	('QUOTA_COMPUTE', 'k1', '2026-03-02 10:00:01', 'nobody', '[vcores=-1]', 'a source whose name is longer than a short one'),
	('CONTAINER_START', 'k2', '2026-03-02 09:20', 'lab', '[vcores=1]', NULL),
	('CONTAINER_FINISH', 'k2', '2026-03-02 09:20:01', NULL, NULL, NULL),
	('CONTAINER_FINISH', 'k1', '2026-03-02 09:20:02', NULL, NULL, NULL);
SELECT at, source FROM yquota_internal.charged_through ORDER BY at DESC LIMIT 1;
SELECT container_id, sum(amount) FROM yquota.charge WHERE container_id IN ('k1', 'k2') GROUP BY 1 ORDER BY 1;
-- the mark does not make earlier events late
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'k3', '2026-03-02 09:59', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'k3', '2026-03-02 09:59:30');
SELECT count(*), sum(amount) FROM yquota.charge WHERE container_id = 'k3';
SELECT * FROM yquota.verify();

--
-- COPY; ids are in bytewise order in every order of the rows
--
COPY yquota.container_event (event, container_id, occurred_at, project, allocation) FROM STDIN;
CONTAINER_FINISH	id_10	2026-03-02 09:30:10	\N	\N
CONTAINER_START	id_9	2026-03-02 09:30:00	ops	[vcores=1]
CONTAINER_START	ID_9	2026-03-02 09:30:00	ops	[vcores=1]
CONTAINER_START	zeta	2026-03-02 09:30:00	ops	<memory:2048, vCores:1>
CONTAINER_START	id_10	2026-03-02 09:30:00	ops	[memory=1Gi]
CONTAINER_START	id-9	2026-03-02 09:30:00	ops	[vcores=1]
CONTAINER_FINISH	zeta	2026-03-02 09:30:10	\N	\N
CONTAINER_FINISH	ID_9	2026-03-02 09:30:10	\N	\N
\.
SELECT container_id, dominant, amount FROM yquota.charge WHERE project = 'ops' AND "from" >= '2026-03-02 09:30' ORDER BY 1;
SELECT container_id FROM yquota.container WHERE project = 'ops' ORDER BY 1;

--
-- Many rows: 5000 STARTs in order, their replay, and their FINISHes in random order
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation)
SELECT 'CONTAINER_START', format('m%s', to_char(i, 'FM00000')), timestamptz '2026-03-02 08:00' + i * interval '1 second',
	   CASE i % 2 WHEN 0 THEN 'lab' ELSE 'ops' END, 'u' || i % 10, 'root.q' || i % 7, 'n' || i % 50,
	   format('[vcores=%s]', i % 3 + 1)::yquota.resource
FROM generate_series(1, 5000) AS i ORDER BY i;
SELECT count(*), sum(yquota.amount(allocation, 'vcores')) FROM yquota.container WHERE container_id LIKE 'm0%';
SELECT * FROM yquota.verify();
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation)
SELECT event, container_id, occurred_at, project, username, queue, node, allocation
FROM yquota.container_event WHERE container_id LIKE 'm0%' ORDER BY md5(container_id);
SELECT count(*), sum(yquota.amount(allocation, 'vcores')) FROM yquota.container WHERE container_id LIKE 'm0%';
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', container_id, started_at + interval '10 seconds'
FROM yquota.container WHERE container_id LIKE 'm0%' ORDER BY md5(container_id);
SELECT count(*), sum(amount) FROM yquota.charge WHERE container_id LIKE 'm0%';
-- all events again change nothing
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation)
SELECT event, container_id, occurred_at, project, username, queue, node, allocation
FROM yquota.container_event WHERE container_id LIKE 'm0%' ORDER BY md5(container_id || event);
SELECT count(*), sum(amount) FROM yquota.charge WHERE container_id LIKE 'm0%';
-- whole lives of containers in one statement, more than fit in memory to sort
SET work_mem = '64kB';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT k.kind::yquota.container_event_type, 'w' || i, timestamptz '2026-03-02 08:00' + k.seconds * interval '1 second', k.project, k.allocation::yquota.resource
FROM generate_series(1, 5000) AS i,
	 (VALUES ('CONTAINER_START', 0, 'ops', '[vcores=1]'), ('CONTAINER_UPDATE', 5, NULL, '[vcores=3]'), ('CONTAINER_FINISH', 10, NULL, NULL))
		AS k (kind, seconds, project, allocation)
ORDER BY md5(i || k.kind);
RESET work_mem;
SELECT count(*), sum(amount) FROM yquota.charge WHERE container_id LIKE 'w%';
SELECT project, charged FROM yquota.project_balance ORDER BY 1;
SELECT * FROM yquota.verify();

--
-- Rows from another table, with compressed and TOAST values
--
CREATE TABLE staging (LIKE yquota.container_event);
ALTER TABLE staging ALTER COLUMN recorded_at DROP NOT NULL, ALTER COLUMN event_id DROP NOT NULL;
INSERT INTO staging (event, container_id, occurred_at, project, queue, node, allocation)
SELECT k.kind::yquota.container_event_type, i || repeat('-long', 500), timestamptz '2026-03-02 08:00' + k.seconds * interval '1 second', k.project,
	   repeat('root.', 400), i || repeat('n', 250), k.allocation::yquota.resource
FROM generate_series(1, 20) AS i,
	 (VALUES ('CONTAINER_START', 0, 'ops', '[vcores=1]'), ('CONTAINER_UPDATE', 5, NULL, '[vcores=3]'), ('CONTAINER_FINISH', 10, NULL, NULL))
		AS k (kind, seconds, project, allocation);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation)
SELECT event, container_id, occurred_at, project, queue, node, allocation FROM staging;
SELECT count(*), sum(amount), min(length(queue)), min(length(node)) FROM yquota.charge WHERE container_id LIKE '%-long';
SELECT * FROM yquota.verify();
DROP TABLE staging;

--
-- Transactions
--
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 't1', '2026-03-02 09:40', 'lab', '[vcores=1]');
SAVEPOINT a;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 't1', '2026-03-02 09:40:10');
SELECT amount FROM yquota.charge WHERE container_id = 't1';
ROLLBACK TO a;
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 't1', '2026-03-02 09:40:05', '[vcores=2]');
SAVEPOINT b;
-- the transaction uses its own price, and no longer after ROLLBACK TO
SELECT yquota.set_multiplier('GENERAL', 7, '2026-03-02 10:00:10');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 't1', '2026-03-02 10:00:20');
SELECT "from", "to", amount FROM yquota.charge WHERE container_id = 't1' ORDER BY number;
ROLLBACK TO b;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 't1', '2026-03-02 10:00:20');
SELECT "from", "to", amount FROM yquota.charge WHERE container_id = 't1' ORDER BY number;
COMMIT;
SELECT * FROM yquota.verify();
-- a container starts and ends in one transaction, and the events are repeated
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 't2', '2026-03-02 09:40', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 't2', '2026-03-02 09:40:10');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 't2', '2026-03-02 09:40', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 't2', '2026-03-02 09:40:10');
COMMIT;
SELECT number, amount FROM yquota.charge WHERE container_id = 't2';
-- no rows
INSERT INTO yquota.container_event (event) SELECT 'QUOTA_COMPUTE' WHERE false;
-- a data-modifying WITH
WITH sent AS (
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	VALUES ('CONTAINER_START', 't3', '2026-03-02 09:40', 'lab', '[vcores=1]') RETURNING container_id
)
SELECT * FROM sent;
SELECT container_id FROM yquota.container WHERE container_id LIKE 't%' ORDER BY 1;
SELECT * FROM yquota.verify();

--
-- The trigger works only on its own table, and only as the extension created it
--
CREATE TABLE elsewhere (LIKE yquota.container_event INCLUDING DEFAULTS INCLUDING IDENTITY);
CREATE TRIGGER charge_events AFTER INSERT ON elsewhere REFERENCING NEW TABLE AS new_events
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.charge_events();
INSERT INTO elsewhere (event, container_id, project, allocation) VALUES ('CONTAINER_START', 'x', 'lab', '[vcores=1]');
DROP TRIGGER charge_events ON elsewhere;
CREATE TRIGGER charge_events BEFORE INSERT ON elsewhere
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.charge_events();
INSERT INTO elsewhere (event, container_id, project, allocation) VALUES ('CONTAINER_START', 'x', 'lab', '[vcores=1]');
DROP TABLE elsewhere;
SELECT yquota_internal.charge_events();
SELECT count(*) FROM yquota.container WHERE container_id = 'x';

--
-- In a session that drops and creates the extension, the prices are also new
--
SELECT yquota.set_multiplier('GENERAL', 5, '2026-03-02 10:00:10');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 't3', '2026-03-02 10:00:20');
DROP EXTENSION yquota;
CREATE EXTENSION yquota;
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 't1', '2026-03-02 10:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 't1', '2026-03-02 10:00:20', NULL, NULL);
SELECT amount FROM yquota.charge;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_event_lifecycle;
