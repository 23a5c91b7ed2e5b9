--
-- Sealing and archiving: the books do not change, and archived rows can be proved. A vcore costs
-- one credit per second here. The test uses its own database, because prices and the clock are
-- global.
--
CREATE DATABASE yquota_archive;
\c yquota_archive
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('ops');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, asked_label, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 09:00', 'lab', NULL, NULL, '[vcores=1]'),
	('CONTAINER_START', 'instant', '2026-03-02 09:59', 'lab', NULL, NULL, '[vcores=1]'),
	-- the application id is too long for a page
	('CONTAINER_START', 'long', '2026-03-02 09:00', 'ops', 'a', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 400) AS i), '[vcores=2]'),
	('CONTAINER_START', 'updated', '2026-03-02 09:00', 'lab', NULL, NULL, '[vcores=1]'),
	('CONTAINER_START', 'running', '2026-03-02 09:30', 'ops', NULL, NULL, '[vcores=1]');
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_FINISH', 'done', '2026-03-02 09:10', NULL),
	('CONTAINER_FINISH', 'instant', '2026-03-02 09:59', NULL),
	('CONTAINER_FINISH', 'long', '2026-03-02 09:20', NULL),
	('CONTAINER_UPDATE', 'updated', '2026-03-02 09:40', '[vcores=3]');
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'waiting', '2026-03-02 09:50'),
	('CONTAINER_FINISH', 'running', '2026-03-02 09:00');
RESET yquota.on_bad_event;

-- All values that reports show of containers and projects
CREATE VIEW told AS
	SELECT format('%s %s %s', project, charged, accrued) AS line FROM yquota.project_balance
	UNION ALL
	SELECT format('%s %s %s %s %s', container_id, md5(application_id), finished_at, charged, accrued)
	FROM yquota.container_cost
	UNION ALL
	SELECT format('%s %s %s', container_id, number, amount) FROM yquota.charge
	UNION ALL
	SELECT format('%s %s %s', event, container_id, md5(application_id)) FROM yquota.container_event;
CREATE TABLE told_before AS SELECT line FROM told;
-- lines that only one of the two results has, in any order
CREATE FUNCTION difference() RETURNS TABLE (line text)
	LANGUAGE sql
	AS 'WITH now AS MATERIALIZED (SELECT line FROM told)
		(TABLE now EXCEPT ALL SELECT line FROM told_before) UNION ALL (SELECT line FROM told_before EXCEPT ALL TABLE now)';

--
-- Sealing
--
BEGIN;
SELECT yquota.seal_history();
SELECT count(*) FROM ONLY yquota.charge;
ROLLBACK;
SELECT count(*) FROM ONLY yquota.charge;
SELECT * FROM yquota.history_segment;
BEGIN;
SAVEPOINT before;
SELECT yquota.seal_history();
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES ('CONTAINER_FINISH', 'running', '2026-03-02 09:45');
ROLLBACK TO before;
SELECT * FROM difference();
COMMIT;
SELECT yquota.seal_history();
SELECT number, sealed_from, sealed_at, ledger_table, log_table FROM yquota.history_segment;
SELECT (SELECT count(*) FROM ONLY yquota.charge) AS charges, (SELECT count(*) FROM ONLY yquota.container_event) AS events;
SELECT * FROM difference();
SELECT * FROM yquota.verify();
-- nothing is left to seal
SELECT yquota.seal_history();

-- replayed events are known
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	('CONTAINER_START', 'updated', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	('CONTAINER_FINISH', 'done', '2026-03-02 09:10', NULL, NULL);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 09:00', 'lab', '[vcores=2]');
-- rows in the new ledger table correct sealed charges
INSERT INTO yquota.container_event (event, container_id, occurred_at, allocation) VALUES
	('CONTAINER_UPDATE', 'updated', '2026-03-02 09:20', '[vcores=2]');
SELECT container_id, number, corrects, amount, tableoid = 'yquota.charge'::regclass AS is_new
FROM yquota.charge WHERE container_id = 'updated' ORDER BY number;
SELECT * FROM yquota.verify();

-- another segment
SELECT yquota.set_clock('2026-03-02 11:00');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'late', '2026-03-02 10:10', 'lab', '[vcores=1]'),
	('CONTAINER_FINISH', 'late', '2026-03-02 10:20', NULL, NULL);
