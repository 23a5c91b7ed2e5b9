--
-- A plan over time for people: an HTML page with charts in the style of report_html(), and
-- lines of text for psql.  The C code computes the columns (src/reservation/plan_columns.c).
--

CREATE TYPE yquota_internal.plan_place AS (
	place integer,
	reservation_id text,
	reservations integer,
	share double precision,
	resource_name text,
	capacity bigint,
	amounts double precision[],
	highest bigint[]
);
COMMENT ON TYPE yquota_internal.plan_place IS
	'Resource over time, in columns of equal width, of one reservation, or of the reservations that share the last place.  Place 0 is the whole plan';
COMMENT ON COLUMN yquota_internal.plan_place.reservation_id IS 'NULL: several reservations';
COMMENT ON COLUMN yquota_internal.plan_place.share IS 'fraction of the plan over the whole time, by the resource calculator; NULL if the plan has no capacity';
COMMENT ON COLUMN yquota_internal.plan_place.capacity IS 'capacity of the plan now, native units';
COMMENT ON COLUMN yquota_internal.plan_place.amounts IS 'averages of the columns, native units';
COMMENT ON COLUMN yquota_internal.plan_place.highest IS 'largest amount at any instant of each column, native units; only for the whole plan';

CREATE FUNCTION yquota_internal.plan_columns(queue text, "from" timestamptz, "to" timestamptz, columns integer, places integer)
	RETURNS SETOF yquota_internal.plan_place
	LANGUAGE c STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_plan_columns';
COMMENT ON FUNCTION yquota_internal.plan_columns(text, timestamptz, timestamptz, integer, integer) IS
	'Return a plan over time.  Each of the reservations with the largest shares has its own place; all other reservations share the last place';

CREATE FUNCTION yquota_internal.plan_window("from" timestamptz, "to" timestamptz, OUT "from" timestamptz, OUT "to" timestamptz)
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT date_trunc('milliseconds', start.at), date_trunc('milliseconds', coalesce(plan_window."to", start.at + interval '24 hours'))
		FROM (SELECT coalesce(plan_window."from", date_trunc('hour', yquota.statement_clock())) AS at) AS start;
$$;
COMMENT ON FUNCTION yquota_internal.plan_window(timestamptz, timestamptz) IS
	'Return the time that a picture of a plan shows, in whole milliseconds.  NULL arguments mean a day from the present full hour';

CREATE FUNCTION yquota_internal.plan_place_name(reservation_id text, reservations integer) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT CASE WHEN plan_place_name.reservation_id IS NULL THEN format('%s others', reservations)
					ELSE (SELECT concat_ws(', ', d.reservation_name, d.reservation_id, d.username)
						  FROM yquota.reservation_definition AS d
						  WHERE d.reservation_id = plan_place_name.reservation_id AND d.ended_at IS NULL) END;
$$;
COMMENT ON FUNCTION yquota_internal.plan_place_name(text, integer) IS 'Return the name of a place of a plan in a picture';

--
-- The HTML page
--

CREATE FUNCTION yquota_internal.plan_unit(resource_name text, OUT name text, OUT size numeric)
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	BEGIN ATOMIC
	SELECT CASE WHEN unit_size = 1 THEN resource_name ELSE yquota_internal.resource_unit(resource_name) END, unit_size
	FROM yquota_internal.resource_unit_size(resource_name) AS unit_size;
	END;
COMMENT ON FUNCTION yquota_internal.plan_unit(text) IS 'Return the unit in which a plan shows a resource, and its size in native units';

