--
-- Scheduled jobs; none of them delays events. If install_cron_jobs() was called, pg_cron runs the jobs. Otherwise the
-- worker runs them. A job is never run by both.
--

CREATE VIEW yquota_internal.job AS
	SELECT job.name, 'yquota ' || job.name AS cron_name, job.schedule, job.every, job.begins_at, job.description
	FROM (VALUES
		('credit', '* * * * *', interval '0', NULL::timestamptz,
		 'Grant budgets, note the losses of expired grants, forget holds that ended long ago'),
		('forecast', '*/15 * * * *', interval '15 minutes', timestamptz '2000-01-01 00:00+00',
		 'Tell of grants that expire soon, and of credit that lasts for little time'),
		('history', '*/5 * * * *', interval '5 minutes', timestamptz '2000-01-01 00:00+00',
		 'Seal ledger and log every retention_setting.seal_interval, and tend sealed history'),
		('retention', '*/10 * * * *', interval '10 minutes', timestamptz '2000-01-01 00:00+00',
		 'Archive history older than retention_setting.keep_months, one table at a time'),
		('leases', '* * * * *', interval '1 minute', timestamptz '2000-01-01 00:00+00',
		 'Renew leases of federated budgets'),
		('roll-up', '*/15 * * * *', interval '15 minutes', timestamptz '2000-01-01 00:00+00',
		 'Add up the charges per quarter-hour, for reports'),
		('verify', '30 2 * * *', interval '1 day', timestamptz '2000-01-01 02:30+00',
		 'Prove the books, and keep the result')
	) AS job (name, schedule, every, begins_at, description);
COMMENT ON VIEW yquota_internal.job IS 'Jobs that are due by the clock';
COMMENT ON COLUMN yquota_internal.job.cron_name IS 'name in pg_cron';
COMMENT ON COLUMN yquota_internal.job.schedule IS 'schedule in pg_cron''s notation (UTC)';
COMMENT ON COLUMN yquota_internal.job.every IS 'interval at which the worker runs the job; 0: at every yquota.compute_interval';
COMMENT ON COLUMN yquota_internal.job.begins_at IS 'instant at which an interval of the worker begins; other intervals begin at multiples of "every" from this instant';

CREATE TABLE yquota_internal.job_run (
	job text COLLATE "C" PRIMARY KEY,
	started_at timestamptz NOT NULL,
	performed_by text COLLATE "C" NOT NULL,
	result text
);
COMMENT ON TABLE yquota_internal.job_run IS 'Time at which each job last succeeded';
COMMENT ON COLUMN yquota_internal.job_run.started_at IS 'clock';
COMMENT ON COLUMN yquota_internal.job_run.performed_by IS 'pg_cron or worker; nobody: the job has not run yet, and the worker waits for its first run since started_at';

CREATE TABLE yquota.verification (
	verified_at timestamptz PRIMARY KEY,
	duration interval NOT NULL,
	problems bigint NOT NULL,
	found jsonb NOT NULL
);
COMMENT ON TABLE yquota.verification IS
	'Findings of the nightly verify(), kept for 400 days';
COMMENT ON COLUMN yquota.verification.verified_at IS 'clock when the check began';
COMMENT ON COLUMN yquota.verification.duration IS 'duration of the check';
COMMENT ON COLUMN yquota.verification.problems IS 'rows that verify() returned; 0 when all is well';
COMMENT ON COLUMN yquota.verification.found IS 'first hundred rows that verify() returned';

