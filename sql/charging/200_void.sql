-- Wrong events: voiding containers, so that their true events can be delivered (docs/design.md 1.7).
-- src/charging/settle.h explains how records are reversed.
--
-- The log keeps the events of voided containers.  A void writes the numbers of the events that it reverses into
-- voided_event while it has claimed the container.  An event that is accepted later is not among them.  The log has
-- no index of containers, so a call of void_events() reads the whole log once.

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
	voided_at timestamptz NOT NULL
);
CREATE INDEX event_void_container_id_idx ON yquota.event_void (container_id);
COMMENT ON TABLE yquota.event_void IS
	'Containers whose events void_events() voided, with role, time and reason.  Append-only';
COMMENT ON COLUMN yquota.event_void.void_id IS 'primary key';
COMMENT ON COLUMN yquota.event_void.project IS 'project that had paid before the void';
COMMENT ON COLUMN yquota.event_void.application_id IS 'application of the container before the void';
COMMENT ON COLUMN yquota.event_void.amount IS 'credits given back: the sum of the container''s charges that were in effect';
COMMENT ON COLUMN yquota.event_void.was_running IS 'true if the container was running according to its events';
COMMENT ON COLUMN yquota.event_void.charges IS 'number of rows of charge that the container had after the void. None of them is in effect; later rows have larger numbers';
COMMENT ON COLUMN yquota.event_void.reason IS 'not empty';
COMMENT ON COLUMN yquota.event_void.chosen IS 'the arguments of void_events() that chose the container';
COMMENT ON COLUMN yquota.event_void.voided_by IS 'the session''s user';
COMMENT ON COLUMN yquota.event_void.voided_at IS 'clock when other transactions could not change the container''s books any more';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.event_void
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Voids tell which events of the log do not count.');

CREATE TABLE yquota_internal.voided_event (
	void_id bigint NOT NULL,
	event_id bigint NOT NULL
);
COMMENT ON TABLE yquota_internal.voided_event IS
	'Events of the log that voids have reversed. They are removed when their rows of the log are archived';

CREATE VIEW yquota_internal.set_aside_event AS
	SELECT reject.event_id, reject.container_id, reject.occurred_at
	FROM yquota.event_reject AS reject
	UNION ALL
	SELECT discarded.event_id, discarded.container_id, discarded.occurred_at
	FROM yquota_internal.discarded_event AS discarded
	UNION ALL
	SELECT deferred.event_id, deferred.container_id, deferred.occurred_at
	FROM yquota_internal.deferred_event AS deferred;
COMMENT ON VIEW yquota_internal.set_aside_event IS
	'Events of the log that were set aside or deferred, whatever happened later to their rows in event_reject.  An administrator may have changed the container in a row of event_reject';

CREATE VIEW yquota_internal.last_void AS
	SELECT event_void.container_id, max(event_void.charges) AS charges
	FROM yquota.event_void
	GROUP BY event_void.container_id;
COMMENT ON VIEW yquota_internal.last_void IS
	'Containers that were ever voided, and the number up to which their charges are reversed';

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
	'Reverse all records of containers in the books, in ascending order of id.  Returns a row for each container that had records';

CREATE VIEW yquota_internal.voidable_segment AS
	SELECT charge.container_id, charge.project, charge.application_id, charge."from", charge."to",
		   charge."from" = charge.started_at AS is_start, charge.settled_by <> 'QUOTA_COMPUTE' AS is_end
	FROM yquota_internal.charge_in_effect AS charge
	UNION ALL
	SELECT container.container_id, container.project, container.application_id,
		   container.settled_at, NULL, container.settled_at = container.started_at, false
	FROM yquota.container;
COMMENT ON VIEW yquota_internal.voidable_segment IS
	'Segments of all containers. is_start and is_end tell whether an accepted event is at the start or end of the segment.  Otherwise a closed period ends there';

