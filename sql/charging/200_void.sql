--
-- Wrong facts: voiding containers, so that their true events can be delivered
-- (DESIGN 1.7; what is taken back, and how, is in src/charging/settle.h).
--
-- The log keeps the events of voided containers; event_void says from when on
-- they do not count.  Reading the log for them would take as long as the log
-- is, so it is not done.  The order of an event and a void follows first from
-- recorded_at: an event recorded after the void's clock, and after all events
-- recorded until then, came after the void.  For other events, among them
-- events that waited for the void and those of a clock that stands still or was
-- set back, the books decide: their rows carry numbers larger than the void's
-- when they follow from events that came after it.
--

CREATE TABLE yquota.event_void (
	void_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	container_id text COLLATE "C" NOT NULL,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C",
	amount numeric NOT NULL,
	was_running boolean NOT NULL,
	charges integer NOT NULL,
	reason text NOT NULL CHECK (reason ~ '[^[:space:]]'),
	chosen jsonb NOT NULL,
	voided_by name NOT NULL DEFAULT session_user,
	voided_at timestamptz NOT NULL,
	recorded_until timestamptz NOT NULL
);
CREATE INDEX event_void_container_id_idx ON yquota.event_void (container_id);
COMMENT ON TABLE yquota.event_void IS
	'Containers whose events were voided by void_events(), with role, time and reason.  Append-only';
COMMENT ON COLUMN yquota.event_void.project IS 'project that had paid until then';
COMMENT ON COLUMN yquota.event_void.application_id IS 'application that the container had until then';
COMMENT ON COLUMN yquota.event_void.amount IS 'credits taken back: the sum of the container''s charges that were in effect';
COMMENT ON COLUMN yquota.event_void.was_running IS 'whether the container was running according to its events';
COMMENT ON COLUMN yquota.event_void.charges IS 'rows of charge that the container had after the void: none of them is in effect, those of later events have larger numbers';
COMMENT ON COLUMN yquota.event_void.chosen IS 'the arguments of void_events() that chose the container';
COMMENT ON COLUMN yquota.event_void.voided_at IS 'the clock when no other transaction could change the container''s books any more';
COMMENT ON COLUMN yquota.event_void.recorded_until IS 'voided_at, or the latest recorded_at by then if the clock had been set back: events recorded later came after the void';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.event_void
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('It tells which events of the log do not count.');

CREATE VIEW yquota_internal.last_void AS
	SELECT event_void.container_id,
		   max(event_void.recorded_until) AS recorded_until,
		   max(event_void.charges) AS charges
	FROM yquota.event_void
	GROUP BY event_void.container_id;
COMMENT ON VIEW yquota_internal.last_void IS
	'Containers that were ever voided: when last, and up to which number their charges are taken back';

--
-- Rows of events that came after the last void of their container
--
CREATE VIEW yquota_internal.stretch_since_void AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge.started_at, charge."from",
		   CASE charge.settled_by WHEN 'CONTAINER_FINISH' THEN charge."to" END AS finished_at,
		   charge.exit_status
	FROM yquota_internal.last_void AS void
	JOIN yquota_internal.charge_in_effect AS charge
		ON charge.container_id = void.container_id AND charge.number > void.charges
	WHERE charge.padding IS NULL
	UNION ALL
	SELECT container.container_id, container.project, container.application_id, container.username,
		   container.queue, container.node, container.execution_type, container.allocation,
		   container.started_at, container.settled_at, NULL, NULL
	FROM yquota_internal.last_void AS void
	JOIN yquota.container
		ON container.container_id = void.container_id AND container.charges >= void.charges;
COMMENT ON VIEW yquota_internal.stretch_since_void IS
	'Stretches of containers that were voided and have been started since, settled and running';

