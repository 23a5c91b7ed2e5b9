--
-- Preemption: the choice of containers that give their resources back, and the time when they do
-- (semantics/preemption).  The C code decides (src/preemption/).  These functions run as the owner;
-- a role that may call preempt_containers() acts for the resource manager.
--

CREATE TABLE yquota_internal.preemption_mark (
	container_id text COLLATE "C" PRIMARY KEY,
	marked_at timestamptz NOT NULL,
	application_id text COLLATE "C" NOT NULL,
	queue text COLLATE "C" NOT NULL,
	selector text NOT NULL,
	is_killable boolean NOT NULL DEFAULT false,
	is_advised boolean NOT NULL DEFAULT false,
	told_at timestamptz CHECK ((told_at IS NOT NULL) = (is_killable OR is_advised)),
	told_selector text,
	used yquota.resource,
	guaranteed yquota.resource,
	ideal yquota.resource,
	to_be_preempted yquota.resource,
	actually_to_be_preempted yquota.resource
);
COMMENT ON TABLE yquota_internal.preemption_mark IS
	'Rows of yquota.preemption_mark, and marks of containers that have ended or were demoted since the last round.  Charging does not remove such marks; the next round does';
COMMENT ON COLUMN yquota_internal.preemption_mark.told_selector IS
	'selector of a killable container when its wait was over.  This and the following columns have the figures of that time, for preempted_container';

CREATE VIEW yquota.preemption_mark AS
	SELECT m.container_id, m.marked_at, m.application_id, m.queue, m.selector, m.is_killable, m.is_advised, m.told_at
	FROM yquota_internal.preemption_mark AS m
	WHERE EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = m.container_id AND c.execution_type = 'GUARANTEED');
COMMENT ON VIEW yquota.preemption_mark IS
	'Running containers that preempt_containers() has selected and not dropped yet; no other function writes the rows';
COMMENT ON COLUMN yquota.preemption_mark.marked_at IS 'time at which the container was first selected, plus the time for which the server did not run since then';
COMMENT ON COLUMN yquota.preemption_mark.queue IS 'full path of the leaf when the container was first selected';
COMMENT ON COLUMN yquota.preemption_mark.selector IS
	'first selector: queue_priority, reserved, fifo, fifo_balance or intra_queue';
COMMENT ON COLUMN yquota.preemption_mark.is_killable IS
	'true if the wait of the container is over, and it ends only when another container needs its room (lazy_preemption_enabled)';
COMMENT ON COLUMN yquota.preemption_mark.is_advised IS
	'true if the wait of the container is over, and the resource manager is to end it (preemption_mode)';
COMMENT ON COLUMN yquota.preemption_mark.told_at IS
	'time at which the wait of the container was over. For an advised container, the time for which the server did not run since then is added. NULL: the wait is not over';

CREATE TABLE yquota.preempted_container (
	container_id text COLLATE "C" PRIMARY KEY,
	project text COLLATE "C" NOT NULL,
	application_id text COLLATE "C" NOT NULL,
	username text COLLATE "C",
	queue text COLLATE "C" NOT NULL,
	node text COLLATE "C" NOT NULL,
	label text COLLATE "C" NOT NULL,
	allocation yquota.resource NOT NULL,
	killed_at timestamptz NOT NULL,
	is_advised boolean NOT NULL,
	marked_at timestamptz,
	selector text,
	used yquota.resource,
	guaranteed yquota.resource,
	ideal yquota.resource,
	to_be_preempted yquota.resource,
	actually_to_be_preempted yquota.resource,
	needed_by_application text COLLATE "C",
	needed_by_queue text COLLATE "C"
);
-- Rows are inserted in the order of time, so a BRIN index is enough.
CREATE INDEX preempted_container_killed_at_idx ON yquota.preempted_container USING brin (killed_at);
ALTER TABLE yquota.preempted_container ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON yquota.preempted_container FOR SELECT
	USING ((SELECT yquota_internal.reads_all())
		   OR (SELECT yquota_internal.acts_as('operator'))
		   OR project = ANY ((SELECT yquota_internal.readable_projects())::text[]));
