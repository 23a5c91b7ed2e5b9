-- A price that follows the load of node queues: compute_prices() computes a factor for the execution type
-- OPPORTUNISTIC from the reports of nodes.  The reports are unlogged.  After a crash, and on a standby, there are
-- none, and the last factor stays.
--
-- A point of price_factor with a load has been computed.  An administrator sets all other points for OPPORTUNISTIC by
-- hand.  A manual point removes the computed points after it.  From then on no factor is computed, until a point
-- without a factor ends the manual one.

CREATE TABLE yquota.opportunistic_price (
	only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
	min_factor numeric NOT NULL CHECK (min_factor >= 0 AND scale(min_factor) <= 6),
	max_factor numeric NOT NULL CHECK (max_factor <= 1000000 AND scale(max_factor) <= 6),
	CHECK (min_factor <= max_factor)
);
COMMENT ON TABLE yquota.opportunistic_price IS
	'Limits of the factor by which the price of OPPORTUNISTIC containers follows the load of node queues.  The table has one row, or none if the price does not follow the load';
COMMENT ON COLUMN yquota.opportunistic_price.only_row IS 'primary key, always true';
COMMENT ON COLUMN yquota.opportunistic_price.min_factor IS 'factor while all queues are empty: 0 or more, at most 6 decimals';
COMMENT ON COLUMN yquota.opportunistic_price.max_factor IS 'factor while all queues are full: min_factor to 10^6, at most 6 decimals';
SELECT pg_extension_config_dump('yquota.opportunistic_price', '');

-- All fractions of the mean have a common denominator, so nothing is rounded here.
CREATE FUNCTION yquota_internal.node_queue_load(as_of timestamptz, OUT nodes bigint, OUT numerator numeric, OUT denominator numeric)
	LANGUAGE plpgsql STABLE PARALLEL RESTRICTED
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	oldest constant timestamptz := as_of - coalesce(
		(SELECT extract(epoch FROM s.report_max_age) FROM yquota.scheduler_setting AS s), 10) * interval '1 second';
	equal_queues record;
	common numeric := 1;
	multiple numeric;
BEGIN
	nodes := 0;
	numerator := 0;
	FOR equal_queues IN
		SELECT r.queue_capacity::numeric AS capacity, count(*) AS nodes, sum(least(r.queued_opportunistic, r.queue_capacity)) AS queued
		FROM yquota_internal.reported_nodes() AS r
		WHERE r.queue_capacity > 0 AND r.reported_at > oldest
		  AND r.reported_at <= as_of + yquota_internal.duration('yquota.max_clock_skew')
		GROUP BY r.queue_capacity
	LOOP
		multiple := lcm(common, equal_queues.capacity);
		numerator := numerator * div(multiple, common) + equal_queues.queued * div(multiple, equal_queues.capacity);
		common := multiple;
		nodes := nodes + equal_queues.nodes;
	END LOOP;
	denominator := common * nodes;
END
$$;
COMMENT ON FUNCTION yquota_internal.node_queue_load(timestamptz) IS
	'Return the mean load of node queues as an exact fraction.  Nodes count if they have a recent report and a queue for OPPORTUNISTIC containers.  Each of them counts with the used part of its queue.  The result is 0 / 0 when there is no such node';

CREATE FUNCTION yquota_internal.opportunistic_price_refusal(measured_factor numeric, factor_in_force numeric, publish_at timestamptz)
	RETURNS text
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	last_computed_at constant timestamptz := (
		SELECT max(f.effective_at) FROM yquota.price_factor AS f
		WHERE f.dimension = 'execution_type' AND f.name = 'OPPORTUNISTIC' AND f.load IS NOT NULL);
	last_at constant timestamptz := (
		SELECT max(f.effective_at) FROM yquota.price_factor AS f
		WHERE f.dimension = 'execution_type' AND f.name = 'OPPORTUNISTIC');
