--
-- Tables of queues: valid values of a row, rows that depend on a queue, rights to change rows, and
-- the audit.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_queue_tables WITH (FORCE);
CREATE DATABASE yquota_queue_tables;
\c yquota_queue_tables
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\set VERBOSITY terse

--
-- The list of properties and the tables agree. Every column is in the list, except keys and
-- settings of yquota's own. Every property of the list has a column whose type can hold it.
--
SELECT c.relname, a.attname AS missing_in_list
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'yquota'::regnamespace
  AND c.relname IN (SELECT table_name FROM yquota_internal.hadoop_property WHERE column_name IS NOT NULL)
  AND (c.relname, a.attname) NOT IN (SELECT table_name, column_name FROM yquota_internal.hadoop_property WHERE column_name IS NOT NULL)
  AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary AND a.attnum = ANY (i.indkey))
  AND a.attgenerated = '' AND (c.relname, a.attname) NOT IN (('queue', 'auto_created'), ('queue', 'auto_promote_after'),
	('queue', 'opportunistic_maximum_containers'), ('queue', 'opportunistic_maximum_resource'), ('queue', 'hold_policy'))
  AND NOT (c.relname = 'scheduler_setting' AND a.attname = ANY (
	'{preemption_candidate_order,preemption_mode,preemption_balance_keeps_marks,end_expired_applications,
	  former_names,opportunistic_anywhere_order,opportunistic_ignores_places,opportunistic_maps_by_share,node_queue_order,opportunistic_kill_order,
	  reservation_wraps_periods,reservation_most_windows,reservation_most_copies,reservation_most_requests,reservation_repeats_allocation,
	  reservation_plans_around_overcommitment,reservation_reads_fractions,reservation_ends_averages,report_max_age,
	  opportunistic_user_maximum_containers,opportunistic_user_maximum_resource,opportunistic_application_maximum_containers,opportunistic_application_maximum_resource}'));
SELECT f.property AS without_column FROM yquota_internal.hadoop_property AS f
WHERE NOT EXISTS (SELECT FROM pg_class AS c WHERE c.relnamespace = 'yquota'::regnamespace AND c.relname = f.table_name)
   OR f.column_name IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = format('yquota.%I', f.table_name)::regclass AND a.attname = f.column_name);
SELECT f.notation, string_agg(DISTINCT format_type(a.atttypid, a.atttypmod), ', ') AS types, count(*)
FROM yquota_internal.hadoop_property AS f
JOIN pg_attribute AS a ON a.attrelid = format('yquota.%I', f.table_name)::regclass AND a.attname = f.column_name
GROUP BY f.notation ORDER BY f.notation;
SELECT f.property AS listed_twice FROM yquota_internal.hadoop_property AS f GROUP BY f.property HAVING count(*) > 1;
SELECT f.property AS inherits_from_nowhere FROM yquota_internal.hadoop_property AS f
WHERE f.inherited_column IS NOT NULL AND NOT EXISTS (
	SELECT FROM pg_attribute AS a
	WHERE a.attrelid = format('yquota.%I', CASE f.inherited_from WHEN 'parent' THEN f.table_name WHEN 'queue' THEN 'queue' ELSE f.inherited_from END)::regclass
	  AND a.attname = f.inherited_column);
-- each default can be read in the notation of its property
SELECT f.property AS unreadable_default FROM yquota_internal.hadoop_property AS f
WHERE f.default_value IS NOT NULL AND yquota_internal.hadoop_value(f.notation, f.default_value) IS NULL;

--
-- Names
--
BEGIN;
INSERT INTO yquota.queue (path) VALUES ('root'), ('root.a'), ('root.a.b c'), ('root."q".o''k'), ('root.über.очередь'), ('root.' || repeat('x', 1995));
SELECT left(path, 20) AS path, left(parent, 20) AS parent, left(name, 10) AS name, position, auto_created FROM yquota.queue ORDER BY path;
ROLLBACK;
INSERT INTO yquota.queue (path) VALUES (NULL);
SELECT ''::yquota.queue_path;
SELECT 'sales'::yquota.queue_path;
SELECT 'rootsales'::yquota.queue_path;
SELECT 'root.'::yquota.queue_path;
SELECT 'root..a'::yquota.queue_path;
SELECT 'root. a'::yquota.queue_path;
SELECT 'root.a '::yquota.queue_path;
SELECT 'root.a,b'::yquota.queue_path;
SELECT E'root.a\nb'::yquota.queue_path;
SELECT ('root.' || repeat('x', 1996))::yquota.queue_path;
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100'), ('root.a.b c', '100');
INSERT INTO yquota.queue (path) VALUES ('root.a');

