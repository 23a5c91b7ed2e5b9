-- A container that is killed before its application has fetched it is requested again, as in the
-- old request. A container that the application has fetched is not requested again.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_preemption_unfetched WITH (FORCE);
CREATE DATABASE yquota_preemption_unfetched;
\c yquota_preemption_unfetched
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (preemption_total_preemption_per_round, preemption_natural_termination_factor,
	per_node_heartbeat_maximum_offswitch_assignments, scheduler_monitor_enable) VALUES (1, 1, 100, true);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, position) VALUES
	('root', NULL, NULL, 1), ('root.a', '50', 10, 2), ('root.b', '50', 10, 3);
COMMIT;
INSERT INTO yquota.node (name, rack, total) VALUES ('n1', '/r1', '[memory-mb=6144,vcores=6]');
CREATE TEMPORARY VIEW asked AS
	SELECT application_id, priority, resource_name, count, yquota.amount(allocation, 'memory-mb') AS mb, relax_locality, label
	FROM yquota.resource_request ORDER BY 1, 2, resource_name COLLATE "C";

SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 3, priority => 1);
\echo requests for one node, for one rack, and for any node
SELECT yquota.request_containers('application_1_0001', ARRAY[
	ROW('*', '[memory-mb=1024,vcores=1]', 1, 2, -1, false, '', 'GUARANTEED', NULL),
	ROW('/r1', '[memory-mb=1024,vcores=1]', 1, 2, -1, false, NULL, 'GUARANTEED', NULL),
	ROW('n1', '[memory-mb=1024,vcores=1]', 1, 2, -1, true, NULL, 'GUARANTEED', NULL)]::yquota.container_request[]);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 1, priority => 3);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 1, priority => 4);
SELECT count(*) FROM yquota.schedule();
SELECT priority, locality, farthest, count(*) FROM yquota.decision GROUP BY 1, 2, 3 ORDER BY 1;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE priority IN (1, 4)));
\echo the application requests one more container
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 1, priority => 3);
SELECT state FROM yquota.submit_application('application_1_0002', 'bob', '{}', 'b', project => 'p', unmanaged => true);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 3);
SELECT outcome, count(*) FROM yquota.preempt_containers() GROUP BY 1;
SELECT * FROM asked;
SELECT yquota.set_clock('2026-03-02 10:00:15+00');
\echo with preemption_mode advise, the containers may still be fetched
BEGIN;
UPDATE yquota.scheduler_setting SET preemption_mode = 'advise';
SELECT outcome, count(*) FROM yquota.preempt_containers() GROUP BY 1;
SELECT decision, priority FROM yquota.decision WHERE decision <> 'marked' ORDER BY decision_id;
SELECT * FROM asked WHERE priority > 1;
ROLLBACK;
\echo the containers are killed, and requested again
SELECT outcome, count(*) FROM yquota.preempt_containers() GROUP BY 1;
SELECT decision, priority FROM yquota.decision WHERE decision <> 'marked' ORDER BY decision_id;
SELECT * FROM asked;
SELECT * FROM yquota.verify();
\echo the renewed requests get containers again
SELECT application_id, count(*) FROM yquota.schedule() GROUP BY 1;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE application_id = 'application_1_0002'));
SELECT application_id, count(*) FROM yquota.schedule() GROUP BY 1;
SELECT priority, locality, farthest FROM yquota.decision ORDER BY decision_id;
SELECT * FROM asked;
SELECT * FROM yquota.verify();

\echo the renewed request of an application without others makes its user active again
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE application_id = 'application_1_0001'));
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 6, priority => 5);
SELECT count(*) FROM yquota.schedule();
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 1);
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT outcome, count(*) FROM yquota.preempt_containers() GROUP BY 1;
SELECT yquota.set_clock('2026-03-02 10:01:15+00');
SELECT outcome, count(*) FROM yquota.preempt_containers() GROUP BY 1;
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;
SELECT queue, pending FROM yquota.preemption_state ORDER BY 1;
SELECT * FROM yquota.verify();

\echo a container that an allocation kills is requested again, too
UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = true;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.request_containers('application_1_0001', '[]', 0, priority => 5);
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 3, priority => 1);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.request_containers('application_1_0001', ARRAY[
	ROW('*', '[memory-mb=1024,vcores=1]', 2, 2, -1, false, '', 'GUARANTEED', NULL),
	ROW('/r1', '[memory-mb=1024,vcores=1]', 2, 2, -1, false, NULL, 'GUARANTEED', NULL),
	ROW('n1', '[memory-mb=1024,vcores=1]', 2, 2, -1, true, NULL, 'GUARANTEED', NULL)]::yquota.container_request[]);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 1, priority => 3);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT max(decision_id) FROM yquota.decision WHERE priority = 2));
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 3);
SELECT yquota.set_clock('2026-03-02 10:02+00');
SELECT outcome, count(*) FROM yquota.preempt_containers() GROUP BY 1;
SELECT yquota.set_clock('2026-03-02 10:02:15+00');
SELECT outcome, count(*) FROM yquota.preempt_containers() GROUP BY 1;
SELECT decision, priority, count(*) FROM yquota.decision GROUP BY 1, 2 ORDER BY 1, 2;
\echo a dry run renews no request
SELECT decision, application_id FROM yquota.schedule(dry_run => true) ORDER BY 1;
SELECT * FROM asked;
\echo of the three killed containers, the application had fetched one
SELECT decision, application_id FROM yquota.schedule() ORDER BY 1;
SELECT * FROM asked;
SELECT application_id, has_outstanding_requests FROM yquota.application ORDER BY 1;
SELECT decision, priority, count(*) FROM yquota.decision GROUP BY 1, 2 ORDER BY 1, 2;
SELECT * FROM yquota.verify();
\echo the session knows of the renewed requests
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE application_id = 'application_1_0002'));
SELECT decision, application_id, priority FROM yquota.schedule() ORDER BY 1, 2, 3;
SELECT * FROM asked;
SELECT * FROM yquota.verify();

\echo the hierarchy of queues may be built anew while a round is recorded
BEGIN;
INSERT INTO yquota.queue (path, capacity, position) VALUES ('root.c', '0', 4);
INSERT INTO yquota.queue (path, capacity, position) SELECT 'root.c.q' || n, '1w', 4 + n FROM generate_series(1, 1000) AS n;
COMMIT;
CREATE FUNCTION pg_temp.change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE yquota.scheduler_setting SET maximum_applications = coalesce(maximum_applications, 10000) + 1;
	RETURN NULL;
END $$;
UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = NULL;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container));
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
DELETE FROM yquota.resource_request;
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 6, priority => 6);
SELECT count(*) FROM yquota.schedule();
CREATE TRIGGER change AFTER INSERT OR UPDATE ON yquota.resource_request FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.change();
SELECT yquota.request_containers('application_1_0002', '[memory-mb=1024,vcores=1]', 3);
SELECT yquota.set_clock('2026-03-02 10:03+00');
SELECT outcome, queue, count(*) FROM yquota.preempt_containers() GROUP BY 1, 2;
SELECT yquota.set_clock('2026-03-02 10:03:15+00');
SELECT outcome, queue, count(*) FROM yquota.preempt_containers() GROUP BY 1, 2;
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_preemption_unfetched WITH (FORCE);
