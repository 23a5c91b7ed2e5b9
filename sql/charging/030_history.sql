-- History: sealed segments of the ledger and of the log, and segments that have been archived since.  See
-- charging/450_archive.sql.
CREATE TABLE yquota.history_segment (
	number integer PRIMARY KEY,
	sealed_from timestamptz NOT NULL,
	sealed_at timestamptz NOT NULL,
	ledger_table text COLLATE "C",
	log_table text COLLATE "C",
	ledger_archived_at timestamptz,
	log_archived_at timestamptz,
	charges bigint,
	events bigint,
	horizon timestamptz
);
COMMENT ON TABLE yquota.history_segment IS
	'Sealed segments of the ledger and the log. Until they are archived, they are child tables of yquota.charge and yquota.container_event';
COMMENT ON COLUMN yquota.history_segment.number IS 'primary key; from 1 in order of time. Segment 0 has the rows that archive() kept because their containers were still running';
COMMENT ON COLUMN yquota.history_segment.sealed_from IS 'time at which the previous segment was sealed; -infinity for the first one';
COMMENT ON COLUMN yquota.history_segment.sealed_at IS 'clock when the segment was sealed; all its rows were recorded earlier';
COMMENT ON COLUMN yquota.history_segment.ledger_table IS 'table of schema yquota_internal with the segment''s rows of the ledger; NULL when they have left the database';
COMMENT ON COLUMN yquota.history_segment.log_table IS 'table of schema yquota_internal with the segment''s rows of the log; NULL when they have left the database';
COMMENT ON COLUMN yquota.history_segment.ledger_archived_at IS 'time at which the segment''s ledger rows left the database. From then on its log rows are not part of the log any more, and wait for archive()';
COMMENT ON COLUMN yquota.history_segment.log_archived_at IS 'time at which the segment''s log rows left the database';
COMMENT ON COLUMN yquota.history_segment.charges IS 'number of archived rows of the ledger; charges of reservations are in no segment';
COMMENT ON COLUMN yquota.history_segment.events IS 'number of archived rows of the log';
COMMENT ON COLUMN yquota.history_segment.horizon IS 'set when the segment was archived. Earlier events are refused unless their container is known, and earlier prices do not change any more. The greatest horizon of all segments is the archive horizon';

CREATE TABLE yquota.opening_balance (
	project text COLLATE "C" NOT NULL,
	archived_through integer NOT NULL,
	archived_before timestamptz NOT NULL,
	charged numeric NOT NULL,
	charges bigint NOT NULL,
	digest numeric NOT NULL,
	PRIMARY KEY (project, archived_through)
);
COMMENT ON TABLE yquota.opening_balance IS
	'Charges of projects in archived ledger rows.  The newest row of a project contains all of its archived history.  Append-only';
COMMENT ON COLUMN yquota.opening_balance.project IS 'primary key, with archived_through';
COMMENT ON COLUMN yquota.opening_balance.archived_through IS 'number of the newest segment archived so far';
COMMENT ON COLUMN yquota.opening_balance.archived_before IS 'the archive horizon when the row was written; every charge archived by then ended before this horizon';
COMMENT ON COLUMN yquota.opening_balance.charged IS 'credits: sum of all archived rows of the project';
COMMENT ON COLUMN yquota.opening_balance.charges IS 'number of all archived rows of the project';
COMMENT ON COLUMN yquota.opening_balance.digest IS 'sum of the digests of all archived rows of the project; archive_digest() computes it from the archive';

CREATE TABLE yquota_internal.carried_container (
	archived_through integer NOT NULL,
	container_id text COLLATE "C" NOT NULL,
	PRIMARY KEY (archived_through, container_id)
);
COMMENT ON TABLE yquota_internal.carried_container IS
	'Running containers whose rows archive() kept. Their rows in log tables that still wait for archive() are copies';

CREATE TABLE yquota_internal.released_log (
	log_table text COLLATE "C" PRIMARY KEY,
	archived_through integer NOT NULL,
	segment integer NOT NULL,
	sealed_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.released_log IS
	'Log tables of schema yquota_internal that are no longer part of the log and wait for archive()';

CREATE FUNCTION yquota_internal.archive_horizon() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(max(s.horizon), '-infinity') FROM yquota.history_segment AS s);
COMMENT ON FUNCTION yquota_internal.archive_horizon() IS
	'Return the instant before which charges have been archived; -infinity when none have';
