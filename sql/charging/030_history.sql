--
-- History: sealed segments of the ledger and of the log, and the segments that have left the
-- database since.  See charging/450_archive.sql.
--
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
	'Sealed segments of the ledger and the log: tables below yquota.charge and yquota.container_event until they are archived';
COMMENT ON COLUMN yquota.history_segment.number IS 'primary key; from 1 in order of time. Segment 0 has the rows that were carried over because their containers still run';
COMMENT ON COLUMN yquota.history_segment.sealed_from IS 'time at which the segment before was sealed; -infinity for the first one';
COMMENT ON COLUMN yquota.history_segment.sealed_at IS 'clock when it was sealed; all its rows were recorded before';
COMMENT ON COLUMN yquota.history_segment.ledger_table IS 'table of yquota_internal with its rows of the ledger; NULL when there is none any more';
COMMENT ON COLUMN yquota.history_segment.log_table IS 'table of schema yquota_internal with its rows of the log; NULL when there is none any more';
COMMENT ON COLUMN yquota.history_segment.ledger_archived_at IS 'time at which its ledger rows left the database. From then on its log rows are no longer part of the log, but wait for archive()';
COMMENT ON COLUMN yquota.history_segment.log_archived_at IS 'time at which its log rows left the database';
COMMENT ON COLUMN yquota.history_segment.charges IS 'archived rows of its ledger; charges of reservations are in no segment';
COMMENT ON COLUMN yquota.history_segment.events IS 'archived rows of its log';
COMMENT ON COLUMN yquota.history_segment.horizon IS 'set when it was archived: an event before it is refused unless its container is known, and no price before it changes. The greatest one is the archive horizon';

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
	'Charges of projects by archived ledger rows; a project''s newest row counts for all of its archived history.  Append-only';
COMMENT ON COLUMN yquota.opening_balance.project IS 'primary key, with archived_through';
COMMENT ON COLUMN yquota.opening_balance.archived_through IS 'number of the newest segment archived so far';
COMMENT ON COLUMN yquota.opening_balance.archived_before IS 'the archive horizon then; every archived charge ended before it';
COMMENT ON COLUMN yquota.opening_balance.charged IS 'credits: sum of all archived rows of the project';
COMMENT ON COLUMN yquota.opening_balance.charges IS 'number of all archived rows of the project';
COMMENT ON COLUMN yquota.opening_balance.digest IS 'sum of the digests of all archived rows of the project; archive_digest() computes it from the archive';

CREATE TABLE yquota_internal.carried_container (
	archived_through integer NOT NULL,
	container_id text COLLATE "C" NOT NULL,
	PRIMARY KEY (archived_through, container_id)
);
COMMENT ON TABLE yquota_internal.carried_container IS
	'Running containers whose rows an archive carried over: their rows in log tables that still wait for archive() are copies';

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
