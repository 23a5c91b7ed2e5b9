-- privileges.sql
--
-- Print the table of docs/privileges.md: the rights of an operator, a viewer, a member and an
-- administrator on each public object. The rights are those in the server's catalog after the roles
-- have been granted. Run it with psql -XAtq in a database that has yquota, as a superuser. The
-- script leaves nothing behind.
--
\set ON_ERROR_STOP on
SET client_min_messages = warning;
BEGIN;
CREATE ROLE yquota_printed_operator;
CREATE ROLE yquota_printed_viewer;
CREATE ROLE yquota_printed_member;
CREATE ROLE yquota_printed_admin;
CREATE ROLE yquota_printed_nobody;
INSERT INTO yquota.project (name) VALUES ('yquota_printed');
\o /dev/null
SELECT yquota.allow_role('yquota_printed_operator', 'operator'), yquota.allow_role('yquota_printed_viewer', 'viewer'),
	   yquota.allow_role('yquota_printed_member', 'member', 'yquota_printed'), yquota.allow_role('yquota_printed_admin', 'admin');
\o

CREATE FUNCTION pg_temp.rights(role text, relation oid) RETURNS text LANGUAGE sql
	RETURN (SELECT string_agg(p.privilege, ', ' ORDER BY p.number)
			FROM unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) WITH ORDINALITY AS p (privilege, number)
			WHERE has_table_privilege('yquota_printed_' || role, relation, p.privilege));
CREATE FUNCTION pg_temp.call(role text, function oid) RETURNS text LANGUAGE sql
	RETURN CASE WHEN has_function_privilege('yquota_printed_' || role, function, 'EXECUTE') THEN 'EXECUTE' END;

CREATE TEMPORARY VIEW own AS
	SELECT d.classid, d.objid FROM pg_depend AS d
	JOIN pg_extension AS e ON e.oid = d.refobjid AND e.extname = 'yquota'
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e';

SELECT '| table or view | operator | member | viewer | admin | anybody |';
SELECT '|---|---|---|---|---|---|';
SELECT format('| `%s` | %s | %s | %s | %s | %s |', c.relname,
			  pg_temp.rights('operator', c.oid),
			  pg_temp.rights('member', c.oid) || CASE WHEN r.is_filtered THEN ' (own)' ELSE '' END,
			  pg_temp.rights('viewer', c.oid),
			  pg_temp.rights('admin', c.oid), pg_temp.rights('nobody', c.oid))
FROM pg_class AS c
JOIN own ON own.classid = 'pg_class'::regclass AND own.objid = c.oid
CROSS JOIN LATERAL (
	SELECT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname IN ('project', 'from_project', 'SubAccountId'))
		   OR EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = c.oid) AS is_filtered) AS r
WHERE c.relnamespace = 'yquota'::regnamespace AND c.relkind IN ('r', 'v', 'p', 'm', 'f')
ORDER BY c.relkind <> 'r', c.relname COLLATE "C";

-- Functions of the type resource only compute, and all have the same privileges.
CREATE TEMPORARY VIEW own_function AS
	SELECT f.oid, f.proname,
		   -- the function runs as the owner and shows only objects that its caller may see, or it
		   -- calls such a function as its caller
		   f.prosrc = 'yq_sql_run_as_owner' AND NOT has_function_privilege('yquota_printed_nobody', f.oid, 'EXECUTE')
		   OR NOT f.prosecdef AND EXISTS (
			   SELECT FROM pg_depend AS d JOIN pg_proc AS called ON called.oid = d.refobjid
			   WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_proc'::regclass
				 AND called.prosrc = 'yq_sql_run_as_owner') AS is_filtered,
		   has_function_privilege('yquota_printed_nobody', f.oid, 'EXECUTE')
		   AND ('yquota.resource'::regtype = ANY (f.proargtypes::oid[] || f.prorettype) OR f.proname ~ '^resource') AS is_of_resource
	FROM pg_proc AS f
	JOIN own ON own.classid = 'pg_proc'::regclass AND own.objid = f.oid
	WHERE f.pronamespace = 'yquota'::regnamespace;

SELECT '';
SELECT '| function | operator | member | viewer | admin | anybody |';
SELECT '|---|---|---|---|---|---|';
SELECT format('| `%s` | %s | %s | %s | %s | %s |', f.proname,
			  pg_temp.call('operator', f.oid),
			  pg_temp.call('member', f.oid) || CASE WHEN f.is_filtered THEN ' (own)' ELSE '' END,
			  pg_temp.call('viewer', f.oid), pg_temp.call('admin', f.oid), pg_temp.call('nobody', f.oid))
FROM own_function AS f
WHERE NOT f.is_of_resource
ORDER BY f.proname COLLATE "C";
SELECT format('| all others, of type `resource` | %s | %s | %s | %s | %s |',
			  min(pg_temp.call('operator', f.oid)), min(pg_temp.call('member', f.oid)), min(pg_temp.call('viewer', f.oid)),
			  min(pg_temp.call('admin', f.oid)), min(pg_temp.call('nobody', f.oid)))
FROM own_function AS f
WHERE f.is_of_resource;
ROLLBACK;
