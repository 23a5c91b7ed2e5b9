-- Configurations from the CapacityScheduler's own tests: which are accepted, which are refused with
-- which message, and the resulting figures.

SET client_min_messages = warning;

-- Replace the configuration by that of a new cluster. Each line is "path capacity maximum", and
-- @label follows the path for a label. A - is an unset value, and + an automatically created queue.
-- The command then changes further settings.
CREATE FUNCTION pg_temp.configure(queues text, command text DEFAULT NULL) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	fields text[];
	position integer := 0;
	detail text;
BEGIN
	SET CONSTRAINTS ALL DEFERRED;
	TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting, yquota.node_label,
		yquota.wildcard_template;
	FOR fields IN SELECT regexp_split_to_array(trim(line, E'\t '), '\s+') FROM string_to_table(trim(queues, E'\n\t '), E'\n') AS line LOOP
		position := position + 1;
		IF fields[1] LIKE '%@%' THEN
			INSERT INTO yquota.node_label (name) VALUES (split_part(fields[1], '@', 2)) ON CONFLICT DO NOTHING;
			INSERT INTO yquota.queue_label (queue, label, capacity, maximum_capacity)
			VALUES (split_part(fields[1], '@', 1), split_part(fields[1], '@', 2), nullif(fields[2], '-'), nullif(fields[3], '-'));
		ELSE
			INSERT INTO yquota.queue (path, capacity, maximum_capacity, position, auto_created)
			VALUES (rtrim(fields[1], '+'), nullif(fields[2], '-'), nullif(fields[3], '-'), position, fields[1] LIKE '%+');
		END IF;
	END LOOP;
	IF command IS NOT NULL THEN
		EXECUTE command;
	END IF;
	SET CONSTRAINTS ALL IMMEDIATE;
	RETURN 'accepted';
EXCEPTION WHEN check_violation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN coalesce(nullif(detail, ''), SQLERRM);
END
$$;
CREATE FUNCTION pg_temp.nodes(VARIADIC totals text[]) RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.node;
	INSERT INTO yquota.node (name, label, total)
	SELECT 'n' || n, CASE WHEN t LIKE '%@%' THEN split_part(t, '@', 2) ELSE '' END, split_part(t, '@', 1)::yquota.resource
	FROM unnest(totals) WITH ORDINALITY AS u (t, n);
END
$$;
CREATE VIEW pg_temp.figures AS
	SELECT queue || CASE WHEN label <> '' THEN '@' || label ELSE '' END AS queue, absolute_capacity AS absolute,
		   absolute_maximum_capacity AS maximum, effective_capacity AS effective, effective_maximum_capacity AS effective_maximum
	FROM yquota.effective_queue ORDER BY ordinal, label;
CREATE VIEW pg_temp.limits AS
	SELECT queue, am_limit, maximum_applications AS applications, maximum_applications_per_user AS per_user
	FROM yquota.effective_queue WHERE kind = 'leaf' AND label = '' ORDER BY ordinal;

