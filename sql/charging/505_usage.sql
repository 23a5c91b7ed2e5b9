-- Usage by group and time: the amounts that containers held, times how long they held them.
--
-- Prices, factors, outages and preemptions do not matter: a container uses what it holds.  Padding is not a use, and
-- neither is a wait in a queue of a node, or an unused reservation.  A row that reverses another one takes its usage
-- back.

CREATE FUNCTION yquota_internal.usage_query(by text[]) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	keys CONSTANT text := yquota_internal.report_keys(yquota_internal.columns_of_report(by));
BEGIN
	-- rows with the same allocation are added up before their allocation is divided into resource types
	RETURN format($query$
		SELECT %1$s, used.name, type.unit::bigint,
			   yquota_internal.divide_half_even(sum(used.amount), type.unit::numeric * 3600, 6),
			   trim_scale(sum(used.amount)), %3$s
		FROM (
			SELECT %2$s entry.name, entry.amount * held.seconds AS amount
			FROM (
				SELECT %2$s part.allocation, sum(part.seconds) AS seconds
				FROM (
					SELECT %2$s allocation,
						   (extract(epoch FROM least("to", $2)) - extract(epoch FROM greatest("from", $1)))
						   * CASE WHEN corrects IS NULL THEN 1 ELSE -1 END AS seconds
					FROM yquota_internal.settled_segment
					WHERE "from" < $2 AND "to" > $1 AND "from" < "to" AND container_id IS NOT NULL AND waiting_factor IS NULL
					UNION ALL
					SELECT %2$s allocation, extract(epoch FROM least("to", $2)) - extract(epoch FROM greatest("from", $1))
					FROM yquota_internal.running_segment
					WHERE "from" < $2 AND "to" > $1 AND container_id IS NOT NULL AND factors[1] IS DISTINCT FROM 'waiting'
				) AS part
				GROUP BY %2$s part.allocation
			) AS held
			CROSS JOIN LATERAL yquota.resource_entries(held.allocation) AS entry
		) AS used
		JOIN yquota.resource_type AS type ON type.name = used.name
		GROUP BY %4$s used.name, type.unit, 12
		HAVING sum(used.amount) <> 0
		$query$,
		yquota_internal.report_columns(by, 'used'),
		keys,
		yquota_internal.report_tags(by, 'used'),
		yquota_internal.report_keys(by));
END
$$;
COMMENT ON FUNCTION yquota_internal.usage_query(text[]) IS
	'Return the SQL of usage_between().  Its parameters are two instants';

CREATE FUNCTION yquota_internal.usage_between_as_owner("from" timestamptz, "to" timestamptz, by text[])
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   resource_type text, unit bigint, unit_hours numeric, resource_seconds numeric, tags jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- JIT compilation takes longer than the query
	SET jit = off
	AS $$
BEGIN
	PERFORM yquota_internal.check_report('usage_between', by, "from", "to");
	PERFORM yquota_internal.refuse_archived_window("from");
	RETURN QUERY EXECUTE yquota_internal.usage_query(by) USING "from", "to";
END
$$;
COMMENT ON FUNCTION yquota_internal.usage_between_as_owner(timestamptz, timestamptz, text[]) IS
	'Return the result of usage_between() for the calling role';

CREATE FUNCTION yquota.usage_between("from" timestamptz, "to" timestamptz, by text[] DEFAULT '{project}')
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   resource_type text, unit bigint, unit_hours numeric, resource_seconds numeric, tags jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.usage_between(timestamptz, timestamptz, text[]) IS
	'Return the core-hours, GiB-hours and so on of a window, including its start and excluding its end.  There is a row for each group and resource type.  Usage counts up to the clock, even if nothing is charged for it.  "by" lists the columns to group by, and tags of applications as tag:KEY; the other columns are NULL';
