-- Days of the bill.  The days must not change once charges are reported by day.  Their time zone is therefore in a row
-- of a table and not in a setting of sessions.

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