COMMENT ON TABLE yquota.preempted_container IS
	'Preempted containers, one row each, with the reason; kept for retention_setting.keep_months.  Written by preempt_containers(), and by schedule() when it needs the room of killable containers';
COMMENT ON COLUMN yquota.preempted_container.container_id IS 'primary key';
COMMENT ON COLUMN yquota.preempted_container.project IS 'project of the container';
COMMENT ON COLUMN yquota.preempted_container.application_id IS 'application of the container';
COMMENT ON COLUMN yquota.preempted_container.username IS 'user of the container';
COMMENT ON COLUMN yquota.preempted_container.queue IS 'full path of the leaf';
COMMENT ON COLUMN yquota.preempted_container.label IS 'partition of the container''s node at that time; empty for the default partition';
COMMENT ON COLUMN yquota.preempted_container.allocation IS 'size of the container, native units like all figures';
COMMENT ON COLUMN yquota.preempted_container.killed_at IS 'time at which the container ended or, if is_advised, at which the resource manager was last told to end it';
COMMENT ON COLUMN yquota.preempted_container.is_advised IS 'true if the resource manager was told to end the container (preemption_mode); the ledger has the time at which it ended';
COMMENT ON COLUMN yquota.preempted_container.marked_at IS 'time at which the container was first selected, plus the time for which the server did not run since then';
COMMENT ON COLUMN yquota.preempted_container.selector IS
	'selector when the wait of the container was over: queue_priority, reserved, fifo, fifo_balance or intra_queue';
COMMENT ON COLUMN yquota.preempted_container.used IS 'resources that the queue used on the label when the wait was over, with reservations';
COMMENT ON COLUMN yquota.preempted_container.guaranteed IS 'resources guaranteed to the queue at that time';
COMMENT ON COLUMN yquota.preempted_container.ideal IS 'amount of the queue if all resources had been allocated anew';
COMMENT ON COLUMN yquota.preempted_container.to_be_preempted IS 'amount that the queue used beyond ideal, as far as other queues wanted it';
COMMENT ON COLUMN yquota.preempted_container.actually_to_be_preempted IS 'amount that the round wanted to take from the leaf';
COMMENT ON COLUMN yquota.preempted_container.needed_by_application IS
	'application that got the container''s room in lazy preemption; NULL: a round ended the container, or told the resource manager to end it';
COMMENT ON COLUMN yquota.preempted_container.needed_by_queue IS 'full path of the leaf of that application';

CREATE TABLE yquota_internal.preemption_round (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	round_at timestamptz NOT NULL,
	server_started_at timestamptz NOT NULL,
	rounds bigint NOT NULL,
	marked bigint NOT NULL,
	killed bigint NOT NULL,
	unreserved bigint NOT NULL
) WITH (fillfactor = 10);
COMMENT ON TABLE yquota_internal.preemption_round IS
	'Last round of preempt_containers(): one row, or none before the first round';
COMMENT ON COLUMN yquota_internal.preemption_round.round_at IS 'time of the round: the argument as_of';
COMMENT ON COLUMN yquota_internal.preemption_round.server_started_at IS
	'start of the server that ran the round, by the system''s clock.  Waits of marked containers leave out the time between this round and the first round after a restart or on another server';

COMMENT ON COLUMN yquota_internal.preemption_round.rounds IS 'number of rounds.  This and the following columns count from the first round ever';
COMMENT ON COLUMN yquota_internal.preemption_round.marked IS 'number of marked containers; a container that is marked again counts again';
COMMENT ON COLUMN yquota_internal.preemption_round.killed IS 'number of killed containers.  Also counts containers that became killable, or that the resource manager was told to end';
COMMENT ON COLUMN yquota_internal.preemption_round.unreserved IS 'number of reservations given up';

CREATE FUNCTION yquota_internal.preemption_off_because() RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_preemption_off_because';
COMMENT ON FUNCTION yquota_internal.preemption_off_because() IS
	'Return Hadoop''s property that turns off rounds of preemption; NULL: rounds are on';

