-- History: sealing the ledger and the log, and archiving sealed segments (docs/design.md 6).
--
-- Ledger and log are plain tables, because inserting into plain tables is fastest.  Child tables that inherit from
-- them contain the past, and no transaction writes to them.  Sealing makes two empty children and exchanges their
-- storage with that of the parents, whatever their size.  Queries of the parents read the children as well.  A child
-- is never made in advance: rows that are not sealed simply stay in the parents.

CREATE FUNCTION yquota_internal.exchange_storage(parent regclass, child regclass) RETURNS void
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_exchange_storage';
COMMENT ON FUNCTION yquota_internal.exchange_storage(regclass, regclass) IS
	'Exchange the rows of two tables with the same definition, including their indexes, without reading the rows';

-- A BRIN index begins with a summary of its first range of blocks, and every new row has to extend that summary.
-- For a Bloom filter this is expensive.  The other ranges are summarized only when they are full.
CREATE FUNCTION yquota_internal.leave_first_range(tablename regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT count(brin_desummarize_range(i.indexrelid, 0))
			FROM pg_index AS i
				JOIN pg_class AS c ON c.oid = i.indexrelid
				JOIN pg_am AS a ON a.oid = c.relam
			WHERE i.indrelid = tablename AND a.amname = 'brin');
COMMENT ON FUNCTION yquota_internal.leave_first_range(regclass) IS
	'Leave the first range of blocks in a table''s BRIN indexes unsummarized until the range is full, like all other ranges';

-- The last range of a sealed table never fills up, so it is summarized here.  Reading one range is quick.
CREATE FUNCTION yquota_internal.summarize_last_range(tablename regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT count(brin_summarize_range(
				i.indexrelid,
				greatest(pg_relation_size(tablename) / current_setting('block_size')::bigint - 1, 0)))
			FROM pg_index AS i
				JOIN pg_class AS c ON c.oid = i.indexrelid
				JOIN pg_am AS a ON a.oid = c.relam
			WHERE i.indrelid = tablename AND a.amname = 'brin');
COMMENT ON FUNCTION yquota_internal.summarize_last_range(regclass) IS
	'Summarize the last range of blocks in a table''s BRIN indexes, even if it is not full';

SELECT yquota_internal.leave_first_range('yquota.container');
SELECT yquota_internal.leave_first_range('yquota.charge');

CREATE FUNCTION yquota_internal.make_child(parent regclass, child_name text, attached boolean)
	RETURNS regclass
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- a table of history goes into the tablespace of its parent
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
	EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)%s USING heap%s', child, parent,
				   CASE WHEN attached THEN format(' INHERITS (%s)', parent) ELSE '' END,
				   ' TABLESPACE ' || quote_ident(space));
	EXECUTE format('ALTER TABLE %s OWNER TO %I', child, owner);
	EXECUTE format('COMMENT ON TABLE %s IS %L', child, 'History of ' || parent::text);
	PERFORM yquota_internal.leave_first_range(child::regclass);
	RETURN child::regclass;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_child(regclass, text, boolean) IS
	'Create an empty table in schema yquota_internal like another table, and make it inherit from the other table';

-- While a transaction waits for a strong lock, all later transactions wait behind it.  The function therefore
-- requests such locks several times, and only for a short time.
CREATE FUNCTION yquota_internal.lock_briefly(
	command text, attempts integer, pause_seconds numeric DEFAULT 0.2, subject text DEFAULT 'history') RETURNS void
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
				RAISE EXCEPTION 'could not lock the % because other transactions use it', subject
					USING ERRCODE = 'lock_not_available',
						HINT = 'Try again when long transactions that read or write it have ended.';
			END IF;
		END;
		PERFORM pg_sleep(pause_seconds);
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_briefly(text, integer, numeric, text) IS
	'Run LOCK TABLE without making others wait long: up to the given number of attempts of 50 ms, with pauses.  Raises lock_not_available after the last attempt';

-- A START must be new in every segment of history.  A Bloom filter of the container ids of all segments shows this
-- by one probe, whatever the form of the ids.

CREATE TABLE yquota_internal.charge_filter (
	bits bytea NOT NULL
) USING heap;
ALTER TABLE yquota_internal.charge_filter ALTER COLUMN bits SET STORAGE PLAIN;
COMMENT ON TABLE yquota_internal.charge_filter IS
	'Bloom filter of the container ids of all sealed ledger tables (src/store/bloom_filter.c). The table is empty until the worker fills it';
COMMENT ON COLUMN yquota_internal.charge_filter.bits IS 'bits of a page; the last row contains the tables whose ids are in the filter';

CREATE FUNCTION yquota_internal.fill_bloom_filter() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_fill_bloom_filter';
COMMENT ON FUNCTION yquota_internal.fill_bloom_filter() IS
	'Fill the empty charge_filter with the filter of all sealed ledger tables';

CREATE FUNCTION yquota_internal.is_bloom_filter_complete() RETURNS boolean
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_is_bloom_filter_complete';
COMMENT ON FUNCTION yquota_internal.is_bloom_filter_complete() IS
	'Tell whether charge_filter contains the ids of all sealed ledger tables in their present state.  The result is false after a restore, a rewrite or an upgrade';

CREATE FUNCTION yquota_internal.empty_bloom_filter() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF pg_relation_size('yquota_internal.charge_filter') > 0 THEN
		TRUNCATE yquota_internal.charge_filter;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.empty_bloom_filter() IS
	'Empty charge_filter when rows are inserted into a sealed ledger table, as by a restore';

