--
-- Request interceptors (seed 001): functions that see a set of requests before it is decided, as
-- the chain of YARN's AMRMProxyService does.  Called in C
-- (src/scheduler/request/request_interceptor.h), with the rights of the caller, which may be a
-- superuser: so a function's owner must be trusted, at registration and at each call.
--
-- The table has the names of functions and not their OIDs, which neither pg_upgrade nor a
-- dump would carry over.
--

CREATE TYPE yquota.intercepted_requests AS (
	requests yquota.container_request[],
	refused_because text
);
COMMENT ON TYPE yquota.intercepted_requests IS
	'What a request interceptor returns: the requests that are to be decided, or why all are refused';
COMMENT ON COLUMN yquota.intercepted_requests.requests IS 'as they came, or changed; not looked at when they are refused';
COMMENT ON COLUMN yquota.intercepted_requests.refused_because IS 'NULL: they are not refused';

CREATE TABLE yquota.request_interceptor (
	position integer PRIMARY KEY,
	function text COLLATE "C" NOT NULL UNIQUE
);
COMMENT ON TABLE yquota.request_interceptor IS
	'Functions that see each set of requests of an application before it is decided, in order; each gets what the one before returned.  They run with the rights of the role that asks';
COMMENT ON COLUMN yquota.request_interceptor.position IS 'the smaller number comes first';
COMMENT ON COLUMN yquota.request_interceptor.function IS
	'name with its schema of a function (application_id text, requests yquota.container_request[]) that returns yquota.intercepted_requests, and belongs to the owner of yquota or a superuser';
SELECT pg_extension_config_dump('yquota.request_interceptor', '');

CREATE FUNCTION yquota_internal.request_interceptor_problem(function text, OUT problem text, OUT error_code text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_function pg_proc;
BEGIN
	error_code := 'undefined_function';
	IF cardinality(parse_ident(function)) <> 2 THEN
		problem := format('"%s" is not the name of a function with its schema', function);
		RETURN;
	END IF;
	SELECT * INTO found_function
	FROM pg_proc AS f WHERE f.oid = to_regprocedure(function || '(text, yquota.container_request[])');
	IF NOT FOUND THEN
		problem := format('function %s(text, yquota.container_request[]) does not exist', function);
	ELSIF found_function.prokind <> 'f' OR found_function.proretset OR found_function.prorettype <> 'yquota.intercepted_requests'::regtype THEN
		problem := format('function %s(text, yquota.container_request[]) does not return yquota.intercepted_requests', function);
	ELSIF NOT yquota_internal.is_trusted(found_function.proowner) THEN
		problem := format('function %s(text, yquota.container_request[]) belongs neither to the owner of yquota nor to a superuser', function);
		error_code := 'insufficient_privilege';
	ELSE
		error_code := NULL;
	END IF;
EXCEPTION WHEN invalid_parameter_value THEN
	problem := format('"%s" is not the name of a function with its schema', function);
END
$$;
COMMENT ON FUNCTION yquota_internal.request_interceptor_problem(text) IS
	'Why a function of that name cannot be called as a request interceptor, and the name of the error; NULL when it can';
REVOKE ALL ON FUNCTION yquota_internal.request_interceptor_problem(text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.check_request_interceptor() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	problem text;
	error_code text;
BEGIN
	SELECT found.problem, found.error_code INTO problem, error_code
	FROM yquota_internal.request_interceptor_problem(NEW.function) AS found;
	IF problem IS NOT NULL AND NOT yquota_internal.restoring() THEN
		RAISE EXCEPTION '%', problem
			USING ERRCODE = error_code,
				HINT = CASE error_code
					WHEN 'insufficient_privilege' THEN 'A request interceptor runs with the rights of each role that asks for containers: have a superuser look at it and own it.'
					ELSE 'A request interceptor is a function (application_id text, requests yquota.container_request[]) RETURNS yquota.intercepted_requests.' END;
	ELSIF problem IS NULL THEN
		-- one name for one function
		SELECT string_agg(quote_ident(part), '.' ORDER BY place) INTO NEW.function
		FROM unnest(parse_ident(NEW.function)) WITH ORDINALITY AS p (part, place);
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_request_interceptor() IS
	'A request interceptor exists, has the arguments and the result of one and a trusted owner when it is registered; a dump may bring it later, and its owner is looked at when it is called';
REVOKE ALL ON FUNCTION yquota_internal.check_request_interceptor() FROM PUBLIC;

CREATE TRIGGER check_function BEFORE INSERT OR UPDATE OF function ON yquota.request_interceptor
	FOR EACH ROW WHEN (NEW.function IS NOT NULL) EXECUTE FUNCTION yquota_internal.check_request_interceptor();
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE ON yquota.request_interceptor
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.request_interceptor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
