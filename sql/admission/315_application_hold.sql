--
-- Credit that an application holds from its submission on (docs/design.md 1.7, semantics/charging 8.5).
--
-- The last step of a submission computes the amount to hold, and records it with the application.
-- The hold is released when the application ends or its row is removed.
--

CREATE TYPE yquota.container_request AS (
	resource_name text,
	allocation yquota.resource,
	count integer,
	priority integer,
	allocation_request_id bigint,
	relax_locality boolean,
	label text,
	execution_type yquota.execution_type,
	expected_duration interval
);
COMMENT ON TYPE yquota.container_request IS
	'Request of request_containers(), or containers that submit_application() expects.  NULL means any place (*), priority 1, allocation request id -1, relaxed locality, the queue''s default label, GUARANTEED';
COMMENT ON COLUMN yquota.container_request.resource_name IS 'a node, a rack, or * for any place';
COMMENT ON COLUMN yquota.container_request.allocation IS 'size of one container, native units';
COMMENT ON COLUMN yquota.container_request.priority IS 'the smaller number comes first';
COMMENT ON COLUMN yquota.container_request.expected_duration IS 'expected run time of a container, more than 0; NULL: not known; requests ignore it for GUARANTEED containers';

CREATE FUNCTION yquota_internal.check_expected(expected yquota.container_request[]) RETURNS void
	LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	request yquota.container_request;
BEGIN
	FOREACH request IN ARRAY expected LOOP
		IF request.allocation IS NULL OR request.count IS NULL THEN
			RAISE EXCEPTION 'expected containers need an allocation and a count'
				USING ERRCODE = 'null_value_not_allowed';
		ELSIF request.count < 0 THEN
			RAISE EXCEPTION 'number of expected containers is negative'
				USING ERRCODE = 'invalid_parameter_value',
					DETAIL = format('It is %s.', request.count);
		ELSIF request.expected_duration <= '0' OR request.expected_duration > '36500 days' THEN
			RAISE EXCEPTION 'expected duration of a container is not positive, or more than 36500 days'
				USING ERRCODE = 'invalid_parameter_value',
					DETAIL = format('It is %s.', request.expected_duration);
		END IF;
	END LOOP;
END
$$;
COMMENT ON FUNCTION yquota_internal.check_expected(yquota.container_request[]) IS
	'Fail for expected containers whose cost cannot be computed';

CREATE TYPE yquota_internal.expected_run AS (
	count integer,
	allocation yquota.resource,
	factors text[],
	duration bigint
);
COMMENT ON TYPE yquota_internal.expected_run IS
	'Containers that a submission expects, with the names of their price factors';
COMMENT ON COLUMN yquota_internal.expected_run.duration IS 'expected run time of each container, microseconds; NULL: the lifetime of the application';

CREATE FUNCTION yquota_internal.expected_run_time(duration bigint, lifetime bigint) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE
	RETURN least(duration, lifetime * 1000000::numeric);
COMMENT ON FUNCTION yquota_internal.expected_run_time(bigint, bigint) IS
	'Return the microseconds that a container is expected to run: its duration, but no longer than the lifetime (seconds) of its application';

-- Known prices and calendars determine the cost of the next hundred years.  After that, the last price stays in force.
CREATE FUNCTION yquota_internal.expected_end(from_at timestamptz, microseconds numeric) RETURNS timestamptz
	LANGUAGE sql STABLE PARALLEL SAFE
	RETURN from_at + least(microseconds, 36500 * 86400000000::numeric)::bigint * interval '1 microsecond';
COMMENT ON FUNCTION yquota_internal.expected_end(timestamptz, numeric) IS
	'Return the end of an expected run, or the instant until which its prices are looked up';

CREATE FUNCTION yquota_internal.expected_cost(
	runs yquota_internal.expected_run[], minimum bigint, from_at timestamptz, lifetime bigint) RETURNS numeric
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RETURN (
		SELECT coalesce(trim_scale(sum(run.count * yquota_internal.run_cost(run.allocation, run.factors, from_at, span.ends_at,
				greatest(span.run_time, minimum) - yquota_internal.microseconds(span.ends_at - from_at)))), 0)
		FROM unnest(runs) AS run
		CROSS JOIN LATERAL (SELECT yquota_internal.expected_run_time(run.duration, lifetime) AS microseconds) AS expected
		CROSS JOIN LATERAL (SELECT expected.microseconds AS run_time, yquota_internal.expected_end(from_at, expected.microseconds) AS ends_at) AS span);
