--
-- Orders of node queues that yquota adds to Hadoop's (YARN-5886, YARN-5887). Here are their inputs,
-- and the view of the containers that would be killed or paused first.  The C code decides
-- (src/opportunistic/node_queue/node_container.h).
--

CREATE TYPE yquota.container_progress AS (
	container_id text,
	progress numeric
);
COMMENT ON TYPE yquota.container_progress IS
	'Progress of a container, for report_progress()';
COMMENT ON COLUMN yquota.container_progress.container_id IS 'id of a running container; a report about another container is ignored';
COMMENT ON COLUMN yquota.container_progress.progress IS 'part of the container''s work that is done, a fraction: 0 to 1';

CREATE TABLE yquota_internal.reported_progress (
	container_id text COLLATE "C" PRIMARY KEY,
	progress numeric NOT NULL CHECK (progress BETWEEN 0 AND 1),
	reported_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.reported_progress IS
	'Progress of containers, written by report_progress().  The job that cleans node_queue removes rows of ended containers';
COMMENT ON COLUMN yquota_internal.reported_progress.progress IS 'fraction';
COMMENT ON COLUMN yquota_internal.reported_progress.reported_at IS 'by the clock';
SELECT pg_extension_config_dump('yquota_internal.reported_progress', '');

-- Changes rows in the order of ids, so that concurrent calls cannot deadlock. Calls about nodes
-- only read the rows.
CREATE FUNCTION yquota.report_progress(progress yquota.container_progress[]) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	noted bigint;
BEGIN
	IF report_progress.progress IS NULL OR EXISTS (
		SELECT FROM unnest(report_progress.progress) AS p WHERE num_nulls(p.container_id, p.progress) > 0) THEN
		RAISE EXCEPTION 'container_id and progress must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF EXISTS (SELECT FROM unnest(report_progress.progress) AS p WHERE p.progress NOT BETWEEN 0 AND 1) THEN
		RAISE EXCEPTION 'progress must be between 0 and 1' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	INSERT INTO yquota_internal.reported_progress AS r (container_id, progress, reported_at)
	SELECT DISTINCT ON (p.container_id COLLATE "C") p.container_id, p.progress, yquota.clock()
	FROM unnest(report_progress.progress) WITH ORDINALITY AS p (container_id, progress, place)
	JOIN yquota.container AS c ON c.container_id = p.container_id
	ORDER BY p.container_id COLLATE "C", p.place DESC
	ON CONFLICT (container_id) DO UPDATE SET progress = excluded.progress, reported_at = excluded.reported_at;
	GET DIAGNOSTICS noted = ROW_COUNT;
	RETURN noted;
END
$$;
COMMENT ON FUNCTION yquota.report_progress(yquota.container_progress[]) IS
	'Record the progress of containers, for the kill order furthest_from_end.  The last of several reports about a container counts; reports about containers that do not run are ignored.  Returns how many reports were recorded.  The call may be repeated';

CREATE TABLE yquota_internal.reported_application_progress (
	application_id text COLLATE "C" PRIMARY KEY,
	progress numeric NOT NULL CHECK (progress BETWEEN 0 AND 1 AND scale(progress) <= 18),
	reported_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE yquota_internal.reported_application_progress IS
	'Progress of applications, written by report_application_progress().  A row is removed when its application ends or gets another application master.  If a report comes at that moment, the job that cleans node_queue removes its row';
COMMENT ON COLUMN yquota_internal.reported_application_progress.progress IS 'fraction';
COMMENT ON COLUMN yquota_internal.reported_application_progress.reported_at IS 'by the clock';
SELECT pg_extension_config_dump('yquota_internal.reported_application_progress', '');

CREATE FUNCTION yquota.report_application_progress(application_id text, progress numeric) RETURNS boolean
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known yquota.application;
BEGIN
	IF num_nulls(report_application_progress.application_id, report_application_progress.progress) > 0 THEN
		RAISE EXCEPTION 'application_id and progress must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF report_application_progress.progress NOT BETWEEN 0 AND 1 THEN
		RAISE EXCEPTION 'progress must be between 0 and 1' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT * INTO known FROM yquota.application AS a WHERE a.application_id = report_application_progress.application_id;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'application "%" does not exist', report_application_progress.application_id USING ERRCODE = 'undefined_object';
	ELSIF known.finished_at IS NOT NULL THEN
		RETURN false;
	END IF;
	INSERT INTO yquota_internal.reported_application_progress AS r (application_id, progress, reported_at)
	VALUES (known.application_id, trim_scale(round(report_application_progress.progress, 18)), yquota.clock())
	ON CONFLICT ON CONSTRAINT reported_application_progress_pkey DO UPDATE SET progress = excluded.progress, reported_at = excluded.reported_at;
	RETURN true;
END
$$;
COMMENT ON FUNCTION yquota.report_application_progress(text, numeric) IS
	'Record the progress of an application, a fraction from 0 to 1, as its master reports it in YARN''s allocate().  The order of node queues closest_to_end uses it.  The last report counts, kept with 18 decimals.  Returns false, and records nothing, if the application has ended';

CREATE FUNCTION yquota.explain_reclaim(node text, container_id text DEFAULT NULL, amount yquota.resource DEFAULT NULL)
	RETURNS TABLE (
		place integer, container_id text, allocation yquota.resource, running_since timestamptz, kill_order text, figure text,
		chosen boolean)
	LANGUAGE c STABLE PARALLEL RESTRICTED SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_explain_reclaim';
COMMENT ON FUNCTION yquota.explain_reclaim(text, text, yquota.resource) IS
	'Show which OPPORTUNISTIC containers of a node would be killed or paused now to make room.  The room is for the container container_id, as if it arrived at the node as GUARANTEED or was promoted.  If an amount is given instead, the room is for this amount (native units, only memory-mb and vcores).  Returns one row for each candidate, in the order of opportunistic_kill_order, with the deciding figure and whether the candidate is chosen.  The function only reads, and takes no lock that other calls wait for';

-- Deletes a bounded number of rows per call, because the worker has other work in between.
CREATE FUNCTION yquota_internal.forget_reported_progress(most integer) RETURNS bigint
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH forgotten AS (
			DELETE FROM yquota_internal.reported_progress AS r
			WHERE r.container_id IN (
				SELECT o.container_id FROM yquota_internal.reported_progress AS o
				WHERE NOT EXISTS (SELECT FROM yquota.container AS c WHERE c.container_id = o.container_id) LIMIT most)
			RETURNING 1), forgotten_application AS (
			DELETE FROM yquota_internal.reported_application_progress AS r
			WHERE r.application_id IN (
				SELECT o.application_id FROM yquota_internal.reported_application_progress AS o
				WHERE NOT EXISTS (SELECT FROM yquota.application AS a WHERE a.application_id = o.application_id AND a.finished_at IS NULL) LIMIT most)
			RETURNING 1)
		SELECT (SELECT count(*) FROM forgotten) + (SELECT count(*) FROM forgotten_application);
$$;
COMMENT ON FUNCTION yquota_internal.forget_reported_progress(integer) IS
	'Delete progress reports of containers that no longer run, and of ended applications, up to a number of each.  Returns the number of deleted rows';

-- Each statement reads only the columns that it needs; the planner leaves out the tables that no
-- read column needs.
CREATE VIEW yquota_internal.ranked_container AS
	SELECT c.container_id, coalesce(c.username, '') AS username, coalesce(a.priority, 0) AS priority,
		   coalesce(p.progress, 0) AS application_progress,
		   CASE WHEN c.charges = 0 THEN 0
				ELSE (SELECT coalesce(sum(h.amount), 0) FROM yquota.charge AS h WHERE h.container_id = c.container_id) END
		   + yquota_internal.accrued(c.allocation, c.factors, c.settled_at, yquota.statement_clock()) AS paid
	FROM yquota.container AS c
	LEFT JOIN yquota.application AS a ON a.application_id = c.application_id
	LEFT JOIN yquota_internal.reported_application_progress AS p ON p.application_id = c.application_id;
COMMENT ON VIEW yquota_internal.ranked_container IS
	'Running containers with the figures by which the queues of nodes and preemption rank them';
COMMENT ON COLUMN yquota_internal.ranked_container.priority IS 'priority of the application; 0 without an application';
COMMENT ON COLUMN yquota_internal.ranked_container.application_progress IS 'from 0 to 1; 0 when none is reported';
COMMENT ON COLUMN yquota_internal.ranked_container.paid IS 'credits that the container has cost so far, charged and accrued';

CREATE VIEW yquota_internal.node_holding AS
	SELECT part.node, yquota.sum(part.allocation) AS allocation
	FROM (
		SELECT c.node, c.allocation FROM yquota_internal.node_counter AS c
		UNION ALL
		SELECT d.node, d.allocation FROM yquota_internal.counter_change AS d WHERE d.scope IN ('a', 'n')
	) AS part
	GROUP BY part.node;
COMMENT ON VIEW yquota_internal.node_holding IS
	'Sum of the allocations on each node according to the books, native units';