\echo V01, V02: limits of applications and application masters
SELECT pg_temp.configure('root - -
	root.a 10 -
	root.b 90 -', $$UPDATE yquota.queue SET minimum_user_limit_percent = 50, user_limit_factor = 5 WHERE path = 'root.a'$$);
SELECT pg_temp.nodes('[memory-mb=81920,vcores=40]');
SELECT * FROM pg_temp.limits;
SELECT pg_temp.nodes('[memory-mb=1638400,vcores=1600]');
SELECT * FROM pg_temp.limits;
SELECT pg_temp.nodes('[memory-mb=1966080,vcores=1920]');
SELECT * FROM pg_temp.limits;
UPDATE yquota.queue SET maximum_am_resource_percent = 0.5, maximum_applications = 9999 WHERE path = 'root.a';
SELECT pg_temp.nodes('[memory-mb=1638400,vcores=1600]');
SELECT * FROM pg_temp.limits WHERE queue = 'root.a';

\echo V07, V08: fractions in a tree of queues, limits of application masters
SELECT pg_temp.configure('root - -
	root.R 100 100
	root.R.a 8.5 20
	root.R.b 80 99
	root.R.c 1.5 10
	root.R.c.c1 100 -
	root.R.d 9 11
	root.R.e 1 1');
SELECT pg_temp.nodes('[memory-mb=51200,vcores=50]');
SELECT * FROM pg_temp.figures;
SELECT * FROM pg_temp.limits;
SELECT pg_temp.nodes('[memory-mb=8192,vcores=16]');
SELECT effective FROM pg_temp.figures WHERE queue = 'root.R.b';

\echo V22: the sum of siblings may differ from 100 by 0.05 percent
SELECT pg_temp.configure('root - -
	root.a 30 -
	root.b 70.5 -');
SELECT pg_temp.configure('root - -
	root.a 30 -
	root.b 70 -');
SELECT pg_temp.configure('root - -
	root.a 30 -
	root.b 70.005 -');

\echo V23: levels of a tree of queues
CREATE FUNCTION pg_temp.tree_of_v23(command text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.configure('root - -
	root.a 10 -
	root.a.a1 50 -
	root.a.a2 50 -
	root.b 50 -
	root.b.b1 10 -
	root.b.b2 20 -
	root.b.b3 70 -
	root.c 19.5 -
	root.c.c1 100 -
	root.c.c1.c11 100 -
	root.c.c1.c11.c111 100 -
	root.c.c1.c11.c111.c1111 100 -
	root.d 20.5 -', command)
$$;
SELECT pg_temp.tree_of_v23(NULL);
SELECT pg_temp.nodes('[memory-mb=30720,vcores=30]');
SELECT queue, effective FROM pg_temp.figures WHERE queue ~ '^root\.[^.]+$';

\echo V83: siblings whose sum is zero
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = '0' WHERE parent = 'root.b'$$);
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = CASE name WHEN 'a' THEN '60' ELSE '0' END WHERE path IN ('root.a', 'root.b')$$);
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = CASE name WHEN 'a' THEN '60' ELSE '0' END, allow_zero_capacity_sum = name = 'b' WHERE path IN ('root.a', 'root.b')$$);
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = CASE name WHEN 'a' THEN '60' WHEN 'b' THEN '0' WHEN 'b1' THEN '10' ELSE '20' END, allow_zero_capacity_sum = name = 'b' WHERE path IN ('root.a', 'root.b') OR parent = 'root.b'$$);
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = CASE name WHEN 'a' THEN '50' WHEN 'b' THEN '10' ELSE '0' END, allow_zero_capacity_sum = name = 'b' WHERE path IN ('root.a', 'root.b') OR parent = 'root.b'$$);
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = CASE name WHEN 'a' THEN '60' ELSE '0' END WHERE path IN ('root.a', 'root.b') OR parent = 'root.b'$$);
\echo V83: the calculation with vectors accepts these sums
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = '0' WHERE parent = 'root.b'; INSERT INTO yquota.scheduler_setting (legacy_queue_mode_enabled) VALUES (false)$$);
SELECT pg_temp.tree_of_v23($$UPDATE yquota.queue SET capacity = CASE name WHEN 'a' THEN '60' ELSE '0' END WHERE path IN ('root.a', 'root.b'); INSERT INTO yquota.scheduler_setting (legacy_queue_mode_enabled) VALUES (false)$$);

