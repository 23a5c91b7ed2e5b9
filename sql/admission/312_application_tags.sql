-- A submission or a feed sets tags of applications (charging/205_application_tags.sql).

CREATE FUNCTION yquota_internal.read_tags(tags text[]) RETURNS jsonb
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_read_tags';
COMMENT ON FUNCTION yquota_internal.read_tags(text[]) IS
	'Return tags of the form key=value as a JSON object.  A tag without = is a key with an empty value';

CREATE FUNCTION yquota.set_application_tags(application_id text, tags text[]) RETURNS jsonb
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	id CONSTANT text := set_application_tags.application_id;
	given jsonb;
	known jsonb;
	other text;
BEGIN
	IF id IS NULL OR set_application_tags.tags IS NULL THEN
		RAISE EXCEPTION 'arguments of set_application_tags must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF id = '' OR octet_length(id) > 255 THEN
		RAISE EXCEPTION 'application_id must be nonempty and at most 255 bytes long'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	given := yquota_internal.read_tags(set_application_tags.tags);
	PERFORM yquota_internal.require_read_committed('set tags of an application');
	IF given <> '{}' THEN
		INSERT INTO yquota.application_tags (application_id, tags, set_at) VALUES (id, given, yquota.statement_clock())
		-- lock an existing row without changing it
		ON CONFLICT (application_id) DO UPDATE SET set_at = excluded.set_at WHERE false;
	END IF;
	IF NOT FOUND OR given = '{}' THEN
		SELECT t.tags INTO known FROM yquota.application_tags AS t WHERE t.application_id = id;
		IF known @> given OR given = '{}' THEN
			RETURN coalesce(known, '{}');
		END IF;
		SELECT new.key INTO other FROM jsonb_each(given) AS new WHERE known -> new.key <> new.value ORDER BY new.key LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'application "%" already has another value of tag "%"', id, other
				USING ERRCODE = 'object_not_in_prerequisite_state',
					  DETAIL = format('The value is "%s".', known ->> other),
					  HINT = 'The first value of a tag cannot be changed.';
		END IF;
		UPDATE yquota.application_tags AS t SET tags = known || given WHERE t.application_id = id;
	END IF;
	IF yquota_internal.has_been_charged(id) THEN
		RAISE EXCEPTION 'application "%" has already been charged', id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				  DETAIL = 'Tags of an application cannot change after its first charge.',
				  HINT = 'Set tags when the application is submitted, or before one of its containers changes or ends.';
	END IF;
	RETURN coalesce(known, '{}') || given;
END
$$;
COMMENT ON FUNCTION yquota.set_application_tags(text, text[]) IS
	'Set tags of an application, by which reports group costs.  A tag has the form key=value.  A tag without = has an empty value.  The first value of a key cannot be changed.  Keys can be added until the first charge of the application.  Returns all tags of the application';
