-- Queues of reservations below their plans: their place in the hierarchy, their share of the plan,
-- and the applications, containers and preemption in them.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation_queues WITH (FORCE);
CREATE DATABASE yquota_reservation_queues;
\c yquota_reservation_queues
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.node (name, total) SELECT format('n%s', n), '[memory-mb=10240,vcores=10]' FROM generate_series(1, 10) AS n;
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, per_node_heartbeat_maximum_offswitch_assignments) VALUES (1, 100);
INSERT INTO yquota.queue (path, capacity, reservable, show_reservations_as_queues, user_limit_factor, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1), ('root.a', '20', NULL, NULL, 10, 2), ('root.plan', '80', true, true, 2, 3);
COMMIT;

CREATE FUNCTION pg_temp.shares(VARIADIC shares text[]) RETURNS text LANGUAGE sql AS $$
	-- each share is number:share, and the default queue has no number
	DELETE FROM yquota.reservation_queue;
	INSERT INTO yquota.reservation_queue (plan, name, reservation_id, capacity, maximum_capacity)
	SELECT 'root.plan', coalesce('reservation_1_' || nullif(split_part(s, ':', 1), ''), 'plan-default'),
		   'reservation_1_' || nullif(split_part(s, ':', 1), ''), split_part(s, ':', 2)::real, 1
	FROM unnest(shares) AS s;
	SELECT 'shared'
$$;
CREATE TEMPORARY VIEW tree AS
	SELECT drawn, kind, state, capacity AS cap, maximum_capacity AS max, absolute_capacity AS absolute, effective_capacity AS effective, ordinal
	FROM yquota.effective_queue WHERE queue LIKE 'root.plan%' ORDER BY ordinal;
CREATE FUNCTION pg_temp.submit(id text, queue text, reservation text DEFAULT NULL, dry boolean DEFAULT false)
	RETURNS TABLE (queue text, state yquota.application_state, decided_by text, decided_at text, reason text) LANGUAGE sql AS $$
	SELECT s.queue, s.state, s.decided_by, s.decided_at, s.reason
	FROM yquota.submit_application(id, 'ann', '{dev}', queue, project => 'p', unmanaged => true, dry_run => dry, reservation => reservation) AS s
$$;

\echo a plan has only its default queue until the plan follower has made queues
SELECT * FROM tree;
\echo shares change, queues are added and removed; a failed transaction leaves all as it was
SELECT pg_temp.shares('0001:0.1', ':0.9');
SELECT * FROM tree;
UPDATE yquota.reservation_queue SET capacity = 0.25, maximum_capacity = 0.5 WHERE reservation_id IS NOT NULL;
SELECT * FROM tree;
BEGIN;
SELECT pg_temp.shares('0002:0.5', '0003:0', ':0.5');
SELECT * FROM tree;
ROLLBACK;
SELECT * FROM tree;
SELECT pg_temp.shares('0002:0.5');
SELECT * FROM tree;
\echo there are more reservations than vacant places, one after the other
DO $$
BEGIN
	FOR i IN 1..40 LOOP
		PERFORM pg_temp.shares(format('%s:0.5', lpad(i::text, 4, '0')), ':0.5');
		ASSERT (SELECT array_agg(queue ORDER BY queue) FROM yquota.effective_queue WHERE queue LIKE 'root.plan.%')
			= ARRAY['root.plan.plan-default', format('root.plan.reservation_1_%s', lpad(i::text, 4, '0'))];
	END LOOP;
END
$$;
\echo queues of a plan have its limits for users and applications, and its preemption settings
UPDATE yquota.queue SET user_limit_factor = 3, minimum_user_limit_percent = 50, maximum_applications = 100, disable_preemption = true, maximum_am_resource_percent = 0.5,
	ordering_policy = 'priority-utilization', maximum_application_lifetime = 1000 WHERE path = 'root.plan';
SELECT queue, user_limit_factor, minimum_user_limit_percent, maximum_applications, maximum_applications_per_user, maximum_am_resource_percent, maximum_application_lifetime,
	   inherited - '{default_application_lifetime,accessible_node_labels,intra_queue_preemption_disable_preemption,maximum_allocation}'::text[] AS inherited
FROM yquota.effective_queue WHERE queue LIKE 'root.plan%';
UPDATE yquota.queue SET user_limit_factor = 2, minimum_user_limit_percent = NULL, maximum_applications = NULL, disable_preemption = NULL, maximum_am_resource_percent = NULL,
	ordering_policy = NULL, maximum_application_lifetime = NULL WHERE path = 'root.plan';
