-- The order in which containers of an application are preempted: the newest first, or those that
-- have cost least first.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_preemption_candidates WITH (FORCE);
CREATE DATABASE yquota_preemption_candidates;
\c yquota_preemption_candidates
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (scheduler_monitor_enable, preemption_total_preemption_per_round,
	preemption_natural_termination_factor, per_node_heartbeat_maximum_offswitch_assignments) VALUES (true, 1, 1, 100);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, position) VALUES
	('root', NULL, NULL, 1), ('root.a', '50', 10, 2), ('root.b', '50', 10, 3);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=16384,vcores=16]');

CREATE FUNCTION pg_temp.ask(id text, containers integer, mb bigint, priority integer, request_id bigint DEFAULT -1) RETURNS void
	LANGUAGE sql AS $$
	SELECT yquota.request_containers(id, yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), containers,
									 priority => priority, allocation_request_id => request_id)
$$;
CREATE TEMPORARY VIEW round AS
	SELECT replace(container_id, 'container_1_', '') AS container, yquota.amount(allocation, 'memory-mb') AS mb, outcome
	FROM yquota.preempt_containers(dry_run => true);

-- four small old containers, then four new containers that are three times as large
SELECT s.state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true) AS s;
SELECT pg_temp.ask('application_1_0001', 4, 1024, 1);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.set_clock('2026-03-02 10:30+00');
SELECT pg_temp.ask('application_1_0001', 2, 3072, 1, 7);
SELECT count(*) FROM yquota.schedule();
SELECT pg_temp.ask('application_1_0001', 2, 3072, 1);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT s.state FROM yquota.submit_application('application_1_0002', 'bob', '{}', 'b', project => 'p', unmanaged => true) AS s;
SELECT pg_temp.ask('application_1_0002', 1, 2048, 1);
SELECT yquota.set_clock('2026-03-02 11:00+00');
SELECT replace(container_id, 'container_1_', '') AS container, cost FROM yquota.container_cost
	WHERE application_id = 'application_1_0001' ORDER BY container_id;

\echo the order of Hadoop: the larger request id first, then the newest container
TABLE round;
UPDATE yquota.scheduler_setting SET preemption_candidate_order = 'newest';
TABLE round;

\echo least_paid: the containers with the lowest cost first, of equal ones the newest
UPDATE yquota.scheduler_setting SET preemption_candidate_order = 'least_paid';
TABLE round;

\echo a less urgent request comes first, whatever its containers have cost
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE yquota.amount(allocation, 'memory-mb') = 1024));
SELECT pg_temp.ask('application_1_0001', 1, 4096, 5);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT pg_temp.ask('application_1_0002', 1, 2048, 1);
SELECT yquota.set_clock('2026-03-02 20:00+00');
TABLE round;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_preemption_candidates WITH (FORCE);
