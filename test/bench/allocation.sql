--
-- A cluster for allocation, with :nodes nodes in racks of 40. It has :leaves leaves in :levels
-- levels (four or two, including the root). Each leaf has :applications active applications of five
-- users, and a tenth of the leaves is in fair order. Nodes have just enough room for :room times
-- :containers containers of each application.
--
BEGIN;
INSERT INTO yquota.scheduler_setting (resource_calculator, maximum_am_resource_percent, maximum_applications,
	per_node_heartbeat_maximum_container_assignments, per_node_heartbeat_maximum_offswitch_assignments)
VALUES ('org.apache.hadoop.yarn.util.resource.DominantResourceCalculator', 1, 10000000, 100, 100);
CREATE TABLE leaf AS
SELECT n, CASE :levels WHEN 2 THEN format('root.c%s', n) ELSE format('root.a%s.b%s.c%s', n / 100, n / 10 % 10, n % 10) END AS path FROM generate_series(0, :leaves - 1) AS n;
INSERT INTO yquota.queue (path) VALUES ('root');
INSERT INTO yquota.queue (path, capacity)
SELECT DISTINCT array_to_string((string_to_array(path, '.'))[1:depth], '.'), '1w' FROM leaf, generate_series(2, :levels - 1) AS depth;
INSERT INTO yquota.queue (path, capacity, minimum_user_limit_percent, user_limit_factor, ordering_policy)
SELECT path, 1 + n % 2 || 'w', 25, 1000, CASE WHEN n % 10 = 7 THEN 'fair' END FROM leaf;
COMMIT;

INSERT INTO yquota.project (name) SELECT 'project' || n FROM generate_series(0, 99) AS n;
-- containers have 4.5 GiB and 2.5 vcores on average
INSERT INTO yquota.node (name, rack, total)
SELECT 'node' || lpad(n::text, 6, '0'), '/rack' || lpad((n / 40)::text, 4, '0'),
	format('[memory-mb=%s,vcores=%s]', greatest(16, ceil(4.6 * :applications * :containers * :room / :nodes)::bigint) * 1024,
		greatest(8, ceil(2.6 * :applications * :containers * :room / :nodes)::bigint))::yquota.resource
FROM generate_series(0, :nodes - 1) AS n;
INSERT INTO yquota.application (application_id, username, queue, submitted_queue, project, am_resource, unmanaged, priority, state, submitted_at, activated_at)
SELECT 'application_1700000000000_' || lpad(number.n::text, 6, '0'), 'user' || number.n / :leaves % 5, path, path, 'project' || leaf.n % 100,
	'[memory-mb=1024,vcores=1]', true, 0, 'ACTIVE', now() - interval '1 day' + number.n * interval '1 ms', now() - interval '1 day' + number.n * interval '1 ms'
FROM generate_series(0, :applications - 1) AS number (n) JOIN leaf ON leaf.n = number.n % :leaves
ORDER BY number.n;
