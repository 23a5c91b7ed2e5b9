/*-------------------------------------------------------------------------
 *
 * index_entries.c
 *	  Entries of appended rows in the indexes of their table.
 *
 * The server's executor makes those of indexes that are not plain.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "base/plain_index.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "store/index_entries.h"

struct YqIndexEntries
{
	Relation	heap;
	bool		optimistic;
	int			plain_count;
	YqPlainIndex *plain;
	EState	   *estate;			/* NULL, as the next one, when all are plain */
	ResultRelInfo *others;
};

/* Leave an index to the executor. */
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

YqIndexEntries *
yq_index_entries_open(Relation heap, bool optimistic)
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
		else if (yq_plain_index_init(&entries->plain[entries->plain_count], index))
			entries->plain_count++;
		else
			add_other(entries, index, list_length(oids));
	}
	list_free(oids);
	return entries;
}

void
yq_index_entries_summarize(YqIndexEntries *entries, TupleTableSlot **slots, int count)
{
	for (int i = 0; i < entries->plain_count; i++)
	{
		if (entries->plain[i].is_brin)
			yq_plain_index_summarize(&entries->plain[i], entries->heap, slots, count);
	}
}

bool
yq_index_entries_insert(YqIndexEntries *entries, TupleTableSlot *slot)
{
	bool		may_conflict = false;

	for (int i = 0; i < entries->plain_count; i++)
	{
		if (!entries->plain[i].is_brin)
			may_conflict |= !yq_plain_index_insert(&entries->plain[i], entries->heap, slot, entries->optimistic);
	}
	if (entries->others != NULL)
	{
		(void) ExecInsertIndexTuples(entries->others, slot, entries->estate, false,
									 entries->optimistic, &may_conflict, NIL, false);
		ResetPerTupleExprContext(entries->estate);
	}
	return may_conflict;
}

void
yq_index_entries_close(YqIndexEntries *entries)
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
