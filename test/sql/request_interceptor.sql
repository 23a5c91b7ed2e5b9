--
-- Interceptors of requests and responses: how they are registered, which rows they see, change,
-- refuse and leave out. Further tests are about their rights, errors, and repeated calls.
--
SET client_min_messages = warning;
DROP DATABASE IF EXISTS yquota_request_interceptor WITH (FORCE);
CREATE DATABASE yquota_request_interceptor;
\c yquota_request_interceptor
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS yquota;
SET timezone = 'UTC';
SELECT yquota.set_clock('2026-03-02 10:00+00');
INSERT INTO yquota.scheduler_setting (maximum_am_resource_percent, opportunistic_allocation_enabled, opportunistic_anywhere_order, opportunistic_queue_capacity) VALUES (1, true, 'round_robin', 5);
INSERT INTO yquota.queue (path, capacity) VALUES ('root', NULL), ('root.a', '100');
INSERT INTO yquota.project (name, on_exhausted) VALUES ('p', 'allow');
INSERT INTO yquota.node (name, rack, total) SELECT 'n' || n, '/r', '[memory-mb=8192,vcores=8]' FROM generate_series(1, 3) AS n;
SELECT state FROM yquota.submit_application('application_1_0001', 'ann', '{}', 'a', project => 'p', unmanaged => true);
SELECT bool_and(accepted) FROM yquota.report_nodes(ARRAY(SELECT ROW('n' || n, 0, 0, 0, 0, NULL, 5, NULL, NULL, NULL)::yquota.node_report FROM generate_series(1, 3) AS n));
CREATE FUNCTION ask(count integer, type yquota.execution_type DEFAULT 'OPPORTUNISTIC', id bigint DEFAULT 1)
	RETURNS yquota.container_request LANGUAGE plpgsql AS $$
DECLARE
	request yquota.container_request;
BEGIN
	request.allocation := '[memory-mb=1024,vcores=1]';
	request.count := ask.count;
	request.allocation_request_id := ask.id;
	request.execution_type := ask.type;
	RETURN request;
END
$$;
CREATE VIEW asked AS SELECT allocation_request_id AS id, execution_type, count, priority FROM yquota.resource_request ORDER BY 1;

-- halves the request
CREATE FUNCTION halve(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. coalesce(array_length(request.requests, 1), 0) LOOP
		request.requests[i].count := request.requests[i].count / 2;
	END LOOP;
	RETURN request;
END
$$;
-- this interceptor sets the priority to 7, and refuses large sets
CREATE FUNCTION "Judge"(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. coalesce(array_length(request.requests, 1), 0) LOOP
		request.requests[i].priority := 7;
		IF request.requests[i].count > 10 THEN
			request.refused_because := format('%s asks for %s containers', request.application_id, request.requests[i].count);
		END IF;
	END LOOP;
	RETURN request;
END
$$;

\echo registration of interceptors
INSERT INTO yquota.request_interceptor VALUES (1, 'halve');
INSERT INTO yquota.request_interceptor VALUES (1, 'public.');
INSERT INTO yquota.request_interceptor VALUES (1, 'public.missing');
INSERT INTO yquota.request_interceptor VALUES (1, 'public.ask');
INSERT INTO yquota.request_interceptor VALUES (1, NULL);
CREATE FUNCTION wrong(request yquota.allocate_request) RETURNS yquota.container_request[] LANGUAGE sql RETURN request.requests;
INSERT INTO yquota.request_interceptor VALUES (1, 'public.wrong');
CREATE FUNCTION many(request yquota.allocate_request) RETURNS SETOF yquota.allocate_request LANGUAGE sql AS 'SELECT request.*';
INSERT INTO yquota.request_interceptor VALUES (1, 'public.many');
INSERT INTO yquota.request_interceptor VALUES (20, 'PUBLIC.Halve'), (10, 'public."Judge"');
INSERT INTO yquota.request_interceptor VALUES (30, '"public"."halve"');
SELECT * FROM yquota.request_interceptor ORDER BY position;

\echo interceptors run in order, and each sees the result of the one before
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(10, 'GUARANTEED')]);
SELECT * FROM asked;
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(12, 'GUARANTEED')]);
SELECT yquota.request_containers('application_1_0001', '[vcores=1]', 14);
SELECT * FROM asked;
SELECT decision, application_id, stopped_by, stopped_at FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(3, id => 2), ask(11, id => 3)], seed => 1);
SELECT * FROM asked;
SELECT decision, priority, allocation_request_id FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(3, id => 2), ask(5, id => 3)], seed => 1);
SELECT outcome, count, priority, stopped_by, stopped_at FROM yquota.allocate_distributed(ARRAY[ROW('n1', '/r1', NULL)]::yquota.leased_node[], ARRAY[ask(4)]);
-- outstanding requests stay outstanding
SELECT outcome, count, priority, stopped_by, stopped_at FROM yquota.allocate_distributed(ARRAY[ROW('n1', '/r1', NULL)]::yquota.leased_node[], ARRAY[ask(12)], ARRAY[ask(2, id => 9)]);
-- the interceptors run in the other order
UPDATE yquota.request_interceptor SET position = 5 WHERE position = 20;
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(12, 'GUARANTEED')]);
SELECT * FROM asked;

