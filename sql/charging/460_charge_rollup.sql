-- Roll-ups: spending per quarter-hour, added up in advance.
--
-- Roll-ups are computed only from the ledger.  A dump leaves them out, and reports have the same results without
-- them.  Quarter-hours are in UTC, because midnight of every time zone is the start of a quarter-hour.  Roll-ups
-- only insert rows, and readers add the rows up.
--
-- A day (UTC) is rolled up if its sums are at most a fifth of the ledger rows that begin in the day.  Reports read
-- all other days from the ledger.  The sums are therefore much smaller than the ledger, and reports that read them
-- are not slower.  The unit is a day, because a container that starts in one quarter-hour has sums in the next ones,
-- too.
--
-- The transaction that posted a row of the ledger decides whether the row is rolled up.  A roll-up includes the rows
-- of transactions that are older than all running transactions.  No event waits for a roll-up.  A row that is
-- committed late is included in a later roll-up.  Transaction ids wrap around, so the time of posting limits the
-- search.  Every row that is not included was booked at booked_from or later.
--
-- Rows that cross the end of a quarter-hour are divided by the prices known at the time of the roll-up.  A later
-- change of prices invalidates the roll-ups of all quarter-hours from its instant on.  Reports read those
-- quarter-hours from the ledger until they are rolled up again.

-- The function is neither STRICT nor IMMUTABLE; otherwise the planner would not inline it.  The subtraction of an
-- interval is not IMMUTABLE.
CREATE FUNCTION yquota_internal.last_instant("from" timestamptz, "to" timestamptz) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE WHEN "to" > "from" THEN "to" - interval '1 microsecond' ELSE "from" END;
COMMENT ON FUNCTION yquota_internal.last_instant(timestamptz, timestamptz) IS
	'Return the last microsecond of a segment.  For a padding row this is its only instant';

CREATE TABLE yquota_internal.charge_rollup (
	quarter_hour timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	username text COLLATE "C",
	queue text COLLATE "C",
	application_id text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	amount numeric NOT NULL
);
CREATE INDEX charge_rollup_quarter_hour_idx ON yquota_internal.charge_rollup (quarter_hour);
COMMENT ON TABLE yquota_internal.charge_rollup IS
	'Ledger rows divided and added up per quarter-hour; each roll-up inserts new rows';
COMMENT ON COLUMN yquota_internal.charge_rollup.quarter_hour IS 'start of the quarter-hour';
COMMENT ON COLUMN yquota_internal.charge_rollup.amount IS 'credits';

-- The function is not STRICT; otherwise the planner would not inline it.
CREATE FUNCTION yquota_internal.utc_day(at timestamptz) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN isfinite(at) THEN date_bin('24 hours', at, '2000-01-01 00:00+00') ELSE at END;
COMMENT ON FUNCTION yquota_internal.utc_day(timestamptz) IS
	'Return the start of the day (UTC) that contains an instant';

CREATE TABLE yquota_internal.rollup_day (
	day timestamptz PRIMARY KEY,
	charges bigint NOT NULL,
	sums bigint NOT NULL,
	is_rolled_up boolean NOT NULL
);
COMMENT ON TABLE yquota_internal.rollup_day IS
	'Days whose ledger rows have been examined for charge_rollup, with the figures that decide whether charge_rollup contains them';
COMMENT ON COLUMN yquota_internal.rollup_day.day IS 'start of the day (UTC)';
COMMENT ON COLUMN yquota_internal.rollup_day.charges IS 'number of examined ledger rows that begin in the day';
COMMENT ON COLUMN yquota_internal.rollup_day.sums IS 'number of rows of the day in charge_rollup, or the number that it would have if the day had been rolled up';
COMMENT ON COLUMN yquota_internal.rollup_day.is_rolled_up IS 'true if charge_rollup contains the day; reports read other days from the ledger';

CREATE TABLE yquota_internal.rollup_state (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	horizon xid8,
	booked_from timestamptz NOT NULL DEFAULT '-infinity',
	next_xid xid8,
	rolled_up_at timestamptz,
	pricing_version bigint NOT NULL DEFAULT 0,
	charges_per_sum integer NOT NULL DEFAULT 5 CHECK (charges_per_sum >= 0)
);
INSERT INTO yquota_internal.rollup_state DEFAULT VALUES;
COMMENT ON TABLE yquota_internal.rollup_state IS 'State of charge_rollup';
COMMENT ON COLUMN yquota_internal.rollup_state.horizon IS 'transaction before which all rows of the ledger are included; NULL if none are';
COMMENT ON COLUMN yquota_internal.rollup_state.booked_from IS 'rows that are not included have this booked_at or a later one';
COMMENT ON COLUMN yquota_internal.rollup_state.next_xid IS 'first transaction id that was still unassigned at the last roll-up';
COMMENT ON COLUMN yquota_internal.rollup_state.rolled_up_at IS 'clock of the last roll-up, or the earliest clock that was set by hand since then';
COMMENT ON COLUMN yquota_internal.rollup_state.pricing_version IS 'newest pricing_change that is reflected in all rows of charge_rollup';
COMMENT ON COLUMN yquota_internal.rollup_state.charges_per_sum IS 'smallest number of ledger rows per sum at which a day is rolled up';

