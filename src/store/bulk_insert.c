/*-------------------------------------------------------------------------
 *
 * bulk_insert.c
 *	  Appending rows to yquota's own tables, many at a time.
 *
 * Rows wait as heap tuples in a context that is reset at each flush, which
 * bounds memory by the capacity.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/bulk_insert.h"
#include "store/claim.h"
#include "store/index_entries.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

struct YqBulkInsert
{
	MemoryContext context;
	Relation	relation;
	TupleDesc	descriptor;		/* of more than a few slots: each that has the relation's
								 * own pins it, and every pin is looked for among all */
	YqIndexEntries *entries;
	bool		is_statement;	/* triggers fire */
	EState	   *estate;			/* for them, as the next two */
	ResultRelInfo *result;
	TransitionCaptureState *transition; /* NULL when none asks for it */
	MemoryContext row_context;	/* reset at each flush */
	int			column_count;
	Datum	   *values;			/* of one row; null in columns that an administrator */
	bool	   *nulls;			/* added to the table and dropped again */
	int			capacity;
	bool		optimistic;
	int			count;
	int			slot_count;		/* slots made so far */
	int			slot_room;
	TupleTableSlot **slots;
};

/* Slots that most statements make do with. */
#define FEW_SLOTS 4

/* Rows have the columns known here and, in their places, dropped ones. */
static void
prepare_columns(YqBulkInsert *writer, int column_count)
{
	TupleDesc	descriptor = RelationGetDescr(writer->relation);
	bool		is_known = (descriptor->natts >= column_count);

	for (int i = 0; i < descriptor->natts; i++)
		is_known &= (TupleDescAttr(descriptor, i)->attisdropped == (i >= column_count));
	if (!is_known)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has other columns than the library expects",
						RelationGetRelationName(writer->relation)),
				 errdetail("It is written directly, with the %d columns that it was created with.",
						   column_count),
				 errhint("Keep columns of your own in another table; after an update of the library run ALTER EXTENSION yquota UPDATE.")));
	writer->column_count = column_count;
	writer->values = palloc0(sizeof(Datum) * descriptor->natts);
	writer->nulls = palloc(sizeof(bool) * descriptor->natts);
	memset(writer->nulls, true, sizeof(bool) * descriptor->natts);
}

YqBulkInsert *
yq_bulk_insert_open(YqTable table, int column_count, int capacity, bool optimistic)
{
	YqBulkInsert   *writer = palloc0(sizeof(YqBulkInsert));

	PreventCommandIfReadOnly("INSERT");
	writer->context = CurrentMemoryContext;
	writer->relation = yq_table_open(table, RowExclusiveLock);
	prepare_columns(writer, column_count);
	writer->entries = yq_index_entries_open(writer->relation, optimistic);
	writer->row_context = AllocSetContextCreate(CurrentMemoryContext,
												"yquota rows to write",
												ALLOCSET_DEFAULT_SIZES);
	writer->capacity = capacity;
	writer->optimistic = optimistic;
	writer->slot_room = Min(capacity, FEW_SLOTS);
	writer->slots = palloc(sizeof(TupleTableSlot *) * writer->slot_room);
	return writer;
}

YqBulkInsert *
yq_bulk_insert_open_statement(YqTable table, int column_count, int capacity)
{
	YqBulkInsert   *writer = yq_bulk_insert_open(table, column_count, capacity, false);

	writer->is_statement = true;
	writer->estate = CreateExecutorState();
	writer->result = makeNode(ResultRelInfo);
	InitResultRelInfo(writer->result, writer->relation, 0, NULL, 0);
	AfterTriggerBeginQuery();
	writer->transition = MakeTransitionCaptureState(writer->relation->trigdesc,
													RelationGetRelid(writer->relation), CMD_INSERT);
	ExecBSInsertTriggers(writer->estate, writer->result);
	return writer;
}

Relation
yq_bulk_insert_relation(YqBulkInsert *writer)
{
	return writer->relation;
}

/* Make one more slot. */
static void
add_slot(YqBulkInsert *writer)
{
	MemoryContext old_context = MemoryContextSwitchTo(writer->context);

	if (writer->slot_count == FEW_SLOTS)
		writer->descriptor = CreateTupleDescCopy(RelationGetDescr(writer->relation));
	if (writer->slot_count == writer->slot_room)
	{
		writer->slot_room = Min(writer->slot_room * 2, writer->capacity);
		writer->slots = repalloc(writer->slots, sizeof(TupleTableSlot *) * writer->slot_room);
	}
	writer->slots[writer->slot_count] =
		MakeSingleTupleTableSlot(writer->slot_count < FEW_SLOTS ? RelationGetDescr(writer->relation) : writer->descriptor,
								 &TTSOpsHeapTuple);
	writer->slot_count++;
	MemoryContextSwitchTo(old_context);
}

