-- Reservations: definitions, answers, the order of rules, ACLs, roles and history.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation WITH (FORCE);
CREATE DATABASE yquota_reservation;
\c yquota_reservation
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name) VALUES ('p'), ('q');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.queue (path, capacity, reservable, average_capacity, reservation_window, position) VALUES
	('root', NULL, NULL, NULL, NULL, 1), ('root.plan', '80', true, NULL, 3600000, 2), ('root.other', '20', NULL, NULL, NULL, 3);
INSERT INTO yquota.node (name, total) SELECT 'n' || i, '[memory-mb=12500,vcores=12]' FROM generate_series(1, 10) AS i;

-- A gang of ten containers runs together for ten minutes, at some time between twelve and one.
CREATE FUNCTION pg_temp.gang(containers integer, concurrency integer DEFAULT 1, duration interval DEFAULT '10 min', mb bigint DEFAULT 1000)
	RETURNS yquota.reservation_request LANGUAGE sql
	RETURN yquota.reservation_request(yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', 1)), containers, duration, concurrency);
CREATE FUNCTION pg_temp.noon(VARIADIC requests yquota.reservation_request[]) RETURNS yquota.reservation_contract LANGUAGE sql
	RETURN yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 13:00+00', requests, 'ALL');

-- Without the reservation system every call reports that it is off.
SELECT accepted, decided_by, reason FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(10, 10)));
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);

-- An id consists of a time and a number, and nothing is stored for it.
SELECT yquota.new_reservation_id(), yquota.new_reservation_id();
SELECT count(*) FROM yquota.reservation_definition;

-- A dry run stores nothing, and a submission stores its reservation once.
SELECT * FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(10, 10)), dry_run => true);
SELECT count(*) FROM yquota.reservation_definition;
SELECT * FROM yquota.submit_reservation('reservation_1_0001', 'plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(10, 10)));
SELECT yquota.set_clock('2026-03-02 10:00:01+00');
SELECT * FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(10, 10)));
SELECT * FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'bob', '{}', 'p', pg_temp.noon(pg_temp.gang(10, 10)));
SELECT * FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(20, 10)));
TABLE yquota.reservation_definition;
TABLE yquota.reservation_allocation;

-- Each number has one id, in Hadoop's notation.
SELECT reservation_id, accepted_at FROM yquota.submit_reservation('reservation_1_1', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(10, 10)));
SELECT reservation_id FROM yquota.submit_reservation('reservation_1_00012345', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)), true);
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'alice', '{}', 'reservation_1_1');

-- Arguments that cannot be read cause an error.
SELECT yquota.submit_reservation(NULL, 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_2x', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_99999999999999999999', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', '', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.none', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.other', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', NULL, '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', repeat('u', 256), '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', 'alice', '{}', 'none', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', 'alice', '{}', 'p', NULL);

CREATE FUNCTION pg_temp.try(definition yquota.reservation_contract) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer record;
	hint text;
BEGIN
	SELECT * INTO answer FROM yquota.submit_reservation('reservation_1_0002', 'root.plan', 'alice', '{}', 'p', definition, dry_run => true);
	RETURN concat_ws('; ', CASE WHEN answer.accepted THEN 'accepted' END, answer.decided_by, answer.reason, answer.asked, answer.maximum);
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(' ', SQLSTATE, SQLERRM, nullif(hint, ''));
END $$;
SELECT try.* FROM (VALUES
	(NULL, '13:00', ARRAY[pg_temp.gang(1)], 'ALL', NULL),
	('12:00', NULL, ARRAY[pg_temp.gang(1)], 'ALL', NULL),
	('12:00', '13:00', NULL, 'ALL', NULL),
	('12:00', '13:00', '{}', 'ALL', NULL),
	('12:00', '13:00', ARRAY[NULL::yquota.reservation_request], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1)], NULL, NULL),
	('12:00:00.0001', '13:00', ARRAY[pg_temp.gang(1)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(NULL)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, NULL)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, NULL)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, '0')], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, '-1 min')], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, '1 month')], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, '0.0001 s')], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, '2147483647 days')], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, '1 min', -1)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(2, 1, '1 min', 9223372036854775807)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[yquota.reservation_request('[]', 1, '1 min')], 'ALL', NULL),
	-- violations of the rules for the input, in their order
	('09:00', '10:00:01', ARRAY[pg_temp.gang(1)], 'ALL', NULL),
	('09:00', '10:00', '{}', 'ALL', NULL),
	('12:00', '12:05', ARRAY[pg_temp.gang(1000, 1000)], 'ALL', NULL),
	('13:00', '12:00', ARRAY[pg_temp.gang(1)], 'ALL', NULL),
	('13:00', '12:00', ARRAY[pg_temp.gang(1)], 'ANY', NULL),
	('12:00', '12:15', ARRAY[pg_temp.gang(1), pg_temp.gang(1)], 'ALL', NULL),
	('12:00', '12:15', ARRAY[pg_temp.gang(1), pg_temp.gang(1)], 'ORDER', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(101, 101)], 'ALL', '-1 hour'),
	('12:00', '13:00', ARRAY[pg_temp.gang(101, 101), pg_temp.gang(1)], 'ANY', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1)], 'ALL', '-1 hour'),
	('12:00', '13:00', ARRAY[pg_temp.gang(1)], 'ALL', '30 min'),
	('12:00', '13:00', ARRAY[pg_temp.gang(1)], 'ALL', '7 hours'),
	('12:00', '13:00', ARRAY[pg_temp.gang(1)], 'ALL', '1 day'),
	('12:00', '13:00', ARRAY[pg_temp.gang(1)], 'ALL', '0'),
	('12:00', '12:00:00.001', ARRAY[pg_temp.gang(1, 1, '1 ms')], 'ALL', '1 ms'),
	('12:00', '13:00', array_fill(pg_temp.gang(1), '{1001}'), 'ALL', NULL),
	-- violations of the rules for requests, which are checked during placement
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 0)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(0, 1)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(-5, 1)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(5, 2)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(1, 1, '10 min', 8193)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(10000, 1)], 'ALL', NULL),
	('12:00', '13:00', ARRAY[pg_temp.gang(100, 100, '50 min')], 'ALL', NULL)
) AS v (arrival, deadline, requests, interpreter, recurrence)
CROSS JOIN LATERAL pg_temp.try(yquota.reservation_contract(('2026-03-02 ' || v.arrival || '+00')::timestamptz, ('2026-03-02 ' || v.deadline || '+00')::timestamptz,
	v.requests, v.interpreter::yquota.reservation_interpreter, v.recurrence::interval)) AS try;
