--
-- Requests of application masters (semantics/allocation 7, 8) for containers, blacklisted nodes,
-- releases and updates of containers.  The C code decides
-- (src/scheduler/request/container_request.h).  These functions run as the owner; a role that may
-- call them acts for the resource manager.  A bad event makes the call fail and is never set aside.
-- Otherwise the versions of containers could differ from the books.
--

CREATE FUNCTION yquota.request_containers(application_id text, requests yquota.container_request[])
	RETURNS bigint
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_request_containers';
COMMENT ON FUNCTION yquota.request_containers(text, yquota.container_request[]) IS
	'Set the requests of an application: each row replaces the earlier request with the same priority, id, execution type and name.  GUARANTEED: count 0 for * removes all requests with that priority and id.  Allocations are rounded up as in YARN. OPPORTUNISTIC: the first row for an allocation gives the count of *.  Count 0 for a node or rack removes that request.  All requests of one priority and id have the same allocation.  Returns the number of outstanding containers.  Raises YQ002 when a request interceptor refuses the requests';

CREATE FUNCTION yquota.request_containers(
	application_id text, allocation yquota.resource, count bigint,
	resource_name text DEFAULT '*', priority integer DEFAULT 1, allocation_request_id bigint DEFAULT -1,
	relax_locality boolean DEFAULT true, label text DEFAULT NULL,
	execution_type yquota.execution_type DEFAULT 'GUARANTEED', expected_duration interval DEFAULT NULL)
	RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT yquota.request_containers(application_id,
			ARRAY[ROW(resource_name, allocation, count::integer, priority, allocation_request_id, relax_locality, label,
					  execution_type, expected_duration)::yquota.container_request]);
$$;
COMMENT ON FUNCTION yquota.request_containers(text, yquota.resource, bigint, text, integer, bigint, boolean, text, yquota.execution_type, interval) IS
	'Run request_containers() for one request';

CREATE FUNCTION yquota.update_blacklist(
	application_id text, additions text[] DEFAULT '{}', removals text[] DEFAULT '{}')
	RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_update_blacklist';
COMMENT ON FUNCTION yquota.update_blacklist(text, text[], text[]) IS
	'Exclude nodes and racks from allocations for an application (additions), and include others again (removals)';

--
-- Another session may be ending or changing a container, and a change replaces its row. The
-- function then releases all locks, waits, and looks again for the containers that still run.
--
CREATE FUNCTION yquota_internal.release_containers(container_ids text[]) RETURNS SETOF text
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS $$
DECLARE
	released text[];
BEGIN
	LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
	LOOP
		BEGIN
			released := ARRAY(SELECT c.container_id FROM yquota.container AS c
							  WHERE c.container_id = ANY (container_ids) ORDER BY c.container_id FOR UPDATE);
			IF (SELECT count(*) FROM yquota.container AS c
				WHERE c.container_id = ANY (container_ids)) > cardinality(released) THEN
				RAISE no_data_found;
			END IF;
			EXIT;
		EXCEPTION WHEN no_data_found THEN
			CONTINUE;
		END;
	END LOOP;
	-- ContainerExitStatus.ABORTED
	INSERT INTO yquota.container_event (event, container_id, occurred_at, exit_status, source)
	SELECT 'CONTAINER_FINISH', c.container_id, greatest(yquota.clock(), c.settled_at), -100, 'scheduler'
	FROM yquota.container AS c
	WHERE c.container_id = ANY (released);
	-- acknowledge after locking the containers, in the order in which an update takes these locks
	PERFORM yquota_internal.acknowledge_containers(container_ids);
	RETURN QUERY SELECT unnest(released);
END
$$;
COMMENT ON FUNCTION yquota_internal.release_containers(text[]) IS
	'End running containers (exit status -100), acknowledged or not.  Returns the containers that were running';

