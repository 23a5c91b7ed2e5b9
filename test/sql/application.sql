--
-- Applications after their submission: how they end, move, and change their priority and lifetime,
-- and who may do that.
--
SET client_min_messages = warning;
CREATE DATABASE yquota_application;
\c yquota_application
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET client_min_messages = error;
\set VERBOSITY terse
\pset null -
\pset format unaligned
\pset tuples_only on
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-01-01 00:00:00Z');
CREATE FUNCTION submit(id int, username text, queue text, am bigint DEFAULT 1024, priority int DEFAULT NULL) RETURNS text LANGUAGE sql AS
	$$SELECT concat_ws(' ', application_id, state, decided_by) FROM yquota.submit_application('application_1_' || id, username, NULL, queue, priority => priority,
		am_resource => yquota.resource(jsonb_build_object('memory-mb', am)))$$;
CREATE FUNCTION states() RETURNS TABLE (application_id text, username text, queue text, state text, priority int) LANGUAGE sql AS
	$$SELECT application_id, username, queue, state::text, priority FROM yquota.application WHERE finished_at IS NULL ORDER BY length(application_id), application_id$$;

-- An application is killed while it waits, and then others end
-- (TestApplicationLimits.testActiveLimitsWithKilledApps). Only two applications of 4 GB fit at a
-- time.
INSERT INTO yquota.node (name, total) SELECT format('n%s', i), '[memory-mb=16384,vcores=16]' FROM generate_series(1, 10) AS i;
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
SELECT submit(i, 'user_0', 'a', 4096) FROM generate_series(0, 3) AS i;
SELECT yquota.finish_application('application_1_2', 'KILLED', 'not needed');
SELECT * FROM states();
SELECT yquota.finish_application('application_1_0');
SELECT * FROM states();
SELECT yquota.finish_application('application_1_1', 'FAILED');
SELECT * FROM states();
SELECT yquota.finish_application('application_1_3');
-- an ended application stays as it is
SELECT yquota.finish_application('application_1_2', 'FINISHED', 'again');
SELECT application_id, state, activated_at, finished_at, diagnostics FROM yquota.application ORDER BY 1;
SELECT yquota.finish_application('application_1_9');
SELECT yquota.finish_application('application_1_2', 'ACTIVE');
SELECT yquota.finish_application('application_1_2', 'REJECTED');
SELECT yquota.finish_application('application_1_2', NULL);

-- The application with the higher priority starts first. Among equal priorities the smaller number
-- starts first.
TRUNCATE yquota.application;
UPDATE yquota.scheduler_setting SET cluster_max_application_priority = 10;
INSERT INTO yquota.scheduler_setting (cluster_max_application_priority) VALUES (10);
SELECT submit(id, 'u', 'a', 8192, priority) FROM (VALUES (1, 5), (2, 7), (3, 8), (4, 6), (10, 8), (9, 8)) AS v (id, priority);
SELECT yquota.finish_application('application_1_1');
SELECT * FROM states();
-- a changed priority counts from the next end of an application
SELECT yquota.update_application_priority('application_1_4', 99);
SELECT yquota.update_application_priority('application_1_4', 10);
SELECT yquota.finish_application('application_1_3');
SELECT * FROM states();
SELECT yquota.update_application_priority('application_1_3', 1);
SELECT yquota.update_application_priority('application_1_77', 1);
SELECT yquota.update_application_priority('application_1_4', NULL);

-- Parallel applications: when one ends, as many start as Hadoop would start, also in other queues
TRUNCATE yquota.application;
UPDATE yquota.queue SET max_parallel_apps = 3 WHERE path = 'root';
UPDATE yquota.queue SET max_parallel_apps = 2 WHERE path = 'root.a';
INSERT INTO yquota.user_setting VALUES ('one', 1);
SELECT submit(id, username, queue) FROM (VALUES (1, 'one', 'a'), (2, 'u', 'a'), (3, 'u', 'a'), (4, 'one', 'b'), (5, 'u', 'b'), (6, 'u', 'b')) AS v (id, username, queue);
SELECT yquota.finish_application('application_1_1');
SELECT * FROM states();
SELECT yquota.finish_application('application_1_5');
SELECT * FROM states();
-- when a held application ends, no other application takes its place
SELECT submit(7, 'u', 'a');
SELECT yquota.finish_application('application_1_7');
SELECT * FROM states();
-- a raised limit applies when the change commits, and a lowered limit stops no application
SELECT submit(8, 'one', 'b'), submit(9, 'u', 'a');
UPDATE yquota.queue SET max_parallel_apps = 1 WHERE path = 'root';
SELECT * FROM states();
UPDATE yquota.queue SET max_parallel_apps = NULL WHERE path = 'root';
SELECT * FROM states();
DELETE FROM yquota.user_setting;
UPDATE yquota.queue SET max_parallel_apps = NULL WHERE path = 'root.a';
SELECT * FROM states();
SELECT queue, username, non_runnable, accepted, active FROM yquota_internal.application_counter ORDER BY 1, 2;

