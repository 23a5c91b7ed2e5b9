--
-- The numbers of a report: what was spent, by project, queue and user, and what is left.
--

CREATE FUNCTION yquota_internal.report_figure(name text, figure text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN concat('<div><dt>', yquota_internal.html(name), '</dt><dd>', figure, '</dd></div>');
COMMENT ON FUNCTION yquota_internal.report_figure(text, text) IS 'A name and a figure below it that is HTML already';

CREATE FUNCTION yquota_internal.report_sums(
	report yquota_internal.report_window, costs yquota_internal.report_cost[], parts integer, credits yquota_internal.project_credit[])
	RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT concat('<dl class="sums">',
				yquota_internal.report_figure('Spent in this window',
					yquota_internal.html_number((SELECT coalesce(sum(c.amount), 0) FROM unnest(costs) AS c WHERE c.part < parts))),
				'</dl>',
				CASE WHEN count(*) > 0 THEN concat(
					'<p>', CASE WHEN count(*) = 1 THEN 'The budget' ELSE format('%s budgets together', count(*)) END,
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
				CASE WHEN EXISTS (SELECT FROM unnest(credits) AS c WHERE c.quota_mode = 'NOLIMIT') AND count(*) > 0
					 THEN '<p>Projects without a limit are not among them.</p>' END)
		FROM yquota_internal.report_budgets(credits) AS b;
$$;
COMMENT ON FUNCTION yquota_internal.report_sums(yquota_internal.report_window, yquota_internal.report_cost[], integer, yquota_internal.project_credit[]) IS
	'What was spent in a window, before an instant of the report, and what budgets have at the clock: granted less spent less held is what remains';

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
	'Table of what names have spent, and of their shares: the nineteen with most, the others together when they are more than one; NULL when there is none';

CREATE FUNCTION yquota_internal.report_spent(
	costs yquota_internal.report_cost[], parts integer, totals yquota_internal.report_total[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	BEGIN ATOMIC
		SELECT coalesce('<div class="beside">'
			|| (SELECT yquota_internal.report_shares('Project', array_agg(c.project), array_agg(c.amount))
				|| yquota_internal.report_shares('Queue', array_agg(c.queue), array_agg(c.amount))
				FROM unnest(costs) AS c WHERE c.part < parts)
			|| (SELECT yquota_internal.report_shares('User', array_agg(t.username), array_agg(t.amount))
				FROM unnest(totals) AS t WHERE t.kind = 'user')
			|| '</div>', '<p>Nothing was spent in this window.</p>');
	END;
COMMENT ON FUNCTION yquota_internal.report_spent(yquota_internal.report_cost[], integer, yquota_internal.report_total[]) IS
	'Tables of what was spent by project, queue and user, before an instant of the report';

-- A sub-project lasts as long as the budget that limits it.
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
					yquota_internal.used_up_at((report).now, above.remaining + above.held, spent.amount / elapsed.seconds) END AS lasts_until,
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
	'Table of the credit of projects, and of how long it lasts at the present rate and at that of the part of a window that has passed; the hundred with most spending';