SELECT pg_temp.try(yquota.reservation_contract('1969-12-31 23:59+00', '2026-03-02 12:00+00', ARRAY[pg_temp.gang(1)]));
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', 'infinity', ARRAY[pg_temp.gang(1)]));
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '294276-12-31 00:00+00', ARRAY[pg_temp.gang(1)]));
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2226-03-02 12:00+00', ARRAY[pg_temp.gang(100000000, 1, '1 s')]));
-- Fields that are null, negative, zero or huge, and times and amounts at both ends of their ranges.
SELECT v.field, pg_temp.try(yquota.reservation_contract(coalesce(v.arrival, '2026-03-02 12:00+00'), coalesce(v.deadline, '2026-03-02 13:00+00'), ARRAY[v.request], 'ALL',
	v.recurrence, v.priority, v.reservation_name)) FROM (VALUES
	('arrival', '-infinity'::timestamptz, NULL::timestamptz, pg_temp.gang(1), NULL::interval, NULL::integer, NULL::text),
	('arrival', 'infinity', NULL, pg_temp.gang(1), NULL, NULL, NULL),
	('arrival', '1970-01-01 00:00+00', NULL, pg_temp.gang(1), NULL, NULL, NULL),
	('deadline', NULL, '-infinity', pg_temp.gang(1), NULL, NULL, NULL),
	('deadline', NULL, '2026-03-02 13:00:00.0005+00', pg_temp.gang(1), NULL, NULL, NULL),
	('deadline', NULL, '1969-12-31 23:59:59+00', pg_temp.gang(1), NULL, NULL, NULL),
	('capability', NULL, NULL, yquota.reservation_request(NULL, 1, '1 min'), NULL, NULL, NULL),
	('capability', NULL, NULL, yquota.reservation_request('[memory-mb=0,vcores=0]', 1, '1 min'), NULL, NULL, NULL),
	('capability', NULL, NULL, yquota.reservation_request('[memory-mb=1000,yarn.io/gpu=1]', 1, '1 min'), NULL, NULL, NULL),
	('capability', NULL, NULL, yquota.reservation_request('[memory-mb=0,vcores=1]', 1, '1 min'), NULL, NULL, NULL),
	('num_containers', NULL, NULL, pg_temp.gang(-2147483648), NULL, NULL, NULL),
	('num_containers', NULL, NULL, pg_temp.gang(2147483647), NULL, NULL, NULL),
	('concurrency', NULL, NULL, pg_temp.gang(1, -1), NULL, NULL, NULL),
	('concurrency', NULL, NULL, pg_temp.gang(2147483647, 2147483647), NULL, NULL, NULL),
	('concurrency', NULL, NULL, pg_temp.gang(2147483647, 2147483647, '1 min', 9223372036854775807), NULL, NULL, NULL),
	('duration', NULL, NULL, pg_temp.gang(1, 1, '1 ms'), NULL, NULL, NULL),
	('duration', NULL, NULL, pg_temp.gang(1, 1, '1 hour 1 ms'), NULL, NULL, NULL),
	('duration', NULL, NULL, pg_temp.gang(1, 1, '2562047788:00:54.775'), NULL, NULL, NULL),
	('recurrence', NULL, NULL, pg_temp.gang(1), '0.0005 s', NULL, NULL),
	('recurrence', NULL, NULL, pg_temp.gang(1), '1 month', NULL, NULL),
	('recurrence', NULL, NULL, pg_temp.gang(1), '2562047788:00:54.775', NULL, NULL),
	('recurrence', NULL, NULL, pg_temp.gang(1), '-2562047788:00:54.775', NULL, NULL),
	('priority', NULL, NULL, pg_temp.gang(1), NULL, -2147483648, NULL),
	('priority', NULL, NULL, pg_temp.gang(1), NULL, 2147483647, NULL),
	('reservation_name', NULL, NULL, pg_temp.gang(1), NULL, NULL, ''),
	('reservation_name', NULL, NULL, pg_temp.gang(1), NULL, NULL, repeat('n', 10000))
) AS v (field, arrival, deadline, request, recurrence, priority, reservation_name);
SELECT yquota.submit_reservation('reservation_-1_0002', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_9223372036854775808_0002', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT accepted, accepted_at FROM yquota.submit_reservation('reservation_9223372036854775807_9223372036854775807', 'root.plan', 'alice', NULL, 'p', pg_temp.noon(pg_temp.gang(1)), dry_run => true);
SELECT accepted FROM yquota.submit_reservation('reservation_0_0', 'root.plan', 'alice', ARRAY[NULL], 'p', pg_temp.noon(pg_temp.gang(1)), dry_run => true);
SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', '', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', 'alice', '{}', NULL, pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.submit_reservation('reservation_1_0002', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)), dry_run => NULL);
SELECT yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(1)), dry_run => NULL);

