-- Sums of history that archiving stores (charging/090_archived_cost.sql), and their use in reports.

CREATE FUNCTION yquota_internal.table_name(relation regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET quote_all_identifiers = off
	RETURN (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = relation);
COMMENT ON FUNCTION yquota_internal.table_name(regclass) IS 'Return the name of a table with its schema, whatever the search path';

CREATE FUNCTION yquota_internal.note_archived(segments integer[], of_history text, target regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota.archived_history (segment, history, target, archived_at, cluster)
		SELECT number, of_history, yquota_internal.table_name(target), yquota.clock(),
			   CASE WHEN yquota_internal.is_shared_target(target) THEN yquota.cluster_name() END
		FROM unnest(segments) AS s (number)
		WHERE number > 0;
$$;
COMMENT ON FUNCTION yquota_internal.note_archived(integer[], text, regclass) IS
	'Record the targets to which segments of the ledger or the log were archived';

CREATE FUNCTION yquota_internal.billed_rows_query(rows_query text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format($query$
		SELECT entry.*,
			   CASE WHEN period.ends[bucket.number + 1] < entry."to" THEN 'infinity'
					ELSE coalesce(period.ends[bucket.number], '-infinity') END AS period_from,
			   coalesce(period.closings[width_bucket(entry.booked_at - interval '1 microsecond', period.closings)],
						'-infinity') AS booked_after
		FROM (SELECT coalesce(array_agg(p.until ORDER BY p.until), '{}') AS ends,
					 coalesce(array_agg(p.closed_at ORDER BY p.closed_at) FILTER (WHERE p.closed_at IS NOT NULL), '{}') AS closings
			  FROM yquota.closed_period AS p) AS period
		CROSS JOIN (%s) AS entry
		CROSS JOIN LATERAL (SELECT width_bucket(entry."from", period.ends) AS number) AS bucket
		$query$, rows_query);
COMMENT ON FUNCTION yquota_internal.billed_rows_query(text) IS
	'Return the SQL that adds two columns to ledger rows, for bills.  period_from is the beginning of the billing period of a row, or infinity if the row crosses the end of a period.  booked_after is the last closing before the row was booked';

CREATE FUNCTION yquota_internal.post_archived_cost(through integer, rows_query text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	-- without statistics the planner expects many groups, although there are few
	SET enable_sort = off
	AS $$
BEGIN
	EXECUTE format($query$
		WITH entering AS (
			SELECT leaving.*, reserved.reservation_id
			FROM (%s) AS leaving
			LEFT JOIN (SELECT DISTINCT hold.reservation_id FROM yquota.hold WHERE hold.reservation_id IS NOT NULL) AS reserved
				ON reserved.reservation_id = leaving.container_id
		)
		INSERT INTO yquota_internal.archived_cost (archived_through, quarter_hour, period_from, booked_after,
			project, username, queue, application_id, execution_type, reservation_id, amount)
		SELECT $1, part.starts_at, spent.period_from, spent.booked_after,
			   spent.project, spent.username, spent.queue, spent.application_id, spent.execution_type, spent.reservation_id,
			   trim_scale(part.amount)
		FROM (SELECT entering.period_from, entering.booked_after, entering.project, entering.username, entering.queue,
					 entering.application_id, entering.execution_type, entering.reservation_id, %s AS parts
			  FROM entering
			  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8) AS spent
		CROSS JOIN LATERAL unnest(spent.parts) AS part
		$query$, yquota_internal.billed_rows_query(rows_query), yquota_internal.quarter_hour_sums_call($part$'-infinity'::timestamptz$part$, true, 'false'))
	USING through;
END
$$;
COMMENT ON FUNCTION yquota_internal.post_archived_cost(integer, text) IS
	'Store the cost of the ledger rows that a query returns, per quarter-hour';

-- All rows of a container leave together, so corrections cancel the rows that they reverse.
CREATE FUNCTION yquota_internal.post_archived_preemption(through integer, rows_query text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	-- without statistics the planner considers nested loops cheap
	SET enable_nestloop = off
	AS $$
BEGIN
	EXECUTE format($query$
		WITH leaving AS NOT MATERIALIZED (%s), ended AS MATERIALIZED (
			SELECT finish.container_id, finish.project, finish.username, finish.queue, finish."to"
			FROM leaving AS finish
			WHERE finish.exit_status = -102 AND finish.settled_by = 'CONTAINER_FINISH'
			  AND finish.padding IS NULL AND finish.corrects IS NULL
			  AND NOT EXISTS (SELECT FROM leaving AS taking_back
							  WHERE taking_back.container_id = finish.container_id
								AND taking_back.corrects = finish.number)
		), work AS (
			SELECT segment.container_id, sum(segment.amount) AS charged, coalesce(sum(segment.given_back), 0) AS given_back
			FROM leaving AS segment
			WHERE segment.padding IS NULL
			  AND segment.container_id IN (SELECT ended.container_id FROM ended)
			GROUP BY segment.container_id
		)
		INSERT INTO yquota_internal.archived_preemption (archived_through, quarter_hour,
			project, username, queue, containers, gross, given_back)
		SELECT $1, yquota_internal.quarter_hour(ended."to"), ended.project, ended.username, ended.queue,
			   count(*), trim_scale(sum(work.charged + work.given_back)), trim_scale(sum(work.given_back))
		FROM ended
		JOIN work USING (container_id)
		GROUP BY 2, 3, 4, 5
		$query$, rows_query)
	USING through;
END
$$;
COMMENT ON FUNCTION yquota_internal.post_archived_preemption(integer, text) IS
	'Store the cost of the preempted containers whose ledger rows a query returns, per quarter-hour of their ends';

CREATE VIEW yquota_internal.instant_of_credit AS
	SELECT line.member AS project, '' COLLATE "C" AS application_id, instant.at, NULL::text COLLATE "C" AS queue
	FROM yquota_internal.grant_life AS life
	CROSS JOIN LATERAL (VALUES (life.begins_at), (life.leaves_at), (CASE WHEN life.amount > 0 THEN life.expires_at END)) AS instant (at)
	CROSS JOIN LATERAL (
		SELECT life.project
		UNION ALL
		SELECT family.member FROM yquota_internal.project_family AS family WHERE family.ancestor = life.project
	) AS line (member)
	WHERE isfinite(instant.at)
	UNION
	SELECT hold.project, coalesce(hold.application_id, hold.reservation_id), hold.held_at, hold.queue
	FROM yquota.hold;
COMMENT ON VIEW yquota_internal.instant_of_credit IS
	'Instants from which costs must be known.  Grants need the cost of projects.  Holds need the cost of applications, and of reservations with their queues';

-- The caller calls this function before post_archived_cost(), because the rows that post_archived_cost() inserts
-- must not be counted here.
CREATE FUNCTION yquota_internal.post_archived_cost_since(horizon timestamptz, rows_query text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	-- without statistics the planner considers nested loops cheap
	SET enable_nestloop = off
	AS $$
BEGIN
	DELETE FROM yquota_internal.archived_cost_since AS kept
	WHERE NOT EXISTS (SELECT FROM yquota_internal.instant_of_credit AS instant
					  WHERE instant.project = kept.project AND instant.application_id = kept.application_id
						AND instant.at = kept.since);
	INSERT INTO yquota_internal.archived_cost_since (project, application_id, since, amount)
	SELECT instant.project, instant.application_id, instant.at,
		   CASE WHEN instant.queue IS NULL THEN yquota_internal.archived_since(instant.project, instant.application_id, instant.at)
				ELSE yquota_internal.archived_reservation_since(instant.project, instant.application_id, instant.queue, instant.at) END
	FROM yquota_internal.instant_of_credit AS instant
	WHERE instant.at < horizon
	ON CONFLICT DO NOTHING;
	EXECUTE format($query$
		WITH asked AS MATERIALIZED (
			SELECT kept.project, kept.application_id, array_agg(kept.since ORDER BY kept.since) AS cuts
			FROM yquota_internal.archived_cost_since AS kept
			GROUP BY 1, 2
		), reserved AS MATERIALIZED (
			SELECT DISTINCT hold.project, hold.reservation_id, hold.queue FROM yquota.hold WHERE hold.reservation_id IS NOT NULL
		), leaving AS (
			SELECT asked.project AS of_project, asked.application_id AS of_application, asked.cuts, own.*
			FROM (%1$s) AS own
			JOIN asked ON asked.project = own.project AND asked.application_id = ''
			UNION ALL
			SELECT asked.project, asked.application_id, asked.cuts, own.*
			FROM (%1$s) AS own
			JOIN asked ON asked.project = own.project AND asked.application_id = own.application_id
			WHERE asked.application_id <> ''
			UNION ALL
			SELECT asked.project, asked.application_id, asked.cuts, own.*
			FROM (%1$s) AS own
			JOIN reserved ON reserved.project = own.project AND reserved.reservation_id = own.container_id
			JOIN asked ON asked.project = own.project AND asked.application_id = reserved.reservation_id
			UNION ALL
			SELECT asked.project, asked.application_id, asked.cuts, own.*
			FROM (%1$s) AS own
			JOIN reserved ON reserved.project = own.project AND reserved.queue = own.queue
			JOIN asked ON asked.project = own.project AND asked.application_id = reserved.reservation_id
		), part AS (
			SELECT kept.project, kept.application_id, kept.since, 0 AS whole, 0 AS cut
			FROM yquota_internal.archived_cost_since AS kept
			UNION ALL
			-- take the last instant at or before the start of the row, and the instants within the row
			SELECT leaving.of_project, leaving.of_application, leaving.cuts[number.n],
				   CASE WHEN leaving."from" >= leaving.cuts[number.n] THEN leaving.amount ELSE 0 END,
				   CASE WHEN leaving."from" >= leaving.cuts[number.n] THEN 0
						ELSE yquota_internal.charge_since(ROW(leaving.project, leaving.application_id, leaving.username,
								leaving.queue, leaving.node, leaving.execution_type, leaving.allocation, leaving."from", leaving."to",
								leaving.corrects, leaving.amount, leaving.given_back, leaving.waiting_factor, leaving.container_id)::yquota_internal.ledger_segment, leaving.cuts[number.n]) END
			FROM leaving
			CROSS JOIN LATERAL generate_series(
				greatest(width_bucket(leaving."from", leaving.cuts), 1),
				width_bucket(yquota_internal.last_instant(leaving."from", leaving."to"), leaving.cuts)) AS number (n)
		), later AS (
			SELECT part.project, part.application_id, part.since,
				   sum(part.cut) + sum(sum(part.whole)) OVER (PARTITION BY part.project, part.application_id
															  ORDER BY part.since DESC) AS amount
			FROM part
			GROUP BY part.project, part.application_id, part.since
		)
		UPDATE yquota_internal.archived_cost_since AS kept
		SET amount = trim_scale(kept.amount + later.amount)
		FROM later
		WHERE kept.project = later.project AND kept.application_id = later.application_id AND kept.since = later.since
		$query$, rows_query);
END
$$;
COMMENT ON FUNCTION yquota_internal.post_archived_cost_since(timestamptz, text) IS
	'Store the cost of the ledger rows that a query returns, since each instant of a grant or hold before a horizon';

-- From now on, reports read the days of the leaving rows from the ledger, until roll_up_charges() examines the
-- remaining rows.  Rows of containers that continue are copied, so their days are included.
CREATE FUNCTION yquota_internal.take_from_rollup(leaving_rows text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	last_to timestamptz;
BEGIN
	PERFORM FROM yquota_internal.rollup_state FOR UPDATE;
	EXECUTE format('SELECT max(c."to") FROM (%s) AS c', leaving_rows) INTO last_to;
	DELETE FROM yquota_internal.charge_rollup AS rollup
	WHERE rollup.quarter_hour < yquota_internal.utc_day(last_to) + interval '24 hours';
	UPDATE yquota_internal.rollup_day AS known
	SET charges = 0, sums = 0, is_rolled_up = false
	WHERE known.day <= last_to;
END
$$;
COMMENT ON FUNCTION yquota_internal.take_from_rollup(text) IS
	'Delete the days of ledger rows that a query returns, and all earlier days, from the roll-ups';

--
-- Reports
--

CREATE FUNCTION yquota_internal.ledger_archives() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(DISTINCT archived.target, ', ' ORDER BY archived.target)
			FROM yquota.archived_history AS archived WHERE archived.history = 'ledger');
COMMENT ON FUNCTION yquota_internal.ledger_archives() IS 'Return the names of the tables into which the ledger was archived';

CREATE FUNCTION yquota_internal.is_reported_from(at timestamptz, by text[]) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN at >= yquota_internal.archive_horizon()
		OR by <@ '{project,username,queue,application_id,execution_type}' AND at = yquota_internal.quarter_hour(at);
COMMENT ON FUNCTION yquota_internal.is_reported_from(timestamptz, text[]) IS
	'Tell whether costs from an instant on, including archived ones, can be reported by the given columns';

CREATE FUNCTION yquota_internal.check_archived_report(cuts timestamptz[], by text[]) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	kept CONSTANT text[] := '{project,username,queue,application_id,execution_type}';
	horizon CONSTANT timestamptz := yquota_internal.archive_horizon();
	cut timestamptz;
BEGIN
	IF NOT by <@ kept THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', horizon
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = format('Charges that ended before it have left the database%s.',
								  ' for ' || yquota_internal.ledger_archives()),
				  HINT = format('Begin at the horizon or later, or ask the archive, or group by %s.',
								array_to_string(kept, ', '));
	END IF;
	SELECT c.at INTO cut FROM unnest(cuts) AS c (at)
	WHERE c.at < horizon AND c.at <> yquota_internal.quarter_hour(c.at) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'window is cut at %, before the archive horizon at %', cut, horizon
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = 'Costs before it are known per quarter-hour.',
				  HINT = 'Cut at full quarters of an hour.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archived_report(timestamptz[], text[]) IS
	'Refuse a report that begins before the archive horizon and needs more detail than archived_cost contains';

-- An archive table may belong to any role.  Reading it may run code of its owner or of a foreign server.  Such code
-- must not get the rights of yquota's owner.  The table is therefore read with the rights of its own owner, who must
-- also own its parts.  The rows are returned as JSON, and text of another server is converted to the types of yquota.

CREATE TYPE yquota_internal.archived_charge AS (
	archive text,
	container_id text,
	project text,
	application_id text,
	username text,
	queue text,
	node text,
	execution_type yquota.execution_type,
	allocation yquota.resource,
	"from" timestamptz,
	"to" timestamptz,
	number integer,
	corrects integer,
	settled_by yquota.container_event_type,
	padding interval,
	amount numeric,
	given_back numeric,
	waiting_factor numeric
);
COMMENT ON TYPE yquota_internal.archived_charge IS
	'Row of the ledger in an archive: the columns that prices depend on';
COMMENT ON COLUMN yquota_internal.archived_charge.archive IS 'name of the table, as in archived_history';

CREATE FUNCTION yquota_internal.archived_charges_query(archive text, segments integer[], condition text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	-- list the names of columns, because workers of Citus do not know the columns of a row
	RETURN format('SELECT json_agg(json_build_object(''archive'', %L, %s)) FROM %s AS r WHERE %s', archive,
		(SELECT string_agg(format('%L, r.%I%s', a.attname, a.attname, CASE a.attname WHEN 'allocation' THEN '::text' END), ', ' ORDER BY a.attnum)
		 FROM pg_attribute AS a
		 WHERE a.attrelid = 'yquota_internal.archived_charge'::regclass AND a.attname <> 'archive' AND NOT a.attisdropped),
		to_regclass(archive)::text,
		concat_ws(' AND ', condition, CASE WHEN yquota_internal.is_shared_target(to_regclass(archive)) THEN yquota_internal.own_rows(segments) END));
COMMENT ON FUNCTION yquota_internal.archived_charges_query(text, integer[], text) IS
	'Return the query for the rows r of an archive that satisfy a condition, as one JSON array of archived_charge.  In a table that clusters share, only rows of this cluster and of the given segments count';

CREATE FUNCTION yquota_internal.refuse_missing_archive(archive text, sqlstate_of text, reason text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'could not read table %, into which history has been archived', archive
		USING ERRCODE = sqlstate_of, DETAIL = reason,
			HINT = 'The table must exist by this name, and its owner must be able to read it.';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_missing_archive(text, text, text) IS
	'Raise the error that an archive has been dropped or cannot be reached';

-- For an unreachable server, only the message of the error is reported, because the details of the error contain
-- addresses.
CREATE FUNCTION yquota_internal.read_archive(archive text, segments integer[], condition text) RETURNS SETOF yquota_internal.archived_charge
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	relation pg_class;
	charges json;
BEGIN
	SELECT c.* INTO relation FROM pg_class AS c WHERE c.oid = to_regclass(archive) AND c.relkind IN ('r', 'p', 'f');
	IF NOT FOUND THEN
		PERFORM yquota_internal.refuse_missing_archive(archive, 'object_not_in_prerequisite_state', 'The table no longer exists.');
	END IF;
	BEGIN
		PERFORM yquota_internal.check_archive_owners(relation.oid);
		charges := yquota_internal.run_as(pg_get_userbyid(relation.relowner),
										yquota_internal.archived_charges_query(archive, segments, condition), true);
	EXCEPTION WHEN connection_exception OR fdw_error OR undefined_table OR undefined_object OR insufficient_privilege THEN
		PERFORM yquota_internal.refuse_missing_archive(archive, SQLSTATE, SQLERRM);
	END;
	RETURN QUERY SELECT * FROM json_populate_recordset(NULL::yquota_internal.archived_charge, charges);
END
$$;
COMMENT ON FUNCTION yquota_internal.read_archive(text, integer[], text) IS
	'Return the rows r of an archive that satisfy a condition';

CREATE FUNCTION yquota_internal.archived_ledger_segment(charge yquota_internal.archived_charge) RETURNS yquota_internal.ledger_segment
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN ROW((charge).project, (charge).application_id, (charge).username, (charge).queue, (charge).node, (charge).execution_type, (charge).allocation,
			   (charge)."from", (charge)."to", (charge).corrects, (charge).amount, (charge).given_back, (charge).waiting_factor,
			   (charge).container_id)::yquota_internal.ledger_segment;
COMMENT ON FUNCTION yquota_internal.archived_ledger_segment(yquota_internal.archived_charge) IS
	'Convert a row of an archive to a row of the ledger, for charge_since()';

-- A row and its correction add up to 0, even if earlier timelines were used for both.
CREATE FUNCTION yquota_internal.check_archived_charges(charges yquota_internal.archived_charge[]) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	wrong record;
BEGIN
	SELECT c.archive, c.container_id, trim_scale(sum(c.amount)) AS charged, trim_scale(sum(priced.amount)) AS due INTO wrong
	FROM unnest(charges) AS c
	CROSS JOIN LATERAL (
		SELECT CASE WHEN c.corrects IS NULL THEN 1 ELSE -1 END * yquota_internal.accrued(c.allocation,
			yquota_internal.factor_names(c.project, c.application_id, c.username, c.queue, c.node, c."from", c.execution_type, c.waiting_factor), c."from", c."to") AS amount
		OFFSET 0
	) AS priced
	WHERE c.padding IS NULL AND c.given_back IS NULL
	GROUP BY c.archive, c.container_id
	HAVING sum(c.amount) <> sum(priced.amount)
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'archived charges of "%" in table % differ from their prices', wrong.container_id, wrong.archive
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The archived charges add up to %s credits, and the price timelines give %s.', wrong.charged, wrong.due),
				HINT = 'archive_digest() tells whether the table has been changed.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archived_charges(yquota_internal.archived_charge[]) IS
	'Raise an error if the price timelines contradict rows of an archive';

-- All rows of a container leave together, so they are in one archive.  The search continues after an archive that
-- cannot be read, and reports this archive if it finds nothing.
CREATE FUNCTION yquota_internal.archived_charges_of(container_id text) RETURNS yquota_internal.archived_charge[]
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	searched record;
	charges yquota_internal.archived_charge[];
	state text;
	reason text;
	missing text;
BEGIN
	FOR searched IN SELECT a.target, array_agg(a.segment ORDER BY a.segment) AS segments
					FROM yquota.archived_history AS a
					WHERE a.history = 'ledger' AND container_id IS NOT NULL
					GROUP BY a.target ORDER BY max(a.segment) DESC LOOP
		BEGIN
			charges := ARRAY(SELECT c FROM yquota_internal.read_archive(searched.target, searched.segments, format('r.container_id = %L', container_id)) AS c);
		EXCEPTION WHEN object_not_in_prerequisite_state OR connection_exception OR fdw_error OR undefined_table OR undefined_object OR insufficient_privilege THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, reason = PG_EXCEPTION_DETAIL;
			missing := searched.target;
		END;
		EXIT WHEN charges <> '{}';
	END LOOP;
	IF missing IS NOT NULL AND coalesce(charges, '{}') = '{}' THEN
		PERFORM yquota_internal.refuse_missing_archive(missing, state, reason);
	END IF;
	charges := ARRAY(SELECT c FROM unnest(charges) AS c
					 WHERE yquota_internal.reads_all() OR c.project = ANY (yquota_internal.readable_projects()));
	PERFORM yquota_internal.check_archived_charges(charges);
	RETURN charges;
END
$$;
COMMENT ON FUNCTION yquota_internal.archived_charges_of(text) IS
	'Return the archived rows of a container or a reservation that is not in the books, if the calling role may read its project.  Raises an error when no rows are found and an archive cannot be read';

-- The query counts each row once, because a table and its child may both be archives.
CREATE FUNCTION yquota_internal.archived_segments_around(projects text[], at timestamptz) RETURNS yquota_internal.ledger_segment[]
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- use formats that every server reads in the same way
	since CONSTANT text := to_json(at) #>> '{}';
	last CONSTANT text := to_json(greatest(at, yquota_internal.next_quarter_hour(at) - interval '1 microsecond')) #>> '{}';
	charges CONSTANT yquota_internal.archived_charge[] := ARRAY(
		SELECT DISTINCT ON (c.container_id, c.number) c
		FROM (SELECT a.target, array_agg(a.segment ORDER BY a.segment) AS segments
			  FROM yquota.archived_history AS a
			  JOIN yquota.history_segment AS s ON s.number = a.segment AND s.horizon > at
			  WHERE a.history = 'ledger' GROUP BY a.target) AS read
		CROSS JOIN LATERAL yquota_internal.read_archive(read.target, read.segments,
			format('r.project = ANY (%L) AND r."to" >= %L AND r."from" <= %L', projects, since, last)) AS c
		ORDER BY c.container_id, c.number);
BEGIN
	PERFORM yquota_internal.check_archived_charges(charges);
	RETURN ARRAY(SELECT yquota_internal.archived_ledger_segment(c) FROM unnest(charges) AS c);
END
$$;
COMMENT ON FUNCTION yquota_internal.archived_segments_around(text[], timestamptz) IS
	'Return the archived rows of projects that end at an instant or later.  The rows begin before the instant or in the same quarter-hour';

-- Single containers and reservations.

CREATE FUNCTION yquota_internal.knows_container(container_id text) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM yquota.charge WHERE charge.container_id = knows_container.container_id)
		OR EXISTS (SELECT FROM yquota.container WHERE container.container_id = knows_container.container_id);
COMMENT ON FUNCTION yquota_internal.knows_container(text) IS
	'Tell whether a container runs, or has rows in the ledger';

CREATE FUNCTION yquota_internal.refuse_archived_reservation(reservation_id text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	archived record;
BEGIN
	IF reservation_id ~ '^reservation_' IS NOT TRUE
		OR EXISTS (SELECT FROM yquota.reservation_definition AS d WHERE d.reservation_id = refuse_archived_reservation.reservation_id)
		OR EXISTS (SELECT FROM yquota.reservation_charge AS c WHERE c.reservation_id = refuse_archived_reservation.reservation_id) THEN
		RETURN;
	END IF;
	SELECT min(c.archive) AS found_in, trim_scale(sum(c.amount)) AS charged INTO archived
	FROM unnest(yquota_internal.archived_charges_of(reservation_id)) AS c;
	IF archived.found_in IS NOT NULL THEN
		RAISE EXCEPTION 'charges of reservation "%" have been archived', reservation_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The charges are in table %s and add up to %s credits.', archived.found_in, archived.charged);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_archived_reservation(text) IS
	'Raise an error that says where an archived reservation is, if the calling role may read its project';
