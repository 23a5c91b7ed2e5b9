-- Queues that submissions create: when they are created, their settings, their guarantees, and
-- their removal.

SET client_min_messages = warning;
CREATE DATABASE yquota_auto_created_queues;
\c yquota_auto_created_queues
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';

CREATE FUNCTION pg_temp.nodes(VARIADIC totals text[]) RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.node;
	INSERT INTO yquota.node (name, label, total)
	SELECT 'n' || n, CASE WHEN t LIKE '%@%' THEN split_part(t, '@', 2) ELSE '' END, split_part(t, '@', 1)::yquota.resource
	FROM unnest(totals) WITH ORDINALITY AS u (t, n);
END
$$;
-- Start a new cluster with these properties.
CREATE FUNCTION pg_temp.start(VARIADIC properties text[]) RETURNS bigint
	LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting, yquota.node_label,
		yquota.wildcard_template, yquota.unmapped_property, yquota.mapping_rule;
	DELETE FROM yquota.application;
	RETURN pg_temp.set(VARIADIC properties);
END
$$;
-- Add or replace properties, each "name=value" without the prefix.
CREATE FUNCTION pg_temp.set(VARIADIC properties text[]) RETURNS bigint
	LANGUAGE sql AS $$
	SELECT count(*) FROM yquota.import_hadoop_configuration(
		(SELECT jsonb_object_agg('yarn.scheduler.capacity.' || split_part(p, '=', 1), substr(p, position('=' IN p) + 1)) FROM unnest(properties) AS p),
		'merge')
$$;
CREATE VIEW pg_temp.figures AS
	SELECT queue || CASE WHEN label <> '' THEN '@' || label ELSE '' END AS queue, configured_capacity AS configured, weight,
		   capacity, absolute_capacity AS absolute, absolute_maximum_capacity AS maximum,
		   effective_capacity AS effective, effective_maximum_capacity AS effective_maximum
	FROM yquota.effective_queue ORDER BY ordinal, label;
CREATE VIEW pg_temp.leaves AS
	SELECT queue, state, user_limit_factor AS factor, maximum_am_resource_percent AS am, maximum_applications AS applications,
		   maximum_applications_per_user AS per_user, am_limit
	FROM yquota.effective_queue WHERE kind = 'leaf' AND label = '' ORDER BY ordinal;
CREATE FUNCTION pg_temp.application(number integer, queue text, state yquota.application_state DEFAULT 'ACCEPTED') RETURNS void
	LANGUAGE sql AS $$
	INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at)
	VALUES ('application_1_' || number, 'u', queue, '[memory-mb=1024]', 0, state, yquota.clock())
$$;
CREATE FUNCTION pg_temp.finish(number integer) RETURNS void
	LANGUAGE sql AS $$
	UPDATE yquota.application SET state = 'FINISHED', finished_at = yquota.clock() WHERE application_id = 'application_1_' || number
$$;

\echo V58: the shares of 1200 GB by weight after each creation of a queue
SELECT pg_temp.nodes('[memory-mb=1228800,vcores=1200]') \g /dev/null
SELECT pg_temp.start('root.queues=a,b', 'root.a.capacity=1w', 'root.b.capacity=1w', 'root.a.queues=a1', 'root.a.a1.capacity=1w',
	'root.auto-queue-creation-v2.enabled=true', 'root.a.auto-queue-creation-v2.enabled=true') \g /dev/null
