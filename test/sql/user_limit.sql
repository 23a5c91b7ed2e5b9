-- The limit of a user of a leaf queue, and the headroom of an application. The figures and their
-- terms are those of the CapacityScheduler's own tests.

SET client_min_messages = warning;
CREATE DATABASE yquota_user_limit;
\c yquota_user_limit
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');

-- Replace the configuration. Each line of queues is "path capacity maximum". A label follows its
-- path as @label, and - is an unset value. The command then changes further settings.
CREATE FUNCTION pg_temp.configure(queues text, command text DEFAULT '') RETURNS void
	LANGUAGE plpgsql AS $$
DECLARE
	f text[];
	position integer := 0;
BEGIN
	SET CONSTRAINTS ALL DEFERRED;
	DELETE FROM yquota.application;
	TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting, yquota.node_label;
	FOR f IN SELECT regexp_split_to_array(trim(line, E'\t '), '\s+') FROM string_to_table(trim(queues, E'\n\t '), E'\n') AS line LOOP
		position := position + 1;
		IF f[1] LIKE '%@%' THEN
			INSERT INTO yquota.node_label (name) VALUES (split_part(f[1], '@', 2)) ON CONFLICT DO NOTHING;
			INSERT INTO yquota.queue_label (queue, label, capacity, maximum_capacity)
			VALUES (split_part(f[1], '@', 1), split_part(f[1], '@', 2), nullif(f[2], '-'), nullif(f[3], '-'));
		ELSE
			INSERT INTO yquota.queue (path, capacity, maximum_capacity, position)
			VALUES (f[1], nullif(f[2], '-'), nullif(f[3], '-'), position);
		END IF;
	END LOOP;
	EXECUTE command;
	SET CONSTRAINTS ALL IMMEDIATE;
END
$$;
-- Replace the nodes of the cluster, each "resource" or "resource@label", and end all containers.
CREATE FUNCTION pg_temp.nodes(VARIADIC totals text[]) RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', c.container_id, '2026-03-02 09:30+00' FROM yquota.container AS c;
	DELETE FROM yquota.node;
	INSERT INTO yquota.node (name, label, total)
	SELECT 'n' || n, CASE WHEN t LIKE '%@%' THEN split_part(t, '@', 2) ELSE '' END, split_part(t, '@', 1)::yquota.resource
	FROM unnest(totals) WITH ORDINALITY AS u (t, n);
END
$$;
-- Create ACTIVE applications of a leaf, each "id user". A + after the user means that the
-- application wants containers.
CREATE FUNCTION pg_temp.applications(leaf text, VARIADIC list text[]) RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.application;
	INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at, activated_at,
									has_outstanding_requests)
	SELECT split_part(a, ' ', 1), rtrim(split_part(a, ' ', 2), '+'), leaf, '[]', 0, 'ACTIVE', yquota.clock(), yquota.clock(), a LIKE '%+'
	FROM unnest(list) AS a;
END
$$;
CREATE SEQUENCE pg_temp.container;
CREATE FUNCTION pg_temp.run(application text, amount yquota.resource, node text DEFAULT 'n1') RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation)
	SELECT 'CONTAINER_START', 'c' || nextval('pg_temp.container'), '2026-03-02 09:00+00', 'p', a.application_id, a.username, a.queue, node, amount
	FROM yquota.application AS a WHERE a.application_id = application
$$;
CREATE FUNCTION pg_temp.mb(amount yquota.resource) RETURNS bigint
	LANGUAGE sql AS $$ SELECT yquota.amount(amount, 'memory-mb') $$;
-- Return the limit of a user in MB with its terms, and whether the user may get more.
CREATE FUNCTION pg_temp.of_user(leaf text, who text, label text DEFAULT '', ignored boolean DEFAULT false,
								OUT "limit" bigint, OUT used bigint, OUT more boolean, OUT capacity bigint, OUT active integer,
								OUT share bigint, OUT minimum bigint, OUT most bigint, OUT of_all bigint)
	LANGUAGE sql AS $$
	SELECT pg_temp.mb(l.resource_limit), pg_temp.mb(l.used), l.may_be_assigned, pg_temp.mb(l.current_capacity), l.active_users,
		   pg_temp.mb(l.active_share), pg_temp.mb(l.minimum_share), pg_temp.mb(l.maximum), pg_temp.mb(l.all_users_limit)
	FROM yquota.user_limit(leaf, who, label, ignored) AS l
