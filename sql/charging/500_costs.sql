-- Costs by group and time.
--
-- Every report computes the cost between instants and divides it at each of them.  Ledger rows between two
-- neighbouring instants are added up with their booked amounts.  For rows that cross an instant, and for running
-- containers, the cost is computed.  Whole quarter-hours of days that have been rolled up
-- (charging/460_charge_rollup.sql) are read from the roll-ups.  For these quarter-hours, only later postings are read
-- from the ledger.

CREATE FUNCTION yquota_internal.rolled_up_intervals(first timestamptz, last timestamptz)
	RETURNS TABLE (starts_at timestamptz, ends_at timestamptz)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT found.starts_at, found.ends_at
		FROM (SELECT day_left.ends_at AS starts_at, lead(day_left.starts_at, 1, last) OVER (ORDER BY day_left.starts_at) AS ends_at
			  FROM (SELECT '-infinity'::timestamptz AS starts_at, first AS ends_at
					UNION ALL
					SELECT known.day, known.day + interval '24 hours'
					FROM yquota_internal.rollup_day AS known
					WHERE NOT known.is_rolled_up AND known.day > first - interval '24 hours' AND known.day < last) AS day_left) AS found
		WHERE found.starts_at < found.ends_at;
$$;
COMMENT ON FUNCTION yquota_internal.rolled_up_intervals(timestamptz, timestamptz) IS
	'Return the intervals between two quarter-hours that contain only days in the roll-ups';

-- The function finds the range in which roll-ups can replace the ledger between the first and the last instant.  There
-- is no such range if an instant of the report inside it is not the start of a quarter-hour.
--
-- The ledger alone is as fast if the range is shorter than an hour.  The same is true if three quarters of the rows
-- must be read from the ledger anyway.  Only the interval with the most rows is read from the roll-ups.  For each
-- further interval, the ledger would have to be searched for later postings once more.
CREATE FUNCTION yquota_internal.rolled_up_range(
	cuts timestamptz[], by text[], OUT "from" timestamptz, OUT "to" timestamptz)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- use a saved plan, because planning takes longer than most calls
	SET plan_cache_mode = force_generic_plan
	AS $$
#variable_conflict use_column
BEGIN
	SELECT found.starts_at, found.ends_at INTO "from", "to"
	FROM yquota_internal.valid_rollup AS rollup
	CROSS JOIN LATERAL (
		SELECT yquota_internal.next_quarter_hour(cuts[1]) AS first,
			   yquota_internal.quarter_hour(least(cuts[cardinality(cuts)], rollup.until)) AS last
	) AS span
	CROSS JOIN LATERAL (
		SELECT i.starts_at, i.ends_at, sum(known.charges) AS charges
		FROM yquota_internal.rolled_up_intervals(span.first, span.last) AS i
		JOIN yquota_internal.rollup_day AS known
			ON known.is_rolled_up AND known.day > i.starts_at - interval '24 hours' AND known.day < i.ends_at
		GROUP BY i.starts_at, i.ends_at
		ORDER BY charges DESC, i.starts_at
		LIMIT 1
	) AS found
	WHERE by <@ '{project,username,queue,application_id,execution_type}'
	  AND found.starts_at + interval '1 hour' <= found.ends_at
	  AND found.charges * 4 >= (SELECT sum(known.charges) FROM yquota_internal.rollup_day AS known
								WHERE known.day > span.first - interval '24 hours' AND known.day < span.last)
	  AND NOT EXISTS (SELECT FROM unnest(cuts) AS cut(at)
					  WHERE cut.at > found.starts_at AND cut.at < found.ends_at
						AND cut.at <> yquota_internal.quarter_hour(cut.at));
END
$$;
COMMENT ON FUNCTION yquota_internal.rolled_up_range(timestamptz[], text[]) IS
	'Return the range of a report that is read from charge_rollup; NULL if there is none';

CREATE FUNCTION yquota_internal.part_within(cuts timestamptz[], "from" timestamptz, "to" timestamptz)
	RETURNS integer
	LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
	AS 'MODULE_PATHNAME', 'yq_sql_part_within';
