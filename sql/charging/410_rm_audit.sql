-- Import of events from the audit log of YARN's ResourceManager.  The log has a line for each allocation and each
-- release of a container.  This example of a line is broken into three here:
--
--     2026-03-02 10:00:00,125 INFO ...RMAuditLogger: USER=ann	OPERATION=AM Allocated Container
--         TARGET=SchedulerApp	RESULT=SUCCESS	APPID=...
--         CONTAINERID=...	RESOURCE=<memory:1024, vCores:1>	QUEUENAME=root.a
--
-- Tabs separate the fields.  Logs with spaces in place of tabs are accepted, too.  The text before USER= has the
-- layout of log4j; only its time is used.
--
-- Every line becomes a row of container_event.  A repeated import recognizes events by container, event and time,
-- and does not send them again.
--
-- While a container is updated, the ResourceManager gives a container id to the part that is added or taken away.
-- That part is temporary, and is not a container.  The part of an increase is allocated, and released with no resources
-- (swapContainer).  The part of a decrease or a demotion is released and was never allocated.  The part of a
-- promotion is allocated and never released, so it looks like a container.
--
-- Containers that are OPPORTUNISTIC when they end have no end in the log.  Containers that end while the
-- ResourceManager is down have no end either.  The import ends both together with their application.

CREATE FUNCTION yquota_internal.rm_audit_fields(line text) RETURNS text[]
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (
		SELECT CASE WHEN strpos(message.text, E'\t') > 0 THEN string_to_array(message.text, E'\t')
					ELSE regexp_split_to_array(message.text, ' +(?=[A-Z]+=)') END
		FROM (SELECT rtrim(substr(line, strpos(line, 'USER=')), E'\r\n ') AS text) AS message);
COMMENT ON FUNCTION yquota_internal.rm_audit_fields(text) IS
	'Return the fields of a line of the audit log, each KEY=value';