-- Among several errors Hadoop's first one is reported. Hadoop checks the id, the queue, the plan,
-- the definition, and then each rule of the definition, in this order.
SELECT yquota.submit_reservation(NULL, NULL, NULL, NULL, NULL, NULL);
SELECT yquota.submit_reservation('reservation_1_0002', NULL, NULL, NULL, NULL, NULL);
SELECT yquota.submit_reservation('reservation_1_0002', 'root.none', 'alice', '{}', 'none', NULL);
SELECT yquota.submit_reservation('reservation_1_0002', 'root.other', 'alice', '{}', 'none', NULL);
SELECT yquota.update_reservation(NULL, 'alice', '{}', NULL);
SELECT yquota.update_reservation('reservation_1_0002', 'alice', '{}', NULL);
SELECT yquota.delete_reservation(NULL, NULL, NULL);
SELECT yquota.list_reservations('root.none', 'alice', '{}', "from" => '2026-03-02 13:00+00', "to" => '2026-03-02 12:00+00');
-- each line corrects the error that the line before reports
SELECT try.* FROM (VALUES
	('13:00', '09:00', '{}', '-1 hour'),
	('13:00', '12:00', '{}', '-1 hour'),
	('13:00', '12:00', ARRAY[pg_temp.gang(1000, 1000, '2 hours', 9000), pg_temp.gang(5, 2)], '-1 hour'),
	('12:00', '14:00', ARRAY[pg_temp.gang(1000, 1000, '2 hours', 9000), pg_temp.gang(5, 2)], '-1 hour'),
	('12:00', '14:00', ARRAY[pg_temp.gang(5, 2, '2 hours', 9000), pg_temp.gang(0, 0)], '-1 hour'),
	('12:00', '14:00', ARRAY[pg_temp.gang(5, 2, '2 hours', 9000), pg_temp.gang(0, 0)], '1 hour'),
	('12:00', '14:00', ARRAY[pg_temp.gang(5, 2, '2 hours', 9000), pg_temp.gang(0, 0)], '5 hours'),
	('12:00', '14:00', ARRAY[pg_temp.gang(5, 2, '2 hours', 9000), pg_temp.gang(0, 0)], NULL),
	('12:00', '14:00', ARRAY[pg_temp.gang(6, 2, '2 hours', 9000), pg_temp.gang(0, 0)], NULL),
	('12:00', '14:00', ARRAY[pg_temp.gang(6, 2, '2 hours'), pg_temp.gang(0, 0)], NULL),
	('12:00', '14:00', ARRAY[pg_temp.gang(6, 2, '2 hours'), pg_temp.gang(0, 1)], NULL),
	('12:00', '14:00', ARRAY[pg_temp.gang(6, 2, '2 hours'), pg_temp.gang(90, 90, '2 hours')], NULL),
	('12:00', '14:00', ARRAY[pg_temp.gang(6, 2, '10 min'), pg_temp.gang(80, 80, '10 min')], NULL)
) AS v (arrival, deadline, requests, recurrence)
CROSS JOIN LATERAL pg_temp.try(yquota.reservation_contract(('2026-03-02 ' || v.arrival || '+00')::timestamptz, ('2026-03-02 ' || v.deadline || '+00')::timestamptz,
	v.requests, 'ALL', v.recurrence::interval)) AS try;

-- The largest allowed number of requests, of copies of a period, and of windows of a search, and in
-- each case one more.
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 13:00+00', array_fill(pg_temp.gang(1), '{1000}'), 'ANY')),
	   pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 13:00+00', array_fill(pg_temp.gang(1), '{1001}'), 'ANY'));
UPDATE yquota.scheduler_setting SET reservation_most_copies = 24;
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 13:00+00', ARRAY[pg_temp.gang(1)], 'ALL', '1 hour')),
	   pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 12:30+00', ARRAY[pg_temp.gang(1)], 'ALL', '30 min'));
UPDATE yquota.scheduler_setting SET reservation_most_copies = NULL;
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 12:00:01+00', ARRAY[pg_temp.gang(1, 1, '1 s')], 'ALL', '0.5 s')),
	   pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 12:00:00.5+00', ARRAY[pg_temp.gang(1, 1, '0.5 s')], 'ALL', '0.5 s'));
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 12:00+00'::timestamptz + 1000000 * interval '1 s', ARRAY[pg_temp.gang(1, 1, '1 s')])),
	   pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 12:00+00'::timestamptz + 1000001 * interval '1 s', ARRAY[pg_temp.gang(1, 1, '1 s')]));
UPDATE yquota.scheduler_setting SET reservation_most_windows = 3;
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(1)));
-- a search has six windows for each request
UPDATE yquota.scheduler_setting SET reservation_most_windows = 17;
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(1), pg_temp.gang(1))), pg_temp.try(pg_temp.noon(pg_temp.gang(1), pg_temp.gang(1), pg_temp.gang(1)));
UPDATE yquota.queue SET reservation_agent = 'GreedyReservationAgent' WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_most_windows = 2;
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(1), pg_temp.gang(1))), pg_temp.try(pg_temp.noon(pg_temp.gang(1), pg_temp.gang(1), pg_temp.gang(1)));
UPDATE yquota.queue SET reservation_agent = NULL WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_most_windows = NULL;

