--
-- Reports of balances, holds, grants, costs and bills are the same before and after archiving, and
-- later changes affect both in the same way. A vcore costs one credit per second, except where a
-- comment says otherwise.
--
CREATE DATABASE yquota_archived_reports;
\c yquota_archived_reports
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET jit = off;
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-01 08:00');
INSERT INTO yquota.project (name, parent) VALUES ('site', NULL), ('lab', 'site'), ('web', 'site'), ('free', NULL);
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('-infinity', '10 s');
-- no grant or container begins or ends on a full quarter of an hour
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from, expires_at) VALUES
	('site', 40000, 'short', DEFAULT, '2026-03-01 10:07:07.123456'), ('site', 90000, 'late', '2026-03-01 09:01:01', '2026-03-01 12:33:33'),
	('site', 900000, 'for ever', '2026-03-01 09:50', DEFAULT), ('lab', 20000, 'own', DEFAULT, '2026-03-01 09:20:20'), ('lab', 30000, 'own', DEFAULT, '2026-03-01 12:00:00.000001');
SELECT yquota.set_multiplier('GENERAL', 1.5, '2026-03-01 09:22:22');
INSERT INTO yquota.price_factor (dimension, name, factor, effective_at) VALUES ('queue', 'root.b', 0.5, '2026-03-01 09:10:10');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'a1', '2026-03-01 08:00', 'lab', 'app_1', 'ann', 'root.a', '[vcores=2]'), ('CONTAINER_START', 'b1', '2026-03-01 08:00', 'web', 'app_2', 'bob', 'root.b', '[vcores=1]'),
	('CONTAINER_START', 'runs', '2026-03-01 08:00', 'lab', 'app_1', 'ann', 'root.a', '[vcores=1]'), ('CONTAINER_START', 'f1', '2026-03-01 08:00', 'free', 'app_3', 'cyd', 'root.a', '[vcores=1]');
SELECT yquota.set_clock('2026-03-01 09:03:03');
SELECT yquota.hold('lab', 'app_1', 3000, '2 days'), yquota.hold('web', 'app_2', 30000, '2 days');
SELECT yquota.set_clock('2026-03-01 09:13:13');
SELECT yquota.hold('lab', 'app_1', 4000, '5 hours'), yquota.hold('site', 'app_1', 77, '1 hour'), yquota.hold('lab', 'app_9', 11, '2 days');
INSERT INTO yquota.container_event (event, container_id, project, application_id, username, queue, allocation) VALUES ('CONTAINER_START', 'a2', 'lab', 'app_1', 'ann', 'root.b', '[vcores=1]');
SELECT yquota.set_clock('2026-03-01 09:31:31');
INSERT INTO yquota.container_event (event, container_id, allocation) VALUES ('CONTAINER_FINISH', 'a1', NULL), ('CONTAINER_UPDATE', 'a2', '[vcores=3]');
-- a container that pays padding
INSERT INTO yquota.container_event (event, container_id, project, application_id, allocation) VALUES ('CONTAINER_START', 'b2', 'web', 'app_2', '[vcores=5]'), ('CONTAINER_FINISH', 'b2', NULL, NULL, NULL);
SELECT yquota.set_clock('2026-03-01 10:40:40');
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_FINISH', 'a2'), ('CONTAINER_FINISH', 'b1'), ('CONTAINER_FINISH', 'f1');
SELECT yquota.release_hold(2);
-- Periods are closed between the containers' events. Some charges of closed periods are forgiven,
-- some arrive late, and some are voided.
SELECT yquota_internal.close_period_at('2026-03-01 09:10', 100);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, queue, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-01 08:20:20', 'web', 'app_2', 'root.b', '[vcores=2]'), ('CONTAINER_FINISH', 'late', '2026-03-01 09:20:20', NULL, NULL, NULL, NULL);
SELECT * FROM yquota.forgive('2026-03-01 09:01', '2026-03-01 09:14:14', 'switch replaced');
SELECT yquota.set_clock('2026-03-01 10:44:44');
SELECT settled FROM yquota_internal.close_period_at('2026-03-01 09:40', 100);
SELECT settled FROM yquota_internal.close_period_at('2026-03-01 09:40', 100);
SELECT count(*) FROM yquota.void_events('f1', 'never ran');
SELECT * FROM yquota.forgive('2026-03-01 08:40', '2026-03-01 08:50', 'cable', 'lab');
SELECT * FROM yquota.forgive('2026-03-01 09:35', '2026-03-01 09:50', 'cable');
SELECT yquota.set_clock('2026-03-01 11:11:11');

