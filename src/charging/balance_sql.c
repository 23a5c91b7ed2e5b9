/*-------------------------------------------------------------------------
 *
 * balance_sql.c
 *	  What running containers owe and cost per second, as SQL aggregates.
 *
 * A balance adds up hundreds or thousands of rate classes.  Both sums share one
 * state, which PostgreSQL computes once when both are asked for:
 *
 *	  accrued	sum of weight x cost of the class from reference_at to "at"
 *	  rate		sum of weight x credits per second of the class at "at"
 *
 * What they accrued before reference_at, or owe since later, is no business of
 * these aggregates: the reader subtracts accrual bases.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/resource.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "pricing/rate_class.h"
#include "pricing/timeline.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_add_rate_class);
PG_FUNCTION_INFO_V1(yq_sql_accrued_sum);
PG_FUNCTION_INFO_V1(yq_sql_prices_changed_from);
PG_FUNCTION_INFO_V1(yq_sql_rate_sum);

/* Arguments of add_rate_class() */
enum
{
	ARGUMENT_STATE,
	ARGUMENT_SHAPE,
	ARGUMENT_FACTORS,
	ARGUMENT_REFERENCE_AT,
	ARGUMENT_WEIGHT,
	ARGUMENT_AT
};

typedef struct RunningSum
{
	YqWide		accrued;
	YqWide		rate;
} RunningSum;

static RunningSum *
running_sum(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (!PG_ARGISNULL(ARGUMENT_STATE))
		return (RunningSum *) PG_GETARG_POINTER(ARGUMENT_STATE);
	return MemoryContextAllocZero(context, sizeof(RunningSum));
}

/* Weights are whole numbers; read by way of numeric's wire format. */
static int128
weight_from_numeric(Numeric value)
{
	bytea	   *bytes = DatumGetByteaPP(DirectFunctionCall1(numeric_send, NumericGetDatum(value)));
	StringInfoData wire = {.data = VARDATA_ANY(bytes), .len = VARSIZE_ANY_EXHDR(bytes)};
	int			count = (int16) pq_getmsgint(&wire, 2);
	int			places = (int16) pq_getmsgint(&wire, 2) + 1;
	bool		negative = pq_getmsgint(&wire, 2) != 0;
	int128		weight = 0;

	(void) pq_getmsgint(&wire, 2);
	if (count > 0 && (count > places || places > 9))
		elog(ERROR, "weight of a rate class is out of range");
	for (int i = 0; count > 0 && i < places; i++)
		weight = weight * 10000 + (i < count ? (int) pq_getmsgint(&wire, 2) : 0);
	pfree(bytes);
	return negative ? -weight : weight;
}

/* sum += unit x weight, which may be negative */
static void
add_weighted(YqWide *sum, const YqWide *unit, int128 weight)
{
	YqWide		product = *unit;

	if (weight != 1)
		yq_wide_multiply(&product, weight < 0 ? -(YqPrice) weight : (YqPrice) weight);
	if (weight < 0)
		yq_wide_subtract(sum, &product);
	else
		yq_wide_add(sum, &product);
}

/*
 * add_rate_class(state, shape, factors, reference_at, weight, at): a row
 * without a shape or a weight is of no class.
 */
Datum
yq_sql_add_rate_class(PG_FUNCTION_ARGS)
{
	RunningSum *sum = running_sum(fcinfo);
	YqRateClass *rate_class;
	uint64		unit_weight;
	const YqWide *accrued;
	const YqWide *rate;
	int128		weight;

	if (PG_ARGISNULL(ARGUMENT_SHAPE) || PG_ARGISNULL(ARGUMENT_WEIGHT) ||
		PG_ARGISNULL(ARGUMENT_REFERENCE_AT) || PG_ARGISNULL(ARGUMENT_AT))
		PG_RETURN_POINTER(sum);

	(void) yq_pricing_refresh();
	rate_class = yq_rate_class_require(PG_GETARG_YQ_RESOURCE_P(ARGUMENT_SHAPE),
									   PG_ARGISNULL(ARGUMENT_FACTORS) ? NULL :
									   PG_GETARG_ARRAYTYPE_P(ARGUMENT_FACTORS),
									   &unit_weight);
	yq_rate_class_unit_cost(rate_class, PG_GETARG_TIMESTAMPTZ(ARGUMENT_REFERENCE_AT),
							PG_GETARG_TIMESTAMPTZ(ARGUMENT_AT), &accrued, &rate);
	weight = weight_from_numeric(PG_GETARG_NUMERIC(ARGUMENT_WEIGHT));
	add_weighted(&sum->accrued, accrued, weight);
	add_weighted(&sum->rate, rate, weight);
	PG_RETURN_POINTER(sum);
}

/* Final function: accrued credits, NULL when no row was aggregated. */
Datum
yq_sql_accrued_sum(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(ARGUMENT_STATE))
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(yq_wide_to_numeric(&running_sum(fcinfo)->accrued));
}

/* Final function: credits per second, NULL when no row was aggregated. */
Datum
yq_sql_rate_sum(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(ARGUMENT_STATE))
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(yq_wide_to_numeric(&running_sum(fcinfo)->rate));
}

/*
 * prices_changed_from(version): infinity when nothing has changed since, minus
 * infinity when the version is not known.
 */
Datum
yq_sql_prices_changed_from(PG_FUNCTION_ARGS)
{
	(void) yq_pricing_refresh();
	PG_RETURN_TIMESTAMPTZ(yq_timeline_changed_from(PG_GETARG_INT64(0)));
}
