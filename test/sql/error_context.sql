--
-- What psql shows of an error is the error: the context names functions and short
-- statements, not the queries in them.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
RESET client_min_messages;
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The error of a statement, and whether its context fits a screen.
CREATE FUNCTION pg_temp.context(statement text, OUT error text, OUT is_short boolean)
	LANGUAGE plpgsql AS $$
DECLARE
	context text;
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
	error := SQLERRM;
	-- its last lines are of this function
	is_short := cardinality(string_to_array(context, E'\n')) <= 20;
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
ROLLBACK;
