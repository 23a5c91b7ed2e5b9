--
-- Allocation: assigning containers to applications (semantics/allocation).  The C code decides
-- (src/scheduler/allocation_cycle.h).  These functions run as the owner; a role that may call them
-- acts for the resource manager.  Their events are decisions: all of them are charged or none, even
-- for feeds that set bad events aside.
--

-- Finds the few applications that have outstanding requests, for the allocation cycle.
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
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_schedule';
COMMENT ON FUNCTION yquota.schedule(text[], integer, boolean, boolean) IS
	'Assign containers to nodes, as if each node had sent one heartbeat in this order (NULL: all RUNNING nodes by name), and return the decisions.  With explain, also returns the skipped applications, with the limit and its figures.  A dry run changes nothing';

CREATE FUNCTION yquota.node_heartbeat(nodes text[], explain boolean DEFAULT false)
	RETURNS TABLE (
		decision text, container_id text, application_id text, queue text, node text,
		allocation yquota.resource, locality text, priority integer, allocation_request_id bigint,
		unreserved_node text, stopped_by text, used yquota.resource, maximum yquota.resource,
		opportunities bigint, opportunities_needed bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_node_heartbeat';
COMMENT ON FUNCTION yquota.node_heartbeat(text[], boolean) IS
	'Run schedule() for nodes that have just reported';

CREATE FUNCTION yquota.acknowledge_decisions(decision_ids bigint[]) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	acknowledged bigint;
BEGIN
	IF decision_ids IS NULL THEN
		RAISE EXCEPTION 'decision_ids must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use ARRAY(SELECT ...), which returns an empty array instead of null.';
	END IF;
	-- All sessions lock rows in the order of their numbers.
	WITH told AS MATERIALIZED (
		SELECT d.decision_id FROM yquota.decision AS d WHERE d.decision_id = ANY (decision_ids)
		ORDER BY d.decision_id FOR UPDATE
	), removed AS (
		DELETE FROM yquota.decision AS d USING told WHERE d.decision_id = told.decision_id
		RETURNING d.decision, d.container_id, d.execution_type, d.decided_at
	), awaited AS (
		INSERT INTO yquota_internal.awaited_container AS w (container_id, allocated_at)
		SELECT c.container_id, r.decided_at
		FROM removed AS r
		JOIN yquota.container AS c ON c.container_id = r.container_id AND c.waiting_factor IS NOT NULL
		WHERE r.decision = 'allocated' AND r.execution_type = 'OPPORTUNISTIC'
		  AND NOT EXISTS (SELECT FROM yquota.node_queue AS q WHERE q.container_id = r.container_id)
		ORDER BY c.container_id
		ON CONFLICT (container_id) DO UPDATE SET allocated_at = excluded.allocated_at
	)
	SELECT count(*) INTO acknowledged FROM removed;
	RETURN acknowledged;
END
$$;
COMMENT ON FUNCTION yquota.acknowledge_decisions(bigint[]) IS
	'Remove decisions that the resource manager has received.  The scheduler no longer releases their containers, except OPPORTUNISTIC containers that do not arrive at their nodes in time.  Returns the number of decisions removed';

-- PL/pgSQL keeps the plan; a function in SQL would plan the query at each call.
CREATE FUNCTION yquota_internal.acknowledge_containers(container_ids text[]) RETURNS bigint
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN yquota.acknowledge_decisions(ARRAY(
		SELECT d.decision_id FROM yquota.decision AS d WHERE d.container_id = ANY (container_ids)
		AND d.decision NOT IN ('unreserved', 'marked', 'killed', 'killable', 'rejected', 'shed', 'paused', 'resumed', 'expired')));
END
$$;
COMMENT ON FUNCTION yquota_internal.acknowledge_containers(text[]) IS
	'Acknowledge all decisions that allocated or enlarged these containers';

CREATE FUNCTION yquota_internal.watch_refusals(now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		DELETE FROM yquota.scheduler_refusal AS f WHERE f.refused_at < now_at - interval '1 day';
		WITH recent AS MATERIALIZED (
			SELECT f.round, count(*) AS subjects, min(f.subject COLLATE "C") AS subject, min(f.first_refused_at) AS since
			FROM yquota.scheduler_refusal AS f
			WHERE f.refused_at > now_at - interval '10 minutes'
			GROUP BY f.round
		), cleared AS (
			UPDATE yquota.alert AS a SET cleared_at = now_at
			WHERE a.kind = 'scheduler_refuses' AND a.cleared_at IS NULL AND NOT EXISTS (SELECT FROM recent AS r WHERE r.round = a.subject)
		)
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		SELECT 'scheduler_refuses', r.round,
			   format('%s leaves out %s that cannot be written, such as %s, the first since %s: yquota.scheduler_refusal says why',
					  r.round, r.subjects, r.subject, yquota_internal.instant_text(r.since)),
			   now_at
		FROM recent AS r
		ORDER BY r.round
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
$$;
COMMENT ON FUNCTION yquota_internal.watch_refusals(timestamptz) IS
	'Raise an alert while rounds of the scheduler have left out changes within the last ten minutes.  Remove refusals older than a day';

-- Waits until allocation_expiry has passed since the end of an application. Usually its containers
-- have ended by then, and one look at the index of containers is enough.
CREATE FUNCTION yquota_internal.watch_ended_applications(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_seqscan = off
AS $$
DECLARE
	ended record;
	expiry interval := COALESCE((SELECT s.allocation_expiry FROM yquota.scheduler_setting AS s), '10 minutes');
	outlived text[] := '{}';
	since timestamptz;
BEGIN
	FOR ended IN
		SELECT e.application_id, e.ended_at,
			   EXISTS (SELECT FROM yquota.application AS a
					   WHERE a.application_id = e.application_id AND a.finished_at IS NULL) AS is_live
		FROM yquota_internal.ended_application AS e
		WHERE e.ended_at < now_at - expiry
		ORDER BY e.ended_at, e.application_id
	LOOP
		IF NOT ended.is_live AND EXISTS (SELECT FROM yquota.container AS c WHERE c.application_id = ended.application_id) THEN
			outlived := outlived || ended.application_id;
			since := COALESCE(since, ended.ended_at);
		ELSE
			DELETE FROM yquota_internal.ended_application AS e
			WHERE e.application_id = ended.application_id AND e.ended_at = ended.ended_at;
		END IF;
	END LOOP;
	IF cardinality(outlived) > 0 THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES ('containers_outlive_application', 'application',
				format('%s applications have ended but still have running containers, the first since %s: %s; look at yquota.suspect_container, and end them with reconcile() or a CONTAINER_FINISH',
					   cardinality(outlived), yquota_internal.instant_text(since),
					   array_to_string(outlived[:5], ', ') || CASE WHEN cardinality(outlived) > 5 THEN ', ...' ELSE '' END),
				now_at)
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
	ELSE
		UPDATE yquota.alert AS a SET cleared_at = now_at
		WHERE a.kind = 'containers_outlive_application' AND a.cleared_at IS NULL;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.watch_ended_applications(timestamptz) IS
	'Raise an alert while containers still run although their applications ended longer than allocation_expiry ago.  Remove rows of ended applications without running containers';

-- Keeps decisions for an hour.  A resource manager that restarts or takes over reads them
-- within minutes, and allocations expire within allocation_expiry.
CREATE FUNCTION yquota_internal.watch_decisions(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	waiting bigint;
	oldest timestamptz;
BEGIN
	SELECT count(*), min(d.decided_at) INTO waiting, oldest
	FROM yquota.decision AS d
	WHERE d.decision IN ('unreserved', 'marked', 'killed', 'killable', 'rejected', 'shed', 'paused', 'resumed', 'expired')
	  AND d.decided_at < now_at - interval '1 hour';
	IF waiting > 0 THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES ('decisions_unacknowledged', 'decision',
				format('%s decisions have not been acknowledged for more than an hour, the oldest since %s: does the resource manager read yquota.decision and call yquota.acknowledge_decisions()?',
					   waiting, yquota_internal.instant_text(oldest)),
				now_at)
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
	ELSE
		UPDATE yquota.alert SET cleared_at = now_at
		WHERE kind = 'decisions_unacknowledged' AND cleared_at IS NULL;
	END IF;
	PERFORM yquota_internal.watch_node_queues(now_at);
	PERFORM yquota_internal.watch_ended_applications(now_at);
	PERFORM yquota_internal.watch_refusals(now_at);
END
$$;
COMMENT ON FUNCTION yquota_internal.watch_decisions(timestamptz) IS
	'Raise an alert while decisions that stay until they are acknowledged have waited for more than an hour.  Also alert while nodes do not kill or pause containers, while containers outlive their applications, and while rounds leave out changes that cannot be written';

CREATE FUNCTION yquota_internal.lock_passes() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_lock_passes';
COMMENT ON FUNCTION yquota_internal.lock_passes() IS
	'Wait for the running allocation cycle and for a change of the configuration.  No other cycle or change can begin until the transaction ends';

CREATE FUNCTION yquota_internal.lock_leaves() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_lock_leaves';
COMMENT ON FUNCTION yquota_internal.lock_leaves() IS
	'Wait for transactions that change applications.  No other transaction can change applications until this one ends.  Called after lock_passes()';

-- Takes its lock before any node is locked. Another transaction may take this lock first and then
-- change nodes.
CREATE FUNCTION yquota_internal.lock_nodes() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.lock_passes();
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.lock_nodes() IS
	'Make changes of nodes wait for the running allocation cycle before they read any node';

CREATE TRIGGER lock_passes BEFORE INSERT OR UPDATE OF name, label, total, state OR DELETE ON yquota.node
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.lock_nodes();

--
-- A node that is replaced loses its reservation (semantics/allocation 5.2). An application belongs
-- to the partition of the node of its application master. No allocation cycle runs during the
-- change. Such a cycle could start a container on a node that has left, has no room, or is in
-- another partition.
--
CREATE FUNCTION yquota_internal.change_nodes() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	changed text[];
	relabelled text[] := '{}';
BEGIN
	IF TG_OP = 'DELETE' THEN
		changed := ARRAY(SELECT stale.name FROM old_nodes AS stale);
	ELSE
		-- The query has no join.  Its plan is kept, even for a statement that changes all nodes.  A join could be
		-- planned as nested loops when the first statement changes no node.  A renamed node has a row under each of its
		-- two names.
		changed := ARRAY(SELECT DISTINCT listed.name
						 FROM (SELECT stale.name, stale.label, stale.state, stale.total FROM old_nodes AS stale
							   UNION ALL
							   SELECT fresh.name, fresh.label, fresh.state, fresh.total FROM new_nodes AS fresh) AS listed
						 GROUP BY listed.name, listed.label, listed.state, listed.total HAVING count(*) = 1);
	END IF;
	IF changed = '{}' THEN
		RETURN NULL;
	ELSIF TG_OP = 'UPDATE' THEN
		relabelled := ARRAY(SELECT listed.name
							FROM (SELECT stale.name, stale.label FROM old_nodes AS stale
								  UNION ALL
								  SELECT fresh.name, fresh.label FROM new_nodes AS fresh) AS listed
							GROUP BY listed.name HAVING min(listed.label) <> max(listed.label));
	END IF;
	PERFORM yquota_internal.record_capacity(changed);
	IF relabelled <> '{}' OR EXISTS (SELECT FROM yquota.reserved_container AS r WHERE r.node = ANY (changed)) THEN
		PERFORM yquota_internal.lock_leaves();
	END IF;
	DELETE FROM yquota.reserved_container AS r WHERE r.node = ANY (changed);
	IF relabelled <> '{}' THEN
		UPDATE yquota.application AS a SET label = n.label
		FROM yquota_internal.application_attempt AS t
		JOIN yquota.container AS c ON c.container_id = t.am_container_id
		JOIN yquota.node AS n ON n.name = c.node
		WHERE c.node = ANY (relabelled) AND a.application_id = t.application_id AND a.finished_at IS NULL;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.change_nodes() IS
	'Record the capacity of nodes that change, drop their reserved containers, and move application masters to the partitions of their nodes';

-- These triggers run before record_labels, which locks the timeline of labels.
CREATE TRIGGER change_nodes AFTER UPDATE ON yquota.node
	REFERENCING OLD TABLE AS old_nodes NEW TABLE AS new_nodes
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.change_nodes();
CREATE TRIGGER change_deleted AFTER DELETE ON yquota.node
	REFERENCING OLD TABLE AS old_nodes
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.change_nodes();

CREATE VIEW yquota_internal.waiting_request AS
	SELECT r.application_id, r.label, 'container' AS kind, r.count::bigint AS containers,
		   r.count::bigint AS times, r.allocation
	FROM yquota.resource_request AS r
	WHERE r.resource_name = '*' AND r.execution_type = 'GUARANTEED'
	UNION ALL
	SELECT u.application_id, u.label, 'update', 0, 1, u.allocation
	FROM yquota.container_update AS u
	UNION ALL
	SELECT a.application_id, a.label, 'master', 1, 1, a.am_resource
	FROM yquota.application AS a
	LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id
	WHERE a.state = 'ACTIVE' AND a.has_outstanding_requests AND NOT a.unmanaged AND t.am_container_id IS NULL;
COMMENT ON VIEW yquota_internal.waiting_request IS
	'Demand of applications: new GUARANTEED containers, increases of running ones, and AM containers';
COMMENT ON COLUMN yquota_internal.waiting_request.containers IS 'number of new containers';
COMMENT ON COLUMN yquota_internal.waiting_request.times IS 'number by which allocation is multiplied';
COMMENT ON COLUMN yquota_internal.waiting_request.allocation IS 'size of each container or increase, native units';

CREATE FUNCTION yquota_internal.queue_and_parents(path text) RETURNS SETOF text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT array_to_string((string_to_array(path, '.'))[:depth], '.')
		FROM generate_series(1, cardinality(string_to_array(path, '.'))) AS depth;
	END;
COMMENT ON FUNCTION yquota_internal.queue_and_parents(text) IS
	'Return the paths of a queue and of all queues above it';

CREATE VIEW yquota_internal.reserved_container_in_force AS
	SELECT r.node, r.application_id, r.priority, r.allocation_request_id, r.container_id, r.label, r.allocation,
		   r.container_to_update, a.queue, a.username
	FROM yquota.reserved_container AS r
	JOIN yquota.node AS n ON n.name = r.node AND n.state = 'RUNNING' AND n.label = r.label
	LEFT JOIN yquota.application AS a ON a.application_id = r.application_id
	WHERE r.container_to_update IS NULL
	   OR EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = r.container_to_update);
COMMENT ON VIEW yquota_internal.reserved_container_in_force IS
	'Reserved containers that count as used: their nodes run and still have the label of the reservation.  If a running container is to grow, it must still run';

-- Each statement reads only the columns that it needs; the planner leaves out tables that no read
-- column needs. The payer is the project that charging finds for an event without a project.
CREATE VIEW yquota_internal.application_attempt_state AS
	SELECT a.application_id, a.username, a.queue, a.label, a.node_label_expression, a.am_resource, a.priority, a.unmanaged,
		   a.submitted_at, a.has_outstanding_requests, a.state, a.finished_at, t.attempt, t.next_container, t.am_container_id,
		   p.name AS project, EXISTS (SELECT FROM yquota.project AS known WHERE known.name = p.name) AS has_project,
		   c.opportunities, c.missed_non_partitioned, c.re_reservations
	FROM yquota.application AS a
	LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id
	LEFT JOIN yquota_internal.request_counter AS c ON c.application_id = a.application_id
		AND c.priority = 0 AND c.allocation_request_id = -1 AND c.execution_type = 'GUARANTEED'
	CROSS JOIN LATERAL (SELECT coalesce(a.project, split_part(a.username, '__', 1)) AS name) AS p;
COMMENT ON VIEW yquota_internal.application_attempt_state IS
	'Applications with their present attempts, the projects that pay for them, and the counters of the request for the AM container';
COMMENT ON COLUMN yquota_internal.application_attempt_state.has_project IS 'true if there is a project of that name';

CREATE VIEW yquota_internal.counted_request AS
	SELECT application_id, priority, allocation_request_id, r.resource_name, r.count, r.allocation, r.relax_locality, r.label,
		   c.opportunities, c.missed_non_partitioned, c.re_reservations
	FROM yquota.resource_request AS r
	LEFT JOIN yquota_internal.request_counter AS c USING (application_id, priority, allocation_request_id, execution_type)
	WHERE execution_type = 'GUARANTEED';
COMMENT ON VIEW yquota_internal.counted_request IS
	'Requests for GUARANTEED containers, with the counters of their keys';

CREATE VIEW yquota_internal.counted_reservation AS
	SELECT r.application_id, r.priority, r.allocation_request_id, r.node, r.container_id, r.allocation, r.container_to_update,
		   c.opportunities, c.missed_non_partitioned, c.re_reservations
	FROM yquota_internal.reserved_container_in_force AS r
	LEFT JOIN yquota_internal.request_counter AS c ON c.application_id = r.application_id AND c.priority = r.priority
		AND c.allocation_request_id = r.allocation_request_id AND c.execution_type = 'GUARANTEED';
COMMENT ON VIEW yquota_internal.counted_reservation IS
	'Reservations in force, with the counters of the requests for which the nodes are reserved';

CREATE VIEW yquota_internal.waiting_update AS
	SELECT u.application_id, u.priority, u.allocation_request_id, u.container_id,
		   u.update_type = 'PROMOTE_EXECUTION_TYPE' AS is_promotion, u.node, n.rack, u.label,
		   u.allocation AS missing, c.allocation AS present, u.opportunities, u.missed_non_partitioned, u.re_reservations
	FROM yquota.container_update AS u
	JOIN yquota.container AS c ON c.container_id = u.container_id
	LEFT JOIN yquota.node AS n ON n.name = u.node;
COMMENT ON VIEW yquota_internal.waiting_update IS
	'Increases and promotions that running containers wait for';
COMMENT ON COLUMN yquota_internal.waiting_update.missing IS 'amount to be added, native units';
COMMENT ON COLUMN yquota_internal.waiting_update.present IS 'present allocation, native units';

CREATE VIEW yquota_internal.versioned_container AS
	SELECT c.container_id, c.application_id, c.node, coalesce(c.label, '') AS label, c.allocation,
		   c.execution_type = 'GUARANTEED' AS is_guaranteed, coalesce(v.version, 0) AS version,
		   u.update_type = 'PROMOTE_EXECUTION_TYPE' AS is_promotion
	FROM yquota.container AS c
	LEFT JOIN yquota_internal.container_version AS v ON v.container_id = c.container_id
	LEFT JOIN yquota.container_update AS u ON u.container_id = c.container_id;
COMMENT ON VIEW yquota_internal.versioned_container IS
	'Running containers, with their versions and the updates that they wait for';
COMMENT ON COLUMN yquota_internal.versioned_container.is_promotion IS 'true if the container waits for a promotion; NULL when it waits for nothing';

CREATE VIEW yquota_internal.lost_master AS
	SELECT t.application_id
	FROM yquota_internal.application_attempt AS t
	JOIN yquota.application AS a ON a.application_id = t.application_id AND a.state = 'ACTIVE'
	WHERE t.am_container_id IS NOT NULL
	  AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = t.am_container_id);
COMMENT ON VIEW yquota_internal.lost_master IS
	'ACTIVE applications without the container of their application master';

CREATE VIEW yquota_internal.outstanding_request AS
	SELECT r.application_id
	FROM yquota.resource_request AS r
	WHERE r.resource_name = '*' AND r.count > 0 AND r.execution_type = 'GUARANTEED'
	UNION ALL
	SELECT u.application_id
	FROM yquota.container_update AS u;
COMMENT ON VIEW yquota_internal.outstanding_request IS
	'Requests of applications for GUARANTEED containers, and increases of running containers.  The column has_outstanding_requests is true for each application in this view';
