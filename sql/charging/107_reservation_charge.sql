-- Cost of reservations.  A reservation pays for the resources that are promised to it at each instant, whether or not
-- they are used.  It pays a fraction of the price of a container with all these resources, from the acceptance of a
-- version until that version ends.  The fraction is that of the rule in force when the first version was accepted
-- (charging_rule.reserved_factor).
--
-- The cost of an interval is posted when the interval is over.  It is posted by the worker, or by the transaction
-- that ends the reservation.  close_period() posts up to the end of a period, which no row crosses.  Until it is
-- posted, the cost accrues.  The rows therefore follow from the definitions, their allocations, the ends of periods
-- and the timelines.  Late prices and outages are corrected by further rows, as in the ledger of containers.
--
-- The posting transaction locks the row of the reservation's last version.

CREATE TABLE yquota.reservation_charge (
	reservation_id text COLLATE "C" NOT NULL,
	number integer NOT NULL CHECK (number > 0),
	version integer NOT NULL,
	project text COLLATE "C" NOT NULL,
	username text COLLATE "C" NOT NULL,
	queue text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	reserved_factor numeric NOT NULL,
	"from" timestamptz NOT NULL,
	"to" timestamptz NOT NULL,
	amount numeric NOT NULL,
	booked_at timestamptz NOT NULL,
	corrects integer,
	PRIMARY KEY (reservation_id, number)
);
CREATE INDEX reservation_charge_to_idx ON yquota.reservation_charge ("to");
COMMENT ON TABLE yquota.reservation_charge IS
	'Ledger of reservations: one row per interval of a promise; no row crosses the end of a closed period.  Append-only; corrections are further rows';
COMMENT ON COLUMN yquota.reservation_charge.reservation_id IS 'as in reservation_definition';
COMMENT ON COLUMN yquota.reservation_charge.number IS 'number of the row among the rows of its reservation, from 1';
COMMENT ON COLUMN yquota.reservation_charge.version IS 'as in reservation_definition';
COMMENT ON COLUMN yquota.reservation_charge.queue IS 'full path of the plan';
COMMENT ON COLUMN yquota.reservation_charge.allocation IS 'sum over all promised containers, in native units';
COMMENT ON COLUMN yquota.reservation_charge.reserved_factor IS 'part of the price that the reservation pays';
COMMENT ON COLUMN yquota.reservation_charge."from" IS 'start of the interval';
COMMENT ON COLUMN yquota.reservation_charge."to" IS 'end of the interval';
COMMENT ON COLUMN yquota.reservation_charge.amount IS 'credits, exact; negative in a row that reverses another one';
COMMENT ON COLUMN yquota.reservation_charge.booked_at IS 'clock when the row was posted';
COMMENT ON COLUMN yquota.reservation_charge.corrects IS
	'number of the row of the same reservation that this row reverses; NULL when it reverses none';

CREATE VIEW yquota_internal.reservation_charge_in_effect AS
	SELECT charge.*
	FROM yquota.reservation_charge AS charge
	WHERE charge.corrects IS NULL
	  AND NOT EXISTS (SELECT FROM yquota.reservation_charge AS taken_back
					  WHERE taken_back.reservation_id = charge.reservation_id
						AND taken_back.corrects = charge.number);
COMMENT ON VIEW yquota_internal.reservation_charge_in_effect IS
	'Rows of the ledger of reservations that neither reverse another row nor have been reversed';

CREATE TABLE yquota_internal.accruing_reservation (
	reservation_id text COLLATE "C" NOT NULL,
	version integer NOT NULL,
	project text COLLATE "C" NOT NULL,
	settled_until timestamptz NOT NULL,
	PRIMARY KEY (reservation_id, version),
	FOREIGN KEY (reservation_id, version) REFERENCES yquota.reservation_definition
);
CREATE INDEX accruing_reservation_project_idx ON yquota_internal.accruing_reservation (project);
COMMENT ON TABLE yquota_internal.accruing_reservation IS
	'Versions of reservations that pay and whose cost has not been posted completely';
COMMENT ON COLUMN yquota_internal.accruing_reservation.settled_until IS
	'start of the first interval of the allocation, or of the first part of an interval, that is not in reservation_charge';

--
-- Amounts due
--

