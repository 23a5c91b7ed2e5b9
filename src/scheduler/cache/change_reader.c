/*-------------------------------------------------------------------------
 *
 * change_reader.c
 *	  What has come to the log of changes since it was last looked at.
 *
 * A transaction that was at work at the last look has a number of its own in the
 * snapshot of that look, so that it takes one look-up, however long it has been at
 * work, and however much others have written meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "scheduler/cache/change_reader.h"
#include "scheduler/record/change_log.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/xid8.h"

/* Columns in the order in which they are asked for. */
typedef enum ChangeColumn
{
	CHANGE_KIND,
	CHANGE_APPLICATION_ID,
	CHANGE_QUEUE,
	CHANGE_USERNAME,
	CHANGE_CHANGED_BY,
	CHANGE_COLUMNS
} ChangeColumn;

static const char *const change_columns[] = {"kind", "application_id", "queue", "username", "changed_by"};

typedef struct Reading
{
	const YqSeen *seen;
	Snapshot	snapshot;
	Relation	relation;
	Relation	index;
	IndexScanDesc scan;
	AttrNumber	columns[CHANGE_COLUMNS];
	YqRow		row;
	YqChanges  *changes;
} Reading;

/* -- rows -------------------------------------------------------------------- */

static void
read_row(Reading *reading)
{
	const YqRow *row = &reading->row;
	YqChanges  *changes = reading->changes;
	bool		isnull;
	FullTransactionId changed_by = DatumGetFullTransactionId(yq_row_value(row, CHANGE_CHANGED_BY, &isnull));
	bool		is_own = TransactionIdIsValid(reading->seen->own) && XidFromFullTransactionId(changed_by) == reading->seen->own;
	char	   *id = yq_row_text(row, CHANGE_APPLICATION_ID);
	char	   *queue = yq_row_text(row, CHANGE_QUEUE);

	changes->own_rows += is_own;
	switch (DatumGetChar(yq_row_value(row, CHANGE_KIND, &isnull)))
	{
		case YQ_CHANGE_EVERYTHING:
			changes->is_everything = true;
			break;
		case YQ_CHANGE_AM_LIMITS:
			changes->has_am_limits = changes->has_am_limits || !is_own;
			break;
		default:
			break;
	}
	if (id != NULL && is_own)
		changes->own_ids = lappend(changes->own_ids, id);
	else if (id != NULL)
		changes->ids = lappend(changes->ids, id);
	if (queue == NULL)
		return;
	changes->queues = lappend(changes->queues, queue);
	changes->usernames = lappend(changes->usernames, yq_row_text(row, CHANGE_USERNAME));
}

/* Rows of transactions with that number, or from there on. */
static void
read_range(Reading *reading, StrategyNumber strategy, RegProcedure procedure, TransactionId from)
{
	ScanKeyData key;

	ScanKeyInit(&key, 1, strategy, procedure, FullTransactionIdGetDatum(yq_seen_full_number(reading->seen, from)));
	index_rescan(reading->scan, &key, 1, NULL, 0);
	while (index_getnext_slot(reading->scan, ForwardScanDirection, reading->row.slot))
	{
		CHECK_FOR_INTERRUPTS();
		read_row(reading);
	}
}

/* -- transactions ---------------------------------------------------------------- */

static void
read_of_transaction(Reading *reading, TransactionId number)
{
	read_range(reading, BTEqualStrategyNumber, F_XID8EQ, number);
}

static void
read_new(Reading *reading)
{
	const SnapshotData *snapshot = &reading->seen->snapshot;
	TransactionId own = reading->seen->own;

	read_range(reading, BTGreaterEqualStrategyNumber, F_XID8GE, snapshot->xmax);
	for (uint32 i = 0; i < snapshot->xcnt; i++)
	{
		if (!XidInMVCCSnapshot(snapshot->xip[i], reading->snapshot))
			read_of_transaction(reading, snapshot->xip[i]);
	}
	if (TransactionIdIsValid(own) && TransactionIdPrecedes(own, snapshot->xmax))
		read_of_transaction(reading, own);
}

static void
begin_reading(Reading *reading, const YqSeen *seen, Snapshot snapshot, YqChanges *changes)
{
	*reading = (Reading)
	{
		.seen = seen,.snapshot = snapshot,.changes = changes
	};
	reading->relation = yq_table_open(YQ_SCHEDULER_CHANGE, AccessShareLock);
	reading->index = index_open(yq_index_oid(YQ_SCHEDULER_CHANGE, "scheduler_change_changed_by_idx"), AccessShareLock);
	reading->scan = index_beginscan(reading->relation, reading->index, snapshot, NULL, 1, 0);
	for (int i = 0; i < CHANGE_COLUMNS; i++)
		reading->columns[i] = yq_column(reading->relation, change_columns[i]);
	reading->row.slot = table_slot_create(reading->relation, NULL);
	reading->row.columns = reading->columns;
}

static void
end_reading(Reading *reading)
{
	index_endscan(reading->scan);
	ExecDropSingleTupleTableSlot(reading->row.slot);
	index_close(reading->index, AccessShareLock);
	table_close(reading->relation, AccessShareLock);
}

/* -- all --------------------------------------------------------------------------- */

void
yq_changes_read(const YqSeen *seen, Snapshot snapshot, YqChanges *changes)
{
	Reading		reading;

	begin_reading(&reading, seen, snapshot, changes);
	read_new(&reading);
	end_reading(&reading);
}

int64
yq_changes_count_own(const YqSeen *seen, Snapshot snapshot)
{
	YqChanges	changes = {.own_rows = 0};
	Reading		reading;

	begin_reading(&reading, seen, snapshot, &changes);
	read_of_transaction(&reading, seen->own);
	end_reading(&reading);
	return changes.own_rows;
}

Oid
yq_changes_file(void)
{
	Relation	relation = yq_table_open(YQ_SCHEDULER_CHANGE, AccessShareLock);
	Oid			file = YQ_FILE_NUMBER(relation);

	table_close(relation, AccessShareLock);
	return file;
}
