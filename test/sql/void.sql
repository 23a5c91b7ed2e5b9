--
-- void_events(): charges of wrong events are reversed, and the true events are sent. A vcore costs
-- one credit per second here. The test uses its own database, because the clock is global.
--
CREATE DATABASE yquota_void;
\c yquota_void
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
\pset null '-'
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=64]');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 10:00', '1 min');
SELECT yquota.set_clock('2026-03-02 12:00');

CREATE VIEW ledger AS
	SELECT container_id, project, number, corrects, "from"::time, "to"::time, settled_by, exit_status, padding, dominant, trim_scale(amount) AS amount
	FROM yquota.charge ORDER BY container_id, charge.number;
CREATE VIEW running AS
	SELECT container_id, project, allocation, started_at::time, settled_at::time, charges FROM yquota.container ORDER BY container_id;
-- reports that depend on counters
CREATE VIEW totals AS
	SELECT project, charged, accrued, burn_rate FROM yquota.project_balance ORDER BY project;
CREATE VIEW held AS
	SELECT 'queue ' || queue AS holder, containers, allocation FROM yquota.queue_usage
	UNION ALL
	SELECT 'node ' || node, containers, guaranteed FROM yquota.node_usage
	UNION ALL
	SELECT 'project ' || project, NULL, allocation FROM yquota.project_usage
	ORDER BY 1, 2, 3;
CREATE FUNCTION undo(container_id text DEFAULT NULL, application_id text DEFAULT NULL, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL,
					 project text DEFAULT NULL, source text DEFAULT NULL)
	RETURNS TABLE (voided text, payer text, amount numeric, was_running boolean)
	LANGUAGE sql
	AS 'SELECT container_id, project, amount, was_running FROM yquota.void_events($1, ''wrong'', $2, $3, $4, $5, $6) ORDER BY 1';
-- the events as a feed sends them
CREATE TABLE stream (LIKE yquota.container_event);
ALTER TABLE stream DROP recorded_at, DROP event_id, DROP source;
CREATE FUNCTION send(ids text[], source text DEFAULT 'feed') RETURNS void
	LANGUAGE sql
	AS 'INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, exit_status, source)
		SELECT event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, exit_status, $2
		FROM stream WHERE container_id = ANY ($1)';

