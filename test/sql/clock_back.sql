--
-- The clock steps back: nothing is lost, and nothing is charged twice. Events that arrive later are
-- recorded with earlier times. Compaction, prices, the charged-through mark, sealing and the search for outages
-- continue. A vcore costs 1 credit per second, until a price changes that.
--
CREATE DATABASE yquota_clock_back;
\c yquota_clock_back
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[vcores=8]');

-- Events, compaction and the mark. The end of this test runs the same script without the step back.
CREATE TABLE script (step integer, event yquota.container_event_type, container_id text, occurred_at timestamptz, project text, allocation yquota.resource);
INSERT INTO script VALUES
	(1, 'CONTAINER_START', 'a', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	(1, 'CONTAINER_START', 'b', '2026-03-02 11:10', 'lab', '[vcores=2]'),
	(1, 'CONTAINER_UPDATE', 'a', '2026-03-02 11:30', NULL, '[vcores=3]'),
	(1, 'CONTAINER_FINISH', 'b', '2026-03-02 11:59:59.999999', NULL, NULL),
	(2, 'CONTAINER_START', 'c', '2026-03-02 10:00', 'lab', '[memory-mb=5000]'),
	(2, 'CONTAINER_UPDATE', 'a', '2026-03-02 10:15', NULL, '[vcores=5]'),
	(2, 'CONTAINER_UPDATE', 'b', '2026-03-02 10:30', NULL, '[vcores=4]'),
	(2, 'CONTAINER_START', 'd', '2026-03-02 10:29', 'lab', '[vcores=1]'),
	(2, 'CONTAINER_FINISH', 'd', '2026-03-02 10:30', NULL, NULL),
	(3, 'CONTAINER_FINISH', 'c', '2026-03-02 12:20', NULL, NULL),
	(3, 'CONTAINER_FINISH', 'a', '2026-03-02 12:50', NULL, NULL),
	(3, 'CONTAINER_START', 'e', '2026-03-02 12:55', 'lab', '[vcores=2]');
CREATE FUNCTION send(wanted integer) RETURNS void LANGUAGE sql SET yquota.on_bad_event = 'set_aside' AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
	SELECT event, container_id, occurred_at, project, allocation FROM script WHERE step = wanted
$$;
SELECT yquota.set_multiplier('GENERAL', 2, '2026-03-02 12:30');
SELECT send(1);
SELECT yquota.quota_compute();
SELECT charged, accrued FROM yquota.project_balance;
SELECT yquota.set_clock('2026-03-02 10:30');
SELECT send(2);
SELECT send(1);
SELECT container_id, reason FROM yquota.event_reject;
SELECT yquota.quota_compute();
SELECT * FROM yquota.verify();
SELECT yquota.set_clock('2026-03-02 13:00');
SELECT send(3);
SELECT send(2);
SELECT yquota.quota_compute();
SELECT charged, accrued FROM yquota.project_balance \gset back_
SELECT string_agg(container_id || ' ' || cost, ', ' ORDER BY container_id) AS costs FROM yquota.container_cost \gset back_
SELECT :'back_costs' AS costs;
SELECT source, events, last_event_at, last_recorded_at FROM yquota.feed_status WHERE source IS NULL;
SELECT * FROM yquota.verify();

-- A repeated START with another allocation changes no charge, and the container has that allocation
-- from now on
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
	('CONTAINER_START', 'r1', '2026-03-02 09:00', 'lab', 'root.a', '[vcores=1]'),
	('CONTAINER_START', 'r2', '2026-03-02 09:00', 'lab', 'root.a', '[vcores=1]'),
	('CONTAINER_START', 'r3', '2026-03-02 09:00', 'lab', 'root.a', '[vcores=1]'),
	('CONTAINER_START', 'r4', '2026-03-02 12:03', 'lab', 'root.a', '[vcores=1]'),
	('CONTAINER_START', 'r5', '2026-03-02 09:00', 'lab', 'root.a', '[vcores=1]'),
	('CONTAINER_UPDATE', 'r2', '2026-03-02 12:45', NULL, NULL, '[vcores=2]'),
	('CONTAINER_FINISH', 'r3', '2026-03-02 12:45', NULL, NULL, NULL);
SELECT container_id, number, amount FROM yquota.charge WHERE container_id LIKE 'r%' ORDER BY 1, 2;
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r1', '2026-03-02 09:00', 'lab', '[vcores=3]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r2', '2026-03-02 09:00', 'lab', '[vcores=3]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r3', '2026-03-02 09:00', 'lab', '[vcores=3]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r4', '2026-03-02 12:03', 'lab', '[vcores=3]');
-- a START like the first one, but without the queue, is known
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r5', '2026-03-02 09:00', 'lab', '[vcores=1]');
SELECT container_id, queue, allocation, settled_at FROM yquota.container WHERE container_id LIKE 'r%' ORDER BY 1;
SELECT container_id, number, amount FROM yquota.charge WHERE container_id LIKE 'r%' ORDER BY 1, 2;
SELECT * FROM yquota.verify();
-- the START is repeated now, and again after the clock has passed the time at which it was set back
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r2', '2026-03-02 09:00', 'lab', '[vcores=3]');
SELECT yquota.set_clock('2026-03-02 13:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'r2', '2026-03-02 09:00', 'lab', '[vcores=3]'), ('CONTAINER_START', 'r1', '2026-03-02 09:00', 'lab', '[vcores=4]');
SELECT container_id, allocation, settled_at FROM yquota.container WHERE container_id IN ('r1', 'r2') ORDER BY 1;
SELECT * FROM yquota.verify();

-- Two statements run at the same time, without any change of the clock. The later one is recorded
-- first, because its statement began first.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, recorded_at) VALUES
	('CONTAINER_START', 'q', '2026-03-02 12:00', 'lab', '[vcores=1]', '2026-03-02 12:30:01');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, recorded_at) VALUES
	('CONTAINER_START', 'q', '2026-03-02 12:00', 'lab', '[vcores=2]', '2026-03-02 12:30:00');
