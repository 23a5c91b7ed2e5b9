--
-- The hierarchy of queues: the check when a change commits, the states of
-- queues, and effective properties (docs/design.md 5).
--

CREATE TABLE yquota_internal.queue_status (
	path text COLLATE "C" PRIMARY KEY,
	running boolean NOT NULL,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('leaf', 'parent', 'managed parent', 'plan')),
	auto_created boolean NOT NULL,
	maximum_allocation yquota.resource NOT NULL
);
COMMENT ON TABLE yquota_internal.queue_status IS
	'Queues as of the last change of the configuration, with which the check compares the next change.  Written only by the check';
COMMENT ON COLUMN yquota_internal.queue_status.running IS
	'true if the queue takes applications; otherwise it is DRAINING while containers run or applications live in it, else STOPPED';
COMMENT ON COLUMN yquota_internal.queue_status.maximum_allocation IS
	'largest container that applications of the queue may ask for, native units; a change may not reduce it';

CREATE TABLE yquota_internal.queue_check (
	is_last boolean NOT NULL
);
COMMENT ON TABLE yquota_internal.queue_check IS
	'Requests for a check of the hierarchy.  A transaction deletes its rows before it commits';
COMMENT ON COLUMN yquota_internal.queue_check.is_last IS
	'false in a request for a check.  At the end of the transaction, the trigger of the request inserts a row with true.  The trigger of that row runs the check';

CREATE FUNCTION yquota_internal.note_queue_change() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_note_queue_change';
COMMENT ON FUNCTION yquota_internal.note_queue_change() IS
	'Make sessions drop their cached hierarchy of queues, and request a check at commit';

CREATE FUNCTION yquota_internal.check_queues() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_check_queues';
COMMENT ON FUNCTION yquota_internal.check_queues() IS
	'Check the hierarchy of queues and update queue_status; an error lists everything that is wrong';

CREATE CONSTRAINT TRIGGER check_queues AFTER INSERT ON yquota_internal.queue_check
	DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.check_queues();

-- Locks yquota.queue before a statement changes rows that belong to queues. Submissions and
-- policies that create or remove queues change such rows, too.
CREATE FUNCTION yquota_internal.lock_queues() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	LOCK TABLE yquota.queue IN ROW EXCLUSIVE MODE;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_queues() IS
	'Lock yquota.queue in the mode that a change of its rows takes';
CREATE TRIGGER lock_queues BEFORE INSERT OR UPDATE OR DELETE ON yquota.queue_label
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_queues();
CREATE TRIGGER lock_queues BEFORE INSERT OR UPDATE OR DELETE ON yquota.queue_user
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_queues();

CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.queue
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.queue_label
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.queue_user
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.wildcard_template
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.mapping_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.multi_node_sorting_policy
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.node_label
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.unmapped_property
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.scheduler_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.user_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();

-- Makes sessions compute limits again, because limits depend on the nodes and on the known resource types.
CREATE TRIGGER signal_total AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.total OPERATOR(yquota.<>) NEW.total)
	EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_queues AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF name ON yquota.resource_type
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();

CREATE FUNCTION yquota_internal.find_queue(name text, OUT path text, OUT is_ambiguous boolean)
	LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_find_queue';
COMMENT ON FUNCTION yquota_internal.find_queue(text) IS
	'Return the path of the queue with this path or unique short name; NULL if there is no such queue, or if several have the short name';

-- Accepts the name of a queue that is not configured, because containers may name such queues.
CREATE FUNCTION yquota_internal.queue_of_containers(name text) RETURNS text
	LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found record;
BEGIN
	SELECT * INTO found FROM yquota_internal.find_queue(name);
	IF found.is_ambiguous THEN
		RAISE EXCEPTION 'queue name "%" is ambiguous', name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Use the full path.';
	END IF;
	RETURN coalesce(found.path, name);
END
$$;
COMMENT ON FUNCTION yquota_internal.queue_of_containers(text) IS
	'Return the name of a queue as rows of containers have it: the full path if the queue is configured, otherwise the given name';

