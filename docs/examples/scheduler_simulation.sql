--
-- Compare a thousand local schedulers with central allocation, with the same nodes and the same work.
--
--   createdb simulation && psql -d simulation -f docs/examples/scheduler_simulation.sql
--
-- Use a database that has nothing else. In every second, a tenth of the local schedulers gets a call of an application
-- master that wants three containers. Each decides by the list of nodes of that second. No local scheduler knows of the
-- others, so all use the first nodes of the list. The queues of these nodes overflow, and the nodes reject containers.
-- Central allocation allocates each slot only once, and uses opportunistic_nodes_used nodes. -v schedulers=100 makes
-- the simulation smaller.
--
\if :{?schedulers}
\else
	\set schedulers 1000
\endif
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\ir local_scheduler.sql
SELECT yquota.set_clock('2026-03-02 10:00+00') \g /dev/null
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, distributed_scheduling_enabled, amrmproxy_enabled,
	opportunistic_queue_capacity, opportunistic_nodes_used) VALUES (1, true, true, true, 10, :schedulers / 10);
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.default', '100');
-- every node has room for two containers, and a local scheduler
INSERT INTO yquota.node (name, total)
SELECT format('n%s', lpad(n::text, 4, '0')), '[memory-mb=2048,vcores=2]' FROM generate_series(1, :schedulers) AS n;
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'default', project => 'p', unmanaged => true) \g /dev/null

CREATE TABLE told (mode text, action text, containers bigint);

CREATE FUNCTION report_all() RETURNS void LANGUAGE sql AS $$
	SELECT FROM yquota.report_nodes(ARRAY(
		SELECT ROW(n.name, 0, count(q.*) FILTER (WHERE q.state = 'RUNNING'), 0, count(q.*) FILTER (WHERE q.state = 'QUEUED'), NULL, 10, NULL, NULL, NULL)::yquota.node_report
		FROM yquota.node AS n
		LEFT JOIN yquota.node_queue AS q ON q.node = n.name AND q.left_at IS NULL
		GROUP BY n.name))
$$;

-- Simulate one second with local schedulers or central allocation. Decide, let the containers arrive, and let the nodes
-- report.
CREATE FUNCTION second(mode text, schedulers text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	ask CONSTANT yquota.container_request := ROW('*', '[memory-mb=1024,vcores=1]', 3, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL);
	all_asked CONSTANT yquota.container_request := ROW('*', '[memory-mb=1024,vcores=1]', 3 * cardinality(schedulers), 1, 1, true, NULL, 'OPPORTUNISTIC', NULL);
BEGIN
	CREATE TEMPORARY TABLE arriving (place bigint GENERATED ALWAYS AS IDENTITY, container_id text, node text);
	IF mode = 'distributed' THEN
		INSERT INTO arriving (container_id, node)
		SELECT g.container_id, g.node
		FROM unnest(schedulers) AS s (name), local_scheduler.heartbeat(s.name, 'application_1_0001', ARRAY[ask]) AS g
		WHERE g.reason IS NULL;
	ELSE
		INSERT INTO arriving (container_id, node)
		SELECT g.container_id, g.node FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[all_asked], seed => 1) AS g;
	END IF;
	INSERT INTO told
	SELECT mode, e.action, count(*) FROM (SELECT * FROM arriving ORDER BY place) AS a, yquota.enqueue_container(a.node, a.container_id) AS e GROUP BY 2;
	DROP TABLE arriving;
	PERFORM yquota.set_clock(yquota.clock() + interval '1 s');
	PERFORM report_all();
END
$$;

CREATE FUNCTION play(mode text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM report_all();
	FOR tenth IN 0 .. 9 LOOP
		PERFORM second(mode, ARRAY(SELECT n.name::text FROM yquota.node AS n WHERE right(n.name, 1) = tenth::text ORDER BY n.name));
	END LOOP;
END
$$;

CREATE VIEW outcome AS
	SELECT t.mode, sum(t.containers) AS given,
		   coalesce(sum(t.containers) FILTER (WHERE t.action = 'start'), 0) AS started,
		   coalesce(sum(t.containers) FILTER (WHERE t.action = 'queued'), 0) AS queued,
		   coalesce(sum(t.containers) FILTER (WHERE t.action = 'rejected'), 0) AS rejected,
		   l.nodes_with_containers, l.longest_queue
	FROM told AS t
	CROSS JOIN (SELECT count(DISTINCT q.node) AS nodes_with_containers, max(q.place) AS longest_queue
				FROM (SELECT q.node, count(*) FILTER (WHERE q.state = 'QUEUED') AS place FROM yquota.node_queue AS q WHERE q.left_at IS NULL GROUP BY 1) AS q) AS l
	GROUP BY t.mode, l.nodes_with_containers, l.longest_queue;

\echo local schedulers:
BEGIN;
SELECT play('distributed') \g /dev/null
TABLE outcome;
SELECT count(*) AS problems FROM yquota.verify();
ROLLBACK;
\echo central allocation:
BEGIN;
SELECT play('central') \g /dev/null
TABLE outcome;
SELECT count(*) AS problems FROM yquota.verify();
ROLLBACK;
