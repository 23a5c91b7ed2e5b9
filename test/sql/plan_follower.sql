-- The plan follower: queues of reservations over time, a plan that shrinks, and Hadoop's own tests
-- of its replanner and follower.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_plan_follower WITH (FORCE);
CREATE DATABASE yquota_plan_follower;
\c yquota_plan_follower
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
INSERT INTO yquota.project (name) VALUES ('p');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');

CREATE FUNCTION pg_temp.at(ms bigint) RETURNS timestamptz LANGUAGE sql RETURN '2000-01-01 00:00+00'::timestamptz + ms * interval '1 ms';

-- Create a reservation that a plan has accepted, with its allocation as {from,to,GB} for each
-- interval.
CREATE PROCEDURE pg_temp.promise(number integer, username text, arrival bigint, deadline bigint, intervals bigint[], accepted bigint DEFAULT 0, period bigint DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
	id CONSTANT text := format('reservation_1_%s', lpad(number::text, 4, '0'));
	recurrence CONSTANT interval := period * interval '1 ms';
BEGIN
	INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, recurrence, accepted_at)
	VALUES (id, 1, 'root.dedicated', username, 'p', pg_temp.at(arrival), pg_temp.at(deadline), 'ALL', ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 1, '1 ms')], recurrence, pg_temp.at(accepted));
	INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, recurrence, "from", "to", allocation)
	SELECT id, 1, 'root.dedicated', username, pg_temp.at(deadline), recurrence, pg_temp.at(intervals[i]), pg_temp.at(intervals[i + 1]), yquota.resource(jsonb_build_object('memory-mb', intervals[i + 2] * 1024, 'vcores', intervals[i + 2]))
	FROM generate_series(1, cardinality(intervals), 3) AS i;
END $$;

-- Run a round of the follower, and return its changes.
CREATE FUNCTION pg_temp.round_at(ms bigint) RETURNS TABLE (outcome text, queue text, capacity real, maximum real, reason text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock(pg_temp.at(ms));
	RETURN QUERY SELECT f.outcome, coalesce(f.queue, f.reservation_id), f.capacity, f.maximum_capacity, f.reason FROM yquota.follow_plans() AS f;
END $$;
CREATE FUNCTION pg_temp.queues() RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(format('%s=%s', q.name, q.capacity), ' ' ORDER BY q.name) FROM yquota.reservation_queue AS q);

SELECT yquota.set_clock(pg_temp.at(0));
SELECT * FROM yquota.follow_plans();
BEGIN;
INSERT INTO yquota.scheduler_setting (reservation_system_enable, reservation_system_planfollower_time_step) VALUES (true, 1);
INSERT INTO yquota.queue (path, capacity, reservable, reservation_policy, reservation_enforcement_window, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1), ('root.dedicated', '80', true, 'NoOverCommitPolicy', 6, 2), ('root.other', '20', NULL, NULL, NULL, 3);
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=1280,vcores=1]' FROM generate_series(1, 100) AS i;
UPDATE yquota.node SET total = '[memory-mb=1280,vcores=2]' WHERE name <= 'n30';
COMMIT;

-- Bad input.
SELECT * FROM yquota.follow_plans('root.nowhere');
SELECT * FROM yquota.follow_plans('root.other');
SELECT * FROM yquota.follow_plans('');
SELECT * FROM yquota.follow_plans(NULL, NULL);
SELECT * FROM yquota.follow_plans(dry_run => NULL);

-- Vector 12.7: the follower, without the application of that test.
UPDATE yquota.node SET total = '[memory-mb=1280,vcores=2]';
BEGIN;
CALL pg_temp.promise(1, 'u3', 0, 5, '{0,5,10}');
CALL pg_temp.promise(2, 'u3', 3, 8, '{3,8,10}');
CALL pg_temp.promise(3, 'u4', 10, 15, '{11,12,10,12,13,20,13,14,10}');
SELECT * FROM pg_temp.round_at(0);
SELECT * FROM pg_temp.round_at(0);
SELECT * FROM pg_temp.round_at(3);
SELECT * FROM pg_temp.round_at(10);
SELECT * FROM pg_temp.round_at(11);
SELECT * FROM pg_temp.round_at(12);
SELECT * FROM pg_temp.round_at(16);
SELECT pg_temp.queues();
SELECT reservation_id, ended_by, ended_at = pg_temp.at(16) AS now FROM yquota.reservation_definition ORDER BY 1;
ROLLBACK;

-- Vector 12.6: the replanner. The plan shrinks from 100 to 70 GB.
BEGIN;
DO $$ BEGIN
	FOR n IN 1 .. 5 LOOP
		CALL pg_temp.promise(n, 'u', 0, 5, '{0,5,20}', n - 1);
	END LOOP;
	CALL pg_temp.promise(6, 'u', 10, 15, '{10,15,50}', 4);
	CALL pg_temp.promise(7, 'u', 10, 15, '{10,15,50}', 6);
