--
-- Spending by day and the largest spenders, with and without roll-ups. A vcore costs one credit per
-- second. The test uses its own database, because prices and the clock are global.
--
CREATE DATABASE yquota_costs;
\c yquota_costs
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-11-05 00:00:00+00');
INSERT INTO yquota.billing_setting (timezone) VALUES ('Nowhere');
INSERT INTO yquota.billing_setting (timezone) VALUES ('Australia/Lord_Howe');
UPDATE yquota.billing_setting SET timezone = 'Europe/Stockholm';
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, application_id, queue, node, allocation)
VALUES
	('CONTAINER_START', 'spring', '2026-03-27 00:00+00', 'lab', 'ann', 'app_1', 'root.a', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'autumn', '2026-10-23 00:00+00', 'lab', 'bob', 'app_2', 'root.a', 'n1', '[vcores=1]'),
	('CONTAINER_START', 'short', '2026-10-24 10:01+00', 'ops', 'bob', 'app_3', 'root.b', 'n2', '[vcores=3]'),
	('CONTAINER_START', 'running', '2026-11-04 06:00+00', 'ops', 'eve', 'app_4', 'root.b', 'n2', '[vcores=2]');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'spring', '2026-04-06 12:00+00'), ('CONTAINER_FINISH', 'autumn', '2026-10-28 00:00+00'),
	('CONTAINER_FINISH', 'short', '2026-10-24 10:09+00');

-- In Stockholm 29 March has 23 hours and 25 October has 25. Lord Howe changes its clocks by half an
-- hour.
SELECT day, amount / 3600 AS hours FROM yquota.cost_by_day('2026-03-28', '2026-03-30', timezone => 'Europe/Stockholm') ORDER BY day;
SELECT day, username, amount / 3600 AS hours FROM yquota.cost_by_day('2026-10-24', '2026-10-26', '{username}', 'Europe/Stockholm') ORDER BY day, username;
SELECT day, amount / 3600 AS hours FROM yquota.cost_by_day('2026-10-24', '2026-10-26', '{}', 'UTC') ORDER BY day;
SELECT day, amount / 3600 AS hours FROM yquota.cost_by_day('2026-04-04', '2026-04-06', '{}', 'Australia/Lord_Howe') ORDER BY day;
-- the default is the time zone of bills, which cannot change, so that no report by day changes
SELECT day, amount / 3600 AS hours FROM yquota.cost_by_day('2026-03-28', '2026-03-30') ORDER BY day;
UPDATE yquota.billing_setting SET timezone = 'Australia/Lord_Howe';
DELETE FROM yquota.billing_setting;
TRUNCATE yquota.billing_setting;
UPDATE yquota.billing_setting SET timezone = 'Europe/Stockholm';
-- running containers count up to the clock
SELECT day, project, queue, node, application_id, amount / 3600 AS hours
FROM yquota.cost_by_day('2026-11-03', '2026-11-06', '{project,queue,node,application_id}') ORDER BY day;

-- other functions report the same amounts
CREATE FUNCTION differences() RETURNS TABLE (zone text, by text[], days bigint, wrong bigint)
	LANGUAGE sql AS $$
	SELECT zone, by.columns, count(*), count(*) FILTER (WHERE by_day IS DISTINCT FROM by_window)
	FROM unnest('{Europe/Stockholm,Asia/Kathmandu}'::text[]) AS zone,
		 (VALUES ('{project,username,queue,application_id,execution_type}'::text[]), ('{node,container_id}')) AS by (columns),
		 (VALUES ('2026-03-28'::date), ('2026-10-24'), ('2026-11-03')) AS first (day),
		 LATERAL (
			SELECT array_agg(d.day || to_jsonb(d)::text ORDER BY d.day || to_jsonb(d)::text)
			FROM yquota.cost_by_day(first.day, first.day + 2, by.columns, zone) AS d
		 ) AS told (by_day),
		 LATERAL (
			SELECT array_agg(day::date || (jsonb_build_object('day', day::date) || to_jsonb(c))::text
							 ORDER BY day::date || (jsonb_build_object('day', day::date) || to_jsonb(c))::text)
			FROM generate_series(first.day, first.day + 2, interval '1 day') AS day,
				 yquota.cost_between(yquota_internal.billing_day_start(day::date, zone),
									 yquota_internal.billing_day_start(day::date + 1, zone), by.columns) AS c
		 ) AS whole (by_window)
	GROUP BY zone, by.columns
	$$;
SELECT * FROM differences() ORDER BY zone, by;

--
-- The dearest
--
SELECT rank, username, amount, share, previous, growth FROM yquota.top_costs('-infinity', 'infinity', '{username}');
SELECT rank, project, amount, share, previous, growth FROM yquota.top_costs('2026-10-25', '2026-10-28');
SELECT rank, project, amount, share, previous, growth FROM yquota.top_costs('2026-10-27', '2026-10-29');
SELECT rank, application_id, amount FROM yquota.top_costs('2026-03-01', 'infinity', '{application_id}', 2);
-- a container that has ended is listed with its earlier cost
SELECT rank, container_id, amount, share, previous, growth FROM yquota.top_costs('2026-10-24 10:09+00', '2026-10-24 10:17+00', '{container_id}');
SELECT count(*) FROM yquota.top_costs('2026-10-25', '2026-10-25');

