--
-- Order and repetition (docs/design.md 3): the same events make the same books in every order,
-- split into any statements, and repeated.
--
CREATE DATABASE yquota_event_order;
\c yquota_event_order
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
SELECT yquota.set_multiplier('GENERAL', 2, '2026-03-02 09:00:15');
CREATE VIEW in_effect AS
	SELECT charge.container_id, charge."from", charge."to", charge.queue, charge.allocation, charge.settled_by, charge.amount
	FROM yquota.charge
	WHERE charge.corrects IS NULL
	  AND NOT EXISTS (SELECT FROM yquota.charge AS other
					  WHERE other.container_id = charge.container_id AND other.corrects = charge.number);

--
-- A late UPDATE of a running container
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES ('CONTAINER_START', 'a', '2026-03-02 09:00', 'lab', 'root.a', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'a', '2026-03-02 09:00:20', '[vcores=4]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, queue) VALUES ('CONTAINER_UPDATE', 'a', '2026-03-02 09:00:10', '[vcores=2]', 'root.b');
SELECT number, corrects, "from", "to", queue, allocation, amount FROM yquota.charge WHERE container_id = 'a' ORDER BY number;
SELECT queue, allocation, settled_at, charges FROM yquota.container WHERE container_id = 'a';
-- two events at the instant of an earlier event: the first has the same content, the second has another
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'a', '2026-03-02 09:00:10', '[vcores=2]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, queue) VALUES ('CONTAINER_UPDATE', 'a', '2026-03-02 09:00:10', '[vcores=2]', 'root.b');
SELECT count(*) FROM yquota.charge WHERE container_id = 'a';
-- an UPDATE that arrives after the FINISH
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) VALUES ('CONTAINER_FINISH', 'a', '2026-03-02 09:00:30', 7);
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'a', '2026-03-02 09:00:25', '[vcores=1]');
SELECT * FROM in_effect WHERE container_id = 'a' ORDER BY "from";
SELECT sum(amount), sum(amount) FILTER (WHERE corrects IS NOT NULL) AS taken_back FROM yquota.charge WHERE container_id = 'a';
-- an UPDATE without effect is known from now on, so the order does not matter
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'same', '2026-03-02 09:00', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'same', '2026-03-02 09:00', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'same', '2026-03-02 09:00', '[vcores=2]');
SELECT * FROM yquota.verify();

--
-- A repeated START with the first or the current allocation is known. With another allocation it is
-- an UPDATE at the clock.
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'r', '2026-03-02 09:30', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'r', '2026-03-02 09:30', NULL, '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'r', '2026-03-02 09:40', '[vcores=2]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'r', '2026-03-02 09:30', 'lab', '[vcores=1]'), ('CONTAINER_START', 'r', '2026-03-02 09:30', 'lab', '[vcores=2]');
SELECT allocation, settled_at FROM yquota.container WHERE container_id = 'r';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'r', '2026-03-02 09:30', 'lab', '[vcores=3]');
SELECT allocation, started_at, settled_at FROM yquota.container WHERE container_id = 'r';
SELECT "from", "to", allocation, amount FROM yquota.charge WHERE container_id = 'r' ORDER BY number;
SELECT yquota.set_clock('2026-03-02 10:01');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'r', '2026-03-02 10:00:30', '[vcores=4]');
-- once accepted, that START stays known whatever the container does later
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'r', '2026-03-02 09:30', 'lab', '[vcores=3]');
SELECT allocation, settled_at FROM yquota.container WHERE container_id = 'r';
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'r', '2026-03-02 10:01');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'r', '2026-03-02 09:30', 'lab', '[vcores=3]');
SELECT sum(amount) FROM yquota.charge WHERE container_id = 'r';
SELECT * FROM yquota.verify();

--
-- Five events in every order, one at a time or all in one statement, each sent again at the end.
-- Events that arrive early wait, and late events are corrected.
--
SET yquota.on_bad_event = set_aside_quietly;
CREATE TABLE life (number integer, event yquota.container_event_type, occurred_at timestamptz, project text, queue text, allocation yquota.resource, exit_status integer);
INSERT INTO life VALUES
	(1, 'CONTAINER_START', '2026-03-02 09:00', 'ops', 'root.a', '[vcores=1]', NULL),
	(2, 'CONTAINER_UPDATE', '2026-03-02 09:00:10', NULL, NULL, '[vcores=3]', NULL),
	(3, 'CONTAINER_UPDATE', '2026-03-02 09:00:20', NULL, 'root.b', NULL, NULL),
	(4, 'CONTAINER_UPDATE', '2026-03-02 09:00:30', NULL, NULL, '[vcores=2]', NULL),
	(5, 'CONTAINER_FINISH', '2026-03-02 09:00:40', NULL, NULL, NULL, 0);
