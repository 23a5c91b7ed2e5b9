-- The books prove themselves (docs/design.md 1.9).  Verification computes everything again: the life of each
-- container from the log, amounts from the timelines, and counters from the ledger and the running containers.
-- Unlike charging, it handles sets of containers, not one container at a time.  Verification and charging share only
-- the computation of an allocation's cost.
--
-- Verification has two passes.  The first pass joins the log, the ledger and the running containers.  It proves
-- ordinary lives: a START, at most one FINISH, and one row of the books with exactly the same amount.  The second
-- pass computes the segments of all other lives and reports the differences.  It gets every life that the first pass
-- does not prove, so no difference stays hidden.
--
-- Functions without SET clauses are inlined, so that the planner sees a whole pass.  Names in their bodies were
-- resolved when they were created.

CREATE FUNCTION yquota_internal.payer_project(project text, username text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN COALESCE(project, split_part(username, '__', 1));
COMMENT ON FUNCTION yquota_internal.payer_project(text, text) IS
	'Return the project that a CONTAINER_START names, or else the project in its username (project__user)';

CREATE FUNCTION yquota_internal.payer_username(project text, username text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN project IS NULL AND strpos(username, '__') > 0
		   THEN split_part(username, '__', 2) ELSE username END;
COMMENT ON FUNCTION yquota_internal.payer_username(text, text) IS
	'Return the user of a CONTAINER_START, without the project';

CREATE FUNCTION yquota_internal.is_due(
	project text, application_id text, username text, queue text, node text,
	execution_type yquota.execution_type, allocation yquota.resource,
	from_at timestamptz, to_at timestamptz, amount numeric, dominant text)
RETURNS boolean
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_is_due';
COMMENT ON FUNCTION yquota_internal.is_due(text, text, text, text, text, yquota.execution_type, yquota.resource, timestamptz, timestamptz, numeric, text) IS
	'Tell whether an interval of time costs a given amount and has a given dominant resource.  Combines factor_names(), accrued() and dominant() in one call.  The result is false if the node changes its label';

CREATE FUNCTION yquota_internal.pin_prices() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_pin_prices';
COMMENT ON FUNCTION yquota_internal.pin_prices() IS
	'Use the prices, outages and labels of nodes in the snapshot of the statement until unpin_prices().  Otherwise the newest committed ones are used';

CREATE FUNCTION yquota_internal.unpin_prices() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_unpin_prices';
COMMENT ON FUNCTION yquota_internal.unpin_prices() IS
	'Use the newest committed prices, outages and labels of nodes again.  An error has the same effect';

CREATE FUNCTION yquota_internal.last_known_step(known anyelement, value anyelement) RETURNS anyelement
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_last_known_step';
COMMENT ON FUNCTION yquota_internal.last_known_step(anyelement, anyelement) IS 'Transition function of last_known()';

CREATE AGGREGATE yquota_internal.last_known(anyelement) (
	SFUNC = yquota_internal.last_known_step,
	STYPE = anyelement,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE yquota_internal.last_known(anyelement) IS
	'Last value that is not NULL; as a window function it fills gaps';

--
-- First pass
--

CREATE VIEW yquota_internal.logged_life AS
	SELECT start.container_id,
		   yquota_internal.payer_project(start.project, start.username) AS project,
		   start.application_id,
		   yquota_internal.payer_username(start.project, start.username) AS username,
		   start.queue, start.node,
		   COALESCE(start.execution_type, 'GUARANTEED') AS execution_type,
		   start.allocation,
		   start.occurred_at AS started_at,
		   finish.occurred_at AS finished_at,
		   finish.exit_status,
		   COALESCE(start.priority, 0) AS priority,
		   COALESCE(start.allocation_request_id, -1) AS allocation_request_id,
		   COALESCE(start.asked_label, '') AS asked_label,
		   COALESCE(start.is_am, start.container_id LIKE E'%\\_000001') AS is_am,
		   COALESCE(start.is_running, true) AS is_running,
		   start.source IS NOT DISTINCT FROM 'scheduler' AS is_given,
		   start.event = 'CONTAINER_START' AS is_start
	FROM yquota.container_event AS start
	LEFT JOIN yquota.container_event AS finish
		ON finish.container_id = start.container_id AND finish.event = 'CONTAINER_FINISH'
	WHERE start.event IN ('CONTAINER_START', 'CONTAINER_UPDATE') AND start.container_id IS NOT NULL;
COMMENT ON VIEW yquota_internal.logged_life IS
	'START and FINISH of each container as they arrived: a row per pair, accepted or not.  is_start is false if there is an UPDATE in place of the START';

CREATE VIEW yquota_internal.booked_life AS
	SELECT charge.tableoid AS book, charge.ctid AS place,
		   charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge.started_at, charge."to" AS finished_at, charge.exit_status,
		   charge.amount, charge.dominant,
		   charge.number = 1 AND charge.corrects IS NULL AND charge.padding IS NULL AND charge.given_back IS NULL
		   AND charge.waiting_factor IS NULL AND charge."from" = charge.started_at
		   AND charge.settled_by = 'CONTAINER_FINISH' AS is_whole,
		   NULL::integer AS priority, NULL::bigint AS allocation_request_id, NULL AS asked_label,
		   NULL::boolean AS is_am, NULL::boolean AS is_running, NULL::boolean AS is_given
	FROM yquota.charge
	UNION ALL
	SELECT container.tableoid, container.ctid,
		   container.container_id, container.project, container.application_id, container.username,
		   container.queue, container.node, container.execution_type, container.allocation,
		   container.started_at, NULL, NULL, NULL, NULL,
		   container.settled_at = container.started_at AND container.charges = 0 AND container.waiting_factor IS NULL,
		   container.priority, container.allocation_request_id, container.asked_label,
		   container.is_am, container.is_running, container.is_given
	FROM yquota.container;
COMMENT ON VIEW yquota_internal.booked_life IS
	'Rows of the books about each container: its rows of the ledger and, while it runs, its row of container.  is_whole is true if the books should contain only this row';

CREATE FUNCTION yquota_internal.unproven_container(since timestamptz) RETURNS TABLE (container_id text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT life.container_id
	FROM (
		SELECT COALESCE(logged.container_id, booked.container_id) AS container_id,
			   booked.book, booked.place, true AS concerned,
			   (logged.is_start AND booked.is_whole
				AND logged.project = booked.project
				AND logged.application_id IS NOT DISTINCT FROM booked.application_id
				AND logged.username IS NOT DISTINCT FROM booked.username
				AND logged.queue IS NOT DISTINCT FROM booked.queue
				AND logged.node IS NOT DISTINCT FROM booked.node
				AND logged.execution_type = booked.execution_type
				-- the second pass handles lives with waits
				AND (logged.is_running OR logged.execution_type = 'GUARANTEED')
				AND logged.allocation OPERATOR(yquota.=) booked.allocation
				AND logged.started_at = booked.started_at
				AND logged.finished_at IS NOT DISTINCT FROM booked.finished_at
				AND logged.exit_status IS NOT DISTINCT FROM booked.exit_status
				AND (booked.finished_at IS NULL
					 -- the second pass handles lives during which a priced label changes
					 AND (rule.labels_from IS NULL OR yquota_internal.next_label_change(booked.node, booked.started_at) IS NULL)
					 AND logged.priority = booked.priority
					 AND logged.allocation_request_id = booked.allocation_request_id
					 AND logged.asked_label = booked.asked_label
					 AND logged.is_am = booked.is_am
					 AND logged.is_running = booked.is_running
					 AND logged.is_given = booked.is_given
					 -- the second pass handles lives with padding
					 OR booked.finished_at - booked.started_at >= rule.longest
					 -- the second pass handles lives that ended in a preemption, because part of them may be free
					 AND (booked.exit_status IS DISTINCT FROM -102 OR rule.free = '0')
					 AND yquota_internal.is_due(
						booked.project, booked.application_id, booked.username, booked.queue,
						booked.node, booked.execution_type, booked.allocation,
						booked.started_at, booked.finished_at, booked.amount, booked.dominant))
			   ) IS TRUE AS proven
		FROM (SELECT * FROM yquota_internal.logged_life AS l
			  WHERE since IS NULL OR l.finished_at IS NULL OR l.finished_at >= since
				 OR NOT l.is_start AND l.started_at >= since) AS logged
		FULL JOIN (SELECT * FROM yquota_internal.booked_life AS b
				   WHERE since IS NULL OR b.finished_at IS NULL OR b.finished_at >= since) AS booked
			ON booked.container_id = logged.container_id
			-- Join a START only with a row that should be its whole life, and with no other rows.  Otherwise a
			-- container with many UPDATEs and many ledger rows would give a pair for each combination of the two.
			AND CASE WHEN booked.is_whole THEN 1 ELSE 2 END = CASE WHEN logged.is_start THEN 1 ELSE 3 END
		CROSS JOIN (SELECT COALESCE(max(charging_rule.minimum_run_time), '0') AS longest,
						   COALESCE(max(charging_rule.free_before_preemption), '0') AS free,
						   yquota_internal.labels_priced_from() AS labels_from
					FROM yquota.charging_rule) AS rule
		UNION ALL
		SELECT aside.container_id, NULL, NULL, since IS NULL OR aside.occurred_at >= since, false
		FROM yquota_internal.set_aside_event AS aside
		UNION ALL
		-- include containers with voids, whose log and books agree only if voided events are ignored
		SELECT void.container_id, NULL, NULL, since IS NULL, false
		FROM yquota_internal.last_void AS void
		-- evaluate below the grouping, so that not all columns pass through it
		OFFSET 0
	) AS life
	WHERE life.container_id IS NOT NULL
	GROUP BY life.container_id
	-- the log may contain an event twice, but the books must not contain a row twice
	HAVING bool_or(life.concerned)
	   AND (NOT bool_and(life.proven)
			OR min(life.place) <> max(life.place) OR min(life.book) <> max(life.book));
	END;
COMMENT ON FUNCTION yquota_internal.unproven_container(timestamptz) IS
	'Return the containers that the first pass cannot prove, and which the second pass has to examine.  If an instant is given, return only containers that run, or that ended or had an event since then';

--
-- Second pass
--

-- Charging records which events it accepts; verification does not compute this again.  A START that was repeated
-- with a new allocation has become an UPDATE. container_change has the number of such a START and the instant from
-- which it counts.
CREATE FUNCTION yquota_internal.accepted_event(since timestamptz)
	RETURNS TABLE (container_id text, event yquota.container_event_type, occurred_at timestamptz,
				   project text, application_id text, username text, queue text, node text,
				   allocation yquota.resource, execution_type yquota.execution_type,
				   exit_status integer, priority integer, allocation_request_id bigint,
				   asked_label text, is_am boolean, is_running boolean, is_given boolean)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH unproven AS MATERIALIZED (
		SELECT u.container_id FROM yquota_internal.unproven_container(since) AS u
	), repeated AS MATERIALIZED (
		-- read the whole table, because its index would read all changes of a container for each of its events
		SELECT change.event_id, change.container_id, change.occurred_at
		FROM yquota.container_change AS change
		WHERE change.repeated_start
	), accepted AS (
		SELECT log.*, repeated.occurred_at AS counts_from
		FROM yquota.container_event AS log
		LEFT JOIN repeated
			ON repeated.event_id = log.event_id
			AND repeated.container_id = log.container_id
			AND repeated.occurred_at >= greatest(log.recorded_at, log.occurred_at)
		WHERE log.container_id IN (SELECT unproven.container_id FROM unproven)
		  AND log.event <> 'QUOTA_COMPUTE'
		  AND NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside
						  WHERE aside.event_id = log.event_id)
		  AND NOT EXISTS (SELECT FROM yquota_internal.event_without_effect AS idle
						  WHERE idle.event_id = log.event_id)
		  AND NOT EXISTS (SELECT FROM yquota_internal.voided_event AS voided
						  WHERE voided.event_id = log.event_id)
	)
	SELECT a.container_id, a.event, a.occurred_at, a.project, a.application_id, a.username,
		   a.queue, a.node, a.allocation, a.execution_type, a.exit_status,
		   a.priority, a.allocation_request_id, a.asked_label, a.is_am, a.is_running,
		   a.source IS NOT DISTINCT FROM 'scheduler'
	FROM accepted AS a
	WHERE a.counts_from IS NULL
	UNION ALL
	SELECT a.container_id, 'CONTAINER_UPDATE', a.counts_from, a.project, NULL, NULL,
		   NULL, NULL, a.allocation, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
	FROM accepted AS a
	WHERE a.counts_from IS NOT NULL
	UNION ALL
	SELECT unproven.container_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, NULL, NULL
	FROM unproven;
	END;
COMMENT ON FUNCTION yquota_internal.accepted_event(timestamptz) IS
	'Return the effective events of unproven containers.  These are the events of the log, except those that were set aside, changed nothing or were voided.  Each container also has a row with only its id, which represents a container without accepted events';

-- A FINISH that arrived after the end is not part of the life, but shows that yquota preempted the container.  The
-- log is read only if a rule makes time before preemptions free.
CREATE VIEW yquota_internal.own_preemption AS
	SELECT log.container_id
	FROM yquota.container_event AS log
	WHERE log.event = 'CONTAINER_FINISH' AND log.exit_status = -102
	  AND log.source IN ('scheduler', 'reconcile', 'node_lost')
	  AND (SELECT max(rule.free_before_preemption) > '0' FROM yquota.charging_rule AS rule)
	  AND NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside
					  WHERE aside.event_id = log.event_id)
	  AND NOT EXISTS (SELECT FROM yquota_internal.event_without_effect AS idle
					  WHERE idle.event_id = log.event_id)
	  AND NOT EXISTS (SELECT FROM yquota_internal.voided_event AS voided
					  WHERE voided.event_id = log.event_id);
COMMENT ON VIEW yquota_internal.own_preemption IS
	'Containers that yquota itself has preempted, according to the log; no rows if no rule makes time before a preemption free';

CREATE FUNCTION yquota_internal.expected_segment(since timestamptz)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, execution_type yquota.execution_type,
				   allocation yquota.resource, started_at timestamptz, finished_at timestamptz,
				   exit_status integer, "from" timestamptz, "to" timestamptz, is_last boolean,
				   is_cut boolean, priority integer, allocation_request_id bigint,
				   asked_label text, is_am boolean, is_running boolean, is_given boolean,
				   is_free boolean, waits_since timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH event AS MATERIALIZED (
		-- results of functions have no collation of their own
		SELECT e.container_id COLLATE "C" AS container_id, e.event, e.occurred_at, e.project,
			   e.application_id, e.username, e.queue, e.node, e.allocation, e.execution_type,
			   e.exit_status, e.priority, e.allocation_request_id, e.asked_label, e.is_am, e.is_running, e.is_given
		FROM yquota_internal.accepted_event(since) AS e
	), ended AS (
		SELECT DISTINCT ON (e.container_id) e.container_id, e.occurred_at, e.exit_status
		FROM event AS e
		WHERE e.event = 'CONTAINER_FINISH'
		ORDER BY e.container_id, e.occurred_at, e.exit_status
	), life AS MATERIALIZED (
		SELECT start.container_id,
			   yquota_internal.payer_project(start.project, start.username) AS project,
			   yquota_internal.payer_username(start.project, start.username) AS username,
			   start.application_id, start.queue, start.node, start.allocation,
			   COALESCE(start.execution_type, 'GUARANTEED') AS execution_type,
			   start.occurred_at AS started_at, finish.occurred_at AS finished_at, finish.exit_status,
			   COALESCE(start.priority, 0) AS priority,
			   COALESCE(start.allocation_request_id, -1) AS allocation_request_id,
			   COALESCE(start.asked_label, '') AS asked_label,
			   COALESCE(start.is_am, start.container_id LIKE E'%\\_000001') AS is_am,
			   COALESCE(start.is_running, true) AS is_running, start.is_given,
			   CASE WHEN rule.free > '0'
					 AND (rule.any_preemption_source
						  OR start.container_id IN (SELECT own.container_id FROM yquota_internal.own_preemption AS own))
					THEN greatest(start.occurred_at, finish.occurred_at - rule.free) END AS free_from
		FROM event AS start
		LEFT JOIN ended AS finish ON finish.container_id = start.container_id
		LEFT JOIN LATERAL (
			SELECT r.any_preemption_source,
				   yquota_internal.microseconds(r.free_before_preemption) * interval '1 microsecond' AS free
			FROM yquota.charging_rule AS r
			WHERE finish.exit_status = -102 AND r.project = '' AND r.effective_at <= start.occurred_at
			ORDER BY r.effective_at DESC LIMIT 1
		) AS rule ON true
		WHERE start.event = 'CONTAINER_START'
	), heard AS (
		SELECT l.container_id, l.started_at AS at, 1 AS kind,
			   l.allocation, l.execution_type, l.queue, l.node,
			   l.priority, l.allocation_request_id, l.asked_label, l.is_am, l.is_running
		FROM life AS l
		UNION ALL
		SELECT e.container_id, e.occurred_at, 2, e.allocation, e.execution_type, e.queue, e.node,
			   e.priority, e.allocation_request_id, e.asked_label, e.is_am, e.is_running
		FROM event AS e
		WHERE e.event = 'CONTAINER_UPDATE'
		UNION ALL
		SELECT l.container_id, period.until, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
		FROM life AS l
		JOIN yquota.closed_period AS period
			ON period.until > l.started_at AND (l.finished_at IS NULL OR period.until < l.finished_at)
		-- while a period is being closed, some containers have not been settled at its end yet
		WHERE period.closed_at IS NOT NULL
		   OR l.container_id NOT IN (SELECT unsettled.container_id
									 FROM yquota_internal.unsettled_at_period_end AS unsettled
									 JOIN yquota.closed_period AS closing ON closing.until = unsettled.until
									 WHERE closing.closed_at IS NULL)
		UNION ALL
		SELECT l.container_id, l.free_from, 4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
		FROM life AS l
		WHERE l.free_from > l.started_at AND l.free_from < l.finished_at
	), relabelled AS (
		-- find changes of the labels of all nodes on which a container was
		SELECT DISTINCT place.container_id, change.effective_at AS at, change.node
		FROM heard AS place
		JOIN yquota_internal.label_change AS change ON change.node = place.node
		JOIN life AS l ON l.container_id = place.container_id AND change.effective_at > l.started_at
	), step AS (
		-- events after the end change nothing
		SELECT heard.*, NULL AS relabelled
		FROM heard
		JOIN life AS l USING (container_id)
		WHERE l.finished_at IS NULL OR heard.at <= l.finished_at
		UNION ALL
		SELECT r.container_id, r.at, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, r.node
		FROM relabelled AS r
		JOIN life AS l USING (container_id)
		WHERE l.finished_at IS NULL OR r.at <= l.finished_at
	), any_state AS (
		SELECT step.container_id, step.at, step.kind, step.relabelled,
			   yquota_internal.last_known(step.allocation) OVER so_far AS allocation,
			   yquota_internal.last_known(step.execution_type) OVER so_far AS execution_type,
			   yquota_internal.last_known(step.queue) OVER so_far AS queue,
			   yquota_internal.last_known(step.node) OVER so_far AS node,
			   yquota_internal.last_known(step.priority) OVER so_far AS priority,
			   yquota_internal.last_known(step.allocation_request_id) OVER so_far AS allocation_request_id,
			   yquota_internal.last_known(step.asked_label) OVER so_far AS asked_label,
			   yquota_internal.last_known(step.is_am) OVER so_far AS is_am,
			   yquota_internal.last_known(step.is_running) OVER so_far AS is_running
		FROM step
		WINDOW so_far AS (PARTITION BY step.container_id ORDER BY step.at, step.kind
						  ROWS UNBOUNDED PRECEDING)
	), state AS (
		SELECT any_state.*,
			   lead(any_state.at) OVER in_order AS next_at,
			   lead(any_state.kind) OVER in_order AS next_kind
		FROM any_state
		-- a label counts only while the container is on its node
		WHERE any_state.kind <> 5 OR any_state.relabelled = any_state.node
		WINDOW in_order AS (PARTITION BY any_state.container_id ORDER BY any_state.at, any_state.kind)
	), waiting AS (
		SELECT state.*, state.execution_type = 'OPPORTUNISTIC' AND NOT state.is_running AS waits,
			   CASE WHEN lag(state.execution_type = 'OPPORTUNISTIC' AND NOT state.is_running) OVER so_far
					THEN NULL ELSE state.at END AS may_begin_to_wait_at
		FROM state
		WINDOW so_far AS (PARTITION BY state.container_id ORDER BY state.at, state.kind)
	), segment AS (
		SELECT waiting.*,
			   CASE WHEN waiting.waits
					THEN yquota_internal.last_known(waiting.may_begin_to_wait_at) OVER so_far END AS waits_since
		FROM waiting
		WINDOW so_far AS (PARTITION BY waiting.container_id ORDER BY waiting.at, waiting.kind
						  ROWS UNBOUNDED PRECEDING)
	)
	SELECT concerned.container_id, life.project, life.application_id, life.username,
		   segment.queue, segment.node, segment.execution_type, segment.allocation,
		   life.started_at, life.finished_at, life.exit_status,
		   segment.at, COALESCE(segment.next_at, life.finished_at), segment.next_at IS NULL,
		   COALESCE(segment.next_kind IN (3, 4, 5), false),
		   segment.priority, segment.allocation_request_id, segment.asked_label, segment.is_am, segment.is_running, life.is_given,
		   COALESCE(segment.at >= life.free_from AND segment.at < life.finished_at, false),
		   segment.waits_since
	FROM (SELECT event.container_id FROM event WHERE event.event IS NULL) AS concerned
	LEFT JOIN (life JOIN segment USING (container_id)) USING (container_id);
	END;
COMMENT ON FUNCTION yquota_internal.expected_segment(timestamptz) IS
	'Return the allocation of each unproven container over time, according to the log.  The rows show whether time is free because of a preemption, and since when the container waits.  "to" is NULL while the container runs.  If the log has no start, all columns except the id are NULL';

CREATE FUNCTION yquota_internal.expected_charge(since timestamptz)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, execution_type yquota.execution_type,
				   allocation yquota.resource, started_at timestamptz, exit_status integer,
				   "from" timestamptz, "to" timestamptz, padding interval,
				   settled_by yquota.container_event_type, dominant text, amount numeric,
				   given_back numeric, waiting_factor numeric, role record)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH segment AS MATERIALIZED (
		SELECT s.*, rule.waiting_factor,
			   yquota_internal.factor_names(s.project, s.application_id, s.username, s.queue, s.node, s."from",
											s.execution_type, rule.waiting_factor) AS factors
		FROM yquota_internal.expected_segment(since) AS s
		CROSS JOIN LATERAL (
			SELECT CASE WHEN s.waits_since IS NOT NULL THEN
				coalesce((SELECT r.waiting_factor FROM yquota.charging_rule AS r
						  WHERE r.project = '' AND r.effective_at <= s.waits_since ORDER BY r.effective_at DESC LIMIT 1), 0) END AS waiting_factor
			OFFSET 0
		) AS rule
	)
	SELECT s.container_id, s.project, s.application_id, s.username, s.queue, s.node,
		   s.execution_type, s.allocation, s.started_at,
		   CASE WHEN s.is_last THEN s.exit_status END,
		   s."from", s."to", NULL,
		   CASE WHEN s.is_last THEN 'CONTAINER_FINISH' WHEN s.is_cut THEN 'QUOTA_COMPUTE'
				ELSE 'CONTAINER_UPDATE' END::yquota.container_event_type,
		   CASE WHEN NOT s.is_free THEN yquota_internal.dominant(s.allocation, s.factors, s."from", s."to") END,
		   CASE WHEN s.is_free THEN 0 ELSE yquota_internal.accrued(s.allocation, s.factors, s."from", s."to") END,
		   CASE WHEN s.is_free THEN yquota_internal.accrued(s.allocation, s.factors, s."from", s."to") END,
		   s.waiting_factor,
		   ROW(s.priority, s.allocation_request_id, s.asked_label COLLATE "C", s.is_am, s.is_running, s.is_given)
	FROM segment AS s
	-- a change at the same instant as another one, or as the start, settles nothing
	WHERE s."to" IS DISTINCT FROM s."from" OR s.is_last
	UNION ALL
	SELECT s.container_id, s.project, s.application_id, s.username, s.queue, s.node,
		   s.execution_type, s.allocation, s.started_at, s.exit_status,
		   s.finished_at, s.finished_at, short.missing, 'CONTAINER_FINISH',
		   -- no price changes within a microsecond
		   yquota_internal.dominant(s.allocation, s.factors, s.finished_at,
									s.finished_at + interval '1 microsecond'),
		   yquota_internal.rate(s.allocation, s.factors, s.finished_at)
		   * yquota_internal.microseconds(short.missing) * 0.000001,
		   NULL, s.waiting_factor, NULL
	FROM segment AS s
	CROSS JOIN LATERAL (
		SELECT rule.minimum_run_time - (s.finished_at - s.started_at) AS missing
		FROM yquota.charging_rule AS rule
		WHERE rule.project = '' AND rule.effective_at <= s.started_at
		ORDER BY rule.effective_at DESC LIMIT 1
	) AS short
	WHERE s.is_last AND short.missing > interval '0';
	END;
COMMENT ON FUNCTION yquota_internal.expected_charge(timestamptz) IS
	'Return the rows that should be in effect in the ledger for unproven containers.  "to" and amount are NULL for a container that still runs, and "from" is NULL when there is no start';

CREATE FUNCTION yquota_internal.verify_lives(since timestamptz)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH due AS MATERIALIZED (
		SELECT e.*, COALESCE(yquota_internal.microseconds(e.padding), 0) AS padded, 1::bigint AS copy,
			   ROW(e.project COLLATE "C", e.application_id COLLATE "C", e.username COLLATE "C",
				   e.queue COLLATE "C", e.node COLLATE "C", e.execution_type, e.allocation,
				   e.started_at, e.settled_by, e.exit_status, e.waiting_factor) AS content
		FROM yquota_internal.expected_charge(since) AS e
	), posted AS MATERIALIZED (
		SELECT charge.* FROM yquota.charge
		WHERE charge.container_id IN (SELECT due.container_id FROM due)
	), in_effect AS (
		SELECT p.container_id, p.number, p."from", p."to", p.dominant, p.amount, p.given_back,
			   COALESCE(yquota_internal.microseconds(p.padding), 0) AS padded,
			   row_number() OVER (PARTITION BY p.container_id, p."from", p."to", p.padding
								  ORDER BY p.number) AS copy,
			   ROW(p.project, p.application_id, p.username, p.queue, p.node, p.execution_type,
				   p.allocation, p.started_at, p.settled_by, p.exit_status, p.waiting_factor) AS content
		-- a row and its correction are in one partition
		FROM (SELECT posted.*,
					 count(posted.corrects) OVER (PARTITION BY posted.container_id, COALESCE(posted.corrects, posted.number)) AS corrections
			  FROM posted) AS p
		WHERE p.corrects IS NULL AND p.corrections = 0
	), correct AS (
		-- amounts from that instant on will be corrected in the next compute interval
		SELECT coalesce(yquota_internal.uncorrected_since(), 'infinity') AS until
	)
	SELECT 'ledger differs from the log', log.container_id,
		   format('%s credits for project %s', trim_scale(log.amount), log.project),
		   format('%s credits for project %s, %s rows up to number %s',
				  trim_scale(ledger.amount), ledger.project, ledger.rows, ledger.last_number)
	FROM (SELECT due.container_id, max(due.project) AS project, sum(due.amount) AS amount,
				 sum(due.given_back) AS given_back,
				 coalesce(max(due."to") <= (SELECT correct.until FROM correct), true) AS is_correct
		  FROM due GROUP BY due.container_id) AS log
	-- charges before a void have been reversed for the project that had paid
	LEFT JOIN (SELECT posted.container_id, posted.project, posted.number <= void.charges AS is_void,
					  sum(posted.amount) AS amount, sum(posted.given_back) AS given_back,
					  sum(count(*)) OVER container AS rows, max(max(posted.number)) OVER container AS last_number
			   FROM posted
			   LEFT JOIN yquota_internal.last_void AS void ON void.container_id = posted.container_id
			   GROUP BY 1, 2, 3
			   WINDOW container AS (PARTITION BY posted.container_id)) AS ledger USING (container_id)
	WHERE (log.is_correct OR ledger.is_void)
		  AND (CASE WHEN ledger.is_void THEN 0 ELSE COALESCE(log.amount, 0) END <> COALESCE(ledger.amount, 0)
			   OR CASE WHEN ledger.is_void THEN 0 ELSE COALESCE(log.given_back, 0) END <> COALESCE(ledger.given_back, 0))
	   OR ledger.project IS NOT NULL AND ledger.project IS DISTINCT FROM log.project AND ledger.is_void IS NOT TRUE
	   OR ledger.last_number <> ledger.rows
	UNION ALL
	SELECT CASE WHEN log.content IS DISTINCT FROM ledger.content THEN 'charge differs from the log'
		   ELSE 'amount of a charge differs from the timelines' END,
		   format('%s number %s', container_id, ledger.number),
		   format('%s by %s, %s to %s %s%s', trim_scale(log.amount), log.dominant, log."from", log."to", log.content,
				  ', gives back ' || trim_scale(log.given_back)),
		   format('%s by %s, %s to %s %s%s', trim_scale(ledger.amount), ledger.dominant, ledger."from", ledger."to", ledger.content,
				  ', gives back ' || trim_scale(ledger.given_back))
	FROM (SELECT * FROM due WHERE due."to" IS NOT NULL) AS log
	FULL JOIN in_effect AS ledger USING (container_id, "from", "to", padded, copy)
	WHERE log.content IS DISTINCT FROM ledger.content
	   OR log."to" <= (SELECT correct.until FROM correct)
		  AND (log.amount <> ledger.amount OR log.dominant IS DISTINCT FROM ledger.dominant
			   OR log.given_back IS DISTINCT FROM ledger.given_back)
	UNION ALL
	SELECT 'running container differs from the log', container_id,
		   format('since %s %s', log."from", log.content),
		   format('since %s %s', running.settled_at, running.content)
	FROM (SELECT due.container_id, due."from",
				 ROW(due.project COLLATE "C", due.application_id COLLATE "C", due.username COLLATE "C",
					 due.queue COLLATE "C", due.node COLLATE "C", due.execution_type, due.allocation,
					 due.started_at, COALESCE(ledger.rows, 0), due.waiting_factor, due.role) AS content
		  FROM due
		  LEFT JOIN (SELECT posted.container_id, count(*)::integer AS rows
					 FROM posted GROUP BY posted.container_id) AS ledger USING (container_id)
		  WHERE due."from" IS NOT NULL AND due."to" IS NULL) AS log
	FULL JOIN (
		SELECT c.container_id, c.settled_at,
			   ROW(c.project, c.application_id, c.username, c.queue, c.node,
				   c.execution_type, c.allocation, c.started_at, c.charges, c.waiting_factor,
				   ROW(c.priority, c.allocation_request_id, c.asked_label, c.is_am, c.is_running, c.is_given)) AS content
		FROM yquota.container AS c
		WHERE c.container_id IN (SELECT due.container_id FROM due)
	) AS running USING (container_id)
	WHERE log.content IS DISTINCT FROM running.content
	   OR log."from" IS DISTINCT FROM running.settled_at;
	END;
COMMENT ON FUNCTION yquota_internal.verify_lives(timestamptz) IS
	'Return differences between the log and the books for containers that are not proven';

-- Running containers and counters describe the present state and have no history.  They are therefore always checked
-- completely, whatever interval is verified.

CREATE FUNCTION yquota_internal.verify_accruals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'accrual of a running container differs from the timelines', container.container_id,
		   format('%s under %s', trim_scale(due.amount), due.names),
		   format('%s under %s', trim_scale(container.accrual_base), container.factors)
	FROM yquota.container
	CROSS JOIN LATERAL (
		SELECT names, yquota_internal.accrued(container.allocation, names,
				date_trunc('hour', container.settled_at, 'UTC'), container.settled_at) AS amount
		FROM yquota_internal.factor_names(container.project, container.application_id,
			container.username, container.queue, container.node, container.settled_at,
			container.execution_type, container.waiting_factor) AS names
	) AS due
	WHERE due.amount <> container.accrual_base OR due.names IS DISTINCT FROM container.factors
	UNION ALL
	SELECT 'rate class differs from running containers',
		   format('%s %s %s %s', project, shape, factors, reference_at),
		   format('weight %s, accrual base %s', running.weight, trim_scale(running.accrual_base)),
		   format('weight %s, accrual base %s', class.weight, trim_scale(class.accrual_base))
	FROM (SELECT container.project, yquota_internal.shape(container.allocation)::text AS shape,
				 COALESCE(container.factors, '{}') AS factors,
				 date_trunc('hour', container.settled_at, 'UTC') AS reference_at,
				 sum(yquota_internal.weight(container.allocation)) AS weight,
				 sum(container.accrual_base) AS accrual_base
		  FROM yquota.container
		  WHERE yquota_internal.weight(container.allocation) <> 0
		  GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT rate_class.project, rate_class.shape::text AS shape, COALESCE(rate_class.factors, '{}') AS factors,
			   rate_class.reference_at, rate_class.weight, rate_class.accrual_base
		FROM yquota_internal.rate_class
	) AS class USING (project, shape, factors, reference_at)
	WHERE running.weight IS DISTINCT FROM class.weight
	   OR running.accrual_base IS DISTINCT FROM class.accrual_base;
	END;
COMMENT ON FUNCTION yquota_internal.verify_accruals() IS
	'Return differences between running containers, the timelines and the counters of rate classes';

CREATE FUNCTION yquota_internal.verify_running_totals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'running total of a project differs from its rate classes', project,
		   format('%s classes, accrual base %s', due.classes, trim_scale(due.accrual_base)),
		   format('weights %s, accrual base %s', total.weights, trim_scale(total.accrual_base))
	FROM (SELECT class.project, count(*) AS classes,
				 yquota_internal.pack_weights(number.class_id, class.weight)
					 FILTER (WHERE number.class_id IS NOT NULL) AS weights,
				 sum(class.accrual_base)
				 - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
											   class.reference_at, reference.reference_at) AS accrual_base
		  FROM yquota_internal.valid_reference AS reference
		  CROSS JOIN yquota_internal.rate_class_counter AS class
		  LEFT JOIN yquota_internal.running_class AS number
			ON number.shape OPERATOR(yquota.=) class.shape
			AND number.factors IS NOT DISTINCT FROM class.factors
		  GROUP BY class.project) AS due
	FULL JOIN (
		SELECT project, counter.accrual_base, running_total.weights
		FROM yquota_internal.project_counter AS counter
		FULL JOIN yquota_internal.running_total USING (project)
		WHERE EXISTS (SELECT FROM yquota_internal.valid_reference)
	) AS total USING (project)
	WHERE COALESCE(due.weights, '') <> COALESCE(total.weights, '')
	   OR COALESCE(due.accrual_base, 0) <> COALESCE(total.accrual_base, 0);
	END;
