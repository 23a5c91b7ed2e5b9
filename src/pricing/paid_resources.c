/*-------------------------------------------------------------------------
 *
 * paid_resources.c
 *	  Ledger rows added up by the resource that was charged: the aggregate paid_resources().
 *
 * Each row is divided among its resources at the prices of the present timelines.  An additional
 * part without a resource contains the difference from the booked amounts, so all parts add up to
 * them.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "base/arguments.h"
#include "base/resource.h"
#include "base/wide.h"
#include "fmgr.h"
#include "funcapi.h"
#include "pricing/rate_class.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

typedef struct PaidResources
{
	int			count;
	int			capacity;
	YqPaidPart *parts;
	YqWide		booked;			/* sum of the booked amounts */
} PaidResources;

enum
{
	ARG_STATE,
	ARG_ALLOCATION,
	ARG_FACTORS,
	ARG_FROM,
	ARG_TO,
	ARG_PADDING,
	ARG_AMOUNT,
	ARG_SIGN
};

PG_FUNCTION_INFO_V1(yq_sql_add_paid_resources);
PG_FUNCTION_INFO_V1(yq_sql_finish_paid_resources);

/* Return the part of a resource, which is zero at first. */
static YqPaidPart *
find_part(PaidResources *paid, const char *name, MemoryContext context)
{
	YqPaidPart *part;

	for (int i = 0; i < paid->count; i++)
	{
		if (strcmp(paid->parts[i].name, name) == 0)
			return &paid->parts[i];
	}
	if (paid->count == paid->capacity)
	{
		paid->capacity = Max(4, paid->capacity * 2);
		paid->parts = paid->parts == NULL ? MemoryContextAlloc(context, paid->capacity * sizeof(YqPaidPart)) :
			repalloc(paid->parts, paid->capacity * sizeof(YqPaidPart));
	}
	part = &paid->parts[paid->count++];
	memset(part, 0, sizeof(YqPaidPart));
	part->name = MemoryContextStrdup(context, name);
	return part;
}

/* Return the microseconds of an interval without months. */
static uint64
interval_length(const Interval *interval)
{
	return (uint64) (interval->day * USECS_PER_DAY + interval->time);
}

/* Divide a ledger row.  Returns the number of parts. */
static int
parts_of_row(FunctionCallInfo fcinfo, YqPaidPart *parts)
{
	TimestampTz from = PG_GETARG_TIMESTAMPTZ(ARG_FROM);
	TimestampTz to = PG_GETARG_TIMESTAMPTZ(ARG_TO);
	uint64		weight;
	YqRateClass *rate_class;

	if (TIMESTAMP_NOT_FINITE(from) || TIMESTAMP_NOT_FINITE(to) || from > to)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("intervals must begin and end at finite instants, in this order")));
	rate_class = yq_rate_class_argument(fcinfo, ARG_ALLOCATION, &weight);
	if (!PG_ARGISNULL(ARG_PADDING))
		return yq_rate_class_parts_at(rate_class, weight, from, interval_length(PG_GETARG_INTERVAL_P(ARG_PADDING)), parts);
	return yq_rate_class_parts(rate_class, weight, from, to, parts);
}

/*
 * add_paid_resources(state, allocation, factors, from, to, padding, amount, sign) accepts NULL only as
 * "factors" and "padding".  It ignores a row in which another argument is NULL.
 */
Datum
yq_sql_add_paid_resources(PG_FUNCTION_ARGS)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "paid_resources()");
	PaidResources *paid;
	YqPaidPart	parts[YQ_RESOURCE_MAX_ENTRIES];
	YqWide		amount;
	int			sign;
	int			count;

	if (PG_ARGISNULL(ARG_STATE))
		paid = MemoryContextAllocZero(context, sizeof(PaidResources));
	else
		paid = (PaidResources *) PG_GETARG_POINTER(ARG_STATE);
	for (int i = ARG_ALLOCATION; i <= ARG_SIGN; i++)
	{
		if (i != ARG_FACTORS && i != ARG_PADDING && PG_ARGISNULL(i))
			PG_RETURN_POINTER(paid);
	}
	yq_wide_from_numeric(&amount, PG_GETARG_NUMERIC(ARG_AMOUNT));
	yq_wide_add(&paid->booked, &amount);
	sign = PG_GETARG_INT32(ARG_SIGN);
	count = sign == 0 ? 0 : parts_of_row(fcinfo, parts);
	for (int i = 0; i < count; i++)
	{
		YqPaidPart *part = find_part(paid, parts[i].name, context);

		if (sign < 0)
		{
			yq_wide_negate(&parts[i].amount);
			yq_wide_negate(&parts[i].held);
		}
		yq_wide_add(&part->amount, &parts[i].amount);
		yq_wide_add(&part->held, &parts[i].held);
	}
	PG_RETURN_POINTER(paid);
}

static Datum
make_row(TupleDesc columns, const char *name, const YqWide *held, const YqWide *amount)
{
	bool		nulls[3] = {name == NULL, false, false};
	Datum		values[3];

	values[0] = name == NULL ? (Datum) 0 : CStringGetTextDatum(name);
	values[1] = NumericGetDatum(yq_wide_to_numeric(held));
	values[2] = NumericGetDatum(yq_wide_to_numeric(amount));
	return heap_copy_tuple_as_datum(heap_form_tuple(columns, values, nulls), columns);
}

/* finish_paid_resources(state): paid_resource[] */
Datum
yq_sql_finish_paid_resources(PG_FUNCTION_ARGS)
{
	const YqWide zero = {{0}};
	PaidResources *paid;
	YqWide		rest;
	Oid			type;
	TupleDesc	columns;
	Datum	   *rows;
	int			count = 0;

	(void) yq_require_aggregate(fcinfo, "paid_resources()");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	paid = (PaidResources *) PG_GETARG_POINTER(0);
	type = get_element_type(get_fn_expr_rettype(fcinfo->flinfo));
	columns = lookup_rowtype_tupdesc(type, -1);
	rows = palloc(sizeof(Datum) * (paid->count + 1));
	rest = paid->booked;
	for (int i = 0; i < paid->count; i++)
	{
		YqPaidPart *part = &paid->parts[i];

		yq_wide_subtract(&rest, &part->amount);
		if (!yq_wide_is_zero(&part->amount) || !yq_wide_is_zero(&part->held))
			rows[count++] = make_row(columns, part->name, &part->held, &part->amount);
	}
	if (!yq_wide_is_zero(&rest))
		rows[count++] = make_row(columns, NULL, &zero, &rest);
	ReleaseTupleDesc(columns);
	PG_RETURN_ARRAYTYPE_P(construct_array(rows, count, type, -1, false, TYPALIGN_DOUBLE));
}
