--
-- Privileges of roles: row-level security, append-only tables, and the functions
-- that make a role an operator, a viewer, a member or an administrator.  Last
-- but for the audit, because it is about all that was created before.
--
-- Everything is closed until something here opens it.  yquota_internal.privilege
-- is the one list of privileges.  A test compares it with the catalog and fails
-- for an object that is not in it; docs/privileges.md is printed from it.
--

--
-- Ledger, grants, outages and alerts for members: views with the rows that the policies below show
--
CREATE VIEW yquota.readable_charge WITH (security_barrier) AS
	SELECT charge.*
	FROM yquota.charge AS charge
	WHERE (SELECT yquota_internal.reads_all())
	   OR charge.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_charge IS
	'The ledger (charge) of the projects that the reader may see';

CREATE VIEW yquota.readable_container WITH (security_barrier) AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.label,
		   container.allocation, container.execution_type, container.started_at,
		   container.settled_at, container.is_running, container.waiting_factor
	FROM yquota.container AS container
	WHERE (SELECT yquota_internal.reads_all())
	   OR container.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_container IS
	'Containers that have started and not finished (container) of the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_container.allocation IS 'native units';
COMMENT ON COLUMN yquota.readable_container.settled_at IS 'start of the segment that is not yet in charge';
COMMENT ON COLUMN yquota.readable_container.is_running IS 'false while it waits at its node or is paused';
COMMENT ON COLUMN yquota.readable_container.waiting_factor IS 'part of its price that it pays while it waits; NULL when it does not wait';

CREATE VIEW yquota.readable_grant WITH (security_barrier) AS
	SELECT quota_grant.*
	FROM yquota.quota_grant AS quota_grant
	WHERE (SELECT yquota_internal.reads_all())
	   OR quota_grant.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_grant IS
	'Credit given (quota_grant) to the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_grant.amount IS 'credits; negative for a correction';

CREATE VIEW yquota.readable_outage WITH (security_barrier) AS
	SELECT outage.*
	FROM yquota.outage AS outage
	WHERE (SELECT yquota_internal.reads_all())
	   OR outage.project IS NULL
	   OR outage.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_outage IS
	'Intervals of time that are forgiven (outage) to all projects and to those that the reader may see';
COMMENT ON COLUMN yquota.readable_outage.project IS 'the only project it is for; NULL for all';
COMMENT ON COLUMN yquota.readable_outage.forgiven IS 'false while an administrator has not decided';

CREATE VIEW yquota.readable_alert WITH (security_barrier) AS
	SELECT alert.alert_id, known.project, alert.kind, alert.subject, alert.detail, alert.raised_at, alert.figures
	FROM yquota.alert AS alert
	JOIN yquota_internal.told_crossing AS known ON known.alert_id = alert.alert_id
	WHERE alert.cleared_at IS NULL
	  AND ((SELECT yquota_internal.reads_all())
		   OR known.project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON VIEW yquota.readable_alert IS
	'Open alerts (alert) about the spending of the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_alert.figures IS 'as in alert: amounts are credits';

--
-- Row-level security, for roles with SELECT on a table itself.  container_event
-- has none, because COPY into it would fail.  The library's writes and
-- functions that run as the owner bypass it.
--
ALTER TABLE yquota.charge ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.charge FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.reservation_charge ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.reservation_charge FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.container ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.container FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.event_void ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.event_void FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.opening_balance ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.opening_balance FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));

