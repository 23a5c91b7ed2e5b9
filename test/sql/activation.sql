-- Activation: which waiting applications of a leaf queue may start their application masters, and
-- how many applications may run at once. The tests are the CapacityScheduler's own tests, and
-- include its surprising results.

SET client_min_messages = warning;
CREATE DATABASE yquota_activation;
\c yquota_activation
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');

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
	TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.user_setting, yquota.scheduler_setting, yquota.node_label;
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
-- Replace the nodes of the cluster. Each argument is "resource" or "resource@label".
CREATE FUNCTION pg_temp.nodes(VARIADIC totals text[]) RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.node;
	INSERT INTO yquota.node (name, label, total)
	SELECT 'n' || n, CASE WHEN t LIKE '%@%' THEN split_part(t, '@', 2) ELSE '' END, split_part(t, '@', 1)::yquota.resource
	FROM unnest(totals) WITH ORDINALITY AS u (t, n);
END
$$;
-- Submit an application whose application master needs so many MB, and return why it waits.
CREATE FUNCTION pg_temp.submit(number integer, username text, leaf text, memory bigint, priority integer DEFAULT 0, label text DEFAULT NULL,
							   OUT state yquota.application_state, OUT decided_by text, OUT decided_at text,
							   OUT used text, OUT maximum text)
	LANGUAGE sql AS $$
	SELECT s.state, s.decided_by, s.decided_at, coalesce(s.used::text, s.used_resource::text), coalesce(s.maximum::text, s.maximum_resource::text)
	FROM yquota.submit_application('application_1_' || number, username, '{}', leaf, am_resource => yquota.resource(memory, 1),
								   priority => priority, label => label) AS s
$$;
CREATE FUNCTION pg_temp.finish(number integer) RETURNS yquota.application_state
	LANGUAGE sql AS $$ SELECT yquota.finish_application('application_1_' || number) $$;
CREATE VIEW pg_temp.applications AS
	SELECT split_part(application_id, '_', 3)::integer AS number, username, queue, state
	FROM yquota.application WHERE finished_at IS NULL ORDER BY 1;
-- the numbers of active and of waiting applications
CREATE VIEW pg_temp.numbers AS
	SELECT count(*) FILTER (WHERE state = 'ACTIVE') AS active, count(*) FILTER (WHERE state = 'ACCEPTED') AS pending,
		   string_agg(split_part(application_id, '_', 3), ' ' ORDER BY split_part(application_id, '_', 3)::integer) FILTER (WHERE state = 'ACTIVE') AS active_ones
	FROM yquota.application;