SELECT yquota.create_queue('root.c-auto');
SELECT queue, weight, absolute, effective FROM pg_temp.figures WHERE queue = 'root.c-auto';
SELECT * FROM pg_temp.leaves WHERE queue = 'root.c-auto';
SELECT yquota.create_queue('root.d-auto');
SELECT yquota.create_queue('root.a.a2-auto');
SELECT yquota.create_queue('root.e-auto.e1-auto');
SELECT queue, weight, absolute, effective FROM pg_temp.figures;
-- the queue exists already, and is found by its path and by its name
SELECT yquota.create_queue('root.e-auto.e1-auto');
SELECT yquota.create_queue('e1-auto');
SELECT path, parent, auto_created, position, capacity, auto_queue_creation_v2_enabled FROM yquota.queue WHERE auto_created ORDER BY path;
-- a change of the configuration that does not name the created queue affects that queue only by the weights
SELECT pg_temp.set('root.a.capacity=6w');
SELECT queue, absolute, effective FROM pg_temp.figures WHERE queue IN ('root.a', 'root.c-auto');
-- a created queue that a file names is like any other queue
SELECT pg_temp.set('root.queues=a,b,c-auto', 'root.c-auto.capacity=6w', 'root.a.capacity=6w');
SELECT path, auto_created, capacity FROM yquota.queue WHERE path ~ 'auto' ORDER BY path;
SELECT queue, absolute, effective FROM pg_temp.figures WHERE queue = 'root.c-auto';
SELECT yquota.create_queue('root.e-auto.e2-auto');
SELECT pg_temp.set('root.queues=a,b,c-auto,e-auto', 'root.e-auto.capacity=6w', 'root.e-auto.queues=e1-auto', 'root.e-auto.e1-auto.capacity=6w');
SELECT queue, weight, absolute, (6/20.)::real * (6/7.)::real AS expected FROM pg_temp.figures WHERE queue = 'root.e-auto.e1-auto';
-- queues are created up to two levels below a static queue
SELECT pg_temp.start('root.queues=a,b', 'root.a.capacity=1w', 'root.b.capacity=1w', 'root.a.queues=a1', 'root.a.a1.capacity=1w',
	'root.auto-queue-creation-v2.enabled=true', 'root.a.auto-queue-creation-v2.enabled=true') \g /dev/null
SELECT yquota.create_queue('root.a.a2-auto.a3-auto');
SELECT queue, absolute FROM pg_temp.figures WHERE queue = 'root.a.a2-auto.a3-auto';
SELECT yquota.create_queue('root.a.a2-auto.a4-auto');
SELECT queue, absolute FROM pg_temp.figures WHERE queue ~ 'a[34]-auto';

\echo V59: creations that are refused
SELECT yquota.create_queue('root.a.a1.a2-auto');
SELECT yquota.create_queue('root.a.a3-auto.a4-auto.a5-auto');
SELECT pg_temp.set('root.a.auto-queue-creation-v2.maximum-queue-depth=3');
SELECT yquota.create_queue('root.a.a3-auto.a4-auto.a5-auto');
SELECT yquota.create_queue('root.b2.c.d');
SELECT pg_temp.set('auto-queue-creation-v2.maximum-queue-depth=3');
SELECT yquota.create_queue('root.b2.c.d');
SELECT yquota.create_queue('root.b.c');
SELECT yquota.create_queue('nowhere.x');
SELECT yquota.create_queue('x');
SELECT yquota.create_queue(NULL);
SELECT yquota.create_queue('');
SELECT yquota.create_queue('root..x');
SELECT yquota.create_queue('root.x.');
SELECT yquota.create_queue('.root.x');
SELECT yquota.create_queue('root.a,b');
SELECT yquota.create_queue(E'root.a\tb');
SELECT yquota.create_queue('root. x .y');
SELECT yquota.create_queue('root.' || repeat('x', 2000)) = '';
-- blanks around the last dot are ignored
SELECT yquota.create_queue('root.b3 . x ');
-- a short name may stand for one queue or for several
SELECT yquota.create_queue('a.byname');
SELECT yquota.create_queue('root.a.a');
SELECT yquota.create_queue('a.a');
SELECT yquota.create_queue('a');
-- too many children
SELECT pg_temp.set('root.a.auto-queue-creation-v2.max-queues=5');
SELECT count(*) FROM yquota.queue WHERE parent = 'root.a';
SELECT yquota.create_queue('root.a.sixth');
SELECT pg_temp.set('root.auto-queue-creation-v2.enabled=false');
SELECT yquota.create_queue('root.z');
-- parents have percentages, first in legacy mode and then without it
SELECT pg_temp.start('root.queues=a,b', 'root.a.capacity=50', 'root.b.capacity=50', 'root.a.queues=a1', 'root.a.a1.capacity=100',
	'root.a.auto-queue-creation-v2.enabled=true') \g /dev/null
SELECT yquota.create_queue('root.a.a2-auto');
SELECT pg_temp.set('legacy-queue-mode.enabled=false');
SELECT yquota.create_queue('root.a.a2-auto');
SELECT queue, effective FROM pg_temp.figures WHERE queue ~ 'root.a';
-- a refused submission creates no queue
SELECT path FROM yquota.queue ORDER BY path;

