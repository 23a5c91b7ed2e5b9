--
-- The quoted and the charged cost of a run are equal to the last digit. The test uses its own
-- database, because prices and the clock are global.
--
CREATE DATABASE yquota_price_quote;
\c yquota_price_quote
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.project (name, quota_mode) VALUES ('lab', 'PREPAID'), ('ops', 'NOLIMIT');
INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 20000, 'test');

-- memory is dearer than vcores when the allocation has more of it
SELECT price_per_second, cost, charged_time, dominant, reason, affordable
FROM yquota.price_quote('[memory-mb=8192,vcores=4]', '1 hour');
SELECT dominant, reason FROM yquota.price_quote('[memory-mb=2048,vcores=4,yarn.io/gpu=4]', '1 hour');
SELECT * FROM yquota.price_quote('[memory-mb=8192,vcores=4]', '30 min', project => 'lab') \gx
-- A quote is affordable up to exactly the remaining credit, and a microsecond more is not. A
-- NOLIMIT project can afford everything.
SELECT cost, remaining, affordable FROM yquota.price_quote('[vcores=8]', '2500 s', username => 'lab__ann');
SELECT cost, remaining, affordable FROM yquota.price_quote('[vcores=8]', '2500.000001 s', username => 'lab__ann');
SELECT cost, remaining, affordable FROM yquota.price_quote('[vcores=8]', '100 days', project => 'ops');
-- a user without a known project, and runs that cost nothing
SELECT paying_project, remaining, affordable FROM yquota.price_quote('[vcores=8]', '1 s', username => 'eve');
SELECT cost, dominant, reason, prices, alone FROM yquota.price_quote('[]', '1 h');
SELECT cost, reason FROM yquota.price_quote('[vcores=1]', '0');

--
-- Factors: in each dimension the most specific name counts, and the dimensions are multiplied
--
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES
	('queue', 'root', 1.1), ('queue', 'root.premium', 2.5), ('execution_type', 'OPPORTUNISTIC', 0.333333),
	('username', 'ann', 0.5), ('application', 'app_free', 0);
SELECT price_per_second, factor, factors_in_force
FROM (VALUES ('root.a', 'GUARANTEED', 'bob', 'app_1'), ('root.premium.x', 'OPPORTUNISTIC', 'ann', 'app_1'),
			 ('root.premium', 'GUARANTEED', 'bob', 'app_free'), ('rooted', 'GUARANTEED', NULL, NULL)) AS v (queue, type, username, app),
	 yquota.price_quote('[vcores=1]', '1 s', v.queue, v.type::yquota.execution_type, v.username, 'lab', v.app);
SELECT reason, alone FROM yquota.price_quote('[vcores=1]', '1 s', application_id => 'app_free');
-- when a factor ends, the factor of the less specific name applies
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.premium', '2026-03-02 11:00+00', NULL);
SELECT yquota.set_clock('2026-03-02 11:00+00');
SELECT factor, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', 'root.premium');

--
-- The quoted cost is the charged cost
--
SELECT yquota.set_multiplier('GENERAL', 1.123456789012345678);
SELECT yquota.set_multiplier('GPU', 3.7);
SELECT yquota.set_base_price('memory-mb', 0.7, 1000);
INSERT INTO yquota.charging_rule (minimum_run_time) VALUES ('10 s');
CREATE TEMPORARY TABLE run AS
SELECT format('c%s', number) AS container_id, number * interval '1.234567 s' AS duration,
	   format('[memory-mb=%s,vcores=%s,yarn.io/gpu=%s]', number * 977 % 9000, number % 7, number % 3)::yquota.resource AS allocation,
	   (ARRAY['root.a', 'root.premium.b', NULL])[1 + number % 3] AS queue,
	   (ARRAY['GUARANTEED', 'OPPORTUNISTIC'])[1 + number % 2]::yquota.execution_type AS execution_type,
	   (ARRAY['ann', 'bob'])[1 + number % 2] AS username