--
-- Values that no version of Hadoop can read are refused
--
SELECT c AS capacity, yquota_internal.is_hadoop_capacity(c) AS is_one
FROM unnest('{0,12.5,.5,5.,+1,-1,1e1,100f,2w,0.5w,-1w,w,NaN,"",5%," 5","[memory=1024,vcores=2]","[memory=50%,vcores=2w]","[memory = 1Gi]",[],"[a=1] ",[a=1,"[a=1];"}'::text[]) AS c;
UPDATE yquota.queue SET capacity = '5 %' WHERE path = 'root.a';
UPDATE yquota.queue SET maximum_capacity = 'much' WHERE path = 'root.a';
UPDATE yquota.queue SET state = 'DRAINING' WHERE path = 'root.a';
UPDATE yquota.queue SET leaf_queue_template = '[]' WHERE path = 'root.a';
UPDATE yquota.queue SET parent = 'root' WHERE path = 'root.a';
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.a', '', '5');
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.a', 'x', 'x');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('legacy', 1, 'host', 'x', 'y');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('legacy', 1, 'application', 'x', 'y');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('json', 1, 'user', 'x', 'y');
INSERT INTO yquota.mapping_rule (kind, position, type, matches) VALUES ('legacy', 1, 'user', 'x');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy) VALUES ('json', 1, 'user', '*', 'guess');
INSERT INTO yquota.scheduler_setting (mapping_rule_format) VALUES ('xml');
INSERT INTO yquota.scheduler_setting (only_row) VALUES (false);
INSERT INTO yquota.scheduler_setting (max_parallel_apps) VALUES (1), (2);
INSERT INTO yquota.node_label (name) VALUES ('a b');
INSERT INTO yquota.unmapped_property (property, value) VALUES ('yarn.acl.enable', 'true');

--
-- Rows of a queue may be inserted before the queue within a transaction, follow changes of its
-- path, and are deleted with it. The tables need no parent row.
--
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.none', 'x', '0');
BEGIN;
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.later', 'x', '100');
INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.later', 'john.doe', 0.5);
INSERT INTO yquota.queue (path, capacity, state) VALUES ('root.later', '0', 'STOPPED');
COMMIT;
UPDATE yquota.queue SET path = 'root.moved' WHERE path = 'root.later';
SELECT l.queue, l.label, u.username, u.weight FROM yquota.queue_label AS l JOIN yquota.queue_user AS u USING (queue);
DELETE FROM yquota.queue WHERE path = 'root.moved';
SELECT (SELECT count(*) FROM yquota.queue_label) AS labels, (SELECT count(*) FROM yquota.queue_user) AS users;

--
-- The audit has one row for each changed row, without NULLs. A changed key is recorded as DELETE
-- and INSERT.
--
SELECT table_name, operation, old, new FROM yquota.audit WHERE old ->> 'path' IN ('root.later', 'root.moved') OR new ->> 'path' IN ('root.later', 'root.moved') ORDER BY audit_id;
BEGIN;
UPDATE yquota.queue SET minimum_user_limit_percent = 50, maximum_applications = 5 WHERE path IN ('root.a', 'root.a.b c');
TRUNCATE yquota.mapping_rule;
COMMIT;
SELECT table_name, operation, old, new FROM yquota.audit ORDER BY audit_id DESC LIMIT 3;

--
-- Administrators change rows, viewers and members read them, and other roles do neither
--
CREATE ROLE yquota_test_queue_admin;
CREATE ROLE yquota_test_queue_viewer;
CREATE ROLE yquota_test_queue_member;
CREATE ROLE yquota_test_queue_other;
INSERT INTO yquota.project (name) VALUES ('lab');
SELECT yquota.allow_role('yquota_test_queue_admin', 'admin'), yquota.allow_role('yquota_test_queue_viewer', 'viewer'), yquota.allow_role('yquota_test_queue_member', 'member', 'lab');
SET ROLE yquota_test_queue_member;
SELECT count(*) FROM yquota.queue;
UPDATE yquota.queue SET capacity = '1';
SELECT * FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "mine"}');
SELECT count(*) > 0 AS reads FROM yquota.hadoop_configuration();
SET ROLE yquota_test_queue_viewer;
SELECT count(*) FROM yquota.mapping_rule;
INSERT INTO yquota.node_label (name) VALUES ('gpu');
SET ROLE yquota_test_queue_other;
SELECT count(*) FROM yquota.queue;
SELECT * FROM yquota.hadoop_configuration();
SELECT yquota.export_hadoop_configuration();
SELECT * FROM yquota.diff_hadoop_configuration('{}');
SET ROLE yquota_test_queue_admin;
INSERT INTO yquota.node_label (name) VALUES ('gpu');
SELECT property, outcome FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.a.user-limit-factor": 1.5}', 'merge');
SELECT count(*) FROM yquota_internal.hadoop_property;
RESET ROLE;
SELECT operation, new ->> 'user_limit_factor' AS factor, session_role = session_user AS by_session, acting_role = session_user AS by_owner FROM yquota.audit WHERE new ->> 'path' = 'root.a' ORDER BY audit_id DESC LIMIT 1;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_queue_tables WITH (FORCE);
DROP ROLE yquota_test_queue_admin, yquota_test_queue_viewer, yquota_test_queue_member, yquota_test_queue_other;
