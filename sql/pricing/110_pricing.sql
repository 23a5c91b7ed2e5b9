-- Pricing, first part: the common steps of every change of prices, and the configuration from which prices are computed
-- (docs/design.md 2).
--
-- A change of prices goes through the triggers of the tables.  It may be made by a function or by a plain INSERT,
-- UPDATE or DELETE.  The triggers take one lock.  They refuse a change of amounts that have been settled or shown.  An
-- amount of a running container or reservation has been shown up to the charged-through mark (yquota.charged_through).
-- The triggers record the change in yquota.pricing_change, which invalidates caches.
--
-- While a dump is being restored, the triggers do nothing, so that rows come back unchanged.

CREATE FUNCTION yquota_internal.restoring() RETURNS boolean
	LANGUAGE c STABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_restoring';
COMMENT ON FUNCTION yquota_internal.restoring() IS
	'Tell whether this session restores a dump.  The function looks at the settings that pg_dump and pg_restore change first.  The result is true only for members of the owning role';

CREATE FUNCTION yquota_internal.duration(setting_name text) RETURNS interval
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	-- calling the clock loads the library, which defines the settings
	RETURN CASE WHEN yquota.statement_clock() IS NOT NULL THEN
		((extract(epoch FROM current_setting(setting_name)::interval) * 1000)::bigint
		 || ' milliseconds')::interval END;
COMMENT ON FUNCTION yquota_internal.duration(text) IS
	'Convert a duration of the configuration to an interval without days.  A day of a setting is 24 hours in every time zone';

CREATE FUNCTION yquota_internal.lock_pricing() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_pricing() IS
	'Wait for other changes of prices; readers and events do not wait for this lock';

CREATE FUNCTION yquota_internal.last_event_at() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT max(f.last_event_at)
			FROM (SELECT last_event_at FROM yquota_internal.feed_counter
				  UNION ALL
				  SELECT last_event_at FROM yquota_internal.counter_delta
				  WHERE scope IN ('a', 'f')) AS f);
COMMENT ON FUNCTION yquota_internal.last_event_at() IS
	'Return the latest instant of any event received; NULL before the first one';

-- The latest event is not enough.  A START repeated with a new allocation settles at its recorded_at, which is later.
-- The end of a period settles running containers without an event.
CREATE FUNCTION yquota_internal.settled_at_most() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT max(settled.at)
			FROM (SELECT greatest(counter.last_event_at, counter.last_recorded_at) AS at
				  FROM yquota_internal.feed_counter AS counter
				  UNION ALL
				  SELECT greatest(delta.last_event_at, delta.recorded_at)
				  FROM yquota_internal.counter_delta AS delta
				  WHERE delta.scope IN ('a', 'f')
				  UNION ALL
				  SELECT period.until FROM yquota.closed_period AS period
				  UNION ALL
				  SELECT max(reserved."to") FROM yquota.reservation_charge AS reserved) AS settled);
COMMENT ON FUNCTION yquota_internal.settled_at_most() IS
	'Return an instant after which nothing has been settled; NULL before the first event and the first end of a period';

-- The functions below implement the rule for points in the past.

