--
-- What becomes of grants: the soonest expiring one is spent first, and what is
-- left of it when it expires is lost.
--
-- The credit of a project is a row of grants in the order in which they expire.
-- What it spends between two instants at which a grant begins or expires is
-- taken from those that are valid then, in that order; what they do not cover is
-- owed, and paid by the next grant that begins.  A negative row is credit taken
-- back when it begins, as if it had been spent.  Nothing begins before it was
-- booked: a grant that comes late does not change what others had lost by then.
-- The period of a budget begins when it begins, though.
--
-- So what a grant loses follows from how much had been spent by certain
-- instants.  That is read from the books: the time when something ran counts,
-- not when it was told of.  What was found is kept, so that a balance need not
-- read the ledger, and looked at again every day for 35 days, because late
-- events change it.
--

CREATE TABLE yquota_internal.spending_mark (
	project text COLLATE "C" NOT NULL REFERENCES yquota.project ON DELETE CASCADE,
	at timestamptz NOT NULL,
	spent numeric NOT NULL,
	taken_at timestamptz NOT NULL,
	PRIMARY KEY (project, at)
);
COMMENT ON TABLE yquota_internal.spending_mark IS
	'What projects had spent by instants at which their grants begin and expire';
COMMENT ON COLUMN yquota_internal.spending_mark.spent IS 'credits for all that ran before';
COMMENT ON COLUMN yquota_internal.spending_mark.taken_at IS 'clock when that was read from the books';

CREATE TABLE yquota.expired_grant (
	grant_id bigint PRIMARY KEY REFERENCES yquota.quota_grant ON DELETE CASCADE,
	project text COLLATE "C" NOT NULL,
	lost numeric NOT NULL CHECK (lost >= 0),
	expired_at timestamptz NOT NULL,
	decided_at timestamptz NOT NULL
);
CREATE INDEX expired_grant_project_idx ON yquota.expired_grant (project);
COMMENT ON TABLE yquota.expired_grant IS
	'What was left of grants when they expired.  Written by the worker; a balance does not wait for that';
COMMENT ON COLUMN yquota.expired_grant.lost IS 'credits of the grant that were never spent';
COMMENT ON COLUMN yquota.expired_grant.expired_at IS 'expires_at of the grant, or when it was booked if that was later';
COMMENT ON COLUMN yquota.expired_grant.decided_at IS 'clock when the books were last read for it';

-- Functions take its rows rather than those of the table, whose columns could
-- not be changed then.
CREATE VIEW yquota_internal.ledger_segment AS
	SELECT charge.project, charge.application_id, charge.username, charge.queue, charge.execution_type,
		   charge.allocation, charge."from", charge."to", charge.corrects, charge.amount
	FROM yquota.charge;
COMMENT ON VIEW yquota_internal.ledger_segment IS
	'Rows of the ledger, of all projects: what charge_since() computes a part of';

