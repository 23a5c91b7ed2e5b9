--
-- Opportunistic containers, distributed allocation (semantics/opportunistic).  The local scheduler
-- of a node receives a list of nodes and a range of container numbers. It allocates containers, and
-- reports them (semantics/opportunistic 4). These functions run as the owner; a role that may call them acts
-- for local schedulers.  Scheduling is not federated: there is one cluster.
--

CREATE TABLE yquota.node_lease (
	epoch bigint PRIMARY KEY CHECK (epoch BETWEEN 2 AND 8388607),
	local_scheduler text COLLATE "C" NOT NULL CHECK (local_scheduler <> ''),
	leased_at timestamptz NOT NULL,
	renewed_at timestamptz NOT NULL,
	expires_at timestamptz NOT NULL,
	containers bigint NOT NULL
);
COMMENT ON TABLE yquota.node_lease IS
	'Leases that lease_nodes() has given to local schedulers.  Each new lease also removes expired leases';
COMMENT ON COLUMN yquota.node_lease.epoch IS
	'unique number. For each application, the numbers of its containers begin below the epoch times 2^40 and count down';
COMMENT ON COLUMN yquota.node_lease.local_scheduler IS 'name that the scheduler gives itself: the name of its node, if it has one';
COMMENT ON COLUMN yquota.node_lease.renewed_at IS 'time at which the scheduler last received a list of nodes';
COMMENT ON COLUMN yquota.node_lease.expires_at IS 'end of the lease; containers that are reported later are refused';
COMMENT ON COLUMN yquota.node_lease.containers IS 'number of containers recorded for the lease';

