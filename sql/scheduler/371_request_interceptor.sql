--
-- Interceptors: functions that see a request of an application master before it is decided,
-- and the response before it is returned.  They work like the chain of YARN's AMRMProxyService.
-- The C code calls them with the rights of the caller, which may be a superuser
-- (src/scheduler/request/request_interceptor.h).  The owner of a function must therefore be
-- trusted at registration and at each call.
--
-- The table keeps names of functions, because neither pg_upgrade nor a dump preserves OIDs.
--

CREATE TYPE yquota.allocate_request AS (
	function text,
	application_id text,
	requests yquota.container_request[],
	updates yquota.container_update_request[],
	blacklist_additions text[],
	blacklist_removals text[],
	releases text[],
	refused_because text
);
COMMENT ON TYPE yquota.allocate_request IS
	'Call for an application master, as a request interceptor receives and returns it.  A column is NULL if the called function has no such argument';
COMMENT ON COLUMN yquota.allocate_request.function IS 'name of the called function';
COMMENT ON COLUMN yquota.allocate_request.application_id IS 'NULL: the call names no application, or concerns several';
COMMENT ON COLUMN yquota.allocate_request.requests IS 'requests of request_containers(), allocate_opportunistic() and allocate_distributed()';
COMMENT ON COLUMN yquota.allocate_request.updates IS 'updates of update_containers(), or the update of update_container()';
COMMENT ON COLUMN yquota.allocate_request.blacklist_additions IS 'argument of update_blacklist() and allocate_opportunistic()';
COMMENT ON COLUMN yquota.allocate_request.blacklist_removals IS 'argument of update_blacklist() and allocate_opportunistic()';
COMMENT ON COLUMN yquota.allocate_request.releases IS 'ids of containers in release_containers()';
COMMENT ON COLUMN yquota.allocate_request.refused_because IS 'NULL, or a reason, which refuses the call; then other returned columns are ignored';

CREATE TYPE yquota.allocate_response AS (
	outcome text,
	container_id text,
	node text,
	allocation yquota.resource,
	priority integer,
	allocation_request_id bigint,
	execution_type yquota.execution_type
);
COMMENT ON TYPE yquota.allocate_response IS
	'Row that a call for an application master is about to return, as a response interceptor receives it.  A column is NULL if the result has no such column';
COMMENT ON COLUMN yquota.allocate_response.outcome IS 'column outcome or decision of the result; released for release_containers()';
COMMENT ON COLUMN yquota.allocate_response.allocation IS 'size of one container, native units';

CREATE TABLE yquota.request_interceptor (
	position integer PRIMARY KEY,
	function text COLLATE "C" NOT NULL UNIQUE,
	intercepts text NOT NULL DEFAULT 'request' CHECK (intercepts IN ('request', 'response'))
);
COMMENT ON TABLE yquota.request_interceptor IS
	'Interceptors of calls for application masters.  Functions for requests run one after the other before a request is decided; each receives the result of the function before.  Functions for responses run before the answer is returned, in the opposite order.  All run with the rights of the calling role';
COMMENT ON COLUMN yquota.request_interceptor.position IS 'primary key; the smaller number comes first for requests, last for responses';
COMMENT ON COLUMN yquota.request_interceptor.function IS 'unique name, with its schema, of a function that belongs to the owner of yquota or to a superuser. 42883: there is no such function. 42501: its owner is another role. The name is stored as the server writes it';
COMMENT ON COLUMN yquota.request_interceptor.intercepts IS 'request, the default: a function (yquota.allocate_request) that returns yquota.allocate_request. response: a function (yquota.allocate_request, yquota.allocate_response[]) that returns integer[]';
SELECT pg_extension_config_dump('yquota.request_interceptor', '');

CREATE FUNCTION yquota_internal.request_interceptor_problem(function text, intercepts text, OUT problem text, OUT error_code text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	arguments constant text := CASE intercepts WHEN 'response' THEN 'yquota.allocate_request, yquota.allocate_response[]' ELSE 'yquota.allocate_request' END;
	result constant text := CASE intercepts WHEN 'response' THEN 'integer[]' ELSE 'yquota.allocate_request' END;
	found_function pg_proc;
BEGIN
	error_code := 'undefined_function';
	IF cardinality(parse_ident(function)) <> 2 THEN
		problem := format('"%s" is not the name of a function with its schema', function);
		RETURN;
	END IF;
	SELECT * INTO found_function
	FROM pg_proc AS f WHERE f.oid = to_regprocedure(format('%s(%s)', function, arguments));
	IF NOT FOUND THEN
		problem := format('function %s(%s) does not exist', function, arguments);
	ELSIF found_function.prokind <> 'f' OR found_function.proretset OR found_function.prorettype <> result::regtype THEN
		problem := format('function %s(%s) does not return %s', function, arguments, result);
	ELSIF NOT yquota_internal.is_trusted(found_function.proowner) THEN
		problem := format('function %s(%s) belongs neither to the owner of yquota nor to a superuser', function, arguments);
		error_code := 'insufficient_privilege';
	ELSE
		error_code := NULL;
	END IF;
EXCEPTION WHEN invalid_parameter_value THEN
	problem := format('"%s" is not the name of a function with its schema', function);
END
$$;
COMMENT ON FUNCTION yquota_internal.request_interceptor_problem(text, text) IS
	'Return the reason why the named function cannot be called as an interceptor of requests or responses, and the name of the error; NULL if it can be called';

CREATE FUNCTION yquota_internal.check_request_interceptor() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET quote_all_identifiers = off
	AS $$
DECLARE
	problem text;
	error_code text;
BEGIN
	SELECT found.problem, found.error_code INTO problem, error_code
	FROM yquota_internal.request_interceptor_problem(NEW.function, NEW.intercepts) AS found;
	IF problem IS NOT NULL AND NOT yquota_internal.restoring() THEN
		RAISE EXCEPTION '%', problem
			USING ERRCODE = error_code,
				HINT = CASE WHEN error_code = 'insufficient_privilege'
					THEN 'An interceptor runs with the rights of each role that asks for containers: have a superuser review and own it.'
					WHEN NEW.intercepts = 'response'
					THEN 'A response interceptor is a function (yquota.allocate_request, yquota.allocate_response[]) RETURNS integer[].'
					ELSE 'A request interceptor is a function (yquota.allocate_request) RETURNS yquota.allocate_request.' END;
	ELSIF problem IS NULL THEN
		-- store the name of a function in one spelling
		SELECT string_agg(quote_ident(part), '.' ORDER BY place) INTO NEW.function
		FROM unnest(parse_ident(NEW.function)) WITH ORDINALITY AS p (part, place);
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_request_interceptor() IS
	'Check a function that is registered as an interceptor: it must exist, have the right arguments and result, and have a trusted owner.  A dump may restore the function after its row; the owner is then checked at the first call';

CREATE TRIGGER check_function BEFORE INSERT OR UPDATE OF function, intercepts ON yquota.request_interceptor
	FOR EACH ROW WHEN (NEW.function IS NOT NULL) EXECUTE FUNCTION yquota_internal.check_request_interceptor();
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE ON yquota.request_interceptor
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.request_interceptor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
