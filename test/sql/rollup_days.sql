--
-- A day is rolled up when its sums are at most a fifth of the ledger rows that begin on that day.
-- Reports read other days from the ledger. A vcore costs one credit per second. The test uses its
-- own database, because prices and the clock are global.
--
CREATE DATABASE yquota_rollup_days;
\c yquota_rollup_days
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SELECT yquota.set_clock('2026-03-20 00:00');
INSERT INTO yquota.project (name) VALUES ('lab');

-- run containers of 12 minutes on a day, one in each quarter of an hour, of several applications
CREATE PROCEDURE run_containers(prefix text, day date, containers integer, applications integer)
	LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation)
	SELECT event.name, prefix || number, day + (number % 8) * interval '15 min' + event.after,
		   event.project, 'a' || number % applications, 'ann', 'root.x', event.allocation
	FROM generate_series(0, containers - 1) AS number,
		 (VALUES ('CONTAINER_START'::yquota.container_event_type, interval '1 min', 'lab', '[vcores=1]'::yquota.resource),
				 ('CONTAINER_FINISH', '13 min', NULL, NULL)) AS event (name, after, project, allocation)
	ORDER BY number, event.name
	$$;
-- an open transaction of another session, such as autovacuum's, may delay rows for a moment
CREATE FUNCTION roll_up() RETURNS bigint
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
-- the recorded decision for each day, and the actual numbers of rows
CREATE VIEW day AS
	SELECT known.day::date, known.is_rolled_up, known.charges, known.sums,
		   (SELECT count(*) FROM yquota.charge AS c WHERE c."from" >= known.day AND c."from" < known.day + interval '1 day') AS ledger_rows,
		   (SELECT count(*) FROM yquota_internal.charge_rollup AS r WHERE r.quarter_hour >= known.day AND r.quarter_hour < known.day + interval '1 day') AS rollup_rows
	FROM yquota_internal.rollup_day AS known
	WHERE known.day >= '2026-01-01'
	ORDER BY known.day;
CREATE FUNCTION cost("from" timestamptz, "to" timestamptz) RETURNS numeric
	LANGUAGE sql AS $$ SELECT sum(amount) FROM yquota.cost_between("from", "to", '{queue}') $$;
-- reports by day, and for a window that begins within a quarter of an hour
CREATE VIEW report AS
	SELECT 'days' AS of, c::text AS cost FROM yquota.cost_by_day('2026-03-01', '2026-03-20', '{project,application_id}') AS c
	UNION ALL
	SELECT 'window', c::text FROM yquota.cost_between('2026-03-01 00:05', '2026-03-19', '{username,queue}') AS c;
CREATE TABLE said AS TABLE report;
CREATE PROCEDURE note() LANGUAGE sql AS $$ DELETE FROM said; INSERT INTO said TABLE report $$;
CREATE VIEW difference AS
	SELECT * FROM report FULL JOIN said USING (of, cost) WHERE report IS NULL OR said IS NULL;

-- Days with many containers of one application, with an application for each container, and with
-- five containers in each sum. Container "long" only crosses one day.
CALL run_containers('dense', '2026-03-02', 80, 1);
CALL run_containers('single', '2026-03-03', 40, 1000);
CALL run_containers('five', '2026-03-04', 40, 1);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'long', '2026-03-04 23:30', 'lab', 'a1', 'ann', 'root.x', '[vcores=1]'), ('CONTAINER_FINISH', 'long', '2026-03-06 00:10', NULL, NULL, NULL, NULL, NULL);
CALL run_containers('dense_too', '2026-03-07', 80, 1);
CALL run_containers('few', '2026-03-09', 40, 1);
CALL run_containers('many', '2026-03-10', 160, 1000);
CALL note();
SELECT roll_up();
TABLE day;
SELECT roll_up();
TABLE difference;

-- A report reads the longest interval of rolled-up days from the sums, if a quarter of the report's
-- rows lie in the interval.
BEGIN;
UPDATE yquota_internal.charge_rollup SET amount = 0;
SELECT cost('2026-03-02', '2026-03-03'), cost('2026-03-03', '2026-03-04'), cost('2026-03-07 01:00', '2026-03-08'), cost('2026-03-07 00:20', '2026-03-07 01:05');
SELECT cost('2026-03-02', '2026-03-04'), cost('2026-03-03', '2026-03-05'), cost('2026-03-01', '2026-03-10'), cost('2026-03-09', '2026-03-11');
SELECT problem, subject, expected, found FROM yquota.verify();
ROLLBACK;
SELECT cost('2026-03-02', '2026-03-04'), cost('2026-03-03', '2026-03-05'), cost('2026-03-01', '2026-03-10'), cost('2026-03-09', '2026-03-11');

