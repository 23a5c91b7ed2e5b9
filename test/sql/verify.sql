--
-- verify() (docs/design.md 1.9): the books agree with the log and the timelines, and verify() finds
-- every way to falsify them. verify(since) leaves out containers that ended before that instant.
--
CREATE DATABASE yquota_verify;
\c yquota_verify
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
\pset null '-'

-- Run a command that falsifies the books, return the rows of verify(), and roll the command back.
CREATE FUNCTION falsify(command text, since timestamptz DEFAULT NULL) RETURNS TABLE (problem text, subject text)
	LANGUAGE plpgsql AS $$
DECLARE
	problems text[];
	falsified bigint;
BEGIN
	BEGIN
		EXECUTE command;
		GET DIAGNOSTICS falsified = ROW_COUNT;
		problems := ARRAY(SELECT ARRAY[v.problem, v.subject] FROM yquota.verify(since) AS v ORDER BY v.problem COLLATE "C", v.subject COLLATE "C");
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
		NULL;
	END;
	IF falsified = 0 THEN
		RAISE EXCEPTION 'nothing was falsified by: %', command;
	END IF;
	RETURN QUERY SELECT problems[i][1], problems[i][2] FROM generate_subscripts(problems, 1) AS i;
END
$$;

SELECT yquota.set_clock('2026-03-02 07:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.node (name, total, label) VALUES ('n1', '[memory-mb=65536,vcores=64]', 'ssd'), ('n2', '[memory-mb=65536,vcores=64]', '');
SELECT yquota.set_multiplier('GENERAL', 1.5, '2026-03-02 08:00:30');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 09:00', '1 min');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.cheap', '2026-03-02 07:00', 0.5);
SELECT yquota.set_clock('2026-03-02 12:00');

-- plain containers: p1 and p2 ended before nine, and p3 after it
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation) VALUES
	('CONTAINER_START', 'p1', '2026-03-02 08:00', 'lab', 'a1', 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=1]'),
	('CONTAINER_START', 'p2', '2026-03-02 08:00', NULL, 'a1', 'lab__bob', 'root.cheap.b', 'n2', '[vcores=2]'),
	('CONTAINER_START', 'p3', '2026-03-02 08:10', 'ops', NULL, NULL, NULL, NULL, '[vcores=4]'),
	-- u1 is updated, and its first segment ended before nine. A late UPDATE corrects c1.
	('CONTAINER_START', 'u1', '2026-03-02 08:00', 'lab', NULL, 'ann', 'root.a', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'c1', '2026-03-02 08:00', 'lab', NULL, 'ann', 'root.a', 'n1', '[vcores=1]'),
	-- containers with padding, running containers, a running container with updates, and a container with an empty
	-- allocation
	('CONTAINER_START', 'm1', '2026-03-02 09:00', 'lab', NULL, 'ann', 'root.a', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'r1', '2026-03-02 08:00', 'lab', NULL, 'ann', 'root.a', 'n1', '[memory-mb=2048,vcores=1]'),
	('CONTAINER_START', 'r2', '2026-03-02 08:00', 'ops', NULL, 'bob', 'root.cheap', 'n2', '[vcores=3]'),
	('CONTAINER_START', 'z1', '2026-03-02 08:00', 'ops', NULL, NULL, NULL, NULL, '[]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) VALUES
	('CONTAINER_FINISH', 'p1', '2026-03-02 08:01', 0), ('CONTAINER_FINISH', 'p2', '2026-03-02 08:01', 1),
	('CONTAINER_FINISH', 'p3', '2026-03-02 10:00', NULL), ('CONTAINER_FINISH', 'u1', '2026-03-02 10:00', 0),
	('CONTAINER_FINISH', 'c1', '2026-03-02 08:30', 0), ('CONTAINER_FINISH', 'm1', '2026-03-02 09:00:20', 0),
	('CONTAINER_FINISH', 'z1', '2026-03-02 08:00', 0);
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, queue) VALUES
	('CONTAINER_UPDATE', 'u1', '2026-03-02 08:30', '[vcores=2]', NULL),
	('CONTAINER_UPDATE', 'c1', '2026-03-02 08:20', NULL, 'root.cheap'),
	('CONTAINER_UPDATE', 'r2', '2026-03-02 09:30', '[vcores=5]', NULL);