CREATE VIEW yquota_internal.event_since_void AS
	SELECT 'CONTAINER_START'::yquota.container_event_type AS event, false AS repeated_start,
		   life.container_id, life.started_at AS occurred_at,
		   life.project, life.application_id, life.username,
		   CASE WHEN start.container_id IS NULL THEN life.queue ELSE start.queue END AS queue,
		   CASE WHEN start.container_id IS NULL THEN life.node ELSE start.node END AS node,
		   COALESCE(start.allocation, life.allocation) AS allocation,
		   COALESCE(start.execution_type, life.execution_type) AS execution_type,
		   NULL::integer AS exit_status
	FROM yquota_internal.stretch_since_void AS life
	LEFT JOIN yquota.container_change AS start
		ON start.container_id = life.container_id AND start.event = 'CONTAINER_START'
	WHERE life."from" = life.started_at
	UNION ALL
	SELECT CASE WHEN change.repeated_start THEN 'CONTAINER_START' ELSE change.event END,
		   change.repeated_start, change.container_id, change.occurred_at, NULL, NULL, NULL,
		   change.queue, change.node, change.allocation, change.execution_type, NULL
	FROM yquota_internal.last_void AS void
	JOIN yquota.container_change AS change ON change.container_id = void.container_id
	WHERE change.event = 'CONTAINER_UPDATE'
	UNION ALL
	SELECT 'CONTAINER_FINISH', false, life.container_id, life.finished_at, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, life.exit_status
	FROM yquota_internal.stretch_since_void AS life
	WHERE life.finished_at IS NOT NULL;
COMMENT ON VIEW yquota_internal.event_since_void IS
	'Events that the books know of containers since their last void; columns that do not matter for the kind are NULL.  A repeated_start has the time when it became an UPDATE';

--
-- Voiding
--

CREATE FUNCTION yquota_internal.void_containers(
	container_ids text[],
	OUT container_id text, OUT project text, OUT application_id text, OUT amount numeric,
	OUT was_running boolean, OUT charges integer) RETURNS SETOF record
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_void_containers';
COMMENT ON FUNCTION yquota_internal.void_containers(text[]) IS
	'Take back all that the books say of containers, in ascending order of id; a row for each of which they said anything';
REVOKE ALL ON FUNCTION yquota_internal.void_containers(text[]) FROM PUBLIC;

CREATE VIEW yquota_internal.voidable_stretch AS
	SELECT charge.container_id, charge.project, charge.application_id, charge."from", charge."to",
		   charge."from" = charge.started_at AS is_start, charge.settled_by <> 'QUOTA_COMPUTE' AS is_end
	FROM yquota_internal.charge_in_effect AS charge
	UNION ALL
	SELECT container.container_id, container.project, container.application_id,
		   container.settled_at, NULL, container.settled_at = container.started_at, false
	FROM yquota.container;
COMMENT ON VIEW yquota_internal.voidable_stretch IS
	'Stretches of all containers: each accepted event is at an end of one that is_start or is_end, others are ends of closed periods';

