/*-------------------------------------------------------------------------
 *
 * row_update.h
 *	  Changing rows of yquota's own tables, one by one, by their primary keys.
 *
 * All changes by one YqRowUpdate are one command, which becomes visible when it
 * is closed: a row may be changed once.  Indexes are kept and constraints
 * checked.  Triggers of rows and statements fire as for UPDATE, INSERT and
 * DELETE, but transition tables are empty, as where logical replication applies
 * changes.  Privileges are not checked.  The backend waits for another
 * transaction that is changing the row, and then takes the newest row, at every
 * isolation level.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ROW_UPDATE_H
#define YQ_ROW_UPDATE_H

#include "executor/tuptable.h"
#include "store/catalog.h"

typedef struct YqRowUpdate YqRowUpdate;

/*
 * Open in the current memory context, which must outlive it.  Columns are called by
 * their rank among the names, of which those of the primary key are the first, in its
 * order.  RowExclusiveLock is kept until the end of the transaction.  In a read-only
 * transaction ERRCODE_READ_ONLY_SQL_TRANSACTION.
 */
extern YqRowUpdate *yq_row_update_open(YqTable table, const char *primary_key, const char *const *names, int count);

/* Find the row with a key, and lock it; false when there is none. */
extern bool yq_row_update_find(YqRowUpdate *update, const Datum *key);

/* The value of a column of the found row, which is not null. */
extern Datum yq_row_update_value(const YqRowUpdate *update, int column);

/* Set a column of the row that was found, or of one that is to be inserted. */
extern void yq_row_update_set(YqRowUpdate *update, int column, Datum value);
extern void yq_row_update_set_null(YqRowUpdate *update, int column);

/* Write the row that was found, or insert one with the key: columns of it that were not set are null. */
extern void yq_row_update_write(YqRowUpdate *update);

/* Delete the row that was found. */
extern void yq_row_update_delete(YqRowUpdate *update);

/* End of the command; releases everything.  NULL: there was nothing to change. */
extern void yq_row_update_close(YqRowUpdate *update);

#endif							/* YQ_ROW_UPDATE_H */
