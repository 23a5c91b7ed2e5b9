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
#include "base/wide.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pricing/factors.h"
#include "pricing/node_label.h"
#include "pricing/rate_class.h"
#include "pricing/timeline.h"
#include "store/catalog.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_accrued);
PG_FUNCTION_INFO_V1(yq_sql_add_accrued);
PG_FUNCTION_INFO_V1(yq_sql_cost_under_terms);
PG_FUNCTION_INFO_V1(yq_sql_divide_half_even);
PG_FUNCTION_INFO_V1(yq_sql_dominant);
PG_FUNCTION_INFO_V1(yq_sql_factor_names);
PG_FUNCTION_INFO_V1(yq_sql_finish_sum_accrued);
PG_FUNCTION_INFO_V1(yq_sql_invalidate_prices);
PG_FUNCTION_INFO_V1(yq_sql_pin_prices);
PG_FUNCTION_INFO_V1(yq_sql_price_intervals);
PG_FUNCTION_INFO_V1(yq_sql_rate);
PG_FUNCTION_INFO_V1(yq_sql_reserved_factor);
PG_FUNCTION_INFO_V1(yq_sql_shape);
PG_FUNCTION_INFO_V1(yq_sql_unpin_prices);
PG_FUNCTION_INFO_V1(yq_sql_weight);

/* -- amounts and rates ----------------------------------------------------- */

/*
 * Compute the cost of a class from one instant to another, from four arguments.  Returns false
 * if an argument is NULL.
 */
static bool
accrued_by_arguments(FunctionCallInfo fcinfo, int argument, YqWide *amount)
{
	uint64		weight;
	YqRateClass *rate_class;
	TimestampTz from_at;
	TimestampTz to_at;

	if (PG_ARGISNULL(argument) || PG_ARGISNULL(argument + 2) || PG_ARGISNULL(argument + 3))
		return false;
	rate_class = yq_rate_class_argument(fcinfo, argument, &weight);
	from_at = yq_finite_instant(fcinfo, argument + 2);
	to_at = yq_finite_instant(fcinfo, argument + 3);
	/* nothing accrues before from_at */
	yq_rate_class_cost(rate_class, weight, from_at, Max(from_at, to_at), amount, NULL);
	return true;
}

/* accrued(allocation, factors, from_at, to_at) is not strict, because "factors" may be NULL. */
Datum
yq_sql_accrued(PG_FUNCTION_ARGS)
{
	YqWide		amount;

	if (!accrued_by_arguments(fcinfo, 0, &amount))
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(yq_wide_to_numeric(&amount));
}

/* add_accrued(state, allocation, factors, from_at, to_at) */
Datum
yq_sql_add_accrued(PG_FUNCTION_ARGS)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "sum_accrued()");
	YqWide	   *sum = PG_ARGISNULL(0) ? MemoryContextAllocZero(context, sizeof(YqWide)) : (YqWide *) PG_GETARG_POINTER(0);
	YqWide		amount;

	if (accrued_by_arguments(fcinfo, 1, &amount))
		yq_wide_add(sum, &amount);
	PG_RETURN_POINTER(sum);
}

