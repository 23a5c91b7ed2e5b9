/*-------------------------------------------------------------------------
 *
 * brin_insert.h
 *	  Entries of appended rows in BRIN indexes, without those that add nothing.
 *
 * A BRIN index summarizes ranges of blocks.  Of the rows that are put into a
 * block together, those whose values lie between others, or are the same as
 * those of the row before, cannot change a summary.  Leaving them out makes
 * such an index nearly free for a statement of many rows.
 *
 * Indexes with expressions or a predicate are not handled here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BRIN_INSERT_H
#define YQ_BRIN_INSERT_H

#include "nodes/execnodes.h"

typedef struct YqBrinInsert YqBrinInsert;

/*
 * Take the BRIN indexes out of those that ExecOpenIndices() has opened; NULL
 * when there is none.  Allocates in the current memory context.
 */
extern YqBrinInsert *yq_brin_insert_take(ResultRelInfo *result);

/* Make the entries of rows that have just been inserted, in that order. */
extern void yq_brin_insert_insert(YqBrinInsert *ranges, EState *estate,
								   TupleTableSlot **slots, int count);

/* Close the indexes; their locks stay until the end of the transaction. */
extern void yq_brin_insert_close(YqBrinInsert *ranges);

#endif							/* YQ_BRIN_INSERT_H */