SELECT container_id, number, "to", amount FROM yquota.charge WHERE container_id = 'q';
SELECT * FROM yquota.verify();

-- Prices: the worker waits until the clock has passed the last price again. A price that is set by
-- hand applies from now on, and later charges are corrected. Container a finished at 12:50, so 600
-- s of 3 vcores cost 1.5 times as much.
SELECT yquota.clear_multiplier('GENERAL');
SELECT published, reason FROM yquota.compute_prices() WHERE price_group = 'GENERAL';
SELECT yquota.set_clock('2026-03-02 12:40');
UPDATE yquota.node SET total = '[vcores=9]';
SELECT published, reason FROM yquota.compute_prices() WHERE price_group = 'GENERAL';
SELECT cost FROM yquota.container_cost WHERE container_id = 'a';
SELECT yquota.set_multiplier('GENERAL', 3);
SELECT yquota.set_multiplier('GENERAL', 4, '2026-03-02 12:39');
SELECT cost FROM yquota.container_cost WHERE container_id = 'a';
SELECT * FROM yquota.verify();

-- Sealing: each segment still begins where the one before ended
SELECT yquota.set_clock('2026-03-02 13:00');
SELECT yquota.seal_history();
SELECT yquota.set_clock('2026-03-02 12:30');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'q', '2026-03-02 12:31');
SELECT yquota.seal_history();
SELECT number, sealed_from, sealed_at FROM yquota.history_segment ORDER BY number;
SELECT * FROM yquota.verify();
SELECT * FROM yquota.verify('2026-03-02 13:00');
SELECT yquota.set_clock('2026-03-02 13:00');
SELECT sum(amount) = (SELECT sum(charged) + sum(accrued) FROM yquota.project_balance) AS agrees
FROM yquota.cost_between('2026-03-02 00:00', '2026-03-02 13:00');

