--
-- Opportunistic containers on the side of the nodes: a node's agent asks which containers start,
-- wait, pause or are killed there.  The C code decides as Hadoop's node manager does
-- (src/opportunistic/node_queue/container_queue.h).  These functions run as the owner; a role that
-- may call them acts for the agents.  Their events are decisions: all of them are charged or none,
-- even for feeds that set bad events aside.
--

CREATE TABLE yquota.node_queue (
	container_id text COLLATE "C" PRIMARY KEY,
	node text COLLATE "C" NOT NULL,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C",
	queue text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	allocation yquota.resource NOT NULL,
	state text NOT NULL CHECK (state IN ('QUEUED', 'RUNNING', 'PAUSING', 'PAUSED', 'KILLING', 'GONE')),
	place bigint NOT NULL,
	enqueued_at timestamptz NOT NULL,
	state_at timestamptz NOT NULL,
	started_at timestamptz,
	waited interval NOT NULL,
	pauses integer NOT NULL CHECK (pauses >= 0),
	made_room_for text COLLATE "C",
	left_at timestamptz CONSTRAINT node_queue_left_at_check CHECK ((left_at IS NOT NULL) = (state = 'GONE')),
	left_reason text CONSTRAINT node_queue_left_reason_check CHECK ((left_reason IS NOT NULL) = (state = 'GONE')
		AND left_reason IN ('ended', 'killed', 'rejected', 'shed', 'lost')),
	exit_status integer,
	diagnostics text,
	queue_limit integer CONSTRAINT node_queue_queue_limit_check CHECK ((queue_limit IS NOT NULL) = (left_reason IS NOT NULL AND left_reason IN ('rejected', 'shed'))),
	is_acknowledged boolean NOT NULL,
	told_execution_type yquota.execution_type NOT NULL,
	told_allocation yquota.resource NOT NULL,
	expected_duration interval
) WITH (fillfactor = 70);
CREATE INDEX node_queue_node_idx ON yquota.node_queue (node) WHERE left_at IS NULL;
CREATE INDEX node_queue_untold_idx ON yquota.node_queue (node) WHERE left_at IS NOT NULL AND NOT is_acknowledged;
CREATE INDEX node_queue_left_at_idx ON yquota.node_queue USING brin (left_at) WITH (autosummarize = on);
COMMENT ON TABLE yquota.node_queue IS
	'Containers that arrived at their nodes, whether they wait, run or have left; written by enqueue_container() and related functions.  If another source reports the end of a container, the row changes at the next call for the node';
COMMENT ON COLUMN yquota.node_queue.queue IS 'leaf queue named by the container''s events';
COMMENT ON COLUMN yquota.node_queue.execution_type IS 'execution type known to the node''s queue';
COMMENT ON COLUMN yquota.node_queue.allocation IS 'allocation when the row was last written, native units; the table container has the present allocation';
COMMENT ON COLUMN yquota.node_queue.state IS
	'QUEUED: the container waits. RUNNING: it runs. PAUSING, KILLING: it holds its room until container_paused() or container_ended(). PAUSED: it waits to go on. GONE: it has left';
COMMENT ON COLUMN yquota.node_queue.place IS 'order among containers that wait at the node; for running containers, the order of their starts';
COMMENT ON COLUMN yquota.node_queue.enqueued_at IS 'time at which the container arrived';
COMMENT ON COLUMN yquota.node_queue.state_at IS 'time at which the container came into its present state';
COMMENT ON COLUMN yquota.node_queue.started_at IS 'time at which the container first left the queue to run; NULL: never';
COMMENT ON COLUMN yquota.node_queue.waited IS 'time spent QUEUED and PAUSED, without the time in the present state';
COMMENT ON COLUMN yquota.node_queue.pauses IS 'number of times that the container was PAUSED';
COMMENT ON COLUMN yquota.node_queue.made_room_for IS 'GUARANTEED container for which this one was last paused or killed. NULL: this one was paused or killed for another reason, such as measured use, or not at all, or has been resumed since';
COMMENT ON COLUMN yquota.node_queue.left_at IS 'time at which the container ended; NULL: it is at the node';
COMMENT ON COLUMN yquota.node_queue.left_reason IS
	'ended: by itself, or through another source. killed: for a GUARANTEED container, or because the measured use of the node was too high. rejected: the queue was full when the container arrived. shed: the queue was longer than its limit. lost: with its node';
