-- The view of feeds: their progress, and the events and calls that were set aside.  Functions here compare the books
-- with the resource manager's list of running containers.
--
-- No function here writes containers or charges.  Corrections are events in yquota.container_event, like the events
-- of any feed.  Errors are those of an INSERT of events.

CREATE VIEW yquota_internal.outliving_container AS
	SELECT container.*, ended.at AS ended_at
	FROM yquota.container container
	LEFT JOIN yquota.application application ON application.application_id = container.application_id
	LEFT JOIN yquota_internal.ended_application ended_application ON ended_application.application_id = container.application_id
	CROSS JOIN LATERAL (
		SELECT CASE WHEN application.application_id IS NULL OR application.state = 'REJECTED' THEN ended_application.ended_at
				ELSE application.finished_at END AS at
	) ended
	WHERE ended.at IS NOT NULL;
COMMENT ON VIEW yquota_internal.outliving_container IS
	'Running containers of applications that have ended, including applications whose rows have been deleted';
COMMENT ON COLUMN yquota_internal.outliving_container.ended_at IS 'time at which the application ended';

-- Containers whose FINISH was lost look as if they ran.  The first container of an application attempt is usually
-- its master, which normally outlives all others.
CREATE FUNCTION yquota_internal.outliving_containers()
	RETURNS TABLE (container_id text, project text, application_id text, username text, queue text, node text,
				   execution_type yquota.execution_type, allocation yquota.resource, started_at timestamptz, ended_at timestamptz)
	-- lets readers of a view get rows of tables that they may not read
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 10
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT outlived.container_id, outlived.project, outlived.application_id, outlived.username, outlived.queue,
		   outlived.node, outlived.execution_type, outlived.allocation, outlived.started_at, outlived.ended_at
	FROM yquota_internal.outliving_container AS outlived
	WHERE outlived.ended_at < yquota.statement_clock() - COALESCE((SELECT setting.allocation_expiry FROM yquota.scheduler_setting AS setting), '10 minutes')
$$;
COMMENT ON FUNCTION yquota_internal.outliving_containers() IS
	'Return the rows of outliving_container whose application ended longer ago than allocation_expiry.  The planner expects few rows';

CREATE VIEW yquota_internal.suspect_container AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.execution_type,
		   container.allocation, container.started_at,
		   'node is ' || node.state AS reason
	FROM yquota.container container
	JOIN yquota.node node ON node.name = container.node
	WHERE node.state IN ('DECOMMISSIONED', 'LOST', 'REBOOTED', 'SHUTDOWN')
	UNION ALL
	SELECT aged.container_id, aged.project, aged.application_id, aged.username, aged.queue,
		   aged.node, aged.execution_type, aged.allocation, aged.started_at,
		   format('runs for %s, the next oldest of its application for %s',
				  aged.now - aged.started_at, aged.now - aged.next_started_at)
	FROM (
		SELECT container.*,
			   yquota.statement_clock() AS now,
			   lead(container.started_at) OVER (
				   PARTITION BY container.project, container.application_id
				   ORDER BY container.started_at, container.container_id) AS next_started_at
		FROM yquota.container container
		WHERE container.application_id IS NOT NULL
		  AND NOT container.is_am
	) aged
	WHERE aged.next_started_at - aged.started_at >= interval '1 day'
	  AND aged.now - aged.started_at >= 10 * (aged.now - aged.next_started_at)
	UNION ALL
	SELECT outlived.container_id, outlived.project, outlived.application_id, outlived.username, outlived.queue,
		   outlived.node, outlived.execution_type, outlived.allocation, outlived.started_at,
		   format('its application ended at %s', outlived.ended_at)
	FROM yquota_internal.outliving_containers() AS outlived;
COMMENT ON VIEW yquota_internal.suspect_container IS
	'Running containers, of all projects, whose end has probably not been reported';

CREATE VIEW yquota_internal.last_seal AS
	SELECT COALESCE(max(segment.sealed_at), '-infinity') AS at
	FROM yquota.history_segment AS segment
	WHERE segment.number > 0;
COMMENT ON VIEW yquota_internal.last_seal IS
	'Time at which history was last sealed; one row';

CREATE VIEW yquota_internal.differing_end AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation, charge.started_at,
		   format('is reported to have ended at %s', reported.ends) AS reason
	FROM (
		SELECT reported_end.container_id,
			   string_agg(DISTINCT concat_ws(' with status ', reported_end.occurred_at, reported_end.exit_status), ', ') AS ends
		FROM yquota_internal.reported_end
		WHERE NOT reported_end.is_own AND NOT reported_end.is_assumed
		  -- ignore ends that nodes report again to a restarted resource manager
		  AND NOT EXISTS (SELECT FROM yquota_internal.feed_sign AS recovery
						  WHERE recovery.source = reported_end.source AND recovery.is_recovery
							AND recovery.at <= reported_end.occurred_at
							AND recovery.at > (SELECT min(earlier.occurred_at) FROM yquota_internal.reported_end AS earlier
											   WHERE earlier.container_id = reported_end.container_id))
		GROUP BY reported_end.container_id
		HAVING count(DISTINCT (reported_end.occurred_at, reported_end.exit_status)) > 1
		   AND max(reported_end.recorded_at) > (SELECT last_seal.at FROM yquota_internal.last_seal)
	) reported
	JOIN yquota_internal.charge_in_effect charge USING (container_id)
	WHERE charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL;
COMMENT ON VIEW yquota_internal.differing_end IS
	'Containers, of all projects, for which feeds have reported more than one end since history was last sealed';

CREATE VIEW yquota_internal.assumed_end AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation, charge.started_at,
		   format('no event reports its end, and its application ended at %s', charge."to") AS reason
	FROM yquota_internal.reported_end
	JOIN yquota_internal.charge_in_effect charge
		ON charge.container_id = reported_end.container_id AND charge."to" = reported_end.occurred_at
	WHERE reported_end.is_assumed
	  AND reported_end.recorded_at > (SELECT last_seal.at FROM yquota_internal.last_seal)
	  AND charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL;
COMMENT ON VIEW yquota_internal.assumed_end IS
	'Containers, of all projects, that ended with their application since history was last sealed, because no other end was reported';

CREATE VIEW yquota_internal.contradicted_end AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation, charge.started_at,
		   format('ended by reconcile() at %s, reported to have ended at %s', charge."to", reported.at) AS reason
	FROM (
		SELECT assumed.container_id, assumed.occurred_at, min(later.occurred_at) AS at
		FROM yquota_internal.reported_end AS assumed
		JOIN yquota_internal.reported_end AS later
			ON later.container_id = assumed.container_id AND later.occurred_at > assumed.occurred_at AND NOT later.is_own
		WHERE assumed.is_own AND assumed.source = 'reconcile'
		  AND assumed.recorded_at > (SELECT last_seal.at FROM yquota_internal.last_seal)
		GROUP BY assumed.container_id, assumed.occurred_at
	) reported
	JOIN yquota_internal.charge_in_effect charge
		ON charge.container_id = reported.container_id AND charge."to" = reported.occurred_at
	WHERE charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL;
COMMENT ON VIEW yquota_internal.contradicted_end IS
	'Containers, of all projects, for which reconcile() recorded an earlier end than a feed reports.  Only ends since history was last sealed are compared';

CREATE FUNCTION yquota_internal.doubted_ends()
	RETURNS TABLE (container_id text, project text, application_id text, username text, queue text, node text,
				   execution_type yquota.execution_type, allocation yquota.resource, started_at timestamptz, reason text, differs boolean)
	-- lets readers of views get rows of tables that they may not read
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 10
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT differing.*, true FROM yquota_internal.differing_end AS differing
	UNION ALL
	SELECT contradicted.*, true FROM yquota_internal.contradicted_end AS contradicted
	UNION ALL
	SELECT assumed.*, false FROM yquota_internal.assumed_end AS assumed
$$;
COMMENT ON FUNCTION yquota_internal.doubted_ends() IS
	'Return the rows of differing_end, contradicted_end and assumed_end.  The planner expects few rows';