SELECT yquota.seal_history();
SELECT number, sealed_from, sealed_at FROM yquota.history_segment ORDER BY number;

--
-- Archiving: impossible calls
--
CREATE SCHEMA archive;
CREATE TABLE archive.ledger (LIKE yquota.charge) PARTITION BY RANGE ("to");
CREATE TABLE archive.ledger_2026 PARTITION OF archive.ledger FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
-- the columns are in another order, and one column is added
CREATE TABLE archive.log (archived_by name DEFAULT current_user, recorded_at timestamptz, event text);
SELECT string_agg(format('ADD %I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum DESC) AS columns
FROM pg_attribute
WHERE attrelid = 'yquota.container_event'::regclass AND attnum > 0 AND attname NOT IN ('event', 'recorded_at') \gset
ALTER TABLE archive.log :columns;
CREATE TABLE archive.other (container_id text, amount numeric);
CREATE VIEW archive.view AS SELECT * FROM archive.ledger;
CREATE TABLE archive.below () INHERITS (yquota.charge);
CREATE UNLOGGED TABLE archive.unlogged (LIKE yquota.charge);
SELECT * FROM yquota.archive('archive.other', 'infinity');
SELECT * FROM yquota.archive('archive.view', 'infinity');
SELECT * FROM yquota.archive('archive.below', 'infinity');
SELECT * FROM yquota.archive('archive.unlogged', 'infinity');
SELECT * FROM yquota.archive('yquota.charge', 'infinity');
SELECT * FROM yquota.archive(NULL, 'infinity');
SELECT * FROM yquota.archive('archive.ledger', NULL);
DROP TABLE archive.below, archive.unlogged;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM yquota.archive('archive.ledger', 'infinity');
ROLLBACK;
-- No history before 09:00 is sealed, so nothing is archived. The log cannot be archived before the ledger.
SELECT * FROM yquota.archive('archive.ledger', '2026-03-02 09:00');
SET client_min_messages = notice;
SELECT * FROM yquota.archive('archive.log', 'infinity');
SET client_min_messages = warning;

-- Archiving writes the target table with the rights of its caller. The triggers of that table run
-- as the caller, too.
CREATE ROLE yquota_test_archivist;
GRANT USAGE ON SCHEMA archive TO yquota_test_archivist;
GRANT EXECUTE ON FUNCTION yquota.archive TO yquota_test_archivist;
SET SESSION AUTHORIZATION yquota_test_archivist;
SELECT * FROM yquota.archive('archive.ledger', 'infinity');
SELECT yquota.seal_history();
SELECT * FROM yquota.history_segment;
SELECT * FROM yquota_internal.charge_sealed_1;
RESET SESSION AUTHORIZATION;
GRANT INSERT ON archive.ledger, archive.log TO yquota_test_archivist;
CREATE FUNCTION archive.refuse() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION 'run by %', current_user; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON archive.ledger_2026 FOR EACH ROW EXECUTE FUNCTION archive.refuse();
SET SESSION AUTHORIZATION yquota_test_archivist;
SELECT * FROM yquota.archive('archive.ledger', 'infinity');
RESET SESSION AUTHORIZATION;
CREATE OR REPLACE FUNCTION archive.refuse() RETURNS trigger LANGUAGE plpgsql
	AS $$ BEGIN RETURN CASE NEW.container_id WHEN 'done' THEN NULL ELSE NEW END; END $$;
SELECT * FROM yquota.archive('archive.ledger', 'infinity');
DROP TRIGGER refuse ON archive.ledger_2026;
SELECT * FROM yquota.verify();

-- Segments that a late price may still correct are not archived
BEGIN;
INSERT INTO yquota_internal.correction_due (changed_from) VALUES ('2026-03-02 09:55');
SELECT * FROM yquota.archive('archive.ledger', 'infinity');
ROLLBACK;

--
-- Archiving. The container "done" has rows in both segments.
--
CREATE OR REPLACE VIEW told AS
	SELECT format('%s %s %s', project, charged, accrued) AS line FROM yquota.project_balance
	UNION ALL
	SELECT format('%s %s %s', container_id, charged, accrued) FROM yquota.container_cost
	WHERE container_id IN (SELECT container_id FROM yquota.container)
	UNION ALL
	SELECT format('%s %s %s %s %s', "from", "to", allocation, dominant, amount) FROM yquota.explain_charge('updated')
	UNION ALL
	SELECT format('%s', f) FROM yquota.feed_status AS f;
DELETE FROM told_before;
INSERT INTO told_before SELECT line FROM told;
SET SESSION AUTHORIZATION yquota_test_archivist;
SELECT history, segments, archived, archived_before, charged FROM yquota.archive('archive.ledger', '2026-03-02 10:30');
RESET SESSION AUTHORIZATION;
SELECT number, ledger_table, log_table, charges, events, horizon FROM yquota.history_segment ORDER BY number;
SELECT container_id, number, amount FROM archive.ledger ORDER BY container_id, number;
SELECT container_id, number, amount FROM yquota.charge ORDER BY container_id, number;
SELECT * FROM difference();
SELECT * FROM yquota.verify();
SELECT * FROM yquota.verify('2026-03-02 10:00');
-- archive a second time
SELECT * FROM yquota.archive('archive.ledger', '2026-03-02 10:30');
-- archive the log
SET SESSION AUTHORIZATION yquota_test_archivist;
SELECT history, segments, archived, archived_before FROM yquota.archive('archive.log', 'infinity');
RESET SESSION AUTHORIZATION;
SELECT event, container_id, archived_by FROM archive.log ORDER BY container_id, occurred_at, event;
SELECT event, container_id FROM yquota.container_event ORDER BY container_id, occurred_at, event, allocation;
SELECT * FROM yquota.archive('archive.log', 'infinity');
-- archive the rest of ledger and log
SELECT history, segments, archived, archived_before, charged FROM yquota.archive('archive.ledger', 'infinity');
SELECT history, segments, archived, archived_before FROM yquota.archive('archive.log', 'infinity');
SELECT container_id, number, amount FROM yquota.charge ORDER BY container_id, number;
SELECT event, container_id FROM yquota.container_event ORDER BY container_id, occurred_at, event, allocation;
SELECT number, ledger_table, log_table, charges, events, horizon FROM yquota.history_segment ORDER BY number;
SELECT relname FROM pg_class
WHERE relnamespace = 'yquota_internal'::regnamespace AND relkind = 'r' AND relname ~ '_(sealed|carried)_' ORDER BY relname;
SELECT * FROM difference();
SELECT * FROM yquota.verify();

--
-- The archive proves history
--
SELECT project, archived_through, archived_before, charged, charges FROM yquota.opening_balance ORDER BY 1, 2;
SELECT project, a.archived = b.charges AND a.charged = b.charged AND a.digest = b.digest AS is_right
FROM yquota.archive_digest('archive.ledger') AS a
JOIN (SELECT DISTINCT ON (project) * FROM yquota.opening_balance ORDER BY project, archived_through DESC) AS b USING (project)
ORDER BY project;
SELECT project, archived, last_at FROM yquota.archive_digest('archive.log');
-- any role that may read an archive may compute its digest, with its own rights
CREATE TEMPORARY TABLE of_owner AS SELECT * FROM yquota.archive_digest('archive.ledger');
CREATE ROLE yquota_test_digester;
GRANT USAGE ON SCHEMA archive TO yquota_test_digester;
GRANT SELECT ON of_owner TO yquota_test_digester;
SET ROLE yquota_test_digester;
SELECT * FROM yquota.archive_digest('archive.ledger');
RESET ROLE;
GRANT SELECT ON archive.ledger TO yquota_test_digester;
SET ROLE yquota_test_digester;
SELECT count(*) AS projects, count(*) FILTER (WHERE own IS DISTINCT FROM of_owner) AS wrong FROM yquota.archive_digest('archive.ledger') AS own FULL JOIN of_owner USING (project);
SELECT * FROM yquota.archive_digest(NULL);
-- a role that cannot read the table is told which columns are missing, as the catalog shows columns
-- to every role
CREATE TEMPORARY TABLE no_archive (number integer, amount text);
SELECT * FROM yquota.archive_digest('no_archive');
RESET ROLE;
SELECT * FROM yquota.archive_digest(4294967295::oid::regclass);
SELECT * FROM yquota.archive_digest('yquota.quota_grant_pkey');
SELECT * FROM yquota.archive_digest('pg_class');
-- a single missing column, or a wrong type, is refused
CREATE TABLE archive.spoilt_log AS TABLE archive.log;
ALTER TABLE archive.spoilt_log RENAME recorded_at TO at;
SELECT * FROM yquota.archive_digest('archive.spoilt_log');
CREATE VIEW archive.mended_log AS SELECT *, at AS recorded_at FROM archive.spoilt_log;
SELECT a = b AS is_equal FROM yquota.archive_digest('archive.mended_log') AS a, yquota.archive_digest('archive.log') AS b;
DROP VIEW archive.mended_log;
ALTER TABLE archive.spoilt_log RENAME at TO recorded_at;
ALTER TABLE archive.spoilt_log ALTER COLUMN recorded_at TYPE timestamp;
SELECT * FROM yquota.archive_digest('archive.spoilt_log');
DROP TABLE archive.spoilt_log, no_archive;
DROP TABLE of_owner;
DROP OWNED BY yquota_test_digester;
DROP ROLE yquota_test_digester;
-- the query can be shown, and its result does not depend on settings
SELECT yquota.archive_digest_query('archive.ledger');
BEGIN;
SET LOCAL timezone = 'Asia/Tokyo';
SET LOCAL datestyle = 'German';
SELECT sum(digest) = (SELECT sum(digest) FROM (SELECT DISTINCT ON (project) digest FROM yquota.opening_balance ORDER BY project, archived_through DESC) AS b)
FROM yquota.archive_digest('archive.ledger');
ROLLBACK;
-- any change shows
BEGIN;
UPDATE archive.ledger SET node = 'n1' WHERE container_id = 'done';
SELECT a.digest = b.digest AS is_right
FROM yquota.archive_digest('archive.ledger') AS a
JOIN (SELECT DISTINCT ON (project) * FROM yquota.opening_balance ORDER BY project, archived_through DESC) AS b USING (project)
ORDER BY project;
ROLLBACK;
UPDATE yquota.opening_balance SET charged = 0;
DELETE FROM yquota.opening_balance;
TRUNCATE yquota.opening_balance;
-- verify() also reports a change of the counters
BEGIN;
INSERT INTO yquota.opening_balance VALUES ('lab', 3, 'infinity', 1, 1, 0);
SELECT * FROM yquota.verify();
ROLLBACK;

--
-- The horizon
--
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 09:00', 'lab', '[vcores=1]');
-- an archived container is refused with its START and FINISH in one statement, and among many
-- containers
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'done', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	('CONTAINER_FINISH', 'done', '2026-03-02 09:10', NULL, NULL);
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation)
SELECT event, 'old' || i, '2026-03-02 09:00', 'lab', '[vcores=1]'
FROM generate_series(1, 100) AS i, unnest('{CONTAINER_START,CONTAINER_FINISH}'::yquota.container_event_type[]) AS event;
-- a START in the last microsecond before the horizon is refused, too
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'new', '2026-03-02 10:59:59.999999', 'lab', '[vcores=1]');
SET yquota.on_bad_event = set_aside;
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'done', '2026-03-02 09:10');
RESET yquota.on_bad_event;
SELECT event, container_id, waiting, sqlstate, reason FROM yquota.event_reject ORDER BY reject_id;
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'new', '2026-03-02 11:00', 'lab', '[vcores=1]'),
	-- known containers are accepted: a repeated START, and a late FINISH
	('CONTAINER_START', 'updated', '2026-03-02 09:00', 'lab', '[vcores=1]'),
	('CONTAINER_START', 'running', '2026-03-02 09:30', 'ops', '[vcores=1]'),
	('CONTAINER_FINISH', 'running', '2026-03-02 09:50', NULL, NULL);
