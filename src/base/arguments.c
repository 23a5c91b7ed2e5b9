/*-------------------------------------------------------------------------
 *
 * arguments.c
 *	  Arguments and results of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "base/arguments.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

void
yq_require_value(bool isnull, const char *name)
{
	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

void
yq_require_trigger(FunctionCallInfo fcinfo, const char *name)
{
	if (!CALLED_AS_TRIGGER(fcinfo) || !TRIGGER_FIRED_AFTER(((TriggerData *) fcinfo->context)->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("%s() must be called as a trigger AFTER a change", name)));
}

MemoryContext
yq_require_aggregate(FunctionCallInfo fcinfo, const char *name)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("support function of %s called outside an aggregate", name)));
	return context;
}

text *
yq_required_text(FunctionCallInfo fcinfo, int argument, const char *name)
{
	text	   *value;

	yq_require_value(PG_ARGISNULL(argument), name);
	value = PG_GETARG_TEXT_PP(argument);
	if (VARSIZE_ANY_EXHDR(value) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not be empty", name)));
	return value;
}

TimestampTz
yq_finite_instant(FunctionCallInfo fcinfo, int argument)
{
	TimestampTz instant = PG_GETARG_TIMESTAMPTZ(argument);

	if (TIMESTAMP_NOT_FINITE(instant))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_FIELD_OVERFLOW),
				 errmsg("instant must be finite")));
	return instant;
}

char *
yq_text_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

static int
read_array(ArrayType *array, const char *name, Datum **elements)
{
	bool	   *nulls;
	int			count;
	int16		length;
	bool		by_value;
	char		alignment;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not contain nulls", name)));
	}
	return count;
}

Datum
yq_texts_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? PointerGetDatum(construct_empty_array(TEXTOID)) : PG_GETARG_DATUM(argument);
}

int
yq_texts_of_array(Datum array, const char *name, const char ***strings)
{
	Datum	   *elements;
	int			count = read_array(DatumGetArrayTypeP(array), name, &elements);

	*strings = palloc(Max(count, 1) * sizeof(char *));
	for (int i = 0; i < count; i++)
		(*strings)[i] = TextDatumGetCString(elements[i]);
	return count;
}

int
yq_text_array(FunctionCallInfo fcinfo, int argument, const char *name, const char ***strings)
{
	*strings = NULL;
	return PG_ARGISNULL(argument) ? 0 : yq_texts_of_array(PG_GETARG_DATUM(argument), name, strings);
}

int
yq_rows_of_array(Datum array, const char *name, HeapTupleHeader **rows)
{
	Datum	   *elements;
	int			count = read_array(DatumGetArrayTypeP(array), name, &elements);

	*rows = palloc(Max(count, 1) * sizeof(HeapTupleHeader));
	for (int i = 0; i < count; i++)
		(*rows)[i] = DatumGetHeapTupleHeader(elements[i]);
	return count;
}

int
yq_row_array(FunctionCallInfo fcinfo, int argument, const char *name, HeapTupleHeader **rows)
{
	yq_require_value(PG_ARGISNULL(argument), name);
	return yq_rows_of_array(PG_GETARG_DATUM(argument), name, rows);
}

void
yq_row_attributes(HeapTupleHeader row, int count, Datum *values, bool *nulls)
{
	TupleDesc	descriptor = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row), HeapTupleHeaderGetTypMod(row));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row};

	if (descriptor->natts != count)
		elog(ERROR, "a row of type %u has %d attributes instead of %d", HeapTupleHeaderGetTypeId(row),
			 descriptor->natts, count);
	heap_deform_tuple(&tuple, descriptor, values, nulls);
	ReleaseTupleDesc(descriptor);
}

TupleDesc
yq_result_descriptor(FunctionCallInfo fcinfo)
{
	TupleDesc	descriptor = fcinfo->flinfo->fn_extra;
	MemoryContext old_context;

	if (descriptor != NULL)
		return descriptor;
	old_context = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	descriptor = BlessTupleDesc(CreateTupleDescCopy(descriptor));
	MemoryContextSwitchTo(old_context);
	fcinfo->flinfo->fn_extra = descriptor;
	return descriptor;
}