-- The plan does not store a periodic reservation for years in advance: it would have 17,280 steps a
-- day.
BEGIN;
SELECT accepted FROM yquota.submit_reservation('reservation_1_0005', 'root.plan', 'carol', '{}', 'q',
	yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 12:00:05+00', ARRAY[pg_temp.gang(1, 1, '5 s')], recurrence => '10 s'));
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-12-02 12:00+00', ARRAY[pg_temp.gang(1, 1, '1 day')]));
UPDATE yquota.queue SET reservation_window = 15768000000 WHERE path = 'root.plan';
SELECT pg_temp.try(yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-04 12:00+00', ARRAY[pg_temp.gang(1, 1, '1 day')]));
SAVEPOINT showing;
SELECT * FROM yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '2026-12-02 12:00+00');
ROLLBACK TO showing;
SELECT * FROM yquota.reservation_plan_text('root.plan', '2026-03-02 12:00+00', '2026-12-02 12:00+00');
ROLLBACK;

-- Limits of users are shares of the plan's capacity.
UPDATE yquota.queue SET instantaneous_max_capacity = 50, reservation_agent = 'org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.GreedyReservationAgent'
WHERE path = 'root.plan';
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(60, 60)));
UPDATE yquota.queue SET instantaneous_max_capacity = 100, average_capacity = 5 WHERE path = 'root.plan';
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(60, 60)));
UPDATE yquota.queue SET average_capacity = NULL, reservation_policy = 'NoOverCommitPolicy' WHERE path = 'root.plan';
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(90, 90)));
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(90, 90, '50 min')));
-- the plan has more reservations than the cluster has resources
UPDATE yquota.node SET total = '[memory-mb=1000,vcores=12]';
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(1)));
SELECT "from", "to", capacity, committed, available, by_user FROM yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '2026-03-02 13:00+00');
-- a setting allows further reservations in such a plan, and an update keeps its allocation
CREATE FUNCTION pg_temp.place(username text, containers integer, duration interval DEFAULT '10 min', recurrence interval DEFAULT NULL)
	RETURNS text LANGUAGE sql
	RETURN (SELECT concat_ws('; ', a.accepted, a.decided_by, to_char(a."from", 'HH24:MI'), to_char(a."to", 'HH24:MI'))
			FROM yquota.submit_reservation('reservation_1_0002', 'root.plan', username, '{}', 'p', yquota.reservation_contract(
				'2026-03-02 12:00+00', '2026-03-02 13:00+00', ARRAY[pg_temp.gang(containers, 1, duration)], 'ALL', recurrence), true) AS a);
CREATE FUNCTION pg_temp.replace(containers integer, duration interval DEFAULT '10 min') RETURNS text LANGUAGE sql
	RETURN (SELECT concat_ws('; ', a.accepted, a.decided_by, to_char(a."from", 'HH24:MI'), to_char(a."to", 'HH24:MI'))
			FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', yquota.reservation_contract(
				'2026-03-02 12:00+00', '2026-03-02 12:00+00'::timestamptz + duration, ARRAY[pg_temp.gang(containers, 1, duration)], 'ALL'), true) AS a);
CREATE FUNCTION pg_temp.around(OUT alice_1 text, OUT bob_8 text, OUT bob_50_min text, OUT bob_51_min text, OUT repeated text,
	OUT replace_11 text, OUT replace_10 text, OUT replace_9 text, OUT replace_8_longer text) LANGUAGE sql
	RETURN ROW(pg_temp.place('alice', 1), pg_temp.place('bob', 8), pg_temp.place('bob', 1, '50 min'), pg_temp.place('bob', 1, '51 min'),
		pg_temp.place('bob', 1, '10 min', '12 hours'), pg_temp.replace(11), pg_temp.replace(10), pg_temp.replace(9), pg_temp.replace(8, '15 min'));
\x on
SELECT * FROM pg_temp.around();
UPDATE yquota.scheduler_setting SET reservation_plans_around_overcommitment = true;
SELECT * FROM pg_temp.around();
UPDATE yquota.queue SET reservation_agent = NULL WHERE path = 'root.plan';
SELECT * FROM pg_temp.around();
UPDATE yquota.queue SET reservation_policy = NULL WHERE path = 'root.plan';
SELECT * FROM pg_temp.around();
UPDATE yquota.scheduler_setting SET reservation_plans_around_overcommitment = NULL;
\x off
UPDATE yquota.node SET total = '[memory-mb=12500,vcores=12]';

-- Hadoop's manual says that 1 means the whole plan. A setting makes this true.
UPDATE yquota.queue SET instantaneous_max_capacity = 1, average_capacity = 0.02 WHERE path = 'root.plan';
SELECT pg_temp.place('bob', 1), pg_temp.place('bob', 2);
UPDATE yquota.scheduler_setting SET reservation_reads_fractions = true;
SELECT pg_temp.place('bob', 1), pg_temp.place('bob', 80, '1 min'), pg_temp.place('bob', 81, '3 min'), pg_temp.try(pg_temp.noon(pg_temp.gang(80, 80)));
UPDATE yquota.queue SET instantaneous_max_capacity = 50, average_capacity = NULL WHERE path = 'root.plan';
SELECT pg_temp.place('bob', 48, '1 hour'), pg_temp.place('bob', 51, '1 hour');
UPDATE yquota.scheduler_setting SET reservation_reads_fractions = NULL;
UPDATE yquota.queue SET instantaneous_max_capacity = NULL WHERE path = 'root.plan';

-- A refused dry run offers alternatives that would be accepted: more time, or fewer containers.
CREATE FUNCTION pg_temp.offer(requests yquota.reservation_request[], interpreter yquota.reservation_interpreter DEFAULT 'ALL', recurrence interval DEFAULT NULL, until timestamptz DEFAULT '2026-03-02 13:00+00',
	username text DEFAULT 'bob', OUT decided_by text, OUT later timestamptz, OUT fewer text, OUT both_accepted text) LANGUAGE plpgsql AS $$
DECLARE
	answer record;
BEGIN
	SELECT * INTO answer FROM yquota.submit_reservation('reservation_1_0002', 'root.plan', username, '{}', 'p',
		yquota.reservation_contract('2026-03-02 12:00+00', until, requests, interpreter, recurrence, 5, 'offered'), true);
	decided_by := answer.decided_by;
	later := (answer.with_later_deadline).deadline;
	fewer := (SELECT string_agg(concat_ws('/', r.num_containers, r.concurrency), ' ') FROM unnest((answer.with_fewer_containers).requests) AS r);
	both_accepted := (SELECT string_agg(concat_ws('/', s.accepted, (o.definition).priority, (o.definition).reservation_name), ' ')
		FROM (VALUES (answer.with_later_deadline), (answer.with_fewer_containers)) AS o (definition)
		CROSS JOIN LATERAL yquota.submit_reservation('reservation_1_0002', 'root.plan', username, '{}', 'p', o.definition, true) AS s
		WHERE NOT o.definition IS NULL);