CREATE FUNCTION yquota.preempt_containers(
	as_of timestamptz DEFAULT NULL, dry_run boolean DEFAULT false, explain boolean DEFAULT false)
	RETURNS TABLE (
		outcome text, container_id text, application_id text, username text, queue text, node text, label text,
		allocation yquota.resource, selector text, marked_at timestamptz, kill_at timestamptz, killed_at timestamptz,
		used yquota.resource, guaranteed yquota.resource, ideal yquota.resource,
		to_be_preempted yquota.resource, actually_to_be_preempted yquota.resource, reason text)
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_preempt_containers';
COMMENT ON FUNCTION yquota.preempt_containers(timestamptz, boolean, boolean) IS
	'Run one round of preemption at as_of (NULL: the clock).  Marks containers of queues above their guarantee, and ends containers that have been marked long enough.  Returns one row for each container or cancelled reservation, with the figures of its queue (native units).  With explain, also returns one row for each leaf queue that loses nothing.  If the configuration turns preemption off, the function does nothing and returns one row that says so.  A dry run changes nothing';

CREATE FUNCTION yquota_internal.preemption_figures()
	RETURNS TABLE (
		queue text, label text, ordinal integer, guaranteed yquota.resource, maximum yquota.resource,
		used yquota.resource, pending yquota.resource, ideal yquota.resource,
		to_be_preempted yquota.resource, actually_to_be_preempted yquota.resource,
		dead_zone_limit yquota.resource, untouchable yquota.resource,
		is_disabled boolean, disabled_by text)
	LANGUAGE c STABLE PARALLEL UNSAFE ROWS 100 SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_preemption_figures';
COMMENT ON FUNCTION yquota_internal.preemption_figures() IS
	'Return the figures that a round of preemption would compute now, for each queue and label';

CREATE VIEW yquota.preemption_state WITH (security_barrier) AS
	SELECT f.queue, f.label, f.guaranteed, f.maximum, f.used, f.pending, f.ideal, f.to_be_preempted,
		   f.actually_to_be_preempted, f.dead_zone_limit, f.untouchable, f.is_disabled AS disabled, f.disabled_by
	FROM yquota_internal.preemption_figures() AS f
	ORDER BY f.ordinal, f.label;
COMMENT ON VIEW yquota.preemption_state IS
	'Amounts that preemption would take from each queue now, per label, with the figures from which they are computed; native units';
COMMENT ON COLUMN yquota.preemption_state.queue IS 'full path';
COMMENT ON COLUMN yquota.preemption_state.label IS 'partition of the nodes; empty for the default partition';
COMMENT ON COLUMN yquota.preemption_state.used IS 'resources used by GUARANTEED containers and reserved containers';
COMMENT ON COLUMN yquota.preemption_state.pending IS 'demand of running applications within the limits of their users';
COMMENT ON COLUMN yquota.preemption_state.ideal IS 'amount of the queue if all resources were allocated anew';
COMMENT ON COLUMN yquota.preemption_state.to_be_preempted IS 'amount that the queue uses beyond ideal, as far as other queues want it';
COMMENT ON COLUMN yquota.preemption_state.actually_to_be_preempted IS
	'amount that a round would take from the leaf now. It depends on natural_termination_factor and max_ignored_over_capacity. NULL for parents';
COMMENT ON COLUMN yquota.preemption_state.dead_zone_limit IS
	'a leaf that uses no more than this loses nothing (max_ignored_over_capacity); NULL for parents';
COMMENT ON COLUMN yquota.preemption_state.untouchable IS 'amount above the guarantee that the queue keeps because preemption is disabled in the queue or below it';
COMMENT ON COLUMN yquota.preemption_state.disabled_by IS 'queue with the disable_preemption in force, or Hadoop''s property; NULL when preemption is not disabled';

--
-- The function and views below tell applications and people about preemption.
--
CREATE FUNCTION yquota_internal.minimum_containers(total yquota.resource, OUT allocation yquota.resource, OUT count bigint)
	LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_minimum_containers';
COMMENT ON FUNCTION yquota_internal.minimum_containers(yquota.resource) IS
	'Return the minimum allocation, and how many containers of that size make up a total, by the resource calculator and rounded up';

