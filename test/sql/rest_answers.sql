--
-- Answers of the ResourceManager's REST interface, as Hadoop 2 and 3 give them.
--
CREATE DATABASE yquota_rest_answers;
\c yquota_rest_answers
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00:00+00');
INSERT INTO yquota.project (name) VALUES ('lab');

-- nodes of Hadoop 3, with resources with units, labels, and states
\set three '{"nodes": {"node": [{"rack": "/rack1", "state": "RUNNING", "id": "n1.example.org:45454", "nodeHostName": "n1.example.org", "nodeHTTPAddress": "n1.example.org:8042", "lastHealthUpdate": 1772445000000, "version": "3.4.1", "healthReport": "", "numContainers": 2, "usedMemoryMB": 2048, "availMemoryMB": 6144, "usedVirtualCores": 2, "availableVirtualCores": 6, "nodeLabels": ["gpu"], "totalResource": {"memory": 8192, "vCores": 8, "resourceInformations": {"resourceInformation": [{"maximumAllocation": 9223372036854775807, "minimumAllocation": 0, "name": "memory-mb", "resourceType": "COUNTABLE", "units": "Mi", "value": 8192}, {"name": "vcores", "resourceType": "COUNTABLE", "units": "", "value": 8}, {"name": "yarn.io/gpu", "resourceType": "COUNTABLE", "units": "", "value": 4}]}}}, {"rack": "/default-rack", "state": "UNHEALTHY", "id": "n2.example.org:45454", "nodeHostName": "n2.example.org", "usedMemoryMB": 0, "availMemoryMB": 4096, "usedVirtualCores": 0, "availableVirtualCores": 4}]}}'
SELECT * FROM yquota.import_nodes(:'three');
SELECT name, rack, label, total, state, updated_at FROM yquota.node ORDER BY name;
-- a repeated answer writes nothing
SELECT yquota.set_clock('2026-03-02 10:00:10+00');
SELECT * FROM yquota.import_nodes(:'three');
SELECT name, updated_at FROM yquota.node ORDER BY name;
-- A lost node keeps the resources that it offered. An answer may have a single node in place of
-- the array of nodes.
SELECT * FROM yquota.import_nodes(jsonb_set(jsonb_set(:'three', '{nodes,node,0,state}', '"LOST"'), '{nodes,node,0,totalResource}', '{"memory": 0, "vCores": 0}'));
SELECT name, total, state FROM yquota.node ORDER BY name;
SELECT * FROM yquota.import_nodes('{"nodes": {"node": {"state": "RUNNING", "id": "n3:1", "nodeHostName": "n3", "usedMemoryMB": 1024, "availMemoryMB": 1024, "usedVirtualCores": 1, "availableVirtualCores": 0}}}');
-- a ResourceManager that has just started knows no nodes, and no node is lost because of that
SET client_min_messages = notice;
SELECT * FROM yquota.import_nodes('{"nodes": null}');
SELECT * FROM yquota.import_nodes('{"nodes": null}', missing_are_lost => true);
SELECT * FROM yquota.import_nodes('{"nodes": {}}', missing_are_lost => true);
SELECT * FROM yquota.import_nodes('{"nodes": {"node": []}}', missing_are_lost => true);
SET client_min_messages = warning;
SELECT name, state FROM yquota.node ORDER BY name;
-- a node that is missing from an answer with nodes is lost
SELECT * FROM yquota.import_nodes('{"nodes": {"node": {"state": "LOST", "id": "n1:1", "nodeHostName": "n1.example.org"}}}', missing_are_lost => true);
SELECT name, state FROM yquota.node ORDER BY name;
-- a host runs again beside its former node, and a host has several nodes
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"state": "RUNNING", "id": "n3:2", "nodeHostName": "n3", "totalResource": {"memory": 2048, "vCores": 1}}, {"state": "LOST", "id": "n3:1", "nodeHostName": "n3"}]}}');
\set two '{"nodes": {"node": [{"state": "RUNNING", "id": "n4:1", "nodeHostName": "n4", "totalResource": {"memory": 2048, "vCores": 1}}, {"state": "RUNNING", "id": "n4:2", "nodeHostName": "n4", "totalResource": {"memory": 1024, "vCores": 1}}]}}'
SELECT * FROM yquota.import_nodes(:'two');
SELECT * FROM yquota.import_nodes(:'two', name_from => 'id');
-- a label may be a string instead of an array
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"state": "RUNNING", "id": "n3:2", "nodeHostName": "n3", "nodeLabels": "fast", "totalResource": {"memory": 2048, "vCores": 1}}]}}') WHERE node = 'n3';
SELECT name, label FROM yquota.node WHERE name = 'n3';