-- Outages: a mark ahead of the clock is not a gap, and a mark behind the clock is one gap, recorded
-- once
SELECT yquota_internal.worker_start(1, '2026-03-02 12:30');
SELECT yquota_internal.worker_start(2, '2026-03-02 12:35');
SELECT count(*) FROM yquota.outage;
SELECT yquota.set_clock('2026-03-02 13:10');
SELECT yquota_internal.worker_start(3, '2026-03-02 13:10');
SELECT yquota.set_clock('2026-03-02 13:05');
SELECT yquota_internal.worker_start(4, '2026-03-02 13:05');
SELECT started_at, ended_at FROM yquota.outage;
SELECT * FROM yquota.verify();

-- A container that runs since an instant that is now ahead can still change and end at exactly that
-- instant. No other event may be ahead.
SELECT yquota.set_clock('2026-03-02 15:00');
INSERT INTO yquota.container_event (event, container_id, project, node, allocation)
SELECT 'CONTAINER_START', 's' || i, 'lab', 'n1', '[vcores=1]' FROM generate_series(1, 3) AS i;
SELECT yquota.set_clock('2026-03-02 14:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 's1', '2026-03-02 15:00:00.000002', '[vcores=2]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 's1', '2026-03-02 15:00:00.000001', '[vcores=2]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 's2', '2026-03-02 15:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, recorded_at) VALUES ('CONTAINER_FINISH', 's3', '2026-03-02 15:00', '2026-03-02 14:06');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 's4', '2026-03-02 15:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation) VALUES ('CONTAINER_START', 's3', '2026-03-02 15:00', 'lab', 'n1', '[vcores=1]');
INSERT INTO yquota.container_event (event, occurred_at) VALUES ('QUOTA_COMPUTE', '2026-03-02 15:00');
UPDATE yquota.node SET label = 'ssd' WHERE name = 'n1';
SELECT container_id, settled_at, allocation, label FROM yquota.container WHERE container_id LIKE 's%' ORDER BY 1;
SELECT container_id FROM yquota.node_lost('n1', '2026-03-02 15:00');
SELECT container_id, "from", "to", amount FROM yquota.charge WHERE container_id LIKE 's%' ORDER BY 1, 2, 3;
SELECT * FROM yquota.verify();

-- The scheduler continues: it starts containers by the clock, and older containers end, become
-- larger and expire
UPDATE yquota.node SET label = '', state = 'RUNNING', total = '[memory-mb=8192,vcores=8]' WHERE name = 'n1';
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
SELECT yquota.set_clock('2026-03-02 15:00');
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'lab', unmanaged => true);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 4);
SELECT container_id FROM yquota.schedule(ARRAY['n1', 'n1', 'n1', 'n1'], 3);
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id = ANY ('{container_1_0001_01_000001,container_1_0001_01_000002}')));
SELECT yquota.set_clock('2026-03-02 14:00');
SELECT yquota.release_containers('{container_1_0001_01_000001}');
SELECT yquota.update_container('container_1_0001_01_000002', 0, '[memory-mb=2048]');
SELECT decision, container_id FROM yquota.schedule(ARRAY['n1', 'n1']);
SELECT yquota.update_container('container_1_0001_01_000002', 1, '[memory-mb=1024]');
SELECT decision, container_id, decided_at FROM yquota.decision ORDER BY decision_id;
UPDATE yquota.decision SET decided_at = decided_at - interval '2 hours';
\c
SET timezone = 'UTC';
SELECT count(*) FROM yquota.schedule();
SELECT count(*) FROM yquota.decision;
SELECT container_id, started_at, allocation FROM yquota.container WHERE application_id IS NOT NULL ORDER BY 1;
SELECT * FROM yquota.verify();

-- A container ahead of the clock owes nothing yet, and adds no credit. The cases are a START ahead
-- and a clock that has gone back, in a project, its parent, and a project in debt.
SELECT yquota.set_clock('2026-03-03 10:00');
INSERT INTO yquota.project (name, parent, on_exhausted) VALUES
	('alone', NULL, 'refuse_submission'), ('debtor', NULL, 'stop'), ('above', NULL, 'stop'), ('below', 'above', 'allow');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('alone', 100, 'x'), ('debtor', -1000, 'owed'), ('above', 100, 'x');
