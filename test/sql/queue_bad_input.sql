--
-- Bad input, by mistake or on purpose. Each statement is refused with its error, and leaves nothing
-- behind. Input that Hadoop accepts is accepted.
--
-- Files that cannot be read are tested in hadoop_configuration.sql, values that no column accepts
-- in queue_tables.sql, and requests in queue_mutation.sql.
--
SET client_min_messages = error;
DROP DATABASE IF EXISTS yquota_queue_bad_input WITH (FORCE);
CREATE DATABASE yquota_queue_bad_input;
\c yquota_queue_bad_input
SET client_min_messages = error;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\pset null '(null)'
\pset format unaligned

SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a,b,c", "yarn.scheduler.capacity.root.a.queues": "x,y", "yarn.scheduler.capacity.root.b.queues": "x", "yarn.scheduler.capacity.root.a.capacity": "60",
	"yarn.scheduler.capacity.root.b.capacity": "40", "yarn.scheduler.capacity.root.c.capacity": "0", "yarn.scheduler.capacity.root.a.x.capacity": "100", "yarn.scheduler.capacity.root.a.y.capacity": "0", "yarn.scheduler.capacity.root.b.x.capacity": "100",
	"yarn.scheduler.capacity.root.accessible-node-labels.gpu.capacity": "100", "yarn.scheduler.capacity.root.a.accessible-node-labels": "gpu", "yarn.scheduler.capacity.root.a.accessible-node-labels.gpu.capacity": "100", "yarn.scheduler.capacity.root.a.x.accessible-node-labels.gpu.capacity": "100",
	"yarn.scheduler.capacity.root.b.accessible-node-labels": " ", "yarn.node-labels.enabled": "true", "yarn.scheduler.capacity.queue-mappings-override.enable": "true"}');
BEGIN;
INSERT INTO yquota.node_label (name) VALUES ('gpu'), ('ssd');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=102400,vcores=100]');
COMMIT;
CREATE VIEW everything AS
	SELECT 'configuration' AS what, property || '=' || value AS is FROM yquota.hadoop_configuration()
	UNION ALL SELECT 'queue', (path, running, kind)::text FROM yquota_internal.queue_status
	UNION ALL SELECT 'label', name FROM yquota.node_label
	UNION ALL SELECT 'application', application_id || state FROM yquota.application
	UNION ALL SELECT 'audit', count(*)::text FROM yquota.audit;
CREATE TABLE before AS TABLE everything;

