-- Families of projects.  The spending of a project also counts for its parent, the parent's parent, and so on.  A table
-- contains all descendants, so that a statement about a project without parent and sub-projects takes no additional
-- time.
--
-- The table does not record since when a project has been in a family, so a membership applies to all time.  A
-- project can therefore move only while it has no credit, holds or charges.

CREATE TABLE yquota_internal.project_family (
	ancestor text COLLATE "C" NOT NULL REFERENCES yquota.project ON UPDATE CASCADE ON DELETE CASCADE,
	member text COLLATE "C" NOT NULL REFERENCES yquota.project ON UPDATE CASCADE ON DELETE CASCADE,
	depth integer NOT NULL CHECK (depth BETWEEN 1 AND 15),
	PRIMARY KEY (member, ancestor)
);
CREATE INDEX project_family_ancestor_idx ON yquota_internal.project_family (ancestor);
COMMENT ON TABLE yquota_internal.project_family IS
	'Projects and all their descendants, according to project.parent.  Only the triggers of project write this table';
COMMENT ON COLUMN yquota_internal.project_family.depth IS 'number of steps from the member to the ancestor: 1 for its parent';

CREATE FUNCTION yquota_internal.project_line(members text[])
	RETURNS TABLE (ancestor text, member text, depth integer)
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
		-- search one step beyond the permitted depth; this limit also ends the search in a circle of parents
		WITH RECURSIVE line AS (
			SELECT project.parent AS ancestor, project.name AS member, 1 AS depth
			FROM yquota.project
			WHERE project.parent IS NOT NULL AND (members IS NULL OR project.name = ANY (members))
			UNION ALL
			SELECT project.parent, line.member, line.depth + 1
			FROM line
			JOIN yquota.project ON project.name = line.ancestor
			WHERE project.parent IS NOT NULL AND line.depth < 16
		)
		SELECT line.ancestor, line.member, line.depth FROM line;
	END;
COMMENT ON FUNCTION yquota_internal.project_line(text[]) IS
	'Return the ancestors of projects, or of all projects (NULL), according to project.parent.  If a project has too many ancestors, the last one has depth 16';

CREATE FUNCTION yquota_internal.check_move(moved text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	obstacle record;
BEGIN
	SELECT m.name,
		   EXISTS (SELECT FROM yquota.hold WHERE hold.project = m.name) AS has_held
	INTO obstacle
	FROM unnest(moved) AS m (name)
	WHERE EXISTS (SELECT FROM yquota.hold WHERE hold.project = m.name)
	   OR yquota_internal.is_in_books(m.name)
	ORDER BY m.name LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'cannot change the parent of a project when "%" is in the books', obstacle.name
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = CASE WHEN obstacle.has_held THEN 'Credit was held for it.' ELSE 'Containers were charged to it.' END,
				HINT = 'Its spending counts for its ancestors. Insert a new project with the other parent.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_move(text[]) IS
	'Raise an error if one of the projects has spent or held credit';

CREATE FUNCTION yquota_internal.check_line(members text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	wrong record;
BEGIN
	SELECT line.member, line.ancestor = line.member AS is_circle INTO wrong
	FROM yquota_internal.project_line(members) AS line
	WHERE line.ancestor = line.member OR line.depth > 15
	ORDER BY line.ancestor = line.member DESC, line.member LIMIT 1;
	IF wrong.is_circle THEN
		RAISE EXCEPTION 'project "%" cannot descend from itself', wrong.member
			USING ERRCODE = 'check_violation';
	ELSIF FOUND THEN
		RAISE EXCEPTION 'project "%" would have more than 15 ancestors', wrong.member
			USING ERRCODE = 'check_violation';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_line(text[]) IS
	'Raise an error if the parents of projects form a circle, or if a project has too many ancestors';

CREATE FUNCTION yquota_internal.keep_families() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	moved text[];
	ancestors text[];
BEGIN
	-- a dump contains the families
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		moved := ARRAY(SELECT fresh.name FROM new_projects AS fresh WHERE fresh.parent IS NOT NULL);
	ELSE
		moved := ARRAY(SELECT fresh.name FROM new_projects AS fresh
					   LEFT JOIN old_projects AS stale ON stale.name = fresh.name
					   WHERE fresh.parent IS DISTINCT FROM stale.parent);
	END IF;
	IF moved = '{}' THEN
		RETURN NULL;
	END IF;
	-- moves, holds and charges of other transactions must be visible
	PERFORM yquota_internal.require_read_committed('give a project a parent');
	-- serialize moves, and exclude decisions about credit; readers do not wait
	LOCK TABLE yquota_internal.project_family IN SHARE ROW EXCLUSIVE MODE;
	IF TG_OP = 'UPDATE' THEN
		moved := ARRAY(SELECT unnest(moved) UNION
					   SELECT family.member FROM yquota_internal.project_family AS family WHERE family.ancestor = ANY (moved));
		PERFORM yquota_internal.check_move(moved);
		WITH gone AS (
			DELETE FROM yquota_internal.project_family AS family WHERE family.member = ANY (moved)
			RETURNING family.ancestor
		)
		SELECT array_agg(DISTINCT gone.ancestor) INTO ancestors FROM gone;
	END IF;
	PERFORM yquota_internal.check_line(moved);
	INSERT INTO yquota_internal.project_family (ancestor, member, depth)
	SELECT line.ancestor, line.member, line.depth FROM yquota_internal.project_line(moved) AS line;
	-- refunds move with their project, so losses of grants of ancestors have to be computed again
	IF TG_OP = 'UPDATE' THEN
		DELETE FROM yquota.expired_grant AS expired
		WHERE expired.project = ANY (ancestors)
		   OR expired.project IN (SELECT family.ancestor FROM yquota_internal.project_family AS family WHERE family.member = ANY (moved));
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_families() IS
	'Update project_family when parents of projects change, and refuse parents that are not allowed';

CREATE TRIGGER insert_family AFTER INSERT ON yquota.project
	REFERENCING NEW TABLE AS new_projects
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.keep_families();
CREATE TRIGGER update_family AFTER UPDATE ON yquota.project
	REFERENCING OLD TABLE AS old_projects NEW TABLE AS new_projects
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.keep_families();

SELECT pg_extension_config_dump('yquota_internal.project_family', '');