CREATE VIEW yquota.suspect_container WITH (security_barrier) AS
	SELECT suspect.*
	FROM (
		SELECT * FROM yquota_internal.suspect_container
		UNION ALL
		SELECT doubted.container_id, doubted.project, doubted.application_id, doubted.username, doubted.queue, doubted.node,
			   doubted.execution_type, doubted.allocation, doubted.started_at, doubted.reason
		FROM yquota_internal.doubted_ends() AS doubted
	) suspect
	WHERE (SELECT yquota_internal.reads_all())
	   OR suspect.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.suspect_container IS
	'Running containers that have probably ended without a report.  Their node is gone, or their application ended longer ago than scheduler_setting.allocation_expiry.  Others are much older than the next oldest container of their application: at least ten times as old, and at least a day older.  The first container of the application, its master, is not compared.  Finish these containers with reconcile(), node_lost() or a CONTAINER_FINISH. The view also lists containers with a doubtful end, until history is sealed.  Either feeds have reported different ends, and the earliest counts. Or a feed has reported a later end than reconcile() recorded, and reconcile() has not been called again. Or no feed has reported an end, and the container was ended with its application';
COMMENT ON COLUMN yquota.suspect_container.reason IS 'reason for the suspicion; a container may be listed for several reasons';
COMMENT ON COLUMN yquota.suspect_container.allocation IS 'native units';

-- Calls that a sender has set aside, and errors that block a sender.  The sender decides by the SQLSTATE
-- (docs/clients.md).  These tables show what the sender decided.
CREATE TABLE yquota.feed_reject (
	reject_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	source text COLLATE "C",
	call jsonb NOT NULL,
	sqlstate text NOT NULL,
	message text NOT NULL,
	detail text,
	at timestamptz NOT NULL,
	sent_by text COLLATE "C" NOT NULL
);
CREATE INDEX feed_reject_call_idx ON yquota.feed_reject USING hash (call);
COMMENT ON TABLE yquota.feed_reject IS
	'Calls and rows of a feed that the server refused and that the feed set aside: see reject_call().  Delete rows that have been handled';
COMMENT ON COLUMN yquota.feed_reject.reject_id IS 'primary key';
COMMENT ON COLUMN yquota.feed_reject.source IS 'name of the feed; NULL for a feed without a name';
COMMENT ON COLUMN yquota.feed_reject.call IS 'refused call or row, as the feed reports it: the function and its arguments, or the table and its row';
COMMENT ON COLUMN yquota.feed_reject.message IS 'message of the server';
COMMENT ON COLUMN yquota.feed_reject.at IS 'time at which the call was set aside, or was last refused again';
COMMENT ON COLUMN yquota.feed_reject.sent_by IS 'name, at that time, of the role that sent the call';

CREATE TABLE yquota_internal.feed_problem (
	source text COLLATE "C",
	problem text NOT NULL,
	since timestamptz NOT NULL,
	UNIQUE NULLS NOT DISTINCT (source)
);
COMMENT ON TABLE yquota_internal.feed_problem IS
	'Feeds that wait for an administrator: see report_feed_problem()';

CREATE FUNCTION yquota_internal.reject_call_as_owner(source text, call jsonb, sqlstate text, message text, detail text)
	RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known_id bigint;
BEGIN
	IF jsonb_typeof(reject_call_as_owner.call) IS DISTINCT FROM 'object' THEN
		RAISE EXCEPTION 'call that is set aside must be a JSON object'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Pass the function and its arguments, or the table and its row.';
	ELSIF reject_call_as_owner.sqlstate IS NULL THEN
		RAISE EXCEPTION 'SQLSTATE of a call that is set aside must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF reject_call_as_owner.sqlstate !~ '^[0-9A-Z]{5}$' THEN
		RAISE EXCEPTION '"%" is not an SQLSTATE', reject_call_as_owner.sqlstate
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- if two senders report the same call, only one row remains
	LOCK TABLE yquota.feed_reject IN SHARE ROW EXCLUSIVE MODE;
	UPDATE yquota.feed_reject AS known
	SET sqlstate = reject_call_as_owner.sqlstate, message = coalesce(reject_call_as_owner.message, ''),
		detail = reject_call_as_owner.detail, at = yquota.clock(), sent_by = yquota_internal.acting_role()
	WHERE known.call = reject_call_as_owner.call AND known.source IS NOT DISTINCT FROM reject_call_as_owner.source
	RETURNING known.reject_id INTO known_id;
	IF NOT FOUND THEN
		INSERT INTO yquota.feed_reject AS fresh (source, call, sqlstate, message, detail, at, sent_by)
		VALUES (reject_call_as_owner.source, reject_call_as_owner.call, reject_call_as_owner.sqlstate,
				coalesce(reject_call_as_owner.message, ''), reject_call_as_owner.detail, yquota.clock(), yquota_internal.acting_role())
		RETURNING fresh.reject_id INTO known_id;
	END IF;
	RETURN known_id;
END
$$;
COMMENT ON FUNCTION yquota_internal.reject_call_as_owner(text, jsonb, text, text, text) IS
	'Run reject_call() for the calling role';

CREATE FUNCTION yquota.reject_call(source text, call jsonb, sqlstate text, message text, detail text DEFAULT NULL)
	RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.reject_call(text, jsonb, text, text, text) IS
	'Set aside a call or row of a feed that the server has refused, so that the feed can continue.  Returns the reject_id of its row in feed_reject.  If the call is already stored, its reason is replaced';

CREATE FUNCTION yquota.report_feed_problem(source text, sqlstate text, message text DEFAULT NULL) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		DELETE FROM yquota_internal.feed_problem AS known
		WHERE known.source IS NOT DISTINCT FROM report_feed_problem.source AND report_feed_problem.sqlstate IS NULL;
		INSERT INTO yquota_internal.feed_problem AS known (source, problem, since)
		SELECT report_feed_problem.source, concat_ws(': ', report_feed_problem.sqlstate, report_feed_problem.message),
			   yquota.clock()
		WHERE report_feed_problem.sqlstate IS NOT NULL
		ON CONFLICT (source) DO UPDATE SET problem = excluded.problem
			WHERE known.problem <> excluded.problem;
$$;
COMMENT ON FUNCTION yquota.report_feed_problem(text, text, text) IS
	'Report that a feed waits for something that only an administrator can repair.  feed_status shows the problem, and an alert is raised.  A NULL SQLSTATE reports that the feed works again';

-- The function deletes a limited number of rows per call, so that the worker can do other work in between.
CREATE FUNCTION yquota_internal.forget_rejected_calls(before timestamptz, most integer) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota.feed_reject AS r
			WHERE r.reject_id IN (SELECT o.reject_id FROM yquota.feed_reject AS o WHERE o.at < before LIMIT most)
			  AND r.at < before
			RETURNING 1)
		SELECT count(*) FROM forgotten;
$$;
COMMENT ON FUNCTION yquota_internal.forget_rejected_calls(timestamptz, integer) IS
	'Delete rows of feed_reject about calls that were set aside before an instant.  Deletes at most the given number of rows, and returns how many';

