-- The price evaluator.  These functions read the newest committed timelines.  Roles that can read a view based on
-- these functions may also call them.

CREATE FUNCTION yquota_internal.accrued(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz)
RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_accrued';
COMMENT ON FUNCTION yquota_internal.accrued(yquota.resource, text[], timestamptz, timestamptz) IS
	'Return the credits for holding an allocation over an interval of time, exactly.  Nothing accrues before the start, so the result is 0 when to_at is before from_at';

CREATE FUNCTION yquota_internal.add_accrued(
	state internal, allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz)
RETURNS internal
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_add_accrued';
COMMENT ON FUNCTION yquota_internal.add_accrued(internal, yquota.resource, text[], timestamptz, timestamptz) IS
	'Transition function of sum_accrued()';

CREATE FUNCTION yquota_internal.finish_sum_accrued(state internal) RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_finish_sum_accrued';
COMMENT ON FUNCTION yquota_internal.finish_sum_accrued(internal) IS 'Final function of sum_accrued()';

CREATE AGGREGATE yquota_internal.sum_accrued(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz) (
	sfunc = yquota_internal.add_accrued,
	stype = internal,
	finalfunc = yquota_internal.finish_sum_accrued,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.sum_accrued(yquota.resource, text[], timestamptz, timestamptz) IS
	'Sum of accrued() over rows, in less time than a sum of numeric';

CREATE FUNCTION yquota_internal.dominant(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz)
RETURNS text
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_dominant';
COMMENT ON FUNCTION yquota_internal.dominant(yquota.resource, text[], timestamptz, timestamptz) IS
	'Return the resource type with the largest part of accrued(); NULL when accrued() is zero';

CREATE TYPE yquota_internal.part_cost AS (
	resource_type text,
	amount numeric,
	alone numeric,
	waiting numeric
);
COMMENT ON TYPE yquota_internal.part_cost IS
	'Part of a resource type in the cost of allocations';
COMMENT ON COLUMN yquota_internal.part_cost.alone IS 'credits that the amounts of the type would cost without other types beside them';
COMMENT ON COLUMN yquota_internal.part_cost.waiting IS 'part of "alone" that belongs to containers that waited';

CREATE FUNCTION yquota_internal.add_part_costs(
	state internal, allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz, sign integer, waits boolean)
RETURNS internal
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_add_part_costs';
COMMENT ON FUNCTION yquota_internal.add_part_costs(internal, yquota.resource, text[], timestamptz, timestamptz, integer, boolean) IS
	'Transition function of part_costs()';

CREATE FUNCTION yquota_internal.finish_part_costs(state internal) RETURNS yquota_internal.part_cost[]
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_finish_part_costs';
COMMENT ON FUNCTION yquota_internal.finish_part_costs(internal) IS 'Final function of part_costs()';

CREATE AGGREGATE yquota_internal.part_costs(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz, sign integer, waits boolean) (
	sfunc = yquota_internal.add_part_costs,
	stype = internal,
	finalfunc = yquota_internal.finish_part_costs,
	parallel = restricted
);
COMMENT ON AGGREGATE yquota_internal.part_costs(yquota.resource, text[], timestamptz, timestamptz, integer, boolean) IS
	'Parts of the resource types in the sum of accrued() over rows.  A row with sign -1 is subtracted';

CREATE FUNCTION yquota_internal.rate(
	allocation yquota.resource, factors text[], at timestamptz)
RETURNS numeric
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_rate';
COMMENT ON FUNCTION yquota_internal.rate(yquota.resource, text[], timestamptz) IS
	'Return the credits per second for holding an allocation, at the prices in force at an instant';

CREATE FUNCTION yquota_internal.price_intervals(
	allocation yquota.resource, factors text[], from_at timestamptz, to_at timestamptz,
	OUT since timestamptz, OUT until timestamptz, OUT prices jsonb, OUT factors_in_force jsonb,
	OUT factor numeric, OUT forgiven boolean, OUT dominant text, OUT rate numeric,
	OUT amount numeric, OUT charging_mode yquota.charging_mode, OUT rates jsonb)
RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 10
AS 'MODULE_PATHNAME', 'yq_sql_price_intervals';
COMMENT ON FUNCTION yquota_internal.price_intervals(yquota.resource, text[], timestamptz, timestamptz) IS
	'Return the parts of accrued(), one row per interval.  In an interval no price of the allocation, no factor and no charging mode changes.  An empty interval has one row';

CREATE FUNCTION yquota_internal.multiplier_in_force(resource_type text, at timestamptz)
RETURNS numeric
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT trim_scale(p.multiplier)
		FROM yquota.price AS p
		WHERE p.price_group = (SELECT t.price_group FROM yquota.resource_type AS t
							   WHERE t.name = multiplier_in_force.resource_type)
		  AND p.effective_at <= multiplier_in_force.at
		ORDER BY p.effective_at DESC
		LIMIT 1);
