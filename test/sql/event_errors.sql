--
-- Bad input in error mode (docs/design.md 1.7): the error names the row and the remedy, and nothing
-- of the statement stays.
--
CREATE DATABASE yquota_event_errors;
\c yquota_event_errors
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');

-- Return the error of an INSERT of one row. The subtransaction also shows that a failed statement
-- leaves nothing behind in the session.
CREATE FUNCTION attempt(event yquota.container_event_type, container_id text, occurred_at timestamptz,
						project text DEFAULT NULL, allocation yquota.resource DEFAULT NULL,
						username text DEFAULT NULL, exit_status integer DEFAULT NULL,
						OUT state text, OUT message text, OUT detail text, OUT hint text)
	LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, username, exit_status, source)
	VALUES (attempt.event, attempt.container_id, attempt.occurred_at, attempt.project, attempt.allocation,
			attempt.username, attempt.exit_status, 'rm');
	state := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END
$$;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'runs', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	('CONTAINER_START', 'ended', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	('CONTAINER_UPDATE', 'ended', '2026-03-02 09:00:10', NULL, '[vcores=2]'),
	('CONTAINER_FINISH', 'ended', '2026-03-02 09:00:20', NULL, NULL);
\x
--
-- Errors of a row by itself
--
SELECT * FROM attempt('CONTAINER_START', NULL, '2026-03-02 09:30', 'lab', '[vcores=1]');
SELECT * FROM attempt('CONTAINER_FINISH', '', '2026-03-02 09:30');
SELECT * FROM attempt('CONTAINER_FINISH', 'runs', NULL);
SELECT * FROM attempt('CONTAINER_FINISH', 'runs', 'infinity');
SELECT * FROM attempt('CONTAINER_START', 'c', '-infinity', 'lab', '[vcores=1]');
SELECT * FROM attempt('QUOTA_COMPUTE', NULL, 'infinity');
SELECT * FROM attempt('QUOTA_COMPUTE', NULL, NULL);
-- yquota.max_clock_skew is five minutes, exact to the microsecond
SELECT * FROM attempt('CONTAINER_FINISH', 'runs', '2026-03-02 10:05:00.000001');
SELECT * FROM attempt('QUOTA_COMPUTE', NULL, '2026-03-02 10:05:00.000001');
SELECT state FROM attempt('QUOTA_COMPUTE', NULL, '2026-03-02 10:05');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, recorded_at)
VALUES ('CONTAINER_START', 'runs', '2026-03-02 09:00', 'lab', '[vcores=2]', 'infinity');
SELECT * FROM attempt('CONTAINER_START', 'c', '2026-03-02 09:30', 'lab', NULL);
SELECT * FROM attempt('CONTAINER_START', 'c', '2026-03-02 09:30', 'lab', '[memory-mb=1,vcores=-1]');
SELECT * FROM attempt('CONTAINER_UPDATE', 'runs', '2026-03-02 09:30', NULL, '[vcores=-1]');
--
-- Errors that depend on the configuration
--
SELECT * FROM attempt('CONTAINER_START', 'c', '2026-03-02 09:30', 'lab', '[fpga=1]');
SELECT * FROM attempt('CONTAINER_UPDATE', 'runs', '2026-03-02 09:30', NULL, '[fpga=1]');
SELECT * FROM attempt('CONTAINER_START', 'c', '2026-03-02 09:30', 'lab', '[memory-mb=1125899906842625]');
SELECT * FROM attempt('CONTAINER_START', 'c', '2026-03-02 09:30', 'lab', '[memory-mb=1125899906842624]');
SELECT * FROM attempt('CONTAINER_FINISH', 'c', '2026-03-02 09:30:01');
SELECT * FROM attempt('CONTAINER_START', 'd', '2026-03-02 09:30', 'nobody', '[vcores=1]');
SELECT * FROM attempt('CONTAINER_START', 'd', '2026-03-02 09:30', '', '[vcores=1]');
SELECT * FROM attempt('CONTAINER_START', 'd', '2026-03-02 09:30', NULL, '[vcores=1]');
SELECT * FROM attempt('CONTAINER_START', 'd', '2026-03-02 09:30', NULL, '[vcores=1]', 'nobody__ann');
--
-- Errors that depend on the known events of the container
--
SELECT * FROM attempt('CONTAINER_UPDATE', 'd', '2026-03-02 09:30', NULL, '[vcores=1]');
SELECT * FROM attempt('CONTAINER_FINISH', 'd', '2026-03-02 09:30');
SELECT * FROM attempt('CONTAINER_UPDATE', 'runs', '2026-03-02 08:59:59', NULL, '[vcores=2]');
SELECT * FROM attempt('CONTAINER_FINISH', 'runs', '2026-03-02 08:59:59');
SELECT * FROM attempt('CONTAINER_START', 'runs', '2026-03-02 09:00', 'ops', '[vcores=1]');
SELECT * FROM attempt('CONTAINER_UPDATE', 'runs', '2026-03-02 09:30', 'ops', '[vcores=2]');
SELECT * FROM attempt('CONTAINER_FINISH', 'runs', '2026-03-02 09:30', 'ops');
SELECT * FROM attempt('CONTAINER_FINISH', 'ended', '2026-03-02 09:00:20', 'ops');
SELECT * FROM attempt('CONTAINER_START', 'runs', '2026-03-02 09:00:01', 'lab', '[vcores=1]');
SELECT * FROM attempt('CONTAINER_START', 'ended', '2026-03-02 09:30', 'lab', '[vcores=1]');
SELECT * FROM attempt('CONTAINER_UPDATE', 'ended', '2026-03-02 09:00:10', NULL, '[vcores=3]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES ('CONTAINER_UPDATE', 'runs', '2026-03-02 09:10', '[vcores=2]');
\x
--
-- Errors that are raised before the trigger: rows that cannot be stored at all
--
INSERT INTO yquota.container_event (event, container_id) VALUES ('CONTAINER_PAUSE', 'runs');
\set VERBOSITY terse
INSERT INTO yquota.container_event (container_id) VALUES ('runs');
\set VERBOSITY default
INSERT INTO yquota.container_event (event, container_id, allocation) VALUES ('CONTAINER_UPDATE', 'runs', '[vcores=99999999999999999999]');
\set VERBOSITY terse
INSERT INTO yquota.container_event (event, container_id, recorded_at) VALUES ('CONTAINER_FINISH', 'runs', NULL);
\set VERBOSITY default
INSERT INTO yquota.resource_type (name, price_group, unit) VALUES ('disk', 'GENERAL', 0);
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('disk', 'GENERAL', -1);
UPDATE yquota.price_group SET tipping_point = 1.01;
UPDATE yquota.price_group SET tipping_point = -0.01;

--
-- A price that does not fit is an error, never a wrong sum
--
INSERT INTO yquota.price_group (name) VALUES ('DEAR');
INSERT INTO yquota.resource_type (name, price_group, base_price) VALUES ('dear', 'DEAR', 1000000000000);
-- the price is refused when it is set, because nothing could be charged with it
SELECT yquota.set_multiplier('DEAR', 1000000000000, '2026-03-02 10:00:01');
SELECT yquota.set_multiplier('DEAR', 1000000000000, '2026-03-02 09:59');
SELECT yquota.set_multiplier('DEAR', 100000000, '2026-03-02 10:00:01');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'large', '2026-03-02 10:00', 'lab', '[dear=1125899906842624]'),
	('CONTAINER_FINISH', 'large', '2026-03-02 10:00:01', NULL, NULL);
