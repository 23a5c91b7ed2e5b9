-- Test vectors of reservations by name, with the results that Hadoop's own tests assert, as far as
-- SQL can reach them. They cover input (V), plans (N), agents (G, A) and sharing policies (C). A
-- result is the allocation of the reservation, as [from,to)=GB in steps of the plan, or the rule
-- that refuses it.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation_vectors WITH (FORCE);
CREATE DATABASE yquota_reservation_vectors;
\c yquota_reservation_vectors
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
INSERT INTO yquota.project (name) VALUES ('p');
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.scheduler_setting (reservation_system_enable, maximum_allocation_mb, maximum_allocation_vcores) VALUES (true, 8192, 8);
INSERT INTO yquota.queue (path, capacity, reservable, position) VALUES ('root', NULL, NULL, 1), ('root.plan', '100', true, 2), ('root.other', '0', NULL, 3);

CREATE FUNCTION pg_temp.time(ms bigint) RETURNS timestamptz LANGUAGE sql RETURN to_timestamp(0) + ms * interval '1 ms';
CREATE FUNCTION pg_temp.size(mb bigint, vcores bigint) RETURNS yquota.resource LANGUAGE sql
	RETURN yquota.resource(jsonb_build_object('memory-mb', mb, 'vcores', vcores));

-- Create a plan of that size, with steps of so many seconds, that starts at the epoch.
CREATE PROCEDURE pg_temp.plan(mb bigint, vcores bigint, step integer DEFAULT 1, agent text DEFAULT 'GreedyReservationAgent',
	policy text DEFAULT 'CapacityOverTimePolicy', is_early boolean DEFAULT true, instantaneous real DEFAULT 100, average real DEFAULT 100,
	hold_over bigint DEFAULT 86400000) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE yquota.node, yquota.reservation_definition CASCADE;
	PERFORM yquota.set_clock('1970-01-01 00:00:00.001+00');
	INSERT INTO yquota.node (name, total) VALUES ('n', pg_temp.size(mb, vcores));
	UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = 1000 * step, reservation_system_favor_early_allocation = is_early;
	UPDATE yquota.queue SET reservation_agent = agent, reservation_policy = policy, instantaneous_max_capacity = instantaneous,
		average_capacity = average, reservation_window = hold_over
	WHERE path = 'root.plan';
END $$;

-- Return the answer of a plan: the error, the rule that refuses, or the allocation, in units of so
-- many milliseconds.
CREATE FUNCTION pg_temp.place(id text, unit bigint) RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(format('[%s,%s)=%s', (extract(epoch FROM a."from") * 1000 / unit)::numeric(20, 0), (extract(epoch FROM a."to") * 1000 / unit)::numeric(20, 0),
				yquota.amount(a.allocation, 'memory-mb') / 1024), ' ' ORDER BY a."from")
			FROM yquota.reservation_definition AS d JOIN yquota.reservation_allocation AS a USING (reservation_id, version)
			WHERE d.reservation_id = id AND d.ended_at IS NULL);
CREATE FUNCTION pg_temp.ask(number integer, username text, contract yquota.reservation_contract, unit bigint DEFAULT 1000) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	id CONSTANT text := format('reservation_1_%s', lpad(number::text, 4, '0'));
	answer record;
BEGIN
	SELECT * INTO answer FROM yquota.submit_reservation(id, 'root.plan', username, '{}', 'p', contract);
	RETURN CASE WHEN answer.accepted THEN pg_temp.place(id, unit) ELSE answer.decided_by END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

-- "2x10 g5 d10" is a request of 10 containers of 2 GB and 2 cores in gangs of 5, for 10 units of time.
CREATE FUNCTION pg_temp.requests(texts text, unit bigint) RETURNS yquota.reservation_request[] LANGUAGE sql
	RETURN (SELECT array_agg(yquota.reservation_request(pg_temp.size(m[1]::bigint * 1024, m[1]::bigint), m[2]::integer, m[4]::bigint * unit * interval '1 ms', m[3]::integer) ORDER BY place)
			FROM regexp_split_to_table(texts, ', *') WITH ORDINALITY AS t (request, place)
			CROSS JOIN LATERAL regexp_match(t.request, '(\d+)x(\d+) g(\d+) d(\d+)') AS m);
