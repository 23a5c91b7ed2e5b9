/*-------------------------------------------------------------------------
 *
 * resource_sum.c
 *	  Sums of vectors, and the aggregate sum(yquota.resource).
 *
 * The aggregate's state has sums of 128 bits, which even 2^64 amounts of 64 bits cannot overflow.
 * Only the final sum must fit in int64.  Whether a sum is an error therefore depends neither on the
 * order of the rows nor on how parallel workers divided them.
 *
 * The sum of requested resources may exceed int64.  In this case, yquota_internal.demand() returns
 * the largest int64 amount instead of raising an error.
 *
 * The state is allocated in the memory context of the aggregate.  NULLs are skipped, and the sum of
 * no rows is NULL, as with sum() of numbers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "base/compat.h"
#include "base/arguments.h"
#include "base/resource.h"

typedef struct SumEntry
{
	const char *name;			/* name in the memory of the aggregate's state, or a constant */
	int			name_length;
	int128		amount;			/* may be zero */
} SumEntry;

struct YqResourceSum
{
	MemoryContext context;		/* memory context of the entries and names */
	int64		rows;			/* number of vectors in the sum */
	int			count;
	int			capacity;
	SumEntry   *entries;		/* in name order */
};

YqResourceSum *
yq_resource_sum_create(MemoryContext context)
{
	YqResourceSum *sum = MemoryContextAllocZero(context, sizeof(YqResourceSum));

	sum->context = context;
	sum->capacity = 4;
	sum->entries = MemoryContextAlloc(context,
									  sum->capacity * sizeof(SumEntry));
	return sum;
}

static void
insert_sum_entry(YqResourceSum *sum, int at, const char *name, int name_length)
{
	if (!yq_resource_name_is_constant(name))
		name = memcpy(MemoryContextAlloc(sum->context, name_length), name, name_length);
	if (sum->count == sum->capacity)
	{
		sum->capacity *= 2;
		sum->entries = repalloc(sum->entries,
								sum->capacity * sizeof(SumEntry));
	}
	memmove(&sum->entries[at + 1], &sum->entries[at],
			(sum->count - at) * sizeof(SumEntry));
	sum->count++;
	sum->entries[at].name = name;
	sum->entries[at].name_length = name_length;
	sum->entries[at].amount = 0;
}

/*
 * Add an amount of "name", and return the position after its entry.  Callers add names in order,
 * and start each search where the previous call ended.
 */
static int
add_amount(YqResourceSum *sum, int from, const char *name, int name_length,
		   int128 amount)
{
	int			order = 1;
	int			at = from;

	for (; at < sum->count; at++)
	{
		order = yq_resource_name_compare(sum->entries[at].name,
										 sum->entries[at].name_length,
										 name, name_length);
		if (order >= 0)
			break;
	}
	if (at == sum->count || order != 0)
		insert_sum_entry(sum, at, name, name_length);
	sum->entries[at].amount += amount;
	return at + 1;
}

static void
add_times(YqResourceSum *sum, const YqResource *resource, int64 times)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(resource, entries);
	int			at = 0;

	for (int i = 0; i < count; i++)
		at = add_amount(sum, at, entries[i].name, entries[i].name_length,
						(int128) entries[i].amount * times);
}

void
yq_resource_sum_add(YqResourceSum *sum, const YqResource *resource, int sign)
{
	add_times(sum, resource, sign);
	sum->rows += sign;
}

PG_FUNCTION_INFO_V1(yq_sql_resource_sum_accum);
Datum
yq_sql_resource_sum_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	YqResourceSum *sum = PG_ARGISNULL(0) ? NULL :
		(YqResourceSum *) PG_GETARG_POINTER(0);

	if (sum == NULL)
		sum = yq_resource_sum_create(context);
	if (!PG_ARGISNULL(1))
		yq_resource_sum_add(sum, PG_GETARG_YQ_RESOURCE_P(1), 1);
	PG_RETURN_POINTER(sum);
}

/* Subtract the vector of a row that has left the window frame. */
PG_FUNCTION_INFO_V1(yq_sql_resource_sum_remove);
Datum
yq_sql_resource_sum_remove(PG_FUNCTION_ARGS)
{
	YqResourceSum *sum;

	(void) yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	if (PG_ARGISNULL(0))
		elog(ERROR, "row removed from an empty sum");
	sum = (YqResourceSum *) PG_GETARG_POINTER(0);
	if (!PG_ARGISNULL(1))
		yq_resource_sum_add(sum, PG_GETARG_YQ_RESOURCE_P(1), -1);
	PG_RETURN_POINTER(sum);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_sum_combine);
Datum
yq_sql_resource_sum_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	YqResourceSum *sum = PG_ARGISNULL(0) ? NULL :
		(YqResourceSum *) PG_GETARG_POINTER(0);
	int			at = 0;

	if (sum == NULL)
		sum = yq_resource_sum_create(context);
	if (!PG_ARGISNULL(1))
	{
		YqResourceSum *other = (YqResourceSum *) PG_GETARG_POINTER(1);

		for (int i = 0; i < other->count; i++)
			at = add_amount(sum, at, other->entries[i].name,
							other->entries[i].name_length,
							other->entries[i].amount);
		sum->rows += other->rows;
	}
	PG_RETURN_POINTER(sum);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_sum_serialize);