COMMENT ON COLUMN yquota.node_queue.exit_status IS 'YARN''s container exit status; NULL: the agent has not reported the end';
COMMENT ON COLUMN yquota.node_queue.diagnostics IS 'Hadoop''s words for the last decision, or the measured use, threshold and time of the report that led to it';
COMMENT ON COLUMN yquota.node_queue.queue_limit IS 'number of containers that were allowed to wait when this one was rejected or shed; else NULL';
COMMENT ON COLUMN yquota.node_queue.is_acknowledged IS 'true if the node''s agent knows that the container is to run, or that it has left';
COMMENT ON COLUMN yquota.node_queue.told_execution_type IS 'execution type known to the agent';
COMMENT ON COLUMN yquota.node_queue.told_allocation IS 'allocation known to the agent, native units';
COMMENT ON COLUMN yquota.node_queue.expected_duration IS 'expected run time in the request for the container; NULL: not known';

-- Lets operators read all rows: the resource manager and the agents of nodes log in as operators.
ALTER TABLE yquota.node_queue ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.node_queue FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));

CREATE VIEW yquota.readable_node_queue WITH (security_barrier) AS
	SELECT q.container_id, q.node, q.project, q.application_id, q.queue, q.execution_type, q.allocation, q.state,
		   q.enqueued_at, q.state_at, q.started_at, q.waited, q.pauses, q.made_room_for, q.left_at, q.left_reason,
		   q.exit_status, q.diagnostics, q.queue_limit, q.expected_duration
	FROM yquota.node_queue AS q
	WHERE (SELECT yquota_internal.reads_all())
	   OR q.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_node_queue IS
	'Containers in the queues of nodes (node_queue), of the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_node_queue.allocation IS 'native units';
COMMENT ON COLUMN yquota.readable_node_queue.waited IS 'time spent QUEUED and PAUSED, without the present state';
COMMENT ON COLUMN yquota.readable_node_queue.queue_limit IS 'number of containers that were allowed to wait when this one was rejected or shed; NULL: neither happened';
COMMENT ON COLUMN yquota.readable_node_queue.expected_duration IS 'expected run time in the request for the container; NULL: not known';

CREATE TYPE yquota.node_action AS (
	action text,
	container_id text,
	execution_type yquota.execution_type,
	allocation yquota.resource,
	exit_status integer,
	diagnostics text,
	made_room_for text
);
COMMENT ON TYPE yquota.node_action IS
	'Action on a container for a node''s agent, or news about the container.  The agent executes start, resume, pause and kill. queued means that the container waits. rejected and shed mean that it was dropped, and has ended. refused means that nothing was done, for the reason in diagnostics. stop means that the container has ended by other means. increase, decrease, promote and demote mean that the container now has the returned allocation or execution type';
COMMENT ON COLUMN yquota.node_action.action IS 'action or news, described below';
COMMENT ON COLUMN yquota.node_action.execution_type IS 'NULL: the node does not have the container';
COMMENT ON COLUMN yquota.node_action.allocation IS 'native units; NULL: the node does not have the container';
COMMENT ON COLUMN yquota.node_action.exit_status IS 'YARN''s exit status: -108 for a killed or dropped container; NULL: none';
COMMENT ON COLUMN yquota.node_action.diagnostics IS 'Hadoop''s words for the action, the measured use that led to it, or the reason of a refusal';
COMMENT ON COLUMN yquota.node_action.made_room_for IS 'GUARANTEED container for which this one is paused or killed; NULL: none, as when the measured use is the reason';

CREATE FUNCTION yquota.enqueue_container(node text, container_id text)
	RETURNS SETOF yquota.node_action
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_enqueue_container';
COMMENT ON FUNCTION yquota.enqueue_container(text, text) IS
	'Add a container that has arrived at its node, with its localisation done, to the node''s queue.  It starts, waits, or is rejected.  If a GUARANTEED container has no room, OPPORTUNISTIC containers are killed or paused.  Returns all these actions in Hadoop''s order, and other containers that start.  A repeated call changes nothing.  It returns the present action for the container and the containers that make room for it, or how the container left';

CREATE FUNCTION yquota.container_ended(
	node text, container_id text, at timestamptz DEFAULT NULL, exit_status integer DEFAULT 0)
	RETURNS SETOF yquota.node_action
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_container_ended';
COMMENT ON FUNCTION yquota.container_ended(text, text, timestamptz, integer) IS
	'Record that a container of a node has ended at an instant (NULL: the clock), whether it ran or waited.  Sends its CONTAINER_FINISH unless an end at that instant is known (the earliest counts).  Returns the containers that start in its room';

