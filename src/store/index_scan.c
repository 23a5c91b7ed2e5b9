/*-------------------------------------------------------------------------
 *
 * index_scan.c
 *	  Looking up rows of yquota's own tables by an index on one text column.
 *
 * SnapshotSelf is the server's "at this moment".  It may miss a row that
 * another transaction is replacing just now.  A caller that must not miss it
 * uses yq_index_scan_wait_for(), which scans with a dirty snapshot and waits.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "base/varlena.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/bloom_filter.h"
#include "store/claim.h"
#include "store/index_scan.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

/*
 * Looking for ascending keys by going forward in the index pays when many of
 * its entries are wanted.  After so many entries that are not, a new descent
 * is cheaper; and a descent for one key is cheaper still than one to go on
 * from, which reads a whole page.
 */
#define MERGE_MAX_STEPS 12

/* A descent to go on from is worth it when it serves so many keys. */
#define MERGE_MIN_KEYS 8

/* Keys looked for one by one at first, and when the last descent was not. */
#define FIRST_SINGLE_KEYS 16
#define MORE_SINGLE_KEYS 128

/* One table of those that a finder looks into. */
typedef struct FinderPart
{
	Relation	relation;
	YqBloomFilter *filter;		/* NULL when there is none */
	Relation	index;			/* opened when first needed, with scan and slot */
	IndexScanDesc scan;
	IndexScanDesc dirty_scan;	/* opened when first needed, as the next */
	IndexScanDesc merge_scan;
	text	   *merge_key;		/* that it began at */
	bool		is_positioned;	/* merge_scan is at an entry, or at its end */
	bool		at_end;
	TupleTableSlot *slot;
} FinderPart;

struct YqIndexScan
{
	MemoryContext context;		/* scans allocate lazily, and keep it */
	SnapshotData dirty_snapshot;
	int			single_keys;	/* so many are still looked for one by one */
	int			merged_keys;	/* since the last descent to go on from */
	int			current;		/* part that yq_index_scan_next() reads */
	const text *key;			/* that it looks for, when there are more */
	bool		has_filters;
	YqKeyHash	hash;			/* of the key, when there are filters */
	int			part_count;
	FinderPart *parts;			/* the table itself and its children */
};

/*
 * The index of a child that stands for one of its parent: a btree whose first
 * column is the same, in the same order.
 */
static Oid
index_of_child(Relation child, Relation parent_index)
{
	TupleDesc	descriptor = RelationGetDescr(parent_index);
	char	   *wanted = NameStr(TupleDescAttr(descriptor, 0)->attname);
	List	   *indexes = RelationGetIndexList(child);
	ListCell   *cell;
	Oid			found = InvalidOid;

	foreach(cell, indexes)
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);

		if (index->rd_rel->relam == BTREE_AM_OID && index->rd_index->indisvalid &&
			RelationGetIndexPredicate(index) == NIL &&
			index->rd_opfamily[0] == parent_index->rd_opfamily[0] &&
			index->rd_indcollation[0] == parent_index->rd_indcollation[0] &&
			index->rd_indoption[0] == parent_index->rd_indoption[0] &&
			strcmp(NameStr(TupleDescAttr(RelationGetDescr(index), 0)->attname), wanted) == 0)
			found = RelationGetRelid(index);
		index_close(index, AccessShareLock);
		if (OidIsValid(found))
			break;
	}
	list_free(indexes);
	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no index on column \"%s\"",
						RelationGetRelationName(child), wanted)));
	return found;
}

static void
open_index(FinderPart *part, Oid index)
{
	part->index = index_open(index, AccessShareLock);
	part->scan = index_beginscan(part->relation, part->index, SnapshotSelf, NULL, 1, 0);
	part->slot = table_slot_create(part->relation, NULL);
}

/* Whether a part has to be looked into for the present key; then its index is open. */
static bool
may_have(YqIndexScan *finder, FinderPart *part)
{
	if (part->filter != NULL && finder->key != NULL &&
		!yq_bloom_filter_may_have(part->filter, &finder->hash))
		return false;
	if (part->index == NULL)
	{
		MemoryContext old_context = MemoryContextSwitchTo(finder->context);

		open_index(part, index_of_child(part->relation, finder->parts[0].index));
		MemoryContextSwitchTo(old_context);
	}
	return true;
}

static void
set_scan_key(YqIndexScan *finder, const text *key)
{
	finder->key = key;
	if (finder->has_filters && key != NULL)
		finder->hash = yq_bloom_filter_hash(key);
}

YqIndexScan *
yq_index_scan_open(YqTable table, const char *index_name)
{
	YqIndexScan   *finder = palloc0(sizeof(YqIndexScan));
	Relation	relation = yq_table_open(table, RowExclusiveLock);
	List	   *children = NIL;
	ListCell   *cell;

	if (relation->rd_rel->relhassubclass)
		children = find_inheritance_children(RelationGetRelid(relation), AccessShareLock);
	finder->context = CurrentMemoryContext;
	finder->single_keys = FIRST_SINGLE_KEYS;
	finder->parts = palloc0(sizeof(FinderPart) * (1 + list_length(children)));
	finder->parts[finder->part_count].relation = relation;
	open_index(&finder->parts[finder->part_count++], yq_index_oid(table, index_name));
	foreach(cell, children)
	{
		FinderPart *part = &finder->parts[finder->part_count++];

		part->relation = table_open(lfirst_oid(cell), NoLock);
		part->filter = yq_bloom_filter_open(part->relation);
		finder->has_filters |= part->filter != NULL;
	}
	return finder;
}