CREATE VIEW yquota.feed_status AS
	SELECT part.source,
		   sum(part.events)::bigint AS events,
		   max(part.last_event_at) AS last_event_at,
		   max(part.last_recorded_at) AS last_recorded_at,
		   yquota.statement_clock() - max(part.last_event_at) AS lag,
		   sum(part.waiting)::bigint AS waiting,
		   sum(part.rejected)::bigint AS rejected,
		   sum(part.deferred)::bigint AS deferred,
		   sum(part.differing_ends)::bigint AS differing_ends,
		   sum(part.rejected_calls)::bigint AS rejected_calls,
		   max(part.problem) AS problem,
		   max(part.problem_since) AS problem_since
	FROM (
		SELECT counter.source, counter.events, counter.last_event_at, counter.last_recorded_at,
			   0 AS waiting, 0 AS rejected, 0 AS deferred, 0 AS differing_ends, 0 AS rejected_calls,
			   NULL AS problem, NULL::timestamptz AS problem_since
		FROM yquota_internal.feed_counter counter
		UNION ALL
		SELECT delta.source, delta.events, delta.last_event_at, delta.recorded_at, 0, 0, 0, 0, 0, NULL, NULL
		FROM yquota_internal.counter_delta delta
		-- skip deltas of corrections, because they are not about events
		WHERE delta.scope IN ('a', 'f') AND delta.events IS NOT NULL
		UNION ALL
		SELECT reject.source, 0, NULL, NULL,
			   count(*) FILTER (WHERE reject.waiting), count(*) FILTER (WHERE NOT reject.waiting), 0, 0, 0,
			   NULL, NULL
		FROM yquota.event_reject reject
		GROUP BY reject.source
		UNION ALL
		-- these events have not been checked yet; an instant far in the future is invalid
		SELECT kept.source, count(*),
			   max(kept.occurred_at) FILTER (WHERE isfinite(kept.occurred_at)
				   AND kept.occurred_at <= kept.recorded_at + yquota_internal.duration('yquota.max_clock_skew')),
			   max(kept.recorded_at), 0, 0, count(*), 0, 0, NULL, NULL
		FROM yquota_internal.deferred_event kept
		GROUP BY kept.source
		UNION ALL
		SELECT reported.source, 0, NULL, NULL, 0, 0, 0, count(DISTINCT reported.container_id), 0,
			   NULL, NULL
		FROM yquota_internal.reported_end reported
		WHERE NOT reported.is_own AND NOT reported.is_assumed AND NOT reported.is_booked
		  AND reported.container_id IN (SELECT doubted.container_id FROM yquota_internal.doubted_ends() AS doubted WHERE doubted.differs)
		GROUP BY reported.source
		UNION ALL
		SELECT reject.source, 0, NULL, NULL, 0, 0, 0, 0, count(*), NULL, NULL
		FROM yquota.feed_reject reject
		GROUP BY reject.source
		UNION ALL
		SELECT waits.source, 0, NULL, NULL, 0, 0, 0, 0, 0, waits.problem, waits.since
		FROM yquota_internal.feed_problem waits
	) part
	GROUP BY part.source;
COMMENT ON VIEW yquota.feed_status IS
	'Progress of every feed, by the source in its events; NULL stands for the feed without a name';
COMMENT ON COLUMN yquota.feed_status.source IS 'name of the feed; NULL for rows without a source';
COMMENT ON COLUMN yquota.feed_status.events IS 'number of rows received, including repeated ones and those set aside';
COMMENT ON COLUMN yquota.feed_status.last_event_at IS 'latest occurred_at received';
COMMENT ON COLUMN yquota.feed_status.last_recorded_at IS 'time at which the last row arrived';
COMMENT ON COLUMN yquota.feed_status.lag IS 'time from last_event_at to the clock; the lag also grows if nothing happens in the cluster';
COMMENT ON COLUMN yquota.feed_status.waiting IS 'number of events set aside until the START of their container arrives';
COMMENT ON COLUMN yquota.feed_status.rejected IS 'number of events set aside for another reason: see event_reject, then call retry_rejects()';
COMMENT ON COLUMN yquota.feed_status.deferred IS 'number of events stored while yquota.charging was deferred and not charged yet; they are included in events';
COMMENT ON COLUMN yquota.feed_status.differing_ends IS 'number of containers for which this feed reported another end (time or exit status) than the one known before. suspect_container lists them. Containers count until history is sealed';
COMMENT ON COLUMN yquota.feed_status.rejected_calls IS 'number of calls and rows that the feed has set aside: see feed_reject';
COMMENT ON COLUMN yquota.feed_status.problem IS 'SQLSTATE and message of a problem for which the feed has stopped, because only an administrator can repair it; NULL when the feed works';
COMMENT ON COLUMN yquota.feed_status.problem_since IS 'time at which the feed began to wait';

CREATE VIEW yquota.my_rejects WITH (security_barrier) AS
	SELECT reject.*
	FROM (
		SELECT event.reject_id, event.source, event.waiting, event.sqlstate, event.reason, event.detail,
			   event.event, event.container_id, event.occurred_at, event.project, event.application_id,
			   event.username, event.queue, event.node, event.allocation, event.execution_type,
			   event.exit_status, event.priority, event.allocation_request_id, event.asked_label,
			   event.is_am, event.is_running, event.recorded_at, event.sent_by, NULL::jsonb AS call
		FROM yquota.event_reject event
		UNION ALL
		SELECT refused.reject_id, refused.source, false, refused.sqlstate, refused.message, refused.detail,
			   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
			   refused.at, refused.sent_by, refused.call
		FROM yquota.feed_reject refused
	) reject
	WHERE reject.sent_by = ANY (
		(SELECT array_agg(role.rolname::text) FROM pg_roles role WHERE pg_has_role(role.oid, 'USAGE'))::text[]);
COMMENT ON VIEW yquota.my_rejects IS
	'Events set aside (event_reject) and calls that a feed set aside (feed_reject).  They were sent by the reader, or by a role whose privileges the reader has';
COMMENT ON COLUMN yquota.my_rejects.reject_id IS 'number of the row in event_reject, or in feed_reject for a call';
COMMENT ON COLUMN yquota.my_rejects.call IS 'call or row that a feed set aside: the function and its arguments, or the table and its row; NULL for an event';
COMMENT ON COLUMN yquota.my_rejects.waiting IS 'true for an UPDATE or FINISH that waits for its START, and is applied when the START arrives';
COMMENT ON COLUMN yquota.my_rejects.allocation IS 'native units';
COMMENT ON COLUMN yquota.my_rejects.sent_by IS 'name, at that time, of the role that sent the event or call';

--
-- Events set aside
--

-- This trigger records events that an administrator deletes or repairs.  The log keeps them, and verify() has to
-- know that they were never accepted.
CREATE FUNCTION yquota_internal.note_discarded() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, false, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at,
			   priority, allocation_request_id, asked_label, is_am, is_running, event_id
		FROM old_rows AS earlier
		WHERE NOT EXISTS (
			SELECT FROM new_rows AS repaired
			WHERE repaired.reject_id = earlier.reject_id
			  AND (repaired.event, repaired.container_id, repaired.occurred_at,
				   repaired.project, repaired.application_id, repaired.username,
				   repaired.queue, repaired.node, repaired.allocation::text,
				   repaired.execution_type, repaired.exit_status, repaired.source,
				   repaired.recorded_at, repaired.priority, repaired.allocation_request_id,
				   repaired.asked_label, repaired.is_am, repaired.is_running, repaired.event_id)
				IS NOT DISTINCT FROM
				  (earlier.event, earlier.container_id, earlier.occurred_at,
				   earlier.project, earlier.application_id, earlier.username,
				   earlier.queue, earlier.node, earlier.allocation::text,
				   earlier.execution_type, earlier.exit_status, earlier.source,
				   earlier.recorded_at, earlier.priority, earlier.allocation_request_id,
				   earlier.asked_label, earlier.is_am, earlier.is_running, earlier.event_id));
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, true, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at,
			   priority, allocation_request_id, asked_label, is_am, is_running, event_id
		FROM old_rows;
	ELSE
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, true, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at,
			   priority, allocation_request_id, asked_label, is_am, is_running, event_id
		FROM yquota.event_reject;
	END IF;
	RETURN NULL;
END;
$$;
COMMENT ON FUNCTION yquota_internal.note_discarded() IS
	'Record events that were set aside, when an administrator removes or changes their rows';

CREATE TRIGGER note_update AFTER UPDATE ON yquota.event_reject
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_discarded();
CREATE TRIGGER note_delete AFTER DELETE ON yquota.event_reject
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_discarded();
CREATE TRIGGER note_truncate BEFORE TRUNCATE ON yquota.event_reject
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_discarded();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.event_reject
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

CREATE FUNCTION yquota_internal.accept_any_age() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_accept_any_age';
COMMENT ON FUNCTION yquota_internal.accept_any_age() IS
	'Let the calling function run without yquota.max_event_age.  A SET clause could not change this setting if the owner is not a superuser';

CREATE FUNCTION yquota_internal.send_rejects(reject_ids bigint[])
	RETURNS TABLE (reject_id bigint, waiting boolean, sqlstate text, reason text, detail text)
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'set_aside_quietly'
	-- these rows do not come from a dump, even if this session has restored one (see restoring())
	SET check_function_bodies = on
