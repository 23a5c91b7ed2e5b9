/*-------------------------------------------------------------------------
 *
 * arguments.h
 *	  Arguments and results of SQL functions of several modules.
 *
 * A null in place of a required argument raises ERRCODE_NULL_VALUE_NOT_ALLOWED.  The message names
 * the argument.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ARGUMENTS_H
#define YQ_ARGUMENTS_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/builtins.h"

/* Raise an error when the named argument, or the named attribute of a row, is null. */
extern void yq_require_value(bool isnull, const char *name);

/* Return an argument that must be neither null nor empty. */
extern text *yq_required_text(FunctionCallInfo fcinfo, int argument, const char *name);

/* Return an instant that is not null.  Raises ERRCODE_DATETIME_FIELD_OVERFLOW unless it is finite. */
extern TimestampTz yq_finite_instant(FunctionCallInfo fcinfo, int argument);

/* Return an argument as a string, or NULL when it is null. */
extern char *yq_text_argument(FunctionCallInfo fcinfo, int argument);

/*
 * Read an array of text that contains no nulls; a null array counts as empty.  Returns
 * the number of strings, which are palloc'd.
 */
extern int	yq_text_array(FunctionCallInfo fcinfo, int argument, const char *name,
						  const char ***strings);

/*
 * Return the array argument, or an empty array if the argument is null.  yq_texts_of_array()
 * reads the elements of such an array.
 */
extern Datum yq_texts_argument(FunctionCallInfo fcinfo, int argument);
extern int	yq_texts_of_array(Datum array, const char *name, const char ***strings);

/*
 * Read an array of rows that is not null and contains no nulls.  Returns the number of
 * rows, which are palloc'd.
 */
extern int	yq_row_array(FunctionCallInfo fcinfo, int argument, const char *name,
						 HeapTupleHeader **rows);

/* Read an array value in the same way as yq_row_array() reads an argument. */
extern int	yq_rows_of_array(Datum array, const char *name, HeapTupleHeader **rows);

/* Read all attributes of a row.  The row has exactly "count" attributes. */
extern void yq_row_attributes(HeapTupleHeader row, int count, Datum *values, bool *nulls);

/* Raise ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED unless the server calls the named function as an AFTER trigger. */
extern void yq_require_trigger(FunctionCallInfo fcinfo, const char *name);

/*
 * Raise ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE unless the server calls the function as a support
 * function of the named aggregate.  Returns the memory context of the aggregate's state.
 */
extern MemoryContext yq_require_aggregate(FunctionCallInfo fcinfo, const char *name);

/* Return the row type of the calling function's result.  The type is looked up once per query. */
extern TupleDesc yq_result_descriptor(FunctionCallInfo fcinfo);

/*
 * A row of values that the caller fills from left to right: the result of a function or the
 * parameters of a statement.  The caller zeroes the builder before the first value.
 */
#define YQ_ROW_BUILDER_MOST_COLUMNS 48

typedef struct YqRowBuilder
{
	Datum		values[YQ_ROW_BUILDER_MOST_COLUMNS];
	bool		nulls[YQ_ROW_BUILDER_MOST_COLUMNS];
	int			count;
} YqRowBuilder;

/* Append a value.  "value" is ignored if "isnull" is set. */
static inline void
yq_row_put(YqRowBuilder *row, Datum value, bool isnull)
{
	Assert(row->count < YQ_ROW_BUILDER_MOST_COLUMNS);
	row->values[row->count] = value;
	row->nulls[row->count++] = isnull;
}

/* Append a string as a text, or a null if the string is NULL. */
static inline void
yq_row_put_text(YqRowBuilder *row, const char *text)
{
	yq_row_put(row, text == NULL ? (Datum) 0 : CStringGetTextDatum(text), text == NULL);
}

#endif							/* YQ_ARGUMENTS_H */
