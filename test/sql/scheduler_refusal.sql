--
-- A row that cannot be written does not stop a round of the scheduler. The round leaves out the
-- subject of the row, holds it back for a minute, and reports it. Everything else continues.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_scheduler_refusal WITH (FORCE);
CREATE DATABASE yquota_scheduler_refusal;
\c yquota_scheduler_refusal
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p');
BEGIN;
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, per_node_heartbeat_maximum_offswitch_assignments, opportunistic_allocation_enabled,
	opportunistic_queue_capacity, reservation_system_enable, reservation_system_planfollower_time_step, scheduler_monitor_enable, preemption_total_preemption_per_round, preemption_natural_termination_factor, preemption_max_wait_before_kill)
	VALUES (1, 100, true, 20, true, 1, true, 1, 1, 0);
INSERT INTO yquota.queue (path, capacity, user_limit_factor, reservable, reservation_policy, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1), ('root.a', '40', 10, NULL, NULL, 2), ('root.b', '40', 10, NULL, NULL, 3), ('root.plan', '20', 10, true, 'NoOverCommitPolicy', 4);
COMMIT;
INSERT INTO yquota.node (name, total) VALUES ('n1', '[memory-mb=8192,vcores=8]');
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, 20, NULL, NULL, NULL)::yquota.node_report]);
CREATE FUNCTION submit(number integer, queue text DEFAULT 'a') RETURNS yquota.application_state LANGUAGE sql AS
	$$ SELECT state FROM yquota.submit_application(format('application_1_%s', lpad(number::text, 4, '0')), 'ann', '{}', queue, project => 'p', unmanaged => true) $$;
CREATE FUNCTION ask(number integer, count bigint, priority integer DEFAULT 1) RETURNS bigint LANGUAGE sql AS
	$$ SELECT yquota.request_containers(format('application_1_%s', lpad(number::text, 4, '0')), '[memory-mb=1024,vcores=1]', count, priority => priority) $$;
CREATE FUNCTION acknowledge() RETURNS bigint LANGUAGE sql AS
	$$ SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision)) $$;
CREATE VIEW told AS SELECT decision, right(container_id, 14) AS container FROM yquota.decision ORDER BY decision_id;
CREATE VIEW runs AS SELECT right(container_id, 14) AS container, execution_type, yquota.amount(allocation, 'memory-mb') AS mb FROM yquota.container ORDER BY container_id;
CREATE VIEW refused AS SELECT round, subject, sqlstate, message, refusals, held_until - refused_at AS held FROM yquota.scheduler_refusal ORDER BY round, subject;
CREATE VIEW counted AS SELECT value AS refused FROM yquota.metrics WHERE metric = 'yquota_scheduler_refused_total';

-- A trigger of the site is one of many possible reasons.
CREATE TABLE poison (pattern text PRIMARY KEY, event text DEFAULT '.');
CREATE FUNCTION poisoned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM public.poison AS p WHERE new.container_id ~ p.pattern AND new.event::text ~ p.event) THEN
		RAISE EXCEPTION '% of % is poisoned', new.event, new.container_id USING ERRCODE = 'check_violation';
	END IF;
	RETURN new;
END
$$;
CREATE TRIGGER poisoned BEFORE INSERT ON yquota.container_event FOR EACH ROW EXECUTE FUNCTION poisoned();

\echo an update at the future instant of the START is written an instant later
SELECT submit(1);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
	VALUES ('CONTAINER_START', 'container_1_0001_01_000001', '2026-03-02 10:00:05+00', 'p', 'application_1_0001', 'ann', 'root.a', 'n1', '[memory-mb=1024,vcores=1]', 'OPPORTUNISTIC', false);
INSERT INTO yquota.container_event (event, container_id, occurred_at, is_running) SELECT 'CONTAINER_UPDATE', container_id, started_at, true FROM yquota.container;
SELECT outcome FROM yquota.update_containers('application_1_0001', ARRAY[ROW('container_1_0001_01_000001', 0, NULL, 'GUARANTEED', 1, -1)::yquota.container_update_request]);
SELECT submit(2);
SELECT ask(2, 1);
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
SELECT settled_at FROM yquota.container WHERE container_id = 'container_1_0001_01_000001';
SELECT * FROM refused;
SELECT acknowledge();