-- Return the error of a statement at commit, and roll it back if it is accepted.
CREATE FUNCTION pg_temp.try(command text) RETURNS TABLE (error text, detail text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	SET CONSTRAINTS ALL IMMEDIATE;
	RAISE 'accepted' USING ERRCODE = 'YT001';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	error := left(CASE SQLSTATE WHEN 'YT001' THEN '' ELSE SQLSTATE || ': ' END || regexp_replace(SQLERRM, '^invalid configuration of queues: ', ''), 200);
	detail := left(split_part(detail, E'\n', 1), 120);
	RETURN NEXT;
END
$$;
CREATE FUNCTION pg_temp.insert_queue(path text, capacity text DEFAULT '0') RETURNS text LANGUAGE sql AS
	$$SELECT format('INSERT INTO yquota.queue (path, capacity) VALUES (%L, %L)', path, capacity)$$;
CREATE FUNCTION pg_temp.set_queue(path text, assignments text) RETURNS text LANGUAGE sql AS
	$$SELECT format('UPDATE yquota.queue SET %s WHERE path = %L', assignments, path)$$;
CREATE FUNCTION pg_temp.import(properties jsonb) RETURNS text LANGUAGE sql AS
	$$SELECT format('SELECT count(*) FROM yquota.import_hadoop_configuration(%L::jsonb, ''merge'')', jsonb_object_agg('yarn.scheduler.capacity.' || key, value)) FROM jsonb_each(properties)$$;

--
-- Queues that do not exist, exist already, or have no parent. A path cannot be a cycle: a queue
-- with the name of a queue above it is a different queue.
--
SELECT c.command, t.error FROM unnest(ARRAY[
	pg_temp.insert_queue('root.a'), pg_temp.insert_queue('root.z.y.x'), pg_temp.insert_queue('root'),
	'DELETE FROM yquota.queue WHERE path = ''root''', 'DELETE FROM yquota.queue WHERE path = ''root.a''', 'DELETE FROM yquota.queue', 'TRUNCATE yquota.queue CASCADE',
	pg_temp.set_queue('root.a', 'path = ''root.a.x.a'''), pg_temp.set_queue('root.a', 'path = ''root'''), pg_temp.set_queue('root', 'path = ''root.a.root'''),
	pg_temp.insert_queue('root.root'), pg_temp.insert_queue('root.a.a'), pg_temp.insert_queue('root.c.root.c.root', '100'),
	pg_temp.import('{"root.a.queues": "x,y,a", "root.a.a.queues": "a"}'), pg_temp.import('{"root.queues": "a,b,c,root"}'), pg_temp.import('{"root.queues": "a,b,c,a"}'),
	pg_temp.import('{"root.queues": "a,b"}'), pg_temp.import('{"root.nowhere.queues": "x"}'), pg_temp.import('{"root.queues": "a.x,b,c"}'),
	'INSERT INTO yquota.queue_label (queue, label, capacity) VALUES (''root.none'', ''gpu'', ''1'')', 'INSERT INTO yquota.queue_user (queue, username, weight) VALUES (''root.none'', ''bob'', 1)'
	]) WITH ORDINALITY AS c (command, number) CROSS JOIN LATERAL pg_temp.try(c.command) AS t ORDER BY c.number;

--
-- Capacities: wrong sums, capacities above the maximum, modes that cannot be combined, and weights
--
SELECT c.command, t.error FROM unnest(ARRAY[
	pg_temp.set_queue('root.a', 'capacity = ''59'''), pg_temp.set_queue('root.a', 'capacity = ''61'''), pg_temp.set_queue('root.a', 'capacity = ''60.04'''), pg_temp.set_queue('root.a', 'capacity = ''60.06'''),
	pg_temp.set_queue('root.a', 'capacity = ''-60'''), pg_temp.set_queue('root.a', 'capacity = ''1e9'''), pg_temp.set_queue('root.a', 'capacity = ''160'''), pg_temp.set_queue('root.a', 'capacity = NULL'), pg_temp.set_queue('root.c', 'capacity = NULL'),
	pg_temp.set_queue('root.a', 'capacity = ''NaN'''), pg_temp.set_queue('root.a', 'capacity = ''60 %'''), pg_temp.set_queue('root.a', 'capacity = ''६०'''), pg_temp.set_queue('root.a', 'capacity = ''60,0'''),
	pg_temp.set_queue('root.a', 'maximum_capacity = ''50'''), pg_temp.set_queue('root.a', 'maximum_capacity = ''500'''), pg_temp.set_queue('root.a', 'maximum_capacity = ''5w'''),
	pg_temp.set_queue('root.c', 'capacity = ''1w'''), pg_temp.set_queue('root.c', 'capacity = ''[memory=1024,vcores=1]'''), pg_temp.set_queue('root.a.x', 'capacity = ''[memory=1024,vcores=1]'''),
	'UPDATE yquota.queue SET capacity = ''1w'' WHERE parent = ''root''', 'UPDATE yquota.queue SET capacity = ''10001w'' WHERE parent = ''root''', 'UPDATE yquota.queue SET capacity = ''-2w'' WHERE parent = ''root''', 'UPDATE yquota.queue SET capacity = ''-1w'' WHERE parent = ''root''',
	'UPDATE yquota.queue SET capacity = ''[memory=1024]'', maximum_capacity = ''[memory=512]'' WHERE parent = ''root''', 'UPDATE yquota.queue SET capacity = ''[memory=50%,vcores=2w]'' WHERE parent = ''root''',
	'UPDATE yquota.queue SET capacity = ''[memory=' || repeat('9', 30) || ']'' WHERE parent = ''root''',
	'INSERT INTO yquota.queue_user (queue, username, weight) VALUES (''root.a.x'', ''bob'', 1.5)', 'INSERT INTO yquota.queue_user (queue, username, weight) VALUES (''root.a.x'', ''bob'', -1)', 'INSERT INTO yquota.queue_user (queue, username, weight) VALUES (''root.a.x'', ''bob'', ''NaN'')',
	'INSERT INTO yquota.queue_user (queue, username, weight) VALUES (''root.a.x'', '''', 1)', pg_temp.set_queue('root.a.x', 'user_limit_factor = ''NaN'''), pg_temp.set_queue('root.a.x', 'minimum_user_limit_percent = ''Infinity'''), pg_temp.set_queue('root.a.x', 'maximum_am_resource_percent = ''-Infinity'''),
	'UPDATE yquota.scheduler_setting SET preemption_natural_termination_factor = ''NaN''', 'UPDATE yquota.scheduler_setting SET queue_placement_rules = ''{NULL}'''
	]) WITH ORDINALITY AS c (command, number) CROSS JOIN LATERAL pg_temp.try(c.command) AS t ORDER BY c.number;