AS $$
#variable_conflict use_column
DECLARE
	taken yquota.event_reject[];
	newest bigint;
BEGIN
	-- accept events of any age, because an administrator has looked at them
	PERFORM yquota_internal.accept_any_age();
	-- Read the maximum before the INSERT adds rows; rows of other sessions get larger numbers, too.
	SELECT max(reject.reject_id) INTO newest FROM yquota.event_reject reject;

	-- Use two commands, because the trigger must not find these rows any more.
	WITH deleted AS (
		DELETE FROM yquota.event_reject reject
		WHERE reject.reject_id = ANY (reject_ids)
		RETURNING reject
	)
	SELECT coalesce(array_agg(deleted.reject ORDER BY (deleted.reject).reject_id), '{}')
	INTO taken FROM deleted;
	-- the rows are moved, not discarded by an administrator
	DELETE FROM yquota_internal.discarded_event AS discarded
	WHERE discarded.removed AND discarded.reject_id = ANY (reject_ids);

	-- Keep the time of arrival, because the log has a row from that time, too.
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, node,
		 allocation, execution_type, exit_status, source, recorded_at,
		 priority, allocation_request_id, asked_label, is_am, is_running)
	SELECT reject.event, reject.container_id, reject.occurred_at, reject.project,
		   reject.application_id, reject.username, reject.queue, reject.node,
		   reject.allocation, reject.execution_type, reject.exit_status, reject.source,
		   reject.recorded_at, reject.priority, reject.allocation_request_id, reject.asked_label,
		   reject.is_am, reject.is_running
	FROM unnest(taken) reject;

	-- Record that the old row had no effect, because the new row of the log replaces it.  For a repaired event,
	-- discarded_event has the number of the old row.
	INSERT INTO yquota_internal.event_without_effect (event_id)
	SELECT reject.event_id
	FROM unnest(taken) reject
	WHERE reject.event_id IS NOT NULL
	  AND reject.event <> 'QUOTA_COMPUTE'
	  AND NOT EXISTS (SELECT FROM yquota_internal.discarded_event AS changed
					  WHERE changed.event_id = reject.event_id);

	-- return rows that were refused again, under their old numbers
	RETURN QUERY
	SELECT DISTINCT ON (old.reject_id) old.reject_id, reject.waiting, reject.sqlstate, reject.reason, reject.detail
	FROM unnest(taken) old
	JOIN yquota.event_reject reject
		ON reject.reject_id > newest
		AND (reject.event, reject.container_id, reject.occurred_at, reject.project, reject.application_id,
			 reject.username, reject.queue, reject.node, reject.allocation, reject.execution_type,
			 reject.exit_status, reject.source, reject.recorded_at, reject.priority,
			 reject.allocation_request_id, reject.asked_label, reject.is_am, reject.is_running)::text
		  = (old.event, old.container_id, old.occurred_at, old.project, old.application_id,
			 old.username, old.queue, old.node, old.allocation, old.execution_type,
			 old.exit_status, old.source, old.recorded_at, old.priority,
			 old.allocation_request_id, old.asked_label, old.is_am, old.is_running)::text
	ORDER BY old.reject_id;
END;
$$;
COMMENT ON FUNCTION yquota_internal.send_rejects(bigint[]) IS
	'Insert the events of event_reject again.  Returns those that were set aside again, with the new reason';

-- The log must contain each event once, however often it is refused.  When rows are refused, the function rolls back
-- and sends the other rows without them.
CREATE FUNCTION yquota_internal.resend_rejects(reject_ids bigint[], OUT resent bigint, OUT set_aside bigint)
	LANGUAGE plpgsql VOLATILE STRICT SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	left_over bigint[] := reject_ids;
	refused jsonb;
BEGIN
	SELECT count(*) INTO resent FROM yquota.event_reject AS reject WHERE reject.reject_id = ANY (reject_ids);
	set_aside := 0;
	LOOP
		refused := NULL;
		BEGIN
			SELECT jsonb_agg(again) INTO refused FROM yquota_internal.send_rejects(left_over) AS again;
			EXIT WHEN refused IS NULL;
			RAISE transaction_rollback;
		EXCEPTION WHEN transaction_rollback THEN
			IF refused IS NULL THEN
				RAISE;
			END IF;
		END;
		UPDATE yquota.event_reject AS reject
		SET waiting = again.waiting, sqlstate = again.sqlstate, reason = again.reason, detail = again.detail
		FROM jsonb_to_recordset(refused) AS again(reject_id bigint, waiting boolean, sqlstate text, reason text, detail text)
		WHERE reject.reject_id = again.reject_id;
		set_aside := set_aside + jsonb_array_length(refused);
		left_over := ARRAY(SELECT id FROM unnest(left_over) AS id
						   EXCEPT SELECT (again ->> 'reject_id')::bigint FROM jsonb_array_elements(refused) AS again);
	END LOOP;
END;
$$;
COMMENT ON FUNCTION yquota_internal.resend_rejects(bigint[]) IS
	'Insert the events of event_reject again.  Rows of events that are refused again stay, with the new reason';

-- The function takes its locks before any row is locked, as every statement that sends events does.  While rows are
-- moved, no transaction can void their containers.
CREATE FUNCTION yquota_internal.lock_for_resending() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	LOCK TABLE yquota.event_void IN SHARE MODE;
END;
$$;
COMMENT ON FUNCTION yquota_internal.lock_for_resending() IS
	'Take the locks that must be taken before rows of event_reject are locked';

-- Waiting rows stay while their container is unknown; the statement with their START applies them.  Rows that
-- another session is moving are skipped.  Batches are processed in the order of container ids, as in an INSERT.
CREATE FUNCTION yquota.retry_rejects(source text DEFAULT NULL, container_id text DEFAULT NULL,
									 OUT retried bigint, OUT accepted bigint, OUT set_aside bigint)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	batch_size CONSTANT integer := 10000;
	batch bigint[];
	last_container text COLLATE "C" := '';
	last_reject bigint := 0;
	newest bigint;
	result record;
BEGIN
	retried := 0;
	set_aside := 0;
	PERFORM yquota_internal.lock_for_resending();
	-- Rows that are refused again get larger numbers, so they are not retried a second time.
	SELECT max(reject.reject_id) INTO newest FROM yquota.event_reject reject;
	LOOP
		SELECT array_agg(candidate.reject_id),
			   max(candidate.id), (array_agg(candidate.reject_id ORDER BY candidate.id DESC, candidate.reject_id DESC))[1]
		INTO batch, last_container, last_reject
		FROM (
			SELECT reject.reject_id, coalesce(reject.container_id, '') AS id
			FROM yquota.event_reject reject
			WHERE (coalesce(reject.container_id, ''), reject.reject_id) > (last_container, last_reject)
			  AND reject.reject_id <= newest
			  AND (retry_rejects.source IS NULL OR reject.source = retry_rejects.source)
			  AND (retry_rejects.container_id IS NULL OR reject.container_id = retry_rejects.container_id)
			  AND (NOT reject.waiting
				   OR EXISTS (SELECT FROM yquota.container container
							  WHERE container.container_id = reject.container_id)
				   OR EXISTS (SELECT FROM yquota_internal.charge_in_effect charge
							  WHERE charge.container_id = reject.container_id))
			ORDER BY id, reject.reject_id
			LIMIT batch_size
			FOR UPDATE OF reject SKIP LOCKED
		) candidate;
		EXIT WHEN batch IS NULL;
		SELECT * INTO result FROM yquota_internal.resend_rejects(batch);
		retried := retried + result.resent;
		set_aside := set_aside + result.set_aside;
	END LOOP;
	accepted := retried - set_aside;
END;
$$;
COMMENT ON FUNCTION yquota.retry_rejects(text, text) IS
	'Send again events that were set aside: those of one source, of one container, or all.  Events that are still bad are set aside again with the new reason';

CREATE VIEW yquota_internal.startable_reject AS
	SELECT reject.reject_id, reject.container_id, age(reject.xmin) AS age
	FROM yquota.event_reject AS reject
	WHERE reject.waiting
	  AND (EXISTS (SELECT FROM yquota.container AS container
				   WHERE container.container_id = reject.container_id)
		   OR EXISTS (SELECT FROM yquota_internal.charge_in_effect AS charge
					  WHERE charge.container_id = reject.container_id));
