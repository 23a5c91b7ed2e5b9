/*-------------------------------------------------------------------------
 *
 * deferred.c
 *	  Events that are in the log but have not been charged yet.
 *
 * With yquota.charging = deferred the trigger copies the rows of a statement to
 * yquota_internal.deferred_event, in the transaction that puts them into the
 * log, and does nothing else.  That must succeed also when charging fails: it
 * reads no timeline, counter or row of the ledger, nor the content of the rows.
 * The log could not tell later which of its rows are left: it has neither keys
 * nor indexes, and may be sealed.
 *
 * Each statement takes a number from a sequence, and so its rows can be
 * charged later in the order in which they came.
 *
 * A row of deferred_event goes when it is charged, in the same transaction.  A
 * transaction that charges deferred events holds a lock on the table that no
 * other one shares (ShareUpdateExclusiveLock, which statements that add rows do
 * not wait for); see yquota.charge_deferred().
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "charging/deferred.h"
#include "charging/event.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "store/bulk_insert.h"
#include "store/index_scan.h"

/* Columns of deferred_event: those of the event, the statement's number, and the sender. */
#define DEFERRED_COLUMNS (YQ_EVENT_COLUMNS + 2)

/* Rows written at a time. */
#define DEFERRED_BATCH 1000

void
yq_deferred_keep(Tuplestorestate *rows, TupleDesc descriptor)
{
	YqBulkInsert   *writer = yq_bulk_insert_open(YQ_DEFERRED_EVENT, DEFERRED_COLUMNS, DEFERRED_BATCH, false);
	Oid			sequence = yq_identity_sequence(yq_bulk_insert_relation(writer), YQ_DEFERRED_ARRIVAL + 1);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
	Datum		values[DEFERRED_COLUMNS];
	bool		nulls[DEFERRED_COLUMNS];

	values[YQ_DEFERRED_ARRIVAL] = Int64GetDatum(nextval_internal(sequence, false));
	nulls[YQ_DEFERRED_ARRIVAL] = false;
	yq_varlena_put(values, nulls, yq_event_deferred.sent_by - 1, yq_event_sender());
	tuplestore_rescan(rows);
	while (tuplestore_gettupleslot(rows, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getsomeattrs(slot, YQ_EVENT_COLUMNS);
		for (int column = 0; column < YQ_EVENT_COLUMNS; column++)
		{
			int			place = YQ_EVENT_ATTRIBUTE(&yq_event_deferred, column) - 1;

			values[place] = slot->tts_values[column];
			nulls[place] = slot->tts_isnull[column];
		}
		yq_bulk_insert_put(writer, values, nulls);
	}
	ExecDropSingleTupleTableSlot(slot);
	yq_bulk_insert_close(writer);
}

bool
yq_deferred_has(const text *container_id)
{
	YqIndexScan *scan = yq_index_scan_open(YQ_DEFERRED_EVENT, "deferred_event_container_idx");
	bool		found = (yq_index_scan_find(scan, container_id) != NULL);

	yq_index_scan_close(scan);
	return found;
}
