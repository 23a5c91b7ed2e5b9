--
-- Play the window. One procedure acts as resource manager, application masters and agents of nodes. It calls only
-- yquota's public functions.
--
-- Nodes report every so many seconds. The end of a container is reported in its own second. Other facts between two
-- heartbeats take effect at the next heartbeat, and heartbeats at which nothing can have changed are left out. A
-- container that is killed ends at once, its work is lost, and its pod asks again at the next heartbeat.
--

CREATE TABLE simulation.attempt (
	container_id text PRIMARY KEY,
	number integer NOT NULL,
	node text NOT NULL,
	given_at timestamptz NOT NULL,
	started_at timestamptz,
	running_since timestamptz,
	ran interval NOT NULL DEFAULT '0',
	ends_at timestamptz,
	ended_at timestamptz,
	outcome text
);
COMMENT ON TABLE simulation.attempt IS 'Containers that were allocated for a pod, one after the other';
COMMENT ON COLUMN simulation.attempt.started_at IS 'time at which it first ran; NULL: it has never run';
COMMENT ON COLUMN simulation.attempt.running_since IS 'NULL: it waits, is paused, or has ended';
COMMENT ON COLUMN simulation.attempt.ran IS 'time that it ran before running_since';
COMMENT ON COLUMN simulation.attempt.ends_at IS 'time at which the pod will have run for its duration; NULL while it does not run';
COMMENT ON COLUMN simulation.attempt.outcome IS 'completed, killed, rejected, shed or expired; NULL: none yet';
CREATE INDEX attempt_ends_at_idx ON simulation.attempt (ends_at) WHERE ends_at IS NOT NULL;

CREATE TABLE simulation.told (
	decision text NOT NULL,
	container_id text NOT NULL,
	decided_at timestamptz NOT NULL
);
COMMENT ON TABLE simulation.told IS 'Rows of yquota.decision that were acknowledged';

-- Record that a container runs from now on.
CREATE FUNCTION simulation.starts(container text) RETURNS void LANGUAGE sql AS $$
	UPDATE simulation.attempt AS a SET started_at = coalesce(a.started_at, yquota.clock()), running_since = yquota.clock(), ends_at = yquota.clock() + (p.duration - a.ran)
	FROM simulation.pod AS p WHERE a.container_id = container AND p.number = a.number AND a.running_since IS NULL AND a.ended_at IS NULL;
	UPDATE simulation.pod AS p SET waited = p.waited + (yquota.clock() - p.waiting_since), waiting_since = NULL
	FROM simulation.attempt AS a WHERE a.container_id = container AND p.number = a.number AND p.waiting_since IS NOT NULL;
$$;

-- Record that a container does not run any more, for one of the reasons of attempt.outcome, or because it is paused
-- (NULL).
CREATE FUNCTION simulation.stops(container text, why text) RETURNS void LANGUAGE sql AS $$
	UPDATE simulation.attempt SET ran = ran + coalesce(yquota.clock() - running_since, '0'), running_since = NULL, ends_at = NULL,
		outcome = why, ended_at = CASE WHEN why IS NOT NULL THEN yquota.clock() END
	WHERE container_id = container AND ended_at IS NULL;
	UPDATE simulation.pod AS p SET is_asked = why IS NULL, waiting_since = CASE WHEN why = 'completed' THEN NULL ELSE coalesce(p.waiting_since, yquota.clock()) END,
		completed_at = CASE WHEN why = 'completed' THEN yquota.clock() END
	FROM simulation.attempt AS a WHERE a.container_id = container AND p.number = a.number AND p.completed_at IS NULL;
$$;