SELECT container_id, number, amount FROM yquota.charge WHERE container_id = 'running';
SELECT * FROM yquota.verify();
-- prices before the horizon cannot change
SELECT yquota.set_multiplier('GENERAL', 2, '2026-03-02 10:59');
SELECT yquota.report_outage('2026-03-02 10:59', '2026-03-02 11:01', 'late');
INSERT INTO yquota.price_factor (dimension, name, factor, effective_at) VALUES ('queue', 'q', 2, '2026-03-02 10:59');
INSERT INTO yquota.charging_rule (minimum_run_time, effective_at) VALUES ('1 minute', '2026-03-02 10:59');
SELECT yquota.report_outage('2026-03-02 11:00', '2026-03-02 11:01', 'in time');
-- reports show the time before the horizon, by quarter of an hour
SELECT * FROM yquota.cost_between('2026-03-02 09:00', 'infinity');
SELECT * FROM yquota.cost_between('2026-03-02 11:00', 'infinity');
SELECT yquota.set_clock('2026-03-03 12:00');
SELECT day, project, amount FROM yquota.daily_cost ORDER BY 1, 2, 3;

--
-- The rows of a container that ran when its segment was archived leave after the container has ended
--
INSERT INTO yquota.container_event (event, container_id, occurred_at) VALUES
	('CONTAINER_FINISH', 'updated', '2026-03-03 09:00'),
	('CONTAINER_FINISH', 'new', '2026-03-03 09:00');