--
-- Containers of each kind: finished, padded, updated, running, running and updated, with an empty
-- allocation, and one that is not voided
--
INSERT INTO stream (event, container_id, occurred_at, project, application_id, username, queue, node, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 10:00', 'lab', 'a1', 'ann', 'root.x', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'short', '2026-03-02 10:00', 'lab', 'a1', 'ann', 'root.x', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'updated', '2026-03-02 10:00', 'lab', 'a2', 'ann', 'root.x', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'nothing', '2026-03-02 10:00', 'lab', NULL, NULL, NULL, NULL, '[]'),
	('CONTAINER_START', 'runs', '2026-03-02 11:00', 'lab', 'a2', 'ann', 'root.x', 'n1', '[vcores=2]'),
	('CONTAINER_START', 'grows', '2026-03-02 11:00', NULL, 'a2', 'lab__bob', 'root.y', 'n1', '[vcores=2]'),
	('CONTAINER_START', 'other', '2026-03-02 11:30', 'ops', 'a3', 'cyd', 'root.x', 'n1', '[vcores=4]');
INSERT INTO stream (event, container_id, occurred_at, allocation, exit_status) VALUES
	('CONTAINER_FINISH', 'done', '2026-03-02 10:10', NULL, 0),
	('CONTAINER_FINISH', 'short', '2026-03-02 10:00:20', NULL, 137),
	('CONTAINER_UPDATE', 'updated', '2026-03-02 10:01', '[vcores=3]', NULL),
	('CONTAINER_FINISH', 'updated', '2026-03-02 10:02', NULL, NULL),
	('CONTAINER_FINISH', 'nothing', '2026-03-02 10:05', NULL, NULL),
	('CONTAINER_UPDATE', 'grows', '2026-03-02 11:01', '[vcores=5]', NULL);
SELECT send(array_agg(container_id)) FROM stream;
SELECT * FROM ledger;
SELECT * FROM running;
SELECT * FROM totals;
SELECT * FROM held;
SELECT * FROM yquota.verify();

SELECT * FROM yquota.void_events('done', 'sent to the wrong project') \gx
SELECT * FROM undo('short');
SELECT * FROM undo('updated');
SELECT * FROM undo('nothing');
SELECT * FROM undo('runs');
SELECT * FROM undo('grows');
SELECT * FROM ledger;
SELECT * FROM running;
SELECT * FROM totals;
SELECT * FROM held;
SELECT container_id, event, occurred_at, allocation, execution_type, queue, node, repeated_start FROM yquota.container_change;
SELECT container_id, cost FROM yquota.container_cost;
SELECT * FROM yquota.explain_charge('updated');
SELECT project, amount FROM yquota.cost_between('2026-03-02 10:01', '2026-03-02 10:05') ORDER BY 1;
SELECT project, sum(amount) FROM yquota.daily_cost GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM yquota.container_event;
SELECT * FROM yquota.verify();
SELECT yquota.quota_compute();
SELECT * FROM totals;
SELECT * FROM yquota.verify();
SELECT * FROM yquota.verify('2026-03-02 11:00');

-- a second void and a void of an unknown container do nothing
SELECT * FROM undo('done');
SELECT * FROM undo('runs');
SELECT * FROM undo('nobody');
SELECT * FROM undo('');
SELECT * FROM undo("from" => '-infinity', "to" => '2026-03-02 11:30');
SELECT void_id, container_id, project, application_id, amount, was_running, charges, reason, chosen, voided_by = session_user AS by_us, voided_at FROM yquota.event_void ORDER BY void_id;

--
-- Events of voided containers are sent again, also at the same instant of the clock. Some of them
-- differ from the voided events.
--
SELECT send('{done,short,updated,nothing,runs,grows}');
SELECT * FROM ledger WHERE corrects IS NULL AND number > 1;
SELECT * FROM running;
SELECT * FROM totals;
SELECT * FROM held;
SELECT * FROM yquota.verify();
SELECT container_id, cost FROM yquota.container_cost ORDER BY 1;
SELECT project, amount FROM yquota.cost_between('2026-03-02 10:01', '2026-03-02 10:05') ORDER BY 1;

-- everything is repeated with a moving clock, in one transaction with the voids
SELECT yquota.set_clock('2026-03-02 12:00:00.000001');
UPDATE stream SET project = 'ops', username = 'eve' WHERE event = 'CONTAINER_START' AND container_id <> 'other';
BEGIN;
SELECT count(v.*), sum(v.amount) FROM unnest('{done,short,updated,nothing,runs,grows}'::text[]) AS id, LATERAL undo(id) AS v;
SELECT send('{done,short,updated,nothing,runs,grows}');
SELECT * FROM yquota.verify();
COMMIT;
SELECT * FROM totals;
SELECT * FROM yquota.verify();
SELECT * FROM yquota.verify('2026-03-02 11:00');
SELECT container_id, project, username, charged, accrued FROM yquota.container_cost ORDER BY 1;
SELECT sum(amount) AS explained FROM yquota.explain_charge('updated');
SELECT project, amount FROM yquota.cost_between('2026-03-02 10:01', '2026-03-02 10:05') ORDER BY 1;

-- the true events change nothing when they are repeated, and the wrong events are handled as always
SELECT send('{done,short,updated,nothing,runs,grows}');
SELECT * FROM totals;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 10:00', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) VALUES ('CONTAINER_FINISH', 'done', '2026-03-02 10:10', 0);
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'done', '2026-03-02 10:11');
SELECT * FROM totals;
SELECT * FROM yquota.verify();

-- a void that is rolled back has no effect
BEGIN;
SELECT * FROM undo('grows');
SAVEPOINT a;
SELECT send('{grows}');
SELECT * FROM undo('grows');
ROLLBACK TO a;
SELECT * FROM yquota.verify();
ROLLBACK;
SELECT * FROM totals;
SELECT * FROM yquota.verify();

-- new events may have another project and start than the voided ones, and are not confused with
-- them
SELECT * FROM undo('done');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, allocation, exit_status) VALUES
	('CONTAINER_START', 'done', '2026-03-02 11:00', 'lab', 'ann', '[vcores=7]', NULL),
	('CONTAINER_FINISH', 'done', '2026-03-02 11:10', NULL, NULL, NULL, 0);