SELECT t.* FROM pg_temp.try(pg_temp.set_queue('root.c', 'capacity = ''[' || repeat('x', 100000) || ']''')) AS t;

--
-- Labels
--
SELECT c.command, t.error FROM unnest(ARRAY[
	'INSERT INTO yquota.node_label (name) VALUES ('''')', 'INSERT INTO yquota.node_label (name) VALUES (''-gpu'')', 'INSERT INTO yquota.node_label (name) VALUES (''gpu'')', 'INSERT INTO yquota.node_label (name) VALUES (''gpu ssd'')', 'INSERT INTO yquota.node_label (name) VALUES (''gpü'')',
	'INSERT INTO yquota.node_label (name) VALUES (repeat(''g'', 256))', 'INSERT INTO yquota.node_label (name) VALUES (NULL)',
	pg_temp.set_queue('root.b.x', 'accessible_node_labels = ''{gpu}'''), pg_temp.set_queue('root.b.x', 'accessible_node_labels = ''{*}'''), pg_temp.set_queue('root.a.x', 'accessible_node_labels = ''{nolabel}'''), pg_temp.set_queue('root.a.x', 'accessible_node_labels = ''{NULL}'''),
	pg_temp.set_queue('root.b.x', 'default_node_label_expression = ''gpu'''), pg_temp.set_queue('root.a.x', 'default_node_label_expression = ''gpu && ssd'''), pg_temp.set_queue('root.a.x', 'default_node_label_expression = ''none'''),
	'UPDATE yquota.queue_label SET capacity = ''50'' WHERE queue = ''root.a.x''', 'UPDATE yquota.queue_label SET capacity = ''101'' WHERE queue = ''root.a.x''', 'UPDATE yquota.queue_label SET maximum_capacity = ''-1'' WHERE queue = ''root.a.x''',
	'UPDATE yquota.queue_label SET capacity = ''[memory=1]'' WHERE queue = ''root.a''', 'INSERT INTO yquota.queue_label (queue, label, capacity) VALUES (''root.c'', ''gpu'', ''10'')', 'INSERT INTO yquota.queue_label (queue, label, capacity) VALUES (''root.a'', ''gpu'', ''10'')'
	]) WITH ORDINALITY AS c (command, number) CROSS JOIN LATERAL pg_temp.try(c.command) AS t ORDER BY c.number;