CREATE FUNCTION yquota_internal.check_void(
	container_id text, application_id text, "from" timestamptz, "to" timestamptz, reason text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot void events at isolation level %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'What has been committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	ELSIF reason IS NULL OR reason !~ '[^[:space:]]' THEN
		RAISE EXCEPTION 'voiding events needs a reason'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Say in "reason" what was wrong with them.';
	ELSIF container_id IS NULL AND application_id IS NULL AND "from" IS NULL AND "to" IS NULL THEN
		RAISE EXCEPTION 'nothing says which events to void'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a container_id, an application_id, or a window with "from" and "to".';
	ELSIF ("from" IS NULL) <> ("to" IS NULL) THEN
		RAISE EXCEPTION 'a window of events to void needs both ends'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use ''-infinity'' and ''infinity'' for a window without ends.';
	ELSIF "from" > "to" THEN
		RAISE EXCEPTION 'window ends before it begins'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It goes from %s to %s.', "from", "to");
	ELSIF "from" < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Containers that ended before it have left the database and cannot be voided.',
				HINT = 'Begin at the horizon or later, and give credit back with yquota.quota_grant for what lies before.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_void(text, text, timestamptz, timestamptz, text) IS
	'Check that the arguments choose containers and give a reason; an error when not';
REVOKE ALL ON FUNCTION yquota_internal.check_void(text, text, timestamptz, timestamptz, text) FROM PUBLIC;

-- An unknown container may have been archived, and the caller must learn that
-- it was not voided.
CREATE FUNCTION yquota_internal.check_not_archived(container_id text, application_id text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	subject text := CASE WHEN container_id IS NULL THEN format('application "%s"', application_id)
					ELSE format('container "%s"', container_id) END;
BEGIN
	IF yquota_internal.archive_horizon() = '-infinity'
		OR container_id IS NULL AND application_id IS NULL
		OR EXISTS (
			SELECT FROM (
				SELECT c.container_id, c.application_id FROM yquota.container AS c
				UNION ALL SELECT c.container_id, c.application_id FROM yquota.charge AS c
				-- void already, if it has not been started and archived since
				UNION ALL SELECT v.container_id, v.application_id FROM yquota.event_void AS v
				WHERE v.voided_at >= (SELECT max(s.ledger_archived_at) FROM yquota.history_stretch AS s)) AS known
			WHERE (check_not_archived.container_id IS NULL OR known.container_id = check_not_archived.container_id)
			  AND (check_not_archived.application_id IS NULL OR known.application_id = check_not_archived.application_id))
	THEN
		RETURN;
	END IF;
	RAISE EXCEPTION '% is not in the books', subject
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = format('What ended before the archive horizon at %s may have been archived, and is too old to be voided.',
							yquota_internal.archive_horizon()),
			HINT = 'Look for it in the archive, and give credit back with yquota.quota_grant.';
END
$$;
COMMENT ON FUNCTION yquota_internal.check_not_archived(text, text) IS
	'Fail when history has been archived and the books do not know the containers to be voided';
REVOKE ALL ON FUNCTION yquota_internal.check_not_archived(text, text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.void_batch(
	container_ids text[], reason text, chosen jsonb, latest timestamptz) RETURNS SETOF yquota.event_void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	voids yquota.event_void[];
BEGIN
	-- the clock is read when all of the batch has been claimed
	WITH noted AS (
		INSERT INTO yquota.event_void AS void
			(container_id, project, application_id, amount, was_running, charges, reason, chosen,
			 voided_at, recorded_until)
		SELECT taken.container_id, taken.project, taken.application_id, trim_scale(taken.amount),
			   taken.was_running, taken.charges, void_batch.reason, void_batch.chosen,
			   taken.at, greatest(taken.at, latest)
		FROM (SELECT voided.*, yquota.clock() AS at
			  FROM yquota_internal.void_containers(container_ids) AS voided
			  OFFSET 0) AS taken
		RETURNING void.*
	)
	SELECT array_agg(noted) INTO voids FROM noted;
	-- Waiting events would be applied to the container's next START, which
	-- cannot be delivered meanwhile, because the container is claimed.  Other
	-- containers of the batch are not claimed: another transaction has voided
	-- them since they were chosen.  Rows that an administrator is changing are
	-- not waited for while containers are claimed.
	DELETE FROM yquota.event_reject AS reject
	WHERE reject.reject_id = ANY (ARRAY(
		SELECT waits.reject_id FROM yquota.event_reject AS waits
		WHERE waits.waiting
		  AND waits.container_id = ANY (ARRAY(SELECT void.container_id FROM unnest(voids) AS void))
		FOR UPDATE SKIP LOCKED));
	DELETE FROM yquota_internal.reported_end AS reported
	WHERE reported.container_id = ANY (ARRAY(SELECT void.container_id FROM unnest(voids) AS void));
	RETURN QUERY SELECT void.* FROM unnest(voids) AS void;
END
$$;
COMMENT ON FUNCTION yquota_internal.void_batch(text[], text, jsonb, timestamptz) IS
	'Void containers, in ascending order of id, and note it in event_void; with the latest recorded_at of the log, or earlier if the clock is later';
REVOKE ALL ON FUNCTION yquota_internal.void_batch(text[], text, jsonb, timestamptz) FROM PUBLIC;

CREATE FUNCTION yquota.void_events(
	container_id text DEFAULT NULL, reason text DEFAULT NULL, application_id text DEFAULT NULL,
	"from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL,
	project text DEFAULT NULL, source text DEFAULT NULL)
	RETURNS SETOF yquota.event_void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	-- the plan depends on which arguments are given
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	batch_size CONSTANT integer := 1000;
	chosen jsonb := jsonb_strip_nulls(jsonb_build_object(
		'container_id', container_id, 'application_id', application_id,
		'from', "from", 'to', "to", 'project', project, 'source', source));
	latest timestamptz;
	found_id text;
	batch text[] := '{}';
BEGIN
	PERFORM yquota_internal.check_void(container_id, application_id, "from", "to", reason);
	PERFORM yquota_internal.refuse_while_deferred('void events');
	-- as a statement of the door: the archive horizon stays where it is
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	-- waiting events are not moved meanwhile
	LOCK TABLE yquota.event_void IN ROW EXCLUSIVE MODE;
	PERFORM yquota_internal.check_not_archived(container_id, application_id);
	SELECT max(part.recorded_at) INTO latest
	FROM (SELECT counter.last_recorded_at AS recorded_at FROM yquota_internal.feed_counter AS counter
		  UNION ALL
		  SELECT delta.recorded_at FROM yquota_internal.counter_delta AS delta
		  WHERE delta.scope IN ('a', 'f')) AS part;
	FOR found_id IN
		SELECT DISTINCT stretch.container_id
		FROM yquota_internal.voidable_stretch AS stretch
		WHERE (void_events.container_id IS NULL OR stretch.container_id = void_events.container_id)
		  AND (void_events.application_id IS NULL OR stretch.application_id = void_events.application_id)
		  AND (void_events.project IS NULL OR stretch.project = void_events.project)
		  AND (void_events."from" IS NULL
			   OR stretch."from" >= void_events."from" AND stretch."from" < void_events."to" AND stretch.is_start
			   OR stretch."to" >= void_events."from" AND stretch."to" < void_events."to" AND stretch.is_end)
		  AND (void_events.source IS NULL
			   OR stretch.container_id IN (
				SELECT log.container_id
				FROM yquota.container_event AS log
				WHERE log.source = void_events.source
				  AND (void_events."from" IS NULL
					   OR log.occurred_at >= void_events."from" AND log.occurred_at < void_events."to")
				  AND NOT EXISTS (SELECT FROM yquota.event_void AS void
								  WHERE void.container_id = log.container_id
									AND void.recorded_until >= log.recorded_at)))
		ORDER BY stretch.container_id
	LOOP
		batch := batch || found_id;
		IF cardinality(batch) = batch_size THEN
			RETURN QUERY SELECT * FROM yquota_internal.void_batch(batch, reason, chosen, latest);
			batch := '{}';
		END IF;
	END LOOP;
	RETURN QUERY SELECT * FROM yquota_internal.void_batch(batch, reason, chosen, latest);
END
$$;
COMMENT ON FUNCTION yquota.void_events(text, text, text, timestamptz, timestamptz, text, text) IS
	'Void all events of containers that turned out to be wrong: take back their charges, so that the true events can be delivered.  Containers are chosen by id, by application, or by a window in which any of their events occurred; project and source narrow the choice.  Returns a row per container; none for containers that are unknown or void already';
REVOKE ALL ON FUNCTION yquota.void_events(text, text, text, timestamptz, timestamptz, text, text) FROM PUBLIC;

SELECT pg_extension_config_dump('yquota.event_void', '');
SELECT pg_extension_config_dump('yquota.event_void_void_id_seq', '');
