/*-------------------------------------------------------------------------
 *
 * bulk_insert.c
 *	  Appends rows to yquota's own tables, many at a time, with their entries in
 *	  indexes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/brin_internal.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/bulk_insert.h"
#include "store/row_update.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* -- plain index --------------------------------------------------------------- */

/*
 * Make the index entries of appended rows by calling the access method, without setting up the
 * executor.
 *
 * The first row of a page always gets its BRIN entry.  An index with the option autosummarize
 * needs this entry to begin a new range.
 */

typedef struct YqPlainIndex
{
	Relation	index;			/* index that the caller opens and closes */
	bool		is_brin;
	IndexInfo  *info;
	const NullTest *condition;	/* condition of a partial index; NULL if every row has an entry */
} YqPlainIndex;

/* Set only the fields that access methods read.  BuildIndexInfo() would also look up options, which is expensive. */
static IndexInfo *
make_info(const FormData_pg_index *form)
{
	IndexInfo  *info = makeNode(IndexInfo);

	info->ii_NumIndexAttrs = form->indnatts;
	info->ii_NumIndexKeyAttrs = form->indnkeyatts;
	memcpy(info->ii_IndexAttrNumbers, form->indkey.values, sizeof(AttrNumber) * form->indnatts);
	info->ii_Unique = form->indisunique;
	info->ii_ReadyForInserts = true;
	info->ii_Context = CurrentMemoryContext;
	return info;
}

/* Tell whether a condition has the form "column IS NULL" or "column IS NOT NULL". */
static bool
is_null_test(List *condition)
{
	const NullTest *test = linitial(condition);

	return list_length(condition) == 1 && IsA(test, NullTest) && !test->argisrow &&
		IsA(test->arg, Var) && ((const Var *) test->arg)->varattno > 0;
}

/*
 * Prepare to make entries in an open index, in the current memory context.  Returns false when the
 * index is not plain.  The server's executor then has to make the entries.
 */
static bool
plain_index_init(YqPlainIndex *plain, Relation index)
{
	List	   *condition = RelationGetIndexPredicate(index);

	plain->index = index;
	plain->is_brin = (index->rd_rel->relam == BRIN_AM_OID);
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) ||
		index->rd_index->indisexclusion || !index->rd_index->indimmediate ||
		(condition != NIL && (plain->is_brin || !is_null_test(condition))))
		return false;
	plain->condition = condition == NIL ? NULL : linitial(condition);
	plain->info = make_info(index->rd_index);
	return true;
}

static bool
insert(const YqPlainIndex *plain, Relation heap, TupleTableSlot *slot, IndexUniqueCheck check)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];

	FormIndexDatum(plain->info, slot, NULL, values, nulls);
	return index_insert(plain->index, values, nulls, &slot->tts_tid, heap, check, false, plain->info);
}

/*
 * Make the entry of an inserted row.  If "optimistic" is set, the function neither waits for a row
 * with the same unique key nor fails.  It then returns false when such a row may exist.
 */
static bool
plain_index_insert(const YqPlainIndex *plain, Relation heap, TupleTableSlot *slot, bool optimistic)
{
	const NullTest *test = plain->condition;

	if (test != NULL &&
		slot_attisnull(slot, ((const Var *) test->arg)->varattno) != (test->nulltesttype == IS_NULL))
		return true;
	if (!plain->info->ii_Unique)
		(void) insert(plain, heap, slot, UNIQUE_CHECK_NO);
	else if (!insert(plain, heap, slot, optimistic ? UNIQUE_CHECK_PARTIAL : UNIQUE_CHECK_YES))
		return false;
	return true;
}

/*
 * Mark the rows with the lowest and the highest instant of a column, and one row with a null.
 * Only these rows extend the BRIN summary.
 */
static void
mark_extremes(TupleTableSlot **slots, int count, AttrNumber column, bool *needed)
{
	int			lowest = -1;
	int			highest = -1;
	int			null = -1;
	TimestampTz least = 0;
	TimestampTz greatest = 0;

	for (int i = 0; i < count; i++)
	{
		bool		isnull;
		TimestampTz instant = DatumGetTimestampTz(slot_getattr(slots[i], column, &isnull));

		if (isnull)
			null = i;
		else
		{
			if (lowest < 0 || instant < least)
			{
				least = instant;
				lowest = i;
			}
			if (highest < 0 || instant > greatest)
			{
				greatest = instant;
				highest = i;
			}
		}
	}
	if (null >= 0)
		needed[null] = true;
	if (lowest >= 0)
		needed[lowest] = needed[highest] = true;
}