CREATE VIEW permutation AS
	SELECT row_number() OVER (ORDER BY a.number, b.number, c.number, d.number, e.number) AS id,
		   ARRAY[a.number, b.number, c.number, d.number, e.number] AS numbers
	FROM life AS a, life AS b, life AS c, life AS d, life AS e
	WHERE (SELECT count(DISTINCT n) FROM unnest(ARRAY[a.number, b.number, c.number, d.number, e.number]) AS n) = 5;
CREATE PROCEDURE send_in_every_order(one_by_one text, at_once text) LANGUAGE plpgsql AS $$
DECLARE
	p record;
	n integer;
	name text;
BEGIN
	FOR p IN SELECT * FROM permutation ORDER BY id LOOP
		name := one_by_one || to_char(p.id, 'FM000');
		FOREACH n IN ARRAY p.numbers LOOP
			INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation, exit_status)
			SELECT l.event, name, l.occurred_at, l.project, l.queue, l.allocation, l.exit_status
			FROM life AS l WHERE l.number = n OR (n = p.numbers[2] AND l.number = p.numbers[1]);
		END LOOP;
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation, exit_status)
		SELECT l.event, name, l.occurred_at, l.project, l.queue, l.allocation, l.exit_status
		FROM life AS l ORDER BY array_position(p.numbers, l.number);
	END LOOP;
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation, exit_status)
	SELECT l.event, at_once || o.id, l.occurred_at, l.project, l.queue, l.allocation, l.exit_status
	FROM permutation AS o, life AS l ORDER BY o.id, array_position(o.numbers, l.number);
END
$$;
CALL send_in_every_order('p', 'q');
SELECT left(container_id, 1) AS sent, count(DISTINCT container_id) AS containers, "from", "to", queue, allocation, settled_by, min(amount), max(amount)
FROM in_effect WHERE container_id ~ '^[pq]' GROUP BY 1, 3, 4, 5, 6, 7 ORDER BY 1, 3;
SELECT count(*) AS running FROM yquota.container WHERE project = 'ops';
SELECT count(*) AS set_aside FROM yquota.event_reject;
SELECT charged FROM yquota.project_balance WHERE project = 'ops';
SELECT * FROM yquota.verify();

--
-- The earliest FINISH ends a container. Among several at one instant it is the FINISH with the
-- smallest exit status. Events after the end are accepted and change nothing.
--
TRUNCATE life;
INSERT INTO life VALUES
	(1, 'CONTAINER_START', '2026-03-02 09:00', 'ops', 'root.a', '[vcores=1]', NULL),
	(2, 'CONTAINER_UPDATE', '2026-03-02 09:00:10', NULL, NULL, '[vcores=3]', NULL),
	(3, 'CONTAINER_UPDATE', '2026-03-02 09:00:30', NULL, 'root.b', NULL, NULL),
	(4, 'CONTAINER_FINISH', '2026-03-02 09:00:20', NULL, NULL, NULL, 5),
	(5, 'CONTAINER_FINISH', '2026-03-02 09:00:40', NULL, NULL, NULL, 0);
CALL send_in_every_order('e', 'f');
DELETE FROM life WHERE number IN (3, 5);
INSERT INTO life VALUES
	(3, 'CONTAINER_FINISH', '2026-03-02 09:00:20', NULL, NULL, NULL, 9),
	(5, 'CONTAINER_FINISH', '2026-03-02 09:00:20', NULL, NULL, NULL, NULL);
CALL send_in_every_order('g', 'h');
SELECT left(container_id, 1) AS sent, count(DISTINCT container_id) AS containers, "from", "to", queue, allocation, settled_by, exit_status, min(amount), max(amount)
FROM yquota_internal.charge_in_effect WHERE container_id ~ '^[efgh][0-9]' GROUP BY 1, 3, 4, 5, 6, 7, 8 ORDER BY 1, 3;
SELECT count(*) AS running FROM yquota.container WHERE project = 'ops';
SELECT count(*) AS set_aside FROM yquota.event_reject;
SELECT * FROM yquota.verify();
-- A short life is padded from the FINISH that counts. An UPDATE at that FINISH applies to the
-- padding.
RESET yquota.on_bad_event;
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 09:50', '1 minute');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'short', '2026-03-02 09:50', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'short', '2026-03-02 09:50:50');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'short', '2026-03-02 09:50:20', '[vcores=2]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'short', '2026-03-02 09:50:30', '[vcores=4]');
SELECT "from", "to", allocation, padding, amount FROM yquota_internal.charge_in_effect WHERE container_id = 'short' ORDER BY "from", padding NULLS FIRST;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'short', '2026-03-02 09:50:20');
SELECT "from", "to", allocation, padding, amount FROM yquota_internal.charge_in_effect WHERE container_id = 'short' ORDER BY "from", padding NULLS FIRST;
-- a START is repeated after the end, with the same or another allocation, and an UPDATE arrives for
-- a FINISH that did not count
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'short', '2026-03-02 09:50', 'lab', '[vcores=7]'), ('CONTAINER_START', 'short', '2026-03-02 09:50', 'lab', '[vcores=1]'),
	('CONTAINER_UPDATE', 'short', '2026-03-02 09:50:30', NULL, '[vcores=5]'), ('CONTAINER_FINISH', 'short', '2026-03-02 09:50:21', NULL, NULL);
