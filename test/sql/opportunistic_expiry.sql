--
-- An opportunistic container that does not arrive at its node ends, acknowledged or not, whether a
-- central or a local scheduler allocated it. Containers that ran or were queued stay.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_opportunistic_expiry WITH (FORCE);
CREATE DATABASE yquota_opportunistic_expiry;
\c yquota_opportunistic_expiry
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_anywhere_order, opportunistic_queue_capacity, opportunistic_token_expiry)
VALUES (1, true, 'round_robin', 20, '5 min');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=1024,vcores=1]');
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, 20, NULL, NULL, NULL)::yquota.node_report]);
CREATE FUNCTION c(number bigint) RETURNS text LANGUAGE sql RETURN format('container_1_0001_01_%s', lpad(number::text, 6, '0'));
CREATE FUNCTION acknowledge(first bigint, last bigint) RETURNS bigint LANGUAGE sql AS
	$$ SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE decision = 'allocated' AND container_id BETWEEN c(first) AND c(last))) $$;
CREATE FUNCTION update(number bigint, runs boolean) RETURNS void LANGUAGE sql AS
	$$ INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running) VALUES ('CONTAINER_UPDATE', c(number), yquota.clock(), runs) $$;
CREATE VIEW live AS SELECT right(container_id, 2)::integer AS c, is_running FROM yquota.container ORDER BY 1;

SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 9, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
\echo 1 runs at its node, 2 waits there, by events 3 runs and 4 is paused; 5 and 6 do not arrive, nor do 7 and 8, which nobody acknowledges; 9 ends
SELECT acknowledge(1, 6), acknowledge(9, 9);
SELECT count(*) FROM yquota_internal.awaited_container;
SELECT action, right(container_id, 2) AS c FROM yquota.enqueue_container('n1', c(1));
SELECT action, right(container_id, 2) AS c FROM yquota.enqueue_container('n1', c(2));
SELECT update(3, true), update(4, true);
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT update(4, false);
SELECT right(c, 2) AS released FROM yquota.release_containers(ARRAY[c(9)]) AS c;
SELECT right(container_id, 2) AS c, allocated_at FROM yquota_internal.awaited_container ORDER BY 1;
\echo no container expires before its time is over
SELECT yquota.set_clock('2026-03-02 10:04:59.999+00');
SELECT count(*) FROM yquota.schedule();
SELECT * FROM live;
SELECT yquota.set_clock('2026-03-02 10:05+00');
BEGIN;
SELECT count(*) FROM yquota.schedule(dry_run => true);
SELECT count(*) FROM live;
ROLLBACK;
SELECT count(*) FROM yquota.schedule();
SELECT * FROM live;
SELECT right(container_id, 2) AS c, exit_status, "from", "to", amount FROM yquota.charge WHERE "to" = '2026-03-02 10:05+00' ORDER BY 1;
SELECT decision, right(container_id, 2) AS c, application_id, queue, node, allocation, execution_type, decided_at, diagnostics FROM yquota.decision ORDER BY decision_id;
SELECT count(*) FROM yquota_internal.awaited_container;
\echo a container that arrives too late is refused by its node
SELECT action, diagnostics FROM yquota.enqueue_container('n1', c(5));
SELECT * FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));

\echo containers of local schedulers: some arrive with a later report, some do not arrive
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = true, amrmproxy_enabled = true;
SELECT epoch FROM yquota.lease_nodes('n1');
SELECT accepted, reason FROM yquota.report_distributed_containers('n1', ARRAY(
	SELECT ROW('application_1_0001', (2::bigint << 40) - n, 'n1', '[memory-mb=1024,vcores=1]', 1, 1, NULL, NULL, NULL, NULL)::yquota.distributed_container FROM generate_series(1, 3) AS n));
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision ORDER BY decision_id LIMIT 2));
SELECT action FROM yquota.enqueue_container('n1', (SELECT min(container_id) FROM yquota.container WHERE container_id ~ '_e'));
SELECT count(*) FROM yquota_internal.awaited_container;
SELECT yquota.set_clock('2026-03-02 10:10+00');
SELECT count(*) FROM yquota.node_heartbeat('{n1}');
SELECT container_id, is_running FROM yquota.container WHERE container_id ~ '_e' ORDER BY 1;
SELECT decision, container_id, diagnostics FROM yquota.decision ORDER BY decision_id;
SELECT count(*) FROM yquota_internal.awaited_container;

\echo a container is to be promoted and does not arrive
UPDATE yquota.scheduler_setting SET distributed_scheduling_enabled = false;
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 1, 0, 0, NULL, 20, NULL, NULL, NULL)::yquota.node_report]);
SELECT right(container_id, 2) AS c FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 2, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SELECT right(container_id, 2) AS c, outcome FROM yquota.update_containers('application_1_0001', ARRAY[ROW(c(10), 0, NULL, 'GUARANTEED', 1, 1)::yquota.container_update_request]);
SELECT right(container_id, 2) AS c FROM yquota_internal.awaited_container;
SELECT yquota.set_clock('2026-03-02 10:14+00');
\echo an event promotes the other container
INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type) VALUES ('CONTAINER_UPDATE', c(11), yquota.clock(), 'GUARANTEED');
SELECT yquota.set_clock('2026-03-02 10:15+00');
SELECT count(*) FROM yquota.schedule();
SELECT * FROM live;
SELECT decision, right(container_id, 2) AS c FROM yquota.decision WHERE decision_id > (SELECT max(decision_id) - 1 FROM yquota.decision);
SELECT * FROM yquota.verify();
\c postgres
DROP DATABASE yquota_opportunistic_expiry WITH (FORCE);