SELECT queue, maximum_applications, maximum_applications_per_user FROM yquota.effective_queue WHERE queue LIKE 'root.plan.%';
\echo without legacy mode, a queue has its part of each resource of the plan
BEGIN;
UPDATE yquota.scheduler_setting SET legacy_queue_mode_enabled = false;
UPDATE yquota.queue SET capacity = '[memory=80%,vcores=40]' WHERE path = 'root.plan';
SELECT drawn, cap, absolute, effective FROM tree;
ROLLBACK;
\echo absolute amounts
BEGIN;
UPDATE yquota.queue SET capacity = '[memory=20480,vcores=20]' WHERE path = 'root.a';
UPDATE yquota.queue SET capacity = '[memory=81920,vcores=80]' WHERE path = 'root.plan';
SELECT drawn, cap, absolute, effective FROM tree;
ROLLBACK;
\echo a cluster without nodes
BEGIN;
UPDATE yquota.node SET state = 'LOST';
SELECT drawn, cap, absolute, effective FROM tree;
ROLLBACK;

\echo refused rows
INSERT INTO yquota.reservation_queue VALUES ('root.plan', 'reservation_1_0009', 'reservation_1_0009', 1.1, 1);
INSERT INTO yquota.reservation_queue VALUES ('root.plan', 'reservation_1_0009', 'reservation_1_0009', -0.1, 1);
INSERT INTO yquota.reservation_queue VALUES ('root.plan', 'reservation_1_0009', 'reservation_1_0009', 'NaN', 1);
INSERT INTO yquota.reservation_queue VALUES ('root.plan', 'reservation_1_0009', 'reservation_1_0009', 1, 2);
INSERT INTO yquota.reservation_queue VALUES ('root.plan', 'reservation_1_0009', NULL, 1, 1);
INSERT INTO yquota.reservation_queue VALUES ('root.plan', 'x', 'x', 1, 1);
\echo a row for a queue that is not a plan makes no queue
BEGIN;
INSERT INTO yquota.reservation_queue VALUES ('root.a', 'a-default', NULL, 1, 1), ('root.b', 'b-default', NULL, 1, 1);
SELECT queue FROM yquota.effective_queue ORDER BY ordinal;
ROLLBACK;

\echo submissions: to the default queue, to a reservation, and refused
SELECT pg_temp.shares('0001:0.25', '0002:0.25', ':0.5');
SELECT * FROM pg_temp.submit('application_1_0001', 'plan');
SELECT * FROM pg_temp.submit('application_1_0002', 'root.plan');
SELECT * FROM pg_temp.submit('application_1_0003', 'root.plan', 'reservation_1_1', true);
SELECT * FROM pg_temp.submit('application_1_0003', 'plan', 'reservation_1_1');
SELECT * FROM pg_temp.submit('application_1_0004', 'plan', 'reservation_1_0009');
SELECT * FROM pg_temp.submit('application_1_0004', 'plan', 'reservation_1_0002');
SELECT * FROM pg_temp.submit('application_1_0005', 'root.plan.reservation_1_0002');
SELECT * FROM pg_temp.submit('application_1_0006', 'reservation_1_0002');
SELECT * FROM pg_temp.submit('application_1_0007', 'a', 'reservation_1_0009');
SELECT * FROM pg_temp.submit('application_1_0008', 'plan', 'plan-default');
SELECT * FROM pg_temp.submit('application_1_0008', 'plan', '');
SELECT * FROM pg_temp.submit('application_1_0008', 'root.plan.reservation_1_0009');
BEGIN;
UPDATE yquota.queue SET capacity = '10' WHERE path = 'root.a';
INSERT INTO yquota.queue (path, capacity, reservable) VALUES ('root.other', '10', true);
INSERT INTO yquota.reservation_queue VALUES ('root.other', 'reservation_1_0007', 'reservation_1_0007', 1, 1);
SELECT * FROM pg_temp.submit('application_1_0008', 'plan', 'reservation_1_0007');
SELECT * FROM pg_temp.submit('application_1_0008', 'other', 'reservation_1_0007');
ROLLBACK;
SELECT application_id, submitted_queue, reservation_id, queue FROM yquota.application WHERE state <> 'REJECTED' ORDER BY application_id;
SELECT queue_path, outcome, reason FROM yquota.place_application('ann', '{dev}', 'plan');
\echo access lists of the plan hold for its queues
BEGIN;
UPDATE yquota.queue SET acl_submit_applications = ' ' WHERE path IN ('root', 'root.plan');
UPDATE yquota.queue SET acl_administer_queue = 'root' WHERE path = 'root';
UPDATE yquota.scheduler_setting SET acl_enable = true, admin_acl = 'root';
SELECT decided_by, reason FROM pg_temp.submit('application_1_0008', 'plan', 'reservation_1_0002');
SELECT allowed, decided_by FROM yquota.check_queue_access('ann', '{dev}', 'plan-default', 'SUBMIT');
SELECT allowed, decided_by FROM yquota.check_queue_access('root', '{}', 'reservation_1_0002', 'SUBMIT');
ROLLBACK;
\echo the limits of a plan hold for each of its queues, its state for all of them
BEGIN;
UPDATE yquota.queue SET maximum_applications = 2 WHERE path = 'root.plan';
SELECT state, decided_by, decided_at FROM pg_temp.submit('application_1_0008', 'plan');
SELECT state, decided_by, decided_at FROM pg_temp.submit('application_1_0009', 'plan', 'reservation_1_0001');
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.plan';
COMMIT;
SELECT * FROM pg_temp.submit('application_1_0010', 'plan', 'reservation_1_0001');
SELECT drawn, state FROM tree;
UPDATE yquota.queue SET state = 'RUNNING', maximum_applications = NULL WHERE path = 'root.plan';
SELECT drawn, state FROM tree;
\echo a move to the plan goes to its default queue; a move to a reservation names it
SELECT yquota.move_application('application_1_0007', 'plan');
SELECT yquota.move_application('application_1_0009', 'root.plan.reservation_1_0002');
SELECT yquota.move_application('application_1_0009', 'reservation_1_0009');
SELECT application_id, queue FROM yquota.application WHERE application_id IN ('application_1_0007', 'application_1_0009') ORDER BY 1;
\echo a mapping rule may name a queue of a plan, but the plan itself only as in Hadoop
UPDATE yquota.scheduler_setting SET mapping_rule_format = 'json';
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, custom_placement, fallback_result) VALUES ('json', 1, 'user', 'ann', 'custom', 'root.plan', 'skip');
INSERT INTO yquota.mapping_rule (kind, position, type, matches, policy, custom_placement, fallback_result) VALUES ('json', 1, 'user', 'ann', 'custom', 'root.plan.plan-default', 'skip');
SELECT queue, state FROM yquota.submit_application('application_1_0011', 'ann', '{dev}', project => 'p', dry_run => true);
DELETE FROM yquota.mapping_rule;

