--
-- Opportunistic containers, central allocation (semantics/opportunistic): reports of nodes about
-- their queues, the list of nodes by load, and the containers allocated from that list. The C code
-- decides (src/opportunistic/).  Functions that write run as the owner; a role that may call them
-- acts for the resource manager.
--
-- The tables of reports, slots and the list are unlogged.  After a crash or a promotion a node is
-- therefore unknown until it reports again. A standby cannot read unlogged tables, so views read
-- these tables through a function that first checks for recovery.
--

CREATE TYPE yquota.node_report AS (
	node text,
	running_guaranteed integer,
	running_opportunistic integer,
	queued_guaranteed integer,
	queued_opportunistic integer,
	estimated_wait interval,
	queue_capacity integer,
	reported_at timestamptz,
	allocated yquota.resource,
	measured yquota.resource
);
COMMENT ON TYPE yquota.node_report IS
	'Report of a node about its containers, for report_nodes()';
COMMENT ON COLUMN yquota.node_report.running_guaranteed IS 'number of running GUARANTEED containers; the next three columns are numbers of containers, too';
COMMENT ON COLUMN yquota.node_report.queued_guaranteed IS 'containers that wait for room';
COMMENT ON COLUMN yquota.node_report.queued_opportunistic IS 'containers that wait for room';
COMMENT ON COLUMN yquota.node_report.estimated_wait IS 'time for which a container that arrives now would wait; NULL: not known, as for Hadoop''s nodes.  If nodes are compared by this wait, expected durations then give an estimate';
COMMENT ON COLUMN yquota.node_report.queue_capacity IS
	'number of OPPORTUNISTIC containers that may wait, read only when the node is not in the list yet; NULL: scheduler_setting.opportunistic_queue_capacity';
COMMENT ON COLUMN yquota.node_report.reported_at IS 'NULL: the clock';
COMMENT ON COLUMN yquota.node_report.allocated IS 'resources allocated to the node''s containers, native units; NULL: the allocations in the books';
COMMENT ON COLUMN yquota.node_report.measured IS 'resources in use on the node, native units; NULL: not reported';