-- The trigger records the clock.  After the clock was set back, rows are booked at earlier times again.
CREATE FUNCTION yquota_internal.note_clock_for_rollup() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	UPDATE yquota_internal.rollup_state AS state
	SET booked_from = least(state.booked_from, yquota.clock()),
		rolled_up_at = least(state.rolled_up_at, yquota.clock())
	WHERE state.booked_from > yquota.clock() OR state.rolled_up_at > yquota.clock();
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_clock_for_rollup() IS
	'Record that rows may be booked from the time to which the clock has been set';
CREATE TRIGGER note_for_rollup AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.clock_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_clock_for_rollup();

-- Transaction ids can be compared if they are less than 2^31 apart.
CREATE VIEW yquota_internal.valid_rollup AS
	SELECT yquota_internal.prices_changed_from(state.pricing_version) AS until
	FROM yquota_internal.rollup_state AS state
	WHERE pg_snapshot_xmax(pg_current_snapshot())::text::numeric - state.horizon::text::numeric < 1000000000;
COMMENT ON VIEW yquota_internal.valid_rollup IS
	'Earliest instant from which a price has changed since charge_rollup was made; no row if charge_rollup must not be used';

CREATE VIEW yquota_internal.readable_rollup AS
	SELECT rollup.*
	FROM yquota_internal.charge_rollup AS rollup
	WHERE (SELECT yquota_internal.reads_all())
	   OR rollup.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.readable_rollup IS
	'Rows of charge_rollup that the calling role may see';

-- A row within one quarter-hour is rolled up with its booked amount.  Any other row is divided into one part for each
-- quarter-hour, and the parts are priced by the present timelines.  The booked amount of the row may come from earlier
-- timelines.  If the parts must add up to the booked amount (as_booked), the first part gets the rest that the other
-- parts leave.  Parts of a row that is free because of a preemption cost nothing.
CREATE TYPE yquota_internal.quarter_hour_sum AS (
	starts_at timestamptz,
	amount numeric,
	charges bigint
);
COMMENT ON TYPE yquota_internal.quarter_hour_sum IS
	'Cost of ledger rows in a quarter-hour';
COMMENT ON COLUMN yquota_internal.quarter_hour_sum.charges IS 'number of counted rows that begin in the quarter-hour';

CREATE FUNCTION yquota_internal.add_quarter_hours(
	state internal, allocation yquota.resource, factors text[], "from" timestamptz, "to" timestamptz,
	part_from timestamptz, amount numeric, sign integer, as_booked boolean, counts boolean) RETURNS internal
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_add_quarter_hours';
COMMENT ON FUNCTION yquota_internal.add_quarter_hours(internal, yquota.resource, text[], timestamptz, timestamptz, timestamptz, numeric, integer, boolean, boolean) IS
	'Transition function of quarter_hour_sums()';

CREATE FUNCTION yquota_internal.finish_quarter_hours(state internal) RETURNS yquota_internal.quarter_hour_sum[]
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_finish_quarter_hours';
COMMENT ON FUNCTION yquota_internal.finish_quarter_hours(internal) IS 'Final function of quarter_hour_sums()';

