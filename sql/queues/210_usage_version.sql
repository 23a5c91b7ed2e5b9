--
-- The version of the compacted usage.  A session that has read the usage need not read it
-- again until the version changes (src/queues/usage.c).
--
CREATE TABLE yquota_internal.usage_version (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	version uuid NOT NULL DEFAULT gen_random_uuid(),
	content uuid NOT NULL DEFAULT gen_random_uuid(),
	is_compacting boolean NOT NULL DEFAULT false,
	compacted_before xid8,
	compacted_but xid8[],
	noted pg_snapshot
);
COMMENT ON TABLE yquota_internal.usage_version IS
	'Version of usage_counter: one row, which changes when usage_counter changes.  Sessions that have read usage_counter compare the version';
COMMENT ON COLUMN yquota_internal.usage_version.content IS
	'version of the usage itself: stays the same if a transaction only compacted deltas of other transactions';
COMMENT ON COLUMN yquota_internal.usage_version.is_compacting IS
	'true only within the transaction that compacts';
COMMENT ON COLUMN yquota_internal.usage_version.compacted_before IS
	'together with compacted_but: the transactions whose rows the last compaction took; transactions that were running then are not among them';
COMMENT ON COLUMN yquota_internal.usage_version.noted IS
	'snapshot of the last compaction of counters';
INSERT INTO yquota_internal.usage_version DEFAULT VALUES;

CREATE FUNCTION yquota_internal.change_usage_version() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- a random version never repeats, even after a transaction that changed it has failed
	UPDATE yquota_internal.usage_version
	SET version = gen_random_uuid(),
		content = CASE WHEN is_compacting THEN content ELSE gen_random_uuid() END;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.change_usage_version() IS
	'Record that usage_counter has changed';

CREATE TRIGGER change_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.usage_counter
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.change_usage_version();
-- Changes the version in a copy by logical replication, which fires no statement triggers.
CREATE TRIGGER change_version_applied AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.usage_counter
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.change_usage_version();
ALTER TABLE yquota_internal.usage_counter ENABLE REPLICA TRIGGER change_version_applied;
