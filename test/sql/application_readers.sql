--
-- Row security of applications. Operators and roles that read everything see all applications.
-- Every other role sees its own applications, applications whose view_acl names the role,
-- applications in queues that the role administers, and those of its projects. No query bypasses
-- these rules.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_application_readers WITH (FORCE);
CREATE DATABASE yquota_application_readers;
\c yquota_application_readers
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
\set SHOW_CONTEXT never
\set VERBOSITY terse

CREATE ROLE yquota_test_alice;
CREATE ROLE yquota_test_bob;
CREATE ROLE yquota_test_carol;
CREATE ROLE yquota_test_etl;
CREATE ROLE yquota_test_operator;
CREATE ROLE yquota_test_viewer;
CREATE ROLE yquota_test_stranger;
GRANT yquota_test_etl TO yquota_test_carol;
INSERT INTO yquota.project (name) VALUES ('lab'), ('other');
SELECT yquota.allow_role('yquota_test_alice', 'member', 'lab'), yquota.allow_role('yquota_test_bob', 'member', 'other'), yquota.allow_role('yquota_test_carol', 'member', 'other'),
	   yquota.allow_role('yquota_test_operator', 'operator'), yquota.allow_role('yquota_test_viewer', 'viewer');
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.sales', '50'), ('root.sales.day', '50'), ('root.sales.night', '50'), ('root.dev', '50');
INSERT INTO yquota.application (application_id, username, queue, project, view_acl, am_resource, priority, state, submitted_at)
SELECT a.id, a.username, a.queue, a.project, a.view_acl, '[memory-mb=1024,vcores=1]', 0, 'ACTIVE', '2026-03-02 10:00+00'
FROM (VALUES ('alice', 'yquota_test_alice', 'root.sales.day', NULL, NULL), ('bob', 'yquota_test_bob', 'root.sales.night', NULL, NULL),
			 ('paid', 'mallory', 'root.dev', 'lab', NULL), ('etl', 'mallory', 'root.dev', NULL, 'nobody yquota_test_etl'),
			 ('bobs', 'mallory', 'root.dev', NULL, 'yquota_test_bob'), ('all', 'mallory', 'root.gone', NULL, '*'),
			 ('none', 'mallory', 'root.dev', NULL, ' '), ('Alice', 'YQUOTA_TEST_ALICE', 'root.dev', NULL, 'yquota_test_alic,yquota_test_alicee')) AS a (id, username, queue, project, view_acl);
CREATE FUNCTION pg_temp.seen() RETURNS text LANGUAGE sql AS $$SELECT string_agg(application_id, ' ' ORDER BY application_id) FROM yquota.application$$;
CREATE FUNCTION pg_temp.seen_by() RETURNS TABLE (role text, sees text) LANGUAGE plpgsql AS $$
BEGIN
	FOR role IN SELECT rolname FROM pg_roles WHERE rolname ~ '^yquota_test_' AND rolname <> 'yquota_test_stranger' AND rolname <> 'yquota_test_etl' ORDER BY 1 LOOP
		PERFORM set_config('role', role, false);
		sees := pg_temp.seen();
		RETURN NEXT;
	END LOOP;
	RESET ROLE;
END
$$;

SELECT * FROM pg_temp.seen_by();
-- an unset list or disabled ACLs do not make a role an administrator of queues
INSERT INTO yquota.scheduler_setting (acl_enable) VALUES (true);
SELECT * FROM pg_temp.seen_by() WHERE role ~ 'bob';
-- a list makes a role an administrator of its queue and of all queues below it, by name or by
-- membership in a role
UPDATE yquota.queue SET acl_administer_queue = 'yquota_test_bob' WHERE path = 'root.sales';
UPDATE yquota.queue SET acl_administer_queue = 'x yquota_test_etl' WHERE path = 'root.dev';
SELECT * FROM pg_temp.seen_by();
UPDATE yquota.queue SET acl_administer_queue = ' yquota_test_etl' WHERE path = 'root.sales.day';
SELECT * FROM pg_temp.seen_by() WHERE role ~ 'bob|carol';
-- applications of a removed queue belong to the administrators of the queues above
UPDATE yquota.queue SET acl_administer_queue = 'yquota_test_alice' WHERE path = 'root';
SELECT * FROM pg_temp.seen_by() WHERE role ~ 'alice';
UPDATE yquota.queue SET acl_administer_queue = '*' WHERE path = 'root';
SELECT * FROM pg_temp.seen_by() WHERE role ~ 'bob';
UPDATE yquota.queue SET acl_administer_queue = NULL;
SELECT * FROM pg_temp.seen_by() WHERE role ~ 'bob';
-- the visible rows follow the current role, also in a cached plan
PREPARE seen AS SELECT pg_temp.seen();
SET ROLE yquota_test_alice;
EXECUTE seen;
SET ROLE yquota_test_viewer;
EXECUTE seen;
SET ROLE yquota_test_carol;
EXECUTE seen;
BEGIN;
RESET ROLE;
REVOKE yquota_test_etl FROM yquota_test_carol;
SET LOCAL ROLE yquota_test_carol;
EXECUTE seen;
ROLLBACK;
RESET ROLE;
DEALLOCATE seen;