CREATE FUNCTION yquota.container_paused(node text, container_id text, at timestamptz DEFAULT NULL)
	RETURNS SETOF yquota.node_action
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_container_paused';
COMMENT ON FUNCTION yquota.container_paused(text, text, timestamptz) IS
	'Record that the agent has paused a container, at an instant (NULL: the clock).  The container gives its room back, goes to the end of the node''s queue, and is resumed when there is room.  Returns the containers that start in its room';

CREATE FUNCTION yquota.advance_node_queue(node text)
	RETURNS SETOF yquota.node_action
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_advance_node_queue';
COMMENT ON FUNCTION yquota.advance_node_queue(text) IS
	'Update the queue of a node with ends, promotions and demotions since the last call, and start containers that have room.  Kill or pause containers while the measured use is above a preemption threshold of over_allocation.  Returns the started, killed and paused containers';

CREATE FUNCTION yquota.shed_containers(node text, max_queue_length integer)
	RETURNS SETOF yquota.node_action
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_shed_containers';
COMMENT ON FUNCTION yquota.shed_containers(text, integer) IS
	'Drop the newest OPPORTUNISTIC containers that wait at a node beyond the limit that report_nodes() returns for it.  Paused containers stay, and do not count towards the limit.  A negative limit means no limit.  Returns the dropped containers';

CREATE FUNCTION yquota.recover_node_queue(node text, running text[])
	RETURNS SETOF yquota.node_action
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_recover_node_queue';
COMMENT ON FUNCTION yquota.recover_node_queue(text, text[]) IS
	'Record that a node''s agent was restarted, or begins to use the queue, and that these containers run there or are paused.  The queue counts these containers as running from now on, and waiting containers still wait.  Other containers that the agent knew have ended, with exit status -100, or -108 if they were to be killed.  Returns the containers that start.  Also returns containers to kill, because the books do not have them on this node';

CREATE FUNCTION yquota_internal.lock_node_queue(node text) RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_lock_node_queue';
COMMENT ON FUNCTION yquota_internal.lock_node_queue(text) IS
	'Lock the queue of a node until the transaction ends: wait for other calls about the queue, and make later calls wait';

-- PL/pgSQL keeps the plan; a function in SQL would plan the query at each call.
CREATE FUNCTION yquota.node_work(node text) RETURNS SETOF yquota.node_action
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN QUERY
	SELECT w.action, q.container_id, COALESCE(c.execution_type, q.execution_type), COALESCE(c.allocation, q.allocation),
		   CASE WHEN w.action = 'kill' THEN -108 ELSE q.exit_status END, q.diagnostics, q.made_room_for
	FROM yquota.node_queue AS q
	LEFT JOIN yquota.container AS c ON c.container_id = q.container_id AND c.node = q.node
	CROSS JOIN (SELECT COALESCE(bool_or(o.auto_update_containers), false) AS auto_update FROM yquota.scheduler_setting AS o) AS s
	CROSS JOIN LATERAL (VALUES
		(1, 'stop', c.container_id IS NULL),
		(2, 'kill', c.container_id IS NOT NULL AND q.state = 'KILLING'),
		(3, 'pause', c.container_id IS NOT NULL AND q.state = 'PAUSING'),
		(4, CASE WHEN q.pauses > 0 THEN 'resume' ELSE 'start' END,
		 c.container_id IS NOT NULL AND q.state = 'RUNNING' AND NOT q.is_acknowledged),
		(5, 'decrease', q.is_acknowledged AND NOT q.told_allocation OPERATOR(yquota.<@) c.allocation),
		(6, 'increase', q.is_acknowledged AND s.auto_update AND NOT c.allocation OPERATOR(yquota.<@) q.told_allocation),
		(7, 'demote', q.is_acknowledged AND c.execution_type = 'OPPORTUNISTIC' AND q.told_execution_type = 'GUARANTEED'),
		(8, 'promote', q.is_acknowledged AND s.auto_update
		 AND c.execution_type = 'GUARANTEED' AND q.told_execution_type = 'OPPORTUNISTIC')) AS w (number, action, is_due)
	WHERE q.node = node_work.node AND q.left_at IS NULL AND w.is_due
	  AND (w.number < 5 OR q.state = 'RUNNING')
	UNION ALL
	SELECT 'stop', q.container_id, q.execution_type, q.allocation, q.exit_status, q.diagnostics, q.made_room_for
	FROM yquota.node_queue AS q
	WHERE q.node = node_work.node AND q.left_at IS NOT NULL AND NOT q.is_acknowledged
	ORDER BY 2, 1;