-- The caller's lock on the ledger excludes sessions that could use the filter.
CREATE FUNCTION yquota_internal.note_sealed_ledger(ledger regclass) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	TRUNCATE yquota_internal.charge_filter;
	EXECUTE format('CREATE TRIGGER empty_bloom_filter AFTER INSERT OR UPDATE ON %s
					FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.empty_bloom_filter()', ledger);
	EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER empty_bloom_filter', ledger);
END
$$;
COMMENT ON FUNCTION yquota_internal.note_sealed_ledger(regclass) IS
	'Empty charge_filter because a ledger table has been sealed; the worker fills it again.  Create the trigger that empties charge_filter when rows are inserted into that table';

--
-- Sealing
--

CREATE FUNCTION yquota_internal.seal(attempts integer) RETURNS integer
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	segment yquota.history_segment;
	ledger regclass;
	log regclass;
BEGIN
	-- GRANT changes the rows of ledger and log in the catalog, and so does sealing
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE yquota.role_grant IN SHARE UPDATE EXCLUSIVE MODE;
		 LOCK TABLE yquota.history_segment IN SHARE ROW EXCLUSIVE MODE', attempts);
	IF NOT EXISTS (SELECT FROM ONLY yquota.charge)
		AND NOT EXISTS (SELECT FROM ONLY yquota.container_event)
	THEN
		RETURN NULL;
	END IF;
	SELECT coalesce(max(s.number), 0) + 1,
		   coalesce(max(s.sealed_at) FILTER (WHERE s.number > 0), '-infinity')
	INTO segment.number, segment.sealed_from
	FROM yquota.history_segment AS s;
	segment.ledger_table := 'charge_sealed_' || segment.number;
	segment.log_table := 'container_event_sealed_' || segment.number;

	-- Wait for an autovacuum, so that it gives up, and then release this lock.  Otherwise a change of prices that
	-- has read the ledger would wait for the autovacuum, and sealing would wait for that change.
	BEGIN
		LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN SHARE UPDATE EXCLUSIVE MODE;
		RAISE transaction_rollback;
	EXCEPTION WHEN transaction_rollback THEN
	END;
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE yquota.pricing_change IN SHARE MODE;
		 LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN ACCESS EXCLUSIVE MODE', attempts);
	ledger := yquota_internal.make_child('yquota.charge', segment.ledger_table, true);
	log := yquota_internal.make_child('yquota.container_event', segment.log_table, true);
	PERFORM yquota_internal.exchange_storage('yquota.container_event', log);
	PERFORM yquota_internal.exchange_storage('yquota.charge', ledger);
	PERFORM yquota_internal.summarize_last_range(ledger);
	PERFORM yquota_internal.note_sealed_ledger(ledger);
	segment.sealed_at := greatest(yquota.clock(), segment.sealed_from);
	INSERT INTO yquota.history_segment SELECT segment.*;
	RETURN segment.number;
END
$$;
COMMENT ON FUNCTION yquota_internal.seal(integer) IS
	'Seal the ledger and the log, with the given number of attempts to get the locks';

CREATE FUNCTION yquota.seal_history() RETURNS integer
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.seal(120)
	$$;
COMMENT ON FUNCTION yquota.seal_history() IS
	'Begin a new segment of history.  The rows that are now in the ledger and the log can then be archived.  The call takes a moment, whatever the number of rows.  Returns the number of the segment, NULL when there was nothing to seal';

-- The function looks at the first row of the log.  It is one of the oldest, because rows are appended.
CREATE FUNCTION yquota_internal.seal_is_due(now_at timestamptz) RETURNS boolean
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	seal_interval interval := coalesce((SELECT setting.seal_interval FROM yquota.retention_setting AS setting), '30 days');
BEGIN
	RETURN seal_interval <> '0' AND coalesce(
		(SELECT e.recorded_at FROM ONLY yquota.container_event AS e LIMIT 1)
		<= (now_at AT TIME ZONE 'UTC' - seal_interval) AT TIME ZONE 'UTC', false);
END
$$;
COMMENT ON FUNCTION yquota_internal.seal_is_due(timestamptz) IS
	'Tell whether unsealed history is older than retention_setting.seal_interval';

CREATE FUNCTION yquota_internal.worker_seal(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.seal_is_due(now_at) THEN
		PERFORM yquota_internal.seal(1);
	ELSE
		PERFORM yquota_internal.tend_history();
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_seal(timestamptz) IS
	'Seal history every retention_setting.seal_interval, and maintain sealed history at other times.  Raises lock_not_available while other transactions use the history';

-- BRIN indexes find rows of sealed history only by time.  A btree index of applications is worth its cost there,
-- because no rows are added any more.
CREATE FUNCTION yquota_internal.has_index_of_applications(source regclass) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (
		SELECT FROM pg_index AS i
		JOIN pg_class AS c ON c.oid = i.indexrelid
		JOIN pg_am AS m ON m.oid = c.relam AND m.amname = 'btree'
		JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = source AND i.indisvalid AND a.attname = 'application_id');
COMMENT ON FUNCTION yquota_internal.has_index_of_applications(regclass) IS
	'Tell whether a table has a btree index that begins with application_id';

-- archive() may drop a table after this query has read its name.  to_regclass() is then NULL. The caller,
-- tend_history(), checks again when archive() can no longer drop the table.
CREATE FUNCTION yquota_internal.untended_ledger() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT s.ledger_table
		FROM yquota.history_segment AS s
		CROSS JOIN LATERAL to_regclass(format('yquota_internal.%I', s.ledger_table)) AS ledger
		WHERE s.ledger_table IS NOT NULL
		  AND NOT yquota_internal.has_index_of_applications(ledger)
		ORDER BY s.number LIMIT 1;
$$;
COMMENT ON FUNCTION yquota_internal.untended_ledger() IS
	'Return a sealed ledger table without an index of applications; NULL when all have one';

CREATE FUNCTION yquota_internal.history_wants_tending(now_at timestamptz) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.seal_is_due(now_at) OR yquota_internal.untended_ledger() IS NOT NULL
		OR NOT yquota_internal.is_bloom_filter_complete();
COMMENT ON FUNCTION yquota_internal.history_wants_tending(timestamptz) IS
	'Tell whether worker_seal() has anything to do';

CREATE FUNCTION yquota_internal.tend_history() RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	wanting text := CASE WHEN yquota_internal.is_bloom_filter_complete() THEN yquota_internal.untended_ledger()
						 ELSE 'charge_filter' END;
	ledger regclass;
BEGIN
	IF wanting IS NULL THEN
		RETURN NULL;
	END IF;
	-- exclude archiving at the same time; INSERTs do not wait
	PERFORM yquota_internal.lock_briefly('LOCK TABLE yquota.history_segment IN SHARE ROW EXCLUSIVE MODE', 1);
	IF wanting = 'charge_filter' THEN
		-- if the table has outdated entries, only remove them now; the next call fills the table.  Otherwise sessions
		-- would wait for the lock while the table is filled
		IF pg_relation_size('yquota_internal.charge_filter') > 0 THEN
			PERFORM yquota_internal.lock_briefly('LOCK TABLE yquota_internal.charge_filter IN ACCESS EXCLUSIVE MODE', 1);
			TRUNCATE yquota_internal.charge_filter;
		ELSE
			PERFORM yquota_internal.fill_bloom_filter();
		END IF;
	ELSIF EXISTS (SELECT FROM yquota.history_segment AS s WHERE s.ledger_table = wanting) THEN
		ledger := format('yquota_internal.%I', wanting)::regclass;
		IF NOT yquota_internal.has_index_of_applications(ledger) THEN
			EXECUTE format('CREATE INDEX ON %s (application_id)', ledger);
		END IF;
	END IF;
	RETURN wanting;
END
$$;
COMMENT ON FUNCTION yquota_internal.tend_history() IS
	'Make the filter of container ids, or the missing index of applications of one sealed ledger table.  Returns the name of the table, NULL when nothing was missing.  The worker calls it';

-- Plain SQL computes digests again from an archive in any database.  The query uses no object of yquota and does not
-- depend on settings.  OFFSET prevents the hash of a row from being computed for each of its four parts.

CREATE FUNCTION yquota.archive_digest_query(source text, history text DEFAULT 'ledger') RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT format(
$query$SELECT %1$s AS project, count(*) AS archived, %2$s AS charged, max(h.last_at) AS last_at,
	   coalesce(sum(('x' || encode(substr(h.hash, 1, 8), 'hex'))::bit(64)::bigint) * 6277101735386680763835789423207666416102355444464034512896
			  + sum(('x' || encode(substr(h.hash, 9, 8), 'hex'))::bit(64)::bigint) * 340282366920938463463374607431768211456
			  + sum(('x' || encode(substr(h.hash, 17, 8), 'hex'))::bit(64)::bigint) * 18446744073709551616
			  + sum(('x' || encode(substr(h.hash, 25, 8), 'hex'))::bit(64)::bigint), 0) AS digest
FROM (SELECT %3$s, sha256(convert_to(ROW(%4$s)::text, 'UTF8')) AS hash
	  FROM %5$s AS r
	  OFFSET 0) AS h%6$s$query$,
		CASE history WHEN 'ledger' THEN 'h.project' ELSE 'NULL::text' END,
		CASE history WHEN 'ledger' THEN 'trim_scale(sum(h.amount))' ELSE 'NULL::numeric' END,
		CASE history WHEN 'ledger' THEN 'r.project, r.amount, r."to" AS last_at'
			ELSE 'r.occurred_at AS last_at' END,
		CASE history WHEN 'ledger' THEN
'r.container_id, r.project, r.application_id, r.username, r.queue, r.node,
			r.execution_type, r.allocation, extract(epoch FROM r.started_at), extract(epoch FROM r."from"),
			extract(epoch FROM r."to"), extract(epoch FROM r.booked_at), r.number, r.corrects, r.settled_by,
			r.exit_status, extract(epoch FROM r.padding), r.dominant, trim_scale(r.amount)'
			ELSE
'r.event, r.container_id, extract(epoch FROM r.occurred_at), r.project, r.application_id,
			r.username, r.queue, r.node, r.allocation, r.execution_type, r.exit_status, r.source,
			extract(epoch FROM r.recorded_at)' END,
		source,
		CASE history WHEN 'ledger' THEN E'\nGROUP BY h.project' ELSE '' END)
	$$;
COMMENT ON FUNCTION yquota.archive_digest_query(text, text) IS
	'Return the SQL that computes the digests of archived rows.  source is a table or a query in parentheses, and history is ledger or log.  The SQL runs on every server';

CREATE FUNCTION yquota_internal.missing_columns(target regclass, source regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
			FROM pg_attribute AS a
			WHERE a.attrelid = source AND a.attnum > 0 AND NOT a.attisdropped
			  AND NOT EXISTS (SELECT FROM pg_attribute AS b
							  WHERE b.attrelid = target AND b.attname = a.attname
								AND b.attnum > 0 AND NOT b.attisdropped));
COMMENT ON FUNCTION yquota_internal.missing_columns(regclass, regclass) IS
	'Return the columns of the second table that the first one must have but lacks; NULL when it lacks none';

CREATE FUNCTION yquota_internal.is_shared_target(target regclass) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT count(*) = 2 FROM pg_attribute AS a
			WHERE a.attrelid = target AND NOT a.attisdropped
			  AND (a.attname, a.atttypid) IN (('cluster', 'text'::regtype), ('stretch', 'integer'::regtype)));
COMMENT ON FUNCTION yquota_internal.is_shared_target(regclass) IS
	'Tell whether a table has the columns cluster and stretch.  They distinguish rows of several clusters and segments';

-- Archiving.
--
-- All rows of a container leave together, once it has ended and its last rows of the ledger and the log are sealed.
-- Rows of containers that continue are copied into new children.  The books therefore have all rows of a container or
-- none, and reports about containers stay exact.
--
-- All rows of a reservation leave together, with the ledger.  The reservation itself must have been deleted
-- (remove_ended_reservations()), and its rows must have been booked before the newest of the segments was sealed.
-- The ledger of reservations is small and is not sealed.  Rows that leave are copied into a table like
-- yquota.charge, which is then read like a segment.

CREATE FUNCTION yquota_internal.copy_out(query text, target regclass, columns text, is_staged boolean)
	RETURNS bigint
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_copy_out';
COMMENT ON FUNCTION yquota_internal.copy_out(text, regclass, text, boolean) IS
	'Insert the rows of a query into a table with the rights of the caller of archive().  Uses a temporary table if is_staged is true.  Returns the number of rows';

CREATE FUNCTION yquota_internal.run_as(role name, command text, only_reads boolean) RETURNS text
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as';
COMMENT ON FUNCTION yquota_internal.run_as(name, text, boolean) IS
	'Run a command with the rights of a role.  Returns the first column of the first row, if there is one.  A command that only reads sees what the calling statement sees';

CREATE FUNCTION yquota_internal.run_as_caller(command text) RETURNS text
	LANGUAGE sql STRICT VOLATILE PARALLEL UNSAFE
	RETURN yquota_internal.run_as(yquota_internal.acting_role(), command, false);
COMMENT ON FUNCTION yquota_internal.run_as_caller(text) IS
	'Run a command with the rights of the caller of archive().  Returns the first column of the first row, if there is one';

-- Digests ignore columns that later versions added.  Columns that a digest uses in computations must have the right
-- type.
CREATE FUNCTION yquota_internal.missing_for_digest(target regclass, history text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
			FROM pg_attribute AS a
			WHERE a.attrelid = CASE history WHEN 'ledger' THEN 'yquota.charge'::regclass ELSE 'yquota.container_event'::regclass END
			  AND a.attname = ANY (CASE history
					WHEN 'ledger' THEN '{container_id,project,application_id,username,queue,node,execution_type,allocation,started_at,from,
										 to,booked_at,number,corrects,settled_by,exit_status,padding,dominant,amount}'
					ELSE '{event,container_id,occurred_at,project,application_id,username,queue,node,allocation,execution_type,
						   exit_status,source,recorded_at}' END::text[])
			  AND NOT EXISTS (SELECT FROM pg_attribute AS b
							  WHERE b.attrelid = target AND b.attname = a.attname AND b.attnum > 0 AND NOT b.attisdropped
								AND (b.atttypid = a.atttypid OR a.atttypid <> ALL ('{timestamptz,interval,numeric}'::regtype[]))));
