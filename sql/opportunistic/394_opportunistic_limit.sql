--
-- Limits on OPPORTUNISTIC containers of a queue (with the queues below it), of a user and of an
-- application. A limit bounds the number and the total size of the containers that run or wait at
-- the same time.
--
-- Containers are counted only while there is a limit. Statements that send events append their
-- changes to opportunistic_change, so that no such statement waits for another. An allocation under
-- a limit adds up opportunistic_change and opportunistic_counter. From time to time it moves many
-- changes to opportunistic_counter at once.
--

CREATE TABLE yquota_internal.opportunistic_counting (
	since timestamptz NOT NULL
);
COMMENT ON TABLE yquota_internal.opportunistic_counting IS
	'Tells whether OPPORTUNISTIC containers are counted: one row while there is a limit of sharing, else none';
SELECT pg_extension_config_dump('yquota_internal.opportunistic_counting', '');
CREATE TRIGGER signal_change AFTER INSERT OR DELETE ON yquota_internal.opportunistic_counting
	FOR EACH ROW EXECUTE FUNCTION yquota_internal.signal_change();
ALTER TABLE yquota_internal.opportunistic_counting ENABLE ALWAYS TRIGGER signal_change;

CREATE TABLE yquota_internal.opportunistic_change (
	queue text COLLATE "C",
	username text COLLATE "C",
	application_id text COLLATE "C",
	containers bigint NOT NULL,
	allocation yquota.resource NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
COMMENT ON TABLE yquota_internal.opportunistic_change IS
	'Changes in the number of OPPORTUNISTIC containers, appended by statements and not in opportunistic_counter yet';
COMMENT ON COLUMN yquota_internal.opportunistic_change.queue IS 'queue that the events name';
COMMENT ON COLUMN yquota_internal.opportunistic_change.containers IS 'containers that began minus containers that ended';
COMMENT ON COLUMN yquota_internal.opportunistic_change.allocation IS 'allocations that were added minus allocations that were removed, native units';
SELECT pg_extension_config_dump('yquota_internal.opportunistic_change', '');

CREATE TABLE yquota_internal.opportunistic_counter (
	scope text COLLATE "C" NOT NULL CHECK (scope IN ('queue', 'user', 'application')),
	name text COLLATE "C" NOT NULL,
	containers bigint NOT NULL,
	allocation yquota.resource NOT NULL,
	PRIMARY KEY (name, scope)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.opportunistic_counter IS
	'Numbers and allocations of the OPPORTUNISTIC containers of each queue with the queues below it, each user and each application.  Changes in opportunistic_change are not included yet';
COMMENT ON COLUMN yquota_internal.opportunistic_counter.name IS 'path, username, or id';
COMMENT ON COLUMN yquota_internal.opportunistic_counter.allocation IS 'sum of the allocations of these containers, native units';
SELECT pg_extension_config_dump('yquota_internal.opportunistic_counter', '');

CREATE FUNCTION yquota_internal.lock_sharing() RETURNS void
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_lock_sharing';
COMMENT ON FUNCTION yquota_internal.lock_sharing() IS
	'Lock the limits of sharing until the transaction ends, so that one transaction at a time allocates containers under a limit, or changes limits';

CREATE VIEW yquota_internal.opportunistic_limit AS
	SELECT 'queue' AS scope, q.path::text AS name, q.opportunistic_maximum_containers AS maximum_containers,
		   q.opportunistic_maximum_resource AS maximum_resource
	FROM yquota.queue AS q
	WHERE num_nonnulls(q.opportunistic_maximum_containers, q.opportunistic_maximum_resource) > 0
	UNION ALL
	SELECT 'user', NULL, s.opportunistic_user_maximum_containers, s.opportunistic_user_maximum_resource
	FROM yquota.scheduler_setting AS s
	WHERE num_nonnulls(s.opportunistic_user_maximum_containers, s.opportunistic_user_maximum_resource) > 0
	UNION ALL
	SELECT 'application', NULL, s.opportunistic_application_maximum_containers, s.opportunistic_application_maximum_resource
	FROM yquota.scheduler_setting AS s
	WHERE num_nonnulls(s.opportunistic_application_maximum_containers, s.opportunistic_application_maximum_resource) > 0;
COMMENT ON VIEW yquota_internal.opportunistic_limit IS
	'Limits of sharing, as configured. name is the path of a queue; NULL: the limit holds for each user or each application';
COMMENT ON COLUMN yquota_internal.opportunistic_limit.maximum_containers IS 'NULL: no limit';
COMMENT ON COLUMN yquota_internal.opportunistic_limit.maximum_resource IS 'largest sum of allocations, native units; a resource type that is missing has no limit; NULL: no limit at all';

CREATE FUNCTION yquota_internal.queues_above(path text) RETURNS text[]
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN (SELECT array_agg(array_to_string((string_to_array(path, '.'))[:n], '.') ORDER BY n)
			FROM generate_series(1, cardinality(string_to_array(path, '.'))) AS n);
COMMENT ON FUNCTION yquota_internal.queues_above(text) IS
	'Return the queue of a path and the queues above it, root first';

CREATE FUNCTION yquota_internal.scopes_of_sharing(application_id text, username text, queue text)
	RETURNS TABLE (scope text, name text)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	BEGIN ATOMIC
		SELECT 'application', scopes_of_sharing.application_id WHERE scopes_of_sharing.application_id IS NOT NULL
		UNION ALL
		SELECT 'user', scopes_of_sharing.username WHERE scopes_of_sharing.username IS NOT NULL
		UNION ALL
		SELECT 'queue', q.path FROM unnest(yquota_internal.queues_above(scopes_of_sharing.queue)) AS q (path);
	END;
COMMENT ON FUNCTION yquota_internal.scopes_of_sharing(text, text, text) IS
	'Return the application, the user and the queues whose limits count a container';

--
-- A queue counts the containers whose events name its path or the path of a queue below it.
--
CREATE FUNCTION yquota_internal.limits_of_sharing(application_id text, username text, queue text)
	RETURNS TABLE (scope text, name text, maximum_containers integer, maximum_resource yquota.resource, containers bigint,
				   allocation yquota.resource)
	LANGUAGE sql STABLE PARALLEL SAFE
	BEGIN ATOMIC
		SELECT l.scope, n.name, l.maximum_containers, l.maximum_resource, u.containers, u.allocation
		FROM yquota_internal.opportunistic_limit AS l
		CROSS JOIN LATERAL (
			SELECT CASE l.scope WHEN 'queue' THEN l.name WHEN 'user' THEN limits_of_sharing.username
					ELSE limits_of_sharing.application_id END AS name) AS n
		CROSS JOIN LATERAL (
			SELECT coalesce(sum(p.containers), 0)::bigint AS containers, coalesce(yquota.sum(p.allocation), '[]') AS allocation
			FROM (SELECT c.containers, c.allocation FROM yquota_internal.opportunistic_counter AS c
				  WHERE c.scope = l.scope AND c.name = n.name
				  UNION ALL
				  SELECT h.containers, h.allocation FROM yquota_internal.opportunistic_change AS h
				  WHERE CASE l.scope WHEN 'queue' THEN h.queue = n.name OR starts_with(h.queue, n.name || '.')
						WHEN 'user' THEN h.username = n.name ELSE h.application_id = n.name END) AS p) AS u
		WHERE l.scope <> 'queue' OR l.name = ANY (yquota_internal.queues_above(limits_of_sharing.queue))
		ORDER BY l.scope = 'application', l.scope = 'user', n.name;
	END;
COMMENT ON FUNCTION yquota_internal.limits_of_sharing(text, text, text) IS
	'Return the limits of sharing for an application of a user in a leaf queue, with the present count under each.  Limits of queues come first';

CREATE FUNCTION yquota_internal.fold_opportunistic_changes() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	WITH gone AS (
		DELETE FROM yquota_internal.opportunistic_change AS h RETURNING h.*
	), summed AS (
		SELECT g.queue, g.username, g.application_id, sum(g.containers)::bigint AS containers, yquota.sum(g.allocation) AS allocation
		FROM gone AS g GROUP BY 1, 2, 3
	)
	INSERT INTO yquota_internal.opportunistic_counter AS c (scope, name, containers, allocation)
	SELECT p.scope, p.name, sum(s.containers)::bigint, yquota.sum(s.allocation)
	FROM summed AS s
	CROSS JOIN LATERAL yquota_internal.scopes_of_sharing(s.application_id, s.username, s.queue) AS p
	GROUP BY 1, 2
	ON CONFLICT (name, scope) DO UPDATE SET containers = c.containers + excluded.containers,
		allocation = c.allocation OPERATOR(yquota.+) excluded.allocation;
	DELETE FROM yquota_internal.opportunistic_counter AS c WHERE c.containers = 0 AND c.allocation OPERATOR(yquota.=) '[]';
END
$$;
COMMENT ON FUNCTION yquota_internal.fold_opportunistic_changes() IS
	'Move the changes to the counters.  The caller has called lock_sharing()';

--
-- The statement that sets the first limit blocks events while it counts all containers, because
-- later events add their changes to that count. Removing the last limit removes the counters.
--
CREATE FUNCTION yquota_internal.tend_opportunistic_counting() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	is_limited boolean;
BEGIN
	IF yquota_internal.restoring() THEN
		RETURN NULL;
	END IF;
	-- take the two locks in the order in which the check of the configuration at commit takes them
	LOCK TABLE ONLY yquota_internal.queue_status IN SHARE ROW EXCLUSIVE MODE;
	PERFORM yquota_internal.lock_sharing();
	is_limited := EXISTS (SELECT FROM yquota_internal.opportunistic_limit);
	IF is_limited = EXISTS (SELECT FROM yquota_internal.opportunistic_counting) THEN
		RETURN NULL;
	END IF;
	PERFORM yquota_internal.require_read_committed('set the first limit of OPPORTUNISTIC containers, or remove the last one,');
	LOCK TABLE ONLY yquota.container_event IN SHARE ROW EXCLUSIVE MODE;
	DELETE FROM yquota_internal.opportunistic_counting;
	DELETE FROM yquota_internal.opportunistic_change;
	DELETE FROM yquota_internal.opportunistic_counter;
	IF is_limited THEN
		INSERT INTO yquota_internal.opportunistic_change (queue, username, application_id, containers, allocation)
		SELECT c.queue, c.username, c.application_id, count(*), yquota.sum(c.allocation)
		FROM yquota.container AS c WHERE c.execution_type = 'OPPORTUNISTIC' GROUP BY 1, 2, 3;
		PERFORM yquota_internal.fold_opportunistic_changes();
		INSERT INTO yquota_internal.opportunistic_counting (since) VALUES (yquota.clock());
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.tend_opportunistic_counting() IS
	'Begin to count OPPORTUNISTIC containers with the first limit of sharing, and stop with the last one';

CREATE TRIGGER tend_counting AFTER INSERT ON yquota.queue FOR EACH ROW
	WHEN (num_nonnulls(NEW.opportunistic_maximum_containers, NEW.opportunistic_maximum_resource) > 0)
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();
CREATE TRIGGER tend_changed_counting AFTER UPDATE ON yquota.queue FOR EACH ROW
	WHEN (num_nonnulls(OLD.opportunistic_maximum_containers, OLD.opportunistic_maximum_resource)
		  <> num_nonnulls(NEW.opportunistic_maximum_containers, NEW.opportunistic_maximum_resource))
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();
CREATE TRIGGER tend_deleted_counting AFTER DELETE ON yquota.queue FOR EACH ROW
	WHEN (num_nonnulls(OLD.opportunistic_maximum_containers, OLD.opportunistic_maximum_resource) > 0)
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();
CREATE TRIGGER tend_counting AFTER INSERT ON yquota.scheduler_setting FOR EACH ROW
	WHEN (num_nonnulls(NEW.opportunistic_user_maximum_containers, NEW.opportunistic_user_maximum_resource,
					   NEW.opportunistic_application_maximum_containers, NEW.opportunistic_application_maximum_resource) > 0)
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();
CREATE TRIGGER tend_changed_counting AFTER UPDATE ON yquota.scheduler_setting FOR EACH ROW
	WHEN (num_nonnulls(OLD.opportunistic_user_maximum_containers, OLD.opportunistic_user_maximum_resource,
					   OLD.opportunistic_application_maximum_containers, OLD.opportunistic_application_maximum_resource)
		  <> num_nonnulls(NEW.opportunistic_user_maximum_containers, NEW.opportunistic_user_maximum_resource,
						  NEW.opportunistic_application_maximum_containers, NEW.opportunistic_application_maximum_resource))
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();
CREATE TRIGGER tend_deleted_counting AFTER DELETE ON yquota.scheduler_setting FOR EACH ROW
	WHEN (num_nonnulls(OLD.opportunistic_user_maximum_containers, OLD.opportunistic_user_maximum_resource,
					   OLD.opportunistic_application_maximum_containers, OLD.opportunistic_application_maximum_resource) > 0)
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();
CREATE TRIGGER tend_truncated_counting AFTER TRUNCATE ON yquota.queue FOR EACH STATEMENT
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();
CREATE TRIGGER tend_truncated_counting AFTER TRUNCATE ON yquota.scheduler_setting FOR EACH STATEMENT
	EXECUTE FUNCTION yquota_internal.tend_opportunistic_counting();

--
-- Judges the containers of local schedulers one after the other: a container that exceeds a limit
-- is refused.
--
CREATE FUNCTION yquota_internal.exceeds(total yquota.resource, maximum yquota.resource) RETURNS boolean
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN EXISTS (SELECT FROM yquota.resource_entries(maximum) AS m WHERE yquota.amount(total, m.name) > m.amount);
COMMENT ON FUNCTION yquota_internal.exceeds(yquota.resource, yquota.resource) IS
	'Tell whether an amount exceeds maximum in a resource type; a type that is not in maximum has no limit';

CREATE FUNCTION yquota_internal.refuse_beyond_limits(
	application_ids text[], usernames text[], queues text[], allocations yquota.resource[])
	RETURNS text[]
	LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	refusals text[] := '{}';
	refusal text;
	container record;
	number integer;
	-- arrays with an element per limit; counts and used have the containers and resources that count so far
	messages text[];
	maxima integer[];
	maximum_resources yquota.resource[];
	counts bigint[];
	used yquota.resource[];
	-- pairs in the order of the checks: a requester (an application with its user and queue), and the number of a limit
	requesters bigint[];
	numbers bigint[];
BEGIN
	WITH known AS MATERIALIZED (
		SELECT one.requester, l.*, dense_rank() OVER (ORDER BY l.scope, l.name) AS number
		FROM (SELECT DISTINCT a.*, dense_rank() OVER (ORDER BY a.application_id, a.username, a.queue) AS requester
			  FROM unnest(application_ids, usernames, queues) AS a (application_id, username, queue)) AS one
		CROSS JOIN LATERAL yquota_internal.limits_of_sharing(one.application_id, one.username, one.queue) WITH ORDINALITY
			AS l (scope, name, maximum_containers, maximum_resource, containers, allocation, place)
	)
	SELECT once.messages, once.maxima, once.maximum_resources, once.counts, once.used, pairs.requesters, pairs.numbers
	INTO messages, maxima, maximum_resources, counts, used, requesters, numbers
	FROM (SELECT array_agg(format('opportunistic_limit: %s %s', k.scope, k.name) ORDER BY k.number) AS messages,
				 array_agg(k.maximum_containers ORDER BY k.number) AS maxima, array_agg(k.maximum_resource ORDER BY k.number) AS maximum_resources,
				 array_agg(k.containers ORDER BY k.number) AS counts, array_agg(k.allocation ORDER BY k.number) AS used
		  FROM (SELECT DISTINCT ON (known.number) known.* FROM known ORDER BY known.number) AS k) AS once
	CROSS JOIN (SELECT array_agg(k.requester ORDER BY k.requester, k.place) AS requesters, array_agg(k.number ORDER BY k.requester, k.place) AS numbers
				FROM known AS k) AS pairs;
	FOR container IN
		SELECT asked.allocation, coalesce(checked.numbers, '{}') AS numbers
		FROM (SELECT a.*, dense_rank() OVER (ORDER BY a.application_id, a.username, a.queue) AS requester
			  FROM unnest(application_ids, usernames, queues, allocations) WITH ORDINALITY
				AS a (application_id, username, queue, allocation, place)) AS asked
		LEFT JOIN (SELECT p.requester, array_agg(p.number ORDER BY p.place) AS numbers
				   FROM unnest(requesters, numbers) WITH ORDINALITY AS p (requester, number, place)
				   GROUP BY p.requester) AS checked ON checked.requester = asked.requester
		ORDER BY asked.place
	LOOP
		refusal := NULL;
		FOREACH number IN ARRAY container.numbers LOOP
			IF counts[number] >= maxima[number]
				OR yquota_internal.exceeds(used[number] OPERATOR(yquota.+) container.allocation, maximum_resources[number])
			THEN
				refusal := messages[number];
				EXIT;
			END IF;
		END LOOP;
		refusals := array_append(refusals, refusal);
		CONTINUE WHEN refusal IS NOT NULL;
		FOREACH number IN ARRAY container.numbers LOOP
			counts[number] := counts[number] + 1;
			used[number] := used[number] OPERATOR(yquota.+) container.allocation;
		END LOOP;
	END LOOP;
	RETURN refusals;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_beyond_limits(text[], text[], text[], yquota.resource[]) IS
	'Return for each container, in the order of allocation, the limit of sharing that it exceeds, or NULL. The caller has called lock_sharing()';

--
-- Views for people
--
CREATE VIEW yquota_internal.opportunistic_holding AS
	SELECT p.scope, p.name, sum(p.containers)::bigint AS containers, yquota.sum(p.allocation) AS allocation
	FROM (SELECT c.scope, c.name, c.containers, c.allocation FROM yquota_internal.opportunistic_counter AS c
		  UNION ALL
		  SELECT n.scope, n.name, h.containers, h.allocation
		  FROM yquota_internal.opportunistic_change AS h
		  CROSS JOIN LATERAL yquota_internal.scopes_of_sharing(h.application_id, h.username, h.queue) AS n) AS p
	GROUP BY 1, 2;
COMMENT ON VIEW yquota_internal.opportunistic_holding IS
	'Numbers and sizes of OPPORTUNISTIC containers of each queue with the queues below it, each user and each application; only while containers are counted';

CREATE VIEW yquota.opportunistic_limit_usage WITH (security_barrier) AS
	SELECT l.scope, coalesce(l.name, h.name) AS name, l.maximum_containers, l.maximum_resource,
		   coalesce(h.containers, 0) AS containers, coalesce(h.allocation, '[]') AS allocation
	FROM yquota_internal.opportunistic_limit AS l
	LEFT JOIN yquota_internal.opportunistic_holding AS h ON h.scope = l.scope AND h.name = coalesce(l.name, h.name)
	WHERE (l.scope = 'queue' OR h.containers <> 0)
	  AND ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR l.scope = 'application' AND EXISTS (
			SELECT FROM yquota.application AS a
			WHERE a.application_id = h.name
			  AND coalesce(a.project, split_part(a.username, '__', 1)) = ANY ((SELECT yquota_internal.readable_projects())::text[])));
COMMENT ON VIEW yquota.opportunistic_limit_usage IS
	'Limits of sharing and their use, for queues with a limit, including queues below them, and for users and applications with OPPORTUNISTIC containers.  A member sees the applications of its projects';
COMMENT ON COLUMN yquota.opportunistic_limit_usage.scope IS 'queue, user or application';
COMMENT ON COLUMN yquota.opportunistic_limit_usage.name IS 'path, username, or id';
COMMENT ON COLUMN yquota.opportunistic_limit_usage.maximum_containers IS 'NULL: no limit';
COMMENT ON COLUMN yquota.opportunistic_limit_usage.maximum_resource IS 'largest sum of allocations, native units; a resource type that is missing has no limit; NULL: no limit at all';
COMMENT ON COLUMN yquota.opportunistic_limit_usage.containers IS 'OPPORTUNISTIC containers that run or wait';
COMMENT ON COLUMN yquota.opportunistic_limit_usage.allocation IS 'sum of the allocations of these containers, native units';
