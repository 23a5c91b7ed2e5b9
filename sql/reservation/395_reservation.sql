--
-- Reservations: capacity of a plan that is promised ahead of time (semantics/reservations).  A plan
-- is a queue with the property reservable.  The C code decides (src/reservation/).  These functions
-- run as the owner; a role that may call them acts for the resource manager.
--

CREATE FUNCTION yquota.reservation_request(
	capability yquota.resource, num_containers integer, duration interval, concurrency integer DEFAULT 1)
	RETURNS yquota.reservation_request
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ROW(capability, num_containers, duration, concurrency)::yquota.reservation_request;
COMMENT ON FUNCTION yquota.reservation_request(yquota.resource, integer, interval, integer) IS
	'Make a request of a reservation: num_containers of size capability, each for duration, in gangs of concurrency containers';

CREATE FUNCTION yquota.reservation_contract(
	arrival timestamptz, deadline timestamptz, requests yquota.reservation_request[],
	interpreter yquota.reservation_interpreter DEFAULT 'ANY', recurrence interval DEFAULT NULL,
	priority integer DEFAULT NULL, reservation_name text DEFAULT NULL)
	RETURNS yquota.reservation_contract
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ROW(arrival, deadline, interpreter, requests, recurrence, priority, reservation_name)::yquota.reservation_contract;
COMMENT ON FUNCTION yquota.reservation_contract(timestamptz, timestamptz, yquota.reservation_request[], yquota.reservation_interpreter, interval, integer, text) IS
	'Make a definition for submit_reservation(): requests to be satisfied between arrival and deadline';

CREATE VIEW yquota_internal.allocated_reservation AS
	SELECT reservation_id, d.queue, d.username, d.arrival, d.deadline, d.recurrence, d.accepted_at, d.ended_at,
		   a."from", a."to", a.allocation
	FROM yquota.reservation_definition AS d
	JOIN yquota.reservation_allocation AS a USING (reservation_id, version);
COMMENT ON VIEW yquota_internal.allocated_reservation IS
	'Versions of reservations, with one row for each interval of their allocations';

CREATE VIEW yquota_internal.spanned_reservation AS
	SELECT d.*, a.start, a.stop
	FROM yquota.reservation_definition AS d
	CROSS JOIN LATERAL (
		SELECT min(a."from") AS start, max(a."to") AS stop FROM yquota.reservation_allocation AS a
		WHERE a.reservation_id = d.reservation_id AND a.version = d.version
	) AS a;
COMMENT ON VIEW yquota_internal.spanned_reservation IS
	'Versions of reservations, with the start of the first interval of their allocations and the end of the last one';

-- Finds the allocation of a reservation that does not repeat by its key, so that many earlier
-- allocations cost no time.
CREATE FUNCTION yquota_internal.active_reservations(plan text, at timestamptz)
	RETURNS TABLE (reservation_id text, username text, arrival timestamptz, deadline timestamptz, recurrence interval, accepted_at timestamptz,
				   "from" timestamptz, "to" timestamptz, allocation yquota.resource)
	LANGUAGE sql STABLE PARALLEL SAFE
	AS $$
	SELECT d.reservation_id, d.username, d.arrival, d.deadline, d.recurrence, d.accepted_at, a."from", a."to", a.allocation
	FROM yquota.reservation_definition AS d
	LEFT JOIN LATERAL (
		SELECT a.*
		FROM yquota.reservation_allocation AS a
		WHERE a.reservation_id = d.reservation_id AND a.version = d.version AND a."from" <= active_reservations.at
		ORDER BY a."from" DESC LIMIT 1
	) AS a ON a."to" > active_reservations.at
	WHERE d.queue = plan AND d.ended_at IS NULL AND d.recurrence IS NULL
	  AND tstzrange(d.arrival, d.deadline) @> active_reservations.at
	UNION ALL
	SELECT r.reservation_id, r.username, r.arrival, r.deadline, r.recurrence, r.accepted_at, r."from", r."to", r.allocation
	FROM yquota_internal.allocated_reservation AS r
	WHERE r.queue = plan AND r.ended_at IS NULL AND r.recurrence IS NOT NULL AND r.arrival <= active_reservations.at;
