--
-- Retention: how long history stays in the books. Older history is archived into tables, one table
-- for each segment. These tables inherit from one parent, and each can be dumped, dropped or
-- queried alone. The results of history stay in the books: balances, costs of closed days, and
-- issued bills.
--

CREATE TABLE yquota.retention_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	keep_months integer CHECK (keep_months BETWEEN 2 AND 1200),
	archive_schema name NOT NULL DEFAULT 'yquota_archive' CHECK (archive_schema NOT IN ('', 'yquota', 'yquota_internal')),
	seal_interval interval NOT NULL DEFAULT '30 days' CHECK (seal_interval >= '0')
);
COMMENT ON TABLE yquota.retention_setting IS
	'Schedule for sealing and archiving history, at most one row.  Without a row, history is sealed every 30 days and never archived';
COMMENT ON COLUMN yquota.retention_setting.only_row IS 'primary key, always true';
COMMENT ON COLUMN yquota.retention_setting.keep_months IS 'number of months, 2 to 1200, after which a sealed segment is archived. If any period has been closed, the billing periods of the segment must be closed first. Rows of preempted_container are removed that many months after killed_at, and rows of utilization_history that many months after their quarter-hour. While no segment is due for archiving, reservations are removed that many months after they ended, as by remove_ended_reservations(). When a segment is archived, rows of application_tags of that age are removed if their applications neither exist nor have ever been charged. NULL: history is not archived, and all these rows stay';
COMMENT ON COLUMN yquota.retention_setting.archive_schema IS 'schema of the tables charge and container_event, from which the archive tables of segments inherit; default yquota_archive, created when it does not exist. An existing schema belongs to the owner of yquota or to a superuser (42501)';
COMMENT ON COLUMN yquota.retention_setting.seal_interval IS 'age of the oldest unsealed event at which the worker seals ledger and log, default 30 days; 0: only seal_history() seals';
COMMENT ON CONSTRAINT retention_setting_archive_schema_check ON yquota.retention_setting IS
	'It must not be empty, "yquota" or "yquota_internal".';

CREATE FUNCTION yquota_internal.check_archive_schema(archive_schema name) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	owner CONSTANT oid := yquota_internal.owner_of_schema(to_regnamespace(quote_ident(archive_schema)));
BEGIN
	IF NOT yquota_internal.is_trusted(owner) THEN
		RAISE EXCEPTION 'schema "%" belongs neither to the owner of yquota nor to a superuser', archive_schema
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'The owner of a schema can drop or replace the tables in it.',
				HINT = 'Name a schema that does not exist, which is created when needed, or have a superuser own this schema.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archive_schema(name) IS
	'Fail when a schema of archives exists and its owner is not trusted';

CREATE FUNCTION yquota_internal.check_retention() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- a restore sets the owner of the schema later; make_archive_table() checks the owner again
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.check_archive_schema(NEW.archive_schema);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_retention() IS
	'Check that the schema of archives has a trusted owner, or does not exist yet';

CREATE TRIGGER check_schema AFTER INSERT OR UPDATE OF archive_schema ON yquota.retention_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.check_retention();

CREATE FUNCTION yquota_internal.retention_limit(now_at timestamptz) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT now_at AT TIME ZONE 'UTC' - make_interval(months => setting.keep_months)
			FROM yquota.retention_setting AS setting) AT TIME ZONE 'UTC';
COMMENT ON FUNCTION yquota_internal.retention_limit(timestamptz) IS
	'Return the instant up to which sealed history is to be archived; NULL: nothing is to be archived';

-- Archives the log of a segment after the ledger of the segment, each in its own transaction.
CREATE FUNCTION yquota_internal.next_to_archive(
	now_at timestamptz, OUT history text, OUT segment integer, OUT sealed_at timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	before timestamptz := yquota_internal.retention_limit(now_at);
	closed_until timestamptz;
BEGIN
	IF before IS NULL THEN
		RETURN;
	END IF;
	SELECT 'log', released.archived_through, released.sealed_at INTO history, segment, sealed_at
	FROM yquota_internal.released_log AS released
	WHERE released.sealed_at <= before AND released.segment > 0
	ORDER BY released.archived_through, released.segment LIMIT 1;
	IF FOUND THEN
		RETURN;
	END IF;
	SELECT max(period.until) FILTER (WHERE period.closed_at IS NOT NULL) INTO closed_until
	FROM yquota.closed_period AS period
	HAVING count(*) > 0;
	IF FOUND THEN
		before := coalesce(least(before, closed_until), '-infinity');
	END IF;
	-- take segments that were sealed at the same time together
	SELECT 'ledger', max(s.number), s.sealed_at INTO history, segment, sealed_at
	FROM yquota.history_segment AS s
	WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before
	GROUP BY s.sealed_at ORDER BY s.sealed_at LIMIT 1;
END
$$;
COMMENT ON FUNCTION yquota_internal.next_to_archive(timestamptz) IS
	'Return the oldest segment whose ledger or log has to be archived according to retention_setting; NULL: none';

CREATE FUNCTION yquota_internal.make_archive_table(parent regclass, archive_schema name, segment integer) RETURNS regclass
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET client_min_messages = 'warning'
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	parent_name CONSTANT name := (SELECT c.relname FROM pg_class AS c WHERE c.oid = parent);
	owner CONSTANT name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = parent);
	whole CONSTANT text := format('%I.%I', archive_schema, parent_name);
	own CONSTANT text := format('%I.%I', archive_schema, parent_name || '_' || segment);