--
-- Names: a valid name is stored unchanged, and read back
--
SELECT c.name, t.error FROM unnest(ARRAY['a.b', 'a b', ' a', 'a ', 'a' || chr(9) || 'b', 'a' || chr(160) || 'b', 'a,b', '"', '''', 'a"b''c', 'über', 'очередь', '队列', 'a' || chr(768), chr(127), '<a>&', '${a}', '%user', '*', '..', '.', '', 'NULL', 'null']) WITH ORDINALITY AS c (name, number)
CROSS JOIN LATERAL pg_temp.try(pg_temp.insert_queue('root.' || c.name)) AS t ORDER BY c.number;
SELECT length(c.name), t.error FROM unnest(ARRAY[repeat('n', 1995), repeat('n', 1996), repeat('ü', 997), repeat('ü', 998), repeat('n', 100000)]) AS c (name)
CROSS JOIN LATERAL (SELECT left(error, 100) AS error FROM pg_temp.try(pg_temp.insert_queue('root.' || c.name))) AS t;
BEGIN;
INSERT INTO yquota.queue (path, capacity) SELECT 'root.' || n, '0' FROM unnest('{a b,"\"q\"''q","<a>&","${x}",über,очередь,队列,*,%user}'::text[]) AS n;
SELECT count(*) AS differ FROM yquota.diff_hadoop_configuration(yquota.export_hadoop_configuration(NULL));
SELECT count(*) AS differ FROM yquota.diff_hadoop_configuration((SELECT jsonb_object_agg(property, value) FROM yquota.hadoop_configuration()));
ROLLBACK;
-- a hierarchy of the largest depth that the length of paths allows
SELECT t.* FROM pg_temp.try('INSERT INTO yquota.queue (path, capacity) SELECT ''root'' || repeat(''.d'', i), ''0'' FROM generate_series(1, 998) AS i') AS t;
SELECT t.* FROM pg_temp.try('INSERT INTO yquota.queue (path, capacity) SELECT ''root'' || repeat(''.d'', i), ''0'' FROM generate_series(1, 999) AS i') AS t;

--
-- Short names of several queues, unknown names, a missing user, and NULLs
--
SELECT c.call, t.error FROM unnest(ARRAY[
	$$yquota.check_queue_access('u', '{}', 'x', 'SUBMIT')$$, $$yquota.check_queue_access('u', NULL, NULL, 'SUBMIT')$$, $$yquota.check_queue_access(NULL, '{}', 'root.a', 'SUBMIT')$$, $$yquota.check_queue_access('', '{}', 'root.a', 'SUBMIT')$$, $$yquota.check_queue_access('u', '{NULL}', 'root.a', 'SUBMIT')$$,
	$$yquota.check_queue_access('u', '{}', 'root.a', 'KILL')$$, $$yquota.check_queue_access('u', '{}', 'root.a', NULL)$$, $$yquota.check_queue_access('u', '{{a,b},{c,d}}', 'root.a', 'SUBMIT')$$,
	$$yquota.place_application(NULL, '{}')$$, $$yquota.place_application('u', '{g}', '')$$, $$yquota.place_application('', '{g}', explain => true)$$, $$yquota.application_priority('u', '{}', NULL)$$, $$yquota.application_priority('u', '{}', '')$$,
	$$yquota.user_limit('x', 'u')$$, $$yquota.user_limit('root.a', 'u')$$, $$yquota.user_limit('root.nowhere', 'u')$$, $$yquota.user_limit('root.a.x', 'u', 'nolabel')$$, $$yquota.user_limit(NULL, 'u')$$, $$yquota.headroom('application_1_1')$$, $$yquota.headroom(NULL)$$,
	$$yquota.create_queue('root.a.x.new')$$, $$yquota.create_queue('root.c.new')$$, $$yquota.create_queue('x')$$, $$yquota.create_queue('root..x')$$, $$yquota.create_queue(NULL)$$, $$yquota.create_queue('root.' || repeat('n', 3000))$$,
	$$yquota.submit_application(NULL, 'u', '{g}')$$, $$yquota.submit_application('', 'u', '{g}')$$, $$yquota.submit_application('a', NULL, '{g}')$$, $$yquota.submit_application('a', '', '{g}')$$, $$yquota.submit_application(repeat('a', 256), 'u', '{g}')$$,
	$$yquota.submit_application('a', repeat('u', 256), '{g}')$$, $$yquota.submit_application('a', 'u', '{NULL}')$$, $$yquota.finish_application('nobody')$$, $$yquota.finish_application(NULL)$$, $$yquota.move_application('nobody', 'root.a.x')$$, $$yquota.update_application_priority('nobody', 1)$$,
	$$yquota.update_application_priority('nobody', NULL)$$, $$yquota.update_application_lifetime('nobody', -1)$$, $$yquota.activate_applications('x')$$, $$yquota.check_application_access('nobody', 'u', '{}', 'VIEW_APP')$$]) WITH ORDINALITY AS c (call, number)
CROSS JOIN LATERAL pg_temp.try(format('SELECT * FROM %s', c.call)) AS t ORDER BY c.number;
-- a refused submission gives its reason, and leaves nothing in the queues
SELECT c.argument, s.state, s.decided_by, s.reason FROM (VALUES (1, 'x', NULL::integer, NULL::bigint, NULL), (2, 'root.a', NULL, NULL, NULL), (3, 'root.nowhere', NULL, NULL, NULL), (4, 'root.a.x', NULL, 0, NULL), (5, 'root.a.x', NULL, -5, NULL),
	(6, 'root.a.x', NULL, NULL, 'nolabel'), (7, 'root.a.x', NULL, NULL, 'gpu&&ssd'), (8, 'root.b.x', NULL, NULL, 'gpu'), (9, 'root..x', NULL, NULL, NULL), (10, repeat('q', 3000), NULL, NULL, NULL)) AS c (argument, queue, priority, lifetime, label)
CROSS JOIN LATERAL (SELECT a.state, a.decided_by, left(a.reason, 150) AS reason FROM yquota.submit_application('application_1_1', 'u', '{g}', c.queue, priority => c.priority, lifetime => c.lifetime, label => c.label, dry_run => true) AS a) AS s ORDER BY c.argument;
-- a negative priority is valid, and groups may be NULL
SELECT a.state, a.priority, a.lifetime, a.queue FROM yquota.submit_application('application_1_1', 'u', NULL, 'root.a.x', priority => -7, dry_run => true) AS a;
SELECT a.state, a.queue FROM yquota.submit_application('application_1_1', 'u', '{}', 'root.a.x', dry_run => true) AS a;
SELECT c.command, t.error FROM unnest(ARRAY[
	pg_temp.set_queue('root.a.x', 'default_application_priority = -1, priority = -1'), pg_temp.set_queue('root.a.x', 'maximum_application_lifetime = -5, default_application_lifetime = -7'), pg_temp.set_queue('root.a.x', 'maximum_application_lifetime = 5, default_application_lifetime = 7'),
	pg_temp.set_queue('root.a.x', 'maximum_applications = -3, max_parallel_apps = -1'), pg_temp.set_queue('root.a.x', 'maximum_allocation_mb = -1'), pg_temp.set_queue('root.a.x', 'maximum_allocation_mb = 99999999'), pg_temp.set_queue('root.a.x', 'maximum_allocation_mb = 1'),
	pg_temp.set_queue('root.a.x', 'acl_application_max_priority = ''[user=u max_priority=high]'''), pg_temp.set_queue('root.a.x', 'acl_application_max_priority = ''nonsense'''), pg_temp.set_queue('root.a.x', 'ordering_policy = ''lifo'''), pg_temp.set_queue('root.a', 'ordering_policy = ''fair'''), pg_temp.set_queue('root.a', 'reservable = true'),
	'INSERT INTO yquota.scheduler_setting (minimum_allocation_mb) VALUES (0) ON CONFLICT (only_row) DO UPDATE SET minimum_allocation_mb = 0', 'UPDATE yquota.scheduler_setting SET minimum_allocation_vcores = 9, maximum_allocation_vcores = 8', 'UPDATE yquota.scheduler_setting SET queue_placement_rules = ''{user-group,user-group}''',
	'INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES (''legacy'', 1, ''user'', ''u'', ''x'')', 'INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES (''legacy'', 1, ''user'', ''u'', ''nowhere'')', 'INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES (''legacy'', 1, ''user'', ''u'', ''root.a'')',
	'INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES (''legacy'', 1, ''user'', ''u'', ''root..%user'')', 'INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES (''legacy'', NULL, ''user'', ''u'', ''c'')'
	]) WITH ORDINALITY AS c (command, number) CROSS JOIN LATERAL pg_temp.try(c.command) AS t ORDER BY c.number;

