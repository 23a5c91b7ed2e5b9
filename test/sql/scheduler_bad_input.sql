-- Calls that a scheduler should never get, and their results. Cases are amounts that no container
-- may have, more demand than 64 bits hold, and tables that are emptied during its work.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_scheduler_bad_input WITH (FORCE);
CREATE DATABASE yquota_scheduler_bad_input;
\c yquota_scheduler_bad_input
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES ('disk', 'GENERAL', 0, 1);
UPDATE yquota.price_group SET count_pending = true, max_multiplier = 9;
\echo an unknown calculator does not count as the default one
\set VERBOSITY terse
INSERT INTO yquota.scheduler_setting (resource_calculator) VALUES ('dominant');
\set VERBOSITY default
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_allocation_mb, resource_calculator) VALUES
	(8192, 'org.apache.hadoop.yarn.util.resource.DominantResourceCalculator');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
COMMIT;
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=8192,vcores=8,disk=4Pi]' FROM generate_series(1, 2) AS i;
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);

\echo a request beyond the limit of events is refused at once, not when its container would start
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1,disk=1125899906842625]', 1);
SELECT state, reason FROM yquota.submit_application('application_1_0002', 'ann', '{}', 'a', project => 'p', am_resource => '[memory-mb=1024,vcores=1,disk=1125899906842625]');
\echo a demand beyond 64 bits counts as the largest number of 64 bits
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1,disk=1Pi]', 2147483647);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1,disk=1Pi]', 2147483647, priority => 2);
SELECT queue, pending_containers, pending FROM yquota.scheduler_queue;
SELECT application_id, pending_containers, pending, waits_for FROM yquota.scheduler_application;
SELECT price_group, utilization, multiplier FROM yquota.compute_prices() ORDER BY 1;
SELECT decision, container_id, node, allocation FROM yquota.schedule(max_containers => 1);
SELECT yquota.request_containers('application_1_0001', '[]', 0);
SELECT queue, pending_containers, pending FROM yquota.scheduler_queue;

\echo container ids of events are not given again: of running, ended and awaited containers
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation) VALUES
	('CONTAINER_START', 'container_1_0001_01_000003', '2026-03-02 09:00+00', 'p', 'application_1_0001', 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=1]'),
	-- this START is equal to the START that the cycle would send
	('CONTAINER_START', 'container_1_0001_01_000004', '2026-03-02 10:00+00', 'p', 'application_1_0001', 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=1]'),
	('CONTAINER_START', 'container_1_0001_01_000005', '2026-03-02 09:00+00', 'p', 'application_1_0001', 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=1]'),
	('CONTAINER_FINISH', 'container_1_0001_01_000005', '2026-03-02 09:30+00', NULL, NULL, NULL, NULL, NULL, NULL);
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'container_1_0001_01_000007', '2026-03-02 10:01+00');
RESET yquota.on_bad_event;
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 3, priority => 2);
SELECT decision, container_id, node FROM yquota.schedule(ARRAY['n1', 'n2', 'n1', 'n2']);
SELECT next_container FROM yquota_internal.application_attempt;
\echo nor is the container id of a reservation
SELECT yquota.request_containers('application_1_0001', '[memory-mb=6144,vcores=1]', 1, priority => 2);
SELECT decision, container_id, node FROM yquota.schedule('{n1}');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START', 'container_1_0001_01_' || number, '2026-03-02 09:00+00', 'p', '[]' FROM unnest('{000009,000010}'::text[]) AS number;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE node = 'n1' AND container_id > 'container_1_0001_01_000001'));
SELECT decision, container_id, node FROM yquota.schedule('{n1}');
SELECT decision, container_id FROM yquota.decision WHERE container_id > 'container_1_0001_01_000008' ORDER BY decision_id;
SELECT next_container FROM yquota_internal.application_attempt;
SELECT count(*) FROM yquota.reserved_container;
SELECT * FROM yquota.verify();

\echo a decision that the books refuse is not made, even where bad events are set aside
SELECT yquota.set_base_price('disk', 1000000, 1);
SET yquota.on_bad_event = set_aside;
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1,disk=1Pi]', 1, priority => 2);
SELECT * FROM yquota.schedule();
SELECT * FROM yquota.node_heartbeat('{n1}');
SELECT count(*) FROM yquota.decision;
SELECT priority, count FROM yquota.resource_request;
SELECT decision, node FROM yquota.schedule(dry_run => true);
SELECT count(*) FROM yquota.event_reject WHERE NOT waiting;
RESET yquota.on_bad_event;
SELECT yquota.request_containers('application_1_0001', '[]', 0, priority => 2);
SELECT round, subject, sqlstate, message, hint, refusals FROM yquota.scheduler_refusal;

\echo a session that calls for many nodes keeps the cluster in memory, but nothing of each call
-- the view differs between PostgreSQL 17 and 18
CREATE FUNCTION pg_temp.cluster_bytes() RETURNS bigint LANGUAGE sql AS $$
	WITH context AS (SELECT to_jsonb(c) AS row FROM pg_backend_memory_contexts AS c),
	cluster AS (SELECT c.row FROM context AS c WHERE c.row ->> 'name' = 'yquota cluster')
	SELECT sum((c.row ->> 'total_bytes')::bigint) FROM context AS c
	WHERE c.row ->> 'name' = 'yquota cluster' OR c.row ->> 'parent' = 'yquota cluster'
	   OR EXISTS (SELECT FROM cluster AS p WHERE c.row -> 'path' @> (p.row -> 'path'))
$$;
SELECT * FROM yquota.node_heartbeat('{n2}');
SELECT pg_temp.cluster_bytes() AS before \gset
\o /dev/null
\set ECHO none
SELECT 'SELECT * FROM yquota.node_heartbeat(''{n2}'')' FROM generate_series(1, 100) \gexec
\set ECHO all
\o
SELECT pg_temp.cluster_bytes() < :before + 100000 AS is_bounded;

\echo TRUNCATE of all applications
SELECT yquota.update_container('container_1_0001_01_000001', 0, '[memory-mb=1024,vcores=1]');
SELECT yquota.update_container('container_1_0001_01_000001', 1, '[memory-mb=2048,vcores=1]');
SELECT container_id, version FROM yquota_internal.container_version;
TRUNCATE yquota.application;
SELECT count(*) FROM yquota.container_update;
SELECT count(*) FROM yquota_internal.container_version;
SELECT yquota_internal.requested_resources();
SELECT * FROM yquota.schedule();
SELECT * FROM yquota.verify();

\echo nodes whose sum exceeds 64 bits: no sum becomes negative
BEGIN;
INSERT INTO yquota.node (name, total) VALUES ('huge1', '[memory-mb=9223372036854775807]'), ('huge2', '[memory-mb=9223372036854775807]');
SELECT queue, yquota.amount(maximum, 'memory-mb') FROM yquota.scheduler_queue WHERE queue = 'root';
SELECT count(*) FROM yquota.schedule();
ROLLBACK;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_scheduler_bad_input WITH (FORCE);
