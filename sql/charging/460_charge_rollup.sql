--
-- Roll-ups: spending per quarter-hour, added up once.
--
-- They are derived from the ledger alone: a dump leaves them out, and reports
-- come to the same without them.  Quarter-hours (UTC), because every time
-- zone's midnight falls on one.  Rows are only added, readers add them up.
--
-- The posting transaction tells whether a row of the ledger has been rolled up:
-- all rows whose transaction had ended before the oldest one that was running
-- then.  No event waits for that, and a row that is committed late is simply
-- not in yet.  Transaction ids come round again, so the time of posting bounds
-- the search: every row that is not in was booked at booked_from or later.
--
-- Rows that cross the end of a quarter-hour were cut by the prices known then.
-- A later change of prices invalidates the roll-ups after it; these are read
-- from the ledger until they have been rolled up again.
--

-- Not STRICT: the planner would not inline it.
CREATE FUNCTION yquota_internal.last_instant("from" timestamptz, "to" timestamptz) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN "to" > "from" THEN "to" - interval '1 microsecond' ELSE "from" END;
COMMENT ON FUNCTION yquota_internal.last_instant(timestamptz, timestamptz) IS
	'Last microsecond of a segment; a padding row has one instant';

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
	'Parts of ledger rows added up per quarter-hour; each roll-up adds its own rows';
COMMENT ON COLUMN yquota_internal.charge_rollup.quarter_hour IS 'its start';
COMMENT ON COLUMN yquota_internal.charge_rollup.amount IS 'credits';

CREATE TABLE yquota_internal.rollup_state (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	horizon xid8,
	booked_from timestamptz NOT NULL DEFAULT '-infinity',
	next_xid xid8,
	rolled_up_at timestamptz,
	pricing_version bigint NOT NULL DEFAULT 0
);
INSERT INTO yquota_internal.rollup_state DEFAULT VALUES;
COMMENT ON TABLE yquota_internal.rollup_state IS 'State of charge_rollup';
COMMENT ON COLUMN yquota_internal.rollup_state.horizon IS 'rows of the ledger posted by earlier transactions are contained; NULL for none';
COMMENT ON COLUMN yquota_internal.rollup_state.booked_from IS 'rows that are not contained have this booked_at or a later one';
COMMENT ON COLUMN yquota_internal.rollup_state.next_xid IS 'first transaction id that had not been given out when it was last rolled up';
COMMENT ON COLUMN yquota_internal.rollup_state.rolled_up_at IS 'clock when it was last rolled up, or the earliest one that has been set since';
COMMENT ON COLUMN yquota_internal.rollup_state.pricing_version IS 'newest pricing_change that all of it takes into account';

-- After the clock was set back, rows are booked at earlier times again.
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
	'Rows may be booked from a clock on that has been set';
REVOKE ALL ON FUNCTION yquota_internal.note_clock_for_rollup() FROM PUBLIC;
CREATE TRIGGER note_for_rollup AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.clock_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_clock_for_rollup();

-- Ids can be compared while they are less than 2^31 apart.
CREATE VIEW yquota_internal.valid_rollup AS
	SELECT yquota_internal.prices_changed_from(state.pricing_version) AS until
	FROM yquota_internal.rollup_state AS state
	WHERE pg_snapshot_xmax(pg_current_snapshot())::text::numeric - state.horizon::text::numeric < 1000000000;
COMMENT ON VIEW yquota_internal.valid_rollup IS
	'Until when prices are still those that charge_rollup was cut by; no row while it is of no use';

CREATE VIEW yquota_internal.readable_rollup AS
	SELECT rollup.*
	FROM yquota_internal.charge_rollup AS rollup
	WHERE (SELECT yquota_internal.reads_all())
	   OR rollup.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.readable_rollup IS
	'Rows of charge_rollup that the calling role may see';

--
-- Rolling up.  Rows within a quarter-hour are taken as they are.  Parts of
-- others are valued at the timelines, and if they must add up to the booked
-- amount, maybe of earlier ones, the first part is the rest.  Parts of a row that is
-- free because of a preemption cost nothing.
--
CREATE FUNCTION yquota_internal.quarter_hours_query(keys text, as_booked boolean) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format($query$
		SELECT yquota_internal.quarter_hour(entering."from") AS quarter_hour, %1$s, entering.amount
		FROM entering
		WHERE yquota_internal.quarter_hour(entering."from")
			= yquota_internal.quarter_hour(yquota_internal.last_instant(entering."from", entering."to"))
		  AND entering."from" >= entering.part_from
		UNION ALL
		SELECT quarter.starts_at, %1$s,
			   CASE WHEN %2$L AND quarter.starts_at <= entering."from" THEN
					entering.amount - sign.of_row * yquota_internal.accrued(entering.allocation, applying.names,
						quarter.starts_at + interval '15 minutes', entering."to")
			   ELSE sign.of_row * yquota_internal.accrued(entering.allocation, applying.names,
						greatest(entering."from", quarter.starts_at),
						least(entering."to", quarter.starts_at + interval '15 minutes'))
			   END
		FROM entering
		CROSS JOIN LATERAL (
			SELECT yquota_internal.factor_names(entering.project, entering.application_id,
				entering.username, entering.queue, entering.execution_type, entering.waiting_factor) AS names
			OFFSET 0
		) AS applying
		CROSS JOIN LATERAL (SELECT CASE WHEN entering.given_back IS NOT NULL THEN 0
											  WHEN entering.corrects IS NULL THEN 1 ELSE -1 END AS of_row) AS sign
		CROSS JOIN LATERAL generate_series(
			yquota_internal.quarter_hour(greatest(entering."from", entering.part_from)),
			entering."to" - interval '1 microsecond', interval '15 minutes') AS quarter(starts_at)
		WHERE yquota_internal.quarter_hour(entering."from")
			<> yquota_internal.quarter_hour(yquota_internal.last_instant(entering."from", entering."to"))
		$query$, keys, as_booked);