\echo hidden queues count in their plan
UPDATE yquota.queue SET show_reservations_as_queues = NULL WHERE path = 'root.plan';
SELECT queue, ordinal, drawn, applications, active_applications FROM yquota.effective_queue ORDER BY ordinal;
SELECT queue, active_applications, guaranteed FROM yquota.scheduler_queue ORDER BY queue;
SELECT * FROM pg_temp.submit('application_1_0011', 'plan', 'reservation_1_0001', true);
UPDATE yquota.queue SET show_reservations_as_queues = true WHERE path = 'root.plan';
SELECT queue, active_applications, guaranteed FROM yquota.scheduler_queue ORDER BY queue;

\echo queues of reservations are no part of the configuration
SELECT count(*) FROM regexp_matches(yquota.export_hadoop_configuration()::text, 'reservation_1|plan-default', 'g');
SELECT yquota.remove_unused_queues();
SELECT path, kind FROM yquota_internal.queue_status ORDER BY path;
SELECT queue, property FROM yquota.configuration_advice() WHERE queue LIKE 'root.plan.%';
\echo a plan with containers or applications in its queues must stay a plan
UPDATE yquota.queue SET reservable = NULL WHERE path = 'root.plan';
BEGIN;
UPDATE yquota.queue SET capacity = '100' WHERE path = 'root.a';
DELETE FROM yquota.queue WHERE path = 'root.plan';
COMMIT;
BEGIN;
INSERT INTO yquota.queue (path, capacity) VALUES ('root.plan.b', '100');
UPDATE yquota.queue SET reservable = NULL WHERE path = 'root.plan';
COMMIT;
SELECT count(*) FROM yquota.reservation_queue;

\echo scheduling: the queue of a reservation gets its guarantee
SELECT yquota.finish_application(application_id) FROM yquota.application WHERE state = 'ACTIVE' AND application_id NOT IN ('application_1_0001', 'application_1_0003');
SELECT pg_temp.shares('0001:0.5', ':0.5');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024,vcores=1]', 100);
SELECT queue, count(*) FROM yquota.schedule() GROUP BY queue ORDER BY queue;
SELECT drawn, containers, used, used_capacity FROM yquota.effective_queue ORDER BY ordinal;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.request_containers('application_1_0003', '[memory-mb=1024,vcores=1]', 60);
SELECT count(*) FROM yquota.schedule();
\echo preemption takes the guarantee of the reservation from the default queue, and no more
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true, preemption_total_preemption_per_round = 1, preemption_natural_termination_factor = 1,
	preemption_max_wait_before_kill = 0;
