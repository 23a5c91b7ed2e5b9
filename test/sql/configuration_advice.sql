--
-- Advice about settings that Hadoop accepts although they are unwise. A transaction gets a warning
-- for each row that it has changed, and a function returns all advice.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_configuration_advice WITH (FORCE);
CREATE DATABASE yquota_configuration_advice;
\c yquota_configuration_advice
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\pset null '(null)'
\pset format unaligned

--
-- The defaults of Hadoop get no advice
--
SELECT count(*) FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.maximum-applications": 10000, "yarn.scheduler.capacity.maximum-am-resource-percent": 0.1, "yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
	"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": 100, "yarn.scheduler.capacity.root.default.user-limit-factor": 1, "yarn.scheduler.capacity.root.default.maximum-capacity": 100, "yarn.scheduler.capacity.root.default.state": "RUNNING",
	"yarn.scheduler.capacity.root.default.acl_submit_applications": "*", "yarn.scheduler.capacity.root.default.acl_administer_queue": "*", "yarn.scheduler.capacity.root.default.acl_application_max_priority": "*",
	"yarn.scheduler.capacity.root.default.maximum-application-lifetime": -1, "yarn.scheduler.capacity.root.default.default-application-lifetime": -1, "yarn.scheduler.capacity.node-locality-delay": 40, "yarn.scheduler.capacity.rack-locality-additional-delay": -1,
	"yarn.scheduler.capacity.queue-mappings": "", "yarn.scheduler.capacity.queue-mappings-override.enable": "false", "yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments": 1}');
SELECT * FROM yquota.configuration_advice();

--
-- Each finding is reported at commit
--
INSERT INTO yquota.node_label (name) VALUES ('gpu'), ('ssd');
UPDATE yquota.queue SET capacity = '80', accessible_node_labels = '{gpu}' WHERE path = 'root';
UPDATE yquota.queue SET capacity = '100', accessible_node_labels = '{*}' WHERE path = 'root';
UPDATE yquota.queue SET capacity = '2w', accessible_node_labels = NULL WHERE path = 'root';
UPDATE yquota.queue SET capacity = NULL WHERE path = 'root';
UPDATE yquota.queue SET maximum_capacity = '50' WHERE path = 'root.default';
UPDATE yquota.queue SET maximum_capacity = '101' WHERE path = 'root.default';
UPDATE yquota.queue SET maximum_capacity = '-5' WHERE path = 'root.default';
UPDATE yquota.queue SET maximum_capacity = '-1' WHERE path = 'root.default';
UPDATE yquota.queue SET maximum_capacity = NULL, accessible_node_labels = '{gpu,ssd}' WHERE path = 'root.default';
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root', 'gpu', '100'), ('root.default', 'gpu', '100');
BEGIN;
UPDATE yquota.queue SET accessible_node_labels = NULL;
INSERT INTO yquota.scheduler_setting (node_labels_enabled) VALUES (true) ON CONFLICT (only_row) DO UPDATE SET node_labels_enabled = true;
COMMIT;
UPDATE yquota.scheduler_setting SET node_labels_enabled = false;
BEGIN;
DELETE FROM yquota.queue_label;
UPDATE yquota.queue SET user_limit_factor = 0.5, minimum_user_limit_percent = 150 WHERE path = 'root.default';
COMMIT;
-- percentages appear as they were written, although they are computed with floats
UPDATE yquota.queue SET user_limit_factor = 0.6, maximum_capacity = '100', minimum_user_limit_percent = 100 WHERE path = 'root.default';
UPDATE yquota.queue SET user_limit_factor = 0.333333 WHERE path = 'root.default';
UPDATE yquota.queue SET maximum_capacity = NULL WHERE path = 'root.default';
UPDATE yquota.queue SET user_limit_factor = 0, minimum_user_limit_percent = 0 WHERE path = 'root.default';
UPDATE yquota.queue SET user_limit_factor = -1, minimum_user_limit_percent = 50 WHERE path = 'root.default';
INSERT INTO yquota.queue_user (queue, username, weight) VALUES ('root.default', 'bob', 0), ('root.default', 'eve', 0.5);
UPDATE yquota.queue SET maximum_applications = 0, max_parallel_apps = 0, maximum_am_resource_percent = 10 WHERE path = 'root.default';
UPDATE yquota.queue SET maximum_applications = 5, max_parallel_apps = 5, maximum_am_resource_percent = 1, default_application_priority = 3 WHERE path = 'root.default';
UPDATE yquota.scheduler_setting SET cluster_max_application_priority = 3;
UPDATE yquota.queue SET default_application_lifetime = 600 WHERE path = 'root';
UPDATE yquota.queue SET maximum_application_lifetime = 900 WHERE path = 'root';
-- ACLs of queues below an open queue have no effect, and without acl_enable no ACL has an effect
UPDATE yquota.queue SET acl_submit_applications = 'alice', acl_administer_queue = '*' WHERE path = 'root.default';
UPDATE yquota.scheduler_setting SET acl_enable = true;
UPDATE yquota.scheduler_setting SET admin_acl = 'root';
UPDATE yquota.queue SET acl_administer_queue = 'alice' WHERE path = 'root.default';
UPDATE yquota.queue SET acl_submit_applications = '*' WHERE path = 'root';
UPDATE yquota.queue SET acl_submit_applications = ' ', acl_administer_queue = ' ' WHERE path = 'root';
-- rules that come after a rule that matches every user
INSERT INTO yquota.mapping_rule (kind, position, type, matches, queue) VALUES ('legacy', 1, 'user', 'bob', 'default'), ('legacy', 2, 'user', '%user', 'root.default'), ('legacy', 3, 'group', 'dev', 'default'), ('application', 1, 'application', 'hive', 'default');
UPDATE yquota.scheduler_setting SET queue_placement_rules = '{com.example.Engine}';
UPDATE yquota.scheduler_setting SET queue_placement_rules = NULL, mapping_rule_format = 'json';
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, fallback_result) VALUES ('json', 1, 'user', '*', 'defaultQueue', NULL), ('json', 2, 'user', '*', 'user', 'reject'), ('json', 3, 'user', '*', 'reject', NULL);
TRUNCATE yquota.mapping_rule;
SELECT * FROM yquota.configuration_advice();