COMMENT ON FUNCTION yquota_internal.missing_for_digest(regclass, text) IS
	'Return the columns needed for the digests of a ledger or log that a table lacks, or has with an unsuitable type; NULL when there is none';

CREATE FUNCTION yquota_internal.digest_kind(target regclass) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	missing CONSTANT text := yquota_internal.missing_for_digest(target, 'ledger');
	relation_kind "char";
BEGIN
	SELECT c.relkind INTO relation_kind FROM pg_class AS c WHERE c.oid = target;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'table with OID % does not exist', target::oid
			USING ERRCODE = 'undefined_table';
	ELSIF relation_kind NOT IN ('r', 'p', 'f', 'v', 'm') THEN
		RAISE EXCEPTION 'cannot compute the digests of "%"', target
			USING ERRCODE = 'wrong_object_type',
				HINT = 'Name the table into which yquota.archive() wrote, or a view of it.';
	ELSIF missing IS NULL THEN
		RETURN 'ledger';
	ELSIF yquota_internal.missing_for_digest(target, 'log') IS NULL THEN
		RETURN 'log';
	END IF;
	RAISE EXCEPTION 'table "%" has the columns of neither the ledger nor the log', target
		USING ERRCODE = 'datatype_mismatch',
			DETAIL = format('For the ledger these columns are missing or of another type: %s; for the log: %s.', missing,
							yquota_internal.missing_for_digest(target, 'log')),
			HINT = 'Name the table into which yquota.archive() wrote, or a view of it.';
END
$$;
COMMENT ON FUNCTION yquota_internal.digest_kind(regclass) IS
	'Return ledger or log, according to the columns of an archive.  Raises an error if it is neither';

-- The function reads the table with the rights of the caller.  The caller may not read the tables that describe its
-- form.
CREATE FUNCTION yquota_internal.archive_digest_as_owner(target regclass)
	RETURNS TABLE (project text, archived bigint, charged numeric, last_at timestamptz, digest numeric)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	digest_query text;
	digests text;
BEGIN
	IF target IS NULL THEN
		RAISE EXCEPTION 'archive must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	digest_query := yquota.archive_digest_query(
		CASE WHEN yquota_internal.is_shared_target(target)
			 THEN format('(SELECT * FROM %s WHERE cluster = %L)', target, yquota.cluster_name())
			 ELSE target::text END,
		yquota_internal.digest_kind(target));
	-- list the names of columns, as archived_charges_query() does
	digests := yquota_internal.run_as(yquota_internal.acting_role(), format(
		'SELECT json_agg(json_build_object(''project'', found.project, ''archived'', found.archived, ''charged'', found.charged,
										   ''last_at'', found.last_at, ''digest'', found.digest)) FROM (%s) AS found',
		digest_query), true);
	RETURN QUERY SELECT * FROM json_to_recordset(digests::json)
		AS found (project text, archived bigint, charged numeric, last_at timestamptz, digest numeric);
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_digest_as_owner(regclass) IS
	'Return the result of archive_digest() for the calling role, with its rights to read the table';

CREATE FUNCTION yquota.archive_digest(target regclass)
	RETURNS TABLE (project text, archived bigint, charged numeric, last_at timestamptz, digest numeric)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.archive_digest(regclass) IS
	'Return digests of the rows of an archive.  If the archive has the columns cluster and stretch, only rows of this cluster count.  A ledger gives one row per project, which can be compared with opening_balance.  A log gives one row.  The caller needs SELECT on the table';

-- The function returns the kind of a target: ledger or log.
CREATE FUNCTION yquota_internal.archive_kind(target regclass) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	relation pg_class;
	missing text := yquota_internal.missing_columns(target, 'yquota.charge');
BEGIN
	SELECT * INTO STRICT relation FROM pg_class WHERE oid = target;
	IF relation.relkind NOT IN ('r', 'p', 'f') OR relation.relpersistence <> 'p' THEN
		RAISE EXCEPTION 'cannot archive into "%"', target
			USING ERRCODE = 'wrong_object_type',
				DETAIL = 'History leaves its tables for good and needs a table that lasts.',
				HINT = 'Use an ordinary, partitioned or foreign table that is neither temporary nor unlogged.';
	ELSIF relation.relnamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
		OR EXISTS (
			WITH RECURSIVE above (oid) AS (
				SELECT target::oid
				UNION
				SELECT i.inhparent FROM pg_inherits AS i JOIN above ON i.inhrelid = above.oid)
			SELECT FROM above
			WHERE oid IN ('yquota.charge'::regclass, 'yquota.container_event'::regclass))
	THEN
		RAISE EXCEPTION 'cannot archive into "%", which belongs to the books', target
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Make a table of your own: CREATE TABLE ... (LIKE yquota.charge).';
	END IF;
	IF missing IS NULL THEN
		RETURN 'ledger';
	ELSIF yquota_internal.missing_columns(target, 'yquota.container_event') IS NULL THEN
		RETURN 'log';
	END IF;
	RAISE EXCEPTION 'table "%" has the columns of neither the ledger nor the log', target
		USING ERRCODE = 'datatype_mismatch',
			DETAIL = format('For the ledger these columns are missing: %s; for the log: %s.', missing,
							yquota_internal.missing_columns(target, 'yquota.container_event')),
			HINT = 'Create it with LIKE yquota.charge or LIKE yquota.container_event.';
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_kind(regclass) IS
	'Return ledger or log, according to the columns of a target table.  Raises an error if it is neither';

