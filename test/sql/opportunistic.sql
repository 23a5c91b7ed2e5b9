--
-- Opportunistic containers: reports of nodes, allocations to applications, repeated calls, rules
-- that refuse, expiry, and local schedulers.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic WITH (FORCE);
CREATE DATABASE yquota_opportunistic;
\c yquota_opportunistic
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_anywhere_order, opportunistic_queue_capacity) VALUES (1, true, 'round_robin', 1);
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
INSERT INTO yquota.project (name, on_exhausted) VALUES ('p', 'allow'), ('poor', 'drain');
INSERT INTO yquota.node (name, rack, total, state)
SELECT 'n' || n, '/r' || n % 2, '[memory-mb=8192,vcores=8]', CASE n WHEN 5 THEN 'LOST' WHEN 6 THEN 'DECOMMISSIONING' ELSE 'RUNNING' END::yquota.node_state FROM generate_series(1, 6) AS n;
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
SELECT state FROM yquota.submit_application('application_1_0002', 'ann', '{}', 'b', project => 'p', unmanaged => true);
CREATE FUNCTION report(node text, queued integer, capacity integer DEFAULT 3, reported_at timestamptz DEFAULT NULL, wait interval DEFAULT NULL, running integer DEFAULT 0)
	RETURNS yquota.node_report LANGUAGE sql RETURN ROW(node, 0, running, 0, queued, wait, capacity, reported_at, NULL, NULL)::yquota.node_report;
CREATE FUNCTION ask(count integer, name text DEFAULT '*', mb integer DEFAULT 1000, type yquota.execution_type DEFAULT 'OPPORTUNISTIC', id bigint DEFAULT 1)
	RETURNS yquota.container_request LANGUAGE sql RETURN ROW(name, format('[memory-mb=%s,vcores=1]', mb), count, 1, id, true, NULL, type, NULL)::yquota.container_request;

\echo reports of nodes
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 0), report('n2', 1), report('n3', 2), report('n4', 3), report('n5', 0), report('n6', 0), report('n9', 0)]);
SELECT place, node, rack, queue_length, slots, queue_capacity, comparator, max_queue_length, max_wait FROM yquota.opportunistic_node;
-- reports that are late, repeated, and ahead of the clock
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 9), report('n2', 9, reported_at => '2026-03-02 09:59+00'), report('n3', 9, reported_at => '2026-03-02 10:01+00')]);
SELECT yquota.set_clock('2026-03-02 10:00:00.5+00');
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 2), report('n1', 1, reported_at => '2026-03-02 10:00:00.4+00')]);
-- the list of nodes is kept for a second
SELECT place, node, queue_length FROM yquota.opportunistic_node;
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM yquota.report_nodes('{}');
SELECT place, node, queue_length FROM yquota.opportunistic_node;
-- malformed reports
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', -1)]);
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 0, capacity => -1)]);
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 0, wait => '-1 ms')]);
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 0, wait => '1 mon')]);
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 0, wait => '25 days')]);
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', 0, reported_at => 'infinity')]);
SELECT * FROM yquota.report_nodes(ARRAY[report(NULL, 0)]);
SELECT * FROM yquota.report_nodes(ARRAY[report('n1', NULL)]);
SELECT * FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 1, 2147483647, NULL, 1, NULL, NULL, NULL)::yquota.node_report]);
SELECT * FROM yquota.report_nodes(ARRAY[ROW('n1', 2147483647, 0, 0, 1, NULL, 1, NULL, NULL, NULL)::yquota.node_report]);
SELECT * FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, 1, NULL, '[vcores=-1]', NULL)::yquota.node_report]);
SELECT * FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, 1, NULL, NULL, '[memory-mb=-1]')::yquota.node_report]);
SELECT * FROM yquota.report_nodes(NULL);
-- where nodes are compared by allocation, a node without a reported allocation counts as idle
BEGIN;
UPDATE yquota.scheduler_setting SET node_load_comparator = 'QUEUE_LENGTH_THEN_RESOURCES';
SELECT yquota.set_clock('2026-03-02 10:00:02+00');
SELECT bool_and(accepted) FROM yquota.report_nodes(ARRAY[report('n1', 1), report('n2', 1),
	ROW('n3', 0, 0, 0, 1, NULL, 3, NULL, '[memory-mb=4096]', NULL)::yquota.node_report]);
