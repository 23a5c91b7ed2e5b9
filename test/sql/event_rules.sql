--
-- The charging rules (docs/design.md 3): factors and the containers that they move to other rate
-- classes, outages, and the minimum run time. One vcore costs one credit per second, and the
-- amounts are computed by hand.
--
CREATE DATABASE yquota_event_rules;
\c yquota_event_rules
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
CREATE FUNCTION live(id text, start_at timestamptz, finish_at timestamptz, project text, queue text DEFAULT NULL,
					 application_id text DEFAULT NULL, username text DEFAULT NULL,
					 execution_type yquota.execution_type DEFAULT NULL) RETURNS numeric
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, application_id, username, execution_type, allocation) VALUES
		('CONTAINER_START', id, start_at, project, queue, application_id, username, execution_type, '[vcores=1]'),
		('CONTAINER_FINISH', id, finish_at, NULL, NULL, NULL, NULL, NULL, NULL);
	SELECT sum(amount) FROM yquota.charge WHERE container_id = id;
$$;

--
-- Factors: running containers move to other rate classes, and a future price does not change the
-- past
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, username, allocation) VALUES
	('CONTAINER_START', 'f1', '2026-03-02 09:58', 'lab', 'root.a.b', 'ann', '[vcores=1]'),
	('CONTAINER_START', 'f2', '2026-03-02 09:58', 'lab', 'root.ab', 'bob', '[vcores=1]');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('queue', 'root.a', '2026-03-02 10:00:10', 2), ('username', 'ann', '2026-03-02 10:00:20', 0.5);
SELECT container_id, factors, accrual_base FROM yquota.container ORDER BY 1;
-- before the first point of the more specific name, the factor of the less specific name applies
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a.b', '2026-03-02 10:00:30', 10);
SELECT container_id, factors FROM yquota.container ORDER BY 1;
SELECT * FROM yquota.verify();
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'f1', '2026-03-02 10:00:40'), ('CONTAINER_FINISH', 'f2', '2026-03-02 10:00:40');
-- 130 * 1 + 10 * 2 + 10 * 2 * 0.5 + 10 * 10 * 0.5
SELECT container_id, amount FROM yquota.charge ORDER BY 1;
-- Factors of several dimensions are multiplied. Applications and execution types have factors, too.
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES
	('application', 'app_1', '2026-03-02 10:00:45', 0.000001), ('execution_type', 'OPPORTUNISTIC', '2026-03-02 10:00:45', 0.25);
SELECT live('f3', '2026-03-02 10:01', '2026-03-02 10:01:10', 'lab', 'root.a.b', 'app_1', 'ann', 'OPPORTUNISTIC') AS f3,
	   live('f4', '2026-03-02 10:01', '2026-03-02 10:01:10', 'lab', 'root.c', 'app_2', 'bob', 'OPPORTUNISTIC') AS f4,
	   live('f5', '2026-03-02 10:01', '2026-03-02 10:01:10', 'lab', 'root.c', 'app_2', 'bob', 'GUARANTEED') AS f5;
-- an UPDATE moves a container from one factor to another
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, allocation) VALUES
	('CONTAINER_START', 'f6', '2026-03-02 10:01', 'lab', 'root.c', '[vcores=1]'),
	('CONTAINER_UPDATE', 'f6', '2026-03-02 10:01:10', NULL, 'root.a', NULL),
	('CONTAINER_UPDATE', 'f6', '2026-03-02 10:01:20', NULL, 'root.a.b', NULL);
SELECT queue, amount FROM yquota.charge WHERE container_id = 'f6' ORDER BY number;
SELECT factors FROM yquota.container WHERE container_id = 'f6';
SELECT * FROM yquota.verify();
-- a factor is deleted before it takes effect, and the counters of running containers follow
DELETE FROM yquota.price_factor WHERE name = 'root.a.b';
SELECT factors FROM yquota.container WHERE container_id = 'f6';
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT shape, factors, weight FROM yquota_internal.rate_class WHERE weight <> 0;
SELECT * FROM yquota.verify();
-- An old snapshot would miss containers that have to move, so a new name is refused. Another point
-- of a known name moves no container.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SAVEPOINT a;
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.x', '2026-03-02 10:00:50', 2);
ROLLBACK TO a;
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.a', '2026-03-02 10:59', 2);
COMMIT;
SELECT count(*) FROM yquota.price_factor WHERE name IN ('root.x', 'root.a');
SELECT * FROM yquota.verify();