CREATE FUNCTION yquota_internal.notice_factor_without_queue(name text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found record;
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.queue) THEN
		RETURN;
	END IF;
	SELECT * INTO found FROM yquota_internal.find_queue(name);
	IF found.path IS DISTINCT FROM name THEN
		RAISE NOTICE 'queue "%" of the price factor does not exist', name
			USING HINT = CASE WHEN found.path IS NOT NULL THEN format('The path of queue "%s" is "%s".', name, found.path)
							  ELSE 'Factors match the path of a queue, such as "root.prod", and the queues below it.' END;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.notice_factor_without_queue(text) IS
	'Raise a notice if a price factor names an unknown queue.  If no queue is configured, the queues that containers have named count as known';

CREATE FUNCTION yquota_internal.effective_queues()
	RETURNS TABLE (queue text, label text, ordinal integer, drawn text, kind text, auto_created boolean,
				   state yquota.queue_state, configured_capacity text, configured_maximum_capacity text,
				   capacity real, maximum_capacity real, weight real, normalized_weight real,
				   absolute_capacity real, absolute_maximum_capacity real,
				   effective_capacity yquota.resource, effective_maximum_capacity yquota.resource,
				   used yquota.resource, used_capacity real, absolute_used_capacity real, containers bigint,
				   minimum_user_limit_percent real, user_limit_factor real,
				   maximum_applications integer, maximum_applications_per_user integer,
				   maximum_am_resource_percent real, am_limit yquota.resource,
				   maximum_allocation yquota.resource, maximum_application_lifetime bigint,
				   default_application_lifetime bigint, inherited jsonb,
				   applications bigint, non_runnable_applications bigint, accepted_applications bigint,
				   active_applications bigint, am_used yquota.resource)
	LANGUAGE c STABLE PARALLEL UNSAFE ROWS 100
	AS 'MODULE_PATHNAME', 'yq_sql_effective_queues';
COMMENT ON FUNCTION yquota_internal.effective_queues() IS
	'Return the hierarchy of queues as this transaction sees it, in the order of the tree';

CREATE FUNCTION yquota_internal.usage_bar(used numeric, guaranteed numeric, most numeric) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '[' || (
		SELECT string_agg(CASE WHEN cell <= round(20 * least(used, 1)) THEN '#'
							   WHEN cell <= round(20 * least(guaranteed, 1)) THEN '='
							   WHEN cell <= round(20 * least(most, 1)) THEN '.'
							   ELSE ' ' END, '' ORDER BY cell)
		FROM generate_series(1, 20) AS cell) || ']';
COMMENT ON FUNCTION yquota_internal.usage_bar(numeric, numeric, numeric) IS
	'Return a bar of twenty characters that represents a partition: # used, = guaranteed, . possible.  The arguments are fractions of the partition';

CREATE VIEW yquota.effective_queue WITH (security_barrier) AS
	SELECT q.queue, q.label, q.ordinal, q.kind, q.auto_created, q.state, q.configured_capacity,
		   q.configured_maximum_capacity, q.capacity, q.maximum_capacity, q.weight, q.normalized_weight,
		   q.absolute_capacity, q.absolute_maximum_capacity, q.effective_capacity,
		   q.effective_maximum_capacity, q.used, q.used_capacity, q.absolute_used_capacity, q.containers,
		   q.minimum_user_limit_percent, q.user_limit_factor, q.maximum_applications,
		   q.maximum_applications_per_user, q.maximum_am_resource_percent, q.am_limit,
		   q.maximum_allocation, q.maximum_application_lifetime, q.default_application_lifetime, q.inherited,
		   q.applications, q.non_runnable_applications, q.accepted_applications, q.active_applications, q.am_used,
		   q.drawn,
		   yquota_internal.usage_bar(q.absolute_used_capacity::numeric, q.absolute_capacity::numeric,
									 q.absolute_maximum_capacity::numeric) AS usage_bar
	FROM yquota_internal.effective_queues() AS q;