COMMENT ON FUNCTION yquota_internal.verify_running_totals() IS
	'Return differences between the counters of rate classes and the totals from which balances are read';

CREATE FUNCTION yquota_internal.verify_usage()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	-- Both halves need the nested loop that verify() discourages.  The planner would therefore start a parallel
	-- worker for each half, which takes longer than running both halves.
	SET enable_parallel_append = off
	BEGIN ATOMIC
	SELECT 'usage of a queue differs from running containers',
		   format('%s %s %s %s', queue, label, username, execution_type),
		   format('%s containers %s', running.containers, running.allocation),
		   format('%s containers %s', usage.containers, usage.allocation)
	FROM (SELECT COALESCE(container.queue, '') AS queue, COALESCE(container.label, '') AS label,
				 COALESCE(container.username, '') AS username, container.execution_type,
				 count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container WHERE container.waiting_factor IS NULL GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT COALESCE(queue_usage.queue, '') AS queue, COALESCE(queue_usage.label, '') AS label,
			   COALESCE(queue_usage.username, '') AS username, queue_usage.execution_type,
			   sum(queue_usage.containers)::bigint AS containers,
			   yquota.sum(queue_usage.allocation) AS allocation
		FROM yquota.queue_usage GROUP BY 1, 2, 3, 4
	) AS usage USING (queue, label, username, execution_type)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation::text IS DISTINCT FROM usage.allocation::text
	UNION ALL
	SELECT 'usage of a node differs from running containers', node,
		   format('%s containers %s', running.containers, running.allocation),
		   format('%s containers %s', usage.containers, usage.allocation)
	FROM (SELECT container.node, count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container WHERE container.node IS NOT NULL AND container.waiting_factor IS NULL GROUP BY 1) AS running
	FULL JOIN (
		SELECT node_usage.node, node_usage.containers,
			   node_usage.guaranteed OPERATOR(yquota.+) node_usage.opportunistic AS allocation
		FROM yquota.node_usage WHERE node_usage.containers <> 0
	) AS usage USING (node)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation::text IS DISTINCT FROM usage.allocation::text;
	END;
