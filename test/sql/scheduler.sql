-- Allocation on the tables: the rows that a cycle reads and writes, its decisions, and all
-- refusals.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_scheduler WITH (FORCE);
CREATE DATABASE yquota_scheduler;
\c yquota_scheduler
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p'), ('bob');
BEGIN;
INSERT INTO yquota.node_label (name) VALUES ('gpu');
INSERT INTO yquota.scheduler_setting (node_labels_enabled) VALUES (true);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, accessible_node_labels, position) VALUES
	('root', NULL, NULL, NULL, 1), ('root.a', '40', 10, '{gpu}', 2), ('root.b', '60', 10, '{}', 3);
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root.a', 'gpu', '100');
COMMIT;
INSERT INTO yquota.node (name, rack, label, total) VALUES
	('n1', '/r1', '', '[memory-mb=8192,vcores=8]'), ('n2', '/r1', '', '[memory-mb=8192,vcores=8]'),
	('n3', '/r2', '', '[memory-mb=8192,vcores=8]'), ('n4', '/r2', 'gpu', '[memory-mb=8192,vcores=8]');

CREATE FUNCTION pg_temp.submit(id text, username text, queue text, unmanaged boolean DEFAULT false, project text DEFAULT 'p') RETURNS yquota.application_state
	LANGUAGE sql AS $$
	SELECT s.state FROM yquota.submit_application(id, username, '{}', queue, project => project, unmanaged => unmanaged) AS s
$$;
-- Run a cycle and return its decisions briefly.
CREATE FUNCTION pg_temp.told(nodes text[] DEFAULT NULL, most integer DEFAULT NULL, dry boolean DEFAULT false)
	RETURNS TABLE (decision text, container text, queue text, node text, mb bigint, locality text, p integer, unreserved text)
	LANGUAGE sql AS $$
	SELECT s.decision, replace(s.container_id, 'container_1_', ''), s.queue, s.node, yquota.amount(s.allocation, 'memory-mb'), s.locality, s.priority, s.unreserved_node
	FROM yquota.schedule(nodes, most, dry) AS s
$$;
CREATE TEMPORARY VIEW running AS
	SELECT container_id, project, username, queue, node, label, allocation, started_at FROM yquota.container ORDER BY container_id;

\echo application masters are requested automatically
SELECT pg_temp.submit('application_1_0001', 'ann', 'a'), pg_temp.submit('application_1_0002', 'bob', 'b', project => NULL),
	   pg_temp.submit('application_1_0003', 'cat', 'b', true, NULL);
SELECT application_id, waits_for_master, pending_containers FROM yquota.scheduler_application ORDER BY 1;
\echo a dry run and a rolled back cycle change nothing
SELECT * FROM pg_temp.told(dry => true);
BEGIN;
SELECT * FROM pg_temp.told();
SELECT count(*) FROM yquota.container;
ROLLBACK;
SELECT (SELECT count(*) FROM yquota.container) AS containers, (SELECT count(*) FROM yquota.decision) AS decisions,
	   (SELECT count(*) FROM yquota_internal.request_counter) AS counters, (SELECT count(*) FROM yquota.container_event) AS events;
SELECT * FROM pg_temp.told();
SELECT * FROM running;
SELECT application_id, attempt, am_container_id, waits_for_master FROM yquota.scheduler_application ORDER BY 1;
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;
\echo an application without a project is charged to a project with the name of its user, if there is one
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024]', 1);
SELECT * FROM pg_temp.told();
SELECT application_id, has_outstanding_requests FROM yquota.application WHERE application_id = 'application_1_0003';
INSERT INTO yquota.project (name) VALUES ('cat');
SELECT * FROM pg_temp.told();
SELECT project, username FROM running WHERE container_id LIKE '%0003_01%';

\echo requests for nodes and racks, their remaining counts, and labels
SELECT yquota.request_containers('application_1_0001', ARRAY[
	ROW('n2', '[memory-mb=1024]', 1, 1, NULL, NULL, NULL, NULL, NULL), ROW('/r1', '[memory-mb=1024]', 1, 1, NULL, NULL, NULL, NULL, NULL),
	ROW('*', '[memory-mb=1024]', 2, 1, NULL, NULL, NULL, NULL, NULL), ROW('*', '[memory-mb=1024]', 1, 2, NULL, NULL, 'gpu', NULL, NULL)]::yquota.container_request[]);