\echo a cycle in which one container cannot start and one update cannot be written; others get their containers
SELECT yquota.set_clock('2026-03-02 10:01+00');
SELECT submit(n) FROM generate_series(3, 5) AS n;
SELECT ask(n, 1) FROM generate_series(3, 5) AS n;
SELECT outcome FROM yquota.update_containers('application_1_0002', ARRAY[ROW('container_1_0002_01_000001', 0, '[memory-mb=2048,vcores=1]', NULL, 1, -1)::yquota.container_update_request]);
SELECT ask(2, 1, 2);
INSERT INTO poison VALUES ('_0004_01_', 'START'), ('container_1_0002_01_000001', 'UPDATE');
BEGIN;
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
-- the next cycle in the same transaction works
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
COMMIT;
SELECT * FROM told;
SELECT * FROM runs;
SELECT * FROM refused;
SELECT * FROM counted;
SELECT resource_name, application_id, count FROM yquota.resource_request ORDER BY application_id;
SELECT * FROM yquota.verify();
SELECT decision, application_id, stopped_by FROM yquota.schedule(explain => true, dry_run => true) WHERE stopped_by = 'refused';
\echo a refused write is not tried for a minute, then tried again, as long as it fails
SELECT yquota.set_clock('2026-03-02 10:01:59+00');
SELECT count(*) FROM yquota.schedule();
SELECT * FROM counted;
SELECT yquota.set_clock('2026-03-02 10:02+00');
SELECT count(*) FROM yquota.schedule();
SELECT * FROM refused;
SELECT yquota.quota_compute() IS NOT NULL;
SELECT kind, subject, detail FROM yquota.alert WHERE kind = 'scheduler_refuses' AND cleared_at IS NULL;
DELETE FROM poison;
SELECT yquota.set_clock('2026-03-02 10:03+00');
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
SELECT acknowledge();
SELECT * FROM yquota.verify();
\echo a refusal is shown for a day; its alert lasts ten minutes
SELECT yquota_internal.watch_refusals('2026-03-02 10:12:00+00');
SELECT count(*) FROM yquota.alert WHERE kind = 'scheduler_refuses' AND cleared_at IS NULL;
SELECT yquota_internal.watch_refusals('2026-03-03 10:02:00.000001+00');
SELECT count(*) FROM refused;

\echo a failure that no decision causes is an error of the call
CREATE FUNCTION refuse_requests() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'requests are frozen' USING ERRCODE = 'check_violation'; END $$;
SELECT ask(3, 1);
CREATE TRIGGER frozen BEFORE UPDATE OR DELETE ON yquota.resource_request FOR EACH STATEMENT EXECUTE FUNCTION refuse_requests();
SELECT count(*) FROM yquota.schedule();
DROP TRIGGER frozen ON yquota.resource_request;
SELECT count(*) FROM yquota.schedule();
SELECT acknowledge();

\echo a lost master whose containers cannot end; other applications get new masters
SELECT s.state FROM generate_series(10, 11) AS n,
	yquota.submit_application(format('application_1_00%s', n), 'ann', '{}', 'a', project => 'p', am_resource => '[memory-mb=512,vcores=1]') AS s;
SELECT yquota.finish_application('application_1_000' || n) FROM generate_series(1, 5) AS n;
SELECT acknowledge();
SELECT count(*) FROM yquota.schedule();
SELECT ask(n, 1) FROM generate_series(10, 11) AS n;
SELECT count(*) FROM yquota.schedule();
SELECT acknowledge();
INSERT INTO yquota.container_event (event, container_id, exit_status) VALUES ('CONTAINER_FINISH', 'container_1_0010_01_000001', 1), ('CONTAINER_FINISH', 'container_1_0011_01_000001', 1);
INSERT INTO poison VALUES ('_0010_01_000002', 'FINISH');
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
SELECT * FROM told;
SELECT * FROM refused;
DELETE FROM poison;
SELECT yquota.set_clock('2026-03-02 10:04+00');
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
SELECT acknowledge();

\echo the end of a lifetime
INSERT INTO poison VALUES ('_0011_', 'FINISH');
SELECT yquota.update_application_lifetime('application_1_00' || n, 10) FROM generate_series(10, 11) AS n;
SELECT yquota.set_clock('2026-03-02 10:05+00');
SELECT application_id, containers FROM yquota.end_expired_applications(1);
SELECT application_id, containers FROM yquota.end_expired_applications(1);
SELECT * FROM refused WHERE round ~ 'end';
SELECT application_id, state FROM yquota.application WHERE application_id ~ '001.$' ORDER BY 1;
SELECT application_id, containers FROM yquota.end_expired_applications();
DELETE FROM poison;
SELECT yquota.set_clock('2026-03-02 10:06+00');
SELECT application_id, containers FROM yquota.end_expired_applications();
SELECT acknowledge();
SELECT * FROM yquota.verify();

\echo opportunistic allocation: one of four containers cannot start
SELECT submit(20);
INSERT INTO poison VALUES ('_0020_01_000003', 'START');
SELECT decision, right(container_id, 14) AS container FROM yquota.allocate_opportunistic('application_1_0020',
	ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 4, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request], response_id => 1);
