-- Preemption on the tables: the rows that a round reads and writes, its marks and decisions, and
-- all refusals.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_preemption WITH (FORCE);
CREATE DATABASE yquota_preemption;
\c yquota_preemption
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p'), ('q');
INSERT INTO yquota.charging_rule (effective_at, free_before_preemption) VALUES ('-infinity', '1 minute');
BEGIN;
INSERT INTO yquota.scheduler_setting (preemption_total_preemption_per_round, preemption_natural_termination_factor,
	per_node_heartbeat_maximum_offswitch_assignments, maximum_am_resource_percent) VALUES (1, 1, 100, 1);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, position) VALUES
	('root', NULL, NULL, 1), ('root.a', '50', 10, 2), ('root.b', '50', 10, 3);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=8192,vcores=8]'), ('n2', '[memory-mb=8192,vcores=8]');

CREATE FUNCTION pg_temp.submit(id text, username text, queue text, containers integer, mb bigint DEFAULT 1024, project text DEFAULT 'p') RETURNS bigint
	LANGUAGE sql AS $$
	SELECT s.state FROM yquota.submit_application(id, username, '{}', queue, project => project, unmanaged => true) AS s;
	SELECT yquota.request_containers(id, yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), containers)
$$;
-- run a round and show its result briefly
CREATE FUNCTION pg_temp.round(dry boolean DEFAULT false, at timestamptz DEFAULT NULL, explain boolean DEFAULT false)
	RETURNS TABLE (outcome text, container text, queue text, node text, mb bigint, selector text, marked text, killed text, reason text)
	LANGUAGE sql AS $$
	SELECT p.outcome, replace(p.container_id, 'container_1_', ''), p.queue, p.node, yquota.amount(p.allocation, 'memory-mb'), p.selector,
		   to_char(p.marked_at, 'MI:SS'), to_char(p.killed_at, 'MI:SS'), p.reason
	FROM yquota.preempt_containers(at, dry, explain) AS p
$$;
CREATE TEMPORARY VIEW told AS
	SELECT decision, replace(container_id, 'container_1_', '') AS container, queue, node, yquota.amount(allocation, 'memory-mb') AS mb,
		   to_char(decided_at, 'MI:SS') AS decided, advised FROM yquota.decision ORDER BY decision_id;
CREATE TEMPORARY VIEW marks AS
	SELECT replace(container_id, 'container_1_', '') AS container, to_char(marked_at, 'MI:SS') AS marked, queue, selector, is_killable, is_advised,
		   to_char(told_at, 'MI:SS') AS told FROM yquota.preemption_mark ORDER BY container_id;

CREATE TEMPORARY VIEW reasons AS
	SELECT replace(container_id, 'container_1_', '') AS container, project, application_id, username, queue, node, label, yquota.amount(allocation, 'memory-mb') AS mb,
		   to_char(marked_at, 'MI:SS') AS marked, to_char(killed_at, 'MI:SS') AS killed, is_advised, selector, used, guaranteed, ideal, to_be_preempted,
		   actually_to_be_preempted, needed_by_application, needed_by_queue FROM yquota.preempted_container ORDER BY killed_at, container_id;

\echo preemption is off by either property; a what-if turns it on
SELECT pg_temp.submit('application_1_0001', 'ann', 'a', 16);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT pg_temp.submit('application_1_0002', 'bob', 'b', 2, 2048);
SELECT * FROM pg_temp.round();
SELECT queue, disabled, disabled_by FROM yquota.preemption_state;
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true, scheduler_monitor_policies = '{org.example.ProportionalCapacityPreemptionPolicyOfMine}';
SELECT * FROM pg_temp.round();
BEGIN;
UPDATE yquota.scheduler_setting SET scheduler_monitor_policies = '{org.example.Other,org.example.ProportionalCapacityPreemptionPolicy}';
SELECT count(*) FROM pg_temp.round(true);
ROLLBACK;
SELECT count(*) FROM yquota_internal.preemption_round;
UPDATE yquota.scheduler_setting SET scheduler_monitor_policies = NULL;

\echo the figures of the queues, and a dry run, which is not recorded
\x
SELECT * FROM yquota.preemption_state WHERE queue <> 'root';
SELECT * FROM yquota.preempt_containers(dry_run => true) LIMIT 1;
\x
SELECT * FROM pg_temp.round(true);
SELECT (SELECT count(*) FROM yquota.preemption_mark) AS marks, (SELECT count(*) FROM yquota.decision) AS decisions,
	   (SELECT count(*) FROM yquota_internal.preemption_round) AS rounds;

