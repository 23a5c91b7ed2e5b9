-- Expiry of grants: the grant that expires first is spent first, and its rest is lost when it expires.
--
-- The credit of a project is a list of grants in the order of expiry.  The instants at which a grant begins or
-- expires divide time.  Spending between two of these instants is taken from the grants that are valid then, in the
-- order of the list.  If they do not suffice, the rest is owed, and the next grant that begins pays it.  A negative
-- row takes credit back when it begins, as if the credit had been spent.  When a negative row moves to a
-- sub-project, its amount returns to the same grants, and is lost if they have expired.  No grant begins before it
-- was booked, so a late grant does not change earlier losses of other grants.  The only exception is the grant of a
-- budget, which begins with its period.
--
-- The loss of a grant therefore follows from the spending before certain instants.  The books contain this spending.
-- Spending depends on the time when a container ran, not on the arrival of its events.  The result is stored, so that
-- a balance need not read the ledger.  A change of the books about the time before the instant invalidates the result,
-- for example a late event, a voided container, or other prices.  Balances then read the books until the worker has
-- stored a new result.

CREATE TABLE yquota_internal.spending_mark (
	project text COLLATE "C" NOT NULL REFERENCES yquota.project ON DELETE CASCADE,
	at timestamptz NOT NULL,
	spent numeric NOT NULL,
	taken_at timestamptz NOT NULL,
	PRIMARY KEY (project, at)
);
COMMENT ON TABLE yquota_internal.spending_mark IS
	'Spending of projects before the instants at which their grants begin and expire';
COMMENT ON COLUMN yquota_internal.spending_mark.spent IS 'credits for all time before the instant';
COMMENT ON COLUMN yquota_internal.spending_mark.taken_at IS 'clock when the spending was read from the books';

CREATE VIEW yquota_internal.uncompacted_change AS
	SELECT part.project, min(part.changed_from) AS changed_from
	FROM (
		SELECT delta.project, delta.changed_from
		FROM yquota_internal.counter_delta AS delta
		WHERE delta.changed_from IS NOT NULL
		UNION ALL
		SELECT family.ancestor, delta.changed_from
		FROM yquota_internal.project_family AS family
		JOIN yquota_internal.counter_delta AS delta ON delta.project = family.member
		WHERE delta.changed_from IS NOT NULL
	) AS part
	GROUP BY part.project;
COMMENT ON VIEW yquota_internal.uncompacted_change IS
	'Instants from which uncompacted deltas change the spending of projects and their descendants';

-- Compaction deletes the stored spending that deltas and changes of prices have invalidated.  This view ignores
-- stored spending that uncompacted deltas invalidate.
CREATE VIEW yquota_internal.kept_spending AS
	SELECT mark.project, mark.at, mark.spent
	FROM yquota_internal.spending_mark AS mark
	LEFT JOIN yquota_internal.uncompacted_change AS late ON late.project = mark.project
	WHERE (mark.at > late.changed_from) IS NOT TRUE
	  AND (mark.at > (SELECT min(change.effective_from)
					  FROM yquota.pricing_change AS change
					  WHERE change.version > (SELECT reference.pricing_version
											  FROM yquota_internal.running_reference AS reference))) IS NOT TRUE;
COMMENT ON VIEW yquota_internal.kept_spending IS
	'Rows of spending_mark that are still correct';

CREATE TABLE yquota.expired_grant (
	grant_id bigint NOT NULL REFERENCES yquota.quota_grant ON DELETE CASCADE,
	project text COLLATE "C" NOT NULL,
	lost numeric NOT NULL CHECK (lost >= 0),
	taken numeric NOT NULL CHECK (taken >= 0),
	expired_at timestamptz NOT NULL,
	decided_at timestamptz NOT NULL,
	PRIMARY KEY (grant_id, project)
);
CREATE INDEX expired_grant_project_idx ON yquota.expired_grant (project);
COMMENT ON TABLE yquota.expired_grant IS
	'Remaining credit of grants at their expiry, and credit that returned to them later.  The worker writes a row, and writes it again when the books change.  Balances do not depend on these rows';
COMMENT ON COLUMN yquota.expired_grant.grant_id IS 'primary key with project';
COMMENT ON COLUMN yquota.expired_grant.project IS 'project that had the credit: the grant''s own project, or an ancestor';
COMMENT ON COLUMN yquota.expired_grant.lost IS 'credits, 0 or more. A row with 0 saves balances from computing the loss again. For a negative row that moved to a sub-project, the credits that it had taken from grants that had expired by then';
COMMENT ON COLUMN yquota.expired_grant.taken IS 'credits, 0 or more, that negative rows took from the grant before it expired';
COMMENT ON COLUMN yquota.expired_grant.expired_at IS 'expires_at of the grant, or booked_at if that was later. For a negative row: time at which it moved to the sub-project';
COMMENT ON COLUMN yquota.expired_grant.decided_at IS 'clock when the worker computed the loss from the books';

