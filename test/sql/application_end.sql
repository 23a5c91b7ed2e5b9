--
-- Containers of an application that ends. A container that the scheduler has allocated ends with
-- its application. A container from another source becomes suspect when it continues to run. An
-- allocated container that is not acknowledged ends when its time is over.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_application_end WITH (FORCE);
CREATE DATABASE yquota_application_end;
\c yquota_application_end
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, per_node_heartbeat_maximum_offswitch_assignments, opportunistic_allocation_enabled,
	opportunistic_queue_capacity) VALUES (1, 100, true, 20);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, position) VALUES ('root', NULL, NULL, 1), ('root.a', '60', 10, 2), ('root.b', '40', 10, 3);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=20480,vcores=40]');
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, 20, NULL, NULL, NULL)::yquota.node_report]);
CREATE FUNCTION submit(number integer, am boolean DEFAULT false, lifetime bigint DEFAULT NULL) RETURNS yquota.application_state LANGUAGE sql AS
	$$ SELECT state FROM yquota.submit_application(format('application_1_%s', lpad(number::text, 4, '0')), 'ann', '{}', 'a', project => 'p',
		am_resource => '[memory-mb=1024,vcores=1]', unmanaged => NOT am, lifetime => lifetime) $$;
CREATE FUNCTION acknowledge() RETURNS bigint LANGUAGE sql AS
	$$ SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision)) $$;
CREATE FUNCTION send_start(container text, application text) RETURNS void LANGUAGE sql AS
	$$ INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, source)
	   VALUES ('CONTAINER_START', container, yquota.clock(), 'p', application, 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=1]', 'rm') $$;
CREATE VIEW runs AS SELECT container_id, is_given FROM yquota.container ORDER BY container_id;
CREATE VIEW ended AS SELECT container_id, exit_status, "to" - "from" AS ran, amount FROM yquota.charge WHERE settled_by = 'CONTAINER_FINISH' ORDER BY container_id;
CREATE VIEW told AS SELECT decision, container_id, node, yquota.amount(allocation, 'memory-mb') AS mb, execution_type, diagnostics FROM yquota.decision ORDER BY decision_id;
CREATE VIEW counted AS SELECT metric, value FROM yquota.metrics WHERE family = 'scheduler' ORDER BY metric;

\echo the scheduler has given containers 1 to 3 and an OPPORTUNISTIC one; the resource manager does not know the third; a feed has started another one
SELECT submit(1);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 2);
SELECT count(*) FROM yquota.schedule();
SELECT acknowledge();
SELECT yquota.request_containers('application_1_0001', '[memory-mb=2048]', 1);
SELECT count(*) FROM yquota.schedule();
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 1, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SELECT send_start('container_1_0001_02_000009', 'application_1_0001');
SELECT send_start('container_1_0002_01_000001', 'application_1_0002');
-- is_given stays as it is when a feed repeats the START of a container, and when the feed sends an UPDATE
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation, source)
	SELECT 'CONTAINER_START', container_id, started_at, project, application_id, allocation, 'rm' FROM yquota.container WHERE is_given;
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, source)
	SELECT 'CONTAINER_UPDATE', container_id, yquota.clock() + interval '1 ms', 'root.a', 'rm' FROM yquota.container;
SELECT * FROM runs;
SELECT yquota.set_clock('2026-03-02 10:01+00');
BEGIN;
SET LOCAL yquota.on_bad_event = set_aside;
SELECT yquota.finish_application('application_1_0001');
COMMIT;
SELECT * FROM runs;
SELECT * FROM ended;
SELECT * FROM told;
SELECT * FROM counted;
SELECT * FROM yquota.verify();
\echo a second call ends nothing again
SELECT yquota.set_clock('2026-03-02 10:02+00');
SELECT yquota.finish_application('application_1_0001', 'KILLED');
SELECT count(*) FROM told;
SELECT * FROM counted;
\echo the resource manager reports some ends as earlier, and some as later
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source) VALUES
	('CONTAINER_FINISH', 'container_1_0001_01_000001', '2026-03-02 10:00:30+00', 0, 'rm'),
	('CONTAINER_FINISH', 'container_1_0001_01_000002', '2026-03-02 10:01:30+00', 0, 'rm');
SELECT * FROM ended WHERE container_id ~ '0[12]$';
SELECT acknowledge();

