/*-------------------------------------------------------------------------
 *
 * plain_index.h
 *	  Entries of appended rows in an index, without an executor's state.
 *
 * An index is plain when its entries are columns as they are, of all rows or of
 * those in which a column is null, or is not, and when duplicates are nothing or
 * an error at once.
 *
 * A BRIN index summarizes ranges of blocks.  Of the rows that are put into a
 * block together, those whose values lie between others, or are the same as
 * those of the row before, cannot change a summary.  Leaving them out makes
 * such an index nearly free for a statement of many rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLAIN_INDEX_H
#define YQ_PLAIN_INDEX_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

typedef struct YqPlainIndex
{
	Relation	index;			/* the caller's, open */
	bool		is_brin;
	IndexInfo  *info;
	const NullTest *condition;	/* NULL when every row has an entry */
} YqPlainIndex;

/*
 * Get ready for entries in an open index that takes them, in the current memory
 * context.  False when it is not plain: then the server's executor makes them.
 */
extern bool yq_plain_index_init(YqPlainIndex *plain, Relation index);

/*
 * Make the entry of a row that has been inserted.  If "optimistic", a row with the
 * same unique key is neither waited for nor an error: the result is false when
 * there may be one.
 */
extern bool yq_plain_index_insert(const YqPlainIndex *plain, Relation heap, TupleTableSlot *slot,
								  bool optimistic);

/* Make the entries of rows in a BRIN index, in the order in which they have been inserted. */
extern void yq_plain_index_summarize(const YqPlainIndex *plain, Relation heap, TupleTableSlot **slots,
									 int count);

#endif							/* YQ_PLAIN_INDEX_H */