END $$;
SELECT * FROM pg_temp.round_at(0);
DELETE FROM yquota.node WHERE substr(name, 2)::integer > 70;
-- without replanning all reservations get less, and a second round writes nothing
SAVEPOINT shrunk;
SELECT outcome, queue, capacity, reason FROM yquota.follow_plans(replan => false);
SELECT outcome, queue, capacity, reason FROM yquota.follow_plans(replan => false);
ROLLBACK TO shrunk;
-- a dry run reports the changes and makes none
SELECT outcome, coalesce(queue, reservation_id) AS name, capacity, reason FROM yquota.follow_plans(dry_run => true);
SELECT pg_temp.queues();
SELECT outcome, coalesce(queue, reservation_id) AS name, capacity, reason FROM yquota.follow_plans();
SELECT reservation_id, ended_by FROM yquota.reservation_definition ORDER BY 1;
-- queues of ended reservations are removed in the next round, and the other reservations get their
-- share
SELECT * FROM pg_temp.round_at(1);
ROLLBACK;

-- A periodic reservation has resources only in its first instance, or with a setting in each
-- instance.
BEGIN;
CALL pg_temp.promise(1, 'u', 2, 6, '{2,4,10}', 0, 10);
SELECT * FROM pg_temp.round_at(3);
SELECT * FROM pg_temp.round_at(8);
ROLLBACK;
BEGIN;
UPDATE yquota.queue SET reservation_policy = NULL, reservation_window = 20 WHERE path = 'root.dedicated';
CALL pg_temp.promise(1, 'u', 2, 6, '{2,4,10}', 0, 10);
SELECT * FROM pg_temp.round_at(3);
SELECT * FROM pg_temp.round_at(13);
SELECT * FROM pg_temp.round_at(26);
ROLLBACK;
BEGIN;
UPDATE yquota.scheduler_setting SET reservation_repeats_allocation = true;
CALL pg_temp.promise(1, 'u', 2, 6, '{2,4,10}', 0, 10);
SELECT * FROM pg_temp.round_at(3);
SELECT * FROM pg_temp.round_at(8);
SELECT * FROM pg_temp.round_at(13);
SELECT * FROM pg_temp.round_at(15);
ROLLBACK;