SELECT place, node FROM yquota.opportunistic_node;
SELECT node, count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(20)]) GROUP BY 1 ORDER BY 1;
ROLLBACK;

\echo allocation
-- the nodes get containers in turn, up to the capacities of their queues
SELECT decision, container_id, queue, node, allocation, locality, priority, allocation_request_id, execution_type, stopped_by
FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(6), ask(1, type => 'GUARANTEED', mb => 512)]);
SELECT node, queue_length, slots, queue_capacity FROM yquota.opportunistic_node;
SELECT execution_type, resource_name, count, allocation FROM yquota.resource_request ORDER BY 1;
SELECT container_id, node, execution_type, is_running FROM yquota.container ORDER BY 1;
SELECT container_id, decision, execution_type, locality FROM yquota.decision ORDER BY decision_id;
-- The remaining requests stay outstanding. A new report makes room, and a requested host is served
-- first.
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001');
SELECT yquota.set_clock('2026-03-02 10:00:01.5+00');
SELECT node, accepted, reason FROM yquota.report_nodes(ARRAY[report('n4', 1)]);
SELECT container_id, node, locality FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(2), ask(1, 'n4')]);
-- nodes are added to the blacklist and removed from it
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(1, 'n2'), ask(1)], '{n1,n2,n3,n4}');
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0002', '{}', '{n1}', '{n1,n2}');
SELECT resource_name FROM yquota.blacklist ORDER BY 1;

\echo reports of nodes compared with the books
SELECT yquota.set_clock('2026-03-02 10:00:02+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running) VALUES ('CONTAINER_UPDATE', 'container_1_0001_01_000001', '2026-03-02 10:00:02+00', true);
SELECT node, accepted FROM yquota.report_nodes(ARRAY[report('n1', 0), report('n2', 2), report('n3', 1, running => 1)]);
SELECT node, running_opportunistic, queued_opportunistic, books_running_opportunistic, books_waiting_opportunistic, differs FROM yquota.node_queue_report ORDER BY node;

\echo a lost reply: the call is repeated
SELECT container_id, node FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(2, id => 2)], response_id => 7);
SELECT container_id, node FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(2, id => 2)], response_id => 7);
SELECT count(*) FROM yquota.resource_request WHERE application_id = 'application_1_0002' AND allocation_request_id = 2;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE application_id = 'application_1_0002' ORDER BY 1 LIMIT 1));
SELECT container_id, node FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(2, id => 2)], response_id => 7);
SELECT container_id, node FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(1, id => 2)], response_id => 8);

\echo the same seed chooses the same nodes
UPDATE yquota.scheduler_setting SET opportunistic_anywhere_order = 'random';
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT bool_and(accepted) FROM yquota.report_nodes(ARRAY(SELECT report('n' || n, 0, 100) FROM generate_series(1, 4) AS n));
BEGIN;
SELECT string_agg(node, ' ' ORDER BY container_id) AS first FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(20, id => 3)], seed => 42) \gset
ROLLBACK;
BEGIN;
SELECT string_agg(node, ' ' ORDER BY container_id) = :'first' AS same FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(20, id => 3)], seed => 42);
ROLLBACK;
BEGIN;
SELECT string_agg(node, ' ' ORDER BY container_id) <> :'first' AS others FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(20, id => 3)], seed => 43);
ROLLBACK;
-- the places in requests are ignored
BEGIN;
UPDATE yquota.scheduler_setting SET opportunistic_ignores_places = true, opportunistic_nodes_used = 1;
SELECT locality, count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(3, id => 3), ask(3, 'n2', id => 3)]) GROUP BY 1;
ROLLBACK;

