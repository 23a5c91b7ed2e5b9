/*-------------------------------------------------------------------------
 *
 * row_update.c
 *	  Changing rows of yquota's own tables, one by one, by their primary keys.
 *
 * The executor has routines for that, made for logical replication.  They cost
 * a fraction of a statement's start and end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "store/row_update.h"
#include "utils/snapmgr.h"

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
	TupleTableSlot *key;		/* null but for the searched key */
	TupleTableSlot *found;
	bool		is_found;
	TupleTableSlot *changed;	/* the new row */
	bool		has_done[CMD_DELETE + 1];	/* by CmdType: some of these */
};

static TupleTableSlot *
make_slot(YqRowUpdate *changer, const TupleTableSlotOps *kind)
{
	return ExecInitExtraTupleSlot(changer->estate, RelationGetDescr(changer->relation), kind);
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
prepare_update(YqRowUpdate *changer)
{
	changer->snapshot = yq_latest_snapshot();
	changer->estate = CreateExecutorState();
	changer->estate->es_snapshot = changer->snapshot;
	changer->result = makeNode(ResultRelInfo);
	InitResultRelInfo(changer->result, changer->relation, 0, NULL, 0);
	ExecOpenIndices(changer->result, false);
	EvalPlanQualInit(&changer->recheck, changer->estate, NULL, NIL, -1, NIL);
	changer->key = make_slot(changer, &TTSOpsVirtual);
	changer->changed = make_slot(changer, &TTSOpsVirtual);
	changer->found = make_slot(changer, table_slot_callbacks(changer->relation));
	AfterTriggerBeginQuery();
}

YqRowUpdate *
yq_row_update_open(YqTable table, const char *primary_key, const char *const *names, int count)
{
	YqRowUpdate  *changer = palloc0(sizeof(YqRowUpdate));

	PreventCommandIfReadOnly("UPDATE");
	changer->relation = yq_table_open(table, RowExclusiveLock);
	changer->primary_key = yq_index_oid(table, primary_key);
	changer->key_count = count_key_columns(changer->primary_key);
	changer->columns = palloc(count * sizeof(AttrNumber));
	for (int i = 0; i < count; i++)
		changer->columns[i] = yq_column(changer->relation, names[i]);
	prepare_update(changer);
	return changer;
}

/* -- rows ---------------------------------------------------------------------- */

static void
clear(TupleTableSlot *slot)
{
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
}

static void
set_column(const YqRowUpdate *changer, TupleTableSlot *slot, int column, Datum value)
{
	slot->tts_values[changer->columns[column] - 1] = value;
	slot->tts_isnull[changer->columns[column] - 1] = false;
}

/* The new row starts as a copy of the found row. */
static void
copy_found(YqRowUpdate *changer)
{
	Size		count = changer->found->tts_tupleDescriptor->natts;

	slot_getallattrs(changer->found);
	memcpy(changer->changed->tts_values, changer->found->tts_values, count * sizeof(Datum));
	memcpy(changer->changed->tts_isnull, changer->found->tts_isnull, count * sizeof(bool));
}

bool
yq_row_update_find(YqRowUpdate *changer, const Datum *key)
{
	clear(changer->key);
	clear(changer->changed);
	for (int i = 0; i < changer->key_count; i++)
	{
		set_column(changer, changer->key, i, key[i]);
		set_column(changer, changer->changed, i, key[i]);
	}
	ExecStoreVirtualTuple(changer->key);
	changer->is_found = RelationFindReplTupleByIndex(changer->relation, changer->primary_key, LockTupleExclusive,
													 changer->key, changer->found);
	if (changer->is_found)
		copy_found(changer);
	return changer->is_found;
}

Datum
yq_row_update_value(const YqRowUpdate *changer, int column)
{
	return changer->changed->tts_values[changer->columns[column] - 1];
}

void
yq_row_update_set(YqRowUpdate *changer, int column, Datum value)
{
	set_column(changer, changer->changed, column, value);
}

void
yq_row_update_set_null(YqRowUpdate *changer, int column)
{
	changer->changed->tts_isnull[changer->columns[column] - 1] = true;
}

/* Triggers of statements of a kind fire when the first row comes. */
static void
begin_kind(YqRowUpdate *changer, CmdType kind)
{
	if (!changer->has_done[kind])
	{
		changer->has_done[kind] = true;
		if (kind == CMD_UPDATE)
			ExecBSUpdateTriggers(changer->estate, changer->result);
		else if (kind == CMD_INSERT)
			ExecBSInsertTriggers(changer->estate, changer->result);
		else
			ExecBSDeleteTriggers(changer->estate, changer->result);
	}
}

static void
end_row(YqRowUpdate *changer)
{
	ExecClearTuple(changer->found);
	ResetPerTupleExprContext(changer->estate);
}

void
yq_row_update_write(YqRowUpdate *changer)
{
	begin_kind(changer, changer->is_found ? CMD_UPDATE : CMD_INSERT);
	ExecStoreVirtualTuple(changer->changed);
	if (changer->is_found)
		ExecSimpleRelationUpdate(changer->result, changer->estate, &changer->recheck, changer->found, changer->changed);
	else
		ExecSimpleRelationInsert(changer->result, changer->estate, changer->changed);
	end_row(changer);
}

void
yq_row_update_delete(YqRowUpdate *changer)
{
	begin_kind(changer, CMD_DELETE);
	ExecSimpleRelationDelete(changer->result, changer->estate, &changer->recheck, changer->found);
	end_row(changer);
}

/* -- the end ------------------------------------------------------------------- */

static void
fire_statement_triggers(YqRowUpdate *changer)
{
	if (changer->has_done[CMD_INSERT])
		ExecASInsertTriggers(changer->estate, changer->result, NULL);
	if (changer->has_done[CMD_UPDATE])
		ExecASUpdateTriggers(changer->estate, changer->result, NULL);
	if (changer->has_done[CMD_DELETE])
		ExecASDeleteTriggers(changer->estate, changer->result, NULL);
	PushActiveSnapshot(changer->snapshot);
	AfterTriggerEndQuery(changer->estate);
	PopActiveSnapshot();
}

void
yq_row_update_close(YqRowUpdate *changer)
{
	if (changer == NULL)
		return;
	fire_statement_triggers(changer);
	EvalPlanQualEnd(&changer->recheck);
	ExecResetTupleTable(changer->estate->es_tupleTable, false);
	ExecCloseResultRelations(changer->estate);
	ExecCloseIndices(changer->result);
	FreeExecutorState(changer->estate);
	UnregisterSnapshot(changer->snapshot);
	table_close(changer->relation, NoLock);
	pfree(changer->columns);
	pfree(changer);
	CommandCounterIncrement();
}
