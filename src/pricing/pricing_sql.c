/*-------------------------------------------------------------------------
 *
 * pricing_sql.c
 *	  The price evaluator as SQL functions, for views and reports.
 *
 * Each call unpacks its arguments, brings prices up to date and asks
 * rate_class.c; see sql/pricing/070_functions.sql for the SQL side.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "pricing/factors.h"
#include "pricing/rate_class.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_accrued);
PG_FUNCTION_INFO_V1(yq_sql_divide_half_even);
PG_FUNCTION_INFO_V1(yq_sql_dominant);
PG_FUNCTION_INFO_V1(yq_sql_factor_names);
PG_FUNCTION_INFO_V1(yq_sql_invalidate_prices);
PG_FUNCTION_INFO_V1(yq_sql_rate);
PG_FUNCTION_INFO_V1(yq_sql_shape);
PG_FUNCTION_INFO_V1(yq_sql_weight);

/* The class of arguments 0 (allocation) and 1 (factors, may be NULL). */
static YqRateClass *
class_of_arguments(FunctionCallInfo fcinfo, uint64 *weight)
{
	YqResource *allocation = PG_GETARG_YQ_RESOURCE_P(0);
	ArrayType  *factors = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);

	(void) yq_rate_class_refresh();
	return yq_rate_class_require(allocation, factors, weight);
}

static TimestampTz
finite_instant(FunctionCallInfo fcinfo, int argument)
{
	TimestampTz instant = PG_GETARG_TIMESTAMPTZ(argument);

	if (TIMESTAMP_NOT_FINITE(instant))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("instant must be finite")));
	return instant;
}

/* accrued(allocation, factors, from_at, to_at): not strict for factors only. */
Datum
yq_sql_accrued(PG_FUNCTION_ARGS)
{
	uint64		weight;
	YqRateClass *rate_class;
	YqWide		amount;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	rate_class = class_of_arguments(fcinfo, &weight);
	yq_rate_class_cost(rate_class, weight, finite_instant(fcinfo, 2),
					   finite_instant(fcinfo, 3), &amount, NULL);
	PG_RETURN_NUMERIC(yq_wide_to_numeric(&amount));
}

/* dominant(allocation, factors, from_at, to_at) */
Datum
yq_sql_dominant(PG_FUNCTION_ARGS)
{
	uint64		weight;
	YqRateClass *rate_class;
	YqWide		amount;
	const char *dominant;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		PG_RETURN_NULL();
	rate_class = class_of_arguments(fcinfo, &weight);
	yq_rate_class_cost(rate_class, weight, finite_instant(fcinfo, 2),
					   finite_instant(fcinfo, 3), &amount, &dominant);
	if (dominant == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(dominant));
}

/* rate(allocation, factors, at) */
Datum
yq_sql_rate(PG_FUNCTION_ARGS)
{
	uint64		weight;
	YqRateClass *rate_class;
	YqWide		rate;
	const char *dominant;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	rate_class = class_of_arguments(fcinfo, &weight);
	yq_rate_class_cost_at(rate_class, weight, finite_instant(fcinfo, 2), USECS_PER_SEC,
						  &rate, &dominant);
	PG_RETURN_NUMERIC(yq_wide_to_numeric(&rate));
}

/* shape(allocation) */
Datum
yq_sql_shape(PG_FUNCTION_ARGS)
{
	YqResource *shape;

	(void) yq_resource_reduce(PG_GETARG_YQ_RESOURCE_P(0), &shape);
	PG_RETURN_YQ_RESOURCE_P(shape);
}

/* weight(allocation) */
Datum
yq_sql_weight(PG_FUNCTION_ARGS)
{
	YqResource *shape;

	PG_RETURN_INT64(yq_resource_reduce(PG_GETARG_YQ_RESOURCE_P(0), &shape));
}

/* divide_half_even(numerator, denominator, decimals) */
Datum
yq_sql_divide_half_even(PG_FUNCTION_ARGS)
{
	Numeric		numerator = PG_GETARG_NUMERIC(0);
	Numeric		denominator = PG_GETARG_NUMERIC(1);
	int32		decimals = PG_GETARG_INT32(2);

	if (numeric_is_nan(numerator) || numeric_is_inf(numerator) ||
		numeric_is_nan(denominator) || numeric_is_inf(denominator))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("numerator and denominator must be finite")));
	if (decimals < 0 || decimals > 1000)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of decimals must be between 0 and 1000")));
	PG_RETURN_NUMERIC(yq_divide_half_even(numerator, denominator, decimals));
}

/* factor_names(project, application_id, username, queue, execution_type) */
Datum
yq_sql_factor_names(PG_FUNCTION_ARGS)
{
	YqPayer		payer;
	ArrayType  *names;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	payer.project = yq_text_argument(fcinfo, 0);
	payer.application_id = yq_text_argument(fcinfo, 1);
	payer.username = yq_text_argument(fcinfo, 2);
	payer.queue = yq_text_argument(fcinfo, 3);
	payer.execution_type = PG_ARGISNULL(4) ? NULL :
		DatumGetCString(DirectFunctionCall1(enum_out, PG_GETARG_DATUM(4)));

	(void) yq_rate_class_refresh();
	names = yq_factor_names(&payer);
	if (names == NULL)
		PG_RETURN_NULL();
	PG_RETURN_ARRAYTYPE_P(names);
}

/* Statement trigger of pricing_change: every backend reads prices anew. */
Datum
yq_sql_invalidate_prices(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("invalidate_prices() must be called as a trigger")));
	yq_catalog_signal_change(YQ_PRICING_CHANGE);
	PG_RETURN_POINTER(NULL);
}
