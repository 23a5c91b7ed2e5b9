--
-- Opportunistic containers in monitoring systems: metrics, alerts about nodes, and a section of the
-- report. Projects without credit and stopped queues get no containers.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic_metrics WITH (FORCE);
CREATE DATABASE yquota_opportunistic_metrics;
\c yquota_opportunistic_metrics
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, quota_mode, on_exhausted) VALUES ('p', 'NOLIMIT', 'allow'), ('drains', 'PREPAID', 'drain'), ('stops', 'PREPAID', 'stop');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_queue_capacity, opportunistic_anywhere_order) VALUES (1, 10, 'round_robin');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
COMMIT;
INSERT INTO yquota.node (name, rack, total) SELECT 'n' || n, '/r' || n % 2, '[memory-mb=4096,vcores=4]' FROM generate_series(1, 4) AS n;
SELECT s.application_id, s.state FROM (VALUES (1, 'a', 'p'), (2, 'a', 'drains'), (3, 'a', 'stops'), (4, 'b', 'p')) AS v (n, queue, project)
CROSS JOIN LATERAL yquota.submit_application('application_1_000' || n, 'ann', '{}', v.queue, project => 'p', unmanaged => true) AS s;
UPDATE yquota.application SET project = CASE application_id WHEN 'application_1_0002' THEN 'drains' ELSE 'stops' END
WHERE application_id IN ('application_1_0002', 'application_1_0003');
CREATE FUNCTION ask(count integer, name text DEFAULT '*', id bigint DEFAULT 1) RETURNS yquota.container_request
	LANGUAGE sql RETURN ROW(name, '[memory-mb=1024,vcores=1]', count, 1, id, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request;
CREATE FUNCTION report(node text, guaranteed integer DEFAULT 0, running integer DEFAULT 0, queued integer DEFAULT 0) RETURNS yquota.node_report
	LANGUAGE sql RETURN ROW(node, guaranteed, running, 0, queued, NULL, 10, NULL, NULL, NULL)::yquota.node_report;
CREATE TEMPORARY VIEW figures AS
	SELECT replace(metric, 'yquota_opportunistic_', '') || coalesce('{' || (labels ->> 'le') || '}', '') AS figure, trim_scale(value) AS value FROM yquota.metrics WHERE family = 'opportunistic';
CREATE TEMPORARY VIEW alerts AS SELECT kind, subject, detail, raised_at, cleared_at FROM yquota.alert ORDER BY alert_id;
CREATE TEMPORARY VIEW section AS
	SELECT r.html FROM (SELECT substring(yquota.report_html('2026-03-02', '2026-03-03') FROM '<h2>Opportunistic.*?</table>') AS html) AS r;

\echo a cluster without opportunistic containers has no figures
SELECT * FROM figures;
SELECT html FROM section;
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true;
SELECT sum(value) FROM figures;

\echo containers on a host, in a rack and anywhere, two seconds after the requests
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(4), ask(1, 'n1'), ask(2, '/r0')]);
SELECT yquota.set_clock('2026-03-02 10:00:02+00');
SELECT bool_and(accepted) FROM yquota.report_nodes(ARRAY[report('n1'), report('n2'), report('n3'), report('n4')]);
SELECT locality, count(*) FROM yquota.allocate_opportunistic('application_1_0001') GROUP BY 1 ORDER BY 1;
SELECT * FROM figures;
\echo one runs, and one ends; a call that gives no container counts nothing; containers of a local scheduler count once
INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running) VALUES ('CONTAINER_UPDATE', 'container_1_0001_01_000001', yquota.clock(), true);
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'container_1_0001_01_000002', yquota.clock());
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001');
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = true, amrmproxy_enabled = true;
SELECT node, epoch FROM yquota.lease_nodes('n1', 1);
SELECT r.accepted, r.reason FROM generate_series(1, 2), yquota.report_distributed_containers('n1',
	ARRAY[ROW('application_1_0001', (2::bigint << 40) - 1, 'n2', '[memory-mb=1024,vcores=1]', 1, 1, NULL, NULL, NULL, NULL)::yquota.distributed_container]) AS r;
SELECT epoch, containers FROM yquota.node_lease;
SELECT * FROM figures;
SELECT yquota.set_clock('2026-03-04 10:00+00');
SELECT epoch FROM yquota.lease_nodes('n1', 1);
SELECT epoch, containers FROM yquota.node_lease;
SELECT value FROM figures WHERE figure = 'containers_distributed_total';
\echo a local scheduler may report the locality and the time of its request; a time after the decision is ignored
CREATE FUNCTION given(number bigint, locality text, requested_at timestamptz) RETURNS yquota.distributed_container
	LANGUAGE sql RETURN ROW('application_1_0001', (3::bigint << 40) - number, 'n2', '[memory-mb=1024,vcores=1]', 1, 1, NULL, locality, requested_at, NULL)::yquota.distributed_container;
SELECT r.accepted FROM generate_series(1, 2), yquota.report_distributed_containers('n1', ARRAY[
	given(1, 'NODE_LOCAL', '2026-03-04 09:59:59.75+00'), given(2, 'RACK_LOCAL', '2026-03-04 09:50+00'),
	given(3, NULL, '2026-03-04 10:00:01+00'), given(4, 'OFF_SWITCH', NULL)]) AS r;
