--
-- Reading Hadoop's configuration files into the tables.
--
-- An import first merges the files with the present configuration into one set of properties.
-- Depending on the mode, the set contains the whole present configuration or only what the files do
-- not replace. The import then makes rows from the set, and writes only rows that differ. Unchanged
-- rows therefore leave no trace in the audit. A comparison makes the same first step, so it reads a
-- file as an import does.
--

CREATE FUNCTION yquota_internal.hadoop_xml_properties(
	document text, OUT ordinal integer, OUT property text, OUT value text, OUT final boolean)
	RETURNS SETOF record
	LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 10000
	AS 'MODULE_PATHNAME', 'yq_sql_hadoop_xml_properties';
COMMENT ON FUNCTION yquota_internal.hadoop_xml_properties(text) IS
	'Return the properties of a configuration file of Hadoop.  An include is not followed, and has a row with the name NULL. A property without a value has the value NULL';

CREATE FUNCTION yquota_internal.hadoop_json_properties(
	document jsonb, OUT ordinal bigint, OUT property text, OUT value text, OUT final boolean)
	RETURNS SETOF record
	LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	list jsonb := coalesce(CASE WHEN jsonb_typeof(document -> 'properties') = 'array' THEN document -> 'properties' END,
						   CASE WHEN jsonb_typeof(document -> 'property') = 'array' THEN document -> 'property' END, document);