\echo V61: a created leaf has no limit of users, and has room for application masters
SELECT pg_temp.start('root.queues=a', 'root.a.capacity=1w', 'root.auto-queue-creation-v2.enabled=true') \g /dev/null
SELECT yquota.create_queue('root.e-auto.user_0');
DELETE FROM yquota.queue WHERE path = 'root.a';
SELECT pg_temp.set('root.queues=a', 'root.a.capacity=1w', 'root.a.state=STOPPED');
SELECT * FROM pg_temp.leaves WHERE queue ~ 'user_0';

\echo V62: templates
SELECT pg_temp.start('root.queues=a,c', 'root.a.capacity=1w', 'root.c.capacity=1w', 'root.a.auto-queue-creation-v2.enabled=true',
	'root.c.auto-queue-creation-v2.enabled=true', 'root.a.*.auto-queue-creation-v2.template.capacity=6w') \g /dev/null
SELECT yquota.create_queue('root.a.a-auto.a2');
SELECT yquota.create_queue('root.a.a-auto.a3');
SELECT queue, configured, weight FROM pg_temp.figures WHERE queue ~ 'a-auto';
SELECT * FROM pg_temp.leaves WHERE queue ~ 'a2';
SELECT pg_temp.set('root.a.*.auto-queue-creation-v2.template.user-limit-factor=10', 'root.a.*.auto-queue-creation-v2.template.maximum-am-resource-percent=0.8');
SELECT * FROM pg_temp.leaves WHERE queue ~ 'a2';
-- the settings of a created queue also come from a file that does not list the queue, or from the queue's row
SELECT pg_temp.set('root.a.a-auto.a2.capacity=4w');
SELECT queue, configured, weight FROM pg_temp.figures WHERE queue ~ 'a-auto.a';
UPDATE yquota.queue SET capacity = '3w' WHERE path = 'root.a.a-auto.a2';
SELECT queue, configured, weight FROM pg_temp.figures WHERE queue ~ 'a-auto.a2';
-- Templates are for leaves, for parents, or for both. The template of the nearest queue wins, but a
-- template for one kind wins over a template for both.
SELECT pg_temp.set('root.*.auto-queue-creation-v2.leaf-template.maximum-applications=7', 'root.c.auto-queue-creation-v2.template.maximum-applications=8',
	'root.c.auto-queue-creation-v2.template.capacity=2w', 'root.c.auto-queue-creation-v2.parent-template.capacity=5w',
	'root.c.auto-queue-creation-v2.parent-template.auto-queue-creation-v2.max-queues=1', 'root.*.*.auto-queue-creation-v2.leaf-template.capacity=9w');
SELECT yquota.create_queue('root.c.p.q');
SELECT yquota.create_queue('root.c.l');
SELECT yquota.create_queue('root.c.p.q2');
SELECT queue, weight FROM pg_temp.figures WHERE queue ~ 'root.c.';
SELECT queue, applications FROM pg_temp.leaves WHERE queue ~ 'root.c.';
SELECT queue, inherited -> 'user_limit_factor' AS user_limit_factor, inherited -> 'maximum_application_lifetime' AS lifetime FROM yquota.effective_queue WHERE queue = 'root.c.l';
-- Queues created from a template refuse a change that makes the template invalid. Without such queues the
-- template is accepted, but each creation fails and leaves no queue.
SELECT pg_temp.set('root.c.auto-queue-creation-v2.template.maximum-capacity=2w');
SELECT pg_temp.set('root.queues=a,c,d', 'root.d.capacity=1w', 'root.d.auto-queue-creation-v2.enabled=true', 'root.d.auto-queue-creation-v2.leaf-template.maximum-capacity=2w');
SELECT yquota.create_queue('root.d.bad');
SELECT state, decided_by, reason FROM yquota.submit_application('application_1_1', 'u', '{g}', 'root.d.bad', am_resource => '[memory-mb=1024]');
SELECT path FROM yquota.queue WHERE path ~ 'root.d';

\echo labels in templates, and weights for labels that no template names
SELECT pg_temp.nodes('[memory-mb=10240,vcores=10]', '[memory-mb=10240,vcores=10]@gpu', '[memory-mb=10240,vcores=10]@ssd') \g /dev/null
SELECT pg_temp.start('root.queues=a,c', 'root.accessible-node-labels.gpu.capacity=100', 'root.accessible-node-labels.ssd.capacity=100',
	'root.a.capacity=1w', 'root.a.accessible-node-labels=*', 'root.a.accessible-node-labels.gpu.capacity=3w', 'root.a.accessible-node-labels.ssd.capacity=3w',
	'root.c.capacity=1w', 'root.auto-queue-creation-v2.enabled=true',
	'root.auto-queue-creation-v2.template.accessible-node-labels.gpu.capacity=6w') \g /dev/null
