-- Replay an operation of a scenario in submissions.jsonl, and find where yquota decides otherwise
-- than Hadoop's scheduler did.
--
-- The results of both are facts, each a key and a value. Facts of an application are its state,
-- queue, priority, lifetime and master. Facts of a queue are its state and its number of
-- applications. Figures are facts that depend on the use of containers: the limits of queues and
-- users, and headroom.

CREATE SCHEMA replay;
-- By default Hadoop knows only memory and cores
DELETE FROM yquota.resource_type WHERE name NOT IN ('memory-mb', 'vcores');
INSERT INTO yquota.project (name) VALUES ('p');

CREATE TABLE replay.scenario (name text, properties jsonb, now timestamptz, decided_by text);
CREATE TABLE replay.expected (key text PRIMARY KEY, value text, is_figure boolean NOT NULL);
CREATE TABLE replay.difference (scenario text, step integer, operation jsonb, key text, hadoop text, yquota text);
CREATE TABLE replay.count (scenarios bigint, refused bigint, steps bigint, facts bigint);
INSERT INTO replay.count VALUES (0, 0, 0, 0);

CREATE FUNCTION replay.amounts(r yquota.resource) RETURNS text LANGUAGE sql
	RETURN coalesce(yquota.amount(r, 'memory-mb'), 0) || ',' || coalesce(yquota.amount(r, 'vcores'), 0);

CREATE FUNCTION replay.resource(o jsonb) RETURNS yquota.resource LANGUAGE sql
	RETURN format('[memory-mb=%s,vcores=%s]', o ->> 'memory', o ->> 'vcores')::yquota.resource;

CREATE FUNCTION replay.id(number text) RETURNS text LANGUAGE sql
	RETURN 'application_1000000000000_' || lpad(number, 4, '0');

CREATE FUNCTION replay.number(id text) RETURNS text LANGUAGE sql
	RETURN regexp_replace(id, '^.*_0*', '');

CREATE FUNCTION replay.groups(username text) RETURNS text[] LANGUAGE sql
	RETURN CASE username WHEN 'alice' THEN '{staff,dev}' WHEN 'bob' THEN '{staff,ops}' WHEN 'carol' THEN '{dev}'
		WHEN 'dave' THEN '{ops,staff}' WHEN 'erin' THEN '{research,dev,ops}' END::text[];

CREATE FUNCTION replay.now() RETURNS timestamptz LANGUAGE sql
	RETURN (SELECT now FROM replay.scenario);

CREATE FUNCTION replay.advance(by interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE replay.scenario SET now = now + by;
	PERFORM yquota.set_clock(replay.now());
END $$;

CREATE PROCEDURE replay.forget() LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at)
	SELECT 'CONTAINER_FINISH', container_id, replay.now() FROM yquota.container;
	DELETE FROM yquota.application;
	TRUNCATE yquota.queue, yquota.queue_label, yquota.queue_user, yquota.scheduler_setting, yquota.user_setting,
		yquota.mapping_rule, yquota.wildcard_template, yquota.unmapped_property, yquota.node, yquota.node_label;
	TRUNCATE replay.expected, replay.scenario;
END $$;

CREATE FUNCTION replay.add_node(n jsonb) RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.node (name, label, total) VALUES (n ->> 'name', coalesce(n ->> 'label', ''), replay.resource(n));
$$;

