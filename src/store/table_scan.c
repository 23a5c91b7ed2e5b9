/*-------------------------------------------------------------------------
 *
 * table_scan.c
 *	  Reading a small table of ours, or a part of one, column by column.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_collation_d.h"
#include "miscadmin.h"
#include "store/table_scan.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

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
