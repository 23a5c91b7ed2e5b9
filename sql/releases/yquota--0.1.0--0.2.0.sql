\echo Use "ALTER EXTENSION yquota UPDATE" to load this file. \quit

SET LOCAL search_path = pg_catalog, pg_temp;

--
-- From 0.1.0 to 0.2.0: what exists and changes.  What is new needs no line here.
--

-- The next folding makes the running totals anew.
DELETE FROM yquota_internal.running_reference;
ALTER TABLE yquota_internal.running_reference
	ADD COLUMN priced_through timestamptz NOT NULL CHECK (priced_through >= reference_at);

-- Smaller ranges, and one more column
DROP INDEX yquota.charge_application_id_idx, yquota.container_application_id_idx, yquota.charge_time_idx;

-- Classes get their numbers all at once.
DROP FUNCTION yquota_internal.running_class_number(yquota.resource, text[]);

-- A factor can end.
ALTER TABLE yquota.price_factor ALTER COLUMN factor DROP NOT NULL;

-- Segments end where closed periods do.
DROP FUNCTION yquota_internal.verify_lives(timestamptz), yquota_internal.expected_charge(timestamptz),
	yquota_internal.expected_segment(timestamptz);

-- A window can be told as it was booked.
DROP FUNCTION yquota.cost_between(timestamptz, timestamptz, text[]);

-- A bill tells more.
DROP FUNCTION yquota.explain_charge(text);

-- What a grant is, and when it was given by the clock: in rows there are, always.
ALTER TABLE yquota.quota_grant
	ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'grant' CHECK (kind IN ('grant', 'refund', 'correction', 'budget')),
	ADD COLUMN booked_at timestamptz NOT NULL DEFAULT '-infinity';

-- Projects are parts of others.
ALTER TABLE yquota.project ADD COLUMN parent text COLLATE "C" REFERENCES yquota.project;
CREATE OR REPLACE FUNCTION yquota.resource_in(cstring) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_in';
CREATE OR REPLACE FUNCTION yquota.resource_out(yquota.resource) RETURNS cstring
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_out';
CREATE OR REPLACE FUNCTION yquota.resource_recv(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_recv';
CREATE OR REPLACE FUNCTION yquota.resource_send(yquota.resource) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_send';
CREATE OR REPLACE FUNCTION yquota.resource(
	memory_mb bigint DEFAULT 0, vcores bigint DEFAULT 0, gpu bigint DEFAULT 0,
	fpga bigint DEFAULT 0, cpu_milli bigint DEFAULT 0, gpu_milli bigint DEFAULT 0) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_from_amounts';
CREATE OR REPLACE FUNCTION yquota.resource(jsonb) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_from_jsonb';
CREATE OR REPLACE FUNCTION yquota.resource_to_jsonb(yquota.resource) RETURNS jsonb
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_to_jsonb';
CREATE OR REPLACE FUNCTION yquota.amount(resource yquota.resource, name text) RETURNS bigint
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_amount';
CREATE OR REPLACE FUNCTION yquota.resource_entries(
	resource yquota.resource, OUT name text, OUT amount bigint)
	RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 3
	AS 'MODULE_PATHNAME', 'yq_sql_resource_entries';
CREATE OR REPLACE FUNCTION yquota.dominant_share(resource yquota.resource, total yquota.resource) RETURNS numeric
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_dominant_share';
CREATE OR REPLACE FUNCTION yquota.resource_add(yquota.resource, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_add';
CREATE OR REPLACE FUNCTION yquota.resource_subtract(yquota.resource, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_subtract';
CREATE OR REPLACE FUNCTION yquota.resource_negate(yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_negate';
CREATE OR REPLACE FUNCTION yquota.resource_multiply(yquota.resource, bigint) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_multiply';
CREATE OR REPLACE FUNCTION yquota.resource_multiply(bigint, yquota.resource) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_multiply_left';
CREATE OR REPLACE FUNCTION yquota.fits_in(resource yquota.resource, room yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_fits_in';
CREATE OR REPLACE FUNCTION yquota.has_room_for(room yquota.resource, resource yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_has_room_for';
CREATE OR REPLACE FUNCTION yquota.resource_lt(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_lt';
CREATE OR REPLACE FUNCTION yquota.resource_le(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_le';
CREATE OR REPLACE FUNCTION yquota.resource_eq(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_eq';
CREATE OR REPLACE FUNCTION yquota.resource_ne(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_ne';
CREATE OR REPLACE FUNCTION yquota.resource_ge(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_ge';
CREATE OR REPLACE FUNCTION yquota.resource_gt(yquota.resource, yquota.resource) RETURNS boolean
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_gt';
CREATE OR REPLACE FUNCTION yquota.resource_cmp(yquota.resource, yquota.resource) RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_cmp';
CREATE OR REPLACE FUNCTION yquota.resource_sortsupport(internal) RETURNS void
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sortsupport';
CREATE OR REPLACE FUNCTION yquota.resource_hash(yquota.resource) RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_hash';
CREATE OR REPLACE FUNCTION yquota.resource_hash_extended(yquota.resource, bigint) RETURNS bigint
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_hash_extended';
CREATE TYPE yquota_internal.resource_range AS RANGE (
	subtype = yquota.resource,
	subtype_opclass = yquota.resource_btree_ops,
	multirange_type_name = yquota_internal.resource_multirange
);
COMMENT ON TYPE yquota_internal.resource_range IS
	'Has pg_upgrade make the order of resource vectors before the views that need it; nothing else uses it';
COMMENT ON TYPE yquota_internal.resource_multirange IS 'Comes with resource_range';
COMMENT ON FUNCTION yquota_internal.resource_range(yquota.resource, yquota.resource) IS 'Comes with resource_range';
COMMENT ON FUNCTION yquota_internal.resource_range(yquota.resource, yquota.resource, text) IS 'Comes with resource_range';
COMMENT ON FUNCTION yquota_internal.resource_multirange() IS 'Comes with resource_range';
COMMENT ON FUNCTION yquota_internal.resource_multirange(yquota_internal.resource_range) IS 'Comes with resource_range';
COMMENT ON FUNCTION yquota_internal.resource_multirange(yquota_internal.resource_range[]) IS 'Comes with resource_range';
CREATE OR REPLACE FUNCTION yquota.resource_sum_accum(internal, yquota.resource) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_accum';
CREATE OR REPLACE FUNCTION yquota.resource_sum_remove(internal, yquota.resource) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_remove';
CREATE OR REPLACE FUNCTION yquota.resource_sum_combine(internal, internal) RETURNS internal
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_combine';
CREATE OR REPLACE FUNCTION yquota.resource_sum_serialize(internal) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_serialize';
CREATE OR REPLACE FUNCTION yquota.resource_sum_deserialize(bytea, internal) RETURNS internal
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_deserialize';
CREATE OR REPLACE FUNCTION yquota.resource_sum_final(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_resource_sum_final';
CREATE OR REPLACE AGGREGATE yquota.sum(yquota.resource) (
	STYPE = internal,
	SSPACE = 256,
	SFUNC = yquota.resource_sum_accum,
	FINALFUNC = yquota.resource_sum_final,
	COMBINEFUNC = yquota.resource_sum_combine,
	SERIALFUNC = yquota.resource_sum_serialize,
	DESERIALFUNC = yquota.resource_sum_deserialize,
	MSTYPE = internal,
	MSSPACE = 256,
	MSFUNC = yquota.resource_sum_accum,
	MINVFUNC = yquota.resource_sum_remove,
	MFINALFUNC = yquota.resource_sum_final,
	PARALLEL = SAFE
);
COMMENT ON COLUMN yquota.price_factor.factor IS 'at most 6 decimals; 0 makes matching containers free, NULL ends the factor: a less specific one holds again';
COMMENT ON COLUMN yquota.project.on_exhausted IS 'what decisions do when a PREPAID project, or a sub-project on its credit, has none left';
COMMENT ON COLUMN yquota.project.parent IS
	'project whose credit pays for this one as well; stays once this one or one below it has been charged or has held credit';
COMMENT ON COLUMN yquota.quota_grant.valid_from IS 'when it begins to count';
COMMENT ON COLUMN yquota.quota_grant.expires_at IS
	'when what is left of it is lost; the grant of a project that expires first is spent first.  Of no meaning in a negative row';
COMMENT ON COLUMN yquota.quota_grant.kind IS
	'what it is to people: grant, refund of what was spent, correction of other rows, or budget (a recurring one)';
COMMENT ON COLUMN yquota.quota_grant.booked_at IS
	'clock when it was given: nothing spent before was spent from it; -infinity in rows of earlier versions';
CREATE INDEX container_application_id_idx ON yquota.container
	USING brin (application_id text_bloom_ops (n_distinct_per_range = 360, false_positive_rate = 0.005))
	WITH (pages_per_range = 64, autosummarize = on);
COMMENT ON COLUMN yquota.container.label IS 'partition that its node is in, or was when it was last known';
CREATE INDEX charge_time_idx ON yquota.charge USING brin ("to", "from", booked_at) WITH (pages_per_range = 32);
CREATE INDEX charge_application_id_idx ON yquota.charge
	USING brin (application_id text_bloom_ops (n_distinct_per_range = 2400, false_positive_rate = 0.005))
	WITH (pages_per_range = 64, autosummarize = on);
COMMENT ON COLUMN yquota.charge.settled_by IS 'event that ended the segment: CONTAINER_UPDATE or CONTAINER_FINISH; QUOTA_COMPUTE where a closed period ended';
CREATE OR REPLACE VIEW yquota_internal.charge_in_effect AS
	SELECT charge.*
	FROM yquota.charge AS charge
	WHERE charge.corrects IS NULL
	  AND NOT EXISTS (SELECT FROM yquota.charge AS taken_back
					  WHERE taken_back.container_id = charge.container_id
						AND taken_back.corrects = charge.number);
COMMENT ON COLUMN yquota_internal.running_reference.priced_through IS
	'latest instant whose price the accrual bases contain: reference_at, or the hour of containers that were settled ahead of the clock';
COMMENT ON COLUMN yquota_internal.running_reference.pricing_version IS
	'newest pricing_change seen; when a later one bears on what was before priced_through, nothing holds either';
CREATE OR REPLACE FUNCTION yquota.clock() RETURNS timestamptz
LANGUAGE C VOLATILE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_clock';
CREATE OR REPLACE FUNCTION yquota.statement_clock() RETURNS timestamptz
LANGUAGE C STABLE PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_statement_clock';
CREATE OR REPLACE FUNCTION yquota_internal.note_clock_setting() RETURNS trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_note_clock_setting';
CREATE OR REPLACE FUNCTION yquota.set_clock(at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF at IS NULL THEN
		RAISE null_value_not_allowed
			USING MESSAGE = 'the clock cannot be set to null',
				  HINT = 'Call yquota.reset_clock() to go back to the system''s clock.';
	ELSIF NOT isfinite(at) THEN
		RAISE datetime_field_overflow
			USING MESSAGE = format('the clock cannot be set to %s', at);
	END IF;
	INSERT INTO yquota_internal.clock_setting AS setting (at)
	VALUES (set_clock.at)
	ON CONFLICT (only_row) DO UPDATE SET at = excluded.at
	WHERE setting.at IS DISTINCT FROM excluded.at;
END
$$;
CREATE OR REPLACE FUNCTION yquota.reset_clock() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	DELETE FROM yquota_internal.clock_setting;
$$;
CREATE TABLE yquota.role_grant (
	role name NOT NULL,
	role_oid oid NOT NULL,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('operator', 'viewer', 'member', 'admin')),
	project text COLLATE "C" REFERENCES yquota.project ON UPDATE CASCADE ON DELETE CASCADE,
	granted_by name NOT NULL DEFAULT session_user,
	granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	CHECK ((kind = 'member') = (project IS NOT NULL)),
	UNIQUE NULLS NOT DISTINCT (role, role_oid, kind, project)
);
COMMENT ON TABLE yquota.role_grant IS
	'What roles are to yquota: written by grant_operator(), grant_viewer(), grant_member(), grant_admin() and their counterparts';
COMMENT ON COLUMN yquota.role_grant.role IS 'name of the role; a role that is renamed loses what it was granted here';
COMMENT ON COLUMN yquota.role_grant.role_oid IS 'OID of the role, which a role made anew under the same name does not have; after a restore that of the new server, 0 when the role did not exist';
COMMENT ON COLUMN yquota.role_grant.kind IS 'operator inserts events, viewer reads reports of all projects, member those of one project, admin configures and reads all';
COMMENT ON COLUMN yquota.role_grant.project IS 'what a member may read; NULL for the other kinds';
CREATE OR REPLACE FUNCTION yquota_internal.reads_all() RETURNS boolean
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_reads_all';
COMMENT ON FUNCTION yquota_internal.reads_all() IS
	'Whether whoever asks may see every project';
CREATE OR REPLACE FUNCTION yquota_internal.readable_projects() RETURNS text[]
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_readable_projects';
COMMENT ON FUNCTION yquota_internal.readable_projects() IS
	'The projects that whoever asks is a member of, and those that descend from them; he sees more when reads_all()';
CREATE OR REPLACE FUNCTION yquota_internal.acting_role() RETURNS name
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_acting_role';
COMMENT ON FUNCTION yquota_internal.acting_role() IS
	'The current user; in a function that runs as the owner for somebody, the current user of his call';
CREATE OR REPLACE FUNCTION yquota_internal.acts_as(kind text) RETURNS boolean
	LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_acts_as';
COMMENT ON FUNCTION yquota_internal.acts_as(text) IS
	'Whether whoever asks is a role of that kind (role_grant) or in one, or has the rights of the owner';
CREATE OR REPLACE FUNCTION yquota_internal.acting_groups() RETURNS text[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT coalesce(array_agg(r.rolname::text ORDER BY r.rolname), '{}') FROM pg_roles AS r
		WHERE r.rolname <> yquota_internal.acting_role()
		  AND pg_has_role(yquota_internal.acting_role(), r.oid, 'USAGE');
	END;
COMMENT ON FUNCTION yquota_internal.acting_groups() IS
	'The roles that whoever asks is in, with their privileges: his groups where lists of Hadoop name users and groups';
SELECT pg_extension_config_dump('yquota.role_grant', '');
CREATE TABLE yquota_internal.project_family (
	ancestor text COLLATE "C" NOT NULL REFERENCES yquota.project ON UPDATE CASCADE ON DELETE CASCADE,
	member text COLLATE "C" NOT NULL REFERENCES yquota.project ON UPDATE CASCADE ON DELETE CASCADE,
	depth integer NOT NULL CHECK (depth BETWEEN 1 AND 15),
	PRIMARY KEY (member, ancestor)
);
CREATE INDEX project_family_ancestor_idx ON yquota_internal.project_family (ancestor);
COMMENT ON TABLE yquota_internal.project_family IS
	'Projects and all that descend from them, as project.parent says.  Written by the triggers of project only';
COMMENT ON COLUMN yquota_internal.project_family.depth IS 'steps from the member to the ancestor: 1 for its parent';
CREATE OR REPLACE FUNCTION yquota_internal.project_line(members text[])
	RETURNS TABLE (ancestor text, member text, depth integer)
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
		-- one step more than there may be, which also ends a circle
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
	'Ancestors of projects, or of all (NULL), found by project.parent; with a depth of 16 where there are too many';
REVOKE ALL ON FUNCTION yquota_internal.project_line(text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_move(moved text[]) RETURNS void
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
				HINT = 'What it has spent counts for its ancestors. Insert a new project with the other parent.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_move(text[]) IS
	'Fail when one of some projects has spent or held credit';
REVOKE ALL ON FUNCTION yquota_internal.check_move(text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_line(members text[]) RETURNS void
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
	'Fail when the parents of projects go round in a circle, or are too many';
REVOKE ALL ON FUNCTION yquota_internal.check_line(text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.keep_families() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	moved text[];
BEGIN
	-- a dump brings its own families
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
	-- what others have moved, held and charged must be seen
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot give a project a parent at isolation level %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	END IF;
	IF TG_OP = 'UPDATE' THEN
		PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event IN SHARE ROW EXCLUSIVE MODE', 120);
	END IF;
	-- one at a time, and not while credit is decided about; readers go on
	LOCK TABLE yquota_internal.project_family IN SHARE ROW EXCLUSIVE MODE;
	IF TG_OP = 'UPDATE' THEN
		moved := ARRAY(SELECT unnest(moved) UNION
					   SELECT family.member FROM yquota_internal.project_family AS family WHERE family.ancestor = ANY (moved));
		PERFORM yquota_internal.check_move(moved);
		DELETE FROM yquota_internal.project_family AS family WHERE family.member = ANY (moved);
	END IF;
	PERFORM yquota_internal.check_line(moved);
	INSERT INTO yquota_internal.project_family (ancestor, member, depth)
	SELECT line.ancestor, line.member, line.depth FROM yquota_internal.project_line(moved) AS line;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_families() IS
	'Have project_family follow the parents of projects, and refuse those that cannot be';
REVOKE ALL ON FUNCTION yquota_internal.keep_families() FROM PUBLIC;
CREATE OR REPLACE TRIGGER insert_family AFTER INSERT ON yquota.project
	REFERENCING NEW TABLE AS new_projects
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.keep_families();
CREATE OR REPLACE TRIGGER update_family AFTER UPDATE ON yquota.project
	REFERENCING OLD TABLE AS old_projects NEW TABLE AS new_projects
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.keep_families();
SELECT pg_extension_config_dump('yquota_internal.project_family', '');
CREATE OR REPLACE FUNCTION yquota_internal.accrued(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz)
RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_accrued';
CREATE OR REPLACE FUNCTION yquota_internal.dominant(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz)
RETURNS text
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_dominant';
CREATE OR REPLACE FUNCTION yquota_internal.rate(
	allocation yquota.resource, factors text[], at timestamptz)
RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_rate';
CREATE OR REPLACE FUNCTION yquota_internal.price_stretches(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz,
	OUT since timestamptz, OUT until timestamptz, OUT prices jsonb, OUT factors_in_force jsonb,
	OUT factor numeric, OUT forgiven boolean, OUT dominant text, OUT rate numeric,
	OUT amount numeric)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'yq_sql_price_stretches';
COMMENT ON FUNCTION yquota_internal.price_stretches(yquota.resource, text[], timestamptz, timestamptz) IS
	'What accrued() adds up: a row per stretch in which no price of what is held and no factor changes, one row for an empty stretch';
CREATE OR REPLACE FUNCTION yquota_internal.set_columns(of_row record)
RETURNS jsonb
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_set_columns';
COMMENT ON FUNCTION yquota_internal.set_columns(record) IS
	'A row as an object of its columns that are not NULL: what to_jsonb() makes of it, without those, in a fraction of the time';
CREATE OR REPLACE FUNCTION yquota_internal.shape(allocation yquota.resource)
RETURNS yquota.resource
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_shape';
CREATE OR REPLACE FUNCTION yquota_internal.weight(allocation yquota.resource)
RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_weight';
CREATE OR REPLACE FUNCTION yquota_internal.factor_names(
	project text, application_id text, username text, queue text,
	execution_type yquota.execution_type)
RETURNS text[]
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_factor_names';
CREATE OR REPLACE FUNCTION yquota_internal.divide_half_even(
	numerator numeric, denominator numeric, decimals integer)
RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_divide_half_even';
CREATE OR REPLACE FUNCTION yquota_internal.invalidate_prices()
RETURNS trigger
LANGUAGE c
AS 'MODULE_PATHNAME', 'yq_sql_invalidate_prices';
CREATE OR REPLACE FUNCTION yquota_internal.refuse_change() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'cannot change table "%"', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = TG_ARGV[0];
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_change() IS
	'Trigger of tables that are only added to; its argument says why';
REVOKE ALL ON FUNCTION yquota_internal.refuse_change() FROM PUBLIC;
CREATE TABLE yquota.closed_period (
	until timestamptz PRIMARY KEY CHECK (isfinite(until)),
	begun_at timestamptz NOT NULL,
	closed_at timestamptz,
	amount numeric,
	closed_by name NOT NULL DEFAULT session_user,
	CHECK ((closed_at IS NULL) = (amount IS NULL))
);
COMMENT ON TABLE yquota.closed_period IS
	'Ends of billing periods that close_period() has closed, or is closing.  Append-only';
COMMENT ON COLUMN yquota.closed_period.until IS 'end of the period; it begins where the one before ends';
COMMENT ON COLUMN yquota.closed_period.begun_at IS 'clock since when no charge crosses the end';
COMMENT ON COLUMN yquota.closed_period.closed_at IS 'latest booked_at of what the bill contains; NULL until it is closed';
COMMENT ON COLUMN yquota.closed_period.amount IS 'credits for what ran in the period, all projects, as booked by then';
CREATE OR REPLACE TRIGGER keep BEFORE DELETE OR TRUNCATE ON yquota.closed_period
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');
CREATE OR REPLACE TRIGGER keep_closed BEFORE UPDATE ON yquota.closed_period
	FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL)
	EXECUTE FUNCTION yquota_internal.refuse_change('Bills of the period have been issued.');
CREATE OR REPLACE VIEW yquota_internal.unsettled_at_period_end AS
	SELECT period.until, container.container_id
	FROM yquota.closed_period AS period
	JOIN yquota.container ON container.settled_at < period.until
	UNION ALL
	SELECT period.until, charge.container_id
	FROM yquota.closed_period AS period
	JOIN yquota_internal.charge_in_effect AS charge
		ON charge."from" < period.until AND charge."to" > period.until;
COMMENT ON VIEW yquota_internal.unsettled_at_period_end IS
	'Containers whose charges, or what they owe, cross the end of a period';
SELECT pg_extension_config_dump('yquota.closed_period', '');
CREATE TABLE yquota.resource_request (
	application_id text COLLATE "C" NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	resource_name text COLLATE "C" NOT NULL CHECK (resource_name <> '' AND octet_length(resource_name) <= 255),
	count integer NOT NULL CHECK (count >= 0),
	allocation yquota.resource NOT NULL,
	relax_locality boolean NOT NULL,
	label text COLLATE "C" CHECK ((label IS NOT NULL) = (resource_name = '*')),
	execution_type yquota.execution_type NOT NULL CHECK (execution_type = 'GUARANTEED'),
	PRIMARY KEY (application_id, priority, allocation_request_id, resource_name)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota.resource_request IS
	'What applications ask for and have not got yet; written by request_containers() and the scheduler';
COMMENT ON COLUMN yquota.resource_request.priority IS 'the smaller number comes first';
COMMENT ON COLUMN yquota.resource_request.allocation_request_id IS 'told apart from other requests of the same priority by it; -1: the application master gave none';
COMMENT ON COLUMN yquota.resource_request.resource_name IS 'a node, a rack, or * for anywhere: its count is how many containers are wanted in all';
COMMENT ON COLUMN yquota.resource_request.allocation IS 'of one container, native units, in whole steps of the minimum allocation';
COMMENT ON COLUMN yquota.resource_request.relax_locality IS 'whether a container for what is asked for more closely may be here';
COMMENT ON COLUMN yquota.resource_request.label IS 'partition of the nodes, of all that is asked for with this priority and id; empty for the default one';
CREATE TABLE yquota.blacklist (
	application_id text COLLATE "C" NOT NULL,
	resource_name text COLLATE "C" NOT NULL CHECK (resource_name <> '' AND octet_length(resource_name) <= 255),
	PRIMARY KEY (application_id, resource_name)
);
COMMENT ON TABLE yquota.blacklist IS
	'Nodes and racks that applications want no containers on; written by update_blacklist()';
CREATE TABLE yquota.reservation (
	node text COLLATE "C" PRIMARY KEY,
	application_id text COLLATE "C" NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	container_id text COLLATE "C" NOT NULL,
	label text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	reserved_at timestamptz NOT NULL,
	container_to_update text COLLATE "C"
);
CREATE INDEX reservation_application_id_idx ON yquota.reservation (application_id);
COMMENT ON TABLE yquota.reservation IS
	'Nodes that are kept for an application until they have room for its container; counts as used by its queue';
COMMENT ON COLUMN yquota.reservation.priority IS 'of the request that it is for';
COMMENT ON COLUMN yquota.reservation.allocation_request_id IS 'likewise';
COMMENT ON COLUMN yquota.reservation.container_id IS 'of the container that is to be there';
COMMENT ON COLUMN yquota.reservation.label IS 'partition of the node when it was reserved';
COMMENT ON COLUMN yquota.reservation.allocation IS 'native units';
COMMENT ON COLUMN yquota.reservation.container_to_update IS 'the running container that it is to be added to; NULL: it is for a new one';
CREATE TABLE yquota.container_update (
	container_id text COLLATE "C" PRIMARY KEY,
	application_id text COLLATE "C" NOT NULL,
	update_type text NOT NULL CHECK (update_type IN ('INCREASE_RESOURCE', 'PROMOTE_EXECUTION_TYPE')),
	node text COLLATE "C" NOT NULL,
	label text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	requested_at timestamptz NOT NULL,
	opportunities bigint NOT NULL DEFAULT 0 CHECK (opportunities >= 0),
	missed_non_partitioned bigint NOT NULL DEFAULT 0 CHECK (missed_non_partitioned >= 0),
	re_reservations bigint NOT NULL DEFAULT 0 CHECK (re_reservations >= 0)
) WITH (fillfactor = 50);
CREATE INDEX container_update_application_id_idx ON yquota.container_update (application_id);
COMMENT ON TABLE yquota.container_update IS
	'Running containers that are to have more, or to become GUARANTEED, when their nodes have room; written by update_container() and the scheduler';
COMMENT ON COLUMN yquota.container_update.update_type IS 'YARN''s ContainerUpdateType';
COMMENT ON COLUMN yquota.container_update.node IS 'where the container runs: it can be served nowhere else';
COMMENT ON COLUMN yquota.container_update.label IS 'partition that is asked for; empty for the default one';
COMMENT ON COLUMN yquota.container_update.allocation IS 'what it needs beyond what its queue is charged with now, native units';
COMMENT ON COLUMN yquota.container_update.priority IS 'of the container, among updates; the smaller number comes first';
COMMENT ON COLUMN yquota.container_update.allocation_request_id IS 'of the container, likewise';
COMMENT ON COLUMN yquota.container_update.opportunities IS 'times that its node was offered';
COMMENT ON COLUMN yquota.container_update.missed_non_partitioned IS 'chances missed, of nodes that the default partition shares';
COMMENT ON COLUMN yquota.container_update.re_reservations IS 'times that its node was reserved and still had no room';
CREATE TABLE yquota_internal.container_version (
	container_id text COLLATE "C" PRIMARY KEY,
	application_id text COLLATE "C" NOT NULL,
	version integer NOT NULL CHECK (version > 0),
	previous_allocation yquota.resource
) WITH (fillfactor = 50);
CREATE INDEX container_version_application_id_idx ON yquota_internal.container_version (application_id);
COMMENT ON TABLE yquota_internal.container_version IS
	'How often containers were updated by update_container() and the scheduler: their versions; those that are not here have version 0';
COMMENT ON COLUMN yquota_internal.container_version.previous_allocation IS
	'what it goes back to when nobody acknowledges its last increase, native units; NULL: it does not';
CREATE TABLE yquota.decision (
	decision_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	decision text NOT NULL CHECK (decision IN ('allocated', 'reserved', 'unreserved', 'swapped', 'increased', 'promoted')),
	container_id text COLLATE "C" NOT NULL,
	application_id text COLLATE "C" NOT NULL,
	queue text COLLATE "C" NOT NULL,
	node text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	locality text CHECK (locality IN ('NODE_LOCAL', 'RACK_LOCAL', 'OFF_SWITCH')),
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	unreserved_node text COLLATE "C" CHECK ((unreserved_node IS NOT NULL) = (decision = 'swapped')),
	decided_at timestamptz NOT NULL
);
CREATE INDEX decision_container_id_idx ON yquota.decision (container_id);
COMMENT ON TABLE yquota.decision IS
	'What the scheduler decided and nobody has acknowledged yet: containers in it are released after yquota.allocation_expiry';
COMMENT ON COLUMN yquota.decision.decision IS
	'allocated: a container starts; swapped: likewise, and the reservation of another node is given up for it; reserved, unreserved: a node is kept for it, or no longer; increased, promoted: a running container has more now, or is GUARANTEED';
COMMENT ON COLUMN yquota.decision.queue IS 'full path of the leaf';
COMMENT ON COLUMN yquota.decision.allocation IS 'of the container, native units; of a reservation for a running container what is to be added';
COMMENT ON COLUMN yquota.decision.locality IS 'how close to what was asked for; NULL when nothing starts';
COMMENT ON COLUMN yquota.decision.priority IS 'of the request that it is for';
COMMENT ON COLUMN yquota.decision.allocation_request_id IS 'likewise';
COMMENT ON COLUMN yquota.decision.unreserved_node IS 'whose reservation was given up';
CREATE TABLE yquota_internal.request_counter (
	application_id text COLLATE "C" NOT NULL,
	priority integer NOT NULL,
	allocation_request_id bigint NOT NULL,
	opportunities bigint NOT NULL CHECK (opportunities >= 0),
	missed_non_partitioned bigint NOT NULL CHECK (missed_non_partitioned >= 0),
	re_reservations bigint NOT NULL CHECK (re_reservations >= 0),
	PRIMARY KEY (application_id, priority, allocation_request_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.request_counter IS
	'What the scheduler counts of requests with one priority and id, for delays; stays when they are served';
COMMENT ON COLUMN yquota_internal.request_counter.opportunities IS 'nodes offered since the last container that was close enough';
COMMENT ON COLUMN yquota_internal.request_counter.missed_non_partitioned IS 'chances missed since the last container in the default partition';
COMMENT ON COLUMN yquota_internal.request_counter.re_reservations IS 'times that a reserved node still had no room';
CREATE TABLE yquota_internal.application_attempt (
	application_id text COLLATE "C" PRIMARY KEY,
	attempt integer NOT NULL CHECK (attempt > 0),
	next_container bigint NOT NULL CHECK (next_container > 0),
	am_container_id text COLLATE "C",
	placed_memory bigint CHECK (placed_memory >= 0),
	placed_pending bigint NOT NULL DEFAULT 0 CHECK (placed_pending >= 0),
	uncounted_memory bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.application_attempt IS
	'How far applications that the scheduler has served have got with their containers; stays when they end, since their ids may be submitted again';
COMMENT ON COLUMN yquota_internal.application_attempt.attempt IS 'number of the application master, from 1 on; part of the names of containers';
COMMENT ON COLUMN yquota_internal.application_attempt.next_container IS 'number of the container that comes next';
COMMENT ON COLUMN yquota_internal.application_attempt.am_container_id IS 'container of the application master; NULL: it has none';
COMMENT ON COLUMN yquota_internal.application_attempt.placed_memory IS 'MiB that it held when it got its place in fair order; NULL: its place is where what it holds puts it';
COMMENT ON COLUMN yquota_internal.application_attempt.placed_pending IS 'MiB that it waited for then';
COMMENT ON COLUMN yquota_internal.application_attempt.uncounted_memory IS 'MiB that have come, or (negative) gone, since without moving it: by fulfilled reservations, and before its priority was changed';
CREATE TABLE yquota_internal.am_limit (
	queue text COLLATE "C" PRIMARY KEY,
	amounts yquota.resource CHECK (queue = 'root' OR amounts IS NOT NULL)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.am_limit IS
	'How much application masters may use of leaves in the default partition, by what was left to a leaf when an application of it was last looked at for containers, or when the cluster changed; leaves without a row have what follows when nothing is used.  As long as there is no row of root, no pass has looked at anything, and what is used now decides';
COMMENT ON COLUMN yquota_internal.am_limit.amounts IS 'native units; of root: NULL when the cluster has changed and all is to be computed again';
CREATE OR REPLACE FUNCTION yquota_internal.demand_accum(internal, yquota.resource, bigint) RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_demand_accum';
COMMENT ON FUNCTION yquota_internal.demand_accum(internal, yquota.resource, bigint) IS
	'demand(): adds a vector so many times';
REVOKE ALL ON FUNCTION yquota_internal.demand_accum(internal, yquota.resource, bigint) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.demand_final(internal) RETURNS yquota.resource
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_demand_final';
COMMENT ON FUNCTION yquota_internal.demand_final(internal) IS
	'demand(): result of the sum';
REVOKE ALL ON FUNCTION yquota_internal.demand_final(internal) FROM PUBLIC;
CREATE OR REPLACE AGGREGATE yquota_internal.demand(yquota.resource, bigint) (
	SFUNC = yquota_internal.demand_accum,
	STYPE = internal,
	FINALFUNC = yquota_internal.demand_final,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE yquota_internal.demand(yquota.resource, bigint) IS
	'Sum of vectors, each so many times; the largest amount where it does not fit, since what is asked for has no bounds';
CREATE OR REPLACE FUNCTION yquota_internal.requested_resources() RETURNS yquota.resource
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE((SELECT yquota_internal.demand(w.allocation, w.times) FROM yquota_internal.waiting_request AS w), '[]');
END
$$;
COMMENT ON FUNCTION yquota_internal.requested_resources() IS
	'What applications ask for and have not got, more for running containers and those application masters included that are asked for by themselves; native units';
REVOKE ALL ON FUNCTION yquota_internal.requested_resources() FROM PUBLIC;
SELECT pg_extension_config_dump('yquota.resource_request', '');
SELECT pg_extension_config_dump('yquota.blacklist', '');
SELECT pg_extension_config_dump('yquota.reservation', '');
SELECT pg_extension_config_dump('yquota.container_update', '');
SELECT pg_extension_config_dump('yquota.decision', '');
SELECT pg_extension_config_dump('yquota.decision_decision_id_seq', '');
SELECT pg_extension_config_dump('yquota_internal.request_counter', '');
SELECT pg_extension_config_dump('yquota_internal.application_attempt', '');
SELECT pg_extension_config_dump('yquota_internal.am_limit', '');
SELECT pg_extension_config_dump('yquota_internal.container_version', '');
CREATE OR REPLACE FUNCTION yquota_internal.restoring() RETURNS boolean
	LANGUAGE c STABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_restoring';
CREATE OR REPLACE FUNCTION yquota_internal.duration(setting_name text) RETURNS interval
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	-- before the library is loaded, which the clock does, it has no settings
	RETURN CASE WHEN yquota.statement_clock() IS NOT NULL THEN
		((extract(epoch FROM current_setting(setting_name)::interval) * 1000)::bigint
		 || ' milliseconds')::interval END;
CREATE OR REPLACE FUNCTION yquota_internal.lock_pricing() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.last_event_at() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT max(f.last_event_at)
			FROM (SELECT last_event_at FROM yquota_internal.feed_counter
				  UNION ALL
				  SELECT last_event_at FROM yquota_internal.counter_delta
				  WHERE scope IN ('a', 'f')) AS f);
CREATE OR REPLACE FUNCTION yquota_internal.settled_at_most() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT max(greatest(f.last_event_at, f.last_recorded_at))
			FROM (SELECT last_event_at, last_recorded_at FROM yquota_internal.feed_counter
				  UNION ALL
				  SELECT last_event_at, recorded_at FROM yquota_internal.counter_delta
				  WHERE scope IN ('a', 'f')) AS f);
CREATE OR REPLACE FUNCTION yquota_internal.settled_after(instant timestamptz) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_detail text;
	mark timestamptz := (SELECT max(at) FROM yquota_internal.charged_through);
BEGIN
	SELECT format('Container "%s" has been charged from %s to %s.',
				  c.container_id, c."from", c."to")
	INTO found_detail
	FROM yquota_internal.charge_in_effect AS c
	WHERE c."to" >= instant
	  -- padding is charged at the price of the very end
	  AND (c.padding IS NOT NULL OR (c."to" > instant AND c."to" > c."from"))
	LIMIT 1;
	IF found_detail IS NULL AND mark > instant THEN
		SELECT format('Container "%s" has been running since %s, and its cost until %s has been shown.',
					  c.container_id, c.settled_at, mark)
		INTO found_detail
		FROM yquota.container AS c
		WHERE c.settled_at < mark
		LIMIT 1;
	END IF;
	RETURN found_detail;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_past_change(
	what text, instant timestamptz, found_detail text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF found_detail IS NOT NULL THEN
		RAISE EXCEPTION 'cannot change % at % because that would change what has been charged',
				what, instant
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = found_detail,
				HINT = 'Change it from now on, or give credit back with yquota.quota_grant.';
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.check_past_point(effective_at timestamptz, what text)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF effective_at < yquota.statement_clock() THEN
		PERFORM yquota_internal.refuse_past_change(what, effective_at,
												   yquota_internal.settled_after(effective_at));
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.check_past_rule(
	rule_effective_at timestamptz, what text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	next_rule_at timestamptz := (SELECT min(r.effective_at) FROM yquota.charging_rule AS r
								 WHERE r.effective_at > rule_effective_at);
	found_detail text;
BEGIN
	IF rule_effective_at >= yquota.statement_clock() THEN
		RETURN;
	END IF;
	SELECT format('Container "%s", started at %s, has been charged at its finish at %s.',
				  c.container_id, c.started_at, c."to")
	INTO found_detail
	FROM yquota_internal.charge_in_effect AS c
	WHERE c.settled_by = 'CONTAINER_FINISH'
	  AND c."to" >= rule_effective_at
	  AND c.started_at >= rule_effective_at
	  AND (next_rule_at IS NULL OR c.started_at < next_rule_at)
	LIMIT 1;
	PERFORM yquota_internal.refuse_past_change(what, rule_effective_at, found_detail);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.note_pricing_change(
	effective_from timestamptz, description text, rebase boolean DEFAULT false) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.lock_pricing();
	IF effective_from < yquota_internal.archive_horizon() THEN
		PERFORM yquota_internal.refuse_past_change(
			'prices, rules or outages', effective_from,
			format('History before %s has been archived.', yquota_internal.archive_horizon()));
	END IF;
	BEGIN
		INSERT INTO yquota.pricing_change (version, effective_from, description)
		SELECT COALESCE(max(p.version), 0) + 1, note_pricing_change.effective_from,
			   left(note_pricing_change.description, 500)
		FROM yquota.pricing_change AS p;
	EXCEPTION WHEN unique_violation THEN
		-- the transaction's snapshot is older than somebody else's change
		RAISE EXCEPTION 'could not serialize access due to a concurrent change of prices'
			USING ERRCODE = 'serialization_failure',
				HINT = 'The transaction might succeed if retried.';
	END;
	-- a price that cannot be formed would keep everything from being charged
	BEGIN
		PERFORM yquota_internal.rate(
			yquota.resource(jsonb_build_object(t.name, 1)), NULL,
			greatest(least(effective_from, yquota.statement_clock()), '1970-01-01 00:00+00'))
		FROM yquota.resource_type AS t
		LIMIT 1;
	EXCEPTION WHEN numeric_value_out_of_range THEN
		RAISE EXCEPTION 'price is out of range'
			USING ERRCODE = 'numeric_value_out_of_range',
				DETAIL = format('The change was: %s.', description),
				HINT = 'A multiplier times a base price is at most 3 * 10^20 credits per native unit and second.';
	END;
	IF rebase THEN
		-- containers started since the snapshot was taken would be missed
		IF current_setting('transaction_isolation') <> 'read committed' THEN
			RAISE EXCEPTION 'factors and outages of projects cannot come or go at isolation level %',
					upper(current_setting('transaction_isolation'))
				USING ERRCODE = 'feature_not_supported',
					DETAIL = format('The change was: %s.', description),
					HINT = 'Use a transaction of isolation level READ COMMITTED.';
		END IF;
		LOCK TABLE yquota.container_event IN SHARE ROW EXCLUSIVE MODE;
		PERFORM yquota_internal.rebase_running();
	END IF;
	IF effective_from <= yquota_internal.settled_at_most() THEN
		PERFORM yquota_internal.correct_prices_since(effective_from);
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.lock_pricing_trigger() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.lock_pricing();
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.record_who() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NEW;
	END IF;
	IF TG_TABLE_NAME = 'quota_grant' THEN
		NEW.granted_by := session_user;
		NEW.granted_at := clock_timestamp();
		NEW.booked_at := CASE TG_OP WHEN 'INSERT' THEN yquota.statement_clock() ELSE OLD.booked_at END;
	ELSE
		NEW.set_by := session_user;
		NEW.set_at := clock_timestamp();
	END IF;
	RETURN NEW;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_truncate() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'cannot truncate table "%"', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = 'Amounts are computed from its rows.',
			HINT = 'Use DELETE, which refuses only what has been used.';
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.price_group_begin_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		INSERT INTO yquota.price (price_group, effective_at, multiplier)
		VALUES (NEW.name, '-infinity', 1);
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.resource_type_begin_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit)
		VALUES (NEW.name, '-infinity', NEW.base_price, NEW.unit);
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.make_room_for_restore() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring()
		AND NOT EXISTS (
			(SELECT * FROM yquota.price_group
			 EXCEPT VALUES ('GENERAL', 0.2, 1, NULL::numeric, false), ('GPU', 0.2, 1, NULL, false))
			UNION ALL
			(VALUES ('GENERAL', 0.2, 1, NULL::numeric, false), ('GPU', 0.2, 1, NULL, false)
			 EXCEPT SELECT * FROM yquota.price_group))
		AND NOT EXISTS (
			(SELECT * FROM yquota.resource_type
			 EXCEPT VALUES ('memory-mb', 'GENERAL', 1, 1024), ('vcores', 'GENERAL', 1, 1),
				('yarn.io/gpu', 'GPU', 1, 1))
			UNION ALL
			(VALUES ('memory-mb', 'GENERAL', 1, 1024), ('vcores', 'GENERAL', 1, 1),
				('yarn.io/gpu', 'GPU', 1, 1)
			 EXCEPT SELECT * FROM yquota.resource_type))
		AND NOT EXISTS (SELECT FROM yquota.price
						WHERE effective_at <> '-infinity' OR multiplier <> 1)
		AND NOT EXISTS (SELECT FROM yquota.base_price WHERE effective_at <> '-infinity')
	THEN
		DELETE FROM yquota.resource_type;
		DELETE FROM yquota.price_group;
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.resource_type_use(type_name text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT format('Container "%s" holds it.', container_id)
		 FROM yquota.container WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Container "%s" has been charged for it from %s to %s.',
					   container_id, "from", "to")
		 FROM yquota.charge WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Event %s of container "%s" names it.', event, container_id)
		 FROM yquota.container_event WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1));
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.keep_price_group() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'DELETE' AND OLD.name = 'GENERAL' THEN
		RAISE EXCEPTION 'cannot delete price group "GENERAL"'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'It is the floor of every other price group.';
	ELSIF TG_OP = 'UPDATE' AND NEW.name <> OLD.name THEN
		RAISE EXCEPTION 'cannot rename price group "%"', OLD.name
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Insert a new price group and move the resource types to it.';
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.note_price_group() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.note_pricing_change(
			yquota.statement_clock(), format('price group deleted: %s', OLD.name));
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.keep_resource_type() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_use text;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'INSERT' THEN
		-- the input of resource knows which names are possible and which are aliases
		IF (SELECT name FROM yquota.resource_entries(
				yquota.resource(jsonb_build_object(NEW.name, 1)))) <> NEW.name THEN
			RAISE EXCEPTION 'resource type "%" is an alias', NEW.name
				USING ERRCODE = 'invalid_parameter_value',
					HINT = format('Its name in allocations is "%s".',
						(SELECT name FROM yquota.resource_entries(
							yquota.resource(jsonb_build_object(NEW.name, 1)))));
		END IF;
		RETURN NEW;
	END IF;
	IF TG_OP = 'DELETE' THEN
		found_use := yquota_internal.resource_type_use(OLD.name);
		IF found_use IS NOT NULL THEN
			RAISE EXCEPTION 'cannot delete resource type "%" because containers have used it', OLD.name
				USING ERRCODE = 'foreign_key_violation',
					DETAIL = found_use,
					HINT = 'Set its base price to 0 to stop charging for it.';
		END IF;
		RETURN OLD;
	END IF;
	IF NEW.name <> OLD.name THEN
		RAISE EXCEPTION 'cannot rename resource type "%"', OLD.name
			USING ERRCODE = 'feature_not_supported',
				HINT = 'Insert a resource type with the new name.';
	END IF;
	IF NEW.price_group <> OLD.price_group THEN
		found_use := yquota_internal.resource_type_charge(OLD.name);
		IF found_use IS NOT NULL THEN
			RAISE EXCEPTION 'cannot move resource type "%" to price group "%" because that would change what has been charged',
					OLD.name, NEW.price_group
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = found_use,
					HINT = 'A resource type belongs to one price group for all time.';
		END IF;
	END IF;
	RETURN NEW;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.resource_type_charge(type_name text) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT format('Container "%s" has been charged for it from %s to %s.',
					   container_id, "from", "to")
		 FROM yquota.charge WHERE yquota.amount(allocation, type_name) <> 0 LIMIT 1),
		(SELECT format('Container "%s" has been running since %s, and its cost until %s has been shown.',
					   c.container_id, c.settled_at, m.mark)
		 FROM yquota.container AS c,
			  (SELECT max(at) AS mark FROM yquota_internal.charged_through) AS m
		 WHERE yquota.amount(c.allocation, type_name) <> 0 AND c.settled_at < m.mark
		 LIMIT 1));
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.base_price_at(
	type_name text, instant timestamptz, OUT base_price numeric, OUT unit bigint)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT b.base_price, b.unit
		FROM yquota.base_price AS b
		WHERE b.resource_type = type_name AND b.effective_at <= instant
		ORDER BY b.effective_at DESC
		LIMIT 1;
	END;
CREATE OR REPLACE FUNCTION yquota_internal.note_resource_type() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	clock timestamptz := yquota.statement_clock();
	in_force record;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'DELETE' THEN
		PERFORM yquota_internal.note_pricing_change(
			clock, format('resource type deleted: %s', OLD.name));
		RETURN NULL;
	END IF;
	IF NEW.price_group <> OLD.price_group THEN
		-- nothing was settled or shown, but running containers may hold it
		PERFORM yquota_internal.note_pricing_change(
			CASE WHEN yquota_internal.resource_type_use(NEW.name) IS NULL THEN clock
				 ELSE '-infinity' END,
			format('resource type %s moved to price group %s', NEW.name, NEW.price_group));
	END IF;
	in_force := yquota_internal.base_price_at(NEW.name, clock);
	IF (NEW.base_price, NEW.unit) IS DISTINCT FROM (in_force.base_price, in_force.unit) THEN
		INSERT INTO yquota.base_price (resource_type, effective_at, base_price, unit)
		VALUES (NEW.name, clock, NEW.base_price, NEW.unit)
		ON CONFLICT (resource_type, effective_at) DO UPDATE
			SET base_price = EXCLUDED.base_price, unit = EXCLUDED.unit;
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.keep_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	what text := TG_ARGV[0];
	changed_at timestamptz;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP <> 'DELETE' THEN
		IF NEW.effective_at = 'infinity' THEN
			RAISE EXCEPTION 'cannot set % at infinity', what
				USING ERRCODE = 'datetime_field_overflow';
		END IF;
		NEW.set_by := session_user;
		NEW.set_at := clock_timestamp();
		IF TG_TABLE_NAME = 'price_factor' THEN
			-- a name that is no execution type would never match
			PERFORM NEW.name::yquota.execution_type WHERE NEW.dimension = 'execution_type';
		END IF;
	END IF;

	-- The first point comes and goes with the row that the timeline is for.
	IF TG_TABLE_NAME IN ('price', 'base_price') THEN
		IF TG_OP = 'INSERT' THEN
			IF NOT yquota_internal.has_timeline(TG_TABLE_NAME, to_jsonb(NEW)) THEN
				RETURN NEW;
			END IF;
		ELSIF OLD.effective_at = '-infinity' AND NOT yquota_internal.has_owner(TG_TABLE_NAME, to_jsonb(OLD)) THEN
			RETURN OLD;
		ELSIF OLD.effective_at = '-infinity' AND (TG_OP = 'DELETE' OR NEW.effective_at <> '-infinity') THEN
			RAISE EXCEPTION 'cannot remove % at -infinity', what
				USING ERRCODE = 'object_not_in_prerequisite_state',
					DETAIL = 'Every timeline begins at -infinity.',
					HINT = 'Update the value of the row.';
		ELSIF TG_OP = 'DELETE' AND NOT yquota_internal.has_owner(TG_TABLE_NAME, to_jsonb(OLD)) THEN
			RETURN OLD;
		END IF;
	END IF;

	changed_at := CASE TG_OP WHEN 'INSERT' THEN NEW.effective_at
							 WHEN 'DELETE' THEN OLD.effective_at
							 ELSE least(NEW.effective_at, OLD.effective_at) END;
	IF TG_TABLE_NAME = 'charging_rule' THEN
		PERFORM yquota_internal.check_past_rule(changed_at, what);
	ELSE
		PERFORM yquota_internal.check_past_point(changed_at, what);
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.has_timeline(table_name text, point jsonb) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE table_name
		WHEN 'price' THEN EXISTS (SELECT FROM yquota.price
								  WHERE price_group = point ->> 'price_group')
		ELSE EXISTS (SELECT FROM yquota.base_price
					 WHERE resource_type = point ->> 'resource_type')
	END;
CREATE OR REPLACE FUNCTION yquota_internal.has_owner(table_name text, point jsonb) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE table_name
		WHEN 'price' THEN EXISTS (SELECT FROM yquota.price_group
								  WHERE name = point ->> 'price_group')
		ELSE EXISTS (SELECT FROM yquota.resource_type
					 WHERE name = point ->> 'resource_type')
	END;
CREATE OR REPLACE FUNCTION yquota_internal.note_timeline() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	what text := TG_ARGV[0];
	key_column text := TG_ARGV[1];
	changed_from timestamptz;
	keys text;
	names_changed boolean := false;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		SELECT min(CASE WHEN n.effective_at = '-infinity' AND what IN ('multiplier', 'base price')
						THEN yquota.statement_clock() ELSE n.effective_at END),
			   string_agg(DISTINCT to_jsonb(n) ->> key_column, ', ')
		INTO changed_from, keys
		FROM new_rows AS n;
	ELSIF TG_OP = 'DELETE' THEN
		SELECT CASE WHEN bool_or(o.effective_at = '-infinity') AND what IN ('multiplier', 'base price')
					THEN yquota.statement_clock() ELSE min(o.effective_at) END,
			   string_agg(DISTINCT to_jsonb(o) ->> key_column, ', ')
		INTO changed_from, keys
		FROM old_rows AS o;
	ELSE
		SELECT min(r.effective_at), string_agg(DISTINCT to_jsonb(r) ->> key_column, ', ')
		INTO changed_from, keys
		FROM (SELECT * FROM new_rows UNION ALL SELECT * FROM old_rows) AS r;
	END IF;
	IF changed_from IS NULL THEN
		RETURN NULL;
	END IF;

	-- which names have factors at all is part of running containers
	IF TG_TABLE_NAME = 'price_factor' THEN
		IF TG_OP = 'INSERT' THEN
			names_changed := EXISTS (
				SELECT FROM new_rows AS n
				WHERE (SELECT count(*) FROM yquota.price_factor AS f
					   WHERE f.dimension = n.dimension AND f.name = n.name)
					= (SELECT count(*) FROM new_rows AS m
					   WHERE m.dimension = n.dimension AND m.name = n.name));
		ELSIF TG_OP = 'DELETE' THEN
			names_changed := EXISTS (
				SELECT FROM old_rows AS o
				WHERE NOT EXISTS (SELECT FROM yquota.price_factor AS f
								  WHERE f.dimension = o.dimension AND f.name = o.name));
		ELSE
			names_changed := EXISTS (
				(SELECT dimension, name FROM old_rows EXCEPT SELECT dimension, name FROM new_rows)
				UNION ALL
				(SELECT dimension, name FROM new_rows EXCEPT SELECT dimension, name FROM old_rows));
		END IF;
	END IF;
	PERFORM yquota_internal.note_pricing_change(
		changed_from,
		CASE TG_OP WHEN 'DELETE' THEN format('%s removed: %s', what, keys)
				   ELSE format('%s set: %s', what, keys) END,
		names_changed);
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.fill_in_base_price() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	in_force record := yquota_internal.base_price_at(NEW.name, yquota.statement_clock());
BEGIN
	IF in_force.unit IS NOT NULL THEN
		NEW.base_price := in_force.base_price;
		NEW.unit := in_force.unit;
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.fill_in_base_price() IS
	'Shows the base price in force in yquota.resource_type';
REVOKE ALL ON FUNCTION yquota_internal.fill_in_base_price() FROM PUBLIC;
CREATE OR REPLACE TRIGGER show_in_force BEFORE UPDATE OF name ON yquota.resource_type
	FOR EACH ROW WHEN ((NEW.base_price, NEW.unit) IS NOT DISTINCT FROM (OLD.base_price, OLD.unit))
	EXECUTE FUNCTION yquota_internal.fill_in_base_price();
CREATE OR REPLACE FUNCTION yquota_internal.show_base_prices() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	clock timestamptz := yquota.statement_clock();
BEGIN
	UPDATE yquota.resource_type AS t
	SET name = t.name
	FROM yquota.resource_type AS s,
		 LATERAL yquota_internal.base_price_at(s.name, clock) AS b
	WHERE s.name = t.name
	  AND b.unit IS NOT NULL
	  AND (t.base_price, t.unit) IS DISTINCT FROM (b.base_price, b.unit);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.show_base_prices_trigger() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.show_base_prices();
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota.set_multiplier(
	price_group text, multiplier numeric, effective_at timestamptz DEFAULT NULL,
	until timestamptz DEFAULT 'infinity') RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	group_name text := set_multiplier.price_group;
	from_at timestamptz := COALESCE(set_multiplier.effective_at, yquota.statement_clock());
	until_at timestamptz := COALESCE(set_multiplier.until, 'infinity');
	rounded numeric;
BEGIN
	IF group_name IS NULL OR set_multiplier.multiplier IS NULL THEN
		RAISE EXCEPTION 'price group and multiplier must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT set_multiplier.multiplier BETWEEN 0 AND 1000000000000 THEN
		RAISE EXCEPTION 'multiplier % is out of range', set_multiplier.multiplier
			USING ERRCODE = 'numeric_value_out_of_range',
				DETAIL = 'A multiplier is at least 0 and at most 1000000000000.';
	ELSIF until_at <= from_at THEN
		RAISE EXCEPTION 'multiplier cannot be set until %, which is not after % when it takes effect', until_at, from_at
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = group_name) THEN
		RAISE EXCEPTION 'price group "%" does not exist', group_name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Price groups are the rows of yquota.price_group.';
	END IF;
	rounded := trim_scale(yquota_internal.divide_half_even(set_multiplier.multiplier, 1, 18));

	PERFORM yquota_internal.lock_pricing();
	INSERT INTO yquota.price AS p (price_group, effective_at, multiplier, pinned)
	VALUES (group_name, from_at, rounded, true)
	ON CONFLICT ON CONSTRAINT price_pkey DO UPDATE
		SET multiplier = EXCLUDED.multiplier, utilization = NULL, pinned = true;
	-- what was computed for later must not end it
	DELETE FROM yquota.price AS p
	WHERE p.price_group = group_name AND p.effective_at > from_at
	  AND p.effective_at < until_at AND NOT p.pinned;
	INSERT INTO yquota.price_pin AS n (price_group, until)
	VALUES (group_name, until_at)
	ON CONFLICT ON CONSTRAINT price_pin_pkey DO UPDATE SET until = EXCLUDED.until;
	RETURN from_at;
END
$$;
CREATE OR REPLACE FUNCTION yquota.clear_multiplier(price_group text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	group_name text := clear_multiplier.price_group;
	was_pinned boolean;
BEGIN
	IF NOT EXISTS (SELECT FROM yquota.price_group AS g WHERE g.name = group_name) THEN
		RAISE EXCEPTION 'price group "%" does not exist', group_name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Price groups are the rows of yquota.price_group.';
	END IF;
	PERFORM yquota_internal.lock_pricing();
	DELETE FROM yquota.price_pin AS n WHERE n.price_group = group_name;
	was_pinned := FOUND;
	DELETE FROM yquota.price AS p
	WHERE p.price_group = group_name AND p.pinned
	  AND p.effective_at > yquota.statement_clock();
	RETURN was_pinned;
END
$$;
CREATE OR REPLACE FUNCTION yquota.set_base_price(
	resource_type text, base_price numeric, unit bigint DEFAULT NULL,
	effective_at timestamptz DEFAULT NULL) RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	type_name text := set_base_price.resource_type;
	from_at timestamptz := COALESCE(set_base_price.effective_at, yquota.statement_clock());
	in_force record;
BEGIN
	IF type_name IS NULL OR set_base_price.base_price IS NULL THEN
		RAISE EXCEPTION 'resource type and base price must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT EXISTS (SELECT FROM yquota.resource_type AS t WHERE t.name = type_name) THEN
		RAISE EXCEPTION 'resource type "%" does not exist', type_name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Resource types are the rows of yquota.resource_type.';
	END IF;
	PERFORM yquota_internal.lock_pricing();
	in_force := yquota_internal.base_price_at(type_name, from_at);
	INSERT INTO yquota.base_price AS b (resource_type, effective_at, base_price, unit)
	VALUES (type_name, from_at, trim_scale(set_base_price.base_price),
			COALESCE(set_base_price.unit, in_force.unit))
	ON CONFLICT ON CONSTRAINT base_price_pkey DO UPDATE
		SET base_price = EXCLUDED.base_price, unit = EXCLUDED.unit;
	RETURN from_at;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.keep_outage() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	taken_back_from timestamptz;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN COALESCE(NEW, OLD);
	END IF;
	IF TG_OP = 'INSERT' THEN
		NEW.reported_by := session_user;
		NEW.reported_at := clock_timestamp();
		RETURN NEW;
	ELSIF TG_OP = 'UPDATE' THEN
		NEW.reported_by := OLD.reported_by;
		NEW.reported_at := OLD.reported_at;
	END IF;
	IF OLD.forgiven THEN
		IF TG_OP = 'DELETE' THEN
			taken_back_from := OLD.started_at;
		ELSIF NOT NEW.forgiven OR NEW.project IS DISTINCT FROM OLD.project
			OR NEW.started_at > OLD.started_at
		THEN
			taken_back_from := OLD.started_at;
		ELSIF NEW.ended_at < OLD.ended_at THEN
			taken_back_from := NEW.ended_at;
		END IF;
		IF taken_back_from IS NOT NULL THEN
			PERFORM yquota_internal.check_past_point(taken_back_from, 'forgiven outage');
		END IF;
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.note_outage() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed_from timestamptz;
	of_project boolean;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		SELECT min(started_at), bool_or(project IS NOT NULL)
		INTO changed_from, of_project
		FROM new_rows WHERE forgiven;
	ELSIF TG_OP = 'DELETE' THEN
		SELECT min(started_at), bool_or(project IS NOT NULL)
		INTO changed_from, of_project
		FROM old_rows WHERE forgiven;
	ELSE
		SELECT min(r.started_at), bool_or(r.project IS NOT NULL)
		INTO changed_from, of_project
		FROM ((SELECT outage_id, project, started_at, ended_at FROM new_rows WHERE forgiven
			   EXCEPT
			   SELECT outage_id, project, started_at, ended_at FROM old_rows WHERE forgiven)
			  UNION ALL
			  (SELECT outage_id, project, started_at, ended_at FROM old_rows WHERE forgiven
			   EXCEPT
			   SELECT outage_id, project, started_at, ended_at FROM new_rows WHERE forgiven)) AS r;
	END IF;
	IF changed_from IS NOT NULL THEN
		PERFORM yquota_internal.note_pricing_change(
			changed_from,
			CASE TG_OP WHEN 'DELETE' THEN 'outage removed' ELSE 'outage forgiven' END,
			of_project);
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota.report_outage(
	"from" timestamptz, "to" timestamptz, reason text, project text DEFAULT NULL)
	RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_id bigint;
BEGIN
	IF "from" IS NULL OR "to" IS NULL OR reason IS NULL THEN
		RAISE EXCEPTION 'beginning, end and reason of an outage must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite("from") OR NOT isfinite("to") THEN
		RAISE EXCEPTION 'beginning and end of an outage must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF "from" >= "to" THEN
		RAISE EXCEPTION 'outage cannot end at %, which is not after % when it began', "to", "from"
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF report_outage.project IS NOT NULL
		AND NOT EXISTS (SELECT FROM yquota.project AS p WHERE p.name = report_outage.project)
	THEN
		RAISE EXCEPTION 'project "%" does not exist', report_outage.project
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Leave the project out for an outage of the whole cluster.';
	END IF;

	PERFORM yquota_internal.lock_pricing();
	SELECT o.outage_id INTO found_id
	FROM yquota.outage AS o
	WHERE o.started_at = "from" AND o.ended_at = "to"
	  AND o.project IS NOT DISTINCT FROM report_outage.project
	ORDER BY o.outage_id
	LIMIT 1;
	IF FOUND THEN
		UPDATE yquota.outage AS o SET forgiven = true
		WHERE o.outage_id = found_id AND NOT o.forgiven;
	ELSE
		INSERT INTO yquota.outage AS o (project, started_at, ended_at, reason)
		VALUES (report_outage.project, "from", "to", report_outage.reason)
		RETURNING o.outage_id INTO found_id;
	END IF;
	RETURN found_id;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.multiplier(
	used numeric, total numeric, tipping_point numeric, increment_factor numeric,
	max_multiplier numeric) RETURNS numeric
	LANGUAGE c IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_multiplier';
CREATE OR REPLACE FUNCTION yquota_internal.guaranteed_usage(as_of timestamptz)
	RETURNS TABLE (resource_type text, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.last_event_at() > as_of THEN
		RETURN QUERY
			SELECT e.name, e.amount::numeric
			FROM (SELECT yquota.sum(h.allocation) AS allocation
				  FROM (SELECT c.allocation
						FROM yquota.container AS c
						WHERE c.execution_type = 'GUARANTEED' AND c.settled_at <= as_of
						UNION ALL
						SELECT CASE WHEN c.corrects IS NULL THEN c.allocation
									ELSE OPERATOR(yquota.-) c.allocation END
						FROM yquota.charge AS c
						WHERE c.execution_type = 'GUARANTEED' AND c.padding IS NULL
						  AND c."from" <= as_of AND c."to" > as_of) AS h) AS s,
				 LATERAL yquota.resource_entries(s.allocation) AS e;
	ELSE
		RETURN QUERY
			SELECT e.name, e.amount::numeric
			FROM (SELECT yquota.sum(h.allocation) AS allocation
				  FROM (SELECT u.allocation
						FROM yquota_internal.usage_counter AS u
						WHERE u.execution_type = 'GUARANTEED'
						UNION ALL
						SELECT d.allocation
						FROM yquota_internal.counter_delta AS d
						WHERE d.scope IN ('a', 'u') AND d.execution_type = 'GUARANTEED') AS h) AS s,
				 LATERAL yquota.resource_entries(s.allocation) AS e;
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.measure_cluster(as_of timestamptz)
	RETURNS TABLE (
		resource_type text, price_group text, used numeric, pending numeric, total numeric,
		reported numeric, state text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH offered AS (
			SELECT e.name, sum(e.amount) AS amount
			FROM yquota.node AS n, LATERAL yquota.resource_entries(n.total) AS e
			WHERE n.state = 'RUNNING'
			GROUP BY e.name
		), demanded AS (
			-- of applications that ask the scheduler, as they do now, and as reported
			SELECT e.name, sum(e.amount) AS amount
			FROM (SELECT yquota_internal.requested_resources() AS demand
				  UNION ALL
				  SELECT d.demand
				  FROM yquota.pending_demand AS d
				  WHERE d.reported_at > as_of - yquota_internal.duration('yquota.utilization_max_age')
					AND d.reported_at <= as_of + yquota_internal.duration('yquota.max_clock_skew')) AS w,
				 LATERAL yquota.resource_entries(w.demand) AS e
			GROUP BY e.name
		), measured AS (
			SELECT t.name, t.price_group,
				   COALESCE(h.amount, 0) AS used,
				   COALESCE(d.amount, 0) AS pending,
				   COALESCE(o.amount, 0) AS total,
				   COALESCE(c.total, 0) AS remembered,
				   c.shrunk_since <= as_of - yquota_internal.duration('yquota.cluster_shrink_grace')
					AS has_stayed,
				   u.utilization AS reported
			FROM yquota.resource_type AS t
				LEFT JOIN yquota_internal.guaranteed_usage(as_of) AS h ON h.resource_type = t.name
				LEFT JOIN offered AS o ON o.name = t.name
				LEFT JOIN demanded AS d ON d.name = t.name
				LEFT JOIN yquota_internal.cluster_total AS c ON c.resource_type = t.name
				LEFT JOIN yquota.utilization AS u ON u.resource_type = t.name
					AND u.reported_at > as_of - yquota_internal.duration('yquota.utilization_max_age')
					AND u.reported_at <= as_of + yquota_internal.duration('yquota.max_clock_skew')
		)
		SELECT m.name, m.price_group, m.used, m.pending, m.total, m.reported,
			   CASE
				   WHEN (m.remembered > 0 OR m.used > 0)
					   AND NOT EXISTS (SELECT FROM offered WHERE amount > 0) THEN 'empty'
				   WHEN m.total <= 0 AND m.used > 0 THEN 'lost'
				   WHEN m.total <= 0 AND m.remembered > 0 AND m.has_stayed IS NOT TRUE THEN 'lost'
				   WHEN m.total <= 0 THEN 'absent'
				   WHEN m.total * 2 < m.remembered AND m.has_stayed IS NOT TRUE THEN 'shrunk'
				   ELSE 'measured'
			   END
		FROM measured AS m;
	END;
CREATE OR REPLACE FUNCTION yquota_internal.measure_price_groups(as_of timestamptz)
	RETURNS TABLE (price_group text, utilization numeric, multiplier numeric, unknown text)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH cluster AS MATERIALIZED (
			SELECT * FROM yquota_internal.measure_cluster(as_of)
		)
		SELECT g.name, COALESCE(max(m.utilization), 0), COALESCE(max(m.multiplier), 1),
			   CASE WHEN g.name = 'GENERAL' AND count(m.utilization) = 0
					THEN COALESCE(min(m.unknown), 'empty') ELSE min(m.unknown) END
		FROM yquota.price_group AS g
			LEFT JOIN LATERAL (
				SELECT trim_scale(yquota_internal.divide_half_even(f.numerator, f.denominator, 18)) AS utilization,
					   yquota_internal.multiplier(f.numerator, f.denominator, g.tipping_point,
												  g.increment_factor, g.max_multiplier) AS multiplier,
					   CASE WHEN c.reported IS NULL AND c.state IN ('empty', 'lost', 'shrunk')
							THEN c.state END AS unknown
				FROM cluster AS c,
					 LATERAL (SELECT CASE WHEN c.reported IS NOT NULL THEN c.reported
										  WHEN c.state <> 'measured' THEN NULL
										  WHEN g.count_pending THEN c.used + c.pending
										  ELSE c.used END AS numerator,
									 CASE WHEN c.reported IS NULL THEN c.total
										  ELSE 1 END AS denominator) AS f
				WHERE c.price_group = g.name) AS m ON true
		GROUP BY g.name;
	END;
CREATE OR REPLACE FUNCTION yquota_internal.remember_cluster(as_of timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	m record;
BEGIN
	FOR m IN SELECT * FROM yquota_internal.measure_cluster(as_of) LOOP
		IF m.state = 'measured' THEN
			INSERT INTO yquota_internal.cluster_total AS c (resource_type, total, accepted_at)
			VALUES (m.resource_type, m.total, as_of)
			ON CONFLICT (resource_type) DO UPDATE
				SET total = EXCLUDED.total, accepted_at = EXCLUDED.accepted_at, shrunk_since = NULL
				WHERE c.total <> EXCLUDED.total OR c.shrunk_since IS NOT NULL;
		ELSIF m.state = 'absent' THEN
			DELETE FROM yquota_internal.cluster_total AS c
			WHERE c.resource_type = m.resource_type;
		ELSE
			UPDATE yquota_internal.cluster_total AS c
			SET shrunk_since = CASE WHEN m.state <> 'empty' THEN as_of END
			WHERE c.resource_type = m.resource_type
			  AND (c.shrunk_since IS NULL) = (m.state <> 'empty');
		END IF;
	END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.keep_cluster_alert(
	group_name text, unknown text, as_of timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	raised_kind text := 'cluster_' || unknown;
BEGIN
	-- somebody may be at work on an alert: that is no reason to wait
	UPDATE yquota.alert AS a
	SET cleared_at = as_of
	WHERE a.alert_id IN (
		SELECT o.alert_id FROM yquota.alert AS o
		WHERE o.kind IN ('cluster_empty', 'cluster_lost', 'cluster_shrunk')
		  AND o.subject = group_name
		  AND o.cleared_at IS NULL
		  AND o.kind IS DISTINCT FROM raised_kind
		FOR UPDATE SKIP LOCKED);
	IF NOT EXISTS (SELECT FROM yquota.alert AS a
				   WHERE a.kind = raised_kind AND a.subject = group_name AND a.cleared_at IS NULL)
		AND raised_kind IS NOT NULL
	THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES (raised_kind, group_name,
				format('The multiplier of price group "%s" stays as it is: %s%s.', group_name,
					   CASE unknown
						   WHEN 'empty' THEN 'no RUNNING node offers any resources'
						   WHEN 'lost' THEN 'no RUNNING node offers a resource type that containers use or that nodes offered before'
						   ELSE 'RUNNING nodes offer less than half of what they did'
					   END,
					   CASE WHEN unknown <> 'empty' THEN
						   (SELECT ': ' || string_agg(m.resource_type, ', ' ORDER BY m.resource_type)
							FROM yquota_internal.measure_cluster(as_of) AS m
							WHERE m.price_group = group_name AND m.state = unknown AND m.reported IS NULL)
					   END), as_of);
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.pinned_until(group_name text, instant timestamptz)
	RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT n.until
			FROM yquota.price_pin AS n
			WHERE n.price_group = group_name
			  AND n.until > instant
			  AND ((SELECT p.pinned FROM yquota.price AS p
					WHERE p.price_group = group_name AND p.effective_at <= instant
					ORDER BY p.effective_at DESC
					LIMIT 1)
				   OR NOT EXISTS (SELECT FROM yquota.price AS p
								  WHERE p.price_group = group_name AND p.pinned
									AND p.effective_at > instant)));
CREATE OR REPLACE FUNCTION yquota_internal.refusal_to_publish(group_name text, publish_at timestamptz)
	RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF EXISTS (SELECT FROM yquota.price AS p
			   WHERE p.price_group = group_name AND p.effective_at > publish_at AND NOT p.pinned)
	THEN
		RETURN 'the last published price is later';
	END IF;
	-- only a pin can lie ahead, but the clock may have gone back behind it
	IF (publish_at < yquota.statement_clock()
		OR EXISTS (SELECT FROM yquota.price AS p
				   WHERE p.price_group = group_name AND p.effective_at > publish_at))
		AND yquota_internal.settled_after(publish_at) IS NOT NULL
	THEN
		RETURN 'already charged';
	END IF;
	RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.try_lock_pricing() RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE NOWAIT;
	RETURN true;
EXCEPTION WHEN lock_not_available THEN
	RETURN false;
END
$$;
CREATE OR REPLACE FUNCTION yquota.compute_prices(as_of timestamptz DEFAULT NULL)
	RETURNS TABLE (
		price_group text, utilization numeric, multiplier numeric, effective_at timestamptz,
		published boolean, reason text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER ROWS 3
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	measured_at timestamptz := COALESCE(as_of, yquota.clock());
	publish_at timestamptz := measured_at + yquota_internal.duration('yquota.price_lead');
	may_publish boolean;
	in_force record;
	floor_multiplier numeric := 0;
	pinned_until timestamptz;
	refusal text;
	g record;
	groups text[] := '{}';
	multipliers numeric[] := '{}';
	utilizations numeric[] := '{}';
BEGIN
	IF NOT isfinite(measured_at) THEN
		RAISE EXCEPTION 'prices cannot be computed as of %', measured_at
			USING ERRCODE = 'datetime_field_overflow';
	END IF;
	may_publish := yquota_internal.try_lock_pricing();

	FOR g IN
		SELECT m.price_group, m.utilization, m.multiplier, m.unknown
		FROM yquota_internal.measure_price_groups(measured_at) AS m
		ORDER BY m.price_group <> 'GENERAL', m.price_group
	LOOP
		SELECT p.multiplier, p.effective_at INTO in_force
		FROM yquota.price AS p
		WHERE p.price_group = g.price_group AND p.effective_at <= publish_at
		ORDER BY p.effective_at DESC
		LIMIT 1;
		pinned_until := yquota_internal.pinned_until(g.price_group, publish_at);

		price_group := g.price_group;
		utilization := CASE WHEN g.unknown IS NULL THEN g.utilization END;
		multiplier := in_force.multiplier;
		effective_at := in_force.effective_at;
		published := false;
		IF pinned_until IS NOT NULL THEN
			reason := format('pinned until %s', pinned_until);
		ELSIF g.unknown IS NOT NULL THEN
			reason := format('cluster is %s', g.unknown);
		ELSIF greatest(g.multiplier, floor_multiplier) = in_force.multiplier THEN
			reason := 'unchanged';
		ELSE
			refusal := CASE WHEN may_publish
				THEN yquota_internal.refusal_to_publish(g.price_group, publish_at)
				ELSE 'another change of prices is under way' END;
			IF refusal IS NOT NULL THEN
				reason := refusal;
			ELSE
				multiplier := greatest(g.multiplier, floor_multiplier);
				effective_at := publish_at;
				published := true;
				reason := CASE WHEN g.multiplier >= floor_multiplier THEN 'computed'
							   ELSE 'raised to GENERAL' END;
				groups := groups || g.price_group;
				multipliers := multipliers || multiplier;
				utilizations := utilizations || g.utilization;
			END IF;
		END IF;
		IF g.price_group = 'GENERAL' THEN
			floor_multiplier := multiplier;
		END IF;
		IF may_publish THEN
			PERFORM yquota_internal.keep_cluster_alert(g.price_group, g.unknown, measured_at);
		END IF;
		RETURN NEXT;
	END LOOP;

	IF may_publish THEN
		PERFORM yquota_internal.remember_cluster(measured_at);
		PERFORM yquota_internal.show_base_prices();
		INSERT INTO yquota.price AS p (price_group, effective_at, multiplier, utilization)
		SELECT u.price_group, publish_at, u.multiplier, u.utilization
		FROM unnest(groups, multipliers, utilizations) AS u (price_group, multiplier, utilization)
		ON CONFLICT ON CONSTRAINT price_pkey DO UPDATE
			SET multiplier = EXCLUDED.multiplier, utilization = EXCLUDED.utilization,
				pinned = false;
	END IF;
END
$$;
CREATE OR REPLACE VIEW yquota.price_history AS
	SELECT t.name AS resource_type, i.effective_at, p.multiplier, b.base_price, b.unit,
		   trim_scale(yquota_internal.divide_half_even(p.multiplier * b.base_price, b.unit, 18)) AS price
	FROM yquota.resource_type AS t
		CROSS JOIN LATERAL (
			SELECT m.effective_at FROM yquota.price AS m WHERE m.price_group = t.price_group
			UNION
			SELECT s.effective_at FROM yquota.base_price AS s WHERE s.resource_type = t.name) AS i
		CROSS JOIN LATERAL (
			SELECT m.multiplier FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at <= i.effective_at
			ORDER BY m.effective_at DESC LIMIT 1) AS p
		CROSS JOIN LATERAL (
			SELECT s.base_price, s.unit FROM yquota.base_price AS s
			WHERE s.resource_type = t.name AND s.effective_at <= i.effective_at
			ORDER BY s.effective_at DESC LIMIT 1) AS b;
CREATE OR REPLACE VIEW yquota.current_price AS
	SELECT t.name AS resource_type, t.price_group, p.multiplier, b.base_price, b.unit,
		   trim_scale(yquota_internal.divide_half_even(p.multiplier * b.base_price, b.unit, 18)) AS price,
		   greatest(p.effective_at, b.effective_at) AS effective_at,
		   n.until AS pinned_until,
		   f.multiplier AS next_multiplier, f.effective_at AS next_effective_at
	FROM yquota.resource_type AS t
		CROSS JOIN LATERAL (
			SELECT m.multiplier, m.effective_at FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at <= yquota.statement_clock()
			ORDER BY m.effective_at DESC LIMIT 1) AS p
		CROSS JOIN LATERAL (
			SELECT s.base_price, s.unit, s.effective_at FROM yquota.base_price AS s
			WHERE s.resource_type = t.name AND s.effective_at <= yquota.statement_clock()
			ORDER BY s.effective_at DESC LIMIT 1) AS b
		LEFT JOIN LATERAL (
			SELECT m.multiplier, m.effective_at FROM yquota.price AS m
			WHERE m.price_group = t.price_group AND m.effective_at > yquota.statement_clock()
			ORDER BY m.effective_at LIMIT 1) AS f ON true
		LEFT JOIN yquota.price_pin AS n
			ON n.price_group = t.price_group AND n.until > yquota.statement_clock();
CREATE TABLE yquota.billing_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	timezone text NOT NULL
);
COMMENT ON TABLE yquota.billing_setting IS
	'At most one row: how bills are cut.  Fixed once something has been charged or granted for a period';
COMMENT ON COLUMN yquota.billing_setting.timezone IS
	'time zone whose midnights separate the days of reports and the periods of budgets; a name of pg_timezone_names.  UTC without a row';
CREATE OR REPLACE VIEW yquota_internal.billing_zone AS
	SELECT coalesce((SELECT setting.timezone FROM yquota.billing_setting AS setting), 'UTC') AS name;
COMMENT ON VIEW yquota_internal.billing_zone IS 'Time zone of bills';
CREATE OR REPLACE FUNCTION yquota_internal.billing_timezone() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN (SELECT zone.name FROM yquota_internal.billing_zone AS zone);
COMMENT ON FUNCTION yquota_internal.billing_timezone() IS 'Time zone of bills';
REVOKE ALL ON FUNCTION yquota_internal.billing_timezone() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.keep_billing_setting() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone_before text := CASE WHEN TG_OP = 'INSERT' THEN 'UTC' ELSE OLD.timezone END;
	zone_after text := CASE WHEN TG_OP = 'DELETE' THEN 'UTC' ELSE NEW.timezone END;
BEGIN
	IF yquota_internal.restoring() OR zone_before = zone_after THEN
		RETURN coalesce(NEW, OLD);
	ELSIF NOT EXISTS (SELECT FROM pg_timezone_names AS zone WHERE zone.name = zone_after) THEN
		RAISE EXCEPTION '"%" is not a time zone', zone_after
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Use a name of pg_timezone_names, such as UTC or Europe/Stockholm.';
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot change the time zone of bills at isolation level %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'Events that have been committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	END IF;
	PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event IN SHARE ROW EXCLUSIVE MODE', 120);
	IF EXISTS (SELECT FROM yquota.charge) OR EXISTS (SELECT FROM yquota.container)
		OR EXISTS (SELECT FROM yquota.opening_balance) OR EXISTS (SELECT FROM yquota_internal.budget_grant)
	THEN
		RAISE EXCEPTION 'time zone of bills cannot be changed from % to % any more', zone_before, zone_after
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'Something has been charged, or a budget granted, and the days of what has been reported would move.',
				HINT = 'Ask for days of another time zone with cost_by_day(..., timezone => ...).';
	END IF;
	RETURN coalesce(NEW, OLD);
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_billing_setting() IS
	'The time zone of bills stays once there is something to be told by day';
REVOKE ALL ON FUNCTION yquota_internal.keep_billing_setting() FROM PUBLIC;
CREATE OR REPLACE TRIGGER keep BEFORE INSERT OR UPDATE OR DELETE ON yquota.billing_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_billing_setting();
CREATE OR REPLACE TRIGGER refuse_truncate BEFORE TRUNCATE ON yquota.billing_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_truncate();
SELECT pg_extension_config_dump('yquota.billing_setting', '');
CREATE OR REPLACE FUNCTION yquota_internal.charge_events() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_charge_events';
CREATE OR REPLACE FUNCTION yquota_internal.settle_again(container_ids text[]) RETURNS bigint
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_settle_again';
CREATE OR REPLACE FUNCTION yquota_internal.correct_prices_since(changed_from timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	batch text[];
	done_through text COLLATE "C" := '';
	corrected bigint := 0;
BEGIN
	-- as a statement of the door: no period is closed meanwhile
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	-- a bounded number at a time: what is in memory does not grow with history
	LOOP
		SELECT array_agg(c.container_id ORDER BY c.container_id), max(c.container_id)
		INTO batch, done_through
		FROM (
			SELECT container_id FROM yquota.charge
			WHERE "to" >= changed_from AND container_id > done_through
			UNION
			SELECT container_id FROM yquota.container
			WHERE settled_at >= changed_from AND container_id > done_through
			ORDER BY 1 LIMIT 100000
		) AS c;
		EXIT WHEN batch IS NULL;
		corrected := corrected + yquota_internal.settle_again(batch);
	END LOOP;
	RETURN corrected;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.rebase_running() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN COALESCE(
		(SELECT yquota_internal.settle_again(array_agg(c.container_id ORDER BY c.container_id))
		 FROM yquota.container AS c
		 WHERE c.factors IS DISTINCT FROM yquota_internal.factor_names(
			c.project, c.application_id, c.username, c.queue, c.execution_type)), 0);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.prices_changed_from(version bigint) RETURNS timestamptz
	LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_prices_changed_from';
CREATE OR REPLACE FUNCTION yquota_internal.add_rate_class(
	state internal, shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) RETURNS internal
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_add_rate_class';
CREATE OR REPLACE FUNCTION yquota_internal.finish_accrued_sum(state internal) RETURNS numeric
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_accrued_sum';
CREATE OR REPLACE FUNCTION yquota_internal.finish_rate_sum(state internal) RETURNS numeric
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_rate_sum';
CREATE OR REPLACE AGGREGATE yquota_internal.accrued_sum(
	shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) (
	sfunc = yquota_internal.add_rate_class,
	stype = internal,
	finalfunc = yquota_internal.finish_accrued_sum,
	parallel = restricted
);
CREATE OR REPLACE AGGREGATE yquota_internal.rate_sum(
	shape yquota.resource, factors text[], weight numeric, weights bytea,
	reference_at timestamptz, at timestamptz) (
	sfunc = yquota_internal.add_rate_class,
	stype = internal,
	finalfunc = yquota_internal.finish_rate_sum,
	parallel = restricted
);
CREATE OR REPLACE VIEW yquota_internal.valid_reference AS
	SELECT reference.reference_at
	FROM yquota_internal.running_reference AS reference
	WHERE yquota_internal.prices_changed_from(reference.pricing_version) >= reference.priced_through
	LIMIT 1;
CREATE OR REPLACE FUNCTION yquota_internal.add_weight(state internal, class_id integer, weight numeric)
	RETURNS internal
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_add_weight';
CREATE OR REPLACE FUNCTION yquota_internal.finish_pack_weights(state internal) RETURNS bytea
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_pack_weights';
CREATE OR REPLACE AGGREGATE yquota_internal.pack_weights(class_id integer, weight numeric) (
	sfunc = yquota_internal.add_weight,
	stype = internal,
	finalfunc = yquota_internal.finish_pack_weights,
	finalfunc_modify = read_write,
	parallel = safe
);
CREATE OR REPLACE FUNCTION yquota_internal.merge_weights(a bytea, b bytea) RETURNS bytea
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_merge_weights';
CREATE OR REPLACE FUNCTION yquota_internal.move_running_totals(new_reference timestamptz, settled_in timestamptz)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	old_reference timestamptz := (SELECT reference_at FROM yquota_internal.running_reference);
BEGIN
	IF new_reference <> old_reference THEN
		UPDATE yquota_internal.project_counter AS counter
		SET accrual_base = trim_scale(counter.accrual_base - running.cost)
		FROM (SELECT total.project,
					 yquota_internal.accrued_sum(NULL, NULL, NULL, total.weights,
												 old_reference, new_reference) AS cost
			  FROM yquota_internal.running_total AS total
			  GROUP BY total.project) AS running
		WHERE counter.project = running.project AND running.cost <> 0;
	END IF;
	UPDATE yquota_internal.running_reference
	SET reference_at = new_reference,
		priced_through = greatest(priced_through, new_reference, settled_in),
		pricing_version = (SELECT COALESCE(max(version), 0) FROM yquota.pricing_change);
END
$$;
COMMENT ON FUNCTION yquota_internal.move_running_totals(timestamptz, timestamptz) IS
	'Have the running totals, which hold, count from another instant, and be ready for deltas of hours up to a last one (NULL for none)';
REVOKE ALL ON FUNCTION yquota_internal.move_running_totals(timestamptz, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.make_running_totals(full_hour timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- a plan made for few classes is no plan for many
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	reference timestamptz := COALESCE(
		(SELECT max(class.reference_at) FROM yquota_internal.rate_class_counter AS class
		 WHERE class.reference_at <= full_hour), full_hour);
BEGIN
	INSERT INTO yquota_internal.running_reference AS r
		(reference_at, priced_through, pricing_version, classes)
	SELECT reference,
		   greatest(reference, (SELECT max(class.reference_at)
								FROM yquota_internal.rate_class_counter AS class)),
		   (SELECT COALESCE(max(version), 0) FROM yquota.pricing_change), 0
	ON CONFLICT (only_row) DO UPDATE
		SET reference_at = EXCLUDED.reference_at, priced_through = EXCLUDED.priced_through,
			pricing_version = EXCLUDED.pricing_version;
	DELETE FROM yquota_internal.running_total;
	DELETE FROM yquota_internal.running_class;
	INSERT INTO yquota_internal.running_class (class_id, shape, factors)
	SELECT r.classes + row_number() OVER (), kind.shape, kind.factors
	FROM (SELECT DISTINCT class.shape, class.factors
		  FROM yquota_internal.rate_class_counter AS class) AS kind
	CROSS JOIN yquota_internal.running_reference AS r;
	UPDATE yquota_internal.running_reference
	SET classes = greatest(classes, (SELECT max(class_id) FROM yquota_internal.running_class));
	INSERT INTO yquota_internal.running_total (project, weights)
	SELECT class.project, yquota_internal.pack_weights(number.class_id, class.weight)
	FROM yquota_internal.rate_class_counter AS class
	JOIN yquota_internal.running_class AS number ON number.shape OPERATOR(yquota.=) class.shape
		AND number.factors IS NOT DISTINCT FROM class.factors
	GROUP BY class.project;
	UPDATE yquota_internal.project_counter SET accrual_base = 0 WHERE accrual_base <> 0;
	INSERT INTO yquota_internal.project_counter AS counter (project, charged, accrual_base)
	SELECT class.project, 0,
		   trim_scale(sum(class.accrual_base)
					  - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
													class.reference_at, reference))
	FROM yquota_internal.rate_class_counter AS class
	GROUP BY class.project
	ON CONFLICT (project) DO UPDATE SET accrual_base = EXCLUDED.accrual_base;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.fold_counters() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- a plan made for few deltas or classes is no plan for many
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	folded bigint;
	reference timestamptz;
	settled_in timestamptz;
	full_hour timestamptz := date_trunc('hour', yquota.statement_clock(), 'UTC');
	-- or it may fold what nobody else will ever see
	is_alone boolean := pg_current_xact_id_if_assigned() IS NULL;
	seen pg_snapshot;
	before xid8;
BEGIN
	-- A change of prices that is not visible here would be missed below, after
	-- it has missed what was settled since: folding waits for the next time.
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RETURN 0;
	END IF;
	BEGIN
		LOCK TABLE yquota.pricing_change IN SHARE MODE NOWAIT;
	EXCEPTION WHEN lock_not_available THEN
		RETURN 0;
	END;
	-- one at a time; neither events nor readers take this lock
	LOCK TABLE yquota_internal.project_counter IN SHARE ROW EXCLUSIVE MODE;

	-- Sessions that keep a cluster from one allocation pass to the next have to read all
	-- usage again when something is folded that they have not seen: as long as passes
	-- come, what is new waits for the next time; not so when a transaction has been at
	-- work since the last.
	SELECT pg_snapshot_xmin(version.noted) INTO before
	FROM yquota_internal.usage_version AS version
	WHERE is_alone AND pg_snapshot_xmin(pg_current_snapshot()) > pg_snapshot_xmin(version.noted)
	  AND EXISTS (SELECT FROM yquota_internal.scheduler_change AS change WHERE change.changed_by >= pg_snapshot_xmax(version.noted));
	UPDATE yquota_internal.usage_version SET is_folding = is_alone, noted = pg_current_snapshot();

	reference := (SELECT reference_at FROM yquota_internal.valid_reference);
	IF reference IS NOT NULL THEN
		SELECT greatest(reference, max(delta.reference_at) FILTER (WHERE delta.reference_at <= full_hour)),
			   max(delta.reference_at)
		INTO reference, settled_in
		FROM yquota_internal.counter_delta AS delta;
		PERFORM yquota_internal.move_running_totals(reference, settled_in);
	END IF;

	WITH delta AS (
		DELETE FROM yquota_internal.counter_delta AS new
		WHERE before IS NULL OR age(new.xmin) > age(before::xid)
		RETURNING *
	), late AS (
		-- priced before a change of prices became visible that bears on it
		INSERT INTO yquota_internal.correction_due (changed_from)
		SELECT min(change.effective_from)
		FROM (SELECT pricing_version, max(priced_through) AS priced_through
			  FROM delta WHERE priced_through IS NOT NULL
			  GROUP BY pricing_version) AS priced
		JOIN yquota.pricing_change AS change
			ON change.version > priced.pricing_version
			AND change.effective_from <= priced.priced_through
		HAVING count(*) > 0
	), class AS (
		SELECT delta.project, delta.shape, delta.factors, delta.reference_at,
			   sum(delta.weight) AS weight, sum(delta.accrual_base) AS accrual_base
		FROM delta
		WHERE delta.scope IN ('a', 'r') AND delta.weight IS NOT NULL
		GROUP BY delta.project, delta.shape, delta.factors, delta.reference_at
		HAVING sum(delta.weight) <> 0 OR sum(delta.accrual_base) <> 0
	), rate_class AS (
		INSERT INTO yquota_internal.rate_class_counter AS counter
			(project, shape, factors, reference_at, weight, accrual_base)
		SELECT class.project, class.shape, class.factors, class.reference_at,
			   class.weight, class.accrual_base
		FROM class
		ON CONFLICT (project, shape, factors, reference_at) DO UPDATE
			SET weight = counter.weight + EXCLUDED.weight,
				accrual_base = trim_scale(counter.accrual_base + EXCLUDED.accrual_base)
	), number AS MATERIALIZED (
		SELECT kind.shape, kind.factors, known.class_id IS NULL AS is_new,
			   COALESCE(known.class_id,
						r.classes + row_number() OVER (PARTITION BY known.class_id IS NULL)) AS class_id
		FROM (SELECT DISTINCT class.shape, class.factors FROM class) AS kind
		CROSS JOIN yquota_internal.running_reference AS r
		LEFT JOIN yquota_internal.running_class AS known
			ON known.shape OPERATOR(yquota.=) kind.shape
			AND known.factors IS NOT DISTINCT FROM kind.factors
		WHERE reference IS NOT NULL
	), new_class AS (
		INSERT INTO yquota_internal.running_class (class_id, shape, factors)
		SELECT number.class_id, number.shape, number.factors FROM number WHERE number.is_new
	), numbered AS (
		UPDATE yquota_internal.running_reference AS r
		SET classes = newest.class_id
		FROM (SELECT max(number.class_id) AS class_id FROM number WHERE number.is_new) AS newest
		WHERE newest.class_id IS NOT NULL
	), running AS (
		INSERT INTO yquota_internal.running_total AS total (project, weights)
		SELECT class.project, yquota_internal.pack_weights(number.class_id::integer, class.weight)
		FROM class
		JOIN number ON number.shape OPERATOR(yquota.=) class.shape
			AND number.factors IS NOT DISTINCT FROM class.factors
		GROUP BY class.project
		ON CONFLICT (project) DO UPDATE
			SET weights = yquota_internal.merge_weights(total.weights, EXCLUDED.weights)
	), project AS (
		INSERT INTO yquota_internal.project_counter AS counter (project, charged, accrual_base)
		SELECT part.project, sum(part.charged), trim_scale(sum(part.accrual_base))
		FROM (SELECT delta.project, delta.charged, 0 AS accrual_base
			  FROM delta
			  WHERE delta.scope IN ('a', 'p') AND delta.charged IS NOT NULL
			  UNION ALL
			  SELECT class.project, 0,
					 sum(class.accrual_base)
					 - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
												   class.reference_at, reference)
			  FROM class
			  WHERE reference IS NOT NULL
			  GROUP BY class.project) AS part
		GROUP BY part.project
		ON CONFLICT (project) DO UPDATE
			SET charged = trim_scale(counter.charged + EXCLUDED.charged),
				accrual_base = trim_scale(counter.accrual_base + EXCLUDED.accrual_base)
	), usage AS (
		INSERT INTO yquota_internal.usage_counter AS counter
			(queue, label, username, execution_type, allocation, containers)
		SELECT delta.queue, delta.label, delta.username, delta.execution_type,
			   yquota.sum(delta.allocation), sum(delta.containers)
		FROM delta
		WHERE delta.scope IN ('a', 'u')
		GROUP BY delta.queue, delta.label, delta.username, delta.execution_type
		ON CONFLICT (queue, label, username, execution_type) DO UPDATE
			SET allocation = counter.allocation OPERATOR(yquota.+) EXCLUDED.allocation,
				containers = counter.containers + EXCLUDED.containers
	), node AS (
		INSERT INTO yquota_internal.node_counter AS counter
			(node, execution_type, allocation, containers)
		SELECT delta.node, delta.execution_type,
			   yquota.sum(delta.allocation), sum(delta.containers)
		FROM delta
		WHERE delta.scope IN ('a', 'n') AND delta.node IS NOT NULL
		GROUP BY delta.node, delta.execution_type
		ON CONFLICT (node, execution_type) DO UPDATE
			SET allocation = counter.allocation OPERATOR(yquota.+) EXCLUDED.allocation,
				containers = counter.containers + EXCLUDED.containers
	), feed AS (
		INSERT INTO yquota_internal.feed_counter AS counter
			(source, events, last_event_at, last_recorded_at)
		SELECT delta.source, sum(delta.events), max(delta.last_event_at), max(delta.recorded_at)
		FROM delta
		WHERE delta.scope IN ('a', 'f') AND delta.events IS NOT NULL
		GROUP BY delta.source
		ON CONFLICT (source) DO UPDATE
			SET events = counter.events + EXCLUDED.events,
				last_event_at = greatest(counter.last_event_at, EXCLUDED.last_event_at),
				last_recorded_at = greatest(counter.last_recorded_at, EXCLUDED.last_recorded_at)
	)
	SELECT count(*), max(delta.reference_at), pg_current_snapshot() INTO folded, settled_in, seen FROM delta;

	-- what was committed since the totals were moved has been folded as well
	UPDATE yquota_internal.running_reference
	SET priced_through = settled_in
	WHERE priced_through < settled_in;
	DELETE FROM yquota_internal.rate_class_counter WHERE weight = 0 AND accrual_base = 0;
	DELETE FROM yquota_internal.running_total WHERE weights = '';
	DELETE FROM yquota_internal.usage_counter WHERE containers = 0 AND allocation OPERATOR(yquota.=) '[]';
	DELETE FROM yquota_internal.node_counter WHERE containers = 0 AND allocation OPERATOR(yquota.=) '[]';
	UPDATE yquota_internal.usage_version
	SET is_folding = false,
		folded_before = CASE WHEN before IS NULL THEN pg_snapshot_xmax(seen) ELSE greatest(folded_before, before) END,
		folded_but = CASE WHEN before IS NULL THEN ARRAY(SELECT pg_snapshot_xip(seen))
			ELSE ARRAY(SELECT number FROM unnest(folded_but) AS number WHERE number >= before) END
	WHERE is_alone;
	DELETE FROM yquota_internal.charged_through
	WHERE at < (SELECT max(at) FROM yquota_internal.charged_through);
	IF reference IS NULL THEN
		PERFORM yquota_internal.make_running_totals(full_hour);
	END IF;
	RETURN folded;
END
$$;
COMMENT ON FUNCTION yquota_internal.fold_counters() IS
	'Add the appended deltas up into the counters; returns how many there were.  While containers are allocated, the newest wait for the next time.  Does nothing while a change of prices is open, or in a transaction whose snapshot could miss one.  The worker calls it';
CREATE OR REPLACE FUNCTION yquota_internal.correct_late_prices() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	since timestamptz;
BEGIN
	WITH due AS (
		DELETE FROM yquota_internal.correction_due RETURNING changed_from
	)
	SELECT min(changed_from) INTO since FROM due;
	IF since IS NULL THEN
		RETURN 0;
	END IF;
	RETURN yquota_internal.correct_prices_since(since);
END
$$;
CREATE OR REPLACE FUNCTION yquota.quota_compute() RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	INSERT INTO yquota.container_event (event, source) VALUES ('QUOTA_COMPUTE', 'quota_compute');
	PERFORM yquota_internal.fold_counters();
	PERFORM yquota_internal.correct_late_prices();
	PERFORM yquota_internal.trim_scheduler_changes();
	PERFORM yquota_internal.worker_credit(yquota.clock());
	PERFORM yquota_internal.note_crossings(yquota.clock());
	RETURN (SELECT max(at) FROM yquota_internal.charged_through);
END
$$;
COMMENT ON FUNCTION yquota.quota_compute() IS
	'Does what the worker does at each compute interval: advances the charged-through mark to the clock, folds counters, corrects late prices, looks after credit, tells of thresholds that spending has crossed; returns the mark';
CREATE OR REPLACE VIEW yquota.charged_through AS
	SELECT max(at) AS at FROM yquota_internal.charged_through;
CREATE OR REPLACE FUNCTION yquota_internal.is_in_books(project_name text) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN EXISTS (SELECT FROM yquota.container WHERE container.project = project_name)
		OR EXISTS (SELECT FROM yquota_internal.project_counter AS counter WHERE counter.project = project_name)
		OR EXISTS (SELECT FROM yquota_internal.counter_delta AS delta WHERE delta.project = project_name)
		OR EXISTS (SELECT FROM yquota_internal.deferred_event AS deferred
				   WHERE yquota_internal.payer_project(deferred.project, deferred.username) = project_name);
END
$$;
COMMENT ON FUNCTION yquota_internal.is_in_books(text) IS
	'Whether containers of a project are in the books, or are going to be';
REVOKE ALL ON FUNCTION yquota_internal.is_in_books(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.keep_project() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF TG_OP = 'UPDATE' AND NEW.name = OLD.name THEN
		RETURN NEW;
	END IF;
	-- what is being charged to it cannot be seen yet
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot % a project at isolation level %',
				CASE TG_OP WHEN 'UPDATE' THEN 'rename' ELSE 'delete' END,
				upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'Events that have been committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	END IF;
	PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event IN SHARE ROW EXCLUSIVE MODE', 120);
	IF yquota_internal.is_in_books(OLD.name) THEN
		RAISE EXCEPTION 'cannot % project "%" because its containers are in the books',
				CASE TG_OP WHEN 'UPDATE' THEN 'rename' ELSE 'delete' END, OLD.name
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Set on_exhausted to stop new work of the project.';
	END IF;
	RETURN COALESCE(NEW, OLD);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.signal_change() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_signal_change';
CREATE OR REPLACE FUNCTION yquota_internal.move_usage() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	INSERT INTO yquota.container_event (event, container_id, occurred_at, node, source)
	SELECT 'CONTAINER_UPDATE', c.container_id,
		   greatest(yquota.clock(), c.settled_at + interval '1 microsecond'), c.node, 'scheduler'
	FROM yquota.container AS c
	WHERE c.node = NEW.name;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.move_usage() IS
	'Have what the containers of a node hold count for its new label';
REVOKE ALL ON FUNCTION yquota_internal.move_usage() FROM PUBLIC;
CREATE OR REPLACE TRIGGER usage_moves AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.label <> NEW.label)
	EXECUTE FUNCTION yquota_internal.move_usage();
CREATE TABLE yquota.budget (
	project text COLLATE "C" NOT NULL REFERENCES yquota.project ON DELETE CASCADE,
	period text COLLATE "C" NOT NULL CHECK (period IN ('day', 'week', 'month', 'quarter', 'year')),
	amount numeric NOT NULL
		CHECK (amount > 0 AND amount NOT IN ('NaN', 'Infinity') AND scale(amount) <= 48),
	rollover boolean NOT NULL DEFAULT false,
	starts_on date NOT NULL CHECK (isfinite(starts_on)),
	PRIMARY KEY (project, period)
);
COMMENT ON TABLE yquota.budget IS
	'Credit that projects get every period of the time zone of bills; a change counts from the first period that has not been granted';
COMMENT ON COLUMN yquota.budget.period IS 'day, week (from Monday on), month, quarter or year';
COMMENT ON COLUMN yquota.budget.amount IS 'credits per period';
COMMENT ON COLUMN yquota.budget.rollover IS 'whether what is left of a period goes on; else it is lost at its end';
COMMENT ON COLUMN yquota.budget.starts_on IS
	'first day, by default today; the period that it lies in is granted whole, from that day on';
CREATE TABLE yquota_internal.budget_grant (
	project text COLLATE "C" NOT NULL,
	period text COLLATE "C" NOT NULL,
	starts_on date NOT NULL,
	grant_id bigint UNIQUE REFERENCES yquota.quota_grant ON DELETE SET NULL,
	PRIMARY KEY (project, period, starts_on)
);
COMMENT ON TABLE yquota_internal.budget_grant IS
	'Periods of budgets that have been granted: none is twice, whatever becomes of the budget';
COMMENT ON COLUMN yquota_internal.budget_grant.starts_on IS 'first day of the period';
COMMENT ON COLUMN yquota_internal.budget_grant.grant_id IS 'its row of quota_grant; NULL when the owner has deleted that';
CREATE OR REPLACE FUNCTION yquota_internal.period_start(period text, day date) RETURNS date
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN date_trunc(period, day::timestamp)::date;
COMMENT ON FUNCTION yquota_internal.period_start(text, date) IS 'First day of the period that a day lies in';
CREATE OR REPLACE FUNCTION yquota_internal.next_period_start(period text, first_day date) RETURNS date
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN (first_day + CASE period WHEN 'quarter' THEN interval '3 months' ELSE concat('1 ', period)::interval END)::date;
COMMENT ON FUNCTION yquota_internal.next_period_start(text, date) IS 'First day of the period after the one that begins on a day';
CREATE OR REPLACE FUNCTION yquota_internal.grant_budgets(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone text := yquota_internal.billing_timezone();
	budget yquota.budget;
	first_day date;
	next_day date;
	begins_at timestamptz;
	granted bigint := 0;
BEGIN
	-- what others have granted could not be seen: the worker does it next time
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RETURN 0;
	END IF;
	-- one at a time; readers go on
	LOCK TABLE yquota_internal.budget_grant IN SHARE ROW EXCLUSIVE MODE;
	FOR budget IN SELECT b.* FROM yquota.budget AS b ORDER BY b.project, b.period LOOP
		first_day := coalesce(
			(SELECT yquota_internal.next_period_start(budget.period, max(done.starts_on))
			 FROM yquota_internal.budget_grant AS done
			 WHERE done.project = budget.project AND done.period = budget.period),
			budget.starts_on);
		-- a budget that was taken away for a while is not made up for
		first_day := yquota_internal.period_start(budget.period, greatest(first_day, budget.starts_on));
		LOOP
			begins_at := yquota_internal.billing_day_start(greatest(first_day, budget.starts_on), zone);
			EXIT WHEN begins_at > now_at + interval '1 day';
			next_day := yquota_internal.next_period_start(budget.period, first_day);
			WITH given AS (
				INSERT INTO yquota.quota_grant (project, amount, reason, kind, external_id, valid_from, expires_at)
				VALUES (budget.project, budget.amount, format('budget of the %s from %s on', budget.period, first_day), 'budget',
						format('yquota budget: %s, %s from %s on', budget.project, budget.period, first_day), begins_at,
						CASE WHEN budget.rollover THEN 'infinity' ELSE yquota_internal.billing_day_start(next_day, zone) END)
				ON CONFLICT (external_id) DO NOTHING
				RETURNING quota_grant.grant_id
			)
			INSERT INTO yquota_internal.budget_grant (project, period, starts_on, grant_id)
			SELECT budget.project, budget.period, first_day, (SELECT given.grant_id FROM given);
			-- it pays for its own time, of which others may have been found to have lost something
			DELETE FROM yquota.expired_grant AS expired
			WHERE expired.project = budget.project AND expired.expired_at > begins_at;
			granted := granted + 1;
			first_day := next_day;
		END LOOP;
	END LOOP;
	RETURN granted;
END
$$;
COMMENT ON FUNCTION yquota_internal.grant_budgets(timestamptz) IS
	'Grant the periods of budgets that have begun by an instant, or will within a day, and have not been granted; returns how many';
REVOKE ALL ON FUNCTION yquota_internal.grant_budgets(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.keep_budget() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	today CONSTANT date := yquota_internal.billing_day(yquota.statement_clock(), yquota_internal.billing_timezone());
BEGIN
	NEW.starts_on := coalesce(NEW.starts_on, today);
	IF isfinite(NEW.starts_on) AND NEW.starts_on < today - 4000 AND NOT yquota_internal.restoring()
		AND (TG_OP = 'INSERT' OR NEW.starts_on IS DISTINCT FROM OLD.starts_on)
	THEN
		RAISE EXCEPTION 'budget cannot begin on %, more than 4000 days ago', NEW.starts_on
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Every period since then would be granted at once.';
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_budget() IS 'Have a budget begin today unless it says when, and not so long ago that it must be a mistake';
REVOKE ALL ON FUNCTION yquota_internal.keep_budget() FROM PUBLIC;
CREATE OR REPLACE TRIGGER keep BEFORE INSERT OR UPDATE ON yquota.budget
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_budget();
CREATE OR REPLACE FUNCTION yquota_internal.grant_new_budget() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- a dump brings its own grants
	IF NOT yquota_internal.restoring() THEN
		PERFORM yquota_internal.grant_budgets(yquota.statement_clock());
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.grant_new_budget() IS 'Grant the first period of a new budget at once';
REVOKE ALL ON FUNCTION yquota_internal.grant_new_budget() FROM PUBLIC;
CREATE OR REPLACE TRIGGER grant_budgets AFTER INSERT ON yquota.budget
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.grant_new_budget();
SELECT pg_extension_config_dump('yquota.budget', '');
SELECT pg_extension_config_dump('yquota_internal.budget_grant', '');
CREATE TABLE yquota_internal.spending_mark (
	project text COLLATE "C" NOT NULL REFERENCES yquota.project ON DELETE CASCADE,
	at timestamptz NOT NULL,
	spent numeric NOT NULL,
	taken_at timestamptz NOT NULL,
	PRIMARY KEY (project, at)
);
COMMENT ON TABLE yquota_internal.spending_mark IS
	'What projects had spent by instants at which their grants begin and expire';
COMMENT ON COLUMN yquota_internal.spending_mark.spent IS 'credits for all that ran before';
COMMENT ON COLUMN yquota_internal.spending_mark.taken_at IS 'clock when that was read from the books';
CREATE TABLE yquota.expired_grant (
	grant_id bigint PRIMARY KEY REFERENCES yquota.quota_grant ON DELETE CASCADE,
	project text COLLATE "C" NOT NULL,
	lost numeric NOT NULL CHECK (lost >= 0),
	expired_at timestamptz NOT NULL,
	decided_at timestamptz NOT NULL
);
CREATE INDEX expired_grant_project_idx ON yquota.expired_grant (project);
COMMENT ON TABLE yquota.expired_grant IS
	'What was left of grants when they expired.  Written by the worker; a balance does not wait for that';
COMMENT ON COLUMN yquota.expired_grant.lost IS 'credits of the grant that were never spent';
COMMENT ON COLUMN yquota.expired_grant.expired_at IS 'expires_at of the grant, or when it was booked if that was later';
COMMENT ON COLUMN yquota.expired_grant.decided_at IS 'clock when the books were last read for it';
CREATE OR REPLACE VIEW yquota_internal.ledger_segment AS
	SELECT charge.project, charge.application_id, charge.username, charge.queue, charge.execution_type,
		   charge.allocation, charge."from", charge."to", charge.corrects, charge.amount
	FROM yquota.charge;
COMMENT ON VIEW yquota_internal.ledger_segment IS
	'Rows of the ledger, of all projects: what charge_since() computes a part of';
CREATE OR REPLACE FUNCTION yquota_internal.charge_since(segment yquota_internal.ledger_segment, since timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE
		WHEN (segment)."from" >= since THEN (segment).amount
		ELSE CASE WHEN (segment).corrects IS NULL THEN 1 ELSE -1 END
			* yquota_internal.accrued((segment).allocation,
				yquota_internal.factor_names((segment).project, (segment).application_id,
					(segment).username, (segment).queue, (segment).execution_type),
				since, (segment)."to")
	END;
COMMENT ON FUNCTION yquota_internal.charge_since(yquota_internal.ledger_segment, timestamptz) IS
	'Credits of the part of a ledger row from an instant on, which is not after its end';
CREATE OR REPLACE FUNCTION yquota_internal.cost_since(projects text[], instants timestamptz[])
	RETURNS TABLE (project text, at timestamptz, cost numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH asked AS MATERIALIZED (
			SELECT a.project, a.at, a.project AS member FROM unnest(projects, instants) AS a (project, at)
			UNION ALL
			SELECT a.project, a.at, family.member
			FROM unnest(projects, instants) AS a (project, at)
			JOIN yquota_internal.project_family AS family ON family.ancestor = a.project
		)
		SELECT part.project, part.at, sum(part.cost)
		FROM (
			SELECT asked.project, asked.at, yquota_internal.charge_since(segment, asked.at) AS cost
			FROM yquota_internal.ledger_segment AS segment
			JOIN asked ON asked.member = segment.project AND segment."to" >= asked.at
				AND (segment."to" > asked.at OR segment."from" = segment."to")
			WHERE segment."to" >= (SELECT min(i) FROM unnest(instants) AS i)
			UNION ALL
			SELECT asked.project, asked.at,
				   yquota_internal.accrued(container.allocation, container.factors,
										   greatest(container.settled_at, asked.at), yquota.statement_clock())
			FROM yquota.container
			JOIN asked ON asked.member = container.project
				AND greatest(container.settled_at, asked.at) < yquota.statement_clock()
		) AS part
		GROUP BY part.project, part.at;
	END;
COMMENT ON FUNCTION yquota_internal.cost_since(text[], timestamptz[]) IS
	'Credits for what projects and their descendants ran from instants on, up to the clock; the arrays are pairs, and a pair for which nothing ran has no row';
CREATE OR REPLACE FUNCTION yquota_internal.spent_by_now(projects text[]) RETURNS TABLE (project text, spent numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT s.project, s.charged + s.accrued FROM yquota_internal.spending AS s
				 WHERE s.project = ANY (projects);
END
$$;
COMMENT ON FUNCTION yquota_internal.spent_by_now(text[]) IS
	'Credits that projects and their descendants have spent by the clock; no row for one when none is in any book';
CREATE OR REPLACE VIEW yquota_internal.grant_life AS
	SELECT quota_grant.grant_id, quota_grant.project, quota_grant.amount,
		   greatest(quota_grant.valid_from, booking.at) AS begins_at,
		   -- one that comes too late is lost when it comes
		   greatest(quota_grant.expires_at, booking.at) AS expires_at
	FROM yquota.quota_grant
	LEFT JOIN yquota_internal.budget_grant ON budget_grant.grant_id = quota_grant.grant_id
	-- a budget is not late when nobody was there to grant it
	CROSS JOIN LATERAL (
		SELECT CASE WHEN budget_grant.grant_id IS NULL THEN quota_grant.booked_at END AS at
	) AS booking;
COMMENT ON VIEW yquota_internal.grant_life IS
	'From when to when grants can be spent, or credit is taken back';
CREATE OR REPLACE FUNCTION yquota_internal.credit_instant(project text, until timestamptz) RETURNS SETOF timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT DISTINCT i.at
		FROM yquota_internal.grant_life AS g
		CROSS JOIN LATERAL (VALUES (g.begins_at), (CASE WHEN g.amount > 0 THEN g.expires_at END)) AS i (at)
		WHERE g.project = credit_instant.project AND i.at <= until;
	END;
COMMENT ON FUNCTION yquota_internal.credit_instant(text, timestamptz) IS
	'Instants up to a last one at which a grant of a project begins or expires';
CREATE OR REPLACE FUNCTION yquota_internal.spent_until(project text, until timestamptz)
	RETURNS TABLE (at timestamptz, spent numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH instant AS MATERIALIZED (
			SELECT i.at, mark.spent
			FROM (SELECT c.at FROM yquota_internal.credit_instant(project, until) AS c (at) UNION SELECT until) AS i
			LEFT JOIN yquota_internal.spending_mark AS mark
				ON mark.project = spent_until.project AND mark.at = i.at
		), since AS (
			-- the ledger is read once, and only if something is not kept
			SELECT c.at, c.cost
			FROM (SELECT array_agg(instant.at) AS instants, array_agg(spent_until.project) AS projects
				  FROM instant
				  WHERE instant.spent IS NULL AND isfinite(instant.at) AND instant.at < yquota.statement_clock()
				  HAVING count(*) > 0) AS missing
			CROSS JOIN LATERAL yquota_internal.cost_since(missing.projects, missing.instants) AS c
		)
		SELECT instant.at,
			   CASE WHEN instant.at = '-infinity' THEN 0
					ELSE coalesce(instant.spent, (SELECT by_now.spent FROM yquota_internal.spent_by_now(ARRAY[project]) AS by_now) - coalesce(since.cost, 0), 0) END
		FROM instant LEFT JOIN since ON since.at = instant.at
		ORDER BY instant.at;
	END;
COMMENT ON FUNCTION yquota_internal.spent_until(text, timestamptz) IS
	'Credits for what a project ran before each of its credit_instant() and a last one, in order, as kept or else from the books';
CREATE OR REPLACE FUNCTION yquota_internal.take_credit(INOUT rests numeric[], INOUT owed numeric)
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	taken numeric;
BEGIN
	FOR i IN 1 .. cardinality(rests) LOOP
		taken := greatest(least(owed, rests[i]), 0);
		rests[i] := rests[i] - taken;
		owed := owed - taken;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.take_credit(numeric[], numeric) IS
	'Pay what is owed from the rests of grants, the first one first';
CREATE OR REPLACE FUNCTION yquota_internal.credit_state(
	project text, until timestamptz,
	OUT valid_grants bigint[], OUT rests numeric[], OUT owed numeric,
	OUT expired_grants bigint[], OUT losses numeric[])
	-- of a view whose readers may not read what it is computed from
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	instant timestamptz;
	spent numeric;
	spent_before numeric := 0;
BEGIN
	valid_grants := '{}';
	rests := '{}';
	expired_grants := '{}';
	losses := '{}';
	owed := 0;
	FOR instant, spent IN SELECT u.at, u.spent FROM yquota_internal.spent_until(project, until) AS u LOOP
		SELECT t.rests, t.owed INTO rests, owed
		FROM yquota_internal.take_credit(rests, owed + spent - spent_before) AS t;
		spent_before := spent;

		SELECT coalesce(array_agg(g.grant_id ORDER BY g.expires_at, g.grant_id) FILTER (WHERE g.expires_at > instant), '{}'),
			   coalesce(array_agg(g.rest ORDER BY g.expires_at, g.grant_id) FILTER (WHERE g.expires_at > instant), '{}'),
			   expired_grants || coalesce(array_agg(g.grant_id) FILTER (WHERE g.expires_at <= instant), '{}'),
			   losses || coalesce(array_agg(g.rest) FILTER (WHERE g.expires_at <= instant), '{}')
		INTO valid_grants, rests, expired_grants, losses
		FROM (
			SELECT v.grant_id, v.rest, life.expires_at
			FROM unnest(valid_grants, rests) AS v (grant_id, rest)
			JOIN yquota_internal.grant_life AS life ON life.grant_id = v.grant_id
			UNION ALL
			SELECT life.grant_id, life.amount, life.expires_at
			FROM yquota_internal.grant_life AS life
			WHERE life.project = credit_state.project AND life.begins_at = instant AND life.amount > 0
		) AS g;
		owed := owed - coalesce((SELECT sum(life.amount) FROM yquota_internal.grant_life AS life
								 WHERE life.project = credit_state.project AND life.begins_at = instant AND life.amount < 0), 0);
	END LOOP;
	-- what has begun last pays what is still owed
	SELECT t.rests, t.owed INTO rests, owed FROM yquota_internal.take_credit(rests, owed) AS t;
END
$$;
COMMENT ON FUNCTION yquota_internal.credit_state(text, timestamptz) IS
	'What is left of the grants of a project at an instant, in the order in which they are spent; what it owes beyond them; and what grants that expired by then have lost';
CREATE OR REPLACE VIEW yquota_internal.noted_loss AS
	SELECT expired.project, sum(expired.lost) AS lost
	FROM yquota.expired_grant AS expired
	WHERE expired.expired_at <= yquota.statement_clock()
	GROUP BY expired.project;
COMMENT ON VIEW yquota_internal.noted_loss IS
	'What grants that have expired by the clock lost, as far as it has been noted';
CREATE OR REPLACE VIEW yquota_internal.expiry_due AS
	SELECT life.project, max(life.expires_at) AS until
	FROM yquota_internal.grant_life AS life
	WHERE life.amount > 0
	  AND life.expires_at <= yquota.statement_clock()
	  AND NOT EXISTS (SELECT FROM yquota.expired_grant AS expired WHERE expired.grant_id = life.grant_id)
	GROUP BY life.project;
COMMENT ON VIEW yquota_internal.expiry_due IS
	'Projects with grants that have expired, and that the worker has not come to yet';
CREATE OR REPLACE FUNCTION yquota_internal.unnoted_loss(project text, until timestamptz) RETURNS numeric
	-- of a view whose readers may not read what it is computed from
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN (SELECT coalesce(sum(found.lost), 0)
			FROM yquota_internal.credit_state(project, until) AS state
			CROSS JOIN LATERAL unnest(state.expired_grants, state.losses) AS found (grant_id, lost)
			WHERE NOT EXISTS (SELECT FROM yquota.expired_grant AS expired WHERE expired.grant_id = found.grant_id));
END
$$;
COMMENT ON FUNCTION yquota_internal.unnoted_loss(text, timestamptz) IS
	'What grants of a project that had expired by an instant lost, but for those of which it has been noted.  Reads the books: for rows of expiry_due';
CREATE OR REPLACE VIEW yquota_internal.lost_credit AS
	SELECT expired.project, expired.grant_id, expired.lost
	FROM yquota.expired_grant AS expired
	WHERE expired.expired_at <= yquota.statement_clock()
	UNION ALL
	-- the worker has not come to it yet
	SELECT due.project, found.grant_id, found.lost
	FROM yquota_internal.expiry_due AS due
	CROSS JOIN LATERAL yquota_internal.credit_state(due.project, due.until) AS state
	CROSS JOIN LATERAL unnest(state.expired_grants, state.losses) AS found (grant_id, lost)
	WHERE NOT EXISTS (SELECT FROM yquota.expired_grant AS expired WHERE expired.grant_id = found.grant_id);
COMMENT ON VIEW yquota_internal.lost_credit IS
	'What grants that have expired by the clock lost, whether the worker has found that out or not';
CREATE OR REPLACE VIEW yquota.grant_status WITH (security_barrier) AS
	SELECT life.grant_id, life.project, given.kind, life.amount,
		   CASE WHEN given.valid_from > yquota.statement_clock() THEN 'pending'
				WHEN life.amount < 0 THEN 'taken back'
				WHEN life.expires_at <= yquota.statement_clock() THEN 'expired'
				WHEN coalesce(found.rest, life.amount) = 0 THEN 'spent'
				ELSE 'valid'
		   END AS state,
		   CASE WHEN life.amount > 0 THEN
			   trim_scale(life.amount - coalesce(found.rest, found.lost, life.amount)) END AS spent,
		   trim_scale(found.rest) AS remaining,
		   trim_scale(found.lost) AS lost,
		   given.reason, life.begins_at, life.expires_at
	FROM yquota.project
	CROSS JOIN LATERAL yquota_internal.credit_state(project.name, yquota.statement_clock()) AS state
	JOIN yquota_internal.grant_life AS life ON life.project = project.name
	JOIN yquota.quota_grant AS given ON given.grant_id = life.grant_id
	LEFT JOIN LATERAL (
		SELECT v.rest, NULL::numeric AS lost FROM unnest(state.valid_grants, state.rests) AS v (grant_id, rest)
		WHERE v.grant_id = life.grant_id
		UNION ALL
		SELECT NULL, e.lost FROM unnest(state.expired_grants, state.losses) AS e (grant_id, lost)
		WHERE e.grant_id = life.grant_id
	) AS found ON true
	WHERE (SELECT yquota_internal.reads_all())
	   OR project.name = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.grant_status IS
	'What has become of every grant, live at the clock; reads the ledger, so ask with a project';
COMMENT ON COLUMN yquota.grant_status.amount IS 'credits';
COMMENT ON COLUMN yquota.grant_status.state IS
	'pending (not begun), valid, spent (nothing of it is left), expired, or taken back (a negative row)';
COMMENT ON COLUMN yquota.grant_status.spent IS 'credits spent of it; NULL in a negative row';
COMMENT ON COLUMN yquota.grant_status.remaining IS 'credits left of it; NULL when it is not valid';
COMMENT ON COLUMN yquota.grant_status.lost IS 'credits left of it when it expired; NULL before';
COMMENT ON COLUMN yquota.grant_status.begins_at IS
	'when it could first be spent: valid_from, or when it was booked if that was later';
CREATE OR REPLACE FUNCTION yquota_internal.mark_spending(projects text[], review_from timestamptz, now_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH due AS MATERIALIZED (
			SELECT p.project, i.at
			FROM unnest(projects) AS p (project)
			CROSS JOIN LATERAL yquota_internal.credit_instant(p.project, now_at) AS i (at)
			LEFT JOIN yquota_internal.spending_mark AS mark ON mark.project = p.project AND mark.at = i.at
			WHERE isfinite(i.at) AND (mark.at IS NULL OR mark.at > review_from)
		), since AS (
			SELECT c.project, c.at, c.cost
			FROM (SELECT array_agg(due.project) AS projects, array_agg(due.at) AS instants FROM due) AS asked
			CROSS JOIN LATERAL yquota_internal.cost_since(asked.projects, asked.instants) AS c
		)
		INSERT INTO yquota_internal.spending_mark AS mark (project, at, spent, taken_at)
		SELECT due.project, due.at,
			   trim_scale(coalesce(by_now.spent, 0) - coalesce(since.cost, 0)), now_at
		FROM due
		LEFT JOIN yquota_internal.spent_by_now(projects) AS by_now ON by_now.project = due.project
		LEFT JOIN since ON since.project = due.project AND since.at = due.at
		ON CONFLICT (project, at) DO UPDATE SET spent = excluded.spent, taken_at = excluded.taken_at;
	END;
COMMENT ON FUNCTION yquota_internal.mark_spending(text[], timestamptz, timestamptz) IS
	'Keep what projects had spent when their grants began and expired; anew for instants after review_from';
REVOKE ALL ON FUNCTION yquota_internal.mark_spending(text[], timestamptz, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.expire_grants(now_at timestamptz, max_projects integer DEFAULT NULL) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	review_from CONSTANT timestamptz := now_at - interval '35 days';
	due_projects text[];
	decided bigint;
BEGIN
	-- what others have noted could not be seen: the worker does it next time
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RETURN 0;
	END IF;
	-- one at a time; readers go on
	LOCK TABLE yquota.expired_grant IN SHARE ROW EXCLUSIVE MODE;
	-- what balances have to compute meanwhile comes before what is looked at again
	SELECT array_agg(due.project) INTO due_projects
	FROM (SELECT life.project
		  FROM yquota_internal.grant_life AS life
		  LEFT JOIN yquota.expired_grant AS expired ON expired.grant_id = life.grant_id
		  WHERE life.amount > 0 AND life.expires_at <= now_at
			AND (expired.grant_id IS NULL
				 OR life.expires_at > review_from AND expired.decided_at <= now_at - interval '1 day')
		  GROUP BY life.project
		  ORDER BY bool_or(expired.grant_id IS NULL) DESC, life.project
		  LIMIT max_projects) AS due;
	IF due_projects IS NULL THEN
		RETURN 0;
	END IF;
	PERFORM yquota_internal.mark_spending(due_projects, review_from, now_at);
	INSERT INTO yquota.expired_grant AS expired (grant_id, project, lost, expired_at, decided_at)
	SELECT life.grant_id, life.project, trim_scale(found.lost), life.expires_at, now_at
	FROM unnest(due_projects) AS due (project)
	CROSS JOIN LATERAL (
		SELECT max(ended.expires_at) AS at FROM yquota_internal.grant_life AS ended
		WHERE ended.project = due.project AND ended.amount > 0 AND ended.expires_at <= now_at
	) AS last_end
	CROSS JOIN LATERAL yquota_internal.credit_state(due.project, last_end.at) AS state
	CROSS JOIN LATERAL unnest(state.expired_grants, state.losses) AS found (grant_id, lost)
	JOIN yquota_internal.grant_life AS life ON life.grant_id = found.grant_id
	ON CONFLICT (grant_id) DO UPDATE SET lost = excluded.lost, decided_at = excluded.decided_at
		WHERE expired.expired_at > review_from;
	GET DIAGNOSTICS decided = ROW_COUNT;
	RETURN decided;
END
$$;
COMMENT ON FUNCTION yquota_internal.expire_grants(timestamptz, integer) IS
	'Note what grants that expired have lost; once a day look again at those that expired in the last 35 days.  Returns of how many projects, at most so many at a time';
REVOKE ALL ON FUNCTION yquota_internal.expire_grants(timestamptz, integer) FROM PUBLIC;
SELECT pg_extension_config_dump('yquota_internal.spending_mark', '');
SELECT pg_extension_config_dump('yquota.expired_grant', '');
CREATE TABLE yquota.hold (
	hold_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	project text COLLATE "C" NOT NULL REFERENCES yquota.project,
	application_id text COLLATE "C" NOT NULL CHECK (application_id <> ''),
	amount numeric NOT NULL
		CHECK (amount > 0 AND amount NOT IN ('NaN', 'Infinity') AND scale(amount) <= 48),
	reason text,
	held_by name NOT NULL,
	held_at timestamptz NOT NULL,
	expires_at timestamptz NOT NULL,
	released_by name,
	released_at timestamptz,
	CHECK (held_at < expires_at),
	CHECK ((released_by IS NULL) = (released_at IS NULL))
);
CREATE INDEX hold_project_idx ON yquota.hold (project) WHERE released_at IS NULL;
COMMENT ON TABLE yquota.hold IS
	'Credit set aside for applications by hold(), until release() or expires_at';
COMMENT ON COLUMN yquota.hold.amount IS 'credits, before anything of it was spent';
COMMENT ON COLUMN yquota.hold.held_by IS 'who called hold()';
COMMENT ON COLUMN yquota.hold.held_at IS 'clock when it was held: what the application costs from then on uses it up';
COMMENT ON COLUMN yquota.hold.expires_at IS 'from then on it holds nothing';
COMMENT ON COLUMN yquota.hold.released_by IS 'who called release(); NULL when nobody has';
CREATE OR REPLACE VIEW yquota_internal.live_hold AS
	SELECT hold.* FROM yquota.hold
	WHERE hold.released_at IS NULL AND yquota.statement_clock() < hold.expires_at;
COMMENT ON VIEW yquota_internal.live_hold IS 'Holds that are neither released nor expired';
CREATE OR REPLACE FUNCTION yquota_internal.holds_at(project text, at timestamptz)
	RETURNS TABLE (hold_id bigint, application_id text, spent numeric, outstanding numeric)
	-- of a view whose readers may not read what it is computed from
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 10
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH held AS MATERIALIZED (
			SELECT hold.hold_id, hold.application_id, hold.amount, hold.held_at,
				   at < yquota.statement_clock() AS is_past
			FROM yquota.hold
			WHERE hold.project = holds_at.project AND at < hold.expires_at
			  AND CASE WHEN at < yquota.statement_clock()
					   THEN hold.held_at <= at AND (hold.released_at IS NULL OR at < hold.released_at)
					   ELSE hold.released_at IS NULL END
		), cost AS (
			SELECT part.hold_id, trim_scale(sum(part.amount)) AS spent
			FROM (
				SELECT held.hold_id,
					   yquota_internal.charge_since(segment, held.held_at)
					   - CASE WHEN held.is_past AND segment."to" > at
							  THEN yquota_internal.charge_since(segment, at) ELSE 0 END AS amount
				FROM yquota_internal.ledger_segment AS segment
				JOIN held ON held.application_id = segment.application_id AND segment."to" >= held.held_at
					AND (segment."to" > held.held_at OR segment."from" = segment."to")
				WHERE segment.project = holds_at.project
				  AND segment."to" >= (SELECT min(held.held_at) FROM held)
				UNION ALL
				SELECT held.hold_id,
					   yquota_internal.accrued(container.allocation, container.factors,
											   greatest(container.settled_at, held.held_at), at)
				FROM yquota.container
				JOIN held ON held.application_id = container.application_id
					AND greatest(container.settled_at, held.held_at) < at
				WHERE container.project = holds_at.project
			) AS part
			GROUP BY part.hold_id
		)
		SELECT covering.hold_id, covering.application_id, covering.spent,
			   trim_scale(covering.outstanding - coalesce(lag(covering.outstanding) OVER earlier, 0))
		FROM (
			SELECT live.hold_id, live.application_id, live.held_at, live.spent,
				   greatest(live.held + max(live.amount - live.held - live.spent) OVER earlier, 0) AS outstanding
			FROM (
				SELECT held.hold_id, held.application_id, held.held_at, held.amount,
					   coalesce(cost.spent, 0) AS spent, sum(held.amount) OVER earlier AS held
				FROM held
				LEFT JOIN cost ON cost.hold_id = held.hold_id
				WINDOW earlier AS (PARTITION BY held.application_id ORDER BY held.held_at, held.hold_id)
			) AS live
			WINDOW earlier AS (PARTITION BY live.application_id ORDER BY live.held_at, live.hold_id)
		) AS covering
		WINDOW earlier AS (PARTITION BY covering.application_id ORDER BY covering.held_at, covering.hold_id);
	END;
COMMENT ON FUNCTION yquota_internal.holds_at(text, timestamptz) IS
	'What was left of the holds of a project that were in force at an instant up to the clock, and what their applications had spent since they were held';
CREATE OR REPLACE VIEW yquota_internal.hold_outstanding AS
	SELECT found.hold_id, holder.project, found.application_id, found.spent, found.outstanding
	FROM (SELECT DISTINCT live_hold.project FROM yquota_internal.live_hold) AS holder
	CROSS JOIN LATERAL yquota_internal.holds_at(holder.project, yquota.statement_clock()) AS found;
COMMENT ON VIEW yquota_internal.hold_outstanding IS
	'What is left of the holds that are neither released nor expired, and what their applications spent since';
CREATE OR REPLACE VIEW yquota_internal.held_credit AS
	SELECT held.project, trim_scale(sum(held.outstanding)) AS held
	FROM (
		SELECT own.project, own.outstanding FROM yquota_internal.hold_outstanding AS own
		UNION ALL
		SELECT family.ancestor, found.outstanding
		FROM yquota_internal.project_family AS family
		JOIN (SELECT DISTINCT live_hold.project FROM yquota_internal.live_hold) AS holder ON holder.project = family.member
		CROSS JOIN LATERAL yquota_internal.holds_at(family.member, yquota.statement_clock()) AS found
	) AS held
	GROUP BY held.project;
COMMENT ON VIEW yquota_internal.held_credit IS
	'What is held by projects and all that descend from them; no row where nothing is';
CREATE OR REPLACE FUNCTION yquota_internal.lock_credit(project text) RETURNS numeric
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_lock_credit';
COMMENT ON FUNCTION yquota_internal.lock_credit(text) IS
	'Wait for others who hold credit of a project or its ancestors, until the transaction ends, and say what is available then (project_credit), as committed; charging does not wait';
REVOKE ALL ON FUNCTION yquota_internal.lock_credit(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_may_hold(project text, purpose text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT (yquota_internal.acts_as('operator') OR yquota_internal.acts_as('admin')
			OR coalesce(project = ANY (yquota_internal.readable_projects()), false)) THEN
		RAISE EXCEPTION 'permission denied to %', purpose
			USING ERRCODE = 'insufficient_privilege',
				HINT = 'Only operators, administrators and members of the project may.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_may_hold(text, text) IS
	'Fail when whoever asks may not hold and release credit of a project; the purpose is for the message';
REVOKE ALL ON FUNCTION yquota_internal.check_may_hold(text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_hold(application_id text, amount numeric, ttl interval) RETURNS void
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF application_id IS NULL OR amount IS NULL OR ttl IS NULL THEN
		RAISE EXCEPTION 'project, application, amount and time to live of a hold must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF application_id = '' THEN
		RAISE EXCEPTION 'a hold needs the id of an application'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF amount <= 0 OR amount IN ('NaN', 'Infinity') OR scale(amount) > 48 THEN
		RAISE EXCEPTION 'cannot hold % credits', amount
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The amount must be positive, finite, and have at most 48 decimals.';
	ELSIF ttl <= interval '0' OR ttl > interval '10 years' THEN
		RAISE EXCEPTION 'a hold cannot live for %', ttl
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'The time to live must be positive and at most 10 years.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_hold(text, numeric, interval) IS
	'Whether that can be held; an error when not';
REVOKE ALL ON FUNCTION yquota_internal.check_hold(text, numeric, interval) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.hold_as_owner(
	project text, application_id text, amount numeric, ttl interval, reason text) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	mode yquota.quota_mode;
	available numeric;
	limited_by text;
	new_hold_id bigint;
BEGIN
	IF project IS NULL THEN
		RAISE EXCEPTION 'project, application, amount and time to live of a hold must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM yquota_internal.check_may_hold(project, format('hold credit of project "%s"', project));
	PERFORM yquota_internal.check_hold(application_id, amount, ttl);
	SELECT p.quota_mode INTO mode FROM yquota.project AS p WHERE p.name = hold_as_owner.project;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'project "%" does not exist', project
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Insert it into yquota.project.';
	END IF;
	-- it stays in its family: whoever moves a project waits, and is waited for
	LOCK TABLE yquota_internal.project_family IN ROW EXCLUSIVE MODE;
	IF mode = 'PREPAID' THEN
		available := yquota_internal.lock_credit(project);
	END IF;
	IF available < amount THEN
		SELECT credit.limited_by INTO limited_by FROM yquota_internal.project_credit AS credit
		WHERE credit.project = hold_as_owner.project;
		RAISE EXCEPTION 'project "%" has not enough credit to hold %', project, amount
			USING ERRCODE = 'YQ001',
				DETAIL = CASE WHEN limited_by <> project
							  THEN format('It descends from project "%s", to which %s remains.', limited_by, available)
							  ELSE format('What remains is %s.', available) END,
				HINT = 'Hold less, release holds that are no longer needed, or wait until credit is granted.';
	END IF;
	INSERT INTO yquota.hold (project, application_id, amount, reason, held_by, held_at, expires_at)
	VALUES (project, application_id, amount, reason, yquota_internal.acting_role(),
			yquota.statement_clock(), yquota.statement_clock() + ttl)
	RETURNING hold_id INTO new_hold_id;
	RETURN new_hold_id;
END
$$;
COMMENT ON FUNCTION yquota_internal.hold_as_owner(text, text, numeric, interval, text) IS
	'What hold() does for whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.hold_as_owner(text, text, numeric, interval, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.hold(
	project text, application_id text, amount numeric, ttl interval, reason text DEFAULT NULL) RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.hold(text, text, numeric, interval, text) IS
	'Set credit of a project aside for an application, for at most ttl; returns the hold_id for release().  YQ001 when that much is not available (project_balance), which is never the case in a NOLIMIT project';
REVOKE ALL ON FUNCTION yquota.hold(text, text, numeric, interval, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.release_as_owner(hold_id bigint) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	held yquota.hold;
BEGIN
	SELECT * INTO held FROM yquota.hold AS h WHERE h.hold_id = release_as_owner.hold_id;
	IF held.hold_id IS NULL THEN
		RAISE EXCEPTION 'hold % does not exist', hold_id
			USING ERRCODE = 'no_data_found',
				HINT = 'Holds are removed 30 days after they ended.';
	END IF;
	-- without the project's name, which may be unknown to who asks
	PERFORM yquota_internal.check_may_hold(held.project, format('release hold %s', held.hold_id));
	UPDATE yquota.hold AS h
	SET released_by = yquota_internal.acting_role(), released_at = yquota.statement_clock()
	WHERE h.hold_id = held.hold_id AND h.released_at IS NULL
	  AND yquota.statement_clock() < h.expires_at;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION yquota_internal.release_as_owner(bigint) IS
	'What release() does for whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.release_as_owner(bigint) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.release(hold_id bigint) RETURNS boolean
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.release(bigint) IS
	'End a hold; returns false when it was released or had expired before';
REVOKE ALL ON FUNCTION yquota.release(bigint) FROM PUBLIC;
CREATE OR REPLACE VIEW yquota.hold_status WITH (security_barrier) AS
	SELECT hold.hold_id, hold.project, hold.application_id, hold.amount,
		   CASE WHEN hold.released_at IS NOT NULL THEN 'released'
				WHEN left_over.hold_id IS NULL THEN 'expired'
				WHEN left_over.outstanding = 0 THEN 'spent'
				ELSE 'held'
		   END AS state,
		   left_over.spent,
		   coalesce(left_over.outstanding, 0) AS outstanding,
		   hold.reason, hold.held_by, hold.held_at, hold.expires_at, hold.released_by, hold.released_at
	FROM yquota.hold
	LEFT JOIN yquota_internal.hold_outstanding AS left_over ON left_over.hold_id = hold.hold_id
	WHERE (SELECT yquota_internal.reads_all())
	   OR hold.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.hold_status IS
	'Credit set aside for applications, live at the clock; holds that ended are kept for 30 days';
COMMENT ON COLUMN yquota.hold_status.state IS
	'held, spent (nothing of it is left), released or expired; by the clock, whatever the worker does';
COMMENT ON COLUMN yquota.hold_status.amount IS 'credits held at first';
COMMENT ON COLUMN yquota.hold_status.spent IS
	'credits that the application has cost since held_at, also what an earlier hold covered; NULL for one that is released or has expired';
COMMENT ON COLUMN yquota.hold_status.outstanding IS 'credits still held: what project_balance.held adds up';
CREATE OR REPLACE FUNCTION yquota_internal.remove_ended_holds(now_at timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH removed AS (
			DELETE FROM yquota.hold
			WHERE least(hold.released_at, hold.expires_at) < now_at - interval '30 days'
			RETURNING 1)
		SELECT count(*) FROM removed;
	END;
COMMENT ON FUNCTION yquota_internal.remove_ended_holds(timestamptz) IS
	'Forget holds that were released or expired 30 days before an instant; returns how many';
REVOKE ALL ON FUNCTION yquota_internal.remove_ended_holds(timestamptz) FROM PUBLIC;
SELECT pg_extension_config_dump('yquota.hold', '');
SELECT pg_extension_config_dump('yquota.hold_hold_id_seq', '');
CREATE TABLE yquota_internal.deferred_event (
	event yquota.container_event_type NOT NULL,
	container_id text COLLATE "C",
	occurred_at timestamptz,
	project text COLLATE "C",
	application_id text COLLATE "C",
	username text COLLATE "C",
	queue text COLLATE "C",
	node text COLLATE "C",
	allocation yquota.resource,
	execution_type yquota.execution_type,
	exit_status integer,
	source text,
	recorded_at timestamptz NOT NULL,
	arrival bigint GENERATED ALWAYS AS IDENTITY
);
CREATE INDEX deferred_event_container_idx ON yquota_internal.deferred_event (container_id)
	WHERE octet_length(container_id) <= 2600;
COMMENT ON TABLE yquota_internal.deferred_event IS
	'Rows of the log that came while yquota.charging was deferred and have not been charged yet; charge_deferred() takes them out';
COMMENT ON COLUMN yquota_internal.deferred_event.arrival IS
	'number of the statement that brought the row, the same for all of its rows; statements are charged in this order';
CREATE OR REPLACE FUNCTION yquota_internal.charge_deferred_through(last_id text, OUT charged bigint, OUT set_aside bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_charge_deferred_through';
COMMENT ON FUNCTION yquota_internal.charge_deferred_through(text) IS
	'Charge the deferred events of containers up to an id, all of them for NULL, and forget that they were deferred; the caller holds the locks of charge_deferred()';
REVOKE ALL ON FUNCTION yquota_internal.charge_deferred_through(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.charge_deferred(max_events bigint DEFAULT NULL,
									   OUT charged bigint, OUT set_aside bigint, OUT remaining bigint)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	last_id text COLLATE "C";
BEGIN
	IF max_events < 1 THEN
		RAISE EXCEPTION 'max_events must be greater than zero'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Leave it out to charge all that was deferred.';
	END IF;
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	LOCK TABLE yquota_internal.deferred_event IN SHARE UPDATE EXCLUSIVE MODE;
	IF max_events IS NOT NULL THEN
		SELECT deferred.container_id INTO last_id
		FROM yquota_internal.deferred_event AS deferred
		WHERE octet_length(deferred.container_id) <= 2600
		ORDER BY deferred.container_id
		OFFSET max_events - 1 LIMIT 1;
	END IF;
	SELECT done.charged, done.set_aside INTO charge_deferred.charged, charge_deferred.set_aside
	FROM yquota_internal.charge_deferred_through(last_id) AS done;
	SELECT count(*) INTO remaining FROM yquota_internal.deferred_event;
END
$$;
COMMENT ON FUNCTION yquota.charge_deferred(bigint) IS
	'Charge events that came while yquota.charging was deferred, as the door would have: all, or those of so many containers that there are at least max_events; bad ones are raised or set aside as yquota.on_bad_event says.  Returns how many were charged, set aside, and remain';
REVOKE ALL ON FUNCTION yquota.charge_deferred(bigint) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_while_deferred(what text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF EXISTS (SELECT FROM yquota_internal.deferred_event) THEN
		RAISE EXCEPTION 'cannot % while events are deferred', what
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'The books lack what came while yquota.charging was deferred.',
				HINT = 'Call yquota.charge_deferred() until nothing remains.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_while_deferred(text) IS
	'Fail while the books are behind the log, for what relies on the books being complete';
REVOKE ALL ON FUNCTION yquota_internal.refuse_while_deferred(text) FROM PUBLIC;
CREATE OR REPLACE VIEW yquota_internal.compute_mark AS
	SELECT max(mark.at) AS at
	FROM (SELECT charged.at FROM yquota_internal.charged_through AS charged
		  UNION ALL
		  SELECT deferred.occurred_at
		  FROM yquota_internal.deferred_event AS deferred
		  WHERE deferred.event = 'QUOTA_COMPUTE' AND isfinite(deferred.occurred_at)
			AND deferred.occurred_at <= deferred.recorded_at + yquota_internal.duration('yquota.max_clock_skew')) AS mark;
COMMENT ON VIEW yquota_internal.compute_mark IS
	'The charged-through mark as it will be when deferred events have been charged';
SELECT pg_extension_config_dump('yquota_internal.deferred_event', '');
SELECT pg_extension_config_dump('yquota_internal.deferred_event_arrival_seq', '');
CREATE TABLE yquota.event_void (
	void_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	container_id text COLLATE "C" NOT NULL,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C",
	amount numeric NOT NULL,
	was_running boolean NOT NULL,
	charges integer NOT NULL,
	reason text NOT NULL CHECK (reason ~ '[^[:space:]]'),
	chosen jsonb NOT NULL,
	voided_by name NOT NULL DEFAULT session_user,
	voided_at timestamptz NOT NULL,
	recorded_until timestamptz NOT NULL
);
CREATE INDEX event_void_container_id_idx ON yquota.event_void (container_id);
COMMENT ON TABLE yquota.event_void IS
	'Containers whose events were voided by void_events(): who, when and why.  Append-only';
COMMENT ON COLUMN yquota.event_void.project IS 'who had paid until then';
COMMENT ON COLUMN yquota.event_void.application_id IS 'application that the container had until then';
COMMENT ON COLUMN yquota.event_void.amount IS 'credits taken back: the sum of the container''s charges that were in effect';
COMMENT ON COLUMN yquota.event_void.was_running IS 'whether the container was running according to its events';
COMMENT ON COLUMN yquota.event_void.charges IS 'rows of charge that the container had after the void: none of them is in effect, those of later events have larger numbers';
COMMENT ON COLUMN yquota.event_void.chosen IS 'the arguments of void_events() that chose the container';
COMMENT ON COLUMN yquota.event_void.voided_at IS 'the clock when nobody else could change the container''s books any more';
COMMENT ON COLUMN yquota.event_void.recorded_until IS 'voided_at, or the latest recorded_at by then if the clock had been set back: events recorded later came after the void';
CREATE OR REPLACE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.event_void
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('It tells which events of the log do not count.');
CREATE OR REPLACE VIEW yquota_internal.last_void AS
	SELECT event_void.container_id,
		   max(event_void.recorded_until) AS recorded_until,
		   max(event_void.charges) AS charges
	FROM yquota.event_void
	GROUP BY event_void.container_id;
COMMENT ON VIEW yquota_internal.last_void IS
	'Containers that were ever voided: when last, and up to which number their charges are taken back';
CREATE OR REPLACE VIEW yquota_internal.stretch_since_void AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge.started_at, charge."from",
		   CASE charge.settled_by WHEN 'CONTAINER_FINISH' THEN charge."to" END AS finished_at,
		   charge.exit_status
	FROM yquota_internal.last_void AS void
	JOIN yquota_internal.charge_in_effect AS charge
		ON charge.container_id = void.container_id AND charge.number > void.charges
	WHERE charge.padding IS NULL
	UNION ALL
	SELECT container.container_id, container.project, container.application_id, container.username,
		   container.queue, container.node, container.execution_type, container.allocation,
		   container.started_at, container.settled_at, NULL, NULL
	FROM yquota_internal.last_void AS void
	JOIN yquota.container
		ON container.container_id = void.container_id AND container.charges >= void.charges;
COMMENT ON VIEW yquota_internal.stretch_since_void IS
	'Stretches of containers that were voided and have been started since, settled and running';
CREATE OR REPLACE VIEW yquota_internal.event_since_void AS
	SELECT 'CONTAINER_START'::yquota.container_event_type AS event, false AS repeated_start,
		   life.container_id, life.started_at AS occurred_at,
		   life.project, life.application_id, life.username,
		   CASE WHEN start.container_id IS NULL THEN life.queue ELSE start.queue END AS queue,
		   CASE WHEN start.container_id IS NULL THEN life.node ELSE start.node END AS node,
		   COALESCE(start.allocation, life.allocation) AS allocation,
		   COALESCE(start.execution_type, life.execution_type) AS execution_type,
		   NULL::integer AS exit_status
	FROM yquota_internal.stretch_since_void AS life
	LEFT JOIN yquota.container_change AS start
		ON start.container_id = life.container_id AND start.event = 'CONTAINER_START'
	WHERE life."from" = life.started_at
	UNION ALL
	SELECT CASE WHEN change.repeated_start THEN 'CONTAINER_START' ELSE change.event END,
		   change.repeated_start, change.container_id, change.occurred_at, NULL, NULL, NULL,
		   change.queue, change.node, change.allocation, change.execution_type, NULL
	FROM yquota_internal.last_void AS void
	JOIN yquota.container_change AS change ON change.container_id = void.container_id
	WHERE change.event = 'CONTAINER_UPDATE'
	UNION ALL
	SELECT 'CONTAINER_FINISH', false, life.container_id, life.finished_at, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, life.exit_status
	FROM yquota_internal.stretch_since_void AS life
	WHERE life.finished_at IS NOT NULL;
COMMENT ON VIEW yquota_internal.event_since_void IS
	'Events that the books know of containers since their last void; columns that do not matter for the kind are NULL.  A repeated_start has the time when it became an UPDATE';
CREATE OR REPLACE FUNCTION yquota_internal.void_containers(
	container_ids text[],
	OUT container_id text, OUT project text, OUT application_id text, OUT amount numeric,
	OUT was_running boolean, OUT charges integer) RETURNS SETOF record
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_void_containers';
COMMENT ON FUNCTION yquota_internal.void_containers(text[]) IS
	'Take back all that the books say of containers, in ascending order of id; a row for each of which they said anything';
REVOKE ALL ON FUNCTION yquota_internal.void_containers(text[]) FROM PUBLIC;
CREATE OR REPLACE VIEW yquota_internal.voidable_stretch AS
	SELECT charge.container_id, charge.project, charge.application_id, charge."from", charge."to",
		   charge."from" = charge.started_at AS is_start, charge.settled_by <> 'QUOTA_COMPUTE' AS is_end
	FROM yquota_internal.charge_in_effect AS charge
	UNION ALL
	SELECT container.container_id, container.project, container.application_id,
		   container.settled_at, NULL, container.settled_at = container.started_at, false
	FROM yquota.container;
COMMENT ON VIEW yquota_internal.voidable_stretch IS
	'Stretches of all containers: each accepted event is at an end of one that is_start or is_end, others are ends of closed periods';
CREATE OR REPLACE FUNCTION yquota_internal.check_void(
	container_id text, application_id text, "from" timestamptz, "to" timestamptz, reason text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot void events at isolation level %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'What has been committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	ELSIF reason IS NULL OR reason !~ '[^[:space:]]' THEN
		RAISE EXCEPTION 'voiding events needs a reason'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Say in "reason" what was wrong with them.';
	ELSIF container_id IS NULL AND application_id IS NULL AND "from" IS NULL AND "to" IS NULL THEN
		RAISE EXCEPTION 'nothing says which events to void'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Name a container_id, an application_id, or a window with "from" and "to".';
	ELSIF ("from" IS NULL) <> ("to" IS NULL) THEN
		RAISE EXCEPTION 'a window of events to void needs both ends'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use ''-infinity'' and ''infinity'' for a window without ends.';
	ELSIF "from" > "to" THEN
		RAISE EXCEPTION 'window ends before it begins'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It goes from %s to %s.', "from", "to");
	ELSIF "from" < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Containers that ended before it have left the database and cannot be voided.',
				HINT = 'Begin at the horizon or later, and give credit back with yquota.quota_grant for what lies before.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_void(text, text, timestamptz, timestamptz, text) IS
	'Whether that is enough to say what to void, and why; an error when not';
REVOKE ALL ON FUNCTION yquota_internal.check_void(text, text, timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_not_archived(container_id text, application_id text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	subject text := CASE WHEN container_id IS NULL THEN format('application "%s"', application_id)
					ELSE format('container "%s"', container_id) END;
BEGIN
	IF yquota_internal.archive_horizon() = '-infinity'
		OR container_id IS NULL AND application_id IS NULL
		OR EXISTS (
			SELECT FROM (
				SELECT c.container_id, c.application_id FROM yquota.container AS c
				UNION ALL SELECT c.container_id, c.application_id FROM yquota.charge AS c
				-- void already, if it has not been started and archived since
				UNION ALL SELECT v.container_id, v.application_id FROM yquota.event_void AS v
				WHERE v.voided_at >= (SELECT max(s.ledger_archived_at) FROM yquota.history_stretch AS s)) AS known
			WHERE (check_not_archived.container_id IS NULL OR known.container_id = check_not_archived.container_id)
			  AND (check_not_archived.application_id IS NULL OR known.application_id = check_not_archived.application_id))
	THEN
		RETURN;
	END IF;
	RAISE EXCEPTION '% is not in the books', subject
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = format('What ended before the archive horizon at %s may have been archived, and is too old to be voided.',
							yquota_internal.archive_horizon()),
			HINT = 'Look for it in the archive, and give credit back with yquota.quota_grant.';
END
$$;
COMMENT ON FUNCTION yquota_internal.check_not_archived(text, text) IS
	'Fail when history has been archived and nothing in the books is known of what is to be voided';
REVOKE ALL ON FUNCTION yquota_internal.check_not_archived(text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.void_batch(
	container_ids text[], reason text, chosen jsonb, latest timestamptz) RETURNS SETOF yquota.event_void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	voids yquota.event_void[];
BEGIN
	-- the clock is read when all of the batch has been claimed
	WITH noted AS (
		INSERT INTO yquota.event_void AS void
			(container_id, project, application_id, amount, was_running, charges, reason, chosen,
			 voided_at, recorded_until)
		SELECT taken.container_id, taken.project, taken.application_id, trim_scale(taken.amount),
			   taken.was_running, taken.charges, void_batch.reason, void_batch.chosen,
			   taken.at, greatest(taken.at, latest)
		FROM (SELECT voided.*, yquota.clock() AS at
			  FROM yquota_internal.void_containers(container_ids) AS voided
			  OFFSET 0) AS taken
		RETURNING void.*
	)
	SELECT array_agg(noted) INTO voids FROM noted;
	-- What waits would be applied to the container's next START; which nobody
	-- can deliver meanwhile, because it is claimed.  Others of the batch are not:
	-- somebody else has voided them since they were chosen.
	DELETE FROM yquota.event_reject AS reject
	WHERE reject.waiting
	  AND reject.container_id = ANY (ARRAY(SELECT void.container_id FROM unnest(voids) AS void));
	RETURN QUERY SELECT void.* FROM unnest(voids) AS void;
END
$$;
COMMENT ON FUNCTION yquota_internal.void_batch(text[], text, jsonb, timestamptz) IS
	'Void containers, in ascending order of id, and note it in event_void; with the latest recorded_at of the log, or earlier if the clock is later';
REVOKE ALL ON FUNCTION yquota_internal.void_batch(text[], text, jsonb, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.void_events(
	container_id text DEFAULT NULL, reason text DEFAULT NULL, application_id text DEFAULT NULL,
	"from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL,
	project text DEFAULT NULL, source text DEFAULT NULL)
	RETURNS SETOF yquota.event_void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	-- the plan depends on which arguments are given
	SET plan_cache_mode = force_custom_plan
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	batch_size CONSTANT integer := 1000;
	chosen jsonb := jsonb_strip_nulls(jsonb_build_object(
		'container_id', container_id, 'application_id', application_id,
		'from', "from", 'to', "to", 'project', project, 'source', source));
	latest timestamptz;
	found_id text;
	batch text[] := '{}';
BEGIN
	PERFORM yquota_internal.check_void(container_id, application_id, "from", "to", reason);
	PERFORM yquota_internal.refuse_while_deferred('void events');
	-- as a statement of the door: the archive horizon stays where it is
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	PERFORM yquota_internal.check_not_archived(container_id, application_id);
	SELECT max(part.recorded_at) INTO latest
	FROM (SELECT counter.last_recorded_at AS recorded_at FROM yquota_internal.feed_counter AS counter
		  UNION ALL
		  SELECT delta.recorded_at FROM yquota_internal.counter_delta AS delta
		  WHERE delta.scope IN ('a', 'f')) AS part;
	FOR found_id IN
		SELECT DISTINCT stretch.container_id
		FROM yquota_internal.voidable_stretch AS stretch
		WHERE (void_events.container_id IS NULL OR stretch.container_id = void_events.container_id)
		  AND (void_events.application_id IS NULL OR stretch.application_id = void_events.application_id)
		  AND (void_events.project IS NULL OR stretch.project = void_events.project)
		  AND (void_events."from" IS NULL
			   OR stretch."from" >= void_events."from" AND stretch."from" < void_events."to" AND stretch.is_start
			   OR stretch."to" >= void_events."from" AND stretch."to" < void_events."to" AND stretch.is_end)
		  AND (void_events.source IS NULL
			   OR stretch.container_id IN (
				SELECT log.container_id
				FROM yquota.container_event AS log
				WHERE log.source = void_events.source
				  AND (void_events."from" IS NULL
					   OR log.occurred_at >= void_events."from" AND log.occurred_at < void_events."to")
				  AND NOT EXISTS (SELECT FROM yquota.event_void AS void
								  WHERE void.container_id = log.container_id
									AND void.recorded_until >= log.recorded_at)))
		ORDER BY stretch.container_id
	LOOP
		batch := batch || found_id;
		IF cardinality(batch) = batch_size THEN
			RETURN QUERY SELECT * FROM yquota_internal.void_batch(batch, reason, chosen, latest);
			batch := '{}';
		END IF;
	END LOOP;
	RETURN QUERY SELECT * FROM yquota_internal.void_batch(batch, reason, chosen, latest);
END
$$;
COMMENT ON FUNCTION yquota.void_events(text, text, text, timestamptz, timestamptz, text, text) IS
	'Void all events of containers that turned out to be wrong: take back what they were charged, so that the true events can be delivered.  Containers are chosen by id, by application, or by a window in which any of their events occurred; project and source narrow the choice.  Returns a row per container; none for what is unknown or void already';
REVOKE ALL ON FUNCTION yquota.void_events(text, text, text, timestamptz, timestamptz, text, text) FROM PUBLIC;
SELECT pg_extension_config_dump('yquota.event_void', '');
SELECT pg_extension_config_dump('yquota.event_void_void_id_seq', '');
CREATE TABLE yquota_internal.usage_version (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	version uuid NOT NULL DEFAULT gen_random_uuid(),
	content uuid NOT NULL DEFAULT gen_random_uuid(),
	is_folding boolean NOT NULL DEFAULT false,
	folded_before xid8,
	folded_but xid8[],
	noted pg_snapshot
);
COMMENT ON TABLE yquota_internal.usage_version IS
	'One row, which changes with usage_counter: sessions that have read the one compare the other';
COMMENT ON COLUMN yquota_internal.usage_version.content IS
	'Changes with version, unless deltas of other transactions were folded and nothing else has changed';
COMMENT ON COLUMN yquota_internal.usage_version.is_folding IS
	'The transaction at hand folds; true for no other';
COMMENT ON COLUMN yquota_internal.usage_version.folded_before IS
	'With folded_but: what was folded last is of these transactions, and of none that was at work then';
COMMENT ON COLUMN yquota_internal.usage_version.noted IS
	'What could be seen when counters were folded last';
INSERT INTO yquota_internal.usage_version DEFAULT VALUES;
CREATE OR REPLACE FUNCTION yquota_internal.change_usage_version() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- nothing that a transaction which fails has left behind is ever the same again
	UPDATE yquota_internal.usage_version
	SET version = gen_random_uuid(),
		content = CASE WHEN is_folding THEN content ELSE gen_random_uuid() END;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.change_usage_version() IS
	'Tell that usage_counter has changed';
REVOKE ALL ON FUNCTION yquota_internal.change_usage_version() FROM PUBLIC;
CREATE OR REPLACE TRIGGER change_version AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.usage_counter
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.change_usage_version();
CREATE OR REPLACE TRIGGER change_version_applied AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.usage_counter
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.change_usage_version();
ALTER TABLE yquota_internal.usage_counter ENABLE REPLICA TRIGGER change_version_applied;
CREATE DOMAIN yquota.queue_path AS text COLLATE "C"
	CONSTRAINT queue_path_form CHECK (VALUE ~ E'^root(\\.[^.,\\s]+( +[^.,\\s]+)*)*$')
	CONSTRAINT queue_path_length CHECK (octet_length(VALUE) <= 2000);
COMMENT ON DOMAIN yquota.queue_path IS
	'Full path of a queue: root, or names below it parted by dots, such as root.sales.etl';
CREATE OR REPLACE FUNCTION yquota_internal.is_hadoop_capacity(capacity text) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN capacity ~ E'^([+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?[fFdD]?w?|\\[[\\w.,\\-=%/ ]+\\])$';
COMMENT ON FUNCTION yquota_internal.is_hadoop_capacity(text) IS
	'Is this written like a capacity: 12.5 (percent), 2w (weight), or [memory=10240,vcores=12] with numbers, percents or weights?';
CREATE TABLE yquota.queue (
	path yquota.queue_path PRIMARY KEY,
	parent text COLLATE "C" GENERATED ALWAYS AS
		(CASE WHEN path::text <> 'root' THEN regexp_replace(path::text, E'\\.[^.]*$', '') END) STORED,
	name text COLLATE "C" NOT NULL GENERATED ALWAYS AS (regexp_replace(path::text, E'^.*\\.', '')) STORED,
	position integer,
	auto_created boolean NOT NULL DEFAULT false,
	capacity text CHECK (yquota_internal.is_hadoop_capacity(capacity)),
	maximum_capacity text CHECK (yquota_internal.is_hadoop_capacity(maximum_capacity)),
	minimum_user_limit_percent real CHECK (abs(minimum_user_limit_percent) < 'Infinity'),
	user_limit_factor real CHECK (abs(user_limit_factor) < 'Infinity'),
	maximum_allocation yquota.resource,
	maximum_allocation_mb integer,
	maximum_allocation_vcores integer,
	maximum_applications integer,
	maximum_am_resource_percent real CHECK (abs(maximum_am_resource_percent) < 'Infinity'),
	max_parallel_apps integer,
	state yquota.queue_state,
	acl_submit_applications text,
	acl_administer_queue text,
	acl_application_max_priority text,
	acl_administer_reservations text,
	acl_list_reservations text,
	acl_submit_reservations text,
	default_application_priority integer,
	priority integer,
	ordering_policy text,
	ordering_policy_options jsonb CHECK (jsonb_typeof(ordering_policy_options) = 'object'),
	accessible_node_labels text[] CHECK (array_position(accessible_node_labels, NULL) IS NULL),
	default_node_label_expression text,
	disable_preemption boolean,
	intra_queue_preemption_disable_preemption boolean,
	maximum_application_lifetime bigint,
	default_application_lifetime bigint,
	reservable boolean,
	reservation_window bigint,
	instantaneous_max_capacity real CHECK (abs(instantaneous_max_capacity) < 'Infinity'),
	average_capacity real CHECK (abs(average_capacity) < 'Infinity'),
	reservation_policy text,
	reservation_agent text,
	reservation_planner text,
	reservation_enforcement_window bigint,
	reservation_move_on_expiry boolean,
	show_reservations_as_queues boolean,
	allow_zero_capacity_sum boolean,
	multi_node_sorting_policy text,
	auto_create_child_queue_enabled boolean,
	auto_create_child_queue_max_queues integer,
	auto_create_child_queue_fail_on_exceeding_parent_capacity boolean,
	auto_create_child_queue_management_policy text,
	leaf_queue_template jsonb CHECK (jsonb_typeof(leaf_queue_template) = 'object'),
	auto_queue_creation_v2_enabled boolean,
	auto_queue_creation_v2_max_queues integer,
	auto_queue_creation_v2_maximum_queue_depth integer,
	auto_queue_creation_v2_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_template) = 'object'),
	auto_queue_creation_v2_leaf_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_leaf_template) = 'object'),
	auto_queue_creation_v2_parent_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_parent_template) = 'object'),
	auto_queue_creation_v2_queue_auto_removal_enable boolean,
	CONSTRAINT queue_state_configured CHECK (state <> 'DRAINING')
);
CREATE INDEX queue_parent_idx ON yquota.queue (parent);
CREATE INDEX queue_name_idx ON yquota.queue (name);
COMMENT ON TABLE yquota.queue IS
	'Queues and what is configured for them: Hadoop''s yarn.scheduler.capacity.<path>.<property>.  NULL: not set';
COMMENT ON COLUMN yquota.queue.parent IS 'path of the queue above; NULL for root';
COMMENT ON COLUMN yquota.queue.name IS 'last part of the path; several queues may share it';
COMMENT ON COLUMN yquota.queue.position IS
	'place among the children of its parent, which is the order of Hadoop''s property queues, created ones come after them as they were created; those without a position come last, by path';
COMMENT ON COLUMN yquota.queue.auto_created IS
	'whether a submission has created it; such queues are in no file, and importing one leaves them';
COMMENT ON COLUMN yquota.queue.capacity IS 'as Hadoop writes it: 12.5 (percent of the parent), 2w (weight), [memory=10240,vcores=12] (MiB, cores), or mixed';
COMMENT ON COLUMN yquota.queue.maximum_capacity IS 'as capacity, but for weights; -1 is 100';
COMMENT ON COLUMN yquota.queue.minimum_user_limit_percent IS 'percent of the queue';
COMMENT ON COLUMN yquota.queue.user_limit_factor IS 'factor on the queue''s capacity; -1: no limit';
COMMENT ON COLUMN yquota.queue.maximum_allocation IS 'largest container, in native units; wins over the next two';
COMMENT ON COLUMN yquota.queue.maximum_allocation_mb IS 'MiB; -1: not set';
COMMENT ON COLUMN yquota.queue.maximum_allocation_vcores IS 'cores; -1: not set';
COMMENT ON COLUMN yquota.queue.maximum_am_resource_percent IS 'fraction (0.1 is ten percent) of the queue for application masters';
COMMENT ON COLUMN yquota.queue.state IS 'as configured, RUNNING or STOPPED; a queue drains by itself';
COMMENT ON COLUMN yquota.queue.acl_submit_applications IS 'users, a blank, groups; * is everybody and one blank nobody';
COMMENT ON COLUMN yquota.queue.acl_administer_queue IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.acl_application_max_priority IS 'groups such as [user=u1 group=g1 max_priority=7 default_priority=4]';
COMMENT ON COLUMN yquota.queue.acl_administer_reservations IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.acl_list_reservations IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.acl_submit_reservations IS 'written as acl_submit_applications';
COMMENT ON COLUMN yquota.queue.priority IS 'of the queue among its siblings; larger comes first';
COMMENT ON COLUMN yquota.queue.ordering_policy IS 'of applications in a leaf, of children in a parent';
COMMENT ON COLUMN yquota.queue.ordering_policy_options IS
	'object of what follows ordering-policy. in Hadoop''s names, such as {"fair.enable-size-based-weight": "true"}';
COMMENT ON COLUMN yquota.queue.accessible_node_labels IS '{*} is every label, {} none but the default partition';
COMMENT ON COLUMN yquota.queue.maximum_application_lifetime IS 'seconds; 0: none, negative: the parent''s';
COMMENT ON COLUMN yquota.queue.default_application_lifetime IS 'seconds';
COMMENT ON COLUMN yquota.queue.reservation_window IS 'milliseconds';
COMMENT ON COLUMN yquota.queue.instantaneous_max_capacity IS 'percent of the plan''s queue that a user may reserve at an instant';
COMMENT ON COLUMN yquota.queue.average_capacity IS 'percent of the plan''s queue that a user may reserve on average over the window';
COMMENT ON COLUMN yquota.queue.reservation_enforcement_window IS 'milliseconds';
COMMENT ON COLUMN yquota.queue.leaf_queue_template IS
	'object of what follows leaf-queue-template. in Hadoop''s names, such as {"capacity": "5"}: of leaves created by the first generation of auto-creation';
COMMENT ON COLUMN yquota.queue.auto_queue_creation_v2_template IS
	'object of Hadoop''s properties for all queues that are created below by the second generation';
COMMENT ON COLUMN yquota.queue.auto_queue_creation_v2_leaf_template IS 'the same for leaves only; wins over the one for all';
COMMENT ON COLUMN yquota.queue.auto_queue_creation_v2_parent_template IS 'the same for parents only; wins over the one for all';
CREATE TABLE yquota.queue_label (
	queue yquota.queue_path NOT NULL REFERENCES yquota.queue ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	label text COLLATE "C" NOT NULL CHECK (label <> '' AND octet_length(label) <= 255),
	capacity text CHECK (yquota_internal.is_hadoop_capacity(capacity)),
	maximum_capacity text CHECK (yquota_internal.is_hadoop_capacity(maximum_capacity)),
	maximum_am_resource_percent real CHECK (abs(maximum_am_resource_percent) < 'Infinity'),
	PRIMARY KEY (queue, label)
);
COMMENT ON TABLE yquota.queue_label IS
	'What is configured for a queue on the nodes of a label: Hadoop''s yarn.scheduler.capacity.<path>.accessible-node-labels.<label>.<property>';
COMMENT ON COLUMN yquota.queue_label.capacity IS 'as queue.capacity, of the label''s nodes';
COMMENT ON COLUMN yquota.queue_label.maximum_capacity IS 'as queue.maximum_capacity, of the label''s nodes';
COMMENT ON COLUMN yquota.queue_label.maximum_am_resource_percent IS 'fraction';
CREATE TABLE yquota.queue_user (
	queue yquota.queue_path NOT NULL REFERENCES yquota.queue ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	username text COLLATE "C" NOT NULL CHECK (username <> '' AND octet_length(username) <= 255),
	weight real CHECK (abs(weight) < 'Infinity'),
	PRIMARY KEY (queue, username)
);
COMMENT ON TABLE yquota.queue_user IS
	'Weights of users in a queue and those below it: Hadoop''s yarn.scheduler.capacity.<path>.user-settings.<user>.weight';
COMMENT ON COLUMN yquota.queue_user.weight IS 'factor on the limit of the user';
CREATE TABLE yquota.wildcard_template (
	path text COLLATE "C" PRIMARY KEY CHECK (path ~ E'^root(\\.[^.,\\s]+( +[^.,\\s]+)*)*\\.\\*$' AND octet_length(path) <= 2000),
	auto_queue_creation_v2_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_template) = 'object'),
	auto_queue_creation_v2_leaf_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_leaf_template) = 'object'),
	auto_queue_creation_v2_parent_template jsonb CHECK (jsonb_typeof(auto_queue_creation_v2_parent_template) = 'object')
);
COMMENT ON TABLE yquota.wildcard_template IS
	'Templates for all parents that have the same parent: Hadoop''s yarn.scheduler.capacity.<path of the parent>.*.auto-queue-creation-v2.<template>.<property>';
COMMENT ON COLUMN yquota.wildcard_template.path IS 'path with * for its last part';
COMMENT ON COLUMN yquota.wildcard_template.auto_queue_creation_v2_template IS 'as in queue, which wins';
COMMENT ON COLUMN yquota.wildcard_template.auto_queue_creation_v2_leaf_template IS 'as in queue, which wins';
COMMENT ON COLUMN yquota.wildcard_template.auto_queue_creation_v2_parent_template IS 'as in queue, which wins';
CREATE TYPE yquota.mapping_rule_kind AS ENUM ('legacy', 'application', 'json');
COMMENT ON TYPE yquota.mapping_rule_kind IS
	'Where Hadoop has a mapping rule: queue-mappings, queue-placement-rules.app-name (looked at after those), or mapping-rule-json';
CREATE TABLE yquota.mapping_rule (
	kind yquota.mapping_rule_kind NOT NULL,
	position integer NOT NULL,
	type text COLLATE "C" NOT NULL CHECK (type IN ('user', 'group', 'application')),
	matches text COLLATE "C" NOT NULL CHECK (matches <> ''),
	queue text COLLATE "C" CHECK (queue <> ''),
	policy text COLLATE "C" CHECK (policy IN ('specified', 'reject', 'defaultQueue', 'user', 'primaryGroup', 'secondaryGroup',
		'primaryGroupUser', 'secondaryGroupUser', 'applicationName', 'custom', 'setDefaultQueue')),
	parent_queue text,
	custom_placement text,
	value text,
	create_queue boolean,
	fallback_result text COLLATE "C" CHECK (fallback_result IN ('skip', 'placeDefault', 'reject')),
	PRIMARY KEY (kind, position),
	CONSTRAINT mapping_rule_has_target CHECK (CASE WHEN kind = 'json'
		THEN policy IS NOT NULL AND queue IS NULL
		ELSE queue IS NOT NULL AND coalesce(policy, parent_queue, custom_placement, value, fallback_result, create_queue::text) IS NULL END),
	CONSTRAINT mapping_rule_type_of_kind CHECK (CASE kind WHEN 'application' THEN type = 'application' WHEN 'legacy' THEN type <> 'application' ELSE true END)
);
COMMENT ON TABLE yquota.mapping_rule IS
	'Rules that choose the queue of an application, in their order.  Those of scheduler_setting.mapping_rule_format are in force: legacy (if NULL), with application after it, or json';
COMMENT ON COLUMN yquota.mapping_rule.position IS 'rules of a kind are looked at in this order';
COMMENT ON COLUMN yquota.mapping_rule.type IS 'what is compared: user, group or application';
COMMENT ON COLUMN yquota.mapping_rule.matches IS 'with what; a name or a variable such as %user, in json * for everybody';
COMMENT ON COLUMN yquota.mapping_rule.queue IS 'target of a legacy rule: a path or short name, which may contain variables; NULL in json';
COMMENT ON COLUMN yquota.mapping_rule.policy IS 'what a json rule does';
COMMENT ON COLUMN yquota.mapping_rule.parent_queue IS 'json: parentQueue, put before the generated path';
COMMENT ON COLUMN yquota.mapping_rule.custom_placement IS 'json: customPlacement, the path that policy custom generates';
COMMENT ON COLUMN yquota.mapping_rule.value IS 'json: the queue of policy setDefaultQueue';
COMMENT ON COLUMN yquota.mapping_rule.create_queue IS 'json: create, whether the queue may be created';
COMMENT ON COLUMN yquota.mapping_rule.fallback_result IS 'json: fallbackResult, what happens when the queue cannot be used';
CREATE TABLE yquota.workflow_priority_mapping (
	position integer PRIMARY KEY,
	workflow_id text COLLATE "C" NOT NULL CHECK (workflow_id <> ''),
	queue text COLLATE "C" NOT NULL CHECK (queue <> ''),
	priority integer NOT NULL
);
COMMENT ON TABLE yquota.workflow_priority_mapping IS
	'Priorities of workflows: Hadoop''s workflow-priority-mappings.  Of two rows for the same workflow and queue the later one counts';
COMMENT ON COLUMN yquota.workflow_priority_mapping.workflow_id IS 'compared in lower case';
COMMENT ON COLUMN yquota.workflow_priority_mapping.queue IS 'full path; anything else never matches';
CREATE TABLE yquota.user_setting (
	username text COLLATE "C" PRIMARY KEY CHECK (username <> '' AND octet_length(username) <= 255),
	max_parallel_apps integer
);
COMMENT ON TABLE yquota.user_setting IS
	'What is configured for a user in all queues: Hadoop''s yarn.scheduler.capacity.user.<user>.max-parallel-apps';
COMMENT ON COLUMN yquota.user_setting.max_parallel_apps IS 'applications of the user that may run at once';
CREATE TABLE yquota.multi_node_sorting_policy (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> '' AND octet_length(name) <= 255),
	class text,
	sorting_interval_ms bigint
);
COMMENT ON TABLE yquota.multi_node_sorting_policy IS
	'Ways to sort nodes: Hadoop''s yarn.scheduler.capacity.multi-node-sorting.policy.<name>';
COMMENT ON COLUMN yquota.multi_node_sorting_policy.sorting_interval_ms IS 'milliseconds';
CREATE TABLE yquota.node_label (
	name text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[0-9a-zA-Z][0-9a-zA-Z_-]*$' AND octet_length(name) <= 255),
	exclusive boolean NOT NULL DEFAULT true
);
COMMENT ON TABLE yquota.node_label IS
	'Labels (partitions) of the cluster.  Hadoop keeps them outside of its configuration; import does not touch them';
COMMENT ON COLUMN yquota.node_label.exclusive IS
	'false: what runs in the default partition may use idle nodes of this one';
CREATE TABLE yquota.kept_property (
	property text COLLATE "C" PRIMARY KEY CHECK (property LIKE 'yarn.scheduler.capacity.%' AND octet_length(property) <= 2000),
	value text NOT NULL
);
COMMENT ON TABLE yquota.kept_property IS
	'Properties of an imported capacity-scheduler.xml that no column stands for, also those of queues that are not listed: kept for export, and for queues created later';
COMMENT ON COLUMN yquota.kept_property.property IS 'Hadoop''s full name of it';
CREATE TABLE yquota.scheduler_setting (
	one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
	maximum_applications integer,
	global_queue_max_application integer,
	maximum_am_resource_percent real CHECK (abs(maximum_am_resource_percent) < 'Infinity'),
	minimum_user_limit_percent real CHECK (abs(minimum_user_limit_percent) < 'Infinity'),
	user_limit_factor real CHECK (abs(user_limit_factor) < 'Infinity'),
	max_parallel_apps integer,
	user_max_parallel_apps integer,
	resource_calculator text CONSTRAINT resource_calculator_known
		CHECK (resource_calculator ~ E'^\\s*(([\\w$]+\\.)*(Default|Dominant)ResourceCalculator)?\\s*$'),
	node_locality_delay integer,
	rack_locality_additional_delay integer,
	rack_locality_full_reset boolean,
	reservations_continue_look_all_nodes boolean,
	per_node_heartbeat_multiple_assignments_enabled boolean,
	per_node_heartbeat_maximum_container_assignments integer,
	per_node_heartbeat_maximum_offswitch_assignments integer,
	queue_mappings_override_enable boolean,
	mapping_rule_format text CHECK (mapping_rule_format IN ('legacy', 'json')),
	mapping_rule_json_file text,
	workflow_priority_mappings_override_enable boolean,
	legacy_queue_mode_enabled boolean,
	schedule_asynchronously_enable boolean,
	schedule_asynchronously_maximum_threads integer,
	schedule_asynchronously_maximum_pending_backlogs integer,
	schedule_asynchronously_scheduling_interval_ms bigint,
	multi_node_placement_enabled boolean,
	multi_node_sorting_policy_names text[] CHECK (array_position(multi_node_sorting_policy_names, NULL) IS NULL),
	multi_node_sorting_policy text,
	lazy_preemption_enabled boolean,
	application_fail_fast boolean,
	user_metrics_enable boolean,
	auto_queue_creation_v2_maximum_queue_depth integer,
	auto_queue_creation_v2_queue_expiration_time bigint,
	underutilized_preemption_enabled boolean,
	underutilized_preemption_reserved_container_delay_ms bigint,
	underutilized_preemption_allow_move_reservation boolean,
	scheduler_class text,
	queue_placement_rules text[] CHECK (array_position(queue_placement_rules, NULL) IS NULL),
	queue_auto_refresh_monitoring_interval bigint,
	resourcemanager_queue_auto_refresh_monitoring_interval bigint,
	minimum_allocation_mb integer,
	minimum_allocation_vcores integer,
	maximum_allocation_mb integer,
	maximum_allocation_vcores integer,
	cluster_max_application_priority integer,
	acl_enable boolean,
	admin_acl text,
	node_labels_enabled boolean,
	node_labels_am_allow_non_exclusive_allocation boolean,
	workflow_id_tag_prefix text,
	auto_update_containers boolean,
	queue_management_monitoring_interval bigint,
	configuration_store_class text,
	configuration_mutation_acl_policy_class text,
	configuration_store_max_logs bigint,
	configuration_leveldb_store_path text,
	configuration_leveldb_store_compaction_interval_secs bigint,
	configuration_zk_store_parent_path text,
	activities_manager_cleanup_interval_ms bigint,
	scheduler_activities_ttl_ms bigint,
	app_activities_ttl_ms bigint,
	app_activities_max_queue_length integer,
	scheduler_monitor_enable boolean,
	scheduler_monitor_policies text[] CHECK (array_position(scheduler_monitor_policies, NULL) IS NULL),
	preemption_observe_only boolean,
	preemption_monitoring_interval bigint,
	preemption_max_wait_before_kill bigint,
	preemption_total_preemption_per_round real CHECK (abs(preemption_total_preemption_per_round) < 'Infinity'),
	preemption_max_ignored_over_capacity double precision CHECK (abs(preemption_max_ignored_over_capacity) < 'Infinity'),
	preemption_natural_termination_factor double precision CHECK (abs(preemption_natural_termination_factor) < 'Infinity'),
	preemption_select_based_on_reserved_containers boolean,
	preemption_additional_res_balance_based_on_reserved_containers boolean,
	preemption_conservative_drf boolean,
	preemption_balance_after_satisfied_enabled boolean,
	preemption_balance_after_satisfied_max_wait_before_kill bigint,
	intra_queue_preemption_conservative_drf boolean,
	intra_queue_preemption_enabled boolean,
	intra_queue_preemption_minimum_threshold real CHECK (abs(intra_queue_preemption_minimum_threshold) < 'Infinity'),
	intra_queue_preemption_max_allowable_limit real CHECK (abs(intra_queue_preemption_max_allowable_limit) < 'Infinity'),
	intra_queue_preemption_preemption_order_policy text,
	reservation_system_enable boolean,
	reservation_system_class text,
	reservation_system_plan_follower text,
	reservation_system_planfollower_time_step bigint
);
COMMENT ON TABLE yquota.scheduler_setting IS
	'What is configured once, of capacity-scheduler.xml and yarn-site.xml: one row, or none while nothing is set.  NULL: not set';
COMMENT ON COLUMN yquota.scheduler_setting.one_row IS 'always true, so that there is no second row';
COMMENT ON COLUMN yquota.scheduler_setting.global_queue_max_application IS 'applications; the maximum of a queue that has none; -1: derived from its capacity';
COMMENT ON COLUMN yquota.scheduler_setting.maximum_am_resource_percent IS 'fraction';
COMMENT ON COLUMN yquota.scheduler_setting.minimum_user_limit_percent IS 'percent';
COMMENT ON COLUMN yquota.scheduler_setting.user_limit_factor IS 'factor; -1: no limit';
COMMENT ON COLUMN yquota.scheduler_setting.resource_calculator IS 'class: a DefaultResourceCalculator or a DominantResourceCalculator';
COMMENT ON COLUMN yquota.scheduler_setting.node_locality_delay IS 'missed opportunities';
COMMENT ON COLUMN yquota.scheduler_setting.rack_locality_additional_delay IS 'missed opportunities; -1: computed';
COMMENT ON COLUMN yquota.scheduler_setting.mapping_rule_format IS 'legacy or json: which rows of mapping_rule are in force';
COMMENT ON COLUMN yquota.scheduler_setting.mapping_rule_json_file IS 'of the resource manager; what stands in it is imported as mapping-rule-json';
COMMENT ON COLUMN yquota.scheduler_setting.schedule_asynchronously_scheduling_interval_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.multi_node_sorting_policy_names IS 'names of multi_node_sorting_policy';
COMMENT ON COLUMN yquota.scheduler_setting.multi_node_sorting_policy IS 'name of multi_node_sorting_policy for queues that have none';
COMMENT ON COLUMN yquota.scheduler_setting.auto_queue_creation_v2_queue_expiration_time IS 'seconds';
COMMENT ON COLUMN yquota.scheduler_setting.underutilized_preemption_reserved_container_delay_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.scheduler_class IS 'class';
COMMENT ON COLUMN yquota.scheduler_setting.queue_auto_refresh_monitoring_interval IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.resourcemanager_queue_auto_refresh_monitoring_interval IS
	'milliseconds; the name that Hadoop''s documentation has, which Hadoop does not read';
COMMENT ON COLUMN yquota.scheduler_setting.minimum_allocation_mb IS 'MiB';
COMMENT ON COLUMN yquota.scheduler_setting.minimum_allocation_vcores IS 'cores';
COMMENT ON COLUMN yquota.scheduler_setting.maximum_allocation_mb IS 'MiB';
COMMENT ON COLUMN yquota.scheduler_setting.maximum_allocation_vcores IS 'cores';
COMMENT ON COLUMN yquota.scheduler_setting.admin_acl IS 'users, a blank, groups; * is everybody';
COMMENT ON COLUMN yquota.scheduler_setting.queue_management_monitoring_interval IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.configuration_mutation_acl_policy_class IS 'class';
COMMENT ON COLUMN yquota.scheduler_setting.configuration_leveldb_store_compaction_interval_secs IS 'seconds';
COMMENT ON COLUMN yquota.scheduler_setting.activities_manager_cleanup_interval_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.scheduler_activities_ttl_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.app_activities_ttl_ms IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.scheduler_monitor_policies IS 'classes';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_monitoring_interval IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_max_wait_before_kill IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_total_preemption_per_round IS 'fraction of the cluster';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_max_ignored_over_capacity IS 'fraction of a queue''s guarantee';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_natural_termination_factor IS 'fraction';
COMMENT ON COLUMN yquota.scheduler_setting.preemption_balance_after_satisfied_max_wait_before_kill IS 'milliseconds';
COMMENT ON COLUMN yquota.scheduler_setting.intra_queue_preemption_minimum_threshold IS 'fraction of a queue''s capacity';
COMMENT ON COLUMN yquota.scheduler_setting.intra_queue_preemption_max_allowable_limit IS 'fraction of a queue''s capacity';
COMMENT ON COLUMN yquota.scheduler_setting.intra_queue_preemption_preemption_order_policy IS 'userlimit_first or priority_first';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_class IS 'class';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_plan_follower IS 'class';
COMMENT ON COLUMN yquota.scheduler_setting.reservation_system_planfollower_time_step IS 'milliseconds';
SELECT pg_extension_config_dump('yquota.queue', '');
SELECT pg_extension_config_dump('yquota.queue_label', '');
SELECT pg_extension_config_dump('yquota.queue_user', '');
SELECT pg_extension_config_dump('yquota.wildcard_template', '');
SELECT pg_extension_config_dump('yquota.mapping_rule', '');
SELECT pg_extension_config_dump('yquota.workflow_priority_mapping', '');
SELECT pg_extension_config_dump('yquota.user_setting', '');
SELECT pg_extension_config_dump('yquota.multi_node_sorting_policy', '');
SELECT pg_extension_config_dump('yquota.node_label', '');
SELECT pg_extension_config_dump('yquota.kept_property', '');
SELECT pg_extension_config_dump('yquota.scheduler_setting', '');
CREATE OR REPLACE VIEW yquota_internal.hadoop_property AS
	SELECT l.property, l.file, l.table_name, l.column_name, l.notation, l.default_value,
		   l.queue_kind, l.inherited_from, l.inherited_column
	FROM (VALUES
		('yarn.scheduler.capacity.<queue>.queues', 'capacity-scheduler.xml', 'queue', 'position', 'children', NULL, 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.capacity', 'capacity-scheduler.xml', 'queue', 'capacity', 'capacity', '0', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.maximum-capacity', 'capacity-scheduler.xml', 'queue', 'maximum_capacity', 'capacity', '100', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.minimum-user-limit-percent', 'capacity-scheduler.xml', 'queue', 'minimum_user_limit_percent', 'float', '100', 'leaf', 'scheduler_setting', 'minimum_user_limit_percent'),
		('yarn.scheduler.capacity.<queue>.user-limit-factor', 'capacity-scheduler.xml', 'queue', 'user_limit_factor', 'float', '1', 'leaf', 'scheduler_setting', 'user_limit_factor'),
		('yarn.scheduler.capacity.<queue>.user-settings.<user>.weight', 'capacity-scheduler.xml', 'queue_user', 'weight', 'float', '1', 'both', 'parent', 'weight'),
		('yarn.scheduler.capacity.<queue>.maximum-allocation', 'capacity-scheduler.xml', 'queue', 'maximum_allocation', 'resource', NULL, 'both', 'parent', 'maximum_allocation'),
		('yarn.scheduler.capacity.<queue>.maximum-allocation-mb', 'capacity-scheduler.xml', 'queue', 'maximum_allocation_mb', 'integer', '-1', 'both', 'parent', 'maximum_allocation_mb'),
		('yarn.scheduler.capacity.<queue>.maximum-allocation-vcores', 'capacity-scheduler.xml', 'queue', 'maximum_allocation_vcores', 'integer', '-1', 'both', 'parent', 'maximum_allocation_vcores'),
		('yarn.scheduler.capacity.<queue>.maximum-applications', 'capacity-scheduler.xml', 'queue', 'maximum_applications', 'integer', '-1', 'leaf', 'scheduler_setting', 'global_queue_max_application'),
		('yarn.scheduler.capacity.<queue>.maximum-am-resource-percent', 'capacity-scheduler.xml', 'queue', 'maximum_am_resource_percent', 'float', '0.1', 'leaf', 'scheduler_setting', 'maximum_am_resource_percent'),
		('yarn.scheduler.capacity.<queue>.max-parallel-apps', 'capacity-scheduler.xml', 'queue', 'max_parallel_apps', 'decimal', '2147483647', 'both', 'scheduler_setting', 'max_parallel_apps'),
		('yarn.scheduler.capacity.<queue>.state', 'capacity-scheduler.xml', 'queue', 'state', 'state', 'RUNNING', 'both', 'parent', 'state'),
		('yarn.scheduler.capacity.<queue>.acl_submit_applications', 'capacity-scheduler.xml', 'queue', 'acl_submit_applications', 'acl', ' ', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.acl_administer_queue', 'capacity-scheduler.xml', 'queue', 'acl_administer_queue', 'acl', ' ', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.acl_application_max_priority', 'capacity-scheduler.xml', 'queue', 'acl_application_max_priority', 'acl', '*', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.acl_administer_reservations', 'capacity-scheduler.xml', 'queue', 'acl_administer_reservations', 'acl', '*', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.acl_list_reservations', 'capacity-scheduler.xml', 'queue', 'acl_list_reservations', 'acl', '*', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.acl_submit_reservations', 'capacity-scheduler.xml', 'queue', 'acl_submit_reservations', 'acl', '*', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.default-application-priority', 'capacity-scheduler.xml', 'queue', 'default_application_priority', 'integer', '0', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.priority', 'capacity-scheduler.xml', 'queue', 'priority', 'integer', '0', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.ordering-policy', 'capacity-scheduler.xml', 'queue', 'ordering_policy', 'text', 'fifo', 'both', 'parent', 'ordering_policy'),
		('yarn.scheduler.capacity.<queue>.ordering-policy.<option>', 'capacity-scheduler.xml', 'queue', 'ordering_policy_options', 'options', NULL, 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.accessible-node-labels', 'capacity-scheduler.xml', 'queue', 'accessible_node_labels', 'labels', NULL, 'both', 'parent', 'accessible_node_labels'),
		('yarn.scheduler.capacity.<queue>.accessible-node-labels.<label>.capacity', 'capacity-scheduler.xml', 'queue_label', 'capacity', 'capacity', '0', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.accessible-node-labels.<label>.maximum-capacity', 'capacity-scheduler.xml', 'queue_label', 'maximum_capacity', 'capacity', '100', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.accessible-node-labels.<label>.maximum-am-resource-percent', 'capacity-scheduler.xml', 'queue_label', 'maximum_am_resource_percent', 'float', '0.1', 'leaf', 'queue', 'maximum_am_resource_percent'),
		('yarn.scheduler.capacity.<queue>.default-node-label-expression', 'capacity-scheduler.xml', 'queue', 'default_node_label_expression', 'text', NULL, 'both', 'parent', 'default_node_label_expression'),
		('yarn.scheduler.capacity.<queue>.disable_preemption', 'capacity-scheduler.xml', 'queue', 'disable_preemption', 'boolean', 'false', 'both', 'parent', 'disable_preemption'),
		('yarn.scheduler.capacity.<queue>.intra-queue-preemption.disable_preemption', 'capacity-scheduler.xml', 'queue', 'intra_queue_preemption_disable_preemption', 'boolean', 'false', 'both', 'parent', 'intra_queue_preemption_disable_preemption'),
		('yarn.scheduler.capacity.<queue>.maximum-application-lifetime', 'capacity-scheduler.xml', 'queue', 'maximum_application_lifetime', 'long', '-1', 'both', 'parent', 'maximum_application_lifetime'),
		('yarn.scheduler.capacity.<queue>.default-application-lifetime', 'capacity-scheduler.xml', 'queue', 'default_application_lifetime', 'long', '-1', 'both', 'parent', 'default_application_lifetime'),
		('yarn.scheduler.capacity.<queue>.reservable', 'capacity-scheduler.xml', 'queue', 'reservable', 'boolean', 'false', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.reservation-window', 'capacity-scheduler.xml', 'queue', 'reservation_window', 'long', '86400000', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.instantaneous-max-capacity', 'capacity-scheduler.xml', 'queue', 'instantaneous_max_capacity', 'float', '100', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.average-capacity', 'capacity-scheduler.xml', 'queue', 'average_capacity', 'float', '100', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.reservation-policy', 'capacity-scheduler.xml', 'queue', 'reservation_policy', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.reservation.CapacityOverTimePolicy', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.reservation-agent', 'capacity-scheduler.xml', 'queue', 'reservation_agent', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.AlignedPlannerWithGreedy', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.reservation-planner', 'capacity-scheduler.xml', 'queue', 'reservation_planner', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.reservation.planning.SimpleCapacityReplanner', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.reservation-enforcement-window', 'capacity-scheduler.xml', 'queue', 'reservation_enforcement_window', 'long', '3600000', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.reservation-move-on-expiry', 'capacity-scheduler.xml', 'queue', 'reservation_move_on_expiry', 'boolean', 'true', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.show-reservations-as-queues', 'capacity-scheduler.xml', 'queue', 'show_reservations_as_queues', 'boolean', 'false', 'leaf', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.allow-zero-capacity-sum', 'capacity-scheduler.xml', 'queue', 'allow_zero_capacity_sum', 'boolean', 'false', 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.multi-node-sorting.policy', 'capacity-scheduler.xml', 'queue', 'multi_node_sorting_policy', 'text', NULL, 'leaf', 'scheduler_setting', 'multi_node_sorting_policy'),
		('yarn.scheduler.capacity.<queue>.auto-create-child-queue.enabled', 'capacity-scheduler.xml', 'queue', 'auto_create_child_queue_enabled', 'boolean', 'false', 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.auto-create-child-queue.max-queues', 'capacity-scheduler.xml', 'queue', 'auto_create_child_queue_max_queues', 'integer', '1000', 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.auto-create-child-queue.fail-on-exceeding-parent-capacity', 'capacity-scheduler.xml', 'queue', 'auto_create_child_queue_fail_on_exceeding_parent_capacity', 'boolean', 'false', 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.auto-create-child-queue.management-policy', 'capacity-scheduler.xml', 'queue', 'auto_create_child_queue_management_policy', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.queuemanagement.GuaranteedOrZeroCapacityOverTimePolicy', 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.leaf-queue-template.<option>', 'capacity-scheduler.xml', 'queue', 'leaf_queue_template', 'options', NULL, 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.auto-queue-creation-v2.enabled', 'capacity-scheduler.xml', 'queue', 'auto_queue_creation_v2_enabled', 'boolean', 'false', 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.auto-queue-creation-v2.max-queues', 'capacity-scheduler.xml', 'queue', 'auto_queue_creation_v2_max_queues', 'integer', '1000', 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<queue>.auto-queue-creation-v2.maximum-queue-depth', 'capacity-scheduler.xml', 'queue', 'auto_queue_creation_v2_maximum_queue_depth', 'integer', '2', 'parent', 'scheduler_setting', 'auto_queue_creation_v2_maximum_queue_depth'),
		('yarn.scheduler.capacity.<queue>.auto-queue-creation-v2.template.<option>', 'capacity-scheduler.xml', 'queue', 'auto_queue_creation_v2_template', 'options', NULL, 'parent', 'wildcard_template', 'auto_queue_creation_v2_template'),
		('yarn.scheduler.capacity.<queue>.auto-queue-creation-v2.leaf-template.<option>', 'capacity-scheduler.xml', 'queue', 'auto_queue_creation_v2_leaf_template', 'options', NULL, 'parent', 'wildcard_template', 'auto_queue_creation_v2_leaf_template'),
		('yarn.scheduler.capacity.<queue>.auto-queue-creation-v2.parent-template.<option>', 'capacity-scheduler.xml', 'queue', 'auto_queue_creation_v2_parent_template', 'options', NULL, 'parent', 'wildcard_template', 'auto_queue_creation_v2_parent_template'),
		('yarn.scheduler.capacity.<queue>.auto-queue-creation-v2.queue-auto-removal.enable', 'capacity-scheduler.xml', 'queue', 'auto_queue_creation_v2_queue_auto_removal_enable', 'boolean', 'true', 'both', NULL, NULL),
		('yarn.scheduler.capacity.<parent>.*.auto-queue-creation-v2.template.<option>', 'capacity-scheduler.xml', 'wildcard_template', 'auto_queue_creation_v2_template', 'options', NULL, 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<parent>.*.auto-queue-creation-v2.leaf-template.<option>', 'capacity-scheduler.xml', 'wildcard_template', 'auto_queue_creation_v2_leaf_template', 'options', NULL, 'parent', NULL, NULL),
		('yarn.scheduler.capacity.<parent>.*.auto-queue-creation-v2.parent-template.<option>', 'capacity-scheduler.xml', 'wildcard_template', 'auto_queue_creation_v2_parent_template', 'options', NULL, 'parent', NULL, NULL),
		('yarn.scheduler.capacity.queue-mappings', 'capacity-scheduler.xml', 'mapping_rule', NULL, 'mappings', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.mapping-rule-json', 'capacity-scheduler.xml', 'mapping_rule', NULL, 'json rules', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.workflow-priority-mappings', 'capacity-scheduler.xml', 'workflow_priority_mapping', NULL, 'workflows', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.user.<user>.max-parallel-apps', 'capacity-scheduler.xml', 'user_setting', 'max_parallel_apps', 'decimal', '2147483647', NULL, 'scheduler_setting', 'user_max_parallel_apps'),
		('yarn.scheduler.capacity.multi-node-sorting.policy.<policy>.class', 'capacity-scheduler.xml', 'multi_node_sorting_policy', 'class', 'text', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.multi-node-sorting.policy.<policy>.sorting-interval.ms', 'capacity-scheduler.xml', 'multi_node_sorting_policy', 'sorting_interval_ms', 'long', '1000', NULL, NULL, NULL),
		('yarn.scheduler.queue-placement-rules.app-name', 'yarn-site.xml', 'mapping_rule', NULL, 'application mappings', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.maximum-applications', 'capacity-scheduler.xml', 'scheduler_setting', 'maximum_applications', 'integer', '10000', NULL, NULL, NULL),
		('yarn.scheduler.capacity.global-queue-max-application', 'capacity-scheduler.xml', 'scheduler_setting', 'global_queue_max_application', 'integer', '-1', NULL, NULL, NULL),
		('yarn.scheduler.capacity.maximum-am-resource-percent', 'capacity-scheduler.xml', 'scheduler_setting', 'maximum_am_resource_percent', 'float', '0.1', NULL, NULL, NULL),
		('yarn.scheduler.capacity.minimum-user-limit-percent', 'capacity-scheduler.xml', 'scheduler_setting', 'minimum_user_limit_percent', 'float', '100', NULL, NULL, NULL),
		('yarn.scheduler.capacity.user-limit-factor', 'capacity-scheduler.xml', 'scheduler_setting', 'user_limit_factor', 'float', '1', NULL, NULL, NULL),
		('yarn.scheduler.capacity.max-parallel-apps', 'capacity-scheduler.xml', 'scheduler_setting', 'max_parallel_apps', 'integer', '2147483647', NULL, NULL, NULL),
		('yarn.scheduler.capacity.user.max-parallel-apps', 'capacity-scheduler.xml', 'scheduler_setting', 'user_max_parallel_apps', 'integer', '2147483647', NULL, NULL, NULL),
		('yarn.scheduler.capacity.resource-calculator', 'capacity-scheduler.xml', 'scheduler_setting', 'resource_calculator', 'text', 'org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator', NULL, NULL, NULL),
		('yarn.scheduler.capacity.node-locality-delay', 'capacity-scheduler.xml', 'scheduler_setting', 'node_locality_delay', 'integer', '40', NULL, NULL, NULL),
		('yarn.scheduler.capacity.rack-locality-additional-delay', 'capacity-scheduler.xml', 'scheduler_setting', 'rack_locality_additional_delay', 'integer', '-1', NULL, NULL, NULL),
		('yarn.scheduler.capacity.rack-locality-full-reset', 'capacity-scheduler.xml', 'scheduler_setting', 'rack_locality_full_reset', 'boolean', 'true', NULL, NULL, NULL),
		('yarn.scheduler.capacity.reservations-continue-look-all-nodes', 'capacity-scheduler.xml', 'scheduler_setting', 'reservations_continue_look_all_nodes', 'boolean', 'true', NULL, NULL, NULL),
		('yarn.scheduler.capacity.per-node-heartbeat.multiple-assignments-enabled', 'capacity-scheduler.xml', 'scheduler_setting', 'per_node_heartbeat_multiple_assignments_enabled', 'boolean', 'true', NULL, NULL, NULL),
		('yarn.scheduler.capacity.per-node-heartbeat.maximum-container-assignments', 'capacity-scheduler.xml', 'scheduler_setting', 'per_node_heartbeat_maximum_container_assignments', 'integer', '100', NULL, NULL, NULL),
		('yarn.scheduler.capacity.per-node-heartbeat.maximum-offswitch-assignments', 'capacity-scheduler.xml', 'scheduler_setting', 'per_node_heartbeat_maximum_offswitch_assignments', 'integer', '1', NULL, NULL, NULL),
		('yarn.scheduler.capacity.queue-mappings-override.enable', 'capacity-scheduler.xml', 'scheduler_setting', 'queue_mappings_override_enable', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.mapping-rule-format', 'capacity-scheduler.xml', 'scheduler_setting', 'mapping_rule_format', 'format', 'legacy', NULL, NULL, NULL),
		('yarn.scheduler.capacity.mapping-rule-json-file', 'capacity-scheduler.xml', 'scheduler_setting', 'mapping_rule_json_file', 'text', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.workflow-priority-mappings-override.enable', 'capacity-scheduler.xml', 'scheduler_setting', 'workflow_priority_mappings_override_enable', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.legacy-queue-mode.enabled', 'capacity-scheduler.xml', 'scheduler_setting', 'legacy_queue_mode_enabled', 'boolean', 'true', NULL, NULL, NULL),
		('yarn.scheduler.capacity.schedule-asynchronously.enable', 'capacity-scheduler.xml', 'scheduler_setting', 'schedule_asynchronously_enable', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.schedule-asynchronously.maximum-threads', 'capacity-scheduler.xml', 'scheduler_setting', 'schedule_asynchronously_maximum_threads', 'integer', '1', NULL, NULL, NULL),
		('yarn.scheduler.capacity.schedule-asynchronously.maximum-pending-backlogs', 'capacity-scheduler.xml', 'scheduler_setting', 'schedule_asynchronously_maximum_pending_backlogs', 'integer', '100', NULL, NULL, NULL),
		('yarn.scheduler.capacity.schedule-asynchronously.scheduling-interval-ms', 'capacity-scheduler.xml', 'scheduler_setting', 'schedule_asynchronously_scheduling_interval_ms', 'long', '5', NULL, NULL, NULL),
		('yarn.scheduler.capacity.multi-node-placement-enabled', 'capacity-scheduler.xml', 'scheduler_setting', 'multi_node_placement_enabled', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.multi-node-sorting.policy.names', 'capacity-scheduler.xml', 'scheduler_setting', 'multi_node_sorting_policy_names', 'list', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.multi-node-sorting.policy', 'capacity-scheduler.xml', 'scheduler_setting', 'multi_node_sorting_policy', 'text', NULL, NULL, NULL, NULL),
		('yarn.scheduler.capacity.lazy-preemption-enabled', 'capacity-scheduler.xml', 'scheduler_setting', 'lazy_preemption_enabled', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.application.fail-fast', 'capacity-scheduler.xml', 'scheduler_setting', 'application_fail_fast', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.user-metrics.enable', 'capacity-scheduler.xml', 'scheduler_setting', 'user_metrics_enable', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.auto-queue-creation-v2.maximum-queue-depth', 'capacity-scheduler.xml', 'scheduler_setting', 'auto_queue_creation_v2_maximum_queue_depth', 'integer', '2', NULL, NULL, NULL),
		('yarn.scheduler.capacity.auto-queue-creation-v2.queue-expiration-time', 'capacity-scheduler.xml', 'scheduler_setting', 'auto_queue_creation_v2_queue_expiration_time', 'long', '300', NULL, NULL, NULL),
		('yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption.enabled', 'capacity-scheduler.xml', 'scheduler_setting', 'underutilized_preemption_enabled', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms', 'capacity-scheduler.xml', 'scheduler_setting', 'underutilized_preemption_reserved_container_delay_ms', 'long', '60000', NULL, NULL, NULL),
		('yarn.scheduler.capacity.ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation', 'capacity-scheduler.xml', 'scheduler_setting', 'underutilized_preemption_allow_move_reservation', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.scheduler.class', 'yarn-site.xml', 'scheduler_setting', 'scheduler_class', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler', NULL, NULL, NULL),
		('yarn.scheduler.queue-placement-rules', 'yarn-site.xml', 'scheduler_setting', 'queue_placement_rules', 'list', 'user-group', NULL, NULL, NULL),
		('yarn.scheduler.capacity.queue.auto.refresh.monitoring-interval', 'capacity-scheduler.xml', 'scheduler_setting', 'queue_auto_refresh_monitoring_interval', 'long', '5000', NULL, NULL, NULL),
		('yarn.resourcemanager.queue.auto.refresh.monitoring-interval', 'yarn-site.xml', 'scheduler_setting', 'resourcemanager_queue_auto_refresh_monitoring_interval', 'long', NULL, NULL, NULL, NULL),
		('yarn.scheduler.minimum-allocation-mb', 'yarn-site.xml', 'scheduler_setting', 'minimum_allocation_mb', 'integer', '1024', NULL, NULL, NULL),
		('yarn.scheduler.minimum-allocation-vcores', 'yarn-site.xml', 'scheduler_setting', 'minimum_allocation_vcores', 'integer', '1', NULL, NULL, NULL),
		('yarn.scheduler.maximum-allocation-mb', 'yarn-site.xml', 'scheduler_setting', 'maximum_allocation_mb', 'integer', '8192', NULL, NULL, NULL),
		('yarn.scheduler.maximum-allocation-vcores', 'yarn-site.xml', 'scheduler_setting', 'maximum_allocation_vcores', 'integer', '4', NULL, NULL, NULL),
		('yarn.cluster.max-application-priority', 'yarn-site.xml', 'scheduler_setting', 'cluster_max_application_priority', 'integer', '0', NULL, NULL, NULL),
		('yarn.acl.enable', 'yarn-site.xml', 'scheduler_setting', 'acl_enable', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.admin.acl', 'yarn-site.xml', 'scheduler_setting', 'admin_acl', 'acl', '*', NULL, NULL, NULL),
		('yarn.node-labels.enabled', 'yarn-site.xml', 'scheduler_setting', 'node_labels_enabled', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation', 'yarn-site.xml', 'scheduler_setting', 'node_labels_am_allow_non_exclusive_allocation', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.workflow-id.tag-prefix', 'yarn-site.xml', 'scheduler_setting', 'workflow_id_tag_prefix', 'text', 'workflowid:', NULL, NULL, NULL),
		('yarn.resourcemanager.auto-update.containers', 'yarn-site.xml', 'scheduler_setting', 'auto_update_containers', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval', 'yarn-site.xml', 'scheduler_setting', 'queue_management_monitoring_interval', 'long', '1500', NULL, NULL, NULL),
		('yarn.scheduler.configuration.store.class', 'yarn-site.xml', 'scheduler_setting', 'configuration_store_class', 'text', 'file', NULL, NULL, NULL),
		('yarn.scheduler.configuration.mutation.acl-policy.class', 'yarn-site.xml', 'scheduler_setting', 'configuration_mutation_acl_policy_class', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.scheduler.DefaultConfigurationMutationACLPolicy', NULL, NULL, NULL),
		('yarn.scheduler.configuration.store.max-logs', 'yarn-site.xml', 'scheduler_setting', 'configuration_store_max_logs', 'long', '1000', NULL, NULL, NULL),
		('yarn.scheduler.configuration.leveldb-store.path', 'yarn-site.xml', 'scheduler_setting', 'configuration_leveldb_store_path', 'text', '${hadoop.tmp.dir}/yarn/system/confstore', NULL, NULL, NULL),
		('yarn.scheduler.configuration.leveldb-store.compaction-interval-secs', 'yarn-site.xml', 'scheduler_setting', 'configuration_leveldb_store_compaction_interval_secs', 'long', '86400', NULL, NULL, NULL),
		('yarn.scheduler.configuration.zk-store.parent-path', 'yarn-site.xml', 'scheduler_setting', 'configuration_zk_store_parent_path', 'text', '/confstore', NULL, NULL, NULL),
		('yarn.resourcemanager.activities-manager.cleanup-interval-ms', 'yarn-site.xml', 'scheduler_setting', 'activities_manager_cleanup_interval_ms', 'long', '5000', NULL, NULL, NULL),
		('yarn.resourcemanager.activities-manager.scheduler-activities.ttl-ms', 'yarn-site.xml', 'scheduler_setting', 'scheduler_activities_ttl_ms', 'long', '600000', NULL, NULL, NULL),
		('yarn.resourcemanager.activities-manager.app-activities.ttl-ms', 'yarn-site.xml', 'scheduler_setting', 'app_activities_ttl_ms', 'long', '600000', NULL, NULL, NULL),
		('yarn.resourcemanager.activities-manager.app-activities.max-queue-length', 'yarn-site.xml', 'scheduler_setting', 'app_activities_max_queue_length', 'integer', '100', NULL, NULL, NULL),
		('yarn.resourcemanager.scheduler.monitor.enable', 'yarn-site.xml', 'scheduler_setting', 'scheduler_monitor_enable', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.scheduler.monitor.policies', 'yarn-site.xml', 'scheduler_setting', 'scheduler_monitor_policies', 'list', 'org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.observe_only', 'yarn-site.xml', 'scheduler_setting', 'preemption_observe_only', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval', 'yarn-site.xml', 'scheduler_setting', 'preemption_monitoring_interval', 'long', '3000', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill', 'yarn-site.xml', 'scheduler_setting', 'preemption_max_wait_before_kill', 'long', '15000', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round', 'yarn-site.xml', 'scheduler_setting', 'preemption_total_preemption_per_round', 'float', '0.1', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity', 'yarn-site.xml', 'scheduler_setting', 'preemption_max_ignored_over_capacity', 'double', '0.1', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor', 'yarn-site.xml', 'scheduler_setting', 'preemption_natural_termination_factor', 'double', '0.2', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.select_based_on_reserved_containers', 'yarn-site.xml', 'scheduler_setting', 'preemption_select_based_on_reserved_containers', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.additional_res_balance_based_on_reserved_containers', 'yarn-site.xml', 'scheduler_setting', 'preemption_additional_res_balance_based_on_reserved_containers', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.conservative-drf', 'yarn-site.xml', 'scheduler_setting', 'preemption_conservative_drf', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.enabled', 'yarn-site.xml', 'scheduler_setting', 'preemption_balance_after_satisfied_enabled', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.preemption-to-balance-queue-after-satisfied.max-wait-before-kill', 'yarn-site.xml', 'scheduler_setting', 'preemption_balance_after_satisfied_max_wait_before_kill', 'long', '300000', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.conservative-drf', 'yarn-site.xml', 'scheduler_setting', 'intra_queue_preemption_conservative_drf', 'boolean', 'true', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.enabled', 'yarn-site.xml', 'scheduler_setting', 'intra_queue_preemption_enabled', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.minimum-threshold', 'yarn-site.xml', 'scheduler_setting', 'intra_queue_preemption_minimum_threshold', 'float', '0.5', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.max-allowable-limit', 'yarn-site.xml', 'scheduler_setting', 'intra_queue_preemption_max_allowable_limit', 'float', '0.2', NULL, NULL, NULL),
		('yarn.resourcemanager.monitor.capacity.preemption.intra-queue-preemption.preemption-order-policy', 'yarn-site.xml', 'scheduler_setting', 'intra_queue_preemption_preemption_order_policy', 'text', 'userlimit_first', NULL, NULL, NULL),
		('yarn.resourcemanager.reservation-system.enable', 'yarn-site.xml', 'scheduler_setting', 'reservation_system_enable', 'boolean', 'false', NULL, NULL, NULL),
		('yarn.resourcemanager.reservation-system.class', 'yarn-site.xml', 'scheduler_setting', 'reservation_system_class', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.reservation.CapacityReservationSystem', NULL, NULL, NULL),
		('yarn.resourcemanager.reservation-system.plan.follower', 'yarn-site.xml', 'scheduler_setting', 'reservation_system_plan_follower', 'text', 'org.apache.hadoop.yarn.server.resourcemanager.reservation.CapacitySchedulerPlanFollower', NULL, NULL, NULL),
		('yarn.resourcemanager.reservation-system.planfollower.time-step', 'yarn-site.xml', 'scheduler_setting', 'reservation_system_planfollower_time_step', 'long', '1000', NULL, NULL, NULL)
	) AS l (property, file, table_name, column_name, notation, default_value, queue_kind, inherited_from, inherited_column);
COMMENT ON VIEW yquota_internal.hadoop_property IS
	'Every property of Hadoop that the configuration knows, and where it is kept';
COMMENT ON COLUMN yquota_internal.hadoop_property.property IS
	'full name; <queue> and <parent> are paths, <label>, <user>, <policy> names without a dot, <option> is the rest of the name';
COMMENT ON COLUMN yquota_internal.hadoop_property.file IS 'where Hadoop''s documentation has it; it is read from any file';
COMMENT ON COLUMN yquota_internal.hadoop_property.table_name IS 'table in schema yquota';
COMMENT ON COLUMN yquota_internal.hadoop_property.column_name IS 'NULL when the property is whole rows';
COMMENT ON COLUMN yquota_internal.hadoop_property.notation IS 'how its value is written: see yquota_internal.hadoop_value()';
COMMENT ON COLUMN yquota_internal.hadoop_property.default_value IS
	'Hadoop''s, of a queue below root, when nothing is set anywhere; NULL for none or one that is computed';
COMMENT ON COLUMN yquota_internal.hadoop_property.queue_kind IS 'leaf, parent or both: which queues it is for; NULL when not for queues';
COMMENT ON COLUMN yquota_internal.hadoop_property.inherited_from IS
	'what gives the value when none is set: the parent''s effective value, scheduler_setting, the queue itself without label, or wildcard_template; NULL: nothing';
COMMENT ON COLUMN yquota_internal.hadoop_property.inherited_column IS 'column there';
CREATE OR REPLACE FUNCTION yquota_internal.java_trim(value text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN btrim(value, E' \t\n\r\f\x0B');
COMMENT ON FUNCTION yquota_internal.java_trim(text) IS
	'Without white space at the ends';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_hexadecimal(value text) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN value ~ '^-' THEN -1 ELSE 1 END
		* ('x' || lpad(right(regexp_replace(value, '^-?0[xX]', ''), 15), 16, '0'))::bit(64)::bigint;
COMMENT ON FUNCTION yquota_internal.hadoop_hexadecimal(text) IS
	'Value of a hexadecimal number such as -0x1F, of its last 15 digits';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_integer(value text, lowest numeric, highest numeric) RETURNS bigint
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE
		WHEN value ~ '^[+-]?[0-9]{1,100}$' THEN
			CASE WHEN value::numeric BETWEEN lowest AND highest THEN value::bigint END
		WHEN value ~ '^-?0[xX]0*[0-9a-fA-F]{1,15}$' THEN
			CASE WHEN yquota_internal.hadoop_hexadecimal(value) BETWEEN lowest AND highest
				THEN yquota_internal.hadoop_hexadecimal(value) END
		END;
COMMENT ON FUNCTION yquota_internal.hadoop_integer(text, numeric, numeric) IS
	'A whole number as Hadoop reads it, decimal or hexadecimal; NULL when it is none or outside of the range';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_list(value text) RETURNS text[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN array_remove(regexp_split_to_array(yquota_internal.java_trim(value), E'\\s*[,\\n]\\s*'), '');
COMMENT ON FUNCTION yquota_internal.hadoop_list(text) IS
	'Elements of a list, parted by commas or line ends';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_labels(value text) RETURNS text[]
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
	'Labels of a list, each once; * swallows the others';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_resource(value text) RETURNS yquota.resource
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
	'Resources such as memory-mb=4096,vcores=2; units are converted to the native ones and rounded down, as Hadoop does.  NULL when it is not written like that';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_value(notation text, value text) RETURNS jsonb
	-- stable as to_jsonb() is, or it would not be inlined
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE notation
		WHEN 'capacity' THEN CASE
			WHEN value ~ E'[w\\]]\\s*$' THEN CASE WHEN yquota_internal.is_hadoop_capacity(value) THEN to_jsonb(value) END
			WHEN yquota_internal.is_hadoop_capacity(yquota_internal.java_trim(value)) THEN to_jsonb(yquota_internal.java_trim(value)) END
		WHEN 'integer' THEN to_jsonb(yquota_internal.hadoop_integer(yquota_internal.java_trim(value), -2147483648, 2147483647))
		WHEN 'decimal' THEN CASE WHEN value ~ '^[+-]?[0-9]+$' THEN
			to_jsonb(yquota_internal.hadoop_integer(value, -2147483648, 2147483647)) END
		WHEN 'long' THEN to_jsonb(yquota_internal.hadoop_integer(yquota_internal.java_trim(value), -9223372036854775808, 9223372036854775807))
		WHEN 'float' THEN CASE WHEN yquota_internal.java_trim(value) ~ E'^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,2})?[fFdD]?$' THEN
			CASE WHEN abs(rtrim(yquota_internal.java_trim(value), 'fFdD')::numeric) < 3.4028235e38
				THEN to_jsonb(round(rtrim(yquota_internal.java_trim(value), 'fFdD')::numeric, 45)::real) END END
		WHEN 'double' THEN CASE WHEN yquota_internal.java_trim(value) ~ E'^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,2})?[fFdD]?$' THEN
			to_jsonb(rtrim(yquota_internal.java_trim(value), 'fFdD')::double precision) END
		WHEN 'boolean' THEN CASE lower(yquota_internal.java_trim(value)) WHEN 'true' THEN 'true'::jsonb WHEN 'false' THEN 'false'::jsonb END
		WHEN 'text' THEN to_jsonb(yquota_internal.java_trim(value))
		WHEN 'acl' THEN to_jsonb(value)
		WHEN 'options' THEN to_jsonb(value)
		WHEN 'format' THEN CASE WHEN value IN ('legacy', 'json') THEN to_jsonb(value) END
		WHEN 'state' THEN CASE WHEN upper(value) IN ('RUNNING', 'STOPPED') THEN to_jsonb(upper(value)) END
		WHEN 'list' THEN to_jsonb(yquota_internal.hadoop_list(value))
		WHEN 'labels' THEN to_jsonb(yquota_internal.hadoop_labels(value))
		WHEN 'children' THEN to_jsonb(value)
		WHEN 'resource' THEN to_jsonb(yquota_internal.hadoop_resource(value)::text)
		END;
COMMENT ON FUNCTION yquota_internal.hadoop_value(text, text) IS
	'What a column holds for a value of a file; NULL when the value is not in the notation';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_expectation(notation text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE notation
		WHEN 'capacity' THEN 'a percentage such as 12.5, a weight such as 2w, or resources such as [memory=10240,vcores=12], the latter two without blanks at the ends'
		WHEN 'integer' THEN 'a whole number of 32 bits'
		WHEN 'decimal' THEN 'a whole decimal number of 32 bits, without blanks'
		WHEN 'long' THEN 'a whole number of 64 bits'
		WHEN 'float' THEN 'a number of 32 bits'
		WHEN 'double' THEN 'a number of 64 bits'
		WHEN 'boolean' THEN 'true or false'
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
	'A notation in words, for errors and documentation';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_list_text(list jsonb) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN coalesce(nullif((SELECT string_agg(e, ',') FROM jsonb_array_elements_text(list) AS e), ''), ' ');
COMMENT ON FUNCTION yquota_internal.hadoop_list_text(jsonb) IS
	'A list as the value of a file; one blank when it is empty, because an empty value is none';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_text(notation text, value jsonb) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE
		WHEN value IS NULL THEN NULL
		WHEN notation IN ('list', 'labels') THEN yquota_internal.hadoop_list_text(value)
		WHEN notation = 'resource' THEN nullif(btrim(value #>> '{}', '[]'), '')
		WHEN notation = 'acl' THEN coalesce(nullif(value #>> '{}', ''), ' ')
		ELSE value #>> '{}' END;
COMMENT ON FUNCTION yquota_internal.hadoop_text(text, jsonb) IS
	'What a column holds as the value of a file: the reverse of hadoop_value()';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_rows_text(notation text, rows jsonb) RETURNS text
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
	'Rows that a property is the whole of, in their order, as the value of a file';
CREATE OR REPLACE VIEW yquota_internal.hadoop_pattern AS
	SELECT f.property, f.file, f.table_name, f.column_name, f.notation,
		   f.property ~ '<(queue|parent)>' AS has_queue,
		   f.property ~ '<parent>' AS is_wildcard,
		   f.property ~ '<(label|user|policy|option)>' AS has_name,
		   f.property ~ '<(label|policy)>' AS is_plain_name,
		   f.notation = 'options' AS is_option,
		   p.pieces[1] AS head,
		   CASE WHEN f.property ~ '<(queue|parent)>' THEN p.pieces[2] END AS middle,
		   CASE WHEN f.property ~ '<(queue|parent)>' THEN coalesce(p.pieces[3], '') ELSE coalesce(p.pieces[2], '') END AS tail
	FROM yquota_internal.hadoop_property AS f
	CROSS JOIN LATERAL (SELECT regexp_split_to_array(f.property, E'<parent>\\.\\*|<[a-z]+>') AS pieces) AS p;
COMMENT ON VIEW yquota_internal.hadoop_pattern IS
	'hadoop_property with the names of properties taken apart';
COMMENT ON COLUMN yquota_internal.hadoop_pattern.is_wildcard IS 'whether the path ends in *';
COMMENT ON COLUMN yquota_internal.hadoop_pattern.is_plain_name IS 'whether the name has no dots';
CREATE OR REPLACE VIEW yquota_internal.hadoop_setting AS
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
		FROM yquota.kept_property AS k
	)
	SELECT s.property COLLATE "C" AS property, s.value, s.file, s.owner COLLATE "C" AS owner
	FROM setting AS s WHERE s.value <> '';
COMMENT ON VIEW yquota_internal.hadoop_setting IS
	'Everything that is configured as Hadoop''s properties; queues that were created automatically are left out';
COMMENT ON COLUMN yquota_internal.hadoop_setting.owner IS 'path of the queue; NULL for what is not about one';
CREATE OR REPLACE FUNCTION yquota.hadoop_configuration(file text DEFAULT NULL)
	RETURNS TABLE (property text, value text)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	SET enable_nestloop = off
	BEGIN ATOMIC
		SELECT s.property, s.value FROM yquota_internal.hadoop_setting AS s
		WHERE hadoop_configuration.file IS NULL OR s.file = hadoop_configuration.file
		ORDER BY s.owner NULLS FIRST, s.property;
	END;
COMMENT ON FUNCTION yquota.hadoop_configuration(text) IS
	'What is configured as Hadoop''s properties: all of it, or what belongs in capacity-scheduler.xml or yarn-site.xml';
REVOKE ALL ON FUNCTION yquota.hadoop_configuration(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.export_hadoop_configuration(file text DEFAULT 'capacity-scheduler.xml')
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
		RAISE EXCEPTION 'there is no file "%"', file
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Files are capacity-scheduler.xml and yarn-site.xml; NULL is both in one.';
	END IF;
	SELECT string_agg(E'  <property>\n    <name>' || replace(replace(replace(s.property, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')
					  || E'</name>\n    <value>' || replace(replace(replace(replace(s.value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), E'\r', '&#13;')
					  || E'</value>\n  </property>\n', '' ORDER BY s.owner NULLS FIRST, s.property)
	INTO document
	FROM yquota_internal.hadoop_setting AS s
	WHERE export_hadoop_configuration.file IS NULL OR s.file = export_hadoop_configuration.file;
	RETURN xmlparse(DOCUMENT E'<?xml version="1.0"?>\n<configuration>\n' || coalesce(document, '') || '</configuration>');
END
$$;
COMMENT ON FUNCTION yquota.export_hadoop_configuration(text) IS
	'What is configured as a configuration file of Hadoop: capacity-scheduler.xml, yarn-site.xml, or both in one (NULL)';
REVOKE ALL ON FUNCTION yquota.export_hadoop_configuration(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_xml_properties(
	document text, OUT ordinal integer, OUT property text, OUT value text, OUT final boolean)
	RETURNS SETOF record
	LANGUAGE c STABLE STRICT PARALLEL SAFE ROWS 10000
	AS 'MODULE_PATHNAME', 'yq_sql_hadoop_xml_properties';
COMMENT ON FUNCTION yquota_internal.hadoop_xml_properties(text) IS
	'Properties of a configuration file of Hadoop; without name for an include, which is not followed, without value where none is given';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_json_properties(
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
	'Properties of a configuration in JSON: an object of names and values, or a list of objects as the resource manager''s /conf and /ws/v1/cluster/scheduler-conf have it';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_document_properties(
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
	'Properties of a document in XML or JSON';
CREATE OR REPLACE FUNCTION yquota_internal.substitute_hadoop_variables(value text, properties jsonb) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	result text := value;
	variable text;
	replacement text;
BEGIN
	FOR i IN 1..20 LOOP
		-- the first that has no other one inside
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
	'A value with ${names} replaced by the properties of that name, as Hadoop does; unknown ones, and those that contain themselves, stay';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_documents(
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
	WITH raw AS MATERIALIZED (
		SELECT row_number() OVER (ORDER BY d.number, p.ordinal) AS ordinal, d.number AS document, p.property, p.value, p.final
		FROM unnest(documents) WITH ORDINALITY AS d (document, number)
		CROSS JOIN LATERAL yquota_internal.hadoop_document_properties(d.document) AS p
	), repeated AS (
		SELECT r.property, min(r.ordinal) FILTER (WHERE r.final) AS final_ordinal, max(r.ordinal) AS last_ordinal
		FROM raw AS r WHERE r.value IS NOT NULL
		GROUP BY r.property HAVING count(*) > 1
	), judged AS (
		SELECT r.*, CASE WHEN r.property IS NULL THEN 'includes are not followed'
						 WHEN r.property = '' THEN 'it has no name'
						 WHEN r.value IS NULL THEN 'it has no value'
						 WHEN r.ordinal > p.final_ordinal THEN 'it is final above'
						 WHEN r.ordinal < coalesce(p.final_ordinal, p.last_ordinal) THEN 'it is set again below' END AS reason
		FROM raw AS r LEFT JOIN repeated AS p ON p.property = r.property
		ORDER BY r.ordinal
	)
	SELECT array_agg(j.ordinal), array_agg(j.document), array_agg(j.property), array_agg(j.value), array_agg(j.reason)
	INTO ordinals, from_documents, names, found_values, reasons
	FROM judged AS j;
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
	'Properties of several documents read one after the other, as Hadoop does: the last one wins unless one is final.  With a reason for those that do not count';
CREATE OR REPLACE FUNCTION yquota_internal.refuse_hadoop_value(property text, value text, notation text, detail text DEFAULT NULL) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid value "%" of property "%"', left(value, 200) || CASE WHEN length(value) > 200 THEN '…' ELSE '' END, property
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = coalesce(detail, format('It should be %s.', yquota_internal.hadoop_expectation(notation)));
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_hadoop_value(text, text, text, text) IS
	'The error for a value that cannot be read';
CREATE OR REPLACE FUNCTION yquota_internal.parse_hadoop_list(property text, value text, notation text) RETURNS jsonb
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
	'Rows that a list such as queue-mappings stands for; an element that stands twice counts once, as in Hadoop';
CREATE OR REPLACE FUNCTION yquota_internal.parse_hadoop_json_rules(property text, value text) RETURNS jsonb
	LANGUAGE plpgsql STABLE PARALLEL SAFE
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
		PERFORM yquota_internal.refuse_hadoop_value(property, value, 'json rules', 'It is not JSON: ' || SQLERRM || '.');
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
				'primaryGroupUser', 'secondaryGroupUser', 'applicationName', 'custom', 'setDefaultQueue') THEN 'its "policy" is not one that Hadoop has'
			WHEN rule ->> 'policy' = 'custom' AND rule ->> 'customPlacement' IS NULL THEN 'policy custom needs "customPlacement"'
			WHEN rule ->> 'policy' = 'setDefaultQueue' AND rule ->> 'value' IS NULL THEN 'policy setDefaultQueue needs "value"'
			WHEN coalesce(jsonb_typeof(rule -> 'create'), 'null') NOT IN ('boolean', 'null') THEN 'its "create" is not true or false'
			WHEN rule ->> 'fallbackResult' NOT IN ('skip', 'placeDefault', 'reject') THEN 'its "fallbackResult" is not skip, placeDefault or reject'
			WHEN EXISTS (SELECT FROM unnest('{parentQueue,customPlacement,value}'::text[]) AS k WHERE jsonb_typeof(rule -> k) NOT IN ('string', 'null'))
				THEN 'one of "parentQueue", "customPlacement" and "value" is not a text'
			ELSE (SELECT format('it has a field "%s"', k) FROM jsonb_object_keys(rule) AS k
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
	'Rows that mapping-rule-json stands for';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_queue_tree(
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
		   CASE WHEN p.times > 1 THEN 'It is listed twice.'
				WHEN octet_length(p.path) > 2000 THEN 'Its path has more than 2000 bytes.'
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
	'Paths of the queues that the properties named queues list, from root down, and places among siblings';
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
	'Where a property belongs: table, column (NULL for whole rows), path of the queue, other part of the key or name of the option, and what the column holds';
CREATE OR REPLACE FUNCTION yquota_internal.match_hadoop_properties(
	properties text[], paths text[], heads text[], middles text[], tails text[], bits integer[],
	OUT ordinal bigint, OUT pattern integer, OUT owner text, OUT name text)
	RETURNS SETOF record
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE ROWS 10000
	AS 'MODULE_PATHNAME', 'yq_sql_match_hadoop_properties';
COMMENT ON FUNCTION yquota_internal.match_hadoop_properties(text[], text[], text[], text[], text[], integer[]) IS
	'Which pattern names of properties follow, given the paths of queues; bits: 1 of a queue, 2 has a name, 4 wildcard, 8 name without dots, 16 option';
CREATE OR REPLACE FUNCTION yquota_internal.resolve_hadoop_properties(properties text[], property_values text[], paths text[])
	RETURNS SETOF yquota_internal.hadoop_resolution
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
BEGIN
	RETURN QUERY
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
END
$$;
COMMENT ON FUNCTION yquota_internal.resolve_hadoop_properties(text[], text[], text[]) IS
	'Where properties belong, given the paths of the queues there are; without table for those that no column stands for';
CREATE OR REPLACE FUNCTION yquota_internal.resolve_hadoop_configuration(wanted text[], wanted_values text[], paths text[])
	RETURNS SETOF yquota_internal.hadoop_resolution
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	resolutions yquota_internal.hadoop_resolution[];
	wrong yquota_internal.hadoop_resolution;
BEGIN
	SELECT array_agg(r) INTO resolutions
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
	'resolve_hadoop_properties(), but refuses what cannot be read';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_resolution_text(resolution yquota_internal.hadoop_resolution) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN CASE WHEN (resolution).table_name IS NULL THEN CASE WHEN (resolution).property LIKE 'yarn.scheduler.capacity.%' THEN (resolution).value END
				WHEN (resolution).column_name IS NULL THEN yquota_internal.hadoop_rows_text((resolution).notation, (resolution).typed)
				WHEN (resolution).notation = 'children' THEN nullif(array_to_string(ARRAY(SELECT yquota_internal.java_trim(c) FROM string_to_table((resolution).value, ',') AS c WHERE c <> ''), ','), '')
				ELSE yquota_internal.hadoop_text((resolution).notation, (resolution).typed) END;
COMMENT ON FUNCTION yquota_internal.hadoop_resolution_text(yquota_internal.hadoop_resolution) IS
	'The value that a property will have when it is exported; NULL when it is not kept';
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
	'A property before and after an import.  ordinal: place in the documents, NULL when not there; reason: why it is ignored; resolution: NULL when there will be none';
CREATE OR REPLACE FUNCTION yquota_internal.plan_hadoop_import(documents text[], mode text)
	RETURNS SETOF yquota_internal.hadoop_plan
	LANGUAGE plpgsql STABLE PARALLEL SAFE
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

	WITH read AS MATERIALIZED (
		SELECT d.* FROM yquota_internal.hadoop_documents(documents) AS d
	), document AS (
		SELECT r.document, bool_or(r.property = 'yarn.scheduler.capacity.root.queues') AS is_scheduler,
			   bool_or(r.property LIKE 'yarn.scheduler.capacity.%') AS has_scheduler,
			   bool_or(f.property IS NOT NULL) AS is_site
		FROM read AS r LEFT JOIN yquota_internal.hadoop_property AS f ON f.property = r.property AND f.file = 'yarn-site.xml'
		WHERE r.reason IS NULL
		GROUP BY r.document
	)
	SELECT array_agg(r.ordinal), array_agg(r.property), array_agg(r.value), array_agg(r.reason),
		   CASE WHEN mode = 'merge' THEN '{}'
				WHEN (SELECT bool_or(d.has_scheduler) AND NOT bool_or(d.is_scheduler) FROM document AS d) THEN NULL
				ELSE ARRAY(SELECT 'capacity-scheduler.xml' FROM document AS d WHERE d.is_scheduler
						   UNION SELECT 'yarn-site.xml' FROM document AS d WHERE d.is_site AND NOT d.is_scheduler) END
	INTO ordinals, names, texts, reasons, replaced
	FROM read AS r;
	IF replaced IS NULL THEN
		RAISE EXCEPTION 'configuration of Hadoop does not list the queues below root'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'To replace the configuration by it would delete all queues.',
				HINT = 'Property yarn.scheduler.capacity.root.queues is missing.  Import part of a configuration with mode merge.';
	END IF;

	SELECT array_agg(s.property), array_agg(s.value), array_agg(s.file) INTO old_names, old_texts, old_files
	FROM yquota_internal.hadoop_setting AS s;
	SELECT array_agg(w.property), array_agg(w.value) INTO wanted, wanted_values
	FROM (SELECT u.property, u.value FROM unnest(names, texts, reasons) AS u (property, value, reason) WHERE u.reason IS NULL
		  UNION ALL
		  SELECT s.property, s.value FROM unnest(old_names, old_texts, old_files) AS s (property, value, file)
		  WHERE s.file <> ALL (replaced)
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
	'What an import would lead to; refuses what cannot be read';
CREATE OR REPLACE FUNCTION yquota_internal.replace_configuration_rows(table_name text, wanted jsonb, scope jsonb DEFAULT NULL) RETURNS void
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
	'Make a table hold the wanted rows: delete, change and insert those that differ.  Queues created automatically, and what is set for them, stay; so do rows whose keys are not in scope, if that is given';
REVOKE ALL ON FUNCTION yquota_internal.replace_configuration_rows(text, jsonb, jsonb) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.configuration_key(table_name text, owner text, name text) RETURNS jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE table_name
		WHEN 'queue' THEN jsonb_build_object('path', owner)
		WHEN 'queue_label' THEN jsonb_build_object('queue', owner, 'label', name)
		WHEN 'queue_user' THEN jsonb_build_object('queue', owner, 'username', name)
		WHEN 'wildcard_template' THEN jsonb_build_object('path', owner)
		WHEN 'user_setting' THEN jsonb_build_object('username', name)
		WHEN 'multi_node_sorting_policy' THEN jsonb_build_object('name', name)
		ELSE '{"one_row": true}' END;
COMMENT ON FUNCTION yquota_internal.configuration_key(text, text, text) IS
	'Key of the row that a property is in, by the path of its queue and the other name in it';
CREATE OR REPLACE FUNCTION yquota_internal.hadoop_rows(resolutions yquota_internal.hadoop_resolution[])
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
			   jsonb_build_object('path', t.path, 'position', t.position, 'auto_created', false) || coalesce(f.cells, '{}') AS made_row
		FROM yquota_internal.hadoop_queue_tree(properties, property_values) AS t
		LEFT JOIN found AS f ON f.table_name = 'queue' AND f.owner = t.path
		UNION ALL
		SELECT f.table_name, f.cells || yquota_internal.configuration_key(f.table_name, f.owner, f.name)
		FROM found AS f WHERE f.table_name <> 'queue'
		UNION ALL
		SELECT r.table_name, e.made_row FROM unnest(resolutions) AS r
		CROSS JOIN LATERAL jsonb_array_elements(r.typed) AS e (made_row)
		WHERE r.table_name IS NOT NULL AND r.column_name IS NULL
		UNION ALL
		SELECT 'kept_property', jsonb_build_object('property', r.property, 'value', r.value)
		FROM unnest(resolutions) AS r WHERE r.table_name IS NULL AND r.property LIKE 'yarn.scheduler.capacity.%'
	)
	SELECT k.table_name, coalesce(jsonb_agg(m.made_row) FILTER (WHERE m.made_row IS NOT NULL), '[]')
	FROM (SELECT DISTINCT f.table_name FROM yquota_internal.hadoop_property AS f UNION SELECT 'kept_property') AS k
	LEFT JOIN made AS m ON m.table_name = k.table_name
	GROUP BY k.table_name;
END
$$;
COMMENT ON FUNCTION yquota_internal.hadoop_rows(yquota_internal.hadoop_resolution[]) IS
	'All rows of the tables of configuration that properties stand for';
CREATE OR REPLACE FUNCTION yquota_internal.apply_hadoop_configuration(resolutions yquota_internal.hadoop_resolution[]) RETURNS void
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
	-- what was created below a queue that is gone goes with it
	LOOP
		DELETE FROM yquota.queue AS q
		WHERE q.auto_created AND NOT EXISTS (SELECT FROM yquota.queue AS p WHERE p.path = q.parent);
		EXIT WHEN NOT FOUND;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_hadoop_configuration(yquota_internal.hadoop_resolution[]) IS
	'Make the tables hold what these properties say and nothing else';
REVOKE ALL ON FUNCTION yquota_internal.apply_hadoop_configuration(yquota_internal.hadoop_resolution[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_hadoop_configuration(documents text[], mode text DEFAULT 'replace')
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	plan yquota_internal.hadoop_plan[];
BEGIN
	-- imports wait for each other and for changes of queues
	LOCK TABLE yquota.queue IN SHARE ROW EXCLUSIVE MODE;
	SELECT array_agg(p) INTO plan FROM yquota_internal.plan_hadoop_import(documents, mode) AS p;
	PERFORM yquota_internal.apply_hadoop_configuration(ARRAY(SELECT p.resolution FROM unnest(plan) AS p WHERE (p.resolution).property IS NOT NULL));
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
				WHEN (p.resolution).table_name IS NULL THEN CASE
					WHEN p.new IS NULL THEN 'it is no property of the scheduler'
					WHEN p.property LIKE 'yarn.scheduler.capacity.root.%' THEN 'no queue has this property; it is kept'
					ELSE 'there is no such property; it is kept' END
				WHEN (p.resolution).typed IS NULL THEN 'it is neither true nor false, which is as good as not set'
				WHEN p.new IS NULL THEN 'it is empty'
				WHEN p.value LIKE '%${%' THEN 'it has a variable that was not replaced' END,
		   CASE WHEN (p.resolution).table_name IS NOT NULL THEN (p.resolution).table_name WHEN p.new IS NOT NULL THEN 'kept_property' END,
		   (p.resolution).column_name
	FROM unnest(plan) AS p
	WHERE p.ordinal IS NOT NULL OR (p.resolution).property IS NULL
	ORDER BY p.ordinal NULLS LAST, p.property COLLATE "C";
END
$$;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(text[], text) IS
	'Configure queues from the contents of capacity-scheduler.xml and yarn-site.xml (XML or JSON), read one after the other as Hadoop reads them.  replace: what the files do not have is removed; merge: it stays.  Tells what became of each property';
REVOKE ALL ON FUNCTION yquota.import_hadoop_configuration(text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_hadoop_configuration(document text, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT * FROM yquota.import_hadoop_configuration(ARRAY[document], mode);
	END;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(text, text) IS
	'The same of one document';
REVOKE ALL ON FUNCTION yquota.import_hadoop_configuration(text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_hadoop_configuration(document xml, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT * FROM yquota.import_hadoop_configuration(ARRAY[document::text], mode);
	END;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(xml, text) IS
	'The same of one document';
REVOKE ALL ON FUNCTION yquota.import_hadoop_configuration(xml, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_hadoop_configuration(document jsonb, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, value text, outcome text, reason text, table_name text, column_name text)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT * FROM yquota.import_hadoop_configuration(ARRAY[document::text], mode);
	END;
COMMENT ON FUNCTION yquota.import_hadoop_configuration(jsonb, text) IS
	'The same of one document';
REVOKE ALL ON FUNCTION yquota.import_hadoop_configuration(jsonb, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.diff_hadoop_configuration(documents text[], mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT p.property, p.old, p.new FROM yquota_internal.plan_hadoop_import(documents, mode) AS p
		WHERE p.old IS DISTINCT FROM p.new
		ORDER BY p.ordinal NULLS LAST, p.property COLLATE "C";
	END;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(text[], text) IS
	'What import_hadoop_configuration() would change, without changing anything; NULL is not set';
REVOKE ALL ON FUNCTION yquota.diff_hadoop_configuration(text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.diff_hadoop_configuration(document text, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT * FROM yquota.diff_hadoop_configuration(ARRAY[document], mode);
	END;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(text, text) IS
	'The same of one document';
REVOKE ALL ON FUNCTION yquota.diff_hadoop_configuration(text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.diff_hadoop_configuration(document xml, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT * FROM yquota.diff_hadoop_configuration(ARRAY[document::text], mode);
	END;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(xml, text) IS
	'The same of one document';
REVOKE ALL ON FUNCTION yquota.diff_hadoop_configuration(xml, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.diff_hadoop_configuration(document jsonb, mode text DEFAULT 'replace')
	RETURNS TABLE (property text, old text, new text)
	LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT * FROM yquota.diff_hadoop_configuration(ARRAY[document::text], mode);
	END;
COMMENT ON FUNCTION yquota.diff_hadoop_configuration(jsonb, text) IS
	'The same of one document';
REVOKE ALL ON FUNCTION yquota.diff_hadoop_configuration(jsonb, text) FROM PUBLIC;
CREATE OR REPLACE TRIGGER signal_access
	AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.workflow_priority_mapping
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
CREATE OR REPLACE FUNCTION yquota.check_queue_access(
	username text, groups text[], queue text, operation text, real_username text DEFAULT NULL,
	OUT allowed boolean, OUT decided_by text, OUT reason text)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_check_queue_access';
COMMENT ON FUNCTION yquota.check_queue_access(text, text[], text, text, text) IS
	'May a user do something in a queue (path or short name)?  Operations: SUBMIT (as a submission is checked), ADMIN (yarn.admin.acl), or Hadoop''s SUBMIT_APPLICATIONS, ADMINISTER_QUEUE, ADMINISTER_RESERVATIONS, LIST_RESERVATIONS, SUBMIT_RESERVATIONS.  real_username is who acts for him.  Returns the path of the queue whose list decided, and why';
REVOKE ALL ON FUNCTION yquota.check_queue_access(text, text[], text, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.application_priority(
	username text, groups text[], queue text, requested integer DEFAULT NULL,
	tags text[] DEFAULT NULL, real_username text DEFAULT NULL,
	OUT allowed boolean, OUT priority integer, OUT reason text)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_application_priority';
COMMENT ON FUNCTION yquota.application_priority(text, text[], text, integer, text[], text) IS
	'Priority that an application of a user would get in a queue (path or short name): what is requested or the default of the user or of the queue, at most the cluster''s maximum, or what its workflow (from its tags) is mapped to; allowed says whether the queue''s priority list lets him have it';
REVOKE ALL ON FUNCTION yquota.application_priority(text, text[], text, integer, text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.place_application(
	username text, groups text[], queue text DEFAULT 'default', application_name text DEFAULT NULL,
	OUT queue_path text, OUT outcome text, OUT must_create boolean, OUT rule_kind yquota.mapping_rule_kind,
	OUT rule_position integer, OUT reason text, OUT earlier_rules text[])
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_place_application';
COMMENT ON FUNCTION yquota.place_application(text, text[], text, text) IS
	'Which queue an application would go to, without submitting it; groups in order, the primary one first.  Outcome: PLACED (by a rule), PLACED_BY_DEFAULT (by a rule''s fallback), PLACED_AS_NAMED (no rule decided), REJECTED (by a rule), UNKNOWN (no rule decided and the queue named cannot take it).  earlier_rules says of the rules before why they did not decide';
REVOKE ALL ON FUNCTION yquota.place_application(text, text[], text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.explain_placement(
	username text, groups text[], queue text DEFAULT 'default', application_name text DEFAULT NULL)
	RETURNS TABLE (rule_kind yquota.mapping_rule_kind, rule_position integer, matches boolean, target text,
				   decides boolean, reason text)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_explain_placement';
COMMENT ON FUNCTION yquota.explain_placement(text, text[], text, text) IS
	'What place_application() finds for each rule up to the one that decides: whether it matches, the path that it makes, and why it decides or not';
REVOKE ALL ON FUNCTION yquota.explain_placement(text, text[], text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.note_rule_change() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_note_rule_change';
COMMENT ON FUNCTION yquota_internal.note_rule_change() IS
	'Has the check at commit look at mapping rules and priority lists as well';
REVOKE ALL ON FUNCTION yquota_internal.note_rule_change() FROM PUBLIC;
CREATE OR REPLACE TRIGGER note_rule_change AFTER INSERT OR UPDATE ON yquota.mapping_rule
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_rule_change();
CREATE OR REPLACE TRIGGER note_rule_change AFTER INSERT OR DELETE OR UPDATE OF mapping_rule_format, queue_placement_rules
		ON yquota.scheduler_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_rule_change();
CREATE OR REPLACE TRIGGER note_rule_change AFTER INSERT OR UPDATE OF path, auto_created, acl_application_max_priority,
		reservable, auto_create_child_queue_enabled, auto_queue_creation_v2_enabled ON yquota.queue
	FOR EACH ROW WHEN (NOT NEW.auto_created) EXECUTE FUNCTION yquota_internal.note_rule_change();
CREATE OR REPLACE TRIGGER note_rule_change_gone AFTER DELETE ON yquota.queue
	FOR EACH ROW WHEN (NOT OLD.auto_created) EXECUTE FUNCTION yquota_internal.note_rule_change();
CREATE TABLE yquota_internal.queue_status (
	path text COLLATE "C" PRIMARY KEY,
	running boolean NOT NULL,
	kind text COLLATE "C" NOT NULL CHECK (kind IN ('leaf', 'parent', 'managed parent', 'plan')),
	auto_created boolean NOT NULL,
	maximum_allocation yquota.resource NOT NULL,
	refreshed boolean NOT NULL
);
COMMENT ON TABLE yquota_internal.queue_status IS
	'Queues in force since the configuration was last changed: what a change is measured against.  Written by the check alone';
COMMENT ON COLUMN yquota_internal.queue_status.running IS
	'whether the queue takes applications; if not, it is DRAINING while containers run or applications live in it, else STOPPED';
COMMENT ON COLUMN yquota_internal.queue_status.maximum_allocation IS
	'largest container, in native units, that applications of the queue have been promised';
COMMENT ON COLUMN yquota_internal.queue_status.refreshed IS
	'whether its parent has been refreshed with it: then its place among its siblings is that of the hash table in which Hadoop keeps them meanwhile';
CREATE TABLE yquota_internal.queue_check (
	is_last boolean NOT NULL
);
COMMENT ON TABLE yquota_internal.queue_check IS
	'Checks that transactions have asked for: their rows are gone when they commit';
COMMENT ON COLUMN yquota_internal.queue_check.is_last IS
	'false for the row that asks, true for the one that it inserts in the end, which checks';
CREATE OR REPLACE FUNCTION yquota_internal.note_queue_change() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_note_queue_change';
COMMENT ON FUNCTION yquota_internal.note_queue_change() IS
	'Has sessions forget the hierarchy of queues, and asks for a check at commit';
REVOKE ALL ON FUNCTION yquota_internal.note_queue_change() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_queues() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_check_queues';
COMMENT ON FUNCTION yquota_internal.check_queues() IS
	'Checks the hierarchy of queues and brings queue_status up to date; an error tells of all that is wrong';
REVOKE ALL ON FUNCTION yquota_internal.check_queues() FROM PUBLIC;
CREATE CONSTRAINT TRIGGER check_queues AFTER INSERT ON yquota_internal.queue_check
	DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.check_queues();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.queue
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.queue_label
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.queue_user
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.wildcard_template
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.mapping_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.multi_node_sorting_policy
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.node_label
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.kept_property
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.scheduler_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER note_queue_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.user_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_queue_change();
CREATE OR REPLACE TRIGGER signal_total AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.total OPERATOR(yquota.<>) NEW.total)
	EXECUTE FUNCTION yquota_internal.signal_change();
CREATE OR REPLACE TRIGGER signal_queues AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF name ON yquota.resource_type
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
CREATE OR REPLACE FUNCTION yquota_internal.effective_queues()
	RETURNS TABLE (queue text, label text, ordinal integer, drawn text, kind text, auto_created boolean,
				   state yquota.queue_state, configured_capacity text, configured_maximum_capacity text,
				   capacity real, maximum_capacity real, weight real, normalized_weight real,
				   absolute_capacity real, absolute_maximum_capacity real,
				   effective_capacity yquota.resource, effective_maximum_capacity yquota.resource,
				   used yquota.resource, used_capacity real, absolute_used_capacity real, containers bigint,
				   minimum_user_limit_percent real, user_limit_factor real,
				   maximum_applications integer, maximum_applications_per_user integer,
				   maximum_am_resource_percent real, am_limit yquota.resource,
				   maximum_allocation yquota.resource, maximum_application_lifetime bigint,
				   default_application_lifetime bigint, inherited jsonb,
				   applications bigint, non_runnable_applications bigint, accepted_applications bigint,
				   active_applications bigint, am_used yquota.resource)
	LANGUAGE c STABLE PARALLEL UNSAFE ROWS 100
	AS 'MODULE_PATHNAME', 'yq_sql_effective_queues';
COMMENT ON FUNCTION yquota_internal.effective_queues() IS
	'The hierarchy of queues as this transaction has it, in the order of the tree';
CREATE OR REPLACE VIEW yquota.effective_queue WITH (security_barrier) AS
	SELECT q.queue, q.label, q.ordinal, q.kind, q.auto_created, q.state, q.configured_capacity,
		   q.configured_maximum_capacity, q.capacity, q.maximum_capacity, q.weight, q.normalized_weight,
		   q.absolute_capacity, q.absolute_maximum_capacity, q.effective_capacity,
		   q.effective_maximum_capacity, q.used, q.used_capacity, q.absolute_used_capacity, q.containers,
		   q.minimum_user_limit_percent, q.user_limit_factor, q.maximum_applications,
		   q.maximum_applications_per_user, q.maximum_am_resource_percent, q.am_limit,
		   q.maximum_allocation, q.maximum_application_lifetime, q.default_application_lifetime, q.inherited,
		   q.applications, q.non_runnable_applications, q.accepted_applications, q.active_applications, q.am_used
	FROM yquota_internal.effective_queues() AS q;
COMMENT ON VIEW yquota.effective_queue IS
	'Queues and what applies to them now, per label: one row for the default partition (empty label) and one for each label that is configured';
COMMENT ON COLUMN yquota.effective_queue.queue IS 'path';
COMMENT ON COLUMN yquota.effective_queue.label IS 'partition of the nodes; empty for the default one';
COMMENT ON COLUMN yquota.effective_queue.ordinal IS 'place in the tree, from 1: parents before children, children in their order';
COMMENT ON COLUMN yquota.effective_queue.kind IS 'leaf, parent, managed parent (leaves are created in it from a template), or plan (reservable)';
COMMENT ON COLUMN yquota.effective_queue.state IS 'DRAINING: stopped, but containers still run or applications live in it or below';
COMMENT ON COLUMN yquota.effective_queue.capacity IS 'fraction of the parent; 0 for a weight';
COMMENT ON COLUMN yquota.effective_queue.maximum_capacity IS 'fraction of the parent''s';
COMMENT ON COLUMN yquota.effective_queue.normalized_weight IS 'fraction of the parent that the weight comes to';
COMMENT ON COLUMN yquota.effective_queue.absolute_capacity IS 'fraction of the partition';
COMMENT ON COLUMN yquota.effective_queue.absolute_maximum_capacity IS 'fraction of the partition';
COMMENT ON COLUMN yquota.effective_queue.effective_capacity IS 'what is guaranteed, native units';
COMMENT ON COLUMN yquota.effective_queue.effective_maximum_capacity IS 'the most that the queue may use, native units';
COMMENT ON COLUMN yquota.effective_queue.used IS 'what GUARANTEED containers hold here and below, native units';
COMMENT ON COLUMN yquota.effective_queue.used_capacity IS 'fraction of what is guaranteed; may exceed 1';
COMMENT ON COLUMN yquota.effective_queue.absolute_used_capacity IS 'fraction of the partition';
COMMENT ON COLUMN yquota.effective_queue.containers IS 'running here and below, on all labels and of both execution types';
COMMENT ON COLUMN yquota.effective_queue.minimum_user_limit_percent IS 'of a leaf, like the following ones up to am_limit';
COMMENT ON COLUMN yquota.effective_queue.maximum_am_resource_percent IS 'fraction of the queue for application masters';
COMMENT ON COLUMN yquota.effective_queue.am_limit IS 'what application masters may use, native units, by what others left when the scheduler last looked at the leaf, or, as long as it has looked at nothing, by what they use now';
COMMENT ON COLUMN yquota.effective_queue.maximum_allocation IS 'largest container, native units';
COMMENT ON COLUMN yquota.effective_queue.maximum_application_lifetime IS 'seconds; NULL for no limit';
COMMENT ON COLUMN yquota.effective_queue.default_application_lifetime IS 'seconds; NULL for no limit';
COMMENT ON COLUMN yquota.effective_queue.inherited IS
	'properties that the queue does not set: value, and the queue it comes from, or scheduler_setting, template or default';
COMMENT ON COLUMN yquota.effective_queue.applications IS 'live ones here and below, on all labels, like the next three';
COMMENT ON COLUMN yquota.effective_queue.non_runnable_applications IS 'held by max-parallel-apps';
COMMENT ON COLUMN yquota.effective_queue.accepted_applications IS 'waiting for room for their application master';
COMMENT ON COLUMN yquota.effective_queue.am_used IS 'what application masters of active applications are charged with here and below, native units';
CREATE OR REPLACE FUNCTION yquota_internal.usage_bar(used numeric, guaranteed numeric, most numeric) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '[' || (
		SELECT string_agg(CASE WHEN cell <= round(20 * least(used, 1)) THEN '#'
							   WHEN cell <= round(20 * least(guaranteed, 1)) THEN '='
							   WHEN cell <= round(20 * least(most, 1)) THEN '.'
							   ELSE ' ' END, '' ORDER BY cell)
		FROM generate_series(1, 20) AS cell) || ']';
COMMENT ON FUNCTION yquota_internal.usage_bar(numeric, numeric, numeric) IS
	'Twenty cells that stand for a partition: # used, = guaranteed, . possible; arguments are fractions of it';
CREATE OR REPLACE VIEW yquota.queue_tree WITH (security_barrier) AS
	SELECT q.drawn AS tree, nullif(q.label, '') AS label, q.state,
		   round((100 * q.absolute_capacity)::numeric, 1) AS capacity,
		   round((100 * q.absolute_maximum_capacity)::numeric, 1) AS maximum,
		   round((100 * q.absolute_used_capacity)::numeric, 1) AS used,
		   yquota_internal.usage_bar(q.absolute_used_capacity::numeric, q.absolute_capacity::numeric,
									 q.absolute_maximum_capacity::numeric) AS usage
	FROM yquota_internal.effective_queues() AS q
	ORDER BY q.ordinal, q.label;
COMMENT ON VIEW yquota.queue_tree IS
	'The hierarchy of queues drawn for people, with bars: # used, = guaranteed and not used, . possible beyond that';
COMMENT ON COLUMN yquota.queue_tree.label IS 'partition of the nodes; NULL for the default one';
COMMENT ON COLUMN yquota.queue_tree.capacity IS 'percent of the partition';
COMMENT ON COLUMN yquota.queue_tree.maximum IS 'percent of the partition';
COMMENT ON COLUMN yquota.queue_tree.used IS 'percent of the partition';
COMMENT ON COLUMN yquota.queue_tree.usage IS 'the partition in twenty cells';
SELECT pg_extension_config_dump('yquota_internal.queue_status', '');
CREATE OR REPLACE FUNCTION yquota_internal.billing_day(at timestamptz, timezone text) RETURNS date
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN (at AT TIME ZONE timezone)::date;
CREATE OR REPLACE FUNCTION yquota_internal.billing_day_start(day date, timezone text) RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN CASE
		WHEN ((day::timestamp AT TIME ZONE timezone) - interval '1 hour') AT TIME ZONE timezone >= day::timestamp
		THEN (day::timestamp AT TIME ZONE timezone) - interval '1 hour'
		ELSE day::timestamp AT TIME ZONE timezone
	END;
CREATE OR REPLACE VIEW yquota_internal.rate_class AS
	SELECT part.project, part.shape, part.factors, part.reference_at,
		   sum(part.weight) AS weight,
		   sum(part.accrual_base) AS accrual_base
	FROM (
		SELECT counter.project, counter.shape, counter.factors, counter.reference_at,
			   counter.weight, counter.accrual_base
		FROM yquota_internal.rate_class_counter counter
		UNION ALL
		SELECT delta.project, delta.shape, delta.factors, delta.reference_at,
			   delta.weight, delta.accrual_base
		FROM yquota_internal.counter_delta delta
		WHERE delta.scope IN ('a', 'r')
	) part
	GROUP BY part.project, part.shape, part.factors, part.reference_at
	HAVING sum(part.weight) <> 0 OR sum(part.accrual_base) <> 0;
CREATE OR REPLACE VIEW yquota_internal.balance_part AS
	SELECT counter.project, counter.charged,
		   CASE WHEN reference.reference_at IS NOT NULL THEN counter.accrual_base END AS accrual_base,
		   NULL::yquota.resource AS shape, NULL::text[] COLLATE "C" AS factors,
		   NULL::numeric AS weight,
		   CASE WHEN reference.reference_at IS NOT NULL THEN total.weights END AS weights,
		   reference.reference_at
	FROM yquota_internal.project_counter counter
	LEFT JOIN yquota_internal.running_total total ON total.project = counter.project
	LEFT JOIN yquota_internal.valid_reference reference ON true
	UNION ALL
	SELECT class.project, NULL, class.accrual_base, class.shape, class.factors, class.weight, NULL,
		   class.reference_at
	FROM yquota_internal.rate_class_counter class
	WHERE (SELECT reference_at FROM yquota_internal.valid_reference) IS NULL
	UNION ALL
	SELECT delta.project, delta.charged, delta.accrual_base, delta.shape, delta.factors, delta.weight,
		   NULL, delta.reference_at
	FROM yquota_internal.counter_delta delta
	WHERE delta.scope IN ('a', 'p', 'r') AND delta.project IS NOT NULL;
CREATE OR REPLACE FUNCTION yquota_internal.used_up_at(now timestamptz, credits numeric, rate numeric)
	RETURNS timestamptz
	LANGUAGE sql STABLE STRICT PARALLEL SAFE
	RETURN CASE
		WHEN credits <= 0 THEN now
		WHEN rate <= 0 THEN NULL
		WHEN credits >= rate * (extract(epoch FROM timestamptz '294276-12-31 23:59:59+00')
								- extract(epoch FROM now)) THEN NULL
		ELSE now + concat(div(credits * 1000000, rate)
						  + CASE WHEN mod(credits * 1000000, rate) = 0 THEN 0 ELSE 1 END,
						  ' microseconds')::interval
	END;
CREATE OR REPLACE VIEW yquota_internal.family_part AS
	SELECT part.* FROM yquota_internal.balance_part part
	UNION ALL
	SELECT family.ancestor, part.charged, part.accrual_base, part.shape, part.factors, part.weight,
		   part.weights, part.reference_at
	FROM yquota_internal.project_family family
	JOIN yquota_internal.balance_part part ON part.project = family.member;
COMMENT ON VIEW yquota_internal.family_part IS
	'balance_part of projects and of all that descend from them';
CREATE OR REPLACE VIEW yquota_internal.spending AS
	SELECT books.project,
		   trim_scale(coalesce(books.charged, 0)) AS charged,
		   trim_scale(coalesce(books.accrued, 0) - coalesce(books.accrual_base, 0)) AS accrued,
		   trim_scale(coalesce(books.burn_rate, 0)) AS burn_rate
	FROM (
		SELECT part.project,
			   sum(part.charged) AS charged,
			   sum(part.accrual_base) AS accrual_base,
			   yquota_internal.accrued_sum(part.shape, part.factors, part.weight, part.weights,
										   part.reference_at, yquota.statement_clock()) AS accrued,
			   yquota_internal.rate_sum(part.shape, part.factors, part.weight, part.weights,
										part.reference_at, yquota.statement_clock()) AS burn_rate
		FROM yquota_internal.family_part part
		GROUP BY part.project
	) books;
COMMENT ON VIEW yquota_internal.spending IS
	'What projects and their descendants have been charged, what their running containers owe at the clock, and cost per second';
CREATE OR REPLACE VIEW yquota_internal.begun_credit AS
	SELECT quota_grant.project, sum(quota_grant.amount) AS granted
	FROM yquota.quota_grant quota_grant
	WHERE quota_grant.valid_from <= yquota.statement_clock()
	GROUP BY quota_grant.project;
COMMENT ON VIEW yquota_internal.begun_credit IS
	'Credits of the grants that have begun by the clock, expired ones included';
CREATE OR REPLACE VIEW yquota_internal.granted_credit AS
	SELECT grants.project, trim_scale(grants.granted - coalesce(expiry.lost, 0)) AS granted
	FROM yquota_internal.begun_credit grants
	LEFT JOIN (
		SELECT lost_credit.project, sum(lost_credit.lost) AS lost
		FROM yquota_internal.lost_credit
		GROUP BY lost_credit.project
	) expiry ON expiry.project = grants.project;
COMMENT ON VIEW yquota_internal.granted_credit IS
	'Credits of the grants that have begun by the clock, less what expired ones lost; no row for a project without any';
CREATE OR REPLACE VIEW yquota_internal.balance AS
	SELECT project.name AS project,
		   project.quota_mode,
		   project.on_exhausted,
		   balance.granted,
		   balance.charged,
		   balance.accrued,
		   balance.held,
		   balance.burn_rate,
		   trim_scale(balance.granted - balance.charged - balance.accrued - balance.held) AS remaining,
		   project.parent,
		   credit.project IS NOT NULL AS has_budget
	FROM yquota.project project
	LEFT JOIN yquota_internal.begun_credit credit ON credit.project = project.name
	LEFT JOIN yquota_internal.noted_loss noted ON noted.project = project.name
	LEFT JOIN yquota_internal.expiry_due due ON due.project = project.name
	LEFT JOIN yquota_internal.spending books ON books.project = project.name
	LEFT JOIN yquota_internal.held_credit holds ON holds.project = project.name
	CROSS JOIN LATERAL (
		SELECT trim_scale(coalesce(credit.granted, 0) - coalesce(noted.lost, 0)
						  -- read from the books, of the projects that are asked for
						  - CASE WHEN due.project IS NULL THEN 0
								 ELSE yquota_internal.unnoted_loss(due.project, due.until) END) AS granted,
			   coalesce(books.charged, 0) AS charged,
			   coalesce(books.accrued, 0) AS accrued,
			   coalesce(holds.held, 0) AS held,
			   coalesce(books.burn_rate, 0) AS burn_rate
		-- computed once, however often they are used above
		OFFSET 0
	) balance;
COMMENT ON VIEW yquota_internal.balance IS
	'What every project has, and what it and its descendants owe, hold and spend at the clock';
CREATE OR REPLACE FUNCTION yquota_internal.balance_of(of_project text)
	RETURNS TABLE (project text, quota_mode yquota.quota_mode, on_exhausted yquota.exhaustion_policy,
				   has_budget boolean, remaining numeric, held numeric, burn_rate numeric)
	-- of a view whose readers may not read what it is computed from
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER ROWS 1 COST 10000
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT b.project, b.quota_mode, b.on_exhausted, b.has_budget, b.remaining, b.held, b.burn_rate
	FROM yquota_internal.balance AS b
	WHERE b.project = of_project;
END
$$;
COMMENT ON FUNCTION yquota_internal.balance_of(text) IS
	'The row of balance for one project';
CREATE OR REPLACE VIEW yquota_internal.ancestor_balance AS
	SELECT family.member,
		   array_agg(family.depth) AS depths,
		   array_agg(above.project) AS projects,
		   array_agg(above.quota_mode) AS quota_modes,
		   array_agg(above.on_exhausted) AS policies,
		   array_agg(above.has_budget) AS have_budgets,
		   array_agg(above.remaining) AS remaining,
		   array_agg(above.held) AS held,
		   array_agg(above.burn_rate) AS burn_rates
	FROM yquota_internal.project_family AS family
	-- the planner takes calling a function again for free, and remembering results for dear: not so of a subquery
	CROSS JOIN LATERAL (SELECT b.* FROM yquota_internal.balance_of(family.ancestor) AS b OFFSET 0) AS above
	GROUP BY family.member;
COMMENT ON VIEW yquota_internal.ancestor_balance IS
	'balance of the ancestors of sub-projects, as arrays in one order';
CREATE OR REPLACE VIEW yquota_internal.project_credit AS
	SELECT balance.*,
		   CASE WHEN balance.parent IS NULL THEN alone.remaining ELSE line.available END AS available,
		   CASE WHEN balance.parent IS NULL THEN alone.unspent ELSE line.unspent END AS unspent,
		   CASE WHEN balance.parent IS NULL THEN alone.project ELSE line.limited_by END AS limited_by,
		   CASE WHEN balance.parent IS NULL
				THEN yquota_internal.used_up_at(yquota.statement_clock(), alone.unspent, balance.burn_rate)
				ELSE line.exhausted_at END AS exhausted_at,
		   CASE WHEN balance.parent IS NOT NULL THEN line.action
				WHEN alone.unspent <= 0 THEN balance.on_exhausted END AS action,
		   CASE WHEN balance.parent IS NULL THEN ARRAY[alone.remaining] ELSE line.limits END AS limits,
		   CASE WHEN balance.parent IS NULL THEN ARRAY[balance.on_exhausted] ELSE line.policies END AS policies
	FROM yquota_internal.balance
	LEFT JOIN yquota_internal.ancestor_balance AS ancestors ON ancestors.member = balance.project
	-- what the line of most projects says, which is of themselves alone, without its aggregates
	LEFT JOIN LATERAL (
		SELECT balance.project, balance.remaining, balance.remaining + balance.held AS unspent
	) AS alone ON balance.quota_mode <> 'NOLIMIT'
	CROSS JOIN LATERAL (
		SELECT min(l.remaining) AS available,
			   min(l.remaining + l.held) AS unspent,
			   (array_agg(l.project ORDER BY l.remaining, l.depth))[1] AS limited_by,
			   min(yquota_internal.used_up_at(yquota.statement_clock(), l.remaining + l.held, l.burn_rate)) AS exhausted_at,
			   max(l.policy) FILTER (WHERE l.remaining + l.held <= 0) AS action,
			   array_agg(l.remaining ORDER BY l.depth) AS limits,
			   array_agg(l.policy ORDER BY l.depth) AS policies
		FROM (
			SELECT up.*,
				   max(up.on_exhausted) FILTER (WHERE up.quota_mode <> 'NOLIMIT') OVER (ORDER BY up.depth) AS policy,
				   up.has_limit
				   OR NOT bool_or(up.has_limit OR up.quota_mode = 'NOLIMIT') OVER ()
					  AND up.depth = max(up.depth) OVER () AS is_limit
			FROM (
				SELECT m.*, m.has_budget AND m.quota_mode <> 'NOLIMIT' AS has_limit
				FROM (
					SELECT 0 AS depth, balance.project, balance.quota_mode, balance.on_exhausted, balance.has_budget,
						   balance.remaining, balance.held, balance.burn_rate
					WHERE balance.parent IS NOT NULL
					UNION ALL
					SELECT above.*
					FROM unnest(ancestors.depths, ancestors.projects, ancestors.quota_modes, ancestors.policies,
								ancestors.have_budgets, ancestors.remaining, ancestors.held, ancestors.burn_rates) AS above
				) AS m
			) AS up
		) AS l
		WHERE l.is_limit AND balance.quota_mode <> 'NOLIMIT'
	) AS line;
COMMENT ON VIEW yquota_internal.project_credit IS
	'balance, and what every project may spend by its own budget and those of its ancestors: project_balance for whoever asks on behalf of all';
COMMENT ON COLUMN yquota_internal.project_credit.available IS
	'credits that may still be spent: the least that remains of any budget that limits the project; NULL without limit';
COMMENT ON COLUMN yquota_internal.project_credit.unspent IS 'the same if nothing were held';
COMMENT ON COLUMN yquota_internal.project_credit.action IS
	'what decisions do when nothing is unspent; NULL when there is something';
COMMENT ON COLUMN yquota_internal.project_credit.limits IS 'credits: what remains of each budget that limits the project';
COMMENT ON COLUMN yquota_internal.project_credit.policies IS 'what decisions do when those are used up';
CREATE OR REPLACE VIEW yquota.project_balance WITH (security_barrier) AS
	SELECT credit.project,
		   credit.quota_mode,
		   credit.on_exhausted,
		   credit.granted,
		   credit.charged,
		   credit.accrued,
		   credit.held,
		   credit.remaining,
		   credit.burn_rate,
		   credit.exhausted_at,
		   credit.available,
		   credit.limited_by,
		   credit.parent
	FROM yquota_internal.project_credit credit
	WHERE (SELECT yquota_internal.reads_all())
	   OR credit.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.project_balance IS
	'What every project has, and what it and its sub-projects owe and spend, live and exact at the clock; NOLIMIT projects are charged alike';
COMMENT ON COLUMN yquota.project_balance.granted IS 'credits of the grants that have begun (quota_grant), less what was left of those that expired';
COMMENT ON COLUMN yquota.project_balance.held IS
	'credits set aside for applications and not yet spent by them (hold_status)';
COMMENT ON COLUMN yquota.project_balance.remaining IS
	'credits: granted - charged - accrued - held; may be negative, as it is in a sub-project that lives on the grants of its ancestors';
COMMENT ON COLUMN yquota.project_balance.exhausted_at IS
	'first microsecond at which all that is granted, to it or an ancestor whose budget limits it, has been spent, held or not, if burn_rate stays as it is; the clock when that has happened already, NULL when that instant never comes and for NOLIMIT projects';
COMMENT ON COLUMN yquota.project_balance.available IS
	'credits that may still be spent: the least that remains to the project and to its ancestors that have been granted something; NULL without limit';
COMMENT ON COLUMN yquota.project_balance.limited_by IS 'the project, itself or an ancestor, to which that remains';
COMMENT ON COLUMN yquota.project_balance.parent IS 'whose credit pays for it as well';
CREATE OR REPLACE VIEW yquota.exhausted_work WITH (security_barrier) AS
	SELECT credit.project,
		   credit.on_exhausted,
		   credit.action::text AS action,
		   credit.unspent AS remaining,
		   container.application_id,
		   container.container_id,
		   container.username,
		   container.queue,
		   container.node,
		   container.execution_type,
		   container.allocation,
		   container.started_at
	FROM yquota_internal.project_credit credit
	JOIN yquota.container container ON container.project = credit.project
	WHERE credit.action IN ('drain', 'stop')
	  AND ((SELECT yquota_internal.reads_all())
		   OR credit.project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON VIEW yquota.exhausted_work IS
	'Running containers of PREPAID projects without credit whose on_exhausted, or that of an ancestor without credit, is drain or stop; charging goes on until their FINISH arrives';
COMMENT ON COLUMN yquota.exhausted_work.remaining IS
	'credits of the project, or of the ancestor that limits it, that have not been spent, held or not: zero or less';
CREATE OR REPLACE VIEW yquota.container_cost WITH (security_barrier) AS
	SELECT cost.*
	FROM (
		SELECT container.container_id,
			   container.project,
			   container.application_id,
			   container.username,
			   container.queue,
			   container.node,
			   container.execution_type,
			   container.allocation,
			   container.started_at,
			   NULL::timestamptz AS finished_at,
			   NULL::integer AS exit_status,
			   live.charged,
			   live.accrued,
			   trim_scale(live.charged + live.accrued) AS cost
		FROM yquota.container container
		CROSS JOIN LATERAL (
			SELECT CASE WHEN container.charges = 0 THEN 0 ELSE (
				SELECT trim_scale(coalesce(sum(charge.amount), 0))
				FROM yquota.charge charge
				WHERE charge.container_id = container.container_id
			) END AS charged,
			yquota_internal.accrued(container.allocation, container.factors,
									container.settled_at, yquota.statement_clock()) AS accrued
			-- computed once, though used twice
			OFFSET 0
		) live
		UNION ALL
		SELECT finished.container_id,
			   finished.project,
			   finished.application_id,
			   finished.username,
			   (finished.last_segment).queue,
			   (finished.last_segment).node,
			   (finished.last_segment).execution_type,
			   (finished.last_segment).allocation,
			   finished.started_at,
			   (finished.last_segment)."to",
			   (finished.last_segment).exit_status,
			   finished.charged,
			   0::numeric,
			   finished.charged
		FROM (
			SELECT charge.container_id, charge.project, charge.application_id, charge.username,
				   charge.started_at,
				   trim_scale(sum(charge.amount)) AS charged,
				   (array_agg(charge ORDER BY charge.number DESC)
					FILTER (WHERE charge.settled_by = 'CONTAINER_FINISH'
							  AND charge.corrects IS NULL))[1] AS last_segment
			FROM yquota.charge charge
			WHERE NOT EXISTS (
				SELECT FROM yquota.container container
				WHERE container.container_id = charge.container_id
			)
			GROUP BY charge.container_id, charge.project, charge.application_id, charge.username,
					 charge.started_at
			-- not what was voided: of that, every row has been taken back
			HAVING sum(CASE WHEN charge.corrects IS NULL THEN 1 ELSE -1 END) > 0
		) finished
	) cost
	WHERE (SELECT yquota_internal.reads_all())
	   OR cost.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
CREATE OR REPLACE VIEW yquota_internal.settled_segment AS
	SELECT charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge."from", charge."to", charge.corrects, charge.amount,
		   charge.booked_at, charge.xmin AS posted_by
	FROM yquota.charge charge
	WHERE (SELECT yquota_internal.reads_all())
	   OR charge.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.settled_segment IS
	'Rows of the ledger that whoever asks may see: what settled_cost() computes a part of.  A padding row has "from" = "to"';
CREATE OR REPLACE VIEW yquota_internal.running_segment AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.execution_type,
		   container.allocation, container.factors, container.settled_at AS "from",
		   yquota.statement_clock() AS "to"
	FROM yquota.container container
	WHERE container.settled_at < yquota.statement_clock()
	  AND ((SELECT yquota_internal.reads_all())
		   OR container.project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
CREATE OR REPLACE FUNCTION yquota_internal.settled_cost(segment yquota_internal.settled_segment,
											 from_at timestamptz, to_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE WHEN (segment).corrects IS NULL THEN 1 ELSE -1 END
		* yquota_internal.accrued((segment).allocation,
			yquota_internal.factor_names((segment).project, (segment).application_id,
				(segment).username, (segment).queue, (segment).execution_type),
			greatest((segment)."from", from_at), least((segment)."to", to_at));
CREATE OR REPLACE FUNCTION yquota_internal.running_cost(segment yquota_internal.running_segment,
											 from_at timestamptz, to_at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN yquota_internal.accrued((segment).allocation, (segment).factors,
		greatest((segment)."from", from_at), least((segment)."to", to_at));
CREATE OR REPLACE VIEW yquota_internal.billed_day AS
	SELECT day.day, ends.starts_at, ends.ends_at
	FROM yquota_internal.billing_zone AS zone
	CROSS JOIN (SELECT min("from") AS first, max("to") AS last
				FROM yquota_internal.settled_segment) ledger
	CROSS JOIN LATERAL (
		SELECT yquota_internal.billing_day(ledger.first, zone.name) + number AS day
		FROM generate_series(0, yquota_internal.billing_day(ledger.last, zone.name)
								- yquota_internal.billing_day(ledger.first, zone.name)) number
	) day
	CROSS JOIN LATERAL (
		SELECT yquota_internal.billing_day_start(day.day, zone.name) AS starts_at,
			   yquota_internal.billing_day_start(day.day + 1, zone.name) AS ends_at
		-- once per day, not per row that is compared with them
		OFFSET 0
	) ends;
COMMENT ON VIEW yquota_internal.billed_day IS
	'Every date from the first to the last charge, with its ends in the time zone of bills';
CREATE OR REPLACE VIEW yquota.daily_cost WITH (security_barrier) AS
	SELECT piece.day, piece.project, piece.username, piece.queue,
		   piece.application_id, piece.execution_type,
		   trim_scale(sum(piece.amount)) AS amount
	FROM (
		SELECT billed.day, segment.project, segment.username, segment.queue,
			   segment.application_id, segment.execution_type,
			   CASE WHEN segment."from" >= billed.starts_at AND segment."to" <= billed.ends_at
					THEN segment.amount
					ELSE yquota_internal.settled_cost(segment, billed.starts_at, billed.ends_at)
			   END AS amount
		FROM yquota_internal.billed_day billed
		JOIN yquota_internal.settled_segment segment
			ON segment."from" < billed.ends_at
			AND segment."to" >= billed.starts_at
			AND (segment."to" > billed.starts_at OR segment."from" = segment."to")
		UNION ALL
		SELECT days.first + later, segment.project, segment.username, segment.queue,
			   segment.application_id, segment.execution_type,
			   yquota_internal.running_cost(segment,
				   yquota_internal.billing_day_start(days.first + later, zone.name),
				   yquota_internal.billing_day_start(days.first + later + 1, zone.name))
		FROM yquota_internal.running_segment segment
		CROSS JOIN yquota_internal.billing_zone AS zone
		CROSS JOIN LATERAL (
			SELECT yquota_internal.billing_day(segment."from", zone.name) AS first,
				   yquota_internal.billing_day(
					   greatest(segment."from", segment."to" - interval '1 microsecond'), zone.name) AS last
		) days
		CROSS JOIN LATERAL generate_series(0, days.last - days.first) later
	) piece
	-- of days before, part has been archived
	WHERE piece.day >= (
		SELECT coalesce(yquota_internal.billing_day(max(stretch.horizon) - interval '1 microsecond',
													(SELECT zone.name FROM yquota_internal.billing_zone AS zone)) + 1, '-infinity')
		FROM yquota.history_stretch stretch)
	GROUP BY piece.day, piece.project, piece.username, piece.queue,
			 piece.application_id, piece.execution_type;
COMMENT ON VIEW yquota.daily_cost IS
	'Costs per day of the time zone of bills, split exactly at its midnights, running containers up to the clock, from the first day after the archive horizon on.  Ask with a day: otherwise it reads the whole ledger.  cost_between() answers for one day faster';
COMMENT ON COLUMN yquota.daily_cost.day IS 'date in the time zone of bills; 23 or 25 hours long when clocks change';
CREATE OR REPLACE VIEW yquota.queue_usage AS
	SELECT part.queue, part.label, part.username, part.execution_type,
		   sum(part.containers)::bigint AS containers,
		   yquota.sum(part.allocation) AS allocation
	FROM (
		SELECT counter.queue, counter.label, counter.username, counter.execution_type,
			   counter.containers, counter.allocation
		FROM yquota_internal.usage_counter counter
		UNION ALL
		SELECT delta.queue, delta.label, delta.username, delta.execution_type,
			   delta.containers, delta.allocation
		FROM yquota_internal.counter_delta delta
		WHERE delta.scope IN ('a', 'u')
	) part
	GROUP BY part.queue, part.label, part.username, part.execution_type
	HAVING sum(part.containers) <> 0;
CREATE OR REPLACE VIEW yquota.node_usage AS
	SELECT coalesce(node.name, held.node) AS node,
		   node.rack,
		   node.label,
		   node.state,
		   node.total,
		   coalesce(held.guaranteed, '[]') AS guaranteed,
		   coalesce(held.opportunistic, '[]') AS opportunistic,
		   node.total OPERATOR(yquota.-) coalesce(held.allocation, '[]') AS available,
		   coalesce(held.containers, 0) AS containers
	FROM yquota.node node
	FULL JOIN (
		SELECT part.node,
			   sum(part.containers)::bigint AS containers,
			   yquota.sum(part.allocation) AS allocation,
			   yquota.sum(part.allocation) FILTER (WHERE part.execution_type = 'GUARANTEED') AS guaranteed,
			   yquota.sum(part.allocation) FILTER (WHERE part.execution_type = 'OPPORTUNISTIC') AS opportunistic
		FROM (
			SELECT counter.node, counter.execution_type, counter.containers, counter.allocation
			FROM yquota_internal.node_counter counter
			UNION ALL
			SELECT delta.node, delta.execution_type, delta.containers, delta.allocation
			FROM yquota_internal.counter_delta delta
			WHERE delta.scope IN ('a', 'n') AND delta.node IS NOT NULL
		) part
		GROUP BY part.node
		HAVING sum(part.containers) <> 0
	) held ON held.node = node.name;
CREATE OR REPLACE VIEW yquota.project_usage WITH (security_barrier) AS
	SELECT class.project,
		   yquota.sum(class.shape OPERATOR(yquota.*) class.weight::bigint) AS allocation
	FROM yquota_internal.rate_class class
	WHERE (SELECT yquota_internal.reads_all())
	   OR class.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	GROUP BY class.project;
CREATE TABLE yquota_internal.active_leaf (
	queue yquota.queue_path NOT NULL,
	label text COLLATE "C" NOT NULL,
	PRIMARY KEY (queue, label)
);
COMMENT ON TABLE yquota_internal.active_leaf IS
	'Leaves of managed parents that have the capacity of their template, per label; all others have none guaranteed';
COMMENT ON COLUMN yquota_internal.active_leaf.label IS 'partition of the nodes; empty for the default one';
CREATE OR REPLACE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.active_leaf
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE OR REPLACE TRIGGER signal_truncate AFTER TRUNCATE ON yquota_internal.active_leaf
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TABLE yquota_internal.created_queue (
	queue yquota.queue_path PRIMARY KEY,
	last_used_at timestamptz NOT NULL,
	is_marked boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
CREATE INDEX created_queue_marked_idx ON yquota_internal.created_queue (queue) WHERE is_marked;
COMMENT ON TABLE yquota_internal.created_queue IS
	'Queues that were created below parents with auto-queue-creation-v2.enabled, and what is known of their use';
COMMENT ON COLUMN yquota_internal.created_queue.last_used_at IS
	'yquota''s clock when an application was submitted, or a queue created below it; up to a tenth of the expiration time too early';
COMMENT ON COLUMN yquota_internal.created_queue.is_marked IS 'whether it was found empty by the last pass';
CREATE OR REPLACE FUNCTION yquota.create_queue(path text) RETURNS SETOF text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_create_queue';
COMMENT ON FUNCTION yquota.create_queue(text) IS
	'Creates a leaf, and parents that it lacks, as a submission to it would; returns the paths of what was created, none if the queue is there';
REVOKE ALL ON FUNCTION yquota.create_queue(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.manage_queues() RETURNS TABLE (queue text, label text, active boolean)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_manage_queues';
COMMENT ON FUNCTION yquota.manage_queues() IS
	'Takes the guarantee of leaves of managed parents that have no applications, and gives it to those that have some; returns what it changed.  The worker does it when QueueManagementDynamicEditPolicy is in force';
REVOKE ALL ON FUNCTION yquota.manage_queues() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.remove_unused_queues() RETURNS SETOF text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_remove_unused_queues';
COMMENT ON FUNCTION yquota.remove_unused_queues() IS
	'Marks automatically created queues of the second generation that are empty, and removes those that were marked and have been idle for longer than the expiration time; returns the paths of these.  The worker does it when AutoCreatedQueueDeletionPolicy is in force';
REVOKE ALL ON FUNCTION yquota.remove_unused_queues() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.queue_policy_intervals(OUT manage_interval_ms bigint, OUT removal_interval_ms bigint)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT max(CASE WHEN p.policy ~ E'(^|\\.)QueueManagementDynamicEditPolicy$'
				   THEN coalesce(s.queue_management_monitoring_interval, 1500) END),
			   max(CASE WHEN p.policy ~ E'(^|\\.)AutoCreatedQueueDeletionPolicy$'
				   THEN coalesce(s.auto_queue_creation_v2_queue_expiration_time, 300) * 1000 END)
		FROM yquota.scheduler_setting AS s
		CROSS JOIN unnest(s.scheduler_monitor_policies) AS p (policy)
		WHERE s.scheduler_monitor_enable;
	END;
COMMENT ON FUNCTION yquota_internal.queue_policy_intervals() IS
	'Milliseconds between two runs of manage_queues() and of remove_unused_queues() that the configuration asks for';
REVOKE ALL ON FUNCTION yquota_internal.queue_policy_intervals() FROM PUBLIC;
SELECT pg_extension_config_dump('yquota_internal.active_leaf', '');
SELECT pg_extension_config_dump('yquota_internal.created_queue', '');
CREATE TABLE yquota.spending_threshold (
	project text COLLATE "C" REFERENCES yquota.project ON DELETE CASCADE,
	fraction numeric NOT NULL CHECK (fraction > 0 AND fraction <= 1000 AND scale(fraction) <= 6),
	UNIQUE NULLS NOT DISTINCT (project, fraction)
);
COMMENT ON TABLE yquota.spending_threshold IS
	'Fractions of what was granted at which an alert is raised and channel yquota notified; without a row 0.5, 0.8 and 1 for every project';
COMMENT ON COLUMN yquota.spending_threshold.project IS
	'whose thresholds they are, instead of those for all; NULL: of all projects without rows of their own';
COMMENT ON COLUMN yquota.spending_threshold.fraction IS
	'of what was granted and has not expired: crossed when what was spent of that reaches it';
CREATE OR REPLACE VIEW yquota_internal.project_threshold AS
	SELECT own.project, own.fraction
	FROM yquota.spending_threshold AS own
	WHERE own.project IS NOT NULL
	UNION ALL
	SELECT project.name, common.fraction
	FROM yquota.project
	CROSS JOIN (
		SELECT every.fraction FROM yquota.spending_threshold AS every WHERE every.project IS NULL
		UNION ALL
		SELECT shipped.fraction FROM (VALUES (0.5), (0.8), (1)) AS shipped (fraction)
		WHERE NOT EXISTS (SELECT FROM yquota.spending_threshold AS every WHERE every.project IS NULL)
	) AS common
	WHERE NOT EXISTS (SELECT FROM yquota.spending_threshold AS own WHERE own.project = project.name);
COMMENT ON VIEW yquota_internal.project_threshold IS
	'The thresholds in force for each project';
CREATE OR REPLACE VIEW yquota_internal.spent_of_expired_grants AS
	SELECT given.project, sum(given.amount - expired.lost) AS spent
	FROM yquota_internal.lost_credit AS expired
	JOIN yquota.quota_grant AS given ON given.grant_id = expired.grant_id
	GROUP BY given.project;
COMMENT ON VIEW yquota_internal.spent_of_expired_grants IS
	'Credits that projects spent of grants which have expired by the clock';
CREATE OR REPLACE VIEW yquota_internal.crossed_threshold AS
	SELECT project.name AS project,
		   threshold.fraction,
		   threshold.fraction >= 1 AND project.quota_mode = 'PREPAID' AND project.on_exhausted <> 'allow' AS hard,
		   -- an index holds it, which takes no name of any length
		   concat(left(project.name, 600), ' ', trim_scale(threshold.fraction * 100), ' %') AS subject,
		   balance.granted,
		   balance.spent
	FROM yquota_internal.granted_credit AS credit
	JOIN yquota.project ON project.name = credit.project
	LEFT JOIN yquota_internal.spending ON spending.project = credit.project
	LEFT JOIN yquota_internal.spent_of_expired_grants AS expired ON expired.project = credit.project
	-- computed once for all thresholds
	CROSS JOIN LATERAL (
		SELECT trim_scale(credit.granted - coalesce(expired.spent, 0)) AS granted,
			   trim_scale(coalesce(spending.charged + spending.accrued, 0) - coalesce(expired.spent, 0)) AS spent
		OFFSET 0
	) AS balance
	JOIN yquota_internal.project_threshold AS threshold
		ON threshold.project = project.name AND balance.spent >= threshold.fraction * balance.granted;
COMMENT ON VIEW yquota_internal.crossed_threshold IS
	'Thresholds that spending has reached by the clock; of projects that have been granted something.  What expired grants paid for is left out of both, spent and granted';
CREATE OR REPLACE FUNCTION yquota_internal.crossed_thresholds() RETURNS SETOF yquota_internal.crossed_threshold
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED ROWS 1000
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN QUERY SELECT crossed.* FROM yquota_internal.crossed_threshold AS crossed;
END
$$;
COMMENT ON FUNCTION yquota_internal.crossed_thresholds() IS 'The rows of crossed_threshold';
REVOKE ALL ON FUNCTION yquota_internal.crossed_thresholds() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.note_crossings(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- nearly always nothing has been crossed, which the planner cannot know
	SET jit = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found bigint;
BEGIN
	-- what others have told could not be seen: the worker does it next time
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		RETURN 0;
	END IF;
	-- one at a time; whoever changes or reads thresholds goes on
	LOCK TABLE yquota.spending_threshold IN SHARE UPDATE EXCLUSIVE MODE;
	WITH crossed AS MATERIALIZED (
		SELECT c.* FROM yquota_internal.crossed_thresholds() AS c
	), below AS (
		UPDATE yquota.alert SET cleared_at = now_at
		WHERE alert.kind = 'spending_threshold' AND alert.cleared_at IS NULL
		  AND NOT EXISTS (SELECT FROM crossed WHERE crossed.subject = alert.subject)
	), raised AS (
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		SELECT 'spending_threshold', crossed.subject,
			   concat(CASE WHEN crossed.granted = 0 AND crossed.spent = 0
						   THEN format('All that was granted to project "%s" has expired or been taken back.', crossed.project)
						   ELSE format('Project "%s" has spent %s of the %s credits granted to it.',
									   crossed.project, round(crossed.spent, 2), round(crossed.granted, 2)) END,
					  CASE WHEN crossed.hard THEN format(' Its on_exhausted is %s.', project.on_exhausted) END),
			   now_at
		FROM crossed JOIN yquota.project ON project.name = crossed.project
		-- what has been told: nearly all of it
		WHERE NOT EXISTS (SELECT FROM yquota.alert AS open
						  WHERE open.kind = 'spending_threshold' AND open.cleared_at IS NULL
							AND open.subject = crossed.subject)
		ORDER BY crossed.project, crossed.fraction
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING
		RETURNING alert_id, subject
	), message AS (
		SELECT raised.alert_id,
			   jsonb_build_object(
				   'alert_id', raised.alert_id, 'kind', 'spending_threshold', 'project', crossed.project,
				   'threshold', trim_scale(crossed.fraction), 'hard', crossed.hard,
				   'spent', crossed.spent, 'granted', crossed.granted,
				   'remaining', trim_scale(crossed.granted - crossed.spent - coalesce(
					   (SELECT holds.held FROM yquota_internal.held_credit AS holds
						WHERE holds.project = crossed.project), 0)),
				   'at', now_at) AS payload
		FROM raised JOIN crossed ON crossed.subject = raised.subject
	), told AS MATERIALIZED (
		-- the longest that NOTIFY carries; alert_id leads to the name
		SELECT pg_notify('yquota', CASE WHEN octet_length(message.payload::text) < 8000 THEN message.payload
										ELSE message.payload - 'project' END::text)
		FROM (SELECT * FROM message ORDER BY message.alert_id) AS message
	)
	SELECT count(told) INTO found FROM told;
	RETURN found;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_crossings(timestamptz) IS
	'Raise an alert and notify channel yquota for every threshold crossed since it was last looked at; clear alerts of those that spending is below again.  Returns how many were crossed';
REVOKE ALL ON FUNCTION yquota_internal.note_crossings(timestamptz) FROM PUBLIC;
SELECT pg_extension_config_dump('yquota.spending_threshold', '');
CREATE TYPE yquota.application_state AS ENUM
	('NON_RUNNABLE', 'ACCEPTED', 'ACTIVE', 'FINISHED', 'FAILED', 'KILLED', 'REJECTED');
COMMENT ON TYPE yquota.application_state IS
	'Where an application stands: held by max-parallel-apps (NON_RUNNABLE), waiting for its application master to fit in (ACCEPTED), allowed to start (ACTIVE), over (FINISHED, FAILED, KILLED), never let in (REJECTED)';
CREATE TABLE yquota.application (
	application_id text COLLATE "C" PRIMARY KEY CHECK (application_id <> '' AND octet_length(application_id) <= 255),
	username text COLLATE "C" NOT NULL CHECK (username <> '' AND octet_length(username) <= 255),
	groups text[] COLLATE "C",
	real_username text COLLATE "C",
	application_name text,
	tags text[],
	submitted_queue text COLLATE "C",
	queue text COLLATE "C",
	label text COLLATE "C" NOT NULL DEFAULT '',
	node_label_expression text COLLATE "C",
	project text COLLATE "C",
	am_resource yquota.resource NOT NULL,
	unmanaged boolean NOT NULL DEFAULT false,
	priority integer NOT NULL,
	lifetime bigint CHECK (lifetime > 0),
	state yquota.application_state NOT NULL,
	has_outstanding_requests boolean NOT NULL DEFAULT true,
	view_acl text,
	modify_acl text,
	submitted_at timestamptz NOT NULL,
	activated_at timestamptz,
	expires_at timestamptz,
	finished_at timestamptz,
	diagnostics text,
	CHECK (queue IS NOT NULL OR state = 'REJECTED'),
	CHECK ((finished_at IS NOT NULL) = (state IN ('FINISHED', 'FAILED', 'KILLED', 'REJECTED')))
);
CREATE INDEX application_live_idx ON yquota.application (queue, state, username)
	WHERE finished_at IS NULL;
CREATE INDEX application_held_username_idx ON yquota.application (username) WHERE state = 'NON_RUNNABLE';
CREATE INDEX application_held_queue_idx ON yquota.application (queue) WHERE state = 'NON_RUNNABLE';
CREATE INDEX application_waiting_memory_idx ON yquota.application (queue, label, yquota.amount(am_resource, 'memory-mb'))
	WHERE state = 'ACCEPTED';
CREATE INDEX application_waiting_vcores_idx ON yquota.application (queue, label, yquota.amount(am_resource, 'vcores'))
	WHERE state = 'ACCEPTED';
CREATE INDEX application_expires_at_idx ON yquota.application (expires_at) WHERE finished_at IS NULL;
CREATE INDEX application_finished_at_idx ON yquota.application (finished_at) WHERE finished_at IS NOT NULL;
COMMENT ON TABLE yquota.application IS
	'Applications that were submitted, and what became of them; written by submit_application() and its kin';
COMMENT ON COLUMN yquota.application.groups IS 'of the user, the primary one first; NULL when they are not known';
COMMENT ON COLUMN yquota.application.real_username IS 'who acts for the user; NULL: nobody';
COMMENT ON COLUMN yquota.application.submitted_queue IS 'as named by whoever submitted it';
COMMENT ON COLUMN yquota.application.queue IS 'full path of the leaf; NULL when none was found';
COMMENT ON COLUMN yquota.application.label IS 'partition of the nodes that the application master asks for; empty for the default one';
COMMENT ON COLUMN yquota.application.node_label_expression IS 'label that the submission names for all its containers: of those for which none is asked for, and of the application in the order fifo-with-partitions; NULL: none';
COMMENT ON COLUMN yquota.application.project IS 'who pays; NULL: nobody was named';
COMMENT ON COLUMN yquota.application.am_resource IS 'of the application master, native units, in whole steps of the minimum allocation';
COMMENT ON COLUMN yquota.application.unmanaged IS 'whether its application master runs outside of the cluster';
COMMENT ON COLUMN yquota.application.priority IS 'larger comes first';
COMMENT ON COLUMN yquota.application.lifetime IS 'seconds from its submission; NULL: no limit';
COMMENT ON COLUMN yquota.application.has_outstanding_requests IS 'whether it waits for containers, and so makes its user an active one of the queue; who had none that had started when it was submitted is made one when it asks anew';
COMMENT ON COLUMN yquota.application.view_acl IS 'who else may see it: users, a blank, groups';
COMMENT ON COLUMN yquota.application.modify_acl IS 'who else may change or end it, written likewise';
COMMENT ON COLUMN yquota.application.activated_at IS 'when it was let start; NULL: not yet';
COMMENT ON COLUMN yquota.application.expires_at IS 'submitted_at and its lifetime; NULL: never';
COMMENT ON COLUMN yquota.application.diagnostics IS 'what it waits for or why it was refused or ended, in words';
CREATE TABLE yquota_internal.application_counter (
	queue text COLLATE "C" NOT NULL,
	username text COLLATE "C" NOT NULL,
	label text COLLATE "C" NOT NULL,
	non_runnable integer NOT NULL CHECK (non_runnable >= 0),
	accepted integer NOT NULL CHECK (accepted >= 0),
	active integer NOT NULL CHECK (active >= 0),
	demanding integer NOT NULL CHECK (demanding >= 0),
	am_used yquota.resource NOT NULL,
	PRIMARY KEY (queue, username, label)
) WITH (fillfactor = 50);
CREATE INDEX application_counter_username_idx ON yquota_internal.application_counter (username);
COMMENT ON TABLE yquota_internal.application_counter IS
	'How many applications of a user a leaf queue has, per partition of their application masters; follows from application';
COMMENT ON COLUMN yquota_internal.application_counter.label IS 'partition of the application masters';
COMMENT ON COLUMN yquota_internal.application_counter.demanding IS 'those of all three that have outstanding requests';
COMMENT ON COLUMN yquota_internal.application_counter.am_used IS 'of the application masters of active ones, native units';
CREATE TABLE yquota_internal.application_total (
	part integer PRIMARY KEY,
	live bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.application_total IS
	'How many live applications there are, in parts to be added up: transactions at work at the same time change different ones; follows from application';
COMMENT ON COLUMN yquota_internal.application_total.live IS
	'those that came less those that went, by transactions that took this part; may be negative';
CREATE OR REPLACE FUNCTION yquota_internal.count_applications() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_count_applications';
COMMENT ON FUNCTION yquota_internal.count_applications() IS
	'Keeps application_counter and application_total';
REVOKE ALL ON FUNCTION yquota_internal.count_applications() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.unwritten_applications() RETURNS bigint
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_unwritten_applications';
COMMENT ON FUNCTION yquota_internal.unwritten_applications() IS
	'What this transaction will add to application_total when it commits';
REVOKE ALL ON FUNCTION yquota_internal.unwritten_applications() FROM PUBLIC;
CREATE OR REPLACE TRIGGER count_applications AFTER INSERT OR UPDATE OR DELETE ON yquota.application
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.count_applications();
CREATE OR REPLACE TRIGGER count_no_applications AFTER TRUNCATE ON yquota.application
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.count_applications();
SELECT pg_extension_config_dump('yquota.application', '');
SELECT pg_extension_config_dump('yquota_internal.application_counter', '');
SELECT pg_extension_config_dump('yquota_internal.application_total', '');
CREATE OR REPLACE FUNCTION yquota.submit_application(
	application_id text, username text, groups text[], queue text DEFAULT 'default',
	application_name text DEFAULT NULL, am_resource yquota.resource DEFAULT NULL,
	priority integer DEFAULT NULL, lifetime bigint DEFAULT NULL, tags text[] DEFAULT NULL,
	label text DEFAULT NULL, unmanaged boolean DEFAULT false, project text DEFAULT NULL,
	real_username text DEFAULT NULL, view_acl text DEFAULT NULL, modify_acl text DEFAULT NULL,
	node_label_expression text DEFAULT NULL,
	OUT application_id text, OUT queue text, OUT priority integer, OUT lifetime bigint,
	OUT state yquota.application_state, OUT activated boolean, OUT decided_by text, OUT decided_at text,
	OUT used bigint, OUT maximum bigint, OUT used_resource yquota.resource,
	OUT maximum_resource yquota.resource, OUT reason text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_submit_application';
COMMENT ON FUNCTION yquota.submit_application(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text) IS
	'Submit an application: where it goes, with which priority and lifetime (seconds), whether it is let in, has to wait or may start (activated), and which limit or rule decided otherwise, with its figures.  It is recorded in application, also when it is refused; an id that was refused may be submitted again';
REVOKE ALL ON FUNCTION yquota.submit_application(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.admission(
	application_id text, username text, groups text[], queue text DEFAULT 'default',
	application_name text DEFAULT NULL, am_resource yquota.resource DEFAULT NULL,
	priority integer DEFAULT NULL, lifetime bigint DEFAULT NULL, tags text[] DEFAULT NULL,
	label text DEFAULT NULL, unmanaged boolean DEFAULT false, project text DEFAULT NULL,
	real_username text DEFAULT NULL, view_acl text DEFAULT NULL, modify_acl text DEFAULT NULL,
	node_label_expression text DEFAULT NULL,
	OUT application_id text, OUT queue text, OUT priority integer, OUT lifetime bigint,
	OUT state yquota.application_state, OUT activated boolean, OUT decided_by text, OUT decided_at text,
	OUT used bigint, OUT maximum bigint, OUT used_resource yquota.resource,
	OUT maximum_resource yquota.resource, OUT reason text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_admission';
COMMENT ON FUNCTION yquota.admission(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text) IS
	'What submit_application() would answer now, without submitting anything';
REVOKE ALL ON FUNCTION yquota.admission(text, text, text[], text, text, yquota.resource, integer, bigint, text[], text, boolean, text, text, text, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.finish_application(
	application_id text, state yquota.application_state DEFAULT 'FINISHED', diagnostics text DEFAULT NULL,
	caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS yquota.application_state
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_finish_application';
COMMENT ON FUNCTION yquota.finish_application(text, yquota.application_state, text, text, text[]) IS
	'End an application: FINISHED, FAILED or KILLED; one that is over stays as it is.  Applications that waited for its place go on.  caller, if given, must be allowed to.  Returns the state it has';
REVOKE ALL ON FUNCTION yquota.finish_application(text, yquota.application_state, text, text, text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.move_application(
	application_id text, queue text, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS yquota.application_state
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_move_application';
COMMENT ON FUNCTION yquota.move_application(text, text, text, text[]) IS
	'Move an application to another leaf queue, whose limits and lists have to allow it; its application master needs room there anew.  Returns the state it has then.  What its containers hold stays with the queue that events name, until they name the new one';
REVOKE ALL ON FUNCTION yquota.move_application(text, text, text, text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.update_application_priority(
	application_id text, priority integer, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS integer
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_update_application_priority';
COMMENT ON FUNCTION yquota.update_application_priority(text, integer, text, text[]) IS
	'Change the priority of an application, if the queue''s list allows it to the caller (or the owner); returns what it is then, at most the cluster''s maximum';
REVOKE ALL ON FUNCTION yquota.update_application_priority(text, integer, text, text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.update_application_lifetime(
	application_id text, lifetime bigint, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS timestamptz
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_update_application_lifetime';
COMMENT ON FUNCTION yquota.update_application_lifetime(text, bigint, text, text[]) IS
	'Let an application live so many seconds from now, though not beyond the queue''s maximum, which counts from its submission; returns when it expires';
REVOKE ALL ON FUNCTION yquota.update_application_lifetime(text, bigint, text, text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.set_outstanding_requests(application_id text, has_outstanding_requests boolean)
	RETURNS boolean
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_set_outstanding_requests';
COMMENT ON FUNCTION yquota.set_outstanding_requests(text, boolean) IS
	'Say whether an application waits for containers, which makes its user an active one of the queue; returns whether that is news';
REVOKE ALL ON FUNCTION yquota.set_outstanding_requests(text, boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.activate_applications(queue text DEFAULT NULL)
	RETURNS TABLE (application_id text, queue text, state yquota.application_state)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_activate_applications';
COMMENT ON FUNCTION yquota.activate_applications(text) IS
	'Look again whether waiting applications of a leaf queue may start, as after a change of the cluster; without an argument in all queues, and at what max-parallel-apps hold, too.  Returns those that may';
REVOKE ALL ON FUNCTION yquota.activate_applications(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.expired_applications()
	RETURNS TABLE (application_id text, username text, queue text, expires_at timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT a.application_id, a.username, a.queue, a.expires_at
		FROM yquota.application AS a
		WHERE a.finished_at IS NULL AND a.expires_at <= yquota.statement_clock()
		ORDER BY a.expires_at, a.application_id;
	END;
COMMENT ON FUNCTION yquota.expired_applications() IS
	'Applications that have lived as long as they may: the resource manager kills them';
REVOKE ALL ON FUNCTION yquota.expired_applications() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.remove_finished_applications(before timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH removed AS (
			DELETE FROM yquota.application AS a WHERE a.finished_at < before RETURNING 1)
		SELECT count(*) FROM removed;
	END;
COMMENT ON FUNCTION yquota.remove_finished_applications(timestamptz) IS
	'Forget applications that ended, or were refused, before an instant; returns how many';
REVOKE ALL ON FUNCTION yquota.remove_finished_applications(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.check_application_access(
	application_id text, caller text, caller_groups text[], operation text,
	OUT allowed boolean, OUT decided_by text, OUT reason text)
	LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_check_application_access';
COMMENT ON FUNCTION yquota.check_application_access(text, text, text[], text) IS
	'May a user see (VIEW_APP) or change and end (MODIFY_APP) an application?  Its owner, whom its list has, yarn.admin.acl, and who administers its queue, whose path is returned when that decided';
REVOKE ALL ON FUNCTION yquota.check_application_access(text, text, text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.user_limit(queue text, username text, label text DEFAULT '',
								  ignore_exclusivity boolean DEFAULT false,
								  OUT resource_limit yquota.resource, OUT used yquota.resource,
								  OUT may_be_assigned boolean, OUT weight real, OUT is_active boolean,
								  OUT usage_ratio real, OUT consumed yquota.resource,
								  OUT current_capacity yquota.resource, OUT minimum_share yquota.resource,
								  OUT maximum yquota.resource,
								  OUT active_users integer, OUT active_weights real,
								  OUT active_capacity yquota.resource, OUT active_share yquota.resource,
								  OUT active_limit yquota.resource,
								  OUT all_users_limit yquota.resource, OUT all_users integer,
								  OUT all_weights real, OUT all_capacity yquota.resource,
								  OUT all_share yquota.resource, OUT all_limit yquota.resource)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_user_limit';
COMMENT ON FUNCTION yquota.user_limit(text, text, text, boolean) IS
	'How much a user may use of a leaf queue on a label, which depends on who else wants containers there, with the figures that lead to it';
REVOKE ALL ON FUNCTION yquota.user_limit(text, text, text, boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.headroom(application_id text, label text DEFAULT NULL,
								OUT queue text, OUT username text, OUT partition text,
								OUT user_limit yquota.resource, OUT user_used yquota.resource,
								OUT queue_limit yquota.resource, OUT queue_used yquota.resource,
								OUT total yquota.resource, OUT free yquota.resource,
								OUT headroom yquota.resource)
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_headroom';
COMMENT ON FUNCTION yquota.headroom(text, text) IS
	'What is left to a live application on a label (NULL: that of its application master): of its user''s limit, its queue''s and the partition';
REVOKE ALL ON FUNCTION yquota.headroom(text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.configuration_advice()
	RETURNS TABLE (queue text, property text, value text, advice text)
	LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 100
	AS 'MODULE_PATHNAME', 'yq_sql_configuration_advice';
COMMENT ON FUNCTION yquota.configuration_advice() IS
	'What is unwise in the configuration of queues, although Hadoop accepts it: queue (NULL for what is set once), Hadoop''s property, its value and why';
REVOKE ALL ON FUNCTION yquota.configuration_advice() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.note_advice() RETURNS trigger
	LANGUAGE c
	AS 'MODULE_PATHNAME', 'yq_sql_note_advice';
COMMENT ON FUNCTION yquota_internal.note_advice() IS
	'Has the check at commit warn of what is unwise in rows that a transaction has changed; argument: the column with the path of the queue';
REVOKE ALL ON FUNCTION yquota_internal.note_advice() FROM PUBLIC;
CREATE OR REPLACE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue
	FOR EACH ROW WHEN (NOT NEW.auto_created) EXECUTE FUNCTION yquota_internal.note_advice('path');
CREATE OR REPLACE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue_label
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice('queue');
CREATE OR REPLACE TRIGGER note_advice AFTER INSERT OR UPDATE ON yquota.queue_user
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_advice('queue');
CREATE OR REPLACE TRIGGER note_advice AFTER INSERT OR UPDATE OR DELETE ON yquota.mapping_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_advice();
CREATE OR REPLACE TRIGGER note_advice AFTER INSERT OR UPDATE OR DELETE ON yquota.scheduler_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_advice();
CREATE OR REPLACE FUNCTION yquota_internal.administers(
	username text, groups text[], queue text, unset_is_everybody boolean)
	RETURNS boolean
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_administers';
COMMENT ON FUNCTION yquota_internal.administers(text, text[], text, boolean) IS
	'Whether somebody may administer a queue, also one that is yet to be created, or by yarn.admin.acl everything (NULL); asked whether ACLs are on or not.  unset_is_everybody: as Hadoop has it; otherwise a list that is not set is nobody';
REVOKE ALL ON FUNCTION yquota_internal.administers(text, text[], text, boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_mutation(detail text) RETURNS void
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
	'The error for a request that cannot be read';
CREATE OR REPLACE FUNCTION yquota_internal.json_list(value jsonb) RETURNS SETOF jsonb
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	BEGIN ATOMIC
		SELECT e.element
		FROM jsonb_array_elements(CASE jsonb_typeof(value) WHEN 'array' THEN value WHEN 'null' THEN '[]' ELSE jsonb_build_array(value) END)
			WITH ORDINALITY AS e (element, number)
		WHERE value IS NOT NULL
		ORDER BY e.number;
	END;
COMMENT ON FUNCTION yquota_internal.json_list(jsonb) IS
	'Elements of an array, or the one value that stands where there might be several';
CREATE OR REPLACE FUNCTION yquota_internal.mutation_parameters(parameters jsonb, place text) RETURNS jsonb
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
			-- XML's way to write a map, which Hadoop's JSON follows
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
		-- an empty value is none
		SELECT result || coalesce(jsonb_object_agg(e.key, nullif(e.value, '')), '{}') INTO result FROM jsonb_each_text(element) AS e;
	END LOOP;
	RETURN result;
END
$$;
COMMENT ON FUNCTION yquota_internal.mutation_parameters(jsonb, text) IS
	'Names and values of a request as one object: null removes.  place: what they are of, for errors';
CREATE OR REPLACE FUNCTION yquota_internal.mutation_steps(changes jsonb)
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
		PERFORM yquota_internal.refuse_mutation('It is not an object.');
	END IF;
	SELECT min(k) INTO wrong FROM jsonb_object_keys(request) AS k
	WHERE k NOT IN ('remove-queue', 'add-queue', 'update-queue', 'global-updates');
	IF wrong IS NOT NULL THEN
		PERFORM yquota_internal.refuse_mutation(format('It has a field "%s".', wrong));
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
	'What a request asks for, in the order in which Hadoop does it';
CREATE OR REPLACE FUNCTION yquota_internal.check_mutation(
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
	-- classes of the resource manager's own are not known here, and let nobody else
	IF (NOT by_queue OR has_global_updates)
		AND NOT yquota_internal.administers(username, groups, NULL, unset_is_everybody)
	THEN
		refused := format('yarn.admin.acl has neither user "%s" nor a group of his.', username);
	ELSIF by_queue THEN
		SELECT format('acl_administer_queue of %s and of the queues above it has neither user "%s" nor a group of his.', min(q), username)
		INTO refused
		FROM unnest(queues) AS q
		WHERE NOT yquota_internal.administers(username, groups, q, unset_is_everybody)
		HAVING count(*) > 0;
	END IF;
	IF refused IS NOT NULL THEN
		RAISE EXCEPTION 'User % is not admin of all modified queues.', username
			USING ERRCODE = 'insufficient_privilege', DETAIL = refused,
				HINT = CASE WHEN by_queue THEN 'To change what is set once takes yarn.admin.acl, to change a queue its list or that of one above it.'
					ELSE 'Administrators of queues may change them if yarn.scheduler.configuration.mutation.acl-policy.class is QueueAdminConfigurationMutationACLPolicy.' END;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_mutation(text[], boolean, text, text[], boolean) IS
	'Refuses whom the policy of changes does not let: only yarn.admin.acl, or for queues whoever may administer them; a queue that does not exist belongs to those of the nearest one above it';
REVOKE ALL ON FUNCTION yquota_internal.check_mutation(text[], boolean, text, text[], boolean) FROM PUBLIC;
CREATE TYPE yquota_internal.hadoop_edit AS (
	removed text[],
	edits jsonb
);
COMMENT ON TYPE yquota_internal.hadoop_edit IS
	'A change of Hadoop''s properties.  removed: beginnings of names of those that go; edits: names and values of those that are set, null for those that go; edits win';
CREATE OR REPLACE FUNCTION yquota_internal.edited_children(edit yquota_internal.hadoop_edit, parent text) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN yquota_internal.hadoop_list(CASE
		WHEN (edit).edits ? format('yarn.scheduler.capacity.%s.queues', parent) THEN
			coalesce((edit).edits ->> format('yarn.scheduler.capacity.%s.queues', parent), '')
		WHEN EXISTS (SELECT FROM unnest((edit).removed) AS r WHERE format('yarn.scheduler.capacity.%s.', parent) ^@ r) THEN ''
		ELSE coalesce((SELECT string_agg(q.name, ',' ORDER BY q.position, q.path::text) FROM yquota.queue AS q
					   WHERE q.parent = edited_children.parent AND NOT q.auto_created),
					  (SELECT k.value FROM yquota.kept_property AS k
					   WHERE k.property = format('yarn.scheduler.capacity.%s.queues', parent)), '') END);
COMMENT ON FUNCTION yquota_internal.edited_children(yquota_internal.hadoop_edit, text) IS
	'Names of the queues below one as a change has them so far';
CREATE OR REPLACE FUNCTION yquota_internal.edit_children(edit yquota_internal.hadoop_edit, parent text, children text[]) RETURNS jsonb
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN (edit).edits
		|| jsonb_build_object(format('yarn.scheduler.capacity.%s.queues', parent), nullif(array_to_string(children, ','), ''))
		-- a leaf that becomes a parent, or a parent that becomes a leaf: the property
		-- has another meaning then
		|| CASE WHEN cardinality(children) = 0 OR cardinality(yquota_internal.edited_children(edit, parent)) = 0
			THEN jsonb_build_object(format('yarn.scheduler.capacity.%s.ordering-policy', parent), NULL) ELSE '{}' END;
COMMENT ON FUNCTION yquota_internal.edit_children(yquota_internal.hadoop_edit, text, text[]) IS
	'The edits of a change that gives a queue other children';
CREATE OR REPLACE FUNCTION yquota_internal.assemble_mutation(changes jsonb) RETURNS yquota_internal.hadoop_edit
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
									 THEN 'It was created automatically, and is in no configuration.'
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
	'The change of properties that a request comes to';
CREATE TYPE yquota_internal.hadoop_change AS (
	property text,
	value text,
	old text,
	resolution yquota_internal.hadoop_resolution
);
COMMENT ON TYPE yquota_internal.hadoop_change IS
	'A property that a change names or removes.  value: as asked for, NULL when it goes; old: as it was; resolution: NULL when it goes';
CREATE OR REPLACE FUNCTION yquota_internal.describe_changes(changes yquota_internal.hadoop_change[])
	RETURNS TABLE (property text, old text, new text, outcome text, reason text)
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
		SELECT c.property, c.old, n.new,
			   CASE WHEN c.value IS NOT NULL AND n.new IS NULL THEN 'ignored'
					WHEN c.old IS NOT DISTINCT FROM n.new THEN 'unchanged'
					WHEN n.new IS NULL THEN 'removed'
					WHEN (c.resolution).table_name IS NULL THEN 'unknown'
					ELSE 'set' END,
			   CASE WHEN c.value IS NULL THEN NULL
					WHEN (c.resolution).table_name IS NULL AND n.new IS NULL THEN 'it is no property of the scheduler'
					WHEN (c.resolution).table_name IS NULL AND c.property LIKE 'yarn.scheduler.capacity.root.%' THEN 'no queue has this property; it is kept'
					WHEN (c.resolution).table_name IS NULL THEN 'there is no such property; it is kept'
					WHEN (c.resolution).typed IS NULL THEN 'it is neither true nor false, which is as good as not set'
					WHEN n.new IS NULL THEN 'it is empty' END
		FROM unnest(changes) AS c
		CROSS JOIN LATERAL (SELECT CASE WHEN c.value IS NOT NULL THEN yquota_internal.hadoop_resolution_text(c.resolution) END AS new) AS n
		ORDER BY c.property COLLATE "C";
	END;
COMMENT ON FUNCTION yquota_internal.describe_changes(yquota_internal.hadoop_change[]) IS
	'What became of the properties of a change';
CREATE OR REPLACE FUNCTION yquota_internal.apply_to_tree(edit yquota_internal.hadoop_edit) RETURNS yquota_internal.hadoop_change[]
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_nestloop = off SET enable_mergejoin = off SET jit = off SET work_mem = '64MB'
	AS $$
DECLARE
	names text[];
	texts text[];
	are_touched boolean[];
	wanted text[];
	wanted_values text[];
	resolutions yquota_internal.hadoop_resolution[];
BEGIN
	SELECT array_agg(s.property), array_agg(s.value),
		   array_agg(edit.edits ? s.property OR EXISTS (SELECT FROM unnest(edit.removed) AS r WHERE s.property ^@ r))
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
	'Make the tables hold what a change of properties leads to, whatever it is';
REVOKE ALL ON FUNCTION yquota_internal.apply_to_tree(yquota_internal.hadoop_edit) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.apply_to_rows(resolutions yquota_internal.hadoop_resolution[]) RETURNS yquota_internal.hadoop_change[]
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
		SELECT coalesce(r.table_name, 'kept_property') AS table_name, r.column_name IS NULL AS is_whole, array_agg(r) AS properties,
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
		-- of whole rows those of their kind, in their order
		EXECUTE format('SELECT jsonb_agg(coalesce(to_jsonb(t), ''{}'') || k.key%3$s) FROM jsonb_array_elements($1) AS k (key) %4$s JOIN yquota.%1$I AS t ON %2$s',
			changed.table_name,
			(SELECT coalesce(string_agg(format('t.%1$I::text = k.key ->> %1$L', key), ' AND '), 'true') FROM jsonb_object_keys(changed.keys -> 0) AS key),
			CASE WHEN changed.is_whole AND changed.table_name <> 'kept_property' THEN ' ORDER BY t.position' ELSE '' END,
			CASE WHEN changed.is_whole THEN '' ELSE 'LEFT' END)
		INTO found USING changed.keys;
		IF changed.table_name = 'kept_property' THEN
			SELECT jsonb_agg(jsonb_build_object('property', r.property, 'value', r.value)) INTO wanted
			FROM unnest(changed.properties) AS r (ordinal, property, value) WHERE r.value IS NOT NULL AND r.property LIKE 'yarn.scheduler.capacity.%';
		ELSIF changed.is_whole THEN
			wanted := changed.properties[1].typed;
		ELSE
			-- a row in which nothing is set any more goes, but that of a queue
			SELECT jsonb_agg(w.made_row) INTO wanted
			FROM (SELECT f.found_row || c.cells AS made_row, k.key
				  FROM jsonb_array_elements(found) AS f (found_row)
				  JOIN jsonb_array_elements(changed.keys) AS k (key) ON f.found_row @> k.key
				  CROSS JOIN LATERAL (
					SELECT jsonb_object_agg(g.column_name, g.value) AS cells
					FROM (SELECT r.column_name,
								 CASE WHEN r.notation = 'options' THEN nullif(
									(coalesce(nullif(f.found_row -> r.column_name, 'null'), '{}') - array_agg(r.name))
									|| coalesce(jsonb_object_agg(r.name, r.typed) FILTER (WHERE r.notation = 'options' AND r.typed IS NOT NULL), '{}'), '{}')
								 ELSE (array_agg(r.typed))[1] END AS value
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
	'Set and remove properties, none of which lists queues';
REVOKE ALL ON FUNCTION yquota_internal.apply_to_rows(yquota_internal.hadoop_resolution[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.apply_edit(edit yquota_internal.hadoop_edit) RETURNS yquota_internal.hadoop_change[]
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
	RETURN yquota_internal.apply_to_rows(resolutions);
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_edit(yquota_internal.hadoop_edit) IS
	'Make the tables hold what a change of properties leads to';
REVOKE ALL ON FUNCTION yquota_internal.apply_edit(yquota_internal.hadoop_edit) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.mutate_configuration_as_owner(changes jsonb, caller text, caller_groups text[])
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
		RAISE EXCEPTION 'permission denied to change the configuration for somebody else'
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = 'Only operators and administrators name the caller; everybody else acts as the user of his role''s name, in the groups of the roles that he is in.';
	END IF;
	-- changes wait for each other
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
			USING DETAIL = 'What is set for it is kept, and in force when there is a queue of that path.';
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.mutate_configuration_as_owner(jsonb, text, text[]) IS
	'mutate_configuration(), which knows who calls';
REVOKE ALL ON FUNCTION yquota_internal.mutate_configuration_as_owner(jsonb, text, text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.mutate_configuration(changes jsonb, caller text DEFAULT NULL, caller_groups text[] DEFAULT NULL)
	RETURNS TABLE (property text, old text, new text, outcome text, reason text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.mutate_configuration(jsonb, text, text[]) IS
	'Change the configuration by a request as YARN''s scheduler-conf takes it: remove-queue, add-queue, update-queue and global-updates, in this order; null or an empty value removes a property.  caller: on whose behalf an operator or administrator does it, as scheduler_setting.configuration_mutation_acl_policy_class lets him; NULL is an administrator himself, who needs no leave, or anybody else for himself.  Tells what became of each property';
REVOKE ALL ON FUNCTION yquota.mutate_configuration(jsonb, text, text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.shows_application(
	username text, queue text, view_acl text, role text, groups text[])
	RETURNS boolean
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_shows_application';
COMMENT ON FUNCTION yquota_internal.shows_application(text, text, text, text, text[]) IS
	'Whether a role sees an application: its owner, whom view_acl has, and whoever administers the queue by a list that is set.  Decides once per queue and query';
ALTER TABLE yquota.application ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.application FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[])
		   OR yquota_internal.shows_application(username, queue, view_acl,
				(SELECT yquota_internal.acting_role())::text, (SELECT yquota_internal.acting_groups())::text[]));
CREATE TYPE yquota.container_request AS (
	resource_name text,
	allocation yquota.resource,
	count integer,
	priority integer,
	allocation_request_id bigint,
	relax_locality boolean,
	label text,
	execution_type yquota.execution_type
);
COMMENT ON TYPE yquota.container_request IS
	'What request_containers() takes; NULL: anywhere (*), priority 1, allocation request id -1, relaxed locality, the queue''s default label, GUARANTEED';
COMMENT ON COLUMN yquota.container_request.resource_name IS 'a node, a rack, or * for anywhere';
COMMENT ON COLUMN yquota.container_request.allocation IS 'of one container, native units';
COMMENT ON COLUMN yquota.container_request.priority IS 'the smaller number comes first';
CREATE OR REPLACE FUNCTION yquota.request_containers(application_id text, requests yquota.container_request[])
	RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_request_containers';
COMMENT ON FUNCTION yquota.request_containers(text, yquota.container_request[]) IS
	'Say what an application wants: each row replaces what it asked for before with the same priority, id and name; count 0 for * ends all with that priority and id.  Allocations are rounded up as YARN does.  Returns how many containers it waits for then';
REVOKE ALL ON FUNCTION yquota.request_containers(text, yquota.container_request[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.request_containers(
	application_id text, allocation yquota.resource, count bigint,
	resource_name text DEFAULT '*', priority integer DEFAULT 1, allocation_request_id bigint DEFAULT -1,
	relax_locality boolean DEFAULT true, label text DEFAULT NULL,
	execution_type yquota.execution_type DEFAULT 'GUARANTEED')
	RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota.request_containers(application_id,
			ARRAY[ROW(resource_name, allocation, count::integer, priority, allocation_request_id, relax_locality, label,
					  execution_type)::yquota.container_request]);
	END;
COMMENT ON FUNCTION yquota.request_containers(text, yquota.resource, bigint, text, integer, bigint, boolean, text, yquota.execution_type) IS
	'The same for one row';
REVOKE ALL ON FUNCTION yquota.request_containers(text, yquota.resource, bigint, text, integer, bigint, boolean, text, yquota.execution_type) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.update_blacklist(
	application_id text, additions text[] DEFAULT '{}', removals text[] DEFAULT '{}')
	RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_update_blacklist';
COMMENT ON FUNCTION yquota.update_blacklist(text, text[], text[]) IS
	'Have an application get no containers on some nodes and racks (additions), and again on others (removals)';
REVOKE ALL ON FUNCTION yquota.update_blacklist(text, text[], text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.release_containers(container_ids text[]) RETURNS SETOF text
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS $$
DECLARE
	found text[];
	found_again text[];
	released text[];
BEGIN
	DELETE FROM yquota.decision AS d WHERE d.container_id = ANY (container_ids);
	LOOP
		found := ARRAY(SELECT c.container_id || ' ' || c.settled_at FROM yquota.container AS c
					   WHERE c.container_id = ANY (container_ids) ORDER BY c.container_id);
		BEGIN
			WITH ended AS MATERIALIZED (
				SELECT c.container_id, greatest(yquota.clock(), c.settled_at) AS at
				FROM yquota.container AS c
				WHERE c.container_id = ANY (container_ids)
			), finished AS (
				-- ContainerExitStatus.ABORTED
				INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
				SELECT 'CONTAINER_FINISH', e.container_id, e.at, -100, 'scheduler' FROM ended AS e
			)
			SELECT array_agg(e.container_id ORDER BY e.container_id) INTO released FROM ended AS e;
			EXIT;
		EXCEPTION WHEN unique_violation OR check_violation THEN
			found_again := ARRAY(SELECT c.container_id || ' ' || c.settled_at FROM yquota.container AS c
								 WHERE c.container_id = ANY (container_ids) ORDER BY c.container_id);
			IF found_again = found THEN
				RAISE;
			END IF;
		END;
	END LOOP;
	RETURN QUERY SELECT unnest(released);
END
$$;
COMMENT ON FUNCTION yquota.release_containers(text[]) IS
	'End running containers that are not wanted (exit status -100), whether acknowledged or not; returns those that ran, so that it may be repeated';
REVOKE ALL ON FUNCTION yquota.release_containers(text[]) FROM PUBLIC;
CREATE TYPE yquota.container_update_request AS (
	container_id text,
	version integer,
	allocation yquota.resource,
	execution_type yquota.execution_type,
	priority integer,
	allocation_request_id bigint
);
COMMENT ON TYPE yquota.container_update_request IS
	'What update_containers() takes: a container and what it is to become, either allocation or execution_type; priority (NULL: 1) and allocation_request_id (NULL: -1) are those that the container was asked for with';
COMMENT ON COLUMN yquota.container_update_request.version IS 'that the container has: 0 at first, one more after each update';
COMMENT ON COLUMN yquota.container_update_request.allocation IS 'all that it is to have, native units';
CREATE OR REPLACE FUNCTION yquota.update_containers(application_id text, updates yquota.container_update_request[])
	RETURNS TABLE (container_id text, outcome text, reason text, version integer, allocation yquota.resource)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_update_containers';
COMMENT ON FUNCTION yquota.update_containers(text, yquota.container_update_request[]) IS
	'Give running containers of an application more or less, or another execution type, as YARN does.  Less, and OPPORTUNISTIC, is at once; more, and GUARANTEED, is pending until the scheduler finds room on the node.  One row for each: decreased, demoted, pending, unchanged, or refused with YARN''s reason; the others go ahead.  version is the current one, allocation (native units) what the container has now';
REVOKE ALL ON FUNCTION yquota.update_containers(text, yquota.container_update_request[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.update_container(
	container_id text, version integer, allocation yquota.resource DEFAULT NULL,
	execution_type yquota.execution_type DEFAULT NULL, priority integer DEFAULT 1, allocation_request_id bigint DEFAULT -1)
	RETURNS text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_update_container';
COMMENT ON FUNCTION yquota.update_container(text, integer, yquota.resource, yquota.execution_type, integer, bigint) IS
	'The same for one container; what is refused is an error.  Returns the outcome';
REVOKE ALL ON FUNCTION yquota.update_container(text, integer, yquota.resource, yquota.execution_type, integer, bigint) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.forget_application() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_forget_application';
COMMENT ON FUNCTION yquota_internal.forget_application() IS
	'Drops what the scheduler keeps for an application that has ended, all but how far the names of its containers have got';
REVOKE ALL ON FUNCTION yquota_internal.forget_application() FROM PUBLIC;
CREATE OR REPLACE TRIGGER forget_ended AFTER UPDATE ON yquota.application
	FOR EACH ROW WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL)
	EXECUTE FUNCTION yquota_internal.forget_application();
CREATE OR REPLACE TRIGGER forget_deleted AFTER DELETE ON yquota.application
	FOR EACH ROW WHEN (OLD.finished_at IS NULL)
	EXECUTE FUNCTION yquota_internal.forget_application();
CREATE OR REPLACE FUNCTION yquota_internal.keep_place() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	UPDATE yquota_internal.application_attempt AS t
	SET uncounted_memory = COALESCE((SELECT sum(yquota.amount(c.allocation, 'memory-mb')) FROM yquota.container AS c
		WHERE c.application_id = t.application_id AND c.execution_type = 'GUARANTEED'), 0) - t.placed_memory
	WHERE t.application_id = NEW.application_id AND t.placed_memory IS NOT NULL;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_place() IS
	'Leaves an application whose priority changes where it is in fair order';
REVOKE ALL ON FUNCTION yquota_internal.keep_place() FROM PUBLIC;
CREATE OR REPLACE TRIGGER keep_place AFTER UPDATE ON yquota.application
	FOR EACH ROW WHEN (OLD.priority <> NEW.priority AND OLD.state = 'ACTIVE' AND NEW.state = 'ACTIVE')
	EXECUTE FUNCTION yquota_internal.keep_place();
CREATE OR REPLACE FUNCTION yquota_internal.forget_applications() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	DELETE FROM yquota.resource_request;
	DELETE FROM yquota.blacklist;
	DELETE FROM yquota.reservation;
	DELETE FROM yquota.container_update;
	DELETE FROM yquota_internal.container_version;
	DELETE FROM yquota_internal.request_counter;
	UPDATE yquota_internal.application_attempt
	SET attempt = attempt + 1, next_container = 1, am_container_id = NULL, placed_memory = NULL
	WHERE next_container > 1 OR am_container_id IS NOT NULL;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.forget_applications() IS
	'The same for all applications at once';
REVOKE ALL ON FUNCTION yquota_internal.forget_applications() FROM PUBLIC;
CREATE OR REPLACE TRIGGER forget_all AFTER TRUNCATE ON yquota.application
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.forget_applications();
CREATE INDEX application_demanding_idx ON yquota.application (queue)
	WHERE state = 'ACTIVE' AND has_outstanding_requests;
CREATE OR REPLACE FUNCTION yquota.schedule(
	nodes text[] DEFAULT NULL, max_containers integer DEFAULT NULL,
	dry_run boolean DEFAULT false, explain boolean DEFAULT false)
	RETURNS TABLE (
		decision text, container_id text, application_id text, queue text, node text,
		allocation yquota.resource, locality text, priority integer, allocation_request_id bigint,
		unreserved_node text, stopped_by text, used yquota.resource, maximum yquota.resource,
		opportunities bigint, opportunities_needed bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_schedule';
COMMENT ON FUNCTION yquota.schedule(text[], integer, boolean, boolean) IS
	'Assign containers to nodes, as if each had reported once in this order (NULL: all RUNNING ones by name), and return what was decided; with explain also who was passed over, by which limit and with which figures.  A dry run changes nothing';
REVOKE ALL ON FUNCTION yquota.schedule(text[], integer, boolean, boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.node_heartbeat(nodes text[], explain boolean DEFAULT false)
	RETURNS TABLE (
		decision text, container_id text, application_id text, queue text, node text,
		allocation yquota.resource, locality text, priority integer, allocation_request_id bigint,
		unreserved_node text, stopped_by text, used yquota.resource, maximum yquota.resource,
		opportunities bigint, opportunities_needed bigint)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_node_heartbeat';
COMMENT ON FUNCTION yquota.node_heartbeat(text[], boolean) IS
	'The same for nodes that have just reported';
REVOKE ALL ON FUNCTION yquota.node_heartbeat(text[], boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.acknowledge(container_ids text[]) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH heard AS (
			DELETE FROM yquota.decision AS d WHERE d.container_id = ANY (container_ids) RETURNING 1)
		SELECT count(*) FROM heard;
	END;
COMMENT ON FUNCTION yquota.acknowledge(text[]) IS
	'Say that decisions about containers were heard: they leave decision, and are not released any more; returns how many did';
REVOKE ALL ON FUNCTION yquota.acknowledge(text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.lock_passes() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_lock_passes';
COMMENT ON FUNCTION yquota_internal.lock_passes() IS
	'Wait for the allocation pass that is under way, and let none begin until the transaction ends';
REVOKE ALL ON FUNCTION yquota_internal.lock_passes() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.change_node() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM yquota_internal.lock_passes();
	DELETE FROM yquota.reservation AS r WHERE r.node = OLD.name;
	IF TG_OP = 'UPDATE' AND OLD.label <> NEW.label THEN
		UPDATE yquota.application AS a SET label = NEW.label
		FROM yquota_internal.application_attempt AS t
		JOIN yquota.container AS c ON c.container_id = t.am_container_id
		WHERE c.node = NEW.name AND a.application_id = t.application_id AND a.finished_at IS NULL;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.change_node() IS
	'Drop the reservation of a node that changes, and have application masters be of the partition of their nodes';
REVOKE ALL ON FUNCTION yquota_internal.change_node() FROM PUBLIC;
CREATE OR REPLACE TRIGGER scheduler_change AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.name <> NEW.name OR OLD.label <> NEW.label OR OLD.state <> NEW.state
					   OR OLD.total OPERATOR(yquota.<>) NEW.total)
	EXECUTE FUNCTION yquota_internal.change_node();
CREATE OR REPLACE TRIGGER scheduler_delete AFTER DELETE ON yquota.node
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.change_node();
CREATE OR REPLACE FUNCTION yquota_internal.forget_am_limits() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_forget_am_limits';
COMMENT ON FUNCTION yquota_internal.forget_am_limits() IS
	'Have limits of application masters be computed again, because nodes have changed';
REVOKE ALL ON FUNCTION yquota_internal.forget_am_limits() FROM PUBLIC;
CREATE OR REPLACE TRIGGER forget_am_limits AFTER INSERT OR DELETE OR TRUNCATE ON yquota.node
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.forget_am_limits();
CREATE OR REPLACE TRIGGER forget_am_limits_of_change AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.label <> NEW.label OR OLD.state <> NEW.state OR OLD.total OPERATOR(yquota.<>) NEW.total)
	EXECUTE FUNCTION yquota_internal.forget_am_limits();
CREATE OR REPLACE VIEW yquota_internal.waiting_request AS
	SELECT r.application_id, r.label, 'container' AS kind, r.count::bigint AS containers,
		   r.count::bigint AS times, r.allocation
	FROM yquota.resource_request AS r
	WHERE r.resource_name = '*'
	UNION ALL
	SELECT u.application_id, u.label, 'update', 0, 1, u.allocation
	FROM yquota.container_update AS u
	UNION ALL
	SELECT a.application_id, a.label, 'master', 1, 1, a.am_resource
	FROM yquota.application AS a
	LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id
	WHERE a.state = 'ACTIVE' AND a.has_outstanding_requests AND NOT a.unmanaged AND t.am_container_id IS NULL;
COMMENT ON VIEW yquota_internal.waiting_request IS
	'What applications wait for: new containers, more for running ones, and the containers of application masters, which are asked for by themselves';
COMMENT ON COLUMN yquota_internal.waiting_request.containers IS 'new ones';
COMMENT ON COLUMN yquota_internal.waiting_request.times IS 'how often allocation is wanted';
COMMENT ON COLUMN yquota_internal.waiting_request.allocation IS 'of each, native units';
CREATE OR REPLACE FUNCTION yquota_internal.queue_and_parents(path text) RETURNS SETOF text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT array_to_string((string_to_array(path, '.'))[:depth], '.')
		FROM generate_series(1, cardinality(string_to_array(path, '.'))) AS depth;
	END;
COMMENT ON FUNCTION yquota_internal.queue_and_parents(text) IS
	'The paths of a queue and of all queues above it';
CREATE OR REPLACE VIEW yquota.scheduler_queue WITH (security_barrier) AS
	SELECT q.queue, q.label, q.state,
		   round((100 * q.used_capacity)::numeric, 1) AS used_capacity,
		   q.active_applications,
		   q.accepted_applications AS pending_applications,
		   COALESCE(p.containers, 0) AS pending_containers,
		   COALESCE(r.containers, 0) AS reserved_containers,
		   q.effective_capacity AS guaranteed,
		   q.effective_maximum_capacity AS maximum,
		   q.used OPERATOR(yquota.+) COALESCE(r.allocation, '[]') AS used,
		   COALESCE(r.allocation, '[]') AS reserved,
		   COALESCE(p.allocation, '[]') AS pending
	FROM yquota_internal.effective_queues() AS q
	LEFT JOIN (
		SELECT path.queue, w.label, sum(w.containers)::bigint AS containers, yquota_internal.demand(w.allocation, 1) AS allocation
		FROM (SELECT a.queue, v.label, sum(v.containers) AS containers, yquota_internal.demand(v.allocation, v.times) AS allocation
			  FROM yquota_internal.waiting_request AS v
			  JOIN yquota.application AS a ON a.application_id = v.application_id
			  GROUP BY a.queue, v.label) AS w
		CROSS JOIN LATERAL yquota_internal.queue_and_parents(w.queue) AS path (queue)
		GROUP BY path.queue, w.label) AS p ON p.queue = q.queue AND p.label = q.label
	LEFT JOIN (
		SELECT path.queue, v.label, count(*) AS containers, yquota.sum(v.allocation) AS allocation
		FROM yquota.reservation AS v
		JOIN yquota.application AS a ON a.application_id = v.application_id
		CROSS JOIN LATERAL yquota_internal.queue_and_parents(a.queue) AS path (queue)
		GROUP BY path.queue, v.label) AS r ON r.queue = q.queue AND r.label = q.label
	ORDER BY q.ordinal, q.label;
COMMENT ON VIEW yquota.scheduler_queue IS
	'What queues have, use and wait for, with the queues below them, per label; in the order of the tree';
COMMENT ON COLUMN yquota.scheduler_queue.label IS 'partition of the nodes; empty for the default one';
COMMENT ON COLUMN yquota.scheduler_queue.used_capacity IS 'what containers hold, percent of what is guaranteed; may exceed 100';
COMMENT ON COLUMN yquota.scheduler_queue.active_applications IS 'on all labels, like the next one';
COMMENT ON COLUMN yquota.scheduler_queue.pending_applications IS 'waiting for room for their application master';
COMMENT ON COLUMN yquota.scheduler_queue.pending_containers IS 'that applications wait for, those of application masters included';
COMMENT ON COLUMN yquota.scheduler_queue.reserved_containers IS 'nodes that are kept';
COMMENT ON COLUMN yquota.scheduler_queue.guaranteed IS 'native units, like all that follow';
COMMENT ON COLUMN yquota.scheduler_queue.maximum IS 'the most that the queue may use';
COMMENT ON COLUMN yquota.scheduler_queue.used IS 'by GUARANTEED containers and reservations, as limits count it';
COMMENT ON COLUMN yquota.scheduler_queue.reserved IS 'part of it';
COMMENT ON COLUMN yquota.scheduler_queue.pending IS 'allocations of what applications wait for, more for running containers included';
CREATE OR REPLACE VIEW yquota.scheduler_node AS
	SELECT u.node, u.rack, u.label, u.state, u.total, u.guaranteed, u.available,
		   r.application_id AS reserved_for, r.container_id AS reserved_container_id, r.allocation AS reserved
	FROM yquota.node_usage AS u
	LEFT JOIN yquota.reservation AS r ON r.node = u.node;
COMMENT ON VIEW yquota.scheduler_node IS
	'What nodes offer, what containers hold of it, and for whom they are kept';
COMMENT ON COLUMN yquota.scheduler_node.guaranteed IS 'held by GUARANTEED containers, native units';
COMMENT ON COLUMN yquota.scheduler_node.available IS 'total less what all containers hold, native units';
COMMENT ON COLUMN yquota.scheduler_node.reserved IS 'what the container that is to be there needs, native units; NULL: nothing is reserved';
CREATE OR REPLACE VIEW yquota.scheduler_application AS
	WITH full_queue AS MATERIALIZED (
		SELECT q.queue, q.label
		FROM yquota.scheduler_queue AS q
		WHERE yquota.amount(q.used, 'memory-mb') >= yquota.amount(q.maximum, 'memory-mb')
	)
	SELECT a.application_id, a.username, a.queue, a.state, a.priority,
		   t.attempt, t.am_container_id,
		   a.state = 'ACTIVE' AND NOT a.unmanaged AND t.am_container_id IS NULL AS waits_for_master,
		   COALESCE(p.containers, 0) AS pending_containers,
		   COALESCE(p.allocation, '[]') AS pending,
		   COALESCE(r.containers, 0) AS reserved_containers,
		   COALESCE(r.allocation, '[]') AS reserved,
		   a.diagnostics,
		   CASE WHEN a.state <> 'ACTIVE' THEN 'activation'
				WHEN w.labels IS NULL THEN 'requests'
				WHEN NOT current_setting('yquota.auto_create_project')::boolean
					 AND NOT EXISTS (
						SELECT FROM yquota.project AS known
						WHERE known.name = COALESCE(a.project, split_part(a.username, '__', 1))) THEN 'project'
				WHEN EXISTS (
						SELECT FROM unnest(w.labels) AS wanted (label)
						WHERE NOT EXISTS (SELECT FROM yquota.node AS n WHERE n.state = 'RUNNING' AND n.label = wanted.label)) THEN 'label'
				WHEN EXISTS (
						SELECT FROM full_queue AS f
						WHERE f.label = ANY (w.labels)
						  AND f.queue IN (SELECT yquota_internal.queue_and_parents(a.queue))) THEN 'queue limit'
				WHEN r.containers > 0 THEN 'reservation'
				ELSE 'nodes' END AS waits_for
	FROM yquota.application AS a
	LEFT JOIN yquota_internal.application_attempt AS t ON t.application_id = a.application_id
	LEFT JOIN (
		SELECT v.application_id, array_agg(DISTINCT v.label) AS labels
		FROM yquota_internal.waiting_request AS v
		WHERE v.kind <> 'container' OR v.containers > 0
		GROUP BY v.application_id) AS w ON w.application_id = a.application_id
	LEFT JOIN (
		SELECT v.application_id, sum(v.containers)::bigint AS containers, yquota_internal.demand(v.allocation, v.times) AS allocation
		FROM yquota_internal.waiting_request AS v
		WHERE v.kind <> 'master'
		GROUP BY v.application_id) AS p ON p.application_id = a.application_id
	LEFT JOIN (
		SELECT v.application_id, count(*) AS containers, yquota.sum(v.allocation) AS allocation
		FROM yquota.reservation AS v
		GROUP BY v.application_id) AS r ON r.application_id = a.application_id
	WHERE a.finished_at IS NULL;
COMMENT ON VIEW yquota.scheduler_application IS
	'Live applications and what each is waiting for';
COMMENT ON COLUMN yquota.scheduler_application.attempt IS 'number of its application master; NULL: it has not had a container yet';
COMMENT ON COLUMN yquota.scheduler_application.waits_for_master IS 'whether the container of its application master is what it waits for';
COMMENT ON COLUMN yquota.scheduler_application.pending_containers IS 'that it asked for and has not got, without that of its application master';
COMMENT ON COLUMN yquota.scheduler_application.pending IS 'their allocations, and what running containers are to have more, native units';
COMMENT ON COLUMN yquota.scheduler_application.reserved_containers IS 'nodes that are kept for it';
COMMENT ON COLUMN yquota.scheduler_application.reserved IS 'their allocations, native units';
COMMENT ON COLUMN yquota.scheduler_application.diagnostics IS 'why it is not ACTIVE, in words';
COMMENT ON COLUMN yquota.scheduler_application.waits_for IS
	'activation: see diagnostics; requests: it asks for nothing; project: nobody pays; label: no node of a label that it asks for runs; queue limit: its queue, or one above, has all the memory it may have; reservation: until a node that is kept for it has room; nodes: until one has room, is close enough, and limits of users allow it';
CREATE TABLE yquota_internal.scheduler_change (
	kind "char" NOT NULL,
	application_id text COLLATE "C",
	queue text COLLATE "C",
	username text COLLATE "C",
	changed_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
	served bytea
);
CREATE INDEX scheduler_change_changed_by_idx ON yquota_internal.scheduler_change (changed_by);
COMMENT ON TABLE yquota_internal.scheduler_change IS
	'What has changed of all that the scheduler reads, but for usage and configuration; rows go after some time';
COMMENT ON COLUMN yquota_internal.scheduler_change.kind IS 'a: an application, in what it is or asks for; s: the same, in nothing but what served tells; l: rows of am_limit; e: perhaps everything';
COMMENT ON COLUMN yquota_internal.scheduler_change.queue IS 'with username: applications of the user in this leaf are counted anew';
COMMENT ON COLUMN yquota_internal.scheduler_change.changed_by IS 'transaction that appended the row';
COMMENT ON COLUMN yquota_internal.scheduler_change.served IS 'what a pass has left of what it asks for, as src/scheduler/pass_log.c writes it';
CREATE TABLE yquota_internal.scheduler_change_horizon (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	trimmed_before xid8 NOT NULL DEFAULT '0',
	next_before xid8 NOT NULL DEFAULT '0',
	noted_at timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE yquota_internal.scheduler_change_horizon IS
	'One row: how far scheduler_change has been trimmed';
COMMENT ON COLUMN yquota_internal.scheduler_change_horizon.trimmed_before IS
	'changes of earlier transactions are gone: sessions that have not seen them read everything';
COMMENT ON COLUMN yquota_internal.scheduler_change_horizon.next_before IS 'how far it will be trimmed next time';
COMMENT ON COLUMN yquota_internal.scheduler_change_horizon.noted_at IS 'when next_before was noted: all earlier transactions had ended';
INSERT INTO yquota_internal.scheduler_change_horizon DEFAULT VALUES;
CREATE OR REPLACE FUNCTION yquota_internal.trim_scheduler_changes() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	before xid8;
	trimmed bigint;
BEGIN
	UPDATE yquota_internal.scheduler_change_horizon
	SET trimmed_before = next_before, next_before = pg_snapshot_xmin(pg_current_snapshot()), noted_at = clock_timestamp()
	WHERE noted_at < clock_timestamp() - interval '5 minutes'
	RETURNING trimmed_before INTO before;
	IF before IS NULL THEN
		RETURN 0;
	END IF;
	DELETE FROM yquota_internal.scheduler_change AS c WHERE c.changed_by < before;
	GET DIAGNOSTICS trimmed = ROW_COUNT;
	RETURN trimmed;
END
$$;
COMMENT ON FUNCTION yquota_internal.trim_scheduler_changes() IS
	'Remove rows of scheduler_change that are older than some minutes, every few minutes; returns how many.  The worker calls it';
REVOKE ALL ON FUNCTION yquota_internal.trim_scheduler_changes() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.note_application() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_note_application';
COMMENT ON FUNCTION yquota_internal.note_application() IS
	'Notes in scheduler_change that an application has changed';
REVOKE ALL ON FUNCTION yquota_internal.note_application() FROM PUBLIC;
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR DELETE ON yquota.application
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_application();
CREATE OR REPLACE TRIGGER note_update AFTER UPDATE ON yquota.application
	FOR EACH ROW WHEN (OLD.am_resource OPERATOR(yquota.<>) NEW.am_resource OR
		(OLD.application_id, OLD.username, OLD.queue, OLD.label, OLD.node_label_expression, OLD.project, OLD.unmanaged, OLD.priority,
		 OLD.state, OLD.has_outstanding_requests, OLD.activated_at)
		IS DISTINCT FROM
		(NEW.application_id, NEW.username, NEW.queue, NEW.label, NEW.node_label_expression, NEW.project, NEW.unmanaged, NEW.priority,
		 NEW.state, NEW.has_outstanding_requests, NEW.activated_at))
	EXECUTE FUNCTION yquota_internal.note_application();
CREATE OR REPLACE TRIGGER note_truncate AFTER TRUNCATE ON yquota.application
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_application();
CREATE OR REPLACE FUNCTION yquota_internal.note_scheduler_change() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_note_scheduler_change';
COMMENT ON FUNCTION yquota_internal.note_scheduler_change() IS
	'Notes in scheduler_change that a table of the scheduler was changed by hand';
REVOKE ALL ON FUNCTION yquota_internal.note_scheduler_change() FROM PUBLIC;
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.resource_request
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.blacklist
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.reservation
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.request_counter
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.application_attempt
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.container_update
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota_internal.am_limit
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_scheduler_change();
CREATE OR REPLACE TRIGGER signal_rack AFTER UPDATE ON yquota.node
	FOR EACH ROW WHEN (OLD.rack <> NEW.rack)
	EXECUTE FUNCTION yquota_internal.signal_change();
CREATE OR REPLACE VIEW yquota.feed_status AS
	SELECT part.source,
		   sum(part.events)::bigint AS events,
		   max(part.last_event_at) AS last_event_at,
		   max(part.last_recorded_at) AS last_recorded_at,
		   yquota.statement_clock() - max(part.last_event_at) AS lag,
		   sum(part.waiting)::bigint AS waiting,
		   sum(part.rejected)::bigint AS rejected,
		   sum(part.deferred)::bigint AS deferred
	FROM (
		SELECT counter.source, counter.events, counter.last_event_at, counter.last_recorded_at,
			   0 AS waiting, 0 AS rejected, 0 AS deferred
		FROM yquota_internal.feed_counter counter
		UNION ALL
		SELECT delta.source, delta.events, delta.last_event_at, delta.recorded_at, 0, 0, 0
		FROM yquota_internal.counter_delta delta
		-- corrections leave deltas that brought no events
		WHERE delta.scope IN ('a', 'f') AND delta.events IS NOT NULL
		UNION ALL
		SELECT reject.source, 0, NULL, NULL,
			   count(*) FILTER (WHERE reject.waiting), count(*) FILTER (WHERE NOT reject.waiting), 0
		FROM yquota.event_reject reject
		GROUP BY reject.source
		UNION ALL
		-- nobody has looked at these yet; one far in the future is no good
		SELECT kept.source, count(*),
			   max(kept.occurred_at) FILTER (WHERE isfinite(kept.occurred_at)
				   AND kept.occurred_at <= kept.recorded_at + yquota_internal.duration('yquota.max_clock_skew')),
			   max(kept.recorded_at), 0, 0, count(*)
		FROM yquota_internal.deferred_event kept
		GROUP BY kept.source
	) part
	GROUP BY part.source;
COMMENT ON COLUMN yquota.feed_status.deferred IS 'events kept while yquota.charging was deferred, until charge_deferred() is called';
CREATE OR REPLACE VIEW yquota_internal.suspect_container AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.execution_type,
		   container.allocation, container.started_at,
		   'node is ' || node.state AS reason
	FROM yquota.container container
	JOIN yquota.node node ON node.name = container.node
	WHERE node.state IN ('DECOMMISSIONED', 'LOST', 'REBOOTED', 'SHUTDOWN')
	UNION ALL
	SELECT aged.container_id, aged.project, aged.application_id, aged.username, aged.queue,
		   aged.node, aged.execution_type, aged.allocation, aged.started_at,
		   format('runs for %s, the next oldest of its application for %s',
				  aged.now - aged.started_at, aged.now - aged.next_started_at)
	FROM (
		SELECT container.*,
			   yquota.statement_clock() AS now,
			   lead(container.started_at) OVER (
				   PARTITION BY container.project, container.application_id
				   ORDER BY container.started_at, container.container_id) AS next_started_at
		FROM yquota.container container
		WHERE container.application_id IS NOT NULL
		  AND right(container.container_id, 7) <> '_000001'
	) aged
	WHERE aged.next_started_at - aged.started_at >= interval '1 day'
	  AND aged.now - aged.started_at >= 10 * (aged.now - aged.next_started_at);
COMMENT ON VIEW yquota_internal.suspect_container IS
	'Running containers of all projects that probably ended unheard';
CREATE OR REPLACE VIEW yquota.suspect_container WITH (security_barrier) AS
	SELECT suspect.*
	FROM yquota_internal.suspect_container suspect
	WHERE (SELECT yquota_internal.reads_all())
	   OR suspect.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
CREATE OR REPLACE FUNCTION yquota_internal.note_discarded() RETURNS trigger
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF TG_OP = 'UPDATE' THEN
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, false, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at
		FROM old_rows AS earlier
		WHERE NOT EXISTS (
			SELECT FROM new_rows AS repaired
			WHERE repaired.reject_id = earlier.reject_id
			  AND (repaired.event, repaired.container_id, repaired.occurred_at,
				   repaired.project, repaired.application_id, repaired.username,
				   repaired.queue, repaired.node, repaired.allocation::text,
				   repaired.execution_type, repaired.exit_status, repaired.source,
				   repaired.recorded_at)
				IS NOT DISTINCT FROM
				  (earlier.event, earlier.container_id, earlier.occurred_at,
				   earlier.project, earlier.application_id, earlier.username,
				   earlier.queue, earlier.node, earlier.allocation::text,
				   earlier.execution_type, earlier.exit_status, earlier.source,
				   earlier.recorded_at));
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, true, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at
		FROM old_rows;
	ELSE
		INSERT INTO yquota_internal.discarded_event
		SELECT reject_id, true, event, container_id, occurred_at, project, application_id,
			   username, queue, node, allocation, execution_type, exit_status, source, recorded_at
		FROM yquota.event_reject;
	END IF;
	RETURN NULL;
END;
$$;
CREATE OR REPLACE TRIGGER note_truncate BEFORE TRUNCATE ON yquota.event_reject
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_discarded();
CREATE OR REPLACE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.event_reject
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
CREATE OR REPLACE FUNCTION yquota_internal.resend_rejects(reject_ids bigint[], OUT resent bigint, OUT set_aside bigint)
	LANGUAGE plpgsql VOLATILE STRICT SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'set_aside'
	-- not a dump, even in a session that has restored one (see restoring())
	SET check_function_bodies = on
AS $$
DECLARE
	taken yquota.event_reject[];
	newest bigint;
BEGIN
	-- Read before the door adds rows; other sessions' rows get larger numbers, too.
	SELECT max(reject.reject_id) INTO newest FROM yquota.event_reject reject;

	-- Two commands, because the trigger must find the rows gone.
	WITH deleted AS (
		DELETE FROM yquota.event_reject reject
		WHERE reject.reject_id = ANY (reject_ids)
		RETURNING reject
	)
	SELECT coalesce(array_agg(deleted.reject ORDER BY (deleted.reject).reject_id), '{}')
	INTO taken FROM deleted;
	-- moved, not discarded
	DELETE FROM yquota_internal.discarded_event AS discarded
	WHERE discarded.removed AND discarded.reject_id = ANY (reject_ids);

	-- With the time when they arrived: what is set aside again stands for the
	-- row that the log has from then as well.
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, node,
		 allocation, execution_type, exit_status, source, recorded_at)
	SELECT reject.event, reject.container_id, reject.occurred_at, reject.project,
		   reject.application_id, reject.username, reject.queue, reject.node,
		   reject.allocation, reject.execution_type, reject.exit_status, reject.source,
		   reject.recorded_at
	FROM unnest(taken) reject;

	resent := cardinality(taken);
	SELECT least(resent, count(*)) INTO set_aside
	FROM yquota.event_reject reject
	WHERE reject.reject_id > newest
	  AND (reject.event, coalesce(reject.container_id, ''), coalesce(reject.occurred_at, '-infinity')) IN (
		SELECT old.event, coalesce(old.container_id, ''), coalesce(old.occurred_at, '-infinity')
		FROM unnest(taken) old
	  );
END;
$$;
CREATE OR REPLACE FUNCTION yquota.retry_rejects(source text DEFAULT NULL, container_id text DEFAULT NULL,
									 OUT retried bigint, OUT accepted bigint, OUT set_aside bigint)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	batch_size CONSTANT integer := 10000;
	batch bigint[];
	done_through bigint := 0;
	newest bigint;
	result record;
BEGIN
	retried := 0;
	set_aside := 0;
	-- What comes back gets larger numbers and is not tried twice.
	SELECT max(reject.reject_id) INTO newest FROM yquota.event_reject reject;
	LOOP
		SELECT array_agg(candidate.reject_id), max(candidate.reject_id) INTO batch, done_through
		FROM (
			SELECT reject.reject_id
			FROM yquota.event_reject reject
			WHERE reject.reject_id > done_through AND reject.reject_id <= newest
			  AND (retry_rejects.source IS NULL OR reject.source = retry_rejects.source)
			  AND (retry_rejects.container_id IS NULL OR reject.container_id = retry_rejects.container_id)
			  AND (NOT reject.waiting
				   OR EXISTS (SELECT FROM yquota.container container
							  WHERE container.container_id = reject.container_id)
				   OR EXISTS (SELECT FROM yquota_internal.charge_in_effect charge
							  WHERE charge.container_id = reject.container_id))
			ORDER BY reject.reject_id
			LIMIT batch_size
			FOR UPDATE OF reject SKIP LOCKED
		) candidate;
		EXIT WHEN batch IS NULL;
		SELECT * INTO result FROM yquota_internal.resend_rejects(batch);
		retried := retried + result.resent;
		set_aside := set_aside + result.set_aside;
	END LOOP;
	accepted := retried - set_aside;
END;
$$;
CREATE OR REPLACE FUNCTION yquota_internal.apply_waiting() RETURNS bigint
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	batch_size CONSTANT integer := 10000;
	batch bigint[];
BEGIN
	SELECT array_agg(candidate.reject_id) INTO batch
	FROM (
		SELECT reject.reject_id
		FROM yquota.event_reject reject
		WHERE reject.waiting
		  AND (EXISTS (SELECT FROM yquota.container container
					   WHERE container.container_id = reject.container_id)
			   OR EXISTS (SELECT FROM yquota_internal.charge_in_effect charge
						  WHERE charge.container_id = reject.container_id))
		ORDER BY reject.reject_id
		LIMIT batch_size
		FOR UPDATE OF reject SKIP LOCKED
	) candidate;
	RETURN (SELECT moved.resent FROM yquota_internal.resend_rejects(coalesce(batch, '{}')) moved);
END;
$$;
CREATE OR REPLACE FUNCTION yquota_internal.reconcile_list(running jsonb)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, allocation yquota.resource,
				   execution_type yquota.execution_type, started_at timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET timezone = 'UTC'
AS $$
DECLARE
	keys CONSTANT text[] := '{container_id,project,application_id,username,queue,node,allocation,execution_type,started_at}';
	element jsonb;
	position bigint;
	place text;
	wrong text;
BEGIN
	IF jsonb_typeof(running) <> 'array' THEN
		RAISE EXCEPTION 'list of running containers is not a JSON array'
			USING ERRCODE = 'invalid_parameter_value',
				  HINT = 'Pass an array of objects, one per container.';
	END IF;
	FOR element, position IN
		SELECT list.value, list.ordinality FROM jsonb_array_elements(running) WITH ORDINALITY list
	LOOP
		place := format('It is element %s of the list: %s', position, left(element::text, 200));
		IF jsonb_typeof(element) <> 'object' THEN
			RAISE EXCEPTION 'element of the list of running containers is not an object'
				USING ERRCODE = 'invalid_parameter_value', DETAIL = place;
		END IF;
		SELECT member.key INTO wrong
		FROM jsonb_each(element) member
		WHERE member.key <> ALL (keys)
		LIMIT 1;
		IF FOUND THEN
			RAISE EXCEPTION 'key "%" is not known in the list of running containers', wrong
				USING ERRCODE = 'invalid_parameter_value', DETAIL = place,
					  HINT = format('Known are %s.', array_to_string(keys, ', '));
		END IF;
		container_id := element ->> 'container_id';
		IF coalesce(container_id, '') = '' THEN
			RAISE EXCEPTION 'element of the list of running containers has no "container_id"'
				USING ERRCODE = 'null_value_not_allowed', DETAIL = place;
		END IF;
		project := element ->> 'project';
		application_id := element ->> 'application_id';
		username := element ->> 'username';
		queue := element ->> 'queue';
		node := element ->> 'node';
		BEGIN
			allocation := CASE jsonb_typeof(element -> 'allocation')
				WHEN 'object' THEN yquota.resource(element -> 'allocation')
				ELSE (element ->> 'allocation')::yquota.resource END;
			execution_type := (element ->> 'execution_type')::yquota.execution_type;
			started_at := (element ->> 'started_at')::timestamptz;
		EXCEPTION
			WHEN data_exception OR program_limit_exceeded THEN
				RAISE EXCEPTION '%', SQLERRM
					USING ERRCODE = SQLSTATE, DETAIL = place;
		END;
		RETURN NEXT;
	END LOOP;
	SELECT list.value ->> 'container_id' INTO wrong
	FROM jsonb_array_elements(running) list
	GROUP BY 1
	HAVING count(*) > 1
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'container "%" is more than once in the list of running containers', wrong
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
END;
$$;
CREATE OR REPLACE FUNCTION yquota_internal.reconcile_plan(running jsonb, as_of timestamptz)
	RETURNS TABLE (action text, container_id text, project text, application_id text,
				   username text, queue text, node text, allocation yquota.resource,
				   execution_type yquota.execution_type, occurred_at timestamptz, detail text)
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH list AS MATERIALIZED (
		SELECT * FROM yquota_internal.reconcile_list(running)
	)
	SELECT 'finish', ours.container_id, ours.project, NULL::text, NULL::text, NULL::text, NULL::text,
		   NULL::yquota.resource, NULL::yquota.execution_type, as_of, 'not in the list'
	FROM yquota.container ours
	WHERE ours.started_at <= as_of AND ours.settled_at <= as_of
	  AND NOT EXISTS (SELECT FROM list theirs
					  WHERE theirs.container_id = ours.container_id)
	UNION ALL
	SELECT CASE WHEN fault.detail IS NULL THEN 'start' ELSE 'conflict' END,
		   theirs.container_id, theirs.project, theirs.application_id, theirs.username,
		   theirs.queue, theirs.node, theirs.allocation, theirs.execution_type,
		   theirs.started_at, coalesce(fault.detail, 'not in the books')
	FROM list theirs
	LEFT JOIN LATERAL (
		SELECT max(charge."to") AS finished_at
		FROM yquota_internal.charge_in_effect charge
		WHERE charge.container_id = theirs.container_id
	) past ON true
	CROSS JOIN LATERAL (
		SELECT CASE
			WHEN past.finished_at IS NOT NULL THEN format('finished at %s', past.finished_at)
			WHEN theirs.started_at IS NULL THEN 'not in the books, and "started_at" is missing'
			WHEN theirs.allocation IS NULL THEN 'not in the books, and "allocation" is missing'
			END AS detail
	) fault
	WHERE NOT EXISTS (SELECT FROM yquota.container ours
					  WHERE ours.container_id = theirs.container_id)
	  AND (theirs.started_at <= as_of) IS NOT FALSE
	  AND (past.finished_at <= as_of) IS NOT FALSE
	UNION ALL
	SELECT CASE WHEN difference.conflicts THEN 'conflict' ELSE 'update' END,
		   ours.container_id, ours.project, NULL, NULL,
		   theirs.queue, theirs.node, theirs.allocation, theirs.execution_type,
		   as_of, difference.detail
	FROM list theirs
	JOIN yquota.container ours ON ours.container_id = theirs.container_id
	CROSS JOIN LATERAL (
		SELECT bool_or(field.fixed) AS conflicts,
			   string_agg(format('%s: %s, in the list %s', field.name,
								 coalesce(field.ours, 'none'), field.theirs), '; ') AS detail
		FROM (VALUES
			('project', ours.project, theirs.project, true),
			('application_id', ours.application_id, theirs.application_id, true),
			('username', ours.username, theirs.username, true),
			('started_at', ours.started_at::text, theirs.started_at::text, true),
			('allocation', ours.allocation::text, theirs.allocation::text, false),
			('execution_type', ours.execution_type::text, theirs.execution_type::text, false),
			('queue', ours.queue, theirs.queue, false),
			('node', ours.node, theirs.node, false)
		) field (name, ours, theirs, fixed)
		WHERE field.theirs IS NOT NULL AND field.ours IS DISTINCT FROM field.theirs
	) difference
	WHERE ours.started_at <= as_of AND ours.settled_at < as_of
	  AND difference.detail IS NOT NULL;
END;
CREATE OR REPLACE FUNCTION yquota.reconcile(running jsonb, as_of timestamptz, dry_run boolean DEFAULT true)
	RETURNS TABLE (action text, container_id text, project text, occurred_at timestamptz, detail text)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF running IS NULL OR as_of IS NULL OR dry_run IS NULL THEN
		RAISE EXCEPTION 'arguments of reconcile must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF NOT isfinite(as_of) OR as_of > yquota.clock() THEN
		RAISE EXCEPTION 'list of running containers cannot be as of %', as_of
			USING ERRCODE = 'datetime_field_overflow',
				  DETAIL = format('The clock shows %s.', yquota.clock()),
				  HINT = 'Pass the time at which the resource manager made the list.';
	END IF;
	PERFORM yquota_internal.refuse_while_deferred('reconcile running containers');
	RETURN QUERY
	WITH plan AS MATERIALIZED (
		SELECT * FROM yquota_internal.reconcile_plan(running, as_of)
	), sent AS (
		INSERT INTO yquota.container_event
			(event, container_id, occurred_at, project, application_id, username, queue, node,
			 allocation, execution_type, source)
		SELECT ('CONTAINER_' || upper(plan.action))::yquota.container_event_type,
			   plan.container_id, plan.occurred_at, plan.project, plan.application_id,
			   plan.username, plan.queue, plan.node, plan.allocation, plan.execution_type,
			   'reconcile'
		FROM plan
		WHERE NOT dry_run AND plan.action <> 'conflict'
	)
	SELECT plan.action, plan.container_id, plan.project, plan.occurred_at, plan.detail
	FROM plan
	ORDER BY plan.container_id;
END;
$$;
CREATE OR REPLACE FUNCTION yquota.node_lost(node text, at timestamptz DEFAULT yquota.clock(),
								 exit_status integer DEFAULT -100)
	RETURNS TABLE (container_id text)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF node_lost.node IS NULL OR at IS NULL THEN
		RAISE EXCEPTION 'node and time of its loss must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM yquota_internal.refuse_while_deferred('finish the containers of a node');
	UPDATE yquota.node known
	SET state = 'LOST', updated_at = node_lost.at
	WHERE known.name = node_lost.node AND known.state <> 'LOST';
	IF NOT FOUND AND NOT EXISTS (SELECT FROM yquota.node known WHERE known.name = node_lost.node) THEN
		RAISE WARNING 'node "%" is not in yquota.node', node_lost.node;
	END IF;
	RETURN QUERY
	WITH lost AS MATERIALIZED (
		SELECT container.container_id, container.project,
			   greatest(container.settled_at, node_lost.at) AS finished_at
		FROM yquota.container container
		WHERE container.node = node_lost.node AND container.started_at <= node_lost.at
	), sent AS (
		INSERT INTO yquota.container_event
			(event, container_id, occurred_at, project, exit_status, source)
		SELECT 'CONTAINER_FINISH', lost.container_id, lost.finished_at, lost.project,
			   node_lost.exit_status, 'node_lost'
		FROM lost
	)
	SELECT lost.container_id::text FROM lost ORDER BY lost.container_id;
END;
$$;
SELECT pg_extension_config_dump('yquota.project',
	'ORDER BY (SELECT pg_catalog.count(*) FROM yquota_internal.project_family WHERE member = project.name)');
CREATE OR REPLACE FUNCTION yquota_internal.rm_audit_fields(line text) RETURNS text[]
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (
		SELECT CASE WHEN strpos(message.text, E'\t') > 0 THEN string_to_array(message.text, E'\t')
					ELSE regexp_split_to_array(message.text, ' +(?=[A-Z]+=)') END
		FROM (SELECT rtrim(substr(line, strpos(line, 'USER=')), E'\r\n ') AS text) AS message);
COMMENT ON FUNCTION yquota_internal.rm_audit_fields(text) IS
	'The fields of a line of the audit log, each KEY=value';
REVOKE ALL ON FUNCTION yquota_internal.rm_audit_fields(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.rm_audit_field(fields text[], key text) RETURNS text
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	-- the first one: what users may choose comes last
	RETURN (SELECT substr(field, length(key) + 2)
			FROM unnest(fields) WITH ORDINALITY AS f (field, number)
			WHERE starts_with(field, key || '=')
			ORDER BY number
			LIMIT 1);
COMMENT ON FUNCTION yquota_internal.rm_audit_field(text[], text) IS
	'The value of a key; NULL when it is not there';
REVOKE ALL ON FUNCTION yquota_internal.rm_audit_field(text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.log_line_time(
	line text, OUT year integer, OUT month integer, OUT rest text, OUT utc_offset text)
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	time_of_day CONSTANT text := '(\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(?!\d)';
	months CONSTANT text[] := '{Jan,Feb,Mar,Apr,May,Jun,Jul,Aug,Sep,Oct,Nov,Dec}';
	part text[];
BEGIN
	-- year, month, day: ISO 8601, and Hadoop's console
	part := regexp_match(line, '^(\d\d(?:\d\d)?)[-/](\d\d)[-/](\d\d)[ T]' || time_of_day || '(Z|[-+]\d\d(?::?\d\d)?)?');
	IF part IS NULL THEN
		-- day, month, year: log4j's DATE
		part := regexp_match(line, '^(\d\d?) ([A-Z][a-z]{2}) (\d{4}) ' || time_of_day);
		part := CASE WHEN part IS NOT NULL THEN
			ARRAY[part[3], array_position(months, part[2])::text, part[1], part[4], part[5]] END;
	END IF;
	IF part IS NULL THEN
		part := regexp_match(line, '^()(\d\d)[-/](\d\d) ' || time_of_day);
	END IF;
	IF part IS NULL THEN
		-- syslog
		part := regexp_match(line, '^()([A-Z][a-z]{2}) +(\d\d?) ' || time_of_day);
		part[2] := array_position(months, part[2]);
	END IF;
	year := nullif(part[1], '')::integer + CASE WHEN length(part[1]) = 2 THEN 2000 ELSE 0 END;
	month := part[2]::integer;
	rest := format('%s-%s %s.%s', part[2], part[3], part[4], coalesce(part[5], '0'));
	utc_offset := part[6];
END
$$;
COMMENT ON FUNCTION yquota_internal.log_line_time(text) IS
	'The time at the beginning of a line of a log; month is NULL when there is none, year where the layout has none';
REVOKE ALL ON FUNCTION yquota_internal.log_line_time(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.log_line_instant(
	line text, timezone text, first_year integer, previous timestamptz) RETURNS timestamptz
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	disorder CONSTANT interval := '10 seconds';
	read record;
	year_of_line integer;
	before timestamp := previous AT TIME ZONE timezone;
	local_time timestamp;
	instant timestamptz;
	other timestamptz;
BEGIN
	read := yquota_internal.log_line_time(line);
	IF read.month IS NULL OR NOT read.month BETWEEN 1 AND 12 THEN
		RETURN NULL;
	END IF;
	year_of_line := read.year;
	IF year_of_line IS NULL AND before IS NOT NULL THEN
		-- the year that puts it next to the line before
		year_of_line := extract(year FROM before)
			+ CASE WHEN extract(month FROM before) - read.month > 6 THEN 1
				   WHEN extract(month FROM before) - read.month < -6 THEN -1 ELSE 0 END;
	ELSIF year_of_line IS NULL THEN
		year_of_line := coalesce(first_year, extract(year FROM yquota.statement_clock() AT TIME ZONE timezone));
	END IF;
	BEGIN
		local_time := (lpad(year_of_line::text, 4, '0') || '-' || read.rest)::timestamp;
		-- a log of last year, read in this one
		IF read.year IS NULL AND before IS NULL AND first_year IS NULL
			AND local_time AT TIME ZONE timezone > yquota.statement_clock() + interval '1 day'
		THEN
			local_time := (lpad((year_of_line - 1)::text, 4, '0') || '-' || read.rest)::timestamp;
		END IF;
		IF read.utc_offset IS NOT NULL THEN
			RETURN (local_time::text || read.utc_offset)::timestamptz;
		END IF;
	EXCEPTION WHEN data_exception THEN
		RETURN NULL;
	END;
	instant := local_time AT TIME ZONE timezone;
	SELECT min(candidate) INTO other
	FROM unnest(ARRAY[instant - interval '1 hour', instant, instant + interval '1 hour']) AS candidate
	WHERE candidate AT TIME ZONE timezone = local_time;
	IF other = instant THEN
		SELECT max(candidate) INTO instant
		FROM unnest(ARRAY[instant, instant + interval '1 hour']) AS candidate
		WHERE candidate AT TIME ZONE timezone = local_time;
	END IF;
	RETURN CASE WHEN (other >= previous - disorder) IS NOT FALSE THEN coalesce(other, instant) ELSE instant END;
END
$$;
COMMENT ON FUNCTION yquota_internal.log_line_instant(text, text, integer, timestamptz) IS
	'When a line of a log was written, given when the line before was; NULL when it does not begin with a time';
REVOKE ALL ON FUNCTION yquota_internal.log_line_instant(text, text, integer, timestamptz) FROM PUBLIC;
CREATE TYPE yquota_internal.rm_audit_event AS (
	event yquota.container_event_type,
	container_id text,
	occurred_at timestamptz,
	project text,
	application_id text,
	username text,
	queue text,
	allocation yquota.resource
);
COMMENT ON TYPE yquota_internal.rm_audit_event IS 'What a line of the audit log says of a container';
CREATE OR REPLACE FUNCTION yquota_internal.rm_audit_event(
	line text, occurred_at timestamptz, project text, project_from text)
	RETURNS yquota_internal.rm_audit_event
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	fields CONSTANT text[] := yquota_internal.rm_audit_fields(line);
	event yquota_internal.rm_audit_event;
BEGIN
	event.event := CASE yquota_internal.rm_audit_field(fields, 'OPERATION')
		WHEN 'AM Allocated Container' THEN 'CONTAINER_START'
		WHEN 'AM Released Container' THEN 'CONTAINER_FINISH' END;
	event.container_id := yquota_internal.rm_audit_field(fields, 'CONTAINERID');
	event.occurred_at := occurred_at;
	IF event.event IS NULL OR event.occurred_at IS NULL OR coalesce(event.container_id, '') = ''
		OR yquota_internal.rm_audit_field(fields, 'RESULT') IS DISTINCT FROM 'SUCCESS'
	THEN
		RETURN NULL;
	END IF;
	IF event.event = 'CONTAINER_START' THEN
		event.username := nullif(yquota_internal.rm_audit_field(fields, 'USER'), 'null');
		event.application_id := yquota_internal.rm_audit_field(fields, 'APPID');
		event.queue := nullif(yquota_internal.rm_audit_field(fields, 'QUEUENAME'), 'null');
		event.project := coalesce(project, CASE project_from
			WHEN 'username' THEN event.username
			WHEN 'queue' THEN substring(event.queue FROM '[^.]+$') END);
		BEGIN
			event.allocation := yquota_internal.rm_audit_field(fields, 'RESOURCE')::yquota.resource;
		EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
			-- set aside by the door, which an administrator sees
			event.allocation := NULL;
		END;
	END IF;
	RETURN event;
END
$$;
COMMENT ON FUNCTION yquota_internal.rm_audit_event(text, timestamptz, text, text) IS
	'The event that a line of the audit log tells of; NULL when it tells of none';
REVOKE ALL ON FUNCTION yquota_internal.rm_audit_event(text, timestamptz, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.is_known_event(of_event yquota_internal.rm_audit_event, source text) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE of_event.event
			WHEN 'CONTAINER_START' THEN
				EXISTS (SELECT FROM yquota.container AS running
						WHERE running.container_id = of_event.container_id
						  AND running.settled_at = of_event.occurred_at AND running.started_at = of_event.occurred_at
						  AND running.allocation OPERATOR(yquota.=) of_event.allocation)
				OR EXISTS (SELECT FROM yquota_internal.charge_in_effect AS charge
						   WHERE charge.container_id = of_event.container_id
							 AND charge."from" = of_event.occurred_at AND charge.started_at = of_event.occurred_at
							 AND charge.allocation OPERATOR(yquota.=) of_event.allocation)
			ELSE EXISTS (SELECT FROM yquota_internal.charge_in_effect AS charge
						 WHERE charge.container_id = of_event.container_id
						   AND charge."to" = of_event.occurred_at AND charge.settled_by = 'CONTAINER_FINISH')
		END
		OR EXISTS (SELECT FROM yquota.event_reject AS reject
				   WHERE reject.container_id = of_event.container_id AND reject.event = of_event.event
					 AND reject.occurred_at = of_event.occurred_at
					 AND reject.source IS NOT DISTINCT FROM is_known_event.source
					 AND reject.project IS NOT DISTINCT FROM of_event.project
					 AND reject.allocation::text IS NOT DISTINCT FROM of_event.allocation::text);
COMMENT ON FUNCTION yquota_internal.is_known_event(yquota_internal.rm_audit_event, text) IS
	'Is it in the books, or set aside, already?';
REVOKE ALL ON FUNCTION yquota_internal.is_known_event(yquota_internal.rm_audit_event, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.send_rm_audit_events(
	events yquota_internal.rm_audit_event[], source text,
	OUT starts bigint, OUT finishes bigint, OUT refused bigint)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'set_aside'
	AS $$
DECLARE
	fresh yquota_internal.rm_audit_event[];
	newest bigint := coalesce((SELECT max(reject.reject_id) FROM yquota.event_reject AS reject), 0);
	refused_starts bigint;
BEGIN
	-- before the insert, which makes all of them known
	SELECT array_agg(DISTINCT candidate) INTO fresh
	FROM unnest(events) AS candidate
	WHERE NOT yquota_internal.is_known_event(candidate, source);
	INSERT INTO yquota.container_event
		(event, container_id, occurred_at, project, application_id, username, queue, allocation, source)
	SELECT line.event, line.container_id, line.occurred_at, line.project, line.application_id,
		   line.username, line.queue, line.allocation, send_rm_audit_events.source
	FROM unnest(fresh) AS line;
	SELECT count(*), count(*) FILTER (WHERE reject.event = 'CONTAINER_START') INTO refused, refused_starts
	FROM yquota.event_reject AS reject
	WHERE reject.reject_id > newest
	  AND (reject.event, reject.container_id, reject.occurred_at) IN (
		SELECT line.event, line.container_id, line.occurred_at FROM unnest(fresh) AS line);
	SELECT count(*) FILTER (WHERE line.event = 'CONTAINER_START') - refused_starts,
		   count(*) FILTER (WHERE line.event = 'CONTAINER_FINISH') - (refused - refused_starts)
	INTO starts, finishes
	FROM unnest(fresh) AS line;
END
$$;
COMMENT ON FUNCTION yquota_internal.send_rm_audit_events(yquota_internal.rm_audit_event[], text) IS
	'Insert in container_event what is not known yet; counts what was accepted, and what was set aside';
REVOKE ALL ON FUNCTION yquota_internal.send_rm_audit_events(yquota_internal.rm_audit_event[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_rm_audit(log text, timezone text, year integer, project_from text)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF log IS NULL OR project_from IS NULL THEN
		RAISE EXCEPTION 'log and "project_from" must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF project_from NOT IN ('prefix', 'username', 'queue') THEN
		RAISE EXCEPTION 'cannot take the project from "%"', project_from
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Take it from the prefix of usernames (project__user), the username, or the queue.';
	ELSIF year NOT BETWEEN 1970 AND 9998 THEN
		RAISE EXCEPTION 'year % of a log is out of range', year
			USING ERRCODE = 'datetime_field_overflow';
	END IF;
	-- an unknown time zone is an error of PostgreSQL's own
	PERFORM yquota.statement_clock() AT TIME ZONE timezone;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_rm_audit(text, text, integer, text) IS
	'Refuse arguments of import_rm_audit() that make no sense';
REVOKE ALL ON FUNCTION yquota_internal.check_rm_audit(text, text, integer, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_rm_audit(
	log text, timezone text DEFAULT NULL, year integer DEFAULT NULL,
	project text DEFAULT NULL, project_from text DEFAULT 'prefix', source text DEFAULT 'rm_audit',
	after timestamptz DEFAULT NULL,
	OUT lines bigint, OUT starts bigint, OUT finishes bigint, OUT duplicates bigint,
	OUT unknown bigint, OUT refused bigint, OUT last_at timestamptz)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone CONSTANT text := coalesce(timezone, yquota_internal.billing_timezone());
	line text;
	occurred_at timestamptz;
	event yquota_internal.rm_audit_event;
	events yquota_internal.rm_audit_event[] := '{}';
BEGIN
	PERFORM yquota_internal.check_rm_audit(log, zone, year, project_from);
	PERFORM yquota_internal.refuse_while_deferred('import a log');
	lines := 0;
	last_at := after;
	FOR line IN SELECT part FROM string_to_table(log, E'\n') AS part WHERE part ~ '\S' LOOP
		lines := lines + 1;
		CONTINUE WHEN line !~ 'USER=.*\sOPERATION=AM (Allocated|Released) Container\s';
		occurred_at := yquota_internal.log_line_instant(line, zone, year, last_at);
		event := yquota_internal.rm_audit_event(line, occurred_at, project, project_from);
		last_at := coalesce(occurred_at, last_at);
		IF event.event IS NOT NULL THEN
			events := events || event;
		END IF;
	END LOOP;
	unknown := lines - cardinality(events);
	SELECT sent.starts, sent.finishes, sent.refused INTO starts, finishes, refused
	FROM yquota_internal.send_rm_audit_events(events, source) AS sent;
	duplicates := lines - unknown - starts - finishes - refused;
END
$$;
COMMENT ON FUNCTION yquota.import_rm_audit(text, text, integer, text, text, text, timestamptz) IS
	'Lines of a ResourceManager''s audit log become events: AM Allocated Container a CONTAINER_START, AM Released Container a CONTAINER_FINISH.  Lines that were imported before are known.  Returns counts, and the time of the last of these lines';
REVOKE ALL ON FUNCTION yquota.import_rm_audit(text, text, integer, text, text, text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_rm_audit_file(
	path text, timezone text DEFAULT NULL, year integer DEFAULT NULL,
	project text DEFAULT NULL, project_from text DEFAULT 'prefix', source text DEFAULT 'rm_audit',
	after timestamptz DEFAULT NULL,
	OUT lines bigint, OUT starts bigint, OUT finishes bigint, OUT duplicates bigint,
	OUT unknown bigint, OUT refused bigint, OUT last_at timestamptz)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	portion CONSTANT bigint := 1024 * 1024;
	position bigint := 0;
	bytes bytea;
	rest text := '';
	line text;
	readable text[];
	log text;
	ends_at integer;
	part record;
BEGIN
	IF path IS NULL THEN
		RAISE EXCEPTION 'path of the log must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF octet_length(path) >= 1024 THEN
		RAISE EXCEPTION 'path of the log is too long'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT 0, 0, 0, 0, 0, 0, after INTO lines, starts, finishes, duplicates, unknown, refused, last_at;
	LOOP
		bytes := pg_read_binary_file(path, position, portion);
		EXIT WHEN length(bytes) = 0;
		position := position + length(bytes);
		rest := rest || encode(bytes, 'escape');
		ends_at := length(rest) - strpos(reverse(rest), E'\n') + 1;
		-- a line that long tells of no container
		CONTINUE WHEN ends_at > length(rest) AND length(rest) < portion;
		BEGIN
			log := convert_from(decode(left(rest, ends_at), 'escape'), 'UTF8');
		EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
			readable := '{}';
			FOR line IN SELECT string_to_table(left(rest, ends_at), E'\n') LOOP
				BEGIN
					readable := readable || convert_from(decode(line, 'escape'), 'UTF8');
				EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
					readable := readable || '?'::text;
				END;
			END LOOP;
			log := array_to_string(readable, E'\n');
		END;
		SELECT * INTO part FROM yquota.import_rm_audit(log, timezone, year, project, project_from, source, last_at);
		rest := substr(rest, ends_at + 1);
		lines := lines + part.lines;
		starts := starts + part.starts;
		finishes := finishes + part.finishes;
		duplicates := duplicates + part.duplicates;
		unknown := unknown + part.unknown;
		refused := refused + part.refused;
		last_at := part.last_at;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota.import_rm_audit_file(text, text, integer, text, text, text, timestamptz) IS
	'import_rm_audit() of a file on the server, read a megabyte at a time; needs the privileges of pg_read_binary_file().  A last line without its end is left for the next time';
REVOKE ALL ON FUNCTION yquota.import_rm_audit_file(text, text, integer, text, text, text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.rest_resource(
	listed jsonb, memory_mb numeric, vcores numeric) RETURNS yquota.resource
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	list CONSTANT jsonb := listed #> '{resourceInformations,resourceInformation}';
BEGIN
	IF jsonb_typeof(list) = 'array' THEN
		RETURN (SELECT format('[%s]', string_agg(format('%s=%s%s', e ->> 'name', e ->> 'value', e ->> 'units'), ','))
				FROM jsonb_array_elements(list) AS e)::yquota.resource;
	END IF;
	RETURN format('[memory-mb=%s,vcores=%s]', coalesce((listed ->> 'memory')::numeric, memory_mb, 0),
				  coalesce((listed ->> 'vCores')::numeric, vcores, 0))::yquota.resource;
END
$$;
COMMENT ON FUNCTION yquota_internal.rest_resource(jsonb, numeric, numeric) IS
	'Resources as the REST interface has them, or else memory in MiB and vcores';
REVOKE ALL ON FUNCTION yquota_internal.rest_resource(jsonb, numeric, numeric) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_rest_answer(what text, detail text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid answer of the ResourceManager about %', what
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = detail,
			HINT = format('Pass what /ws/v1/cluster/%s returns as JSON.', what);
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_rest_answer(text, text) IS
	'The error for what is not an answer of that kind';
REVOKE ALL ON FUNCTION yquota_internal.refuse_rest_answer(text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.rest_node(element jsonb, name_from text) RETURNS yquota.node
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	labels CONSTANT jsonb := element -> 'nodeLabels';
	node yquota.node;
BEGIN
	node.name := CASE name_from WHEN 'id' THEN element ->> 'id'
				 ELSE coalesce(element ->> 'nodeHostName', split_part(element ->> 'id', ':', 1)) END;
	IF coalesce(node.name, '') = '' THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', 'A node has no name: ' || left(element::text, 200));
	END IF;
	node.rack := coalesce(element ->> 'rack', '/default-rack');
	-- a node is in one partition, but the list may have other types of labels
	node.label := coalesce(CASE jsonb_typeof(labels) WHEN 'array' THEN labels ->> 0 WHEN 'string' THEN labels #>> '{}' END, '');
	node.state := element ->> 'state';
	node.total := yquota_internal.rest_resource(element -> 'totalResource',
		(element ->> 'usedMemoryMB')::numeric + (element ->> 'availMemoryMB')::numeric,
		(element ->> 'usedVirtualCores')::numeric + (element ->> 'availableVirtualCores')::numeric);
	IF node.state IS NULL THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', format('Node "%s" has no state.', node.name));
	END IF;
	RETURN node;
EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range OR program_limit_exceeded THEN
	PERFORM yquota_internal.refuse_rest_answer('nodes', format('Node "%s": %s.', node.name, SQLERRM));
END
$$;
COMMENT ON FUNCTION yquota_internal.rest_node(jsonb, text) IS
	'A node of the REST interface as a row';
REVOKE ALL ON FUNCTION yquota_internal.rest_node(jsonb, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.rest_nodes(answer jsonb, name_from text) RETURNS yquota.node[]
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	list jsonb := answer #> '{nodes,node}';
	nodes yquota.node[];
	twice text;
BEGIN
	IF jsonb_typeof(answer) <> 'object' OR NOT answer ? 'nodes' THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', 'There is no key "nodes".');
	END IF;
	-- one node alone is no list, and no nodes are null
	list := CASE jsonb_typeof(list) WHEN 'array' THEN list WHEN 'object' THEN jsonb_build_array(list) ELSE '[]' END;
	SELECT array_agg(yquota_internal.rest_node(e, name_from)) INTO nodes FROM jsonb_array_elements(list) AS e;
	SELECT n.name INTO twice
	FROM unnest(nodes) AS n
	WHERE n.state = 'RUNNING'
	GROUP BY n.name HAVING count(*) > 1
	LIMIT 1;
	IF FOUND THEN
		PERFORM yquota_internal.refuse_rest_answer('nodes', format('Node "%s" is there twice; where a host has several, name_from => ''id'' tells them apart.', twice));
	END IF;
	-- what ran on a host before counts for less
	RETURN ARRAY(SELECT DISTINCT ON (n.name) n
				 FROM unnest(nodes) AS n
				 ORDER BY n.name, n.state <> 'RUNNING', n.state);
END
$$;
COMMENT ON FUNCTION yquota_internal.rest_nodes(jsonb, text) IS
	'The nodes of an answer, one row for each name';
REVOKE ALL ON FUNCTION yquota_internal.rest_nodes(jsonb, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_nodes(
	answer jsonb, name_from text DEFAULT 'host', missing_are_lost boolean DEFAULT false)
	RETURNS TABLE (node text, action text, state yquota.node_state, total yquota.resource)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	nodes yquota.node[];
BEGIN
	IF answer IS NULL OR name_from IS NULL OR missing_are_lost IS NULL THEN
		RAISE EXCEPTION 'arguments of import_nodes must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF name_from NOT IN ('host', 'id') THEN
		RAISE EXCEPTION 'nodes cannot be named by "%"', name_from
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Name them by their host, or by their id, which has the port.';
	END IF;
	nodes := yquota_internal.rest_nodes(answer, name_from);
	RETURN QUERY
	WITH listed AS MATERIALIZED (
		SELECT n.name, n.rack, n.label, n.state,
			   -- what is gone offers nothing, but may come back
			   CASE WHEN n.state = 'RUNNING' OR known.name IS NULL OR n.total OPERATOR(yquota.<>) '[]'::yquota.resource THEN n.total
					ELSE known.total END AS total, known.name IS NULL AS is_new
		FROM unnest(nodes) AS n
		LEFT JOIN yquota.node AS known ON known.name = n.name
		WHERE known.name IS NULL
		   OR (known.rack, known.label, known.state) <> (n.rack, n.label, n.state)
		   OR known.total OPERATOR(yquota.<>) n.total
			  AND (n.state = 'RUNNING' OR n.total OPERATOR(yquota.<>) '[]'::yquota.resource)
	), written AS (
		INSERT INTO yquota.node AS known (name, rack, label, total, state, updated_at)
		SELECT l.name, l.rack, l.label, l.total, l.state, yquota.statement_clock() FROM listed AS l
		ON CONFLICT (name) DO UPDATE
			SET rack = EXCLUDED.rack, label = EXCLUDED.label, total = EXCLUDED.total,
				state = EXCLUDED.state, updated_at = EXCLUDED.updated_at
	), missing AS MATERIALIZED (
		SELECT known.name, known.state, known.total
		FROM yquota.node AS known
		WHERE known.state NOT IN ('DECOMMISSIONED', 'LOST', 'REBOOTED', 'SHUTDOWN')
		  AND NOT EXISTS (SELECT FROM unnest(nodes) AS n WHERE n.name = known.name)
	), lost AS (
		UPDATE yquota.node AS known
		SET state = 'LOST', updated_at = yquota.statement_clock()
		FROM missing
		WHERE missing_are_lost AND known.name = missing.name
	)
	SELECT l.name::text, CASE WHEN l.is_new THEN 'added' ELSE 'changed' END, l.state, l.total FROM listed AS l
	UNION ALL
	SELECT m.name::text, CASE WHEN missing_are_lost THEN 'lost' ELSE 'missing' END,
		   CASE WHEN missing_are_lost THEN 'LOST' ELSE m.state END, m.total
	FROM missing AS m
	ORDER BY 1;
END
$$;
COMMENT ON FUNCTION yquota.import_nodes(jsonb, text, boolean) IS
	'Bring node in line with an answer of the ResourceManager''s /ws/v1/cluster/nodes.  Returns what differed, and the nodes that it does not name; these become LOST only when missing_are_lost';
REVOKE ALL ON FUNCTION yquota.import_nodes(jsonb, text, boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.rest_utilization(metrics jsonb)
	RETURNS TABLE (resource_type text, used numeric, pending numeric, total numeric)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT t.name, coalesce(used.amount, 0), coalesce(pending.amount, 0), total.amount
		FROM yquota.resource_entries(yquota_internal.rest_resource(
				metrics -> 'totalClusterResourcesAcrossPartition',
				(metrics ->> 'totalMB')::numeric, (metrics ->> 'totalVirtualCores')::numeric)) AS total
			JOIN yquota.resource_type AS t ON t.name = total.name
			LEFT JOIN yquota.resource_entries(yquota_internal.rest_resource(
				metrics -> 'totalUsedResourcesAcrossPartition',
				(metrics ->> 'allocatedMB')::numeric, (metrics ->> 'allocatedVirtualCores')::numeric)) AS used
				ON used.name = total.name
			LEFT JOIN yquota.resource_entries(yquota_internal.rest_resource(
				NULL, (metrics ->> 'pendingMB')::numeric, (metrics ->> 'pendingVirtualCores')::numeric)) AS pending
				ON pending.name = total.name
		WHERE total.amount > 0;
	END;
COMMENT ON FUNCTION yquota_internal.rest_utilization(jsonb) IS
	'What metrics of the REST interface say is used, wanted and there, in native units, of what there is any';
REVOKE ALL ON FUNCTION yquota_internal.rest_utilization(jsonb) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.import_cluster_metrics(
	answer jsonb, reported_at timestamptz DEFAULT NULL, source text DEFAULT 'ResourceManager')
	RETURNS TABLE (resource_type text, utilization numeric)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	measured_at CONSTANT timestamptz := coalesce(reported_at, yquota.clock());
BEGIN
	IF answer IS NULL THEN
		RAISE EXCEPTION 'answer about metrics must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF jsonb_typeof(answer -> 'clusterMetrics') IS DISTINCT FROM 'object' THEN
		PERFORM yquota_internal.refuse_rest_answer('metrics', 'There is no key "clusterMetrics".');
	ELSIF NOT isfinite(measured_at)
		OR measured_at > yquota.clock() + yquota_internal.duration('yquota.max_clock_skew')
	THEN
		RAISE EXCEPTION 'metrics cannot be of %', measured_at
			USING ERRCODE = 'datetime_field_overflow',
				DETAIL = format('The clock shows %s.', yquota.clock());
	END IF;
	RETURN QUERY
	WITH measured AS MATERIALIZED (
		SELECT m.resource_type,
			   trim_scale(yquota_internal.divide_half_even(
				   CASE WHEN g.count_pending THEN m.used + m.pending ELSE m.used END, m.total, 18)) AS fraction
		FROM yquota_internal.rest_utilization(answer -> 'clusterMetrics') AS m
			JOIN yquota.resource_type AS t ON t.name = m.resource_type
			JOIN yquota.price_group AS g ON g.name = t.price_group
	), written AS (
		INSERT INTO yquota.utilization AS known (resource_type, utilization, reported_at, source)
		SELECT m.resource_type, m.fraction, measured_at, import_cluster_metrics.source FROM measured AS m
		ON CONFLICT (resource_type) DO UPDATE
			SET utilization = EXCLUDED.utilization, reported_at = EXCLUDED.reported_at, source = EXCLUDED.source
			-- answers may overtake each other
			WHERE known.reported_at <= EXCLUDED.reported_at
		RETURNING known.resource_type, known.utilization
	)
	SELECT w.resource_type::text, w.utilization FROM written AS w ORDER BY 1;
EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range OR check_violation THEN
	PERFORM yquota_internal.refuse_rest_answer('metrics', SQLERRM || '.');
END
$$;
COMMENT ON FUNCTION yquota.import_cluster_metrics(jsonb, timestamptz, text) IS
	'Report the utilization that an answer of the ResourceManager''s /ws/v1/cluster/metrics tells.  Returns what was reported: nothing of what the cluster has none of, as one that is starting, nor of an answer that has been overtaken';
REVOKE ALL ON FUNCTION yquota.import_cluster_metrics(jsonb, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.payer_project(project text, username text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN COALESCE(project, split_part(username, '__', 1));
CREATE OR REPLACE FUNCTION yquota_internal.payer_username(project text, username text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN project IS NULL AND strpos(username, '__') > 0
		   THEN split_part(username, '__', 2) ELSE username END;
CREATE OR REPLACE FUNCTION yquota_internal.microseconds(duration interval) RETURNS bigint
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN ((extract(month FROM duration) + extract(year FROM duration) * 12) * 30 * 86400000000
			+ extract(day FROM duration) * 86400000000
			+ extract(hour FROM duration) * 3600000000
			+ extract(minute FROM duration) * 60000000
			+ extract(microseconds FROM duration))::bigint;
CREATE OR REPLACE FUNCTION yquota_internal.is_due(
	project text, application_id text, username text, queue text,
	execution_type yquota.execution_type, allocation yquota.resource,
	from_at timestamptz, to_at timestamptz, amount numeric, dominant text)
RETURNS boolean
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_is_due';
CREATE OR REPLACE FUNCTION yquota_internal.last_known_step(known anyelement, value anyelement) RETURNS anyelement
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_last_known_step';
CREATE OR REPLACE AGGREGATE yquota_internal.last_known(anyelement) (
	SFUNC = yquota_internal.last_known_step,
	STYPE = anyelement,
	PARALLEL = SAFE
);
CREATE OR REPLACE VIEW yquota_internal.logged_life AS
	SELECT start.container_id,
		   yquota_internal.payer_project(start.project, start.username) AS project,
		   start.application_id,
		   yquota_internal.payer_username(start.project, start.username) AS username,
		   start.queue, start.node,
		   COALESCE(start.execution_type, 'GUARANTEED') AS execution_type,
		   start.allocation,
		   start.occurred_at AS started_at,
		   finish.occurred_at AS finished_at,
		   finish.exit_status
	FROM yquota.container_event AS start
	LEFT JOIN yquota.container_event AS finish
		ON finish.container_id = start.container_id AND finish.event = 'CONTAINER_FINISH'
	WHERE start.event = 'CONTAINER_START' AND start.container_id IS NOT NULL;
CREATE OR REPLACE VIEW yquota_internal.booked_life AS
	SELECT charge.tableoid AS book, charge.ctid AS place,
		   charge.container_id, charge.project, charge.application_id, charge.username,
		   charge.queue, charge.node, charge.execution_type, charge.allocation,
		   charge.started_at, charge."to" AS finished_at, charge.exit_status,
		   charge.amount, charge.dominant,
		   charge.number = 1 AND charge.corrects IS NULL AND charge.padding IS NULL
		   AND charge."from" = charge.started_at
		   AND charge.settled_by = 'CONTAINER_FINISH' AS is_whole
	FROM yquota.charge
	UNION ALL
	SELECT container.tableoid, container.ctid,
		   container.container_id, container.project, container.application_id, container.username,
		   container.queue, container.node, container.execution_type, container.allocation,
		   container.started_at, NULL, NULL, NULL, NULL,
		   container.settled_at = container.started_at AND container.charges = 0
	FROM yquota.container;
CREATE OR REPLACE VIEW yquota_internal.set_aside_event AS
	SELECT reject.container_id,
		   ROW(reject.event, reject.container_id, reject.occurred_at, reject.project,
			   reject.application_id, reject.username, reject.queue, reject.node,
			   reject.allocation, reject.execution_type, reject.exit_status, reject.source,
			   reject.recorded_at)::yquota.container_event AS content
	FROM yquota.event_reject AS reject
	UNION ALL
	SELECT reject.container_id,
		   ROW(reject.event, reject.container_id, reject.occurred_at, reject.project,
			   reject.application_id, reject.username, reject.queue, reject.node,
			   reject.allocation, reject.execution_type, reject.exit_status, reject.source,
			   reject.recorded_at)::yquota.container_event
	FROM yquota_internal.discarded_event AS reject
	UNION ALL
	SELECT kept.container_id,
		   ROW(kept.event, kept.container_id, kept.occurred_at, kept.project,
			   kept.application_id, kept.username, kept.queue, kept.node,
			   kept.allocation, kept.execution_type, kept.exit_status, kept.source,
			   kept.recorded_at)::yquota.container_event
	FROM yquota_internal.deferred_event AS kept;
COMMENT ON VIEW yquota_internal.set_aside_event IS
	'Events that were set aside, as rows of the log, whatever has become of their rows in event_reject; and those deferred';
CREATE OR REPLACE FUNCTION yquota_internal.unproven_container(since timestamptz) RETURNS TABLE (container_id text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT life.container_id
	FROM (
		SELECT COALESCE(logged.container_id, booked.container_id) AS container_id,
			   booked.book, booked.place, true AS concerned,
			   (booked.is_whole
				AND logged.project = booked.project
				AND logged.application_id IS NOT DISTINCT FROM booked.application_id
				AND logged.username IS NOT DISTINCT FROM booked.username
				AND logged.queue IS NOT DISTINCT FROM booked.queue
				AND logged.node IS NOT DISTINCT FROM booked.node
				AND logged.execution_type = booked.execution_type
				AND logged.allocation OPERATOR(yquota.=) booked.allocation
				AND logged.started_at = booked.started_at
				AND logged.finished_at IS NOT DISTINCT FROM booked.finished_at
				AND logged.exit_status IS NOT DISTINCT FROM booked.exit_status
				AND (booked.finished_at IS NULL
					 -- whether there was padding needs a closer look
					 OR booked.finished_at - booked.started_at >= rule.longest
					 AND yquota_internal.is_due(
						booked.project, booked.application_id, booked.username, booked.queue,
						booked.execution_type, booked.allocation,
						booked.started_at, booked.finished_at, booked.amount, booked.dominant))
			   ) IS TRUE AS proven
		FROM (SELECT * FROM yquota_internal.logged_life AS l
			  WHERE since IS NULL OR l.finished_at IS NULL OR l.finished_at >= since) AS logged
		FULL JOIN (SELECT * FROM yquota_internal.booked_life AS b
				   WHERE since IS NULL OR b.finished_at IS NULL OR b.finished_at >= since) AS booked
			USING (container_id)
		CROSS JOIN (SELECT COALESCE(max(charging_rule.minimum_run_time), '0') AS longest
					FROM yquota.charging_rule) AS rule
		UNION ALL
		SELECT event.container_id, NULL, NULL, since IS NULL OR event.occurred_at >= since, false
		FROM yquota.container_event AS event
		WHERE event.event = 'CONTAINER_UPDATE'
		UNION ALL
		SELECT aside.container_id, NULL, NULL, since IS NULL OR (aside.content).occurred_at >= since, false
		FROM yquota_internal.set_aside_event AS aside
		UNION ALL
		-- of which log and books agree only when what was voided is left out
		SELECT void.container_id, NULL, NULL, since IS NULL, false
		FROM yquota_internal.last_void AS void
		-- below the grouping, lest it carries all columns
		OFFSET 0
	) AS life
	WHERE life.container_id IS NOT NULL
	GROUP BY life.container_id
	-- an event may be in the log twice, but not a row in the books
	HAVING bool_or(life.concerned)
	   AND (NOT bool_and(life.proven)
			OR min(life.place) <> max(life.place) OR min(life.book) <> max(life.book));
	END;
CREATE OR REPLACE VIEW yquota_internal.accepted_after_all AS
	SELECT aside.content
	FROM (SELECT refused.container_id, refused.content, count(*) AS times
		  FROM yquota_internal.set_aside_event AS refused
		  GROUP BY refused.container_id, refused.content) AS aside
	JOIN yquota.container_event AS log
		ON log.container_id = aside.container_id
		AND log.* IS NOT DISTINCT FROM aside.content
	GROUP BY aside.container_id, aside.content, aside.times
	HAVING count(*) > aside.times
	   AND CASE (aside.content).event
		   WHEN 'CONTAINER_START' THEN
			   EXISTS (SELECT FROM yquota_internal.booked_life AS life
					   WHERE life.container_id = aside.container_id
						 AND life.started_at = (aside.content).occurred_at)
		   WHEN 'CONTAINER_UPDATE' THEN
			   EXISTS (SELECT FROM yquota.container_change AS change
					   WHERE change.container_id = aside.container_id
						 AND change.occurred_at = (aside.content).occurred_at)
		   ELSE
			   EXISTS (SELECT FROM yquota.charge
					   WHERE charge.container_id = aside.container_id
						 AND charge."to" = (aside.content).occurred_at
						 AND charge.settled_by = 'CONTAINER_FINISH')
		   END;
CREATE OR REPLACE VIEW yquota_internal.arrival_of_voided AS
	SELECT log.*, log.tableoid AS book, log.ctid AS place,
		   log.tableoid <> 'yquota.container_event'::regclass AS is_sealed,
		   log.recorded_at > void.recorded_until AS is_later
	FROM yquota_internal.last_void AS void
	JOIN yquota.container_event AS log ON log.container_id = void.container_id
	WHERE NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside
					  WHERE aside.container_id = log.container_id
						AND log.* IS NOT DISTINCT FROM aside.content)
	UNION ALL
	SELECT (late.content).*, NULL, NULL, NULL, (late.content).recorded_at > void.recorded_until
	FROM yquota_internal.last_void AS void
	JOIN yquota_internal.accepted_after_all AS late
		ON (late.content).container_id = void.container_id;
COMMENT ON VIEW yquota_internal.arrival_of_voided IS
	'The log of containers that were ever voided, without what has been set aside; is_later when it was recorded after the last void';
CREATE OR REPLACE VIEW yquota_internal.arrived_since_void AS
	SELECT arrived.*
	FROM yquota_internal.arrival_of_voided AS arrived
	WHERE NOT arrived.is_later
	  AND EXISTS (
		SELECT FROM yquota_internal.event_since_void AS known
		WHERE known.container_id = arrived.container_id
		  AND known.event = arrived.event
		  AND CASE
			  WHEN known.repeated_start THEN
				  known.occurred_at = greatest(arrived.recorded_at, arrived.occurred_at)
			  ELSE known.occurred_at = arrived.occurred_at END
		  AND CASE arrived.event
			  WHEN 'CONTAINER_FINISH' THEN
				  known.exit_status IS NOT DISTINCT FROM arrived.exit_status
			  ELSE known.allocation::text IS NOT DISTINCT FROM arrived.allocation::text END
		  AND (arrived.event = 'CONTAINER_FINISH' OR known.repeated_start
			   OR known.queue IS NOT DISTINCT FROM arrived.queue
			   AND known.node IS NOT DISTINCT FROM arrived.node
			   AND known.execution_type IS NOT DISTINCT FROM
				   COALESCE(arrived.execution_type,
							CASE arrived.event WHEN 'CONTAINER_START' THEN 'GUARANTEED' END::yquota.execution_type))
		  AND (arrived.event <> 'CONTAINER_START' OR known.repeated_start
			   OR known.project = yquota_internal.payer_project(arrived.project, arrived.username)
			   AND known.username IS NOT DISTINCT FROM yquota_internal.payer_username(arrived.project, arrived.username)
			   AND known.application_id IS NOT DISTINCT FROM arrived.application_id))
	  AND NOT EXISTS (
		SELECT FROM yquota_internal.arrival_of_voided AS later
		WHERE later.is_later
		  AND later.container_id = arrived.container_id
		  AND later.event = arrived.event
		  AND CASE arrived.event
			  WHEN 'CONTAINER_START' THEN
				  later.occurred_at <> arrived.occurred_at
				  OR yquota_internal.payer_project(later.project, later.username)
					 <> yquota_internal.payer_project(arrived.project, arrived.username)
			  WHEN 'CONTAINER_FINISH' THEN
				  later.occurred_at <> arrived.occurred_at
				  OR later.exit_status IS DISTINCT FROM arrived.exit_status
			  ELSE later.occurred_at = arrived.occurred_at
				  AND (later.allocation::text, later.execution_type, later.queue, later.node)
					  IS DISTINCT FROM (arrived.allocation::text, arrived.execution_type, arrived.queue, arrived.node)
				  AND num_nonnulls(later.allocation, later.execution_type, later.queue, later.node) > 0
			  END);
COMMENT ON VIEW yquota_internal.arrived_since_void IS
	'Events recorded no later than the last void of their container that nevertheless came after it: the books know them, and nothing recorded later contradicts them';
CREATE OR REPLACE FUNCTION yquota_internal.accepted_event(since timestamptz)
	RETURNS TABLE (container_id text, event yquota.container_event_type, occurred_at timestamptz,
				   project text, application_id text, username text, queue text, node text,
				   allocation yquota.resource, execution_type yquota.execution_type,
				   exit_status integer, recorded_at timestamptz, arrival bigint)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH unproven AS MATERIALIZED (
		SELECT u.container_id FROM yquota_internal.unproven_container(since) AS u
	), accepted AS (
		SELECT log.*, log.tableoid AS book, log.ctid AS place,
			   log.tableoid <> 'yquota.container_event'::regclass AS is_sealed
		FROM yquota.container_event AS log
		WHERE log.container_id IN (SELECT unproven.container_id FROM unproven)
		  AND log.event <> 'QUOTA_COMPUTE'
		  AND NOT EXISTS (SELECT FROM yquota_internal.set_aside_event AS aside
						  WHERE aside.container_id = log.container_id
							AND log.* IS NOT DISTINCT FROM aside.content)
		  AND NOT EXISTS (SELECT FROM yquota_internal.last_void AS void
						  WHERE void.container_id = log.container_id
							AND log.recorded_at <= void.recorded_until)
		UNION ALL
		SELECT (late.content).*, NULL, NULL, NULL
		FROM yquota_internal.accepted_after_all AS late
		WHERE (late.content).container_id IN (SELECT unproven.container_id FROM unproven)
		  AND NOT EXISTS (SELECT FROM yquota_internal.last_void AS void
						  WHERE void.container_id = (late.content).container_id
							AND (late.content).recorded_at <= void.recorded_until)
		UNION ALL
		SELECT arrived.event, arrived.container_id, arrived.occurred_at, arrived.project,
			   arrived.application_id, arrived.username, arrived.queue, arrived.node,
			   arrived.allocation, arrived.execution_type, arrived.exit_status, arrived.source,
			   arrived.recorded_at, arrived.book, arrived.place, arrived.is_sealed
		FROM yquota_internal.arrived_since_void AS arrived
		WHERE arrived.container_id IN (SELECT unproven.container_id FROM unproven)
	), begun AS MATERIALIZED (
		-- The last row is of the life that counts, if others have been voided,
		-- and all rows of one that never changed say the same.
		SELECT DISTINCT ON (life.container_id)
			   life.container_id, life.application_id, life.username,
			   CASE WHEN first.event IS NULL THEN life.queue ELSE first.queue END AS queue,
			   CASE WHEN first.event IS NULL THEN life.node ELSE first.node END AS node,
			   COALESCE(first.execution_type, life.execution_type) AS execution_type,
			   COALESCE(first.allocation, life.allocation) AS allocation
		FROM (SELECT charge.container_id, charge.application_id, charge.username, charge.queue, charge.node,
					 charge.execution_type, charge.allocation, charge.number
			  FROM yquota.charge
			  UNION ALL
			  SELECT container.container_id, container.application_id, container.username, container.queue, container.node,
					 container.execution_type, container.allocation, container.charges + 1
			  FROM yquota.container) AS life
		LEFT JOIN yquota.container_change AS first
			ON first.container_id = life.container_id AND first.event = 'CONTAINER_START'
		WHERE life.container_id IN (SELECT a.container_id FROM accepted AS a
									WHERE a.event = 'CONTAINER_START'
									GROUP BY a.container_id HAVING count(*) > 1)
		ORDER BY life.container_id, life.number DESC
	)
	-- Of several STARTs that came first with which the books begin: the clock
	-- may have gone back since.  Otherwise they are in the order of the clock.
	SELECT a.container_id, a.event, a.occurred_at, a.project, a.application_id, a.username,
		   a.queue, a.node, a.allocation, a.execution_type, a.exit_status, a.recorded_at,
		   row_number() OVER (PARTITION BY a.container_id, a.event
							  ORDER BY a.event = 'CONTAINER_START' AND begun.container_id IS NOT NULL AND NOT (
								  a.application_id IS NOT DISTINCT FROM begun.application_id
								  AND yquota_internal.payer_username(a.project, a.username) IS NOT DISTINCT FROM begun.username
								  AND a.queue IS NOT DISTINCT FROM begun.queue
								  AND a.node IS NOT DISTINCT FROM begun.node
								  AND COALESCE(a.execution_type, 'GUARANTEED') = begun.execution_type
								  AND a.allocation OPERATOR(yquota.=) begun.allocation),
								  a.recorded_at, a.is_sealed DESC, a.book, a.place)
	FROM accepted AS a
	LEFT JOIN begun USING (container_id)
	UNION ALL
	SELECT unproven.container_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
	FROM unproven;
	END;
COMMENT ON FUNCTION yquota_internal.accepted_event(timestamptz) IS
	'The log of unproven containers without what has been set aside or voided; arrival numbers the events of one kind of a container.  A further row of each container, with nothing but its id, stands for those of which nothing was accepted';
CREATE OR REPLACE FUNCTION yquota_internal.expected_segment(since timestamptz)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, execution_type yquota.execution_type,
				   allocation yquota.resource, started_at timestamptz, finished_at timestamptz,
				   exit_status integer, "from" timestamptz, "to" timestamptz, is_last boolean,
				   ends_period boolean)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH event AS MATERIALIZED (
		-- results of functions have no collation of their own
		SELECT e.container_id COLLATE "C" AS container_id, e.event, e.occurred_at, e.project,
			   e.application_id, e.username, e.queue, e.node, e.allocation, e.execution_type,
			   e.exit_status, e.recorded_at, e.arrival
		FROM yquota_internal.accepted_event(since) AS e
	), life AS MATERIALIZED (
		SELECT start.container_id,
			   yquota_internal.payer_project(start.project, start.username) AS project,
			   yquota_internal.payer_username(start.project, start.username) AS username,
			   start.application_id, start.queue, start.node, start.allocation,
			   COALESCE(start.execution_type, 'GUARANTEED') AS execution_type,
			   start.occurred_at AS started_at, finish.occurred_at AS finished_at, finish.exit_status
		FROM event AS start
		LEFT JOIN event AS finish
			ON finish.container_id = start.container_id
			AND finish.event = 'CONTAINER_FINISH' AND finish.arrival = 1
		WHERE start.event = 'CONTAINER_START' AND start.arrival = 1
	), step AS (
		SELECT l.container_id, l.started_at AS at, 1 AS kind,
			   l.allocation, l.execution_type, l.queue, l.node
		FROM life AS l
		UNION ALL
		SELECT DISTINCT ON (e.container_id, e.occurred_at)
			   e.container_id, e.occurred_at, 2, e.allocation, e.execution_type, e.queue, e.node
		FROM event AS e
		WHERE e.event = 'CONTAINER_UPDATE'
		  AND num_nonnulls(e.allocation, e.execution_type, e.queue, e.node) > 0
		UNION ALL
		-- a START repeated with a new allocation is an UPDATE; which one it is
		-- depends on what was known then, and only the books know that
		SELECT change.container_id, change.occurred_at, 2,
			   change.allocation, change.execution_type, change.queue, change.node
		FROM yquota.container_change AS change
		WHERE change.repeated_start
		  AND EXISTS (SELECT FROM event AS e
					  WHERE e.container_id = change.container_id
						AND e.event = 'CONTAINER_START' AND e.arrival > 1
						AND (greatest(e.recorded_at, e.occurred_at) = change.occurred_at
							 -- or behind what lay ahead of the clock
							 OR greatest(e.recorded_at, e.occurred_at) < change.occurred_at
							 AND EXISTS (SELECT FROM yquota.container_change AS ahead
										 WHERE ahead.container_id = change.container_id
										   AND ahead.event = 'CONTAINER_UPDATE'
										   AND ahead.occurred_at = change.occurred_at - interval '1 microsecond'))
						AND e.allocation OPERATOR(yquota.=) change.allocation)
		UNION ALL
		SELECT l.container_id, period.until, 3, NULL, NULL, NULL, NULL
		FROM life AS l
		JOIN yquota.closed_period AS period
			ON period.until > l.started_at AND (l.finished_at IS NULL OR period.until < l.finished_at)
		-- while it is being closed, some have not been settled at its end yet
		WHERE period.closed_at IS NOT NULL
		   OR l.container_id NOT IN (SELECT unsettled.container_id
									 FROM yquota_internal.unsettled_at_period_end AS unsettled
									 JOIN yquota.closed_period AS closing ON closing.until = unsettled.until
									 WHERE closing.closed_at IS NULL)
	), stretch AS (
		SELECT step.container_id, step.at,
			   lead(step.at) OVER so_far AS next_at,
			   lead(step.kind) OVER so_far AS next_kind,
			   yquota_internal.last_known(step.allocation) OVER so_far AS allocation,
			   yquota_internal.last_known(step.execution_type) OVER so_far AS execution_type,
			   yquota_internal.last_known(step.queue) OVER so_far AS queue,
			   yquota_internal.last_known(step.node) OVER so_far AS node
		FROM step
		WINDOW so_far AS (PARTITION BY step.container_id ORDER BY step.at, step.kind
						  ROWS UNBOUNDED PRECEDING)
	)
	SELECT concerned.container_id, life.project, life.application_id, life.username,
		   stretch.queue, stretch.node, stretch.execution_type, stretch.allocation,
		   life.started_at, life.finished_at, life.exit_status,
		   stretch.at, COALESCE(stretch.next_at, life.finished_at), stretch.next_at IS NULL,
		   stretch.next_kind IS NOT DISTINCT FROM 3
	FROM (SELECT event.container_id FROM event WHERE event.event IS NULL) AS concerned
	LEFT JOIN (life JOIN stretch USING (container_id)) USING (container_id);
	END;
COMMENT ON FUNCTION yquota_internal.expected_segment(timestamptz) IS
	'What each unproven container held from when to when, according to the log; "to" is NULL while it runs, everything but the id when the log has no start of it';
REVOKE ALL ON FUNCTION yquota_internal.expected_segment(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.expected_charge(since timestamptz)
	RETURNS TABLE (container_id text, project text, application_id text, username text,
				   queue text, node text, execution_type yquota.execution_type,
				   allocation yquota.resource, started_at timestamptz, exit_status integer,
				   "from" timestamptz, "to" timestamptz, padding interval,
				   settled_by yquota.container_event_type, dominant text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH segment AS MATERIALIZED (
		SELECT s.*, yquota_internal.factor_names(s.project, s.application_id, s.username, s.queue,
												 s.execution_type) AS factors
		FROM yquota_internal.expected_segment(since) AS s
	)
	SELECT s.container_id, s.project, s.application_id, s.username, s.queue, s.node,
		   s.execution_type, s.allocation, s.started_at,
		   CASE WHEN s.is_last THEN s.exit_status END,
		   s."from", s."to", NULL,
		   CASE WHEN s.is_last THEN 'CONTAINER_FINISH' WHEN s.ends_period THEN 'QUOTA_COMPUTE'
				ELSE 'CONTAINER_UPDATE' END::yquota.container_event_type,
		   yquota_internal.dominant(s.allocation, s.factors, s."from", s."to"),
		   yquota_internal.accrued(s.allocation, s.factors, s."from", s."to")
	FROM segment AS s
	-- a change at the instant of another one, or of the start, settles nothing
	WHERE s."to" IS DISTINCT FROM s."from" OR s.is_last
	UNION ALL
	SELECT s.container_id, s.project, s.application_id, s.username, s.queue, s.node,
		   s.execution_type, s.allocation, s.started_at, s.exit_status,
		   s.finished_at, s.finished_at, short.missing, 'CONTAINER_FINISH',
		   -- nothing changes within a microsecond
		   yquota_internal.dominant(s.allocation, s.factors, s.finished_at,
									s.finished_at + interval '1 microsecond'),
		   yquota_internal.rate(s.allocation, s.factors, s.finished_at)
		   * yquota_internal.microseconds(short.missing) * 0.000001
	FROM segment AS s
	CROSS JOIN LATERAL (
		SELECT rule.minimum_run_time - (s.finished_at - s.started_at) AS missing
		FROM yquota.charging_rule AS rule
		WHERE rule.effective_at <= s.started_at
		ORDER BY rule.effective_at DESC LIMIT 1
	) AS short
	WHERE s.is_last AND short.missing > interval '0';
	END;
COMMENT ON FUNCTION yquota_internal.expected_charge(timestamptz) IS
	'Rows that the ledger should have in effect for unproven containers; "to" and amount are NULL for what still runs, "from" when there is no start';
REVOKE ALL ON FUNCTION yquota_internal.expected_charge(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_lives(since timestamptz)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	WITH due AS MATERIALIZED (
		SELECT e.*, COALESCE(yquota_internal.microseconds(e.padding), 0) AS padded, 1::bigint AS copy,
			   ROW(e.project COLLATE "C", e.application_id COLLATE "C", e.username COLLATE "C",
				   e.queue COLLATE "C", e.node COLLATE "C", e.execution_type, e.allocation,
				   e.started_at, e.settled_by, e.exit_status) AS content
		FROM yquota_internal.expected_charge(since) AS e
	), posted AS MATERIALIZED (
		SELECT charge.* FROM yquota.charge
		WHERE charge.container_id IN (SELECT due.container_id FROM due)
	), in_effect AS (
		SELECT p.container_id, p.number, p."from", p."to", p.dominant, p.amount,
			   COALESCE(yquota_internal.microseconds(p.padding), 0) AS padded,
			   row_number() OVER (PARTITION BY p.container_id, p."from", p."to", p.padding
								  ORDER BY p.number) AS copy,
			   ROW(p.project, p.application_id, p.username, p.queue, p.node, p.execution_type,
				   p.allocation, p.started_at, p.settled_by, p.exit_status) AS content
		FROM posted AS p
		WHERE p.corrects IS NULL
		  AND NOT EXISTS (SELECT FROM posted AS taking_back
						  WHERE taking_back.container_id = p.container_id
							AND taking_back.corrects = p.number)
	)
	SELECT 'ledger differs from the log', log.container_id,
		   format('%s credits for project %s', trim_scale(log.amount), log.project),
		   format('%s credits for project %s, %s rows up to number %s',
				  trim_scale(ledger.amount), ledger.project, ledger.rows, ledger.last_number)
	FROM (SELECT due.container_id, max(due.project) AS project, sum(due.amount) AS amount
		  FROM due GROUP BY due.container_id) AS log
	-- what was charged until a void has been taken back, whoever had paid
	LEFT JOIN (SELECT posted.container_id, posted.project, posted.number <= void.charges AS is_void,
					  sum(posted.amount) AS amount,
					  sum(count(*)) OVER container AS rows, max(max(posted.number)) OVER container AS last_number
			   FROM posted
			   LEFT JOIN yquota_internal.last_void AS void ON void.container_id = posted.container_id
			   GROUP BY 1, 2, 3
			   WINDOW container AS (PARTITION BY posted.container_id)) AS ledger USING (container_id)
	WHERE CASE WHEN ledger.is_void THEN 0 ELSE COALESCE(log.amount, 0) END <> COALESCE(ledger.amount, 0)
	   OR ledger.project IS NOT NULL AND ledger.project IS DISTINCT FROM log.project AND ledger.is_void IS NOT TRUE
	   OR ledger.last_number <> ledger.rows
	UNION ALL
	SELECT CASE WHEN log.content IS DISTINCT FROM ledger.content THEN 'charge differs from the log'
		   ELSE 'amount of a charge differs from the timelines' END,
		   format('%s number %s', container_id, ledger.number),
		   format('%s by %s, %s to %s %s', trim_scale(log.amount), log.dominant, log."from", log."to", log.content),
		   format('%s by %s, %s to %s %s', trim_scale(ledger.amount), ledger.dominant, ledger."from", ledger."to", ledger.content)
	FROM (SELECT * FROM due WHERE due."to" IS NOT NULL) AS log
	FULL JOIN in_effect AS ledger USING (container_id, "from", "to", padded, copy)
	WHERE log.content IS DISTINCT FROM ledger.content
	   OR log.amount <> ledger.amount OR log.dominant IS DISTINCT FROM ledger.dominant
	UNION ALL
	SELECT 'running container differs from the log', container_id,
		   format('since %s %s', log."from", log.content),
		   format('since %s %s', running.settled_at, running.content)
	FROM (SELECT due.container_id, due."from",
				 ROW(due.project COLLATE "C", due.application_id COLLATE "C", due.username COLLATE "C",
					 due.queue COLLATE "C", due.node COLLATE "C", due.execution_type, due.allocation,
					 due.started_at, COALESCE(ledger.rows, 0)) AS content
		  FROM due
		  LEFT JOIN (SELECT posted.container_id, count(*)::integer AS rows
					 FROM posted GROUP BY posted.container_id) AS ledger USING (container_id)
		  WHERE due."from" IS NOT NULL AND due."to" IS NULL) AS log
	FULL JOIN (
		SELECT c.container_id, c.settled_at,
			   ROW(c.project, c.application_id, c.username, c.queue, c.node,
				   c.execution_type, c.allocation, c.started_at, c.charges) AS content
		FROM yquota.container AS c
		WHERE c.container_id IN (SELECT due.container_id FROM due)
	) AS running USING (container_id)
	WHERE log.content IS DISTINCT FROM running.content
	   OR log."from" IS DISTINCT FROM running.settled_at;
	END;
COMMENT ON FUNCTION yquota_internal.verify_lives(timestamptz) IS
	'What differs between the log and the books of containers that are not proven';
REVOKE ALL ON FUNCTION yquota_internal.verify_lives(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_accruals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'accrual of a running container differs from the timelines', container.container_id,
		   format('%s under %s', trim_scale(due.amount), due.names),
		   format('%s under %s', trim_scale(container.accrual_base), container.factors)
	FROM yquota.container
	CROSS JOIN LATERAL (
		SELECT names, yquota_internal.accrued(container.allocation, names,
				date_trunc('hour', container.settled_at, 'UTC'), container.settled_at) AS amount
		FROM yquota_internal.factor_names(container.project, container.application_id,
			container.username, container.queue, container.execution_type) AS names
	) AS due
	WHERE due.amount <> container.accrual_base OR due.names IS DISTINCT FROM container.factors
	UNION ALL
	SELECT 'rate class differs from running containers',
		   format('%s %s %s %s', project, shape, factors, reference_at),
		   format('weight %s, accrual base %s', running.weight, trim_scale(running.accrual_base)),
		   format('weight %s, accrual base %s', class.weight, trim_scale(class.accrual_base))
	FROM (SELECT container.project, yquota_internal.shape(container.allocation)::text AS shape,
				 COALESCE(container.factors, '{}') AS factors,
				 date_trunc('hour', container.settled_at, 'UTC') AS reference_at,
				 sum(yquota_internal.weight(container.allocation)) AS weight,
				 sum(container.accrual_base) AS accrual_base
		  FROM yquota.container
		  WHERE yquota_internal.weight(container.allocation) <> 0
		  GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT rate_class.project, rate_class.shape::text AS shape, COALESCE(rate_class.factors, '{}') AS factors,
			   rate_class.reference_at, rate_class.weight, rate_class.accrual_base
		FROM yquota_internal.rate_class
	) AS class USING (project, shape, factors, reference_at)
	WHERE running.weight IS DISTINCT FROM class.weight
	   OR running.accrual_base IS DISTINCT FROM class.accrual_base;
	END;
CREATE OR REPLACE FUNCTION yquota_internal.verify_running_totals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'running total of a project differs from its rate classes', project,
		   format('%s classes, accrual base %s', due.classes, trim_scale(due.accrual_base)),
		   format('weights %s, accrual base %s', total.weights, trim_scale(total.accrual_base))
	FROM (SELECT class.project, count(*) AS classes,
				 yquota_internal.pack_weights(number.class_id, class.weight)
					 FILTER (WHERE number.class_id IS NOT NULL) AS weights,
				 sum(class.accrual_base)
				 - yquota_internal.accrued_sum(class.shape, class.factors, class.weight, NULL,
											   class.reference_at, reference.reference_at) AS accrual_base
		  FROM yquota_internal.valid_reference AS reference
		  CROSS JOIN yquota_internal.rate_class_counter AS class
		  LEFT JOIN yquota_internal.running_class AS number
			ON number.shape OPERATOR(yquota.=) class.shape
			AND number.factors IS NOT DISTINCT FROM class.factors
		  GROUP BY class.project) AS due
	FULL JOIN (
		SELECT project, counter.accrual_base, running_total.weights
		FROM yquota_internal.project_counter AS counter
		FULL JOIN yquota_internal.running_total USING (project)
		WHERE EXISTS (SELECT FROM yquota_internal.valid_reference)
	) AS total USING (project)
	WHERE COALESCE(due.weights, '') <> COALESCE(total.weights, '')
	   OR COALESCE(due.accrual_base, 0) <> COALESCE(total.accrual_base, 0);
	END;
CREATE OR REPLACE FUNCTION yquota_internal.verify_usage()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'usage of a queue differs from running containers',
		   format('%s %s %s %s', queue, label, username, execution_type),
		   format('%s containers %s', running.containers, running.allocation),
		   format('%s containers %s', usage.containers, usage.allocation)
	FROM (SELECT COALESCE(container.queue, '') AS queue, COALESCE(container.label, '') AS label,
				 COALESCE(container.username, '') AS username, container.execution_type,
				 count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container GROUP BY 1, 2, 3, 4) AS running
	FULL JOIN (
		SELECT COALESCE(queue_usage.queue, '') AS queue, COALESCE(queue_usage.label, '') AS label,
			   COALESCE(queue_usage.username, '') AS username, queue_usage.execution_type,
			   sum(queue_usage.containers)::bigint AS containers,
			   yquota.sum(queue_usage.allocation) AS allocation
		FROM yquota.queue_usage GROUP BY 1, 2, 3, 4
	) AS usage USING (queue, label, username, execution_type)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation::text IS DISTINCT FROM usage.allocation::text
	UNION ALL
	SELECT 'usage of a node differs from running containers', node,
		   format('%s containers %s', running.containers, running.allocation),
		   format('%s containers %s', usage.containers, usage.allocation)
	FROM (SELECT container.node, count(*) AS containers, yquota.sum(container.allocation) AS allocation
		  FROM yquota.container WHERE container.node IS NOT NULL GROUP BY 1) AS running
	FULL JOIN (
		SELECT node_usage.node, node_usage.containers,
			   node_usage.guaranteed OPERATOR(yquota.+) node_usage.opportunistic AS allocation
		FROM yquota.node_usage WHERE node_usage.containers <> 0
	) AS usage USING (node)
	WHERE running.containers IS DISTINCT FROM usage.containers
	   OR running.allocation::text IS DISTINCT FROM usage.allocation::text;
	END;
CREATE OR REPLACE VIEW yquota_internal.ledger_total AS
	SELECT part.project, sum(part.charged) AS charged
	FROM (SELECT charge.project, charge.amount AS charged
		  FROM yquota.charge
		  UNION ALL
		  (SELECT DISTINCT ON (opening.project) opening.project, opening.charged
		   FROM yquota.opening_balance AS opening
		   ORDER BY opening.project, opening.archived_through DESC)) AS part
	GROUP BY part.project;
CREATE OR REPLACE FUNCTION yquota_internal.verify_totals()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'charged credits of a project differ from the ledger', project,
		   trim_scale(ledger.charged)::text, trim_scale(counter.charged)::text
	FROM yquota_internal.ledger_total AS ledger
	FULL JOIN (
		SELECT part.project, sum(part.charged) AS charged
		FROM (SELECT project_counter.project, project_counter.charged
			  FROM yquota_internal.project_counter
			  UNION ALL
			  SELECT delta.project, delta.charged
			  FROM yquota_internal.counter_delta AS delta
			  WHERE delta.scope IN ('a', 'p') AND delta.charged IS NOT NULL) AS part
		GROUP BY part.project
	) AS counter USING (project)
	WHERE COALESCE(ledger.charged, 0) <> COALESCE(counter.charged, 0)
	UNION ALL
	SELECT 'project of the books does not exist', books.project, 'a row of project', NULL
	FROM (SELECT total.project FROM yquota_internal.project_counter AS total
		  UNION
		  SELECT class.project FROM yquota_internal.rate_class_counter AS class
		  UNION
		  SELECT delta.project FROM yquota_internal.counter_delta AS delta
		  WHERE delta.project IS NOT NULL) AS books
	WHERE NOT EXISTS (SELECT FROM yquota.project WHERE project.name = books.project);
	END;
COMMENT ON FUNCTION yquota_internal.verify_totals() IS
	'What differs between the ledger, the counters of projects and the projects there are';
CREATE OR REPLACE FUNCTION yquota_internal.verify_applications()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'counter of applications differs from applications',
		   format('%s %s %s', queue, username, label), due.counts, counter.counts
	FROM (SELECT a.queue, a.username, a.label,
				 format('%s held, %s waiting, %s active, %s demanding, %s',
						count(*) FILTER (WHERE a.state = 'NON_RUNNABLE'), count(*) FILTER (WHERE a.state = 'ACCEPTED'),
						count(*) FILTER (WHERE a.state = 'ACTIVE'),
						count(*) FILTER (WHERE a.has_outstanding_requests),
						COALESCE(yquota.sum(a.am_resource) FILTER (WHERE a.state = 'ACTIVE'), '[]')) AS counts
		  FROM yquota.application AS a
		  WHERE a.finished_at IS NULL
		  GROUP BY 1, 2, 3) AS due
	FULL JOIN (
		SELECT c.queue, c.username, c.label,
			   format('%s held, %s waiting, %s active, %s demanding, %s',
					  c.non_runnable, c.accepted, c.active, c.demanding, c.am_used) AS counts
		FROM yquota_internal.application_counter AS c) AS counter USING (queue, username, label)
	WHERE due.counts IS DISTINCT FROM counter.counts
	UNION ALL
	SELECT 'number of live applications differs from applications', NULL, due.live::text, total.live::text
	FROM (SELECT count(*) AS live FROM yquota.application AS a WHERE a.finished_at IS NULL) AS due,
		 (SELECT COALESCE(sum(t.live), 0) + yquota_internal.unwritten_applications() AS live
		  FROM yquota_internal.application_total AS t) AS total
	WHERE due.live <> total.live;
	END;
COMMENT ON FUNCTION yquota_internal.verify_applications() IS
	'What differs between applications and what is counted of them';
REVOKE ALL ON FUNCTION yquota_internal.verify_applications() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_scheduler()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'application that the scheduler keeps something for is not live', kept.application_id, 'a live application', kept.what
	FROM (SELECT r.application_id, 'resource_request' AS what FROM yquota.resource_request AS r
		  UNION SELECT b.application_id, 'blacklist' FROM yquota.blacklist AS b
		  UNION SELECT r.application_id, 'reservation' FROM yquota.reservation AS r
		  UNION SELECT c.application_id, 'request_counter' FROM yquota_internal.request_counter AS c) AS kept
	WHERE NOT EXISTS (
		SELECT FROM yquota.application AS a WHERE a.application_id = kept.application_id AND a.finished_at IS NULL)
	UNION ALL
	SELECT 'application asks for containers and is not said to', a.application_id, 'has_outstanding_requests',
		   format('%s containers', sum(r.count))
	FROM yquota.application AS a
	JOIN yquota.resource_request AS r ON r.application_id = a.application_id AND r.resource_name = '*'
	WHERE a.state = 'ACTIVE' AND NOT a.has_outstanding_requests
	GROUP BY a.application_id
	HAVING sum(r.count) > 0
	UNION ALL
	SELECT 'container that the scheduler started is not in the books', d.container_id, format('%s on %s', d.allocation, d.node), NULL
	FROM yquota.decision AS d
	WHERE d.decision IN ('allocated', 'swapped')
	  AND NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = d.container_id)
	  AND NOT EXISTS (SELECT FROM yquota.charge AS c WHERE c.container_id = d.container_id)
	UNION ALL
	SELECT 'container of an application has a number that is yet to be given', c.container_id, format('below %s', t.next_container), NULL
	FROM yquota_internal.application_attempt AS t
	JOIN yquota.container AS c ON c.container_id = t.am_container_id
	WHERE substring(c.container_id FROM '[0-9]+$')::numeric >= t.next_container;
	END;
COMMENT ON FUNCTION yquota_internal.verify_scheduler() IS
	'What differs between what the scheduler keeps of applications, the applications and the books';
REVOKE ALL ON FUNCTION yquota_internal.verify_scheduler() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_deferred()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'deferred event is missing from the log', kept.container_id,
		   format('%s times %s', kept.times, kept.content),
		   format('%s times', count(log.container_id))
	FROM (SELECT aside.container_id, aside.content, count(*) AS times
		  FROM (SELECT d.container_id,
					   ROW(d.event, d.container_id, d.occurred_at, d.project, d.application_id,
						   d.username, d.queue, d.node, d.allocation, d.execution_type,
						   d.exit_status, d.source, d.recorded_at)::yquota.container_event AS content
				FROM yquota_internal.deferred_event AS d
				WHERE d.container_id IS NOT NULL) AS aside
		  GROUP BY aside.container_id, aside.content) AS kept
	LEFT JOIN yquota.container_event AS log
		ON log.container_id = kept.container_id
		AND log.* IS NOT DISTINCT FROM kept.content
	GROUP BY kept.container_id, kept.content, kept.times
	HAVING count(log.container_id) < kept.times;
	END;
COMMENT ON FUNCTION yquota_internal.verify_deferred() IS
	'Deferred events that the log does not have';
REVOKE ALL ON FUNCTION yquota_internal.verify_deferred() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_grants()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'credit lost by an expired grant differs from what was spent', format('grant %s of %s', noted.grant_id, noted.project),
		   computed.lost::text, noted.lost::text
	FROM (SELECT expired.project, max(expired.expired_at) AS until
		  FROM yquota.expired_grant AS expired GROUP BY expired.project) AS ended
	CROSS JOIN LATERAL yquota_internal.credit_state(ended.project, ended.until) AS state
	JOIN yquota.expired_grant AS noted ON noted.project = ended.project
	LEFT JOIN LATERAL unnest(state.expired_grants, state.losses) AS computed (grant_id, lost)
		ON computed.grant_id = noted.grant_id
	WHERE computed.lost IS DISTINCT FROM noted.lost;
	END;
COMMENT ON FUNCTION yquota_internal.verify_grants() IS
	'What grants lost, against what projects had spent when they expired';
REVOKE ALL ON FUNCTION yquota_internal.verify_grants() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_families()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'ancestor of a project differs from the parents there are', format('project %s below %s', member, ancestor),
		   line.depth::text, family.depth::text
	FROM yquota_internal.project_line(NULL) AS line
	FULL JOIN yquota_internal.project_family AS family USING (member, ancestor)
	WHERE line.depth IS DISTINCT FROM family.depth;
	END;
COMMENT ON FUNCTION yquota_internal.verify_families() IS
	'Who descends from whom, against the parents of projects';
REVOKE ALL ON FUNCTION yquota_internal.verify_families() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.verify(since timestamptz DEFAULT NULL)
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, yquota, pg_temp
	-- Whole tables are joined with each other: by hashing, which parallel
	-- workers share and which spills to disk in parts.  Before anybody has
	-- collected statistics, nested loops over the log look cheap.
	SET enable_nestloop = off
	SET enable_mergejoin = off
	-- fewer parts, for every role and session the same
	SET work_mem = '32MB'
	-- would compile hundreds of expressions, longer than most run
	SET jit = off
	AS $$
BEGIN
	RETURN QUERY SELECT * FROM yquota_internal.verify_deferred();
	RETURN QUERY SELECT * FROM yquota_internal.verify_lives(since);
	RETURN QUERY SELECT * FROM yquota_internal.verify_accruals();
	RETURN QUERY SELECT * FROM yquota_internal.verify_running_totals();
	RETURN QUERY SELECT * FROM yquota_internal.verify_usage();
	RETURN QUERY SELECT * FROM yquota_internal.verify_totals();
	RETURN QUERY SELECT * FROM yquota_internal.verify_rollup();
	RETURN QUERY SELECT * FROM yquota_internal.verify_periods();
	RETURN QUERY SELECT * FROM yquota_internal.verify_grants();
	RETURN QUERY SELECT * FROM yquota_internal.verify_families();
	RETURN QUERY SELECT * FROM yquota_internal.verify_applications();
	RETURN QUERY SELECT * FROM yquota_internal.verify_scheduler();
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.explain_charge_as_owner(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric, node text,
		execution_type yquota.execution_type, prices jsonb, factors_in_force jsonb,
		factor numeric, forgiven boolean, settled boolean)
	-- keeps its plans, which take longer to make than to run
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	WITH segment AS (
		SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type,
			   c.allocation, c."from", c."to", c.padding, true AS settled
		FROM yquota_internal.charge_in_effect AS c
		WHERE c.container_id = explain_charge_as_owner.container_id
		UNION ALL
		SELECT c.project, c.application_id, c.username, c.queue, c.node, c.execution_type,
			   c.allocation, c.settled_at, yquota.statement_clock(), NULL, false
		FROM yquota.container AS c
		WHERE c.container_id = explain_charge_as_owner.container_id
		  AND c.settled_at < yquota.statement_clock()
	)
	SELECT stretch.since, stretch.until, segment.queue, segment.allocation,
		   stretch.dominant, yquota.amount(segment.allocation, stretch.dominant),
		   trim_scale(in_force.multiplier), (stretch.prices ->> stretch.dominant)::numeric,
		   applying.names, stretch.rate, segment.padding,
		   trim_scale(CASE WHEN segment.padding IS NULL THEN stretch.amount
			   ELSE stretch.rate * yquota_internal.microseconds(segment.padding) * 0.000001 END),
		   segment.node, segment.execution_type, stretch.prices, stretch.factors_in_force,
		   stretch.factor, stretch.forgiven, segment.settled
	FROM segment
	CROSS JOIN LATERAL (
		SELECT yquota_internal.factor_names(segment.project, segment.application_id,
			segment.username, segment.queue, segment.execution_type) AS names
		OFFSET 0
	) AS applying
	CROSS JOIN LATERAL yquota_internal.price_stretches(segment.allocation, applying.names,
													   segment."from", segment."to") AS stretch
	LEFT JOIN LATERAL (
		SELECT p.multiplier
		FROM yquota.price AS p
		WHERE p.price_group = (SELECT t.price_group FROM yquota.resource_type AS t
							   WHERE t.name = stretch.dominant)
		  AND p.effective_at <= stretch.since
		ORDER BY p.effective_at DESC
		LIMIT 1
	) AS in_force ON true
	WHERE (SELECT yquota_internal.reads_all())
	   OR segment.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	ORDER BY stretch.since, stretch.until, segment.padding NULLS FIRST;
	IF NOT FOUND THEN
		PERFORM yquota_internal.refuse_archived_container(container_id);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.explain_charge_as_owner(text) IS
	'What explain_charge() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.explain_charge_as_owner(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.explain_charge(container_id text)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, queue text, allocation yquota.resource,
		dominant text, held bigint, multiplier numeric, price numeric, factors text[],
		rate numeric, padding interval, amount numeric, node text,
		execution_type yquota.execution_type, prices jsonb, factors_in_force jsonb,
		factor numeric, forgiven boolean, settled boolean)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.explain_charge(text) IS
	'The bill of one container: a row per stretch of constant price and allocation, and one for padding; sums up to its cost in container_cost, to the last digit.  An error says where it is when it has been archived';
REVOKE ALL ON FUNCTION yquota.explain_charge(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.exchange_storage(parent regclass, child regclass) RETURNS void
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_exchange_storage';
CREATE OR REPLACE FUNCTION yquota_internal.leave_first_range(tablename regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT count(brin_desummarize_range(i.indexrelid, 0))
			FROM pg_index AS i
				JOIN pg_class AS c ON c.oid = i.indexrelid
				JOIN pg_am AS a ON a.oid = c.relam
			WHERE i.indrelid = tablename AND a.amname = 'brin');
CREATE OR REPLACE FUNCTION yquota_internal.summarize_last_range(tablename regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT count(brin_summarize_range(
				i.indexrelid,
				greatest(pg_relation_size(tablename) / current_setting('block_size')::bigint - 1, 0)))
			FROM pg_index AS i
				JOIN pg_class AS c ON c.oid = i.indexrelid
				JOIN pg_am AS a ON a.oid = c.relam
			WHERE i.indrelid = tablename AND a.amname = 'brin');
COMMENT ON FUNCTION yquota_internal.summarize_last_range(regclass) IS
	'Summarize the last range of blocks of a table''s BRIN indexes, full or not';
REVOKE ALL ON FUNCTION yquota_internal.summarize_last_range(regclass) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.make_child(parent regclass, child_name text, attached boolean)
	RETURNS regclass
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- the place of a table of history is its parent's
	SET default_tablespace = ''
	SET client_min_messages = 'warning'
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	child text := format('yquota_internal.%I', child_name);
	space name;
	owner name;
BEGIN
	SELECT t.spcname, pg_get_userbyid(c.relowner) INTO STRICT space, owner
	FROM pg_class AS c LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
	WHERE c.oid = parent;
	EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)%s USING heap%s', child, parent,
				   CASE WHEN attached THEN format(' INHERITS (%s)', parent) ELSE '' END,
				   ' TABLESPACE ' || quote_ident(space));
	EXECUTE format('ALTER TABLE %s OWNER TO %I', child, owner);
	EXECUTE format('COMMENT ON TABLE %s IS %L', child, 'History of ' || parent::text);
	PERFORM yquota_internal.leave_first_range(child::regclass);
	RETURN child::regclass;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.lock_briefly(
	command text, attempts integer, pause_seconds numeric DEFAULT 0.2) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	patience text := current_setting('lock_timeout');
BEGIN
	FOR attempt IN 1 .. attempts LOOP
		BEGIN
			PERFORM set_config('lock_timeout', '50ms', true);
			EXECUTE command;
			PERFORM set_config('lock_timeout', patience, true);
			RETURN;
		EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
			IF attempt = attempts THEN
				RAISE EXCEPTION 'could not lock the history because other transactions use it'
					USING ERRCODE = 'lock_not_available',
						HINT = 'Try again when long transactions that read or write the ledger or the log have ended.';
			END IF;
		END;
		PERFORM pg_sleep(pause_seconds);
	END LOOP;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.seal(attempts integer) RETURNS integer
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	stretch yquota.history_stretch;
	ledger regclass;
	log regclass;
BEGIN
	PERFORM yquota_internal.lock_briefly('LOCK TABLE yquota.history_stretch IN SHARE ROW EXCLUSIVE MODE', attempts);
	IF NOT EXISTS (SELECT FROM ONLY yquota.charge)
		AND NOT EXISTS (SELECT FROM ONLY yquota.container_event)
	THEN
		RETURN NULL;
	END IF;
	SELECT coalesce(max(s.number), 0) + 1,
		   coalesce(max(s.sealed_at) FILTER (WHERE s.number > 0), '-infinity')
	INTO stretch.number, stretch.sealed_from
	FROM yquota.history_stretch AS s;
	stretch.ledger_table := 'charge_sealed_' || stretch.number;
	stretch.log_table := 'container_event_sealed_' || stretch.number;

	-- An autovacuum gives up when it is waited for long enough, and nobody else
	-- has to wait for this lock.  Then in the order in which the door locks.
	LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN SHARE UPDATE EXCLUSIVE MODE;
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN ACCESS EXCLUSIVE MODE', attempts);
	ledger := yquota_internal.make_child('yquota.charge', stretch.ledger_table, true);
	log := yquota_internal.make_child('yquota.container_event', stretch.log_table, true);
	PERFORM yquota_internal.exchange_storage('yquota.container_event', log);
	PERFORM yquota_internal.exchange_storage('yquota.charge', ledger);
	PERFORM yquota_internal.summarize_last_range(ledger);
	stretch.sealed_at := greatest(yquota.clock(), stretch.sealed_from);
	INSERT INTO yquota.history_stretch SELECT stretch.*;
	RETURN stretch.number;
END
$$;
CREATE OR REPLACE FUNCTION yquota.seal_history() RETURNS integer
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.seal(120)
	$$;
CREATE OR REPLACE FUNCTION yquota_internal.seal_is_due(now_at timestamptz) RETURNS boolean
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	seal_interval interval := yquota_internal.duration('yquota.seal_interval');
BEGIN
	RETURN seal_interval <> '0' AND coalesce(
		(SELECT e.recorded_at FROM ONLY yquota.container_event AS e LIMIT 1) <= now_at - seal_interval, false);
END
$$;
COMMENT ON FUNCTION yquota_internal.seal_is_due(timestamptz) IS
	'Whether what is not sealed is older than yquota.seal_interval';
REVOKE ALL ON FUNCTION yquota_internal.seal_is_due(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.worker_seal(now_at timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.seal_is_due(now_at) THEN
		PERFORM yquota_internal.seal(1);
	ELSE
		PERFORM yquota_internal.tend_history();
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_seal(timestamptz) IS
	'Seals history every yquota.seal_interval, and tends what was sealed when nothing is due; lock_not_available while other transactions use it';
CREATE OR REPLACE FUNCTION yquota_internal.fill_key_filter(filter regclass, source regclass, key_column name)
	RETURNS void
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_fill_key_filter';
COMMENT ON FUNCTION yquota_internal.fill_key_filter(regclass, regclass, name) IS
	'Write the filter of a column of a table into a new table; make_key_filter() calls it';
REVOKE ALL ON FUNCTION yquota_internal.fill_key_filter(regclass, regclass, name) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.has_key_filter(source regclass) RETURNS boolean
	LANGUAGE c STRICT STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_has_key_filter';
COMMENT ON FUNCTION yquota_internal.has_key_filter(regclass) IS
	'Whether a table has a filter that was made of it as it is: not before a restore, a rewrite or an upgrade';
REVOKE ALL ON FUNCTION yquota_internal.has_key_filter(regclass) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.drop_key_filter(table_name text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	filter text := format('yquota_internal.%I', table_name || '_filter');
BEGIN
	IF to_regclass(filter) IS NOT NULL THEN
		PERFORM yquota_internal.lock_briefly('LOCK TABLE ' || filter || ' IN ACCESS EXCLUSIVE MODE', 1);
		EXECUTE 'DROP TABLE ' || filter;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.drop_key_filter(text) IS
	'Drop the filter of a table of schema yquota_internal, if it has one';
REVOKE ALL ON FUNCTION yquota_internal.drop_key_filter(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.make_key_filter(table_name text, key_column name) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	source regclass := format('yquota_internal.%I', table_name)::regclass;
	filter text := format('yquota_internal.%I', table_name || '_filter');
	owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = source);
BEGIN
	PERFORM yquota_internal.drop_key_filter(table_name);
	EXECUTE format('CREATE TABLE %s (bits bytea NOT NULL) USING heap', filter);
	EXECUTE format('ALTER TABLE %s ALTER COLUMN bits SET STORAGE PLAIN', filter);
	EXECUTE format('ALTER TABLE %s OWNER TO %I', filter, owner);
	EXECUTE format('COMMENT ON TABLE %s IS %L', filter,
				   format('Bloom filter of %s.%I; made anew when it is missing', source, key_column));
	PERFORM yquota_internal.fill_key_filter(filter::regclass, source, key_column);
END
$$;
COMMENT ON FUNCTION yquota_internal.make_key_filter(text, name) IS
	'Make the filter of a table of schema yquota_internal that is not written to any more';
REVOKE ALL ON FUNCTION yquota_internal.make_key_filter(text, name) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.has_index_of_applications(source regclass) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (
		SELECT FROM pg_index AS i
		JOIN pg_class AS c ON c.oid = i.indexrelid
		JOIN pg_am AS m ON m.oid = c.relam AND m.amname = 'btree'
		JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
		WHERE i.indrelid = source AND i.indisvalid AND a.attname = 'application_id');
COMMENT ON FUNCTION yquota_internal.has_index_of_applications(regclass) IS
	'Whether a table has a btree index that begins with application_id';
REVOKE ALL ON FUNCTION yquota_internal.has_index_of_applications(regclass) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.untended_ledger() RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT s.ledger_table
		FROM yquota.history_stretch AS s
		CROSS JOIN LATERAL format('yquota_internal.%I', s.ledger_table) AS ledger_name
		WHERE s.ledger_table IS NOT NULL
		  AND NOT (yquota_internal.has_key_filter(ledger_name::regclass)
				   AND yquota_internal.has_index_of_applications(ledger_name::regclass))
		ORDER BY s.number LIMIT 1;
	END;
COMMENT ON FUNCTION yquota_internal.untended_ledger() IS
	'A sealed ledger table that lacks a filter of its container ids or an index of its applications; NULL when none does';
REVOKE ALL ON FUNCTION yquota_internal.untended_ledger() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.history_wants_tending(now_at timestamptz) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.seal_is_due(now_at) OR yquota_internal.untended_ledger() IS NOT NULL;
COMMENT ON FUNCTION yquota_internal.history_wants_tending(timestamptz) IS
	'Whether worker_seal() has something to do';
REVOKE ALL ON FUNCTION yquota_internal.history_wants_tending(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.tend_history() RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	wanting text := yquota_internal.untended_ledger();
	ledger regclass;
BEGIN
	IF wanting IS NULL THEN
		RETURN NULL;
	END IF;
	-- archiving keeps away meanwhile; the door does not notice
	PERFORM yquota_internal.lock_briefly('LOCK TABLE yquota.history_stretch IN SHARE ROW EXCLUSIVE MODE', 1);
	IF EXISTS (SELECT FROM yquota.history_stretch AS s WHERE s.ledger_table = wanting) THEN
		ledger := format('yquota_internal.%I', wanting)::regclass;
		IF NOT yquota_internal.has_key_filter(ledger) THEN
			PERFORM yquota_internal.make_key_filter(wanting, 'container_id');
		END IF;
		IF NOT yquota_internal.has_index_of_applications(ledger) THEN
			EXECUTE format('CREATE INDEX ON %s (application_id)', ledger);
		END IF;
	END IF;
	RETURN wanting;
END
$$;
COMMENT ON FUNCTION yquota_internal.tend_history() IS
	'Give one sealed ledger table what it lacks: a filter of its container ids, an index of its applications; its name, NULL when none lacks any.  The worker calls it';
REVOKE ALL ON FUNCTION yquota_internal.tend_history() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.archive_digest_query(source text, history text DEFAULT 'ledger') RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT format(
$query$SELECT %1$s AS project, count(*) AS archived, %2$s AS charged, max(h.last_at) AS last_at,
	   coalesce(sum(('x' || substr(h.hash,  1, 16))::bit(64)::bigint) * 6277101735386680763835789423207666416102355444464034512896
			  + sum(('x' || substr(h.hash, 17, 16))::bit(64)::bigint) * 340282366920938463463374607431768211456
			  + sum(('x' || substr(h.hash, 33, 16))::bit(64)::bigint) * 18446744073709551616
			  + sum(('x' || substr(h.hash, 49, 16))::bit(64)::bigint), 0) AS digest
FROM (SELECT %3$s, encode(sha256(convert_to(ROW(%4$s)::text, 'UTF8')), 'hex') AS hash
	  FROM %5$s AS r
	  OFFSET 0) AS h%6$s$query$,
		CASE history WHEN 'ledger' THEN 'h.project' ELSE 'NULL::text' END,
		CASE history WHEN 'ledger' THEN 'trim_scale(sum(h.amount))' ELSE 'NULL::numeric' END,
		CASE history WHEN 'ledger' THEN 'r.project, r.amount, r."to" AS last_at'
			ELSE 'r.occurred_at AS last_at' END,
		CASE history WHEN 'ledger' THEN
'r.container_id, r.project, r.application_id, r.username, r.queue, r.node,
			r.execution_type, r.allocation, extract(epoch FROM r.started_at), extract(epoch FROM r."from"),
			extract(epoch FROM r."to"), extract(epoch FROM r.booked_at), r.number, r.corrects, r.settled_by,
			r.exit_status, extract(epoch FROM r.padding), r.dominant, trim_scale(r.amount)'
			ELSE
'r.event, r.container_id, extract(epoch FROM r.occurred_at), r.project, r.application_id,
			r.username, r.queue, r.node, r.allocation, r.execution_type, r.exit_status, r.source,
			extract(epoch FROM r.recorded_at)' END,
		source,
		CASE history WHEN 'ledger' THEN E'\nGROUP BY h.project' ELSE '' END)
	$$;
CREATE OR REPLACE FUNCTION yquota_internal.missing_columns(target regclass, source regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
			FROM pg_attribute AS a
			WHERE a.attrelid = source AND a.attnum > 0 AND NOT a.attisdropped
			  AND NOT EXISTS (SELECT FROM pg_attribute AS b
							  WHERE b.attrelid = target AND b.attname = a.attname
								AND b.attnum > 0 AND NOT b.attisdropped));
CREATE OR REPLACE FUNCTION yquota.archive_digest(target regclass)
	RETURNS TABLE (project text, archived bigint, charged numeric, last_at timestamptz, digest numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN QUERY EXECUTE yquota.archive_digest_query(target::text,
		CASE WHEN EXISTS (SELECT FROM pg_attribute
						  WHERE attrelid = target AND attname = 'amount' AND NOT attisdropped)
			 THEN 'ledger' ELSE 'log' END);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.copy_out(query text, target regclass, columns text)
	RETURNS bigint
	LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_copy_out';
COMMENT ON FUNCTION yquota_internal.copy_out(text, regclass, text) IS
	'Insert what a query returns into a table with the rights of whoever called archive(); returns the number of rows';
CREATE OR REPLACE FUNCTION yquota_internal.archive_horizon() RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(max(s.horizon), '-infinity') FROM yquota.history_stretch AS s);
CREATE OR REPLACE FUNCTION yquota_internal.archive_kind(target regclass) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	relation pg_class;
	missing text := yquota_internal.missing_columns(target, 'yquota.charge');
BEGIN
	SELECT * INTO STRICT relation FROM pg_class WHERE oid = target;
	IF relation.relkind NOT IN ('r', 'p', 'f') OR relation.relpersistence <> 'p' THEN
		RAISE EXCEPTION 'cannot archive into "%"', target
			USING ERRCODE = 'wrong_object_type',
				DETAIL = 'History leaves its tables for good and needs a table that lasts.',
				HINT = 'Use an ordinary, partitioned or foreign table that is neither temporary nor unlogged.';
	ELSIF relation.relnamespace IN ('yquota'::regnamespace, 'yquota_internal'::regnamespace)
		OR EXISTS (
			WITH RECURSIVE above (oid) AS (
				SELECT target::oid
				UNION
				SELECT i.inhparent FROM pg_inherits AS i JOIN above ON i.inhrelid = above.oid)
			SELECT FROM above
			WHERE oid IN ('yquota.charge'::regclass, 'yquota.container_event'::regclass))
	THEN
		RAISE EXCEPTION 'cannot archive into "%", which belongs to the books', target
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Make a table of your own: CREATE TABLE ... (LIKE yquota.charge).';
	END IF;
	IF missing IS NULL THEN
		RETURN 'ledger';
	ELSIF yquota_internal.missing_columns(target, 'yquota.container_event') IS NULL THEN
		RETURN 'log';
	END IF;
	RAISE EXCEPTION 'table "%" is like neither the ledger nor the log', target
		USING ERRCODE = 'datatype_mismatch',
			DETAIL = format('For the ledger these columns are missing: %s; for the log: %s.', missing,
							yquota_internal.missing_columns(target, 'yquota.container_event')),
			HINT = 'Create it with LIKE yquota.charge or LIKE yquota.container_event.';
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.column_list(source regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = source AND attnum > 0 AND NOT attisdropped);
CREATE OR REPLACE FUNCTION yquota_internal.rows_of(tables text[], condition text, columns text DEFAULT '*')
	RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(format('SELECT %s FROM ONLY yquota_internal.%I AS c WHERE %s', columns, t, condition),
							  E'\nUNION ALL ')
			FROM unnest(tables) AS t);
CREATE OR REPLACE FUNCTION yquota_internal.is_carried(archived_through integer, negated boolean) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format('%sEXISTS (SELECT FROM yquota_internal.carried_container AS k WHERE k.archived_through = %s AND k.container_id = c.container_id)',
				  CASE WHEN negated THEN 'NOT ' ELSE '' END, archived_through);
CREATE OR REPLACE FUNCTION yquota_internal.find_carried(
	archived_through integer, ledgers text[], logs text[]) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	-- before anybody has collected statistics, nested loops look cheap
	SET enable_nestloop = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	others text[] := (SELECT coalesce(array_agg(t.name), '{}')
					  FROM yquota.history_stretch AS s,
						   unnest(ARRAY[s.ledger_table,
										CASE WHEN s.ledger_table IS NOT NULL OR s.number = 0 THEN s.log_table END]) AS t(name)
					  WHERE t.name <> ALL (ledgers || logs));
BEGIN
	EXECUTE format(
		'INSERT INTO yquota_internal.carried_container (archived_through, container_id)
		 SELECT DISTINCT %s, own.container_id
		 FROM (%s) AS own
		 WHERE own.container_id IN (
			SELECT container_id FROM yquota.container
			UNION ALL SELECT container_id FROM yquota.event_reject WHERE waiting
			UNION ALL SELECT container_id FROM ONLY yquota.charge
			UNION ALL SELECT container_id FROM ONLY yquota.container_event%s)',
		archived_through,
		yquota_internal.rows_of(ledgers || logs, 'true', 'c.container_id'),
		coalesce(E'\nUNION ALL ' || yquota_internal.rows_of(others, 'true', 'c.container_id'), ''));
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.check_unchanged(
	archived_through integer, ledgers text[], since xid8) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET enable_hashjoin = off
	SET enable_mergejoin = off
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	changed text;
BEGIN
	EXECUTE format(
		'SELECT c.container_id
		 FROM (SELECT container_id FROM ONLY yquota.container_event WHERE age(xmin) <= age($1::xid)
			   UNION
			   SELECT container_id FROM ONLY yquota.charge WHERE age(xmin) <= age($1::xid)) AS c
		 WHERE %s AND (%s)
		 LIMIT 1',
		yquota_internal.is_carried(archived_through, true),
		(SELECT string_agg(format('EXISTS (SELECT FROM ONLY yquota_internal.%I AS l WHERE l.container_id = c.container_id)', t), ' OR ')
		 FROM unnest(ledgers) AS t))
	INTO changed USING since;
	IF changed IS NOT NULL THEN
		RAISE EXCEPTION 'could not archive container "%" because an event or a correction of it has just arrived', changed
			USING ERRCODE = 'serialization_failure',
				HINT = 'Nothing was archived.  Call archive() again.';
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.check_corrected(horizon timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF EXISTS (SELECT FROM yquota_internal.correction_due AS due WHERE due.changed_from < horizon)
		OR EXISTS (
			SELECT FROM yquota_internal.counter_delta AS delta
			JOIN yquota.pricing_change AS change
				ON change.version > delta.pricing_version
				AND change.effective_from <= delta.priced_through
			WHERE change.effective_from < horizon)
	THEN
		RAISE EXCEPTION 'cannot archive history that is still to be corrected'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = 'A price became visible after containers had been charged by the one before.',
				HINT = 'Call yquota.quota_compute(), or wait for the worker to do it, and archive again.';
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.post_opening_balances(
	through integer, horizon timestamptz, rows_query text,
	OUT charged numeric, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	EXECUTE format(
		'WITH own AS MATERIALIZED (%s), posted AS (
			INSERT INTO yquota.opening_balance
				(project, archived_through, archived_before, charged, charges, digest)
			SELECT own.project, $1, $2,
				   trim_scale(own.charged + coalesce(before.charged, 0)),
				   own.archived + coalesce(before.charges, 0),
				   own.digest + coalesce(before.digest, 0)
			FROM own
			LEFT JOIN LATERAL (
				SELECT b.charged, b.charges, b.digest FROM yquota.opening_balance AS b
				WHERE b.project = own.project
				ORDER BY b.archived_through DESC LIMIT 1) AS before ON true
		 )
		 SELECT trim_scale(sum(own.charged)), sum(own.digest) FROM own',
		yquota.archive_digest_query(format('(%s)', rows_query)))
	INTO charged, digest USING through, horizon;
END
$$;
CREATE OR REPLACE TRIGGER keep BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.opening_balance
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_change('An opening balance stands for history that has left the database.');
CREATE OR REPLACE FUNCTION yquota_internal.make_carried(
	parent regclass, tables text[], through integer) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	parent_name text := (SELECT relname FROM pg_class WHERE oid = parent);
	child text := format('%s_carried_%s', parent_name, through);
	columns text := yquota_internal.column_list(parent);
BEGIN
	IF NOT EXISTS (SELECT FROM yquota_internal.carried_container AS k WHERE k.archived_through = through) THEN
		RETURN NULL;
	END IF;
	PERFORM yquota_internal.make_child(parent, child, false);
	EXECUTE format('INSERT INTO yquota_internal.%I (%s) %s', child, columns,
				   yquota_internal.rows_of(tables, yquota_internal.is_carried(through, false), columns));
	RETURN child;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.lock_for_detaching(ledgers text[], logs text[]) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT yquota_internal.lock_briefly(
		'LOCK TABLE yquota.pricing_change IN SHARE ROW EXCLUSIVE MODE;
		 LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge IN SHARE MODE;
		 LOCK TABLE ' || string_agg(format('yquota_internal.%I', t), ', ') || ' IN ACCESS EXCLUSIVE MODE NOWAIT',
		300, 1)
	FROM unnest(logs || ledgers) AS t
	$$;
CREATE OR REPLACE FUNCTION yquota_internal.detach(
	through integer, numbers integer[], horizon timestamptz, carried_ledger text, carried_log text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	stretch yquota.history_stretch;
BEGIN
	FOR stretch IN SELECT * FROM yquota.history_stretch AS s WHERE s.number = ANY (numbers || 0) ORDER BY s.number LOOP
		IF stretch.log_table IS NOT NULL THEN
			EXECUTE format('ALTER TABLE yquota_internal.%I NO INHERIT yquota.container_event', stretch.log_table);
			INSERT INTO yquota_internal.released_log (log_table, archived_through, stretch, sealed_at)
			VALUES (stretch.log_table, through, stretch.number, stretch.sealed_at);
		END IF;
		IF stretch.ledger_table IS NOT NULL THEN
			PERFORM yquota_internal.drop_key_filter(stretch.ledger_table);
			EXECUTE format('DROP TABLE yquota_internal.%I', stretch.ledger_table);
		END IF;
	END LOOP;
	IF carried_ledger IS NOT NULL THEN
		EXECUTE format('ALTER TABLE yquota_internal.%I INHERIT yquota.charge', carried_ledger);
		EXECUTE format('ALTER TABLE yquota_internal.%I INHERIT yquota.container_event', carried_log);
	END IF;
	UPDATE yquota.history_stretch AS s
	SET ledger_table = NULL, ledger_archived_at = yquota.clock(), horizon = detach.horizon
	WHERE s.number = ANY (numbers);
	INSERT INTO yquota.history_stretch AS s (number, sealed_from, sealed_at, ledger_table, log_table)
	SELECT 0, '-infinity', n.sealed_at, carried_ledger, carried_log
	FROM yquota.history_stretch AS n WHERE n.number = through
	ON CONFLICT (number) DO UPDATE
		SET sealed_at = EXCLUDED.sealed_at, ledger_table = EXCLUDED.ledger_table, log_table = EXCLUDED.log_table;
	-- every session reads the horizon anew; no amount differs
	INSERT INTO yquota.pricing_change (version, effective_from, description)
	SELECT coalesce(max(p.version), 0) + 1, 'infinity', format('history before %s archived', horizon)
	FROM yquota.pricing_change AS p;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.archive_ledger(
	target regclass, before timestamptz,
	OUT stretches integer, OUT archived bigint, OUT horizon timestamptz, OUT charged numeric, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	since xid8 := pg_snapshot_xmin(pg_current_snapshot());
	numbers integer[];
	through integer;
	ledgers text[];
	logs text[];
	leaving text;
	columns text := yquota_internal.column_list('yquota.charge');
	number_of_table integer;
	rows_of_table bigint;
	last_to timestamptz;
BEGIN
	archived := 0;
	SELECT array_agg(s.number ORDER BY s.number), max(s.number), count(*),
		   greatest(max(s.sealed_at), yquota_internal.archive_horizon())
	INTO numbers, through, stretches, horizon
	FROM yquota.history_stretch AS s
	WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before;
	IF through IS NULL THEN
		horizon := yquota_internal.archive_horizon();
		RETURN;
	END IF;
	SELECT array_agg(s.ledger_table ORDER BY s.number) FILTER (WHERE s.ledger_table IS NOT NULL),
		   array_agg(s.log_table ORDER BY s.number) FILTER (WHERE s.log_table IS NOT NULL)
	INTO ledgers, logs
	FROM yquota.history_stretch AS s
	WHERE s.number = ANY (numbers || 0);

	-- what is deferred would be refused when it lies before the new horizon
	PERFORM yquota_internal.refuse_while_deferred('archive history');
	PERFORM yquota_internal.refuse_while_closing('archive history');
	PERFORM yquota_internal.find_carried(through, ledgers, logs);
	leaving := yquota_internal.is_carried(through, true);
	EXECUTE format('SELECT max(c."to") FROM (%s) AS c', yquota_internal.rows_of(ledgers, leaving)) INTO last_to;
	-- what happened at the very end of the last charge is before the horizon
	horizon := greatest(horizon, last_to + interval '1 microsecond');
	PERFORM yquota_internal.check_corrected(horizon);

	FOR number_of_table IN SELECT unnest(numbers || 0) LOOP
		SELECT yquota_internal.copy_out(
				   yquota_internal.rows_of(ARRAY[s.ledger_table], leaving, columns), target, columns)
		INTO rows_of_table
		FROM yquota.history_stretch AS s
		WHERE s.number = number_of_table AND s.ledger_table IS NOT NULL;
		archived := archived + coalesce(rows_of_table, 0);
		UPDATE yquota.history_stretch AS s SET charges = rows_of_table
		WHERE s.number = number_of_table AND s.number > 0;
	END LOOP;
	SELECT * INTO charged, digest
	FROM yquota_internal.post_opening_balances(through, horizon, yquota_internal.rows_of(ledgers, leaving));
	PERFORM yquota_internal.post_archived_cost(through, yquota_internal.rows_of(ledgers, leaving));
	PERFORM yquota_internal.take_from_rollup(through, ledgers, horizon);
	PERFORM yquota_internal.note_archived(numbers, 'ledger', target);
	EXECUTE format('DELETE FROM yquota.container_change AS d WHERE d.container_id IN (%s)',
				   yquota_internal.rows_of(ledgers, leaving, 'c.container_id'));

	DECLARE
		carried_ledger text := yquota_internal.make_carried('yquota.charge', ledgers, through);
		carried_log text := yquota_internal.make_carried('yquota.container_event', logs, through);
	BEGIN
		PERFORM yquota_internal.lock_for_detaching(ledgers, logs);
		PERFORM yquota_internal.check_unchanged(through, ledgers, since);
		PERFORM yquota_internal.check_corrected(horizon);
		PERFORM yquota_internal.refuse_while_deferred('archive history');
		PERFORM yquota_internal.refuse_while_closing('archive history');
		PERFORM yquota_internal.detach(through, numbers, horizon, carried_ledger, carried_log);
	END;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.archive_log(
	target regclass, before timestamptz,
	OUT stretches integer, OUT archived bigint, OUT horizon timestamptz, OUT digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	released yquota_internal.released_log;
	columns text := yquota_internal.column_list('yquota.container_event');
	leaving text;
	rows_of_table bigint;
	digest_of_table numeric;
BEGIN
	stretches := 0;
	archived := 0;
	FOR released IN
		SELECT * FROM yquota_internal.released_log AS r
		WHERE r.sealed_at <= before
		ORDER BY r.archived_through, r.stretch
	LOOP
		leaving := yquota_internal.rows_of(ARRAY[released.log_table],
										   yquota_internal.is_carried(released.archived_through, true), columns);
		rows_of_table := yquota_internal.copy_out(leaving, target, columns);
		EXECUTE format('SELECT digest FROM (%s) AS d', yquota.archive_digest_query(format('(%s)', leaving), 'log'))
		INTO digest_of_table;
		EXECUTE format('DROP TABLE yquota_internal.%I', released.log_table);
		DELETE FROM yquota_internal.released_log AS r WHERE r.log_table = released.log_table;
		UPDATE yquota.history_stretch AS s
		SET log_table = NULL, log_archived_at = yquota.clock(), events = rows_of_table
		WHERE s.number = released.stretch AND s.number > 0;
		PERFORM yquota_internal.note_archived(ARRAY[released.stretch], 'log', target);
		stretches := stretches + (released.stretch > 0)::integer;
		archived := archived + rows_of_table;
		digest := coalesce(digest, 0) + digest_of_table;
		horizon := greatest(horizon, released.sealed_at);
	END LOOP;
	DELETE FROM yquota_internal.carried_container AS k
	WHERE NOT EXISTS (SELECT FROM yquota_internal.released_log AS r
					  WHERE r.archived_through = k.archived_through);
	IF stretches = 0 AND EXISTS (SELECT FROM yquota.history_stretch AS s
								 WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before)
	THEN
		RAISE NOTICE 'the log of a stretch is archived after its ledger'
			USING HINT = 'Call archive() with a table like yquota.charge first.';
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.archive_as_owner(target regclass, before timestamptz)
	RETURNS TABLE (history text, stretches integer, archived bigint, archived_before timestamptz,
				   charged numeric, digest numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF target IS NULL OR before IS NULL THEN
		RAISE EXCEPTION 'arguments of archive must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use infinity for all that is sealed.';
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot archive at isolation level %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'What has been committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	END IF;
	history := yquota_internal.archive_kind(target);
	PERFORM yquota_internal.lock_briefly(
		'LOCK TABLE yquota.history_stretch IN SHARE ROW EXCLUSIVE MODE', 600);
	IF history = 'ledger' THEN
		SELECT l.stretches, l.archived, l.horizon, l.charged, l.digest
		INTO archive_as_owner.stretches, archive_as_owner.archived, archived_before, archive_as_owner.charged, archive_as_owner.digest
		FROM yquota_internal.archive_ledger(target, before) AS l;
	ELSE
		SELECT l.stretches, l.archived, l.horizon, l.digest
		INTO archive_as_owner.stretches, archive_as_owner.archived, archived_before, archive_as_owner.digest
		FROM yquota_internal.archive_log(target, before) AS l;
	END IF;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION yquota_internal.archive_as_owner(regclass, timestamptz) IS
	'What archive() does for whoever calls it, with whose rights rows are inserted';
REVOKE ALL ON FUNCTION yquota_internal.archive_as_owner(regclass, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.archive(target regclass, before timestamptz)
	RETURNS TABLE (history text, stretches integer, archived bigint, archived_before timestamptz,
				   charged numeric, digest numeric)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
CREATE OR REPLACE FUNCTION yquota_internal.quarter_hour(at timestamptz) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN isfinite(at) THEN date_bin('15 minutes', at, '2000-01-01 00:00+00') ELSE at END;
COMMENT ON FUNCTION yquota_internal.quarter_hour(timestamptz) IS
	'Start of the quarter-hour (UTC) of an instant';
CREATE OR REPLACE FUNCTION yquota_internal.next_quarter_hour(at timestamptz) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN yquota_internal.quarter_hour(at) = at THEN at
				ELSE yquota_internal.quarter_hour(at) + interval '15 minutes' END;
COMMENT ON FUNCTION yquota_internal.next_quarter_hour(timestamptz) IS
	'First quarter-hour (UTC) that does not begin before an instant';
CREATE OR REPLACE FUNCTION yquota_internal.last_instant("from" timestamptz, "to" timestamptz) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN "to" > "from" THEN "to" - interval '1 microsecond' ELSE "from" END;
COMMENT ON FUNCTION yquota_internal.last_instant(timestamptz, timestamptz) IS
	'Last microsecond of a segment; a padding row has one instant';
CREATE TABLE yquota_internal.charge_rollup (
	quarter_hour timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	username text COLLATE "C",
	queue text COLLATE "C",
	application_id text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	amount numeric NOT NULL
);
CREATE INDEX charge_rollup_quarter_hour_idx ON yquota_internal.charge_rollup (quarter_hour);
COMMENT ON TABLE yquota_internal.charge_rollup IS
	'Parts of ledger rows added up per quarter-hour; what was rolled up at different times stands in different rows';
COMMENT ON COLUMN yquota_internal.charge_rollup.quarter_hour IS 'its start';
COMMENT ON COLUMN yquota_internal.charge_rollup.amount IS 'credits';
CREATE TABLE yquota_internal.rollup_state (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	horizon xid8,
	booked_from timestamptz NOT NULL DEFAULT '-infinity',
	next_xid xid8,
	rolled_up_at timestamptz,
	pricing_version bigint NOT NULL DEFAULT 0
);
INSERT INTO yquota_internal.rollup_state DEFAULT VALUES;
COMMENT ON TABLE yquota_internal.rollup_state IS 'What charge_rollup contains';
COMMENT ON COLUMN yquota_internal.rollup_state.horizon IS 'rows of the ledger posted by earlier transactions are contained; NULL for none';
COMMENT ON COLUMN yquota_internal.rollup_state.booked_from IS 'rows that are not contained have this booked_at or a later one';
COMMENT ON COLUMN yquota_internal.rollup_state.next_xid IS 'first transaction id that had not been given out when it was last rolled up';
COMMENT ON COLUMN yquota_internal.rollup_state.rolled_up_at IS 'clock when it was last rolled up, or the earliest one that has been set since';
COMMENT ON COLUMN yquota_internal.rollup_state.pricing_version IS 'newest pricing_change that all of it takes into account';
CREATE OR REPLACE FUNCTION yquota_internal.note_clock_for_rollup() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	UPDATE yquota_internal.rollup_state AS state
	SET booked_from = least(state.booked_from, yquota.clock()),
		rolled_up_at = least(state.rolled_up_at, yquota.clock())
	WHERE state.booked_from > yquota.clock() OR state.rolled_up_at > yquota.clock();
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_clock_for_rollup() IS
	'Rows may be booked from a clock on that has been set';
REVOKE ALL ON FUNCTION yquota_internal.note_clock_for_rollup() FROM PUBLIC;
CREATE OR REPLACE TRIGGER note_for_rollup AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.clock_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_clock_for_rollup();
CREATE OR REPLACE VIEW yquota_internal.valid_rollup AS
	SELECT yquota_internal.prices_changed_from(state.pricing_version) AS until
	FROM yquota_internal.rollup_state AS state
	WHERE pg_snapshot_xmax(pg_current_snapshot())::text::numeric - state.horizon::text::numeric < 1000000000;
COMMENT ON VIEW yquota_internal.valid_rollup IS
	'Until when prices are still those that charge_rollup was cut by; no row while it is of no use';
CREATE OR REPLACE VIEW yquota_internal.readable_rollup AS
	SELECT rollup.*
	FROM yquota_internal.charge_rollup AS rollup
	WHERE (SELECT yquota_internal.reads_all())
	   OR rollup.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.readable_rollup IS
	'Rows of charge_rollup that whoever asks may see';
CREATE OR REPLACE FUNCTION yquota_internal.quarter_hours_query(keys text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN format($query$
		SELECT yquota_internal.quarter_hour(entering."from") AS quarter_hour, %1$s, entering.amount
		FROM entering
		WHERE yquota_internal.quarter_hour(entering."from")
			= yquota_internal.quarter_hour(yquota_internal.last_instant(entering."from", entering."to"))
		  AND entering."from" >= entering.part_from
		UNION ALL
		SELECT quarter.starts_at, %1$s,
			   CASE WHEN entering.corrects IS NULL THEN 1 ELSE -1 END
			   * yquota_internal.accrued(entering.allocation, applying.names,
					greatest(entering."from", quarter.starts_at),
					least(entering."to", quarter.starts_at + interval '15 minutes'))
		FROM entering
		CROSS JOIN LATERAL (
			SELECT yquota_internal.factor_names(entering.project, entering.application_id,
				entering.username, entering.queue, entering.execution_type) AS names
			OFFSET 0
		) AS applying
		CROSS JOIN LATERAL generate_series(
			yquota_internal.quarter_hour(greatest(entering."from", entering.part_from)),
			entering."to" - interval '1 microsecond', interval '15 minutes') AS quarter(starts_at)
		WHERE yquota_internal.quarter_hour(entering."from")
			<> yquota_internal.quarter_hour(yquota_internal.last_instant(entering."from", entering."to"))
		$query$, keys);
COMMENT ON FUNCTION yquota_internal.quarter_hours_query(text) IS
	'SQL that cuts the ledger rows of "entering" at quarter-hours: quarter_hour, keys of theirs, and the amount of each piece; of a row only what lies behind its part_from';
REVOKE ALL ON FUNCTION yquota_internal.quarter_hours_query(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.roll_up_rows(
	old_horizon xid, old_booked_from timestamptz, new_horizon xid, void_from timestamptz)
	RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	added_rows bigint;
BEGIN
	EXECUTE format($query$
		WITH entering AS (
			-- what is not contained yet, and what is but has to be cut anew
			SELECT charge.*, '-infinity'::timestamptz AS part_from
			FROM yquota.charge AS charge
			WHERE charge.booked_at >= $2
			  AND age(charge.xmin) > age($3)
			  AND ($1 IS NULL OR age(charge.xmin) <= age($1))
			UNION ALL
			SELECT charge.*, $4
			FROM yquota.charge AS charge
			WHERE charge."to" >= $4
			  AND NOT (charge.booked_at >= $2 AND age(charge.xmin) <= age($1))
		)
		INSERT INTO yquota_internal.charge_rollup
		SELECT piece.quarter_hour, piece.project, piece.username, piece.queue, piece.application_id,
			   piece.execution_type, sum(piece.amount)
		FROM (%s) AS piece
		GROUP BY piece.quarter_hour, piece.project, piece.username, piece.queue,
				 piece.application_id, piece.execution_type
		$query$, yquota_internal.quarter_hours_query(
			'entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type'))
	USING old_horizon, old_booked_from, new_horizon, void_from;
	GET DIAGNOSTICS added_rows = ROW_COUNT;
	RETURN added_rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.roll_up_rows(xid, timestamptz, xid, timestamptz) IS
	'Add ledger rows to charge_rollup that were posted between two horizons, and from an instant on those posted before; returns the number of rows added';
REVOKE ALL ON FUNCTION yquota_internal.roll_up_rows(xid, timestamptz, xid, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.roll_up() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
DECLARE
	state yquota_internal.rollup_state;
	now_at timestamptz := yquota.statement_clock();
	newest_version bigint;
	running pg_snapshot;
	void_from timestamptz;
	added bigint;
BEGIN
	SELECT * INTO STRICT state FROM yquota_internal.rollup_state FOR UPDATE;
	-- before the ledger is read: what changes meanwhile makes void what it bears on
	SELECT coalesce(max(p.version), 0) INTO newest_version FROM yquota.pricing_change AS p;
	running := pg_current_snapshot();
	SELECT nullif(yquota_internal.quarter_hour(rollup.until), 'infinity') INTO void_from
	FROM yquota_internal.valid_rollup AS rollup;
	IF NOT FOUND OR void_from = '-infinity' THEN
		DELETE FROM yquota_internal.charge_rollup;
		state.horizon := NULL;
		state.booked_from := '-infinity';
		void_from := NULL;
	ELSIF void_from IS NOT NULL THEN
		DELETE FROM yquota_internal.charge_rollup AS rollup WHERE rollup.quarter_hour >= void_from;
	END IF;

	added := yquota_internal.roll_up_rows(state.horizon::xid, state.booked_from,
										  pg_snapshot_xmin(running)::xid, void_from);
	-- Whoever got his id since the last time has booked since then.  A statement
	-- that writes nothing for a day before it gets one is not reckoned with.
	UPDATE yquota_internal.rollup_state AS s
	SET horizon = pg_snapshot_xmin(running),
		next_xid = pg_snapshot_xmax(running),
		booked_from = CASE WHEN pg_snapshot_xmin(running) >= state.next_xid
						   THEN least(state.rolled_up_at, now_at) - interval '1 day'
						   ELSE state.booked_from END,
		rolled_up_at = now_at,
		pricing_version = newest_version;
	RETURN added;
END
$$;
COMMENT ON FUNCTION yquota.roll_up() IS
	'Add to the roll-ups that reports are read from what has been posted to the ledger since the last time; returns the number of rows added.  Reports say the same before and after';
REVOKE ALL ON FUNCTION yquota.roll_up() FROM PUBLIC;
CREATE TABLE yquota_internal.archived_cost (
	archived_through integer NOT NULL,
	quarter_hour timestamptz NOT NULL,
	period_from timestamptz NOT NULL,
	booked_after timestamptz NOT NULL,
	project text COLLATE "C" NOT NULL,
	username text COLLATE "C",
	queue text COLLATE "C",
	application_id text COLLATE "C",
	execution_type yquota.execution_type NOT NULL,
	amount numeric NOT NULL
);
CREATE INDEX archived_cost_quarter_hour_idx ON yquota_internal.archived_cost (quarter_hour);
COMMENT ON TABLE yquota_internal.archived_cost IS
	'Parts of archived ledger rows added up per quarter-hour (UTC), for reports about closed days';
COMMENT ON COLUMN yquota_internal.archived_cost.archived_through IS 'as in opening_balance';
COMMENT ON COLUMN yquota_internal.archived_cost.quarter_hour IS 'its start';
COMMENT ON COLUMN yquota_internal.archived_cost.period_from IS 'start of the billing period, as far as periods had been closed; -infinity in the first';
COMMENT ON COLUMN yquota_internal.archived_cost.booked_after IS 'latest closed_at of a period before it was booked: it is on bills with a later one; -infinity for none';
COMMENT ON COLUMN yquota_internal.archived_cost.amount IS 'credits';
CREATE TABLE yquota.archived_history (
	stretch integer NOT NULL,
	history text NOT NULL CHECK (history IN ('ledger', 'log')),
	target text NOT NULL,
	archived_at timestamptz NOT NULL,
	archived_by name NOT NULL DEFAULT session_user,
	PRIMARY KEY (stretch, history)
);
COMMENT ON TABLE yquota.archived_history IS
	'Where stretches of history went that have been archived';
COMMENT ON COLUMN yquota.archived_history.stretch IS 'number in history_stretch';
COMMENT ON COLUMN yquota.archived_history.history IS 'ledger or log';
COMMENT ON COLUMN yquota.archived_history.target IS 'table that its rows were put into, as it was called then';
COMMENT ON COLUMN yquota.archived_history.archived_at IS 'clock';
COMMENT ON COLUMN yquota.archived_history.archived_by IS 'the session''s user';
CREATE OR REPLACE VIEW yquota_internal.readable_archived_cost WITH (security_barrier) AS
	SELECT archived.*
	FROM yquota_internal.archived_cost AS archived
	WHERE (SELECT yquota_internal.reads_all())
	   OR archived.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota_internal.readable_archived_cost IS
	'Rows of archived_cost that whoever asks may see';
CREATE OR REPLACE FUNCTION yquota_internal.table_name(relation regclass) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT format('%I.%I', c.relnamespace::regnamespace::text, c.relname) FROM pg_class AS c WHERE c.oid = relation);
COMMENT ON FUNCTION yquota_internal.table_name(regclass) IS 'Name of a table with its schema, whatever the search_path';
REVOKE ALL ON FUNCTION yquota_internal.table_name(regclass) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.note_archived(stretches integer[], of_history text, target regclass) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		INSERT INTO yquota.archived_history (stretch, history, target, archived_at)
		SELECT number, of_history, yquota_internal.table_name(target), yquota.clock()
		FROM unnest(stretches) AS s (number)
		WHERE number > 0;
	END;
COMMENT ON FUNCTION yquota_internal.note_archived(integer[], text, regclass) IS
	'Keep where stretches of the ledger or the log went';
REVOKE ALL ON FUNCTION yquota_internal.note_archived(integer[], text, regclass) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.post_archived_cost(through integer, rows_query text) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
BEGIN
	EXECUTE format($query$
		WITH entering AS (
			SELECT leaving.*, '-infinity'::timestamptz AS part_from,
				   coalesce((SELECT max(period.until) FROM yquota.closed_period AS period
							 WHERE period.until <= leaving."from"), '-infinity') AS period_from,
				   coalesce((SELECT max(period.closed_at) FROM yquota.closed_period AS period
							 WHERE period.closed_at < leaving.booked_at), '-infinity') AS booked_after
			FROM (%s) AS leaving
		)
		INSERT INTO yquota_internal.archived_cost (archived_through, quarter_hour, period_from, booked_after,
			project, username, queue, application_id, execution_type, amount)
		SELECT $1, piece.quarter_hour, piece.period_from, piece.booked_after,
			   piece.project, piece.username, piece.queue, piece.application_id, piece.execution_type,
			   trim_scale(sum(piece.amount))
		FROM (%s) AS piece
		GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
		$query$, rows_query, yquota_internal.quarter_hours_query(
			'entering.period_from, entering.booked_after, entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type'))
	USING through;
END
$$;
COMMENT ON FUNCTION yquota_internal.post_archived_cost(integer, text) IS
	'Keep what the ledger rows that a query returns cost, per quarter-hour';
REVOKE ALL ON FUNCTION yquota_internal.post_archived_cost(integer, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.take_from_rollup(through integer, ledgers text[], horizon timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
DECLARE
	state yquota_internal.rollup_state;
	contained CONSTANT text := 'NOT (c.booked_at >= $1 AND age(c.xmin) <= age($2))';
	carried_from timestamptz;
BEGIN
	SELECT * INTO STRICT state FROM yquota_internal.rollup_state FOR UPDATE;
	IF NOT EXISTS (SELECT FROM yquota_internal.valid_rollup) THEN
		RETURN;
	END IF;
	EXECUTE format($query$
		WITH entering AS (
			SELECT gone.*, '-infinity'::timestamptz AS part_from FROM (%s) AS gone
		), before AS (
			DELETE FROM yquota_internal.charge_rollup AS rollup WHERE rollup.quarter_hour < $3 RETURNING rollup.*
		)
		INSERT INTO yquota_internal.charge_rollup
		SELECT piece.quarter_hour, piece.project, piece.username, piece.queue, piece.application_id,
			   piece.execution_type, sum(piece.amount)
		FROM (
			SELECT before.quarter_hour, before.project, before.username, before.queue, before.application_id,
				   before.execution_type, before.amount
			FROM before
			UNION ALL
			SELECT own.quarter_hour, own.project, own.username, own.queue, own.application_id,
				   own.execution_type, - own.amount
			FROM (%s) AS own
		) AS piece
		GROUP BY 1, 2, 3, 4, 5, 6
		HAVING sum(piece.amount) <> 0
		$query$,
		yquota_internal.rows_of(ledgers, contained),
		yquota_internal.quarter_hours_query(
			'entering.project, entering.username, entering.queue, entering.application_id, entering.execution_type'))
	USING state.booked_from, state.horizon::xid, yquota_internal.next_quarter_hour(horizon);
	EXECUTE format('SELECT min(c.booked_at) FROM (%s) AS c',
				   yquota_internal.rows_of(ledgers, yquota_internal.is_carried(through, false)))
	INTO carried_from;
	UPDATE yquota_internal.rollup_state AS s SET booked_from = least(s.booked_from, carried_from);
END
$$;
COMMENT ON FUNCTION yquota_internal.take_from_rollup(integer, text[], timestamptz) IS
	'Take rows of ledgers that are being archived out of the roll-ups, carried ones to be rolled up again';
REVOKE ALL ON FUNCTION yquota_internal.take_from_rollup(integer, text[], timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.ledger_archives() RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(DISTINCT archived.target, ', ' ORDER BY archived.target)
			FROM yquota.archived_history AS archived WHERE archived.history = 'ledger');
COMMENT ON FUNCTION yquota_internal.ledger_archives() IS 'Names of the tables that the ledger was archived into';
REVOKE ALL ON FUNCTION yquota_internal.ledger_archives() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.archived_cost_is_whole() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN NOT EXISTS (
		SELECT FROM yquota.history_stretch AS stretch
		WHERE stretch.ledger_archived_at IS NOT NULL
		  AND NOT EXISTS (SELECT FROM yquota.archived_history AS archived
						  WHERE archived.stretch = stretch.number AND archived.history = 'ledger'));
COMMENT ON FUNCTION yquota_internal.archived_cost_is_whole() IS
	'Whether archived_cost has all that has ever been archived';
REVOKE ALL ON FUNCTION yquota_internal.archived_cost_is_whole() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.is_reported_from(at timestamptz, by text[]) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN at >= yquota_internal.archive_horizon()
		OR by <@ '{project,username,queue,application_id,execution_type}' AND at = yquota_internal.quarter_hour(at)
		   AND yquota_internal.archived_cost_is_whole();
COMMENT ON FUNCTION yquota_internal.is_reported_from(timestamptz, text[]) IS
	'Whether costs from an instant on can be told by certain columns, archived ones included';
REVOKE ALL ON FUNCTION yquota_internal.is_reported_from(timestamptz, text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_archived_report(cuts timestamptz[], by text[]) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	kept CONSTANT text[] := '{project,username,queue,application_id,execution_type}';
	horizon CONSTANT timestamptz := yquota_internal.archive_horizon();
	cut timestamptz;
BEGIN
	IF NOT by <@ kept OR NOT yquota_internal.archived_cost_is_whole() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', horizon
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = format('Charges that ended before it have left the database%s.',
								  ' for ' || yquota_internal.ledger_archives()),
				  HINT = format('Begin at the horizon or later, or ask the archive%s.',
								CASE WHEN yquota_internal.archived_cost_is_whole()
									 THEN ', or group by ' || array_to_string(kept, ', ') ELSE '' END);
	END IF;
	SELECT c.at INTO cut FROM unnest(cuts) AS c (at)
	WHERE c.at < horizon AND c.at <> yquota_internal.quarter_hour(c.at) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'window is cut at %, before the archive horizon at %', cut, horizon
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = 'What ran before it is known per quarter-hour.',
				  HINT = 'Cut at full quarters of an hour.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archived_report(timestamptz[], text[]) IS
	'Refuse a report that begins before the archive horizon and asks for more than archived_cost has';
REVOKE ALL ON FUNCTION yquota_internal.check_archived_report(timestamptz[], text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.is_searchable_archive(target regclass) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (
		SELECT FROM pg_class AS c
		JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] AND a.attname = 'container_id'
		WHERE c.oid = target
		  AND c.relowner = (SELECT ledger.relowner FROM pg_class AS ledger WHERE ledger.oid = 'yquota.charge'::regclass));
COMMENT ON FUNCTION yquota_internal.is_searchable_archive(regclass) IS
	'Whether a table belongs to the owner of yquota and has an index by container_id';
REVOKE ALL ON FUNCTION yquota_internal.is_searchable_archive(regclass) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.find_archived_container(
	container_id text, OUT project text, OUT charged numeric, OUT found_in text, OUT not_searched text[])
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	target text;
BEGIN
	FOR target IN SELECT DISTINCT archived.target FROM yquota.archived_history AS archived
				  WHERE archived.history = 'ledger' ORDER BY archived.target LOOP
		IF coalesce(yquota_internal.is_searchable_archive(to_regclass(target)), false) THEN
			EXECUTE format('SELECT min(c.project), trim_scale(sum(c.amount)) FROM %s AS c WHERE c.container_id = $1',
						   to_regclass(target))
			INTO project, charged USING container_id;
			IF project IS NOT NULL THEN
				found_in := target;
				RETURN;
			END IF;
		ELSE
			not_searched := not_searched || target;
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.find_archived_container(text) IS
	'Which archive a container is in, of those that can be searched quickly, and names of the others';
REVOKE ALL ON FUNCTION yquota_internal.find_archived_container(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_archived_container(container_id text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	archived record;
BEGIN
	IF container_id IS NULL OR EXISTS (SELECT FROM yquota.charge WHERE charge.container_id = refuse_archived_container.container_id)
		OR EXISTS (SELECT FROM yquota.container WHERE container.container_id = refuse_archived_container.container_id) THEN
		RETURN;
	END IF;
	SELECT * INTO archived FROM yquota_internal.find_archived_container(container_id);
	IF archived.found_in IS NOT NULL
		AND (yquota_internal.reads_all() OR archived.project = ANY (yquota_internal.readable_projects())) THEN
		RAISE EXCEPTION 'charges of container "%" have been archived', container_id
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('They are in table %s and add up to %s credits.', archived.found_in, archived.charged);
	ELSIF archived.not_searched IS NOT NULL AND yquota_internal.reads_all() THEN
		RAISE NOTICE 'container "%" is not in the books', container_id
			USING DETAIL = format('Archives that were not searched for it: %s.', array_to_string(archived.not_searched, ', '));
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_archived_container(text) IS
	'Say where a container is that has been archived, to whoever may read its project';
REVOKE ALL ON FUNCTION yquota_internal.refuse_archived_container(text) FROM PUBLIC;
SELECT pg_extension_config_dump('yquota_internal.archived_cost', '');
SELECT pg_extension_config_dump('yquota.archived_history', '');
CREATE OR REPLACE FUNCTION yquota_internal.describe_dominant(
	allocation yquota.resource, prices jsonb, dominant text, forgiven boolean, factor numeric)
	RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE
		WHEN forgiven THEN 'nobody pays during the outage that is in force'
		WHEN factor = 0 THEN 'a factor in force makes it free'
		WHEN dominant IS NULL THEN 'nothing that is held has a price'
		ELSE (
			SELECT string_agg(format('%s costs %s (%s x %s)', part.name, part.rate, part.amount, part.price),
							  CASE WHEN part.is_as_dear THEN ', as much as ' ELSE ', more than ' END
							  ORDER BY part.name = dominant DESC, part.rate DESC, part.name)
			FROM (
				SELECT entry.name, entry.amount, (prices ->> entry.name)::numeric AS price,
					   trim_scale(entry.amount * (prices ->> entry.name)::numeric) AS rate,
					   entry.name <> dominant
					   AND entry.amount * (prices ->> entry.name)::numeric
						   = yquota.amount(allocation, dominant) * (prices ->> dominant)::numeric AS is_as_dear
				FROM yquota.resource_entries(allocation) AS entry
			) AS part)
	END;
COMMENT ON FUNCTION yquota_internal.describe_dominant(yquota.resource, jsonb, text, boolean, numeric) IS
	'Why a resource type is the one that is charged, in credits per second before factors';
REVOKE ALL ON FUNCTION yquota_internal.describe_dominant(yquota.resource, jsonb, text, boolean, numeric) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_price_quote(
	allocation yquota.resource, duration interval, project text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF allocation IS NULL OR duration IS NULL THEN
		RAISE EXCEPTION 'allocation and duration of a price quote must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF duration < '0' THEN
		RAISE EXCEPTION 'duration of a price quote is negative'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It is %s.', duration);
	ELSIF duration > '100000 days' THEN
		RAISE EXCEPTION 'duration of a price quote is more than 100000 days'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('It is %s.', duration);
	ELSIF project IS NOT NULL
		AND NOT EXISTS (SELECT FROM yquota.project_balance AS balance
						WHERE balance.project = check_price_quote.project)
	THEN
		RAISE EXCEPTION 'project "%" does not exist', project
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Leave the project out for a quote without its balance.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_price_quote(yquota.resource, interval, text) IS
	'Refuse what price_quote() cannot answer; a project that the reader may not see does not exist for him';
REVOKE ALL ON FUNCTION yquota_internal.check_price_quote(yquota.resource, interval, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.price_quote_as_owner(
	allocation yquota.resource, duration interval, queue text,
	execution_type yquota.execution_type, username text, project text, application_id text)
	RETURNS TABLE (
		price_per_second numeric, cost numeric, charged_time interval, dominant text, reason text,
		prices jsonb, alone jsonb, factor numeric, factors_in_force jsonb, paying_project text,
		remaining numeric, affordable boolean)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	payer CONSTANT text := yquota_internal.payer_project(
		price_quote_as_owner.project, price_quote_as_owner.username);
	payer_username CONSTANT text := yquota_internal.payer_username(
		price_quote_as_owner.project, price_quote_as_owner.username);
	clock CONSTANT timestamptz := yquota.statement_clock();
BEGIN
	PERFORM yquota_internal.check_price_quote(price_quote_as_owner.allocation,
		price_quote_as_owner.duration, price_quote_as_owner.project);
	RETURN QUERY
	SELECT now.rate,
		   trim_scale(now.rate * due.microseconds * 0.000001),
		   due.microseconds * interval '1 microsecond',
		   now.dominant,
		   yquota_internal.describe_dominant(price_quote_as_owner.allocation, now.prices,
											 now.dominant, now.forgiven, now.factor),
		   now.prices,
		   (SELECT coalesce(jsonb_object_agg(entry.name, trim_scale(
						CASE WHEN now.forgiven THEN 0 ELSE now.factor END
						* entry.amount * (now.prices ->> entry.name)::numeric
						* due.microseconds * 0.000001)), '{}')
			FROM yquota.resource_entries(price_quote_as_owner.allocation) AS entry),
		   now.factor,
		   now.factors_in_force,
		   balance.project,
		   coalesce(balance.available, balance.remaining),
		   CASE WHEN balance.project IS NOT NULL THEN
			   coalesce(balance.available >= now.rate * due.microseconds * 0.000001, true) END
	FROM yquota_internal.price_stretches(
			price_quote_as_owner.allocation,
			yquota_internal.factor_names(coalesce(payer, ''), price_quote_as_owner.application_id,
				payer_username, price_quote_as_owner.queue, price_quote_as_owner.execution_type),
			clock, clock) AS now
	CROSS JOIN LATERAL (
		SELECT greatest(yquota_internal.microseconds(price_quote_as_owner.duration),
			coalesce((SELECT yquota_internal.microseconds(rule.minimum_run_time)
					  FROM yquota.charging_rule AS rule
					  WHERE rule.effective_at <= clock
					  ORDER BY rule.effective_at DESC
					  LIMIT 1), 0)) AS microseconds
	) AS due
	LEFT JOIN yquota.project_balance AS balance ON balance.project = payer;
END
$$;
COMMENT ON FUNCTION yquota_internal.price_quote_as_owner(yquota.resource, interval, text, yquota.execution_type, text, text, text) IS
	'What price_quote() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.price_quote_as_owner(yquota.resource, interval, text, yquota.execution_type, text, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.price_quote(
	allocation yquota.resource, duration interval, queue text DEFAULT NULL,
	execution_type yquota.execution_type DEFAULT 'GUARANTEED', username text DEFAULT NULL,
	project text DEFAULT NULL, application_id text DEFAULT NULL)
	RETURNS TABLE (
		price_per_second numeric, cost numeric, charged_time interval, dominant text, reason text,
		prices jsonb, alone jsonb, factor numeric, factors_in_force jsonb, paying_project text,
		remaining numeric, affordable boolean)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.price_quote(yquota.resource, interval, text, yquota.execution_type, text, text, text) IS
	'What a container would cost if it started now, ran that long and the price stayed as it is: what it would be charged, to the last digit; why, what each resource would cost alone, and whether its project can afford it';
REVOKE ALL ON FUNCTION yquota.price_quote(yquota.resource, interval, text, yquota.execution_type, text, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_while_closing(what text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	closing timestamptz := (SELECT max(period.until) FROM yquota.closed_period AS period WHERE period.closed_at IS NULL);
BEGIN
	IF closing IS NOT NULL THEN
		RAISE EXCEPTION 'cannot % while the period until % is being closed', what, closing
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call yquota.close_period() with its end until nothing remains.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_while_closing(text) IS
	'Fail while a period is being closed';
REVOKE ALL ON FUNCTION yquota_internal.refuse_while_closing(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.begin_closing(period_end timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	last yquota.closed_period;
BEGIN
	SELECT * INTO last FROM yquota.closed_period AS period ORDER BY period.until DESC LIMIT 1;
	IF period_end <= last.until THEN
		RAISE EXCEPTION 'cannot close a period that ends at %', period_end
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Periods are closed until %s.', last.until);
	ELSIF last.until IS NOT NULL AND last.closed_at IS NULL THEN
		RAISE EXCEPTION 'period until % is being closed', last.until
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call yquota.close_period() with its end until nothing remains.';
	ELSIF period_end > yquota.statement_clock() THEN
		RAISE EXCEPTION 'cannot close a period before it ends at %', period_end
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF period_end < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'cannot close a period that ends before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Charges that ended before it have left the database.';
	END IF;
	PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event, yquota.charge IN SHARE ROW EXCLUSIVE MODE', 120);
	INSERT INTO yquota.closed_period (until, begun_at) VALUES (period_end, yquota.clock());
	-- every session reads it before it settles; no amount differs
	PERFORM yquota_internal.note_pricing_change('infinity', format('period until %s is being closed', period_end));
END
$$;
COMMENT ON FUNCTION yquota_internal.begin_closing(timestamptz) IS
	'Note the end of a period, which no charge will cross from then on';
REVOKE ALL ON FUNCTION yquota_internal.begin_closing(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.settle_period_end(period_end timestamptz, max_containers bigint) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	batch text[];
BEGIN
	SELECT array_agg(due.container_id ORDER BY due.container_id) INTO batch
	FROM (SELECT DISTINCT unsettled.container_id
		  FROM yquota_internal.unsettled_at_period_end AS unsettled
		  WHERE unsettled.until = period_end
		  ORDER BY 1 LIMIT max_containers) AS due;
	PERFORM yquota_internal.settle_again(batch);
	RETURN coalesce(cardinality(batch), 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.settle_period_end(timestamptz, bigint) IS
	'Have some of the containers settled that ran when a period ended; returns how many';
REVOKE ALL ON FUNCTION yquota_internal.settle_period_end(timestamptz, bigint) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.booked_cost(
	"from" timestamptz, "to" timestamptz, by text[], as_booked timestamptz)
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_custom_plan
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT key.project, key.username, key.queue, key.application_id, key.execution_type, key.node,
		   key.container_id, trim_scale(sum(key.amount))
	FROM (SELECT CASE WHEN 'project' = ANY (by) THEN segment.project END AS project,
				 CASE WHEN 'username' = ANY (by) THEN segment.username END AS username,
				 CASE WHEN 'queue' = ANY (by) THEN segment.queue END AS queue,
				 CASE WHEN 'application_id' = ANY (by) THEN segment.application_id END AS application_id,
				 CASE WHEN 'execution_type' = ANY (by) THEN segment.execution_type END AS execution_type,
				 CASE WHEN 'node' = ANY (by) THEN segment.node END AS node,
				 CASE WHEN 'container_id' = ANY (by) THEN segment.container_id END AS container_id,
				 segment.amount
		  FROM yquota_internal.settled_segment AS segment
		  WHERE segment."from" >= booked_cost."from" AND segment."from" < booked_cost."to"
			AND segment."to" <= booked_cost."to" AND segment.booked_at <= as_booked
		  UNION ALL
		  SELECT CASE WHEN 'project' = ANY (by) THEN archived.project END,
				 CASE WHEN 'username' = ANY (by) THEN archived.username END,
				 CASE WHEN 'queue' = ANY (by) THEN archived.queue END,
				 CASE WHEN 'application_id' = ANY (by) THEN archived.application_id END,
				 CASE WHEN 'execution_type' = ANY (by) THEN archived.execution_type END,
				 NULL, NULL, archived.amount
		  FROM yquota_internal.readable_archived_cost AS archived
		  WHERE archived.period_from >= booked_cost."from" AND archived.period_from < booked_cost."to"
			AND archived.booked_after < as_booked) AS key
	GROUP BY 1, 2, 3, 4, 5, 6, 7;
END
$$;
COMMENT ON FUNCTION yquota_internal.booked_cost(timestamptz, timestamptz, text[], timestamptz) IS
	'Credits for what ran between ends of periods, by rows booked until an instant: of the projects that whoever asks may see';
REVOKE ALL ON FUNCTION yquota_internal.booked_cost(timestamptz, timestamptz, text[], timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_archived_bill(by text[], as_booked timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.check_archived_report('{}', by);
	IF isfinite(as_booked)
		AND NOT EXISTS (SELECT FROM yquota.closed_period AS period WHERE period.closed_at = as_booked) THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('What was booked by %s is known of the charges that have been archived for bills only.', as_booked),
				HINT = 'Use the closed_at of a period, or infinity, as as_booked.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archived_bill(text[], timestamptz) IS
	'Refuse a bill of archived periods that archived_cost does not tell of';
REVOKE ALL ON FUNCTION yquota_internal.check_archived_bill(text[], timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_booked_window("from" timestamptz, "to" timestamptz, as_booked timestamptz)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF "from" <> '-infinity'
		AND NOT EXISTS (SELECT FROM yquota.closed_period AS period WHERE period.until = check_booked_window."from")
		OR NOT EXISTS (SELECT FROM yquota.closed_period AS period
					   WHERE period.until = check_booked_window."to" AND period.closed_at <= as_booked)
	THEN
		RAISE EXCEPTION 'window from % to % is not of periods closed by %', "from", "to", as_booked
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'What was booked by an instant is known of whole periods closed by then.',
				HINT = 'Periods end at the rows of yquota.closed_period; a bill is booked at its closed_at, and the first one begins at ''-infinity''.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_booked_window(timestamptz, timestamptz, timestamptz) IS
	'Refuse a window that the ledger does not tell of as it was booked';
REVOKE ALL ON FUNCTION yquota_internal.check_booked_window(timestamptz, timestamptz, timestamptz) FROM PUBLIC;
CREATE OR REPLACE VIEW yquota_internal.period AS
	SELECT lag(period.until, 1, '-infinity') OVER (ORDER BY period.until) AS starts_at,
		   period.until, period.closed_at, period.amount
	FROM yquota.closed_period AS period;
COMMENT ON VIEW yquota_internal.period IS 'Closed periods, with their beginnings';
CREATE OR REPLACE FUNCTION yquota_internal.period_amount(starts_at timestamptz, period_end timestamptz, booked_until timestamptz)
	RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(trim_scale(sum(booked.amount)), 0)
			FROM (SELECT charge.amount
				  FROM yquota.charge
				  WHERE charge."from" >= starts_at AND charge."from" < period_end
					AND charge."to" <= period_end AND charge.booked_at <= booked_until
				  UNION ALL
				  SELECT archived.amount
				  FROM yquota_internal.archived_cost AS archived
				  WHERE archived.period_from >= starts_at AND archived.period_from < period_end
					AND archived.booked_after < booked_until) AS booked);
COMMENT ON FUNCTION yquota_internal.period_amount(timestamptz, timestamptz, timestamptz) IS
	'Credits for what ran in a period, all projects, by rows booked until an instant';
REVOKE ALL ON FUNCTION yquota_internal.period_amount(timestamptz, timestamptz, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.finish_closing(period_end timestamptz) RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	now_at timestamptz;
	booked_until timestamptz;
BEGIN
	PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event, yquota.charge IN SHARE ROW EXCLUSIVE MODE', 120);
	-- what somebody posted who had not seen the end of the period yet
	WHILE yquota_internal.settle_period_end(period_end, 100000) > 0 LOOP
	END LOOP;
	now_at := yquota.clock();
	booked_until := greatest(now_at, (SELECT max(charge.booked_at) FROM yquota.charge WHERE charge.booked_at > now_at));
	UPDATE yquota.closed_period AS closing
	SET closed_at = booked_until,
		amount = yquota_internal.period_amount(period.starts_at, period_end, booked_until)
	FROM yquota_internal.period AS period
	WHERE closing.until = period_end AND period.until = period_end;
	-- what is posted from now on is booked later
	PERFORM yquota_internal.note_pricing_change('infinity', format('period until %s closed', period_end));
	RETURN booked_until;
END
$$;
COMMENT ON FUNCTION yquota_internal.finish_closing(timestamptz) IS
	'Close a period when nobody is posting; returns when its last charge was booked at the latest';
REVOKE ALL ON FUNCTION yquota_internal.finish_closing(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.close_period(
	until timestamptz, max_containers integer DEFAULT 10000,
	OUT settled bigint, OUT closed_at timestamptz)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	found_period yquota.closed_period;
BEGIN
	IF close_period.until IS NULL OR close_period.max_containers IS NULL THEN
		RAISE EXCEPTION 'end of a period and number of containers must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(close_period.until) THEN
		RAISE EXCEPTION 'end of a period must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF close_period.max_containers < 1 THEN
		RAISE EXCEPTION 'number of containers must be positive'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF current_setting('transaction_isolation') <> 'read committed' THEN
		RAISE EXCEPTION 'cannot close a period at isolation level %', upper(current_setting('transaction_isolation'))
			USING ERRCODE = 'feature_not_supported',
				DETAIL = 'What has been committed meanwhile must be seen.',
				HINT = 'Use a transaction of isolation level READ COMMITTED.';
	END IF;
	PERFORM yquota_internal.refuse_while_deferred('close a period');
	PERFORM yquota_internal.lock_pricing();
	SELECT * INTO found_period FROM yquota.closed_period AS period WHERE period.until = close_period.until;
	IF NOT FOUND THEN
		PERFORM yquota_internal.begin_closing(close_period.until);
	END IF;
	settled := 0;
	closed_at := found_period.closed_at;
	IF closed_at IS NULL THEN
		settled := yquota_internal.settle_period_end(close_period.until, close_period.max_containers);
		IF settled < close_period.max_containers THEN
			closed_at := yquota_internal.finish_closing(close_period.until);
		END IF;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota.close_period(timestamptz, integer) IS
	'Close the billing period that ends at an instant: settle so many of the containers that ran then, and seal the period when none is left.  To be called again while closed_at is NULL; what comes later is booked in the next period';
REVOKE ALL ON FUNCTION yquota.close_period(timestamptz, integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_periods()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'charge crosses the end of a closed period', unsettled.container_id,
		   format('settled at %s', unsettled.until), NULL
	FROM yquota_internal.unsettled_at_period_end AS unsettled
	JOIN yquota.closed_period AS period ON period.until = unsettled.until AND period.closed_at IS NOT NULL
	UNION ALL
	SELECT 'bill of a closed period differs from the ledger', format('period until %s', period.until),
		   booked.amount::text, period.amount::text
	FROM yquota_internal.period AS period
	CROSS JOIN LATERAL (SELECT yquota_internal.period_amount(period.starts_at, period.until, period.closed_at) AS amount
						OFFSET 0) AS booked
	WHERE period.closed_at IS NOT NULL
	  -- what earlier versions archived is not there any more
	  AND (period.starts_at >= yquota_internal.archive_horizon() OR yquota_internal.archived_cost_is_whole())
	  AND period.amount <> booked.amount
	UNION ALL
	SELECT 'cost of archived history differs from its opening balance', opening.project,
		   trim_scale(opening.charged)::text, trim_scale(archived.amount)::text
	FROM (SELECT DISTINCT ON (balance.project) balance.project, balance.charged
		  FROM yquota.opening_balance AS balance
		  ORDER BY balance.project, balance.archived_through DESC) AS opening
	LEFT JOIN (SELECT cost.project, sum(cost.amount) AS amount
			   FROM yquota_internal.archived_cost AS cost GROUP BY cost.project) AS archived USING (project)
	WHERE yquota_internal.archived_cost_is_whole() AND archived.amount IS DISTINCT FROM opening.charged;
	END;
COMMENT ON FUNCTION yquota_internal.verify_periods() IS
	'What differs between closed periods, the ledger, and what is kept of the archived one';
REVOKE ALL ON FUNCTION yquota_internal.verify_periods() FROM PUBLIC;
CREATE OR REPLACE VIEW yquota.billing_period WITH (security_barrier) AS
	SELECT period.starts_at, period.until AS ends_at, period.closed_at
	FROM yquota_internal.period AS period;
COMMENT ON VIEW yquota.billing_period IS
	'Billing periods that have been closed, or are being closed, for everybody who gets bills';
COMMENT ON COLUMN yquota.billing_period.starts_at IS 'where the one before ends; -infinity for the first';
COMMENT ON COLUMN yquota.billing_period.closed_at IS
	'as_booked of cost_between() for the bill of the period; NULL while it is being closed';
CREATE OR REPLACE FUNCTION yquota_internal.rolled_up_range(
	cuts timestamptz[], by text[], OUT "from" timestamptz, OUT "to" timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT span.first, span.last
		FROM yquota_internal.valid_rollup AS rollup
		CROSS JOIN LATERAL (
			SELECT yquota_internal.next_quarter_hour(cuts[1]) AS first,
				   yquota_internal.quarter_hour(least(cuts[cardinality(cuts)], rollup.until)) AS last
		) AS span
		WHERE by <@ '{project,username,queue,application_id,execution_type}'
		  AND span.first + interval '1 hour' <= span.last
		  AND span.first < span.last
		  AND NOT EXISTS (SELECT FROM unnest(cuts) AS cut(at)
						  WHERE cut.at > span.first AND cut.at < span.last
							AND cut.at <> yquota_internal.quarter_hour(cut.at));
	END;
COMMENT ON FUNCTION yquota_internal.rolled_up_range(timestamptz[], text[]) IS
	'Part of a report that charge_rollup has; NULL for none';
REVOKE ALL ON FUNCTION yquota_internal.rolled_up_range(timestamptz[], text[]) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.part_within(cuts timestamptz[], "from" timestamptz, "to" timestamptz)
	RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_part_within';
COMMENT ON FUNCTION yquota_internal.part_within(timestamptz[], timestamptz, timestamptz) IS
	'Number of the part, from one of ascending instants to the next, that a segment lies in; NULL when one of them lies within it';
CREATE OR REPLACE FUNCTION yquota_internal.amount_beside_rollup(segment yquota_internal.settled_segment) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE
		WHEN yquota_internal.quarter_hour((segment)."from")
			= yquota_internal.quarter_hour(yquota_internal.last_instant((segment)."from", (segment)."to"))
			THEN (segment).amount
		ELSE yquota_internal.settled_cost(segment, (segment)."from", (segment)."to")
	END;
COMMENT ON FUNCTION yquota_internal.amount_beside_rollup(yquota_internal.settled_segment) IS
	'Credits of a settled segment, formed as charge_rollup forms them';
CREATE OR REPLACE FUNCTION yquota_internal.ledger_cost_query(
	keys text, starts_at text, ends_at text, is_one_part boolean, amount text, condition text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN is_one_part THEN format($query$
			SELECT 1 AS part, %1$s sum(%5$s) AS amount
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" >= %2$s AND "from" < %3$s AND "to" <= %3$s %4$s
			GROUP BY %1$s 1
			UNION ALL
			SELECT 1, %1$s sum(yquota_internal.settled_cost(segment, %2$s, %3$s))
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" < %2$s AND "to" > %2$s %4$s
			GROUP BY %1$s 1
			UNION ALL
			SELECT 1, %1$s sum(yquota_internal.settled_cost(segment, %2$s, %3$s))
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" >= %2$s AND "from" < %3$s AND "to" > %3$s %4$s
			GROUP BY %1$s 1
		$query$, keys, starts_at, ends_at, condition, amount)
	ELSE format($query$
			SELECT yquota_internal.part_within($1, "from", "to") AS part, %1$s sum(%5$s) AS amount
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" >= %2$s AND "from" < %3$s AND "to" <= %3$s %4$s
			GROUP BY %1$s 1
			UNION ALL
			SELECT piece.part, %1$s
				   sum(yquota_internal.settled_cost(segment, greatest($1[piece.part], %2$s),
													least($1[piece.part + 1], %3$s)))
			FROM yquota_internal.settled_segment AS segment
			CROSS JOIN LATERAL generate_series(
				width_bucket(greatest("from", %2$s), $1),
				width_bucket(least("to", %3$s) - interval '1 microsecond', $1)) AS piece(part)
			WHERE "from" < %3$s AND "to" > %2$s AND "from" < "to" %4$s
			  AND ("from" < %2$s OR "to" > %3$s
				   OR yquota_internal.part_within($1, "from", "to") IS NULL)
			GROUP BY %1$s 1
		$query$, keys, starts_at, ends_at, condition, amount)
	END;
COMMENT ON FUNCTION yquota_internal.ledger_cost_query(text, text, text, boolean, text, text) IS
	'SQL that adds up rows of the ledger, or parts of them, between two instants, with an expression for the amount of a row that is not cut; amounts of no part are to be dropped';
REVOKE ALL ON FUNCTION yquota_internal.ledger_cost_query(text, text, text, boolean, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.cost_query(
	by text[], is_one_part boolean, is_rolled_up boolean, is_archived boolean) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known CONSTANT text[] := '{project,username,queue,application_id,execution_type,node,container_id}';
	keys CONSTANT text := coalesce((SELECT string_agg(quote_ident(name) || ', ', '' ORDER BY number)
									FROM unnest(known) WITH ORDINALITY AS key (name, number)
									WHERE name = ANY (by)), '');
	of_project CONSTANT text := 'AND ($4 IS NULL OR segment.project = $4)';
	amount CONSTANT text := 'segment.amount';
	parts text;
BEGIN
	IF is_rolled_up THEN
		parts := concat_ws(E'\nUNION ALL\n',
			format('SELECT width_bucket(segment.quarter_hour, $1) AS part, %1$s sum(segment.amount) AS amount
					FROM yquota_internal.readable_rollup AS segment
					WHERE segment.quarter_hour >= $2 AND segment.quarter_hour < $3 %2$s GROUP BY %1$s 1',
				keys, of_project),
			yquota_internal.ledger_cost_query(keys, '$2', '$3', is_one_part, 'yquota_internal.amount_beside_rollup(segment)', of_project
				|| ' AND segment.booked_at >= $5 AND age(segment.posted_by) <= age($6)'),
			yquota_internal.ledger_cost_query(keys, '$1[1]', '$2', is_one_part, amount, of_project || ' AND $1[1] < $2'),
			yquota_internal.ledger_cost_query(keys, '$3', '$1[cardinality($1)]', is_one_part, amount,
											  of_project || ' AND $3 < $1[cardinality($1)]'));
	ELSE
		parts := yquota_internal.ledger_cost_query(keys, '$1[1]', '$1[cardinality($1)]', is_one_part, amount, of_project);
	END IF;
	IF is_archived THEN
		parts := concat_ws(E'\nUNION ALL\n', parts,
			format('SELECT width_bucket(segment.quarter_hour, $1) AS part, %1$s sum(segment.amount) AS amount
					FROM yquota_internal.readable_archived_cost AS segment
					WHERE segment.quarter_hour >= $1[1] AND segment.quarter_hour < $1[cardinality($1)] %2$s GROUP BY %1$s 1',
				keys, of_project));
	END IF;
	RETURN format($query$
		SELECT piece.part, %1$s, trim_scale(sum(piece.amount))
		FROM (
			%3$s
			UNION ALL
			SELECT running.part, %2$s
				   sum(yquota_internal.running_cost(segment, $1[running.part], $1[running.part + 1]))
			FROM yquota_internal.running_segment AS segment
			CROSS JOIN LATERAL generate_series(
				width_bucket(greatest("from", $1[1]), $1),
				width_bucket(least("to", $1[cardinality($1)]) - interval '1 microsecond', $1)) AS running(part)
			WHERE "from" < $1[cardinality($1)] AND "to" > $1[1] %4$s
			GROUP BY %2$s 1
		) AS piece
		WHERE piece.part IS NOT NULL
		GROUP BY %2$s piece.part
		$query$,
		(SELECT string_agg(CASE WHEN name = ANY (by) THEN 'piece.' || quote_ident(name)
								WHEN name = 'execution_type' THEN 'NULL::yquota.execution_type'
								ELSE 'NULL::text' END, ', ' ORDER BY number)
		 FROM unnest(known) WITH ORDINALITY AS column_of_result (name, number)),
		keys, parts, of_project);
END
$$;
COMMENT ON FUNCTION yquota_internal.cost_query(text[], boolean, boolean, boolean) IS
	'SQL of a report: parameters are its instants, the range to read from charge_rollup, a project or NULL for all, and what tells rows that are not rolled up yet';
REVOKE ALL ON FUNCTION yquota_internal.cost_query(text[], boolean, boolean, boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.cost_in_parts(
	cuts timestamptz[], by text[], of_project text DEFAULT NULL)
	RETURNS TABLE (part integer, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- compiling takes longer than what is compiled
	SET jit = off
AS $$
DECLARE
	rolled_up record;
	rollup yquota_internal.rollup_state;
	is_archived CONSTANT boolean := cuts[1] < yquota_internal.archive_horizon();
BEGIN
	IF is_archived THEN
		PERFORM yquota_internal.check_archived_report(cuts, by);
	END IF;
	SELECT * INTO rolled_up FROM yquota_internal.rolled_up_range(cuts, by);
	SELECT * INTO rollup FROM yquota_internal.rollup_state;
	RETURN QUERY EXECUTE yquota_internal.cost_query(by, cardinality(cuts) = 2, rolled_up."from" IS NOT NULL, is_archived)
	USING cuts, rolled_up."from", rolled_up."to", of_project, rollup.booked_from, rollup.horizon::xid;
END;
$$;
COMMENT ON FUNCTION yquota_internal.cost_in_parts(timestamptz[], text[], text) IS
	'Credits for what ran between each of some ascending instants and the next, running containers up to the clock: of the projects that whoever asks may see, or of one of them';
REVOKE ALL ON FUNCTION yquota_internal.cost_in_parts(timestamptz[], text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_report(of_report text, by text[], "from" timestamptz, "to" timestamptz)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := '{project,username,queue,application_id,execution_type,node,container_id}';
	unknown text;
BEGIN
	IF "from" IS NULL OR "to" IS NULL OR by IS NULL THEN
		RAISE EXCEPTION 'arguments of % must not be null', of_report
			USING ERRCODE = 'null_value_not_allowed',
				  HINT = 'Use ''-infinity'' and ''infinity'' for a window without ends, ''{}'' for one total.';
	END IF;
	IF "from" > "to" THEN
		RAISE EXCEPTION 'window ends before it begins'
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = format('It goes from %s to %s.', "from", "to");
	END IF;
	SELECT name INTO unknown
	FROM unnest(by) name
	WHERE name IS NULL OR name <> ALL (known)
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'cannot group costs by %', coalesce(quote_ident(unknown), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				  HINT = format('Group by any of %s.', array_to_string(known, ', '));
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_report(text, text[], timestamptz, timestamptz) IS
	'Refuse what a report cannot tell of';
REVOKE ALL ON FUNCTION yquota_internal.check_report(text, text[], timestamptz, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_archived_window("from" timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF "from" < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = 'Charges that ended before it have left the database.',
				  HINT = 'Begin at the horizon or later.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_archived_window(timestamptz) IS
	'Refuse a window of which single charges are to be told that have been archived';
REVOKE ALL ON FUNCTION yquota_internal.refuse_archived_window(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.cost_between_as_owner("from" timestamptz, "to" timestamptz,
													  by text[], as_booked timestamptz)
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM yquota_internal.check_report('cost_between', by, "from", "to");
	IF as_booked IS NOT NULL THEN
		PERFORM yquota_internal.check_booked_window("from", "to", as_booked);
		IF "from" < yquota_internal.archive_horizon() THEN
			PERFORM yquota_internal.check_archived_bill(by, as_booked);
		END IF;
		RETURN QUERY SELECT * FROM yquota_internal.booked_cost("from", "to", by, as_booked);
		RETURN;
	END IF;
	RETURN QUERY
	SELECT cost.project, cost.username, cost.queue, cost.application_id, cost.execution_type,
		   cost.node, cost.container_id, cost.amount
	FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], by) AS cost;
END;
$$;
COMMENT ON FUNCTION yquota_internal.cost_between_as_owner(timestamptz, timestamptz, text[], timestamptz) IS
	'What cost_between() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.cost_between_as_owner(timestamptz, timestamptz, text[], timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.cost_between("from" timestamptz, "to" timestamptz,
									by text[] DEFAULT '{project}', as_booked timestamptz DEFAULT NULL)
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.cost_between(timestamptz, timestamptz, text[], timestamptz) IS
	'Credits for what ran in a window, its start included and its end not, running containers up to the clock; exact for any window; before the archive horizon for full quarter-hours, and not by node or container.  "by" lists the columns to group by, the others are NULL.  Padding up to the minimum run time counts at the finish.  With as_booked a window of closed periods, as the ledger was then: a bill that has been issued, to the last digit';
REVOKE ALL ON FUNCTION yquota.cost_between(timestamptz, timestamptz, text[], timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.day_cuts(first_day date, last_day date, timezone text)
	RETURNS timestamptz[]
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF first_day IS NULL OR last_day IS NULL THEN
		RAISE EXCEPTION 'first and last day must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(first_day) OR NOT isfinite(last_day) THEN
		RAISE EXCEPTION 'first and last day must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF first_day > last_day THEN
		RAISE EXCEPTION 'last day % comes before the first one, %', last_day, first_day
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF last_day - first_day >= 4000 THEN
		RAISE EXCEPTION 'cannot report on more than 4000 days at once'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('From %s to %s there are %s.', first_day, last_day, last_day - first_day + 1);
	END IF;
	RETURN ARRAY(SELECT yquota_internal.billing_day_start(first_day + number, timezone)
				 FROM generate_series(0, last_day - first_day + 1) AS number
				 ORDER BY number);
END
$$;
COMMENT ON FUNCTION yquota_internal.day_cuts(date, date, text) IS
	'The midnights of a time zone from the start of one day to the end of another';
REVOKE ALL ON FUNCTION yquota_internal.day_cuts(date, date, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.cost_by_day_as_owner(
	first_day date, last_day date, by text[], timezone text)
	RETURNS TABLE (day date, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	midnights CONSTANT timestamptz[] := yquota_internal.day_cuts(first_day, last_day,
		coalesce(timezone, yquota_internal.billing_timezone()));
BEGIN
	PERFORM yquota_internal.check_report('cost_by_day', by, midnights[1], midnights[cardinality(midnights)]);
	RETURN QUERY
	SELECT first_day + (cost.part - 1), cost.project, cost.username, cost.queue, cost.application_id,
		   cost.execution_type, cost.node, cost.container_id, cost.amount
	FROM yquota_internal.cost_in_parts(midnights, by) AS cost;
END;
$$;
COMMENT ON FUNCTION yquota_internal.cost_by_day_as_owner(date, date, text[], text) IS
	'What cost_by_day() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.cost_by_day_as_owner(date, date, text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.cost_by_day(first_day date, last_day date,
								   by text[] DEFAULT '{project}', timezone text DEFAULT NULL)
	RETURNS TABLE (day date, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.cost_by_day(date, date, text[], text) IS
	'Credits for what ran on each of some days, cut exactly at the midnights of a time zone, by default the time zone of bills; otherwise as cost_between()';
REVOKE ALL ON FUNCTION yquota.cost_by_day(date, date, text[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.top_costs_as_owner(
	"from" timestamptz, "to" timestamptz, by text[], top integer)
	RETURNS TABLE (rank bigint, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, share numeric, previous numeric, growth numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	-- before that there are no instants
	first_epoch CONSTANT numeric := extract(epoch FROM '4714-11-24 00:00:00+00 BC'::timestamptz);
	earlier timestamptz;
	cuts timestamptz[] := ARRAY["from", "to"];
BEGIN
	PERFORM yquota_internal.check_report('top_costs', by, "from", "to");
	IF top IS NULL OR top < 1 THEN
		RAISE EXCEPTION 'number of rows must be 1 at least'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF isfinite("from") AND isfinite("to") AND "from" < "to"
		AND 2 * extract(epoch FROM "from") - extract(epoch FROM "to") >= first_epoch
	THEN
		earlier := "from" - concat((extract(epoch FROM "to") - extract(epoch FROM "from")) * 1000000,
								   ' microseconds')::interval;
		IF yquota_internal.is_reported_from(earlier, by) THEN
			cuts := ARRAY[earlier, "from", "to"];
		END IF;
	END IF;
	RETURN QUERY
	WITH spent AS MATERIALIZED (
		SELECT cost.project, cost.username, cost.queue, cost.application_id, cost.execution_type,
			   cost.node, cost.container_id,
			   coalesce(sum(cost.amount) FILTER (WHERE cost.part = cardinality(cuts) - 1), 0) AS now,
			   coalesce(sum(cost.amount) FILTER (WHERE cost.part < cardinality(cuts) - 1), 0) AS before
		FROM yquota_internal.cost_in_parts(cuts, by) AS cost
		GROUP BY cost.project, cost.username, cost.queue, cost.application_id, cost.execution_type,
				 cost.node, cost.container_id
	), ranked AS (
		SELECT rank() OVER (ORDER BY spent.now DESC) AS place, sum(spent.now) OVER () AS total, spent.*
		FROM spent
	)
	SELECT ranked.place, ranked.project, ranked.username, ranked.queue, ranked.application_id,
		   ranked.execution_type, ranked.node, ranked.container_id, ranked.now,
		   round(ranked.now / nullif(ranked.total, 0), 6),
		   CASE WHEN cardinality(cuts) = 3 THEN ranked.before END,
		   CASE WHEN cardinality(cuts) = 3 THEN trim_scale(ranked.now - ranked.before) END
	FROM ranked
	ORDER BY ranked.place, ranked.project, ranked.username, ranked.queue, ranked.application_id,
			 ranked.execution_type, ranked.node, ranked.container_id
	LIMIT top;
END;
$$;
COMMENT ON FUNCTION yquota_internal.top_costs_as_owner(timestamptz, timestamptz, text[], integer) IS
	'What top_costs() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.top_costs_as_owner(timestamptz, timestamptz, text[], integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.top_costs("from" timestamptz, "to" timestamptz,
								 by text[] DEFAULT '{project}', top integer DEFAULT 10)
	RETURNS TABLE (rank bigint, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, share numeric, previous numeric, growth numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.top_costs(timestamptz, timestamptz, text[], integer) IS
	'The dearest of what ran in a window, as cost_between() has them, with their share of the whole and what they cost in the window of the same length before';
REVOKE ALL ON FUNCTION yquota.top_costs(timestamptz, timestamptz, text[], integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.verify_rollup()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	starts_at CONSTANT timestamptz := yquota_internal.next_quarter_hour(yquota_internal.archive_horizon());
	ends_at CONSTANT timestamptz := (SELECT yquota_internal.quarter_hour(rollup.until) FROM yquota_internal.valid_rollup AS rollup);
	state yquota_internal.rollup_state;
BEGIN
	SELECT * INTO state FROM yquota_internal.rollup_state;
	IF ends_at IS NULL OR starts_at >= ends_at THEN
		RETURN;
	END IF;
	RETURN QUERY EXECUTE format($query$
		SELECT 'rolled-up cost of a project differs from the ledger', project,
			   trim_scale(coalesce(ledger.amount, 0))::text, trim_scale(coalesce(rolled_up.amount, 0))::text
		FROM (SELECT piece.project, sum(piece.amount) AS amount FROM (%s UNION ALL
				SELECT 1, correction.project,
					   correction.amount + yquota_internal.accrued(correction.allocation,
						   yquota_internal.factor_names(correction.project, correction.application_id, correction.username,
														correction.queue, correction.execution_type),
						   correction."from", correction."to")
				FROM yquota.charge AS correction
				JOIN yquota.charge AS corrected
					ON corrected.container_id = correction.container_id AND corrected.number = correction.corrects
				WHERE correction."from" >= $1 AND correction."to" <= $2
				  AND correction.booked_at >= $3 AND age(correction.xmin) <= age($4)
				  AND NOT (corrected.booked_at >= $3 AND age(corrected.xmin) <= age($4))
				  AND yquota_internal.quarter_hour(correction."from")
					  <> yquota_internal.quarter_hour(yquota_internal.last_instant(correction."from", correction."to"))
			  ) AS piece GROUP BY piece.project) AS ledger
		FULL JOIN (
			SELECT rollup.project, sum(rollup.amount) AS amount
			FROM yquota_internal.charge_rollup AS rollup
			WHERE rollup.quarter_hour >= $1 AND rollup.quarter_hour < $2
			GROUP BY rollup.project
		) AS rolled_up USING (project)
		WHERE coalesce(ledger.amount, 0) <> coalesce(rolled_up.amount, 0)
		$query$,
		yquota_internal.ledger_cost_query('project, ', '$1', '$2', true, 'segment.amount',
			'AND NOT (segment.booked_at >= $3 AND age(segment.posted_by) <= age($4))'))
	USING starts_at, ends_at, state.booked_from, state.horizon::xid;
END
$$;
COMMENT ON FUNCTION yquota_internal.verify_rollup() IS
	'Projects for which charge_rollup says otherwise than the ledger rows that it contains';
REVOKE ALL ON FUNCTION yquota_internal.verify_rollup() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.forgive_as_owner("from" timestamptz, "to" timestamptz, reason text, of_project text)
	RETURNS TABLE (outage_id bigint, project text, amount numeric)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	forgiven_id bigint;
	was jsonb;
BEGIN
	IF forgive_as_owner.reason !~ '[^[:space:]]' THEN
		RAISE EXCEPTION 'forgiving needs a reason'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- others who change what is charged wait, so that the difference is ours
	PERFORM yquota_internal.lock_pricing();
	IF forgive_as_owner."from" < forgive_as_owner."to" THEN
		was := (SELECT jsonb_object_agg(cost.project, cost.amount)
				FROM yquota_internal.cost_in_parts(ARRAY[forgive_as_owner."from", forgive_as_owner."to"], '{project}', of_project) AS cost);
	END IF;
	forgiven_id := yquota.report_outage(forgive_as_owner."from", forgive_as_owner."to", forgive_as_owner.reason, of_project);
	RETURN QUERY
	SELECT forgiven_id, was_charged.key, trim_scale(was_charged.value::numeric - coalesce(cost.amount, 0))
	FROM jsonb_each_text(was) AS was_charged
	LEFT JOIN yquota_internal.cost_in_parts(ARRAY[forgive_as_owner."from", forgive_as_owner."to"], '{project}', of_project) AS cost
		ON cost.project = was_charged.key
	WHERE was_charged.value::numeric <> coalesce(cost.amount, 0)
	ORDER BY was_charged.key;
END
$$;
COMMENT ON FUNCTION yquota_internal.forgive_as_owner(timestamptz, timestamptz, text, text) IS
	'What forgive() does for whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.forgive_as_owner(timestamptz, timestamptz, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.forgive("from" timestamptz, "to" timestamptz, reason text, project text DEFAULT NULL)
	RETURNS TABLE (outage_id bigint, project text, amount numeric)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.forgive(timestamptz, timestamptz, text, text) IS
	'Have nobody, or one project not, pay for a stretch of time, containers that run included, and tell what each project that the caller may see gets back: no rows when there is nothing, as when it is called again';
REVOKE ALL ON FUNCTION yquota.forgive(timestamptz, timestamptz, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.open_books(at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- before any resource manager
	first_instant CONSTANT timestamptz := '1970-01-01 00:00+00';
	opened_at timestamptz;
BEGIN
	IF open_books.at IS NULL THEN
		RAISE EXCEPTION 'instant when books are opened must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(open_books.at) THEN
		RAISE EXCEPTION 'instant when books are opened must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF open_books.at <= first_instant THEN
		RAISE EXCEPTION 'books cannot be opened before %', first_instant
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM yquota_internal.lock_pricing();
	SELECT outage.ended_at INTO opened_at
	FROM yquota.outage AS outage
	WHERE outage.started_at = first_instant AND outage.project IS NULL AND outage.ended_at <> open_books.at
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'books have been opened at %', opened_at
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'What is not to be charged after that can be forgiven with yquota.forgive().';
	END IF;
	RETURN yquota.report_outage(first_instant, open_books.at, 'books opened');
END
$$;
COMMENT ON FUNCTION yquota.open_books(timestamptz) IS
	'Charge nothing that ran before an instant, once and for all, while containers keep their creation times; returns the row of outage that says so.  Repeating it does nothing';
REVOKE ALL ON FUNCTION yquota.open_books(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.family_of(project text) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT project || ARRAY(SELECT family.member FROM yquota_internal.project_family AS family
								WHERE family.ancestor = family_of.project ORDER BY family.member);
	END;
COMMENT ON FUNCTION yquota_internal.family_of(text) IS
	'A project and all that descend from it';
REVOKE ALL ON FUNCTION yquota_internal.family_of(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.spent_at(project text, at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT trim_scale(sum(
			coalesce((SELECT opening.charged FROM yquota.opening_balance AS opening
					  WHERE opening.project = member.name
					  ORDER BY opening.archived_through DESC LIMIT 1), 0)
			+ coalesce((SELECT cost.amount
						FROM yquota_internal.cost_in_parts(ARRAY['-infinity', at], '{}', member.name) AS cost), 0)
			-- padding is booked at the finish, and has been by the end of that instant
			+ coalesce((SELECT sum(charge.amount) FROM yquota.charge
						WHERE charge.project = member.name AND charge."to" = at AND charge."from" = at), 0)))
		FROM unnest(yquota_internal.family_of(spent_at.project)) AS member (name);
	END;
COMMENT ON FUNCTION yquota_internal.spent_at(text, timestamptz) IS
	'Credits for what a project and its descendants ran until an instant, archived history included';
REVOKE ALL ON FUNCTION yquota_internal.spent_at(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.burn_rate_at(project text, at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT trim_scale(coalesce(sum(segment.sign * yquota_internal.rate(segment.allocation, segment.factors, at)), 0))
		FROM (
			SELECT CASE WHEN charge.corrects IS NULL THEN 1 ELSE -1 END AS sign, charge.allocation,
				   yquota_internal.factor_names(charge.project, charge.application_id, charge.username,
												charge.queue, charge.execution_type) AS factors
			FROM yquota.charge
			WHERE charge.project = ANY (yquota_internal.family_of(burn_rate_at.project)) AND charge."from" <= at AND charge."to" > at
			UNION ALL
			SELECT 1, container.allocation, container.factors
			FROM yquota.container
			WHERE container.project = ANY (yquota_internal.family_of(burn_rate_at.project)) AND container.settled_at <= at
		) AS segment;
	END;
COMMENT ON FUNCTION yquota_internal.burn_rate_at(text, timestamptz) IS
	'Credits per second that the containers of a project and its descendants cost at an instant';
REVOKE ALL ON FUNCTION yquota_internal.burn_rate_at(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.granted_at(project text, at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT trim_scale(
			coalesce((SELECT sum(life.amount) FROM yquota_internal.grant_life AS life
					  WHERE life.project = granted_at.project AND life.begins_at <= at), 0)
			- coalesce((SELECT sum(lost.amount)
						FROM (SELECT max(life.expires_at) AS at FROM yquota_internal.grant_life AS life
							  WHERE life.project = granted_at.project AND life.amount > 0 AND life.expires_at <= at
							  HAVING count(*) > 0) AS last_end
						CROSS JOIN LATERAL yquota_internal.credit_state(project, last_end.at) AS state
						CROSS JOIN LATERAL unnest(state.losses) AS lost (amount)), 0));
	END;
COMMENT ON FUNCTION yquota_internal.granted_at(text, timestamptz) IS
	'Credits of the grants of a project that had begun by an instant, less what was left of those that had expired';
REVOKE ALL ON FUNCTION yquota_internal.granted_at(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_past_balance(project text, at timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF project IS NULL OR at IS NULL THEN
		RAISE EXCEPTION 'project and instant of a balance must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(at) THEN
		RAISE EXCEPTION 'instant of a balance must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF at > yquota.statement_clock() THEN
		RAISE EXCEPTION 'cannot tell the balance at %, which is yet to come', at
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The clock is at %s.', yquota.statement_clock());
	ELSIF at < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'cannot tell the balance at %, which is before the archive horizon', at
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Charges that ended before %s have left the database.', yquota_internal.archive_horizon());
	ELSIF NOT EXISTS (SELECT FROM yquota.project_balance AS balance WHERE balance.project = check_past_balance.project) THEN
		RAISE EXCEPTION 'project "%" does not exist', project
			USING ERRCODE = 'foreign_key_violation';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_past_balance(text, timestamptz) IS
	'Refuse a balance that cannot be told; a project that the reader may not see does not exist for him';
REVOKE ALL ON FUNCTION yquota_internal.check_past_balance(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.balance_at_as_owner(project text, at timestamptz)
	RETURNS TABLE (granted numeric, spent numeric, held numeric, remaining numeric, burn_rate numeric,
				   exhausted_at timestamptz)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	PERFORM yquota_internal.check_past_balance(balance_at_as_owner.project, balance_at_as_owner.at);
	RETURN QUERY
	SELECT balance.granted, balance.spent, balance.held,
		   trim_scale(balance.granted - balance.spent - balance.held), balance.burn_rate,
		   CASE WHEN (SELECT p.quota_mode FROM yquota.project AS p
					  WHERE p.name = balance_at_as_owner.project) <> 'NOLIMIT' THEN
			   yquota_internal.used_up_at(balance_at_as_owner.at, balance.granted - balance.spent, balance.burn_rate)
		   END
	FROM (
		SELECT yquota_internal.granted_at(balance_at_as_owner.project, balance_at_as_owner.at) AS granted,
			   yquota_internal.spent_at(balance_at_as_owner.project, balance_at_as_owner.at) AS spent,
			   (SELECT trim_scale(coalesce(sum(hold.outstanding), 0))
				FROM unnest(yquota_internal.family_of(balance_at_as_owner.project)) AS member (name)
				CROSS JOIN LATERAL yquota_internal.holds_at(member.name, balance_at_as_owner.at) AS hold) AS held,
			   yquota_internal.burn_rate_at(balance_at_as_owner.project, balance_at_as_owner.at) AS burn_rate
		-- computed once, however often they are used
		OFFSET 0
	) AS balance;
END;
$$;
COMMENT ON FUNCTION yquota_internal.balance_at_as_owner(text, timestamptz) IS
	'What balance_at() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.balance_at_as_owner(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.balance_at(project text, at timestamptz)
	RETURNS TABLE (granted numeric, spent numeric, held numeric, remaining numeric, burn_rate numeric,
				   exhausted_at timestamptz)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.balance_at(text, timestamptz) IS
	'What a project had, and what it and its sub-projects had spent, held and were spending at an instant that has been, exactly, as the books know it today';
REVOKE ALL ON FUNCTION yquota.balance_at(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.wake_worker() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_wake_worker';
CREATE OR REPLACE FUNCTION yquota_internal.request_worker() RETURNS void
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_request_worker';
CREATE OR REPLACE FUNCTION yquota_internal.wake_worker_on_drop() RETURNS event_trigger
LANGUAGE C VOLATILE PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'yq_sql_wake_worker_on_drop';
CREATE OR REPLACE FUNCTION yquota_internal.note_gap(mark timestamptz, now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	-- what has been archived cannot be forgiven any more
	gap_from timestamptz := greatest(mark, yquota_internal.archive_horizon());
	gap interval := now_at - gap_from;
	is_forgiven boolean := gap <= yquota_internal.duration('yquota.outage_max');
	new_outage_id bigint;
BEGIN
	IF mark IS NULL OR gap <= yquota_internal.duration('yquota.outage_threshold')
		OR current_setting('yquota.outage_policy') = 'charge' THEN
		RETURN;
	END IF;

	INSERT INTO yquota.outage (started_at, ended_at, forgiven, reason)
	VALUES (gap_from, now_at, is_forgiven, 'the yquota worker was not running')
	RETURNING outage_id INTO new_outage_id;

	IF NOT is_forgiven THEN
		INSERT INTO yquota.alert (kind, subject, detail, raised_at)
		VALUES ('outage_undecided', new_outage_id,
				format('The worker was not running from %s to %s, longer than yquota.outage_max. The time is charged unless yquota.decide_outage(%s, true) forgives it.',
					   gap_from, now_at, new_outage_id),
				now_at);
	END IF;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.worker_start(own_pid integer, now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	last yquota_internal.worker_state;
	own_system bigint;
	own_database oid;
BEGIN
	INSERT INTO yquota_internal.worker_state DEFAULT VALUES ON CONFLICT DO NOTHING;
	SELECT * INTO STRICT last FROM yquota_internal.worker_state FOR UPDATE;
	SELECT system_identifier INTO STRICT own_system FROM pg_control_system();
	SELECT oid INTO STRICT own_database FROM pg_database WHERE datname = current_database();

	-- The first start, a restored copy, and a worker that left on purpose
	-- make no outage.
	IF last.pid IS NOT NULL AND last.system_identifier = own_system
		AND last.database_oid = own_database THEN
		PERFORM yquota_internal.note_gap(
			(SELECT mark.at FROM yquota_internal.compute_mark AS mark), now_at);
	END IF;

	-- In the same transaction, so that the gap is closed exactly once.
	INSERT INTO yquota.container_event (event, occurred_at, source)
	VALUES ('QUOTA_COMPUTE', now_at, 'yquota worker');

	UPDATE yquota_internal.worker_state
	SET pid = own_pid, started_at = now_at, stopped_at = NULL,
		system_identifier = own_system, database_oid = own_database,
		last_compute_at = now_at, failures = 0;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.worker_leave(own_pid integer, now_at timestamptz) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	UPDATE yquota_internal.worker_state SET pid = NULL, stopped_at = now_at
	WHERE pid = own_pid;
$$;
CREATE OR REPLACE FUNCTION yquota_internal.worker_price(now_at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT yquota_internal.try_lock_pricing() THEN
		RAISE lock_not_available USING MESSAGE = 'another change of prices is under way';
	END IF;
	PERFORM FROM yquota.compute_prices(now_at);
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.worker_credit(now_at timestamptz, max_projects integer DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM yquota_internal.grant_budgets(now_at);
	PERFORM yquota_internal.remove_ended_holds(now_at);
	RETURN yquota_internal.expire_grants(now_at, max_projects);
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_credit(timestamptz, integer) IS
	'Does what is due by the clock about credit: grants budgets, forgets holds that ended long ago, notes what expired grants lost, of so many projects at most; returns how many grants were noted';
REVOKE ALL ON FUNCTION yquota_internal.worker_credit(timestamptz, integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.worker_record(
	failures_now integer, now_at timestamptz, price_at timestamptz, compute_at timestamptz,
	fold_at timestamptz, error text, error_at timestamptz, postponed text[]) RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state AS state
		(last_price_at, last_compute_at, last_fold_at, last_error, last_error_at, failures)
	VALUES (price_at, compute_at, fold_at, error, error_at, failures_now)
	ON CONFLICT (only_row) DO UPDATE SET
		last_price_at = coalesce(price_at, state.last_price_at),
		last_compute_at = coalesce(compute_at, state.last_compute_at),
		last_fold_at = coalesce(fold_at, state.last_fold_at),
		last_error = coalesce(error, state.last_error),
		last_error_at = coalesce(error_at, state.last_error_at),
		failures = failures_now;

	INSERT INTO yquota.alert (kind, subject, detail, raised_at)
	SELECT 'worker_postponed', task,
		   'Another transaction holds a lock that the worker needs for this; it tries again every second.',
		   now_at
	FROM unnest(postponed) AS task
	ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;

	INSERT INTO yquota.alert (kind, subject, detail, raised_at)
	SELECT 'events_deferred', 'charge_deferred',
		   'Events came while yquota.charging was deferred and have not been charged: call yquota.charge_deferred() until nothing remains.',
		   now_at
	WHERE EXISTS (SELECT FROM yquota_internal.deferred_event)
	ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO NOTHING;

	-- What is over, and what an administrator decided by changing the row
	UPDATE yquota.alert SET cleared_at = now_at
	WHERE cleared_at IS NULL
	  AND (kind = 'worker_postponed' AND subject <> ALL (postponed)
		   OR kind = 'events_deferred' AND NOT EXISTS (SELECT FROM yquota_internal.deferred_event)
		   OR kind = 'outage_undecided' AND NOT EXISTS (
				SELECT FROM yquota.outage
				WHERE outage_id::text = subject AND NOT forgiven));
$$;
CREATE OR REPLACE FUNCTION yquota.start_worker() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state DEFAULT VALUES
	ON CONFLICT (only_row) DO UPDATE SET stopped_on_purpose = false;
	SELECT yquota_internal.request_worker();
$$;
CREATE OR REPLACE FUNCTION yquota.stop_worker() RETURNS void
LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
	INSERT INTO yquota_internal.worker_state AS state (stopped_on_purpose, stopped_at)
	VALUES (true, yquota.statement_clock())
	ON CONFLICT (only_row) DO UPDATE
	SET stopped_on_purpose = true, pid = NULL, stopped_at = excluded.stopped_at;
	SELECT yquota_internal.wake_worker();
$$;
CREATE OR REPLACE FUNCTION yquota.decide_outage(outage_id bigint, forgive boolean) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF forgive IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'the decision must not be null';
	END IF;
	PERFORM FROM yquota.outage WHERE outage.outage_id = decide_outage.outage_id FOR UPDATE;
	IF NOT FOUND THEN
		RAISE no_data_found
			USING MESSAGE = format('outage %s does not exist', outage_id),
				  HINT = 'See yquota.outage for those that wait for a decision.';
	END IF;

	UPDATE yquota.outage SET forgiven = forgive
	WHERE outage.outage_id = decide_outage.outage_id
	  AND forgiven <> forgive;
	UPDATE yquota.alert SET cleared_at = yquota.statement_clock()
	WHERE kind = 'outage_undecided' AND subject = outage_id::text
	  AND cleared_at IS NULL;
END
$$;
CREATE OR REPLACE FUNCTION yquota_internal.worker_processes()
	RETURNS TABLE (database name, pid integer)
LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	SELECT activity.datname, activity.pid
	FROM pg_stat_activity AS activity
	WHERE activity.backend_type = 'yquota worker';
END;
CREATE OR REPLACE VIEW yquota.worker_status AS
SELECT current_database() AS database,
	   process.pid,
	   CASE WHEN pg_is_in_recovery() THEN 'standby'
			WHEN process.pid IS NULL THEN 'stopped'
			WHEN state.stopped_on_purpose THEN 'stopping'
			WHEN process.pid = state.pid THEN 'running'
			ELSE 'starting'
	   END AS state,
	   state.started_at,
	   state.last_price_at,
	   state.last_compute_at,
	   state.last_fold_at,
	   state.last_error,
	   state.last_error_at,
	   coalesce(state.failures, 0) AS failures,
	   ARRAY(SELECT alert.subject FROM yquota.alert
			 WHERE alert.kind = 'worker_postponed' AND alert.cleared_at IS NULL
			 ORDER BY alert.subject) AS postponed
FROM (VALUES (true)) AS one (row)
LEFT JOIN yquota_internal.worker_state AS state ON true
LEFT JOIN LATERAL (
	SELECT worker.pid
	FROM yquota_internal.worker_processes() AS worker
	WHERE worker.database = current_database()
	ORDER BY worker.pid IS DISTINCT FROM state.pid
	LIMIT 1) AS process ON true
UNION ALL
SELECT worker.database, worker.pid, 'running',
	   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM yquota_internal.worker_processes() AS worker
WHERE worker.database <> current_database();
CREATE OR REPLACE FUNCTION yquota_internal.wake_worker_for_queues() RETURNS trigger
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM yquota_internal.wake_worker();
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.wake_worker_for_queues() IS
	'Makes the worker read anew how often policies of the scheduler run';
REVOKE ALL ON FUNCTION yquota_internal.wake_worker_for_queues() FROM PUBLIC;
CREATE OR REPLACE TRIGGER wake_worker AFTER INSERT OR DELETE OR UPDATE OF scheduler_monitor_enable, scheduler_monitor_policies,
		queue_management_monitoring_interval, auto_queue_creation_v2_queue_expiration_time ON yquota.scheduler_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.wake_worker_for_queues();
CREATE OR REPLACE FUNCTION yquota_internal.cost_under_terms(
	query text, base_prices yquota.base_price[], multipliers yquota.price[], factors yquota.price_factor[],
	from_at timestamptz, to_at timestamptz, of_project text)
	RETURNS TABLE (project text, amount numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_cost_under_terms';
COMMENT ON FUNCTION yquota_internal.cost_under_terms(text, yquota.base_price[], yquota.price[], yquota.price_factor[], timestamptz, timestamptz, text) IS
	'Runs a query as if the tables had other rows, where these are given';
REVOKE ALL ON FUNCTION yquota_internal.cost_under_terms(text, yquota.base_price[], yquota.price[], yquota.price_factor[], timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.refuse_terms(detail text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'invalid terms of prices'
		USING ERRCODE = 'invalid_parameter_value',
			DETAIL = detail,
			HINT = 'Terms are an object with any of "base_prices", "price_groups" and "factors".';
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_terms(text) IS 'The error for terms that are none';
REVOKE ALL ON FUNCTION yquota_internal.refuse_terms(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.terms_base_prices(terms jsonb) RETURNS yquota.base_price[]
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	member record;
	type yquota.resource_type;
	price yquota.base_price;
	rows yquota.base_price[];
BEGIN
	IF terms -> 'base_prices' IS NULL THEN
		RETURN NULL;
	END IF;
	rows := ARRAY(SELECT b FROM yquota.base_price AS b WHERE NOT terms -> 'base_prices' ? b.resource_type);
	FOR member IN SELECT * FROM jsonb_each(terms -> 'base_prices') LOOP
		SELECT * INTO type FROM yquota.resource_type AS t WHERE t.name = member.key;
		IF NOT FOUND THEN
			PERFORM yquota_internal.refuse_terms(format('Resource type "%s" does not exist.', member.key));
		ELSIF jsonb_typeof(member.value) = 'object' AND member.value - '{base_price,unit}'::text[] <> '{}' THEN
			PERFORM yquota_internal.refuse_terms(format('The base price of "%s" is not a number or an object of "base_price" and "unit".', member.key));
		END IF;
		price.resource_type := member.key;
		price.effective_at := '-infinity';
		price.base_price := CASE jsonb_typeof(member.value) WHEN 'object' THEN member.value ->> 'base_price'
							ELSE member.value #>> '{}' END;
		price.unit := coalesce((CASE jsonb_typeof(member.value) WHEN 'object' THEN member.value ->> 'unit' END)::bigint, type.unit);
		IF (price.base_price >= 0 AND price.base_price <= 1000000000000 AND scale(price.base_price) <= 18 AND price.unit > 0) IS NOT TRUE THEN
			PERFORM yquota_internal.refuse_terms(format('The base price of "%s" is out of range.', member.key));
		END IF;
		rows := rows || price;
	END LOOP;
	RETURN rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.terms_base_prices(jsonb) IS
	'Rows of base_price under terms; NULL when they change none';
REVOKE ALL ON FUNCTION yquota_internal.terms_base_prices(jsonb) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.terms_price_groups(terms jsonb) RETURNS SETOF yquota.price_group
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	given jsonb;
	group_row yquota.price_group;
	unknown text;
BEGIN
	SELECT key INTO unknown FROM jsonb_object_keys(terms -> 'price_groups') AS key
	WHERE key NOT IN (SELECT g.name FROM yquota.price_group AS g);
	IF FOUND THEN
		PERFORM yquota_internal.refuse_terms(format('Price group "%s" does not exist.', unknown));
	END IF;
	FOR group_row IN SELECT * FROM yquota.price_group LOOP
		given := terms -> 'price_groups' -> group_row.name;
		IF jsonb_typeof(given) <> 'object' OR given - '{tipping_point,increment_factor,max_multiplier}'::text[] <> '{}' THEN
			PERFORM yquota_internal.refuse_terms(format('Price group "%s" is not an object of "tipping_point", "increment_factor" and "max_multiplier".', group_row.name));
		END IF;
		group_row.tipping_point := coalesce((given ->> 'tipping_point')::numeric, group_row.tipping_point);
		group_row.increment_factor := coalesce((given ->> 'increment_factor')::numeric, group_row.increment_factor);
		IF given ? 'max_multiplier' THEN
			group_row.max_multiplier := (given ->> 'max_multiplier')::numeric;
		END IF;
		IF NOT group_row.tipping_point BETWEEN 0 AND 1 OR NOT group_row.increment_factor BETWEEN 0 AND 1000000
			OR NOT group_row.max_multiplier BETWEEN 1 AND 1000000000000
		THEN
			PERFORM yquota_internal.refuse_terms(format('A number of price group "%s" is out of range.', group_row.name));
		END IF;
		RETURN NEXT group_row;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.terms_price_groups(jsonb) IS
	'Price groups under terms';
REVOKE ALL ON FUNCTION yquota_internal.terms_price_groups(jsonb) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.terms_multipliers(terms jsonb, from_at timestamptz, to_at timestamptz)
	RETURNS yquota.price[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	SET work_mem = '64MB' SET jit = off
	RETURN CASE WHEN terms -> 'price_groups' IS NOT NULL THEN ARRAY(
		WITH own AS MATERIALIZED (
			SELECT p.price_group, p.effective_at, p.pinned,
				   CASE WHEN p.pinned OR p.utilization IS NULL THEN p.multiplier
						ELSE yquota_internal.multiplier(p.utilization, 1, g.tipping_point, g.increment_factor, g.max_multiplier)
				   END AS multiplier
			FROM yquota_internal.terms_price_groups(terms) AS g
				CROSS JOIN LATERAL (SELECT max(b.effective_at) AS at FROM yquota.price AS b
									WHERE b.price_group = g.name AND b.effective_at <= from_at) AS first
				JOIN yquota.price AS p ON p.price_group = g.name AND p.effective_at >= first.at AND p.effective_at < to_at
		), point AS (
			SELECT own.price_group, own.effective_at, own.multiplier, own.pinned, NULL::numeric AS floor FROM own
			UNION ALL
			SELECT g.name, own.effective_at, NULL, NULL, own.multiplier
			FROM yquota.price_group AS g, own
			WHERE own.price_group = 'GENERAL' AND g.name <> 'GENERAL'
		), filled AS (
			SELECT point.price_group, point.effective_at,
				   yquota_internal.last_known(point.multiplier) OVER so_far AS multiplier,
				   yquota_internal.last_known(point.pinned) OVER so_far AS pinned,
				   yquota_internal.last_known(point.floor) OVER so_far AS floor
			FROM point
			WINDOW so_far AS (PARTITION BY point.price_group ORDER BY point.effective_at)
		)
		SELECT ROW(f.price_group, f.effective_at,
				   CASE WHEN f.pinned OR f.multiplier IS NULL THEN coalesce(f.multiplier, 1)
						ELSE greatest(f.multiplier, f.floor) END,
				   NULL, false, '', f.effective_at)::yquota.price
		FROM filled AS f) END;
COMMENT ON FUNCTION yquota_internal.terms_multipliers(jsonb, timestamptz, timestamptz) IS
	'Rows of price that hold between two instants under terms; NULL when they change no group';
REVOKE ALL ON FUNCTION yquota_internal.terms_multipliers(jsonb, timestamptz, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.terms_factors(terms jsonb) RETURNS yquota.price_factor[]
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	element jsonb;
	factor yquota.price_factor;
	rows yquota.price_factor[];
BEGIN
	IF terms -> 'factors' IS NULL THEN
		RETURN NULL;
	END IF;
	rows := ARRAY(SELECT f FROM yquota.price_factor AS f
				  WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(terms -> 'factors') AS e
									WHERE e ->> 'dimension' = f.dimension::text AND e ->> 'name' = f.name));
	FOR element IN SELECT * FROM jsonb_array_elements(terms -> 'factors') LOOP
		factor.dimension := element ->> 'dimension';
		factor.name := element ->> 'name';
		factor.factor := (element ->> 'factor')::numeric;
		factor.effective_at := coalesce((element ->> 'effective_at')::timestamptz, '-infinity');
		IF factor.dimension IS NULL OR coalesce(factor.name, '') = '' OR NOT element ? 'factor'
			OR element - '{dimension,name,factor,effective_at}'::text[] <> '{}'
			OR NOT (factor.factor >= 0 AND factor.factor <= 1000000 AND scale(factor.factor) <= 6)
		THEN
			PERFORM yquota_internal.refuse_terms('Not a "dimension", a "name", a "factor" in range and perhaps an "effective_at": ' || left(element::text, 200));
		END IF;
		IF EXISTS (SELECT FROM unnest(rows) AS r
				   WHERE r.dimension = factor.dimension AND r.name = factor.name AND r.effective_at = factor.effective_at)
		THEN
			PERFORM yquota_internal.refuse_terms('A factor is there twice: ' || left(element::text, 200));
		END IF;
		rows := rows || factor;
	END LOOP;
	RETURN rows;
END
$$;
COMMENT ON FUNCTION yquota_internal.terms_factors(jsonb) IS
	'Rows of price_factor under terms; NULL when they change none';
REVOKE ALL ON FUNCTION yquota_internal.terms_factors(jsonb) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_terms(terms jsonb) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF jsonb_typeof(terms) <> 'object' THEN
		PERFORM yquota_internal.refuse_terms('They are not an object.');
	ELSIF terms - '{base_prices,price_groups,factors}'::text[] <> '{}' THEN
		PERFORM yquota_internal.refuse_terms(format('They have a key "%s".', (SELECT key FROM jsonb_object_keys(terms - '{base_prices,price_groups,factors}'::text[]) AS key LIMIT 1)));
	ELSIF coalesce(jsonb_typeof(terms -> 'base_prices'), 'object') <> 'object' OR coalesce(jsonb_typeof(terms -> 'price_groups'), 'object') <> 'object'
		OR coalesce(jsonb_typeof(terms -> 'factors'), 'array') <> 'array'
	THEN
		PERFORM yquota_internal.refuse_terms('"base_prices" and "price_groups" are objects, "factors" is an array.');
	END IF;
	PERFORM yquota_internal.terms_base_prices(terms), yquota_internal.terms_factors(terms);
	PERFORM FROM yquota_internal.terms_price_groups(terms);
EXCEPTION WHEN invalid_text_representation OR numeric_value_out_of_range OR invalid_datetime_format OR datetime_field_overflow THEN
	PERFORM yquota_internal.refuse_terms(SQLERRM || '.');
END
$$;
COMMENT ON FUNCTION yquota_internal.check_terms(jsonb) IS 'Refuse terms that are none';
REVOKE ALL ON FUNCTION yquota_internal.check_terms(jsonb) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.check_rerate("from" timestamptz, "to" timestamptz, terms jsonb, post boolean, reason text)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF terms IS NULL OR post IS NULL THEN
		RAISE EXCEPTION 'arguments of rerate must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	END IF;
	PERFORM yquota_internal.check_report('rerate', '{project}', "from", "to");
	PERFORM yquota_internal.refuse_archived_window("from");
	PERFORM yquota_internal.check_terms(terms);
	IF post AND (reason IS NULL OR reason !~ '\S') THEN
		RAISE EXCEPTION 'corrections need a reason'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Say in "reason" why prices were wrong.';
	ELSIF post AND (NOT isfinite("from") OR "to" > yquota.clock()) THEN
		RAISE EXCEPTION 'cannot post corrections for time that is not over'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The window goes from %s to %s, the clock shows %s.', "from", "to", yquota.clock());
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_rerate(timestamptz, timestamptz, jsonb, boolean, text) IS
	'Refuse arguments of rerate() that make no sense';
REVOKE ALL ON FUNCTION yquota_internal.check_rerate(timestamptz, timestamptz, jsonb, boolean, text) FROM PUBLIC;
CREATE OR REPLACE VIEW yquota_internal.priced_stretch AS
	SELECT c.project, c.application_id, c.username, c.queue, c.execution_type, c.allocation,
		   c."from", c."to", c.padding, c.corrects IS NOT NULL AS taken_back
	FROM yquota.charge AS c
	UNION ALL
	SELECT c.project, c.application_id, c.username, c.queue, c.execution_type, c.allocation,
		   c.settled_at, yquota.statement_clock(), NULL, false
	FROM yquota.container AS c
	WHERE c.settled_at < yquota.statement_clock();
COMMENT ON VIEW yquota_internal.priced_stretch IS
	'What amounts are formed of: rows of the ledger, those that take back others included, and running containers up to the clock';
CREATE OR REPLACE FUNCTION yquota_internal.cost_by_terms(terms jsonb, from_at timestamptz, to_at timestamptz, of_project text)
	RETURNS TABLE (project text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	BEGIN ATOMIC
		SELECT cost.project, cost.amount
		FROM yquota_internal.cost_under_terms($query$
			SELECT piece.project,
				   trim_scale(sum(CASE WHEN piece.taken_back THEN -piece.amount ELSE piece.amount END))
			FROM (
				SELECT s.project, s.taken_back,
					   CASE WHEN s.padding IS NULL THEN yquota_internal.accrued(s.allocation, applying.names, greatest(s."from", $1), least(s."to", $2))
							ELSE yquota_internal.rate(s.allocation, applying.names, s."to") * yquota_internal.microseconds(s.padding) * 0.000001
					   END AS amount
				FROM yquota_internal.priced_stretch AS s
				CROSS JOIN LATERAL (
					SELECT yquota_internal.factor_names(s.project, s.application_id, s.username, s.queue, s.execution_type) AS names
					OFFSET 0) AS applying
				WHERE ($3 IS NULL OR s.project = $3)
				  AND (s."from" < $2 AND s."to" > $1 AND s.padding IS NULL
					   OR s."to" >= $1 AND s."to" < $2 AND s.padding IS NOT NULL)
			) AS piece
			GROUP BY piece.project
			$query$, yquota_internal.terms_base_prices(terms), yquota_internal.terms_multipliers(terms, from_at, to_at),
			yquota_internal.terms_factors(terms), from_at, to_at, of_project) AS cost;
	END;
COMMENT ON FUNCTION yquota_internal.cost_by_terms(jsonb, timestamptz, timestamptz, text) IS
	'What projects, or one of them, would have paid under terms for what ran between two instants; under {}: what they paid';
REVOKE ALL ON FUNCTION yquota_internal.cost_by_terms(jsonb, timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.correct_by(differences jsonb, reason text, external_id text) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		INSERT INTO yquota.quota_grant (project, amount, reason, kind, external_id)
		SELECT d.key, -d.value::numeric, correct_by.reason, 'correction', format('%s %s', correct_by.external_id, d.key)
		FROM jsonb_each_text(differences) AS d
		WHERE d.value::numeric <> 0
		ON CONFLICT (external_id) DO NOTHING;
	END;
COMMENT ON FUNCTION yquota_internal.correct_by(jsonb, text, text) IS
	'Give back to projects, or take from them, what they paid too much or too little; once for each external_id';
REVOKE ALL ON FUNCTION yquota_internal.correct_by(jsonb, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.rerate(
	"from" timestamptz, "to" timestamptz, terms jsonb, of_project text DEFAULT NULL,
	post boolean DEFAULT false, reason text DEFAULT NULL)
	RETURNS TABLE (project text, was numeric, would_be numeric, difference numeric, posted boolean)
	LANGUAGE plpgsql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	differences jsonb;
	prefix text;
BEGIN
	PERFORM yquota_internal.check_rerate("from", "to", terms, post, reason);
	PERFORM yquota_internal.refuse_while_deferred('price events again');
	prefix := format('rerate %s %s %s', extract(epoch FROM "from"), extract(epoch FROM "to"), md5(terms::text));
	SELECT jsonb_object_agg(name, jsonb_build_object('was', coalesce(real.amount, 0), 'would_be', coalesce(other.amount, 0))) INTO differences
	FROM (SELECT cost.project, sum(cost.amount) AS amount
		  FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], '{project}', rerate.of_project) AS cost
		  GROUP BY cost.project) AS real
	FULL JOIN yquota_internal.cost_by_terms(terms, "from", "to", rerate.of_project) AS other ON other.project = real.project
	CROSS JOIN LATERAL coalesce(real.project, other.project) AS name;
	IF post THEN
		PERFORM yquota_internal.correct_by(
			(SELECT jsonb_object_agg(d.key, (d.value ->> 'would_be')::numeric - (d.value ->> 'was')::numeric) FROM jsonb_each(differences) AS d),
			reason, prefix);
	END IF;
	RETURN QUERY
	SELECT d.key, trim_scale((d.value ->> 'was')::numeric), trim_scale((d.value ->> 'would_be')::numeric),
		   trim_scale((d.value ->> 'would_be')::numeric - (d.value ->> 'was')::numeric),
		   EXISTS (SELECT FROM yquota.quota_grant AS g WHERE g.external_id = format('%s %s', prefix, d.key))
	FROM jsonb_each(differences) AS d
	ORDER BY d.key;
END
$$;
COMMENT ON FUNCTION yquota.rerate(timestamptz, timestamptz, jsonb, text, boolean, text) IS
	'What each project paid for what ran in a window, and what it would have paid under other terms; posts the difference as corrections of credit only when asked, once';
REVOKE ALL ON FUNCTION yquota.rerate(timestamptz, timestamptz, jsonb, text, boolean, text) FROM PUBLIC;
CREATE TABLE yquota.shadow_tariff (
	name text COLLATE "C" PRIMARY KEY CHECK (name <> ''),
	terms jsonb NOT NULL,
	description text
);
COMMENT ON TABLE yquota.shadow_tariff IS
	'Other terms of prices that nobody pays by: shadow_costs() compares them with those in force';
COMMENT ON COLUMN yquota.shadow_tariff.terms IS 'as rerate() takes them';
CREATE OR REPLACE FUNCTION yquota_internal.keep_shadow_tariff() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() AND NEW.terms IS NOT NULL THEN
		PERFORM yquota_internal.check_terms(NEW.terms);
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_shadow_tariff() IS 'Refuse tariffs whose terms are none';
REVOKE ALL ON FUNCTION yquota_internal.keep_shadow_tariff() FROM PUBLIC;
CREATE OR REPLACE TRIGGER keep BEFORE INSERT OR UPDATE ON yquota.shadow_tariff
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_shadow_tariff();
CREATE OR REPLACE FUNCTION yquota.shadow_costs("from" timestamptz, "to" timestamptz, of_project text DEFAULT NULL)
	RETURNS TABLE (tariff text, project text, was numeric, would_be numeric, difference numeric)
	LANGUAGE sql VOLATILE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT t.name::text, cost.project, cost.was, cost.would_be, cost.difference
		FROM yquota.shadow_tariff AS t
		CROSS JOIN LATERAL yquota.rerate("from", "to", t.terms, of_project) AS cost
		ORDER BY 1, 2;
	END;
COMMENT ON FUNCTION yquota.shadow_costs(timestamptz, timestamptz, text) IS
	'What each project paid for what ran in a window, and what it would have paid under each shadow tariff';
REVOKE ALL ON FUNCTION yquota.shadow_costs(timestamptz, timestamptz, text) FROM PUBLIC;
SELECT pg_extension_config_dump('yquota.shadow_tariff', '');
CREATE OR REPLACE VIEW yquota_internal.duty AS
	SELECT duty.name, 'yquota ' || duty.name AS job, duty.schedule, duty.every, duty.begins_at, duty.description
	FROM (VALUES
		('credit', '* * * * *', interval '0', NULL::timestamptz,
		 'Grant budgets, note what expired grants lost, forget holds that ended long ago'),
		('history', '*/5 * * * *', interval '5 minutes', timestamptz '2000-01-01 00:00+00',
		 'Seal ledger and log every yquota.seal_interval, and tend what was sealed'),
		('retention', '*/10 * * * *', interval '10 minutes', timestamptz '2000-01-01 00:00+00',
		 'Archive what is older than retention_setting.keep_months, one table at a time'),
		('roll-up', '*/15 * * * *', interval '15 minutes', timestamptz '2000-01-01 00:00+00',
		 'Add up what was spent per quarter-hour, for reports'),
		('verify', '30 2 * * *', interval '1 day', timestamptz '2000-01-01 02:30+00',
		 'Prove the books, and keep the result')
	) AS duty (name, schedule, every, begins_at, description);
COMMENT ON VIEW yquota_internal.duty IS 'What is due by the clock';
COMMENT ON COLUMN yquota_internal.duty.schedule IS 'when pg_cron does it, in its own words (UTC)';
COMMENT ON COLUMN yquota_internal.duty.every IS 'how often the worker does it; 0 for every yquota.compute_interval';
COMMENT ON COLUMN yquota_internal.duty.begins_at IS 'one instant at which the worker does it';
CREATE TABLE yquota_internal.duty_run (
	duty text COLLATE "C" PRIMARY KEY,
	started_at timestamptz NOT NULL,
	performed_by text COLLATE "C" NOT NULL,
	result text
);
COMMENT ON TABLE yquota_internal.duty_run IS 'When each duty was last done with success';
COMMENT ON COLUMN yquota_internal.duty_run.started_at IS 'clock';
COMMENT ON COLUMN yquota_internal.duty_run.performed_by IS 'pg_cron, worker, or nobody: since when the worker waits for the first time';
CREATE TABLE yquota.verification (
	verified_at timestamptz PRIMARY KEY,
	duration interval NOT NULL,
	problems bigint NOT NULL,
	found jsonb NOT NULL
);
COMMENT ON TABLE yquota.verification IS
	'What the nightly verify() found, for 400 days';
COMMENT ON COLUMN yquota.verification.verified_at IS 'clock when it began';
COMMENT ON COLUMN yquota.verification.duration IS 'how long it took';
COMMENT ON COLUMN yquota.verification.problems IS 'rows that verify() returned; 0 when all is well';
COMMENT ON COLUMN yquota.verification.found IS 'the first hundred of them';
CREATE OR REPLACE FUNCTION yquota_internal.keep_verification(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	began CONSTANT timestamptz := clock_timestamp();
	all_found jsonb;
	problems bigint;
BEGIN
	SELECT coalesce(jsonb_agg(problem), '[]') INTO all_found FROM yquota.verify() AS problem;
	problems := jsonb_array_length(all_found);
	INSERT INTO yquota.verification AS kept (verified_at, duration, problems, found)
	VALUES (now_at, clock_timestamp() - began, problems, jsonb_path_query_array(all_found, '$[0 to 99]'))
	ON CONFLICT (verified_at) DO UPDATE
	SET duration = excluded.duration, problems = excluded.problems, found = excluded.found;
	DELETE FROM yquota.verification AS kept WHERE kept.verified_at < now_at - interval '400 days';

	IF problems > 0 THEN
		INSERT INTO yquota.alert AS open (kind, subject, detail, raised_at)
		VALUES ('books_differ', 'verify', format('verify() found %s problems: see yquota.verification.', problems), now_at)
		ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE SET detail = excluded.detail;
	ELSE
		UPDATE yquota.alert SET cleared_at = now_at
		WHERE kind = 'books_differ' AND cleared_at IS NULL;
	END IF;
	RETURN problems;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_verification(timestamptz) IS
	'Prove the books and keep what was found; returns how many problems there are';
REVOKE ALL ON FUNCTION yquota_internal.keep_verification(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.perform_duty(
	duty text, performed_by text, now_at timestamptz DEFAULT yquota.clock())
	RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	outcome text;
	noted bigint;
BEGIN
	-- one at a time
	INSERT INTO yquota_internal.duty_run AS run (duty, started_at, performed_by)
	VALUES (perform_duty.duty, now_at, perform_duty.performed_by)
	ON CONFLICT ON CONSTRAINT duty_run_pkey DO UPDATE
	SET started_at = excluded.started_at, performed_by = excluded.performed_by;

	CASE perform_duty.duty
		WHEN 'credit' THEN
			-- the worker has other things to do between
			noted := yquota_internal.worker_credit(now_at, CASE WHEN perform_duty.performed_by = 'worker' THEN 100 END);
			IF noted > 0 THEN
				outcome := format('%s expired grants noted', noted);
			END IF;
		WHEN 'history' THEN
			PERFORM yquota_internal.worker_seal(now_at);
		WHEN 'retention' THEN
			outcome := yquota_internal.retain_history(now_at);
		WHEN 'roll-up' THEN
			outcome := format('%s rows added', yquota.roll_up());
		WHEN 'verify' THEN
			outcome := format('%s problems', yquota_internal.keep_verification(now_at));
		ELSE
			RAISE EXCEPTION 'duty "%" does not exist', perform_duty.duty
				USING ERRCODE = 'undefined_object';
	END CASE;

	UPDATE yquota_internal.duty_run AS run SET result = outcome
	WHERE run.duty = perform_duty.duty;
	RETURN outcome;
END
$$;
COMMENT ON FUNCTION yquota_internal.perform_duty(text, text, timestamptz) IS
	'Do a duty, whether it is due or not, and note that it was done; returns what, NULL for nothing to speak of';
REVOKE ALL ON FUNCTION yquota_internal.perform_duty(text, text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.cron_is_loaded() RETURNS boolean
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN EXISTS (SELECT FROM pg_settings WHERE name = 'cron.database_name');
COMMENT ON FUNCTION yquota_internal.cron_is_loaded() IS
	'Whether the server has pg_cron among its libraries';
REVOKE ALL ON FUNCTION yquota_internal.cron_is_loaded() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.cron_has(duty text) RETURNS boolean
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	is_active boolean := false;
BEGIN
	IF to_regclass('cron.job') IS NOT NULL AND yquota_internal.cron_is_loaded() THEN
		EXECUTE 'SELECT coalesce(bool_or(active), false) FROM cron.job WHERE jobname = $1 AND database = current_database()'
			INTO is_active USING 'yquota ' || duty;
	END IF;
	RETURN is_active;
END
$$;
COMMENT ON FUNCTION yquota_internal.cron_has(text) IS
	'Whether pg_cron is there and does a duty';
REVOKE ALL ON FUNCTION yquota_internal.cron_has(text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.duty_is_due(duty text, now_at timestamptz) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known yquota_internal.duty;
	last_at timestamptz;
BEGIN
	SELECT * INTO known FROM yquota_internal.duty AS d WHERE d.name = duty_is_due.duty;
	IF known.name IS NULL THEN
		RAISE EXCEPTION 'duty "%" does not exist', duty_is_due.duty
			USING ERRCODE = 'undefined_object';
	ELSIF yquota_internal.cron_has(known.name) THEN
		RETURN false;
	ELSIF known.every = '0' OR known.name = 'history' AND yquota_internal.history_wants_tending(now_at)
		OR known.name = 'retention' AND (SELECT history IS NOT NULL FROM yquota_internal.next_to_archive(now_at)) THEN
		RETURN true;
	END IF;
	INSERT INTO yquota_internal.duty_run AS run (duty, started_at, performed_by)
	VALUES (known.name, now_at, 'nobody') ON CONFLICT DO NOTHING;
	SELECT run.started_at INTO last_at FROM yquota_internal.duty_run AS run WHERE run.duty = known.name;
	RETURN last_at NOT BETWEEN date_bin(known.every, now_at, known.begins_at) AND now_at;
END
$$;
COMMENT ON FUNCTION yquota_internal.duty_is_due(text, timestamptz) IS
	'Whether the worker is to do a duty: it is time, and pg_cron does not do it';
REVOKE ALL ON FUNCTION yquota_internal.duty_is_due(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.worker_duty(duty text, now_at timestamptz) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.duty_is_due(duty, now_at) THEN
		RETURN yquota_internal.perform_duty(duty, 'worker', now_at);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_duty(text, timestamptz) IS
	'Do a duty if it is due and pg_cron does not do it; returns what was done, NULL for nothing to speak of';
REVOKE ALL ON FUNCTION yquota_internal.worker_duty(text, timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.require_cron() RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	-- pg_cron works in one database
	is_here boolean := yquota_internal.cron_is_loaded()
		AND current_setting('cron.database_name') = current_database();
	libraries text := current_setting('shared_preload_libraries');
BEGIN
	IF NOT is_here THEN
		IF NOT yquota_internal.cron_is_loaded() THEN
			libraries := concat_ws(', ', nullif(libraries, ''), 'pg_cron');
		END IF;
		RAISE EXCEPTION 'pg_cron is not loaded for database "%"', current_database()
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = format(E'Have these lines in postgresql.conf and restart the server:\nshared_preload_libraries = %L\ncron.database_name = %L',
							  libraries, current_database());
	ELSIF to_regclass('cron.job') IS NULL THEN
		RAISE EXCEPTION 'extension "pg_cron" is not installed'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'CREATE EXTENSION pg_cron;';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.require_cron() IS
	'Tell what is missing for pg_cron to work in this database';
REVOKE ALL ON FUNCTION yquota_internal.require_cron() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.install_cron_jobs() RETURNS TABLE (job text, schedule text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	duty yquota_internal.duty;
BEGIN
	PERFORM yquota_internal.require_cron();
	FOR duty IN SELECT * FROM yquota_internal.duty AS d ORDER BY d.name
	LOOP
		EXECUTE 'SELECT cron.schedule($1, $2, $3)'
		USING duty.job, duty.schedule,
			  format('SELECT yquota_internal.perform_duty(%L, %L)', duty.name, 'pg_cron');
		job := duty.job;
		schedule := duty.schedule;
		RETURN NEXT;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota.install_cron_jobs() IS
	'Have pg_cron do from now on what is due by the clock, in place of the worker; returns the jobs.  Repeating it brings schedules back to what they were';
REVOKE ALL ON FUNCTION yquota.install_cron_jobs() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.remove_cron_jobs() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	removed bigint := 0;
BEGIN
	IF to_regclass('cron.job') IS NOT NULL THEN
		EXECUTE 'SELECT count(cron.unschedule(jobid)) FROM cron.job
				 WHERE database = current_database()
				   AND jobname IN (SELECT duty.job FROM yquota_internal.duty)'
			INTO removed;
	END IF;
	RETURN removed;
END
$$;
COMMENT ON FUNCTION yquota.remove_cron_jobs() IS
	'Have the worker do again what is due by the clock; returns how many jobs were removed';
REVOKE ALL ON FUNCTION yquota.remove_cron_jobs() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.cron_runs()
	RETURNS TABLE (job text, schedule text, active boolean, last_run_at timestamptz, status text, message text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF to_regclass('cron.job') IS NOT NULL AND to_regclass('cron.job_run_details') IS NOT NULL THEN
		RETURN QUERY EXECUTE
			'SELECT job.jobname::text, job.schedule, job.active AND yquota_internal.cron_is_loaded(),
					run.start_time, run.status, run.return_message
			 FROM cron.job AS job
			 LEFT JOIN LATERAL (SELECT * FROM cron.job_run_details AS details
								WHERE details.jobid = job.jobid AND details.status IN (''succeeded'', ''failed'')
								ORDER BY details.runid DESC LIMIT 1) AS run ON true
			 WHERE job.database = current_database()';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.cron_runs() IS
	'Jobs of pg_cron in this database, with their last run';
CREATE OR REPLACE VIEW yquota.cron_jobs AS
	SELECT duty.job,
		   coalesce(cron.schedule, duty.schedule) AS schedule,
		   CASE WHEN cron.active THEN 'pg_cron' ELSE 'worker' END AS performed_by,
		   CASE WHEN cron.status = 'failed' THEN cron.last_run_at ELSE run.started_at END AS last_run_at,
		   CASE WHEN cron.status = 'failed' THEN 'failed: ' || rtrim(cron.message, E'\n')
				WHEN run.duty IS NOT NULL THEN concat_ws(': ', 'succeeded', run.result) END AS last_result,
		   duty.description
	FROM yquota_internal.duty AS duty
	LEFT JOIN yquota_internal.cron_runs() AS cron ON cron.job = duty.job
	LEFT JOIN yquota_internal.duty_run AS run ON run.duty = duty.name AND run.performed_by <> 'nobody';
COMMENT ON VIEW yquota.cron_jobs IS
	'What is due by the clock, who does it, and what came of it the last time';
COMMENT ON COLUMN yquota.cron_jobs.schedule IS 'as pg_cron writes it, in UTC';
COMMENT ON COLUMN yquota.cron_jobs.performed_by IS 'pg_cron or worker';
COMMENT ON COLUMN yquota.cron_jobs.last_run_at IS 'clock when it was last done; NULL when it never was';
COMMENT ON COLUMN yquota.cron_jobs.last_result IS 'succeeded or failed, and what was done; errors of the worker are in worker_status';
CREATE OR REPLACE FUNCTION yquota_internal.days_later(since timestamptz, days numeric) RETURNS timestamptz
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN days > 36500 THEN 'infinity'::timestamptz
		   ELSE since + (round(days * 86400) || ' seconds')::interval END;
COMMENT ON FUNCTION yquota_internal.days_later(timestamptz, numeric) IS
	'An instant some times 24 hours later; beyond a hundred years there is none';
REVOKE ALL ON FUNCTION yquota_internal.days_later(timestamptz, numeric) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.days_until_spent(
	credit numeric, mean numeric, deviation numeric, days bigint,
	OUT expected numeric, OUT earliest numeric, OUT latest numeric)
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	never CONSTANT numeric := 'Infinity';
	q CONSTANT numeric := (1.645 * deviation) ^ 2;
	a CONSTANT numeric := mean ^ 2 - q / nullif(days, 0);
	b CONSTANT numeric := 2 * mean * credit + q;
	root CONSTANT numeric := sqrt(greatest(b ^ 2 - 4 * a * credit ^ 2, 0));
BEGIN
	IF credit <= 0 THEN
		SELECT 0, 0, 0 INTO expected, earliest, latest;
		RETURN;
	END IF;
	expected := CASE WHEN mean > 0 THEN credit / mean ELSE never END;
	IF days < 2 THEN
		RETURN;
	END IF;
	-- in a form that loses nothing where a is about 0
	earliest := CASE WHEN b + root > 0 THEN 2 * credit ^ 2 / (b + root) ELSE never END;
	latest := CASE WHEN a > 0 THEN (b + root) / (2 * a) ELSE never END;
END
$$;
COMMENT ON FUNCTION yquota_internal.days_until_spent(numeric, numeric, numeric, bigint) IS
	'In how many days credit is used up that is spent with a mean and a standard deviation per day, observed for some days; no range from one day';
REVOKE ALL ON FUNCTION yquota_internal.days_until_spent(numeric, numeric, numeric, bigint) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.days_before(until timestamptz, days integer) RETURNS timestamptz[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT cut.at
		FROM generate_series(least(days, 1000), 0, -1) AS number
		CROSS JOIN LATERAL (SELECT until - number * interval '24 hours' AS at) AS cut
		WHERE cut.at >= yquota_internal.archive_horizon()
		ORDER BY cut.at);
COMMENT ON FUNCTION yquota_internal.days_before(timestamptz, integer) IS
	'Every 24 hours up to an instant, as far as the ledger reaches back';
REVOKE ALL ON FUNCTION yquota_internal.days_before(timestamptz, integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.spending_per_day(cuts timestamptz[], of_project text, together boolean)
	RETURNS TABLE (project text, days bigint, mean numeric, deviation numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH spent AS (
			SELECT line.project, cost.part, sum(cost.amount) AS amount
			FROM yquota_internal.cost_in_parts(cuts, '{project}',
				CASE WHEN together OR cardinality(yquota_internal.family_of(of_project)) = 1 THEN of_project END) AS cost
			CROSS JOIN LATERAL (
				SELECT CASE WHEN NOT together THEN cost.project END
				UNION ALL
				SELECT family.ancestor FROM yquota_internal.project_family AS family
				WHERE NOT together AND family.member = cost.project
			) AS line (project)
			WHERE NOT together OR EXISTS (SELECT FROM yquota.project AS p WHERE p.name = cost.project AND p.quota_mode = 'PREPAID')
			GROUP BY 1, cost.part
		), summed AS (
			SELECT s.project, cardinality(cuts) - min(s.part) AS days, sum(s.amount) AS total, sum(s.amount ^ 2) AS squares
			FROM spent AS s
			WHERE s.amount <> 0
			GROUP BY s.project
		)
		SELECT s.project, s.days, s.total / s.days,
			   CASE WHEN s.days > 1 THEN sqrt(greatest(s.squares - s.total ^ 2 / s.days, 0) / (s.days - 1)) ELSE 0 END
		FROM summed AS s;
	END;
COMMENT ON FUNCTION yquota_internal.spending_per_day(timestamptz[], text, boolean) IS
	'Mean and standard deviation of what projects and their descendants, or all that have a limit together, spent between each of some instants and the next, since they began to spend';
REVOKE ALL ON FUNCTION yquota_internal.spending_per_day(timestamptz[], text, boolean) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.forecast_as_owner(of_project text, days integer)
	RETURNS TABLE (project text, remaining numeric, observed_days bigint, spent_per_day numeric,
				   ends_at timestamptz, earliest_at timestamptz, latest_at timestamptz)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	now CONSTANT timestamptz := yquota.statement_clock();
	cuts timestamptz[];
BEGIN
	IF days IS NULL OR days NOT BETWEEN 1 AND 1000 THEN
		RAISE EXCEPTION 'number of days must be between 1 and 1000'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	cuts := yquota_internal.days_before(now, days);
	RETURN QUERY
	SELECT balance.project::text, balance.remaining, coalesce(spent.days, 0), round(coalesce(spent.mean, 0), 6),
		   yquota_internal.days_later(now, until.expected), yquota_internal.days_later(now, until.earliest),
		   yquota_internal.days_later(now, until.latest)
	FROM yquota.project_balance AS balance
		LEFT JOIN yquota_internal.spending_per_day(cuts, forecast_as_owner.of_project, false) AS spent ON spent.project = balance.project
		LEFT JOIN LATERAL yquota_internal.days_until_spent(balance.remaining, coalesce(spent.mean, 0), coalesce(spent.deviation, 0), coalesce(spent.days, 1)) AS until
			ON balance.limited_by = balance.project
	WHERE forecast_as_owner.of_project IS NULL OR balance.project = forecast_as_owner.of_project
	ORDER BY balance.project;
END
$$;
COMMENT ON FUNCTION yquota_internal.forecast_as_owner(text, integer) IS
	'What forecast() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.forecast_as_owner(text, integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.forecast(of_project text DEFAULT NULL, days integer DEFAULT 14)
	RETURNS TABLE (project text, remaining numeric, observed_days bigint, spent_per_day numeric,
				   ends_at timestamptz, earliest_at timestamptz, latest_at timestamptz)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.forecast(text, integer) IS
	'When the credit of a project, or of each, will be used up if the days to come are like the last ones: the expected instant, and a range that holds in nine cases of ten';
REVOKE ALL ON FUNCTION yquota.forecast(text, integer) FROM PUBLIC;
CREATE TABLE yquota.retention_setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	keep_months integer NOT NULL CHECK (keep_months BETWEEN 2 AND 1200),
	archive_schema name NOT NULL DEFAULT 'yquota_archive' CHECK (archive_schema NOT IN ('', 'yquota', 'yquota_internal'))
);
COMMENT ON TABLE yquota.retention_setting IS
	'At most one row: how long history stays in the books before it is archived.  For ever without a row';
COMMENT ON COLUMN yquota.retention_setting.keep_months IS
	'months after which what has been sealed is archived; not before the periods in which it lies are closed, if periods are closed at all';
COMMENT ON COLUMN yquota.retention_setting.archive_schema IS
	'schema of the tables charge and container_event, from which those of the stretches inherit; made when it is not there';
CREATE OR REPLACE FUNCTION yquota_internal.retention_limit(now_at timestamptz) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT now_at AT TIME ZONE 'UTC' - make_interval(months => setting.keep_months)
			FROM yquota.retention_setting AS setting) AT TIME ZONE 'UTC';
COMMENT ON FUNCTION yquota_internal.retention_limit(timestamptz) IS
	'What was sealed until then is to be archived; NULL for nothing';
REVOKE ALL ON FUNCTION yquota_internal.retention_limit(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.next_to_archive(
	now_at timestamptz, OUT history text, OUT stretch integer, OUT sealed_at timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	before timestamptz := yquota_internal.retention_limit(now_at);
	closed_until timestamptz;
BEGIN
	IF before IS NULL THEN
		RETURN;
	END IF;
	SELECT 'log', released.archived_through, released.sealed_at INTO history, stretch, sealed_at
	FROM yquota_internal.released_log AS released
	WHERE released.sealed_at <= before AND released.stretch > 0
	ORDER BY released.archived_through, released.stretch LIMIT 1;
	IF FOUND THEN
		RETURN;
	END IF;
	SELECT max(period.until) FILTER (WHERE period.closed_at IS NOT NULL) INTO closed_until
	FROM yquota.closed_period AS period
	HAVING count(*) > 0;
	IF FOUND THEN
		before := coalesce(least(before, closed_until), '-infinity');
	END IF;
	-- those that were sealed at the same time go together
	SELECT 'ledger', max(s.number), s.sealed_at INTO history, stretch, sealed_at
	FROM yquota.history_stretch AS s
	WHERE s.number > 0 AND s.ledger_table IS NOT NULL AND s.sealed_at <= before
	GROUP BY s.sealed_at ORDER BY s.sealed_at LIMIT 1;
END
$$;
COMMENT ON FUNCTION yquota_internal.next_to_archive(timestamptz) IS
	'The oldest stretch whose ledger or log retention_setting wants archived; NULL for none';
REVOKE ALL ON FUNCTION yquota_internal.next_to_archive(timestamptz) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.make_archive_table(parent regclass, archive_schema name, stretch integer) RETURNS regclass
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET client_min_messages = 'warning'
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	parent_name CONSTANT name := (SELECT c.relname FROM pg_class AS c WHERE c.oid = parent);
	owner CONSTANT name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = parent);
	whole CONSTANT text := format('%I.%I', archive_schema, parent_name);
	own CONSTANT text := format('%I.%I', archive_schema, parent_name || '_' || stretch);
BEGIN
	IF to_regnamespace(quote_ident(archive_schema)) IS NULL THEN
		EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', archive_schema, owner);
	END IF;
	IF to_regclass(whole) IS NULL THEN
		EXECUTE format('CREATE TABLE %s (LIKE %s)', whole, parent);
		EXECUTE format('ALTER TABLE %s OWNER TO %I', whole, owner);
	ELSIF (SELECT pg_get_userbyid(c.relowner) FROM pg_class AS c WHERE c.oid = to_regclass(whole)) <> owner THEN
		-- its constraints would run with the owner's rights
		RAISE EXCEPTION 'cannot archive below table %, which belongs to somebody else', whole
			USING ERRCODE = 'insufficient_privilege',
				HINT = format('Name another schema in yquota.retention_setting, or have the table belong to %I.', owner);
	END IF;
	EXECUTE format('CREATE TABLE %s () INHERITS (%s)', own, whole);
	EXECUTE format('ALTER TABLE %s OWNER TO %I', own, owner);
	EXECUTE format('CREATE INDEX ON %s (container_id)', own);
	RETURN own::regclass;
END
$$;
COMMENT ON FUNCTION yquota_internal.make_archive_table(regclass, name, integer) IS
	'Make the table that a stretch of the ledger or the log is archived into';
REVOKE ALL ON FUNCTION yquota_internal.make_archive_table(regclass, name, integer) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.retain_history(now_at timestamptz) RETURNS text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	due record;
	target regclass;
	moved bigint;
BEGIN
	SELECT * INTO due FROM yquota_internal.next_to_archive(now_at);
	IF due.history IS NULL THEN
		RETURN 'nothing to archive';
	END IF;
	target := yquota_internal.make_archive_table(
		CASE due.history WHEN 'ledger' THEN 'yquota.charge'::regclass ELSE 'yquota.container_event' END,
		(SELECT setting.archive_schema FROM yquota.retention_setting AS setting), due.stretch);
	SELECT archive.archived INTO moved FROM yquota_internal.archive_as_owner(target, due.sealed_at) AS archive;
	RETURN format('%s rows of the %s archived into %s', moved, due.history, yquota_internal.table_name(target));
END
$$;
COMMENT ON FUNCTION yquota_internal.retain_history(timestamptz) IS
	'Archive the ledger or the log of the oldest stretch that retention_setting wants archived; says what was done';
REVOKE ALL ON FUNCTION yquota_internal.retain_history(timestamptz) FROM PUBLIC;
SELECT pg_extension_config_dump('yquota.retention_setting', '');
CREATE OR REPLACE FUNCTION yquota_internal.price_check()
	RETURNS TABLE (price_group text, multiplier numeric, computed_multiplier numeric,
				   utilization numeric, pinned boolean)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH measured AS MATERIALIZED (
			-- what has arrived ahead of the clock is in the counters already
			SELECT * FROM yquota_internal.measure_price_groups(
				greatest(yquota.statement_clock(), yquota_internal.last_event_at()))
		), priced AS MATERIALIZED (
			SELECT own.price_group, in_force.multiplier, own.utilization, own.unknown IS NULL AS is_known,
				   own.multiplier AS wanted,
				   yquota_internal.pinned_until(own.price_group, yquota.statement_clock()) IS NOT NULL AS is_pinned
			FROM measured AS own
			CROSS JOIN LATERAL (
				SELECT price.multiplier
				FROM yquota.price AS price
				WHERE price.price_group = own.price_group
				  AND price.effective_at <= yquota.statement_clock()
				ORDER BY price.effective_at DESC
				LIMIT 1
			) AS in_force
		), lowest AS (
			-- GENERAL is the floor of all, as it stands where it is left alone
			SELECT CASE WHEN priced.is_known AND NOT priced.is_pinned THEN priced.wanted
						ELSE priced.multiplier END AS multiplier
			FROM priced
			WHERE priced.price_group = 'GENERAL'
		)
		SELECT priced.price_group, priced.multiplier,
			   CASE WHEN priced.is_known THEN greatest(priced.wanted, (SELECT lowest.multiplier FROM lowest)) END,
			   CASE WHEN priced.is_known THEN priced.utilization END,
			   priced.is_pinned
		FROM priced;
	END;
COMMENT ON FUNCTION yquota_internal.price_check() IS
	'The multiplier of every price group in force, and the one that its utilization asks for; NULL while the cluster is not known';
CREATE OR REPLACE FUNCTION yquota_internal.seconds_since(at timestamptz) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE WHEN isfinite(at) THEN extract(epoch FROM yquota.statement_clock()) - extract(epoch FROM at) END;
COMMENT ON FUNCTION yquota_internal.seconds_since(timestamptz) IS
	'Seconds from an instant to the clock; NULL when it never was';
CREATE OR REPLACE VIEW yquota.metrics AS
	SELECT 'price' AS family, 'yquota_price_' || sample.name AS metric,
		   jsonb_build_object('price_group', price.price_group) AS labels, sample.value
	FROM yquota_internal.price_check() AS price
	CROSS JOIN LATERAL (VALUES
		('multiplier', price.multiplier),
		('computed_multiplier', price.computed_multiplier),
		('utilization_ratio', price.utilization),
		('pinned', price.pinned::integer::numeric)
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL
	UNION ALL
	SELECT 'resource', 'yquota_resource_price_credits',
		   jsonb_build_object('resource_type', price.resource_type),
		   trim_scale(price.price * price.unit)
	FROM yquota.current_price AS price
	UNION ALL
	SELECT 'containers', 'yquota_containers_running',
		   jsonb_build_object('execution_type', kind.of_containers),
		   coalesce(sum(held.containers), 0)
	FROM unnest(enum_range(NULL::yquota.execution_type)) AS kind (of_containers)
	LEFT JOIN yquota.queue_usage AS held ON held.execution_type = kind.of_containers
	GROUP BY kind.of_containers
	UNION ALL
	SELECT 'nodes', 'yquota_nodes_registered', jsonb_build_object('state', node.state), count(*)
	FROM yquota.node AS node
	GROUP BY node.state
	UNION ALL
	SELECT 'project', 'yquota_project_' || sample.name,
		   jsonb_build_object('project', balance.project), sample.value
	FROM yquota_internal.project_credit AS balance
	CROSS JOIN LATERAL (VALUES
		('granted_credits', balance.granted),
		('spent_credits', balance.charged + balance.accrued),
		('held_credits', balance.held),
		('remaining_credits', balance.remaining),
		('burn_rate_credits', balance.burn_rate),
		('exhausted', (balance.unspent <= 0)::integer::numeric),
		('seconds_left', CASE WHEN balance.burn_rate > 0 THEN
							 round(extract(epoch FROM balance.exhausted_at - yquota.statement_clock()), 3) END)
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL
	UNION ALL
	SELECT 'feed', 'yquota_feed_' || sample.name,
		   jsonb_build_object('source', coalesce(feed.source, '')), sample.value
	FROM yquota.feed_status AS feed
	CROSS JOIN LATERAL (VALUES
		('events_total', feed.events::numeric),
		('silence_seconds', yquota_internal.seconds_since(feed.last_recorded_at)),
		('lag_seconds', yquota_internal.seconds_since(feed.last_event_at)),
		('rejected_events', feed.rejected::numeric),
		('waiting_events', feed.waiting::numeric),
		('deferred_events', feed.deferred::numeric)
	) AS sample (name, value)
	WHERE sample.value IS NOT NULL
	UNION ALL
	SELECT 'worker', 'yquota_worker_' || sample.name, '{}', sample.value
	FROM yquota.worker_status AS worker
	CROSS JOIN LATERAL (VALUES
		('up', (worker.state IN ('running', 'starting', 'standby'))::integer::numeric),
		('failures', worker.failures::numeric),
		('postponed_tasks', cardinality(worker.postponed)::numeric),
		('price_age_seconds', yquota_internal.seconds_since(worker.last_price_at)),
		('compute_age_seconds', yquota_internal.seconds_since(worker.last_compute_at)),
		('fold_age_seconds', yquota_internal.seconds_since(worker.last_fold_at))
	) AS sample (name, value)
	WHERE worker.database = current_database() AND sample.value IS NOT NULL
	UNION ALL
	SELECT 'mark', 'yquota_mark_age_seconds', '{}', yquota_internal.seconds_since(mark.at)
	FROM yquota.charged_through AS mark
	WHERE isfinite(mark.at)
	UNION ALL
	SELECT 'suspect', 'yquota_suspect_containers', '{}', count(DISTINCT suspect.container_id)
	FROM yquota_internal.suspect_container AS suspect
	UNION ALL
	SELECT 'verify', 'yquota_verify_' || sample.name, '{}', sample.value
	FROM (SELECT * FROM yquota.verification ORDER BY verified_at DESC LIMIT 1) AS last
	CROSS JOIN LATERAL (VALUES
		('problems', last.problems::numeric),
		('age_seconds', yquota_internal.seconds_since(last.verified_at))
	) AS sample (name, value)
	UNION ALL
	SELECT 'alert', 'yquota_alert_open', jsonb_build_object('kind', alert.kind), count(*)
	FROM yquota.alert AS alert
	WHERE alert.cleared_at IS NULL
	GROUP BY alert.kind;
COMMENT ON VIEW yquota.metrics IS
	'What a monitoring system asks for, one row per sample; ask for one family at a time.  docs/prometheus/queries.yaml has the queries for postgres_exporter';
COMMENT ON COLUMN yquota.metrics.family IS
	'price, resource, containers, nodes, project, feed, worker, mark, suspect, verify or alert';
COMMENT ON COLUMN yquota.metrics.metric IS 'name as in Prometheus';
COMMENT ON COLUMN yquota.metrics.labels IS 'labels as in Prometheus';
COMMENT ON COLUMN yquota.metrics.value IS 'the unit is the last part of the name; credits per second in those of a rate or price';
CREATE OR REPLACE FUNCTION yquota_internal.html(content text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN coalesce(replace(replace(replace(replace(replace(content,
		'&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'), '–');
COMMENT ON FUNCTION yquota_internal.html(text) IS 'Text that stands for itself in HTML, a dash for none';
CREATE OR REPLACE FUNCTION yquota_internal.html_number(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN number IS NULL THEN '–'
				WHEN abs(number) >= 1e15 THEN round(number)::text
				WHEN abs(number) >= 1000 OR number = round(number) THEN to_char(number, 'FM999,999,999,999,990')
				ELSE to_char(number, 'FM990.00') END;
COMMENT ON FUNCTION yquota_internal.html_number(numeric) IS 'A number as people read it';
CREATE OR REPLACE FUNCTION yquota_internal.html_axis(number numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN abs(number) >= 1e15 THEN to_char(number, 'FM9.9EEEE')
				WHEN abs(number) >= 1e12 THEN trim_scale(round(number / 1e12, 1)) || ' T'
				WHEN abs(number) >= 1e9 THEN trim_scale(round(number / 1e9, 1)) || ' G'
				WHEN abs(number) >= 1e6 THEN trim_scale(round(number / 1e6, 1)) || ' M'
				WHEN abs(number) >= 1e4 THEN trim_scale(round(number / 1e3, 1)) || ' k'
				ELSE yquota_internal.html_number(number) END;
COMMENT ON FUNCTION yquota_internal.html_axis(numeric) IS 'A number in the margin of a chart, where there is room for seven characters';
CREATE OR REPLACE FUNCTION yquota_internal.html_table(heads text[], body text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN body IS NULL THEN '<p>None.</p>'
				ELSE '<div class="wide"><table><thead><tr><th>' || array_to_string(heads, '</th><th>')
					|| '</th></tr></thead><tbody>' || body || '</tbody></table></div>' END;
COMMENT ON FUNCTION yquota_internal.html_table(text[], text) IS 'A table of rows that are HTML already; NULL for no rows';
CREATE OR REPLACE FUNCTION yquota_internal.chart_x(at timestamptz, "from" timestamptz, "to" timestamptz) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN round(64 + 568 * (extract(epoch FROM at) - extract(epoch FROM "from"))
				 / nullif(extract(epoch FROM "to") - extract(epoch FROM "from"), 0), 1);
COMMENT ON FUNCTION yquota_internal.chart_x(timestamptz, timestamptz, timestamptz) IS 'How far right an instant is in a chart; NULL in one without width';
CREATE OR REPLACE FUNCTION yquota_internal.chart_y(amount numeric, bottom numeric, top numeric) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN round(210 - 200 * (amount - bottom) / nullif(top - bottom, 0), 1);
COMMENT ON FUNCTION yquota_internal.chart_y(numeric, numeric, numeric) IS 'How far down an amount is in a chart; NULL in one without height';
CREATE OR REPLACE FUNCTION yquota_internal.chart(
	title text, "from" timestamptz, "to" timestamptz, bottom numeric, top numeric, body text, legend text[], zone text)
	RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN '<figure><figcaption>' || yquota_internal.html(title) || '</figcaption><p class="legend">'
		|| coalesce((SELECT string_agg(format('<span><i class="c%s"></i>%s</span>', name.number, yquota_internal.html(name.text)), ' ' ORDER BY name.number)
					 FROM unnest(legend) WITH ORDINALITY AS name (text, number)), '')
		|| '</p><div class="wide"><svg viewBox="0 0 640 240" role="img" aria-label="' || yquota_internal.html(title) || '">'
		|| (SELECT string_agg(format('<line x1="64" x2="632" y1="%1$s" y2="%1$s"/><text x="58" y="%2$s" class="y">%3$s</text>',
									 210 - 50 * line.number, 215 - 50 * line.number, yquota_internal.html_axis(bottom + (top - bottom) * line.number / 4)), '' ORDER BY line.number)
			FROM generate_series(0, 4) AS line (number))
		|| (SELECT string_agg(format('<text x="%s" y="232" class="x">%s</text>', 64 + 142 * mark.number,
									 to_char(("from" + ("to" - "from") * mark.number / 4) AT TIME ZONE zone,
											 CASE WHEN "to" - "from" <= interval '3 days' THEN 'MM-DD HH24:MI' ELSE 'YYYY-MM-DD' END)), '' ORDER BY mark.number)
			FROM generate_series(0, 4) AS mark (number))
		|| coalesce(body, '') || '</svg></div></figure>';
COMMENT ON FUNCTION yquota_internal.chart(text, timestamptz, timestamptz, numeric, numeric, text, text[], text) IS
	'A chart around shapes that are SVG already';
CREATE OR REPLACE FUNCTION yquota_internal.report_cuts("from" timestamptz, "to" timestamptz, zone text) RETURNS timestamptz[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT "from" UNION
		SELECT hour.at FROM generate_series(date_trunc('hour', "from"), "to", interval '1 hour') AS hour (at)
		WHERE "to" - "from" <= interval '3 days' AND hour.at > "from" AND hour.at < "to" UNION
		SELECT day.at FROM (
			SELECT yquota_internal.billing_day_start(yquota_internal.billing_day("from", zone) + number, zone) AS at
			FROM generate_series(1, least(4000, extract(day FROM "to" - "from")::integer + 1),
								 CASE WHEN "to" - "from" <= interval '100 days' THEN 1 ELSE 7 END) AS number) AS day
		WHERE "to" - "from" > interval '3 days' AND day.at > "from" AND day.at < "to" UNION
		SELECT "to"
		ORDER BY 1);
COMMENT ON FUNCTION yquota_internal.report_cuts(timestamptz, timestamptz, text) IS
	'Where the bars of a report begin and end: hours up to three days, days up to a hundred, weeks beyond';
CREATE TYPE yquota_internal.report_part AS (
	part integer,
	name text,
	amount numeric
);
COMMENT ON TYPE yquota_internal.report_part IS
	'What a project or a queue spent between an instant of a report and the next';
CREATE OR REPLACE FUNCTION yquota_internal.report_parts(cuts timestamptz[], by text, of_project text)
	RETURNS yquota_internal.report_part[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT ROW(cost.part, coalesce(CASE by WHEN 'queue' THEN cost.queue ELSE cost.project END, '(none)'), cost.amount)::yquota_internal.report_part
		FROM yquota_internal.cost_in_parts(cuts, ARRAY[by], of_project) AS cost);
COMMENT ON FUNCTION yquota_internal.report_parts(timestamptz[], text, text) IS
	'What projects or queues spent between each of some instants and the next';
REVOKE ALL ON FUNCTION yquota_internal.report_parts(timestamptz[], text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_spending(
	title text, spendings yquota_internal.report_part[], cuts timestamptz[], zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH spent AS MATERIALIZED (
			SELECT s.part, s.name, s.amount FROM unnest(spendings) AS s WHERE s.part < cardinality(cuts)
		), ranked AS (
			SELECT spent.name, least(8, row_number() OVER (ORDER BY sum(spent.amount) DESC, spent.name)) AS place
			FROM spent GROUP BY spent.name
		), bar AS (
			SELECT spent.part, ranked.place, greatest(sum(spent.amount), 0) AS amount
			FROM spent JOIN ranked USING (name)
			GROUP BY spent.part, ranked.place
		), stacked AS (
			SELECT bar.*, sum(bar.amount) OVER (PARTITION BY bar.part ORDER BY bar.place) AS reaches FROM bar
		), scale AS (
			SELECT coalesce(greatest(max(stacked.reaches), 0.01), 1) AS top FROM stacked
		)
		SELECT yquota_internal.chart(title, cuts[1], cuts[cardinality(cuts)], 0, scale.top,
			(SELECT string_agg(series.path, '')
			 FROM (SELECT format('<path class="c%s" d="%s"/>', stacked.place, string_agg(
							 format('M%s %sH%sV%sH%sZ', box.x1, box.y1, box.x2, box.y2, box.x1), '' ORDER BY stacked.part)) AS path
				   FROM stacked
				   CROSS JOIN LATERAL (
					 SELECT yquota_internal.chart_x(cuts[stacked.part], cuts[1], cuts[cardinality(cuts)]) AS x1,
							yquota_internal.chart_x(cuts[stacked.part + 1], cuts[1], cuts[cardinality(cuts)]) - 0.5 AS x2,
							yquota_internal.chart_y(stacked.reaches, 0, scale.top) AS y1,
							yquota_internal.chart_y(stacked.reaches - stacked.amount, 0, scale.top) AS y2) AS box
				   GROUP BY stacked.place) AS series),
			(SELECT array_agg(series.name ORDER BY series.place)
			 FROM (SELECT ranked.place, CASE WHEN ranked.place = 8 AND count(*) > 1 THEN 'all others' ELSE min(ranked.name) END AS name
				   FROM ranked GROUP BY ranked.place) AS series), zone)
		FROM scale;
	END;
COMMENT ON FUNCTION yquota_internal.report_spending(text, yquota_internal.report_part[], timestamptz[], text) IS
	'Chart of what was spent, stacked by project or queue';
REVOKE ALL ON FUNCTION yquota_internal.report_spending(text, yquota_internal.report_part[], timestamptz[], text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_prices(
	title text, show_utilization boolean, "from" timestamptz, "to" timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH point AS (
			SELECT price_group.name AS price_group, 64 + 2 * place.number AS x,
				   CASE WHEN show_utilization THEN last.utilization ELSE last.multiplier END AS value
			FROM yquota.price_group
			CROSS JOIN generate_series(0, 284) AS place (number)
			CROSS JOIN LATERAL (
				SELECT price.utilization, price.multiplier
				FROM yquota.price
				WHERE price.price_group = price_group.name
				  AND price.effective_at < least("from" + ("to" - "from") * ((place.number + 0.5) / 284), "to")
				  AND price.effective_at >= CASE WHEN place.number = 0 THEN '-infinity' ELSE "from" + ("to" - "from") * ((place.number - 0.5) / 284) END
				  AND (NOT show_utilization OR price.utilization IS NOT NULL)
				ORDER BY price.effective_at DESC
				LIMIT 1) AS last
		), scale AS (
			SELECT greatest(max(point.value), 1) AS top FROM point
		), series AS (
			SELECT point.price_group, row_number() OVER (ORDER BY point.price_group) AS place,
				   string_agg(format('H%sV%s', point.x, yquota_internal.chart_y(point.value, 0, scale.top)), '' ORDER BY point.x) AS path,
				   (array_agg(yquota_internal.chart_y(point.value, 0, scale.top) ORDER BY point.x))[1] AS first_y
			FROM point CROSS JOIN scale
			GROUP BY point.price_group
		)
		SELECT yquota_internal.chart(title, "from", "to", 0, coalesce((SELECT scale.top FROM scale), 1),
			(SELECT string_agg(format('<path class="line c%s" d="M64 %s%sH632"/>', least(series.place, 8), series.first_y, series.path), '') FROM series),
			(SELECT array_agg(series.price_group ORDER BY series.place) FROM series WHERE series.place <= 8), zone);
	END;
COMMENT ON FUNCTION yquota_internal.report_prices(text, boolean, timestamptz, timestamptz, text) IS
	'Chart of multipliers, or of the utilization that they were computed from';
REVOKE ALL ON FUNCTION yquota_internal.report_prices(text, boolean, timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_balances(
	spendings yquota_internal.report_part[], cuts timestamptz[], of_project text, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.html_table(
			'{Project,Granted,Spent,Held,Remaining,"Per hour now","Lasts at this rate until","Lasts as in this window until"}',
			string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
				yquota_internal.html(balance.project), yquota_internal.html_number(balance.granted),
				yquota_internal.html_number(balance.charged + balance.accrued), yquota_internal.html_number(balance.held),
				yquota_internal.html_number(balance.remaining), yquota_internal.html_number(balance.burn_rate * 3600),
				coalesce(to_char(balance.exhausted_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), '–'),
				CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN
					coalesce(to_char(yquota_internal.used_up_at(yquota.statement_clock(), balance.granted - balance.charged - balance.accrued,
						spent.amount / (extract(epoch FROM cuts[cardinality(cuts)]) - extract(epoch FROM cuts[1]))) AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), '–')
					ELSE 'no limit' END), '' ORDER BY balance.charged + balance.accrued DESC, balance.project))
		FROM (SELECT * FROM yquota.project_balance AS b WHERE of_project IS NULL OR b.project = of_project
			  ORDER BY b.charged + b.accrued DESC, b.project LIMIT 50) AS balance
		LEFT JOIN (SELECT s.name, sum(s.amount) AS amount FROM unnest(spendings) AS s
				   WHERE s.part < cardinality(cuts) GROUP BY s.name) AS spent ON spent.name = balance.project;
	END;
COMMENT ON FUNCTION yquota_internal.report_balances(yquota_internal.report_part[], timestamptz[], text, text) IS
	'Table of balances, and of how long they last at the present rate and at that of a window; the fifty who spent most';
REVOKE ALL ON FUNCTION yquota_internal.report_balances(yquota_internal.report_part[], timestamptz[], text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.past_balances(
	spendings yquota_internal.report_part[], cuts timestamptz[], until timestamptz, of_project text)
	RETURNS TABLE (at timestamptz, balance numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH books AS MATERIALIZED (
			SELECT s.project, p.parent, s.charged + s.accrued AS spent
			FROM yquota_internal.spending AS s JOIN yquota.project AS p ON p.name = s.project
		), limited AS MATERIALIZED (
			-- books of a project have those of its sub-projects in them, which count once
			SELECT b.project, coalesce(own.spent, 0) - CASE WHEN of_project IS NULL THEN coalesce(below.spent, 0) ELSE 0 END AS spent
			FROM yquota.project_balance AS b
			LEFT JOIN books AS own ON own.project = b.project
			LEFT JOIN (SELECT books.parent, sum(books.spent) AS spent FROM books GROUP BY books.parent) AS below ON below.parent = b.project
			WHERE b.quota_mode = 'PREPAID' AND (of_project IS NULL OR b.project = of_project)
		), spent AS MATERIALIZED (
			SELECT s.part, s.amount FROM unnest(spendings) AS s
			WHERE s.name IN (SELECT limited.project FROM limited)
			   OR s.name IN (SELECT family.member FROM yquota_internal.project_family AS family WHERE family.ancestor = of_project)
		), change AS MATERIALIZED (
			SELECT '-infinity'::timestamptz AS at,
				   coalesce((SELECT sum(spent.amount) FROM spent), 0) - (SELECT sum(limited.spent) FROM limited) AS amount
			UNION ALL
			SELECT least(cuts[spent.part + 1], until), -sum(spent.amount)
			FROM spent WHERE cuts[spent.part] < until GROUP BY 1
			UNION ALL
			SELECT life.begins_at, life.amount
			FROM yquota_internal.grant_life AS life JOIN limited USING (project)
			UNION ALL
			SELECT life.expires_at, -lost.lost
			FROM yquota_internal.lost_credit AS lost
			JOIN limited USING (project)
			JOIN yquota_internal.grant_life AS life USING (grant_id)
		)
		SELECT point.at, (SELECT sum(change.amount) FROM change WHERE change.at <= point.at)
		FROM (SELECT unnest(cuts) AS at UNION SELECT until) AS point
		WHERE point.at <= until AND EXISTS (SELECT FROM limited)
		ORDER BY point.at;
	END;
COMMENT ON FUNCTION yquota_internal.past_balances(yquota_internal.report_part[], timestamptz[], timestamptz, text) IS
	'What projects had left together at instants up to a last one; spendings reach to the clock';
REVOKE ALL ON FUNCTION yquota_internal.past_balances(yquota_internal.report_part[], timestamptz[], timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_forecast(
	since timestamptz, until timestamptz, credit numeric, days bigint, mean numeric, deviation numeric)
	RETURNS TABLE (at timestamptz, expected numeric, least_left numeric, most_left numeric)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT since + (until - since) * (step.number / 40.0), greatest(credit - mean * later.days, 0),
			   greatest(credit - mean * later.days - spread.amount, 0),
			   least(greatest(credit - mean * later.days + spread.amount, 0), credit)
		FROM generate_series(0, 40) AS step (number)
		CROSS JOIN LATERAL (SELECT (extract(epoch FROM until) - extract(epoch FROM since)) / 86400 * step.number / 40) AS later (days)
		CROSS JOIN LATERAL (SELECT CASE WHEN report_forecast.days < 2 THEN 0
									ELSE 1.645 * deviation * sqrt(later.days + later.days ^ 2 / report_forecast.days) END) AS spread (amount);
	END;
COMMENT ON FUNCTION yquota_internal.report_forecast(timestamptz, timestamptz, numeric, bigint, numeric, numeric) IS
	'What will be left of credit that is spent with a mean and a standard deviation per day, and the range of that';
REVOKE ALL ON FUNCTION yquota_internal.report_forecast(timestamptz, timestamptz, numeric, bigint, numeric, numeric) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.balance_chart(
	past timestamptz[], balances numeric[], days bigint, mean numeric, deviation numeric, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH span AS (
			SELECT past[1] AS starts_at, past[cardinality(past)] AS now, balances[cardinality(balances)] AS credit,
				   past[cardinality(past)] + greatest((past[cardinality(past)] - past[1]) / 2, interval '1 hour') AS ends_at
		), scale AS (
			SELECT least(min(b.amount), 0) AS bottom, greatest(max(b.amount), min(b.amount) + 0.01, 0.01) AS top FROM unnest(balances) AS b (amount)
		), past_line AS (
			SELECT string_agg(format('%s %s', yquota_internal.chart_x(p.at, span.starts_at, span.ends_at),
									 yquota_internal.chart_y(p.amount, scale.bottom, scale.top)), 'L' ORDER BY p.at) AS d
			FROM unnest(past, balances) AS p (at, amount), span, scale
		), point AS (
			SELECT f.at, yquota_internal.chart_x(f.at, span.starts_at, span.ends_at) AS x,
				   yquota_internal.chart_y(f.expected, scale.bottom, scale.top) AS expected,
				   yquota_internal.chart_y(f.least_left, scale.bottom, scale.top) AS least_left,
				   yquota_internal.chart_y(f.most_left, scale.bottom, scale.top) AS most_left
			FROM span, scale, yquota_internal.report_forecast(span.now, span.ends_at, span.credit, days, mean, deviation) AS f
			WHERE span.credit > 0
		)
		SELECT yquota_internal.chart('Balance, and what will be left of it if days to come are like the last ones', span.starts_at, span.ends_at,
			scale.bottom, scale.top,
			concat('<path class="line c1" d="M', past_line.d, '"/>',
				(SELECT format('<path class="band c2" d="M%sL%sZ"/><path class="line c2" d="M%s"/>',
						string_agg(format('%s %s', p.x, p.most_left), 'L' ORDER BY p.at), string_agg(format('%s %s', p.x, p.least_left), 'L' ORDER BY p.at DESC),
						string_agg(format('%s %s', p.x, p.expected), 'L' ORDER BY p.at))
				 FROM point AS p HAVING count(*) > 0)),
			'{Balance,"Forecast, with its range in nine cases of ten"}', zone)
		FROM span, scale, past_line;
	END;
COMMENT ON FUNCTION yquota_internal.balance_chart(timestamptz[], numeric[], bigint, numeric, numeric, text) IS
	'Chart of balances at ascending instants, and of how the last one may go on';
REVOKE ALL ON FUNCTION yquota_internal.balance_chart(timestamptz[], numeric[], bigint, numeric, numeric, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.forecast_in_words(
	days bigint, ends_at timestamptz, earliest_at timestamptz, latest_at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN NOT isfinite(ends_at) THEN 'At the rate of the last days they last for more than a hundred years.'
				ELSE concat('If days to come are like the last ', days, ', they last until ', to_char(ends_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
					CASE WHEN isfinite(latest_at) THEN
							concat(', in nine cases of ten between ', to_char(earliest_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
								   ' and ', to_char(latest_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'))
						 WHEN isfinite(earliest_at) THEN
							concat(', in nineteen cases of twenty beyond ', to_char(earliest_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI')) END, '.') END;
COMMENT ON FUNCTION yquota_internal.forecast_in_words(bigint, timestamptz, timestamptz, timestamptz, text) IS
	'A sentence about when credit will be used up';
REVOKE ALL ON FUNCTION yquota_internal.forecast_in_words(bigint, timestamptz, timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_balance_chart(
	spendings yquota_internal.report_part[], cuts timestamptz[], until timestamptz, of_project text, zone text) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	past timestamptz[];
	balances numeric[];
	pattern record;
	lasts record;
BEGIN
	SELECT array_agg(p.at ORDER BY p.at), array_agg(p.balance ORDER BY p.at) INTO past, balances
	FROM yquota_internal.past_balances(spendings, cuts, until, of_project) AS p;
	IF past IS NULL OR cardinality(past) < 2 THEN
		RETURN '<p>There is no balance to show.</p>';
	END IF;
	SELECT * INTO pattern FROM yquota_internal.spending_per_day(yquota_internal.days_before(until, 14), of_project, true);
	SELECT * INTO lasts FROM yquota_internal.days_until_spent(balances[cardinality(balances)], coalesce(pattern.mean, 0),
															 coalesce(pattern.deviation, 0), coalesce(pattern.days, 1));
	RETURN yquota_internal.balance_chart(past, balances, coalesce(pattern.days, 1), coalesce(pattern.mean, 0), coalesce(pattern.deviation, 0), zone)
		|| format('<p>On %s there were %s credits. %s</p>', to_char(until AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
			yquota_internal.html_number(balances[cardinality(balances)]),
			CASE WHEN balances[cardinality(balances)] > 0 THEN
				yquota_internal.forecast_in_words(coalesce(pattern.days, 1), yquota_internal.days_later(until, lasts.expected),
					yquota_internal.days_later(until, lasts.earliest), yquota_internal.days_later(until, lasts.latest), zone) END);
END
$$;
COMMENT ON FUNCTION yquota_internal.report_balance_chart(yquota_internal.report_part[], timestamptz[], timestamptz, text, text) IS
	'Chart of the balance of a project, or of all together, and how long it lasts; spendings reach to the clock';
REVOKE ALL ON FUNCTION yquota_internal.report_balance_chart(yquota_internal.report_part[], timestamptz[], timestamptz, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_applications("from" timestamptz, "to" timestamptz, of_project text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.html_table('{Application,Project,User,Queue,Credits}',
			string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
				yquota_internal.html(dear.application_id), yquota_internal.html(dear.project), yquota_internal.html(dear.username),
				yquota_internal.html(dear.queue), yquota_internal.html_number(dear.amount)), '' ORDER BY dear.amount DESC, dear.application_id))
		FROM (SELECT * FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], '{application_id,project,username,queue}', of_project)
			  ORDER BY amount DESC, application_id LIMIT 15) AS dear;
	END;
COMMENT ON FUNCTION yquota_internal.report_applications(timestamptz, timestamptz, text) IS 'Table of the dearest applications';
REVOKE ALL ON FUNCTION yquota_internal.report_applications(timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_trouble("from" timestamptz, "to" timestamptz, of_project text, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT '<h2>Events set aside</h2>' || yquota_internal.html_table('{Source,Reason,Events,Last}',
				(SELECT string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>', yquota_internal.html(bad.source),
						yquota_internal.html(bad.reason), bad.events, to_char(bad.last_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI')), '' ORDER BY bad.events DESC, bad.reason)
				 FROM (SELECT reject.source, reject.reason, count(*) AS events, max(reject.recorded_at) AS last_at
					   FROM yquota.event_reject AS reject
					   WHERE reject.recorded_at >= "from" AND reject.recorded_at < "to"
						 AND (of_project IS NULL OR reject.project = of_project)
						 AND ((SELECT yquota_internal.reads_all()) OR reject.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
					   GROUP BY reject.source, reject.reason ORDER BY count(*) DESC, reject.reason LIMIT 20) AS bad))
			|| '<h2>Outages</h2>' || yquota_internal.html_table('{From,To,Project,Forgiven,Reason}',
				(SELECT string_agg(format('<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>',
						to_char(outage.started_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), to_char(outage.ended_at AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'),
						yquota_internal.html(coalesce(outage.project, 'all')), CASE WHEN outage.forgiven THEN 'yes' ELSE 'no' END,
						yquota_internal.html(outage.reason)), '' ORDER BY outage.started_at, outage.outage_id)
				 FROM yquota.outage AS outage
				 WHERE outage.started_at < "to" AND outage.ended_at > "from"
				   AND (of_project IS NULL OR outage.project IS NULL OR outage.project = of_project)
				   AND ((SELECT yquota_internal.reads_all()) OR outage.project IS NULL OR outage.project = ANY ((SELECT yquota_internal.readable_projects())::text[]))));
	END;
COMMENT ON FUNCTION yquota_internal.report_trouble(timestamptz, timestamptz, text, text) IS 'Tables of events set aside and of outages';
REVOKE ALL ON FUNCTION yquota_internal.report_trouble(timestamptz, timestamptz, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.report_html_as_owner("from" timestamptz, "to" timestamptz, project text)
	RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- compiling takes longer than what is compiled
	SET jit = off
	AS $$
DECLARE
	zone CONSTANT text := yquota_internal.billing_timezone();
	style CONSTANT text := ':root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--rule:#d5dae0}'
		'@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--paper:#14171b;--rule:#3a4048}}'
		'*{box-sizing:border-box}body{font:16px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:0 auto;padding:1rem}'
		'h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem}figure{margin:1.5rem 0}figcaption{font-weight:600}'
		'.wide{overflow-x:auto}svg{display:block;width:100%;min-width:34rem}svg text{font-size:11px;fill:var(--ink)}.y{text-anchor:end}.x{text-anchor:middle}.x:last-of-type{text-anchor:end}'
		'svg line{stroke:var(--rule)}path{fill:var(--c)}path.line{fill:none;stroke:var(--c);stroke-width:2}path.band{opacity:.25}'
		'.legend{margin:.2rem 0;font-size:.85rem;overflow-wrap:anywhere}.legend span{display:inline-block;margin-right:.8rem}.legend i{display:inline-block;width:.8em;height:.8em;background:var(--c);margin-right:.3em}'
		'.c1{--c:#3b7dd8}.c2{--c:#e08a2c}.c3{--c:#3fa66b}.c4{--c:#c8504f}.c5{--c:#8a67c9}.c6{--c:#2aa3a8}.c7{--c:#c65f9e}.c8{--c:#8a9099}'
		'table{border-collapse:collapse;width:100%;min-width:40rem;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--rule);vertical-align:top;max-width:24rem;overflow-wrap:break-word}'
		'@media print{body{max-width:none;font-size:11px}figure,tr{break-inside:avoid}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}';
	now CONSTANT timestamptz := yquota.statement_clock();
	cuts timestamptz[];
	-- the window's, and to the clock where it ends before
	known_cuts timestamptz[];
	by_project yquota_internal.report_part[];
	of_family yquota_internal.report_part[];
	title text;
BEGIN
	PERFORM yquota_internal.check_report('report_html', '{}', "from", "to");
	PERFORM yquota_internal.refuse_archived_window("from");
	IF NOT isfinite("from") OR NOT isfinite("to") OR "from" = "to" THEN
		RAISE EXCEPTION 'window of a report must have two ends'
			USING ERRCODE = 'datetime_field_overflow';
	-- a difference of timestamps may overflow, and be less than nothing
	ELSIF extract(epoch FROM "to") - extract(epoch FROM "from") > extract(epoch FROM interval '4000 days') THEN
		RAISE EXCEPTION 'cannot report on more than 4000 days at once'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF NOT EXISTS (SELECT FROM yquota.project_balance AS b WHERE b.project = report_html_as_owner.project)
		AND report_html_as_owner.project IS NOT NULL THEN
		RAISE EXCEPTION 'project "%" does not exist', report_html_as_owner.project
			USING ERRCODE = 'undefined_object';
	END IF;
	cuts := yquota_internal.report_cuts("from", "to", zone);
	known_cuts := cuts || CASE WHEN "to" < now THEN ARRAY[now] END;
	by_project := yquota_internal.report_parts(known_cuts, 'project', report_html_as_owner.project);
	of_family := by_project || ARRAY(
		SELECT ROW(part.*)::yquota_internal.report_part
		FROM yquota_internal.project_family AS family
		CROSS JOIN LATERAL unnest(yquota_internal.report_parts(known_cuts, 'project', family.member)) AS part
		WHERE family.ancestor = report_html_as_owner.project);
	title := format('Use of the cluster, %s', coalesce('project ' || report_html_as_owner.project, 'all projects'));
	RETURN concat('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
		'<title>', yquota_internal.html(title), '</title><style>', style, '</style></head><body><h1>', yquota_internal.html(title), '</h1><p>',
		yquota_internal.html(format('From %s to %s, time zone %s; written at %s. Amounts are credits, rounded.',
			to_char("from" AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), to_char("to" AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'), zone,
			to_char(now AT TIME ZONE zone, 'YYYY-MM-DD HH24:MI'))), '</p><h2>Prices and utilization</h2>',
		yquota_internal.report_prices('Multiplier on base prices', false, "from", "to", zone),
		yquota_internal.report_prices('Utilization that it was computed from (1 is all of the cluster)', true, "from", "to", zone),
		'<h2>Spending</h2>',
		yquota_internal.report_spending('Credits by project', by_project, cuts, zone),
		yquota_internal.report_spending('Credits by queue', yquota_internal.report_parts(cuts, 'queue', report_html_as_owner.project), cuts, zone),
		'<h2>Balances and forecast</h2>',
		yquota_internal.report_balance_chart(of_family, known_cuts, least("to", now), report_html_as_owner.project, zone),
		yquota_internal.report_balances(by_project, cuts, report_html_as_owner.project, zone),
		'<h2>Dearest applications</h2>', yquota_internal.report_applications("from", "to", report_html_as_owner.project),
		yquota_internal.report_trouble("from", "to", report_html_as_owner.project, zone), '</body></html>');
END
$$;
COMMENT ON FUNCTION yquota_internal.report_html_as_owner(timestamptz, timestamptz, text) IS
	'What report_html() returns to whoever calls it';
REVOKE ALL ON FUNCTION yquota_internal.report_html_as_owner(timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.report_html("from" timestamptz, "to" timestamptz, project text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.report_html(timestamptz, timestamptz, text) IS
	'A window as one HTML page with charts, of one project or all that whoever asks may see';
REVOKE ALL ON FUNCTION yquota.report_html(timestamptz, timestamptz, text) FROM PUBLIC;
CREATE OR REPLACE VIEW yquota.balance_overview WITH (security_barrier) AS
	SELECT balance.project,
		   CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN round(balance.granted) END AS granted,
		   round(balance.charged + balance.accrued) AS spent,
		   round(balance.held) AS held,
		   CASE WHEN balance.quota_mode <> 'NOLIMIT' THEN round(balance.remaining) END AS remaining,
		   round(balance.burn_rate * 3600, 2) AS per_hour,
		   to_char(balance.exhausted_at, 'YYYY-MM-DD HH24:MI') AS lasts_until
	FROM yquota.project_balance AS balance;
COMMENT ON VIEW yquota.balance_overview IS
	'Balances to be looked at, rounded to credits; project_balance has the exact ones';
COMMENT ON COLUMN yquota.balance_overview.granted IS 'credits; NULL for a project without a limit';
COMMENT ON COLUMN yquota.balance_overview.spent IS 'credits, running containers up to the clock included';
COMMENT ON COLUMN yquota.balance_overview.held IS 'credits set aside for applications';
COMMENT ON COLUMN yquota.balance_overview.remaining IS 'credits; NULL for a project without a limit';
COMMENT ON COLUMN yquota.balance_overview.per_hour IS 'credits that running containers cost in an hour at the present prices';
COMMENT ON COLUMN yquota.balance_overview.lasts_until IS 'when credit is used up at that rate, in the time zone of the session; NULL for never';
CREATE OR REPLACE VIEW yquota.price_overview AS
	SELECT price.resource_type, price.price_group, round(price.multiplier, 4) AS multiplier,
		   round(price.price * price.unit * 3600, 4) AS unit_hour, price.unit,
		   CASE WHEN isfinite(price.effective_at) THEN to_char(price.effective_at, 'YYYY-MM-DD HH24:MI') END AS since
	FROM yquota.current_price AS price;
COMMENT ON VIEW yquota.price_overview IS
	'Prices to be looked at, rounded; current_price has the exact ones';
COMMENT ON COLUMN yquota.price_overview.unit_hour IS 'credits for holding one unit for an hour';
COMMENT ON COLUMN yquota.price_overview.unit IS 'how many native units that is';
COMMENT ON COLUMN yquota.price_overview.since IS 'in the time zone of the session; NULL when it has always been so';
CREATE OR REPLACE VIEW yquota.readable_charge WITH (security_barrier) AS
	SELECT charge.*
	FROM yquota.charge AS charge
	WHERE (SELECT yquota_internal.reads_all())
	   OR charge.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_charge IS
	'The ledger (charge) of the projects that the reader may see';
CREATE OR REPLACE VIEW yquota.readable_container WITH (security_barrier) AS
	SELECT container.container_id, container.project, container.application_id,
		   container.username, container.queue, container.node, container.label,
		   container.allocation, container.execution_type, container.started_at,
		   container.settled_at
	FROM yquota.container AS container
	WHERE (SELECT yquota_internal.reads_all())
	   OR container.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_container IS
	'Running containers (container) of the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_container.allocation IS 'native units';
COMMENT ON COLUMN yquota.readable_container.settled_at IS 'start of the stretch that is not yet in charge';
CREATE OR REPLACE VIEW yquota.readable_grant WITH (security_barrier) AS
	SELECT quota_grant.*
	FROM yquota.quota_grant AS quota_grant
	WHERE (SELECT yquota_internal.reads_all())
	   OR quota_grant.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_grant IS
	'Credit given (quota_grant) to the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_grant.amount IS 'credits; negative for a correction';
ALTER TABLE yquota.charge ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.charge FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.container ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.container FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.event_void ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.event_void FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.opening_balance ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.opening_balance FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.event_reject ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.event_reject
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.outage ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.outage
	USING ((SELECT yquota_internal.reads_all())
		   OR project IS NULL
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.project ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.project
	USING ((SELECT yquota_internal.reads_all())
		   OR name = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.quota_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.quota_grant
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.budget ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.budget
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.spending_threshold ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.spending_threshold
	USING ((SELECT yquota_internal.reads_all())
		   OR project IS NULL
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.expired_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.expired_grant FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
ALTER TABLE yquota.hold ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.hold
	USING ((SELECT yquota_internal.reads_all())
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]))
	WITH CHECK (true);
ALTER TABLE yquota.role_grant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.role_grant FOR SELECT
	USING ((SELECT yquota_internal.reads_all()));
CREATE OR REPLACE FUNCTION yquota_internal.refuse_rewriting() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE') THEN
		RAISE EXCEPTION 'cannot % table "%"',
				CASE TG_OP WHEN 'INSERT' THEN 'insert into' WHEN 'DELETE' THEN 'delete from' ELSE lower(TG_OP) END,
				TG_TABLE_NAME
			USING ERRCODE = 'insufficient_privilege',
				DETAIL = TG_ARGV[0],
				HINT = TG_ARGV[1];
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_rewriting() IS
	'Refuses a statement of whoever is not the owner; arguments: detail and hint of the error';
REVOKE ALL ON FUNCTION yquota_internal.refuse_rewriting() FROM PUBLIC;
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.container_event
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Events are facts and stay.', 'Void wrong ones with yquota.void_events().');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.charge
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'The ledger follows from the events.', 'Void wrong events with yquota.void_events(), or give credit back with yquota.quota_grant.');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.container
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Running containers follow from the events.', 'Insert events in yquota.container_event.');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.container_change
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Changes of containers follow from the events.', 'Insert events in yquota.container_event.');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT ON yquota.event_void
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Voids are written by the function that takes back charges.', 'Call yquota.void_events().');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT ON yquota.opening_balance
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Opening balances follow from what was archived.', 'Call yquota.archive().');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.history_stretch
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Stretches are written by the functions that seal and archive.', 'Call yquota.seal_history() or yquota.archive().');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.archived_history
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Where history went is written by the function that archives it.', 'Call yquota.archive().');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.pricing_change
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Changes of prices are noted when they are made.', 'Change the timelines themselves.');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.role_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'What roles are is written by the functions that grant it.', 'Call yquota.grant_member(), yquota.revoke_member() and the like.');
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.quota_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Grants are append-only.', 'Insert a row with a negative amount to take credit back.');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.expired_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'What grants lose follows from the books.', 'Give credit back with yquota.quota_grant.');
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.hold
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Credit is held when enough of it remains.', 'Call yquota.hold() or yquota.release().');
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Set another multiplier with yquota.set_multiplier(), or drop those that lie ahead with yquota.clear_multiplier().');
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Set another base price with yquota.set_base_price(), or withdraw one that lies ahead with yquota.withdraw_point().');
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Insert a point from now on, or withdraw one that lies ahead with yquota.withdraw_point().');
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'Timelines are append-only.', 'Insert a point from now on, or withdraw one that lies ahead with yquota.withdraw_point().');
CREATE OR REPLACE FUNCTION yquota.withdraw_point(
	timeline regclass, effective_at timestamptz, name text DEFAULT NULL, dimension text DEFAULT NULL)
	RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF withdraw_point.effective_at IS NULL OR withdraw_point.effective_at <= yquota.statement_clock() THEN
		RAISE EXCEPTION 'cannot withdraw a point that is not ahead'
			USING ERRCODE = 'object_not_in_prerequisite_state',
				DETAIL = format('The clock shows %s.', yquota.statement_clock()),
				HINT = 'Add a point from now on.';
	END IF;
	IF timeline = 'yquota.base_price'::regclass THEN
		DELETE FROM yquota.base_price AS p
		WHERE p.effective_at = withdraw_point.effective_at AND p.resource_type = withdraw_point.name;
	ELSIF timeline = 'yquota.price_factor'::regclass THEN
		DELETE FROM yquota.price_factor AS p
		WHERE p.effective_at = withdraw_point.effective_at AND p.name = withdraw_point.name
		  AND p.dimension = withdraw_point.dimension::yquota.factor_dimension;
	ELSIF timeline = 'yquota.charging_rule'::regclass THEN
		DELETE FROM yquota.charging_rule AS p WHERE p.effective_at = withdraw_point.effective_at;
	ELSE
		RAISE EXCEPTION 'points of "%" cannot be withdrawn', timeline
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Withdraw points of yquota.base_price, yquota.price_factor or yquota.charging_rule; yquota.clear_multiplier() drops multipliers that lie ahead.';
	END IF;
	RETURN FOUND;
END
$$;
COMMENT ON FUNCTION yquota.withdraw_point(regclass, timestamptz, text, text) IS
	'Take a point that lies ahead of the clock off the timeline of base prices, factors (name and dimension) or charging rules; returns whether there was one';
REVOKE ALL ON FUNCTION yquota.withdraw_point(regclass, timestamptz, text, text) FROM PUBLIC;
CREATE OR REPLACE VIEW yquota_internal.privilege AS
	SELECT l.object_kind, l.object, l.privilege, l.kinds::text[] AS kinds
	FROM (VALUES
		-- the door, and what follows from it
		('TABLE', 'yquota.container_event', 'INSERT', '{operator}'),
		('TABLE', 'yquota.container_event', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.charge', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.container', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.container_change', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.event_void', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.history_stretch', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.opening_balance', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.archived_history', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.retention_setting', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.retention_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.retention_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.retention_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.event_reject', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.event_reject', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.event_reject', 'DELETE', '{admin}'),
		-- configuration
		('TABLE', 'yquota.price_group', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price_group', 'INSERT', '{admin}'),
		('TABLE', 'yquota.price_group', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.price_group', 'DELETE', '{admin}'),
		('TABLE', 'yquota.resource_type', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.resource_type', 'INSERT', '{admin}'),
		('TABLE', 'yquota.resource_type', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.resource_type', 'DELETE', '{admin}'),
		('TABLE', 'yquota.base_price', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price_pin', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.shadow_tariff', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.shadow_tariff', 'INSERT', '{admin}'),
		('TABLE', 'yquota.shadow_tariff', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.shadow_tariff', 'DELETE', '{admin}'),
		('TABLE', 'yquota.price_factor', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.price_factor', 'INSERT', '{admin}'),
		('TABLE', 'yquota.charging_rule', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.charging_rule', 'INSERT', '{admin}'),
		('TABLE', 'yquota.outage', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.outage', 'INSERT', '{admin}'),
		('TABLE', 'yquota.outage', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.outage', 'DELETE', '{admin}'),
		('TABLE', 'yquota.pricing_change', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.project', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.project', 'INSERT', '{admin}'),
		('TABLE', 'yquota.project', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.project', 'DELETE', '{admin}'),
		('TABLE', 'yquota.quota_grant', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.quota_grant', 'INSERT', '{admin}'),
		('TABLE', 'yquota.expired_grant', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.budget', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.budget', 'INSERT', '{admin}'),
		('TABLE', 'yquota.budget', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.budget', 'DELETE', '{admin}'),
		('TABLE', 'yquota.billing_setting', 'SELECT', '{viewer,member,admin}'),
		('TABLE', 'yquota.closed_period', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.billing_period', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.billing_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.billing_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.billing_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.spending_threshold', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.spending_threshold', 'INSERT', '{admin}'),
		('TABLE', 'yquota.spending_threshold', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.spending_threshold', 'DELETE', '{admin}'),
		('TABLE', 'yquota.hold', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.role_grant', 'SELECT', '{admin}'),
		('TABLE', 'yquota.audit', 'SELECT', '{admin}'),
		('TABLE', 'yquota.configuration_mutation', 'SELECT', '{admin}'),
		-- queues
		('TABLE', 'yquota.queue', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.queue', 'INSERT', '{admin}'),
		('TABLE', 'yquota.queue', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.queue', 'DELETE', '{admin}'),
		('TABLE', 'yquota.effective_queue', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.queue_tree', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.queue_label', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.queue_label', 'INSERT', '{admin}'),
		('TABLE', 'yquota.queue_label', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.queue_label', 'DELETE', '{admin}'),
		('TABLE', 'yquota.queue_user', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.queue_user', 'INSERT', '{admin}'),
		('TABLE', 'yquota.queue_user', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.queue_user', 'DELETE', '{admin}'),
		('TABLE', 'yquota.wildcard_template', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.wildcard_template', 'INSERT', '{admin}'),
		('TABLE', 'yquota.wildcard_template', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.wildcard_template', 'DELETE', '{admin}'),
		('TABLE', 'yquota.mapping_rule', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.mapping_rule', 'INSERT', '{admin}'),
		('TABLE', 'yquota.mapping_rule', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.mapping_rule', 'DELETE', '{admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'INSERT', '{admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.workflow_priority_mapping', 'DELETE', '{admin}'),
		('TABLE', 'yquota.user_setting', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.user_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.user_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.user_setting', 'DELETE', '{admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'INSERT', '{admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.multi_node_sorting_policy', 'DELETE', '{admin}'),
		('TABLE', 'yquota.node_label', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.node_label', 'INSERT', '{admin}'),
		('TABLE', 'yquota.node_label', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.node_label', 'DELETE', '{admin}'),
		('TABLE', 'yquota.kept_property', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.kept_property', 'INSERT', '{admin}'),
		('TABLE', 'yquota.kept_property', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.kept_property', 'DELETE', '{admin}'),
		('TABLE', 'yquota.scheduler_setting', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.scheduler_setting', 'INSERT', '{admin}'),
		('TABLE', 'yquota.scheduler_setting', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.scheduler_setting', 'DELETE', '{admin}'),
		-- applications: row-level security tells whose
		('TABLE', 'yquota.application', 'SELECT', '{operator,member,viewer,admin}'),
		-- what they ask for, and what the scheduler decided
		('TABLE', 'yquota.blacklist', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.container_update', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.decision', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.reservation', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.resource_request', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.scheduler_application', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.scheduler_node', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.scheduler_queue', 'SELECT', '{operator,viewer,admin}'),
		-- what the cluster reports
		('TABLE', 'yquota.node', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.node', 'INSERT', '{admin}'),
		('TABLE', 'yquota.node', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.node', 'DELETE', '{admin}'),
		('TABLE', 'yquota.utilization', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.utilization', 'INSERT', '{admin}'),
		('TABLE', 'yquota.utilization', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.utilization', 'DELETE', '{admin}'),
		('TABLE', 'yquota.pending_demand', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.pending_demand', 'INSERT', '{admin}'),
		('TABLE', 'yquota.pending_demand', 'UPDATE', '{admin}'),
		('TABLE', 'yquota.pending_demand', 'DELETE', '{admin}'),
		('TABLE', 'yquota.alert', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.alert', 'UPDATE', '{admin}'),
		-- views
		('TABLE', 'yquota.current_price', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.price_overview', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.balance_overview', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.price_history', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.charged_through', 'SELECT', '{operator,member,viewer,admin}'),
		('TABLE', 'yquota.project_balance', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.project_usage', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.exhausted_work', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.container_cost', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.daily_cost', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.suspect_container', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_charge', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_container', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.readable_grant', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.grant_status', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.hold_status', 'SELECT', '{member,viewer,admin}'),
		('TABLE', 'yquota.feed_status', 'SELECT', '{operator,viewer,admin}'),
		('TABLE', 'yquota.queue_usage', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.node_usage', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.worker_status', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.metrics', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.cron_jobs', 'SELECT', '{viewer,admin}'),
		('TABLE', 'yquota.verification', 'SELECT', '{viewer,admin}'),
		-- reports
		('FUNCTION', 'yquota.cost_between(timestamptz,timestamptz,text[],timestamptz)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.balance_at(text,timestamptz)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.cost_by_day(date,date,text[],text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.top_costs(timestamptz,timestamptz,text[],integer)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.forecast(text,integer)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.explain_charge(text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.report_html(timestamptz,timestamptz,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.price_quote(yquota.resource,interval,text,yquota.execution_type,text,text,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.create_queue(text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.manage_queues()', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.remove_unused_queues()', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.verify(timestamptz)', 'EXECUTE', '{viewer,admin}'),
		-- credit: members that of their projects, operators and administrators that of all
		('FUNCTION', 'yquota.hold(text,text,numeric,interval,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.release(bigint)', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- decisions about queues, on a configuration that all of these may read
		('FUNCTION', 'yquota.application_priority(text,text[],text,integer,text[],text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.check_queue_access(text,text[],text,text,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.explain_placement(text,text[],text,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.place_application(text,text[],text,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- applications, for whoever speaks for the resource manager
		('FUNCTION', 'yquota.submit_application(text,text,text[],text,text,yquota.resource,integer,bigint,text[],text,boolean,text,text,text,text,text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.admission(text,text,text[],text,text,yquota.resource,integer,bigint,text[],text,boolean,text,text,text,text,text)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.finish_application(text,yquota.application_state,text,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.move_application(text,text,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_application_priority(text,integer,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_application_lifetime(text,bigint,text,text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.set_outstanding_requests(text,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.activate_applications(text)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.expired_applications()', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.remove_finished_applications(timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.check_application_access(text,text,text[],text)', 'EXECUTE', '{operator,viewer,admin}'),
		('FUNCTION', 'yquota.import_rm_audit(text,text,integer,text,text,text,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.import_rm_audit_file(text,text,integer,text,text,text,timestamptz)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.import_nodes(jsonb,text,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.import_cluster_metrics(jsonb,timestamptz,text)', 'EXECUTE', '{operator,admin}'),
		-- containers, likewise
		('FUNCTION', 'yquota.acknowledge(text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.node_heartbeat(text[],boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.release_containers(text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.request_containers(text,yquota.container_request[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.request_containers(text,yquota.resource,bigint,text,integer,bigint,boolean,text,yquota.execution_type)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.schedule(text[],integer,boolean,boolean)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_blacklist(text,text[],text[])', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_container(text,integer,yquota.resource,yquota.execution_type,integer,bigint)', 'EXECUTE', '{operator,admin}'),
		('FUNCTION', 'yquota.update_containers(text,yquota.container_update_request[])', 'EXECUTE', '{operator,admin}'),
		-- of others only to operators and those who read all
		('FUNCTION', 'yquota.headroom(text,text)', 'EXECUTE', '{operator,member,viewer,admin}'),
		('FUNCTION', 'yquota.user_limit(text,text,text,boolean)', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- what administrators do
		('FUNCTION', 'yquota.archive(regclass,timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.charge_deferred(bigint)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.clear_multiplier(text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.compute_prices(timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.decide_outage(bigint,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.forgive(timestamptz,timestamptz,text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.close_period(timestamptz,integer)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.open_books(timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.grant_member(regrole,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.install_cron_jobs()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.remove_cron_jobs()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.grant_operator(regrole)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.grant_viewer(regrole)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.node_lost(text,timestamptz,integer)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.quota_compute()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.reconcile(jsonb,timestamptz,boolean)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.renew_role_grants()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.report_outage(timestamptz,timestamptz,text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.rerate(timestamptz,timestamptz,jsonb,text,boolean,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.shadow_costs(timestamptz,timestamptz,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.retry_rejects(text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.revoke_member(regrole,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.revoke_operator(regrole)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.revoke_viewer(regrole)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.roll_up()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.seal_history()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.set_base_price(text,numeric,bigint,timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.set_multiplier(text,numeric,timestamptz,timestamptz)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.start_worker()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.stop_worker()', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.void_events(text,text,text,timestamptz,timestamptz,text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.withdraw_point(regclass,timestamptz,text,text)', 'EXECUTE', '{admin}'),
		-- Hadoop's configuration files
		('FUNCTION', 'yquota.import_hadoop_configuration(text[],text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.import_hadoop_configuration(text,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.import_hadoop_configuration(xml,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.import_hadoop_configuration(jsonb,text)', 'EXECUTE', '{admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(text[],text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(text,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(xml,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.diff_hadoop_configuration(jsonb,text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.configuration_advice()', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.export_hadoop_configuration(text)', 'EXECUTE', '{member,viewer,admin}'),
		('FUNCTION', 'yquota.hadoop_configuration(text)', 'EXECUTE', '{member,viewer,admin}'),
		-- by whom a policy lets, for himself; operators and administrators for others
		('FUNCTION', 'yquota.mutate_configuration(jsonb,text,text[])', 'EXECUTE', '{operator,member,viewer,admin}'),
		-- the owner's: who administrates, and time itself
		('FUNCTION', 'yquota.grant_admin(regrole)', 'EXECUTE', '{}'),
		('FUNCTION', 'yquota.revoke_admin(regrole)', 'EXECUTE', '{}'),
		('FUNCTION', 'yquota.reset_clock()', 'EXECUTE', '{}'),
		('FUNCTION', 'yquota.sequence_commands()', 'EXECUTE', '{}'),
		('FUNCTION', 'yquota.set_clock(timestamptz)', 'EXECUTE', '{}'),
		-- everybody's: they compute, and read nothing but the clock and what
		-- their caller may read
		('FUNCTION', 'yquota.clock()', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.statement_clock()', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.archive_digest(regclass)', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.archive_digest_query(text,text)', 'EXECUTE', '{public}'),
		('FUNCTION', 'yquota.publication_commands(text)', 'EXECUTE', '{public}')
	) AS l (object_kind, object, privilege, kinds);
COMMENT ON VIEW yquota_internal.privilege IS
	'What grant_operator(), grant_viewer(), grant_member() and grant_admin() grant; the functions of type resource, which are for everybody, are left out';
COMMENT ON COLUMN yquota_internal.privilege.kinds IS
	'kinds of role_grant that have the privilege; {public} everybody, {} the owner alone';
CREATE OR REPLACE FUNCTION yquota_internal.apply_role_grants(grantee regrole, taken_kind text DEFAULT NULL)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	held text[] := ARRAY(SELECT DISTINCT g.kind FROM yquota.role_grant AS g WHERE g.role_oid = grantee);
	p record;
BEGIN
	-- the owner has his privileges anyway, and could lose them here
	IF grantee = (SELECT c.relowner FROM pg_class AS c WHERE c.oid = 'yquota.role_grant'::regclass) THEN
		RETURN;
	END IF;
	FOR p IN
		SELECT l.object_kind, l.object, l.privilege, l.kinds && held AS is_held
		FROM yquota_internal.privilege AS l
		WHERE l.kinds && (held || taken_kind)
	LOOP
		IF p.is_held THEN
			EXECUTE format('GRANT %s ON %s %s TO %s', p.privilege, p.object_kind, p.object, grantee);
		ELSE
			EXECUTE format('REVOKE %s ON %s %s FROM %s', p.privilege, p.object_kind, p.object, grantee);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.apply_role_grants(regrole, text) IS
	'Give a role the privileges of what it is, and take those of what it is no more';
REVOKE ALL ON FUNCTION yquota_internal.apply_role_grants(regrole, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.keep_role_grant() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	NEW.role_oid := coalesce(to_regrole(quote_ident(NEW.role))::oid, 0);
	IF NOT yquota_internal.restoring() THEN
		NEW.granted_by := session_user;
		NEW.granted_at := clock_timestamp();
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.keep_role_grant() IS
	'Record who granted and when, and which role has the name, on the server of a restore as well';
REVOKE ALL ON FUNCTION yquota_internal.keep_role_grant() FROM PUBLIC;
CREATE OR REPLACE TRIGGER keep BEFORE INSERT OR UPDATE OF role, role_oid, granted_by, granted_at ON yquota.role_grant
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.keep_role_grant();
CREATE OR REPLACE FUNCTION yquota_internal.grant_kind(grantee regrole, new_kind text, of_project text DEFAULT NULL)
	RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF grantee IS NULL OR NOT EXISTS (SELECT FROM pg_roles WHERE oid = grantee) THEN
		RAISE EXCEPTION 'role to grant to does not exist'
			USING ERRCODE = 'undefined_object';
	ELSIF new_kind = 'member' AND NOT EXISTS (SELECT FROM yquota.project AS p WHERE p.name = of_project) THEN
		RAISE EXCEPTION 'project "%" does not exist', of_project
			USING ERRCODE = 'foreign_key_violation',
				HINT = 'Insert it into yquota.project.';
	END IF;
	-- grants to one role follow each other, lest one takes what another gives
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	INSERT INTO yquota.role_grant (role, role_oid, kind, project)
	SELECT r.rolname, r.oid, new_kind, of_project FROM pg_roles AS r WHERE r.oid = grantee
	ON CONFLICT DO NOTHING;
	PERFORM yquota_internal.apply_role_grants(grantee);
END
$$;
COMMENT ON FUNCTION yquota_internal.grant_kind(regrole, text, text) IS
	'Note what a role is from now on and give it the privileges; repeating it does nothing';
REVOKE ALL ON FUNCTION yquota_internal.grant_kind(regrole, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.revoke_kind(grantee regrole, old_kind text, of_project text DEFAULT NULL)
	RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	was_granted boolean;
BEGIN
	IF grantee IS NULL OR NOT EXISTS (SELECT FROM pg_roles WHERE oid = grantee) THEN
		RAISE EXCEPTION 'role to revoke from does not exist'
			USING ERRCODE = 'undefined_object';
	END IF;
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	-- also what was granted under an earlier name, or to an earlier role of this name
	DELETE FROM yquota.role_grant AS g
	WHERE (g.role_oid = grantee OR g.role = (SELECT r.rolname FROM pg_roles AS r WHERE r.oid = grantee))
	  AND g.kind = old_kind
	  AND g.project IS NOT DISTINCT FROM of_project;
	was_granted := FOUND;
	IF EXISTS (SELECT FROM yquota.role_grant AS g WHERE g.role_oid = grantee AND g.kind = old_kind) THEN
		PERFORM yquota_internal.apply_role_grants(grantee);
	ELSE
		PERFORM yquota_internal.apply_role_grants(grantee, old_kind);
	END IF;
	RETURN was_granted;
END
$$;
COMMENT ON FUNCTION yquota_internal.revoke_kind(regrole, text, text) IS
	'Forget what a role was and take the privileges that nothing else gives it; returns whether it was that';
REVOKE ALL ON FUNCTION yquota_internal.revoke_kind(regrole, text, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.grant_operator(role regrole) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'operator');
	END;
COMMENT ON FUNCTION yquota.grant_operator(regrole) IS
	'Let a role insert events, and see how far they are';
REVOKE ALL ON FUNCTION yquota.grant_operator(regrole) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.revoke_operator(role regrole) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'operator');
	END;
COMMENT ON FUNCTION yquota.revoke_operator(regrole) IS
	'Undo grant_operator(); returns whether there was anything to undo';
REVOKE ALL ON FUNCTION yquota.revoke_operator(regrole) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.grant_viewer(role regrole) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'viewer');
	END;
COMMENT ON FUNCTION yquota.grant_viewer(regrole) IS
	'Let a role read the reports and books of all projects';
REVOKE ALL ON FUNCTION yquota.grant_viewer(regrole) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.revoke_viewer(role regrole) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'viewer');
	END;
COMMENT ON FUNCTION yquota.revoke_viewer(regrole) IS
	'Undo grant_viewer(); returns whether there was anything to undo';
REVOKE ALL ON FUNCTION yquota.revoke_viewer(regrole) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.grant_member(role regrole, project text) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'member', project);
	END;
COMMENT ON FUNCTION yquota.grant_member(regrole, text) IS
	'Let a role read the reports of one project';
REVOKE ALL ON FUNCTION yquota.grant_member(regrole, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.revoke_member(role regrole, project text) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'member', project);
	END;
COMMENT ON FUNCTION yquota.revoke_member(regrole, text) IS
	'Undo grant_member() of one project; returns whether there was anything to undo';
REVOKE ALL ON FUNCTION yquota.revoke_member(regrole, text) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.grant_admin(role regrole) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.grant_kind(role, 'admin');
	END;
COMMENT ON FUNCTION yquota.grant_admin(regrole) IS
	'Let a role configure yquota, call all of its functions but those of the owner, and read everything';
REVOKE ALL ON FUNCTION yquota.grant_admin(regrole) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.revoke_admin(role regrole) RETURNS boolean
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT yquota_internal.revoke_kind(role, 'admin');
	END;
COMMENT ON FUNCTION yquota.revoke_admin(regrole) IS
	'Undo grant_admin(); returns whether there was anything to undo';
REVOKE ALL ON FUNCTION yquota.revoke_admin(regrole) FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota.renew_role_grants() RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	renewed bigint := 0;
	grantee regrole;
BEGIN
	LOCK TABLE yquota.role_grant IN SHARE ROW EXCLUSIVE MODE;
	FOR grantee IN
		SELECT DISTINCT g.role_oid::regrole FROM yquota.role_grant AS g
		JOIN pg_roles AS r ON r.oid = g.role_oid AND r.rolname = g.role
	LOOP
		PERFORM yquota_internal.apply_role_grants(grantee);
		renewed := renewed + 1;
	END LOOP;
	RETURN renewed;
END
$$;
COMMENT ON FUNCTION yquota.renew_role_grants() IS
	'Give all roles of role_grant what their kinds have in this version, after an update of the extension; returns how many roles';
REVOKE ALL ON FUNCTION yquota.renew_role_grants() FROM PUBLIC;
CREATE TABLE yquota.audit (
	audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	table_name text COLLATE "C" NOT NULL,
	operation text COLLATE "C" NOT NULL CHECK (operation IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')),
	old jsonb,
	new jsonb,
	session_role name NOT NULL DEFAULT session_user,
	acting_role name NOT NULL DEFAULT yquota_internal.acting_role(),
	caller text,
	client_address inet DEFAULT inet_client_addr(),
	application_name text DEFAULT current_setting('application_name'),
	pid integer NOT NULL DEFAULT pg_backend_pid(),
	transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id()
);
COMMENT ON TABLE yquota.audit IS
	'Who changed configuration, prices, grants and projects: one row per row changed, and one per TRUNCATE.  Append-only';
COMMENT ON COLUMN yquota.audit.changed_at IS 'system''s clock, whatever yquota''s shows';
COMMENT ON COLUMN yquota.audit.table_name IS 'with its schema';
COMMENT ON COLUMN yquota.audit.old IS 'the row as it was; NULL for INSERT and TRUNCATE';
COMMENT ON COLUMN yquota.audit.new IS 'the row as it is; NULL for DELETE and TRUNCATE';
COMMENT ON COLUMN yquota.audit.session_role IS 'who logged in';
COMMENT ON COLUMN yquota.audit.acting_role IS 'with whose rights the statement ran: the owner''s when a function of yquota made the change';
COMMENT ON COLUMN yquota.audit.caller IS 'user of the cluster on whose behalf mutate_configuration() made the change; NULL: none was named';
COMMENT ON COLUMN yquota.audit.client_address IS 'NULL for a connection on the same machine by a socket, and for the worker';
COMMENT ON COLUMN yquota.audit.transaction_id IS 'the same in all rows that one transaction left';
ALTER TABLE yquota.audit ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.audit FOR SELECT
	USING ((SELECT yquota_internal.reads_all()));
CREATE OR REPLACE TRIGGER append_only BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON yquota.audit
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.refuse_rewriting(
		'The audit is written by the triggers of the tables that it tells of.', 'Read it.');
CREATE OR REPLACE FUNCTION yquota_internal.note_audit_as_owner() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	-- a dump brings its own audit
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_TABLE_NAME = 'price' AND TG_OP = 'INSERT' THEN
		-- in a condition of its own: other tables have no such columns
		IF NOT NEW.pinned AND NEW.utilization IS NOT NULL
			AND yquota_internal.acting_role() = current_user
		THEN
			RETURN NULL;
		END IF;
	END IF;
	INSERT INTO yquota.audit (table_name, operation, old, new)
	VALUES (TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP,
			CASE WHEN TG_OP IN ('UPDATE', 'DELETE') THEN to_jsonb(OLD) END,
			CASE WHEN TG_OP IN ('INSERT', 'UPDATE') THEN to_jsonb(NEW) END);
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_audit_as_owner() IS
	'Leaves a row in the audit for each row changed; multipliers that compute_prices() publishes leave none';
REVOKE ALL ON FUNCTION yquota_internal.note_audit_as_owner() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.note_audit() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota_internal.note_audit() IS
	'Trigger of audited tables: note_audit_as_owner(), which knows who made the change';
REVOKE ALL ON FUNCTION yquota_internal.note_audit() FROM PUBLIC;
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.price_group
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.price_group
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.resource_type
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.resource_type
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.base_price
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.base_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.price
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.price_pin
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.price_pin
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.price_factor
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.price_factor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.shadow_tariff
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.shadow_tariff
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.charging_rule
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.charging_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.outage
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.outage
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.project
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.project
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.quota_grant
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.quota_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.budget
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.budget
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.billing_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.billing_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.spending_threshold
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.spending_threshold
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.retention_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.retention_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.closed_period
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.closed_period
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota.role_grant
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.role_grant
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON yquota_internal.clock_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota_internal.clock_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota_internal.worker_state
	FOR EACH ROW WHEN (NEW.stopped_on_purpose)
	EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit AFTER UPDATE OF stopped_on_purpose ON yquota_internal.worker_state
	FOR EACH ROW WHEN (OLD.stopped_on_purpose <> NEW.stopped_on_purpose)
	EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE FUNCTION yquota_internal.note_audit_of_statement_as_owner() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	IF TG_OP = 'INSERT' THEN
		INSERT INTO yquota.audit (table_name, operation, new)
		SELECT TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP, jsonb_strip_nulls(yquota_internal.set_columns(n)) FROM new_rows AS n;
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO yquota.audit (table_name, operation, old)
		SELECT TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_OP, jsonb_strip_nulls(yquota_internal.set_columns(o)) FROM old_rows AS o;
	ELSE
		INSERT INTO yquota.audit (table_name, operation, old, new)
		SELECT TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME,
			   CASE WHEN n.was IS NULL THEN 'DELETE' WHEN o.was IS NULL THEN 'INSERT' ELSE TG_OP END, o.was, n.was
		FROM (SELECT j AS was, ARRAY(SELECT j ->> k FROM unnest(TG_ARGV) AS k) AS key
			  FROM old_rows AS r, jsonb_strip_nulls(yquota_internal.set_columns(r)) AS j) AS o
		FULL JOIN (SELECT j AS was, ARRAY(SELECT j ->> k FROM unnest(TG_ARGV) AS k) AS key
				   FROM new_rows AS r, jsonb_strip_nulls(yquota_internal.set_columns(r)) AS j) AS n ON n.key = o.key;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.note_audit_of_statement_as_owner() IS
	'Leaves a row in the audit for each row that a statement changed, without its columns that are NULL; an UPDATE of the key is told as DELETE and INSERT';
REVOKE ALL ON FUNCTION yquota_internal.note_audit_of_statement_as_owner() FROM PUBLIC;
CREATE OR REPLACE FUNCTION yquota_internal.note_audit_of_statement() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota_internal.note_audit_of_statement() IS
	'Trigger of audited tables: note_audit_of_statement_as_owner(), which knows who made the change';
REVOKE ALL ON FUNCTION yquota_internal.note_audit_of_statement() FROM PUBLIC;
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.queue
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('path');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.queue
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('path');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.queue
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('path');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.queue
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.queue_label
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('queue', 'label');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.queue_label
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('queue', 'label');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.queue_label
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('queue', 'label');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.queue_label
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.queue_user
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('queue', 'username');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.queue_user
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('queue', 'username');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.queue_user
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('queue', 'username');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.queue_user
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.wildcard_template
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('path');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.wildcard_template
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('path');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.wildcard_template
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('path');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.wildcard_template
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.mapping_rule
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('kind', 'position');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.mapping_rule
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('kind', 'position');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.mapping_rule
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('kind', 'position');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.mapping_rule
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.workflow_priority_mapping
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('position');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.workflow_priority_mapping
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('position');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.workflow_priority_mapping
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('position');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.workflow_priority_mapping
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.user_setting
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('username');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.user_setting
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('username');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.user_setting
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('username');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.user_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.multi_node_sorting_policy
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('name');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.multi_node_sorting_policy
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('name');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.multi_node_sorting_policy
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('name');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.multi_node_sorting_policy
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.node_label
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('name');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.node_label
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('name');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.node_label
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('name');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.node_label
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.kept_property
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('property');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.kept_property
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('property');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.kept_property
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('property');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.kept_property
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
CREATE OR REPLACE TRIGGER audit_insert AFTER INSERT ON yquota.scheduler_setting
	REFERENCING NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('one_row');
CREATE OR REPLACE TRIGGER audit_update AFTER UPDATE ON yquota.scheduler_setting
	REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('one_row');
CREATE OR REPLACE TRIGGER audit_delete AFTER DELETE ON yquota.scheduler_setting
	REFERENCING OLD TABLE AS old_rows
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit_of_statement('one_row');
CREATE OR REPLACE TRIGGER audit_truncate AFTER TRUNCATE ON yquota.scheduler_setting
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.note_audit();
SELECT pg_extension_config_dump('yquota.audit', '');
SELECT pg_extension_config_dump('yquota.audit_audit_id_seq', '');
CREATE OR REPLACE VIEW yquota.configuration_mutation WITH (security_barrier) AS
	WITH pattern AS MATERIALIZED (
		SELECT p.*, CASE p.notation WHEN 'mappings' THEN 'legacy' WHEN 'application mappings' THEN 'application'
								    WHEN 'json rules' THEN 'json' END AS kind
		FROM yquota_internal.hadoop_pattern AS p
	), entry AS (
		SELECT a.audit_id, a.changed_at, a.transaction_id, a.session_role, a.acting_role, a.caller,
			   split_part(a.table_name, '.', 2) AS table_name, a.operation, a.old, a.new, coalesce(a.new, a.old) AS either,
			   max(a.audit_id) OVER (PARTITION BY a.transaction_id, a.pid) AS last_audit_id
		FROM yquota.audit AS a
		WHERE a.table_name IN (SELECT 'yquota.' || p.table_name FROM pattern AS p UNION ALL SELECT 'yquota.kept_property')
		  AND coalesce(a.new, a.old) ->> 'auto_created' IS DISTINCT FROM 'true'
	), ranked AS (
		SELECT e.*, dense_rank() OVER (ORDER BY e.last_audit_id DESC) AS rank,
			   coalesce(e.either ->> 'path', e.either ->> 'queue') AS owner,
			   coalesce(e.either ->> 'label', e.either ->> 'username', e.either ->> 'name') AS name
		FROM entry AS e
	), kept AS (
		SELECT r.* FROM ranked AS r
		WHERE r.rank <= coalesce((SELECT s.configuration_store_max_logs FROM yquota.scheduler_setting AS s), 1000)
	), change AS (
		-- columns
		SELECT k.audit_id, p.head || coalesce(k.owner, '') || coalesce(p.middle, '') || CASE WHEN p.has_name THEN k.name ELSE '' END || p.tail AS property,
			   yquota_internal.hadoop_text(p.notation, k.old -> p.column_name) AS old,
			   yquota_internal.hadoop_text(p.notation, k.new -> p.column_name) AS new
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name
		WHERE p.column_name IS NOT NULL AND NOT p.is_option AND p.notation <> 'children'
		  AND (k.old -> p.column_name) IS DISTINCT FROM (k.new -> p.column_name)
		UNION ALL
		-- columns that hold several
		SELECT k.audit_id, p.head || k.owner || p.middle || o.option || p.tail, k.old -> p.column_name ->> o.option, k.new -> p.column_name ->> o.option
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name AND p.is_option
		CROSS JOIN LATERAL (SELECT jsonb_object_keys(coalesce(k.old -> p.column_name, '{}') || coalesce(k.new -> p.column_name, '{}')) AS option) AS o
		WHERE (k.old -> p.column_name -> o.option) IS DISTINCT FROM (k.new -> p.column_name -> o.option)
		UNION ALL
		-- queues that come and go
		SELECT k.audit_id, p.head || (k.either ->> 'parent') || p.middle, k.old ->> 'name', k.new ->> 'name'
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name AND p.notation = 'children'
		WHERE k.operation IN ('INSERT', 'DELETE') AND k.either ? 'parent'
		UNION ALL
		-- rows that are elements of a property
		SELECT k.audit_id, p.property, yquota_internal.hadoop_rows_text(p.notation, CASE WHEN k.old IS NOT NULL THEN jsonb_build_array(k.old) END),
			   yquota_internal.hadoop_rows_text(p.notation, CASE WHEN k.new IS NOT NULL THEN jsonb_build_array(k.new) END)
		FROM kept AS k JOIN pattern AS p ON p.table_name = k.table_name AND p.column_name IS NULL
		WHERE k.operation <> 'TRUNCATE' AND (p.kind IS NULL OR p.kind = k.either ->> 'kind')
		UNION ALL
		SELECT k.audit_id, k.either ->> 'property', k.old ->> 'value', k.new ->> 'value'
		FROM kept AS k WHERE k.table_name = 'kept_property' AND k.operation <> 'TRUNCATE'
		UNION ALL
		SELECT k.audit_id, NULL, NULL, NULL FROM kept AS k WHERE k.operation = 'TRUNCATE'
	)
	SELECT k.audit_id, k.changed_at, k.transaction_id, k.session_role, k.acting_role, k.caller,
		   k.table_name, k.operation, c.property, c.old, c.new
	FROM kept AS k JOIN change AS c ON c.audit_id = k.audit_id
	ORDER BY k.audit_id DESC, c.property COLLATE "C";
COMMENT ON VIEW yquota.configuration_mutation IS
	'Changes of the configuration in the terms of Hadoop''s properties, the newest first: those of the last transactions that changed it, as many as yarn.scheduler.configuration.store.max-logs (1000).  Older ones are in audit';
COMMENT ON COLUMN yquota.configuration_mutation.changed_at IS 'system''s clock';
COMMENT ON COLUMN yquota.configuration_mutation.transaction_id IS 'the same for all that was changed together';
COMMENT ON COLUMN yquota.configuration_mutation.session_role IS 'who logged in';
COMMENT ON COLUMN yquota.configuration_mutation.caller IS 'on whose behalf; NULL: nobody was named';
COMMENT ON COLUMN yquota.configuration_mutation.property IS
	'Hadoop''s full name of it; of a list of queues or rules a row for each element that came or went.  NULL for TRUNCATE';
COMMENT ON COLUMN yquota.configuration_mutation.old IS 'as Hadoop''s files have it; NULL: not set';
COMMENT ON COLUMN yquota.configuration_mutation.new IS 'likewise';
ALTER TABLE yquota_internal.charged_through REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.correction_due REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.counter_delta REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.deferred_event REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.discarded_event REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.feed_counter REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.rate_class_counter REPLICA IDENTITY FULL;
ALTER TABLE yquota_internal.usage_counter REPLICA IDENTITY FULL;
ALTER TABLE yquota.container_change REPLICA IDENTITY FULL;
ALTER TABLE yquota.role_grant REPLICA IDENTITY FULL;
ALTER TABLE yquota.spending_threshold REPLICA IDENTITY FULL;
CREATE OR REPLACE TRIGGER invalidate_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.pricing_change
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.invalidate_prices();
ALTER TABLE yquota.pricing_change ENABLE REPLICA TRIGGER invalidate_applied;
ALTER TABLE yquota.project ENABLE ALWAYS TRIGGER signal_change;
ALTER TABLE yquota.node ENABLE ALWAYS TRIGGER signal_change, ENABLE ALWAYS TRIGGER signal_update;
ALTER TABLE yquota.event_reject ENABLE ALWAYS TRIGGER signal_change, ENABLE ALWAYS TRIGGER signal_removal;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.queue
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.queue ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.queue_label
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.queue_label ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.queue_user
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.queue_user ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.user_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.user_setting ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.mapping_rule
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.mapping_rule ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.scheduler_setting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.scheduler_setting ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.wildcard_template
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.wildcard_template ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.kept_property
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.kept_property ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.multi_node_sorting_policy
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.multi_node_sorting_policy ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.node_label
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.node_label ENABLE REPLICA TRIGGER signal_applied;
CREATE OR REPLACE TRIGGER signal_applied AFTER INSERT OR UPDATE OR DELETE ON yquota.workflow_priority_mapping
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota.workflow_priority_mapping ENABLE REPLICA TRIGGER signal_applied;
ALTER TABLE yquota_internal.active_leaf ENABLE ALWAYS TRIGGER signal_change;
CREATE OR REPLACE FUNCTION yquota.publication_commands(name text DEFAULT 'yquota') RETURNS SETOF text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH published AS (
		SELECT class.oid::regclass::text AS relation,
			   -- append-only tables; what leaves the others does so for reasons of this
			   -- database: folding and archiving
			   (class.relreplident = 'd' AND NOT EXISTS (
					SELECT FROM pg_index AS index WHERE index.indrelid = class.oid AND index.indisprimary))
			   OR class.oid IN ('yquota.container_change'::regclass,
								'yquota_internal.charged_through'::regclass,
								'yquota_internal.counter_delta'::regclass) AS only_inserted
		FROM pg_extension AS extension
		JOIN pg_class AS class ON class.oid = ANY (extension.extconfig)
		WHERE extension.extname = 'yquota' AND class.relkind = 'r'
		  -- not what an archive has done to this database
		  AND class.oid NOT IN ('yquota.history_stretch'::regclass, 'yquota.opening_balance'::regclass,
								'yquota.archived_history'::regclass, 'yquota_internal.archived_cost'::regclass,
								'yquota_internal.carried_container'::regclass,
								'yquota_internal.released_log'::regclass)
		  -- nor what follows from counter_delta
		  AND class.oid NOT IN ('yquota_internal.correction_due'::regclass,
								'yquota_internal.feed_counter'::regclass,
								'yquota_internal.node_counter'::regclass,
								'yquota_internal.project_counter'::regclass,
								'yquota_internal.rate_class_counter'::regclass,
								'yquota_internal.usage_counter'::regclass)
		  -- nor what only the publisher can charge
		  AND class.oid <> 'yquota_internal.deferred_event'::regclass
		  -- nor who may do and did what there: a copy has readers of its own
		  AND class.oid NOT IN ('yquota.audit'::regclass, 'yquota.role_grant'::regclass)
	)
	SELECT format('CREATE PUBLICATION %I FOR TABLE %s WITH (publish = %L)',
				  publication_commands.name || CASE WHEN published.only_inserted THEN '_books' ELSE '_state' END,
				  string_agg('ONLY ' || published.relation, ', ' ORDER BY published.relation),
				  CASE WHEN published.only_inserted THEN 'insert' ELSE 'insert, update, delete' END)
	FROM published
	GROUP BY published.only_inserted
	ORDER BY published.only_inserted DESC;
END;
COMMENT ON FUNCTION yquota.publication_commands(text) IS
	'The commands that publish the books for a copy by logical replication: name_books and name_state, to subscribe to together';
CREATE OR REPLACE FUNCTION yquota.sequence_commands() RETURNS SETOF text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	WITH sequence AS MATERIALIZED (
		SELECT class.oid::regclass AS relation
		FROM pg_extension AS extension
		JOIN pg_class AS class ON class.oid = ANY (extension.extconfig)
		WHERE extension.extname = 'yquota' AND class.relkind = 'S'
	)
	SELECT format('SELECT pg_catalog.setval(%1$L, greatest(%2$s, pg_catalog.pg_sequence_last_value(%1$L)))',
				  sequence.relation, pg_sequence_last_value(sequence.relation))
	FROM sequence
	WHERE pg_sequence_last_value(sequence.relation) IS NOT NULL
	ORDER BY sequence.relation::text;
END;
COMMENT ON FUNCTION yquota.sequence_commands() IS
	'The commands that have a copy by logical replication go on with the numbers of this database, for a switch-over: sequences are not replicated';
REVOKE ALL ON FUNCTION yquota.sequence_commands() FROM PUBLIC;
--
-- From 0.1.0 to 0.2.0: what goes when nothing uses it any more.
--

-- One function keeps all tables that are only added to.
DROP FUNCTION yquota_internal.refuse_change_of_balance();

-- The time zone of bills was a setting.  What was charged has been told by its days.
ALTER TABLE yquota.billing_setting DISABLE TRIGGER USER;
INSERT INTO yquota.billing_setting (timezone)
SELECT setting.timezone
FROM (SELECT 1, nullif(current_setting('yquota.billing_timezone', true), '')
	  UNION ALL
	  SELECT CASE WHEN role_setting.setdatabase = 0 THEN 3 ELSE 2 END, split_part(assigned.setting, '=', 2)
	  FROM pg_catalog.pg_db_role_setting AS role_setting, unnest(role_setting.setconfig) AS assigned (setting)
	  WHERE role_setting.setrole = 0
		AND role_setting.setdatabase IN (0, (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = current_database()))
		AND split_part(assigned.setting, '=', 1) = 'yquota.billing_timezone'
	  UNION ALL
	  SELECT 4, file.setting FROM pg_catalog.pg_file_settings AS file WHERE file.name = 'yquota.billing_timezone') AS setting (place, timezone)
WHERE setting.timezone IS NOT NULL
ORDER BY setting.place LIMIT 1;
ALTER TABLE yquota.billing_setting ENABLE TRIGGER USER;