CREATE FUNCTION yquota_internal.keep_verification(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET timezone = 'UTC' SET datestyle = 'ISO' SET intervalstyle = 'postgres'
	AS $$
DECLARE
	began CONSTANT timestamptz := clock_timestamp();
	all_found jsonb;
	problems bigint;
BEGIN
	SELECT coalesce(jsonb_agg(problem), '[]') INTO all_found FROM yquota.verify() AS problem;
	problems := jsonb_array_length(all_found);
	INSERT INTO yquota.verification AS kept (verified_at, duration, problems, found)
	VALUES (now_at, clock_timestamp() - began, problems, jsonb_path_query_array(all_found, '$[0 to 99]'))
	ON CONFLICT (verified_at) DO UPDATE
	SET duration = excluded.duration, problems = excluded.problems, found = excluded.found;
	DELETE FROM yquota.verification AS kept WHERE kept.verified_at < now_at - interval '400 days';

	IF problems > 0 THEN
		INSERT INTO yquota.alert AS open (kind, subject, detail, raised_at)
		VALUES ('books_differ', 'verify', format('verify() found %s problems: see yquota.verification.', problems), now_at)
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE SET detail = excluded.detail;
	ELSE
		UPDATE yquota.alert SET cleared_at = now_at
		WHERE kind = 'books_differ' AND cleared_at IS NULL;
	END IF;
	RETURN problems;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_verification(timestamptz) IS
	'Run verify() and keep its findings.  Returns the number of problems';

CREATE FUNCTION yquota_internal.run_job(
	job text, performed_by text, now_at timestamptz DEFAULT yquota.clock())
	RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	outcome text;
	noted bigint;
BEGIN
	-- skip the job if another session is running it
	INSERT INTO yquota_internal.job_run AS run (job, started_at, performed_by)
	VALUES (run_job.job, now_at, run_job.performed_by)
	ON CONFLICT ON CONSTRAINT job_run_pkey DO UPDATE
	SET started_at = excluded.started_at, performed_by = excluded.performed_by;

	CASE run_job.job
		WHEN 'credit' THEN
			-- remove only a bounded number at a time, because the worker has other work, too
			noted := yquota_internal.worker_credit(now_at, CASE WHEN run_job.performed_by = 'worker' THEN 100 END);
			IF noted > 0 THEN
				outcome := format('%s expired grants noted', noted);
			END IF;
		WHEN 'forecast' THEN
			outcome := format('%s alerts raised', yquota_internal.note_forecasts(now_at));
		WHEN 'history' THEN
			PERFORM yquota_internal.worker_seal(now_at);
		WHEN 'retention' THEN
			outcome := yquota_internal.retain_history(now_at);
		WHEN 'leases' THEN
			SELECT concat_ws('; ', format('%s offered, %s taken, %s settled', renewal.offered, renewal.taken, renewal.settled),
							 nullif(array_to_string(renewal.problems, '; '), ''))
			INTO outcome FROM yquota.renew_leases() AS renewal;
		WHEN 'roll-up' THEN
			outcome := format('%s rows added', yquota.roll_up_charges());
		WHEN 'verify' THEN
			outcome := format('%s problems', yquota_internal.keep_verification(now_at));
		ELSE
			RAISE EXCEPTION 'job "%" does not exist', run_job.job
				USING ERRCODE = 'undefined_object';
	END CASE;

	UPDATE yquota_internal.job_run AS run SET result = outcome
	WHERE run.job = run_job.job;
	RETURN outcome;
END
$$;
COMMENT ON FUNCTION yquota_internal.run_job(text, text, timestamptz) IS
	'Run a job, whether it is due or not, and record the run.  Returns the result of the job; NULL if it has none';

CREATE FUNCTION yquota_internal.cron_is_loaded() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM pg_settings WHERE name = 'cron.database_name');
COMMENT ON FUNCTION yquota_internal.cron_is_loaded() IS
	'Tell whether the server has pg_cron among its libraries';

-- Looks for the extension pg_cron, not for a table cron.job. Any role that may create schemas could
-- make such a table, and its triggers would run with the rights of the owner of yquota.
CREATE FUNCTION yquota_internal.cron_is_installed() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron');
COMMENT ON FUNCTION yquota_internal.cron_is_installed() IS
	'Tell whether the extension pg_cron, which only superusers can create, is in this database';

