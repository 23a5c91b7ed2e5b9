-- Views of queues, nodes and applications, and what the scheduler does when objects are removed,
-- shrink or change.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_scheduler_state WITH (FORCE);
CREATE DATABASE yquota_scheduler_state;
\c yquota_scheduler_state
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, maximum_allocation_mb, node_labels_enabled) VALUES (1, 8192, true);
INSERT INTO yquota.node_label (name) VALUES ('gpu');
INSERT INTO yquota.queue (path, capacity, maximum_capacity, user_limit_factor, accessible_node_labels, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1), ('root.a', '50', '50', 2, '{gpu}', 2), ('root.b', '50', '100', 2, '{gpu}', 3),
	('root.b.c', '100', '100', 2, '{gpu}', 4);
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES ('root', 'gpu', '100'), ('root.a', 'gpu', '50'), ('root.b', 'gpu', '50'), ('root.b.c', 'gpu', '100');
COMMIT;
INSERT INTO yquota.node (name, label, total) VALUES
	('h1', '', '[memory-mb=8192,vcores=8]'), ('h2', '', '[memory-mb=8192,vcores=8]'), ('g1', 'gpu', '[memory-mb=4096,vcores=4]');

CREATE FUNCTION pg_temp.gb(gb integer) RETURNS yquota.resource LANGUAGE sql IMMUTABLE AS $$
	SELECT format('[memory-mb=%s,vcores=1]', gb * 1024)::yquota.resource
$$;
CREATE FUNCTION pg_temp.submit(number integer, queue text, project text, unmanaged boolean) RETURNS yquota.application_state LANGUAGE sql AS $$
	SELECT s.state FROM yquota.submit_application('application_1_000' || number, 'ann', '{}', queue, project => project, am_resource => pg_temp.gb(1), unmanaged => unmanaged) AS s
$$;
CREATE FUNCTION pg_temp.cycle(VARIADIC nodes text[]) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(format('%s %s %s', s.decision, right(s.container_id, 14), s.node), ', '), 'nothing') FROM yquota.schedule(nodes) AS s
$$;
CREATE TEMPORARY VIEW applications AS
	SELECT right(application_id, 1) AS app, queue, waits_for, pending_containers AS pc, pending, reserved_containers AS rc
	FROM yquota.scheduler_application ORDER BY application_id;
CREATE TEMPORARY VIEW queues AS
	SELECT queue, label, used_capacity AS percent, active_applications AS active, pending_applications AS accepted, pending_containers AS pc, used, pending
	FROM yquota.scheduler_queue;
SELECT pg_temp.submit(1, 'a', 'p', true), pg_temp.submit(2, 'c', 'p', false), pg_temp.submit(4, 'c', 'p', true), pg_temp.submit(5, 'a', 'p', true);
\echo the main columns; used_capacity in percent
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(2), 1), yquota.request_containers('application_1_0001', pg_temp.gb(1), 3, priority => 2, label => 'gpu');
SELECT queue, label, used_capacity, active_applications, pending_containers, guaranteed FROM yquota.scheduler_queue;
TABLE queues;
TABLE applications;
SELECT pg_temp.cycle('h1', 'g1', 'h1', 'g1', 'h2');
TABLE queues;
TABLE applications;

\echo a queue at its maximum
SELECT yquota.request_containers('application_1_0005', pg_temp.gb(6), 1);
SELECT pg_temp.cycle('h1', 'h2');
SELECT yquota.request_containers('application_1_0005', pg_temp.gb(1), 1);
TABLE applications;
SELECT decision, application_id, queue, stopped_by FROM yquota.schedule('{h2}', explain => true);
\echo an application whose project does not exist any more
SELECT yquota.request_containers('application_1_0004', pg_temp.gb(1), 2);
UPDATE yquota.application SET project = 'gone' WHERE application_id = 'application_1_0004';
TABLE applications;
SELECT decision, application_id, queue, node, stopped_by FROM yquota.schedule('{h1}', explain => true);
SET yquota.auto_create_project = on;
SELECT app, waits_for FROM applications WHERE app = '4';
RESET yquota.auto_create_project;
UPDATE yquota.application SET project = 'p' WHERE application_id = 'application_1_0004';