-- everything that reports show
CREATE VIEW told AS
	SELECT 'balance' AS what, b::text AS line FROM yquota.project_balance AS b
	UNION ALL SELECT 'balance at', concat(at, p.name, b) FROM unnest(ARRAY['2026-03-01 12:12:12', '2026-03-01 13:00', yquota.statement_clock()]) AS at, yquota.project AS p,
		LATERAL yquota.balance_at(p.name, at) AS b WHERE at <= yquota.statement_clock()
	-- The instants lie at the beginning, within containers and padding, and on a quarter of an
	-- hour. Others are begins and ends of holds, and the expiry of a grant.
	UNION ALL SELECT 'balance before', concat(at, p.name, b) FROM unnest('{2026-03-01 07:00,2026-03-01 08:45:00.000001,2026-03-01 09:03:03,2026-03-01 09:15,2026-03-01 09:20:20,2026-03-01 09:31:31,2026-03-01 10:07:07.123456,2026-03-01 10:40:40}'::timestamptz[]) AS at,
		yquota.project AS p, LATERAL yquota.balance_at(p.name, at) AS b
	UNION ALL SELECT 'explained', concat(name, e) FROM unnest('{a1,a2,b1,b2,f1,late,runs,nobody}'::text[]) AS name, LATERAL yquota.explain_charge(name) AS e
	UNION ALL SELECT 'hold', h::text FROM yquota.hold_status AS h
	UNION ALL SELECT 'grant', (to_jsonb(g) - 'grant_id')::text FROM yquota.grant_status AS g
	UNION ALL SELECT 'forecast', f::text FROM yquota.forecast() AS f
	UNION ALL SELECT 'daily_cost', d::text FROM yquota.daily_cost AS d
	UNION ALL SELECT 'day', c::text FROM yquota.cost_by_day('2026-03-01', '2026-03-02', '{project,username,queue,application_id,execution_type}', 'Asia/Kathmandu') AS c
	UNION ALL SELECT 'quarter', concat(n, c) FROM generate_series('2026-03-01 08:00', '2026-03-01 11:00', interval '15 min') AS n,
		LATERAL yquota.cost_between(n, n + interval '15 min', '{project,username,queue,application_id,execution_type}') AS c
	UNION ALL SELECT 'all', c::text FROM yquota.cost_between('-infinity', 'infinity', '{application_id}') AS c
	UNION ALL SELECT 'top', t::text FROM yquota.top_costs('2026-03-01 09:00', '2026-03-01 10:00', '{username}') AS t
	UNION ALL SELECT 'bill', concat(p.ends_at, b.closed_at, c) FROM yquota.billing_period AS p, yquota.billing_period AS b,
		LATERAL yquota.cost_between(p.starts_at, p.ends_at, '{project,username,queue,application_id,execution_type}', b.closed_at) AS c WHERE b.closed_at >= p.closed_at
	UNION ALL SELECT 'bill of a project', concat(p.ends_at, of.name, b) FROM yquota.billing_period AS p, yquota.project AS of, LATERAL yquota.bill(of.name, p.ends_at, 'application') AS b WHERE p.closed_at IS NOT NULL
	UNION ALL SELECT 'bill by now', concat(p.ends_at, c) FROM yquota.billing_period AS p, LATERAL yquota.cost_between('-infinity', p.ends_at, '{project,queue}', 'infinity') AS c
	-- archived charges have no list by resource type, and no section about capacity
	UNION ALL SELECT 'report', regexp_replace(regexp_replace(yquota.report_html("from", '2026-03-02 00:00', project),
		'<div><div><div class="wide" tabindex="0"><table class="f2"><thead><tr><th>Resource type<.*?</p></div>', ''), '<h2>Capacity: .*?</table></div>', '') FROM (VALUES ('2026-03-01 08:00'::timestamptz, NULL), ('2026-03-01 12:15', 'site')) AS w ("from", project)
	UNION ALL SELECT 'problem', v::text FROM yquota.verify() AS v;
-- Run the commands, which may be none, and return the reports after them.
CREATE FUNCTION told_if(commands text[]) RETURNS SETOF told LANGUAGE plpgsql AS $$
DECLARE
	lines told[];
	command text;
BEGIN
	BEGIN
		FOREACH command IN ARRAY commands LOOP
			EXECUTE command;
		END LOOP;
		lines := ARRAY(SELECT told FROM told);
		RAISE EXCEPTION USING ERRCODE = 'TOLD0';
	EXCEPTION WHEN SQLSTATE 'TOLD0' THEN
		RETURN QUERY SELECT (unnest(lines)).*;
	END;
