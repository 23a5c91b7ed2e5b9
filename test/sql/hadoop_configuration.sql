--
-- Hadoop's configuration files. yquota reads them as Hadoop does, reports on each property, and
-- exports the same files. A wrong file is refused as a whole.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_hadoop_configuration WITH (FORCE);
CREATE DATABASE yquota_hadoop_configuration;
\c yquota_hadoop_configuration
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\pset null '(null)'

--
-- A file with an example of everything
--
CREATE TABLE file AS SELECT
'<?xml version="1.0" encoding="UTF-8"?>
<?xml-stylesheet type="text/xsl" href="configuration.xsl"?>
<!-- a comment with <property> in it -->
<configuration>
  <property>
    <name> yarn.scheduler.capacity.root.queues </name>
    <value>sales, research ,dev</value>
    <description>children of &lt;root&gt;</description>
    <source>capacity-scheduler.xml</source>
  </property>
  <property><name>yarn.scheduler.capacity.root.sales.queues</name><value>etl,
adhoc</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.capacity</name><value> 12.50 </value></property>
  <property><name>yarn.scheduler.capacity.root.research.capacity</name><value>[memory=10240,vcores=12]</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.capacity</name><value>2w</value></property>
  <property><name>yarn.scheduler.capacity.root.acl_submit_applications</name><value> </value></property>
  <property><name>yarn.scheduler.capacity.root.sales.etl.acl_submit_applications</name><value>u1,u2 g1</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.etl.state</name><value>stopped</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.etl.maximum-applications</name><value>0x1F</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.etl.maximum-allocation</name><value>memory-mb=4Gi,vcores=2,yarn.io/gpu=1</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.etl.user-settings.john.doe.weight</name><value>1.5f</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.accessible-node-labels</name><value>gpu,*,ssd</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.accessible-node-labels</name><value> </value></property>
  <property><name>yarn.scheduler.capacity.root.sales.accessible-node-labels.gpu.capacity</name><value>50</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.accessible-node-labels.gpu.maximum-capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.sales.ordering-policy.fair.enable-size-based-weight</name><value>true</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.leaf-queue-template.accessible-node-labels.gpu.capacity</name><value>5</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.leaf-queue-template.capacity</name><value>5</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.auto-queue-creation-v2.leaf-template.capacity</name><value>3w</value></property>
  <property><name>yarn.scheduler.capacity.root.*.auto-queue-creation-v2.template.capacity</name><value>4w</value></property>
  <property><name>yarn.scheduler.capacity.maximum-am-resource-percent</name><value>.2</value></property>
  <property><name>yarn.scheduler.capacity.queue-mappings</name><value>u:john:etl , g:dev:root.dev,
u:%user:%primary_group, u:john:etl</value></property>
  <property><name>yarn.scheduler.capacity.mapping-rule-format</name><value>legacy</value></property>
  <property><name>yarn.scheduler.capacity.mapping-rule-json</name><value>{"rules": [{"type": "user", "matches": "*", "policy": "custom", "customPlacement": "root.dev.%user", "create": false, "fallbackResult": "reject"}]}</value></property>
  <property><name>yarn.scheduler.capacity.workflow-priority-mappings</name><value>w1:root.dev:3,w2:root.sales.etl:-1</value></property>
  <property><name>yarn.scheduler.capacity.user.bob.max-parallel-apps</name><value>3</value></property>
  <property><name>yarn.scheduler.capacity.multi-node-sorting.policy.names</name><value>default</value></property>
  <property><name>yarn.scheduler.capacity.multi-node-sorting.policy.default.sorting-interval.ms</name><value>500</value></property>
  <property><name>yarn.scheduler.capacity.root.gone.capacity</name><value>7</value></property>
  <property><name>yarn.scheduler.capacity.root.dev.capcity</name><value>8</value></property>
  <property><name>yarn.scheduler.capacity.capcity</name><value>a &amp; b &lt;c&gt; "d" &#233;&#x43a;</value></property>
  <property><name>yarn.scheduler.capacity.node-locality-delay</name><value>1</value></property>
  <property><name>yarn.scheduler.capacity.node-locality-delay</name><value>2</value><final>true</final></property>
  <property><name>yarn.scheduler.capacity.node-locality-delay</name><value>3</value></property>
  <property><name>yarn.scheduler.capacity.rack-locality-additional-delay</name><value>1</value></property>
  <property><name>yarn.scheduler.capacity.rack-locality-additional-delay</name><value>2</value><final> true</final></property>
  <property><name>yarn.scheduler.capacity.rack-locality-additional-delay</name><value>3</value></property>
  <property><name>yarn.scheduler.capacity.user-metrics.enable</name><value>yes</value></property>
  <property><name>yarn.scheduler.capacity.lazy-preemption-enabled</name><value> TRUE </value></property>
  <property><name>yarn.scheduler.capacity.resource-calculator</name><value></value></property>
  <property><name>yarn.scheduler.capacity.maximum-applications</name></property>
  <property name="yarn.scheduler.capacity.max-parallel-apps" value="${limit}"/>
  <property><value>no name</value></property>
  <property><name>yarn.resourcemanager.hostname</name><value>rm</value></property>
  <xi:include href="file:///etc/passwd"/>
  <!-- in the document, but not a property -->
  <unknown><name>x</name><value>y</value></unknown>
