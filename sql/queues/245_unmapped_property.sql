--
-- Explain properties of the scheduler that have no column: why they have none, and which property was probably meant.
-- Hadoop ignores such properties silently.
--

CREATE FUNCTION yquota_internal.nearest_name(name text, names text[]) RETURNS text
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_nearest_name';
COMMENT ON FUNCTION yquota_internal.nearest_name(text, text[]) IS
	'Return the name that was probably meant by a misspelt name, the first if there are several; NULL if no name is similar';

CREATE FUNCTION yquota_internal.explain_unmapped_properties(
	properties text[], OUT property text, OUT owner text, OUT reason text, OUT suggestion text)
	RETURNS SETOF record
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	prefix CONSTANT text := 'yarn.scheduler.capacity.';
	-- largest number of words of a name that are compared
	most_words CONSTANT integer := 32;
BEGIN
	RETURN QUERY
	WITH unmapped AS MATERIALIZED (
		SELECT DISTINCT u.property, string_to_array(substr(u.property, length(prefix) + 1), '.') AS words
		FROM unnest(properties) AS u (property)
		WHERE u.property ^@ prefix
	), beginning AS MATERIALIZED (
		-- list the beginnings of a property's name that may be the path of a queue
		SELECT u.property, l.length, array_to_string(u.words[1:l.length], '.') AS path, u.words[l.length + 1:] AS words
		FROM unmapped AS u
		CROSS JOIN LATERAL generate_series(1, least(cardinality(u.words) - 1, most_words)) AS l (length)
		WHERE u.words[1] = 'root'
	), parent AS MATERIALIZED (
		-- find the longest beginning that is the path of an existing queue
		SELECT DISTINCT ON (b.property) b.property, b.length, b.path, b.words
		FROM beginning AS b JOIN yquota.queue AS q ON q.path = b.path AND NOT q.auto_created
		ORDER BY b.property, b.length DESC
	), owned AS MATERIALIZED (
		-- find properties that would be known if the queues in their names existed
		SELECT r.property, r.owner
		FROM yquota_internal.resolve_hadoop_properties(ARRAY(SELECT u.property FROM unmapped AS u), '{}',
			ARRAY(SELECT DISTINCT b.path FROM beginning AS b)) AS r
		WHERE r.owner IS NOT NULL AND r.table_name <> 'wildcard_template'
	), labelled AS MATERIALIZED (
		-- find names that lack accessible-node-labels before the label, as in some of Hadoop's
		-- documentation
		SELECT p.property, format('%s%s.accessible-node-labels.%s.%s', prefix, p.path, p.words[1], p.words[2]) AS suggestion
		FROM parent AS p
		JOIN yquota_internal.hadoop_property AS f ON f.property = format('%s<queue>.accessible-node-labels.<label>.%s', prefix, p.words[2])
		WHERE cardinality(p.words) = 2
		  AND p.words[1] IN (SELECT n.name FROM yquota.node_label AS n
							 UNION SELECT l.label FROM yquota.queue_label AS l
							 UNION SELECT unnest(q.accessible_node_labels) FROM yquota.queue AS q)
	), pattern AS MATERIALIZED (
		SELECT p.has_queue, p.is_option, w.words, array_position(w.words, substring(p.name FROM '<[a-z]+>')) AS place
		FROM (SELECT h.*, regexp_replace(substr(h.property, length(prefix) + 1), E'^<queue>\\.', '') AS name FROM yquota_internal.hadoop_pattern AS h
			  WHERE h.property ^@ prefix AND NOT h.is_wildcard) AS p
		CROSS JOIN LATERAL (SELECT string_to_array(p.name, '.') AS words) AS w
	), attempt AS (
		-- split the name into a queue and a property, either behind the existing queue or further to the
		-- right
		SELECT b.property, b.length, b.path || '.' AS path, true AS has_queue, b.words
		FROM beginning AS b JOIN parent AS p ON p.property = b.property AND b.length >= p.length
		WHERE b.length = p.length OR NOT EXISTS (SELECT FROM owned AS o WHERE o.property = b.property)
		UNION ALL
		SELECT u.property, 0, '', false, u.words FROM unmapped AS u WHERE u.words[1] <> 'root'
	), near AS (
		SELECT a.property, a.length, prefix || a.path || yquota_internal.nearest_name(array_to_string(a.words, '.'), array_agg(c.name ORDER BY c.name)) AS suggestion
		FROM attempt AS a
		JOIN pattern AS p ON p.has_queue = a.has_queue
			AND CASE WHEN p.is_option THEN cardinality(a.words) >= cardinality(p.words)
					 WHEN p.place IS NOT NULL THEN cardinality(a.words) = cardinality(p.words)
					 ELSE cardinality(a.words) <= cardinality(p.words) END
		-- put the label, user or option of the misspelt name into the suggested name
		CROSS JOIN LATERAL (SELECT array_to_string(CASE WHEN p.is_option THEN p.words[:cardinality(p.words) - 1] || a.words[cardinality(p.words):]
														WHEN p.place IS NOT NULL THEN p.words[:p.place - 1] || a.words[p.place] || p.words[p.place + 1:]
														ELSE p.words END, '.') COLLATE "C" AS name) AS c
		GROUP BY a.property, a.length, a.path, a.words
	)
	SELECT u.property, coalesce(o.owner, p.path),
		   CASE WHEN p.path = o.owner THEN 'it was kept until the queue existed, and takes effect once it is set again'
				WHEN o.owner IS NOT NULL THEN format('%s is not a queue of the configuration; the property is kept', o.owner)
				WHEN u.words[1] = 'root' THEN 'no queue has this property; the property is kept'
				ELSE 'there is no such property; it is kept' END
		   || coalesce('; did you mean ' || s.suggestion || '?', ''),
		   s.suggestion
	FROM unmapped AS u
	LEFT JOIN parent AS p ON p.property = u.property
	LEFT JOIN owned AS o ON o.property = u.property
	LEFT JOIN labelled AS l ON l.property = u.property
	LEFT JOIN (SELECT DISTINCT ON (n.property) n.property, n.suggestion FROM near AS n
			   WHERE n.suggestion <> n.property ORDER BY n.property, n.length) AS n ON n.property = u.property
	CROSS JOIN LATERAL (SELECT coalesce(l.suggestion, n.suggestion) AS suggestion) AS s;
END
$$;
COMMENT ON FUNCTION yquota_internal.explain_unmapped_properties(text[]) IS
	'Explain why properties of the scheduler have no column.  Returns the queue with whose path the name begins (NULL: no queue), the reason, and the property that was probably meant (NULL: none is similar)';

CREATE FUNCTION yquota_internal.warn_of_unmapped_properties() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- limit findings to as many as a commit prints as warnings
	most_warnings CONSTANT integer := 20;
	misspelt record;
BEGIN
	FOR misspelt IN
		SELECT e.property, e.suggestion
		FROM yquota_internal.explain_unmapped_properties(ARRAY(SELECT n.property FROM new_properties AS n)) AS e
		WHERE e.suggestion IS NOT NULL
		ORDER BY e.property COLLATE "C" LIMIT most_warnings
	LOOP
		RAISE WARNING 'Hadoop has no property "%"', misspelt.property
			USING HINT = format('Did you mean "%s"?', misspelt.suggestion);
	END LOOP;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.warn_of_unmapped_properties() IS
	'Warn of new rows of unmapped_property that are probably misspelt, at most twenty';

CREATE TRIGGER warn_of_unmapped_properties AFTER INSERT ON yquota.unmapped_property
	REFERENCING NEW TABLE AS new_properties
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.warn_of_unmapped_properties();
