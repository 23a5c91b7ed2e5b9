-- Replays a scenario of decisions.jsonl, and finds the first step at which yquota
-- allocates or reserves otherwise than the scheduler of Hadoop did.

CREATE SCHEMA replay;
-- Hadoop knows memory and cores unless it is told of more
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');

CREATE FUNCTION replay.resource(o jsonb) RETURNS yquota.resource LANGUAGE sql
	RETURN format('[memory-mb=%s,vcores=%s]', o ->> 'memory', o ->> 'vcores')::yquota.resource;
CREATE FUNCTION replay.amounts(r yquota.resource) RETURNS text LANGUAGE sql
	RETURN coalesce(yquota.amount(r, 'memory-mb'), 0) || ' ' || coalesce(yquota.amount(r, 'vcores'), 0);
CREATE FUNCTION replay.id(app text) RETURNS text LANGUAGE sql
	RETURN 'application_1000000000000_' || lpad(app, 4, '0');

CREATE PROCEDURE replay.start(s jsonb) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO yquota.node_label (name, exclusive) SELECT l ->> 'name', (l ->> 'exclusive')::boolean FROM jsonb_array_elements(s -> 'labels') AS l;
	PERFORM yquota.import_hadoop_configuration(CASE WHEN s -> 'labels' <> '[]' THEN '{"yarn.node-labels.enabled": "true"}'::jsonb ELSE '{}' END || (s -> 'properties'));
	INSERT INTO yquota.node (name, rack, label, total)
	SELECT n ->> 'name', '/rack' || substr(n ->> 'name', 2)::integer % 3, coalesce(n ->> 'label', ''), replay.resource(n)
	FROM jsonb_array_elements(s -> 'nodes') AS n;
END $$;

CREATE PROCEDURE replay.submit(o jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.submit_application(application_id => replay.id(o ->> 'app'), username => o ->> 'user', groups => '{}', queue => o ->> 'queue',
		am_resource => '[memory-mb=1024,vcores=1]', priority => (o ->> 'priority')::integer, unmanaged => (o ->> 'unmanaged')::boolean, project => 'p');
END $$;

-- Hadoop's scheduler was asked for those that wait for room for their masters as well.
CREATE PROCEDURE replay.request(o jsonb) LANGUAGE plpgsql AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.application AS a WHERE a.application_id = replay.id(o ->> 'app') AND a.state = 'ACTIVE') THEN
		RETURN;
	END IF;
	PERFORM yquota.request_containers(replay.id(o ->> 'app'), ARRAY(
		SELECT ROW(a ->> 'name', replay.resource(a), (a ->> 'count')::integer, (a ->> 'priority')::integer, (a ->> 'id')::bigint,
			coalesce((a ->> 'relax')::boolean, true), CASE a ->> 'name' WHEN '*' THEN a ->> 'label' END, 'GUARANTEED')::yquota.container_request
		FROM jsonb_array_elements(o -> 'asks') AS a));
END $$;

-- What the operation allocates: id, node and amounts of containers.
CREATE FUNCTION replay.perform(o jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	allocated text;
BEGIN
	CASE o ->> 'do'
	WHEN 'submit' THEN CALL replay.submit(o);
	WHEN 'asks' THEN CALL replay.request(o);
	WHEN 'finish' THEN PERFORM yquota.finish_application(replay.id(o ->> 'app'), 'KILLED');
	WHEN 'release' THEN NULL;
	WHEN 'heartbeat' THEN
		SELECT string_agg(concat_ws(' ', d.container_id, d.node, replay.amounts(d.allocation)), '; ' ORDER BY d.container_id COLLATE "C") INTO allocated
		FROM yquota.node_heartbeat(ARRAY[o ->> 'node']) AS d WHERE d.decision IN ('allocated', 'swapped');
	END CASE;
	PERFORM yquota.release_containers(ARRAY(SELECT jsonb_array_elements_text(o -> 'ended')));
	RETURN concat(allocated, ' reserved: ', (
		SELECT string_agg(concat_ws(' ', r.node, right(r.application_id, 4)::integer, replay.amounts(r.allocation)), '; ' ORDER BY r.node COLLATE "C")
		FROM yquota.reservation AS r));
END $$;

CREATE FUNCTION replay.expected(o jsonb) RETURNS text LANGUAGE sql
	RETURN concat(
		(SELECT string_agg(concat_ws(' ', c ->> 0, c ->> 1, c ->> 2, c ->> 3), '; ' ORDER BY (c ->> 0) COLLATE "C") FROM jsonb_array_elements(o -> 'started') AS c),
		' reserved: ',
		(SELECT string_agg(concat_ws(' ', key, value), '; ' ORDER BY key COLLATE "C") FROM jsonb_each_text(o -> 'reserved')));

-- Steps, containers and nodes that were reserved after each step; a difference ends
-- it.  What it did is to be rolled back.
CREATE FUNCTION replay.play(s jsonb, OUT steps integer, OUT containers integer, OUT reserved integer, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	o jsonb;
	allocated text;
BEGIN
	steps := 0;
	containers := 0;
	reserved := 0;
	PERFORM yquota.set_clock('2026-03-02 10:00+00');
	CALL replay.start(s);
	FOR o IN SELECT * FROM jsonb_array_elements(s -> 'steps') LOOP
		steps := steps + 1;
		PERFORM yquota.set_clock('2026-03-02 10:00+00'::timestamptz + steps * interval '1 s');
		allocated := replay.perform(o);
		containers := containers + coalesce(jsonb_array_length(o -> 'started'), 0);
		reserved := reserved + (SELECT count(*) FROM yquota.reservation);
		IF allocated <> replay.expected(o) THEN
			difference := format('%s, step %s, %s: yquota %s, Hadoop %s', s ->> 'name', steps, o, allocated, replay.expected(o));
			RETURN;
		END IF;
	END LOOP;
	SELECT string_agg(v::text, '; ') INTO difference FROM yquota.verify() AS v;
END $$;
