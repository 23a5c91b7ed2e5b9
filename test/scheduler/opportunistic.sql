-- Replay a record of opportunistic.jsonl through SQL, and find the first step at which yquota
-- decides otherwise than Hadoop did.

CREATE SCHEMA replay;
-- By default Hadoop knows only memory and cores
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');
SELECT yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "default", "yarn.scheduler.capacity.root.default.capacity": "100",
	"yarn.scheduler.capacity.maximum-am-resource-percent": "1", "yarn.scheduler.maximum-allocation-mb": "1000000", "yarn.scheduler.maximum-allocation-vcores": "1000"}');

CREATE FUNCTION replay.resource(v jsonb) RETURNS yquota.resource LANGUAGE sql
	RETURN format('[memory-mb=%s,vcores=%s]', v ->> 0, v ->> 1)::yquota.resource;
CREATE FUNCTION replay.amounts(r yquota.resource) RETURNS jsonb LANGUAGE sql
	RETURN jsonb_build_array(coalesce(yquota.amount(r, 'memory-mb'), 0), coalesce(yquota.amount(r, 'vcores'), 0));
CREATE FUNCTION replay.application(app text) RETURNS text LANGUAGE sql
	RETURN 'application_1000000000000_' || lpad(app, 4, '0');

-- Return the name under which a node has the same place in the order of names as in Hadoop's hash
-- tables.
CREATE FUNCTION replay.renamed(s jsonb, name text) RETURNS text LANGUAGE sql
	RETURN coalesce(s -> 'names' ->> name, name);
CREATE FUNCTION replay.recorded(s jsonb, name text) RETURNS text LANGUAGE sql
	RETURN coalesce((SELECT n.key FROM jsonb_each_text(s -> 'names') AS n WHERE n.value = name), name);

