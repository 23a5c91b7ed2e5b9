--
-- Attempts to gain privileges by code that another role runs. Functions of indexes run in sessions
-- of superusers during maintenance, also by autovacuum, and may call functions of yquota there.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_attempts WITH (FORCE);
CREATE DATABASE yquota_attempts;
\c yquota_attempts
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SET datestyle = 'ISO';
\set SHOW_CONTEXT never
CREATE ROLE yquota_test_operator;
CREATE ROLE yquota_test_member;
CREATE ROLE yquota_test_viewer;
CREATE ROLE yquota_test_admin;
SELECT yquota.set_clock('2026-03-02 10:00');
INSERT INTO yquota.project (name) VALUES ('lab'), ('secret');
SELECT yquota.allow_role('yquota_test_operator', 'operator');
SELECT yquota.allow_role('yquota_test_member', 'member', 'lab');
SELECT yquota.allow_role('yquota_test_viewer', 'viewer');
SELECT yquota.allow_role('yquota_test_admin', 'admin');
INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES
	('CONTAINER_START', 'lab_1', '2026-03-02 09:00', 'lab', '[vcores=1]'), ('CONTAINER_FINISH', 'lab_1', '2026-03-02 09:30', NULL, NULL),
	('CONTAINER_START', 'secret_1', '2026-03-02 09:00', 'secret', '[vcores=1]'), ('CONTAINER_FINISH', 'secret_1', '2026-03-02 09:30', NULL, NULL);
CREATE SCHEMA bait;
GRANT USAGE, CREATE ON SCHEMA bait TO PUBLIC;

-- The function of an index may be volatile in fact. Here it does nothing in its owner's session,
-- and in another session it runs the command and reports the outcome.
CREATE FUNCTION bait.lay(name text, command text) RETURNS void LANGUAGE plpgsql AS
$lay$
BEGIN
	EXECUTE format('CREATE FUNCTION bait.%I() RETURNS integer LANGUAGE plpgsql AS $$BEGIN %s; RAISE WARNING ''%s done as %%'', current_user; RETURN 1; END$$', name || '_does', command, name);
	EXECUTE format('CREATE FUNCTION bait.%I(i integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$BEGIN IF session_user <> current_user AND current_setting(''bait.is_laid'') = ''off'' THEN PERFORM bait.%I(); END IF; RETURN 1; END$$', name, name || '_does');
	EXECUTE format('CREATE TABLE bait.%I AS SELECT 1 AS i', name || '_table');
	EXECUTE format('CREATE INDEX %I ON bait.%I (bait.%I(i))', name || '_index', name || '_table', name);
END
$lay$;
SET bait.is_laid = on;

--
-- A superuser's REINDEX runs the administrator's code, which writes to an archive table with a
-- trigger of the administrator
--
SET ROLE yquota_test_admin;
SELECT yquota.seal_history();
SELECT yquota.quota_compute() IS NULL AS nothing_due;
CREATE TABLE bait.archive (LIKE yquota.charge);
CREATE FUNCTION bait.tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'the trigger runs as %, who sees %', current_user,
		(SELECT string_agg(project, ', ' ORDER BY project) FROM yquota.project_balance);
	RETURN NULL;
END$$;
CREATE TRIGGER tell AFTER INSERT ON bait.archive FOR EACH STATEMENT EXECUTE FUNCTION bait.tell();
SELECT bait.lay('archiving', $$PERFORM yquota.archive('bait.archive', 'infinity')$$);
RESET ROLE;
SET bait.is_laid = off;
BEGIN;
REINDEX INDEX bait.archiving_index;
ROLLBACK;
-- a SECURITY DEFINER function that the administrator owns gives the same result
SET bait.is_laid = on;
SET ROLE yquota_test_admin;
CREATE FUNCTION bait.archive_for_all() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
	$$SELECT archived FROM yquota.archive('bait.archive', 'infinity')$$;
RESET ROLE;
BEGIN;
SELECT bait.archive_for_all();
ROLLBACK;

--
-- The role tries to falsify who made a change
--
SET ROLE yquota_test_admin;
SELECT bait.lay('pinning', $$PERFORM yquota.set_multiplier('GPU', 9)$$);
SELECT bait.lay('giving', $$INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('lab', 1000, 'gift')$$);
SELECT bait.lay('configuring', $$INSERT INTO yquota.price_group (name) VALUES ('MINE')$$);
SELECT bait.lay('voiding', $$PERFORM yquota.void_events('secret_1', 'wrong')$$);
-- the code uses the settings of a dump, because a restored dump is not audited
SELECT bait.lay('restoring', $$PERFORM set_config('check_function_bodies', 'off', true), set_config('row_security', 'off', true), set_config('client_min_messages', 'warning', true);
	INSERT INTO yquota.price_factor (dimension, name, effective_at, factor, set_by) VALUES ('username', 'me', '-infinity', 0, 'nobody')$$);
RESET ROLE;
SET bait.is_laid = off;
SELECT max(audit_id) AS before FROM yquota.audit \gset
REINDEX INDEX bait.pinning_index;
REINDEX INDEX bait.giving_index;
REINDEX INDEX bait.configuring_index;
REINDEX INDEX bait.voiding_index;
REINDEX INDEX bait.restoring_index;
ANALYZE bait.pinning_table;
SELECT count(*) AS changes FROM yquota.audit WHERE audit_id > :before;
SELECT (SELECT count(*) FROM yquota.quota_grant) AS grants, (SELECT count(*) FROM yquota.price_pin) AS pins,
	   (SELECT count(*) FROM yquota.event_void) AS voids, (SELECT count(*) FROM yquota.price_factor) AS factors;

--
-- An administrator cannot take away the owner's right to read the owner's tables
--
SET ROLE yquota_test_admin;
SELECT yquota.allow_role(pg_get_userbyid(relowner)::regrole, 'viewer'), yquota.disallow_role(pg_get_userbyid(relowner)::regrole, 'viewer')
FROM pg_class WHERE oid = 'yquota.charge'::regclass;
RESET ROLE;
SELECT count(*) AS owner_reads FROM pg_class AS c, aclexplode(c.relacl) AS a
WHERE c.oid = 'yquota.charge'::regclass AND a.grantee = c.relowner AND a.privilege_type = 'SELECT';

--
-- A feed tries to insert events into the log that are not charged
--
SET bait.is_laid = on;
SET ROLE yquota_test_operator;
SELECT bait.lay('feeding', $$PERFORM set_config('check_function_bodies', 'off', true), set_config('row_security', 'off', true), set_config('client_min_messages', 'warning', true);
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation, recorded_at)
	VALUES ('CONTAINER_START', 'free', '2026-03-02 09:50', 'lab', '[vcores=1]', '2020-01-01')$$);
RESET ROLE;
SET bait.is_laid = off;
REINDEX INDEX bait.feeding_index;
SELECT container_id, accrued FROM yquota.container_cost WHERE container_id = 'free';
SELECT * FROM yquota.verify();

\c postgres
DROP DATABASE yquota_attempts;
DROP ROLE yquota_test_operator, yquota_test_member, yquota_test_viewer, yquota_test_admin;
