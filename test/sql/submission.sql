--
-- Submission: each limit and refusal with its figures, in the order in which a resource manager of
-- Hadoop 3.4.1 checks them.
--
SET client_min_messages = warning;
CREATE DATABASE yquota_submission;
\c yquota_submission
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET client_min_messages = error;
\set VERBOSITY terse
\pset null -
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-01-01 00:00:00Z');

-- ids in the order of submission, and results without their NULL columns
CREATE SEQUENCE number;
CREATE FUNCTION next_id() RETURNS text LANGUAGE sql AS $$SELECT format('application_1_%s', lpad(nextval('number')::text, 4, '0'))$$;
CREATE FUNCTION told(anyelement) RETURNS text LANGUAGE sql AS
	$$SELECT string_agg(format('%s=%s', key, value), E'\n  ' ORDER BY number)
	  FROM json_each_text(row_to_json($1)) WITH ORDINALITY AS e (key, value, number) WHERE value IS NOT NULL AND key <> 'activated'$$;
CREATE FUNCTION counts() RETURNS TABLE (queue text, username text, label text, held int, waiting int, active int, demanding int, am_used text) LANGUAGE sql AS
	$$SELECT queue, username, label, non_runnable, accepted, active, demanding, am_used::text FROM yquota_internal.application_counter ORDER BY 1, 2, 3$$;
-- Return the allocation that is charged for an application master, or the reason of its refusal.
CREATE FUNCTION charged(id text, asked text, least_mb int, least_vcores int, calculator text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	submitted record;
BEGIN
	UPDATE yquota.scheduler_setting SET resource_calculator = 'org.apache.hadoop.yarn.util.resource.' || calculator,
		minimum_allocation_mb = least_mb, minimum_allocation_vcores = least_vcores, maximum_allocation_vcores = 8;
	SELECT * INTO submitted FROM yquota.submit_application(id, 'alice', NULL, 'a', am_resource => asked::yquota.resource);
	RETURN CASE submitted.state WHEN 'REJECTED' THEN submitted.reason ELSE (SELECT am_resource::text FROM yquota.application WHERE application_id = id) END;
END
$$;
\pset format unaligned
\pset tuples_only on

-- the ten nodes have 100 GB, and a and b have one half each
INSERT INTO yquota.node (name, total) SELECT format('n%s', i), '[memory-mb=10240,vcores=10]' FROM generate_series(1, 10) AS i;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent) VALUES (0.1);
INSERT INTO yquota.queue (path, capacity, maximum_allocation_mb) VALUES ('root', NULL, NULL), ('root.a', '50', NULL), ('root.b', '50', NULL), ('root.b.b1', '100', 4096);

-- placement: a queue named by its path or short name, an unknown or ambiguous name, and a queue
-- that is not a leaf
SELECT told(yquota.submit_application(next_id(), 'alice', '{dev}', queue)) FROM unnest('{root.a,b1}'::text[]) AS queue;
SELECT told(yquota.submit_application(next_id(), 'alice', '{dev}', queue)) FROM unnest('{root.c,root.b,default,root..a}'::text[]) AS queue;
INSERT INTO yquota.queue (path, capacity) VALUES ('root.b.b2', '0'), ('root.b.b2.b1', '0');
SELECT told(yquota.submit_application(next_id(), 'alice', '{dev}', 'b1'));
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.b.b2';
SELECT told(yquota.submit_application(next_id(), 'alice', '{dev}', 'root.b.b2.b1'));
DELETE FROM yquota.queue WHERE path LIKE 'root.b.b2%';
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, fallback_result) VALUES ('json', 1, 'user', 'mallory', 'reject', 'reject');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, custom_placement, fallback_result) VALUES ('json', 2, 'user', 'bob', 'custom', 'root.b.b1', 'skip');
UPDATE yquota.scheduler_setting SET mapping_rule_format = 'json';
SELECT told(yquota.submit_application(next_id(), username, '{dev}')) FROM unnest('{mallory,bob}'::text[]) AS username;