CREATE AGGREGATE yquota_internal.quarter_hour_sums(
	allocation yquota.resource, factors text[], "from" timestamptz, "to" timestamptz,
	part_from timestamptz, amount numeric, sign integer, as_booked boolean, counts boolean) (
	sfunc = yquota_internal.add_quarter_hours,
	stype = internal,
	-- this size is sufficient for an application that runs for a few hours
	sspace = 2048,
	finalfunc = yquota_internal.finish_quarter_hours,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.quarter_hour_sums(yquota.resource, text[], timestamptz, timestamptz, timestamptz, numeric, integer, boolean, boolean) IS
	'Ledger rows added up per quarter-hour, in order.  The part of each row after part_from is computed with the timelines and multiplied by sign.  A sign of -1 means that the row reverses another one, 0 that it is free.  If as_booked is true, the parts add up to the booked amount instead, and the first part contains the difference';

-- The function lists the columns of a ledger row for the aggregate.
CREATE FUNCTION yquota_internal.quarter_hour_sums_call(part_from text, as_booked boolean, counts text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format($query$
		yquota_internal.quarter_hour_sums(entering.allocation,
			yquota_internal.factor_names(entering.project, entering.application_id,
				entering.username, entering.queue, entering.node, entering."from", entering.execution_type, entering.waiting_factor),
			entering."from", entering."to", %1$s, entering.amount,
			CASE WHEN entering.given_back IS NOT NULL THEN 0 WHEN entering.corrects IS NULL THEN 1 ELSE -1 END, %2$L, %3$s)
		$query$, part_from, as_booked, counts);
COMMENT ON FUNCTION yquota_internal.quarter_hour_sums_call(text, boolean, text) IS
	'Return the SQL that adds up the ledger rows "entering" per quarter-hour';

CREATE VIEW yquota_internal.ledger_row AS
	SELECT charge.project, charge.application_id, charge.username, charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge."from", charge."to", charge.booked_at, charge.corrects, charge.amount, charge.given_back, charge.waiting_factor,
		   charge.xmin AS posted_by, charge.padding
	FROM yquota.charge
	UNION ALL
	SELECT reserved.project, NULL, reserved.username, reserved.queue, NULL, 'GUARANTEED', reserved.allocation,
		   reserved."from", reserved."to", reserved.booked_at, reserved.corrects, reserved.amount, NULL, reserved.reserved_factor,
		   reserved.xmin, NULL
	FROM yquota.reservation_charge AS reserved;
COMMENT ON VIEW yquota_internal.ledger_row IS
	'Rows of the ledgers of containers and of reservations, of all projects';

-- The argument is a query that returns ledger rows with their part_from.  is_new marks rows that have not been
-- counted in their days yet.
CREATE FUNCTION yquota_internal.roll_up_rows(
	rows_query text, booked_from timestamptz, old_horizon xid, new_horizon xid, part_from timestamptz, days timestamptz[]) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	added_rows bigint;
BEGIN
	EXECUTE format($query$
		WITH entering AS (
			%s
		), summed AS MATERIALIZED (
			SELECT yquota_internal.utc_day(part.starts_at) AS day, part.starts_at AS quarter_hour,
				   spent.project, spent.username, spent.queue, spent.application_id, spent.execution_type,
				   part.amount, part.charges
			FROM (SELECT entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type, %s AS parts
				  FROM entering
				  GROUP BY entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type) AS spent
			CROSS JOIN LATERAL unnest(spent.parts) AS part
			WHERE $5 IS NULL OR yquota_internal.utc_day(part.starts_at) = ANY ($5)
		), considered AS (
			INSERT INTO yquota_internal.rollup_day AS known (day, charges, sums, is_rolled_up)
			SELECT summed.day, sum(summed.charges), count(*), count(*) * state.charges_per_sum <= sum(summed.charges)
			FROM summed CROSS JOIN yquota_internal.rollup_state AS state
			GROUP BY summed.day, state.charges_per_sum
			ON CONFLICT (day) DO UPDATE
			SET charges = known.charges + excluded.charges,
				sums = known.sums + CASE WHEN known.is_rolled_up THEN excluded.sums ELSE 0 END
			RETURNING known.day, known.is_rolled_up
		)
		INSERT INTO yquota_internal.charge_rollup
		SELECT summed.quarter_hour, summed.project, summed.username, summed.queue, summed.application_id,
			   summed.execution_type, summed.amount
		FROM summed JOIN considered USING (day)
		WHERE considered.is_rolled_up
		$query$, rows_query, yquota_internal.quarter_hour_sums_call('entering.part_from', false, 'entering.is_new'))
	USING booked_from, old_horizon, new_horizon, part_from, days;
	GET DIAGNOSTICS added_rows = ROW_COUNT;
	RETURN added_rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.roll_up_rows(text, timestamptz, xid, xid, timestamptz, timestamptz[]) IS
	'Add up the ledger rows that a query returns, on the given days (NULL: all), and record these days in rollup_day.  Add the sums to charge_rollup for days that charge_rollup contains, and for new days with few sums.  Returns the number of rows added';

CREATE FUNCTION yquota_internal.void_rollup("from" timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH void AS (
			DELETE FROM yquota_internal.charge_rollup AS rollup WHERE rollup.quarter_hour >= void_rollup."from"
			RETURNING rollup.quarter_hour
		)
		UPDATE yquota_internal.rollup_day AS known SET sums = known.sums - gone.sums
		FROM (SELECT yquota_internal.utc_day(void.quarter_hour) AS day, count(*) AS sums FROM void GROUP BY 1) AS gone
		WHERE gone.day = known.day;
$$;
COMMENT ON FUNCTION yquota_internal.void_rollup(timestamptz) IS
	'Delete the quarter-hours from an instant on from charge_rollup, because their rows have to be divided again';

-- A day that is read from the ledger may have enough rows by now.  A day that is rolled up may have too many sums,
-- because each roll-up adds one sum per key.
CREATE FUNCTION yquota_internal.reconsider_rollup_days(booked_from timestamptz, new_horizon xid) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	days timestamptz[];
BEGIN
	WITH due AS (
		DELETE FROM yquota_internal.rollup_day AS known
		USING yquota_internal.rollup_state AS state
		WHERE CASE WHEN known.is_rolled_up THEN known.sums * state.charges_per_sum > known.charges * 2
				   ELSE known.sums * state.charges_per_sum <= known.charges END
		RETURNING known.day
	)
	SELECT array_agg(due.day ORDER BY due.day) INTO days FROM due;
	IF days IS NULL THEN
		RETURN 0;
	END IF;
	DELETE FROM yquota_internal.charge_rollup AS rollup
	WHERE rollup.quarter_hour >= days[1] AND yquota_internal.utc_day(rollup.quarter_hour) = ANY (days);
	RETURN yquota_internal.roll_up_rows($query$
			SELECT charge.*, $4 AS part_from, true AS is_new
			FROM yquota_internal.ledger_row AS charge
			WHERE charge."to" >= $4 AND charge."from" < $5[cardinality($5)] + interval '24 hours'
			  AND NOT (charge.booked_at >= $1 AND age(charge.posted_by) <= age($3))
		$query$, booked_from, NULL, new_horizon, days[1], days);
END
$$;
COMMENT ON FUNCTION yquota_internal.reconsider_rollup_days(timestamptz, xid) IS
	'Decide again, by all ledger rows of each day, whether days are rolled up.  Looks at days that are read from the ledger and may now have few sums for their rows, and at rolled-up days with many sums.  Returns the number of rows added to charge_rollup';

CREATE FUNCTION yquota.roll_up_charges() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
DECLARE
	state yquota_internal.rollup_state;
	now_at timestamptz := yquota.statement_clock();
	newest_version bigint;
	running pg_snapshot;
	void_from timestamptz;
	added bigint;
BEGIN
	SELECT * INTO STRICT state FROM yquota_internal.rollup_state FOR UPDATE;
	-- read the version before the ledger; a concurrent change of prices then invalidates the affected part
	SELECT coalesce(max(p.version), 0) INTO newest_version FROM yquota.pricing_change AS p;
	running := pg_current_snapshot();
	SELECT nullif(yquota_internal.quarter_hour(rollup.until), 'infinity') INTO void_from
	FROM yquota_internal.valid_rollup AS rollup;
	IF NOT FOUND OR void_from = '-infinity' THEN
		DELETE FROM yquota_internal.charge_rollup;
		DELETE FROM yquota_internal.rollup_day;
		state.horizon := NULL;
		state.booked_from := '-infinity';
		void_from := NULL;
	ELSIF void_from IS NOT NULL THEN
		PERFORM yquota_internal.void_rollup(void_from);
	END IF;

	-- read rows that are not included yet, and rows that have to be divided again
	added := yquota_internal.roll_up_rows($query$
			SELECT charge.*, '-infinity'::timestamptz AS part_from, true AS is_new
			FROM yquota_internal.ledger_row AS charge
			WHERE charge.booked_at >= $1
			  AND age(charge.posted_by) > age($3)
			  AND ($2 IS NULL OR age(charge.posted_by) <= age($2))
			UNION ALL
			SELECT charge.*, $4, false
			FROM yquota_internal.ledger_row AS charge
			WHERE charge."to" >= $4
			  AND NOT (charge.booked_at >= $1 AND age(charge.posted_by) <= age($2))
		$query$, state.booked_from, state.horizon::xid, pg_snapshot_xmin(running)::xid, void_from, NULL);
	added := added + yquota_internal.reconsider_rollup_days(state.booked_from, pg_snapshot_xmin(running)::xid);
	-- Advance booked_from.  A transaction that got its id since the last call has booked its rows since then.  This
	-- assumes that a statement does not wait for a day before its first write.
	UPDATE yquota_internal.rollup_state AS s
	SET horizon = pg_snapshot_xmin(running),
		next_xid = pg_snapshot_xmax(running),
		booked_from = CASE WHEN pg_snapshot_xmin(running) >= state.next_xid
						   THEN least(state.rolled_up_at, now_at) - interval '1 day'
						   ELSE state.booked_from END,
		rolled_up_at = now_at,
		pricing_version = newest_version;
	RETURN added;
END
$$;
COMMENT ON FUNCTION yquota.roll_up_charges() IS
	'Add ledger rows that were posted since the last call to the sums that reports read.  Days that would have many sums for their rows are left out.  Returns the number of sums added.  Results of reports do not change';
