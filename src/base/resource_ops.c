/*-------------------------------------------------------------------------
 *
 * resource_ops.c
 *	  SQL interface of yquota.resource: operators, operator classes, accessors.
 *
 * Each function unpacks its arguments and calls resource.c.  The support
 * functions of indexes free detoasted values, because a sort or an index scan
 * calls them many times in one memory context.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/numeric.h"
#include "utils/sortsupport.h"

#include "base/compat.h"
#include "base/resource.h"

/* ------------------------------------------------------------------------
 * Arithmetic
 * ------------------------------------------------------------------------
 */

PG_FUNCTION_INFO_V1(yq_sql_resource_add);
Datum
yq_sql_resource_add(PG_FUNCTION_ARGS)
{
	PG_RETURN_YQ_RESOURCE_P(yq_resource_add(PG_GETARG_YQ_RESOURCE_P(0),
											PG_GETARG_YQ_RESOURCE_P(1)));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_subtract);
Datum
yq_sql_resource_subtract(PG_FUNCTION_ARGS)
{
	PG_RETURN_YQ_RESOURCE_P(yq_resource_subtract(PG_GETARG_YQ_RESOURCE_P(0),
												 PG_GETARG_YQ_RESOURCE_P(1)));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_negate);
Datum
yq_sql_resource_negate(PG_FUNCTION_ARGS)
{
	PG_RETURN_YQ_RESOURCE_P(yq_resource_multiply(PG_GETARG_YQ_RESOURCE_P(0),
												 -1));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_multiply);
Datum
yq_sql_resource_multiply(PG_FUNCTION_ARGS)
{
	PG_RETURN_YQ_RESOURCE_P(yq_resource_multiply(PG_GETARG_YQ_RESOURCE_P(0),
												 PG_GETARG_INT64(1)));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_multiply_left);
Datum
yq_sql_resource_multiply_left(PG_FUNCTION_ARGS)
{
	PG_RETURN_YQ_RESOURCE_P(yq_resource_multiply(PG_GETARG_YQ_RESOURCE_P(1),
												 PG_GETARG_INT64(0)));
}

/* ------------------------------------------------------------------------
 * Comparison
 * ------------------------------------------------------------------------
 */

static bool
arguments_equal(FunctionCallInfo fcinfo)
{
	YqResource *a = PG_GETARG_YQ_RESOURCE_P(0);
	YqResource *b = PG_GETARG_YQ_RESOURCE_P(1);
	bool		result = yq_resource_equal(a, b);

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

static int
compare_arguments(FunctionCallInfo fcinfo)
{
	YqResource *a = PG_GETARG_YQ_RESOURCE_P(0);
	YqResource *b = PG_GETARG_YQ_RESOURCE_P(1);
	int			result = yq_resource_compare(a, b);

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

PG_FUNCTION_INFO_V1(yq_sql_resource_eq);
Datum
yq_sql_resource_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(arguments_equal(fcinfo));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_ne);
Datum
yq_sql_resource_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!arguments_equal(fcinfo));
}

PG_FUNCTION_INFO_V1(yq_sql_resource_lt);
Datum
yq_sql_resource_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) < 0);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_le);
Datum
yq_sql_resource_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) <= 0);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_gt);
Datum
yq_sql_resource_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) > 0);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_ge);
Datum
yq_sql_resource_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(compare_arguments(fcinfo) >= 0);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_cmp);
Datum
yq_sql_resource_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_arguments(fcinfo));
}

static int
compare_resources_for_sort(Datum x, Datum y, SortSupport ssup)
{
	YqResource *a = DatumGetYqResourceP(x);
	YqResource *b = DatumGetYqResourceP(y);
	int			result = yq_resource_compare(a, b);

	if (PointerGetDatum(a) != x)
		pfree(a);
	if (PointerGetDatum(b) != y)
		pfree(b);
	return result;
}