SELECT queue, label, guaranteed, ideal, to_be_preempted FROM yquota.preemption_state WHERE queue LIKE 'root.plan%' ORDER BY queue;
SELECT outcome, queue, count(*) FROM yquota.preempt_containers() GROUP BY 1, 2 ORDER BY 1, 2;
SELECT yquota.set_clock('2026-03-02 10:00:10+00');
SELECT outcome, queue, count(*) FROM yquota.preempt_containers() GROUP BY 1, 2 ORDER BY 1, 2;
SELECT queue, count(*) FROM yquota.schedule() GROUP BY queue ORDER BY queue;
SELECT drawn, containers, used_capacity FROM yquota.effective_queue WHERE queue LIKE 'root.plan%' ORDER BY ordinal;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
\echo after its share was reduced, a reservation keeps its containers until others want the room
SELECT pg_temp.shares('0001:0.1', ':0.9');
SELECT queue, guaranteed, ideal, to_be_preempted FROM yquota.preemption_state WHERE queue LIKE 'root.plan%' ORDER BY queue;
\echo disable_preemption of the plan holds for its queues
UPDATE yquota.queue SET disable_preemption = true WHERE path = 'root.plan';
SELECT queue, disabled, disabled_by FROM yquota.preemption_state WHERE queue LIKE 'root.plan%' ORDER BY queue;
UPDATE yquota.queue SET disable_preemption = NULL WHERE path = 'root.plan';
\echo OPPORTUNISTIC containers of a reservation use nothing of its queue
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = NULL, opportunistic_allocation_enabled = true;
SELECT count(*) FROM yquota.report_nodes(ARRAY(SELECT ROW(n.name, 0, 0, 0, 0, NULL, 3, NULL, NULL, NULL)::yquota.node_report FROM yquota.node AS n));
SELECT decision, queue, count(*), min(execution_type) FROM yquota.allocate_opportunistic('application_1_0003',
	ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 2, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]) GROUP BY 1, 2;
SELECT drawn, containers, used FROM yquota.effective_queue WHERE queue LIKE 'root.plan%' ORDER BY ordinal;
SELECT queue, containers, execution_type FROM yquota.queue_usage ORDER BY queue, execution_type;

\echo a price factor of the plan holds for its queues; a factor of a queue replaces it
INSERT INTO yquota.price_factor (dimension, name, factor, effective_at) VALUES ('queue', 'root.plan', 0.5, '2026-03-02 10:00:20+00');
SELECT yquota.set_clock('2026-03-02 10:00:20+00');
SELECT queue, amount::float FROM yquota.cost_between('2026-03-02 10:00:10+00', '2026-03-02 10:00:20+00', '{queue}') ORDER BY queue;
SELECT yquota.set_clock('2026-03-02 10:00:30+00');
SELECT queue, amount::float FROM yquota.cost_between('2026-03-02 10:00:20+00', '2026-03-02 10:00:30+00', '{queue}') ORDER BY queue;

\echo an empty plan may become a leaf, and then has no queues
INSERT INTO yquota.container_event (event, container_id, project, queue, node, allocation, source)
	SELECT 'CONTAINER_START', 'container_9_0001_01_000001', c.project, c.queue, c.node, c.allocation, 'rm' FROM yquota.container AS c WHERE c.queue LIKE 'root.plan.%' LIMIT 1;
SELECT yquota.finish_application(application_id) FROM yquota.application WHERE state = 'ACTIVE';
UPDATE yquota.queue SET reservable = NULL WHERE path = 'root.plan';
INSERT INTO yquota.container_event (event, container_id) SELECT 'CONTAINER_FINISH', c.container_id FROM yquota.container AS c;
UPDATE yquota.queue SET reservable = NULL WHERE path = 'root.plan';
SELECT queue, kind FROM yquota.effective_queue ORDER BY ordinal;
SELECT count(*) FROM yquota.reservation_queue;
\echo a leaf becomes a plan when it is stopped
UPDATE yquota.queue SET reservable = true WHERE path = 'root.plan';
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.plan';
UPDATE yquota.queue SET reservable = true, state = 'RUNNING' WHERE path = 'root.plan';
SELECT pg_temp.shares('0001:0.5', ':0.5');
SELECT queue, kind FROM yquota.effective_queue ORDER BY ordinal;
\echo another configuration begins without queues of reservations
TRUNCATE yquota.queue CASCADE;
SELECT count(*) FROM yquota.reservation_queue;
\echo the root cannot be a plan
INSERT INTO yquota.queue (path, reservable) VALUES ('root', true);
SELECT * FROM yquota.verify();
