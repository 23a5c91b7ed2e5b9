--
-- A local scheduler, written in SQL. It does the work of a node's agent that allocates OPPORTUNISTIC containers itself
-- (yarn.nodemanager.distributed-scheduling.enabled).
--
--   psql -f docs/examples/local_scheduler.sql
--
-- creates the schema local_scheduler in a database that has yquota. The role needs the privilege to create schemas.
-- Roles that run agents are operators, and use the schema and its tables. The settings
-- opportunistic_allocation_enabled, distributed_scheduling_enabled and amrmproxy_enabled of yquota must be on.
--
-- A call of local_scheduler.heartbeat() is a heartbeat of an application master on the node of_scheduler. The call
-- renews the list of nodes when the list is older than list_age. It passes requests for GUARANTEED containers to the
-- scheduler, allocates OPPORTUNISTIC containers by the list, and reports them to yquota. If yquota refuses a container,
-- the call returns it with the reason, and the container is not started. The application may ask again. A real agent is
-- a program that keeps the contents of the three tables in its memory, and sends the reports of several heartbeats
-- together. If a report gets no answer, the agent sends the report again, which does no harm.
--

CREATE SCHEMA local_scheduler;

CREATE TABLE local_scheduler.lease (
	local_scheduler text PRIMARY KEY,
	epoch bigint NOT NULL,
	nodes yquota.leased_node[] NOT NULL,
	minimum yquota.resource,
	maximum yquota.resource,
	increment yquota.resource,
	listed_at timestamptz NOT NULL,
	expires_at timestamptz NOT NULL
);

CREATE TABLE local_scheduler.application (
	local_scheduler text,
	application_id text,
	epoch bigint NOT NULL,
	given bigint NOT NULL,
	outstanding yquota.container_request[] NOT NULL,
	PRIMARY KEY (local_scheduler, application_id)
);

-- The time since which an application waits, for the latency in yquota.metrics.
CREATE TABLE local_scheduler.waiting (
	local_scheduler text,
	application_id text,
	priority integer,
	allocation_request_id bigint,
	since timestamptz NOT NULL,
	PRIMARY KEY (local_scheduler, application_id, priority, allocation_request_id)
);

-- A valid lease is renewed under its epoch. Otherwise a new epoch begins, and with it new numbers of containers.
CREATE FUNCTION local_scheduler.renew_list(of_scheduler text, list_age interval) RETURNS local_scheduler.lease
	LANGUAGE plpgsql VOLATILE
	AS $$
DECLARE
	held local_scheduler.lease;
BEGIN
	SELECT * INTO held FROM local_scheduler.lease AS l
	WHERE l.local_scheduler = of_scheduler AND l.expires_at > yquota.clock();
	IF held.listed_at > yquota.clock() - list_age THEN
		RETURN held;
	END IF;
	INSERT INTO local_scheduler.lease AS l
	SELECT of_scheduler, min(n.epoch),
		   coalesce(array_agg(ROW(n.node, n.rack, n.label)::yquota.leased_node ORDER BY n.place) FILTER (WHERE n.node IS NOT NULL), '{}'),
		   (array_agg(n.minimum))[1], (array_agg(n.maximum))[1], (array_agg(n.increment))[1], yquota.clock(), min(n.expires_at)
	FROM yquota.lease_nodes(of_scheduler, held_epoch => held.epoch) AS n
	ON CONFLICT (local_scheduler) DO UPDATE SET epoch = excluded.epoch, nodes = excluded.nodes, minimum = excluded.minimum,
		maximum = excluded.maximum, increment = excluded.increment, listed_at = excluded.listed_at, expires_at = excluded.expires_at
	RETURNING * INTO held;
	RETURN held;
END
$$;

CREATE FUNCTION local_scheduler.heartbeat(
	of_scheduler text, of_application text, requests yquota.container_request[] DEFAULT '{}', list_age interval DEFAULT '1 s')
	RETURNS TABLE (container_id text, node text, allocation yquota.resource, locality text, reason text)
	LANGUAGE plpgsql VOLATILE
	AS $$