\echo a what-if
BEGIN;
DELETE FROM yquota.request_interceptor;
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(30, 'GUARANTEED', 4)]);
ROLLBACK;
SELECT * FROM asked;
BEGIN;
SAVEPOINT a;
TRUNCATE yquota.request_interceptor;
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(30, 'GUARANTEED', 4)]);
ROLLBACK TO a;
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(20, 'GUARANTEED', 4)]);
COMMIT;
SELECT * FROM asked;

\echo a repeated call returns the first answer, and the interceptors do not run again
SELECT decision, allocation_request_id FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(2, id => 5)], response_id => 1, seed => 1);
UPDATE yquota.request_interceptor SET position = -1 WHERE position = 10;
SELECT decision, allocation_request_id FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(20, id => 5)], response_id => 1, seed => 1);
SELECT decision, stopped_by FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(20, id => 5)], response_id => 2, seed => 1);
-- a refused request goes through the interceptors again
SELECT decision, allocation_request_id FROM yquota.allocate_opportunistic('application_1_0001', ARRAY[ask(2, id => 5)], response_id => 2, seed => 1);

\echo errors name the interceptor
CREATE FUNCTION fails(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / 0; END $$;
CREATE FUNCTION gives_nothing(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE sql RETURN NULL::yquota.allocate_request;
CREATE FUNCTION strict(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE sql STRICT RETURN request;
CREATE FUNCTION with_null(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$ BEGIN request.requests := request.requests || NULL::yquota.container_request; RETURN request; END $$;
CREATE FUNCTION adds(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$ BEGIN request.releases := '{container_1_0001_01_000001}'; RETURN request; END $$;
CREATE FUNCTION try(function text) RETURNS void LANGUAGE sql AS $$
	DELETE FROM yquota.request_interceptor;
	INSERT INTO yquota.request_interceptor VALUES (1, 'public.' || function);
$$;
SELECT try('fails');
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);
SELECT try('gives_nothing');
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);
SELECT try('strict');
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);
SELECT outcome FROM yquota.allocate_distributed('{}', '{}');
SELECT try('with_null');
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);
SELECT yquota.request_containers('application_1_0001', NULL);
SELECT try('adds');
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);
-- the function is replaced by one with another result type, and then dropped
SELECT try('strict');
SELECT metric, labels, value FROM yquota.metrics WHERE family = 'request_interceptor';
DROP FUNCTION strict;
CREATE ROLE yquota_test_interceptor_exporter;
GRANT SELECT ON yquota.metrics TO yquota_test_interceptor_exporter;
SET ROLE yquota_test_interceptor_exporter;
SELECT metric, labels, value FROM yquota.metrics WHERE family = 'request_interceptor';
RESET ROLE;
DROP OWNED BY yquota_test_interceptor_exporter;
DROP ROLE yquota_test_interceptor_exporter;
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);
SELECT * FROM yquota.allocate_opportunistic('application_1_0001');
CREATE FUNCTION strict(request yquota.allocate_request) RETURNS yquota.container_request[] LANGUAGE sql RETURN request.requests;
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);