CREATE FUNCTION yquota_internal.cron_has(job text) RETURNS boolean
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	is_active boolean := false;
BEGIN
	IF yquota_internal.cron_is_installed() AND yquota_internal.cron_is_loaded() THEN
		EXECUTE 'SELECT coalesce(bool_or(active), false) FROM cron.job WHERE jobname = $1 AND database = current_database()'
			INTO is_active USING 'yquota ' || job;
	END IF;
	RETURN is_active;
END
$$;
COMMENT ON FUNCTION yquota_internal.cron_has(text) IS
	'Tell whether pg_cron is installed, is loaded, and runs this job of yquota';

-- A job is due when a new interval has begun, by the clock, since its last run. A job that has never run waits for the
-- beginning of its next interval. The job that seals history does not wait if there is something to seal.
CREATE FUNCTION yquota_internal.job_is_due(job text, now_at timestamptz) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known yquota_internal.job;
	last_at timestamptz;
BEGIN
	SELECT * INTO known FROM yquota_internal.job AS j WHERE j.name = job_is_due.job;
	IF known.name IS NULL THEN
		RAISE EXCEPTION 'job "%" does not exist', job_is_due.job
			USING ERRCODE = 'undefined_object';
	ELSIF yquota_internal.cron_has(known.name)
		OR known.name = 'leases' AND NOT yquota_internal.has_leases()
		OR known.name = 'forecast' AND NOT yquota_internal.has_forecast_thresholds() THEN
		RETURN false;
	ELSIF known.every = '0' OR known.name = 'history' AND yquota_internal.history_wants_tending(now_at)
		OR known.name = 'retention' AND (SELECT history IS NOT NULL FROM yquota_internal.next_to_archive(now_at)) THEN
		RETURN true;
	END IF;
	INSERT INTO yquota_internal.job_run AS run (job, started_at, performed_by)
	VALUES (known.name, now_at, 'nobody') ON CONFLICT DO NOTHING;
	SELECT run.started_at INTO last_at FROM yquota_internal.job_run AS run WHERE run.job = known.name;
	RETURN last_at NOT BETWEEN date_bin(known.every, now_at, known.begins_at) AND now_at;
END
$$;
COMMENT ON FUNCTION yquota_internal.job_is_due(text, timestamptz) IS
	'Tell whether the worker has to run a job now: the job is due, and pg_cron does not run it';

CREATE FUNCTION yquota_internal.worker_job(job text, now_at timestamptz) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.job_is_due(job, now_at) THEN
		RETURN yquota_internal.run_job(job, 'worker', now_at);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_job(text, timestamptz) IS
	'Run a job if it is due and pg_cron does not run it.  Returns the result of the job; NULL if it has none';

--
-- Functions for administrators
--

CREATE FUNCTION yquota_internal.require_cron() RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- pg_cron works in one database
	is_here boolean := yquota_internal.cron_is_loaded()
		AND current_setting('cron.database_name') = current_database();
	libraries text := current_setting('shared_preload_libraries');
BEGIN
	IF NOT is_here THEN
		IF NOT yquota_internal.cron_is_loaded() THEN
			libraries := concat_ws(', ', nullif(libraries, ''), 'pg_cron');
		END IF;
		RAISE EXCEPTION 'pg_cron is not loaded for database "%"', current_database()
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = format(E'Put these lines into postgresql.conf and restart the server:\nshared_preload_libraries = %L\ncron.database_name = %L',
							  libraries, current_database());
	ELSIF NOT yquota_internal.cron_is_installed() THEN
		RAISE EXCEPTION 'extension "pg_cron" is not installed'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'CREATE EXTENSION pg_cron;';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.require_cron() IS
	'Raise an error that names the missing settings when pg_cron cannot work in this database';