\echo containers from other sources are suspect when they still run 10 minutes after the end, and an alert is raised
SELECT yquota.set_clock('2026-03-02 10:11+00');
SELECT yquota.quota_compute() IS NOT NULL;
SELECT container_id, reason FROM yquota.suspect_container;
SELECT kind FROM yquota.alert WHERE cleared_at IS NULL;
SELECT yquota.set_clock('2026-03-02 10:11:00.000001+00');
SELECT yquota.quota_compute() IS NOT NULL;
SELECT container_id, reason FROM yquota.suspect_container;
SELECT kind, subject, detail FROM yquota.alert WHERE cleared_at IS NULL;
SELECT labels, value FROM yquota.metrics WHERE family = 'suspect';
\echo they stay suspect after the application is forgotten
SELECT yquota.remove_finished_applications('infinity');
SELECT yquota.quota_compute() IS NOT NULL;
SELECT container_id, reason FROM yquota.suspect_container;
SELECT count(*) FROM yquota.alert WHERE cleared_at IS NULL;
\echo they are not suspect while an application with that id lives
BEGIN;
SELECT submit(1);
SELECT container_id, reason FROM yquota.suspect_container;
ROLLBACK;
\echo they are suspect until they end
INSERT INTO yquota.container_event (event, container_id, source) VALUES ('CONTAINER_FINISH', 'container_1_0001_02_000009', 'rm');
SELECT yquota.quota_compute() IS NOT NULL;
SELECT container_id, reason FROM yquota.suspect_container;
SELECT count(*) FROM yquota.alert WHERE cleared_at IS NULL;
SELECT count(*) FROM yquota_internal.ended_application;
\echo a START arrives after the application has been checked and forgotten
SELECT submit(2);
SELECT yquota.finish_application('application_1_0002');
INSERT INTO yquota.container_event (event, container_id, source) VALUES ('CONTAINER_FINISH', 'container_1_0002_01_000001', 'rm');
SELECT yquota.set_clock('2026-03-02 10:22+00');
SELECT yquota.quota_compute() IS NOT NULL;
SELECT count(*) FROM yquota_internal.ended_application;
SELECT send_start('container_1_0002_01_000002', 'application_1_0002');
SELECT container_id, reason FROM yquota.suspect_container;
SELECT yquota.remove_finished_applications('infinity');
SELECT container_id, reason FROM yquota.suspect_container;
SELECT yquota.quota_compute() IS NOT NULL;
SELECT kind, subject FROM yquota.alert WHERE cleared_at IS NULL;
SELECT count(*) FROM yquota.release_containers('{container_1_0002_01_000002}');
SELECT yquota.quota_compute() IS NOT NULL;
SELECT count(*) FROM yquota_internal.ended_application;

\echo a new attempt: containers of the former attempt end when the loss of its master is noticed
SELECT submit(3, am => true);
SELECT container_id FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024]', 2);
SELECT container_id FROM yquota.schedule();
SELECT send_start('container_1_0003_09_000001', 'application_1_0003');
SELECT acknowledge();
INSERT INTO yquota.container_event (event, container_id, exit_status, source) VALUES ('CONTAINER_FINISH', 'container_1_0003_01_000001', 1, 'rm');
SELECT yquota.set_clock('2026-03-02 10:23+00');
SELECT decision, container_id FROM yquota.schedule();
SELECT * FROM runs;
SELECT * FROM told;
SELECT * FROM counted;
SELECT acknowledge();
\echo an application that keeps its containers loses those that it has not fetched
SELECT state FROM yquota.submit_application('application_1_0010', 'ann', '{}', 'a', project => 'p', keep_containers => true);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0010', '[memory-mb=1024]', 1);
SELECT count(*) FROM yquota.schedule();
SELECT acknowledge();
SELECT yquota.request_containers('application_1_0010', '[memory-mb=1024]', 1);
SELECT count(*) FROM yquota.schedule();
INSERT INTO yquota.container_event (event, container_id, exit_status, source) VALUES ('CONTAINER_FINISH', 'container_1_0010_01_000001', 1, 'rm');
SELECT decision, container_id FROM yquota.schedule();
SELECT * FROM runs;
SELECT yquota.finish_application('application_1_0010');
SELECT * FROM runs;
SELECT acknowledge();
\echo an application is killed at the end of its lifetime, and all its containers end
SELECT yquota.update_application_lifetime('application_1_0003', 60);
SELECT yquota.set_clock('2026-03-02 10:24+00');
SELECT application_id, containers FROM yquota.end_expired_applications();
SELECT * FROM runs;
SELECT * FROM told;
SELECT * FROM counted;
SELECT acknowledge();
\echo one application is deleted by hand, then all
SELECT submit(n) FROM generate_series(4, 6) AS n;
SELECT yquota.request_containers('application_1_000' || n, '[memory-mb=1024]', 1) FROM generate_series(4, 6) AS n;
SELECT count(*) FROM yquota.schedule();
DELETE FROM yquota.application WHERE application_id = 'application_1_0004';
SELECT * FROM runs;
TRUNCATE yquota.application;
SELECT * FROM runs;
SELECT * FROM told;
SELECT acknowledge();
SELECT * FROM yquota.verify();
\echo a disabled trigger lets a container outlive its application
SELECT submit(7);
SELECT yquota.request_containers('application_1_0007', '[memory-mb=1024]', 1);
SELECT count(*) FROM yquota.schedule();
ALTER TABLE yquota.application DISABLE TRIGGER forget_ended;
SELECT yquota.finish_application('application_1_0007');
SELECT * FROM yquota.verify();
ALTER TABLE yquota.application ENABLE TRIGGER forget_ended;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM runs));
DELETE FROM yquota_internal.request_counter;
SELECT acknowledge();