/* finish_sum_accrued(state) */
Datum
yq_sql_finish_sum_accrued(PG_FUNCTION_ARGS)
{
	(void) yq_require_aggregate(fcinfo, "sum_accrued()");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_NUMERIC(yq_wide_to_numeric((YqWide *) PG_GETARG_POINTER(0)));
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
	rate_class = yq_rate_class_argument(fcinfo, 0, &weight);
	yq_rate_class_cost(rate_class, weight, yq_finite_instant(fcinfo, 2),
					   yq_finite_instant(fcinfo, 3), &amount, &dominant);
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
	rate_class = yq_rate_class_argument(fcinfo, 0, &weight);
	yq_rate_class_cost_at(rate_class, weight, yq_finite_instant(fcinfo, 2), USECS_PER_SEC,
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

/* factor_names(project, application_id, username, queue, node, since, execution_type, waiting_factor, label) */
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
	payer.execution_type = PG_ARGISNULL(6) ? NULL :
		DatumGetCString(DirectFunctionCall1(enum_out, PG_GETARG_DATUM(6)));
	payer.wait = yq_wait_from_numeric(PG_GETARG_DATUM(7), PG_ARGISNULL(7));
	payer.label = yq_text_argument(fcinfo, 8);

	(void) yq_rate_class_refresh();
	if (payer.label == NULL && !PG_ARGISNULL(4) && !PG_ARGISNULL(5))
		payer.label = yq_node_label_at(PG_GETARG_TEXT_PP(4), PG_GETARG_TIMESTAMPTZ(5));
	names = yq_factor_names(&payer);
	if (names == NULL)
		PG_RETURN_NULL();
	PG_RETURN_ARRAYTYPE_P(names);
}

/* reserved_factor(accepted_at) */
Datum
yq_sql_reserved_factor(PG_FUNCTION_ARGS)
{
	YqWait		part = {.waits = true};
	bool		isnull;

	(void) yq_rate_class_refresh();
	part.factor = yq_timeline_reserved_factor(PG_GETARG_TIMESTAMPTZ(0));
	PG_RETURN_DATUM(yq_wait_to_numeric(part, &isnull));
}

/* Trigger of pricing_change, for each statement: make every backend read the prices again. */
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

/* -- a bill, interval by interval ------------------------------------------ */

/*
 * Return rows that explain a cost which rate_class.c computes.  Each row is an interval with the
 * prices of all resources of an allocation, the factor and the cost.  A row ends only where one of
 * these values changes, although the timeline may have more points.
 */

/* Columns of the result of price_intervals(). */
enum
{
	COLUMN_SINCE,
	COLUMN_UNTIL,
	COLUMN_PRICES,
	COLUMN_FACTORS,
	COLUMN_FACTOR,
	COLUMN_FORGIVEN,
	COLUMN_DOMINANT,
	COLUMN_RATE,
	COLUMN_AMOUNT,
	COLUMN_CHARGING_MODE,
	COLUMN_RATES,
	COLUMNS
};

static bool
same_prices(const YqPricesInForce *a, const YqPricesInForce *b)
{
	if (a->is_forgiven != b->is_forgiven || a->mode != b->mode || a->factor_count != b->factor_count ||
		memcmp(a->prices, b->prices, sizeof(YqPrice) * a->part_count) != 0)
		return false;
	for (int i = 0; i < a->factor_count; i++)
	{
		if (a->factors[i] != b->factors[i] || a->factor_values[i] != b->factor_values[i])
			return false;
	}
	return true;
}

static void
push_key(JsonbParseState **state, const char *name)
{
	JsonbValue	key = {.type = jbvString};

	key.val.string.val = unconstify(char *, name);
	key.val.string.len = strlen(name);
	pushJsonbValue(state, WJB_KEY, &key);
}

/* Append the number digits * 10^-decimals to a JSON value. */
static void
push_decimal(JsonbParseState **state, YqPrice digits, int decimals)
{
	JsonbValue	number = {.type = jbvNumeric};
	YqWide		wide = {{0}};

	yq_wide_add_product(&wide, digits, 1);
	if (!yq_wide_try_scale(&wide, YQ_AMOUNT_DECIMALS - decimals))
		yq_amount_out_of_range();
	number.val.numeric = yq_wide_to_numeric(&wide);
	pushJsonbValue(state, WJB_VALUE, &number);
}

/* Make a JSON object of resource types and their prices. */
static Datum
prices_to_jsonb(const YqPricesInForce *in_force)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < in_force->part_count; i++)
	{
		push_key(&state, in_force->names[i]);
		push_decimal(&state, in_force->prices[i], YQ_PRICE_DECIMALS);
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

/* Make a JSON object of the charged resource types and their parts of the rate. */
static Datum
rates_to_jsonb(YqRateClass *rate_class, uint64 weight, TimestampTz at, const YqPricesInForce *in_force)
{
	YqWide		rates[YQ_RESOURCE_MAX_ENTRIES];
	JsonbParseState *state = NULL;

	yq_rate_class_part_rates(rate_class, weight, at, rates);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < in_force->part_count; i++)
	{
		JsonbValue	number = {.type = jbvNumeric};

		if (yq_wide_is_zero(&rates[i]))
			continue;
		push_key(&state, in_force->names[i]);
		number.val.numeric = yq_wide_to_numeric(&rates[i]);
		pushJsonbValue(&state, WJB_VALUE, &number);
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

/*
 * Make a JSON object with a key for each dimension.  The value of a key is an object with the name
 * and the value of the factor.
 */
static Datum
factors_to_jsonb(const YqPricesInForce *in_force)
{
	JsonbParseState *state = NULL;

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < in_force->factor_count; i++)
	{
		JsonbValue	name = {.type = jbvString};

		push_key(&state, yq_timeline_dimension_name(in_force->factors[i]->dimension));
		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		push_key(&state, "name");
		name.val.string.val = in_force->factors[i]->name;
		name.val.string.len = strlen(in_force->factors[i]->name);
		pushJsonbValue(&state, WJB_VALUE, &name);
		push_key(&state, "factor");
		push_decimal(&state, in_force->factor_values[i], 6);
		pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	}
	return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}

static void
put_interval(ReturnSetInfo *rows, YqRateClass *rate_class, uint64 weight,
			TimestampTz since, TimestampTz until, const YqPricesInForce *in_force)
{
	Datum		values[COLUMNS] = {0};
	bool		nulls[COLUMNS] = {0};
	YqWide		rate;
	YqWide		amount;
	const char *dominant;

	yq_rate_class_cost_at(rate_class, weight, since, USECS_PER_SEC, &rate, &dominant);
	yq_rate_class_cost(rate_class, weight, since, until, &amount, NULL);
	values[COLUMN_SINCE] = TimestampTzGetDatum(since);
	values[COLUMN_UNTIL] = TimestampTzGetDatum(until);
	values[COLUMN_PRICES] = prices_to_jsonb(in_force);
	values[COLUMN_FACTORS] = factors_to_jsonb(in_force);
	values[COLUMN_FACTOR] = NumericGetDatum(yq_wide_to_numeric(&in_force->factor));
	values[COLUMN_FORGIVEN] = BoolGetDatum(in_force->is_forgiven);
	nulls[COLUMN_DOMINANT] = dominant == NULL;
	if (dominant != NULL)
		values[COLUMN_DOMINANT] = CStringGetTextDatum(dominant);
	values[COLUMN_RATE] = NumericGetDatum(yq_wide_to_numeric(&rate));
	values[COLUMN_AMOUNT] = NumericGetDatum(yq_wide_to_numeric(&amount));
	values[COLUMN_CHARGING_MODE] =
		ObjectIdGetDatum(yq_enum_oid("charging_mode", yq_timeline_mode_name(in_force->mode)));
	values[COLUMN_RATES] = rates_to_jsonb(rate_class, weight, since, in_force);
	tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
}

/* Append rows for the time between two instants.  If the instants are equal, append a single row. */
static void
put_intervals(ReturnSetInfo *rows, YqRateClass *rate_class, uint64 weight,
			  TimestampTz from_at, TimestampTz to_at)
{
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "yquota interval",
													  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old_context = MemoryContextSwitchTo(row_context);
	YqPricesInForce in_force;
	TimestampTz since = from_at;

	yq_rate_class_prices_at(rate_class, since, &in_force);
	for (;;)
	{
		TimestampTz until = Min(in_force.until, to_at);
		YqPricesInForce next = in_force;

		CHECK_FOR_INTERRUPTS();
		while (until < to_at)
		{
			yq_rate_class_prices_at(rate_class, until, &next);
			if (!same_prices(&in_force, &next))
				break;
			until = Min(next.until, to_at);
		}
		put_interval(rows, rate_class, weight, since, until, &in_force);
		MemoryContextReset(row_context);
		if (until >= to_at)
			break;
		since = until;
		in_force = next;
	}
	MemoryContextSwitchTo(old_context);
	MemoryContextDelete(row_context);
}

/* price_intervals(allocation, factors, from_at, to_at) is not strict, because "factors" may be NULL. */
Datum
yq_sql_price_intervals(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rows = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayType  *factors = PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1);
	TimestampTz from_at;
	TimestampTz to_at;
	YqRateClass *rate_class;
	uint64		weight;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(2) || PG_ARGISNULL(3))
		return (Datum) 0;
	from_at = PG_GETARG_TIMESTAMPTZ(2);
	to_at = PG_GETARG_TIMESTAMPTZ(3);
	if (TIMESTAMP_NOT_FINITE(from_at) || TIMESTAMP_NOT_FINITE(to_at) || from_at > to_at)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("intervals must begin and end at finite instants, in this order")));

	(void) yq_rate_class_refresh();
	rate_class = yq_rate_class_require(PG_GETARG_YQ_RESOURCE_P(0), factors, &weight);
	put_intervals(rows, rate_class, weight, from_at, to_at);
	return (Datum) 0;
}

