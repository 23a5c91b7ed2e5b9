--
-- The name of the cluster, in tables that several clusters share
--
CREATE DATABASE yquota_cluster;
\c yquota_cluster
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
CREATE ROLE yquota_cluster_admin; CREATE ROLE yquota_cluster_member; CREATE ROLE yquota_cluster_operator; CREATE ROLE yquota_cluster_stranger;
INSERT INTO yquota.project (name) VALUES ('lab');
SELECT yquota.allow_role('yquota_cluster_admin', 'admin'), yquota.allow_role('yquota_cluster_member', 'member', 'lab'), yquota.allow_role('yquota_cluster_operator', 'operator') \g /dev/null

SELECT yquota.cluster_name();
INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('');
INSERT INTO yquota.cluster_setting (cluster_name) VALUES (E'north\n');
INSERT INTO yquota.cluster_setting (cluster_name) VALUES (NULL);
SET ROLE yquota_cluster_admin;
INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('north');
INSERT INTO yquota.cluster_setting (cluster_name) VALUES ('south');
UPDATE yquota.cluster_setting SET cluster_name = 'south';
SELECT operation, old->>'cluster_name' AS before, new->>'cluster_name' AS after FROM yquota.audit WHERE table_name = 'yquota.cluster_setting' ORDER BY audit_id;

-- members and operators read it
SET ROLE yquota_cluster_member;
SELECT yquota.cluster_name(), cluster_name FROM yquota.cluster_setting;
UPDATE yquota.cluster_setting SET cluster_name = 'mine';
SET ROLE yquota_cluster_operator;
SELECT yquota.cluster_name();
SET ROLE yquota_cluster_stranger;
SELECT yquota.cluster_name();
RESET ROLE;

\c postgres
DROP DATABASE yquota_cluster;
DROP ROLE yquota_cluster_admin, yquota_cluster_member, yquota_cluster_operator, yquota_cluster_stranger;