--
-- Unchanged rows, rows that do not exist at commit, and changes that were not committed cause no
-- warning. A transaction gets at most twenty warnings.
--
UPDATE yquota.queue SET maximum_applications = 0 WHERE path = 'root.default';
UPDATE yquota.scheduler_setting SET node_locality_delay = 7;
BEGIN;
UPDATE yquota.queue SET max_parallel_apps = -1 WHERE path = 'root.default';
UPDATE yquota.queue SET capacity = '99' WHERE path = 'root.default';
COMMIT;
BEGIN;
SAVEPOINT s;
INSERT INTO yquota.queue (path, capacity, max_parallel_apps) VALUES ('root.a', '0', 0);
ROLLBACK TO s;
UPDATE yquota.queue SET priority = 1 WHERE path = 'root';
COMMIT;
INSERT INTO yquota.queue (path, capacity, max_parallel_apps) SELECT 'root.q' || i, '0', 0 FROM generate_series(10, 32) AS i;
SELECT count(*) FROM yquota.configuration_advice();
-- the function also works before commit, and includes uncommitted changes
BEGIN;
UPDATE yquota.queue SET max_parallel_apps = 1 WHERE path LIKE 'root.q__';
SELECT * FROM yquota.configuration_advice();
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
BEGIN;
UPDATE yquota.queue SET max_parallel_apps = 0 WHERE path = 'root.q10';
SET CONSTRAINTS ALL IMMEDIATE;
COMMIT;
-- queues that a submission has created get no advice of their own, as they follow their templates
BEGIN;
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.q10';
UPDATE yquota.queue SET auto_queue_creation_v2_enabled = true, max_parallel_apps = NULL WHERE path = 'root.q10';
INSERT INTO yquota.queue (path, auto_created, maximum_applications) VALUES ('root.q10.u', true, 0);
COMMIT;
SELECT * FROM yquota.configuration_advice() WHERE queue LIKE 'root.q10%';

-- nothing is preempted while the preemption policy does not run
BEGIN;
UPDATE yquota.queue SET disable_preemption = true WHERE path = 'root.q10';
SET CONSTRAINTS ALL IMMEDIATE;
INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable, scheduler_monitor_policies) VALUES (true, '{x.y.ProportionalCapacityPreemptionPolicy}')
	ON CONFLICT (only_row) DO UPDATE SET scheduler_monitor_enable = true, scheduler_monitor_policies = excluded.scheduler_monitor_policies;
SELECT * FROM yquota.configuration_advice() WHERE property = 'disable_preemption';
UPDATE yquota.scheduler_setting SET scheduler_monitor_policies = '{x.y.Other}';
SELECT * FROM yquota.configuration_advice() WHERE property = 'disable_preemption';
ROLLBACK;