CREATE VIEW yquota_internal.kept_loss AS
	SELECT expired.grant_id, expired.project, expired.lost, expired.taken, expired.expired_at
	FROM yquota.expired_grant AS expired
	JOIN yquota_internal.kept_spending AS mark ON mark.project = expired.project AND mark.at = expired.expired_at;
COMMENT ON VIEW yquota_internal.kept_loss IS
	'Rows of expired_grant that are still correct';

-- Functions take rows of this view instead of the table, so that columns of the table can
-- still be changed.
CREATE VIEW yquota_internal.ledger_segment AS
	SELECT charge.project, charge.application_id, charge.username, charge.queue, charge.node, charge.execution_type,
		   charge.allocation, charge."from", charge."to", charge.corrects, charge.amount, charge.given_back,
		   charge.waiting_factor, charge.container_id
	FROM yquota.charge
	UNION ALL
	SELECT reserved.project, NULL, reserved.username, reserved.queue, NULL, 'GUARANTEED', reserved.allocation,
		   reserved."from", reserved."to", reserved.corrects, reserved.amount, NULL, reserved.reserved_factor, reserved.reservation_id
	FROM yquota.reservation_charge AS reserved;
COMMENT ON VIEW yquota_internal.ledger_segment IS
	'Rows of the ledgers of all projects, for charge_since().  For a reservation, waiting_factor is the part of the price that it pays, and container_id is its id';

CREATE FUNCTION yquota_internal.charge_since(segment yquota_internal.ledger_segment, since timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE
		WHEN (segment)."from" >= since OR (segment).given_back IS NOT NULL THEN (segment).amount
		ELSE CASE WHEN (segment).corrects IS NULL THEN 1 ELSE -1 END
			* yquota_internal.accrued((segment).allocation,
				yquota_internal.factor_names((segment).project, (segment).application_id,
					(segment).username, (segment).queue, (segment).node, (segment)."from", (segment).execution_type,
					(segment).waiting_factor),
				since, (segment)."to")
	END;
COMMENT ON FUNCTION yquota_internal.charge_since(yquota_internal.ledger_segment, timestamptz) IS
	'Return the credits of a ledger row from an instant on.  The instant is not later than the end of the row';

-- Archived rows are added up per quarter-hour (charging/090_archived_cost.sql).  For an instant within a quarter-hour
-- the rows themselves are needed.  archived_segments_around() returns them.
CREATE FUNCTION yquota_internal.archived_within_quarter_hour(
	project text, application_id text, queue text, reservation_id text, at timestamptz, archived yquota_internal.ledger_segment[]) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(sum(CASE WHEN segment."to" > at THEN yquota_internal.charge_since(segment, at) ELSE 0 END
								- CASE WHEN segment."to" > whole.since OR segment."from" = whole.since
									   THEN yquota_internal.charge_since(segment, whole.since) ELSE 0 END), 0)
			FROM unnest(archived) AS segment
			CROSS JOIN (SELECT yquota_internal.next_quarter_hour(at) AS since) AS whole
			WHERE segment.project = archived_within_quarter_hour.project
			  AND (archived_within_quarter_hour.application_id IS NULL OR segment.application_id = archived_within_quarter_hour.application_id)
			  AND (archived_within_quarter_hour.queue IS NULL OR segment.queue = archived_within_quarter_hour.queue
				   OR segment.container_id = archived_within_quarter_hour.reservation_id));
COMMENT ON FUNCTION yquota_internal.archived_within_quarter_hour(text, text, text, text, timestamptz, yquota_internal.ledger_segment[]) IS
	'Return the credits that archived rows cost from an instant to the end of the quarter-hour.  The caller passes the rows that archived_segments_around() returns for this instant.  They belong to a project, to one of its applications, or to a reservation and its queue.  Padding that was booked at the instant is not counted';