\echo the first round may be at any time; with the longest interval there is only one round
BEGIN;
SELECT outcome, marked, count(*) FROM pg_temp.round(at => '2000-01-01 00:00+00') GROUP BY 1, 2;
SELECT outcome, marked, count(*) FROM pg_temp.round(at => '2000-01-01 00:00:14+00') GROUP BY 1, 2;
SELECT outcome, marked, count(*) FROM pg_temp.round(at => '2000-01-01 00:00:15+00') GROUP BY 1, 2;
ROLLBACK;
BEGIN;
UPDATE yquota.scheduler_setting SET preemption_monitoring_interval = 9223372036854775807;
SELECT yquota_internal.worker_preempt(yquota.clock());
SELECT yquota.set_clock('2027-03-02 10:00+00');
SELECT yquota_internal.worker_preempt(yquota.clock());
ROLLBACK;

\echo containers are marked, wait, and are killed when the wait is over; a repeated round does nothing
SELECT * FROM pg_temp.round();
SELECT * FROM pg_temp.round();
SELECT * FROM marks;
SELECT * FROM yquota.preemption_message('application_1_0001');
SELECT * FROM yquota.preemption_message('application_1_0002');
SELECT yquota.set_clock('2026-03-02 10:00:14.999+00');
SELECT * FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:20+00');
SELECT * FROM pg_temp.round(at => '2026-03-02 10:00:15+00');
SELECT * FROM marks;
SELECT * FROM told;
SELECT * FROM reasons;
SELECT replace(container_id, 'container_1_', '') AS container, exit_status, "to" FROM yquota.charge ORDER BY 1;
SELECT source, exit_status, count(*) FROM yquota.container_event WHERE event = 'CONTAINER_FINISH' GROUP BY 1, 2;
SELECT replace(container_id, 'container_1_', '') AS container, node FROM yquota.schedule();
SELECT * FROM pg_temp.round(explain => true);
SELECT * FROM yquota.verify();

\echo a killed container may be voided and started again; a container that was given out may be voided
BEGIN;
SELECT count(*) FROM yquota.void_events((SELECT min(container_id) FROM yquota.decision WHERE decision = 'killed'), 'wrong');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, priority)
SELECT 'CONTAINER_START', min(container_id), '2026-03-02 10:00+00', 'p', 'application_1_0001', 'ann', 'root.a', 'n2', '[memory-mb=1024,vcores=1]', 1
FROM yquota.decision WHERE decision = 'killed';
SELECT count(*) FROM yquota.void_events((SELECT min(container_id) FROM yquota.decision WHERE decision = 'allocated'), 'wrong');
SELECT * FROM yquota.verify();
\echo a container that is killed again has only the new reason
UPDATE yquota.scheduler_setting SET preemption_max_wait_before_kill = 0;
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048]', 1);
SELECT yquota.set_clock('2026-03-02 10:00:21+00');
SELECT outcome, container, node FROM pg_temp.round();
SELECT yquota.set_clock('2026-03-02 10:00:22+00');
SELECT outcome, container, node FROM pg_temp.round();
SELECT container, node, marked, killed FROM reasons ORDER BY 1;
ROLLBACK;

\echo times of rounds
SELECT pg_temp.round(at => '2026-03-02 10:00:19.999+00');
SELECT pg_temp.round(true, '2026-03-02 10:00:19.999+00');
SELECT pg_temp.round(at => '2026-03-02 10:00:20.001+00');
SELECT pg_temp.round(at => 'infinity');
SELECT pg_temp.round(at => '-infinity');
SELECT yquota.set_clock('2026-03-02 10:00:05+00');
SELECT pg_temp.round();

\echo decisions about ending containers stay until they are acknowledged, and end nothing
SELECT yquota.set_clock('2026-03-02 11:00+00');
SELECT count(*) FROM yquota.schedule();
SELECT decision, count(*) FROM yquota.decision GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.decision));
SELECT decision, count(*) FROM yquota.decision GROUP BY 1 ORDER BY 1;
\echo after an hour an alert reports them, until the last one is acknowledged
SELECT yquota_internal.watch_decisions('2026-03-02 11:00+00');
SELECT count(*) FROM yquota.alert;
SELECT yquota_internal.watch_decisions('2026-03-02 11:00:00.001+00');
SELECT yquota_internal.watch_decisions('2026-03-02 11:01+00');
SELECT kind, subject, detail, raised_at, cleared_at FROM yquota.alert;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));