END $$;
CREATE FUNCTION pg_temp.offers(OUT number integer, OUT decided_by text, OUT later timestamptz, OUT fewer text, OUT both_accepted text) RETURNS SETOF record LANGUAGE sql
BEGIN ATOMIC
	SELECT t.number, o.* FROM (VALUES
		-- The first reservation is accepted, and the others are refused. A refused reservation
		-- needs more time than its window has, or at some time more containers than the plan has
		-- beside alice's ten.
		(1, ARRAY[pg_temp.gang(1)], 'ALL', NULL, '13:00'), (2, ARRAY[pg_temp.gang(1), pg_temp.gang(2, 2, '50 min')], 'ORDER', NULL, '12:30'),
		(3, ARRAY[pg_temp.gang(200, 10, '40 min')], 'ALL', NULL, '13:00'), (4, ARRAY[pg_temp.gang(90, 90, '55 min')], 'ALL', NULL, '13:00'),
		(5, ARRAY[pg_temp.gang(194, 97)], 'ALL', NULL, '13:00'), (6, ARRAY[pg_temp.gang(97, 97), pg_temp.gang(10, 2)], 'ANY', NULL, '12:05'),
		-- the offer with fewer containers reduces all requests in proportion; the window of a periodic
		-- reservation is at most its period
		(7, ARRAY[pg_temp.gang(300, 2, '20 min'), pg_temp.gang(100, 10, '20 min'), pg_temp.gang(3, 3, '20 min')], 'ALL', NULL, '13:00'),
		(8, ARRAY[pg_temp.gang(96, 96, '55 min')], 'ALL', '2 hours', '13:00'), (9, ARRAY[pg_temp.gang(960, 1, '25 min')], 'ALL', '2 hours', '13:00'),
		-- for violations of these rules neither alternative helps
		(10, ARRAY[pg_temp.gang(1, 1, '10 min', 8193)], 'ALL', NULL, '13:00'), (11, ARRAY[pg_temp.gang(1)], 'ALL', '30 min', '13:00'),
		(12, ARRAY[pg_temp.gang(101, 101)], 'ALL', '-1 hour', '13:00')) AS t (number, requests, interpreter, recurrence, until)
	CROSS JOIN LATERAL pg_temp.offer(t.requests, t.interpreter::yquota.reservation_interpreter, t.recurrence::interval, ('2026-03-02 ' || t.until || '+00')::timestamptz) AS o
	ORDER BY t.number;
END;
SELECT * FROM pg_temp.offers();
UPDATE yquota.queue SET reservation_agent = 'GreedyReservationAgent' WHERE path = 'root.plan';
SELECT * FROM pg_temp.offers();
UPDATE yquota.queue SET average_capacity = 50 WHERE path = 'root.plan';
SELECT * FROM pg_temp.offer(ARRAY[pg_temp.gang(60, 60, '1 hour')]);
UPDATE yquota.queue SET average_capacity = NULL, reservation_agent = NULL WHERE path = 'root.plan';
-- for an update the old version counts as free
SELECT accepted, decided_by, (with_later_deadline).deadline, (with_fewer_containers).requests FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(97, 97)), true);
SELECT accepted, decided_by, (with_later_deadline).deadline, (with_fewer_containers).requests FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(20, 20, '61 min')), true);
-- a real submission gets no alternatives
SELECT accepted, decided_by, with_later_deadline, with_fewer_containers FROM yquota.submit_reservation('reservation_1_0002', 'root.plan', 'bob', '{}', 'p', pg_temp.noon(pg_temp.gang(97, 97)));
SELECT count(*) FROM yquota.reservation_definition;

-- A clock that steps back changes no reservation, and neither does a clock that steps forward and
-- back.
SELECT yquota.set_clock('2026-03-02 09:30+00');
SELECT * FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(10, 10)));
SELECT accepted, accepted_at FROM yquota.submit_reservation('reservation_1_0008', 'root.plan', 'alice', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.set_clock('2026-03-02 15:00+00');
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'alice', '{}');
SELECT yquota.set_clock('2026-03-02 09:00+00');
SELECT accepted, accepted_at FROM yquota.update_reservation('reservation_1_0008', 'alice', '{}', pg_temp.noon(pg_temp.gang(2)));
SELECT deleted, ended_at FROM yquota.delete_reservation('reservation_1_0008', 'alice', '{}');
SELECT version, accepted_at, ended_at, ended_by FROM yquota.reservation_definition WHERE reservation_id = 'reservation_1_0008' ORDER BY version;
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'alice', '{}');
DELETE FROM yquota.reservation_definition WHERE reservation_id = 'reservation_1_0008';
SELECT yquota.set_clock('2026-03-02 10:00:01+00');

-- Unknown classes are refused when the configuration is checked.
UPDATE yquota.queue SET reservation_agent = 'org.example.LuckyAgent' WHERE path = 'root.plan';
UPDATE yquota.queue SET reservation_policy = 'LuckyPolicy' WHERE path = 'root.plan';
UPDATE yquota.queue SET reservation_planner = 'LuckyPlanner' WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_system_plan_follower = 'FairSchedulerPlanFollower';
-- times are refused when their sums would overflow
UPDATE yquota.queue SET reservation_window = 9223372036854775807 WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = 3153600000001;
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = 3153600000001;
BEGIN;
UPDATE yquota.queue SET reservation_window = 3153600000000, reservation_enforcement_window = 9223372036854775807 WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = 3153600000000, reservation_system_max_periodicity = 3153600000000;
SET CONSTRAINTS ALL IMMEDIATE;
SELECT pg_temp.try(pg_temp.noon(pg_temp.gang(1)));
SELECT count(*) FROM yquota.follow_plans();
SELECT yquota_internal.watch_plans(yquota.clock());
SELECT yquota.remove_ended_reservations('2026-03-01 10:00+00');
ROLLBACK;
UPDATE yquota.queue SET reservation_agent = NULL, reservation_policy = NULL WHERE path = 'root.plan';