-- These functions return the numbers of the periods to read.  A reservation that does not repeat, or whose
-- allocation lies only in the first period, has only number 0.
CREATE FUNCTION yquota_internal.first_period(repeats boolean, "to" timestamptz, recurrence interval, since timestamptz) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN repeats AND since > "to"
				THEN yquota_internal.microseconds(since - "to") / yquota_internal.microseconds(recurrence) ELSE 0 END;
COMMENT ON FUNCTION yquota_internal.first_period(boolean, timestamptz, interval, timestamptz) IS
	'Return the number of the first period of a reservation that has to be read.  In all earlier periods, the repeated interval ends before the given instant';

CREATE FUNCTION yquota_internal.last_period(repeats boolean, "from" timestamptz, recurrence interval, until timestamptz) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN repeats AND until > "from"
				THEN yquota_internal.microseconds(until - "from") / yquota_internal.microseconds(recurrence) ELSE 0 END;
COMMENT ON FUNCTION yquota_internal.last_period(boolean, timestamptz, interval, timestamptz) IS
	'Return the number of the last period of a reservation in which the repeated interval has begun by the given instant';

-- ROWS 1 is right for nearly all reservations, which have only one period.
CREATE FUNCTION yquota_internal.period_numbers(first bigint, last bigint) RETURNS SETOF bigint
	LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE ROWS 1
	AS 'generate_series_int8';
COMMENT ON FUNCTION yquota_internal.period_numbers(bigint, bigint) IS
	'Return a series of numbers, as generate_series() does';

-- The view repeats expressions instead of calling a function.  A function would read tables with the rights of the
-- view's readers.
CREATE VIEW yquota_internal.accruing_term AS
	SELECT d.reservation_id, d.version, d.project, d.username, d.queue, a.allocation, d.reserved_factor,
		   term."from", term."to"
	FROM yquota_internal.accruing_reservation AS accruing
	JOIN yquota.reservation_definition AS d ON d.reservation_id = accruing.reservation_id AND d.version = accruing.version
	JOIN yquota.reservation_allocation AS a ON a.reservation_id = d.reservation_id AND a.version = d.version
	CROSS JOIN LATERAL yquota_internal.period_numbers(
		yquota_internal.first_period(d.repeats_allocation, a."to", d.recurrence, accruing.settled_until),
		yquota_internal.last_period(d.repeats_allocation, a."from", d.recurrence, yquota.statement_clock())) AS period (number)
	CROSS JOIN LATERAL (
		SELECT CASE WHEN period.number = 0 THEN '0' ELSE yquota_internal.microseconds(d.recurrence) * period.number * interval '1 microsecond' END AS by
	) AS shift
	CROSS JOIN LATERAL (
		SELECT greatest(a."from" + shift.by, accruing.settled_until) AS "from", least(a."to" + shift.by, d.ended_at) AS "to"
	) AS term
	WHERE yquota_internal.may_have_rows('yquota_internal.accruing_reservation')
	  AND accruing.settled_until <= yquota.statement_clock()
	  AND term."from" < term."to" AND term."from" <= yquota.statement_clock();
COMMENT ON VIEW yquota_internal.accruing_term IS
	'Intervals of the allocations of reservations, or parts of intervals, that have begun by the clock and are not in reservation_charge';

CREATE VIEW yquota_internal.accruing_segment AS
	SELECT term.reservation_id, term.project, term.username, term.queue, term.allocation, term.reserved_factor,
		   yquota_internal.factor_names(term.project, NULL, term.username, term.queue, NULL, NULL, 'GUARANTEED', term.reserved_factor) AS factors,
		   term."from", least(term."to", yquota.statement_clock()) AS "to", term."to" > yquota.statement_clock() AS goes_on
	FROM yquota_internal.accruing_term AS term;
COMMENT ON VIEW yquota_internal.accruing_segment IS
	'Accruals of reservations up to the clock, with the names of the factors and outages that apply';

