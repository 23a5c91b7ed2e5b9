-- Opening the books creates an outage of all projects that ends at the opening.  Containers keep their creation
-- times, but pay only from the opening on.

CREATE FUNCTION yquota.open_books(at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- use a date before any resource manager existed
	first_instant CONSTANT timestamptz := '1970-01-01 00:00+00';
	opened_at timestamptz;
BEGIN
	IF open_books.at IS NULL THEN
		RAISE EXCEPTION 'instant when books are opened must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(open_books.at) THEN
		RAISE EXCEPTION 'instant when books are opened must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF open_books.at <= first_instant THEN
		RAISE EXCEPTION 'books cannot be opened before %', first_instant
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM yquota_internal.lock_pricing();
	SELECT outage.ended_at INTO opened_at
	FROM yquota.outage AS outage
	WHERE outage.started_at = first_instant AND outage.project IS NULL AND outage.ended_at <> open_books.at
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'books have already been opened at %', opened_at
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Later charges can be forgiven with yquota.forgive().';
	END IF;
	RETURN yquota.report_outage(first_instant, open_books.at, 'books opened');
END
$$;
COMMENT ON FUNCTION yquota.open_books(timestamptz) IS
	'Set the instant at which the books open, once and for all.  Nothing is charged for time before it, and containers keep their creation times.  Returns the row of outage that records the opening.  Repeating the call does nothing';