FROM generate_series(1, 60) AS number;
CREATE TEMPORARY TABLE quoted AS
SELECT run.container_id, quote.*
FROM run, yquota.price_quote(run.allocation, run.duration, run.queue, run.execution_type, run.username, 'ops') AS quote;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation, execution_type)
SELECT 'CONTAINER_START', container_id, yquota.clock(), 'ops', username, queue, allocation, execution_type FROM run;
SELECT yquota.set_clock('2026-03-02 12:00+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at)
SELECT 'CONTAINER_FINISH', container_id, '2026-03-02 11:00+00'::timestamptz + duration FROM run;
SELECT count(*) AS runs, count(DISTINCT quoted.cost) > 50 AS differ,
	   count(*) FILTER (WHERE charged.cost <> quoted.cost) AS wrong,
	   count(*) FILTER (WHERE NOT quoted.alone ? quoted.dominant
						OR (quoted.alone ->> quoted.dominant)::numeric <> quoted.cost
						OR EXISTS (SELECT FROM jsonb_each_text(quoted.alone) WHERE value::numeric > quoted.cost)) AS unexplained
FROM quoted JOIN yquota.container_cost AS charged USING (container_id);

--
-- With an assumed multiplier, the quote is the charge after the price has risen.  GPU is now at 3.7, and keeps it
-- until GENERAL is larger.
--
CREATE TEMPORARY TABLE asked AS
SELECT run.container_id, raised.multiplier, quote.*
FROM unnest('{0,0.5,2,5.000000000000000001}'::numeric[]) AS raised (multiplier)
CROSS JOIN run
CROSS JOIN LATERAL yquota.price_quote(run.allocation, run.duration, run.queue, run.execution_type, run.username, 'ops',
									  multiplier => raised.multiplier) AS quote;
SELECT multiplier, price_per_second, cost, dominant, reason, prices, alone
FROM asked WHERE container_id = 'c5' ORDER BY multiplier;
-- each quote equals a quote after the multipliers have been set
DO $$
DECLARE
	raised record;
	wrong bigint;
BEGIN
	FOR raised IN SELECT DISTINCT multiplier FROM asked ORDER BY multiplier LOOP
		BEGIN
			PERFORM yquota.set_multiplier('GENERAL', raised.multiplier),
					yquota.set_multiplier('GPU', greatest(raised.multiplier, 3.7));
			SELECT count(*) INTO wrong
			FROM run
			CROSS JOIN LATERAL yquota.price_quote(run.allocation, run.duration, run.queue, run.execution_type, run.username, 'ops') AS quote
			JOIN asked ON asked.container_id = run.container_id AND asked.multiplier = raised.multiplier
			WHERE quote IS DISTINCT FROM ROW(asked.price_per_second, asked.cost, asked.charged_time, asked.dominant, asked.reason,
											 asked.prices, asked.alone, asked.factor, asked.factors_in_force, asked.paying_project,
											 asked.remaining, asked.affordable, asked.charging_mode, asked.rates);
			RAISE EXCEPTION USING ERRCODE = 'YQ000', MESSAGE = format('multiplier %s: %s quotes differ', raised.multiplier, wrong);
		EXCEPTION WHEN SQLSTATE 'YQ000' THEN
			RAISE WARNING '%', SQLERRM;
		END;
	END LOOP;
END
$$;
-- the assumed multiplier replaces a known one ahead, but not the calendar
BEGIN;
SELECT yquota.set_multiplier('GENERAL', 9, '2026-03-02 12:30+00');
INSERT INTO yquota.price_calendar (name, price_group, timezone, "from", "to", factor) VALUES ('noon', 'GENERAL', 'UTC', '12:30', '13:00', 0.5);
SELECT cost FROM yquota.price_quote('[vcores=1]', '1 hour');
SELECT cost FROM yquota.price_quote('[vcores=1]', '1 hour', multiplier => 2);
SELECT cost FROM yquota.price_quote('[vcores=1]', '100 days', multiplier => 2);
ROLLBACK;

--
-- explain_charge(): a change begins a new row, and an unchanged value does not
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, username, queue, allocation)
VALUES ('CONTAINER_START', 'b1', '2026-03-02 12:00+00', 'lab', 'ann', 'root.premium', '[memory-mb=1000,vcores=1]');
SELECT yquota.set_multiplier('GPU', 9, '2026-03-02 12:10+00');
INSERT INTO yquota.price_factor (dimension, name, effective_at, factor) VALUES ('queue', 'root.premium', '2026-03-02 12:20+00', 4);
SELECT yquota.set_base_price('memory-mb', 7, 1000, '2026-03-02 12:30+00');
SELECT yquota.set_clock('2026-03-02 12:40+00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, queue) VALUES ('CONTAINER_UPDATE', 'b1', '2026-03-02 12:35+00', 'root.a');
SELECT yquota.report_outage('2026-03-02 12:05+00', '2026-03-02 12:15+00', 'test');
SELECT "from"::time, "to"::time, queue, dominant, factor, forgiven, settled, rate, amount FROM yquota.explain_charge('b1');
SELECT prices, factors_in_force FROM yquota.explain_charge('b1');
SELECT sum(amount) = (SELECT cost FROM yquota.container_cost WHERE container_id = 'b1') AS adds_up FROM yquota.explain_charge('b1');
SELECT sum(amount) FILTER (WHERE settled) = (SELECT sum(amount) FROM yquota.charge WHERE container_id = 'b1') AS is_ledger FROM yquota.explain_charge('b1');
-- for a short life, the padding of the minimum run time has its own row
SELECT count(*), count(padding), sum(amount) = (SELECT cost FROM quoted WHERE container_id = 'c2') AS as_quoted FROM yquota.explain_charge('c2');
SELECT * FROM yquota.verify();

--
-- A short name means the queue into which a submission with that name would go
--
BEGIN;
SELECT count(*) AS properties FROM yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "prod,dev", "yarn.scheduler.capacity.root.prod.capacity": "50",
	"yarn.scheduler.capacity.root.dev.capacity": "50", "yarn.scheduler.capacity.root.prod.queues": "etl,twin", "yarn.scheduler.capacity.root.prod.etl.capacity": "50",
	"yarn.scheduler.capacity.root.prod.twin.capacity": "50", "yarn.scheduler.capacity.root.dev.queues": "twin", "yarn.scheduler.capacity.root.dev.twin.capacity": "100"}');
