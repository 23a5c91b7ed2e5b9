-- A request interceptor that limits the calls of application masters. It accepts a number of calls of each application
-- in any second, and refuses further calls.
--
-- Run the script once, as a superuser, in a database with yquota. The script makes the schema request_throttle and
-- registers its function. The function runs with the rights of the role that asks for containers. So every such role
-- needs the privileges that the last statements give to members of request_throttle_user:
--
--     GRANT request_throttle_user TO resource_manager;
--     UPDATE request_throttle.setting SET most_per_second = 20;
--
-- If two sessions ask for one application at the same time, one waits for the row of the other, so that both calls are
-- counted. Refused calls are not counted.
--
CREATE SCHEMA request_throttle;

CREATE TABLE request_throttle.setting (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	most_per_second integer NOT NULL CHECK (most_per_second > 0)
);
INSERT INTO request_throttle.setting (most_per_second) VALUES (10);

-- The times of the last accepted calls, oldest first, as many as the limit.
CREATE TABLE request_throttle.recent (
	application_id text COLLATE "C" PRIMARY KEY,
	calls timestamptz[] NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION request_throttle.throttle(request yquota.allocate_request)
	RETURNS yquota.allocate_request
	LANGUAGE plpgsql VOLATILE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	most constant integer := (SELECT most_per_second FROM request_throttle.setting);
	now_at constant timestamptz := yquota.clock();
	known timestamptz[];
BEGIN
	-- accept calls of allocate_distributed() by a local scheduler, which name no application, and calls that only
	-- release containers
	IF request.application_id IS NULL OR request.function = 'release_containers' THEN
		RETURN request;
	END IF;
	INSERT INTO request_throttle.recent AS r (application_id, calls) VALUES (request.application_id, '{}')
	ON CONFLICT ON CONSTRAINT recent_pkey DO UPDATE SET calls = r.calls
	RETURNING r.calls INTO known;
	known := ARRAY(SELECT call FROM unnest(known) AS call WHERE call > now_at - interval '1 second' ORDER BY call);
	IF cardinality(known) >= most THEN
		request.refused_because := format('more than %s calls a second', most);
		RETURN request;
	END IF;
	UPDATE request_throttle.recent AS r SET calls = known || now_at WHERE r.application_id = request.application_id;
	RETURN request;
END
$$;

-- Delete the rows of applications that have ended, from time to time.
CREATE FUNCTION request_throttle.forget() RETURNS bigint
	LANGUAGE sql VOLATILE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH forgotten AS (
			DELETE FROM request_throttle.recent AS r
			WHERE NOT EXISTS (SELECT FROM unnest(r.calls) AS call WHERE call > yquota.clock() - interval '1 minute')
			RETURNING 1)
		SELECT count(*) FROM forgotten;
	END;

DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'request_throttle_user') THEN
		CREATE ROLE request_throttle_user;
	END IF;
END
$$;
GRANT USAGE ON SCHEMA request_throttle TO request_throttle_user;
GRANT SELECT ON request_throttle.setting TO request_throttle_user;
GRANT SELECT, INSERT, UPDATE ON request_throttle.recent TO request_throttle_user;
REVOKE EXECUTE ON FUNCTION request_throttle.throttle(yquota.allocate_request), request_throttle.forget() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION request_throttle.throttle(yquota.allocate_request) TO request_throttle_user;

INSERT INTO yquota.request_interceptor (position, function) VALUES (100, 'request_throttle.throttle');
