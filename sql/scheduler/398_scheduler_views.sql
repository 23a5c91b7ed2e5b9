--
-- Queues, nodes and applications for people: their resources, usage and waiting requests.  The
-- columns running_containers_o, mem_used_o, vcores_used_o and queued_containers have the names that
-- YARN's web pages use for opportunistic containers.
--

-- Counts waiting containers. The books have the OPPORTUNISTIC ones, and node_queue has the
-- GUARANTEED ones in node queues.
CREATE VIEW yquota_internal.queued_container AS
	SELECT c.application_id, c.project, c.queue, c.label, c.node, c.execution_type
	FROM yquota.container AS c
	WHERE c.waiting_factor IS NOT NULL
	UNION ALL
	SELECT c.application_id, c.project, c.queue, c.label, c.node, c.execution_type
	FROM yquota.node_queue AS q
	JOIN yquota.container AS c ON c.container_id = q.container_id AND c.node = q.node
	WHERE q.left_at IS NULL AND q.state = 'QUEUED' AND c.waiting_factor IS NULL AND q.execution_type = 'GUARANTEED';
COMMENT ON VIEW yquota_internal.queued_container IS
	'Allocated containers that do not run: OPPORTUNISTIC containers on their way, queued or paused, and GUARANTEED containers that wait for room at their nodes';

CREATE VIEW yquota.scheduler_queue WITH (security_barrier) AS
	WITH effective AS MATERIALIZED (
		SELECT * FROM yquota_internal.effective_queues()
	), named AS (
		-- find the queue of an event.  The event names the path of the queue, or only the last part of the path if no
		-- other queue has the same last part
		SELECT e.queue AS name, e.queue AS path FROM effective AS e
		UNION
		SELECT split_part(e.queue, '.', -1), min(e.queue) FROM effective AS e
		GROUP BY 1
		HAVING count(DISTINCT e.queue) = 1
	)
	SELECT q.queue, q.label, q.state,
		   round((100 * q.used_capacity)::numeric, 1) AS used_capacity,
		   q.active_applications,
		   q.accepted_applications AS pending_applications,
		   COALESCE(p.containers, 0) AS pending_containers,
		   COALESCE(r.containers, 0) AS reserved_containers,
		   q.effective_capacity AS guaranteed,
		   q.effective_maximum_capacity AS maximum,
		   q.used,
		   COALESCE(r.allocation, '[]') AS reserved,
		   COALESCE(p.allocation, '[]') AS pending,
		   COALESCE(o.containers, 0) AS running_containers_o,
		   COALESCE(yquota.amount(o.allocation, 'memory-mb'), 0) AS mem_used_o,
		   COALESCE(yquota.amount(o.allocation, 'vcores'), 0) AS vcores_used_o,
		   COALESCE(w.containers, 0) AS queued_containers
	FROM effective AS q
	LEFT JOIN (
		SELECT path.queue, w.label, sum(w.containers)::bigint AS containers, yquota_internal.demand(w.allocation, 1) AS allocation
		FROM (SELECT a.queue, v.label, sum(v.containers) AS containers, yquota_internal.demand(v.allocation, v.times) AS allocation
			  FROM yquota_internal.waiting_request AS v
			  JOIN yquota.application AS a ON a.application_id = v.application_id
			  GROUP BY a.queue, v.label) AS w
		CROSS JOIN LATERAL yquota_internal.queue_and_parents(w.queue) AS path (queue)
		GROUP BY path.queue, w.label) AS p ON p.queue = q.queue AND p.label = q.label
	LEFT JOIN (
		SELECT path.queue, v.label, count(*) AS containers, yquota.sum(v.allocation) AS allocation
		FROM yquota_internal.reserved_container_in_force AS v
		CROSS JOIN LATERAL yquota_internal.queue_and_parents(v.queue) AS path (queue)
		GROUP BY path.queue, v.label) AS r ON r.queue = q.queue AND r.label = q.label
	LEFT JOIN (
		SELECT path.queue, u.label, sum(u.containers)::bigint AS containers, yquota.sum(u.allocation) AS allocation
		FROM (SELECT v.queue, COALESCE(v.label, '') AS label, sum(v.containers) AS containers, yquota.sum(v.allocation) AS allocation
			  FROM yquota.queue_usage AS v
			  WHERE v.execution_type = 'OPPORTUNISTIC'
			  GROUP BY 1, 2) AS u
		JOIN named AS n ON n.name = u.queue
		CROSS JOIN LATERAL yquota_internal.queue_and_parents(n.path) AS path (queue)
		GROUP BY path.queue, u.label) AS o ON o.queue = q.queue AND o.label = q.label
	LEFT JOIN (
		SELECT path.queue, u.label, sum(u.containers)::bigint AS containers
		FROM (SELECT v.queue, COALESCE(v.label, '') AS label, count(*) AS containers
			  FROM yquota_internal.queued_container AS v
			  GROUP BY 1, 2) AS u
		JOIN named AS n ON n.name = u.queue
		CROSS JOIN LATERAL yquota_internal.queue_and_parents(n.path) AS path (queue)
		GROUP BY path.queue, u.label) AS w ON w.queue = q.queue AND w.label = q.label
	ORDER BY q.ordinal, q.label;