-- A raised share for application masters also applies at commit. New nodes count only when
-- activate_applications() is called.
TRUNCATE yquota.application;
SELECT submit(id, 'u', 'a', 8192) FROM generate_series(1, 3) AS id;
UPDATE yquota.queue SET maximum_am_resource_percent = 0.2 WHERE path = 'root.a';
SELECT * FROM states();
INSERT INTO yquota.node (name, total) VALUES ('n11', '[memory-mb=163840,vcores=160]');
SELECT * FROM states();
SELECT * FROM yquota.activate_applications('root.a');
SELECT * FROM yquota.activate_applications('root.c');
SELECT * FROM yquota.activate_applications('');
DELETE FROM yquota.node WHERE name = 'n11';
UPDATE yquota.queue SET maximum_am_resource_percent = NULL WHERE path = 'root.a';

-- Moving: the application needs room in the target queue, and its old queue gets room for others
TRUNCATE yquota.application;
SELECT submit(id, 'u', 'a', 4096) FROM generate_series(1, 4) AS id;
SELECT submit(id, 'u', 'b', 8192) FROM generate_series(5, 5) AS id;
SELECT yquota.move_application('application_1_1', 'root.b');
SELECT * FROM states();
SELECT yquota.move_application('application_1_1', 'b');
-- the moved application has not started in the target queue yet
SELECT application_id, state, activated_at FROM yquota.application WHERE queue = 'root.b' ORDER BY 1;
SELECT yquota.move_application('application_1_5', 'a');
SELECT * FROM states();
SELECT * FROM yquota.verify();
-- From the move on, the containers of a moved application are allocated and charged in the target
-- queue. Earlier charges stay in the old queue.
BEGIN;
TRUNCATE yquota.application;
INSERT INTO yquota.project (name) VALUES ('mover');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.b', yquota.clock(), 3);
SELECT state FROM yquota.submit_application('moved', 'u', NULL, 'a', project => 'mover', unmanaged => true);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
SELECT 'CONTAINER_START', 'moves ' || n, yquota.clock(), 'mover', CASE WHEN n < 3 THEN 'moved' END, 'u', 'root.a', '[memory-mb=1024,vcores=1]' FROM generate_series(1, 3) AS n;
SELECT yquota.set_clock(yquota.clock() + interval '100 s') \g /dev/null
SELECT yquota_internal.close_period_at(yquota.clock() - interval '10 s', 100) IS NOT NULL AS closed;
SELECT yquota.move_application('moved', 'b');
SELECT yquota.move_application('moved', 'b');
SELECT event, container_id, queue, source FROM yquota.container_event WHERE event = 'CONTAINER_UPDATE' ORDER BY container_id;
SELECT queue, containers, allocation FROM yquota.queue_usage ORDER BY queue;
SELECT yquota.set_clock(yquota.clock() + interval '10 s') \g /dev/null
SELECT container_id, cost FROM yquota.container_cost ORDER BY container_id;
SELECT queue, sum(amount) AS before_it_moved FROM yquota.charge GROUP BY queue ORDER BY queue;
-- an event from before the move does not change the queue of the container
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue, allocation) VALUES
	('CONTAINER_UPDATE', 'moves 1', yquota.clock() - interval '15 s', 'root.a', '[memory-mb=2048,vcores=2]');
SELECT container_id, queue, allocation FROM yquota.container ORDER BY container_id;
SELECT * FROM yquota.verify();
ROLLBACK;
-- the target's limits, state and labels are checked
UPDATE yquota.queue SET maximum_applications = 1 WHERE path = 'root.b';
SELECT yquota.move_application('application_1_2', 'b');
UPDATE yquota.queue SET maximum_applications = NULL, state = 'STOPPED' WHERE path = 'root.b';
SELECT yquota.move_application('application_1_2', 'b');
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.b';
SELECT yquota.move_application('application_1_2', 'root');
SELECT yquota.move_application('application_1_2', 'root.c');
SELECT yquota.move_application('application_1_77', 'b');
SELECT yquota.move_application('application_1_2', NULL);
SELECT yquota.finish_application('application_1_4');
SELECT yquota.move_application('application_1_4', 'b');
UPDATE yquota.scheduler_setting SET node_labels_enabled = true;
INSERT INTO yquota.node_label VALUES ('x');
UPDATE yquota.queue SET accessible_node_labels = '{x}' WHERE path = 'root.a';
UPDATE yquota.queue SET accessible_node_labels = '{}' WHERE path = 'root.b';
SELECT state FROM yquota.submit_application('labelled', 'u', NULL, 'a', label => 'x');
SELECT yquota.move_application('labelled', 'b');
-- A running application may exceed the target's limit of parallel applications. A held application is
-- checked against it again.
UPDATE yquota.queue SET max_parallel_apps = 1 WHERE path = 'root.b';
SELECT submit(20, 'v', 'b');
SELECT yquota.move_application('application_1_3', 'b');
SELECT submit(21, 'v', 'b');
SELECT yquota.move_application('application_1_20', 'a');
SELECT * FROM states();
UPDATE yquota.queue SET max_parallel_apps = NULL WHERE path = 'root.b';