-- Administrators write these; a role that may write a table by hand must see
-- the rows that it writes.
ALTER TABLE yquota.event_reject ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.event_reject
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.outage ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.outage
	USING ((SELECT yquota_internal.reads_all())
		   OR project IS NULL
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.project ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.project
	USING ((SELECT yquota_internal.reads_all())
		   OR name = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.quota_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.quota_grant
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.budget ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.budget
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.federated_budget ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.federated_budget
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.budget_lease ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.budget_lease FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.spending_threshold ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.spending_threshold
	USING ((SELECT yquota_internal.reads_all())
		   OR project IS NULL
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.expired_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.expired_grant FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.hold ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.hold
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.role_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.role_grant FOR SELECT
	USING ((SELECT yquota_internal.reads_all()));

--
-- Tables that the owner alone may rewrite.  Privileges refuse first; the
-- trigger refuses roles with more privileges than the functions below grant.
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
	'Refuses a statement of a role without the rights of the owner; arguments: detail and hint of the error';
REVOKE ALL ON FUNCTION yquota_internal.refuse_rewriting() FROM PUBLIC;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.container_event
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Events are facts and stay.', 'Void wrong ones with yquota.void_events().');
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
		'Where history went is written by the function that archives it.', 'Call yquota.archive().');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.pricing_change
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Changes of prices are noted when they are made.', 'Change the timelines themselves.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.role_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Only functions write the kinds of roles.', 'Call yquota.allow_role() or yquota.disallow_role().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.quota_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Grants are append-only.', 'Insert a row with a negative amount to take credit back.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.expired_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'The loss of a grant follows from the books.', 'Give credit back with yquota.quota_grant.');
CREATE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.hold
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Credit is held when enough of it remains.', 'Call yquota.hold() or yquota.release_hold().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Set another multiplier with yquota.set_multiplier(), or drop those that lie ahead with yquota.clear_multiplier().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Set another base price with yquota.set_base_price(), or withdraw one that lies ahead with yquota.withdraw_point().');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Insert a point from now on, or withdraw one that lies ahead with yquota.withdraw_point().');
CREATE TRIGGER computed_by_owner AFTER INSERT OR UPDATE ON yquota.price_factor
	FOR EACH ROW WHEN (NEW.load IS NOT NULL) EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'The load of node queues is what a computed factor was formed of.', 'Leave load out for a factor that is set by hand.');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Insert a point from now on, or withdraw one that lies ahead with yquota.withdraw_point().');

CREATE FUNCTION yquota.withdraw_point(
	timeline regclass, effective_at timestamptz, name text DEFAULT NULL, dimension text DEFAULT NULL)
	RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF withdraw_point.effective_at IS NULL OR withdraw_point.effective_at <= yquota.statement_clock() THEN
		RAISE EXCEPTION 'cannot withdraw a point that is not ahead'
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
		DELETE FROM yquota.charging_rule AS p WHERE p.effective_at = withdraw_point.effective_at;
	ELSE
		RAISE EXCEPTION 'points of "%" cannot be withdrawn', timeline
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Withdraw points of yquota.base_price, yquota.price_factor or yquota.charging_rule; yquota.clear_multiplier() drops multipliers that lie ahead.';
	END IF;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION yquota.withdraw_point(regclass, timestamptz, text, text) IS
	'Take a point that lies ahead of the clock off the timeline of base prices, factors (name and dimension) or charging rules; returns whether there was one';
REVOKE ALL ON FUNCTION yquota.withdraw_point(regclass, timestamptz, text, text) FROM PUBLIC;

