/*-------------------------------------------------------------------------
 *
 * row_update.c
 *	  Changes, deletes and locks single rows of yquota's own tables.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "store/row_update.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/* -- claim --------------------------------------------------------------------- */

/* Delete and lock single rows that an index scan has found. */

static bool
delete_row(Relation relation, ItemPointer tid, bool mark)
{
	TM_FailureData failure;
	TM_Result	result;

	result = table_tuple_delete(relation, tid, GetCurrentCommandId(true),
								SnapshotSelf, InvalidSnapshot, true, &failure, mark);
	switch (result)
	{
		case TM_Ok:
			return true;
		case TM_SelfModified:
		case TM_Updated:
		case TM_Deleted:
			return false;
		default:
			elog(ERROR, "unexpected result %d of deleting from \"%s\"",
				 result, RelationGetRelationName(relation));
	}
}

bool
yq_claim_delete(Relation relation, ItemPointer tid)
{
	return delete_row(relation, tid, false);
}

/* Lock the newest version of a row. */
static TM_Result
lock_row(Relation relation, ItemPointer tid, LockWaitPolicy wait_policy)
{
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TM_FailureData failure;
	TM_Result	result;

	result = table_tuple_lock(relation, tid, SnapshotSelf, slot, GetCurrentCommandId(true),
							  LockTupleExclusive, wait_policy, 0, &failure);
	ExecDropSingleTupleTableSlot(slot);
	return result;
}

bool
yq_claim_lock(Relation relation, ItemPointer tid)
{
	return lock_row(relation, tid, LockWaitBlock) == TM_Ok;
}

bool
yq_claim_delete_unlocked(Relation relation, ItemPointer tid, bool *is_locked)
{
	TM_Result	result = lock_row(relation, tid, LockWaitSkip);

	*is_locked = (result == TM_WouldBlock);
	return result == TM_Ok && delete_row(relation, tid, false);
}

void
yq_claim_withdraw(Relation relation, ItemPointer tid)
{
	if (!delete_row(relation, tid, true))
		elog(ERROR, "could not withdraw a row of \"%s\"", RelationGetRelationName(relation));
}

bool
yq_claim_is_withdrawn(TupleTableSlot *slot)
{
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);

	return HeapTupleHeaderIndicatesMovedPartitions(tuple->t_data);
}

/* -- row update ---------------------------------------------------------------- */

/*
 * The executor's routines for logical replication change the rows.  They take a fraction of the
 * time that starting and ending a statement takes.
 */

struct YqRowUpdate
{
	Relation	relation;
	Oid			primary_key;
	int			key_count;
	AttrNumber *columns;
	Snapshot	snapshot;
	EState	   *estate;
	ResultRelInfo *result;
	EPQState	recheck;
	TupleTableSlot *key;		/* all columns are null except those of the key */
	TupleTableSlot *found;
	bool		is_found;
	TupleTableSlot *changed;	/* the new row */
	bool		has_done[CMD_DELETE + 1];	/* by CmdType: true if the statement triggers of this kind have fired */
};

static TupleTableSlot *
make_slot(YqRowUpdate *update, const TupleTableSlotOps *kind)
{
	return ExecInitExtraTupleSlot(update->estate, RelationGetDescr(update->relation), kind);
}

static int
count_key_columns(Oid primary_key)
{
	Relation	index = index_open(primary_key, AccessShareLock);
	int			count = IndexRelationGetNumberOfKeyAttributes(index);

	index_close(index, AccessShareLock);
	return count;
}

static void
prepare_update(YqRowUpdate *update)
{
	update->snapshot = yq_latest_snapshot();
	update->estate = CreateExecutorState();
	update->estate->es_snapshot = update->snapshot;
	update->result = makeNode(ResultRelInfo);
	InitResultRelInfo(update->result, update->relation, 0, NULL, 0);
	ExecOpenIndices(update->result, false);
	EvalPlanQualInit(&update->recheck, update->estate, NULL, NIL, -1, NIL);
	update->key = make_slot(update, &TTSOpsVirtual);
	update->changed = make_slot(update, &TTSOpsVirtual);
	update->found = make_slot(update, table_slot_callbacks(update->relation));
	AfterTriggerBeginQuery();
}

YqRowUpdate *
yq_row_update_open(YqTable table, const char *primary_key, const char *const *names, int count)
{
	YqRowUpdate  *update = palloc0(sizeof(YqRowUpdate));

	PreventCommandIfReadOnly("UPDATE");
	update->relation = yq_table_open(table, RowExclusiveLock);
	update->primary_key = yq_index_oid(table, primary_key);
	update->key_count = count_key_columns(update->primary_key);
	update->columns = palloc(count * sizeof(AttrNumber));
	for (int i = 0; i < count; i++)
		update->columns[i] = yq_column(update->relation, names[i]);
	prepare_update(update);
	return update;
}

