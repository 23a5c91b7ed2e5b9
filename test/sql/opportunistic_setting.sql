--
-- Settings of allocation and of OPPORTUNISTIC containers: import under the present and the former
-- names of their properties, refused values, and advice.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic_setting WITH (FORCE);
CREATE DATABASE yquota_opportunistic_setting;
\c yquota_opportunistic_setting
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\pset null '(null)'
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
CREATE VIEW setting AS
	SELECT c.key, c.value FROM yquota.scheduler_setting AS s, jsonb_each_text(jsonb_strip_nulls(to_jsonb(s))) AS c WHERE c.key <> 'only_row';
SET intervalstyle = 'postgres';
CREATE FUNCTION pg_temp.import(properties jsonb, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, value text, outcome text, reason text) LANGUAGE sql AS
	'SELECT i.property, i.value, i.outcome, i.reason FROM yquota.import_hadoop_configuration(properties, mode) AS i';

--
-- Each property is imported and exported under its present name
--
\pset format unaligned
BEGIN;
CREATE TEMPORARY TABLE present ON COMMIT DROP AS SELECT '{
	"yarn.resourcemanager.opportunistic-container-allocation.enabled": "true",
	"yarn.resourcemanager.opportunistic-container-allocation.nodes-used": "7",
	"yarn.resourcemanager.opportunistic.max.container-allocation.per.am.heartbeat": "100",
	"yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms": "1500",
	"yarn.resourcemanager.nm-container-queuing.load-comparator": "QUEUE_LENGTH_THEN_RESOURCES",
	"yarn.resourcemanager.nm-container-queuing.queue-limit-stdev": "1.5f",
	"yarn.resourcemanager.nm-container-queuing.min-queue-length": "3",
	"yarn.resourcemanager.nm-container-queuing.max-queue-length": " 0x1F ",
	"yarn.resourcemanager.nm-container-queuing.min-queue-wait-time-ms": "0",
	"yarn.resourcemanager.nm-container-queuing.max-queue-wait-time-ms": "86400001",
	"yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": "2147483647",
	"yarn.resourcemanager.auto-update.containers": "TRUE",
	"yarn.resourcemanager.scheduler.address": "localhost:8049",
	"yarn.nodemanager.opportunistic-containers-max-queue-length": "-1",
	"yarn.nodemanager.opportunistic-containers-queue-policy": " BY_RESOURCES ",
	"yarn.nodemanager.opportunistic-containers-use-pause-for-preemption": "true",
	"yarn.nodemanager.distributed-scheduling.enabled": "true",
	"yarn.nodemanager.amrmproxy.enabled": "true",
	"yarn.nodemanager.amrmproxy.address": "0.0.0.0:8049",
	"yarn.nodemanager.amrmproxy.client.thread-count": "25",
	"yarn.nodemanager.vmem-pmem-ratio": "2.5",
	"yarn.nodemanager.vmem-check-enabled": "false",
	"yarn.opportunistic-containers.min-memory-mb": "512",
	"yarn.opportunistic-containers.min-vcores": "1",
	"yarn.opportunistic-containers.max-memory-mb": "2048",
	"yarn.opportunistic-containers.max-vcores": "4",
	"yarn.opportunistic-containers.incr-memory-mb": "256",
	"yarn.opportunistic-containers.incr-vcores": "2",
	"yarn.opportunistic-containers.container-token-expiry-ms": "30000",
	"mapreduce.job.num-opportunistic-maps-percent": "40"}'::jsonb AS properties;
SELECT i.outcome, count(*) FROM present, pg_temp.import(properties) AS i GROUP BY 1;
SELECT * FROM setting ORDER BY key;
SELECT coalesce(c.property, p.key) AS property, p.value AS imported, c.value AS exported
FROM yquota.hadoop_configuration() AS c FULL JOIN (SELECT * FROM present, jsonb_each_text(properties)) AS p ON p.key = c.property
WHERE p.value IS DISTINCT FROM c.value;
SELECT yquota.export_hadoop_configuration('mapred-site.xml');
SELECT * FROM yquota.diff_hadoop_configuration(yquota.export_hadoop_configuration(NULL));
-- each of the two files replaces only its own properties
SELECT * FROM pg_temp.import('{"mapreduce.job.num-opportunistic-maps-percent": "0"}') WHERE outcome <> 'unchanged';
SELECT count(*) FROM pg_temp.import('{"yarn.nodemanager.amrmproxy.enabled": "true"}') WHERE outcome = 'removed';
SELECT * FROM yquota.hadoop_configuration();
COMMIT;