COMMENT ON FUNCTION yquota_internal.multiplier_in_force(text, timestamptz) IS
	'Return the multiplier of a resource type''s price group at an instant, such as the start of a row of price_intervals(); NULL for an unknown type';

CREATE FUNCTION yquota_internal.set_columns(of_row record)
RETURNS jsonb
LANGUAGE c STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_set_columns';
COMMENT ON FUNCTION yquota_internal.set_columns(record) IS
	'Return a row as a JSON object of its columns that are not NULL. The result equals that of to_jsonb() without NULLs, but takes a fraction of the time';

CREATE FUNCTION yquota_internal.shape(allocation yquota.resource)
RETURNS yquota.resource
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_shape';
COMMENT ON FUNCTION yquota_internal.shape(yquota.resource) IS
	'Return an allocation divided by the greatest common divisor of its amounts';

CREATE FUNCTION yquota_internal.weight(allocation yquota.resource)
RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_weight';
COMMENT ON FUNCTION yquota_internal.weight(yquota.resource) IS
	'Return the greatest common divisor of an allocation''s amounts; 0 for the empty allocation';

CREATE FUNCTION yquota_internal.next_label_change(node text, after timestamptz)
RETURNS timestamptz
LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_next_label_change';
COMMENT ON FUNCTION yquota_internal.next_label_change(text, timestamptz) IS
	'Return the first instant after "after" at which the prices of a node''s containers may change because its label changes; NULL if there is none';

CREATE FUNCTION yquota_internal.label_stretches(node text, from_at timestamptz, to_at timestamptz)
RETURNS TABLE (since timestamptz, until timestamptz)
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 1
AS 'MODULE_PATHNAME', 'yq_sql_label_stretches';
COMMENT ON FUNCTION yquota_internal.label_stretches(text, timestamptz, timestamptz) IS
	'Return the parts of an interval in which the label that determines a node''s prices stays the same.  The result has at least one row';

CREATE FUNCTION yquota_internal.factor_names(
	project text, application_id text, username text, queue text, node text, since timestamptz,
	execution_type yquota.execution_type, waiting_factor numeric, label text DEFAULT NULL)
RETURNS text[]
LANGUAGE c STABLE PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_factor_names';
COMMENT ON FUNCTION yquota_internal.factor_names(text, text, text, text, text, timestamptz, yquota.execution_type, numeric, text) IS
	'Return the names of the price factors, outages and charging modes that apply to a container.  The result is an array of dimension, name, dimension, name ... If waiting_factor is given, the array begins with "waiting" and this factor.  If label is NULL, the label of the node at "since" is used';

CREATE FUNCTION yquota_internal.reserved_factor(accepted_at timestamptz)
RETURNS numeric
LANGUAGE c STABLE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'yq_sql_reserved_factor';
COMMENT ON FUNCTION yquota_internal.reserved_factor(timestamptz) IS
	'Return the part of the price that a reservation pays if it is accepted at an instant, by the newest committed charging rules.  The result is 0 if no rule is in force';

CREATE FUNCTION yquota_internal.microseconds(duration interval) RETURNS bigint
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN ((extract(month FROM duration) + extract(year FROM duration) * 12) * 30 * 86400000000
			+ extract(day FROM duration) * 86400000000
			+ extract(hour FROM duration) * 3600000000
			+ extract(minute FROM duration) * 60000000
			+ extract(microseconds FROM duration))::bigint;
COMMENT ON FUNCTION yquota_internal.microseconds(interval) IS
	'Return the length of an interval in microseconds.  A month counts as 30 days, as when intervals are compared';

CREATE FUNCTION yquota_internal.divide_half_even(
	numerator numeric, denominator numeric, decimals integer)
RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'yq_sql_divide_half_even';
COMMENT ON FUNCTION yquota_internal.divide_half_even(numeric, numeric, integer) IS
	'Return a quotient with a number of decimals, rounded once, half to even';

CREATE FUNCTION yquota_internal.invalidate_prices()
RETURNS trigger
LANGUAGE c
AS 'MODULE_PATHNAME', 'yq_sql_invalidate_prices';
COMMENT ON FUNCTION yquota_internal.invalidate_prices() IS
	'Make every session read prices again after this transaction commits';

CREATE TRIGGER pricing_change_invalidate
	AFTER INSERT OR UPDATE OR DELETE ON yquota.pricing_change
	FOR EACH STATEMENT EXECUTE FUNCTION yquota_internal.invalidate_prices();

CREATE FUNCTION yquota_internal.refuse_change() RETURNS trigger
	LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
	SET search_path = pg_catalog, pg_temp
	AS $$
BEGIN
	RAISE EXCEPTION 'cannot change table "%"', TG_TABLE_NAME
		USING ERRCODE = 'object_not_in_prerequisite_state',
			DETAIL = TG_ARGV[0];
END
$$;
COMMENT ON FUNCTION yquota_internal.refuse_change() IS
	'Refuse changes of an append-only table.  The argument of the trigger is the reason in the error';
