--
-- Properties without a column: the reason, the property that was probably meant, and examples from
-- Hadoop's documentation. Hadoop does not read two of the names in these examples.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_unmapped_property WITH (FORCE);
CREATE DATABASE yquota_unmapped_property;
\c yquota_unmapped_property
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\pset null '(null)'
\pset format unaligned

--
-- The examples as the documentation prints them
--
CREATE FUNCTION pg_temp.file(properties text) RETURNS text LANGUAGE sql AS $$ SELECT '<configuration>' || properties || '</configuration>' $$;
-- queues
BEGIN;
SELECT property, value, outcome, reason FROM yquota.import_hadoop_configuration(pg_temp.file('
<property>
  <name>yarn.scheduler.capacity.root.queues</name>
  <value>a,b,c</value>
  <description>The queues at the this level (root is the root queue).
  </description>
</property>

<property>
  <name>yarn.scheduler.capacity.root.a.queues</name>
  <value>a1,a2</value>
  <description>The queues at the this level (root is the root queue).
  </description>
</property>

<property>
  <name>yarn.scheduler.capacity.root.b.queues</name>
  <value>b1,b2,b3</value>
  <description>The queues at the this level (root is the root queue).
  </description>
</property>
'));
SELECT path, position FROM yquota.queue ORDER BY path;
ROLLBACK;
-- mapping rules: as printed, the names in angle brackets make the file unreadable, also for Hadoop
SELECT count(*) FROM yquota.import_hadoop_configuration(pg_temp.file('
<property>
  <name>yarn.scheduler.capacity.queue-mappings</name>
  <value>u:user1:queue1,g:group1:queue2,u:%user:%user,u:user2:%primary_group</value>
  <description>
    Here, <user1> is mapped to <queue1>, <group1> is mapped to <queue2>,
    maps users to queues with the same name as user, <user2> is mapped
    to queue name same as <primary group> respectively. The mappings will be
    evaluated from left to right, and the first valid mapping will be used.
  </description>
</property>
'), 'merge');
BEGIN;
SELECT property, value, outcome, reason FROM yquota.import_hadoop_configuration(pg_temp.file('
<property>
  <name>yarn.scheduler.capacity.queue-mappings</name>
  <value>u:user1:queue1,g:group1:queue2,u:%user:%user,u:user2:%primary_group</value>
  <description>
    Here, &lt;user1&gt; is mapped to &lt;queue1&gt;, &lt;group1&gt; is mapped to &lt;queue2&gt;,
    maps users to queues with the same name as user, &lt;user2&gt; is mapped
    to queue name same as &lt;primary group&gt; respectively. The mappings will be
    evaluated from left to right, and the first valid mapping will be used.
  </description>
</property>
'), 'merge');
SELECT position, type, matches, queue FROM yquota.mapping_rule ORDER BY position;
ROLLBACK;
-- Automatically created queues: Hadoop does not read the name of the label's capacity, and therefore refuses the
-- template.
CREATE TEMPORARY TABLE example AS SELECT
'{"yarn.scheduler.capacity.root.queues": "queue1,queue2,parent1", "yarn.scheduler.capacity.root.queue1.capacity": "10", "yarn.scheduler.capacity.root.queue2.capacity": "10",
	"yarn.scheduler.capacity.root.parent1.capacity": "80", "yarn.scheduler.capacity.root.accessible-node-labels.GPU.capacity": "100",
	"yarn.scheduler.capacity.root.queue1.accessible-node-labels": "GPU", "yarn.scheduler.capacity.root.queue1.accessible-node-labels.GPU.capacity": "50"}' AS queues,
pg_temp.file('
<property>
   <name>yarn.scheduler.capacity.queue-mappings</name>
   <value>u:user1:queue1,g:group1:queue2,u:user2:%primary_group,u:%user:parent1.%user</value>
   <description>
     Here, u:%user:parent1.%user mapping allows any &lt;user&gt; other than user1,
     user2 to be mapped to its own user specific leaf queue which
     will be auto-created under &lt;parent1&gt;.
   </description>
 </property>
<property>
   <name>yarn.scheduler.capacity.root.parent1.auto-create-child-queue.enabled</name>
   <value>true</value>
 </property>
 <property>
    <name>yarn.scheduler.capacity.root.parent1.leaf-queue-template.capacity</name>
    <value>5</value>
 </property>
 <property>
    <name>yarn.scheduler.capacity.root.parent1.leaf-queue-template.maximum-capacity</name>
    <value>100</value>
 </property>
 <property>
    <name>yarn.scheduler.capacity.root.parent1.leaf-queue-template.user-limit-factor</name>
    <value>3.0</value>
 </property>
 <property>
    <name>yarn.scheduler.capacity.root.parent1.leaf-queue-template.ordering-policy</name>
    <value>fair</value>
 </property>
 <property>
    <name>yarn.scheduler.capacity.root.parent1.GPU.capacity</name>
    <value>50</value>
 </property>
 <property>
     <name>yarn.scheduler.capacity.root.parent1.accessible-node-labels</name>
     <value>GPU,SSD</value>
   </property>
 <property>
     <name>yarn.scheduler.capacity.root.parent1.leaf-queue-template.accessible-node-labels</name>
     <value>GPU</value>
  </property>
 <property>
    <name>yarn.scheduler.capacity.root.parent1.leaf-queue-template.accessible-node-labels.GPU.capacity</name>
    <value>5</value>
 </property>
') AS file;
BEGIN;
SELECT property, value, outcome, reason FROM example, yquota.import_hadoop_configuration(ARRAY[queues, file]) WHERE property LIKE '%parent1%';
SELECT queue, property, value, advice FROM yquota.configuration_advice() WHERE queue = 'root.parent1.GPU';
COMMIT;
BEGIN;
SELECT outcome, count(*) FROM example, yquota.import_hadoop_configuration(ARRAY[queues, replace(file, 'parent1.GPU.', 'parent1.accessible-node-labels.GPU.')]) GROUP BY 1;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT path, capacity, accessible_node_labels, auto_create_child_queue_enabled, leaf_queue_template FROM yquota.queue WHERE path = 'root.parent1';
SELECT * FROM yquota.queue_label WHERE queue = 'root.parent1';
SELECT position, type, matches, queue FROM yquota.mapping_rule ORDER BY position;
ROLLBACK;
-- absolute resources: Hadoop does not read the name of the maximum
SELECT property, outcome, reason FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a", "yarn.scheduler.capacity.root.a.capacity": "[memory=10240,vcores=12]",
	"yarn.scheduler.capacity.root.a.max-capacity": "[memory=10240,vcores=12]"}');
SELECT * FROM yquota.configuration_advice() WHERE property = 'max-capacity';

--
-- All kinds of names. A name that resembles no property is reported without a suggestion and
-- without a warning.
--
INSERT INTO yquota.node_label (name) VALUES ('gpu');
SELECT substr(i.property, 25) AS property, replace(i.reason, 'yarn.scheduler.capacity.', '') AS reason
FROM yquota.import_hadoop_configuration((SELECT jsonb_object_agg('yarn.scheduler.capacity.' || p, '1') FROM unnest(ARRAY[
	'root.a.capcity', 'root.a.min-user-limit-percent', 'root.a.acl-submit-applications', 'root.a.disable-preemption', 'root.a.state1', 'root.a.queue', 'root.a.qqq',
	'root.a.gpu.capacity', 'root.a.gpu.maximum-am-resource-percent', 'root.a.gpu.state', 'root.a.ssd.capacity', 'root.a.accessible-node-label.gpu.capacity', 'root.a.accessible-node-labels.gpu.capcity',
	'root.a.user-setting.bob.weight', 'root.a.user-settings.bob.wieght', 'root.a.leaf-queue-templates.capacity', 'root.a.auto-create-child-queue-enabled', 'root.a.auto-queue-creation-v2.enable',
	'root.b.capacity', 'root.b.c.max-capacity', 'root.max-capacity', 'root.a.my-plugin.size', 'root..capacity',
	'node-localty-delay', 'user.bob.max-paralel-apps', 'resource-calculater', 'max-applications', 'x', 'my.plugin', 'root.a.' || repeat('x', 400), 'root.a' || repeat('.x', 400) || '.capacity', 'root.a.capacité']) AS p), 'merge') AS i
ORDER BY i.property COLLATE "C";
SELECT queue, property, replace(advice, 'yarn.scheduler.capacity.', '') AS advice FROM yquota.configuration_advice() WHERE value = '1' AND length(property) < 50;
DELETE FROM yquota.unmapped_property;
-- a request reports the same reasons
SELECT property, outcome, reason FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.a", "params": {"max-capacity": "50", "my-plugin": "1"}}, "global-updates": {"yarn.scheduler.capacity.node-localty-delay": "3"}}');
-- an insert into the table also warns, with the probable name
INSERT INTO yquota.unmapped_property VALUES ('yarn.scheduler.capacity.root.a.max-applications', '5');
UPDATE yquota.unmapped_property SET value = '6' WHERE property = 'yarn.scheduler.capacity.root.a.max-applications';
INSERT INTO yquota.unmapped_property SELECT 'yarn.scheduler.capacity.root.a.state' || chr(i), 'RUNNING' FROM generate_series(97, 119) AS i;
DELETE FROM yquota.unmapped_property WHERE value = 'RUNNING';
-- when a queue is created later, settings that were kept for it do not apply
INSERT INTO yquota.unmapped_property VALUES ('yarn.scheduler.capacity.root.b.maximum-applications', '7');
INSERT INTO yquota.queue (path, capacity) VALUES ('root.b', '[memory=1024,vcores=1]');
SELECT maximum_applications FROM yquota.queue WHERE path = 'root.b';
SELECT queue, property, value, advice FROM yquota.configuration_advice() WHERE queue = 'root.b' AND value = '7';
SELECT property, outcome, reason FROM yquota.mutate_configuration('{"update-queue": {"queue-name": "root.b", "params": {"maximum-applications": "7"}}}');
SELECT maximum_applications FROM yquota.queue WHERE path = 'root.b';
SELECT * FROM yquota.unmapped_property WHERE property LIKE '%root.b.%';

-- the nearest name
SELECT n.name, yquota_internal.nearest_name(n.name, '{capacity,maximum-capacity,NULL,état}') FROM (VALUES ('capacity'), ('max-capacity'), ('capacity-max'), ('etat'), ('éta'), (''), ('xy'), (NULL), (repeat('x', 300))) AS n (name);

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_unmapped_property WITH (FORCE);
