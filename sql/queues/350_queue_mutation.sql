--
-- Changes the configuration of a running YARN by the request that the resource manager takes at
-- /ws/v1/cluster/scheduler-conf.  The command "yarn schconf" sends the same request.  Checks come
-- in the order of Hadoop 3.4.1, and refuse the same requests (ConfigurationUpdateAssembler).
-- Hadoop's policy class decides which users may change the configuration
-- (ConfigurationMutationACLPolicy).
--
-- The request sets and removes properties.  The resulting properties make the rows of the
-- tables, as in an import (queues/250_hadoop_import.sql).
--

CREATE FUNCTION yquota_internal.administers(
	username text, groups text[], queue text, unset_is_everybody boolean)
	RETURNS boolean
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_administers';
COMMENT ON FUNCTION yquota_internal.administers(text, text[], text, boolean) IS
	'Tell whether a user may administer a queue, which need not exist yet.  For NULL in place of a queue, yarn.admin.acl decides whether the user may administer everything.  The lists count even if ACLs are off.  With unset_is_everybody, as in Hadoop, a list that is not set admits every user, otherwise no user';

--
-- Reading a request
--
CREATE FUNCTION yquota_internal.refuse_mutation(detail text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid change of the configuration'
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = refuse_mutation.detail,
			HINT = 'It should be an object like {"remove-queue": "root.a", "add-queue": {"queue-name": "root.b", "params": {"capacity": "10"}}, "update-queue": [...], "global-updates": {"name": "value"}}.';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_mutation(text) IS
	'Raise the error for a request that cannot be read';

CREATE FUNCTION yquota_internal.json_list(value jsonb) RETURNS SETOF jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	BEGIN ATOMIC
		SELECT e.element
		FROM jsonb_array_elements(CASE jsonb_typeof(value) WHEN 'array' THEN value WHEN 'null' THEN '[]' ELSE jsonb_build_array(value) END)
			WITH ORDINALITY AS e (element, number)
		WHERE value IS NOT NULL
		ORDER BY e.number;
	END;
COMMENT ON FUNCTION yquota_internal.json_list(jsonb) IS
	'Return the elements of an array, or a single value in place of one';

CREATE FUNCTION yquota_internal.mutation_parameters(parameters jsonb, place text) RETURNS jsonb
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	result jsonb := '{}';
	list jsonb := parameters;
	element jsonb;
	wrong text;
BEGIN
	FOR element IN SELECT yquota_internal.json_list(list) LOOP
		IF jsonb_typeof(element) <> 'object' THEN
			PERFORM yquota_internal.refuse_mutation(format('The parameters of %s are not an object.', place));
		ELSIF jsonb_typeof(element -> 'entry') IN ('object', 'array') THEN
			-- read a map that is written as a list of entries with key and value, as in Hadoop's XML
			IF EXISTS (SELECT FROM yquota_internal.json_list(element -> 'entry') AS e
					   WHERE jsonb_typeof(e) <> 'object' OR jsonb_typeof(e -> 'key') IS DISTINCT FROM 'string') THEN
				PERFORM yquota_internal.refuse_mutation(format('An entry of %s has no "key" and "value".', place));
			END IF;
			SELECT coalesce(jsonb_object_agg(e ->> 'key', e -> 'value' ORDER BY number), '{}') INTO element
			FROM yquota_internal.json_list(element -> 'entry') WITH ORDINALITY AS l (e, number);
		END IF;
		SELECT min(e.key) INTO wrong FROM jsonb_each(element) AS e WHERE jsonb_typeof(e.value) IN ('object', 'array') OR e.key = '';
		IF wrong IS NOT NULL THEN
			PERFORM yquota_internal.refuse_mutation(format('The value of "%s" of %s is not a text, number or boolean, or its name is empty.', wrong, place));
		END IF;
		-- an empty value removes the property
		SELECT result || coalesce(jsonb_object_agg(e.key, nullif(e.value, '')), '{}') INTO result FROM jsonb_each_text(element) AS e;
	END LOOP;
	RETURN result;
END
$$;
COMMENT ON FUNCTION yquota_internal.mutation_parameters(jsonb, text) IS
	'Return the names and values of a part of a request as one object; the value null removes a property. place names the part in errors';

CREATE FUNCTION yquota_internal.mutation_steps(changes jsonb)
	RETURNS TABLE (operation text, queue text, parameters jsonb)
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	request jsonb := coalesce(changes -> 'sched-conf', changes);
	element jsonb;
	wrong text;
BEGIN
	IF changes IS NULL THEN
		RAISE EXCEPTION 'change of the configuration must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF pg_column_size(changes) > 67108864 THEN
		RAISE EXCEPTION 'change of the configuration is too large'
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('It has %s bytes; at most 67108864 are read.', pg_column_size(changes));
	ELSIF jsonb_typeof(request) <> 'object' THEN
		PERFORM yquota_internal.refuse_mutation('The change is not an object.');
	END IF;
	SELECT min(k) INTO wrong FROM jsonb_object_keys(request) AS k
	WHERE k NOT IN ('remove-queue', 'add-queue', 'update-queue', 'global-updates');
	IF wrong IS NOT NULL THEN
		PERFORM yquota_internal.refuse_mutation(format('The change has an unknown field "%s".', wrong));
	END IF;
	FOREACH operation IN ARRAY '{remove-queue,add-queue,update-queue}'::text[] LOOP
		FOR element IN SELECT yquota_internal.json_list(request -> operation) LOOP
			queue := CASE WHEN jsonb_typeof(element) = 'string' AND operation = 'remove-queue' THEN element #>> '{}'
						  WHEN jsonb_typeof(element -> 'queue-name') = 'string' THEN element ->> 'queue-name' END;
			IF queue IS NULL THEN
				PERFORM yquota_internal.refuse_mutation(format('An element of "%s" names no queue.', operation));
			END IF;
			parameters := CASE WHEN operation <> 'remove-queue' THEN
				yquota_internal.mutation_parameters(element -> 'params', format('queue "%s"', queue)) END;
			RETURN NEXT;
		END LOOP;
	END LOOP;
	IF request ? 'global-updates' THEN
		operation := 'global-updates';
		queue := NULL;
		parameters := yquota_internal.mutation_parameters(request -> 'global-updates', 'global-updates');
		RETURN NEXT;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.mutation_steps(jsonb) IS
	'Return the steps of a request, in Hadoop''s order';

--
-- Access
--
CREATE FUNCTION yquota_internal.check_mutation(
	queues text[], has_global_updates boolean, username text, groups text[], unset_is_everybody boolean)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	by_queue boolean := coalesce((SELECT s.configuration_mutation_acl_policy_class ~ E'(^|\\.)QueueAdminConfigurationMutationACLPolicy$'
								  FROM yquota.scheduler_setting AS s), false);
	refused text;
BEGIN
	-- allow only administrators, because any other policy class is unknown here
	IF (NOT by_queue OR has_global_updates)
		AND NOT yquota_internal.administers(username, groups, NULL, unset_is_everybody)
	THEN
		refused := format('yarn.admin.acl lists neither user "%s" nor a group of the user.', username);
	ELSIF by_queue THEN
		SELECT format('acl_administer_queue of %s and of the queues above it lists neither user "%s" nor a group of the user.', min(q), username)
		INTO refused
		FROM unnest(queues) AS q
		WHERE NOT yquota_internal.administers(username, groups, q, unset_is_everybody)
		HAVING count(*) > 0;
	END IF;
	IF refused IS NOT NULL THEN
		RAISE EXCEPTION 'User % is not admin of all modified queues.', username
			USING ERRCODE = 'insufficient_privilege', DETAIL = refused,
				HINT = CASE WHEN by_queue THEN 'Changes of global settings need yarn.admin.acl, changes of a queue need the list of the queue or of a queue above it.'
					ELSE 'Administrators of queues may change them if yarn.scheduler.configuration.mutation.acl-policy.class is QueueAdminConfigurationMutationACLPolicy.' END;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_mutation(text[], boolean, text, text[], boolean) IS
	'Refuse users whom the policy of changes does not allow.  The policy allows users of yarn.admin.acl, or for a queue its administrators.  A queue that does not exist yet has the administrators of the nearest existing queue above it';

--
-- Computing the properties after the request
--
CREATE TYPE yquota_internal.hadoop_edit AS (
	removed text[],
	edits jsonb
);
COMMENT ON TYPE yquota_internal.hadoop_edit IS
	'Change of Hadoop''s properties. removed has prefixes of names to be removed. edits has names with values to be set, or null to remove the name; edits takes precedence over removed';

CREATE FUNCTION yquota_internal.edited_children(edit yquota_internal.hadoop_edit, parent text) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN yquota_internal.hadoop_list(CASE
		WHEN (edit).edits ? format('yarn.scheduler.capacity.%s.queues', parent) THEN
			coalesce((edit).edits ->> format('yarn.scheduler.capacity.%s.queues', parent), '')
		WHEN EXISTS (SELECT FROM unnest((edit).removed) AS r WHERE format('yarn.scheduler.capacity.%s.', parent) ^@ r) THEN ''
		ELSE coalesce((SELECT string_agg(q.name, ',' ORDER BY q.position, q.path::text) FROM yquota.queue AS q
					   WHERE q.parent = edited_children.parent AND NOT q.auto_created),
					  (SELECT k.value FROM yquota.unmapped_property AS k
					   WHERE k.property = format('yarn.scheduler.capacity.%s.queues', parent)), '') END);
COMMENT ON FUNCTION yquota_internal.edited_children(yquota_internal.hadoop_edit, text) IS
	'Return the names of the queues below a queue, with the changes made so far';

CREATE FUNCTION yquota_internal.edit_children(edit yquota_internal.hadoop_edit, parent text, children text[]) RETURNS jsonb
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN (edit).edits
		|| jsonb_build_object(format('yarn.scheduler.capacity.%s.queues', parent), nullif(array_to_string(children, ','), ''))
		-- remove ordering-policy when a leaf becomes a parent or a parent becomes a leaf, because its
		-- values differ for both
		|| CASE WHEN cardinality(children) = 0 OR cardinality(yquota_internal.edited_children(edit, parent)) = 0
			THEN jsonb_build_object(format('yarn.scheduler.capacity.%s.ordering-policy', parent), NULL) ELSE '{}' END;
COMMENT ON FUNCTION yquota_internal.edit_children(yquota_internal.hadoop_edit, text, text[]) IS
	'Return a change''s edits, extended by the edits that give a queue other children';

CREATE FUNCTION yquota_internal.assemble_mutation(changes jsonb) RETURNS yquota_internal.hadoop_edit
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	edit yquota_internal.hadoop_edit := ROW('{}'::text[], '{}'::jsonb);
	step record;
	parent text;
	name text;
	prefix text;
	children text[];
BEGIN
	FOR step IN SELECT s.* FROM yquota_internal.mutation_steps(changes) AS s LOOP
		IF step.operation = 'global-updates' THEN
			edit.edits := edit.edits || step.parameters;
			CONTINUE;
		END IF;
		prefix := format('yarn.scheduler.capacity.%s.', step.queue);
		parent := substring(step.queue FROM E'^(.*)\\.');
		name := substring(step.queue FROM E'[^.]*$');
		IF step.operation <> 'update-queue' AND (parent IS NULL OR name = '') OR step.queue !~ E'^root(\\.|$)' THEN
			RAISE EXCEPTION '%', CASE step.operation WHEN 'remove-queue' THEN format('Can''t remove queue %s', step.queue)
									 WHEN 'add-queue' THEN format('Can''t add invalid queue %s', step.queue)
									 ELSE format('Can''t update invalid queue %s', step.queue) END
				USING ERRCODE = 'invalid_parameter_value',
					HINT = 'Queues are named by their full path, which begins with root.';
		END IF;
		IF step.operation <> 'update-queue' THEN
			children := yquota_internal.edited_children(edit, parent);
		END IF;
		IF step.operation = 'remove-queue' THEN
			IF name <> ALL (children) THEN
				RAISE EXCEPTION 'Queue % not found', step.queue
					USING ERRCODE = 'undefined_object',
						DETAIL = CASE WHEN EXISTS (SELECT FROM yquota.queue AS q WHERE q.path = step.queue AND q.auto_created)
									 THEN 'The queue was created automatically and is in no configuration.'
									 ELSE format('Property yarn.scheduler.capacity.%s.queues does not list it.', parent) END;
			END IF;
			edit.edits := yquota_internal.edit_children(edit, parent, array_remove(children, name));
			edit.edits := (SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') FROM jsonb_each(edit.edits) AS e WHERE NOT e.key ^@ prefix);
			edit.removed := edit.removed || prefix;
		ELSIF step.operation = 'add-queue' THEN
			IF name = ANY (children) THEN
				RAISE EXCEPTION 'Can''t add existing queue %', step.queue
					USING ERRCODE = 'duplicate_object';
			END IF;
			edit.edits := yquota_internal.edit_children(edit, parent, children || name);
		END IF;
		IF step.operation <> 'remove-queue' AND step.parameters <> '{}' THEN
			edit.edits := edit.edits || (SELECT jsonb_object_agg(prefix || p.key, p.value) FROM jsonb_each(step.parameters) AS p);
		END IF;
	END LOOP;
	RETURN edit;
END
$$;
COMMENT ON FUNCTION yquota_internal.assemble_mutation(jsonb) IS
	'Return the change of properties that a request describes';

CREATE TYPE yquota_internal.hadoop_change AS (
	property text,
	value text,
	old text,
	resolution yquota_internal.hadoop_resolution
);
COMMENT ON TYPE yquota_internal.hadoop_change IS
	'Property that a change names or removes. value is the requested value and resolution its target, both NULL if the property is removed. old is the value before the change';

CREATE FUNCTION yquota_internal.describe_changes(changes yquota_internal.hadoop_change[])
	RETURNS TABLE (property text, old text, new text, outcome text, reason text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	BEGIN ATOMIC
		SELECT c.property, c.old, n.new,
			   CASE WHEN c.value IS NOT NULL AND n.new IS NULL THEN 'ignored'
					WHEN c.old IS NOT DISTINCT FROM n.new THEN 'unchanged'
					WHEN n.new IS NULL THEN 'removed'
					WHEN (c.resolution).table_name IS NULL THEN 'unknown'
					ELSE 'set' END,
			   CASE WHEN c.value IS NULL THEN NULL
					WHEN (c.resolution).table_name IS NULL THEN coalesce(e.reason, yquota_internal.reason_for_no_property(c.property))
					WHEN (c.resolution).typed IS NULL THEN 'it is neither true nor false, and counts as not set'
					WHEN n.new IS NULL THEN 'it is empty' END
		FROM unnest(changes) AS c
		CROSS JOIN LATERAL (SELECT CASE WHEN c.value IS NOT NULL THEN yquota_internal.hadoop_resolution_text(c.resolution) END AS new) AS n
		LEFT JOIN yquota_internal.explain_unmapped_properties(ARRAY(
			SELECT u.property FROM unnest(changes) AS u WHERE u.value IS NOT NULL AND (u.resolution).table_name IS NULL)) AS e ON e.property = c.property
		ORDER BY c.property COLLATE "C";
	END;
COMMENT ON FUNCTION yquota_internal.describe_changes(yquota_internal.hadoop_change[]) IS
	'Describe the outcome of each property of a change';

-- If queues are added or removed, all properties are read again.
CREATE FUNCTION yquota_internal.apply_to_tree(edit yquota_internal.hadoop_edit) RETURNS yquota_internal.hadoop_change[]
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	names text[];
	texts text[];
	other_names text[] := yquota_internal.other_hadoop_names(ARRAY(SELECT jsonb_object_keys(edit.edits)));
	are_touched boolean[];
	wanted text[];
	wanted_values text[];
	resolutions yquota_internal.hadoop_resolution[];
BEGIN
	SELECT array_agg(s.property), array_agg(s.value),
		   array_agg(edit.edits ? s.property OR s.property = ANY (other_names) OR EXISTS (SELECT FROM unnest(edit.removed) AS r WHERE s.property ^@ r))
	INTO names, texts, are_touched
	FROM yquota_internal.hadoop_setting AS s;
	SELECT array_agg(w.property), array_agg(w.value) INTO wanted, wanted_values
	FROM (SELECT u.property, u.value FROM unnest(names, texts, are_touched) AS u (property, value, is_touched) WHERE NOT u.is_touched
		  UNION ALL
		  SELECT e.key, e.value FROM jsonb_each_text(edit.edits) AS e WHERE e.value IS NOT NULL) AS w;
	SELECT array_agg(r) INTO resolutions
	FROM yquota_internal.resolve_hadoop_configuration(wanted, wanted_values,
		ARRAY(SELECT t.path FROM yquota_internal.hadoop_queue_tree(wanted, wanted_values) AS t)) AS r;
	PERFORM yquota_internal.apply_hadoop_configuration(coalesce(resolutions, '{}'));
	RETURN ARRAY(
		SELECT ROW(coalesce(e.key, t.property), e.value, t.value, r)::yquota_internal.hadoop_change
		FROM jsonb_each_text(edit.edits) AS e
		LEFT JOIN unnest(resolutions) AS r ON r.property = e.key
		FULL JOIN (SELECT u.property, u.value FROM unnest(names, texts, are_touched) AS u (property, value, is_touched) WHERE u.is_touched) AS t
			ON t.property = e.key);
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_to_tree(yquota_internal.hadoop_edit) IS
	'Make the tables hold the result of a change of properties that may add or remove queues';

-- The change neither adds nor removes a queue.  So the function reads and writes only the rows of the
-- changed properties, which saves time in a hierarchy of ten thousand queues.
CREATE FUNCTION yquota_internal.apply_to_rows(resolutions yquota_internal.hadoop_resolution[]) RETURNS yquota_internal.hadoop_change[]
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed record;
	found jsonb;
	wanted jsonb;
	changes yquota_internal.hadoop_change[] := '{}';
BEGIN
	FOR changed IN
		SELECT coalesce(r.table_name, 'unmapped_property') AS table_name, r.column_name IS NULL AS is_whole, array_agg(r) AS properties,
			   jsonb_agg(DISTINCT CASE
					WHEN r.table_name IS NULL THEN jsonb_build_object('property', r.property)
					WHEN r.column_name IS NOT NULL THEN
						yquota_internal.configuration_key(r.table_name, r.owner, CASE WHEN r.notation <> 'options' THEN r.name END)
					WHEN r.table_name = 'mapping_rule' THEN jsonb_build_object('kind',
						CASE r.notation WHEN 'mappings' THEN 'legacy' WHEN 'application mappings' THEN 'application' ELSE 'json' END)
					ELSE '{}' END) AS keys
		FROM unnest(resolutions) AS r
		GROUP BY 1, 2, CASE WHEN r.column_name IS NULL THEN r.notation END
	LOOP
		-- read all rows of a kind, in their order, if the property stands for whole rows
		EXECUTE format('SELECT jsonb_agg(coalesce(to_jsonb(t), ''{}'') || k.key%3$s) FROM jsonb_array_elements($1) AS k (key) %4$s JOIN yquota.%1$I AS t ON %2$s',
			changed.table_name,
			(SELECT coalesce(string_agg(format('t.%1$I::text = k.key ->> %1$L', key), ' AND '), 'true') FROM jsonb_object_keys(changed.keys -> 0) AS key),
			CASE WHEN changed.is_whole AND changed.table_name <> 'unmapped_property' THEN ' ORDER BY t.position' ELSE '' END,
			CASE WHEN changed.is_whole THEN '' ELSE 'LEFT' END)
		INTO found USING changed.keys;
		IF changed.table_name = 'unmapped_property' THEN
			SELECT jsonb_agg(jsonb_build_object('property', r.property, 'value', r.value)) INTO wanted
			FROM unnest(changed.properties) AS r (ordinal, property, value) WHERE r.value IS NOT NULL AND r.property LIKE 'yarn.scheduler.capacity.%';
		ELSIF changed.is_whole THEN
			wanted := changed.properties[1].typed;
		ELSE
			-- remove rows without any set property, except rows of queues
			SELECT jsonb_agg(w.made_row) INTO wanted
			FROM (SELECT f.found_row || c.cells
						 || CASE WHEN changed.table_name = 'scheduler_setting' THEN
							jsonb_build_object('former_names', yquota_internal.former_names(f.found_row -> 'former_names', changed.properties)) ELSE '{}' END AS made_row, k.key
				  FROM jsonb_array_elements(found) AS f (found_row)
				  JOIN jsonb_array_elements(changed.keys) AS k (key) ON f.found_row @> k.key
				  CROSS JOIN LATERAL (
					SELECT jsonb_object_agg(g.column_name, g.value) AS cells
					FROM (SELECT r.column_name,
								 CASE WHEN r.notation = 'options' THEN nullif(
									(coalesce(nullif(f.found_row -> r.column_name, 'null'), '{}') - array_agg(r.name))
									|| coalesce(jsonb_object_agg(r.name, r.typed) FILTER (WHERE r.notation = 'options' AND r.typed IS NOT NULL), '{}'), '{}')
								 ELSE (array_agg(r.typed) FILTER (WHERE r.typed IS NOT NULL))[1] END AS value
						  FROM unnest(changed.properties) AS r
						  WHERE f.found_row @> yquota_internal.configuration_key(r.table_name, r.owner, CASE WHEN r.notation <> 'options' THEN r.name END)
						  GROUP BY r.column_name, r.notation) AS g) AS c) AS w
			WHERE changed.table_name = 'queue'
			   OR EXISTS (SELECT FROM jsonb_each(w.made_row) AS e WHERE NOT w.key ? e.key AND e.value <> 'null');
		END IF;
		PERFORM yquota_internal.replace_configuration_rows(changed.table_name, coalesce(wanted, '[]'), coalesce(found, '[]'));
		changes := changes || ARRAY(
			SELECT ROW(r.property, r.value, CASE
				WHEN r.table_name IS NULL THEN (SELECT f ->> 'value' FROM jsonb_array_elements(found) AS f WHERE f ->> 'property' = r.property)
				WHEN r.column_name IS NULL THEN yquota_internal.hadoop_rows_text(r.notation, found)
				ELSE (SELECT CASE WHEN r.notation = 'options' THEN f -> r.column_name ->> r.name
							 ELSE yquota_internal.hadoop_text(r.notation, nullif(f -> r.column_name, 'null')) END
					  FROM jsonb_array_elements(found) AS f
					  WHERE f @> yquota_internal.configuration_key(r.table_name, r.owner, CASE WHEN r.notation <> 'options' THEN r.name END)) END,
				r)::yquota_internal.hadoop_change
			FROM unnest(changed.properties) AS r);
	END LOOP;
	RETURN changes;
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_to_rows(yquota_internal.hadoop_resolution[]) IS
	'Set and remove properties that do not add or remove queues';

CREATE FUNCTION yquota_internal.apply_edit(edit yquota_internal.hadoop_edit) RETURNS yquota_internal.hadoop_change[]
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	resolutions yquota_internal.hadoop_resolution[];
BEGIN
	IF cardinality(edit.removed) > 0 OR EXISTS (SELECT FROM jsonb_object_keys(edit.edits) AS k WHERE k LIKE '%.queues') THEN
		RETURN yquota_internal.apply_to_tree(edit);
	END IF;
	SELECT array_agg(r) INTO resolutions
	FROM (SELECT array_agg(e.key) AS names, array_agg(e.value) AS texts FROM jsonb_each_text(edit.edits) AS e) AS w
	CROSS JOIN LATERAL yquota_internal.resolve_hadoop_configuration(w.names, w.texts,
		ARRAY(SELECT q.path::text FROM yquota.queue AS q WHERE NOT q.auto_created)) AS r;
	-- remove unmapped properties that other tables hold now, because their queue exists
	DELETE FROM yquota.unmapped_property AS u USING unnest(resolutions) AS r WHERE r.table_name IS NOT NULL AND u.property = r.property;
	RETURN yquota_internal.apply_to_rows(resolutions);
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_edit(yquota_internal.hadoop_edit) IS
	'Make the tables hold the result of a change of properties';

CREATE FUNCTION yquota_internal.mutate_configuration_as_owner(changes jsonb, caller text, caller_groups text[])
	RETURNS TABLE (property text, old text, new text, outcome text, reason text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	is_administrator boolean := yquota_internal.acts_as('admin');
	is_on_behalf boolean := caller IS NOT NULL AND (is_administrator OR yquota_internal.acts_as('operator'));
	subject text := CASE WHEN is_on_behalf THEN caller WHEN NOT is_administrator THEN yquota_internal.acting_role()::text END;
	groups text[] := CASE WHEN is_on_behalf THEN caller_groups ELSE yquota_internal.acting_groups() END;
	last_audit_id bigint;
	nowhere text;
BEGIN
	IF NOT is_on_behalf AND (caller <> yquota_internal.acting_role() OR caller_groups IS NOT NULL) THEN
		RAISE EXCEPTION 'permission denied to change the configuration for another user'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Only operators and administrators may name the caller. Other roles act as the user of the same name, whose groups are the roles of which it is a member.';
	END IF;
	-- serialize changes of the configuration
	LOCK TABLE yquota.queue IN SHARE ROW EXCLUSIVE MODE;
	IF subject IS NOT NULL THEN
		PERFORM yquota_internal.check_mutation(array_agg(s.queue) FILTER (WHERE s.queue IS NOT NULL),
			coalesce(bool_or(s.operation = 'global-updates' AND s.parameters <> '{}'), false), subject, groups, is_on_behalf)
		FROM yquota_internal.mutation_steps(changes) AS s;
	END IF;
	SELECT max(a.audit_id) INTO last_audit_id FROM yquota.audit AS a;
	RETURN QUERY SELECT d.* FROM yquota_internal.describe_changes(yquota_internal.apply_edit(yquota_internal.assemble_mutation(changes))) AS d;
	UPDATE yquota.audit AS a SET caller = subject
	WHERE a.audit_id > coalesce(last_audit_id, 0) AND a.transaction_id = pg_current_xact_id() AND subject IS NOT NULL;
	FOR nowhere IN
		SELECT DISTINCT s.queue FROM yquota_internal.mutation_steps(changes) AS s
		WHERE s.operation IN ('add-queue', 'update-queue')
		  AND NOT EXISTS (SELECT FROM yquota.queue AS q WHERE q.path = s.queue) ORDER BY 1
	LOOP
		RAISE WARNING 'queue "%" does not exist', nowhere
			USING DETAIL = 'The settings of the queue are kept and take effect when the queue exists.';
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.mutate_configuration_as_owner(jsonb, text, text[]) IS
	'Run mutate_configuration() for a known calling role';

CREATE FUNCTION yquota.mutate_configuration(changes jsonb, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS TABLE (property text, old text, new text, outcome text, reason text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.mutate_configuration(jsonb, text, text[]) IS
	'Change the configuration by a request of YARN''s scheduler-conf: remove-queue, add-queue, update-queue and global-updates, in this order.  Null or an empty value removes a property.  caller is the user for whom an operator or administrator makes the change; scheduler_setting.configuration_mutation_acl_policy_class decides whether it is allowed.  NULL stands for the calling role itself, which needs no permission if it is an administrator.  Returns the outcome of each property';