PG_FUNCTION_INFO_V1(yq_sql_resource_sortsupport);
Datum
yq_sql_resource_sortsupport(PG_FUNCTION_ARGS)
{
	SortSupport ssup = (SortSupport) PG_GETARG_POINTER(0);

	ssup->comparator = compare_resources_for_sort;
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(yq_sql_resource_hash);
Datum
yq_sql_resource_hash(PG_FUNCTION_ARGS)
{
	YqResource *resource = PG_GETARG_YQ_RESOURCE_P(0);
	uint32		result = yq_resource_hash(resource);

	PG_FREE_IF_COPY(resource, 0);
	PG_RETURN_UINT32(result);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_hash_extended);
Datum
yq_sql_resource_hash_extended(PG_FUNCTION_ARGS)
{
	YqResource *resource = PG_GETARG_YQ_RESOURCE_P(0);
	uint64		result = yq_resource_hash_extended(resource,
												   PG_GETARG_INT64(1));

	PG_FREE_IF_COPY(resource, 0);
	PG_RETURN_UINT64(result);
}

PG_FUNCTION_INFO_V1(yq_sql_fits_in);
Datum
yq_sql_fits_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_resource_fits_in(PG_GETARG_YQ_RESOURCE_P(0),
									   PG_GETARG_YQ_RESOURCE_P(1)));
}

PG_FUNCTION_INFO_V1(yq_sql_has_room_for);
Datum
yq_sql_has_room_for(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(yq_resource_fits_in(PG_GETARG_YQ_RESOURCE_P(1),
									   PG_GETARG_YQ_RESOURCE_P(0)));
}

/* ------------------------------------------------------------------------
 * Construction and access
 * ------------------------------------------------------------------------
 */

/* The parameters of yquota.resource(memory_mb, vcores, ...), in order. */
static const char *const parameter_names[] = {
	"memory-mb", "vcores", "yarn.io/gpu", "yarn.io/fpga", "cpu-milli", "gpu-milli",
};

PG_FUNCTION_INFO_V1(yq_sql_resource_from_amounts);
Datum
yq_sql_resource_from_amounts(PG_FUNCTION_ARGS)
{
	YqResourceEntry entries[lengthof(parameter_names)];

	for (int i = 0; i < (int) lengthof(parameter_names); i++)
	{
		entries[i].name = parameter_names[i];
		entries[i].name_length = strlen(parameter_names[i]);
		entries[i].amount = PG_GETARG_INT64(i);
	}
	PG_RETURN_YQ_RESOURCE_P(yq_resource_make(entries,
											 lengthof(parameter_names)));
}

PG_FUNCTION_INFO_V1(yq_sql_amount);
Datum
yq_sql_amount(PG_FUNCTION_ARGS)
{
	text	   *name_text = PG_GETARG_TEXT_PP(1);
	const char *name = VARDATA_ANY(name_text);
	int			name_length = VARSIZE_ANY_EXHDR(name_text);

	if (!yq_resource_name_normalize(&name, &name_length))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid resource name \"%.*s\"", name_length, name),
				 errdetail("A name is 1 to %d characters of printable ASCII without white space and \"[]<>,:=\".",
						   YQ_RESOURCE_MAX_NAME_LENGTH)));
	PG_RETURN_INT64(yq_resource_amount(PG_GETARG_YQ_RESOURCE_P(0),
									   name, name_length));
}

PG_FUNCTION_INFO_V1(yq_sql_dominant_share);
Datum
yq_sql_dominant_share(PG_FUNCTION_ARGS)
{
	int64		amount;
	int64		total;
	Datum		share;

	yq_resource_dominant_share(PG_GETARG_YQ_RESOURCE_P(0),
							   PG_GETARG_YQ_RESOURCE_P(1),
							   &amount, &total);
	if (total == 0)
		return DirectFunctionCall3(numeric_in, CStringGetDatum("Infinity"),
								   ObjectIdGetDatum(InvalidOid),
								   Int32GetDatum(-1));

	share = DirectFunctionCall2(numeric_div,
								NumericGetDatum(int64_to_numeric(amount)),
								NumericGetDatum(int64_to_numeric(total)));
	return DirectFunctionCall1(numeric_trim_scale, share);
}

PG_FUNCTION_INFO_V1(yq_sql_resource_entries);
Datum
yq_sql_resource_entries(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	YqResourceEntry entries[YQ_RESOURCE_MAX_ENTRIES];
	int			count = yq_resource_read(PG_GETARG_YQ_RESOURCE_P(0), entries);

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < count; i++)
	{
		Datum		values[2];
		bool		nulls[2] = {false, false};

		values[0] = PointerGetDatum(cstring_to_text_with_len(entries[i].name,
															 entries[i].name_length));
		values[1] = Int64GetDatum(entries[i].amount);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}
