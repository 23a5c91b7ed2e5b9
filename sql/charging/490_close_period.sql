-- Closing billing periods.  Once the end of a period is recorded, no charge crosses it.  Later charges are divided
-- there, and existing charges are settled again.  Closing waits for transactions that post.  Later postings have a
-- later booking time, even if the clock is set back.

CREATE FUNCTION yquota_internal.refuse_while_closing(what text) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	closing timestamptz := (SELECT max(period.until) FROM yquota.closed_period AS period WHERE period.closed_at IS NULL);
BEGIN
	IF closing IS NOT NULL THEN
		RAISE EXCEPTION 'cannot % while the period until % is being closed', what, closing
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call yquota.close_period() with its end until nothing remains.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_while_closing(text) IS
	'Raise an error while a period is being closed';

CREATE FUNCTION yquota_internal.wait_for_postings() RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.lock_briefly('LOCK TABLE ONLY yquota.container_event, ONLY yquota.charge, yquota.reservation_charge IN SHARE ROW EXCLUSIVE MODE', 120);
END
$$;
COMMENT ON FUNCTION yquota_internal.wait_for_postings() IS
	'Wait for transactions that post to the ledgers.  No other transaction can post until this one ends';

CREATE FUNCTION yquota_internal.begin_closing(period_end timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	last yquota.closed_period;
BEGIN
	SELECT * INTO last FROM yquota.closed_period AS period ORDER BY period.until DESC LIMIT 1;
	IF period_end <= last.until THEN
		RAISE EXCEPTION 'cannot close a period that ends at %', period_end
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('Periods are closed until %s.', last.until);
	ELSIF last.until IS NOT NULL AND last.closed_at IS NULL THEN
		RAISE EXCEPTION 'period until % is being closed', last.until
			USING ERRCODE = 'object_not_in_prerequisite_state',
				HINT = 'Call yquota.close_period() with its end until nothing remains.';
	ELSIF period_end > yquota.statement_clock() THEN
		RAISE EXCEPTION 'cannot close a period before it ends at %', period_end
			USING ERRCODE = 'invalid_parameter_value';
	ELSIF period_end < yquota_internal.archive_horizon() THEN
		RAISE EXCEPTION 'cannot close a period that ends before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Charges that ended before it have left the database.';
	END IF;
	PERFORM yquota_internal.wait_for_postings();
	INSERT INTO yquota.closed_period (until, begun_at) VALUES (period_end, yquota.clock());
	-- make every session read the period before it settles anything, by a change that affects no amount
	PERFORM yquota_internal.note_pricing_change('infinity', format('period until %s is being closed', yquota_internal.instant_text(period_end)));
END
$$;
COMMENT ON FUNCTION yquota_internal.begin_closing(timestamptz) IS
	'Record the end of a period, which no charge will cross from then on';

CREATE FUNCTION yquota_internal.more_remain_at_period_end(period_end timestamptz, max_containers bigint) RETURNS boolean
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT count(*) >= max_containers
			FROM (SELECT DISTINCT unsettled.container_id
				  FROM yquota_internal.unsettled_at_period_end AS unsettled
				  WHERE unsettled.until = period_end
				  LIMIT max_containers) AS due);
COMMENT ON FUNCTION yquota_internal.more_remain_at_period_end(timestamptz, bigint) IS
	'Tell whether at least the given number of containers that ran when a period ended have not been settled';

