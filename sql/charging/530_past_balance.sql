--
-- The balance of a project at a past instant, computed from the present books.
--

CREATE FUNCTION yquota_internal.family_of(project text) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT project || ARRAY(SELECT family.member FROM yquota_internal.project_family AS family
								WHERE family.ancestor = family_of.project ORDER BY family.member);
$$;
COMMENT ON FUNCTION yquota_internal.family_of(text) IS
	'Return a project and all its descendants';

-- Archived history is stored per quarter-hour.  An instant before the horizon divides its quarter-hour here.  For
-- this, the books and the archived rows around the instant are read.
CREATE FUNCTION yquota_internal.cost_after(project text, at timestamptz, archived yquota_internal.ledger_segment[]) RETURNS numeric
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	whole_from CONSTANT timestamptz := CASE WHEN at < yquota_internal.archive_horizon() THEN yquota_internal.next_quarter_hour(at) ELSE at END;
	total CONSTANT numeric := coalesce((SELECT sum(cost.amount) FROM yquota_internal.cost_in_parts(ARRAY[whole_from, 'infinity'], '{}', project) AS cost), 0);
	within numeric := 0;
BEGIN
	IF at < whole_from THEN
		EXECUTE format('SELECT coalesce(sum(c.amount), 0) FROM (%s) AS c (part, project, username, queue, application_id, execution_type, node, container_id, amount, tags)',
					   yquota_internal.cost_query('{}', true, false, false))
		INTO within USING ARRAY[at, whole_from], NULL::timestamptz, NULL::timestamptz, project;
	END IF;
	RETURN total + within + yquota_internal.archived_within_quarter_hour(project, NULL, NULL, NULL, at, archived);
END
$$;
COMMENT ON FUNCTION yquota_internal.cost_after(text, timestamptz, yquota_internal.ledger_segment[]) IS
	'Return the cost of a project from an instant up to the clock.  It is computed from the books and from the rows of archived_segments_around() for the instant';

CREATE FUNCTION yquota_internal.spent_at(project text, at timestamptz, archived yquota_internal.ledger_segment[]) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT trim_scale(
			coalesce(yquota_internal.spent_now(spent_at.project), 0)
			- (SELECT sum(yquota_internal.cost_after(member.name, at, archived))
			   FROM unnest(yquota_internal.family_of(spent_at.project)) AS member (name))
			-- padding is booked at the finish, so it belongs to the time before that instant
			+ coalesce((SELECT sum(charge.amount) FROM yquota.charge
						WHERE charge.project = ANY (yquota_internal.family_of(spent_at.project))
						  AND charge."to" = at AND charge."from" = at), 0));
$$;
COMMENT ON FUNCTION yquota_internal.spent_at(text, timestamptz, yquota_internal.ledger_segment[]) IS
	'Return the cost of a project and its descendants before an instant: their present spending less the cost since the instant';

CREATE FUNCTION yquota_internal.burn_rate_at(project text, at timestamptz, archived yquota_internal.ledger_segment[]) RETURNS numeric
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- use a saved plan, because planning takes longer than most calls
	SET plan_cache_mode = force_generic_plan
	AS $$
BEGIN
	RETURN (
		SELECT trim_scale(coalesce(sum(segment.sign * yquota_internal.rate(segment.allocation, segment.factors, at)), 0))
		FROM (
			SELECT CASE WHEN charge.corrects IS NULL THEN 1 ELSE -1 END AS sign, charge.allocation,
				   yquota_internal.factor_names(charge.project, charge.application_id, charge.username,
												charge.queue, charge.node, charge."from", charge.execution_type, charge.waiting_factor) AS factors
			FROM yquota.charge
			WHERE charge.project = ANY (yquota_internal.family_of(burn_rate_at.project)) AND charge."from" <= at AND charge."to" > at
			  AND charge.given_back IS NULL
			UNION ALL
			SELECT CASE WHEN gone.corrects IS NULL THEN 1 ELSE -1 END, gone.allocation,
				   yquota_internal.factor_names(gone.project, gone.application_id, gone.username,
												gone.queue, gone.node, gone."from", gone.execution_type, gone.waiting_factor)
			FROM unnest(archived) AS gone
			WHERE gone."from" <= at AND gone."to" > at AND gone.given_back IS NULL
			UNION ALL
			SELECT CASE WHEN reserved.corrects IS NULL THEN 1 ELSE -1 END, reserved.allocation,
				   yquota_internal.factor_names(reserved.project, NULL, reserved.username, reserved.queue, NULL, NULL, 'GUARANTEED', reserved.reserved_factor)
			FROM yquota.reservation_charge AS reserved
			WHERE reserved.project = ANY (yquota_internal.family_of(burn_rate_at.project)) AND reserved."from" <= at AND reserved."to" > at
			UNION ALL
			SELECT 1, accruing.allocation, accruing.factors
			FROM yquota_internal.accruing_segment AS accruing
			WHERE accruing.project = ANY (yquota_internal.family_of(burn_rate_at.project)) AND accruing."from" <= at
			  AND (accruing."to" > at OR accruing.goes_on)
			UNION ALL
			SELECT 1, container.allocation, container.factors
			FROM yquota.container
			WHERE container.project = ANY (yquota_internal.family_of(burn_rate_at.project)) AND container.settled_at <= at
		) AS segment);