COMMENT ON VIEW yquota_internal.startable_reject IS
	'Events that wait for a START although their container is in the books';
COMMENT ON COLUMN yquota_internal.startable_reject.age IS 'number of transactions since the row was written or changed';

-- The id of this transaction is greater than the ids of all transactions in progress.
CREATE FUNCTION yquota_internal.note_waiting_look(snapshot pg_snapshot, looked_at timestamptz, saw_all boolean) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota_internal.waiting_look AS look (looked_by, seen_before, settled_before, all_looked_at)
		VALUES (pg_current_xact_id(), pg_snapshot_xmin(snapshot), '0', note_waiting_look.looked_at)
		ON CONFLICT (only_row) DO UPDATE SET all_looked_at = excluded.all_looked_at WHERE saw_all;
		UPDATE yquota_internal.waiting_look AS look
		SET looked_by = pg_current_xact_id(), seen_before = pg_snapshot_xmin(snapshot), settled_before = look.seen_before
		WHERE pg_snapshot_xmin(snapshot) > look.looked_by;
$$;
COMMENT ON FUNCTION yquota_internal.note_waiting_look(pg_snapshot, timestamptz, boolean) IS
	'Record a search of the rows that are not settled.  Rows that an earlier search saw become settled once all transactions that were in progress at that time have ended';

-- A START applies the events that wait for it, with two exceptions.  It cannot see the row of a transaction that is
-- still in progress.  It also skips a row that another transaction holds, and then records the container in
-- skipped_waiting.
--
-- The first exception is temporary.  Consider the first search of the worker that saw the row.  Once all transactions
-- that were in progress at that time have ended, every later START sees the row.  From then on the row is settled.
--
-- The worker searches rows that are not settled, and rows of containers in skipped_waiting.  Once an hour it
-- searches all rows.  Each search is expensive, because it looks into every segment of the ledger.
CREATE FUNCTION yquota_internal.apply_waiting(looks_at_all boolean DEFAULT true) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	batch_size CONSTANT integer := 10000;
	-- read these values before the rows, so that the search sees at least as much
	snapshot CONSTANT pg_snapshot := pg_current_snapshot();
	skipped CONSTANT text[] := ARRAY(SELECT container_id FROM yquota_internal.skipped_waiting);
	now_at CONSTANT timestamptz := yquota.statement_clock();
	-- precedes every transaction
	settled_before xid8 := '0';
	due bigint[] := '{}';
	batch bigint[];
BEGIN
	PERFORM yquota_internal.lock_for_resending();
	-- a transaction that has already written has an id that is too old to compare
	looks_at_all := looks_at_all OR pg_current_xact_id_if_assigned() IS NOT NULL;
	IF NOT looks_at_all THEN
		SELECT look.settled_before INTO settled_before FROM yquota_internal.waiting_look AS look
		WHERE now_at BETWEEN look.all_looked_at AND look.all_looked_at + interval '1 hour';
		settled_before := coalesce(settled_before, '0');
	END IF;
	-- check first, because even planning a query over all segments takes time
	IF EXISTS (SELECT FROM yquota.event_reject AS reject
			   WHERE reject.waiting AND age(reject.xmin) <= age(settled_before::xid))
		OR skipped <> '{}'
	THEN
		due := ARRAY(SELECT reject.reject_id FROM yquota_internal.startable_reject AS reject
					 WHERE reject.age <= age(settled_before::xid)
						OR reject.container_id IN (SELECT container_id FROM yquota_internal.skipped_waiting));
	END IF;
	batch := ARRAY(SELECT reject.reject_id FROM yquota.event_reject AS reject
				   WHERE reject.reject_id = ANY (due) AND reject.waiting
				   ORDER BY reject.reject_id
				   LIMIT batch_size
				   FOR UPDATE SKIP LOCKED);
	-- after a full batch, all rows have to be searched again
	IF NOT looks_at_all AND cardinality(batch) < batch_size THEN
		DELETE FROM yquota_internal.skipped_waiting WHERE container_id IN (SELECT unnest(skipped));
		INSERT INTO yquota_internal.skipped_waiting (container_id)
		SELECT DISTINCT reject.container_id
		FROM (SELECT unnest(due) EXCEPT SELECT unnest(batch)) AS held (reject_id)
		JOIN yquota.event_reject AS reject USING (reject_id);
		PERFORM yquota_internal.note_waiting_look(snapshot, now_at, settled_before = '0');
	END IF;
	RETURN (SELECT moved.resent FROM yquota_internal.resend_rejects(batch) moved);
END;
$$;
COMMENT ON FUNCTION yquota_internal.apply_waiting(boolean) IS
	'Apply waiting events whose START is known by now, at most 10000 at a time.  Returns how many were sent.  The worker searches only events whose START may have arrived since its last search';

-- The functions below record restarts of the resource manager.

CREATE FUNCTION yquota_internal.last_event_of(feed text) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT max(f.last_event_at)
			FROM (SELECT last_event_at FROM yquota_internal.feed_counter WHERE source = feed
				  UNION ALL
				  SELECT last_event_at FROM yquota_internal.counter_delta
				  WHERE scope IN ('a', 'f') AND source = feed
				  UNION ALL
				  -- these events have not been checked yet; an instant far in the future is invalid
				  SELECT occurred_at FROM yquota_internal.deferred_event
				  WHERE source = feed AND occurred_at <= recorded_at) AS f);
COMMENT ON FUNCTION yquota_internal.last_event_of(text) IS
	'Return the latest instant of any event received from a feed; NULL before its first event';

-- If two resource managers alternate, their records arrive in any order: the spool of one may arrive long after the
-- other has taken over.  Signs of life are therefore stored.  If an outage began too early, a late sign of life
-- moves its start.
CREATE FUNCTION yquota.report_recovery(source text, alive timestamptz, recovered timestamptz DEFAULT NULL)
	RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	began timestamptz;
	found_id bigint;
BEGIN
	IF report_recovery.source IS NULL OR alive IS NULL AND recovered IS NULL THEN
		RAISE EXCEPTION 'source and instant of a recovery must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(alive) OR NOT isfinite(recovered) THEN
		RAISE EXCEPTION 'instant of a recovery must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF least(alive, recovered) < '2000-01-01 00:00+00' THEN
		RAISE EXCEPTION 'instant % of a recovery lies before the year 2000', least(alive, recovered)
			USING ERRCODE = 'datetime_field_overflow';
	-- future time is not forgiven; a sign of life at or after the recovery is ignored
	ELSIF coalesce(recovered, alive) > yquota.clock() + yquota_internal.duration('yquota.max_clock_skew') THEN
		RAISE EXCEPTION 'instant % of a recovery is in the future', coalesce(recovered, alive)
			USING ERRCODE = 'datetime_field_overflow',
				  DETAIL = format('The clock shows %s.', yquota.clock()),
				  HINT = 'Synchronize the clocks, or raise yquota.max_clock_skew.';
	END IF;

	PERFORM yquota_internal.lock_pricing();
	SELECT sign.outage_id INTO found_id
	FROM yquota_internal.feed_sign AS sign
	WHERE sign.source = report_recovery.source AND sign.at = recovered AND sign.is_recovery;
	IF FOUND THEN
		RETURN found_id;
	END IF;
	INSERT INTO yquota_internal.feed_sign (source, at, is_recovery)
	SELECT report_recovery.source, heard.at, false
	FROM (VALUES (alive), (yquota_internal.last_event_of(report_recovery.source))) AS heard (at)
	WHERE (heard.at < recovered) IS NOT FALSE AND heard.at IS NOT NULL
	ON CONFLICT DO NOTHING;
	IF recovered IS NOT NULL THEN
		-- archived charges can no longer be forgiven
		began := greatest((SELECT max(sign.at) FROM yquota_internal.feed_sign AS sign
						   WHERE sign.source = report_recovery.source AND sign.at < recovered),
						  CASE WHEN EXISTS (SELECT FROM yquota_internal.feed_sign AS sign
											WHERE sign.source = report_recovery.source AND sign.at < recovered)
							THEN yquota_internal.archive_horizon() END);
		IF began < recovered THEN
			-- insert a separate row, so that outages that other sources reported for the same time stay unchanged
			INSERT INTO yquota.outage AS o (started_at, ended_at, reason)
			VALUES (began, recovered, format('resource manager %s did not run', report_recovery.source))
			RETURNING o.outage_id INTO found_id;
		END IF;
		INSERT INTO yquota_internal.feed_sign AS known (source, at, is_recovery, outage_id)
		VALUES (report_recovery.source, recovered, true, found_id)
		ON CONFLICT ON CONSTRAINT feed_sign_pkey DO UPDATE SET is_recovery = true, outage_id = excluded.outage_id;
	END IF;

	UPDATE yquota.outage AS o
	SET started_at = late.at
	FROM (
		SELECT recovery.outage_id,
			   (SELECT max(sign.at) FROM yquota_internal.feed_sign AS sign
				WHERE sign.source = recovery.source AND sign.at < recovery.at) AS at
		FROM yquota_internal.feed_sign AS recovery
		WHERE recovery.source = report_recovery.source AND recovery.outage_id IS NOT NULL
	) AS late
	WHERE o.outage_id = late.outage_id AND o.started_at < late.at AND late.at < o.ended_at
	  -- archived charges stay unchanged
	  AND o.started_at >= yquota_internal.archive_horizon();
	RETURN found_id;