SELECT * FROM told;
SELECT * FROM refused WHERE round ~ 'opportunistic';
SELECT resource_name, count FROM yquota.resource_request;
-- a repeated call gets the same answer
SELECT decision, right(container_id, 14) AS container FROM yquota.allocate_opportunistic('application_1_0020', response_id => 1);
DELETE FROM poison;
SELECT decision, right(container_id, 14) AS container FROM yquota.allocate_opportunistic('application_1_0020', response_id => 2);
SELECT * FROM yquota.verify();

\echo expiry: one unacknowledged container cannot end, and one increase cannot be taken back
SELECT submit(21);
SELECT ask(21, 3);
SELECT count(*) FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision WHERE container_id ~ '_0021_01_000003'));
SELECT outcome FROM yquota.update_containers('application_1_0021', ARRAY[ROW('container_1_0021_01_000003', 0, '[memory-mb=2048,vcores=1]', NULL, 1, -1)::yquota.container_update_request]);
SELECT count(*) FROM yquota.schedule();
INSERT INTO poison VALUES ('_0021_01_00000[13]', '(UPDATE|FINISH)'), ('_0020_01_000001', 'FINISH');
SELECT yquota.set_clock('2026-03-02 10:16+00');
SELECT count(*) FROM yquota.schedule();
SELECT * FROM runs;
SELECT * FROM told;
SELECT * FROM refused WHERE round ~ 'expiry';
DELETE FROM poison;
SELECT yquota.set_clock('2026-03-02 10:27+00');
SELECT count(*) FROM yquota.schedule();
SELECT * FROM runs;
SELECT right(container_id, 14) AS container, "to" FROM yquota.charge WHERE container_id ~ '_002[01]_' ORDER BY 1, 2;
SELECT * FROM told;
SELECT acknowledge();
SELECT * FROM yquota.verify();

\echo preemption: one of the containers cannot end
SELECT yquota.finish_application(application_id) FROM yquota.application WHERE finished_at IS NULL ORDER BY 1;
SELECT acknowledge();
SELECT submit(30), submit(31, 'b');
SELECT ask(30, 8);
SELECT count(*) FROM yquota.schedule();
SELECT acknowledge();
SELECT ask(31, 4);
SELECT outcome, right(container_id, 14) AS container FROM yquota.preempt_containers() ORDER BY 2;
INSERT INTO poison SELECT max(container_id), 'FINISH' FROM yquota.preemption_mark;
SELECT yquota.set_clock('2026-03-02 10:28+00');
SELECT outcome, right(container_id, 14) AS container FROM yquota.preempt_containers() ORDER BY 2;
SELECT * FROM told WHERE decision = 'killed';
SELECT * FROM refused WHERE round ~ 'preempt';
DELETE FROM poison;
SELECT outcome, right(container_id, 14) AS container FROM yquota.preempt_containers() ORDER BY 2;
SELECT acknowledge();
SELECT * FROM yquota.verify();

