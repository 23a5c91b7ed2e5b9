-- Costs under other prices.
--
-- Terms are an object with any of the keys
--   base_prices   {"vcores": 2, "memory-mb": {"base_price": 1, "unit": 1024}}
--   price_groups  {"GENERAL": {"tipping_point": 0.3, "increment_factor": 2, "max_multiplier": null}}
--   factors       [{"dimension": "queue", "name": "root.prod", "factor": 2, "effective_at": ...}]
--   calendars     [{"name": "night", "price_group": "GPU", "timezone": "UTC", "from": "22:00", "to": "06:00", ...}]
--   charging_mode "sum"
--
-- Terms change the named prices and the charging mode of all projects, for all time.  All other prices stay unchanged.
-- Calendars in the terms replace all existing calendars.  The terms are converted to rows of the tables from which
-- amounts are computed.  These rows replace the tables while the same code computes the costs of the same intervals.

CREATE FUNCTION yquota_internal.cost_under_terms(
	query text, base_prices yquota.base_price[], multipliers yquota.price[],
	calendar_factors yquota.calendar_factor[], factors yquota.price_factor[],
	from_at timestamptz, to_at timestamptz, of_project text, charging_mode text, without_outages boolean DEFAULT false)
	RETURNS TABLE (project text, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_cost_under_terms';
COMMENT ON FUNCTION yquota_internal.cost_under_terms(text, yquota.base_price[], yquota.price[], yquota.calendar_factor[], yquota.price_factor[], timestamptz, timestamptz, text, text, boolean) IS
	'Run a query as if the tables had other rows.  A table is replaced if rows are given for it.  Without outages, no time is forgiven';

--
-- Terms as rows
--

CREATE FUNCTION yquota_internal.refuse_terms(detail text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid terms of prices'
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = detail,
			HINT = 'Terms are an object with any of "base_prices", "price_groups", "factors", "calendars" and "charging_mode".';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_terms(text) IS 'Raise the error about invalid terms';

CREATE FUNCTION yquota_internal.terms_base_prices(terms jsonb) RETURNS yquota.base_price[]
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	member record;
	type yquota.resource_type;
	price yquota.base_price;
	rows yquota.base_price[];
BEGIN
	IF terms -> 'base_prices' IS NULL THEN
		RETURN NULL;
	END IF;
	rows := ARRAY(SELECT b FROM yquota.base_price AS b WHERE NOT terms -> 'base_prices' ? b.resource_type);
	FOR member IN SELECT * FROM jsonb_each(terms -> 'base_prices') LOOP
		SELECT * INTO type FROM yquota.resource_type AS t WHERE t.name = member.key;
		IF NOT FOUND THEN
			PERFORM yquota_internal.refuse_terms(format('Resource type "%s" does not exist.', member.key));
		ELSIF jsonb_typeof(member.value) = 'object' AND member.value - '{base_price,unit}'::text[] <> '{}' THEN
			PERFORM yquota_internal.refuse_terms(format('The base price of "%s" is not a number or an object of "base_price" and "unit".', member.key));
		END IF;
		price.resource_type := member.key;
		price.effective_at := '-infinity';
		price.base_price := CASE jsonb_typeof(member.value) WHEN 'object' THEN member.value ->> 'base_price'
							ELSE member.value #>> '{}' END;
		price.unit := coalesce((CASE jsonb_typeof(member.value) WHEN 'object' THEN member.value ->> 'unit' END)::bigint, type.unit);
		IF (price.base_price >= 0 AND price.base_price <= 1000000000000 AND scale(price.base_price) <= 18 AND price.unit > 0) IS NOT TRUE THEN
			PERFORM yquota_internal.refuse_terms(format('The base price of "%s" is out of range.', member.key));
		END IF;
		rows := rows || price;
	END LOOP;
	RETURN rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.terms_base_prices(jsonb) IS
	'Return the rows of base_price under the terms; NULL if the terms change none';

CREATE FUNCTION yquota_internal.terms_price_groups(terms jsonb) RETURNS SETOF yquota.price_group
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	given jsonb;
	group_row yquota.price_group;
	unknown text;
BEGIN
	SELECT key INTO unknown FROM jsonb_object_keys(terms -> 'price_groups') AS key
	WHERE key NOT IN (SELECT g.name FROM yquota.price_group AS g);
	IF FOUND THEN
		PERFORM yquota_internal.refuse_terms(format('Price group "%s" does not exist.', unknown));
	END IF;
	FOR group_row IN SELECT * FROM yquota.price_group LOOP
		given := terms -> 'price_groups' -> group_row.name;
		IF jsonb_typeof(given) <> 'object' OR given - '{tipping_point,increment_factor,max_multiplier}'::text[] <> '{}' THEN
			PERFORM yquota_internal.refuse_terms(format('Price group "%s" is not an object of "tipping_point", "increment_factor" and "max_multiplier".', group_row.name));
		END IF;
		group_row.tipping_point := coalesce((given ->> 'tipping_point')::numeric, group_row.tipping_point);
		group_row.increment_factor := coalesce((given ->> 'increment_factor')::numeric, group_row.increment_factor);
		IF given ? 'max_multiplier' THEN
			group_row.max_multiplier := (given ->> 'max_multiplier')::numeric;
		END IF;
		IF NOT group_row.tipping_point BETWEEN 0 AND 1 OR NOT group_row.increment_factor BETWEEN 0 AND 1000000
			OR NOT group_row.max_multiplier BETWEEN 1 AND 1000000000000
		THEN
			PERFORM yquota_internal.refuse_terms(format('A number of price group "%s" is out of range.', group_row.name));
		END IF;
		RETURN NEXT group_row;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.terms_price_groups(jsonb) IS
	'Return the price groups under the terms';

-- The function computes multipliers from the recorded utilization, as compute_prices() would have computed them.
-- Pinned multipliers stay.  Whenever the multiplier of any group changes, no group gets a lower multiplier than
-- GENERAL.
CREATE FUNCTION yquota_internal.terms_multipliers(terms jsonb, from_at timestamptz, to_at timestamptz)
	RETURNS yquota.price[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET work_mem = '64MB' SET jit = off
	RETURN CASE WHEN terms -> 'price_groups' IS NOT NULL THEN ARRAY(
		WITH own AS MATERIALIZED (
			SELECT p.price_group, p.effective_at, p.pinned,
				   CASE WHEN p.pinned OR p.utilization IS NULL THEN p.multiplier
						ELSE yquota_internal.multiplier(p.utilization, 1, g.tipping_point, g.increment_factor, g.max_multiplier)
				   END AS multiplier
			FROM yquota_internal.terms_price_groups(terms) AS g
				CROSS JOIN LATERAL (SELECT max(b.effective_at) AS at FROM yquota.price AS b
									WHERE b.price_group = g.name AND b.effective_at <= from_at) AS first
				JOIN yquota.price AS p ON p.price_group = g.name AND p.effective_at >= first.at AND p.effective_at < to_at
		), point AS (
			SELECT own.price_group, own.effective_at, own.multiplier, own.pinned, NULL::numeric AS floor FROM own
			UNION ALL
			SELECT g.name, own.effective_at, NULL, NULL, own.multiplier
			FROM yquota.price_group AS g, own
			WHERE own.price_group = 'GENERAL' AND g.name <> 'GENERAL'
		), filled AS (
			SELECT point.price_group, point.effective_at,
				   yquota_internal.last_known(point.multiplier) OVER so_far AS multiplier,
				   yquota_internal.last_known(point.pinned) OVER so_far AS pinned,
				   yquota_internal.last_known(point.floor) OVER so_far AS floor
			FROM point
			WINDOW so_far AS (PARTITION BY point.price_group ORDER BY point.effective_at)
		)
		SELECT ROW(f.price_group, f.effective_at,
				   CASE WHEN f.pinned OR f.multiplier IS NULL THEN coalesce(f.multiplier, 1)
						ELSE greatest(f.multiplier, f.floor) END,
				   NULL, false, '', f.effective_at)::yquota.price
		FROM filled AS f) END;
COMMENT ON FUNCTION yquota_internal.terms_multipliers(jsonb, timestamptz, timestamptz) IS
	'Return the rows of price that apply between two instants under the terms; NULL if the terms change no group';

CREATE FUNCTION yquota_internal.terms_factors(terms jsonb) RETURNS yquota.price_factor[]
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	element jsonb;
	factor yquota.price_factor;
	rows yquota.price_factor[];
BEGIN
	IF terms -> 'factors' IS NULL THEN
		RETURN NULL;
	END IF;
	rows := ARRAY(SELECT f FROM yquota.price_factor AS f
				  WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(terms -> 'factors') AS e
									WHERE e ->> 'dimension' = f.dimension::text AND e ->> 'name' = f.name));
	FOR element IN SELECT * FROM jsonb_array_elements(terms -> 'factors') LOOP
		factor.dimension := element ->> 'dimension';
		factor.name := element ->> 'name';
		factor.factor := (element ->> 'factor')::numeric;
		factor.effective_at := coalesce((element ->> 'effective_at')::timestamptz, '-infinity');
		IF factor.dimension IS NULL OR coalesce(factor.name, '') = '' OR NOT element ? 'factor'
			OR element - '{dimension,name,factor,effective_at}'::text[] <> '{}'
			OR NOT (factor.factor >= 0 AND factor.factor <= 1000000 AND scale(factor.factor) <= 6)
		THEN
			PERFORM yquota_internal.refuse_terms('A factor needs a "dimension", a "name" and a "factor" in range, and may have an "effective_at": ' || left(element::text, 200));
		END IF;
		IF factor.dimension = 'project' AND NOT EXISTS (SELECT FROM yquota.project AS p WHERE p.name = factor.name) THEN
			PERFORM yquota_internal.refuse_name('project', factor.name);
		END IF;
		IF EXISTS (SELECT FROM unnest(rows) AS r
				   WHERE r.dimension = factor.dimension AND r.name = factor.name AND r.effective_at = factor.effective_at)
		THEN
			PERFORM yquota_internal.refuse_terms('A factor is listed twice: ' || left(element::text, 200));
		END IF;
		rows := rows || factor;
	END LOOP;
	RETURN rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.terms_factors(jsonb) IS
	'Return the rows of price_factor under the terms; NULL if the terms change none';

CREATE FUNCTION yquota_internal.terms_calendars(terms jsonb) RETURNS yquota.price_calendar[]
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	element jsonb;
	calendar yquota.price_calendar;
	rows yquota.price_calendar[] := '{}';
BEGIN
	IF terms -> 'calendars' IS NULL THEN
		RETURN NULL;
	END IF;
	FOR element IN SELECT * FROM jsonb_array_elements(terms -> 'calendars') LOOP
		IF jsonb_typeof(element) <> 'object'
			OR element - '{name,price_group,timezone,weekdays,from,to,factor,valid_from,valid_until}'::text[] <> '{}'
		THEN
			PERFORM yquota_internal.refuse_terms('A calendar must be an object of columns of price_calendar: ' || left(element::text, 200));
		END IF;
		calendar := jsonb_populate_record(NULL::yquota.price_calendar, element);
		calendar.weekdays := coalesce(calendar.weekdays, '{1,2,3,4,5,6,7}');
		calendar.valid_from := coalesce(calendar.valid_from, '-infinity');
		calendar.valid_until := coalesce(calendar.valid_until, 'infinity');
		IF (calendar.name <> '' AND EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = calendar.price_group)
			AND EXISTS (SELECT FROM pg_timezone_names AS zone WHERE zone.name = calendar.timezone)
			AND calendar.weekdays <@ '{1,2,3,4,5,6,7}' AND cardinality(calendar.weekdays) > 0
			AND calendar."from" < '24:00' AND calendar."to" IS NOT NULL AND calendar.valid_from < calendar.valid_until
			AND calendar.factor >= 0 AND calendar.factor <= 1000000 AND scale(calendar.factor) <= 6) IS NOT TRUE
		THEN
			PERFORM yquota_internal.refuse_terms('A calendar must be a valid row of price_calendar: ' || left(element::text, 200));
		ELSIF EXISTS (SELECT FROM unnest(rows) AS r WHERE r.name = calendar.name AND r.price_group = calendar.price_group) THEN
			PERFORM yquota_internal.refuse_terms('A calendar is listed twice: ' || left(element::text, 200));
		END IF;
		rows := rows || calendar;
	END LOOP;
	RETURN rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.terms_calendars(jsonb) IS
	'Return the rows of price_calendar under the terms; NULL if the terms change none';

CREATE FUNCTION yquota_internal.terms_calendar_factors(terms jsonb, from_at timestamptz, to_at timestamptz) RETURNS yquota.calendar_factor[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH given AS MATERIALIZED (
			SELECT yquota_internal.terms_calendars(terms) AS calendars
		)
		SELECT CASE WHEN terms ? 'calendars' THEN ARRAY(
			SELECT ROW(g.name, '-infinity', 1, NULL, false)::yquota.calendar_factor FROM yquota.price_group AS g
			UNION ALL
			SELECT p
			FROM given, yquota.price_group AS g
			CROSS JOIN LATERAL yquota_internal.calendar_points(
				given.calendars, g.name, from_at, least(to_at, yquota_internal.calendar_reach())) AS p
		) END;
$$;
COMMENT ON FUNCTION yquota_internal.terms_calendar_factors(jsonb, timestamptz, timestamptz) IS
	'Return the rows of calendar_factor under the terms between two instants; NULL if the terms have no calendars';

CREATE FUNCTION yquota_internal.check_terms(terms jsonb) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF jsonb_typeof(terms) <> 'object' THEN
		PERFORM yquota_internal.refuse_terms('The terms are not an object.');
	ELSIF terms - '{base_prices,price_groups,factors,calendars,charging_mode}'::text[] <> '{}' THEN
		PERFORM yquota_internal.refuse_terms(format('The terms have an unknown key "%s".', (SELECT key FROM jsonb_object_keys(terms - '{base_prices,price_groups,factors,calendars,charging_mode}'::text[]) AS key LIMIT 1)));
	ELSIF coalesce(jsonb_typeof(terms -> 'base_prices'), 'object') <> 'object' OR coalesce(jsonb_typeof(terms -> 'price_groups'), 'object') <> 'object'
		OR coalesce(jsonb_typeof(terms -> 'factors'), 'array') <> 'array' OR coalesce(jsonb_typeof(terms -> 'calendars'), 'array') <> 'array'
	THEN
		PERFORM yquota_internal.refuse_terms('"base_prices" and "price_groups" are objects, "factors" and "calendars" are arrays.');
	ELSIF terms ? 'charging_mode' AND coalesce(terms ->> 'charging_mode', '') <> ALL (enum_range(NULL::yquota.charging_mode)::text[]) THEN
		PERFORM yquota_internal.refuse_terms('"charging_mode" is "dearest", "sum" or "sum_of_groups".');
	END IF;
	PERFORM yquota_internal.terms_base_prices(terms), yquota_internal.terms_factors(terms), yquota_internal.terms_calendars(terms);
	PERFORM yquota_internal.notice_factor_without_queue(factor ->> 'name')
	FROM jsonb_array_elements(terms -> 'factors') AS factor WHERE factor ->> 'dimension' = 'queue';
	PERFORM FROM yquota_internal.terms_price_groups(terms);
EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range OR invalid_datetime_format OR datetime_field_overflow THEN
	PERFORM yquota_internal.refuse_terms(SQLERRM || '.');
END
$$;
COMMENT ON FUNCTION yquota_internal.check_terms(jsonb) IS 'Refuse invalid terms';

-- Computes the costs of the same intervals under both sets of prices.

CREATE FUNCTION yquota_internal.check_rerate("from" timestamptz, "to" timestamptz, terms jsonb, post boolean, reason text)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF terms IS NULL OR post IS NULL THEN
		RAISE EXCEPTION 'arguments of rerate must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM yquota_internal.check_report('rerate', '{project}', "from", "to");
	PERFORM yquota_internal.refuse_archived_window("from");
	PERFORM yquota_internal.check_terms(terms);
	IF terms ? 'calendars' AND NOT isfinite("from") THEN
		PERFORM yquota_internal.refuse_terms('"calendars" need a window with a finite beginning.');
	ELSIF post AND (reason IS NULL OR reason !~ E'\\S') THEN
		RAISE EXCEPTION 'corrections need a reason'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Say in "reason" why the prices were wrong.';
	ELSIF post AND (NOT isfinite("from") OR "to" > yquota.clock()) THEN
		RAISE EXCEPTION 'cannot post corrections for a window that has not ended'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The window goes from %s to %s, the clock shows %s.', "from", "to", yquota.clock());
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_rerate(timestamptz, timestamptz, jsonb, boolean, text) IS
	'Refuse invalid arguments of rerate()';

-- Writes the effect of terms between two instants in one form: the charging mode, and all prices and factors that
-- differ from those in force.
CREATE FUNCTION yquota_internal.terms_meaning(terms jsonb, from_at timestamptz, to_at timestamptz) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
		WITH factor AS MATERIALIZED (
			SELECT f.dimension, f.name, f.effective_at, f.factor, false AS is_term
			FROM yquota.price_factor AS f WHERE terms ? 'factors'
			UNION ALL
			SELECT f.dimension, f.name, f.effective_at, f.factor, true
			FROM unnest(yquota_internal.terms_factors(terms)) AS f
		), point AS (
			SELECT 'base price' AS kind, b.resource_type AS name, b.effective_at AS at,
				   yquota_internal.price_ratio(b.base_price, b.unit) AS value, false AS is_term, 1 AS rank
			FROM yquota.base_price AS b WHERE terms ? 'base_prices'
			UNION ALL
			SELECT 'base price', b.resource_type, b.effective_at, yquota_internal.price_ratio(b.base_price, b.unit), true, 1
			FROM unnest(yquota_internal.terms_base_prices(terms)) AS b
			UNION ALL
			SELECT 'multiplier', p.price_group, p.effective_at, trim_scale(p.multiplier)::text, false, 1
			FROM yquota.price AS p WHERE terms ? 'price_groups' AND p.effective_at < to_at
			UNION ALL
			SELECT 'multiplier', p.price_group, p.effective_at, trim_scale(p.multiplier)::text, true, 1
			FROM unnest(yquota_internal.terms_multipliers(terms, from_at, to_at)) AS p
			UNION ALL
			SELECT 'calendar', c.price_group, c.effective_at, trim_scale(c.factor)::text, false, 1
			FROM yquota.calendar_factor AS c WHERE terms ? 'calendars' AND c.effective_at < to_at
			UNION ALL
			-- a group without points has factor 1
			SELECT 'calendar', g.name, '-infinity', '1', false, 0 FROM yquota.price_group AS g WHERE terms ? 'calendars'
			UNION ALL
			SELECT 'calendar', c.price_group, c.effective_at, trim_scale(c.factor)::text, true, 1
			FROM unnest(yquota_internal.terms_calendar_factors(terms, from_at, to_at)) AS c
			UNION ALL
			SELECT f.dimension::text, f.name, f.effective_at, trim_scale(f.factor)::text, f.is_term, 1 FROM factor AS f
			UNION ALL
			-- before the first factor of a queue, a factor of a queue above it may apply
			SELECT named.dimension::text, named.name, '-infinity',
				   CASE WHEN EXISTS (SELECT FROM factor AS above
									 WHERE above.dimension = 'queue' AND named.dimension = 'queue'
									   AND starts_with(named.name, above.name || '.')) THEN 'none' ELSE '1' END,
				   side.is_term, 0
			FROM (SELECT DISTINCT factor.dimension, factor.name FROM factor) AS named
			CROSS JOIN (VALUES (false), (true)) AS side (is_term)
		), bounded AS (
			SELECT point.*, lead(point.at, 1, 'infinity') OVER (PARTITION BY point.kind, point.name, point.is_term ORDER BY point.at, point.rank) AS ends_at
			FROM point
		), cut AS (
			SELECT b.kind, b.name, b.is_term, extract(epoch FROM greatest(b.at, from_at)) AS at, b.value,
				   lag(b.value) OVER (PARTITION BY b.kind, b.name, b.is_term ORDER BY b.at, b.rank) AS before
			FROM bounded AS b
			WHERE b.ends_at > from_at AND b.at < to_at AND b.at < b.ends_at
		), timeline AS (
			SELECT cut.kind, cut.name, cut.is_term, jsonb_agg(jsonb_build_array(cut.at, cut.value) ORDER BY cut.at) AS points
			FROM cut WHERE cut.value IS DISTINCT FROM cut.before
			GROUP BY cut.kind, cut.name, cut.is_term
		)
		SELECT (coalesce(jsonb_object_agg(concat(other.kind, ' ', other.name), other.points), '{}')
				-- if all projects always pay for the dearest resource, no mode is in force
				|| CASE WHEN terms ->> 'charging_mode' <> 'dearest'
						  OR terms ? 'charging_mode' AND EXISTS (SELECT FROM yquota.charging_rule AS rule WHERE rule.charging_mode <> 'dearest')
						THEN jsonb_build_object('charging mode', terms -> 'charging_mode') ELSE '{}' END)::text
		FROM timeline AS other
		WHERE other.is_term
		  AND NOT EXISTS (SELECT FROM timeline AS present
						  WHERE NOT present.is_term AND present.kind = other.kind AND present.name = other.name
							AND present.points = other.points);
$$;
COMMENT ON FUNCTION yquota_internal.terms_meaning(jsonb, timestamptz, timestamptz) IS
	'Return the differences between the terms and the prices in force between two instants, as text.  Terms with the same effect have the same text';

CREATE VIEW yquota_internal.priced_segment AS
	SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type, c.allocation,
		   c."from", c."to", c.padding, c.corrects IS NOT NULL AS taken_back, c.waiting_factor
	FROM yquota.charge AS c
	-- the segment is free at any price because the container was preempted
	WHERE c.given_back IS NULL
	UNION ALL
	SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type, c.allocation,
		   c.settled_at, yquota.statement_clock(), NULL, false, c.waiting_factor
	FROM yquota.container AS c
	WHERE c.settled_at < yquota.statement_clock()
	UNION ALL
	SELECT r.project, NULL, r.username, r.queue, NULL, 'GUARANTEED', r.allocation, r."from", r."to", NULL, r.corrects IS NOT NULL, r.reserved_factor
	FROM yquota.reservation_charge AS r
	UNION ALL
	SELECT r.project, NULL, r.username, r.queue, NULL, 'GUARANTEED', r.allocation, r."from", r."to", NULL, false, r.reserved_factor
	FROM yquota_internal.accruing_segment AS r
	WHERE r."from" < r."to";
COMMENT ON VIEW yquota_internal.priced_segment IS
	'Parts of amounts: rows of the ledgers, including those that reverse other rows, and the cost of running containers and reservations up to the clock';

-- A single query for all parts reads each segment once.
CREATE FUNCTION yquota_internal.priced_cost_query(stretches text, condition text, cuts timestamptz[] DEFAULT NULL) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	-- the query contains instants as text, and other date styles may have ambiguous names of time zones
	SET datestyle = 'ISO'
	RETURN format($query$
			SELECT %4$s,
				   trim_scale(sum(CASE WHEN part.taken_back THEN -part.amount ELSE part.amount END))
			FROM (
				SELECT s.project, s.taken_back, within.part,
					   CASE WHEN s.padding IS NULL THEN yquota_internal.accrued(s.allocation, applying.names, greatest(stretch.since, within.since), least(stretch.until, within.until))
							ELSE yquota_internal.rate(s.allocation, applying.names, s."to") * yquota_internal.microseconds(s.padding) * 0.000001
					   END AS amount
				FROM yquota_internal.priced_segment AS s
				CROSS JOIN LATERAL %1$s AS stretch
				CROSS JOIN LATERAL (
					SELECT yquota_internal.factor_names(s.project, s.application_id, s.username, s.queue, s.node, stretch.since,
														s.execution_type, s.waiting_factor) AS names
					OFFSET 0) AS applying
				CROSS JOIN LATERAL %3$s AS within
				WHERE ($3 IS NULL OR s.project = $3) %2$s
				  AND (s."from" < $2 AND s."to" > $1 AND s.padding IS NULL
					   OR s."to" >= $1 AND s."to" < $2 AND s.padding IS NOT NULL)
			) AS part
			GROUP BY part.project, part.part
			$query$, stretches, condition,
			CASE WHEN cuts IS NULL THEN '(SELECT 1 AS part, $1 AS since, $2 AS until)'
				 ELSE format($parts$(
					SELECT number AS part, (%1$L::timestamptz[])[number] AS since, (%1$L::timestamptz[])[number + 1] AS until
					FROM generate_series(
						width_bucket(CASE WHEN s.padding IS NULL THEN greatest(s."from", $1) ELSE s."to" END, %1$L::timestamptz[]),
						width_bucket(CASE WHEN s.padding IS NULL THEN least(s."to", $2) - interval '1 microsecond' ELSE s."to" END,
									 %1$L::timestamptz[])) AS number)$parts$, cuts) END,
			CASE WHEN cuts IS NULL THEN 'part.project' ELSE $$concat(part.part, ' ', part.project)$$ END);
COMMENT ON FUNCTION yquota_internal.priced_cost_query(text, text, timestamptz[]) IS
	'Return the SQL that computes the cost of projects from priced_segment.  Its parameters are two instants and a project (NULL: all).  An expression gives the parts of a segment, and a condition selects segments.  The cost is divided at the ascending instants, if they are given, and each row begins with the number of its part';

CREATE FUNCTION yquota_internal.cost_by_terms(terms jsonb, from_at timestamptz, to_at timestamptz, of_project text)
	RETURNS TABLE (project text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
		SELECT cost.project, cost.amount
		FROM yquota_internal.cost_under_terms(yquota_internal.priced_cost_query(
			-- segments in the books end where a label with a factor in force changes; a label may also have a factor
			-- only in the terms
			CASE WHEN EXISTS (SELECT FROM jsonb_array_elements(terms -> 'factors') AS factor WHERE factor ->> 'dimension' = 'label')
				 THEN 'yquota_internal.label_stretches(s.node, s."from", s."to")'
				 ELSE '(SELECT s."from" AS since, s."to" AS until)' END, ''),
			yquota_internal.terms_base_prices(terms), yquota_internal.terms_multipliers(terms, from_at, to_at),
			yquota_internal.terms_calendar_factors(terms, from_at, to_at), yquota_internal.terms_factors(terms), from_at, to_at, of_project,
			terms ->> 'charging_mode') AS cost;
$$;
COMMENT ON FUNCTION yquota_internal.cost_by_terms(jsonb, timestamptz, timestamptz, text) IS
	'Return the cost of projects, or of one project, under the terms between two instants.  With the terms {}, return the present cost';

CREATE FUNCTION yquota_internal.correct_by(differences jsonb, reason text, external_id text) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota.quota_grant (project, amount, reason, kind, external_id)
		SELECT d.key, -d.value::numeric, correct_by.reason, 'correction', format('%s %s', correct_by.external_id, d.key)
		FROM jsonb_each_text(differences) AS d
		WHERE d.value::numeric <> 0
		ORDER BY d.key COLLATE "C"
		ON CONFLICT (external_id) DO NOTHING;
$$;
COMMENT ON FUNCTION yquota_internal.correct_by(jsonb, text, text) IS
	'Give credit back to projects or take it from them, according to the differences of their payments.  This is done once for each external_id';

CREATE FUNCTION yquota.rerate(
	"from" timestamptz, "to" timestamptz, terms jsonb, of_project text DEFAULT NULL,
	post boolean DEFAULT false, reason text DEFAULT NULL)
	RETURNS TABLE (project text, was numeric, would_be numeric, difference numeric, posted boolean)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	differences jsonb;
	prefix text;
BEGIN
	PERFORM yquota_internal.check_rerate("from", "to", terms, post, reason);
	PERFORM yquota_internal.check_project(of_project);
	PERFORM yquota_internal.refuse_while_deferred('price events again');
	prefix := format('rerate %s %s %s', extract(epoch FROM "from"), extract(epoch FROM "to"),
					 md5(yquota_internal.terms_meaning(terms, "from", "to")));
	SELECT jsonb_object_agg(name, jsonb_build_object('was', coalesce(real.amount, 0), 'would_be', coalesce(other.amount, 0))) INTO differences
	FROM (SELECT cost.project, sum(cost.amount) AS amount
		  FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], '{project}', rerate.of_project) AS cost
		  GROUP BY cost.project) AS real
	FULL JOIN yquota_internal.cost_by_terms(terms, "from", "to", rerate.of_project) AS other ON other.project = real.project
	CROSS JOIN LATERAL coalesce(real.project, other.project) AS name;
	IF post THEN
		PERFORM yquota_internal.correct_by(
			(SELECT jsonb_object_agg(d.key, (d.value ->> 'would_be')::numeric - (d.value ->> 'was')::numeric)
			 FROM jsonb_each(differences) AS d),
			reason, prefix);
	END IF;
	RETURN QUERY
	SELECT d.key, trim_scale((d.value ->> 'was')::numeric), trim_scale((d.value ->> 'would_be')::numeric),
		   trim_scale((d.value ->> 'would_be')::numeric - (d.value ->> 'was')::numeric),
		   EXISTS (SELECT FROM yquota.quota_grant AS g
				   WHERE g.external_id = format('%s %s', prefix, d.key))
	FROM jsonb_each(differences) AS d
	ORDER BY d.key;
END
$$;
COMMENT ON FUNCTION yquota.rerate(timestamptz, timestamptz, jsonb, text, boolean, text) IS
	'Return the cost of each project in a window, and the cost under other terms.  If requested, posts the difference as corrections of credit, once';

-- Tariffs that are not in force, for comparison with the tariff in force.

CREATE TABLE yquota.shadow_tariff (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	terms jsonb NOT NULL,
	description text
);
COMMENT ON TABLE yquota.shadow_tariff IS
	'Terms of prices that are not in force: shadow_costs() compares them with the prices in force';
COMMENT ON COLUMN yquota.shadow_tariff.name IS 'primary key';
COMMENT ON COLUMN yquota.shadow_tariff.terms IS 'terms, as rerate() takes them';

CREATE FUNCTION yquota_internal.keep_shadow_tariff() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() AND NEW.terms IS NOT NULL THEN
		PERFORM yquota_internal.check_terms(NEW.terms);
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_shadow_tariff() IS 'Refuse tariffs with invalid terms';
CREATE TRIGGER keep BEFORE INSERT OR UPDATE ON yquota.shadow_tariff
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_shadow_tariff();

CREATE FUNCTION yquota.shadow_costs("from" timestamptz, "to" timestamptz, of_project text DEFAULT NULL)
	RETURNS TABLE (tariff text, project text, was numeric, would_be numeric, difference numeric)
	LANGUAGE sql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		-- refuse an unknown project even if there is no tariff
		SELECT yquota_internal.check_project(of_project);
		SELECT t.name::text, cost.project, cost.was, cost.would_be, cost.difference
		FROM yquota.shadow_tariff AS t
		CROSS JOIN LATERAL yquota.rerate("from", "to", t.terms, of_project) AS cost
		ORDER BY 1, 2;
$$;
COMMENT ON FUNCTION yquota.shadow_costs(timestamptz, timestamptz, text) IS
	'Return the cost of each project in a window, and the cost under each shadow tariff';

SELECT pg_extension_config_dump('yquota.shadow_tariff', '');