END
$$;
COMMENT ON FUNCTION yquota.report_recovery(text, timestamptz, timestamptz) IS
	'Record that a resource manager, named by its feed, has become active again, and forgive the time since its last sign of life.  The last sign is the latest of: alive, any event of the feed, and the signs of earlier calls.  Returns the outage_id, or NULL when there is no outage.  Without recovered, the call only records alive; an outage that seemed to begin earlier then begins at alive.  Repeating a call is safe';

--
-- Reconciliation
--

CREATE FUNCTION yquota_internal.reconcile_list(running jsonb)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, allocation yquota.resource,
				   execution_type yquota.execution_type, started_at timestamptz, is_running boolean)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET timezone = 'UTC'
AS $$
DECLARE
	keys CONSTANT text[] := '{container_id,project,application_id,username,queue,node,allocation,execution_type,started_at,is_running}';
	element jsonb;
	position bigint;
	place text;
	wrong text;
BEGIN
	IF jsonb_typeof(running) <> 'array' THEN
		RAISE EXCEPTION 'list of running containers is not a JSON array'
			USING ERRCODE = 'invalid_parameter_value',
				  HINT = 'Pass an array of objects, one per container.';
	END IF;
	FOR element, position IN
		SELECT list.value, list.ordinality FROM jsonb_array_elements(running) WITH ORDINALITY list
	LOOP
		place := format('Element %s of the list is: %s', position, left(element::text, 200));
		IF jsonb_typeof(element) <> 'object' THEN
			RAISE EXCEPTION 'element of the list of running containers is not an object'
				USING ERRCODE = 'invalid_parameter_value', DETAIL = place;
		END IF;
		SELECT member.key INTO wrong
		FROM jsonb_each(element) member
		WHERE member.key <> ALL (keys)
		LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'key "%" is not known in the list of running containers', wrong
				USING ERRCODE = 'invalid_parameter_value', DETAIL = place,
					  HINT = format('Known keys are %s.', array_to_string(keys, ', '));
		END IF;
		container_id := element ->> 'container_id';
		IF coalesce(container_id, '') = '' THEN
			RAISE EXCEPTION 'element of the list of running containers has no "container_id"'
				USING ERRCODE = 'null_value_not_allowed', DETAIL = place;
		END IF;
		project := element ->> 'project';
		application_id := element ->> 'application_id';
		username := element ->> 'username';
		queue := element ->> 'queue';
		node := element ->> 'node';
		BEGIN
			allocation := CASE jsonb_typeof(element -> 'allocation')
				WHEN 'object' THEN yquota.resource(element -> 'allocation')
				ELSE (element ->> 'allocation')::yquota.resource END;
			execution_type := (element ->> 'execution_type')::yquota.execution_type;
			started_at := (element ->> 'started_at')::timestamptz;
			is_running := (element ->> 'is_running')::boolean;
		EXCEPTION
			WHEN data_exception OR program_limit_exceeded THEN
				RAISE EXCEPTION '%', SQLERRM
					USING ERRCODE = SQLSTATE, DETAIL = place;
		END;
		RETURN NEXT;
	END LOOP;
	SELECT list.value ->> 'container_id' INTO wrong
	FROM jsonb_array_elements(running) list
	GROUP BY 1
	HAVING count(*) > 1
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'container "%" is listed more than once among running containers', wrong
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END;
$$;
COMMENT ON FUNCTION yquota_internal.reconcile_list(jsonb) IS
	'Return the resource manager''s list of running containers as checked rows.  Times without a zone are UTC';

