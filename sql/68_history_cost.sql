--
-- What archived history cost.  Its rows have left the ledger; what they add up to
-- stays, per quarter-hour and in the groups of roll-ups, so that closed days and
-- bills that have been issued are told as before.  Nothing before the horizon
-- changes any more, so these sums are for ever, and part of the books: there is
-- nothing in the database that they could be made from again.
--
-- A row lies in one billing period (69_close_period.sql) and is on the bills of
-- the periods that were closed when it had been booked: so periods and bookings
-- are kept as ends of periods.
--

CREATE TABLE yquota_internal.archived_cost (
	archived_through integer NOT NULL,
	quarter_hour timestamptz NOT NULL,
	period_from timestamptz NOT NULL,
	booked_after timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	username text COLLATE "C",
	queue text COLLATE "C",
	application_id text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	amount numeric NOT NULL
);
CREATE INDEX archived_cost_quarter_hour_idx ON yquota_internal.archived_cost (quarter_hour);
COMMENT ON TABLE yquota_internal.archived_cost IS
	'Parts of archived ledger rows added up per quarter-hour (UTC), for reports about closed days';
COMMENT ON COLUMN yquota_internal.archived_cost.archived_through IS 'as in opening_balance';
COMMENT ON COLUMN yquota_internal.archived_cost.quarter_hour IS 'its start';
COMMENT ON COLUMN yquota_internal.archived_cost.period_from IS 'start of the billing period, as far as periods had been closed; -infinity in the first';
COMMENT ON COLUMN yquota_internal.archived_cost.booked_after IS 'latest closed_at of a period before it was booked: it is on bills with a later one; -infinity for none';
COMMENT ON COLUMN yquota_internal.archived_cost.amount IS 'credits';

CREATE TABLE yquota.archived_history (
	stretch integer NOT NULL,
	history text NOT NULL CHECK (history IN ('ledger', 'log')),
	target text NOT NULL,
	archived_at timestamptz NOT NULL,
	archived_by name NOT NULL DEFAULT session_user,
	PRIMARY KEY (stretch, history)
);
COMMENT ON TABLE yquota.archived_history IS
	'Where stretches of history went that have been archived';
COMMENT ON COLUMN yquota.archived_history.stretch IS 'number in history_stretch';
COMMENT ON COLUMN yquota.archived_history.history IS 'ledger or log';
COMMENT ON COLUMN yquota.archived_history.target IS 'table that its rows were put into, as it was called then';
COMMENT ON COLUMN yquota.archived_history.archived_at IS 'clock';
COMMENT ON COLUMN yquota.archived_history.archived_by IS 'the session''s user';

CREATE VIEW yquota_internal.readable_archived_cost WITH (security_barrier) AS
	SELECT archived.*
	FROM yquota_internal.archived_cost AS archived
	WHERE (SELECT yquota_internal.reads_all())
	   OR archived.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.readable_archived_cost IS
	'Rows of archived_cost that whoever asks may see';

CREATE FUNCTION yquota_internal.table_name(relation regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT format('%I.%I', c.relnamespace::regnamespace::text, c.relname) FROM pg_class AS c WHERE c.oid = relation);
COMMENT ON FUNCTION yquota_internal.table_name(regclass) IS 'Name of a table with its schema, whatever the search_path';
REVOKE ALL ON FUNCTION yquota_internal.table_name(regclass) FROM PUBLIC;