--
-- Roll-ups do not change any report
--
CREATE TEMPORARY TABLE said AS SELECT c::text FROM yquota.cost_between('2026-03-01', '2026-12-01', '{project,username,queue,application_id,execution_type}') AS c;
-- an open transaction of another session, such as autovacuum's, may delay rows for a moment
CREATE FUNCTION roll_up_all() RETURNS bigint
	LANGUAGE plpgsql AS $$
DECLARE
	newest CONSTANT xid8 := pg_snapshot_xmax(pg_current_snapshot());
	added bigint := 0;
BEGIN
	LOOP
		added := added + yquota.roll_up_charges();
		EXIT WHEN (SELECT horizon >= newest FROM yquota_internal.rollup_state);
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN added;
END
$$;
-- all days are rolled up
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT roll_up_all() > 0 AS some;
SELECT roll_up_all() AS again;
SELECT count(*) AS quarter_hours, sum(amount) FROM yquota_internal.charge_rollup;
SELECT quarter_hour, amount FROM yquota_internal.charge_rollup WHERE username = 'bob' AND project = 'ops';
SELECT * FROM differences() ORDER BY zone, by;
SELECT c::text FROM yquota.cost_between('2026-03-01', '2026-12-01', '{project,username,queue,application_id,execution_type}') AS c
EXCEPT TABLE said;
-- reports read the roll-ups
BEGIN;
UPDATE yquota_internal.charge_rollup SET amount = 0;
SELECT project, amount FROM yquota.cost_between('2026-10-01', '2026-11-01') ORDER BY project;
SELECT node, amount FROM yquota.cost_between('2026-10-01', '2026-11-01', '{node}') ORDER BY node;
-- verify() reports the difference
SELECT * FROM yquota.verify() ORDER BY subject;
ROLLBACK;
-- Later charges are added. Time that is forgiven later is divided into days again.
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'running', '2026-11-04 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'autumn', '2026-10-26 00:00+00', '[vcores=4]');
SELECT * FROM differences() WHERE wrong > 0;
SELECT yquota.report_outage('2026-10-24 10:05+00', '2026-10-25 10:07+00', 'test');
SELECT * FROM differences() WHERE wrong > 0;
SELECT roll_up_all() > 0 AS some;
SELECT * FROM differences() WHERE wrong > 0;
SELECT (SELECT sum(amount) FROM yquota_internal.charge_rollup) = (SELECT sum(amount) FROM yquota.charge) AS whole;
-- the clock is set back, and the roll-up starts again
SELECT yquota.set_clock('2026-11-01 00:00:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'back', '2026-10-31 00:00+00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'back', '2026-10-31 12:00+00', NULL, NULL);
SELECT project, amount FROM yquota.cost_by_day('2026-10-31', '2026-10-31');
SELECT roll_up_all() > 0 AS some;
SELECT project, amount FROM yquota.cost_by_day('2026-10-31', '2026-10-31');
SELECT (SELECT sum(amount) FROM yquota_internal.charge_rollup) = (SELECT sum(amount) FROM yquota.charge) AS whole;
SELECT * FROM yquota.verify();

--
-- Bad input
--
\set SHOW_CONTEXT never
SELECT * FROM yquota.cost_by_day(NULL, '2026-10-31');
SELECT * FROM yquota.cost_by_day('2026-10-31', '2026-10-30');
SELECT * FROM yquota.cost_by_day('-infinity', '2026-10-30');
SELECT * FROM yquota.cost_by_day('2000-01-01', '2026-10-30');
SELECT * FROM yquota.cost_by_day('2026-10-31', '2026-10-31', '{day}');
SELECT * FROM yquota.cost_by_day('2026-10-31', '2026-10-31', NULL);
SELECT * FROM yquota.cost_by_day('2026-10-31', '2026-10-31', timezone => 'Mars/Olympus');
SELECT * FROM yquota.top_costs('2026-10-31', '2026-10-30');
SELECT * FROM yquota.top_costs('2026-10-30', '2026-10-31', top => 0);
-- the window for comparison would begin before the first timestamp
SELECT sum(share), count(previous), count(growth) FROM yquota.top_costs('0001-01-01', '9999-01-01');
SELECT sum(share), count(previous), count(growth) FROM yquota.top_costs('4713-01-01 BC', '294276-01-01');

--
-- A member sees the member's projects, and may not roll up
--
CREATE ROLE yquota_costs_member;
SELECT yquota.allow_role('yquota_costs_member', 'member', 'ops');
SET ROLE yquota_costs_member;
SELECT DISTINCT project FROM yquota.cost_by_day('2026-03-01', '2026-11-30');
SELECT DISTINCT project FROM yquota.cost_by_day('2026-03-01', '2026-11-30', '{project,node}');
SELECT rank, project, share FROM yquota.top_costs('2026-03-01', '2026-12-01');
SELECT yquota.roll_up_charges();
RESET ROLE;

\c postgres
DROP DATABASE yquota_costs;
DROP ROLE yquota_costs_member;
