/*-------------------------------------------------------------------------
 *
 * row_update.h
 *	  Changing, deleting and locking rows of yquota's own tables, one by one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ROW_UPDATE_H
#define YQ_ROW_UPDATE_H

#include "executor/tuptable.h"
#include "store/catalog.h"
#include "utils/rel.h"

/* -- claim --------------------------------------------------------------------- */

/*
 * Claiming a key of a unique index, and deleting or locking single rows.
 *
 * A transaction claims a key by inserting a row with it.  The unique index decides between transactions, as
 * it does for INSERT ... ON CONFLICT.  That statement marks its new row as speculative.  It removes the row
 * with heap_abort_speculative() when another row has the key.  Where WAL is decoded, the writer of
 * bulk_insert.h does the same, because a subscriber must not get such a row.  Rows appended many at a time
 * cannot be speculative.  A transaction whose row comes second withdraws it instead: it deletes the row and
 * marks it.  Other transactions skip a row with that mark, where they would otherwise wait for the end of
 * its transaction.
 *
 * A withdrawn row bears the mark of a row that has moved to another partition.  Tables with claims have no
 * partitions, so no other row of theirs bears that mark.
 *
 * Every function works on the row as it is at this moment, at every isolation
 * level, like index_scan.h.
 */

/*
 * Delete a row.  Waits for a transaction that changes it; false when that transaction has changed or
 * deleted it.  For a row of the present transaction, the command counter must have been incremented since
 * its insertion.
 */
extern bool yq_claim_delete(Relation relation, ItemPointer tid);

/*
 * Delete a row.  Returns false also when another transaction holds a lock on the row; "is_locked" is then
 * true.
 */
extern bool yq_claim_delete_unlocked(Relation relation, ItemPointer tid, bool *is_locked);

/* Lock a row against changes; it waits and fails like yq_claim_delete(). */
extern bool yq_claim_lock(Relation relation, ItemPointer tid);

/* Delete a row of the present transaction, and mark it as withdrawn. */
extern void yq_claim_withdraw(Relation relation, ItemPointer tid);

/*
 * Tell whether the row in the slot bears the mark.  The page is not locked: a row that is being withdrawn
 * at this moment may still look like a claim.
 */
extern bool yq_claim_is_withdrawn(TupleTableSlot *slot);

/* -- row update ---------------------------------------------------------------- */

/*
 * All changes by a YqRowUpdate are one command, which becomes visible when it is closed.  A row may
 * therefore be changed only once.  Indexes are kept and constraints checked.  Triggers of rows and
 * statements fire as for UPDATE, INSERT and DELETE, but transition tables are empty, as where logical
 * replication applies changes.  Privileges are not checked.  The backend waits for another transaction that
 * is changing the row, and then takes the newest row, at every isolation level.
 */

typedef struct YqRowUpdate YqRowUpdate;

/*
 * Open in the current memory context, which must outlive the handle.  Callers refer to a column by its rank
 * among the names.  The columns of the primary key come first, in its order.  RowExclusiveLock is kept
 * until the end of the transaction.  Raises ERRCODE_READ_ONLY_SQL_TRANSACTION in a read-only transaction.
 */
extern YqRowUpdate *yq_row_update_open(YqTable table, const char *primary_key, const char *const *names, int count);

/* Find the row with a key, and lock it; false when there is none. */
extern bool yq_row_update_find(YqRowUpdate *update, const Datum *key);

/* Return the value of a column of the found row, which is not null. */
extern Datum yq_row_update_value(const YqRowUpdate *update, int column);

/* Set a column of the found row, or of a row to be inserted. */
extern void yq_row_update_set(YqRowUpdate *update, int column, Datum value);
extern void yq_row_update_set_null(YqRowUpdate *update, int column);

/* Write the found row, or insert a row with the key, in which columns that were not set are null. */
extern void yq_row_update_write(YqRowUpdate *update);

/* Delete the row that was found. */
extern void yq_row_update_delete(YqRowUpdate *update);

/* End the command and release everything; NULL is ignored, for there was nothing to change. */
extern void yq_row_update_close(YqRowUpdate *update);

#endif							/* YQ_ROW_UPDATE_H */