CREATE FUNCTION yquota_internal.reservation_amount(
	project text, username text, queue text, allocation yquota.resource, reserved_factor numeric,
	from_at timestamptz, to_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN trim_scale(yquota_internal.accrued(allocation,
		yquota_internal.factor_names(project, NULL, username, queue, NULL, NULL, 'GUARANTEED', reserved_factor), from_at, to_at));
COMMENT ON FUNCTION yquota_internal.reservation_amount(text, text, text, yquota.resource, numeric, timestamptz, timestamptz) IS
	'Return the credits that a reservation in a plan pays for an allocation between two instants: the given part of the price of GUARANTEED containers';

-- The function reads the ledger rows of a version after the version itself has been deleted.
CREATE FUNCTION yquota_internal.reservation_segments(ids text[], since timestamptz[], until timestamptz)
	RETURNS TABLE (reservation_id text, version integer, project text, username text, queue text, allocation yquota.resource,
				   reserved_factor numeric, "from" timestamptz, "to" timestamptz, is_due boolean)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH asked AS MATERIALIZED (
			SELECT a.reservation_id, a.since, booked.version, coalesce(greatest(reservation_segments.until, booked."to"), reservation_segments.until) AS until
			FROM unnest(ids, reservation_segments.since) AS a (reservation_id, since)
			CROSS JOIN LATERAL (
				SELECT v.version, (SELECT max(c."to") FROM yquota_internal.reservation_charge_in_effect AS c
								   WHERE c.reservation_id = a.reservation_id AND c.version = v.version) AS "to"
				FROM (SELECT d.version FROM yquota.reservation_definition AS d WHERE d.reservation_id = a.reservation_id
					  UNION
					  SELECT c.version FROM yquota.reservation_charge AS c WHERE c.reservation_id = a.reservation_id) AS v
			) AS booked
		), life AS (
			SELECT d.reservation_id, d.version, d.project, d.username, d.queue, a.allocation, d.reserved_factor,
				   greatest(a."from" + shift.by, d.accepted_at) AS "from", least(a."to" + shift.by, d.ended_at) AS "to",
				   asked.since, asked.until
			FROM asked
			JOIN yquota.reservation_definition AS d ON d.reservation_id = asked.reservation_id AND d.version = asked.version
			JOIN yquota.reservation_allocation AS a ON a.reservation_id = d.reservation_id AND a.version = d.version
			CROSS JOIN LATERAL yquota_internal.period_numbers(
				yquota_internal.first_period(d.repeats_allocation, a."to", d.recurrence, asked.since),
				-- add one period for the allocation of the next version
				yquota_internal.last_period(d.repeats_allocation, a."from", d.recurrence, asked.until)
					+ CASE WHEN d.repeats_allocation THEN 1 ELSE 0 END) AS period (number)
			CROSS JOIN LATERAL (
				SELECT CASE WHEN period.number = 0 THEN '0'
							ELSE yquota_internal.microseconds(d.recurrence) * period.number * interval '1 microsecond' END AS by
			) AS shift
			WHERE d.reserved_factor > 0
			UNION ALL
			SELECT c.reservation_id, c.version, c.project, c.username, c.queue, c.allocation, c.reserved_factor,
				   c."from", c."to", asked.since, asked.until
			FROM asked
			JOIN yquota_internal.reservation_charge_in_effect AS c ON c.reservation_id = asked.reservation_id AND c.version = asked.version
			WHERE NOT EXISTS (SELECT FROM yquota.reservation_definition AS d
							  WHERE d.reservation_id = c.reservation_id AND d.version = c.version)
		)
		SELECT life.reservation_id, life.version, life.project, life.username, life.queue, life.allocation, life.reserved_factor,
			   segment."from", segment."to", segment."to" <= life.until
		FROM life
		CROSS JOIN LATERAL (
			SELECT cut.at AS "from", lead(cut.at) OVER (ORDER BY cut.at) AS "to"
			FROM (SELECT life."from" AS at UNION SELECT life."to"
				  UNION
				  SELECT period.until FROM yquota.closed_period AS period
				  WHERE period.until > life."from" AND period.until < life."to") AS cut
		) AS segment
		WHERE life."from" < life."to" AND segment."to" >= life.since;
$$;
COMMENT ON FUNCTION yquota_internal.reservation_segments(text[], timestamptz[], timestamptz) IS
	'Return the intervals for which reservations pay and which end at "since" or later, split at the ends of periods. is_due is true if an interval is over at an instant, or has been posted.  The n-th elements of the arrays belong together';

-- This SQL function and the next ones are planned together with the calling statement, for its present arrays.
CREATE FUNCTION yquota_internal.unposted_since(ids text[], since timestamptz[])
	RETURNS TABLE (reservation_ids text[], instants timestamptz[])
	LANGUAGE sql STABLE PARALLEL RESTRICTED ROWS 1
	AS $$
	SELECT array_agg(a.reservation_id), array_agg(least(a.since, accruing.settled_until))
	FROM unnest(unposted_since.ids, unposted_since.since) AS a (reservation_id, since)
	CROSS JOIN LATERAL (
		SELECT min(k.settled_until) AS settled_until FROM yquota_internal.accruing_reservation AS k
		WHERE k.reservation_id = a.reservation_id
	) AS accruing;
$$;
COMMENT ON FUNCTION yquota_internal.unposted_since(text[], timestamptz[]) IS
	'Return reservations, each with its instant or with the start of its unposted cost if that is earlier.  The n-th elements of the arrays belong together';

CREATE FUNCTION yquota_internal.reservation_postings(ids text[], since timestamptz[], until timestamptz)
	RETURNS TABLE (reservation_id text, number bigint, version integer, project text, username text, queue text,
				   allocation yquota.resource, reserved_factor numeric, "from" timestamptz, "to" timestamptz, amount numeric, corrects integer)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	AS $$
	WITH asked AS MATERIALIZED (
		SELECT s.reservation_ids AS ids, s.instants AS since FROM yquota_internal.unposted_since(reservation_postings.ids, reservation_postings.since) AS s
	), due AS MATERIALIZED (
		SELECT segment.*, yquota_internal.reservation_amount(segment.project, segment.username, segment.queue, segment.allocation,
			segment.reserved_factor, segment."from", segment."to") AS amount
		FROM asked
		CROSS JOIN LATERAL yquota_internal.reservation_segments(asked.ids, asked.since, reservation_postings.until) AS segment
		WHERE segment.is_due
	), found AS MATERIALIZED (
		SELECT c.*
		FROM asked
		CROSS JOIN LATERAL unnest(asked.ids, asked.since) AS a (reservation_id, since)
		JOIN yquota_internal.reservation_charge_in_effect AS c ON c.reservation_id = a.reservation_id AND c."to" >= a.since
	), posting AS (
		SELECT f.reservation_id, f.version, f.project, f.username, f.queue, f.allocation, f.reserved_factor, f."from", f."to",
			   -f.amount AS amount, f.number AS corrects
		FROM found AS f
		WHERE NOT EXISTS (SELECT FROM due AS d WHERE d.reservation_id = f.reservation_id AND d.version = f.version
							AND d."from" = f."from" AND d."to" = f."to" AND d.amount = f.amount)
		UNION ALL
		SELECT d.reservation_id, d.version, d.project, d.username, d.queue, d.allocation, d.reserved_factor, d."from", d."to",
			   d.amount, NULL
		FROM due AS d
		WHERE NOT EXISTS (SELECT FROM found AS f WHERE f.reservation_id = d.reservation_id AND f.version = d.version
							AND f."from" = d."from" AND f."to" = d."to" AND f.amount = d.amount)
	)
	SELECT p.reservation_id,
		   row_number() OVER (PARTITION BY p.reservation_id ORDER BY p."from", p.corrects, p."to")
		   + coalesce((SELECT max(last.number) FROM yquota.reservation_charge AS last WHERE last.reservation_id = p.reservation_id), 0),
		   p.version, p.project, p.username, p.queue, p.allocation, p.reserved_factor, p."from", p."to", p.amount, p.corrects
	FROM posting AS p;
$$;
COMMENT ON FUNCTION yquota_internal.reservation_postings(text[], timestamptz[], timestamptz) IS
	'Return the rows that are missing in the ledger of reservations, from the instant of each reservation or earlier up to another instant.  Rows that are not due are reversed, and intervals that are due are posted.  The n-th elements of the arrays belong together';

CREATE FUNCTION yquota_internal.unposted_reservations(ids text[], since timestamptz[], until timestamptz)
	RETURNS TABLE (reservation_id text, version integer, "from" timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	AS $$
	SELECT segment.reservation_id, segment.version, min(segment."from")
	FROM yquota_internal.unposted_since(unposted_reservations.ids, unposted_reservations.since) AS asked
	CROSS JOIN LATERAL yquota_internal.reservation_segments(asked.reservation_ids, asked.instants, unposted_reservations.until) AS segment
	WHERE NOT segment.is_due
	GROUP BY 1, 2;
$$;
COMMENT ON FUNCTION yquota_internal.unposted_reservations(text[], timestamptz[], timestamptz) IS
	'Return versions of reservations with cost that accrues but is not due yet, each with the instant from which it accrues.  The n-th elements of the arrays belong together';

CREATE FUNCTION yquota_internal.allocations_cost(
	reservation_id text, project text, username text, queue text,
	starts timestamptz[], ends timestamptz[], allocations yquota.resource[], at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(trim_scale(sum(yquota_internal.reservation_amount(
						coalesce(project, ''), username, queue, a.allocation, rule.factor, greatest(a."from", at), a."to"))), 0)
			FROM (SELECT coalesce((SELECT d.reserved_factor FROM yquota.reservation_definition AS d
								   WHERE d.reservation_id = allocations_cost.reservation_id
								   ORDER BY d.version DESC LIMIT 1), yquota_internal.reserved_factor(at)) AS factor
				  OFFSET 0) AS rule
			CROSS JOIN unnest(starts, ends, allocations) AS a ("from", "to", allocation)
			WHERE rule.factor > 0 AND a."to" > at);
COMMENT ON FUNCTION yquota_internal.allocations_cost(text, text, text, text, timestamptz[], timestamptz[], yquota.resource[], timestamptz) IS
	'Return the credits that a reservation would cost from an instant on, at the known prices.  The rule of the reservation applies, or the present rule if the reservation is new.  The arrays describe the intervals of its allocation';

CREATE FUNCTION yquota_internal.quote_reservation(
	reservation_id text, project text, username text, queue text,
	starts timestamptz[], ends timestamptz[], allocations yquota.resource[], at timestamptz,
	multipliers yquota.price[] DEFAULT NULL) RETURNS numeric
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- the query contains instants as text, and other date styles may have ambiguous names of time zones
	SET datestyle = 'ISO'
	AS $$
BEGIN
	RETURN (SELECT cost.amount
			FROM yquota_internal.costs_ahead(
				format('SELECT NULL::text, yquota_internal.allocations_cost(%L, %L, %L, %L, %L, %L, %L, $1)',
					   reservation_id, project, username, queue, starts, ends, allocations),
				at, greatest(at, (SELECT max(e.at) FROM unnest(ends) AS e (at))), multipliers) AS cost);
END
$$;
COMMENT ON FUNCTION yquota_internal.quote_reservation(text, text, text, text, timestamptz[], timestamptz[], yquota.resource[], timestamptz, yquota.price[]) IS
	'Return the result of allocations_cost() by the known or given multipliers and the calendars';

--
-- Posting
--

CREATE FUNCTION yquota_internal.settle_reservations(ids text[], since timestamptz[]) RETURNS bigint
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_settle_reservations';
COMMENT ON FUNCTION yquota_internal.settle_reservations(text[], timestamptz[]) IS
	'Make the ledger of reservations agree with their allocations and the present timelines, from the instant of each reservation or earlier up to the clock.  Returns the number of posted rows.  The caller has locked the rows of the reservations'' last versions.  The n-th elements of the arrays belong together';

CREATE FUNCTION yquota_internal.book_reservations() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	ids text[];
	instants timestamptz[];
BEGIN
	LOCK TABLE yquota.reservation_charge IN ROW EXCLUSIVE MODE;
	-- postings of other transactions may not be visible yet; the worker retries later
	IF NOT yquota_internal.sees_commits() OR NOT EXISTS (SELECT FROM yquota_internal.accruing_reservation) THEN
		RETURN 0;
	END IF;
	-- skip reservations that another transaction is ending, because that transaction posts their cost
	SELECT array_agg(locked.reservation_id) INTO ids
	FROM (SELECT d.reservation_id
		  FROM yquota.reservation_definition AS d
		  WHERE d.reservation_id IN (SELECT term.reservation_id FROM yquota_internal.accruing_term AS term
									 WHERE term."to" <= yquota.statement_clock())
			AND d.version = (SELECT max(last.version) FROM yquota.reservation_definition AS last WHERE last.reservation_id = d.reservation_id)
		  ORDER BY d.reservation_id
		  FOR NO KEY UPDATE OF d SKIP LOCKED) AS locked;
	SELECT array_agg(accruing.reservation_id), array_agg(accruing.settled_until) INTO ids, instants
	FROM (SELECT a.reservation_id, min(a.settled_until) AS settled_until
		  FROM yquota_internal.accruing_reservation AS a WHERE a.reservation_id = ANY (ids) GROUP BY 1) AS accruing;
	RETURN coalesce(yquota_internal.settle_reservations(ids, instants), 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.book_reservations() IS
	'Post the cost of reservations for intervals that are over.  Returns the number of posted rows.  The worker calls it';

CREATE FUNCTION yquota_internal.correct_reservations(changed_from timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	ids text[];
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.reservation_charge AS c WHERE c."to" >= changed_from) THEN
		RETURN 0;
	END IF;
	LOCK TABLE yquota.reservation_charge IN ROW EXCLUSIVE MODE;
	PERFORM FROM yquota.reservation_definition AS d
	WHERE d.reservation_id IN (SELECT c.reservation_id FROM yquota.reservation_charge AS c WHERE c."to" >= changed_from)
	  AND d.version = (SELECT max(last.version) FROM yquota.reservation_definition AS last WHERE last.reservation_id = d.reservation_id)
	ORDER BY d.reservation_id
	FOR NO KEY UPDATE OF d;
	SELECT array_agg(DISTINCT c.reservation_id) INTO ids FROM yquota.reservation_charge AS c WHERE c."to" >= changed_from;
	RETURN yquota_internal.settle_reservations(ids, array_fill(changed_from, ARRAY[cardinality(ids)]));
END
$$;
COMMENT ON FUNCTION yquota_internal.correct_reservations(timestamptz) IS
	'Settle again the charges of reservations at or after an instant, and post correcting rows where amounts have changed.  Returns the number of posted rows';

-- The calling transaction prevents all others from posting.
CREATE FUNCTION yquota_internal.settle_reservations_at(period_end timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT coalesce(yquota_internal.settle_reservations(array_agg(crossing.reservation_id), array_agg(crossing.since)), 0)
		FROM (SELECT part.reservation_id, min(part.since) AS since
			  FROM (SELECT a.reservation_id, a.settled_until AS since
					FROM yquota_internal.accruing_reservation AS a WHERE a.settled_until < period_end
					UNION ALL
					SELECT c.reservation_id, period_end
					FROM yquota_internal.reservation_charge_in_effect AS c
					WHERE c."to" > period_end AND c."from" < period_end) AS part
			  GROUP BY 1) AS crossing;
$$;
COMMENT ON FUNCTION yquota_internal.settle_reservations_at(timestamptz) IS
	'Post the cost of reservations up to the end of a period.  From then on, no row crosses that end.  Returns the number of posted rows';

-- The functions below run when a version is accepted and when it ends.  After a reservation has been accepted, no rule
-- changes until the transaction ends.

CREATE FUNCTION yquota_internal.price_reservation() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NEW;
	END IF;
	NEW.reserved_factor := coalesce(
		(SELECT d.reserved_factor FROM yquota.reservation_definition AS d
		 WHERE d.reservation_id = NEW.reservation_id AND d.version < NEW.version
		 ORDER BY d.version DESC LIMIT 1),
		yquota_internal.reserved_factor(NEW.accepted_at));
	NEW.repeats_allocation := NEW.recurrence IS NOT NULL AND coalesce(
		(SELECT setting.reservation_repeats_allocation FROM yquota.scheduler_setting AS setting), false);
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.price_reservation() IS
	'Record the fraction that a reservation pays, by the rule in force when its first version was accepted';
CREATE TRIGGER price BEFORE INSERT ON yquota.reservation_definition
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.price_reservation();

CREATE FUNCTION yquota_internal.keep_reserved_factor() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_id text;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	LOCK TABLE yquota.reservation_definition IN SHARE MODE;
	SELECT d.reservation_id INTO found_id
	FROM yquota.reservation_definition AS d
	WHERE d.version = 1 AND d.reserved_factor <> coalesce(
		(SELECT rule.reserved_factor FROM yquota.charging_rule AS rule
		 WHERE rule.project = '' AND rule.effective_at <= d.accepted_at
		 ORDER BY rule.effective_at DESC LIMIT 1), 0)
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'cannot change the charging rule of accepted reservations'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Reservation "%s" has been accepted.', found_id),
				HINT = 'Change it from now on.';
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_reserved_factor() IS
	'Refuse a charging rule that would change the factor in force when a reservation was accepted';
CREATE TRIGGER keep_reserved_factor AFTER INSERT OR UPDATE OR DELETE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.keep_reserved_factor();

CREATE FUNCTION yquota_internal.begin_accrual() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() OR NOT EXISTS (
		SELECT FROM new_rows AS a
		JOIN yquota.reservation_definition AS d ON d.reservation_id = a.reservation_id AND d.version = a.version
		WHERE d.reserved_factor > 0)
	THEN
		RETURN NULL;
	END IF;
	-- with this lock, a transaction that closes a period has either finished before, or waits
	LOCK TABLE yquota.reservation_charge IN ROW EXCLUSIVE MODE;
	WITH begun AS (
		INSERT INTO yquota_internal.accruing_reservation (reservation_id, version, project, settled_until)
		SELECT d.reservation_id, d.version, d.project, greatest(d.accepted_at, min(a."from"))
		FROM new_rows AS a
		JOIN yquota.reservation_definition AS d ON d.reservation_id = a.reservation_id AND d.version = a.version
		WHERE d.reserved_factor > 0
		GROUP BY d.reservation_id, d.version
		RETURNING project, settled_until
	)
	-- invalidate stored spending for later instants
	INSERT INTO yquota_internal.counter_delta (scope, project, changed_from)
	SELECT 'p', begun.project, begun.settled_until FROM begun;
	INSERT INTO yquota.hold (project, reservation_id, queue, amount, held_by, held_at, expires_at)
	-- limit the amount of the hold, because no project has more credit than this
	SELECT d.project, d.reservation_id, d.queue || '.' || d.reservation_id, least(d.quoted_cost, 1e30),
		   yquota_internal.sending_role(), d.accepted_at, 'infinity'
	FROM yquota.reservation_definition AS d
	WHERE d.quoted_cost > 0
	  AND (d.reservation_id, d.version) IN (SELECT a.reservation_id, a.version FROM new_rows AS a);
	PERFORM yquota_internal.settle_reservations(array_agg(begun.reservation_id), array_agg(begun.settled_until))
	FROM (SELECT DISTINCT a.reservation_id, a.settled_until
		  FROM new_rows
		  JOIN yquota_internal.accruing_reservation AS a USING (reservation_id, version)
		  JOIN yquota.closed_period AS period ON period.until > a.settled_until) AS begun
	HAVING count(*) > 0;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.begin_accrual() IS
	'Record that the allocation of a reservation with a price accrues, and hold its future cost';
CREATE TRIGGER begin_accrual AFTER INSERT ON yquota.reservation_allocation
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.begin_accrual();

CREATE FUNCTION yquota_internal.end_accrual() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	ids text[];
	instants timestamptz[];
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	SELECT array_agg(ended.reservation_id), array_agg(ended.ended_at) INTO ids, instants
	FROM new_rows AS ended
	JOIN old_rows AS was ON was.reservation_id = ended.reservation_id AND was.version = ended.version
	WHERE was.ended_at IS NULL AND ended.ended_at IS NOT NULL AND ended.reserved_factor > 0;
	IF ids IS NOT NULL THEN
		PERFORM yquota_internal.settle_reservations(ids, instants);
		UPDATE yquota.hold AS h
		SET released_by = yquota_internal.sending_role(), released_at = ended.at
		FROM unnest(ids, instants) AS ended (reservation_id, at)
		WHERE h.reservation_id = ended.reservation_id AND h.released_at IS NULL;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.end_accrual() IS
	'Post the cost of reservations up to their end, and release their holds';
CREATE TRIGGER end_accrual AFTER UPDATE ON yquota.reservation_definition
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.end_accrual();

SELECT pg_extension_config_dump('yquota.reservation_charge', '');
SELECT pg_extension_config_dump('yquota_internal.accruing_reservation', '');
