-- Replay a record of preemption.jsonl, and find the first round at which yquota preempts otherwise
-- than Hadoop's policy did.

CREATE SCHEMA replay;
-- By default Hadoop knows only memory and cores
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');

CREATE FUNCTION replay.time(ms bigint) RETURNS timestamptz LANGUAGE sql
	RETURN '2026-03-02 10:00+00'::timestamptz + ms * interval '1 ms';

-- A record has vectors of memory, cores and, where it is known, gpu.
CREATE FUNCTION replay.resource(v jsonb) RETURNS yquota.resource LANGUAGE sql
	RETURN format('[memory-mb=%s,vcores=%s%s]', v ->> 0, v ->> 1, ',gpu=' || (v ->> 2))::yquota.resource;

-- Return the first components of a vector; a missing amount is 0.
CREATE FUNCTION replay.amounts(r yquota.resource, types integer) RETURNS text LANGUAGE sql
	RETURN concat_ws(' ', coalesce(yquota.amount(r, 'memory-mb'), 0),
		CASE WHEN types > 1 THEN coalesce(yquota.amount(r, 'vcores'), 0) END,
		CASE WHEN types > 2 THEN (SELECT coalesce(yquota.amount(r, t.name), 0) FROM yquota.resource_type AS t WHERE t.name = 'gpu') END);
CREATE FUNCTION replay.amounts(v jsonb, types integer) RETURNS text LANGUAGE sql
	RETURN concat_ws(' ', coalesce(v ->> 0, '0'), CASE WHEN types > 1 THEN coalesce(v ->> 1, '0') END,
		CASE WHEN types > 2 THEN coalesce(v ->> 2, '0') END);

CREATE FUNCTION replay.application(app text) RETURNS text LANGUAGE sql
	RETURN 'application_1000000000000_' || lpad(app, 4, '0');
CREATE FUNCTION replay.container(id text) RETURNS text LANGUAGE sql
	RETURN format('container_1000000000000_%s_01_%s', lpad(split_part(id, '.', 1), 4, '0'), lpad(split_part(id, '.', 2), 6, '0'));
-- return a container's name as a record writes it
CREATE FUNCTION replay.short(container_id text) RETURNS text LANGUAGE sql
	RETURN concat_ws('.', split_part(container_id, '_', 3)::integer, split_part(container_id, '_', 5)::integer);

