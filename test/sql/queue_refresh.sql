-- Changes of the configuration that a running scheduler allows: states, deletions and conversions.
-- All errors are reported together at commit.

SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE VIEW pg_temp.states AS
	SELECT queue, state, kind, containers FROM yquota.effective_queue WHERE label = '' ORDER BY ordinal;

\echo nothing is checked before the end of the transaction, then everything
BEGIN;
INSERT INTO yquota.queue (path, capacity, maximum_capacity) VALUES ('root', NULL, NULL), ('root.a', '150', NULL), ('root.b', '20001w', NULL);
INSERT INTO yquota.queue (path, capacity) VALUES ('root.lost.child', '100');
INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.a', 'u1', 1.5);
SELECT queue FROM yquota.effective_queue;
COMMIT;
SELECT count(*) FROM yquota.queue;
-- wrong values of many properties, which are reported together
BEGIN;
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.a.a1', '100'), ('root.b', '50');
UPDATE yquota.queue SET maximum_application_lifetime = 10, default_application_lifetime = 20, ordering_policy = 'lifo',
	multi_node_sorting_policy = 'none', maximum_allocation = '[memory-mb=9000,vcores=1]', default_node_label_expression = 'gpu'
WHERE path = 'root.b';
UPDATE yquota.queue SET accessible_node_labels = '{ssd}', reservable = true WHERE path = 'root.a';
UPDATE yquota.queue SET accessible_node_labels = '{ssd,gpu}' WHERE path = 'root.a.a1';
UPDATE yquota.queue SET accessible_node_labels = '{}' WHERE path = 'root.b';
INSERT INTO yquota.queue_label (queue, label, capacity, maximum_capacity) VALUES ('root.a', 'ssd', '101', '-1');
INSERT INTO yquota.scheduler_setting (minimum_allocation_mb, minimum_allocation_vcores, maximum_allocation_vcores) VALUES (0, 5, 4);
COMMIT;
BEGIN;
INSERT INTO yquota.queue (path, capacity, maximum_capacity) VALUES ('root', NULL, NULL), ('root.a', '[memory=1.5]', '50w'), ('root.b', '[memory=1024]', '[memory=9999999999999999999]');
COMMIT;
BEGIN;
INSERT INTO yquota.queue (path) VALUES ('root');
COMMIT;