COMMENT ON FUNCTION yquota_internal.verify_usage() IS
	'Return differences between running containers and the counters of queues and nodes';

CREATE VIEW yquota_internal.ledger_total AS
	SELECT part.project, sum(part.charged) AS charged
	FROM (SELECT charge.project, charge.amount AS charged
		  FROM yquota.charge
		  UNION ALL
		  SELECT reserved.project, reserved.amount FROM yquota.reservation_charge AS reserved
		  UNION ALL
		  (SELECT DISTINCT ON (opening.project) opening.project, opening.charged
		   FROM yquota.opening_balance AS opening
		   ORDER BY opening.project, opening.archived_through DESC)) AS part
	GROUP BY part.project;
COMMENT ON VIEW yquota_internal.ledger_total IS
	'Credits charged to each project, according to the ledgers, and to the opening balances for archived history';

CREATE FUNCTION yquota_internal.verify_totals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'charged credits of a project differ from the ledger', project,
		   trim_scale(ledger.charged)::text, trim_scale(counter.charged)::text
	FROM yquota_internal.ledger_total AS ledger
	FULL JOIN (
		SELECT part.project, sum(part.charged) AS charged
		FROM (SELECT project_counter.project, project_counter.charged
			  FROM yquota_internal.project_counter
			  UNION ALL
			  SELECT delta.project, delta.charged
			  FROM yquota_internal.counter_delta AS delta
			  WHERE delta.scope IN ('a', 'p') AND delta.charged IS NOT NULL) AS part
		GROUP BY part.project
	) AS counter USING (project)
	WHERE COALESCE(ledger.charged, 0) <> COALESCE(counter.charged, 0)
	UNION ALL
	SELECT 'project of the books does not exist', books.project, 'a row of project', NULL
	FROM (SELECT total.project FROM yquota_internal.project_counter AS total
		  UNION
		  SELECT class.project FROM yquota_internal.rate_class_counter AS class
		  UNION
		  SELECT delta.project FROM yquota_internal.counter_delta AS delta
		  WHERE delta.project IS NOT NULL) AS books
	WHERE NOT EXISTS (SELECT FROM yquota.project WHERE project.name = books.project);
	END;
