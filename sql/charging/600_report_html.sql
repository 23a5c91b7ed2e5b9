--
-- A report of a window as one HTML page: what was spent, as numbers, then as charts,
-- what is left, and what else happened.
--

CREATE FUNCTION yquota_internal.report_subject(of_project text, projects text[]) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN of_project IS NOT NULL THEN 'project ' || of_project
					|| CASE cardinality(projects) WHEN 1 THEN '' WHEN 2 THEN ' and its sub-project' ELSE format(' and its %s sub-projects', cardinality(projects) - 1) END
				WHEN projects IS NULL THEN 'all projects'
				WHEN cardinality(projects) = 1 THEN 'project ' || projects[1]
				WHEN cardinality(projects) = 0 THEN 'no project'
				WHEN cardinality(projects) BETWEEN 2 AND 4 THEN 'projects ' || array_to_string(projects, ', ')
				ELSE format('%s projects', cardinality(projects)) END;
COMMENT ON FUNCTION yquota_internal.report_subject(text, text[]) IS
	'Whose report it is, in words';

CREATE FUNCTION yquota_internal.check_report_window("from" timestamptz, "to" timestamptz, of_project text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.check_report('report_html', '{}', "from", "to");
	IF NOT isfinite("from") OR NOT isfinite("to") OR "from" = "to" THEN
		RAISE EXCEPTION 'window of a report must have two ends'
			USING ERRCODE = 'datetime_field_overflow';
	-- a difference of timestamps may overflow, and be less than nothing
	ELSIF extract(epoch FROM "to") - extract(epoch FROM "from") > extract(epoch FROM interval '4000 days') THEN
		RAISE EXCEPTION 'cannot report on more than 4000 days at once'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF of_project IS NOT NULL
		AND NOT (EXISTS (SELECT FROM yquota.project AS p WHERE p.name = of_project)
				 AND (yquota_internal.reads_all() OR of_project = ANY (yquota_internal.readable_projects()))) THEN
		RAISE EXCEPTION 'project "%" does not exist', of_project
			USING ERRCODE = 'undefined_object';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_report_window(timestamptz, timestamptz, text) IS
	'Refuse windows and projects that report_html() has no report of';

CREATE FUNCTION yquota_internal.report_html_as_owner("from" timestamptz, "to" timestamptz, project text)
	RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- compiling takes longer than the query
	SET jit = off
	AS $$
DECLARE
	report yquota_internal.report_window;
	cuts timestamptz[];
	-- the window's, and to the clock where it ends before
	known_cuts timestamptz[];
	parts integer;
	costs yquota_internal.report_cost[];
	totals yquota_internal.report_total[];
	credits yquota_internal.project_credit[];
	subject text;
BEGIN
	PERFORM yquota_internal.check_report_window("from", "to", report_html_as_owner.project);
	report := ROW("from", "to", yquota.statement_clock(), yquota_internal.billing_timezone(), yquota_internal.report_projects(report_html_as_owner.project));
	cuts := yquota_internal.report_cuts("from", "to", report.zone);
	parts := cardinality(cuts);
	known_cuts := cuts || CASE WHEN "to" < report.now THEN ARRAY[report.now] END;
	costs := yquota_internal.report_costs(known_cuts, report.projects);
	totals := yquota_internal.report_totals(report);
	credits := yquota_internal.report_credits(report.projects);
	subject := yquota_internal.report_subject(report_html_as_owner.project, report.projects);
	RETURN yquota_internal.html_page(
		format('Spending of %s, %s to %s', subject, yquota_internal.html_time("from", report.zone), yquota_internal.html_time("to", report.zone)),
		format('Written at %s for %s, time zone %s. Amounts are credits, rounded.%s',
			yquota_internal.html_time(report.now, report.zone), yquota_internal.acting_role(), report.zone,
			CASE WHEN "from" >= report.now THEN ' This window has not begun.'
				 WHEN "to" > report.now THEN ' This window has not ended: amounts are those up to now.' END),
		concat('<h2>Money</h2>',
			yquota_internal.report_sums(report, costs, parts, credits),
			yquota_internal.report_spent(costs, parts, totals),
			yquota_internal.chart_patterns(),
			'<h2>Spending over time</h2>',
			(SELECT concat(yquota_internal.report_spending('Credits by project', array_agg(c.project), array_agg(c.part), array_agg(c.amount), cuts, report),
						   yquota_internal.report_spending('Credits by queue', array_agg(c.queue), array_agg(c.part), array_agg(c.amount), cuts, report))
			 FROM unnest(costs) AS c WHERE c.part < parts),
			'<h2>Balances</h2>',
			yquota_internal.report_balance_chart(report, costs, known_cuts, credits),
			yquota_internal.report_balances(report, costs, parts, credits),
			'<h2>Prices and utilization</h2>',
			yquota_internal.report_lines('Multiplier on base prices', NULL, 1, yquota_internal.report_prices(report), report, 'There were no prices.'),
			yquota_internal.report_lines('Utilization of the cluster', '%', 0, yquota_internal.report_utilization(report), report, 'Utilization was not measured in this window.'),
			yquota_internal.report_applications(totals),
			yquota_internal.report_running(report),
			yquota_internal.report_waiting(report),
			yquota_internal.report_reservations(report),
			yquota_internal.report_opportunistic(report, totals),
			yquota_internal.report_preempted(report),
			yquota_internal.report_trouble(report)));
END
$$;
COMMENT ON FUNCTION yquota_internal.report_html_as_owner(timestamptz, timestamptz, text) IS
	'The result of report_html() for the calling role';

CREATE FUNCTION yquota.report_html("from" timestamptz, "to" timestamptz, project text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.report_html(timestamptz, timestamptz, text) IS
	'A window as one HTML page with charts, of one project and its sub-projects or of all that the calling role may see';