--
-- Properties imported under former names are exported under these names, whatever is set later
--
SELECT * FROM pg_temp.import('{
	"yarn.opportunistic-container-allocation.enabled": "true",
	"yarn.opportunistic-container-allocation.nodes-used": "10",
	"yarn.distributed-scheduling.enabled": "true",
	"yarn.nm-container-queuing.sorting-nodes-interval-ms": "1000",
	"yarn.nm-container-queuing.load-comparator": "QUEUE_LENGTH",
	"yarn.nm-container-queuing.queue-limit-stdev": "1.0",
	"yarn.nm-container-queuing.min-queue-length": "1",
	"yarn.nm-container-queuing.max-queue-length": "10",
	"yarn.nm-container-queuing.min-queue-wait-time-ms": "1",
	"yarn.nm-container-queuing.max-queue-wait-time-ms": "10",
	"yarn.nodemanager.amrmproxy.enabled": "true",
	"yarn.nodemanager.opportunistic-containers-max-queue-length": "10",
	"mapreduce.job.num-opportunistic-maps-per-100": "40"}');
SELECT * FROM setting ORDER BY key;
SELECT * FROM yquota.hadoop_configuration();
SELECT * FROM yquota.diff_hadoop_configuration(yquota.export_hadoop_configuration(NULL));
UPDATE yquota.scheduler_setting SET max_queue_length = 12, opportunistic_nodes_used = NULL;
SELECT * FROM yquota.hadoop_configuration() WHERE property LIKE '%max-queue-length' OR property LIKE '%nodes-used';
SELECT property, old, new FROM yquota.configuration_mutation WHERE audit_id = (SELECT max(audit_id) FROM yquota.audit) ORDER BY property;

--
-- When a file has both names, the present name counts. A merged file or a request replaces the
-- setting under either name.
--
SELECT * FROM pg_temp.import('{"yarn.nm-container-queuing.max-queue-length": "11", "yarn.resourcemanager.nm-container-queuing.max-queue-length": "20"}', 'merge') WHERE property LIKE '%max-queue-length';
SELECT former_names ? 'max_queue_length' AS is_former, former_names ? 'min_queue_length' AS is_other_former, max_queue_length FROM yquota.scheduler_setting;
SELECT * FROM pg_temp.import('{"yarn.nm-container-queuing.max-queue-length": "11"}', 'merge') WHERE property LIKE '%max-queue-length';
SELECT * FROM yquota.hadoop_configuration() WHERE property LIKE '%max-queue-length';
-- an empty value counts as no value
SELECT * FROM pg_temp.import('{"yarn.nm-container-queuing.max-queue-length": "13", "yarn.resourcemanager.nm-container-queuing.max-queue-length": ""}', 'merge') WHERE property LIKE '%max-queue-length';
-- an ignored property may have an invalid value
SELECT * FROM pg_temp.import('{"yarn.nm-container-queuing.max-queue-length": "many", "yarn.resourcemanager.nm-container-queuing.max-queue-length": "14"}', 'merge') WHERE property LIKE '%max-queue-length';
SELECT * FROM yquota.mutate_configuration('{"global-updates": {"yarn.nm-container-queuing.max-queue-length": "16"}}');
SELECT * FROM yquota.hadoop_configuration() WHERE property LIKE '%max-queue-length';
SELECT * FROM yquota.mutate_configuration('{"global-updates": {"yarn.nm-container-queuing.max-queue-length": "17", "yarn.resourcemanager.nm-container-queuing.max-queue-length": "18"}}');
SELECT * FROM yquota.hadoop_configuration() WHERE property LIKE '%max-queue-length';
SELECT * FROM yquota.mutate_configuration('{"global-updates": {"yarn.nm-container-queuing.max-queue-length": null}}');
SELECT * FROM yquota.hadoop_configuration() WHERE property LIKE '%max-queue-length';
-- an invalid former_names hides no property
\set VERBOSITY terse
UPDATE yquota.scheduler_setting SET former_names = '{"max_queue_length": 1, "acl_enable": true, "nothing": null}', acl_enable = true, max_queue_length = 19;
SELECT * FROM yquota.hadoop_configuration() WHERE property ~ 'acl.enable|queuing.*max-queue-length';
UPDATE yquota.scheduler_setting SET former_names = '[]';
DELETE FROM yquota.scheduler_setting;

