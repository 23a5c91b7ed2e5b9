-- Recurring prices: calendars such as a night tariff, and the points that are computed from them.
--
-- The points of calendar_factor are a timeline, like those of multipliers and base prices.  They are computed 14 days
-- ahead.  A changed calendar replaces the points that lie in the future.  If points were not computed in time, they
-- are inserted late.  The ledger is then corrected, as for any price that became visible late (docs/design.md 2).

CREATE TABLE yquota.price_calendar (
	name text COLLATE "C" NOT NULL CHECK (name <> ''),
	price_group text COLLATE "C" NOT NULL REFERENCES yquota.price_group ON DELETE CASCADE,
	timezone text NOT NULL,
	weekdays integer[] NOT NULL DEFAULT '{1,2,3,4,5,6,7}'
		CHECK (weekdays <@ '{1,2,3,4,5,6,7}' AND cardinality(weekdays) > 0),
	"from" time NOT NULL CHECK ("from" < '24:00'),
	"to" time NOT NULL,
	factor numeric NOT NULL CHECK (factor >= 0 AND factor <= 1000000 AND scale(factor) <= 6),
	valid_from timestamptz NOT NULL DEFAULT '-infinity',
	valid_until timestamptz NOT NULL DEFAULT 'infinity',
	PRIMARY KEY (name, price_group),
	CHECK (valid_from < valid_until)
);
COMMENT ON TABLE yquota.price_calendar IS
	'Recurring prices: in windows of local time, the prices of a group are multiplied by a factor';
COMMENT ON COLUMN yquota.price_calendar.name IS 'key; the name that bills show, such as night';
COMMENT ON COLUMN yquota.price_calendar.price_group IS 'key; references price_group. The factor applies to the resource types of this group only, even if it is GENERAL';
COMMENT ON COLUMN yquota.price_calendar.timezone IS 'time zone of the times of day and of the days; a name of pg_timezone_names';
COMMENT ON COLUMN yquota.price_calendar.weekdays IS 'days on which a window opens, 1 Monday to 7 Sunday; default all';
COMMENT ON COLUMN yquota.price_calendar."from" IS 'time of day at which a window opens';
COMMENT ON COLUMN yquota.price_calendar."to" IS 'time of day at which the window closes. A window with equal times lasts a whole day; if the closing time is before the opening time, the window closes on the next day';
COMMENT ON COLUMN yquota.price_calendar.factor IS '0 to 10^6, at most 6 decimals. Where windows of a group overlap, the lowest factor applies';
COMMENT ON COLUMN yquota.price_calendar.valid_from IS 'no window is open before this instant; default -infinity';
COMMENT ON COLUMN yquota.price_calendar.valid_until IS 'no window is open from this instant on; default infinity';
COMMENT ON CONSTRAINT price_calendar_weekdays_check ON yquota.price_calendar IS
	'It must list at least one weekday, from 1 (Monday) to 7 (Sunday).';

CREATE TABLE yquota.calendar_factor (
	price_group text COLLATE "C" NOT NULL REFERENCES yquota.price_group ON DELETE CASCADE,
	effective_at timestamptz NOT NULL CHECK (effective_at < 'infinity'),
	factor numeric NOT NULL CHECK (factor >= 0 AND factor <= 1000000 AND scale(factor) <= 6),
	calendar text COLLATE "C",
	changed boolean NOT NULL DEFAULT false,
	PRIMARY KEY (price_group, effective_at)
);
COMMENT ON TABLE yquota.calendar_factor IS
	'Timeline of the factors computed from price_calendar. Each row applies until the next one; a group without rows has factor 1';
COMMENT ON COLUMN yquota.calendar_factor.price_group IS 'key; references price_group';
COMMENT ON COLUMN yquota.calendar_factor.effective_at IS 'key; if a group has ever had a calendar, its first row is at -infinity, with factor 1';
COMMENT ON COLUMN yquota.calendar_factor.factor IS 'factor by which the prices of the group are multiplied';
COMMENT ON COLUMN yquota.calendar_factor.calendar IS 'name of the calendar; NULL while no window is open';
COMMENT ON COLUMN yquota.calendar_factor.changed IS 'true at an instant at which calendars or rules of time zones were changed; earlier points follow from the calendars and rules before the change';

