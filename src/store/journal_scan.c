/*-------------------------------------------------------------------------
 *
 * journal_scan.c
 *	  Rows of a journal that a session has not read yet.
 *
 * A transaction that was at work when the session read the journal has a number of its own in
 * the snapshot of that reading.  Its rows take one descent of the index, however long it
 * has been at work, and however much other transactions have written meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "store/journal_scan.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

/* -- transactions ------------------------------------------------------------ */

/* The full number of a transaction of a snapshot, none of which is later than the next one. */
static FullTransactionId
full_number(FullTransactionId next, TransactionId number)
{
	return FullTransactionIdFromU64(U64FromFullTransactionId(next) - (uint32) (XidFromFullTransactionId(next) - number));
}

FullTransactionId
yq_seen_oldest(Snapshot snapshot)
{
	return full_number(ReadNextFullTransactionId(), snapshot->xmin);
}

static int
compare_transaction_ids(const void *a, const void *b)
{
	const FullTransactionId *left = a;
	const FullTransactionId *right = b;

	return FullTransactionIdPrecedes(*left, *right) ? -1 : FullTransactionIdPrecedes(*right, *left);
}

void
yq_seen_set(YqSeen *seen, Snapshot snapshot, MemoryContext context)
{
	FullTransactionId next = ReadNextFullTransactionId();

	Assert(!snapshot->takenDuringRecovery);
	seen->oldest = full_number(next, snapshot->xmin);
	seen->next = full_number(next, snapshot->xmax);
	seen->own = GetTopFullTransactionIdIfAny();
	seen->running_count = snapshot->xcnt;
	seen->running = MemoryContextAlloc(context, sizeof(FullTransactionId) * Max(snapshot->xcnt, 1));
	for (uint32 i = 0; i < snapshot->xcnt; i++)
		seen->running[i] = full_number(next, snapshot->xip[i]);
	qsort(seen->running, seen->running_count, sizeof(FullTransactionId), compare_transaction_ids);
}

void
yq_seen_forget(YqSeen *seen)
{
	if (seen->running != NULL)
		pfree(seen->running);
	memset(seen, 0, sizeof(YqSeen));
}

/* -- rows -------------------------------------------------------------------- */

typedef struct JournalScan
{
	Relation	relation;
	Relation	index;
	IndexScanDesc scan;
	AttrNumber	changed_by;
	FullTransactionId own;
	YqRow		row;
	YqJournalReader reader;		/* NULL: rows are counted only */
	int64		count;
} JournalScan;

static void
begin_journal_scan(JournalScan *scan, const YqJournal *journal, Snapshot snapshot)
{
	memset(scan, 0, sizeof(JournalScan));
	scan->relation = yq_table_open(journal->table, AccessShareLock);
	scan->index = index_open(yq_index_oid(journal->table, journal->index_name), AccessShareLock);
	scan->scan = index_beginscan(scan->relation, scan->index, snapshot, NULL, 1, 0);
	scan->changed_by = yq_column(scan->relation, "changed_by");
	scan->row.slot = table_slot_create(scan->relation, NULL);
}

static void
end_journal_scan(JournalScan *scan)
{
	index_endscan(scan->scan);
	ExecDropSingleTupleTableSlot(scan->row.slot);
	index_close(scan->index, AccessShareLock);
	table_close(scan->relation, AccessShareLock);
}

static void
read_journal_row(JournalScan *scan)
{
	bool		isnull;
	Datum		changed_by = slot_getattr(scan->row.slot, scan->changed_by, &isnull);

	scan->count++;
	if (scan->reader != NULL)
		scan->reader(&scan->row, FullTransactionIdEquals(DatumGetFullTransactionId(changed_by), scan->own));
}

static void
scan_range(JournalScan *scan, StrategyNumber strategy, RegProcedure procedure, FullTransactionId from)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, strategy, procedure, FullTransactionIdGetDatum(from));
	index_rescan(scan->scan, &key, 1, NULL, 0);
	while (index_getnext_slot(scan->scan, ForwardScanDirection, scan->row.slot))
	{
		CHECK_FOR_INTERRUPTS();
		read_journal_row(scan);
	}
}

static void
scan_transaction(JournalScan *scan, FullTransactionId transaction)
{
	scan_range(scan, BTEqualStrategyNumber, F_XID8EQ, transaction);
}

/* Rows of transactions at work are not visible: their ranges are not searched. */
static bool
has_ended(FullTransactionId transaction, Snapshot snapshot, FullTransactionId oldest)
{
	return FullTransactionIdPrecedes(transaction, oldest) ||
		!XidInMVCCSnapshot(XidFromFullTransactionId(transaction), snapshot);
}

static void
scan_unseen(JournalScan *scan, const YqSeen *seen, Snapshot snapshot)
{
	FullTransactionId oldest = yq_seen_oldest(snapshot);

	scan_range(scan, BTGreaterEqualStrategyNumber, F_XID8GE, seen->next);
	for (int i = 0; i < seen->running_count; i++)
	{
		if (!FullTransactionIdEquals(seen->running[i], seen->own) && has_ended(seen->running[i], snapshot, oldest))
			scan_transaction(scan, seen->running[i]);
	}
	if (FullTransactionIdIsValid(seen->own) && FullTransactionIdPrecedes(seen->own, seen->next))
		scan_transaction(scan, seen->own);
}

/* -- journals ------------------------------------------------------------------ */

void
yq_journal_scan(const YqJournal *journal, const YqSeen *seen, Snapshot snapshot,
				const char *const *names, int count, YqJournalReader reader, void *argument)
{
	AttrNumber *columns = palloc(count * sizeof(AttrNumber));
	JournalScan scan;

	begin_journal_scan(&scan, journal, snapshot);
	for (int i = 0; i < count; i++)
		columns[i] = yq_column(scan.relation, names[i]);
	scan.own = seen->own;
	scan.reader = reader;
	scan.row.columns = columns;
	scan.row.argument = argument;
	scan_unseen(&scan, seen, snapshot);
	end_journal_scan(&scan);
	pfree(columns);
}

int64
yq_journal_count(const YqJournal *journal, FullTransactionId transaction, Snapshot snapshot)
{
	JournalScan scan;

	begin_journal_scan(&scan, journal, snapshot);
	scan_transaction(&scan, transaction);
	end_journal_scan(&scan);
	return scan.count;
}

Oid
yq_journal_file(const YqJournal *journal)
{
	Relation	relation = yq_table_open(journal->table, AccessShareLock);
	Oid			file = YQ_FILE_NUMBER(relation);

	table_close(relation, AccessShareLock);
	return file;
}
