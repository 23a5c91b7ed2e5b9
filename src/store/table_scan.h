/*-------------------------------------------------------------------------
 *
 * table_scan.h
 *	  Reads columns of a small table of yquota, or of a part of one.  Reads the rows of a journal
 *	  that a session has not read yet.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_TABLE_SCAN_H
#define YQ_TABLE_SCAN_H

#include "access/skey.h"
#include "access/transam.h"
#include "base/bytes_table.h"
#include "executor/tuptable.h"
#include "store/catalog.h"

/* -- table scan ---------------------------------------------------------------- */

/* A row.  Readers refer to a column by its position among the requested columns. */
typedef struct YqRow
{
	TupleTableSlot *slot;
	const AttrNumber *columns;
	void	   *argument;		/* passed to the reader */
} YqRow;

typedef void (*YqRowReader) (const YqRow *row);

/*
 * Call the reader for each row, with the named columns.  If the snapshot is NULL, the scan locks
 * the table and reads the newest committed state.
 */
extern void yq_table_scan(YqTable table, Snapshot snapshot, const char *const *names, int count,
						 YqRowReader reader, void *argument);

/* Call the reader for the rows that satisfy conditions on columns of an index, in index order. */
extern void yq_table_scan_keys(YqTable table, const char *index_name, Snapshot snapshot, ScanKey keys, int key_count,
							  const char *const *names, int count, YqRowReader reader, void *argument);

/*
 * Call the reader for rows in the order of an index.  Its first column is a text with collation
 * "C".  If "below" is NULL, the reader gets the rows with the key "from".  Otherwise it gets the
 * rows whose keys are at least "from" and less than "below".
 */
extern void yq_table_scan_index(YqTable table, const char *index_name, Snapshot snapshot,
							   const char *from, const char *below,
							   const char *const *names, int count,
							   YqRowReader reader, void *argument);

/* Return the value of a column. */
extern Datum yq_row_value(const YqRow *row, int column, bool *isnull);

/* Return a column as a palloc'd string, or NULL. */
extern char *yq_row_text(const YqRow *row, int column);

/* Return the bytes of a text.  They are valid as long as the row.  If the text is null, "data" is NULL. */
extern YqBytes yq_row_bytes(const YqRow *row, int column);

/* Return the boolean in a column.  A null counts as false. */
extern bool yq_row_bool(const YqRow *row, int column);

/* Return the integer in a column, or "otherwise" if it is null. */
extern int32 yq_row_integer(const YqRow *row, int column, int32 otherwise);
extern int64 yq_row_bigint(const YqRow *row, int column, int64 otherwise);

/* -- journal scan -------------------------------------------------------------- */

/*
 * Read rows of a journal that the session has not read yet.
 *
 * A journal is a table to which transactions append rows with their transaction id in the column
 * changed_by xid8.  Rows are never updated.  An index contains the rows that have an id.  A session
 * remembers which transactions it has seen.  Later it reads only the rows of other transactions:
 * those that were still running at that time, and those that have begun since.  The length of the
 * journal does not matter.  PgQ reads its event tables in the same way.
 */

/* The transactions that a session has seen. */
typedef struct YqSeen
{
	FullTransactionId oldest;	/* all transactions before this one have been seen */
	FullTransactionId next;		/* all earlier transactions have been seen, except "running" */
	FullTransactionId *running; /* transactions that were running and have not been seen; in ascending order */
	int			running_count;
	FullTransactionId own;		/* the session's own transaction, seen in part; invalid if it has no id */
} YqSeen;

typedef struct YqJournal
{
	YqTable		table;
	const char *index_name;		/* name of an index on changed_by */
} YqJournal;

/*
 * Read a row.  If "is_own" is set, the row belongs to the transaction seen->own, and the session
 * may have read it already.
 */
typedef void (*YqJournalReader) (const YqRow *row, bool is_own);

/* Remember the transactions that a snapshot sees.  The array of ids is allocated in the context. */
extern void yq_seen_set(YqSeen *seen, Snapshot snapshot, MemoryContext context);

/*
 * Return the oldest transaction that had not ended when the snapshot was taken.  The snapshot sees
 * all committed transactions before this one.
 */
extern FullTransactionId yq_seen_oldest(Snapshot snapshot);

/* Free the array and forget all transactions that were seen. */
extern void yq_seen_forget(YqSeen *seen);

/*
 * Call the reader for each visible row of a transaction that the session has not seen.  The rows of
 * the transaction seen->own are always read.  "names" are the columns that the reader uses.
 */
extern void yq_journal_scan(const YqJournal *journal, const YqSeen *seen, Snapshot snapshot,
							const char *const *names, int count, YqJournalReader reader, void *argument);

/* Return the number of rows of a transaction that the snapshot sees. */
extern int64 yq_journal_count(const YqJournal *journal, FullTransactionId transaction, Snapshot snapshot);

/*
 * Return the number of the table's file.  TRUNCATE changes this number.  The journal has no rows
 * about rows that TRUNCATE removes.
 */
extern Oid	yq_journal_file(const YqJournal *journal);

#endif							/* YQ_TABLE_SCAN_H */
