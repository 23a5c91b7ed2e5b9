--
-- Request interceptors (seed 001): functions that see a set of requests before it is decided, as
-- the chain of YARN's AMRMProxyService does.  Called in C
-- (src/scheduler/request/request_interceptor.h), with the rights of the caller.
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
	'name with its schema of a function (application_id text, requests yquota.container_request[]) that returns yquota.intercepted_requests';
SELECT pg_extension_config_dump('yquota.request_interceptor', '');

CREATE FUNCTION yquota_internal.request_interceptor_problem(function text) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	found_function pg_proc;
BEGIN
	IF cardinality(parse_ident(function)) <> 2 THEN
		RETURN format('"%s" is not the name of a function with its schema', function);
	END IF;
	SELECT * INTO found_function
	FROM pg_proc AS f WHERE f.oid = to_regprocedure(function || '(text, yquota.container_request[])');
	IF NOT FOUND THEN
		RETURN format('function %s(text, yquota.container_request[]) does not exist', function);
	ELSIF found_function.prokind <> 'f' OR found_function.proretset OR found_function.prorettype <> 'yquota.intercepted_requests'::regtype THEN
		RETURN format('function %s(text, yquota.container_request[]) does not return yquota.intercepted_requests', function);
	END IF;
	RETURN NULL;
EXCEPTION WHEN invalid_parameter_value THEN
	RETURN format('"%s" is not the name of a function with its schema', function);
END
$$;
COMMENT ON FUNCTION yquota_internal.request_interceptor_problem(text) IS
	'Why a function of that name cannot be called as a request interceptor; NULL when it can';
REVOKE ALL ON FUNCTION yquota_internal.request_interceptor_problem(text) FROM PUBLIC;

CREATE FUNCTION yquota_internal.check_request_interceptor() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	problem constant text := yquota_internal.request_interceptor_problem(NEW.function);
BEGIN
	IF problem IS NOT NULL AND NOT yquota_internal.restoring() THEN
		RAISE EXCEPTION '%', problem
			USING ERRCODE = 'undefined_function',
				HINT = 'A request interceptor is a function (application_id text, requests yquota.container_request[]) RETURNS yquota.intercepted_requests.';
	ELSIF problem IS NULL THEN
		-- one name for one function
		SELECT string_agg(quote_ident(part), '.' ORDER BY place) INTO NEW.function
		FROM unnest(parse_ident(NEW.function)) WITH ORDINALITY AS p (part, place);
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_request_interceptor() IS
	'A request interceptor exists and has the arguments and the result of one when it is registered; a dump may bring it later';
REVOKE ALL ON FUNCTION yquota_internal.check_request_interceptor() FROM PUBLIC;

CREATE TRIGGER check_function BEFORE INSERT OR UPDATE OF function ON yquota.request_interceptor
	FOR EACH ROW WHEN (NEW.function IS NOT NULL) EXECUTE FUNCTION yquota_internal.check_request_interceptor();
CREATE TRIGGER signal_change AFTER INSERT OR UPDATE OR DELETE ON yquota.request_interceptor
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
CREATE TRIGGER signal_truncate AFTER TRUNCATE ON yquota.request_interceptor
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.signal_change();
