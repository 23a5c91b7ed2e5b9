/*-------------------------------------------------------------------------
 *
 * report_sql.c
 *	  A function that reports call for every row of the ledger.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(yq_sql_part_within);

/* How many of ascending instants are not after one. */
static int
count_until(const TimestampTz *cuts, int count, TimestampTz at)
{
	int			first = 0;
	int			end = count;

	while (first < end)
	{
		int			middle = first + (end - first) / 2;

		if (cuts[middle] <= at)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/*
 * part_within(cuts, from, to): number of the part, from one cut to the next, that
 * a segment lies in; NULL when a cut lies within it.  An empty segment is its
 * instant.
 */
Datum
yq_sql_part_within(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	TimestampTz from = PG_GETARG_TIMESTAMPTZ(1);
	TimestampTz to = PG_GETARG_TIMESTAMPTZ(2);
	const TimestampTz *cuts;
	int			part;

	if (ARR_NDIM(array) != 1 || ARR_ELEMTYPE(array) != TIMESTAMPTZOID || ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cuts must be a one-dimensional array of instants")));
	cuts = (const TimestampTz *) ((const char *) array + ARR_OVERHEAD_NONULLS(1));
	part = count_until(cuts, ARR_DIMS(array)[0], from);
	if (part < ARR_DIMS(array)[0] && to > cuts[part])
		PG_RETURN_NULL();
	PG_RETURN_INT32(part);
}