SELECT * FROM pg_temp.told('{n2}');
SELECT priority, resource_name, count, label FROM yquota.resource_request ORDER BY 1, 2;
SELECT * FROM pg_temp.told('{n4}');
SELECT queue, label, username, allocation FROM yquota.queue_usage WHERE queue = 'root.a' ORDER BY 1, 2, 3;
SELECT * FROM yquota_internal.request_counter WHERE application_id = 'application_1_0001' ORDER BY 2;
SELECT yquota.request_containers('application_1_0001', '[]', 0, priority => 1);
\echo a blacklisted rack, one node named twice, and a limit on the number of containers
SELECT yquota.update_blacklist('application_1_0001', '{/r1}');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 5, priority => 1);
SELECT decision, node, stopped_by FROM yquota.node_heartbeat('{n1,n2}', true) WHERE application_id = 'application_1_0001';
SELECT * FROM pg_temp.told('{n3,n3,n1}');
SELECT * FROM pg_temp.told('{n3,n3}', 1);
SELECT yquota.update_blacklist('application_1_0001', '{}', '{/r1}');
SELECT yquota.request_containers('application_1_0001', '[]', 0, priority => 1);
SELECT decision_id, decision, container_id, node FROM yquota.decision ORDER BY decision_id;
SELECT yquota.acknowledge_decisions(array_agg(decision_id) || '{0}') FROM yquota.decision;
SELECT yquota.acknowledge_decisions('{}');
SELECT yquota.acknowledge_decisions(NULL);
SELECT yquota.release_containers(NULL);

\echo a reservation is made, reported once, kept while there is no room, and fulfilled when there is
SELECT yquota.request_containers('application_1_0002', '[memory-mb=7168]', 3);
SELECT * FROM pg_temp.told('{n1,n2,n3}');
SELECT node, application_id, container_id, allocation FROM yquota.reserved_container ORDER BY 1;
SELECT node, guaranteed, available, reserved_for, reserved FROM yquota.scheduler_node ORDER BY 1;
SELECT application_id, pending_containers, reserved_containers, reserved FROM yquota.scheduler_application ORDER BY 1;
SELECT * FROM pg_temp.told('{n2,n3}');
SELECT re_reservations FROM yquota_internal.request_counter WHERE application_id = 'application_1_0002' AND priority = 1;
SELECT yquota.release_containers(array_agg(container_id)) FROM yquota.container WHERE node = 'n3';
SELECT * FROM pg_temp.told('{n3}');
\echo a reservation is given up when nothing is requested any more
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT * FROM pg_temp.told('{n1,n2}');
SELECT * FROM yquota.reserved_container;
\echo a reservation becomes void when its node is lost
SELECT yquota.request_containers('application_1_0002', '[memory-mb=8192]', 1);
SELECT * FROM pg_temp.told('{n1}');
UPDATE yquota.node SET state = 'LOST' WHERE name = 'n1';
SELECT * FROM pg_temp.told('{n1}');
SELECT * FROM yquota.reserved_container;
UPDATE yquota.node SET state = 'RUNNING' WHERE name = 'n1';
\echo a reservation becomes void when its node gets another size
SELECT * FROM pg_temp.told('{n1}');
UPDATE yquota.node SET total = '[memory-mb=8191,vcores=8]' WHERE name = 'n1';
SELECT * FROM yquota.reserved_container;
UPDATE yquota.node SET total = '[memory-mb=8192,vcores=8]' WHERE name = 'n1';
SELECT * FROM yquota.verify();

\echo a container that nobody acknowledges is released; an expired application master is requested again
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE application_id <> 'application_1_0002'));
SELECT yquota.set_clock('2026-03-02 10:09:59+00');
SELECT * FROM pg_temp.told('{n4}');
SELECT yquota.set_clock('2026-03-02 10:10+00');
-- a container does not expire while the setting is a millisecond longer
INSERT INTO yquota.scheduler_setting (allocation_expiry) VALUES ('10 min 1 ms') ON CONFLICT (only_row) DO UPDATE SET allocation_expiry = excluded.allocation_expiry;
SELECT * FROM pg_temp.told('{n4}');
UPDATE yquota.scheduler_setting SET allocation_expiry = NULL;
SELECT * FROM pg_temp.told('{n4}');
SELECT container_id, exit_status, "to" FROM yquota.charge WHERE "to" = '2026-03-02 10:10+00';
SELECT count(*) FROM yquota.decision;
SELECT yquota.release_containers('{container_1_0002_01_000001}');
SELECT * FROM pg_temp.told();
SELECT application_id, attempt, am_container_id FROM yquota.scheduler_application ORDER BY 1;
SELECT * FROM yquota.reserved_container;

\echo a cycle forgets up to a thousand old decisions, the oldest first
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, allocation_request_id, decided_at)
SELECT 'reserved', 'c' || n, 'application_1_0001', 'root.a', 'n1', '[memory-mb=1024]', 1, -1, yquota.clock()
FROM generate_series(1, 1001) AS n;
SELECT yquota.set_clock('2026-03-02 10:20+00');
SELECT * FROM pg_temp.told('{n4}');
SELECT container_id FROM yquota.decision;
SELECT * FROM pg_temp.told('{n4}');
SELECT count(*) FROM yquota.decision;
SELECT yquota.set_clock('2026-03-02 10:10+00');

\echo an ended application leaves nothing behind
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 5);
SELECT yquota.finish_application('application_1_0001');
SELECT * FROM pg_temp.told();
SELECT count(*) FROM yquota_internal.request_counter WHERE application_id = 'application_1_0001';

\echo a new application with an old id gets other container ids
SELECT yquota.remove_finished_applications('infinity');
SELECT pg_temp.submit('application_1_0001', 'ann', 'a');
SELECT * FROM pg_temp.told();
SELECT yquota.finish_application('application_1_0001');

