--
-- The worker: its state, and functions to start, stop and watch it. A worker sets worker_state.pid
-- when it starts, and clears it when it exits on purpose. If the next worker finds the pid set, the
-- previous worker ended unexpectedly.
--

-- Wakes the worker at commit or, if none is running, its launcher.
CREATE FUNCTION yquota_internal.wake_worker() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_wake_worker';
COMMENT ON FUNCTION yquota_internal.wake_worker() IS
	'Wake the worker when the transaction commits, so that it reads its state again';

CREATE FUNCTION yquota_internal.request_worker() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_request_worker';
COMMENT ON FUNCTION yquota_internal.request_worker() IS
	'Start a worker of this database when the transaction commits';

CREATE FUNCTION yquota_internal.wake_worker_on_drop() RETURNS event_trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_wake_worker_on_drop';
COMMENT ON FUNCTION yquota_internal.wake_worker_on_drop() IS
	'Wake the worker when a DROP EXTENSION commits';

CREATE EVENT TRIGGER yquota_wake_worker_on_drop ON ddl_command_start
	WHEN TAG IN ('DROP EXTENSION', 'DROP OWNED')
	EXECUTE FUNCTION yquota_internal.wake_worker_on_drop();
COMMENT ON EVENT TRIGGER yquota_wake_worker_on_drop IS
	'Makes the worker of yquota exit as soon as the extension is dropped';

--
-- The worker calls the functions below.
--