\echo all nodes of a label are lost and come back; a node loses its label while containers run on it
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(1), 1, priority => 2, label => 'gpu');
UPDATE yquota.node SET state = 'LOST' WHERE name = 'g1';
SELECT app, waits_for FROM applications WHERE app = '1';
SELECT pg_temp.cycle('g1'), pg_temp.cycle('g1', 'h2');
SELECT pg_temp.cycle('nowhere');
UPDATE yquota.node SET state = 'RUNNING' WHERE name = 'g1';
SELECT app, waits_for FROM applications WHERE app = '1';
SELECT label, containers, allocation FROM yquota.queue_usage WHERE queue = 'root.a' ORDER BY label;
UPDATE yquota.node SET label = '' WHERE name = 'g1';
SELECT label, containers, allocation FROM yquota.queue_usage WHERE queue = 'root.a' ORDER BY label;
SELECT node, label, total, guaranteed, available FROM yquota.scheduler_node WHERE node = 'g1';
SELECT decision, application_id, stopped_by FROM yquota.schedule('{g1}', dry_run => true, explain => true);
SELECT * FROM yquota.verify();
UPDATE yquota.node SET label = 'gpu' WHERE name = 'g1';
\echo a node shrinks below its containers: nothing is assigned there until there is room again
UPDATE yquota.node SET total = '[memory-mb=512,vcores=1]' WHERE name = 'h2';
SELECT node, total, guaranteed, available FROM yquota.scheduler_node WHERE node = 'h2';
SELECT decision, application_id, node, stopped_by, maximum FROM yquota.schedule('{h2}', explain => true);
UPDATE yquota.node SET total = '[memory-mb=8192,vcores=8]' WHERE name = 'h2';
SELECT pg_temp.cycle('h2');
\echo a node is deleted: its containers run until the resource manager reports their end, and use no room of other nodes
DELETE FROM yquota.node WHERE name = 'h2';
SELECT node, total, guaranteed, available FROM yquota.scheduler_node ORDER BY node;
SELECT pg_temp.cycle('h1', 'h2');
SELECT pg_temp.cycle('h1');
SELECT count(*) FROM yquota.node_lost('h2', '2026-03-02 10:00+00');
SELECT node, total, guaranteed, available FROM yquota.scheduler_node ORDER BY node;
SELECT * FROM yquota.verify();

\echo requests that cannot be served, and applications that can get nothing
SELECT yquota.finish_application('application_1_0005');
SELECT yquota.request_containers('application_1_0005', pg_temp.gb(1), 1);
SELECT yquota.update_blacklist('application_1_0005', '{h1}');
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(1), 2147483648);
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(1), 2147483647, priority => 9);
SELECT pending_containers, pending FROM yquota.scheduler_application WHERE application_id = 'application_1_0001';
SELECT yquota.request_containers('application_1_0001', pg_temp.gb(1), 0, priority => 9);
SELECT * FROM yquota.schedule(max_containers => -1);
\echo a request for 0 containers on any node ends the requests for nodes and racks, also in the same call
SELECT yquota.request_containers('application_1_0004', ARRAY[
	ROW('h1', pg_temp.gb(1), 3, 5, NULL, NULL, NULL, NULL, NULL), ROW('*', pg_temp.gb(1), 0, 5, NULL, NULL, NULL, NULL, NULL),
	ROW('/default-rack', pg_temp.gb(1), 3, 5, NULL, NULL, NULL, NULL, NULL)]::yquota.container_request[]);
SELECT resource_name, count FROM yquota.resource_request WHERE application_id = 'application_1_0004' AND priority = 5;
\echo a request for a node alone waits until there is a request for any node
SELECT yquota.request_containers('application_1_0004', pg_temp.gb(1), 1, 'h1', priority => 5);
SELECT yquota.request_containers('application_1_0004', pg_temp.gb(1), 0, priority => 1);
SELECT pg_temp.cycle('h1');
TABLE applications;
SELECT yquota.request_containers('application_1_0004', ARRAY[
	ROW('/default-rack', pg_temp.gb(1), 1, 5, NULL, NULL, NULL, NULL, NULL), ROW('*', pg_temp.gb(1), 1, 5, NULL, NULL, NULL, NULL, NULL)]::yquota.container_request[]);
SELECT pg_temp.cycle('h1');
SELECT * FROM yquota.verify();

\echo queues created automatically are ordered, and order applications, by their templates
DELETE FROM yquota.application;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
BEGIN;
TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user;
INSERT INTO yquota.queue (path, capacity, ordering_policy, auto_queue_creation_v2_enabled, auto_queue_creation_v2_leaf_template, position) VALUES
	('root', NULL, 'priority-utilization', true, '{"ordering-policy": "fair", "priority": "7"}', 1),
	('root.v', '1w', 'utilization', true, '{"ordering-policy": "fair", "ordering-policy.fair.enable-size-based-weight": "true"}', 2);
COMMIT;
UPDATE yquota.node SET label = '', total = '[memory-mb=16384,vcores=16]' WHERE name = 'g1';
SELECT pg_temp.submit(6, 'root.v.one', 'p', true), pg_temp.submit(7, 'root.v.one', 'p', true), pg_temp.submit(8, 'root.other', 'p', true), pg_temp.submit(9, 'root.other', 'p', true);
INSERT INTO yquota.container_event (event, container_id, project, application_id, username, queue, node, allocation)
SELECT 'CONTAINER_START', 'held_' || number, 'p', 'application_1_000' || number, 'ann', queue, 'h1', pg_temp.gb(gb)
FROM (VALUES (6, 'root.v.one', 2), (7, 'root.v.one', 1), (8, 'root.other', 2), (9, 'root.other', 1)) AS held (number, queue, gb);
SELECT yquota.request_containers('application_1_000' || number, pg_temp.gb(1), CASE WHEN number IN (6, 8) THEN 100000 ELSE 1 END)
FROM unnest('{6,7,8,9}'::integer[]) AS number;
-- The larger application asks for a hundred thousand times as much. It comes first with size-based
-- weight, and not without.
SELECT queue, application_id FROM yquota.schedule('{g1}', 1);
SELECT yquota.request_containers('application_1_0009', pg_temp.gb(1), 0), yquota.request_containers('application_1_0008', pg_temp.gb(1), 0);
SELECT queue, application_id FROM yquota.schedule('{g1}', 1, dry_run => true);
UPDATE yquota.queue SET auto_queue_creation_v2_leaf_template = auto_queue_creation_v2_leaf_template || '{"ordering-policy.fair.enable-size-based-weight": "false"}' WHERE path = 'root.v';
SELECT queue, application_id FROM yquota.schedule('{g1}', 1, dry_run => true);
SELECT * FROM yquota.verify();