-- The function checks owners, because reports of other roles later read the target with the rights of its owner.
CREATE FUNCTION yquota_internal.check_archive_owners(target regclass) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	owner CONSTANT oid := (SELECT c.relowner FROM pg_class AS c WHERE c.oid = target);
	untrusted CONSTANT text := yquota_internal.untrusted_part(target, owner);
BEGIN
	IF untrusted IS NOT NULL THEN
		RAISE EXCEPTION '% belongs neither to the owner of table "%" nor to the owner of yquota nor to a superuser', untrusted, target
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = format('Archives are read with the rights of their owner, %I, and the owner of any part of them could use these rights.', pg_get_userbyid(owner)),
				HINT = 'Let one role own the whole archive.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archive_owners(regclass) IS
	'Raise an error unless an archive belongs to a single role, to the owner of yquota, or to superusers.  The check includes every relation that is read with it';

CREATE FUNCTION yquota_internal.column_list(source regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = source AND attnum > 0 AND NOT attisdropped);
COMMENT ON FUNCTION yquota_internal.column_list(regclass) IS 'Return the columns of a table, for a command';

-- The rows of a target may be local, foreign, or distributed by Citus.  The place determines how each row is written
-- exactly once.
CREATE FUNCTION yquota_internal.archive_place(target regclass) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	place text := 'local';
	is_distributed boolean := false;
BEGIN
	IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
		EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition AS d WHERE d.logicalrelid = $1)'
		INTO is_distributed USING target;
	END IF;
	IF is_distributed THEN
		place := 'distributed';
	ELSIF EXISTS (SELECT FROM pg_class AS c
				  WHERE c.relkind = 'f'
					AND (c.oid = target OR c.oid IN (SELECT part.relid FROM pg_partition_tree(target) AS part)))
	THEN
		place := 'foreign';
	END IF;
	IF place <> 'local' AND NOT yquota_internal.is_shared_target(target) THEN
		RAISE EXCEPTION '% table "%" has no columns "cluster" of type text and "stretch" of type integer', place, target
			USING ERRCODE = 'datatype_mismatch',
				DETAIL = 'archive() finds the rows of this cluster and of each segment of its history by these columns.',
				HINT = format('ALTER %sTABLE %s ADD COLUMN cluster text, ADD COLUMN stretch integer%s',
							  CASE WHEN (SELECT c.relkind FROM pg_class AS c WHERE c.oid = target) = 'f' THEN 'FOREIGN ' ELSE '' END,
							  yquota_internal.table_name(target),
							  CASE place WHEN 'foreign' THEN ', and the table on the other server likewise.' ELSE '.' END);
	END IF;
	RETURN place;
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_place(regclass) IS
	'Return where the rows of a target are: local, foreign or distributed.  Raises an error if the target lacks the columns cluster and stretch although it needs them';

CREATE FUNCTION yquota_internal.shared_columns(source regclass, target regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
			FROM pg_attribute AS a JOIN pg_attribute AS b ON b.attname = a.attname
			WHERE a.attrelid = source AND a.attnum > 0 AND NOT a.attisdropped
			  AND b.attrelid = target AND b.attnum > 0 AND NOT b.attisdropped);
COMMENT ON FUNCTION yquota_internal.shared_columns(regclass, regclass) IS
	'Return the columns that two tables share, for a command';

-- The function combines several tables of yquota_internal in one query.
CREATE FUNCTION yquota_internal.rows_of(tables text[], condition text, columns text DEFAULT '*')
	RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(format('SELECT %s FROM ONLY yquota_internal.%I AS c WHERE %s', columns, t, condition),
							  E'\nUNION ALL ')
			FROM unnest(tables) AS t);
COMMENT ON FUNCTION yquota_internal.rows_of(text[], text, text) IS
	'Return the query for the rows of tables of history that satisfy a condition on c';

CREATE FUNCTION yquota_internal.is_carried(archived_through integer, negated boolean) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format('%sEXISTS (SELECT FROM yquota_internal.carried_container AS k WHERE k.archived_through = %s AND k.container_id = c.container_id)',
				  CASE WHEN negated THEN 'NOT ' ELSE '' END, archived_through);
COMMENT ON FUNCTION yquota_internal.is_carried(integer, boolean) IS
	'Return the SQL condition that the container of row c is in carried_container, so that its rows are copied; if negated, that it is not';