CREATE FUNCTION yquota_internal.note_gap(mark timestamptz, now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- begin the outage after the archive horizon, because archived charges cannot be forgiven
	gap_from timestamptz := greatest(mark, yquota_internal.archive_horizon());
	gap interval := now_at - gap_from;
	is_forgiven boolean := gap <= yquota_internal.duration('yquota.outage_max');
	new_outage_id bigint;
BEGIN
	IF mark IS NULL OR gap <= yquota_internal.duration('yquota.outage_threshold')
		OR current_setting('yquota.outage_policy') = 'charge' THEN
		RETURN;
	END IF;

	INSERT INTO yquota.outage (started_at, ended_at, forgiven, reason)
	VALUES (gap_from, now_at, is_forgiven, 'the yquota worker was not running')
	RETURNING outage_id INTO new_outage_id;

	IF NOT is_forgiven THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES ('outage_undecided', new_outage_id,
				format('The worker was not running from %s to %s, longer than yquota.outage_max. The time is charged unless yquota.decide_outage(%s, true) forgives it.',
					   yquota_internal.instant_text(gap_from), yquota_internal.instant_text(now_at), new_outage_id),
				now_at);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_gap(timestamptz, timestamptz) IS
	'Record the time in which no worker ran as an outage, if it counts as one';

CREATE FUNCTION yquota_internal.worker_start(own_pid integer, now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	last yquota_internal.worker_state;
	own_system bigint;
	own_database oid;
BEGIN
	INSERT INTO yquota_internal.worker_state DEFAULT VALUES ON CONFLICT DO NOTHING;
	SELECT * INTO STRICT last FROM yquota_internal.worker_state FOR UPDATE;
	SELECT system_identifier INTO STRICT own_system FROM pg_control_system();
	SELECT oid INTO STRICT own_database FROM pg_database WHERE datname = current_database();

	-- Do not report an outage after the first start, in a restored copy, or if the last worker exited
	-- on purpose.
	IF last.pid IS NOT NULL AND last.system_identifier = own_system
		AND last.database_oid = own_database THEN
		PERFORM yquota_internal.note_gap(
			(SELECT mark.at FROM yquota_internal.compute_mark AS mark), now_at);
	END IF;

	-- Insert the event in the same transaction, so that the time without a worker is reported exactly
	-- once.
	INSERT INTO yquota.container_event (event, occurred_at, source)
	VALUES ('QUOTA_COMPUTE', now_at, 'yquota worker');

	UPDATE yquota_internal.worker_state
	SET pid = own_pid, started_at = now_at, stopped_at = NULL,
		system_identifier = own_system, database_oid = own_database,
		last_compute_at = now_at, failures = 0;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_start(integer, timestamptz) IS
	'Record the calling process as the worker, and report the time since the last worker as an outage if it counts as one';

CREATE FUNCTION yquota_internal.worker_leave(own_pid integer, now_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE yquota_internal.worker_state SET pid = NULL, stopped_at = now_at
	WHERE pid = own_pid;
$$;
COMMENT ON FUNCTION yquota_internal.worker_leave(integer, timestamptz) IS
	'Record that the worker exited on purpose';

-- Fails instead of waiting while another transaction changes prices; the worker reports a
-- change that stays open for long.
CREATE FUNCTION yquota_internal.worker_price(now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT yquota_internal.try_lock_pricing() THEN
		RAISE lock_not_available USING MESSAGE = 'another change of prices is under way';
	END IF;
	PERFORM FROM yquota.compute_prices(now_at);
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_price(timestamptz) IS
	'Compute and publish prices; raises lock_not_available while another transaction changes them';

CREATE FUNCTION yquota_internal.worker_credit(now_at timestamptz, max_projects integer DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	-- take this lock before the locks of budgets and grants, as quota_compute() does
	LOCK TABLE yquota_internal.project_counter IN SHARE ROW EXCLUSIVE MODE;
	PERFORM yquota_internal.grant_budgets(now_at);
	PERFORM yquota_internal.remove_ended_holds(now_at);
	RETURN yquota_internal.expire_grants(now_at, max_projects);
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_credit(timestamptz, integer) IS
	'Do the due work about credit: grant budgets, delete holds that ended long ago, and record the losses of expired grants.  The number limits the projects whose losses are recorded.  Returns the number of recorded grants';

CREATE FUNCTION yquota_internal.worker_record(
	failures_now integer, now_at timestamptz, price_at timestamptz, compute_at timestamptz,
	compact_at timestamptz, error text, error_at timestamptz, postponed text[]) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state AS state
		(last_price_at, last_compute_at, last_compact_at, last_error, last_error_at, failures)
	VALUES (price_at, compute_at, compact_at, error, error_at, failures_now)
	ON CONFLICT (only_row) DO UPDATE SET
		last_price_at = coalesce(price_at, state.last_price_at),
		last_compute_at = coalesce(compute_at, state.last_compute_at),
		last_compact_at = coalesce(compact_at, state.last_compact_at),
		last_error = coalesce(error, state.last_error),
		last_error_at = coalesce(error_at, state.last_error_at),
		failures = failures_now;

	INSERT INTO yquota.alert (kind, subject, detail, raised_at)
	SELECT 'worker_postponed', task,
		   'Another transaction holds a lock that the worker needs. The worker tries again every second.',
		   now_at
	FROM unnest(postponed) AS task
	ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;

	INSERT INTO yquota.alert (kind, subject, detail, raised_at)
	SELECT 'events_deferred', 'charge_deferred',
		   'Events that arrived while yquota.charging was deferred have not been charged. Call yquota.charge_deferred() until nothing remains.',
		   now_at
	WHERE EXISTS (SELECT FROM yquota_internal.deferred_event)
	ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;

	INSERT INTO yquota.alert (kind, subject, detail, raised_at)
	SELECT 'feed_problem', coalesce(waits.source, ''),
		   'The feed waits for an administrator: ' || waits.problem, waits.since
	FROM yquota_internal.feed_problem AS waits
	ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;

	-- clear outages that are over, and outages that an administrator ended by changing the row
	UPDATE yquota.alert SET cleared_at = now_at
	WHERE cleared_at IS NULL
	  AND (kind = 'worker_postponed' AND subject <> ALL (postponed)
		   OR kind = 'events_deferred' AND NOT EXISTS (SELECT FROM yquota_internal.deferred_event)
		   OR kind = 'feed_problem' AND NOT EXISTS (
				SELECT FROM yquota_internal.feed_problem AS waits WHERE coalesce(waits.source, '') = subject)
		   OR kind = 'outage_undecided' AND NOT EXISTS (
				SELECT FROM yquota.outage
				WHERE outage_id::text = subject AND NOT forgiven));
$$;
COMMENT ON FUNCTION yquota_internal.worker_record(integer, timestamptz, timestamptz, timestamptz, timestamptz, text, timestamptz, text[]) IS
	'Update worker_state and the worker''s alerts; null times and errors leave the columns as they are';

--
-- Functions for administrators
--

CREATE FUNCTION yquota.start_worker() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state DEFAULT VALUES
	ON CONFLICT (only_row) DO UPDATE SET stopped_on_purpose = false;
	SELECT yquota_internal.request_worker();
$$;
COMMENT ON FUNCTION yquota.start_worker() IS
	'Start the worker of this database when the transaction commits, unless one runs; also undoes stop_worker()';

CREATE FUNCTION yquota.stop_worker() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state AS state (stopped_on_purpose, stopped_at)
	VALUES (true, yquota.statement_clock())
	ON CONFLICT (only_row) DO UPDATE
	SET stopped_on_purpose = true, pid = NULL, stopped_at = excluded.stopped_at;
	SELECT yquota_internal.wake_worker();
$$;
COMMENT ON FUNCTION yquota.stop_worker() IS
	'Switch off the worker of this database until start_worker().  The time without the worker does not count as an outage';

CREATE FUNCTION yquota.decide_outage(outage_id bigint, forgive boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF forgive IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'the decision must not be null';
	END IF;
	PERFORM yquota_internal.lock_pricing();
	PERFORM FROM yquota.outage WHERE outage.outage_id = decide_outage.outage_id;
	IF NOT FOUND THEN
		RAISE no_data_found
			USING MESSAGE = format('outage %s does not exist', outage_id),
				  HINT = 'Outages that wait for a decision are in yquota.outage.';
	END IF;

	UPDATE yquota.outage SET forgiven = forgive
	WHERE outage.outage_id = decide_outage.outage_id
	  AND forgiven <> forgive;
	UPDATE yquota.alert SET cleared_at = yquota.statement_clock()
	WHERE kind = 'outage_undecided' AND subject = outage_id::text
	  AND cleared_at IS NULL;
END
$$;
COMMENT ON FUNCTION yquota.decide_outage(bigint, boolean) IS
	'Decide whether an outage is forgiven, such as one longer than yquota.outage_max that waits for a decision';

CREATE FUNCTION yquota_internal.is_worker(pid integer) RETURNS boolean
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_is_worker';
COMMENT ON FUNCTION yquota_internal.is_worker(integer) IS
	'Tell whether a process is a worker of yquota';

-- pg_stat_activity shows backend_type only to members of pg_read_all_stats. The owner of yquota
-- need not be a member.
CREATE FUNCTION yquota_internal.worker_processes()
	RETURNS TABLE (database name, pid integer)
LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	SELECT activity.datname, activity.pid
	FROM pg_stat_activity AS activity
	WHERE yquota_internal.is_worker(activity.pid);
$$;
COMMENT ON FUNCTION yquota_internal.worker_processes() IS
	'Return the processes of the workers of all databases';

CREATE VIEW yquota.worker_status AS
SELECT current_database() AS database,
	   process.pid,
	   CASE WHEN pg_is_in_recovery() THEN 'standby'
			WHEN process.pid IS NULL THEN 'stopped'
			WHEN state.stopped_on_purpose THEN 'stopping'
			WHEN process.pid = state.pid THEN 'running'
			ELSE 'starting'
	   END AS state,
	   state.started_at,
	   state.last_price_at,
	   state.last_compute_at,
	   state.last_compact_at,
	   state.last_error,
	   state.last_error_at,
	   coalesce(state.failures, 0) AS failures,
	   ARRAY(SELECT alert.subject FROM yquota.alert
			 WHERE alert.kind = 'worker_postponed' AND alert.cleared_at IS NULL
			 ORDER BY alert.subject) AS postponed
FROM (VALUES (true)) AS one (row)
LEFT JOIN yquota_internal.worker_state AS state ON true
LEFT JOIN LATERAL (
	SELECT worker.pid
	FROM yquota_internal.worker_processes() AS worker
	WHERE worker.database = current_database()
	ORDER BY worker.pid IS DISTINCT FROM state.pid
	LIMIT 1) AS process ON true
UNION ALL
SELECT worker.database, worker.pid, 'running',
	   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM yquota_internal.worker_processes() AS worker
WHERE worker.database <> current_database();
COMMENT ON VIEW yquota.worker_status IS
	'The worker of this database with its last runs, and the workers seen in other databases';
COMMENT ON COLUMN yquota.worker_status.pid IS 'NULL when none runs';
COMMENT ON COLUMN yquota.worker_status.state IS
	'running, starting, stopping, stopped, or standby';
COMMENT ON COLUMN yquota.worker_status.last_price_at IS 'clock when prices were last computed';
COMMENT ON COLUMN yquota.worker_status.last_compute_at IS 'clock of the last QUOTA_COMPUTE of a worker';
COMMENT ON COLUMN yquota.worker_status.last_compact_at IS 'clock when counters were last compacted';
COMMENT ON COLUMN yquota.worker_status.failures IS 'failed attempts in a row; 0 when all is well';
COMMENT ON COLUMN yquota.worker_status.postponed IS 'tasks that wait for the lock of another session';
GRANT SELECT ON yquota.worker_status TO pg_monitor;

-- Wakes the worker, which reads the intervals of its rounds about queues from this table.
CREATE FUNCTION yquota_internal.wake_worker_for_queues() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM yquota_internal.wake_worker();
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.wake_worker_for_queues() IS
	'Make the worker read again how often policies of the scheduler run';
CREATE TRIGGER wake_worker AFTER INSERT OR DELETE OR UPDATE OF scheduler_monitor_enable, scheduler_monitor_policies,
		queue_management_monitoring_interval, auto_queue_creation_v2_queue_expiration_time, preemption_monitoring_interval,
		reservation_system_enable, reservation_system_planfollower_time_step ON yquota.scheduler_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.wake_worker_for_queues();

-- Wakes the launcher if it waits for this extension.
SELECT yquota_internal.wake_worker();
