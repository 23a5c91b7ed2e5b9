--
-- A change that is rolled back leaves nothing behind, neither in the tables nor in what the session
-- has cached. The session caches projects, nodes, waiting events, prices and claims. A vcore costs
-- 1 credit per second.
--
CREATE DATABASE yquota_rollback;
\c yquota_rollback
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.node (name, label, total) VALUES ('n1', 'old', '[vcores=64]');

CREATE FUNCTION pg_temp.start(id text, project text DEFAULT 'lab', node text DEFAULT NULL) RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation)
	VALUES ('CONTAINER_START', id, '2026-03-02 10:00', project, node, '[vcores=1]')
$$;
CREATE FUNCTION pg_temp.update(id text, at timestamptz, vcores integer) RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
	VALUES ('CONTAINER_UPDATE', id, at, format('[vcores=%s]', vcores)::yquota.resource)
$$;
CREATE FUNCTION pg_temp.finish(id text, at timestamptz DEFAULT '2026-03-02 11:00') RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', id, at)
$$;
CREATE VIEW pg_temp.books AS
	SELECT container_id, 'runs' AS state, label, allocation, settled_at AS at, charges AS number, NULL AS amount FROM yquota.container
	UNION ALL
	SELECT container_id, CASE WHEN corrects IS NULL THEN 'charged' ELSE 'taken back' END, NULL, allocation, "to", number, amount
	FROM yquota.charge;

-- Projects and nodes that are created in the same statement as their events, which fails
WITH ghost AS (INSERT INTO yquota.project (name) VALUES ('ghost'))
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'g1', '2026-03-02 10:00', 'ghost', '[vcores=1]'),
	('CONTAINER_START', 'g2', '2026-03-02 10:00', 'nobody', '[vcores=1]');
SELECT pg_temp.start('g1', 'ghost');
WITH ghost AS (INSERT INTO yquota.node (name, label, total) VALUES ('n2', 'ghost', '[vcores=64]'))
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation) VALUES
	('CONTAINER_START', 'g1', '2026-03-02 10:00', 'lab', 'n2', '[vcores=1]'),
	('CONTAINER_START', 'g2', '2026-03-02 10:00', 'nobody', NULL, '[vcores=1]');
SELECT pg_temp.start('g1', 'lab', 'n2');
SELECT container_id, node, label FROM yquota.container;

-- Changes that are rolled back in subtransactions, including released ones
BEGIN;
SAVEPOINT a;
INSERT INTO yquota.project (name) VALUES ('ghost');
UPDATE yquota.node SET label = 'new' WHERE name = 'n1';
SAVEPOINT b;
SELECT pg_temp.start('s1', 'ghost', 'n1');
SELECT container_id, project, label FROM yquota.container ORDER BY 1;
RELEASE b;
ROLLBACK TO a;
SELECT pg_temp.start('s2', 'lab', 'n1');
SELECT container_id, project, label FROM yquota.container ORDER BY 1;
SELECT pg_temp.start('s1', 'ghost', 'n1');
COMMIT;
SET yquota.auto_create_project = on;
BEGIN;
SAVEPOINT a;
SELECT pg_temp.start('s1', 'ghost');
ROLLBACK TO a;
SET yquota.auto_create_project = off;
SELECT pg_temp.start('s1', 'ghost');
ROLLBACK;
SELECT count(*) FROM yquota.project WHERE name = 'ghost';

RESET yquota.auto_create_project;

-- A project that is deleted and created again
INSERT INTO yquota.project (name) VALUES ('brief');
BEGIN;
SAVEPOINT a;
DELETE FROM yquota.project WHERE name = 'brief';
SAVEPOINT b;
SELECT pg_temp.start('b1', 'brief');
ROLLBACK TO b;
ROLLBACK TO a;
SELECT pg_temp.start('b1', 'brief');
ROLLBACK;

