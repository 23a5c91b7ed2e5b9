/*-------------------------------------------------------------------------
 *
 * row_jsonb.c
 *	  Rows as JSON objects of the columns that are set.
 *
 * Only a few of the fifty columns of a row of yquota.queue are set.  An object of all columns, from
 * which the nulls are then removed, would cost ten times as much.  to_jsonb() converts the values.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(yq_sql_set_columns);

/* Facts about a row type, kept for the next call with the same type. */
typedef struct RowConverter
{
	Oid			row_type;
	int32		row_typmod;
	TupleDesc	descriptor;		/* a copy */
	FmgrInfo   *to_jsonb;		/* per column */
	Datum	   *values;
	bool	   *nulls;
} RowConverter;

/*
 * Prepare a call of to_jsonb() with an expression of the argument's type, because to_jsonb() reads
 * the type from this expression.
 */
static void
prepare_column(FmgrInfo *to_jsonb, Form_pg_attribute column, MemoryContext context)
{
	Const	   *argument = makeNullConst(column->atttypid, column->atttypmod, column->attcollation);
	FuncExpr   *call = makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(argument), InvalidOid,
									InvalidOid, COERCE_EXPLICIT_CALL);

	fmgr_info_cxt(F_TO_JSONB, to_jsonb, context);
	fmgr_info_set_expr((Node *) call, to_jsonb);
}

static RowConverter *
find_converter(FunctionCallInfo fcinfo, HeapTupleHeader row)
{
	RowConverter *converter = fcinfo->flinfo->fn_extra;
	Oid			type = HeapTupleHeaderGetTypeId(row);
	int32		typmod = HeapTupleHeaderGetTypMod(row);
	MemoryContext old_context;
	TupleDesc	descriptor;

	if (converter != NULL && converter->row_type == type && converter->row_typmod == typmod)
		return converter;
	descriptor = lookup_rowtype_tupdesc(type, typmod);
	old_context = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	converter = palloc(sizeof(RowConverter));
	converter->row_type = type;
	converter->row_typmod = typmod;
	converter->descriptor = CreateTupleDescCopy(descriptor);
	converter->to_jsonb = palloc(descriptor->natts * sizeof(FmgrInfo));
	converter->values = palloc(descriptor->natts * sizeof(Datum));
	converter->nulls = palloc(descriptor->natts * sizeof(bool));
	for (int i = 0; i < descriptor->natts; i++)
	{
		if (!TupleDescAttr(descriptor, i)->attisdropped)
			prepare_column(&converter->to_jsonb[i], TupleDescAttr(descriptor, i), fcinfo->flinfo->fn_mcxt);
	}
	MemoryContextSwitchTo(old_context);
	ReleaseTupleDesc(descriptor);
	fcinfo->flinfo->fn_extra = converter;
	return converter;
}

static void
push_column(JsonbParseState **state, const char *name, Jsonb *made)
{
	JsonbValue	value = {.type = jbvString};

	value.val.string.val = unconstify(char *, name);
	value.val.string.len = strlen(name);
	pushJsonbValue(state, WJB_KEY, &value);
	if (JB_ROOT_IS_SCALAR(made))
		(void) JsonbExtractScalar(&made->root, &value);
	else
	{
		value.type = jbvBinary;
		value.val.binary.data = &made->root;
		value.val.binary.len = VARSIZE(made) - VARHDRSZ;
	}
	pushJsonbValue(state, WJB_VALUE, &value);
}

/* set_columns(row) */
Datum
yq_sql_set_columns(PG_FUNCTION_ARGS)
{
	HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(0);
	RowConverter *converter = find_converter(fcinfo, row);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(row), .t_data = row};
	JsonbParseState *state = NULL;

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, converter->descriptor, converter->values, converter->nulls);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	for (int i = 0; i < converter->descriptor->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(converter->descriptor, i);

		if (!converter->nulls[i] && !column->attisdropped)
			push_column(&state, NameStr(column->attname),
						DatumGetJsonbP(FunctionCall1(&converter->to_jsonb[i], converter->values[i])));
	}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
}