CREATE TABLE yquota_internal.lease_epoch (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	last_epoch bigint NOT NULL,
	containers bigint NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE yquota_internal.lease_epoch IS
	'Last epoch that lease_nodes() has given: one row, or none before the first lease';
COMMENT ON COLUMN yquota_internal.lease_epoch.last_epoch IS 'last epoch given. The first is 2, because the scheduler''s own numbers begin with 1';
COMMENT ON COLUMN yquota_internal.lease_epoch.containers IS 'number of containers recorded under leases that have been removed';

SELECT pg_extension_config_dump('yquota.node_lease', '');
SELECT pg_extension_config_dump('yquota_internal.lease_epoch', '');

CREATE FUNCTION yquota_internal.container_id(application_id text, attempt integer, number bigint) RETURNS text
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_container_id';
COMMENT ON FUNCTION yquota_internal.container_id(text, integer, bigint) IS
	'Return the id of a container in YARN''s form';

CREATE FUNCTION yquota_internal.is_distributed() RETURNS boolean
	LANGUAGE c STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_is_distributed';
COMMENT ON FUNCTION yquota_internal.is_distributed() IS
	'Tell whether OPPORTUNISTIC containers are allocated and both switches of distributed scheduling are on';

CREATE FUNCTION yquota_internal.refresh_load_list() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_refresh_load_list';
COMMENT ON FUNCTION yquota_internal.refresh_load_list() IS
	'Make a new list of nodes by load if it is due';

CREATE FUNCTION yquota_internal.opportunistic_bounds(OUT minimum yquota.resource, OUT maximum yquota.resource, OUT increment yquota.resource)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_opportunistic_bounds';
COMMENT ON FUNCTION yquota_internal.opportunistic_bounds() IS
	'Return the bounds of the size of OPPORTUNISTIC containers, native units';

CREATE FUNCTION yquota_internal.count_distributed(localities text[], latencies bigint[]) RETURNS void
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_count_distributed';
COMMENT ON FUNCTION yquota_internal.count_distributed(text[], bigint[]) IS
	'Count containers of local schedulers by locality (empty: not reported) and latency (microseconds; negative: not known)';

CREATE FUNCTION yquota_internal.lock_for_containers(application_ids text[], payers text[])
	RETURNS TABLE (application_id text, stopped_by text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_lock_for_containers';
COMMENT ON FUNCTION yquota_internal.lock_for_containers(text[], text[]) IS
	'Lock the leaf queues of the applications, which are given with the projects that pay for them.  Returns the ACTIVE applications, each with the rule by which it may have no OPPORTUNISTIC container, or NULL';

--
-- An epoch is a number of 23 bits.  A local scheduler that restarts gets a new epoch; a running
-- local scheduler keeps its epoch.
--
CREATE FUNCTION yquota.lease_nodes(local_scheduler text, count integer DEFAULT NULL, held_epoch bigint DEFAULT NULL)
	RETURNS TABLE (
		place integer, node text, rack text, label text, epoch bigint, expires_at timestamptz,
		minimum yquota.resource, maximum yquota.resource, increment yquota.resource)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	setting yquota.scheduler_setting;
	now_at timestamptz := yquota.clock();
	lease yquota.node_lease;
BEGIN
	SELECT * INTO setting FROM yquota.scheduler_setting;
	IF lease_nodes.local_scheduler IS NULL OR lease_nodes.local_scheduler = '' THEN
		RAISE EXCEPTION 'local_scheduler must not be null or empty' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF lease_nodes.count < 0 THEN
		RAISE EXCEPTION 'count of nodes must not be negative' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF NOT yquota_internal.is_distributed() THEN
		RAISE EXCEPTION 'distributed scheduling is not enabled'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Set yarn.resourcemanager.opportunistic-container-allocation.enabled, yarn.nodemanager.distributed-scheduling.enabled and yarn.nodemanager.amrmproxy.enabled to true.';
	END IF;
	PERFORM yquota_internal.refresh_load_list();
	IF held_epoch IS NULL THEN
		WITH removed AS (
			DELETE FROM yquota.node_lease AS l WHERE l.expires_at < now_at - interval '1 day'
			RETURNING l.containers
		)
		INSERT INTO yquota_internal.lease_epoch AS e (last_epoch, containers)
		SELECT 2, coalesce(sum(r.containers), 0) FROM removed AS r
		ON CONFLICT (only_row) DO UPDATE SET last_epoch = e.last_epoch + 1, containers = e.containers + excluded.containers
		RETURNING e.last_epoch INTO lease.epoch;
		INSERT INTO yquota.node_lease AS l (epoch, local_scheduler, leased_at, renewed_at, expires_at, containers)
		VALUES (lease.epoch, lease_nodes.local_scheduler, now_at, now_at,
				now_at + coalesce(setting.opportunistic_token_expiry, setting.allocation_expiry, '10 minutes'), 0)
		RETURNING * INTO lease;
	ELSE
		UPDATE yquota.node_lease AS l
		SET renewed_at = now_at,
			expires_at = greatest(l.expires_at, now_at + coalesce(setting.opportunistic_token_expiry, setting.allocation_expiry, '10 minutes'))
		WHERE l.epoch = held_epoch AND l.local_scheduler = lease_nodes.local_scheduler AND l.expires_at > now_at
		RETURNING * INTO lease;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'epoch % is in no lease of local scheduler "%" that is in force', held_epoch, lease_nodes.local_scheduler
				USING ERRCODE = 'object_not_in_prerequisite_state',
					HINT = 'Call lease_nodes() without held_epoch for a new lease.';
		END IF;
	END IF;
	RETURN QUERY
	SELECT r.place, r.node, n.rack::text, n.label::text, lease.epoch, lease.expires_at, b.minimum, b.maximum, b.increment
	FROM yquota_internal.opportunistic_bounds() AS b
	LEFT JOIN (yquota_internal.reported_nodes() AS r JOIN yquota.node AS n ON n.name = r.node AND n.state = 'RUNNING')
		ON r.place <= coalesce(lease_nodes.count, setting.opportunistic_nodes_used, 10)
	ORDER BY r.place;
END
$$;
COMMENT ON FUNCTION yquota.lease_nodes(text, integer, bigint) IS
	'Give a local scheduler the least loaded nodes (count; NULL: scheduler_setting.opportunistic_nodes_used) and an epoch for numbers of containers, until expires_at.  With held_epoch, the epoch of an earlier lease, renew the list and the lease.  Returns one row for each node, or one row without a node if the list is empty.  Sizes of containers are minimum to maximum, in steps of increment (native units)';

CREATE TYPE yquota.distributed_container AS (
	application_id text,
	container_number bigint,
	node text,
	allocation yquota.resource,
	priority integer,
	allocation_request_id bigint,
	decided_at timestamptz,
	locality text,
	requested_at timestamptz,
	expected_duration interval
);
COMMENT ON TYPE yquota.distributed_container IS
	'Container that a local scheduler has allocated, for report_distributed_containers().  NULL means priority 1, allocation request id -1, the clock as the time of the decision, and unknown locality and request time';
COMMENT ON COLUMN yquota.distributed_container.locality IS 'distance from the request: NODE_LOCAL, RACK_LOCAL or OFF_SWITCH';
COMMENT ON COLUMN yquota.distributed_container.requested_at IS 'time at which the container was first requested, for the latency in metrics';
COMMENT ON COLUMN yquota.distributed_container.expected_duration IS 'expected run time, more than 0; NULL: not known';
COMMENT ON COLUMN yquota.distributed_container.container_number IS 'number of the container within the application: above (epoch of the lease - 1) * 2^40, below epoch * 2^40';
COMMENT ON COLUMN yquota.distributed_container.allocation IS 'native units';

CREATE FUNCTION yquota_internal.judge_distributed_containers(
	local_scheduler text, containers yquota.distributed_container[], now_at timestamptz, allowed text[], stops text[])
	RETURNS TABLE (
		place bigint, container_id text, is_new boolean, reason text, application_id text, project text, username text, queue text,
		node text, allocation yquota.resource, priority integer, allocation_request_id bigint, decided_at timestamptz, epoch bigint,
		locality text, latency bigint, expected_duration interval)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT c.place, i.container_id, k.container_id IS NULL AND NOT ended.is_known,
			   CASE -- a repeated report gets the first answer, even after the container has ended
					WHEN l.epoch IS NOT NULL AND ((k.application_id, k.node) = (c.application_id, c.node) OR ended.is_known) THEN NULL
					WHEN s.application_id IS NULL THEN 'the application is not ACTIVE'
					WHEN l.epoch IS NULL THEN 'the number is in no lease of the local scheduler'
					WHEN l.expires_at <= now_at THEN 'the lease has expired'
					WHEN k.container_id IS NOT NULL THEN 'the number is taken'
					WHEN s.stopped_by IS NOT NULL THEN s.stopped_by
					WHEN n.name IS NULL THEN 'the node does not exist'
					WHEN c.decided_at > now_at OR c.decided_at < l.leased_at THEN 'it was decided outside the time of the lease'
					-- the containers of an earlier application master have ids of another attempt
					WHEN c.decided_at < m.started_at THEN 'it was decided before the application master started'
					WHEN m.node <> local_scheduler AND EXISTS (SELECT FROM yquota.node AS own WHERE own.name = local_scheduler)
						THEN 'the application master runs on another node'
					WHEN n.state IN ('LOST', 'DECOMMISSIONED', 'SHUTDOWN') THEN format('the node is %s', n.state)
					WHEN row_number() OVER (PARTITION BY i.container_id ORDER BY c.place) > 1 THEN 'the number is taken' END,
			   c.application_id, coalesce(a.project, split_part(a.username, '__', 1)), a.username, a.queue,
			   c.node, c.allocation, coalesce(c.priority, 1), coalesce(c.allocation_request_id, -1), coalesce(c.decided_at, now_at), l.epoch,
			   c.locality,
			   CASE WHEN c.requested_at IS NOT NULL
					THEN greatest((1000000 * extract(epoch FROM coalesce(c.decided_at, now_at) - c.requested_at))::bigint, 0) END,
			   c.expected_duration
		FROM unnest(containers) WITH ORDINALITY
			AS c (application_id, container_number, node, allocation, priority, allocation_request_id, decided_at, locality, requested_at,
				  expected_duration, place)
		LEFT JOIN unnest(allowed, stops) AS s (application_id, stopped_by) ON s.application_id = c.application_id
		LEFT JOIN yquota.application AS a ON a.application_id = c.application_id
		LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = c.application_id
		CROSS JOIN LATERAL (
			SELECT yquota_internal.container_id(c.application_id, coalesce(t.attempt, 1), c.container_number) AS container_id) AS i
		LEFT JOIN yquota.node_lease AS l ON l.local_scheduler = judge_distributed_containers.local_scheduler
			AND l.epoch = (c.container_number >> 40) + 1 AND c.container_number & 1099511627775 > 0
		LEFT JOIN yquota.container AS k ON k.container_id = i.container_id
		LEFT JOIN yquota.container AS m ON m.container_id = t.am_container_id
		LEFT JOIN yquota.node AS n ON n.name = c.node
		CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM yquota.charge AS charge WHERE charge.container_id = i.container_id) AS is_known) AS ended;