-- Cores are short and memory is not. Of the 8 cores 2 are free, and only application 5 needs no more than 2.
TRUNCATE yquota.application;
UPDATE yquota.scheduler_setting SET resource_calculator = 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator';
SELECT s.application_id, s.state, s.decided_by FROM (VALUES (1, 1024, 4), (2, 1024, 2), (3, 1024, 2), (4, 1024, 4), (5, 3072, 2), (6, 1024, 3)) AS v (id, memory, cores),
	yquota.submit_application('application_1_' || v.id, 'u', NULL, 'a', am_resource => yquota.resource(v.memory, v.cores)) AS s;
SELECT yquota.finish_application('application_1_2');
SELECT * FROM states();
-- applications 4 and 6 need more than the 2 free cores, and wait until 4 cores are free
SELECT yquota.finish_application('application_1_5');
SELECT * FROM states();
SELECT yquota.update_application_priority('application_1_6', 5);
SELECT yquota.finish_application('application_1_3');
SELECT * FROM states();
UPDATE yquota.scheduler_setting SET resource_calculator = NULL;

-- Lifetime: a new lifetime counts from now. It ends no later than the maximum lifetime of the
-- queue, which counts from the submission.
TRUNCATE yquota.application;
UPDATE yquota.queue SET maximum_application_lifetime = 100 WHERE path = 'root.a';
SELECT submit(1, 'u', 'a'), submit(2, 'u', 'b');
SELECT yquota.set_clock('2026-01-01 00:00:30Z');
SELECT yquota.update_application_lifetime('application_1_1', 50), yquota.update_application_lifetime('application_1_2', 500);
SELECT yquota.update_application_lifetime('application_1_1', 71);
SELECT yquota.update_application_lifetime('application_1_2', 9223372036854775807);
SELECT application_id, lifetime, expires_at FROM yquota.application ORDER BY 1;
SELECT yquota.update_application_lifetime('application_1_1', 0);
SELECT yquota.update_application_lifetime('application_1_1', NULL);
SELECT * FROM yquota.expired_applications();
SELECT yquota.set_clock('2026-01-01 00:01:40Z');
SELECT * FROM yquota.expired_applications();
SELECT yquota.finish_application('application_1_1', 'KILLED');
SELECT * FROM yquota.expired_applications();
SELECT yquota.update_application_lifetime('application_1_1', 50);
SELECT yquota.remove_finished_applications('2026-01-01 00:01:40Z'), yquota.remove_finished_applications('2026-01-01 00:01:41Z');
SELECT submit(1, 'u', 'a');

-- Demand
SELECT yquota.set_outstanding_requests('application_1_1', false), yquota.set_outstanding_requests('application_1_1', false);
SELECT queue, username, active, demanding FROM yquota_internal.application_counter ORDER BY 1, 2;
SELECT yquota.set_outstanding_requests('application_1_1', true), yquota.set_outstanding_requests('application_1_77', true);
-- an application that is held or waits counts only while its user has an active application in the
-- queue
TRUNCATE yquota.application;
UPDATE yquota.queue SET max_parallel_apps = 1 WHERE path = 'root.a';
SELECT submit(1, 'u', 'a'), submit(2, 'v', 'a'), submit(3, 'u', 'a');
SELECT yquota.set_outstanding_requests('application_1_2', true), yquota.set_outstanding_requests('application_1_3', false), yquota.set_outstanding_requests('application_1_3', true);
SELECT username, is_active, active_users FROM unnest('{u,v}'::text[]) AS username, yquota.user_limit('root.a', username);
-- the demand of the held application was reported before, and still counts
SELECT yquota.set_outstanding_requests('application_1_1', false);
SELECT username, is_active, active_users FROM unnest('{u,v}'::text[]) AS username, yquota.user_limit('root.a', username);
UPDATE yquota.queue SET max_parallel_apps = NULL WHERE path = 'root.a';
SELECT * FROM states();
SELECT yquota.set_outstanding_requests('application_1_2', true);

