--
-- Privileges of roles: row-level security, append-only tables, and the functions that make a role
-- an operator, a viewer, a member or an administrator. store/625_privilege_list.sql has the list of
-- privileges.
--

--
-- Row-level security limits readers to the rows of their own projects. Members read views. A role that was granted
-- SELECT on a table sees the same rows by the table's policy. container_event has no policy, because COPY into a table
-- with a policy fails. Writes of yquota's C code, and functions that run as the owner, bypass policies.
--
ALTER TABLE yquota.role_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.role_grant FOR SELECT
	USING ((SELECT yquota_internal.reads_all()));
ALTER TABLE yquota.credit_transfer ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.credit_transfer FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR from_project = ANY ((SELECT yquota_internal.readable_projects())::text[])
		   OR to_project = ANY ((SELECT yquota_internal.readable_projects())::text[]));

DO $do$
DECLARE
	readable CONSTANT text :=
		'((SELECT yquota_internal.reads_all()) OR %1$I = ANY ((SELECT yquota_internal.readable_projects())::text[]))';
	of_all CONSTANT text := ' OR coalesce(%1$I, '''') = ''''';
	of_table record;
	of_view record;
BEGIN
	FOR of_table IN
		SELECT class.oid::regclass AS name, attribute.attname AS project,
			   class.relname IN ('charging_rule', 'outage', 'spending_threshold') AS has_rows_of_all,
			   -- let roles that may write a table see the rows that they write
			   class.relname IN ('budget', 'charging_rule', 'event_reject', 'federated_budget', 'hold', 'outage', 'project',
								 'quota_grant', 'spending_threshold') AS is_written
		FROM pg_class AS class
		JOIN pg_attribute AS attribute ON attribute.attrelid = class.oid
		 AND attribute.attname = CASE class.relname WHEN 'project' THEN 'name' ELSE 'project' END
		WHERE class.relnamespace = 'yquota'::regnamespace AND class.relkind = 'r'
		  AND NOT class.relrowsecurity AND class.relname <> 'container_event'
	LOOP
		EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', of_table.name);
		EXECUTE format('CREATE POLICY reader ON %s FOR %s USING (%s) %s', of_table.name,
					   CASE WHEN of_table.is_written THEN 'ALL' ELSE 'SELECT' END,
					   format(readable || CASE WHEN of_table.has_rows_of_all THEN of_all ELSE '' END, of_table.project),
					   -- keep readers from moving a rejected event to a project that they do not read
					   CASE WHEN of_table.is_written AND of_table.name <> 'yquota.event_reject'::regclass
							THEN 'WITH CHECK (true)' END);
	END LOOP;

	FOR of_view IN
		SELECT *
		FROM (VALUES
			('charge', 'charge.*', 'yquota.charge AS charge', readable),
			('container',
			 'container.container_id, container.project, container.application_id, container.username, container.queue,
			  container.node, container.label, container.allocation, container.execution_type, container.started_at,
			  container.settled_at, container.is_running, container.waiting_factor',
			 'yquota.container AS container', readable),
			('grant', 'quota_grant.*', 'yquota.quota_grant AS quota_grant', readable),
			('outage', 'outage.*', 'yquota.outage AS outage', readable || of_all),
			('alert', 'alert.alert_id, project, alert.kind, alert.subject, alert.detail, alert.raised_at, alert.figures, alert.severity',
			 'yquota.alert AS alert JOIN yquota_internal.told_crossing USING (alert_id)',
			 'alert.cleared_at IS NULL AND ' || readable)) AS v (name, columns, relation, condition)
	LOOP
		EXECUTE format('CREATE VIEW yquota.readable_%s WITH (security_barrier) AS SELECT %s FROM %s WHERE %s',
					   of_view.name, of_view.columns, of_view.relation, format(of_view.condition, 'project'));
	END LOOP;
END
$do$;
COMMENT ON VIEW yquota.readable_charge IS
	'Ledger (charge) of the projects that the reader may see';
COMMENT ON VIEW yquota.readable_container IS
	'Containers that have started and not finished (container) of the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_container.allocation IS 'native units';
COMMENT ON COLUMN yquota.readable_container.settled_at IS 'start of the segment that has no row in the table charge yet';
COMMENT ON COLUMN yquota.readable_container.is_running IS 'false while the container waits at its node or is paused';
COMMENT ON COLUMN yquota.readable_container.waiting_factor IS 'part of the price that the container pays while it waits; NULL when it does not wait';
COMMENT ON VIEW yquota.readable_grant IS
	'Credit given (quota_grant) to the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_grant.amount IS 'credits; negative for a correction';
