--
-- Quotes of the cost of a future run and of a reservation.
--

CREATE FUNCTION yquota_internal.describe_dominant(
	allocation yquota.resource, prices jsonb, dominant text, forgiven boolean, factor numeric,
	charging_mode yquota.charging_mode, rates jsonb)
	RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE
		WHEN forgiven THEN 'no project pays during the outage that is in force'
		WHEN factor = 0 THEN 'a factor in force makes the allocation free'
		WHEN dominant IS NULL THEN 'no allocated resource has a price'
		ELSE (
			SELECT string_agg(format('%s costs %s (%s x %s)', part.name, part.rate, part.amount, part.price),
							  CASE WHEN charging_mode <> 'dearest' THEN ' and ' WHEN part.is_as_dear THEN ', as much as ' ELSE ', more than ' END
							  ORDER BY part.name = dominant DESC, part.rate DESC, part.name)
			FROM (
				SELECT entry.name, entry.amount, (prices ->> entry.name)::numeric AS price,
					   trim_scale(entry.amount * (prices ->> entry.name)::numeric) AS rate,
					   entry.name <> dominant
					   AND entry.amount * (prices ->> entry.name)::numeric
						   = yquota.amount(allocation, dominant) * (prices ->> dominant)::numeric AS is_as_dear
				FROM yquota.resource_entries(allocation) AS entry
				WHERE charging_mode = 'dearest' OR rates ? entry.name
			) AS part)
			|| CASE charging_mode WHEN 'sum_of_groups' THEN ', the dearest of each price group' ELSE '' END
	END;
COMMENT ON FUNCTION yquota_internal.describe_dominant(yquota.resource, jsonb, text, boolean, numeric, yquota.charging_mode, jsonb) IS
	'Explain in a sentence why resource types are charged, with their credits per second before factors';

