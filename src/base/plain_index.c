/*-------------------------------------------------------------------------
 *
 * plain_index.c
 *	  Entries of appended rows in an index, without an executor's state.
 *
 * The first row of a page always gets its BRIN entry: an index with the option
 * autosummarize waits for it to begin a new range.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/brin_internal.h"
#include "access/htup_details.h"
#include "base/plain_index.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/relcache.h"
#include "utils/timestamp.h"

/* What access methods read of it; BuildIndexInfo() looks up options, too, which is dear. */
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

/* Whether a condition is that a column is null, or is not. */
static bool
is_null_test(List *condition)
{
	const NullTest *test = linitial(condition);

	return list_length(condition) == 1 && IsA(test, NullTest) && !test->argisrow &&
		IsA(test->arg, Var) && ((const Var *) test->arg)->varattno > 0;
}

bool
yq_plain_index_init(YqPlainIndex *plain, Relation index)
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

bool
yq_plain_index_insert(const YqPlainIndex *plain, Relation heap, TupleTableSlot *slot, bool optimistic)
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

void
yq_plain_index_summarize(const YqPlainIndex *plain, Relation heap, TupleTableSlot **slots, int count)
{
	for (int first = 0, end = 0; first < count; first = end)
	{
		BlockNumber block = ItemPointerGetBlockNumber(&slots[first]->tts_tid);

		while (end < count && ItemPointerGetBlockNumber(&slots[end]->tts_tid) == block)
			end++;
		summarize_page(plain, heap, slots + first, end - first);
	}
}