CREATE FUNCTION pg_temp.contract(interpreter text, arrival bigint, deadline bigint, texts text, unit bigint DEFAULT 1000, recurrence bigint DEFAULT NULL)
	RETURNS yquota.reservation_contract LANGUAGE sql
	RETURN yquota.reservation_contract(pg_temp.time(arrival * unit), pg_temp.time(deadline * unit), pg_temp.requests(texts, unit),
		interpreter::yquota.reservation_interpreter, recurrence * interval '1 ms');

-- Load the plan from a time on: one reservation of another user in each step.
CREATE PROCEDURE pg_temp.load(first bigint, gb bigint[], unit bigint DEFAULT 1000) LANGUAGE sql AS $$
	WITH loaded AS (
		INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, accepted_at)
		SELECT format('reservation_0_%s', lpad((first + i)::text, 4, '0')), 1, 'root.plan', 'load', 'p', pg_temp.time((first + i - 1) * unit),
			   pg_temp.time((first + i) * unit), 'ANY', '{}', pg_temp.time(0)
		FROM generate_subscripts(gb, 1) AS i
		RETURNING reservation_id, version, arrival, deadline)
	SELECT count(*) FROM loaded;
	INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, "from", "to", allocation)
	SELECT d.reservation_id, 1, d.queue, d.username, d.deadline, d.arrival, d.deadline, pg_temp.size(1024 * gb[extract(epoch FROM d.arrival) * 1000 / unit - first + 1], gb[extract(epoch FROM d.arrival) * 1000 / unit - first + 1])
	FROM yquota.reservation_definition AS d
	WHERE d.username = 'load' AND extract(epoch FROM d.arrival) * 1000 / unit BETWEEN first AND first + cardinality(gb) - 1
	  AND NOT EXISTS (SELECT FROM yquota.reservation_allocation AS a WHERE a.reservation_id = d.reservation_id);
$$;