SELECT amount FROM yquota.charge WHERE container_id = 'large';
-- the rate of a shape is less than 2^128 units of 10^-18 credits per second
SELECT * FROM attempt('CONTAINER_START', 'too large', '2026-03-02 10:00:01', 'lab', '[dear=100000001,vcores=2]');
SELECT state FROM attempt('CONTAINER_START', 'long', '2026-03-02 10:00:00', 'lab', '[dear=100000001,vcores=2]');
SELECT state, message FROM attempt('CONTAINER_FINISH', 'long', '2026-03-02 10:00:02');
SELECT state FROM attempt('CONTAINER_FINISH', 'long', '2026-03-02 10:00:01');
-- a hundred billion vcores, charged from the first instant that an event may have
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'ancient', '2000-01-01 00:00+00', 'lab', '[vcores=100000000000]'),
	('CONTAINER_FINISH', 'ancient', '2026-03-02 10:00', NULL, NULL);
SELECT amount FROM yquota.charge WHERE container_id = 'ancient';
-- a deleted resource type is unknown again, also in a session that has cached it
BEGIN;
INSERT INTO yquota.resource_type (name, price_group) VALUES ('passing', 'GENERAL');
SAVEPOINT a;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'passing', '2026-03-02 09:00', 'lab', '[passing=1]');
ROLLBACK TO a;
COMMIT;
DELETE FROM yquota.resource_type WHERE name = 'passing';
SELECT state, message FROM attempt('CONTAINER_START', 'passing', '2026-03-02 09:00', 'lab', '[passing=1]');

--
-- A bad row anywhere among many: nothing of the statement stays
--
SELECT count(*) AS events FROM yquota.container_event;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'a', '2026-03-02 09:30', 'lab', '[vcores=1]'),
	('CONTAINER_FINISH', 'runs', '2026-03-02 09:30', NULL, NULL),
	('CONTAINER_START', 'z', '2026-03-02 09:30', 'nobody', '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT 'CONTAINER_START', 'b' || i, '2026-03-02 09:30', CASE i WHEN 3000 THEN 'nobody' ELSE 'lab' END, '[vcores=1]'
FROM generate_series(1, 3000) AS i;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'a', '2026-03-02 09:30', 'lab', '[vcores=1]'),
	('CONTAINER_FINISH', 'a', '2026-03-02 09:29', NULL, NULL);
SELECT count(*) AS events FROM yquota.container_event;
SELECT container_id FROM yquota.container ORDER BY 1;
SELECT count(*) FROM yquota.event_reject;
-- the session still works
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'runs', '2026-03-02 09:30');
SELECT number, amount FROM yquota.charge WHERE container_id = 'runs' ORDER BY 1;
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_event_errors;