$$;
COMMENT ON FUNCTION yquota_internal.active_reservations(text, timestamptz) IS
	'Return the reservations of a plan that are active at an instant, with the interval of the allocation that contains the instant, if any.  Repeating reservations are returned from their first start on, with all their intervals';

-- A transaction writes this table only after it has locked the plan.
CREATE TABLE yquota_internal.reservation_refusal (
	plan text COLLATE "C" NOT NULL,
	decided_by text COLLATE "C" NOT NULL,
	refused bigint NOT NULL CHECK (refused > 0),
	last_at timestamptz NOT NULL,
	PRIMARY KEY (plan, decided_by)
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.reservation_refusal IS
	'Numbers of submissions and updates of reservations that a plan has refused, by the rule that refused them; nothing else about them is stored.  Dry runs do not count';
COMMENT ON COLUMN yquota_internal.reservation_refusal.plan IS 'full path of the queue';
COMMENT ON COLUMN yquota_internal.reservation_refusal.last_at IS 'time of the last refusal, by the clock';

CREATE SEQUENCE yquota_internal.reservation_number;
COMMENT ON SEQUENCE yquota_internal.reservation_number IS 'last part of the ids that new_reservation_id() makes';

CREATE FUNCTION yquota.new_reservation_id() RETURNS text
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT format('reservation_%s_%s', floor(extract(epoch FROM yquota.statement_clock()) * 1000)::bigint,
					  lpad(n.number, greatest(4, length(n.number)), '0'))
		FROM (SELECT nextval('yquota_internal.reservation_number')::text AS number) AS n;
$$;
COMMENT ON FUNCTION yquota.new_reservation_id() IS
	'Return an id for submit_reservation(): the clock in milliseconds and a unique number.  Nothing is stored';

CREATE FUNCTION yquota.submit_reservation(
	reservation_id text, queue text, username text, groups text[], project text, definition yquota.reservation_contract,
	dry_run boolean DEFAULT false,
	OUT reservation_id text, OUT accepted boolean, OUT decided_by text, OUT reason text,
	OUT asked yquota.resource, OUT maximum yquota.resource, OUT accepted_at timestamptz,
	OUT "from" timestamptz, OUT "to" timestamptz,
	OUT with_later_deadline yquota.reservation_contract, OUT with_fewer_containers yquota.reservation_contract,
	OUT quoted_cost numeric)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_submit_reservation';
COMMENT ON FUNCTION yquota.submit_reservation(text, text, text, text[], text, yquota.reservation_contract, boolean) IS
	'Ask a plan for a reservation.  Returns whether the reservation is accepted, or the rule that refuses it, with figures (native units).  An accepted reservation is stored with its allocation; its first start and last end are returned.  Nothing is stored about a refused reservation.  A repeated submission of the same user returns the first answer.  With dry_run, nothing is stored or locked, and a refusal comes with acceptable definitions if more time or fewer containers would help. quoted_cost is the cost for the project at the known prices, in credits, which are held until the reservation ends';

CREATE FUNCTION yquota_internal.place_reservation(
	queue text, username text, groups text[], project text, definition yquota.reservation_contract,
	multipliers yquota.price[], OUT reservation_id text, OUT accepted boolean, OUT decided_by text, OUT reason text,
	OUT asked yquota.resource, OUT maximum yquota.resource, OUT accepted_at timestamptz,
	OUT "from" timestamptz, OUT "to" timestamptz,
	OUT with_later_deadline yquota.reservation_contract, OUT with_fewer_containers yquota.reservation_contract,
	OUT quoted_cost numeric)
	LANGUAGE c VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_place_reservation';
COMMENT ON FUNCTION yquota_internal.place_reservation(text, text, text[], text, yquota.reservation_contract, yquota.price[]) IS
	'Return the answer of submit_reservation() for a definition without an id, in a dry run; the project may be NULL.  If multipliers are given, they replace the known multipliers';

CREATE FUNCTION yquota.update_reservation(
	reservation_id text, username text, groups text[], definition yquota.reservation_contract, dry_run boolean DEFAULT false,
	OUT reservation_id text, OUT accepted boolean, OUT decided_by text, OUT reason text,
	OUT asked yquota.resource, OUT maximum yquota.resource, OUT accepted_at timestamptz,
	OUT "from" timestamptz, OUT "to" timestamptz,
	OUT with_later_deadline yquota.reservation_contract, OUT with_fewer_containers yquota.reservation_contract,
	OUT quoted_cost numeric)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_update_reservation';
COMMENT ON FUNCTION yquota.update_reservation(text, text, text[], yquota.reservation_contract, boolean) IS
	'Replace the definition of a reservation, which then belongs to the user.  Returns the columns of submit_reservation().  When the update is refused, the reservation stays as it is';

CREATE FUNCTION yquota.delete_reservation(
	reservation_id text, username text, groups text[],
	OUT reservation_id text, OUT deleted boolean, OUT decided_by text, OUT reason text, OUT ended_at timestamptz)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_delete_reservation';
COMMENT ON FUNCTION yquota.delete_reservation(text, text, text[]) IS
	'End a reservation, and return its allocation to the plan; its rows stay.  Returns the time of the end, also if the call is repeated';

CREATE FUNCTION yquota_internal.reservation_listing(
	queue text, username text, groups text[], reservation_id text, "from" timestamptz, "to" timestamptz,
	OUT plan text, OUT reservation_id text, OUT lists_all boolean, OUT archived_until timestamptz, OUT repeats boolean)
	LANGUAGE c STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_reservation_listing';
COMMENT ON FUNCTION yquota_internal.reservation_listing(text, text, text[], text, timestamptz, timestamptz) IS
	'Check the arguments of list_reservations().  Returns the path of the plan, the stored form of the id, and whether the plan''s lists let the user see reservations of other users.  Reservations with a deadline up to the returned one have left the plan.  Also returns whether repeating reservations stay in the plan';

CREATE FUNCTION yquota_internal.reservation_occurs(
	arrival timestamptz, deadline timestamptz, recurrence interval, "from" timestamptz, "to" timestamptz) RETURNS boolean
	LANGUAGE c IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_reservation_occurs';
COMMENT ON FUNCTION yquota_internal.reservation_occurs(timestamptz, timestamptz, interval, timestamptz, timestamptz) IS
	'Tell whether an instance of a repeating reservation touches an interval.  A NULL start means the beginning of 1970, and a NULL end means no end';

CREATE FUNCTION yquota.list_reservations(
	queue text, username text, groups text[], reservation_id text DEFAULT NULL,
	"from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL, include_allocations boolean DEFAULT false)
	RETURNS TABLE (
		reservation_id text, queue text, username text, project text, definition yquota.reservation_contract,
		version integer, accepted_at timestamptz, allocations yquota.reservation_allocation[])
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT d.reservation_id, d.queue, d.username, d.project,
			   ROW(d.arrival, d.deadline, d.interpreter, d.requests, d.recurrence, d.priority, d.reservation_name)::yquota.reservation_contract,
			   d.version, d.accepted_at,
			   CASE WHEN include_allocations THEN ARRAY(
					SELECT a FROM yquota.reservation_allocation AS a
					WHERE a.reservation_id = d.reservation_id AND a.version = d.version
					ORDER BY a."from") END
		FROM yquota_internal.reservation_listing(
			list_reservations.queue, list_reservations.username, groups, list_reservations.reservation_id, "from", "to") AS l
		JOIN yquota.reservation_definition AS d ON d.queue = l.plan
		WHERE d.ended_at IS NULL AND (d.deadline > l.archived_until OR l.repeats AND d.recurrence IS NOT NULL)
		  AND (l.lists_all OR d.username = list_reservations.username)
		  AND (d.reservation_id = l.reservation_id
			   -- Never fails, because the planner computes this range even for times that reservation_listing()
			   -- refuses or does not read.
			   OR l.reservation_id IS NULL AND (d.recurrence IS NULL
					  AND tstzrange(d.arrival, d.deadline) && CASE WHEN "from" > "to" THEN 'empty' ELSE tstzrange("from", "to", '[]') END
				   OR d.recurrence IS NOT NULL
					  AND yquota_internal.reservation_occurs(d.arrival, d.deadline, d.recurrence, "from", "to")))
		ORDER BY d.arrival, d.reservation_id;
$$;
COMMENT ON FUNCTION yquota.list_reservations(text, text, text[], text, timestamptz, timestamptz, boolean) IS
	'Return the reservations of a plan that touch an interval, or the reservation with an id at any time.  Users see only their own reservations unless the plan''s lists let them see all. allocations has the promises if the caller asks for them, otherwise NULL';

CREATE FUNCTION yquota.plan_allocation(queue text, "from" timestamptz, "to" timestamptz)
	RETURNS TABLE (
		"from" timestamptz, "to" timestamptz, capacity yquota.resource, committed yquota.resource,
		available yquota.resource, by_user jsonb)
	LANGUAGE c STABLE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_plan_allocation';
COMMENT ON FUNCTION yquota.plan_allocation(text, timestamptz, timestamptz) IS
	'Return the promises of a plan over time, as intervals in which nothing changes.  The rows have the plan''s present capacity, the committed amount and the rest (negative if the plan has become too small), in native units. by_user has the committed resource of each user as text';

CREATE FUNCTION yquota_internal.forget_ended_reservations(before timestamptz, most integer) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH removed AS (
			DELETE FROM yquota.reservation_definition AS d
			WHERE (d.reservation_id, d.version) IN (
				SELECT ended.reservation_id, ended.version
				FROM yquota.reservation_definition AS ended
				-- wait until the ledger has the cost of the reservation
				WHERE NOT EXISTS (SELECT FROM yquota_internal.accruing_reservation AS a
								  WHERE a.reservation_id = ended.reservation_id AND a.version = ended.version)
				  AND (ended.ended_at < before
				   OR (ended.recurrence IS NULL OR ended.ended_at IS NOT NULL
					   OR NOT coalesce((SELECT s.reservation_repeats_allocation FROM yquota.scheduler_setting AS s), false))
					  AND ended.deadline < before
					  AND ended.deadline < least(before, yquota.statement_clock()) - interval '1 ms' * coalesce(
						(SELECT CASE WHEN q.reservation_window > 0 THEN q.reservation_window END FROM yquota.queue AS q WHERE q.path = ended.queue),
						86400000))
				LIMIT most)
			RETURNING d.reservation_id, d.ended_at
		), released AS (
			UPDATE yquota.hold AS h
			SET released_by = yquota_internal.sending_role(), released_at = yquota.statement_clock()
			FROM removed
			WHERE removed.ended_at IS NULL AND h.reservation_id = removed.reservation_id AND h.released_at IS NULL
		)
		SELECT count(*) FROM removed;
$$;
COMMENT ON FUNCTION yquota_internal.forget_ended_reservations(timestamptz, integer) IS
	'Run remove_ended_reservations() for at most a number of rows; NULL: for all rows';

CREATE FUNCTION yquota.remove_ended_reservations(before timestamptz) RETURNS bigint
	LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.forget_ended_reservations(before, NULL);
COMMENT ON FUNCTION yquota.remove_ended_reservations(timestamptz) IS
	'Remove versions of reservations that ended before an instant.  Also remove reservations whose deadline was at least the plan''s reservation_window before the instant.  Returns how many rows of reservation_definition were removed';

-- Members see the reservations of their projects; any role sees its own reservations.
ALTER TABLE yquota.reservation_definition ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.reservation_definition FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[])
		   OR username = (SELECT yquota_internal.acting_role())::text);
ALTER TABLE yquota.reservation_allocation ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.reservation_allocation FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR reservation_id IN (SELECT d.reservation_id FROM yquota.reservation_definition AS d));

SELECT pg_extension_config_dump('yquota.reservation_definition', '');
SELECT pg_extension_config_dump('yquota.reservation_allocation', '');
SELECT pg_extension_config_dump('yquota_internal.reservation_refusal', '');
SELECT pg_extension_config_dump('yquota_internal.reservation_number', '');