-- A container's events, of which some are rolled back and sent again
BEGIN;
SELECT pg_temp.start('l1');
SAVEPOINT a;
SELECT pg_temp.update('l1', '2026-03-02 10:10', 2);
SAVEPOINT b;
SELECT pg_temp.finish('l1', '2026-03-02 10:20');
SELECT * FROM pg_temp.books WHERE container_id = 'l1' ORDER BY number;
ROLLBACK TO b;
SELECT pg_temp.finish('l1', '2026-03-02 10:30');
ROLLBACK TO a;
SELECT pg_temp.update('l1', '2026-03-02 10:10', 3);
SELECT * FROM pg_temp.books WHERE container_id = 'l1' ORDER BY number;
SELECT pg_temp.finish('l1', '2026-03-02 10:40');
COMMIT;
SELECT * FROM pg_temp.books WHERE container_id = 'l1' ORDER BY number;

-- A START that is rolled back and sent again with other content
BEGIN;
SAVEPOINT a;
SELECT pg_temp.start('l2');
SELECT pg_temp.finish('l2');
ROLLBACK TO a;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'l2', '2026-03-02 09:00', 'lab', '[vcores=5]');
SAVEPOINT b;
SELECT pg_temp.start('l2');
ROLLBACK TO b;
SELECT pg_temp.finish('l2');
COMMIT;
SELECT * FROM pg_temp.books WHERE container_id = 'l2' ORDER BY number;

-- The claim on a finished container
BEGIN;
SAVEPOINT a;
SELECT pg_temp.update('l2', '2026-03-02 10:30', 1);
ROLLBACK TO a;
SELECT pg_temp.update('l2', '2026-03-02 10:30', 2);
SAVEPOINT b;
SELECT pg_temp.update('l2', '2026-03-02 10:45', 3);
RELEASE b;
SAVEPOINT c;
SELECT pg_temp.update('l2', '2026-03-02 10:50', 4);
ROLLBACK TO c;
COMMIT;
SELECT * FROM pg_temp.books WHERE container_id = 'l2' ORDER BY number;

-- An event that waits for its START, until something else is committed
SET yquota.on_bad_event = 'set_aside';
BEGIN;
SAVEPOINT a;
SELECT pg_temp.finish('w1');
ROLLBACK TO a;
SELECT pg_temp.start('w1');
COMMIT;
SELECT pg_temp.finish('w2');
BEGIN;
SAVEPOINT a;
SELECT pg_temp.start('w2');
SAVEPOINT b;
SELECT pg_temp.start('w3');
ROLLBACK TO a;
SELECT container_id, waiting FROM yquota.event_reject;
SELECT pg_temp.start('w2');
COMMIT;
SELECT container_id, waiting FROM yquota.event_reject;
SELECT * FROM pg_temp.books WHERE container_id LIKE 'w%' ORDER BY 1, number;
RESET yquota.on_bad_event;

-- Rows of event_reject that are removed and come back by a rollback
SET yquota.on_bad_event = 'set_aside';
SELECT pg_temp.finish('w4');
RESET yquota.on_bad_event;
BEGIN;
SAVEPOINT a;
DELETE FROM yquota.event_reject WHERE container_id = 'w4';
SELECT pg_temp.start('w5');
ROLLBACK TO a;
SELECT pg_temp.start('w4');
COMMIT;
SELECT * FROM pg_temp.books WHERE container_id IN ('w4', 'w5') ORDER BY 1;

-- Exceptions: every third of these events is bad, and a statement with several charges is all or
-- nothing
DO $$
DECLARE
	refused integer := 0;
BEGIN
	FOR i IN 1 .. 60 LOOP
		BEGIN
			INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
				('CONTAINER_START', 'x' || i, '2026-03-02 10:00', 'lab', '[vcores=1]'),
				('CONTAINER_FINISH', 'x' || i, '2026-03-02 10:00:10', NULL, NULL),
				('CONTAINER_UPDATE', 'x' || i, timestamptz '2026-03-02 10:00:05' - (i % 3 = 0)::integer * interval '10 s',
				 NULL, '[vcores=2]');
		EXCEPTION WHEN check_violation THEN
			refused := refused + 1;
		END;
	END LOOP;
	RAISE WARNING '% statements refused', refused;
