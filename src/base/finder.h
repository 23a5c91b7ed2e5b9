/*-------------------------------------------------------------------------
 *
 * finder.h
 *	  Looking up rows of yquota's own tables by an index on one text column.
 *
 * Rows are seen as they are at this moment: what other transactions have
 * committed and what this one has done, up to and including the present
 * command.  A statement about containers has to know whatever was committed
 * before it touches a row, at every isolation level.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FINDER_H
#define YQ_FINDER_H

#include "base/catalog.h"
#include "executor/tuptable.h"

typedef struct YqFinder YqFinder;

/*
 * Open in the current memory context.  Takes RowExclusiveLock, kept until the
 * end of the transaction, because callers go on to change what they find.
 */
extern YqFinder *yq_finder_open(YqTable table, const char *index_name);
extern void yq_finder_close(YqFinder *finder);

extern Relation yq_finder_relation(YqFinder *finder);

/* Begin to look for a key; NULL looks for any row. */
extern void yq_finder_seek(YqFinder *finder, const text *key);

/* The next row, in a slot that is valid until the next call; NULL at the end. */
extern TupleTableSlot *yq_finder_next(YqFinder *finder);

/*
 * The row of a unique key.  When there is none at this moment but another
 * transaction is about to insert or to replace one, waits for that transaction
 * to end and looks again.  NULL when there is none.
 */
extern TupleTableSlot *yq_finder_wait_for(YqFinder *finder, const text *key);

/*
 * Whether there is a row of a unique key, or another transaction is about to
 * insert one.  Does not wait.
 */
extern bool yq_finder_is_taken(YqFinder *finder, const text *key);

#endif							/* YQ_FINDER_H */