-- a day that was not rolled up gets more rows: first too few, then enough
CALL run_containers('more', '2026-03-03', 100, 1);
CALL note();
SELECT roll_up();
SELECT * FROM day WHERE day = '2026-03-03';
CALL run_containers('still_more', '2026-03-03', 160, 1);
CALL note();
SELECT roll_up();
SELECT * FROM day WHERE day = '2026-03-03';
TABLE difference;

-- Sums of one key that several roll-ups added are joined. A day that gets many keys is no longer
-- rolled up.
CALL run_containers('b', '2026-03-04', 16, 1);
SELECT roll_up();
SELECT * FROM day WHERE day = '2026-03-04';
CALL run_containers('c', '2026-03-04', 8, 1);
SELECT roll_up();
CALL run_containers('d', '2026-03-04', 8, 1);
SELECT roll_up();
SELECT * FROM day WHERE day = '2026-03-04';
CALL run_containers('e', '2026-03-04', 8, 1);
SELECT roll_up();
SELECT * FROM day WHERE day = '2026-03-04';
CALL run_containers('each', '2026-03-07', 80, 1000);
CALL note();
SELECT roll_up();
SELECT * FROM day WHERE day = '2026-03-07';
TABLE difference;
SELECT * FROM yquota.verify();

-- charges that must be divided again are counted once
SELECT count(*) > 0 AS forgiven FROM yquota.forgive('2026-03-02 00:07', '2026-03-03 00:09', 'switch');
CALL note();
SELECT roll_up() > 0 AS some;
TABLE day;
TABLE difference;
SELECT * FROM yquota.verify();

-- all days are rolled up, and reports do not change
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT roll_up() > 0 AS some;
SELECT count(*) FILTER (WHERE is_rolled_up) AS rolled_up, count(*) FILTER (WHERE sums = rollup_rows AND charges = ledger_rows) AS is_right, count(*) FROM day;
TABLE difference;
SELECT * FROM yquota.verify();
UPDATE yquota_internal.rollup_state SET charges_per_sum = DEFAULT;
SELECT roll_up();
TABLE day;
TABLE difference;

-- A container that ran for years is in one group with containers that ran later. The quarter-hours
-- of the first container come before those of the others.
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'later', '2005-03-19 12:00', 'lab', 'y', 'ann', 'root.y', '[vcores=1]'), ('CONTAINER_FINISH', 'later', '2005-03-19 13:10', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'within', '2001-01-01 00:10', 'lab', 'y', 'ann', 'root.y', '[vcores=1]'), ('CONTAINER_FINISH', 'within', '2001-01-03 00:20', NULL, NULL, NULL, NULL, NULL),
	('CONTAINER_START', 'years', '2000-01-01 00:00', 'lab', 'y', 'ann', 'root.y', '[vcores=1]'), ('CONTAINER_FINISH', 'years', '2004-01-01 00:07', NULL, NULL, NULL, NULL, NULL);
UPDATE yquota_internal.rollup_state SET charges_per_sum = 0;
SELECT roll_up() > 140000 AS rolled_up;
SELECT count(*), sum(amount) FROM yquota_internal.charge_rollup WHERE queue = 'root.y' AND quarter_hour >= '2001-01-01' AND quarter_hour < '2001-01-04';
CREATE VIEW years AS
	SELECT extract(year FROM bounds.at) AS year, sum(cost.amount) AS cost
	FROM generate_series('2000-01-01', '2004-01-01', interval '1 year') AS bounds (at)
	CROSS JOIN LATERAL yquota.cost_between(bounds.at, bounds.at + interval '1 year', '{queue}') AS cost
	GROUP BY 1 ORDER BY 1;
TABLE years;
SELECT * FROM yquota.verify();
UPDATE yquota_internal.rollup_state SET charges_per_sum = DEFAULT;

-- days whose rows are archived are removed, except for rows that stay
SELECT yquota.set_clock('2026-03-20 01:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, allocation) VALUES
	('CONTAINER_START', 'runs', '2026-03-02 12:00', 'lab', 'a1', 'ann', 'root.x', '[vcores=1]'), ('CONTAINER_UPDATE', 'runs', '2026-03-03 00:10', NULL, NULL, NULL, NULL, '[vcores=2]');
SELECT yquota.quota_compute() IS NOT NULL AS computed;
SELECT roll_up() >= 0 AS rolled_up;
SELECT yquota.seal_history();
CALL run_containers('last', '2026-03-19', 80, 1);
SELECT roll_up();
CREATE TABLE archived (LIKE yquota.charge);
-- archived history is known by full quarters of an hour
CREATE OR REPLACE VIEW report AS
	SELECT 'days' AS of, c::text AS cost FROM yquota.cost_by_day('2026-03-01', '2026-03-20', '{project,application_id}') AS c;
CALL note();
SELECT segments FROM yquota.archive('archived', 'infinity');
TABLE day;
TABLE difference;
TABLE years;
SELECT roll_up();
TABLE day;
TABLE difference;
TABLE years;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_rollup_days;