/* Mark the rows whose value differs from that of the previous row. */
static void
mark_changes(TupleTableSlot **slots, int count, AttrNumber column, bool *needed)
{
	Form_pg_attribute attribute = TupleDescAttr(slots[0]->tts_tupleDescriptor, column - 1);
	Datum		last = 0;
	bool		last_null = false;

	for (int i = 0; i < count; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slots[i], column, &isnull);

		if (i == 0 || isnull != last_null ||
			(!isnull && !datumIsEqual(value, last, attribute->attbyval, attribute->attlen)))
			needed[i] = true;
		last = value;
		last_null = isnull;
	}
}

/* Make the BRIN entries of rows that are on the same page. */
static void
summarize_page(const YqPlainIndex *plain, Relation heap, TupleTableSlot **slots, int count)
{
	bool		needed[MaxHeapTuplesPerPage] = {true};

	for (int i = 0; i < plain->info->ii_NumIndexAttrs; i++)
	{
		AttrNumber	column = plain->info->ii_IndexAttrNumbers[i];

		if (TupleDescAttr(RelationGetDescr(heap), column - 1)->atttypid == TIMESTAMPTZOID &&
			index_getprocid(plain->index, i + 1, BRIN_PROCNUM_OPCINFO) == F_BRIN_MINMAX_OPCINFO)
			mark_extremes(slots, count, column, needed);
		else
			mark_changes(slots, count, column, needed);
	}
	for (int i = 0; i < count; i++)
	{
		if (needed[i])
			(void) insert(plain, heap, slots[i], UNIQUE_CHECK_NO);
	}
}

/* Make the entries of rows in a BRIN index, in the order of insertion. */
static void
plain_index_summarize(const YqPlainIndex *plain, Relation heap, TupleTableSlot **slots, int count)
{
	for (int first = 0, end = 0; first < count; first = end)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&slots[first]->tts_tid);

		while (end < count && ItemPointerGetBlockNumber(&slots[end]->tts_tid) == block)
			end++;
		summarize_page(plain, heap, slots + first, end - first);
	}
}

/* Let the server's executor make the entries of indexes that are not plain. */

/*
 * Make entries of appended rows in the indexes of their table.
 *
 * The server's executor makes the entries of indexes that are not plain.
 */

typedef struct YqIndexEntries YqIndexEntries;

struct YqIndexEntries
{
	Relation	heap;
	bool		optimistic;
	int			plain_count;
	YqPlainIndex *plain;
	EState	   *estate;			/* executor state for indexes that are not plain; NULL if all indexes are plain */
	ResultRelInfo *others;		/* indexes that are not plain; NULL if all indexes are plain */
};

/* Let the executor make the entries of an index. */
static void
add_other(YqIndexEntries *entries, Relation index, int room)
{
	ResultRelInfo *others = entries->others;

	if (others == NULL)
	{
		entries->estate = CreateExecutorState();
		entries->others = others = makeNode(ResultRelInfo);
		InitResultRelInfo(others, entries->heap, 0, NULL, 0);
		others->ri_IndexRelationDescs = palloc(sizeof(Relation) * room);
		others->ri_IndexRelationInfo = palloc(sizeof(IndexInfo *) * room);
	}
	others->ri_IndexRelationDescs[others->ri_NumIndices] = index;
	others->ri_IndexRelationInfo[others->ri_NumIndices++] = BuildIndexInfo(index);
}

/*
 * Open the indexes of an open table, in the current memory context.  If "optimistic" is set,
 * insertions neither wait for a row with the same unique key nor fail.
 */
static YqIndexEntries *
index_entries_open(Relation heap, bool optimistic)
{
	YqIndexEntries *entries = palloc0(sizeof(YqIndexEntries));
	List	   *oids = RelationGetIndexList(heap);
	ListCell   *cell;

	entries->heap = heap;
	entries->optimistic = optimistic;
	entries->plain = palloc(sizeof(YqPlainIndex) * list_length(oids));
	foreach(cell, oids)
	{
		Relation	index = index_open(lfirst_oid(cell), RowExclusiveLock);

		if (!index->rd_index->indisready)
			index_close(index, NoLock);
		else if (plain_index_init(&entries->plain[entries->plain_count], index))
			entries->plain_count++;
		else
			add_other(entries, index, list_length(oids));
	}
	list_free(oids);
	return entries;
}