-- V: input. The arguments are requests, containers, arrival, deadline, duration, and recurrence in ms.
-- The clock shows 1 ms.
CREATE FUNCTION pg_temp.input(requests integer, containers integer, arrival bigint, deadline bigint, duration bigint, recurrence text DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer record;
BEGIN
	SELECT * INTO answer FROM yquota.submit_reservation('reservation_1_0001', 'root.plan', 'u', '{}', 'p',
		yquota.reservation_contract(pg_temp.time(arrival), pg_temp.time(deadline),
			array_fill(yquota.reservation_request('[memory-mb=1024,vcores=1]', containers, duration * interval '1 ms'), ARRAY[requests]), 'ALL', (recurrence || ' ms')::interval), dry_run => true);
	RETURN concat_ws(': ', CASE WHEN answer.accepted THEN 'ok' ELSE answer.decided_by END, answer.reason);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CALL pg_temp.plan(10240, 10);
UPDATE yquota.scheduler_setting SET reservation_system_planfollower_time_step = 1;
SELECT v.id, pg_temp.input(v.requests, v.containers, v.arrival, v.deadline, v.duration, v.recurrence) FROM (VALUES
	('V1', 1, 1, 1, 5, 3, NULL), ('V2', 1, 1, 1, 0, 3, NULL), ('V3', 1, 1, 1, 3, 4, NULL), ('V5', 0, 0, 1, 5, 3, NULL), ('V5', 1, 0, 1, 5, 3, NULL),
	('V6', 1, 1, 1, 5, 3, '600000'), ('V7', 1, 1, 1, 5, 3, '-1234'), ('V8', 1, 1, 1, 5, 3, '123abc'), ('V9', 1, 1, 1, 50, 3, '10'),
	('V10', 1, 1, 1, 5, 3, '43200001')) AS v (id, requests, containers, arrival, deadline, duration, recurrence);
CALL pg_temp.plan(512, 1);
SELECT 'V4' AS id, pg_temp.input(1, 1, 1, 5, 4);
SELECT 'V11' AS id, count(*) FROM yquota.list_reservations('root.plan', 'u', '{}', "from" => pg_temp.time(2000), "to" => pg_temp.time(1000));
SELECT 'V12' AS id, yquota.submit_reservation('reservation_1_0001', NULL, 'u', '{}', 'p', pg_temp.contract('ALL', 1, 5, '1x1 g1 d1'));
SELECT 'V12' AS id, yquota.submit_reservation('reservation_1_0001', 'root.none', 'u', '{}', 'p', pg_temp.contract('ALL', 1, 5, '1x1 g1 d1'));
SELECT 'V12' AS id, yquota.submit_reservation('reservation_1_0001', 'root.plan', 'u', '{}', 'p', NULL);
SELECT 'V12' AS id, yquota.update_reservation(NULL, 'u', '{}', pg_temp.contract('ALL', 1, 5, '1x1 g1 d1'));
SELECT 'V12' AS id, yquota.update_reservation('reservation_1_0001', 'u', '{}', pg_temp.contract('ALL', 1, 5, '1x1 g1 d1'));
SELECT 'V12' AS id, yquota.delete_reservation(NULL, 'u', '{}');
SELECT 'V12' AS id, yquota.delete_reservation('reservation_1_0001', 'u', '{}');

-- N: plans of 100 GB without limits of users. Times are in seconds.
CALL pg_temp.plan(102400, 100, policy => 'NoOverCommitPolicy');
SELECT 'N1' AS id, pg_temp.ask(1, 'u', pg_temp.contract('ALL', 100, 106, '1x10 g10 d6'));
SELECT 'N1' AS id, extract(epoch FROM "from")::bigint AS "from", extract(epoch FROM "to")::bigint AS "to", committed, by_user FROM yquota.plan_allocation('root.plan', pg_temp.time(90000), pg_temp.time(120000));
SELECT 'N2' AS id, pg_temp.ask(2, 'u', pg_temp.contract('ALL', 150, 330, '1x1 g1 d1', recurrence => 50000));
-- A reservation of {10,50} from 10 on repeats every 20 s. It leaves 90 GB at 130, and with a period
-- of 50 s also at 140 and 150.
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = 100000;
SELECT 'N3' AS id, pg_temp.ask(3, 'u', pg_temp.contract('ORDER', 10, 12, '1x10 g10 d1, 1x50 g50 d1', recurrence => 20000));
SELECT 'N3' AS id, extract(epoch FROM "from")::bigint AS "from", extract(epoch FROM "to")::bigint AS "to", committed, available FROM yquota.plan_allocation('root.plan', pg_temp.time(120000), pg_temp.time(170000));
SELECT 'N3' AS id, v.at, v.gb, CASE WHEN s.accepted THEN 'ok' ELSE s.decided_by END AS answer
FROM (VALUES (130, 90), (130, 91), (140, 90), (140, 91), (150, 90), (150, 91)) AS v (at, gb)
CROSS JOIN LATERAL yquota.submit_reservation('reservation_1_0004', 'root.plan', 'u', '{}', 'p',
	pg_temp.contract('ALL', v.at, v.at + 1, format('1x%s g%1$s d1', v.gb), recurrence => 50000), dry_run => true) AS s;
SELECT 'N3' AS id, deleted FROM yquota.delete_reservation('reservation_1_0003', 'u', '{}');
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = NULL;
-- a plan can contain a reservation without an allocation, although no agent places one
SELECT 'N4' AS id, pg_temp.ask(4, 'u', yquota.reservation_contract(pg_temp.time(100000), pg_temp.time(106000), ARRAY[yquota.reservation_request('[memory-mb=0,vcores=0]', 1, '1 s')]));
INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, accepted_at)
VALUES ('reservation_1_0004', 1, 'root.plan', 'u', 'p', pg_temp.time(100000), pg_temp.time(106000), 'ANY', '{}', pg_temp.time(0));
SELECT 'N4' AS id, count(*) FROM yquota.list_reservations('root.plan', 'u', '{}', 'reservation_1_0004');
SELECT 'N4' AS id, accepted FROM yquota.update_reservation('reservation_1_0004', 'u', '{}', pg_temp.contract('ALL', 100, 106, '1x1 g1 d6'));
SELECT 'N4' AS id, deleted FROM yquota.delete_reservation('reservation_1_0004', 'u', '{}');
SELECT 'N5' AS id, pg_temp.ask(1, 'u', pg_temp.contract('ALL', 100, 106, '1x20 g20 d6'));
SELECT 'N6' AS id, accepted FROM yquota.update_reservation('reservation_1_0001', 'u', '{}', pg_temp.contract('ORDER', 110, 116, '1x5 g5 d1, 1x10 g10 d2, 1x5 g5 d1'));
SELECT 'N6' AS id, pg_temp.place('reservation_1_0001', 1000);
SELECT 'N7' AS id, yquota.update_reservation('reservation_1_0007', 'u', '{}', pg_temp.contract('ALL', 110, 116, '1x5 g5 d1'));
SELECT 'N7' AS id, yquota.delete_reservation('reservation_1_0007', 'u', '{}');
SELECT 'N8' AS id, pg_temp.ask(8, 'u', pg_temp.contract('ORDER', 200, 202, '1x10 g10 d1, 1x20 g20 d1', recurrence => 3600000));
SELECT 'N8' AS id, accepted, pg_temp.place('reservation_1_0008', 1000)
FROM yquota.update_reservation('reservation_1_0008', 'u', '{}', pg_temp.contract('ORDER', 210, 213, '1x30 g30 d1, 1x40 g40 d1, 1x50 g50 d1', recurrence => 3600000));
SELECT 'N8' AS id, extract(epoch FROM "from")::bigint AS "from", extract(epoch FROM "to")::bigint AS "to", committed FROM yquota.plan_allocation('root.plan', pg_temp.time(3800000), pg_temp.time(3820000));
SELECT 'N8' AS id, deleted FROM yquota.delete_reservation('reservation_1_0008', 'u', '{}');
SELECT 'N8' AS id, count(*) FROM yquota.plan_allocation('root.plan', pg_temp.time(3800000), pg_temp.time(3820000)) WHERE NOT yquota.fits_in(committed, '[]');
-- reservations leave the plan as soon as they are over
CALL pg_temp.plan(102400, 100, policy => 'NoOverCommitPolicy');
SELECT 'N9' AS id, pg_temp.ask(1, 'u', pg_temp.contract('ALL', 100, 106, '1x10 g10 d6')), pg_temp.ask(2, 'u', pg_temp.contract('ALL', 100, 105, '1x10 g10 d5'));
SELECT 'N9' AS id, yquota.set_clock(pg_temp.time(105000));
SELECT 'N9' AS id, array(SELECT l.reservation_id FROM yquota.list_reservations('root.plan', 'u', '{}') AS l);
SELECT 'N9' AS id, yquota.set_clock(pg_temp.time(106000));
SELECT 'N9' AS id, array(SELECT l.reservation_id FROM yquota.list_reservations('root.plan', 'u', '{}') AS l);
CALL pg_temp.plan(102400, 100);
SELECT 'N10' AS id, pg_temp.ask(1, 'u', pg_temp.contract('ALL', 100, 106, '1x10 g10 d6'));
SELECT 'N10' AS id, s."from", s."to", (SELECT count(*) FROM yquota.list_reservations('root.plan', 'u', '{}', "from" => pg_temp.time(s."from" * 1000), "to" => pg_temp.time(s."to" * 1000))) AS found
FROM (VALUES (100, 106), (0, 100), (106, NULL), (0, 50), (100, 100), (NULL, NULL)) AS s ("from", "to");
SELECT 'N10' AS id, count(*) FROM yquota.list_reservations('root.plan', 'x', '{}', 'reservation_1_0001', pg_temp.time(0), pg_temp.time(1000));
-- allocations from 10:37:37 to 10:47:37 with several periods
CALL pg_temp.plan(102400, 100);
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = 36000000;
SELECT 'N11' AS id, v.period, v."from", v."to", pg_temp.ask(v.number, 'u', pg_temp.contract('ALL', v.arrival, v.arrival + 600, '1x1 g1 d600', recurrence => v.period * 60000)) IS NOT NULL AS accepted,
	(SELECT bool_and(l.found)
	 FROM generate_series(0, CASE WHEN v.is_found THEN 100 ELSE 0 END) AS shift
	 CROSS JOIN LATERAL (SELECT yquota_internal.reservation_occurs(pg_temp.time(v.arrival * 1000), pg_temp.time((v.arrival + 600) * 1000), v.period * interval '1 min',
		'1970-01-01 UTC'::timestamptz + v."from"::interval + shift * v.period * interval '1 min', '1970-01-01 UTC'::timestamptz + v."to"::interval + shift * v.period * interval '1 min') AS found) AS l) AS found