\echo an interceptor has the rights of the role that asks
CREATE TABLE salary (amount integer);
INSERT INTO salary VALUES (100);
CREATE FUNCTION peeks(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$
BEGIN
	request.refused_because := format('%s sees %s', current_user, (SELECT amount FROM public.salary));
	RETURN request;
END
$$;
CREATE FUNCTION who(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$ BEGIN request.refused_because := 'asked by ' || current_user; RETURN request; END $$;
CREATE FUNCTION escapes(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$ BEGIN RESET ROLE; request.refused_because := 'escaped as ' || current_user; RETURN request; END $$;
CREATE ROLE yquota_test_interceptor_admin;
CREATE ROLE yquota_test_interceptor_operator;
SELECT yquota.allow_role('yquota_test_interceptor_admin', 'admin'), yquota.allow_role('yquota_test_interceptor_operator', 'operator');
\set VERBOSITY terse
-- only administrators may register interceptors
SET ROLE yquota_test_interceptor_operator;
INSERT INTO yquota.request_interceptor VALUES (1, 'public.who');
UPDATE yquota.request_interceptor SET position = 2;
DELETE FROM yquota.request_interceptor;
SELECT count(*) FROM yquota.request_interceptor;
SET ROLE yquota_test_interceptor_admin;
DELETE FROM yquota.request_interceptor;
INSERT INTO yquota.request_interceptor VALUES (1, 'public.who');
SET ROLE yquota_test_interceptor_operator;
SELECT stopped_by FROM yquota.allocate_opportunistic('application_1_0001');
SELECT stopped_by FROM yquota.allocate_distributed('{}', '{}');
SELECT yquota.request_containers('application_1_0001', '[vcores=1]', 1);
RESET ROLE;
SELECT try('peeks');
SET ROLE yquota_test_interceptor_operator;
SELECT stopped_by FROM yquota.allocate_opportunistic('application_1_0001');
SELECT yquota.request_containers('application_1_0001', '[vcores=1]', 1);
-- the current role is restored, also after an error
SELECT current_user, session_user = current_user AS is_session;
BEGIN;
SAVEPOINT a;
SELECT yquota.request_containers('application_1_0001', '[vcores=1]', 1);
ROLLBACK TO a;
SELECT current_user;
COMMIT;
DO $$
BEGIN
	PERFORM yquota.request_containers('application_1_0001', '[vcores=1]', 1);
EXCEPTION WHEN insufficient_privilege THEN
	RAISE WARNING 'caught as %: %', current_user, SQLERRM;
END
$$;
RESET ROLE;
GRANT SELECT ON salary TO yquota_test_interceptor_operator;
SET ROLE yquota_test_interceptor_operator;
SELECT stopped_by FROM yquota.allocate_opportunistic('application_1_0001');
RESET ROLE;
SELECT stopped_by FROM yquota.allocate_opportunistic('application_1_0001') WHERE stopped_by LIKE '% sees 100';
SELECT try('escapes');
SET ROLE yquota_test_interceptor_operator;
SELECT stopped_by FROM yquota.allocate_opportunistic('application_1_0001');
SELECT stopped_by FROM yquota.allocate_distributed('{}', '{}');
RESET ROLE;
-- EXECUTE on the function is checked at each call
SELECT try('who');
REVOKE EXECUTE ON FUNCTION who FROM PUBLIC;
SET ROLE yquota_test_interceptor_operator;
SELECT stopped_by FROM yquota.allocate_opportunistic('application_1_0001');
RESET ROLE;
\echo the owner of an interceptor must be trusted: the owner of yquota or a superuser
\set VERBOSITY default
DELETE FROM yquota.request_interceptor;
CREATE SCHEMA site AUTHORIZATION yquota_test_interceptor_admin;
GRANT USAGE ON SCHEMA site TO PUBLIC;
CREATE ROLE yquota_test_interceptor_super SUPERUSER;
GRANT yquota_test_interceptor_super TO yquota_test_interceptor_admin;
SET ROLE yquota_test_interceptor_admin;
CREATE FUNCTION site.rises(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$
BEGIN
	IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
		ALTER ROLE yquota_test_interceptor_admin SUPERUSER;
	END IF;
	request.refused_because := 'asked by ' || current_user;
	RETURN request;
END
$$;
INSERT INTO yquota.request_interceptor VALUES (1, 'site.rises');
ALTER FUNCTION site.rises SECURITY DEFINER;
INSERT INTO yquota.request_interceptor VALUES (1, 'site.rises');
RESET ROLE;
-- the role that registers the function does not affect its rights
INSERT INTO yquota.request_interceptor VALUES (1, 'site.rises');
SELECT try('who');
UPDATE yquota.request_interceptor SET function = 'site.rises';
-- the function gets another owner after its registration, and then the old owner again
ALTER FUNCTION site.rises SECURITY INVOKER;
ALTER FUNCTION site.rises OWNER TO yquota_test_interceptor_super;
UPDATE yquota.request_interceptor SET function = 'site.rises';
SELECT stopped_by = 'asked by ' || current_user AS asked FROM yquota.allocate_distributed('{}', '{}');
ALTER ROLE yquota_test_interceptor_admin NOSUPERUSER;
ALTER FUNCTION site.rises OWNER TO yquota_test_interceptor_admin;
SELECT yquota.request_containers('application_1_0001', '[vcores=1]', 1);
SELECT yquota.request_containers('application_1_0001', ARRAY[ask(1, 'GUARANTEED')]);
SELECT stopped_by FROM yquota.allocate_opportunistic('application_1_0001');
SELECT stopped_by FROM yquota.allocate_distributed('{}', '{}');
SELECT metric, labels, value FROM yquota.metrics WHERE family = 'request_interceptor';
SELECT rolsuper FROM pg_roles WHERE rolname = 'yquota_test_interceptor_admin';
ALTER FUNCTION site.rises OWNER TO yquota_test_interceptor_super;
SET ROLE yquota_test_interceptor_operator;
SELECT stopped_by FROM yquota.allocate_distributed('{}', '{}');
RESET ROLE;
-- the owner of the function loses superuser
ALTER ROLE yquota_test_interceptor_super NOSUPERUSER;
SET ROLE yquota_test_interceptor_operator;
SELECT stopped_by FROM yquota.allocate_distributed('{}', '{}');
RESET ROLE;
DELETE FROM yquota.request_interceptor;
DROP SCHEMA site CASCADE;
DROP ROLE yquota_test_interceptor_super;
GRANT EXECUTE ON FUNCTION who TO PUBLIC;
SELECT try('who');
\set VERBOSITY terse
-- the function of an index does not act for the role that builds the index
CREATE FUNCTION asks(integer) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT count(*)::integer FROM yquota.allocate_distributed('{}', '{}') $$;
CREATE INDEX ON salary (asks(amount));

\echo the audit of interceptors
SELECT operation, coalesce(new, old) ->> 'function' AS function, acting_role = current_user AS by_owner, count(*)
FROM yquota.audit WHERE table_name = 'yquota.request_interceptor' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT yquota.disallow_role('yquota_test_interceptor_admin', 'admin'), yquota.disallow_role('yquota_test_interceptor_operator', 'operator');
DROP OWNED BY yquota_test_interceptor_operator;
DROP ROLE yquota_test_interceptor_admin, yquota_test_interceptor_operator;
\set VERBOSITY default
\echo interceptors of all six calls
DELETE FROM yquota.request_interceptor;
CREATE TABLE seen (n integer GENERATED ALWAYS AS IDENTITY, request yquota.allocate_request, rows yquota.allocate_response[]);
CREATE FUNCTION sees(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.seen (request) VALUES (request); RETURN request; END $$;
CREATE FUNCTION sees_rows(request yquota.allocate_request, rows yquota.allocate_response[]) RETURNS integer[]
	LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.seen (request, rows) VALUES (request, rows); RETURN NULL; END $$;
INSERT INTO yquota.request_interceptor VALUES (1, 'public.sees_rows');
INSERT INTO yquota.request_interceptor VALUES (1, 'public.sees', 'response');
INSERT INTO yquota.request_interceptor VALUES (1, 'public.sees', 'both');
INSERT INTO yquota.request_interceptor VALUES (1, 'public.sees', 'request'), (2, 'public.sees_rows', 'response');
UPDATE yquota.request_interceptor SET intercepts = 'response' WHERE position = 1;
SELECT yquota.submit_application('application_1_0002', 'ann', '{}', 'a', project => 'p', unmanaged => true) IS NOT NULL AS submitted;
SELECT yquota.request_containers('application_1_0002', ARRAY[ask(1, 'GUARANTEED')]);
SELECT yquota.update_blacklist('application_1_0002', '{n3}', NULL);
SELECT container_id, node FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(2)], '{/far}', '{n3}', seed => 1, response_id => 1);
SELECT container_id FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(2)], '{/far}', '{n3}', seed => 1, response_id => 1);
SELECT outcome, node, count FROM yquota.allocate_distributed(ARRAY[ROW('n1', '/r', NULL)]::yquota.leased_node[], ARRAY[ask(2)], max_containers => 1);
SELECT * FROM yquota.update_containers('application_1_0002', ARRAY[ROW('container_1_0002_01_000001', 0, NULL, 'GUARANTEED', NULL, NULL)]::yquota.container_update_request[]);
SELECT yquota.update_container('container_1_0002_01_000002', 0, execution_type => 'GUARANTEED');
SELECT yquota.release_containers('{container_1_0002_01_000002,container_9}');
SELECT n, (request).function, (request).application_id AS application, cardinality((request).requests) AS requests, cardinality((request).updates) AS updates,
	(request).blacklist_additions AS additions, (request).blacklist_removals AS removals, (request).releases, (request).refused_because AS refused, cardinality(rows) AS rows
FROM seen ORDER BY n;
SELECT n, (request).function, r.* FROM seen CROSS JOIN unnest(rows) AS r ORDER BY n, r.container_id;
-- requests of an application go through interceptors, and decisions of cycles do not
TRUNCATE seen RESTART IDENTITY;
SELECT decision, application_id FROM yquota.schedule();
SELECT count(*) FROM seen;

\echo interceptors change parts of a request, and refuse calls
CREATE FUNCTION tames(request yquota.allocate_request) RETURNS yquota.allocate_request
	LANGUAGE plpgsql AS $$
BEGIN
	request.updates := ARRAY(SELECT u FROM unnest(request.updates) AS u WHERE u.container_id <> 'container_1_0002_01_000001');
	request.blacklist_additions := array_remove(request.blacklist_additions, 'n1');
	request.releases := array_remove(request.releases, 'container_1_0002_01_000001');
	-- the function returns another application's request, which has no effect
	request.application_id := 'application_1_0001';
	request.function := 'x';
	RETURN request;
END
$$;
SELECT try('tames');
SELECT yquota.update_blacklist('application_1_0002', '{n1,n2}');
SELECT * FROM yquota.blacklist ORDER BY 1, 2;
SELECT * FROM yquota.update_containers('application_1_0002', ARRAY[ROW('container_1_0002_01_000001', 0, NULL, 'GUARANTEED', NULL, NULL)]::yquota.container_update_request[]);
SELECT yquota.update_container('container_1_0002_01_000001', 0, execution_type => 'GUARANTEED');
SELECT yquota.release_containers('{container_1_0002_01_000001}');
SELECT try('who');
\set VERBOSITY terse
DO $$
DECLARE
	call text;
	state text;
	detail text;
BEGIN
	FOREACH call IN ARRAY ARRAY[$c$request_containers('application_1_0002', '[vcores=1]', 1)$c$, $c$update_blacklist('application_1_0002', '{n1}')$c$,
		$c$update_containers('application_1_0002', '{}')$c$, $c$update_container('container_1_0002_01_000001', 0, execution_type => 'GUARANTEED')$c$,
		$c$release_containers('{container_1_0002_01_000001}')$c$, $c$release_containers('{}')$c$]
	LOOP
		BEGIN
			EXECUTE 'SELECT yquota.' || call;
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL;
			RAISE WARNING '% % %', state, replace(SQLERRM, current_user, 'owner'), detail;
		END;
	END LOOP;
END
$$;
\set VERBOSITY default

\echo interceptors leave out rows
CREATE FUNCTION hides_first(request yquota.allocate_request, rows yquota.allocate_response[]) RETURNS integer[]
	LANGUAGE sql RETURN CASE WHEN cardinality(rows) > 1 THEN '{1}'::integer[] END;
CREATE FUNCTION hides_last(request yquota.allocate_request, rows yquota.allocate_response[]) RETURNS integer[]
	LANGUAGE sql RETURN CASE WHEN cardinality(rows) > 1 THEN ARRAY[cardinality(rows), cardinality(rows)] END;
DELETE FROM yquota.request_interceptor;
-- responses pass the chain in reverse order, so hides_last runs first
INSERT INTO yquota.request_interceptor VALUES (1, 'public.sees_rows', 'response'), (2, 'public.hides_first', 'response'), (3, 'public.hides_last', 'response');
TRUNCATE seen RESTART IDENTITY;
SELECT container_id FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(4, id => 20)], seed => 1, response_id => 2);
SELECT r.container_id FROM seen CROSS JOIN unnest(rows) AS r ORDER BY 1;
-- containers that are left out have ended, and have no decision
SELECT container_id FROM yquota.container WHERE application_id = 'application_1_0002' ORDER BY 1;
SELECT container_id, decision FROM yquota.decision WHERE application_id = 'application_1_0002' AND execution_type = 'OPPORTUNISTIC' ORDER BY 1;
SELECT container_id, exit_status FROM yquota.container_event WHERE event = 'CONTAINER_FINISH' ORDER BY 1;
-- a repeated call gets the answer of the first call
SELECT container_id FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(4, id => 20)], seed => 1, response_id => 2);
SELECT count(*) FROM seen;
SELECT outcome, node, count FROM yquota.allocate_distributed(ARRAY[ROW('n1', '/r', NULL)]::yquota.leased_node[], ARRAY[ask(3)]);
SELECT yquota.release_containers(ARRAY(SELECT container_id FROM yquota.container WHERE application_id = 'application_1_0002'));
SELECT count(*) FROM yquota.container WHERE application_id = 'application_1_0002';
BEGIN;
SELECT count(*) FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(4, id => 21)], seed => 1);
ROLLBACK;
SELECT count(*) FROM yquota.verify();
-- an interceptor must return numbers of existing rows
CREATE FUNCTION hides_more(request yquota.allocate_request, rows yquota.allocate_response[]) RETURNS integer[]
	LANGUAGE sql RETURN ARRAY[cardinality(rows) + 1];
