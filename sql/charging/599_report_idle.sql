-- Idle cost as a section of a report (charging/600_report_html.sql).

CREATE FUNCTION yquota_internal.idle_row(name text, resource_type text, part yquota_internal.idle_part) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN yquota_internal.html_row(name, resource_type, yquota_internal.html_number((part).capacity), yquota_internal.html_number((part).charged),
		yquota_internal.html_number((part).carried_along), yquota_internal.html_number((part).free),
		yquota_internal.html_number((part).capacity - (part).allocated),
		coalesce(to_char(100 * ((part).capacity - (part).allocated) / nullif((part).capacity, 0), 'FM999990.0') || ' %', '&ndash;'));
COMMENT ON FUNCTION yquota_internal.idle_row(text, text, yquota_internal.idle_part) IS
	'Make a row of the table of capacity.  Names are HTML already';

CREATE FUNCTION yquota_internal.report_idle_table(report yquota_internal.report_window) RETURNS text
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH line AS MATERIALIZED (
			SELECT part.label, part.resource_type,
				   ROW(part.label, part.resource_type, NULL, sum(part.capacity), sum(part.allocated), sum(part.charged),
					   sum(part.carried_along), sum(part.free), sum(part.waiting))::yquota_internal.idle_part AS sums
			FROM unnest(yquota_internal.idle_parts((report)."from", least((report)."to", (report).now))) AS part
			GROUP BY part.label, part.resource_type
			HAVING sum(part.capacity) <> 0 OR sum(part.allocated) <> 0
		)
		SELECT concat(
			'<p>Values at the list price: prices without discounts and outages. A container pays for its dearest resource, ',
			'and its other resources are carried along. Unsold is negative where containers held more than running nodes offered.</p>',
			yquota_internal.html_table(
				'{Label,"Resource type",Capacity,Charged,"Carried along",Free,Unsold,"Unsold part"}',
				string_agg(yquota_internal.idle_row(CASE line.label WHEN '' THEN '(none)' ELSE yquota_internal.html(line.label) END,
													yquota_internal.html(line.resource_type), line.sums),
						   '' ORDER BY line.label, line.resource_type), 6))
		FROM line
		HAVING count(*) > 0;
$$;
COMMENT ON FUNCTION yquota_internal.report_idle_table(yquota_internal.report_window) IS
	'Make a table of the capacity of a window by label and resource type, at the list price: charged, carried along, free and unsold.  NULL if there was no capacity';

-- The section is for roles that see all projects, in a report about all projects.  It reads each charge, while the rest
-- of a report about a long window reads roll-ups.
CREATE FUNCTION yquota_internal.report_idle(report yquota_internal.report_window, most_charges integer DEFAULT 100000) RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF report.projects IS NOT NULL OR report."from" < yquota_internal.archive_horizon() OR report."from" >= report.now THEN
		RETURN NULL;
	END IF;
	RETURN '<h2>Capacity: charged, free and unsold</h2>'
		|| CASE WHEN (SELECT count(*) FROM (SELECT FROM yquota.charge AS c WHERE c."from" < report."to" AND c."to" > report."from"
											LIMIT most_charges + 1) AS charge) > most_charges
				THEN format('<p>This window has more than %s charges. idle_cost() returns the capacity.</p>', most_charges)
				ELSE yquota_internal.report_idle_table(report) END;
END
$$;
COMMENT ON FUNCTION yquota_internal.report_idle(yquota_internal.report_window, integer) IS
	'Make the section about capacity.  The result is NULL in a report about some projects, for archived time, and without capacity.  A window with too many charges has a sentence in place of the table';