\echo the queue of a node: a waiting container that cannot start stays, and others start
SELECT yquota.finish_application(application_id) FROM yquota.application WHERE finished_at IS NULL ORDER BY 1;
SELECT acknowledge();
SELECT yquota.set_clock('2026-03-02 11:00+00');
UPDATE yquota.node SET total = '[memory-mb=1024,vcores=1]';
SELECT accepted FROM yquota.report_nodes(ARRAY[ROW('n1', 0, 0, 0, 0, NULL, 20, NULL, NULL, NULL)::yquota.node_report]);
SELECT submit(40);
SELECT right(container_id, 14) AS container FROM yquota.allocate_opportunistic('application_1_0040',
	ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 4, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SELECT e.action, right(e.container_id, 14) AS container FROM generate_series(1, 4) AS n, yquota.enqueue_container('n1', 'container_1_0040_01_00000' || n) AS e;
INSERT INTO poison VALUES ('_0040_01_000002', 'UPDATE');
SELECT action, right(container_id, 14) AS container FROM yquota.container_ended('n1', 'container_1_0040_01_000001', NULL, 0);
SELECT right(container_id, 14) AS container, state, is_running FROM yquota.node_queue JOIN yquota.container USING (container_id) ORDER BY 1;
SELECT * FROM refused WHERE round = 'node_queue';
DELETE FROM poison;
SELECT action, right(container_id, 14) AS container FROM yquota.container_ended('n1', 'container_1_0040_01_000003', NULL, 0);
SELECT yquota.set_clock('2026-03-02 11:01+00');
SELECT action, right(container_id, 14) AS container FROM yquota.container_ended('n1', 'container_1_0040_01_000004', NULL, 0);
\echo a failure of the very container that a call is about is an error of the call
INSERT INTO poison VALUES ('_0040_01_000002', 'FINISH');
SELECT * FROM yquota.container_ended('n1', 'container_1_0040_01_000002', NULL, 0);
DELETE FROM poison;
SELECT action FROM yquota.container_ended('n1', 'container_1_0040_01_000002', NULL, 0);
SELECT * FROM yquota.verify();

\echo automatic promotions, and a killable container that cannot end: the container that needs its room waits
SELECT count(*) FROM yquota.release_containers('{container_1_0001_01_000001}');
SELECT yquota.finish_application('application_1_0040');
SELECT acknowledge();
UPDATE yquota.node SET total = '[memory-mb=2048,vcores=2]';
SELECT submit(41);
SELECT right(container_id, 14) AS container FROM yquota.allocate_opportunistic('application_1_0041',
	ARRAY[ROW('*', '[memory-mb=1024,vcores=1]', 2, 1, 1, true, NULL, 'OPPORTUNISTIC', NULL)::yquota.container_request]);
SELECT e.action FROM generate_series(1, 2) AS n, yquota.enqueue_container('n1', 'container_1_0041_01_00000' || n) AS e;
SELECT acknowledge();
UPDATE yquota.queue SET auto_promote_after = '10 s' WHERE path = 'root.a';
INSERT INTO poison VALUES ('_0041_01_000001', 'UPDATE');
SELECT yquota.set_clock('2026-03-02 11:02+00');
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
SELECT * FROM refused WHERE subject ~ '_0041_';
DELETE FROM poison;
SELECT count(*) FROM yquota.schedule();
SELECT yquota.set_clock('2026-03-02 11:03+00');
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
UPDATE yquota.queue SET auto_promote_after = NULL WHERE path = 'root.a';
SELECT acknowledge();
UPDATE yquota.scheduler_setting SET lazy_preemption_enabled = true;
SELECT submit(42, 'b');
SELECT ask(42, 1);
SELECT outcome, right(container_id, 14) AS container FROM yquota.preempt_containers() ORDER BY 2;
SELECT yquota.set_clock('2026-03-02 11:04+00');
SELECT outcome, right(container_id, 14) AS container FROM yquota.preempt_containers() ORDER BY 2;
INSERT INTO poison VALUES ('_0041_', 'FINISH');
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
SELECT * FROM refused WHERE subject = 'application_1_0042';
DELETE FROM poison;
SELECT yquota.set_clock('2026-03-02 11:05+00');
SELECT decision, right(container_id, 14) AS container FROM yquota.schedule();
SELECT yquota.finish_application('application_1_00' || n) FROM generate_series(41, 42) AS n;
SELECT * FROM yquota.verify();

\echo the plan follower: one application can neither move nor end, so its queue stays
SELECT acknowledge();
UPDATE yquota.node SET total = '[memory-mb=16384,vcores=16]';
SELECT s.accepted FROM generate_series(1, 2) AS n, yquota.submit_reservation('reservation_1_000' || n, 'root.plan', 'ann', '{}', 'p',
	yquota.reservation_contract(yquota.clock() + interval '1 s', yquota.clock() + interval '100 s',
		ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, '99 s')])) AS s;
SELECT yquota.set_clock('2026-03-02 11:05:02+00');
SELECT outcome, queue FROM yquota.follow_plans() ORDER BY 2;
SELECT s.state, s.queue FROM generate_series(51, 52) AS n, yquota.submit_application('application_1_00' || n, 'ann', '{}', 'plan', project => 'p',
	unmanaged => true, reservation => 'reservation_1_000' || n - 50) AS s;
SELECT yquota.request_containers('application_1_00' || n, '[memory-mb=1024,vcores=1]', 1) FROM generate_series(51, 52) AS n;
SELECT count(*) FROM yquota.schedule();
SELECT acknowledge();
INSERT INTO poison VALUES ('_0051_', 'UPDATE');
SELECT yquota.set_clock('2026-03-02 11:10+00');
SELECT outcome, queue, application_id, reason FROM yquota.follow_plans() WHERE application_id IS NOT NULL OR outcome = 'removed' ORDER BY 2, 1;
SELECT application_id, queue FROM yquota.application WHERE finished_at IS NULL ORDER BY 1;
SELECT * FROM refused WHERE round = 'follow_plans';
DELETE FROM poison;
SELECT outcome, queue, application_id, reason FROM yquota.follow_plans() WHERE application_id IS NOT NULL OR outcome = 'removed' ORDER BY 2, 1;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_scheduler_refusal WITH (FORCE);