-- a call gives no more containers than a result can hold in memory
BEGIN;
SELECT yquota.set_clock('2026-03-02 10:01:01+00');
UPDATE yquota.scheduler_setting SET node_load_comparator = 'QUEUE_WAIT_TIME';
SELECT accepted FROM yquota.report_nodes(ARRAY[report('n1', 0, wait => '1 ms')]);
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(2147483647, id => 3)]);
SELECT count FROM yquota.resource_request WHERE allocation_request_id = 3 AND execution_type = 'OPPORTUNISTIC';
ROLLBACK;
SELECT outcome, count(*), min(count) FROM yquota.allocate_distributed(ARRAY[ROW('n1', '/r1', NULL)]::yquota.leased_node[],
	ARRAY[ask(2147483647), ask(2147483647, 'n1')]) GROUP BY 1 ORDER BY 1;

UPDATE yquota.scheduler_setting SET opportunistic_anywhere_order = 'round_robin';
\echo applications that get no container
SELECT state FROM yquota.submit_application('application_1_0003', 'ann', '{}', 'a', project => 'p', unmanaged => true);
UPDATE yquota.application SET project = 'poor' WHERE application_id = 'application_1_0003';
SELECT decision, queue, stopped_by, stopped_at FROM yquota.allocate_opportunistic('application_1_0003', ARRAY[ask(1)]);
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.b';
SELECT decision, queue, stopped_by, stopped_at FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(1, id => 4)]);
UPDATE yquota.queue SET state = NULL WHERE path = 'root.b';
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = false;
SELECT decision, queue, stopped_by, stopped_at FROM yquota.allocate_opportunistic('application_1_0002');
SELECT * FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(1)]);
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true;
SELECT * FROM yquota.allocate_opportunistic('application_1_0009', ARRAY[ask(1)]);
SELECT * FROM yquota.allocate_opportunistic(NULL);
SELECT * FROM yquota.allocate_opportunistic('application_1_0001', NULL);

\echo cycles continue with the next container number
SELECT container_id FROM yquota.schedule() WHERE decision = 'allocated';
SELECT container_id FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(1, id => 5)]);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=512,vcores=1]', 1);
SELECT container_id FROM yquota.schedule() WHERE decision = 'allocated';

\echo expiry
UPDATE yquota.scheduler_setting SET opportunistic_token_expiry = '1 minute';
SELECT execution_type, count(*) FROM yquota.container GROUP BY 1 ORDER BY 1;
-- a container that waits at its node does not expire, and neither does a running one
UPDATE yquota.node SET total = '[memory-mb=512,vcores=1]' WHERE name = 'n1';
SELECT action FROM yquota.enqueue_container('n1', 'container_1_0001_01_000002');
UPDATE yquota.node SET total = '[memory-mb=8192,vcores=8]' WHERE name = 'n1';
SELECT yquota.set_clock('2026-03-02 10:02+00');
SELECT count(*) FROM yquota.schedule();
SELECT execution_type, count(*) FROM yquota.container GROUP BY 1 ORDER BY 1;
SELECT execution_type, count(*) FROM yquota.decision GROUP BY 1 ORDER BY 1;

\echo local schedulers
SELECT * FROM yquota.lease_nodes('n1');
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = true, amrmproxy_enabled = true, opportunistic_token_expiry = NULL;
SELECT state FROM yquota.submit_application('application_1_0004', 'ann', '{}', 'a', project => 'p', am_resource => '[memory-mb=512,vcores=1]');
SELECT container_id, node FROM yquota.schedule('{n1}') WHERE decision = 'allocated';
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT * FROM yquota.allocate_opportunistic('application_1_0004', ARRAY[ask(1)]);
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(1, id => 6)]);
SELECT place, node, rack, label, epoch, expires_at, minimum, maximum, increment FROM yquota.lease_nodes('n1', 2);
SELECT epoch, expires_at FROM yquota.lease_nodes('n2', 1);
SELECT yquota.set_clock('2026-03-02 10:05+00');
SELECT epoch, expires_at FROM yquota.lease_nodes('n1', 1, 2);
SELECT * FROM yquota.lease_nodes('n2', 1, 2);
SELECT * FROM yquota.lease_nodes('n1', -1);
SELECT * FROM yquota.lease_nodes(NULL);
CREATE FUNCTION given(number bigint, node text DEFAULT 'n2', app text DEFAULT '0004', decided_at timestamptz DEFAULT NULL) RETURNS yquota.distributed_container LANGUAGE sql
	RETURN ROW('application_1_' || app, number, node, '[memory-mb=1024,vcores=1]', 1, 1, decided_at, NULL, NULL, NULL)::yquota.distributed_container;