COMMENT ON VIEW yquota.scheduler_queue IS
	'Guarantee, usage and demand of each queue, including the queues below it, per label; in the order of the tree';
COMMENT ON COLUMN yquota.scheduler_queue.queue IS 'path';
COMMENT ON COLUMN yquota.scheduler_queue.label IS 'partition of the nodes; empty for the default partition';
COMMENT ON COLUMN yquota.scheduler_queue.used_capacity IS 'usage of containers and reserved containers, percent of the guarantee; may exceed 100';
COMMENT ON COLUMN yquota.scheduler_queue.active_applications IS 'number of active applications, on all labels; the next column also counts all labels';
COMMENT ON COLUMN yquota.scheduler_queue.pending_applications IS 'applications that wait for room for their application masters';
COMMENT ON COLUMN yquota.scheduler_queue.pending_containers IS 'containers that applications wait for, including those of application masters';
COMMENT ON COLUMN yquota.scheduler_queue.reserved_containers IS 'number of nodes that are kept';
COMMENT ON COLUMN yquota.scheduler_queue.guaranteed IS 'native units, as all following columns';
COMMENT ON COLUMN yquota.scheduler_queue.maximum IS 'the most that the queue may use';
COMMENT ON COLUMN yquota.scheduler_queue.used IS 'resources used by GUARANTEED containers and reserved containers, as limits count them';
COMMENT ON COLUMN yquota.scheduler_queue.reserved IS 'reserved part of used';
COMMENT ON COLUMN yquota.scheduler_queue.pending IS 'allocations of the demand, including increases of running containers';
COMMENT ON COLUMN yquota.scheduler_queue.running_containers_o IS 'number of running OPPORTUNISTIC containers; the next two columns have their resources';
COMMENT ON COLUMN yquota.scheduler_queue.mem_used_o IS 'memory of running OPPORTUNISTIC containers, MiB';
COMMENT ON COLUMN yquota.scheduler_queue.vcores_used_o IS 'virtual cores of running OPPORTUNISTIC containers';
COMMENT ON COLUMN yquota.scheduler_queue.queued_containers IS
	'allocated containers that do not run: OPPORTUNISTIC ones on their way, queued or paused, and GUARANTEED ones that wait for room at their nodes (node_queue)';

CREATE VIEW yquota.scheduler_node AS
	SELECT u.node, u.rack, u.label, u.state, u.total, u.guaranteed, u.total OPERATOR(yquota.-) u.guaranteed AS available,
		   r.application_id AS reserved_for, r.container_id AS reserved_container_id, r.allocation AS reserved,
		   u.running_containers_o,
		   COALESCE(yquota.amount(u.opportunistic, 'memory-mb'), 0) AS mem_used_o,
		   COALESCE(yquota.amount(u.opportunistic, 'vcores'), 0) AS vcores_used_o,
		   COALESCE(w.containers, 0) AS queued_containers
	FROM yquota.node_usage AS u
	LEFT JOIN yquota_internal.reserved_container_in_force AS r ON r.node = u.node
	LEFT JOIN (
		SELECT v.node, count(*) AS containers
		FROM yquota_internal.queued_container AS v
		GROUP BY v.node) AS w ON w.node = u.node;
COMMENT ON VIEW yquota.scheduler_node IS
	'Resources of nodes, the part of them that containers use, and reserved containers';
COMMENT ON COLUMN yquota.scheduler_node.label IS 'partition of the node';
COMMENT ON COLUMN yquota.scheduler_node.state IS 'state of the node; only RUNNING nodes get containers';
COMMENT ON COLUMN yquota.scheduler_node.total IS 'native units';
COMMENT ON COLUMN yquota.scheduler_node.guaranteed IS 'resources held by GUARANTEED containers, native units';
COMMENT ON COLUMN yquota.scheduler_node.available IS
	'resources that GUARANTEED containers may still have: total less guaranteed, native units; OPPORTUNISTIC containers make room for them';