COMMENT ON VIEW yquota.effective_queue IS
	'Queues with their effective properties, per label: one row for the default partition (empty label) and one for each configured label';
COMMENT ON COLUMN yquota.effective_queue.queue IS 'path';
COMMENT ON COLUMN yquota.effective_queue.label IS 'partition of the nodes; empty for the default partition';
COMMENT ON COLUMN yquota.effective_queue.ordinal IS 'place in the tree, from 1: parents before children, children in their order';
COMMENT ON COLUMN yquota.effective_queue.kind IS 'leaf, parent, managed parent (leaves are created in it from a template), or plan (reservable)';
COMMENT ON COLUMN yquota.effective_queue.state IS 'state; DRAINING: stopped, but containers still run or applications live in it or below';
COMMENT ON COLUMN yquota.effective_queue.capacity IS 'fraction of the parent; 0 for a weight';
COMMENT ON COLUMN yquota.effective_queue.maximum_capacity IS 'fraction of the maximum capacity of the parent';
COMMENT ON COLUMN yquota.effective_queue.normalized_weight IS 'fraction of the parent that the weight comes to';
COMMENT ON COLUMN yquota.effective_queue.absolute_capacity IS 'fraction of the partition';
COMMENT ON COLUMN yquota.effective_queue.absolute_maximum_capacity IS 'fraction of the partition';
COMMENT ON COLUMN yquota.effective_queue.effective_capacity IS 'guaranteed amounts, native units';
COMMENT ON COLUMN yquota.effective_queue.effective_maximum_capacity IS 'the most that the queue may use, native units';
COMMENT ON COLUMN yquota.effective_queue.used IS 'resources used by GUARANTEED containers here and below, reserved containers included, native units';
COMMENT ON COLUMN yquota.effective_queue.used_capacity IS 'fraction of the guarantee; may exceed 1';
COMMENT ON COLUMN yquota.effective_queue.absolute_used_capacity IS 'fraction of the partition';
COMMENT ON COLUMN yquota.effective_queue.containers IS 'containers running here and below, on all labels and of both execution types';
COMMENT ON COLUMN yquota.effective_queue.minimum_user_limit_percent IS 'percent; for leaves only, like the following columns up to am_limit';
COMMENT ON COLUMN yquota.effective_queue.maximum_am_resource_percent IS 'fraction of the queue for application masters';
COMMENT ON COLUMN yquota.effective_queue.am_limit IS 'limit of application masters, native units. In the default partition it depends on the present usage of other queues, and parents do not count killable containers';
COMMENT ON COLUMN yquota.effective_queue.maximum_allocation IS 'largest container, native units';
COMMENT ON COLUMN yquota.effective_queue.maximum_application_lifetime IS 'seconds; NULL: no limit';
COMMENT ON COLUMN yquota.effective_queue.default_application_lifetime IS 'seconds; NULL: no limit';
COMMENT ON COLUMN yquota.effective_queue.inherited IS
	'properties that the queue does not set: the value, and its origin, which is a queue, scheduler_setting, template or default';
COMMENT ON COLUMN yquota.effective_queue.applications IS 'live applications here and below, on all labels, like the next three columns';
COMMENT ON COLUMN yquota.effective_queue.non_runnable_applications IS 'applications held by max-parallel-apps';
COMMENT ON COLUMN yquota.effective_queue.accepted_applications IS 'applications that wait for room for their application masters';
COMMENT ON COLUMN yquota.effective_queue.am_used IS 'charged amounts of application masters of active applications here and below, native units';
COMMENT ON COLUMN yquota.effective_queue.drawn IS 'name of the queue, with the lines of a drawn tree in front of it; for people to read';
COMMENT ON COLUMN yquota.effective_queue.usage_bar IS
	'the partition in twenty cells: # used, = guaranteed and not used, . possible beyond that';

SELECT pg_extension_config_dump('yquota_internal.queue_status', '');
