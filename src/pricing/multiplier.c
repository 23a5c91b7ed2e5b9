/*-------------------------------------------------------------------------
 *
 * multiplier.c
 *	  The price multiplier of one resource type (semantics/charging 1).
 *
 * Multiplying by the total first keeps everything exact until the division,
 * which is also the rounding:
 *
 *	  (total + max(used - tipping point * total, 0) * increment factor) / total
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/wide.h"
#include "fmgr.h"
#include "pricing/multiplier.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

PG_FUNCTION_INFO_V1(yq_sql_multiplier);

static void
check_finite(Numeric value, const char *name)
{
	if (numeric_is_nan(value) || numeric_is_inf(value))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s of a price multiplier must be finite", name)));
}

static bool
is_greater(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_gt, NumericGetDatum(a),
											NumericGetDatum(b)));
}

static Numeric
product(Numeric a, Numeric b)
{
	return DatumGetNumeric(DirectFunctionCall2(numeric_mul, NumericGetDatum(a),
											   NumericGetDatum(b)));
}

Numeric
yq_multiplier_compute(Numeric used, Numeric total, Numeric tipping_point,
					  Numeric increment_factor, Numeric max_multiplier)
{
	Numeric		tipping_usage;
	Numeric		numerator = total;
	Numeric		one = int64_to_numeric(1);
	Numeric		multiplier;

	check_finite(used, "usage");
	check_finite(total, "total");
	check_finite(tipping_point, "tipping point");
	check_finite(increment_factor, "increment factor");
	if (!is_greater(total, int64_to_numeric(0)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("total of a price multiplier must be positive")));

	tipping_usage = product(tipping_point, total);
	if (is_greater(used, tipping_usage))
	{
		Numeric		excess;

		excess = DatumGetNumeric(DirectFunctionCall2(numeric_sub,
													 NumericGetDatum(used),
													 NumericGetDatum(tipping_usage)));
		numerator = DatumGetNumeric(DirectFunctionCall2(numeric_add,
														NumericGetDatum(total),
														NumericGetDatum(product(excess, increment_factor))));
	}
	multiplier = yq_divide_half_even(numerator, total, YQ_PRICE_DECIMALS);

	/* The cap may have been given with more decimals than a price has. */
	if (max_multiplier != NULL && is_greater(multiplier, max_multiplier))
		multiplier = yq_divide_half_even(max_multiplier, one, YQ_PRICE_DECIMALS);
	return DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale,
											   NumericGetDatum(multiplier)));
}

/*
 * multiplier(used, total, tipping_point, increment_factor, max_multiplier):
 * NULL when any argument but the last is.
 */
Datum
yq_sql_multiplier(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < 4; i++)
	{
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	}
	PG_RETURN_NUMERIC(yq_multiplier_compute(PG_GETARG_NUMERIC(0),
											PG_GETARG_NUMERIC(1),
											PG_GETARG_NUMERIC(2),
											PG_GETARG_NUMERIC(3),
											PG_ARGISNULL(4) ? NULL : PG_GETARG_NUMERIC(4)));
}
