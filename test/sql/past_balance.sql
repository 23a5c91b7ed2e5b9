--
-- balance_at() returns the balance that was shown at the time. Projects are active for two days,
-- and project_balance is saved every half an hour. The test uses its own database, because prices
-- and the clock are global.
--
CREATE DATABASE yquota_past_balance;
\c yquota_past_balance
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- all days are rolled up
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT yquota.set_clock('2026-03-02 00:00+00');
INSERT INTO yquota.project (name, quota_mode, parent) VALUES ('lab', 'PREPAID', 'site'), ('ops', 'NOLIMIT', NULL), ('site', 'NOLIMIT', NULL);
INSERT INTO yquota.quota_grant (project, amount, reason, valid_from, expires_at) VALUES
	('lab', 500000, 'test', DEFAULT, DEFAULT), ('lab', 30000, 'spent before it expires', DEFAULT, '2026-03-02 12:00+00'),
	('lab', 700000, 'expires with something left', '2026-03-02 06:30+00', '2026-03-02 14:00+00'), ('lab', -7, 'taken back', '2026-03-03 01:00+00', DEFAULT);
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('queue', 'root.a', 0.75);
INSERT INTO yquota.charging_rule (effective_at, minimum_run_time) VALUES ('2026-03-02 00:00+00', '10 min');
CREATE TABLE shown (at timestamptz, project text, granted numeric, spent numeric, held numeric, remaining numeric, burn_rate numeric, exhausted_at timestamptz);

-- some containers finish before the minimum run time, some never finish, and some finish twice
SET yquota.on_bad_event = 'set_aside';
\o /dev/null
\set ECHO none
SELECT format('SELECT yquota.set_clock(%L)', at),
	   CASE number % 5
		   WHEN 0 THEN format('SELECT yquota.set_multiplier(''GENERAL'', 1 + %s * 0.013)', number % 29)
		   WHEN 3 THEN format('INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES (''CONTAINER_FINISH'', ''c%s'', %L)',
							  number - 2 - least(5 * (number % 7), number - 3), at)
		   WHEN 4 THEN format('INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES (''CONTAINER_UPDATE'', ''c%s'', %L, ''[memory-mb=%s,vcores=1]'')',
							  number - 3, at, number * 100)
		   ELSE format('INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, queue, allocation) VALUES (''CONTAINER_START'', ''c%s'', %L, %L, ''app'', %L, ''[vcores=%s]'')',
					   number, at, CASE WHEN number % 3 = 0 THEN 'ops' ELSE 'lab' END, CASE WHEN number % 2 = 0 THEN 'root.a' END, 1 + number % 4)
	   END,
	   CASE number % 50
		   WHEN 17 THEN 'SELECT yquota_internal.compact_counters()'
		   WHEN 27 THEN 'SELECT yquota.roll_up_charges()'
		   WHEN 37 THEN 'SELECT yquota.seal_history()'
		   WHEN 6 THEN 'SELECT yquota.hold(''ops'', ''app'', 20000, ''5 hours'')'
		   WHEN 7 THEN format('SELECT yquota.hold(%L, ''app'', 30000, ''7 hours'')', CASE WHEN number < 50 THEN 'lab' ELSE 'ops' END)
		   WHEN 9 THEN 'SELECT yquota.hold(''ops'', ''other'', 70, ''1 day'')'
		   WHEN 13 THEN 'SELECT yquota.release_hold(max(hold_id)) FROM yquota.hold WHERE application_id = ''app'''
		   WHEN 45 THEN 'SELECT yquota.release_hold(max(hold_id)) FROM yquota.hold'
	   END,
	   'INSERT INTO shown SELECT yquota.statement_clock(), project, granted, charged + accrued, held, remaining, burn_rate, exhausted_at FROM yquota.project_balance'
FROM (SELECT number, '2026-03-02 00:00+00'::timestamptz + number * interval '31 min 0.000001 s' AS at
	  FROM generate_series(1, 90) AS number) AS moment