CREATE FUNCTION yquota_internal.plan_amount(amount numeric, resource_name text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN (SELECT concat(yquota_internal.number_text(amount / unit.size), ' ', yquota_internal.html(unit.name)) FROM yquota_internal.plan_unit(resource_name) AS unit);
COMMENT ON FUNCTION yquota_internal.plan_amount(numeric, text) IS 'Format an amount of a resource with its unit';

CREATE FUNCTION yquota_internal.plan_percent(amount numeric, capacity bigint, resource_name text) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN CASE WHEN capacity > 0 THEN trim_scale(round(100 * amount / capacity, 1)) || ' %'
				ELSE yquota_internal.plan_amount(amount, resource_name) END;
COMMENT ON FUNCTION yquota_internal.plan_percent(numeric, bigint, text) IS
	'Format an amount in percent of the plan''s capacity; with its unit if the plan has none of the resource';

CREATE TYPE yquota_internal.plan_step AS (
	"from" timestamptz,
	"to" timestamptz,
	amounts numeric[]
);
COMMENT ON TYPE yquota_internal.plan_step IS 'Amounts of a resource that are promised in a range of time';
COMMENT ON COLUMN yquota_internal.plan_step.amounts IS 'native units: the sum, and the amounts of users';

-- A page has room for fifteen users and a sum of the others.
CREATE FUNCTION yquota_internal.plan_users(by_user jsonb[], OUT place bigint, OUT name text, OUT users text[]) RETURNS SETOF record
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT ranked.place, CASE WHEN count(*) > 1 THEN format('%s other users', count(*)) ELSE min(ranked.username) END, array_agg(ranked.username)
		FROM (SELECT found.username, least(16, row_number() OVER (ORDER BY found.username)) AS place
			  FROM (SELECT DISTINCT jsonb_object_keys(promise.users) AS username FROM unnest(by_user) AS promise (users)) AS found) AS ranked
		GROUP BY ranked.place;
$$;
COMMENT ON FUNCTION yquota_internal.plan_users(jsonb[]) IS 'Return the users of promises in the order of their names';

-- The users are left out if there are too many intervals for a page.
CREATE FUNCTION yquota_internal.plan_steps(
	queue text, resource_names text[], "from" timestamptz, "to" timestamptz, OUT resource_name text, OUT users text[], OUT steps yquota_internal.plan_step[])
	RETURNS SETOF record
	LANGUAGE sql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH promise AS MATERIALIZED (
			SELECT p."from", p."to", p.committed, p.by_user FROM yquota.plan_allocation(plan_steps.queue, plan_steps."from", plan_steps."to") AS p
		), username AS MATERIALIZED (
			SELECT u.* FROM (SELECT array_agg(promise.by_user) AS users FROM promise HAVING count(*) <= 1000) AS all_users, yquota_internal.plan_users(all_users.users) AS u
		), amount AS (
			SELECT resource.name, p."from", coalesce(yquota.amount(p.committed, resource.name), 0)
				   || ARRAY(SELECT (SELECT coalesce(sum(yquota.amount((p.by_user ->> member.name)::yquota.resource, resource.name)), 0) FROM unnest(username.users) AS member (name))
							FROM username ORDER BY username.place) AS amounts
			FROM promise AS p CROSS JOIN unnest(resource_names) AS resource (name)
		), turn AS (
			SELECT a.*, a.amounts IS DISTINCT FROM lag(a.amounts) OVER (PARTITION BY a.name ORDER BY a."from") AS turns FROM amount AS a
		), step AS (
			SELECT t.name, t."from", lead(t."from", 1, plan_steps."to") OVER (PARTITION BY t.name ORDER BY t."from") AS "to", t.amounts
			FROM turn AS t WHERE t.turns
		)
		SELECT step.name, ARRAY(SELECT username.name FROM username ORDER BY username.place),
			   array_agg(ROW(step."from", step."to", step.amounts)::yquota_internal.plan_step ORDER BY step."from")
		FROM step GROUP BY step.name;
$$;
COMMENT ON FUNCTION yquota_internal.plan_steps(text, text[], timestamptz, timestamptz) IS
	'Return the promised amounts of resources over time, together and by user.  Neighbouring steps have different amounts';

-- Makes the rows of the chart of a resource.  If there are too many steps for a page, the rows are columns of equal
-- width.
CREATE FUNCTION yquota_internal.plan_rows(
	plan yquota_internal.plan_place, steps yquota_internal.plan_step[], "from" timestamptz, "to" timestamptz) RETURNS yquota_internal.chart_row[]
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT array_agg(ROW(s."from", s."to", ARRAY(
					SELECT native.amount / unit.size
					FROM unnest(ARRAY[s.amounts[1], (plan).capacity] || s.amounts[2:]) WITH ORDINALITY AS native (amount, number)
					ORDER BY native.number))::yquota_internal.chart_row ORDER BY s."from")
		FROM (SELECT step.* FROM unnest(steps) AS step WHERE cardinality(steps) <= 1000
			  UNION ALL
			  SELECT plan_rows."from" + width.one * (c.number - 1), plan_rows."from" + width.one * c.number, ARRAY[c.amount::numeric]
			  FROM unnest((plan).highest) WITH ORDINALITY AS c (amount, number)
			  CROSS JOIN (SELECT (plan_rows."to" - plan_rows."from") / cardinality((plan).highest) AS one) AS width
			  WHERE cardinality(steps) > 1000) AS s
		CROSS JOIN yquota_internal.plan_unit((plan).resource_name) AS unit;
$$;
COMMENT ON FUNCTION yquota_internal.plan_rows(yquota_internal.plan_place, yquota_internal.plan_step[], timestamptz, timestamptz) IS
	'Return the promised amount and the capacity of a resource over time for its chart, and the amounts of users';

CREATE FUNCTION yquota_internal.plan_in_words(
	plan yquota_internal.plan_place, steps yquota_internal.plan_step[], zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT concat('On average ', yquota_internal.plan_percent(mean.amount, (plan).capacity, (plan).resource_name), ' of ',
					  yquota_internal.plan_amount((plan).capacity, (plan).resource_name), ' is promised, at most ',
					  yquota_internal.plan_percent(most.amounts[1], (plan).capacity, (plan).resource_name),
					  CASE WHEN (plan).capacity > 0 THEN concat(' (', yquota_internal.plan_amount(most.amounts[1], (plan).resource_name), ')') END,
					  ', from ', yquota_internal.html_time(most."from", zone), '.',
					  CASE WHEN most.amounts[1] > (plan).capacity THEN ' <strong>That is more than there is: the plan has become smaller.</strong>' END)
		FROM (SELECT s.* FROM unnest(steps) AS s ORDER BY s.amounts[1] DESC, s."from" LIMIT 1) AS most
		CROSS JOIN (SELECT sum(s.amounts[1] * span.seconds) / sum(span.seconds) AS amount
					FROM unnest(steps) AS s
					CROSS JOIN LATERAL (SELECT extract(epoch FROM s."to") - extract(epoch FROM s."from") AS seconds) AS span) AS mean;
$$;
COMMENT ON FUNCTION yquota_internal.plan_in_words(yquota_internal.plan_place, yquota_internal.plan_step[], text) IS
	'Return a sentence about the average and the largest promised amount of a resource, and about the first instant at which it is promised';

CREATE FUNCTION yquota_internal.plan_chart(
	places yquota_internal.plan_place[], resource_name text, users text[], steps yquota_internal.plan_step[], "from" timestamptz, "to" timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		WITH plan AS MATERIALIZED (
			SELECT p AS place, p.capacity, p.highest, unit.name AS unit, unit.size, yquota_internal.plan_rows(p, steps, "from", "to") AS rows,
				   yquota_internal.chart_frame("from", "to", yquota.statement_clock(), zone, 0,
											   greatest(p.capacity, (SELECT max(s.amounts[1]) FROM unnest(steps) AS s), 1) / unit.size) AS frame
			FROM unnest(places) AS p
			CROSS JOIN LATERAL yquota_internal.plan_unit(p.resource_name) AS unit
			WHERE p.place = 0 AND p.resource_name = plan_chart.resource_name
		), line AS (
			SELECT 'M64 ' || string_agg(format(CASE r.number WHEN 1 THEN '%2$s' ELSE 'H%1$sV%2$s' END,
										yquota_internal.chart_x(r."from", plan.frame), yquota_internal.chart_y(r.amounts[1], plan.frame)), '' ORDER BY r.number) || 'H632' AS path
			FROM plan CROSS JOIN LATERAL unnest(plan.rows) WITH ORDINALITY AS r ("from", "to", amounts, number)
		), edges AS (
			SELECT array_agg(round(640 + 5680.0::double precision * number / cardinality(plan.highest)) / 10 ORDER BY number) AS x
			FROM plan CROSS JOIN generate_series(0, cardinality(plan.highest)) AS number
		), areas AS (
			SELECT array_agg(ROW(p.place, p.amounts)::yquota_internal.chart_area) AS places
			FROM unnest(places) AS p
			WHERE p.place > 0 AND p.resource_name = plan_chart.resource_name
		)
		SELECT CASE WHEN (SELECT max(s.amounts[1]) FROM unnest(steps) AS s) > 0
			THEN yquota_internal.chart(resource_name, plan.unit || ' promised', plan.frame, plan.unit,
				concat(yquota_internal.chart_areas(areas.places, edges.x, ((plan.frame).top * plan.size)::double precision),
					   '<path class="highest" d="', line.path, '"/>',
					   yquota_internal.chart_mark(plan.capacity / plan.size, 'capacity ' || yquota_internal.number_text(plan.capacity / plan.size), plan.frame)),
				NULL, '{Promised,Capacity}' || users, plan.rows, true)
				|| concat('<p>', yquota_internal.plan_in_words(plan.place, steps, zone), '</p>')
			ELSE yquota_internal.chart_in_words(resource_name,
				format('Nothing of %s is promised in this time.', yquota_internal.plan_amount(plan.capacity, resource_name))) END
		FROM plan CROSS JOIN line CROSS JOIN areas CROSS JOIN edges;
$$;
COMMENT ON FUNCTION yquota_internal.plan_chart(yquota_internal.plan_place[], text, text[], yquota_internal.plan_step[], timestamptz, timestamptz, text) IS
	'Draw a resource of a plan, with a sentence that says the same in words.  Return only a sentence if nothing is promised';

CREATE FUNCTION yquota_internal.plan_legend(places yquota_internal.plan_place[]) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT yquota_internal.chart_legend(array_agg(yquota_internal.plan_place_name(p.reservation_id, p.reservations) ORDER BY p.place), true)
			|| '<p>The solid line is the promised amount, and the dashed line is the capacity of the plan.</p>'
		FROM (SELECT DISTINCT ON (p.place) p.* FROM unnest(places) AS p WHERE p.place > 0 ORDER BY p.place) AS p;
$$;
COMMENT ON FUNCTION yquota_internal.plan_legend(yquota_internal.plan_place[]) IS 'Draw the legend of areas and reservations';

CREATE FUNCTION yquota_internal.plan_table(places yquota_internal.plan_place[], zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT yquota_internal.html_table('{"",Reservation,User,Project,"Earliest start","Latest end","Repeats every",Requests,"Share of the plan"}',
			string_agg(format('<tr><td class="k">%s</td><td>%s</td><td>%s</td><td>%s</td><td class="t">%s</td><td class="t">%s</td><td class="t">%s</td><td>%s</td><td>%s</td></tr>',
				p.place, CASE WHEN p.reservation_id IS NULL THEN yquota_internal.plan_place_name(NULL, p.reservations)
							  ELSE yquota_internal.html(concat_ws(', ', d.reservation_name, d.reservation_id)) END,
				yquota_internal.html(d.username), yquota_internal.html(d.project),
				yquota_internal.html_time(d.arrival, zone), yquota_internal.html_time(d.deadline, zone),
				yquota_internal.html(d.recurrence::text),
				coalesce((SELECT CASE WHEN count(*) > 1 THEN d.interpreter || ': ' ELSE '' END
											 || string_agg(format('%s &times; %s for %s', r.num_containers, yquota_internal.html(r.capability::text), r.duration)
														   || CASE WHEN r.concurrency > 1 THEN format(', in gangs of %s', r.concurrency) ELSE '' END, '; ' ORDER BY r.number)
									  FROM unnest(d.requests) WITH ORDINALITY AS r (capability, num_containers, duration, concurrency, number)), yquota_internal.html(NULL)),
				coalesce(CASE WHEN p.share < 0.001 THEN '&lt; 0.1 %' ELSE trim_scale(round(100 * p.share::numeric, 1)) || ' %' END, '&ndash;')), '' ORDER BY p.place), 1)
		FROM (SELECT DISTINCT ON (p.place) p.* FROM unnest(places) AS p WHERE p.place > 0 ORDER BY p.place) AS p
		LEFT JOIN yquota.reservation_definition AS d ON d.reservation_id = p.reservation_id AND d.ended_at IS NULL;
$$;
COMMENT ON FUNCTION yquota_internal.plan_table(yquota_internal.plan_place[], text) IS 'Make a table of the reservations that are drawn, with their share of the plan';

CREATE FUNCTION yquota.reservation_plan_html(queue text, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL) RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	-- JIT compilation takes longer than the query
	SET jit = off
	AS $$
DECLARE
	zone CONSTANT text := yquota_internal.billing_timezone();
	shown record;
	places yquota_internal.plan_place[];
	charts text;
BEGIN
	SELECT * INTO shown FROM yquota_internal.plan_window("from", "to");
	SELECT array_agg(p ORDER BY p.place) INTO places FROM yquota_internal.plan_columns(queue, shown."from", shown."to", 568, 8) AS p;
	SELECT string_agg(yquota_internal.plan_chart(places, p.resource_name, s.users, s.steps, shown."from", shown."to", zone), '' ORDER BY p.number) INTO charts
	FROM unnest(places) WITH ORDINALITY AS p (place, reservation_id, reservations, share, resource_name, capacity, amounts, highest, number)
	JOIN yquota_internal.plan_steps(queue, ARRAY(SELECT whole.resource_name FROM unnest(places) AS whole WHERE whole.place = 0), shown."from", shown."to") AS s ON s.resource_name = p.resource_name
	WHERE p.place = 0;
	RETURN yquota_internal.html_page(
		format('Plan of reservations, queue %s', queue),
		format('From %s to %s, time zone %s; written at %s.%s', yquota_internal.html_time(shown."from", zone),
			yquota_internal.html_time(shown."to", zone), zone, yquota_internal.html_time(yquota.statement_clock(), zone),
			CASE WHEN coalesce((SELECT max(p.capacity) FROM unnest(places) AS p), 0) = 0 THEN ' The plan has nothing now: no node is RUNNING, or its queue has no share of the cluster.' END),
		CASE WHEN EXISTS (SELECT FROM unnest(places) AS p WHERE p.place > 0)
			THEN yquota_internal.chart_patterns() || yquota_internal.plan_legend(places) || charts || '<h2>Reservations</h2>' || yquota_internal.plan_table(places, zone)
			ELSE '<p>Nothing is promised in this time.</p>' END);
END
$$;
COMMENT ON FUNCTION yquota.reservation_plan_html(text, timestamptz, timestamptz) IS
	'Return a plan over time as one HTML page: the promised amount of each resource, by reservation, with the capacity of the plan.  NULL arguments mean a day from the present full hour';

--
-- Lines of text
--

CREATE FUNCTION yquota_internal.plan_lines(
	queue text, start timestamptz, stop timestamptz, lines integer, width integer, of_resource text)
	RETURNS TABLE ("from" timestamptz, "to" timestamptz, promised numeric, highest numeric, plan text, reservations text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	shown record;
	places yquota_internal.plan_place[];
	wanted text;
BEGIN
	IF (width BETWEEN 1 AND 1000) IS NOT TRUE OR (lines BETWEEN 1 AND 1000) IS NOT TRUE THEN
		RAISE EXCEPTION 'lines and width must be between 1 and 1000'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT * INTO shown FROM yquota_internal.plan_window(start, stop);
	SELECT array_agg(p ORDER BY p.place) INTO places FROM yquota_internal.plan_columns(queue, shown."from", shown."to", lines, 27) AS p;
	SELECT p.resource_name INTO wanted FROM unnest(places) AS p CROSS JOIN LATERAL (SELECT max(h.amount) AS most FROM unnest(p.highest) AS h (amount)) AS h
	WHERE p.place = 0 AND (p.resource_name = of_resource OR of_resource IS NULL)
	ORDER BY h.most::numeric / nullif(p.capacity, 0) DESC, p.resource_name LIMIT 1;
	IF wanted IS NULL AND of_resource IS NOT NULL THEN
		RAISE EXCEPTION 'plan does not have resource "%"', of_resource
			USING ERRCODE = 'undefined_object';
	END IF;
	RETURN QUERY
	WITH cell AS (
		SELECT p.place, c.number, p.capacity, c.amount::numeric AS amount, p.highest[c.number] AS most, p.reservation_id, p.reservations,
			   CASE WHEN p.reservation_id IS NULL OR p.place > 26 THEN '+' ELSE chr(64 + p.place) END AS letter
		FROM unnest(places) AS p CROSS JOIN LATERAL unnest(p.amounts) WITH ORDINALITY AS c (amount, number)
		WHERE p.resource_name = wanted
	), part AS (
		-- draw nothing beyond twice the capacity
		SELECT c.*, round(plan_lines.width * least(sum(c.amount) OVER stack / nullif(c.capacity, 0), 2))::integer
					- round(plan_lines.width * least((sum(c.amount) OVER stack - c.amount) / nullif(c.capacity, 0), 2))::integer AS letters
		FROM cell AS c WHERE c.place > 0
		WINDOW stack AS (PARTITION BY c.number ORDER BY c.place)
	), bar AS (
		SELECT part.number, string_agg(repeat(part.letter, part.letters), '' ORDER BY part.place) AS letters,
			   string_agg(part.letter || ' ' || yquota_internal.plan_place_name(part.reservation_id, part.reservations), '; ' ORDER BY part.place) FILTER (WHERE part.amount > 0) AS names
		FROM part GROUP BY part.number
	)
	SELECT shown."from" + (shown."to" - shown."from") * ((c.number - 1)::double precision / cardinality(places[1].amounts)),
		   shown."from" + (shown."to" - shown."from") * (c.number::double precision / cardinality(places[1].amounts)),
		   round(100 * c.amount / nullif(c.capacity, 0), 1), round(100 * c.most::numeric / nullif(c.capacity, 0), 1),
		   concat(rpad(left(coalesce(bar.letters, ''), plan_lines.width), plan_lines.width), '|',
				  substr(coalesce(bar.letters, ''), plan_lines.width + 1)), bar.names
	FROM cell AS c LEFT JOIN bar USING (number)
	WHERE c.place = 0
	ORDER BY c.number;
END
$$;
COMMENT ON FUNCTION yquota_internal.plan_lines(text, timestamptz, timestamptz, integer, integer, text) IS
	'Return the result of reservation_plan_text()';

CREATE FUNCTION yquota.reservation_plan_text(
	queue text, "from" timestamptz DEFAULT NULL, "to" timestamptz DEFAULT NULL, lines integer DEFAULT 24, width integer DEFAULT 40, resource_name text DEFAULT NULL)
	RETURNS TABLE ("from" timestamptz, "to" timestamptz, promised numeric, highest numeric, plan text, reservations text)
	LANGUAGE sql STABLE SECURITY DEFINER PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota_internal.plan_lines(queue, reservation_plan_text."from", reservation_plan_text."to", lines, width, resource_name);
$$;
COMMENT ON FUNCTION yquota.reservation_plan_text(text, timestamptz, timestamptz, integer, integer, text) IS
	'Return a plan over time in lines for psql.  Each line has the promised part of the plan''s capacity in percent, average and maximum, for the most promised resource or a given one.  The bar of a line shows each reservation by its letter; | marks the capacity';