BEGIN
	IF jsonb_typeof(list) = 'object' THEN
		RETURN QUERY
		SELECT row_number() OVER (), yquota_internal.java_trim(e.key), nullif(e.value #>> '{}', ''), false
		FROM jsonb_each(list) AS e
		WHERE jsonb_typeof(e.value) NOT IN ('object', 'array');
		IF (SELECT bool_or(jsonb_typeof(e.value) IN ('object', 'array')) FROM jsonb_each(list) AS e) THEN
			RAISE EXCEPTION 'invalid configuration of Hadoop'
				USING ERRCODE = 'invalid_parameter_value',
					DETAIL = format('The value of "%s" is not a text, number or boolean.', (SELECT e.key FROM jsonb_each(list) AS e
									WHERE jsonb_typeof(e.value) IN ('object', 'array') LIMIT 1)),
					HINT = 'It should be an object of names and values, or an array of objects with "name" (or "key") and "value".';
		END IF;
	ELSIF jsonb_typeof(list) = 'array'
		AND NOT EXISTS (SELECT FROM jsonb_array_elements(list) AS e
						WHERE jsonb_typeof(coalesce(e -> 'name', e -> 'key')) IS DISTINCT FROM 'string'
						   OR jsonb_typeof(coalesce(e -> 'value', 'null')) IN ('object', 'array'))
	THEN
		RETURN QUERY
		SELECT e.number, yquota_internal.java_trim(coalesce(e.value ->> 'name', e.value ->> 'key')), nullif(e.value ->> 'value', ''),
			   coalesce(e.value ->> 'final', e.value ->> 'isFinal', '') = 'true'
		FROM jsonb_array_elements(list) WITH ORDINALITY AS e (value, number);
	ELSE
		RAISE EXCEPTION 'invalid configuration of Hadoop'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'An element of the array is not an object with "name" and "value", or the document is neither an array nor an object.',
				HINT = 'It should be an object of names and values, or an array of objects with "name" (or "key") and "value".';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.hadoop_json_properties(jsonb) IS
	'Return the properties of a configuration in JSON.  The JSON is an object of names and values, or a list of objects like the resource manager''s /conf and /ws/v1/cluster/scheduler-conf';

CREATE FUNCTION yquota_internal.hadoop_document_properties(
	document text, OUT ordinal bigint, OUT property text, OUT value text, OUT final boolean)
	RETURNS SETOF record
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF document IS NULL THEN
		RAISE EXCEPTION 'configuration of Hadoop must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF octet_length(document) > 67108864 THEN
		RAISE EXCEPTION 'configuration of Hadoop is too large'
			USING ERRCODE = 'program_limit_exceeded',
				DETAIL = format('It has %s bytes; at most 67108864 are read.', octet_length(document));
	ELSIF document ~ E'^[\\s\\uFEFF]*<' THEN
		RETURN QUERY SELECT p.ordinal::bigint, p.property, p.value, p.final FROM yquota_internal.hadoop_xml_properties(document) AS p;
	ELSIF document ~ E'^\\s*[{[]' THEN
		RETURN QUERY SELECT p.ordinal, p.property, p.value, p.final FROM yquota_internal.hadoop_json_properties(document::jsonb) AS p;
	ELSE
		RAISE EXCEPTION 'configuration of Hadoop is neither XML nor JSON'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It begins with "%s".', left(document, 20)),
				HINT = 'Pass the content of the file, not its name.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.hadoop_document_properties(text) IS
	'Return the properties of a document in XML or JSON';

CREATE FUNCTION yquota_internal.substitute_hadoop_variables(value text, properties jsonb) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	result text := value;
	variable text;
	replacement text;
BEGIN
	FOR i IN 1..20 LOOP
		-- expand the first variable that contains no other variable
		variable := substring(result FROM E'\\$\\{([^${} ]+)\\}');
		replacement := properties ->> variable;
		IF replacement IS NULL THEN
			RETURN result;
		ELSIF strpos(replacement, '${' || variable || '}') > 0 THEN
			RETURN value;
		END IF;
		result := overlay(result PLACING replacement FROM strpos(result, '${' || variable || '}') FOR length(variable) + 3);
		IF length(result) > 67108864 THEN
			EXIT;
		END IF;
	END LOOP;
	RAISE EXCEPTION 'variables are substituted too deep in "%"', left(value, 200)
		USING ERRCODE = 'program_limit_exceeded',
			DETAIL = 'At most 20 variables are replaced in a value.';
END
$$;
COMMENT ON FUNCTION yquota_internal.substitute_hadoop_variables(text, jsonb) IS
	'Return a value with ${name} replaced by the value of property name, as Hadoop does.  Names of unknown properties, and of properties that contain themselves, are not replaced';

-- If a statement in PL/pgSQL fails, the error's context quotes the statement. If a function in SQL
-- fails, the context only names the function. Long queries that may fail are therefore functions in
-- SQL.
CREATE FUNCTION yquota_internal.judged_hadoop_properties(documents text[])
	RETURNS TABLE (ordinal bigint, document bigint, property text, value text, reason text)
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
		WITH raw AS MATERIALIZED (
			SELECT row_number() OVER (ORDER BY d.number, p.ordinal) AS ordinal, d.number AS document, p.property, p.value, p.final
			FROM unnest(judged_hadoop_properties.documents) WITH ORDINALITY AS d (document, number)
			CROSS JOIN LATERAL yquota_internal.hadoop_document_properties(d.document) AS p
		), repeated AS (
			SELECT r.property, min(r.ordinal) FILTER (WHERE r.final) AS final_ordinal, max(r.ordinal) AS last_ordinal
			FROM raw AS r WHERE r.value IS NOT NULL
			GROUP BY r.property HAVING count(*) > 1
		)
		SELECT r.ordinal, r.document, r.property, r.value,
			   CASE WHEN r.property IS NULL THEN 'includes are not followed'
					WHEN r.property = '' THEN 'it has no name'
					WHEN r.value IS NULL THEN 'it has no value'
					WHEN r.ordinal > p.final_ordinal THEN 'it is final above'
					WHEN r.ordinal < coalesce(p.final_ordinal, p.last_ordinal) THEN 'it is set again below' END AS reason
		FROM raw AS r LEFT JOIN repeated AS p ON p.property = r.property
		ORDER BY r.ordinal;
	END;
COMMENT ON FUNCTION yquota_internal.judged_hadoop_properties(text[]) IS
	'Return the properties of documents, with the reason if a property is ignored';

CREATE FUNCTION yquota_internal.hadoop_documents(
	documents text[], OUT ordinal bigint, OUT document bigint, OUT property text, OUT value text, OUT reason text)
	RETURNS SETOF record
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	variables jsonb;
	ordinals bigint[];
	from_documents bigint[];
	names text[];
	found_values text[];
	reasons text[];
BEGIN
	SELECT array_agg(j.ordinal), array_agg(j.document), array_agg(j.property), array_agg(j.value), array_agg(j.reason)
	INTO ordinals, from_documents, names, found_values, reasons
	FROM yquota_internal.judged_hadoop_properties(documents) AS j;
	IF array_to_string(found_values, '') LIKE '%${%' THEN
		SELECT jsonb_object_agg(u.name, u.value) INTO variables
		FROM unnest(names, found_values, reasons) AS u (name, value, reason) WHERE u.reason IS NULL;
	END IF;
	RETURN QUERY
	SELECT u.ordinal, u.document, u.name,
		   CASE WHEN u.reason IS NULL AND u.value LIKE '%${%' THEN yquota_internal.substitute_hadoop_variables(u.value, variables) ELSE u.value END,
		   u.reason
	FROM unnest(ordinals, from_documents, names, found_values, reasons) AS u (ordinal, document, name, value, reason);
END
$$;
COMMENT ON FUNCTION yquota_internal.hadoop_documents(text[]) IS
	'Return the properties of several documents, read in their order.  As in Hadoop, the last value of a property wins, unless an earlier value is final.  For ignored values there is a reason';

--
-- Properties whose value makes whole rows
--
CREATE FUNCTION yquota_internal.refuse_hadoop_value(property text, value text, notation text, detail text DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid value "%" of property "%"', left(value, 200) || CASE WHEN length(value) > 200 THEN '...' ELSE '' END, property
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = coalesce(detail, format('It should be %s.', yquota_internal.hadoop_expectation(notation)));
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_hadoop_value(text, text, text, text) IS
	'Raise the error for a value that cannot be read';

CREATE FUNCTION yquota_internal.parse_hadoop_list(property text, value text, notation text) RETURNS jsonb
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	bad text;
	result jsonb;
BEGIN
	WITH part AS (
		SELECT row_number() OVER (ORDER BY min(l.number)) AS number, l.element,
			   array_remove(regexp_split_to_array(l.element, E'\\s*:\\s*'), '') AS fields
		FROM unnest(yquota_internal.hadoop_list(value)) WITH ORDINALITY AS l (element, number)
		GROUP BY l.element
	), row_of AS (
		SELECT p.number, p.element, CASE notation
			WHEN 'mappings' THEN CASE WHEN cardinality(p.fields) = 3 AND p.fields[1] IN ('u', 'g') THEN
				jsonb_build_object('kind', 'legacy', 'position', p.number, 'type', CASE p.fields[1] WHEN 'u' THEN 'user' ELSE 'group' END,
								   'matches', p.fields[2], 'queue', p.fields[3]) END
			WHEN 'application mappings' THEN CASE WHEN cardinality(p.fields) = 2 THEN
				jsonb_build_object('kind', 'application', 'position', p.number, 'type', 'application',
								   'matches', p.fields[1], 'queue', p.fields[2]) END
			ELSE CASE WHEN cardinality(p.fields) = 3 AND p.fields[3] ~ '^[+-]?[0-9]{1,10}$' THEN
				CASE WHEN p.fields[3]::bigint BETWEEN -2147483648 AND 2147483647 THEN
					jsonb_build_object('position', p.number, 'workflow_id', p.fields[1], 'queue', p.fields[2], 'priority', p.fields[3]::bigint) END END
			END AS fields
		FROM part AS p
	)
	SELECT jsonb_agg(r.fields ORDER BY r.number), min(r.element) FILTER (WHERE r.fields IS NULL) INTO result, bad FROM row_of AS r;
	IF bad IS NOT NULL THEN
		PERFORM yquota_internal.refuse_hadoop_value(property, value, notation,
			format('Illegal element "%s": it should be %s.', left(bad, 200), regexp_replace(yquota_internal.hadoop_expectation(notation), '^a list of ', '')));
	END IF;
	RETURN coalesce(result, '[]');
END
$$;
COMMENT ON FUNCTION yquota_internal.parse_hadoop_list(text, text, text) IS
	'Return the rows for a list such as queue-mappings; a repeated element counts once, as in Hadoop';

CREATE FUNCTION yquota_internal.parse_hadoop_json_rules(property text, value text) RETURNS jsonb
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	rules jsonb;
	rule jsonb;
	number bigint;
	wrong text;
	result jsonb[] := '{}';
BEGIN
	BEGIN
		rules := value::jsonb -> 'rules';
	EXCEPTION WHEN invalid_text_representation OR untranslatable_character THEN
		PERFORM yquota_internal.refuse_hadoop_value(property, value, 'json rules', 'The value is not JSON: ' || SQLERRM || '.');
	END;
	IF jsonb_typeof(rules) IS DISTINCT FROM 'array' THEN
		PERFORM yquota_internal.refuse_hadoop_value(property, value, 'json rules');
	END IF;
	FOR rule, number IN SELECT r.value, r.number FROM jsonb_array_elements(rules) WITH ORDINALITY AS r (value, number) LOOP
		wrong := CASE
			WHEN jsonb_typeof(rule) <> 'object' THEN 'it is not an object'
			WHEN coalesce(rule ->> 'type', '') NOT IN ('user', 'group', 'application') THEN 'its "type" is not user, group or application'
			WHEN coalesce(jsonb_typeof(rule -> 'matches'), '') <> 'string' OR rule ->> 'matches' = '' THEN 'it has no "matches"'
			WHEN rule ->> 'type' = 'group' AND rule ->> 'matches' = '*' THEN 'a group cannot match *'
			WHEN coalesce(rule ->> 'policy', '') NOT IN ('specified', 'reject', 'defaultQueue', 'user', 'primaryGroup', 'secondaryGroup',
				'primaryGroupUser', 'secondaryGroupUser', 'applicationName', 'custom', 'setDefaultQueue') THEN 'its "policy" is unknown to Hadoop'
			WHEN rule ->> 'policy' = 'custom' AND rule ->> 'customPlacement' IS NULL THEN 'policy custom needs "customPlacement"'
			WHEN rule ->> 'policy' = 'setDefaultQueue' AND rule ->> 'value' IS NULL THEN 'policy setDefaultQueue needs "value"'
			WHEN coalesce(jsonb_typeof(rule -> 'create'), 'null') NOT IN ('boolean', 'null') THEN 'its "create" is not true or false'
			WHEN rule ->> 'fallbackResult' NOT IN ('skip', 'placeDefault', 'reject') THEN 'its "fallbackResult" is not skip, placeDefault or reject'
			WHEN EXISTS (SELECT FROM unnest('{parentQueue,customPlacement,value}'::text[]) AS k WHERE jsonb_typeof(rule -> k) NOT IN ('string', 'null'))
				THEN 'one of "parentQueue", "customPlacement" and "value" is not a text'
			ELSE (SELECT format('it has an unknown field "%s"', k) FROM jsonb_object_keys(rule) AS k
				  WHERE k NOT IN ('type', 'matches', 'policy', 'parentQueue', 'customPlacement', 'value', 'create', 'fallbackResult') LIMIT 1)
			END;
		IF wrong IS NOT NULL THEN
			PERFORM yquota_internal.refuse_hadoop_value(property, value, 'json rules', format('Rule %s: %s.', number, wrong));
		END IF;
		result := result || jsonb_strip_nulls(jsonb_build_object('kind', 'json', 'position', number, 'type', rule -> 'type', 'matches', rule -> 'matches',
			'policy', rule -> 'policy', 'parent_queue', rule -> 'parentQueue', 'custom_placement', rule -> 'customPlacement',
			'value', rule -> 'value', 'create_queue', rule -> 'create', 'fallback_result', rule -> 'fallbackResult'));
	END LOOP;
	RETURN to_jsonb(result);
END
$$;
COMMENT ON FUNCTION yquota_internal.parse_hadoop_json_rules(text, text) IS
	'Return the rows for mapping-rule-json';

--
-- Finding the row and column of a property
--
CREATE FUNCTION yquota_internal.hadoop_queue_tree(
	properties text[], property_values text[], OUT path text, OUT "position" bigint)
	RETURNS SETOF record
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	paths text[];
	positions bigint[];
	times bigint[];
	wrong record;
BEGIN
	WITH RECURSIVE child AS MATERIALIZED (
		SELECT left(substr(g.property, 25), -7) AS parent, yquota_internal.java_trim(c.name) AS name,
			   min(c.position) AS position, CASE WHEN yquota_internal.java_trim(c.name) LIKE '%.%' THEN 0 ELSE count(*) END AS times
		FROM unnest(properties, property_values) AS g (property, value)
		CROSS JOIN LATERAL string_to_table(g.value, ',') WITH ORDINALITY AS c (name, position)
		WHERE g.property LIKE 'yarn.scheduler.capacity.root%.queues' AND c.name <> ''
		GROUP BY 1, 2
	), tree AS (
		SELECT 'root' AS path, NULL::bigint AS position, 1::bigint AS times
		UNION ALL
		SELECT t.path || '.' || c.name, c.position, c.times FROM tree AS t JOIN child AS c ON c.parent = t.path
	)
	SELECT array_agg(t.path), array_agg(t.position), array_agg(t.times) INTO paths, positions, times FROM tree AS t;

	SELECT p.path, regexp_replace(p.path, E'\\.[^.]*$', '') AS parent,
		   CASE WHEN p.times > 1 THEN 'The queue is listed twice.'
				WHEN octet_length(p.path) > 2000 THEN 'The path of the queue has more than 2000 bytes.'
				ELSE 'A name is not empty, has no dots, and has blanks only between words.' END AS detail
	INTO wrong
	FROM unnest(paths, times) AS p (path, times)
	WHERE p.times <> 1 OR octet_length(p.path) > 2000 OR p.path !~ E'^root(\\.[^.,\\s]+( +[^.,\\s]+)*)*$'
	ORDER BY p.path LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'invalid queue "%"', left(wrong.path, 200)
			USING ERRCODE = 'invalid_parameter_value', DETAIL = wrong.detail,
				HINT = format('Look at property yarn.scheduler.capacity.%s.queues.', left(wrong.parent, 200));
	END IF;
	RETURN QUERY SELECT u.path, u.position FROM unnest(paths, positions) AS u (path, position);
END
$$;
COMMENT ON FUNCTION yquota_internal.hadoop_queue_tree(text[], text[]) IS
	'Return the paths of the queues that the properties named queues list, from root down, with their positions among siblings';

CREATE TYPE yquota_internal.hadoop_resolution AS (
	ordinal bigint,
	property text,
	value text,
	table_name text,
	column_name text,
	notation text,
	owner text,
	name text,
	typed jsonb
);
COMMENT ON TYPE yquota_internal.hadoop_resolution IS
	'Target of a property: table, column (NULL for whole rows), path of the queue, another key or the option, and value for the column';

CREATE FUNCTION yquota_internal.match_hadoop_properties(
	properties text[], paths text[], heads text[], middles text[], tails text[], bits integer[],
	OUT ordinal bigint, OUT pattern integer, OUT owner text, OUT name text)
	RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 10000
	AS 'MODULE_PATHNAME', 'yq_sql_match_hadoop_properties';
COMMENT ON FUNCTION yquota_internal.match_hadoop_properties(text[], text[], text[], text[], text[], integer[]) IS
	'Match names of properties with patterns, given the paths of queues.  Bits of a pattern: 1 queue, 2 name, 4 wildcard, 8 name without dots, 16 option';

CREATE FUNCTION yquota_internal.resolve_hadoop_properties(properties text[], property_values text[], paths text[])
	RETURNS SETOF yquota_internal.hadoop_resolution
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	BEGIN ATOMIC
		WITH pattern AS MATERIALIZED (
			SELECT p.*, row_number() OVER (ORDER BY p.property)::integer AS number,
				   CASE WHEN p.has_queue THEN 1 ELSE 0 END + CASE WHEN p.has_name THEN 2 ELSE 0 END + CASE WHEN p.is_wildcard THEN 4 ELSE 0 END
				   + CASE WHEN p.is_plain_name THEN 8 ELSE 0 END + CASE WHEN p.is_option THEN 16 ELSE 0 END AS bits
			FROM yquota_internal.hadoop_pattern AS p
		), matched AS (
			SELECT m.* FROM (SELECT array_agg(p.head ORDER BY p.number) AS heads, array_agg(p.middle ORDER BY p.number) AS middles,
									array_agg(p.tail ORDER BY p.number) AS tails, array_agg(p.bits ORDER BY p.number) AS bits FROM pattern AS p) AS a
			CROSS JOIN LATERAL yquota_internal.match_hadoop_properties(properties, paths, a.heads, a.middles, a.tails, a.bits) AS m
		), found AS (
			SELECT m.ordinal, p.table_name, p.column_name, p.notation, m.owner, m.name
			FROM matched AS m JOIN pattern AS p ON p.number = m.pattern
			WHERE NOT p.is_wildcard OR octet_length(m.owner) <= 2000 AND m.owner ~ E'^root(\\.[^.,\\s]+( +[^.,\\s]+)*)*\\.\\*$'
		)
		SELECT g.ordinal, g.property, g.value, f.table_name, f.column_name, f.notation, f.owner, f.name,
			   CASE WHEN f.notation IS NULL OR g.value IS NULL THEN NULL
					WHEN f.column_name IS NOT NULL THEN yquota_internal.hadoop_value(f.notation, g.value)
					WHEN f.notation = 'json rules' THEN yquota_internal.parse_hadoop_json_rules(g.property, g.value)
					ELSE yquota_internal.parse_hadoop_list(g.property, g.value, f.notation) END
		FROM unnest(properties, property_values) WITH ORDINALITY AS g (property, value, ordinal)
		LEFT JOIN found AS f ON f.ordinal = g.ordinal;
	END;
COMMENT ON FUNCTION yquota_internal.resolve_hadoop_properties(text[], text[], text[]) IS
	'Return the targets of properties, given the paths of the existing queues.  The table is NULL for a property that neither a column nor rows represent';

CREATE FUNCTION yquota_internal.resolve_hadoop_configuration(wanted text[], wanted_values text[], paths text[])
	RETURNS SETOF yquota_internal.hadoop_resolution
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	resolutions yquota_internal.hadoop_resolution[];
	wrong yquota_internal.hadoop_resolution;
	overridden text[];
BEGIN
	SELECT array_agg(f.property) INTO overridden
	FROM unnest(wanted, wanted_values) AS w (property, value)
	JOIN yquota_internal.hadoop_former_name AS f ON f.present_name = w.property
	WHERE w.value <> '';
	SELECT array_agg(CASE WHEN r.property = ANY (overridden)
						  THEN ROW(r.ordinal, r.property, r.value, NULL, NULL, NULL, NULL, NULL, NULL)::yquota_internal.hadoop_resolution
						  ELSE r END) INTO resolutions
	FROM yquota_internal.resolve_hadoop_properties(wanted, wanted_values, paths) AS r;
	SELECT r.* INTO wrong FROM unnest(resolutions) AS r
	WHERE r.table_name IS NOT NULL AND r.typed IS NULL AND r.value IS NOT NULL AND r.notation <> 'boolean' OR octet_length(r.property) > 2500 AND r.property LIKE 'yarn.scheduler.capacity.%'
	ORDER BY r.ordinal LIMIT 1;
	IF wrong.property IS NOT NULL THEN
		PERFORM yquota_internal.refuse_hadoop_value(left(wrong.property, 200), wrong.value, wrong.notation,
			CASE WHEN octet_length(wrong.property) > 2500 THEN 'The name of the property has more than 2500 bytes.' END);
	END IF;
	RETURN QUERY SELECT r.* FROM unnest(resolutions) AS r;
END
$$;
COMMENT ON FUNCTION yquota_internal.resolve_hadoop_configuration(text[], text[], text[]) IS
	'Run resolve_hadoop_properties(), but refuse unreadable properties.  A former name has no target if the present name is set, too';

CREATE FUNCTION yquota_internal.hadoop_resolution_text(resolution yquota_internal.hadoop_resolution) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE WHEN (resolution).table_name IS NULL THEN CASE WHEN (resolution).property LIKE 'yarn.scheduler.capacity.%' THEN (resolution).value END
				WHEN (resolution).column_name IS NULL THEN yquota_internal.hadoop_rows_text((resolution).notation, (resolution).typed)
				WHEN (resolution).notation = 'children' THEN nullif(array_to_string(ARRAY(SELECT yquota_internal.java_trim(c) FROM string_to_table((resolution).value, ',') AS c WHERE c <> ''), ','), '')
				ELSE yquota_internal.hadoop_text((resolution).notation, (resolution).typed) END;
COMMENT ON FUNCTION yquota_internal.hadoop_resolution_text(yquota_internal.hadoop_resolution) IS
	'Return the value that a property will have when it is exported; NULL if the property is not kept';

CREATE FUNCTION yquota_internal.reason_for_no_property(property text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN coalesce((SELECT format('it is the former name of %s, which is set, too', f.present_name)
					 FROM yquota_internal.hadoop_former_name AS f WHERE f.property = reason_for_no_property.property),
					'it is no property of the scheduler');
COMMENT ON FUNCTION yquota_internal.reason_for_no_property(text) IS
	'Return the reason why a property has no target and is not kept';

CREATE FUNCTION yquota_internal.other_hadoop_names(properties text[]) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN ARRAY(SELECT f.present_name FROM unnest(properties) AS p (property)
				 JOIN yquota_internal.hadoop_former_name AS f ON f.property = p.property
				 UNION ALL
				 SELECT f.property FROM unnest(properties) AS p (property)
				 JOIN yquota_internal.hadoop_former_name AS f ON f.present_name = p.property);
COMMENT ON FUNCTION yquota_internal.other_hadoop_names(text[]) IS
	'Return the other names of these properties: the former name of a present one, and the reverse';

CREATE FUNCTION yquota_internal.former_names(names jsonb, resolutions yquota_internal.hadoop_resolution[]) RETURNS jsonb
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN (SELECT nullif((coalesce(nullif(names, 'null'), '{}') - coalesce(array_agg(r.column_name), '{}'))
						  || coalesce(jsonb_object_agg(r.column_name, f.property) FILTER (WHERE f.property IS NOT NULL AND r.typed IS NOT NULL), '{}'), '{}')
			FROM unnest(resolutions) AS r
			LEFT JOIN yquota_internal.hadoop_former_name AS f ON f.property = r.property
			WHERE r.table_name = 'scheduler_setting');
COMMENT ON FUNCTION yquota_internal.former_names(jsonb, yquota_internal.hadoop_resolution[]) IS
	'Return scheduler_setting.former_names after these properties are set or removed';

--
-- Computing the configuration after an import
--
CREATE TYPE yquota_internal.hadoop_plan AS (
	ordinal bigint,
	property text,
	value text,
	old text,
	new text,
	reason text,
	resolution yquota_internal.hadoop_resolution
);
COMMENT ON TYPE yquota_internal.hadoop_plan IS
	'Property before and after an import. ordinal is its place in the documents, NULL if no document contains it. reason tells why it is ignored. resolution is its target after the import, NULL if it will not be set';

CREATE FUNCTION yquota_internal.read_hadoop_import(documents text[], mode text)
	RETURNS TABLE (ordinals bigint[], names text[], texts text[], reasons text[], replaced text[])
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
		WITH read AS MATERIALIZED (
			SELECT d.* FROM yquota_internal.hadoop_documents(read_hadoop_import.documents) AS d
		), document AS (
			SELECT r.document, bool_or(r.property = 'yarn.scheduler.capacity.root.queues') AS is_scheduler,
				   bool_or(r.property LIKE 'yarn.scheduler.capacity.%') AS has_scheduler,
				   array_agg(DISTINCT f.file) FILTER (WHERE f.file <> 'capacity-scheduler.xml') AS sites
			FROM read AS r LEFT JOIN yquota_internal.hadoop_property AS f ON f.property = r.property
			WHERE r.reason IS NULL
			GROUP BY r.document
		)
		SELECT array_agg(r.ordinal), array_agg(r.property), array_agg(r.value), array_agg(r.reason),
			   CASE WHEN read_hadoop_import.mode = 'merge' THEN '{}'
					WHEN (SELECT bool_or(d.has_scheduler) AND NOT bool_or(d.is_scheduler) FROM document AS d) THEN NULL
					ELSE ARRAY(SELECT 'capacity-scheduler.xml' FROM document AS d WHERE d.is_scheduler
							   UNION SELECT unnest(d.sites) FROM document AS d WHERE NOT d.is_scheduler) END
		FROM read AS r;
	END;
COMMENT ON FUNCTION yquota_internal.read_hadoop_import(text[], text) IS
	'Return the properties of documents, and the files that they replace.  In mode merge they replace no file.  The files are NULL if the documents do not list the queues below root';

CREATE FUNCTION yquota_internal.plan_hadoop_import(documents text[], mode text)
	RETURNS SETOF yquota_internal.hadoop_plan
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	ordinals bigint[];
	names text[];
	texts text[];
	reasons text[];
	replaced text[];
	old_names text[];
	old_texts text[];
	old_files text[];
	other_names text[];
	wanted text[];
	wanted_values text[];
	resolutions yquota_internal.hadoop_resolution[];
BEGIN
	IF mode IS NULL OR mode NOT IN ('replace', 'merge') THEN
		RAISE EXCEPTION 'invalid mode %', coalesce(quote_literal(mode), 'NULL')
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Modes are replace and merge.';
	ELSIF coalesce(cardinality(documents), 0) = 0 THEN
		RAISE EXCEPTION 'configuration of Hadoop must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;

	SELECT r.* INTO ordinals, names, texts, reasons, replaced
	FROM yquota_internal.read_hadoop_import(documents, mode) AS r;
	IF replaced IS NULL THEN
		RAISE EXCEPTION 'configuration of Hadoop does not list the queues below root'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Replacing the configuration by this document would delete all queues.',
				HINT = 'Property yarn.scheduler.capacity.root.queues is missing.  Import part of a configuration with mode merge.';
	END IF;

	SELECT array_agg(s.property), array_agg(s.value), array_agg(s.file) INTO old_names, old_texts, old_files
	FROM yquota_internal.hadoop_setting AS s;
	other_names := yquota_internal.other_hadoop_names(
		ARRAY(SELECT u.property FROM unnest(names, reasons) AS u (property, reason) WHERE u.reason IS NULL));
	SELECT array_agg(w.property), array_agg(w.value) INTO wanted, wanted_values
	FROM (SELECT u.property, u.value FROM unnest(names, texts, reasons) AS u (property, value, reason) WHERE u.reason IS NULL
		  UNION ALL
		  SELECT s.property, s.value FROM unnest(old_names, old_texts, old_files) AS s (property, value, file)
		  WHERE s.file <> ALL (replaced) AND s.property <> ALL (other_names)
			AND NOT EXISTS (SELECT FROM unnest(names, reasons) AS u (property, reason) WHERE u.reason IS NULL AND u.property = s.property)) AS w;

	SELECT array_agg(r) INTO resolutions
	FROM yquota_internal.resolve_hadoop_configuration(wanted, wanted_values,
		ARRAY(SELECT t.path FROM yquota_internal.hadoop_queue_tree(wanted, wanted_values) AS t)) AS r;

	RETURN QUERY
	WITH document AS (
		SELECT u.ordinal, u.property, u.value, u.reason FROM unnest(ordinals, names, texts, reasons) AS u (ordinal, property, value, reason)
	), after_import AS (
		SELECT r.property, r AS resolution, yquota_internal.hadoop_resolution_text(r) AS new
		FROM unnest(resolutions) AS r
	)
	SELECT d.ordinal, d.property, d.value, NULL::text, NULL::text, d.reason, NULL::yquota_internal.hadoop_resolution
	FROM document AS d WHERE d.reason IS NOT NULL
	UNION ALL
	SELECT d.ordinal, coalesce(a.property, s.property), d.value, s.value, a.new, NULL, a.resolution
	FROM after_import AS a
	LEFT JOIN document AS d ON d.property = a.property AND d.reason IS NULL
	FULL JOIN unnest(old_names, old_texts) AS s (property, value) ON s.property = a.property;
END
$$;
COMMENT ON FUNCTION yquota_internal.plan_hadoop_import(text[], text) IS
	'Return the configuration as an import would leave it; refuse unreadable properties';

--
-- Applying an import
--
CREATE FUNCTION yquota_internal.replace_configuration_rows(table_name text, wanted jsonb, scope jsonb DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	relation regclass := format('yquota.%I', table_name)::regclass;
	columns text;
	old_columns text;
	new_columns text;
	key text;
	keep text := CASE table_name
		WHEN 'queue' THEN ' AND NOT t.auto_created'
		WHEN 'queue_label' THEN ' AND NOT EXISTS (SELECT FROM yquota.queue AS q WHERE q.path = t.queue AND q.auto_created)'
		WHEN 'queue_user' THEN ' AND NOT EXISTS (SELECT FROM yquota.queue AS q WHERE q.path = t.queue AND q.auto_created)'
		ELSE '' END;
BEGIN
	SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = ''),
		   string_agg('t.' || quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = ''),
		   string_agg('w.' || quote_ident(a.attname), ', ' ORDER BY a.attnum) FILTER (WHERE a.attgenerated = ''),
		   string_agg(format('w.%1$I = t.%1$I', a.attname), ' AND ' ORDER BY a.attnum)
			   FILTER (WHERE a.attnum = ANY ((SELECT i.indkey FROM pg_index AS i WHERE i.indrelid = relation AND i.indisprimary)::smallint[]))
	INTO columns, old_columns, new_columns, key
	FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped;
	EXECUTE format('DELETE FROM %1$s AS t WHERE NOT EXISTS (SELECT FROM jsonb_populate_recordset(NULL::%1$s, $1) AS w WHERE %2$s)%3$s%4$s',
				   relation, key, keep, CASE WHEN scope IS NOT NULL THEN
					format(' AND EXISTS (SELECT FROM jsonb_populate_recordset(NULL::%s, $2) AS w WHERE %s)', relation, key) ELSE '' END)
	USING wanted, scope;
	EXECUTE format('UPDATE %1$s AS t SET (%2$s) = ROW(%3$s) FROM jsonb_populate_recordset(NULL::%1$s, $1) AS w
					WHERE %4$s AND record_image_ne(ROW(%5$s), ROW(%3$s))', relation, columns, new_columns, key, old_columns) USING wanted;
	EXECUTE format('INSERT INTO %1$s (%2$s) SELECT %3$s FROM jsonb_populate_recordset(NULL::%1$s, $1) AS w
					WHERE NOT EXISTS (SELECT FROM %1$s AS t WHERE %4$s)', relation, columns, new_columns, key) USING wanted;
END
$$;
COMMENT ON FUNCTION yquota_internal.replace_configuration_rows(text, jsonb, jsonb) IS
	'Make a table hold the wanted rows: delete, change and insert rows that differ.  Dynamic queues and their settings stay.  If scope is given, rows whose keys are not in scope stay, too';

CREATE FUNCTION yquota_internal.configuration_key(table_name text, owner text, name text) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE table_name
		WHEN 'queue' THEN jsonb_build_object('path', owner)
		WHEN 'queue_label' THEN jsonb_build_object('queue', owner, 'label', name)
		WHEN 'queue_user' THEN jsonb_build_object('queue', owner, 'username', name)
		WHEN 'wildcard_template' THEN jsonb_build_object('path', owner)
		WHEN 'user_setting' THEN jsonb_build_object('username', name)
		WHEN 'multi_node_sorting_policy' THEN jsonb_build_object('name', name)
		ELSE '{"only_row": true}' END;
COMMENT ON FUNCTION yquota_internal.configuration_key(text, text, text) IS
	'Return the key of the row that holds a property, from the path of its queue and the other name in the property';

--
-- An import leaves these settings unchanged, because Hadoop has no properties for them.
--
CREATE FUNCTION yquota_internal.own_scheduler_settings() RETURNS jsonb
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT jsonb_object_agg(c.key, c.value)
		FROM yquota.scheduler_setting AS s, jsonb_each(jsonb_strip_nulls(to_jsonb(s))) AS c
		WHERE c.key NOT IN ('only_row', 'former_names')
		  AND NOT EXISTS (SELECT FROM yquota_internal.hadoop_property AS f
						  WHERE f.table_name = 'scheduler_setting' AND f.column_name = c.key);
$$;
COMMENT ON FUNCTION yquota_internal.own_scheduler_settings() IS
	'Return the columns of scheduler_setting that are set but do not stand for properties of Hadoop; NULL: none';

CREATE FUNCTION yquota_internal.hadoop_rows(resolutions yquota_internal.hadoop_resolution[])
	RETURNS TABLE (table_name text, wanted jsonb)
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	properties text[];
	property_values text[];
BEGIN
	SELECT array_agg(r.property), array_agg(r.value) INTO properties, property_values
	FROM unnest(resolutions) AS r WHERE r.notation = 'children';
	RETURN QUERY
	WITH resolution AS MATERIALIZED (
		SELECT r.* FROM unnest(resolutions) AS r WHERE r.typed IS NOT NULL AND r.notation <> 'children' AND r.column_name IS NOT NULL
	), cell AS (
		SELECT r.table_name, r.owner, r.name, r.column_name, r.typed FROM resolution AS r WHERE r.notation <> 'options'
		UNION ALL
		SELECT r.table_name, r.owner, NULL, r.column_name, jsonb_object_agg(r.name, r.typed) FROM resolution AS r WHERE r.notation = 'options' GROUP BY r.table_name, r.owner, r.column_name
	), found AS (
		SELECT c.table_name, c.owner, c.name, jsonb_object_agg(c.column_name, c.typed) AS cells
		FROM cell AS c GROUP BY c.table_name, c.owner, c.name
	), made AS (
		SELECT 'queue' AS table_name,
			   jsonb_build_object('path', t.path, 'position', t.position, 'auto_created', false) || coalesce(f.cells, '{}')
			   || yquota_internal.own_queue_settings(q) AS made_row
		FROM yquota_internal.hadoop_queue_tree(properties, property_values) AS t
		LEFT JOIN yquota.queue AS q ON q.path = t.path
		LEFT JOIN found AS f ON f.table_name = 'queue' AND f.owner = t.path
		UNION ALL
		SELECT f.table_name, f.cells || yquota_internal.configuration_key(f.table_name, f.owner, f.name)
		FROM found AS f WHERE f.table_name NOT IN ('queue', 'scheduler_setting')
		UNION ALL
		SELECT 'scheduler_setting', s.cells || yquota_internal.configuration_key('scheduler_setting', NULL, NULL)
		FROM (SELECT CASE WHEN num_nonnulls(f.cells, o.own) > 0 THEN
				coalesce(f.cells, '{}') || coalesce(o.own, '{}')
				|| jsonb_strip_nulls(jsonb_build_object('former_names', yquota_internal.former_names(NULL, resolutions))) END AS cells
			  FROM (SELECT yquota_internal.own_scheduler_settings() AS own) AS o
			  LEFT JOIN found AS f ON f.table_name = 'scheduler_setting') AS s
		WHERE s.cells IS NOT NULL
		UNION ALL
		SELECT r.table_name, e.made_row FROM unnest(resolutions) AS r
		CROSS JOIN LATERAL jsonb_array_elements(r.typed) AS e (made_row)
		WHERE r.table_name IS NOT NULL AND r.column_name IS NULL
		UNION ALL
		SELECT 'unmapped_property', jsonb_build_object('property', r.property, 'value', r.value)
		FROM unnest(resolutions) AS r WHERE r.table_name IS NULL AND r.property LIKE 'yarn.scheduler.capacity.%'
	)
	SELECT k.table_name, coalesce(jsonb_agg(m.made_row) FILTER (WHERE m.made_row IS NOT NULL), '[]')
	FROM (SELECT DISTINCT f.table_name FROM yquota_internal.hadoop_property AS f UNION SELECT 'unmapped_property') AS k
	LEFT JOIN made AS m ON m.table_name = k.table_name
	GROUP BY k.table_name;
END
$$;
COMMENT ON FUNCTION yquota_internal.hadoop_rows(yquota_internal.hadoop_resolution[]) IS
	'Return the rows that the tables of the configuration must hold for these properties';

CREATE FUNCTION yquota_internal.apply_hadoop_configuration(resolutions yquota_internal.hadoop_resolution[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	rows record;
BEGIN
	FOR rows IN
		SELECT r.* FROM yquota_internal.hadoop_rows(resolutions) AS r
		ORDER BY r.table_name = 'queue' DESC, r.table_name
	LOOP
		PERFORM yquota_internal.replace_configuration_rows(rows.table_name, rows.wanted);
	END LOOP;
	-- remove created queues whose parent was removed, level by level
	LOOP
		DELETE FROM yquota.queue AS q
		WHERE q.auto_created AND NOT EXISTS (SELECT FROM yquota.queue AS p WHERE p.path = q.parent);
		EXIT WHEN NOT FOUND;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_hadoop_configuration(yquota_internal.hadoop_resolution[]) IS
	'Make the tables hold exactly these properties';

CREATE FUNCTION yquota.import_hadoop_configuration(documents text[], mode text DEFAULT 'replace', even_if_mutable boolean DEFAULT false)
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	plan yquota_internal.hadoop_plan[];
	store_class text := (SELECT s.configuration_store_class FROM yquota.scheduler_setting AS s);
	with_own_settings yquota.queue[];
BEGIN
	-- serialize imports and changes of queues
	LOCK TABLE yquota.queue IN SHARE ROW EXCLUSIVE MODE;
	with_own_settings := ARRAY(SELECT q FROM yquota_internal.queues_with_own_settings() AS q);
	SELECT array_agg(p) INTO plan FROM yquota_internal.plan_hadoop_import(documents, mode) AS p;
	-- refuse as Hadoop refuses refreshQueues, except for the first import, because a new store starts
	-- from the file
	IF even_if_mutable IS NOT TRUE AND store_class <> 'file' AND EXISTS (SELECT FROM yquota.queue)
		AND EXISTS (SELECT FROM unnest(plan) AS p WHERE p.ordinal IS NOT NULL AND p.property LIKE 'yarn.scheduler.capacity.%')
	THEN
		RAISE EXCEPTION 'scheduler configuration is mutable'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('Property yarn.scheduler.configuration.store.class is "%s": the configuration in force is in the store, not in capacity-scheduler.xml.', store_class),
				HINT = 'Change the configuration with mutate_configuration(), or import the file nevertheless with even_if_mutable => true.';
	END IF;
	PERFORM yquota_internal.apply_hadoop_configuration(ARRAY(SELECT p.resolution FROM unnest(plan) AS p WHERE (p.resolution).property IS NOT NULL));
	PERFORM yquota_internal.notice_own_settings('import leaves settings of queues unchanged', ARRAY(
		SELECT q FROM unnest(with_own_settings) AS q WHERE EXISTS (SELECT FROM yquota.queue AS k WHERE k.path = q.path)));
	PERFORM yquota_internal.notice_own_settings('import removes settings along with their queues', ARRAY(
		SELECT q FROM unnest(with_own_settings) AS q WHERE NOT EXISTS (SELECT FROM yquota.queue AS k WHERE k.path = q.path)));
	RETURN QUERY
	SELECT p.property, coalesce(p.value, p.old),
		   CASE WHEN p.reason IS NOT NULL THEN 'ignored'
				WHEN p.ordinal IS NULL THEN 'removed'
				WHEN (p.resolution).table_name IS NULL THEN CASE WHEN p.new IS NULL THEN 'ignored' ELSE 'unknown' END
				WHEN (p.resolution).typed IS NULL OR p.new IS NULL THEN 'ignored'
				WHEN p.old = p.new THEN 'unchanged'
				ELSE 'set' END,
		   CASE WHEN p.reason IS NOT NULL THEN p.reason
				WHEN p.ordinal IS NULL THEN NULL
				WHEN (p.resolution).table_name IS NULL THEN coalesce(e.reason, yquota_internal.reason_for_no_property(p.property))
				WHEN (p.resolution).typed IS NULL THEN 'it is neither true nor false, and counts as not set'
				WHEN p.new IS NULL THEN 'it is empty'
				WHEN p.value LIKE '%${%' THEN 'it has a variable that was not replaced' END,
		   CASE WHEN (p.resolution).table_name IS NOT NULL THEN (p.resolution).table_name WHEN p.new IS NOT NULL THEN 'unmapped_property' END,
		   (p.resolution).column_name
	FROM unnest(plan) AS p
	LEFT JOIN yquota_internal.explain_unmapped_properties(ARRAY(
		SELECT u.property FROM unnest(plan) AS u
		WHERE u.ordinal IS NOT NULL AND u.new IS NOT NULL AND (u.resolution).table_name IS NULL)) AS e ON e.property = p.property
	WHERE p.ordinal IS NOT NULL OR (p.resolution).property IS NULL
	ORDER BY p.ordinal NULLS LAST, p.property COLLATE "C";
END
$$;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(text[], text, boolean) IS
	'Configure queues from the contents of capacity-scheduler.xml and yarn-site.xml (XML or JSON), read one after the other as Hadoop reads them.  Mode replace removes properties that are missing in the files; merge keeps them.  If yarn.scheduler.configuration.store.class is not file, properties of the scheduler are refused unless even_if_mutable is true.  Returns the outcome of each property';

CREATE FUNCTION yquota.import_hadoop_configuration(document text, mode text DEFAULT 'replace', even_if_mutable boolean DEFAULT false)
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.import_hadoop_configuration(ARRAY[document], mode, even_if_mutable);
$$;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(text, text, boolean) IS
	'Run import_hadoop_configuration() for one document';

CREATE FUNCTION yquota.import_hadoop_configuration(document xml, mode text DEFAULT 'replace', even_if_mutable boolean DEFAULT false)
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.import_hadoop_configuration(ARRAY[document::text], mode, even_if_mutable);
$$;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(xml, text, boolean) IS
	'Run import_hadoop_configuration() for one document';

CREATE FUNCTION yquota.import_hadoop_configuration(document jsonb, mode text DEFAULT 'replace', even_if_mutable boolean DEFAULT false)
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.import_hadoop_configuration(ARRAY[document::text], mode, even_if_mutable);
$$;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(jsonb, text, boolean) IS
	'Run import_hadoop_configuration() for one document';

CREATE FUNCTION yquota.diff_hadoop_configuration(documents text[], mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT p.property, p.old, p.new FROM yquota_internal.plan_hadoop_import(documents, mode) AS p
		WHERE p.old IS DISTINCT FROM p.new
		ORDER BY p.ordinal NULLS LAST, p.property COLLATE "C";
$$;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(text[], text) IS
	'Return the changes that import_hadoop_configuration() would make, without making them; NULL means "not set"';

CREATE FUNCTION yquota.diff_hadoop_configuration(document text, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.diff_hadoop_configuration(ARRAY[document], mode);
$$;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(text, text) IS
	'Run diff_hadoop_configuration() for one document';

CREATE FUNCTION yquota.diff_hadoop_configuration(document xml, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.diff_hadoop_configuration(ARRAY[document::text], mode);
$$;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(xml, text) IS
	'Run diff_hadoop_configuration() for one document';

CREATE FUNCTION yquota.diff_hadoop_configuration(document jsonb, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.diff_hadoop_configuration(ARRAY[document::text], mode);
$$;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(jsonb, text) IS
	'Run diff_hadoop_configuration() for one document';