-- a queue for reservations accepts applications only in the queues of its reservations
BEGIN;
UPDATE yquota.queue SET capacity = '0', reservable = true, state = 'STOPPED' WHERE path = 'root.a';
UPDATE yquota.queue SET capacity = '100' WHERE path = 'root.b';
SELECT told(yquota.submit_application('application_0_1', 'alice', '{dev}', 'root.a'));
ROLLBACK;

-- the application master is rounded up to a multiple of the minimum allocation, at most to the
-- maximum
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'a', am_resource => am)) FROM unnest('{"[memory-mb=1]","[memory-mb=8193]","[vcores=5,memory-mb=1]","[memory-mb=1,yarn.io/fpga=1]","[memory-mb=-1]"}'::yquota.resource[]) AS am;
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'b1', am_resource => '[memory-mb=4097]'));
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'b1', am_resource => '[memory-mb=4097]', unmanaged => true));
SELECT application_id, queue, state, am_resource, unmanaged FROM yquota.application WHERE state <> 'REJECTED' ORDER BY 1;

-- V110: amounts are rounded up to multiples of the minimum allocation, and the default calculator
-- rounds only memory
BEGIN;
SELECT asked, least_mb, least_vcores, charged(format('master_%s_%s', number, 1), asked, least_mb, least_vcores, 'DefaultResourceCalculator'),
	   charged(format('master_%s_%s', number, 2), asked, least_mb, least_vcores, 'DominantResourceCalculator')
FROM (VALUES (1, '[memory-mb=1111,vcores=2]', 1024, 4), (2, '[memory-mb=512]', 2048, 2), (3, '[memory-mb=8192,vcores=8]', 1024, 1),
			 (4, '[memory-mb=7000,vcores=7]', 3000, 5), (5, '[memory-mb=9216,vcores=9]', 1024, 1)) AS v (number, asked, least_mb, least_vcores);
ROLLBACK;

-- labels
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'a', label => 'x'));
UPDATE yquota.scheduler_setting SET node_labels_enabled = true;
INSERT INTO yquota.node_label VALUES ('x'), ('y');
UPDATE yquota.queue SET accessible_node_labels = '{x}', default_node_label_expression = 'x' WHERE path = 'root.b.b1';
UPDATE yquota.queue SET accessible_node_labels = '{x}' WHERE path = 'root.b';
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.b', 'x', '100'), ('root.b.b1', 'x', '100');
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, queue, label => label))
FROM (VALUES ('a', 'x'), ('b1', 'y'), ('b1', 'x && y'), ('b1', 'z'), ('b1', ' x '), ('b1', NULL), ('b1', '')) AS v (queue, label);
-- The label expression of the application master counts first, then the expression of all
-- containers, then the queue's. An empty expression counts as none.
BEGIN;
SELECT yquota.submit_application('l' || number, 'alice', NULL, 'b1', label => label, node_label_expression => expression)
FROM (VALUES (1, '', ''), (2, ' ', 'x'), (3, '', ' '), (4, NULL, 'y')) AS v (number, label, expression) \g /dev/null
SELECT application_id, label, node_label_expression, state FROM yquota.application WHERE application_id LIKE 'l%' ORDER BY 1;
ROLLBACK;
SELECT * FROM counts();

-- lifetime: the queue's default, limited by its maximum
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'a', lifetime => lifetime)) FROM unnest('{0,-5}'::bigint[]) AS lifetime;
UPDATE yquota.queue SET maximum_application_lifetime = 100, default_application_lifetime = 40 WHERE path = 'root.a';
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'a', lifetime => lifetime)) FROM unnest('{50,NULL,500}'::bigint[]) AS lifetime;
SELECT application_id, lifetime, expires_at FROM yquota.application WHERE lifetime IS NOT NULL ORDER BY 1;