SELECT yquota_internal.watch_decisions('2026-03-02 11:02+00');
SELECT kind, cleared_at FROM yquota.alert;

\echo marks are forgotten after two waits; then a container is marked anew
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048]', 1);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 16);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0001', '[]', 0);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048]', 1);
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT yquota.set_clock('2026-03-02 11:00:30+00');
SELECT * FROM pg_temp.round();
SELECT count(*) FROM marks;
SELECT yquota.set_clock('2026-03-02 11:00:30.001+00');
SELECT * FROM pg_temp.round();
SELECT count(*) FROM marks;
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048]', 1);
SELECT outcome, count(*) FROM pg_temp.round(true) GROUP BY 1;
SELECT yquota.set_clock('2026-03-02 11:00:31+00');
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
SELECT decision, count(*) FROM yquota.decision WHERE decision = 'marked' GROUP BY 1;

\echo marks of ended containers are not shown, and go with the next round
SELECT value = (SELECT count(*) FROM marks) AS all_wait FROM yquota.metrics WHERE metric = 'yquota_preemption_containers_waiting';
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT container_id FROM yquota.preemption_mark));
SELECT count(*) FROM marks;
SELECT value FROM yquota.metrics WHERE metric = 'yquota_preemption_containers_waiting';
SELECT count(*) FROM yquota.preemption_message('application_1_0001');
SELECT count(*) FROM yquota_internal.preemption_mark;
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT yquota.set_clock('2026-03-02 11:00:32+00');
SELECT * FROM pg_temp.round();
SELECT count(*) FROM yquota_internal.preemption_mark;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));

\echo with observe-only nothing is marked
UPDATE yquota.scheduler_setting SET preemption_observe_only = true;
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 16);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0001', '[]', 0);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048]', 2);
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.set_clock('2026-03-02 11:01+00');
SELECT * FROM pg_temp.round();
SELECT count(*) FROM marks;
UPDATE yquota.scheduler_setting SET preemption_observe_only = NULL;

\echo a negative wait kills no container, because marks do not outlive their round
BEGIN;
UPDATE yquota.scheduler_setting SET preemption_max_wait_before_kill = -1;
SELECT yquota.set_clock('2026-03-02 11:01:01+00');
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
SELECT yquota.set_clock('2026-03-02 11:01:02+00');
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
SELECT decision, count(*) FROM yquota.decision GROUP BY 1;
\echo an infinite wait kills no container either
UPDATE yquota.scheduler_setting SET preemption_max_wait_before_kill = 9223372036854775807;
SELECT yquota.set_clock('2036-03-02 11:01+00');
SELECT outcome, min(kill_at), count(*) FROM yquota.preempt_containers() GROUP BY 1;
\echo with a negative budget no container is selected
UPDATE yquota.scheduler_setting SET preemption_total_preemption_per_round = -3e38;
SELECT outcome, count(*) FROM pg_temp.round(true) GROUP BY 1;
ROLLBACK;

\echo preemption is disabled for a parent queue, and enabled for its child
UPDATE yquota.queue SET disable_preemption = true WHERE path = 'root';
SELECT queue, disabled, disabled_by, untouchable FROM yquota.preemption_state;
SELECT * FROM pg_temp.round(true, explain => true);
UPDATE yquota.queue SET disable_preemption = false WHERE path = 'root.a';
SELECT queue, disabled, disabled_by, untouchable FROM yquota.preemption_state;
SELECT outcome, count(*) FROM pg_temp.round(true) GROUP BY 1;
UPDATE yquota.queue SET disable_preemption = NULL;

