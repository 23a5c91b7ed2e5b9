--
-- Costs over all clusters.  Each cluster adds up its own days, and this database adds up the groups
-- of all clusters.  The planner pushes the whole sum down to a cluster only when the query groups
-- by cluster. The inner query therefore always groups by cluster.
--
-- Projects, queues and users with the same name in several clusters count as one.  Each cluster
-- divides days in its own time zone of bills, and charges its own prices.
--
-- Another server, or the nodes of Citus, can compute each query over a ledger completely. For that,
-- postgres_fdw requires that every text argument of a function takes its collation from a column.
-- The query therefore prepends an empty string with such a collation to the word epoch. A charge
-- that extends over several days is divided by time. All parts but the last are rounded, and the
-- last part makes the sum exact.
--

CREATE FUNCTION yquota_internal.ledger_cost_query(ledger text, by text[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (
		SELECT format($query$
			SELECT %1$s, sum(%2$s - %3$s)
			FROM %4$s AS r
			WHERE r."to" >= $1 AND r."from" < $2 AND r.cluster = ANY ($3) AND ($4 OR r.project = ANY ($5))
			GROUP BY %5$s
			$query$,
			string_agg(CASE WHEN key.name = 'day' THEN '$6'
							WHEN key.name = 'cluster' OR key.name = ANY (by) THEN 'r.' || key.name
							ELSE 'NULL' END, ', ' ORDER BY key.place),
			format(part.until, '$2'), format(part.until, '$1'), ledger,
			string_agg('r.' || key.name, ', ' ORDER BY key.place)
				FILTER (WHERE key.name = 'cluster' OR key.name = ANY (by) AND key.name <> 'day'))
		FROM unnest('{cluster,day,project,queue,username}'::text[]) WITH ORDINALITY AS key (name, place)
		CROSS JOIN (VALUES ('CASE WHEN r."from" >= %1$s THEN 0 WHEN r."to" <= %1$s THEN r.amount '
							'ELSE round(round(r.amount, 66) * "extract"(left(r.cluster, 0) || ''epoch'', %1$s - r."from") '
							'/ "extract"(left(r.cluster, 0) || ''epoch'', r."to" - r."from"), 66) END'))
			AS part (until)
		GROUP BY part.until);
COMMENT ON FUNCTION yquota_internal.ledger_cost_query(text, text[]) IS
	'Return the SQL of the costs of clusters in a ledger.  Its parameters are two instants, the clusters, whether to read all projects, the projects to read otherwise, and the day to write into the rows';

CREATE FUNCTION yquota_internal.ledger_cost(
	first_day date, last_day date, by text[], clusters text[], all_projects boolean, projects text[])
	RETURNS TABLE (cluster text, day date, project text, queue text, username text, amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	-- fail instead of reading only the rows that policies allow, as ledger_reach() does
	SET row_security = off
	AS $$
#variable_conflict use_column
DECLARE
	midnights CONSTANT timestamptz[] := yquota_internal.day_cuts(first_day, last_day, yquota_internal.billing_timezone());
	days_of_query CONSTANT integer := CASE WHEN 'day' = ANY (by) THEN 1 ELSE cardinality(midnights) - 1 END;
	known record;
BEGIN
	FOR known IN
		SELECT c.ledger, array_agg(c.cluster) AS clusters FROM yquota.federated_cluster AS c
		WHERE c.ledger IS NOT NULL AND c.cluster = ANY (ledger_cost.clusters)
		GROUP BY c.ledger ORDER BY c.ledger
	LOOP
		FOR i IN 1 .. cardinality(midnights) - 1 BY days_of_query LOOP
			RETURN QUERY EXECUTE yquota_internal.ledger_cost_query(known.ledger, by)
			USING midnights[i], midnights[i + days_of_query], known.clusters, all_projects, projects, first_day + i - 1;
		END LOOP;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.ledger_cost(date, date, text[], text[], boolean, text[]) IS
	'Return the cost on some days of those given clusters that are read from ledgers, by cluster and other columns.  Days are in this database''s time zone of bills';

CREATE FUNCTION yquota_internal.federated_cost_query(by text[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (
		SELECT format($query$
			SELECT %1$s, trim_scale(sum(part.amount)) AS amount, min(known.clock) AS reported_until
			FROM (SELECT %2$s, sum(charged.amount) AS amount
				  FROM yquota_internal.%3$I AS charged
				  WHERE charged.day BETWEEN $1 AND $2 AND charged.cluster = ANY ($3) AND ($5 OR charged.project = ANY ($6))
				  GROUP BY %2$s
				  UNION ALL
				  SELECT %5$s, booked.amount
				  FROM yquota_internal.ledger_cost($1, $2, %6$L, $3, $5, $6) AS booked) AS part
			JOIN unnest($3, $4) AS known (cluster, clock) ON known.cluster = part.cluster
			%4$s
			$query$,
			string_agg(CASE WHEN key.name = ANY (by) THEN 'part.' || key.name ELSE 'NULL::' || key.type END, ', ' ORDER BY key.place),
			string_agg('charged.' || key.name, ', ' ORDER BY key.place) FILTER (WHERE key.name = 'cluster' OR key.name = ANY (by)),
			CASE WHEN 'queue' = ANY (by) THEN 'federated_queue_day'
				 WHEN 'username' = ANY (by) THEN 'federated_user_day'
				 ELSE 'federated_project_day' END,
			'GROUP BY ' || string_agg('part.' || key.name, ', ' ORDER BY key.place) FILTER (WHERE key.name = ANY (by)),
			string_agg('booked.' || key.name || CASE key.type WHEN 'text' THEN ' COLLATE "C"' ELSE '' END, ', ' ORDER BY key.place)
				FILTER (WHERE key.name = 'cluster' OR key.name = ANY (by)),
			by)
		FROM (VALUES (1, 'cluster', 'text'), (2, 'day', 'date'), (3, 'project', 'text'), (4, 'queue', 'text'), (5, 'username', 'text'))
			AS key (place, name, type));
COMMENT ON FUNCTION yquota_internal.federated_cost_query(text[]) IS
	'Return the SQL of a report over clusters.  Its parameters are the first and last day, the clusters, and the instants until which the clusters are read.  Two more parameters tell whether to read all projects, and which projects to read otherwise';

CREATE FUNCTION yquota_internal.check_federated_report(first_day date, last_day date, by text[]) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	known CONSTANT text[] := '{cluster,day,project,queue,username}';
	unknown text;
BEGIN
	-- refuse days that no report can answer
	PERFORM yquota_internal.day_cuts(first_day, last_day, 'UTC');
	IF by IS NULL THEN
		RAISE EXCEPTION 'columns to group by must not be null'
			USING ERRCODE = 'null_value_not_allowed',
				HINT = 'Use ''{}'' for one total.';
	END IF;
	SELECT name INTO unknown FROM unnest(by) AS name WHERE name IS NULL OR name <> ALL (known) LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'cannot group costs of clusters by %', coalesce(quote_ident(unknown), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				HINT = format('Group by any of %s.', array_to_string(known, ', '));
	ELSIF by @> '{queue,username}' THEN
		RAISE EXCEPTION 'cannot group costs of clusters by both queue and username'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Clusters add up their days by queue or by username, not by both.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_federated_report(date, date, text[]) IS
	'Refuse arguments for which no report over clusters exists';

CREATE FUNCTION yquota_internal.federated_cost_as_owner(
	first_day date, last_day date, by text[], skip_unreachable boolean)
	RETURNS TABLE (cluster text, day date, project text, queue text, username text, amount numeric,
				   reported_until timestamptz, missing text[])
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_partitionwise_aggregate = on
	SET jit = off
	AS $$
DECLARE
	known record;
BEGIN
	PERFORM yquota_internal.check_federated_report(first_day, last_day, by);
	SELECT * INTO known FROM yquota_internal.clusters_of_report(skip_unreachable);
	RETURN QUERY EXECUTE format('SELECT sum.*, $7 FROM (%s) AS sum WHERE sum.amount IS NOT NULL',
								yquota_internal.federated_cost_query(by))
	USING first_day, last_day, known.clusters, known.clocks, yquota_internal.reads_all(),
		  yquota_internal.readable_projects(), known.missing;
END
$$;
COMMENT ON FUNCTION yquota_internal.federated_cost_as_owner(date, date, text[], boolean) IS
	'Do the work of federated_cost() for the calling role';

CREATE FUNCTION yquota.federated_cost(
	first_day date, last_day date, by text[] DEFAULT '{project}', skip_unreachable boolean DEFAULT false)
	RETURNS TABLE (cluster text, day date, project text, queue text, username text, amount numeric,
				   reported_until timestamptz, missing text[])
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.federated_cost(date, date, text[], boolean) IS
	'Return the cost in all federated clusters from the first to the last day, both included, of the projects that the caller may see. "by" lists the columns to group by; other columns are NULL. reported_until is the clock of the cluster, or the end of its last charge in a ledger.  A sum over several clusters has the earliest of these instants.  A cluster that cannot be read is an error.  With skip_unreachable, each row names such clusters in "missing" instead';

CREATE FUNCTION yquota_internal.federated_top_costs_as_owner(
	first_day date, last_day date, by text[], top integer, skip_unreachable boolean)
	RETURNS TABLE (rank bigint, cluster text, project text, queue text, username text, amount numeric, share numeric,
				   reported_until timestamptz, missing text[])
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	IF federated_top_costs_as_owner.top IS NULL OR federated_top_costs_as_owner.top < 1 THEN
		RAISE EXCEPTION 'number of rows must be at least 1'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- check before the query, because the context of an error would quote the query
	PERFORM yquota_internal.check_federated_report(first_day, last_day, federated_top_costs_as_owner.by);
	RETURN QUERY
	SELECT rank() OVER (ORDER BY cost.amount DESC) AS place, cost.cluster, cost.project, cost.queue, cost.username, cost.amount,
		   round(cost.amount / nullif(sum(cost.amount) OVER (), 0), 6), cost.reported_until, cost.missing
	FROM yquota_internal.federated_cost_as_owner(
		first_day, last_day, federated_top_costs_as_owner.by, federated_top_costs_as_owner.skip_unreachable) AS cost
	ORDER BY place, cost.cluster, cost.project, cost.queue, cost.username
	LIMIT federated_top_costs_as_owner.top;
END
$$;
COMMENT ON FUNCTION yquota_internal.federated_top_costs_as_owner(date, date, text[], integer, boolean) IS
	'Do the work of federated_top_costs() for the calling role';

CREATE FUNCTION yquota.federated_top_costs(
	first_day date, last_day date, by text[] DEFAULT '{project}', top integer DEFAULT 10, skip_unreachable boolean DEFAULT false)
	RETURNS TABLE (rank bigint, cluster text, project text, queue text, username text, amount numeric, share numeric,
				   reported_until timestamptz, missing text[])
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.federated_top_costs(date, date, text[], integer, boolean) IS
	'Return the most expensive groups of federated_cost(), with their share of the whole';

--
-- The functions below report the bills of a month.
--

CREATE FUNCTION yquota_internal.federated_bill_as_owner(month date, skip_unreachable boolean)
	RETURNS TABLE (project text, cluster text, charged numeric, corrected numeric, amount numeric,
				   closed_at timestamptz, unclosed text[], missing text[])
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET enable_partitionwise_aggregate = on
	SET plan_cache_mode = force_custom_plan
	SET jit = off
	AS $$
#variable_conflict use_column
DECLARE
	of_month CONSTANT date := date_trunc('month', federated_bill_as_owner.month::timestamp)::date;
	known record;
	all_projects CONSTANT boolean := yquota_internal.reads_all();
	projects CONSTANT text[] := yquota_internal.readable_projects();
BEGIN
	IF of_month IS NULL THEN
		RAISE EXCEPTION 'month of a bill must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(of_month) THEN
		RAISE EXCEPTION 'month of a bill must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	END IF;
	SELECT * INTO known FROM yquota_internal.clusters_of_report(federated_bill_as_owner.skip_unreachable, of_month);
	RETURN QUERY
	SELECT part.project, part.cluster, trim_scale(sum(part.charged)), trim_scale(sum(part.corrected)),
		   trim_scale(sum(part.charged + part.corrected)), max(part.closed_at),
		   CASE WHEN part.cluster IS NULL THEN known.unclosed
				ELSE ARRAY(SELECT open FROM unnest(known.unclosed) AS open WHERE open = part.cluster) END,
		   known.missing
	FROM (SELECT bill.cluster, bill.project, sum(bill.charged) AS charged, sum(bill.corrected) AS corrected,
				 max(bill.closed_at) AS closed_at
		  FROM yquota_internal.federated_project_bill AS bill
		  WHERE bill.month = of_month AND bill.cluster = ANY (known.clusters) AND (all_projects OR bill.project = ANY (projects))
		  GROUP BY bill.cluster, bill.project
		  UNION ALL
		  SELECT booked.cluster COLLATE "C", booked.project COLLATE "C", booked.amount, 0, NULL
		  FROM yquota_internal.ledger_cost(of_month, (of_month + interval '1 month - 1 day')::date, '{project}', known.clusters,
										   all_projects, projects) AS booked) AS part
	GROUP BY GROUPING SETS ((part.project, part.cluster), (part.project))
	ORDER BY part.project, part.cluster NULLS LAST;
END
$$;
COMMENT ON FUNCTION yquota_internal.federated_bill_as_owner(date, boolean) IS
	'Do the work of federated_bill() for the calling role';

CREATE FUNCTION yquota.federated_bill(month date, skip_unreachable boolean DEFAULT false)
	RETURNS TABLE (project text, cluster text, charged numeric, corrected numeric, amount numeric,
				   closed_at timestamptz, unclosed text[], missing text[])
	LANGUAGE c STABLE PARALLEL UNSAFE
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.federated_bill(date, boolean) IS
	'Return the bills of all federated clusters for periods that end in a month, per project and cluster, and in total (cluster NULL).  For a cluster that is read from a ledger, its charges of the month in the ledger are returned. unclosed names clusters that may not have closed the whole month. missing names clusters that could not be read';