-- the priority is clamped, and limited by priority lists and by the workflow
UPDATE yquota.scheduler_setting SET cluster_max_application_priority = 10, acl_enable = true, workflow_priority_mappings_override_enable = true;
UPDATE yquota.queue SET default_application_priority = 3, acl_application_max_priority = '[user=alice max_priority=7]' WHERE path = 'root.a';
INSERT INTO yquota.workflow_priority_mapping VALUES (1, 'wf', 'root.a', 5), (2, 'urgent', 'root.a', 9);
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'a', priority => priority, tags => tags))
FROM (VALUES (NULL, NULL), (7, NULL), (8, NULL), (99, NULL), (-1, NULL), (7, '{workflowid:WF}'::text[]), (1, '{workflowid:urgent}')) AS v (priority, tags);

-- access
UPDATE yquota.queue SET acl_submit_applications = ' ', acl_administer_queue = ' ' WHERE path = 'root';
UPDATE yquota.queue SET acl_submit_applications = 'alice ops' WHERE path = 'root.a';
UPDATE yquota.queue SET acl_application_max_priority = NULL WHERE path = 'root.a';
SELECT told(yquota.submit_application(next_id(), username, groups, 'a'))
FROM (VALUES ('eve', NULL), ('eve', '{dev,ops}'::text[])) AS v (username, groups);
UPDATE yquota.scheduler_setting SET acl_enable = false;
UPDATE yquota.queue SET acl_submit_applications = NULL, acl_administer_queue = NULL WHERE path = 'root';

-- states of the queue and of the queues above it
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.b';
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'b1'));
SELECT queue, state, applications FROM yquota.effective_queue WHERE label = '' ORDER BY ordinal;
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.b';
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.b.b1';

-- numbers of applications of the queue, of the user, and of the cluster
TRUNCATE yquota.application;
SELECT * FROM counts();
SELECT sum(live) FROM yquota_internal.live_application_count;
UPDATE yquota.queue SET maximum_applications = 3, minimum_user_limit_percent = 50, user_limit_factor = 1.4,
	maximum_application_lifetime = NULL, default_application_lifetime = NULL, default_application_priority = NULL WHERE path = 'root.a';
SELECT maximum_applications, maximum_applications_per_user FROM yquota.effective_queue WHERE queue = 'root.a';
SELECT told(yquota.submit_application(next_id(), username, NULL, 'a')) FROM unnest('{alice,alice,alice,bob,bob,eve}'::text[]) AS username;
UPDATE yquota.scheduler_setting SET maximum_applications = 4;
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'b1')) FROM generate_series(1, 2);
SELECT told(yquota.submit_application('application_2_1', 'alice', NULL, 'b1', dry_run => true));
SELECT yquota.finish_application(application_id, 'KILLED') FROM yquota.application WHERE queue = 'root.b.b1' AND finished_at IS NULL;
SELECT told(yquota.submit_application('application_2_1', 'alice', NULL, 'b1', dry_run => true));
SELECT * FROM yquota.submit_application('application_2_1', 'alice', NULL, 'b1', dry_run => NULL);
UPDATE yquota.scheduler_setting SET maximum_applications = NULL;
SELECT * FROM yquota.verify();

-- limits of zero: for a queue, for every queue, and for the cluster
BEGIN;
UPDATE yquota.queue SET maximum_applications = 0 WHERE path = 'root.a';
SELECT told(yquota.submit_application(next_id(), 'zoe', NULL, 'a'));
UPDATE yquota.scheduler_setting SET global_queue_max_application = 7;
UPDATE yquota.queue SET maximum_applications = NULL WHERE path = 'root.a';
SELECT queue, maximum_applications, maximum_applications_per_user FROM yquota.effective_queue WHERE kind = 'leaf' AND label = '';
UPDATE yquota.scheduler_setting SET global_queue_max_application = 0, maximum_applications = 0;
SELECT queue, maximum_applications, maximum_applications_per_user FROM yquota.effective_queue WHERE kind = 'leaf' AND label = '';
SELECT told(yquota.submit_application(next_id(), 'zoe', NULL, 'a'));
ROLLBACK;