COMMENT ON VIEW yquota.readable_outage IS
	'Outages (outage) that concern all projects, or a project that the reader may see';
COMMENT ON COLUMN yquota.readable_outage.project IS 'project to which the outage is limited; NULL: all projects';
COMMENT ON COLUMN yquota.readable_outage.forgiven IS 'false while an administrator has not decided';
COMMENT ON VIEW yquota.readable_alert IS
	'Open alerts (alert) about the spending of the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_alert.figures IS 'as in alert: amounts are credits';

--
-- Append-only tables: only the owner may update or delete rows. Most roles lack the privilege. The
-- trigger refuses roles to which the owner has granted more privileges than the functions below
-- grant.
--
CREATE FUNCTION yquota_internal.refuse_rewriting() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
		RAISE EXCEPTION 'cannot % table "%"',
				CASE TG_OP WHEN 'INSERT' THEN 'insert into' WHEN 'DELETE' THEN 'delete from' ELSE lower(TG_OP COLLATE "C") END,
				TG_TABLE_NAME
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = TG_ARGV[0],
				HINT = TG_ARGV[1];
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_rewriting() IS
	'Refuse a statement of a role without the rights of the owner.  The arguments are the detail and the hint of the error';

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.container_event
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Events are facts and stay.', 'Void wrong events with yquota.void_events().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.charge
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'The ledger follows from the events.', 'Void wrong events with yquota.void_events(), or give credit back with yquota.quota_grant.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.reservation_charge
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'The ledger follows from the reservations.', 'End a reservation with yquota.delete_reservation(), or give credit back with yquota.quota_grant.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.container
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Running containers follow from the events.', 'Insert events in yquota.container_event.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.container_change
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Changes of containers follow from the events.', 'Insert events in yquota.container_event.');
CREATE TRIGGER append_only BEFORE INSERT ON yquota.event_void
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Voids are written by the function that takes back charges.', 'Call yquota.void_events().');
CREATE TRIGGER append_only BEFORE INSERT ON yquota.opening_balance
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Opening balances follow from the archived charges.', 'Call yquota.archive().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.history_segment
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Segments are written by the functions that seal and archive.', 'Call yquota.seal_history() or yquota.archive().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.archived_history
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Only the function that archives history records its place.', 'Call yquota.archive().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.pricing_change
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Changes of prices are noted when they are made.', 'Change the timelines themselves.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.role_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Only functions write the kinds of roles.', 'Call yquota.allow_role() or yquota.disallow_role().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.quota_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Grants are append-only.', 'Insert a row with a negative amount to take credit back.');
CREATE TRIGGER moved_by_owner AFTER INSERT ON yquota.quota_grant
	FOR EACH ROW WHEN (NEW.kind = 'transfer') EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'A transfer has two sides.', 'Call yquota.transfer_credit().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.credit_transfer
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Credit is moved when enough of it is left.', 'Call yquota.transfer_credit() or yquota.reverse_transfer().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.expired_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'The loss of a grant follows from the books.', 'Give credit back with yquota.quota_grant.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.hold
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Credit is held only if enough of it remains.', 'Call yquota.hold() or yquota.release_hold().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Set another multiplier with yquota.set_multiplier(), or drop future multipliers with yquota.clear_multiplier().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Set another base price with yquota.set_base_price(), or withdraw a future point with yquota.withdraw_point().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.calendar_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Points of this timeline follow from calendars.', 'Change yquota.price_calendar.');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Insert a point from now on, or withdraw a future point with yquota.withdraw_point().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.node_label_history
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Update the label of the node in yquota.node, or insert a point of its past.');
CREATE TRIGGER computed_by_owner AFTER INSERT OR UPDATE ON yquota.price_factor
	FOR EACH ROW WHEN (NEW.load IS NOT NULL) EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Only computed factors have the load of node queues.', 'Leave load out to set a factor by hand.');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Insert a point from now on, or withdraw a future point with yquota.withdraw_point().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.billing_currency
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Insert a point from now on, or withdraw a future point with yquota.withdraw_point().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.issued_bill
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Bills are issued when a period is closed.', 'Call yquota.close_period().');