/* -- prices of a snapshot ---------------------------------------------------- */

/* pin_prices(): see yq_timeline_pin() */
Datum
yq_sql_pin_prices(PG_FUNCTION_ARGS)
{
	yq_timeline_pin();
	PG_RETURN_VOID();
}

Datum
yq_sql_unpin_prices(PG_FUNCTION_ARGS)
{
	yq_timeline_unpin();
	PG_RETURN_VOID();
}

/* -- other terms ----------------------------------------------------------- */

/*
 * Run a query under assumed prices.  For each kind of price, an argument may contain rows that
 * replace the table while the query runs.  Nothing is written.  Other sessions do not see the rows,
 * and do not wait.
 */

/* Arguments of cost_under_terms() */
enum
{
	ARGUMENT_QUERY,
	ARGUMENT_BASE_PRICES,
	ARGUMENT_MULTIPLIERS,
	ARGUMENT_CALENDAR_FACTORS,
	ARGUMENT_FACTORS,
	ARGUMENT_FROM,
	ARGUMENT_TO,
	ARGUMENT_PROJECT,
	ARGUMENT_CHARGING_MODE,
	ARGUMENT_WITHOUT_OUTAGES
};

static ArrayType *
rows_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : PG_GETARG_ARRAYTYPE_P(argument);
}

