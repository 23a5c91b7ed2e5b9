/*-------------------------------------------------------------------------
 *
 * index_scan.h
 *	  Looking up rows of yquota's own tables by an index on one text column.
 *
 * Rows are seen as they are at this moment: with the commits of other
 * transactions and the changes of this one, up to and including the present
 * command.  A statement about containers must see all commits before it touches
 * a row, at every isolation level.
 *
 * The inheritance children of the table, if any, are looked into as well: the
 * sealed segments of the ledger are children of yquota.charge.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_INDEX_SCAN_H
#define YQ_INDEX_SCAN_H

#include "executor/tuptable.h"
#include "store/catalog.h"

typedef struct YqIndexScan YqIndexScan;

/*
 * Open in the current memory context.  Takes RowExclusiveLock, kept until the
 * end of the transaction, because callers go on to change the rows.
 */
extern YqIndexScan *yq_index_scan_open(YqTable table, const char *index_name);
extern void yq_index_scan_close(YqIndexScan *scan); /* NULL: nothing to do */

extern Relation yq_index_scan_relation(YqIndexScan *scan);

/* Begin to look for a key; NULL looks for any row. */
extern void yq_index_scan_seek(YqIndexScan *scan, const text *key);

/* The next row, in a slot that is valid until the next call; NULL at the end. */
extern TupleTableSlot *yq_index_scan_next(YqIndexScan *scan);

/* The first row of a key, or any; NULL when there is none. */
extern TupleTableSlot *yq_index_scan_find(YqIndexScan *scan, const text *key);

/*
 * The first row of a key, for many keys in ascending order ("C" collation),
 * which is cheaper than to seek them.  Rows inserted since the first key may be
 * missed: a caller that finds none and must be sure seeks the key.  The slot is
 * valid until the next call.
 */
extern TupleTableSlot *yq_index_scan_advance(YqIndexScan *scan, const text *key);

/* To be called before the next ascent. */
extern void yq_index_scan_restart(YqIndexScan *scan);

/*
 * The row of a unique key.  When there is none at this moment but another
 * transaction is about to insert or to replace one, waits for that transaction
 * to end and looks again.  NULL when there is none.
 */
extern TupleTableSlot *yq_index_scan_wait_for(YqIndexScan *scan, const text *key);

/*
 * Whether there is a row of a unique key besides one, or another transaction is
 * about to insert one.  Does not wait.
 */
extern bool yq_index_scan_is_taken(YqIndexScan *scan, const text *key, ItemPointer except);

/*
 * Whether this transaction has inserted a row of a unique key, even if it has
 * deleted the row since: others wait for it to end.  Rows withdrawn as one too
 * many (yq_claim_withdraw) are none, here and above.
 */
extern bool yq_index_scan_is_ours(YqIndexScan *scan, const text *key);

#endif							/* YQ_INDEX_SCAN_H */