COMMENT ON COLUMN yquota.scheduler_node.reserved_for IS 'application; NULL: nothing is reserved';
COMMENT ON COLUMN yquota.scheduler_node.reserved_container_id IS 'id of the container that is to start on the node';
COMMENT ON COLUMN yquota.scheduler_node.reserved IS 'allocation of the reserved container, native units; NULL: none';
COMMENT ON COLUMN yquota.scheduler_node.running_containers_o IS 'number of running OPPORTUNISTIC containers; the next two columns have their resources';
COMMENT ON COLUMN yquota.scheduler_node.mem_used_o IS 'memory of running OPPORTUNISTIC containers, MiB';
COMMENT ON COLUMN yquota.scheduler_node.vcores_used_o IS 'virtual cores of running OPPORTUNISTIC containers';
COMMENT ON COLUMN yquota.scheduler_node.queued_containers IS
	'allocated containers that do not run: OPPORTUNISTIC ones on their way, queued or paused, and GUARANTEED ones that wait for room at their nodes (node_queue)';

CREATE FUNCTION yquota_internal.full_queues()
	RETURNS TABLE (queue text, label text)
	-- SECURITY DEFINER reads tables that readers of the view may not read
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT q.queue, q.label
	FROM yquota.scheduler_queue AS q
	WHERE yquota.amount(q.used, 'memory-mb') >= yquota.amount(q.maximum, 'memory-mb')
$$;
COMMENT ON FUNCTION yquota_internal.full_queues() IS
	'Return the queues that already use all the memory of a label that they may use';

CREATE VIEW yquota_internal.application_wait AS
	WITH full_queue AS MATERIALIZED (
		SELECT q.queue, q.label FROM yquota_internal.full_queues() AS q
	)
	SELECT a.application_id, a.queue, a.state, a.submitted_at, a.diagnostics, master.is_awaited AS waits_for_master,
		   CASE WHEN a.state <> 'ACTIVE' THEN 'activation'
				WHEN w.labels IS NULL AND NOT master.is_awaited THEN 'requests'
				WHEN NOT current_setting('yquota.auto_create_project')::boolean
					 AND NOT EXISTS (
						SELECT FROM yquota.project AS known
						WHERE known.name = COALESCE(a.project, split_part(a.username, '__', 1))) THEN 'project'
				WHEN EXISTS (
						SELECT FROM unnest(coalesce(w.labels, ARRAY[a.label])) AS wanted (label)
						WHERE NOT EXISTS (SELECT FROM yquota.node AS n WHERE n.state = 'RUNNING' AND n.label = wanted.label)) THEN 'label'
				WHEN EXISTS (
						SELECT FROM full_queue AS f
						WHERE f.label = ANY (coalesce(w.labels, ARRAY[a.label]))
						  AND f.queue IN (SELECT yquota_internal.queue_and_parents(a.queue))) THEN 'queue limit'
				WHEN EXISTS (
						SELECT FROM yquota_internal.reserved_container_in_force AS kept
						WHERE kept.application_id = a.application_id) THEN 'reserved container'
				ELSE 'nodes' END AS waits_for
	FROM yquota.application AS a
	LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id
	CROSS JOIN LATERAL (VALUES (a.state = 'ACTIVE' AND NOT a.unmanaged AND t.am_container_id IS NULL)) AS master (is_awaited)
	LEFT JOIN (
		SELECT v.application_id, array_agg(DISTINCT v.label) AS labels
		FROM yquota_internal.waiting_request AS v
		WHERE v.kind <> 'container' OR v.containers > 0
		GROUP BY v.application_id) AS w ON w.application_id = a.application_id
	WHERE a.finished_at IS NULL;
COMMENT ON VIEW yquota_internal.application_wait IS
	'Live applications, and why they wait; waits_for and waits_for_master are as in scheduler_application';