CREATE FUNCTION yquota_internal.rm_audit_field(fields text[], key text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	-- use the first field of a name, because fields that users can choose come last
	RETURN (SELECT substr(field, length(key) + 2)
			FROM unnest(fields) WITH ORDINALITY AS f (field, number)
			WHERE starts_with(field, key || '=')
			ORDER BY number
			LIMIT 1);
COMMENT ON FUNCTION yquota_internal.rm_audit_field(text[], text) IS
	'Return the value of a key; NULL when the line does not have the key';

-- The function reads the time of a line.  The year has two or four digits, or is missing.  The offset from UTC is
-- returned if the layout has one.
CREATE FUNCTION yquota_internal.log_line_time(
	line text, OUT year integer, OUT month integer, OUT rest text, OUT utc_offset text)
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	time_of_day CONSTANT text := E'(\\d\\d:\\d\\d:\\d\\d)(?:[.,](\\d{1,6}))?(?!\\d)';
	months CONSTANT text[] := '{Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec}';
	part text[];
BEGIN
	-- year, month, day: ISO 8601, and Hadoop's console
	part := regexp_match(line, E'^(\\d\\d(?:\\d\\d)?)[-/](\\d\\d)[-/](\\d\\d)[ T]' || time_of_day || E'(Z|[-+]\\d\\d(?::?\\d\\d)?)?');
	IF part IS NULL THEN
		-- day, month, year: log4j's DATE
		part := regexp_match(line, E'^(\\d\\d?) ([A-Z][a-z]{2}) (\\d{4}) ' || time_of_day);
		part := CASE WHEN part IS NOT NULL THEN
			ARRAY[part[3], array_position(months, part[2])::text, part[1], part[4], part[5]] END;
	END IF;
	IF part IS NULL THEN
		part := regexp_match(line, E'^()(\\d\\d)[-/](\\d\\d) ' || time_of_day);
	END IF;
	IF part IS NULL THEN
		-- syslog
		part := regexp_match(line, E'^()([A-Z][a-z]{2}) +(\\d\\d?) ' || time_of_day);
		part[2] := array_position(months, part[2]);
	END IF;
	year := nullif(part[1], '')::integer + CASE WHEN length(part[1]) = 2 THEN 2000 ELSE 0 END;
	month := part[2]::integer;
	rest := format('%s-%s %s.%s', part[2], part[3], part[4], coalesce(part[5], '0'));
	utc_offset := part[6];
END
$$;
COMMENT ON FUNCTION yquota_internal.log_line_time(text) IS
	'Return the time at the beginning of a line of a log.  month is NULL when there is no time, and year is NULL when the layout has no year';

-- When clocks are set back, a local time occurs twice.  It is read as the first one until the times in the log go
-- back.  Lines of several threads may be slightly out of order, which does not count as going back.
CREATE FUNCTION yquota_internal.log_line_instant(
	line text, timezone text, first_year integer, previous timestamptz) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	disorder CONSTANT interval := '10 seconds';
	read record;
	year_of_line integer;
	before timestamp := previous AT TIME ZONE timezone;
	local_time timestamp;
	instant timestamptz;
	other timestamptz;
BEGIN
	read := yquota_internal.log_line_time(line);
	IF read.month IS NULL OR NOT read.month BETWEEN 1 AND 12 THEN
		RETURN NULL;
	END IF;
	year_of_line := read.year;
	IF year_of_line IS NULL AND before IS NOT NULL THEN
		-- choose the year in which the line is closest to the previous one
		year_of_line := extract(year FROM before)
			+ CASE WHEN extract(month FROM before) - read.month > 6 THEN 1
				   WHEN extract(month FROM before) - read.month < -6 THEN -1 ELSE 0 END;
	ELSIF year_of_line IS NULL THEN
		year_of_line := coalesce(first_year, extract(year FROM yquota.statement_clock() AT TIME ZONE timezone));
	END IF;
	BEGIN
		local_time := (lpad(year_of_line::text, 4, '0') || '-' || read.rest)::timestamp;
		-- accept a log of last year that is read this year
		IF read.year IS NULL AND before IS NULL AND first_year IS NULL
			AND local_time AT TIME ZONE timezone > yquota.statement_clock() + interval '1 day'
		THEN
			local_time := (lpad((year_of_line - 1)::text, 4, '0') || '-' || read.rest)::timestamp;
		END IF;
		IF read.utc_offset IS NOT NULL THEN
			RETURN (to_char(local_time, 'YYYY-MM-DD HH24:MI:SS.US') || read.utc_offset)::timestamptz;
		END IF;
	EXCEPTION WHEN data_exception THEN
		RETURN NULL;
	END;
	instant := local_time AT TIME ZONE timezone;
	SELECT min(candidate) INTO other
	FROM unnest(ARRAY[instant - interval '1 hour', instant, instant + interval '1 hour']) AS candidate
	WHERE candidate AT TIME ZONE timezone = local_time;
	IF other = instant THEN
		SELECT max(candidate) INTO instant
		FROM unnest(ARRAY[instant, instant + interval '1 hour']) AS candidate
		WHERE candidate AT TIME ZONE timezone = local_time;
	END IF;
	RETURN CASE WHEN (other >= previous - disorder) IS NOT FALSE THEN coalesce(other, instant) ELSE instant END;
END
$$;
COMMENT ON FUNCTION yquota_internal.log_line_instant(text, text, integer, timestamptz) IS
	'Return the time at which a line of a log was written, given the time of the previous line; NULL when the line does not begin with a time';

CREATE TYPE yquota_internal.rm_audit_event AS (
	event yquota.container_event_type,
	container_id text,
	occurred_at timestamptz,
	project text,
	application_id text,
	username text,
	queue text,
	allocation yquota.resource
);
COMMENT ON TYPE yquota_internal.rm_audit_event IS 'Event of a container in a line of the audit log';

CREATE FUNCTION yquota_internal.rm_audit_event(
	line text, occurred_at timestamptz, project text, project_from text)
	RETURNS yquota_internal.rm_audit_event
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	fields CONSTANT text[] := yquota_internal.rm_audit_fields(line);
	event yquota_internal.rm_audit_event;
BEGIN
	event.event := CASE yquota_internal.rm_audit_field(fields, 'OPERATION')
		WHEN 'AM Allocated Container' THEN 'CONTAINER_START'
		WHEN 'AM Released Container' THEN 'CONTAINER_FINISH' END;
	event.container_id := yquota_internal.rm_audit_field(fields, 'CONTAINERID');
	event.occurred_at := occurred_at;
	IF event.event IS NULL OR event.occurred_at IS NULL OR coalesce(event.container_id, '') = ''
		OR yquota_internal.rm_audit_field(fields, 'RESULT') IS DISTINCT FROM 'SUCCESS'
	THEN
		RETURN NULL;
	END IF;
	BEGIN
		event.allocation := yquota_internal.rm_audit_field(fields, 'RESOURCE')::yquota.resource;
	EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
		-- the INSERT will set the event aside, so that an administrator sees it
		event.allocation := NULL;
	END;
	IF event.event = 'CONTAINER_START' THEN
		event.username := nullif(yquota_internal.rm_audit_field(fields, 'USER'), 'null');
		event.application_id := yquota_internal.rm_audit_field(fields, 'APPID');
		event.queue := nullif(yquota_internal.rm_audit_field(fields, 'QUEUENAME'), 'null');
		event.project := coalesce(project, CASE project_from
			WHEN 'username' THEN event.username
			WHEN 'queue' THEN substring(event.queue FROM '[^.]+$') END);
	END IF;
	RETURN event;
END
$$;
COMMENT ON FUNCTION yquota_internal.rm_audit_event(text, timestamptz, text, text) IS
	'Return the event that a line of the audit log reports; NULL when it reports none';

CREATE FUNCTION yquota_internal.is_known_event(of_event yquota_internal.rm_audit_event, source text) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE of_event.event
			WHEN 'CONTAINER_START' THEN
				EXISTS (SELECT FROM yquota.container AS running
						WHERE running.container_id = of_event.container_id
						  AND running.settled_at = of_event.occurred_at AND running.started_at = of_event.occurred_at
						  AND running.allocation OPERATOR(yquota.=) of_event.allocation)
				OR EXISTS (SELECT FROM yquota_internal.charge_in_effect AS charge
						   WHERE charge.container_id = of_event.container_id
							 AND charge."from" = of_event.occurred_at AND charge.started_at = of_event.occurred_at
							 AND charge.allocation OPERATOR(yquota.=) of_event.allocation)
			ELSE EXISTS (SELECT FROM yquota_internal.charge_in_effect AS charge
						 WHERE charge.container_id = of_event.container_id
						   AND charge."to" = of_event.occurred_at AND charge.settled_by = 'CONTAINER_FINISH')
				OR EXISTS (SELECT FROM yquota_internal.reported_end AS reported
						   WHERE reported.container_id = of_event.container_id
							 AND reported.occurred_at = of_event.occurred_at)
		END
		OR EXISTS (SELECT FROM yquota.event_reject AS reject
				   WHERE reject.container_id = of_event.container_id AND reject.event = of_event.event
					 AND reject.occurred_at = of_event.occurred_at
					 AND reject.source IS NOT DISTINCT FROM is_known_event.source
					 AND reject.project IS NOT DISTINCT FROM of_event.project
					 AND (of_event.event = 'CONTAINER_FINISH'
						  OR reject.allocation::text IS NOT DISTINCT FROM of_event.allocation::text));
COMMENT ON FUNCTION yquota_internal.is_known_event(yquota_internal.rm_audit_event, text) IS
	'Tell whether an event is already in the books or was set aside';

CREATE FUNCTION yquota_internal.knows_start(container_id text) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM yquota.container AS running WHERE running.container_id = knows_start.container_id)
		OR EXISTS (SELECT FROM yquota_internal.charge_in_effect AS charge WHERE charge.container_id = knows_start.container_id)
		OR EXISTS (SELECT FROM yquota.event_reject AS reject
				   WHERE reject.container_id = knows_start.container_id AND reject.event = 'CONTAINER_START');