CREATE FUNCTION yquota.release_containers(container_ids text[]) RETURNS SETOF text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_release_containers';
COMMENT ON FUNCTION yquota.release_containers(text[]) IS
	'End running containers that the application does not want (exit status -100), acknowledged or not.  Returns the containers that were running.  The call may be repeated';

CREATE TYPE yquota.container_update_request AS (
	container_id text,
	version integer,
	allocation yquota.resource,
	execution_type yquota.execution_type,
	priority integer,
	allocation_request_id bigint
);
COMMENT ON TYPE yquota.container_update_request IS
	'Request of update_containers(): a container and its new allocation or execution_type; priority (NULL: 1) and allocation_request_id (NULL: -1) are those of the container''s request';
COMMENT ON COLUMN yquota.container_update_request.version IS 'version of the container: 0 at first, increased by 1 by each update';
COMMENT ON COLUMN yquota.container_update_request.allocation IS 'complete new allocation, native units';

CREATE FUNCTION yquota.update_containers(application_id text, updates yquota.container_update_request[])
	RETURNS TABLE (container_id text, outcome text, reason text, version integer, allocation yquota.resource)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_update_containers';
COMMENT ON FUNCTION yquota.update_containers(text, yquota.container_update_request[]) IS
	'Change the allocation or the execution type of running containers of an application, as YARN does.  A decrease or demotion happens at once.  An increase or promotion is pending until the scheduler finds room on the node.  Returns one row for each container: decreased, demoted, pending, unchanged, or refused with YARN''s reason.  A refusal does not stop the other updates. version and allocation are the present ones (native units)';

CREATE FUNCTION yquota.update_container(
	container_id text, version integer, allocation yquota.resource DEFAULT NULL,
	execution_type yquota.execution_type DEFAULT NULL, priority integer DEFAULT 1, allocation_request_id bigint DEFAULT -1)
	RETURNS text
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_update_container';
COMMENT ON FUNCTION yquota.update_container(text, integer, yquota.resource, yquota.execution_type, integer, bigint) IS
	'Run update_containers() for one container; a refusal is an error.  Returns the outcome';

CREATE FUNCTION yquota_internal.forget_application() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_forget_application';
COMMENT ON FUNCTION yquota_internal.forget_application() IS
	'Delete the scheduler''s rows for an application that has ended, except its last container number, and end the containers that the scheduler allocated to it';

CREATE TRIGGER forget_ended AFTER UPDATE ON yquota.application
	FOR EACH ROW WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL)
	EXECUTE FUNCTION yquota_internal.forget_application();
CREATE TRIGGER forget_deleted AFTER DELETE ON yquota.application
	FOR EACH ROW WHEN (OLD.finished_at IS NULL)
	EXECUTE FUNCTION yquota_internal.forget_application();

CREATE FUNCTION yquota_internal.end_containers_of(application_id text) RETURNS bigint
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_end_containers_of';
COMMENT ON FUNCTION yquota_internal.end_containers_of(text) IS
	'End the containers that the scheduler allocated to an application (exit status -100), and report the ends in decision.  Returns how many containers ended';

CREATE FUNCTION yquota_internal.forget_applications() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.end_containers_of(c.application_id)
	FROM (SELECT DISTINCT r.application_id FROM yquota.container AS r
		  WHERE r.is_given AND r.application_id IS NOT NULL ORDER BY r.application_id) AS c;
	DELETE FROM yquota.resource_request;
	DELETE FROM yquota.blacklist;
	DELETE FROM yquota.reserved_container;
	DELETE FROM yquota.container_update;
	DELETE FROM yquota_internal.container_version;
	DELETE FROM yquota_internal.request_counter;
	DELETE FROM yquota_internal.opportunistic_response;
	UPDATE yquota_internal.application_attempt
	SET attempt = attempt + 1, next_container = 1, am_container_id = NULL
	WHERE next_container > 1 OR am_container_id IS NOT NULL;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.forget_applications() IS
	'Run forget_application() for all ended applications at once';

CREATE TRIGGER forget_all AFTER TRUNCATE ON yquota.application
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.forget_applications();
