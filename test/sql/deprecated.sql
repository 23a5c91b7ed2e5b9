--
-- Old names answer as the new ones do, to the same roles.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_deprecated WITH (FORCE);
CREATE DATABASE yquota_deprecated;
\c yquota_deprecated
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never

\echo reservation is reserved_container, to be read
INSERT INTO yquota.reserved_container (node, application_id, priority, allocation_request_id, container_id, label, allocation, reserved_at)
VALUES ('n1', 'application_1_0001', 1, -1, 'container_1_0001_01_000002', '', '[vcores=1]', '2026-03-02 10:00');
SELECT node, container_id FROM yquota.reservation;
CREATE ROLE yquota_test_old_names;
SELECT yquota.grant_operator('yquota_test_old_names');
SET ROLE yquota_test_old_names;
SELECT node, container_id FROM yquota.reservation;
DELETE FROM yquota.reservation;
RESET ROLE;

\echo history_stretch is history_segment, to be read, and kept_property is unmapped_property
SELECT yquota.allow_role('yquota_test_old_names', 'viewer');
SET ROLE yquota_test_old_names;
SELECT count(*) FROM yquota.history_stretch;
DELETE FROM yquota.history_stretch;
SELECT count(*) FROM yquota.kept_property;
INSERT INTO yquota.kept_property VALUES ('yarn.scheduler.capacity.old', '1');
RESET ROLE;
INSERT INTO yquota.kept_property VALUES ('yarn.scheduler.capacity.old', '1');
UPDATE yquota.kept_property SET value = '2';
SELECT * FROM yquota.unmapped_property;
SELECT table_name, operation, property, old, new FROM yquota.configuration_mutation ORDER BY audit_id;
DELETE FROM yquota.kept_property;

\echo release is release_hold
INSERT INTO yquota.project (name) VALUES ('lab');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 100, 'first');
SET ROLE yquota_test_old_names;
SELECT yquota.hold('lab', 'app_1', 10, '1 hour') AS held \gset
SELECT yquota.release(:held) AS first, yquota.release_hold(:held) AS second;

\echo acknowledge takes containers, acknowledge_decisions decisions
RESET ROLE;
INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, allocation_request_id, decided_at)
SELECT 'allocated', 'container_1_0001_01_00000' || i, 'application_1_0001', 'root.a', 'n1', '[vcores=1]', 1, -1, '2026-03-02 10:00' FROM generate_series(1, 3) AS i;
SET ROLE yquota_test_old_names;
SELECT yquota.acknowledge('{container_1_0001_01_000001,container_1_0001_01_000009}');
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id = 'container_1_0001_01_000002'));
SELECT container_id FROM yquota.decision;
RESET ROLE;

\echo perform_duty runs a job
SELECT yquota_internal.perform_duty('no such job', 'pg_cron');
SELECT yquota_internal.run_job('no such job', 'pg_cron');
SELECT yquota_internal.perform_duty('credit', 'pg_cron') IS NULL AS had_nothing_to_do;
SELECT job, performed_by FROM yquota_internal.job_run;

\echo fold_counters is compact_counters, and last_fold_at is last_compact_at
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'c1', yquota.clock(), 'lab', '[vcores=1]');
SELECT yquota_internal.fold_counters() > 0 AS compacted, yquota_internal.compact_counters();
SELECT last_fold_at IS NOT DISTINCT FROM last_compact_at AS is_same FROM yquota.worker_status WHERE database = current_database();

\c postgres
DROP DATABASE yquota_deprecated WITH (FORCE);
DROP ROLE yquota_test_old_names;
