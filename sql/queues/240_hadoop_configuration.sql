--
-- Hadoop's configuration files: notations of values, and the tables in Hadoop's
-- notation.  Reading files is in queues/250_hadoop_import.sql.
--
-- Values are read as Hadoop's getters read them.  Most getters trim the white space that Java
-- trims, and some read hexadecimal numbers.
--

CREATE FUNCTION yquota_internal.java_trim(value text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN btrim(value, E' \t\n\r\f\x0B');
COMMENT ON FUNCTION yquota_internal.java_trim(text) IS
	'Remove white space from the ends';

CREATE FUNCTION yquota_internal.hadoop_hexadecimal(value text) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN value ~ '^-' THEN -1 ELSE 1 END
		* ('x' || lpad(right(regexp_replace(value, '^-?0[xX]', ''), 15), 16, '0'))::bit(64)::bigint;
COMMENT ON FUNCTION yquota_internal.hadoop_hexadecimal(text) IS
	'Return the value of a hexadecimal number such as -0x1F, computed from its last 15 digits';

CREATE FUNCTION yquota_internal.hadoop_integer(value text, lowest numeric, highest numeric) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE
		WHEN value ~ '^[+-]?[0-9]{1,100}$' THEN
			CASE WHEN value::numeric BETWEEN lowest AND highest THEN value::bigint END
		WHEN value ~ '^-?0[xX]0*[0-9a-fA-F]{1,15}$' THEN
			CASE WHEN yquota_internal.hadoop_hexadecimal(value) BETWEEN lowest AND highest
				THEN yquota_internal.hadoop_hexadecimal(value) END
		END;
COMMENT ON FUNCTION yquota_internal.hadoop_integer(text, numeric, numeric) IS
	'Return a whole number as Hadoop reads it, decimal or hexadecimal; NULL if the text is not a whole number, or is out of range';

CREATE FUNCTION yquota_internal.hadoop_list(value text) RETURNS text[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN array_remove(regexp_split_to_array(yquota_internal.java_trim(value), E'\\s*[,\\n]\\s*'), '');
COMMENT ON FUNCTION yquota_internal.hadoop_list(text) IS
	'Return the elements of a list, separated by commas or line ends';

CREATE FUNCTION yquota_internal.hadoop_labels(value text) RETURNS text[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	BEGIN ATOMIC
		SELECT CASE WHEN '*' = ANY (l.labels) THEN '{*}'::text[] ELSE coalesce(l.labels, '{}') END
		FROM (SELECT array_agg(s.label ORDER BY s.first) AS labels
			  FROM (SELECT yquota_internal.java_trim(p.part) AS label, min(p.number) AS first
					FROM string_to_table(value, ',') WITH ORDINALITY AS p (part, number)
					GROUP BY 1) AS s
			  WHERE s.label <> '') AS l;
	END;
COMMENT ON FUNCTION yquota_internal.hadoop_labels(text) IS
	'Return the labels of a list, each once; if * is among them, only *';

CREATE FUNCTION yquota_internal.hadoop_resource(value text) RETURNS yquota.resource
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	part text;
	found text[];
	is_memory boolean;
	amount numeric;
	amounts jsonb := '{}';
BEGIN
	FOREACH part IN ARRAY string_to_array(regexp_replace(yquota_internal.java_trim(value), E'^\\[(.*)\\]$', E'\\1'), ',') LOOP
		found := regexp_match(yquota_internal.java_trim(part), E'^([^=\\s]+)\\s*=\\s*([0-9]{1,18}) ?(|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)$');
		IF found IS NULL THEN
			RETURN NULL;
		END IF;
		is_memory := found[1] IN ('memory', 'memory-mb');
		amount := found[2]::numeric * CASE found[3]
			WHEN '' THEN CASE WHEN is_memory THEN 1048576 ELSE 1 END
			WHEN 'k' THEN 1000 WHEN 'M' THEN 1000000 WHEN 'G' THEN 1000000000
			WHEN 'T' THEN 1000000000000 WHEN 'P' THEN 1000000000000000
			WHEN 'Ki' THEN 1024 WHEN 'Mi' THEN 1048576 WHEN 'Gi' THEN 1073741824
			WHEN 'Ti' THEN 1099511627776 ELSE 1125899906842624 END;
		IF is_memory THEN
			amount := div(amount, 1048576);
		END IF;
		IF amount > 9223372036854775807 THEN
			RETURN NULL;
		END IF;
		amounts := amounts || jsonb_build_object(CASE WHEN is_memory THEN 'memory-mb' ELSE found[1] END, amount);
	END LOOP;
	RETURN yquota.resource(amounts);
END
$$;
COMMENT ON FUNCTION yquota_internal.hadoop_resource(text) IS
	'Return resources such as memory-mb=4096,vcores=2.  Units are converted to the native ones and rounded down, as Hadoop does.  NULL when the text has another form';

--
-- The column value of a text, by its notation:
--
--    integer, long       whole number of 32 or 64 bits, also hexadecimal
--    count, positive     whole number of 32 bits: 0 or above, or above 0 only; also hexadecimal
--    decimal             whole number of 32 bits, neither hexadecimal nor with blanks
--    milliseconds        whole number of 32 bits, not below 0, of an interval
--    period              whole number of 64 bits above 0, of an interval
--    float, double       number
--    factor, ratio       number of 32 bits not below 0, or above 0.99
--    boolean             true or false; anything else is as good as not set
--    text, acl           text, trimmed or not
--    format, state       one of two words, not trimmed
--    comparator          a name of LoadComparator, not trimmed
--    queue policy        a name of OpportunisticContainersQueuePolicy
--    capacity            percent, weight or resources
--    resource            resources
--    list, labels        list
--
CREATE FUNCTION yquota_internal.hadoop_milliseconds(value text, lowest bigint, highest bigint) RETURNS jsonb
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN to_jsonb(yquota_internal.hadoop_integer(yquota_internal.java_trim(value), lowest, highest) * interval '1 ms');
COMMENT ON FUNCTION yquota_internal.hadoop_milliseconds(text, bigint, bigint) IS
	'Return the interval for a whole number of milliseconds; NULL if the text is not a whole number, or is out of range';

CREATE FUNCTION yquota_internal.hadoop_real(value text) RETURNS real
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN yquota_internal.java_trim(value) ~ E'^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,2})?[fFdD]?$' THEN
		CASE WHEN abs(rtrim(yquota_internal.java_trim(value), 'fFdD')::numeric) < 3.4028235e38
			THEN round(rtrim(yquota_internal.java_trim(value), 'fFdD')::numeric, 45)::real END END;
COMMENT ON FUNCTION yquota_internal.hadoop_real(text) IS
	'Return a 32-bit float as Hadoop reads it; NULL if the text is not a number, or if the number is too large, NaN or infinite';

CREATE FUNCTION yquota_internal.hadoop_value(notation text, value text) RETURNS jsonb
	-- The function is STABLE like to_jsonb(); if it were IMMUTABLE, it could not be inlined.
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE notation
		WHEN 'capacity' THEN CASE
			WHEN value ~ E'[w\\]]\\s*$' THEN CASE WHEN yquota_internal.is_hadoop_capacity(value) THEN to_jsonb(value) END
			WHEN yquota_internal.is_hadoop_capacity(yquota_internal.java_trim(value)) THEN to_jsonb(yquota_internal.java_trim(value)) END
		WHEN 'integer' THEN to_jsonb(yquota_internal.hadoop_integer(yquota_internal.java_trim(value), -2147483648, 2147483647))
		WHEN 'decimal' THEN CASE WHEN value ~ '^[+-]?[0-9]+$' THEN
			to_jsonb(yquota_internal.hadoop_integer(value, -2147483648, 2147483647)) END
		WHEN 'long' THEN to_jsonb(yquota_internal.hadoop_integer(yquota_internal.java_trim(value), -9223372036854775808, 9223372036854775807))
		WHEN 'count' THEN to_jsonb(yquota_internal.hadoop_integer(yquota_internal.java_trim(value), 0, 2147483647))
		WHEN 'positive' THEN to_jsonb(yquota_internal.hadoop_integer(yquota_internal.java_trim(value), 1, 2147483647))
		WHEN 'milliseconds' THEN yquota_internal.hadoop_milliseconds(value, 0, 2147483647)
		-- limit to the longest interval that can be added to a time in microseconds
		WHEN 'period' THEN yquota_internal.hadoop_milliseconds(value, 1, 3155760000000)
		WHEN 'float' THEN to_jsonb(yquota_internal.hadoop_real(value))
		WHEN 'factor' THEN CASE WHEN yquota_internal.hadoop_real(value) >= 0 THEN to_jsonb(yquota_internal.hadoop_real(value)) END
		WHEN 'ratio' THEN CASE WHEN yquota_internal.hadoop_real(value) > 0.99::real THEN to_jsonb(yquota_internal.hadoop_real(value)) END
		WHEN 'double' THEN CASE WHEN yquota_internal.java_trim(value) ~ E'^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,2})?[fFdD]?$' THEN
			to_jsonb(rtrim(yquota_internal.java_trim(value), 'fFdD')::double precision) END
		WHEN 'boolean' THEN CASE lower(yquota_internal.java_trim(value) COLLATE "C") WHEN 'true' THEN 'true'::jsonb WHEN 'false' THEN 'false'::jsonb END
		WHEN 'text' THEN to_jsonb(yquota_internal.java_trim(value))
		WHEN 'acl' THEN to_jsonb(value)
		WHEN 'options' THEN to_jsonb(value)
		WHEN 'format' THEN CASE WHEN value IN ('legacy', 'json') THEN to_jsonb(value) END
		WHEN 'comparator' THEN CASE WHEN value IN ('QUEUE_LENGTH', 'QUEUE_WAIT_TIME', 'QUEUE_LENGTH_THEN_RESOURCES') THEN to_jsonb(value) END
		WHEN 'queue policy' THEN CASE WHEN yquota_internal.java_trim(value) IN ('BY_QUEUE_LEN', 'BY_RESOURCES') THEN to_jsonb(yquota_internal.java_trim(value)) END
		WHEN 'state' THEN CASE WHEN upper(value COLLATE "C") IN ('RUNNING', 'STOPPED') THEN to_jsonb(upper(value COLLATE "C")) END
		WHEN 'list' THEN to_jsonb(yquota_internal.hadoop_list(value))
		WHEN 'labels' THEN to_jsonb(yquota_internal.hadoop_labels(value))
		WHEN 'children' THEN to_jsonb(value)
		WHEN 'resource' THEN to_jsonb(yquota_internal.hadoop_resource(value)::text)
		END;
COMMENT ON FUNCTION yquota_internal.hadoop_value(text, text) IS
	'Return the column value for a text of a file; NULL when the text is not in the notation';

CREATE FUNCTION yquota_internal.hadoop_expectation(notation text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE notation
		WHEN 'capacity' THEN 'a percentage such as 12.5, a weight such as 2w, or resources such as [memory=10240,vcores=12], the latter two without blanks at the ends'
		WHEN 'integer' THEN 'a whole number of 32 bits'
		WHEN 'decimal' THEN 'a whole decimal number of 32 bits, without blanks'
		WHEN 'long' THEN 'a whole number of 64 bits'
		WHEN 'float' THEN 'a number of 32 bits'
		WHEN 'double' THEN 'a number of 64 bits'
		WHEN 'count' THEN 'a whole number of 32 bits, 0 or more'
		WHEN 'positive' THEN 'a whole number of 32 bits, 1 or more'
		WHEN 'milliseconds' THEN 'a whole number of milliseconds of 32 bits, 0 or more'
		WHEN 'period' THEN 'a whole number of milliseconds, 1 or more, and at most 100 years of them'
		WHEN 'factor' THEN 'a number of 32 bits, 0 or more'
		WHEN 'ratio' THEN 'a number of 32 bits above 0.99'
		WHEN 'boolean' THEN 'true or false'
		WHEN 'comparator' THEN 'QUEUE_LENGTH, QUEUE_WAIT_TIME or QUEUE_LENGTH_THEN_RESOURCES, without blanks'
		WHEN 'queue policy' THEN 'BY_QUEUE_LEN or BY_RESOURCES'
		WHEN 'format' THEN 'legacy or json, without blanks'
		WHEN 'state' THEN 'RUNNING or STOPPED, without blanks'
		WHEN 'resource' THEN 'resources such as memory-mb=4096,vcores=2'
		WHEN 'mappings' THEN 'a list of u:user:queue or g:group:queue'
		WHEN 'application mappings' THEN 'a list of application:queue'
		WHEN 'workflows' THEN 'a list of workflow:queue:priority'
		WHEN 'json rules' THEN 'an object with an array "rules" of objects with "type", "matches" and "policy"'
		WHEN 'children' THEN 'a list of names'
		ELSE 'text' END;
COMMENT ON FUNCTION yquota_internal.hadoop_expectation(text) IS
	'Describe a notation in words, for errors and documentation';

CREATE FUNCTION yquota_internal.hadoop_list_text(list jsonb) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN coalesce(nullif((SELECT string_agg(e, ',') FROM jsonb_array_elements_text(list) AS e), ''), ' ');
COMMENT ON FUNCTION yquota_internal.hadoop_list_text(jsonb) IS
	'Return a list as it is written in a file.  An empty list is written as a blank, because an empty value would mean "not set"';

CREATE FUNCTION yquota_internal.hadoop_text(notation text, value jsonb) RETURNS text
	-- The function is STABLE, like the conversion of an interval to text.
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE
		WHEN value IS NULL THEN NULL
		WHEN notation IN ('milliseconds', 'period') THEN round(extract(epoch FROM (value #>> '{}')::interval) * 1000)::text
		WHEN notation IN ('list', 'labels') THEN yquota_internal.hadoop_list_text(value)
		WHEN notation = 'resource' THEN nullif(btrim(value #>> '{}', '[]'), '')
		WHEN notation = 'acl' THEN coalesce(nullif(value #>> '{}', ''), ' ')
		ELSE value #>> '{}' END;
COMMENT ON FUNCTION yquota_internal.hadoop_text(text, jsonb) IS
	'Return a column value as it is written in a file: the reverse of hadoop_value()';

CREATE FUNCTION yquota_internal.hadoop_rows_text(notation text, rows jsonb) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE notation
		WHEN 'mappings' THEN (SELECT string_agg(concat_ws(':', left(r.value ->> 'type', 1), r.value ->> 'matches', r.value ->> 'queue'), ',' ORDER BY r.number)
							  FROM jsonb_array_elements(rows) WITH ORDINALITY AS r (value, number))
		WHEN 'application mappings' THEN (SELECT string_agg(concat_ws(':', r.value ->> 'matches', r.value ->> 'queue'), ',' ORDER BY r.number)
										  FROM jsonb_array_elements(rows) WITH ORDINALITY AS r (value, number))
		WHEN 'workflows' THEN (SELECT string_agg(concat_ws(':', r.value ->> 'workflow_id', r.value ->> 'queue', r.value ->> 'priority'), ',' ORDER BY r.number)
							   FROM jsonb_array_elements(rows) WITH ORDINALITY AS r (value, number))
		WHEN 'json rules' THEN (SELECT CASE WHEN rows IS NOT NULL THEN json_strip_nulls(json_build_object('rules', json_agg(json_build_object(
										'type', r.value -> 'type', 'matches', r.value -> 'matches', 'policy', r.value -> 'policy',
										'parentQueue', r.value -> 'parent_queue', 'customPlacement', r.value -> 'custom_placement',
										'value', r.value -> 'value', 'create', r.value -> 'create_queue',
										'fallbackResult', r.value -> 'fallback_result') ORDER BY r.number))) END::text
								FROM jsonb_array_elements(rows) WITH ORDINALITY AS r (value, number))
		END;
COMMENT ON FUNCTION yquota_internal.hadoop_rows_text(text, jsonb) IS
	'Return the value of a property that stands for whole rows, as it is written in a file';

--
-- Splits the names of properties into parts:
--
--    head <queue> middle <name> tail     of queues, where middle is empty or ends in
--                                        a dot when there is a name
--    head <name> tail                    of others, with or without a name
--
CREATE VIEW yquota_internal.hadoop_pattern AS
	SELECT f.property, f.file, f.table_name, f.column_name, f.notation,
		   f.property ~ '<(queue|parent)>' AS has_queue,
		   f.property ~ '<parent>' AS is_wildcard,
		   f.property ~ '<(label|user|policy|option)>' AS has_name,
		   f.property ~ '<(label|policy)>' AS is_plain_name,
		   f.notation = 'options' AS is_option,
		   p.pieces[1] AS head,
		   CASE WHEN f.property ~ '<(queue|parent)>' THEN p.pieces[2] END AS middle,
		   CASE WHEN f.property ~ '<(queue|parent)>' THEN coalesce(p.pieces[3], '') ELSE coalesce(p.pieces[2], '') END AS tail,
		   CASE WHEN f.present_name IS NOT NULL THEN true
				WHEN f.property IN (SELECT n.present_name FROM yquota_internal.hadoop_former_name AS n) THEN false END AS is_former
	FROM yquota_internal.hadoop_property AS f
	CROSS JOIN LATERAL (SELECT regexp_split_to_array(f.property, E'<parent>\\.\\*|<[a-z]+>') AS pieces) AS p;
COMMENT ON VIEW yquota_internal.hadoop_pattern IS
	'Rows of hadoop_property with the names of properties split into parts';
COMMENT ON COLUMN yquota_internal.hadoop_pattern.is_wildcard IS 'true if the path ends in *';
COMMENT ON COLUMN yquota_internal.hadoop_pattern.is_plain_name IS 'true if the name has no dots';
COMMENT ON COLUMN yquota_internal.hadoop_pattern.is_former IS
	'true if this is the former name of a property, false if it is the present name; NULL: the property has only one name';

--
-- A setting that was imported under the former name of its property is exported under the former
-- name again. scheduler_setting.former_names lists the columns of such settings.
--
CREATE FUNCTION yquota_internal.is_name_of_setting(is_former boolean, column_name text, former_names jsonb) RETURNS boolean
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN is_former IS NULL OR is_former = coalesce(former_names ? column_name, false);
COMMENT ON FUNCTION yquota_internal.is_name_of_setting(boolean, text, jsonb) IS
	'Tell whether a setting is exported under this name of its property; is_former is the column of hadoop_pattern';

CREATE VIEW yquota_internal.hadoop_setting AS
	WITH pattern AS MATERIALIZED (
		SELECT * FROM yquota_internal.hadoop_pattern
	), cell AS (
		SELECT 'queue' AS table_name, q.path::text AS owner, NULL::text AS name, c.key, c.value
		FROM yquota.queue AS q, jsonb_each(jsonb_strip_nulls(yquota_internal.set_columns(q))) AS c WHERE NOT q.auto_created
		UNION ALL
		SELECT 'queue_label', l.queue, l.label, c.key, c.value
		FROM yquota.queue_label AS l JOIN yquota.queue AS q ON q.path = l.queue AND NOT q.auto_created, jsonb_each(jsonb_strip_nulls(yquota_internal.set_columns(l))) AS c
		UNION ALL
		SELECT 'queue_user', u.queue, u.username, c.key, c.value
		FROM yquota.queue_user AS u JOIN yquota.queue AS q ON q.path = u.queue AND NOT q.auto_created, jsonb_each(jsonb_strip_nulls(yquota_internal.set_columns(u))) AS c
		UNION ALL
		SELECT 'wildcard_template', w.path, NULL, c.key, c.value
		FROM yquota.wildcard_template AS w, jsonb_each(jsonb_strip_nulls(yquota_internal.set_columns(w))) AS c
		UNION ALL
		SELECT 'user_setting', NULL, u.username, c.key, c.value
		FROM yquota.user_setting AS u, jsonb_each(jsonb_strip_nulls(yquota_internal.set_columns(u))) AS c
		UNION ALL
		SELECT 'multi_node_sorting_policy', NULL, m.name, c.key, c.value
		FROM yquota.multi_node_sorting_policy AS m, jsonb_each(jsonb_strip_nulls(yquota_internal.set_columns(m))) AS c
		UNION ALL
		SELECT 'scheduler_setting', NULL, NULL, c.key, c.value
		FROM yquota.scheduler_setting AS s, jsonb_each(jsonb_strip_nulls(yquota_internal.set_columns(s))) AS c
	), whole (notation, rows) AS (
		SELECT CASE r.kind WHEN 'legacy' THEN 'mappings' WHEN 'application' THEN 'application mappings' ELSE 'json rules' END,
			   jsonb_agg(to_jsonb(r) ORDER BY r.position)
		FROM yquota.mapping_rule AS r GROUP BY r.kind
		UNION ALL
		SELECT 'workflows', jsonb_agg(to_jsonb(w) ORDER BY w.position) FROM yquota.workflow_priority_mapping AS w
	), setting AS (
		SELECT p.head || coalesce(c.owner, '') || coalesce(p.middle, '') || coalesce(c.name, o.option, '') || p.tail AS property,
			   coalesce(o.value, yquota_internal.hadoop_text(p.notation, c.value)) AS value,
			   p.file, c.owner
		FROM cell AS c
		JOIN pattern AS p ON p.table_name = c.table_name AND p.column_name = c.key AND p.notation <> 'children'
			AND yquota_internal.is_name_of_setting(p.is_former, p.column_name, (SELECT s.former_names FROM yquota.scheduler_setting AS s))
		LEFT JOIN LATERAL (
			SELECT e.key AS option, e.value FROM jsonb_each_text(CASE WHEN p.is_option THEN c.value ELSE '{}' END) AS e) AS o ON true
		WHERE NOT p.is_option OR o.option IS NOT NULL
		UNION ALL
		SELECT p.head || q.parent || p.middle, string_agg(q.name, ',' ORDER BY q.position, q.path::text), p.file, q.parent
		FROM yquota.queue AS q JOIN pattern AS p ON p.notation = 'children'
		WHERE NOT q.auto_created AND q.parent IS NOT NULL
		GROUP BY p.head, q.parent, p.middle, p.file
		UNION ALL
		SELECT p.property, yquota_internal.hadoop_rows_text(w.notation, w.rows), p.file, NULL
		FROM whole AS w JOIN pattern AS p ON p.notation = w.notation
		UNION ALL
		SELECT k.property, k.value, 'capacity-scheduler.xml', NULL
		FROM yquota.unmapped_property AS k
	)
	SELECT s.property COLLATE "C" AS property, s.value, s.file, s.owner COLLATE "C" AS owner
	FROM setting AS s WHERE s.value <> '';
COMMENT ON VIEW yquota_internal.hadoop_setting IS
	'Configuration as Hadoop''s properties, without queues that were created automatically';
COMMENT ON COLUMN yquota_internal.hadoop_setting.owner IS 'path of the queue; NULL for a property that does not belong to a queue';

CREATE FUNCTION yquota.hadoop_configuration(file text DEFAULT NULL)
	RETURNS TABLE (property text, value text)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	SET enable_nestloop = off
	AS $$
		SELECT s.property, s.value FROM yquota_internal.hadoop_setting AS s
		WHERE hadoop_configuration.file IS NULL OR s.file = hadoop_configuration.file
		ORDER BY s.owner NULLS FIRST, s.property;
$$;
COMMENT ON FUNCTION yquota.hadoop_configuration(text) IS
	'Return the configuration as Hadoop''s properties: all of them, or those of capacity-scheduler.xml, yarn-site.xml or mapred-site.xml';

--
-- Settings of queues for which Hadoop has no property.  Exports lack them, and imports leave them unchanged.
--
CREATE FUNCTION yquota_internal.own_queue_settings(queue yquota.queue) RETURNS jsonb
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN jsonb_strip_nulls(jsonb_build_object('auto_promote_after', queue.auto_promote_after,
		'opportunistic_maximum_containers', queue.opportunistic_maximum_containers,
		'opportunistic_maximum_resource', queue.opportunistic_maximum_resource,
		'hold_policy', queue.hold_policy));
COMMENT ON FUNCTION yquota_internal.own_queue_settings(yquota.queue) IS
	'Return the columns of a queue that are set but do not stand for properties of Hadoop';

CREATE FUNCTION yquota_internal.queues_with_own_settings() RETURNS SETOF yquota.queue
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
		SELECT q.* FROM yquota.queue AS q WHERE NOT q.auto_created AND yquota_internal.own_queue_settings(q) <> '{}';
	END;
COMMENT ON FUNCTION yquota_internal.queues_with_own_settings() IS
	'Return the queues that have settings for which Hadoop has no property, without queues that were created automatically';

CREATE FUNCTION yquota_internal.notice_own_settings(message text, queues yquota.queue[]) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	in_words text;
BEGIN
	SELECT string_agg(concat(own.name, ' of ', CASE WHEN own.queues <= 5 THEN own.paths ELSE own.queues || ' queues' END), '; ' ORDER BY own.name)
	INTO in_words
	FROM (SELECT set.name, count(*) AS queues, string_agg(q.path::text, ', ' ORDER BY q.path::text COLLATE "C") AS paths
		  FROM unnest(queues) AS q
		  CROSS JOIN LATERAL jsonb_object_keys(yquota_internal.own_queue_settings(q)) AS set (name)
		  GROUP BY set.name) AS own;
	IF in_words IS NOT NULL THEN
		RAISE NOTICE '%', message
			USING DETAIL = 'Hadoop has no property for ' || in_words || '.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.notice_own_settings(text, yquota.queue[]) IS
	'Raise a notice that lists the settings of queues for which Hadoop has no property, if there are any';

CREATE FUNCTION yquota.export_hadoop_configuration(file text DEFAULT 'capacity-scheduler.xml')
	RETURNS xml
	LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	SET enable_nestloop = off
	AS $$
DECLARE
	document text;
BEGIN
	IF file IS NOT NULL AND file NOT IN (SELECT f.file FROM yquota_internal.hadoop_property AS f) THEN
		RAISE EXCEPTION 'unrecognized file "%"', file
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Files are capacity-scheduler.xml, yarn-site.xml and mapred-site.xml. NULL returns all of them in one.';
	END IF;
	SELECT string_agg(E'  <property>\n    <name>' || replace(replace(replace(s.property, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')
					  || E'</name>\n    <value>' || replace(replace(replace(replace(s.value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), E'\r', '&#13;')
					  || E'</value>\n  </property>\n', '' ORDER BY s.owner NULLS FIRST, s.property)
	INTO document
	FROM yquota_internal.hadoop_setting AS s
	WHERE export_hadoop_configuration.file IS NULL OR s.file = export_hadoop_configuration.file;
	IF coalesce(file, 'capacity-scheduler.xml') = 'capacity-scheduler.xml' THEN
		PERFORM yquota_internal.notice_own_settings('exported configuration lacks settings of queues',
			ARRAY(SELECT q FROM yquota_internal.queues_with_own_settings() AS q));
	END IF;
	RETURN xmlparse(DOCUMENT E'<?xml version="1.0"?>\n<configuration>\n' || coalesce(document, '') || '</configuration>');
END
$$;
COMMENT ON FUNCTION yquota.export_hadoop_configuration(text) IS
	'Return the configuration as a configuration file of Hadoop: capacity-scheduler.xml, yarn-site.xml, mapred-site.xml, or all in one (NULL)';