--
-- Outages: no project pays for an outage, and overlapping outages count once. An outage of one
-- project affects only that project.
--
SELECT yquota.set_clock('2026-03-02 11:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'o1', '2026-03-02 10:30', 'lab', '[vcores=1]'), ('CONTAINER_START', 'o2', '2026-03-02 10:30', 'ops', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'o2', '2026-03-02 10:50');
SELECT amount FROM yquota.charge WHERE container_id = 'o2';
SELECT yquota.report_outage('2026-03-02 10:35', '2026-03-02 10:40', 'resource manager down') IS NOT NULL AS reported;
SELECT yquota.report_outage('2026-03-02 10:38', '2026-03-02 10:45', 'again') IS NOT NULL AS reported;
INSERT INTO yquota.outage (project, started_at, ended_at, reason) VALUES ('ops', '2026-03-02 10:44', '2026-03-02 10:47', 'only ops');
SELECT number, corrects, amount FROM yquota.charge WHERE container_id = 'o2' ORDER BY number;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'o1', '2026-03-02 10:50');
SELECT container_id, sum(amount) FROM yquota.charge WHERE container_id IN ('o1', 'o2') GROUP BY 1 ORDER BY 1;
SELECT live('o3', '2026-03-02 10:36', '2026-03-02 10:37', 'lab') AS within, live('o4', '2026-03-02 10:39', '2026-03-02 10:46', 'ops') AS both_of_ops;
-- an outage that waits for a decision counts only after the decision
INSERT INTO yquota.outage (started_at, ended_at, reason, forgiven) VALUES ('2026-03-02 10:30', '2026-03-02 10:31', 'long', false);
SELECT sum(amount) FROM yquota.charge WHERE container_id = 'o1';
UPDATE yquota.outage SET forgiven = true WHERE reason = 'long';
SELECT sum(amount) FROM yquota.charge WHERE container_id = 'o1';
SELECT * FROM yquota.verify();

--
-- Minimum run time: the padding is charged once, at the finish. The rule in force at the start
-- applies, with the price and the allocation at the finish.
--
SELECT yquota.set_clock('2026-03-02 12:00');
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 12:00', '1 minute'), ('2026-03-02 12:01', '2 minutes'), ('2026-03-02 12:02', '0');
SELECT yquota.set_multiplier('GENERAL', 3, '2026-03-02 12:00:30');
SELECT yquota.set_clock('2026-03-02 12:10');
SELECT live('m0', '2026-03-02 11:59:59', '2026-03-02 12:00:00', 'lab') AS before_the_rule,
	   live('m1', '2026-03-02 12:00', '2026-03-02 12:00:10', 'lab') AS cheap_finish,
	   live('m2', '2026-03-02 12:00', '2026-03-02 12:00:40', 'lab') AS dear_finish,
	   live('m3', '2026-03-02 12:00', '2026-03-02 12:01:00', 'lab') AS just_long_enough,
	   live('m4', '2026-03-02 12:01', '2026-03-02 12:01:00', 'lab') AS no_time,
	   live('m5', '2026-03-02 12:02', '2026-03-02 12:02:01', 'lab') AS no_rule;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'm6', '2026-03-02 12:00', 'lab', '[vcores=1]'),
	('CONTAINER_UPDATE', 'm6', '2026-03-02 12:00:10', NULL, '[vcores=2]'),
	('CONTAINER_FINISH', 'm6', '2026-03-02 12:00:20', NULL, NULL);
SELECT number, "from", "to", settled_by, padding, allocation, amount FROM yquota.charge WHERE container_id = 'm6' ORDER BY number;
-- a late UPDATE also corrects the padding, and a repeated FINISH adds no second one
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'm6', '2026-03-02 12:00:15', '[vcores=4]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'm6', '2026-03-02 12:00:20');
SELECT number, corrects, "from", "to", padding, allocation, amount FROM yquota.charge WHERE container_id = 'm6' ORDER BY number;
SELECT sum(amount) FROM yquota.charge WHERE container_id = 'm6';
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_event_rules;