CREATE FUNCTION yquota.withdraw_point(
	timeline regclass, effective_at timestamptz, name text DEFAULT NULL, dimension text DEFAULT NULL)
	RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF withdraw_point.effective_at IS NULL OR withdraw_point.effective_at <= yquota.statement_clock() THEN
		RAISE EXCEPTION 'cannot withdraw a point that is not in the future'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The clock shows %s.', yquota.statement_clock()),
				HINT = 'Add a point from now on.';
	END IF;
	IF timeline = 'yquota.base_price'::regclass THEN
		DELETE FROM yquota.base_price AS p
		WHERE p.effective_at = withdraw_point.effective_at AND p.resource_type = withdraw_point.name;
	ELSIF timeline = 'yquota.price_factor'::regclass THEN
		DELETE FROM yquota.price_factor AS p
		WHERE p.effective_at = withdraw_point.effective_at AND p.name = withdraw_point.name
		  AND p.dimension = withdraw_point.dimension::yquota.factor_dimension;
	ELSIF timeline = 'yquota.charging_rule'::regclass THEN
		DELETE FROM yquota.charging_rule AS p
		WHERE p.effective_at = withdraw_point.effective_at AND p.project = coalesce(withdraw_point.name, '');
	ELSIF timeline = 'yquota.billing_currency'::regclass THEN
		DELETE FROM yquota.billing_currency AS p WHERE p.effective_at = withdraw_point.effective_at;
	ELSE
		RAISE EXCEPTION 'points of "%" cannot be withdrawn', timeline
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Withdraw points of yquota.base_price, yquota.price_factor, yquota.charging_rule or yquota.billing_currency; yquota.clear_multiplier() drops future multipliers.';
	END IF;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION yquota.withdraw_point(regclass, timestamptz, text, text) IS
	'Remove a point ahead of the clock from the timeline of base prices, factors (name and dimension), charging rules (name: the project) or currencies.  Returns whether there was such a point';

--
-- Functions that grant privileges. They use GRANT, so that pg_dump, psql and DROP OWNED know the
-- privileges. They run as the owner, because only the owner of an object can grant.
--
CREATE FUNCTION yquota_internal.apply_role_grants(grantee regrole, taken_kind text DEFAULT NULL)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	held text[] := ARRAY(SELECT DISTINCT g.kind FROM yquota.role_grant AS g WHERE g.role_oid = grantee);
	p record;
BEGIN
	-- do nothing for the owner of yquota, because revoking could take away the owner's own privileges
	IF grantee = (SELECT c.relowner FROM pg_class AS c WHERE c.oid = 'yquota.role_grant'::regclass) THEN
		RETURN;
	END IF;
	FOR p IN
		SELECT l.object_kind, l.object, l.privilege, l.kinds && held AS is_held
		FROM yquota_internal.privilege AS l
		WHERE l.kinds && (held || taken_kind)
	LOOP
		IF p.is_held THEN
			EXECUTE format('GRANT %s ON %s %s TO %s', p.privilege, p.object_kind, p.object, grantee);
		ELSE
			EXECUTE format('REVOKE %s ON %s %s FROM %s', p.privilege, p.object_kind, p.object, grantee);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_role_grants(regrole, text) IS
	'Give a role the privileges of its kinds, and revoke those of kinds that it has lost';

CREATE FUNCTION yquota_internal.keep_role_grant() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	NEW.role_oid := coalesce(to_regrole(quote_ident(NEW.role))::oid, 0);
	IF NOT yquota_internal.restoring() THEN
		NEW.granted_by := session_user;
		NEW.granted_at := clock_timestamp();
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_role_grant() IS
	'Record the grantor, the time and the OID of the role.  After a restore, record the role''s OID on the new server';

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OF role, role_oid, granted_by, granted_at ON yquota.role_grant
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_role_grant();

