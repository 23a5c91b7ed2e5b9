-- Replay a record of reservation.jsonl, and find the first step at which yquota's plan answers
-- otherwise than Hadoop's plan did.

CREATE SCHEMA replay;
-- By default Hadoop knows only memory and cores
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');

-- Times in a record are milliseconds since 1970.
CREATE FUNCTION replay.time(ms bigint) RETURNS timestamptz LANGUAGE sql RETURN to_timestamp(0) + ms * interval '1 ms';
CREATE FUNCTION replay.ms(t timestamptz) RETURNS bigint LANGUAGE sql RETURN extract(epoch FROM t) * 1000;
CREATE FUNCTION replay.resource(memory bigint, vcores bigint) RETURNS yquota.resource LANGUAGE sql
	RETURN yquota.resource(jsonb_build_object('memory-mb', memory, 'vcores', vcores));
CREATE FUNCTION replay.id(r bigint) RETURNS text LANGUAGE sql RETURN 'reservation_1_' || lpad(r::text, 4, '0');

CREATE PROCEDURE replay.start(s jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock(replay.time(0));
	PERFORM yquota.import_hadoop_configuration((s -> 'conf') || jsonb_build_object(
		'yarn.resourcemanager.reservation-system.enable', 'true',
		'yarn.resourcemanager.reservation-system.planfollower.time-step', s ->> 'step',
		'yarn.resourcemanager.reservation-system.max-periodicity', s ->> 'max_periodicity',
		'yarn.scheduler.capacity.root.plan.reservation-agent',
			'hadoop.' || CASE s ->> 'family' WHEN 'policy' THEN 'GreedyReservationAgent' ELSE s ->> 'agent' END,
		'yarn.scheduler.capacity.root.plan.reservation-policy', 'hadoop.' || (s ->> 'policy')));
	-- the configuration takes effect when it is checked at commit, and this test never commits
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
	INSERT INTO yquota.node (name, total)
	SELECT 'n' || i, replay.resource((s #>> '{node,0}')::bigint, (s #>> '{node,1}')::bigint)
	FROM generate_series(1, (s ->> 'nodes')::integer) AS i;
END $$;

CREATE FUNCTION replay.definition(d jsonb) RETURNS yquota.reservation_contract LANGUAGE sql
	RETURN yquota.reservation_contract(replay.time((d ->> 'arrival')::bigint), replay.time((d ->> 'deadline')::bigint),
		(SELECT array_agg(yquota.reservation_request(replay.resource((q #>> '{res,0}')::bigint, (q #>> '{res,1}')::bigint),
				(q ->> 'n')::integer, (q ->> 'duration')::bigint * interval '1 ms', (q ->> 'gang')::integer) ORDER BY place)
		 FROM jsonb_array_elements(d -> 'requests') WITH ORDINALITY AS o (q, place)),
		(d ->> 'interpreter')::yquota.reservation_interpreter, (d ->> 'recurrence')::bigint * interval '1 ms');

-- Return an allocation as a record writes it; a periodic reservation is within its period. Adjacent
-- intervals with the same amounts are joined.
CREATE FUNCTION replay.merged(intervals jsonb) RETURNS jsonb LANGUAGE sql
	RETURN (
		WITH parts AS (
			SELECT place, (i ->> 0)::bigint AS start, (i ->> 1)::bigint AS stop, (i ->> 2)::bigint AS memory, (i ->> 3)::bigint AS vcores
			FROM jsonb_array_elements(intervals) WITH ORDINALITY AS o (i, place) WHERE i ->> 2 <> '0' OR i ->> 3 <> '0'),
		marked AS (
			SELECT p.*, (lag(stop) OVER w, lag(memory) OVER w, lag(vcores) OVER w) IS DISTINCT FROM (start, memory, vcores) AS begins
			FROM parts AS p WINDOW w AS (ORDER BY place)),
		numbered AS (SELECT m.*, count(*) FILTER (WHERE begins) OVER (ORDER BY place) AS number FROM marked AS m)
		SELECT jsonb_agg(jsonb_build_array(start, stop, memory, vcores) ORDER BY number)
		FROM (SELECT number, min(start) AS start, max(stop) AS stop, memory, vcores FROM numbered GROUP BY number, memory, vcores) AS n);
CREATE FUNCTION replay.allocation(r bigint, period bigint) RETURNS jsonb LANGUAGE sql
	RETURN replay.merged((
		SELECT jsonb_agg(jsonb_build_array(s, s + replay.ms(a."to") - replay.ms(a."from"), coalesce(yquota.amount(a.allocation, 'memory-mb'), 0), coalesce(yquota.amount(a.allocation, 'vcores'), 0)) ORDER BY s)
		FROM yquota.reservation_definition AS d JOIN yquota.reservation_allocation AS a USING (reservation_id, version)
		CROSS JOIN LATERAL (SELECT CASE WHEN period IS NULL THEN replay.ms(a."from") ELSE replay.ms(a."from") % period END AS s) AS o
		WHERE d.reservation_id = replay.id(r) AND d.ended_at IS NULL));

-- Return the state of a plan over time as a record writes it, from plan_allocation(), without steps
-- that change nothing.
CREATE FUNCTION replay.load(username text, "from" bigint, "to" bigint) RETURNS jsonb LANGUAGE sql
	RETURN replay.merged((
		SELECT jsonb_agg(jsonb_build_array(replay.ms(p."from"), replay.ms(p."to"), coalesce(yquota.amount(r, 'memory-mb'), 0), coalesce(yquota.amount(r, 'vcores'), 0)) ORDER BY p."from")
		FROM yquota.plan_allocation('root.plan', replay.time("from"), replay.time("to")) AS p
		CROSS JOIN LATERAL (SELECT CASE WHEN username IS NULL THEN p.committed ELSE coalesce((p.by_user ->> username)::yquota.resource, '[]') END AS r) AS u));
-- Return an allocation as steps, cut off at both ends.
CREATE FUNCTION replay.steps(steps jsonb, "from" bigint, "to" bigint) RETURNS jsonb LANGUAGE sql
	RETURN replay.merged((
		SELECT jsonb_agg(jsonb_build_array(greatest(s.start, "from"), least(s.stop, "to"), s.memory, s.vcores) ORDER BY s.place)
		FROM (SELECT place, (i ->> 0)::bigint AS start, coalesce(lead((i ->> 0)::bigint) OVER (ORDER BY place), "to") AS stop,
					 coalesce((i ->> 1)::bigint, 0) AS memory, coalesce((i ->> 2)::bigint, 0) AS vcores
			  FROM jsonb_array_elements(steps) WITH ORDINALITY AS o (i, place)) AS s
		WHERE least(s.stop, "to") > greatest(s.start, "from")));

-- Return the rules of yquota that correspond to the rule by which a record refuses.
CREATE FUNCTION replay.rules(result jsonb) RETURNS text[] LANGUAGE sql
	RETURN CASE result ->> 'error'
		WHEN 'YarnException' THEN CASE
			WHEN result ->> 'message' LIKE '%unknown%' THEN '{unknown}'::text[]
			WHEN result ->> 'message' LIKE '%is the past%' THEN '{deadline}'
			WHEN result ->> 'message' LIKE '%time difference%' THEN '{duration}'
			WHEN result ->> 'message' LIKE '%largest gang%' THEN '{largest_gang}'
			WHEN result ->> 'message' ~ 'periodicity|recurrence' THEN '{recurrence}' END
		WHEN 'IllegalArgumentException' THEN CASE WHEN result ->> 'message' LIKE '%does not exist in the plan%' THEN '{unknown}'::text[] END
		WHEN 'ContractValidationException' THEN '{malformed,maximum_allocation}'
		WHEN 'PlanningQuotaException' THEN CASE
			WHEN result ->> 'message' LIKE 'Integral (avg over time) quota%' THEN '{average_capacity}'::text[]
			WHEN result ->> 'cause' = 'ResourceOverCommitException' THEN '{instantaneous_max_capacity,overcommitted}' END
		WHEN 'ResourceOverCommitException' THEN '{capacity}'
		WHEN 'PlanningException' THEN '{no_room,overcommitted}'
	END;

-- Submit, update or delete a reservation. Undo the plan follower's round that a submission causes,
-- because records do not have it.
CREATE FUNCTION replay.change(o jsonb, OUT accepted boolean, OUT rule text) LANGUAGE plpgsql AS $$
DECLARE
	queues jsonb;
BEGIN
	CASE o ->> 'op'
	WHEN 'submit' THEN
		SELECT jsonb_agg(q) INTO queues FROM yquota.reservation_queue AS q;
		SELECT s.accepted, s.decided_by INTO accepted, rule
		FROM yquota.submit_reservation(replay.id((o ->> 'r')::bigint), 'root.plan', o ->> 'user', '{}', 'p', replay.definition(o -> 'def')) AS s;
		DELETE FROM yquota.reservation_queue;
		INSERT INTO yquota.reservation_queue SELECT * FROM jsonb_populate_recordset(NULL::yquota.reservation_queue, queues);
	WHEN 'update' THEN
		SELECT s.accepted, s.decided_by INTO accepted, rule
		FROM yquota.update_reservation(replay.id((o ->> 'r')::bigint), o ->> 'user', '{}', replay.definition(o -> 'def')) AS s;
	WHEN 'delete' THEN
		-- a second deletion: Hadoop no longer knows the reservation
		SELECT s.deleted AND d.ended_at IS NULL, 'unknown' INTO accepted, rule
		FROM (SELECT * FROM yquota.reservation_definition AS d WHERE d.reservation_id = replay.id((o ->> 'r')::bigint)
			  ORDER BY d.version DESC LIMIT 1) AS d
		RIGHT JOIN yquota.delete_reservation(replay.id((o ->> 'r')::bigint), 'u1', '{}') AS s ON true;
	END CASE;
EXCEPTION
	WHEN undefined_object THEN accepted := false; rule := 'unknown';
	WHEN invalid_parameter_value THEN accepted := false; rule := 'malformed';
END $$;

-- Put a ready-made allocation into a plan, which only Hadoop's own classes can do directly. A
-- request whose containers all run at once gets one interval. An allocation with several intervals,
-- or with too large containers, is inserted directly if the record has it.
CREATE FUNCTION replay.add(o jsonb, OUT accepted boolean, OUT rule text) LANGUAGE plpgsql AS $$
DECLARE
	id CONSTANT text := replay.id((o ->> 'r')::bigint);
	first CONSTANT jsonb := o #> '{intervals,0}';
	containers CONSTANT integer := gcd((first ->> 2)::bigint, (first ->> 3)::bigint);
	contract yquota.reservation_contract;
	last integer;
BEGIN
	contract := yquota.reservation_contract(replay.time((first ->> 0)::bigint), replay.time((o #>> '{intervals,-1,1}')::bigint),
		ARRAY[yquota.reservation_request(replay.resource((first ->> 2)::bigint / containers, (first ->> 3)::bigint / containers), containers,
			((first ->> 1)::bigint - (first ->> 0)::bigint) * interval '1 ms', containers)]);
	IF jsonb_array_length(o -> 'intervals') = 1 AND (first ->> 2)::bigint / containers <= 8192 AND (first ->> 3)::bigint / containers <= 8 THEN
		IF o ? 'replace' THEN
			SELECT s.accepted, s.decided_by INTO accepted, rule FROM yquota.update_reservation(id, o ->> 'user', '{}', contract) AS s;
		ELSE
			SELECT s.accepted, s.decided_by INTO accepted, rule FROM yquota.submit_reservation(id, 'root.plan', o ->> 'user', '{}', 'p', contract) AS s;
		END IF;
		RETURN;
	ELSIF (o #>> '{result,ok}')::boolean THEN
		UPDATE yquota.reservation_definition AS d SET ended_at = yquota.clock(), ended_by = 'updated'
		WHERE d.reservation_id = id AND d.ended_at IS NULL;
		SELECT coalesce(max(d.version), 0) INTO last FROM yquota.reservation_definition AS d WHERE d.reservation_id = id;
		INSERT INTO yquota.reservation_definition (reservation_id, version, queue, username, project, arrival, deadline, interpreter, requests, accepted_at)
		VALUES (id, last + 1, 'root.plan', o ->> 'user', 'p', contract.arrival, contract.deadline, 'ANY', contract.requests, yquota.clock());
		UPDATE yquota.reservation_allocation AS a SET ended_at = yquota.clock() WHERE a.reservation_id = id AND a.ended_at IS NULL;
		INSERT INTO yquota.reservation_allocation (reservation_id, version, queue, username, deadline, "from", "to", allocation)
		SELECT id, last + 1, 'root.plan', o ->> 'user', contract.deadline, replay.time((i ->> 0)::bigint), replay.time((i ->> 1)::bigint), replay.resource((i ->> 2)::bigint, (i ->> 3)::bigint)
		FROM jsonb_array_elements(o -> 'intervals') AS i;
	END IF;
	accepted := (o #>> '{result,ok}')::boolean;
EXCEPTION
	WHEN undefined_object OR duplicate_object THEN accepted := false; rule := 'unknown';
END $$;

-- Return the queues of the plan as a record writes them: by number of the reservation, or the default
-- queue.
CREATE FUNCTION replay.queues() RETURNS jsonb LANGUAGE sql
	RETURN (
		SELECT jsonb_object_agg(coalesce(split_part(q.reservation_id, '_', 3)::integer::text, q.name),
			jsonb_build_array(q.capacity, q.maximum_capacity, q.capacity * (SELECT e.absolute_capacity FROM yquota.effective_queue AS e WHERE e.queue = 'root.plan' AND e.label = '')))
		FROM (SELECT q.name, q.reservation_id, q.capacity, q.maximum_capacity FROM yquota.reservation_queue AS q WHERE q.plan = 'root.plan'
			  UNION ALL SELECT 'plan-default', NULL, 1::real, 1::real
			  WHERE NOT EXISTS (SELECT FROM yquota.reservation_queue AS q WHERE q.plan = 'root.plan' AND q.reservation_id IS NULL)) AS q);
CREATE FUNCTION replay.reservations() RETURNS jsonb LANGUAGE sql
	RETURN (
		SELECT coalesce(jsonb_agg(split_part(d.reservation_id, '_', 3)::integer ORDER BY split_part(d.reservation_id, '_', 3)::integer), '[]')
		FROM yquota.reservation_definition AS d WHERE d.ended_at IS NULL);

-- Run a round of the plan follower, and compare it.
CREATE FUNCTION replay.follow(o jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	expected CONSTANT jsonb := o -> 'result';
	queues CONSTANT jsonb := (
		SELECT jsonb_object_agg(q.key, (SELECT jsonb_agg(f::real ORDER BY i) FROM jsonb_array_elements_text(q.value) WITH ORDINALITY AS t(f, i)))
		FROM jsonb_each(expected -> 'queues') AS q);
	capacity jsonb;
BEGIN
	PERFORM yquota.follow_plans('root.plan', coalesce((o ->> 'replan')::boolean, true));
	IF replay.queues() IS DISTINCT FROM queues THEN
		RETURN format('queues %s instead of %s', replay.queues(), queues);
	END IF;
	SELECT jsonb_build_array(yquota.amount(p.capacity, 'memory-mb'), yquota.amount(p.capacity, 'vcores')) INTO capacity
	FROM yquota.plan_allocation('root.plan', yquota.clock(), yquota.clock() + interval '1 ms') AS p;
	RETURN CASE WHEN capacity IS DISTINCT FROM expected -> 'plan_capacity' THEN format('capacity %s instead of %s', capacity, expected -> 'plan_capacity') END;
END $$;

CREATE PROCEDURE replay.set_nodes(nodes integer) LANGUAGE sql
	BEGIN ATOMIC
		DELETE FROM yquota.node AS n WHERE substr(n.name, 2)::integer > nodes;
		INSERT INTO yquota.node (name, total)
		SELECT 'n' || i, n.total FROM yquota.node AS n CROSS JOIN generate_series((SELECT count(*) + 1 FROM yquota.node), nodes) AS i
		WHERE n.name = 'n1';
	END;

-- Return rows of a record that Hadoop cannot have written, because they have a wrong length or are not in order
-- of time; or NULL.
CREATE FUNCTION replay.malformed_row(o jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT i.row
	FROM (VALUES ('allocation', 4), ('load', 3), ('user_load', 3)) AS f(name, length)
	CROSS JOIN LATERAL (
		SELECT r.row, lag(r.row) OVER (ORDER BY r.place) AS previous
		FROM jsonb_array_elements(CASE WHEN jsonb_typeof(o #> ARRAY['result', f.name]) = 'array' THEN o #> ARRAY['result', f.name] END) WITH ORDINALITY AS r(row, place)) AS i
	WHERE jsonb_array_length(i.row) <> f.length OR i.row -> 0 <= i.previous -> 0 OR NOT i.row -> 0 BETWEEN coalesce(o -> 'from', i.row -> 0) AND coalesce(o -> 'to', i.row -> 0)
	LIMIT 1
$$;

-- Return the differences at a step, or NULL.
CREATE FUNCTION replay.difference(o jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	expected jsonb := o -> 'result';
	answer record;
	found jsonb := replay.malformed_row(o);
BEGIN
	IF found IS NOT NULL THEN
		RETURN format('row %s', found);
	ELSIF o ->> 'op' = 'clock' THEN
		PERFORM yquota.set_clock(replay.time((o ->> 'to')::bigint));
	ELSIF o ->> 'op' IN ('submit', 'update', 'delete') THEN
		answer := replay.change(o);
		IF answer.accepted IS DISTINCT FROM (expected ->> 'ok')::boolean THEN
			RETURN format('%s instead of %s', answer, expected);
		ELSIF NOT answer.accepted AND (answer.rule = ANY (replay.rules(expected))) IS NOT TRUE THEN
			RETURN format('refused by %s instead of %s', answer.rule, expected);
		ELSIF answer.accepted AND o ->> 'op' <> 'delete' THEN
			found := replay.allocation((o ->> 'r')::bigint, (expected ->> 'period')::bigint);
			IF found IS DISTINCT FROM replay.merged(expected -> 'allocation') THEN
				RETURN format('allocation %s instead of %s', found, expected -> 'allocation');
			END IF;
			SELECT jsonb_build_object('user', d.username, 'accepted_at', replay.ms(d.accepted_at), 'period', replay.ms(to_timestamp(0) + d.recurrence)) INTO found
			FROM yquota.reservation_definition AS d WHERE d.reservation_id = replay.id((o ->> 'r')::bigint) AND d.ended_at IS NULL;
			IF found IS DISTINCT FROM jsonb_build_object('user', expected -> 'user', 'accepted_at', expected -> 'accepted_at', 'period', expected -> 'period') THEN
				RETURN format('%s instead of %s', found, expected);
			END IF;
		END IF;
	ELSIF o ->> 'op' = 'add' THEN
		answer := replay.add(o);
		-- the agent may have found no room before the policy was asked
		IF answer.accepted IS DISTINCT FROM (expected ->> 'ok')::boolean OR (answer.rule IS NOT NULL
			AND (replay.rules(expected) IS NULL OR NOT answer.rule = ANY (replay.rules(expected) || '{no_room}'::text[]))) THEN
			RETURN format('%s instead of %s', answer, expected);
		END IF;
	ELSIF o ->> 'op' = 'load' THEN
		found := replay.load(NULL, (o ->> 'from')::bigint, (o ->> 'to')::bigint);
		IF found IS DISTINCT FROM replay.steps(expected -> 'load', (o ->> 'from')::bigint, (o ->> 'to')::bigint) THEN
			RETURN format('load %s instead of %s', found, expected -> 'load');
		END IF;
		found := replay.load(o ->> 'user', (o ->> 'from')::bigint, (o ->> 'to')::bigint);
		IF found IS DISTINCT FROM replay.steps(expected -> 'user_load', (o ->> 'from')::bigint, (o ->> 'to')::bigint) THEN
			RETURN format('load of %s %s instead of %s', o ->> 'user', found, expected -> 'user_load');
		END IF;
	ELSIF o ->> 'op' = 'cluster' THEN
		CALL replay.set_nodes((o ->> 'nodes')::integer);
	ELSIF o ->> 'op' = 'follow' THEN
		found := to_jsonb(replay.follow(o));
		IF found IS NOT NULL THEN
			RETURN found;
		END IF;
	ELSIF o ->> 'op' = 'available' THEN
		NULL;	-- no function tells it
	ELSIF o ->> 'op' = 'search' THEN
		SELECT jsonb_agg(split_part(l.reservation_id, '_', 3)::bigint ORDER BY split_part(l.reservation_id, '_', 3)::bigint) INTO found
		FROM yquota.list_reservations('root.plan', 'u1', '{}', "from" => replay.time((o ->> 'from')::bigint), "to" => replay.time((o ->> 'to')::bigint)) AS l;
		IF coalesce(found, '[]') IS DISTINCT FROM expected -> 'found' THEN
			RETURN format('found %s instead of %s', found, expected -> 'found');
		END IF;
	ELSE
		RETURN 'unknown operation';
	END IF;
	IF o ->> 'op' IN ('submit', 'update', 'delete', 'add', 'follow') AND replay.reservations() IS DISTINCT FROM expected -> 'reservations' THEN
		RETURN format('reservations %s instead of %s', replay.reservations(), expected -> 'reservations');
	END IF;
	RETURN NULL;
END $$;

-- Play a record. Return how many steps of each kind agree, and the first difference, or NULL.
CREATE FUNCTION replay.play(s jsonb, OUT compared jsonb, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	o jsonb;
BEGIN
	compared := '{}';
	CALL replay.start(s);
	FOR o IN SELECT * FROM jsonb_array_elements(s -> 'steps') LOOP
		-- Hadoop archives the reservation only in a round of the follower
		EXIT WHEN o ->> 'op' NOT IN ('clock', 'cluster', 'follow') AND EXISTS (
			SELECT FROM yquota.reservation_definition AS d
			CROSS JOIN yquota_internal.reservation_listing('root.plan', 'u1', '{}', NULL, NULL, NULL) AS l
			WHERE d.ended_at IS NULL AND d.deadline <= l.archived_until);
		-- Hadoop's update restores a deleted reservation, or tries to
		EXIT WHEN o ->> 'op' = 'update' AND replay.rules(o -> 'result') IS DISTINCT FROM '{unknown}' AND NOT EXISTS (
			SELECT FROM yquota.reservation_definition AS d
			WHERE d.reservation_id = replay.id((o ->> 'r')::bigint) AND d.ended_at IS NULL);
		difference := replay.difference(o);
		IF difference IS NOT NULL THEN
			difference := format('%s: %s: %s', s ->> 'id', o - 'result', difference);
			RETURN;
		END IF;
		compared := compared || jsonb_build_object(o ->> 'op', coalesce((compared ->> (o ->> 'op'))::bigint, 0) + 1);
	END LOOP;
END $$;
