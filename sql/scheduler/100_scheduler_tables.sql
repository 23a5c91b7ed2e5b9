--
-- Allocation, first part: requests and reservations of applications, and decisions
-- (semantics/allocation).  This file comes before pricing, which may count requests as utilization.
--
-- When an application ends, its rows are deleted, except the one with its last container number
-- (scheduler/370_container_requests.sql).
--

CREATE TABLE yquota.resource_request (
	application_id text COLLATE "C" NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	resource_name text COLLATE "C" NOT NULL CHECK (resource_name <> '' AND octet_length(resource_name) <= 255),
	count integer NOT NULL CHECK (count >= 0),
	allocation yquota.resource NOT NULL,
	relax_locality boolean NOT NULL,
	label text COLLATE "C" CONSTRAINT resource_request_label_check CHECK ((label IS NOT NULL) = (resource_name = '*')),
	execution_type yquota.execution_type NOT NULL,
	first_seen_at timestamptz CONSTRAINT resource_request_first_seen_at_check CHECK ((first_seen_at IS NOT NULL) = (execution_type = 'OPPORTUNISTIC')),
	expected_duration interval,
	PRIMARY KEY (application_id, priority, allocation_request_id, execution_type, resource_name)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota.resource_request IS
	'Open requests of applications, written by request_containers(), the scheduler and allocations of OPPORTUNISTIC containers.  The scheduler reads only requests for GUARANTEED containers';
COMMENT ON COLUMN yquota.resource_request.priority IS 'the smaller number comes first';
COMMENT ON COLUMN yquota.resource_request.allocation_request_id IS 'distinguishes requests of the same priority; -1: the application master gave none';
COMMENT ON COLUMN yquota.resource_request.resource_name IS 'a node, a rack, or * for any place; the count of * is the total number of containers';
COMMENT ON COLUMN yquota.resource_request.count IS 'number of containers';
COMMENT ON COLUMN yquota.resource_request.allocation IS 'size of one container, native units: for a GUARANTEED container in whole steps of the minimum allocation, for an OPPORTUNISTIC one as requested';
COMMENT ON COLUMN yquota.resource_request.relax_locality IS 'true if a container for a closer request may be placed here';
COMMENT ON COLUMN yquota.resource_request.label IS 'for *, the partition of the nodes for all requests with this priority and id; empty for the default partition';
COMMENT ON COLUMN yquota.resource_request.execution_type IS 'execution type; the scheduler reads only GUARANTEED requests';
COMMENT ON COLUMN yquota.resource_request.first_seen_at IS 'time since which an OPPORTUNISTIC request is open; NULL for GUARANTEED ones';
COMMENT ON COLUMN yquota.resource_request.expected_duration IS 'expected run time of a container, for an OPPORTUNISTIC request; NULL: not known';

CREATE TABLE yquota.blacklist (
	application_id text COLLATE "C" NOT NULL,
	resource_name text COLLATE "C" NOT NULL CHECK (resource_name <> '' AND octet_length(resource_name) <= 255),
	PRIMARY KEY (application_id, resource_name)
);
COMMENT ON TABLE yquota.blacklist IS
	'Nodes and racks on which applications want no containers; written by update_blacklist()';
COMMENT ON COLUMN yquota.blacklist.resource_name IS 'a node or rack';

CREATE TABLE yquota.reserved_container (
	node text COLLATE "C" PRIMARY KEY,
	application_id text COLLATE "C" NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	container_id text COLLATE "C" NOT NULL,
	label text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	reserved_at timestamptz NOT NULL,
	container_to_update text COLLATE "C",
	moved_at timestamptz
);
CREATE INDEX reserved_container_application_id_idx ON yquota.reserved_container (application_id);
COMMENT ON TABLE yquota.reserved_container IS
	'Nodes that are reserved for a container of an application until they have room for it.  The container counts as used by its queue';
COMMENT ON COLUMN yquota.reserved_container.priority IS 'priority of its request';
COMMENT ON COLUMN yquota.reserved_container.allocation_request_id IS 'allocation request id of the container''s request';
COMMENT ON COLUMN yquota.reserved_container.container_id IS 'id of the container that is to start on the node';
COMMENT ON COLUMN yquota.reserved_container.label IS 'partition of the node when it was reserved';
COMMENT ON COLUMN yquota.reserved_container.allocation IS 'native units';
COMMENT ON COLUMN yquota.reserved_container.container_to_update IS 'running container to which the allocation is to be added; NULL: the node is kept for a new container';
COMMENT ON COLUMN yquota.reserved_container.moved_at IS 'time at which preemption moved the reservation here from another node; NULL: never';

CREATE TABLE yquota.container_update (
	container_id text COLLATE "C" PRIMARY KEY,
	application_id text COLLATE "C" NOT NULL,
	update_type text NOT NULL CHECK (update_type IN ('INCREASE_RESOURCE', 'PROMOTE_EXECUTION_TYPE')),
	node text COLLATE "C" NOT NULL,
	label text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	requested_at timestamptz NOT NULL,
	opportunities bigint NOT NULL DEFAULT 0 CHECK (opportunities >= 0),
	missed_non_partitioned bigint NOT NULL DEFAULT 0 CHECK (missed_non_partitioned >= 0),
	re_reservations bigint NOT NULL DEFAULT 0 CHECK (re_reservations >= 0)
) WITH (fillfactor = 50);
CREATE INDEX container_update_application_id_idx ON yquota.container_update (application_id);
COMMENT ON TABLE yquota.container_update IS
	'Running containers that are to grow, or to become GUARANTEED, when their nodes have room; written by update_container() and the scheduler';
COMMENT ON COLUMN yquota.container_update.update_type IS 'INCREASE_RESOURCE or PROMOTE_EXECUTION_TYPE';
COMMENT ON COLUMN yquota.container_update.node IS 'node where the container runs; no other node can serve the update';
COMMENT ON COLUMN yquota.container_update.label IS 'requested partition; empty for the default partition';
COMMENT ON COLUMN yquota.container_update.allocation IS 'amounts that the container needs in addition to those that its queue already uses for the container, native units';
COMMENT ON COLUMN yquota.container_update.priority IS 'priority of the container; among updates, the smaller number comes first';
COMMENT ON COLUMN yquota.container_update.allocation_request_id IS 'allocation request id of the container; among updates of equal priority, the smaller number comes first';
COMMENT ON COLUMN yquota.container_update.opportunities IS 'number of times that the container''s node was offered in an allocation cycle';
COMMENT ON COLUMN yquota.container_update.missed_non_partitioned IS 'number of offers missed on nodes of other partitions that the default partition may use';
COMMENT ON COLUMN yquota.container_update.re_reservations IS 'number of times that the container''s node was reserved and still had no room';

CREATE TABLE yquota_internal.container_version (
	container_id text COLLATE "C" PRIMARY KEY,
	application_id text COLLATE "C" NOT NULL,
	version integer NOT NULL CHECK (version > 0),
	previous_allocation yquota.resource
) WITH (fillfactor = 50);
CREATE INDEX container_version_application_id_idx ON yquota_internal.container_version (application_id);
COMMENT ON TABLE yquota_internal.container_version IS
	'Versions of containers.  The version is the number of updates by update_container() and the scheduler; a container without a row has version 0';
COMMENT ON COLUMN yquota_internal.container_version.previous_allocation IS
	'allocation to restore if the last increase of the container is not acknowledged, native units; NULL: nothing to restore';

CREATE TABLE yquota.decision (
	decision_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	decision text NOT NULL CHECK (decision IN ('allocated', 'reserved', 'unreserved', 'swapped', 'increased', 'promoted', 'marked', 'killed', 'killable',
		'rejected', 'shed', 'paused', 'resumed', 'expired')),
	container_id text COLLATE "C" NOT NULL,
	application_id text COLLATE "C" NOT NULL,
	queue text COLLATE "C" NOT NULL,
	node text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	locality text CHECK (locality IN ('NODE_LOCAL', 'RACK_LOCAL', 'OFF_SWITCH')),
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	unreserved_node text COLLATE "C" CONSTRAINT decision_unreserved_node_check CHECK ((unreserved_node IS NOT NULL) = (decision = 'swapped')),
	decided_at timestamptz NOT NULL,
	advised boolean NOT NULL DEFAULT false CONSTRAINT decision_advised_check CHECK (NOT advised OR decision = 'killed'),
	farthest text CHECK (farthest IN ('NODE_LOCAL', 'RACK_LOCAL', 'OFF_SWITCH')),
	diagnostics text,
	execution_type yquota.execution_type NOT NULL DEFAULT 'GUARANTEED'
);
CREATE INDEX decision_container_id_idx ON yquota.decision (container_id);
COMMENT ON TABLE yquota.decision IS
	'Decisions of the scheduler that are not acknowledged yet.  If a decision about an allocated or enlarged container is not acknowledged within scheduler_setting.allocation_expiry, the container or the enlargement is released and the decision removed.  Decisions unreserved, marked, killed, killable, rejected, shed, paused, resumed and expired stay until they are acknowledged';
COMMENT ON COLUMN yquota.decision.decision IS 'allocated: a container starts. swapped: a container starts, and the container reserved on another node is given up for it. reserved, unreserved: a node is kept for the container, or no longer. increased: a running container has more resources now. promoted: a running container is GUARANTEED now. marked: a running container is selected for preemption. killable: a marked container ends when another one needs its room. killed: preemption has ended the container. With the diagnostics Container of a completed application, it has ended with its application, or with an attempt of it (exit status -100). Decisions of the queue of a node have diagnostics, too. killed: a container gives its room to a GUARANTEED one, and runs until its node reports the end. rejected, shed: the node''s queue has dropped a container, which has ended. paused, resumed: a container waits for room, or goes on. expired: an OPPORTUNISTIC container that did not come to its node in time has ended (exit status -100)';
COMMENT ON COLUMN yquota.decision.queue IS 'full path of the leaf';
COMMENT ON COLUMN yquota.decision.allocation IS 'size of the container, native units. If a node is kept for an increase of a running container, the amount to add';
COMMENT ON COLUMN yquota.decision.locality IS 'NODE_LOCAL, RACK_LOCAL or OFF_SWITCH; NULL when nothing starts';
COMMENT ON COLUMN yquota.decision.priority IS 'priority of its request';
COMMENT ON COLUMN yquota.decision.allocation_request_id IS 'allocation request id of the container''s request';
COMMENT ON COLUMN yquota.decision.unreserved_node IS 'node whose reservation was given up';
COMMENT ON COLUMN yquota.decision.advised IS 'true if the container runs until the resource manager ends it: scheduler_setting.preemption_mode is advise';
COMMENT ON COLUMN yquota.decision.execution_type IS 'execution type of the container after the decision';
COMMENT ON COLUMN yquota.decision.farthest IS 'farthest allowed distance from the request, by relax_locality: NODE_LOCAL, RACK_LOCAL or OFF_SWITCH; NULL when nothing starts';
COMMENT ON COLUMN yquota.decision.diagnostics IS 'Hadoop''s words for a decision of the queue of a node, or the reason why the container expired. A promotion by rule has the run time of the container, and the rule. NULL for other decisions of the scheduler';

CREATE TABLE yquota_internal.awaited_container (
	container_id text COLLATE "C" PRIMARY KEY,
	allocated_at timestamptz NOT NULL
);
CREATE INDEX awaited_container_allocated_at_idx ON yquota_internal.awaited_container (allocated_at);
COMMENT ON TABLE yquota_internal.awaited_container IS
	'OPPORTUNISTIC containers whose allocation has been acknowledged, and that have not arrived at their nodes.  A container that does not arrive before its row expires is ended.  The row of a container that runs without a call of enqueue_container() also stays until it expires';
COMMENT ON COLUMN yquota_internal.awaited_container.allocated_at IS 'time of the acknowledged decision';

CREATE TABLE yquota_internal.expected_duration (
	container_id text COLLATE "C" PRIMARY KEY,
	expected_duration interval NOT NULL CHECK (expected_duration > '0' AND expected_duration <= '36500 days')
);
COMMENT ON TABLE yquota_internal.expected_duration IS
	'Expected run time of OPPORTUNISTIC containers that have been allocated, but have not arrived at their nodes; enqueue_container() copies it to node_queue.  The job that cleans node_queue removes rows of containers that ended before they arrived';

CREATE TABLE yquota_internal.request_counter (
	application_id text COLLATE "C" NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	opportunities bigint NOT NULL CHECK (opportunities >= 0),
	missed_non_partitioned bigint NOT NULL CHECK (missed_non_partitioned >= 0),
	re_reservations bigint NOT NULL CHECK (re_reservations >= 0),
	execution_type yquota.execution_type NOT NULL,
	PRIMARY KEY (application_id, priority, allocation_request_id, execution_type)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.request_counter IS
	'Counters of requests with the same priority, id and execution type, by which cycles delay allocations.  Rows stay after the requests are served';
COMMENT ON COLUMN yquota_internal.request_counter.opportunities IS 'number of nodes offered since the last container with a good enough locality';
COMMENT ON COLUMN yquota_internal.request_counter.missed_non_partitioned IS 'number of missed chances since the last container in the default partition';
COMMENT ON COLUMN yquota_internal.request_counter.re_reservations IS 'number of times that the reserved node still had no room';

CREATE TABLE yquota_internal.application_attempt (
	application_id text COLLATE "C" PRIMARY KEY,
	attempt integer NOT NULL CHECK (attempt > 0),
	next_container bigint NOT NULL CHECK (next_container > 0),
	am_container_id text COLLATE "C"
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.application_attempt IS
	'Attempts and container numbers of applications that the scheduler has served; rows stay when applications end, because ids may be submitted again';
COMMENT ON COLUMN yquota_internal.application_attempt.attempt IS 'number of the application master, from 1; part of the ids of containers';
COMMENT ON COLUMN yquota_internal.application_attempt.next_container IS 'number of the next container';
COMMENT ON COLUMN yquota_internal.application_attempt.am_container_id IS 'container of the application master; NULL: there is none';

CREATE FUNCTION yquota_internal.demand_accum(internal, yquota.resource, bigint) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_demand_accum';
COMMENT ON FUNCTION yquota_internal.demand_accum(internal, yquota.resource, bigint) IS
	'demand(): add a vector times a number';

CREATE FUNCTION yquota_internal.demand_final(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_demand_final';
COMMENT ON FUNCTION yquota_internal.demand_final(internal) IS
	'demand(): return the sum';

CREATE AGGREGATE yquota_internal.demand(yquota.resource, bigint) (
	SFUNC = yquota_internal.demand_accum,
	STYPE = internal,
	FINALFUNC = yquota_internal.demand_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE yquota_internal.demand(yquota.resource, bigint) IS
	'Sum of vectors, each times a number.  An amount that does not fit becomes the largest possible amount, because requests have no bounds';

--
-- PL/pgSQL resolves names at the first call, so the function may name tables that later files
-- create.
--
CREATE FUNCTION yquota_internal.requested_resources() RETURNS yquota.resource
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE((SELECT yquota_internal.demand(w.allocation, w.times) FROM yquota_internal.waiting_request AS w), '[]');
END
$$;
COMMENT ON FUNCTION yquota_internal.requested_resources() IS
	'Return the sum of the open requests of applications, native units.  It includes increases of running containers and requests for AM containers';

CREATE TABLE yquota_internal.ended_application (
	application_id text COLLATE "C" PRIMARY KEY,
	ended_at timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.ended_application IS
	'Applications that have ended, whose containers still run or may still run. remove_finished_applications() keeps rows of applications with running containers';

CREATE TABLE yquota.scheduler_refusal (
	round text NOT NULL CHECK (round IN ('schedule', 'preempt_containers', 'follow_plans', 'allocate_opportunistic', 'node_queue', 'expiry', 'end_expired_applications')),
	subject text COLLATE "C" NOT NULL,
	sqlstate text NOT NULL,
	message text NOT NULL,
	detail text,
	hint text,
	refusals bigint NOT NULL,
	first_refused_at timestamptz NOT NULL,
	refused_at timestamptz NOT NULL,
	held_until timestamptz NOT NULL,
	PRIMARY KEY (round, subject)
);
COMMENT ON TABLE yquota.scheduler_refusal IS
	'Changes that the scheduler could not write and has left out, with the reason.  A row is removed a day after its last refusal';
COMMENT ON COLUMN yquota.scheduler_refusal.round IS 'schedule (also for node_heartbeat), preempt_containers, follow_plans, allocate_opportunistic, end_expired_applications, node_queue or expiry. node_queue is a call about the queue of a node, expiry the end of a container that was not acknowledged';
COMMENT ON COLUMN yquota.scheduler_refusal.subject IS 'id of the container to be updated or ended, or of the application that was to receive a container; or path of a plan';
COMMENT ON COLUMN yquota.scheduler_refusal.sqlstate IS 'SQLSTATE of the error';
COMMENT ON COLUMN yquota.scheduler_refusal.message IS 'message of the error';
COMMENT ON COLUMN yquota.scheduler_refusal.detail IS 'detail of the error';
COMMENT ON COLUMN yquota.scheduler_refusal.hint IS 'hint of the error';
COMMENT ON COLUMN yquota.scheduler_refusal.refusals IS 'number of refusals';
COMMENT ON COLUMN yquota.scheduler_refusal.first_refused_at IS 'time of the first refusal';
COMMENT ON COLUMN yquota.scheduler_refusal.refused_at IS 'time of the last refusal';
COMMENT ON COLUMN yquota.scheduler_refusal.held_until IS 'time before which the change is not tried again: a minute after refused_at';
SELECT pg_extension_config_dump('yquota.scheduler_refusal', '');

CREATE TABLE yquota_internal.scheduler_count (
	name text COLLATE "C" NOT NULL,
	part integer NOT NULL,
	total bigint NOT NULL,
	PRIMARY KEY (name, part)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.scheduler_count IS
	'Counts of the scheduler for metrics.  Each count is the sum over all rows of a name, so that concurrent transactions can change different rows';
COMMENT ON COLUMN yquota_internal.scheduler_count.name IS 'middle part of the metric''s name. containers_completed counts containers that ended because their application, or its attempt, had ended. refused counts each refusal in scheduler_refusal';

SELECT pg_extension_config_dump('yquota.resource_request', '');
SELECT pg_extension_config_dump('yquota.blacklist', '');
SELECT pg_extension_config_dump('yquota.reserved_container', '');
SELECT pg_extension_config_dump('yquota.container_update', '');
SELECT pg_extension_config_dump('yquota.decision', '');
SELECT pg_extension_config_dump('yquota.decision_decision_id_seq', '');
SELECT pg_extension_config_dump('yquota_internal.awaited_container', '');
SELECT pg_extension_config_dump('yquota_internal.expected_duration', '');
SELECT pg_extension_config_dump('yquota_internal.request_counter', '');
SELECT pg_extension_config_dump('yquota_internal.application_attempt', '');
SELECT pg_extension_config_dump('yquota_internal.container_version', '');
SELECT pg_extension_config_dump('yquota_internal.ended_application', '');
SELECT pg_extension_config_dump('yquota_internal.scheduler_count', '');
