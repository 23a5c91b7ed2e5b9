/*-------------------------------------------------------------------------
 *
 * quarter_hour_sums.c
 *	  Ledger rows added up per quarter-hour: the aggregate quarter_hour_sums().
 *
 * A row within a quarter-hour counts with its own amount.  A row that crosses the end of a
 * quarter-hour is split there, and each part is valued by the present timelines.  The amount of the
 * row may have been booked under earlier timelines.  If the parts must add up to this amount, the
 * first part gets the difference (sql/charging/460_charge_rollup.sql).
 *
 * Rows of a group come nearly in order of time, and each row covers neighbouring quarter-hours.
 * The sums are kept in order of time, and each search starts from the sum used last.  Memory is
 * allocated only for quarter-hours with rows; a year has 35,000.  A row that lasts for decades gets
 * memory for all its quarter-hours in one step.
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
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pricing/rate_class.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

/*
 * The length of a quarter-hour.  Like quarter_hour() in sql/store/040_clock.sql, this file counts
 * quarter-hours from the epoch of the server, which is a midnight in UTC.
 */
#define QUARTER_HOUR (15 * USECS_PER_MINUTE)

typedef struct QuarterHour
{
	TimestampTz starts_at;
	YqWide		amount;
	int64		rows;			/* number of counted rows that begin in the quarter-hour */
} QuarterHour;

typedef struct QuarterHours
{
	int64		count;
	int64		capacity;
	int64		last;			/* index of the first entry that the previous call used */
	QuarterHour *entries;		/* ascending */
} QuarterHours;

/* The arguments of one call of the aggregate, which describe a ledger row. */
typedef struct Row
{
	TimestampTz from;
	TimestampTz to;
	TimestampTz part_from;		/* only parts from this instant on are added */
	int			sign;			/* -1 for a row that reverses another row; 0 for a free row */
	YqWide		amount;
	bool		as_booked;		/* the parts of the row have to add up to the row's amount */
	bool		counts;
} Row;

enum
{
	ARG_STATE,
	ARG_ALLOCATION,
	ARG_FACTORS,
	ARG_FROM,
	ARG_TO,
	ARG_PART_FROM,
	ARG_AMOUNT,
	ARG_SIGN,
	ARG_AS_BOOKED,
	ARG_COUNTS
};

PG_FUNCTION_INFO_V1(yq_sql_add_quarter_hours);
PG_FUNCTION_INFO_V1(yq_sql_finish_quarter_hours);

static TimestampTz
quarter_hour(TimestampTz at)
{
	TimestampTz past = at % QUARTER_HOUR;

	return at - (past < 0 ? past + QUARTER_HOUR : past);
}

/*
 * Return the first of "count" consecutive quarter-hours.  Quarter-hours that are not in the list
 * yet are inserted with the amount zero.
 */
static QuarterHour *
find_quarter_hours(QuarterHours *hours, TimestampTz starts_at, int64 count, MemoryContext context)
{
	TimestampTz ends_at = starts_at + count * QUARTER_HOUR;
	int64		first = hours->last;
	int64		known;

	while (first > 0 && hours->entries[first - 1].starts_at >= starts_at)
		first--;
	while (first < hours->count && hours->entries[first].starts_at < starts_at)
		first++;
	hours->last = first;
	for (known = 0; first + known < hours->count && hours->entries[first + known].starts_at < ends_at; known++)
		CHECK_FOR_INTERRUPTS();

	if (hours->count + count - known > hours->capacity)
	{
		hours->capacity = Max(hours->count + count - known, hours->capacity * 2);
		if (hours->entries == NULL)
			hours->entries = MemoryContextAllocHuge(context, hours->capacity * sizeof(QuarterHour));
		else
			hours->entries = repalloc_huge(hours->entries, hours->capacity * sizeof(QuarterHour));
	}
	memmove(&hours->entries[first + count], &hours->entries[first + known],
			(hours->count - first - known) * sizeof(QuarterHour));
	hours->count += count - known;
	/* go backwards, because each existing entry moves to the same place or to a later one */
	for (int64 place = count - 1; place >= known; place--)
	{
		TimestampTz place_at = starts_at + place * QUARTER_HOUR;

		CHECK_FOR_INTERRUPTS();
		if (known > 0 && hours->entries[first + known - 1].starts_at == place_at)
			hours->entries[first + place] = hours->entries[first + --known];
		else
			hours->entries[first + place] = (QuarterHour) {.starts_at = place_at};
	}
	return &hours->entries[first];
}

/* Compute the cost of a part of a ledger row. */
static YqWide
cost_of_part(const Row *row, YqRateClass *rate_class, uint64 weight, TimestampTz from, TimestampTz to)
{
	YqWide		cost = {{0}};

	if (row->sign != 0)
		yq_rate_class_cost(rate_class, weight, from, to, &cost, NULL);
	if (row->sign < 0)
		yq_wide_negate(&cost);
	return cost;
}