CREATE FUNCTION yquota_internal.settle_period_end(period_end timestamptz, max_containers bigint) RETURNS bigint
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	batch text[];
BEGIN
	SELECT array_agg(due.container_id ORDER BY due.container_id) INTO batch
	FROM (SELECT DISTINCT unsettled.container_id
		  FROM yquota_internal.unsettled_at_period_end AS unsettled
		  WHERE unsettled.until = period_end
		  ORDER BY 1 LIMIT max_containers) AS due;
	PERFORM yquota_internal.settle_again(batch);
	RETURN coalesce(cardinality(batch), 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.settle_period_end(timestamptz, bigint) IS
	'Settle some of the containers that ran when a period ended.  Returns how many were settled';

CREATE FUNCTION yquota_internal.booked_cost(
	"from" timestamptz, "to" timestamptz, by text[], as_booked timestamptz,
	booked_after timestamptz DEFAULT '-infinity', of_projects text[] DEFAULT NULL)
	RETURNS TABLE (project text, username text, queue text, application_id text,
				   execution_type yquota.execution_type, node text, container_id text,
				   amount numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	SET plan_cache_mode = force_custom_plan
	AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY
	SELECT key.project, key.username, key.queue, key.application_id, key.execution_type, key.node,
		   key.container_id, trim_scale(sum(key.amount))
	FROM (SELECT CASE WHEN 'project' = ANY (by) THEN segment.project END AS project,
				 CASE WHEN 'username' = ANY (by) THEN segment.username END AS username,
				 CASE WHEN 'queue' = ANY (by) THEN segment.queue END AS queue,
				 CASE WHEN 'application_id' = ANY (by) THEN segment.application_id END AS application_id,
				 CASE WHEN 'execution_type' = ANY (by) THEN segment.execution_type END AS execution_type,
				 CASE WHEN 'node' = ANY (by) THEN segment.node END AS node,
				 CASE WHEN 'container_id' = ANY (by) THEN segment.container_id END AS container_id,
				 segment.amount
		  FROM yquota_internal.settled_segment AS segment
		  WHERE segment."from" >= booked_cost."from" AND segment."from" < booked_cost."to"
			AND segment."to" <= booked_cost."to" AND segment.booked_at <= as_booked
			AND segment.booked_at > booked_cost.booked_after
			AND (of_projects IS NULL OR segment.project = ANY (of_projects))
		  UNION ALL
		  SELECT CASE WHEN 'project' = ANY (by) THEN archived.project END,
				 CASE WHEN 'username' = ANY (by) THEN archived.username END,
				 CASE WHEN 'queue' = ANY (by) THEN archived.queue END,
				 CASE WHEN 'application_id' = ANY (by) THEN archived.application_id END,
				 CASE WHEN 'execution_type' = ANY (by) THEN archived.execution_type END,
				 NULL, NULL, archived.amount
		  FROM yquota_internal.readable_archived_cost AS archived
		  WHERE archived.period_from >= booked_cost."from" AND archived.period_from < booked_cost."to"
			AND archived.booked_after < as_booked
			AND archived.booked_after >= booked_cost.booked_after
			AND (of_projects IS NULL OR archived.project = ANY (of_projects))) AS key
	GROUP BY 1, 2, 3, 4, 5, 6, 7;
END
$$;
COMMENT ON FUNCTION yquota_internal.booked_cost(timestamptz, timestamptz, text[], timestamptz, timestamptz, text[]) IS
	'Return the cost between ends of periods, from rows that were booked after booked_after and not later than as_booked.  Only projects that the calling role may see count, and only the given ones (NULL: all)';

CREATE FUNCTION yquota_internal.check_archived_bill(by text[], as_booked timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	PERFORM yquota_internal.check_archived_report('{}', by);
	IF isfinite(as_booked)
		AND NOT EXISTS (SELECT FROM yquota.closed_period AS period WHERE period.closed_at = as_booked) THEN
		RAISE EXCEPTION 'window begins before the archive horizon at %', yquota_internal.archive_horizon()
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The bookings by %s of archived charges are known for bills only.', as_booked),
				HINT = 'Use the closed_at of a period, or infinity, as as_booked.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_archived_bill(text[], timestamptz) IS
	'Refuse a bill of archived periods if archived_cost has too little detail for it';

CREATE FUNCTION yquota_internal.check_booked_window("from" timestamptz, "to" timestamptz, as_booked timestamptz)
	RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF "from" <> '-infinity'
		AND NOT EXISTS (SELECT FROM yquota.closed_period AS period WHERE period.until = check_booked_window."from")
		OR NOT EXISTS (SELECT FROM yquota.closed_period AS period
					   WHERE period.until = check_booked_window."to" AND period.closed_at <= as_booked)
	THEN
		RAISE EXCEPTION 'window from % to % does not consist of periods closed by %', "from", "to", as_booked
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'Bookings by an instant are known only for whole periods that were closed by then.',
				HINT = 'Periods end at the rows of yquota.closed_period; a bill is booked at its closed_at, and the first one begins at ''-infinity''.';
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_booked_window(timestamptz, timestamptz, timestamptz) IS
	'Refuse a window if the ledger does not show its costs as they were booked';

CREATE VIEW yquota_internal.period AS
	SELECT lag(period.until, 1, '-infinity') OVER (ORDER BY period.until) AS starts_at,
		   period.until, period.closed_at, period.amount
	FROM yquota.closed_period AS period;
COMMENT ON VIEW yquota_internal.period IS 'Closed periods, with the instants at which they begin';

CREATE FUNCTION yquota_internal.period_amounts(starts_at timestamptz, period_end timestamptz, booked_until timestamptz)
	RETURNS TABLE (project text, amount numeric)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT booked.project, trim_scale(sum(booked.amount))
		FROM (SELECT charge.project, charge.amount
			  FROM yquota.charge
			  WHERE charge."from" >= starts_at AND charge."from" < period_end
				AND charge."to" <= period_end AND charge.booked_at <= booked_until
			  UNION ALL
			  SELECT reserved.project, reserved.amount
			  FROM yquota.reservation_charge AS reserved
			  WHERE reserved."from" >= starts_at AND reserved."from" < period_end
				AND reserved."to" <= period_end AND reserved.booked_at <= booked_until
			  UNION ALL
			  SELECT archived.project, archived.amount
			  FROM yquota_internal.archived_cost AS archived
			  WHERE archived.period_from >= starts_at AND archived.period_from < period_end
				AND archived.booked_after < booked_until) AS booked
		GROUP BY booked.project;
$$;
COMMENT ON FUNCTION yquota_internal.period_amounts(timestamptz, timestamptz, timestamptz) IS
	'Return the cost of each project in a period, from rows that were booked up to an instant';

CREATE FUNCTION yquota_internal.period_amount(starts_at timestamptz, period_end timestamptz, booked_until timestamptz)
	RETURNS numeric
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT coalesce(trim_scale(sum(booked.amount)), 0)
			FROM yquota_internal.period_amounts(starts_at, period_end, booked_until) AS booked);
COMMENT ON FUNCTION yquota_internal.period_amount(timestamptz, timestamptz, timestamptz) IS
	'Return the cost of all projects in a period, from rows that were booked up to an instant';

-- A row is divided where calendars open or close.  The first part contains the rest of the booked amount.  The parts
-- therefore add up to the bill.  If history was archived before its period was closed, a quarter-hour belongs to the
-- calendars that were open at its start.
CREATE FUNCTION yquota_internal.bill_calendars(starts_at timestamptz, period_end timestamptz, booked_until timestamptz) RETURNS void
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	SET jit = off
	AS $$
#variable_conflict use_variable
DECLARE
	starts timestamptz[];
	names text[];
BEGIN
	SELECT array_agg(open.starts_at ORDER BY open.starts_at), array_agg(coalesce(open.calendars, '') ORDER BY open.starts_at)
	INTO starts, names
	FROM yquota_internal.open_calendars(starts_at, period_end) AS open;
	IF names <@ '{""}' THEN
		RETURN;
	END IF;
	INSERT INTO yquota_internal.billed_calendar (until, project, calendars, amount)
	WITH billed AS NOT MATERIALIZED (
		SELECT entry.*, width_bucket(entry."from", starts) AS first_part,
			   width_bucket(yquota_internal.last_instant(entry."from", entry."to"), starts) AS last_part
		FROM yquota_internal.ledger_row AS entry
		WHERE entry."from" >= starts_at AND entry."from" < period_end
		  AND entry."to" <= period_end AND entry.booked_at <= booked_until
	), part AS (
		SELECT whole.project, whole.first_part AS number, whole.amount FROM billed AS whole
		UNION ALL
		SELECT divided.project, side.number, side.amount
		FROM billed AS divided
		CROSS JOIN LATERAL generate_series(divided.first_part + 1, divided.last_part) AS later (number)
		CROSS JOIN LATERAL (
			SELECT yquota_internal.segment_cost(divided.allocation, divided.project, divided.application_id, divided.username, divided.queue,
				divided.node, divided."from", divided.execution_type, divided.waiting_factor, divided.corrects, divided.given_back,
				starts[later.number], least(divided."to", coalesce(starts[later.number + 1], 'infinity'))) AS amount
			OFFSET 0) AS cost
		CROSS JOIN LATERAL (VALUES (later.number, cost.amount), (divided.first_part, - cost.amount)) AS side (number, amount)
		WHERE divided.first_part < divided.last_part
		UNION ALL
		SELECT archived.project, greatest(width_bucket(archived.quarter_hour, starts), 1), archived.amount
		FROM yquota_internal.archived_cost AS archived
		WHERE archived.period_from >= starts_at AND archived.period_from < period_end
		  AND archived.booked_after < booked_until
	)
	SELECT period_end, part.project, names[part.number], trim_scale(sum(part.amount))
	FROM part
	GROUP BY part.project, names[part.number]
	HAVING sum(part.amount) <> 0;
END
$$;
COMMENT ON FUNCTION yquota_internal.bill_calendars(timestamptz, timestamptz, timestamptz) IS
	'Divide the charges of a period by the calendars that were open, and store the sums for bills.  Only rows that were booked up to an instant are on the bill';

CREATE FUNCTION yquota_internal.bill_period_name(starts_at timestamptz, ends_at timestamptz, zone text) RETURNS text
	LANGUAGE sql STABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	RETURN (SELECT CASE WHEN first.day IS NOT DISTINCT FROM date_trunc('month', last.day)::date
							 AND extract(day FROM last.day + 1) = 1
						THEN to_char(last.day, 'YYYY-MM') ELSE to_char(last.day, 'YYYY-MM-DD') END
			FROM (SELECT yquota_internal.billing_day(ends_at, zone) - 1 AS day) AS last
			CROSS JOIN LATERAL (
				SELECT CASE WHEN isfinite(starts_at) THEN yquota_internal.billing_day(starts_at, zone)
							ELSE date_trunc('month', last.day)::date END AS day) AS first);
COMMENT ON FUNCTION yquota_internal.bill_period_name(timestamptz, timestamptz, text) IS
	'Return the part of a bill''s number that names the period: the month, such as 2026-03, or the last day of any other period.  The first period is named by its last month';

CREATE FUNCTION yquota_internal.issue_bills(period_end timestamptz, issued_at timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota.issued_bill (project, ends_at, number, cluster, starts_at, issued_at, addressee, cost_centre,
										currency, symbol, credits_per_unit, places)
		SELECT project.name, period_end,
			   concat_ws('/', period.name, (SELECT setting.cluster_name FROM yquota.cluster_setting AS setting), project.name),
			   yquota.cluster_name(), period.starts_at, issue_bills.issued_at, project.billing_contact, project.cost_centre,
			   (currency.in_force).code, (currency.in_force).symbol,
			   coalesce((currency.in_force).credits_per_unit, 1), coalesce((currency.in_force).places, 2)
		FROM (SELECT before.starts_at,
					 yquota_internal.bill_period_name(before.starts_at, period_end, yquota_internal.billing_timezone()) AS name
			  FROM (SELECT coalesce(max(last.until), '-infinity') AS starts_at
					FROM yquota.closed_period AS last WHERE last.until < period_end) AS before
			  OFFSET 0) AS period
		CROSS JOIN (SELECT yquota_internal.currency_at(period_end - interval '1 microsecond') AS in_force OFFSET 0) AS currency
		CROSS JOIN yquota.project;
$$;
COMMENT ON FUNCTION yquota_internal.issue_bills(timestamptz, timestamptz) IS
	'Issue a bill of a period to each project';

CREATE FUNCTION yquota_internal.finish_closing(period_end timestamptz) RETURNS timestamptz
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	now_at timestamptz;
	booked_until timestamptz;
BEGIN
	-- settle what was posted by transactions that had not seen the end of the period
	WHILE yquota_internal.settle_period_end(period_end, 100000) > 0 LOOP
	END LOOP;
	PERFORM yquota_internal.settle_reservations_at(period_end);
	now_at := yquota.clock();
	booked_until := greatest(now_at, (SELECT max(charge.booked_at) FROM yquota.charge WHERE charge.booked_at > now_at),
							 (SELECT max(reserved.booked_at) FROM yquota.reservation_charge AS reserved WHERE reserved.booked_at > now_at));
	UPDATE yquota.closed_period AS closing
	SET closed_at = booked_until,
		amount = yquota_internal.period_amount(period.starts_at, period_end, booked_until)
	FROM yquota_internal.period AS period
	WHERE closing.until = period_end AND period.until = period_end;
	PERFORM yquota_internal.bill_calendars(period.starts_at, period_end, booked_until)
	FROM yquota_internal.period AS period
	WHERE period.until = period_end;
	PERFORM yquota_internal.issue_bills(period_end, now_at);
	-- all later postings get a later booking time
	PERFORM yquota_internal.note_pricing_change('infinity', format('period until %s closed', yquota_internal.instant_text(period_end)));
	RETURN booked_until;
END
$$;
COMMENT ON FUNCTION yquota_internal.finish_closing(timestamptz) IS
	'Close a period after wait_for_postings().  Returns an instant at or after the booking time of its last charge';

-- A grant that begins with the next period, or moves to another project then, is on the next bill.  A grant that
-- expires at the end of this period loses its rest on this bill.
CREATE FUNCTION yquota_internal.bill_credit(period_end timestamptz) RETURNS void
	LANGUAGE sql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
		INSERT INTO yquota_internal.billed_credit (until, project, grant_id, granted, lost, reason)
		WITH begun AS MATERIALIZED (
			SELECT life.project, life.grant_id, life.amount, life.leaves_at, life.loses_at
			FROM yquota_internal.grant_life AS life
			WHERE life.begins_at < period_end
		)
		SELECT period_end, change.project, change.grant_id, trim_scale(sum(change.granted)), trim_scale(sum(change.lost)),
			   (SELECT given.reason FROM yquota.quota_grant AS given WHERE given.grant_id = change.grant_id)
		FROM (
			SELECT counted.project, counted.grant_id, counted.amount AS granted, 0 AS lost FROM begun AS counted
			WHERE counted.leaves_at >= period_end
			UNION ALL
			SELECT ended.project, ended.grant_id, 0, outcome.lost
			FROM (SELECT begun.project, max(begun.loses_at) AS at
				  FROM begun
				  WHERE begun.loses_at <= period_end AND begun.leaves_at <> period_end
				  GROUP BY begun.project) AS last_end
			CROSS JOIN LATERAL yquota_internal.grant_outcome(last_end.project, last_end.at, period_end) AS outcome
			JOIN begun AS ended ON ended.project = last_end.project AND ended.grant_id = outcome.grant_id
			WHERE outcome.lost IS NOT NULL
			UNION ALL
			SELECT billed.project, billed.grant_id, - billed.granted, - billed.lost FROM yquota_internal.billed_credit AS billed
		) AS change
		GROUP BY change.project, change.grant_id
		HAVING sum(change.granted) <> 0 OR sum(change.lost) <> 0;
$$;
COMMENT ON FUNCTION yquota_internal.bill_credit(timestamptz) IS
	'Record for the bills of a period how the credit of projects has changed since the previous bills, according to the present books';

-- No bill may have an amount that a later call would correct.  Another transaction may have posted charges without
-- seeing a new price, and may have committed before this function could block it.  The function then undoes its own
-- work, and the next call corrects these charges.
CREATE FUNCTION yquota_internal.seal_period(period_end timestamptz, max_containers integer, OUT settled bigint, OUT closed_at timestamptz)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	billed_before xid8;
BEGIN
	-- read the ledger before blocking statements that post
	billed_before := yquota_internal.bill_charges(period_end);
	PERFORM yquota_internal.bill_credit(period_end);
	PERFORM yquota_internal.wait_for_postings();
	IF yquota_internal.uncorrected_since() < period_end THEN
		RAISE EXCEPTION 'late prices must be corrected first' USING ERRCODE = 'serialization_failure';
	END IF;
	settled := yquota_internal.settle_period_end(period_end, max_containers);
	closed_at := yquota_internal.finish_closing(period_end);
	PERFORM yquota_internal.bill_later_charges(period_end, billed_before);
EXCEPTION WHEN serialization_failure THEN
	settled := 0;
	closed_at := NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.seal_period(timestamptz, integer) IS
	'Close a period if at most the given number of its containers remain to be settled.  If late prices have to be corrected first, closed_at is NULL and nothing is done';

CREATE FUNCTION yquota_internal.close_period_at(period_end timestamptz, max_containers integer, OUT settled bigint, OUT closed_at timestamptz)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
DECLARE
	found_period yquota.closed_period;
BEGIN
	PERFORM yquota_internal.require_read_committed('close a period');
	PERFORM yquota_internal.refuse_while_deferred('close a period');
	PERFORM yquota_internal.lock_pricing();
	SELECT * INTO found_period FROM yquota.closed_period AS period WHERE period.until = period_end;
	IF NOT FOUND THEN
		PERFORM yquota_internal.begin_closing(period_end);
	END IF;
	settled := 0;
	closed_at := found_period.closed_at;
	IF closed_at IS NOT NULL THEN
		RETURN;
	ELSIF yquota_internal.uncorrected_since() < period_end THEN
		LOCK TABLE ONLY yquota.container_event, yquota.reservation_charge IN ROW EXCLUSIVE MODE;
		PERFORM yquota_internal.compact_counters();
		settled := yquota_internal.correct_late_prices();
	ELSIF yquota_internal.more_remain_at_period_end(period_end, max_containers) THEN
		-- take this lock first; otherwise this transaction and one that sends events could wait for each other
		LOCK TABLE ONLY yquota.container_event IN ROW EXCLUSIVE MODE;
		settled := yquota_internal.settle_period_end(period_end, max_containers);
	ELSE
		SELECT sealed.settled, sealed.closed_at INTO settled, closed_at
		FROM yquota_internal.seal_period(period_end, max_containers) AS sealed;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.close_period_at(timestamptz, integer) IS
	'Return the result of close_period() for any instant';

CREATE FUNCTION yquota_internal.check_period_end(period_end timestamptz) RETURNS void
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	zone CONSTANT text := yquota_internal.billing_timezone();
	nearest record;
BEGIN
	SELECT day.first_day, start.at INTO nearest
	FROM (SELECT yquota_internal.billing_day(period_end, zone) + days.number AS first_day FROM generate_series(0, 1) AS days (number)) AS day
	CROSS JOIN LATERAL (SELECT yquota_internal.billing_day_start(day.first_day, zone) AS at) AS start
	ORDER BY abs(extract(epoch FROM start.at - period_end)), start.at
	LIMIT 1;
	IF nearest.at <> period_end THEN
		RAISE EXCEPTION 'cannot close a period that ends at %, in the middle of a day', period_end
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('In %s, the time zone of bills, this is %s.', zone, period_end AT TIME ZONE zone),
				HINT = format('Pass date %L for the nearest day, which begins at %s, or call close_month() for a month.',
							  nearest.first_day, nearest.at);
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_period_end(timestamptz) IS
	'Refuse the end of a period if no day of the time zone of bills begins at that instant.  The error names the nearest day';

CREATE FUNCTION yquota.close_period(
	until timestamptz, max_containers integer DEFAULT 10000,
	OUT settled bigint, OUT closed_at timestamptz)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_column
BEGIN
	IF close_period.until IS NULL OR close_period.max_containers IS NULL THEN
		RAISE EXCEPTION 'end of a period and number of containers must not be null'
			USING ERRCODE = 'null_value_not_allowed';
	ELSIF NOT isfinite(close_period.until) THEN
		RAISE EXCEPTION 'end of a period must be finite'
			USING ERRCODE = 'datetime_field_overflow';
	ELSIF close_period.max_containers < 1 THEN
		RAISE EXCEPTION 'number of containers must be positive'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	-- keep the time zone of bills from changing
	PERFORM yquota_internal.lock_pricing();
	PERFORM yquota_internal.check_period_end(close_period.until);
	SELECT closing.settled, closing.closed_at INTO settled, closed_at
	FROM yquota_internal.close_period_at(close_period.until, close_period.max_containers) AS closing;
END
$$;
COMMENT ON FUNCTION yquota.close_period(timestamptz, integer) IS
	'Close the billing period that ends at an instant, which must be the beginning of a day in the time zone of bills.  Settles at most the given number of the containers that were running at that instant, and closes the period when none remains.  Call it again while closed_at is NULL. Later postings are booked in the next period';

CREATE FUNCTION yquota.close_period(until date, max_containers integer DEFAULT 10000, OUT settled bigint, OUT closed_at timestamptz)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.close_period(yquota_internal.billing_day_start(until, yquota_internal.billing_timezone()), max_containers);
$$;
COMMENT ON FUNCTION yquota.close_period(date, integer) IS
	'Close the billing period that ends where a date begins in the time zone of bills';

CREATE FUNCTION yquota.close_month(month date, max_containers integer DEFAULT 10000, OUT settled bigint, OUT closed_at timestamptz)
	LANGUAGE sql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT * FROM yquota.close_period(yquota_internal.next_period_start('month', yquota_internal.period_start('month', month)), max_containers);
$$;
COMMENT ON FUNCTION yquota.close_month(date, integer) IS
	'Close the billing period that ends with the month of a date in the time zone of bills';

-- Only nested loops can join the ends of periods with charges, because the ends lie within charges.  verify()
-- forbids nested loops.  The planner would therefore start parallel workers for this join, even for few rows.
CREATE FUNCTION yquota_internal.verify_periods()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	SET enable_nestloop = on
	BEGIN ATOMIC
	SELECT 'charge of a reservation crosses the end of a closed period', crossing.reservation_id,
		   format('posted at %s', period.until), NULL
	FROM yquota.closed_period AS period
	JOIN (SELECT c.reservation_id, c."from", c."to" FROM yquota_internal.reservation_charge_in_effect AS c
		  UNION ALL
		  SELECT a.reservation_id, a.settled_until, 'infinity' FROM yquota_internal.accruing_reservation AS a) AS crossing
		ON crossing."from" < period.until AND crossing."to" > period.until
	WHERE period.closed_at IS NOT NULL AND period.until <= yquota.statement_clock()
	UNION ALL
	SELECT 'charge crosses the end of a closed period', unsettled.container_id,
		   format('settled at %s', unsettled.until), NULL
	FROM yquota_internal.unsettled_at_period_end AS unsettled
	JOIN yquota.closed_period AS period ON period.until = unsettled.until AND period.closed_at IS NOT NULL
	UNION ALL
	SELECT 'bill of a closed period differs from the ledger', format('period until %s', period.until),
		   booked.amount::text, period.amount::text
	FROM yquota_internal.period AS period
	CROSS JOIN LATERAL (SELECT yquota_internal.period_amount(period.starts_at, period.until, period.closed_at) AS amount
						OFFSET 0) AS booked
	WHERE period.closed_at IS NOT NULL
	  AND period.amount <> booked.amount
	UNION ALL
	SELECT 'charges of a bill by calendar differ from the ledger', format('%s in the period until %s', compared.project, compared.until),
		   trim_scale(compared.booked)::text, trim_scale(compared.divided)::text
	FROM (SELECT period.until, side.project, sum(side.booked) AS booked, sum(side.divided) AS divided
		  FROM (SELECT DISTINCT billed.until FROM yquota_internal.billed_calendar AS billed) AS known
		  JOIN yquota_internal.period AS period USING (until)
		  CROSS JOIN LATERAL (
			SELECT amounts.project, amounts.amount AS booked, 0 AS divided
			FROM yquota_internal.period_amounts(period.starts_at, period.until, period.closed_at) AS amounts
			UNION ALL
			SELECT billed.project, 0, billed.amount
			FROM yquota_internal.billed_calendar AS billed
			WHERE billed.until = period.until) AS side
		  GROUP BY period.until, side.project) AS compared
	WHERE compared.booked <> compared.divided
	UNION ALL
	SELECT 'cost of archived history differs from its opening balance', opening.project,
		   trim_scale(opening.charged)::text, trim_scale(archived.amount)::text
	FROM (SELECT DISTINCT ON (balance.project) balance.project, balance.charged
		  FROM yquota.opening_balance AS balance
		  ORDER BY balance.project, balance.archived_through DESC) AS opening
	LEFT JOIN (SELECT cost.project, sum(cost.amount) AS amount
			   FROM yquota_internal.archived_cost AS cost GROUP BY cost.project) AS archived USING (project)
	WHERE archived.amount IS DISTINCT FROM opening.charged;
	END;
COMMENT ON FUNCTION yquota_internal.verify_periods() IS
	'Return differences between closed periods, the ledger, and the sums of the archived ledger';

-- The check is exact only for an instant on a full quarter-hour.
CREATE FUNCTION yquota_internal.verify_archived_cost_since()
	RETURNS TABLE (problem text, subject text, expected text, found text)
	LANGUAGE sql STABLE PARALLEL RESTRICTED
	BEGIN ATOMIC
	SELECT 'cost of archived history since an instant differs from its quarter-hours',
		   concat_ws(' ', bound.project, nullif(bound.application_id, ''), 'since', bound.since),
		   concat_ws(' to ', trim_scale(bound.least), nullif(trim_scale(bound.most), trim_scale(bound.least))),
		   bound.kept::text
	FROM (WITH kept AS MATERIALIZED (
			-- ignore rows that no grant or hold needs any more; the next archiving deletes them
			SELECT since.* FROM yquota_internal.archived_cost_since AS since
			JOIN (SELECT DISTINCT instant.project, instant.application_id, instant.at FROM yquota_internal.instant_of_credit AS instant) AS instant
				ON instant.project = since.project AND instant.application_id = since.application_id AND instant.at = since.since
		  )
		  SELECT known.project, known.application_id, known.since, known.kept,
				 min(known.amount) AS least, max(known.amount) AS most
		  FROM (SELECT point.project, point.application_id, point.since, point.kept,
					   sum(point.amount) OVER (PARTITION BY point.project, point.application_id
											   ORDER BY point.quarter_hour DESC) AS amount
				FROM (SELECT cost.project, '' COLLATE "C" AS application_id, NULL::timestamptz AS since,
							 NULL::numeric AS kept, cost.quarter_hour, cost.amount
					  FROM yquota_internal.archived_cost AS cost
					  UNION ALL
					  SELECT cost.project, cost.application_id, NULL, NULL, cost.quarter_hour, cost.amount
					  FROM yquota_internal.archived_cost AS cost
					  WHERE (cost.project, cost.application_id) IN (
						SELECT kept.project, kept.application_id FROM kept WHERE kept.application_id <> '')
					  UNION ALL
					  SELECT cost.project, cost.reservation_id, NULL, NULL, cost.quarter_hour, cost.amount
					  FROM yquota_internal.archived_cost AS cost
					  WHERE (cost.project, cost.reservation_id) IN (SELECT kept.project, kept.application_id FROM kept)
					  UNION ALL
					  SELECT cost.project, reserved.reservation_id, NULL, NULL, cost.quarter_hour, cost.amount
					  FROM yquota_internal.archived_cost AS cost
					  JOIN (SELECT DISTINCT hold.project, hold.reservation_id, hold.queue FROM yquota.hold
							WHERE hold.reservation_id IS NOT NULL) AS reserved
						ON reserved.project = cost.project AND reserved.queue = cost.queue
					  UNION ALL
					  SELECT kept.project, kept.application_id, kept.since, kept.amount, bound.quarter_hour, 0
					  FROM kept
					  CROSS JOIN LATERAL (VALUES (yquota_internal.quarter_hour(kept.since)),
												 (yquota_internal.next_quarter_hour(kept.since))) AS bound (quarter_hour)
					 ) AS point
			   ) AS known
		  WHERE known.since IS NOT NULL
		  GROUP BY 1, 2, 3, 4) AS bound
	WHERE bound.kept NOT BETWEEN bound.least AND bound.most;
	END;
COMMENT ON FUNCTION yquota_internal.verify_archived_cost_since() IS
	'Return differences between the cost that is stored since instants of archived time and the archived cost per quarter-hour';

CREATE VIEW yquota.billing_period WITH (security_barrier) AS
	SELECT period.starts_at, period.until AS ends_at, period.closed_at
	FROM yquota_internal.period AS period;
COMMENT ON VIEW yquota.billing_period IS
	'Billing periods that have been closed or are being closed. Every role that gets bills may read the view';
COMMENT ON COLUMN yquota.billing_period.starts_at IS 'end of the previous period; -infinity for the first period';
COMMENT ON COLUMN yquota.billing_period.closed_at IS
	'value of as_booked in cost_between() for the bill of the period; NULL while the period is being closed';