CREATE FUNCTION yquota_internal.charge_since(segment yquota_internal.ledger_segment, since timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE
		WHEN (segment)."from" >= since THEN (segment).amount
		ELSE CASE WHEN (segment).corrects IS NULL THEN 1 ELSE -1 END
			* yquota_internal.accrued((segment).allocation,
				yquota_internal.factor_names((segment).project, (segment).application_id,
					(segment).username, (segment).queue, (segment).execution_type),
				since, (segment)."to")
	END;
COMMENT ON FUNCTION yquota_internal.charge_since(yquota_internal.ledger_segment, timestamptz) IS
	'Credits of the part of a ledger row from an instant on, which is not after its end';

CREATE FUNCTION yquota_internal.cost_since(projects text[], instants timestamptz[])
	RETURNS TABLE (project text, at timestamptz, cost numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH asked AS MATERIALIZED (
			SELECT a.project, a.at, a.project AS member FROM unnest(projects, instants) AS a (project, at)
			UNION ALL
			SELECT a.project, a.at, family.member
			FROM unnest(projects, instants) AS a (project, at)
			JOIN yquota_internal.project_family AS family ON family.ancestor = a.project
		)
		SELECT part.project, part.at, sum(part.cost)
		FROM (
			SELECT asked.project, asked.at, yquota_internal.charge_since(segment, asked.at) AS cost
			FROM yquota_internal.ledger_segment AS segment
			JOIN asked ON asked.member = segment.project AND segment."to" >= asked.at
				AND (segment."to" > asked.at OR segment."from" = segment."to")
			WHERE segment."to" >= (SELECT min(i) FROM unnest(instants) AS i)
			UNION ALL
			SELECT asked.project, asked.at,
				   yquota_internal.accrued(container.allocation, container.factors,
										   greatest(container.settled_at, asked.at), yquota.statement_clock())
			FROM yquota.container
			JOIN asked ON asked.member = container.project
				AND greatest(container.settled_at, asked.at) < yquota.statement_clock()
			UNION ALL
			SELECT asked.project, asked.at, yquota_internal.archived_since(asked.member, '', asked.at)
			FROM asked
			WHERE asked.at < yquota_internal.archive_horizon()
		) AS part
		GROUP BY part.project, part.at;
	END;
COMMENT ON FUNCTION yquota_internal.cost_since(text[], timestamptz[]) IS
	'Credits for what projects and their descendants ran from instants on, up to the clock; the arrays are pairs, and a pair for which nothing ran has no row';

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
	'Credits that projects and their descendants have spent by the clock; no row for one when none is in any book';

CREATE VIEW yquota_internal.grant_life AS
	SELECT quota_grant.grant_id, quota_grant.project, quota_grant.amount,
		   greatest(quota_grant.valid_from, booking.at) AS begins_at,
		   -- one that comes too late is lost when it comes
		   greatest(quota_grant.expires_at, booking.at) AS expires_at
	FROM yquota.quota_grant
	LEFT JOIN yquota_internal.budget_grant ON budget_grant.grant_id = quota_grant.grant_id
	-- a budget is not late when nobody was there to grant it
	CROSS JOIN LATERAL (
		SELECT CASE WHEN budget_grant.grant_id IS NULL THEN quota_grant.booked_at END AS at
	) AS booking;
COMMENT ON VIEW yquota_internal.grant_life IS
	'From when to when grants can be spent, or credit is taken back';

CREATE FUNCTION yquota_internal.credit_instant(project text, until timestamptz) RETURNS SETOF timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT DISTINCT i.at
		FROM yquota_internal.grant_life AS g
		CROSS JOIN LATERAL (VALUES (g.begins_at), (CASE WHEN g.amount > 0 THEN g.expires_at END)) AS i (at)
		WHERE g.project = credit_instant.project AND i.at <= until;
	END;
COMMENT ON FUNCTION yquota_internal.credit_instant(text, timestamptz) IS
	'Instants up to a last one at which a grant of a project begins or expires';

CREATE FUNCTION yquota_internal.spent_until(project text, until timestamptz)
	RETURNS TABLE (at timestamptz, spent numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH instant AS MATERIALIZED (
			SELECT i.at, mark.spent
			FROM (SELECT c.at FROM yquota_internal.credit_instant(project, until) AS c (at) UNION SELECT until) AS i
			LEFT JOIN yquota_internal.spending_mark AS mark
				ON mark.project = spent_until.project AND mark.at = i.at
		), since AS (
			-- the ledger is read once, and only if something is not kept
			SELECT c.at, c.cost
			FROM (SELECT array_agg(instant.at) AS instants, array_agg(spent_until.project) AS projects
				  FROM instant
				  WHERE instant.spent IS NULL AND isfinite(instant.at) AND instant.at < yquota.statement_clock()
				  HAVING count(*) > 0) AS missing
			CROSS JOIN LATERAL yquota_internal.cost_since(missing.projects, missing.instants) AS c
		)
		SELECT instant.at,
			   CASE WHEN instant.at = '-infinity' THEN 0
					ELSE coalesce(instant.spent, (SELECT by_now.spent FROM yquota_internal.spent_by_now(ARRAY[project]) AS by_now) - coalesce(since.cost, 0), 0) END
		FROM instant LEFT JOIN since ON since.at = instant.at
		ORDER BY instant.at;
	END;
COMMENT ON FUNCTION yquota_internal.spent_until(text, timestamptz) IS
	'Credits for what a project ran before each of its credit_instant() and a last one, in order, as kept or else from the books';

CREATE FUNCTION yquota_internal.take_credit(INOUT rests numeric[], INOUT owed numeric)
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	taken numeric;
BEGIN
	FOR i IN 1 .. cardinality(rests) LOOP
		taken := greatest(least(owed, rests[i]), 0);
		rests[i] := rests[i] - taken;
		owed := owed - taken;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.take_credit(numeric[], numeric) IS
	'Pay what is owed from the rests of grants, the first one first';

-- Arrays, because rows of a table would have to be written for a balance that is
-- only read.
CREATE FUNCTION yquota_internal.credit_state(
	project text, until timestamptz,
	OUT valid_grants bigint[], OUT rests numeric[], OUT owed numeric,
	OUT expired_grants bigint[], OUT losses numeric[])
	-- of a view whose readers may not read what it is computed from
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	instant timestamptz;
	spent numeric;
	spent_before numeric := 0;
BEGIN
	valid_grants := '{}';
	rests := '{}';
	expired_grants := '{}';
	losses := '{}';
	owed := 0;
	FOR instant, spent IN SELECT u.at, u.spent FROM yquota_internal.spent_until(project, until) AS u LOOP
		SELECT t.rests, t.owed INTO rests, owed
		FROM yquota_internal.take_credit(rests, owed + spent - spent_before) AS t;
		spent_before := spent;

		SELECT coalesce(array_agg(g.grant_id ORDER BY g.expires_at, g.grant_id) FILTER (WHERE g.expires_at > instant), '{}'),
			   coalesce(array_agg(g.rest ORDER BY g.expires_at, g.grant_id) FILTER (WHERE g.expires_at > instant), '{}'),
			   expired_grants || coalesce(array_agg(g.grant_id) FILTER (WHERE g.expires_at <= instant), '{}'),
			   losses || coalesce(array_agg(g.rest) FILTER (WHERE g.expires_at <= instant), '{}')
		INTO valid_grants, rests, expired_grants, losses
		FROM (
			SELECT v.grant_id, v.rest, life.expires_at
			FROM unnest(valid_grants, rests) AS v (grant_id, rest)
			JOIN yquota_internal.grant_life AS life ON life.grant_id = v.grant_id
			UNION ALL
			SELECT life.grant_id, life.amount, life.expires_at
			FROM yquota_internal.grant_life AS life
			WHERE life.project = credit_state.project AND life.begins_at = instant AND life.amount > 0
		) AS g;
		owed := owed - coalesce((SELECT sum(life.amount) FROM yquota_internal.grant_life AS life
								 WHERE life.project = credit_state.project AND life.begins_at = instant AND life.amount < 0), 0);
	END LOOP;
	-- what has begun last pays what is still owed
	SELECT t.rests, t.owed INTO rests, owed FROM yquota_internal.take_credit(rests, owed) AS t;
END
$$;
COMMENT ON FUNCTION yquota_internal.credit_state(text, timestamptz) IS
	'What is left of the grants of a project at an instant, in the order in which they are spent; what it owes beyond them; and what grants that expired by then have lost';

CREATE VIEW yquota_internal.noted_loss AS
	SELECT expired.project, sum(expired.lost) AS lost
	FROM yquota.expired_grant AS expired
	WHERE expired.expired_at <= yquota.statement_clock()
	GROUP BY expired.project;
COMMENT ON VIEW yquota_internal.noted_loss IS
	'What grants that have expired by the clock lost, as far as it has been noted';

CREATE VIEW yquota_internal.expiry_due AS
	SELECT life.project, max(life.expires_at) AS until
	FROM yquota_internal.grant_life AS life
	WHERE life.amount > 0
	  AND life.expires_at <= yquota.statement_clock()
	  AND NOT EXISTS (SELECT FROM yquota.expired_grant AS expired WHERE expired.grant_id = life.grant_id)
	GROUP BY life.project;
COMMENT ON VIEW yquota_internal.expiry_due IS
	'Projects with grants that have expired, and that the worker has not come to yet';

CREATE FUNCTION yquota_internal.unnoted_loss(project text, until timestamptz) RETURNS numeric
	-- of a view whose readers may not read what it is computed from
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN (SELECT coalesce(sum(found.lost), 0)
			FROM yquota_internal.credit_state(project, until) AS state
			CROSS JOIN LATERAL unnest(state.expired_grants, state.losses) AS found (grant_id, lost)
			WHERE NOT EXISTS (SELECT FROM yquota.expired_grant AS expired WHERE expired.grant_id = found.grant_id));
END
$$;
COMMENT ON FUNCTION yquota_internal.unnoted_loss(text, timestamptz) IS
	'What grants of a project that had expired by an instant lost, but for those of which it has been noted.  Reads the books: for rows of expiry_due';

CREATE VIEW yquota_internal.lost_credit AS
	SELECT expired.project, expired.grant_id, expired.lost
	FROM yquota.expired_grant AS expired
	WHERE expired.expired_at <= yquota.statement_clock()
	UNION ALL
	-- the worker has not come to it yet
	SELECT due.project, found.grant_id, found.lost
	FROM yquota_internal.expiry_due AS due
	CROSS JOIN LATERAL yquota_internal.credit_state(due.project, due.until) AS state
	CROSS JOIN LATERAL unnest(state.expired_grants, state.losses) AS found (grant_id, lost)
	WHERE NOT EXISTS (SELECT FROM yquota.expired_grant AS expired WHERE expired.grant_id = found.grant_id);
COMMENT ON VIEW yquota_internal.lost_credit IS
	'What grants that have expired by the clock lost, whether the worker has found that out or not';

CREATE VIEW yquota.grant_status WITH (security_barrier) AS
	SELECT life.grant_id, life.project, given.kind, life.amount,
		   CASE WHEN given.valid_from > yquota.statement_clock() THEN 'pending'
				WHEN life.amount < 0 THEN 'taken back'
				WHEN life.expires_at <= yquota.statement_clock() THEN 'expired'
				WHEN coalesce(found.rest, life.amount) = 0 THEN 'spent'
				ELSE 'valid'
		   END AS state,
		   CASE WHEN life.amount > 0 THEN
			   trim_scale(life.amount - coalesce(found.rest, found.lost, life.amount)) END AS spent,
		   trim_scale(found.rest) AS remaining,
		   trim_scale(found.lost) AS lost,
		   given.reason, life.begins_at, life.expires_at
	FROM yquota.project
	CROSS JOIN LATERAL yquota_internal.credit_state(project.name, yquota.statement_clock()) AS state
	JOIN yquota_internal.grant_life AS life ON life.project = project.name
	JOIN yquota.quota_grant AS given ON given.grant_id = life.grant_id
	LEFT JOIN LATERAL (
		SELECT v.rest, NULL::numeric AS lost FROM unnest(state.valid_grants, state.rests) AS v (grant_id, rest)
		WHERE v.grant_id = life.grant_id
		UNION ALL
		SELECT NULL, e.lost FROM unnest(state.expired_grants, state.losses) AS e (grant_id, lost)
		WHERE e.grant_id = life.grant_id
	) AS found ON true
	WHERE (SELECT yquota_internal.reads_all())
	   OR project.name = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.grant_status IS
	'What has become of every grant, live at the clock; reads the ledger, so ask with a project';
COMMENT ON COLUMN yquota.grant_status.amount IS 'credits';
COMMENT ON COLUMN yquota.grant_status.state IS
	'pending (not begun), valid, spent (nothing of it is left), expired, or taken back (a negative row)';
COMMENT ON COLUMN yquota.grant_status.spent IS 'credits spent of it; NULL in a negative row';
COMMENT ON COLUMN yquota.grant_status.remaining IS 'credits left of it; NULL when it is not valid';
COMMENT ON COLUMN yquota.grant_status.lost IS 'credits left of it when it expired; NULL before';
COMMENT ON COLUMN yquota.grant_status.begins_at IS
	'when it could first be spent: valid_from, or when it was booked if that was later';

CREATE FUNCTION yquota_internal.mark_spending(projects text[], review_from timestamptz, now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH due AS MATERIALIZED (
			SELECT p.project, i.at
			FROM unnest(projects) AS p (project)
			CROSS JOIN LATERAL yquota_internal.credit_instant(p.project, now_at) AS i (at)
			LEFT JOIN yquota_internal.spending_mark AS mark ON mark.project = p.project AND mark.at = i.at
			WHERE isfinite(i.at) AND (mark.at IS NULL OR mark.at > review_from)
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
	END;
COMMENT ON FUNCTION yquota_internal.mark_spending(text[], timestamptz, timestamptz) IS
	'Keep what projects had spent when their grants began and expired; anew for instants after review_from';
REVOKE ALL ON FUNCTION yquota_internal.mark_spending(text[], timestamptz, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota_internal.expire_grants(now_at timestamptz, max_projects integer DEFAULT NULL) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	review_from CONSTANT timestamptz := now_at - interval '35 days';
	due_projects text[];
	decided bigint;
BEGIN
	-- what others have noted could not be seen: the worker does it next time
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RETURN 0;
	END IF;
	-- one at a time; readers go on
	LOCK TABLE yquota.expired_grant IN SHARE ROW EXCLUSIVE MODE;
	-- what balances have to compute meanwhile comes before what is looked at again
	SELECT array_agg(due.project) INTO due_projects
	FROM (SELECT life.project
		  FROM yquota_internal.grant_life AS life
		  LEFT JOIN yquota.expired_grant AS expired ON expired.grant_id = life.grant_id
		  WHERE life.amount > 0 AND life.expires_at <= now_at
			AND (expired.grant_id IS NULL
				 OR life.expires_at > review_from AND expired.decided_at <= now_at - interval '1 day')
		  GROUP BY life.project
		  ORDER BY bool_or(expired.grant_id IS NULL) DESC, life.project
		  LIMIT max_projects) AS due;
	IF due_projects IS NULL THEN
		RETURN 0;
	END IF;
	PERFORM yquota_internal.mark_spending(due_projects, review_from, now_at);
	INSERT INTO yquota.expired_grant AS expired (grant_id, project, lost, expired_at, decided_at)
	SELECT life.grant_id, life.project, trim_scale(found.lost), life.expires_at, now_at
	FROM unnest(due_projects) AS due (project)
	CROSS JOIN LATERAL (
		SELECT max(ended.expires_at) AS at FROM yquota_internal.grant_life AS ended
		WHERE ended.project = due.project AND ended.amount > 0 AND ended.expires_at <= now_at
	) AS last_end
	CROSS JOIN LATERAL yquota_internal.credit_state(due.project, last_end.at) AS state
	CROSS JOIN LATERAL unnest(state.expired_grants, state.losses) AS found (grant_id, lost)
	JOIN yquota_internal.grant_life AS life ON life.grant_id = found.grant_id
	ON CONFLICT (grant_id) DO UPDATE SET lost = excluded.lost, decided_at = excluded.decided_at
		WHERE expired.expired_at > review_from;
	GET DIAGNOSTICS decided = ROW_COUNT;
	RETURN decided;
END
$$;
COMMENT ON FUNCTION yquota_internal.expire_grants(timestamptz, integer) IS
	'Note what grants that expired have lost; once a day look again at those that expired in the last 35 days.  Returns of how many projects, at most so many at a time';
REVOKE ALL ON FUNCTION yquota_internal.expire_grants(timestamptz, integer) FROM PUBLIC;

SELECT pg_extension_config_dump('yquota_internal.spending_mark', '');
SELECT pg_extension_config_dump('yquota.expired_grant', '');
