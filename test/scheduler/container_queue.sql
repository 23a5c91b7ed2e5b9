-- Replay a record of container_queue.jsonl through the SQL functions of a node's queue. Find the
-- first step at which yquota decides otherwise than Hadoop did.

CREATE SCHEMA replay;
INSERT INTO yquota.project (name) VALUES ('p');

CREATE FUNCTION replay.id(number integer) RETURNS text LANGUAGE sql
	RETURN format('container_1700000000000_0001_01_%s', lpad(number::text, 6, '0'));
CREATE FUNCTION replay.number(container_id text) RETURNS integer LANGUAGE sql
	RETURN substring(container_id FROM '[0-9]+$')::integer;
CREATE FUNCTION replay.time(step bigint) RETURNS timestamptz LANGUAGE sql
	RETURN '2026-03-02 10:00+00'::timestamptz + step * interval '1 s';

CREATE PROCEDURE replay.start(s jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock(replay.time(0));
	INSERT INTO yquota.scheduler_setting (opportunistic_queue_capacity, opportunistic_queue_policy, uses_pause_for_preemption,
										  vmem_pmem_ratio, vmem_check_enabled)
	VALUES ((s ->> 'max_queue_length')::integer, s ->> 'queue_policy', (s ->> 'use_pause')::boolean,
			(s ->> 'vmem_ratio')::real, (s ->> 'vmem_check')::boolean);
	INSERT INTO yquota.node (name, total)
	VALUES ('n', format('[memory-mb=%s,vcores=%s]', s #>> '{node,0}', s #>> '{node,1}')::yquota.resource);
END $$;

-- Return the state of a container as a record writes it: DONE as soon as its agent has reported its
-- end.
CREATE FUNCTION replay.state(container text, ended text[]) RETURNS text LANGUAGE sql
	RETURN CASE WHEN container = ANY (ended) THEN 'DONE' ELSE (
		SELECT CASE WHEN q.state = 'GONE' THEN 'KILLING' ELSE q.state END
		FROM yquota.node_queue AS q WHERE q.container_id = container) END;

-- Play a step: the actions of the agent and of the resource manager. Return the orders to the
-- agent, as a record writes them.
CREATE FUNCTION replay.play_step(step jsonb, INOUT ended text[], OUT decided jsonb) LANGUAGE plpgsql AS $$
DECLARE
	container text := replay.id((step ->> 'c')::integer);
	told yquota.node_action[] := '{}';
	type yquota.execution_type;
	next_id text;
	concerned integer[] := '{}';
BEGIN
	decided := '{}';
	CASE step ->> 'op'
		WHEN 'arrive' THEN
			type := CASE step ->> 'type' WHEN 'G' THEN 'GUARANTEED' ELSE 'OPPORTUNISTIC' END;
			INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation, execution_type, is_running)
			VALUES ('CONTAINER_START', container, yquota.clock(), 'p', 'application_1700000000000_0001', 'u', 'root.default', 'n',
					format('[memory-mb=%s,vcores=%s]', step #>> '{res,0}', step #>> '{res,1}')::yquota.resource, type, type = 'GUARANTEED');
			told := ARRAY(SELECT a FROM yquota.enqueue_container('n', container) AS a);
		WHEN 'done' THEN
			IF replay.state(container, ended) <> 'DONE' THEN
				told := ARRAY(SELECT a FROM yquota.container_ended('n', container) AS a);
				ended := ended || container;
			ELSE
				decided := '{"skipped": true}';
			END IF;
		WHEN 'done_all_killed' THEN
			FOR next_id IN SELECT q.container_id FROM yquota.node_queue AS q
				WHERE replay.state(q.container_id, ended) = 'KILLING' ORDER BY q.container_id
			LOOP
				told := told || ARRAY(SELECT a FROM yquota.container_ended('n', next_id, exit_status => -108) AS a);
				ended := ended || next_id;
				concerned := concerned || replay.number(next_id);
			END LOOP;
			decided := jsonb_build_object('ended', concerned);
		WHEN 'paused_all' THEN
			FOR next_id IN SELECT q.container_id FROM yquota.node_queue AS q WHERE q.state = 'PAUSING' ORDER BY q.container_id
			LOOP
				told := told || ARRAY(SELECT a FROM yquota.container_paused('n', next_id) AS a);
				concerned := concerned || replay.number(next_id);
			END LOOP;
			decided := jsonb_build_object('paused', concerned);
		WHEN 'limit' THEN
			told := ARRAY(SELECT a FROM yquota.shed_containers('n', (step ->> 'n')::integer) AS a);
		ELSE
			type := CASE step ->> 'op' WHEN 'promote' THEN 'GUARANTEED' ELSE 'OPPORTUNISTIC' END;
			IF replay.state(container, ended) NOT IN ('DONE', 'KILLING') AND
				(SELECT c.execution_type FROM yquota.container AS c WHERE c.container_id = container) <> type THEN
				INSERT INTO yquota.container_event (event, container_id, occurred_at, execution_type)
				VALUES ('CONTAINER_UPDATE', container, yquota.clock(), type);
				told := ARRAY(SELECT a FROM yquota.advance_node_queue('n') AS a);
			ELSE
				decided := '{"skipped": true}';
			END IF;
	END CASE;
	decided := decided || jsonb_build_object('events', coalesce((
		SELECT jsonb_agg(CASE WHEN t.action IN ('start', 'resume') THEN jsonb_build_array('start', replay.number(t.container_id))
			WHEN t.action = 'pause' THEN jsonb_build_array('pause', replay.number(t.container_id))
			ELSE jsonb_build_array('kill', replay.number(t.container_id), t.exit_status::text, t.diagnostics) END ORDER BY t.number)
		FROM unnest(told) WITH ORDINALITY AS t (action, container_id, execution_type, allocation, exit_status, diagnostics, made_room_for, number)
		WHERE t.action <> 'queued'), '[]'));
END $$;

-- Return the running and waiting containers, from the rows of the node and from the books, as a
-- record writes them.
CREATE FUNCTION replay.figures() RETURNS jsonb LANGUAGE sql
	RETURN (SELECT jsonb_build_object(
		'utilization', jsonb_build_array(
			coalesce(sum(r.memory) FILTER (WHERE r.runs), 0), coalesce(sum(trunc(r.memory::real * r.ratio)) FILTER (WHERE r.runs), 0),
			coalesce(sum(r.vcores) FILTER (WHERE r.runs), 0)),
		'queued_g_queued_o_running', jsonb_build_array(
			count(*) FILTER (WHERE NOT r.runs AND r.execution_type = 'GUARANTEED'),
			count(*) FILTER (WHERE NOT r.runs AND r.execution_type = 'OPPORTUNISTIC'),
			count(*) FILTER (WHERE r.runs)))
		FROM (SELECT c.is_running AS runs, c.execution_type, yquota.amount(c.allocation, 'memory-mb') AS memory,
					 yquota.amount(c.allocation, 'vcores') AS vcores, s.vmem_pmem_ratio AS ratio
			  FROM yquota.container AS c CROSS JOIN yquota.scheduler_setting AS s
			  WHERE c.node = 'n') AS r);

-- Return the numbers of steps and events that were compared, and the first difference from Hadoop,
-- or NULL.
CREATE FUNCTION replay.play(s jsonb, OUT steps integer, OUT events integer, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	step jsonb;
	ended text[] := '{}';
	decided jsonb;
	problem record;
BEGIN
	steps := 0;
	events := 0;
	CALL replay.start(s);
	FOR step IN SELECT * FROM jsonb_array_elements(s -> 'steps') LOOP
		steps := steps + 1;
		PERFORM yquota.set_clock(replay.time(steps));
		SELECT p.ended, p.decided INTO ended, decided FROM replay.play_step(step, ended) AS p;
		events := events + jsonb_array_length(decided -> 'events');
		decided := decided || replay.figures();
		IF decided <> step - '{op,c,type,res,n}'::text[] THEN
			difference := format('%s, step %s, %s: %s', s ->> 'id', steps, step, decided);
			RETURN;
		END IF;
	END LOOP;
	SELECT * INTO problem FROM yquota.verify() LIMIT 1;
	IF FOUND THEN
		difference := format('%s: %s', s ->> 'id', problem);
	END IF;
END $$;