static void
close_part(FinderPart *part)
{
	if (part->filter != NULL)
		yq_bloom_filter_close(part->filter);
	if (part->index != NULL)
	{
		index_endscan(part->scan);
		if (part->dirty_scan != NULL)
			index_endscan(part->dirty_scan);
		if (part->merge_scan != NULL)
			index_endscan(part->merge_scan);
		ExecDropSingleTupleTableSlot(part->slot);
		index_close(part->index, AccessShareLock);
	}
	table_close(part->relation, NoLock);
}

void
yq_index_scan_close(YqIndexScan *finder)
{
	for (int i = 0; i < finder->part_count; i++)
		close_part(&finder->parts[i]);
}

Relation
yq_index_scan_relation(YqIndexScan *finder)
{
	return finder->parts[0].relation;
}

static void
rescan(YqIndexScan *finder, IndexScanDesc scan, const text *key, StrategyNumber strategy)
{
	MemoryContext old_context = MemoryContextSwitchTo(finder->context);
	ScanKeyData scan_key;

	if (key == NULL)
		/* the scan was made for one key: look for any that is not null */
		ScanKeyEntryInitialize(&scan_key, SK_ISNULL | SK_SEARCHNOTNULL, 1, InvalidStrategy,
							   InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
	else
		ScanKeyEntryInitialize(&scan_key, 0, 1, strategy, InvalidOid, C_COLLATION_OID,
							   strategy == BTEqualStrategyNumber ? F_TEXTEQ : F_TEXT_GE,
							   PointerGetDatum(key));
	index_rescan(scan, &scan_key, 1, NULL, 0);
	MemoryContextSwitchTo(old_context);
}

static bool
get_next(YqIndexScan *finder, FinderPart *part, IndexScanDesc scan)
{
	MemoryContext old_context = MemoryContextSwitchTo(finder->context);
	bool		found = index_getnext_slot(scan, ForwardScanDirection, part->slot);

	MemoryContextSwitchTo(old_context);
	return found;
}

void
yq_index_scan_seek(YqIndexScan *finder, const text *key)
{
	finder->current = 0;
	set_scan_key(finder, key);
	rescan(finder, finder->parts[0].scan, key, BTEqualStrategyNumber);
}

/* Put the next row into the slot of the current part; false at the end. */
static bool
find_next(YqIndexScan *finder)
{
	FinderPart *part = &finder->parts[finder->current];

	while (!get_next(finder, part, part->scan))
	{
		do
		{
			if (finder->current == finder->part_count - 1)
				return false;
			part = &finder->parts[++finder->current];
		} while (!may_have(finder, part));
		rescan(finder, part->scan, finder->key, BTEqualStrategyNumber);
	}
	return true;
}

TupleTableSlot *
yq_index_scan_next(YqIndexScan *finder)
{
	return find_next(finder) ? finder->parts[finder->current].slot : NULL;
}

/* -- ascending keys ------------------------------------------------------ */

/* Go to the next entry of the merge scan. */
static void
advance(YqIndexScan *finder, FinderPart *part)
{
	MemoryContext old_context = MemoryContextSwitchTo(finder->context);

	part->at_end = (index_getnext_tid(part->merge_scan, ForwardScanDirection) == NULL);
	MemoryContextSwitchTo(old_context);
}

/* Go to the first entry whose key is not before "key". */
static void
descend(YqIndexScan *finder, FinderPart *part, const text *key)
{
	MemoryContext old_context = MemoryContextSwitchTo(finder->context);

	if (part->merge_scan == NULL)
	{
		part->merge_scan = index_beginscan(part->relation, part->index, SnapshotSelf,
										   NULL, 1, 0);
		part->merge_scan->xs_want_itup = true;
	}
	else
		pfree(part->merge_key);
	part->merge_key = cstring_to_text_with_len(VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key));
	MemoryContextSwitchTo(old_context);
	rescan(finder, part->merge_scan, part->merge_key, BTGreaterEqualStrategyNumber);
	part->is_positioned = true;
	advance(finder, part);
}

/*
 * Order of the entry that the merge scan is at and a key.  Long keys may be
 * compressed in the index.
 */
static int
compare_entry(const FinderPart *part, const text *key)
{
	bool		isnull;
	text	   *stored = (text *)
		DatumGetPointer(index_getattr(part->merge_scan->xs_itup, 1,
									  RelationGetDescr(part->index), &isnull));
	text	   *entry = pg_detoast_datum_packed(stored);
	int			order = yq_varlena_compare(entry, key);

	if (entry != stored)
		pfree(entry);
	return order;
}