--
-- Documents: at most 64 MiB are read, and no external reference is resolved
--
SELECT t.* FROM pg_temp.try($$SELECT * FROM yquota.import_hadoop_configuration('<configuration>' || repeat('<!-- -->', 13107200) || '</configuration>')$$) AS t;
SELECT t.* FROM pg_temp.try($$SELECT * FROM yquota.mutate_configuration(jsonb_build_object('global-updates', jsonb_build_object('yarn.scheduler.capacity.x', repeat('x', 67108865))))$$) AS t;
SELECT t.error, left(t.detail, 60) AS detail FROM pg_temp.try($$SELECT * FROM yquota.import_hadoop_configuration(repeat('[', 1000000))$$) AS t;
SELECT t.* FROM pg_temp.try($$SELECT * FROM yquota.import_hadoop_configuration('<configuration>' || repeat('<a>', 1000000))$$) AS t;
SELECT left(c.document, 70) AS document, t.* FROM unnest(ARRAY[
	'<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]><configuration>&lol2;</configuration>',
	'<!DOCTYPE x [<!ENTITY xxe SYSTEM "file:///etc/passwd">]><configuration><property><name>a</name><value>&xxe;</value></property></configuration>',
	'<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd"><configuration/>', '<configuration><!DOCTYPE x></configuration>', '<configuration><property><name>a</name><value>&xxe;</value></property></configuration>',
	'<configuration><property><name>yarn.scheduler.capacity.root.queues</name><value>&#0;</value></property></configuration>']) AS c (document)
CROSS JOIN LATERAL pg_temp.try(format('SELECT * FROM yquota.import_hadoop_configuration(%L, ''merge'')', c.document)) AS t;
-- an include in a document is reported, but the file is not read
SELECT property, outcome, reason FROM yquota.import_hadoop_configuration('<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file:///etc/passwd" parse="text"/></configuration>', 'merge') WHERE outcome <> 'unchanged';
SELECT t.* FROM pg_temp.try($$SELECT * FROM yquota.import_hadoop_configuration(NULL::text[])$$) AS t;
SELECT t.* FROM pg_temp.try($$SELECT * FROM yquota.import_hadoop_configuration(ARRAY['{}', NULL])$$) AS t;

--
-- Nothing of all this stays
--
(TABLE before EXCEPT TABLE everything) UNION ALL (TABLE everything EXCEPT TABLE before);

\c postgres
SET client_min_messages = error;
DROP DATABASE yquota_queue_bad_input WITH (FORCE);
