-- Pricing, second part: the timelines of multipliers, base prices, factors and charging rules, and outages.
--
-- Normally points are added only at the end of a timeline.  A point before the clock can change only if no settled or
-- shown amount depends on it (docs/design.md 2).

CREATE FUNCTION yquota_internal.price_ratio(base_price numeric, unit bigint) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN (SELECT concat(div(atto, divisor), '/', div(unit, divisor))
			FROM (SELECT base_price * 1000000000000000000 AS atto, nullif(gcd(base_price * 1000000000000000000, unit::numeric), 0) AS divisor) AS term);
COMMENT ON FUNCTION yquota_internal.price_ratio(numeric, bigint) IS
	'Return a base price per native unit as text.  Equal prices have equal texts, whatever their units';

--
-- A point that repeats the value in force changes no amount.
--
CREATE FUNCTION yquota_internal.timeline_value(table_name text, point jsonb, part text DEFAULT NULL) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE
		-- before the first rule the default mode applies, which is not the value of a point
		WHEN part IS NOT NULL THEN coalesce(nullif(point -> part, CASE point ->> 'project' WHEN '' THEN '"dearest"' ELSE 'null' END::jsonb), '{}')
		WHEN table_name = 'price' THEN point -> 'multiplier'
		WHEN table_name = 'base_price' THEN to_jsonb(yquota_internal.price_ratio((point ->> 'base_price')::numeric, (point ->> 'unit')::bigint))
		ELSE jsonb_strip_nulls(point - '{dimension,name,effective_at,set_by,set_at,load}'::text[])
	END;
COMMENT ON FUNCTION yquota_internal.timeline_value(text, jsonb, text) IS
	'Return the part of a timeline''s row on which amounts depend, or only the given column of a charging rule';

CREATE FUNCTION yquota_internal.timeline_points(
	table_name text, old_row jsonb, new_row jsonb, part text, OUT at timestamptz, OUT value jsonb, OUT was_there boolean) RETURNS SETOF record
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	key_column CONSTANT text := CASE table_name
		WHEN 'price' THEN 'price_group' WHEN 'base_price' THEN 'resource_type' WHEN 'price_factor' THEN 'name' WHEN 'charging_rule' THEN 'project' END;
	condition CONSTANT text := concat(
		format('t.%1$I = $1 ->> %1$L', key_column),
		CASE WHEN table_name = 'price_factor' THEN ' AND t.dimension::text = $1 ->> ''dimension''' END);
	first_at CONSTANT timestamptz := least((old_row ->> 'effective_at')::timestamptz, (new_row ->> 'effective_at')::timestamptz);
	last_at CONSTANT timestamptz := greatest((old_row ->> 'effective_at')::timestamptz, (new_row ->> 'effective_at')::timestamptz);
BEGIN
	IF old_row ->> key_column <> new_row ->> key_column OR old_row ->> 'dimension' <> new_row ->> 'dimension' THEN
		-- the change moves the point to another timeline
		RETURN QUERY SELECT first_at, '{}'::jsonb, true;
		RETURN QUERY SELECT first_at, '{"moved": true}'::jsonb, false;
		RETURN;
	END IF;
	-- read the points from the one before the change to the one after it; the points between them do not take effect
	RETURN QUERY EXECUTE format($query$
		SELECT t.effective_at, yquota_internal.timeline_value($2, to_jsonb(t), $5), true
		FROM yquota.%1$I AS t
		WHERE %2$s
		  AND t.effective_at >= coalesce((SELECT max(t.effective_at) FROM yquota.%1$I AS t WHERE %2$s AND t.effective_at < $3), '-infinity')
		  AND t.effective_at <= coalesce((SELECT min(t.effective_at) FROM yquota.%1$I AS t WHERE %2$s AND t.effective_at > $4), 'infinity')
		$query$, table_name, condition)
	USING coalesce(old_row, new_row), table_name, first_at, last_at, part;
	IF new_row IS NOT NULL THEN
		RETURN QUERY SELECT (new_row ->> 'effective_at')::timestamptz, yquota_internal.timeline_value(table_name, new_row, part), false;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.timeline_points(text, jsonb, jsonb, text) IS
	'Return the points of a timeline around those that a change of one row affects, together with the new point.  The values are those of value_column if it is given';