</configuration>
'::text AS scheduler,
'<configuration>
  <property><name>limit</name><value><![CDATA[1]]>${zero}</value></property>
  <property><name>zero</name><value>0</value></property>
  <property><name>yarn.acl.enable</name><value>true</value></property>
  <property><name>yarn.scheduler.maximum-allocation-mb</name><value>16384</value></property>
  <property><name>yarn.scheduler.configuration.leveldb-store.path</name><value>${hadoop.tmp.dir}/confstore</value></property>
  <property><name>yarn.scheduler.queue-placement-rules.app-name</name><value>hive:etl</value></property>
</configuration>'::text AS site;
BEGIN;
\pset format unaligned
SELECT i.property, i.value, i.outcome, i.reason, i.table_name, i.column_name FROM file, yquota.import_hadoop_configuration(ARRAY[scheduler, site]) AS i;
\pset format aligned
SELECT path, position, capacity, state, maximum_applications, maximum_allocation, accessible_node_labels, acl_submit_applications FROM yquota.queue ORDER BY path;
SELECT path, ordering_policy_options, leaf_queue_template, auto_queue_creation_v2_leaf_template FROM yquota.queue WHERE leaf_queue_template IS NOT NULL OR ordering_policy_options IS NOT NULL ORDER BY path;
SELECT * FROM yquota.queue_label;
SELECT * FROM yquota.queue_user;
SELECT path, auto_queue_creation_v2_template FROM yquota.wildcard_template;
SELECT * FROM yquota.mapping_rule ORDER BY kind, position;
SELECT * FROM yquota.workflow_priority_mapping ORDER BY position;
SELECT * FROM yquota.user_setting;
SELECT * FROM yquota.multi_node_sorting_policy;
SELECT * FROM yquota.unmapped_property ORDER BY property;
SELECT key, value FROM yquota.scheduler_setting AS s, jsonb_each_text(jsonb_strip_nulls(to_jsonb(s))) ORDER BY key;

--
-- Exporting and importing again changes nothing, in each form of the export
--
SELECT yquota.export_hadoop_configuration('yarn-site.xml');
SELECT property, value FROM yquota.hadoop_configuration('capacity-scheduler.xml')
\g (format=unaligned)
CREATE TEMPORARY TABLE before AS SELECT * FROM yquota.hadoop_configuration();
CREATE TEMPORARY TABLE audited AS SELECT max(audit_id) AS audit_id FROM yquota.audit;
SELECT * FROM yquota.diff_hadoop_configuration(yquota.export_hadoop_configuration(NULL));
SELECT * FROM yquota.diff_hadoop_configuration(yquota.export_hadoop_configuration());
SELECT * FROM yquota.diff_hadoop_configuration(yquota.export_hadoop_configuration('yarn-site.xml'));
SELECT * FROM yquota.diff_hadoop_configuration((SELECT jsonb_object_agg(property, value) FROM before));
SELECT * FROM yquota.diff_hadoop_configuration((SELECT jsonb_build_object('properties', jsonb_agg(jsonb_build_object('key', property, 'value', value, 'isFinal', false))) FROM before));
SELECT * FROM yquota.diff_hadoop_configuration((SELECT jsonb_build_object('property', jsonb_agg(jsonb_build_object('name', property, 'value', value))) FROM before));
SELECT outcome, count(*) FROM yquota.import_hadoop_configuration(yquota.export_hadoop_configuration(NULL)) GROUP BY 1 ORDER BY 1;
SELECT outcome, count(*) FROM yquota.import_hadoop_configuration(yquota.export_hadoop_configuration(NULL)::text, 'merge') GROUP BY 1 ORDER BY 1;
SELECT count(*) AS audited FROM yquota.audit WHERE audit_id > (SELECT audit_id FROM audited);
(TABLE before EXCEPT SELECT * FROM yquota.hadoop_configuration()) UNION ALL (SELECT * FROM yquota.hadoop_configuration() EXCEPT TABLE before);