-- the limit of parallel applications holds an application back; a held application counts for the
-- queue but not for the user
TRUNCATE yquota.application;
ALTER SEQUENCE number RESTART 100;
UPDATE yquota.queue SET max_parallel_apps = 2 WHERE path = 'root.a';
UPDATE yquota.queue SET max_parallel_apps = 3 WHERE path = 'root';
INSERT INTO yquota.user_setting VALUES ('bob', 1);
SELECT told(yquota.submit_application(next_id(), username, NULL, queue))
FROM (VALUES ('bob', 'a'), ('bob', 'b1'), ('alice', 'a'), ('alice', 'a'), ('alice', 'a'), ('eve', 'b1'), ('eve', 'b1')) AS v (username, queue);
SELECT * FROM counts();

-- held applications count against maximum-applications
-- (TestCapacityScheduler.testMaxAppsReachedWithNonRunnableApps)
TRUNCATE yquota.application;
UPDATE yquota.queue SET maximum_applications = 4, minimum_user_limit_percent = NULL, user_limit_factor = NULL WHERE path = 'root.a';
SELECT s.state, s.decided_by, s.used, s.maximum FROM generate_series(1, 5) AS i, yquota.submit_application(format('held_%s', i), 'user', NULL, 'a') AS s;

-- room for application masters of the user and of the queue: an application that does not fit is
-- skipped
TRUNCATE yquota.application;
ALTER SEQUENCE number RESTART 200;
DELETE FROM yquota.user_setting;
UPDATE yquota.queue SET max_parallel_apps = NULL, maximum_applications = NULL, minimum_user_limit_percent = NULL, user_limit_factor = NULL;
UPDATE yquota.queue SET maximum_capacity = '50' WHERE path = 'root.a';
SELECT told(yquota.submit_application(next_id(), username, NULL, 'a', am_resource => am))
FROM (VALUES ('alice', '[memory-mb=3072]'::yquota.resource), ('alice', '[memory-mb=3072]'), ('alice', '[memory-mb=1024]'), ('bob', '[memory-mb=1024]'), ('bob', '[memory-mb=1024]')) AS v (username, am);
SELECT * FROM counts();
-- without nodes all applications wait
UPDATE yquota.node SET state = 'LOST';
SELECT told(yquota.submit_application(next_id(), 'alice', NULL, 'b1', label => ''));
UPDATE yquota.node SET state = 'RUNNING';
SELECT * FROM yquota.activate_applications('b1');
SELECT * FROM yquota.activate_applications();

-- credit
TRUNCATE yquota.application;
ALTER SEQUENCE number RESTART 300;
INSERT INTO yquota.project (name, quota_mode, on_exhausted) SELECT mode || '-' || policy, mode::yquota.quota_mode, policy::yquota.exhaustion_policy
FROM unnest('{PREPAID,NOLIMIT}'::text[]) AS mode, unnest(enum_range(NULL::yquota.exhaustion_policy)::text[]) AS policy;
SELECT name, state, decided_by, decided_at, reason
FROM yquota.project, yquota.submit_application(next_id(), 'alice', NULL, 'a', project => name) ORDER BY name;
INSERT INTO yquota.quota_grant (project, amount, reason) SELECT name, 0.5, 'test' FROM yquota.project;
SELECT name, state, decided_by FROM yquota.project, yquota.submit_application(next_id(), 'alice', NULL, 'a', project => name) ORDER BY name;
-- an unknown project refuses only its own application, not the other applications of the set
SELECT name, state, decided_by, decided_at, reason FROM unnest('{PREPAID-stop,nobody,NOLIMIT-stop}'::text[]) AS name,
	yquota.submit_application('of ' || name, 'alice', NULL, 'a', project => name);
