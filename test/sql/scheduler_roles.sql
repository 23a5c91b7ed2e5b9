-- The whole life of a cluster with only the roles that yquota defines. An administrator configures.
-- The resource manager submits, schedules, acknowledges and updates. Viewers and members read. A
-- superuser only creates the roles.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_scheduler_roles WITH (FORCE);
CREATE DATABASE yquota_scheduler_roles;
\c yquota_scheduler_roles
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SELECT yquota.set_clock('2026-03-02 10:00+00');
CREATE ROLE regress_yquota_head;
CREATE ROLE regress_yquota_rm;
CREATE ROLE regress_yquota_viewer;
CREATE ROLE regress_yquota_member;
SELECT yquota.allow_role('regress_yquota_head', 'admin');

SET ROLE regress_yquota_head;
SELECT yquota.allow_role('regress_yquota_rm', 'operator');
SELECT yquota.allow_role('regress_yquota_viewer', 'viewer');
INSERT INTO yquota.project (name) VALUES ('p');
SELECT yquota.allow_role('regress_yquota_member', 'member', 'p');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('p', 100000, 'first');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, per_node_heartbeat_maximum_offswitch_assignments) VALUES (0.5, 5);
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '60'), ('root.b', '40');
COMMIT;
INSERT INTO yquota.node (name, rack, total) SELECT 'n' || i, '/r' || i, '[memory-mb=8192,vcores=8]' FROM generate_series(1, 2) AS i;

SET ROLE regress_yquota_rm;
SELECT state, queue FROM yquota.submit_application('application_1_0001', 'ann', '{dev}', 'a', am_resource => '[memory-mb=1024]', project => 'p');
SELECT decision, container_id, node FROM yquota.node_heartbeat('{n1}');
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id = ANY ('{container_1_0001_01_000001}')));
SELECT yquota.request_containers('application_1_0001', '[memory-mb=2048]', 4);
SELECT yquota.request_containers('application_1_0001', ARRAY[ROW('n2', '[memory-mb=2048]', 1, 2, -1, NULL, NULL, NULL, NULL), ROW('/r2', '[memory-mb=2048]', 1, 2, -1, NULL, NULL, NULL, NULL),
	ROW('*', '[memory-mb=2048]', 1, 2, -1, NULL, NULL, NULL, NULL)]::yquota.container_request[]);
SELECT yquota.update_blacklist('application_1_0001', '{n1}');
SELECT decision, container_id, node FROM yquota.schedule(dry_run => true);
SELECT yquota.update_blacklist('application_1_0001', '{}', '{n1}');
SELECT decision, container_id, node, locality FROM yquota.schedule();
SELECT container_id, decision FROM yquota.decision ORDER BY decision_id;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.update_container('container_1_0001_01_000002', 0, '[memory-mb=1024]');
SELECT * FROM yquota.update_containers('application_1_0001', ARRAY[ROW('container_1_0001_01_000002', 1, '[memory-mb=2048]', NULL, NULL, NULL)]::yquota.container_update_request[]);
SELECT yquota.set_clock('2026-03-02 11:00+00');
RESET ROLE;
SELECT yquota.set_clock('2026-03-02 11:00+00');
SET ROLE regress_yquota_rm;
SELECT decision, container_id, node FROM yquota.schedule('{n1,n2}', explain => true) WHERE decision <> 'passed over';
SELECT yquota.release_containers('{container_1_0001_01_000003}');
INSERT INTO yquota.container_event (event, container_id, exit_status, source) VALUES ('CONTAINER_FINISH', 'container_1_0001_01_000002', 0, 'rm');
SELECT queue, used_capacity, pending_containers, used, maximum FROM yquota.scheduler_queue;
SELECT node, state, available, reserved FROM yquota.scheduler_node;
SELECT application_id, queue, pending_containers, pending, waits_for FROM yquota.scheduler_application;
\echo calls and rows that are forbidden to the resource manager
UPDATE yquota.node SET total = '[]';
DELETE FROM yquota.decision;
INSERT INTO yquota.resource_request SELECT * FROM yquota.resource_request;
SELECT yquota_internal.lock_passes();

SET ROLE regress_yquota_head;
INSERT INTO yquota.project (name) VALUES ('q');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('q', 100000, 'first');
SET ROLE regress_yquota_rm;
SELECT state FROM yquota.submit_application('application_1_0002', 'bob', '{dev}', 'b', am_resource => '[memory-mb=1024]', project => 'q');
SELECT state FROM yquota.submit_application('application_1_0003', 'regress_yquota_member', '{dev}', 'b', am_resource => '[memory-mb=1024]', project => 'q');

SET ROLE regress_yquota_viewer;
SELECT application_id, waits_for FROM yquota.scheduler_application;
SELECT project, charged > 0 AS is_charged FROM yquota.project_balance;
SELECT count(*) FROM yquota.schedule(dry_run => true);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1);

SET ROLE regress_yquota_member;
SELECT count(*) FROM yquota.container_cost;
\echo a member sees why the applications of the project wait
SELECT application_id, project, username, pending_containers, waits_for FROM yquota.scheduler_application;
SELECT count(*) AS same FROM yquota.scheduler_application JOIN yquota.application USING (application_id, project);
SELECT yquota.acknowledge_decisions('{}');

SET ROLE regress_yquota_rm;
SELECT yquota.release_containers('{container_1_0001_01_000001,container_1_0001_01_000004}');

SET ROLE regress_yquota_head;
SELECT container_id FROM yquota.node_lost('n2');
SET ROLE regress_yquota_rm;
SELECT yquota.finish_application('application_1_0001');
SET ROLE regress_yquota_head;
DELETE FROM yquota.node WHERE name = 'n2';
SELECT count(*) AS containers, sum(cost) > 0 AS cost_something FROM yquota.container_cost;
SELECT * FROM yquota.verify();

RESET ROLE;
\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_scheduler_roles WITH (FORCE);
DROP ROLE regress_yquota_head, regress_yquota_rm, regress_yquota_viewer, regress_yquota_member;