BEGIN
	RETURN CASE
		WHEN last_computed_at > publish_at THEN 'the last published factor is later'
		WHEN last_computed_at > publish_at - yquota_internal.duration('yquota.price_interval')
			-- a point at this instant, such as one that ends a factor, must not be overwritten
			OR EXISTS (SELECT FROM yquota.price_factor AS f
					   WHERE f.dimension = 'execution_type' AND f.name = 'OPPORTUNISTIC' AND f.effective_at = publish_at) THEN 'not due'
		WHEN abs(measured_factor - factor_in_force) < 0.01 THEN 'unchanged'
		-- only a manual point can lie in the future, unless the clock was set back
		WHEN (publish_at < yquota.statement_clock() OR last_at > publish_at)
			AND yquota_internal.settled_after(publish_at) IS NOT NULL THEN 'already charged'
	END;
END
$$;
COMMENT ON FUNCTION yquota_internal.opportunistic_price_refusal(numeric, numeric, timestamptz) IS
	'Return the reason why a computed factor for OPPORTUNISTIC containers is not published for an instant; NULL if it is published';

CREATE FUNCTION yquota_internal.measure_opportunistic_price(measured_at timestamptz, publish_at timestamptz)
	RETURNS TABLE (
		nodes bigint, load numeric, min_factor numeric, max_factor numeric, computed_factor numeric,
		factor numeric, effective_at timestamptz, set_by_hand boolean, outcome text)
	LANGUAGE plpgsql STABLE PARALLEL UNSAFE ROWS 1
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	setting yquota.opportunistic_price;
	measured record;
	in_force yquota.price_factor;
BEGIN
	SELECT * INTO setting FROM yquota.opportunistic_price;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	min_factor := setting.min_factor;
	max_factor := setting.max_factor;
	measured := yquota_internal.node_queue_load(measured_at);
	nodes := measured.nodes;
	IF nodes > 0 THEN
		load := trim_scale(yquota_internal.divide_half_even(measured.numerator, measured.denominator, 18));
		computed_factor := trim_scale(yquota_internal.divide_half_even(
			min_factor * measured.denominator + (max_factor - min_factor) * measured.numerator, measured.denominator, 6));
	END IF;
	SELECT * INTO in_force
	FROM yquota.price_factor AS f
	WHERE f.dimension = 'execution_type' AND f.name = 'OPPORTUNISTIC' AND f.effective_at <= publish_at
	ORDER BY f.effective_at DESC
	LIMIT 1;
	factor := coalesce(in_force.factor, 1);
	effective_at := in_force.effective_at;
	set_by_hand := in_force.factor IS NOT NULL AND in_force.load IS NULL;
	outcome := CASE
		WHEN set_by_hand THEN 'set by hand'
		WHEN nodes = 0 THEN 'no node has reported'
		ELSE coalesce(yquota_internal.opportunistic_price_refusal(computed_factor, factor, publish_at), 'computed') END;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION yquota_internal.measure_opportunistic_price(timestamptz, timestamptz) IS
	'Return the load of node queues at an instant, the factor computed from it, and the factor in force at another instant.  Also return whether the new factor has to be published then.  Returns no row if the price does not follow the load';

CREATE FUNCTION yquota.explain_opportunistic_price(as_of timestamptz DEFAULT NULL)
	RETURNS TABLE (
		nodes bigint, load numeric, min_factor numeric, max_factor numeric, computed_factor numeric,
		factor numeric, effective_at timestamptz, set_by_hand boolean, outcome text)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 1
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT measured.*
		FROM (SELECT coalesce(as_of, yquota.statement_clock()) AS at) AS clock
		CROSS JOIN LATERAL yquota_internal.measure_opportunistic_price(
			clock.at, clock.at + yquota_internal.duration('yquota.price_lead')) AS measured;
$$;
COMMENT ON FUNCTION yquota.explain_opportunistic_price(timestamptz) IS
	'Show how compute_prices() uses the load of node queues at an instant (default the clock).  Returns the number of nodes, their load as a fraction, the factor computed from it, and the factor in force yquota.price_lead later.  Also returns whether the new factor would be published.  Returns no row if the price does not follow the load';

CREATE FUNCTION yquota_internal.opportunistic_price_figures() RETURNS TABLE (name text, value numeric)
	LANGUAGE sql STABLE PARALLEL UNSAFE SECURITY DEFINER ROWS 5
	SET search_path = pg_catalog, pg_temp
	AS $$
		SELECT sample.name, sample.value
		FROM yquota.explain_opportunistic_price() AS price
		CROSS JOIN LATERAL (VALUES
			('factor', price.factor),
			('computed_factor', price.computed_factor),
			('load_ratio', price.load),
			('nodes', price.nodes::numeric),
			('set_by_hand', price.set_by_hand::integer::numeric)
		) AS sample (name, value)
		WHERE sample.value IS NOT NULL;
