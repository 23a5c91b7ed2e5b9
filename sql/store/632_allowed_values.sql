--
-- Triggers whose errors name the allowed values.  Each table of configuration has a trigger that runs only for rows
-- that a CHECK constraint of the table refuses.  The allowed values are read from the constraint, or from the comment
-- of a constraint that is not a list or a range.
--

CREATE FUNCTION yquota_internal.checks_of(of_table regclass, OUT name name, OUT columns text[], OUT expression text, OUT description text)
	RETURNS SETOF record
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT c.conname,
		   ARRAY(SELECT a.attname::text FROM pg_attribute AS a
				 WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey) ORDER BY a.attnum),
		   pg_get_expr(c.conbin, c.conrelid), obj_description(c.oid, 'pg_constraint')
	FROM pg_constraint AS c
	WHERE c.conrelid = of_table AND c.contype = 'c'
	-- the server checks in the same order
	ORDER BY c.conname
$$;
COMMENT ON FUNCTION yquota_internal.checks_of(regclass) IS
	'List the CHECK constraints of a table, with their columns, expressions and comments';

CREATE FUNCTION yquota_internal.listed_values(expression text) RETURNS text[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT CASE WHEN expression ~ E'^\\(\\w+ = ANY \\(ARRAY\\[.*\\]\\)\\)$'
				THEN ARRAY(SELECT word[1] FROM regexp_matches(expression, '''([^'']*)''', 'g') AS word) END
$$;
COMMENT ON FUNCTION yquota_internal.listed_values(text) IS
	'Return the values that a CHECK constraint lists; NULL when its expression is not a list';

-- Reads an expression as the server prints it, such as (((factor >= (0)::numeric) AND (scale(factor) <= 6))).
CREATE FUNCTION yquota_internal.allowed_range(columns text[], expression text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	WITH term AS (
		SELECT bare.term, s.position,
			   regexp_match(bare.term, E'^(?:(abs|octet_length|cardinality|jsonb_typeof)\\()?"?\\w+"?\\)? (>=|<=|<>|>|<|=|!~) ''?([^'']*)''?$') AS part
		-- remove casts, and parentheses around constants
		FROM regexp_replace(regexp_replace(expression,
				E'::(time without time zone|double precision|[a-z_.]+)(\\[\\])?', '', 'g'),
				E'\\(+([-0-9.]+|''[^'']*'')\\)+', E'\\1', 'g') AS plain,
			 regexp_split_to_table(plain, ' AND ') WITH ORDINALITY AS s (piece, position),
			 regexp_replace(regexp_replace(s.piece, E'^\\(+', ''), E'\\)+$', '') AS start,
			 -- the parenthesis that ends a function call belongs to the term
			 LATERAL (SELECT start || CASE WHEN start ~ E'\\([^)]*$' THEN ')' ELSE '' END AS term) AS bare
	), said AS (
		SELECT term.position, decimals,
			   CASE WHEN term.term ~ E'^isfinite\\(\\w+\\)$' THEN 'finite'
					WHEN term.term ~ E'^array_position\\(\\w+, NULL\\) IS NULL$' THEN 'free of nulls'
					WHEN term.term ~ E'^date_trunc\\(''milliseconds'', (\\w+)\\) = \\1$' THEN 'a whole number of milliseconds'
					WHEN term.part[2] = '<' AND bound = 'Infinity' THEN 'finite'
					WHEN term.part[2] = '!~' AND bound = '[[:cntrl:]]' THEN 'free of control characters'
					ELSE CASE concat_ws(' ', term.part[1], term.part[2])
						WHEN 'abs <=' THEN format('from -%1$s to %1$s', bound)
						WHEN 'octet_length <=' THEN format('at most %s bytes long', bound)
						WHEN 'cardinality >' THEN 'a nonempty list'
						WHEN 'jsonb_typeof =' THEN format('a JSON %s', bound)
						WHEN '>=' THEN format('at least %s', bound)
						WHEN '>' THEN format('greater than %s', bound)
						WHEN '<=' THEN format('at most %s', bound)
						WHEN '<' THEN format('less than %s', bound)
						WHEN '<>' THEN CASE bound WHEN '' THEN 'nonempty' ELSE format('other than "%s"', bound) END END END AS text
		FROM term,
			 substring(term.term FROM E'^scale\\(\\w+\\) <= (\\d+)$') AS decimals,
			 LATERAL (SELECT CASE WHEN term.part[3] ~ '^10{9,}$' THEN '10^' || length(term.part[3]) - 1 ELSE term.part[3] END AS bound) AS b
	)
	SELECT CASE WHEN bool_and(said.text IS NOT NULL OR said.decimals IS NOT NULL) THEN concat(
		CASE WHEN cardinality(columns) > 1 THEN quote_ident(substring(expression FROM E'\\w+')) ELSE 'It' END, ' must be ',
		regexp_replace(string_agg(said.text, ', ' ORDER BY said.position), ', ([^,]*)$', E' and \\1'),
		', with at most ' || max(said.decimals) || ' decimals', '.') END
	FROM said
$$;
COMMENT ON FUNCTION yquota_internal.allowed_range(text[], text) IS
	'Say in a sentence which values a CHECK constraint allows; NULL when its expression is not a range';

CREATE FUNCTION yquota_internal.allowed_values(columns text[], expression text, description text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT coalesce(
		'Allowed values are ' || regexp_replace(
			(SELECT string_agg('"' || word.name || '"', ', ' ORDER BY word.position)
			 FROM unnest(yquota_internal.listed_values(expression)) WITH ORDINALITY AS word (name, position)),
			', ([^,]*)$', E' and \\1') || '.' || coalesce(' ' || description, ''),
		description,
		CASE WHEN expression = 'only_row' THEN 'The table has a single row, in which only_row is true.' END,
		yquota_internal.allowed_range(columns, expression))
$$;
COMMENT ON FUNCTION yquota_internal.allowed_values(text[], text, text) IS
	'Say in a sentence which values a CHECK constraint allows: its list, its comment or its range; NULL when it has none of them';

CREATE FUNCTION yquota_internal.nearest_value(wrong text, allowed text[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
	SELECT coalesce(
		-- compare without regard to case
		(SELECT a.value FROM unnest(allowed) WITH ORDINALITY AS a (value, position)
		 WHERE lower(a.value COLLATE "C") = lower(wrong COLLATE "C") ORDER BY a.position LIMIT 1),
		yquota_internal.nearest_name(wrong, allowed))
$$;
COMMENT ON FUNCTION yquota_internal.nearest_value(text, text[]) IS
	'Return the allowed value that a wrong value probably means; NULL when none is similar';

CREATE FUNCTION yquota_internal.hint_at_value(expression text, value text) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	meant CONSTANT text := yquota_internal.nearest_value(value, yquota_internal.listed_values(expression));
	most CONSTANT numeric := substring(expression FROM E'^\\(+\\w+ >=? \\(0\\)::numeric\\) AND \\(\\w+ <= \\((10?)\\)::numeric\\)');
BEGIN
	IF meant IS NOT NULL THEN
		RETURN format('Perhaps you meant "%s".', meant);
	ELSIF most IS NOT NULL THEN
		-- recognize a fraction that looks like a percentage
		IF value::numeric > greatest(most, 2) AND value::numeric <= 100 * most THEN
			RETURN format('The value is a fraction: write %s for %s percent.', trim_scale(value::numeric / 100), value);
		END IF;
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.hint_at_value(text, text) IS
	'Say what to write instead of a value that a CHECK constraint refuses; NULL when that is not known';

CREATE FUNCTION yquota_internal.refuse_values() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	-- the expressions contain backslashes
	SET standard_conforming_strings = on
	AS $$
DECLARE
	refused record;
	allows boolean;
	given text[];
	message text;
	hint text;
BEGIN
	FOR refused IN SELECT * FROM yquota_internal.checks_of(TG_RELID)
	LOOP
		EXECUTE format('SELECT (%s), ARRAY[%s] FROM (SELECT ($1).*) AS new_row', refused.expression,
					   (SELECT string_agg(format('left(%I::text, 200)', c), ', ') FROM unnest(refused.columns) AS c))
			INTO allows, given USING NEW;
		CONTINUE WHEN allows IS NOT FALSE;
		message := CASE WHEN cardinality(given) = 1 THEN format('invalid value for column "%s" of table "%s": "%s"', refused.columns[1], TG_TABLE_NAME, given[1])
			ELSE format('invalid combination of values in table "%s": %s', TG_TABLE_NAME, coalesce(
				(SELECT string_agg(format('%I "%s"', g.name, g.value), ', ' ORDER BY g.position)
				 FROM unnest(refused.columns, given) WITH ORDINALITY AS g (name, value, position) WHERE g.value IS NOT NULL), 'none')) END;
		hint := yquota_internal.hint_at_value(refused.expression, given[1]);
		IF hint IS NULL THEN
			RAISE EXCEPTION '%', message
				USING ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = refused.name,
					DETAIL = yquota_internal.allowed_values(refused.columns, refused.expression, refused.description);
		END IF;
		RAISE EXCEPTION '%', message
			USING ERRCODE = 'check_violation', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, CONSTRAINT = refused.name,
				DETAIL = yquota_internal.allowed_values(refused.columns, refused.expression, refused.description),
				HINT = hint;
	END LOOP;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_values() IS
	'Trigger of configuration: refuse a row that a CHECK constraint of the table refuses, and say which values are allowed';

-- Row-level security does not apply to the owner, so the query itself leaves out projects that the caller may not read.
-- In a SECURITY DEFINER function without a wrapper, the roles that read all projects are those of the list.
CREATE FUNCTION yquota_internal.refuse_name(of_table text, name text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known text[];
BEGIN
	EXECUTE format('SELECT array_agg(t.%1$I::text ORDER BY t.%1$I) FROM yquota.%2$I AS t%3$s',
				   CASE of_table WHEN 'queue' THEN 'path' ELSE 'name' END, of_table, CASE of_table
		WHEN 'project' THEN ' WHERE (yquota_internal.acting_role() = yquota_internal.sending_role()
				AND (yquota_internal.reads_balances() OR t.name = ANY (yquota_internal.readable_projects())))
			OR EXISTS (SELECT FROM yquota.role_grant AS g
					   WHERE g.kind <> ''member'' AND pg_has_role(yquota_internal.sending_role(), g.role_oid, ''USAGE''))' END)
		INTO known;
	RAISE EXCEPTION '% "%" does not exist', replace(of_table, '_', ' '), name
		USING ERRCODE = 'foreign_key_violation',
			HINT = coalesce('Perhaps you meant "' || yquota_internal.nearest_value(name, known) || '".',
							format('Insert it into yquota.%I.', of_table));
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_name(text, text) IS
	'Raise the error that a project, resource type, price group or queue does not exist, with a similar name that the caller may read';

CREATE FUNCTION yquota_internal.check_reference_as_owner() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	given CONSTANT text := to_jsonb(NEW) ->> TG_ARGV[0];
	refers boolean;
BEGIN
	-- keep the plans of these queries, because one statement may insert thousands of grants
	CASE TG_ARGV[1]
		WHEN 'project' THEN PERFORM FROM yquota.project AS t WHERE t.name = given;
		WHEN 'price_group' THEN PERFORM FROM yquota.price_group AS t WHERE t.name = given;
		WHEN 'resource_type' THEN PERFORM FROM yquota.resource_type AS t WHERE t.name = given;
		WHEN 'queue' THEN PERFORM FROM yquota.queue AS t WHERE t.path = given;
	END CASE;
	IF FOUND THEN
		RETURN NULL;
	END IF;
	-- the transaction may have changed or deleted the row since, if the reference is deferred
	EXECUTE format('SELECT EXISTS (SELECT FROM %s AS t WHERE t.%I = $1)', TG_RELID::regclass, TG_ARGV[0]) INTO refers USING given;
	IF refers THEN
		PERFORM yquota_internal.refuse_name(TG_ARGV[1], given);
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_reference_as_owner() IS
	'Refuse a row that references a project, resource type, price group or queue that does not exist.  The arguments are the column and the table that it references';

CREATE FUNCTION yquota_internal.check_reference() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota_internal.check_reference() IS
	'Trigger of configuration: run check_reference_as_owner(), which finds the role that made the change';

-- Creates the trigger on the audited tables, except those that only functions write after checks of their own.  The
-- name of the trigger comes last in the alphabet, so that the trigger sees what other triggers write into the row.
-- The condition of the trigger is the opposite of all checks, so that the function does not run for rows that the
-- table accepts.
DO $$
DECLARE
	checked record;
BEGIN
	-- the expressions contain backslashes
	PERFORM set_config('standard_conforming_strings', 'on', true);
	FOR checked IN
		SELECT audited.name, string_agg(of_new, ' AND ' ORDER BY k.name) AS checks
		FROM (SELECT DISTINCT t.tgrelid::regclass AS name FROM pg_trigger AS t WHERE t.tgname = 'audit_truncate') AS audited
		JOIN pg_class AS class ON class.oid = audited.name
		CROSS JOIN LATERAL yquota_internal.checks_of(audited.name) AS k
		-- write NEW before the columns, but not in literals
		CROSS JOIN LATERAL regexp_replace(k.expression,
			format(E'("(%1$s)"|\\m(%1$s)\\M)(?=[^'']*(''[^'']*''[^'']*)*$)', array_to_string(k.columns, '|')), E'NEW.\\1', 'g') AS of_new
		WHERE audited.name = ANY ('{yquota.base_price, yquota.price}'::regclass[])
		   OR audited.name IN (SELECT privilege.objid::regclass FROM yquota_internal.privilege AS privilege
							   WHERE privilege.object_kind = 'TABLE' AND privilege.privilege = 'INSERT' AND 'admin' = ANY (privilege.kinds))
		GROUP BY audited.name
	LOOP
		EXECUTE format('CREATE TRIGGER values_are_allowed BEFORE INSERT OR UPDATE ON %s
			FOR EACH ROW WHEN (NOT (%s)) EXECUTE FUNCTION yquota_internal.refuse_values()', checked.name, checked.checks);
	END LOOP;
END
$$;

-- Create the triggers on the columns that reference these tables, deferred if the foreign key is deferred.  Triggers of
-- a row run in the order of their names.  The capital letter puts these triggers before the server's own triggers,
-- whose names begin with RI_, and whose errors have no hint.
DO $$
DECLARE
	reference record;
BEGIN
	FOR reference IN
		SELECT c.conrelid::regclass AS name, a.attname AS "column", f.relname AS referenced, c.condeferred AS deferred
		FROM pg_constraint AS c
		JOIN pg_class AS f ON f.oid = c.confrelid
		JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
		WHERE c.contype = 'f' AND c.confrelid = ANY ('{yquota.project, yquota.resource_type, yquota.price_group, yquota.queue}'::regclass[])
		  AND c.conrelid IN (SELECT privilege.objid FROM yquota_internal.privilege AS privilege
							 WHERE privilege.object_kind = 'TABLE' AND privilege.privilege = 'INSERT' AND 'admin' = ANY (privilege.kinds))
	LOOP
		EXECUTE format('CREATE %4$s TRIGGER "Check_%2$s" AFTER INSERT OR UPDATE OF %2$I ON %1$s %5$s FOR EACH ROW WHEN (NEW.%2$I IS NOT NULL)
			EXECUTE FUNCTION yquota_internal.check_reference(%2$L, %3$L)', reference.name, reference."column", reference.referenced,
			CASE WHEN reference.deferred THEN 'CONSTRAINT' END, CASE WHEN reference.deferred THEN 'DEFERRABLE INITIALLY DEFERRED' END);
	END LOOP;
END
$$;