END
$$;
COMMENT ON FUNCTION yquota.node_work(text) IS
	'Return the open work of a node''s agent.  Starts, resumptions and ends are open until the agent acknowledges them; kills and pauses until it reports that they are done.  Decreases and demotions of running containers are open until the agent acknowledges them.  While auto_update_containers is set, so are increases and promotions';

CREATE FUNCTION yquota.acknowledge_node_work(node text, actions yquota.node_action[]) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	acknowledged bigint;
BEGIN
	IF actions IS NULL THEN
		RAISE EXCEPTION 'actions must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM yquota_internal.lock_node_queue(node);
	WITH done AS (
		SELECT a.container_id,
			   bool_or(a.action IN ('start', 'resume')) AS runs,
			   bool_or(a.action IN ('stop', 'shed', 'rejected')) AS has_left,
			   (array_agg(a.execution_type) FILTER (WHERE a.action IN ('promote', 'demote')))[1] AS execution_type,
			   (array_agg(a.allocation) FILTER (WHERE a.action IN ('increase', 'decrease')))[1] AS allocation
		FROM unnest(actions) AS a
		GROUP BY a.container_id
	), changed AS (
		UPDATE yquota.node_queue AS q
		SET is_acknowledged = q.is_acknowledged OR d.runs AND q.state = 'RUNNING' OR d.has_left AND q.state = 'GONE',
			told_execution_type = COALESCE(d.execution_type, q.told_execution_type),
			told_allocation = COALESCE(d.allocation, q.told_allocation)
		FROM done AS d
		WHERE q.container_id = d.container_id AND q.node = acknowledge_node_work.node
		  AND (NOT q.is_acknowledged AND (d.runs AND q.state = 'RUNNING' OR d.has_left AND q.state = 'GONE')
			   OR d.execution_type <> q.told_execution_type OR d.allocation OPERATOR(yquota.<>) q.told_allocation)
		RETURNING 1
	)
	SELECT count(*) INTO acknowledged FROM changed;
	RETURN acknowledged;
END
$$;
COMMENT ON FUNCTION yquota.acknowledge_node_work(text, yquota.node_action[]) IS
	'Acknowledge actions that node_work() or a related function returned: the agent of the node has executed them or knows them. container_ended() and container_paused() acknowledge kill and pause.  Returns how many containers were acknowledged.  The call may be repeated';