-- a part of the events is sent again
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, exit_status)
SELECT event, container_id, occurred_at, project, application_id, username, queue, node, allocation, exit_status
FROM yquota.container_event WHERE container_id IN ('p1', 'u1', 'r1');
SELECT yquota.quota_compute();
SELECT container_id, number, corrects, "from"::time, "to"::time, padding, trim_scale(amount) FROM yquota.charge ORDER BY 1, 2;
SELECT container_id, settled_at, charges FROM yquota.container ORDER BY 1;
SELECT * FROM yquota.verify();
SELECT * FROM yquota.verify('2026-03-02 09:00');
SELECT * FROM yquota.verify('infinity');
SELECT * FROM yquota.verify('-infinity');

--
-- The ledger: rows of a plain container, and rows of other containers
--
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = amount + 0.000000000000000001 WHERE container_id = 'p1'$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = amount - 1 WHERE container_id = 'u1' AND number = 1$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = amount * 2 WHERE container_id = 'm1' AND padding IS NOT NULL$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = 0 WHERE container_id = 'c1' AND corrects IS NOT NULL$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET dominant = 'memory-mb' WHERE container_id IN ('p2', 'u1') AND number = 1$$);
-- the counter is falsified, too, so that the project's total agrees
SELECT * FROM falsify($$WITH more AS (UPDATE yquota.charge SET amount = amount + 1 WHERE container_id = 'p1')
						UPDATE yquota_internal.project_counter SET charged = charged + 1 WHERE project = 'lab'$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = CASE container_id WHEN 'p1' THEN amount + 1 ELSE amount - 1 END
						WHERE container_id = 'p1' OR container_id = 'p2'$$);
-- every column of each kind of row
SELECT c.name, f.* FROM (VALUES
	('project', $$'ops'$$), ('application_id', $$'a2'$$), ('username', $$'eve'$$), ('queue', $$'root.x'$$), ('node', 'NULL'),
	('execution_type', $$'OPPORTUNISTIC'$$), ('allocation', $$'[vcores=9]'$$), ('started_at', $$started_at - interval '1 s'$$),
	('"from"', $$"from" - interval '1 s'$$), ('"to"', $$"to" + interval '1 s'$$), ('settled_by', $$'CONTAINER_UPDATE'$$),
	('exit_status', '137'), ('padding', $$interval '1 s'$$), ('number', '2'), ('corrects', '1'), ('container_id', $$'p9'$$)) AS c (name, value),
	falsify(format($$UPDATE yquota.charge SET %s = %s WHERE container_id = 'p1'$$, c.name, c.value)) AS f;
SELECT c.name, f.* FROM (VALUES ('queue', $$'root.x'$$), ('"from"', $$"from" + interval '1 s'$$), ('exit_status', '1')) AS c (name, value),
	falsify(format($$UPDATE yquota.charge SET %s = %s WHERE container_id = 'u1' AND number = 3$$, c.name, c.value)) AS f;
SELECT * FROM falsify($$UPDATE yquota.charge SET padding = padding + interval '1 s' WHERE padding IS NOT NULL$$);
-- missing rows and additional rows
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE container_id = 'p1'$$);
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE container_id = 'u1' AND number = 1$$);
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE padding IS NOT NULL$$);
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE corrects IS NOT NULL$$);
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE container_id = 'z1'$$);
SELECT * FROM falsify($$INSERT INTO yquota.charge SELECT * FROM yquota.charge WHERE container_id = 'p1'$$);
SELECT * FROM falsify($$INSERT INTO yquota.charge SELECT * FROM yquota.charge WHERE container_id = 'z1'$$);
-- a row of a container that never started
SELECT * FROM falsify($$INSERT INTO yquota.charge SELECT 'x1', project, application_id, username, queue, node, execution_type, allocation,
	started_at, "from", "to", booked_at, number, corrects, settled_by, exit_status, padding, dominant, amount FROM yquota.charge WHERE container_id = 'p1'$$);

