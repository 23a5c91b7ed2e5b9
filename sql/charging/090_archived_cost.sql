-- Cost of archived history.  Archived rows have left the ledger.  Their sums stay, per quarter-hour and in the
-- groups of roll-ups.  Reports of closed days and issued bills therefore do not change.  Nothing before the archive
-- horizon changes any more, so these sums are final.  They are part of the books, because they cannot be computed
-- from other rows of the database.
--
-- Each row of the ledger lies in one billing period (charging/490_close_period.sql).  It is on the bills of the
-- periods that were closed after it had been booked.  Period and booking time are therefore stored as ends of
-- periods.  The parts of a row add up to the booked amount, whatever prices it was computed from.  A row and its
-- correction may be on different bills.  Reports ignore the time of booking, so a row and its correction cancel in
-- every quarter-hour.

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
	amount numeric NOT NULL,
	reservation_id text COLLATE "C"
);
CREATE INDEX archived_cost_quarter_hour_idx ON yquota_internal.archived_cost (quarter_hour);
CREATE INDEX archived_cost_project_idx ON yquota_internal.archived_cost (project, quarter_hour);
CREATE INDEX archived_cost_application_idx ON yquota_internal.archived_cost (application_id);
COMMENT ON TABLE yquota_internal.archived_cost IS
	'Parts of archived ledger rows added up per quarter-hour (UTC), for reports about closed days';
COMMENT ON COLUMN yquota_internal.archived_cost.archived_through IS 'as in opening_balance';
COMMENT ON COLUMN yquota_internal.archived_cost.quarter_hour IS 'start of the quarter-hour';
COMMENT ON COLUMN yquota_internal.archived_cost.period_from IS 'start of the billing period that contains the rows, by the periods that were closed when the rows were archived; -infinity for the first period.  Infinity for a row that is on no bill: it crosses the end of a period, and was reversed before that period was closed';
COMMENT ON COLUMN yquota_internal.archived_cost.booked_after IS 'latest closed_at of the periods that were closed before the row was booked; -infinity if there is none.  The row is on the bills of periods that were closed later';
COMMENT ON COLUMN yquota_internal.archived_cost.amount IS 'credits';
COMMENT ON COLUMN yquota_internal.archived_cost.reservation_id IS 'reservation that was charged, if a hold for it was known; NULL for containers';

CREATE TABLE yquota.archived_history (
	segment integer NOT NULL,
	history text NOT NULL CHECK (history IN ('ledger', 'log')),
	target text NOT NULL,
	archived_at timestamptz NOT NULL,
	archived_by name NOT NULL DEFAULT session_user,
	cluster text COLLATE "C",
	PRIMARY KEY (segment, history)
);
COMMENT ON TABLE yquota.archived_history IS
	'Targets to which segments of history were archived';
COMMENT ON COLUMN yquota.archived_history.segment IS 'number of the segment in history_segment';
COMMENT ON COLUMN yquota.archived_history.history IS 'ledger or log';
COMMENT ON COLUMN yquota.archived_history.target IS 'name, at that time, of the table that received the rows';
COMMENT ON COLUMN yquota.archived_history.archived_at IS 'clock';
COMMENT ON COLUMN yquota.archived_history.archived_by IS 'the session''s user';
COMMENT ON COLUMN yquota.archived_history.cluster IS 'name of this cluster in rows of the target; NULL when the target has no such column';

CREATE TABLE yquota.written_history (
	segment integer NOT NULL,
	history text COLLATE "C" NOT NULL CHECK (history IN ('ledger', 'log')),
	target text NOT NULL,
	cluster text COLLATE "C" NOT NULL,
	written_at timestamptz NOT NULL,
	written_by name NOT NULL DEFAULT session_user,
	written_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
	PRIMARY KEY (segment, history)
);
COMMENT ON TABLE yquota.written_history IS
	'Segments of history whose rows were written into a foreign table and are still in the books.  The next call of archive() compares the written rows with the books';