-- The planner inlines this function into queries with a row per interval, as it inlines multiplier_in_force().
CREATE FUNCTION yquota_internal.calendar_in_force(resource_type text, at timestamptz) RETURNS yquota.calendar_factor
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN (SELECT f
			FROM yquota.calendar_factor AS f
			WHERE f.price_group = (SELECT t.price_group FROM yquota.resource_type AS t
								   WHERE t.name = calendar_in_force.resource_type)
			  AND f.effective_at <= calendar_in_force.at
			ORDER BY f.effective_at DESC
			LIMIT 1);
COMMENT ON FUNCTION yquota_internal.calendar_in_force(text, timestamptz) IS
	'Return the calendar point in force at an instant for a resource type; NULL if its price group never had a calendar';

CREATE FUNCTION yquota_internal.open_calendars("from" timestamptz, "to" timestamptz)
	RETURNS TABLE (starts_at timestamptz, calendars text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH point AS MATERIALIZED (
			SELECT "from" AS at
			UNION
			SELECT f.effective_at FROM yquota.calendar_factor AS f WHERE f.effective_at > "from" AND f.effective_at < "to"
		), priced AS MATERIALIZED (
			SELECT DISTINCT f.price_group FROM yquota.calendar_factor AS f
		), opened AS (
			SELECT point.at,
				   (SELECT string_agg(DISTINCT in_force.calendar, ', ' ORDER BY in_force.calendar)
					FROM priced
					CROSS JOIN LATERAL (
						SELECT f.calendar FROM yquota.calendar_factor AS f
						WHERE f.price_group = priced.price_group AND f.effective_at <= point.at
						ORDER BY f.effective_at DESC
						LIMIT 1) AS in_force) AS names
			FROM point
		), change AS (
			SELECT opened.at, opened.names, lag(coalesce(opened.names, '')) OVER (ORDER BY opened.at) AS before
			FROM opened
		)
		SELECT change.at, change.names
		FROM change
		WHERE change.before IS DISTINCT FROM coalesce(change.names, '')
		ORDER BY change.at;
$$;
COMMENT ON FUNCTION yquota_internal.open_calendars(timestamptz, timestamptz) IS
	'Return the names of the calendars that were open in at least one price group; NULL while none was.  There is a row for the first instant, and one for each change before the second instant';

-- Windows are computed only from dates and local times, whatever the time zone of the session.  A local time that a
-- change of clocks skips is read with the offset before the change.  If a local time occurs twice, the second
-- occurrence is used.
CREATE FUNCTION yquota_internal.calendar_windows(calendars yquota.price_calendar[], from_at timestamptz, to_at timestamptz)
	RETURNS TABLE (price_group text, name text, factor numeric, opens_at timestamptz, closes_at timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT c.price_group, c.name, c.factor, valid.opens_at, valid.closes_at
		FROM unnest(calendars) AS c
		CROSS JOIN LATERAL generate_series(
			((from_at AT TIME ZONE 'UTC')::date - '2000-01-01'::date) - 3, ((to_at AT TIME ZONE 'UTC')::date - '2000-01-01'::date) + 2) AS number
		CROSS JOIN LATERAL (SELECT '2000-01-01'::date + number AS day) AS d
		CROSS JOIN LATERAL (
			SELECT greatest((d.day + c."from") AT TIME ZONE c.timezone, c.valid_from) AS opens_at,
				   least((d.day + CASE WHEN c."to" > c."from" THEN 0 ELSE 1 END + c."to") AT TIME ZONE c.timezone, c.valid_until) AS closes_at
		) AS valid
		WHERE extract(isodow FROM d.day) = ANY (c.weekdays)
		  AND valid.opens_at < valid.closes_at AND valid.closes_at > from_at AND valid.opens_at <= to_at;
$$;
COMMENT ON FUNCTION yquota_internal.calendar_windows(yquota.price_calendar[], timestamptz, timestamptz) IS
	'Return the windows of calendars that are open at any time between two instants';

CREATE FUNCTION yquota_internal.calendar_points(
	calendars yquota.price_calendar[], price_group text, from_at timestamptz, to_at timestamptz)
	RETURNS SETOF yquota.calendar_factor
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH opened AS MATERIALIZED (
			SELECT w.*
			FROM yquota_internal.calendar_windows(
				ARRAY(SELECT c FROM unnest(calendars) AS c WHERE c.price_group = $2), from_at, to_at) AS w
		), cut AS (
			SELECT from_at AS at
			UNION SELECT w.opens_at FROM opened AS w WHERE w.opens_at > from_at
			UNION SELECT w.closes_at FROM opened AS w WHERE w.closes_at <= to_at
		), lowest AS (
			-- join by the day: comparing every window with every cut takes long if they cover years
			SELECT DISTINCT ON (cut.at) cut.at, w.factor, w.name
			FROM cut
			JOIN (SELECT w.*, generate_series((greatest(w.opens_at, from_at) AT TIME ZONE 'UTC')::date - '2000-01-01'::date,
											  (least(w.closes_at, to_at) AT TIME ZONE 'UTC')::date - '2000-01-01'::date) AS day
				  FROM opened AS w) AS w
				ON w.day = (cut.at AT TIME ZONE 'UTC')::date - '2000-01-01'::date AND w.opens_at <= cut.at AND w.closes_at > cut.at
			ORDER BY cut.at, w.factor, w.name COLLATE "C"
		), point AS (
			SELECT cut.at, coalesce(lowest.factor, 1) AS factor, lowest.name,
				   lag(ROW(coalesce(lowest.factor, 1), lowest.name)) OVER (ORDER BY cut.at) AS before
			FROM cut
			LEFT JOIN lowest USING (at)
		)
		SELECT $2, point.at, trim_scale(point.factor), point.name, false
		FROM point
		WHERE point.before IS DISTINCT FROM ROW(point.factor, point.name)
		ORDER BY point.at;
$$;
COMMENT ON FUNCTION yquota_internal.calendar_points(yquota.price_calendar[], text, timestamptz, timestamptz) IS
	'Return the points that follow from the calendars of one price group.  The first point is at the first instant.  Further points are at the changes before the second instant';

CREATE FUNCTION yquota_internal.calendar_reach() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota.statement_clock() + interval '336 hours';
COMMENT ON FUNCTION yquota_internal.calendar_reach() IS
	'Return the instant up to which the points of calendars are computed, 14 days ahead';

--
-- Making points
--

CREATE FUNCTION yquota_internal.replace_calendar_points(group_name text, changed_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	points yquota.calendar_factor[];
BEGIN
	-- calendars and points are deleted with their group
	IF NOT EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = group_name) THEN
		RETURN;
	END IF;
	points := ARRAY(
		SELECT ROW(group_name, '-infinity', 1, NULL, false)::yquota.calendar_factor
		UNION ALL
		SELECT ROW(p.price_group, p.effective_at, p.factor, p.calendar, p.effective_at = changed_at)::yquota.calendar_factor
		FROM yquota_internal.calendar_points(
			ARRAY(SELECT c FROM yquota.price_calendar AS c), group_name, changed_at, yquota_internal.calendar_reach()) AS p);
	DELETE FROM yquota.calendar_factor AS f
	WHERE f.price_group = group_name AND f.effective_at >= changed_at
	  AND NOT EXISTS (SELECT FROM unnest(points) AS p WHERE p.effective_at = f.effective_at);
	INSERT INTO yquota.calendar_factor AS f
	SELECT * FROM unnest(points)
	ON CONFLICT ON CONSTRAINT calendar_factor_pkey DO UPDATE
		SET factor = EXCLUDED.factor, calendar = EXCLUDED.calendar, changed = EXCLUDED.changed
		WHERE (f.factor, f.calendar, f.changed) IS DISTINCT FROM (EXCLUDED.factor, EXCLUDED.calendar, EXCLUDED.changed);
END
$$;
COMMENT ON FUNCTION yquota_internal.replace_calendar_points(text, timestamptz) IS
	'Replace the points of a price group from an instant on by the points that follow from its calendars.  The first new point is at that instant, so that the new calendars do not change earlier prices';

CREATE FUNCTION yquota_internal.last_calendar_points() RETURNS SETOF yquota.calendar_factor
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT last.*
		FROM (SELECT DISTINCT c.price_group FROM yquota.price_calendar AS c) AS g
		CROSS JOIN LATERAL (
			SELECT f.* FROM yquota.calendar_factor AS f
			WHERE f.price_group = g.price_group
			ORDER BY f.effective_at DESC
			LIMIT 1) AS last
		WHERE isfinite(last.effective_at);
$$;
COMMENT ON FUNCTION yquota_internal.last_calendar_points() IS
	'Return the last point of each price group that has calendars';

-- A point may be inserted late, if no process that computes points was running.  Even then it takes effect at its own
-- instant, in the past. note_pricing_change() corrects the ledger, except for the part that has been archived.
CREATE FUNCTION yquota_internal.calendar_points_after(last yquota.calendar_factor, until timestamptz) RETURNS SETOF yquota.calendar_factor
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT p.*
		FROM (SELECT yquota_internal.archive_horizon() AS at OFFSET 0) AS horizon
		CROSS JOIN LATERAL yquota_internal.calendar_points(
			ARRAY(SELECT c FROM yquota.price_calendar AS c), (last).price_group, greatest((last).effective_at, horizon.at), until) AS p
		WHERE p.effective_at > (last).effective_at
		  AND (p.effective_at > horizon.at OR (p.factor, p.calendar) IS DISTINCT FROM ((last).factor, (last).calendar));
$$;
COMMENT ON FUNCTION yquota_internal.calendar_points_after(yquota.calendar_factor, timestamptz) IS
	'Return the points of calendars after the last one of a price group, until an instant';

CREATE FUNCTION yquota_internal.calendar_points_ahead(until timestamptz) RETURNS SETOF yquota.calendar_factor
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT p.*
		FROM yquota_internal.last_calendar_points() AS last
		CROSS JOIN LATERAL yquota_internal.calendar_points_after(last, until) AS p;
$$;
COMMENT ON FUNCTION yquota_internal.calendar_points_ahead(timestamptz) IS
	'Return the points of calendars after the last one of each price group, until an instant';

CREATE FUNCTION yquota_internal.missing_calendar_points() RETURNS SETOF yquota.calendar_factor
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH last AS MATERIALIZED (
			SELECT l.* FROM yquota_internal.last_calendar_points() AS l
		), missing AS MATERIALIZED (
			SELECT p.*
			FROM last
			CROSS JOIN LATERAL yquota_internal.calendar_points_after(last, yquota_internal.calendar_reach()) AS p
		)
		SELECT * FROM missing
		UNION ALL
		-- return a point that changes nothing, so that the next search begins there and takes little time
		SELECT newest.price_group, yquota_internal.calendar_reach(), newest.factor, newest.calendar, false
		FROM (SELECT DISTINCT ON (known.price_group) known.*
			  FROM (SELECT * FROM last UNION ALL SELECT * FROM missing) AS known
			  ORDER BY known.price_group, known.effective_at DESC) AS newest
		WHERE newest.effective_at < yquota.statement_clock();
$$;
COMMENT ON FUNCTION yquota_internal.missing_calendar_points() IS
	'Return the missing points of calendars: those from the last point of each price group until 14 days ahead.  If nothing changes until then, one point repeats the last one';

CREATE FUNCTION yquota_internal.calendar_points_known() RETURNS TABLE (price_group text, until timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT known.price_group, coalesce(min(p.effective_at), yquota_internal.calendar_reach())
		FROM yquota_internal.last_calendar_points() AS known
		LEFT JOIN LATERAL yquota_internal.calendar_points_after(known, yquota_internal.calendar_reach()) AS p ON true
		GROUP BY known.price_group;
$$;
COMMENT ON FUNCTION yquota_internal.calendar_points_known() IS
	'Return the price groups that have calendars, each with the first of its missing points, or the instant 14 days ahead if none is missing';

-- Points that are in force are compared from the clock on.  Earlier points may follow from calendars that were
-- changed since.  If the clock was set back, this also applies to points before the last change.  Points after
-- the last one have not been computed yet, so they do not count as differences.
CREATE FUNCTION yquota_internal.calendar_differences()
	RETURNS TABLE (price_group text, effective_at timestamptz, due_factor numeric, due_calendar text, found_factor numeric, found_calendar text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH made AS MATERIALIZED (
			SELECT f.price_group, least(max(f.effective_at), yquota_internal.calendar_reach()) AS until,
				   greatest(yquota.statement_clock(), yquota_internal.archive_horizon(), max(f.effective_at) FILTER (WHERE f.changed)) AS since
			FROM yquota.calendar_factor AS f
			GROUP BY f.price_group
		), due AS (
			SELECT p.*
			FROM made
			CROSS JOIN LATERAL yquota_internal.calendar_points(
				ARRAY(SELECT c FROM yquota.price_calendar AS c), made.price_group, made.since, made.until) AS p
			WHERE made.since <= made.until
		), point AS (
			SELECT f.price_group, greatest(f.effective_at, made.since) AS effective_at, f.factor, f.calendar,
				   lag(ROW(f.factor, f.calendar)) OVER (PARTITION BY f.price_group ORDER BY f.effective_at) AS before
			FROM made
			JOIN yquota.calendar_factor AS f ON f.price_group = made.price_group
				AND f.effective_at <= made.until
				AND f.effective_at >= (SELECT max(g.effective_at) FROM yquota.calendar_factor AS g
									   WHERE g.price_group = made.price_group AND g.effective_at <= made.since)
			WHERE made.since <= made.until
		), found AS (
			SELECT point.* FROM point WHERE point.before IS DISTINCT FROM ROW(point.factor, point.calendar)
		)
		SELECT price_group, effective_at, due.factor, due.calendar, found.factor, found.calendar
		FROM due
		FULL JOIN found USING (price_group, effective_at)
		WHERE (due.factor, due.calendar) IS DISTINCT FROM (found.factor, found.calendar)
		UNION ALL
		SELECT c.price_group, NULL, NULL, string_agg(c.name, ', ' ORDER BY c.name), NULL, NULL
		FROM yquota.price_calendar AS c
		WHERE NOT EXISTS (SELECT FROM yquota.calendar_factor AS f WHERE f.price_group = c.price_group AND f.effective_at > '-infinity')
		GROUP BY c.price_group;
$$;
COMMENT ON FUNCTION yquota_internal.calendar_differences() IS
	'Return differences between the points of calendars from the clock on, until 14 days ahead, and the calendars.  The instant is NULL for a price group whose calendars have no points';

CREATE FUNCTION yquota_internal.calendar_factors_until(until timestamptz) RETURNS yquota.calendar_factor[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH ahead AS MATERIALIZED (SELECT p.* FROM yquota_internal.calendar_points_ahead(until) AS p)
		SELECT CASE WHEN EXISTS (SELECT FROM ahead) THEN
			ARRAY(SELECT f FROM yquota.calendar_factor AS f
				  UNION ALL
				  SELECT ROW(p.*)::yquota.calendar_factor FROM ahead AS p) END;
$$;
COMMENT ON FUNCTION yquota_internal.calendar_factors_until(timestamptz) IS
	'Return the rows that calendar_factor would have with the points of calendars until an instant; NULL when no point is missing';

-- Points may differ from the calendars because the server has new rules of time zones, or because the points were
-- changed by hand.  They are then replaced, as after a change of the calendars at the clock.
CREATE FUNCTION yquota_internal.extend_calendars() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF (EXISTS (SELECT FROM yquota.price_calendar) OR EXISTS (SELECT FROM yquota.calendar_factor))
		AND (EXISTS (SELECT FROM yquota_internal.missing_calendar_points()) OR EXISTS (SELECT FROM yquota_internal.calendar_differences()))
		AND yquota_internal.try_lock_pricing()
	THEN
		-- if the snapshot is old, conflict with a point that it does not see; the result is a serialization failure
		INSERT INTO yquota.calendar_factor
		SELECT * FROM yquota_internal.missing_calendar_points()
		ON CONFLICT DO NOTHING;
		PERFORM yquota_internal.replace_calendar_points(different.price_group, yquota.clock())
		FROM (SELECT DISTINCT d.price_group FROM yquota_internal.calendar_differences() AS d) AS different;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.extend_calendars() IS
	'Compute the points of calendars from the last ones until 14 days ahead.  Replace the points of price groups for which points in the future differ from the calendars.  If another transaction is changing prices, do nothing; a later call does the work';

--
-- Triggers
--

-- Compute missing points from the old calendars first.
CREATE FUNCTION yquota_internal.begin_calendar_change() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.lock_pricing();
		PERFORM yquota_internal.extend_calendars();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.begin_calendar_change() IS
	'Wait for other changes of prices before calendars are changed, and insert the missing points up to 14 days ahead';

CREATE FUNCTION yquota_internal.keep_price_calendar() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring()
		AND NOT EXISTS (SELECT FROM pg_timezone_names AS zone WHERE zone.name = NEW.timezone)
	THEN
		RAISE EXCEPTION '"%" is not a time zone', NEW.timezone
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Use a name of pg_timezone_names, such as UTC or Europe/Stockholm.';
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_price_calendar() IS
	'Refuse a calendar whose time zone does not exist';

CREATE FUNCTION yquota_internal.apply_price_calendar() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- read the clock after taking the lock, because the transaction that held the lock may have inserted a later
	-- point
	changed_at CONSTANT timestamptz := yquota.clock();
	groups text[];
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		groups := ARRAY(SELECT DISTINCT n.price_group FROM new_rows AS n ORDER BY 1);
	ELSIF TG_OP = 'DELETE' THEN
		groups := ARRAY(SELECT DISTINCT o.price_group FROM old_rows AS o ORDER BY 1);
	ELSIF TG_OP = 'UPDATE' THEN
		groups := ARRAY(SELECT n.price_group FROM new_rows AS n UNION SELECT o.price_group FROM old_rows AS o ORDER BY 1);
	ELSE
		groups := ARRAY(SELECT DISTINCT f.price_group FROM yquota.calendar_factor AS f ORDER BY 1);
	END IF;
	PERFORM yquota_internal.replace_calendar_points(name, changed_at) FROM unnest(groups) AS name;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_price_calendar() IS
	'Replace the points that lie in the future after a statement has changed calendars';

CREATE TRIGGER begin_change BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.price_calendar
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.begin_calendar_change();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OF timezone ON yquota.price_calendar
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_price_calendar();
CREATE TRIGGER apply_insert AFTER INSERT ON yquota.price_calendar
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.apply_price_calendar();
CREATE TRIGGER apply_update AFTER UPDATE ON yquota.price_calendar
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.apply_price_calendar();
CREATE TRIGGER apply_delete AFTER DELETE ON yquota.price_calendar
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.apply_price_calendar();
CREATE TRIGGER apply_truncate AFTER TRUNCATE ON yquota.price_calendar
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.apply_price_calendar();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.calendar_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER note_insert AFTER INSERT ON yquota.calendar_factor
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('calendar factor', 'price_group');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.calendar_factor
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('calendar factor', 'price_group');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.calendar_factor
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('calendar factor', 'price_group');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.calendar_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

SELECT pg_extension_config_dump('yquota.price_calendar', '');
SELECT pg_extension_config_dump('yquota.calendar_factor', '');