#variable_conflict use_column
DECLARE
	lease local_scheduler.lease := local_scheduler.renew_list(of_scheduler, list_age);
	known local_scheduler.application;
	forwarded CONSTANT yquota.container_request[] :=
		ARRAY(SELECT r FROM unnest(requests) AS r WHERE coalesce((r).execution_type, 'GUARANTEED') = 'GUARANTEED');
BEGIN
	IF cardinality(forwarded) > 0 THEN
		PERFORM yquota.request_containers(of_application, forwarded);
	END IF;
	INSERT INTO local_scheduler.application AS a VALUES (of_scheduler, of_application, lease.epoch, 0, '{}')
	ON CONFLICT (local_scheduler, application_id) DO UPDATE
		SET given = CASE WHEN a.epoch = excluded.epoch THEN a.given ELSE 0 END, epoch = excluded.epoch
	RETURNING * INTO known;
	RETURN QUERY
	WITH decided AS MATERIALIZED (
		SELECT d.*, row_number() OVER () AS place
		FROM yquota.allocate_distributed(lease.nodes, requests, known.outstanding, '{}', -1, lease.minimum, lease.maximum, lease.increment) AS d
	), kept AS (
		UPDATE local_scheduler.application AS a
		SET given = a.given + (SELECT count(*) FROM decided AS d WHERE d.outcome = 'allocated'),
			outstanding = ARRAY(
				SELECT ROW(d.resource_name, d.allocation, d.count, d.priority, d.allocation_request_id, true, d.label, 'OPPORTUNISTIC',
						   d.expected_duration)::yquota.container_request
				FROM decided AS d WHERE d.outcome = 'outstanding' ORDER BY d.place)
		WHERE a.local_scheduler = of_scheduler AND a.application_id = of_application
	), waits AS (
		INSERT INTO local_scheduler.waiting AS w
		SELECT DISTINCT of_scheduler, of_application, d.priority, d.allocation_request_id, yquota.clock()
		FROM decided AS d WHERE d.outcome = 'outstanding'
		ON CONFLICT DO NOTHING
	), served AS (
		DELETE FROM local_scheduler.waiting AS w
		WHERE w.local_scheduler = of_scheduler AND w.application_id = of_application
		  AND NOT EXISTS (SELECT FROM decided AS d WHERE d.outcome = 'outstanding'
						  AND (d.priority, d.allocation_request_id) = (w.priority, w.allocation_request_id))
	), given AS (
		SELECT d.*, (lease.epoch << 40) - known.given - row_number() OVER (ORDER BY d.place) AS number, coalesce(w.since, yquota.clock()) AS since
		FROM decided AS d
		LEFT JOIN local_scheduler.waiting AS w ON w.local_scheduler = of_scheduler AND w.application_id = of_application
			AND w.priority = d.priority AND w.allocation_request_id = d.allocation_request_id
		WHERE d.outcome = 'allocated'
	), reported AS (
		SELECT r.container_id, r.accepted, r.reason, r.place
		FROM (SELECT array_agg(ROW(of_application, g.number, g.node, g.allocation, g.priority, g.allocation_request_id, yquota.clock(),
								   g.locality, g.since, g.expected_duration)::yquota.distributed_container ORDER BY g.place) AS containers FROM given AS g) AS all_given
		CROSS JOIN LATERAL yquota.report_distributed_containers(of_scheduler, coalesce(all_given.containers, '{}'))
			WITH ORDINALITY AS r (container_id, accepted, reason, place)
	)
	-- a container is refused if its project has no credit, for example; it is not started
	(SELECT r.container_id, g.node, g.allocation, g.locality, r.reason
	 FROM (SELECT g.*, row_number() OVER (ORDER BY g.place) AS reported_as FROM given AS g) AS g
	 JOIN reported AS r ON r.place = g.reported_as
	 ORDER BY g.place)
	UNION ALL
	-- a request interceptor has refused all new requests
	SELECT NULL, NULL, NULL, NULL, d.stopped_at || ': ' || d.stopped_by
	FROM decided AS d
	WHERE d.outcome = 'refused';
END
$$;
