/*-------------------------------------------------------------------------
 *
 * quarter_hour_sums.c
 *	  Ledger rows added up per quarter-hour: the aggregate quarter_hour_sums().
 *
 * A row within a quarter-hour counts with its amount as it is.  One that crosses the
 * end of a quarter-hour is cut there, and its pieces are valued at the timelines.  If
 * they must add up to the booked amount, maybe of earlier timelines, the first piece
 * is the rest (sql/charging/460_charge_rollup.sql).
 *
 * Rows of one group come nearly in order of time, and each covers neighbouring
 * quarter-hours: the sums are kept in that order, and looked for from the last one
 * that was added to.  Only quarter-hours with rows take room.
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
#include "miscadmin.h"
#include "pricing/rate_class.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

/* As quarter_hour() in sql/store/040_clock.sql counts them: from the epoch of the server, which is a midnight of UTC. */
#define QUARTER_HOUR (15 * USECS_PER_MINUTE)

/* No container runs for longer, and its quarter-hours fit into memory. */
#define LONGEST_ROW (1000 * 366 * USECS_PER_DAY)

typedef struct QuarterHour
{
	TimestampTz starts_at;
	YqWide		amount;
	int64		rows;			/* of those that count, which begin in it */
} QuarterHour;

typedef struct QuarterHours
{
	int			count;
	int			capacity;
	int			last;			/* the one that was added to last */
	QuarterHour *entries;		/* ascending */
} QuarterHours;

/* What the aggregate is given of a row. */
typedef struct Row
{
	TimestampTz from;
	TimestampTz to;
	TimestampTz part_from;		/* no piece before it is wanted */
	int			sign;			/* -1: it takes another row back; 0: it is free */
	YqWide		amount;
	bool		as_booked;		/* its pieces add up to the amount */
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

/* The sum of a quarter-hour, zero at first. */
static QuarterHour *
find_quarter_hour(QuarterHours *hours, TimestampTz starts_at, MemoryContext context)
{
	int			at = hours->last;

	while (at > 0 && hours->entries[at - 1].starts_at >= starts_at)
		at--;
	while (at < hours->count && hours->entries[at].starts_at < starts_at)
		at++;
	hours->last = at;
	if (at < hours->count && hours->entries[at].starts_at == starts_at)
		return &hours->entries[at];

	if (hours->count == hours->capacity)
	{
		hours->capacity = Max(8, hours->capacity * 2);
		if (hours->entries == NULL)
			hours->entries = MemoryContextAllocHuge(context, hours->capacity * sizeof(QuarterHour));
		else
			hours->entries = repalloc_huge(hours->entries, hours->capacity * sizeof(QuarterHour));
	}
	memmove(&hours->entries[at + 1], &hours->entries[at], (hours->count - at) * sizeof(QuarterHour));
	hours->count++;
	memset(&hours->entries[at], 0, sizeof(QuarterHour));
	hours->entries[at].starts_at = starts_at;
	return &hours->entries[at];
}

/* What a piece of a row costs. */
static YqWide
cost_of_piece(const Row *row, YqRateClass *rate_class, uint64 weight, TimestampTz from, TimestampTz to)
{
	YqWide		cost = {{0}};

	if (row->sign != 0)
		yq_rate_class_cost(rate_class, weight, from, to, &cost, NULL);
	if (row->sign < 0)
		yq_wide_negate(&cost);
	return cost;
}

static void
add_pieces(QuarterHours *hours, const Row *row, YqRateClass *rate_class, uint64 weight, MemoryContext context)
{
	for (TimestampTz starts_at = quarter_hour(Max(row->from, row->part_from)); starts_at < row->to; starts_at += QUARTER_HOUR)
	{
		QuarterHour *sum = find_quarter_hour(hours, starts_at, context);
		TimestampTz ends_at = starts_at + QUARTER_HOUR;
		YqWide		piece;

		CHECK_FOR_INTERRUPTS();
		if (row->as_booked && starts_at <= row->from)
		{
			YqWide		rest = cost_of_piece(row, rate_class, weight, ends_at, row->to);

			piece = row->amount;
			yq_wide_subtract(&piece, &rest);
		}
		else
			piece = cost_of_piece(row, rate_class, weight, Max(row->from, starts_at), Min(row->to, ends_at));
		yq_wide_add(&sum->amount, &piece);
		if (row->counts && starts_at <= row->from)
			sum->rows++;
	}
}

/* False when something of a row is unknown. */
static bool
row_of_arguments(FunctionCallInfo fcinfo, Row *row)
{
	for (int i = ARG_ALLOCATION; i <= ARG_COUNTS; i++)
	{
		if (i != ARG_FACTORS && PG_ARGISNULL(i))
			return false;
	}
	row->from = PG_GETARG_TIMESTAMPTZ(ARG_FROM);
	row->to = PG_GETARG_TIMESTAMPTZ(ARG_TO);
	row->part_from = PG_GETARG_TIMESTAMPTZ(ARG_PART_FROM);
	row->sign = PG_GETARG_INT32(ARG_SIGN);
	row->as_booked = PG_GETARG_BOOL(ARG_AS_BOOKED);
	row->counts = PG_GETARG_BOOL(ARG_COUNTS);
	if (TIMESTAMP_NOT_FINITE(row->from) || TIMESTAMP_NOT_FINITE(row->to))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("instant must be finite")));
	if (row->to - row->from > LONGEST_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a row of more than 1000 years cannot be cut at quarter-hours")));
	yq_wide_from_numeric(&row->amount, PG_GETARG_NUMERIC(ARG_AMOUNT));
	return true;
}

/*
 * add_quarter_hours(state, allocation, factors, from, to, part_from, amount, sign,
 * as_booked, counts): the factors may be NULL; a row of which something else is adds nothing.
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
			QuarterHour *sum = find_quarter_hour(hours, quarter_hour(row.from), context);

			yq_wide_add(&sum->amount, &row.amount);
			sum->rows += row.counts ? 1 : 0;
		}
	}
	else
	{
		uint64		weight;
		YqRateClass *rate_class;

		(void) yq_rate_class_refresh();
		rate_class = yq_rate_class_require(PG_GETARG_YQ_RESOURCE_P(ARG_ALLOCATION),
										   PG_ARGISNULL(ARG_FACTORS) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_FACTORS), &weight);
		add_pieces(hours, &row, rate_class, weight, context);
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
	Datum	   *sums;

	(void) yq_require_aggregate(fcinfo, "quarter_hour_sums()");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	hours = (QuarterHours *) PG_GETARG_POINTER(0);
	type = get_element_type(get_fn_expr_rettype(fcinfo->flinfo));
	columns = lookup_rowtype_tupdesc(type, -1);
	sums = palloc(sizeof(Datum) * hours->count);
	for (int i = 0; i < hours->count; i++)
	{
		bool		nulls[3] = {false, false, false};
		Datum		values[3];

		values[0] = TimestampTzGetDatum(hours->entries[i].starts_at);
		values[1] = NumericGetDatum(yq_wide_to_numeric(&hours->entries[i].amount));
		values[2] = Int64GetDatum(hours->entries[i].rows);
		sums[i] = HeapTupleGetDatum(heap_form_tuple(columns, values, nulls));
	}
	ReleaseTupleDesc(columns);
	PG_RETURN_ARRAYTYPE_P(construct_array(sums, hours->count, type, -1, false, TYPALIGN_DOUBLE));
}