$$;
COMMENT ON FUNCTION yquota_internal.judge_distributed_containers(text, yquota.distributed_container[], timestamptz, text[], text[]) IS
	'Decide for report_distributed_containers() which containers to record, which have been recorded before, and why others are refused.  The arguments name the applications that may have containers, and the rules that stop others';

CREATE FUNCTION yquota.report_distributed_containers(local_scheduler text, containers yquota.distributed_container[])
	RETURNS TABLE (container_id text, accepted boolean, reason text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS $$
#variable_conflict use_column
DECLARE
	now_at timestamptz := yquota.clock();
	allowed text[];
	stops text[];
	places bigint[] := '{}';
	refusals text[] := '{}';
	is_limited boolean;
BEGIN
	IF report_distributed_containers.local_scheduler IS NULL OR containers IS NULL OR EXISTS (
		SELECT FROM unnest(containers) AS c WHERE num_nulls(c.application_id, c.container_number, c.node, c.allocation) > 0) THEN
		RAISE EXCEPTION 'local_scheduler, and application, number, node and allocation of a container, must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF EXISTS (SELECT FROM unnest(containers) AS c WHERE c.locality NOT IN ('NODE_LOCAL', 'RACK_LOCAL', 'OFF_SWITCH')) THEN
		RAISE EXCEPTION 'locality of a container must be NODE_LOCAL, RACK_LOCAL or OFF_SWITCH'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF EXISTS (SELECT FROM unnest(containers) AS c WHERE NOT (isfinite(c.decided_at) AND isfinite(c.requested_at))) THEN
		RAISE EXCEPTION 'decided_at and requested_at of a container must be finite' USING ERRCODE = 'datetime_field_overflow';
	END IF;
	IF EXISTS (SELECT FROM unnest(containers) AS c WHERE c.expected_duration <= '0' OR c.expected_duration > '36500 days') THEN
		RAISE EXCEPTION 'expected_duration of a container must be more than 0 and at most 36500 days'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT array_agg(l.application_id), array_agg(l.stopped_by) INTO allowed, stops
	FROM (SELECT array_agg(a.application_id::text) AS ids, array_agg(coalesce(a.project, split_part(a.username, '__', 1))::text) AS payers
		  FROM yquota.application AS a
		  WHERE a.application_id IN (SELECT c.application_id FROM unnest(containers) AS c)) AS known
	CROSS JOIN LATERAL yquota_internal.lock_for_containers(coalesce(known.ids, '{}'), coalesce(known.payers, '{}')) AS l;
	is_limited := EXISTS (
		SELECT FROM yquota_internal.opportunistic_counting, yquota_internal.opportunistic_limit AS l
		WHERE l.scope <> 'queue' OR EXISTS (
			SELECT FROM yquota.application AS a
			WHERE a.application_id = ANY (allowed) AND l.name = ANY (yquota_internal.queues_above(a.queue))));
	IF is_limited THEN
		PERFORM yquota_internal.lock_sharing();
	END IF;
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	IF is_limited THEN
		SELECT array_agg(j.place ORDER BY j.place),
			   yquota_internal.refuse_beyond_limits(array_agg(j.application_id ORDER BY j.place), array_agg(j.username ORDER BY j.place),
													array_agg(j.queue ORDER BY j.place), array_agg(j.allocation ORDER BY j.place))
		INTO places, refusals
		FROM yquota_internal.judge_distributed_containers(
			report_distributed_containers.local_scheduler, containers, now_at, allowed, stops) AS j
		WHERE j.is_new AND j.reason IS NULL;
	END IF;
	RETURN QUERY
	WITH judged AS MATERIALIZED (
		SELECT j.place, j.container_id, j.is_new, coalesce(j.reason, r.refusal) AS reason, j.application_id, j.project, j.username, j.queue,
			   j.node, j.allocation, j.priority, j.allocation_request_id, j.decided_at, j.epoch, j.locality, j.latency, j.expected_duration
		FROM yquota_internal.judge_distributed_containers(
			report_distributed_containers.local_scheduler, containers, now_at, allowed, stops) AS j
		LEFT JOIN unnest(places, refusals) AS r (place, refusal) ON r.place = j.place
	), started AS (
		INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
			execution_type, source, priority, allocation_request_id, asked_label, is_am, is_running)
		SELECT 'CONTAINER_START', j.container_id, j.decided_at, j.project, j.application_id, j.username, j.queue, j.node, j.allocation,
			   'OPPORTUNISTIC', 'scheduler', j.priority, j.allocation_request_id, '', false, false
		FROM judged AS j
		WHERE j.is_new AND j.reason IS NULL
		ORDER BY j.container_id
	), told AS (
		INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, locality, priority, allocation_request_id,
			decided_at, execution_type)
		SELECT 'allocated', j.container_id, j.application_id, j.queue, j.node, j.allocation, j.locality, j.priority, j.allocation_request_id,
			   now_at, 'OPPORTUNISTIC'
		FROM judged AS j
		WHERE j.is_new AND j.reason IS NULL
		ORDER BY j.place
	), expected AS (
		INSERT INTO yquota_internal.expected_duration (container_id, expected_duration)
		SELECT j.container_id, j.expected_duration
		FROM judged AS j
		WHERE j.is_new AND j.reason IS NULL AND j.expected_duration IS NOT NULL
		ORDER BY j.container_id
	), counted AS (
		UPDATE yquota.node_lease AS l SET containers = l.containers + n.containers
		FROM (SELECT j.epoch, count(*) AS containers FROM judged AS j WHERE j.is_new AND j.reason IS NULL GROUP BY j.epoch) AS n
		WHERE l.epoch = n.epoch
	), measured AS MATERIALIZED (
		SELECT yquota_internal.count_distributed(array_agg(coalesce(j.locality, '')), array_agg(coalesce(j.latency, -1)))
		FROM judged AS j
		WHERE j.is_new AND j.reason IS NULL AND num_nonnulls(j.locality, j.latency) > 0
		HAVING count(*) > 0
	)
	-- read the count, because the planner would otherwise leave out "measured" and its function call
	SELECT j.container_id, j.reason IS NULL, j.reason FROM judged AS j
	WHERE (SELECT count(*) FROM measured) >= 0
	ORDER BY j.place;