SET client_min_messages = notice;
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('queue', 'root.prod', 2), ('queue', 'root.prod.etl', 3);
-- a NOTICE names each queue that no container will ever be in
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES ('queue', 'prod', 5), ('queue', 'root.prodd', 5), ('queue', 'twin', 5), ('username', 'root.prodd', 5);
SELECT project FROM yquota.rerate('2026-03-02', '2026-03-02 00:01', '{"factors": [{"dimension": "queue", "name": "etl", "factor": 2}]}', 'lab');
SET client_min_messages = warning;
SELECT queue, cost, factors_in_force
FROM unnest('{etl,root.prod.etl,prod,root.prod.twin,root.dev.twin,elsewhere,root.prod.elsewhere}'::text[]) WITH ORDINALITY AS asked (queue, number)
CROSS JOIN LATERAL yquota.price_quote('[vcores=1]', '1 h', queue => asked.queue) ORDER BY number;
SELECT submitted.queue, submitted.decided_by FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'etl', project => 'lab', dry_run => true) AS submitted;
SELECT * FROM yquota.price_quote('[vcores=1]', '1 s', queue => 'twin');
ROLLBACK;

--
-- Bad input
--
\set SHOW_CONTEXT never
SELECT * FROM yquota.price_quote(NULL, '1 h');
SELECT * FROM yquota.price_quote('[vcores=1]', NULL);
SELECT * FROM yquota.price_quote('[vcores=1]', '-1 s');
SELECT * FROM yquota.price_quote('[vcores=1]', '1000 years');
SELECT * FROM yquota.price_quote('[tapes=1]', '1 s');
SELECT * FROM yquota.price_quote('[vcores=-1]', '1 s');
SELECT * FROM yquota.price_quote('[vcores=1]', '1 s', project => 'nobody');
SELECT * FROM yquota.price_quote('[vcores=1]', '1 s', multiplier => -1);
SELECT * FROM yquota.price_quote('[vcores=1]', '1 s', multiplier => 1000000000000.1);
SELECT * FROM yquota.price_quote('[vcores=1]', '1 s', multiplier => 'NaN');

