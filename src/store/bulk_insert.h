/*-------------------------------------------------------------------------
 *
 * bulk_insert.h
 *	  Appends rows to yquota's own tables, many at a time, with their entries in
 *	  indexes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_BULK_INSERT_H
#define YQ_BULK_INSERT_H

#include "nodes/execnodes.h"
#include "store/catalog.h"
#include "utils/rel.h"

typedef struct YqBulkInsert YqBulkInsert;

/*
 * Open a writer for rows of "column_count" columns.  A row has the columns with which the table was
 * created.  The current memory context must exist longer than the writer.  The writer flushes when
 * it has collected "capacity" rows.  If "optimistic" is set, the caller flushes with
 * yq_bulk_insert_claim() instead.  In a read-only transaction, raises
 * ERRCODE_READ_ONLY_SQL_TRANSACTION, as INSERT does.
 */
extern YqBulkInsert *yq_bulk_insert_open(YqTable table, int column_count, int capacity,
								bool optimistic);

/*
 * Open a writer whose rows count as one INSERT for the triggers of the table, as the rows of a
 * COPY do.
 *
 * Statement triggers fire before the first row and when the writer is closed.  Row triggers fire
 * for each row, and CHECK constraints are checked.  A BEFORE trigger may change or drop a row, but
 * it does not see all previous rows.  Other statements that run before the writer is closed do not
 * belong to this INSERT.
 */
extern YqBulkInsert *yq_bulk_insert_open_statement(YqTable table, int column_count, int capacity);

extern Relation yq_bulk_insert_relation(YqBulkInsert *writer);

/* Collect a row.  The values are copied. */
extern void yq_bulk_insert_put(YqBulkInsert *writer, Datum *values, bool *nulls);

/* Insert the collected rows.  If the writer is NULL, do nothing. */
extern void yq_bulk_insert_flush(YqBulkInsert *writer);

/*
 * Insert the collected rows without waiting for a row with the same unique key, and without
 * failing.
 *
 * Before it makes the index entries of a row, the writer calls "before" with the number of the row.
 * "before" may be NULL.  After it has made the entries, the writer calls "is_taken", which tells
 * without waiting whether another row has the key.  If "may_be_taken" is not set, no other row has
 * the key.  A row whose key is taken is withdrawn (row_update.h).  The caller may then wait for the
 * transaction that has the key.  Statements that sort their rows in the same way wait in the order
 * of the rows, so they cannot deadlock.
 */
typedef void (*YqBeforeClaim) (void *argument, int row);
typedef bool (*YqIsTaken) (void *argument, int row, ItemPointer tid, bool may_be_taken);
extern void yq_bulk_insert_claim(YqBulkInsert *writer, YqBeforeClaim before, YqIsTaken is_taken, void *argument);

/* Flush the writer and free it.  If the writer is NULL, do nothing. */
extern void yq_bulk_insert_close(YqBulkInsert *writer);

#endif							/* YQ_BULK_INSERT_H */
