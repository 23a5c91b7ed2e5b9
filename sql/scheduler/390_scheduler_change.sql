--
-- Changes of the cluster, which sessions with a cached cluster read to update their cache
-- (src/scheduler/cache/cluster_cache.h). A dump leaves these rows out, because a restored database
-- has no session with a cached cluster.
--

CREATE TABLE yquota_internal.scheduler_change (
	kind "char" NOT NULL,
	application_id text COLLATE "C",
	queue text COLLATE "C",
	username text COLLATE "C",
	changed_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
	log_position pg_lsn,
	next_container bigint,
	priority integer,
	allocation_request_id bigint,
	resource_name text COLLATE "C",
	count integer,
	opportunities bigint,
	missed_non_partitioned bigint,
	re_reservations bigint,
	node text COLLATE "C",
	container bigint,
	allocation yquota.resource
);
CREATE INDEX scheduler_change_changed_by_idx ON yquota_internal.scheduler_change (changed_by);
COMMENT ON TABLE yquota_internal.scheduler_change IS
	'Changes of rows that the scheduler reads, except changes of usage and of the configuration.  Old rows are deleted';
COMMENT ON COLUMN yquota_internal.scheduler_change.kind IS
	'a: an application or its requests. c: the state of a request, or of the reservation of a node, after a cycle. u: counters of a user alone. k: killable containers. e: perhaps everything';
COMMENT ON COLUMN yquota_internal.scheduler_change.queue IS 'leaf queue in which the applications of username are counted again';
COMMENT ON COLUMN yquota_internal.scheduler_change.changed_by IS 'transaction that appended the row';
COMMENT ON COLUMN yquota_internal.scheduler_change.log_position IS
	'position in the write-ahead log; the order of positions is the order of cycles.  This and the following columns are for kind c';
COMMENT ON COLUMN yquota_internal.scheduler_change.next_container IS 'number of the next container of the application';
COMMENT ON COLUMN yquota_internal.scheduler_change.priority IS 'priority in the key of the request; the key also has allocation_request_id';
COMMENT ON COLUMN yquota_internal.scheduler_change.resource_name IS
	'name of the request.  If this and node are NULL, only the counters of the key have changed';
COMMENT ON COLUMN yquota_internal.scheduler_change.count IS 'outstanding containers of the request; 0: the request is served and its row has been deleted';
COMMENT ON COLUMN yquota_internal.scheduler_change.opportunities IS 'counters of the key, as in request_counter';
COMMENT ON COLUMN yquota_internal.scheduler_change.node IS
	'node whose reservation has changed.  The node is now reserved for the key of the application; if the columns of the key are NULL, the reservation is gone';
COMMENT ON COLUMN yquota_internal.scheduler_change.container IS 'number of the container for which the node is reserved, the last part of its id';
COMMENT ON COLUMN yquota_internal.scheduler_change.allocation IS 'allocation of that container';

CREATE TABLE yquota_internal.scheduler_change_horizon (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	trimmed_before xid8 NOT NULL DEFAULT '0',
	next_before xid8 NOT NULL DEFAULT '0',
	noted_at timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE yquota_internal.scheduler_change_horizon IS
	'Progress of trimming scheduler_change: one row';
COMMENT ON COLUMN yquota_internal.scheduler_change_horizon.trimmed_before IS
	'transaction before which all changes are deleted.  A session that has not read these changes reads the whole state';
COMMENT ON COLUMN yquota_internal.scheduler_change_horizon.next_before IS 'transaction before which the next call will delete changes';
COMMENT ON COLUMN yquota_internal.scheduler_change_horizon.noted_at IS 'time at which next_before was recorded; by then, all transactions before next_before had ended';
INSERT INTO yquota_internal.scheduler_change_horizon DEFAULT VALUES;

CREATE FUNCTION yquota_internal.trim_scheduler_changes() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	before xid8;
	trimmed bigint;
BEGIN
	UPDATE yquota_internal.scheduler_change_horizon
	SET trimmed_before = next_before, next_before = pg_snapshot_xmin(pg_current_snapshot()), noted_at = clock_timestamp()
	WHERE noted_at < clock_timestamp() - interval '5 minutes'
	RETURNING trimmed_before INTO before;
	IF before IS NULL THEN
		RETURN 0;
	END IF;
	DELETE FROM yquota_internal.scheduler_change AS c WHERE c.changed_by < before;
	GET DIAGNOSTICS trimmed = ROW_COUNT;
	RETURN trimmed;
END
$$;
COMMENT ON FUNCTION yquota_internal.trim_scheduler_changes() IS
	'Remove rows of scheduler_change that are older than a few minutes.  Returns how many rows were removed.  The worker calls it every few minutes';

CREATE FUNCTION yquota_internal.note_application() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_note_application';
COMMENT ON FUNCTION yquota_internal.note_application() IS
	'Record in scheduler_change that an application has changed';

CREATE TRIGGER note_change AFTER INSERT OR DELETE ON yquota.application
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_application();
CREATE TRIGGER note_update AFTER UPDATE ON yquota.application
	FOR EACH ROW WHEN (OLD.am_resource OPERATOR(yquota.<>) NEW.am_resource OR
		(OLD.application_id, OLD.username, OLD.queue, OLD.label, OLD.node_label_expression, OLD.project, OLD.unmanaged, OLD.priority,
		 OLD.state, OLD.has_outstanding_requests, OLD.submitted_at)
		IS DISTINCT FROM
		(NEW.application_id, NEW.username, NEW.queue, NEW.label, NEW.node_label_expression, NEW.project, NEW.unmanaged, NEW.priority,
		 NEW.state, NEW.has_outstanding_requests, NEW.submitted_at))
	EXECUTE FUNCTION yquota_internal.note_application();
CREATE TRIGGER note_truncate AFTER TRUNCATE ON yquota.application
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_application();

CREATE FUNCTION yquota_internal.note_scheduler_change() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_note_scheduler_change';
COMMENT ON FUNCTION yquota_internal.note_scheduler_change() IS
	'Record in scheduler_change that a statement of a user changed a table of the scheduler';

CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.resource_request
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.blacklist
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.reserved_container
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.request_counter
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.application_attempt
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.container_update
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OF is_killable OR DELETE OR TRUNCATE ON yquota_internal.preemption_mark
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change('k');

-- Signals changes of a node's rack, because localities depend on the rack.
CREATE TRIGGER signal_rack AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.rack <> NEW.rack)
	EXECUTE FUNCTION yquota_internal.signal_change();