\echo a node that is smaller than its containers gets nothing
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024]', 1);
UPDATE yquota.node SET total = '[memory-mb=512,vcores=8]';
SELECT decision, node, stopped_by FROM yquota.schedule(explain => true);
UPDATE yquota.node SET total = '[memory-mb=8192,vcores=8]';

\echo requests count as utilization where the price group says so
SELECT pg_temp.submit('application_1_0004', 'ann', 'a');
SELECT resource_type, used, pending, total FROM yquota_internal.measure_cluster(yquota.clock()) WHERE resource_type <> 'yarn.io/gpu' ORDER BY 1;

\echo verify() reports contradictions
BEGIN;
UPDATE yquota.application SET has_outstanding_requests = false WHERE application_id = 'application_1_0003';
INSERT INTO yquota.blacklist VALUES ('application_1_0009', 'n1');
INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority, allocation_request_id, decided_at)
VALUES ('allocated', 'c9', 'application_1_0003', 'root.b', 'n1', '[memory-mb=1024]', 1, -1, yquota.clock());
UPDATE yquota_internal.application_attempt SET next_container = 1 WHERE application_id = 'application_1_0002';
SELECT * FROM yquota.verify() ORDER BY 1;
ROLLBACK;

\echo TRUNCATE of the applications leaves nothing of them but their next container number
BEGIN;
TRUNCATE yquota.application;
SELECT (SELECT count(*) FROM yquota.resource_request) + (SELECT count(*) FROM yquota.blacklist) + (SELECT count(*) FROM yquota.reserved_container)
	+ (SELECT count(*) FROM yquota_internal.request_counter) AS kept;
SELECT application_id, attempt, next_container, am_container_id FROM yquota_internal.application_attempt ORDER BY 1;
SELECT * FROM yquota.verify();
ROLLBACK;

\echo missed chances for the default partition are kept where nodes are shared, or with other figures
BEGIN;
SELECT opportunities, missed_non_partitioned FROM yquota_internal.request_counter WHERE application_id = 'application_1_0003';
SELECT yquota.update_blacklist('application_1_0003', '{n1}');
SELECT * FROM pg_temp.told('{n1}');
SELECT opportunities, missed_non_partitioned FROM yquota_internal.request_counter WHERE application_id = 'application_1_0003';
UPDATE yquota.node_label SET exclusive = false WHERE name = 'gpu';
SELECT * FROM pg_temp.told('{n1,n1}');
SELECT opportunities, missed_non_partitioned FROM yquota_internal.request_counter WHERE application_id = 'application_1_0003';
ROLLBACK;

\echo the events of the scheduler fire triggers and meet constraints of others, like events of any role
BEGIN;
CREATE TABLE public.heard (what text);
CREATE FUNCTION public.hear() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.heard VALUES (concat_ws(' ', TG_WHEN, TG_LEVEL, NEW.container_id, NEW.node,
		(SELECT count(*) FROM yquota.container_event AS e WHERE e.container_id = NEW.container_id)));
	NEW.source := 'heard';
	-- this trigger drops the row of a container on n2, which is the site's own fault
	RETURN CASE WHEN NEW.node <> 'n2' THEN NEW END;
END
$$;
CREATE FUNCTION public.count_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.heard SELECT concat_ws(' ', TG_LEVEL, count(*), min(n.source)) FROM new_rows AS n;
	RETURN NULL;
END
$$;
CREATE TRIGGER b BEFORE INSERT ON yquota.container_event FOR EACH ROW EXECUTE FUNCTION public.hear();
CREATE TRIGGER a AFTER INSERT ON yquota.container_event FOR EACH ROW EXECUTE FUNCTION public.hear();
CREATE TRIGGER s BEFORE INSERT ON yquota.container_event FOR EACH STATEMENT EXECUTE FUNCTION public.hear();
CREATE TRIGGER n AFTER INSERT ON yquota.container_event REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.count_new();
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024]', 2);
SELECT * FROM pg_temp.told();
SELECT * FROM public.heard;
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024]', 1);
ALTER TABLE yquota.container_event ADD CHECK (event <> 'CONTAINER_START' OR source <> 'heard') NOT VALID;
-- the text of the error contains the row's number, which differs
\set VERBOSITY terse
SELECT * FROM pg_temp.told();
\set VERBOSITY default
SELECT round, subject, sqlstate, message FROM yquota.scheduler_refusal;
ROLLBACK;

\echo refused calls
SELECT * FROM pg_temp.told('{n1,n9}');
SELECT * FROM pg_temp.told('{n1,NULL}');
SELECT * FROM pg_temp.told(most => -1);
SELECT * FROM yquota.node_heartbeat(NULL);
SET yquota.charging = deferred;
SELECT * FROM pg_temp.told();
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'late', '2026-03-02 10:00+00');
RESET yquota.charging;
SELECT * FROM pg_temp.told();
ROLLBACK;
RESET yquota.charging;
SELECT * FROM pg_temp.told(most => 0);
SELECT * FROM pg_temp.told('{}');
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_scheduler WITH (FORCE);
