/*-------------------------------------------------------------------------
 *
 * journal_scan.h
 *	  Rows of a journal that a session has not read yet.
 *
 * A journal is a table to which transactions append rows with their number
 * (changed_by xid8, with an index of those that have one), and whose rows are never updated.  A session
 * remembers which transactions it has seen, and later reads the rows of the others:
 * those that had not begun by then, and those that were at work.  The length of the
 * journal does not matter.  PgQ reads its event tables the same way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_JOURNAL_SCAN_H
#define YQ_JOURNAL_SCAN_H

#include "access/transam.h"
#include "store/table_scan.h"

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

#endif							/* YQ_JOURNAL_SCAN_H */