--
-- A role without any grant sees no application, and cannot call any function
--
SET ROLE yquota_test_stranger;
SELECT count(*) FROM yquota.application;
SELECT yquota_internal.shows_application('yquota_test_stranger', NULL, NULL, 'yquota_test_stranger', '{}');

--
-- Hostile roles. A function that reveals its arguments is not called with rows that the role may
-- not see, even if its declared cost is the lowest. The role cannot write any row either.
--
SET ROLE yquota_test_bob;
CREATE FUNCTION pg_temp.tell(value text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS $$
BEGIN
	RAISE WARNING 'told %', value;
	RETURN true;
END
$$;
SELECT count(*) FROM yquota.application WHERE pg_temp.tell(username || ' ' || application_id);
SELECT count(*) FROM yquota.application AS a JOIN (VALUES ('paid')) AS b (id) ON pg_temp.tell(a.application_id) AND a.application_id = b.id;
SELECT count(*) FROM yquota.application WHERE 1 / (CASE WHEN username = 'mallory' AND application_id = 'none' THEN 0 ELSE 1 END) = 1;
SELECT application_id FROM yquota.application WHERE application_id = 'none';
SELECT count(*) FROM yquota.application WHERE application_id LIKE 'no%' OR queue = 'root.dev';
CREATE OPERATOR pg_temp.=== (FUNCTION = pg_catalog.texteq, LEFTARG = text, RIGHTARG = text);
SELECT count(*) FROM yquota.application WHERE username OPERATOR(pg_temp.===) 'mallory' AND pg_temp.tell(application_id);
INSERT INTO yquota.application (application_id, username, queue, am_resource, priority, state, submitted_at) VALUES ('none', 'yquota_test_bob', 'root.dev', '[]', 0, 'ACTIVE', now());
UPDATE yquota.application SET username = 'yquota_test_bob';
DELETE FROM yquota.application;
SELECT * FROM yquota.application FOR UPDATE;
COPY yquota.application (application_id) TO stdout;
SELECT * FROM yquota_internal.application_counter;
SELECT yquota_internal.acts_as('operator');
SET ROLE yquota_test_alice;
SET row_security = off;
SELECT count(*) FROM yquota.application;
RESET row_security;
-- a role cannot gain rows by objects and settings with the names that the rules use
SET application_name = 'yquota_test_viewer';
SET search_path = pg_temp, yquota;
CREATE FUNCTION pg_temp.acting_role() RETURNS name LANGUAGE sql AS $$SELECT 'yquota_test_viewer'::name$$;
CREATE FUNCTION pg_temp.reads_all() RETURNS boolean LANGUAGE sql AS $$SELECT true$$;
SELECT pg_temp.seen();
RESET search_path;
-- A SECURITY DEFINER function shows more rows if its owner may see more rows. A SECURITY INVOKER
-- function does not.
RESET ROLE;
CREATE SCHEMA lent;
GRANT USAGE, CREATE ON SCHEMA lent TO PUBLIC;
SET ROLE yquota_test_viewer;
CREATE FUNCTION lent.seen() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$SELECT count(*) FROM yquota.application$$;
CREATE FUNCTION lent.seen_by_caller() RETURNS bigint LANGUAGE sql SECURITY INVOKER SET search_path = pg_catalog, pg_temp AS $$SELECT count(*) FROM yquota.application$$;
CREATE VIEW lent.view AS SELECT application_id FROM yquota.application;
GRANT SELECT ON lent.view TO PUBLIC;
SET ROLE yquota_test_alice;
SELECT lent.seen(), lent.seen_by_caller(), (SELECT count(*) FROM lent.view);
CREATE VIEW lent.mine AS SELECT application_id FROM yquota.application;
GRANT SELECT ON lent.mine TO PUBLIC;
SET ROLE yquota_test_bob;
SELECT count(*) FROM lent.mine;
RESET ROLE;

--
-- In a parallel plan the leader applies the rules
--
INSERT INTO yquota.application (application_id, username, queue, project, am_resource, priority, state, submitted_at)
SELECT 'p' || i, CASE i % 2 WHEN 0 THEN 'yquota_test_alice' ELSE 'mallory' END, 'root.dev', CASE i % 4 WHEN 1 THEN 'lab' END, '[]', 0, 'ACTIVE', '2026-03-02 10:00+00' FROM generate_series(1, 4000) AS i;
ANALYZE yquota.application;
SET max_parallel_workers_per_gather = 2; SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET ROLE yquota_test_alice;
SELECT count(*) FROM yquota.application WHERE application_id ~ '^p[0-9]';
-- statistics, which have values of all rows, are not shown either
SELECT count(*) FROM pg_stats WHERE schemaname = 'yquota' AND tablename = 'application';
SET ROLE yquota_test_operator;
SELECT count(*) FROM yquota.application WHERE application_id ~ '^p[0-9]';
RESET ROLE;

\c postgres
SET client_min_messages = warning;
DROP DATABASE yquota_application_readers WITH (FORCE);
DROP ROLE yquota_test_alice, yquota_test_bob, yquota_test_carol, yquota_test_etl, yquota_test_operator, yquota_test_viewer, yquota_test_stranger;