CREATE FUNCTION yquota_internal.reserved_after(instant timestamptz, shown_until timestamptz, of_project text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN coalesce(
		(SELECT format('Reservation "%s" has been charged from %s to %s.', c.reservation_id, c."from", c."to")
		 FROM yquota_internal.reservation_charge_in_effect AS c
		 WHERE c."to" > instant AND (of_project IS NULL OR c.project = of_project)
		 LIMIT 1),
		(SELECT format('Reservation "%s" has been paying since %s, and its cost until %s has been shown.',
					   a.reservation_id, a.settled_until, shown_until)
		 FROM yquota_internal.accruing_reservation AS a
		 WHERE shown_until > instant AND a.settled_until < shown_until AND (of_project IS NULL OR a.project = of_project)
		 LIMIT 1));
END
$$;
COMMENT ON FUNCTION yquota_internal.reserved_after(timestamptz, timestamptz, text) IS
	'Return a sentence about an amount of a reservation, posted or shown, that depends on prices after an instant; NULL when there is none.  of_project limits the search to one project; NULL searches all';

CREATE FUNCTION yquota_internal.settled_after(instant timestamptz, of_project text DEFAULT NULL) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_detail text;
	mark timestamptz := (SELECT max(at) FROM yquota_internal.charged_through);
BEGIN
	SELECT format('Container "%s" has been charged from %s to %s.',
				  c.container_id, c."from", c."to")
	INTO found_detail
	FROM yquota_internal.charge_in_effect AS c
	WHERE c."to" >= instant
	  -- padding is charged at the price at the end of the run
	  AND (c.padding IS NOT NULL OR (c."to" > instant AND c."to" > c."from"))
	  AND (of_project IS NULL OR c.project = of_project)
	LIMIT 1;
	IF found_detail IS NULL AND mark > instant THEN
		SELECT format('Container "%s" has been running since %s, and its cost until %s has been shown.',
					  c.container_id, c.settled_at, mark)
		INTO found_detail
		FROM yquota.container AS c
		WHERE c.settled_at < mark AND (of_project IS NULL OR c.project = of_project)
		LIMIT 1;
	END IF;
	RETURN coalesce(found_detail, yquota_internal.reserved_after(instant, mark, of_project));
END
$$;
COMMENT ON FUNCTION yquota_internal.settled_after(timestamptz, text) IS
	'Return a sentence about an amount, settled or shown, that depends on prices after an instant; NULL when there is none.  of_project limits the search to one project; NULL searches all';

CREATE FUNCTION yquota_internal.refuse_past_change(
	what text, instant timestamptz, found_detail text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF found_detail IS NOT NULL THEN
		RAISE EXCEPTION 'cannot change % at % because that would change past charges',
				what, instant
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = found_detail,
				HINT = 'Change it from now on, or give credit back with yquota.quota_grant.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_past_change(text, timestamptz, text) IS
	'Refuse a change in the past if found_detail, a sentence about an affected amount, is not NULL';

CREATE FUNCTION yquota_internal.check_past_point(effective_at timestamptz, what text, of_project text DEFAULT NULL)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF effective_at < yquota.statement_clock() THEN
		PERFORM yquota_internal.refuse_past_change(what, effective_at,
												   yquota_internal.settled_after(effective_at, of_project));
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_past_point(timestamptz, text, text) IS
	'Refuse a point before the clock if it would change an amount that has been settled or shown';

-- Only the first segment of each wait is read, because its later segments have the same rule.
CREATE FUNCTION yquota_internal.waited_between(since timestamptz, until timestamptz) RETURNS text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT format('Container "%s" has waited since %s, and its cost until %s has been charged or shown.',
					  wait.container_id, wait.began_at, wait.ended_at)
		FROM (
			SELECT c.container_id, c."from" AS began_at, c."to" AS ended_at
			FROM yquota_internal.charge_in_effect AS c
			WHERE c.waiting_factor IS NOT NULL AND c."to" >= since
			  AND (c.padding IS NOT NULL OR c."to" > c."from")
			UNION ALL
			SELECT c.container_id, c.settled_at, mark.at
			FROM yquota.container AS c
			JOIN yquota_internal.charged_through AS mark ON c.settled_at < mark.at
			WHERE c.waiting_factor IS NOT NULL
		) AS wait
		WHERE wait.began_at >= since AND (until IS NULL OR wait.began_at < until)
		  AND NOT EXISTS (SELECT FROM yquota_internal.charge_in_effect AS before
						  WHERE before.container_id = wait.container_id AND before.waiting_factor IS NOT NULL
							AND before."to" = wait.began_at AND before."from" < wait.began_at)
		LIMIT 1;
$$;
COMMENT ON FUNCTION yquota_internal.waited_between(timestamptz, timestamptz) IS
	'Return a sentence about a wait, charged or shown, that began at "since" or later; NULL when there is none.  If "until" is not NULL, the wait began before "until"';

CREATE FUNCTION yquota_internal.check_past_rule(
	rule_effective_at timestamptz, what text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	next_rule_at timestamptz := (SELECT min(r.effective_at) FROM yquota.charging_rule AS r
								 WHERE r.project = '' AND r.effective_at > rule_effective_at);
	found_detail text;
BEGIN
	IF rule_effective_at >= yquota.statement_clock() THEN
		RETURN;
	END IF;
	SELECT format('Container "%s", started at %s, has been charged at its finish at %s.',
				  c.container_id, c.started_at, c."to")
	INTO found_detail
	FROM yquota_internal.charge_in_effect AS c
	WHERE c.settled_by = 'CONTAINER_FINISH'
	  AND c."to" >= rule_effective_at
	  AND c.started_at >= rule_effective_at
	  AND (next_rule_at IS NULL OR c.started_at < next_rule_at)
	LIMIT 1;
	PERFORM yquota_internal.refuse_past_change(what, rule_effective_at, coalesce(
		found_detail, yquota_internal.waited_between(rule_effective_at, next_rule_at)));
END
$$;
COMMENT ON FUNCTION yquota_internal.check_past_rule(timestamptz, text) IS
	'Refuse a charging rule in the past if a container that it applies to has been charged at its finish.  Refuse it also if a wait that it applies to has been charged or shown';

--
-- Noting a change
--

CREATE FUNCTION yquota_internal.note_pricing_change(
	effective_from timestamptz, description text, rebase boolean DEFAULT false,
	nodes text[] DEFAULT NULL, labelled_from timestamptz DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.lock_pricing();
	IF least(effective_from, labelled_from) < yquota_internal.archive_horizon() THEN
		PERFORM yquota_internal.refuse_past_change(
			'prices, rules or outages', least(effective_from, labelled_from),
			format('History before %s has been archived.', yquota_internal.archive_horizon()));
	END IF;
	BEGIN
		INSERT INTO yquota.pricing_change (version, effective_from, description, corrected)
		SELECT COALESCE(max(p.version), 0) + 1, note_pricing_change.effective_from,
			   left(note_pricing_change.description, 500), nodes IS NOT NULL
		FROM yquota.pricing_change AS p;
	EXCEPTION WHEN unique_violation THEN
		-- another transaction has made a change that this transaction's snapshot does not see
		RAISE EXCEPTION 'could not serialize access due to a concurrent change of prices'
			USING ERRCODE = 'serialization_failure',
				HINT = 'The transaction might succeed if retried.';
	END;
	-- reject a price that is out of range; nothing could be charged at this price
	BEGIN
		PERFORM yquota_internal.rate(
			yquota.resource(jsonb_build_object(t.name, 1)), NULL,
			greatest(least(effective_from, yquota.statement_clock()), '1970-01-01 00:00+00'))
		FROM yquota.resource_type AS t
		LIMIT 1;
	EXCEPTION WHEN numeric_value_out_of_range THEN
		RAISE EXCEPTION 'price is out of range'
			USING ERRCODE = 'numeric_value_out_of_range',
				DETAIL = format('The change was: %s.', description),
				HINT = 'A multiplier times a base price is at most 3 * 10^20 credits per native unit and second.';
	END;
	IF rebase OR nodes IS NOT NULL THEN
		-- a transaction snapshot would miss containers that started after it
		PERFORM yquota_internal.require_read_committed(
			CASE WHEN rebase THEN 'add or remove a factor, or an outage or a charging mode of projects' ELSE 'change the label of a node' END);
		LOCK TABLE ONLY yquota.container_event IN SHARE ROW EXCLUSIVE MODE;
		-- lock the ledger of reservations before the containers, because it is corrected after them
		LOCK TABLE yquota.reservation_charge IN ROW EXCLUSIVE MODE;
		IF rebase THEN
			PERFORM yquota_internal.rebase_running();
		ELSE
			PERFORM yquota_internal.settle_nodes_again(nodes);
			PERFORM yquota_internal.correct_prices_since(labelled_from, nodes);
		END IF;
	END IF;
	IF nodes IS NULL AND effective_from <= yquota_internal.settled_at_most() THEN
		PERFORM yquota_internal.correct_prices_since(effective_from);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_pricing_change(timestamptz, text, boolean, text[], timestamptz) IS
	'Record that amounts may change from effective_from on, and correct settlements after that instant.  rebase is true if a factor, or an outage or charging mode of a project, is added or removed.  nodes are the nodes whose labels have changed since labelled_from; only their charges are corrected';

--
-- Triggers shared by the tables of pricing.  They run as the owner of the
-- tables, for every role that changes a row.
--

CREATE FUNCTION yquota_internal.lock_pricing_trigger() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.lock_pricing();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_pricing_trigger() IS
	'Take the lock of lock_pricing(), so that changes of prices wait for each other before they read anything';

CREATE FUNCTION yquota_internal.record_who() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NEW;
	END IF;
	IF TG_TABLE_NAME = 'quota_grant' THEN
		NEW.granted_by := session_user;
		NEW.granted_at := clock_timestamp();
		NEW.booked_at := CASE TG_OP WHEN 'INSERT' THEN yquota.statement_clock() ELSE OLD.booked_at END;
	ELSE
		NEW.set_by := session_user;
		NEW.set_at := clock_timestamp();
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.record_who() IS
	'Record the role that makes a grant or sets a pin, and the time.  Values in the statement are overwritten';

CREATE TRIGGER record_who BEFORE INSERT OR UPDATE ON yquota.quota_grant
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.record_who();
CREATE TRIGGER record_who BEFORE INSERT OR UPDATE ON yquota.price_pin
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.record_who();

CREATE FUNCTION yquota_internal.refuse_truncate() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'cannot truncate table "%"', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'Amounts are computed from its rows.',
			HINT = 'Use DELETE, which refuses only rows that have been used.';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_truncate() IS
	'Refuse to truncate a table from which amounts are computed';

-- Price groups and resource types.

CREATE FUNCTION yquota_internal.price_group_begin_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		INSERT INTO yquota.price (price_group, effective_at, multiplier)
		VALUES (NEW.name, '-infinity', 1);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.price_group_begin_timeline() IS
	'Begin the timeline of a new price group with multiplier 1';

CREATE FUNCTION yquota_internal.resource_type_begin_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit)
		VALUES (NEW.name, '-infinity', NEW.base_price, NEW.unit);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.resource_type_begin_timeline() IS
	'Begin the timeline of a new resource type with its base price';

CREATE TRIGGER begin_timeline AFTER INSERT ON yquota.price_group
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.price_group_begin_timeline();
CREATE TRIGGER begin_timeline AFTER INSERT ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.resource_type_begin_timeline();

-- Initial rows.  They are inserted before the triggers that record changes are created, because a new installation
-- has had no change of prices yet.
INSERT INTO yquota.price_group (name) VALUES ('GENERAL'), ('GPU');
INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES
	('memory-mb', 'GENERAL', 1, 1024),
	('vcores', 'GENERAL', 1, 1),
	('yarn.io/gpu', 'GPU', 1, 1);

CREATE FUNCTION yquota_internal.make_room_for_restore() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring()
		AND NOT EXISTS (
			(SELECT * FROM yquota.price_group
			 EXCEPT VALUES ('GENERAL', 0.2, 1, NULL::numeric, false), ('GPU', 0.2, 1, NULL, false))
			UNION ALL
			(VALUES ('GENERAL', 0.2, 1, NULL::numeric, false), ('GPU', 0.2, 1, NULL, false)
			 EXCEPT SELECT * FROM yquota.price_group))
		AND NOT EXISTS (
			(SELECT * FROM yquota.resource_type
			 EXCEPT VALUES ('memory-mb', 'GENERAL', 1, 1024), ('vcores', 'GENERAL', 1, 1),
				('yarn.io/gpu', 'GPU', 1, 1))
			UNION ALL
			(VALUES ('memory-mb', 'GENERAL', 1, 1024), ('vcores', 'GENERAL', 1, 1),
				('yarn.io/gpu', 'GPU', 1, 1)
			 EXCEPT SELECT * FROM yquota.resource_type))
		AND NOT EXISTS (SELECT FROM yquota.price
						WHERE effective_at <> '-infinity' OR multiplier <> 1)
		AND NOT EXISTS (SELECT FROM yquota.base_price WHERE effective_at <> '-infinity')
	THEN
		DELETE FROM yquota.resource_type;
		DELETE FROM yquota.price_group;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_room_for_restore() IS
	'Delete unchanged initial rows before a restore inserts price groups, which come first because other tables reference them.  The dump contains these rows as users have left them';

CREATE TRIGGER make_room_for_restore BEFORE INSERT ON yquota.price_group
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.make_room_for_restore();

CREATE FUNCTION yquota_internal.resource_type_reservation(type_name text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN coalesce(
		(SELECT format('Reservation "%s" has the resource type.', reservation_id)
		 FROM yquota.reservation_allocation WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Reservation "%s" has been charged for the resource type from %s to %s.', reservation_id, "from", "to")
		 FROM yquota.reservation_charge WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1));
END
$$;
COMMENT ON FUNCTION yquota_internal.resource_type_reservation(text) IS
	'Return a sentence about a reservation that uses a resource type; NULL when there is none';

CREATE FUNCTION yquota_internal.resource_type_use(type_name text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT format('Container "%s" holds the resource type.', container_id)
		 FROM yquota.container WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Container "%s" has been charged for the resource type from %s to %s.',
					   container_id, "from", "to")
		 FROM yquota.charge WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Event %s of container "%s" names the resource type.', event, container_id)
		 FROM yquota.container_event WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		yquota_internal.resource_type_reservation(type_name));
END
$$;
COMMENT ON FUNCTION yquota_internal.resource_type_use(text) IS
	'Return a sentence about a container, running or finished, that uses a resource type; NULL when there is none';

CREATE FUNCTION yquota_internal.keep_price_group() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'DELETE' AND OLD.name = 'GENERAL' THEN
		RAISE EXCEPTION 'cannot delete price group "GENERAL"'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'GENERAL is the floor of every other price group.';
	ELSIF TG_OP = 'UPDATE' AND NEW.name <> OLD.name THEN
		RAISE EXCEPTION 'cannot rename price group "%"', OLD.name
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Insert a new price group and move the resource types to it.';
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_price_group() IS
	'Refuse to delete price group GENERAL, and to rename any price group';

CREATE FUNCTION yquota_internal.note_price_group() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.note_pricing_change(
			yquota.statement_clock(), format('price group deleted: %s', OLD.name));
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_price_group() IS
	'Record that a price group has been deleted.  At that time it has no resource types';

CREATE FUNCTION yquota_internal.keep_resource_type() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_use text;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'INSERT' THEN
		-- use the input function of type resource, because it knows which names are possible, and the aliases
		IF (SELECT name FROM yquota.resource_entries(
				yquota.resource(jsonb_build_object(NEW.name, 1)))) <> NEW.name THEN
			RAISE EXCEPTION 'resource type "%" is an alias', NEW.name
				USING ERRCODE = 'invalid_parameter_value',
					HINT = format('Its name in allocations is "%s".',
						(SELECT name FROM yquota.resource_entries(
							yquota.resource(jsonb_build_object(NEW.name, 1)))));
		END IF;
		RETURN NEW;
	END IF;
	IF TG_OP = 'DELETE' THEN
		found_use := yquota_internal.resource_type_use(OLD.name);
		IF found_use IS NOT NULL THEN
			RAISE EXCEPTION 'cannot delete resource type "%" because containers have used it', OLD.name
				USING ERRCODE = 'foreign_key_violation',
					DETAIL = found_use,
					HINT = 'Set its base price to 0 to stop charging for it.';
		END IF;
		RETURN OLD;
	END IF;
	IF NEW.name <> OLD.name THEN
		RAISE EXCEPTION 'cannot rename resource type "%"', OLD.name
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Insert a resource type with the new name.';
	END IF;
	IF NEW.price_group <> OLD.price_group THEN
		found_use := yquota_internal.resource_type_charge(OLD.name);
		IF found_use IS NOT NULL THEN
			RAISE EXCEPTION 'cannot move resource type "%" to price group "%" because that would change past charges',
					OLD.name, NEW.price_group
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = found_use,
					HINT = 'A resource type belongs to one price group for all time.';
		END IF;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_resource_type() IS
	'Refuse to delete a resource type that containers have used, and to change its price group once it has been charged';

CREATE FUNCTION yquota_internal.resource_type_charge(type_name text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT format('Container "%s" has been charged for the resource type from %s to %s.',
					   container_id, "from", "to")
		 FROM yquota.charge WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Container "%s" has been running since %s, and its cost until %s has been shown.',
					   c.container_id, c.settled_at, m.mark)
		 FROM yquota.container AS c,
			  (SELECT max(at) AS mark FROM yquota_internal.charged_through) AS m
		 WHERE yquota.amount(c.allocation, type_name) <> 0 AND c.settled_at < m.mark
		 LIMIT 1),
		yquota_internal.resource_type_reservation(type_name));
END
$$;
COMMENT ON FUNCTION yquota_internal.resource_type_charge(text) IS
	'Return a sentence about an amount, settled or shown, of a container that holds a resource type; NULL when there is none';

CREATE FUNCTION yquota_internal.base_price_at(
	type_name text, instant timestamptz, OUT base_price numeric, OUT unit bigint)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT b.base_price, b.unit
		FROM yquota.base_price AS b
		WHERE b.resource_type = type_name AND b.effective_at <= instant
		ORDER BY b.effective_at DESC
		LIMIT 1;
$$;
COMMENT ON FUNCTION yquota_internal.base_price_at(text, timestamptz) IS
	'Return the base price and unit of a resource type in force at an instant';

CREATE FUNCTION yquota_internal.note_resource_type() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	clock timestamptz := yquota.statement_clock();
	in_force record;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' THEN
		PERFORM yquota_internal.note_pricing_change(
			clock, format('resource type deleted: %s', OLD.name));
		RETURN NULL;
	END IF;
	IF NEW.price_group <> OLD.price_group THEN
		-- nothing was settled or shown, but running containers may hold this resource type
		PERFORM yquota_internal.note_pricing_change(
			CASE WHEN yquota_internal.resource_type_use(NEW.name) IS NULL THEN clock
				 ELSE '-infinity' END,
			format('resource type %s moved to price group %s', NEW.name, NEW.price_group));
	END IF;
	in_force := yquota_internal.base_price_at(NEW.name, clock);
	IF (NEW.base_price, NEW.unit) IS DISTINCT FROM (in_force.base_price, in_force.unit) THEN
		INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit)
		VALUES (NEW.name, clock, NEW.base_price, NEW.unit)
		ON CONFLICT (resource_type, effective_at) DO UPDATE
			SET base_price = EXCLUDED.base_price, unit = EXCLUDED.unit;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_resource_type() IS
	'Insert a changed base price as a point of yquota.base_price at the clock, and record other changes';

CREATE TRIGGER lock_pricing BEFORE INSERT OR DELETE ON yquota.price_group
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE UPDATE OF name OR DELETE ON yquota.price_group
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_price_group();
CREATE TRIGGER note AFTER DELETE ON yquota.price_group
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_price_group();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.price_group
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();

CREATE TRIGGER lock_pricing BEFORE INSERT OR UPDATE OR DELETE ON yquota.resource_type
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_pricing_trigger();
CREATE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_resource_type();
CREATE TRIGGER note AFTER DELETE ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_resource_type();
CREATE TRIGGER note_update AFTER UPDATE OF price_group, base_price, unit ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_resource_type();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.resource_type
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();
