-- Reports: balances, costs, usage.  The views have the rights of their owner and show the calling role the projects
-- that it may see (store/050_readers.sql).  They are security barriers, so that no condition of a query sees a row
-- before that check.  For a role that reads all projects, the check is one comparison per row.  "Live" values are
-- exact at yquota.statement_clock(): accruals are computed from the timelines and never stored (docs/design.md 3).
--
-- Readers of counters add up the compacted table and the uncompacted deltas.  The column "scope" tells which
-- counters a delta changes (see yquota_internal.counter_delta).  counter_change returns packed deltas together with
-- the others.  Views that read many packed deltas take them from packed_change.

-- Days of the bill.

CREATE FUNCTION yquota_internal.billing_day(at timestamptz, timezone text) RETURNS date
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (at AT TIME ZONE timezone)::date;
COMMENT ON FUNCTION yquota_internal.billing_day(timestamptz, text) IS
	'Return the date of an instant in a time zone';

-- Where clocks go back over midnight, midnight occurs twice; the server uses the second one.
CREATE FUNCTION yquota_internal.billing_day_start(day date, timezone text) RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN CASE
		WHEN ((day::timestamp AT TIME ZONE timezone) - interval '1 hour') AT TIME ZONE timezone >= day::timestamp
		THEN (day::timestamp AT TIME ZONE timezone) - interval '1 hour'
		ELSE day::timestamp AT TIME ZONE timezone
	END;
COMMENT ON FUNCTION yquota_internal.billing_day_start(date, text) IS
	'Return the first instant of a date in a time zone';

--
-- Balances
--

CREATE VIEW yquota_internal.rate_class AS
	SELECT part.project, part.shape, part.factors, part.reference_at,
		   sum(part.weight) AS weight,
		   sum(part.accrual_base) AS accrual_base
	FROM (
		SELECT counter.project, counter.shape, counter.factors, counter.reference_at,
			   counter.weight, counter.accrual_base
		FROM yquota_internal.rate_class_counter counter
		UNION ALL
		SELECT delta.project, delta.shape, delta.factors, delta.reference_at,
			   delta.weight, delta.accrual_base
		FROM yquota_internal.counter_change delta
		WHERE delta.scope IN ('a', 'p') AND delta.weight IS NOT NULL
	) part
	GROUP BY part.project, part.shape, part.factors, part.reference_at
	HAVING sum(part.weight) <> 0 OR sum(part.accrual_base) <> 0;
COMMENT ON VIEW yquota_internal.rate_class IS
	'Running containers per project, rate class and hour';

CREATE VIEW yquota_internal.balance_part AS
	SELECT counter.project, counter.charged,
		   CASE WHEN reference.reference_at IS NOT NULL THEN counter.accrual_base END AS accrual_base,
		   NULL::yquota.resource AS shape, NULL::text[] COLLATE "C" AS factors,
		   NULL::numeric AS weight,
		   CASE WHEN reference.reference_at IS NOT NULL THEN total.weights END AS weights,
		   reference.reference_at
	FROM yquota_internal.project_counter counter
	LEFT JOIN yquota_internal.running_total total ON total.project = counter.project
	LEFT JOIN yquota_internal.valid_reference reference ON true
	UNION ALL
	SELECT class.project, NULL, class.accrual_base, class.shape, class.factors, class.weight, NULL,
		   class.reference_at
	FROM yquota_internal.rate_class_counter class
	WHERE (SELECT reference_at FROM yquota_internal.valid_reference) IS NULL
	UNION ALL
	-- the instant is NULL for packed rate classes, which have their own instants
	SELECT delta.project, delta.charged, delta.accrual_base, delta.shape, delta.factors, delta.weight,
		   delta.packed, CASE WHEN delta.packed IS NULL THEN delta.reference_at END
	FROM yquota_internal.counter_delta delta
	WHERE delta.scope IN ('a', 'p') AND delta.project IS NOT NULL
	UNION ALL
	-- reservations are few and known in advance, so they have no counters
	SELECT segment.project, NULL,
		   CASE WHEN NOT segment.goes_on THEN
			   - yquota_internal.accrued(segment.allocation, segment.factors, segment."from", segment."to") END,
		   CASE WHEN segment.goes_on THEN yquota_internal.shape(segment.allocation) END, segment.factors,
		   yquota_internal.weight(segment.allocation), NULL, segment."from"
	FROM yquota_internal.accruing_segment segment
	UNION ALL
	-- Until the statement's clock has reached these containers' settled_at, counters show a negative cost for them.
	-- The cause is an event ahead of the clock, a clock that was set back, or a commit since the statement began.
	SELECT ahead.project, NULL, NULL, yquota_internal.shape(ahead.allocation), ahead.factors,
		   - yquota_internal.weight(ahead.allocation), NULL, ahead.settled_at
	FROM yquota_internal.settled_ahead(yquota.statement_clock(),
									   (SELECT max(mark.at) FROM yquota_internal.charged_through AS mark)) AS ahead;
COMMENT ON VIEW yquota_internal.balance_part IS
	'Parts of project_balance: charges, and the cost of running containers and reservations from reference_at on.  accrual_base and the cost of containers that are settled ahead of the clock are subtracted';

CREATE FUNCTION yquota_internal.used_up_at(now timestamptz, credits numeric, rate numeric) RETURNS timestamptz
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_used_up_at';
COMMENT ON FUNCTION yquota_internal.used_up_at(timestamptz, numeric, numeric) IS
	'Return the first microsecond at which credits are used up at a rate in credits per second; NULL if they are never used up, or only after the last possible timestamp';

CREATE FUNCTION yquota_internal.add_microseconds(at timestamptz, microseconds bigint) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN at < timestamptz '294200-01-01 00:00:00+00' THEN at + (microseconds || ' microseconds')::interval END;
COMMENT ON FUNCTION yquota_internal.add_microseconds(timestamptz, bigint) IS
	'Return the instant that is a number of microseconds later, or earlier if the number is negative.  The difference is at most 10 years.  NULL near the last possible timestamp';

CREATE VIEW yquota_internal.family_part AS
	SELECT part.* FROM yquota_internal.balance_part part
	UNION ALL
	SELECT family.ancestor, part.charged, part.accrual_base, part.shape, part.factors, part.weight,
		   part.weights, part.reference_at
	FROM yquota_internal.project_family family
	JOIN yquota_internal.balance_part part ON part.project = family.member
	WHERE yquota_internal.may_have_rows('yquota_internal.project_family');
COMMENT ON VIEW yquota_internal.family_part IS
	'Sum of balance_part over projects and all their descendants';

