--
-- How long OPPORTUNISTIC containers are expected to run. The duration goes from the request through
-- the allocation to the container queue of the node.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_expected_duration WITH (FORCE);
CREATE DATABASE yquota_expected_duration;
\c yquota_expected_duration
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.scheduler_setting (opportunistic_allocation_enabled, opportunistic_queue_capacity, maximum_am_resource_percent) VALUES (true, 10, 1);
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, rack, total) VALUES ('n1', '/r1', '[memory-mb=2048,vcores=8]');
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
SELECT accepted FROM yquota.report_nodes(ARRAY[(SELECT jsonb_populate_record(NULL::yquota.node_report, '{"node": "n1", "running_guaranteed": 0, "running_opportunistic": 0, "queued_guaranteed": 0, "queued_opportunistic": 0}'))]);
CREATE FUNCTION pg_temp.ask(duration interval, count integer DEFAULT 1, name text DEFAULT '*', type yquota.execution_type DEFAULT 'OPPORTUNISTIC') RETURNS bigint LANGUAGE sql AS
	$$SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', count, name, execution_type => type, expected_duration => duration)$$;

\echo an invalid duration is refused
SELECT pg_temp.ask('0');
SELECT pg_temp.ask('-1 s');
SELECT pg_temp.ask('1 day -24 hours');
SELECT pg_temp.ask('36500 days 1 us');
SELECT pg_temp.ask('178000000 years');

\echo a request for * sets the duration, a request for a node or rack does not, and a GUARANTEED request has none
SELECT pg_temp.ask('90 s', 3);
SELECT pg_temp.ask('5 s', 1, '/r1');
SELECT pg_temp.ask('5 s', 1, '*', 'GUARANTEED');
SELECT resource_name, execution_type, count, expected_duration FROM yquota.resource_request ORDER BY 1, 2;
SELECT pg_temp.ask(NULL, 3);
SELECT resource_name, execution_type, count, expected_duration FROM yquota.resource_request ORDER BY 1, 2;
SELECT pg_temp.ask('1 month 36 hours', 2);

\echo the duration goes with the container: first in a table of its own, then in the queue of the node
SELECT right(container_id, 2) AS c FROM yquota.allocate_opportunistic('application_1_0001');
SELECT right(container_id, 2) AS c FROM yquota.allocate_opportunistic('application_1_0001',
	ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 1, 2, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SELECT right(container_id, 2) AS c, expected_duration FROM yquota_internal.expected_duration ORDER BY 1;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision)) > 0;
SELECT action, right(container_id, 2) AS c FROM yquota.enqueue_container('n1', 'container_1_0001_01_000001');
SELECT action, right(container_id, 2) AS c FROM yquota.enqueue_container('n1', 'container_1_0001_01_000003');
SELECT right(container_id, 2) AS c, state, expected_duration FROM yquota.readable_node_queue ORDER BY 1;
SELECT right(container_id, 2) AS c, expected_duration FROM yquota_internal.expected_duration ORDER BY 1;

\echo the duration of a container that ends elsewhere is forgotten
SELECT yquota_internal.forget_expected_durations(100);
SELECT right(r, 2) FROM yquota.release_containers('{container_1_0001_01_000002}') AS r;
SELECT yquota_internal.forget_expected_durations(100);
SELECT yquota_internal.forget_expected_durations(100);