--
-- A member gets quotes with all prices, but sees only the balances of the member's own projects.
-- Factors of other users and applications are hidden.
--
CREATE ROLE yquota_quote_member;
CREATE ROLE yquota_quote_feed;
SELECT yquota.allow_role('yquota_quote_member', 'member', 'lab'), yquota.allow_role('yquota_quote_feed', 'operator');
SELECT yquota.set_clock(yquota.clock() + interval '1 hour');
INSERT INTO yquota.price_factor (dimension, name, factor) VALUES
	('username', 'mallory', 0.25), ('username', 'yquota_quote_member', 0.75),
	('application', 'app_secret', 5), ('application', 'app_lab', 7), ('application', 'app_running', 11), ('application', 'app_ahead', 13);
INSERT INTO yquota.queue (path, capacity, acl_administer_queue) VALUES ('root', NULL, NULL), ('root.a', '100', ' ');
INSERT INTO yquota.application (application_id, username, queue, project, am_resource, priority, state, submitted_at) VALUES
	('app_secret', 'mallory', 'root.a', 'ops', '[vcores=1]', 0, 'ACTIVE', yquota.clock()),
	('app_lab', 'ann', 'root.a', 'lab', '[vcores=1]', 0, 'ACTIVE', yquota.clock()),
	('app_free', 'yquota_quote_member', 'root.a', 'ops', '[vcores=1]', 0, 'ACTIVE', yquota.clock());
INSERT INTO yquota.container_event (event, container_id, project, application_id, allocation) VALUES
	('CONTAINER_START', 'r1', 'lab', 'app_running', '[vcores=1]'), ('CONTAINER_START', 'r2', 'ops', 'app_ahead', '[vcores=1]');
SET ROLE yquota_quote_member;
SELECT cost, paying_project, remaining IS NOT NULL AS has_balance, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', project => 'lab');
SELECT cost FROM yquota.price_quote('[vcores=1]', '1 s', project => 'ops');
SELECT cost, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', project => 'lab', multiplier => 2);
-- A user name that equals the role's name is allowed, with or without a project before it. The role
-- need not see that project.
SELECT paying_project, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', username => 'yquota_quote_member');
SELECT paying_project, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', username => 'lab__yquota_quote_member');
SELECT paying_project, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', username => 'ops__yquota_quote_member');
SELECT paying_project, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', username => 'yquota_quote_member', project => 'lab');
\set VERBOSITY default
SELECT factor FROM yquota.price_quote('[vcores=1]', '1 s', username => 'mallory');
SELECT factor FROM yquota.price_quote('[vcores=1]', '1 s', username => 'lab__mallory');
SELECT factor FROM yquota.price_quote('[vcores=1]', '1 s', username => 'mallory', project => 'lab');
SELECT factor FROM yquota.price_quote('[vcores=1]', '1 s', username => 'ops');
-- a member may name applications that the role sees, or that run in its projects, and all others
-- seem not to exist
SELECT app, factor FROM unnest('{app_lab,app_free,app_running}'::text[]) AS app, yquota.price_quote('[vcores=1]', '1 s', application_id => app);
SELECT factor FROM yquota.price_quote('[vcores=1]', '1 s', application_id => 'app_secret');
SELECT factor FROM yquota.price_quote('[vcores=1]', '1 s', application_id => 'app_ahead');
SELECT factor FROM yquota.price_quote('[vcores=1]', '1 s', application_id => 'app_nowhere');
\set VERBOSITY terse
SELECT factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', 'root.a', 'OPPORTUNISTIC');
-- a resource manager may ask about all users and applications
SET ROLE yquota_quote_feed;
SELECT paying_project, factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', username => 'ops__mallory', application_id => 'app_secret');
SELECT factors_in_force FROM yquota.price_quote('[vcores=1]', '1 s', application_id => 'app_nowhere');
SET ROLE yquota_quote_member;
SELECT count(*) FROM yquota.explain_charge('b1');
SELECT count(*) FROM yquota.explain_charge('c1');
RESET ROLE;

\c postgres
DROP DATABASE yquota_price_quote;
DROP ROLE yquota_quote_member, yquota_quote_feed;
