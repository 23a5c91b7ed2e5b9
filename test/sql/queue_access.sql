--
-- Rights and priorities in a queue. The formats of ACLs and priority lists were compared with
-- Hadoop 3.4.1's own classes (AccessControlList, AppPriorityACLConfigurationParser,
-- AppPriorityACLsManager).
--
SET client_min_messages = warning;
CREATE DATABASE yquota_queue_access;
\c yquota_queue_access
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set VERBOSITY terse

-- all queues except root have a weight, which is valid at every place in the hierarchy
ALTER TABLE yquota.queue ALTER capacity SET DEFAULT '1w';
INSERT INTO yquota.scheduler_setting (acl_enable) VALUES (true);

-- V85: rights are the union of those of the queue and all queues above it
-- (TestParentQueue.testQueueAcl)
BEGIN;
INSERT INTO yquota.queue (path, acl_submit_applications, acl_administer_queue, capacity) VALUES ('root', ' ', ' ', NULL);
INSERT INTO yquota.queue (path, acl_submit_applications, acl_administer_queue) VALUES
	('root.c', NULL, '*'), ('root.c.c1', NULL, NULL), ('root.c.c1.c11', '*', NULL), ('root.c.c1.c11.c111', NULL, NULL);
COMMIT;
SELECT path, s.allowed AS submit, s.decided_by, a.allowed AS administer, a.decided_by
FROM yquota.queue,
	 yquota.check_queue_access('user_0', '{}', path, 'SUBMIT_APPLICATIONS') AS s,
	 yquota.check_queue_access('user_0', '{}', path, 'ADMINISTER_QUEUE') AS a
ORDER BY path;

-- SUBMIT means either of the two operations. Names of operations may be in any case, and a short
-- name must belong to only one queue.
SELECT queue, operation, (yquota.check_queue_access('user_0', NULL, queue, operation)).*
FROM (VALUES ('c1', 'SUBMIT'), ('c1', 'submit_applications'), ('root', 'submit'), ('c111', 'acl_submit_applications'),
			 ('root.c.new.newer', 'submit_applications'), ('root.c.new', 'administer_queue')) AS v (queue, operation);