\echo V01: limits of a queue and of a user
SELECT pg_temp.configure('root - -
	root.a 10 -
	root.b 90 -', $$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 5 WHERE path = 'root.a'$$);
SELECT pg_temp.nodes('[memory-mb=81920,vcores=40]');
-- a single active user may have 4 GB for application masters ...
SELECT * FROM pg_temp.submit(1, 'user_0', 'a', 2048);
SELECT * FROM pg_temp.submit(2, 'user_0', 'a', 2048);
SELECT * FROM pg_temp.submit(3, 'user_1', 'a', 2048);
-- ... and each of two active users 2 GB
SELECT * FROM pg_temp.submit(4, 'user_1', 'a', 2048);
SELECT * FROM pg_temp.numbers;
SELECT pg_temp.finish(3);
SELECT * FROM pg_temp.numbers;

\echo V04: an application that ends frees its place, active or not
SELECT pg_temp.configure('root - -
	root.a 10 -
	root.b 90 -', $$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 5 WHERE path = 'root.a'$$);
SELECT pg_temp.nodes('[memory-mb=163840,vcores=160]');
SELECT n, (pg_temp.submit(n, 'user_0', 'a', 4096)).state FROM generate_series(0, 3) AS n;
SELECT * FROM pg_temp.numbers;
SELECT pg_temp.finish(2);
SELECT * FROM pg_temp.numbers;
SELECT pg_temp.finish(0);
SELECT * FROM pg_temp.numbers;
SELECT pg_temp.finish(1), pg_temp.finish(3);
SELECT * FROM pg_temp.numbers;

\echo V47: the application with the larger priority comes first
SELECT pg_temp.configure('root - -
	root.default 100 -', $$INSERT INTO yquota.scheduler_setting (cluster_max_application_priority) VALUES (10)$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=8]');
SELECT (pg_temp.submit(1, 'u', 'default', 1024, 5)).state;
SELECT * FROM pg_temp.submit(2, 'u', 'default', 1024, 7);
SELECT (pg_temp.submit(3, 'u', 'default', 1024, 8)).state, (pg_temp.submit(4, 'u', 'default', 1024, 6)).state;
SELECT pg_temp.finish(1);
SELECT * FROM pg_temp.numbers;
-- a changed priority counts when the next application ends
SELECT yquota.update_application_priority('application_1_4', 9);
SELECT pg_temp.finish(3);
SELECT * FROM pg_temp.numbers;

\echo V50: no application starts without nodes; an application that ends frees its place, waiting or not
SELECT pg_temp.configure('root - -
	root.default 100 -', $$INSERT INTO yquota.scheduler_setting (cluster_max_application_priority) VALUES (10)$$);
CREATE FUNCTION pg_temp.kill(number integer) RETURNS TABLE (active bigint, pending bigint, active_ones text)
	LANGUAGE sql AS $$
	SELECT yquota.update_application_priority('application_1_' || number, 2), yquota.finish_application('application_1_' || number, 'KILLED');
	SELECT * FROM pg_temp.numbers
$$;
DELETE FROM yquota.node;
SELECT * FROM pg_temp.submit(1, 'u', 'default', 1024, 5);
SELECT * FROM pg_temp.kill(1);
SELECT pg_temp.nodes('[memory-mb=8096,vcores=8]');
SELECT (pg_temp.submit(2, 'u', 'default', 1024, 5)).state;
-- 10 % of the cluster's memory is rounded up to one allocation step
SELECT * FROM pg_temp.submit(3, 'u', 'default', 1024, 5);
SELECT (pg_temp.submit(4, 'u', 'default', 1024, 5)).decided_by;
SELECT * FROM pg_temp.kill(3);
SELECT * FROM pg_temp.kill(2);
SELECT * FROM pg_temp.kill(4);
-- the limit is ignored for the first application only
SELECT (pg_temp.submit(5, 'u', 'default', 2048)).state, (pg_temp.submit(6, 'u', 'default', 1024)).decided_by;

\echo V107: which requests fit beside an application master of 1 GB and one core
CREATE FUNCTION pg_temp.fits(asked yquota.resource, room yquota.resource, calculator text) RETURNS text
	LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.configure('root - -
	root.a 100 -', format('INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, resource_calculator) VALUES (1, %L)',
						  'org.apache.hadoop.yarn.util.resource.' || calculator));
	PERFORM pg_temp.nodes((room OPERATOR(yquota.+) yquota.resource(1024, 1))::text);
	PERFORM pg_temp.submit(1, 'u', 'a', 1024);
	RETURN (SELECT concat_ws(' ', s.state, s.decided_by) FROM yquota.submit_application('application_1_2', 'u', NULL, 'a', am_resource => asked) AS s);
END
$$;
SELECT asked, room, pg_temp.fits(asked, room, 'DefaultResourceCalculator') AS "by default", pg_temp.fits(asked, room, 'DominantResourceCalculator') AS dominant
FROM (VALUES (1, 2, 2, 1), (1, 2, 2, 2), (1, 2, 1, 2), (1, 2, 1, 1), (2, 1, 1, 2)) AS v (a, b, c, d),
	 LATERAL (SELECT yquota.resource(a * 1024, b) AS asked, yquota.resource(c * 1024, d) AS room) AS r;

\echo an application that does not fit does not delay the others
SELECT pg_temp.configure('root - -
	root.a 50 50
	root.b 50 50', $$UPDATE yquota.queue SET maximum_am_resource_percent = 0.5 WHERE path = 'root.a'$$);
SELECT pg_temp.nodes('[memory-mb=40960,vcores=40]');
SELECT (pg_temp.submit(1, 'u', 'a', 4096)).state, (pg_temp.submit(2, 'u', 'a', 8192)).decided_by, (pg_temp.submit(3, 'u', 'a', 4096)).state;
SELECT * FROM pg_temp.submit(4, 'u', 'a', 4096);
SELECT * FROM pg_temp.submit(5, 'u', 'a', 1024);
SELECT * FROM pg_temp.applications;
-- the application that fits starts, not the application that has waited longest
SELECT pg_temp.finish(5);
SELECT pg_temp.finish(3);
SELECT * FROM pg_temp.applications;

\echo the limit of the first user visited holds for all users, so only his weight counts
SELECT pg_temp.configure('root - -
	root.a 100 -', $$UPDATE yquota.queue SET maximum_am_resource_percent = 1, minimum_user_limit_percent = 25 WHERE path = 'root.a';
	INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.a', 'heavy', 2), ('root.a', 'light', 0.5)$$);
SELECT pg_temp.nodes('[memory-mb=8192,vcores=8]');
SELECT (pg_temp.submit(1, 'one', 'a', 1024)).state, (pg_temp.submit(2, 'two', 'a', 1024)).state;
-- Two active users share the queue's 8 GB, because the submitting user does not count yet. Each
-- gets half, and the weight 0.5 of the submitting user halves that again.
SELECT * FROM pg_temp.submit(3, 'light', 'a', 3072);
-- with the weight of the user heavy the limit would be 6 GB
SELECT * FROM pg_temp.submit(4, 'heavy', 'a', 3072);
SELECT pg_temp.finish(2);
SELECT * FROM pg_temp.applications;
-- when the user light has no application left, the user heavy is visited first
SELECT pg_temp.finish(3);
SELECT * FROM pg_temp.applications;

\echo partitions have limits of their own
SELECT pg_temp.configure('root - -
	root@x 100 100
	root.a 100 -
	root.a@x 50 100
	root.b 0 -
	root.b@x 50 -', $$UPDATE yquota.queue SET accessible_node_labels = '{x}' WHERE path <> 'root'$$);
SELECT pg_temp.nodes('[memory-mb=10240,vcores=10]', '[memory-mb=40960,vcores=40]@x');
SELECT (pg_temp.submit(1, 'u', 'a', 1024)).state, (pg_temp.submit(2, 'u', 'a', 1024)).decided_by;
-- on a label the limit is 10 % of the queue's guarantee on the label
SELECT (pg_temp.submit(3, 'u', 'a', 1024, 0, 'x')).state;
SELECT (pg_temp.submit(4, 'u', 'a', 1024, 0, 'x')).state;
SELECT * FROM pg_temp.submit(5, 'u', 'a', 1024, 0, 'x');
-- the first application on a label starts whatever the limit is
SELECT pg_temp.finish(3), pg_temp.finish(4), pg_temp.finish(5);
SELECT (pg_temp.submit(6, 'u', 'a', 4096, 0, 'x')).state;
SELECT * FROM pg_temp.applications;
SELECT label, am_limit FROM yquota.effective_queue WHERE queue = 'root.a';
-- a label has its own share for application masters, and without one the share of the queue applies
UPDATE yquota.queue_label SET maximum_am_resource_percent = 0.5 WHERE queue = 'root.a';
SELECT label, maximum_am_resource_percent, am_limit FROM yquota.effective_queue WHERE queue = 'root.a';
UPDATE yquota.queue_label SET maximum_am_resource_percent = NULL WHERE queue = 'root.a';
UPDATE yquota.queue SET maximum_am_resource_percent = 0.25 WHERE path = 'root.a';
SELECT label, maximum_am_resource_percent, am_limit FROM yquota.effective_queue WHERE queue = 'root.a';

\echo the use of other queues lowers the limit, but not below the guarantee
SELECT pg_temp.configure('root - -
	root.a 20 100
	root.b 80 100');
SELECT pg_temp.nodes('[memory-mb=40960,vcores=40]');
UPDATE yquota.queue SET minimum_user_limit_percent = 100, user_limit_factor = 10 WHERE path = 'root.a';
INSERT INTO yquota.project (name) VALUES ('p');
SELECT queue, am_limit FROM yquota.effective_queue WHERE queue = 'root.a';
SELECT (pg_temp.submit(1, 'u', 'a', 2048)).state, (pg_temp.submit(2, 'u', 'a', 1024)).state;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'c1', '2026-03-02 09:00+00', 'p', 'other', 'root.b', 'n1', '[memory-mb=20480,vcores=1]');
SELECT * FROM pg_temp.submit(3, 'u', 'a', 1024);
-- the limit is the same before and after compaction, and after a rollback of the change
SELECT yquota_internal.compact_counters();
SELECT am_limit FROM yquota.effective_queue WHERE queue = 'root.a';
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2026-03-02 09:30+00');
SELECT am_limit FROM yquota.effective_queue WHERE queue = 'root.a';
SELECT yquota_internal.compact_counters();
SELECT am_limit FROM yquota.effective_queue WHERE queue = 'root.a';
ROLLBACK;
SELECT am_limit FROM yquota.effective_queue WHERE queue = 'root.a';
SELECT * FROM yquota.activate_applications('root.a');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2026-03-02 09:30+00');
SELECT * FROM yquota.activate_applications('root.a');

\echo max_parallel_apps of a queue
SELECT pg_temp.configure('root - -
	root.a 50 -
	root.a.a1 50 -
	root.a.a2 50 -
	root.b 50 -', $$UPDATE yquota.queue SET max_parallel_apps = CASE name WHEN 'a' THEN 3 ELSE 2 END WHERE path IN ('root.a', 'root.a.a1');
	UPDATE yquota.queue SET maximum_am_resource_percent = 1$$);
SELECT pg_temp.nodes('[memory-mb=102400,vcores=100]');
SELECT n, (pg_temp.submit(n, 'u', 'a1', 1024)).state FROM generate_series(1, 2) AS n;
SELECT * FROM pg_temp.submit(3, 'u', 'a1', 1024);
SELECT (pg_temp.submit(4, 'u', 'a2', 1024)).state;
SELECT * FROM pg_temp.submit(5, 'v', 'a2', 1024);
-- root.a was full before application 4 ended. The leaf a1 has no room for application 3, so
-- application 5 of the leaf a2 starts.
SELECT pg_temp.finish(4);
SELECT * FROM pg_temp.applications;
-- both queues were full before application 1 ended, so application 3 starts first
SELECT pg_temp.finish(1);
SELECT * FROM pg_temp.applications;

\echo max_parallel_apps of a user, over the whole cluster
INSERT INTO yquota.user_setting (username, max_parallel_apps) VALUES ('w', 1);
SELECT (pg_temp.submit(11, 'w', 'b', 1024)).state;
SELECT * FROM pg_temp.submit(12, 'w', 'b', 1024);
SELECT * FROM pg_temp.submit(13, 'w', 'a2', 1024);
SELECT pg_temp.finish(11);
SELECT * FROM pg_temp.applications WHERE username = 'w';
-- a raised limit lets more applications run, and a lowered limit stops none
UPDATE yquota.user_setting SET max_parallel_apps = 2 WHERE username = 'w';
UPDATE yquota.queue SET max_parallel_apps = 4 WHERE path = 'root.a';
SELECT * FROM pg_temp.applications;
UPDATE yquota.queue SET max_parallel_apps = 1 WHERE path = 'root.a';
SELECT (pg_temp.submit(14, 'v', 'a2', 1024)).state;
-- no further application runs until fewer applications run than the limit allows
SELECT pg_temp.finish(2), pg_temp.finish(3), pg_temp.finish(5);
SELECT * FROM pg_temp.applications;
SELECT pg_temp.finish(13);
SELECT * FROM pg_temp.applications;
-- this setting applies to all users without a limit of their own
INSERT INTO yquota.scheduler_setting (user_max_parallel_apps) VALUES (1);
SELECT (pg_temp.submit(15, 'z', 'b', 1024)).state;
SELECT * FROM pg_temp.submit(16, 'z', 'b', 1024);
SELECT (pg_temp.submit(17, 'w', 'b', 1024)).state;
UPDATE yquota.scheduler_setting SET user_max_parallel_apps = NULL;
SELECT * FROM pg_temp.applications;

-- This setting applies to each queue without a limit of its own, root included.
SELECT pg_temp.configure('root - -
	root.a 50 -
	root.b 50 -', $$INSERT INTO yquota.scheduler_setting (max_parallel_apps, maximum_am_resource_percent) VALUES (1, 1);
	UPDATE yquota.queue SET max_parallel_apps = 3 WHERE path = 'root'$$);
SELECT n, s.* FROM generate_series(1, 2) AS n, pg_temp.submit(n, 'u', 'a', 1024) AS s;
SELECT (pg_temp.submit(3, 'u', 'b', 1024)).state;
UPDATE yquota.scheduler_setting SET max_parallel_apps = 2;
SELECT * FROM pg_temp.applications;
SELECT * FROM pg_temp.submit(4, 'u', 'b', 1024);

\echo V46: held applications count against the limit of the queue
SELECT pg_temp.configure('root - -
	root.default 100 -', $$UPDATE yquota.queue SET max_parallel_apps = 2, maximum_applications = 4 WHERE name = 'default'$$);
SELECT n, s.* FROM generate_series(1, 5) AS n, pg_temp.submit(n, 'u', 'default', 1024) AS s;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_activation WITH (FORCE);