-- Let the agent of a node execute the decisions of yquota, and those that follow from them. Return the number of
-- decisions.
CREATE FUNCTION simulation.obey(of_node text, actions yquota.node_action[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	todo yquota.node_action[] := actions;
	act yquota.node_action;
	done integer := 0;
BEGIN
	WHILE done < cardinality(todo) LOOP
		done := done + 1;
		act := todo[done];
		IF act.action IN ('start', 'resume') THEN
			PERFORM simulation.starts(act.container_id);
		ELSIF act.action = 'kill' THEN
			PERFORM simulation.stops(act.container_id, 'killed');
			todo := todo || ARRAY(SELECT a FROM yquota.container_ended(of_node, act.container_id, exit_status => -108) AS a);
		ELSIF act.action = 'pause' THEN
			PERFORM simulation.stops(act.container_id, NULL);
			todo := todo || ARRAY(SELECT a FROM yquota.container_paused(of_node, act.container_id) AS a);
		ELSIF act.action IN ('rejected', 'shed') THEN
			PERFORM simulation.stops(act.container_id, act.action);
		END IF;
	END LOOP;
	IF done > 0 THEN
		PERFORM yquota.acknowledge_node_work(of_node, todo);
	END IF;
	RETURN done;
END
$$;

CREATE VIEW simulation.held AS
	SELECT n.name AS node, count(q.*) FILTER (WHERE q.is_guaranteed AND NOT q.waits) AS running_guaranteed,
		   count(q.*) FILTER (WHERE NOT q.is_guaranteed AND NOT q.waits) AS running_opportunistic,
		   count(q.*) FILTER (WHERE q.is_guaranteed AND q.waits) AS queued_guaranteed,
		   count(q.*) FILTER (WHERE NOT q.is_guaranteed AND q.waits) AS queued_opportunistic
	FROM yquota.node AS n
	LEFT JOIN (SELECT q.node, q.execution_type = 'GUARANTEED' AS is_guaranteed, q.state IN ('QUEUED', 'PAUSED') AS waits
			   FROM yquota.node_queue AS q WHERE q.left_at IS NULL) AS q ON q.node = n.name
	GROUP BY n.name;
COMMENT ON VIEW simulation.held IS 'Resources that the queue of each node holds';

-- A container uses 40 to 80 percent of its memory and its cores, evenly spread. The number of its
-- pod and the hour decide the percentage, so the use of the container rises and falls.
CREATE VIEW simulation.measured AS
	SELECT n.name AS node, format('[memory-mb=%s,vcores=%s]', floor(coalesce(sum(p.memory_mb * (0.4 + 0.4 * simulation.dice(p.number, 'memory' || h.hour))), 0)),
			ceil(coalesce(sum(p.vcores * (0.4 + 0.4 * simulation.dice(p.number, 'cores' || h.hour))), 0)))::yquota.resource AS measured
	FROM yquota.node AS n
	LEFT JOIN (simulation.attempt AS a JOIN simulation.pod AS p USING (number)) ON a.node = n.name AND a.ends_at IS NOT NULL,
		(SELECT date_trunc('hour', yquota.clock(), 'UTC')) AS h (hour)
	GROUP BY n.name;
COMMENT ON VIEW simulation.measured IS 'Resources in use at each node';

-- Let nodes report their queues, remove containers from queues that are too long, and start containers for which there
-- is room.
CREATE FUNCTION simulation.nodes_report(plan simulation.plan) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	told record;
	done integer := 0;
BEGIN
	FOR told IN
		WITH held AS MATERIALIZED (SELECT * FROM simulation.held), measured AS (
			SELECT * FROM simulation.measured WHERE plan.is_measured
		), reports AS (
			SELECT array_agg(ROW(h.node, h.running_guaranteed, h.running_opportunistic, h.queued_guaranteed, h.queued_opportunistic, NULL, NULL, NULL, NULL, m.measured)::yquota.node_report
							 ORDER BY h.node) AS reports
			FROM held AS h LEFT JOIN measured AS m USING (node)
		)
		SELECT r.node, CASE WHEN h.queued_opportunistic > r.max_queue_length THEN r.max_queue_length END AS limit
		FROM reports AS a, yquota.report_nodes(a.reports) AS r JOIN held AS h USING (node)
	LOOP
		IF told.limit IS NOT NULL THEN
			done := done + simulation.obey(told.node, ARRAY(SELECT a FROM yquota.shed_containers(told.node, told.limit) AS a));
		END IF;
		IF plan.is_measured OR plan.cycles_every IS NOT NULL THEN
			done := done + simulation.obey(told.node, ARRAY(SELECT a FROM yquota.advance_node_queue(told.node) AS a));
		END IF;
	END LOOP;
	RETURN done;
END
$$;

-- Let application masters request containers for pods that have neither a container nor a request yet. Each master that
-- waits for OPPORTUNISTIC containers has a heartbeat. The master that has waited longest comes first.
CREATE FUNCTION simulation.applications_ask() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	application record;
BEGIN
	FOR application IN
		WITH asking AS (
			UPDATE simulation.pod SET is_asked = true WHERE waiting_since IS NOT NULL AND NOT is_asked RETURNING *
		)
		SELECT p.application_id, p.is_opportunistic, min(p.waiting_since) AS since, array_agg(ROW('*', format('[memory-mb=%s,vcores=%s]', p.memory_mb, p.vcores), 1, 1, p.number, true, NULL,
				CASE WHEN p.is_opportunistic THEN 'OPPORTUNISTIC' ELSE 'GUARANTEED' END,
				CASE WHEN p.is_opportunistic THEN p.expected_duration END)::yquota.container_request ORDER BY p.waiting_since, p.number) AS requests
		FROM asking AS p GROUP BY 1, 2
		UNION ALL
		SELECT r.application_id, true, min(r.first_seen_at), '{}'
		FROM yquota.resource_request AS r WHERE r.execution_type = 'OPPORTUNISTIC' AND r.count > 0 GROUP BY 1
		ORDER BY since, application_id
	LOOP
		IF application.is_opportunistic THEN
			PERFORM yquota.allocate_opportunistic(application.application_id, application.requests, seed => 1);
		ELSE
			PERFORM yquota.request_containers(application.application_id, application.requests);
		END IF;
	END LOOP;
END
$$;

-- Perform a heartbeat of all nodes and application masters. Return the number of decisions, which is 0 if nothing will
-- change until a pod asks or ends.
CREATE FUNCTION simulation.heartbeat(plan simulation.plan, at timestamptz) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	given record;
	done integer;
BEGIN
	PERFORM yquota.set_clock(at);
	UPDATE simulation.pod SET waiting_since = asks_at WHERE asks_at <= at AND waiting_since IS NULL AND NOT is_asked AND completed_at IS NULL;
	done := simulation.nodes_report(plan);
	IF plan.computes_prices THEN
		PERFORM yquota.compute_prices(at);
	END IF;
	IF plan.tells_progress THEN
		PERFORM yquota.report_progress(ARRAY(
			SELECT ROW(a.container_id, trunc(1 - extract(epoch FROM a.ends_at - at) / extract(epoch FROM p.duration), 3))::yquota.container_progress
			FROM simulation.attempt AS a JOIN simulation.pod AS p USING (number)
			WHERE a.ends_at IS NOT NULL AND p.is_opportunistic ORDER BY a.container_id));
	END IF;
	PERFORM simulation.applications_ask();
	-- a node has a heartbeat each second, and gets at most one GUARANTEED container in it
	IF plan.cycles_every IS NOT NULL OR EXISTS (SELECT FROM yquota.resource_request AS r WHERE r.execution_type = 'GUARANTEED' AND r.count > 0) THEN
		FOR second IN 1 .. extract(epoch FROM plan.heartbeat) LOOP
			PERFORM FROM yquota.schedule();
			EXIT WHEN NOT FOUND;
		END LOOP;
	END IF;
	FOR given IN
		SELECT d.container_id, d.allocation_request_id, d.node FROM yquota.decision AS d WHERE d.decision IN ('allocated', 'swapped') ORDER BY d.decision_id
	LOOP
		INSERT INTO simulation.attempt (container_id, number, node, given_at) VALUES (given.container_id, given.allocation_request_id, given.node, at);
		done := done + simulation.obey(given.node, ARRAY(SELECT a FROM yquota.enqueue_container(given.node, given.container_id) AS a));
	END LOOP;
	INSERT INTO simulation.told SELECT d.decision, d.container_id, d.decided_at FROM yquota.decision AS d;
	IF FOUND THEN
		PERFORM yquota.acknowledge_decisions(ARRAY(SELECT d.decision_id FROM yquota.decision AS d));
	END IF;
	RETURN done;
END
$$;

-- Record that a pod has run for its duration.
CREATE FUNCTION simulation.ends(container text, of_node text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM simulation.stops(container, 'completed');
	PERFORM simulation.obey(of_node, ARRAY(SELECT a FROM yquota.container_ended(of_node, container) AS a));
END
$$;

CREATE PROCEDURE simulation.play() LANGUAGE plpgsql AS $$
DECLARE
	plan simulation.plan;
	heartbeat interval;
	at timestamptz;
	next_at timestamptz;
	commits_at timestamptz := '-infinity';
	ending record;
BEGIN
	SELECT * INTO plan FROM simulation.plan;
	heartbeat := plan.heartbeat;
	at := plan.from_at;
	WHILE at <= plan.to_at LOOP
		next_at := at + heartbeat;
		IF simulation.heartbeat(plan, at) = 0 THEN
			SELECT least(min(asks_at), (SELECT min(ends_at) FROM simulation.attempt WHERE ends_at >= at), plan.to_at + heartbeat) INTO next_at FROM simulation.pod WHERE waiting_since IS NULL AND NOT is_asked AND completed_at IS NULL;
			next_at := least(next_at, at + plan.cycles_every);
			next_at := greatest(date_bin(heartbeat, next_at - interval '1 us', plan.from_at), at) + heartbeat;
		END IF;
		IF next_at >= commits_at THEN
			COMMIT;
			commits_at := next_at + 10 * heartbeat;
		END IF;
		LOOP
			SELECT container_id, node, ends_at INTO ending
			FROM simulation.attempt WHERE ends_at BETWEEN at AND least(next_at, plan.to_at) ORDER BY ends_at, container_id LIMIT 1;
			EXIT WHEN NOT FOUND;
			IF plan.is_measured AND ending.ends_at > at + heartbeat THEN
				at := next_at - heartbeat;
				PERFORM yquota.set_clock(at);
				PERFORM simulation.nodes_report(plan);
			END IF;
			PERFORM yquota.set_clock(ending.ends_at);
			PERFORM simulation.ends(ending.container_id, ending.node);
		END LOOP;
		at := next_at;
	END LOOP;
	PERFORM yquota.set_clock(plan.to_at);
END
$$;