-- Uses the diagnostics of Hadoop's SchedulerUtils.LOST_CONTAINER.
CREATE FUNCTION yquota_internal.empty_node_queue(node text, at timestamptz, exit_status integer, lost text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	reason CONSTANT text := 'Container released on a *lost* node';
BEGIN
	PERFORM yquota_internal.lock_node_queue(node);
	INSERT INTO yquota.decision (decision, container_id, application_id, queue, node, allocation, priority,
								 allocation_request_id, decided_at, diagnostics, execution_type)
	SELECT 'rejected', c.container_id, coalesce(c.application_id, ''), coalesce(c.queue, ''), c.node, c.allocation, c.priority,
		   c.allocation_request_id, yquota.clock(), reason, c.execution_type
	FROM yquota.node_queue AS q
	JOIN yquota.container AS c ON c.container_id = q.container_id
	WHERE q.node = empty_node_queue.node AND q.left_at IS NULL AND q.state IN ('QUEUED', 'PAUSED')
	  AND q.container_id = ANY (lost)
	ORDER BY q.place;
	UPDATE yquota.node_queue AS q
	SET state = 'GONE', state_at = yquota.clock(), left_at = at, left_reason = 'lost', exit_status = empty_node_queue.exit_status,
		diagnostics = reason, is_acknowledged = false,
		waited = q.waited + CASE WHEN q.state IN ('QUEUED', 'PAUSED') THEN greatest(at - q.state_at, '0') ELSE '0' END
	WHERE q.node = empty_node_queue.node AND q.left_at IS NULL AND q.container_id = ANY (lost);
END
$$;
COMMENT ON FUNCTION yquota_internal.empty_node_queue(text, timestamptz, integer, text[]) IS
	'Remove containers that were lost with their node from the node''s queue, and report the end of waiting containers in decision';

-- Raises an alert when an agent does not carry out its actions: GUARANTEED containers then wait for
-- the agent.
CREATE FUNCTION yquota_internal.watch_node_queues(now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH late AS MATERIALIZED (
			SELECT q.node, count(*) AS containers, min(q.state_at) AS since
			FROM yquota.node_queue AS q
			WHERE q.left_at IS NULL AND q.state IN ('KILLING', 'PAUSING')
			  AND q.state_at < now_at - COALESCE((SELECT s.allocation_expiry FROM yquota.scheduler_setting AS s), '10 minutes')
			GROUP BY q.node
		), cleared AS (
			UPDATE yquota.alert AS a SET cleared_at = now_at
			WHERE a.kind = 'node_queue_held_up' AND a.cleared_at IS NULL AND NOT EXISTS (SELECT FROM late AS l WHERE l.node = a.subject)
		)
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		SELECT 'node_queue_held_up', l.node,
			   format('%s containers are to be killed or paused, the first since %s: does the agent of the node ask node_work(), and report by container_ended() and container_paused()?',
					  l.containers, yquota_internal.instant_text(l.since)),
			   now_at
		FROM late AS l
		ORDER BY l.node
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;
$$;
COMMENT ON FUNCTION yquota_internal.watch_node_queues(timestamptz) IS
	'Raise an alert while a node has not ended or paused a container within allocation_expiry after it was told to kill or pause it';

-- Deletes a bounded number of rows per call, because the worker has other work in between.
CREATE FUNCTION yquota_internal.forget_left_containers(before timestamptz, most integer) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota.node_queue AS q
			WHERE q.container_id IN (SELECT o.container_id FROM yquota.node_queue AS o WHERE o.left_at < before LIMIT most)
			  AND q.left_at < before
			RETURNING 1)
		SELECT count(*) FROM forgotten;
$$;
COMMENT ON FUNCTION yquota_internal.forget_left_containers(timestamptz, integer) IS
	'Delete rows of node_queue about containers that left their nodes before an instant, up to a number of rows.  Returns the number of deleted rows';

-- Deletes a bounded number of rows per call, because the worker has other work in between.
CREATE FUNCTION yquota_internal.forget_expected_durations(most integer) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota_internal.expected_duration AS e
			WHERE e.container_id IN (
				SELECT o.container_id FROM yquota_internal.expected_duration AS o
				WHERE NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = o.container_id) LIMIT most)
			RETURNING 1)
		SELECT count(*) FROM forgotten;
$$;
COMMENT ON FUNCTION yquota_internal.forget_expected_durations(integer) IS
	'Delete rows of expected_duration about containers that no longer run, up to a number of rows.  Returns the number of deleted rows';

SELECT pg_extension_config_dump('yquota.node_queue', '');

-- No two UPDATEs or FINISHes of a container have the same time. The next event must therefore be
-- later than the last one, unless the last one is the START.
CREATE VIEW yquota_internal.container_in_books AS
	SELECT c.container_id, c.node, c.allocation AS allocation_in_books, c.execution_type = 'GUARANTEED' AS is_guaranteed_in_books,
		   c.is_running AS runs_in_books, c.settled_at AS changed_at,
		   CASE WHEN c.settled_at > c.started_at
				  OR EXISTS (SELECT FROM yquota.container_change AS u WHERE u.container_id = c.container_id)
				THEN c.settled_at + interval '1 microsecond' ELSE c.started_at END AS next_instant
	FROM yquota.container AS c;
COMMENT ON VIEW yquota_internal.container_in_books IS
	'Running containers in the books, with which the queues of nodes compare their own containers';
COMMENT ON COLUMN yquota_internal.container_in_books.next_instant IS 'earliest possible time of the container''s next event';

CREATE VIEW yquota_internal.node_queue_row AS
	SELECT q.container_id, q.node, q.state, q.place, q.execution_type, q.allocation, q.state_at, q.started_at, q.made_room_for,
		   q.diagnostics, q.is_acknowledged, q.pauses, q.expected_duration, q.left_at, b.container_id IS NOT NULL AS is_in_books,
		   b.allocation_in_books, b.is_guaranteed_in_books, b.runs_in_books, b.changed_at, b.next_instant
	FROM yquota.node_queue AS q
	LEFT JOIN yquota_internal.container_in_books AS b ON b.container_id = q.container_id AND b.node = q.node;
