-- Sources of a report about a window: costs and credit (charging/600_report_html.sql).  A report reads each source
-- once, for charts, tables and past balances.
--
-- A report reads the ledger twice and passes the results on.  A result is an array of report_cost, report_total or
-- project_credit rows.  Results are not stored in tables, because a report writes nothing and also runs on a
-- standby.
--
-- A report has ascending instants.  The time from an instant to the next one is a part.  Parts are numbered from 1.

CREATE TYPE yquota_internal.report_window AS (
	"from" timestamptz,
	"to" timestamptz,
	now timestamptz,
	zone text,
	projects text[]
);
COMMENT ON TYPE yquota_internal.report_window IS
	'Window and projects of a report';
COMMENT ON COLUMN yquota_internal.report_window.now IS 'clock; spending after this instant is not known';
COMMENT ON COLUMN yquota_internal.report_window.zone IS 'time zone of bills';
COMMENT ON COLUMN yquota_internal.report_window.projects IS
	'a project and its descendants, or all projects that the calling role may see; NULL means every project';

CREATE FUNCTION yquota_internal.report_projects(of_project text) RETURNS text[]
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN of_project IS NOT NULL THEN yquota_internal.family_of(of_project)
				WHEN NOT yquota_internal.reads_all() THEN coalesce(yquota_internal.readable_projects(), '{}') END;
COMMENT ON FUNCTION yquota_internal.report_projects(text) IS
	'Return the projects of a report: one project and its descendants, or all that the calling role may see; NULL for a role that may see everything';

CREATE FUNCTION yquota_internal.report_step("from" timestamptz, "to" timestamptz) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN "to" - "from" <= interval '3 days' THEN 'hour'
				WHEN "to" - "from" <= interval '100 days' THEN 'day'
				ELSE 'week' END;
COMMENT ON FUNCTION yquota_internal.report_step(timestamptz, timestamptz) IS
	'Return the time for which a bar in a report stands.  It is an hour in windows of up to three days, and a day in windows of up to a hundred days.  In longer windows it is a week';