-- The view groups and joins, and does not look up each project.  Counters are read only once, for one project or for
-- all.  A condition on the project is pushed down into each part.
CREATE VIEW yquota_internal.spending AS
	SELECT books.project,
		   trim_scale(coalesce(books.charged, 0)) AS charged,
		   trim_scale(coalesce(books.accrued, 0) - coalesce(books.accrual_base, 0)) AS accrued,
		   trim_scale(coalesce(books.burn_rate, 0)) AS burn_rate
	FROM (
		SELECT part.project,
			   sum(part.charged) AS charged,
			   sum(part.accrual_base) AS accrual_base,
			   yquota_internal.accrued_sum(part.shape, part.factors, part.weight, part.weights,
										   part.reference_at, yquota.statement_clock()) AS accrued,
			   yquota_internal.rate_sum(part.shape, part.factors, part.weight, part.weights,
										part.reference_at, yquota.statement_clock()) AS burn_rate
		FROM yquota_internal.family_part part
		GROUP BY part.project
	) books;
COMMENT ON VIEW yquota_internal.spending IS
	'Charges of projects and their descendants, accruals of their running containers and reservations at the clock, and cost per second';

CREATE VIEW yquota_internal.balance AS
	SELECT project.name AS project,
		   project.quota_mode,
		   project.on_exhausted,
		   balance.granted,
		   balance.charged,
		   balance.accrued,
		   balance.held,
		   balance.burn_rate,
		   trim_scale(balance.granted - balance.charged - balance.accrued - balance.held) AS remaining,
		   project.parent,
		   coalesce(credit.has_own, false) AS has_budget,
		   project.credit_limit,
		   project.exhaustion_grace
	FROM yquota.project project
	LEFT JOIN yquota_internal.begun_credit credit ON credit.project = project.name
	LEFT JOIN yquota_internal.noted_loss noted ON noted.project = project.name
	LEFT JOIN yquota_internal.spending books ON books.project = project.name
	LEFT JOIN yquota_internal.held_credit holds ON holds.project = project.name
	CROSS JOIN LATERAL (
		SELECT trim_scale(coalesce(credit.granted, 0)
						  -- expired_loss() reads the books, so it is called only for the selected projects
						  - CASE WHEN credit.expired > coalesce(noted.grants, 0)
								 THEN yquota_internal.expired_loss(credit.project, credit.expired_until)
								 ELSE coalesce(noted.lost, 0) END) AS granted,
			   coalesce(books.charged, 0) AS charged,
			   coalesce(books.accrued, 0) AS accrued,
			   coalesce(holds.held, 0) AS held,
			   coalesce(books.burn_rate, 0) AS burn_rate
		-- compute these values once, although they are used several times above
		OFFSET 0
	) balance;
COMMENT ON VIEW yquota_internal.balance IS
	'Credit of every project, with the accruals, holds and burn rate of the project and its descendants at the clock';

-- The function reads few projects, because the credit of a sub-project depends only on its ancestors.
CREATE FUNCTION yquota_internal.balance_of(of_project text)
	RETURNS TABLE (project text, quota_mode yquota.quota_mode, on_exhausted yquota.exhaustion_policy,
				   has_budget boolean, remaining numeric, held numeric, burn_rate numeric, credit_limit numeric,
				   exhaustion_grace interval)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1 COST 10000
	SET search_path = pg_catalog, pg_temp
	-- planning and starting parallel workers for short branches take longer than most calls
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT b.project, b.quota_mode, b.on_exhausted, b.has_budget, b.remaining, b.held, b.burn_rate, b.credit_limit,
		   b.exhaustion_grace
	FROM yquota_internal.balance AS b
	WHERE b.project = of_project;
END
$$;
COMMENT ON FUNCTION yquota_internal.balance_of(text) IS
	'Return the row of balance for one project';

-- The view groups by member, so that a condition on one project is pushed down.  If all projects are read, an
-- ancestor of many projects is read only once.
CREATE VIEW yquota_internal.ancestor_balance AS
	SELECT family.member,
		   array_agg(family.depth) AS depths,
		   array_agg(above.project) AS projects,
		   array_agg(above.quota_mode) AS quota_modes,
		   array_agg(above.on_exhausted) AS policies,
		   array_agg(above.has_budget) AS have_budgets,
		   array_agg(above.remaining) AS remaining,
		   array_agg(above.held) AS held,
		   array_agg(above.burn_rate) AS burn_rates,
		   array_agg(above.credit_limit) AS credit_limits,
		   array_agg(above.exhaustion_grace) AS graces
	FROM yquota_internal.project_family AS family
	-- use a subquery, so that the planner caches results; it considers a repeated function call free and caching
	-- expensive
	CROSS JOIN LATERAL (SELECT b.* FROM yquota_internal.balance_of(family.ancestor) AS b OFFSET 0) AS above
	WHERE yquota_internal.may_have_rows('yquota_internal.project_family')
	GROUP BY family.member;
COMMENT ON VIEW yquota_internal.ancestor_balance IS
	'Rows of balance for the ancestors of sub-projects: one array per column, all in the same order of ancestors';