SELECT locality, count(*) FROM yquota.decision GROUP BY 1 ORDER BY 1;
SELECT r.reason FROM yquota.report_distributed_containers('n1', ARRAY[given(5, 'NEAR', NULL)]) AS r;
SELECT r.reason FROM yquota.report_distributed_containers('n1', ARRAY[given(5, NULL, '-infinity')]) AS r;
SELECT * FROM figures WHERE figure !~ '^guar|^mem|^vc';
\echo an ended container counts as released; a promotion and a later demotion count as a new allocation
SELECT figure, value FROM figures WHERE figure ~ '^containers_(allocated|released|demoted)';
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE container_id ~ '_e02_'));
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', 'container_1_0001_01_000001', yquota.clock(), 'GUARANTEED');
SELECT figure, value FROM figures WHERE figure ~ '^containers_(allocated|released|demoted)';
SELECT outcome FROM yquota.update_containers('application_1_0001', ARRAY[ROW('container_1_0001_01_000001', 0, NULL, 'OPPORTUNISTIC', 1, 1)::yquota.container_update_request]);
SELECT figure, value FROM figures WHERE figure ~ '^containers_(allocated|released|demoted)';
SELECT count(*) FROM yquota_internal.opportunistic_count;
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = NULL, amrmproxy_enabled = NULL;

\echo alerts for late reports
SELECT yquota.set_clock('2026-03-04 10:00:10+00');
SELECT bool_and(accepted) FROM yquota.report_nodes(ARRAY[report('n1'), report('n2'), report('n3'), report('n4')]);
SELECT yquota_internal.watch_node_reports('2026-03-04 10:01:10+00');
TABLE alerts;
SELECT yquota_internal.watch_node_reports('2026-03-04 10:01:10.001+00');
TABLE alerts;
UPDATE yquota.scheduler_setting SET node_sorting_interval = '10 s';
SELECT yquota_internal.watch_node_reports('2026-03-04 10:01:11+00');
TABLE alerts;
UPDATE yquota.scheduler_setting SET node_sorting_interval = NULL;
UPDATE yquota.node SET state = 'DECOMMISSIONED' WHERE name = 'n4';
\echo alerts for reports that differ from the books, after five minutes
SELECT yquota.set_clock('2026-03-04 10:02+00');
SELECT node, accepted FROM yquota.report_nodes(ARRAY[report('n1', running => 2), report('n2', guaranteed => 1), report('n3')]);
SELECT node, running_opportunistic, books_running_opportunistic, running_guaranteed, books_guaranteed FROM yquota.node_queue_report ORDER BY node;
SELECT yquota_internal.watch_node_reports('2026-03-04 10:02+00');
SELECT * FROM yquota_internal.node_difference ORDER BY node;
SELECT yquota.set_clock('2026-03-04 10:07+00');
SELECT bool_and(accepted) FROM yquota.report_nodes(ARRAY[report('n1', running => 2), report('n2'), report('n3')]);
SELECT yquota_internal.watch_node_reports('2026-03-04 10:07+00');
SELECT * FROM yquota_internal.node_difference ORDER BY node;
SELECT count(*) FROM yquota.alert WHERE cleared_at IS NULL;
SELECT yquota_internal.watch_node_reports('2026-03-04 10:07:01+00');
TABLE alerts;
SELECT value FROM yquota.metrics WHERE family = 'alert';
SELECT bool_and(accepted) FROM yquota.report_nodes('{}');
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = false;
SELECT yquota_internal.watch_node_reports('2026-03-04 10:07:02+00');
SELECT kind, cleared_at FROM alerts;
SELECT count(*) FROM yquota_internal.node_difference;
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true;

\echo a project without credit and a stopped queue get no containers, and their present ones are to be stopped
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
SELECT 'CONTAINER_START', format('container_1_000%s_01_000101', n), yquota.clock(), project, 'application_1_000' || n, 'ann', 'root.a', 'n1', '[memory-mb=512,vcores=1]', 'OPPORTUNISTIC', false
FROM (VALUES (2, 'drains'), (3, 'stops')) AS v (n, project);
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.b';
SELECT n, r.decision, r.container_id, r.stopped_by FROM generate_series(2, 4) AS n, yquota.allocate_opportunistic('application_1_000' || n, ARRAY[ask(1)]) AS r ORDER BY n;
SELECT project, action, container_id, execution_type FROM yquota.exhausted_work ORDER BY 1;
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('drains', 10, 'more');
UPDATE yquota.queue SET state = 'RUNNING' WHERE path = 'root.b';
SELECT n, r.decision, r.stopped_by FROM generate_series(2, 4) AS n, yquota.allocate_opportunistic('application_1_000' || n) AS r ORDER BY n;

\echo the usage report, with containers that their node killed, and for one project
SELECT html FROM section;
SELECT action FROM yquota.enqueue_container('n1', 'container_1_0003_01_000101');
SELECT yquota.set_clock('2026-03-04 10:08+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'container_1_0001_01_000201', yquota.clock(), 'p', 'application_1_0001', 'ann', 'root.a', 'n1', '[memory-mb=3072,vcores=4]');
SELECT action, container_id FROM yquota.enqueue_container('n1', 'container_1_0001_01_000201');
SELECT action, container_id FROM yquota.container_ended('n1', 'container_1_0003_01_000101', exit_status => -108);
SELECT action, container_id FROM yquota.enqueue_container('n1', 'container_1_0002_01_000101');
SELECT action, container_id FROM yquota.shed_containers('n1', 0);
SELECT substring(yquota.report_html('2026-03-04', '2026-03-05', project) FROM '<h2>Opportunistic.*?</table>') FROM unnest('{p,stops,drains}'::text[]) AS project;
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_opportunistic_metrics WITH (FORCE);