CREATE FUNCTION yquota_internal.check_price_quote(
	allocation yquota.resource, duration interval, project text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF allocation IS NULL OR duration IS NULL THEN
		RAISE EXCEPTION 'allocation and duration of a price quote must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF duration < '0' THEN
		RAISE EXCEPTION 'duration of a price quote must not be negative'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The duration is %s.', duration);
	ELSIF duration > '100000 days' THEN
		RAISE EXCEPTION 'duration of a price quote is more than 100000 days'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The duration is %s.', duration);
	ELSIF project IS NOT NULL
		AND NOT EXISTS (SELECT FROM yquota.project_balance AS balance
						WHERE balance.project = check_price_quote.project)
	THEN
		PERFORM yquota_internal.refuse_name('project', project);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_price_quote(yquota.resource, interval, text) IS
	'Refuse arguments for which price_quote() has no answer.  A project that the calling role may not see is treated as missing';

-- A quote reveals factors of users and applications, so the caller must have the right to know them.  The cluster
-- offers its queues and execution types to everyone.  Every role that may ask for a quote may therefore know their
-- factors.
CREATE FUNCTION yquota_internal.check_quoted_names(username text, application_id text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.reads_balances() THEN
		RETURN;
	ELSIF username <> yquota_internal.acting_role() THEN
		RAISE EXCEPTION 'permission denied for prices of user "%"', username
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Administrators, viewers and operators may ask about any user, other roles only about the user of the same name.';
	ELSIF application_id IS NOT NULL
		AND NOT EXISTS (SELECT FROM yquota.readable_container AS c WHERE c.application_id = check_quoted_names.application_id)
		AND NOT EXISTS (
			SELECT FROM yquota.application AS a
			WHERE a.application_id = check_quoted_names.application_id
			  AND (a.project = ANY (yquota_internal.readable_projects())
				   OR yquota_internal.shows_application(a.username, a.queue, a.view_acl,
						yquota_internal.acting_role()::text, yquota_internal.acting_groups())))
	THEN
		RAISE EXCEPTION 'application "%" does not exist', application_id
			USING ERRCODE = 'undefined_object',
				HINT = 'Leave the application out for a quote without a factor of its own.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_quoted_names(text, text) IS
	'Refuse a quote for a user other than the calling role.  An application that the role may not see is treated as missing.  Operators and roles that read everything may ask about all users';

CREATE FUNCTION yquota_internal.quoted_payer(project text, username text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT payer.name
		FROM (SELECT yquota_internal.payer_project(quoted_payer.project, quoted_payer.username) AS name) AS payer
		WHERE yquota_internal.reads_balances()
		   OR EXISTS (SELECT FROM yquota.project_balance AS balance WHERE balance.project = payer.name);
$$;
COMMENT ON FUNCTION yquota_internal.quoted_payer(text, text) IS
	'Return the project that pays.  The result is NULL if only the username names the project and the calling role may not see the project';

CREATE FUNCTION yquota_internal.minimum_run_time(at timestamptz) RETURNS bigint
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN coalesce((SELECT yquota_internal.microseconds(rule.minimum_run_time)
					 FROM yquota.charging_rule AS rule
					 WHERE rule.project = '' AND rule.effective_at <= at
					 ORDER BY rule.effective_at DESC
					 LIMIT 1), 0);
COMMENT ON FUNCTION yquota_internal.minimum_run_time(timestamptz) IS
	'Return the shortest time, in microseconds, for which a container that starts at an instant pays';

CREATE FUNCTION yquota_internal.run_cost(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz, padding numeric) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN trim_scale(yquota_internal.accrued(allocation, factors, from_at, to_at)
					  + yquota_internal.rate(allocation, factors, to_at) * padding * 0.000001);
COMMENT ON FUNCTION yquota_internal.run_cost(yquota.resource, text[], timestamptz, timestamptz, numeric) IS
	'Return the credits of a run at the known prices.  The padding, in microseconds, is charged at the price of the end';

CREATE FUNCTION yquota_internal.run_costs(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz, padding bigint)
	RETURNS TABLE (resource_type text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT part.name, yquota_internal.run_cost(part.allocation, factors, from_at, to_at, padding)
		FROM (SELECT '' AS name, allocation
			  UNION ALL
			  SELECT entry.name, yquota.resource(jsonb_build_object(entry.name, entry.amount))
			  FROM yquota.resource_entries(allocation) AS entry) AS part (name, allocation);
$$;
COMMENT ON FUNCTION yquota_internal.run_costs(yquota.resource, text[], timestamptz, timestamptz, bigint) IS
	'Return the credits of a run and its padding (microseconds) at the known prices: of all resources under an empty name, and of each alone';

-- No price group has a lower multiplier than GENERAL.  The rows begin at -infinity, so that costs of the past can be
-- computed with the assumed multiplier, too.
CREATE FUNCTION yquota_internal.assumed_multipliers(multiplier numeric, at timestamptz) RETURNS yquota.price[]
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	rounded CONSTANT numeric := yquota_internal.rounded_multiplier(multiplier);
BEGIN
	IF rounded IS NULL THEN
		RETURN NULL;
	END IF;
	RETURN ARRAY(
		SELECT ROW(g.name, '-infinity',
				   CASE WHEN g.name = 'GENERAL' THEN rounded ELSE greatest(rounded, in_force.multiplier) END,
				   NULL, false, '', '-infinity')::yquota.price
		FROM yquota.price_group AS g
		LEFT JOIN LATERAL (
			SELECT p.multiplier FROM yquota.price AS p
			WHERE p.price_group = g.name AND p.effective_at <= assumed_multipliers.at
			ORDER BY p.effective_at DESC
			LIMIT 1
		) AS in_force ON true);
END
$$;
COMMENT ON FUNCTION yquota_internal.assumed_multipliers(numeric, timestamptz) IS
	'Return rows of price as if GENERAL always had the given multiplier.  Any other price group has its own multiplier at the given instant, or the given multiplier if that is larger.  Return NULL if no multiplier is given';

-- Points of calendars exist for 14 days ahead.  Costs of a later time are computed as if the points of that time
-- existed already.
CREATE FUNCTION yquota_internal.costs_ahead(query text, from_at timestamptz, to_at timestamptz, multipliers yquota.price[] DEFAULT NULL)
	RETURNS TABLE (name text, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	points CONSTANT yquota.calendar_factor[] := yquota_internal.calendar_factors_until(to_at);
BEGIN
	IF points IS NULL AND multipliers IS NULL THEN
		RETURN QUERY EXECUTE query USING from_at, to_at;
	ELSE
		RETURN QUERY SELECT assumed.project, assumed.amount
		FROM yquota_internal.cost_under_terms(query, NULL, multipliers, points, NULL, from_at, to_at, NULL, NULL) AS assumed;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.costs_ahead(text, timestamptz, timestamptz, yquota.price[]) IS
	'Run a query that returns names and credits, by the known or given multipliers and the calendars until an instant.  Its parameters are the two instants';

-- Rows of a query in cost_under_terms() consist of one text and one number, so the result is converted to one text.
CREATE FUNCTION yquota_internal.prices_quoted(
	allocation yquota.resource, factors text[], at timestamptz, multipliers yquota.price[],
	OUT prices jsonb, OUT factors_in_force jsonb, OUT factor numeric, OUT forgiven boolean, OUT dominant text,
	OUT rate numeric, OUT charging_mode yquota.charging_mode, OUT rates jsonb)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT now.prices, now.factors_in_force, now.factor, now.forgiven, now.dominant, now.rate, now.charging_mode, now.rates
		FROM yquota_internal.price_intervals(allocation, factors, at, at) AS now
		WHERE multipliers IS NULL
		UNION ALL
		SELECT now.*
		FROM yquota_internal.cost_under_terms(
			format('SELECT to_jsonb(now)::text, NULL::numeric FROM yquota_internal.price_intervals(%L, %L, $1, $2) AS now',
				   allocation, factors),
			NULL, multipliers, NULL, NULL, at, at, NULL, NULL) AS assumed
		CROSS JOIN LATERAL jsonb_to_record(assumed.project::jsonb) AS now (
			prices jsonb, factors_in_force jsonb, factor numeric, forgiven boolean, dominant text,
			rate numeric, charging_mode yquota.charging_mode, rates jsonb)
		WHERE multipliers IS NOT NULL;
$$;
COMMENT ON FUNCTION yquota_internal.prices_quoted(yquota.resource, text[], timestamptz, yquota.price[]) IS
	'Return the row of price_intervals() for an instant, by the known or given multipliers';

CREATE FUNCTION yquota_internal.quoted_costs(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz, padding bigint,
	multipliers yquota.price[], OUT cost numeric, OUT alone jsonb)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT max(part.amount) FILTER (WHERE part.name = ''),
			   coalesce(jsonb_object_agg(part.name, part.amount) FILTER (WHERE part.name <> ''), '{}')
		FROM yquota_internal.costs_ahead(
			format('SELECT part.resource_type, part.amount FROM yquota_internal.run_costs(%L, %L, $1, $2, %L) AS part',
				   allocation, factors, padding),
			from_at, to_at, multipliers) AS part;
$$;
COMMENT ON FUNCTION yquota_internal.quoted_costs(yquota.resource, text[], timestamptz, timestamptz, bigint, yquota.price[]) IS
	'Return the result of run_costs() for a future run, by the known or given multipliers and the calendars';

-- The function is written in SQL, so that the context of an error names the function and does not quote its query.
CREATE FUNCTION yquota_internal.quoted_price(
	allocation yquota.resource, duration interval, queue text, execution_type yquota.execution_type,
	application_id text, payer text, payer_username text, label text, at timestamptz, multipliers yquota.price[])
	RETURNS TABLE (
		price_per_second numeric, cost numeric, charged_time interval, dominant text, reason text,
		prices jsonb, alone jsonb, factor numeric, factors_in_force jsonb, paying_project text,
		remaining numeric, affordable boolean, charging_mode yquota.charging_mode, rates jsonb)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
		SELECT now.rate, quoted.cost,
			   (due.microseconds + due.padding) * interval '1 microsecond',
			   now.dominant,
			   yquota_internal.describe_dominant(quoted_price.allocation, now.prices,
												 now.dominant, now.forgiven, now.factor, now.charging_mode, now.rates),
			   now.prices, quoted.alone,
			   now.factor,
			   now.factors_in_force,
			   balance.project,
			   coalesce(balance.available, balance.remaining),
			   CASE WHEN balance.project IS NOT NULL THEN
				   coalesce(balance.available >= quoted.cost, true) END,
			   now.charging_mode, now.rates
		FROM (SELECT yquota_internal.factor_names(coalesce(quoted_price.payer, ''), quoted_price.application_id,
					quoted_price.payer_username, quoted_price.queue, NULL, NULL, quoted_price.execution_type, NULL, quoted_price.label) AS names
			  OFFSET 0) AS applying
		CROSS JOIN LATERAL yquota_internal.prices_quoted(
				quoted_price.allocation, applying.names, quoted_price.at, quoted_price.multipliers) AS now
		CROSS JOIN LATERAL (
			SELECT run.microseconds, greatest(yquota_internal.minimum_run_time(quoted_price.at) - run.microseconds, 0) AS padding
			FROM (SELECT yquota_internal.microseconds(quoted_price.duration) AS microseconds) AS run
		) AS due
		CROSS JOIN LATERAL yquota_internal.quoted_costs(quoted_price.allocation, applying.names, quoted_price.at,
			quoted_price.at + due.microseconds * interval '1 microsecond', due.padding, quoted_price.multipliers) AS quoted
		LEFT JOIN yquota.project_balance AS balance ON balance.project = quoted_price.payer;
	END;
COMMENT ON FUNCTION yquota_internal.quoted_price(yquota.resource, interval, text, yquota.execution_type, text, text, text, text, timestamptz, yquota.price[]) IS
	'Return the cost of a container from an instant on, by the known or given multipliers.  check_price_quote() has checked the arguments';

CREATE FUNCTION yquota_internal.price_quote_as_owner(
	allocation yquota.resource, duration interval, queue text,
	execution_type yquota.execution_type, username text, project text, application_id text, label text,
	multiplier numeric)
	RETURNS TABLE (
		price_per_second numeric, cost numeric, charged_time interval, dominant text, reason text,
		prices jsonb, alone jsonb, factor numeric, factors_in_force jsonb, paying_project text,
		remaining numeric, affordable boolean, charging_mode yquota.charging_mode, rates jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	payer CONSTANT text := yquota_internal.quoted_payer(
		price_quote_as_owner.project, price_quote_as_owner.username);
	payer_username CONSTANT text := yquota_internal.payer_username(
		price_quote_as_owner.project, price_quote_as_owner.username);
	now CONSTANT timestamptz := yquota.statement_clock();
	queue_path CONSTANT text := yquota_internal.queue_of_containers(price_quote_as_owner.queue);
BEGIN
	PERFORM yquota_internal.check_price_quote(price_quote_as_owner.allocation,
		price_quote_as_owner.duration, price_quote_as_owner.project);
	PERFORM yquota_internal.check_quoted_names(payer_username, price_quote_as_owner.application_id);
	RETURN QUERY SELECT quoted.*
	FROM yquota_internal.quoted_price(price_quote_as_owner.allocation, price_quote_as_owner.duration,
		queue_path, price_quote_as_owner.execution_type, price_quote_as_owner.application_id,
		payer, payer_username, price_quote_as_owner.label, now,
		yquota_internal.assumed_multipliers(price_quote_as_owner.multiplier, now)) AS quoted;
END
$$;
COMMENT ON FUNCTION yquota_internal.price_quote_as_owner(yquota.resource, interval, text, yquota.execution_type, text, text, text, text, numeric) IS
	'Return the result of price_quote() for the calling role';

CREATE FUNCTION yquota.price_quote(
	allocation yquota.resource, duration interval, queue text DEFAULT NULL,
	execution_type yquota.execution_type DEFAULT 'GUARANTEED', username text DEFAULT NULL,
	project text DEFAULT NULL, application_id text DEFAULT NULL, label text DEFAULT NULL,
	multiplier numeric DEFAULT NULL)
	RETURNS TABLE (
		price_per_second numeric, cost numeric, charged_time interval, dominant text, reason text,
		prices jsonb, alone jsonb, factor numeric, factors_in_force jsonb, paying_project text,
		remaining numeric, affordable boolean, charging_mode yquota.charging_mode, rates jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.price_quote(yquota.resource, interval, text, yquota.execution_type, text, text, text, text, numeric) IS
	'Return the cost of a container that starts now and runs for the given time, at the prices known for that time, calendars included.  If a multiplier is given, the price group GENERAL is assumed to have it from now on.  The row contains the exact charge, the reason, the cost of each resource alone, and whether the project can afford it';

-- The reservation is placed as in a dry run, and costs are computed at the known prices.  The first five arguments are
-- required, so that a call can never mean the other price_quote().
CREATE FUNCTION yquota_internal.price_quote_as_owner(
	definition yquota.reservation_contract, queue text, username text, groups text[], project text, multiplier numeric)
	RETURNS TABLE (
		accepted boolean, decided_by text, reason text, "from" timestamptz, "to" timestamptz, cost numeric,
		reserved_factor numeric, paying_project text, remaining numeric, affordable boolean)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	multipliers CONSTANT yquota.price[] := yquota_internal.assumed_multipliers(price_quote_as_owner.multiplier, yquota.statement_clock());
	placed record;
BEGIN
	PERFORM yquota_internal.check_price_quote('[]', '0', price_quote_as_owner.project);
	PERFORM yquota_internal.check_quoted_names(price_quote_as_owner.username, NULL);
	SELECT * INTO placed
	FROM yquota_internal.place_reservation(price_quote_as_owner.queue, price_quote_as_owner.username, price_quote_as_owner.groups,
										   price_quote_as_owner.project, price_quote_as_owner.definition, multipliers);
	RETURN QUERY
	SELECT placed.accepted, placed.decided_by, placed.reason, placed."from", placed."to", placed.quoted_cost,
		   yquota_internal.reserved_factor(yquota.statement_clock()), balance.project,
		   coalesce(balance.available, balance.remaining),
		   CASE WHEN balance.project IS NOT NULL AND placed.quoted_cost IS NOT NULL THEN
			   coalesce(balance.available >= placed.quoted_cost, true) END
	FROM (VALUES (price_quote_as_owner.project)) AS paying (project)
	LEFT JOIN yquota.project_balance AS balance ON balance.project = paying.project;
END
$$;
COMMENT ON FUNCTION yquota_internal.price_quote_as_owner(yquota.reservation_contract, text, text, text[], text, numeric) IS
	'Return the result of price_quote() of a reservation for the calling role';

CREATE FUNCTION yquota.price_quote(
	definition yquota.reservation_contract, queue text, username text, groups text[], project text,
	multiplier numeric DEFAULT NULL)
	RETURNS TABLE (
		accepted boolean, decided_by text, reason text, "from" timestamptz, "to" timestamptz, cost numeric,
		reserved_factor numeric, paying_project text, remaining numeric, affordable boolean)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.price_quote(yquota.reservation_contract, text, text, text[], text, numeric) IS
	'Return the cost of a reservation that is accepted now, at the known prices, calendars included, and by the rule in force.  If a multiplier is given, the price group GENERAL is assumed to have it from now on.  The reservation is placed as in a dry run.  The row contains the credits that acceptance would hold, and whether the project can afford them';