-- A container whose life is shorter than the minimum run time is padded by a row of length zero.
CREATE FUNCTION yquota_internal.padding_at(project text, since timestamptz, until timestamptz) RETURNS TABLE (at timestamptz, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	AS $$
BEGIN
	RETURN QUERY
	SELECT charge."to", sum(charge.amount)
	FROM yquota.charge
	WHERE charge.project = ANY (yquota_internal.family_of(padding_at.project))
	  AND charge."from" = charge."to" AND charge."to" >= since AND charge."to" <= until
	GROUP BY charge."to";
END
$$;
COMMENT ON FUNCTION yquota_internal.padding_at(text, timestamptz, timestamptz) IS
	'Return the padding of containers of a project and its descendants that ended between two instants: credits at each end';

CREATE FUNCTION yquota_internal.unspent_since(project text, since timestamptz) RETURNS TABLE (at timestamptz, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH book AS MATERIALIZED (
		SELECT u.at, u.spent FROM yquota_internal.spent_until(project, yquota.statement_clock(), since) AS u
	), life AS MATERIALIZED (
		SELECT l.grant_id, l.amount, l.begins_at, l.leaves_at, l.loses_at FROM yquota_internal.grant_life AS l
		WHERE l.project = unspent_since.project AND l.begins_at <= yquota.statement_clock()
	), change AS (
		SELECT life.begins_at AS at, life.amount FROM life
		UNION ALL
		SELECT life.leaves_at, - life.amount FROM life
		UNION ALL
		SELECT life.loses_at, - outcome.lost
		FROM (SELECT array_agg(book.at ORDER BY book.at) AS instants, array_agg(book.spent ORDER BY book.at) AS spent FROM book) AS books
		CROSS JOIN LATERAL yquota_internal.grant_outcome(
			project, yquota.statement_clock(), 'infinity', books.instants, books.spent) AS outcome
		JOIN life ON life.grant_id = outcome.grant_id
		WHERE outcome.lost IS NOT NULL
	)
	SELECT step.at, step.credit - step.spent - coalesce(padding.amount, 0)
	FROM (
		SELECT s.at, s.spent, coalesce(sum(s.amount) OVER (ORDER BY s.at), 0) AS credit
		FROM (SELECT change.at, change.amount, NULL::numeric AS spent FROM change
			  UNION ALL
			  SELECT book.at, 0, book.spent FROM book) AS s
	) AS step
	LEFT JOIN yquota_internal.padding_at(project, since, yquota.statement_clock()) AS padding ON padding.at = step.at
	WHERE step.spent IS NOT NULL AND step.at >= since;
END
$$;
COMMENT ON FUNCTION yquota_internal.unspent_since(text, timestamptz) IS
	'Return the unspent credits of the grants of a project at an instant, at the clock, and where grants begin and end in between.  Reads the books once';

-- A search cuts an interval at these instants: at the ends of 32 equal parts, and at three instants around a guess.
-- The guess lies where a straight line between the balances at both ends would reach the balance that is sought.
CREATE FUNCTION yquota_internal.cuts_between(since timestamptz, until timestamptz, part numeric) RETURNS timestamptz[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (
		SELECT array_agg(DISTINCT yquota_internal.add_microseconds(since, least(greatest(cut.at, 0), gap.length)))
		FROM (SELECT yquota_internal.microseconds(until - since) AS length) AS gap
		CROSS JOIN LATERAL (
			SELECT trunc(gap.length::numeric * n / 32)::bigint AS at FROM generate_series(0, 32) AS n
			UNION ALL
			SELECT trunc(gap.length * part)::bigint + n FROM generate_series(-1, 1) AS n) AS cut);
COMMENT ON FUNCTION yquota_internal.cuts_between(timestamptz, timestamptz, numeric) IS
	'Return instants that divide an interval: both ends, instants at equal distances, and the instants around a given fraction of the interval';

CREATE FUNCTION yquota_internal.first_without(project text, since timestamptz, until timestamptz, rest numeric, shortage numeric) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	AS $$
DECLARE
	found record;
BEGIN
	WHILE yquota_internal.microseconds(until - since) > 1 LOOP
		SELECT cut.at, cut.amount, cut.next_at, cut.next_amount INTO found
		FROM (
			SELECT left_over.at, left_over.amount, lead(left_over.at) OVER (ORDER BY left_over.at) AS next_at,
				   lead(left_over.amount) OVER (ORDER BY left_over.at) AS next_amount
			FROM (
				-- this balance counts padding as spent before the instant, but cost_since() counts it after the
				-- instant
				SELECT cost.at, rest - (first_value(after.cost) OVER (ORDER BY cost.at) - after.cost) AS amount
				FROM (SELECT yquota_internal.cuts_between(since, until, rest / (rest + shortage)) AS instants) AS asked
				CROSS JOIN LATERAL yquota_internal.cost_since(
					array_fill(first_without.project, ARRAY[cardinality(asked.instants)]), asked.instants, until) AS cost
				LEFT JOIN yquota_internal.padding_at(first_without.project, since, until) AS padding ON padding.at = cost.at
				CROSS JOIN LATERAL (SELECT cost.cost - coalesce(padding.amount, 0) AS cost) AS after
			) AS left_over
		) AS cut
		WHERE cut.amount > 0 AND cut.at < until
		ORDER BY cut.at DESC LIMIT 1;
		since := found.at;
		rest := found.amount;
		until := found.next_at;
		shortage := greatest(- found.next_amount, 0);
	END LOOP;
	RETURN until;
END
$$;
COMMENT ON FUNCTION yquota_internal.first_without(text, timestamptz, timestamptz, numeric, numeric) IS
	'Return the first microsecond without credit in an interval without changes of grants.  The last two arguments are the credits that are left at its start, and the credits that are missing at its end';

-- drain and stop begin only after exhaustion_grace.  Between the instants at which grants begin or end, a balance
-- only falls.  It therefore suffices to look at the beginning of the interval and at each of these instants.
CREATE FUNCTION yquota_internal.grace_ends_at(project text, credit_limit numeric, grace interval) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	some_left record;
BEGIN
	SELECT credit.* INTO some_left
	FROM (SELECT u.at, u.amount + credit_limit AS rest, lead(u.at) OVER (ORDER BY u.at) AS next_at,
				 lead(u.amount + credit_limit) OVER (ORDER BY u.at) AS next_rest
		  FROM yquota_internal.unspent_since(project,
			yquota_internal.add_microseconds(yquota.statement_clock(), - yquota_internal.microseconds(grace))) AS u) AS credit
	WHERE credit.rest > 0
	ORDER BY credit.at DESC LIMIT 1;
	IF NOT FOUND THEN
		RETURN yquota.statement_clock();
	END IF;
	-- grants that were booked before the clock was set back are part of the balance, but these instants leave them out
	RETURN yquota_internal.add_microseconds(
		CASE WHEN some_left.next_at IS NULL THEN yquota.statement_clock()
			 ELSE yquota_internal.first_without(project, some_left.at, some_left.next_at, some_left.rest, greatest(- some_left.next_rest, 0)) END,
		yquota_internal.microseconds(grace));
END
$$;
COMMENT ON FUNCTION yquota_internal.grace_ends_at(text, numeric, interval) IS
	'Return the end of the time of grace of a budget that is used up together with its credit limit.  If that time has ended already, the result is the clock';

-- The function is not STRICT, so that the planner inlines it into the query and plans the query only once.
CREATE FUNCTION yquota_internal.policy_in_force(
	policy yquota.exhaustion_policy, grace interval, unspent numeric, acts_at timestamptz) RETURNS yquota.exhaustion_policy
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE WHEN grace > interval '0' AND policy > 'refuse_submission' AND (unspent > 0 OR acts_at > yquota.statement_clock())
				THEN 'refuse_submission' ELSE policy END;
COMMENT ON FUNCTION yquota_internal.policy_in_force(yquota.exhaustion_policy, interval, numeric, timestamptz) IS
	'Return the effect on decisions when a budget is used up.  During the time of grace, drain and stop only refuse submissions';

-- The function is in PL/pgSQL, because the planner would inline an SQL function twice.  Few budgets have these actions.
CREATE FUNCTION yquota_internal.acts_at(project text, credit_limit numeric, grace interval, unspent numeric, rate numeric) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN CASE WHEN unspent <= 0 AND grace > interval '0' THEN yquota_internal.grace_ends_at(project, credit_limit, grace)
				ELSE yquota_internal.add_microseconds(yquota_internal.used_up_at(yquota.statement_clock(), unspent, rate),
													  yquota_internal.microseconds(grace)) END;
END
$$;
COMMENT ON FUNCTION yquota_internal.acts_at(text, numeric, interval, numeric, numeric) IS
	'Return the instant at which drain or stop begins if credits are used up at a rate in credits per second; NULL if it never begins';

-- A budget limits a project and all its descendants.  It is the credit of a PREPAID project for which a row of kind
-- grant or budget has begun.  If no project up to the root has a budget, and none of them is NOLIMIT, the root
-- counts as having a budget of 0.
--
-- When a budget is used up, the strictest on_exhausted applies among the projects from this one up to the owner of
-- the budget.
CREATE VIEW yquota_internal.project_credit AS
	SELECT balance.*,
		   CASE WHEN balance.parent IS NULL THEN alone.available ELSE line.available END AS available,
		   CASE WHEN balance.parent IS NULL THEN alone.unspent ELSE line.unspent END AS unspent,
		   CASE WHEN balance.parent IS NULL THEN alone.project ELSE line.limited_by END AS limited_by,
		   CASE WHEN balance.parent IS NULL
				THEN yquota_internal.used_up_at(yquota.statement_clock(), alone.unspent, balance.burn_rate)
				ELSE line.exhausted_at END AS exhausted_at,
		   CASE WHEN balance.parent IS NOT NULL THEN line.action
				WHEN alone.unspent <= 0 THEN alone.policy END AS action,
		   CASE WHEN balance.parent IS NULL THEN ARRAY[alone.available] ELSE line.limits END AS limits,
		   CASE WHEN balance.parent IS NULL THEN ARRAY[alone.policy] ELSE line.policies END AS policies,
		   CASE WHEN balance.parent IS NULL THEN alone.acts_at ELSE line.acts_at END AS acts_at
	FROM yquota_internal.balance
	LEFT JOIN yquota_internal.ancestor_balance AS ancestors ON ancestors.member = balance.project
	-- most projects have no ancestors, so no aggregates are needed
	LEFT JOIN LATERAL (
		SELECT credit.*, yquota_internal.policy_in_force(balance.on_exhausted, balance.exhaustion_grace, credit.unspent, rule.acts_at) AS policy,
			   rule.acts_at
		FROM (SELECT balance.project, trim_scale(balance.remaining + balance.credit_limit) AS available,
					 trim_scale(balance.remaining + balance.held + balance.credit_limit) AS unspent) AS credit
		CROSS JOIN LATERAL (
			SELECT CASE WHEN balance.on_exhausted > 'refuse_submission' THEN
					   yquota_internal.acts_at(credit.project, balance.credit_limit, balance.exhaustion_grace, credit.unspent, balance.burn_rate) END AS acts_at
			-- compute it once, although it is used twice
			OFFSET 0
		) AS rule
	) AS alone ON balance.quota_mode <> 'NOLIMIT'
	CROSS JOIN LATERAL (
		SELECT min(l.available) AS available,
			   min(l.available + l.held) AS unspent,
			   (array_agg(l.project ORDER BY l.available, l.depth))[1] AS limited_by,
			   min(yquota_internal.used_up_at(yquota.statement_clock(), l.available + l.held, l.burn_rate)) AS exhausted_at,
			   max(rule.in_force) FILTER (WHERE l.available + l.held <= 0) AS action,
			   array_agg(l.available ORDER BY l.depth) AS limits,
			   array_agg(rule.in_force ORDER BY l.depth) AS policies,
			   min(rule.acts_at) AS acts_at
		FROM (
			SELECT up.*,
				   max(up.on_exhausted) FILTER (WHERE up.quota_mode <> 'NOLIMIT') OVER (ORDER BY up.depth) AS policy,
				   up.has_limit
				   OR NOT bool_or(up.has_limit OR up.quota_mode = 'NOLIMIT') OVER ()
					  AND up.depth = max(up.depth) OVER () AS is_limit
			FROM (
				SELECT m.*, trim_scale(m.remaining + m.credit_limit) AS available, m.has_budget AND m.quota_mode <> 'NOLIMIT' AS has_limit
				FROM (
					SELECT 0 AS depth, balance.project, balance.quota_mode, balance.on_exhausted, balance.has_budget,
						   balance.remaining, balance.held, balance.burn_rate, balance.credit_limit,
						   balance.exhaustion_grace
					WHERE balance.parent IS NOT NULL
					UNION ALL
					SELECT above.*
					FROM unnest(ancestors.depths, ancestors.projects, ancestors.quota_modes, ancestors.policies,
								ancestors.have_budgets, ancestors.remaining, ancestors.held, ancestors.burn_rates,
								ancestors.credit_limits, ancestors.graces) AS above
				) AS m
			) AS up
		) AS l
		CROSS JOIN LATERAL (
			SELECT timed.acts_at, yquota_internal.policy_in_force(l.policy, l.exhaustion_grace, l.available + l.held, timed.acts_at) AS in_force
			FROM (SELECT CASE WHEN l.policy > 'refuse_submission' THEN
						   yquota_internal.acts_at(l.project, l.credit_limit, l.exhaustion_grace, l.available + l.held, l.burn_rate) END AS acts_at
				  OFFSET 0) AS timed
		) AS rule
		WHERE l.is_limit AND balance.quota_mode <> 'NOLIMIT'
		  AND yquota_internal.may_have_rows('yquota_internal.project_family')
	) AS line;
COMMENT ON VIEW yquota_internal.project_credit IS
	'Rows of balance, with the credit of every project by its own budget and those of its ancestors. This is project_balance without the check of which projects the role may see';
COMMENT ON COLUMN yquota_internal.project_credit.available IS
	'credits that may still be spent: the smallest remaining amount of the budgets that limit the project, each with the credit_limit of its project; NULL without limit';
COMMENT ON COLUMN yquota_internal.project_credit.unspent IS 'credits that would be available if nothing were held';
COMMENT ON COLUMN yquota_internal.project_credit.action IS
	'effect on decisions when no credit is left; NULL when some credit is left';
COMMENT ON COLUMN yquota_internal.project_credit.limits IS 'credits: the remaining amount of each budget that limits the project, with the credit_limit of the budget''s project';
COMMENT ON COLUMN yquota_internal.project_credit.policies IS 'effects on decisions when the budgets that limit the project are used up; during a time of grace never stricter than refuse_submission';
COMMENT ON COLUMN yquota_internal.project_credit.acts_at IS 'instant at which drain or stop begins at the present burn rates; NULL if it never begins';

-- Planning a query about one project would take several times as long as running it.  The columns are listed,
-- because pg_dump would follow a view's row type to all sources of the view.
CREATE FUNCTION yquota_internal.credit_of(of_project text,
		OUT project text, OUT quota_mode yquota.quota_mode, OUT on_exhausted yquota.exhaustion_policy, OUT granted numeric, OUT charged numeric,
		OUT accrued numeric, OUT held numeric, OUT burn_rate numeric, OUT remaining numeric, OUT parent text, OUT has_budget boolean,
		OUT credit_limit numeric, OUT exhaustion_grace interval, OUT available numeric, OUT unspent numeric, OUT limited_by text, OUT exhausted_at timestamptz, OUT action yquota.exhaustion_policy,
		OUT limits numeric[], OUT policies yquota.exhaustion_policy[], OUT acts_at timestamptz)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE c STABLE STRICT PARALLEL RESTRICTED SECURITY DEFINER COST 10000
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_credit_of';
COMMENT ON FUNCTION yquota_internal.credit_of(text) IS
	'Return the row of project_credit for one project, by a plan that the session keeps.  A query about many projects should read the view instead';

CREATE VIEW yquota_internal.prepaid_ancestor AS
	SELECT f.member, a.on_exhausted
	FROM yquota_internal.project_family AS f
	JOIN yquota.project AS a ON a.name = f.ancestor
	WHERE a.quota_mode::text = 'PREPAID';
COMMENT ON VIEW yquota_internal.prepaid_ancestor IS
	'Ancestors of projects whose quota_mode is PREPAID';

-- Holds for the application, queue or reservation itself are ignored.  The application may use the credit that is
-- held for it.
CREATE FUNCTION yquota_internal.credit_shortage(
	project text, application_id text, queue text, reservation_id text, cost numeric, policies text[])
	RETURNS TABLE (remaining text, limited_by text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1
	AS $$
	SELECT trim_scale(c.available + h.own)::text, c.limited_by
	FROM yquota_internal.project_credit AS c
	CROSS JOIN LATERAL (
		SELECT coalesce(sum(h.outstanding), 0) AS own FROM yquota_internal.hold_outstanding AS h
		WHERE h.project = credit_shortage.project
		  AND (h.application_id = credit_shortage.application_id OR h.queue = credit_shortage.queue
			   OR h.reservation_id = credit_shortage.reservation_id)
	) AS h
	WHERE c.project = credit_shortage.project
	  AND EXISTS (SELECT FROM unnest(c.limits, c.policies) AS l (remaining, policy)
				  WHERE (l.remaining + h.own <= 0 OR l.remaining + h.own < credit_shortage.cost)
					AND l.policy::text <> ALL (credit_shortage.policies));
$$;
COMMENT ON FUNCTION yquota_internal.credit_shortage(text, text, text, text, numeric, text[]) IS
	'Return the remaining credit for an application in a queue, or for a reservation, and the project that limits this credit.  Returns a row only if a budget has nothing left or less than the cost, and its policy is not among the given ones';

CREATE VIEW yquota.project_balance WITH (security_barrier) AS
	SELECT project.name AS project,
		   credit.quota_mode,
		   credit.on_exhausted,
		   credit.granted,
		   credit.charged,
		   credit.accrued,
		   credit.held,
		   credit.remaining,
		   credit.burn_rate,
		   credit.exhausted_at,
		   credit.available,
		   credit.limited_by COLLATE "C" AS limited_by,
		   project.parent,
		   credit.credit_limit,
		   credit.exhaustion_grace,
		   credit.acts_at,
		   greatest(credit.action,
					CASE WHEN EXISTS (SELECT FROM unnest(credit.limits, credit.policies) AS budget (available, policy)
									  WHERE budget.available <= 0 AND budget.policy <> 'allow')
						 THEN 'refuse_submission'::yquota.exhaustion_policy END) AS action
	-- use LATERAL: with JOIN, the server would describe all columns of the function's result once per column, in each
	-- query
	FROM yquota.project AS project, LATERAL yquota_internal.credit_of(project.name) AS credit
	WHERE (SELECT yquota_internal.reads_balances())
	   OR project.name = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.project_balance IS
	'Credit of every project, with accruals and spending of the project and its sub-projects, live and exact at the clock. NOLIMIT projects are charged like all others';
COMMENT ON COLUMN yquota.project_balance.granted IS 'credits of the grants that have begun, less the remaining credit of those that expired. These are the project''s own grants, and the refunds and corrections of sub-projects without credit of their own';
COMMENT ON COLUMN yquota.project_balance.charged IS 'credits posted to the ledgers (charge, reservation_charge)';
COMMENT ON COLUMN yquota.project_balance.accrued IS
	'credits that running containers and reservations owe since their last settlement; nothing if that settlement is ahead of the clock';
COMMENT ON COLUMN yquota.project_balance.held IS 'credits set aside for applications that have not spent them yet: the sum of outstanding in hold_status';
COMMENT ON COLUMN yquota.project_balance.remaining IS 'credits: granted - charged - accrued - held; may be negative. It is negative in a sub-project that spends the credit of its ancestors';
COMMENT ON COLUMN yquota.project_balance.burn_rate IS
	'credits per second that now accrue for running containers and reservations; 0 during an outage. Containers that are settled ahead of the clock do not count';
COMMENT ON COLUMN yquota.project_balance.exhausted_at IS
	'first microsecond at which the credit is spent if burn_rate stays the same; holds do not count as spent. The credit is that of the project, or of an ancestor whose budget limits it, and includes the credit_limit. If the credit is spent already, the value is the clock. NULL if the credit will never be spent, and for NOLIMIT projects';
COMMENT ON COLUMN yquota.project_balance.available IS 'credits that the project may still spend: the smallest remaining amount of its own budget and those of its ancestors, each with its credit_limit. In a project without parent it is remaining + credit_limit. NULL when nothing limits the project';
COMMENT ON COLUMN yquota.project_balance.limited_by IS 'project that has the least remaining credit: this project or an ancestor';
COMMENT ON COLUMN yquota.project_balance.parent IS 'project that also pays for this one';
COMMENT ON COLUMN yquota.project_balance.credit_limit IS 'credits by which remaining may go below zero';
COMMENT ON COLUMN yquota.project_balance.exhaustion_grace IS 'time from the use of the last credit until drain or stop begins';
COMMENT ON COLUMN yquota.project_balance.acts_at IS
	'first microsecond at which drain or stop begins, after the exhaustion_grace, if burn_rate stays the same. If drain or stop has begun already, the value is the clock. NULL if neither will ever begin, and for other actions';
COMMENT ON COLUMN yquota.project_balance.action IS 'action that decisions about the project follow now. It is refuse_submission while credit is left, but all of it is held, and during the time of grace. NULL while credit is available';

CREATE VIEW yquota.exhausted_work WITH (security_barrier) AS
	SELECT container.project,
		   credit.on_exhausted,
		   credit.action::text AS action,
		   credit.unspent AS remaining,
		   container.application_id,
		   container.container_id,
		   container.username,
		   container.queue,
		   container.node,
		   container.execution_type,
		   container.allocation,
		   container.started_at
	FROM yquota.project AS project
	CROSS JOIN LATERAL yquota_internal.credit_of(project.name) AS credit
	JOIN yquota.container container ON container.project = project.name
	WHERE credit.action IN ('drain', 'stop')
	  AND ((SELECT yquota_internal.reads_balances())
		   OR project.name = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON VIEW yquota.exhausted_work IS
	'Containers, running or waiting at their nodes, of PREPAID projects that have had no credit for exhaustion_grace.  on_exhausted of the project, or of an ancestor without credit, is drain or stop.  Charging continues until the FINISH of each container arrives';
COMMENT ON COLUMN yquota.exhausted_work.action IS
	'stop: kill the container. drain: let it end by itself, and start no other container of its project';
COMMENT ON COLUMN yquota.exhausted_work.remaining IS 'unspent credits plus credit_limit of the project, or of the ancestor that limits it; held credits count as unspent; 0 or less';
COMMENT ON COLUMN yquota.exhausted_work.allocation IS 'native units';

--
-- Costs
--

-- The view checks above the union which projects are visible.  Otherwise the planner would flatten the union together
-- with its security barrier.
CREATE VIEW yquota.container_cost WITH (security_barrier) AS
	SELECT cost.*
	FROM (
		SELECT container.container_id,
			   container.project,
			   container.application_id,
			   container.username,
			   container.queue,
			   container.node,
			   container.execution_type,
			   container.allocation,
			   container.started_at,
			   NULL::timestamptz AS finished_at,
			   NULL::integer AS exit_status,
			   live.charged,
			   live.accrued,
			   trim_scale(live.charged + live.accrued) AS cost
		FROM yquota.container container
		CROSS JOIN LATERAL (
			SELECT CASE WHEN container.charges = 0 THEN 0 ELSE (
				SELECT trim_scale(coalesce(sum(charge.amount), 0))
				FROM yquota.charge charge
				WHERE charge.container_id = container.container_id
			) END AS charged,
			yquota_internal.accrued(container.allocation, container.factors,
									container.settled_at, yquota.statement_clock()) AS accrued
			-- compute this value once, although it is used twice
			OFFSET 0
		) live
		UNION ALL
		SELECT finished.container_id,
			   finished.project,
			   finished.application_id,
			   finished.username,
			   (finished.last_segment).queue,
			   (finished.last_segment).node,
			   (finished.last_segment).execution_type,
			   (finished.last_segment).allocation,
			   finished.started_at,
			   (finished.last_segment)."to",
			   (finished.last_segment).exit_status,
			   finished.charged,
			   0::numeric,
			   finished.charged
		FROM (
			SELECT charge.container_id, charge.project, charge.application_id, charge.username,
				   charge.started_at,
				   trim_scale(sum(charge.amount)) AS charged,
				   (array_agg(charge ORDER BY charge.number DESC)
					FILTER (WHERE charge.settled_by = 'CONTAINER_FINISH'
							  AND charge.corrects IS NULL))[1] AS last_segment
			FROM yquota.charge charge
			WHERE NOT EXISTS (
				SELECT FROM yquota.container container
				WHERE container.container_id = charge.container_id
			)
			GROUP BY charge.container_id, charge.project, charge.application_id, charge.username,
					 charge.started_at
			-- leave out voided containers; all their rows have been reversed
			HAVING sum(CASE WHEN charge.corrects IS NULL THEN 1 ELSE -1 END) > 0
		) finished
	) cost
	WHERE (SELECT yquota_internal.reads_all())
	   OR cost.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.container_cost IS
	'Cost of every container.  The cost of a running container is computed up to the clock.  Queue, node, execution type and allocation are the last values.  Query the view with a container_id or an application_id, because other conditions read the whole ledger';
COMMENT ON COLUMN yquota.container_cost.queue IS 'last queue of the container; the next three columns are also the last values';
COMMENT ON COLUMN yquota.container_cost.allocation IS 'native units';
COMMENT ON COLUMN yquota.container_cost.started_at IS 'creation of the container';
COMMENT ON COLUMN yquota.container_cost.finished_at IS 'NULL while the container runs';
COMMENT ON COLUMN yquota.container_cost.exit_status IS 'YARN''s container exit status; NULL while the container runs, and if the feed reported none';
COMMENT ON COLUMN yquota.container_cost.charged IS 'credits posted to the ledger (charge)';
COMMENT ON COLUMN yquota.container_cost.accrued IS 'credits since the last settlement up to the clock; 0 for a finished container';
COMMENT ON COLUMN yquota.container_cost.cost IS 'credits: charged + accrued';

CREATE VIEW yquota_internal.settled_segment AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge."from", charge."to", charge.corrects, charge.amount,
		   charge.booked_at, charge.xmin AS posted_by, charge.given_back, charge.waiting_factor, charge.dominant
	FROM yquota.charge charge
	WHERE (SELECT yquota_internal.reads_all())
	   OR charge.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	UNION ALL
	SELECT NULL, reserved.project, NULL, reserved.username, reserved.queue, NULL, 'GUARANTEED', reserved.allocation,
		   reserved."from", reserved."to", reserved.corrects, reserved.amount,
		   reserved.booked_at, reserved.xmin, NULL, reserved.reserved_factor,
		   yquota_internal.dominant(reserved.allocation,
			   yquota_internal.factor_names(reserved.project, NULL, reserved.username, reserved.queue, NULL, reserved."from", 'GUARANTEED',
											reserved.reserved_factor), reserved."from", reserved."to")
	FROM yquota.reservation_charge reserved
	WHERE (SELECT yquota_internal.reads_all())
	   OR reserved.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.settled_segment IS
	'Rows of the ledgers that the calling role may see, for settled_cost().  In a padding row "from" equals "to".  A reservation has no container; its part of the price is in waiting_factor';

-- The query is in a function, because pg_dump would follow the columns of a view to all sources of the view.
CREATE FUNCTION yquota_internal.accruing_segments()
	RETURNS TABLE (reservation_id text, project text, username text, queue text, allocation yquota.resource, factors text[],
				   "from" timestamptz, "to" timestamptz)
	-- lets readers of a view get rows of tables that they may not read.  PL/pgSQL keeps the plan
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 10
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT reserved.reservation_id, reserved.project, reserved.username, reserved.queue, reserved.allocation, reserved.factors,
		   reserved."from", reserved."to"
	FROM yquota_internal.accruing_segment AS reserved;
END
$$;
COMMENT ON FUNCTION yquota_internal.accruing_segments() IS
	'Return the rows of accruing_segment.  The planner expects few rows';

CREATE VIEW yquota_internal.running_segment AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.execution_type,
		   container.allocation, container.factors, container.settled_at AS "from",
		   yquota.statement_clock() AS "to"
	FROM yquota.container container
	WHERE container.settled_at < yquota.statement_clock()
	  AND ((SELECT yquota_internal.reads_all())
		   OR container.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	UNION ALL
	SELECT NULL, reserved.project COLLATE "C", NULL, reserved.username COLLATE "C", reserved.queue COLLATE "C", NULL, 'GUARANTEED',
		   reserved.allocation, reserved.factors COLLATE "C", reserved."from", reserved."to"
	FROM yquota_internal.accruing_segments() AS reserved
	WHERE reserved."from" < reserved."to"
	  AND ((SELECT yquota_internal.reads_all())
		   OR reserved.project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON VIEW yquota_internal.running_segment IS
	'Accruals of running containers and reservations up to the clock, for running_cost()';

-- A correction is computed with the present timelines, like the row that it reverses.  The two therefore cancel in
-- every window.  A segment that is free because of a preemption costs nothing at any price.
CREATE FUNCTION yquota_internal.segment_cost(
	allocation yquota.resource, project text, application_id text, username text, queue text, node text, since timestamptz,
	execution_type yquota.execution_type, waiting_factor numeric, corrects integer, given_back numeric, from_at timestamptz, to_at timestamptz)
	RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE WHEN given_back IS NOT NULL THEN 0 ELSE
		CASE WHEN corrects IS NULL THEN 1 ELSE -1 END
		* yquota_internal.accrued(allocation,
			yquota_internal.factor_names(project, application_id, username, queue, node, since, execution_type, waiting_factor), from_at, to_at) END;
COMMENT ON FUNCTION yquota_internal.segment_cost(
	yquota.resource, text, text, text, text, text, timestamptz, yquota.execution_type, numeric, integer, numeric, timestamptz, timestamptz) IS
	'Return the credits of a settled segment, given the ledger''s columns, in a window that lies within the segment.  The segment begins at "since"';

CREATE FUNCTION yquota_internal.settled_cost(segment yquota_internal.settled_segment,
											 from_at timestamptz, to_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN yquota_internal.segment_cost((segment).allocation, (segment).project, (segment).application_id, (segment).username, (segment).queue,
		(segment).node, (segment)."from", (segment).execution_type, (segment).waiting_factor, (segment).corrects, (segment).given_back,
		greatest((segment)."from", from_at), least((segment)."to", to_at));
COMMENT ON FUNCTION yquota_internal.settled_cost(yquota_internal.settled_segment, timestamptz, timestamptz) IS
	'Return the credits of the part of a settled segment that lies in a window';

CREATE FUNCTION yquota_internal.running_cost(segment yquota_internal.running_segment,
											 from_at timestamptz, to_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN yquota_internal.accrued((segment).allocation, (segment).factors,
		greatest((segment)."from", from_at), least((segment)."to", to_at));
COMMENT ON FUNCTION yquota_internal.running_cost(yquota_internal.running_segment, timestamptz, timestamptz) IS
	'Return the credits of the part of an accrual that lies in a window';

-- The view reads the ledgers without settled_segment, because pg_dump would follow the dependencies of each column of
-- that view.
CREATE VIEW yquota_internal.billed_day AS
	SELECT day.day, ends.starts_at, ends.ends_at
	FROM yquota_internal.billing_zone AS zone
	CROSS JOIN (SELECT min(segment."from") AS first, max(segment."to") AS last
				FROM (SELECT charge."from", charge."to", charge.project FROM yquota.charge
					  UNION ALL
					  SELECT reserved."from", reserved."to", reserved.project FROM yquota.reservation_charge AS reserved) AS segment
				WHERE (SELECT yquota_internal.reads_all())
				   OR segment.project = ANY ((SELECT yquota_internal.readable_projects())::text[])) AS ledger
	CROSS JOIN (SELECT min(quarter_hour) AS first, max(quarter_hour) AS last
				FROM yquota_internal.readable_archived_cost) archive
	CROSS JOIN LATERAL (
		SELECT yquota_internal.billing_day(least(ledger.first, archive.first), zone.name) AS first,
			   yquota_internal.billing_day(greatest(ledger.last, archive.last), zone.name) AS last
		OFFSET 0
	) AS days
	CROSS JOIN LATERAL (
		SELECT days.first + number AS day
		FROM generate_series(0, days.last - days.first) number
	) day
	CROSS JOIN LATERAL (
		SELECT yquota_internal.billing_day_start(day.day, zone.name) AS starts_at,
			   yquota_internal.billing_day_start(day.day + 1, zone.name) AS ends_at
		-- compute this value once per day, not once per compared row
		OFFSET 0
	) ends;
COMMENT ON VIEW yquota_internal.billed_day IS
	'Dates from the first to the last charge, archived or not, with the instants at which they end in the time zone of bills';

-- The view selects rows day by day, so that a query for one date finds its rows by their times.  Booked amounts are
-- added up for rows within a day.  For rows that cross midnight, amounts are computed.
CREATE VIEW yquota.daily_cost WITH (security_barrier) AS
	SELECT part.day, part.project, part.username, part.queue,
		   part.application_id, part.execution_type,
		   trim_scale(sum(part.amount)) AS amount
	FROM (
		SELECT billed.day, segment.project, segment.username, segment.queue,
			   segment.application_id, segment.execution_type,
			   CASE WHEN segment."from" >= billed.starts_at AND segment."to" <= billed.ends_at
					THEN segment.amount
					ELSE yquota_internal.segment_cost(segment.allocation, segment.project, segment.application_id, segment.username, segment.queue,
						segment.node, segment."from", segment.execution_type, segment.waiting_factor, segment.corrects, segment.given_back,
						greatest(segment."from", billed.starts_at), least(segment."to", billed.ends_at))
			   END AS amount
		FROM yquota_internal.billed_day billed
		JOIN yquota_internal.settled_segment segment
			ON segment."from" < billed.ends_at
			AND segment."to" >= billed.starts_at
			AND (segment."to" > billed.starts_at OR segment."from" = segment."to")
		UNION ALL
		SELECT billed.day, archived.project, archived.username, archived.queue,
			   archived.application_id, archived.execution_type, archived.amount
		FROM yquota_internal.billed_day billed
		JOIN yquota_internal.readable_archived_cost archived
			ON archived.quarter_hour >= billed.starts_at AND archived.quarter_hour < billed.ends_at
		UNION ALL
		SELECT days.first + later, segment.project, segment.username, segment.queue,
			   segment.application_id, segment.execution_type,
			   yquota_internal.accrued(segment.allocation, segment.factors,
				   greatest(segment."from", yquota_internal.billing_day_start(days.first + later, zone.name)),
				   least(segment."to", yquota_internal.billing_day_start(days.first + later + 1, zone.name)))
		FROM yquota_internal.running_segment segment
		CROSS JOIN yquota_internal.billing_zone AS zone
		CROSS JOIN LATERAL (
			SELECT yquota_internal.billing_day(segment."from", zone.name) AS first,
				   yquota_internal.billing_day(
					   greatest(segment."from", segment."to" - interval '1 microsecond'), zone.name) AS last
		) days
		CROSS JOIN LATERAL generate_series(0, days.last - days.first) later
	) part
	GROUP BY part.day, part.project, part.username, part.queue,
			 part.application_id, part.execution_type;
COMMENT ON VIEW yquota.daily_cost IS
	'Costs per day in the time zone of bills, divided exactly at its midnights.  Running containers are included up to the clock, and so are archived days.  Query the view with a day, otherwise it reads the whole ledger.  For a single day, cost_between() is faster';
COMMENT ON COLUMN yquota.daily_cost.day IS 'date in the time zone of bills. The day has 23 or 25 hours when clocks change';
COMMENT ON COLUMN yquota.daily_cost.amount IS 'credits';

-- Usage of running containers.

CREATE VIEW yquota.queue_usage AS
	SELECT part.queue, part.label, part.username, part.execution_type,
		   sum(part.containers)::bigint AS containers,
		   yquota.sum(part.allocation) AS allocation
	FROM (
		SELECT counter.queue, counter.label, counter.username, counter.execution_type,
			   counter.containers, counter.allocation
		FROM yquota_internal.usage_counter counter
		UNION ALL
		SELECT delta.queue, delta.label, delta.username, delta.execution_type,
			   delta.containers, delta.allocation
		FROM yquota_internal.counter_delta delta
		WHERE delta.scope IN ('a', 'u') AND delta.allocation IS NOT NULL
		UNION ALL
		SELECT change.queue, change.label, change.username, change.execution_type,
			   change.containers, change.allocation
		FROM yquota_internal.packed_change change
		WHERE change.scope = 'u'
	) part
	GROUP BY part.queue, part.label, part.username, part.execution_type
	HAVING sum(part.containers) <> 0;
COMMENT ON VIEW yquota.queue_usage IS
	'Usage of running containers, per queue, node label, user and execution type';
COMMENT ON COLUMN yquota.queue_usage.label IS 'partition of the nodes; empty for the default partition';
COMMENT ON COLUMN yquota.queue_usage.containers IS 'number of running containers';
COMMENT ON COLUMN yquota.queue_usage.allocation IS 'sum of the allocations of these containers, native units';

CREATE VIEW yquota.node_usage AS
	SELECT coalesce(node.name, held.node) AS node,
		   node.rack,
		   node.label,
		   node.state,
		   node.total,
		   coalesce(held.guaranteed, '[]') AS guaranteed,
		   coalesce(held.opportunistic, '[]') AS opportunistic,
		   node.total OPERATOR(yquota.-) coalesce(held.guaranteed, '[]') AS available,
		   coalesce(held.containers, 0) AS containers,
		   coalesce(held.running_containers_o, 0) AS running_containers_o
	FROM yquota.node node
	FULL JOIN (
		SELECT part.node,
			   sum(part.containers)::bigint AS containers,
			   coalesce(sum(part.containers) FILTER (WHERE part.execution_type = 'OPPORTUNISTIC'), 0)::bigint AS running_containers_o,
			   yquota.sum(part.allocation) FILTER (WHERE part.execution_type = 'GUARANTEED') AS guaranteed,
			   yquota.sum(part.allocation) FILTER (WHERE part.execution_type = 'OPPORTUNISTIC') AS opportunistic
		FROM (
			SELECT counter.node, counter.execution_type, counter.containers, counter.allocation
			FROM yquota_internal.node_counter counter
			UNION ALL
			SELECT delta.node, delta.execution_type, delta.containers, delta.allocation
			FROM yquota_internal.counter_delta delta
			WHERE delta.scope IN ('a', 'n') AND delta.node IS NOT NULL
			UNION ALL
			SELECT change.node, change.execution_type, change.containers, change.allocation
			FROM yquota_internal.packed_change change
			WHERE change.scope = 'n'
		) part
		GROUP BY part.node
		HAVING sum(part.containers) <> 0
	) held ON held.node = node.name;
COMMENT ON VIEW yquota.node_usage IS
	'Resources of nodes and the usage of running containers. A node that is known only from containers has no total';
COMMENT ON COLUMN yquota.node_usage.total IS 'resources of the node, native units; NULL for a node that is not in yquota.node';
COMMENT ON COLUMN yquota.node_usage.guaranteed IS 'resources held by GUARANTEED containers, native units';
COMMENT ON COLUMN yquota.node_usage.opportunistic IS 'resources held by OPPORTUNISTIC containers, native units';
COMMENT ON COLUMN yquota.node_usage.available IS
	'resources that GUARANTEED containers may still use: total less guaranteed, native units; negative amounts if they use more than the total';
COMMENT ON COLUMN yquota.node_usage.containers IS 'number of running containers';
COMMENT ON COLUMN yquota.node_usage.running_containers_o IS 'number of OPPORTUNISTIC containers among the running ones';

CREATE VIEW yquota.project_usage WITH (security_barrier) AS
	SELECT part.project,
		   yquota.sum(part.shape OPERATOR(yquota.*) part.weight::bigint) AS allocation
	FROM (
		SELECT counter.project, counter.shape, counter.factors, counter.weight
		FROM yquota_internal.rate_class_counter counter
		UNION ALL
		SELECT delta.project, delta.shape, delta.factors, delta.weight
		FROM yquota_internal.counter_delta delta
		WHERE delta.scope IN ('a', 'p') AND delta.weight IS NOT NULL
		UNION ALL
		SELECT change.project, change.shape, change.factors, change.weight
		FROM yquota_internal.packed_change change
		WHERE change.scope = 'p' AND change.weight IS NOT NULL
	) part
	-- waiting containers have no usage
	WHERE part.factors[1] IS DISTINCT FROM 'waiting'
	  AND ((SELECT yquota_internal.reads_all())
		   OR part.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	GROUP BY part.project
	HAVING yquota.sum(part.shape OPERATOR(yquota.*) part.weight::bigint) OPERATOR(yquota.<>) '[]';
COMMENT ON VIEW yquota.project_usage IS
	'Usage of running containers per project; a project without usage has no row';
COMMENT ON COLUMN yquota.project_usage.allocation IS 'sum of the allocations, native units';
