/*-------------------------------------------------------------------------
 *
 * index_scan.h
 *	  Looks up rows of yquota's own tables by an index on one text column.
 *
 * A scan sees rows as they are at this moment.  It includes the commits of other
 * transactions, and the changes of the present transaction, including those of the
 * present command.  A statement about containers must see all commits before it changes
 * a row, at every isolation level.
 *
 * A scan also covers the inheritance children of the table: the sealed segments of the
 * ledger are children of yquota.charge.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_INDEX_SCAN_H
#define YQ_INDEX_SCAN_H

#include "executor/tuptable.h"
#include "store/catalog.h"

typedef struct YqIndexScan YqIndexScan;

/*
 * Open a scan in the current memory context.  The scan takes RowExclusiveLock and keeps
 * it until the transaction ends, because callers change the rows later.
 */
extern YqIndexScan *yq_index_scan_open(YqTable table, const char *index_name);
extern void yq_index_scan_close(YqIndexScan *scan); /* NULL is ignored */

extern Relation yq_index_scan_relation(YqIndexScan *scan);

/* Begin to look up a key.  NULL matches any row. */
extern void yq_index_scan_seek(YqIndexScan *scan, const text *key);

/* Return the next row, in a slot that is valid until the next call, or NULL at the end. */
extern TupleTableSlot *yq_index_scan_next(YqIndexScan *scan);

/*
 * Return the first row with a key, or the first row of all if the key is NULL. Returns NULL when
 * there is no such row.
 */
extern TupleTableSlot *yq_index_scan_find(YqIndexScan *scan, const text *key);

/*
 * Return the first row with a key, or NULL. The slot is valid until the next call.
 *
 * Callers with many keys in ascending order ("C" collation) use this function, because it is
 * cheaper than looking up each key separately.  The function may miss rows that were inserted
 * since the first key was looked up.  A caller that must be sure that there is no row then calls
 * yq_index_scan_seek().
 */
extern TupleTableSlot *yq_index_scan_advance(YqIndexScan *scan, const text *key);

/* Prepare for the next ascending run of keys. */
extern void yq_index_scan_restart(YqIndexScan *scan);

/*
 * Return the row with a unique key, or NULL when there is none.  If no row exists yet and another
 * transaction is inserting or replacing one, the function waits for the end of that transaction
 * and searches again.
 */
extern TupleTableSlot *yq_index_scan_wait_for(YqIndexScan *scan, const text *key);

/*
 * Tell whether a row other than "except" has a unique key, or whether another transaction is
 * inserting such a row.  The function does not wait.
 */
extern bool yq_index_scan_is_taken(YqIndexScan *scan, const text *key, ItemPointer except);

/*
 * Tell whether this transaction has inserted a row with a unique key, even if it has deleted the
 * row since.  In both cases, other transactions wait for the end of this transaction.  This
 * function and the previous one ignore a row that was withdrawn as a duplicate (yq_claim_withdraw).
 */
extern bool yq_index_scan_is_ours(YqIndexScan *scan, const text *key);

#endif							/* YQ_INDEX_SCAN_H */
