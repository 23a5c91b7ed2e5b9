--
-- Fill the tables of workload.sql from the history. Configure the cluster with Hadoop's defaults, and with a queue of
-- ten containers at each node.
--
INSERT INTO simulation.plan (from_at, to_at, heartbeat)
SELECT origin + :first_hour * interval '1 hour', origin + (:first_hour + :hours) * interval '1 hour', '10 s' FROM demo.history;

WITH played AS (
	SELECT a.number, a.qos = 'BE' AS is_opportunistic, (a.cpu_milli + 999) / 1000 AS vcores, (a.memory_mib + 1023) / 1024 * 1024 AS memory_mb,
		   CASE WHEN a.qos = 'BE' THEN ((a.second - :first_hour * 3600) % (:folded_hours * 3600) + :folded_hours * 3600) % (:folded_hours * 3600)
				ELSE greatest(a.second - :first_hour * 3600, 0) END AS second,
		   a.seconds - CASE WHEN a.qos = 'BE' THEN 0 ELSE greatest(:first_hour * 3600 - a.second, 0) END AS seconds
	FROM asked AS a
)
INSERT INTO simulation.pod (number, is_opportunistic, application_id, vcores, memory_mb, asks_at, duration)
SELECT number, is_opportunistic, format('application_%s_%s', CASE WHEN is_opportunistic THEN 2 ELSE 1 END, to_char(number / 8 % 24 + 1, 'FM0000')),
	   vcores, memory_mb, p.from_at + second * interval '1 s', seconds * interval '1 s'
FROM played AS a, simulation.plan AS p
WHERE seconds > 0 AND second < :hours * 3600
  AND NOT EXISTS (SELECT FROM demo.node AS n WHERE n.cpu_milli / 1000 < a.vcores OR n.memory_mib < a.memory_mb);
ANALYZE simulation.pod;

SELECT yquota.set_clock(from_at) FROM simulation.plan \g /dev/null

INSERT INTO yquota.project (name) SELECT 'project' || n FROM generate_series(1, 8) AS n;
INSERT INTO yquota.queue (path, capacity, user_limit_factor) VALUES ('root', NULL, NULL), ('root.services', '80', 100), ('root.batch', '20', 100);
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, resource_calculator, maximum_allocation_mb, maximum_allocation_vcores,
	cluster_max_application_priority, opportunistic_allocation_enabled, opportunistic_queue_capacity, min_queue_length)
SELECT 1, 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator', max(memory_mib), max(cpu_milli / 1000), 10, true, 10, 10 FROM demo.node;
INSERT INTO yquota.node (name, total) SELECT sn, format('[memory-mb=%s,vcores=%s]', memory_mib, cpu_milli / 1000)::yquota.resource FROM demo.node;

-- A core-second costs 1 credit, and a GiB-second a quarter of a credit. An OPPORTUNISTIC container costs half of that,
-- and nothing while it waits.
UPDATE yquota.resource_type SET base_price = 0.25 WHERE name = 'memory-mb';
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) SELECT 'execution_type', 'OPPORTUNISTIC', from_at, 0.5 FROM simulation.plan;

SELECT count(*) FROM generate_series(1, 24) AS u, (VALUES (1, 'services'), (2, 'batch')) AS k (kind, queue),
	yquota.submit_application(format('application_%s_%s', kind, to_char(u, 'FM0000')), 'user' || u, '{}', queue, priority => u % 4,
		unmanaged => true, project => 'project' || u % 8 + 1) AS s WHERE s.state = 'ACTIVE' \gset submitted_
