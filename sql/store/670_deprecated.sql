--
-- Names of 0.2.0 that have become others.  They stay for this release, so that
-- programs can follow one by one; docs/upgrading.md lists them.
--
CREATE VIEW yquota.reservation WITH (security_barrier) AS
	SELECT * FROM yquota.reserved_container;
COMMENT ON VIEW yquota.reservation IS 'Deprecated: read reserved_container';

CREATE VIEW yquota.history_stretch WITH (security_barrier) AS
	SELECT * FROM yquota.history_segment;
COMMENT ON VIEW yquota.history_stretch IS 'Deprecated: read history_segment';

CREATE VIEW yquota.kept_property WITH (security_barrier) AS
	SELECT * FROM yquota.unmapped_property;
COMMENT ON VIEW yquota.kept_property IS 'Deprecated: read and write unmapped_property';

CREATE VIEW yquota.balance_overview WITH (security_barrier) AS
	SELECT balance.project,
		   CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN round(balance.granted) END AS granted,
		   round(balance.charged + balance.accrued) AS spent,
		   round(balance.held) AS held,
		   CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN round(balance.remaining) END AS remaining,
		   round(balance.burn_rate * 3600, 2) AS per_hour,
		   to_char(balance.exhausted_at, 'YYYY-MM-DD HH24:MI') AS lasts_until
	FROM yquota.project_balance AS balance;
COMMENT ON VIEW yquota.balance_overview IS 'Deprecated: read project_balance';
COMMENT ON COLUMN yquota.balance_overview.granted IS 'credits; NULL for a project without a limit';
COMMENT ON COLUMN yquota.balance_overview.spent IS 'credits, running containers up to the clock included';
COMMENT ON COLUMN yquota.balance_overview.held IS 'credits set aside for applications';
COMMENT ON COLUMN yquota.balance_overview.remaining IS 'credits; NULL for a project without a limit';
COMMENT ON COLUMN yquota.balance_overview.per_hour IS 'credits that running containers cost in an hour at the present prices';
COMMENT ON COLUMN yquota.balance_overview.lasts_until IS 'when credit is used up at that rate, in the time zone of the session; NULL for never';

CREATE VIEW yquota.price_overview AS
	SELECT price.resource_type, price.price_group, round(price.multiplier, 4) AS multiplier,
		   round(price.unit_hour_price, 4) AS unit_hour, price.unit,
		   CASE WHEN isfinite(price.effective_at) THEN to_char(price.effective_at, 'YYYY-MM-DD HH24:MI') END AS since
	FROM yquota.current_price AS price;
COMMENT ON VIEW yquota.price_overview IS 'Deprecated: read current_price';
COMMENT ON COLUMN yquota.price_overview.unit_hour IS 'credits for holding one unit for an hour';
COMMENT ON COLUMN yquota.price_overview.unit IS 'how many native units that is';
COMMENT ON COLUMN yquota.price_overview.since IS 'in the time zone of the session; NULL when it has always been so';

CREATE VIEW yquota.queue_tree WITH (security_barrier) AS
	SELECT q.drawn AS tree, nullif(q.label, '') AS label, q.state,
		   round((100 * q.absolute_capacity)::numeric, 1) AS capacity,
		   round((100 * q.absolute_maximum_capacity)::numeric, 1) AS maximum,
		   round((100 * q.absolute_used_capacity)::numeric, 1) AS used,
		   q.usage_bar AS usage
	FROM yquota.effective_queue AS q
	ORDER BY q.ordinal, q.label;
COMMENT ON VIEW yquota.queue_tree IS 'Deprecated: read drawn and usage_bar of effective_queue';
COMMENT ON COLUMN yquota.queue_tree.label IS 'partition of the nodes; NULL for the default one';
COMMENT ON COLUMN yquota.queue_tree.capacity IS 'percent of the partition';
COMMENT ON COLUMN yquota.queue_tree.maximum IS 'percent of the partition';
COMMENT ON COLUMN yquota.queue_tree.used IS 'percent of the partition';
COMMENT ON COLUMN yquota.queue_tree.usage IS 'the partition in twenty cells';

CREATE FUNCTION yquota.release(hold_id bigint) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota.release_hold(hold_id);
	END;
COMMENT ON FUNCTION yquota.release(bigint) IS 'Deprecated: call release_hold()';
REVOKE ALL ON FUNCTION yquota.release(bigint) FROM PUBLIC;

CREATE FUNCTION yquota.roll_up() RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota.roll_up_charges();
	END;
COMMENT ON FUNCTION yquota.roll_up() IS 'Deprecated: call roll_up_charges()';
REVOKE ALL ON FUNCTION yquota.roll_up() FROM PUBLIC;

CREATE FUNCTION yquota.acknowledge(container_ids text[]) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.acknowledge_containers(container_ids);
	END;
COMMENT ON FUNCTION yquota.acknowledge(text[]) IS 'Deprecated: call acknowledge_decisions(), which takes the numbers of decisions';
REVOKE ALL ON FUNCTION yquota.acknowledge(text[]) FROM PUBLIC;