\gexec
\set ECHO all
\o
SELECT count(*), count(DISTINCT held) > 5 AS holds, count(DISTINCT spent) > 120 AS live, count(DISTINCT exhausted_at) > 40 AS spends, count(DISTINCT granted) AS changes, bool_or(remaining < 0) AS overdrawn FROM shown;
SELECT shown.*, balance.*
FROM shown, yquota.balance_at(shown.project, shown.at) AS balance
WHERE (shown.granted, shown.spent, shown.held, shown.remaining, shown.burn_rate, shown.exhausted_at)
	  IS DISTINCT FROM (balance.granted, balance.spent, balance.held, balance.remaining, balance.burn_rate, balance.exhausted_at);
-- Only a booking makes the balance jump. So a microsecond later the running containers have spent
-- one more microsecond.
SELECT bool_and(later.spent - balance.spent = balance.burn_rate * 0.000001) AS exact
FROM yquota.balance_at('lab', '2026-03-02 18:01:01+00') AS balance, yquota.balance_at('lab', '2026-03-02 18:01:01.000001+00') AS later;

-- late events change the balances of the past
SELECT spent FROM yquota.balance_at('ops', '2026-03-01 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
VALUES ('CONTAINER_START', 'late', '2026-03-01 11:00+00', 'ops', '[vcores=1]'), ('CONTAINER_FINISH', 'late', '2026-03-01 13:00+00', NULL, NULL);
SELECT spent, burn_rate FROM yquota.balance_at('ops', '2026-03-01 12:00+00');
SELECT * FROM yquota.verify();

\set SHOW_CONTEXT never
SELECT * FROM yquota.balance_at('lab', NULL);
SELECT * FROM yquota.balance_at('lab', 'infinity');
SELECT * FROM yquota.balance_at('lab', '2026-04-01 00:00+00');
SELECT * FROM yquota.balance_at('nobody', '2026-03-02 00:00+00');
CREATE ROLE yquota_past_member;
SELECT yquota.allow_role('yquota_past_member', 'member', 'ops');
SET ROLE yquota_past_member;
SELECT spent > 0 AS told FROM yquota.balance_at('ops', '2026-03-02 12:00+00');
SELECT * FROM yquota.balance_at('lab', '2026-03-02 12:00+00');
RESET ROLE;

-- a charge ahead of the clock counts as spent when the clock reaches it
SELECT yquota.set_clock('2026-04-10 11:00+00');
INSERT INTO yquota.project (name) VALUES ('ahead');
INSERT INTO yquota.quota_grant (project, amount, reason, expires_at) VALUES ('ahead', 1000, 'test', '2026-04-10 11:00:30+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'ahead', '2026-04-10 10:59+00', 'ahead', '[vcores=1]'), ('CONTAINER_UPDATE', 'ahead', '2026-04-10 11:01+00', NULL, '[vcores=5]');
SELECT charged, accrued FROM yquota.container_cost WHERE container_id = 'ahead';
SELECT at, spent FROM unnest('{2026-04-10 10:50+00,2026-04-10 10:59:30+00,2026-04-10 11:00+00}'::timestamptz[]) AS at, yquota.balance_at('ahead', at);
SELECT yquota.set_clock('2026-04-10 11:00:45+00');
SELECT yquota.quota_compute();
SELECT grant_id IS NOT NULL AS noted, lost FROM yquota.expired_grant WHERE project = 'ahead';
SELECT * FROM yquota.verify();
SELECT yquota.set_clock('2026-04-10 11:02+00');
SELECT yquota.quota_compute();
SELECT lost FROM yquota.expired_grant WHERE project = 'ahead';
SELECT at, spent FROM unnest('{2026-04-10 10:50+00,2026-04-10 11:00+00,2026-04-10 11:02+00}'::timestamptz[]) AS at, yquota.balance_at('ahead', at);
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_past_balance;
DROP ROLE yquota_past_member;