/* Run triggers and constraints for a row; false when a trigger drops the row. */
static bool
check_row(YqBulkInsert *writer, TupleTableSlot *slot)
{
	const TriggerDesc *triggers = writer->result->ri_TrigDesc;
	const TupleConstr *constraints = RelationGetDescr(writer->relation)->constr;

	if (triggers != NULL && triggers->trig_insert_before_row)
	{
		if (!ExecBRInsertTriggers(writer->estate, writer->result, slot))
		{
			ExecClearTuple(slot);
			return false;
		}
		/* the tuple that a trigger returns does not outlive the row */
		ExecMaterializeSlot(slot);
	}
	if (constraints != NULL && constraints->num_check > 0)
		ExecConstraints(writer->result, slot, writer->estate);
	ResetPerTupleExprContext(writer->estate);
	return true;
}

void
yq_bulk_insert_put(YqBulkInsert *writer, Datum *values, bool *nulls)
{
	MemoryContext old_context;
	HeapTuple	tuple;

	if (writer->count == writer->capacity)
	{
		Assert(!writer->optimistic);
		yq_bulk_insert_flush(writer);
	}
	if (writer->count == writer->slot_count)
		add_slot(writer);

	memcpy(writer->values, values, sizeof(Datum) * writer->column_count);
	memcpy(writer->nulls, nulls, sizeof(bool) * writer->column_count);
	old_context = MemoryContextSwitchTo(writer->row_context);
	tuple = heap_form_tuple(RelationGetDescr(writer->relation), writer->values, writer->nulls);
	ExecStoreHeapTuple(tuple, writer->slots[writer->count], true);
	MemoryContextSwitchTo(old_context);
	if (!writer->is_statement || check_row(writer, writer->slots[writer->count]))
		writer->count++;
}

static void
insert_buffered_rows(YqBulkInsert *writer)
{
	MemoryContext old_context = MemoryContextSwitchTo(writer->row_context);

	table_multi_insert(writer->relation, writer->slots, writer->count,
					   GetCurrentCommandId(true), 0, NULL);
	yq_index_entries_summarize(writer->entries, writer->slots, writer->count);
	MemoryContextSwitchTo(old_context);
}

static void
forget_rows(YqBulkInsert *writer)
{
	for (int i = 0; i < writer->count; i++)
		ExecClearTuple(writer->slots[i]);
	writer->count = 0;
	MemoryContextReset(writer->row_context);
}

void
yq_bulk_insert_claim(YqBulkInsert *writer, YqBeforeClaim before, YqIsTaken is_taken, void *argument)
{
	/* logical decoding sends rows that are withdrawn, and passes over speculative ones */
	bool		is_speculative = RelationIsLogicallyLogged(writer->relation);

	if (!is_speculative)
		insert_buffered_rows(writer);
	for (int row = 0; row < writer->count; row++)
	{
		TupleTableSlot *slot = writer->slots[row];
		uint32		token = 0;
		bool		withdraws;

		if (before != NULL)
			before(argument, row);
		if (is_speculative)
		{
			token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
			table_tuple_insert_speculative(writer->relation, slot, GetCurrentCommandId(true), 0, NULL, token);
			yq_index_entries_summarize(writer->entries, &slot, 1);
		}
		withdraws = is_taken(argument, row, &slot->tts_tid, yq_index_entries_insert(writer->entries, slot));
		if (is_speculative)
		{
			table_tuple_complete_speculative(writer->relation, slot, token, !withdraws);
			SpeculativeInsertionLockRelease(GetCurrentTransactionId());
		}
		else if (withdraws)
		{
			CommandCounterIncrement();
			yq_claim_withdraw(writer->relation, &slot->tts_tid);
		}
	}
	forget_rows(writer);
}

void
yq_bulk_insert_flush(YqBulkInsert *writer)
{
	if (writer == NULL || writer->count == 0)
		return;
	Assert(!writer->optimistic);
	insert_buffered_rows(writer);
	for (int i = 0; i < writer->count; i++)
	{
		(void) yq_index_entries_insert(writer->entries, writer->slots[i]);
		if (writer->is_statement)
		{
			ExecARInsertTriggers(writer->estate, writer->result, writer->slots[i], NIL, writer->transition);
			ResetPerTupleExprContext(writer->estate);
		}
	}
	forget_rows(writer);
}

/* The end of the statement: its triggers fire. */
static void
finish_statement(YqBulkInsert *writer)
{
	Snapshot	snapshot = yq_latest_snapshot();

	ExecASInsertTriggers(writer->estate, writer->result, writer->transition);
	PushActiveSnapshot(snapshot);
	AfterTriggerEndQuery(writer->estate);
	PopActiveSnapshot();
	UnregisterSnapshot(snapshot);
	ExecCloseResultRelations(writer->estate);
	ExecResetTupleTable(writer->estate->es_tupleTable, false);
	FreeExecutorState(writer->estate);
	CommandCounterIncrement();
}

void
yq_bulk_insert_close(YqBulkInsert *writer)
{
	if (writer == NULL)
		return;
	if (writer->optimistic)
		Assert(writer->count == 0);
	else
		yq_bulk_insert_flush(writer);
	if (writer->is_statement)
		finish_statement(writer);
	for (int i = 0; i < writer->slot_count; i++)
		ExecDropSingleTupleTableSlot(writer->slots[i]);
	yq_index_entries_close(writer->entries);
	table_close(writer->relation, NoLock);
	MemoryContextDelete(writer->row_context);
}