END
$$;
SELECT count(*), sum(amount) FROM yquota.charge WHERE container_id LIKE 'x%';

-- Prices, factors and outages that are rolled back
BEGIN;
SAVEPOINT a;
SELECT yquota.set_multiplier('GENERAL', 7, '2026-03-02 12:00');
SELECT yquota.set_clock('2026-03-02 12:30');
SELECT burn_rate FROM yquota.project_balance WHERE project = 'lab';
SELECT pg_temp.start('p1');
SELECT pg_temp.finish('p1', '2026-03-02 12:30');
SELECT amount FROM yquota.charge WHERE container_id = 'p1';
ROLLBACK TO a;
SELECT burn_rate FROM yquota.project_balance WHERE project = 'lab';
SAVEPOINT b;
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor)
VALUES ('execution_type', 'GUARANTEED', '2026-03-02 12:00', 0.5);
SELECT burn_rate FROM yquota.project_balance WHERE project = 'lab';
SELECT pg_temp.start('p1');
ROLLBACK TO b;
SELECT yquota.report_outage('2026-03-02 10:00', '2026-03-02 10:30', 'taken back');
SAVEPOINT c;
SELECT pg_temp.start('p1');
ROLLBACK TO a;
SELECT pg_temp.start('p1');
SELECT pg_temp.finish('p1', '2026-03-02 11:30');
SELECT amount FROM yquota.charge WHERE container_id = 'p1';
COMMIT;

-- Compaction that is rolled back
SELECT charged, accrued FROM yquota.project_balance WHERE project = 'lab';
BEGIN;
SAVEPOINT a;
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT charged, accrued FROM yquota.project_balance WHERE project = 'lab';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'f1', '2026-03-02 11:00', 'lab', '[memory-mb=1024,vcores=3]');
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT charged, accrued FROM yquota.project_balance WHERE project = 'lab';
ROLLBACK TO a;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'f2', '2026-03-02 11:00', 'lab', '[memory-mb=4096,vcores=1]');
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT charged, accrued FROM yquota.project_balance WHERE project = 'lab';
COMMIT;
SELECT charged, accrued FROM yquota.project_balance WHERE project = 'lab';
SELECT accrued = (SELECT sum(accrued) FROM yquota.container_cost) AS agrees FROM yquota.project_balance WHERE project = 'lab';

SELECT * FROM yquota.verify();

-- Archiving is rolled back, and plans that were made after archiving read the history again
SELECT yquota.quota_compute() IS NOT NULL AS computed, yquota.seal_history() AS sealed;
CREATE TABLE archived_charge (LIKE yquota.charge);
CREATE TABLE archived_event (LIKE yquota.container_event);
CREATE VIEW pg_temp.proven AS
	SELECT (SELECT count(*) FROM yquota.verify()) AS problems, (SELECT sum(amount) FROM yquota.cost_between('-infinity', 'infinity', '{}')) AS cost,
		   (SELECT json_agg(b) FROM yquota.balance_at('lab', yquota.clock()) AS b) AS balance, (SELECT count(*) FROM yquota.container_event) AS events;
SELECT problems, cost, events FROM pg_temp.proven;
CREATE TABLE proven AS TABLE pg_temp.proven;
BEGIN;
SELECT history, archived > 0 AS archived FROM yquota.archive('archived_charge', 'infinity');
SELECT problems, cost = (SELECT cost FROM proven) AS costs_the_same FROM pg_temp.proven;
SAVEPOINT log;
SELECT history, archived > 0 AS archived FROM yquota.archive('archived_event', 'infinity');
SELECT problems, events FROM pg_temp.proven;
ROLLBACK TO log;
SELECT problems FROM pg_temp.proven;
ROLLBACK;
SELECT now.problems, now.cost = was.cost AND now.balance::text = was.balance::text AND now.events = was.events AS is_as_before
FROM pg_temp.proven AS now, proven AS was;

\c postgres
DROP DATABASE yquota_rollback;