--
-- Impossible values are refused, and the error names the property
--
CREATE FUNCTION pg_temp.try(property text, value text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM * FROM yquota.import_hadoop_configuration(jsonb_build_object(property, value), 'merge');
	SET CONSTRAINTS ALL IMMEDIATE;
	RAISE 'accepted' USING ERRCODE = 'YT001';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN CASE SQLSTATE WHEN 'YT001' THEN 'accepted' ELSE SQLSTATE || ': ' || SQLERRM || ' | ' || detail END;
END
$$;
SELECT pg_temp.try(p.property, p.value) FROM (VALUES
	('yarn.nm-container-queuing.load-comparator', 'QUEUE_SIZE'),
	('yarn.resourcemanager.nm-container-queuing.load-comparator', 'queue_length'),
	('yarn.resourcemanager.nm-container-queuing.load-comparator', ' QUEUE_LENGTH'),
	('yarn.nodemanager.opportunistic-containers-queue-policy', 'by_resources'),
	('yarn.resourcemanager.nm-container-queuing.queue-limit-stdev', '-0.5'),
	('yarn.resourcemanager.nm-container-queuing.queue-limit-stdev', 'NaN'),
	('yarn.resourcemanager.nm-container-queuing.queue-limit-stdev', 'Infinity'),
	('yarn.resourcemanager.nm-container-queuing.queue-limit-stdev', '0'),
	('yarn.resourcemanager.nm-container-queuing.min-queue-length', '-1'),
	('yarn.resourcemanager.nm-container-queuing.min-queue-length', '1.5'),
	('yarn.resourcemanager.nm-container-queuing.min-queue-length', '16'),
	('yarn.resourcemanager.nm-container-queuing.max-queue-length', '4'),
	('yarn.resourcemanager.nm-container-queuing.max-queue-length', '5'),
	('yarn.resourcemanager.nm-container-queuing.min-queue-wait-time-ms', '-1'),
	('yarn.resourcemanager.nm-container-queuing.min-queue-wait-time-ms', '101'),
	('yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms', '0'),
	('yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms', '2147483648'),
	('yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms', '9223372036854775807'),
	('yarn.resourcemanager.rm.container-allocation.expiry-interval-ms', '-1'),
	('yarn.resourcemanager.rm.container-allocation.expiry-interval-ms', '2147483648'),
	('yarn.resourcemanager.rm.container-allocation.expiry-interval-ms', '10min'),
	('yarn.resourcemanager.opportunistic-container-allocation.nodes-used', '-1'),
	('yarn.resourcemanager.opportunistic.max.container-allocation.per.am.heartbeat', '-5'),
	('yarn.nodemanager.vmem-pmem-ratio', '0.99'),
	('yarn.nodemanager.vmem-pmem-ratio', '0.991'),
	('yarn.opportunistic-containers.incr-vcores', '0'),
	('yarn.opportunistic-containers.max-memory-mb', '0')) AS p (property, value);
INSERT INTO yquota.scheduler_setting (opportunistic_minimum_allocation_mb, opportunistic_maximum_allocation_mb) VALUES (1024, 512);
INSERT INTO yquota.scheduler_setting (opportunistic_minimum_allocation_vcores, opportunistic_maximum_allocation_vcores) VALUES (2, 1);
INSERT INTO yquota.scheduler_setting DEFAULT VALUES;
UPDATE yquota.scheduler_setting SET queue_limit_stdev = 'NaN';
UPDATE yquota.scheduler_setting SET queue_limit_stdev = 'Infinity';
UPDATE yquota.scheduler_setting SET vmem_pmem_ratio = 0.99;
UPDATE yquota.scheduler_setting SET allocation_expiry = '-1 ms';
UPDATE yquota.scheduler_setting SET allocation_expiry = '1 mon';
UPDATE yquota.scheduler_setting SET allocation_expiry = '0.5 ms';
UPDATE yquota.scheduler_setting SET node_sorting_interval = '0';
UPDATE yquota.scheduler_setting SET node_load_comparator = 'QUEUE_SIZE';
UPDATE yquota.scheduler_setting SET opportunistic_anywhere_order = 'first';
-- the export is the same for each IntervalStyle of the session
UPDATE yquota.scheduler_setting SET allocation_expiry = '1 day 1 ms', min_queue_wait_time = '0';
SET intervalstyle = 'sql_standard';
SELECT * FROM yquota.hadoop_configuration();
SET intervalstyle = 'iso_8601';
SELECT * FROM yquota.hadoop_configuration();
SELECT * FROM pg_temp.import(to_jsonb((SELECT jsonb_object_agg(property, value) FROM yquota.hadoop_configuration())));
RESET intervalstyle;
-- an import does not change yquota's own settings
UPDATE yquota.scheduler_setting SET opportunistic_anywhere_order = 'round_robin', opportunistic_ignores_places = true, opportunistic_maps_by_share = true;
SELECT outcome, count(*) FROM pg_temp.import('{"yarn.acl.enable": "true"}') GROUP BY 1 ORDER BY 1;
SELECT * FROM setting ORDER BY key;

--
-- Advice
--
\set VERBOSITY default
UPDATE yquota.scheduler_setting SET acl_enable = NULL;
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = true;
UPDATE yquota.scheduler_setting SET amrmproxy_enabled = true;
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true;
UPDATE yquota.scheduler_setting SET opportunistic_queue_policy = 'BY_RESOURCES', opportunistic_nodes_used = 0, node_load_comparator = 'QUEUE_WAIT_TIME';
SELECT * FROM yquota.configuration_advice();
UPDATE yquota.scheduler_setting SET opportunistic_queue_policy = NULL, opportunistic_queue_capacity = 10, opportunistic_nodes_used = NULL, node_load_comparator = NULL;
SELECT * FROM yquota.configuration_advice();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_opportunistic_setting WITH (FORCE);
