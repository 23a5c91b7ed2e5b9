/*-------------------------------------------------------------------------
 *
 * table_scan.c
 *	  Reads columns of a small table of yquota, or of a part of one.  Reads the rows of a journal
 *	  that a session has not read yet.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_collation_d.h"
#include "miscadmin.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

/* -- table scan ---------------------------------------------------------------- */

void
yq_table_scan(YqTable table, Snapshot snapshot, const char *const *names, int count,
			 YqRowReader reader, void *argument)
{
	Relation	relation = yq_table_open(table, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	Snapshot	latest = snapshot == NULL ? yq_latest_snapshot() : NULL;
	TableScanDesc scan = table_beginscan(relation, latest == NULL ? snapshot : latest, 0, NULL);
	AttrNumber *columns = palloc(count * sizeof(AttrNumber));
	YqRow		row = {.slot = slot, .columns = columns, .argument = argument};

	for (int i = 0; i < count; i++)
		columns[i] = yq_column(relation, names[i]);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		reader(&row);
	}
	pfree(columns);
	table_endscan(scan);
	if (latest != NULL)
		UnregisterSnapshot(latest);
	ExecDropSingleTupleTableSlot(slot);
	table_close(relation, AccessShareLock);
}

static void
set_bound(ScanKey key, StrategyNumber strategy, RegProcedure procedure, const char *bound)
{
	ScanKeyEntryInitialize(key, 0, 1, strategy, InvalidOid, C_COLLATION_OID, procedure,
						   CStringGetTextDatum(bound));
}

void
yq_table_scan_keys(YqTable table, const char *index_name, Snapshot snapshot, ScanKey keys, int key_count,
				  const char *const *names, int count, YqRowReader reader, void *argument)
{
	Relation	relation = yq_table_open(table, AccessShareLock);
	Relation	index = index_open(yq_index_oid(table, index_name), AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	AttrNumber *columns = palloc(count * sizeof(AttrNumber));
	YqRow		row = {.slot = slot, .columns = columns, .argument = argument};
	IndexScanDesc scan = index_beginscan(relation, index, snapshot, NULL, key_count, 0);

	for (int i = 0; i < count; i++)
		columns[i] = yq_column(relation, names[i]);
	index_rescan(scan, keys, key_count, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		reader(&row);
	}
	index_endscan(scan);
	pfree(columns);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, AccessShareLock);
	table_close(relation, AccessShareLock);
}

void
yq_table_scan_index(YqTable table, const char *index_name, Snapshot snapshot,
				   const char *from, const char *below, const char *const *names, int count,
				   YqRowReader reader, void *argument)
{
	ScanKeyData keys[2];

	if (below == NULL)
		set_bound(&keys[0], BTEqualStrategyNumber, F_TEXTEQ, from);
	else
	{
		set_bound(&keys[0], BTGreaterEqualStrategyNumber, F_TEXT_GE, from);
		set_bound(&keys[1], BTLessStrategyNumber, F_TEXT_LT, below);
	}
	yq_table_scan_keys(table, index_name, snapshot, keys, below == NULL ? 1 : 2, names, count, reader, argument);
}

Datum
yq_row_value(const YqRow *row, int column, bool *isnull)
{
	return slot_getattr(row->slot, row->columns[column], isnull);
}

char *
yq_row_text(const YqRow *row, int column)
{
	bool		isnull;
	Datum		value = yq_row_value(row, column, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

YqBytes
yq_row_bytes(const YqRow *row, int column)
{
	bool		isnull;
	Datum		value = yq_row_value(row, column, &isnull);

	return yq_bytes_of_varlena(isnull ? NULL : DatumGetTextPP(value));
}

bool
yq_row_bool(const YqRow *row, int column)
{
	bool		isnull;
	Datum		value = yq_row_value(row, column, &isnull);

	return !isnull && DatumGetBool(value);
}

int32
yq_row_integer(const YqRow *row, int column, int32 otherwise)
{
	bool		isnull;
	Datum		value = yq_row_value(row, column, &isnull);

	return isnull ? otherwise : DatumGetInt32(value);
}

int64
yq_row_bigint(const YqRow *row, int column, int64 otherwise)
{
	bool		isnull;
	Datum		value = yq_row_value(row, column, &isnull);

	return isnull ? otherwise : DatumGetInt64(value);
}

/* -- journal scan -------------------------------------------------------------- */

/*
 * Read rows of a journal that the session has not read yet.
 *
 * The snapshot of an earlier reading contains the ids of all transactions that were running at
 * that time.  The rows of each such transaction are found by one descent of the index.  The cost
 * does not depend on how long the transaction has run, or on how much other transactions have
 * written in the meantime.
 */

/* -- transactions ------------------------------------------------------------ */

/* Return the 64-bit id of a transaction in a snapshot.  The transaction is not later than "next". */
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
	YqJournalReader reader;		/* reader of the rows; NULL if rows are only counted */
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

/*
 * Tell whether a transaction has ended.  The scan does not look for rows of running transactions,
 * because they are not visible.
 */
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