SELECT yquota.create_queue('root.x');
SELECT queue, weight, absolute, effective FROM pg_temp.figures;

-- Templates set lists of labels, largest containers, preemption, states and weights of users. Rules for
-- existing queues apply to them.
CREATE FUNCTION pg_temp.more(weight text) RETURNS bigint LANGUAGE sql AS $$
	SELECT pg_temp.set('root.auto-queue-creation-v2.template.accessible-node-labels=ssd, gpu',
		'root.auto-queue-creation-v2.leaf-template.maximum-allocation=memory-mb=2048,vcores=2',
		'root.auto-queue-creation-v2.leaf-template.disable_preemption=true', 'root.auto-queue-creation-v2.leaf-template.state=STOPPED',
		'root.auto-queue-creation-v2.leaf-template.user-settings.u1.weight=' || weight) $$;
SELECT pg_temp.more('1.5');
DELETE FROM yquota.queue WHERE path = 'root.x';
SELECT pg_temp.more('1.5');
SELECT yquota.create_queue('root.y');
SELECT pg_temp.more('0.5');
SELECT yquota.create_queue('root.y');
SELECT state, maximum_allocation, inherited -> 'accessible_node_labels' AS labels, inherited -> 'disable_preemption' AS preemption
FROM yquota.effective_queue WHERE queue = 'root.y' AND label = '';

\echo V64: a parent without children
SELECT pg_temp.start('root.queues=a,empty', 'root.a.capacity=1w', 'root.empty.capacity=1w') \g /dev/null
SELECT queue, kind FROM yquota.effective_queue WHERE queue = 'root.empty';
SELECT yquota.create_queue('root.empty.x');
SELECT pg_temp.set('root.empty.state=STOPPED');
SELECT pg_temp.set('root.empty.auto-queue-creation-v2.enabled=true');
SELECT queue, kind, state FROM yquota.effective_queue WHERE queue = 'root.empty';
-- a created queue takes the state of its parent
SELECT yquota.create_queue('root.empty.x');
SELECT queue, state FROM yquota.effective_queue WHERE queue = 'root.empty.x';
SELECT pg_temp.set('root.empty.state=RUNNING');
SELECT queue, state FROM yquota.effective_queue WHERE queue ~ 'root.empty';

\echo V94: leaves of managed parents
SELECT pg_temp.nodes('[memory-mb=16384,vcores=48]@SSD', '[memory-mb=16384,vcores=48]@GPU', '[memory-mb=16384,vcores=48]') \g /dev/null
SELECT pg_temp.start('root.queues=a,c,d', 'root.a.capacity=60', 'root.c.capacity=20', 'root.d.capacity=20',
	'root.accessible-node-labels.GPU.capacity=100', 'root.accessible-node-labels.SSD.capacity=100',
	'root.c.accessible-node-labels=GPU,SSD', 'root.c.accessible-node-labels.GPU.capacity=100', 'root.c.accessible-node-labels.SSD.capacity=100',
	'root.c.auto-create-child-queue.enabled=true', 'root.c.leaf-queue-template.capacity=50', 'root.c.leaf-queue-template.maximum-capacity=100',
	'root.c.leaf-queue-template.minimum-user-limit-percent=100', 'root.c.leaf-queue-template.user-limit-factor=3',
	'root.c.leaf-queue-template.ordering-policy=fair', 'root.c.leaf-queue-template.accessible-node-labels.GPU.capacity=30',
	'root.c.leaf-queue-template.accessible-node-labels.SSD.capacity=40',
	'root.d.auto-create-child-queue.enabled=true', 'root.d.leaf-queue-template.capacity=10', 'root.d.leaf-queue-template.maximum-capacity=100') \g /dev/null
SELECT yquota.create_queue('root.c.user_0');
SELECT yquota.create_queue('root.d.user_9');
SELECT queue, absolute, maximum, effective, effective_maximum FROM pg_temp.figures WHERE queue ~ 'user';
SELECT queue, factor, applications, per_user FROM pg_temp.leaves WHERE queue ~ 'user';
SELECT queue, inherited -> 'ordering_policy' AS ordering_policy FROM yquota.effective_queue WHERE queue = 'root.c.user_0' AND label = '';
-- a managed parent has one level of children
SELECT yquota.create_queue('root.c.p.q');
SELECT yquota.create_queue('root.c.user_0.x');