SELECT container_id, project, started_at, finished_at, cost FROM yquota.container_cost WHERE container_id = 'done';
SELECT * FROM yquota.verify();
-- a START is repeated with a new allocation, voided, and repeated again
SELECT * FROM undo('runs');
SELECT send('{runs}');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_START', 'runs', '2026-03-02 11:00', '[vcores=6]');
SELECT * FROM yquota.verify();
SELECT * FROM undo('runs');
SELECT * FROM yquota.verify();
SELECT send('{runs}');
SELECT * FROM running WHERE container_id = 'runs';
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_START', 'runs', '2026-03-02 11:00', '[vcores=6]');
SELECT * FROM running WHERE container_id = 'runs';
SELECT * FROM yquota.verify();

--
-- Events chosen by application, window, project and source
--
SELECT yquota.set_clock('2026-03-02 13:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation, source) VALUES
	('CONTAINER_START', 'w1', '2026-03-02 12:00', 'lab', 'b1', '[vcores=1]', 'bad'),
	('CONTAINER_START', 'w2', '2026-03-02 12:10', 'lab', 'b1', '[vcores=1]', 'good'),
	('CONTAINER_START', 'w3', '2026-03-02 12:20', 'ops', 'b1', '[vcores=1]', 'bad'),
	('CONTAINER_START', 'w4', '2026-03-02 12:30', 'ops', 'b2', '[vcores=1]', 'good'),
	('CONTAINER_START', 'w5', '2026-03-02 12:40', 'ops', NULL, '[vcores=1]', 'bad');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, source) VALUES
	('CONTAINER_FINISH', 'w1', '2026-03-02 12:30', NULL, 'good'),
	('CONTAINER_UPDATE', 'w2', '2026-03-02 12:45', '[vcores=2]', 'bad');
CREATE FUNCTION chosen(application_id text DEFAULT NULL, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL,
					   project text DEFAULT NULL, source text DEFAULT NULL)
	RETURNS text[]
	LANGUAGE plpgsql AS $$
DECLARE
	ids text[];
BEGIN
	BEGIN
		ids := ARRAY(SELECT voided FROM undo(NULL, $1, $2, $3, $4, $5));
		RAISE EXCEPTION USING ERRCODE = 'ZZ000';
	EXCEPTION WHEN SQLSTATE 'ZZ000' THEN
		RETURN ids;
	END;
END
$$;
SELECT chosen('b1'), chosen('b1', project => 'lab'), chosen('b1', source => 'bad'), chosen('b1', project => 'ops', source => 'good') AS none;
-- A window includes its start and excludes its end, and a container is chosen if any of its events lies in the window.
SELECT chosen("from" => '2026-03-02 12:00', "to" => '2026-03-02 12:20'),
	   chosen("from" => '2026-03-02 12:30', "to" => '2026-03-02 12:40'),
	   chosen("from" => '2026-03-02 12:45', "to" => 'infinity'),
	   chosen("from" => '2026-03-02 12:11', "to" => '2026-03-02 12:11') AS none;
SELECT chosen("from" => '2026-03-02 12:00', "to" => 'infinity', project => 'lab'),
	   chosen("from" => '2026-03-02 12:00', "to" => 'infinity', source => 'bad'),
	   chosen("from" => '2026-03-02 12:00', "to" => '2026-03-02 12:15', source => 'bad'),
	   chosen('b1', "from" => '2026-03-02 12:20', "to" => '2026-03-02 12:35', project => 'lab');
-- The events of one source are voided. When another source sends them again, they are not chosen
-- any more.
SELECT * FROM undo("from" => '2026-03-02 12:00', "to" => 'infinity', source => 'bad');
SELECT yquota.set_clock('2026-03-02 13:00:01');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation, source) VALUES
	('CONTAINER_START', 'w1', '2026-03-02 12:00', 'lab', 'b1', '[vcores=1]', 'good');
SELECT * FROM undo("from" => '2026-03-02 12:00', "to" => 'infinity', source => 'bad');
SELECT * FROM running WHERE container_id ~ '^w';
SELECT * FROM yquota.verify();
SELECT * FROM yquota.void_events(reason => 'test', "from" => '2026-03-02 12:00', "to" => '2026-03-02 12:01', project => 'ops', source => 'good');
SELECT chosen FROM yquota.event_void WHERE container_id = 'w5';

--
-- Rejected events. Events that wait for the START of a voided container are removed. Events that
-- contradicted the wrong events may be true, and stay.
--
SET yquota.on_bad_event = set_aside_quietly;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 's1', '2026-03-02 12:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 's1', '2026-03-02 12:10', NULL, NULL);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project) VALUES ('CONTAINER_FINISH', 's1', '2026-03-02 12:30', 'ops');
INSERT INTO yquota.event_reject (event, container_id, occurred_at, recorded_at, waiting, sqlstate, reason)
	SELECT 'CONTAINER_FINISH', 's1', '2026-03-02 12:20', recorded_at, true, '23503', 'came while the START did' FROM yquota.container_event WHERE container_id = 's1' LIMIT 1;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 's2', '2026-03-02 12:30');
