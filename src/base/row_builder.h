/*-------------------------------------------------------------------------
 *
 * row_builder.h
 *	  A row of values that is filled from left to right, for a result of a function or
 *	  for parameters of a statement.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ROW_BUILDER_H
#define YQ_ROW_BUILDER_H

#include "utils/builtins.h"

#define YQ_ROW_BUILDER_MOST_COLUMNS 48

/* Begin with one that is all zero. */
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

#endif							/* YQ_ROW_BUILDER_H */