\echo an application that was moved waits because the limit for masters is full; its master asks, cancels, updates and releases
DELETE FROM yquota.application;
SELECT yquota.set_clock('2026-03-02 10:30+00');
UPDATE yquota.queue SET maximum_am_resource_percent = 0.01 WHERE path = 'root.b';
SELECT state FROM yquota.submit_application('application_1_0020', 'bob', '{}', 'b', project => 'p', am_resource => '[memory-mb=1024,vcores=1]');
SELECT submit(21, am => true);
SELECT container_id FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0021', '[memory-mb=1024]', 1);
SELECT container_id FROM yquota.schedule();
SELECT acknowledge();
SELECT yquota.move_application('application_1_0021', 'b');
SELECT yquota.request_containers('application_1_0021', '[memory-mb=1024]', 2);
SELECT yquota.request_containers('application_1_0021', '[memory-mb=1024]', 0);
SELECT yquota.request_containers('application_1_0021', '[memory-mb=2048]', 1, priority => 2);
SELECT yquota.update_blacklist('application_1_0021', '{elsewhere}');
SELECT outcome FROM yquota.update_containers('application_1_0021', ARRAY[ROW('container_1_0021_01_000002', 0, '[memory-mb=2048,vcores=1]', NULL, 1, -1)::yquota.container_update_request]);
SELECT decision, container_id FROM yquota.allocate_opportunistic('application_1_0021', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 1, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SELECT count(*) FROM yquota.schedule();
\echo it gets containers once it is ACTIVE again
SELECT yquota.finish_application('application_1_0020');
SELECT state, has_outstanding_requests FROM yquota.application WHERE application_id = 'application_1_0021';
SELECT decision, container_id, queue FROM yquota.schedule();
SELECT * FROM yquota.verify();
\echo an application that was never ACTIVE has no master that could ask; one outside of the cluster has
SELECT state FROM yquota.submit_application('application_1_0022', 'bob', '{}', 'b', project => 'p', am_resource => '[memory-mb=1024,vcores=1]');
SELECT yquota.request_containers('application_1_0022', '[memory-mb=1024]', 1);
SELECT state FROM yquota.submit_application('application_1_0023', 'bob', '{}', 'b', project => 'p', am_resource => '[memory-mb=1024,vcores=1]', unmanaged => true);
SELECT yquota.request_containers('application_1_0023', '[memory-mb=1024]', 1);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.finish_application('application_1_00' || n) FROM generate_series(20, 23) AS n;
SELECT acknowledge();

\echo a container that was given but not fetched ends when its time is over, however late that is noticed
DELETE FROM yquota.application;
SELECT yquota.set_clock('2026-03-02 11:00+00');
SELECT submit(8);
SELECT yquota.request_containers('application_1_0008', '[memory-mb=1024]', 2);
SELECT count(*) FROM yquota.schedule();
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0008', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 2, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
-- an OPPORTUNISTIC container is acknowledged but never starts
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id ~ '03$'));
-- an increase is not acknowledged either
SELECT send_start('container_1_0008_01_000009', 'application_1_0008');
SELECT outcome FROM yquota.update_containers('application_1_0008', ARRAY[ROW('container_1_0008_01_000009', 0, '[memory-mb=2048,vcores=1]', NULL, 1, -1)::yquota.container_update_request]);
SELECT decision FROM yquota.schedule();
\echo a late acknowledgement that comes before the end is written keeps the container
SELECT yquota.set_clock('2026-03-02 11:30+00');
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id ~ '02$'));
SELECT count(*) FROM yquota.schedule();
SELECT container_id, settled_at, yquota.amount(allocation, 'memory-mb') AS mb FROM yquota.container ORDER BY 1;
SELECT container_id, exit_status, "to" FROM yquota.charge WHERE container_id ~ '_0008_' ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 11:40+00');
SELECT count(*) FROM yquota.schedule();
SELECT count(*) FROM yquota.container;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_application_end WITH (FORCE);