-- Shows the applications that a role sees in yquota.application (360_application_readers.sql).
CREATE VIEW yquota.scheduler_application WITH (security_barrier) AS
	SELECT a.application_id, a.username, a.queue, a.state, a.priority,
		   t.attempt, t.am_container_id,
		   why.waits_for_master,
		   COALESCE(p.containers, 0) AS pending_containers,
		   COALESCE(p.allocation, '[]') AS pending,
		   COALESCE(r.containers, 0) AS reserved_containers,
		   COALESCE(r.allocation, '[]') AS reserved,
		   a.diagnostics,
		   why.waits_for,
		   COALESCE(o.containers, 0) AS running_containers_o,
		   COALESCE(yquota.amount(o.allocation, 'memory-mb'), 0) AS mem_used_o,
		   COALESCE(yquota.amount(o.allocation, 'vcores'), 0) AS vcores_used_o,
		   COALESCE(q.containers, 0) AS queued_containers,
		   a.project
	FROM yquota.application AS a
	LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id
	JOIN yquota_internal.application_wait AS why ON why.application_id = a.application_id
	LEFT JOIN (
		SELECT v.application_id, sum(v.containers)::bigint AS containers, yquota_internal.demand(v.allocation, v.times) AS allocation
		FROM yquota_internal.waiting_request AS v
		WHERE v.kind <> 'master'
		GROUP BY v.application_id) AS p ON p.application_id = a.application_id
	LEFT JOIN (
		SELECT v.application_id, count(*) AS containers, yquota.sum(v.allocation) AS allocation
		FROM yquota_internal.reserved_container_in_force AS v
		GROUP BY v.application_id) AS r ON r.application_id = a.application_id
	LEFT JOIN (
		SELECT c.application_id, count(*) AS containers, yquota.sum(c.allocation) AS allocation
		FROM yquota.container AS c
		WHERE c.execution_type = 'OPPORTUNISTIC' AND c.is_running
		GROUP BY c.application_id) AS o ON o.application_id = a.application_id
	LEFT JOIN (
		SELECT v.application_id, count(*) AS containers
		FROM yquota_internal.queued_container AS v
		GROUP BY v.application_id) AS q ON q.application_id = a.application_id
	WHERE a.finished_at IS NULL
	  AND ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR a.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
		   OR yquota_internal.shows_application(a.username, a.queue, a.view_acl,
				(SELECT yquota_internal.acting_role())::text, (SELECT yquota_internal.acting_groups())::text[]));
COMMENT ON VIEW yquota.scheduler_application IS
	'Live applications that the reader may see, with their demand, and why they wait';
COMMENT ON COLUMN yquota.scheduler_application.queue IS 'full path of the leaf';
COMMENT ON COLUMN yquota.scheduler_application.state IS 'NON_RUNNABLE, ACCEPTED or ACTIVE';
COMMENT ON COLUMN yquota.scheduler_application.priority IS 'priority of the application; the larger number comes first';
COMMENT ON COLUMN yquota.scheduler_application.attempt IS 'number of the application''s attempt, which is part of the ids of its containers; NULL: the application has not had a container yet';
COMMENT ON COLUMN yquota.scheduler_application.am_container_id IS 'container of its application master';
COMMENT ON COLUMN yquota.scheduler_application.waits_for_master IS 'true if the application waits for its application master, whose container is requested before all others';
COMMENT ON COLUMN yquota.scheduler_application.pending_containers IS 'requested containers that the application has not received, without the container of its application master';
COMMENT ON COLUMN yquota.scheduler_application.pending IS 'allocations of the demand, including increases of running containers, native units';
COMMENT ON COLUMN yquota.scheduler_application.reserved_containers IS 'number of nodes that are kept for the application';
COMMENT ON COLUMN yquota.scheduler_application.reserved IS 'allocations of the containers for which these nodes are kept, native units';
COMMENT ON COLUMN yquota.scheduler_application.diagnostics IS 'reason why the application is not ACTIVE, in words';
COMMENT ON COLUMN yquota.scheduler_application.waits_for IS 'activation: see diagnostics. requests: the application asks for nothing. project: no project pays. label: no node of a requested label is RUNNING. queue limit: its queue, or one above, has all the memory that it may have. reserved container: a node that is kept for the application has no room yet. nodes: no node has room, is close enough and is allowed by the limits of users; schedule(explain => true) tells more';
COMMENT ON COLUMN yquota.scheduler_application.running_containers_o IS 'number of running OPPORTUNISTIC containers; the next two columns have their resources';
COMMENT ON COLUMN yquota.scheduler_application.mem_used_o IS 'memory of running OPPORTUNISTIC containers, MiB';
COMMENT ON COLUMN yquota.scheduler_application.vcores_used_o IS 'virtual cores of running OPPORTUNISTIC containers';
COMMENT ON COLUMN yquota.scheduler_application.queued_containers IS
	'allocated containers that do not run: OPPORTUNISTIC ones on their way, queued or paused, and GUARANTEED ones that wait for room at their nodes (node_queue)';
COMMENT ON COLUMN yquota.scheduler_application.project IS 'project named in the submission; NULL: the username names the project, as in events';