CREATE FUNCTION yquota_internal.note_archived(stretches integer[], of_history text, target regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		INSERT INTO yquota.archived_history (stretch, history, target, archived_at)
		SELECT number, of_history, yquota_internal.table_name(target), yquota.clock()
		FROM unnest(stretches) AS s (number)
		WHERE number > 0;
	END;
COMMENT ON FUNCTION yquota_internal.note_archived(integer[], text, regclass) IS
	'Keep where stretches of the ledger or the log went';
REVOKE ALL ON FUNCTION yquota_internal.note_archived(integer[], text, regclass) FROM PUBLIC;

CREATE FUNCTION yquota_internal.post_archived_cost(through integer, rows_query text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
BEGIN
	EXECUTE format($query$
		WITH entering AS (
			SELECT leaving.*, '-infinity'::timestamptz AS part_from,
				   coalesce((SELECT max(period.until) FROM yquota.closed_period AS period
							 WHERE period.until <= leaving."from"), '-infinity') AS period_from,
				   coalesce((SELECT max(period.closed_at) FROM yquota.closed_period AS period
							 WHERE period.closed_at < leaving.booked_at), '-infinity') AS booked_after
			FROM (%s) AS leaving
		)
		INSERT INTO yquota_internal.archived_cost (archived_through, quarter_hour, period_from, booked_after,
			project, username, queue, application_id, execution_type, amount)
		SELECT $1, piece.quarter_hour, piece.period_from, piece.booked_after,
			   piece.project, piece.username, piece.queue, piece.application_id, piece.execution_type,
			   trim_scale(sum(piece.amount))
		FROM (%s) AS piece
		GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
		$query$, rows_query, yquota_internal.quarter_hours_query(
			'entering.period_from, entering.booked_after, entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type'))
	USING through;
END
$$;
COMMENT ON FUNCTION yquota_internal.post_archived_cost(integer, text) IS
	'Keep what the ledger rows that a query returns cost, per quarter-hour';
REVOKE ALL ON FUNCTION yquota_internal.post_archived_cost(integer, text) FROM PUBLIC;

-- Carried rows are copied: whoever rolls up takes them for new ones, if they have
-- been booked at booked_from or later.
CREATE FUNCTION yquota_internal.take_from_rollup(through integer, ledgers text[], horizon timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
DECLARE
	state yquota_internal.rollup_state;
	contained CONSTANT text := 'NOT (c.booked_at >= $1 AND age(c.xmin) <= age($2))';
	carried_from timestamptz;
BEGIN
	SELECT * INTO STRICT state FROM yquota_internal.rollup_state FOR UPDATE;
	IF NOT EXISTS (SELECT FROM yquota_internal.valid_rollup) THEN
		RETURN;
	END IF;
	EXECUTE format($query$
		WITH entering AS (
			SELECT gone.*, '-infinity'::timestamptz AS part_from FROM (%s) AS gone
		), before AS (
			DELETE FROM yquota_internal.charge_rollup AS rollup WHERE rollup.quarter_hour < $3 RETURNING rollup.*
		)
		INSERT INTO yquota_internal.charge_rollup
		SELECT piece.quarter_hour, piece.project, piece.username, piece.queue, piece.application_id,
			   piece.execution_type, sum(piece.amount)
		FROM (
			SELECT before.quarter_hour, before.project, before.username, before.queue, before.application_id,
				   before.execution_type, before.amount
			FROM before
			UNION ALL
			SELECT own.quarter_hour, own.project, own.username, own.queue, own.application_id,
				   own.execution_type, - own.amount
			FROM (%s) AS own
		) AS piece
		GROUP BY 1, 2, 3, 4, 5, 6
		HAVING sum(piece.amount) <> 0
		$query$,
		yquota_internal.rows_of(ledgers, contained),
		yquota_internal.quarter_hours_query(
			'entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type'))
	USING state.booked_from, state.horizon::xid, yquota_internal.next_quarter_hour(horizon);
	EXECUTE format('SELECT min(c.booked_at) FROM (%s) AS c',
				   yquota_internal.rows_of(ledgers, yquota_internal.is_carried(through, false)))
	INTO carried_from;
	UPDATE yquota_internal.rollup_state AS s SET booked_from = least(s.booked_from, carried_from);
END
$$;
COMMENT ON FUNCTION yquota_internal.take_from_rollup(integer, text[], timestamptz) IS
	'Take rows of ledgers that are being archived out of the roll-ups, carried ones to be rolled up again';
REVOKE ALL ON FUNCTION yquota_internal.take_from_rollup(integer, text[], timestamptz) FROM PUBLIC;

--
-- Reports
--

CREATE FUNCTION yquota_internal.ledger_archives() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(DISTINCT archived.target, ', ' ORDER BY archived.target)
			FROM yquota.archived_history AS archived WHERE archived.history = 'ledger');
COMMENT ON FUNCTION yquota_internal.ledger_archives() IS 'Names of the tables that the ledger was archived into';
REVOKE ALL ON FUNCTION yquota_internal.ledger_archives() FROM PUBLIC;

-- What was archived by earlier versions is not known per quarter-hour.
CREATE FUNCTION yquota_internal.archived_cost_is_whole() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN NOT EXISTS (
		SELECT FROM yquota.history_stretch AS stretch
		WHERE stretch.ledger_archived_at IS NOT NULL
		  AND NOT EXISTS (SELECT FROM yquota.archived_history AS archived
						  WHERE archived.stretch = stretch.number AND archived.history = 'ledger'));
COMMENT ON FUNCTION yquota_internal.archived_cost_is_whole() IS
	'Whether archived_cost has all that has ever been archived';
REVOKE ALL ON FUNCTION yquota_internal.archived_cost_is_whole() FROM PUBLIC;

CREATE FUNCTION yquota_internal.is_reported_from(at timestamptz, by text[]) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN at >= yquota_internal.archive_horizon()
		OR by <@ '{project,username,queue,application_id,execution_type}' AND at = yquota_internal.quarter_hour(at)
		   AND yquota_internal.archived_cost_is_whole();
COMMENT ON FUNCTION yquota_internal.is_reported_from(timestamptz, text[]) IS
	'Whether costs from an instant on can be told by certain columns, archived ones included';
REVOKE ALL ON FUNCTION yquota_internal.is_reported_from(timestamptz, text[]) FROM PUBLIC;

CREATE FUNCTION yquota_internal.check_archived_report(cuts timestamptz[], by text[]) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	kept CONSTANT text[] := '{project,username,queue,application_id,execution_type}';
	horizon CONSTANT timestamptz := yquota_internal.archive_horizon();
	cut timestamptz;
BEGIN
	IF NOT by <@ kept OR NOT yquota_internal.archived_cost_is_whole() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', horizon
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = format('Charges that ended before it have left the database%s.',
								  ' for ' || yquota_internal.ledger_archives()),
				  HINT = format('Begin at the horizon or later, or ask the archive%s.',
								CASE WHEN yquota_internal.archived_cost_is_whole()
									 THEN ', or group by ' || array_to_string(kept, ', ') ELSE '' END);
	END IF;
	SELECT c.at INTO cut FROM unnest(cuts) AS c (at)
	WHERE c.at < horizon AND c.at <> yquota_internal.quarter_hour(c.at) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'window is cut at %, before the archive horizon at %', cut, horizon
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = 'What ran before it is known per quarter-hour.',
				  HINT = 'Cut at full quarters of an hour.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archived_report(timestamptz[], text[]) IS
	'Refuse a report that begins before the archive horizon and asks for more than archived_cost has';
REVOKE ALL ON FUNCTION yquota_internal.check_archived_report(timestamptz[], text[]) FROM PUBLIC;

--
-- Single containers
--

-- Somebody else's tables are not read with the owner's rights.
CREATE FUNCTION yquota_internal.is_searchable_archive(target regclass) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (
		SELECT FROM pg_class AS c
		JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] AND a.attname = 'container_id'
		WHERE c.oid = target
		  AND c.relowner = (SELECT ledger.relowner FROM pg_class AS ledger WHERE ledger.oid = 'yquota.charge'::regclass));
COMMENT ON FUNCTION yquota_internal.is_searchable_archive(regclass) IS
	'Whether a table belongs to the owner of yquota and has an index by container_id';
REVOKE ALL ON FUNCTION yquota_internal.is_searchable_archive(regclass) FROM PUBLIC;

CREATE FUNCTION yquota_internal.find_archived_container(
	container_id text, OUT project text, OUT charged numeric, OUT found_in text, OUT not_searched text[])
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	target text;
BEGIN
	FOR target IN SELECT DISTINCT archived.target FROM yquota.archived_history AS archived
				  WHERE archived.history = 'ledger' ORDER BY archived.target LOOP
		IF coalesce(yquota_internal.is_searchable_archive(to_regclass(target)), false) THEN
			EXECUTE format('SELECT min(c.project), trim_scale(sum(c.amount)) FROM %s AS c WHERE c.container_id = $1',
						   to_regclass(target))
			INTO project, charged USING container_id;
			IF project IS NOT NULL THEN
				found_in := target;
				RETURN;
			END IF;
		ELSE
			not_searched := not_searched || target;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.find_archived_container(text) IS
	'Which archive a container is in, of those that can be searched quickly, and names of the others';
REVOKE ALL ON FUNCTION yquota_internal.find_archived_container(text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.refuse_archived_container(container_id text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	archived record;
BEGIN
	IF container_id IS NULL OR EXISTS (SELECT FROM yquota.charge WHERE charge.container_id = refuse_archived_container.container_id)
		OR EXISTS (SELECT FROM yquota.container WHERE container.container_id = refuse_archived_container.container_id) THEN
		RETURN;
	END IF;
	SELECT * INTO archived FROM yquota_internal.find_archived_container(container_id);
	IF archived.found_in IS NOT NULL
		AND (yquota_internal.reads_all() OR archived.project = ANY (yquota_internal.readable_projects())) THEN
		RAISE EXCEPTION 'charges of container "%" have been archived', container_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('They are in table %s and add up to %s credits.', archived.found_in, archived.charged);
	ELSIF archived.not_searched IS NOT NULL AND yquota_internal.reads_all() THEN
		RAISE NOTICE 'container "%" is not in the books', container_id
			USING DETAIL = format('Archives that were not searched for it: %s.', array_to_string(archived.not_searched, ', '));
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_archived_container(text) IS
	'Say where a container is that has been archived, to whoever may read its project';
REVOKE ALL ON FUNCTION yquota_internal.refuse_archived_container(text) FROM PUBLIC;

SELECT pg_extension_config_dump('yquota_internal.archived_cost', '');
SELECT pg_extension_config_dump('yquota.archived_history', '');