CREATE FUNCTION yquota.preemption_message(application_id text)
	RETURNS TABLE (strict_containers text[], containers text[], allocation yquota.resource, count bigint)
	LANGUAGE sql STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT '{}'::text[], m.containers, r.allocation, r.count
		FROM (SELECT array_agg(c.container_id::text ORDER BY c.container_id) AS containers, yquota.sum(c.allocation) AS total
			  FROM yquota_internal.preemption_mark AS k
			  JOIN yquota.container AS c ON c.container_id = k.container_id AND c.execution_type = 'GUARANTEED'
			  WHERE k.application_id = preemption_message.application_id) AS m
		CROSS JOIN LATERAL yquota_internal.minimum_containers(m.total) AS r
		WHERE m.containers IS NOT NULL;
$$;
COMMENT ON FUNCTION yquota.preemption_message(text) IS
	'Return YARN''s message to an application master about preemption, until the containers have ended; no row if there is no message. strict_containers is always empty. containers will be taken unless the application gives back as much in other ways.  The amount to give back is count times allocation, the minimum allocation (native units)';

CREATE VIEW yquota.readable_preemption_mark WITH (security_barrier) AS
	SELECT m.container_id, c.project, m.application_id, c.username, m.queue, c.node, c.label, c.allocation,
		   m.selector, m.marked_at, m.is_killable, m.is_advised, m.told_at
	FROM yquota_internal.preemption_mark AS m
	JOIN yquota.container AS c ON c.container_id = m.container_id AND c.execution_type = 'GUARANTEED'
	WHERE (SELECT yquota_internal.reads_all())
	   OR c.project = ANY ((SELECT yquota_internal.readable_projects())::text[]);
COMMENT ON VIEW yquota.readable_preemption_mark IS
	'Containers marked for preemption (preemption_mark), of the projects that the reader may see';
COMMENT ON COLUMN yquota.readable_preemption_mark.allocation IS 'native units';

--
-- Ends applications that have outlived their lifetime.  They end like applications that a user kills; this is not a
-- preemption.
--
CREATE FUNCTION yquota_internal.kill_expired(application_ids text[], diagnostics text) RETURNS text[]
	LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET yquota.on_bad_event = 'error'
	AS 'MODULE_PATHNAME', 'yq_sql_kill_expired';
COMMENT ON FUNCTION yquota_internal.kill_expired(text[], text) IS
	'End applications as KILLED, with all their containers.  Returns the applications whose end could be recorded';

CREATE FUNCTION yquota.end_expired_applications(most integer DEFAULT 100)
	RETURNS TABLE (application_id text, username text, queue text, expires_at timestamptz, containers bigint)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	ids text[];
	containers text[];
	owners text[];
BEGIN
	IF most IS NULL OR most < 1 THEN
		RAISE EXCEPTION 'most must be at least 1'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	ids := ARRAY(
		SELECT e.application_id FROM yquota.expired_applications() AS e
		WHERE NOT EXISTS (SELECT FROM yquota.scheduler_refusal AS f
						  WHERE f.round = 'end_expired_applications' AND f.subject = e.application_id AND f.held_until > yquota.clock())
		LIMIT most);
	SELECT array_agg(c.container_id), array_agg(c.application_id) INTO containers, owners
	FROM yquota.container AS c WHERE c.application_id = ANY (ids);
	ids := yquota_internal.kill_expired(ids, 'The application has reached the end of its lifetime.');
	RETURN QUERY
		SELECT a.application_id::text, a.username::text, a.queue::text, a.expires_at, (
			SELECT count(*) FROM unnest(containers, owners) AS r (container_id, application_id)
			WHERE r.application_id = a.application_id
			  AND EXISTS (SELECT FROM yquota.decision AS d WHERE d.container_id = r.container_id AND d.decision = 'killed'
						  AND d.diagnostics = 'Container of a completed application'))
		FROM unnest(ids) WITH ORDINALITY AS k (application_id, place)
		JOIN yquota.application AS a ON a.application_id = k.application_id
		ORDER BY k.place;
