--
-- Trusted owners. A role may name an object to yquota that later runs, or is read, with the rights
-- of another role. docs/privileges.md lists these objects. The owner of such an object can change
-- it at any time. This owner must therefore be the owner of yquota or a superuser, at registration
-- and at each use.
--

CREATE FUNCTION yquota_internal.is_trusted(role oid) RETURNS boolean
	LANGUAGE c STABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_is_trusted';
COMMENT ON FUNCTION yquota_internal.is_trusted(oid) IS
	'Tell whether objects of a role may run with the rights of other roles: the role is the owner of yquota, or a superuser';

CREATE FUNCTION yquota_internal.owner_of_schema(schema oid) RETURNS oid
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT CASE pg_get_userbyid(n.nspowner) WHEN 'pg_database_owner'
				   THEN (SELECT d.datdba FROM pg_database AS d WHERE d.datname = current_database())
				   ELSE n.nspowner END
			FROM pg_namespace AS n WHERE n.oid = schema);
COMMENT ON FUNCTION yquota_internal.owner_of_schema(oid) IS
	'Return the owner of a schema; if the schema belongs to pg_database_owner, the owner of the database';

-- Finds a table, or an object on which it depends, whose owner is not trusted. The planner may call
-- functions in constraints and indexes of child tables. The server of a foreign table decides where
-- to log in, and as which role. The owner of a column's type can add a cast function. The owner of
-- the schema can replace the table.
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
				-- include the element types of arrays and ranges, the base types of domains, and the column types
				-- of rows
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
	'Return a table, or an object on which it depends, that does not belong to a given reader, the owner of yquota or a superuser';