SELECT * FROM undo('s1');
SELECT * FROM undo('s2');
SELECT container_id, occurred_at, waiting, reason FROM yquota.event_reject ORDER BY reject_id;
SELECT * FROM yquota.verify();
SELECT yquota.set_clock('2026-03-02 13:00:02');
-- a FINISH waits for a new START, although the ledger had one before
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_UPDATE', 's1', '2026-03-02 12:15');
SELECT yquota_internal.apply_waiting();
SELECT * FROM yquota.retry_rejects();
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 's1', '2026-03-02 12:00', 'ops', '[vcores=1]');
SELECT * FROM yquota.retry_rejects();
SELECT * FROM ledger WHERE container_id = 's1';
SELECT container_id, occurred_at, waiting, reason FROM yquota.event_reject ORDER BY reject_id;
RESET yquota.on_bad_event;
SELECT * FROM yquota.verify();

-- a container that the resource manager reports as running is started again
SELECT * FROM undo('w4');
SELECT send('{updated}');
SELECT * FROM undo('updated');
SELECT action, container_id, project, detail FROM yquota.reconcile('[{"container_id": "updated", "project": "lab", "allocation": "[vcores=1]", "started_at": "2026-03-02 10:00"}]', '2026-03-02 12:59') WHERE container_id = 'updated';

-- corrections do not change voided charges
SELECT yquota.report_outage('2026-03-02 10:00', '2026-03-02 10:01', 'test');
SELECT container_id, count(*), sum(amount) FROM yquota.charge WHERE container_id IN ('updated', 'short') GROUP BY 1 ORDER BY 1;
SELECT * FROM undo('short');
SELECT yquota_internal.correct_prices_since('-infinity');
SELECT * FROM yquota.verify();

--
-- Many containers
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation)
SELECT 'CONTAINER_START', 'm' || i, '2026-03-02 09:00', 'lab', 'many', '[vcores=1]' FROM generate_series(1, 2500) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', 'm' || i, '2026-03-02 09:01' FROM generate_series(1, 2500, 2) AS i;
SELECT count(*), sum(amount), count(*) FILTER (WHERE was_running) AS ran, min(voided), max(voided) FROM undo(application_id => 'many');
SELECT count(*) FROM undo(application_id => 'many');
SELECT * FROM yquota.verify();
SELECT project, charged FROM totals;

--
-- verify() accepts the voided events, and finds everything else
--
CREATE FUNCTION falsify(command text) RETURNS TABLE (problem text, subject text)
	LANGUAGE plpgsql AS $$
DECLARE
	problems text[];
	falsified bigint;
BEGIN
	BEGIN
		EXECUTE command;
		GET DIAGNOSTICS falsified = ROW_COUNT;
		problems := ARRAY(SELECT ARRAY[v.problem, v.subject] FROM yquota.verify() AS v ORDER BY v.problem COLLATE "C", v.subject COLLATE "C");
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
SELECT yquota.set_clock('2026-03-02 14:00');
SELECT * FROM ledger WHERE container_id = 'short';
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'f1', '2026-03-02 13:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'f1', '2026-03-02 13:10', NULL, NULL),
	('CONTAINER_START', 'f2', '2026-03-02 13:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'f2', '2026-03-02 13:10', NULL, NULL);
SELECT * FROM undo("from" => '2026-03-02 13:00', "to" => '2026-03-02 13:20');
SELECT yquota.set_clock('2026-03-02 14:01');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'f2', '2026-03-02 13:00', 'ops', '[vcores=1]'), ('CONTAINER_FINISH', 'f2', '2026-03-02 13:05', NULL, NULL);
SELECT yquota.quota_compute();
SELECT * FROM yquota.verify();
-- the reversed amount is too small, too large, or of another project
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE container_id = 'f1' AND number = 2$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET amount = amount + 1 WHERE container_id = 'f1' AND number = 2$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET project = 'ops' WHERE container_id = 'f1' AND number = 2$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET corrects = NULL WHERE container_id = 'f1' AND number = 2$$);
-- the counter is falsified, too, so that only the container shows the error
SELECT * FROM falsify($$WITH less AS (DELETE FROM yquota.charge WHERE container_id = 'f1' AND number = 2)
						UPDATE yquota_internal.project_counter SET charged = charged + 600 WHERE project = 'lab'$$);