\echo the resource manager ends the containers itself
UPDATE yquota.scheduler_setting SET preemption_mode = 'advise';
SELECT yquota.set_clock('2026-03-02 11:02+00');
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
SELECT yquota.set_clock('2026-03-02 11:02:15+00');
SELECT outcome, container, reason FROM pg_temp.round();
SELECT * FROM told WHERE decision = 'killed';
SELECT container, is_advised, told FROM marks;
SELECT container, marked, killed, is_advised, used FROM reasons WHERE is_advised;
SELECT count(*) FROM yquota.container;
\echo advised containers count as gone, and are not selected again
SELECT queue, used FROM yquota.preemption_state;
SELECT yquota.set_clock('2026-03-02 11:02:31+00');
SELECT * FROM pg_temp.round();
INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status)
SELECT 'CONTAINER_FINISH', min(container_id), yquota.clock(), -102 FROM yquota.preemption_mark;
\echo a container that does not end in time has an alert, and is selected again
SELECT yquota.set_clock('2026-03-02 11:12:15+00');
\echo time in which the server did not run does not count
BEGIN;
UPDATE yquota_internal.preemption_round SET server_started_at = server_started_at - interval '1 second';
SELECT count(*) FROM pg_temp.round();
SELECT count(*) FROM yquota.alert WHERE kind = 'preemption_ignored';
SELECT * FROM marks;
ROLLBACK;
SELECT outcome, container FROM pg_temp.round();
SELECT kind, replace(subject, 'container_1_', '') AS subject, detail, cleared_at FROM yquota.alert;
SELECT * FROM marks;
\echo after the mode has changed to kill, a container that was advised before has the reason of its end
BEGIN;
UPDATE yquota.scheduler_setting SET preemption_mode = 'kill';
SELECT yquota.set_clock('2026-03-02 11:12:30+00');
SELECT outcome, container FROM pg_temp.round();
SELECT container, marked, killed, is_advised FROM reasons WHERE killed > '02:00';
ROLLBACK;
SELECT count(*) FROM yquota.release_containers(ARRAY(SELECT subject FROM yquota.alert));
SELECT yquota.set_clock('2026-03-02 11:12:16+00');
UPDATE yquota.scheduler_setting SET preemption_mode = NULL;
SELECT outcome, container FROM pg_temp.round();
SELECT kind, cleared_at FROM yquota.alert WHERE kind = 'preemption_ignored' GROUP BY 1, 2;
DELETE FROM yquota.preemption_mark;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));

\echo lazy preemption
UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = true;
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 16);
SELECT yquota.request_containers('application_1_0002', '[]', 0);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0001', '[]', 0);
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048]', 2);
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.set_clock('2026-03-02 11:20+00');
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
SELECT yquota.set_clock('2026-03-02 11:20:15+00');
SELECT outcome, killed, count(*) FROM pg_temp.round() GROUP BY 1, 2;
SELECT decision, count(*) FROM yquota.decision GROUP BY 1 ORDER BY 1;
SELECT is_killable, told, count(*) FROM marks GROUP BY 1, 2;
SELECT yquota.set_clock('2026-03-02 11:21+00');
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
SELECT count(*) FROM marks;
\echo without lazy preemption, killable containers end when they are selected again
UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = NULL;
SELECT outcome, count(*) FROM pg_temp.round(true, explain => true) GROUP BY 1;
DELETE FROM yquota.preemption_mark;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));

\echo a reservation of a queue that must give up resources is cancelled
SELECT yquota.request_containers('application_1_0002', '[]', 0);
INSERT INTO yquota.node (name, total) VALUES ('n3', '[memory-mb=4096,vcores=8]'), ('n4', '[memory-mb=4096,vcores=8]');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=2048]', 2);
SELECT decision, node FROM yquota.schedule('{n3}', 1) UNION ALL SELECT decision, node FROM yquota.schedule('{n4}', 1);
SELECT yquota.request_containers('application_1_0001', '[memory-mb=3072]', 1);
SELECT decision, node FROM yquota.schedule();
SELECT yquota.request_containers('application_1_0002', '[memory-mb=2048]', 2);
SELECT node, replace(container_id, 'container_1_', '') AS container FROM yquota.reserved_container;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
SELECT yquota.set_clock('2026-03-02 11:22+00');
SELECT outcome, container, node, mb, selector FROM pg_temp.round();
SELECT * FROM yquota.reserved_container;
SELECT * FROM told;
SELECT * FROM marks;
SELECT * FROM yquota.verify();
DELETE FROM yquota.preemption_mark;
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));

\echo verify() checks marks and kills
BEGIN;
INSERT INTO yquota.preemption_mark (container_id, marked_at, application_id, queue, selector)
SELECT c.container_id, '2026-03-02 11:22:00.001+00', c.application_id, 'root.a', 'fifo' FROM yquota.container AS c ORDER BY 1 LIMIT 1;
INSERT INTO yquota.preemption_mark (container_id, marked_at, application_id, queue, selector) VALUES
	('container_1_0001_01_999999', '2026-03-02 10:22+00', 'application_1_0001', 'root.a', 'fifo'),
	('container_1_0001_01_999998', '2026-03-02 10:21:59+00', 'application_1_0001', 'root.a', 'fifo');