/* Go forward to a key; true when there is a row, which is then in the slot. */
static bool
merge_part(YqIndexScan *finder, FinderPart *part, const text *key)
{
	int			steps = 0;

	if (!part->is_positioned)
	{
		descend(finder, part, key);
		finder->merged_keys = 0;
	}
	while (!part->at_end)
	{
		int			order = compare_entry(part, key);

		if (order > 0)
			return false;
		if (order == 0)
		{
			MemoryContext old_context = MemoryContextSwitchTo(finder->context);
			bool		found = index_fetch_heap(part->merge_scan, part->slot);

			MemoryContextSwitchTo(old_context);
			if (found)
				return true;
		}
		if (order < 0 && ++steps > MERGE_MAX_STEPS)
		{
			if (finder->merged_keys < MERGE_MIN_KEYS)
				finder->single_keys = MORE_SINGLE_KEYS;
			descend(finder, part, key);
			steps = finder->merged_keys = 0;
		}
		else
			advance(finder, part);
	}
	return false;
}

void
yq_index_scan_restart(YqIndexScan *finder)
{
	for (int i = 0; i < finder->part_count; i++)
		finder->parts[i].is_positioned = false;
}

TupleTableSlot *
yq_index_scan_advance(YqIndexScan *finder, const text *key)
{
	if (finder->single_keys > 0)
	{
		finder->single_keys--;
		yq_index_scan_restart(finder);
		yq_index_scan_seek(finder, key);
		return yq_index_scan_next(finder);
	}
	finder->merged_keys++;
	set_scan_key(finder, key);
	for (int i = 0; i < finder->part_count; i++)
	{
		FinderPart *part = &finder->parts[i];

		if (may_have(finder, part) && merge_part(finder, part, key))
			return part->slot;
	}
	return NULL;
}

/* -- other transactions -------------------------------------------------- */

static void
open_dirty_scan(YqIndexScan *finder)
{
	MemoryContext old_context;
	FinderPart *part = &finder->parts[0];

	if (part->dirty_scan != NULL)
		return;
	old_context = MemoryContextSwitchTo(finder->context);
	InitDirtySnapshot(finder->dirty_snapshot);
	part->dirty_scan = index_beginscan(part->relation, part->index,
									   &finder->dirty_snapshot, NULL, 1, 0);
	MemoryContextSwitchTo(old_context);
}

/* The next row of the dirty scan that counts; false at the end. */
static bool
get_next_dirty(YqIndexScan *finder, FinderPart *part)
{
	while (get_next(finder, part, part->dirty_scan))
	{
		if (!yq_claim_is_withdrawn(part->slot))
			return true;
	}
	return false;
}

bool
yq_index_scan_is_taken(YqIndexScan *finder, const text *key, ItemPointer except)
{
	FinderPart *part = &finder->parts[0];
	bool		taken = false;

	open_dirty_scan(finder);
	rescan(finder, part->dirty_scan, key, BTEqualStrategyNumber);
	while (!taken && get_next_dirty(finder, part))
		taken = !ItemPointerEquals(&part->slot->tts_tid, except);
	ExecClearTuple(part->slot);
	return taken;
}

bool
yq_index_scan_is_ours(YqIndexScan *finder, const text *key)
{
	FinderPart *part = &finder->parts[0];
	IndexScanDesc scan = index_beginscan(part->relation, part->index, SnapshotAny, NULL, 1, 0);
	bool		ours = false;

	rescan(finder, scan, key, BTEqualStrategyNumber);
	while (!ours && get_next(finder, part, scan))
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(part->slot, false, NULL);

		ours = !yq_claim_is_withdrawn(part->slot) &&
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	}
	ExecClearTuple(part->slot);
	index_endscan(scan);
	return ours;
}

TupleTableSlot *
yq_index_scan_wait_for(YqIndexScan *finder, const text *key)
{
	FinderPart *part = &finder->parts[0];

	/*
	 * With a row in place, a transaction that inserts another one is about to
	 * withdraw it and may be waiting for this one.  A transaction that changes
	 * the row waits for one that deletes it.
	 */
	yq_index_scan_seek(finder, key);
	if (find_next(finder))
		return finder->parts[finder->current].slot;

	open_dirty_scan(finder);
	for (;;)
	{
		TransactionId busy;

		CHECK_FOR_INTERRUPTS();
		rescan(finder, part->dirty_scan, key, BTEqualStrategyNumber);
		if (!get_next_dirty(finder, part))
			return NULL;
		busy = TransactionIdIsValid(finder->dirty_snapshot.xmin) ?
			finder->dirty_snapshot.xmin : finder->dirty_snapshot.xmax;
		if (!TransactionIdIsValid(busy))
			return part->slot;

		/* A transaction that came second is about to withdraw its row. */
		if (yq_index_scan_is_ours(finder, key))
			return NULL;

		/* Let go of the buffer before waiting. */
		ExecClearTuple(part->slot);
		rescan(finder, part->dirty_scan, key, BTEqualStrategyNumber);
		XactLockTableWait(busy, NULL, NULL, XLTW_None);
	}
}
