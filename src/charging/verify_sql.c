/*-------------------------------------------------------------------------
 *
 * verify_sql.c
 *	  The C functions of verify(): one call per ledger row, one per remembered
 *	  value (docs/design.md 1.9; the queries are in sql/charging/430_verify.sql).
 *
 * They share no code with charging, only the evaluator of costs, which
 * pricing_sql.c gives to SQL as well.  SQL needs three calls to check a row of
 * the ledger; since the ledger is long, here it takes one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "base/arguments.h"
#include "base/resource.h"
#include "base/varlena.h"
#include "base/wide_numeric.h"
#include "fmgr.h"
#include "pricing/factors.h"
#include "pricing/rate_class.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_is_due);
PG_FUNCTION_INFO_V1(yq_sql_last_known_step);

/* Arguments of is_due(). */
enum
{
	DUE_PROJECT,
	DUE_APPLICATION_ID,
	DUE_USERNAME,
	DUE_QUEUE,
	DUE_EXECUTION_TYPE,
	DUE_ALLOCATION,
	DUE_FROM,
	DUE_TO,
	DUE_AMOUNT,
	DUE_DOMINANT
};

/* The factors and outages that apply; NULL when there are none at all. */
static ArrayType *
factors_of_arguments(FunctionCallInfo fcinfo)
{
	YqPayer		payer = {0};

	if (!yq_factors_exist())
		return NULL;
	payer.project = yq_text_argument(fcinfo, DUE_PROJECT);
	payer.application_id = yq_text_argument(fcinfo, DUE_APPLICATION_ID);
	payer.username = yq_text_argument(fcinfo, DUE_USERNAME);
	payer.queue = yq_text_argument(fcinfo, DUE_QUEUE);
	payer.execution_type =
		DatumGetCString(DirectFunctionCall1(enum_out, PG_GETARG_DATUM(DUE_EXECUTION_TYPE)));
	return yq_factor_names(&payer);
}

/*
 * is_due(project, application_id, username, queue, execution_type, allocation,
 * from_at, to_at, amount, dominant): whether the amount is the cost of that time,
 * which the container did not wait.
 * False when there is nothing to compare.
 */
Datum
yq_sql_is_due(PG_FUNCTION_ARGS)
{
	static const int needed[] = {DUE_PROJECT, DUE_EXECUTION_TYPE, DUE_ALLOCATION,
	DUE_FROM, DUE_TO, DUE_AMOUNT};
	YqRateClass *rate_class;
	uint64		weight;
	YqWide		amount;
	const char *dominant;

	for (size_t i = 0; i < lengthof(needed); i++)
	{
		if (PG_ARGISNULL(needed[i]))
			PG_RETURN_BOOL(false);
	}
	if (TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(DUE_FROM)) ||
		TIMESTAMP_NOT_FINITE(PG_GETARG_TIMESTAMPTZ(DUE_TO)))
		PG_RETURN_BOOL(false);

	(void) yq_rate_class_refresh();
	rate_class = yq_rate_class_require(PG_GETARG_YQ_RESOURCE_P(DUE_ALLOCATION),
									   factors_of_arguments(fcinfo), &weight);
	yq_rate_class_cost(rate_class, weight, PG_GETARG_TIMESTAMPTZ(DUE_FROM),
					   PG_GETARG_TIMESTAMPTZ(DUE_TO), &amount, &dominant);
	PG_RETURN_BOOL(yq_varlena_is(PG_ARGISNULL(DUE_DOMINANT) ? NULL : PG_GETARG_TEXT_PP(DUE_DOMINANT), dominant) &&
				   DatumGetBool(DirectFunctionCall2(numeric_eq,
													NumericGetDatum(yq_wide_to_numeric(&amount)),
													PG_GETARG_DATUM(DUE_AMOUNT))));
}

/*
 * Step of the aggregate last_known: strict, so that it is called for values
 * that are not NULL only and each of them replaces the last value.
 */
Datum
yq_sql_last_known_step(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(1));
}
