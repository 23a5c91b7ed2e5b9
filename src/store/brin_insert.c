/*-------------------------------------------------------------------------
 *
 * brin_insert.c
 *	  Entries of appended rows in BRIN indexes, without those that add nothing.
 *
 * The first row of a page always gets its entry: a BRIN index with the option
 * autosummarize waits for it to begin a new range.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/brin_internal.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "store/brin_insert.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

struct YqBrinInsert
{
	Relation	heap;
	int			count;
	Relation   *indexes;
	IndexInfo **infos;
};

static bool
is_plain_brin(Relation index, const IndexInfo *info)
{
	if (index->rd_rel->relam != BRIN_AM_OID || info->ii_Predicate != NIL ||
		!info->ii_ReadyForInserts)
		return false;
	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
	{
		if (info->ii_IndexAttrNumbers[i] <= 0)
			return false;
	}
	return true;
}

YqBrinInsert *
yq_brin_insert_take(ResultRelInfo *result)
{
	YqBrinInsert *ranges;
	int			kept = 0;

	ranges = palloc(sizeof(YqBrinInsert));
	ranges->heap = result->ri_RelationDesc;
	ranges->count = 0;
	ranges->indexes = palloc(sizeof(Relation) * Max(result->ri_NumIndices, 1));
	ranges->infos = palloc(sizeof(IndexInfo *) * Max(result->ri_NumIndices, 1));
	for (int i = 0; i < result->ri_NumIndices; i++)
	{
		Relation	index = result->ri_IndexRelationDescs[i];
		IndexInfo  *info = result->ri_IndexRelationInfo[i];

		if (is_plain_brin(index, info))
		{
			ranges->indexes[ranges->count] = index;
			ranges->infos[ranges->count++] = info;
		}
		else
		{
			result->ri_IndexRelationDescs[kept] = index;
			result->ri_IndexRelationInfo[kept++] = info;
		}
	}
	result->ri_NumIndices = kept;
	return ranges->count > 0 ? ranges : NULL;
}

/* Mark rows that widen the summary of a column of instants. */
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

/* Mark rows that do not repeat the value of the row before. */
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

/* Make the entries of rows that are on one page. */
static void
insert_page(Relation heap, Relation index, IndexInfo *info, EState *estate,
			TupleTableSlot **slots, int count)
{
	bool		needed[MaxHeapTuplesPerPage] = {true};

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
	{
		AttrNumber	column = info->ii_IndexAttrNumbers[i];

		if (TupleDescAttr(RelationGetDescr(heap), column - 1)->atttypid == TIMESTAMPTZOID &&
			index_getprocid(index, i + 1, BRIN_PROCNUM_OPCINFO) == F_BRIN_MINMAX_OPCINFO)
			mark_extremes(slots, count, column, needed);
		else
			mark_changes(slots, count, column, needed);
	}
	for (int i = 0; i < count; i++)
	{
		Datum		values[INDEX_MAX_KEYS];
		bool		nulls[INDEX_MAX_KEYS];

		if (!needed[i])
			continue;
		FormIndexDatum(info, slots[i], estate, values, nulls);
		(void) index_insert(index, values, nulls, &slots[i]->tts_tid, heap,
							UNIQUE_CHECK_NO, false, info);
	}
}

void
yq_brin_insert_insert(YqBrinInsert *ranges, EState *estate,
					   TupleTableSlot **slots, int count)
{
	for (int first = 0, end = 0; first < count; first = end)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&slots[first]->tts_tid);

		while (end < count && ItemPointerGetBlockNumber(&slots[end]->tts_tid) == block)
			end++;
		for (int i = 0; i < ranges->count; i++)
			insert_page(ranges->heap, ranges->indexes[i], ranges->infos[i], estate,
						slots + first, end - first);
	}
}

void
yq_brin_insert_close(YqBrinInsert *ranges)
{
	for (int i = 0; i < ranges->count; i++)
	{
		index_insert_cleanup(ranges->indexes[i], ranges->infos[i]);
		index_close(ranges->indexes[i], NoLock);
	}
}