\echo V95: leaves get guarantees while there is room; guarantees move from leaves without applications to leaves with some
SELECT yquota.create_queue('root.c.user1');
SELECT pg_temp.application(1, 'root.c.user1'), pg_temp.application(2, 'root.c.user_0') \g /dev/null
SELECT yquota.create_queue('root.c.user3');
SELECT queue, capacity, absolute, maximum FROM pg_temp.figures WHERE queue ~ 'root.c.user3';
SELECT label, array_agg(queue ORDER BY queue) FROM yquota_internal.active_leaf GROUP BY label ORDER BY label;
-- no guarantee is left to give
SELECT pg_temp.application(3, 'root.c.user3') \g /dev/null
DELETE FROM yquota.queue WHERE path = 'root.d.user_9';
SELECT * FROM yquota.manage_queues();
-- a held application does not ask for a guarantee, but its queue keeps a guarantee that it has
SELECT pg_temp.finish(2), pg_temp.application(4, 'root.c.user_0', 'NON_RUNNABLE') \g /dev/null
SELECT * FROM yquota.manage_queues();
SELECT pg_temp.finish(4) \g /dev/null
SELECT * FROM yquota.manage_queues();
SELECT * FROM yquota.manage_queues();
SELECT queue, absolute FROM pg_temp.figures WHERE queue ~ 'root.c.user';
-- queues get guarantees in the order of their applications, which are ordered by number
SELECT yquota.create_queue('root.c.user4'), yquota.create_queue('root.c.user5');
SELECT pg_temp.application(10, 'root.c.user4', 'ACTIVE'), pg_temp.application(9, 'root.c.user5', 'ACTIVE'), pg_temp.finish(1) \g /dev/null
SELECT * FROM yquota.manage_queues() ORDER BY label COLLATE "C", active, queue;
-- an active application without containers uses nothing, and its queue has got no guarantee
SELECT queue, used_capacity, absolute_capacity FROM yquota.effective_queue WHERE queue = 'root.c.user4' AND label = '';

\echo V98b: the configuration changes
SELECT pg_temp.set('root.c.capacity=30', 'root.d.capacity=10', 'root.c.maximum-capacity=50');
SELECT queue, capacity, absolute, maximum FROM pg_temp.figures WHERE queue ~ '^root.c.user[0-9_]+$';
SELECT queue, applications FROM pg_temp.leaves WHERE queue ~ 'root.c.user5';
-- the template is read again
SELECT pg_temp.set('root.c.leaf-queue-template.capacity=25', 'root.c.leaf-queue-template.user-limit-factor=2');
SELECT queue, capacity, absolute FROM pg_temp.figures WHERE queue ~ '^root.c.user[0-9_]+$';
SELECT queue, factor FROM pg_temp.leaves WHERE queue ~ 'root.c.user5';

\echo V68: a stopped leaf without applications gives up its guarantee
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.c.user3';
SELECT queue, state FROM pg_temp.leaves WHERE queue ~ 'user3';
SELECT pg_temp.finish(3) \g /dev/null
SELECT queue, state FROM pg_temp.leaves WHERE queue ~ 'user3';
SELECT pg_temp.set('root.c.leaf-queue-template.user-limit-factor=3');
SELECT queue, capacity, absolute, maximum FROM pg_temp.figures WHERE queue ~ 'root.c.user[35]$';

\echo V98c: nodes are added
SELECT pg_temp.set('root.c.capacity=20', 'root.d.capacity=20', 'root.c.maximum-capacity=100', 'root.c.leaf-queue-template.capacity=50');
SELECT queue, effective, effective_maximum FROM pg_temp.figures WHERE queue ~ 'root.c.user[1345]$';
SELECT pg_temp.nodes('[memory-mb=16384,vcores=48]@SSD', '[memory-mb=16384,vcores=48]@GPU', '[memory-mb=16384,vcores=48]', '[memory-mb=128000,vcores=20]') \g /dev/null
SELECT queue, effective, effective_maximum FROM pg_temp.figures WHERE queue ~ 'root.c.user[1345]$';