COMMENT ON FUNCTION yquota_internal.verify_totals() IS
	'Return differences between the ledger, the counters of projects, and the projects themselves';

CREATE FUNCTION yquota_internal.verify_applications()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'counter of applications differs from applications',
		   format('%s %s %s', queue, username, label), due.counts, counter.counts
	FROM (SELECT a.queue, a.username, a.label,
				 format('%s held, %s waiting, %s active, %s demanding, %s',
						count(*) FILTER (WHERE a.state = 'NON_RUNNABLE'), count(*) FILTER (WHERE a.state = 'ACCEPTED'),
						count(*) FILTER (WHERE a.state = 'ACTIVE'),
						count(*) FILTER (WHERE a.has_outstanding_requests),
						COALESCE(yquota.sum(a.am_resource) FILTER (WHERE a.state = 'ACTIVE'), '[]')) AS counts
		  FROM yquota.application AS a
		  WHERE a.finished_at IS NULL
		  GROUP BY 1, 2, 3) AS due
	FULL JOIN (
		SELECT c.queue, c.username, c.label,
			   format('%s held, %s waiting, %s active, %s demanding, %s',
					  c.non_runnable, c.accepted, c.active, c.demanding, c.am_used) AS counts
		FROM yquota_internal.application_counter AS c) AS counter USING (queue, username, label)
	WHERE due.counts IS DISTINCT FROM counter.counts
	UNION ALL
	SELECT 'number of live applications differs from applications', NULL, due.live::text, total.live::text
	FROM (SELECT count(*) AS live FROM yquota.application AS a WHERE a.finished_at IS NULL) AS due,
		 (SELECT COALESCE(sum(t.live), 0) + yquota_internal.unwritten_applications() AS live
		  FROM yquota_internal.live_application_count AS t) AS total
	WHERE due.live <> total.live
	UNION ALL
	SELECT 'hold of an application has outlived it', hold.application_id, NULL, format('hold %s', hold.hold_id)
	FROM yquota.hold
	WHERE hold.of_submission AND hold.released_at IS NULL
	  AND NOT EXISTS (SELECT FROM yquota.application AS a
					  WHERE a.application_id = hold.application_id AND a.hold_id = hold.hold_id AND a.finished_at IS NULL)
	UNION ALL
	SELECT 'hold of a live application was released', a.application_id, NULL, format('hold %s', a.hold_id)
	FROM yquota.application AS a
	JOIN yquota.hold ON hold.hold_id = a.hold_id
	WHERE a.finished_at IS NULL AND hold.released_at IS NOT NULL;
	END;