--
-- The log
--
ALTER TABLE yquota.container_event DISABLE TRIGGER charge_events;
SELECT * FROM falsify($$DELETE FROM yquota.container_event WHERE container_id = 'p2' AND event = 'CONTAINER_START'$$);
SELECT * FROM falsify($$DELETE FROM yquota.container_event WHERE container_id = 'p2' AND event = 'CONTAINER_FINISH'$$);
SELECT * FROM falsify($$DELETE FROM yquota.container_event WHERE container_id = 'p2'$$);
SELECT * FROM falsify($$DELETE FROM yquota.container_event WHERE container_id = 'r1'$$);
SELECT * FROM falsify($$DELETE FROM yquota.container_event WHERE container_id = 'u1' AND event = 'CONTAINER_UPDATE'$$);
SELECT * FROM falsify($$UPDATE yquota.container_event SET queue = 'root.x' WHERE container_id = 'p2' AND event = 'CONTAINER_START'$$);
-- never charged
SELECT * FROM falsify($$INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, recorded_at) VALUES
	('CONTAINER_START', 'x1', '2026-03-02 08:00', 'lab', '[vcores=1]', now())$$);
SELECT * FROM falsify($$INSERT INTO yquota.container_event (event, container_id, occurred_at, recorded_at) VALUES
	('CONTAINER_FINISH', 'r1', '2026-03-02 09:00', now())$$);
SELECT * FROM falsify($$INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, recorded_at) VALUES
	('CONTAINER_UPDATE', 'p1', '2026-03-02 08:00:30', '[vcores=9]', now()), ('CONTAINER_UPDATE', 'r1', '2026-03-02 08:00:30', '[vcores=9]', now())$$);
ALTER TABLE yquota.container_event ENABLE TRIGGER charge_events;

--
-- Running containers
--
SELECT c.name, f.* FROM (VALUES
	('project', $$'ops'$$), ('application_id', $$'a2'$$), ('username', $$'eve'$$), ('queue', $$'root.cheap'$$), ('node', 'NULL'),
	('execution_type', $$'OPPORTUNISTIC'$$), ('allocation', $$'[vcores=9]'$$), ('started_at', $$started_at - interval '1 s'$$),
	('settled_at', $$settled_at + interval '1 s'$$), ('charges', '1'), ('factors', $$'{queue,root.a}'$$), ('accrual_base', 'accrual_base + 1'), ('is_given', 'NOT is_given')) AS c (name, value),
	falsify(format($$UPDATE yquota.container SET %s = %s WHERE container_id = 'r1'$$, c.name, c.value)) AS f;
SELECT * FROM falsify($$DELETE FROM yquota.container WHERE container_id = 'r1'$$);
SELECT * FROM falsify($$DELETE FROM yquota.container WHERE container_id = 'r2'$$);
SELECT * FROM falsify($$INSERT INTO yquota.container SELECT 'x1', project, application_id, username, queue, node, label, allocation, execution_type,
	started_at, settled_at, charges, factors, accrual_base, priority, allocation_request_id, asked_label, is_am, is_running, waiting_factor, is_given FROM yquota.container WHERE container_id = 'r1'$$);
SELECT * FROM falsify($$INSERT INTO yquota.container SELECT 'p1', project, application_id, username, queue, node, label, allocation, execution_type,
	started_at, settled_at, charges, factors, accrual_base, priority, allocation_request_id, asked_label, is_am, is_running, waiting_factor, is_given FROM yquota.container WHERE container_id = 'r1'$$);