INSERT INTO yquota.container_event (event, container_id, project, allocation) VALUES
	('CONTAINER_START', 'debtor0', 'debtor', '[]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'alone1', '2026-03-03 10:04', 'alone', '[vcores=1000]'),
	('CONTAINER_START', 'debtor1', '2026-03-03 10:04', 'debtor', '[vcores=1000]'),
	('CONTAINER_START', 'below1', '2026-03-03 10:04', 'below', '[vcores=1000]');
CREATE VIEW ahead AS
	SELECT balance.project, balance.charged, balance.accrued, balance.remaining, balance.available, balance.burn_rate,
		   (SELECT sum(cost.amount) FROM yquota.cost_between('2026-03-03 00:00', '2026-03-04 00:00') AS cost WHERE cost.project = balance.project) AS cost,
		   (SELECT sum(container.cost) FROM yquota.container_cost AS container WHERE container.project = balance.project) AS of_containers,
		   (SELECT past.spent FROM yquota.balance_at(balance.project, yquota.clock()) AS past) AS spent_until_now
	FROM yquota.project_balance AS balance
	WHERE balance.project <> 'lab' ORDER BY balance.project COLLATE "C";
CREATE FUNCTION decisions() RETURNS TABLE (decision text, answer text) LANGUAGE sql BEGIN ATOMIC
	SELECT 'submission of ' || of_project, submitted.state || coalesce(' by ' || submitted.decided_by, '')
	FROM unnest('{alone,debtor,below}'::text[]) AS of_project
	CROSS JOIN LATERAL yquota.submit_application('application_1_0002', 'ann', '{}', 'root.a', project => of_project, dry_run => true) AS submitted
	UNION ALL
	SELECT 'quote for ' || of_project, quoted.remaining || ': ' || quoted.affordable
	FROM unnest('{alone,debtor,below}'::text[]) AS of_project
	CROSS JOIN LATERAL yquota.price_quote('[vcores=1]', '101 s', project => of_project) AS quoted
	UNION ALL
	SELECT 'metric of ' || of_project, metric.value::text
	FROM unnest('{alone,debtor,below}'::text[]) AS of_project
	JOIN yquota.metrics AS metric ON metric.labels ->> 'project' = of_project AND metric.metric = 'yquota_project_remaining_credits'
	UNION ALL
	SELECT 'to stop', string_agg(work.container_id, ', ' ORDER BY work.container_id) FROM yquota.exhausted_work AS work;
END;
TABLE ahead;
SELECT * FROM decisions();
SELECT yquota.hold('alone', 'application_1_0002', 101, '6 hours');
SELECT yquota.hold('below', 'application_1_0002', 101, '6 hours');
SELECT yquota.quota_compute();
TABLE ahead;
-- each container has accrued 60 s, in deltas and after their compaction, and then the clock goes
-- back
SELECT yquota.set_clock('2026-03-03 10:05');
TABLE ahead;
SELECT * FROM decisions();
SELECT yquota.quota_compute();
TABLE ahead;
SELECT yquota.set_clock('2026-03-03 09:00');
TABLE ahead;
SELECT * FROM decisions();
SELECT * FROM yquota.verify();
-- An UPDATE, a FINISH and an UPDATE of a waiting container lie ahead. The container is charged
-- until that event, and costs nothing more until the clock reaches it.
SELECT yquota.set_clock('2026-03-03 10:05');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, execution_type, is_running)
VALUES ('CONTAINER_START', 'debtor2', '2026-03-03 10:00', 'debtor', '[vcores=1000]', 'OPPORTUNISTIC', false);
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation, is_running) VALUES
	('CONTAINER_UPDATE', 'alone1', '2026-03-03 10:08', '[vcores=2000]', NULL),
	('CONTAINER_UPDATE', 'debtor2', '2026-03-03 10:08', NULL, true),
	('CONTAINER_FINISH', 'below1', '2026-03-03 10:08', NULL, NULL);