FROM (VALUES
	(1, 10, 38257, '10:10:37', '10:20:37', false), (2, 20, 38257, '10:57:37', '11:57:37', true), (3, 20, 38257, '10:36:37', '10:48:37', true),
	(4, 60, 38257, '11:36:37', '11:38:37', true), (5, 60, 38257, '11:46:37', '11:48:37', true), (6, 60, 38257, '10:40:37', '10:43:37', true),
	(7, 60, 38257, '10:48:37', '10:50:37', false), (8, 60, 38257, '11:30:37', '11:35:37', false), (9, 60, 38257, '09:50:37', '11:55:37', true),
	(10, 60, 35857, '09:58:37', '10:08:37', true)) AS v (number, period, arrival, "from", "to", is_found);
UPDATE yquota.scheduler_setting SET reservation_system_max_periodicity = NULL;

-- C: sharing policies, on 1000 containers of 1 GB. A user submits so many reservations one after
-- the other, and each answer is returned.
CREATE FUNCTION pg_temp.share(duration interval, percent integer, reservations integer, period interval) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer record;
	answers text[] := '{}';
BEGIN
	TRUNCATE yquota.reservation_definition CASCADE;
	FOR i IN 1 .. reservations LOOP
		SELECT * INTO answer FROM yquota.submit_reservation('reservation_1_' || lpad(i::text, 4, '0'), 'root.plan', 'u', '{}', 'p',
			yquota.reservation_contract('1970-01-02 UTC', '1970-01-02 UTC'::timestamptz + duration,
				ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', percent * 10, duration, percent * 10)], 'ALL', period));
		answers := answers || CASE WHEN answer.accepted THEN 'ok' ELSE answer.decided_by END;
	END LOOP;
	RETURN array_to_string(answers, ', ');
END $$;
-- for this vector a submission of C11 is refused earlier, because it is longer than its period
CALL pg_temp.plan(1024000, 1000, instantaneous => 75, average => 25);
SELECT c.id, p.period, pg_temp.share(c.duration::interval, c.percent, c.reservations, p.period::interval)
FROM (VALUES ('C1', '1 h', 25, 1, '{NULL,2 h,1 d}'::text[]), ('C2', '1 min', 74, 1, '{NULL,2 h,1 d}'), ('C3', '1 h', 76, 1, '{NULL,2 h,1 d}'), ('C4', '1 h', 110, 1, '{NULL,2 h,1 d}'),
	('C5', '1 min', 25, 3, '{NULL,2 h,1 d}'), ('C6', '1 min', 25, 4, '{NULL,2 h,1 d}'), ('C7', '25 h', 25, 1, '{NULL}'), ('C8', '25 h', 5, 5, '{NULL}'), ('C9', '24 h', 26, 1, '{NULL}'),
	('C10', '2 h', 26, 1, '{2 h}'), ('C11', '48 h', 26, 1, '{1 d}'), ('C12', '12 h', 51, 1, '{NULL}'), ('C13', '1 h', 51, 1, '{2 h}'), ('C14', '24 h', 51, 1, '{1 d}')) AS c (id, duration, percent, reservations, periods)
CROSS JOIN LATERAL unnest(c.periods) AS p (period);
CALL pg_temp.plan(1024000, 1000, policy => 'NoOverCommitPolicy');
SELECT 'no over-commit' AS id, c.percent, c.reservations, p.period, pg_temp.share('1 h', c.percent, c.reservations, p.period::interval)
FROM (VALUES (25, 1), (100, 1), (110, 1), (25, 4), (25, 5)) AS c (percent, reservations) CROSS JOIN unnest('{NULL,2 h}'::text[]) AS p (period);
-- The check of an update counts the old version twice, in addition to the new version. So a
-- reservation of 30 % for half a window is accepted, but an update to the same 30 % is refused. An
-- update from 15 to 20 % is accepted, and an update from 15 to 21 % is refused.
CREATE FUNCTION pg_temp.update(hours integer, percent integer) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN u.accepted THEN 'ok' ELSE u.decided_by END
	FROM yquota.update_reservation('reservation_1_0001', 'u', '{}', yquota.reservation_contract('1970-01-02 UTC', '1970-01-02 UTC'::timestamptz + hours * interval '1 h',
		ARRAY[yquota.reservation_request('[memory-mb=1024,vcores=1]', percent * 10, hours * interval '1 h', percent * 10)], 'ALL')) AS u;
$$;
CALL pg_temp.plan(1024000, 1000, instantaneous => 75, average => 25);
SELECT 'S1' AS id, pg_temp.share('12 h', 30, 1, NULL), pg_temp.update(12, 30);
SELECT 'S1' AS id, pg_temp.share('12 h', 15, 1, NULL), pg_temp.update(12, 21), pg_temp.update(12, 20);
SELECT 'S1' AS id, pg_temp.share('24 h', 25, 1, NULL), pg_temp.update(24, 10);

-- Hadoop takes a user's amount a window after the deadline for endless, so its sum overflows.
-- Therefore a user with 1 container is refused another container, and a user with 2 is not. With
-- the setting the amount ends there.
CREATE FUNCTION pg_temp.later(containers integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE yquota.reservation_definition CASCADE;
	RETURN pg_temp.ask(1, 'u', pg_temp.contract('ALL', 30, 32, format('1x%s g%1$s d2', containers), 3600000), 3600000) || ', '
		|| pg_temp.ask(2, 'u', pg_temp.contract('ALL', 5, 7, '1x1 g1 d1', 3600000), 3600000);
END $$;
SELECT 'overflow' AS id, pg_temp.later(1), pg_temp.later(2), pg_temp.later(3);
UPDATE yquota.scheduler_setting SET reservation_ends_averages = true;
SELECT 'overflow' AS id, pg_temp.later(1), pg_temp.later(2), pg_temp.later(3);
SELECT 'S2' AS id, pg_temp.share('24 h', 25, 1, NULL), pg_temp.share('25 h', 25, 1, NULL);
UPDATE yquota.scheduler_setting SET reservation_ends_averages = NULL;

-- G: the greedy agent, early and late, on 100 GB. Times are in seconds, and all vectors have the same
-- load.
CREATE FUNCTION pg_temp.agent(is_early boolean, interpreter text, arrival bigint, deadline bigint, requests text, reservations integer DEFAULT 1, block bigint DEFAULT NULL,
	instantaneous real DEFAULT 100, hold_over bigint DEFAULT 86400000, unit bigint DEFAULT 1000) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CALL pg_temp.plan(102400, 100, is_early => is_early, instantaneous => instantaneous, average => instantaneous, hold_over => hold_over);
	CALL pg_temp.load(0, '{10,10,20,20,20,17,17,7,7,7}');
	IF block IS NOT NULL THEN
		CALL pg_temp.load(block, '{100,100}');
	END IF;
	RETURN (SELECT string_agg(pg_temp.ask(i, 'u', yquota.reservation_contract(pg_temp.time(arrival * unit), pg_temp.time(deadline * unit), pg_temp.requests(requests, 1000),
		interpreter::yquota.reservation_interpreter)), '; ' ORDER BY i) FROM generate_series(1, reservations) AS i);
END $$;
\set four '\'2x10 g1 d10, 1x10 g10 d20, 2x10 g1 d10, 1x10 g10 d20\''
SELECT early.is_early, 'G1' AS id, pg_temp.agent(is_early, 'ANY', 5, 20, '2x10 g5 d10') FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G2', pg_temp.agent(is_early, 'ANY', 5, 100, '2x20 g20 d10', reservations => 2, instantaneous => 40, hold_over => 100000) FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G3', pg_temp.agent(is_early, 'ANY', 5, 100, '2x45 g45 d10', instantaneous => 40, hold_over => 100000) FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G4', pg_temp.agent(is_early, 'ORDER', 0, 70, :four, block => 30) FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G5', pg_temp.agent(is_early, 'ORDER_NO_GAP', 0, 60, :four) FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G6', pg_temp.agent(is_early, 'ORDER_NO_GAP', 0, 70, :four, block => 30, unit => 1) FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G7', pg_temp.agent(is_early, 'ALL', 100, 120, '1x200 g10 d10') FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G8', pg_temp.agent(is_early, 'ANY', 100, 120, '1x5 g5 d10, 2x10 g5 d10, 1x110 g110 d10') FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G9', pg_temp.agent(is_early, 'ANY', 100, 120, '1x35 g5 d30, 1x110 g110 d10', unit => 1) FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G10', pg_temp.agent(is_early, 'ALL', 100, 120, '1x5 g5 d10, 2x10 g10 d20') FROM (VALUES (true), (false)) AS early (is_early) UNION ALL
SELECT early.is_early, 'G11', pg_temp.agent(is_early, 'ALL', 100, 120, '1x55 g5 d10, 2x55 g5 d20', unit => 1) FROM (VALUES (true), (false)) AS early (is_early);

-- A: the aligned agent, on 100 GB. Times are in minutes.
CREATE FUNCTION pg_temp.aligned(load integer, interpreter text, arrival bigint, deadline bigint, requests text, is_early boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	CALL pg_temp.plan(102400, 100, step => 60, agent => 'AlignedPlannerWithGreedy', is_early => is_early, hold_over => 1000000);
	CASE load
		WHEN 1 THEN CALL pg_temp.load(0, '{10,10,20,20,20,10,10}', 60000);
		WHEN 2 THEN CALL pg_temp.load(11, '{90,90,90}', 60000);
		WHEN 3 THEN CALL pg_temp.load(10, '{70,80,60}', 60000);
		ELSE NULL;
	END CASE;
	RETURN pg_temp.ask(1, 'u', pg_temp.contract(interpreter, arrival, deadline, requests, 60000), 60000);
END $$;
SELECT a.id, pg_temp.aligned(a.load, a.interpreter, a.arrival, a.deadline, a.requests, a.is_early) FROM (VALUES
	('A1', 1, 'ORDER', 5, 20, '2x10 g5 d10', false), ('A2', 2, 'ORDER_NO_GAP', 10, 15, '1x20 g20 d1, 1x20 g20 d1', false), ('A3', 2, 'ORDER_NO_GAP', 10, 13, '1x20 g20 d1, 1x10 g10 d1', false),
	('A4', 2, 'ORDER', 10, 15, '1x20 g20 d2, 1x20 g20 d1', false), ('A5', 2, 'ANY', 10, 15, '1x20 g20 d3, 1x20 g20 d2', false), ('A6', 2, 'ANY', 10, 15, '1x20 g20 d1, 1x20 g20 d2', false),
	('A7', 2, 'ALL', 10, 15, '1x20 g20 d1, 1x20 g20 d1', false), ('A8', 2, 'ALL', 10, 15, '1x20 g20 d1, 1x20 g20 d2', false), ('A10', 0, 'ALL', 10, 15, '1x20 g20 d10', false),
	('A11', 3, 'ALL', 10, 13, '1x80 g10 d1', false), ('A13', 0, 'ORDER', 10, 35, '1x20 g20 d10, 1x20 g20 d10', true)) AS a (id, load, interpreter, arrival, deadline, requests, is_early);
CALL pg_temp.plan(102400, 100, step => 60, agent => 'AlignedPlannerWithGreedy', is_early => false, hold_over => 1000000);
SELECT 'A9' AS id, pg_temp.ask(1, 'u', pg_temp.contract('ALL', 10, 11, '1x100 g100 d1', 60000), 60000) AS block, pg_temp.ask(2, 'u', pg_temp.contract('ALL', 10, 14, '1x100 g1 d2', 60000), 60000) AS flexible;
SELECT 'A9' AS id, deleted FROM yquota.delete_reservation('reservation_1_0001', 'u', '{}');
SELECT 'A9' AS id, accepted FROM yquota.update_reservation('reservation_1_0002', 'u', '{}', pg_temp.contract('ALL', 10, 14, '1x100 g1 d2', 60000));
SELECT 'A9' AS id, pg_temp.place('reservation_1_0002', 60000);
-- requests of 7 GB and 1 core, and of 6 GB and 6 cores, share one minute, and the third reservation
-- gets the other minute
CREATE FUNCTION pg_temp.single(number integer, deadline bigint, gb bigint, vcores bigint) RETURNS text LANGUAGE sql
	RETURN pg_temp.ask(number, 'u' || number, yquota.reservation_contract(pg_temp.time(600000), pg_temp.time(deadline * 60000), ARRAY[yquota.reservation_request(pg_temp.size(gb * 1024, vcores), 1, '1 min')], 'ALL'), 60000);
CALL pg_temp.plan(102400, 100, step => 60, agent => 'AlignedPlannerWithGreedy', is_early => true, hold_over => 1000000);
SELECT 'A12' AS id, pg_temp.single(1, 11, 7, 1) AS u1, pg_temp.single(2, 11, 6, 6) AS u2, pg_temp.single(3, 12, 1, 1) AS u3;
CALL pg_temp.plan(102400, 100, step => 60, agent => 'AlignedPlannerWithGreedy', is_early => false, hold_over => 1000000);
SELECT 'A12' AS id, pg_temp.single(1, 11, 7, 1) AS u1, pg_temp.single(2, 11, 6, 6) AS u2, pg_temp.single(3, 12, 1, 1) AS u3;
SELECT 'A14' AS id, pg_temp.aligned(2, 'ORDER', 7, 16, '1x20 g20 d2, 1x20 g20 d2', true) AS first, pg_temp.ask(2, 'u', pg_temp.contract('ALL', 14, 16, '1x100 g100 d2', 60000), 60000) AS second;
SELECT 'A15' AS id, pg_temp.aligned(2, 'ORDER', 7, 16, '1x20 g20 d2, 1x20 g20 d2') AS first, pg_temp.ask(2, 'u', pg_temp.contract('ALL', 14, 16, '1x100 g100 d2', 60000), 60000) AS second;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_reservation_vectors WITH (FORCE);