\echo creations that managed parents refuse
SELECT pg_temp.set('root.d.auto-create-child-queue.max-queues=2');
SELECT yquota.create_queue('root.d.x' || i) FROM generate_series(1, 2) AS i;
SELECT yquota.create_queue('root.d.x3');
SELECT pg_temp.set('root.c.auto-create-child-queue.enabled=false');
SELECT pg_temp.set('root.d.leaf-queue-template.capacity=[memory=1024,vcores=1]');
SELECT pg_temp.set('root.d.leaf-queue-template.accessible-node-labels.GPU.capacity=10');
SELECT pg_temp.set('root.d.leaf-queue-template.capacity=101');
-- no queue is created beyond the guarantee of its parent
SELECT pg_temp.start('root.queues=a,d', 'root.a.capacity=0', 'root.d.capacity=100', 'root.d.auto-create-child-queue.enabled=true',
	'root.d.leaf-queue-template.capacity=40', 'root.d.auto-create-child-queue.fail-on-exceeding-parent-capacity=true') \g /dev/null
SELECT yquota.create_queue('root.d.x' || i) FROM generate_series(1, 2) AS i;
SELECT yquota.create_queue('root.d.x3');
SELECT * FROM yquota.manage_queues();
SELECT pg_temp.set('root.a.capacity=40', 'root.d.capacity=60');

\echo V65: a submission needs no mapping rule to create queues by weight
CREATE FUNCTION pg_temp.submit(id text, username text, queue text, OUT state yquota.application_state, OUT leaf text, OUT reason text)
	LANGUAGE sql AS $$
	SELECT s.state, s.queue, s.reason FROM yquota.submit_application(id, username, '{g}', queue) AS s
$$;
SELECT pg_temp.start('root.queues=a', 'root.a.capacity=1w', 'root.a.queues=a1', 'root.a.a1.capacity=1w', 'root.a.auto-queue-creation-v2.enabled=true') \g /dev/null
SELECT * FROM pg_temp.submit('application_1_1', 'u', 'root.a.a1-auto.a2-auto');
SELECT path FROM yquota.queue WHERE auto_created ORDER BY path;

\echo V67: a leaf of a managed parent is created only by a mapping rule, and such a rule names a managed parent
SELECT pg_temp.start('root.queues=a,c', 'root.a.capacity=80', 'root.c.capacity=20', 'root.a.queues=a1,a2', 'root.a.a1.capacity=100', 'root.a.a2.state=STOPPED',
	'root.c.auto-create-child-queue.enabled=true', 'root.c.leaf-queue-template.capacity=50') \g /dev/null
SELECT * FROM pg_temp.submit('application_1_1', 'u', 'root.c.u');
SELECT * FROM pg_temp.submit('application_1_2', 'u', 'u');
SELECT * FROM pg_temp.submit('application_1_3', 'u', 'default');
SELECT pg_temp.set('queue-mappings=u:%user:a1.%user');
SELECT pg_temp.set('queue-mappings=u:%user:INVALID_PARENT_QUEUE.%user');
-- A parent with children cannot become a managed parent, whether it runs or not. A stopped leaf
-- can.
SELECT pg_temp.set('root.a.auto-create-child-queue.enabled=true', 'root.a.leaf-queue-template.capacity=50');
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.a';
SELECT pg_temp.set('root.a.auto-create-child-queue.enabled=true', 'root.a.leaf-queue-template.capacity=50');
SELECT pg_temp.set('root.a.a2.auto-create-child-queue.enabled=true', 'root.a.a2.leaf-queue-template.capacity=50');
SELECT queue, kind, state FROM yquota.effective_queue ORDER BY ordinal;

\echo V97: a queue with the same name elsewhere is another queue
SELECT pg_temp.set('queue-mappings=u:%user:root.c.%user');
SELECT * FROM pg_temp.submit('application_1_4', 'a1', 'default');
SELECT path, auto_created FROM yquota.queue WHERE name = 'a1' ORDER BY path;
-- the created leaf takes only applications that a placement rule sends, but any number of them
SELECT * FROM pg_temp.submit('application_1_5', 'a1', 'root.c.a1');
SELECT pg_temp.set('global-queue-max-application=1');
SELECT maximum_applications FROM yquota.effective_queue WHERE queue = 'root.c.a1' AND label = '';
SELECT * FROM pg_temp.submit('application_1_6', 'a1', 'default');

