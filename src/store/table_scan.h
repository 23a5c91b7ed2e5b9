/*-------------------------------------------------------------------------
 *
 * table_scan.h
 *	  Reads a small table of yquota, or a part of one, column by column.  Reads the rows
 *	  of a journal that a session has not read yet.
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
	void	   *argument;		/* argument of the caller */
} YqRow;

typedef void (*YqRowReader) (const YqRow *row);

/*
 * Call the reader for each row, with the columns that are named.  If the snapshot is
 * NULL, the scan reads the newest committed state after the table is locked.
 */
extern void yq_table_scan(YqTable table, Snapshot snapshot, const char *const *names, int count,
						 YqRowReader reader, void *argument);

/* Call the reader for the rows that satisfy conditions on columns of an index, in index order. */
extern void yq_table_scan_keys(YqTable table, const char *index_name, Snapshot snapshot, ScanKey keys, int key_count,
							  const char *const *names, int count, YqRowReader reader, void *argument);

/*
 * Call the reader for rows in the order of an index whose first column is a text with
 * collation "C".  If "below" is NULL, these are the rows with the key "from".
 * Otherwise they are the rows with keys from "from" up to, but not including, "below".
 */
extern void yq_table_scan_index(YqTable table, const char *index_name, Snapshot snapshot,
							   const char *from, const char *below,
							   const char *const *names, int count,
							   YqRowReader reader, void *argument);

/* Return the value of a column. */
extern Datum yq_row_value(const YqRow *row, int column, bool *isnull);

/* Return a column as a palloc'd string, or NULL. */
extern char *yq_row_text(const YqRow *row, int column);

/* Return the bytes of a text, which are valid as long as the row.  For null, data is NULL. */
extern YqBytes yq_row_bytes(const YqRow *row, int column);

/* Return the boolean in a column; null counts as false. */
extern bool yq_row_bool(const YqRow *row, int column);

/* Return the integer in a column, or "otherwise" for null. */
extern int32 yq_row_integer(const YqRow *row, int column, int32 otherwise);
extern int64 yq_row_bigint(const YqRow *row, int column, int64 otherwise);

/* -- journal scan -------------------------------------------------------------- */

/*
 * Rows of a journal that a session has not read yet.
 *
 * A journal is a table to which transactions append rows with their transaction number,
 * and whose rows are never updated. The number is in the column changed_by xid8; an
 * index covers the rows that have a number.  A session remembers which transactions it
 * has seen.  Later it reads the rows of all other transactions: those that had not
 * begun by then, and those that were running.  The length of the journal does not
 * matter.  PgQ reads its event tables in the same way.
 */

/* The transactions that a session has seen. */
typedef struct YqSeen
{
	FullTransactionId oldest;	/* all transactions before this one have been seen */
	FullTransactionId next;		/* so have those from "oldest" to before this one, except ... */
	FullTransactionId *running; /* ... these, which were running; in ascending order */
	int			running_count;
	FullTransactionId own;		/* the session's own transaction, partly seen; invalid if it has written nothing */
} YqSeen;

typedef struct YqJournal
{
	YqTable		table;
	const char *index_name;		/* name of an index on changed_by */
} YqJournal;

/* Read a row.  With "is_own", the row belongs to seen->own, and the session may have read it already. */
typedef void (*YqJournalReader) (const YqRow *row, bool is_own);

/* Remember the transactions that a snapshot sees.  The array is allocated in the context. */
extern void yq_seen_set(YqSeen *seen, Snapshot snapshot, MemoryContext context);

/* Return the first transaction such that the snapshot sees all committed transactions before it. */
extern FullTransactionId yq_seen_oldest(Snapshot snapshot);

/* Free the array and forget all transactions. */
extern void yq_seen_forget(YqSeen *seen);

/*
 * Call the reader for each row that the snapshot sees and "seen" does not, and for all
 * rows of seen->own.  "names" are the columns that the reader uses.
 */
extern void yq_journal_scan(const YqJournal *journal, const YqSeen *seen, Snapshot snapshot,
							const char *const *names, int count, YqJournalReader reader, void *argument);

/* Return the number of rows of a transaction that the snapshot sees. */
extern int64 yq_journal_count(const YqJournal *journal, FullTransactionId transaction, Snapshot snapshot);

/*
 * Return the file number of the table.  TRUNCATE changes it, and no row of the journal
 * reports the removed rows.
 */
extern Oid	yq_journal_file(const YqJournal *journal);

#endif							/* YQ_TABLE_SCAN_H */