CREATE FUNCTION yquota_internal.check_void(
	container_id text, application_id text, "from" timestamptz, "to" timestamptz, reason text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.require_read_committed('void events');
	IF reason IS NULL OR reason !~ '[^[:space:]]' THEN
		RAISE EXCEPTION 'voiding events needs a reason'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Say in "reason" why the events are wrong.';
	ELSIF container_id IS NULL AND application_id IS NULL AND "from" IS NULL AND "to" IS NULL THEN
		RAISE EXCEPTION 'no events to void are specified'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a container_id, an application_id, or a window with "from" and "to".';
	ELSIF ("from" IS NULL) <> ("to" IS NULL) THEN
		RAISE EXCEPTION 'a window of events to void needs both ends'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use ''-infinity'' and ''infinity'' for a window without ends.';
	ELSIF "from" > "to" THEN
		RAISE EXCEPTION 'window ends before it begins'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The window goes from %s to %s.', "from", "to");
	ELSIF "from" < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Containers that ended before it have left the database and cannot be voided.',
				HINT = 'Begin at the horizon or later, and give credit back with yquota.quota_grant for the time before.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_void(text, text, timestamptz, timestamptz, text) IS
	'Raise an error if the arguments do not choose containers or do not give a reason';

-- An unknown container may have been archived.  The caller must learn that the container was not voided.
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
				-- include containers that were voided before, unless they have been started and archived since
				UNION ALL SELECT v.container_id, v.application_id FROM yquota.event_void AS v
				WHERE v.voided_at >= (SELECT max(s.ledger_archived_at) FROM yquota.history_segment AS s)) AS known
			WHERE (check_not_archived.container_id IS NULL OR known.container_id = check_not_archived.container_id)
			  AND (check_not_archived.application_id IS NULL OR known.application_id = check_not_archived.application_id))
	THEN
		RETURN;
	END IF;
	RAISE EXCEPTION '% is not in the books', subject
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = format('Containers that ended before the archive horizon at %s may have been archived, and are too old to be voided.',
							yquota_internal.archive_horizon()),
			HINT = 'Look for it in the archive, and give credit back with yquota.quota_grant.';
END
$$;
COMMENT ON FUNCTION yquota_internal.check_not_archived(text, text) IS
	'Raise an error if history has been archived and the containers to be voided are unknown';

CREATE FUNCTION yquota_internal.void_batch(
	container_ids text[], reason text, chosen jsonb) RETURNS SETOF yquota.event_void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	voids yquota.event_void[];
BEGIN
	-- OFFSET 0 makes the query read the clock only after the whole batch has been claimed
	WITH noted AS (
		INSERT INTO yquota.event_void AS void
			(container_id, project, application_id, amount, was_running, charges, reason, chosen, voided_at)
		SELECT taken.container_id, taken.project, taken.application_id, trim_scale(taken.amount),
			   taken.was_running, taken.charges, void_batch.reason, void_batch.chosen, taken.at
		FROM (SELECT voided.*, yquota.clock() AS at
			  FROM yquota_internal.void_containers(container_ids) AS voided
			  OFFSET 0) AS taken
		RETURNING void.*
	)
	-- cast to the type of the variable; otherwise PL/pgSQL would convert each row through text
	SELECT array_agg(noted::yquota.event_void) INTO voids FROM noted;
	-- Delete waiting events, because the next START of the container would apply them.  Such a START cannot arrive
	-- now, because the container is claimed.
	--
	-- Some containers of the batch may be unclaimed, because another transaction has voided them since they were
	-- chosen.  Skip rows that an administrator is changing.  The transaction must not wait for them while containers
	-- are claimed.
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
COMMENT ON FUNCTION yquota_internal.void_batch(text[], text, jsonb) IS
	'Void containers, in ascending order of id, and record the voids in event_void';