TABLE ahead;
SELECT yquota.quota_compute();
TABLE ahead;
-- late events before it correct posted charges
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'alone1', '2026-03-03 10:04:30', '[vcores=1]'), ('CONTAINER_FINISH', 'below1', '2026-03-03 10:07', NULL);
TABLE ahead;
SELECT * FROM yquota.verify();
SELECT yquota.set_clock('2026-03-03 10:09');
TABLE ahead;
-- an application spends a hold only when the clock reaches its container
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('alone', 1000000, 'x');
SELECT yquota.hold('alone', 'application_1_0003', 1000, '6 hours') IS NOT NULL AS holds;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES
	('CONTAINER_START', 'alone3', '2026-03-03 10:10', 'alone', 'application_1_0003', '[vcores=1]');
SELECT state, spent, outstanding FROM yquota.hold_status;
SELECT held, accrued, remaining FROM yquota.project_balance WHERE project = 'alone';
SELECT yquota.set_clock('2026-03-03 10:10:07');
SELECT state, spent, outstanding FROM yquota.hold_status;
SELECT held, accrued, remaining FROM yquota.project_balance WHERE project = 'alone';
SELECT * FROM yquota.verify();

-- The clock goes back by days: a container that had run for days when it was loaded also lies ahead
SELECT yquota.set_clock('2026-03-20 12:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'alone4', '2026-03-18 12:00', 'alone', '[vcores=1]'), ('CONTAINER_START', 'alone5', '2026-03-20 12:00', 'alone', '[vcores=1]');
SELECT container_id, settled_lately FROM yquota.container WHERE container_id IN ('alone3', 'alone4', 'alone5') ORDER BY 1;
SELECT yquota.set_clock('2026-03-18 11:00');
SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'alone';
SELECT sum(accrued) FROM yquota.container_cost WHERE project = 'alone';
SELECT yquota.set_clock('2026-03-20 12:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'alone5', '2026-03-20 12:00');
SELECT yquota.quota_compute();
SELECT yquota.set_clock('2026-03-18 11:00');
SELECT accrued, burn_rate FROM yquota.project_balance WHERE project = 'alone';
SELECT sum(accrued) FROM yquota.container_cost WHERE project = 'alone';
SELECT * FROM yquota.verify();

-- The script without the step back
CREATE DATABASE yquota_clock_control;
\c yquota_clock_control
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.project (name) VALUES ('lab');
SELECT yquota.set_multiplier('GENERAL', 2, '2026-03-02 12:30');
SELECT yquota.set_clock('2026-03-02 13:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'a', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	('CONTAINER_UPDATE', 'a', '2026-03-02 10:15', NULL, '[vcores=5]'),
	('CONTAINER_UPDATE', 'a', '2026-03-02 11:30', NULL, '[vcores=3]'),
	('CONTAINER_FINISH', 'a', '2026-03-02 12:50', NULL, NULL),
	('CONTAINER_START', 'b', '2026-03-02 11:10', 'lab', '[vcores=2]'),
	('CONTAINER_FINISH', 'b', '2026-03-02 11:59:59.999999', NULL, NULL),
	('CONTAINER_START', 'c', '2026-03-02 10:00', 'lab', '[memory-mb=5000]'),
	('CONTAINER_FINISH', 'c', '2026-03-02 12:20', NULL, NULL),
	('CONTAINER_START', 'd', '2026-03-02 10:29', 'lab', '[vcores=1]'),
	('CONTAINER_FINISH', 'd', '2026-03-02 10:30', NULL, NULL),
	('CONTAINER_START', 'e', '2026-03-02 12:55', 'lab', '[vcores=2]');
SELECT charged = :back_charged AS charged_alike, accrued = :back_accrued AS accrued_alike FROM yquota.project_balance;
SELECT string_agg(container_id || ' ' || cost, ', ' ORDER BY container_id) = :'back_costs' AS costs_alike FROM yquota.container_cost;

\c postgres
DROP DATABASE yquota_clock_control;
DROP DATABASE yquota_clock_back;
