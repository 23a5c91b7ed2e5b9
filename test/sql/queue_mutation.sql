--
-- Changes of the configuration by requests like those of YARN's scheduler-conf. Hadoop's order of
-- changes, its refusals and its policies apply. The audit and the log of mutations record the
-- changes.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_queue_mutation WITH (FORCE);
CREATE DATABASE yquota_queue_mutation;
\c yquota_queue_mutation
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\pset null '(null)'

SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a,b", "yarn.scheduler.capacity.root.a.queues": "a1,a2",
	"yarn.scheduler.capacity.root.a.capacity": "60", "yarn.scheduler.capacity.root.b.capacity": "40", "yarn.scheduler.capacity.root.b.ordering-policy": "fair",
	"yarn.scheduler.capacity.root.a.a1.capacity": "100", "yarn.scheduler.capacity.root.a.a2.capacity": "0", "yarn.scheduler.capacity.root.a.a2.state": "STOPPED",
	"yarn.scheduler.capacity.root.a.a2.user-settings.bob.weight": "0.5", "yarn.scheduler.capacity.root.a2.priority": "1",
	"yarn.scheduler.capacity.node-locality-delay": "40"}');
CREATE VIEW in_force AS SELECT property, value FROM yquota.hadoop_configuration();

--
-- Valid changes, in all notations of requests
--
BEGIN;
SELECT * FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"entry": [{"key": "maximum-applications", "value": "7"}, {"key": "ordering-policy", "value": null}]}}}');
SELECT * FROM yquota.mutate_configuration('{"sched-conf": {"update-queue": [{"queue-name": "root.b", "params": {"maximum-applications": " 0x07 ", "user-limit-factor": 1.5, "reservable": false}},
	{"queue-name": "root.a.a1", "params": {"entry": {"key": "user-settings.alice.weight", "value": 0.25}}}], "global-updates": [{"entry": {"key": "yarn.acl.enable", "value": "true"}}]}}');
SELECT * FROM yquota.mutate_configuration('{"global-updates": {"yarn.scheduler.capacity.node-locality-delay": "", "yarn.scheduler.capacity.queue-mappings": "u:x:a1,g:y:root.b", "yarn.resourcemanager.hostname": "rm",
	"yarn.scheduler.capacity.plugin": "p", "yarn.scheduler.capacity.user-metrics.enable": "maybe"}}');
SELECT * FROM yquota.mutate_configuration('{"global-updates": {"yarn.scheduler.capacity.queue-mappings": "u:x:a1", "yarn.scheduler.capacity.root.b.maximum-applications": null, "yarn.scheduler.capacity.plugin": null, "yarn.acl.enable": null}}');
SELECT * FROM yquota.mutate_configuration('{}');
SELECT * FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.a", "params": null}, "add-queue": [], "remove-queue": null, "global-updates": {}}');
COMMIT;
SELECT * FROM in_force;

