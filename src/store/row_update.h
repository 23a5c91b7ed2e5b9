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
 * Claims of keys of a unique index, and deletion and locking of single rows.
 *
 * A transaction claims a key by inserting a row with the key.  If two transactions insert such a
 * row, the unique index decides, as for INSERT ... ON CONFLICT.  INSERT ... ON CONFLICT marks its
 * new row as speculative, and removes the row with heap_abort_speculative() when another row has
 * the key.  The writer of bulk_insert.h does the same if the table's WAL is decoded, because a
 * subscriber must not receive a withdrawn row.
 *
 * Rows that are inserted many at a time cannot be speculative.  If another row already has the key,
 * the transaction withdraws its row instead: it deletes the row and marks it.  Other transactions
 * skip a row with this mark.  They do not wait for the end of the row's transaction.
 *
 * A withdrawn row has the mark of a row that was moved to another partition.  Tables with claims
 * have no partitions, so none of their other rows has this mark.
 *
 * Every function uses the newest version of the row, at every isolation level, as in index_scan.h.
 */

/*
 * Delete a row.  Waits for a transaction that is changing the row.  Returns false if the other
 * transaction has changed or deleted the row.  A row that this transaction has inserted can be
 * deleted only after CommandCounterIncrement().
 */
extern bool yq_claim_delete(Relation relation, ItemPointer tid);

/*
 * Delete a row without waiting.  If another transaction holds a lock on the row,
 * returns false and sets "is_locked".
 */
extern bool yq_claim_delete_unlocked(Relation relation, ItemPointer tid, bool *is_locked);

/* Lock a row against changes.  The function waits and returns false in the same cases as yq_claim_delete(). */
extern bool yq_claim_lock(Relation relation, ItemPointer tid);

/* Delete a row of the present transaction, and mark it as withdrawn. */
extern void yq_claim_withdraw(Relation relation, ItemPointer tid);

/*
 * Tell whether the row in the slot is marked as withdrawn.  The page is not locked, so a row that
 * is being withdrawn at this moment may still look like a claim.
 */
extern bool yq_claim_is_withdrawn(TupleTableSlot *slot);

/* -- row update ---------------------------------------------------------------- */

/*
 * Change rows of a table by primary key.  All changes by one YqRowUpdate are one command.  The
 * changes become visible when the YqRowUpdate is closed, so it may change a row only once.
 *
 * Indexes are maintained and constraints are checked.  Triggers of rows and statements fire as for
 * UPDATE, INSERT and DELETE. Transition tables are empty, as when logical replication applies
 * changes.  Privileges are not checked.  If another transaction is changing the row, the backend
 * waits and then uses the newest version, at every isolation level.
 */

typedef struct YqRowUpdate YqRowUpdate;

/*
 * Open a handle in the current memory context, which must exist longer than the handle.  "names"
 * are the columns that the caller uses.  The list begins with the columns of the primary key, in
 * the order of the key.  Callers refer to a column by its position in the list.  The
 * RowExclusiveLock on the table is held until the transaction ends.  In a read-only transaction,
 * raises ERRCODE_READ_ONLY_SQL_TRANSACTION.
 */
extern YqRowUpdate *yq_row_update_open(YqTable table, const char *primary_key, const char *const *names, int count);

/* Find and lock the row with a key.  Returns false when there is no such row. */
extern bool yq_row_update_find(YqRowUpdate *update, const Datum *key);

/* Return the value of a column of the row that was found.  The value must not be null. */
extern Datum yq_row_update_value(const YqRowUpdate *update, int column);

/* Set a column of the row that was found, or of a row to be inserted. */
extern void yq_row_update_set(YqRowUpdate *update, int column, Datum value);
extern void yq_row_update_set_null(YqRowUpdate *update, int column);

/*
 * Update the row that was found, or insert a row with the key.  In a new row, columns that were
 * not set are null.
 */
extern void yq_row_update_write(YqRowUpdate *update);

/* Delete the row that was found. */
extern void yq_row_update_delete(YqRowUpdate *update);

/* End the command and free the handle.  If the handle is NULL, do nothing. */
extern void yq_row_update_close(YqRowUpdate *update);

#endif							/* YQ_ROW_UPDATE_H */
