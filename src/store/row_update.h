/*-------------------------------------------------------------------------
 *
 * row_update.h
 *	  Changes, deletes and locks single rows of yquota's own tables.
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
 * Claims a key of a unique index, and deletes or locks single rows.
 *
 * A transaction claims a key by inserting a row with the key.  The unique index decides
 * between transactions, as it does for INSERT ... ON CONFLICT.  That statement marks
 * its new row as speculative, and removes the row with heap_abort_speculative() when
 * another row has the key.  If WAL is decoded, the writer of bulk_insert.h does the
 * same, because a subscriber must not receive such a row.
 *
 * Rows that are appended many at a time cannot be speculative.  A transaction whose row
 * comes second withdraws it instead: it deletes the row and marks it.  Other
 * transactions skip a row with that mark, instead of waiting for the end of its
 * transaction.
 *
 * A withdrawn row has the mark of a row that has moved to another partition.  Tables
 * with claims have no partitions, so no other row of theirs has that mark.
 *
 * Like index_scan.h, every function uses the row as it is at this moment, at every
 * isolation level.
 */

/*
 * Delete a row.  Waits for a transaction that is changing it, and returns false if that
 * transaction has changed or deleted it.  For a row of the present transaction, the
 * command counter must have been incremented since its insertion.
 */
extern bool yq_claim_delete(Relation relation, ItemPointer tid);

/*
 * Delete a row without waiting.  If another transaction holds a lock on the row,
 * returns false and sets "is_locked".
 */
extern bool yq_claim_delete_unlocked(Relation relation, ItemPointer tid, bool *is_locked);

/* Lock a row against changes.  The function waits and fails in the same cases as yq_claim_delete(). */
extern bool yq_claim_lock(Relation relation, ItemPointer tid);

/* Delete a row of the present transaction, and mark it as withdrawn. */
extern void yq_claim_withdraw(Relation relation, ItemPointer tid);

/*
 * Tell whether the row in the slot has the mark.  The page is not locked, so a row that
 * is being withdrawn at this moment may still look like a claim.
 */
extern bool yq_claim_is_withdrawn(TupleTableSlot *slot);

/* -- row update ---------------------------------------------------------------- */

/*
 * All changes by a YqRowUpdate are one command, which becomes visible when it is
 * closed.  A row may therefore be changed only once.  Indexes are maintained and
 * constraints are checked.  Triggers of rows and statements fire as for UPDATE, INSERT
 * and DELETE, but transition tables are empty, as when logical replication applies
 * changes.  Privileges are not checked.  If another transaction is changing the row,
 * the backend waits and then uses the newest row, at every isolation level.
 */

typedef struct YqRowUpdate YqRowUpdate;

/*
 * Open a handle in the current memory context, which must exist longer than the handle.
 * Callers refer to a column by its position in "names", which begins with the columns
 * of the primary key, in its order.  RowExclusiveLock is kept until the transaction
 * ends.  In a read-only transaction, raises ERRCODE_READ_ONLY_SQL_TRANSACTION.
 */
extern YqRowUpdate *yq_row_update_open(YqTable table, const char *primary_key, const char *const *names, int count);

/* Find the row with a key, and lock it.  Returns false when there is none. */
extern bool yq_row_update_find(YqRowUpdate *update, const Datum *key);

/* Return the value of a column of the found row.  It must not be null. */
extern Datum yq_row_update_value(const YqRowUpdate *update, int column);

/* Set a column of the found row, or of a row to be inserted. */
extern void yq_row_update_set(YqRowUpdate *update, int column, Datum value);
extern void yq_row_update_set_null(YqRowUpdate *update, int column);

/* Write the found row, or insert a row with the key.  In a new row, columns that were not set are null. */
extern void yq_row_update_write(YqRowUpdate *update);

/* Delete the row that was found. */
extern void yq_row_update_delete(YqRowUpdate *update);

/* End the command and free the handle.  NULL means that nothing was changed, and is ignored. */
extern void yq_row_update_close(YqRowUpdate *update);

#endif							/* YQ_ROW_UPDATE_H */