CREATE FUNCTION yquota_internal.reconcile_plan(running jsonb, as_of timestamptz, lost_at timestamptz)
	RETURNS TABLE (action text, container_id text, project text, application_id text,
				   username text, queue text, node text, allocation yquota.resource,
				   execution_type yquota.execution_type, is_running boolean, occurred_at timestamptz, detail text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH list AS MATERIALIZED (
		SELECT * FROM yquota_internal.reconcile_list(running)
	)
	SELECT 'finish', ours.container_id, ours.project, NULL::text, NULL::text, NULL::text, NULL::text,
		   NULL::yquota.resource, NULL::yquota.execution_type, NULL::boolean,
		   CASE WHEN ours.started_at <= lost_at AND ours.settled_at <= lost_at THEN lost_at ELSE as_of END, 'not in the list'
	FROM yquota.container ours
	WHERE ours.started_at <= as_of AND ours.settled_at <= as_of
	  -- a waiting container is missing from the list because it does not run
	  AND ours.waiting_factor IS NULL
	  AND NOT EXISTS (SELECT FROM list theirs
					  WHERE theirs.container_id = ours.container_id)
	UNION ALL
	SELECT CASE WHEN fault.detail IS NULL THEN 'start' WHEN fault.is_ending THEN 'ending' ELSE 'conflict' END,
		   theirs.container_id, theirs.project, theirs.application_id, theirs.username,
		   theirs.queue, theirs.node, theirs.allocation, theirs.execution_type, theirs.is_running,
		   theirs.started_at, coalesce(fault.detail, 'not in the books')
	FROM list theirs
	LEFT JOIN LATERAL (
		SELECT max(charge."to") AS finished_at
		FROM yquota_internal.charge_in_effect charge
		WHERE charge.container_id = theirs.container_id
	) past ON true
	CROSS JOIN LATERAL (
		SELECT EXISTS (SELECT FROM yquota_internal.reported_end reported
					   WHERE reported.container_id = theirs.container_id
						 AND reported.occurred_at = past.finished_at AND reported.is_own) AS is_ending
	) own
	CROSS JOIN LATERAL (
		SELECT own.is_ending, CASE
			WHEN own.is_ending THEN format('ended by yquota at %s', past.finished_at)
			WHEN past.finished_at IS NOT NULL THEN format('finished at %s', past.finished_at)
			WHEN theirs.started_at IS NULL THEN 'not in the books, and "started_at" is missing'
			WHEN theirs.allocation IS NULL THEN 'not in the books, and "allocation" is missing'
			END AS detail
	) fault
	WHERE NOT EXISTS (SELECT FROM yquota.container ours
					  WHERE ours.container_id = theirs.container_id)
	  AND (theirs.started_at <= as_of) IS NOT FALSE
	  AND (past.finished_at <= as_of) IS NOT FALSE
	UNION ALL
	SELECT CASE WHEN difference.conflicts THEN 'conflict' ELSE 'update' END,
		   ours.container_id, ours.project, NULL, NULL,
		   theirs.queue, theirs.node, theirs.allocation, theirs.execution_type, theirs.is_running,
		   as_of, difference.detail
	FROM list theirs
	JOIN yquota.container ours ON ours.container_id = theirs.container_id
	CROSS JOIN LATERAL (
		SELECT bool_or(field.fixed) AS conflicts,
			   string_agg(format('%s: %s, in the list %s', field.name,
								 coalesce(field.ours, 'none'), field.theirs), '; ') AS detail
		FROM (VALUES
			('project', ours.project, theirs.project, true),
			('application_id', ours.application_id, theirs.application_id, true),
			('username', ours.username, theirs.username, true),
			('started_at', ours.started_at::text, theirs.started_at::text, true),
			('allocation', ours.allocation::text, theirs.allocation::text, false),
			('execution_type', ours.execution_type::text, theirs.execution_type::text, false),
			('queue', ours.queue, theirs.queue, false),
			('node', ours.node, theirs.node, false),
			('is_running', ours.is_running::text, theirs.is_running::text, false)
		) field (name, ours, theirs, fixed)
		WHERE field.theirs IS NOT NULL AND field.ours IS DISTINCT FROM field.theirs
	) difference
	WHERE ours.started_at <= as_of AND ours.settled_at < as_of
	  AND difference.detail IS NOT NULL
	UNION ALL
	SELECT 'waiting', ours.container_id, ours.project, NULL, NULL, NULL, NULL, NULL, NULL, NULL, as_of,
		   'waits at its node, in the list it runs'
	FROM list theirs
	JOIN yquota.container ours ON ours.container_id = theirs.container_id
	WHERE ours.started_at <= as_of AND ours.settled_at < as_of
	  AND ours.waiting_factor IS NOT NULL
	  AND theirs.execution_type IS DISTINCT FROM 'GUARANTEED'
	  AND theirs.is_running IS NULL;
END;
COMMENT ON FUNCTION yquota_internal.reconcile_plan(jsonb, timestamptz, timestamptz) IS
	'Return the findings of reconcile(): events to insert, including finishes at lost_at for containers without later events.  Also return containers that still have to be ended, waiting containers in the list, and conflicts that no event can resolve';

-- This is a separate SQL function, because the context of an error quotes statements of PL/pgSQL, but not this
-- statement.
CREATE FUNCTION yquota_internal.send_reconcile_plan(running jsonb, as_of timestamptz, lost_at timestamptz, actions text[], skipped text[])
	RETURNS TABLE (action text, container_id text, project text, occurred_at timestamptz, detail text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
	WITH plan AS MATERIALIZED (
		SELECT * FROM yquota_internal.reconcile_plan(running, as_of, lost_at) AS planned
		WHERE planned.container_id <> ALL (skipped)
	), sent AS (
		INSERT INTO yquota.container_event
			(event, container_id, occurred_at, project, application_id, username, queue, node,
			 allocation, execution_type, is_running, source)
		SELECT ('CONTAINER_' || upper(plan.action COLLATE "C"))::yquota.container_event_type,
			   plan.container_id, plan.occurred_at, plan.project, plan.application_id,
			   plan.username, plan.queue, plan.node, plan.allocation, plan.execution_type, plan.is_running,
			   'reconcile'
		FROM plan
		WHERE plan.action = ANY (actions)
	)
	SELECT plan.action, plan.container_id, plan.project, plan.occurred_at, plan.detail
	FROM plan
	ORDER BY plan.container_id, plan.action;
$$;
COMMENT ON FUNCTION yquota_internal.send_reconcile_plan(jsonb, timestamptz, timestamptz, text[], text[]) IS
	'Insert the events of reconcile_plan() that have the given actions.  Return all its findings, except those about skipped containers';

-- These functions find ends that reconcile() concluded wrongly.  Such an end was only assumed.  A later end from a
-- feed, or a list that still contains the container, proves it wrong.
CREATE FUNCTION yquota_internal.wrong_ends(running jsonb, as_of timestamptz)
	RETURNS TABLE (container_id text, project text, occurred_at timestamptz, detail text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
	SELECT DISTINCT ON (charge.container_id) charge.container_id, charge.project, assumed.occurred_at,
		   coalesce(contradicted.reason, format('ended by reconcile() at %s, and is in the list', assumed.occurred_at))
	FROM yquota_internal.reported_end AS assumed
	JOIN yquota_internal.charge_in_effect AS charge
		ON charge.container_id = assumed.container_id AND charge."to" = assumed.occurred_at
	LEFT JOIN yquota_internal.contradicted_end AS contradicted ON contradicted.container_id = assumed.container_id
	LEFT JOIN yquota_internal.reconcile_list(running) AS theirs
		ON theirs.container_id = assumed.container_id AND assumed.occurred_at <= as_of
	WHERE assumed.is_own AND assumed.source = 'reconcile'
	  AND (contradicted.container_id IS NOT NULL OR theirs.container_id IS NOT NULL)
	  AND charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL
	  AND charge.started_at >= yquota_internal.archive_horizon()
	ORDER BY charge.container_id;
$$;
COMMENT ON FUNCTION yquota_internal.wrong_ends(jsonb, timestamptz) IS
	'Return ends by reconcile() that are contradicted by later events of feeds, or by the list of containers running at as_of';

-- This is a separate SQL function, so that the context of an error does not quote its statement.
CREATE FUNCTION yquota_internal.deliver_without_conclusions(void_ids bigint[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, node,
		 allocation, execution_type, exit_status, source, recorded_at,
		 priority, allocation_request_id, asked_label, is_am, is_running)
	SELECT log.event, log.container_id, log.occurred_at, log.project, log.application_id, log.username, log.queue, log.node,
		   log.allocation, log.execution_type, log.exit_status, log.source, log.recorded_at,
		   log.priority, log.allocation_request_id, log.asked_label, log.is_am, log.is_running
	FROM yquota_internal.voided_event AS taken_back
	JOIN yquota.container_event AS log USING (event_id)
	WHERE taken_back.void_id = ANY (void_ids)
	  AND NOT (log.event = 'CONTAINER_FINISH' AND log.source IS NOT DISTINCT FROM 'reconcile')
	ORDER BY log.event_id;
$$;
COMMENT ON FUNCTION yquota_internal.deliver_without_conclusions(bigint[]) IS
	'Insert again the events that voids have reversed, except the ends by reconcile()';

CREATE FUNCTION yquota_internal.withdraw_ends(container_ids text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS $$
DECLARE
	void_ids bigint[];
BEGIN
	PERFORM yquota_internal.require_read_committed('withdraw ends');
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	LOCK TABLE yquota.event_void IN ROW EXCLUSIVE MODE;
	PERFORM yquota_internal.accept_any_age();
	SELECT array_agg(void.void_id) INTO void_ids
	FROM yquota_internal.void_batch(container_ids, 'its end by reconcile() was wrong',
									jsonb_build_object('source', 'reconcile')) AS void;
	PERFORM yquota_internal.note_voided_events(void_ids);
	PERFORM yquota_internal.deliver_without_conclusions(void_ids);
END;
$$;
COMMENT ON FUNCTION yquota_internal.withdraw_ends(text[]) IS
	'Void containers, in ascending order of id, and send their events again without the ends by reconcile()';

CREATE FUNCTION yquota.reconcile(running jsonb, as_of timestamptz, dry_run boolean DEFAULT true, source text DEFAULT NULL)
	RETURNS TABLE (action text, container_id text, project text, occurred_at timestamptz, detail text)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lost_at timestamptz;
	wrong text[];
BEGIN
	IF running IS NULL OR as_of IS NULL OR dry_run IS NULL THEN
		RAISE EXCEPTION 'arguments of reconcile must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT isfinite(as_of) OR as_of > yquota.clock() THEN
		RAISE EXCEPTION 'list of running containers cannot be as of %', as_of
			USING ERRCODE = 'datetime_field_overflow',
				  DETAIL = format('The clock shows %s.', yquota.clock()),
				  HINT = 'Pass the time at which the resource manager made the list.';
	END IF;
	PERFORM yquota_internal.refuse_while_deferred('reconcile running containers');
	-- use the last recovery even if its outage is no longer forgiven
	SELECT outage.started_at INTO lost_at
	FROM yquota_internal.feed_sign AS recovery
	LEFT JOIN yquota.outage AS outage ON outage.outage_id = recovery.outage_id
	WHERE recovery.source = reconcile.source AND recovery.is_recovery AND recovery.at <= as_of
	ORDER BY recovery.at DESC LIMIT 1;
	IF NOT dry_run THEN
		-- lock the log before the ledger is read
		LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	END IF;
	wrong := ARRAY(SELECT ended.container_id FROM yquota_internal.wrong_ends(running, as_of) AS ended ORDER BY 1);
	IF wrong <> '{}' THEN
		RETURN QUERY
		SELECT 'withdraw', ended.container_id, ended.project, ended.occurred_at, ended.detail
		FROM yquota_internal.wrong_ends(running, as_of) AS ended
		ORDER BY ended.container_id;
		IF NOT dry_run THEN
			PERFORM yquota_internal.withdraw_ends(wrong);
			wrong := '{}';
		END IF;
	END IF;
	RETURN QUERY SELECT * FROM yquota_internal.send_reconcile_plan(running, as_of, lost_at,
		CASE WHEN dry_run THEN '{}'::text[] ELSE '{start,update,finish}' END, wrong);
END;
$$;
COMMENT ON FUNCTION yquota.reconcile(jsonb, timestamptz, boolean, text) IS
	'Compare the resource manager''s list of containers running at as_of with the books.  Finishes containers that are not in the list, starts missing ones, and updates differences.  If the list does not say which containers run, a container that waits at its node is neither started nor finished.  Ends by earlier calls are withdrawn if a feed reported a later end, or if the list contains the container.  Returns the differences; inserts events only if dry_run is false.  Containers that changed after as_of stay as they are.  With the source of a feed, containers may be finished at the start of its last outage.  This happens to containers without an event since the outage began';

CREATE FUNCTION yquota.recover_containers(source text, containers jsonb, as_of timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	missing text[];
BEGIN
	IF recover_containers.source IS NULL OR containers IS NULL OR as_of IS NULL THEN
		RAISE EXCEPTION 'arguments of recover_containers must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM yquota_internal.refuse_while_deferred('start containers that a resource manager has found');
	-- wait for the spool of another sender, because it has more detail than a list
	IF EXISTS (SELECT FROM yquota_internal.feed_sign AS sign
			   WHERE sign.source = recover_containers.source
				 AND sign.at < (SELECT max(recovery.at) FROM yquota_internal.feed_sign AS recovery
								WHERE recovery.source = sign.source AND recovery.is_recovery AND recovery.at <= as_of)) THEN
		RETURN 0;
	END IF;
	missing := ARRAY(SELECT plan.container_id FROM yquota_internal.send_reconcile_plan(containers, as_of, NULL, '{start}', '{}') AS plan
					 WHERE plan.action = 'start');
	-- leave out containers with events that were set aside
	RETURN (SELECT count(*) FROM yquota.container AS started WHERE started.container_id = ANY (missing));
END;
$$;
COMMENT ON FUNCTION yquota.recover_containers(text, jsonb, timestamptz) IS
	'Report containers that a resource manager has found on a node when it became active.  The list has the form that reconcile() takes.  If the feed has sent nothing before, containers that are not in the books are started at their started_at.  Returns how many';

CREATE FUNCTION yquota.node_lost(node text, at timestamptz DEFAULT yquota.clock(),
								 exit_status integer DEFAULT -100)
	RETURNS TABLE (container_id text)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	lost text[];
BEGIN
	IF node_lost.node IS NULL OR at IS NULL THEN
		RAISE EXCEPTION 'node and time of its loss must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM yquota_internal.refuse_while_deferred('finish the containers of a node');
	-- skip nodes with newer reports, unless these reports are ahead of the clock
	UPDATE yquota.node known
	SET state = 'LOST', updated_at = node_lost.at
	WHERE known.name = node_lost.node AND known.state <> 'LOST'
	  AND (known.updated_at <= node_lost.at OR known.updated_at > yquota.statement_clock());
	IF NOT FOUND AND NOT EXISTS (SELECT FROM yquota.node known WHERE known.name = node_lost.node) THEN
		RAISE WARNING 'node "%" is not in yquota.node', node_lost.node;
	END IF;
	lost := ARRAY(
		SELECT container.container_id
		FROM yquota.container container
		WHERE container.node = node_lost.node AND container.started_at <= node_lost.at
		ORDER BY container.container_id);
	PERFORM yquota_internal.empty_node_queue(node_lost.node, node_lost.at, node_lost.exit_status, lost);
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, exit_status, source)
	SELECT 'CONTAINER_FINISH', container.container_id, node_lost.at, container.project, node_lost.exit_status, 'node_lost'
	FROM yquota.container container
	WHERE container.container_id = ANY (lost);
	RETURN QUERY SELECT unnest(lost);
END;
$$;
COMMENT ON FUNCTION yquota.node_lost(text, timestamptz, integer) IS
	'Record that a node has been gone since "at": finish its containers at this time, and mark the node LOST.  Containers with later events are finished, too.  Containers that started later are not finished, because they started after the node came back.  Returns the finished containers.  Repeating the call is safe.  The exit status is YARN''s ABORTED by default';

CREATE FUNCTION yquota.register_node(
	node text, total yquota.resource, rack text DEFAULT '/default-rack', label text DEFAULT '', at timestamptz DEFAULT yquota.clock())
	RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH written AS (
			INSERT INTO yquota.node AS known (name, rack, label, total, updated_at)
			VALUES (node, rack, label, total, at)
			ON CONFLICT (name) DO UPDATE
				SET rack = excluded.rack, label = excluded.label, total = excluded.total, state = 'RUNNING', updated_at = excluded.updated_at
				WHERE excluded.updated_at >= known.updated_at
				  AND ((known.rack, known.label, known.state) IS DISTINCT FROM (excluded.rack, excluded.label, excluded.state)
					   OR NOT known.total OPERATOR(yquota.=) excluded.total)
			RETURNING 1)
		SELECT EXISTS (SELECT FROM written);
$$;
COMMENT ON FUNCTION yquota.register_node(text, yquota.resource, text, text, timestamptz) IS
	'Record that a node has joined the cluster, or that its resources or label have changed, and mark it RUNNING. Returns whether anything changed.  A call about a time before the last recorded change of the node changes nothing';

-- Lists the rows that pg_dump includes. clock_setting and worker_state are not included: a restored database starts
-- with the system's clock and without a worker.
--
-- The parents are dumped first, for dumps with one INSERT per row.
SELECT pg_extension_config_dump('yquota.project',
	'ORDER BY (SELECT pg_catalog.count(*) FROM yquota_internal.project_family WHERE member = project.name)');
SELECT pg_extension_config_dump('yquota.quota_grant', '');
SELECT pg_extension_config_dump('yquota.quota_grant_grant_id_seq', '');
SELECT pg_extension_config_dump('yquota.container_event', '');
SELECT pg_extension_config_dump('yquota.container_event_event_id_seq', '');
SELECT pg_extension_config_dump('yquota.container', '');
SELECT pg_extension_config_dump('yquota.container_change', '');
SELECT pg_extension_config_dump('yquota.charge', '');
SELECT pg_extension_config_dump('yquota.event_reject', '');
SELECT pg_extension_config_dump('yquota.event_reject_reject_id_seq', '');
SELECT pg_extension_config_dump('yquota.feed_reject', '');
SELECT pg_extension_config_dump('yquota_internal.feed_sign', '');
SELECT pg_extension_config_dump('yquota.feed_reject_reject_id_seq', '');
SELECT pg_extension_config_dump('yquota_internal.reported_end', '');
SELECT pg_extension_config_dump('yquota_internal.discarded_event', '');
SELECT pg_extension_config_dump('yquota_internal.event_without_effect', '');
SELECT pg_extension_config_dump('yquota_internal.charged_through', '');
SELECT pg_extension_config_dump('yquota_internal.counter_delta', '');
SELECT pg_extension_config_dump('yquota_internal.project_counter', '');
SELECT pg_extension_config_dump('yquota_internal.rate_class_counter', '');
SELECT pg_extension_config_dump('yquota_internal.usage_counter', '');
SELECT pg_extension_config_dump('yquota_internal.node_counter', '');
SELECT pg_extension_config_dump('yquota_internal.feed_counter', '');
SELECT pg_extension_config_dump('yquota_internal.correction_due', '');