-- Each list is checked for alice in g1 and p, bob in b, and eve in e. It is also checked for alice
-- in g1 and for zed in zz, each with the real user "real".
CREATE FUNCTION pg_temp.who(list text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	names text := '';
	subject record;
BEGIN
	UPDATE yquota.queue SET acl_submit_applications = list WHERE path = 'root.c';
	FOR subject IN
		SELECT * FROM (VALUES ('alice', '{g1,p}'::text[], NULL), ('bob', '{b}', NULL), ('eve', '{e}', NULL),
							  ('alice', '{g1}', 'real'), ('zed', '{zz}', 'real')) AS v (username, groups, real_username)
	LOOP
		IF (yquota.check_queue_access(subject.username, subject.groups, 'root.c', 'SUBMIT_APPLICATIONS', subject.real_username)).allowed THEN
			names := concat_ws(' ', nullif(names, ''), concat_ws('/', subject.username, subject.real_username));
		END IF;
	END LOOP;
	RETURN names;
END
$$;
SELECT to_json(list) AS list, pg_temp.who(list)
FROM unnest(ARRAY['*', ' * ', 'alice *', '* g', 'a,* b', 'alice,*', '', ' ', '  ', 'alice', 'alice,bob g1', 'alice, bob g1', ' g1,g2', 'alice  g1',
				  'a b c', '~real', ' ~g', '~real g9', ' alice', E'alice\tg1', E'alice,bob\n g1', E'\talice\t', E'x,alice\nbob']) AS list;

-- Reasons of decisions
UPDATE yquota.queue SET acl_submit_applications = 'alice,~real g1,g2' WHERE path = 'root.c';
SELECT (yquota.check_queue_access(username, groups, 'c1', 'SUBMIT_APPLICATIONS', real_username)).*
FROM (VALUES ('alice', '{g1}'::text[], NULL), ('bob', '{b,g2}', NULL), ('eve', '{}', 'real'), ('eve', '{e}', NULL)) AS v (username, groups, real_username);
UPDATE yquota.queue SET acl_submit_applications = NULL WHERE path = 'root';
SELECT (yquota.check_queue_access('eve', '{}', 'c1', 'SUBMIT_APPLICATIONS')).*;

-- The list of cluster administrators is about applications and the configuration, and does not
-- affect decisions about a queue
UPDATE yquota.queue SET acl_submit_applications = ' ' WHERE path IN ('root', 'root.c');
SELECT username, (yquota.check_queue_access(username, '{}', NULL, 'ADMIN')).* FROM unnest('{yarn,eve}'::text[]) AS username;
UPDATE yquota.scheduler_setting SET admin_acl = 'yarn ops';
SELECT username, operation, (yquota.check_queue_access(username, '{ops2}', 'root.c.c1', operation)).*
FROM unnest('{yarn,eve}'::text[]) AS username, unnest('{ADMIN,SUBMIT_APPLICATIONS}'::text[]) AS operation;
SELECT (yquota.check_queue_access('eve', '{x,ops}', NULL, 'ADMIN')).*;

-- ACLs off
UPDATE yquota.scheduler_setting SET acl_enable = false;
SELECT operation, (yquota.check_queue_access('eve', '{}', 'root', operation)).* FROM unnest('{SUBMIT,ADMINISTER_QUEUE,LIST_RESERVATIONS}'::text[]) AS operation;
DELETE FROM yquota.scheduler_setting;
SELECT (yquota.check_queue_access('eve', '{}', 'root', 'SUBMIT')).*;
INSERT INTO yquota.scheduler_setting (acl_enable) VALUES (true);

-- Reservations: every user may do everything where no list is set, and lists of the queues above do
-- not count
UPDATE yquota.queue SET acl_list_reservations = 'alice' WHERE path = 'root.c';
SELECT username, queue, (yquota.check_queue_access(username, '{}', queue, 'LIST_RESERVATIONS')).*
FROM unnest('{alice,eve}'::text[]) AS username, unnest('{root.c,root.c.c1,root.c.x}'::text[]) AS queue;

-- The access to a queue that does not exist yet is decided by the templates of the queue
INSERT INTO yquota.queue (path, acl_submit_applications, auto_create_child_queue_enabled, leaf_queue_template, auto_queue_creation_v2_enabled,
						  auto_queue_creation_v2_template, auto_queue_creation_v2_leaf_template, auto_queue_creation_v2_parent_template) VALUES
	('root.m', 'boss', true, '{"capacity": "5", "acl_submit_applications": "mona"}', NULL, NULL, NULL, NULL),
	('root.v', NULL, NULL, NULL, true, '{"acl_submit_applications": "tom", "acl_administer_queue": "ada"}', '{"acl_submit_applications": "lea"}', '{"acl_submit_applications": "pia"}'),
	('root.w', NULL, NULL, NULL, true, NULL, NULL, NULL);
INSERT INTO yquota.wildcard_template (path, auto_queue_creation_v2_template) VALUES ('root.*', '{"acl_submit_applications": "wanda"}');
SELECT queue, username, (yquota.check_queue_access(username, '{}', queue, 'SUBMIT')).*
FROM (VALUES ('root.m.x', '{boss,mona,eve}'::text[]), ('root.v.x', '{tom,ada,lea,pia,wanda}'), ('root.v.y.x', '{tom,ada,lea,pia,wanda}'),
			 ('root.w.x', '{wanda,eve}'), ('root.w.a.b.c', '{eve}'), ('nowhere', '{eve}'), ('nowhere.x', '{eve}'), ('root.c.c1.c11.c111.x', '{eve}'),
			 ('root.q.x', '{eve}')) AS v (queue, usernames),
	 unnest(usernames) AS username;

-- Bad input
SELECT yquota.check_queue_access(NULL, '{}', 'root', 'SUBMIT');
SELECT yquota.check_queue_access('', '{}', 'root', 'SUBMIT');
SELECT yquota.check_queue_access('u', '{a,NULL}', 'root', 'SUBMIT');
SELECT yquota.check_queue_access('u', '{}', NULL, 'SUBMIT');
SELECT yquota.check_queue_access('u', '{}', '', 'SUBMIT');
SELECT yquota.check_queue_access('u', '{}', 'root', NULL);
\set VERBOSITY default
SELECT yquota.check_queue_access('u', '{}', 'root', 'DESTROY');
\set VERBOSITY terse
INSERT INTO yquota.queue (path) VALUES ('root.m2'), ('root.m2.twice'), ('root.c.twice');
SELECT queue, (yquota.check_queue_access('u', '{}', queue, 'SUBMIT_APPLICATIONS')).*
FROM unnest(ARRAY['twice', 'missing', 'Müller', 'a b', 'root.twice.', '''; DROP']) AS queue;
SELECT (yquota.check_queue_access('u', '{}', repeat('x', 5000), 'SUBMIT_APPLICATIONS')).allowed;
INSERT INTO yquota.queue (path, acl_submit_applications) VALUES ('root.c.Müller & Söhne', 'Jürgen,Åsa o''brien');
SELECT username, groups, (yquota.check_queue_access(username, groups, 'Müller & Söhne', 'SUBMIT_APPLICATIONS')).*
FROM (VALUES ('Åsa', '{}'::text[]), ('ÅSA', '{}'), ('x', '{o''brien}')) AS v (username, groups);

-- A change takes effect in the next statement, also after a rollback
BEGIN;
UPDATE yquota.queue SET acl_submit_applications = 'u' WHERE path = 'root.m2';
SELECT (yquota.check_queue_access('u', '{}', 'm2', 'SUBMIT_APPLICATIONS')).allowed;
SAVEPOINT s;
TRUNCATE yquota.queue CASCADE;
SELECT (yquota.check_queue_access('u', '{}', 'm2', 'SUBMIT_APPLICATIONS')).reason;
ROLLBACK TO s;
SELECT (yquota.check_queue_access('u', '{}', 'm2', 'SUBMIT_APPLICATIONS')).allowed;
ROLLBACK;
SELECT (yquota.check_queue_access('u', '{}', 'm2', 'SUBMIT_APPLICATIONS')).allowed;

-- a change that is applied as a replica also takes effect
SET session_replication_role = replica;
UPDATE yquota.queue SET acl_submit_applications = 'u' WHERE path = 'root.m2';
SELECT (yquota.check_queue_access('u', '{}', 'm2', 'SUBMIT_APPLICATIONS')).allowed;
UPDATE yquota.queue SET acl_submit_applications = NULL WHERE path = 'root.m2';
UPDATE yquota.scheduler_setting SET admin_acl = 'yarn';
SELECT (yquota.check_queue_access('u', '{}', 'm2', 'SUBMIT_APPLICATIONS')).allowed, (yquota.check_queue_access('u', '{}', 'm2', 'ADMIN')).allowed AS admin;
UPDATE yquota.scheduler_setting SET admin_acl = NULL;
RESET session_replication_role;

--
-- Priorities: the default, and which of -1, 0, 3, 5 and 10 are allowed, for alice in g1 and p and
-- for bob in b
--
UPDATE yquota.scheduler_setting SET cluster_max_application_priority = 10;
INSERT INTO yquota.queue (path) VALUES ('root.p');
CREATE FUNCTION pg_temp.priorities(list text, username text, groups text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	UPDATE yquota.queue SET acl_application_max_priority = list WHERE path = 'root.p';
	RETURN (SELECT format('%s %s', (yquota.application_priority(username, groups, 'p')).priority,
						  string_agg(CASE WHEN (yquota.application_priority(username, groups, 'p', priority)).allowed THEN '+' ELSE '-' END, '' ORDER BY priority))
			FROM unnest('{-1,0,3,5,10}'::integer[]) AS priority);
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN SQLERRM;
END
$$;
BEGIN;
SELECT list, pg_temp.priorities(list, 'alice', '{g1,p}') AS alice, pg_temp.priorities(list, 'bob', '{b}') AS bob
FROM unnest(ARRAY['*', '', '[]', '[user=alice group=g1 max_priority=7 default_priority=4]',
	'[user=alice max_priority=7 default_priority=4][user=* max_priority=2 default_priority=1]',
	'[user=* max_priority=2 default_priority=1][user=alice max_priority=7 default_priority=4]',
	'[user=alice max_priority=5 default_priority=4][user=alice max_priority=5 default_priority=3]',
	'[group=g1 max_priority=3 default_priority=2]', '[max_priority=3 default_priority=2 user=alice]',
	'[user=alice max_priority=3]', '[user=alice max_priority=30 default_priority=20]',
	'[user=alice max_priority=5 default_priority=-3]', '[user=alice max_priority=-5 default_priority=1]',
	'user=alice max_priority=5 default_priority=1', '[user=alice,bob group=g9,g8 max_priority=5 default_priority=1] [ ]',
	'[user=alice max_priority=5 default_priority=1', '[USER=alice Max_Priority=5 default_priority=1]',
	'[group=g1 user=bob max_priority=5 default_priority=1]', '[user=alice group=* max_priority=5 default_priority=1]',
	'[user=alice user=bob max_priority=5 default_priority=1]', '[user=alice max_priority=+5 default_priority=1]',
	'[user=alice default_priority=3]', '[max_priority=3 default_priority=2]', '[user=alice max_priority=x default_priority=2]',
	'[user=alice maxpriority=3 default_priority=2]', '[user= max_priority=5 default_priority=1]',
	'[user=alice max_priority=99999999999 default_priority=1]', '[user=alice max_priority=1 default_priority=1.5]']) AS list;
\set VERBOSITY default
UPDATE yquota.queue SET acl_application_max_priority = '[user=alice max_priority=x]' WHERE path = 'root.p';
SELECT yquota.application_priority('alice', '{}', 'p');
ROLLBACK;
\set VERBOSITY terse

-- Requested and default priorities are clamped to the maximum, and negative values stay. A parent
-- has neither a default nor a list.
UPDATE yquota.queue SET acl_application_max_priority = '[user=nobody max_priority=1 default_priority=1]', default_application_priority = 3 WHERE path = 'root.c';
UPDATE yquota.queue SET acl_application_max_priority = NULL, default_application_priority = 12 WHERE path = 'root.p';
UPDATE yquota.queue SET acl_application_max_priority = '[user=nobody max_priority=1 default_priority=1]', default_application_priority = 3 WHERE path = 'root.m2';
SELECT queue, requested, (yquota.application_priority('alice', '{g1}', queue, requested)).*
FROM (VALUES ('root.p', NULL), ('p', 7), ('p', 10), ('p', 11), ('p', -4), ('m2', NULL), ('root.c', NULL), ('root.c', 2), ('root.new', NULL), ('root.new', 99)) AS v (queue, requested);
UPDATE yquota.queue SET acl_application_max_priority = '[user=alice max_priority=5 default_priority=8]' WHERE path = 'root.p';
SELECT username, requested, (yquota.application_priority(username, '{}', 'p', requested)).*
FROM (VALUES ('alice', NULL), ('alice', 5), ('alice', 6), ('bob', 0), ('bob', NULL)) AS v (username, requested);
UPDATE yquota.scheduler_setting SET acl_enable = false;
SELECT username, (yquota.application_priority(username, '{}', 'p', 6)).* FROM unnest('{alice,bob}'::text[]) AS username;
SELECT (yquota.application_priority('alice', '{}', 'p')).*;

-- Workflows: the nearest queue counts, from the leaf up but without root. The last tag and the
-- later row count, names are compared in lower case, and the priority is clamped.
INSERT INTO yquota.queue (path) VALUES ('root.f'), ('root.f.g'), ('root.f.g.h');
INSERT INTO yquota.workflow_priority_mapping VALUES
	(1, 'W1', 'root.f', 4), (2, 'w1', 'root.f.g', 5), (3, 'w2', 'root.f', 6), (4, 'w2', 'root.f', 7), (5, 'w3', 'root', 8), (6, 'w4', 'h', 9), (7, 'w5', 'root.f', 50);
SELECT tags, p.priority, p.reason
FROM (VALUES ('{workflowid:w1}'::text[]), ('{WorkflowId:W1}'), ('{workflowid:w2}'), ('{workflowid:w2,other,workflowid:w1}'), ('{workflowid:w3}'),
			 ('{workflowid:w4}'), ('{workflowid:w5}'), ('{workflowid:}'), ('{w1}'), ('{}'), (NULL), ('{" workflowid:w1 "}')) AS v (tags),
	 yquota.application_priority('alice', '{}', 'h', 2, tags) AS p;
UPDATE yquota.scheduler_setting SET workflow_priority_mappings_override_enable = true;
SELECT tags, p.priority, p.reason
FROM (VALUES ('{workflowid:w1}'::text[]), ('{WorkflowId:W1}'), ('{workflowid:w2}'), ('{workflowid:w2,other,workflowid:w1}'), ('{workflowid:w3}'),
			 ('{workflowid:w4}'), ('{workflowid:w5}'), ('{workflowid:}'), ('{w1}'), ('{}'), (NULL), ('{" workflowid:w1 "}')) AS v (tags),
	 yquota.application_priority('alice', '{}', 'h', 2, tags) AS p;
UPDATE yquota.scheduler_setting SET workflow_id_tag_prefix = 'flow-';
SELECT (yquota.application_priority('alice', '{}', 'h', 2, '{flow-w1}')).*;
SELECT yquota.application_priority('alice', '{}', 'h', 2, '{x,NULL}');
SELECT yquota.application_priority('alice', '{}', NULL);
SELECT yquota.application_priority(NULL, '{}', 'h');

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_queue_access WITH (FORCE);