CREATE PROCEDURE replay.start(s jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock(replay.time((s #>> '{rounds,0,now}')::bigint));
	IF s -> 'conf' ? 'yarn.resource-types' THEN
		INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES ('gpu', 'GPU', 1, 1);
	END IF;
	INSERT INTO yquota.node_label (name, exclusive) SELECT l ->> 'name', (l ->> 'exclusive')::boolean FROM jsonb_array_elements(s -> 'labels') AS l;
	PERFORM yquota.import_hadoop_configuration(
		'{"yarn.resourcemanager.scheduler.monitor.enable": "true"}'::jsonb ||
		CASE WHEN s ? 'labels' THEN '{"yarn.node-labels.enabled": "true"}'::jsonb ELSE '{}' END || (s -> 'conf') - 'yarn.resource-types');
	-- the configuration takes effect when it is checked at commit, and this test never commits
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
	INSERT INTO yquota.node (name, label, total)
	SELECT n ->> 'id', coalesce(n ->> 'label', ''), replay.resource(n -> 'res') FROM jsonb_array_elements(s -> 'nodes') AS n;
END $$;

-- Submit applications in their order, and put them into the states that they have in Hadoop.
CREATE PROCEDURE replay.submit(apps jsonb) LANGUAGE plpgsql AS $$
DECLARE
	a jsonb;
	now timestamptz := yquota.clock();
BEGIN
	FOR a IN SELECT * FROM jsonb_array_elements(apps) AS o WHERE NOT EXISTS (
		SELECT FROM yquota.application AS known WHERE known.application_id = replay.application(o ->> 'app'))
	LOOP
		PERFORM yquota.set_clock(replay.time(-100000 + (a ->> 'app')::bigint));
		PERFORM yquota.submit_application(application_id => replay.application(a ->> 'app'), username => a ->> 'user', groups => '{}',
			queue => a ->> 'queue', am_resource => replay.resource(a -> 'am'), priority => (a ->> 'priority')::integer,
			label => coalesce(a ->> 'am_label', ''), project => 'p');
	END LOOP;
	PERFORM yquota.set_clock(now);
	UPDATE yquota.application AS known
	SET am_resource = r.am_resource, priority = r.priority, state = r.state, has_outstanding_requests = coalesce(r.has_outstanding_requests, known.has_outstanding_requests)
	FROM (SELECT replay.application(o ->> 'app') AS application_id,
				 -- requests are whole multiples of the minimum allocation
				 replay.resource(coalesce((SELECT p -> 'res' FROM jsonb_array_elements(o -> 'pending') AS p WHERE o ? 'waiting_for_am' AND p ->> 'prio' = '0'),
										  o -> 'am')) AS am_resource,
				 (o ->> 'priority')::integer AS priority,
				 CASE WHEN (o ->> 'active')::boolean THEN 'ACTIVE' ELSE 'ACCEPTED' END::yquota.application_state AS state,
				 CASE WHEN NOT o ? 'pending' THEN false
					  -- the application has requested nothing since its submission
					  WHEN NOT EXISTS (SELECT FROM jsonb_array_elements(o -> 'pending') AS p WHERE p ->> 'prio' <> '0') THEN NULL
					  -- in Hadoop a user without an active application does not become active by a
					  -- request (UsersManager.activateApplication())
					  ELSE (o ->> 'active')::boolean OR EXISTS (
						  SELECT FROM jsonb_array_elements(apps) AS other
						  WHERE (other ->> 'active')::boolean AND other ->> 'queue' = o ->> 'queue' AND other ->> 'user' = o ->> 'user') END AS has_outstanding_requests
		  FROM jsonb_array_elements(apps) AS o) AS r
	WHERE known.application_id = r.application_id
		AND (known.priority, known.state, known.has_outstanding_requests, replay.amounts(known.am_resource, 3))
			IS DISTINCT FROM (r.priority, r.state, coalesce(r.has_outstanding_requests, known.has_outstanding_requests), replay.amounts(r.am_resource, 3));
END $$;

-- Start the recorded containers, and insert the recorded reservations.
CREATE PROCEDURE replay.place(containers jsonb) LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.reserved_container AS r USING jsonb_array_elements(containers) AS c
	WHERE r.container_id = replay.container(c ->> 'id');
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation,
		priority, asked_label, is_am)
	SELECT 'CONTAINER_START', replay.container(c ->> 'id'), replay.time((c ->> 'created')::bigint), 'p', a.application_id, a.username,
		   a.queue, c ->> 'node', replay.resource(c -> 'res'), (c ->> 'prio')::integer, coalesce(c ->> 'label', ''), c ? 'am'
	FROM jsonb_array_elements(containers) AS c
	JOIN yquota.application AS a ON a.application_id = replay.application(split_part(c ->> 'id', '.', 1))
	WHERE NOT c ? 'reserved'
	ORDER BY (c ->> 'created')::bigint;
	INSERT INTO yquota.reserved_container (node, application_id, priority, allocation_request_id, container_id, label, allocation, reserved_at)
	SELECT c ->> 'node', replay.application(split_part(c ->> 'id', '.', 1)), (c ->> 'prio')::integer, -1, replay.container(c ->> 'id'),
		   n.label, replay.resource(c -> 'res'), replay.time((c ->> 'created')::bigint)
	FROM jsonb_array_elements(containers) AS c JOIN yquota.node AS n ON n.name = c ->> 'node'
	WHERE c ? 'reserved';
	INSERT INTO yquota_internal.application_attempt AS t (application_id, attempt, next_container, am_container_id)
	SELECT replay.application(split_part(c ->> 'id', '.', 1)), 1, max(split_part(c ->> 'id', '.', 2)::integer) + 1,
		   max(replay.container(c ->> 'id')) FILTER (WHERE c ? 'am')
	FROM jsonb_array_elements(containers) AS c GROUP BY 1
	ON CONFLICT (application_id) DO UPDATE SET next_container = greatest(t.next_container, excluded.next_container),
		am_container_id = coalesce(excluded.am_container_id, t.am_container_id);
END $$;

CREATE PROCEDURE replay.remove(ids jsonb) LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM yquota.reserved_container WHERE container_id IN (SELECT replay.container(g) FROM jsonb_array_elements_text(ids) AS g);
	INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status)
	SELECT 'CONTAINER_FINISH', c.container_id, yquota.clock(), 0
	FROM yquota.container AS c WHERE c.container_id IN (SELECT replay.container(g) FROM jsonb_array_elements_text(ids) AS g);
END $$;

-- Insert the requests of applications, except the requests for application masters. Some recorded
-- applications have requested containers before their masters ran. request_containers() would
-- refuse these requests, so they are inserted into the table.
CREATE PROCEDURE replay.request(apps jsonb) LANGUAGE plpgsql AS $$
DECLARE
	a jsonb;
	requests yquota.container_request[];
BEGIN
	FOR a IN SELECT o FROM jsonb_array_elements(apps) AS o WHERE (o ->> 'active')::boolean AND NOT o ? 'waiting_for_am' LOOP
		SELECT array_agg(CASE
				-- requests that no longer exist
				WHEN p.ask IS NULL THEN ROW('*', r.allocation, 0, r.priority, -1, true, r.label, 'GUARANTEED', NULL)::yquota.container_request
				ELSE ROW('*', replay.resource(p.ask -> 'res'), (p.ask ->> 'n')::integer, (p.ask ->> 'prio')::integer, -1, true,
					coalesce(p.ask ->> 'label', ''), 'GUARANTEED', NULL)::yquota.container_request END)
		INTO requests
		FROM jsonb_array_elements(a -> 'pending') AS p(ask)
		FULL JOIN (SELECT * FROM yquota.resource_request WHERE application_id = replay.application(a ->> 'app')) AS r
			ON r.priority = (p.ask ->> 'prio')::integer;
		IF requests IS NOT NULL THEN
			PERFORM yquota.request_containers(replay.application(a ->> 'app'), requests);
		END IF;
	END LOOP;
	DELETE FROM yquota.resource_request AS r USING jsonb_array_elements(apps) AS o
	WHERE r.application_id = replay.application(o ->> 'app') AND o ? 'waiting_for_am';
	INSERT INTO yquota.resource_request (application_id, priority, allocation_request_id, resource_name, count, allocation, relax_locality, label, execution_type)
	SELECT replay.application(o ->> 'app'), (p ->> 'prio')::integer, -1, '*', (p ->> 'n')::integer, replay.resource(p -> 'res'), true,
		   coalesce(p ->> 'label', ''), 'GUARANTEED'
	FROM jsonb_array_elements(apps) AS o, jsonb_array_elements(o -> 'pending') AS p
	WHERE o ? 'waiting_for_am' AND p ->> 'prio' <> '0';
END $$;

CREATE PROCEDURE replay.change(gone jsonb, placed jsonb, apps jsonb) LANGUAGE plpgsql AS $$
BEGIN
	CALL replay.remove(gone);
	CALL replay.submit(apps);
	CALL replay.place(placed);
	CALL replay.request(apps);
END $$;

-- Each of the following functions returns the number of compared values, and the differences.
CREATE TYPE replay.comparison AS (compared bigint, difference text);

CREATE FUNCTION replay.compare(kind text, key text[], ours text[], hadoops text[]) RETURNS replay.comparison LANGUAGE sql AS $$
	SELECT count(*), string_agg(format('%s of %s: yquota %s, Hadoop %s', kind, o.key, o.ours, o.hadoops), '; ' ORDER BY o.key)
		FILTER (WHERE o.ours IS DISTINCT FROM o.hadoops)
	FROM unnest(key, ours, hadoops) AS o(key, ours, hadoops)
$$;

-- Check that each vector has a component for each resource type.
CREATE FUNCTION replay.vectors(r jsonb, types integer) RETURNS replay.comparison LANGUAGE sql AS $$
	SELECT 0, string_agg(format('vector %s', v), '; ' ORDER BY v) FILTER (WHERE jsonb_array_length(v) <> types)
	FROM (SELECT jsonb_path_query(r, '$.queues.*.*.*') AS v UNION ALL SELECT jsonb_path_query(r, '$.selectors.queues.*.*.*')) AS a
	WHERE jsonb_typeof(v) = 'array'
$$;

-- Compare the figures of queues before the first-in-first-out selector. What must be preempted depends on what
-- earlier selectors have chosen, but the view does not know that.
CREATE FUNCTION replay.figures(r jsonb, types integer, computed integer) RETURNS replay.comparison LANGUAGE sql AS $$
	SELECT (replay.compare('figures', array_agg(concat_ws(' ', queue, label)),
		array_agg(concat_ws(', ', replay.amounts(f.guaranteed, types), replay.amounts(f.maximum, types), replay.amounts(f.used, types),
			replay.amounts(f.pending, computed), replay.amounts(f.ideal, computed), replay.amounts(f.untouchable, computed), f.disabled,
			CASE WHEN b.is_first THEN concat_ws(', ', replay.amounts(f.to_be_preempted, computed), replay.amounts(f.actually_to_be_preempted, computed)) END)),
		array_agg(concat_ws(', ', replay.amounts(q.i -> 'guaranteed', types), replay.amounts(q.i -> 'max', types), replay.amounts(q.i -> 'used', types),
			replay.amounts(q.i -> 'pending', computed), replay.amounts(q.o -> 'ideal', computed), replay.amounts(q.o -> 'untouchable', computed),
			coalesce((r #> ARRAY['queues', queue, '', 'disabled'])::boolean, false),
			CASE WHEN b.is_first THEN concat_ws(', ', replay.amounts(q.o -> 'to_be_preempted', computed), replay.amounts(q.o -> 'obtain', computed)) END)))).*
	FROM yquota.preemption_state AS f
	FULL JOIN (SELECT i.key AS queue, l.key AS label FROM jsonb_each(r -> 'queues') AS i, jsonb_each(i.value) AS l) AS h USING (queue, label)
	LEFT JOIN (SELECT x AS fifo FROM jsonb_array_elements(r -> 'selectors') AS x WHERE x ->> 'selector' = 'fifo') AS s ON true
	CROSS JOIN (SELECT coalesce(bool_and(x -> 'chosen' = '[]'), true) AS is_first FROM jsonb_array_elements(r -> 'selectors') AS x
				WHERE x ->> 'selector' IN ('queue_priority', 'reserved')) AS b
	CROSS JOIN LATERAL (SELECT r #> ARRAY['queues', queue, label] AS i, s.fifo #> ARRAY['queues', queue, label] AS o) AS q
$$;

-- The results of a round, in columns that are named like the fields of a recorded decision.
CREATE TABLE replay.outcome (outcome text, id text, queue text, node text, label text, selector text, is_reserved boolean, marked_at timestamptz,
	ideal yquota.resource, to_be_preempted yquota.resource, obtain yquota.resource);

CREATE PROCEDURE replay.preempt(as_of timestamptz) LANGUAGE sql AS $$
	TRUNCATE replay.outcome;
	WITH reserved AS MATERIALIZED (SELECT ARRAY(SELECT r.container_id FROM yquota.reserved_container AS r) AS ids)
	INSERT INTO replay.outcome
	SELECT p.outcome, replay.short(p.container_id), p.queue, p.node, p.label, p.selector, p.container_id = ANY (v.ids), p.marked_at,
		   p.ideal, p.to_be_preempted, p.actually_to_be_preempted
	FROM reserved AS v, yquota.preempt_containers(as_of, explain => true) AS p;
$$;

-- Return the sort key of a record: first the application, then the container.
CREATE FUNCTION replay.place(id text) RETURNS integer[] LANGUAGE sql
	RETURN string_to_array(id, '.')::integer[];

-- Compare the chosen containers, by selector. A reserved container is cancelled whether it was chosen or not,
-- and yquota reports only the cancellation.
CREATE FUNCTION replay.chosen(r jsonb, reserved text[]) RETURNS replay.comparison LANGUAGE sql AS $$
	SELECT (SELECT sum(jsonb_array_length(x -> 'chosen')) FROM jsonb_array_elements(r -> 'selectors') AS x), (replay.compare('chosen', array_agg(n.selector),
		array_agg((SELECT string_agg(o.id, ' ' ORDER BY replay.place(o.id)) FROM replay.outcome AS o
			WHERE o.selector = n.selector AND o.outcome IN ('marked', 'observed', 'killed', 'killable') AND NOT o.is_reserved)),
		array_agg((SELECT string_agg(c, ' ' ORDER BY i) FROM jsonb_array_elements(r -> 'selectors') AS x, jsonb_array_elements_text(x -> 'chosen') WITH ORDINALITY AS t(c, i)
			WHERE x ->> 'selector' = n.selector AND c <> ALL (reserved))))).difference
	FROM (SELECT o.selector FROM replay.outcome AS o WHERE o.selector IS NOT NULL UNION SELECT x ->> 'selector' FROM jsonb_array_elements(r -> 'selectors') AS x) AS n
$$;

-- Compare events in the order of a record: by kind, then by container. Hadoop sends no event when
-- it moves a reservation, and moves none in these records.
CREATE FUNCTION replay.events(r jsonb, reserved text[]) RETURNS replay.comparison LANGUAGE sql AS $$
	SELECT jsonb_array_length(r -> 'events'), (replay.compare('events', '{all}',
		ARRAY[(SELECT string_agg(n.event || ' ' || o.id, ', ' ORDER BY n.place, replay.place(o.id))
			FROM (VALUES (1, 'kill', '{killed,killable}'::text[]), (2, 'preempt', '{marked}'), (3, 'unreserve', '{unreserved}'), (4, 'move', '{moved}')) AS n(place, event, outcomes)
			JOIN replay.outcome AS o ON o.outcome = ANY (n.outcomes))],
		ARRAY[(SELECT string_agg((SELECT string_agg(w, ' ') FROM jsonb_array_elements_text(e) AS w), ', ' ORDER BY i) FROM jsonb_array_elements(r -> 'events') WITH ORDINALITY AS t(e, i)
			WHERE e ->> 0 = 'unreserve' OR e ->> 1 <> ALL (reserved))])).difference
$$;

-- Compare the containers that may be killed as soon as their room is needed, before a round.
CREATE FUNCTION replay.killable(r jsonb) RETURNS replay.comparison LANGUAGE sql AS $$
	SELECT coalesce(jsonb_array_length(r -> 'killable'), 0), (replay.compare('killable', '{all}',
		ARRAY[(SELECT string_agg(k.id, ' ' ORDER BY replay.place(k.id)) FROM (SELECT replay.short(m.container_id) AS id FROM yquota.preemption_mark AS m WHERE m.is_killable) AS k)],
		ARRAY[(SELECT string_agg(k, ' ' ORDER BY i) FROM jsonb_array_elements_text(r -> 'killable') WITH ORDINALITY AS t(k, i))])).difference
$$;

-- Compare the marks of containers that still run; Hadoop keeps other marks until they are old.
CREATE FUNCTION replay.marks(r jsonb) RETURNS replay.comparison LANGUAGE sql AS $$
	WITH hadoops AS (
		SELECT key AS id, replay.time(value::bigint) AS marked_at FROM jsonb_each_text(r -> 'marked')
		WHERE replay.container(key) IN (SELECT c.container_id FROM yquota.container AS c)),
	ours AS (SELECT replay.short(m.container_id) AS id, m.marked_at FROM yquota.preemption_mark AS m WHERE NOT m.is_killable)
	SELECT (replay.compare('mark', array_agg(coalesce(o.id, h.id)), array_agg(o.marked_at::text), array_agg(h.marked_at::text))).*
	FROM ours AS o FULL JOIN hadoops AS h ON h.id = o.id
$$;

-- Compare the figures by which containers were chosen, as yquota reports them with each container.
CREATE FUNCTION replay.reasons(r jsonb, computed integer) RETURNS replay.comparison LANGUAGE sql AS $$
	SELECT (replay.compare('reasons', array_agg(o.selector || ' ' || o.id),
		array_agg(concat_ws(', ', replay.amounts(o.ideal, computed), replay.amounts(o.to_be_preempted, computed), replay.amounts(o.obtain, computed))),
		array_agg(concat_ws(', ', replay.amounts(f.figures -> 'ideal', computed), replay.amounts(f.figures -> 'to_be_preempted', computed),
			replay.amounts(f.figures -> 'obtain', computed))))).*
	FROM replay.outcome AS o
	JOIN jsonb_array_elements(r -> 'selectors') AS x ON x ->> 'selector' = o.selector AND x ? 'queues'
	CROSS JOIN LATERAL (SELECT x #> ARRAY['queues', o.queue, o.label] AS figures) AS f
	WHERE o.outcome <> 'unreserved'
$$;

CREATE TABLE replay.result (kind text, compared bigint, difference text);

-- Play a round: make the changes before it, run it, and compare the results.
CREATE PROCEDURE replay.round(r jsonb, types integer, computed integer) LANGUAGE plpgsql AS $$
DECLARE
	reserved text[];
BEGIN
	PERFORM yquota.set_clock(replay.time((r ->> 'now')::bigint));
	CALL replay.change(r -> 'gone', r -> 'set', r -> 'apps');
	reserved := ARRAY(SELECT replay.short(v.container_id) FROM yquota.reserved_container AS v);
	INSERT INTO replay.result SELECT 'vectors', * FROM replay.vectors(r, types) UNION ALL SELECT 'killable', * FROM replay.killable(r)
	UNION ALL SELECT 'figures', * FROM replay.figures(r, types, computed);
	CALL replay.preempt(yquota.clock());
	INSERT INTO replay.result
	SELECT 'chosen', * FROM replay.chosen(r, reserved) UNION ALL SELECT 'events', * FROM replay.events(r, reserved)
	UNION ALL SELECT 'marks', * FROM replay.marks(r) UNION ALL SELECT 'reasons', * FROM replay.reasons(r, computed);
END $$;

-- Play a record up to the first difference. Return how much was compared, and the difference. The
-- caller must roll back the changes.
CREATE FUNCTION replay.play(s jsonb, OUT rounds bigint, OUT figures bigint, OUT chosen bigint, OUT events bigint, OUT marks bigint,
	OUT reasons bigint, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	r jsonb;
	types integer := jsonb_array_length(s #> '{nodes,0,res}');
	-- the default calculator computes only with memory
	computed integer := CASE WHEN s #>> '{conf,yarn.scheduler.capacity.resource-calculator}' LIKE '%Dominant%' THEN types ELSE 1 END;
BEGIN
	CALL replay.start(s);
	CALL replay.change('[]', s -> 'containers', s -> 'apps');
	FOR r IN SELECT * FROM jsonb_array_elements(s -> 'rounds') LOOP
		CALL replay.round(r, types, computed);
		EXIT WHEN EXISTS (SELECT FROM replay.result AS e WHERE e.difference IS NOT NULL);
	END LOOP;
	SELECT count(*) FILTER (WHERE e.kind = 'figures'), sum(e.compared) FILTER (WHERE e.kind = 'figures'), sum(e.compared) FILTER (WHERE e.kind = 'chosen'),
		   sum(e.compared) FILTER (WHERE e.kind = 'events'), sum(e.compared) FILTER (WHERE e.kind = 'marks'), sum(e.compared) FILTER (WHERE e.kind = 'reasons'),
		   s ->> 'id' || ': ' || concat_ws('; ', string_agg(e.difference, '; '), (SELECT string_agg(v::text, '; ') FROM yquota.verify() AS v))
	INTO rounds, figures, chosen, events, marks, reasons, difference
	FROM replay.result AS e;
	difference := nullif(difference, s ->> 'id' || ': ');
END $$;