END
$$;
COMMENT ON FUNCTION yquota_internal.burn_rate_at(text, timestamptz, yquota_internal.ledger_segment[]) IS
	'Return the credits per second that the containers and reservations of a project and its descendants cost at an instant';

CREATE FUNCTION yquota_internal.held_at(project text, at timestamptz, archived yquota_internal.ledger_segment[]) RETURNS numeric
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	AS $$
DECLARE
	projects CONSTANT text[] := yquota_internal.family_of(project);
BEGIN
	RETURN (SELECT trim_scale(coalesce(sum(hold.outstanding), 0))
			FROM yquota_internal.holds_by(projects, held_at.at, archived) AS hold);
END
$$;
COMMENT ON FUNCTION yquota_internal.held_at(text, timestamptz, yquota_internal.ledger_segment[]) IS
	'Return the outstanding credits of the holds of a project and its descendants at an instant';

CREATE FUNCTION yquota_internal.granted_at(project text, at timestamptz) RETURNS numeric
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
BEGIN
	RETURN trim_scale(
			coalesce((SELECT sum(life.amount) FROM yquota_internal.grant_life AS life
					  WHERE life.project = granted_at.project AND life.begins_at <= at AND at < life.leaves_at), 0)
			- coalesce((SELECT sum(found.lost)
						FROM (SELECT max(life.loses_at) AS at FROM yquota_internal.grant_life AS life
							  WHERE life.project = granted_at.project AND life.loses_at <= at
							  HAVING count(*) > 0) AS last_end
						CROSS JOIN LATERAL yquota_internal.grant_outcome(project, last_end.at) AS found), 0));
END
$$;
COMMENT ON FUNCTION yquota_internal.granted_at(text, timestamptz) IS
	'Return the credits of the grants of a project that had begun by an instant, less the remaining credit of those that had expired';

CREATE FUNCTION yquota_internal.check_visible_project(project text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- find projects as project_balance does, without computing their credit
	IF NOT EXISTS (SELECT FROM yquota.project AS visible
				   WHERE visible.name = check_visible_project.project
					 AND (yquota_internal.reads_balances() OR visible.name = ANY (yquota_internal.readable_projects()))) THEN
		PERFORM yquota_internal.refuse_name('project', project);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_visible_project(text) IS
	'Raise an error if no project is given.  A project that the reader may not see is treated as missing';

CREATE FUNCTION yquota_internal.check_past_balance(project text, at timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF project IS NULL OR at IS NULL THEN
		RAISE EXCEPTION 'project and instant of a balance must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(at) THEN
		RAISE EXCEPTION 'instant of a balance must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF at > yquota.statement_clock() THEN
		RAISE EXCEPTION 'cannot tell the balance at %, which is in the future', at
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The clock shows %s.', yquota.statement_clock());
	END IF;
	PERFORM yquota_internal.check_visible_project(project);
END
$$;
COMMENT ON FUNCTION yquota_internal.check_past_balance(text, timestamptz) IS
	'Refuse a past balance that cannot be computed';

CREATE FUNCTION yquota_internal.balance_at_as_owner(project text, at timestamptz)
	RETURNS TABLE (granted numeric, spent numeric, held numeric, remaining numeric, burn_rate numeric,
				   exhausted_at timestamptz)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	archived yquota_internal.ledger_segment[];
BEGIN
	PERFORM yquota_internal.check_past_balance(balance_at_as_owner.project, balance_at_as_owner.at);
	IF balance_at_as_owner.at < yquota_internal.archive_horizon() THEN
		archived := yquota_internal.archived_segments_around(yquota_internal.family_of(balance_at_as_owner.project), balance_at_as_owner.at);
	END IF;
	RETURN QUERY
	SELECT balance.granted, balance.spent, balance.held,
		   trim_scale(balance.granted - balance.spent - balance.held), balance.burn_rate,
		   CASE WHEN paying.quota_mode <> 'NOLIMIT' THEN
			   yquota_internal.used_up_at(balance_at_as_owner.at, balance.granted - balance.spent + paying.credit_limit, balance.burn_rate)
		   END
	FROM yquota.project AS paying
	CROSS JOIN LATERAL (
		SELECT yquota_internal.granted_at(balance_at_as_owner.project, balance_at_as_owner.at) AS granted,
			   yquota_internal.spent_at(balance_at_as_owner.project, balance_at_as_owner.at, archived) AS spent,
			   yquota_internal.held_at(balance_at_as_owner.project, balance_at_as_owner.at, archived) AS held,
			   yquota_internal.burn_rate_at(balance_at_as_owner.project, balance_at_as_owner.at, archived) AS burn_rate
		-- compute these values once, although they are used several times
		OFFSET 0
	) AS balance
	WHERE paying.name = balance_at_as_owner.project;
END;
$$;
COMMENT ON FUNCTION yquota_internal.balance_at_as_owner(text, timestamptz) IS
	'Return the result of balance_at() for the calling role';

CREATE FUNCTION yquota.balance_at(project text, at timestamptz)
	RETURNS TABLE (granted numeric, spent numeric, held numeric, remaining numeric, burn_rate numeric,
				   exhausted_at timestamptz)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.balance_at(text, timestamptz) IS
	'Return the credit, spending, holds and burn rate of a project and its sub-projects at a past instant, computed exactly from the present books';