-- An update replaces the old version, which stays as history. A repeated update decides nothing.
SELECT yquota.set_clock('2026-03-02 10:00:02+00');
SELECT * FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(20, 20)), dry_run => true);
SELECT * FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(200, 200)));
SELECT * FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(20, 20)));
SELECT yquota.set_clock('2026-03-02 10:00:03+00');
SELECT * FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(20, 20)));
SELECT reservation_id, version, username, (requests[1]).num_containers, accepted_at, ended_at, ended_by FROM yquota.reservation_definition ORDER BY 1, 2;
SELECT yquota.update_reservation('reservation_1_0007', 'alice', '{}', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.update_reservation('reservation_1_0001', 'alice', '{}', NULL);

-- A periodic reservation: the rows of its first period, and its allocation over two days.
SELECT * FROM yquota.submit_reservation('reservation_1_0003', 'root.plan', 'bob', '{}', 'q',
	yquota.reservation_contract('2026-03-02 22:30+00', '2026-03-03 02:30+00', ARRAY[pg_temp.gang(4, 4, '4 hours')], recurrence => '12 hours', priority => 7, reservation_name => 'nightly'));
SELECT "from", "to", allocation FROM yquota.reservation_allocation WHERE reservation_id = 'reservation_1_0003' ORDER BY "from";
SELECT "from", "to", committed, by_user FROM yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '2026-03-04 12:00+00');
-- The part of an allocation that crosses midnight, a multiple of 12 hours, is lost. A setting keeps
-- it.
UPDATE yquota.scheduler_setting SET reservation_wraps_periods = true;
SELECT accepted, "from", "to" FROM yquota.update_reservation('reservation_1_0003', 'bob', '{}',
	yquota.reservation_contract('2026-03-02 22:30+00', '2026-03-03 02:30+00', ARRAY[pg_temp.gang(4, 4, '4 hours')], recurrence => '12 hours', priority => 7, reservation_name => 'nightly'));
SELECT "from", "to", allocation FROM yquota.reservation_allocation WHERE reservation_id = 'reservation_1_0003' AND version = 2 ORDER BY "from";
SELECT "from", "to", committed FROM yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '2026-03-03 12:00+00');
UPDATE yquota.scheduler_setting SET reservation_wraps_periods = NULL;
-- the largest period must be a multiple of its recurrence, because otherwise the plan would not see
-- the reservation
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = 21600000;
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = 129600000;
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = NULL;
SELECT yquota.plan_allocation('root.plan', NULL, '2026-03-04 12:00+00');
SELECT yquota.plan_allocation('root.plan', '2026-03-04 12:00+00', '2026-03-02 12:00+00');
SELECT yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '9026-03-02 12:00+00');
SELECT yquota.plan_allocation('root.other', '2026-03-02 12:00+00', '2026-03-04 12:00+00');

-- Lists.
SELECT reservation_id, username, project, (definition).arrival, (definition).recurrence, version, accepted_at, allocations FROM yquota.list_reservations('root.plan', 'carol', '{}');
SELECT reservation_id, allocations FROM yquota.list_reservations('root.plan', 'carol', '{}', 'reservation_1_0001', include_allocations => true);
SELECT reservation_id FROM yquota.list_reservations('plan', 'carol', '{}', "from" => '2026-03-05 11:00+00', "to" => '2026-03-05 12:00+00');
SELECT reservation_id FROM yquota.list_reservations('plan', 'carol', '{}', "from" => '2026-03-05 08:00+00', "to" => '2026-03-05 09:00+00');
SELECT reservation_id FROM yquota.list_reservations('plan', 'carol', '{}', "to" => '2026-03-02 12:00+00');
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'carol', '{}', "from" => '2026-03-05 12:00+00', "to" => '2026-03-05 11:00+00');
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'carol', '{}', 'reservation_1_0001', "from" => '2026-03-05 12:00+00', "to" => '2026-03-05 11:00+00');
SELECT reservation_id FROM yquota.list_reservations('root.other', 'carol', '{}');
SELECT reservation_id FROM yquota.list_reservations(NULL, 'carol', '{}');

-- ACLs of the plan apply when both acl_enable and reservation_acl_enable are on.
UPDATE yquota.queue SET acl_submit_reservations = 'alice staff', acl_list_reservations = 'lister', acl_administer_reservations = 'boss' WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_acl_enable = true;
SELECT accepted FROM yquota.submit_reservation('reservation_1_0004', 'root.plan', 'bob', '{}', 'q', pg_temp.noon(pg_temp.gang(1)), true);
UPDATE yquota.scheduler_setting SET acl_enable = true;
SELECT accepted, decided_by, reason FROM yquota.submit_reservation('reservation_1_0004', 'root.plan', 'bob', '{}', 'q', pg_temp.noon(pg_temp.gang(1)));
SELECT accepted, decided_by FROM yquota.submit_reservation('reservation_1_0004', 'root.plan', 'bob', '{staff}', 'q', pg_temp.noon(pg_temp.gang(1)), true);
SELECT accepted, decided_by FROM yquota.submit_reservation('reservation_1_0004', 'root.plan', 'boss', '{}', 'q', pg_temp.noon(pg_temp.gang(1)), true);
-- the rules for the input are checked before the ACLs
SELECT accepted, decided_by FROM yquota.submit_reservation('reservation_1_0004', 'root.plan', 'bob', '{}', 'q', pg_temp.noon(pg_temp.gang(101, 101)));
SELECT u.name, array(SELECT l.reservation_id FROM yquota.list_reservations('root.plan', u.name, '{}') AS l) AS sees,
	   array(SELECT l.reservation_id FROM yquota.list_reservations('root.plan', u.name, '{}', 'reservation_1_0003') AS l) AS sees_3