CREATE FUNCTION hides_none(request yquota.allocate_request, rows yquota.allocate_response[]) RETURNS integer[]
	LANGUAGE sql RETURN ARRAY[NULL::integer];
UPDATE yquota.request_interceptor SET function = 'public.hides_more' WHERE position = 3;
SELECT container_id FROM yquota.allocate_opportunistic('application_1_0002', ARRAY[ask(1, id => 22)], seed => 1);
UPDATE yquota.request_interceptor SET function = 'public.hides_none' WHERE position = 3;
SELECT yquota.release_containers('{}');
CREATE OR REPLACE FUNCTION hides_none(request yquota.allocate_request, rows yquota.allocate_response[]) RETURNS integer[]
	LANGUAGE plpgsql AS $$ BEGIN PERFORM 1 / 0; END $$;
SELECT yquota.release_containers('{}');
DROP FUNCTION hides_none;
SELECT yquota.release_containers('{}');
SELECT metric, labels, value FROM yquota.metrics WHERE family = 'request_interceptor';
-- an interceptor of responses runs with the rights of the calling role, and its owner must be
-- trusted
CREATE FUNCTION judges(request yquota.allocate_request, rows yquota.allocate_response[]) RETURNS integer[]
	LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'rows seen as %', current_user; RETURN NULL; END $$;
DELETE FROM yquota.request_interceptor;
INSERT INTO yquota.request_interceptor VALUES (1, 'public.judges', 'response');
CREATE ROLE yquota_test_interceptor_operator;
SELECT yquota.allow_role('yquota_test_interceptor_operator', 'operator');
SET ROLE yquota_test_interceptor_operator;
SELECT yquota.release_containers('{}');
RESET ROLE;
ALTER FUNCTION judges OWNER TO yquota_test_interceptor_operator;
SELECT yquota.release_containers('{}');
INSERT INTO yquota.request_interceptor VALUES (2, 'public.judges', 'response');
DELETE FROM yquota.request_interceptor;
SELECT yquota.disallow_role('yquota_test_interceptor_operator', 'operator');
DROP FUNCTION judges;
DROP ROLE yquota_test_interceptor_operator;

\c postgres
DROP DATABASE yquota_request_interceptor WITH (FORCE);