$$;
CREATE FUNCTION pg_temp.left_to(VARIADIC list text[]) RETURNS TABLE (application text, headroom bigint)
	LANGUAGE sql AS $$
	SELECT a, pg_temp.mb(h.headroom) FROM unnest(list) AS a, yquota.headroom(a) AS h ORDER BY a
$$;

\echo V05: headroom of users who share a queue
SELECT pg_temp.configure('root - -
	root.a 10 -
	root.b 90 -', $$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 5 WHERE path = 'root.a'$$);
SELECT pg_temp.nodes('[memory-mb=1638400,vcores=1600]');
SELECT pg_temp.applications('root.a', 'a0 user_0+');
SELECT * FROM pg_temp.of_user('root.a', 'user_0');
SELECT * FROM pg_temp.left_to('a0');
SELECT pg_temp.applications('root.a', 'a0 user_0+', 'a1 user_0+', 'a2 user_1+');
SELECT * FROM pg_temp.of_user('a', 'user_1');
SELECT * FROM pg_temp.left_to('a0', 'a1', 'a2');
-- the older figures of this vector, with a smaller cluster
SELECT pg_temp.nodes('[memory-mb=1474560,vcores=1440]');
SELECT * FROM pg_temp.left_to('a0', 'a1', 'a2');

\echo V13: the more users want containers, the less each of them may have
SELECT pg_temp.configure('root - -
	root.a 100 100', $$UPDATE yquota.queue SET minimum_user_limit_percent = 0, user_limit_factor = 1 WHERE path = 'root.a'$$);
SELECT pg_temp.nodes('[memory-mb=6144,vcores=1]', '[memory-mb=6144,vcores=1]', '[memory-mb=6144,vcores=1]', '[memory-mb=6144,vcores=1]');
SELECT pg_temp.applications('root.a', 'a9 user_0+');
SELECT count(pg_temp.run('a9', '[memory-mb=1024,vcores=1]')) FROM generate_series(1, 10);
SELECT * FROM pg_temp.of_user('root.a', 'user_0');
SELECT pg_temp.applications('root.a', 'a9 user_0+', 'a0 user_0+', 'a1 user_1+', 'a2 user_2+');
SELECT * FROM pg_temp.of_user('root.a', 'user_0');
SELECT * FROM pg_temp.of_user('root.a', 'user_2');
SELECT pg_temp.applications('root.a', 'a9 user_0+', 'a0 user_0+', 'a1 user_1+', 'a2 user_2+', 'a3 user_3+');
SELECT * FROM pg_temp.of_user('root.a', 'user_3');
-- user_limit() shows the limit with all its terms
SELECT * FROM yquota.user_limit('root.a', 'user_0') \gx

-- the hierarchy of queues of the following vectors
CREATE FUNCTION pg_temp.tree(command text) RETURNS void LANGUAGE sql AS $$
	SELECT pg_temp.configure('root - -
	root.R 100 100
	root.R.a 8.5 100
	root.R.b 80 99
	root.R.c 1.5 10
	root.R.c.c1 100 -
	root.R.d 9 11
	root.R.e 1 1', command)
$$;

\echo V14: a user beyond the limit; a queue without a factor
SELECT pg_temp.tree($$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 1 WHERE name = 'a'$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=16]', '[memory-mb=8192,vcores=16]');
SELECT pg_temp.applications('root.R.a', 'a0 user0+', 'a1 user1+');
SELECT * FROM pg_temp.of_user('a', 'user0');
SELECT pg_temp.run('a0', '[memory-mb=3072,vcores=1]');
SELECT * FROM pg_temp.of_user('a', 'user0');
SELECT * FROM pg_temp.of_user('a', 'user1');
SELECT pg_temp.run('a1', '[memory-mb=1024,vcores=1]');
UPDATE yquota.queue SET user_limit_factor = -1 WHERE name = 'a';
SELECT * FROM pg_temp.of_user('a', 'user0');

\echo V16: a percentage with decimals
SELECT pg_temp.tree($$UPDATE yquota.queue SET minimum_user_limit_percent = 50.1, user_limit_factor = -1 WHERE name = 'a'$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=16]', '[memory-mb=8192,vcores=16]');
SELECT pg_temp.applications('root.R.a', 'a0 user0+', 'a1 user1+');
SELECT pg_temp.run('a0', '[memory-mb=3072,vcores=1]');
SELECT * FROM pg_temp.of_user('a', 'user0');
UPDATE yquota.queue SET minimum_user_limit_percent = 50 WHERE name = 'a';
SELECT * FROM pg_temp.of_user('a', 'user0');

\echo V17: weights of users
SELECT pg_temp.tree($$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 2 WHERE name = 'a';
	INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.R.a', 'user_0', 1.5), ('root.R.a', 'firstname.lastname', 0.7)$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=16]', '[memory-mb=8192,vcores=16]');
SELECT pg_temp.applications('root.R.a', 'a0 user_0+', 'a1 user_1+');
SELECT pg_temp.run('a0', '[memory-mb=4096,vcores=1]');
SELECT * FROM pg_temp.of_user('a', 'user_0');
SELECT pg_temp.run('a0', '[memory-mb=4096,vcores=1]');
SELECT * FROM pg_temp.of_user('a', 'user_0');
SELECT * FROM pg_temp.of_user('a', 'user_1');
SELECT weight, active_weights, all_weights FROM yquota.user_limit('a', 'user_0');
-- a queue without a weight of its own uses the weight of the nearest queue above it
INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root', 'user_0', 0.25), ('root', 'user_1', 0.5), ('root.R', 'user_1', 0.75);
SELECT name, weight FROM unnest('{user_0,user_1}'::text[]) AS name, yquota.user_limit('a', name);
DELETE FROM yquota.queue_user WHERE queue <> 'root.R.a';
-- the weight of a user counts only while the user is active in the queue
SELECT weight FROM yquota.user_limit('a', 'firstname.lastname');
SELECT pg_temp.applications('root.R.a', 'a2 firstname.lastname');
SELECT weight, is_active, active_users, active_weights, all_users, all_weights FROM yquota.user_limit('a', 'firstname.lastname');

\echo V19: headroom within the maximum of the queue
SELECT pg_temp.tree($$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 2 WHERE name = 'a'$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=16]', '[memory-mb=8192,vcores=16]');
SELECT pg_temp.applications('root.R.a', 'a0 user_0', 'a1 user_0+', 'a2 user_1');
SELECT pg_temp.run('a0', '[memory-mb=2048,vcores=1]');
SELECT * FROM pg_temp.left_to('a0', 'a1');
SELECT pg_temp.run('a1', '[memory-mb=1024,vcores=1]');
SELECT * FROM pg_temp.left_to('a0', 'a1');
UPDATE yquota.queue SET maximum_capacity = '10' WHERE name = 'a';
SELECT pg_temp.applications('root.R.a', 'a0 user_0', 'a1 user_0+', 'a2 user_1+');
SELECT * FROM pg_temp.left_to('a0', 'a1', 'a2');
SELECT pg_temp.applications('root.R.a', 'a0 user_0', 'a1 user_0', 'a2 user_1+');
SELECT user_limit, user_used, queue_limit, queue_used, total, free, headroom FROM yquota.headroom('a2') \gx

\echo V20: headroom of several applications
SELECT pg_temp.tree('');
SELECT pg_temp.nodes('[memory-mb=16384,vcores=16]', '[memory-mb=16384,vcores=16]');
SELECT pg_temp.applications('root.R.a', 'a0 user_0+', 'a1 user_0', 'a2 user_1');
SELECT pg_temp.run('a0', '[memory-mb=1024,vcores=1]');
SELECT * FROM pg_temp.left_to('a0', 'a1', 'a2');
SELECT pg_temp.run('a1', '[memory-mb=1024,vcores=1]');
SELECT * FROM pg_temp.left_to('a0', 'a1', 'a2');

\echo V11: the shares of users add up, each with its dominant resource
SELECT pg_temp.tree($$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 2, maximum_capacity = '100' WHERE name = 'b';
	INSERT INTO yquota.scheduler_setting (resource_calculator) VALUES ('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator')$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=100]', '[memory-mb=8192,vcores=100]');
SELECT pg_temp.applications('root.R.b', 'a0 user_0+', 'a2 user_1+');
SELECT pg_temp.run('a0', '[memory-mb=1024,vcores=40]'), pg_temp.run('a0', '[memory-mb=1024,vcores=40]'), pg_temp.run('a2', '[memory-mb=2048,vcores=10]');
-- the user has 80 of 200 cores, and 2 of 16 GB
SELECT usage_ratio, resource_limit, used, may_be_assigned, consumed, current_capacity, active_capacity, active_share, minimum_share, maximum
FROM yquota.user_limit('b', 'user_0') \gx
SELECT headroom FROM yquota.headroom('a0');
-- with a third node these are 80 of 300 cores, and 2 of 24 GB
INSERT INTO yquota.node (name, total) VALUES ('n3', '[memory-mb=8192,vcores=100]');
SELECT usage_ratio FROM yquota.user_limit('b', 'user_1');

\echo V10: the headroom is the smallest remainder of each resource, whatever the share
SELECT pg_temp.tree($$UPDATE yquota.queue SET user_limit_factor = 10, maximum_capacity = '99' WHERE name = 'b';
	INSERT INTO yquota.scheduler_setting (resource_calculator) VALUES ('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator')$$);
SELECT pg_temp.nodes('[memory-mb=102400,vcores=100]');
SELECT pg_temp.applications('root.R.b', 'a0 user_0+');
SELECT pg_temp.run('a0', '[memory-mb=92160,vcores=10]');
-- the queue's limit is 99 GB and 99 cores: 10 GB do not fit beside the used 90 GB, although 10
-- cores would
SELECT queue_limit, queue_used, free, headroom, yquota.fits_in('[memory-mb=10240,vcores=10]', headroom) AS fits FROM yquota.headroom('a0');

\echo V61: without a factor, only the maximum of the queue is a limit
SELECT pg_temp.configure('root - -
	root.a 1w -
	root.e 1w -', $$UPDATE yquota.queue SET user_limit_factor = -1 WHERE name = 'e'$$);
SELECT pg_temp.nodes('[memory-mb=1228800,vcores=1200]');
SELECT pg_temp.applications('root.e', 'a0 u+');
SELECT * FROM pg_temp.of_user('e', 'u');
UPDATE yquota.queue SET user_limit_factor = 1 WHERE name = 'e';
SELECT * FROM pg_temp.of_user('e', 'u');

\echo the use of a queue is measured by its guarantee, but at least by a minimum allocation; without nodes it is 0
SELECT pg_temp.configure('root - -
	root.a 0 -
	root.b 100 -');
SELECT pg_temp.nodes('[memory-mb=10240,vcores=10]');
SELECT pg_temp.applications('root.a', 'a0 u+');
SELECT pg_temp.run('a0', '[memory-mb=2048,vcores=5]');
SELECT queue, used, used_capacity, absolute_used_capacity FROM yquota.effective_queue;
INSERT INTO yquota.scheduler_setting (resource_calculator) VALUES ('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator');
SELECT queue, used, used_capacity, absolute_used_capacity FROM yquota.effective_queue;
UPDATE yquota.node SET state = 'LOST';
SELECT queue, used, used_capacity, absolute_used_capacity FROM yquota.effective_queue;

\echo labels: each has its own limit, and a user may exceed the queue where nodes are lent
SELECT pg_temp.configure('root - -
	root@x 100 100
	root.a 50 100
	root.a@x 100 100
	root.b 50 100', $$UPDATE yquota.queue SET accessible_node_labels = CASE WHEN name = 'b' THEN '{}' ELSE '{x}' END::text[] WHERE path <> 'root'$$);
SELECT pg_temp.nodes('[memory-mb=10240,vcores=10]', '[memory-mb=20480,vcores=20]@x');
SELECT pg_temp.applications('root.a', 'a0 u+');
SELECT pg_temp.run('a0', '[memory-mb=3072,vcores=1]'), pg_temp.run('a0', '[memory-mb=1024,vcores=1]', 'n2');
SELECT * FROM pg_temp.of_user('a', 'u');
SELECT * FROM pg_temp.of_user('a', 'u', 'x');
SELECT partition, user_limit, user_used, queue_limit, queue_used, total, free, headroom FROM yquota.headroom('a0', 'x') \gx
SELECT pg_temp.applications('root.b', 'b0 v+');
SELECT * FROM pg_temp.of_user('b', 'v', 'x');
SELECT * FROM pg_temp.of_user('b', 'v', 'x', true);
-- a user with containers counts as a user of the queue, also without a request
SELECT all_users, active_users FROM yquota.user_limit('a', 'u');

\echo invalid calls
SELECT resource_limit FROM yquota.user_limit('root.c', 'u');
SELECT resource_limit FROM yquota.user_limit('root', 'u');
SELECT resource_limit FROM yquota.user_limit('a', 'u', 'y');
SELECT resource_limit FROM yquota.user_limit(NULL, 'u');
SELECT resource_limit FROM yquota.user_limit('a', '');
SELECT headroom FROM yquota.headroom('none');
SELECT headroom FROM yquota.headroom('b0', 'y');
UPDATE yquota.application SET state = 'FINISHED', finished_at = yquota.clock();
SELECT headroom FROM yquota.headroom('b0');
-- only operators, viewers and administrators may ask about other users
CREATE ROLE yquota_test_limited;
GRANT USAGE ON SCHEMA yquota TO yquota_test_limited;
SELECT yquota.allow_role('yquota_test_limited', 'member', 'p');
SET ROLE yquota_test_limited;
SELECT resource_limit FROM yquota.user_limit('a', 'u');
SELECT resource_limit FROM yquota.user_limit('a', 'yquota_test_limited');
SELECT headroom FROM yquota.headroom('b0');
RESET ROLE;
SELECT yquota.disallow_role('yquota_test_limited', 'member', 'p'), yquota.allow_role('yquota_test_limited', 'operator');
SET ROLE yquota_test_limited;
SELECT resource_limit FROM yquota.user_limit('a', 'u');
RESET ROLE;
SELECT yquota.disallow_role('yquota_test_limited', 'operator');
SET ROLE yquota_test_limited;
SELECT resource_limit FROM yquota.user_limit('a', 'yquota_test_limited');
RESET ROLE;

\echo reservations count as used, for the headroom as in the scheduler
SELECT pg_temp.configure('root - -
	root@x 100 100
	root.a 100 100
	root.a@x 100 100', $$UPDATE yquota.queue SET user_limit_factor = 0.5, accessible_node_labels = '{x}' WHERE path = 'root.a';
	INSERT INTO yquota.scheduler_setting (node_labels_enabled, reservations_continue_look_all_nodes) VALUES (true, false)$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=8]', '[memory-mb=8192,vcores=8]', '[memory-mb=8192,vcores=8]@x', '[memory-mb=8192,vcores=8]@x');
SELECT pg_temp.applications('root.a', 'application_1_1 yquota_test_limited');
UPDATE yquota.application SET unmanaged = true, project = 'p';
SELECT yquota.request_containers('application_1_1', '[memory-mb=6144,vcores=1]', 2),
	yquota.request_containers('application_1_1', '[memory-mb=6144,vcores=1]', 2, priority => 2, label => 'x');
SELECT decision, node FROM yquota.schedule('{n1}', 1);
SELECT decision, node FROM yquota.schedule('{n1}', 1);
SELECT stopped_by, used, maximum FROM yquota.schedule('{n2}', explain => true, dry_run => true) WHERE stopped_by <> 'label';
SELECT * FROM pg_temp.of_user('a', 'yquota_test_limited');
SELECT queue_used, free, headroom FROM yquota.headroom('application_1_1');
SELECT decision, node FROM yquota.schedule('{n3}', 1);
SELECT decision, node FROM yquota.schedule('{n3}', 1);
SELECT * FROM pg_temp.of_user('a', 'yquota_test_limited', 'x');
SELECT queue_used, free, headroom FROM yquota.headroom('application_1_1', 'x');
SELECT queue, label, used, used_capacity, absolute_used_capacity FROM yquota.effective_queue;
SELECT queue, label, used_capacity, used, reserved FROM yquota.scheduler_queue;
SELECT yquota.allow_role('yquota_test_limited', 'member', 'p');
SET ROLE yquota_test_limited;
SELECT used FROM yquota.user_limit('a', 'yquota_test_limited');
SELECT user_used FROM yquota.headroom('application_1_1', 'x');
RESET ROLE;
SELECT yquota.disallow_role('yquota_test_limited', 'member', 'p');
-- reservations do not count when their node is lost or has another label
UPDATE yquota.node SET state = 'LOST' WHERE name = 'n1';
UPDATE yquota.node SET label = '' WHERE name = 'n3';
SELECT label, used FROM unnest('{"",x}'::text[]) AS label, yquota.user_limit('a', 'yquota_test_limited', label);
SELECT queue, label, used, reserved FROM yquota.scheduler_queue;

\echo when no reservation of a user makes up for a limit, the user is passed over, and is told the limit and the wanted amount
SELECT pg_temp.configure('root - -
	root@x 100 100
	root.a 50 100
	root.a@x 50 100
	root.b 50 100
	root.b@x 50 100', $$UPDATE yquota.queue SET accessible_node_labels = '{x}' WHERE path <> 'root';
	INSERT INTO yquota.scheduler_setting (node_labels_enabled, resource_calculator, per_node_heartbeat_maximum_offswitch_assignments)
	VALUES (true, 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator', 20)$$);
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
SELECT pg_temp.nodes(VARIADIC array_fill('[memory-mb=65536,vcores=32,yarn.io/gpu=4]@x'::text, '{4}'));
SELECT pg_temp.applications('root.a', 'application_1_2 u');
UPDATE yquota.application SET unmanaged = true, project = 'p';
SELECT yquota.request_containers('application_1_2', '[memory-mb=1024,vcores=1,yarn.io/gpu=1]', 12, label => 'x');
SELECT decision, count(*) FROM yquota.schedule() GROUP BY 1 ORDER BY 1;
SELECT node, allocation, stopped_by, used, maximum FROM yquota.schedule(explain => true, dry_run => true);
SELECT used, resource_limit, may_be_assigned FROM yquota.user_limit('a', 'u', 'x');
SELECT pg_temp.configure('root - -
	root.a 50 80
	root.b 50 100', $$UPDATE yquota.queue SET user_limit_factor = 10 WHERE path = 'root.a'$$);
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
SELECT pg_temp.nodes('[memory-mb=8192,vcores=8]', '[memory-mb=4096,vcores=4]');
SELECT pg_temp.applications('root.a', 'application_1_3 u');
UPDATE yquota.application SET unmanaged = true, project = 'p';
SELECT pg_temp.run('application_1_3', '[memory-mb=2048,vcores=1]');
SELECT yquota.request_containers('application_1_3', '[memory-mb=7168,vcores=1]', 1, priority => 2);
SELECT decision, node, allocation FROM yquota.schedule('{n1}');
SELECT yquota.request_containers('application_1_3', '[memory-mb=2048,vcores=1]', 1);
SELECT priority, allocation, stopped_by, used, maximum FROM yquota.schedule('{n2}', explain => true, dry_run => true);
REVOKE USAGE ON SCHEMA yquota FROM yquota_test_limited;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_user_limit WITH (FORCE);
DROP ROLE yquota_test_limited;