Datum
yq_sql_resource_sum_serialize(PG_FUNCTION_ARGS)
{
	YqResourceSum *sum;
	StringInfoData message;

	(void) yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	sum = (YqResourceSum *) PG_GETARG_POINTER(0);

	pq_begintypsend(&message);
	pq_sendint64(&message, sum->rows);
	pq_sendint32(&message, sum->count);
	for (int i = 0; i < sum->count; i++)
	{
		SumEntry   *entry = &sum->entries[i];

		pq_sendbyte(&message, entry->name_length);
		pq_sendbytes(&message, entry->name, entry->name_length);
		pq_sendint64(&message, (int64) (entry->amount >> 64));
		pq_sendint64(&message, (int64) entry->amount);
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_sum_deserialize);
Datum
yq_sql_resource_sum_deserialize(PG_FUNCTION_ARGS)
{
	YqResourceSum *sum;
	StringInfoData message;
	bytea	   *state;
	int			count;
	int			at = 0;

	(void) yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	state = PG_GETARG_BYTEA_PP(0);
	initStringInfo(&message);
	appendBinaryStringInfo(&message, VARDATA_ANY(state),
						   VARSIZE_ANY_EXHDR(state));

	sum = yq_resource_sum_create(CurrentMemoryContext);
	sum->rows = pq_getmsgint64(&message);
	count = pq_getmsgint(&message, 4);
	for (int i = 0; i < count; i++)
	{
		int			name_length = pq_getmsgbyte(&message);
		const char *name = pq_getmsgbytes(&message, name_length);
		uint128		high = (uint64) pq_getmsgint64(&message);
		uint128		low = (uint64) pq_getmsgint64(&message);

		at = add_amount(sum, at, name, name_length,
						(int128) (high << 64 | low));
	}
	pq_getmsgend(&message);
	PG_RETURN_POINTER(sum);
}

bool
yq_resource_sum_is_zero(const YqResourceSum *sum)
{
	for (int i = 0; i < sum->count; i++)
	{
		if (sum->entries[i].amount != 0)
			return false;
	}
	return true;
}

bool
yq_resource_sum_equal(const YqResourceSum *a, const YqResourceSum *b)
{
	bool		equal = (a->count == b->count);

	for (int i = 0; equal && i < a->count; i++)
		equal = a->entries[i].amount == b->entries[i].amount &&
			yq_resource_name_compare(a->entries[i].name, a->entries[i].name_length,
									 b->entries[i].name, b->entries[i].name_length) == 0;
	return equal;
}

/*
 * Make the vector of a sum.  If an amount does not fit, the function uses the nearest amount that
 * fits if "saturates" is set.  Otherwise it raises an error.
 */
static YqResource *
make_vector(const YqResourceSum *sum, bool saturates)
{
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = 0;

	for (int i = 0; i < sum->count; i++)
	{
		const SumEntry *entry = &sum->entries[i];

		if (entry->amount == 0)
			continue;
		if (!saturates && (entry->amount < PG_INT64_MIN || entry->amount > PG_INT64_MAX))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("sum of resource \"%.*s\" is out of range",
							entry->name_length, entry->name),
					 errdetail("Amounts are 64-bit integers.")));
		if (count == YQ_RESOURCE_MAX_ENTRIES)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many entries in a sum of resource vectors"),
					 errdetail("A vector holds at most %d names.",
							   YQ_RESOURCE_MAX_ENTRIES)));
		entries[count].name = entry->name;
		entries[count].name_length = entry->name_length;
		entries[count++].amount = (int64) Max(PG_INT64_MIN, Min(PG_INT64_MAX, entry->amount));
	}
	return yq_resource_make(entries, count);
}

YqResource *
yq_resource_sum_vector(const YqResourceSum *sum)
{
	return make_vector(sum, false);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_sum_final);
Datum
yq_sql_resource_sum_final(PG_FUNCTION_ARGS)
{
	YqResourceSum *sum = PG_ARGISNULL(0) ? NULL :
		(YqResourceSum *) PG_GETARG_POINTER(0);

	(void) yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	if (sum == NULL || sum->rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_YQ_RESOURCE_P(yq_resource_sum_vector(sum));
}

/* demand(resource, bigint): multiply each amount by the number of containers */
PG_FUNCTION_INFO_V1(yq_sql_demand_accum);
Datum
yq_sql_demand_accum(PG_FUNCTION_ARGS)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	YqResourceSum *sum = PG_ARGISNULL(0) ? NULL :
		(YqResourceSum *) PG_GETARG_POINTER(0);

	if (sum == NULL)
		sum = yq_resource_sum_create(context);
	if (!PG_ARGISNULL(1) && !PG_ARGISNULL(2))
	{
		add_times(sum, PG_GETARG_YQ_RESOURCE_P(1), PG_GETARG_INT64(2));
		sum->rows++;
	}
	PG_RETURN_POINTER(sum);
}

PG_FUNCTION_INFO_V1(yq_sql_demand_final);
Datum
yq_sql_demand_final(PG_FUNCTION_ARGS)
{
	YqResourceSum *sum = PG_ARGISNULL(0) ? NULL :
		(YqResourceSum *) PG_GETARG_POINTER(0);

	(void) yq_require_aggregate(fcinfo, "sum(yquota.resource)");
	if (sum == NULL || sum->rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_YQ_RESOURCE_P(make_vector(sum, true));
}
