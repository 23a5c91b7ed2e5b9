/*-------------------------------------------------------------------------
 *
 * price_interval_sql.c
 *	  A bill, interval by interval, as a set-returning SQL function.
 *
 * The parts of the sums of rate_class.c: the prices of all resources of an
 * allocation, its factor and its cost for each interval in which none of them
 * changes.  Points of the timeline that change none of them do not cut.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pricing/rate_class.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_price_intervals);

/* Result columns of price_intervals() */
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
	COLUMNS
};

static bool
same_prices(const YqPricesInForce *a, const YqPricesInForce *b)
{
	if (a->is_forgiven != b->is_forgiven || a->factor_count != b->factor_count ||
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

/* A decimal number, given as an integer and how many of its digits are decimals. */
static void
push_decimal(JsonbParseState **state, YqPrice digits, int decimals)
{
	JsonbValue	number = {.type = jbvNumeric};
	YqWide		wide = {{0}};

	yq_wide_add_product(&wide, digits, 1);
	yq_wide_multiply(&wide, yq_power_of_ten(YQ_AMOUNT_DECIMALS - decimals - YQ_PRICE_DECIMALS));
	yq_wide_multiply(&wide, yq_power_of_ten(YQ_PRICE_DECIMALS));
	number.val.numeric = yq_wide_to_numeric(&wide);
	pushJsonbValue(state, WJB_VALUE, &number);
}

/* An object of resource type and price. */
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

/* An object of dimension and, in an object, the name and the value of its factor. */
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
	tuplestore_putvalues(rows->setResult, rows->setDesc, values, nulls);
}

/* Rows for from_at to to_at; one for the instant itself when they are equal. */
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

/*
 * price_intervals(allocation, factors, from_at, to_at): not strict for factors
 * only.
 */
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
