-- A report about a window as one HTML page.  It shows spending in numbers and charts, the remaining credit, and
-- other events.

-- Sections of a report.  Each function returns NULL if its section would be empty, and the section is then left out.
-- Running and waiting containers are shown if the window contains the clock.

CREATE FUNCTION yquota_internal.report_applications(totals yquota_internal.report_total[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT '<h2>Dearest applications</h2>' || yquota_internal.html_table('{Application,Project,User,Queue,Credits}',
			string_agg(yquota_internal.html_row(
				yquota_internal.html(dear.application_id), yquota_internal.html(dear.project), yquota_internal.html(dear.username),
				yquota_internal.html(dear.queue), yquota_internal.html_number(dear.amount)), '' ORDER BY dear.amount DESC, dear.application_id), 1)
		FROM unnest(totals) AS dear
		WHERE dear.kind = 'application'
		HAVING count(*) > 0;
	END;
COMMENT ON FUNCTION yquota_internal.report_applications(yquota_internal.report_total[]) IS 'Make a table of the most expensive applications';

CREATE FUNCTION yquota_internal.resource_in_words(amounts yquota.resource) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT string_agg(format('%s %s', yquota_internal.number_text(e.amount), CASE e.name WHEN 'memory-mb' THEN 'MiB' ELSE e.name END), ', ' ORDER BY e.name)
		FROM yquota.resource_entries(amounts) AS e;
	END;
COMMENT ON FUNCTION yquota_internal.resource_in_words(yquota.resource) IS 'Format amounts of resources for human readers';

CREATE FUNCTION yquota_internal.report_running(report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT '<h2>Running now</h2>' || yquota_internal.html_table('{Project,Queue,Resources,Applications,Containers}',
			string_agg(yquota_internal.html_row(
				yquota_internal.html(r.project), yquota_internal.html(r.queue), yquota_internal.html(yquota_internal.resource_in_words(r.allocation)),
				yquota_internal.number_text(r.applications), yquota_internal.number_text(r.containers)), '' ORDER BY r.place) FILTER (WHERE r.place <= 20), 2)
			|| CASE WHEN count(*) > 20 THEN format('<p>And %s containers of %s more.</p>', yquota_internal.number_text(sum(r.containers) FILTER (WHERE r.place > 20)), count(*) - 20) ELSE '' END
		FROM (
			SELECT c.project, c.queue, count(*) AS containers, count(DISTINCT c.application_id) AS applications, yquota.sum(c.allocation) AS allocation,
				   row_number() OVER (ORDER BY count(*) DESC, c.project, c.queue) AS place
			FROM yquota.container AS c
			WHERE c.is_running AND c.execution_type = 'GUARANTEED' AND ((report).projects IS NULL OR c.project = ANY ((report).projects))
			  AND (report).now BETWEEN (report)."from" AND (report)."to"
			GROUP BY c.project, c.queue) AS r
		HAVING count(*) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.report_running(yquota_internal.report_window) IS
	'Make a table of running GUARANTEED containers by project and queue, with the twenty largest rows';

CREATE FUNCTION yquota_internal.report_waiting(report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH wanted AS (
			SELECT r.application_id, sum(r.count) AS containers, yquota.sum(r.allocation OPERATOR(yquota.*) r.count) AS allocation
			FROM yquota.resource_request AS r
			WHERE r.resource_name = '*' AND r.count > 0
			GROUP BY r.application_id
		), kept AS (
			SELECT c.application_id, count(*) AS nodes FROM yquota.reserved_container AS c GROUP BY c.application_id
		), line AS (
			SELECT a.application_id, a.project, a.queue, a.username, a.state IN ('ACCEPTED', 'NON_RUNNABLE') AS is_pending,
				   a.diagnostics, wanted.containers, wanted.allocation, kept.nodes,
				   row_number() OVER (ORDER BY wanted.containers DESC NULLS LAST, a.submitted_at, a.application_id) AS place
			FROM yquota.application AS a
			LEFT JOIN wanted USING (application_id)
			LEFT JOIN kept USING (application_id)
			WHERE a.finished_at IS NULL AND (wanted.containers > 0 OR a.state IN ('ACCEPTED', 'NON_RUNNABLE'))
			  AND ((report).projects IS NULL OR a.project = ANY ((report).projects))
			  AND (report).now BETWEEN (report)."from" AND (report)."to"
		)
		SELECT '<h2>Waiting now</h2>' || yquota_internal.html_table('{Application,Project,Queue,User,"Waits for","Nodes kept",Containers}',
			string_agg(yquota_internal.html_row(
				yquota_internal.html(w.application_id), yquota_internal.html(w.project), yquota_internal.html(w.queue), yquota_internal.html(w.username),
				yquota_internal.html(concat_ws('; ', CASE WHEN w.is_pending THEN coalesce(w.diagnostics, 'its application master') END, yquota_internal.resource_in_words(w.allocation))),
				yquota_internal.number_text(coalesce(w.nodes, 0)), yquota_internal.number_text(coalesce(w.containers, 0))), '' ORDER BY w.place) FILTER (WHERE w.place <= 20), 2)
			|| CASE WHEN count(*) > 20 THEN format('<p>And %s more applications.</p>', count(*) - 20) ELSE '' END
		FROM line AS w
		HAVING count(*) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.report_waiting(yquota_internal.report_window) IS
	'Make a table of applications that wait to start or wait for containers, with the twenty largest demands';

CREATE FUNCTION yquota_internal.report_reservations(report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT '<h2>Reserved</h2>' || yquota_internal.html_table('{Reservation,Project,User,Queue,From,To,"Repeats every","Quoted credits"}',
			string_agg(yquota_internal.html_row(
				yquota_internal.html(concat_ws(', ', r.reservation_name, r.reservation_id)), yquota_internal.html(r.project), yquota_internal.html(r.username), yquota_internal.html(r.queue),
				yquota_internal.html_time(r.starts_at, (report).zone), yquota_internal.html_time(r.ends_at, (report).zone), yquota_internal.html(r.recurrence::text),
				yquota_internal.html_number(r.quoted_cost)), '' ORDER BY r.place) FILTER (WHERE r.place <= 20), 4)
			|| CASE WHEN count(*) > 20 THEN format('<p>And %s more.</p>', count(*) - 20) ELSE '' END
		FROM (
			SELECT d.*, a.starts_at, a.ends_at, row_number() OVER (ORDER BY a.starts_at, d.reservation_id) AS place
			FROM yquota.reservation_definition AS d
			CROSS JOIN LATERAL (
				SELECT min(part."from") AS starts_at, max(part."to") AS ends_at FROM yquota.reservation_allocation AS part
				WHERE part.reservation_id = d.reservation_id AND part.version = d.version) AS a
			WHERE (d.ended_by IS NULL OR d.ended_by = 'archived') AND a.starts_at < (report)."to"
			  AND (a.ends_at > (report)."from" OR d.recurrence IS NOT NULL AND coalesce(d.ended_at, 'infinity') > (report)."from")
			  AND ((report).projects IS NULL OR d.project = ANY ((report).projects))) AS r
		HAVING count(*) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.report_reservations(yquota_internal.report_window) IS
	'Make a table of the first twenty reservations with an allocation in a window';

CREATE FUNCTION yquota_internal.report_opportunistic(report yquota_internal.report_window, totals yquota_internal.report_total[]) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH held AS (
			SELECT c.project, count(*) FILTER (WHERE c.is_running) AS running, count(*) FILTER (WHERE NOT c.is_running) AS waiting,
				   sum(yquota.amount(c.allocation, 'memory-mb')) FILTER (WHERE c.is_running) AS memory,
				   sum(yquota.amount(c.allocation, 'vcores')) FILTER (WHERE c.is_running) AS vcores
			FROM yquota.container AS c
			WHERE c.execution_type = 'OPPORTUNISTIC' AND c.started_at < (report)."to"
			GROUP BY c.project
		), gone AS (
			SELECT q.project, count(*) FILTER (WHERE q.left_reason = 'killed') AS killed,
				   count(*) FILTER (WHERE q.left_reason = 'rejected') AS rejected, count(*) FILTER (WHERE q.left_reason = 'shed') AS shed
			FROM yquota.node_queue AS q
			WHERE q.left_at >= (report)."from" AND q.left_at < (report)."to" AND q.left_reason IN ('killed', 'rejected', 'shed')
			GROUP BY q.project
		), line AS (
			SELECT s.name AS project, t.amount, h.running, h.waiting, h.memory, h.vcores, g.killed, g.rejected, g.shed
			FROM yquota.project AS s
			LEFT JOIN unnest(totals) AS t ON t.kind = 'opportunistic' AND t.project = s.name
			LEFT JOIN held AS h ON h.project = s.name
			LEFT JOIN gone AS g ON g.project = s.name
			WHERE ((report).projects IS NULL OR s.name = ANY ((report).projects))
			  AND num_nonnulls(t.amount, h.running, g.killed) > 0
		)
		SELECT '<h2>Opportunistic containers</h2>' || yquota_internal.html_table(
			'{Project,Credits,"Running now","MiB now","Virtual cores now","Waiting now","Killed for guaranteed ones",Rejected,Shed}',
			string_agg(yquota_internal.html_row(
				yquota_internal.html(line.project), yquota_internal.html_number(coalesce(line.amount, 0)),
				yquota_internal.html_number(coalesce(line.running, 0)), yquota_internal.html_number(coalesce(line.memory, 0)),
				yquota_internal.html_number(coalesce(line.vcores, 0)), yquota_internal.html_number(coalesce(line.waiting, 0)),
				yquota_internal.html_number(coalesce(line.killed, 0)), yquota_internal.html_number(coalesce(line.rejected, 0)),
				yquota_internal.html_number(coalesce(line.shed, 0))), '' ORDER BY line.amount DESC NULLS LAST, line.project), 8)
		FROM (SELECT * FROM line ORDER BY line.amount DESC NULLS LAST, line.project LIMIT 50) AS line
		HAVING count(*) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.report_opportunistic(yquota_internal.report_window, yquota_internal.report_total[]) IS
	'Make a table of OPPORTUNISTIC containers by project, with the fifty projects that spend most.  It shows the cost of these containers in a window, and the containers that run and wait now.  It also shows how many were killed, rejected and shed';

CREATE FUNCTION yquota_internal.report_preempted(report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT '<h2>Preempted</h2>' || yquota_internal.html_table('{Project,Queue,User,Containers,"Credits of their lives","Given back"}',
			string_agg(yquota_internal.html_row(
				yquota_internal.html(p.project), yquota_internal.html(p.queue), yquota_internal.html(p.username), yquota_internal.number_text(p.containers),
				yquota_internal.html_number(p.gross), yquota_internal.html_number(p.given_back)), '' ORDER BY p.place) FILTER (WHERE p.place <= 20), 3)
			|| CASE WHEN count(*) > 20 THEN format('<p>And %s containers more.</p>', yquota_internal.number_text(sum(p.containers) FILTER (WHERE p.place > 20))) ELSE '' END
		FROM (
			SELECT lost.*, row_number() OVER (ORDER BY lost.gross DESC, lost.project, lost.queue, lost.username) AS place
			FROM yquota_internal.preemption_cost_as_owner((report)."from", (report)."to") AS lost
			WHERE ((report).projects IS NULL OR lost.project = ANY ((report).projects))) AS p
		HAVING count(*) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.report_preempted(yquota_internal.report_window) IS
	'Make a table of preempted containers by project, queue and user, with the twenty most expensive rows';

-- Only roles that may see all projects see events without a project.
CREATE FUNCTION yquota_internal.report_trouble(report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT nullif(concat(
			(SELECT '<h2>Events set aside</h2>' || yquota_internal.html_table('{Source,Reason,Last,Events}',
					string_agg(yquota_internal.html_row(yquota_internal.html(bad.source),
						yquota_internal.html(bad.reason), yquota_internal.html_time(bad.last_at, (report).zone), yquota_internal.number_text(bad.events)), '' ORDER BY bad.events DESC, bad.reason), 2)
			 FROM (SELECT reject.source, reject.reason, count(*) AS events, max(reject.recorded_at) AS last_at
				   FROM yquota.event_reject AS reject
				   WHERE reject.recorded_at >= (report)."from" AND reject.recorded_at < (report)."to"
					 AND ((report).projects IS NULL OR reject.project = ANY ((report).projects))
				   GROUP BY reject.source, reject.reason ORDER BY count(*) DESC, reject.reason LIMIT 20) AS bad
			 HAVING count(*) > 0),
			(SELECT '<h2>Outages</h2>' || yquota_internal.html_table('{From,To,Project,Forgiven,Reason}',
					string_agg(yquota_internal.html_row(
						yquota_internal.html_time(outage.started_at, (report).zone), yquota_internal.html_time(outage.ended_at, (report).zone),
						yquota_internal.html(coalesce(outage.project, 'all')), CASE WHEN outage.forgiven THEN 'yes' ELSE 'no' END,
						yquota_internal.html(outage.reason)), '' ORDER BY outage.started_at, outage.outage_id))
			 FROM yquota.outage AS outage
			 WHERE outage.started_at < (report)."to" AND outage.ended_at > (report)."from"
			   AND ((report).projects IS NULL OR outage.project IS NULL OR outage.project = ANY ((report).projects))
			 HAVING count(*) > 0)), '');
$$;
COMMENT ON FUNCTION yquota_internal.report_trouble(yquota_internal.report_window) IS 'Make tables of events set aside and of outages';

--
-- The page
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
	'Return the subject of a report, in words';

CREATE FUNCTION yquota_internal.check_report_window("from" timestamptz, "to" timestamptz, of_project text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.check_report('report_html', '{}', "from", "to");
	IF NOT isfinite("from") OR NOT isfinite("to") OR "from" = "to" THEN
		RAISE EXCEPTION 'window of a report must have two ends'
			USING ERRCODE = 'datetime_field_overflow';
	-- compare epochs, because a difference of timestamps can overflow and become negative
	ELSIF extract(epoch FROM "to") - extract(epoch FROM "from") > extract(epoch FROM interval '4000 days') THEN
		RAISE EXCEPTION 'cannot report on more than 4000 days at once'
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF of_project IS NOT NULL
		AND NOT (EXISTS (SELECT FROM yquota.project AS p WHERE p.name = of_project)
				 AND (yquota_internal.reads_all() OR of_project = ANY (yquota_internal.readable_projects()))) THEN
		PERFORM yquota_internal.refuse_name('project', of_project);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_report_window(timestamptz, timestamptz, text) IS
	'Refuse windows and projects for which report_html() has no report';

CREATE FUNCTION yquota_internal.report_html_as_owner("from" timestamptz, "to" timestamptz, project text, tag text)
	RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- JIT compilation takes longer than the query
	SET jit = off
	AS $$
DECLARE
	report yquota_internal.report_window;
	cuts timestamptz[];
	-- take the instants of the window, and add the clock if the window ends earlier
	known_cuts timestamptz[];
	parts integer;
	costs yquota_internal.report_cost[];
	totals yquota_internal.report_total[];
	types record;
	credits yquota_internal.project_credit[];
	subject text;
BEGIN
	PERFORM yquota_internal.check_report_window("from", "to", report_html_as_owner.project);
	IF tag = '' THEN
		RAISE EXCEPTION 'tag must not be empty'
			USING ERRCODE = 'invalid_parameter_value',
				  HINT = 'Name the key of a tag.';
	END IF;
	report := ROW("from", "to", yquota.statement_clock(), yquota_internal.billing_timezone(), yquota_internal.report_projects(report_html_as_owner.project));
	cuts := yquota_internal.report_cuts("from", "to", report.zone);
	parts := cardinality(cuts);
	known_cuts := cuts || CASE WHEN "to" < report.now THEN ARRAY[report.now] END;
	costs := yquota_internal.report_costs(known_cuts, report.projects);
	totals := yquota_internal.report_totals(report);
	SELECT * INTO types FROM yquota_internal.report_types(report);
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
			yquota_internal.report_spent(costs, parts, totals, types.names, types.amounts),
			CASE WHEN tag IS NOT NULL THEN yquota_internal.report_tagged(report, tag) END,
			yquota_internal.chart_patterns(),
			'<h2>Spending over time</h2>',
			(SELECT concat(yquota_internal.report_spending('Credits by project', array_agg(c.project), array_agg(c.part), array_agg(c.amount), cuts, report),
						   yquota_internal.report_spending('Credits by queue', array_agg(c.queue), array_agg(c.part), array_agg(c.amount), cuts, report))
			 FROM unnest(costs) AS c WHERE c.part < parts),
			'<h2>Balances</h2>',
			yquota_internal.report_balance_chart(report, costs, known_cuts, credits),
			yquota_internal.report_balances(report, costs, parts, credits),
			'<h2>Prices and utilization</h2>',
			yquota_internal.report_lines('Factor on base prices', format('times the base price, the last in each %s', yquota_internal.minutes_text(("to" - "from") / 284)),
				'times the base price', 1, NULL, yquota_internal.report_prices(report), report, 'There were no prices.'),
			yquota_internal.report_utilization_chart(report),
			yquota_internal.report_idle(report),
			yquota_internal.report_applications(totals),
			yquota_internal.report_running(report),
			yquota_internal.report_waiting(report),
			yquota_internal.report_reservations(report),
			yquota_internal.report_opportunistic(report, totals),
			yquota_internal.report_preempted(report),
			yquota_internal.report_trouble(report)));
END
$$;
COMMENT ON FUNCTION yquota_internal.report_html_as_owner(timestamptz, timestamptz, text, text) IS
	'Return the result of report_html() for the calling role';

CREATE FUNCTION yquota.report_html("from" timestamptz, "to" timestamptz, project text DEFAULT NULL, tag text DEFAULT NULL)
	RETURNS text
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.report_html(timestamptz, timestamptz, text, text) IS
	'Return a report about a window as one HTML page with charts.  It describes one project and its sub-projects, or all projects that the calling role may see.  If tag is the key of a tag of applications, the report also lists the spending by the values of this tag';