SELECT * FROM yquota.report_distributed_containers('n1', ARRAY[given((2::bigint << 40) - 1), given((2::bigint << 40) - 2, 'n3'),
	-- These containers have another epoch, no epoch, or an id that is taken. Others have no node,
	-- no application, or another time.
	given((3::bigint << 40) - 1), given(5), given((2::bigint << 40) - 1, 'n3'), given((2::bigint << 40) - 3, 'n9'), given((2::bigint << 40) - 3, 'n5'), given((2::bigint << 40) - 3, app => '0009'),
	given((2::bigint << 40) - 4, decided_at => '2026-03-02 10:01+00'), given((2::bigint << 40) - 4, decided_at => '2026-03-02 10:06+00')]);
SELECT * FROM yquota.report_distributed_containers('n1', ARRAY[given((2::bigint << 40) - 1), given((2::bigint << 40) - 2, 'n3')]);
SELECT * FROM yquota.report_distributed_containers('n2', ARRAY[given((3::bigint << 40) - 1)]);
SELECT * FROM yquota.report_distributed_containers('n1', NULL);
SELECT container_id, node, execution_type, is_running FROM yquota.container WHERE container_id ~ '_e' ORDER BY 1;
SELECT yquota.set_clock('2026-03-02 10:20+00');
-- recorded containers are accepted again after the lease has expired, but only from their own
-- scheduler
SELECT * FROM yquota.report_distributed_containers('n1', ARRAY[given((2::bigint << 40) - 5), given((2::bigint << 40) - 1)]);
SELECT * FROM yquota.report_distributed_containers('n2', ARRAY[given((2::bigint << 40) - 1)]);
SELECT * FROM yquota.lease_nodes('n1', 1, 2);
-- when opportunistic allocation is off, local schedulers cannot allocate either
BEGIN;
SELECT epoch FROM yquota.lease_nodes('n1', 1);
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = false;
SELECT * FROM yquota.report_distributed_containers('n1', ARRAY[given((4::bigint << 40) - 1)]);
SELECT epoch FROM yquota.lease_nodes('n1', 1, 4);
ROLLBACK;
-- the application master has changed since the report was sent
BEGIN;
SELECT yquota.set_clock('2026-03-02 10:21+00');
SELECT epoch FROM yquota.lease_nodes('n1', 1);
SELECT * FROM yquota.report_distributed_containers('n1', ARRAY[given((4::bigint << 40) - 1, decided_at => '2026-03-02 10:21+00')]);
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status) VALUES ('CONTAINER_FINISH', 'container_1_0004_01_000001', '2026-03-02 10:21:01+00', 1);
SELECT yquota.set_clock('2026-03-02 10:22+00');
UPDATE yquota.node SET state = 'SHUTDOWN' WHERE name <> 'n1';
SELECT container_id, node FROM yquota.schedule() WHERE application_id = 'application_1_0004';
SELECT * FROM yquota.report_distributed_containers('n1', ARRAY[given((4::bigint << 40) - 1, decided_at => '2026-03-02 10:21+00')]);
ROLLBACK;

\echo a node leaves
SELECT bool_and(accepted) FROM yquota.report_nodes(ARRAY(SELECT report('n' || n, n) FROM generate_series(1, 4) AS n));
SELECT place, node FROM yquota.opportunistic_node;
UPDATE yquota.node SET state = 'LOST' WHERE name = 'n1';
DELETE FROM yquota.node WHERE name = 'n2';
SELECT place, node FROM yquota.opportunistic_node;
UPDATE yquota.node SET state = 'RUNNING' WHERE name = 'n1';
SELECT place, node FROM yquota.opportunistic_node;
SELECT count(*) FROM yquota_internal.node_queue_report;
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_opportunistic WITH (FORCE);