CREATE FUNCTION yquota_internal.timeline_changed_from(table_name text, old_row jsonb, new_row jsonb, part text DEFAULT NULL) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH point AS MATERIALIZED (
			SELECT p.at, p.value, p.was_there,
				   NOT p.was_there
				   OR p.at NOT IN (coalesce((old_row ->> 'effective_at')::timestamptz, 'infinity'),
								   coalesce((new_row ->> 'effective_at')::timestamptz, 'infinity')) AS is_there
			FROM yquota_internal.timeline_points(table_name, old_row, new_row, part) AS p
		)
		SELECT min(i.at)
		FROM (SELECT DISTINCT point.at FROM point) AS i
		WHERE coalesce((SELECT point.value FROM point WHERE point.was_there AND point.at <= i.at ORDER BY point.at DESC LIMIT 1), '{}')
			  <> coalesce((SELECT point.value FROM point WHERE point.is_there AND point.at <= i.at ORDER BY point.at DESC LIMIT 1), '{}');
$$;
COMMENT ON FUNCTION yquota_internal.timeline_changed_from(text, jsonb, jsonb, text) IS
	'Return the earliest instant at which another value is in force after a row was inserted, updated or deleted; NULL when there is none.  If a column is given, only its value counts';

CREATE FUNCTION yquota_internal.check_project(project text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF project IS NOT NULL AND NOT EXISTS (SELECT FROM yquota.project AS p WHERE p.name = check_project.project) THEN
		PERFORM yquota_internal.refuse_name('project', project);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_project(text) IS
	'Refuse a project that does not exist; NULL is allowed';

-- A charging mode applies to running containers at once, as a price does.  The other columns of a rule apply to
-- containers, waits and reservations that begin under the rule.
CREATE FUNCTION yquota_internal.check_rule(old_row jsonb, new_row jsonb, changed_at timestamptz, what text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- a point that moves to another timeline may affect all projects
	of_project text := CASE WHEN (old_row ->> 'project') <> (new_row ->> 'project') THEN ''
					   ELSE coalesce(new_row, old_row) ->> 'project' END;
	mode_changed_at timestamptz := yquota_internal.timeline_changed_from('charging_rule', old_row, new_row, 'charging_mode');
BEGIN
	IF mode_changed_at IS NOT NULL THEN
		PERFORM yquota_internal.check_past_point(mode_changed_at, what, nullif(of_project, ''));
	END IF;
	IF of_project = '' THEN
		PERFORM yquota_internal.check_past_rule(changed_at, what);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_rule(jsonb, jsonb, timestamptz, text) IS
	'Refuse a change of a charging rule in the past if it would change the cost of anything settled or shown';

CREATE FUNCTION yquota_internal.keep_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	what text := TG_ARGV[0];
	changed_at timestamptz;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		IF NEW.effective_at = 'infinity' THEN
			RAISE EXCEPTION 'cannot set % at infinity', what
				USING ERRCODE = 'datetime_field_overflow';
		END IF;
		NEW.set_by := session_user;
		NEW.set_at := clock_timestamp();
		IF TG_TABLE_NAME = 'price_factor' THEN
			-- reject a name that is not an execution type, because it would never match
			PERFORM NEW.name::yquota.execution_type WHERE NEW.dimension = 'execution_type';
			PERFORM yquota_internal.notice_factor_without_queue(NEW.name) WHERE NEW.dimension = 'queue';
			PERFORM yquota_internal.check_project(NEW.name) WHERE NEW.dimension = 'project';
		ELSIF TG_TABLE_NAME = 'charging_rule' THEN
			PERFORM yquota_internal.check_project(NEW.project) WHERE NEW.project <> '';
		END IF;
	END IF;

	-- The first point is inserted and deleted together with the price group or resource type that owns the timeline.
	IF TG_TABLE_NAME IN ('price', 'base_price') THEN
		IF TG_OP = 'INSERT' THEN
			IF NOT yquota_internal.has_timeline(TG_TABLE_NAME, to_jsonb(NEW)) THEN
				RETURN NEW;
			END IF;
		ELSIF OLD.effective_at = '-infinity' AND NOT yquota_internal.has_owner(TG_TABLE_NAME, to_jsonb(OLD)) THEN
			RETURN OLD;
		ELSIF OLD.effective_at = '-infinity' AND (TG_OP = 'DELETE' OR NEW.effective_at <> '-infinity') THEN
			RAISE EXCEPTION 'cannot remove % at -infinity', what
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'Every timeline begins at -infinity.',
					HINT = 'Update the value of the row.';
		ELSIF TG_OP = 'DELETE' AND NOT yquota_internal.has_owner(TG_TABLE_NAME, to_jsonb(OLD)) THEN
			RETURN OLD;
		END IF;
	END IF;

	changed_at := CASE TG_OP WHEN 'INSERT' THEN NEW.effective_at
							 WHEN 'DELETE' THEN OLD.effective_at
							 ELSE least(NEW.effective_at, OLD.effective_at) END;
	IF changed_at < yquota.statement_clock() AND yquota_internal.timeline_changed_from(
		TG_TABLE_NAME, CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END) IS NULL
	THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_TABLE_NAME = 'charging_rule' THEN
		PERFORM yquota_internal.check_rule(CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
										   CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END, changed_at, what);
	ELSE
		PERFORM yquota_internal.check_past_point(changed_at, what);
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_timeline() IS
	'Refuse changes of a timeline in the past if they would change charges.  Record the role that set a point, and the time';

CREATE FUNCTION yquota_internal.has_timeline(table_name text, point jsonb) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE table_name
		WHEN 'price' THEN EXISTS (SELECT FROM yquota.price
								  WHERE price_group = point ->> 'price_group')
		ELSE EXISTS (SELECT FROM yquota.base_price
					 WHERE resource_type = point ->> 'resource_type')
	END;
COMMENT ON FUNCTION yquota_internal.has_timeline(text, jsonb) IS
	'Tell whether the price group or resource type of a point has any point yet';

CREATE FUNCTION yquota_internal.has_owner(table_name text, point jsonb) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE table_name
		WHEN 'price' THEN EXISTS (SELECT FROM yquota.price_group
								  WHERE name = point ->> 'price_group')
		ELSE EXISTS (SELECT FROM yquota.resource_type
					 WHERE name = point ->> 'resource_type')
	END;
COMMENT ON FUNCTION yquota_internal.has_owner(text, jsonb) IS
	'Tell whether the price group or resource type of a point exists.  It no longer exists when its points are deleted together with it';

-- A statement is one change: new_rows and old_rows are its transition tables.  A first point, or the points of a
-- deleted timeline, cannot have priced any amount.  For these points the change takes effect at the clock.
CREATE FUNCTION yquota_internal.note_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET intervalstyle = 'postgres'
	AS $$
DECLARE
	what text := TG_ARGV[0];
	key_column text := TG_ARGV[1];
	changed_from timestamptz;
	keys text;
	names_changed boolean := false;
	of_labels boolean := false;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		SELECT min(CASE WHEN n.effective_at = '-infinity' AND what IN ('multiplier', 'base price', 'calendar factor')
						THEN yquota.statement_clock() ELSE n.effective_at END),
			   string_agg(DISTINCT coalesce(nullif(to_jsonb(n) ->> 'project', ''), to_jsonb(n) ->> key_column), ', ')
		INTO changed_from, keys
		FROM new_rows AS n;
	ELSIF TG_OP = 'DELETE' THEN
		SELECT CASE WHEN bool_or(o.effective_at = '-infinity') AND what IN ('multiplier', 'base price', 'calendar factor')
					THEN yquota.statement_clock() ELSE min(o.effective_at) END,
			   string_agg(DISTINCT coalesce(nullif(to_jsonb(o) ->> 'project', ''), to_jsonb(o) ->> key_column), ', ')
		INTO changed_from, keys
		FROM old_rows AS o;
	ELSE
		SELECT min(r.effective_at), string_agg(DISTINCT coalesce(nullif(to_jsonb(r) ->> 'project', ''), to_jsonb(r) ->> key_column), ', ')
		INTO changed_from, keys
		FROM (SELECT * FROM new_rows UNION ALL SELECT * FROM old_rows) AS r;
	END IF;
	IF changed_from IS NULL THEN
		RETURN NULL;
	END IF;

	-- running containers store the names that have factors, so they change if a name gets its first factor
	IF TG_TABLE_NAME = 'price_factor' THEN
		-- the first factor of any label is special: from its instant on, a change of label splits segments
		IF TG_OP = 'DELETE' THEN
			of_labels := EXISTS (SELECT FROM old_rows AS o WHERE o.dimension = 'label');
		ELSE
			of_labels := EXISTS (SELECT FROM new_rows AS n WHERE n.dimension = 'label');
		END IF;
		IF TG_OP = 'INSERT' THEN
			names_changed := EXISTS (
				SELECT FROM new_rows AS n
				-- count at most one point more than the statement inserted, because a timeline may have many points
				WHERE (SELECT count(*) FROM (
						SELECT FROM yquota.price_factor AS f
						WHERE f.dimension = n.dimension AND f.name = n.name
						LIMIT (SELECT count(*) + 1 FROM new_rows AS m
							   WHERE m.dimension = n.dimension AND m.name = n.name)) AS known)
					= (SELECT count(*) FROM new_rows AS m
					   WHERE m.dimension = n.dimension AND m.name = n.name));
		ELSIF TG_OP = 'DELETE' THEN
			names_changed := EXISTS (
				SELECT FROM old_rows AS o
				WHERE NOT EXISTS (SELECT FROM yquota.price_factor AS f
								  WHERE f.dimension = o.dimension AND f.name = o.name));
		ELSE
			names_changed := EXISTS (
				(SELECT dimension, name FROM old_rows EXCEPT SELECT dimension, name FROM new_rows)
				UNION ALL
				(SELECT dimension, name FROM new_rows EXCEPT SELECT dimension, name FROM old_rows));
		END IF;
	ELSIF TG_TABLE_NAME = 'charging_rule' THEN
		IF TG_OP = 'INSERT' THEN
			names_changed := EXISTS (
				SELECT FROM new_rows AS n
				WHERE n.project <> ''
				  AND NOT EXISTS (SELECT FROM yquota.charging_rule AS known
								  WHERE known.project = n.project
									AND (known.project, known.effective_at) NOT IN (SELECT m.project, m.effective_at FROM new_rows AS m)));
		ELSE
			names_changed := EXISTS (SELECT FROM old_rows AS o WHERE o.project <> '');
		END IF;
		IF TG_OP = 'UPDATE' THEN
			names_changed := names_changed OR EXISTS (SELECT FROM new_rows AS n WHERE n.project <> '');
		END IF;
	END IF;
	IF of_labels THEN
		-- block concurrent changes of the labels of nodes, because each of them checks whether labels have factors
		LOCK TABLE yquota.node_label_history IN SHARE ROW EXCLUSIVE MODE;
	END IF;
	PERFORM yquota_internal.note_pricing_change(
		changed_from,
		CASE TG_OP WHEN 'DELETE' THEN format('%s removed: %s', what, keys)
				   ELSE format('%s set: %s', what, keys) END,
		names_changed OR of_labels);
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_timeline() IS
	'Record a change of a timeline from its earliest point on.  The arguments are the kind of timeline and the column that names its owner';

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.price
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('multiplier');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.price
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('multiplier', 'price_group');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.price
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('multiplier', 'price_group');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.price
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('multiplier', 'price_group');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.base_price
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('base price');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.base_price
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('base price', 'resource_type');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.base_price
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('base price', 'resource_type');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.base_price
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('base price', 'resource_type');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.price_factor
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('price factor');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.price_factor
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('price factor', 'name');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.price_factor
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('price factor', 'name');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.price_factor
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('price factor', 'name');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.charging_rule
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_timeline('charging rule');
CREATE TRIGGER note_insert AFTER INSERT ON yquota.charging_rule
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('charging rule', 'minimum_run_time');
CREATE TRIGGER note_update AFTER UPDATE ON yquota.charging_rule
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('charging rule', 'minimum_run_time');
CREATE TRIGGER note_delete AFTER DELETE ON yquota.charging_rule
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_timeline('charging rule', 'minimum_run_time');
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

-- resource_type shows the base price in force.  A future point takes effect by itself, so compute_prices() calls
-- show_base_prices(), too.
--
-- The UPDATE that shows a price must not look like an administrator's UPDATE of base_price.  Otherwise
-- note_resource_type() would compare the new value with the price in force at a later clock.  It might then add a
-- point to the timeline.  The UPDATE therefore sets the column name to its old value.  This fires a trigger that sets
-- base_price and unit.
CREATE FUNCTION yquota_internal.fill_in_base_price() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	in_force record := yquota_internal.base_price_at(NEW.name, yquota.statement_clock());
BEGIN
	IF in_force.unit IS NOT NULL THEN
		NEW.base_price := in_force.base_price;
		NEW.unit := in_force.unit;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.fill_in_base_price() IS
	'Set the base price in force in yquota.resource_type';

CREATE TRIGGER show_in_force BEFORE UPDATE OF name ON yquota.resource_type
	FOR EACH ROW WHEN ((NEW.base_price, NEW.unit) IS NOT DISTINCT FROM (OLD.base_price, OLD.unit))
	EXECUTE FUNCTION yquota_internal.fill_in_base_price();

CREATE FUNCTION yquota_internal.show_base_prices() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	clock timestamptz := yquota.statement_clock();
BEGIN
	UPDATE yquota.resource_type AS t
	SET name = t.name
	FROM yquota.resource_type AS s,
		 LATERAL yquota_internal.base_price_at(s.name, clock) AS b
	WHERE s.name = t.name
	  AND b.unit IS NOT NULL
	  AND (t.base_price, t.unit) IS DISTINCT FROM (b.base_price, b.unit);
END
$$;
COMMENT ON FUNCTION yquota_internal.show_base_prices() IS
	'Update the base prices that yquota.resource_type shows';

CREATE FUNCTION yquota_internal.show_base_prices_trigger() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.show_base_prices();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.show_base_prices_trigger() IS
	'Run show_base_prices() after a change of base prices';

CREATE TRIGGER show_base_prices AFTER INSERT OR UPDATE OR DELETE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.show_base_prices_trigger();

-- Setting multipliers and base prices.

CREATE FUNCTION yquota_internal.rounded_multiplier(multiplier numeric) RETURNS numeric
	LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT multiplier BETWEEN 0 AND 1000000000000 THEN
		RAISE EXCEPTION 'multiplier % is out of range', multiplier
			USING ERRCODE = 'numeric_value_out_of_range',
				DETAIL = 'A multiplier is at least 0 and at most 1000000000000.';
	END IF;
	RETURN trim_scale(yquota_internal.divide_half_even(multiplier, 1, 18));
END
$$;
COMMENT ON FUNCTION yquota_internal.rounded_multiplier(numeric) IS
	'Return a multiplier that a caller gives, rounded half-even to 18 decimals.  Refuse a multiplier that is out of range';

CREATE FUNCTION yquota.set_multiplier(
	price_group text, multiplier numeric, effective_at timestamptz DEFAULT NULL,
	until timestamptz DEFAULT 'infinity') RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	group_name text := set_multiplier.price_group;
	from_at timestamptz := COALESCE(set_multiplier.effective_at, yquota.statement_clock());
	until_at timestamptz := COALESCE(set_multiplier.until, 'infinity');
	rounded numeric;
BEGIN
	IF group_name IS NULL OR set_multiplier.multiplier IS NULL THEN
		RAISE EXCEPTION 'price group and multiplier must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	rounded := yquota_internal.rounded_multiplier(set_multiplier.multiplier);
	IF until_at <= from_at THEN
		RAISE EXCEPTION 'multiplier cannot be set until %, which is not after its start at %', until_at, from_at
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = group_name) THEN
		PERFORM yquota_internal.refuse_name('price_group', group_name);
	END IF;

	PERFORM yquota_internal.lock_pricing();
	INSERT INTO yquota.price AS p (price_group, effective_at, multiplier, pinned)
	VALUES (group_name, from_at, rounded, true)
	ON CONFLICT ON CONSTRAINT price_pkey DO UPDATE
		SET multiplier = EXCLUDED.multiplier, utilization = NULL, pinned = true;
	-- remove later points, because a multiplier that was computed earlier must not end the pin
	DELETE FROM yquota.price AS p
	WHERE p.price_group = group_name AND p.effective_at > from_at
	  AND p.effective_at < until_at AND NOT p.pinned;
	INSERT INTO yquota.price_pin AS n (price_group, until)
	VALUES (group_name, until_at)
	ON CONFLICT ON CONSTRAINT price_pin_pkey DO UPDATE SET until = EXCLUDED.until;
	RETURN from_at;
END
$$;
COMMENT ON FUNCTION yquota.set_multiplier(text, numeric, timestamptz, timestamptz) IS
	'Set the multiplier of a price group by hand from an instant on (default the clock). compute_prices() does not change it until another instant.  Returns the instant at which the multiplier takes effect';

CREATE FUNCTION yquota.clear_multiplier(price_group text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	group_name text := clear_multiplier.price_group;
	was_pinned boolean;
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = group_name) THEN
		PERFORM yquota_internal.refuse_name('price_group', group_name);
	END IF;
	PERFORM yquota_internal.lock_pricing();
	DELETE FROM yquota.price_pin AS n WHERE n.price_group = group_name;
	was_pinned := FOUND;
	DELETE FROM yquota.price AS p
	WHERE p.price_group = group_name AND p.pinned
	  AND p.effective_at > yquota.statement_clock();
	RETURN was_pinned;
END
$$;
COMMENT ON FUNCTION yquota.clear_multiplier(text) IS
	'Let compute_prices() set the multiplier of a price group again.  The multiplier set by hand stays until the next one is computed.  Later multipliers set by hand are deleted.  Returns whether the group was pinned';

CREATE FUNCTION yquota.set_base_price(
	resource_type text, base_price numeric, unit bigint DEFAULT NULL,
	effective_at timestamptz DEFAULT NULL) RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	type_name text := set_base_price.resource_type;
	from_at timestamptz := COALESCE(set_base_price.effective_at, yquota.statement_clock());
	in_force record;
BEGIN
	IF type_name IS NULL OR set_base_price.base_price IS NULL THEN
		RAISE EXCEPTION 'resource type and base price must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT EXISTS (SELECT FROM yquota.resource_type AS t WHERE t.name = type_name) THEN
		PERFORM yquota_internal.refuse_name('resource_type', type_name);
	END IF;
	PERFORM yquota_internal.lock_pricing();
	in_force := yquota_internal.base_price_at(type_name, from_at);
	INSERT INTO yquota.base_price AS b (resource_type, effective_at, base_price, unit)
	VALUES (type_name, from_at, trim_scale(set_base_price.base_price),
			COALESCE(set_base_price.unit, in_force.unit))
	ON CONFLICT ON CONSTRAINT base_price_pkey DO UPDATE
		SET base_price = EXCLUDED.base_price, unit = EXCLUDED.unit;
	RETURN from_at;
END
$$;
COMMENT ON FUNCTION yquota.set_base_price(text, numeric, bigint, timestamptz) IS
	'Set the base price of a resource type, in credits per unit and second, from an instant on (default the clock).  If no unit is given, the unit in force stays.  Returns when the price takes effect';

-- Outages.  A forgiven time may lie in the past; the ledger is then corrected.  Later, charging this time again is
-- treated as a change of prices in the past.

CREATE FUNCTION yquota_internal.keep_outage() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	taken_back_from timestamptz;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'INSERT' THEN
		NEW.reported_by := session_user;
		NEW.reported_at := clock_timestamp();
		RETURN NEW;
	ELSIF TG_OP = 'UPDATE' THEN
		NEW.reported_by := OLD.reported_by;
		NEW.reported_at := OLD.reported_at;
	END IF;
	IF OLD.forgiven THEN
		IF TG_OP = 'DELETE' THEN
			taken_back_from := OLD.started_at;
		ELSIF NOT NEW.forgiven OR NEW.project IS DISTINCT FROM OLD.project
			OR NEW.started_at > OLD.started_at AND NOT EXISTS (
				-- never charge again for time at which the resource manager is known to have run
				SELECT FROM yquota_internal.feed_sign AS recovery
				JOIN yquota_internal.feed_sign AS sign ON sign.source = recovery.source
				WHERE recovery.outage_id = OLD.outage_id AND sign.at = NEW.started_at)
		THEN
			taken_back_from := OLD.started_at;
		ELSIF NEW.ended_at < OLD.ended_at THEN
			taken_back_from := NEW.ended_at;
		END IF;
		IF taken_back_from IS NOT NULL THEN
			PERFORM yquota_internal.check_past_point(taken_back_from, 'forgiven outage');
		END IF;
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_outage() IS
	'Refuse to charge forgiven time again.  Record the role that reported an outage, and the time';

CREATE FUNCTION yquota_internal.note_outage() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed_from timestamptz;
	of_project boolean;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		SELECT min(started_at), bool_or(project IS NOT NULL)
		INTO changed_from, of_project
		FROM new_rows WHERE forgiven;
	ELSIF TG_OP = 'DELETE' THEN
		SELECT min(started_at), bool_or(project IS NOT NULL)
		INTO changed_from, of_project
		FROM old_rows WHERE forgiven;
	ELSE
		SELECT min(r.started_at), bool_or(r.project IS NOT NULL)
		INTO changed_from, of_project
		FROM ((SELECT outage_id, project, started_at, ended_at FROM new_rows WHERE forgiven
			   EXCEPT
			   SELECT outage_id, project, started_at, ended_at FROM old_rows WHERE forgiven)
			  UNION ALL
			  (SELECT outage_id, project, started_at, ended_at FROM old_rows WHERE forgiven
			   EXCEPT
			   SELECT outage_id, project, started_at, ended_at FROM new_rows WHERE forgiven)) AS r;
	END IF;
	IF changed_from IS NOT NULL THEN
		PERFORM yquota_internal.note_pricing_change(
			changed_from,
			CASE TG_OP WHEN 'DELETE' THEN 'outage removed' ELSE 'outage forgiven' END,
			of_project);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_outage() IS
	'Record a change of forgiven time from its beginning on.  Running containers store the outages of their own project, and are updated';

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.outage
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.outage
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_outage();
CREATE TRIGGER note_insert AFTER INSERT ON yquota.outage
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_outage();
CREATE TRIGGER note_update AFTER UPDATE ON yquota.outage
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_outage();
CREATE TRIGGER note_delete AFTER DELETE ON yquota.outage
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_outage();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.outage
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE FUNCTION yquota.report_outage(
	"from" timestamptz, "to" timestamptz, reason text, project text DEFAULT NULL)
	RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_id bigint;
BEGIN
	IF "from" IS NULL OR "to" IS NULL OR reason IS NULL THEN
		RAISE EXCEPTION 'beginning, end and reason of an outage must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite("from") OR NOT isfinite("to") THEN
		RAISE EXCEPTION 'beginning and end of an outage must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF "from" >= "to" THEN
		RAISE EXCEPTION 'outage cannot end at %, which is not after its beginning at %', "to", "from"
			USING ERRCODE = 'invalid_parameter_value';
	END IF;

	PERFORM yquota_internal.check_project(report_outage.project);
	PERFORM yquota_internal.lock_pricing();
	SELECT o.outage_id INTO found_id
	FROM yquota.outage AS o
	WHERE o.started_at = "from" AND o.ended_at = "to"
	  AND o.project IS NOT DISTINCT FROM report_outage.project
	ORDER BY o.outage_id
	LIMIT 1;
	IF FOUND THEN
		UPDATE yquota.outage AS o SET forgiven = true
		WHERE o.outage_id = found_id AND NOT o.forgiven;
	ELSE
		INSERT INTO yquota.outage AS o (project, started_at, ended_at, reason)
		VALUES (report_outage.project, "from", "to", report_outage.reason)
		RETURNING o.outage_id INTO found_id;
	END IF;
	RETURN found_id;
END
$$;
COMMENT ON FUNCTION yquota.report_outage(timestamptz, timestamptz, text, text) IS
	'Forgive an interval of time, for one project or for all, even if it has been charged.  Repeating the call does nothing and returns the same outage_id';