END
$$;
COMMENT ON FUNCTION yquota.report_distributed_containers(text, yquota.distributed_container[]) IS
	'Record OPPORTUNISTIC containers that a local scheduler has allocated under its own lease, which has not expired.  Returns one row for each container, with the reason if it was refused.  A report may be repeated';

--
-- The function below computes what a local scheduler decides.  Local schedulers written in SQL and tests call it.
--
CREATE TYPE yquota.leased_node AS (
	node text,
	rack text,
	label text
);
COMMENT ON TYPE yquota.leased_node IS
	'Node in the list that lease_nodes() has given, for allocate_distributed()';
COMMENT ON COLUMN yquota.leased_node.label IS 'partition of the node; NULL and empty for the default partition';

CREATE FUNCTION yquota.allocate_distributed(
	nodes yquota.leased_node[], requests yquota.container_request[], outstanding yquota.container_request[] DEFAULT '{}',
	blacklist text[] DEFAULT '{}', max_containers integer DEFAULT -1,
	minimum yquota.resource DEFAULT NULL, maximum yquota.resource DEFAULT NULL, increment yquota.resource DEFAULT NULL)
	RETURNS TABLE (
		outcome text, node text, locality text, resource_name text, allocation yquota.resource, count integer,
		priority integer, allocation_request_id bigint, label text, expected_duration interval, stopped_by text, stopped_at text)
	LANGUAGE c STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_allocate_distributed';
COMMENT ON FUNCTION yquota.allocate_distributed(yquota.leased_node[], yquota.container_request[], yquota.container_request[], text[], integer, yquota.resource, yquota.resource, yquota.resource) IS
	'Compute what YARN''s local scheduler does in a heartbeat of an application.  Adds the application''s requests for OPPORTUNISTIC containers to the outstanding requests, and allocates containers on the nodes in their order.  Rows with the outcome allocated have the node, the size, and the requested host, rack or *.  Rows with the outcome outstanding are arguments of the next call.  A row with the outcome refused means that a request interceptor refuses the requests, so no container is allocated.  "stopped_at" names the interceptor, and "stopped_by" its reason.  Reads no table and changes nothing';