--
-- Queues are removed, then added, then updated, in whatever order the request lists these
-- operations
--
BEGIN;
SELECT * FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.a.a2", "params": {"priority": "3"}}, "add-queue": {"queue-name": "root.a.a2", "params": {"capacity": "0"}}, "remove-queue": "root.a.a2"}');
SELECT property, value FROM in_force WHERE property LIKE '%a2%' OR value LIKE '%a2%';
COMMIT;
-- A queue is added after its siblings. A leaf that becomes a parent loses its ordering policy,
-- because parents have another one.
BEGIN;
SELECT * FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"ordering-policy": "fair", "state": "STOPPED"}}}');
COMMIT;
SELECT * FROM yquota.mutate_configuration('{"add-queue": [{"queue-name": "root.b.b1", "params": {"capacity": "100"}}, {"queue-name": "root.b.b2", "params": {"capacity": ""}}]}');
-- when its last child is removed, the queue is a leaf again
SELECT * FROM yquota.mutate_configuration('{"remove-queue": ["root.b.b2", "root.b.b1"]}');
-- a queue is removed with all queues below it, and their settings are removed, too
SELECT * FROM yquota.mutate_configuration('{"remove-queue": "root.a"}');
SELECT property, outcome FROM yquota.mutate_configuration('{"update-queue": [{"queue-name": "root.a", "params": {"state": "STOPPED"}}, {"queue-name": "root.b", "params": {"state": "RUNNING"}}], "global-updates": {"yarn.scheduler.capacity.queue-mappings": ""}}');
SELECT * FROM yquota.mutate_configuration('{"remove-queue": "root.a", "update-queue": {"queue-name": "root.b", "params": {"capacity": "100"}}}');
SELECT * FROM in_force;
-- settings that were kept for a queue apply when the queue is added, and an added queue may list
-- its children itself
SELECT * FROM yquota.mutate_configuration('{"add-queue": [{"queue-name": "root.a2", "params": {"capacity": "0"}}, {"queue-name": "root.c", "params": {"capacity": "0", "queues": "c1"}}, {"queue-name": "root.c.c2"}]}');
SELECT path, position, priority FROM yquota.queue ORDER BY path;
-- Hadoop accepts a change without effect
SELECT * FROM yquota.mutate_configuration('{"add-queue": {"queue-name": "root.no.where", "params": {"capacity": "5"}}, "update-queue": {"queue-name": "root.nobody", "params": {"capacity": "5"}}}');
SELECT * FROM yquota.mutate_configuration('{"remove-queue": "root.no.where", "update-queue": {"queue-name": "root.nobody", "params": {"capacity": ""}}}');