SELECT count(*) AS charges, sum(amount) FROM yquota.charge WHERE container_id = 'short';
-- a START that came with a new allocation is reversed like an UPDATE
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'again', '2026-03-02 09:55', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'again', '2026-03-02 09:55', 'lab', '[vcores=2]');
SELECT settled_at, allocation FROM yquota.container WHERE container_id = 'again';
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'again', '2026-03-02 09:57');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'again', '2026-03-02 09:55', 'lab', '[vcores=2]');
SELECT "from", "to", allocation, amount FROM in_effect WHERE container_id = 'again';
SELECT queue, containers FROM yquota.queue_usage;
SELECT * FROM yquota.verify();
SELECT * FROM yquota.verify('2026-03-02 09:50:30');
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT * FROM yquota.verify();
SET yquota.on_bad_event = set_aside_quietly;

-- As many containers as possible in one statement: no container takes a lock of its own. Cases are
-- whole lives, STARTs among FINISHes, and late UPDATEs of finished containers.
INSERT INTO yquota.project (name) VALUES ('many');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT e, md5('l' || n), '2026-03-02 09:00+00'::timestamptz + n * interval '1 ms' + CASE e WHEN 'CONTAINER_FINISH' THEN interval '10 s' ELSE '0' END,
	'many', CASE e WHEN 'CONTAINER_START' THEN '[vcores=1]'::yquota.resource END
FROM generate_series(1, 15000) AS n, unnest('{CONTAINER_START,CONTAINER_FINISH}'::yquota.container_event_type[]) AS e;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START', md5('r' || n), '2026-03-02 09:00+00', 'many', '[vcores=1]' FROM generate_series(1, 3000) AS n;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START'::yquota.container_event_type, md5('s' || n), '2026-03-02 09:00+00'::timestamptz, 'many', '[vcores=1]'::yquota.resource FROM generate_series(1, 3000) AS n
UNION ALL
SELECT 'CONTAINER_FINISH', md5('r' || n), '2026-03-02 09:00:20+00', NULL, NULL FROM generate_series(1, 3000) AS n;
SELECT count(*) AS charges FROM yquota.charge WHERE project = 'many';
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', md5('l' || n), '2026-03-02 09:00+00'::timestamptz + n * interval '1 ms' + interval '5 s', '[vcores=3]'
FROM generate_series(1, 15000) AS n;
SELECT count(*) AS charges, count(corrects) AS taken_back,
	(SELECT count(*) FROM yquota.container WHERE project = 'many') AS running
FROM yquota.charge WHERE project = 'many';
SELECT * FROM yquota.verify();

-- Many UPDATEs of one container in a statement. When they are later than all known events, they
-- replace its row once. Late UPDATEs in any order lead to the same books.
CREATE VIEW busy AS
	SELECT 'busy ' || life AS container_id, n, '2026-03-02 09:00+00'::timestamptz + n * interval '1 s' AS occurred_at,
		   format('[vcores=%s]', 1 + n * n % 7)::yquota.resource AS allocation
	FROM generate_series(1, 3) AS life, generate_series(1, 3000) AS n;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START', 'busy ' || life, '2026-03-02 09:00+00', 'many', '[vcores=9]' FROM generate_series(1, 3) AS life;
BEGIN;
SELECT n_tup_ins, n_tup_del, idx_scan FROM pg_stat_xact_all_tables WHERE relid = 'yquota.container'::regclass \gset before_
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', container_id, occurred_at, allocation FROM busy WHERE container_id = 'busy 1';
SELECT n_tup_ins - :before_n_tup_ins AS inserted, n_tup_del - :before_n_tup_del AS deleted, idx_scan - :before_idx_scan < 10 AS few_looks
FROM pg_stat_xact_all_tables WHERE relid = 'yquota.container'::regclass;
COMMIT;
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', container_id, occurred_at, allocation FROM busy WHERE container_id = 'busy 2' AND n % 3 = 0;
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', container_id, occurred_at, allocation FROM busy WHERE container_id = 'busy 2' AND n % 3 > 0 ORDER BY md5(n::text);
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', container_id, occurred_at, allocation FROM busy WHERE container_id = 'busy 3' AND n % 2 = 0 ORDER BY n DESC;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', 'busy ' || life, '2026-03-02 09:40+00' FROM generate_series(1, 3) AS life;
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', container_id, occurred_at, allocation FROM busy WHERE container_id = 'busy 3' AND n % 2 = 1;
SELECT container_id, count(*), min("from"), max("to"), sum(amount) FROM in_effect WHERE container_id LIKE 'busy%' GROUP BY 1 ORDER BY 1;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_event_order;