-- Rights on applications: while ACLs are off, every user has all rights. With ACLs the rights
-- belong to the owner, the users in modify_acl, and the administrators of the queue and of the
-- cluster.
SELECT yquota.update_application_priority('application_1_1', 1, 'eve');
UPDATE yquota.scheduler_setting SET acl_enable = true, admin_acl = 'boss';
UPDATE yquota.queue SET acl_administer_queue = ' ', acl_submit_applications = ' ' WHERE path = 'root';
UPDATE yquota.queue SET acl_administer_queue = 'qa ops' WHERE path = 'root.a';
SELECT state FROM yquota.submit_application('guarded', 'qa', '{ops}', 'a', view_acl => 'viewer', modify_acl => 'mate team');
SELECT caller, groups, (yquota.check_application_access('guarded', caller, groups, operation)).*
FROM (VALUES ('qa', NULL), ('viewer', NULL), ('mate', NULL), ('eve', NULL), ('eve', '{team}'::text[]), ('eve', '{ops}'), ('boss', NULL)) AS v (caller, groups),
	 unnest('{VIEW_APP,modify_app}'::text[]) AS operation;
SELECT yquota.check_application_access('guarded', 'eve', NULL, 'EAT');
SELECT yquota.check_application_access('nothing', 'eve', NULL, 'VIEW_APP');
SELECT yquota.finish_application('guarded', caller => 'viewer');
SELECT yquota.move_application('guarded', 'b', 'eve', '{dev}');
SELECT yquota.move_application('guarded', 'b', 'mate');
SELECT yquota.move_application('guarded', 'b');
SELECT yquota.update_application_priority('guarded', 1, 'eve');
SELECT yquota.update_application_lifetime('guarded', 1, 'eve');
UPDATE yquota.queue SET acl_application_max_priority = '[user=mate max_priority=2]' WHERE path = 'root.a';
SELECT yquota.update_application_priority('guarded', 3, 'mate');
SELECT yquota.update_application_priority('guarded', 2, 'mate');
SELECT yquota.update_application_priority('guarded', 2);
SELECT yquota.finish_application('guarded', caller => 'eve', caller_groups => '{team}');
SELECT * FROM yquota.verify();

-- A stopped queue drains until its last application has ended, and can be removed only then
TRUNCATE yquota.application;
UPDATE yquota.scheduler_setting SET acl_enable = false;
SELECT submit(1, 'u', 'b'), submit(2, 'u', 'b');
BEGIN;
UPDATE yquota.queue SET state = 'STOPPED', capacity = '0' WHERE path = 'root.b';
UPDATE yquota.queue SET capacity = '100' WHERE path = 'root.a';
COMMIT;
SELECT queue, state, applications FROM yquota.effective_queue WHERE queue = 'root.b' AND label = '';
SELECT submit(3, 'u', 'b');
DELETE FROM yquota.queue WHERE path = 'root.b';
SELECT yquota.finish_application('application_1_1');
SELECT yquota.move_application('application_1_2', 'a');
SELECT queue, state, applications FROM yquota.effective_queue WHERE queue = 'root.b' AND label = '';
DELETE FROM yquota.queue WHERE path = 'root.b';
SELECT queue, applications, active_applications, am_used FROM yquota.effective_queue WHERE label = '' ORDER BY ordinal;

-- Application numbers of any length are ordered by value, and ids of another form come after them
TRUNCATE yquota.application;
UPDATE yquota.queue SET maximum_am_resource_percent = 0 WHERE path = 'root.a';
SELECT state FROM unnest('{application_2_1,application_1_9,application_1_10,application_1_0009,job_b,job_a,application_1_x}'::text[]) AS id, yquota.submit_application(id, 'u', NULL, 'a');
SELECT yquota.finish_application(application_id) FROM yquota.application WHERE state = 'ACTIVE';
SELECT application_id, state FROM yquota.application WHERE state = 'ACTIVE';

-- A change that is rolled back is counted neither in the total nor in the counters of the queues
TRUNCATE yquota.application;
CREATE FUNCTION total() RETURNS text LANGUAGE sql AS
	$$SELECT concat_ws(' ', sum(live), '+', yquota_internal.unwritten_applications(), 'differences:', (SELECT count(*) FROM yquota.verify())) FROM yquota_internal.live_application_count$$;
BEGIN;
SELECT submit(1, 'u', 'a');
SAVEPOINT one;
SELECT submit(2, 'u', 'a');
SAVEPOINT two;
SELECT submit(3, 'u', 'a');
RELEASE two;
SELECT total();
ROLLBACK TO one;
SELECT total();
SAVEPOINT three;
SELECT submit(4, 'u', 'a');
RELEASE three;
COMMIT;
SELECT total();
BEGIN;
SELECT yquota.finish_application('application_1_1');
SAVEPOINT one;
TRUNCATE yquota.application;
SELECT submit(5, 'u', 'a');
SELECT total();
ROLLBACK TO one;
SELECT total();
ROLLBACK;
SELECT total();
\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_application WITH (FORCE);