\echo local schedulers report the duration
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = true, amrmproxy_enabled = true;
SELECT outcome, node, count, expected_duration FROM yquota.allocate_distributed(
	ARRAY[ROW('n1', '/r1', '')::yquota.leased_node],
	ARRAY[ROW('*', '[memory-mb=512,vcores=1]', 3, 1, 1, true, NULL, 'OPPORTUNISTIC', '10 min'),
		  ROW('/r1', '[memory-mb=512,vcores=1]', 1, 1, 1, true, NULL, 'OPPORTUNISTIC', '1 min'),
		  ROW('n9', '[memory-mb=512,vcores=1]', 1, 2, 2, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[], max_containers => 1);
SELECT node, epoch FROM yquota.lease_nodes('n9');
CREATE FUNCTION pg_temp.given(number integer, duration interval) RETURNS yquota.distributed_container LANGUAGE sql AS
	$$SELECT ROW('application_1_0001', (2::bigint << 40) - number, 'n1', '[memory-mb=512,vcores=1]', 1, 1, NULL, NULL, NULL, duration)::yquota.distributed_container$$;
SELECT accepted FROM yquota.report_distributed_containers('n9', ARRAY[pg_temp.given(1, '0')]);
SELECT accepted FROM yquota.report_distributed_containers('n9', ARRAY[pg_temp.given(1, '10 min'), pg_temp.given(2, NULL)]);
SELECT accepted FROM yquota.report_distributed_containers('n9', ARRAY[pg_temp.given(1, '10 min'), pg_temp.given(2, NULL)]);
SELECT split_part(container_id, '_', 5) AS c, expected_duration FROM yquota_internal.expected_duration ORDER BY 1;
SELECT * FROM yquota.verify();

\echo estimated waits: a has run for 20 s of 60, b for 20 s of 30, c has no duration; d waits for 90 s, and e, without duration, for the mean
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = false, node_load_comparator = 'QUEUE_WAIT_TIME';
INSERT INTO yquota.node (name, total) VALUES ('w', '[memory-mb=3072,vcores=8]');
CREATE FUNCTION pg_temp.come(id text, duration interval, type text DEFAULT 'OPPORTUNISTIC') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, node, allocation, execution_type, is_running)
	VALUES ('CONTAINER_START', id, yquota.clock(), 'p', 'w', '[memory-mb=1024,vcores=1]', type::yquota.execution_type, type = 'GUARANTEED');
	INSERT INTO yquota_internal.expected_duration (container_id, expected_duration) SELECT id, duration WHERE duration IS NOT NULL;
	RETURN (SELECT string_agg(a.action || ' ' || a.container_id, ', ') FROM yquota.enqueue_container('w', id) AS a);
END
$$;
CREATE FUNCTION pg_temp.wait(told interval DEFAULT NULL, after interval DEFAULT '0') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer record;
BEGIN
	PERFORM yquota.set_clock(yquota.clock() + interval '1 us' + after);
	SELECT * INTO answer FROM yquota.report_nodes(ARRAY[ROW('w', 0, 0, 0, 0, told, NULL, NULL, NULL, NULL)::yquota.node_report]);
	RETURN concat_ws(', ', (SELECT r.estimated_wait FROM yquota.node_queue_report AS r WHERE r.node = 'w'), CASE WHEN answer.accepted THEN 'accepted' END, answer.reason);
END
$$;
SELECT pg_temp.wait();
SELECT pg_temp.come('c', NULL);
SELECT pg_temp.wait();
SELECT pg_temp.come('a', '60 s'), pg_temp.come('b', '30 s');
\echo no container waits
SELECT pg_temp.wait();
SELECT pg_temp.come('d', '90 s'), pg_temp.come('e', NULL);
SELECT node, state, state_at, expected_duration FROM yquota.node_queue WHERE node = 'w' ORDER BY place;
\echo the mean of 60, 30 and 90 is 60: c, a, b, d and e have left 60, 60, 30, 90 and 60 s, less the time they ran, and three run
SELECT pg_temp.wait(after => '20 s');
\echo b, then all that run, are over their time: d and e are left
SELECT pg_temp.wait(after => '30 s');
SELECT pg_temp.wait(after => '1 hour');
\echo the wait that the node reports comes before the estimate
SELECT pg_temp.wait('5 s');
\echo GUARANTEED containers, and those that are being killed, do not count: a, d and e are left, and c with the mean of 75 s
SELECT pg_temp.come('g', NULL, 'GUARANTEED');
SELECT pg_temp.wait();
\echo with another comparator no wait is estimated
UPDATE yquota.scheduler_setting SET node_load_comparator = NULL;
SELECT pg_temp.wait();
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_expected_duration WITH (FORCE);