CREATE FUNCTION yquota_internal.report_cuts("from" timestamptz, "to" timestamptz, zone text) RETURNS timestamptz[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH bar AS (
			SELECT yquota_internal.report_step("from", "to") AS step
		)
		SELECT array_agg(cut.at ORDER BY cut.at)
		FROM (
			SELECT "from" AS at
			UNION
			SELECT hour.at
			FROM bar CROSS JOIN generate_series(date_trunc('hour', "from"), "to", interval '1 hour') AS hour (at)
			WHERE bar.step = 'hour' AND hour.at > "from" AND hour.at < "to"
			UNION
			SELECT day.at
			FROM bar
			CROSS JOIN LATERAL (
				SELECT yquota_internal.billing_day_start(yquota_internal.billing_day("from", zone) + number, zone) AS at
				FROM generate_series(1, least(4000, extract(day FROM "to" - "from")::integer + 1),
									 CASE bar.step WHEN 'day' THEN 1 ELSE 7 END) AS number) AS day
			WHERE bar.step <> 'hour' AND day.at > "from" AND day.at < "to"
			UNION
			SELECT "to") AS cut;
	END;
COMMENT ON FUNCTION yquota_internal.report_cuts(timestamptz, timestamptz, text) IS
	'Return the edges of the bars in a report';

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
	'Return the costs of projects between each of some instants and the next';

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
	'Return the costs in a window by user, of the fifteen most expensive applications, and of OPPORTUNISTIC containers by project';

-- Costs by resource type.  A row of the ledger counts under the resource type with the largest part of its amount.
-- This is also the type of a part of the row.
CREATE FUNCTION yquota_internal.report_types(report yquota_internal.report_window, OUT names text[], OUT amounts numeric[])
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF report."from" < yquota_internal.archive_horizon() THEN
		RETURN;
	END IF;
	EXECUTE format($query$
		SELECT array_agg(cost.dominant), array_agg(cost.amount)
		FROM (SELECT part.dominant, sum(part.amount) AS amount
			  FROM (%s
					UNION ALL
					SELECT 1, yquota_internal.dominant(segment.allocation, segment.factors, span."from", span."to"),
						   yquota_internal.accrued(segment.allocation, segment.factors, span."from", span."to")
					FROM yquota_internal.running_segment AS segment
					CROSS JOIN LATERAL (SELECT greatest(segment."from", $1) AS "from", least(segment."to", $2) AS "to") AS span
					WHERE segment."from" < $2 AND segment."to" > $1 AND ($3 IS NULL OR segment.project = ANY ($3))) AS part
			  GROUP BY part.dominant
			  HAVING sum(part.amount) <> 0) AS cost
		$query$, yquota_internal.ledger_cost_query('dominant, ', '$1', '$2', true, 'segment.amount', 'AND ($3 IS NULL OR segment.project = ANY ($3))'))
	INTO names, amounts USING report."from", report."to", report.projects;
END
$$;
COMMENT ON FUNCTION yquota_internal.report_types(yquota_internal.report_window) IS
	'Return the costs in a window by resource type, as names and amounts; NULL if charges of the window have been archived';

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
	'Return the credit of projects at the clock';

-- The budget of a sub-project is contained in the budget of its ancestor, so its credit must not be counted again.
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
	'Return the projects that have a budget, without projects below another project that has one';

--
-- Figures of a report: spending by project, queue and user, and remaining credit.
--

CREATE FUNCTION yquota_internal.report_figure(name text, figure text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN concat('<div><dt>', yquota_internal.html(name), '</dt><dd>', figure, '</dd></div>');
COMMENT ON FUNCTION yquota_internal.report_figure(text, text) IS 'Make a heading with a figure below it.  The figure is HTML already';

CREATE FUNCTION yquota_internal.days_of_window("from" timestamptz, "to" timestamptz) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN (extract(epoch FROM "to") - extract(epoch FROM "from")) / 86400;
COMMENT ON FUNCTION yquota_internal.days_of_window(timestamptz, timestamptz) IS 'Return the length of a window in days of 24 hours';

-- A window at the first instants of the type timestamptz has no window before it.  Costs before the archive horizon are
-- known per quarter-hour.
CREATE FUNCTION yquota_internal.window_before(report yquota_internal.report_window) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT before.at
			FROM (SELECT CASE WHEN (report)."from" > '4700-01-01 00:00:00+00 BC'::timestamptz
							  -- days have 24 hours in UTC
							  THEN ((report)."from" AT TIME ZONE 'UTC' - ((report)."to" - (report)."from")) AT TIME ZONE 'UTC' END AS at) AS before
			WHERE before.at >= yquota_internal.archive_horizon() OR before.at = yquota_internal.quarter_hour(before.at));
COMMENT ON FUNCTION yquota_internal.window_before(yquota_internal.report_window) IS
	'Return the start of the window of equal length that ends where a window begins; NULL if its cost is not known';

CREATE FUNCTION yquota_internal.change_text(before numeric, after numeric) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN after IS NULL OR before = 0 THEN yquota_internal.html(NULL)
				ELSE concat(CASE WHEN after > before THEN '+' END, yquota_internal.html_number(round(100 * (after - before) / before, 1)), ' %') END;
COMMENT ON FUNCTION yquota_internal.change_text(numeric, numeric) IS 'Format a change in percent; a change from 0 or of unknown size becomes a dash';

CREATE FUNCTION yquota_internal.report_comparison(report yquota_internal.report_window, amount numeric) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH part AS (
			SELECT 1 AS place, (report)."from" AS "from", least((report)."to", (report).now) AS "to", report_comparison.amount
			UNION ALL
			SELECT 2, before.at, (report)."from",
				   (SELECT coalesce(sum(cost.amount), 0)
					FROM yquota_internal.cost_in_parts(ARRAY[before.at, (report)."from"], '{project}', CASE WHEN cardinality((report).projects) = 1 THEN ((report).projects)[1] END) AS cost
					WHERE (report).projects IS NULL OR cost.project = ANY ((report).projects))
			FROM (SELECT yquota_internal.window_before(report) AS at) AS before
			WHERE before.at IS NOT NULL
		), line AS (
			SELECT part.*, yquota_internal.days_of_window(part."from", part."to") AS days FROM part
		)
		SELECT yquota_internal.html_table('{"",Credits,"Credits per day"}', concat(
			yquota_internal.html_row('This window', yquota_internal.html_number(this.amount), yquota_internal.html_number(this.amount / this.days)),
			yquota_internal.html_row('The window before, from ' || yquota_internal.html_time(before."from", (report).zone),
				yquota_internal.html_number(before.amount), yquota_internal.html_number(before.amount / before.days)),
			yquota_internal.html_row('Change', yquota_internal.change_text(before.amount, CASE WHEN this."to" = (report)."to" THEN this.amount END),
				yquota_internal.change_text(before.amount / before.days, this.amount / this.days))), 2)
		FROM line AS this JOIN line AS before ON before.place = 2
		WHERE this.place = 1 AND (report)."from" < (report).now;
$$;
COMMENT ON FUNCTION yquota_internal.report_comparison(yquota_internal.report_window, numeric) IS
	'Make a table of the spending in a window up to the clock, and in the window of equal length before it';

CREATE FUNCTION yquota_internal.report_sums(
	report yquota_internal.report_window, costs yquota_internal.report_cost[], parts integer, credits yquota_internal.project_credit[])
	RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT concat('<dl class="sums">',
				yquota_internal.report_figure('Spent in this window', yquota_internal.html_number(spent.amount)),
				'</dl>',
				yquota_internal.report_comparison(report, spent.amount),
				CASE WHEN count(b.project) > 0 THEN concat(
					'<p>', CASE WHEN count(b.project) = 1 THEN 'The budget' ELSE format('%s budgets together', count(b.project)) END,
					' on ', yquota_internal.html_time((report).now, (report).zone), ':</p><dl class="sums">',
					yquota_internal.report_figure('Granted', yquota_internal.html_number(sum(b.granted))),
					yquota_internal.report_figure('Spent since the beginning', yquota_internal.html_number(sum(b.charged + b.accrued))),
					yquota_internal.report_figure('Held', yquota_internal.html_number(sum(b.held))),
					yquota_internal.report_figure('Remains', yquota_internal.html_number(sum(b.remaining))),
					'</dl>')
				END,
				(SELECT string_agg(format('<p>%s: %s are available, limited by %s.</p>', yquota_internal.html(c.project), yquota_internal.html_number(c.available),
										  yquota_internal.html(c.limited_by)), '' ORDER BY c.project)
				 FROM unnest(credits) AS c
				 WHERE c.limited_by <> ALL (SELECT above.project FROM unnest(credits) AS above)
				   AND (c.parent IS NULL OR c.parent <> ALL (SELECT above.project FROM unnest(credits) AS above))),
				CASE WHEN EXISTS (SELECT FROM unnest(credits) AS c WHERE c.quota_mode = 'NOLIMIT') AND count(b.project) > 0
					 THEN '<p>Projects without a limit are not among them.</p>' END)
		FROM (SELECT coalesce(sum(c.amount), 0) AS amount FROM unnest(costs) AS c WHERE c.part < parts) AS spent
		LEFT JOIN yquota_internal.report_budgets(credits) AS b ON true
		GROUP BY spent.amount;
$$;
COMMENT ON FUNCTION yquota_internal.report_sums(yquota_internal.report_window, yquota_internal.report_cost[], integer, yquota_internal.project_credit[]) IS
	'Make the figures of a report: spending in a window and in the window before it, and budgets at the clock.  The remaining credit is the granted credit less spending and holds';

CREATE FUNCTION yquota_internal.report_shares(head text, names text[], amounts numeric[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		WITH spent AS (
			SELECT coalesce(s.name, '(none)') AS name, sum(s.amount) AS amount,
				   row_number() OVER (ORDER BY sum(s.amount) DESC, s.name) AS place, count(*) OVER () AS places
			FROM unnest(names, amounts) AS s (name, amount)
			GROUP BY s.name
		), line AS (
			SELECT least(s.place, CASE WHEN s.places > 20 THEN 20 ELSE s.places END) AS place, min(s.name) AS name, count(*) AS names, sum(s.amount) AS amount
			FROM spent AS s GROUP BY 1
		), total AS (
			SELECT sum(line.amount) AS amount FROM line
		)
		SELECT concat('<div>', yquota_internal.html_table(ARRAY[head, 'Credits', 'Share'],
				string_agg(yquota_internal.html_row(
					CASE WHEN line.names > 1 THEN format('%s others', line.names) ELSE yquota_internal.html(line.name) END,
					yquota_internal.html_number(line.amount),
					coalesce(to_char(100 * line.amount / nullif(total.amount, 0), 'FM990.0') || ' %', '&ndash;')), '' ORDER BY line.place)
				|| format('<tr class="sum"><td>Total</td><td>%s</td><td></td></tr>', yquota_internal.html_number(min(total.amount))), 2), '</div>')
		FROM line CROSS JOIN total
		HAVING count(*) > 0;
	END;
COMMENT ON FUNCTION yquota_internal.report_shares(text, text[], numeric[]) IS
	'Make a table of spending by name, with shares: the nineteen largest, and all others together if there are several; NULL when there is no spending';

CREATE FUNCTION yquota_internal.report_tagged(report yquota_internal.report_window, tag text) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT '<div class="beside">' || yquota_internal.report_shares(
			yquota_internal.html('Tag ' || report_tagged.tag),
			array_agg(CASE cost.tags ->> report_tagged.tag WHEN '' THEN '(no value)' ELSE cost.tags ->> report_tagged.tag END), array_agg(cost.amount)) || '</div>'
		FROM yquota_internal.cost_in_parts(ARRAY[(report)."from", (report)."to"], ARRAY['project', 'tag:' || report_tagged.tag],
			CASE WHEN cardinality((report).projects) = 1 THEN ((report).projects)[1] END) AS cost
		WHERE (report).projects IS NULL OR cost.project = ANY ((report).projects);
$$;
COMMENT ON FUNCTION yquota_internal.report_tagged(yquota_internal.report_window, text) IS
	'Make a table of spending in a window by the values of a tag; NULL when there is no spending';

CREATE FUNCTION yquota_internal.report_spent(
	costs yquota_internal.report_cost[], parts integer, totals yquota_internal.report_total[], types text[], type_amounts numeric[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT coalesce('<div class="beside">'
			|| (SELECT yquota_internal.report_shares('Project', array_agg(c.project), array_agg(c.amount))
				|| '<div>' || yquota_internal.report_shares('Queue', array_agg(c.queue), array_agg(c.amount))
				|| coalesce('<div>' || yquota_internal.report_shares('Resource type', types, type_amounts)
							|| '<p>A charge counts under the resource type with the largest part of its amount.</p></div>', '') || '</div>'
				FROM unnest(costs) AS c WHERE c.part < parts)
			|| (SELECT yquota_internal.report_shares('User', array_agg(t.username), array_agg(t.amount))
				FROM unnest(totals) AS t WHERE t.kind = 'user')
			|| '</div>', '<p>Nothing was spent in this window.</p>');
	END;
COMMENT ON FUNCTION yquota_internal.report_spent(yquota_internal.report_cost[], integer, yquota_internal.report_total[], text[], numeric[]) IS
	'Make tables of spending by project, queue, user and resource type, before an instant of the report';

-- A sub-project's credit lasts as long as the budget that limits it.
CREATE FUNCTION yquota_internal.report_balances(
	report yquota_internal.report_window, costs yquota_internal.report_cost[], parts integer, credits yquota_internal.project_credit[])
	RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH elapsed AS (
			SELECT extract(epoch FROM least((report)."to", (report).now)) - extract(epoch FROM (report)."from") AS seconds
		), own AS (
			SELECT c.project, sum(c.amount) AS amount FROM unnest(costs) AS c WHERE c.part < parts GROUP BY c.project
		), spent AS (
			SELECT line.project, sum(line.amount) AS amount
			FROM (SELECT own.project, own.amount FROM own
				  UNION ALL
				  SELECT family.ancestor, own.amount FROM own JOIN yquota_internal.project_family AS family ON family.member = own.project) AS line
			GROUP BY line.project
		), balance AS (
			SELECT c.*, c.charged + c.accrued AS spent, c.quota_mode = 'PREPAID' AND (c.parent IS NULL OR c.has_budget) AS is_budget,
				   CASE WHEN elapsed.seconds > 0 THEN
					yquota_internal.used_up_at((report).now, above.remaining + above.held + above.credit_limit, spent.amount / elapsed.seconds) END AS lasts_until,
				   row_number() OVER (ORDER BY c.charged + c.accrued DESC, c.project) AS place
			FROM unnest(credits) AS c
			CROSS JOIN elapsed
			LEFT JOIN unnest(credits) AS above ON above.project = c.limited_by
			LEFT JOIN spent ON spent.project = c.limited_by
		)
		SELECT yquota_internal.html_table(
			'{Project,"Limited by",Granted,Spent,Held,Remains,Available,"Per hour now","Lasts at this rate until","Lasts as in this window until"}',
			string_agg(yquota_internal.html_row(
				yquota_internal.html(b.project), CASE WHEN b.quota_mode = 'NOLIMIT' THEN 'no limit' ELSE yquota_internal.html(b.limited_by) END,
				yquota_internal.html_number(CASE WHEN b.is_budget THEN b.granted END), yquota_internal.html_number(b.spent),
				yquota_internal.html_number(b.held), yquota_internal.html_number(CASE WHEN b.is_budget THEN b.remaining END),
				yquota_internal.html_number(b.available), yquota_internal.html_number(b.burn_rate * 3600),
				yquota_internal.html_time(b.exhausted_at, (report).zone), yquota_internal.html_time(b.lasts_until, (report).zone)), '' ORDER BY b.place)
				FILTER (WHERE b.place <= 100), 8)
			|| CASE WHEN count(*) > 100 THEN format('<p>%s more have spent less.</p>', count(*) - 100) ELSE '' END
		FROM balance AS b;
$$;
COMMENT ON FUNCTION yquota_internal.report_balances(yquota_internal.report_window, yquota_internal.report_cost[], integer, yquota_internal.project_credit[]) IS
	'Make a table of the credit of the hundred projects with the most spending.  It shows how long credit lasts at the present rate, and at the rate of the past part of a window';