COMMENT ON VIEW yquota_internal.node_queue_row IS
	'Containers in queues of nodes (node_queue), with the data of the books about them on these nodes';

CREATE VIEW yquota_internal.joining_container AS
	SELECT b.container_id, b.node, q.node AS queue_node, q.left_at, q.expected_duration,
		   b.allocation_in_books, b.is_guaranteed_in_books, b.runs_in_books, b.changed_at, b.next_instant
	FROM yquota_internal.container_in_books AS b
	LEFT JOIN yquota.node_queue AS q ON q.container_id = b.container_id;
COMMENT ON VIEW yquota_internal.joining_container IS
	'Running containers, with the node queues in which they are or were';
COMMENT ON COLUMN yquota_internal.joining_container.queue_node IS 'node in whose queue the container is, or was until left_at';

CREATE VIEW yquota_internal.node_of_queue AS
	SELECT n.name, n.total, n.state, coalesce(r.queue_capacity, -1) AS queue_capacity
	FROM yquota.node AS n
	LEFT JOIN yquota_internal.node_queue_capacity AS r ON r.node = n.name;
COMMENT ON VIEW yquota_internal.node_of_queue IS
	'Nodes, with the capacity of their queues';
COMMENT ON COLUMN yquota_internal.node_of_queue.queue_capacity IS 'containers that may wait at the node; -1 when the node has reported no number';

-- An end that was recorded before the clock was set back does not become earlier. A container that
-- the queue had, but the books no longer have, was archived or voided, so its end is final.
CREATE FUNCTION yquota_internal.known_of_end(container_id text, node text, at timestamptz, is_by_clock boolean)
	RETURNS TABLE (known text)
	LANGUAGE sql STABLE PARALLEL SAFE ROWS 1
	AS $$
	SELECT CASE WHEN c.container_id IS NOT NULL AND coalesce(c.node, known_of_end.node) = known_of_end.node THEN 'runs'
				WHEN c.container_id IS NOT NULL THEN 'elsewhere'
				WHEN x.ended_at = known_of_end.at OR is_by_clock AND x.ended_at > known_of_end.at
					 OR EXISTS (SELECT FROM yquota_internal.reported_end AS e
								WHERE e.container_id = known_of_end.container_id AND e.occurred_at = known_of_end.at) THEN 'known'
				WHEN x.ended_at IS NOT NULL THEN 'ended'
				WHEN EXISTS (SELECT FROM yquota.node_queue AS q
							 WHERE q.container_id = known_of_end.container_id AND q.node = known_of_end.node) THEN 'known'
				ELSE 'unknown' END
	FROM (SELECT max(l."to") AS ended_at FROM yquota_internal.charge_in_effect AS l WHERE l.container_id = known_of_end.container_id) AS x
	LEFT JOIN yquota.container AS c ON c.container_id = known_of_end.container_id;
$$;
COMMENT ON FUNCTION yquota_internal.known_of_end(text, text, timestamptz, boolean) IS
	'Return what is known about a container that is not in the queue of a node. runs: it runs on the node. elsewhere: it runs on another node. known: it ended at the instant. ended: it ended at another instant. unknown: it was never on the node.  If the instant is the clock, a container that ended later counts as known, too';

CREATE VIEW yquota_internal.promotable_container AS
	SELECT q.container_id, c.application_id, q.node, c.queue, c.username, c.label, c.allocation, c.priority, c.allocation_request_id,
		   q.enqueued_at, q.waited
	FROM yquota.node_queue AS q
	JOIN yquota.container AS c ON c.container_id = q.container_id AND c.execution_type = 'OPPORTUNISTIC' AND c.is_running
	WHERE q.left_at IS NULL AND q.state = 'RUNNING' AND q.execution_type = 'OPPORTUNISTIC'
	  AND c.node = q.node AND c.application_id IS NOT NULL
	  AND NOT EXISTS (SELECT FROM yquota.container_update AS u WHERE u.container_id = q.container_id);
COMMENT ON VIEW yquota_internal.promotable_container IS
	'OPPORTUNISTIC containers that an allocation cycle may promote by a rule: they run at their nodes, and have no pending update';