COMMENT ON FUNCTION yquota_internal.verify_applications() IS
	'Return differences between applications, their counters and their holds';

CREATE FUNCTION yquota_internal.verify_scheduler()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'application with state in the scheduler is not live', kept.application_id, 'a live application', kept.what
	FROM (SELECT r.application_id, 'resource_request' AS what FROM yquota.resource_request AS r
		  UNION SELECT b.application_id, 'blacklist' FROM yquota.blacklist AS b
		  UNION SELECT r.application_id, 'reserved container' FROM yquota.reserved_container AS r
		  UNION SELECT c.application_id, 'request_counter' FROM yquota_internal.request_counter AS c) AS kept
	WHERE NOT EXISTS (
		SELECT FROM yquota.application AS a WHERE a.application_id = kept.application_id AND a.finished_at IS NULL)
	UNION ALL
	SELECT 'application asks for containers but is not marked as asking', a.application_id, 'has_outstanding_requests',
		   format('%s containers', sum(r.count))
	FROM yquota.application AS a
	JOIN yquota.resource_request AS r ON r.application_id = a.application_id AND r.resource_name = '*'
		AND r.execution_type = 'GUARANTEED'
	WHERE a.state = 'ACTIVE' AND NOT a.has_outstanding_requests
	GROUP BY a.application_id
	HAVING sum(r.count) > 0
	UNION ALL
	SELECT 'container that the scheduler started is not in the books', d.container_id, format('%s on %s', d.allocation, d.node), NULL
	FROM yquota.decision AS d
	WHERE d.decision IN ('allocated', 'swapped')
	  -- skip containers that may have been archived
	  AND d.decided_at >= yquota_internal.archive_horizon()
	  AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = d.container_id)
	  AND NOT EXISTS (SELECT FROM yquota.charge AS c WHERE c.container_id = d.container_id)
	  AND NOT EXISTS (SELECT FROM yquota.event_void AS v WHERE v.container_id = d.container_id AND v.voided_at >= d.decided_at)
	UNION ALL
	SELECT 'container that the scheduler gave has outlived its application', c.container_id, format('ended at %s', a.finished_at), 'runs'
	FROM yquota.container AS c
	JOIN yquota.application AS a ON a.application_id = c.application_id AND a.finished_at IS NOT NULL AND a.state <> 'REJECTED'
	WHERE c.is_given
	  AND NOT EXISTS (SELECT FROM yquota.event_void AS v WHERE v.container_id = c.container_id)
	  AND NOT EXISTS (SELECT FROM yquota_internal.deferred_event AS d WHERE d.container_id = c.container_id)
	UNION ALL
	SELECT 'container of an application has a number that has not been assigned yet', c.container_id, format('below %s', t.next_container), NULL
	FROM yquota_internal.application_attempt AS t
	JOIN yquota.container AS c ON c.container_id = t.am_container_id
	WHERE substring(c.container_id FROM '[0-9]+$')::numeric >= t.next_container;
	END;