-- a row from after the void is missing or changed
SELECT * FROM falsify($$DELETE FROM yquota.charge WHERE container_id = 'f2' AND number = 3$$);
SELECT * FROM falsify($$UPDATE yquota.charge SET project = 'lab' WHERE container_id = 'f2' AND number = 3$$);
-- a row from after the void gets values that agreed only before the void
SELECT * FROM falsify($$UPDATE yquota.charge SET "to" = '2026-03-02 13:10', amount = 600 WHERE container_id = 'f2' AND number = 3$$);
SELECT * FROM falsify($$WITH other AS (UPDATE yquota.charge SET project = 'lab', "to" = '2026-03-02 13:10', amount = 600 WHERE container_id = 'f2' AND number = 3)
						UPDATE yquota_internal.project_counter SET charged = charged + CASE project WHEN 'lab' THEN 600 ELSE -300 END$$);
SELECT * FROM falsify($$INSERT INTO yquota.charge SELECT 'f1', project, application_id, username, queue, node, execution_type, allocation, started_at, "from", "to", booked_at, 3,
						NULL, settled_by, exit_status, padding, dominant, amount FROM yquota.charge WHERE container_id = 'f2' AND number = 3$$);
ALTER TABLE yquota.container_event DISABLE TRIGGER charge_events;
SELECT * FROM falsify($$DELETE FROM yquota.container_event WHERE container_id = 'f2' AND recorded_at = '2026-03-02 14:01'$$);
SELECT * FROM falsify($$DELETE FROM yquota.container_event WHERE container_id = 'f2' AND recorded_at = '2026-03-02 14:01' AND event = 'CONTAINER_START'$$);
ALTER TABLE yquota.container_event ENABLE TRIGGER charge_events;
-- without the row of the void the books do not agree with the log
UPDATE yquota.event_void SET reason = 'better';
DELETE FROM yquota.event_void;
TRUNCATE yquota.event_void;
ALTER TABLE yquota.event_void DISABLE TRIGGER keep;
SELECT * FROM falsify($$DELETE FROM yquota.event_void WHERE container_id IN ('f1', 'f2')$$);
ALTER TABLE yquota.event_void ENABLE TRIGGER keep;
-- the books do not agree either when the numbers of voided events are missing, or when other events
-- have these numbers
SELECT * FROM falsify($$DELETE FROM yquota_internal.voided_event AS v USING yquota.container_event AS e WHERE e.event_id = v.event_id AND e.container_id = 'f1'$$);
SELECT * FROM falsify($$INSERT INTO yquota_internal.voided_event SELECT v.void_id, e.event_id FROM yquota.event_void AS v, yquota.container_event AS e
						WHERE v.container_id = 'f2' AND e.container_id = 'f2' AND e.recorded_at = '2026-03-02 14:01'$$);

--
-- Sealed and archived history
--
SELECT yquota.seal_history();
SELECT * FROM undo('f2');
SELECT * FROM ledger WHERE container_id = 'f2';
SELECT * FROM yquota.verify();
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'f2', '2026-03-02 13:00', 'ops', '[vcores=1]'), ('CONTAINER_FINISH', 'f2', '2026-03-02 13:20', NULL, NULL);
SELECT * FROM yquota.verify();
CREATE TABLE archived_ledger (LIKE yquota.charge);
CREATE TABLE archived_log (LIKE yquota.container_event);
SELECT yquota.set_clock('2026-03-02 15:00');
SELECT yquota.seal_history();
SELECT segments, archived_before FROM yquota.archive('archived_ledger', 'infinity');
SELECT segments FROM yquota.archive('archived_log', 'infinity');
SELECT * FROM yquota.verify();
-- a running container is in the books, but after a void its true START would be refused
SELECT * FROM running WHERE container_id IN ('other', 'f2');
SELECT * FROM undo('other');
SELECT * FROM undo('f2');
SELECT * FROM undo('nobody');
SELECT * FROM undo(application_id => 'a1');
SELECT * FROM undo(application_id => 'nobody');
SELECT * FROM undo("from" => '2026-03-02 14:00', "to" => '2026-03-02 16:00');
SELECT * FROM undo('f1');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'f1', '2026-03-02 15:00', 'lab', '[vcores=1]');
SELECT * FROM undo('f1');
SELECT * FROM undo('f1');
SELECT * FROM yquota.verify();