/* Make the BRIN entries of inserted rows, in the order of insertion. */
static void
index_entries_summarize(YqIndexEntries *entries, TupleTableSlot **slots, int count)
{
	for (int i = 0; i < entries->plain_count; i++)
	{
		if (entries->plain[i].is_brin)
			plain_index_summarize(&entries->plain[i], entries->heap, slots, count);
	}
}

/*
 * Make all other entries of an inserted row.  Returns true if the insertion is optimistic and the
 * row may be a duplicate.
 */
static bool
index_entries_insert(YqIndexEntries *entries, TupleTableSlot *slot)
{
	bool		may_conflict = false;

	for (int i = 0; i < entries->plain_count; i++)
	{
		if (!entries->plain[i].is_brin)
			may_conflict |= !plain_index_insert(&entries->plain[i], entries->heap, slot, entries->optimistic);
	}
	if (entries->others != NULL)
	{
		(void) ExecInsertIndexTuples(entries->others, slot, entries->estate, false,
									 entries->optimistic, &may_conflict, NIL, false);
		ResetPerTupleExprContext(entries->estate);
	}
	return may_conflict;
}

/* Close the indexes; their locks stay until the end of the transaction. */
static void
index_entries_close(YqIndexEntries *entries)
{
	for (int i = 0; i < entries->plain_count; i++)
	{
		index_insert_cleanup(entries->plain[i].index, entries->plain[i].info);
		index_close(entries->plain[i].index, NoLock);
	}
	if (entries->others != NULL)
	{
		ExecCloseIndices(entries->others);
		FreeExecutorState(entries->estate);
	}
}

/* -- bulk insert --------------------------------------------------------------- */

/*
 * Collected rows are heap tuples in a context that is reset at each flush.  The writer's capacity
 * therefore limits its memory.
 */

struct YqBulkInsert
{
	MemoryContext context;
	Relation	relation;
	TupleDesc	descriptor;		/* a copy if there are more than a few slots; each slot pins the
								 * descriptor of the relation, and releasing a pin searches all pins */
	YqIndexEntries *entries;
	bool		is_statement;	/* true if the triggers of the table fire for the rows */
	EState	   *estate;			/* executor state of the triggers */
	ResultRelInfo *result;		/* executor state of the triggers */
	TransitionCaptureState *transition; /* rows for AFTER triggers; NULL if no trigger needs them */
	MemoryContext row_context;	/* reset at each flush */
	int			column_count;
	Datum	   *values;			/* values of a row */
	bool	   *nulls;			/* true in columns that were dropped */
	int			capacity;
	bool		optimistic;
	int			count;
	int			slot_count;		/* number of slots that have been created */
	int			slot_room;
	TupleTableSlot **slots;
};

/* The number of slots that is enough for most statements. */
#define FEW_SLOTS 4

/* Prepare the arrays for rows with the columns that the caller knows.  Dropped columns keep their positions. */
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
				 errdetail("The library writes the table directly and expects its original %d columns.",
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
	writer->entries = index_entries_open(writer->relation, optimistic);
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

/* Add a slot. */
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

/*
 * Fire triggers and check constraints for a row.  Returns false when a trigger returns NULL, which
 * drops the row.
 */
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
		/* copy the tuple, because the tuple that a trigger returns is freed before the row is written */
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
	index_entries_summarize(writer->entries, writer->slots, writer->count);
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
	/* logical decoding skips speculative rows, but would send withdrawn rows to subscribers */
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
			index_entries_summarize(writer->entries, &slot, 1);
		}
		withdraws = is_taken(argument, row, &slot->tts_tid, index_entries_insert(writer->entries, slot));
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
		(void) index_entries_insert(writer->entries, writer->slots[i]);
		if (writer->is_statement)
		{
			ExecARInsertTriggers(writer->estate, writer->result, writer->slots[i], NIL, writer->transition);
			ResetPerTupleExprContext(writer->estate);
		}
	}
	forget_rows(writer);
}

/* End the statement by firing its AFTER triggers. */
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
	index_entries_close(writer->entries);
	table_close(writer->relation, NoLock);
	MemoryContextDelete(writer->row_context);
}