SELECT * FROM yquota.explain_charge('updated');
SELECT yquota.seal_history();
-- charges from before the report of the outage have not been compacted yet
SELECT history, segments, archived, archived_before, charged FROM yquota.archive('archive.ledger', 'infinity');
SELECT yquota.quota_compute();
SELECT history, segments, archived, archived_before, charged FROM yquota.archive('archive.ledger', 'infinity');
SELECT history, segments, archived, archived_before FROM yquota.archive('archive.log', 'infinity');
SELECT count(*) FROM yquota.charge;
-- events that wait for their START continue to wait
SELECT event, container_id FROM yquota.container_event;
SELECT count(*) FROM yquota.container_change;
SELECT * FROM yquota.verify();
SELECT project, charged FROM yquota.project_balance ORDER BY project;
SELECT project, a.digest = b.digest AND a.charged = b.charged AS is_right
FROM yquota.archive_digest('archive.ledger') AS a
JOIN (SELECT DISTINCT ON (project) * FROM yquota.opening_balance ORDER BY project, archived_through DESC) AS b USING (project)
ORDER BY project;

--
-- The extension cannot be dropped while other objects inherit its history
--
\set VERBOSITY terse
DROP EXTENSION yquota;
\set VERBOSITY default

--
-- An archive is read with the rights of its owner, and no code of it runs with the rights of
-- yquota's owner
--
ALTER TABLE archive.ledger OWNER TO yquota_test_archivist;
ALTER TABLE archive.ledger ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE FUNCTION archive.is_shown() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'archive.ledger is read by %', current_user;
	PERFORM set_config('search_path', 'archive', false);
	RETURN true;
END $$;
CREATE POLICY shown ON archive.ledger USING ((SELECT archive.is_shown()));
CREATE ROLE yquota_test_archived;
SELECT yquota.allow_role('yquota_test_archived', 'member', 'lab');
SET SESSION AUTHORIZATION yquota_test_archived;
SELECT "from", "to", allocation, amount, forgiven FROM yquota.explain_charge('updated');
-- a setting that the code of an archive changes does not survive the call either
SHOW search_path;
SELECT count(*) FROM archive.ledger;
RESET SESSION AUTHORIZATION;
REVOKE ALL ON SCHEMA archive FROM yquota_test_archivist;
SELECT count(*) FROM yquota.explain_charge('updated');
ALTER TABLE archive.ledger OWNER TO CURRENT_USER;
ALTER TABLE archive.ledger DISABLE ROW LEVEL SECURITY;
SELECT yquota.disallow_role('yquota_test_archived', 'member', 'lab');
DROP ROLE yquota_test_archived;
REVOKE ALL ON ALL TABLES IN SCHEMA archive FROM yquota_test_archivist;
REVOKE ALL ON FUNCTION yquota.archive FROM yquota_test_archivist;
DROP ROLE yquota_test_archivist;
\c postgres
DROP DATABASE yquota_archive;
