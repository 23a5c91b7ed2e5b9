-- Defines the days of bills.  They must not change once charges are reported by day.  Their time zone is therefore in a
-- row of a table and not in a setting of sessions.

CREATE TABLE yquota.billing_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	timezone text NOT NULL
);
COMMENT ON TABLE yquota.billing_setting IS
	'Settings of bills, at most one row.  They cannot change once anything has been charged or granted for a period, or a period has been closed';
COMMENT ON COLUMN yquota.billing_setting.only_row IS 'primary key; true';
COMMENT ON COLUMN yquota.billing_setting.timezone IS
	'time zone in which midnight separates the days of reports and the periods of budgets; a name of pg_timezone_names.  UTC if there is no row';

CREATE VIEW yquota_internal.billing_zone AS
	SELECT coalesce((SELECT setting.timezone FROM yquota.billing_setting AS setting), 'UTC') AS name;
COMMENT ON VIEW yquota_internal.billing_zone IS 'Time zone of bills';

CREATE FUNCTION yquota_internal.billing_timezone() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN (SELECT zone.name FROM yquota_internal.billing_zone AS zone);
COMMENT ON FUNCTION yquota_internal.billing_timezone() IS 'Return the time zone of bills';

CREATE FUNCTION yquota_internal.keep_billing_setting() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone_before text := CASE WHEN TG_OP = 'INSERT' THEN 'UTC' ELSE OLD.timezone END;
	zone_after text := CASE WHEN TG_OP = 'DELETE' THEN 'UTC' ELSE NEW.timezone END;
BEGIN
	IF yquota_internal.restoring() OR zone_before = zone_after THEN
		RETURN coalesce(NEW, OLD);
	ELSIF NOT EXISTS (SELECT FROM pg_timezone_names AS zone WHERE zone.name = zone_after) THEN
		RAISE EXCEPTION '"%" is not a time zone', zone_after
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Use a name of pg_timezone_names, such as UTC or Europe/Stockholm.';
	END IF;
	PERFORM yquota_internal.require_read_committed('change the time zone of bills');
	PERFORM yquota_internal.lock_pricing();
	PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event IN SHARE ROW EXCLUSIVE MODE', 120);
	IF EXISTS (SELECT FROM yquota.charge) OR EXISTS (SELECT FROM yquota.container) OR EXISTS (SELECT FROM yquota.reservation_charge)
		OR EXISTS (SELECT FROM yquota.opening_balance) OR EXISTS (SELECT FROM yquota_internal.budget_grant)
		OR EXISTS (SELECT FROM yquota.closed_period)
	THEN
		RAISE EXCEPTION 'time zone of bills cannot be changed from % to % any more', zone_before, zone_after
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The days of reported costs would move, because there are charges, budget grants or closed periods.',
				HINT = 'Ask for days of another time zone with cost_by_day(..., timezone => ...).';
	END IF;
	RETURN coalesce(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_billing_setting() IS
	'Refuse to change the time zone of bills once anything has been charged or granted for a period, or a period has been closed';

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.billing_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_billing_setting();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.billing_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();
SELECT pg_extension_config_dump('yquota.billing_setting', '');

--
-- Currency of bills.  A bill is in the currency in force at the last instant of its period.
--
CREATE TABLE yquota.billing_currency (
	effective_at timestamptz PRIMARY KEY,
	code text COLLATE "C" NOT NULL CHECK (code ~ '^[A-Z][A-Z][A-Z]$'),
	symbol text NOT NULL CHECK (symbol <> '' AND symbol !~ '[[:cntrl:]]'),
	credits_per_unit numeric NOT NULL
		CHECK (credits_per_unit > 0 AND credits_per_unit <= 1000000000000 AND scale(credits_per_unit) <= 18),
	places smallint NOT NULL DEFAULT 2 CHECK (places BETWEEN 0 AND 6),
	set_by name NOT NULL DEFAULT session_user,
	set_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE yquota.billing_currency IS
	'Timeline of the currency of bills.  A bill is in the currency in force at the last instant of its period, or in credits if there is none';
COMMENT ON COLUMN yquota.billing_currency.effective_at IS 'primary key; default the clock. Not before the end of the last closed period';
COMMENT ON COLUMN yquota.billing_currency.code IS 'code of ISO 4217, such as EUR: three capital letters';
COMMENT ON COLUMN yquota.billing_currency.symbol IS 'symbol on printed bills, not empty, no control characters';
COMMENT ON COLUMN yquota.billing_currency.credits_per_unit IS 'credits that one unit of the currency buys, such as 100 for a euro: above 0, at most 10^12, at most 18 decimals';
COMMENT ON COLUMN yquota.billing_currency.places IS 'decimals of rounded amounts, 0 to 6; default 2';
COMMENT ON COLUMN yquota.billing_currency.set_by IS 'filled in by the server: the session''s user';
COMMENT ON COLUMN yquota.billing_currency.set_at IS 'filled in by the server: the system''s clock';
COMMENT ON CONSTRAINT billing_currency_code_check ON yquota.billing_currency IS
	'It is a code of ISO 4217: three capital letters, such as EUR.';
ALTER TABLE yquota.billing_currency ALTER COLUMN effective_at SET DEFAULT yquota.clock();

CREATE FUNCTION yquota_internal.currency_at(at timestamptz) RETURNS yquota.billing_currency
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT currency FROM yquota.billing_currency AS currency
			WHERE currency.effective_at <= currency_at.at
			ORDER BY currency.effective_at DESC LIMIT 1);
COMMENT ON FUNCTION yquota_internal.currency_at(timestamptz) IS
	'Return the currency in force at an instant; NULL if there is none';

CREATE FUNCTION yquota_internal.keep_billed_currency() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed_from timestamptz := CASE TG_OP WHEN 'INSERT' THEN NEW.effective_at WHEN 'DELETE' THEN OLD.effective_at
										   ELSE least(OLD.effective_at, NEW.effective_at) END;
	closed_until timestamptz;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN coalesce(NEW, OLD);
	END IF;
	-- wait for a period that is being closed
	PERFORM yquota_internal.require_read_committed('change the currency of bills');
	PERFORM yquota_internal.lock_pricing();
	SELECT max(period.until) INTO closed_until FROM yquota.closed_period AS period;
	IF changed_from < closed_until THEN
		RAISE EXCEPTION 'currency of bills can no longer change at %', changed_from
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Periods are closed until %s.', closed_until),
				HINT = 'Insert a row that is effective at this instant or later.';
	ELSIF TG_OP <> 'DELETE' THEN
		NEW.set_by := session_user;
		NEW.set_at := clock_timestamp();
	END IF;
	RETURN coalesce(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_billed_currency() IS
	'Refuse to change the currency at an instant within closed periods, and fill in set_by and set_at';

CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.billing_currency
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_billed_currency();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.billing_currency
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();
SELECT pg_extension_config_dump('yquota.billing_currency', '');
