-- Work lost to preemption, and the part of it that is free.

CREATE FUNCTION yquota_internal.check_preemption_cost("from" timestamptz, "to" timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.check_report('preemption_cost', '{project,username,queue}', "from", "to");
	IF "from" < yquota_internal.archive_horizon() THEN
		PERFORM yquota_internal.check_archived_report(ARRAY["from", "to"], '{project,username,queue}');
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_preemption_cost(timestamptz, timestamptz) IS
	'Refuse windows for which preemption_cost() has no answer';

CREATE FUNCTION yquota_internal.preemption_cost_as_owner("from" timestamptz, "to" timestamptz)
	RETURNS TABLE (queue text, project text, username text, containers bigint, gross numeric, given_back numeric)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
#variable_conflict use_column
BEGIN
	PERFORM yquota_internal.check_preemption_cost(preemption_cost_as_owner."from", preemption_cost_as_owner."to");
	RETURN QUERY
	SELECT part.queue, part.project, part.username, sum(part.containers)::bigint,
		   trim_scale(sum(part.gross)), trim_scale(sum(part.given_back))
	FROM (
		SELECT ended.queue, ended.project, ended.username, 1::bigint AS containers,
			   work.charged + work.given_back AS gross, work.given_back
		FROM yquota_internal.charge_in_effect AS ended
		CROSS JOIN LATERAL (
			-- corrections cancel the rows that they reverse
			SELECT sum(segment.amount) AS charged, coalesce(sum(segment.given_back), 0) AS given_back
			FROM yquota.charge AS segment
			WHERE segment.container_id = ended.container_id AND segment.padding IS NULL
		) AS work
		WHERE ended.exit_status = -102 AND ended.settled_by = 'CONTAINER_FINISH' AND ended.padding IS NULL
		  AND ended."to" >= preemption_cost_as_owner."from" AND ended."to" < preemption_cost_as_owner."to"
		UNION ALL
		SELECT archived.queue, archived.project, archived.username, archived.containers,
			   archived.gross, archived.given_back
		FROM yquota_internal.archived_preemption AS archived
		WHERE archived.quarter_hour >= preemption_cost_as_owner."from"
		  AND archived.quarter_hour < preemption_cost_as_owner."to"
	) AS part
	WHERE (SELECT yquota_internal.reads_all())
	   OR part.project = ANY ((SELECT yquota_internal.readable_projects())::text[])
	GROUP BY part.queue, part.project, part.username
	ORDER BY part.queue, part.project, part.username;
END
$$;
COMMENT ON FUNCTION yquota_internal.preemption_cost_as_owner(timestamptz, timestamptz) IS
	'Return the result of preemption_cost() for the calling role';

CREATE FUNCTION yquota.preemption_cost("from" timestamptz, "to" timestamptz)
	RETURNS TABLE (queue text, project text, username text, containers bigint, gross numeric, given_back numeric)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.preemption_cost(timestamptz, timestamptz) IS
	'Return the cost of containers that ended in a window with exit status -102, by last queue, project and user. gross is the cost of their whole lives, including free time but without padding. given_back is the part of gross that was free before the preemption.  Archived containers are included, but before the archive horizon the window must have full quarter-hours';