-- The query adds up the rows of a project once, and divides the rows that cross one of the instants.
CREATE FUNCTION yquota_internal.cost_since(projects text[], instants timestamptz[], begun_before timestamptz DEFAULT 'infinity')
	RETURNS TABLE (project text, at timestamptz, cost numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- use a saved plan, because planning takes longer than most calls
	SET plan_cache_mode = force_generic_plan
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
		WITH asked AS MATERIALIZED (
			SELECT a.project, array_agg(DISTINCT a.at ORDER BY a.at) AS cuts
			FROM unnest(projects, instants) AS a (project, at)
			GROUP BY a.project
		), member AS MATERIALIZED (
			SELECT asked.project, asked.cuts, asked.project AS member FROM asked
			UNION ALL
			SELECT asked.project, asked.cuts, family.member
			FROM asked
			JOIN yquota_internal.project_family AS family ON family.ancestor = asked.project
		)
		SELECT part.project, part.at,
			   sum(part.cut) + sum(sum(part.whole)) OVER (PARTITION BY part.project ORDER BY part.at DESC)
		FROM (
			SELECT asked.project, cut.at, 0 AS whole, 0 AS cut
			FROM asked CROSS JOIN LATERAL unnest(asked.cuts) AS cut (at)
			UNION ALL
			SELECT member.project, member.cuts[number.n],
				   CASE WHEN segment."from" >= member.cuts[number.n] THEN segment.amount ELSE 0 END,
				   CASE WHEN segment."from" >= member.cuts[number.n] THEN 0
						ELSE yquota_internal.charge_since(segment, member.cuts[number.n]) END
			FROM yquota_internal.ledger_segment AS segment
			JOIN member ON member.member = segment.project
			CROSS JOIN LATERAL generate_series(
				greatest(width_bucket(segment."from", member.cuts), 1),
				width_bucket(greatest(segment."from", segment."to" - interval '1 microsecond'), member.cuts)) AS number (n)
			WHERE segment."to" >= (SELECT min(i) FROM unnest(instants) AS i) AND segment."from" < begun_before
			UNION ALL
			SELECT member.project, member.cuts[number.n],
				   CASE WHEN container.settled_at >= member.cuts[number.n] THEN running.cost ELSE 0 END,
				   CASE WHEN container.settled_at >= member.cuts[number.n] THEN 0 ELSE running.cost END
			FROM yquota.container
			JOIN member ON member.member = container.project
			CROSS JOIN LATERAL generate_series(
				greatest(width_bucket(container.settled_at, member.cuts), 1), cardinality(member.cuts)) AS number (n)
			CROSS JOIN LATERAL (
				SELECT yquota_internal.accrued(container.allocation, container.factors,
											   greatest(container.settled_at, member.cuts[number.n]),
											   yquota.statement_clock()) AS cost
				OFFSET 0) AS running
			UNION ALL
			SELECT member.project, member.cuts[number.n],
				   CASE WHEN reserved."from" >= member.cuts[number.n] THEN running.cost ELSE 0 END,
				   CASE WHEN reserved."from" >= member.cuts[number.n] THEN 0 ELSE running.cost END
			FROM yquota_internal.accruing_segment AS reserved
			JOIN member ON member.member = reserved.project
			CROSS JOIN LATERAL generate_series(
				greatest(width_bucket(reserved."from", member.cuts), 1),
				width_bucket(greatest(reserved."from", reserved."to" - interval '1 microsecond'), member.cuts)) AS number (n)
			CROSS JOIN LATERAL (
				SELECT yquota_internal.accrued(reserved.allocation, reserved.factors,
											   greatest(reserved."from", member.cuts[number.n]), reserved."to") AS cost
				OFFSET 0) AS running
			UNION ALL
			SELECT member.project, cut.at, 0, yquota_internal.archived_since(member.member, '', cut.at)
			FROM member CROSS JOIN LATERAL unnest(member.cuts) AS cut (at)
			WHERE cut.at < yquota_internal.archive_horizon()
		) AS part
		GROUP BY part.project, part.at;
END
$$;
COMMENT ON FUNCTION yquota_internal.cost_since(text[], timestamptz[], timestamptz) IS
	'Return the cost of projects and their descendants from instants up to the clock.  Amounts settled ahead of the clock are included.  The n-th elements of the arrays belong together.  Rows of the ledger that begin at the last argument or later are left out';

CREATE FUNCTION yquota_internal.spent_by_now(projects text[]) RETURNS TABLE (project text, spent numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT s.project, s.charged + s.accrued FROM yquota_internal.spending AS s
				 WHERE s.project = ANY (projects);
END
$$;
COMMENT ON FUNCTION yquota_internal.spent_by_now(text[]) IS
	'Return the credits that projects and their descendants have spent by the clock; no row for a project without entries in the books';

CREATE FUNCTION yquota_internal.spent_now(project text) RETURNS numeric
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- planning and starting parallel workers for short branches take longer than most calls
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
BEGIN
	RETURN (SELECT s.charged + s.accrued FROM yquota_internal.spending AS s WHERE s.project = spent_now.project);
END
$$;
COMMENT ON FUNCTION yquota_internal.spent_now(text) IS
	'Return the row of spent_by_now() for one project, in credits; NULL if there is none';

CREATE VIEW yquota_internal.grant_term AS
	SELECT quota_grant.grant_id, quota_grant.project, quota_grant.kind, quota_grant.amount, quota_grant.valid_from, quota_grant.takes_from,
		   greatest(quota_grant.valid_from, booking.at) AS begins_at,
		   -- a grant that is booked after its expiry is lost at once
		   greatest(quota_grant.expires_at, booking.at) AS expires_at
	FROM yquota.quota_grant
	LEFT JOIN yquota_internal.budget_grant ON budget_grant.grant_id = quota_grant.grant_id
	-- the grant of a budget begins with its period, even if the worker inserted it late
	CROSS JOIN LATERAL (
		SELECT CASE WHEN budget_grant.grant_id IS NULL THEN quota_grant.booked_at END AS at
	) AS booking;
COMMENT ON VIEW yquota_internal.grant_term IS
	'Start and end of the time in which a grant can be spent, or in which a negative row takes credit back';

-- A project is limited by its own credit from the beginning of its first row of kind grant, budget or transfer.
--
-- Refunds and corrections compensate for wrong payments of the project.  They are the project's credit once it has
-- such a row.  Before that, they are credit of the nearest ancestor with such a row, or else of the root.
CREATE VIEW yquota_internal.credit_step AS
	SELECT family.member, family.ancestor AS holder, family.depth FROM yquota_internal.project_family AS family
	UNION ALL
	SELECT family.member, family.member, 0 FROM yquota_internal.project_family AS family WHERE family.depth = 1;
COMMENT ON VIEW yquota_internal.credit_step IS
	'Pairs of a sub-project with itself, and with each of its ancestors';

-- The view groups by both columns, so that a condition on either column is pushed down.
CREATE VIEW yquota_internal.credit_holder AS
	SELECT step.member, step.holder,
		   CASE WHEN project.parent IS NULL THEN '-infinity'
				ELSE min(own.since) FILTER (WHERE up.depth = step.depth) END AS holds_from,
		   coalesce(min(own.since) FILTER (WHERE up.depth < step.depth), 'infinity') AS holds_until
	FROM yquota_internal.credit_step AS step
	JOIN yquota.project ON project.name = step.holder
	JOIN yquota_internal.credit_step AS up ON up.member = step.member AND up.depth <= step.depth
	CROSS JOIN LATERAL (
		SELECT min(term.begins_at) AS since
		FROM yquota_internal.grant_term AS term
		WHERE term.project = up.holder AND term.kind NOT IN ('refund', 'correction')
	) AS own
	WHERE EXISTS (SELECT FROM yquota.quota_grant AS refund
				  WHERE refund.project = step.member AND refund.kind IN ('refund', 'correction'))
	GROUP BY step.member, step.holder, project.parent;
COMMENT ON VIEW yquota_internal.credit_holder IS
	'Projects that own the credit of refunds and corrections of sub-projects, and the instants from which they own it. holds_from is NULL for projects that never have credit of their own';

CREATE VIEW yquota_internal.own_life AS
	SELECT term.grant_id, term.project, term.amount, term.begins_at, term.expires_at,
		   'infinity'::timestamptz AS leaves_at, term.valid_from, term.begins_at AS first_at,
		   term.project AS of_project, term.kind NOT IN ('refund', 'correction') AS is_own,
		   CASE WHEN term.amount > 0 THEN term.expires_at ELSE 'infinity' END AS loses_at, coalesce(term.takes_from, 0) AS takes_from
	FROM yquota_internal.grant_term AS term
	WHERE term.kind NOT IN ('refund', 'correction')
	   OR NOT EXISTS (SELECT FROM yquota_internal.project_family AS family WHERE family.member = term.project);
COMMENT ON VIEW yquota_internal.own_life IS
	'Start and end of the time in which a grant is credit of the project to which it was given';

CREATE VIEW yquota_internal.refund_life AS
	SELECT term.grant_id, line.holder AS project, term.amount, greatest(term.begins_at, line.holds_from) AS begins_at, term.expires_at,
		   -- an expired grant remains credit of its project
		   CASE WHEN term.amount > 0 AND term.expires_at <= line.holds_until THEN 'infinity' ELSE line.holds_until END AS leaves_at,
		   greatest(term.valid_from, line.holds_from) AS valid_from, term.begins_at AS first_at,
		   term.project AS of_project, false AS is_own,
		   -- the amount of a negative row may return to expired grants
		   CASE WHEN term.amount < 0 THEN line.holds_until
				WHEN term.amount > 0 AND term.expires_at <= line.holds_until THEN term.expires_at
				ELSE 'infinity' END AS loses_at,
		   0::bigint AS takes_from
	FROM yquota_internal.credit_holder AS line
	JOIN yquota_internal.grant_term AS term ON term.project = line.member AND term.kind IN ('refund', 'correction')
	WHERE yquota_internal.may_have_rows('yquota_internal.project_family')
	  AND line.holds_from < line.holds_until
	  AND term.begins_at < line.holds_until
	  AND (line.holds_from <= term.begins_at OR term.amount <= 0 OR line.holds_from < term.expires_at);
COMMENT ON VIEW yquota_internal.refund_life IS
	'Start and end of the time in which refunds and corrections of a sub-project are credit of the sub-project itself or of an ancestor';

CREATE VIEW yquota_internal.grant_life AS
	SELECT own.* FROM yquota_internal.own_life AS own
	UNION ALL
	SELECT refund.* FROM yquota_internal.refund_life AS refund;
COMMENT ON VIEW yquota_internal.grant_life IS
	'Start and end of the time in which a grant is credit of a project, and the time at which its end may lose credit.  The project is the one to which the grant was given, or an ancestor for refunds and corrections';

CREATE FUNCTION yquota_internal.credit_instant(project text, until timestamptz) RETURNS SETOF timestamptz
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
BEGIN
	RETURN QUERY
		SELECT DISTINCT i.at
		FROM yquota_internal.grant_life AS g
		CROSS JOIN LATERAL (VALUES (g.begins_at), (g.leaves_at), (CASE WHEN g.amount > 0 THEN g.expires_at END)) AS i (at)
		WHERE g.project = credit_instant.project AND i.at <= until;
END
$$;
COMMENT ON FUNCTION yquota_internal.credit_instant(text, timestamptz) IS
	'Return the instants, up to a last one, at which a grant of a project begins, expires, or moves to another project';

CREATE FUNCTION yquota_internal.spent_until(project text, until timestamptz, also timestamptz DEFAULT NULL)
	RETURNS TABLE (at timestamptz, spent numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
		WITH instant AS MATERIALIZED (
			SELECT i.at, mark.spent
			FROM (SELECT c.at FROM yquota_internal.credit_instant(project, until) AS c (at)
				  UNION SELECT until UNION SELECT also WHERE also < until) AS i
			LEFT JOIN yquota_internal.kept_spending AS mark
				ON mark.project = spent_until.project AND mark.at = i.at
		), since AS (
			-- read the ledger once, and only for instants without stored spending
			SELECT c.at, c.cost
			FROM (SELECT array_agg(instant.at) AS instants, array_agg(spent_until.project) AS projects
				  FROM instant
				  WHERE instant.spent IS NULL AND isfinite(instant.at) AND instant.at < yquota.statement_clock()
				  HAVING count(*) > 0) AS missing
			CROSS JOIN LATERAL yquota_internal.cost_since(missing.projects, missing.instants) AS c
		)
		SELECT instant.at,
			   CASE WHEN instant.at = '-infinity' THEN 0
					ELSE coalesce(instant.spent, (SELECT yquota_internal.spent_now(project)) - coalesce(since.cost, 0), 0) END
		FROM instant LEFT JOIN since ON since.at = instant.at
		ORDER BY instant.at;
END
$$;
COMMENT ON FUNCTION yquota_internal.spent_until(text, timestamptz, timestamptz) IS
	'Return the cost of a project before each of these instants, in order: those of credit_instant() until "until", "also" if it is earlier, and "until".  Costs that are not stored are computed from the books';

CREATE FUNCTION yquota_internal.spend_grants(
	grant_ids bigint[], amounts numeric[], begins timestamptz[], expires timestamptz[], leaves timestamptz[],
	takes_from bigint[], instants timestamptz[], spent numeric[],
	OUT grant_id bigint, OUT rest numeric, OUT lost numeric, OUT returned numeric, OUT moved numeric, OUT taken numeric) RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_spend_grants';
COMMENT ON FUNCTION yquota_internal.spend_grants(bigint[], numeric[], timestamptz[], timestamptz[], timestamptz[], bigint[], timestamptz[], numeric[]) IS
	'Return the remaining credit of grants at the last of some instants, or at their expiry, given the spending before each instant.  A grant counts only until it leaves, that is, until it is credit of another project.  A negative row takes first from the grant that it names; "moved" is the part of a grant that such rows have taken, and "taken" the part that all negative rows have taken.  When a negative row leaves, the credit that it had taken from expired grants is lost by the row and returned to these grants';

CREATE FUNCTION yquota_internal.grant_outcome(
	project text, until timestamptz, leaves_before timestamptz DEFAULT 'infinity',
	instants timestamptz[] DEFAULT NULL, spent numeric[] DEFAULT NULL)
	RETURNS TABLE (grant_id bigint, rest numeric, lost numeric, returned numeric, moved numeric, taken numeric)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT outcome.grant_id, outcome.rest, outcome.lost, outcome.returned, outcome.moved, outcome.taken
	FROM (SELECT array_agg(life.grant_id) AS ids, array_agg(life.amount) AS amounts,
				 array_agg(life.begins_at) AS begins, array_agg(life.expires_at) AS expires,
				 array_agg(CASE WHEN life.leaves_at < leaves_before THEN life.leaves_at ELSE 'infinity' END) AS leaves,
				 array_agg(life.takes_from) AS takes_from
		  FROM yquota_internal.grant_life AS life
		  WHERE life.project = grant_outcome.project AND life.begins_at <= grant_outcome.until) AS given
	CROSS JOIN LATERAL (
		SELECT array_agg(u.at ORDER BY u.at) AS instants, array_agg(u.spent ORDER BY u.at) AS spent
		FROM yquota_internal.spent_until(grant_outcome.project, grant_outcome.until) AS u
		WHERE given.ids IS NOT NULL AND grant_outcome.instants IS NULL) AS books
	CROSS JOIN LATERAL yquota_internal.spend_grants(
		given.ids, given.amounts, given.begins, given.expires, given.leaves, given.takes_from,
		coalesce(grant_outcome.instants, books.instants), coalesce(grant_outcome.spent, books.spent)) AS outcome;
END
$$;
COMMENT ON FUNCTION yquota_internal.grant_outcome(text, timestamptz, timestamptz, timestamptz[], numeric[]) IS
	'Return the remaining credit of each begun grant of a project, at the instant "until" or when the grant expires.  A row leaves when it becomes credit of another project.  The losses of a negative row are included, even after the row leaves.  Rows that leave at "leaves_before" or later are treated as if they stayed.  A caller that has read spent_until() passes its result, otherwise the function reads it';

CREATE FUNCTION yquota_internal.notice_expired_grant() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NEW.expires_at <= yquota.statement_clock() AND NOT yquota_internal.restoring() THEN
		RAISE NOTICE 'grant of % credits to project "%" has expired already', NEW.amount, NEW.project
			USING DETAIL = format('The grant expired at %s and cannot be spent.', NEW.expires_at);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.notice_expired_grant() IS
	'Raise a NOTICE when a grant is inserted that has already expired';
-- Excludes budgets, because their earlier periods are granted only to complete the books.
CREATE TRIGGER notice_expired AFTER INSERT ON yquota.quota_grant
	FOR EACH ROW WHEN (NEW.amount > 0 AND NEW.expires_at < 'infinity' AND NEW.kind <> 'budget')
	EXECUTE FUNCTION yquota_internal.notice_expired_grant();

CREATE VIEW yquota_internal.noted_loss AS
	SELECT expired.project, sum(expired.lost) AS lost, count(*) AS grants
	FROM yquota_internal.kept_loss AS expired
	WHERE yquota_internal.may_have_rows('yquota.expired_grant')
	  AND expired.expired_at <= yquota.statement_clock()
	GROUP BY expired.project;
COMMENT ON VIEW yquota_internal.noted_loss IS
	'Stored losses of grants that have expired by the clock';

-- The subquery groups before the join, so that the planner knows that each project has one row.
CREATE VIEW yquota_internal.begun_credit AS
	SELECT part.project, sum(part.granted) AS granted, bool_or(part.has_own) AS has_own,
		   sum(part.expired) AS expired, max(part.expired_until) AS expired_until
	FROM (
		SELECT own.project, sum(own.amount) AS granted, bool_or(own.is_own) AS has_own,
			   count(*) FILTER (WHERE own.loses_at <= yquota.statement_clock()) AS expired,
			   max(own.loses_at) FILTER (WHERE own.loses_at <= yquota.statement_clock()) AS expired_until
		FROM yquota_internal.own_life AS own
		WHERE own.valid_from <= yquota.statement_clock()
		GROUP BY own.project
		UNION ALL
		SELECT refund.project, sum(refund.amount) FILTER (WHERE yquota.statement_clock() < refund.leaves_at), false,
			   count(*) FILTER (WHERE refund.loses_at <= yquota.statement_clock()),
			   max(refund.loses_at) FILTER (WHERE refund.loses_at <= yquota.statement_clock())
		FROM yquota_internal.refund_life AS refund
		WHERE refund.valid_from <= yquota.statement_clock()
		GROUP BY refund.project
	) AS part
	GROUP BY part.project;
COMMENT ON VIEW yquota_internal.begun_credit IS
	'Credits of the grants that have begun by the clock, including expired ones, and whether they limit the project.  The view also shows how many grants may have lost credit because they expired or left, and the last such time';

CREATE VIEW yquota_internal.expiry_due AS
	SELECT credit.project, credit.expired_until AS until, credit.expired - coalesce(noted.grants, 0) AS grants
	FROM yquota_internal.begun_credit AS credit
	LEFT JOIN yquota_internal.noted_loss AS noted ON noted.project = credit.project
	WHERE credit.expired > coalesce(noted.grants, 0);
COMMENT ON VIEW yquota_internal.expiry_due IS
	'Projects with expired grants whose losses the worker has to compute, for the first time or again after a change of the books';

CREATE FUNCTION yquota_internal.expired_loss(project text, until timestamptz) RETURNS numeric
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN (SELECT coalesce(sum(found.lost), 0) FROM yquota_internal.grant_outcome(project, until) AS found);
END
$$;
COMMENT ON FUNCTION yquota_internal.expired_loss(text, timestamptz) IS
	'Return the losses of the grants of a project that had expired by an instant.  The function reads the books, for projects in expiry_due';

CREATE VIEW yquota_internal.lost_credit AS
	SELECT expired.project, expired.grant_id, expired.lost, expired.taken
	FROM yquota_internal.kept_loss AS expired
	WHERE expired.expired_at <= yquota.statement_clock()
	  AND NOT EXISTS (SELECT FROM yquota_internal.expiry_due AS due WHERE due.project = expired.project)
	UNION ALL
	-- include grants whose loss the worker has not stored yet
	SELECT due.project, found.grant_id, found.lost, found.taken
	FROM yquota_internal.expiry_due AS due
	CROSS JOIN LATERAL yquota_internal.grant_outcome(due.project, due.until) AS found
	WHERE found.lost IS NOT NULL;
COMMENT ON VIEW yquota_internal.lost_credit IS
	'Losses of grants that have expired by the clock, whether or not the worker has stored them';

-- The function returns all grants of a project in one call.  Computing the outcome handles all grants at once, and must
-- not be repeated for each grant.
CREATE FUNCTION yquota_internal.grants_in_force(of_project text)
	RETURNS TABLE (grant_id bigint, kind text, reason text, valid_from timestamptz, amount numeric, first_at timestamptz, expires_at timestamptz,
				   counts_for text, rest numeric, lost numeric, moved numeric)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN QUERY
	SELECT life.grant_id, given.kind, given.reason, given.valid_from, life.amount, life.first_at, life.expires_at,
		   life.project::text, found.rest, found.lost + found.returned, found.moved
	FROM yquota_internal.grant_life AS life
	JOIN yquota.quota_grant AS given ON given.grant_id = life.grant_id
	LEFT JOIN yquota_internal.grant_outcome(grants_in_force.of_project, yquota.statement_clock()) AS found
		ON found.grant_id = life.grant_id AND life.project = life.of_project
	WHERE life.of_project = grants_in_force.of_project
	  AND life.begins_at <= greatest(yquota.statement_clock(), life.first_at)
	  AND greatest(yquota.statement_clock(), life.first_at) < life.leaves_at;
END
$$;
COMMENT ON FUNCTION yquota_internal.grants_in_force(text) IS
	'Return the grants to a project at the clock, including future ones.  Remaining and lost credit is returned for grants that are credit of the project itself';

CREATE VIEW yquota.grant_status WITH (security_barrier) AS
	SELECT given.grant_id, project.name AS project, given.kind COLLATE "C" AS kind, given.amount,
		   CASE WHEN given.valid_from > yquota.statement_clock() THEN 'pending'
				WHEN given.amount < 0 THEN 'taken back'
				WHEN given.expires_at <= yquota.statement_clock() THEN 'expired'
				WHEN coalesce(given.rest, given.amount) = 0 THEN 'spent'
				ELSE 'valid'
		   END AS state,
		   CASE WHEN given.amount > 0 AND given.counts_for = project.name THEN
			   trim_scale(given.amount - coalesce(given.rest + given.moved, given.lost + given.moved, given.amount)) END AS spent,
		   trim_scale(given.rest) AS remaining,
		   trim_scale(given.lost) AS lost,
		   given.reason, given.first_at AS begins_at, given.expires_at, given.counts_for COLLATE "C" AS counts_for,
		   CASE WHEN given.amount > 0 THEN trim_scale(given.moved) END AS moved
	FROM yquota.project
	CROSS JOIN LATERAL yquota_internal.grants_in_force(project.name) AS given
	WHERE ((SELECT yquota_internal.reads_all())
		   OR project.name = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	  AND EXISTS (SELECT FROM yquota.quota_grant AS any_grant WHERE any_grant.project = project.name);
COMMENT ON VIEW yquota.grant_status IS
	'State of every grant, live at the clock. The view reads the ledger, so query it with a condition on the project';
COMMENT ON COLUMN yquota.grant_status.amount IS 'credits';
COMMENT ON COLUMN yquota.grant_status.state IS 'pending (not begun), valid, spent (nothing is left), expired, or taken back (a negative row)';
COMMENT ON COLUMN yquota.grant_status.counts_for IS 'project that owns the credit: the grant''s own project, or an ancestor for refunds and corrections of a sub-project without credit of its own. In the latter case spent, remaining and lost are NULL';
COMMENT ON COLUMN yquota.grant_status.spent IS 'credits spent from the grant; NULL in a negative row';
COMMENT ON COLUMN yquota.grant_status.remaining IS 'credits that can still be spent; NULL when the grant is not valid';
COMMENT ON COLUMN yquota.grant_status.lost IS 'credits left when the grant expired, and credits that returned to it later; NULL before it expires';
COMMENT ON COLUMN yquota.grant_status.moved IS 'credits of the grant that transfers have moved to other projects; NULL in a negative row, and before the grant begins';
COMMENT ON COLUMN yquota.grant_status.begins_at IS
	'first time at which the grant can be spent: valid_from, or the time of booking if that was later';
COMMENT ON COLUMN yquota.grant_status.expires_at IS 'expires_at of the grant, or booked_at if that was later';

CREATE FUNCTION yquota_internal.mark_spending(projects text[], now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH due AS MATERIALIZED (
			SELECT p.project, i.at
			FROM (SELECT DISTINCT u.project FROM unnest(projects) AS u (project)) AS p
			CROSS JOIN LATERAL yquota_internal.credit_instant(p.project, now_at) AS i (at)
			WHERE isfinite(i.at)
			  AND NOT EXISTS (SELECT FROM yquota_internal.kept_spending AS mark
							  WHERE mark.project = p.project AND mark.at = i.at)
		), since AS (
			SELECT c.project, c.at, c.cost
			FROM (SELECT array_agg(due.project) AS projects, array_agg(due.at) AS instants FROM due) AS asked
			CROSS JOIN LATERAL yquota_internal.cost_since(asked.projects, asked.instants) AS c
		)
		INSERT INTO yquota_internal.spending_mark AS mark (project, at, spent, taken_at)
		SELECT due.project, due.at,
			   trim_scale(coalesce(by_now.spent, 0) - coalesce(since.cost, 0)), now_at
		FROM due
		LEFT JOIN yquota_internal.spent_by_now(projects) AS by_now ON by_now.project = due.project
		LEFT JOIN since ON since.project = due.project AND since.at = due.at
		ON CONFLICT (project, at) DO UPDATE SET spent = excluded.spent, taken_at = excluded.taken_at;
$$;
COMMENT ON FUNCTION yquota_internal.mark_spending(text[], timestamptz) IS
	'Store what the projects had spent at each instant at which one of their grants begins, leaves or expires, unless it is stored already';

CREATE FUNCTION yquota_internal.note_losses(projects text[], now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota.expired_grant AS expired (grant_id, project, lost, taken, expired_at, decided_at)
		SELECT life.grant_id, life.project, trim_scale(found.lost), trim_scale(found.taken), life.loses_at, now_at
		FROM (SELECT ended.project, max(ended.loses_at) AS at
			  FROM yquota_internal.grant_life AS ended
			  WHERE ended.project = ANY (projects) AND ended.loses_at <= now_at
			  GROUP BY ended.project) AS due
		CROSS JOIN LATERAL yquota_internal.grant_outcome(due.project, due.at) AS found
		JOIN yquota_internal.grant_life AS life ON life.grant_id = found.grant_id AND life.project = due.project
		WHERE found.lost IS NOT NULL
		ON CONFLICT (grant_id, project) DO UPDATE
			SET lost = excluded.lost, taken = excluded.taken, expired_at = excluded.expired_at, decided_at = excluded.decided_at
			WHERE (expired.lost, expired.taken, expired.expired_at) <> (excluded.lost, excluded.taken, excluded.expired_at);
$$;
COMMENT ON FUNCTION yquota_internal.note_losses(text[], timestamptz) IS
	'Store the losses of expired grants of projects, unless they are stored already';

CREATE FUNCTION yquota_internal.expire_grants(now_at timestamptz, max_projects integer DEFAULT NULL) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- a plan made for few grants is bad for many
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	due_projects text[];
	due_grants bigint;
BEGIN
	-- rows of other transactions may not be visible yet; the worker retries later
	IF NOT yquota_internal.sees_commits() THEN
		RETURN 0;
	END IF;
	-- run one call at a time, and not during compaction of counters; readers do not wait
	LOCK TABLE yquota_internal.project_counter IN SHARE ROW EXCLUSIVE MODE;
	-- an uncommitted grant may already have begun; the worker retries later
	BEGIN
		LOCK TABLE yquota.quota_grant IN SHARE MODE NOWAIT;
	EXCEPTION WHEN lock_not_available THEN
		RETURN 0;
	END;
	-- planning the statements below takes longer than this look, after which there is usually nothing to do
	IF NOT EXISTS (SELECT FROM yquota.quota_grant AS given
				   WHERE CASE WHEN given.amount > 0 THEN given.expires_at <= now_at ELSE given.kind IN ('refund', 'correction') END) THEN
		RETURN 0;
	END IF;
	-- compact earlier changes first, because they would invalidate the stored results
	IF EXISTS (SELECT FROM yquota_internal.expiry_due AS due WHERE due.until <= now_at)
		AND (NOT EXISTS (SELECT FROM yquota_internal.running_reference)
			 OR EXISTS (SELECT FROM yquota_internal.uncompacted_change AS change
						JOIN yquota_internal.expiry_due AS due ON due.project = change.project
						WHERE change.changed_from < due.until AND due.until <= now_at))
	THEN
		PERFORM yquota_internal.compact_counters();
	END IF;
	-- the ledger has not been corrected for the present prices yet; the worker retries later
	IF EXISTS (SELECT FROM yquota_internal.correction_due) THEN
		RETURN 0;
	END IF;
	SELECT array_agg(due.project), sum(due.grants) INTO due_projects, due_grants
	FROM (SELECT expiry_due.project, expiry_due.grants
		  FROM yquota_internal.expiry_due
		  WHERE expiry_due.until <= now_at
		  ORDER BY expiry_due.project
		  LIMIT max_projects) AS due;
	IF due_projects IS NULL THEN
		RETURN 0;
	END IF;
	PERFORM yquota_internal.mark_spending(due_projects, now_at);
	PERFORM yquota_internal.note_losses(due_projects, now_at);
	RETURN due_grants;
END
$$;
COMMENT ON FUNCTION yquota_internal.expire_grants(timestamptz, integer) IS
	'Store the losses of expired grants, again if the books have changed since.  Handles at most the given number of projects.  Returns the number of grants';

SELECT pg_extension_config_dump('yquota_internal.spending_mark', '');
SELECT pg_extension_config_dump('yquota.expired_grant', '');