\echo V26: absolute resources, inherited maximum, limits within other limits
CREATE FUNCTION pg_temp.tree_of_v26(b1 text, b1_maximum text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.configure(format('root - -
	root.queueA [memory=102400,vcores=10] [memory=204800,vcores=30]
	root.queueA.queueA1 [memory=51200,vcores=5] -
	root.queueA.queueA2 [memory=51200,vcores=5] -
	root.queueB [memory=51200,vcores=10] [memory=153600,vcores=30]
	root.queueB.queueB1 %s %s
	root.queueC [memory=25600,vcores=5] [memory=153600,vcores=20]', b1, b1_maximum))
$$;
SELECT pg_temp.tree_of_v26('[memory=40960,vcores=10]', '-');
SELECT pg_temp.nodes('[memory-mb=256000,vcores=40]');
SELECT queue, effective, effective_maximum FROM pg_temp.figures;
SELECT pg_temp.tree_of_v26('[memory=153600,vcores=30]', '[memory=40960,vcores=10]');
SELECT pg_temp.tree_of_v26('[memory=40960,vcores=10]', '[memory=204800,vcores=30]');

\echo V28: an amount without memory is no resource
SELECT pg_temp.configure('root - -
	root.a [memory=102400,vcores=10] [memory=204800,vcores=30]
	root.a.a1 [memory=125] -
	root.a.a2 [memory=0] -
	root.b [memory=0] -');

\echo V29, V86: absolute resources in a smaller cluster
SELECT pg_temp.configure('root - -
	root.A [memory=102400,vcores=10] [memory=204800,vcores=30]
	root.B [memory=51200,vcores=10] [memory=153600,vcores=30]
	root.C [memory=25600,vcores=5] [memory=153600,vcores=20]
	root.D [memory=25600,vcores=5] [memory=153600,vcores=20]');
SELECT pg_temp.nodes('[memory-mb=128000,vcores=20]', '[memory-mb=128000,vcores=20]');
SELECT queue, effective, effective_maximum FROM pg_temp.figures;
SELECT pg_temp.nodes('[memory-mb=128000,vcores=20]');
SELECT queue, effective, effective_maximum FROM pg_temp.figures;
CREATE FUNCTION pg_temp.tree_of_v86(legacy boolean) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.configure('root - -
	root.A [memory=6144,vcores=10] -
	root.B [memory=14336,vcores=22] -', format('INSERT INTO yquota.scheduler_setting (legacy_queue_mode_enabled) VALUES (%L)', legacy))
$$;
SELECT pg_temp.tree_of_v86(true);
SELECT pg_temp.nodes('[memory-mb=20480,vcores=32]');
SELECT queue, effective FROM pg_temp.figures;
SELECT pg_temp.nodes('[memory-mb=10240,vcores=16]');
SELECT queue, effective FROM pg_temp.figures;
SELECT pg_temp.nodes('[memory-mb=10240,vcores=40]');
SELECT queue, effective FROM pg_temp.figures;
SELECT pg_temp.tree_of_v86(false);
SELECT queue, effective FROM pg_temp.figures;

\echo V38: weights, with labels
SELECT pg_temp.configure('root - -
	root@x 100w -
	root@y 100w -
	root@z 100w -
	root.a 1w 10
	root.a@x 100w -
	root.a@y 50w -
	root.b 9w 100
	root.b@y 50w -
	root.b@z 100w -
	root.a.a1 100w -
	root.a.a1@x 100w -
	root.a.a1@y 100w -
	root.b.b1 50w 50
	root.b.b2 50w 50
	root.b.b2@y 100w -
	root.b.b2@z 100w -', $$
	UPDATE yquota.queue SET accessible_node_labels = CASE name WHEN 'b1' THEN '{}' WHEN 'a' THEN '{x,y}' WHEN 'a1' THEN '{x,y}' ELSE '{y,z}' END::text[],
		default_node_label_expression = CASE name WHEN 'a1' THEN 'x' END WHERE path <> 'root'$$);
SELECT pg_temp.nodes('[memory-mb=8000,vcores=8]', '[memory-mb=8000,vcores=8]@x', '[memory-mb=8000,vcores=8]@y', '[memory-mb=8000,vcores=8]@z');
SELECT * FROM pg_temp.figures;

\echo V40: the order of siblings decides whether their modes count as mixed
SELECT pg_temp.configure('root - -
	root.a [memory=1024,vcores=1] -
	root.b 50 -');
SELECT pg_temp.configure('root - -
	root.b 50 -
	root.a [memory=1024,vcores=1] -');

\echo V41: a label of the parent for which the child has no capacity
SELECT pg_temp.configure('root - -
	root.a 100 -
	root.a@newLabel 100 -
	root.a.a1 100 -', $$UPDATE yquota.queue SET accessible_node_labels = '{newLabel}', allow_zero_capacity_sum = true WHERE path = 'root.a'$$);

\echo V58: weights of automatically created queues
SELECT pg_temp.configure('root - -
	root.a 1w -
	root.a.a1 1w -
	root.b 1w -
	root.c-auto+ - -', $$UPDATE yquota.queue SET auto_queue_creation_v2_enabled = true WHERE path IN ('root', 'root.a')$$);
SELECT pg_temp.nodes('[memory-mb=1228800,vcores=1200]');
SELECT queue, absolute, effective FROM pg_temp.figures;
SELECT user_limit_factor, maximum_am_resource_percent FROM yquota.effective_queue WHERE queue = 'root.c-auto';
INSERT INTO yquota.queue (path, auto_created) VALUES ('root.d-auto', true);
SELECT queue, absolute, effective FROM pg_temp.figures;
INSERT INTO yquota.queue (path, auto_created) VALUES ('root.a.a2-auto', true);
SELECT queue, absolute, effective FROM pg_temp.figures WHERE queue LIKE 'root.a.%';
INSERT INTO yquota.queue (path, auto_created) VALUES ('root.e-auto', true), ('root.e-auto.e1-auto', true);
SELECT queue, absolute, effective FROM pg_temp.figures WHERE queue LIKE 'root.e%';
UPDATE yquota.queue SET capacity = '6w' WHERE path = 'root.a';
SELECT queue, absolute, effective FROM pg_temp.figures WHERE queue = 'root.a';
UPDATE yquota.queue SET capacity = '6w', auto_created = false WHERE path = 'root.c-auto';
SELECT queue, absolute, effective FROM pg_temp.figures WHERE queue = 'root.c-auto';
INSERT INTO yquota.queue (path, auto_created) VALUES ('root.e-auto.e2-auto', true);
UPDATE yquota.queue SET capacity = '6w', auto_created = false WHERE path LIKE 'root.e-auto%' AND path <> 'root.e-auto.e2-auto';
SELECT queue, absolute FROM pg_temp.figures WHERE queue LIKE 'root.e%';

\echo V61: limits of an automatically created leaf
SELECT pg_temp.configure('root - -
	root.a 1w -
	root.e-auto+ - -
	root.e-auto.user_0+ - -', $$DELETE FROM yquota.queue WHERE path = 'root.a'$$);
SELECT * FROM pg_temp.limits;
SELECT effective_maximum FROM pg_temp.figures WHERE queue = 'root.e-auto.user_0';

\echo V62: templates
SELECT pg_temp.configure('root - -
	root.a 1w -
	root.a.a-auto+ - -
	root.a.a-auto.a1+ - -
	root.a.a-auto.a2+ - -
	root.c 1w -
	root.c.c1+ - -', $$
	UPDATE yquota.queue SET auto_queue_creation_v2_enabled = true WHERE path IN ('root', 'root.a', 'root.c');
	UPDATE yquota.queue SET auto_queue_creation_v2_template = '{"accessible-node-labels.TEST.capacity": "6w"}' WHERE path = 'root.c';
	INSERT INTO yquota.node_label (name) VALUES ('TEST');
	INSERT INTO yquota.wildcard_template (path, auto_queue_creation_v2_template) VALUES ('root.a.*', '{"capacity": "6w"}')$$);
SELECT queue, label, weight, user_limit_factor AS factor, maximum_am_resource_percent AS am FROM yquota.effective_queue WHERE auto_created ORDER BY ordinal, label;
UPDATE yquota.wildcard_template SET auto_queue_creation_v2_template = '{"capacity": "6w", "user-limit-factor": "10", "maximum-am-resource-percent": "0.8"}';
UPDATE yquota.queue SET capacity = '4w' WHERE path = 'root.a.a-auto.a2';
SELECT queue, weight, user_limit_factor AS factor, maximum_am_resource_percent AS am FROM yquota.effective_queue WHERE queue LIKE 'root.a.a-auto.%' ORDER BY ordinal;

\echo V55: Hadoop 3.4.1 ignores a capacity of root
SELECT pg_temp.configure('root 90 -
	root.a 100 -');
SELECT queue, absolute FROM pg_temp.figures;

\echo V109: what counts as larger than the maximum without nodes, where there are no shares; in mixed modes nothing does
DELETE FROM yquota.node;
CREATE FUNCTION pg_temp.minimum_within(capacity text, maximum text, calculator text) RETURNS text LANGUAGE sql AS $$
	SELECT substring(pg_temp.configure(format('root - -
	root.a %s %s', capacity, maximum), format('INSERT INTO yquota.scheduler_setting (resource_calculator) VALUES (%L)',
		'org.apache.hadoop.yarn.util.resource.' || calculator)) FROM 'accepted|is greater than its max value')
$$;
SELECT capacity, maximum, pg_temp.minimum_within(capacity, maximum, 'DefaultResourceCalculator') AS "by default",
	   pg_temp.minimum_within(capacity, maximum, 'DominantResourceCalculator') AS dominant
FROM (VALUES ('[memory=2,vcores=2]', '[memory=1,vcores=1]'), ('[memory=2,vcores=1]', '[memory=1,vcores=2]'), ('[memory=1,vcores=2]', '[memory=2,vcores=1]'),
			 ('[memory=2,vcores=2]', '[memory=2,vcores=1]'), ('[memory=2,vcores=2]', '[memory=1,vcores=2]'), ('[memory=1,vcores=2]', '[memory=2,vcores=2]')) AS v (capacity, maximum);

\echo which capacity modes siblings may have below a parent of each mode
SELECT parent, child, other, substring(pg_temp.configure(format('root - -
	root.a %s -
	root.a.b %s -
	root.a.c %s -', parent, child, other)) FROM 'accepted|(?:Parent|Illegal).*')
FROM unnest('{100,1w,"[memory=4096]"}'::text[]) AS parent,
	 (VALUES ('100', '0'), ('50', '40'), ('0', '0'), ('1w', '3w'), ('[memory=1024]', '[memory=2048]'), ('[memory=1024]', '[memory=4096]')) AS c (child, other);
\echo without legacy mode, modes may be mixed, but a maximum must not be a weight
SELECT pg_temp.configure('root - -
	root.a [memory=1024,vcores=1] [memory=50w,vcores=1]', 'INSERT INTO yquota.scheduler_setting (legacy_queue_mode_enabled) VALUES (false)');

\echo mixed vectors: amounts come first, then percentages of the rest, then weights share what is left
SELECT pg_temp.configure('root - -
	root.a [memory=2048,vcores=4] [memory=50%,vcores=8]
	root.b [memory=50%,vcores=25%] -
	root.c [memory=1w,vcores=1w] -
	root.d [memory=3w,vcores=10%] -
	root.d.d1 100 -', 'INSERT INTO yquota.scheduler_setting (legacy_queue_mode_enabled) VALUES (false)');
SELECT pg_temp.nodes('[memory-mb=10240,vcores=20]');
SELECT * FROM pg_temp.figures;

\echo the dominant calculator scales the amounts down when the dominant share of the cluster is too small
SELECT pg_temp.configure('root - -
	root.A [memory=6144,vcores=10] -
	root.B [memory=4096,vcores=30] -', $$INSERT INTO yquota.scheduler_setting (resource_calculator)
	VALUES ('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator')$$);
SELECT pg_temp.nodes('[memory-mb=20480,vcores=20]');
SELECT queue, effective, absolute FROM pg_temp.figures;

DROP EXTENSION yquota CASCADE;
CREATE EXTENSION yquota;