END $$;
CREATE TABLE future AS SELECT number, commands FROM (VALUES
	(1, '{}'::text[]),
	-- the end of a container that started before the segment is reported late, and the day continues
	(2, ARRAY['SELECT yquota.set_clock(''2026-03-02 07:00'')', 'INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES (''CONTAINER_FINISH'', ''runs'', ''2026-03-01 09:05:05'')',
			  'INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, allocation) VALUES (''CONTAINER_START'', ''new'', ''2026-03-01 11:50'', ''lab'', ''app_1'', ''[vcores=1]'')',
			  'SELECT yquota.quota_compute()', 'SELECT yquota_internal.close_period_at(''2026-03-01 12:22'', 100)']),
	-- a budget begins in the past
	(3, ARRAY['INSERT INTO yquota.budget (project, period, amount, starts_on) VALUES (''web'', ''day'', 12345, ''2026-03-01'')', 'SELECT yquota.set_clock(''2026-03-02 07:00'')'])
) AS f (number, commands);
CREATE TABLE told_before AS SELECT number, t.* FROM future, told_if(commands) AS t;
CREATE FUNCTION difference() RETURNS TABLE (number integer, what text, line text) LANGUAGE sql AS $$
	WITH now AS MATERIALIZED (SELECT number, t.* FROM future, told_if(commands) AS t)
	(TABLE now EXCEPT ALL TABLE told_before) UNION ALL (TABLE told_before EXCEPT ALL TABLE now)
$$;
SELECT what, count(*) FROM told_before GROUP BY what ORDER BY what;
SELECT project, granted, charged, accrued, held, remaining FROM yquota.project_balance ORDER BY project;
SELECT hold_id, application_id, state, spent, outstanding FROM yquota.hold_status ORDER BY hold_id;
SELECT grant_id, state, spent, remaining, lost FROM yquota.grant_status ORDER BY grant_id;
-- the bill as it was issued, and with later corrections
SELECT p.ends_at, b.closed_at, c.project, c.amount FROM yquota.billing_period AS p, yquota.billing_period AS b,
	LATERAL yquota.cost_between(p.starts_at, p.ends_at, as_booked => b.closed_at) AS c WHERE b.closed_at >= p.closed_at ORDER BY 1, 3, 2;

-- ended containers leave
SELECT yquota.seal_history();
-- History can be archived only after these functions have run. The test calls them directly,
-- because quota_compute() also checks the credit.
SELECT yquota_internal.compact_counters() > 0 AS compacted, yquota_internal.correct_late_prices() AS corrected;
CREATE SCHEMA archive;
CREATE TABLE archive.charge (LIKE yquota.charge);
CREATE TABLE archive.container_event (LIKE yquota.container_event);
SELECT archived, archived_before, charged FROM yquota.archive('archive.charge', 'infinity');
SELECT archived FROM yquota.archive('archive.container_event', 'infinity');
SELECT project, application_id, since, amount FROM yquota_internal.archived_cost_since WHERE amount <> 0 ORDER BY project, application_id, since;
SELECT * FROM difference();

-- rows from before the segment leave with the second archive
SELECT yquota.set_clock('2026-03-01 12:12:12');
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'runs', '2026-03-01 12:05:05');
SELECT yquota.hold('site', 'app_1', 11, '2 days');
DELETE FROM future WHERE number = 2;
DELETE FROM told_before;
INSERT INTO told_before SELECT number, t.* FROM future, told_if(commands) AS t;
SELECT yquota.seal_history();
SELECT yquota_internal.compact_counters() > 0 AS compacted, yquota_internal.correct_late_prices() AS corrected;
SELECT archived, archived_before, charged FROM yquota.archive('archive.charge', 'infinity');
SELECT archived FROM yquota.archive('archive.container_event', 'infinity');
SELECT * FROM difference();
SELECT count(*) FROM yquota.charge;
-- a report that would be wrong is refused
SELECT yquota.compute_prices('2026-03-01 10:00');
SELECT * FROM yquota.usage_between('2026-03-01 10:00', 'infinity');
-- days without single charges do not count as observed when the price is another
SELECT max(observed_days) AS at_another_price FROM yquota.forecast(multiplier => 2);
-- verify() compares the kept sums with the sums per quarter of an hour
BEGIN;
UPDATE yquota_internal.archived_cost_since SET amount = amount + 10000 WHERE project = 'lab' AND application_id = '' AND since = '2026-03-01 09:20:20';
SELECT * FROM yquota.verify();
ROLLBACK;
-- sums that no report needs any more are removed
SELECT yquota_internal.remove_ended_holds('2026-05-01');
SELECT yquota_internal.post_archived_cost_since('2026-03-01 12:12:12', 'SELECT * FROM yquota.charge');
SELECT count(*) FROM yquota_internal.archived_cost_since WHERE application_id <> '';

\c postgres
DROP DATABASE yquota_archived_reports;
