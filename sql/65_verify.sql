--
-- The books prove themselves (DESIGN 1.9).  Everything is computed again: the
-- life of each container from the log, amounts from the timelines, counters
-- from the ledger and the running containers.  The path is another one than
-- charging's: sets, not a container at a time.
--

CREATE VIEW yquota_internal.set_aside_event AS
	SELECT event, container_id, occurred_at, project, application_id, username, queue, node,
		   allocation, execution_type, exit_status, source, recorded_at
	FROM yquota.event_reject
	UNION ALL
	SELECT event, container_id, occurred_at, project, application_id, username, queue, node,
		   allocation, execution_type, exit_status, source, recorded_at
	FROM yquota_internal.discarded_event;
COMMENT ON VIEW yquota_internal.set_aside_event IS
	'Events that were set aside, whatever has become of their rows in event_reject';

CREATE VIEW yquota_internal.accepted_event AS
	SELECT log.event, log.container_id, log.occurred_at, log.project, log.username,
		   log.application_id, log.queue, log.node, log.allocation, log.execution_type,
		   log.exit_status, log.recorded_at,
		   row_number() OVER (PARTITION BY log.container_id, log.event
							  ORDER BY log.recorded_at, log.ctid) AS arrival
	FROM yquota.container_event AS log
	WHERE log.event <> 'QUOTA_COMPUTE'
	  AND NOT EXISTS (
		SELECT FROM yquota_internal.set_aside_event AS reject
		WHERE reject.container_id IS NOT DISTINCT FROM log.container_id
		  AND reject.event = log.event
		  AND reject.occurred_at IS NOT DISTINCT FROM log.occurred_at
		  AND reject.recorded_at = log.recorded_at
		  -- another of that kind and instant may have been accepted
		  AND (reject.project, reject.application_id, reject.username, reject.queue,
			   reject.node, reject.allocation::text, reject.execution_type, reject.exit_status,
			   reject.source)
			IS NOT DISTINCT FROM
			  (log.project, log.application_id, log.username, log.queue,
			   log.node, log.allocation::text, log.execution_type, log.exit_status,
			   log.source));
COMMENT ON VIEW yquota_internal.accepted_event IS
	'The log without what has been set aside; arrival numbers the events of one kind of a container';

CREATE VIEW yquota_internal.expected_life AS
	SELECT start.container_id,
		   COALESCE(start.project, split_part(start.username, '__', 1)) AS project,
		   CASE WHEN start.project IS NULL AND strpos(start.username, '__') > 0
				THEN split_part(start.username, '__', 2)
				ELSE start.username END AS username,
		   start.application_id, start.queue, start.node, start.allocation,
		   COALESCE(start.execution_type, 'GUARANTEED') AS execution_type,
		   start.occurred_at AS started_at,
		   finish.occurred_at AS finished_at
	FROM yquota_internal.accepted_event AS start
	LEFT JOIN yquota_internal.accepted_event AS finish
		ON finish.container_id = start.container_id
		AND finish.event = 'CONTAINER_FINISH' AND finish.arrival = 1
	WHERE start.event = 'CONTAINER_START' AND start.arrival = 1;
COMMENT ON VIEW yquota_internal.expected_life IS
	'Start and finish of each container, according to the log';

