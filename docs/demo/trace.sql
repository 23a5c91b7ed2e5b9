--
-- Load the "openb" trace of cluster-trace-gpu-v2023 into the tables of stage.sql. The psql variable "trace" is the
-- directory of openb_pods.csv and openb_nodes.csv, which the client reads.
--
-- The 1,523 nodes of the trace would never be busy, because the trace has only a sample of the pods. So the cluster has
-- only every 200th node in the order of "sn". These 8 nodes, of all kinds, have 656 cores, 2,944 GiB and 32 GPUs. At
-- the peak the pods request 105 % of its cores and 180 % of its GPUs.
--

\cd :trace

CREATE TEMPORARY TABLE trace_node (
	sn text,
	cpu_milli bigint,
	memory_mib bigint,
	gpu bigint,
	model text
);
\copy trace_node FROM 'openb_nodes.csv' WITH (FORMAT csv, HEADER)

CREATE TEMPORARY TABLE trace_pod (
	name text,
	cpu_milli bigint,
	memory_mib bigint,
	num_gpu bigint,
	gpu_milli bigint,
	gpu_spec text,
	qos text,
	pod_phase text,
	creation_time bigint,
	deletion_time bigint,
	scheduled_time bigint
);
\copy trace_pod FROM 'openb_pods.csv' WITH (FORMAT csv, HEADER)

INSERT INTO demo.node (sn, cpu_milli, memory_mib, gpu)
SELECT sn, cpu_milli, memory_mib, gpu
FROM (SELECT *, row_number() OVER (ORDER BY sn COLLATE "C") AS rank FROM trace_node) AS ranked
WHERE rank % 200 = 1;

-- DEMO_DAYS shortens the history; pods that run at its new end stay running.
INSERT INTO demo.history (title, nodes, origin, seconds, allowance)
SELECT 'the "openb" trace of a production GPU cluster (cluster-trace-gpu-v2023)',
	'every 200th of the trace in order of name',
	'2024-01-01 00:00+00', least(max(deletion_time), :days::bigint * 86400), 50000000
FROM trace_pod;

INSERT INTO demo.pod (number, name, cpu_milli, memory_mib, gpu_milli, qos, exit_status, started, deleted)
SELECT substring(name FROM '[0-9]+$')::integer, name, cpu_milli, memory_mib,
	num_gpu * coalesce(gpu_milli, 0), qos,
	CASE pod_phase WHEN 'Succeeded' THEN 0 WHEN 'Failed' THEN 1 ELSE -105 END,
	scheduled_time, nullif(deletion_time, seconds)
FROM trace_pod, demo.history
WHERE scheduled_time < seconds;
UPDATE demo.pod SET deleted = NULL FROM demo.history WHERE deleted > seconds;