FROM unnest('{alice,bob,carol,lister,boss}'::text[]) AS u (name);
SELECT accepted, decided_by, reason FROM yquota.update_reservation('reservation_1_0001', 'lister', '{}', pg_temp.noon(pg_temp.gang(2)));
SELECT accepted, decided_by FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(2)), true);
SELECT accepted, decided_by FROM yquota.update_reservation('reservation_1_0001', 'boss', '{}', pg_temp.noon(pg_temp.gang(3)));
-- after the update the reservation belongs to boss
SELECT accepted, decided_by FROM yquota.update_reservation('reservation_1_0001', 'alice', '{}', pg_temp.noon(pg_temp.gang(2)), true);
SELECT * FROM yquota.delete_reservation('reservation_1_0003', 'alice', '{}');
SELECT * FROM yquota.delete_reservation('reservation_1_0003', 'bob', '{}');
SELECT yquota.set_clock('2026-03-02 10:00:04+00');
SELECT * FROM yquota.delete_reservation('reservation_1_0003', 'bob', '{}');
SELECT * FROM yquota.delete_reservation('reservation_1_0009', 'bob', '{}');
SELECT yquota.submit_reservation('reservation_1_0003', 'root.plan', 'bob', '{}', 'q',
	yquota.reservation_contract('2026-03-02 22:30+00', '2026-03-03 02:30+00', ARRAY[pg_temp.gang(4, 4, '4 hours')], recurrence => '12 hours', priority => 7, reservation_name => 'nightly'));
SELECT yquota.update_reservation('reservation_1_0003', 'bob', '{}', pg_temp.noon(pg_temp.gang(1)));
SELECT yquota.update_reservation('reservation_1_0003', 'bob', '{}', NULL);
SELECT "from", "to", committed, by_user FROM yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '2026-03-03 12:00+00');
UPDATE yquota.scheduler_setting SET acl_enable = false;

-- An ended reservation counts in the plan for one more window, and then only its rows remain.
SELECT yquota.set_clock('2026-03-02 13:59:59.999+00');
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'carol', '{}');
SELECT yquota.set_clock('2026-03-02 14:00+00');
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'carol', '{}');
SELECT yquota.update_reservation('reservation_1_0001', 'boss', '{}', yquota.reservation_contract('2026-03-02 15:00+00', '2026-03-02 16:00+00', ARRAY[pg_temp.gang(1)]));
SELECT count(*) FROM yquota.reservation_definition WHERE ended_at IS NULL;
-- a periodic reservation ends in this way, too, unless it has its allocation in each period
BEGIN;
SELECT accepted, "from", "to" FROM yquota.submit_reservation('reservation_1_0005', 'root.plan', 'carol', '{}', 'q',
	yquota.reservation_contract('2026-03-02 14:00+00', '2026-03-02 14:10+00', ARRAY[pg_temp.gang(5, 5)], recurrence => '12 hours'));
SELECT yquota.set_clock('2026-03-09 10:00+00');
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'carol', '{}');
SELECT count(*) FROM yquota.plan_allocation('root.plan', '2026-03-09 12:00+00', '2026-03-10 12:00+00');
SAVEPOINT gone;
SELECT yquota.update_reservation('reservation_1_0005', 'carol', '{}', pg_temp.noon(pg_temp.gang(1)));
ROLLBACK TO gone;
UPDATE yquota.scheduler_setting SET reservation_repeats_allocation = true;
SELECT reservation_id FROM yquota.list_reservations('root.plan', 'carol', '{}');
SELECT "from", "to", committed FROM yquota.plan_allocation('root.plan', '2026-03-09 12:00+00', '2026-03-10 12:00+00');
SELECT yquota.remove_ended_reservations('infinity');
SELECT reservation_id, ended_by FROM yquota.reservation_definition WHERE username = 'carol';
SELECT accepted, "from", "to" FROM yquota.update_reservation('reservation_1_0005', 'carol', '{}',
	yquota.reservation_contract('2026-03-02 14:00+00', '2026-03-02 14:10+00', ARRAY[pg_temp.gang(5, 5)], recurrence => '1 day'), true);
SELECT accepted, "from", "to" FROM yquota.update_reservation('reservation_1_0005', 'carol', '{}',
	yquota.reservation_contract('2026-03-09 14:00+00', '2026-03-09 14:10+00', ARRAY[pg_temp.gang(6, 6)], recurrence => '12 hours'));
SELECT deleted, ended_at FROM yquota.delete_reservation('reservation_1_0005', 'carol', '{}');
SELECT yquota.set_clock('2026-03-09 16:00+00');
SELECT yquota.remove_ended_reservations('2026-03-09 15:30+00');
ROLLBACK;