\echo V98: an empty name is no queue
SELECT pg_temp.start('root.queues=default', 'root.default.capacity=1w', 'root.auto-queue-creation-v2.enabled=true') \g /dev/null
SELECT queue, s.* FROM unnest('{root..user,.user,root.}'::text[]) WITH ORDINALITY AS v (queue, number), pg_temp.submit('application_1_' || number, 'user', queue) AS s;
SELECT path FROM yquota.queue ORDER BY path;

\echo V25: absolute amounts
SELECT pg_temp.nodes('[memory-mb=128000,vcores=30]', '[memory-mb=128000,vcores=30]') \g /dev/null
SELECT pg_temp.start('root.queues=A,B,C,D',
	'root.A.capacity=[memory=102400,vcores=10]', 'root.A.maximum-capacity=[memory=204800,vcores=30]',
	'root.B.capacity=[memory=51200,vcores=10]', 'root.B.maximum-capacity=[memory=153600,vcores=30]',
	'root.C.capacity=[memory=25600,vcores=5]', 'root.C.maximum-capacity=[memory=153600,vcores=20]',
	'root.D.capacity=[memory=25600,vcores=5]', 'root.D.maximum-capacity=[memory=153600,vcores=20]',
	'root.D.auto-create-child-queue.enabled=true', 'root.D.leaf-queue-template.capacity=[memory=25600,vcores=5]',
	'root.D.leaf-queue-template.maximum-capacity=[memory=153600,vcores=20]') \g /dev/null
SELECT yquota.create_queue('root.D.d1');
SELECT queue, configured, effective, effective_maximum FROM pg_temp.figures WHERE queue ~ 'root.D.';
SELECT yquota.create_queue('root.D.d2');
SELECT queue, configured, effective, effective_maximum FROM pg_temp.figures WHERE queue ~ 'root.D.';
SELECT pg_temp.application(1, 'root.D.d2') \g /dev/null
SELECT * FROM yquota.manage_queues();
SELECT queue, effective FROM pg_temp.figures WHERE queue ~ 'root.D.';

\echo unused queues are removed
SELECT yquota.set_clock('2026-01-01 00:00') \g /dev/null
SELECT pg_temp.start('root.queues=a,b', 'root.a.capacity=1w', 'root.b.capacity=1w', 'root.a.auto-queue-creation-v2.enabled=true', 'root.b.auto-queue-creation-v2.enabled=true',
	'root.b.auto-queue-creation-v2.template.auto-queue-creation-v2.queue-auto-removal.enable=false') \g /dev/null
SELECT yquota.create_queue('root.a.p.q'), yquota.create_queue('root.a.kept'), yquota.create_queue('root.a.busy'), yquota.create_queue('root.b.kept');
UPDATE yquota.queue SET auto_queue_creation_v2_queue_auto_removal_enable = false WHERE path = 'root.a.kept';
SELECT pg_temp.application(1, 'root.a.busy') \g /dev/null
INSERT INTO yquota.project (name) VALUES ('p');
SELECT yquota.create_queue('root.a.running');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, queue, node, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-01-01 00:00', 'p', 'root.a.running', 'n1', '[memory-mb=1024]');
SELECT * FROM yquota_internal.created_queue ORDER BY queue;
-- The first pass marks idle queues. The second pass removes queues that have been idle for more
-- than 300 seconds.
SELECT yquota.set_clock('2026-01-01 00:05') \g /dev/null
SELECT yquota.remove_unused_queues();
SELECT * FROM yquota_internal.created_queue ORDER BY queue;
SELECT yquota.remove_unused_queues();
SELECT queue, is_marked FROM yquota_internal.created_queue WHERE is_marked ORDER BY queue;
SELECT yquota.set_clock('2026-01-01 00:05:01') \g /dev/null
SELECT yquota.remove_unused_queues();
SELECT yquota.remove_unused_queues();
-- its parent has no children any more, but is still a parent
SELECT queue, kind FROM yquota.effective_queue WHERE queue ~ 'root.a' ORDER BY ordinal;
-- a parent with a child is not empty, and the child counts as a use of the parent
SELECT yquota.remove_unused_queues();
SELECT yquota.create_queue('root.a.p.q2');
SELECT * FROM yquota_internal.created_queue ORDER BY queue;
SELECT yquota.remove_unused_queues();
SELECT queue, is_marked FROM yquota_internal.created_queue ORDER BY queue;
-- A submission also counts as use. Its time is not recorded when the recorded time is only a little older.
SELECT yquota.set_clock('2026-01-01 00:05:30') \g /dev/null
SELECT state FROM yquota.submit_application('application_1_20', 'u', '{g}', 'root.a.p.q2', am_resource => '[memory-mb=1024]');
SELECT * FROM yquota_internal.created_queue WHERE queue = 'root.a.p.q2';
SELECT yquota.set_clock('2026-01-01 00:05:32') \g /dev/null
SELECT state FROM yquota.submit_application('application_1_21', 'u', '{g}', 'root.a.p.q2', am_resource => '[memory-mb=1024]');
SELECT * FROM yquota_internal.created_queue WHERE queue = 'root.a.p.q2';
SELECT pg_temp.finish(1), pg_temp.finish(20), pg_temp.finish(21) \g /dev/null
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'c1', '2026-01-01 00:05:32');
SELECT yquota.set_clock('2026-01-01 01:00') \g /dev/null
SELECT yquota.remove_unused_queues() FROM generate_series(1, 5);
SELECT path FROM yquota.queue ORDER BY path;
SELECT * FROM yquota_internal.created_queue ORDER BY queue;
SELECT yquota.reset_clock() \g /dev/null

