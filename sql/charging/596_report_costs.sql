--
-- What a report of a window is made from (charging/600_report_html.sql): costs, credit.
-- Each is read once, for charts, tables and the balances of the past.
--

CREATE TYPE yquota_internal.report_window AS (
	"from" timestamptz,
	"to" timestamptz,
	now timestamptz,
	zone text,
	projects text[]
);
COMMENT ON TYPE yquota_internal.report_window IS
	'What a report is about';
COMMENT ON COLUMN yquota_internal.report_window.now IS 'the clock: nothing is known beyond it';
COMMENT ON COLUMN yquota_internal.report_window.zone IS 'time zone of bills';
COMMENT ON COLUMN yquota_internal.report_window.projects IS
	'a project and its descendants, or all that the calling role may see; NULL: everything';

CREATE FUNCTION yquota_internal.report_projects(of_project text) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN of_project IS NOT NULL THEN yquota_internal.family_of(of_project)
				WHEN NOT yquota_internal.reads_all() THEN coalesce(yquota_internal.readable_projects(), '{}') END;
COMMENT ON FUNCTION yquota_internal.report_projects(text) IS
	'The projects that a report is about: one and its descendants, or all that the calling role may see; NULL for a role that may see everything';

CREATE FUNCTION yquota_internal.report_cuts("from" timestamptz, "to" timestamptz, zone text) RETURNS timestamptz[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT "from" UNION
		SELECT hour.at FROM generate_series(date_trunc('hour', "from"), "to", interval '1 hour') AS hour (at)
		WHERE "to" - "from" <= interval '3 days' AND hour.at > "from" AND hour.at < "to" UNION
		SELECT day.at FROM (
			SELECT yquota_internal.billing_day_start(yquota_internal.billing_day("from", zone) + number, zone) AS at
			FROM generate_series(1, least(4000, extract(day FROM "to" - "from")::integer + 1),
								 CASE WHEN "to" - "from" <= interval '100 days' THEN 1 ELSE 7 END) AS number) AS day
		WHERE "to" - "from" > interval '3 days' AND day.at > "from" AND day.at < "to" UNION
		SELECT "to"
		ORDER BY 1);
COMMENT ON FUNCTION yquota_internal.report_cuts(timestamptz, timestamptz, text) IS
	'Where the bars of a report begin and end: hours up to three days, days up to a hundred, weeks beyond';

CREATE TYPE yquota_internal.report_cost AS (
	part integer,
	project text,
	queue text,
	amount numeric
);
COMMENT ON TYPE yquota_internal.report_cost IS
	'Cost of a project in a queue between an instant of a report and the next';

CREATE FUNCTION yquota_internal.report_costs(cuts timestamptz[], projects text[])
	RETURNS yquota_internal.report_cost[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(
		SELECT ROW(cost.part, cost.project, coalesce(cost.queue, '(none)'), cost.amount)::yquota_internal.report_cost
		FROM yquota_internal.cost_in_parts(cuts, '{project,queue}', CASE WHEN cardinality(projects) = 1 THEN projects[1] END) AS cost
		WHERE projects IS NULL OR cost.project = ANY (projects));
COMMENT ON FUNCTION yquota_internal.report_costs(timestamptz[], text[]) IS
	'Costs of projects between each of some instants and the next';

CREATE TYPE yquota_internal.report_total AS (
	kind text,
	username text,
	application_id text,
	project text,
	queue text,
	amount numeric
);
COMMENT ON TYPE yquota_internal.report_total IS
	'Cost in a window: of a user, of an application in a queue, or of the OPPORTUNISTIC containers of a project';
COMMENT ON COLUMN yquota_internal.report_total.kind IS 'user, application or opportunistic';

CREATE FUNCTION yquota_internal.report_totals(report yquota_internal.report_window)
	RETURNS yquota_internal.report_total[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH total AS (
			SELECT CASE WHEN grouping(cost.application_id) = 0 THEN 'application' WHEN grouping(cost.username) = 0 THEN 'user' ELSE 'opportunistic' END AS kind,
				   cost.username, cost.application_id, cost.project, cost.queue, sum(cost.amount) AS amount,
				   row_number() OVER (PARTITION BY grouping(cost.application_id) ORDER BY sum(cost.amount) DESC, cost.application_id, cost.queue) AS place
			FROM yquota_internal.cost_in_parts(ARRAY[(report)."from", (report)."to"], '{application_id,project,username,queue,execution_type}',
				CASE WHEN cardinality((report).projects) = 1 THEN ((report).projects)[1] END) AS cost
			WHERE (report).projects IS NULL OR cost.project = ANY ((report).projects)
			GROUP BY GROUPING SETS ((cost.username), (cost.application_id, cost.project, cost.username, cost.queue), (cost.project, cost.execution_type))
			HAVING grouping(cost.execution_type) = 1 OR cost.execution_type = 'OPPORTUNISTIC'
		)
		SELECT coalesce(array_agg(ROW(t.kind, t.username, t.application_id, t.project, t.queue, t.amount)::yquota_internal.report_total), '{}')
		FROM total AS t
		WHERE t.kind <> 'application' OR t.place <= 15;
$$;
COMMENT ON FUNCTION yquota_internal.report_totals(yquota_internal.report_window) IS
	'Costs in a window by user, of the fifteen dearest applications, and of OPPORTUNISTIC containers by project';

CREATE FUNCTION yquota_internal.report_credits(projects text[])
	RETURNS yquota_internal.project_credit[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(SELECT credit FROM yquota_internal.project_credit AS credit
				 WHERE cardinality(projects) = 1 AND credit.project = projects[1]
				 UNION ALL
				 SELECT credit FROM yquota_internal.project_credit AS credit
				 WHERE projects IS NULL OR cardinality(projects) > 1 AND credit.project = ANY (projects));
COMMENT ON FUNCTION yquota_internal.report_credits(text[]) IS
	'Credit of projects at the clock';

-- A budget of a sub-project is a part of that of its ancestor, and counts once.
CREATE FUNCTION yquota_internal.report_budgets(credits yquota_internal.project_credit[])
	RETURNS SETOF yquota_internal.project_credit
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH budget AS MATERIALIZED (
			SELECT c.* FROM unnest(credits) AS c WHERE c.quota_mode = 'PREPAID' AND (c.parent IS NULL OR c.has_budget)
		)
		SELECT b.* FROM budget AS b
		WHERE NOT EXISTS (SELECT FROM yquota_internal.project_family AS family
						  WHERE family.member = b.project AND family.ancestor IN (SELECT above.project FROM budget AS above));
$$;
COMMENT ON FUNCTION yquota_internal.report_budgets(yquota_internal.project_credit[]) IS
	'Budgets of projects that are no part of another one among them';