COMMENT ON FUNCTION yquota_internal.verify_scheduler() IS
	'Return differences between the scheduler''s rows for applications, the applications and the books';

-- The end of a container may be committed after a round of preemption that began later.  The check waits an hour, which
-- is longer than any transaction of a feed.
CREATE FUNCTION yquota_internal.verify_preemption()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'mark of preemption is later than the last round', m.container_id, last.round_at::text, m.marked_at::text
	FROM yquota_internal.preemption_mark AS m
	LEFT JOIN yquota_internal.preemption_round AS last ON true
	WHERE m.marked_at > last.round_at OR last.round_at IS NULL
	UNION ALL
	SELECT 'mark of preemption has outlived its container', m.container_id, NULL, m.marked_at::text
	FROM yquota_internal.preemption_mark AS m
	CROSS JOIN yquota_internal.preemption_round AS last
	WHERE m.marked_at < last.round_at - interval '1 hour'
	  AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = m.container_id)
	  -- look up each container by the index, because few marks belong to ended containers
	  AND COALESCE((SELECT max(ended.booked_at) FROM yquota.charge AS ended
					WHERE ended.container_id = m.container_id AND ended.settled_by = 'CONTAINER_FINISH' AND ended.corrects IS NULL),
				   '-infinity') < last.round_at - interval '1 hour'
	UNION ALL
	SELECT 'container that was killed still runs', p.container_id, format('ended at %s', p.killed_at), NULL
	FROM yquota.preempted_container AS p
	JOIN yquota.container AS c ON c.container_id = p.container_id
	WHERE NOT p.is_advised
	  -- skip containers whose end may have been voided
	  AND NOT EXISTS (SELECT FROM yquota.event_void AS v WHERE v.container_id = p.container_id AND v.voided_at >= p.killed_at);
	END;
COMMENT ON FUNCTION yquota_internal.verify_preemption() IS
	'Return marks of preemption that no round made or that should have been removed, and killed containers that still run';

CREATE FUNCTION yquota_internal.verify_node_queues()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'container at the queue of a node differs from the books', q.container_id, format('%s on %s', q.state, q.node),
		   CASE WHEN c.is_running THEN 'runs' ELSE 'does not run' END
	FROM yquota.node_queue AS q
	JOIN yquota.container AS c ON c.container_id = q.container_id AND c.node = q.node
	WHERE q.left_at IS NULL AND c.is_running <> (q.state NOT IN ('QUEUED', 'PAUSED'))
	UNION ALL
	SELECT 'container at the queue of a node is not in the books', q.container_id, NULL, format('%s on %s', q.state, q.node)
	FROM yquota.node_queue AS q
	WHERE q.left_at IS NULL
	  -- skip containers that may have ended and been archived
	  AND q.state_at >= yquota_internal.archive_horizon()
	  AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = q.container_id)
	  AND NOT EXISTS (SELECT FROM yquota.charge AS c WHERE c.container_id = q.container_id)
	  AND NOT EXISTS (SELECT FROM yquota.event_void AS v WHERE v.container_id = q.container_id AND v.voided_at >= q.state_at)
	UNION ALL
	SELECT 'container that its node has dropped is in the books', q.container_id, format('%s at %s', q.left_reason, q.left_at), NULL
	FROM yquota.node_queue AS q
	JOIN yquota.container AS c ON c.container_id = q.container_id AND c.started_at <= q.left_at
	WHERE q.left_reason IN ('rejected', 'shed', 'lost')
	  AND NOT EXISTS (SELECT FROM yquota.event_void AS v WHERE v.container_id = q.container_id AND v.voided_at >= q.state_at)
	UNION ALL
	SELECT 'containers share a place at the queue of a node', string_agg(q.container_id, ' ' ORDER BY q.container_id),
		   NULL, format('%s on %s', q.place, q.node)
	FROM yquota.node_queue AS q
	WHERE q.left_at IS NULL
	GROUP BY q.node, q.place
	HAVING count(*) > 1;
	END;
COMMENT ON FUNCTION yquota_internal.verify_node_queues() IS
	'Return differences between the queues of nodes and the books';

CREATE FUNCTION yquota_internal.verify_sharing()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'OPPORTUNISTIC containers that limits count differ from the books', format('%s %s', scope, name),
		   format('%s, %s', coalesce(books.containers, 0), coalesce(books.allocation, '[]')),
		   format('%s, %s', coalesce(counted.containers, 0), coalesce(counted.allocation, '[]'))
	FROM (SELECT p.scope, p.name, count(*) AS containers, yquota.sum(c.allocation) AS allocation
		  FROM yquota.container AS c
		  CROSS JOIN LATERAL yquota_internal.scopes_of_sharing(c.application_id, c.username, c.queue) AS p
		  WHERE c.execution_type = 'OPPORTUNISTIC' AND EXISTS (SELECT FROM yquota_internal.opportunistic_counting)
		  GROUP BY 1, 2) AS books
	FULL JOIN yquota_internal.opportunistic_holding AS counted USING (scope, name)
	WHERE coalesce(books.containers, 0) <> coalesce(counted.containers, 0)
	   OR coalesce(books.allocation, '[]') OPERATOR(yquota.<>) coalesce(counted.allocation, '[]');
	END;
