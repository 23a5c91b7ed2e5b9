-- Holds: credit that is set aside for an application before it starts.  Two submissions therefore cannot both spend
-- the last credit (docs/design.md 1.7: decisions refuse).  A hold charges nothing.  The later cost of the
-- application uses up the hold, and the rest of the hold is not available to others.
--
-- Only the hold itself is stored.  Its outstanding amount follows from the ledger, archived or not, from the running
-- containers and from the clock.

CREATE TABLE yquota.hold (
	hold_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	application_id text COLLATE "C" CHECK (application_id <> ''),
	amount numeric NOT NULL
		CHECK (amount > 0 AND amount <= 1e30 AND scale(amount) <= 66),
	reason text,
	held_by name NOT NULL,
	held_at timestamptz NOT NULL,
	expires_at timestamptz NOT NULL,
	released_by name,
	released_at timestamptz,
	reservation_id text COLLATE "C",
	queue text COLLATE "C",
	external_id text COLLATE "C" CHECK (external_id <> '' AND octet_length(external_id) <= 255),
	replaced_amounts numeric[],
	replaced_at timestamptz[],
	of_submission boolean NOT NULL DEFAULT false,
	CONSTRAINT hold_expires_at_check CHECK (held_at < expires_at),
	CONSTRAINT hold_released_by_check CHECK ((released_by IS NULL) = (released_at IS NULL)),
	CONSTRAINT hold_reservation_id_check CHECK ((application_id IS NULL) = (reservation_id IS NOT NULL)),
	CONSTRAINT hold_queue_check CHECK ((reservation_id IS NULL) = (queue IS NULL))
);
CREATE INDEX hold_project_idx ON yquota.hold (project) WHERE released_at IS NULL;
CREATE INDEX hold_reservation_idx ON yquota.hold (reservation_id) WHERE released_at IS NULL;
CREATE UNIQUE INDEX hold_external_id_idx ON yquota.hold (project, external_id) WHERE external_id IS NOT NULL;
COMMENT ON TABLE yquota.hold IS
	'Credit that is set aside. hold() sets it aside for an application, until release_hold() or expires_at. A submission or a reservation sets it aside until the application or the reservation ends';
COMMENT ON COLUMN yquota.hold.hold_id IS 'primary key';
COMMENT ON COLUMN yquota.hold.project IS 'references project';
COMMENT ON COLUMN yquota.hold.application_id IS 'not empty; NULL for the hold of a reservation';
COMMENT ON COLUMN yquota.hold.reservation_id IS 'accepted reservation for which the credit is set aside; NULL for the hold of an application';
COMMENT ON COLUMN yquota.hold.queue IS 'full path of the reservation''s queue; containers in this queue use up the hold, as the reservation itself does';
COMMENT ON COLUMN yquota.hold.amount IS 'credits, above 0, at most 10^30, at most 66 decimals; as last changed';
COMMENT ON COLUMN yquota.hold.external_id IS 'id that the caller gave the hold, unique in the project, at most 255 bytes; NULL if none was given';
COMMENT ON COLUMN yquota.hold.replaced_amounts IS 'amounts before each change by hold(replace => true), the oldest first; NULL if the amount was never changed';
COMMENT ON COLUMN yquota.hold.replaced_at IS 'clock of each change by hold(replace => true)';
COMMENT ON COLUMN yquota.hold.of_submission IS 'true if a submission made the hold; the hold then ends with the application';
COMMENT ON COLUMN yquota.hold.held_by IS 'role that called hold(), submitted the application or had the reservation accepted';
COMMENT ON COLUMN yquota.hold.held_at IS 'clock when the credit was set aside; the cost of the application from then on uses up the hold';
COMMENT ON COLUMN yquota.hold.expires_at IS 'end of the hold; infinity for the hold of a reservation. The hold of a submission ends with the lifetime of the application, counted from its activation. Before the activation, or without a lifetime, the value is infinity';
COMMENT ON COLUMN yquota.hold.released_by IS 'role that called release_hold(), or ended the application or reservation; NULL for a hold that is not released';
COMMENT ON COLUMN yquota.hold.released_at IS 'clock of release_hold(), or of the end of the application or reservation';

