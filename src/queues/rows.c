/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  Reading the whole of a small table of ours, column by column.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "access/tableam.h"
#include "miscadmin.h"
#include "queues/rows.h"
#include "utils/builtins.h"

void
yq_rows_read(YqTable table, Snapshot snapshot, const char *const *names, int count,
			 YqRowReader reader, void *argument)
{
	Relation	relation = yq_table_open(table, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
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
	ExecDropSingleTupleTableSlot(slot);
	table_close(relation, AccessShareLock);
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
