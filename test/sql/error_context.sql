--
-- psql shows a short context for each error: it names functions and short statements, but does not
-- quote their queries.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- Number of lines of the longest entry of a context.
CREATE FUNCTION pg_temp.longest(context text) RETURNS bigint
	LANGUAGE sql
	RETURN (SELECT max(e.lines)
			FROM (SELECT count(*) AS lines
				  FROM (SELECT count(*) FILTER (WHERE l.line ~ '^(SQL (statement|expression|function)|PL/pgSQL) ') OVER (ORDER BY l.number) AS entry
						FROM string_to_table(context, E'\n') WITH ORDINALITY AS l (line, number)) AS c
				  GROUP BY c.entry) AS e);

-- Return the error of a statement, and whether its context fits a screen and quotes no long
-- statement.
CREATE FUNCTION pg_temp.context(statement text, OUT error text, OUT is_short boolean)
	LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	BEGIN
		EXECUTE statement;
		-- this error rolls back what the statement did
		RAISE EXCEPTION SQLSTATE 'ZZZZZ';
	EXCEPTION
		WHEN SQLSTATE 'ZZZZZ' THEN NULL;
		WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
			error := SQLERRM;
			-- the last lines of the context belong to this function
			is_short := cardinality(string_to_array(context, E'\n')) <= 20
				AND pg_temp.longest(replace(context, statement, 'the statement')) <= 5;
	END;
END
$$;

BEGIN;
INSERT INTO yquota.project (name) VALUES ('p');
SELECT statement, error, is_short
FROM unnest(ARRAY[
	$$INSERT INTO yquota.container_event (event, container_id, occurred_at, project, allocation) VALUES ('CONTAINER_START', 'c1', '2020-01-01', 'nobody', '[vcores=1]')$$,
	$$INSERT INTO yquota.quota_grant (project, amount, reason) VALUES ('nobody', 1, 'none')$$,
	$$SELECT yquota.hold('p', 'a1', 5, ttl => '1 hour')$$,
	$$SELECT yquota.price_quote('[nothing=3]', '30 min')$$,
	$$SELECT yquota.cost_between('2030-01-01', '2029-01-01')$$,
	$$SELECT yquota.rerate('2030-01-01', '2031-01-01', '{"base_prices": {"nothing": 1}}')$$,
	$$SELECT yquota.import_hadoop_configuration('<nothing>')$$,
	$$SELECT yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a", "yarn.scheduler.capacity.queue-mappings": "x"}')$$,
	$$SELECT yquota.import_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": "a", "yarn.scheduler.capacity.root.a.capacity": "x"}')$$,
	$$SELECT yquota.diff_hadoop_configuration('{"yarn.scheduler.capacity.root.queues": ')$$,
	$$SELECT yquota.mutate_configuration('{"nothing": 1}')$$,
	$$SELECT yquota.request_containers('a1', '[vcores=1]', 1)$$,
	$$SELECT yquota.bill_html('p', '2020-01-01')$$,
	$$SELECT yquota.close_period('3000-01-01')$$,
	$$SELECT yquota.allow_role('nobody', 'operator')$$]) WITH ORDINALITY AS s (statement, number),
	LATERAL pg_temp.context(s.statement)
ORDER BY s.number;

-- Call each public function with wrong values of each type, and with NULL for each argument. List the functions
-- with a long context.
CREATE TEMPORARY TABLE wrong (type, value) AS
	SELECT w.type::regtype, w.value
	FROM (VALUES
		('text', ARRAY['nobody', '']), ('name', '{nobody,x}'), ('text[]', '{"{nobody}","{}"}'), ('numeric', '{-1,NaN}'), ('integer', '{-1,0}'),
		('bigint', '{-1,0}'), ('bigint[]', '{"{-1}","{}"}'), ('boolean', '{t,f}'), ('interval', '{-1 day,0}'), ('date', '{infinity,0001-01-01 BC}'),
		('timestamptz', '{infinity,0001-01-01 00:00+00 BC}'), ('jsonb', ARRAY['[1]', '{"nothing": 1}']), ('xml', '{<x/>,x}'), ('regclass', '{pg_class,4294967295}'),
		('yquota.resource', '{[nothing=-1],[nothing=1]}'), ('yquota.execution_type', '{OPPORTUNISTIC,GUARANTEED}')) AS w (type, value);
SET LOCAL client_min_messages = error;
WITH called AS (
	SELECT f.oid::regprocedure AS function, pg_temp.context(format('SELECT %s(%s)', f.oid::regproc, (
			SELECT string_agg(format('%L::%s', CASE WHEN a.place <> variant.place THEN w.value[variant.number] END, format_type(a.type, NULL)), ', ' ORDER BY a.place)
			FROM unnest(f.proargtypes) WITH ORDINALITY AS a (type, place) LEFT JOIN wrong AS w ON w.type = a.type))) AS outcome
	FROM pg_proc AS f
	CROSS JOIN LATERAL (SELECT 1, 0 UNION ALL SELECT 2, 0 UNION ALL SELECT 1, place FROM generate_series(1, f.pronargs) AS place) AS variant (number, place)
	WHERE f.pronamespace = 'yquota'::regnamespace AND f.prokind = 'f' AND f.pronargs > 0
	  AND NOT f.proargtypes::oid[] && '{internal,cstring}'::regtype[]::oid[])
SELECT count(DISTINCT c.function) > 100 AS many_refuse, string_agg(DISTINCT format('%s: %s', c.function, (c.outcome).error), E'\n') FILTER (WHERE NOT (c.outcome).is_short) AS long_context
FROM called AS c
WHERE (c.outcome).error IS NOT NULL;
ROLLBACK;