--
-- Replacing and merging
--
-- a number that is written in another way is not a change
SELECT * FROM yquota.diff_hadoop_configuration('{"yarn.scheduler.capacity.root.sales.etl.maximum-applications": " 31 ", "yarn.scheduler.capacity.root.dev.capacity": "3w", "yarn.acl.enable": "false"}', 'merge');
SAVEPOINT s;
SELECT property, value, outcome FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "dev,sales"}', 'merge');
SELECT path, position FROM yquota.queue ORDER BY path;
-- settings for a removed queue are kept, and apply again when the queue returns
SELECT property, value FROM yquota.unmapped_property WHERE property LIKE '%root.research%';
SELECT property, outcome FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "sales,research,dev"}', 'merge');
(TABLE before EXCEPT SELECT * FROM yquota.hadoop_configuration()) UNION ALL (SELECT * FROM yquota.hadoop_configuration() EXCEPT TABLE before);
ROLLBACK TO s;
-- importing one file does not remove settings of the other file
SELECT outcome, count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "sales", "yarn.scheduler.capacity.root.sales.capacity": "100"}') GROUP BY 1 ORDER BY 1;
SELECT property, value FROM yquota.hadoop_configuration();
ROLLBACK TO s;
SELECT property, outcome FROM yquota.import_hadoop_configuration('<configuration><property><name>yarn.admin.acl</name><value>admin</value></property></configuration>') WHERE outcome <> 'unchanged';
SELECT count(*) FROM yquota.queue;
ROLLBACK TO s;
SELECT * FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.maximum-applications": 5}');
ROLLBACK TO s;
-- automatically created queues stay as long as their parent exists
INSERT INTO yquota.queue (path, auto_created, capacity) VALUES ('root.dev.p', true, '1w'), ('root.dev.p.u', true, '1w');
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.dev.p.u', 'gpu', '1w');
SELECT outcome, count(*) FROM yquota.import_hadoop_configuration((SELECT jsonb_object_agg(property, value) FROM before)) GROUP BY 1 ORDER BY 1;
SELECT path, auto_created, label FROM yquota.queue LEFT JOIN yquota.queue_label ON queue = path WHERE path LIKE 'root.dev%' ORDER BY path;
SELECT count(*) FROM yquota.hadoop_configuration() WHERE property LIKE '%root.dev.p%' OR value = 'p';
SELECT property, outcome FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.dev.queues": "p"}', 'merge');
SELECT path, auto_created, capacity FROM yquota.queue WHERE path LIKE 'root.dev%' ORDER BY path;
SELECT outcome, count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "sales", "yarn.scheduler.capacity.root.sales.capacity": "100"}') GROUP BY 1 ORDER BY 1;
SELECT path FROM yquota.queue ORDER BY path;
ROLLBACK;

--
-- Notations
--
SELECT notation, value, yquota_internal.hadoop_value(notation, value) AS read
FROM (VALUES ('integer', ' 7 '), ('integer', '+7'), ('integer', '-0x7f'), ('integer', '0X7fffffff'), ('integer', '0x80000000'), ('integer', '2147483648'),
			 ('integer', '7.0'), ('integer', ''), ('integer', '٣'), ('decimal', '7'), ('decimal', ' 7'), ('decimal', '0x7'),
			 ('long', '9223372036854775807'), ('long', '9223372036854775808'), ('long', '0x7fffffffffffff'),
			 ('float', '0.1'), ('float', ' 1e-3 '), ('float', '1.5F'), ('float', '0.333333333333'), ('float', '16777217'), ('float', '1e39'), ('float', '1e-46'), ('float', '1,5'), ('float', '10%'),
			 ('double', '0.1'), ('double', '0.1d'), ('boolean', 'True'), ('boolean', 'yes'), ('state', 'Running'), ('state', ' RUNNING'), ('state', 'DRAINING'),
			 ('capacity', ' 10 '), ('capacity', '2w'), ('capacity', '2w '), ('capacity', '[memory=1024, vcores=2]'), ('capacity', ' [memory=1024]'), ('capacity', '[memory=50%,vcores=1w]'), ('capacity', 'w'),
			 ('list', ' a, b ,,a'), ('labels', 'b, a,b, '), ('labels', 'a,*'), ('labels', ' '), ('format', 'json'), ('format', 'JSON'), ('acl', ' '), ('text', ' fair '),
			 ('resource', 'memory-mb=4096,vcores=2'), ('resource', ' [memory=1Gi, vcores = 2] '), ('resource', 'memory-mb=1G'), ('resource', 'memory-mb=-1'), ('resource', 'memory-mb'), ('resource', 'memory-mb=1.5'), ('resource', 'vcores=1000000000P'))
	AS n (notation, value);