CREATE VIEW yquota_internal.expected_segment AS
	WITH step AS (
		SELECT life.container_id, life.started_at AS at, 1 AS kind, life.allocation,
			   life.execution_type, life.queue, life.node
		FROM yquota_internal.expected_life AS life
		UNION ALL
		SELECT DISTINCT ON (event.container_id, event.occurred_at)
			   event.container_id, event.occurred_at, 2, event.allocation,
			   event.execution_type, event.queue, event.node
		FROM yquota_internal.accepted_event AS event
		WHERE event.event = 'CONTAINER_UPDATE'
		  AND num_nonnulls(event.allocation, event.execution_type, event.queue, event.node) > 0
		UNION ALL
		-- a START repeated with a new allocation is an UPDATE; which one it is
		-- depends on what was known then, and only the books know that
		SELECT change.container_id, change.occurred_at, 2, change.allocation,
			   change.execution_type, change.queue, change.node
		FROM yquota.container_change AS change
		WHERE change.repeated_start
		  AND EXISTS (
			SELECT FROM yquota_internal.accepted_event AS start
			WHERE start.container_id = change.container_id
			  AND start.event = 'CONTAINER_START' AND start.arrival > 1
			  AND greatest(start.recorded_at, start.occurred_at) = change.occurred_at
			  AND start.allocation OPERATOR(yquota.=) change.allocation)
	), numbered AS (
		SELECT step.*,
			   count(step.allocation) OVER so_far AS allocation_number,
			   count(step.execution_type) OVER so_far AS execution_type_number,
			   count(step.queue) OVER so_far AS queue_number,
			   count(step.node) OVER so_far AS node_number,
			   row_number() OVER so_far AS number,
			   lead(step.at) OVER so_far AS next_at
		FROM step
		WINDOW so_far AS (PARTITION BY step.container_id
						  ORDER BY step.at, step.kind
						  ROWS UNBOUNDED PRECEDING)
	), filled AS (
		SELECT numbered.container_id, numbered.at, numbered.next_at, numbered.number,
			   first_value(numbered.allocation) OVER (PARTITION BY numbered.container_id, numbered.allocation_number ORDER BY numbered.number) AS allocation,
			   first_value(numbered.execution_type) OVER (PARTITION BY numbered.container_id, numbered.execution_type_number ORDER BY numbered.number) AS execution_type,
			   first_value(numbered.queue) OVER (PARTITION BY numbered.container_id, numbered.queue_number ORDER BY numbered.number) AS queue,
			   first_value(numbered.node) OVER (PARTITION BY numbered.container_id, numbered.node_number ORDER BY numbered.number) AS node
		FROM numbered
	)
	SELECT filled.container_id, life.project, life.application_id, life.username,
		   filled.queue, filled.node, filled.allocation, filled.execution_type,
		   life.started_at, life.finished_at,
		   filled.at AS "from",
		   COALESCE(filled.next_at, life.finished_at) AS "to",
		   filled.next_at IS NULL AS is_last
	FROM filled
	JOIN yquota_internal.expected_life AS life USING (container_id);
COMMENT ON VIEW yquota_internal.expected_segment IS
	'What each container held from when to when, according to the log; "to" is NULL while it runs';

CREATE FUNCTION yquota_internal.minimum_run_time(started_at timestamptz) RETURNS interval
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT rule.minimum_run_time FROM yquota.charging_rule AS rule
			WHERE rule.effective_at <= minimum_run_time.started_at
			ORDER BY rule.effective_at DESC LIMIT 1);
COMMENT ON FUNCTION yquota_internal.minimum_run_time(timestamptz) IS
	'Minimum run time of a container started then; NULL for none';

CREATE FUNCTION yquota_internal.microseconds(duration interval) RETURNS bigint
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ((extract(month FROM duration) + extract(year FROM duration) * 12) * 30 * 86400000000
			+ extract(day FROM duration) * 86400000000
			+ extract(hour FROM duration) * 3600000000
			+ extract(minute FROM duration) * 60000000
			+ extract(microseconds FROM duration))::bigint;
COMMENT ON FUNCTION yquota_internal.microseconds(interval) IS
	'Length of an interval; a month counts as 30 days, as when intervals are compared';

CREATE VIEW yquota_internal.expected_cost AS
	SELECT segment.container_id,
		   segment.project,
		   bool_and(segment.finished_at IS NOT NULL) AS finished,
		   COALESCE(sum(yquota_internal.accrued(segment.allocation, factor.names,
												segment."from", segment."to")), 0)
		   + COALESCE(sum(yquota_internal.rate(segment.allocation, factor.names, segment.finished_at)
						  * missing.microseconds * 0.000001)
					  FILTER (WHERE segment.is_last AND missing.microseconds > 0), 0) AS amount
	FROM yquota_internal.expected_segment AS segment
	CROSS JOIN LATERAL (
		SELECT yquota_internal.factor_names(segment.project, segment.application_id,
											segment.username, segment.queue,
											segment.execution_type) AS names
	) AS factor
	CROSS JOIN LATERAL (
		SELECT yquota_internal.microseconds(yquota_internal.minimum_run_time(segment.started_at))
			   - (extract(epoch FROM segment.finished_at) - extract(epoch FROM segment.started_at)) * 1000000
			   AS microseconds
	) AS missing
	GROUP BY segment.container_id, segment.project;