CREATE FUNCTION yquota_internal.check_role_kind(kind text, project text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF kind IS NULL THEN
		RAISE EXCEPTION 'kind must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF kind NOT IN ('operator', 'viewer', 'member', 'admin') THEN
		RAISE EXCEPTION 'unknown kind of role "%"', kind
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Kinds are operator, viewer, member and admin.';
	ELSIF kind = 'member' AND project IS NULL THEN
		RAISE EXCEPTION 'a member needs a project'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF kind <> 'member' AND project IS NOT NULL THEN
		RAISE EXCEPTION 'kind "%" takes no project', kind
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Only members belong to a project.';
	ELSIF kind = 'admin'
	  AND NOT pg_has_role(yquota_internal.acting_role(),
						  (SELECT c.relowner FROM pg_class AS c WHERE c.oid = 'yquota.role_grant'::regclass), 'USAGE') THEN
		RAISE EXCEPTION 'permission denied to change administrators'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Only roles with the rights of the owner of the extension may change them.';
	END IF;
	PERFORM yquota_internal.check_project(project);
END
$$;
COMMENT ON FUNCTION yquota_internal.check_role_kind(text, text) IS
	'Refuse unknown kinds and projects, and a project for a kind that has none.  Refuse kind admin if the caller does not have the rights of the owner';

CREATE FUNCTION yquota_internal.allow_role_as_owner(role regrole, kind text, project text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.check_role_kind(allow_role_as_owner.kind, allow_role_as_owner.project);
	IF allow_role_as_owner.role IS NULL OR NOT EXISTS (SELECT FROM pg_roles WHERE oid = allow_role_as_owner.role) THEN
		RAISE EXCEPTION 'role to grant to does not exist'
			USING ERRCODE = 'undefined_object';
	END IF;
	-- run one call at a time, so that no call revokes privileges that a concurrent call grants
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	INSERT INTO yquota.role_grant (role, role_oid, kind, project)
	SELECT r.rolname, r.oid, allow_role_as_owner.kind, allow_role_as_owner.project
	FROM pg_roles AS r WHERE r.oid = allow_role_as_owner.role
	ON CONFLICT DO NOTHING;
	PERFORM yquota_internal.apply_role_grants(allow_role_as_owner.role);
END
$$;
COMMENT ON FUNCTION yquota_internal.allow_role_as_owner(regrole, text, text) IS
	'Do the work of allow_role(), with the rights of the owner';

CREATE FUNCTION yquota.allow_role(role regrole, kind text, project text DEFAULT NULL) RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.allow_role(regrole, text, text) IS
	'Give a role a kind.  An operator inserts events and asks for decisions.  A viewer reads the reports of all projects, a member the reports of one project.  An admin configures yquota and reads everything.  Only the owner can give the kind admin.  Repeating the call does nothing';

CREATE FUNCTION yquota_internal.disallow_role_as_owner(role regrole, kind text, project text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	grantee CONSTANT regrole := disallow_role_as_owner.role;
	old_kind CONSTANT text := disallow_role_as_owner.kind;
	was_granted boolean;
BEGIN
	PERFORM yquota_internal.check_role_kind(old_kind, disallow_role_as_owner.project);
	IF grantee IS NULL OR NOT EXISTS (SELECT FROM pg_roles WHERE oid = grantee) THEN
		RAISE EXCEPTION 'role to revoke from does not exist'
			USING ERRCODE = 'undefined_object';
	END IF;
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	-- remove also rows that were written under the role's earlier name, or for a dropped role of this
	-- name
	DELETE FROM yquota.role_grant AS g
	WHERE (g.role_oid = grantee OR g.role = (SELECT r.rolname FROM pg_roles AS r WHERE r.oid = grantee))
	  AND g.kind = old_kind
	  AND g.project IS NOT DISTINCT FROM disallow_role_as_owner.project;
	was_granted := FOUND;
	IF EXISTS (SELECT FROM yquota.role_grant AS g WHERE g.role_oid = grantee AND g.kind = old_kind) THEN
		PERFORM yquota_internal.apply_role_grants(grantee);
	ELSE
		PERFORM yquota_internal.apply_role_grants(grantee, old_kind);
	END IF;
	RETURN was_granted;
END
$$;
COMMENT ON FUNCTION yquota_internal.disallow_role_as_owner(regrole, text, text) IS
	'Do the work of disallow_role(), with the rights of the owner';

CREATE FUNCTION yquota.disallow_role(role regrole, kind text, project text DEFAULT NULL) RETURNS boolean
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.disallow_role(regrole, text, text) IS
	'Undo allow_role().  Returns whether there was anything to undo';

CREATE FUNCTION yquota.renew_role_grants() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	renewed bigint := 0;
	grantee regrole;
BEGIN
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	FOR grantee IN
		SELECT DISTINCT g.role_oid::regrole FROM yquota.role_grant AS g
		JOIN pg_roles AS r ON r.oid = g.role_oid AND r.rolname = g.role
	LOOP
		PERFORM yquota_internal.apply_role_grants(grantee);
		renewed := renewed + 1;
	END LOOP;
	RETURN renewed;
END
$$;
COMMENT ON FUNCTION yquota.renew_role_grants() IS
	'Give all roles of role_grant the privileges that their kinds have in this version, after an update of the extension.  Returns the number of roles';