\echo a tree of queues is in force
BEGIN;
INSERT INTO yquota.queue (path, capacity, position) VALUES ('root', NULL, NULL), ('root.q1', '100', 1), ('root.q1.q2', '100', 1);
COMMIT;
SELECT * FROM pg_temp.states;
\echo V56: the state STOPPED goes down to children, the state RUNNING does not
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q1';
SELECT * FROM pg_temp.states;
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.q1';
SELECT * FROM pg_temp.states;
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q1.q2';
UPDATE yquota.queue SET state = CASE name WHEN 'q1' THEN 'STOPPED' ELSE 'RUNNING' END::yquota.queue_state WHERE path <> 'root';
UPDATE yquota.queue SET state = NULL WHERE path = 'root.q1';
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q1';
UPDATE yquota.queue SET state = NULL;
SELECT * FROM pg_temp.states;
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.q1.q2';
UPDATE yquota.queue SET state = 'RUNNING' WHERE path <> 'root';
SELECT * FROM pg_temp.states;
\echo a queue is DRAINING while containers run
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=10240,vcores=10]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 09:00+00', 'p', 'root.q1.q2', 'n1', '[memory-mb=2048,vcores=2]'),
	('CONTAINER_START', 'c2', '2026-03-02 09:00+00', 'p', 'q2', 'n1', '[memory-mb=1024,vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation, execution_type) VALUES
	('CONTAINER_START', 'c3', '2026-03-02 09:00+00', 'p', 'root.q1.q2', 'n1', '[memory-mb=512,vcores=1]', 'OPPORTUNISTIC');
SELECT queue, used, used_capacity, absolute_used_capacity, containers FROM yquota.effective_queue;
SELECT drawn, usage_bar FROM yquota.effective_queue ORDER BY ordinal, label;
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q1.q2';
SELECT * FROM pg_temp.states;
DELETE FROM yquota.queue WHERE path = 'root.q1.q2';
\echo a queue that is added below a stopped one is stopped, and can run only when its parent runs
INSERT INTO yquota.queue (path, capacity) VALUES ('root.q1.new', '0');
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q1';
INSERT INTO yquota.queue (path, capacity) VALUES ('root.q1.newer', '0');
SELECT * FROM pg_temp.states;
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.q1.newer';
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.q1';
-- starting the parent does not start the new queues below it
SELECT * FROM pg_temp.states;
BEGIN;
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q1.new';
UPDATE yquota.queue SET state = NULL WHERE path = 'root.q1';
COMMIT;
DELETE FROM yquota.queue WHERE name LIKE 'new%';
\echo a queue can be deleted when it is stopped and empty
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', id, '2026-03-02 09:30+00' FROM unnest('{c1,c2,c3}'::text[]) AS id;
SELECT * FROM pg_temp.states;
BEGIN;
INSERT INTO yquota.queue (path, capacity) VALUES ('root.q1.q3', '100');
DELETE FROM yquota.queue WHERE path = 'root.q1.q2';
COMMIT;
SELECT * FROM pg_temp.states;
\echo a running queue cannot be deleted, unless the configuration still has its state STOPPED, as files may have
BEGIN;
UPDATE yquota.queue SET capacity = '0' WHERE path = 'root.q1.q3';
INSERT INTO yquota.queue (path, capacity) VALUES ('root.q1.q4', '100');
COMMIT;
DELETE FROM yquota.queue WHERE path = 'root.q1.q3';
BEGIN;
INSERT INTO yquota.unmapped_property VALUES ('yarn.scheduler.capacity.root.q1.q3.state', 'STOPPED');
DELETE FROM yquota.queue WHERE path = 'root.q1.q3';
COMMIT;
SELECT * FROM pg_temp.states;
\echo a stopped leaf can become a parent; a parent can become a leaf; a managed parent stays one
INSERT INTO yquota.queue (path, capacity) VALUES ('root.q1.q4.q5', '100');
BEGIN;
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q1.q4';
INSERT INTO yquota.queue (path, capacity) VALUES ('root.q1.q4.q5', '100');
COMMIT;
SELECT * FROM pg_temp.states;
DELETE FROM yquota.queue WHERE path = 'root.q1.q4.q5';
UPDATE yquota.queue SET auto_create_child_queue_enabled = true WHERE path = 'root.q1';
UPDATE yquota.queue SET auto_create_child_queue_enabled = true WHERE path = 'root.q1.q4';
UPDATE yquota.queue SET auto_create_child_queue_enabled = false WHERE path = 'root.q1.q4';
\echo a maximum allocation cannot be reduced, because applications rely on it
BEGIN;
INSERT INTO yquota.queue (path, capacity, maximum_allocation) VALUES ('root.q6', '0', '[memory-mb=4096,vcores=2]');
COMMIT;
UPDATE yquota.queue SET maximum_allocation = '[memory-mb=8192,vcores=1]' WHERE path = 'root.q6';
UPDATE yquota.queue SET maximum_allocation = '[memory-mb=8192,vcores=2]' WHERE path = 'root.q6';
\echo a transaction sees its own uncommitted changes until it rolls them back
BEGIN;
UPDATE yquota.queue SET capacity = CASE name WHEN 'q1' THEN '25' ELSE '75' END WHERE parent = 'root';
SELECT queue, absolute_capacity FROM yquota.effective_queue WHERE kind <> 'parent';
SAVEPOINT s;
UPDATE yquota.queue SET capacity = '0' WHERE path = 'root.q1';
SELECT queue, absolute_capacity FROM yquota.effective_queue WHERE kind <> 'parent';
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK TO s;
SELECT queue, absolute_capacity FROM yquota.effective_queue WHERE kind <> 'parent';
ROLLBACK;
SELECT queue, absolute_capacity FROM yquota.effective_queue WHERE kind <> 'parent';

\echo inherited settings and their origin
BEGIN;
UPDATE yquota.queue SET user_limit_factor = 3, disable_preemption = true, maximum_application_lifetime = 3600 WHERE path = 'root.q1';
INSERT INTO yquota.multi_node_sorting_policy (name, class) VALUES ('default', 'example.Policy');
INSERT INTO yquota.scheduler_setting (minimum_user_limit_percent, max_parallel_apps, multi_node_sorting_policy) VALUES (25, 7, 'default');
UPDATE yquota.queue SET default_node_label_expression = 'ssd' WHERE path = 'root';
INSERT INTO yquota.queue (path, capacity) VALUES ('root.q1.q7', '0');
UPDATE yquota.queue SET maximum_am_resource_percent = 0.5 WHERE path = 'root.q1.q7';
COMMIT;
SELECT i.key, i.value ->> 'value' AS value, i.value ->> 'from' AS "from"
FROM yquota.effective_queue AS q, jsonb_each(q.inherited) AS i WHERE q.queue = 'root.q1.q7' ORDER BY i.key;
SELECT user_limit_factor, minimum_user_limit_percent, maximum_am_resource_percent, maximum_application_lifetime, default_application_lifetime
FROM yquota.effective_queue WHERE queue = 'root.q1.q7';
-- queues below inherit a default lifetime only if there is a maximum, and without a maximum they
-- have none
BEGIN;
UPDATE yquota.queue SET default_application_lifetime = 600, maximum_application_lifetime = NULL WHERE path IN ('root', 'root.q1');
UPDATE yquota.queue SET default_application_lifetime = NULL WHERE path = 'root.q1';
SELECT queue, maximum_application_lifetime, default_application_lifetime FROM yquota.effective_queue WHERE queue ~ 'q7$';
UPDATE yquota.queue SET maximum_application_lifetime = 900 WHERE path = 'root.q1';
SELECT queue, maximum_application_lifetime, default_application_lifetime FROM yquota.effective_queue WHERE queue ~ 'q7$';
UPDATE yquota.queue SET maximum_application_lifetime = 300 WHERE path = 'root.q1.q7';
SELECT queue, maximum_application_lifetime, default_application_lifetime FROM yquota.effective_queue WHERE queue ~ 'q7$';
UPDATE yquota.queue SET maximum_application_lifetime = 0 WHERE path = 'root.q1.q7';
SELECT queue, maximum_application_lifetime, default_application_lifetime FROM yquota.effective_queue WHERE queue ~ 'q7$';
ROLLBACK;
-- the inherited settings are those of the list of properties
SELECT p.column_name FROM yquota_internal.hadoop_property AS p
WHERE p.table_name = 'queue' AND p.inherited_from IS NOT NULL
  AND p.column_name NOT IN ('maximum_allocation_mb', 'maximum_allocation_vcores', 'maximum_applications', 'state')
  -- templates are only used when a queue is created
  AND p.column_name NOT LIKE 'auto_queue_creation_v2_%'
  AND NOT EXISTS (SELECT FROM yquota.effective_queue AS q WHERE q.inherited ? p.column_name)
ORDER BY 1;
SELECT DISTINCT i AS unknown FROM yquota.effective_queue AS q, jsonb_object_keys(q.inherited) AS i
EXCEPT SELECT p.column_name FROM yquota_internal.hadoop_property AS p WHERE p.table_name = 'queue' AND p.inherited_from IS NOT NULL;

\echo a TRUNCATE of the table begins anew
TRUNCATE yquota.queue CASCADE;
SELECT * FROM yquota_internal.queue_status;
SELECT * FROM yquota_internal.queue_check;
DROP EXTENSION yquota CASCADE;
CREATE EXTENSION yquota;