SELECT state, decided_by, decided_at FROM yquota.submit_application('of nobody', 'alice', NULL, 'a', project => 'nobody', dry_run => true);
SELECT application_id, state, project, diagnostics FROM yquota.application WHERE application_id LIKE 'of %' ORDER BY application_id;
INSERT INTO yquota.project (name) VALUES ('nobody');
SELECT state, decided_by FROM yquota.submit_application('of nobody', 'alice', NULL, 'a', project => 'nobody');

-- an id can be used once, unless its submission was refused
SELECT told(yquota.submit_application('job-1', 'alice', NULL, 'nowhere'));
SELECT told(yquota.submit_application('job-1', 'alice', NULL, 'a'));
SELECT yquota.submit_application('job-1', 'alice', NULL, 'a');
SELECT yquota.submit_application('job-1', 'alice', NULL, 'nowhere');
SELECT yquota.finish_application('job-1');
SELECT yquota.submit_application('job-1', 'alice', NULL, 'a');
SELECT application_id, state, queue, diagnostics FROM yquota.application WHERE application_id = 'job-1';

-- malformed calls record nothing
SELECT yquota.submit_application(NULL, 'alice', NULL);
SELECT yquota.submit_application('', 'alice', NULL);
SELECT yquota.submit_application(repeat('x', 256), 'alice', NULL);
SELECT yquota.submit_application('job-2', NULL, NULL);
SELECT yquota.submit_application('job-2', '', NULL);
SELECT yquota.submit_application('job-2', repeat('x', 256), NULL);
SELECT yquota.submit_application('job-2', 'alice', '{NULL}');
SELECT yquota.submit_application('job-2', 'alice', NULL, NULL);
SELECT yquota.submit_application('job-2', 'alice', NULL, tags => '{NULL}');
SELECT count(*) FROM yquota.application WHERE application_id = 'job-2';

-- a placement rule sends applications to queues that are created for them
BEGIN;
UPDATE yquota.queue SET capacity = '40' WHERE path = 'root.a';
INSERT INTO yquota.queue (path, capacity, auto_queue_creation_v2_enabled, auto_queue_creation_v2_max_queues) VALUES ('root.users', '10', true, 1);
COMMIT;
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, custom_placement, create_queue, fallback_result)
VALUES ('json', 3, 'user', '*', 'custom', 'root.users.%user', true, 'skip');
SELECT told(yquota.submit_application('job-3', 'carol', NULL, dry_run => true));
SELECT told(yquota.submit_application('job-3', 'carol', NULL, am_resource => '[memory-mb=2048]'));
SELECT told(yquota.submit_application('job-4', 'dave', NULL));
SELECT told(yquota.submit_application('job-5', 'dave', NULL, 'root.users.fay'));
SELECT told(yquota.submit_application('job-6', 'dave', NULL, 'root.users.carol'));
SELECT path, auto_created FROM yquota.queue WHERE path LIKE 'root.users%' ORDER BY 1;

-- counts follow the rows, whichever role changes them
UPDATE yquota.application SET state = 'NON_RUNNABLE' WHERE application_id = (SELECT min(application_id) FROM yquota.application WHERE state = 'ACTIVE');
UPDATE yquota.application SET username = 'zoe', has_outstanding_requests = false WHERE application_id = (SELECT min(application_id) FROM yquota.application WHERE state = 'ACCEPTED');
DELETE FROM yquota.application WHERE application_id = (SELECT max(application_id) FROM yquota.application WHERE state = 'ACTIVE' AND queue = 'root.a');
SELECT * FROM counts();
SELECT * FROM yquota.verify();
UPDATE yquota_internal.application_counter SET accepted = accepted + 1 WHERE username = 'zoe';
UPDATE yquota_internal.live_application_count SET live = live + 1;
SELECT * FROM yquota.verify();
\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_submission WITH (FORCE);