CREATE UNLOGGED TABLE yquota_internal.node_queue_report (
	node text COLLATE "C" PRIMARY KEY,
	running_guaranteed integer NOT NULL CHECK (running_guaranteed >= 0),
	running_opportunistic integer NOT NULL CHECK (running_opportunistic >= 0),
	queued_guaranteed integer NOT NULL CHECK (queued_guaranteed >= 0),
	queued_opportunistic integer NOT NULL CHECK (queued_opportunistic >= 0),
	estimated_wait interval CHECK (estimated_wait BETWEEN '0' AND '2147483647.999 ms'),
	queue_capacity integer CHECK (queue_capacity >= 0),
	reported_at timestamptz NOT NULL,
	allocated yquota.resource,
	is_listed boolean NOT NULL,
	told_queue_capacity integer NOT NULL CHECK (told_queue_capacity >= -1),
	measured yquota.resource
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.node_queue_report IS
	'The last report of each node; written by report_nodes()';
COMMENT ON COLUMN yquota_internal.node_queue_report.running_guaranteed IS 'number of running GUARANTEED containers; the next three columns are numbers of containers, too';
COMMENT ON COLUMN yquota_internal.node_queue_report.estimated_wait IS 'wait that the node reported, or under QUEUE_WAIT_TIME an estimate from expected durations; NULL: not known';
COMMENT ON COLUMN yquota_internal.node_queue_report.queue_capacity IS
	'capacity that the node reported when it entered the list; NULL: scheduler_setting.opportunistic_queue_capacity';
COMMENT ON COLUMN yquota_internal.node_queue_report.allocated IS 'native units; NULL: nothing';
COMMENT ON COLUMN yquota_internal.node_queue_report.is_listed IS
	'false if the node may not be in the list: it is being decommissioned, or reports no wait while waits are compared';

COMMENT ON COLUMN yquota_internal.node_queue_report.told_queue_capacity IS 'capacity in the last report; -1: none';
COMMENT ON COLUMN yquota_internal.node_queue_report.measured IS 'resources in use on the node, native units; NULL: not reported';

CREATE TABLE yquota_internal.node_queue_capacity (
	node text COLLATE "C" PRIMARY KEY,
	queue_capacity integer NOT NULL CHECK (queue_capacity >= 0)
);
COMMENT ON TABLE yquota_internal.node_queue_capacity IS
	'Number of OPPORTUNISTIC containers that may wait at a node, from its last report.  This table is logged, because node queues outlive the unlogged reports. report_nodes() writes it when a node reports a change';
SELECT pg_extension_config_dump('yquota_internal.node_queue_capacity', '');

CREATE UNLOGGED TABLE yquota_internal.opportunistic_slot (
	node text COLLATE "C" PRIMARY KEY,
	reported_at timestamptz NOT NULL,
	slots integer NOT NULL CHECK (slots >= 0),
	allocated yquota.resource
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.opportunistic_slot IS
	'Slots and resources that allocate_opportunistic() has taken from nodes since their last reports';
COMMENT ON COLUMN yquota_internal.opportunistic_slot.reported_at IS 'time of the node''s report from which the row counts.  If the node has a newer report, the row counts as nothing taken';
COMMENT ON COLUMN yquota_internal.opportunistic_slot.slots IS 'slots taken in the queue';
COMMENT ON COLUMN yquota_internal.opportunistic_slot.allocated IS 'free resources taken, native units; NULL: the comparator ignores resources';

CREATE UNLOGGED TABLE yquota_internal.load_list (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	sort_number bigint NOT NULL,
	sorted_at timestamptz NOT NULL,
	comparator text NOT NULL,
	mean integer NOT NULL,
	deviation integer NOT NULL,
	max_queue_length integer,
	max_wait_ms integer,
	candidates text[] COLLATE "C" NOT NULL,
	others text[] COLLATE "C" NOT NULL
) WITH (fillfactor = 10);
-- Stores names of thousands of nodes uncompressed: compressing takes longer than writing them.
ALTER TABLE yquota_internal.load_list ALTER COLUMN candidates SET STORAGE EXTERNAL, ALTER COLUMN others SET STORAGE EXTERNAL;
COMMENT ON TABLE yquota_internal.load_list IS
	'Present list of nodes, sorted by load: one row, or none before the first sort';
COMMENT ON COLUMN yquota_internal.load_list.sort_number IS 'number of the list, counted from the last start after a crash';
COMMENT ON COLUMN yquota_internal.load_list.comparator IS 'comparator by which the list was sorted';
COMMENT ON COLUMN yquota_internal.load_list.mean IS 'mean of queue lengths, or of waits in milliseconds, depending on the comparator';
COMMENT ON COLUMN yquota_internal.load_list.deviation IS 'standard deviation';
COMMENT ON COLUMN yquota_internal.load_list.max_queue_length IS 'limit sent to nodes; NULL: none';
COMMENT ON COLUMN yquota_internal.load_list.max_wait_ms IS 'limit sent to nodes, milliseconds; NULL: none';
COMMENT ON COLUMN yquota_internal.load_list.candidates IS 'first scheduler_setting.opportunistic_nodes_used nodes of the list, which serve requests without a location';
COMMENT ON COLUMN yquota_internal.load_list.others IS 'the rest of the list';

CREATE UNLOGGED TABLE yquota_internal.anywhere_turn (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	sort_number bigint NOT NULL,
	place integer NOT NULL CHECK (place >= 0)
) WITH (fillfactor = 10);
COMMENT ON TABLE yquota_internal.anywhere_turn IS
	'If nodes take turns: the place in the list where the next search for any node begins.  One row, or none';
COMMENT ON COLUMN yquota_internal.anywhere_turn.sort_number IS 'number of the list.  In a list with another number, the search begins with the first node';
COMMENT ON COLUMN yquota_internal.anywhere_turn.place IS 'place in the list, from 0 on';

CREATE TABLE yquota_internal.opportunistic_response (
	application_id text COLLATE "C" PRIMARY KEY,
	response_id integer NOT NULL,
	attempt integer NOT NULL,
	first_container bigint NOT NULL,
	end_container bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.opportunistic_response IS
	'For each application, the last call of allocate_opportunistic() that had a response id.  A repeated call with that id gets the same answer';
COMMENT ON COLUMN yquota_internal.opportunistic_response.attempt IS 'number of the application master';
COMMENT ON COLUMN yquota_internal.opportunistic_response.first_container IS 'number of the first container that the call allocated';
COMMENT ON COLUMN yquota_internal.opportunistic_response.end_container IS 'number of the last container, plus one';
SELECT pg_extension_config_dump('yquota_internal.opportunistic_response', '');

CREATE TABLE yquota_internal.opportunistic_count (
	part integer PRIMARY KEY,
	central bigint NOT NULL,
	node_local bigint NOT NULL,
	rack_local bigint NOT NULL,
	off_switch bigint NOT NULL,
	demoted bigint NOT NULL,
	promoted_by_rule bigint NOT NULL,
	timed bigint NOT NULL,
	latency bigint NOT NULL,
	within bigint[] NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.opportunistic_count IS
	'Counts for metrics: OPPORTUNISTIC containers that have been allocated, GUARANTEED containers that were demoted, and promotions by rule.  Each count is the sum over all rows, so that concurrent transactions can change different rows';
COMMENT ON COLUMN yquota_internal.opportunistic_count.central IS 'containers that allocate_opportunistic() has allocated';
COMMENT ON COLUMN yquota_internal.opportunistic_count.node_local IS 'containers on a requested node.  This and the next two columns include containers of local schedulers that report the locality';
COMMENT ON COLUMN yquota_internal.opportunistic_count.demoted IS 'containers demoted by update_containers()';
COMMENT ON COLUMN yquota_internal.opportunistic_count.promoted_by_rule IS 'containers that allocation cycles promoted because of queue.auto_promote_after';
COMMENT ON COLUMN yquota_internal.opportunistic_count.timed IS 'containers whose latency is known';
COMMENT ON COLUMN yquota_internal.opportunistic_count.latency IS
	'sum of the latencies of the containers in timed, from the first request to the allocation, microseconds';
COMMENT ON COLUMN yquota_internal.opportunistic_count.within IS 'for each of latency_bounds(), the number of containers whose known latency is at most this bound';
SELECT pg_extension_config_dump('yquota_internal.opportunistic_count', '');

CREATE FUNCTION yquota_internal.latency_bounds() RETURNS bigint[]
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_latency_bounds';
COMMENT ON FUNCTION yquota_internal.latency_bounds() IS
	'Return the upper bounds of latency, in microseconds; opportunistic_count.within has one count for each bound';

CREATE UNLOGGED TABLE yquota_internal.node_difference (
	node text COLLATE "C" PRIMARY KEY,
	since timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.node_difference IS
	'Nodes that report another number of running containers than the books have; written by watch_node_reports()';
COMMENT ON COLUMN yquota_internal.node_difference.since IS 'time at which the difference was first seen';

-- Finds the nodes of a rack for requests that name the rack.
CREATE INDEX node_rack_idx ON yquota.node (rack, name);

CREATE FUNCTION yquota.report_nodes(reports yquota.node_report[])
	RETURNS TABLE (node text, accepted boolean, reason text, max_queue_length integer, max_wait interval)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_report_nodes';
COMMENT ON FUNCTION yquota.report_nodes(yquota.node_report[]) IS
	'Record reports of nodes about their queues, and return the answers, as YARN''s node heartbeat does.  Returns one row for each report.  The row has the reason why the report was not accepted, or why the node is not in the list.  It also has the limit of the node''s queue: max_queue_length containers, or max_wait.  A report that is not newer than the stored one changes nothing';

CREATE FUNCTION yquota.allocate_opportunistic(
	application_id text, requests yquota.container_request[] DEFAULT '{}',
	blacklist_additions text[] DEFAULT '{}', blacklist_removals text[] DEFAULT '{}',
	seed bigint DEFAULT NULL, response_id integer DEFAULT NULL)
	RETURNS TABLE (
		decision text, container_id text, application_id text, queue text, node text, allocation yquota.resource,
		locality text, priority integer, allocation_request_id bigint, execution_type yquota.execution_type,
		stopped_by text, stopped_at text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_allocate_opportunistic';
COMMENT ON FUNCTION yquota.allocate_opportunistic(text, yquota.container_request[], text[], text[], bigint, integer) IS
	'Record the present requests of an application, of both execution types.  Then allocate all outstanding OPPORTUNISTIC containers, as YARN''s central allocator does.  Containers go to the requested hosts and racks, then to one of the least loaded nodes.  GUARANTEED containers are left to the scheduler.  Returns one row for each container, or one row that tells what stops the application.  A request interceptor may stop it (stopped_at), with its reason (stopped_by).  The same seed makes the same choice of nodes (NULL: a random seed).  A repeated response_id changes nothing, and returns those decisions of the last call that are not acknowledged';

CREATE FUNCTION yquota_internal.allocate_opportunistic(
	application_id text, requests yquota.container_request[], blacklist_additions text[], blacklist_removals text[],
	seed bigint, response_id integer, starts integer[])
	RETURNS TABLE (
		decision text, container_id text, application_id text, queue text, node text, allocation yquota.resource,
		locality text, priority integer, allocation_request_id bigint, execution_type yquota.execution_type,
		stopped_by text, stopped_at text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_allocate_opportunistic';
COMMENT ON FUNCTION yquota_internal.allocate_opportunistic(text, yquota.container_request[], text[], text[], bigint, integer, integer[]) IS
	'Run yquota.allocate_opportunistic() with recorded draws instead of random ones.  Each draw is the place in the list, counted from 0, where the search for any node begins';

--
-- Removes the report of a node that leaves service or is deleted. The node is unknown until it
-- reports again, perhaps with another queue capacity. A node that is being decommissioned keeps its
-- report: its next report says that it is being decommissioned.
--
CREATE FUNCTION yquota_internal.forget_node_report() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	DELETE FROM yquota_internal.node_queue_report AS r WHERE r.node = OLD.name;
	DELETE FROM yquota_internal.opportunistic_slot AS s WHERE s.node = OLD.name;
	DELETE FROM yquota_internal.node_preemption AS p WHERE p.node = OLD.name;
	IF TG_OP = 'DELETE' OR NEW.name <> OLD.name THEN
		DELETE FROM yquota_internal.node_queue_capacity AS q WHERE q.node = OLD.name;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.forget_node_report() IS
	'Remove the report of a node, and the records of slots taken and resources freed there.  If the node itself is removed, also remove the capacity of its queue';

CREATE TRIGGER forget_report AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.name <> NEW.name OR OLD.state <> NEW.state AND NEW.state NOT IN ('RUNNING', 'DECOMMISSIONING'))
	EXECUTE FUNCTION yquota_internal.forget_node_report();
CREATE TRIGGER forget_deleted_report AFTER DELETE ON yquota.node
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.forget_node_report();

--
-- Views for people
--
CREATE FUNCTION yquota_internal.reported_nodes()
	RETURNS TABLE (
		node text, place integer, queue_length integer, slots integer, queue_capacity integer, estimated_wait interval,
		reported_at timestamptz, allocated yquota.resource, running_guaranteed integer, running_opportunistic integer,
		queued_guaranteed integer, queued_opportunistic integer, is_listed boolean,
		sorted_at timestamptz, comparator text, max_queue_length integer, max_wait interval)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1000
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF pg_is_in_recovery() THEN
		RETURN;
	END IF;
	RETURN QUERY
	SELECT r.node::text, l.place::integer, r.queued_guaranteed + r.queued_opportunistic, coalesce(s.slots, 0),
		   coalesce(r.queue_capacity, (SELECT o.opportunistic_queue_capacity FROM yquota.scheduler_setting AS o), 0),
		   r.estimated_wait, r.reported_at,
		   coalesce(r.allocated, '[]') OPERATOR(yquota.+) coalesce(s.allocated, '[]'),
		   r.running_guaranteed, r.running_opportunistic, r.queued_guaranteed, r.queued_opportunistic, r.is_listed,
		   f.sorted_at, f.comparator, f.max_queue_length, f.max_wait_ms * interval '1 ms'
	FROM yquota_internal.node_queue_report AS r
	LEFT JOIN yquota_internal.opportunistic_slot AS s ON s.node = r.node AND s.reported_at = r.reported_at
	LEFT JOIN yquota_internal.load_list AS f ON true
	LEFT JOIN (SELECT u.node, u.place FROM yquota_internal.load_list AS list
			   CROSS JOIN LATERAL unnest(list.candidates || list.others) WITH ORDINALITY AS u (node, place)) AS l ON l.node = r.node;
END
$$;
COMMENT ON FUNCTION yquota_internal.reported_nodes() IS
	'Return the nodes that have reported, with the slots taken since their reports and their place in the load list (NULL: not in it).  Returns no row on a standby';

CREATE VIEW yquota.opportunistic_node WITH (security_barrier) AS
	SELECT r.place, r.node, n.rack, n.label, r.queue_length, r.slots, r.queue_capacity, r.estimated_wait, r.reported_at,
		   r.sorted_at, r.comparator, r.max_queue_length, r.max_wait
	FROM yquota_internal.reported_nodes() AS r
	JOIN yquota.node AS n ON n.name = r.node AND n.state = 'RUNNING'
	WHERE r.place IS NOT NULL
	ORDER BY r.place;
COMMENT ON VIEW yquota.opportunistic_node IS
	'Present list of nodes by load, least loaded first, without nodes whose queues were full.  After each node_sorting_interval, the first call of report_nodes() or allocate_opportunistic() makes a new list.  Empty on a standby';
COMMENT ON COLUMN yquota.opportunistic_node.place IS 'place in the list, from 1; containers without a requested location go to the first scheduler_setting.opportunistic_nodes_used nodes';
COMMENT ON COLUMN yquota.opportunistic_node.label IS 'partition of the node';
COMMENT ON COLUMN yquota.opportunistic_node.queue_length IS 'queued containers of both execution types in the node''s last report';
COMMENT ON COLUMN yquota.opportunistic_node.slots IS 'slots taken in the node''s queue since that report';
COMMENT ON COLUMN yquota.opportunistic_node.queue_capacity IS 'OPPORTUNISTIC containers that may wait at the node; 0: none';
COMMENT ON COLUMN yquota.opportunistic_node.estimated_wait IS 'wait reported by the node, or estimated by expected durations; NULL: not known';
COMMENT ON COLUMN yquota.opportunistic_node.sorted_at IS 'time at which the list was made';
COMMENT ON COLUMN yquota.opportunistic_node.comparator IS 'comparator of the list: QUEUE_LENGTH, QUEUE_WAIT_TIME or QUEUE_LENGTH_THEN_RESOURCES';
COMMENT ON COLUMN yquota.opportunistic_node.max_queue_length IS 'limit of queue lengths that is sent to every node. It is the mean of the listed nodes plus queue_limit_stdev standard deviations, within min_queue_length and max_queue_length; NULL under QUEUE_WAIT_TIME';
COMMENT ON COLUMN yquota.opportunistic_node.max_wait IS 'limit of waits that is sent to every node, computed in the same way; NULL except under QUEUE_WAIT_TIME';

CREATE VIEW yquota.node_queue_report WITH (security_barrier) AS
	WITH held AS (
		SELECT c.node,
			   count(*) FILTER (WHERE c.execution_type = 'GUARANTEED') AS guaranteed,
			   count(*) FILTER (WHERE c.execution_type = 'OPPORTUNISTIC' AND c.is_running) AS running_opportunistic,
			   count(*) FILTER (WHERE c.execution_type = 'OPPORTUNISTIC' AND NOT c.is_running) AS waiting_opportunistic
		FROM yquota.container AS c
		GROUP BY c.node)
	SELECT r.node, r.reported_at, r.running_guaranteed, r.running_opportunistic, r.queued_guaranteed, r.queued_opportunistic,
		   r.estimated_wait, r.queue_capacity, r.is_listed,
		   coalesce(h.guaranteed, 0) AS books_guaranteed,
		   coalesce(h.running_opportunistic, 0) AS books_running_opportunistic,
		   coalesce(h.waiting_opportunistic, 0) AS books_waiting_opportunistic,
		   r.running_guaranteed + r.queued_guaranteed <> coalesce(h.guaranteed, 0)
		   OR r.running_opportunistic <> coalesce(h.running_opportunistic, 0)
		   OR r.queued_opportunistic <> coalesce(h.waiting_opportunistic, 0) AS differs
	FROM yquota_internal.reported_nodes() AS r
	LEFT JOIN held AS h ON h.node = r.node;
COMMENT ON VIEW yquota.node_queue_report IS
	'Last reports of nodes about their containers, beside the numbers in the books.  The numbers differ for a while because of containers on their way to a node, and of ends not reported yet.  Empty on a standby';
COMMENT ON COLUMN yquota.node_queue_report.running_guaranteed IS 'number of containers, as reported by the node';
COMMENT ON COLUMN yquota.node_queue_report.running_opportunistic IS 'number of containers, as reported by the node';
COMMENT ON COLUMN yquota.node_queue_report.queued_guaranteed IS 'number of containers, as reported by the node';
COMMENT ON COLUMN yquota.node_queue_report.queued_opportunistic IS 'number of containers, as reported by the node';
COMMENT ON COLUMN yquota.node_queue_report.estimated_wait IS 'wait reported by the node, or estimated by expected durations; NULL: not known';
COMMENT ON COLUMN yquota.node_queue_report.queue_capacity IS 'OPPORTUNISTIC containers that may wait at the node, as the load list uses this number';
COMMENT ON COLUMN yquota.node_queue_report.is_listed IS 'false: the node cannot be in the load list, because the node is being decommissioned, or because it reports no wait while waits are compared';
COMMENT ON COLUMN yquota.node_queue_report.books_guaranteed IS 'GUARANTEED containers, running and queued';
COMMENT ON COLUMN yquota.node_queue_report.books_waiting_opportunistic IS 'OPPORTUNISTIC containers that do not run: on their way, queued, or paused';
COMMENT ON COLUMN yquota.node_queue_report.differs IS 'true if the report and the books have different numbers of containers';
