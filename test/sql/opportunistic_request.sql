--
-- Requests for OPPORTUNISTIC containers: outstanding requests, beside GUARANTEED requests, which
-- only the scheduler serves.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic_request WITH (FORCE);
CREATE DATABASE yquota_opportunistic_request;
\c yquota_opportunistic_request
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00+00');
SET timezone = 'UTC';
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent) VALUES (1);
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '50'), ('root.b', '50');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, rack, total) VALUES ('n1', '/r1', '[memory-mb=8192,vcores=8]');
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
SELECT state FROM yquota.submit_application('application_1_0002', 'ann', '{}', 'a', project => 'p', unmanaged => true);
CREATE VIEW request AS
	SELECT right(application_id, 1) AS app, priority AS p, allocation_request_id AS id, left(execution_type::text, 1) AS t, resource_name AS name, count,
		   allocation, label, to_char(first_seen_at, 'HH24:MI:SS') AS seen
	FROM yquota.resource_request ORDER BY application_id, priority, allocation_request_id, execution_type, resource_name;
CREATE FUNCTION pg_temp.ask(name text, count integer, id bigint DEFAULT 1, mb integer DEFAULT 1000, label text DEFAULT NULL, app text DEFAULT '1') RETURNS bigint LANGUAGE sql AS
	$$SELECT yquota.request_containers('application_1_000' || app, format('[memory-mb=%s]', mb)::yquota.resource, count, name, 1, id, true, label, 'OPPORTUNISTIC')$$;

\echo a request is refused while opportunistic allocation is off
SELECT pg_temp.ask('*', 1);
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true, opportunistic_queue_capacity = 10;

\echo a request for * sets the count; the size stays the same
SELECT pg_temp.ask('*', 3);
TABLE request;
SELECT yquota.set_clock('2026-03-02 10:00:05+00');
SELECT pg_temp.ask('*', 2);
TABLE request;

\echo requests for places set them, and remove them with count 0; the total count stays the same
SELECT pg_temp.ask('n1', 2), pg_temp.ask('/r1', 5);
SELECT pg_temp.ask('n1', 1), pg_temp.ask('/r1', 0), pg_temp.ask('n2', 0);
TABLE request;

\echo the first request of a priority and id supplies the count, whatever place it names
SELECT pg_temp.ask('n1', 4, 2, label => 'gpu');
SELECT pg_temp.ask('n2', 7, 2);
SELECT pg_temp.ask('n1', 0, 3);
TABLE request;

\echo one priority and id has one size, unless the request with the other size has count 0
SELECT pg_temp.ask('*', 1, mb => 1001);
SELECT pg_temp.ask('n3', 1, mb => 1001);
SELECT pg_temp.ask('*', 0);
SELECT pg_temp.ask('n3', 2);
TABLE request;
SELECT pg_temp.ask('n4', 2, mb => 1001);
SELECT * FROM request WHERE id = 1;

\echo the same key with another execution type is another request; the scheduler sees only the GUARANTEED one
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1000]', 1, priority => 1, allocation_request_id => 2);
SELECT * FROM request WHERE id = 2;
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;
SELECT pg_temp.ask('*', 9, app => '2');
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;
SELECT * FROM yquota_internal.waiting_request;
BEGIN;
UPDATE yquota.price_group SET count_pending = true WHERE name = 'GENERAL';
SELECT utilization FROM yquota.compute_prices() WHERE price_group = 'GENERAL';
ROLLBACK;
SELECT pending_containers, pending FROM yquota.scheduler_application ORDER BY application_id;
SELECT user_used, queue_used, headroom FROM yquota.headroom('application_1_0002');
SELECT decision, application_id, allocation FROM yquota.schedule();
SELECT * FROM request WHERE id IN (1, 2);
SELECT priority, allocation_request_id, execution_type FROM yquota_internal.request_counter;
SELECT has_outstanding_requests FROM yquota.application ORDER BY application_id;
SELECT count(*) FROM yquota.schedule();

\echo count 0 for * of one execution type leaves the other type
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1000]', 2, priority => 1, allocation_request_id => 2);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1000]', 0, priority => 1, allocation_request_id => 2);
SELECT * FROM request WHERE app = '1' AND id = 2;

\echo requests of both types in one call: all are made or none
SELECT yquota.request_containers('application_1_0002', ARRAY[
	ROW('*', '[memory-mb=1024]', 1, 2, 1, true, NULL, 'GUARANTEED', NULL), ROW('*', '[memory-mb=512]', 2, 2, 1, true, NULL, 'OPPORTUNISTIC', NULL),
	ROW('n1', '[memory-mb=512]', 1, 2, 1, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[]);
SELECT yquota.request_containers('application_1_0002', ARRAY[
	ROW('*', '[memory-mb=1024]', 5, 2, 1, true, NULL, 'GUARANTEED', NULL), ROW('*', '[memory-mb=513]', 2, 2, 1, true, NULL, 'OPPORTUNISTIC', NULL)]::yquota.container_request[]);
SELECT * FROM request WHERE p = 2;

\echo invalid requests
SELECT pg_temp.ask('*', -1);
SELECT pg_temp.ask('', 1);
SELECT pg_temp.ask('*', 1, 9, -1);
SELECT yquota.request_containers('application_1_0002', '[gpus=1]', 1, execution_type => 'OPPORTUNISTIC');
SELECT yquota.request_containers('application_1_0009', '[memory-mb=1]', 1, execution_type => 'OPPORTUNISTIC');
INSERT INTO yquota.resource_request SELECT 'x', 1, 1, '*', 1, '[]', true, '', t.execution_type, t.first_seen_at
FROM (VALUES ('OPPORTUNISTIC'::yquota.execution_type, NULL::timestamptz)) AS t (execution_type, first_seen_at);
\echo a request may be larger than every node
SELECT pg_temp.ask('*', 1, 9, 100000000);

\echo sessions that keep the cluster in memory need not read it again
SELECT count(*) AS noted FROM yquota_internal.scheduler_change
\gset before_
SELECT pg_temp.ask('*', 2, 9, 100000000), pg_temp.ask('n1', 2, 9, 100000000);
SELECT count(*) - :before_noted AS noted FROM yquota_internal.scheduler_change;

\echo off again: open requests stay, and none is added
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = NULL;
SELECT pg_temp.ask('*', 2);
SELECT count(*) FROM request WHERE app = '1';
UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true;

\echo a moved application keeps its requests; an ended one does not
SELECT yquota.move_application('application_1_0001', 'b');
SELECT count(*) FROM request WHERE app = '1';
SELECT * FROM yquota.verify();
SELECT yquota.finish_application('application_1_0001');
SELECT count(*) FROM request WHERE app = '1';
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_opportunistic_request WITH (FORCE);
