--
-- The clock.  It is the system's clock unless a test or a demonstration sets it.
--

CREATE FUNCTION yquota.clock() RETURNS timestamptz
LANGUAGE C VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_clock';
COMMENT ON FUNCTION yquota.clock() IS
	'Return the present time of yquota: the system''s clock, or the instant of set_clock()';

CREATE FUNCTION yquota.statement_clock() RETURNS timestamptz
LANGUAGE C STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_statement_clock';
COMMENT ON FUNCTION yquota.statement_clock() IS
	'Return the clock of yquota at the start of the statement';

-- Signals every backend and wakes the worker when a transaction commits a change of the setting,
-- even if an administrator changes the row by hand.
CREATE FUNCTION yquota_internal.note_clock_setting() RETURNS trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_note_clock_setting';
COMMENT ON FUNCTION yquota_internal.note_clock_setting() IS
	'Announce a changed clock at commit';

CREATE TRIGGER note_clock_setting
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.clock_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_clock_setting();

CREATE FUNCTION yquota.set_clock(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF at IS NULL THEN
		RAISE null_value_not_allowed
			USING MESSAGE = 'the clock cannot be set to null',
				  HINT = 'Call yquota.reset_clock() to go back to the system''s clock.';
	ELSIF NOT isfinite(at) OR at >= '2100-01-01 00:00+00' THEN
		-- reject 2100 and later: roll-ups keep all quarter-hours of a charge in memory, and a charge could
		-- become too long
		RAISE datetime_field_overflow
			USING MESSAGE = format('the clock cannot be set to %s', at),
				  DETAIL = 'The clock must be before 2100-01-01, so that no container lives longer than roll-ups can add up.';
	END IF;
	INSERT INTO yquota_internal.clock_setting AS setting (at)
	VALUES (set_clock.at)
	ON CONFLICT (only_row) DO UPDATE SET at = excluded.at
	WHERE setting.at IS DISTINCT FROM excluded.at;
END
$$;
COMMENT ON FUNCTION yquota.set_clock(timestamptz) IS
	'Stop the clock at an instant for all sessions in this database, for tests and demonstrations';

CREATE FUNCTION yquota.reset_clock() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM yquota_internal.clock_setting;
$$;
COMMENT ON FUNCTION yquota.reset_clock() IS 'Return to the system''s clock';

ALTER TABLE yquota.container_event
	ALTER COLUMN occurred_at SET DEFAULT yquota.clock(),
	ALTER COLUMN recorded_at SET DEFAULT yquota.statement_clock();
ALTER TABLE yquota.price_factor ALTER COLUMN effective_at SET DEFAULT yquota.clock();
ALTER TABLE yquota.charging_rule ALTER COLUMN effective_at SET DEFAULT yquota.clock();

-- Prints an instant for a stored text independently of the settings of the session that writes
-- it.
CREATE FUNCTION yquota_internal.instant_text(at timestamptz) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE WHEN isfinite(at) THEN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || '+00' ELSE at::text END;
COMMENT ON FUNCTION yquota_internal.instant_text(timestamptz) IS
	'Format an instant to the second, in UTC, whatever DateStyle and TimeZone are';

--
-- Quarter-hours in UTC: midnight in every time zone is the start of a quarter-hour.
--

-- The function is not STRICT, because the planner would not inline it otherwise.
CREATE FUNCTION yquota_internal.quarter_hour(at timestamptz) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN isfinite(at) THEN date_bin('15 minutes', at, '2000-01-01 00:00+00') ELSE at END;
COMMENT ON FUNCTION yquota_internal.quarter_hour(timestamptz) IS
	'Return the start of the quarter-hour (UTC) of an instant';

CREATE FUNCTION yquota_internal.next_quarter_hour(at timestamptz) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN yquota_internal.quarter_hour(at) = at THEN at
				ELSE yquota_internal.quarter_hour(at) + interval '15 minutes' END;
COMMENT ON FUNCTION yquota_internal.next_quarter_hour(timestamptz) IS
	'Return the start of the first quarter-hour (UTC) at or after an instant';
