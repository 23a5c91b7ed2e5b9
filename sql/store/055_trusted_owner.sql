--
-- Owners of objects that one role names to yquota and that run or are read with the rights of
-- another role.  docs/privileges.md lists these objects.  An owner can change such an object
-- later.  The owner must therefore be the owner of yquota or a superuser, at registration and
-- at each use.
--

CREATE FUNCTION yquota_internal.is_trusted(role oid) RETURNS boolean
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_is_trusted';
COMMENT ON FUNCTION yquota_internal.is_trusted(oid) IS
	'Tell whether objects of a role may run with the rights of other roles: it is the owner of yquota, or a superuser';

CREATE FUNCTION yquota_internal.owner_of_schema(schema oid) RETURNS oid
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT CASE pg_get_userbyid(n.nspowner) WHEN 'pg_database_owner'
				   THEN (SELECT d.datdba FROM pg_database AS d WHERE d.datname = current_database())
				   ELSE n.nspowner END
			FROM pg_namespace AS n WHERE n.oid = schema);
COMMENT ON FUNCTION yquota_internal.owner_of_schema(oid) IS
	'Return the owner of a schema; if it belongs to pg_database_owner, that of the database';

-- Finds a part of a table whose owner is not trusted, because other roles can act through
-- these parts.  The planner may call functions in constraints and indexes of tables that
-- inherit from it.  The server of a foreign table decides where to log in, and as which role.
-- A function may cast a type, or a type within it.  The owner of the schema can replace the
-- table.
CREATE FUNCTION yquota_internal.untrusted_part(of_table regclass, reader oid DEFAULT NULL) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH RECURSIVE part (oid) AS (
			SELECT of_table::oid
			UNION
			SELECT i.inhrelid FROM pg_inherits AS i JOIN part ON part.oid = i.inhparent
		), column_type (attrelid, attname, oid) AS (
			SELECT a.attrelid, a.attname, a.atttypid
			FROM part JOIN pg_attribute AS a ON a.attrelid = part.oid AND a.attnum > 0 AND NOT a.attisdropped
			UNION
			SELECT outside.attrelid, outside.attname, inside.oid
			FROM column_type AS outside
			JOIN pg_type AS t ON t.oid = outside.oid
			CROSS JOIN LATERAL (
				-- types within an array, a domain, a range or multirange, and a row
				VALUES (t.typelem), (t.typbasetype)
				UNION ALL
				SELECT r.rngsubtype FROM pg_range AS r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)
				UNION ALL
				SELECT a.atttypid FROM pg_attribute AS a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
			) AS inside (oid)
		), object (rank, description, owner) AS (
			SELECT 1, format('table "%s"', c.oid::regclass), c.relowner
			FROM part JOIN pg_class AS c USING (oid)
			UNION ALL
			SELECT 2, format('foreign server "%s" of table "%s"', s.srvname, f.ftrelid::regclass), s.srvowner
			FROM part JOIN pg_foreign_table AS f ON f.ftrelid = part.oid JOIN pg_foreign_server AS s ON s.oid = f.ftserver
			UNION ALL
			SELECT 3, format('type %s of column "%s" of table "%s"', t.oid::regtype, c.attname, c.attrelid::regclass), t.typowner
			FROM column_type AS c JOIN pg_type AS t USING (oid)
			UNION ALL
			SELECT 4, format('schema "%s" of table "%s"', n.nspname, c.oid::regclass), yquota_internal.owner_of_schema(n.oid)
			FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
			WHERE c.oid = of_table
		)
		SELECT object.description FROM object
		WHERE object.owner IS DISTINCT FROM reader AND NOT yquota_internal.is_trusted(object.owner)
		ORDER BY object.rank, object.description LIMIT 1;
$$;
COMMENT ON FUNCTION yquota_internal.untrusted_part(regclass, oid) IS
	'Return a part of a table, or a relation read by it, owned by none of a given reader, the owner of yquota and superusers';