static void
add_parts(QuarterHours *hours, const Row *row, YqRateClass *rate_class, uint64 weight, MemoryContext context)
{
	TimestampTz first_at = quarter_hour(Max(row->from, row->part_from));
	int64		count = (row->to - first_at + QUARTER_HOUR - 1) / QUARTER_HOUR;
	QuarterHour *sums;

	if (count <= 0)
		return;
	sums = find_quarter_hours(hours, first_at, count, context);
	for (int64 i = 0; i < count; i++)
	{
		TimestampTz starts_at = sums[i].starts_at;
		TimestampTz ends_at = starts_at + QUARTER_HOUR;
		YqWide		part;

		CHECK_FOR_INTERRUPTS();
		if (row->as_booked && starts_at <= row->from)
		{
			YqWide		rest = cost_of_part(row, rate_class, weight, ends_at, row->to);

			part = row->amount;
			yq_wide_subtract(&part, &rest);
		}
		else
			part = cost_of_part(row, rate_class, weight, Max(row->from, starts_at), Min(row->to, ends_at));
		yq_wide_add(&sums[i].amount, &part);
		if (row->counts && starts_at <= row->from)
			sums[i].rows++;
	}
}

/* Read a ledger row from the arguments.  Returns false when a required argument is NULL. */
static bool
row_of_arguments(FunctionCallInfo fcinfo, Row *row)
{
	for (int i = ARG_ALLOCATION; i <= ARG_COUNTS; i++)
	{
		if (i != ARG_FACTORS && PG_ARGISNULL(i))
			return false;
	}
	row->from = yq_finite_instant(fcinfo, ARG_FROM);
	row->to = yq_finite_instant(fcinfo, ARG_TO);
	row->part_from = PG_GETARG_TIMESTAMPTZ(ARG_PART_FROM);
	row->sign = PG_GETARG_INT32(ARG_SIGN);
	row->as_booked = PG_GETARG_BOOL(ARG_AS_BOOKED);
	row->counts = PG_GETARG_BOOL(ARG_COUNTS);
	yq_wide_from_numeric(&row->amount, PG_GETARG_NUMERIC(ARG_AMOUNT));
	return true;
}

/*
 * add_quarter_hours(state, allocation, factors, from, to, part_from, amount, sign, as_booked,
 * counts) accepts NULL only as "factors".  It ignores a row in which another argument is NULL.
 */
Datum
yq_sql_add_quarter_hours(PG_FUNCTION_ARGS)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "quarter_hour_sums()");
	QuarterHours *hours;
	Row			row;

	if (PG_ARGISNULL(ARG_STATE))
		hours = MemoryContextAllocZero(context, sizeof(QuarterHours));
	else
		hours = (QuarterHours *) PG_GETARG_POINTER(ARG_STATE);
	if (!row_of_arguments(fcinfo, &row))
		PG_RETURN_POINTER(hours);
	if (quarter_hour(row.from) == quarter_hour(row.to > row.from ? row.to - 1 : row.from))
	{
		if (row.from >= row.part_from)
		{
			QuarterHour *sum = find_quarter_hours(hours, quarter_hour(row.from), 1, context);

			yq_wide_add(&sum->amount, &row.amount);
			sum->rows += row.counts ? 1 : 0;
		}
	}
	else
	{
		uint64		weight;
		YqRateClass *rate_class;

		rate_class = yq_rate_class_argument(fcinfo, ARG_ALLOCATION, &weight);
		add_parts(hours, &row, rate_class, weight, context);
	}
	PG_RETURN_POINTER(hours);
}

/* finish_quarter_hours(state): quarter_hour_sum[] */
Datum
yq_sql_finish_quarter_hours(PG_FUNCTION_ARGS)
{
	QuarterHours *hours;
	Oid			type;
	TupleDesc	columns;
	StringInfoData sums;
	ArrayType  *array;

	(void) yq_require_aggregate(fcinfo, "quarter_hour_sums()");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	hours = (QuarterHours *) PG_GETARG_POINTER(0);
	type = get_element_type(get_fn_expr_rettype(fcinfo->flinfo));
	columns = lookup_rowtype_tupdesc(type, -1);
	/* build the array here; construct_array() would need memory for all elements twice */
	initStringInfo(&sums);
	enlargeStringInfo(&sums, ARR_OVERHEAD_NONULLS(1));
	sums.len = ARR_OVERHEAD_NONULLS(1);
	for (int64 i = 0; i < hours->count; i++)
	{
		Numeric		amount = yq_wide_to_numeric(&hours->entries[i].amount);
		bool		nulls[3] = {false, false, false};
		Datum		values[3];
		HeapTuple	sum;

		CHECK_FOR_INTERRUPTS();
		values[0] = TimestampTzGetDatum(hours->entries[i].starts_at);
		values[1] = NumericGetDatum(amount);
		values[2] = Int64GetDatum(hours->entries[i].rows);
		sum = heap_form_tuple(columns, values, nulls);
		appendBinaryStringInfoNT(&sums, (char *) sum->t_data, (int) sum->t_len);
		while (sums.len % ALIGNOF_DOUBLE != 0)
			appendStringInfoCharMacro(&sums, '\0');
		heap_freetuple(sum);
		pfree(amount);
	}
	ReleaseTupleDesc(columns);
	if (hours->count == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(type));
	array = (ArrayType *) sums.data;
	SET_VARSIZE(array, sums.len);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = type;
	ARR_DIMS(array)[0] = (int) hours->count;
	ARR_LBOUND(array)[0] = 1;
	PG_RETURN_ARRAYTYPE_P(array);
}