CREATE VIEW yquota_internal.live_hold AS
	SELECT hold.* FROM yquota.hold
	WHERE hold.released_at IS NULL AND yquota.statement_clock() < hold.expires_at;
COMMENT ON VIEW yquota_internal.live_hold IS 'Holds that are neither released nor expired';

CREATE FUNCTION yquota_internal.archived_reservation_since(project text, reservation_id text, queue text, since timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN since < yquota_internal.archive_horizon() THEN coalesce(
		(SELECT kept.amount FROM yquota_internal.archived_cost_since AS kept
		 WHERE kept.project = archived_reservation_since.project AND kept.application_id = archived_reservation_since.reservation_id
		   AND kept.since = archived_reservation_since.since),
		(SELECT sum(cost.amount) FROM yquota_internal.archived_cost AS cost
		 WHERE cost.project = archived_reservation_since.project
		   AND (cost.queue = archived_reservation_since.queue OR cost.reservation_id = archived_reservation_since.reservation_id)
		   AND cost.quarter_hour >= yquota_internal.quarter_hour(archived_reservation_since.since)), 0)
		ELSE 0 END;
COMMENT ON FUNCTION yquota_internal.archived_reservation_since(text, text, text, timestamptz) IS
	'Return the credits of archived rows of a reservation of a project, and of containers in its queue, from an instant on.  The result is exact for stored instants and for the starts of quarter-hours';

-- The function computes all holds for reservations together.
CREATE FUNCTION yquota_internal.reservation_spending(
	projects text[], hold_ids bigint[], reservation_ids text[], queues text[], instants timestamptz[], at timestamptz, is_past boolean,
	archived yquota_internal.ledger_segment[])
	RETURNS TABLE (hold_id bigint, amount numeric)
	-- PL/pgSQL keeps the plans; making them takes longer than running them
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 10
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	payers CONSTANT text[] := ARRAY(SELECT DISTINCT p FROM unnest(projects) AS p);
BEGIN
	RETURN QUERY
	WITH held AS MATERIALIZED (
		SELECT h.* FROM unnest(projects, hold_ids, reservation_ids, queues, instants) AS h (project, hold_id, reservation_id, queue, since)
	)
	SELECT held.hold_id, yquota_internal.charge_since(segment, held.since)
		   - CASE WHEN is_past AND segment."to" > at THEN yquota_internal.charge_since(segment, at) ELSE 0 END
	FROM yquota_internal.ledger_segment AS segment
	JOIN held ON held.project = segment.project AND held.queue = segment.queue AND segment."to" >= held.since
		AND (segment."to" > held.since OR segment."from" = segment."to")
	WHERE segment.project = ANY (payers)
	  AND segment."to" >= (SELECT min(i) FROM unnest(instants) AS i)
	UNION ALL
	SELECT held.hold_id,
		   CASE WHEN charge."from" >= held.since AND (NOT is_past OR charge."to" <= at) THEN charge.amount
				ELSE CASE WHEN charge.corrects IS NULL THEN 1 ELSE -1 END
					* yquota_internal.reservation_amount(charge.project, charge.username, charge.queue, charge.allocation, charge.reserved_factor,
						greatest(charge."from", held.since), CASE WHEN is_past THEN least(charge."to", at) ELSE charge."to" END) END
	FROM yquota.reservation_charge AS charge
	JOIN held ON held.project = charge.project AND held.reservation_id = charge.reservation_id
		AND charge."to" > held.since AND (NOT is_past OR charge."from" < at)
	WHERE charge.project = ANY (payers)
	UNION ALL
	SELECT held.hold_id, yquota_internal.accrued(container.allocation, container.factors, greatest(container.settled_at, held.since), at)
	FROM yquota.container
	JOIN held ON held.project = container.project AND held.queue = container.queue AND greatest(container.settled_at, held.since) < at
	WHERE container.project = ANY (payers)
	UNION ALL
	SELECT held.hold_id, yquota_internal.accrued(accruing.allocation, accruing.factors,
												 greatest(accruing."from", held.since), least(accruing."to", at))
	FROM yquota_internal.accruing_segment AS accruing
	JOIN held ON held.project = accruing.project AND held.reservation_id = accruing.reservation_id
		AND greatest(accruing."from", held.since) < least(accruing."to", at)
	WHERE accruing.project = ANY (payers)
	UNION ALL
	SELECT held.hold_id, yquota_internal.archived_reservation_since(held.project, held.reservation_id, held.queue, held.since)
		   - CASE WHEN is_past AND archived IS NOT NULL THEN
			   yquota_internal.archived_reservation_since(held.project, held.reservation_id, held.queue, yquota_internal.next_quarter_hour(at))
			   + yquota_internal.archived_within_quarter_hour(held.project, NULL, held.queue, held.reservation_id, at, archived) ELSE 0 END
	FROM held
	WHERE held.since < (SELECT yquota_internal.archive_horizon());
END
$$;
COMMENT ON FUNCTION yquota_internal.reservation_spending(text[], bigint[], text[], text[], timestamptz[], timestamptz, boolean, yquota_internal.ledger_segment[]) IS
	'Return what reservations have cost projects, from an instant of each reservation to a common instant.  The projects'' containers in the queues of the reservations are included.  The n-th elements of the arrays belong together';

CREATE FUNCTION yquota_internal.running_spending(
	projects text[], hold_ids bigint[], application_ids text[], instants timestamptz[], at timestamptz)
	RETURNS TABLE (hold_id bigint, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1000
	SET search_path = pg_catalog, pg_temp
	-- makes the query read the containers once, even if the planner misjudges their number
	SET enable_nestloop = off
	AS $$
#variable_conflict use_column
DECLARE
	-- the index of applications finds ranges of 64 pages, so each hold would read half a megabyte
	reads_all CONSTANT boolean := pg_relation_size('yquota.container') < 524288::bigint * cardinality(hold_ids);
BEGIN
	RETURN QUERY
	SELECT held.hold_id, yquota_internal.sum_accrued(running.allocation, running.factors, greatest(running.settled_at, held.since), at)
	FROM (
		SELECT c.project, c.application_id, c.allocation, c.factors, c.settled_at
		FROM yquota.container AS c WHERE reads_all
		UNION ALL
		SELECT c.project, c.application_id, c.allocation, c.factors, c.settled_at
		FROM yquota.container AS c WHERE NOT reads_all AND c.application_id = ANY (application_ids)
	) AS running
	JOIN unnest(projects, hold_ids, application_ids, instants) AS held (project, hold_id, application_id, since)
		ON held.application_id = running.application_id AND held.project = running.project
		AND greatest(running.settled_at, held.since) < at
	GROUP BY held.hold_id;
END
$$;
COMMENT ON FUNCTION yquota_internal.running_spending(text[], bigint[], text[], timestamptz[], timestamptz) IS
	'Return the cost that running containers of applications have accrued for projects, from an instant of each application to a common instant.  The n-th elements of the arrays belong together';

CREATE FUNCTION yquota_internal.amount_held(amount numeric, replaced_amounts numeric[], replaced_at timestamptz[], at timestamptz) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN coalesce(
		(SELECT earlier.amount
		 FROM unnest(replaced_amounts, replaced_at) WITH ORDINALITY AS earlier (amount, until, number)
		 WHERE earlier.until > at
		 ORDER BY earlier.number LIMIT 1), amount);
COMMENT ON FUNCTION yquota_internal.amount_held(numeric, numeric[], timestamptz[], timestamptz) IS
	'Return the amount of a hold at an instant, computed from columns of its row';

-- The function computes all holds of projects at once, so that it reads ledger and containers only once.  It reads the
-- ledger from the time of the oldest hold on.
--
-- The oldest hold of an application is used up first (semantics/charging 8.8).  Let h(j, k) be the sum of its holds j
-- to k.  For each j up to k, subtract the spending since hold j from h(j, k).  The greatest of these results is the
-- outstanding amount of holds 1 to k.  It is never below 0.
CREATE FUNCTION yquota_internal.holds_by(projects text[], at timestamptz, archived yquota_internal.ledger_segment[])
	RETURNS TABLE (project text, hold_id bigint, application_id text, spent numeric, outstanding numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 10
	BEGIN ATOMIC
		WITH held AS MATERIALIZED (
			SELECT hold.project, hold.hold_id, coalesce(hold.application_id, hold.reservation_id) AS holder, hold.application_id,
				   hold.reservation_id, hold.queue, hold.held_at, at < yquota.statement_clock() AS is_past,
				   CASE WHEN hold.replaced_at IS NULL THEN hold.amount
						ELSE yquota_internal.amount_held(hold.amount, hold.replaced_amounts, hold.replaced_at, at) END AS amount
			FROM yquota.hold
			WHERE hold.project = ANY (projects) AND at < hold.expires_at
			  AND CASE WHEN at < yquota.statement_clock()
					   THEN hold.held_at <= at AND (hold.released_at IS NULL OR at < hold.released_at)
					   ELSE hold.released_at IS NULL END
		), cost AS (
			SELECT part.hold_id, trim_scale(sum(part.amount)) AS spent
			FROM (
				SELECT held.hold_id,
					   yquota_internal.charge_since(segment, held.held_at)
					   - CASE WHEN held.is_past AND segment."to" > at
							  THEN yquota_internal.charge_since(segment, at) ELSE 0 END AS amount
				FROM yquota_internal.ledger_segment AS segment
				JOIN held ON held.application_id = segment.application_id AND held.project = segment.project AND segment."to" >= held.held_at
					AND (segment."to" > held.held_at OR segment."from" = segment."to")
				WHERE segment.project = ANY (projects)
				  AND segment."to" >= (SELECT min(held.held_at) FROM held WHERE held.application_id IS NOT NULL)
				UNION ALL
				SELECT running.hold_id, running.amount
				FROM (SELECT array_agg(held.project) AS projects, array_agg(held.hold_id) AS ids, array_agg(held.application_id) AS application_ids,
							 array_agg(held.held_at) AS instants
					  FROM held WHERE held.application_id IS NOT NULL
					  HAVING count(*) > 0) AS applied
				CROSS JOIN LATERAL yquota_internal.running_spending(
					applied.projects, applied.ids, applied.application_ids, applied.instants, at) AS running
				UNION ALL
				SELECT held.hold_id, yquota_internal.archived_since(held.project, held.application_id, held.held_at)
					   - CASE WHEN held.is_past AND archived IS NOT NULL THEN
						   yquota_internal.archived_since(held.project, held.application_id, yquota_internal.next_quarter_hour(at))
						   + yquota_internal.archived_within_quarter_hour(held.project, held.application_id, NULL, NULL, at, archived) ELSE 0 END
				FROM held
				-- read the horizon once, because calling archived_since() takes longer than the rest of the query
				WHERE held.application_id IS NOT NULL AND held.held_at < (SELECT yquota_internal.archive_horizon())
				UNION ALL
				SELECT of_reservation.hold_id, of_reservation.amount
				FROM (SELECT array_agg(held.project) AS projects, array_agg(held.hold_id) AS ids, array_agg(held.reservation_id) AS reservation_ids,
							 array_agg(held.queue) AS queues, array_agg(held.held_at) AS instants, bool_or(held.is_past) AS is_past
					  FROM held WHERE held.reservation_id IS NOT NULL
					  HAVING count(*) > 0) AS reserved
				CROSS JOIN LATERAL yquota_internal.reservation_spending(
					reserved.projects, reserved.ids, reserved.reservation_ids, reserved.queues, reserved.instants, at, reserved.is_past, archived) AS of_reservation
			) AS part
			GROUP BY part.hold_id
		)
		SELECT covering.project, covering.hold_id, covering.application_id, covering.spent,
			   trim_scale(covering.outstanding - coalesce(lag(covering.outstanding) OVER earlier, 0))
		FROM (
			SELECT live.project, live.hold_id, live.holder, live.application_id, live.held_at, live.spent,
				   greatest(live.held + max(live.amount - live.held - live.spent) OVER earlier, 0) AS outstanding
			FROM (
				SELECT held.project, held.hold_id, held.holder, held.application_id, held.held_at, held.amount,
					   coalesce(cost.spent, 0) AS spent, sum(held.amount) OVER earlier AS held
				FROM held
				LEFT JOIN cost ON cost.hold_id = held.hold_id
				WINDOW earlier AS (PARTITION BY held.project, held.holder ORDER BY held.held_at, held.hold_id)
			) AS live
			WINDOW earlier AS (PARTITION BY live.project, live.holder ORDER BY live.held_at, live.hold_id)
		) AS covering
		WINDOW earlier AS (PARTITION BY covering.project, covering.holder ORDER BY covering.held_at, covering.hold_id);
	END;
COMMENT ON FUNCTION yquota_internal.holds_by(text[], timestamptz, yquota_internal.ledger_segment[]) IS
	'Return the rows of holds_at() for projects.  If the instant is before the archive horizon, the last argument has the rows of archived_segments_around() for the instant; otherwise it is NULL';

CREATE FUNCTION yquota_internal.holds_at(project text, at timestamptz)
	RETURNS TABLE (hold_id bigint, application_id text, spent numeric, outstanding numeric)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 10
	SET search_path = pg_catalog, pg_temp
	-- planning and starting parallel workers for short branches take longer than most calls
	SET plan_cache_mode = force_generic_plan
	SET enable_parallel_append = off
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT found.hold_id, found.application_id, found.spent, found.outstanding
	FROM yquota_internal.holds_by(ARRAY[holds_at.project], holds_at.at, NULL) AS found;
END
$$;
COMMENT ON FUNCTION yquota_internal.holds_at(text, timestamptz) IS
	'Return the outstanding credits of the holds of a project that were in force at an instant not later than the clock.  Also return what their applications or reservations have spent since the credit was held';

CREATE VIEW yquota_internal.hold_outstanding AS
	SELECT found.hold_id, holder.project, found.application_id, found.spent, found.outstanding, hold.reservation_id, hold.queue
	FROM (SELECT DISTINCT live_hold.project FROM yquota_internal.live_hold) AS holder
	CROSS JOIN LATERAL yquota_internal.holds_at(holder.project, yquota.statement_clock()) AS found
	JOIN yquota.hold ON hold.hold_id = found.hold_id;
COMMENT ON VIEW yquota_internal.hold_outstanding IS
	'Outstanding credits of the holds that are neither released nor expired, and what their applications or reservations have spent since the credit was held';

-- The view computes holds only for the few sub-projects that have holds.
CREATE VIEW yquota_internal.held_credit AS
	SELECT held.project, trim_scale(sum(held.outstanding)) AS held
	FROM (
		SELECT own.project, own.outstanding FROM yquota_internal.hold_outstanding AS own
		UNION ALL
		SELECT family.ancestor, found.outstanding
		FROM yquota_internal.project_family AS family
		JOIN (SELECT DISTINCT live_hold.project FROM yquota_internal.live_hold) AS holder ON holder.project = family.member
		CROSS JOIN LATERAL yquota_internal.holds_at(family.member, yquota.statement_clock()) AS found
		WHERE yquota_internal.may_have_rows('yquota_internal.project_family')
	) AS held
	WHERE yquota_internal.may_have_rows('yquota.hold')
	GROUP BY held.project;
COMMENT ON VIEW yquota_internal.held_credit IS
	'Outstanding holds of projects and all their descendants; no row for a project without holds';

-- The watch over thresholds needs the holds of many projects.  A call of holds_at() for each project would read the
-- ledger once per project.
CREATE FUNCTION yquota_internal.held_by_projects(projects text[]) RETURNS TABLE (project text, held numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- makes the query read the ledger once, even if the planner misjudges the number of holds
	SET enable_nestloop = off
	AS $$
#variable_conflict use_column
DECLARE
	owners text[];
	names text[];
	holders text[];
BEGIN
	SELECT array_agg(member.project), array_agg(member.name) INTO owners, names
	FROM (SELECT p.project, p.project AS name FROM unnest(projects) AS p (project)
		  UNION ALL
		  SELECT family.ancestor, family.member FROM yquota_internal.project_family AS family WHERE family.ancestor = ANY (projects)) AS member;
	holders := ARRAY(SELECT live_hold.project FROM yquota_internal.live_hold INTERSECT SELECT n FROM unnest(names) AS n);
	RETURN QUERY
	SELECT member.project, trim_scale(sum(found.outstanding))
	FROM yquota_internal.holds_by(holders, yquota.statement_clock(), NULL) AS found
	JOIN unnest(owners, names) AS member (project, name) ON member.name = found.project
	GROUP BY member.project;
END
$$;
COMMENT ON FUNCTION yquota_internal.held_by_projects(text[]) IS
	'Return the rows of held_credit for projects';

CREATE FUNCTION yquota_internal.lock_credit(project text) RETURNS numeric
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_lock_credit';
COMMENT ON FUNCTION yquota_internal.lock_credit(text) IS
	'Lock the credit of a project and its ancestors against other holds until the transaction ends.  Returns the committed amount that is then available (project_credit).  Charging does not wait for the lock';

CREATE FUNCTION yquota_internal.may_hold(project text) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.acts_as('operator') OR yquota_internal.acts_as('admin')
		OR coalesce(project = ANY (yquota_internal.readable_projects()), false);
COMMENT ON FUNCTION yquota_internal.may_hold(text) IS
	'Tell whether the caller may hold and release credit of a project: operators, administrators and members of the project may do so';

CREATE FUNCTION yquota_internal.find_hold(project text, external_id text) RETURNS yquota.hold
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_find_hold';
COMMENT ON FUNCTION yquota_internal.find_hold(text, text) IS
	'Return the committed hold of a project with an external id, at every isolation level; NULL when there is none';

CREATE FUNCTION yquota_internal.check_hold(application_id text, amount numeric, ttl interval, external_id text) RETURNS void
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF application_id IS NULL OR amount IS NULL OR ttl IS NULL THEN
		RAISE EXCEPTION 'project, application, amount and time to live of a hold must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF application_id = '' THEN
		RAISE EXCEPTION 'a hold needs the id of an application'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF amount <= 0 OR amount > 1e30 OR scale(amount) > 66 THEN
		RAISE EXCEPTION 'cannot hold % credits', amount
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The amount must be positive and at most 10^30, and have at most 66 decimals.';
	ELSIF ttl <= interval '0' OR ttl > interval '10 years' THEN
		RAISE EXCEPTION 'a hold cannot live for %', ttl
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The time to live must be positive and at most 10 years.';
	ELSIF external_id = '' OR octet_length(external_id) > 255 THEN
		RAISE EXCEPTION 'external id of a hold is empty or longer than 255 bytes'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_hold(text, numeric, interval, text) IS
	'Raise an error if the arguments are not valid for a hold';

CREATE FUNCTION yquota_internal.refuse_hold(project text, amount numeric, available numeric, fitting numeric) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	limited_by text;
BEGIN
	SELECT credit.limited_by INTO limited_by FROM yquota_internal.project_credit AS credit
	WHERE credit.project = refuse_hold.project;
	RAISE EXCEPTION 'project "%" does not have enough credit to hold %', project, amount
		USING ERRCODE = 'YQ001',
			DETAIL = CASE WHEN limited_by <> project
						  THEN format('Its ancestor "%s" has %s credits left.', limited_by, available)
						  ELSE format('%s credits remain.', available) END
				|| CASE WHEN fitting IS NULL THEN '' ELSE format(' The hold may have %s.', fitting) END,
			HINT = 'Hold less, release holds that are no longer needed, or wait until credit is granted.';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_hold(text, numeric, numeric, numeric) IS
	'Raise the error that a project has no more than the given credit.  The last argument is the largest possible amount when the amount of a hold is changed, otherwise NULL';

-- Raising the amount by one credit sets at most one more credit aside.  It sets nothing aside while costs exceed the
-- hold.
CREATE FUNCTION yquota_internal.replace_hold(held yquota.hold, amount numeric, available numeric) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	left_over numeric;
BEGIN
	IF held.released_at IS NOT NULL OR held.expires_at <= yquota.statement_clock() THEN
		RAISE EXCEPTION 'hold % has ended', held.hold_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Hold credit under another external id.';
	END IF;
	UPDATE yquota.hold AS h
	SET amount = replace_hold.amount, replaced_amounts = array_append(h.replaced_amounts, h.amount),
		replaced_at = array_append(h.replaced_at, yquota.statement_clock())
	WHERE h.hold_id = held.hold_id AND h.released_at IS NULL;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'could not change the hold with external id "%" because of a concurrent transaction', held.external_id
			USING ERRCODE = 'serialization_failure';
	END IF;
	IF amount > held.amount AND available IS NOT NULL THEN
		left_over := yquota_internal.lock_credit(held.project);
		IF left_over < least(available, 0) THEN
			PERFORM yquota_internal.refuse_hold(held.project, amount, available,
				trim_scale(amount + left_over - least(available, 0)));
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.replace_hold(yquota.hold, numeric, numeric) IS
	'Change the amount of a hold.  The caller has locked the project and passes its available credit, or NULL if the change needs no credit';

CREATE FUNCTION yquota_internal.hold_as_owner(
	project text, application_id text, amount numeric, ttl interval, reason text, external_id text, replace boolean) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	mode yquota.quota_mode;
	available numeric;
	held yquota.hold;
	new_hold_id bigint;
BEGIN
	IF project IS NULL THEN
		RAISE EXCEPTION 'project, application, amount and time to live of a hold must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT yquota_internal.may_hold(project) THEN
		RAISE EXCEPTION 'permission denied to hold credit of project "%"', project
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'Only operators, administrators and members of the project may hold its credit.';
	END IF;
	PERFORM yquota_internal.check_hold(application_id, amount, ttl, external_id);
	SELECT p.quota_mode INTO mode FROM yquota.project AS p WHERE p.name = hold_as_owner.project;
	IF NOT FOUND THEN
		PERFORM yquota_internal.refuse_name('project', project);
	END IF;
	-- keep the project from moving: this transaction and one that moves the project wait for each other
	LOCK TABLE yquota_internal.project_family IN ROW EXCLUSIVE MODE;
	IF mode = 'PREPAID' OR external_id IS NOT NULL THEN
		available := yquota_internal.lock_credit(project);
	END IF;
	IF mode <> 'PREPAID' THEN
		available := NULL;
	END IF;
	held := yquota_internal.find_hold(project, external_id);
	IF held.hold_id IS NOT NULL THEN
		IF held.application_id <> application_id OR held.amount <> amount AND replace IS NOT TRUE THEN
			RAISE EXCEPTION 'project "%" has another hold with external id "%"', project, external_id
				USING ERRCODE = 'duplicate_object',
					DETAIL = format('Hold %s has %s credits for application "%s".', held.hold_id, held.amount, held.application_id),
					HINT = 'Use another id, or change the amount with replace => true.';
		ELSIF held.amount <> amount THEN
			PERFORM yquota_internal.replace_hold(held, amount, available);
		END IF;
		RETURN held.hold_id;
	END IF;
	IF available < amount THEN
		PERFORM yquota_internal.refuse_hold(project, amount, available, NULL);
	END IF;
	INSERT INTO yquota.hold (project, application_id, amount, reason, held_by, held_at, expires_at, external_id)
	VALUES (project, application_id, amount, reason, yquota_internal.sending_role(),
			yquota.statement_clock(), yquota.statement_clock() + ttl, external_id)
	RETURNING hold_id INTO new_hold_id;
	RETURN new_hold_id;
END
$$;
COMMENT ON FUNCTION yquota_internal.hold_as_owner(text, text, numeric, interval, text, text, boolean) IS
	'Run hold() for the calling role';

CREATE FUNCTION yquota.hold(
	project text, application_id text, amount numeric, ttl interval, reason text DEFAULT NULL,
	external_id text DEFAULT NULL, replace boolean DEFAULT false) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.hold(text, text, numeric, interval, text, text, boolean) IS
	'Set credit of a project aside for an application, for at most ttl.  Returns the hold_id for release_hold().  Raises YQ001 if less credit is available (project_balance), which never happens in a NOLIMIT project.  A repeated call with the same external_id returns the same hold_id and sets nothing more aside, even after the hold has ended.  If replace is true, the call changes the amount';

CREATE FUNCTION yquota_internal.release_hold_as_owner(hold_id bigint) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	held yquota.hold;
BEGIN
	SELECT * INTO held FROM yquota.hold AS h WHERE h.hold_id = release_hold_as_owner.hold_id;
	-- do not reveal that a hold exists if the caller may not see its project
	IF held.hold_id IS NULL OR NOT yquota_internal.may_hold(held.project) THEN
		RAISE EXCEPTION 'hold % does not exist', hold_id
			USING ERRCODE = 'no_data_found',
				HINT = 'Holds are removed 30 days after they ended; members see those of their projects.';
	ELSIF held.reservation_id IS NOT NULL THEN
		RAISE EXCEPTION 'hold % belongs to reservation "%"', hold_id, held.reservation_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'The hold ends with the reservation: see yquota.delete_reservation().';
	ELSIF held.of_submission AND held.released_at IS NULL THEN
		RAISE EXCEPTION 'hold % belongs to the submission of application "%"', hold_id, held.application_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'The hold ends with the application: see yquota.finish_application().';
	END IF;
	UPDATE yquota.hold AS h
	SET released_by = yquota_internal.sending_role(), released_at = yquota.statement_clock()
	WHERE h.hold_id = held.hold_id AND h.released_at IS NULL
	  AND yquota.statement_clock() < h.expires_at;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION yquota_internal.release_hold_as_owner(bigint) IS
	'Run release_hold() for the calling role';

CREATE FUNCTION yquota.release_hold(hold_id bigint) RETURNS boolean
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.release_hold(bigint) IS
	'End a hold.  Returns false if the hold had been released or had expired before';

CREATE VIEW yquota.hold_status WITH (security_barrier) AS
	SELECT hold.hold_id, hold.project, hold.application_id, hold.amount,
		   CASE WHEN hold.released_at IS NOT NULL THEN 'released'
				WHEN left_over.hold_id IS NULL THEN 'expired'
				WHEN left_over.outstanding = 0 THEN 'spent'
				ELSE 'held'
		   END AS state,
		   left_over.spent,
		   coalesce(left_over.outstanding, 0) AS outstanding,
		   hold.reason, hold.held_by, hold.held_at, hold.expires_at, hold.released_by, hold.released_at, hold.reservation_id,
		   hold.external_id
	FROM yquota.hold
	LEFT JOIN yquota_internal.hold_outstanding AS left_over ON left_over.hold_id = hold.hold_id
	WHERE (SELECT yquota_internal.reads_all())
	   OR hold.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.hold_status IS
	'Credit set aside for applications and reservations, live at the clock. Ended holds remain for 30 days';
COMMENT ON COLUMN yquota.hold_status.application_id IS 'NULL for the hold of a reservation';
COMMENT ON COLUMN yquota.hold_status.state IS 'held, spent (nothing of it is left), released or expired; computed at the clock, with or without a worker';
COMMENT ON COLUMN yquota.hold_status.amount IS 'credits of the hold, as first given or as last changed';
COMMENT ON COLUMN yquota.hold_status.spent IS
	'credits that the application, or the reservation with the containers in its queue, has cost since held_at. Costs that an earlier hold covered are included. NULL for a hold that was released or has expired';
COMMENT ON COLUMN yquota.hold_status.outstanding IS 'credits still held; project_balance.held is the sum over the holds of a project';
COMMENT ON COLUMN yquota.hold_status.reservation_id IS 'NULL for the hold of an application';
COMMENT ON COLUMN yquota.hold_status.external_id IS 'id that the caller gave the hold; NULL if none was given';

CREATE FUNCTION yquota_internal.remove_ended_holds(now_at timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH removed AS (
			DELETE FROM yquota.hold
			WHERE least(hold.released_at, hold.expires_at) < now_at - interval '30 days'
			RETURNING 1)
		SELECT count(*) FROM removed;
$$;
COMMENT ON FUNCTION yquota_internal.remove_ended_holds(timestamptz) IS
	'Remove holds that were released or expired 30 days before an instant.  Returns their number';

SELECT pg_extension_config_dump('yquota.hold', '');
SELECT pg_extension_config_dump('yquota.hold_hold_id_seq', '');
