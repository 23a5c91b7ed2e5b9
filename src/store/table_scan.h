/*-------------------------------------------------------------------------
 *
 * table_scan.h
 *	  Reading a small table of ours or a part of one, column by column; and the rows of a
 *	  journal that a session has not read yet.
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

/* A row, of which columns are called by their rank among those asked for. */
typedef struct YqRow
{
	TupleTableSlot *slot;
	const AttrNumber *columns;
	void	   *argument;		/* of the caller */
} YqRow;

typedef void (*YqRowReader) (const YqRow *row);

/*
 * Call the reader for each row; names are those of the columns it needs.  Without a
 * snapshot (NULL) rows are those of the newest committed state, once the table is locked.
 */
extern void yq_table_scan(YqTable table, Snapshot snapshot, const char *const *names, int count,
						 YqRowReader reader, void *argument);

/* The same of the rows that meet conditions on columns of an index, in its order. */
extern void yq_table_scan_keys(YqTable table, const char *index_name, Snapshot snapshot, ScanKey keys, int key_count,
							  const char *const *names, int count, YqRowReader reader, void *argument);

/*
 * Scan rows in the order of an index whose first column is a text with
 * collation "C": of one key, or, when "below" is not NULL, of the keys from
 * "from" up to, and without, "below".
 */
extern void yq_table_scan_index(YqTable table, const char *index_name, Snapshot snapshot,
							   const char *from, const char *below,
							   const char *const *names, int count,
							   YqRowReader reader, void *argument);

/* The value of a column. */
extern Datum yq_row_value(const YqRow *row, int column, bool *isnull);

/* The same as a palloc'd string, or NULL. */
extern char *yq_row_text(const YqRow *row, int column);

/* The bytes of a text, as long as the row is at hand; data is NULL for null. */
extern YqBytes yq_row_bytes(const YqRow *row, int column);

/* The same of a boolean; null is false. */
extern bool yq_row_bool(const YqRow *row, int column);

/* The integer in a column, or "otherwise" for null. */
extern int32 yq_row_integer(const YqRow *row, int column, int32 otherwise);
extern int64 yq_row_bigint(const YqRow *row, int column, int64 otherwise);

/* -- journal scan -------------------------------------------------------------- */

/*
 * Rows of a journal that a session has not read yet.
 *
 * A journal is a table to which transactions append rows with their number
 * (changed_by xid8, with an index of those that have one), and whose rows are never updated.  A session
 * remembers which transactions it has seen, and later reads the rows of the others:
 * those that had not begun by then, and those that were at work.  The length of the
 * journal does not matter.  PgQ reads its event tables the same way.
 */

/* The transactions that a session has seen. */
typedef struct YqSeen
{
	FullTransactionId oldest;	/* all earlier ones, */
	FullTransactionId next;		/* of those before this one all but the next ones, */
	FullTransactionId *running; /* in order, */
	int			running_count;
	FullTransactionId own;		/* and a part of the session's own; invalid when it has written nothing */
} YqSeen;

typedef struct YqJournal
{
	YqTable		table;
	const char *index_name;		/* on changed_by */
} YqJournal;

/* "is_own": the row is of seen->own, and the session may have read it already. */
typedef void (*YqJournalReader) (const YqRow *row, bool is_own);

/* Remember the transactions that a snapshot sees; the array is allocated in the context. */
extern void yq_seen_set(YqSeen *seen, Snapshot snapshot, MemoryContext context);

/* The snapshot sees all transactions before this one, as far as they have committed. */
extern FullTransactionId yq_seen_oldest(Snapshot snapshot);

/* Free the array: nothing has been seen. */
extern void yq_seen_forget(YqSeen *seen);

/*
 * Call the reader for each row that the snapshot sees and "seen" has not, and for all rows
 * of seen->own.  Names are those of the columns that the reader asks for.
 */
extern void yq_journal_scan(const YqJournal *journal, const YqSeen *seen, Snapshot snapshot,
							const char *const *names, int count, YqJournalReader reader, void *argument);

/* The number of rows of a transaction that the snapshot sees. */
extern int64 yq_journal_count(const YqJournal *journal, FullTransactionId transaction, Snapshot snapshot);

/* The file of the table: another one after TRUNCATE, which takes rows that nothing tells of. */
extern Oid	yq_journal_file(const YqJournal *journal);

#endif							/* YQ_TABLE_SCAN_H */
