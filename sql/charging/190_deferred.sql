-- Emergency mode: events are stored and charged later (yquota.charging = deferred).
--
-- Rows that are not charged yet are copies of rows of the log, with their event_id.  The log itself is append-only
-- and may be sealed.  All columns except arrival and sent_by are those of container_event, in the same order.  The
-- trigger of container_event copies rows unchanged and unchecked (src/charging/charge_events.c).

CREATE TABLE yquota_internal.deferred_event (
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL,
	arrival bigint GENERATED ALWAYS AS IDENTITY,
	priority integer,
	allocation_request_id bigint,
	asked_label text COLLATE "C",
	is_am boolean,
	is_running boolean,
	event_id bigint,
	sent_by text COLLATE "C"
);
-- The index excludes ids that are too long for an index entry, because no event may be refused here.  Such ids are
-- never valid.
CREATE INDEX deferred_event_container_idx ON yquota_internal.deferred_event (container_id)
	WHERE octet_length(container_id) <= 2600;
COMMENT ON TABLE yquota_internal.deferred_event IS
	'Rows of the log that arrived while yquota.charging was deferred and have not been charged yet; charge_deferred() deletes them';
COMMENT ON COLUMN yquota_internal.deferred_event.arrival IS
	'number of the statement that inserted the row.  All rows of a statement have the same number, and statements are charged in this order';
COMMENT ON COLUMN yquota_internal.deferred_event.sent_by IS 'name, at that time, of the role that sent the event';

CREATE FUNCTION yquota_internal.charge_deferred_through(last_id text, OUT charged bigint, OUT set_aside bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_charge_deferred_through';
COMMENT ON FUNCTION yquota_internal.charge_deferred_through(text) IS
	'Charge the deferred events of containers up to an id, or of all containers if the id is NULL.  Also delete the rows of these events in deferred_event.  The caller holds the locks of charge_deferred()';

-- The function charges whole containers, because charging the events of a container together is cheaper.  Only one
-- call runs at a time.  Like a statement that sends events, it prevents archive() and seal_history() from exchanging
-- tables at the same time.
CREATE FUNCTION yquota.charge_deferred(max_events bigint DEFAULT NULL,
									   OUT charged bigint, OUT set_aside bigint, OUT remaining bigint)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	last_id text COLLATE "C";
BEGIN
	IF max_events < 1 THEN
		RAISE EXCEPTION 'max_events must be greater than zero'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Leave it out to charge all that was deferred.';
	END IF;
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	LOCK TABLE yquota_internal.deferred_event IN SHARE UPDATE EXCLUSIVE MODE;
	IF max_events IS NOT NULL THEN
		SELECT deferred.container_id INTO last_id
		FROM yquota_internal.deferred_event AS deferred
		WHERE octet_length(deferred.container_id) <= 2600
		ORDER BY deferred.container_id
		OFFSET max_events - 1 LIMIT 1;
	END IF;
	SELECT done.charged, done.set_aside INTO charge_deferred.charged, charge_deferred.set_aside
	FROM yquota_internal.charge_deferred_through(last_id) AS done;
	SELECT count(*) INTO remaining FROM yquota_internal.deferred_event;
END
$$;
COMMENT ON FUNCTION yquota.charge_deferred(bigint) IS
	'Charge events that arrived while yquota.charging was deferred, as an INSERT would have charged them.  Charges all events.  With max_events, it charges whole containers until at least that many events are charged.  Bad events are raised or set aside, as yquota.on_bad_event says.  Returns how many events were charged, how many were set aside, and how many remain';

CREATE FUNCTION yquota_internal.refuse_while_deferred(what text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF EXISTS (SELECT FROM yquota_internal.deferred_event) THEN
		RAISE EXCEPTION 'cannot % while events are deferred', what
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The books lack the events that arrived while yquota.charging was deferred.',
				HINT = 'Call yquota.charge_deferred() until nothing remains.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_while_deferred(text) IS
	'Raise an error while events are deferred.  Functions that need complete books call this function';

CREATE VIEW yquota_internal.compute_mark AS
	SELECT max(mark.at) AS at
	FROM (SELECT charged.at FROM yquota_internal.charged_through AS charged
		  UNION ALL
		  SELECT deferred.occurred_at
		  FROM yquota_internal.deferred_event AS deferred
		  WHERE deferred.event = 'QUOTA_COMPUTE' AND isfinite(deferred.occurred_at)
			AND deferred.occurred_at <= deferred.recorded_at + yquota_internal.duration('yquota.max_clock_skew')) AS mark;
COMMENT ON VIEW yquota_internal.compute_mark IS
	'Charged-through mark as it will be when all deferred events have been charged';

SELECT pg_extension_config_dump('yquota_internal.deferred_event', '');
SELECT pg_extension_config_dump('yquota_internal.deferred_event_arrival_seq', '');