INSERT INTO yquota.preempted_container (container_id, project, application_id, queue, node, label, allocation, killed_at, is_advised)
SELECT c.container_id, c.project, c.application_id, 'root.a', c.node, '', c.allocation, '2026-03-02 11:22+00', k.advised
FROM (SELECT * FROM yquota.container ORDER BY container_id LIMIT 2) AS c CROSS JOIN LATERAL (SELECT c.container_id <> min(o.container_id) AS advised FROM yquota.container AS o) AS k;
SELECT * FROM yquota.verify() ORDER BY 1, 2;
ROLLBACK;

\echo rounds in transactions without a kept cluster, and in read-only ones
SELECT yquota.set_clock('2026-03-02 11:23+00');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SAVEPOINT s;
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;
ROLLBACK;
BEGIN READ ONLY;
SELECT outcome, count(*) FROM pg_temp.round(true) GROUP BY 1;
SELECT count(*) FROM yquota.preemption_state;
SELECT pg_temp.round();
ROLLBACK;
SET yquota.charging = 'deferred';
SELECT pg_temp.round();
RESET yquota.charging;

\echo a setting that Hadoop refuses is refused at commit, and in a round before the commit
UPDATE yquota.scheduler_setting SET intra_queue_preemption_preemption_order_policy = 'newest_first';
BEGIN;
UPDATE yquota.scheduler_setting SET intra_queue_preemption_preemption_order_policy = '';
SELECT pg_temp.round();
ROLLBACK;
UPDATE yquota.scheduler_setting SET intra_queue_preemption_preemption_order_policy = 'Priority_First';
\echo Hadoop does not read the setting while there are no rounds
BEGIN;
UPDATE yquota.scheduler_setting SET intra_queue_preemption_preemption_order_policy = 'newest_first', scheduler_monitor_enable = false;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT outcome FROM pg_temp.round();
SELECT count(*) FROM yquota.preemption_state;
SET CONSTRAINTS ALL DEFERRED;
UPDATE yquota.scheduler_setting SET scheduler_monitor_enable = true;
COMMIT;
UPDATE yquota.scheduler_setting SET intra_queue_preemption_preemption_order_policy = NULL;
\echo numbers with which Hadoop computes get advice; values that are no numbers are refused
\set VERBOSITY terse
UPDATE yquota.scheduler_setting SET preemption_total_preemption_per_round = 'NaN';
UPDATE yquota.scheduler_setting SET preemption_max_ignored_over_capacity = 'infinity';
\set VERBOSITY default
BEGIN;
UPDATE yquota.scheduler_setting SET preemption_monitoring_interval = -1, preemption_max_wait_before_kill = -1,
	preemption_total_preemption_per_round = 1.5, preemption_max_ignored_over_capacity = -0.25, preemption_natural_termination_factor = 2,
	preemption_balance_after_satisfied_max_wait_before_kill = 0, intra_queue_preemption_minimum_threshold = -1e-30,
	intra_queue_preemption_max_allowable_limit = 3e38;
SELECT replace(property, 'yarn.resourcemanager.monitor.capacity.preemption.', '') AS property, value, advice
FROM yquota.configuration_advice() WHERE property LIKE '%.preemption.%';
SELECT yquota_internal.preemption_interval() IS NULL AS no_rounds;
ROLLBACK;
\echo a commit warns only of the columns that it changes
UPDATE yquota.scheduler_setting SET preemption_monitoring_interval = 0;
UPDATE yquota.scheduler_setting SET preemption_observe_only = false, preemption_monitoring_interval = 0;
UPDATE yquota.scheduler_setting SET preemption_observe_only = NULL, preemption_natural_termination_factor = 2;
UPDATE yquota.scheduler_setting SET preemption_natural_termination_factor = 1, preemption_monitoring_interval = NULL;

\echo invalid values of settings that only yquota has
UPDATE yquota.scheduler_setting SET preemption_mode = 'warn';
UPDATE yquota.scheduler_setting SET preemption_candidate_order = 'cheapest';

