--
-- Queues that the follower of plans makes below plans, and the shares of these queues. The rows are
-- state, not configuration (docs/design.md 5). A plan is a queue with the property reservable.
--
-- There is no foreign key, so that queue can be truncated and filled again.
--

CREATE TABLE yquota.reservation_queue (
	plan yquota.queue_path NOT NULL,
	name text COLLATE "C" NOT NULL,
	reservation_id text COLLATE "C" CHECK (reservation_id ~ '^reservation_[0-9]+_[0-9]+$'),
	capacity real NOT NULL CHECK (capacity >= 0 AND capacity <= 1),
	maximum_capacity real NOT NULL CHECK (maximum_capacity >= 0 AND maximum_capacity <= 1),
	PRIMARY KEY (plan, name),
	CHECK (name = coalesce(reservation_id, regexp_replace(plan::text, E'^.*\\.', '') || '-default'))
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota.reservation_queue IS
	'Queues of active reservations below their plans, and default queues of plans, with the shares of these queues.  Written only by the follower of plans.  A default queue without a row has the whole plan';
COMMENT ON COLUMN yquota.reservation_queue.plan IS 'path of the queue that is reservable';
COMMENT ON COLUMN yquota.reservation_queue.name IS 'last part of the queue''s path: reservation_id, or the plan''s name with -default';
COMMENT ON COLUMN yquota.reservation_queue.reservation_id IS 'NULL: the default queue, which has the rest of the plan';
COMMENT ON COLUMN yquota.reservation_queue.capacity IS 'fraction of the plan, 0 to 1';
COMMENT ON COLUMN yquota.reservation_queue.maximum_capacity IS 'fraction of the plan''s maximum, 0 to 1';

-- Sessions update shares in their cached hierarchy (src/queues/hierarchy_load.c).
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.reservation_queue
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

SELECT pg_extension_config_dump('yquota.reservation_queue', '');