COMMENT ON COLUMN yquota.written_history.segment IS 'number of the segment in history_segment';
COMMENT ON COLUMN yquota.written_history.history IS 'ledger or log';
COMMENT ON COLUMN yquota.written_history.target IS 'name, at that time, of the table that received the rows';
COMMENT ON COLUMN yquota.written_history.cluster IS 'name of this cluster in rows of the target';
COMMENT ON COLUMN yquota.written_history.written_at IS 'clock';
COMMENT ON COLUMN yquota.written_history.written_by IS 'the session''s user';
COMMENT ON COLUMN yquota.written_history.written_in IS 'transaction that wrote the rows; a later transaction deletes them from the books';

CREATE VIEW yquota_internal.readable_archived_cost WITH (security_barrier) AS
	SELECT archived.*
	FROM yquota_internal.archived_cost AS archived
	WHERE (SELECT yquota_internal.reads_all())
	   OR archived.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.readable_archived_cost IS
	'Rows of archived_cost that the calling role may see';

-- Losses of grants and remaining holds follow from the cost since an instant.  The table contains the cost of
-- archived rows since instants that lie before the end of these rows.  The cost since a later instant is computed
-- from quarter-hours, for example for a budget that begins in the past.
CREATE TABLE yquota_internal.archived_cost_since (
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C" NOT NULL,
	since timestamptz NOT NULL,
	amount numeric NOT NULL,
	PRIMARY KEY (project, application_id, since)
);
COMMENT ON TABLE yquota_internal.archived_cost_since IS
	'Cost of archived rows of a project since instants before the archive horizon. These are instants of grants of the project and its ancestors, and of holds';
COMMENT ON COLUMN yquota_internal.archived_cost_since.application_id IS 'empty for the whole project; for a reservation its id, and the amount includes the containers in its queue';
COMMENT ON COLUMN yquota_internal.archived_cost_since.amount IS 'credits, without those of sub-projects';

CREATE FUNCTION yquota_internal.archived_since(project text, application_id text, since timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN since < yquota_internal.archive_horizon() THEN coalesce(
		(SELECT kept.amount FROM yquota_internal.archived_cost_since AS kept
		 WHERE kept.project = archived_since.project AND kept.application_id = archived_since.application_id
		   AND kept.since = archived_since.since),
		(SELECT sum(cost.amount) FROM yquota_internal.archived_cost AS cost
		 WHERE cost.project = archived_since.project
		   AND (archived_since.application_id = '' OR cost.application_id = archived_since.application_id)
		   AND cost.quarter_hour >= yquota_internal.quarter_hour(archived_since.since)), 0)
		ELSE 0 END;
COMMENT ON FUNCTION yquota_internal.archived_since(text, text, timestamptz) IS
	'Return the credits of archived rows of a project, or of one of its applications, from an instant on.  The result is exact for stored instants and for the starts of quarter-hours';

-- Work lost to preemption in archived containers, for preemption_cost().
CREATE TABLE yquota_internal.archived_preemption (
	archived_through integer NOT NULL,
	quarter_hour timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	username text COLLATE "C",
	queue text COLLATE "C",
	containers bigint NOT NULL,
	gross numeric NOT NULL,
	given_back numeric NOT NULL
);
CREATE INDEX archived_preemption_quarter_hour_idx ON yquota_internal.archived_preemption (quarter_hour);
COMMENT ON TABLE yquota_internal.archived_preemption IS
	'Archived containers that were preempted, added up by the quarter-hour (UTC) in which they ended';
COMMENT ON COLUMN yquota_internal.archived_preemption.archived_through IS 'as in opening_balance';
COMMENT ON COLUMN yquota_internal.archived_preemption.quarter_hour IS 'start of the quarter-hour';
COMMENT ON COLUMN yquota_internal.archived_preemption.queue IS 'last queue of the containers';
COMMENT ON COLUMN yquota_internal.archived_preemption.gross IS 'credits for the lives of the containers, including the time before their preemption that was free, but without padding';
COMMENT ON COLUMN yquota_internal.archived_preemption.given_back IS 'part of gross that was free';

SELECT pg_extension_config_dump('yquota_internal.archived_cost', '');
SELECT pg_extension_config_dump('yquota_internal.archived_preemption', '');
SELECT pg_extension_config_dump('yquota.archived_history', '');
SELECT pg_extension_config_dump('yquota.written_history', '');
SELECT pg_extension_config_dump('yquota_internal.archived_cost_since', '');