COMMENT ON FUNCTION yquota_internal.verify_sharing() IS
	'Return differences between the books and the numbers of containers that limits of sharing use';

-- After a void, the container has no rows that could explain an earlier event.
CREATE FUNCTION yquota_internal.verify_events(since timestamptz)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH idle AS MATERIALIZED (
		SELECT log.*
		FROM yquota_internal.event_without_effect AS noted
		JOIN yquota.container_event AS log USING (event_id)
		WHERE since IS NULL OR log.recorded_at >= since
	), finish AS (
		SELECT charge.container_id, min(charge."to") AS at
		FROM yquota_internal.charge_in_effect AS charge
		WHERE charge.settled_by = 'CONTAINER_FINISH'
		  AND charge.container_id IN (SELECT idle.container_id FROM idle)
		GROUP BY charge.container_id
	)
	SELECT 'deferred event is missing from the log', kept.container_id,
		   format('%s at %s with number %s', kept.event, kept.occurred_at, kept.event_id), NULL
	FROM yquota_internal.deferred_event AS kept
	WHERE NOT EXISTS (SELECT FROM yquota.container_event AS log
					  WHERE log.event_id = kept.event_id
						AND log.event = kept.event
						AND log.container_id IS NOT DISTINCT FROM kept.container_id
						AND log.occurred_at IS NOT DISTINCT FROM kept.occurred_at
						AND log.allocation::text IS NOT DISTINCT FROM kept.allocation::text)
	UNION ALL
	SELECT 'event is void without a void of its container', log.container_id, NULL,
		   format('%s at %s with number %s', log.event, log.occurred_at, log.event_id)
	FROM yquota_internal.voided_event AS voided
	JOIN yquota.container_event AS log USING (event_id)
	WHERE NOT EXISTS (SELECT FROM yquota.event_void AS void
					  WHERE void.void_id = voided.void_id AND void.container_id = log.container_id)
	UNION ALL
	SELECT 'event should have had an effect', idle.container_id,
		   format('%s at %s with number %s', idle.event, idle.occurred_at, idle.event_id), NULL
	FROM idle
	WHERE NOT EXISTS (SELECT FROM yquota_internal.last_void AS void
					  WHERE void.container_id = idle.container_id)
	  -- join each explanation as a whole; a join by container alone would compare all rows of the container
	  AND NOT EXISTS (SELECT FROM yquota_internal.booked_life AS life
					  WHERE idle.event = 'CONTAINER_START'
						AND life.container_id = idle.container_id AND life.started_at = idle.occurred_at)
	  AND NOT EXISTS (SELECT FROM finish
					  WHERE idle.event <> 'CONTAINER_START' AND finish.container_id = idle.container_id
						AND (finish.at < idle.occurred_at
							 OR finish.at = idle.occurred_at AND idle.event = 'CONTAINER_FINISH'))
	  AND NOT (idle.event = 'CONTAINER_UPDATE'
			   AND num_nonnulls(idle.allocation, idle.execution_type, idle.queue, idle.node, idle.priority,
								idle.allocation_request_id, idle.asked_label, idle.is_am, idle.is_running) = 0)
	  AND NOT EXISTS (SELECT FROM yquota.container_change AS change
					  WHERE idle.event = 'CONTAINER_UPDATE' AND change.container_id = idle.container_id
						AND change.occurred_at = idle.occurred_at
						AND (change.allocation::text, change.execution_type, change.queue, change.node, change.is_running)
							IS NOT DISTINCT FROM
							(idle.allocation::text, idle.execution_type, idle.queue, idle.node, idle.is_running));
	END;
COMMENT ON FUNCTION yquota_internal.verify_events(timestamptz) IS
	'Return deferred events that are missing in the log, and void events without a void.  Also return events that are recorded as without effect although nothing explains this';

CREATE FUNCTION yquota_internal.verify_ends()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'container did not end at the earliest end reported', reported.container_id,
		   reported.earliest::text, charge."to"::text
	FROM (SELECT e.container_id, min(e.occurred_at) AS earliest
		  FROM yquota_internal.reported_end AS e GROUP BY e.container_id) AS reported
	JOIN yquota_internal.charge_in_effect AS charge
		ON charge.container_id = reported.container_id
		AND charge.settled_by = 'CONTAINER_FINISH' AND charge.padding IS NULL
	WHERE charge."to" <> reported.earliest
	UNION ALL
	SELECT 'reported end is missing from the log', reported.container_id,
		   NULL, concat_ws(' with status ', reported.occurred_at, reported.exit_status)
	FROM yquota_internal.reported_end AS reported
	LEFT JOIN yquota.container_event AS log
		ON log.container_id = reported.container_id AND log.event = 'CONTAINER_FINISH'
		AND log.occurred_at = reported.occurred_at
		AND log.exit_status IS NOT DISTINCT FROM reported.exit_status
	-- skip archived containers: they have left both tables, perhaps just before another end arrived
	WHERE EXISTS (SELECT FROM yquota.charge WHERE charge.container_id = reported.container_id)
	  -- skip everything if there are no such ends, as usual; otherwise a parallel plan would hash log and ledger for
	  -- nothing
	  AND EXISTS (SELECT FROM yquota_internal.reported_end)
	GROUP BY reported.container_id, reported.occurred_at, reported.exit_status
	HAVING count(log.container_id) = 0;
	END;
COMMENT ON FUNCTION yquota_internal.verify_ends() IS
	'Return differences between recorded ends of containers, the books and the log';

-- The function verifies all projects at once, so that the ledger is read only once.  For the spending before the
-- instant from which the books are verified, it trusts stored sums.
CREATE FUNCTION yquota_internal.verify_grants(since timestamptz)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH life AS MATERIALIZED (
		SELECT grant_life.* FROM yquota_internal.grant_life
	), ended AS MATERIALIZED (
		SELECT life.project, max(life.loses_at) AS until
		FROM life
		WHERE life.loses_at <= yquota.statement_clock()
		GROUP BY life.project
	), instant AS MATERIALIZED (
		SELECT ended.project, i.at, mark.spent AS kept,
			   isfinite(i.at) AND (mark.spent IS NULL
								   OR i.at >= greatest(verify_grants.since, yquota_internal.archive_horizon())) AS is_read
		FROM ended
		CROSS JOIN LATERAL yquota_internal.credit_instant(ended.project, ended.until) AS i (at)
		LEFT JOIN yquota_internal.kept_spending AS mark ON mark.project = ended.project AND mark.at = i.at
	), since_then AS (
		SELECT c.project, c.at, c.cost
		FROM (SELECT array_agg(instant.project) AS projects, array_agg(instant.at) AS instants
			  FROM instant WHERE instant.is_read) AS asked
		CROSS JOIN LATERAL yquota_internal.cost_since(asked.projects, asked.instants) AS c
	), by_now AS MATERIALIZED (
		SELECT now.project, now.spent
		FROM yquota_internal.spent_by_now(ARRAY(SELECT ended.project FROM ended)) AS now
	), had_spent AS MATERIALIZED (
		SELECT instant.project, instant.at, instant.kept,
			   CASE WHEN instant.is_read THEN trim_scale(coalesce(by_now.spent, 0) - coalesce(since_then.cost, 0))
					ELSE coalesce(instant.kept, 0) END AS spent
		FROM instant
		LEFT JOIN by_now ON by_now.project = instant.project
		LEFT JOIN since_then ON since_then.project = instant.project AND since_then.at = instant.at
	), computed AS MATERIALIZED (
		SELECT given.project, outcome.grant_id, outcome.lost, outcome.taken
		FROM (SELECT life.project, array_agg(life.grant_id) AS ids, array_agg(life.amount) AS amounts,
					 array_agg(life.begins_at) AS begins, array_agg(life.expires_at) AS expires,
					 array_agg(life.leaves_at) AS leaves, array_agg(life.takes_from) AS takes_from
			  FROM life
			  JOIN ended ON ended.project = life.project AND life.begins_at <= ended.until
			  GROUP BY life.project) AS given
		JOIN (SELECT had_spent.project, array_agg(had_spent.at ORDER BY had_spent.at) AS instants,
					 array_agg(had_spent.spent ORDER BY had_spent.at) AS spent
			  FROM had_spent GROUP BY had_spent.project) AS books ON books.project = given.project
		CROSS JOIN LATERAL yquota_internal.spend_grants(
			given.ids, given.amounts, given.begins, given.expires, given.leaves, given.takes_from, books.instants, books.spent) AS outcome
		WHERE outcome.lost IS NOT NULL
	), compared AS MATERIALIZED (
		SELECT format('grant %s of %s', coalesce(computed.grant_id, lost.grant_id), coalesce(computed.project, lost.project)) AS subject,
			   computed.lost, computed.taken, lost.lost AS known_lost, lost.taken AS known_taken
		FROM computed
		FULL JOIN yquota_internal.lost_credit AS lost ON lost.grant_id = computed.grant_id AND lost.project = computed.project
	)
	SELECT 'spending when a grant began or expired differs from the books', format('project %s at %s', had_spent.project, had_spent.at),
		   had_spent.spent::text, had_spent.kept::text
	FROM had_spent
	WHERE had_spent.kept <> had_spent.spent
	UNION ALL
	SELECT 'credit lost by an expired grant differs from its unspent rest', compared.subject,
		   trim_scale(compared.lost)::text, trim_scale(compared.known_lost)::text
	FROM compared
	WHERE compared.lost IS DISTINCT FROM compared.known_lost
	UNION ALL
	SELECT 'credit taken back from an expired grant differs from what negative rows took', compared.subject,
		   trim_scale(compared.taken)::text, trim_scale(compared.known_taken)::text
	FROM compared
	WHERE compared.taken IS DISTINCT FROM compared.known_taken;
	END;
