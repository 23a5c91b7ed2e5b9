/*-------------------------------------------------------------------------
 *
 * index_entries.h
 *	  Entries of appended rows in the indexes of their table, also in those that
 *	  an administrator has added.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_INDEX_ENTRIES_H
#define YQ_INDEX_ENTRIES_H

#include "nodes/execnodes.h"

typedef struct YqIndexEntries YqIndexEntries;

/*
 * Open the indexes of an open table, in the current memory context.  "optimistic":
 * neither wait for nor fail on a row with the same unique key.
 */
extern YqIndexEntries *yq_index_entries_open(Relation heap, bool optimistic);

/* Make the BRIN entries of rows that have just been inserted, in that order. */
extern void yq_index_entries_summarize(YqIndexEntries *entries, TupleTableSlot **slots, int count);

/* Make all other entries of such a row; true when optimistic ones leave open whether it is a duplicate. */
extern bool yq_index_entries_insert(YqIndexEntries *entries, TupleTableSlot *slot);

/* Close the indexes; their locks stay until the end of the transaction. */
extern void yq_index_entries_close(YqIndexEntries *entries);

#endif							/* YQ_INDEX_ENTRIES_H */