-- errors
SELECT * FROM yquota.import_nodes(NULL);
SELECT * FROM yquota.import_nodes('[]');
SELECT * FROM yquota.import_nodes('{"nodes": null}', 'ip');
SELECT * FROM yquota.import_nodes('{"nodes": 5}');
SELECT * FROM yquota.import_nodes('{"nodes": {"node": "n1"}}', missing_are_lost => true);
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"state": "RUNNING"}]}}');
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"id": "n1:1"}]}}');
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"id": "n1:1", "state": "SLEEPING"}]}}');
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"id": "n1:1", "state": "RUNNING", "totalResource": {"memory": "much"}}]}}');
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"id": "n1:1", "state": "RUNNING", "totalResource": {"resourceInformations": {"resourceInformation": [{"name": "vcores", "value": 1.5}]}}}]}}');
-- negative resources are refused in every table
SELECT * FROM yquota.import_nodes('{"nodes": {"node": [{"id": "n1:1", "state": "RUNNING", "totalResource": {"memory": -1, "vCores": 1}}]}}');
INSERT INTO yquota.node (name, total, updated_at) VALUES ('n9', '[memory-mb=1024,vcores=-1]', yquota.clock());
UPDATE yquota.node SET total = '[yarn.io/gpu=-1]' WHERE name = 'n3';
INSERT INTO yquota.pending_demand (source, demand, reported_at) VALUES ('rm', '[memory-mb=-1]', yquota.clock());

-- Metrics of Hadoop 3 and of Hadoop 2. GPUs are left out if the cluster has none.
\set metrics '{"clusterMetrics": {"appsSubmitted": 4, "reservedMB": 0, "availableMB": 6144, "allocatedMB": 2048, "pendingMB": 1024, "reservedVirtualCores": 0, "availableVirtualCores": 5, "allocatedVirtualCores": 3, "pendingVirtualCores": 5, "containersAllocated": 2, "totalMB": 8192, "totalVirtualCores": 8, "totalNodes": 1, "activeNodes": 1, "totalUsedResourcesAcrossPartition": {"memory": 2048, "vCores": 3, "resourceInformations": {"resourceInformation": [{"name": "memory-mb", "units": "Mi", "value": 2048}, {"name": "vcores", "units": "", "value": 3}, {"name": "yarn.io/gpu", "units": "", "value": 2}]}}, "totalClusterResourcesAcrossPartition": {"memory": 8192, "vCores": 8, "resourceInformations": {"resourceInformation": [{"name": "memory-mb", "units": "Mi", "value": 8192}, {"name": "vcores", "units": "", "value": 8}, {"name": "yarn.io/gpu", "units": "", "value": 3}, {"name": "unheard/of", "units": "", "value": 9}]}}}}'
SELECT * FROM yquota.import_cluster_metrics(:'metrics');
SELECT * FROM yquota.utilization ORDER BY resource_type;
SELECT price_group, utilization, multiplier FROM yquota.compute_prices();
SELECT * FROM yquota.import_cluster_metrics('{"clusterMetrics": {"allocatedMB": 1024, "totalMB": 8192, "allocatedVirtualCores": 9, "totalVirtualCores": 8}}', source => 'old rm');
SELECT * FROM yquota.utilization ORDER BY resource_type;
-- Two kinds of answers are ignored: those that are older than the last one, and those of a starting
-- ResourceManager.
SELECT * FROM yquota.import_cluster_metrics(:'metrics', '2026-03-02 09:59');
SELECT * FROM yquota.import_cluster_metrics('{"clusterMetrics": {"allocatedMB": 0, "totalMB": 0, "allocatedVirtualCores": 0, "totalVirtualCores": 0}}');
SELECT * FROM yquota.import_cluster_metrics('{"clusterMetrics": {}}');
-- the price group also counts pending requests
UPDATE yquota.price_group SET count_pending = true WHERE name = 'GENERAL';
SELECT * FROM yquota.import_cluster_metrics(:'metrics');
-- errors
SELECT * FROM yquota.import_cluster_metrics(NULL);
SELECT * FROM yquota.import_cluster_metrics('{"nodes": null}');
SELECT * FROM yquota.import_cluster_metrics(:'metrics', '2026-03-02 11:00');
SELECT * FROM yquota.import_cluster_metrics(:'metrics', 'infinity');
SELECT * FROM yquota.import_cluster_metrics('{"clusterMetrics": {"allocatedMB": "much", "totalMB": 8192}}');
SELECT * FROM yquota.import_cluster_metrics('{"clusterMetrics": {"allocatedMB": -1, "totalMB": 8192}}');

-- an operator may call both functions
CREATE ROLE yquota_rest_operator;
SELECT yquota.allow_role('yquota_rest_operator', 'operator');
SET ROLE yquota_rest_operator;
SELECT node, action FROM yquota.import_nodes(:'three');
SELECT count(*) FROM yquota.import_cluster_metrics(:'metrics');
SELECT * FROM yquota.utilization;
RESET ROLE;
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_rest_answers;
DROP ROLE yquota_rest_operator;