-- A submission that is due creates its queue at once, and others wait for a round. Times are compared
-- in whole steps.
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = 1000;
CREATE FUNCTION pg_temp.submit(number integer, arrival bigint, gigabytes integer) RETURNS boolean LANGUAGE sql
	BEGIN ATOMIC
		SELECT s.accepted FROM yquota.submit_reservation(format('reservation_1_%s', lpad(number::text, 4, '0')), 'root.dedicated', 'ann', '{}', 'p',
			yquota.reservation_contract(pg_temp.at(arrival), pg_temp.at(arrival + 60000),
				ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', gigabytes, '1 min', gigabytes)])) AS s;
	END;
BEGIN;
SELECT yquota.set_clock(pg_temp.at(5500));
SELECT pg_temp.submit(1, 6000, 10);
SELECT pg_temp.queues();
SELECT pg_temp.submit(1, 6000, 10);
SELECT pg_temp.submit(2, 6500, 10);
SELECT pg_temp.queues();
SELECT * FROM pg_temp.round_at(6001);
SELECT * FROM pg_temp.round_at(6002);
-- an update and a deletion take effect in the next round
SELECT accepted FROM yquota.update_reservation('reservation_1_0001', 'ann', '{}', yquota.reservation_contract(pg_temp.at(6000), pg_temp.at(70000),
	ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', 20, '1 min', 20)]));
SELECT deleted FROM yquota.delete_reservation('reservation_1_0002', 'ann', '{}');
SELECT pg_temp.queues();
SELECT * FROM pg_temp.round_at(6003);
-- the clock steps back
SELECT * FROM pg_temp.round_at(2000);
SELECT * FROM pg_temp.round_at(6004);
-- all nodes of the cluster are removed, so nothing is left to share out, and the reservations end
UPDATE yquota.queue SET reservation_enforcement_window = NULL WHERE path = 'root.dedicated';
DELETE FROM yquota.node;
SELECT outcome, coalesce(queue, reservation_id) AS name, capacity FROM yquota.follow_plans();
SELECT outcome, coalesce(queue, reservation_id) AS name, capacity FROM yquota.follow_plans();
ROLLBACK;

-- A queue is no longer a plan, and the queues of its reservations are removed.
BEGIN;
SELECT yquota.set_clock(pg_temp.at(5500));
SELECT pg_temp.submit(1, 6000, 10);
COMMIT;
SELECT pg_temp.queues();
UPDATE yquota.queue SET reservable = NULL WHERE path = 'root.dedicated';
SELECT outcome, plan, queue FROM yquota.follow_plans();
SELECT pg_temp.queues();
-- its reservations stay, and are followed again when the queue is a plan again
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.dedicated';
UPDATE yquota.queue SET reservable = true, state = NULL WHERE path = 'root.dedicated';
SELECT * FROM pg_temp.round_at(6000);

-- Vector 12.7 with its application: the application continues in the default queue or is killed, and its
-- queue is removed a round later.
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = 1, resource_calculator = NULL;
DELETE FROM yquota.reservation_definition;
UPDATE yquota.node SET total = '[memory-mb=1280,vcores=2]';
CREATE FUNCTION pg_temp.applications() RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(format('%s %s %s', a.application_id, a.state, a.queue), E'\n' ORDER BY a.application_id) FROM yquota.application AS a);
SELECT * FROM pg_temp.round_at(0);
CALL pg_temp.promise(1, 'u3', 0, 5, '{0,5,10}');
CALL pg_temp.promise(2, 'u3', 3, 8, '{3,8,10}');
SELECT * FROM pg_temp.round_at(0);
SELECT state, queue FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'root.dedicated', project => 'p', unmanaged => true, reservation => 'reservation_1_0001');
SELECT yquota.request_containers('application_1_0001', '[memory-mb=1024]', 3);
SELECT decision, queue FROM yquota.schedule();
SELECT yquota.acknowledge_decisions(ARRAY(SELECT decision_id FROM yquota.decision));
BEGIN;
SELECT * FROM pg_temp.round_at(4);
SELECT outcome, queue, reservation_id, application_id, capacity, reason FROM yquota.follow_plans(dry_run => true);
SELECT yquota.set_clock(pg_temp.at(6));
SELECT outcome, queue, reservation_id, application_id, capacity, reason FROM yquota.follow_plans();
SELECT pg_temp.applications();
SELECT queue, count(*) FROM yquota.container GROUP BY 1;
SELECT queue, "to" = pg_temp.at(6) AS now, count(*) FROM yquota.charge GROUP BY 1, 2;
ROLLBACK;
BEGIN;
UPDATE yquota.queue SET reservation_move_on_expiry = false WHERE path = 'root.dedicated';
SELECT yquota.set_clock(pg_temp.at(6) + interval '345 microseconds');
SELECT outcome, queue, reservation_id, application_id, capacity, reason FROM yquota.follow_plans();
SELECT pg_temp.applications();
SELECT diagnostics FROM yquota.application;
SELECT queue, "to", exit_status, count(*) FROM yquota.charge GROUP BY 1, 2, 3;
SELECT count(*) FROM yquota.container;
SELECT decision, queue, count(*) FROM yquota.decision GROUP BY 1, 2;
SELECT * FROM pg_temp.round_at(7);
SELECT * FROM yquota.verify();
ROLLBACK;
-- applications that the default queue refuses are killed
BEGIN;
UPDATE yquota.queue SET maximum_applications = 1 WHERE path = 'root.dedicated';
SELECT state, queue FROM yquota.submit_application('application_1_0002', 'bob', '{}', 'root.dedicated', project => 'p', unmanaged => true);
SELECT yquota.set_clock(pg_temp.at(6));
SELECT outcome, queue, application_id, capacity, reason FROM yquota.follow_plans();
SELECT pg_temp.applications();
ROLLBACK;
-- Waiting application masters start when the share of their reservation has grown. They may use a tenth of
-- that share.
BEGIN;
CALL pg_temp.promise(3, 'u3', 0, 8, '{0,4,10,4,8,20}');
SELECT * FROM pg_temp.round_at(1);
SELECT s.state FROM generate_series(1, 3) AS n, LATERAL yquota.submit_application('application_3_000' || n, 'ann', '{}', 'root.dedicated', project => 'p',
	am_resource => '[memory-mb=1024,vcores=1]', reservation => 'reservation_1_0003') AS s;
SELECT * FROM pg_temp.round_at(3);
SELECT pg_temp.applications();
SELECT * FROM pg_temp.round_at(4);
SELECT pg_temp.applications();
SELECT application_id, activated_at = pg_temp.at(4) AS now FROM yquota.application WHERE application_id LIKE 'application_3%' ORDER BY 1;
ROLLBACK;
-- a stopped plan accepts no application, so the applications in the queue of the reservation are
-- killed
BEGIN;
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.dedicated';
COMMIT;
BEGIN;
SELECT yquota.set_clock(pg_temp.at(6));
SELECT outcome, queue, application_id, capacity, reason FROM yquota.follow_plans();
ROLLBACK;
UPDATE yquota.queue SET state = NULL WHERE path = 'root.dedicated';

\c postgres
DROP DATABASE yquota_plan_follower WITH (FORCE);