COMMENT ON FUNCTION yquota_internal.verify_grants(timestamptz) IS
	'Return differences since an instant between the stored spending at the start and expiry of grants, the losses of grants, and the books';

CREATE FUNCTION yquota_internal.verify_transfers()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'credit moved by a transfer differs from its rows of quota_grant', format('transfer %s of %s', coalesce(moved.transfer_id, parts.transfer_id), coalesce(side.project, parts.project)),
		   trim_scale(coalesce(side.amount, 0))::text, trim_scale(coalesce(parts.amount, 0))::text
	FROM yquota.credit_transfer AS moved
	CROSS JOIN LATERAL (VALUES (moved.from_project, - moved.amount), (moved.to_project, moved.amount)) AS side (project, amount)
	FULL JOIN (SELECT part.transfer_id, part.project, sum(part.amount) AS amount, min(sign(part.amount)) = max(sign(part.amount)) AS is_one_side
			   FROM yquota.quota_grant AS part WHERE part.transfer_id IS NOT NULL
			   GROUP BY part.transfer_id, part.project) AS parts
		ON parts.transfer_id = moved.transfer_id AND parts.project = side.project
	WHERE moved.transfer_id IS NULL OR side.amount IS DISTINCT FROM parts.amount OR NOT parts.is_one_side
	UNION ALL
	SELECT 'credit returned of a transfer is more than it moved', format('transfer %s', moved.transfer_id),
		   trim_scale(moved.amount)::text, trim_scale(sum(back.amount))::text
	FROM yquota.credit_transfer AS moved
	JOIN yquota.credit_transfer AS back ON back.reverses = moved.transfer_id
	GROUP BY moved.transfer_id
	HAVING sum(back.amount) > moved.amount;
	END;
COMMENT ON FUNCTION yquota_internal.verify_transfers() IS
	'Return differences between transfers of credit and their parts';

CREATE FUNCTION yquota_internal.verify_families()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'ancestor of a project differs from the parents there are', format('project %s below %s', member, ancestor),
		   line.depth::text, family.depth::text
	FROM yquota_internal.project_line(NULL) AS line
	FULL JOIN yquota_internal.project_family AS family USING (member, ancestor)
	WHERE line.depth IS DISTINCT FROM family.depth;
	END;
COMMENT ON FUNCTION yquota_internal.verify_families() IS
	'Return differences between the stored descendants and the parents of projects';

CREATE FUNCTION yquota_internal.verify_calendars()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT CASE WHEN d.effective_at IS NULL THEN 'calendars have no points' ELSE 'point of a calendar differs from the calendars' END,
		   concat_ws(' at ', d.price_group, d.effective_at),
		   nullif(concat_ws(' by ', trim_scale(d.due_factor), d.due_calendar), ''), nullif(concat_ws(' by ', trim_scale(d.found_factor), d.found_calendar), '')
	FROM yquota_internal.calendar_differences() AS d;
	END;
COMMENT ON FUNCTION yquota_internal.verify_calendars() IS
	'Return differences between the points of calendars from the clock on, until 14 days ahead, and the calendars';

CREATE FUNCTION yquota.verify(since timestamptz DEFAULT NULL)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, yquota, pg_temp
	-- Hash joins are the best plan for joining whole tables.  Parallel workers share the hash table, and it spills
	-- to disk in batches.  Without statistics, the planner considers nested loops over the log cheap.
	SET enable_nestloop = off
	SET enable_mergejoin = off
	-- use more memory, and so fewer batches, whatever the settings of the role and session are
	SET work_mem = '32MB'
	-- JIT would compile hundreds of expressions, which takes longer than running most of them
	SET jit = off
	AS $$
BEGIN
	-- use prices of the statement's snapshot, because the ledger is of that snapshot
	PERFORM yquota_internal.pin_prices();
	-- Skip checks of tables without rows.  Planning such a check takes longer than reading the empty tables.
	IF EXISTS (SELECT FROM yquota_internal.deferred_event) OR EXISTS (SELECT FROM yquota_internal.event_without_effect)
		OR EXISTS (SELECT FROM yquota_internal.voided_event) THEN
		RETURN QUERY SELECT * FROM yquota_internal.verify_events(since);
	END IF;
	RETURN QUERY SELECT * FROM yquota_internal.verify_lives(since);
	RETURN QUERY SELECT * FROM yquota_internal.verify_ends();
	RETURN QUERY SELECT * FROM yquota_internal.verify_accruals();
	RETURN QUERY SELECT * FROM yquota_internal.verify_running_totals();
	RETURN QUERY SELECT * FROM yquota_internal.verify_usage();
	RETURN QUERY SELECT * FROM yquota_internal.verify_totals();
	IF EXISTS (SELECT FROM yquota.reservation_definition) OR EXISTS (SELECT FROM yquota.reservation_charge)
		OR EXISTS (SELECT FROM yquota.hold WHERE hold.reservation_id IS NOT NULL) THEN
		RETURN QUERY SELECT * FROM yquota_internal.verify_reservations(since);
	END IF;
	RETURN QUERY SELECT * FROM yquota_internal.verify_rollup();
	RETURN QUERY SELECT * FROM yquota_internal.verify_capacity();
	RETURN QUERY SELECT * FROM yquota_internal.verify_periods();
	RETURN QUERY SELECT * FROM yquota_internal.verify_billed_charges();
	IF EXISTS (SELECT FROM yquota_internal.archived_cost_since) THEN
		RETURN QUERY SELECT * FROM yquota_internal.verify_archived_cost_since();
	END IF;
	IF EXISTS (SELECT FROM yquota.quota_grant) THEN
		RETURN QUERY SELECT * FROM yquota_internal.verify_grants(since);
	END IF;
	RETURN QUERY SELECT * FROM yquota_internal.verify_transfers();
	RETURN QUERY SELECT * FROM yquota_internal.verify_families();
	RETURN QUERY SELECT * FROM yquota_internal.verify_calendars();
	RETURN QUERY SELECT * FROM yquota_internal.verify_applications();
	RETURN QUERY SELECT * FROM yquota_internal.verify_scheduler();
	RETURN QUERY SELECT * FROM yquota_internal.verify_preemption();
	IF EXISTS (SELECT FROM yquota.node_queue) THEN
		RETURN QUERY SELECT * FROM yquota_internal.verify_node_queues();
	END IF;
	RETURN QUERY SELECT * FROM yquota_internal.verify_sharing();
	PERFORM yquota_internal.unpin_prices();
	-- the tables that were read are locked now, so no more of them can be archived
	IF EXISTS (SELECT FROM yquota.history_segment AS segment
			   WHERE segment.ledger_table IS NOT NULL AND to_regclass(format('yquota_internal.%I', segment.ledger_table)) IS NULL) THEN
		RAISE EXCEPTION 'could not serialize access because history has been archived since the snapshot was taken'
			USING ERRCODE = 'serialization_failure',
				HINT = 'Call yquota.verify() again, in a new transaction.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota.verify(timestamptz) IS
	'Compute the books again from the log and the timelines, and return the differences.  No rows mean that the books are correct.  If an instant is given, all counters are checked, but only those containers that run, or that ended or had an event since the instant';
