/*-------------------------------------------------------------------------
 *
 * bulk_insert.h
 *	  Appending rows to yquota's own tables, many at a time, with their entries in indexes.
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
 * Open a writer in the current memory context, which must outlive it, for rows
 * of "column_count" columns: those that the table was created with.  Rows are
 * flushed when "capacity" of them have been collected, unless "optimistic" is
 * set: then the caller flushes with yq_bulk_insert_claim.  In a read-only
 * transaction ERRCODE_READ_ONLY_SQL_TRANSACTION, as of an INSERT.
 */
extern YqBulkInsert *yq_bulk_insert_open(YqTable table, int column_count, int capacity,
								bool optimistic);

/*
 * The same for rows that are one INSERT to the table's triggers, as those of a COPY
 * are: triggers of the statement fire before the first row and when the writer is
 * closed, those of rows with each, and CHECK constraints are looked at.  A trigger
 * BEFORE a row may change it, or have it left out; it does not see all rows that
 * came before.  Statements run meanwhile are not part of it.
 */
extern YqBulkInsert *yq_bulk_insert_open_statement(YqTable table, int column_count, int capacity);

extern Relation yq_bulk_insert_relation(YqBulkInsert *writer);

/* Collect a row; values are copied. */
extern void yq_bulk_insert_put(YqBulkInsert *writer, Datum *values, bool *nulls);

/* Insert the collected rows; nothing to do for NULL. */
extern void yq_bulk_insert_flush(YqBulkInsert *writer);

/*
 * Insert the collected rows without waiting for, or failing on, a row with the same
 * unique key.  "before" (may be NULL) is called with the number of each row before its
 * entries are made.  Then "is_taken" tells, without waiting, whether another row has
 * the key, which none has unless "may_be_taken"; if so, the row is withdrawn (row_update.h).
 * Waiting in the order of rows cannot deadlock between statements that sort alike.
 */
typedef void (*YqBeforeClaim) (void *argument, int row);
typedef bool (*YqIsTaken) (void *argument, int row, ItemPointer tid, bool may_be_taken);
extern void yq_bulk_insert_claim(YqBulkInsert *writer, YqBeforeClaim before, YqIsTaken is_taken, void *argument);

/* Flush and release; nothing to do for NULL. */
extern void yq_bulk_insert_close(YqBulkInsert *writer);

#endif							/* YQ_BULK_INSERT_H */