-- The query finds the events in the log.  The containers are claimed, so none of their events can be accepted before
-- this transaction ends.
CREATE FUNCTION yquota_internal.note_voided_events(void_ids bigint[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	INSERT INTO yquota_internal.voided_event (void_id, event_id)
	SELECT void.void_id, log.event_id
	FROM yquota.event_void AS void
	JOIN yquota.container_event AS log ON log.container_id = void.container_id
	WHERE void.void_id = ANY (void_ids)
	  AND NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside
					  WHERE aside.event_id = log.event_id)
	  AND NOT EXISTS (SELECT FROM yquota_internal.voided_event AS earlier
					  WHERE earlier.event_id = log.event_id);
$$;
COMMENT ON FUNCTION yquota_internal.note_voided_events(bigint[]) IS
	'Record the numbers of the events that voids reverse.  The caller has claimed their containers';

-- The query finds rows of one container, and their corrections, by its id.  Without statistics, the planner expects
-- few rows and would compare each row with every other row.
CREATE FUNCTION yquota_internal.voidable_batches(
	container_id text, application_id text, project text, "from" timestamptz, "to" timestamptz, source text) RETURNS SETOF text[]
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- the best plan depends on which arguments are given
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = on
	AS $$
BEGIN
	PERFORM set_config('enable_nestloop', CASE WHEN container_id IS NULL THEN 'on' ELSE 'off' END, true);
	RETURN QUERY
	SELECT array_agg(numbered.container_id ORDER BY numbered.container_id)
	FROM (
		SELECT segment.container_id, (row_number() OVER (ORDER BY segment.container_id) - 1) / 1000 AS number
		FROM yquota_internal.voidable_segment AS segment
		WHERE (voidable_batches.container_id IS NULL OR segment.container_id = voidable_batches.container_id)
		  AND (voidable_batches.application_id IS NULL OR segment.application_id = voidable_batches.application_id)
		  AND (voidable_batches.project IS NULL OR segment.project = voidable_batches.project)
		  AND (voidable_batches."from" IS NULL
			   OR segment."from" >= voidable_batches."from" AND segment."from" < voidable_batches."to" AND segment.is_start
			   OR segment."to" >= voidable_batches."from" AND segment."to" < voidable_batches."to" AND segment.is_end)
		  AND (voidable_batches.source IS NULL
			   OR segment.container_id IN (
				SELECT log.container_id
				FROM yquota.container_event AS log
				WHERE log.source = voidable_batches.source
				  AND (voidable_batches."from" IS NULL
					   OR log.occurred_at >= voidable_batches."from" AND log.occurred_at < voidable_batches."to")
				  AND NOT EXISTS (SELECT FROM yquota_internal.voided_event AS taken_back
								  WHERE taken_back.event_id = log.event_id)))
		GROUP BY segment.container_id) AS numbered
	GROUP BY numbered.number
	ORDER BY numbered.number;
END
$$;
COMMENT ON FUNCTION yquota_internal.voidable_batches(text, text, text, timestamptz, timestamptz, text) IS
	'Return the containers that void_events() chooses, at most 1000 in each row of the result, in ascending order of id';

CREATE FUNCTION yquota.void_events(
	container_id text DEFAULT NULL, reason text DEFAULT NULL, application_id text DEFAULT NULL,
	"from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL,
	project text DEFAULT NULL, source text DEFAULT NULL)
	RETURNS SETOF yquota.event_void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	-- the chosen conditions are stored as JSON
	SET timezone = 'UTC'
	AS $$
DECLARE
	chosen jsonb := jsonb_strip_nulls(jsonb_build_object(
		'container_id', container_id, 'application_id', application_id,
		'from', "from", 'to', "to", 'project', project, 'source', source));
	batch text[];
	voided yquota.event_void;
	void_ids bigint[] := '{}';
BEGIN
	PERFORM yquota_internal.check_void(container_id, application_id, "from", "to", reason);
	PERFORM yquota_internal.check_project(project);
	PERFORM yquota_internal.refuse_while_deferred('void events');
	-- take the lock that an INSERT of events takes, so that the archive horizon does not change
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	-- prevent waiting events from being moved at the same time
	LOCK TABLE yquota.event_void IN ROW EXCLUSIVE MODE;
	PERFORM yquota_internal.check_not_archived(container_id, application_id);
	FOR batch IN
		SELECT chosen_ones.ids
		FROM yquota_internal.voidable_batches(container_id, application_id, project, "from", "to", source) AS chosen_ones (ids)
	LOOP
		FOR voided IN SELECT * FROM yquota_internal.void_batch(batch, reason, chosen) LOOP
			void_ids := void_ids || voided.void_id;
			RETURN NEXT voided;
		END LOOP;
	END LOOP;
	IF void_ids <> '{}' THEN
		PERFORM yquota_internal.note_voided_events(void_ids);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota.void_events(text, text, text, timestamptz, timestamptz, text, text) IS
	'Void all events of containers that turned out to be wrong: reverse their charges, so that the true events can be delivered.  Containers are chosen by id, by application, or by a window in which any of their events occurred.  project and source restrict the choice.  Returns a row for each voided container.  Containers that are unknown or already voided have no row';

SELECT pg_extension_config_dump('yquota.event_void', '');
SELECT pg_extension_config_dump('yquota_internal.voided_event', '');
SELECT pg_extension_config_dump('yquota.event_void_void_id_seq', '');
