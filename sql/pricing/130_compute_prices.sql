--
-- Pricing, third part: utilization, the multipliers computed from it, and the
-- views of prices (docs/design.md 2).
--

CREATE FUNCTION yquota_internal.multiplier(
	used numeric, total numeric, tipping_point numeric, increment_factor numeric,
	max_multiplier numeric) RETURNS numeric
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_multiplier';
COMMENT ON FUNCTION yquota_internal.multiplier(numeric, numeric, numeric, numeric, numeric) IS
	'Return 1 + max(used / total - tipping point, 0) * increment factor, at most max_multiplier (NULL: no cap), rounded once, half to even, to 18 decimals';

-- The usage of GUARANTEED containers.  The counters contain the present usage.  For an instant before the latest
-- event, the usage is computed from the containers and the ledger.  A container's intervals in the ledger are
-- contiguous.
CREATE FUNCTION yquota_internal.guaranteed_usage(as_of timestamptz)
	RETURNS TABLE (resource_type text, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.last_event_at() > as_of THEN
		RETURN QUERY
			SELECT e.name, e.amount::numeric
			FROM (SELECT yquota.sum(h.allocation) AS allocation
				  FROM (SELECT c.allocation
						FROM yquota.container AS c
						WHERE c.execution_type = 'GUARANTEED' AND c.settled_at <= as_of
						UNION ALL
						SELECT CASE WHEN c.corrects IS NULL THEN c.allocation
									ELSE OPERATOR(yquota.-) c.allocation END
						FROM yquota.charge AS c
						WHERE c.execution_type = 'GUARANTEED' AND c.padding IS NULL
						  AND c."from" <= as_of AND c."to" > as_of) AS h) AS s,
				 LATERAL yquota.resource_entries(s.allocation) AS e;
	ELSE
		RETURN QUERY
			SELECT e.name, e.amount::numeric
			FROM (SELECT yquota.sum(h.allocation) AS allocation
				  FROM (SELECT u.allocation
						FROM yquota_internal.usage_counter AS u
						WHERE u.execution_type = 'GUARANTEED'
						UNION ALL
						SELECT d.allocation
						FROM yquota_internal.counter_change AS d
						WHERE d.scope IN ('a', 'u') AND d.execution_type = 'GUARANTEED') AS h) AS s,
				 LATERAL yquota.resource_entries(s.allocation) AS e;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.guaranteed_usage(timestamptz) IS
	'Return the usage of GUARANTEED containers running at an instant, in native units';

-- A resource type that the cluster has never offered is "absent" and does not change the price of its group.  A
-- GENERAL group without known types has the price of an empty cluster.
--
-- If the amount of a type has fallen below half of the earlier amount, its utilization is unknown until this state
-- has lasted for yquota.cluster_shrink_grace.  This time does not count while no node is RUNNING.
CREATE FUNCTION yquota_internal.measure_cluster(as_of timestamptz)
	RETURNS TABLE (
		resource_type text, price_group text, used numeric, pending numeric, total numeric,
		reported numeric, state text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH offered AS (
			SELECT e.name, sum(e.amount) AS amount
			FROM yquota.node AS n, LATERAL yquota.resource_entries(n.total) AS e
			WHERE n.state = 'RUNNING'
			GROUP BY e.name
		), demanded AS (
			-- demand consists of the present requests to the scheduler and of the requests that resource managers
			-- reported
			SELECT e.name, sum(e.amount) AS amount
			FROM (SELECT yquota_internal.requested_resources() AS demand
				  UNION ALL
				  SELECT d.demand
				  FROM yquota.pending_demand AS d
				  WHERE d.reported_at > as_of - yquota_internal.duration('yquota.utilization_max_age')
					AND d.reported_at <= as_of + yquota_internal.duration('yquota.max_clock_skew')) AS w,
				 LATERAL yquota.resource_entries(w.demand) AS e
			GROUP BY e.name
		), measured AS (
			SELECT t.name, t.price_group,
				   COALESCE(h.amount, 0) AS used,
				   COALESCE(d.amount, 0) AS pending,
				   COALESCE(o.amount, 0) AS total,
				   COALESCE(c.total, 0) AS remembered,
				   c.shrunk_since <= as_of - yquota_internal.duration('yquota.cluster_shrink_grace')
					AS has_stayed,
				   u.utilization AS reported
			FROM yquota.resource_type AS t
				LEFT JOIN yquota_internal.guaranteed_usage(as_of) AS h ON h.resource_type = t.name
				LEFT JOIN offered AS o ON o.name = t.name
				LEFT JOIN demanded AS d ON d.name = t.name
				LEFT JOIN yquota_internal.cluster_total AS c ON c.resource_type = t.name
				LEFT JOIN yquota.utilization AS u ON u.resource_type = t.name
					AND u.reported_at > as_of - yquota_internal.duration('yquota.utilization_max_age')
					AND u.reported_at <= as_of + yquota_internal.duration('yquota.max_clock_skew')
		)
		SELECT m.name, m.price_group, m.used, m.pending, m.total, m.reported,
			   CASE
				   WHEN (m.remembered > 0 OR m.used > 0)
					   AND NOT EXISTS (SELECT FROM offered WHERE amount > 0) THEN 'empty'
				   WHEN m.total <= 0 AND m.used > 0 THEN 'lost'
				   WHEN m.total <= 0 AND m.remembered > 0 AND m.has_stayed IS NOT TRUE THEN 'lost'
				   WHEN m.total <= 0 THEN 'absent'
				   WHEN m.total * 2 < m.remembered AND m.has_stayed IS NOT TRUE THEN 'shrunk'
				   ELSE 'measured'
			   END
		FROM measured AS m;
$$;
COMMENT ON FUNCTION yquota_internal.measure_cluster(timestamptz) IS
	'Return the usage, demand and total of each resource type in native units.  Also return the utilization reported from outside if it is recent enough, and the state of the cluster: measured, absent, empty, lost or shrunk';

CREATE FUNCTION yquota_internal.measure_price_groups(as_of timestamptz)
	RETURNS TABLE (price_group text, utilization numeric, multiplier numeric, unknown text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH cluster AS MATERIALIZED (
			SELECT * FROM yquota_internal.measure_cluster(as_of)
		)
		SELECT g.name, COALESCE(max(m.utilization), 0), COALESCE(max(m.multiplier), 1),
			   CASE WHEN g.name = 'GENERAL' AND count(m.utilization) = 0
					THEN COALESCE(min(m.unknown), 'empty') ELSE min(m.unknown) END
		FROM yquota.price_group AS g
			LEFT JOIN LATERAL (
				SELECT trim_scale(yquota_internal.divide_half_even(f.numerator, f.denominator, 18)) AS utilization,
					   yquota_internal.multiplier(f.numerator, f.denominator, g.tipping_point,
												  g.increment_factor, g.max_multiplier) AS multiplier,
					   CASE WHEN c.reported IS NULL AND c.state IN ('empty', 'lost', 'shrunk')
							THEN c.state END AS unknown
				FROM cluster AS c,
					 LATERAL (SELECT CASE WHEN c.reported IS NOT NULL THEN c.reported
										  WHEN c.state <> 'measured' THEN NULL
										  WHEN g.count_pending THEN c.used + c.pending
										  ELSE c.used END AS numerator,
									 CASE WHEN c.reported IS NULL THEN c.total
										  ELSE 1 END AS denominator) AS f
				WHERE c.price_group = g.name) AS m ON true
		GROUP BY g.name;
$$;
COMMENT ON FUNCTION yquota_internal.measure_price_groups(timestamptz) IS
	'Return for each price group the utilization of its most used resource type and the multiplier of the group alone.  If the utilization is not known, return the reason';

CREATE FUNCTION yquota_internal.remember_cluster(as_of timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	m record;
BEGIN
	FOR m IN SELECT * FROM yquota_internal.measure_cluster(as_of) LOOP
		IF m.state = 'measured' THEN
			INSERT INTO yquota_internal.cluster_total AS c (resource_type, total, accepted_at)
			VALUES (m.resource_type, m.total, as_of)
			ON CONFLICT (resource_type) DO UPDATE
				SET total = EXCLUDED.total, accepted_at = EXCLUDED.accepted_at, shrunk_since = NULL
				WHERE c.total <> EXCLUDED.total OR c.shrunk_since IS NOT NULL;
		ELSIF m.state = 'absent' THEN
			DELETE FROM yquota_internal.cluster_total AS c
			WHERE c.resource_type = m.resource_type;
		ELSE
			UPDATE yquota_internal.cluster_total AS c
			SET shrunk_since = CASE WHEN m.state <> 'empty' THEN as_of END
			WHERE c.resource_type = m.resource_type
			  AND (c.shrunk_since IS NULL) = (m.state <> 'empty');
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.remember_cluster(timestamptz) IS
	'Record the totals that are accepted, and since when other totals have been seen';

CREATE FUNCTION yquota_internal.keep_cluster_alert(
	group_name text, unknown text, as_of timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	raised_kind text := 'cluster_' || unknown;
BEGIN
	-- skip an alert that another transaction is changing; waiting for it is not worthwhile
	UPDATE yquota.alert AS a
	SET cleared_at = as_of
	WHERE a.alert_id IN (
		SELECT o.alert_id FROM yquota.alert AS o
		WHERE o.kind IN ('cluster_empty', 'cluster_lost', 'cluster_shrunk')
		  AND o.subject = group_name
		  AND o.cleared_at IS NULL
		  AND o.kind IS DISTINCT FROM raised_kind
		FOR UPDATE SKIP LOCKED);
	IF NOT EXISTS (SELECT FROM yquota.alert AS a
				   WHERE a.kind = raised_kind AND a.subject = group_name AND a.cleared_at IS NULL)
		AND raised_kind IS NOT NULL
	THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES (raised_kind, group_name,
				format('The multiplier of price group "%s" stays as it is: %s%s.', group_name,
					   CASE unknown
						   WHEN 'empty' THEN 'no RUNNING node offers any resources'
						   WHEN 'lost' THEN 'no RUNNING node offers a resource type that containers use or that nodes offered before'
						   ELSE 'RUNNING nodes offer less than half of their former total'
					   END,
					   CASE WHEN unknown <> 'empty' THEN
						   (SELECT ': ' || string_agg(m.resource_type, ', ' ORDER BY m.resource_type)
							FROM yquota_internal.measure_cluster(as_of) AS m
							WHERE m.price_group = group_name AND m.state = unknown AND m.reported IS NULL)
					   END), as_of);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_cluster_alert(text, text, timestamptz) IS
	'Raise one alert for a price group whose utilization is unknown.  If "unknown" is NULL, clear the alert';

-- A pin takes effect at its first point.  Before that point, prices are computed.
CREATE FUNCTION yquota_internal.pinned_until(group_name text, instant timestamptz)
	RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT n.until
			FROM yquota.price_pin AS n
			WHERE n.price_group = group_name
			  AND n.until > instant
			  AND ((SELECT p.pinned FROM yquota.price AS p
					WHERE p.price_group = group_name AND p.effective_at <= instant
					ORDER BY p.effective_at DESC
					LIMIT 1)
				   OR NOT EXISTS (SELECT FROM yquota.price AS p
								  WHERE p.price_group = group_name AND p.pinned
									AND p.effective_at > instant)));
COMMENT ON FUNCTION yquota_internal.pinned_until(text, timestamptz) IS
	'Return the end of the pin if the multiplier in force at an instant was set by hand; otherwise NULL';

CREATE FUNCTION yquota_internal.refusal_to_publish(group_name text, publish_at timestamptz)
	RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF EXISTS (SELECT FROM yquota.price AS p
			   WHERE p.price_group = group_name AND p.effective_at > publish_at AND NOT p.pinned)
	THEN
		RETURN 'the last published price is later';
	END IF;
	-- only a pinned point can lie in the future, unless the clock was set back
	IF (publish_at < yquota.statement_clock()
		OR EXISTS (SELECT FROM yquota.price AS p
				   WHERE p.price_group = group_name AND p.effective_at > publish_at))
		AND yquota_internal.settled_after(publish_at) IS NOT NULL
	THEN
		RETURN 'already charged';
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.refusal_to_publish(text, timestamptz) IS
	'Return the reason why a computed price cannot be published for an instant; NULL when it can be published';

CREATE FUNCTION yquota_internal.note_utilization(as_of timestamptz, groups text[], utilizations numeric[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota.utilization_history AS h (price_group, quarter_hour, measurements, average, highest)
		SELECT m.price_group, yquota_internal.quarter_hour(as_of), 1, m.utilization, m.utilization
		FROM unnest(groups, utilizations) AS m (price_group, utilization)
		ON CONFLICT ON CONSTRAINT utilization_history_pkey DO UPDATE
			SET measurements = h.measurements + 1, highest = greatest(h.highest, EXCLUDED.highest),
				average = trim_scale(round(h.average + (EXCLUDED.average - h.average) / (h.measurements + 1), 18));
$$;
COMMENT ON FUNCTION yquota_internal.note_utilization(timestamptz, text[], numeric[]) IS
	'Add measurements of price groups to the row of their quarter-hour';

CREATE FUNCTION yquota_internal.forget_utilization(before timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota.utilization_history AS h WHERE h.quarter_hour < before
			RETURNING 1)
		SELECT count(*) FROM forgotten;
$$;
COMMENT ON FUNCTION yquota_internal.forget_utilization(timestamptz) IS
	'Delete the rows of utilization_history whose quarter-hour began before an instant.  Returns the number of rows';

CREATE FUNCTION yquota_internal.try_lock_pricing() RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE NOWAIT;
	RETURN true;
EXCEPTION WHEN lock_not_available THEN
	RETURN false;
END
$$;
COMMENT ON FUNCTION yquota_internal.try_lock_pricing() IS
	'Take the lock of lock_pricing() without waiting.  Returns whether it got the lock';

-- The multiplier of GENERAL is computed first, because no group has a lower one.  One statement publishes all
-- multipliers, so that every session sees either the old or the new ones.
CREATE FUNCTION yquota.compute_prices(as_of timestamptz DEFAULT NULL)
	RETURNS TABLE (
		price_group text, utilization numeric, multiplier numeric, effective_at timestamptz,
		published boolean, reason text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 3
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	measured_at timestamptz := COALESCE(as_of, yquota.clock());
	publish_at timestamptz := measured_at + yquota_internal.duration('yquota.price_lead');
	may_publish boolean;
	in_force record;
	floor_multiplier numeric := 0;
	pinned_until timestamptz;
	refusal text;
	g record;
	groups text[] := '{}';
	multipliers numeric[] := '{}';
	utilizations numeric[] := '{}';
	measured_groups text[] := '{}';
	measured_utilizations numeric[] := '{}';
BEGIN
	IF NOT isfinite(measured_at) THEN
		RAISE EXCEPTION 'prices cannot be computed as of %', measured_at
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF as_of < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'prices cannot be computed as of %, which is before the archive horizon', as_of
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Containers that ended before %s have left the database.', yquota_internal.archive_horizon());
	END IF;
	may_publish := yquota_internal.try_lock_pricing();

	FOR g IN
		SELECT m.price_group, m.utilization, m.multiplier, m.unknown
		FROM yquota_internal.measure_price_groups(measured_at) AS m
		ORDER BY m.price_group <> 'GENERAL', m.price_group
	LOOP
		SELECT p.multiplier, p.effective_at INTO in_force
		FROM yquota.price AS p
		WHERE p.price_group = g.price_group AND p.effective_at <= publish_at
		ORDER BY p.effective_at DESC
		LIMIT 1;
		pinned_until := yquota_internal.pinned_until(g.price_group, publish_at);

		price_group := g.price_group;
		utilization := CASE WHEN g.unknown IS NULL THEN g.utilization END;
		multiplier := in_force.multiplier;
		effective_at := in_force.effective_at;
		published := false;
		IF g.unknown IS NULL THEN
			measured_groups := measured_groups || g.price_group;
			measured_utilizations := measured_utilizations || g.utilization;
		END IF;
		IF pinned_until IS NOT NULL THEN
			reason := format('pinned until %s', pinned_until);
		ELSIF g.unknown IS NOT NULL THEN
			reason := format('cluster is %s', g.unknown);
		ELSIF greatest(g.multiplier, floor_multiplier) = in_force.multiplier THEN
			reason := 'unchanged';
		ELSE
			refusal := CASE WHEN may_publish
				THEN yquota_internal.refusal_to_publish(g.price_group, publish_at)
				ELSE 'another change of prices is under way' END;
			IF refusal IS NOT NULL THEN
				reason := refusal;
			ELSE
				multiplier := greatest(g.multiplier, floor_multiplier);
				effective_at := publish_at;
				published := true;
				reason := CASE WHEN g.multiplier >= floor_multiplier THEN 'computed'
							   ELSE 'raised to GENERAL' END;
				groups := groups || g.price_group;
				multipliers := multipliers || multiplier;
				utilizations := utilizations || g.utilization;
			END IF;
		END IF;
		IF g.price_group = 'GENERAL' THEN
			floor_multiplier := multiplier;
		END IF;
		IF may_publish THEN
			PERFORM yquota_internal.keep_cluster_alert(g.price_group, g.unknown, measured_at);
		END IF;
		RETURN NEXT;
	END LOOP;

	IF may_publish THEN
		PERFORM yquota_internal.remember_cluster(measured_at);
		PERFORM yquota_internal.note_utilization(measured_at, measured_groups, measured_utilizations);
		PERFORM yquota_internal.show_base_prices();
		PERFORM yquota_internal.extend_calendars();
		INSERT INTO yquota.price AS p (price_group, effective_at, multiplier, utilization)
		SELECT u.price_group, publish_at, u.multiplier, u.utilization
		FROM unnest(groups, multipliers, utilizations) AS u (price_group, multiplier, utilization)
		ON CONFLICT ON CONSTRAINT price_pkey DO UPDATE
			SET multiplier = EXCLUDED.multiplier, utilization = EXCLUDED.utilization,
				pinned = false;
		IF EXISTS (SELECT FROM yquota.opportunistic_price) THEN
			INSERT INTO yquota.price_factor (dimension, name, effective_at, factor, load)
			SELECT 'execution_type', 'OPPORTUNISTIC', publish_at, measured.computed_factor, measured.load
			FROM yquota_internal.measure_opportunistic_price(measured_at, publish_at) AS measured
			WHERE measured.outcome = 'computed';
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota.compute_prices(timestamptz) IS
	'Compute the multiplier of every price group from the utilization at an instant (default the clock).  Publish the changed ones, yquota.price_lead ahead.  If the price of OPPORTUNISTIC containers follows the load of node queues, compute its factor, too (explain_opportunistic_price()).  Insert the points of calendars (price_calendar) 14 days ahead.  The function never waits for another change of prices';

-- In these views a price is in credits per native unit and second.  It is rounded in the same way as for charging: half
-- to even, to 18 decimals.

CREATE VIEW yquota.price_history AS
	SELECT t.name AS resource_type, i.effective_at, p.multiplier, b.base_price, b.unit,
		   trim_scale(yquota_internal.divide_half_even(p.multiplier * coalesce(c.factor, 1) * b.base_price, b.unit, 18)) AS price,
		   coalesce(c.factor, 1) AS calendar_factor, c.calendar
	FROM yquota.resource_type AS t
		CROSS JOIN LATERAL (
			SELECT m.effective_at FROM yquota.price AS m WHERE m.price_group = t.price_group
			UNION
			SELECT s.effective_at FROM yquota.base_price AS s WHERE s.resource_type = t.name
			UNION
			SELECT f.effective_at FROM yquota.calendar_factor AS f WHERE f.price_group = t.price_group) AS i
		CROSS JOIN LATERAL (
			SELECT m.multiplier FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at <= i.effective_at
			ORDER BY m.effective_at DESC LIMIT 1) AS p
		CROSS JOIN LATERAL (
			SELECT s.base_price, s.unit FROM yquota.base_price AS s
			WHERE s.resource_type = t.name AND s.effective_at <= i.effective_at
			ORDER BY s.effective_at DESC LIMIT 1) AS b
		LEFT JOIN LATERAL (
			SELECT f.factor, f.calendar FROM yquota.calendar_factor AS f
			WHERE f.price_group = t.price_group AND f.effective_at <= i.effective_at
			ORDER BY f.effective_at DESC LIMIT 1) AS c ON true;
COMMENT ON VIEW yquota.price_history IS
	'Price of every resource type at each point of its timelines; each row applies until the next one';
COMMENT ON COLUMN yquota.price_history.base_price IS 'credits per unit and second';
COMMENT ON COLUMN yquota.price_history.unit IS 'native units';
COMMENT ON COLUMN yquota.price_history.price IS 'credits per native unit and second';
COMMENT ON COLUMN yquota.price_history.calendar_factor IS 'factor that the price contains; 1 while no window of a calendar is open';
COMMENT ON COLUMN yquota.price_history.calendar IS 'name of the calendar; NULL while no window is open';

CREATE VIEW yquota.current_price AS
	SELECT t.name AS resource_type, t.price_group, p.multiplier, b.base_price, b.unit,
		   trim_scale(yquota_internal.divide_half_even(p.multiplier * coalesce(c.factor, 1) * b.base_price, b.unit, 18)) AS price,
		   greatest(p.effective_at, b.effective_at, c.effective_at) AS effective_at,
		   n.until AS pinned_until,
		   f.multiplier AS next_multiplier, f.effective_at AS next_effective_at,
		   trim_scale(yquota_internal.divide_half_even(p.multiplier * coalesce(c.factor, 1) * b.base_price, b.unit, 18) * b.unit * 3600)
			   AS unit_hour_price,
		   COALESCE(o.factor, 1) AS opportunistic_factor,
		   CASE WHEN x.effective_at IS NOT NULL THEN COALESCE(x.factor, 1) END AS next_opportunistic_factor,
		   x.effective_at AS next_opportunistic_effective_at,
		   coalesce(c.factor, 1) AS calendar_factor, c.calendar,
		   d.factor AS next_calendar_factor, d.calendar AS next_calendar, d.effective_at AS next_calendar_effective_at
	FROM yquota.resource_type AS t
		CROSS JOIN LATERAL (
			SELECT m.multiplier, m.effective_at FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at <= yquota.statement_clock()
			ORDER BY m.effective_at DESC LIMIT 1) AS p
		CROSS JOIN LATERAL (
			SELECT s.base_price, s.unit, s.effective_at FROM yquota.base_price AS s
			WHERE s.resource_type = t.name AND s.effective_at <= yquota.statement_clock()
			ORDER BY s.effective_at DESC LIMIT 1) AS b
		LEFT JOIN LATERAL (
			SELECT m.multiplier, m.effective_at FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at > yquota.statement_clock()
			ORDER BY m.effective_at LIMIT 1) AS f ON true
		LEFT JOIN LATERAL (
			SELECT s.factor FROM yquota.price_factor AS s
			WHERE s.dimension = 'execution_type' AND s.name = 'OPPORTUNISTIC' AND s.effective_at <= yquota.statement_clock()
			ORDER BY s.effective_at DESC LIMIT 1) AS o ON true
		LEFT JOIN LATERAL (
			SELECT s.factor, s.effective_at FROM yquota.price_factor AS s
			WHERE s.dimension = 'execution_type' AND s.name = 'OPPORTUNISTIC' AND s.effective_at > yquota.statement_clock()
			ORDER BY s.effective_at LIMIT 1) AS x ON true
		LEFT JOIN LATERAL (
			SELECT s.factor, s.calendar, s.effective_at FROM yquota.calendar_factor AS s
			WHERE s.price_group = t.price_group AND s.effective_at <= yquota.statement_clock()
			ORDER BY s.effective_at DESC LIMIT 1) AS c ON true
		LEFT JOIN LATERAL (
			SELECT s.factor, s.calendar, s.effective_at FROM yquota.calendar_factor AS s
			WHERE s.price_group = t.price_group AND s.effective_at > yquota.statement_clock()
			ORDER BY s.effective_at LIMIT 1) AS d ON true
		LEFT JOIN yquota.price_pin AS n
			ON n.price_group = t.price_group AND n.until > yquota.statement_clock();
COMMENT ON VIEW yquota.current_price IS
	'Present price of every resource type, with the next multiplier if one has been published ahead, and the next change by a calendar';
COMMENT ON COLUMN yquota.current_price.multiplier IS 'in force now';
COMMENT ON COLUMN yquota.current_price.base_price IS 'credits per unit and second, in force now';
COMMENT ON COLUMN yquota.current_price.unit IS 'native units';
COMMENT ON COLUMN yquota.current_price.price IS 'credits per native unit and second';
COMMENT ON COLUMN yquota.current_price.effective_at IS 'start of the present multiplier; -infinity when it has never changed';
COMMENT ON COLUMN yquota.current_price.pinned_until IS 'end of the time in which compute_prices() does not change the multiplier; NULL when the multiplier is not pinned';
COMMENT ON COLUMN yquota.current_price.next_multiplier IS 'multiplier published ahead; NULL if there is none';
COMMENT ON COLUMN yquota.current_price.unit_hour_price IS 'credits for holding one unit (unit native units) for an hour';
COMMENT ON COLUMN yquota.current_price.opportunistic_factor IS 'factor by which this price is multiplied for OPPORTUNISTIC containers now; 1 when none is in force. Factors of queues, applications and users are multiplied with it';
COMMENT ON COLUMN yquota.current_price.next_opportunistic_factor IS 'opportunistic_factor published ahead; NULL if there is none';
COMMENT ON COLUMN yquota.current_price.calendar_factor IS 'factor that the price contains; 1 while no window of a calendar is open';
COMMENT ON COLUMN yquota.current_price.calendar IS 'name of the calendar; NULL while no window is open';
COMMENT ON COLUMN yquota.current_price.next_calendar_factor IS 'calendar_factor from the next point on; NULL if there is no point within 14 days';
COMMENT ON COLUMN yquota.current_price.next_calendar IS 'calendar of next_calendar_factor; NULL if no window is open then';

--
-- A dump contains all rows of these tables.
--
SELECT pg_extension_config_dump('yquota.price_group', '');
SELECT pg_extension_config_dump('yquota.resource_type', '');
SELECT pg_extension_config_dump('yquota.base_price', '');
SELECT pg_extension_config_dump('yquota.price', '');
SELECT pg_extension_config_dump('yquota.price_pin', '');
SELECT pg_extension_config_dump('yquota.price_factor', '');
SELECT pg_extension_config_dump('yquota.charging_rule', '');
SELECT pg_extension_config_dump('yquota.outage', '');
SELECT pg_extension_config_dump('yquota.outage_outage_id_seq', '');
SELECT pg_extension_config_dump('yquota.pricing_change', '');
SELECT pg_extension_config_dump('yquota.utilization', '');
SELECT pg_extension_config_dump('yquota.utilization_history', '');
SELECT pg_extension_config_dump('yquota.pending_demand', '');
SELECT pg_extension_config_dump('yquota.alert', '');
SELECT pg_extension_config_dump('yquota.alert_alert_id_seq', '');
SELECT pg_extension_config_dump('yquota.node', '');
SELECT pg_extension_config_dump('yquota_internal.cluster_total', '');