\echo an import of a Hadoop configuration does not change settings that only yquota has
UPDATE yquota.scheduler_setting SET preemption_candidate_order = 'newest', end_expired_applications = true;
SELECT count(*) FROM yquota.import_hadoop_configuration(yquota.export_hadoop_configuration()::text);
SELECT preemption_candidate_order, end_expired_applications, preemption_natural_termination_factor FROM yquota.scheduler_setting;

\echo containers whose applications are known only by events, or not at all
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'without', yquota.clock(), 'q', 'eve', 'root.a', 'n1', '[memory-mb=1024,vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation)
VALUES ('CONTAINER_START', 'container_9_0001_01_000002', yquota.clock(), 'q', 'application_9_0001', 'eve', 'a', 'n1', '[memory-mb=1024,vcores=1]');
SELECT outcome, container_id, username, queue FROM yquota.preempt_containers(dry_run => true) WHERE username = 'eve';
\echo ids without numbers are compared as text
BEGIN;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation)
SELECT 'CONTAINER_START', id, yquota.clock(), 'q', 'application_9_0001', 'eve', 'a', 'n1', '[memory-mb=1024,vcores=1]' FROM unnest('{b,d,a,c}'::text[]) AS id;
SELECT outcome, container_id FROM yquota.preempt_containers(dry_run => true);
UPDATE yquota.container SET node = node WHERE container_id = 'd';
SELECT outcome, container_id FROM yquota.preempt_containers(dry_run => true);
ROLLBACK;
SELECT outcome, count(*) FROM pg_temp.round() GROUP BY 1;

\echo rights of roles
CREATE ROLE regress_yquota_operator;
CREATE ROLE regress_yquota_viewer;
CREATE ROLE regress_yquota_member;
SELECT yquota.allow_role('regress_yquota_operator', 'operator'), yquota.allow_role('regress_yquota_viewer', 'viewer'),
	   yquota.allow_role('regress_yquota_member', 'member', 'q');
SET ROLE regress_yquota_operator;
SELECT outcome, count(*) FROM yquota.preempt_containers(dry_run => true) GROUP BY 1;
SELECT count(*) FROM yquota.preemption_state;
SELECT count FROM yquota.preemption_message('application_1_0001');
SELECT count(*) FROM yquota.preempted_container;
SET ROLE regress_yquota_viewer;
SELECT count(*) FROM yquota.preempted_container;
SELECT count(*) FROM yquota.preemption_mark;
SELECT count(*) FROM yquota.readable_preemption_mark;
SELECT count(*) FROM yquota.preemption_state;
SELECT * FROM yquota.preempt_containers(dry_run => true);
SET ROLE regress_yquota_member;
SELECT container_id, project, username, queue FROM yquota.readable_preemption_mark;
SELECT container_id FROM yquota.preempted_container;
DELETE FROM yquota.preempted_container;
SELECT * FROM yquota.preemption_mark;
SELECT * FROM yquota.preemption_state;
SELECT * FROM yquota.preemption_message('application_1_0001');
RESET ROLE;

\echo counters since the first round
SELECT metric, value FROM yquota.metrics WHERE family = 'preemption' ORDER BY 1;

\echo an application past its lifetime ends with its containers, which are not preempted
SELECT yquota.update_application_lifetime('application_1_0001', 60);
SELECT * FROM yquota.end_expired_applications();
SELECT yquota.set_clock('2026-03-02 11:24+00');
SELECT yquota.end_expired_applications(0);
SELECT * FROM yquota.end_expired_applications();
SELECT state, diagnostics, finished_at FROM yquota.application WHERE application_id = 'application_1_0001';
SELECT exit_status, count(*) FROM yquota.charge WHERE "to" = yquota.clock() GROUP BY 1;
SELECT * FROM yquota.end_expired_applications();

\echo unpaid time before a kill by yquota, and paid time before a kill that only the resource manager reports
SELECT finish.source, count(*) > 0 AS some, bool_and(coalesce(charge.given_back, 0) > 0) AS is_free
FROM yquota.container_event AS finish
JOIN yquota.charge ON charge.container_id = finish.container_id AND charge."to" = finish.occurred_at
WHERE finish.event = 'CONTAINER_FINISH' AND finish.exit_status = -102 GROUP BY 1 ORDER BY 1;
SELECT * FROM yquota.verify();

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_preemption WITH (FORCE);
DROP ROLE regress_yquota_operator, regress_yquota_viewer, regress_yquota_member;
