-- A plan over time, drawn as lines of text.

SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_reservation_plan WITH (FORCE);
CREATE DATABASE yquota_reservation_plan;
\c yquota_reservation_plan
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-01 23:40:00.000123+00');
INSERT INTO yquota.project (name) VALUES ('p');
INSERT INTO yquota.queue (path, capacity, reservable, reservation_agent) VALUES
	('root', NULL, NULL, NULL), ('root.plan', '50', true, 'GreedyReservationAgent'), ('root.other', '50', NULL, NULL);
INSERT INTO yquota.node (name, total) VALUES ('n', '[memory-mb=200000,vcores=400]');
INSERT INTO yquota.scheduler_setting (reservation_system_enable) VALUES (true);
CREATE FUNCTION pg_temp.reserve(number integer, username text, arrival timestamptz, hours numeric, containers integer, name text DEFAULT NULL, recurrence interval DEFAULT NULL) RETURNS boolean LANGUAGE sql
	RETURN (SELECT accepted FROM yquota.submit_reservation('reservation_1_' || number, 'root.plan', username, '{}', 'p', yquota.reservation_contract(arrival, arrival + hours * interval '1 hour',
		ARRAY[yquota.reservation_request('[memory-mb=1000,vcores=1]', containers, hours * interval '1 hour', containers)], 'ALL', recurrence, NULL, name)));

-- A plan without reservations: a day from the current hour on, or from a given time on.
SELECT min("from"), max("to"), count(*), max(highest), array_agg(DISTINCT plan), count(reservations) FROM yquota.reservation_plan_text('root.plan');
SELECT min("from"), max("to") FROM yquota.reservation_plan_text('root.plan', '2026-03-02 00:20:00.000123+00');
SELECT min("from"), max("to") FROM yquota.reservation_plan_text('root.plan', "to" => '2026-03-02 00:20:00.000123+00');
SELECT yquota.set_clock('2026-03-02 00:00:00.000123+00');

-- Each line shows the average, and the highest amount at an instant.
SELECT pg_temp.reserve(10001, 'ann', '2026-03-02 00:00+00', 12, 50, 'night'), pg_temp.reserve(10002, 'bob', '2026-03-02 06:00+00', 3, 30), pg_temp.reserve(10003, 'cid', '2026-03-02 18:00+00', 3, 20, 'often', '12 hours');
SELECT * FROM yquota.reservation_plan_text('root.plan', '2026-03-02 00:00+00', '2026-03-03 00:00+00', lines => 8, width => 20);
SELECT "from", "to", promised, highest, plan FROM yquota.reservation_plan_text('plan', '2026-03-02 08:30+00', '2026-03-02 10:30+00', 2);
SELECT promised, highest, plan FROM yquota.reservation_plan_text('root.plan', '2026-03-02 06:00+00', '2026-03-02 09:00+00', 1, 20, 'vcores');
-- plan_allocation() gives the same amounts
SELECT l.promised, round(100 * sum(yquota.amount(a.committed, 'memory-mb') * extract(epoch FROM a."to" - a."from")) / 7200 / 100000, 1) AS by_plan_allocation
FROM yquota.reservation_plan_text('root.plan', '2026-03-02 05:30+00', '2026-03-03 05:30+00', 12) AS l
CROSS JOIN LATERAL yquota.plan_allocation('root.plan', l."from", l."to") AS a
GROUP BY l."from", l.promised HAVING l.promised <> round(100 * sum(yquota.amount(a.committed, 'memory-mb') * extract(epoch FROM a."to" - a."from")) / 7200 / 100000, 1);

-- Reservations beyond the plan's capacity go beyond the end of the bar. Without nodes there is no
-- bar.
UPDATE yquota.node SET total = '[memory-mb=100000,vcores=200]';
SELECT promised, highest, plan, reservations FROM yquota.reservation_plan_text('root.plan', '2026-03-02 00:00+00', '2026-03-02 12:00+00', 4, 10);
UPDATE yquota.node SET total = '[memory-mb=2000,vcores=2]';
SELECT promised, highest, plan FROM yquota.reservation_plan_text('root.plan', '2026-03-02 00:00+00', '2026-03-02 12:00+00', 1, 10);
UPDATE yquota.node SET state = 'LOST';
SELECT promised, highest, plan, reservations FROM yquota.reservation_plan_text('root.plan', '2026-03-02 00:00+00', '2026-03-02 12:00+00', 1, 10);
UPDATE yquota.node SET state = 'RUNNING', total = '[memory-mb=200000,vcores=400]';

-- Reservations beyond the letters of the alphabet share one sign.
SELECT bool_and(pg_temp.reserve(20000 + i, 'dan', '2026-03-04 00:00+00', 1 + i * 0.5, 2)) FROM generate_series(1, 30) AS i;
SELECT "from", promised, plan, length(reservations) FROM yquota.reservation_plan_text('root.plan', '2026-03-04 00:00+00', '2026-03-04 16:00+00', 4, 50);
SELECT right(reservations, 40) FROM yquota.reservation_plan_text('root.plan', '2026-03-04 00:00+00', '2026-03-04 16:00+00', 1, 50);
SELECT count(*) FROM yquota.reservation_plan_text('root.plan', '2026-03-04 00:00+00', '2026-03-04 00:00:00.003+00', 24);

-- Arguments that are refused.
SELECT yquota.reservation_plan_text('root.plan', lines => 0);
SELECT yquota.reservation_plan_text('root.plan', lines => NULL);
SELECT yquota.reservation_plan_text('root.plan', lines => 1001);
SELECT yquota.reservation_plan_text('root.plan', width => 0);
SELECT yquota.reservation_plan_text('root.plan', width => NULL);
SELECT yquota.reservation_plan_text('root.plan', resource_name => 'yarn.io/gpu');
SELECT yquota.reservation_plan_text('root.plan', '2026-03-04 00:00+00', '2026-03-03 00:00+00');
SELECT yquota.reservation_plan_text('root.plan', '2026-03-04 00:00+00', '9026-03-03 00:00+00');
SELECT yquota.reservation_plan_text('root.other');
SELECT yquota.reservation_plan_text(NULL);

-- Operators and viewers see the plan, and members do not.
CREATE ROLE yquota_plan_operator;
CREATE ROLE yquota_plan_viewer;
CREATE ROLE yquota_plan_member;
SELECT yquota.allow_role('yquota_plan_operator', 'operator'), yquota.allow_role('yquota_plan_viewer', 'viewer'), yquota.allow_role('yquota_plan_member', 'member', 'p');
SET ROLE yquota_plan_operator;
SELECT count(*) FROM yquota.reservation_plan_text('root.plan');
SET ROLE yquota_plan_viewer;
SELECT count(*) FROM yquota.reservation_plan_text('root.plan');
SET ROLE yquota_plan_member;
SELECT count(*) FROM yquota.reservation_plan_text('root.plan');
RESET ROLE;
SELECT yquota.disallow_role('yquota_plan_operator', 'operator'), yquota.disallow_role('yquota_plan_viewer', 'viewer'), yquota.disallow_role('yquota_plan_member', 'member', 'p');

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_reservation_plan WITH (FORCE);
DROP ROLE yquota_plan_operator, yquota_plan_viewer, yquota_plan_member;
