/*-------------------------------------------------------------------------
 *
 * part_costs.c
 *	  The cost of allocations by resource type: the aggregate part_costs().
 *
 * Each type has two sums.  The first is the part of the cost that the type pays under the charging
 * mode.  The second is the cost of the type alone, as if no other type were dearer.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "base/arguments.h"
#include "fmgr.h"
#include "funcapi.h"
#include "pricing/rate_class.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

typedef struct PartCost
{
	char	   *resource_type;
	YqWide		amount;
	YqWide		alone;
	YqWide		waiting;		/* part of "alone" from containers that waited */
} PartCost;

typedef struct PartCosts
{
	int			count;
	int			room;
	PartCost   *entries;
} PartCosts;

enum
{
	ARG_STATE,
	ARG_ALLOCATION,
	ARG_FACTORS,
	ARG_FROM,
	ARG_TO,
	ARG_SIGN,
	ARG_WAITS
};

PG_FUNCTION_INFO_V1(yq_sql_add_part_costs);
PG_FUNCTION_INFO_V1(yq_sql_finish_part_costs);

/* Find the sums of a resource type.  There are only a few types. */
static PartCost *
find_or_add_type(PartCosts *sums, const char *resource_type, MemoryContext context)
{
	for (int i = 0; i < sums->count; i++)
	{
		if (strcmp(sums->entries[i].resource_type, resource_type) == 0)
			return &sums->entries[i];
	}
	if (sums->count == sums->room)
	{
		sums->room = Max(4, 2 * sums->room);
		sums->entries = sums->entries == NULL ? MemoryContextAlloc(context, sums->room * sizeof(PartCost)) :
			repalloc(sums->entries, sums->room * sizeof(PartCost));
	}
	sums->entries[sums->count] = (PartCost) {.resource_type = MemoryContextStrdup(context, resource_type)};
	return &sums->entries[sums->count++];
}

static void
add_signed(YqWide *sum, YqWide amount, int sign)
{
	if (sign < 0)
		yq_wide_negate(&amount);
	yq_wide_add(sum, &amount);
}

/*
 * add_part_costs(state, allocation, factors, from_at, to_at, sign, waits) accepts NULL only as
 * "factors".  It ignores a row in which another argument is NULL.
 */
Datum
yq_sql_add_part_costs(PG_FUNCTION_ARGS)
{
	MemoryContext context = yq_require_aggregate(fcinfo, "part_costs()");
	PartCosts  *sums = PG_ARGISNULL(ARG_STATE) ? MemoryContextAllocZero(context, sizeof(PartCosts)) :
		(PartCosts *) PG_GETARG_POINTER(ARG_STATE);
	YqWide		costs[YQ_RESOURCE_MAX_ENTRIES];
	YqWide		alone[YQ_RESOURCE_MAX_ENTRIES];
	YqRateClass *rate_class;
	TimestampTz from;
	uint64		weight;

	for (int i = ARG_ALLOCATION; i <= ARG_WAITS; i++)
	{
		if (i != ARG_FACTORS && PG_ARGISNULL(i))
			PG_RETURN_POINTER(sums);
	}
	rate_class = yq_rate_class_argument(fcinfo, ARG_ALLOCATION, &weight);
	from = yq_finite_instant(fcinfo, ARG_FROM);
	/* nothing accrues before "from" */
	yq_rate_class_part_costs(rate_class, weight, from, Max(from, yq_finite_instant(fcinfo, ARG_TO)), costs, alone);
	for (int i = 0; i < yq_rate_class_part_count(rate_class); i++)
	{
		PartCost   *sum = find_or_add_type(sums, yq_rate_class_part_name(rate_class, i), context);

		add_signed(&sum->amount, costs[i], PG_GETARG_INT32(ARG_SIGN));
		add_signed(&sum->alone, alone[i], PG_GETARG_INT32(ARG_SIGN));
		if (PG_GETARG_BOOL(ARG_WAITS))
			add_signed(&sum->waiting, alone[i], PG_GETARG_INT32(ARG_SIGN));
	}
	PG_RETURN_POINTER(sums);
}

/* finish_part_costs(state): part_cost[] */
Datum
yq_sql_finish_part_costs(PG_FUNCTION_ARGS)
{
	Oid			type;
	TupleDesc	columns;
	PartCosts  *sums;
	Datum	   *elements;

	(void) yq_require_aggregate(fcinfo, "part_costs()");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	sums = (PartCosts *) PG_GETARG_POINTER(0);
	type = get_element_type(get_fn_expr_rettype(fcinfo->flinfo));
	columns = lookup_rowtype_tupdesc(type, -1);
	elements = palloc(sizeof(Datum) * Max(sums->count, 1));
	for (int i = 0; i < sums->count; i++)
	{
		Datum		values[] = {
			CStringGetTextDatum(sums->entries[i].resource_type),
			NumericGetDatum(yq_wide_to_numeric(&sums->entries[i].amount)),
			NumericGetDatum(yq_wide_to_numeric(&sums->entries[i].alone)),
			NumericGetDatum(yq_wide_to_numeric(&sums->entries[i].waiting))
		};
		bool		nulls[lengthof(values)] = {0};

		elements[i] = HeapTupleGetDatum(heap_form_tuple(columns, values, nulls));
	}
	ReleaseTupleDesc(columns);
	PG_RETURN_ARRAYTYPE_P(construct_array(elements, sums->count, type, -1, false, TYPALIGN_DOUBLE));
}