COMMENT ON FUNCTION yquota_internal.knows_start(text) IS
	'Tell whether the books contain the START of a container, or whether its START was set aside';

-- The first container of an attempt is its master.  If a log contains the START of the master, it also contains the
-- START of every container that was allocated to the attempt afterwards.
CREATE FUNCTION yquota_internal.temporary_parts(events yquota_internal.rm_audit_event[]) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	WITH line AS MATERIALIZED (
		SELECT l.event, l.container_id COLLATE "C" AS container_id, l.allocation,
			   regexp_replace(l.container_id, '_[0-9]+$', '_000001') COLLATE "C" AS master_id
		FROM unnest(events) AS l
	), started AS MATERIALIZED (
		SELECT line.container_id FROM line WHERE line.event = 'CONTAINER_START'
	)
	SELECT coalesce(array_agg(DISTINCT line.container_id), '{}')
	FROM line
	WHERE line.event = 'CONTAINER_FINISH'
	  AND (line.allocation OPERATOR(yquota.=) '[]'
		   OR line.container_id NOT IN (SELECT started.container_id FROM started)
			  AND NOT yquota_internal.knows_start(line.container_id)
			  AND (line.master_id IN (SELECT started.container_id FROM started)
				   OR yquota_internal.knows_start(line.master_id)));