--
-- A container with many rows: rows in effect are found without reading all rows again for each
--
BEGIN;
SELECT yquota.set_clock('2026-03-03 00:00');
-- these statistics say that containers have few rows
ANALYZE yquota.charge;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'many', '2026-03-02 16:00', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', 'many', timestamptz '2026-03-02 16:00' + n * interval '10 s', ('[vcores=' || 1 + n % 2 || ']')::yquota.resource FROM generate_series(1, 1000) AS n;
-- return the number of rows that the plan compares without a match
CREATE FUNCTION pg_temp.compared(query text) RETURNS numeric
	LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING off, FORMAT json) ' || query INTO plan;
	RETURN (SELECT coalesce(sum(n::numeric), 0) FROM jsonb_path_query(plan, 'strict $.**."Rows Removed by Join Filter"') AS n);
END
$$;
SELECT count(*), pg_temp.compared($$SELECT FROM yquota_internal.charge_in_effect WHERE container_id = 'many'$$) < 10000 AS is_linear
FROM yquota_internal.charge_in_effect WHERE container_id = 'many';
SELECT charges FROM yquota.void_events('many', 'test');
ROLLBACK;

--
-- Errors
--
SELECT * FROM yquota.void_events('f1');
SELECT * FROM yquota.void_events('f1', '');
SELECT * FROM yquota.void_events('f1', E' \t\n');
SELECT * FROM yquota.void_events(reason => 'test');
SELECT * FROM yquota.void_events(reason => 'test', project => 'lab');
SELECT * FROM yquota.void_events(reason => 'test', source => 'feed');
SELECT * FROM yquota.void_events(reason => 'test', "from" => '2026-03-02 15:00');
SELECT * FROM yquota.void_events(reason => 'test', "to" => '2026-03-02 15:00');
SELECT * FROM yquota.void_events(reason => 'test', "from" => '2026-03-02 16:00', "to" => '2026-03-02 15:59');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM yquota.void_events('f1', 'test');
ROLLBACK;

--
-- Rights: only roles with EXECUTE may void, and the role of the session is recorded
--
CREATE ROLE yquota_void_feed;
CREATE ROLE yquota_void_admin;
GRANT USAGE ON SCHEMA yquota TO yquota_void_feed, yquota_void_admin;
GRANT INSERT ON yquota.container_event TO yquota_void_feed;
GRANT EXECUTE ON FUNCTION yquota.void_events TO yquota_void_admin;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'g1', '2026-03-02 15:00', 'lab', '[vcores=1]');
SET ROLE yquota_void_feed;
SELECT * FROM yquota.void_events('g1', 'test');
SELECT * FROM yquota_internal.void_containers('{g1}');
RESET ROLE;
SET SESSION AUTHORIZATION yquota_void_admin;
SELECT container_id, voided_by FROM yquota.void_events('g1', 'test');
INSERT INTO yquota.event_void (container_id, project, amount, was_running, charges, reason, chosen, voided_at) VALUES ('g1', 'lab', 0, true, 0, 'test', '{}', now());
RESET SESSION AUTHORIZATION;
DROP OWNED BY yquota_void_feed, yquota_void_admin;
DROP ROLE yquota_void_feed, yquota_void_admin;

--
-- A container with many rows is chosen without comparing all pairs of rows, also in new books without
-- statistics
--
DROP EXTENSION yquota CASCADE;
CREATE EXTENSION yquota;
SELECT yquota.set_clock('2026-03-02 15:00');
INSERT INTO yquota.project (name) VALUES ('lab');
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'long', '2026-03-02 14:00', 'lab', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation)
SELECT 'CONTAINER_UPDATE', 'long', '2026-03-02 14:00'::timestamptz + i * interval '1 s', CASE i % 2 WHEN 0 THEN '[vcores=1]' ELSE '[vcores=2]' END::yquota.resource
FROM generate_series(1, 2000) AS i;
SELECT idx_scan AS scans FROM pg_stat_xact_all_tables WHERE relid = 'yquota.charge'::regclass \gset
SELECT charges FROM yquota.void_events('long', 'test');
SELECT idx_scan - :scans < 20 AS are_few FROM pg_stat_xact_all_tables WHERE relid = 'yquota.charge'::regclass;
ROLLBACK;

\c postgres
DROP DATABASE yquota_void;
