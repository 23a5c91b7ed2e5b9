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

/* An argument, or an attribute of one, of that name must be there. */
extern void yq_require_value(bool isnull, const char *name);

/* An argument that must be neither null nor empty. */
extern text *yq_required_text(FunctionCallInfo fcinfo, int argument, const char *name);

/* An argument as a string, NULL when it is null. */
extern char *yq_text_argument(FunctionCallInfo fcinfo, int argument);

/* An array of text without nulls in it; null is empty.  Returns how many, palloc'd. */
extern int	yq_text_array(FunctionCallInfo fcinfo, int argument, const char *name,
						  const char ***strings);

/* An array of rows that is not null and has no nulls in it.  Returns how many, palloc'd. */
extern int	yq_row_array(FunctionCallInfo fcinfo, int argument, const char *name,
						 HeapTupleHeader **rows);

/* All attributes of a row, which has that many. */
extern void yq_row_attributes(HeapTupleHeader row, int count, Datum *values, bool *nulls);

/*
 * The function of that name must have been called as a trigger AFTER some change, else
 * ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED.
 */
extern void yq_require_trigger(FunctionCallInfo fcinfo, const char *name);

/* The row type that the function returns, looked up once per query. */
extern TupleDesc yq_result_descriptor(FunctionCallInfo fcinfo);

#endif							/* YQ_ARGUMENTS_H */