COMMENT ON FUNCTION yquota_internal.quarter_hours_query(text, boolean) IS
	'SQL that cuts the ledger rows of "entering" at quarter-hours: quarter_hour, keys of theirs, and the amount of each piece; of a row only the part after its part_from, or as booked the whole, to which its pieces add up';
REVOKE ALL ON FUNCTION yquota_internal.quarter_hours_query(text, boolean) FROM PUBLIC;

CREATE VIEW yquota_internal.ledger_row AS
	SELECT charge.project, charge.application_id, charge.username, charge.queue, charge.execution_type, charge.allocation,
		   charge."from", charge."to", charge.booked_at, charge.corrects, charge.amount, charge.given_back, charge.waiting_factor,
		   charge.xmin AS posted_by
	FROM yquota.charge
	UNION ALL
	SELECT reserved.project, NULL, reserved.username, reserved.queue, 'GUARANTEED', reserved.allocation,
		   reserved."from", reserved."to", reserved.booked_at, reserved.corrects, reserved.amount, NULL, reserved.reserved_factor,
		   reserved.xmin
	FROM yquota.reservation_charge AS reserved;
COMMENT ON VIEW yquota_internal.ledger_row IS
	'Rows of the ledgers of containers and of reservations, of all projects';

CREATE FUNCTION yquota_internal.roll_up_rows(
	old_horizon xid, old_booked_from timestamptz, new_horizon xid, void_from timestamptz)
	RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	added_rows bigint;
BEGIN
	EXECUTE format($query$
		WITH entering AS (
			-- rows that are not contained yet, and rows that must be cut anew
			SELECT charge.*, '-infinity'::timestamptz AS part_from
			FROM yquota_internal.ledger_row AS charge
			WHERE charge.booked_at >= $2
			  AND age(charge.posted_by) > age($3)
			  AND ($1 IS NULL OR age(charge.posted_by) <= age($1))
			UNION ALL
			SELECT charge.*, $4
			FROM yquota_internal.ledger_row AS charge
			WHERE charge."to" >= $4
			  AND NOT (charge.booked_at >= $2 AND age(charge.posted_by) <= age($1))
		)
		INSERT INTO yquota_internal.charge_rollup
		SELECT piece.quarter_hour, piece.project, piece.username, piece.queue, piece.application_id,
			   piece.execution_type, sum(piece.amount)
		FROM (%s) AS piece
		GROUP BY piece.quarter_hour, piece.project, piece.username, piece.queue,
				 piece.application_id, piece.execution_type
		$query$, yquota_internal.quarter_hours_query(
			'entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type', false))
	USING old_horizon, old_booked_from, new_horizon, void_from;
	GET DIAGNOSTICS added_rows = ROW_COUNT;
	RETURN added_rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.roll_up_rows(xid, timestamptz, xid, timestamptz) IS
	'Add ledger rows to charge_rollup that were posted between two horizons, and from an instant on those posted before; returns the number of rows added';
REVOKE ALL ON FUNCTION yquota_internal.roll_up_rows(xid, timestamptz, xid, timestamptz) FROM PUBLIC;

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
	-- before the ledger is read: a concurrent change of prices invalidates the affected part
	SELECT coalesce(max(p.version), 0) INTO newest_version FROM yquota.pricing_change AS p;
	running := pg_current_snapshot();
	SELECT nullif(yquota_internal.quarter_hour(rollup.until), 'infinity') INTO void_from
	FROM yquota_internal.valid_rollup AS rollup;
	IF NOT FOUND OR void_from = '-infinity' THEN
		DELETE FROM yquota_internal.charge_rollup;
		state.horizon := NULL;
		state.booked_from := '-infinity';
		void_from := NULL;
	ELSIF void_from IS NOT NULL THEN
		DELETE FROM yquota_internal.charge_rollup AS rollup WHERE rollup.quarter_hour >= void_from;
	END IF;

	added := yquota_internal.roll_up_rows(state.horizon::xid, state.booked_from,
										  pg_snapshot_xmin(running)::xid, void_from);
	-- A transaction that got its id since the last time has booked since then.
	-- A statement that writes nothing for a day before it gets one is not
	-- considered.
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
	'Add the rows posted to the ledger since the last time to the roll-ups that reports read; returns the number of rows added.  Reports say the same before and after';
REVOKE ALL ON FUNCTION yquota.roll_up_charges() FROM PUBLIC;
