--
-- Allocation: who gets the next container (seed 004; cs-semantics 5).  Decided in
-- C (src/scheduler/pass.h); these functions run as the owner, and whoever may
-- call them speaks for the resource manager.
--

-- Whom a pass has to look at: few of many.
CREATE INDEX application_demanding_idx ON yquota.application (queue)
	WHERE state = 'ACTIVE' AND has_outstanding_requests;

CREATE FUNCTION yquota.schedule(
	nodes text[] DEFAULT NULL, max_containers integer DEFAULT NULL,
	dry_run boolean DEFAULT false, explain boolean DEFAULT false)
	RETURNS TABLE (
		decision text, container_id text, application_id text, queue text, node text,
		allocation yquota.resource, locality text, priority integer, allocation_request_id bigint,
		unreserved_node text, stopped_by text, used yquota.resource, maximum yquota.resource,
		opportunities bigint, opportunities_needed bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_schedule';
COMMENT ON FUNCTION yquota.schedule(text[], integer, boolean, boolean) IS
	'Assign containers to nodes, as if each had reported once in this order (NULL: all RUNNING ones by name), and return what was decided; with explain also who was passed over, by which limit and with which figures.  A dry run changes nothing';
REVOKE ALL ON FUNCTION yquota.schedule(text[], integer, boolean, boolean) FROM PUBLIC;

CREATE FUNCTION yquota.node_heartbeat(nodes text[], explain boolean DEFAULT false)
	RETURNS TABLE (
		decision text, container_id text, application_id text, queue text, node text,
		allocation yquota.resource, locality text, priority integer, allocation_request_id bigint,
		unreserved_node text, stopped_by text, used yquota.resource, maximum yquota.resource,
		opportunities bigint, opportunities_needed bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_node_heartbeat';
COMMENT ON FUNCTION yquota.node_heartbeat(text[], boolean) IS
	'The same for nodes that have just reported';
REVOKE ALL ON FUNCTION yquota.node_heartbeat(text[], boolean) FROM PUBLIC;

CREATE FUNCTION yquota.acknowledge(container_ids text[]) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH heard AS (
			DELETE FROM yquota.decision AS d WHERE d.container_id = ANY (container_ids) RETURNING 1)
		SELECT count(*) FROM heard;
	END;
COMMENT ON FUNCTION yquota.acknowledge(text[]) IS
	'Say that decisions about containers were heard: they leave decision, and are not released any more; returns how many did';
REVOKE ALL ON FUNCTION yquota.acknowledge(text[]) FROM PUBLIC;

CREATE VIEW yquota.scheduler_node AS
	SELECT u.node, u.rack, u.label, u.state, u.total, u.guaranteed, u.available,
		   r.application_id AS reserved_for, r.container_id AS reserved_container_id, r.allocation AS reserved
	FROM yquota.node_usage AS u
	LEFT JOIN yquota.reservation AS r ON r.node = u.node;
COMMENT ON VIEW yquota.scheduler_node IS
	'What nodes offer, what containers hold of it, and for whom they are kept';
COMMENT ON COLUMN yquota.scheduler_node.guaranteed IS 'held by GUARANTEED containers, native units';
COMMENT ON COLUMN yquota.scheduler_node.available IS 'total less what all containers hold, native units';
COMMENT ON COLUMN yquota.scheduler_node.reserved IS 'what the container that is to be there needs, native units; NULL: nothing is reserved';

CREATE VIEW yquota.scheduler_application AS
	SELECT a.application_id, a.username, a.queue, a.state, a.priority,
		   t.attempt, t.am_container_id,
		   a.state = 'ACTIVE' AND NOT a.unmanaged AND t.am_container_id IS NULL AS waits_for_master,
		   COALESCE(p.containers, 0) AS pending_containers,
		   COALESCE(p.allocation, '[]') AS pending,
		   COALESCE(r.containers, 0) AS reserved_containers,
		   COALESCE(r.allocation, '[]') AS reserved,
		   a.diagnostics
	FROM yquota.application AS a
	LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id
	LEFT JOIN (
		SELECT q.application_id, sum(q.count)::bigint AS containers,
			   yquota.sum(q.allocation OPERATOR(yquota.*) q.count::bigint) AS allocation
		FROM yquota.resource_request AS q
		WHERE q.resource_name = '*'
		GROUP BY q.application_id) AS p ON p.application_id = a.application_id
	LEFT JOIN (
		SELECT v.application_id, count(*) AS containers, yquota.sum(v.allocation) AS allocation
		FROM yquota.reservation AS v
		GROUP BY v.application_id) AS r ON r.application_id = a.application_id
	WHERE a.finished_at IS NULL;
COMMENT ON VIEW yquota.scheduler_application IS
	'Live applications and what each is waiting for';
COMMENT ON COLUMN yquota.scheduler_application.attempt IS 'number of its application master; NULL: it has not had a container yet';
COMMENT ON COLUMN yquota.scheduler_application.waits_for_master IS 'whether the container of its application master is what it waits for';
COMMENT ON COLUMN yquota.scheduler_application.pending_containers IS 'that it asked for and has not got, without that of its application master';
COMMENT ON COLUMN yquota.scheduler_application.pending IS 'their allocations, native units';
COMMENT ON COLUMN yquota.scheduler_application.reserved_containers IS 'nodes that are kept for it';
COMMENT ON COLUMN yquota.scheduler_application.reserved IS 'their allocations, native units';
COMMENT ON COLUMN yquota.scheduler_application.diagnostics IS 'why it is not ACTIVE, in words';