CREATE FUNCTION yquota.install_cron_jobs() RETURNS TABLE (job text, schedule text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	due yquota_internal.job;
BEGIN
	PERFORM yquota_internal.require_cron();
	FOR due IN SELECT * FROM yquota_internal.job AS j ORDER BY j.name
	LOOP
		EXECUTE 'SELECT cron.schedule($1, $2, $3)'
		USING due.cron_name, due.schedule,
			  format('SELECT yquota_internal.run_job(%L, %L)', due.name, 'pg_cron');
		job := due.cron_name;
		schedule := due.schedule;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota.install_cron_jobs() IS
	'Make pg_cron run the jobs that are due by the clock, in place of the worker.  Returns the jobs.  A repeated call resets their schedules';

CREATE FUNCTION yquota.remove_cron_jobs() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	removed bigint := 0;
BEGIN
	IF yquota_internal.cron_is_installed() THEN
		EXECUTE 'SELECT count(cron.unschedule(jobid)) FROM cron.job
				 WHERE database = current_database()
				   AND jobname IN (SELECT known.cron_name FROM yquota_internal.job AS known)'
			INTO removed;
	END IF;
	RETURN removed;
END
$$;
COMMENT ON FUNCTION yquota.remove_cron_jobs() IS
	'Let the worker instead of pg_cron run the jobs that are due by the clock.  Returns how many jobs were removed';

-- Runs with the owner's rights, because pg_cron shows a job only to the role that scheduled it.
CREATE FUNCTION yquota_internal.cron_runs()
	RETURNS TABLE (job text, schedule text, active boolean, last_run_at timestamptz, status text, message text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.cron_is_installed() AND to_regclass('cron.job_run_details') IS NOT NULL THEN
		RETURN QUERY EXECUTE
			'SELECT job.jobname::text, job.schedule, job.active AND yquota_internal.cron_is_loaded(),
					run.start_time, run.status, run.return_message
			 FROM cron.job AS job
			 LEFT JOIN LATERAL (SELECT * FROM cron.job_run_details AS details
								WHERE details.jobid = job.jobid AND details.status IN (''succeeded'', ''failed'')
								ORDER BY details.runid DESC LIMIT 1) AS run ON true
			 WHERE job.database = current_database()';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.cron_runs() IS
	'Return the jobs of pg_cron in this database, with their last run';

CREATE VIEW yquota.cron_jobs AS
	SELECT job.cron_name AS job,
		   coalesce(cron.schedule, job.schedule) AS schedule,
		   CASE WHEN cron.active THEN 'pg_cron' ELSE 'worker' END AS performed_by,
		   CASE WHEN cron.status = 'failed' THEN cron.last_run_at ELSE run.started_at END AS last_run_at,
		   CASE WHEN cron.status = 'failed' THEN 'failed: ' || rtrim(cron.message, E'\n')
				WHEN run.job IS NOT NULL THEN concat_ws(': ', 'succeeded', run.result) END AS last_result,
		   job.description
	FROM yquota_internal.job AS job
	LEFT JOIN yquota_internal.cron_runs() AS cron ON cron.job = job.cron_name
	LEFT JOIN yquota_internal.job_run AS run ON run.job = job.name AND run.performed_by <> 'nobody';
COMMENT ON VIEW yquota.cron_jobs IS
	'Jobs that are due by the clock, with who runs them (pg_cron or the worker) and their last result';
COMMENT ON COLUMN yquota.cron_jobs.job IS 'name of the job in pg_cron';
COMMENT ON COLUMN yquota.cron_jobs.schedule IS 'schedule in pg_cron''s notation, in UTC';
COMMENT ON COLUMN yquota.cron_jobs.performed_by IS 'pg_cron or worker';
COMMENT ON COLUMN yquota.cron_jobs.last_run_at IS 'clock of the last run; NULL: never';
COMMENT ON COLUMN yquota.cron_jobs.last_result IS 'succeeded or failed, and the work done; errors of the worker are in worker_status';
