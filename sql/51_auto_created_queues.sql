--
-- Queues that submissions create: which of them have a guarantee, which are in
-- use, and what gives and takes that (seed 004, DESIGN 5).
--
-- The two tables have no foreign key, so that queues can be truncated; the check at
-- commit takes from them what is about queues that are gone.
--

CREATE TABLE yquota_internal.active_leaf (
	queue yquota.queue_path NOT NULL,
	label text COLLATE "C" NOT NULL,
	PRIMARY KEY (queue, label)
);
COMMENT ON TABLE yquota_internal.active_leaf IS
	'Leaves of managed parents that have the capacity of their template, per label; all others have none guaranteed';
COMMENT ON COLUMN yquota_internal.active_leaf.label IS 'partition of the nodes; empty for the default one';

-- What queues may use depends on it; it is no change of the configuration.
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.active_leaf
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota_internal.active_leaf
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

CREATE TABLE yquota_internal.created_queue (
	queue yquota.queue_path PRIMARY KEY,
	last_used_at timestamptz NOT NULL,
	is_marked boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.created_queue IS
	'Queues that were created below parents with auto-queue-creation-v2.enabled, and what is known of their use';
COMMENT ON COLUMN yquota_internal.created_queue.last_used_at IS
	'yquota''s clock when an application was submitted, or a queue created below it; up to a tenth of the expiration time too early';
COMMENT ON COLUMN yquota_internal.created_queue.is_marked IS 'whether it was found empty by the last pass';

SELECT pg_extension_config_dump('yquota_internal.active_leaf', '');
SELECT pg_extension_config_dump('yquota_internal.created_queue', '');
