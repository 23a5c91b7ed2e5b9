/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Arguments and results of SQL functions that more than one module takes.
 *
 * A null where none is allowed is an error with ERRCODE_NULL_VALUE_NOT_ALLOWED
 * that names the argument.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ARGUMENTS_H
#define YQ_ARGUMENTS_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "fmgr.h"
#include "utils/builtins.h"

/* An argument, or an attribute of one, of that name must be there. */
extern void yq_require_value(bool isnull, const char *name);

/* An argument that must be neither null nor empty. */
extern text *yq_required_text(FunctionCallInfo fcinfo, int argument, const char *name);

/* An argument as a string, NULL when it is null. */
extern char *yq_text_argument(FunctionCallInfo fcinfo, int argument);

/* An array of text without nulls in it; null is empty.  Returns how many, palloc'd. */
extern int	yq_text_array(FunctionCallInfo fcinfo, int argument, const char *name,
						  const char ***strings);

/* The array of the argument, an empty one for null; and its elements. */
extern Datum yq_texts_argument(FunctionCallInfo fcinfo, int argument);
extern int	yq_texts_of_array(Datum array, const char *name, const char ***strings);

/* An array of rows that is not null and has no nulls in it.  Returns how many, palloc'd. */
extern int	yq_row_array(FunctionCallInfo fcinfo, int argument, const char *name,
						 HeapTupleHeader **rows);

/* The same of an array that is at hand. */
extern int	yq_rows_of_array(Datum array, const char *name, HeapTupleHeader **rows);

/* All attributes of a row, which has that many. */
extern void yq_row_attributes(HeapTupleHeader row, int count, Datum *values, bool *nulls);

/*
 * The function of that name must have been called as a trigger AFTER some change, else
 * ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED.
 */
extern void yq_require_trigger(FunctionCallInfo fcinfo, const char *name);

/*
 * The function must have been called as a part of the aggregate of that name, else
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.  Returns the context of the aggregate's state.
 */
extern MemoryContext yq_require_aggregate(FunctionCallInfo fcinfo, const char *name);

/* The row type that the function returns, looked up once per query. */
extern TupleDesc yq_result_descriptor(FunctionCallInfo fcinfo);

/*
 * A row of values that is filled from left to right, for a result of a function or
 * for parameters of a statement.  Begin with one that is all zero.
 */
#define YQ_ROW_BUILDER_MOST_COLUMNS 48

typedef struct YqRowBuilder
{
	Datum		values[YQ_ROW_BUILDER_MOST_COLUMNS];
	bool		nulls[YQ_ROW_BUILDER_MOST_COLUMNS];
	int			count;
} YqRowBuilder;

/* The value is not looked at when it is null. */
static inline void
yq_row_put(YqRowBuilder *row, Datum value, bool isnull)
{
	Assert(row->count < YQ_ROW_BUILDER_MOST_COLUMNS);
	row->values[row->count] = value;
	row->nulls[row->count++] = isnull;
}

/* NULL is null. */
static inline void
yq_row_put_text(YqRowBuilder *row, const char *text)
{
	yq_row_put(row, text == NULL ? (Datum) 0 : CStringGetTextDatum(text), text == NULL);
}

#endif							/* YQ_ARGUMENTS_H */
