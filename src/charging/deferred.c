/*-------------------------------------------------------------------------
 *
 * deferred.c
 *	  Events that are in the log but have not been charged yet.
 *
 * With yquota.charging = deferred the door copies the rows of a statement to
 * yquota_internal.deferred_event, in the transaction that puts them into the
 * log, and does nothing else.  That must succeed when it is charging that is
 * broken: no timeline, counter or row of the books is looked at, nor is what
 * the rows say.  The log could not tell later which of its rows are left: it
 * has neither keys nor indexes, and may be sealed.
 *
 * Each statement takes a number from a sequence, and so its rows can be
 * charged later in the order in which they came.
 *
 * A row of deferred_event goes when it is charged, in the same transaction.
 * Who charges deferred events holds a lock on the table that nobody shares
 * (ShareUpdateExclusiveLock; statements that add rows do not mind it); see
 * yquota.charge_deferred().
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "base/arguments.h"
#include "catalog/pg_type_d.h"
#include "charging/deferred.h"
#include "charging/door.h"
#include "charging/event.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "store/bulk_insert.h"
#include "store/index_scan.h"
#include "utils/builtins.h"

/* Columns of deferred_event: those of the event, and the statement's number. */
#define ARRIVAL YQ_EVENT_COLUMNS
#define DEFERRED_COLUMNS (YQ_EVENT_COLUMNS + 1)

/* Rows written at a time. */
#define DEFERRED_BATCH 1000

void
yq_deferred_keep(Tuplestorestate *rows, TupleDesc descriptor)
{
	YqBulkInsert   *writer = yq_bulk_insert_open(YQ_DEFERRED_EVENT, DEFERRED_COLUMNS, DEFERRED_BATCH, false);
	Oid			sequence = yq_identity_sequence(yq_bulk_insert_relation(writer), ARRIVAL + 1);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
	Datum		values[DEFERRED_COLUMNS];
	bool		nulls[DEFERRED_COLUMNS];

	values[ARRIVAL] = Int64GetDatum(nextval_internal(sequence, false));
	nulls[ARRIVAL] = false;
	tuplestore_rescan(rows);
	while (tuplestore_gettupleslot(rows, true, false, slot))
	{
		CHECK_FOR_INTERRUPTS();
		slot_getsomeattrs(slot, YQ_EVENT_COLUMNS);
		memcpy(values, slot->tts_values, sizeof(Datum) * YQ_EVENT_COLUMNS);
		memcpy(nulls, slot->tts_isnull, sizeof(bool) * YQ_EVENT_COLUMNS);
		yq_bulk_insert_put(writer, values, nulls);
	}
	ExecDropSingleTupleTableSlot(slot);
	yq_bulk_insert_close(writer);
}

bool
yq_deferred_has(const text *container_id)
{
	YqIndexScan   *finder;
	bool		found;

	finder = yq_index_scan_open(YQ_DEFERRED_EVENT, "deferred_event_container_idx");
	yq_index_scan_seek(finder, container_id);
	found = (yq_index_scan_next(finder) != NULL);
	yq_index_scan_close(finder);
	return found;
}

/* -- charging them -------------------------------------------------------- */

/*
 * Take the rows of containers up to an id, or all that there are (NULL), out
 * of the table.  What the index leaves out is taken with the last.
 */
static void
take_rows(text *last_id, Tuplestorestate *rows)
{
	const char *command = last_id == NULL ?
		"DELETE FROM yquota_internal.deferred_event RETURNING *" :
		"DELETE FROM yquota_internal.deferred_event "
		"WHERE container_id <= $1 AND octet_length(container_id) <= 2600 RETURNING *";
	SPIExecuteOptions options = {0};
	DestReceiver *receiver = CreateTuplestoreDestReceiver();
	int			result;

	/* values kept out of line go with their rows */
	SetTuplestoreDestReceiverParams(receiver, rows, CurrentMemoryContext, true, NULL, NULL);
	options.dest = receiver;
	if (last_id != NULL)
	{
		options.params = makeParamList(1);
		options.params->params[0].value = PointerGetDatum(last_id);
		options.params->params[0].isnull = false;
		options.params->params[0].pflags = PARAM_FLAG_CONST;
		options.params->params[0].ptype = TEXTOID;
	}
	result = SPI_execute_extended(command, &options);
	if (result != SPI_OK_DELETE_RETURNING)
		elog(ERROR, "could not run \"%s\": %s", command, SPI_result_code_string(result));
	receiver->rDestroy(receiver);
}

PG_FUNCTION_INFO_V1(yq_sql_charge_deferred_through);

/*
 * charge_deferred_through(last_id text) returns (charged bigint, set_aside
 * bigint): charge what was deferred of containers up to an id, or all (NULL).
 */
Datum
yq_sql_charge_deferred_through(PG_FUNCTION_ARGS)
{
	text	   *last_id = PG_ARGISNULL(0) ? NULL : PG_GETARG_TEXT_PP(0);
	Relation	relation = yq_table_open(YQ_DEFERRED_EVENT, RowExclusiveLock);
	Tuplestorestate *rows;
	YqDoorResult charged;
	Datum		values[2];
	bool		nulls[2] = {false};
	HeapTuple	result;

	SPI_connect();
	rows = tuplestore_begin_heap(false, false, work_mem);
	take_rows(last_id, rows);
	charged = yq_door_charge(rows, RelationGetDescr(relation), ARRIVAL + 1);
	tuplestore_end(rows);
	SPI_finish();
	table_close(relation, NoLock);

	values[0] = Int64GetDatum(charged.events - charged.set_aside);
	values[1] = Int64GetDatum(charged.set_aside);
	result = heap_form_tuple(yq_result_descriptor(fcinfo), values, nulls);
	PG_RETURN_DATUM(HeapTupleGetDatum(result));
}