--
-- The privileges of each kind of role.  {} is for the owner alone.
--
CREATE VIEW yquota_internal.privilege AS
	SELECT l.object_kind, l.object, l.privilege, l.kinds::text[] AS kinds
	FROM (VALUES
		-- events, and their results
		('TABLE', 'yquota.container_event', 'INSERT', '{operator}'),
		('TABLE', 'yquota.container_event', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.charge', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.reservation_charge', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.container', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.container_change', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.event_void', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.history_segment', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.opening_balance', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.archived_history', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.written_history', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.retention_setting', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.retention_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.retention_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.retention_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.event_reject', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.event_reject', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.event_reject', 'DELETE', '{admin}'),
		('TABLE', 'yquota.feed_reject', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.feed_reject', 'DELETE', '{admin}'),
		-- configuration
		('TABLE', 'yquota.price_group', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price_group', 'INSERT', '{admin}'),
		('TABLE', 'yquota.price_group', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.price_group', 'DELETE', '{admin}'),
		('TABLE', 'yquota.resource_type', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.resource_type', 'INSERT', '{admin}'),
		('TABLE', 'yquota.resource_type', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.resource_type', 'DELETE', '{admin}'),
		('TABLE', 'yquota.base_price', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price_pin', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.shadow_tariff', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.shadow_tariff', 'INSERT', '{admin}'),
		('TABLE', 'yquota.shadow_tariff', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.shadow_tariff', 'DELETE', '{admin}'),
		('TABLE', 'yquota.price_factor', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price_factor', 'INSERT', '{admin}'),
		('TABLE', 'yquota.opportunistic_price', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.opportunistic_price', 'INSERT', '{admin}'),
		('TABLE', 'yquota.opportunistic_price', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.opportunistic_price', 'DELETE', '{admin}'),
		('TABLE', 'yquota.charging_rule', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.charging_rule', 'INSERT', '{admin}'),
		('TABLE', 'yquota.outage', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.outage', 'INSERT', '{admin}'),
		('TABLE', 'yquota.outage', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.outage', 'DELETE', '{admin}'),
		('TABLE', 'yquota.pricing_change', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.project', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.project', 'INSERT', '{admin}'),
		('TABLE', 'yquota.project', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.project', 'DELETE', '{admin}'),
		('TABLE', 'yquota.quota_grant', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.quota_grant', 'INSERT', '{admin}'),
		('TABLE', 'yquota.expired_grant', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.budget', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.budget', 'INSERT', '{admin}'),
		('TABLE', 'yquota.budget', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.budget', 'DELETE', '{admin}'),
		('TABLE', 'yquota.federated_budget', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.federated_budget', 'INSERT', '{admin}'),
		('TABLE', 'yquota.federated_budget', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.federated_budget', 'DELETE', '{admin}'),
		('TABLE', 'yquota.budget_lease', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.federated_cluster', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.federated_cluster', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.billing_setting', 'SELECT', '{viewer,member,admin}'),
		('TABLE', 'yquota.closed_period', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.cluster_setting', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.cluster_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.cluster_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.cluster_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.billing_period', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.billing_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.billing_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.billing_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.spending_threshold', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.spending_threshold', 'INSERT', '{admin}'),
		('TABLE', 'yquota.spending_threshold', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.spending_threshold', 'DELETE', '{admin}'),
		('TABLE', 'yquota.hold', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.role_grant', 'SELECT', '{admin}'),
		('TABLE', 'yquota.audit', 'SELECT', '{admin}'),
		('TABLE', 'yquota.configuration_mutation', 'SELECT', '{admin}'),
		-- queues
		('TABLE', 'yquota.queue', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.queue', 'INSERT', '{admin}'),
		('TABLE', 'yquota.queue', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.queue', 'DELETE', '{admin}'),
		('TABLE', 'yquota.effective_queue', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.queue_label', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.queue_label', 'INSERT', '{admin}'),
		('TABLE', 'yquota.queue_label', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.queue_label', 'DELETE', '{admin}'),
		('TABLE', 'yquota.queue_user', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.queue_user', 'INSERT', '{admin}'),
		('TABLE', 'yquota.queue_user', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.queue_user', 'DELETE', '{admin}'),
		('TABLE', 'yquota.wildcard_template', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.wildcard_template', 'INSERT', '{admin}'),
		('TABLE', 'yquota.wildcard_template', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.wildcard_template', 'DELETE', '{admin}'),
		('TABLE', 'yquota.mapping_rule', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.mapping_rule', 'INSERT', '{admin}'),
		('TABLE', 'yquota.mapping_rule', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.mapping_rule', 'DELETE', '{admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'INSERT', '{admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'DELETE', '{admin}'),
		('TABLE', 'yquota.user_setting', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.user_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.user_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.user_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'INSERT', '{admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'DELETE', '{admin}'),
		('TABLE', 'yquota.over_allocation', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.over_allocation', 'INSERT', '{admin}'),
		('TABLE', 'yquota.over_allocation', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.over_allocation', 'DELETE', '{admin}'),
		('TABLE', 'yquota.node_label', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.node_label', 'INSERT', '{admin}'),
		('TABLE', 'yquota.node_label', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.node_label', 'DELETE', '{admin}'),
		('TABLE', 'yquota.unmapped_property', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.unmapped_property', 'INSERT', '{admin}'),
		('TABLE', 'yquota.unmapped_property', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.unmapped_property', 'DELETE', '{admin}'),
		('TABLE', 'yquota.scheduler_setting', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.scheduler_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.scheduler_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.scheduler_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.request_interceptor', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.request_interceptor', 'INSERT', '{admin}'),
		('TABLE', 'yquota.request_interceptor', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.request_interceptor', 'DELETE', '{admin}'),
		-- applications: row-level security tells whose
		('TABLE', 'yquota.application', 'SELECT', '{operator,member,viewer,admin}'),
		-- requests, and decisions of the scheduler
		('TABLE', 'yquota.blacklist', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.container_update', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.decision', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.scheduler_refusal', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.node_queue', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.node_lease', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.node_queue_report', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.node_room', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.opportunistic_node', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.opportunistic_limit_usage', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.preempted_container', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.preemption_mark', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.preemption_state', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.reservation_definition', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.reservation_allocation', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.reservation_queue', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.reserved_container', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.resource_request', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.scheduler_application', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.scheduler_node', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.scheduler_queue', 'SELECT', '{operator,viewer,admin}'),
		-- reports of the cluster
		('TABLE', 'yquota.node', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.node', 'INSERT', '{admin}'),
		('TABLE', 'yquota.node', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.node', 'DELETE', '{admin}'),
		('TABLE', 'yquota.utilization', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.utilization', 'INSERT', '{admin}'),
		('TABLE', 'yquota.utilization', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.utilization', 'DELETE', '{admin}'),
		('TABLE', 'yquota.utilization_history', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.pending_demand', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.pending_demand', 'INSERT', '{admin}'),
		('TABLE', 'yquota.pending_demand', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.pending_demand', 'DELETE', '{admin}'),
		('TABLE', 'yquota.alert', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.alert', 'UPDATE', '{admin}'),
		-- views
		('TABLE', 'yquota.current_price', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.price_history', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.charged_through', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.project_balance', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.project_usage', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.exhausted_work', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.container_cost', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.daily_cost', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.bill_by_project', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.charge_by_project_day', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.charge_by_queue_day', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.charge_by_user_day', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.cluster_status', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.cluster_lease', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.cluster_lease', 'INSERT', '{admin}'),
		('TABLE', 'yquota.lending_federation', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.lending_federation', 'INSERT', '{admin}'),
		('TABLE', 'yquota.budget_lease_status', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.federated_budget_status', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.suspect_container', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_alert', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_charge', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_container', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_grant', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_node_queue', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_outage', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_preemption_mark', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.grant_status', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.hold_status', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.feed_status', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.my_rejects', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.queue_usage', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.node_usage', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.worker_status', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.metrics', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.cron_jobs', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.verification', 'SELECT', '{viewer,admin}'),
		-- reports
		('FUNCTION', 'yquota.cost_between(timestamptz,timestamptz,text[],timestamptz)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.balance_at(text,timestamptz)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.bill(text,timestamptz)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.bill(text,date)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.bill_html(text,timestamptz)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.bill_html(text,date)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.cost_by_day(date,date,text[],text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.top_costs(timestamptz,timestamptz,text[],integer)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.federated_bill(date,boolean)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.federated_cost(date,date,text[],boolean)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.federated_top_costs(date,date,text[],integer,boolean)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.federation_status()', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.forecast(text,integer)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.explain_charge(text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.explain_reservation(text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.preemption_cost(timestamptz,timestamptz)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.report_html(timestamptz,timestamptz,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.price_quote(yquota.resource,interval,text,yquota.execution_type,text,text,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.price_quote(yquota.reservation_contract,text,text,text[],text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.create_queue(text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.manage_queues()', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.remove_unused_queues()', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.verify(timestamptz)', 'EXECUTE', '{viewer,admin}'),
		-- credit: members that of their projects, operators and administrators that of all
		('FUNCTION', 'yquota.hold(text,text,numeric,interval,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.release_hold(bigint)', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- decisions about queues, on a configuration that all of these may read
		('FUNCTION', 'yquota.application_priority(text,text[],text,integer,text[],text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.check_queue_access(text,text[],text,text,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.place_application(text,text[],text,text,boolean)', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- applications, for roles that speak for the resource manager
		('FUNCTION', 'yquota.submit_application(text,text,text[],text,text,yquota.resource,integer,bigint,text[],text,boolean,text,text,text,text,text,boolean,text,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.finish_application(text,yquota.application_state,text,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.move_application(text,text,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_application_priority(text,integer,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_application_lifetime(text,bigint,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.set_outstanding_requests(text,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.activate_applications(text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.end_expired_applications(integer)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.expired_applications()', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.remove_finished_applications(timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.check_application_access(text,text,text[],text)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.import_rm_audit(text,text,integer,text,text,text,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.import_rm_audit_file(text,text,integer,text,text,text,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.import_nodes(jsonb,text,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.import_cluster_metrics(jsonb,timestamptz,text)', 'EXECUTE', '{operator,admin}'),
		-- reservations of capacity, likewise
		('FUNCTION', 'yquota.new_reservation_id()', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.submit_reservation(text,text,text,text[],text,yquota.reservation_contract,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_reservation(text,text,text[],yquota.reservation_contract,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.delete_reservation(text,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.remove_ended_reservations(timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.list_reservations(text,text,text[],text,timestamptz,timestamptz,boolean)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.plan_allocation(text,timestamptz,timestamptz)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.reservation_plan_html(text,timestamptz,timestamptz)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.reservation_plan_text(text,timestamptz,timestamptz,integer,integer,text)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.reservation_request(yquota.resource,integer,interval,integer)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.reservation_contract(timestamptz,timestamptz,yquota.reservation_request[],yquota.reservation_interpreter,interval,integer,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- containers, likewise
		('FUNCTION', 'yquota.acknowledge_decisions(bigint[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.allocate_opportunistic(text,yquota.container_request[],text[],text[],bigint,integer)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.allocate_distributed(yquota.leased_node[],yquota.container_request[],yquota.container_request[],text[],integer,yquota.resource,yquota.resource,yquota.resource)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.lease_nodes(text,integer,bigint)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.report_distributed_containers(text,yquota.distributed_container[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.node_heartbeat(text[],boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.follow_plans(text,boolean,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.preempt_containers(timestamptz,boolean,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.preemption_message(text)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.release_containers(text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.explain_reclaim(text,text,yquota.resource)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.report_application_progress(text,numeric)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.report_progress(yquota.container_progress[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.report_nodes(yquota.node_report[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.request_containers(text,yquota.container_request[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.request_containers(text,yquota.resource,bigint,text,integer,bigint,boolean,text,yquota.execution_type,interval)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.schedule(text[],integer,boolean,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_blacklist(text,text[],text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.enqueue_container(text,text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.container_ended(text,text,timestamptz,integer)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.container_paused(text,text,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.advance_node_queue(text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.shed_containers(text,integer)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.recover_node_queue(text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.node_work(text)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.acknowledge_node_work(text,yquota.node_action[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_container(text,integer,yquota.resource,yquota.execution_type,integer,bigint)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_containers(text,yquota.container_update_request[])', 'EXECUTE', '{operator,admin}'),
		-- about other users only for operators and roles that read all
		('FUNCTION', 'yquota.headroom(text,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.map_reduce_request(text,bigint,integer,boolean)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.user_limit(text,text,text,boolean)', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- functions of administrators
		('FUNCTION', 'yquota.archive(regclass,timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.charge_deferred(bigint)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.clear_multiplier(text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.compute_prices(timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.explain_opportunistic_price(timestamptz)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.decide_outage(bigint,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.federate_cluster(text,name,regclass)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.remove_federated_cluster(text,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.planned_leases()', 'EXECUTE', '{viewer,admin}'),
		('FUNCTION', 'yquota.renew_leases()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.forgive(timestamptz,timestamptz,text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.close_period(timestamptz,integer)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.close_period(date,integer)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.close_month(date,integer)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.open_books(timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.allow_role(regrole,text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.disallow_role(regrole,text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.install_cron_jobs()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.remove_cron_jobs()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.node_lost(text,timestamptz,integer)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.register_node(text,yquota.resource,text,text,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.quota_compute()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.reconcile(jsonb,timestamptz,boolean,text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.recover_containers(text,jsonb,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.renew_role_grants()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.reject_call(text,jsonb,text,text,text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.report_feed_problem(text,text,text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.report_recovery(text,timestamptz,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.report_outage(timestamptz,timestamptz,text,text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.rerate(timestamptz,timestamptz,jsonb,text,boolean,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.shadow_costs(timestamptz,timestamptz,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.retry_rejects(text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.roll_up_charges()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.seal_history()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.set_base_price(text,numeric,bigint,timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.set_multiplier(text,numeric,timestamptz,timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.start_worker()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.stop_worker()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.void_events(text,text,text,timestamptz,timestamptz,text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.withdraw_point(regclass,timestamptz,text,text)', 'EXECUTE', '{admin}'),
		-- Hadoop's configuration files
		('FUNCTION', 'yquota.import_hadoop_configuration(text[],text,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.import_hadoop_configuration(text,text,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.import_hadoop_configuration(xml,text,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.import_hadoop_configuration(jsonb,text,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(text[],text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(text,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(xml,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(jsonb,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.configuration_advice()', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.export_hadoop_configuration(text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.hadoop_configuration(text)', 'EXECUTE', '{member,viewer,admin}'),
		-- by whom a policy lets, for himself; operators and administrators for others
		('FUNCTION', 'yquota.mutate_configuration(jsonb,text,text[])', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.cluster_name()', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- the owner's: allowing administrators, and setting the clock
		('FUNCTION', 'yquota.reset_clock()', 'EXECUTE', '{}'),
		('FUNCTION', 'yquota.sequence_commands()', 'EXECUTE', '{}'),
		('FUNCTION', 'yquota.set_clock(timestamptz)', 'EXECUTE', '{}'),
		-- every role's: they compute, and read only the clock and rows that
		-- their caller may read
		('FUNCTION', 'yquota.clock()', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.statement_clock()', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.help(text)', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.archive_digest(regclass)', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.archive_digest_query(text,text)', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.publication_commands(text)', 'EXECUTE', '{public}')
	) AS l (object_kind, object, privilege, kinds);
COMMENT ON VIEW yquota_internal.privilege IS
	'Privileges that allow_role() grants; the functions of type resource, which every role may call, are left out';
COMMENT ON COLUMN yquota_internal.privilege.kinds IS
	'kinds of role_grant that have the privilege; {public} every role, {} the owner alone';

--
-- Granting.  Roles get the privileges themselves, so that pg_dump, psql and
-- DROP OWNED know of them.  The functions run as the owner, which grants.
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
	-- the owner has his privileges anyway, and could lose them here
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
	'Give a role the privileges of its kinds, and take those of kinds that it has lost';
REVOKE ALL ON FUNCTION yquota_internal.apply_role_grants(regrole, text) FROM PUBLIC;

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
	'Record grantor and time, and which role has the name, on the server of a restore as well';
REVOKE ALL ON FUNCTION yquota_internal.keep_role_grant() FROM PUBLIC;

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OF role, role_oid, granted_by, granted_at ON yquota.role_grant
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_role_grant();

CREATE FUNCTION yquota_internal.grant_kind(grantee regrole, new_kind text, of_project text)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF grantee IS NULL OR NOT EXISTS (SELECT FROM pg_roles WHERE oid = grantee) THEN
		RAISE EXCEPTION 'role to grant to does not exist'
			USING ERRCODE = 'undefined_object';
	ELSIF new_kind = 'member' AND NOT EXISTS (SELECT FROM yquota.project AS p WHERE p.name = of_project) THEN
		RAISE EXCEPTION 'project "%" does not exist', of_project
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Insert it into yquota.project.';
	END IF;
	-- grants to one role follow each other, so that none takes privileges that another gives
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	INSERT INTO yquota.role_grant (role, role_oid, kind, project)
	SELECT r.rolname, r.oid, new_kind, of_project FROM pg_roles AS r WHERE r.oid = grantee
	ON CONFLICT DO NOTHING;
	PERFORM yquota_internal.apply_role_grants(grantee);
END
$$;
COMMENT ON FUNCTION yquota_internal.grant_kind(regrole, text, text) IS
	'Note a kind of a role and give it the privileges; repeating it does nothing';
REVOKE ALL ON FUNCTION yquota_internal.grant_kind(regrole, text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.revoke_kind(grantee regrole, old_kind text, of_project text)
	RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	was_granted boolean;
BEGIN
	IF grantee IS NULL OR NOT EXISTS (SELECT FROM pg_roles WHERE oid = grantee) THEN
		RAISE EXCEPTION 'role to revoke from does not exist'
			USING ERRCODE = 'undefined_object';
	END IF;
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	-- also kinds granted under an earlier name, or to an earlier role of this name
	DELETE FROM yquota.role_grant AS g
	WHERE (g.role_oid = grantee OR g.role = (SELECT r.rolname FROM pg_roles AS r WHERE r.oid = grantee))
	  AND g.kind = old_kind
	  AND g.project IS NOT DISTINCT FROM of_project;
	was_granted := FOUND;
	IF EXISTS (SELECT FROM yquota.role_grant AS g WHERE g.role_oid = grantee AND g.kind = old_kind) THEN
		PERFORM yquota_internal.apply_role_grants(grantee);
	ELSE
		PERFORM yquota_internal.apply_role_grants(grantee, old_kind);
	END IF;
	RETURN was_granted;
END
$$;
COMMENT ON FUNCTION yquota_internal.revoke_kind(regrole, text, text) IS
	'Forget a kind of a role and take the privileges that no other kind gives it; returns whether it was of that kind';
REVOKE ALL ON FUNCTION yquota_internal.revoke_kind(regrole, text, text) FROM PUBLIC;

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
END
$$;
COMMENT ON FUNCTION yquota_internal.check_role_kind(text, text) IS
	'Refuse kinds that do not exist, a project where none belongs, and administrators to a caller without the rights of the owner';
REVOKE ALL ON FUNCTION yquota_internal.check_role_kind(text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.allow_role_as_owner(role regrole, kind text, project text) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.check_role_kind(kind, project);
		SELECT yquota_internal.grant_kind(role, kind, project);
	END;
COMMENT ON FUNCTION yquota_internal.allow_role_as_owner(regrole, text, text) IS
	'The work of allow_role(), with the rights of the owner';
REVOKE ALL ON FUNCTION yquota_internal.allow_role_as_owner(regrole, text, text) FROM PUBLIC;

CREATE FUNCTION yquota.allow_role(role regrole, kind text, project text DEFAULT NULL) RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.allow_role(regrole, text, text) IS
	'Let a role be of a kind: operator inserts events and asks for decisions, viewer reads the reports of all projects, member those of one project, admin configures yquota and reads everything.  Only the owner allows administrators.  Repeating it does nothing';
REVOKE ALL ON FUNCTION yquota.allow_role(regrole, text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.disallow_role_as_owner(role regrole, kind text, project text) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.check_role_kind(kind, project);
		SELECT yquota_internal.revoke_kind(role, kind, project);
	END;
COMMENT ON FUNCTION yquota_internal.disallow_role_as_owner(regrole, text, text) IS
	'The work of disallow_role(), with the rights of the owner';
REVOKE ALL ON FUNCTION yquota_internal.disallow_role_as_owner(regrole, text, text) FROM PUBLIC;

CREATE FUNCTION yquota.disallow_role(role regrole, kind text, project text DEFAULT NULL) RETURNS boolean
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.disallow_role(regrole, text, text) IS
	'Undo allow_role(); returns whether there was anything to undo';
REVOKE ALL ON FUNCTION yquota.disallow_role(regrole, text, text) FROM PUBLIC;

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
	'Give all roles of role_grant the privileges of their kinds in this version, after an update of the extension; returns how many roles';
REVOKE ALL ON FUNCTION yquota.renew_role_grants() FROM PUBLIC;