$$;
COMMENT ON FUNCTION yquota_internal.temporary_parts(yquota_internal.rm_audit_event[]) IS
	'Return the ids that the log gives to temporary parts of container updates, as far as they can be recognized';

-- The function voids temporary parts that an earlier import took for containers.
CREATE FUNCTION yquota_internal.void_temporary_parts(container_ids text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM voided.container_id
	FROM (SELECT running.container_id, running.started_at FROM yquota.container AS running
		  WHERE running.container_id = ANY (container_ids)
		  UNION
		  SELECT charge.container_id, charge.started_at FROM yquota_internal.charge_in_effect AS charge
		  WHERE charge.container_id = ANY (container_ids)) AS started
	CROSS JOIN LATERAL yquota.void_events(started.container_id, 'temporary part of a container update') AS voided
	WHERE started.started_at >= yquota_internal.archive_horizon();
	DELETE FROM yquota.event_reject AS reject
	WHERE reject.reject_id = ANY (ARRAY(
		SELECT waits.reject_id FROM yquota.event_reject AS waits
		WHERE waits.waiting AND waits.container_id = ANY (container_ids)
		FOR UPDATE SKIP LOCKED));
END
$$;
COMMENT ON FUNCTION yquota_internal.void_temporary_parts(text[]) IS
	'Remove temporary parts from the books, and from the events that wait for a START';

CREATE FUNCTION yquota_internal.send_rm_audit_events(
	events yquota_internal.rm_audit_event[], source text,
	OUT starts bigint, OUT finishes bigint, OUT refused bigint, OUT temporary bigint)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'set_aside_quietly'
	AS $$
DECLARE
	parts text[] := yquota_internal.temporary_parts(events);
	fresh yquota_internal.rm_audit_event[];
	newest bigint := coalesce((SELECT max(reject.reject_id) FROM yquota.event_reject AS reject), 0);
	refused_starts bigint;
	unknown_projects bigint;
BEGIN
	PERFORM yquota_internal.void_temporary_parts(parts);
	-- check before the INSERT, because all events are known afterwards
	SELECT array_agg(DISTINCT candidate) FILTER (WHERE NOT sorted.is_part AND NOT yquota_internal.is_known_event(candidate, source)),
		   count(*) FILTER (WHERE sorted.is_part)
	INTO fresh, temporary
	FROM unnest(events) AS candidate
	CROSS JOIN LATERAL (
		SELECT (candidate).container_id IN (SELECT unnest(parts))
			OR (candidate).event = 'CONTAINER_START' AND EXISTS (
				SELECT FROM yquota.event_void AS void
				WHERE void.container_id = (candidate).container_id AND void.reason = 'temporary part of a container update') AS is_part
	) AS sorted;
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, allocation, source)
	SELECT line.event, line.container_id, line.occurred_at, line.project, line.application_id, line.username, line.queue,
		   CASE line.event WHEN 'CONTAINER_START' THEN line.allocation END, send_rm_audit_events.source
	FROM unnest(fresh) AS line;
	SELECT count(*), count(*) FILTER (WHERE reject.event = 'CONTAINER_START'),
		   count(*) FILTER (WHERE reject.event = 'CONTAINER_START' AND reject.sqlstate = '23503'
							AND NOT EXISTS (SELECT FROM yquota.project
											WHERE project.name = yquota_internal.payer_project(reject.project, reject.username)))
	INTO refused, refused_starts, unknown_projects
	FROM yquota.event_reject AS reject
	WHERE reject.reject_id > newest
	  AND (reject.event, reject.container_id, reject.occurred_at) IN (
		SELECT line.event, line.container_id, line.occurred_at FROM unnest(fresh) AS line);
	IF unknown_projects > 0 THEN
		RAISE WARNING 'containers set aside because their projects do not exist: %', unknown_projects
			USING HINT = 'Insert the projects into yquota.project and call yquota.retry_rejects(); or delete the rows of yquota.event_reject, and import again with "project" or another "project_from".';
	END IF;
	SELECT count(*) FILTER (WHERE line.event = 'CONTAINER_START') - refused_starts,
		   count(*) FILTER (WHERE line.event = 'CONTAINER_FINISH') - (refused - refused_starts)
	INTO starts, finishes
	FROM unnest(fresh) AS line;