--
-- Counters, before and after compaction
--
SELECT * FROM falsify($$UPDATE yquota_internal.project_counter SET charged = charged + 1 WHERE project = 'lab'$$);
SELECT * FROM falsify($$DELETE FROM yquota_internal.project_counter WHERE project = 'ops'$$);
SELECT * FROM falsify($$INSERT INTO yquota_internal.project_counter (project, charged, accrual_base) VALUES ('gone', 0, 0)$$);
SELECT * FROM falsify($$INSERT INTO yquota_internal.counter_delta (scope, project, charged) VALUES ('p', 'lab', 1)$$);
SELECT * FROM falsify($$UPDATE yquota_internal.rate_class_counter SET weight = weight + 1 WHERE project = 'lab'$$);
SELECT * FROM falsify($$UPDATE yquota_internal.rate_class_counter SET accrual_base = accrual_base + 1 WHERE project = 'ops'$$);
SELECT * FROM falsify($$DELETE FROM yquota_internal.rate_class_counter WHERE project = 'ops'$$);
SELECT * FROM falsify($$UPDATE yquota_internal.running_total SET weights = '\x' WHERE project = 'lab'$$);
SELECT * FROM falsify($$DELETE FROM yquota_internal.running_total WHERE project = 'lab'$$);
SELECT * FROM falsify($$DELETE FROM yquota_internal.running_class$$);
SELECT * FROM falsify($$UPDATE yquota_internal.project_counter SET accrual_base = accrual_base + 1 WHERE project = 'lab'$$);
SELECT * FROM falsify($$UPDATE yquota_internal.usage_counter SET containers = containers + 1 WHERE queue = 'root.a'$$);
SELECT * FROM falsify($$UPDATE yquota_internal.usage_counter SET allocation = '[vcores=7]' WHERE queue = 'root.cheap'$$);
SELECT * FROM falsify($$UPDATE yquota_internal.node_counter SET containers = containers + 1 WHERE node = 'n1'$$);
SELECT * FROM falsify($$UPDATE yquota_internal.node_counter SET allocation = '[vcores=7]' WHERE node = 'n2'$$);

--
-- verify() since nine: p1 ended before nine, and the other containers later
--
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = amount + 1 WHERE container_id = 'p1'$$, '2026-03-02 09:00');
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = amount + 1 WHERE container_id = 'p1'$$, '2026-03-02 08:01');
SELECT * FROM falsify($$UPDATE yquota.charge SET queue = 'root.x' WHERE container_id IN ('p1', 'c1')$$, '2026-03-02 09:00');
SELECT * FROM falsify($$UPDATE yquota.charge SET queue = 'root.x' WHERE container_id IN ('p3', 'm1')$$, '2026-03-02 09:00');
-- the first segment of a container that ended after nine
SELECT * FROM falsify($$UPDATE yquota.charge SET queue = 'root.x' WHERE (container_id, number) IN (('u1', 3), ('r2', 1))$$, '2026-03-02 09:00');
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE container_id = 'p3'$$, '2026-03-02 10:00');
SELECT * FROM falsify($$UPDATE yquota.charge SET "to" = '2026-03-02 08:59' WHERE container_id = 'p3'$$, '2026-03-02 09:00');
SELECT * FROM falsify($$UPDATE yquota.charge SET "to" = '2026-03-02 09:59' WHERE container_id = 'p1'$$, '2026-03-02 09:00');
-- running containers count whenever they started
SELECT * FROM falsify($$DELETE FROM yquota.container WHERE container_id IN ('r1', 'r2')$$, '2026-03-02 11:00');
SELECT * FROM falsify($$UPDATE yquota.container SET node = NULL WHERE container_id IN ('r1', 'r2')$$, 'infinity');
SELECT * FROM falsify($$UPDATE yquota_internal.project_counter SET charged = charged + 1 WHERE project = 'lab'$$, 'infinity');

--
-- An event is set aside and then accepted in the same microsecond, because the clock does not move
--
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 's1', '2026-03-02 09:00', 'new', '[vcores=1]');
SELECT * FROM yquota.verify();
INSERT INTO yquota.project (name) VALUES ('new');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 's1', '2026-03-02 09:00', 'new', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 's1', '2026-03-02 08:50');
SELECT container_id, event, sqlstate FROM yquota.event_reject ORDER BY reject_id;
SELECT container_id, started_at FROM yquota.container WHERE container_id = 's1';
SELECT * FROM yquota.verify();
SELECT * FROM falsify($$UPDATE yquota.container SET node = 'n1' WHERE container_id = 's1'$$);
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 's1', '2026-03-02 09:20', '[fpga=1]');
SELECT * FROM yquota.verify();
INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES ('fpga', 'GPU', 1, 1);
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 's1', '2026-03-02 09:20', '[fpga=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 's1', '2026-03-02 09:50');
SELECT container_id, event, sqlstate FROM yquota.event_reject ORDER BY reject_id;
SELECT "from"::time, "to"::time, allocation FROM yquota.charge WHERE container_id = 's1' ORDER BY number;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_verify;