--
-- Requests that are refused, and change nothing
--
CREATE TABLE before AS TABLE in_force;
\set VERBOSITY terse
SELECT * FROM yquota.mutate_configuration('{"remove-queue": "root.c.c1"}');
SELECT * FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"capacity": "50"}}}');
\set VERBOSITY default
CREATE FUNCTION pg_temp.try(changes jsonb) RETURNS TABLE (error text, detail text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM * FROM yquota.mutate_configuration(changes);
	SET CONSTRAINTS ALL IMMEDIATE;
	RAISE 'accepted' USING ERRCODE = 'YT001';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	error := CASE SQLSTATE WHEN 'YT001' THEN '' ELSE SQLSTATE || ': ' END || SQLERRM;
	RETURN NEXT;
END
$$;
SELECT c.changes, t.* FROM unnest(ARRAY[NULL, '[]', '1', '"x"', '{"remove": "root.b"}', '{"remove-queue": 1}', '{"remove-queue": {"queue": "root.b"}}', '{"remove-queue": ["root.b", null]}',
	'{"remove-queue": "root"}', '{"remove-queue": ""}', '{"remove-queue": "b"}', '{"remove-queue": "root.x"}', '{"remove-queue": ["root.c.c2", "root.c.c2"]}', '{"remove-queue": "root.c."}', '{"remove-queue": "queue-mappings.x"}',
	'{"add-queue": "root.x"}', '{"add-queue": {"queue-name": "root"}}', '{"add-queue": {"queue-name": "x"}}', '{"add-queue": {"queue-name": "root."}}', '{"add-queue": {"queue-name": "root.b"}}', '{"add-queue": [{"queue-name": "root.x"}, {"queue-name": "root.x"}]}',
	'{"add-queue": {"queue-name": "root.x,y"}}', '{"add-queue": {"queue-name": "root.x  y"}}', '{"add-queue": {"queue-name": "root.x", "params": [1]}}', '{"add-queue": {"queue-name": "root.x", "params": {"capacity": {"a": 1}}}}',
	'{"add-queue": {"queue-name": "root.x", "params": {"entry": [{"value": "5"}]}}}', '{"add-queue": {"queue-name": "root.x", "params": {"entry": ["capacity"]}}}', '{"add-queue": {"queue-name": "root.x", "params": {"": "5"}}}',
	'{"update-queue": {"params": {"capacity": 5}}}', '{"update-queue": {"queue-name": "b", "params": {"capacity": 5}}}', '{"update-queue": {"queue-name": "rootless", "params": {"capacity": 5}}}', '{"update-queue": {"queue-name": "user.bob", "params": {"max-parallel-apps": 5}}}',
	'{"update-queue": {"queue-name": "root.b", "params": {"capacity": "much"}}}', '{"update-queue": {"queue-name": "root.b", "params": {"state": "DRAINING"}}}', '{"update-queue": {"queue-name": "root.b", "params": {"capacity": "101"}}}',
	'{"update-queue": {"queue-name": "root.b", "params": {"queues": "x,x"}}}', '{"update-queue": {"queue-name": "root", "params": {"queues": ""}}}',
	'{"global-updates": "x"}', '{"global-updates": {"x": []}}', '{"global-updates": {"yarn.scheduler.capacity.mapping-rule-json": "{"}}', '{"global-updates": {"yarn.scheduler.capacity.queue-mappings": "u:x:nowhere"}}',
	('{"global-updates": {"yarn.scheduler.capacity.' || repeat('x', 2500) || '": 1}}')]::jsonb[]) WITH ORDINALITY AS c (changes, number)
CROSS JOIN LATERAL (SELECT left(e.error, 150) AS error, left(e.detail, 150) AS detail FROM pg_temp.try(c.changes) AS e) AS t
WHERE length(c.changes::text) < 2000 OR c.changes IS NULL
ORDER BY c.number
\g (format=unaligned)
(TABLE before EXCEPT TABLE in_force) UNION ALL (TABLE in_force EXCEPT TABLE before);

--
-- Single rows are changed when the set of queues stays, and all rows when queues are added or
-- removed. Both ways must give the same configuration.
--
CREATE FUNCTION pg_temp.both(edits jsonb) RETURNS TABLE (changed bigint, differ bigint) LANGUAGE plpgsql AS $$
DECLARE
	by_row text;
	by_tree text;
	described text;
BEGIN
	BEGIN
		SELECT count(*), string_agg(d::text, ';' ORDER BY d.property) INTO changed, described
		FROM yquota_internal.describe_changes(yquota_internal.apply_edit(ROW('{}', edits)::yquota_internal.hadoop_edit)) AS d WHERE d.outcome <> 'unchanged';
		by_row := (SELECT string_agg(f::text, ';' ORDER BY f.property) FROM in_force AS f) || described;
		RAISE 'again' USING ERRCODE = 'YT002';
	EXCEPTION WHEN SQLSTATE 'YT002' THEN
	END;
	SELECT string_agg(d::text, ';' ORDER BY d.property) INTO described
	FROM yquota_internal.describe_changes(yquota_internal.apply_to_tree(ROW('{}', edits)::yquota_internal.hadoop_edit)) AS d WHERE d.outcome <> 'unchanged';
	by_tree := (SELECT string_agg(f::text, ';' ORDER BY f.property) FROM in_force AS f) || described;
	differ := (by_row IS DISTINCT FROM by_tree)::integer;
	RETURN NEXT;
END
$$;
BEGIN;
SELECT * FROM pg_temp.both('{"yarn.scheduler.capacity.root.b.maximum-applications": "5", "yarn.scheduler.capacity.root.b.acl_submit_applications": " ", "yarn.scheduler.capacity.root.b.ordering-policy.x": "1", "yarn.scheduler.capacity.root.b.ordering-policy.y": "2",
	"yarn.scheduler.capacity.root.c.leaf-queue-template.capacity": "3", "yarn.scheduler.capacity.root.c.auto-queue-creation-v2.template.capacity": "1w", "yarn.scheduler.capacity.root.*.auto-queue-creation-v2.template.priority": "4",
	"yarn.scheduler.capacity.root.b.user-settings.a.b.weight": "1", "yarn.scheduler.capacity.root.c.c1.user-settings.c.weight": "0.5", "yarn.scheduler.capacity.root.b.accessible-node-labels.gpu.capacity": "5", "yarn.scheduler.capacity.root.b.accessible-node-labels": "gpu",
	"yarn.scheduler.capacity.user.u.max-parallel-apps": "2", "yarn.scheduler.capacity.multi-node-sorting.policy.p.class": "c", "yarn.scheduler.capacity.queue-mappings": "u:x:root.b,u:y:c1", "yarn.scheduler.capacity.workflow-priority-mappings": "w:root.b:3",
	"yarn.scheduler.capacity.mapping-rule-json": "{\"rules\": [{\"type\": \"user\", \"matches\": \"*\", \"policy\": \"reject\"}]}", "yarn.scheduler.capacity.root.gone.capacity": "1", "yarn.admin.acl": "admin", "yarn.scheduler.capacity.root.b.maximum-allocation": "memory-mb=1Gi,vcores=2"}');
SELECT * FROM pg_temp.both('{"yarn.scheduler.capacity.root.b.maximum-applications": null, "yarn.scheduler.capacity.root.b.ordering-policy.x": null, "yarn.scheduler.capacity.root.b.ordering-policy.z": "1", "yarn.scheduler.capacity.root.c.leaf-queue-template.capacity": null,
	"yarn.scheduler.capacity.root.*.auto-queue-creation-v2.template.priority": null, "yarn.scheduler.capacity.root.b.user-settings.a.b.weight": null, "yarn.scheduler.capacity.root.b.accessible-node-labels.gpu.capacity": null, "yarn.scheduler.capacity.root.b.accessible-node-labels.gpu.maximum-capacity": "50",
	"yarn.scheduler.capacity.user.u.max-parallel-apps": null, "yarn.scheduler.capacity.multi-node-sorting.policy.p.class": "d", "yarn.scheduler.capacity.queue-mappings": "u:y:c1,g:z:c2", "yarn.scheduler.capacity.workflow-priority-mappings": null, "yarn.scheduler.capacity.mapping-rule-json": null,
	"yarn.scheduler.capacity.root.gone.capacity": null, "yarn.scheduler.capacity.root.gone.priority": "2", "yarn.admin.acl": null, "yarn.scheduler.capacity.root.b.disable_preemption": "perhaps", "yarn.scheduler.capacity.root.b.maximum-allocation": "memory-mb=1024,vcores=2", "z": "z"}');
SELECT property, value FROM in_force WHERE property ~ 'root.b|user|gone';
ROLLBACK;

--
-- Roles that may change the configuration
--
CREATE ROLE yquota_test_admin;
CREATE ROLE yquota_test_operator;
CREATE ROLE yquota_test_head;
CREATE ROLE yquota_test_member;
CREATE ROLE yquota_test_heads;
CREATE ROLE yquota_test_stranger;
GRANT yquota_test_heads TO yquota_test_member;
INSERT INTO yquota.project (name) VALUES ('lab');
SELECT yquota.allow_role('yquota_test_admin', 'admin'), yquota.allow_role('yquota_test_operator', 'operator'), yquota.allow_role('yquota_test_head', 'member', 'lab'), yquota.allow_role('yquota_test_member', 'member', 'lab');
SELECT property, outcome FROM yquota.mutate_configuration('{"update-queue": [{"queue-name": "root.c", "params": {"acl_administer_queue": "yquota_test_head,carol yquota_test_heads"}}, {"queue-name": "root.c.c2", "params": {"state": "STOPPED"}}]}');
CREATE FUNCTION pg_temp.may(role text, changes jsonb, caller text DEFAULT NULL, groups text[] DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('role', role, true);
	PERFORM * FROM yquota.mutate_configuration(changes, caller, groups);
	RAISE 'yes' USING ERRCODE = 'YT001';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE IN ('YT001') THEN SQLERRM ELSE SQLSTATE || ': ' || SQLERRM END;
END
$$;
CREATE TABLE request (number integer, changes jsonb);
INSERT INTO request VALUES (1, '{"update-queue": {"queue-name": "root.c", "params": {"priority": "5"}}}'), (2, '{"update-queue": {"queue-name": "root.c.c1", "params": {"priority": "5"}}}'), (3, '{"update-queue": {"queue-name": "root.b", "params": {"priority": "5"}}}'),
	(4, '{"add-queue": {"queue-name": "root.c.new", "params": {"capacity": "0"}}}'), (5, '{"add-queue": {"queue-name": "root.new", "params": {"capacity": "0"}}}'), (6, '{"remove-queue": "root.c.c2"}'), (7, '{"remove-queue": "root.a2"}'),
	(8, '{"global-updates": {"yarn.scheduler.capacity.maximum-applications": "5"}}'), (9, '{"update-queue": [{"queue-name": "root.c", "params": {"priority": "5"}}, {"queue-name": "root.b", "params": {"priority": "5"}}]}'),
	(10, '{"update-queue": {"queue-name": "root.c..", "params": {"priority": "5"}}}'), (11, '{"update-queue": {"queue-name": "root.cc", "params": {"priority": "5"}}}'), (12, '{}');
-- Without a policy, only yarn.admin.acl decides, and if it is not set, every user is allowed. An
-- unset list gives no role a right.
SELECT number, pg_temp.may('yquota_test_operator', changes, 'carol') AS operator_for_carol, pg_temp.may('yquota_test_head', changes) AS head, pg_temp.may('yquota_test_admin', changes) AS admin FROM request ORDER BY number;
SELECT property, outcome FROM yquota.mutate_configuration('{"global-updates": {"yarn.admin.acl": "root admins"}}');
SELECT number, pg_temp.may('yquota_test_operator', changes, 'carol') AS operator_for_carol, pg_temp.may('yquota_test_operator', changes, 'dave', '{x,admins}') AS operator_for_admin FROM request WHERE number IN (1, 8) ORDER BY number;
-- With the policy of queue administrators, yarn.admin.acl decides only about global settings
SELECT property, outcome FROM yquota.mutate_configuration('{"global-updates": {"yarn.scheduler.configuration.mutation.acl-policy.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.conf.QueueAdminConfigurationMutationACLPolicy"},
	"update-queue": {"queue-name": "root", "params": {"acl_administer_queue": " "}}}');
SELECT number, pg_temp.may('yquota_test_operator', changes, 'carol') AS operator_for_carol, pg_temp.may('yquota_test_operator', changes, 'dave', '{x,admins}') AS operator_for_admin,
	   pg_temp.may('yquota_test_head', changes) AS head, pg_temp.may('yquota_test_member', changes) AS member_of_heads, pg_temp.may('yquota_test_admin', changes) AS admin FROM request ORDER BY number
\g (format=unaligned)
-- an unset list of root allows every user of the cluster, but no role
SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root", "params": {"acl_administer_queue": null}}}');
SELECT number, pg_temp.may('yquota_test_operator', changes, 'eve') AS operator_for_eve, pg_temp.may('yquota_test_head', changes) AS head FROM request WHERE number IN (1, 3) ORDER BY number;
-- an unknown policy class allows only users in yarn.admin.acl
BEGIN;
SELECT property, outcome FROM yquota.mutate_configuration('{"global-updates": {"yarn.scheduler.configuration.mutation.acl-policy.class": "com.example.NotAQueueAdminConfigurationMutationACLPolicy"}}');
SELECT number, pg_temp.may('yquota_test_operator', changes, 'carol') AS operator_for_carol, pg_temp.may('yquota_test_operator', changes, 'root') AS operator_for_admin FROM request WHERE number IN (1, 8) ORDER BY number;
ROLLBACK;
-- a role cannot act in the name of another user
SELECT pg_temp.may('yquota_test_head', changes, 'root') AS named, pg_temp.may('yquota_test_head', changes, 'yquota_test_head') AS himself, pg_temp.may('yquota_test_head', changes, 'yquota_test_head', '{admins}') AS in_groups,
	   pg_temp.may('yquota_test_head', changes, NULL, '{admins}') AS groups_alone, pg_temp.may('yquota_test_operator', changes) AS operator_himself, pg_temp.may('yquota_test_stranger', changes) AS stranger,
	   pg_temp.may('yquota_test_operator', changes, '') AS nobody, pg_temp.may('yquota_test_operator', changes, 'carol', '{NULL}') AS null_group FROM request WHERE number = 1
\gx
SET ROLE yquota_test_head;
UPDATE yquota.queue SET priority = 9 WHERE path = 'root.c';
SELECT yquota_internal.mutate_configuration_as_owner('{}', NULL, NULL);
SELECT * FROM yquota.configuration_mutation;
RESET ROLE;

--
-- The audit records on whose behalf and in whose session a change was made
--
SET ROLE yquota_test_head;
SELECT * FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.c", "params": {"priority": "5"}}, "add-queue": {"queue-name": "root.c.new", "params": {"capacity": "0"}}}');
SET ROLE yquota_test_operator;
SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.c", "params": {"priority": "6"}}}', 'carol', '{}');
SET ROLE yquota_test_admin;
SELECT outcome FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.c", "params": {"priority": "7"}}}');
UPDATE yquota.queue SET priority = 8 WHERE path = 'root.c';
SELECT caller, session_role = session_user AS by_session, acting_role = session_user AS by_owner, acting_role = current_user AS by_role, operation, property, old, new FROM yquota.configuration_mutation LIMIT 6;
RESET ROLE;
SELECT count(*), count(DISTINCT transaction_id) FROM yquota.configuration_mutation;
UPDATE yquota.scheduler_setting SET configuration_store_max_logs = 2;
SELECT property, old, new FROM yquota.configuration_mutation;
UPDATE yquota.scheduler_setting SET configuration_store_max_logs = 0;
SELECT count(*) FROM yquota.configuration_mutation;
UPDATE yquota.scheduler_setting SET configuration_store_max_logs = NULL;
SELECT count(*) > 50 AS all_of_it FROM yquota.audit;
-- the log describes changes of each table, and an import of a file, as properties
BEGIN;
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.c.leaf-queue-template.capacity": 5, "yarn.scheduler.capacity.root.c.c1.user-settings.u.v.weight": 1, "yarn.scheduler.capacity.root.*.auto-queue-creation-v2.template.priority": 2,
	"yarn.scheduler.capacity.queue-mappings": "u:x:root.b,g:y:root.b", "yarn.scheduler.capacity.workflow-priority-mappings": "w:root.b:3", "yarn.scheduler.capacity.user.bob.max-parallel-apps": 1,
	"yarn.scheduler.capacity.multi-node-sorting.policy.p.class": "c", "yarn.scheduler.capacity.no-such": "n", "yarn.scheduler.capacity.root.b.accessible-node-labels": "gpu,ssd", "yarn.scheduler.capacity.root.b.accessible-node-labels.gpu.capacity": "5"}', 'merge');
TRUNCATE yquota.user_setting;
SELECT operation, table_name, property, old, new FROM yquota.configuration_mutation WHERE transaction_id = pg_current_xact_id()
ORDER BY operation, table_name, property, new COLLATE "C";
ROLLBACK;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_queue_mutation WITH (FORCE);
DROP ROLE yquota_test_admin, yquota_test_operator, yquota_test_head, yquota_test_member, yquota_test_heads, yquota_test_stranger;