-- Plans: without preemption, the guarantees of plans have to wait, which causes no warning. A maximum of 1 means 1 %,
-- not the whole plan. Some periods end between two steps of a plan.
BEGIN;
UPDATE yquota.queue SET capacity = '40' WHERE path = 'root.default';
INSERT INTO yquota.queue (path, capacity, reservable, instantaneous_max_capacity, average_capacity, reservation_window) VALUES ('root.plan', '60', true, 1, 0.5, -1);
INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable, acl_enable, reservation_system_planfollower_time_step, reservation_system_max_periodicity, reservation_acl_enable)
	VALUES (false, false, 7000, 86400000, true)
	ON CONFLICT (only_row) DO UPDATE SET scheduler_monitor_enable = false, acl_enable = false, reservation_system_planfollower_time_step = 7000, reservation_system_max_periodicity = 86400000,
		reservation_acl_enable = true;
SELECT * FROM yquota.configuration_advice() WHERE queue = 'root.plan' OR property LIKE '%reservation%';
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true, acl_enable = true, reservation_reads_fractions = true, reservation_system_planfollower_time_step = -1;
UPDATE yquota.queue SET average_capacity = 0, reservation_window = NULL WHERE path = 'root.plan';
SELECT * FROM yquota.configuration_advice() WHERE queue = 'root.plan' OR property LIKE '%reservation%';
UPDATE yquota.queue SET average_capacity = NULL WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = NULL, reservation_system_max_periodicity = 0;
SELECT * FROM yquota.configuration_advice() WHERE queue = 'root.plan' OR property LIKE '%reservation%';
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = NULL;
SELECT * FROM yquota.configuration_advice() WHERE queue = 'root.plan' OR property LIKE '%reservation%';
ROLLBACK;

-- settings that yquota does not implement, or that do less than they seem to
BEGIN;
INSERT INTO yquota.scheduler_setting (scheduler_class, node_locality_delay) VALUES ('org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler', -1)
	ON CONFLICT (only_row) DO UPDATE SET scheduler_class = excluded.scheduler_class, node_locality_delay = excluded.node_locality_delay;
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
UPDATE yquota.scheduler_setting SET scheduler_class = 'CapacityScheduler', rack_locality_additional_delay = 1;
SELECT * FROM yquota.configuration_advice() WHERE property ~ 'class|locality';
UPDATE yquota.scheduler_setting SET scheduler_class = 'x.y.CapacityScheduler', rack_locality_additional_delay = 0;
SELECT * FROM yquota.configuration_advice() WHERE property ~ 'class|locality';
UPDATE yquota.scheduler_setting SET node_locality_delay = 0, rack_locality_additional_delay = NULL;
SELECT * FROM yquota.configuration_advice() WHERE property ~ 'class|locality';
-- these settings get a warning at commit, like the warning of an import
UPDATE yquota.scheduler_setting SET multi_node_placement_enabled = true;
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
SELECT * FROM yquota.configuration_advice() WHERE property ~ 'multi-node';
UPDATE yquota.scheduler_setting SET multi_node_placement_enabled = false;
SELECT * FROM yquota.configuration_advice() WHERE property ~ 'multi-node';
ROLLBACK;
-- static children beside created ones, and a management policy that yquota does not have
BEGIN;
UPDATE yquota.queue SET capacity = '60' WHERE path = 'root.default';
INSERT INTO yquota.queue (path, capacity, auto_create_child_queue_enabled, leaf_queue_template, auto_create_child_queue_management_policy)
	VALUES ('root.m', '40', true, '{"capacity": "10"}', 'com.example.Policy');
SELECT * FROM yquota.configuration_advice() WHERE queue = 'root.m';
INSERT INTO yquota.queue (path, capacity, auto_created) VALUES ('root.m.u', '10', true);
SELECT * FROM yquota.configuration_advice() WHERE queue = 'root.m';
INSERT INTO yquota.queue (path, capacity) VALUES ('root.m.a', '50'), ('root.m.b', '50');
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
UPDATE yquota.queue SET auto_create_child_queue_management_policy = 'org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.queuemanagement.GuaranteedOrZeroCapacityOverTimePolicy' WHERE path = 'root.m';
SELECT * FROM yquota.configuration_advice() WHERE queue = 'root.m';
ROLLBACK;

CREATE ROLE yquota_test_advised;
SET ROLE yquota_test_advised;
SELECT * FROM yquota.configuration_advice();
RESET ROLE;
SELECT yquota.allow_role('yquota_test_advised', 'viewer');
SET ROLE yquota_test_advised;
SELECT count(*) > 0 AS told FROM yquota.configuration_advice();
RESET ROLE;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_configuration_advice WITH (FORCE);
DROP ROLE yquota_test_advised;