CREATE PROCEDURE replay.start(s jsonb) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.set_clock('2026-03-02 10:00+00');
	UPDATE yquota.scheduler_setting SET opportunistic_allocation_enabled = true, node_load_comparator = s ->> 'comparator',
		opportunistic_nodes_used = (s ->> 'nodes_used')::integer, opportunistic_max_per_heartbeat = (s ->> 'max_per_heartbeat')::integer,
		queue_limit_stdev = (s #>> '{limit,sigma}')::real,
		min_queue_length = (s #>> '{limit,min}')::integer, max_queue_length = (s #>> '{limit,max}')::integer,
		min_queue_wait_time = (s #>> '{limit,min}')::integer * interval '1 ms', max_queue_wait_time = (s #>> '{limit,max}')::integer * interval '1 ms',
		opportunistic_minimum_allocation_mb = (s #>> '{min,0}')::integer, opportunistic_minimum_allocation_vcores = (s #>> '{min,1}')::integer,
		opportunistic_maximum_allocation_mb = (s #>> '{max,0}')::integer, opportunistic_maximum_allocation_vcores = (s #>> '{max,1}')::integer,
		opportunistic_increment_allocation_mb = (s #>> '{increment,0}')::integer, opportunistic_increment_allocation_vcores = (s #>> '{increment,1}')::integer;
	SET CONSTRAINTS ALL IMMEDIATE;
	SET CONSTRAINTS ALL DEFERRED;
	-- the first list is empty, as Hadoop's list is before it sorts
	PERFORM yquota.report_nodes('{}');
END $$;

CREATE FUNCTION replay.update(s jsonb, step jsonb, number integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	host text := replay.renamed(s, step ->> 'host');
BEGIN
	-- Hadoop also accepts heartbeats of nodes that it does not know
	INSERT INTO yquota.node (name, total) VALUES (host, '[]') ON CONFLICT (name) DO NOTHING;
	UPDATE yquota.node SET total = replay.resource(step -> 'capability'), state = coalesce(step ->> 'state', 'RUNNING')::yquota.node_state
	WHERE name = host;
	PERFORM yquota.report_nodes(ARRAY[ROW(host, 0, 0, 0, (step ->> 'length')::integer,
		CASE WHEN step ->> 'wait' <> '-1' THEN (step ->> 'wait')::integer * interval '1 ms' END, (step ->> 'queue_capacity')::integer,
		timestamptz '2026-03-02 09:00+00' + number * interval '1 us', replay.resource(step -> 'allocated'), NULL)::yquota.node_report]);
	RETURN jsonb_build_object('known', EXISTS (SELECT FROM yquota_internal.reported_nodes() AS r WHERE r.node = host AND r.is_listed));
END $$;

CREATE FUNCTION replay.sort(s jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	list yquota_internal.load_list;
BEGIN
	PERFORM yquota.set_clock(yquota.clock() + interval '1 s');
	PERFORM yquota.report_nodes('{}');
	SELECT * INTO list FROM yquota_internal.load_list;
	RETURN jsonb_build_object('order', (SELECT coalesce(jsonb_agg(replay.recorded(s, o.node) ORDER BY o.place), '[]') FROM yquota.opportunistic_node AS o)) ||
		CASE WHEN s ? 'limit' THEN jsonb_build_object('max_queue_length', coalesce(list.max_queue_length, -1), 'max_wait_ms', coalesce(list.max_wait_ms, -1)) ELSE '{}' END;
END $$;

CREATE PROCEDURE replay.submit(app text) LANGUAGE plpgsql AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.application AS a WHERE a.application_id = app) THEN
		PERFORM yquota.submit_application(application_id => app, username => 'user', groups => '{}', queue => 'root.default', unmanaged => true, project => 'p');
		-- activate it even if the cluster has no resources
		UPDATE yquota.application SET state = 'ACTIVE' WHERE application_id = app;
		-- Hadoop's first number belongs to the application master
		INSERT INTO yquota_internal.application_attempt (application_id, attempt, next_container) VALUES (app, 1, 2)
		ON CONFLICT (application_id) DO UPDATE SET next_container = 2;
	END IF;
END $$;

CREATE FUNCTION replay.requests(s jsonb, asks jsonb) RETURNS yquota.container_request[] LANGUAGE sql
	RETURN coalesce((SELECT array_agg(ROW(replay.renamed(s, a.ask ->> 'where'), replay.resource(a.ask -> 'res'), (a.ask ->> 'n')::integer,
			(a.ask ->> 'priority')::integer, (a.ask ->> 'id')::bigint, true, a.ask ->> 'label', 'OPPORTUNISTIC', NULL)::yquota.container_request ORDER BY a.place)
		FROM jsonb_array_elements(asks) WITH ORDINALITY AS a (ask, place)), '{}');
CREATE FUNCTION replay.names(s jsonb, list jsonb) RETURNS text[] LANGUAGE sql
	RETURN coalesce((SELECT array_agg(replay.renamed(s, l.name)) FROM jsonb_array_elements_text(list) AS l (name)), '{}');

-- Select a single node by host or rack. Going on to any node is an error, because the record has no
-- random index for it.
CREATE FUNCTION replay.select_node(s jsonb, step jsonb, number integer) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	app text := replay.application(number::text);
	chosen text;
BEGIN
	CALL replay.submit(app);
	SELECT r.node INTO chosen
	FROM yquota_internal.allocate_opportunistic(app, replay.requests(s, jsonb_build_array(
		jsonb_build_object('where', step ->> 'where', 'res', step -> 'res', 'n', 1, 'priority', 1, 'id', 1))),
		replay.names(s, step -> 'blacklist'), '{}', NULL, NULL, '{}') AS r;
	RETURN jsonb_build_object('node', coalesce(replay.recorded(s, chosen), ''));
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN jsonb_build_object('node', '');
END $$;

CREATE FUNCTION replay.outstanding(s jsonb, app text) RETURNS jsonb LANGUAGE sql
	RETURN (
		SELECT coalesce(jsonb_object_agg(k.key, k.value), '{}')
		FROM (SELECT format('%s/%s/%s:%s', r.priority, r.allocation_request_id,
					 coalesce(yquota.amount(r.allocation, 'memory-mb'), 0), coalesce(yquota.amount(r.allocation, 'vcores'), 0)) AS key,
					 jsonb_strip_nulls(jsonb_build_object(
						'n', max(r.count) FILTER (WHERE r.resource_name = '*'),
						'locations', jsonb_object_agg(replay.recorded(s, r.resource_name), r.count) FILTER (WHERE r.resource_name <> '*'))) AS value
			  FROM yquota.resource_request AS r
			  WHERE r.application_id = app AND r.execution_type = 'OPPORTUNISTIC'
			  GROUP BY r.priority, r.allocation_request_id, r.allocation) AS k);

CREATE FUNCTION replay.allocate(s jsonb, step jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	app text := replay.application(step ->> 'app');
	containers jsonb;
	beliefs jsonb;
BEGIN
	CALL replay.submit(app);
	SELECT coalesce(jsonb_agg(jsonb_build_array(split_part(r.container_id, '_', 5)::integer, replay.recorded(s, r.node), r.priority, r.allocation_request_id,
		replay.amounts(r.allocation) -> 0, replay.amounts(r.allocation) -> 1) ORDER BY r.place), '[]') INTO containers
	FROM yquota_internal.allocate_opportunistic(app, replay.requests(s, step -> 'asks'), replay.names(s, step -> 'blacklist_add'),
		replay.names(s, step -> 'blacklist_del'), 1, NULL,
		coalesce((SELECT array_agg(d::integer) FROM jsonb_array_elements_text(step #> '{result,any_starts}') AS d), '{}'))
		WITH ORDINALITY AS r (decision, container_id, application_id, queue, node, allocation, locality, priority, allocation_request_id,
							  execution_type, stopped_by, stopped_at, place);
	SELECT coalesce(jsonb_object_agg(replay.recorded(s, r.node), jsonb_build_array(r.queue_length + r.slots) || replay.amounts(r.allocated)), '{}') INTO beliefs
	FROM yquota_internal.reported_nodes() AS r WHERE r.is_listed;
	RETURN jsonb_build_object('containers', containers, 'outstanding', replay.outstanding(s, app), 'nodes_after', beliefs);
END $$;

CREATE FUNCTION replay.step(s jsonb, step jsonb, number integer) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	CASE step ->> 'op'
		WHEN 'add' THEN
			INSERT INTO yquota.node (name, rack, total) VALUES (replay.renamed(s, step ->> 'host'), step ->> 'rack', '[]');
			RETURN '{}';
		WHEN 'remove' THEN
			DELETE FROM yquota.node WHERE name = replay.renamed(s, step ->> 'host');
			RETURN '{}';
		WHEN 'update' THEN RETURN replay.update(s, step, number);
		WHEN 'sort' THEN RETURN replay.sort(s);
		WHEN 'allocate' THEN
			RETURN CASE s ->> 'mode' WHEN 'distributed' THEN replay.allocate_distributed(s, step) ELSE replay.allocate(s, step) END;
		ELSE RETURN replay.select_node(s, step, 1000 + number);
	END CASE;
END $$;

-- Play a record. Return how many steps and containers were compared, and the first difference.
CREATE FUNCTION replay.play(s jsonb, OUT steps integer, OUT containers integer, OUT difference text) LANGUAGE plpgsql AS $$
DECLARE
	step jsonb;
	done jsonb;
BEGIN
	steps := 0;
	containers := 0;
	IF s ->> 'mode' <> 'distributed' THEN
		CALL replay.start(s);
	END IF;
	FOR step IN SELECT * FROM jsonb_array_elements(s -> 'steps')
	LOOP
		steps := steps + 1;
		done := replay.step(s, step, steps);
		IF done IS DISTINCT FROM (step -> 'result') - 'any_starts' THEN
			difference := format('%s, step %s: %s: expected %s, but got %s', s ->> 'id', steps, step - 'result', step -> 'result', done);
			RETURN;
		END IF;
		containers := containers + coalesce(jsonb_array_length(step #> '{result,containers}'), 0);
	END LOOP;
	SELECT format('%s: the books: %s', s ->> 'id', v) INTO difference FROM yquota.verify() AS v LIMIT 1;
END $$;

-- -- the distributed allocator ----------------------------------------------------

CREATE TABLE replay.context (
	app text PRIMARY KEY,
	nodes yquota.leased_node[] NOT NULL DEFAULT '{}',
	blacklist text[] NOT NULL DEFAULT '{}',
	outstanding yquota.container_request[] NOT NULL DEFAULT '{}',
	containers integer NOT NULL DEFAULT 1);

CREATE FUNCTION replay.nodes(s jsonb, list jsonb) RETURNS yquota.leased_node[] LANGUAGE sql
	RETURN coalesce((SELECT array_agg(ROW(replay.renamed(s, n.node ->> 'host'), n.node ->> 'rack', n.node ->> 'label')::yquota.leased_node ORDER BY n.place)
					 FROM jsonb_array_elements(list) WITH ORDINALITY AS n (node, place)), '{}');

CREATE FUNCTION replay.allocate_distributed(s jsonb, step jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	context replay.context;
	result jsonb;
BEGIN
	INSERT INTO replay.context (app) VALUES (step ->> 'app') ON CONFLICT DO NOTHING;
	UPDATE replay.context AS c
	SET nodes = CASE WHEN step ? 'node_list' THEN replay.nodes(s, step -> 'node_list') ELSE c.nodes END,
		blacklist = ARRAY(SELECT unnest(c.blacklist) EXCEPT SELECT unnest(replay.names(s, step -> 'blacklist_del'))) || replay.names(s, step -> 'blacklist_add')
	WHERE c.app = step ->> 'app' RETURNING * INTO context;
	CREATE TEMP TABLE done ON COMMIT DROP AS
	SELECT r.* FROM yquota.allocate_distributed(context.nodes, replay.requests(s, step -> 'asks'), context.outstanding, context.blacklist,
		(s ->> 'max_per_heartbeat')::integer, replay.resource(s -> 'min'), replay.resource(s -> 'max'), replay.resource(s -> 'increment'))
		WITH ORDINALITY AS r (outcome, node, locality, resource_name, allocation, count, priority, allocation_request_id, label, place);
	SELECT jsonb_build_object(
		'containers', coalesce((SELECT jsonb_agg(jsonb_build_array(context.containers + d.number, replay.recorded(s, d.node), d.priority, d.allocation_request_id,
				replay.amounts(d.allocation) -> 0, replay.amounts(d.allocation) -> 1) ORDER BY d.place)
			FROM (SELECT a.*, row_number() OVER (ORDER BY a.place) AS number FROM done AS a WHERE a.outcome = 'allocated') AS d), '[]'),
		'outstanding', coalesce((SELECT jsonb_object_agg(k.key, k.value)
			FROM (SELECT format('%s/%s/%s:%s', o.priority, o.allocation_request_id,
						 replay.amounts(o.allocation) -> 0, replay.amounts(o.allocation) -> 1) AS key,
						 jsonb_strip_nulls(jsonb_build_object('n', max(o.count) FILTER (WHERE o.resource_name = '*'),
							'locations', jsonb_object_agg(replay.recorded(s, o.resource_name), o.count) FILTER (WHERE o.resource_name <> '*'))) AS value
				  FROM done AS o WHERE o.outcome = 'outstanding' GROUP BY o.priority, o.allocation_request_id, o.allocation) AS k), '{}')) INTO result;
	UPDATE replay.context AS c
	SET outstanding = coalesce((SELECT array_agg(ROW(o.resource_name, o.allocation, o.count, o.priority, o.allocation_request_id, true, o.label,
													 'OPPORTUNISTIC', NULL)::yquota.container_request ORDER BY o.place)
								FROM done AS o WHERE o.outcome = 'outstanding'), '{}'),
		containers = c.containers + (SELECT count(*) FROM done AS d WHERE d.outcome = 'allocated')
	WHERE c.app = step ->> 'app';
	DROP TABLE done;
	RETURN result;
END $$;