CREATE FUNCTION yquota.explain_placement(
	username text, groups text[], queue text DEFAULT 'default', application_name text DEFAULT NULL)
	RETURNS TABLE (rule_kind yquota.mapping_rule_kind, rule_position integer, matches boolean, target text,
				   decides boolean, reason text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT step.rule_kind, step.rule_position, step.matches, step.target, step.decides, step.reason
		FROM yquota.place_application($1, $2, $3, $4, explain => true) AS step
		WHERE step.outcome IS NULL;
	END;
COMMENT ON FUNCTION yquota.explain_placement(text, text[], text, text) IS
	'Deprecated: call place_application() with explain';
REVOKE ALL ON FUNCTION yquota.explain_placement(text, text[], text, text) FROM PUBLIC;

-- Viewers may call it, too, as in 0.2.0; submit_application() is for roles that
-- speak for the resource manager.
CREATE FUNCTION yquota.admission(
	application_id text, username text, groups text[], queue text DEFAULT 'default',
	application_name text DEFAULT NULL, am_resource yquota.resource DEFAULT NULL,
	priority integer DEFAULT NULL, lifetime bigint DEFAULT NULL, tags text[] DEFAULT NULL,
	label text DEFAULT NULL, unmanaged boolean DEFAULT false, project text DEFAULT NULL,
	real_username text DEFAULT NULL, view_acl text DEFAULT NULL, modify_acl text DEFAULT NULL,
	node_label_expression text DEFAULT NULL,
	OUT application_id text, OUT queue text, OUT priority integer, OUT lifetime bigint,
	OUT state yquota.application_state, OUT activated boolean, OUT decided_by text, OUT decided_at text,
	OUT used bigint, OUT maximum bigint, OUT used_resource yquota.resource,
	OUT maximum_resource yquota.resource, OUT reason text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT answer.*
		FROM yquota.submit_application($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
									   dry_run => true) AS answer;
	END;
COMMENT ON FUNCTION yquota.admission(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text) IS
	'Deprecated: call submit_application() with dry_run';
REVOKE ALL ON FUNCTION yquota.admission(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text) FROM PUBLIC;

-- Jobs that install_cron_jobs() of release 0.2.0 gave to pg_cron call this name.
CREATE FUNCTION yquota_internal.perform_duty(
	duty text, performed_by text, now_at timestamptz DEFAULT yquota.clock())
	RETURNS text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.run_job(duty, performed_by, now_at);
COMMENT ON FUNCTION yquota_internal.perform_duty(text, text, timestamptz) IS
	'Deprecated: call run_job()';
REVOKE ALL ON FUNCTION yquota_internal.perform_duty(text, text, timestamptz) FROM PUBLIC;

-- Copies by logical replication call this name by a job of their own.
CREATE FUNCTION yquota_internal.fold_counters() RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.compact_counters();
COMMENT ON FUNCTION yquota_internal.fold_counters() IS
	'Deprecated: call compact_counters()';
REVOKE ALL ON FUNCTION yquota_internal.fold_counters() FROM PUBLIC;

CREATE FUNCTION yquota.grant_operator(role regrole) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'operator');
	END;
COMMENT ON FUNCTION yquota.grant_operator(regrole) IS
	'Deprecated: call allow_role()';
REVOKE ALL ON FUNCTION yquota.grant_operator(regrole) FROM PUBLIC;

CREATE FUNCTION yquota.revoke_operator(role regrole) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'operator');
	END;
COMMENT ON FUNCTION yquota.revoke_operator(regrole) IS
	'Deprecated: call disallow_role()';
REVOKE ALL ON FUNCTION yquota.revoke_operator(regrole) FROM PUBLIC;

CREATE FUNCTION yquota.grant_viewer(role regrole) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'viewer');
	END;
COMMENT ON FUNCTION yquota.grant_viewer(regrole) IS
	'Deprecated: call allow_role()';
REVOKE ALL ON FUNCTION yquota.grant_viewer(regrole) FROM PUBLIC;

CREATE FUNCTION yquota.revoke_viewer(role regrole) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'viewer');
	END;
COMMENT ON FUNCTION yquota.revoke_viewer(regrole) IS
	'Deprecated: call disallow_role()';
REVOKE ALL ON FUNCTION yquota.revoke_viewer(regrole) FROM PUBLIC;

CREATE FUNCTION yquota.grant_member(role regrole, project text) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'member', project);
	END;
COMMENT ON FUNCTION yquota.grant_member(regrole, text) IS
	'Deprecated: call allow_role()';
REVOKE ALL ON FUNCTION yquota.grant_member(regrole, text) FROM PUBLIC;

CREATE FUNCTION yquota.revoke_member(role regrole, project text) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'member', project);
	END;
COMMENT ON FUNCTION yquota.revoke_member(regrole, text) IS
	'Deprecated: call disallow_role()';
REVOKE ALL ON FUNCTION yquota.revoke_member(regrole, text) FROM PUBLIC;

CREATE FUNCTION yquota.grant_admin(role regrole) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'admin');
	END;
COMMENT ON FUNCTION yquota.grant_admin(regrole) IS
	'Deprecated: call allow_role()';
REVOKE ALL ON FUNCTION yquota.grant_admin(regrole) FROM PUBLIC;

CREATE FUNCTION yquota.revoke_admin(role regrole) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'admin');
	END;
COMMENT ON FUNCTION yquota.revoke_admin(regrole) IS
	'Deprecated: call disallow_role()';
REVOKE ALL ON FUNCTION yquota.revoke_admin(regrole) FROM PUBLIC;