-- Roles without superuser: operators act for the resource manager, members see reservations of their projects, and
-- every role sees its own.
CREATE ROLE yquota_reservation_operator LOGIN;
CREATE ROLE yquota_reservation_member LOGIN;
CREATE ROLE yquota_reservation_viewer LOGIN;
SELECT yquota.allow_role('yquota_reservation_operator', 'operator');
SELECT yquota.allow_role('yquota_reservation_member', 'member', 'q');
SELECT yquota.allow_role('yquota_reservation_viewer', 'viewer');
SELECT yquota.set_clock('2026-03-02 10:00+00');
GRANT TEMPORARY ON DATABASE yquota_reservation TO yquota_reservation_operator;
SET ROLE yquota_reservation_operator;
SELECT accepted, paying_project FROM yquota.price_quote(pg_temp.noon(pg_temp.gang(1)), 'root.plan', 'dave', '{}', 'q');
SELECT accepted FROM yquota.submit_reservation(yquota.new_reservation_id(), 'root.plan', 'dave', '{}', 'q', pg_temp.noon(pg_temp.gang(1)));
SELECT accepted FROM yquota.update_reservation((SELECT max(reservation_id) FROM yquota.reservation_definition WHERE username = 'dave'), 'dave', '{}', pg_temp.noon(pg_temp.gang(2)));
SELECT username, version, ended_by FROM yquota.reservation_definition ORDER BY username, version;
SELECT count(*) FROM yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '2026-03-03 12:00+00');
DELETE FROM yquota.reservation_definition;
RESET ROLE;
SET ROLE yquota_reservation_member;
SELECT username, version, ended_by FROM yquota.reservation_definition ORDER BY username, version;
SELECT count(*) FROM yquota.reservation_allocation;
SELECT yquota.delete_reservation('reservation_1_0001', 'boss', '{}');
SELECT count(*) FROM yquota.plan_allocation('root.plan', '2026-03-02 12:00+00', '2026-03-03 12:00+00');
RESET ROLE;
SET ROLE yquota_reservation_viewer;
SELECT count(*) FROM yquota.list_reservations('root.plan', 'dave', '{}');
SELECT count(*) FROM yquota.reservation_definition;
SELECT yquota.submit_reservation('reservation_1_0008', 'root.plan', 'dave', '{}', 'q', pg_temp.noon(pg_temp.gang(1)));
RESET ROLE;
SELECT yquota.disallow_role('yquota_reservation_operator', 'operator'), yquota.disallow_role('yquota_reservation_member', 'member', 'q'), yquota.disallow_role('yquota_reservation_viewer', 'viewer');

-- A read-only transaction may do a dry run, but not submit.
BEGIN READ ONLY;
SELECT accepted FROM yquota.submit_reservation('reservation_1_0008', 'root.plan', 'dave', '{}', 'q', pg_temp.noon(pg_temp.gang(1)), dry_run => true);
SELECT yquota.submit_reservation('reservation_1_0008', 'root.plan', 'dave', '{}', 'q', pg_temp.noon(pg_temp.gang(1)));
ROLLBACK;

-- remove_ended_reservations() deletes ended reservations, and reservations whose deadline is past
-- by a window.
SELECT yquota.remove_ended_reservations('2026-03-02 10:00:02.5+00'), count(*) FROM yquota.reservation_definition;
SELECT yquota.set_clock('2026-03-02 13:30+00');
SELECT yquota.remove_ended_reservations('infinity');
SELECT reservation_id, version, ended_by FROM yquota.reservation_definition WHERE username <> 'dave' ORDER BY 1, 2;
SELECT yquota.set_clock('2026-03-02 14:00:01+00');
SELECT yquota.remove_ended_reservations('2026-03-02 13:59+00'), yquota.remove_ended_reservations('infinity');
SELECT count(*) FROM yquota.reservation_allocation;
SELECT yquota.set_clock('2026-03-02 10:00+00');
SELECT accepted FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'boss', '{}', 'p', pg_temp.noon(pg_temp.gang(1)));

-- The rows of an allocation have the values of their reservation, and end with it.
SELECT count(*), count(a.ended_at), count(*) FILTER (WHERE (a.queue, a.username, a.deadline, a.recurrence, a.ended_at) IS DISTINCT FROM (d.queue, d.username, d.deadline, d.recurrence, d.ended_at)) AS differ
FROM yquota.reservation_allocation AS a JOIN yquota.reservation_definition AS d USING (reservation_id, version);
SELECT yquota.set_clock('2026-03-02 10:00:05+00');
SELECT accepted FROM yquota.update_reservation('reservation_1_0001', 'boss', '{}', pg_temp.noon(pg_temp.gang(3)));
SELECT accepted FROM yquota.submit_reservation('reservation_1_0005', 'root.plan', 'eve', '{}', 'q',
	yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 13:00+00', ARRAY[pg_temp.gang(1)], recurrence => '2 hours'));
SELECT deleted FROM yquota.delete_reservation('reservation_1_0005', 'eve', '{}');
SELECT count(*), count(a.ended_at), count(*) FILTER (WHERE (a.queue, a.username, a.deadline, a.recurrence, a.ended_at) IS DISTINCT FROM (d.queue, d.username, d.deadline, d.recurrence, d.ended_at)) AS differ
FROM yquota.reservation_allocation AS a JOIN yquota.reservation_definition AS d USING (reservation_id, version);

-- When a queue is no longer a plan, the rows of its reservations stay, and count again when it is a
-- plan again.
SELECT accepted FROM yquota.submit_reservation('reservation_1_0006', 'root.plan', 'eve', '{}', 'q',
	yquota.reservation_contract('2026-03-02 12:00+00', '2026-03-02 13:00+00', ARRAY[pg_temp.gang(1)], recurrence => '8 hours'));
UPDATE yquota.queue SET reservable = NULL WHERE path = 'root.plan';
SELECT yquota.delete_reservation('reservation_1_0001', 'boss', '{}');
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = 43200000;
UPDATE yquota.queue SET state = 'STOPPED' WHERE path = 'root.plan';
UPDATE yquota.queue SET reservable = true, state = NULL WHERE path = 'root.plan';
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = NULL;

-- Imported settings are exported.
SELECT yquota.import_hadoop_configuration('{"yarn.resourcemanager.reservation-system.max-periodicity": "43200000", "yarn.resourcemanager.reservation-system.smoothness-factor": "5",
	"yarn.resourcemanager.reservation-system.favor-early-allocation": "false", "yarn.acl.reservation-enable": "true"}'::jsonb);
SELECT (xpath('/property/name/text()', p))[1] AS name, (xpath('/property/value/text()', p))[1] AS value
FROM unnest(xpath('//property[contains(name, "reservation")]', yquota.export_hadoop_configuration('yarn-site.xml'))) AS p;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_reservation WITH (FORCE);
DROP ROLE yquota_reservation_operator, yquota_reservation_member, yquota_reservation_viewer;
