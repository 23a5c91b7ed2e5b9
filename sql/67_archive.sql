--
-- History: sealing the ledger and the log, and archiving what has been sealed
-- (DESIGN 6).
--
-- Ledger and log are plain tables, because the door is fastest that way.  Their
-- past is kept in children that inherit from them and are never written to:
-- sealing makes two empty children and exchanges their storage with the
-- parents', whatever their size.  Readers of the parents read the children as
-- well.  Nothing needs to be made ahead: what is not sealed simply stays in
-- the parents.
--

CREATE FUNCTION yquota_internal.exchange_storage(parent regclass, child regclass) RETURNS void
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_exchange_storage';
COMMENT ON FUNCTION yquota_internal.exchange_storage(regclass, regclass) IS
	'Let two tables of the same make exchange their rows, indexes included, without touching them';
REVOKE ALL ON FUNCTION yquota_internal.exchange_storage(regclass, regclass) FROM PUBLIC;

CREATE FUNCTION yquota_internal.make_child(parent regclass, child_name text, attached boolean)
	RETURNS regclass
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- the place of a table of history is its parent's
	SET default_tablespace = ''
	SET client_min_messages = 'warning'
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	child text := format('yquota_internal.%I', child_name);
	space name;
	owner name;
BEGIN
	SELECT t.spcname, pg_get_userbyid(c.relowner) INTO STRICT space, owner
	FROM pg_class AS c LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
	WHERE c.oid = parent;
	EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)%s USING heap%s', child, parent,
				   CASE WHEN attached THEN format(' INHERITS (%s)', parent) ELSE '' END,
				   ' TABLESPACE ' || quote_ident(space));
	EXECUTE format('ALTER TABLE %s OWNER TO %I', child, owner);
	EXECUTE format('COMMENT ON TABLE %s IS %L', child, 'History of ' || parent::text);
	RETURN child::regclass;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_child(regclass, text, boolean) IS
	'Make an empty table of schema yquota_internal like another one, and have it inherit from it';
REVOKE ALL ON FUNCTION yquota_internal.make_child(regclass, text, boolean) FROM PUBLIC;

--
-- Whoever waits for a lock that is stronger than his makes everybody behind
-- him wait, too.  So such locks are asked for briefly and again.
--
CREATE FUNCTION yquota_internal.lock_briefly(command text, attempts integer) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	patience text := current_setting('lock_timeout');
BEGIN
	FOR attempt IN 1 .. attempts LOOP
		BEGIN
			PERFORM set_config('lock_timeout', '50ms', true);
			EXECUTE command;
			PERFORM set_config('lock_timeout', patience, true);
			RETURN;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			IF attempt = attempts THEN
				RAISE EXCEPTION 'could not lock the history because other transactions use it'
					USING ERRCODE = 'lock_not_available',
						HINT = 'Try again when long transactions that read or write the ledger or the log have ended.';
			END IF;
		END;
		PERFORM pg_sleep(0.2);
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_briefly(text, integer) IS
	'Run LOCK TABLE without making others wait long: so many attempts of 50 ms, with pauses; lock_not_available after the last';
REVOKE ALL ON FUNCTION yquota_internal.lock_briefly(text, integer) FROM PUBLIC;

--
-- Sealing
--

CREATE FUNCTION yquota_internal.seal(attempts integer) RETURNS integer
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	stretch yquota.history_stretch;
	ledger regclass;
	log regclass;
BEGIN
	PERFORM yquota_internal.lock_briefly('LOCK TABLE yquota.history_stretch IN SHARE ROW EXCLUSIVE MODE', attempts);
	IF NOT EXISTS (SELECT FROM ONLY yquota.charge)
		AND NOT EXISTS (SELECT FROM ONLY yquota.container_event)
	THEN
		RETURN NULL;
	END IF;
	SELECT coalesce(max(s.number), 0) + 1,
		   coalesce(max(s.sealed_at) FILTER (WHERE s.number > 0), '-infinity')
	INTO stretch.number, stretch.sealed_from
	FROM yquota.history_stretch AS s;
	stretch.ledger_table := 'charge_sealed_' || stretch.number;
	stretch.log_table := 'container_event_sealed_' || stretch.number;

	-- nobody waits for these: they are made before anything is locked
	ledger := yquota_internal.make_child('yquota.charge', stretch.ledger_table, true);
	log := yquota_internal.make_child('yquota.container_event', stretch.log_table, true);
	-- in the order in which the door locks them
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN ACCESS EXCLUSIVE MODE', attempts);
	PERFORM yquota_internal.exchange_storage('yquota.container_event', log);
	PERFORM yquota_internal.exchange_storage('yquota.charge', ledger);
	stretch.sealed_at := greatest(yquota.clock(), stretch.sealed_from);
	INSERT INTO yquota.history_stretch SELECT stretch.*;
	RETURN stretch.number;
END
$$;
COMMENT ON FUNCTION yquota_internal.seal(integer) IS
	'Seal what ledger and log hold; so many attempts to get the locks';
REVOKE ALL ON FUNCTION yquota_internal.seal(integer) FROM PUBLIC;

CREATE FUNCTION yquota.seal_history() RETURNS integer
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.seal(120)
	$$;
COMMENT ON FUNCTION yquota.seal_history() IS
	'Begin a new stretch of history: what ledger and log hold so far becomes ready to be archived, in a moment and whatever its size; returns the number of the stretch, NULL when there was nothing to seal';
REVOKE ALL ON FUNCTION yquota.seal_history() FROM PUBLIC;

-- Rows are appended, so the first one of the log is one of the oldest.
CREATE FUNCTION yquota_internal.worker_seal(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	seal_interval interval := yquota_internal.duration('yquota.seal_interval');
	oldest timestamptz;
BEGIN
	IF seal_interval = '0' THEN
		RETURN;
	END IF;
	SELECT e.recorded_at INTO oldest FROM ONLY yquota.container_event AS e LIMIT 1;
	IF oldest <= now_at - seal_interval THEN
		PERFORM yquota_internal.seal(1);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_seal(timestamptz) IS
	'Seals history every yquota.seal_interval; lock_not_available while other transactions use it';
REVOKE ALL ON FUNCTION yquota_internal.worker_seal(timestamptz) FROM PUBLIC;

SELECT pg_extension_config_dump('yquota.history_stretch', '');
SELECT pg_extension_config_dump('yquota.opening_balance', '');
SELECT pg_extension_config_dump('yquota_internal.carried_container', '');
SELECT pg_extension_config_dump('yquota_internal.released_log', '');