COMMENT ON VIEW yquota_internal.expected_cost IS
	'What the ledger should hold for each container, according to the log and the timelines';

CREATE FUNCTION yquota.verify(since timestamptz DEFAULT '-infinity')
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, yquota, pg_temp
	-- before anybody has collected statistics, nested loops over the log look cheap
	SET enable_nestloop = off
	AS $$
BEGIN
	RETURN QUERY
	WITH concerned AS (
		SELECT container.container_id FROM yquota.container
		UNION
		SELECT charge.container_id FROM yquota.charge WHERE charge."to" >= since
		UNION
		SELECT event.container_id FROM yquota_internal.accepted_event AS event
		WHERE event.occurred_at >= since
	), booked AS (
		SELECT charge.container_id, charge.project, sum(charge.amount) AS amount
		FROM yquota.charge
		GROUP BY charge.container_id, charge.project
	)
	SELECT 'ledger differs from the log', concerned.container_id,
		   format('%s credits for project %s', trim_scale(cost.amount), cost.project),
		   format('%s credits for project %s', trim_scale(booked.amount), booked.project)
	FROM concerned
	LEFT JOIN yquota_internal.expected_cost AS cost USING (container_id)
	LEFT JOIN booked USING (container_id)
	WHERE COALESCE(cost.amount, 0) <> COALESCE(booked.amount, 0)
	   OR (booked.project IS NOT NULL AND booked.project IS DISTINCT FROM cost.project);

	RETURN QUERY
	SELECT 'running container differs from the log',
		   COALESCE(container.container_id, segment.container_id),
		   format('%s since %s', segment.allocation, segment."from"),
		   format('%s since %s', container.allocation, container.settled_at)
	FROM (SELECT * FROM yquota_internal.expected_segment
		  WHERE is_last AND finished_at IS NULL) AS segment
	FULL JOIN yquota.container USING (container_id)
	WHERE segment.project IS DISTINCT FROM container.project
	   OR segment.started_at IS DISTINCT FROM container.started_at
	   OR segment."from" IS DISTINCT FROM container.settled_at
	   OR segment.allocation IS DISTINCT FROM container.allocation
	   OR segment.execution_type IS DISTINCT FROM container.execution_type
	   OR segment.queue IS DISTINCT FROM container.queue
	   OR segment.node IS DISTINCT FROM container.node;

	RETURN QUERY
	SELECT 'amount of a charge differs from the timelines',
		   format('%s number %s', charge.container_id, charge.number),
		   trim_scale(cost.amount)::text, trim_scale(charge.amount)::text
	FROM yquota_internal.charge_in_effect AS charge
	CROSS JOIN LATERAL (
		SELECT yquota_internal.factor_names(charge.project, charge.application_id,
											charge.username, charge.queue,
											charge.execution_type) AS names
	) AS factor
	CROSS JOIN LATERAL (
		SELECT CASE WHEN charge.padding IS NULL
			THEN yquota_internal.accrued(charge.allocation, factor.names, charge."from", charge."to")
			ELSE yquota_internal.rate(charge.allocation, factor.names, charge."to")
				* yquota_internal.microseconds(charge.padding) * 0.000001 END AS amount
	) AS cost
	WHERE charge."to" >= since
	  AND cost.amount <> charge.amount;

	RETURN QUERY
	SELECT 'accrual of a running container differs from the timelines', container.container_id,
		   format('%s under %s', trim_scale(due.amount), due.names),
		   format('%s under %s', trim_scale(container.accrual_base), container.factors)
	FROM yquota.container
	CROSS JOIN LATERAL (
		SELECT names, yquota_internal.accrued(container.allocation, names,
				date_trunc('hour', container.settled_at, 'UTC'), container.settled_at) AS amount
		FROM yquota_internal.factor_names(container.project, container.application_id,
			container.username, container.queue, container.execution_type) AS names
	) AS due
	WHERE due.amount <> container.accrual_base OR due.names IS DISTINCT FROM container.factors;

	RETURN QUERY
	SELECT 'charged credits of a project differ from the ledger',
		   COALESCE(ledger.project, counter.project),
		   trim_scale(ledger.charged)::text, trim_scale(counter.charged)::text
	FROM (SELECT charge.project, sum(charge.amount) AS charged
		  FROM yquota.charge GROUP BY charge.project) AS ledger
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
	WHERE COALESCE(ledger.charged, 0) <> COALESCE(counter.charged, 0);

	RETURN QUERY
	SELECT 'rate class differs from running containers',
		   format('%s %s %s %s', project, shape, factors, reference_at),
		   format('weight %s, accrual base %s', running.weight, trim_scale(running.accrual_base)),
		   format('weight %s, accrual base %s', class.weight, trim_scale(class.accrual_base))
	FROM (SELECT container.project, yquota_internal.shape(container.allocation) AS shape,
				 COALESCE(container.factors, '{}') AS factors,
				 date_trunc('hour', container.settled_at, 'UTC') AS reference_at,
				 sum(yquota_internal.weight(container.allocation)) AS weight,
				 sum(container.accrual_base) AS accrual_base
		  FROM yquota.container
		  WHERE yquota_internal.weight(container.allocation) <> 0
		  GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT rate_class.project, rate_class.shape, COALESCE(rate_class.factors, '{}') AS factors,
			   rate_class.reference_at, rate_class.weight, rate_class.accrual_base
		FROM yquota_internal.rate_class
	) AS class USING (project, shape, factors, reference_at)
	WHERE running.weight IS DISTINCT FROM class.weight
	   OR running.accrual_base IS DISTINCT FROM class.accrual_base;

	RETURN QUERY
	SELECT 'usage of a queue differs from running containers',
		   format('%s %s %s %s', queue, label, username, execution_type),
		   format('%s containers %s', running.containers, running.allocation),
		   format('%s containers %s', usage.containers, usage.allocation)
	FROM (SELECT COALESCE(container.queue, '') AS queue, COALESCE(container.label, '') AS label,
				 COALESCE(container.username, '') AS username, container.execution_type,
				 count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT COALESCE(queue_usage.queue, '') AS queue, COALESCE(queue_usage.label, '') AS label,
			   COALESCE(queue_usage.username, '') AS username, queue_usage.execution_type,
			   sum(queue_usage.containers)::bigint AS containers,
			   yquota.sum(queue_usage.allocation) AS allocation
		FROM yquota.queue_usage GROUP BY 1, 2, 3, 4
	) AS usage USING (queue, label, username, execution_type)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation IS DISTINCT FROM usage.allocation;

	RETURN QUERY
	SELECT 'usage of a node differs from running containers', node,
		   format('%s containers', running.containers),
		   format('%s containers', usage.containers)
	FROM (SELECT container.node, count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container WHERE container.node IS NOT NULL GROUP BY 1) AS running
	FULL JOIN (
		SELECT node_usage.node, node_usage.containers,
			   node_usage.guaranteed OPERATOR(yquota.+) node_usage.opportunistic AS allocation
		FROM yquota.node_usage WHERE node_usage.containers <> 0
	) AS usage USING (node)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation IS DISTINCT FROM usage.allocation;
END
$$;
COMMENT ON FUNCTION yquota.verify(timestamptz) IS
	'Recompute the books from the log and the timelines and return what differs: no rows when all is well.  With an instant, only containers running or charged since';
REVOKE ALL ON FUNCTION yquota.verify(timestamptz) FROM PUBLIC;
