/*-------------------------------------------------------------------------
 *
 * claim.h
 *	  Claiming a key of a unique index, and deleting or locking single rows.
 *
 * A transaction claims a key by inserting a row with it.  The unique index
 * decides between transactions, as it does for INSERT ... ON CONFLICT.  That
 * statement marks the row that it inserts as speculative, and takes it back
 * with heap_abort_speculative() when another row has the key.  Where WAL is decoded
 * bulk_insert.h does the same: a subscriber must not get such a row.  Rows appended
 * many at a time cannot be speculative.  A transaction whose row comes second
 * withdraws it instead: it deletes the row and marks it.  Other transactions skip
 * a row with that mark, where they would otherwise wait for the end of its transaction.
 *
 * The mark is the one of a row that has moved to another partition.  Tables
 * with claims have no partitions, so no other row of them bears it.
 *
 * Every function works on the row as it is at this moment, at every isolation
 * level, like index_scan.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLAIM_H
#define YQ_CLAIM_H

#include "executor/tuptable.h"
#include "utils/rel.h"

/*
 * Delete a row.  Waits for a transaction that changes it; false when that has
 * changed or deleted it.  For a row of the own transaction the command counter
 * must have been incremented since its insertion.
 */
extern bool yq_claim_delete(Relation relation, ItemPointer tid);

/* Delete a row; false also, and "is_locked" true, when another transaction holds a lock on it. */
extern bool yq_claim_delete_unlocked(Relation relation, ItemPointer tid, bool *is_locked);

/* Lock a row against changes; waits, and fails, like yq_claim_delete(). */
extern bool yq_claim_lock(Relation relation, ItemPointer tid);

/* Delete a row of the own transaction, and mark it as withdrawn. */
extern void yq_claim_withdraw(Relation relation, ItemPointer tid);

/*
 * Whether the row in the slot bears the mark.  The page is not locked: a row
 * that is being withdrawn at this moment may still look like a claim.
 */
extern bool yq_claim_is_withdrawn(TupleTableSlot *slot);

#endif							/* YQ_CLAIM_H */