--
-- Substitution
--
BEGIN;
SELECT property, value, outcome, reason FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "${a}", "a": "${b},${c}", "b": "x", "c": "${b}${b}",
	"yarn.scheduler.capacity.root.x.ordering-policy": "${self}", "self": "<${self}>", "yarn.scheduler.capacity.multi-node-sorting.policy": "${none}.${b}"}');
SELECT path FROM yquota.queue ORDER BY path;
ROLLBACK;
SELECT * FROM yquota.diff_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "${a}", "a": "${b}${b}", "b": "${c}${c}", "c": "${d}${d}", "d": "${e}${e}", "e": "${f}${f}", "f": "x"}');
SELECT * FROM yquota.diff_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "${a}", "a": "${b}", "b": "${a}"}');

--
-- Bad input is refused with its error, and nothing changes
--
BEGIN;
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.x', '100');
CREATE TEMPORARY TABLE before_bad AS SELECT * FROM yquota.hadoop_configuration();
CREATE FUNCTION pg_temp.try(document text, mode text DEFAULT 'merge') RETURNS TABLE (error text, detail text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM * FROM yquota.import_hadoop_configuration(document, mode);
	RAISE 'accepted' USING ERRCODE = 'YT001';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	error := CASE SQLSTATE WHEN 'YT001' THEN '' ELSE SQLSTATE || ': ' END || SQLERRM;
	RETURN NEXT;
END
$$;
SELECT left(b.document, 60) AS document, t.* FROM unnest(ARRAY[
	NULL, '', '   ', 'capacity-scheduler.xml', '<configuration>', '<configuration/>', '<configuration></configuration><configuration/>', '<conf/>', '<configuration/>x',
	'<configuration><property></configuration>', '<configuration><property><name>a</nam></property></configuration>', '<configuration><property name=a/></configuration>',
	'<configuration><property name="a', '<configuration><property name/></configuration>', '<configuration><!-- </configuration>', '<configuration><![CDATA[ </configuration>', '<configuration><?x </configuration>',
	'<configuration>&unknown;</configuration>', '<configuration>a & b</configuration>', '<configuration>&#0;</configuration>', '<configuration>&#xD800;</configuration>', '<configuration>&#x110000;</configuration>', '<configuration>&#12</configuration>',
	'<configuration>]]></configuration>', '<configuration><property><value>' || chr(1) || '</value></property></configuration>', '<configuration>' || repeat('<a>', 40) || '</configuration>', '<>', '</configuration>', '<configuration',
	'<!DOCTYPE configuration [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><configuration>&b;</configuration>',
	'<!DOCTYPE configuration [<!ENTITY file SYSTEM "file:///etc/passwd">]><configuration><property><name>x</name><value>&file;</value></property></configuration>',
	'<!DOCTYPE configuration SYSTEM "http://127.0.0.1/x.dtd"><configuration/>',
	'{', '[1]', '{"a": {"b": 1}}', '[{"name": "a", "value": [1]}]', '[{"value": "x"}]', '{"a": 1} x']) AS b (document)
CROSS JOIN LATERAL pg_temp.try(b.document) AS t;
SELECT left(p.property, 60) AS property, left(p.value, 100) AS value, t.* FROM (VALUES
	('root.queues', 'a,b,a'), ('root.queues', 'a,b.c'), ('root.queues', 'a, ,b'), ('root.queues', 'a  b'), ('root.queues', E'a\tb'), ('root.queues', 'a,,b,'), ('root.queues', '"a",b''c,é d'), ('root.queues', repeat('x', 2000)),
	('root.x.capacity', 'much'), ('root.x.capacity', '[memory=1'), ('root.x.maximum-applications', 'many'), ('root.x.maximum-applications', '1e3'), ('root.x.state', 'DRAINING'),
	('root.x.user-limit-factor', '1,5'), ('root.x.user-settings.u.weight', 'heavy'), ('root.x.maximum-allocation', '4096'), ('root.x.maximum-application-lifetime', '1h'),
	('root.x.priority', '99999999999'), ('queue-mappings', 'u:a'), ('queue-mappings', 'x:a:b'), ('queue-mappings', 'u:a:b:c'), ('queue-mappings', 'u:a:b,,g:c:d'), ('mapping-rule-format', 'xml'),
	('workflow-priority-mappings', 'w:q'), ('workflow-priority-mappings', 'w:q:high'), ('workflow-priority-mappings', 'w:q:9999999999'),
	('mapping-rule-json', '{'), ('mapping-rule-json', '[]'), ('mapping-rule-json', '{"rules": [{"type": "user", "matches": "a"}]}'), ('mapping-rule-json', '{"rules": [1]}'),
	('mapping-rule-json', '{"rules": [{"type": "group", "matches": "*", "policy": "user"}]}'), ('mapping-rule-json', '{"rules": [{"type": "user", "matches": "a", "policy": "user", "create": "yes"}]}'),
	('mapping-rule-json', '{"rules": [{"type": "user", "matches": "a", "policy": "user", "colour": "red"}]}'), ('mapping-rule-json', '{"rules": []}'),
	(repeat('x', 2500), '1'), ('user.' || repeat('x', 300) || '.max-parallel-apps', 'x')) AS p (property, value)
CROSS JOIN LATERAL (SELECT left(e.error, 120) AS error, left(e.detail, 160) AS detail FROM pg_temp.try(jsonb_build_object('yarn.scheduler.capacity.' || p.property, p.value)::text) AS e) AS t
\g (format=unaligned)
SELECT t.error, t.detail FROM pg_temp.try('<configuration>' || repeat(' ', 67108864) || '</configuration>') AS t;
SELECT count(*) FROM (SELECT * FROM yquota.hadoop_configuration() EXCEPT TABLE before_bad) AS changed;
ROLLBACK;

--
-- With a store other than the file, capacity-scheduler.xml is only the initial content of the store
--
BEGIN;
\set with_store '{"yarn.scheduler.capacity.root.queues": "a", "yarn.scheduler.capacity.root.a.capacity": "100", "yarn.scheduler.configuration.store.class": "zk"}'
SELECT property, outcome FROM yquota.import_hadoop_configuration(:'with_store');
SAVEPOINT s;
SELECT count(*) FROM yquota.import_hadoop_configuration(:'with_store');
ROLLBACK TO s;
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.maximum-applications": 5}'::jsonb, 'merge');
ROLLBACK TO s;
SELECT count(*) FROM yquota.import_hadoop_configuration('<configuration><property><name>yarn.scheduler.capacity.maximum-applications</name><value>5</value></property></configuration>'::xml, 'merge', NULL);
ROLLBACK TO s;
-- these calls compare, read yarn-site.xml, change the store as Hadoop does, and force an import
SELECT * FROM yquota.diff_hadoop_configuration('{"yarn.scheduler.capacity.maximum-applications": 5}', 'merge');
SELECT property, outcome FROM yquota.import_hadoop_configuration('{"yarn.acl.enable": true}', 'merge');
SELECT property, outcome FROM yquota.mutate_configuration('{"global-updates": {"yarn.scheduler.capacity.maximum-applications": 5}}');
SELECT property, outcome FROM yquota.import_hadoop_configuration(:'with_store', even_if_mutable => true);
SELECT property, outcome FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.maximum-applications": 6}'::jsonb, 'merge', true);
SELECT property, outcome FROM yquota.import_hadoop_configuration('{"yarn.scheduler.configuration.store.class": "file"}', 'merge');
SELECT property, outcome FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.maximum-applications": 7}', 'merge');
ROLLBACK;

SELECT * FROM yquota.import_hadoop_configuration('{}', 'update');
SELECT * FROM yquota.import_hadoop_configuration('{}', NULL);
SELECT * FROM yquota.import_hadoop_configuration('{}'::text[]);
SELECT * FROM yquota.import_hadoop_configuration(NULL::xml);
SELECT * FROM yquota.diff_hadoop_configuration('<configuration><property><name>yarn.scheduler.capacity.node-locality-delay</name><value>near</value></property></configuration>'::xml, 'merge');
SELECT yquota.export_hadoop_configuration('hdfs-site.xml');

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_hadoop_configuration WITH (FORCE);