BEGIN
	PERFORM yquota_internal.check_archive_schema(archive_schema);
	IF to_regnamespace(quote_ident(archive_schema)) IS NULL THEN
		EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', archive_schema, owner);
	END IF;
	IF to_regclass(whole) IS NULL THEN
		EXECUTE format('CREATE TABLE %s (LIKE %s)', whole, parent);
		EXECUTE format('ALTER TABLE %s OWNER TO %I', whole, owner);
	ELSIF (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = to_regclass(whole)) <> owner THEN
		-- refuse this parent: functions in its constraints would run with the rights of the owner of yquota
		RAISE EXCEPTION 'cannot archive below table %, which belongs to another role', whole
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('Name another schema in yquota.retention_setting, or give the table to role %I.', owner);
	END IF;
	EXECUTE format('CREATE TABLE %s () INHERITS (%s)', own, whole);
	EXECUTE format('ALTER TABLE %s OWNER TO %I', own, owner);
	EXECUTE format('CREATE INDEX ON %s (container_id)', own);
	RETURN own::regclass;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_archive_table(regclass, name, integer) IS
	'Make the table into which a segment of the ledger or the log is archived';

CREATE FUNCTION yquota_internal.retain_history(now_at timestamptz) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	due record;
	target regclass;
	moved bigint;
	forgotten bigint;
	preempted bigint;
	reserved bigint;
	measured bigint;
	offered bigint;
	refused bigint;
	notified bigint;
BEGIN
	-- the job runs every ten minutes
	forgotten := yquota_internal.forget_left_containers(yquota_internal.retention_limit(now_at), 100000);
	preempted := yquota_internal.forget_preempted_containers(yquota_internal.retention_limit(now_at), 100000);
	PERFORM yquota_internal.forget_expected_durations(100000), yquota_internal.forget_reported_progress(100000);
	measured := yquota_internal.forget_utilization(yquota_internal.retention_limit(now_at));
	offered := yquota_internal.forget_capacity(yquota_internal.archive_horizon());
	notified := yquota_internal.forget_notifications(now_at - interval '30 days');
	SELECT * INTO due FROM yquota_internal.next_to_archive(now_at);
	IF due.history IS NULL THEN
		-- delete these only in a call that archives nothing: otherwise it could deadlock with a change of
		-- charging rules
		reserved := yquota_internal.forget_ended_reservations(yquota_internal.retention_limit(now_at), 100000);
		refused := yquota_internal.forget_rejected_calls(yquota_internal.retention_limit(now_at), 100000);
		RETURN coalesce(nullif(concat_ws(', ',
			CASE WHEN forgotten > 0 THEN format('%s rows of node_queue deleted', forgotten) END,
			CASE WHEN preempted > 0 THEN format('%s rows of preempted_container deleted', preempted) END,
			CASE WHEN reserved > 0 THEN format('%s rows of reservation_definition deleted', reserved) END,
			CASE WHEN measured > 0 THEN format('%s rows of utilization_history deleted', measured) END,
			CASE WHEN offered > 0 THEN format('%s rows of node_capacity deleted', offered) END,
			CASE WHEN refused > 0 THEN format('%s rows of feed_reject deleted', refused) END,
			CASE WHEN notified > 0 THEN format('%s notifications deleted', notified) END), ''), 'nothing to archive');
	END IF;
	target := yquota_internal.make_archive_table(
		CASE due.history WHEN 'ledger' THEN 'yquota.charge'::regclass ELSE 'yquota.container_event' END,
		(SELECT setting.archive_schema FROM yquota.retention_setting AS setting), due.segment);
	SELECT archive.archived INTO moved FROM yquota_internal.archive_as_owner(target, due.sealed_at) AS archive;
	IF due.history = 'ledger' THEN
		PERFORM yquota_internal.forget_application_tags(yquota_internal.retention_limit(now_at));
	END IF;
	RETURN format('%s rows of the %s archived into %s', moved, due.history, yquota_internal.table_name(target));
END
$$;
COMMENT ON FUNCTION yquota_internal.retain_history(timestamptz) IS
	'Archive the ledger or the log of the oldest segment that is due according to retention_setting.  Delete notifications, and old rows of node_queue, preempted_container, utilization_history and node_capacity.  When the ledger is archived, also delete old rows of application_tags.  When nothing is to be archived, also delete old rows of reservation_definition and feed_reject.  Returns the work done';

SELECT pg_extension_config_dump('yquota.retention_setting', '');