END
$$;
COMMENT ON FUNCTION yquota_internal.expected_cost(yquota_internal.expected_run[], bigint, timestamptz, bigint) IS
	'Return the cost of containers that start at an instant and run for their durations, but no longer than the lifetime (seconds).  At least the minimum run time (microseconds) is charged';

-- The search assumes that a longer lifetime does not cost less than a shorter one.  Within the minimum run time a
-- longer lifetime may cost less, if the price falls.  The credit then pays for the result, but may also pay for a
-- longer lifetime.
CREATE FUNCTION yquota_internal.fitting_lifetime(
	runs yquota_internal.expected_run[], minimum bigint, from_at timestamptz, lifetime bigint, available numeric) RETURNS bigint
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	low bigint := 0;
	high bigint := least(lifetime, (SELECT ceil(max(run.duration) * 0.000001)::bigint FROM unnest(runs) AS run HAVING count(*) = count(run.duration)));
	middle bigint;
BEGIN
	WHILE low < high LOOP
		middle := low + (high - low) / 2 + (high - low) % 2;
		IF yquota_internal.expected_cost(runs, minimum, from_at, middle) <= available THEN
			low := middle;
		ELSE
			high := middle - 1;
		END IF;
	END LOOP;
	RETURN nullif(low, 0);
END
$$;
COMMENT ON FUNCTION yquota_internal.fitting_lifetime(yquota_internal.expected_run[], bigint, timestamptz, bigint, numeric) IS
	'Return the longest lifetime in seconds for which the credit pays for containers whose expected_cost() is too high; NULL if the credit does not pay for one second';

CREATE FUNCTION yquota_internal.decide_hold(
	application_id text, username text, project text, queue text, lifetime bigint, expected yquota.container_request[],
	by_quote boolean, least_amount numeric, locks boolean,
	OUT paying_project text, OUT quoted_cost numeric, OUT amount numeric, OUT available numeric, OUT fitting_lifetime bigint,
	OUT decided_at text, OUT reason text)
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
#variable_conflict use_variable
DECLARE
	payer_username CONSTANT text := yquota_internal.payer_username(project, username);
	now_at CONSTANT timestamptz := yquota.statement_clock();
	minimum CONSTANT bigint := yquota_internal.minimum_run_time(now_at);
	mode yquota.quota_mode;
	runs yquota_internal.expected_run[];
	last_end timestamptz;