END
$$;
COMMENT ON FUNCTION yquota.end_expired_applications(integer) IS
	'End applications whose lifetime is over, up to a number, with their containers (exit status -100).  Returns these applications, and how many containers of each ended.  Call the function again until it returns no application';

--
-- The worker calls the functions below.
--
CREATE FUNCTION yquota_internal.preemption_interval() RETURNS bigint
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT i.milliseconds
		FROM (SELECT coalesce((SELECT s.preemption_monitoring_interval FROM yquota.scheduler_setting AS s), 3000) AS milliseconds) AS i
		WHERE i.milliseconds > 0 AND yquota_internal.preemption_off_because() IS NULL;
$$;
COMMENT ON FUNCTION yquota_internal.preemption_interval() IS
	'Return the configured milliseconds between two rounds of preemption of the worker; NULL: the worker runs no rounds';

CREATE FUNCTION yquota_internal.worker_preempt(now_at timestamptz) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	done jsonb;
BEGIN
	-- skip when another caller has made a round within the interval, or the clock stepped back
	IF EXISTS (SELECT FROM yquota_internal.preemption_round AS r
			   WHERE extract(epoch FROM now_at - r.round_at) * 1000 < yquota_internal.preemption_interval()) THEN
		RETURN 0;
	END IF;
	SELECT jsonb_object_agg(o.outcome, o.containers) INTO done
	FROM (SELECT p.outcome, count(*) AS containers FROM yquota.preempt_containers() AS p
		  WHERE p.outcome NOT IN ('observed', 'off') GROUP BY p.outcome) AS o;
	IF done IS NULL THEN
		RETURN 0;
	END IF;
	PERFORM pg_notify('yquota', jsonb_build_object('kind', 'preemption', 'at', r.round_at)::text)
	FROM yquota_internal.preemption_round AS r;
	RETURN (SELECT sum(o.value::bigint) FROM jsonb_each_text(done) AS o);
END
$$;
COMMENT ON FUNCTION yquota_internal.worker_preempt(timestamptz) IS
	'Run a round of preemption at the clock, unless another round ran within the interval before now_at.  If the round changed something, notify channel yquota.  Returns how many containers were marked, killed or otherwise changed';

CREATE FUNCTION yquota_internal.worker_end_expired() RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT count(*) FROM yquota.end_expired_applications(1)
		WHERE (SELECT s.end_expired_applications FROM yquota.scheduler_setting AS s) IS NOT FALSE;
$$;
COMMENT ON FUNCTION yquota_internal.worker_end_expired() IS
	'End one application past its lifetime, unless a setting leaves that to the resource manager.  Returns 1 if one ended, else 0';

-- Deletes a bounded number of rows per call, because the worker has other work in between.
CREATE FUNCTION yquota_internal.forget_preempted_containers(before timestamptz, most integer) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota.preempted_container AS p
			WHERE p.container_id IN (SELECT o.container_id FROM yquota.preempted_container AS o WHERE o.killed_at < before LIMIT most)
			  AND p.killed_at < before
			RETURNING 1)
		SELECT count(*) FROM forgotten;
$$;
COMMENT ON FUNCTION yquota_internal.forget_preempted_containers(timestamptz, integer) IS
	'Delete rows of preempted_container about kills before an instant, up to a number of rows.  Returns the number of deleted rows';

SELECT pg_extension_config_dump('yquota.preempted_container', '');
SELECT pg_extension_config_dump('yquota_internal.preemption_mark', '');
SELECT pg_extension_config_dump('yquota_internal.preemption_round', '');

CREATE VIEW yquota_internal.marked_container AS
	SELECT m.container_id, coalesce(c.queue, '') AS queue, coalesce(c.label, '') AS label, c.allocation, m.is_killable, m.is_advised
	FROM yquota_internal.preemption_mark AS m
	JOIN yquota.container AS c ON c.container_id = m.container_id AND c.execution_type = 'GUARANTEED';
COMMENT ON VIEW yquota_internal.marked_container IS
	'GUARANTEED containers that are marked for preemption (preemption_mark)';
