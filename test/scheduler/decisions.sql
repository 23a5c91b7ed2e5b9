-- Replay a scenario of decisions.jsonl, and find the first step at which yquota decides otherwise
-- than Hadoop's scheduler did.

CREATE SCHEMA replay;
-- By default Hadoop knows only memory and cores
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');

CREATE FUNCTION replay.resource(o jsonb) RETURNS yquota.resource LANGUAGE sql
	RETURN format('[memory-mb=%s,vcores=%s%s]', o ->> 'memory', o ->> 'vcores', ',yarn.io/gpu=' || (o ->> 'gpu'))::yquota.resource;
CREATE FUNCTION replay.amounts(r yquota.resource) RETURNS text LANGUAGE sql
	RETURN concat_ws(' ', coalesce(yquota.amount(r, 'memory-mb'), 0), coalesce(yquota.amount(r, 'vcores'), 0),
		(SELECT coalesce(yquota.amount(r, t.name), 0) FROM yquota.resource_type AS t WHERE t.name = 'yarn.io/gpu'));
CREATE FUNCTION replay.id(app text) RETURNS text LANGUAGE sql
	RETURN 'application_1000000000000_' || lpad(app, 4, '0');

-- Set the configuration. It takes effect when it is checked at commit, and this test never commits,
-- so check it at once.
CREATE PROCEDURE replay.configure(properties jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.import_hadoop_configuration(properties - 'yarn.resource-types');
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
END $$;

-- Compute Java's String.hashCode(), with the change that java.util.HashMap.hash() makes to it.
CREATE FUNCTION replay.java_hash(name text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	hash bigint := 0;
BEGIN
	FOR i IN 1 .. length(name) LOOP
		hash := (hash * 31 + ascii(substr(name, i, 1))) & 4294967295;
	END LOOP;
	RETURN hash # (hash >> 16);
END $$;

-- Set the configuration in Hadoop's order. When Hadoop refreshes a parent, its children go through
-- a HashMap by path, and stay in the order in which the map returns them. yquota keeps siblings in
-- the order of the configuration, so the configuration gets Hadoop's order.
CREATE PROCEDURE replay.refresh(properties jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.import_hadoop_configuration(properties - 'yarn.resource-types');
	WITH child AS (
		SELECT q.path, q.position, s.path AS parent,
			(16 * 2 ^ ceil(log(2, greatest(count(*) OVER (PARTITION BY s.path), 12) / 12.0)))::bigint AS buckets
		FROM yquota.queue AS q
		-- only parents that existed before the refresh
		JOIN yquota_internal.queue_status AS s ON s.path = regexp_replace(q.path, '[.][^.]*$', '') AND s.kind = 'parent' AND s.path <> q.path),
	placed AS (
		SELECT c.path, row_number() OVER (PARTITION BY c.parent ORDER BY replay.java_hash(c.path) & (c.buckets - 1), c.position) AS position
		FROM child AS c)
	UPDATE yquota.queue AS q SET position = p.position FROM placed AS p WHERE q.path = p.path;
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
END $$;

CREATE PROCEDURE replay.start(s jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock('2026-03-02 10:00+00');
	IF s -> 'properties' ? 'yarn.resource-types' THEN
		INSERT INTO yquota.resource_type (name, price_group, base_price, unit) VALUES ('yarn.io/gpu', 'GPU', 1, 1);
	END IF;
	INSERT INTO yquota.node_label (name, exclusive) SELECT l ->> 'name', (l ->> 'exclusive')::boolean FROM jsonb_array_elements(s -> 'labels') AS l;
	CALL replay.configure(CASE WHEN s -> 'labels' <> '[]' THEN '{"yarn.node-labels.enabled": "true"}'::jsonb ELSE '{}' END || (s -> 'properties'));
	INSERT INTO yquota.node (name, rack, label, total)
	SELECT n ->> 'name', coalesce(n ->> 'rack', '/rack' || substr(n ->> 'name', 2)::integer % CASE left(n ->> 'name', 1) WHEN 'n' THEN 3 ELSE 10 END),
		coalesce(n ->> 'label', ''), replay.resource(n)
	FROM jsonb_array_elements(s -> 'nodes') AS n;
END $$;

-- Each of the following functions returns the values to be compared.

CREATE FUNCTION replay.submit(o jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN (s.state = 'REJECTED') <> (o ? 'refused' OR o ->> 'is' = 'FAILED') THEN s.reason END
	FROM yquota.submit_application(application_id => replay.id(o ->> 'app'), username => o ->> 'user', groups => '{}', queue => o ->> 'queue',
		am_resource => CASE WHEN o ? 'am' THEN replay.resource(o -> 'am') ELSE '[memory-mb=1024,vcores=1]' END, label => o ->> 'label',
		priority => (o ->> 'priority')::integer, unmanaged => (o ->> 'unmanaged')::boolean, project => 'p',
		node_label_expression => o ->> 'expression', keep_containers => coalesce((o ->> 'keep')::boolean, false)) AS s
$$;

CREATE FUNCTION replay.request(o jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.request_containers(replay.id(o ->> 'app'), ARRAY(
		SELECT ROW(a ->> 'name', replay.resource(a), (a ->> 'count')::integer, (a ->> 'priority')::integer, (a ->> 'id')::bigint,
			coalesce((a ->> 'relax')::boolean, true), CASE a ->> 'name' WHEN '*' THEN a ->> 'label' END, 'GUARANTEED', NULL)::yquota.container_request
		FROM jsonb_array_elements(o -> 'asks') AS a));
	RETURN CASE WHEN o ? 'refused' THEN 'was not refused' END;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN CASE WHEN NOT o ? 'refused' THEN SQLERRM END;
END $$;

CREATE FUNCTION replay.update(o jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT concat(string_agg(concat_ws(' ', u.outcome, u.container_id, c.node, replay.amounts(u.allocation), u.version), '; ' ORDER BY u.outcome DESC, u.container_id)
			FILTER (WHERE u.outcome IN ('decreased', 'demoted')),
		' refused: ', string_agg(concat_ws(' ', u.reason, u.container_id), '; ' ORDER BY u.reason COLLATE "C", u.container_id) FILTER (WHERE u.outcome = 'refused'))
	FROM yquota.update_containers(replay.id(o ->> 'app'), ARRAY(
		SELECT ROW(n ->> 'container', (n ->> 'version')::integer, CASE WHEN n ? 'memory' THEN replay.resource(n) END,
			(n ->> 'execution')::yquota.execution_type, 1, -1)::yquota.container_update_request
		FROM jsonb_array_elements(o -> 'chosen') WITH ORDINALITY AS c(n, i) ORDER BY i)) AS u
	LEFT JOIN yquota.container AS c ON c.container_id = u.container_id
$$;

-- return the container that a new reservation will enlarge; the next statement sees the reservation
CREATE FUNCTION replay.to_update(node text) RETURNS text LANGUAGE sql AS $$
	SELECT r.container_to_update FROM yquota.reserved_container AS r WHERE r.node = to_update.node
$$;

CREATE FUNCTION replay.heartbeat(nodes text[]) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE
			WHEN d.decision IN ('increased', 'promoted') THEN concat_ws(' ', 'updated', d.container_id, d.node)
			WHEN d.decision = 'reserved' AND replay.to_update(d.node) IS NOT NULL THEN
				concat_ws(' ', 'reserved for', replay.to_update(d.node), d.node, replay.amounts(d.allocation))
			WHEN d.decision IN ('unreserved', 'killed') THEN concat_ws(' ', d.decision, d.container_id, d.node)
			ELSE concat_ws(' ', d.decision, d.container_id, d.node, replay.amounts(d.allocation), d.locality, 'for ' || d.unreserved_node)
		END, '; ' ORDER BY d.ordinality)
	FROM yquota.node_heartbeat(nodes) WITH ORDINALITY AS d
$$;

CREATE PROCEDURE replay.change_node(o jsonb) LANGUAGE plpgsql AS $$
BEGIN
	CASE o ->> 'do'
	WHEN 'add' THEN INSERT INTO yquota.node (name, rack, label, total) VALUES (o ->> 'node', o ->> 'rack', o ->> 'label', replay.resource(o));
	WHEN 'resize' THEN UPDATE yquota.node SET total = replay.resource(o) WHERE name = o ->> 'node';
	WHEN 'relabel' THEN UPDATE yquota.node SET label = o ->> 'label' WHERE name = o ->> 'node';
	WHEN 'lose' THEN UPDATE yquota.node SET state = 'LOST' WHERE name = o ->> 'node';
	WHEN 'join' THEN UPDATE yquota.node SET state = 'RUNNING', total = replay.resource(o) WHERE name = o ->> 'node';
	END CASE;
	PERFORM yquota.activate_applications();
END $$;

-- Compute everything again that a session has cached of the cluster.
CREATE PROCEDURE replay.update() LANGUAGE plpgsql AS $$
BEGIN
	UPDATE yquota.node SET total = total;
	PERFORM yquota.activate_applications();
END $$;

CREATE FUNCTION replay.perform(o jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	decided text;
BEGIN
	CASE o ->> 'do'
	WHEN 'submit' THEN decided := replay.submit(o);
	WHEN 'asks' THEN decided := replay.request(o);
	WHEN 'update' THEN decided := replay.update(o);
	WHEN 'heartbeat' THEN decided := replay.heartbeat(ARRAY[o ->> 'node']);
	WHEN 'heartbeats' THEN decided := replay.heartbeat(ARRAY(SELECT jsonb_array_elements_text(o -> 'nodes')));
	WHEN 'blacklist' THEN
		PERFORM yquota.update_blacklist(replay.id(o ->> 'app'), ARRAY(SELECT jsonb_array_elements_text(o -> 'add')), ARRAY(SELECT jsonb_array_elements_text(o -> 'remove')));
	WHEN 'priority' THEN PERFORM yquota.update_application_priority(replay.id(o ->> 'app'), (o ->> 'priority')::integer);
	WHEN 'finish' THEN PERFORM yquota.finish_application(replay.id(o ->> 'app'), 'KILLED');
	WHEN 'end' THEN NULL;
	WHEN 'killable' THEN
		INSERT INTO yquota_internal.preemption_round (round_at, server_started_at, rounds, marked, killed, unreserved)
		VALUES (yquota.clock(), pg_postmaster_start_time(), 1, 0, 0, 0) ON CONFLICT (only_row) DO UPDATE SET round_at = excluded.round_at;
		DELETE FROM yquota_internal.preemption_mark AS m
		WHERE NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = m.container_id);
		INSERT INTO yquota.preemption_mark (container_id, marked_at, application_id, queue, selector, is_killable, told_at)
		SELECT c.container_id, yquota.clock(), c.application_id, c.queue, 'fifo', true, yquota.clock() FROM yquota.container AS c
		WHERE c.container_id IN (SELECT jsonb_array_elements_text(o -> 'killable')) ON CONFLICT DO NOTHING;
	WHEN 'failmaster' THEN NULL;
	WHEN 'refresh' THEN CALL replay.refresh(o -> 'properties');
	WHEN 'figures' THEN CALL replay.update();
	ELSE CALL replay.change_node(o);
	END CASE;
	-- the application master was on a node that is lost
	PERFORM yquota.finish_application(replay.id(app), 'FAILED') FROM jsonb_array_elements_text(o -> 'failed') AS app;
	PERFORM yquota.release_containers(ARRAY(SELECT jsonb_array_elements_text(o -> 'ended')));
	IF o ->> 'do' = 'failmaster' THEN
		PERFORM count(*) FROM yquota.schedule(max_containers => 0);
	END IF;
	RETURN decided;
END $$;

CREATE FUNCTION replay.reserved() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(concat_ws(' ', r.node, right(r.application_id, 4)::integer, replay.amounts(r.allocation)), '; ' ORDER BY r.node COLLATE "C")
	FROM yquota.reserved_container AS r
$$;

-- Return live applications with the resources that they hold, have reserved and wait for, by label.
-- Also return nodes with the resources that GUARANTEED containers leave.
CREATE FUNCTION replay.state() RETURNS text LANGUAGE sql AS $$
	WITH part AS (
		SELECT c.application_id, n.label, c.allocation AS used, '[]'::yquota.resource AS reserved, '[]'::yquota.resource AS pending
		FROM yquota.container AS c JOIN yquota.node AS n ON n.name = c.node WHERE c.execution_type = 'GUARANTEED'
		UNION ALL
		SELECT r.application_id, r.label, '[]', r.allocation, '[]' FROM yquota.reserved_container AS r
		UNION ALL
		SELECT q.application_id, q.label, '[]', '[]', q.allocation OPERATOR(yquota.*) q.count::bigint FROM yquota.resource_request AS q WHERE q.resource_name = '*'
		UNION ALL
		SELECT u.application_id, u.label, '[]', '[]', u.allocation FROM yquota.container_update AS u),
	total AS (
		SELECT p.application_id, p.label, concat_ws('/', replay.amounts(yquota.sum(p.used)), replay.amounts(yquota.sum(p.reserved)), replay.amounts(yquota.sum(p.pending))) AS amounts
		FROM part AS p GROUP BY p.application_id, p.label),
	line AS (
		SELECT concat(right(a.application_id, 4)::integer, CASE WHEN a.state <> 'ACTIVE' THEN '-' END, (
				SELECT string_agg(concat(' ', coalesce(nullif(t.label, ''), '*'), ':', t.amounts), '' ORDER BY t.label)
				FROM total AS t WHERE t.application_id = a.application_id AND t.amounts ~ '[1-9]')) AS text,
			1 AS kind, a.application_id AS name
		FROM yquota.application AS a WHERE a.finished_at IS NULL
		UNION ALL
		SELECT concat_ws(' ', n.node, replay.amounts(n.total OPERATOR(yquota.-) n.guaranteed)), 2, n.node FROM yquota.node_usage AS n WHERE n.state = 'RUNNING')
	SELECT string_agg(l.text, '; ' ORDER BY l.kind, l.name COLLATE "C") FROM line AS l
$$;

-- Return the usage of queues, the limits of users, and headroom, with the keys of Hadoop's records.
CREATE FUNCTION replay.figure(key text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	of text[] := regexp_match(key, '^(queue|user|headroom) (\S+) ?(\S*) <(.*)>$');
BEGIN
	RETURN CASE of[1]
		WHEN 'queue' THEN (
			SELECT format('used %s reserved %s', replay.amounts(q.used), replay.amounts(q.reserved))
			FROM yquota.scheduler_queue AS q WHERE q.queue = of[2] AND q.label = of[4])
		WHEN 'user' THEN (
			SELECT format('used %s limit %s all %s', replay.amounts(l.used), replay.amounts(l.resource_limit), replay.amounts(l.all_users_limit))
			FROM yquota.user_limit(of[2], of[3], of[4]) AS l)
		ELSE (
			SELECT replay.amounts(yquota.sum(h.headroom))
			FROM unnest(CASE of[4] WHEN '' THEN '{""}' ELSE string_to_array(of[4], ',') END) AS label, yquota.headroom(replay.id(of[2]), label) AS h)
	END;
END $$;

-- Return the keys of a record: queues in use, users with applications, and active applications with
-- the labels that they have requested.
CREATE FUNCTION replay.figure_keys() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT format('queue %s <%s>', q.queue, q.label) FROM yquota.scheduler_queue AS q WHERE replay.amounts(q.used) || replay.amounts(q.reserved) ~ '[1-9]'
	UNION ALL
	SELECT format('user %s %s <%s>', u.queue, u.username, q.label)
	FROM (SELECT DISTINCT a.queue, a.username FROM yquota.application AS a WHERE a.finished_at IS NULL) AS u JOIN yquota.effective_queue AS q USING (queue)
	UNION ALL
	SELECT 'headroom ' || right(a.application_id, 4)::integer FROM yquota.application AS a WHERE a.finished_at IS NULL AND a.state = 'ACTIVE'
$$;

CREATE FUNCTION replay.figures(figures jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s: yquota %s, Hadoop %s', coalesce(h.key, o.key), replay.figure(h.key), h.value), '; ' ORDER BY coalesce(h.key, o.key) COLLATE "C")
	FROM jsonb_each_text(figures) AS h
	FULL JOIN (SELECT * FROM replay.figure_keys() AS k(key) WHERE figures <> '{}') AS o ON o.key = regexp_replace(h.key, '^(headroom \d+) .*', '\1')
	WHERE h.key IS NULL OR replay.figure(h.key) IS DISTINCT FROM h.value
		-- Hadoop also has figures of users for labels that the queue may not use
		OR (o.key IS NULL AND (h.key NOT LIKE 'user %' OR regexp_replace(h.key, '<.*>', '<>') NOT IN (SELECT * FROM replay.figure_keys())))
$$;

CREATE FUNCTION replay.expected(o jsonb) RETURNS text LANGUAGE sql
	RETURN concat(
		(SELECT string_agg(d, '; ' ORDER BY i) FROM jsonb_array_elements_text(o -> 'decided') WITH ORDINALITY AS t(d, i)),
		CASE o ->> 'do' WHEN 'update' THEN ' refused: ' END,
		(SELECT string_agg(e, '; ' ORDER BY i) FROM jsonb_array_elements_text(o -> 'errors') WITH ORDINALITY AS t(e, i)),
		' reserved: ',
		(SELECT string_agg(concat_ws(' ', key, value), '; ' ORDER BY key COLLATE "C") FROM jsonb_each_text(o -> 'reserved')),
		' state: ', o ->> 'state');

-- Play a step. Return yquota's decisions, and how the step differs from Hadoop's, or NULL.
CREATE FUNCTION replay.step(o jsonb, OUT decided text, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	outcome text;
BEGIN
	decided := replay.perform(o);
	-- a separate statement sees everything that the operation has changed
	outcome := concat(decided, ' reserved: ', replay.reserved(), ' state: ', replay.state());
	difference := coalesce(CASE WHEN outcome <> replay.expected(o) THEN
		format('%s: yquota %s, Hadoop %s', o - 'state' - 'decided' - 'reserved' - 'figures', outcome, replay.expected(o)) END,
		replay.figures(o -> 'figures'));
	-- masters fetched their containers after each step, and unacknowledged containers would expire
	PERFORM yquota.acknowledge_decisions(ARRAY(SELECT d.decision_id FROM yquota.decision AS d));
END $$;

-- Return the application that a decision is about.
CREATE FUNCTION replay.application(decision text) RETURNS text LANGUAGE sql
	RETURN 'application' || substring(decision FROM ' container(_[0-9]+_[0-9]+)_[0-9]+_[0-9]+');

-- Return whether Hadoop's decision at this position of this step is about applications whose order
-- is an accident in Hadoop. Hadoop's FairOrderingPolicy keeps applications in a sorted set, by the
-- resources that they held when they were last inserted. A container that starts from a reservation
-- does not insert its application again (AbstractLeafQueue.apply()). A changed priority makes
-- Hadoop forget that the application was to be inserted again
-- (AbstractComparatorOrderingPolicy.removeSchedulableEntity()). The application then stays in its
-- place until another container of it starts, is reserved, given up or ends. yquota orders
-- applications by the resources that they hold. So one of the two decisions is about such an
-- application, and both are about one fair leaf.
CREATE FUNCTION replay.is_in_older_place(s jsonb, step bigint, place bigint, ours text, hadoops text) RETURNS boolean LANGUAGE sql AS $$
	WITH event AS (
		SELECT t.n, d.i, split_part(d.decision, ' ', 1) AS kind, replay.application(d.decision) AS application_id, split_part(d.decision, ' ', 2) AS container_id
		FROM jsonb_array_elements(s -> 'steps') WITH ORDINALITY AS t(o, n), jsonb_array_elements_text(t.o -> 'decided') WITH ORDINALITY AS d(decision, i)
		UNION ALL
		SELECT t.n, 0, 'ended', replay.application('ended ' || e.container), e.container
		FROM jsonb_array_elements(s -> 'steps') WITH ORDINALITY AS t(o, n), jsonb_array_elements_text(t.o -> 'ended') AS e(container)
		UNION ALL
		SELECT t.n, 0, 'priority', replay.id(t.o ->> 'app'), NULL
		FROM jsonb_array_elements(s -> 'steps') WITH ORDINALITY AS t(o, n) WHERE t.o ->> 'do' = 'priority'),
	last AS (
		SELECT DISTINCT ON (e.application_id) e.*
		FROM event AS e WHERE (e.n, e.i) < (step, place) ORDER BY e.application_id, e.n DESC, e.i DESC),
	left_in_place AS (
		SELECT l.application_id FROM last AS l
		WHERE l.kind = 'priority' OR (l.kind = 'allocated' AND EXISTS (
			SELECT FROM event AS r WHERE r.kind = 'reserved' AND r.container_id = l.container_id AND (r.n, r.i) < (l.n, l.i))))
	SELECT count(DISTINCT a.queue) = 1 AND count(*) = 2 AND bool_and(q.ordering_policy = 'fair') AND bool_or(a.application_id IN (SELECT * FROM left_in_place))
	FROM yquota.application AS a JOIN yquota.queue AS q ON q.path = a.queue
	WHERE a.application_id IN (replay.application(ours), replay.application(hadoops))
$$;

-- Return whether the first decision that differs in a step follows from such an outdated place.
CREATE FUNCTION replay.is_older_place(s jsonb, step bigint, decided text) RETURNS boolean LANGUAGE sql
	RETURN coalesce((
		SELECT replay.is_in_older_place(s, step, d.i, d.ours, d.hadoops)
		FROM ROWS FROM (string_to_table(decided, '; '), jsonb_array_elements_text(s #> ARRAY['steps', (step - 1)::text, 'decided'])) WITH ORDINALITY AS d(ours, hadoops, i)
		WHERE d.ours IS DISTINCT FROM d.hadoops ORDER BY d.i LIMIT 1), false);

-- Resources that application masters may use in leaves of the default partition, after each step.
CREATE TABLE replay.am_limit (step bigint, queue text, am_limit yquota.resource);

CREATE FUNCTION replay.note_am_limits(step bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO replay.am_limit
	SELECT step, q.queue, q.am_limit FROM yquota.effective_queue AS q WHERE q.kind = 'leaf' AND q.label = ''
$$;

-- Compare as the calculator does; the default calculator compares only memory.
CREATE FUNCTION replay.fits(needed yquota.resource, am_limit yquota.resource) RETURNS boolean LANGUAGE sql
	RETURN CASE WHEN EXISTS (SELECT FROM yquota.scheduler_setting AS s WHERE s.resource_calculator LIKE '%Dominant%')
		THEN needed OPERATOR(yquota.<@) am_limit
		ELSE yquota.amount(needed, 'memory-mb') <= yquota.amount(am_limit, 'memory-mb') END;

-- Return whether Hadoop uses an older limit for application masters at a step that differs. Hadoop
-- uses the resources that other queues left for a leaf when an application of the leaf was last
-- visited for containers. yquota uses the resources that they leave now. So everything is as in
-- Hadoop, except that one application waits for activation in only one of the two. Its application
-- master and those of its leaf fit in either the present limit or the limit of an earlier step, but
-- not in both.
CREATE FUNCTION replay.is_older_limit(o jsonb, step bigint, decided text) RETURNS boolean LANGUAGE sql AS $$
	WITH line AS (
		SELECT l.ours, l.hadoops, rtrim(l.ours, '-') AS app
		FROM ROWS FROM (string_to_table(replay.state(), '; '), string_to_table(o ->> 'state', '; ')) AS l(ours, hadoops)
		WHERE l.ours IS DISTINCT FROM l.hadoops),
	application AS (
		SELECT l.hadoops NOT LIKE '%-' AS is_active_in_hadoop, a.queue,
			yquota.sum(m.am_resource) FILTER (WHERE m.state = 'ACTIVE' OR m.application_id = a.application_id) AS needed
		FROM line AS l JOIN yquota.application AS a ON a.application_id = replay.id(l.app)
			JOIN yquota.application AS m ON m.queue = a.queue AND m.label = a.label AND m.finished_at IS NULL
		WHERE rtrim(l.hadoops, '-') = l.app
		GROUP BY l.hadoops, a.queue)
	SELECT replay.expected(o - 'state') = concat(decided, ' reserved: ', replay.reserved(), ' state: ') AND (SELECT count(*) FROM line) = 1
		AND replay.fits(a.needed, q.am_limit) <> a.is_active_in_hadoop
		AND EXISTS (SELECT FROM replay.am_limit AS e
					WHERE e.queue = a.queue AND e.step < is_older_limit.step AND replay.fits(a.needed, e.am_limit) = a.is_active_in_hadoop)
	FROM application AS a JOIN yquota.effective_queue AS q ON q.queue = a.queue AND q.label = ''
$$;

-- Play a scenario. Return the numbers of compared steps, decisions, nodes reserved after each step, and figures. A
-- difference ends the scenario. If an older place or limit of Hadoop causes it, "parting" names the step from which
-- nothing can be compared. The caller must roll back.
CREATE FUNCTION replay.play(s jsonb, OUT steps integer, OUT decisions integer, OUT reserved integer, OUT figures integer, OUT parting text, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	o jsonb;
	state text;
	decided text;
	reason text;
BEGIN
	steps := 0;
	decisions := 0;
	reserved := 0;
	figures := 0;
	state := '';
	CALL replay.start(s);
	FOR o IN SELECT * FROM jsonb_array_elements(s -> 'steps') LOOP
		steps := steps + 1;
		PERFORM yquota.set_clock('2026-03-02 10:00+00'::timestamptz + steps * interval '1 min');
		decisions := decisions + coalesce(jsonb_array_length(o -> 'decided'), 0);
		reserved := reserved + (SELECT count(*) FROM jsonb_object_keys(o -> 'reserved'));
		figures := figures + (SELECT count(*) FROM jsonb_object_keys(o -> 'figures'));
		state := coalesce(o ->> 'state', state);
		SELECT * INTO decided, difference FROM replay.step(o || jsonb_build_object('state', state));
		IF difference IS NOT NULL THEN
			reason := CASE WHEN replay.is_older_place(s, steps, decided) THEN 'older place'
				WHEN replay.is_older_limit(o || jsonb_build_object('state', state), steps, decided) THEN 'older limit' END;
			IF reason IS NULL THEN
				difference := format('%s, step %s: %s', s ->> 'name', steps, difference);
				RETURN;
			END IF;
			parting := format('%s: %s from step %s of %s', reason, s ->> 'name', steps, jsonb_array_length(s -> 'steps'));
			EXIT;
		END IF;
		PERFORM replay.note_am_limits(steps);
	END LOOP;
	SELECT string_agg(v::text, '; ') INTO difference FROM yquota.verify() AS v;
END $$;
