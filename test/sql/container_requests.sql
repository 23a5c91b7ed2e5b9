-- Requests of application masters: how they are rounded and replaced, and why they are refused.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_container_requests WITH (FORCE);
CREATE DATABASE yquota_container_requests;
\c yquota_container_requests
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.node_label (name) VALUES ('gpu'), ('ssd');
INSERT INTO yquota.scheduler_setting (node_labels_enabled, maximum_allocation_mb, maximum_allocation_vcores) VALUES (true, 8192, 8);
INSERT INTO yquota.queue (path, capacity, maximum_allocation_mb, accessible_node_labels, default_node_label_expression, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1),
	('root.a', '50', 4096, '{gpu}', NULL, 2),
	('root.b', '50', NULL, '{gpu,ssd}', 'gpu', 3);
INSERT INTO yquota.queue_label (queue, label, capacity) VALUES
	('root.a', 'gpu', '50'), ('root.b', 'gpu', '50'), ('root.b', 'ssd', '100');
COMMIT;
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=8192,vcores=8]' FROM generate_series(1, 3) AS i;

CREATE TEMPORARY VIEW asked AS
	SELECT application_id, priority AS p, allocation_request_id AS id, resource_name AS name, count, allocation, relax_locality AS relaxed, label
	FROM yquota.resource_request ORDER BY 1, 2, 3, 4;
CREATE FUNCTION pg_temp.submit(id text, queue text, unmanaged boolean DEFAULT true) RETURNS yquota.application_state
	LANGUAGE sql AS $$
	SELECT s.state FROM yquota.submit_application(id, 'ann', '{}', queue, project => 'p', unmanaged => unmanaged) AS s
$$;
SELECT pg_temp.submit('application_1_0001', 'a'), pg_temp.submit('application_1_0002', 'b'),
	   pg_temp.submit('application_1_0003', 'b', false), pg_temp.submit('application_1_0004', 'a');
SELECT application_id, state, has_outstanding_requests FROM yquota.application ORDER BY 1;

\echo a request is rounded up to whole steps of the minimum allocation, and is at least one step; the default calculator gives one core
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1000,vcores=3]', 3);
SELECT yquota.request_containers('application_1_0001', '[]', 1, priority => 2);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1025]', 1, priority => 3);
SELECT * FROM asked;
\echo a row replaces the request with its priority, id and name
SELECT yquota.request_containers('application_1_0001', '[memory-mb=4096]', 5, relax_locality => false);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=4096]', 2, allocation_request_id => 7);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=2048]', 4, 'n1');
SELECT * FROM asked;
\echo a request for no containers anywhere ends all requests of that priority and id
SELECT yquota.request_containers('application_1_0001', '[]', 0);
SELECT * FROM asked;
\echo several requests in one call: the last one of a name counts; also as JSON
SELECT yquota.request_containers('application_1_0001', ARRAY[
	ROW('n1', '[memory-mb=1024]', 2, 5, NULL, NULL, NULL, NULL, NULL), ROW('/rack', '[memory-mb=1024]', 2, 5, NULL, false, ' ', NULL, NULL),
	ROW(NULL, '[memory-mb=1024]', 9, 5, NULL, NULL, NULL, NULL, NULL), ROW('*', '[memory-mb=1024]', 4, 5, NULL, NULL, ' gpu ', NULL, NULL)]::yquota.container_request[]);
SELECT yquota.request_containers('application_1_0001', ARRAY(
	SELECT jsonb_populate_record(NULL::yquota.container_request, r)
	FROM jsonb_array_elements('[{"allocation": "[memory-mb=2Gi]", "count": 3, "priority": 9}]') AS r));
SELECT * FROM asked;
\echo the default label of the queue
SELECT yquota.request_containers('application_1_0002', '[memory-mb=8192]', 1);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024]', 1, label => '', priority => 2);

\echo the label of the submission comes before the label of the queue
BEGIN;
UPDATE yquota.application SET node_label_expression = '' WHERE application_id = 'application_1_0002';
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024]', 1, priority => 3);
SELECT p, label FROM asked WHERE application_id = 'application_1_0002';
ROLLBACK;
SELECT * FROM asked WHERE application_id = 'application_1_0002';
\echo a user without outstanding requests is not active
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;
SELECT yquota.request_containers('application_1_0004', '{}');
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;

\echo blacklists
SELECT yquota.update_blacklist('application_1_0001', '{n1,n2,/rack}', '{n2}');
SELECT yquota.update_blacklist('application_1_0001', '{n1}');
TABLE yquota.blacklist;

\echo a refused call changes nothing
SELECT yquota.request_containers('application_1_0009', '[memory-mb=1024]', 1);
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024]', 1);
SELECT yquota.request_containers(NULL, '[memory-mb=1024]', 1);
SELECT yquota.request_containers('application_1_0001', NULL::yquota.container_request[]);
SELECT yquota.request_containers('application_1_0001', '{NULL}'::yquota.container_request[]);
SELECT yquota.request_containers('application_1_0001', NULL, 1);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', NULL);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', -1);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 3000000000);
SELECT yquota.request_containers('application_1_0001', ARRAY(
	SELECT jsonb_populate_record(NULL::yquota.container_request, '{"allocation": "[memory-mb=1024]", "count": 3000000000}')));
SELECT yquota.request_containers('application_1_0001', '[memory-mb=-1]', 1);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=4097]', 1);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=9]', 1);
SELECT yquota.request_containers('application_1_0001', '[tpu=1]', 1);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1, label => 'ssd');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1, label => 'gpu && ssd');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1, label => 'none');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1, 'n1', label => 'gpu');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1, '');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1, repeat('n', 256));
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1, execution_type => 'OPPORTUNISTIC');
SELECT yquota.request_containers('application_1_0001', ARRAY[
	ROW('*', '[memory-mb=1024]', 7, 8, NULL, NULL, NULL, NULL, NULL), ROW('*', '[memory-mb=1024]', -7, 8, NULL, NULL, NULL, NULL, NULL)]::yquota.container_request[]);
SELECT yquota.update_blacklist('application_1_0001', '{*}');
SELECT yquota.update_blacklist('application_1_0001', '{n3,""}');
SELECT yquota.update_blacklist('application_1_0009', '{n1}');
SELECT * FROM asked WHERE p = 8;
TABLE yquota.blacklist;

\echo the requests go with the application
SELECT yquota.finish_application('application_1_0001');
DELETE FROM yquota.application WHERE application_id = 'application_1_0002';
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 1);
SELECT * FROM asked;
TABLE yquota.blacklist;

\echo an application releases containers
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation) VALUES
	('CONTAINER_START', 'c1', '2026-03-02 09:00+00', 'p', 'application_1_0004', 'ann', 'root.a', 'n1', '[memory-mb=1024]'),
	('CONTAINER_START', 'c2', '2026-03-02 10:01+00', 'p', 'application_1_0004', 'ann', 'root.a', 'n1', '[memory-mb=1024]');
SELECT yquota.release_containers('{c2,c1,c3}');
SELECT yquota.release_containers('{c2,c1,c3}');
SELECT container_id, "from", "to", exit_status FROM yquota.charge ORDER BY 1;
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_container_requests WITH (FORCE);
