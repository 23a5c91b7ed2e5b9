--
-- Privileges and visible projects of roles: the rows that allow_role() has written
-- (store/620_privileges.sql), and the functions for views and policies that read them.  Views
-- have the rights of their owner.  Each view that shows projects therefore checks them itself:
--
--     (SELECT yquota_internal.reads_all())
--     OR project = ANY ((SELECT yquota_internal.readable_projects())::text[])
--
-- Members of a project also see all projects below that project, but none above.
--
-- The subqueries are evaluated once per query instead of once per row. The functions are not
-- PARALLEL SAFE: since PostgreSQL 17, parallel workers could otherwise evaluate these subqueries.
-- Only the leader of a parallel query knows the calling role.
--

CREATE TABLE yquota.role_grant (
	role name NOT NULL,
	role_oid oid NOT NULL,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('operator', 'viewer', 'member', 'admin')),
	project text COLLATE "C" REFERENCES yquota.project ON UPDATE CASCADE ON DELETE CASCADE,
	granted_by name NOT NULL DEFAULT session_user,
	granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	CHECK ((kind = 'member') = (project IS NOT NULL)),
	UNIQUE NULLS NOT DISTINCT (role, role_oid, kind, project)
);
COMMENT ON TABLE yquota.role_grant IS
	'Kinds of roles, and projects of members: written by allow_role() and disallow_role()';
COMMENT ON COLUMN yquota.role_grant.role IS 'name of the role; a role that is renamed loses its kinds';
COMMENT ON COLUMN yquota.role_grant.role_oid IS 'OID of the role, which tells it apart from a new role of the same name. After a restore it is the OID on the new server, or 0 if the role does not exist there';
COMMENT ON COLUMN yquota.role_grant.kind IS 'operator: inserts events and asks for decisions. viewer: reads the reports of all projects. member: reads the reports of one project. admin: configures and reads everything';
COMMENT ON COLUMN yquota.role_grant.project IS 'project of a member; references project, and follows its name. NULL for the other kinds';
COMMENT ON COLUMN yquota.role_grant.granted_by IS 'filled in by the server: the session''s user';
COMMENT ON COLUMN yquota.role_grant.granted_at IS 'system''s clock';

CREATE FUNCTION yquota_internal.reads_all() RETURNS boolean
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_reads_all';
COMMENT ON FUNCTION yquota_internal.reads_all() IS
	'Tell whether the calling role may see every project';

CREATE FUNCTION yquota_internal.readable_projects() RETURNS text[]
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_readable_projects';
COMMENT ON FUNCTION yquota_internal.readable_projects() IS
	'Return the projects of which the calling role is a member, and their descendants; a role with reads_all() sees all';

CREATE FUNCTION yquota_internal.acting_role() RETURNS name
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_acting_role';
COMMENT ON FUNCTION yquota_internal.acting_role() IS
	'Return the current user; in a function that runs as the owner, the role that called it';

CREATE FUNCTION yquota_internal.sending_role() RETURNS name
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_sending_role';
COMMENT ON FUNCTION yquota_internal.sending_role() IS
	'Return acting_role(), or the current role of the session if acting_role() is the owner, as in a SECURITY DEFINER function of yquota';

CREATE FUNCTION yquota_internal.acts_as(kind text) RETURNS boolean
	LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_acts_as';
COMMENT ON FUNCTION yquota_internal.acts_as(text) IS
	'Tell whether the calling role is of a kind (role_grant), is a member of such a role, or has the rights of the owner';

CREATE FUNCTION yquota_internal.reads_balances() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.reads_all() OR yquota_internal.acts_as('operator');
	END;
COMMENT ON FUNCTION yquota_internal.reads_balances() IS
	'Tell whether the calling role may see the credit of every project: operators may, for decisions';

CREATE FUNCTION yquota_internal.acting_groups() RETURNS text[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT coalesce(array_agg(r.rolname::text ORDER BY r.rolname), '{}') FROM pg_roles AS r
		WHERE r.rolname <> yquota_internal.acting_role()
		  AND pg_has_role(yquota_internal.acting_role(), r.oid, 'USAGE');
	END;
COMMENT ON FUNCTION yquota_internal.acting_groups() IS
	'Return the roles of which the calling role is a member with inheritance.  Access lists of Hadoop treat these roles as the groups of the user';

SELECT pg_extension_config_dump('yquota.role_grant', '');

--
-- The function below leaves out tables that are empty in most databases.
--

CREATE FUNCTION yquota_internal.may_have_rows(of_table regclass) RETURNS boolean
	-- IMMUTABLE makes the planner call the function and leave out branches where it is false
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_may_have_rows';
COMMENT ON FUNCTION yquota_internal.may_have_rows(regclass) IS
	'Return true, except while credit_of() plans its query.  Then return false for a table without pages; the plan is used only while the table has no pages';

--
-- The functions below refuse transactions that do not see later commits of other transactions.
--

CREATE FUNCTION yquota_internal.sees_commits() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN current_setting('transaction_isolation') IN ('read committed', 'read uncommitted');
COMMENT ON FUNCTION yquota_internal.sees_commits() IS
	'Tell whether each statement of the transaction sees all commits before it.  This is true at READ COMMITTED, and at READ UNCOMMITTED, which the server treats as READ COMMITTED';

CREATE FUNCTION yquota_internal.require_read_committed(action text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.sees_commits() THEN
		RAISE EXCEPTION 'cannot % at isolation level %', action, upper(current_setting('transaction_isolation') COLLATE "C")
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'Changes that other transactions have committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.require_read_committed(text) IS
	'Refuse an action in a transaction that does not see changes which other transactions have committed since it began';