\echo an exported file has no created queues; an import keeps them unless it removes their parent
SELECT yquota.create_queue('root.a.x');
SELECT property FROM yquota.export_hadoop_configuration() AS property;
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a,b", "yarn.scheduler.capacity.root.a.capacity": "1w",
	"yarn.scheduler.capacity.root.a.auto-queue-creation-v2.enabled": "true", "yarn.scheduler.capacity.root.b.capacity": "1w"}'::jsonb);
SELECT path, auto_created FROM yquota.queue ORDER BY path;
-- an application in a child keeps its parent from stopping: the parent drains
SELECT pg_temp.application(30, 'root.a.x') \g /dev/null
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.a';
SELECT queue, state FROM yquota.effective_queue WHERE queue ~ 'root.a';
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "b", "yarn.scheduler.capacity.root.b.capacity": "1w"}'::jsonb);
SELECT pg_temp.finish(30) \g /dev/null
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "b", "yarn.scheduler.capacity.root.b.capacity": "1w"}'::jsonb);
SELECT path, auto_created FROM yquota.queue ORDER BY path;
SELECT path FROM yquota_internal.queue_status ORDER BY path;
SELECT count(*) FROM yquota_internal.created_queue;

\echo access lists and priorities in templates
SELECT pg_temp.start('root.queues=a,m', 'root.a.capacity=1w', 'root.m.capacity=1w', 'root.a.auto-queue-creation-v2.enabled=true',
	'root.a.auto-queue-creation-v2.leaf-template.acl_submit_applications=leafy', 'root.a.auto-queue-creation-v2.template.acl_submit_applications=both',
	'root.a.auto-queue-creation-v2.template.default-application-priority=4', 'root.a.*.auto-queue-creation-v2.template.acl_administer_queue=wild',
	'root.m.auto-create-child-queue.enabled=true', 'root.m.leaf-queue-template.capacity=50', 'root.m.leaf-queue-template.acl_submit_applications=managed',
	'root.m.leaf-queue-template.acl_application_max_priority=[user=managed max_priority=3 default_priority=2]') \g /dev/null
UPDATE yquota.queue SET acl_submit_applications = ' ', acl_administer_queue = ' ' WHERE path = 'root';
INSERT INTO yquota.scheduler_setting (acl_enable, cluster_max_application_priority) VALUES (true, 10);
SELECT yquota.create_queue('root.a.p.q'), yquota.create_queue('root.a.l'), yquota.create_queue('root.m.l');
SELECT username, queue, decision.allowed, decided_by
FROM unnest('{leafy,both,wild,managed}'::text[]) AS username, unnest('{root.a.l,root.a.p,root.a.p.q,root.m.l,root.a.new}'::text[]) AS queue,
	 yquota.check_queue_access(username, '{}', queue, 'SUBMIT') AS decision
ORDER BY username, queue;
SELECT queue, decision.*
FROM unnest('{root.a.l,root.a.p.q,root.m.l}'::text[]) AS queue, yquota.application_priority('managed', '{g}', queue) AS decision ORDER BY queue;

TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting, yquota.node_label, yquota.wildcard_template, yquota.unmapped_property;
SELECT (SELECT count(*) FROM yquota_internal.created_queue) AS created, (SELECT count(*) FROM yquota_internal.active_leaf) AS active;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_auto_created_queues WITH (FORCE);