$$;
COMMENT ON FUNCTION yquota_internal.opportunistic_price_figures() IS
	'Return figures of explain_opportunistic_price() for metrics.  Readers of metrics need no right to call that function';

-- The triggers below handle points that an administrator sets.

CREATE FUNCTION yquota_internal.dismiss_computed_factors() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() THEN
		DELETE FROM yquota.price_factor AS computed
		WHERE computed.dimension = NEW.dimension AND computed.name = NEW.name AND computed.load IS NOT NULL
		  AND computed.effective_at >= NEW.effective_at
		  AND (computed.effective_at = NEW.effective_at OR NEW.factor IS NOT NULL)
		  AND NOT EXISTS (
			SELECT FROM yquota.price_factor AS by_hand
			WHERE by_hand.dimension = NEW.dimension AND by_hand.name = NEW.name AND by_hand.load IS NULL
			  AND by_hand.effective_at > NEW.effective_at AND by_hand.effective_at < computed.effective_at);
	END IF;
	RETURN NEW;
END
$$;
COMMENT ON FUNCTION yquota_internal.dismiss_computed_factors() IS
	'Delete computed factors between a factor set by hand and the next one set by hand';

CREATE TRIGGER dismiss_computed BEFORE INSERT ON yquota.price_factor
	FOR EACH ROW WHEN (NEW.load IS NULL AND NEW.dimension = 'execution_type')
	EXECUTE FUNCTION yquota_internal.dismiss_computed_factors();

-- The first factor of a name updates the running containers that match the name.  The administrator's statement does
-- this work by setting a point without a factor, so that the worker need not do it.
CREATE FUNCTION yquota_internal.begin_opportunistic_price() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	IF NOT yquota_internal.restoring() AND EXISTS (SELECT FROM yquota.opportunistic_price) THEN
		PERFORM yquota_internal.lock_pricing();
		INSERT INTO yquota.price_factor (dimension, name, effective_at, factor)
		SELECT 'execution_type', 'OPPORTUNISTIC', yquota.statement_clock(), NULL
		WHERE NOT EXISTS (SELECT FROM yquota.price_factor AS f WHERE f.dimension = 'execution_type' AND f.name = 'OPPORTUNISTIC');
	END IF;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.begin_opportunistic_price() IS
	'Begin the timeline of factors for OPPORTUNISTIC with a point without a factor, if the timeline has no point yet';

CREATE FUNCTION yquota_internal.end_opportunistic_price() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER
	SET search_path = pg_catalog, pg_temp
	AS $$
DECLARE
	ended_at constant timestamptz := yquota.statement_clock();
BEGIN
	IF yquota_internal.restoring() OR EXISTS (SELECT FROM yquota.opportunistic_price) THEN
		RETURN NULL;
	END IF;
	PERFORM yquota_internal.lock_pricing();
	DELETE FROM yquota.price_factor AS f
	WHERE f.dimension = 'execution_type' AND f.name = 'OPPORTUNISTIC' AND f.load IS NOT NULL AND f.effective_at > ended_at;
	INSERT INTO yquota.price_factor (dimension, name, effective_at, factor)
	SELECT in_force.dimension, in_force.name, ended_at, NULL
	FROM (SELECT * FROM yquota.price_factor AS f
		  WHERE f.dimension = 'execution_type' AND f.name = 'OPPORTUNISTIC' AND f.effective_at <= ended_at
		  ORDER BY f.effective_at DESC
		  LIMIT 1) AS in_force
	WHERE in_force.load IS NOT NULL;
	RETURN NULL;
END
$$;
COMMENT ON FUNCTION yquota_internal.end_opportunistic_price() IS
	'End the computed factor that is in force at the clock, and delete those that lie in the future';

CREATE TRIGGER begin_factor AFTER INSERT ON yquota.opportunistic_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.begin_opportunistic_price();
CREATE TRIGGER end_factor AFTER DELETE OR TRUNCATE ON yquota.opportunistic_price
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.end_opportunistic_price();