BEGIN
	PERFORM yquota_internal.check_hold(application_id, coalesce(least_amount, 1), '1 s', NULL);
	paying_project := yquota_internal.payer_project(project, username);
	IF expected IS NOT NULL THEN
		PERFORM yquota_internal.check_expected(expected);
		SELECT array_agg(ROW(e.count, e.allocation, applying.names, span.microseconds)::yquota_internal.expected_run),
			   coalesce(max(yquota_internal.expected_end(now_at, yquota_internal.expected_run_time(span.microseconds, lifetime))), now_at)
		INTO runs, last_end
		FROM unnest(expected) AS e
		CROSS JOIN LATERAL (SELECT yquota_internal.microseconds(e.expected_duration) AS microseconds) AS span
		CROSS JOIN LATERAL yquota_internal.factor_names(coalesce(paying_project, ''), application_id, payer_username, queue, NULL, NULL,
			coalesce(e.execution_type, 'GUARANTEED'), NULL, e.label) AS applying (names)
		WHERE coalesce(e.resource_name, '*') = '*';
		IF lifetime IS NOT NULL OR NOT EXISTS (SELECT FROM unnest(runs) AS run WHERE run.duration IS NULL) THEN
			SELECT cost.amount INTO quoted_cost
			FROM yquota_internal.costs_ahead(
				format('SELECT NULL::text, yquota_internal.expected_cost(%L, %L, $1, %L)', runs, minimum, lifetime), now_at, last_end) AS cost;
		END IF;
	END IF;
	IF by_quote AND quoted_cost IS NULL THEN
		decided_at := queue;
		reason := CASE WHEN expected IS NULL
			THEN format('Queue %s holds the cost of expected containers, cannot accept submission without them of application: %s', queue, application_id)
			ELSE format('Application %s has no lifetime, and expects containers without a duration: cannot hold their cost', application_id) END;
		RETURN;
	END IF;
	amount := nullif(greatest(least_amount, CASE WHEN by_quote THEN quoted_cost END), 0);
	IF amount IS NULL THEN
		RETURN;
	END IF;
	SELECT p.quota_mode INTO mode FROM yquota.project AS p WHERE p.name = paying_project;
	IF NOT FOUND THEN
		reason := format('No project pays for application %s, cannot hold credit for it', application_id);
		RETURN;
	END IF;
	-- limit the amount: no project has more credit than this
	amount := least(amount, 1e30);
	IF locks THEN
		-- keep other transactions from changing the parent of the project, as hold() does
		LOCK TABLE yquota_internal.project_family IN ROW EXCLUSIVE MODE;
	END IF;
	IF mode <> 'PREPAID' THEN
		RETURN;
	ELSIF locks THEN
		available := yquota_internal.lock_credit(paying_project);
	ELSE
		SELECT credit.available INTO available FROM yquota_internal.project_credit AS credit WHERE credit.project = paying_project;
	END IF;
	IF available < amount THEN
		SELECT credit.limited_by INTO decided_at FROM yquota_internal.project_credit AS credit WHERE credit.project = paying_project;
		IF by_quote AND quoted_cost = amount THEN
			SELECT fitting.amount INTO fitting_lifetime
			FROM yquota_internal.costs_ahead(
				format('SELECT NULL::text, yquota_internal.fitting_lifetime(%L, %L, $1, %L, %L)::numeric', runs, minimum, lifetime, available),
				now_at, last_end) AS fitting;
		END IF;
		reason := format('Project %s has %s credits left, cannot hold %s for application %s', decided_at, available, amount, application_id)
			|| CASE WHEN NOT by_quote OR quoted_cost < amount THEN ''
					WHEN fitting_lifetime IS NULL THEN ', nor the cost of one second of it'
					ELSE format('; the cost of a lifetime of %s seconds would fit', fitting_lifetime) END;
	END IF;
END
$$;
COMMENT ON FUNCTION yquota_internal.decide_hold(text, text, text, text, bigint, yquota.container_request[], boolean, numeric, boolean) IS
	'Return the amount that a submission has to hold: the cost of its expected containers, or the given least amount if that is greater; NULL if it has to hold nothing. reason says why the amount cannot be held.  With locks, no other transaction can hold credit of the project until this transaction ends';

CREATE VIEW yquota_internal.application_hold AS
	SELECT application.application_id, application.username, application.queue, application.priority, application.lifetime,
		   application.state, application.diagnostics, application.hold_id, hold.amount
	FROM yquota.application
	LEFT JOIN yquota.hold ON hold.hold_id = application.hold_id
	WHERE application.hold_id IS NOT NULL;
COMMENT ON VIEW yquota_internal.application_hold IS
	'Applications whose submission has held credit; the amount is NULL once the row of the hold has been removed';

-- The trigger ends the hold, or sets its expiry, as semantics/charging 8.6 says.
CREATE FUNCTION yquota_internal.follow_application() RETURNS trigger
	LANGUAGE c VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS 'MODULE_PATHNAME', 'yq_sql_follow_application';
COMMENT ON FUNCTION yquota_internal.follow_application() IS
	'Release the hold of an application that ends or is removed.  When the application is activated, set the expiry of the hold, because the lifetime counts from then';

CREATE TRIGGER follow_application AFTER UPDATE OF state, lifetime ON yquota.application
	FOR EACH ROW WHEN (NEW.hold_id IS NOT NULL) EXECUTE FUNCTION yquota_internal.follow_application();
CREATE TRIGGER follow_removal AFTER DELETE ON yquota.application
	FOR EACH ROW WHEN (OLD.hold_id IS NOT NULL) EXECUTE FUNCTION yquota_internal.follow_application();
CREATE TRIGGER follow_no_applications AFTER TRUNCATE ON yquota.application
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.follow_application();