/* Run the query with the parameters $1 = from, $2 = to and $3 = project. */
static void
run_query(FunctionCallInfo fcinfo, const char *query)
{
	Oid			types[] = {TIMESTAMPTZOID, TIMESTAMPTZOID, TEXTOID};
	Datum		values[] = {PG_GETARG_DATUM(ARGUMENT_FROM), PG_GETARG_DATUM(ARGUMENT_TO),
	PG_GETARG_DATUM(ARGUMENT_PROJECT)};
	char		nulls[] = {' ', ' ', PG_ARGISNULL(ARGUMENT_PROJECT) ? 'n' : ' ', '\0'};

	if (SPI_execute_with_args(query, lengthof(types), types, values, nulls, true, 0) != SPI_OK_SELECT ||
		SPI_tuptable->tupdesc->natts != 2 ||
		SPI_gettypeid(SPI_tuptable->tupdesc, 1) != TEXTOID ||
		SPI_gettypeid(SPI_tuptable->tupdesc, 2) != NUMERICOID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("query must return a text and a numeric")));
}

static void
put_rows(ReturnSetInfo *result)
{
	TupleDesc	desc = SPI_tuptable->tupdesc;

	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[2];
		bool		nulls[2];

		CHECK_FOR_INTERRUPTS();
		for (int column = 0; column < 2; column++)
			values[column] = SPI_getbinval(SPI_tuptable->vals[i], desc, column + 1, &nulls[column]);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
}

/*
 * cost_under_terms(query, base_prices, multipliers, calendar_factors, factors, from, to, project,
 * charging_mode, without_outages) returns the rows of a query with the columns project and amount.  The function is
 * not strict: if an argument is NULL, these terms are read from their table.
 */
Datum
yq_sql_cost_under_terms(PG_FUNCTION_ARGS)
{
	YqTerms		terms = {
		.base_prices = rows_argument(fcinfo, ARGUMENT_BASE_PRICES),
		.multipliers = rows_argument(fcinfo, ARGUMENT_MULTIPLIERS),
		.calendar_factors = rows_argument(fcinfo, ARGUMENT_CALENDAR_FACTORS),
		.factors = rows_argument(fcinfo, ARGUMENT_FACTORS),
		.charging_mode = PG_ARGISNULL(ARGUMENT_CHARGING_MODE) ? NULL :
			text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_CHARGING_MODE)),
		.without_outages = !PG_ARGISNULL(ARGUMENT_WITHOUT_OUTAGES) && PG_GETARG_BOOL(ARGUMENT_WITHOUT_OUTAGES),
	};

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(ARGUMENT_QUERY) || PG_ARGISNULL(ARGUMENT_FROM) || PG_ARGISNULL(ARGUMENT_TO))
		return (Datum) 0;
	terms.from = PG_GETARG_TIMESTAMPTZ(ARGUMENT_FROM);
	SPI_connect();
	yq_timeline_assume(&terms);
	PG_TRY();
	{
		run_query(fcinfo, text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_QUERY)));
	}
	PG_FINALLY();
	{
		yq_timeline_assume(NULL);
	}
	PG_END_TRY();
	put_rows((ReturnSetInfo *) fcinfo->resultinfo);
	SPI_finish();
	return (Datum) 0;
}