END
$$;
COMMENT ON FUNCTION yquota_internal.send_rm_audit_events(yquota_internal.rm_audit_event[], text) IS
	'Insert new events in container_event.  Returns the numbers of accepted events, events set aside, and lines of temporary parts';

CREATE FUNCTION yquota_internal.end_with_applications(
	application_ids text[], ended_at timestamptz[], source text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'set_aside_quietly'
	AS $$
DECLARE
	ended bigint;
BEGIN
	-- record the ends first; otherwise charging would take them for ends from a feed when another end arrives
	WITH open AS MATERIALIZED (
		SELECT running.container_id, min(application.ended_at) AS at
		FROM unnest(application_ids, ended_at) AS application (application_id, ended_at)
		JOIN yquota.container AS running
			ON running.application_id = application.application_id AND running.started_at <= application.ended_at
		GROUP BY running.container_id
	), noted AS (
		INSERT INTO yquota_internal.reported_end (container_id, occurred_at, exit_status, is_own, is_assumed, recorded_at, source, is_booked)
		SELECT open.container_id, open.at, NULL, false, true, yquota.statement_clock(), end_with_applications.source, false FROM open
	), sent AS (
		INSERT INTO yquota.container_event (event, container_id, occurred_at, source)
		SELECT 'CONTAINER_FINISH', open.container_id, open.at, end_with_applications.source FROM open
	)
	SELECT count(*) INTO ended FROM open;
	RETURN ended;
END
$$;
COMMENT ON FUNCTION yquota_internal.end_with_applications(text[], timestamptz[], text) IS
	'Finish containers that are still running in the books although their applications have ended.  Returns how many';

CREATE FUNCTION yquota_internal.check_rm_audit(log text, timezone text, year integer, project_from text)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF log IS NULL OR project_from IS NULL THEN
		RAISE EXCEPTION 'log and "project_from" must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF project_from NOT IN ('prefix', 'username', 'queue') THEN
		RAISE EXCEPTION 'cannot take the project from "%"', project_from
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Take it from the prefix of usernames (project__user), the username, or the queue.';
	ELSIF year NOT BETWEEN 1970 AND 9998 THEN
		RAISE EXCEPTION 'year % of a log is out of range', year
			USING ERRCODE = 'datetime_field_overflow';
	END IF;
	-- PostgreSQL raises the error about an unknown time zone
	PERFORM yquota.statement_clock() AT TIME ZONE timezone;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_rm_audit(text, text, integer, text) IS
	'Refuse invalid arguments of import_rm_audit()';

CREATE FUNCTION yquota.import_rm_audit(
	log text, timezone text DEFAULT NULL, year integer DEFAULT NULL,
	project text DEFAULT NULL, project_from text DEFAULT 'prefix', source text DEFAULT 'rm_audit',
	after timestamptz DEFAULT NULL,
	OUT lines bigint, OUT starts bigint, OUT finishes bigint, OUT duplicates bigint,
	OUT unknown bigint, OUT refused bigint, OUT last_at timestamptz, OUT temporary bigint, OUT without_end bigint)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone CONSTANT text := coalesce(timezone, yquota_internal.billing_timezone());
	line text;
	occurred_at timestamptz;
	event yquota_internal.rm_audit_event;
	events yquota_internal.rm_audit_event[] := '{}';
	ended_applications text[] := '{}';
	ended_at timestamptz[] := '{}';
BEGIN
	PERFORM yquota_internal.check_rm_audit(log, zone, year, project_from);
	PERFORM yquota_internal.check_project(project);
	PERFORM yquota_internal.refuse_while_deferred('import a log');
	-- take this lock before reading the ledger, as every statement that sends events does
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	lines := 0;
	last_at := after;
	FOR line IN SELECT part FROM string_to_table(log, E'\n') AS part WHERE part ~ E'\\S' LOOP
		lines := lines + 1;
		CONTINUE WHEN line !~ E'USER=.*\\sOPERATION=(AM (Allocated|Released) Container|Application Finished - [A-Z][a-z]+)\\s';
		occurred_at := yquota_internal.log_line_instant(line, zone, year, last_at);
		event := yquota_internal.rm_audit_event(line, occurred_at, project, project_from);
		last_at := coalesce(occurred_at, last_at);
		IF event.event IS NOT NULL THEN
			events := events || event;
		ELSIF line ~ E'USER=.*\\sOPERATION=Application Finished' AND occurred_at IS NOT NULL THEN
			ended_applications := ended_applications
				|| yquota_internal.rm_audit_field(yquota_internal.rm_audit_fields(line), 'APPID');
			ended_at := ended_at || occurred_at;
		END IF;
	END LOOP;
	unknown := lines - cardinality(events);
	SELECT sent.starts, sent.finishes, sent.refused, sent.temporary INTO starts, finishes, refused, temporary
	FROM yquota_internal.send_rm_audit_events(events, source) AS sent;
	duplicates := lines - unknown - starts - finishes - refused - temporary;
	without_end := yquota_internal.end_with_applications(ended_applications, ended_at, source);
END
$$;
COMMENT ON FUNCTION yquota.import_rm_audit(text, text, integer, text, text, text, timestamptz) IS
	'Convert lines of a ResourceManager''s audit log to events.  "AM Allocated Container" becomes a CONTAINER_START, and "AM Released Container" a CONTAINER_FINISH. The remaining containers of an application end with the application.  Lines that were imported before are recognized, and temporary parts of container updates are left out.  Returns counts of lines, and the time of the last line';

-- The function reads a file with the privileges of the calling role, one megabyte at a time.  Bytes that are not
-- ASCII are read as \nnn, so that no portion ends within a character.  A last line without a line end is still being
-- written.
CREATE FUNCTION yquota.import_rm_audit_file(
	path text, timezone text DEFAULT NULL, year integer DEFAULT NULL,
	project text DEFAULT NULL, project_from text DEFAULT 'prefix', source text DEFAULT 'rm_audit',
	after timestamptz DEFAULT NULL,
	OUT lines bigint, OUT starts bigint, OUT finishes bigint, OUT duplicates bigint,
	OUT unknown bigint, OUT refused bigint, OUT last_at timestamptz, OUT temporary bigint, OUT without_end bigint)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	portion CONSTANT bigint := 1024 * 1024;
	position bigint := 0;
	bytes bytea;
	rest text := '';
	line text;
	readable text[];
	log text;
	ends_at integer;
	part record;
BEGIN
	IF path IS NULL THEN
		RAISE EXCEPTION 'path of the log must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF octet_length(path) >= 1024 THEN
		RAISE EXCEPTION 'path of the log is too long'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT 0, 0, 0, 0, 0, 0, after, 0, 0
	INTO lines, starts, finishes, duplicates, unknown, refused, last_at, temporary, without_end;
	LOOP
		bytes := pg_read_binary_file(path, position, portion);
		EXIT WHEN length(bytes) = 0;
		position := position + length(bytes);
		rest := rest || encode(bytes, 'escape');
		ends_at := length(rest) - strpos(reverse(rest), E'\n') + 1;
		-- skip a line of that length; it is not about a container
		CONTINUE WHEN ends_at > length(rest) AND length(rest) < portion;
		BEGIN
			log := convert_from(decode(left(rest, ends_at), 'escape'), 'UTF8');
		EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
			readable := '{}';
			FOR line IN SELECT string_to_table(left(rest, ends_at), E'\n') LOOP
				BEGIN
					readable := readable || convert_from(decode(line, 'escape'), 'UTF8');
				EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
					readable := readable || '?'::text;
				END;
			END LOOP;
			log := array_to_string(readable, E'\n');
		END;
		SELECT * INTO part FROM yquota.import_rm_audit(log, timezone, year, project, project_from, source, last_at);
		rest := substr(rest, ends_at + 1);
		lines := lines + part.lines;
		starts := starts + part.starts;
		finishes := finishes + part.finishes;
		duplicates := duplicates + part.duplicates;
		unknown := unknown + part.unknown;
		refused := refused + part.refused;
		last_at := part.last_at;
		temporary := temporary + part.temporary;
		without_end := without_end + part.without_end;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota.import_rm_audit_file(text, text, integer, text, text, text, timestamptz) IS
	'Run import_rm_audit() for a file on the server, read a megabyte at a time; needs the privileges of pg_read_binary_file().  An incomplete last line is left for the next call';