/* -- rows ---------------------------------------------------------------------- */

static void
clear(TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
}

static void
set_column(const YqRowUpdate *update, TupleTableSlot *slot, int column, Datum value)
{
	slot->tts_values[update->columns[column] - 1] = value;
	slot->tts_isnull[update->columns[column] - 1] = false;
}

/* Initialize the new row with a copy of the found row. */
static void
copy_found(YqRowUpdate *update)
{
	Size		count = update->found->tts_tupleDescriptor->natts;

	slot_getallattrs(update->found);
	memcpy(update->changed->tts_values, update->found->tts_values, count * sizeof(Datum));
	memcpy(update->changed->tts_isnull, update->found->tts_isnull, count * sizeof(bool));
}

bool
yq_row_update_find(YqRowUpdate *update, const Datum *key)
{
	clear(update->key);
	clear(update->changed);
	for (int i = 0; i < update->key_count; i++)
	{
		set_column(update, update->key, i, key[i]);
		set_column(update, update->changed, i, key[i]);
	}
	ExecStoreVirtualTuple(update->key);
	update->is_found = RelationFindReplTupleByIndex(update->relation, update->primary_key, LockTupleExclusive,
													update->key, update->found);
	if (update->is_found)
		copy_found(update);
	return update->is_found;
}

Datum
yq_row_update_value(const YqRowUpdate *update, int column)
{
	return update->changed->tts_values[update->columns[column] - 1];
}

void
yq_row_update_set(YqRowUpdate *update, int column, Datum value)
{
	set_column(update, update->changed, column, value);
}

void
yq_row_update_set_null(YqRowUpdate *update, int column)
{
	update->changed->tts_isnull[update->columns[column] - 1] = true;
}

/* Fire the BEFORE STATEMENT triggers of a kind when the first row is changed. */
static void
begin_kind(YqRowUpdate *update, CmdType kind)
{
	if (!update->has_done[kind])
	{
		update->has_done[kind] = true;
		if (kind == CMD_UPDATE)
			ExecBSUpdateTriggers(update->estate, update->result);
		else if (kind == CMD_INSERT)
			ExecBSInsertTriggers(update->estate, update->result);
		else
			ExecBSDeleteTriggers(update->estate, update->result);
	}
}

static void
end_row(YqRowUpdate *update)
{
	ExecClearTuple(update->found);
	ResetPerTupleExprContext(update->estate);
}

void
yq_row_update_write(YqRowUpdate *update)
{
	begin_kind(update, update->is_found ? CMD_UPDATE : CMD_INSERT);
	ExecStoreVirtualTuple(update->changed);
	if (update->is_found)
		ExecSimpleRelationUpdate(update->result, update->estate, &update->recheck, update->found, update->changed);
	else
		ExecSimpleRelationInsert(update->result, update->estate, update->changed);
	end_row(update);
}

void
yq_row_update_delete(YqRowUpdate *update)
{
	begin_kind(update, CMD_DELETE);
	ExecSimpleRelationDelete(update->result, update->estate, &update->recheck, update->found);
	end_row(update);
}

/* -- the end ------------------------------------------------------------------- */

static void
fire_statement_triggers(YqRowUpdate *update)
{
	if (update->has_done[CMD_INSERT])
		ExecASInsertTriggers(update->estate, update->result, NULL);
	if (update->has_done[CMD_UPDATE])
		ExecASUpdateTriggers(update->estate, update->result, NULL);
	if (update->has_done[CMD_DELETE])
		ExecASDeleteTriggers(update->estate, update->result, NULL);
	PushActiveSnapshot(update->snapshot);
	AfterTriggerEndQuery(update->estate);
	PopActiveSnapshot();
}

void
yq_row_update_close(YqRowUpdate *update)
{
	if (update == NULL)
		return;
	fire_statement_triggers(update);
	EvalPlanQualEnd(&update->recheck);
	ExecResetTupleTable(update->estate->es_tupleTable, false);
	ExecCloseResultRelations(update->estate);
	ExecCloseIndices(update->result);
	FreeExecutorState(update->estate);
	UnregisterSnapshot(update->snapshot);
	table_close(update->relation, NoLock);
	pfree(update->columns);
	pfree(update);
	CommandCounterIncrement();
}