\echo while cycles run, counters are compacted one call later, after the sessions have seen them
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT count(*) AS deltas FROM yquota_internal.counter_delta;
SELECT count(*) FROM yquota.schedule('{g1}', 1);
SELECT yquota_internal.compact_counters() AS compacted;
SELECT count(*) > 0 AS wait FROM yquota_internal.counter_delta;
SELECT count(*) FROM yquota.schedule('{g1}', 1);
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT count(*) > 0 AS wait FROM yquota_internal.counter_delta;
-- no cycle has run since then
SELECT yquota_internal.compact_counters() > 0 AS compacted;
SELECT count(*) AS deltas FROM yquota_internal.counter_delta;
SELECT * FROM yquota.verify();

\echo triggers see the changes of a cycle as changes by statements
CREATE TABLE seen (relation text, operation text, level text, told text);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.seen VALUES (TG_RELNAME, TG_OP, TG_LEVEL, CASE TG_LEVEL WHEN 'ROW' THEN coalesce(to_jsonb(NEW) ->> TG_ARGV[0], 'none') END);
	RETURN NULL;
END $$;
CREATE TRIGGER see AFTER UPDATE OR DELETE ON yquota.resource_request FOR EACH ROW EXECUTE FUNCTION see('count');
CREATE TRIGGER see_statement AFTER UPDATE OR DELETE ON yquota.resource_request FOR EACH STATEMENT EXECUTE FUNCTION see();
CREATE TRIGGER see AFTER INSERT OR UPDATE ON yquota_internal.application_attempt FOR EACH ROW EXECUTE FUNCTION see('next_container');
CREATE TRIGGER see AFTER UPDATE ON yquota.application FOR EACH ROW EXECUTE FUNCTION see('has_outstanding_requests');
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
DELETE FROM yquota.resource_request;
SELECT yquota.request_containers('application_1_0006', pg_temp.gb(1), 4), yquota.request_containers('application_1_0008', pg_temp.gb(1), 2);
SELECT pg_temp.submit(10, 'root.v.one', 'p', false);
TRUNCATE seen;
SELECT count(*) FROM yquota.schedule('{g1}');
SELECT count(*) FROM yquota.schedule('{g1}');
SELECT count(*) FROM yquota.schedule('{g1}');
SELECT * FROM seen ORDER BY relation, operation, level, told;
ALTER TABLE yquota.resource_request ADD CONSTRAINT many CHECK (count > 3) NOT VALID;
SELECT count(*) FROM yquota.schedule();
ALTER TABLE yquota.resource_request DROP CONSTRAINT many;
SELECT * FROM yquota.verify();

\echo a master that starts on a node reserved for it gets the reserved container
SET client_min_messages = warning;
DELETE FROM yquota.application;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
INSERT INTO yquota.container_event (event, container_id, project, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'large', 'p', 'ann', 'root.other', 'g1', pg_temp.gb(15)), ('CONTAINER_START', 'small', 'p', 'ann', 'root.other', 'h1', pg_temp.gb(7));
SELECT state FROM yquota.submit_application('application_1_0011', 'ann', '{}', 'root.other', project => 'p', am_resource => pg_temp.gb(2));
SELECT decision, container_id FROM yquota.schedule();
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'large');
SELECT decision, container_id FROM yquota.schedule();
SELECT am_container_id, next_container FROM yquota_internal.application_attempt WHERE application_id = 'application_1_0011';
SELECT yquota.request_containers('application_1_0011', pg_temp.gb(1), 1);
SELECT decision, container_id FROM yquota.schedule();

\echo limits of application masters follow the present use of other queues
SELECT queue, am_limit FROM yquota.effective_queue WHERE kind = 'leaf' ORDER BY queue;
INSERT INTO yquota.container_event (event, container_id, project, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'elsewhere', 'p', 'bob', 'root.v.one', 'g1', pg_temp.gb(12));
SELECT queue, am_limit FROM yquota.effective_queue WHERE kind = 'leaf' ORDER BY queue;
INSERT INTO yquota.node (name, total) VALUES ('g2', '[memory-mb=16384,vcores=16]');
SELECT queue, am_limit FROM yquota.effective_queue WHERE kind = 'leaf' ORDER BY queue;
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'elsewhere');
SELECT queue, am_limit FROM yquota.effective_queue WHERE kind = 'leaf' ORDER BY queue;
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_scheduler_state WITH (FORCE);