-- Apply the scheduler's actions on containers.
CREATE FUNCTION replay.tell(containers jsonb) RETURNS void LANGUAGE sql AS $$
	INSERT INTO yquota.container_event (event, container_id, occurred_at, project, application_id, username, queue, node, allocation)
	SELECT CASE WHEN c ? 'start' THEN 'CONTAINER_START' WHEN c ? 'change' THEN 'CONTAINER_UPDATE' ELSE 'CONTAINER_FINISH' END::yquota.container_event_type,
		   s.name || coalesce(c ->> 'start', c ->> 'change', c ->> 'end'), s.now, CASE WHEN c ? 'start' THEN 'p' END,
		   CASE WHEN c ? 'start' THEN replay.id(c ->> 'app') END, CASE WHEN c ? 'start' THEN c ->> 'user' END,
		   CASE WHEN NOT c ? 'end' THEN c ->> 'queue' END, CASE WHEN c ? 'start' THEN c ->> 'node' END,
		   CASE WHEN c ? 'start' THEN replay.resource(jsonb_build_object('memory', c #> '{amount,0}', 'vcores', c #> '{amount,1}')) END
	FROM jsonb_array_elements(containers) AS c, replay.scenario AS s;
$$;

CREATE FUNCTION replay.submit(o jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer record;
BEGIN
	SELECT * INTO answer FROM yquota.submit_application(application_id => replay.id(o ->> 'app'), username => o ->> 'user',
		groups => replay.groups(o ->> 'user'), queue => o ->> 'queue', application_name => 'app', am_resource => replay.resource(o -> 'am'),
		priority => (o ->> 'priority')::integer, lifetime => (o ->> 'lifetime')::bigint,
		tags => ARRAY(SELECT jsonb_array_elements_text(o -> 'tags')), label => o ->> 'label', unmanaged => o ? 'unmanaged');
	UPDATE replay.scenario SET decided_by = coalesce(answer.decided_by, '-');
	RETURN CASE WHEN answer.state = 'REJECTED' THEN answer.reason END;
END $$;

CREATE FUNCTION replay.refresh(changes jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	wanted jsonb := jsonb_strip_nulls((SELECT properties FROM replay.scenario) || changes);
BEGIN
	PERFORM yquota.import_hadoop_configuration(wanted);
	SET CONSTRAINTS ALL IMMEDIATE;
	UPDATE replay.scenario SET properties = wanted;
END $$;

-- Do what Hadoop does whenever the cluster has changed; held applications stay held.
CREATE FUNCTION replay.update() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM yquota.activate_applications(queue) FROM yquota.effective_queue WHERE kind = 'leaf' AND label = '';
END $$;

-- Perform an operation. Return NULL, or why it was refused.
CREATE FUNCTION replay.perform(o jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	id text := replay.id(o ->> 'app');
	who text := o ->> 'caller';
	refused text;
	detail text;
BEGIN
	CASE o ->> 'do'
	WHEN 'submit' THEN
		refused := replay.submit(o);
	WHEN 'finish' THEN
		PERFORM yquota.finish_application(id, 'KILLED', caller => who, caller_groups => replay.groups(who));
	WHEN 'move' THEN
		PERFORM yquota.move_application(id, o ->> 'queue', caller => who, caller_groups => replay.groups(who));
	WHEN 'priority' THEN
		PERFORM yquota.update_application_priority(id, (o ->> 'priority')::integer, caller => who, caller_groups => replay.groups(who));
	WHEN 'lifetime' THEN
		PERFORM yquota.update_application_lifetime(id, (o ->> 'lifetime')::bigint, caller => who, caller_groups => replay.groups(who));
	WHEN 'refresh' THEN
		PERFORM replay.refresh(o -> 'properties');
	WHEN 'node' THEN
		PERFORM replay.add_node(o);
		PERFORM replay.update();
	WHEN 'manage' THEN
		PERFORM yquota.manage_queues();
	WHEN 'expire' THEN
		PERFORM replay.advance((o ->> 'seconds')::integer * interval '1 s');
		PERFORM yquota.remove_unused_queues();
	WHEN 'update' THEN
		PERFORM replay.update();
	ELSE
		-- the containers have already changed with the scheduler's actions
	END CASE;
	SET CONSTRAINTS ALL IMMEDIATE;
	RETURN refused;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN concat(SQLERRM, ' ', detail);
END $$;

CREATE FUNCTION replay.seen(whole boolean) RETURNS TABLE (key text, value text) LANGUAGE sql AS $$
	WITH q AS MATERIALIZED (SELECT * FROM yquota.effective_queue),
	leaf AS (SELECT * FROM q WHERE kind = 'leaf')
	SELECT 'app ' || replay.number(application_id),
		   CASE WHEN state = 'REJECTED' THEN 'REJECTED'
				WHEN state IN ('FINISHED', 'FAILED', 'KILLED') THEN 'ENDED'
				ELSE concat_ws(' ', state, queue, priority, coalesce(floor(extract(epoch FROM expires_at - submitted_at))::text, '-'),
							   replay.amounts(am_resource), '<' || label || '>') END
	FROM yquota.application
	UNION ALL
	SELECT 'queue ' || queue, concat(state, CASE WHEN auto_created THEN ' dynamic' END, ' ', applications)
	FROM q WHERE label = ''
	UNION ALL
	SELECT 'leaf ' || queue, format('%s accepted %s active %s held', accepted_applications, active_applications, non_runnable_applications)
	FROM leaf WHERE label = ''
	UNION ALL
	SELECT format('am %s <%s>', queue, label), replay.amounts(am_used) FROM leaf
	UNION ALL
	SELECT format('figures %s <%s>', queue, label),
		   format('%s %s used %s', replay.amounts(effective_capacity), replay.amounts(effective_maximum_capacity), replay.amounts(used))
	FROM q WHERE whole
	UNION ALL
	SELECT format('am_limit %s <%s>', queue, label), replay.amounts(am_limit) FROM leaf WHERE whole
	UNION ALL
	SELECT 'limits ' || queue, concat(maximum_applications, ' ', maximum_applications_per_user) FROM leaf WHERE whole AND label = ''
	UNION ALL
	SELECT format('user %s %s <%s>', u.queue, u.username, leaf.label),
		   format('used %s limit %s all %s any %s', replay.amounts(l.used), replay.amounts(l.resource_limit), replay.amounts(l.all_users_limit),
				  replay.amounts(i.resource_limit))
	FROM (SELECT DISTINCT queue, username FROM yquota.application WHERE state IN ('ACCEPTED', 'ACTIVE') AND whole) AS u
	JOIN leaf USING (queue)
	CROSS JOIN LATERAL yquota.user_limit(u.queue, u.username, leaf.label) AS l
	CROSS JOIN LATERAL yquota.user_limit(u.queue, u.username, leaf.label, true) AS i;
$$;

CREATE FUNCTION replay.headroom(key text) RETURNS text LANGUAGE sql
	RETURN (SELECT replay.amounts(h.headroom) FROM regexp_match(key, '^headroom (.*) <(.*)>$') AS p
		JOIN yquota.application AS a ON a.application_id = replay.id(p[1]) AND a.finished_at IS NULL
		CROSS JOIN LATERAL yquota.headroom(a.application_id, p[2]) AS h);

CREATE FUNCTION replay.learn(facts jsonb, is_figure boolean) RETURNS void LANGUAGE sql AS $$
	DELETE FROM replay.expected WHERE key IN (SELECT jsonb_object_keys(facts));
	INSERT INTO replay.expected SELECT key, value, is_figure FROM jsonb_each_text(facts) WHERE value IS NOT NULL;
$$;

CREATE FUNCTION replay.find_differences(at integer, o jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	whole boolean := at = 0 OR o ->> 'do' = 'update';
BEGIN
	PERFORM replay.learn(o -> 'facts', false), replay.learn(o -> 'figures', true);
	INSERT INTO replay.difference
	SELECT s.name, at, o - '{facts,figures}'::text[], key, e.value, f.value
	FROM replay.scenario AS s, (SELECT * FROM replay.expected WHERE whole OR NOT is_figure) AS e
	FULL JOIN (SELECT * FROM replay.seen(whole)
		  UNION ALL SELECT key, replay.headroom(key) FROM replay.expected WHERE whole AND key LIKE 'headroom %'
		  UNION ALL SELECT format('headroom %s <>', replay.number(a.application_id)), 'of an active application' FROM yquota.application AS a
		  WHERE whole AND a.state = 'ACTIVE' AND NOT EXISTS (
			SELECT FROM replay.expected AS x WHERE starts_with(x.key, format('headroom %s <', replay.number(a.application_id))))) AS f USING (key)
	WHERE e.value IS DISTINCT FROM f.value;
	UPDATE replay.count SET steps = steps + 1, facts = facts + (SELECT count(*) FROM replay.expected WHERE whole OR NOT is_figure);
END $$;

-- Compare whether the operation was accepted as in Hadoop, and whether the reason to wait or to be
-- refused is the same.
CREATE FUNCTION replay.compare_outcome(at integer, o jsonb, refused text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO replay.difference
	SELECT s.name, at, o - '{facts,figures}'::text[], 'outcome', coalesce(o ->> 'error', 'accepted'), coalesce(refused, 'accepted')
	FROM replay.scenario AS s WHERE (o ? 'error') <> (refused IS NOT NULL)
	UNION ALL
	SELECT s.name, at, o - '{facts,figures}'::text[], 'decided_by', o ->> 'decided_by', s.decided_by
	FROM replay.scenario AS s WHERE o ? 'decided_by' AND o ->> 'decided_by' IS DISTINCT FROM s.decided_by;
	UPDATE replay.scenario SET decided_by = NULL;
END $$;

CREATE FUNCTION replay.configure(s jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	INSERT INTO yquota.node_label (name, exclusive) SELECT l ->> 'name', (l ->> 'exclusive')::boolean FROM jsonb_array_elements(s -> 'labels') AS l;
	PERFORM yquota.import_hadoop_configuration(s -> 'properties');
	SET CONSTRAINTS ALL IMMEDIATE;
	PERFORM replay.add_node(n) FROM jsonb_array_elements(s -> 'nodes') AS n;
	RETURN NULL;
EXCEPTION WHEN check_violation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN concat(SQLERRM, ' ', detail);
END $$;

CREATE PROCEDURE replay.start(s jsonb) LANGUAGE plpgsql AS $$
DECLARE
	refused text;
BEGIN
	CALL replay.forget();
	INSERT INTO replay.scenario (name, properties, now)
	SELECT s ->> 'name', s -> 'properties', coalesce(max(occurred_at), '2026-03-02 10:00+00') FROM yquota.container_event;
	PERFORM replay.advance('1 h');
	refused := replay.configure(s);
	COMMIT;
	UPDATE replay.count SET scenarios = scenarios + 1, refused = count.refused + (s ? 'refused')::integer;
	IF refused IS NOT NULL OR s ? 'refused' THEN
		PERFORM replay.compare_outcome(0, jsonb_strip_nulls(jsonb_build_object('do', 'start', 'error', s -> 'refused')), refused);
	ELSE
		PERFORM replay.find_differences(0, s);
	END IF;
	COMMIT;
END $$;

-- Play a scenario up to the first step with a difference.
CREATE PROCEDURE replay.play(s jsonb) LANGUAGE plpgsql AS $$
DECLARE
	o jsonb;
	i integer := 0;
	refused text;
BEGIN
	CALL replay.start(s);
	FOR o IN SELECT * FROM jsonb_array_elements(s -> 'steps') LOOP
		EXIT WHEN EXISTS (SELECT FROM replay.difference WHERE scenario = s ->> 'name');
		i := i + 1;
		PERFORM replay.advance('1 ms');
		COMMIT;
		refused := replay.perform(o);
		SET CONSTRAINTS ALL DEFERRED;
		COMMIT;
		PERFORM replay.tell(o -> 'containers');
		PERFORM yquota.set_outstanding_requests(replay.id(key), value::boolean) FROM jsonb_each_text(o -> 'outstanding');
		COMMIT;
		PERFORM replay.compare_outcome(i, o, refused);
		PERFORM replay.find_differences(i, o);
		COMMIT;
	END LOOP;
END $$;