COMMENT ON FUNCTION yquota_internal.part_within(timestamptz[], timestamptz, timestamptz) IS
	'Return the number of the interval, between ascending instants, that contains a segment; NULL if one of the instants lies within the segment';

-- A correction may be posted after the corrected row has been rolled up.  It must cancel that row.  Roll-ups compute
-- parts of quarter-hours with the present timelines (charging/460_charge_rollup.sql).  The correction is therefore
-- computed in the same way, although earlier timelines determined its amount.  The same is done for the new row that
-- replaces the corrected row, because a later row may reverse it.
CREATE FUNCTION yquota_internal.amount_beside_rollup(segment yquota_internal.settled_segment) RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	RETURN CASE
		WHEN yquota_internal.quarter_hour((segment)."from")
			= yquota_internal.quarter_hour(yquota_internal.last_instant((segment)."from", (segment)."to"))
			THEN (segment).amount
		ELSE yquota_internal.settled_cost(segment, (segment)."from", (segment)."to")
	END;
COMMENT ON FUNCTION yquota_internal.amount_beside_rollup(yquota_internal.settled_segment) IS
	'Return the credits of a settled segment, computed in the same way as for charge_rollup';

-- The query of a report. $1 is the array of instants.  Part n is the time between the nth instant and the next one.
-- With one part, the index on times finds the rows that cross either end.  With more parts, rows are read twice.
-- Rows outside all parts are dropped after grouping, because the planner cannot know how few they are.
CREATE FUNCTION yquota_internal.ledger_cost_query(
	keys text, starts_at text, ends_at text, is_one_part boolean, amount text, condition text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN CASE WHEN is_one_part THEN format($query$
			SELECT 1 AS part, %1$s sum(%5$s) AS amount
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" >= %2$s AND "from" < %3$s AND "to" <= %3$s %4$s
			GROUP BY %1$s 1
			UNION ALL
			SELECT 1, %1$s sum(yquota_internal.settled_cost(segment, %2$s, %3$s))
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" < %2$s AND "to" > %2$s %4$s
			GROUP BY %1$s 1
			UNION ALL
			SELECT 1, %1$s sum(yquota_internal.settled_cost(segment, %2$s, %3$s))
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" >= %2$s AND "from" < %3$s AND "to" > %3$s %4$s
			GROUP BY %1$s 1
		$query$, keys, starts_at, ends_at, condition, amount)
	ELSE format($query$
			SELECT yquota_internal.part_within($1, "from", "to") AS part, %1$s sum(%5$s) AS amount
			FROM yquota_internal.settled_segment AS segment
			WHERE "from" >= %2$s AND "from" < %3$s AND "to" <= %3$s %4$s
			GROUP BY %1$s 1
			UNION ALL
			SELECT within.part, %1$s
				   sum(yquota_internal.settled_cost(segment, greatest($1[within.part], %2$s),
													least($1[within.part + 1], %3$s)))
			FROM yquota_internal.settled_segment AS segment
			CROSS JOIN LATERAL generate_series(
				width_bucket(greatest("from", %2$s), $1),
				width_bucket(least("to", %3$s) - interval '1 microsecond', $1)) AS within(part)
			WHERE "from" < %3$s AND "to" > %2$s AND "from" < "to" %4$s
			  AND ("from" < %2$s OR "to" > %3$s
				   OR yquota_internal.part_within($1, "from", "to") IS NULL)
			GROUP BY %1$s 1
		$query$, keys, starts_at, ends_at, condition, amount)
	END;
COMMENT ON FUNCTION yquota_internal.ledger_cost_query(text, text, text, boolean, text, text) IS
	'Return the SQL that adds up rows of the ledger, or parts of them, between two instants.  An expression gives the amount of a row that is not divided.  Amounts outside all parts are dropped';

CREATE FUNCTION yquota_internal.report_dimensions() RETURNS text[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN '{project,username,queue,application_id,execution_type,node,container_id}'::text[];
COMMENT ON FUNCTION yquota_internal.report_dimensions() IS
	'Return the columns by which reports can group, in the order of their results';

CREATE FUNCTION yquota_internal.columns_of_report(by text[]) RETURNS text[]
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN ARRAY(SELECT DISTINCT CASE WHEN name ^@ 'tag:' THEN 'application_id' ELSE name END FROM unnest(by) AS name);
COMMENT ON FUNCTION yquota_internal.columns_of_report(text[]) IS
	'Return the columns that a report reads from the ledger.  A report by tags reads application_id';

CREATE FUNCTION yquota_internal.report_keys(by text[]) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(string_agg(key.name || ', ', '' ORDER BY key.number), '')
			FROM unnest(yquota_internal.report_dimensions()) WITH ORDINALITY AS key (name, number)
			WHERE key.name = ANY (by));
COMMENT ON FUNCTION yquota_internal.report_keys(text[]) IS
	'Return the columns by which a report groups, as SQL.  A comma follows each of them';

CREATE FUNCTION yquota_internal.report_columns(by text[], of_table text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT string_agg(CASE WHEN dimension.name = ANY (by) THEN of_table || '.' || dimension.name
								   WHEN dimension.name = 'execution_type' THEN 'NULL::yquota.execution_type'
								   ELSE 'NULL::text' END, ', ' ORDER BY dimension.number)
			FROM unnest(yquota_internal.report_dimensions()) WITH ORDINALITY AS dimension (name, number));
COMMENT ON FUNCTION yquota_internal.report_columns(text[], text) IS
	'Return all dimensions of a report, as SQL.  The report takes the columns by which it groups from a table or subquery, and the others are NULL';

CREATE FUNCTION yquota_internal.report_tags(by text[], of_table text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT CASE WHEN count(*) = 0 THEN 'NULL::jsonb'
						ELSE format('coalesce((SELECT jsonb_build_object(%s) FROM yquota.application_tags AS t WHERE t.application_id = %s.application_id), %L::jsonb)',
									string_agg(format('%1$L, t.tags -> %1$L', tag.key), ', '), of_table, jsonb_object_agg(tag.key, NULL)) END
			FROM (SELECT substr(name, 5) AS key FROM unnest(by) AS name WHERE name ^@ 'tag:') AS tag);
COMMENT ON FUNCTION yquota_internal.report_tags(text[], text) IS
	'Return SQL for the tags by which a report groups: a JSON object that has null for a tag that an application does not have.  The second argument is the table or subquery with the applications';

CREATE FUNCTION yquota_internal.cost_query(
	by text[], is_one_part boolean, is_rolled_up boolean, is_archived boolean) RETURNS text
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	keys CONSTANT text := yquota_internal.report_keys(yquota_internal.columns_of_report(by));
	of_project CONSTANT text := 'AND ($4 IS NULL OR segment.project = $4)';
	amount CONSTANT text := 'segment.amount';
	parts text;
BEGIN
	IF is_rolled_up THEN
		parts := concat_ws(E'\nUNION ALL\n',
			format('SELECT width_bucket(segment.quarter_hour, $1) AS part, %1$s sum(segment.amount) AS amount
					FROM yquota_internal.readable_rollup AS segment
					WHERE segment.quarter_hour >= $2 AND segment.quarter_hour < $3 %2$s GROUP BY %1$s 1',
				keys, of_project),
			yquota_internal.ledger_cost_query(keys, '$2', '$3', is_one_part, 'yquota_internal.amount_beside_rollup(segment)', of_project
				|| ' AND segment.booked_at >= $5 AND age(segment.posted_by) <= age($6)'),
			yquota_internal.ledger_cost_query(keys, '$1[1]', '$2', is_one_part, amount, of_project || ' AND $1[1] < $2'),
			yquota_internal.ledger_cost_query(keys, '$3', '$1[cardinality($1)]', is_one_part, amount,
											  of_project || ' AND $3 < $1[cardinality($1)]'));
	ELSE
		parts := yquota_internal.ledger_cost_query(keys, '$1[1]', '$1[cardinality($1)]', is_one_part, amount, of_project);
	END IF;
	IF is_archived THEN
		parts := concat_ws(E'\nUNION ALL\n', parts,
			format('SELECT width_bucket(segment.quarter_hour, $1) AS part, %1$s sum(segment.amount) AS amount
					FROM yquota_internal.readable_archived_cost AS segment
					WHERE segment.quarter_hour >= $1[1] AND segment.quarter_hour < $1[cardinality($1)] %2$s GROUP BY %1$s 1',
				keys, of_project));
	END IF;
	RETURN format($query$
		SELECT cost.part, %1$s, trim_scale(sum(cost.amount)), %5$s
		FROM (
			%3$s
			UNION ALL
			SELECT running.part, %2$s
				   sum(yquota_internal.running_cost(segment, $1[running.part], $1[running.part + 1]))
			FROM yquota_internal.running_segment AS segment
			CROSS JOIN LATERAL generate_series(
				width_bucket(greatest("from", $1[1]), $1),
				width_bucket(least("to", $1[cardinality($1)]) - interval '1 microsecond', $1)) AS running(part)
			WHERE "from" < $1[cardinality($1)] AND "to" > $1[1] %4$s
			GROUP BY %2$s 1
		) AS cost
		WHERE cost.part IS NOT NULL
		GROUP BY %6$s cost.part, 10
		$query$,
		yquota_internal.report_columns(by, 'cost'),
		keys, parts, of_project,
		yquota_internal.report_tags(by, 'cost'),
		yquota_internal.report_keys(by));
END
$$;
COMMENT ON FUNCTION yquota_internal.cost_query(text[], boolean, boolean, boolean) IS
	'Return the SQL of a report.  Its parameters are the instants, the range to read from charge_rollup, a project (NULL: all), and the mark of rows that are not rolled up';

CREATE FUNCTION yquota_internal.cost_in_parts(
	cuts timestamptz[], by text[], of_project text DEFAULT NULL)
	RETURNS TABLE (part integer, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, tags jsonb)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	-- JIT compilation takes longer than the query
	SET jit = off
AS $$
DECLARE
	rolled_up record;
	rollup yquota_internal.rollup_state;
	is_archived CONSTANT boolean := cuts[1] < yquota_internal.archive_horizon();
BEGIN
	IF is_archived THEN
		PERFORM yquota_internal.check_archived_report(cuts, yquota_internal.columns_of_report(by));
	END IF;
	SELECT * INTO rolled_up FROM yquota_internal.rolled_up_range(cuts, yquota_internal.columns_of_report(by));
	SELECT * INTO rollup FROM yquota_internal.rollup_state;
	RETURN QUERY EXECUTE yquota_internal.cost_query(by, cardinality(cuts) = 2, rolled_up."from" IS NOT NULL, is_archived)
	USING cuts, rolled_up."from", rolled_up."to", of_project, rollup.booked_from, rollup.horizon::xid;
END;
$$;
COMMENT ON FUNCTION yquota_internal.cost_in_parts(timestamptz[], text[], text) IS
	'Return the cost between each of some ascending instants and the next one.  The cost of running containers is computed up to the clock.  The projects are those that the calling role may see, or one of them';

CREATE FUNCTION yquota_internal.check_report(of_report text, by text[], "from" timestamptz, "to" timestamptz)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	known CONSTANT text[] := yquota_internal.report_dimensions();
	unknown text;
BEGIN
	IF "from" IS NULL OR "to" IS NULL OR by IS NULL THEN
		RAISE EXCEPTION 'arguments of % must not be null', of_report
			USING ERRCODE = 'null_value_not_allowed',
				  HINT = 'Use ''-infinity'' and ''infinity'' for a window without ends, ''{}'' for one total.';
	END IF;
	IF "from" > "to" THEN
		RAISE EXCEPTION 'window ends before it begins'
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = format('The window goes from %s to %s.', "from", "to");
	END IF;
	IF (SELECT count(*) FROM unnest(by) AS name WHERE name ^@ 'tag:') > 50 THEN
		RAISE EXCEPTION 'cannot group costs by more than 50 tags'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT name INTO unknown
	FROM unnest(by) name
	WHERE name IS NULL OR name <> ALL (known) AND name !~ '^tag:.'
	LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'cannot group costs by %', coalesce(quote_ident(unknown), 'NULL')
			USING ERRCODE = 'invalid_parameter_value',
				  HINT = format('Group by any of %s and tag:KEY.', array_to_string(known, ', '));
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_report(text, text[], timestamptz, timestamptz) IS
	'Refuse arguments for which there is no report';

CREATE FUNCTION yquota_internal.refuse_archived_window("from" timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF "from" < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				  DETAIL = 'Charges that ended before it have left the database.',
				  HINT = 'Begin at the horizon or later.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_archived_window(timestamptz) IS
	'Refuse a window if its single charges have been archived';

--
-- Any window
--

CREATE FUNCTION yquota_internal.cost_between_as_owner("from" timestamptz, "to" timestamptz,
													  by text[], as_booked timestamptz)
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, tags jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM yquota_internal.check_report('cost_between', by, "from", "to");
	IF as_booked IS NOT NULL THEN
		PERFORM yquota_internal.check_booked_window("from", "to", as_booked);
		IF "from" < yquota_internal.archive_horizon() THEN
			PERFORM yquota_internal.check_archived_bill(yquota_internal.columns_of_report(by), as_booked);
		END IF;
		RETURN QUERY EXECUTE format('SELECT %s, trim_scale(sum(cost.amount)), %s
									 FROM yquota_internal.booked_cost($1, $2, $3, $4) AS cost GROUP BY %s 9',
			yquota_internal.report_columns(by, 'cost'), yquota_internal.report_tags(by, 'cost'), yquota_internal.report_keys(by))
		USING "from", "to", yquota_internal.columns_of_report(by), as_booked;
		RETURN;
	END IF;
	RETURN QUERY
	SELECT cost.project, cost.username, cost.queue, cost.application_id, cost.execution_type,
		   cost.node, cost.container_id, cost.amount, cost.tags
	FROM yquota_internal.cost_in_parts(ARRAY["from", "to"], by) AS cost;
END;
$$;
COMMENT ON FUNCTION yquota_internal.cost_between_as_owner(timestamptz, timestamptz, text[], timestamptz) IS
	'Return the result of cost_between() for the calling role';

CREATE FUNCTION yquota.cost_between("from" timestamptz, "to" timestamptz,
									by text[] DEFAULT '{project}', as_booked timestamptz DEFAULT NULL)
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, tags jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.cost_between(timestamptz, timestamptz, text[], timestamptz) IS
	'Return the cost in a window, including its start and excluding its end.  The cost of running containers is computed up to the clock.  The result is exact for every window; before the archive horizon, only for full quarter-hours, and not by node or container.  "by" lists the columns to group by; the others are NULL.  It may also list tags of applications, as tag:KEY.  Padding up to the minimum run time counts at the finish.  With as_booked, a window of closed periods is reported as the ledger was at that time: exactly as on an issued bill';

--
-- Days
--

CREATE FUNCTION yquota_internal.day_cuts(first_day date, last_day date, timezone text)
	RETURNS timestamptz[]
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF first_day IS NULL OR last_day IS NULL THEN
		RAISE EXCEPTION 'first and last day must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(first_day) OR NOT isfinite(last_day) THEN
		RAISE EXCEPTION 'first and last day must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF first_day > last_day THEN
		RAISE EXCEPTION 'last day % comes before the first one, %', last_day, first_day
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF last_day - first_day >= 4000 THEN
		RAISE EXCEPTION 'cannot report on more than 4000 days at once'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('From %s to %s there are %s.', first_day, last_day, last_day - first_day + 1);
	END IF;
	RETURN ARRAY(SELECT yquota_internal.billing_day_start(first_day + number, timezone)
				 FROM generate_series(0, last_day - first_day + 1) AS number
				 ORDER BY number);
END
$$;
COMMENT ON FUNCTION yquota_internal.day_cuts(date, date, text) IS
	'Return the midnights in a time zone, from the start of one day to the end of another';

CREATE FUNCTION yquota_internal.cost_by_day_as_owner(
	first_day date, last_day date, by text[], timezone text)
	RETURNS TABLE (day date, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, tags jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	midnights CONSTANT timestamptz[] := yquota_internal.day_cuts(first_day, last_day,
		coalesce(timezone, yquota_internal.billing_timezone()));
BEGIN
	PERFORM yquota_internal.check_report('cost_by_day', by, midnights[1], midnights[cardinality(midnights)]);
	RETURN QUERY
	SELECT first_day + (cost.part - 1), cost.project, cost.username, cost.queue, cost.application_id,
		   cost.execution_type, cost.node, cost.container_id, cost.amount, cost.tags
	FROM yquota_internal.cost_in_parts(midnights, by) AS cost;
END;
$$;
COMMENT ON FUNCTION yquota_internal.cost_by_day_as_owner(date, date, text[], text) IS
	'Return the result of cost_by_day() for the calling role';

CREATE FUNCTION yquota.cost_by_day(first_day date, last_day date,
								   by text[] DEFAULT '{project}', timezone text DEFAULT NULL)
	RETURNS TABLE (day date, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, tags jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.cost_by_day(date, date, text[], text) IS
	'Return the cost on each day of a range, divided exactly at the midnights of a time zone.  The default time zone is that of bills.  Other rules are those of cost_between()';

-- The window is divided where calendars open or close.

CREATE FUNCTION yquota_internal.cost_by_calendar_as_owner("from" timestamptz, "to" timestamptz, by text[])
	RETURNS TABLE (calendars text, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, tags jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	cuts timestamptz[];
	names text[];
BEGIN
	PERFORM yquota_internal.check_report('cost_by_calendar', by, "from", "to");
	SELECT array_agg(open.starts_at ORDER BY open.starts_at), array_agg(open.calendars ORDER BY open.starts_at)
	INTO cuts, names
	FROM yquota_internal.open_calendars("from", "to") AS open;
	RETURN QUERY
	SELECT names[cost.part], cost.project, cost.username, cost.queue, cost.application_id,
		   cost.execution_type, cost.node, cost.container_id, trim_scale(sum(cost.amount)), cost.tags
	FROM yquota_internal.cost_in_parts(cuts || "to", by) AS cost
	GROUP BY names[cost.part], cost.project, cost.username, cost.queue, cost.application_id,
			 cost.execution_type, cost.node, cost.container_id, cost.tags;
END;
$$;
COMMENT ON FUNCTION yquota_internal.cost_by_calendar_as_owner(timestamptz, timestamptz, text[]) IS
	'Return the result of cost_by_calendar() for the calling role';

CREATE FUNCTION yquota.cost_by_calendar("from" timestamptz, "to" timestamptz, by text[] DEFAULT '{project}')
	RETURNS TABLE (calendars text, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, tags jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.cost_by_calendar(timestamptz, timestamptz, text[]) IS
	'Return the cost in a window, divided by the calendars that were open, such as night.  Calendars are NULL for the rest of the time.  The rows add up exactly to those of cost_between(), and follow its other rules';

-- Finds the most expensive groups, and their growth.

CREATE FUNCTION yquota_internal.top_costs_as_owner(
	"from" timestamptz, "to" timestamptz, by text[], top integer)
	RETURNS TABLE (rank bigint, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, share numeric, previous numeric, growth numeric, tags jsonb)
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	-- no instant exists before this one
	first_epoch CONSTANT numeric := extract(epoch FROM '4714-11-24 00:00:00+00 BC'::timestamptz);
	earlier timestamptz;
	cuts timestamptz[] := ARRAY["from", "to"];
BEGIN
	PERFORM yquota_internal.check_report('top_costs', by, "from", "to");
	IF top IS NULL OR top < 1 THEN
		RAISE EXCEPTION 'number of rows must be at least 1'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF isfinite("from") AND isfinite("to") AND "from" < "to"
		AND 2 * extract(epoch FROM "from") - extract(epoch FROM "to") >= first_epoch
	THEN
		earlier := "from" - concat((extract(epoch FROM "to") - extract(epoch FROM "from")) * 1000000,
								   ' microseconds')::interval;
		IF yquota_internal.is_reported_from(earlier, yquota_internal.columns_of_report(by)) THEN
			cuts := ARRAY[earlier, "from", "to"];
		END IF;
	END IF;
	RETURN QUERY
	WITH spent AS MATERIALIZED (
		SELECT cost.project, cost.username, cost.queue, cost.application_id, cost.execution_type,
			   cost.node, cost.container_id, cost.tags,
			   coalesce(sum(cost.amount) FILTER (WHERE cost.part = cardinality(cuts) - 1), 0) AS now,
			   coalesce(sum(cost.amount) FILTER (WHERE cost.part < cardinality(cuts) - 1), 0) AS before
		FROM yquota_internal.cost_in_parts(cuts, by) AS cost
		GROUP BY cost.project, cost.username, cost.queue, cost.application_id, cost.execution_type,
				 cost.node, cost.container_id, cost.tags
	), ranked AS (
		SELECT rank() OVER (ORDER BY spent.now DESC) AS place, sum(spent.now) OVER () AS total, spent.*
		FROM spent
	)
	SELECT ranked.place, ranked.project, ranked.username, ranked.queue, ranked.application_id,
		   ranked.execution_type, ranked.node, ranked.container_id, ranked.now,
		   round(ranked.now / nullif(ranked.total, 0), 6),
		   CASE WHEN cardinality(cuts) = 3 THEN ranked.before END,
		   CASE WHEN cardinality(cuts) = 3 THEN trim_scale(ranked.now - ranked.before) END, ranked.tags
	FROM ranked
	ORDER BY ranked.place, ranked.project, ranked.username, ranked.queue, ranked.application_id,
			 ranked.execution_type, ranked.node, ranked.container_id, ranked.tags
	LIMIT top;
END;
$$;
COMMENT ON FUNCTION yquota_internal.top_costs_as_owner(timestamptz, timestamptz, text[], integer) IS
	'Return the result of top_costs() for the calling role';

CREATE FUNCTION yquota.top_costs("from" timestamptz, "to" timestamptz,
								 by text[] DEFAULT '{project}', top integer DEFAULT 10)
	RETURNS TABLE (rank bigint, project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric, share numeric, previous numeric, growth numeric, tags jsonb)
	LANGUAGE c STABLE PARALLEL RESTRICTED
	AS 'MODULE_PATHNAME', 'yq_sql_run_as_owner';
COMMENT ON FUNCTION yquota.top_costs(timestamptz, timestamptz, text[], integer) IS
	'Return the most expensive groups in a window, with costs as in cost_between().  Also returns their share of the whole, and their cost in the preceding window of the same length';

-- Roll-ups and the ledger must agree.  Archived rows stay in the roll-ups, so the comparison begins at the archive
-- horizon.  A charge may have been rolled up with later timelines than the timelines that determined its amount.  A row
-- that reverses this charge is then in the ledger, but is not rolled up yet.
CREATE VIEW yquota_internal.correction_of_ledger AS
	SELECT correction.project, correction.application_id, correction.username, correction.queue, correction.node, correction.execution_type,
		   correction.allocation, correction."from", correction."to", correction.amount, correction.given_back,
		   correction.waiting_factor, correction.booked_at, correction.xmin AS posted_by,
		   corrected.booked_at AS corrected_booked_at, corrected.xmin AS corrected_by
	FROM yquota.charge AS correction
	JOIN yquota.charge AS corrected
		ON corrected.container_id = correction.container_id AND corrected.number = correction.corrects
	UNION ALL
	SELECT correction.project, NULL, correction.username, correction.queue, NULL, 'GUARANTEED',
		   correction.allocation, correction."from", correction."to", correction.amount, NULL,
		   correction.reserved_factor, correction.booked_at, correction.xmin, corrected.booked_at, corrected.xmin
	FROM yquota.reservation_charge AS correction
	JOIN yquota.reservation_charge AS corrected
		ON corrected.reservation_id = correction.reservation_id AND corrected.number = correction.corrects;
COMMENT ON VIEW yquota_internal.correction_of_ledger IS
	'Rows that reverse other rows, and the time at which the reversed rows were posted';

CREATE FUNCTION yquota_internal.verify_rollup()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	starts_at CONSTANT timestamptz := yquota_internal.next_quarter_hour(yquota_internal.archive_horizon());
	ends_at CONSTANT timestamptz := (SELECT yquota_internal.quarter_hour(rollup.until) FROM yquota_internal.valid_rollup AS rollup);
	state yquota_internal.rollup_state;
	starts timestamptz[];
	ends timestamptz[];
BEGIN
	SELECT * INTO state FROM yquota_internal.rollup_state;
	IF ends_at IS NULL OR starts_at >= ends_at THEN
		RETURN;
	END IF;
	SELECT array_agg(i.starts_at), array_agg(i.ends_at) INTO starts, ends
	FROM yquota_internal.rolled_up_intervals(starts_at, ends_at) AS i;
	RETURN QUERY EXECUTE format($query$
		SELECT 'rolled-up cost of a project differs from the ledger', project,
			   trim_scale(coalesce(ledger.amount, 0))::text, trim_scale(coalesce(rolled_up.amount, 0))::text
		FROM (SELECT cost.project, sum(cost.amount) AS amount FROM (
				SELECT own.* FROM unnest($1, $2) AS rolled_up (starts_at, ends_at) CROSS JOIN LATERAL (%s) AS own
				UNION ALL
				SELECT 1, correction.project,
					   correction.amount + yquota_internal.accrued(correction.allocation,
						   yquota_internal.factor_names(correction.project, correction.application_id, correction.username,
														correction.queue, correction.node, correction."from",
														correction.execution_type, correction.waiting_factor),
						   correction."from", correction."to")
				FROM yquota_internal.correction_of_ledger AS correction
				JOIN unnest($1, $2) AS rolled_up (starts_at, ends_at)
					ON correction."from" >= rolled_up.starts_at AND correction."to" <= rolled_up.ends_at
				WHERE correction.booked_at >= $3 AND age(correction.posted_by) <= age($4)
				  AND NOT (correction.corrected_booked_at >= $3 AND age(correction.corrected_by) <= age($4))
				  AND correction.given_back IS NULL
				  AND yquota_internal.quarter_hour(correction."from")
					  <> yquota_internal.quarter_hour(yquota_internal.last_instant(correction."from", correction."to"))
			  ) AS cost GROUP BY cost.project) AS ledger
		FULL JOIN (
			SELECT rollup.project, sum(rollup.amount) AS amount
			FROM yquota_internal.charge_rollup AS rollup
			WHERE rollup.quarter_hour >= $5 AND rollup.quarter_hour < $6
			GROUP BY rollup.project
		) AS rolled_up USING (project)
		WHERE coalesce(ledger.amount, 0) <> coalesce(rolled_up.amount, 0)
		$query$,
		yquota_internal.ledger_cost_query('project, ', 'rolled_up.starts_at', 'rolled_up.ends_at', true, 'segment.amount',
			'AND NOT (segment.booked_at >= $3 AND age(segment.posted_by) <= age($4))'))
	USING starts, ends, state.booked_from, state.horizon::xid, starts_at, ends_at;
END
$$;
COMMENT ON FUNCTION yquota_internal.verify_rollup() IS
	'Return projects for which charge_rollup differs from the ledger rows that it contains';