-- The function finds containers that continue, among those with rows in the segments that are archived.  Such a
-- container runs, waits for its START, or has rows elsewhere.
CREATE FUNCTION yquota_internal.find_carried(
	archived_through integer, ledgers text[], logs text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- without statistics the planner considers nested loops cheap
	SET enable_nestloop = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	others text[] := (SELECT coalesce(array_agg(t.name), '{}')
					  FROM yquota.history_segment AS s,
						   unnest(ARRAY[s.ledger_table,
										CASE WHEN s.ledger_table IS NOT NULL OR s.number = 0 THEN s.log_table END]) AS t(name)
					  WHERE t.name <> ALL (ledgers || logs));
BEGIN
	EXECUTE format(
		'INSERT INTO yquota_internal.carried_container (archived_through, container_id)
		 SELECT DISTINCT %s, own.container_id
		 FROM (%s) AS own
		 WHERE own.container_id IN (
			SELECT container_id FROM yquota.container
			UNION ALL SELECT container_id FROM yquota.event_reject WHERE waiting
			UNION ALL SELECT container_id FROM ONLY yquota.charge
			UNION ALL SELECT container_id FROM ONLY yquota.container_event%s)',
		archived_through,
		yquota_internal.rows_of(ledgers || logs, 'true', 'c.container_id'),
		coalesce(E'\nUNION ALL ' || yquota_internal.rows_of(others, 'true', 'c.container_id'), ''));
END
$$;
COMMENT ON FUNCTION yquota_internal.find_carried(integer, text[], text[]) IS
	'Record the containers whose rows have to be copied when segments are archived';

-- The function checks that no container that leaves has changed since the snapshot in which its rows were complete.
-- New rows can only be in the parents, because children do not change.  They are few, so each is looked up in the
-- indexes.
CREATE FUNCTION yquota_internal.check_unchanged(
	archived_through integer, ledgers text[], since xid8) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET enable_hashjoin = off
	SET enable_mergejoin = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed text;
BEGIN
	EXECUTE format(
		'SELECT c.container_id
		 FROM (SELECT container_id FROM ONLY yquota.container_event WHERE age(xmin) <= age($1::xid)
			   UNION
			   SELECT container_id FROM ONLY yquota.charge WHERE age(xmin) <= age($1::xid)) AS c
		 WHERE %s AND (%s)
		 LIMIT 1',
		yquota_internal.is_carried(archived_through, true),
		(SELECT string_agg(format('EXISTS (SELECT FROM ONLY yquota_internal.%I AS l WHERE l.container_id = c.container_id)', t), ' OR ')
		 FROM unnest(ledgers) AS t))
	INTO changed USING since;
	IF changed IS NOT NULL THEN
		RAISE EXCEPTION 'could not archive container "%" because an event or a correction of it has just arrived', changed
			USING ERRCODE = 'serialization_failure',
				HINT = 'Nothing was archived.  Call archive() again.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_unchanged(integer, text[], xid8) IS
	'Raise an error if a container that is about to leave has new rows';

CREATE FUNCTION yquota_internal.check_corrected(horizon timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.uncorrected_since() < horizon THEN
		RAISE EXCEPTION 'cannot archive history that is still to be corrected'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A price became visible after containers had been charged by the one before.',
				HINT = 'Call yquota.quota_compute(), or wait for the worker to do it, and archive again.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_corrected(timestamptz) IS
	'Raise an error if late prices may still change charges before an instant';

-- An opening balance contains everything that was ever archived: the newest row plus these segments.
CREATE FUNCTION yquota_internal.post_opening_balances(
	through integer, horizon timestamptz, rows_query text,
	OUT charged numeric, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	EXECUTE format(
		'WITH own AS MATERIALIZED (%s), posted AS (
			INSERT INTO yquota.opening_balance
				(project, archived_through, archived_before, charged, charges, digest)
			SELECT own.project, $1, $2,
				   trim_scale(own.charged + coalesce(before.charged, 0)),
				   own.archived + coalesce(before.charges, 0),
				   own.digest + coalesce(before.digest, 0)
			FROM own
			LEFT JOIN LATERAL (
				SELECT b.charged, b.charges, b.digest FROM yquota.opening_balance AS b
				WHERE b.project = own.project
				ORDER BY b.archived_through DESC LIMIT 1) AS before ON true
		 )
		 SELECT trim_scale(sum(own.charged)), sum(own.digest) FROM own',
		yquota.archive_digest_query(format('(%s)', rows_query)))
	INTO charged, digest USING through, horizon;
END
$$;
COMMENT ON FUNCTION yquota_internal.post_opening_balances(integer, timestamptz, text) IS
	'Insert the opening balances after archiving the rows of a query, with the credits and the digest of these rows';

CREATE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.opening_balance
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('An opening balance stands for history that has left the database.');

CREATE FUNCTION yquota_internal.copy_leaving_reservations(through integer, sealed_at timestamptz) RETURNS text[]
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	copied CONSTANT text := format('reservation_charge_leaving_%s', through);
	copied_rows bigint;
BEGIN
	PERFORM yquota_internal.make_child('yquota.charge', copied, false);
	EXECUTE format($query$
		INSERT INTO yquota_internal.%I (container_id, project, username, queue, execution_type, allocation, started_at, "from", "to",
			booked_at, number, corrects, settled_by, amount, waiting_factor)
		SELECT c.reservation_id, c.project, c.username, c.queue, 'GUARANTEED', c.allocation, whole.starts_at, c."from", c."to",
			   c.booked_at, c.number, c.corrects, 'QUOTA_COMPUTE', c.amount, c.reserved_factor
		FROM (SELECT own.reservation_id, min(own."from") AS starts_at
			  FROM yquota.reservation_charge AS own
			  GROUP BY own.reservation_id
			  HAVING max(greatest(own."to", own.booked_at)) < $1) AS whole
		JOIN yquota.reservation_charge AS c USING (reservation_id)
		WHERE NOT EXISTS (SELECT FROM yquota.reservation_definition AS d WHERE d.reservation_id = whole.reservation_id)
		$query$, copied)
	USING sealed_at;
	GET DIAGNOSTICS copied_rows = ROW_COUNT;
	IF copied_rows = 0 THEN
		EXECUTE format('DROP TABLE yquota_internal.%I', copied);
		RETURN '{}';
	END IF;
	RETURN ARRAY[copied];
END
$$;
COMMENT ON FUNCTION yquota_internal.copy_leaving_reservations(integer, timestamptz) IS
	'Copy the rows of deleted reservations that were booked before an instant into a new table like yquota.charge.  Returns its name for rows_of(), or no name when there are no rows';

CREATE FUNCTION yquota_internal.remove_copied_reservations(copied text) RETURNS void
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed text;
BEGIN
	EXECUTE format(
		'WITH removed AS (
			DELETE FROM yquota.reservation_charge AS c
			WHERE c.reservation_id IN (SELECT leaving.container_id FROM yquota_internal.%1$I AS leaving)
			RETURNING c.reservation_id, c.number
		 )
		 SELECT min(removed.reservation_id) FROM removed
		 WHERE NOT EXISTS (SELECT FROM yquota_internal.%1$I AS leaving
						   WHERE leaving.container_id = removed.reservation_id AND leaving.number = removed.number)',
		copied)
	INTO changed;
	IF changed IS NOT NULL THEN
		RAISE EXCEPTION 'could not archive reservation "%" because a correction of it has just been posted', changed
			USING ERRCODE = 'serialization_failure',
				HINT = 'Nothing was archived.  Call archive() again.';
	END IF;
	EXECUTE format('DROP TABLE yquota_internal.%I', copied);
END
$$;
COMMENT ON FUNCTION yquota_internal.remove_copied_reservations(text) IS
	'Delete from the ledger of reservations the rows that copy_leaving_reservations() copied into a table.  Raises an error if a reservation has new rows';

-- The function makes a child with the copied rows, which is not attached yet.  It returns NULL if there are no rows.
CREATE FUNCTION yquota_internal.make_carried(
	parent regclass, tables text[], through integer) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	parent_name text := (SELECT relname FROM pg_class WHERE oid = parent);
	child text := format('%s_carried_%s', parent_name, through);
	columns text := yquota_internal.column_list(parent);
BEGIN
	IF NOT EXISTS (SELECT FROM yquota_internal.carried_container AS k WHERE k.archived_through = through) THEN
		RETURN NULL;
	END IF;
	PERFORM yquota_internal.make_child(parent, child, false);
	EXECUTE format('INSERT INTO yquota_internal.%I (%s) %s', child, columns,
				   yquota_internal.rows_of(tables, yquota_internal.is_carried(through, false), columns));
	RETURN child;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_carried(regclass, text[], integer) IS
	'Copy into a new table the rows of containers that continue.  Returns the name of the table';

-- The following steps are quick.  These locks prevent transactions from looking for a container in the books and
-- then relying on the result.  The other locks are requested without waiting, so INSERTs are delayed only briefly.
CREATE FUNCTION yquota_internal.lock_for_detaching(ledgers text[], logs text[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.lock_briefly(
		'LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE;
		 LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN SHARE MODE;
		 LOCK TABLE yquota.reservation_charge IN SHARE ROW EXCLUSIVE MODE;
		 LOCK TABLE ' || string_agg(format('yquota_internal.%I', t), ', ') || ' IN ACCESS EXCLUSIVE MODE NOWAIT',
		300, 1)
	FROM unnest(logs || ledgers) AS t
	$$;
COMMENT ON FUNCTION yquota_internal.lock_for_detaching(text[], text[]) IS
	'Wait until no session reads the tables of history that will be detached, and block events, charges of reservations, and changes of prices';

CREATE FUNCTION yquota_internal.replan(relation regclass) RETURNS void
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_replan';
COMMENT ON FUNCTION yquota_internal.replan(regclass) IS
	'Make sessions replan queries that read a changed table: every session when the transaction commits, and this session if it is rolled back';

CREATE FUNCTION yquota_internal.detach(
	through integer, numbers integer[], horizon timestamptz, carried_ledger text, carried_log text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	segment yquota.history_segment;
BEGIN
	FOR segment IN SELECT * FROM yquota.history_segment AS s WHERE s.number = ANY (numbers || 0) ORDER BY s.number LOOP
		IF segment.log_table IS NOT NULL THEN
			EXECUTE format('ALTER TABLE yquota_internal.%I NO INHERIT yquota.container_event', segment.log_table);
			INSERT INTO yquota_internal.released_log (log_table, archived_through, segment, sealed_at)
			VALUES (segment.log_table, through, segment.number, segment.sealed_at);
		END IF;
		IF segment.ledger_table IS NOT NULL THEN
			EXECUTE format('DROP TABLE yquota_internal.%I', segment.ledger_table);
		END IF;
	END LOOP;
	IF carried_ledger IS NOT NULL THEN
		EXECUTE format('ALTER TABLE yquota_internal.%I INHERIT yquota.charge', carried_ledger);
		PERFORM yquota_internal.note_sealed_ledger(format('yquota_internal.%I', carried_ledger)::regclass);
		EXECUTE format('ALTER TABLE yquota_internal.%I INHERIT yquota.container_event', carried_log);
	END IF;
	-- replan after a rollback; a plan that is made from now on would miss rows then
	PERFORM yquota_internal.replan('yquota.charge'), yquota_internal.replan('yquota.container_event');
	UPDATE yquota.history_segment AS s
	SET ledger_table = NULL, ledger_archived_at = yquota.clock(), horizon = detach.horizon
	WHERE s.number = ANY (numbers);
	INSERT INTO yquota.history_segment AS s (number, sealed_from, sealed_at, ledger_table, log_table)
	SELECT 0, '-infinity', n.sealed_at, carried_ledger, carried_log
	FROM yquota.history_segment AS n WHERE n.number = through
	ON CONFLICT (number) DO UPDATE
		SET sealed_at = EXCLUDED.sealed_at, ledger_table = EXCLUDED.ledger_table, log_table = EXCLUDED.log_table;
	-- make every session read the horizon again, by a change that affects no amount
	INSERT INTO yquota.pricing_change (version, effective_from, description)
	SELECT coalesce(max(p.version), 0) + 1, 'infinity', format('history before %s archived', yquota_internal.instant_text(horizon))
	FROM yquota.pricing_change AS p;
END
$$;
COMMENT ON FUNCTION yquota_internal.detach(integer, integer[], timestamptz, text, text) IS
	'Detach archived segments from the ledger and the log, attach the copied rows instead, and move the horizon';

-- The function deletes rows about dropped targets, because their segments have to be written again elsewhere.
CREATE FUNCTION yquota_internal.check_written(of_history text, target regclass) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	note yquota.written_history;
BEGIN
	DELETE FROM yquota.written_history AS w WHERE w.history = of_history AND to_regclass(w.target) IS NULL;
	FOR note IN SELECT * FROM yquota.written_history AS w WHERE w.history = of_history ORDER BY w.segment LOOP
		IF to_regclass(note.target) <> target THEN
			RAISE EXCEPTION 'segment % has been written into table %', note.segment, note.target
				USING ERRCODE = 'object_not_in_prerequisite_state',
					HINT = 'Archive into that table, or drop it first.';
		ELSIF note.written_in = pg_current_xact_id() THEN
			RAISE EXCEPTION 'cannot write history into a foreign table and remove it from its own tables in one transaction'
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'The other server commits before this one, and may do so alone.',
					HINT = 'Commit, and call archive() again.';
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_written(text, regclass) IS
	'Raise an error if written segments of the ledger or the log belong to another target, or were written by this transaction';

CREATE FUNCTION yquota_internal.is_written_next(of_history text, number integer) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN NOT EXISTS (SELECT FROM yquota.written_history AS w WHERE w.history = of_history)
		OR EXISTS (SELECT FROM yquota.written_history AS w WHERE w.history = of_history AND w.segment = number);
COMMENT ON FUNCTION yquota_internal.is_written_next(text, integer) IS
	'Tell whether archive() handles a segment.  If there are written segments, it handles only these';

-- The condition selects the rows of a target that belong to the given segments of this cluster.
CREATE FUNCTION yquota_internal.own_rows(stretches integer[]) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format('r.cluster = %L AND r.stretch IN (%s)', yquota.cluster_name(), array_to_string(stretches, ', '));
COMMENT ON FUNCTION yquota_internal.own_rows(integer[]) IS
	'Return the condition that rows r of a target belong to segments of this cluster';

-- postgres_fdw pushes down every expression here, if the foreign table has the types to which texts, numbers and
-- times are cast.  The query therefore computes a digest of each column, combined with the row, instead of digests
-- of whole rows.
CREATE FUNCTION yquota_internal.comparison_query(rows_query text, condition text, source regclass, target regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (
		SELECT format('SELECT ROW(count(*), %s)::text FROM %s AS r WHERE %s',
			string_agg(format('sum(' || CASE a.atttypid
					WHEN 'integer'::regtype THEN 'hashint4extended(r.%1$I::integer, %2$s)'
					WHEN 'bigint'::regtype THEN 'hashint8extended(r.%1$I::bigint, %2$s)'
					WHEN 'boolean'::regtype THEN 'hashint4extended(r.%1$I::boolean::integer, %2$s)'
					WHEN 'numeric'::regtype THEN 'hash_numeric_extended(r.%1$I::numeric, %2$s)'
					WHEN 'interval'::regtype THEN 'interval_hash_extended(r.%1$I::interval, %2$s)'
					WHEN 'timestamptz'::regtype THEN
						'CASE WHEN isfinite(r.%1$I::timestamptz) THEN interval_hash_extended(r.%1$I::timestamptz - ''2000-01-01 00:00+00''::timestamptz, %2$s) END'
					ELSE 'hashtextextended(r.%1$I::text, %2$s)' END || ')',
				a.attname,
				CASE source WHEN 'yquota.charge'::regclass
					THEN 'hashint4extended(r.number::integer, hashtextextended(r.container_id::text, 0))'
					ELSE 'interval_hash_extended(r.recorded_at::timestamptz - ''2000-01-01 00:00+00''::timestamptz, 0)' END),
				', ' ORDER BY a.attnum),
			rows_query, condition)
		FROM pg_attribute AS a
		WHERE a.attrelid = source AND a.attnum > 0 AND NOT a.attisdropped
		  AND EXISTS (SELECT FROM pg_attribute AS b
					  WHERE b.attrelid = target AND b.attname = a.attname AND b.attnum > 0 AND NOT b.attisdropped));
COMMENT ON FUNCTION yquota_internal.comparison_query(text, text, regclass, regclass) IS
	'Return the query for the number of rows that satisfy a condition, with digests of the columns that a target has.  Another server can run the query';

CREATE FUNCTION yquota_internal.is_written_whole(
	of_history text, target regclass, stretches integer[], sources text[]) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
DECLARE
	source regclass := CASE of_history WHEN 'ledger' THEN 'yquota.charge' ELSE 'yquota.container_event' END;
	part record;
	here text;
	there text;
BEGIN
	FOR part IN
		SELECT s.stretch, string_agg(s.query, E'\nUNION ALL ') AS query
		FROM unnest(stretches, sources) AS s (stretch, query)
		GROUP BY s.stretch
	LOOP
		IF NOT EXISTS (SELECT FROM yquota.written_history AS w WHERE w.history = of_history AND w.segment = part.stretch) THEN
			RETURN false;
		END IF;
		EXECUTE yquota_internal.comparison_query(format('(%s)', part.query), 'true', source, target) INTO here;
		there := yquota_internal.run_as_caller(yquota_internal.comparison_query(
			yquota_internal.table_name(target), yquota_internal.own_rows(ARRAY[part.stretch]), source, target));
		IF here IS DISTINCT FROM there THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN true;
END
$$;
COMMENT ON FUNCTION yquota_internal.is_written_whole(text, regclass, integer[], text[]) IS
	'Tell whether a committed transaction wrote segments into a target, and the target has exactly the rows that leave now';

CREATE FUNCTION yquota_internal.refuse_foreign_rows(target regclass, stretches integer[]) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'table "%" has other rows of segment % of cluster "%"', target,
			(SELECT string_agg(DISTINCT s.stretch::text, ', ') FROM unnest(stretches) AS s (stretch)), yquota.cluster_name()
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'The rows were written by another database with this cluster_name, or by this one before it was restored.',
			HINT = 'Give each cluster a name of its own in yquota.cluster_setting, or remove the rows.';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_foreign_rows(regclass, integer[]) IS
	'Raise the error that a target has rows under the name of this cluster that are not from this database';

-- The function deletes rows that archive() wrote into the foreign table before its transaction failed on this server.
CREATE FUNCTION yquota_internal.clear_foreign_table(target regclass, stretches integer[], sources text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	own CONSTANT text := yquota_internal.own_rows(stretches);
	found CONSTANT json := yquota_internal.run_as_caller(format(
		'SELECT json_agg(s.container_id) FROM (SELECT r.container_id FROM %s AS r WHERE %s LIMIT 100) AS s',
		yquota_internal.table_name(target), own))::json;
	is_ours boolean;
BEGIN
	IF found IS NULL THEN
		RETURN;
	END IF;
	EXECUTE format('SELECT NOT EXISTS (SELECT FROM json_array_elements_text($1) AS f (id)
				   WHERE f.id NOT IN (SELECT l.container_id FROM (%s) AS l WHERE l.container_id IS NOT NULL)
					 AND f.id NOT IN (SELECT k.container_id FROM yquota_internal.carried_container AS k))',
				   (SELECT string_agg(query, E'\nUNION ALL ') FROM unnest(sources) AS s (query)))
	INTO is_ours USING found;
	IF NOT is_ours THEN
		PERFORM yquota_internal.refuse_foreign_rows(target, stretches);
	END IF;
	PERFORM yquota_internal.run_as_caller(format('DELETE FROM %s AS r WHERE %s', yquota_internal.table_name(target), own));
END
$$;
COMMENT ON FUNCTION yquota_internal.clear_foreign_table(regclass, integer[], text[]) IS
	'Delete rows of segments from a foreign table if a failed archive() left them there.  Raises an error if they are not from this database';

-- Citus copies rows to shards over the connections by which the transaction has read them, and treats these
-- connections as read-only.  It then commits them in one phase, after this server.  The transaction must therefore
-- write to a table before it reads any.
CREATE FUNCTION yquota_internal.check_distributed_first() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	transaction_number bigint;
BEGIN
	EXECUTE 'SELECT t.transaction_number FROM pg_catalog.get_current_transaction_id() AS t' INTO transaction_number;
	IF transaction_number <> 0 THEN
		RAISE EXCEPTION 'cannot archive into a distributed table after other work with distributed tables'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'Citus might not commit in two phases.',
				HINT = 'Call archive() in a transaction of its own.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_distributed_first() IS
	'Raise an error if the transaction has already used distributed tables';

CREATE FUNCTION yquota_internal.check_distributed_rows(target regclass, stretches integer[], expected numeric) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.run_as_caller(format('SELECT count(*) FROM %s AS r WHERE %s', yquota_internal.table_name(target),
											yquota_internal.own_rows(stretches)))::numeric <> expected THEN
		PERFORM yquota_internal.refuse_foreign_rows(target, stretches);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_distributed_rows(regclass, integer[], numeric) IS
	'Raise an error unless a distributed table has exactly as many rows of segments of this cluster as were written';

-- postgres_fdw has no two-phase commit: the other server may have committed when this one fails.  Rows are therefore
-- deleted here only when a later transaction finds them there.
CREATE FUNCTION yquota_internal.write_history(
	of_history text, target regclass, columns text, stretches integer[], sources text[],
	OUT status text, OUT counts bigint[])
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	place CONSTANT text := yquota_internal.archive_place(target);
	is_shared CONSTANT boolean := yquota_internal.is_shared_target(target);
	is_whole CONSTANT boolean := place = 'foreign' AND yquota_internal.is_written_whole(of_history, target, stretches, sources);
	source text;
	rows_of_source bigint;
BEGIN
	IF stretches IS NULL THEN
		RETURN;
	ELSIF place = 'foreign' AND NOT is_whole THEN
		PERFORM yquota_internal.clear_foreign_table(target, stretches, sources);
	ELSIF place = 'distributed' THEN
		PERFORM yquota_internal.check_distributed_first();
	END IF;
	FOR i IN 1 .. cardinality(sources) LOOP
		counts[i] := 0;
		CONTINUE WHEN sources[i] IS NULL;
		IF is_whole THEN
			EXECUTE format('SELECT count(*) FROM (%s) AS q', sources[i]) INTO rows_of_source;
		ELSIF is_shared THEN
			source := format('SELECT q.*, %L AS cluster, %s AS stretch FROM (%s) AS q', yquota.cluster_name(), stretches[i], sources[i]);
			rows_of_source := yquota_internal.copy_out(source, target, columns || ', cluster, stretch', place = 'distributed');
		ELSE
			rows_of_source := yquota_internal.copy_out(sources[i], target, columns, false);
		END IF;
		counts[i] := rows_of_source;
	END LOOP;
	IF place = 'distributed' THEN
		PERFORM yquota_internal.check_distributed_rows(target, stretches, (SELECT sum(n.rows) FROM unnest(counts) AS n (rows)));
	END IF;
	DELETE FROM yquota.written_history AS w WHERE w.history = of_history AND w.segment = ANY (stretches);
	status := 'archived';
	IF place = 'foreign' AND NOT is_whole THEN
		status := 'written';
		INSERT INTO yquota.written_history (segment, history, target, cluster, written_at)
		SELECT DISTINCT s.stretch, of_history, yquota_internal.table_name(target), yquota.cluster_name(), yquota.clock()
		FROM unnest(stretches) AS s (stretch);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.write_history(text, regclass, text, integer[], text[]) IS
	'Write the rows of queries, one query per segment, into a target.  They are archived, or only written if a later transaction has to check them.  Returns numbers of rows';

CREATE FUNCTION yquota_internal.leave_history(through integer, copied_reservations text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	DELETE FROM yquota_internal.carried_container AS k WHERE k.archived_through = through;
	IF copied_reservations IS NOT NULL THEN
		EXECUTE format('DROP TABLE yquota_internal.%I', copied_reservations);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.leave_history(integer, text) IS
	'Delete what archive() has recorded about segments that it has not archived';

CREATE FUNCTION yquota_internal.archive_ledger(
	target regclass, before timestamptz, OUT status text,
	OUT segments integer, OUT archived bigint, OUT horizon timestamptz, OUT charged numeric, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	since xid8 := pg_snapshot_xmin(pg_current_snapshot());
	numbers integer[];
	through integer;
	ledgers text[];
	logs text[];
	reservations text[];
	leaving text;
	leaving_rows text;
	columns text := yquota_internal.shared_columns('yquota.charge', target);
	sources text[];
	counts bigint[];
	last_to timestamptz;
	changed text[];
	ended text[];
BEGIN
	archived := 0;
	SELECT array_agg(s.number ORDER BY s.number), max(s.number), count(*),
		   greatest(max(s.sealed_at), yquota_internal.archive_horizon())
	INTO numbers, through, segments, horizon
	FROM yquota.history_segment AS s
	WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before
	  AND yquota_internal.is_written_next('ledger', s.number);
	IF through IS NULL THEN
		horizon := yquota_internal.archive_horizon();
		RETURN;
	END IF;
	SELECT array_agg(s.ledger_table ORDER BY s.number) FILTER (WHERE s.ledger_table IS NOT NULL),
		   array_agg(s.log_table ORDER BY s.number) FILTER (WHERE s.log_table IS NOT NULL)
	INTO ledgers, logs
	FROM yquota.history_segment AS s
	WHERE s.number = ANY (numbers || 0);

	-- check first, because deferred events before the new horizon would be refused
	PERFORM yquota_internal.refuse_while_deferred('archive history');
	PERFORM yquota_internal.refuse_while_closing('archive history');
	PERFORM yquota_internal.find_carried(through, ledgers, logs);
	leaving := yquota_internal.is_carried(through, true);
	reservations := yquota_internal.copy_leaving_reservations(
		through, (SELECT s.sealed_at FROM yquota.history_segment AS s WHERE s.number = through));
	leaving_rows := concat_ws(E'\nUNION ALL ', yquota_internal.rows_of(ledgers, leaving), yquota_internal.rows_of(reservations, 'true'));
	EXECUTE format('SELECT max(c."to") FROM (%s) AS c', leaving_rows) INTO last_to;
	-- the horizon is later than the last charge, so that events at the very end of that charge are refused
	horizon := greatest(horizon, last_to + interval '1 microsecond');
	PERFORM yquota_internal.check_corrected(horizon);

	-- copied rows and reservations belong to the newest segment
	SELECT array_agg(yquota_internal.rows_of(ARRAY[s.ledger_table], leaving, columns) ORDER BY s.number)
		   || yquota_internal.rows_of((SELECT array_agg(z.ledger_table) FROM yquota.history_segment AS z
									   WHERE z.number = 0 AND z.ledger_table IS NOT NULL), leaving, columns)
		   || yquota_internal.rows_of(reservations, 'true', columns)
	INTO sources
	FROM yquota.history_segment AS s WHERE s.number = ANY (numbers);
	SELECT w.status, w.counts INTO archive_ledger.status, counts
	FROM yquota_internal.write_history('ledger', target, columns, numbers || through || through, sources) AS w;
	SELECT sum(n.rows) INTO archived FROM unnest(counts) AS n (rows);
	IF status = 'written' THEN
		PERFORM yquota_internal.leave_history(through, reservations[1]);
		RETURN;
	END IF;
	UPDATE yquota.history_segment AS s SET charges = counts[array_position(numbers, s.number)]
	WHERE s.number = ANY (numbers);
	SELECT * INTO charged, digest
	FROM yquota_internal.post_opening_balances(through, horizon, leaving_rows);
	PERFORM yquota_internal.post_archived_cost_since(horizon, leaving_rows);
	PERFORM yquota_internal.post_archived_cost(through, leaving_rows);
	PERFORM yquota_internal.post_archived_quantity(through, leaving_rows);
	PERFORM yquota_internal.post_archived_preemption(through, yquota_internal.rows_of(ledgers, leaving));
	PERFORM yquota_internal.take_from_rollup(
		concat_ws(E'\nUNION ALL ', yquota_internal.rows_of(ledgers, 'true'), yquota_internal.rows_of(reservations, 'true')));
	PERFORM yquota_internal.note_archived(numbers, 'ledger', target);
	-- wait for late events that may lock rows of these containers
	EXECUTE format('SELECT array_agg(DISTINCT d.container_id) FROM yquota.container_change AS d WHERE d.container_id IN (%s)',
				   yquota_internal.rows_of(ledgers, leaving, 'c.container_id')) INTO changed;
	EXECUTE format('SELECT array_agg(DISTINCT d.container_id) FROM yquota_internal.reported_end AS d WHERE d.container_id IN (%s)',
				   yquota_internal.rows_of(ledgers, leaving, 'c.container_id')) INTO ended;

	DECLARE
		carried_ledger text := yquota_internal.make_carried('yquota.charge', ledgers, through);
		carried_log text := yquota_internal.make_carried('yquota.container_event', logs, through);
	BEGIN
		PERFORM yquota_internal.lock_for_detaching(ledgers, logs);
		PERFORM yquota_internal.check_unchanged(through, ledgers, since);
		PERFORM yquota_internal.check_corrected(horizon);
		PERFORM yquota_internal.refuse_while_deferred('archive history');
		PERFORM yquota_internal.refuse_while_closing('archive history');
		DELETE FROM yquota.container_change AS d WHERE d.container_id = ANY (changed);
		DELETE FROM yquota_internal.reported_end AS d WHERE d.container_id = ANY (ended);
		PERFORM yquota_internal.remove_copied_reservations(reservations[1]);
		PERFORM yquota_internal.detach(through, numbers, horizon, carried_ledger, carried_log);
	END;
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_ledger(regclass, timestamptz) IS
	'Archive the ledger rows of segments sealed by an instant, and the rows of deleted reservations.  For a foreign table, the first call only writes the rows';

CREATE FUNCTION yquota_internal.forget_events(leaving text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	EXECUTE format('DELETE FROM yquota_internal.event_without_effect AS idle USING (%s) AS leaving
					WHERE idle.event_id = leaving.event_id', leaving);
	EXECUTE format('DELETE FROM yquota_internal.voided_event AS voided USING (%s) AS leaving
					WHERE voided.event_id = leaving.event_id', leaving);
END
$$;
COMMENT ON FUNCTION yquota_internal.forget_events(text) IS
	'Delete the records about the acceptance of events that leave the log.  A query returns their event_id';

CREATE FUNCTION yquota_internal.archive_log(
	target regclass, before timestamptz, OUT status text,
	OUT segments integer, OUT archived bigint, OUT horizon timestamptz, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	released yquota_internal.released_log;
	columns text := yquota_internal.shared_columns('yquota.container_event', target);
	stretches integer[];
	sources text[];
	counts bigint[];
	place integer := 0;
	digest_of_table numeric;
BEGIN
	-- copied rows belong to the newest segment of their archive
	SELECT array_agg(coalesce(nullif(r.segment, 0), r.archived_through) ORDER BY r.archived_through, r.segment),
		   array_agg(yquota_internal.rows_of(ARRAY[r.log_table], yquota_internal.is_carried(r.archived_through, true), columns)
					 ORDER BY r.archived_through, r.segment),
		   count(*) FILTER (WHERE r.segment > 0), max(r.sealed_at)
	INTO stretches, sources, segments, horizon
	FROM yquota_internal.released_log AS r
	WHERE r.sealed_at <= before
	  AND yquota_internal.is_written_next('log', coalesce(nullif(r.segment, 0), r.archived_through));
	SELECT w.status, w.counts INTO archive_log.status, counts
	FROM yquota_internal.write_history('log', target, columns, stretches, sources) AS w;
	SELECT coalesce(sum(n.rows), 0) INTO archived FROM unnest(counts) AS n (rows);
	IF status = 'written' THEN
		RETURN;
	END IF;
	FOR released IN
		SELECT * FROM yquota_internal.released_log AS r
		WHERE r.sealed_at <= before
		  AND coalesce(nullif(r.segment, 0), r.archived_through) = ANY (stretches)
		ORDER BY r.archived_through, r.segment
	LOOP
		place := place + 1;
		EXECUTE format('SELECT digest FROM (%s) AS d', yquota.archive_digest_query(format('(%s)', sources[place]), 'log'))
		INTO digest_of_table;
		PERFORM yquota_internal.forget_events(yquota_internal.rows_of(
			ARRAY[released.log_table], yquota_internal.is_carried(released.archived_through, true), 'event_id'));
		EXECUTE format('DROP TABLE yquota_internal.%I', released.log_table);
		DELETE FROM yquota_internal.released_log AS r WHERE r.log_table = released.log_table;
		UPDATE yquota.history_segment AS s
		SET log_table = NULL, log_archived_at = yquota.clock(), events = counts[place]
		WHERE s.number = released.segment AND s.number > 0;
		PERFORM yquota_internal.note_archived(ARRAY[released.segment], 'log', target);
		digest := coalesce(digest, 0) + digest_of_table;
	END LOOP;
	DELETE FROM yquota_internal.carried_container AS k
	WHERE NOT EXISTS (SELECT FROM yquota_internal.released_log AS r
					  WHERE r.archived_through = k.archived_through);
	IF segments = 0 AND EXISTS (SELECT FROM yquota.history_segment AS s
								 WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before)
	THEN
		RAISE NOTICE 'the log of a segment is archived after its ledger'
			USING HINT = 'Call archive() with a table like yquota.charge first.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_log(regclass, timestamptz) IS
	'Archive the log rows of segments that were sealed by an instant and whose ledger has been archived';

CREATE FUNCTION yquota_internal.archive_as_owner(target regclass, before timestamptz)
	RETURNS TABLE (history text, segments integer, archived bigint, archived_before timestamptz,
				   charged numeric, digest numeric, status text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	work_memory text := current_setting('work_mem');
BEGIN
	IF target IS NULL OR before IS NULL THEN
		RAISE EXCEPTION 'arguments of archive must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use infinity for all sealed history.';
	END IF;
	PERFORM yquota_internal.require_read_committed('archive');
	history := yquota_internal.archive_kind(target);
	PERFORM yquota_internal.check_archive_owners(target);
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE yquota.history_segment IN SHARE ROW EXCLUSIVE MODE', 600);
	PERFORM yquota_internal.check_written(history, target);
	-- use more memory: only one session at a time groups millions of rows
	IF pg_size_bytes(current_setting('maintenance_work_mem')) > pg_size_bytes(work_memory) THEN
		PERFORM set_config('work_mem', current_setting('maintenance_work_mem'), true);
	END IF;
	IF history = 'ledger' THEN
		SELECT l.segments, l.archived, l.horizon, l.charged, l.digest, l.status
		INTO archive_as_owner.segments, archive_as_owner.archived, archived_before, archive_as_owner.charged, archive_as_owner.digest,
			archive_as_owner.status
		FROM yquota_internal.archive_ledger(target, before) AS l;
	ELSE
		SELECT l.segments, l.archived, l.horizon, l.digest, l.status
		INTO archive_as_owner.segments, archive_as_owner.archived, archived_before, archive_as_owner.digest, archive_as_owner.status
		FROM yquota_internal.archive_log(target, before) AS l;
	END IF;
	PERFORM set_config('work_mem', work_memory, true);
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_as_owner(regclass, timestamptz) IS
	'Run archive() for the calling role, with its rights to insert rows';

CREATE FUNCTION yquota.archive(target regclass, before timestamptz)
	RETURNS TABLE (history text, segments integer, archived bigint, archived_before timestamptz,
				   charged numeric, digest numeric, status text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.archive(regclass, timestamptz) IS
	'Move the segments of history sealed by an instant out of the database.  Ledger rows are moved into a table like yquota.charge, log rows into a table like yquota.container_event.  Charges of deleted reservations are moved with the ledger.  Rows of running containers stay in the database.  A foreign table needs two calls in separate transactions.  Returns one row: the segments that were archived or written';

SELECT pg_extension_config_dump('yquota.history_segment', '');
SELECT pg_extension_config_dump('yquota.opening_balance', '');
SELECT pg_extension_config_dump('yquota_internal.carried_container', '');
SELECT pg_extension_config_dump('yquota_internal.released_log', '');
