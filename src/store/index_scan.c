/*-------------------------------------------------------------------------
 *
 * index_scan.c
 *	  Looks up rows of yquota's own tables by an index on one text column.
 *
 * SnapshotSelf shows rows as they are at this moment.  It may miss a row that another transaction
 * is replacing at the same time.  A caller that must not miss such a row uses
 * yq_index_scan_wait_for(), which scans with a dirty snapshot and waits.
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
#include "base/bytes_table.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "store/bloom_filter.h"
#include "store/index_scan.h"
#include "store/row_update.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

/*
 * Limits for the choice between walking forward in the index and a new descent, for ascending keys.
 * Walking forward is cheaper if the caller wants many of the entries that are passed.  After this
 * many entries that are not wanted, a new descent is cheaper.  A descent that prepares to walk
 * reads a whole page, so a descent for a single key is cheaper still.
 */
#define MERGE_MAX_STEPS 12

/* A descent that prepares to walk is worth its cost if it serves this many keys. */
#define MERGE_MIN_KEYS 8

/*
 * Numbers of keys that are looked up one by one: at the start of a scan, and after a walk that
 * served too few keys.
 */
#define FIRST_SINGLE_KEYS 16
#define MORE_SINGLE_KEYS 128

/* A table that is searched. */
typedef struct ScanPart
{
	Relation	relation;
	Relation	index;
	IndexScanDesc descriptor;
	IndexScanDesc dirty_scan;	/* opened when first needed */
	IndexScanDesc merge_scan;	/* opened when first needed */
	text	   *merge_key;		/* key from which merge_scan started */
	bool		is_positioned;	/* false until merge_scan has moved to an entry or to the end */
	bool		at_end;
	TupleTableSlot *slot;
} ScanPart;

struct YqIndexScan
{
	MemoryContext context;		/* memory context in which the scans allocate memory when they need it */
	SnapshotData dirty_snapshot;
	int			single_keys;	/* number of keys that still have to be looked up one by one */
	int			merged_keys;	/* number of keys since the last descent that prepared to walk */
	int			current;		/* table that yq_index_scan_next() reads */
	const text *key;			/* key that is looked up in the other tables */
	YqBloomFilter *filter;		/* filter of the keys in the children; NULL if there is none */
	int			part_count;
	ScanPart *parts;			/* the table itself; when its children are needed, they follow */
};

/*
 * Find the index of a child that corresponds to an index of its parent.  The child's index is a
 * btree with the same first column and order.
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
open_index(ScanPart *part, Oid index)
{
	part->index = index_open(index, AccessShareLock);
	part->descriptor = index_beginscan(part->relation, part->index, SnapshotSelf, NULL, 1, 0);
	part->slot = table_slot_create(part->relation, NULL);
}

/* Open the newest child first, because repeated events usually concern the newest child. */
static void
open_children(YqIndexScan *scan)
{
	MemoryContext old_context = MemoryContextSwitchTo(scan->context);
	List	   *children = find_inheritance_children(RelationGetRelid(scan->parts[0].relation), AccessShareLock);

	scan->parts = repalloc(scan->parts, sizeof(ScanPart) * (1 + list_length(children)));
	for (int i = list_length(children) - 1; i >= 0; i--)
	{
		ScanPart   *part = &scan->parts[scan->part_count++];

		*part = (ScanPart) {.relation = table_open(list_nth_oid(children, i), NoLock)};
		open_index(part, index_of_child(part->relation, scan->parts[0].index));
	}
	MemoryContextSwitchTo(old_context);
}

/* If the children must be searched for the present key, open them.  Returns whether they must be searched. */
static bool
children_may_have(YqIndexScan *scan)
{
	if (!scan->parts[0].relation->rd_rel->relhassubclass ||
		(scan->filter != NULL && scan->key != NULL && !yq_bloom_filter_may_have(scan->filter, scan->key)))
		return false;
	if (scan->part_count == 1)
		open_children(scan);
	return true;
}

YqIndexScan *
yq_index_scan_open(YqTable table, const char *index_name)
{
	YqIndexScan *scan = palloc0(sizeof(YqIndexScan));
	Relation	relation = yq_table_open(table, RowExclusiveLock);

	scan->context = CurrentMemoryContext;
	scan->single_keys = FIRST_SINGLE_KEYS;
	scan->parts = palloc0(sizeof(ScanPart));
	scan->parts[scan->part_count].relation = relation;
	open_index(&scan->parts[scan->part_count++], yq_index_oid(table, index_name));
	if (relation->rd_rel->relhassubclass && table == YQ_CHARGE)
		scan->filter = yq_bloom_filter_open();
	return scan;
}

static void
close_part(ScanPart *part)
{
	index_endscan(part->descriptor);
	if (part->dirty_scan != NULL)
		index_endscan(part->dirty_scan);
	if (part->merge_scan != NULL)
		index_endscan(part->merge_scan);
	ExecDropSingleTupleTableSlot(part->slot);
	index_close(part->index, AccessShareLock);
	table_close(part->relation, NoLock);
}

void
yq_index_scan_close(YqIndexScan *scan)
{
	if (scan == NULL)
		return;
	for (int i = 0; i < scan->part_count; i++)
		close_part(&scan->parts[i]);
	if (scan->filter != NULL)
		yq_bloom_filter_close(scan->filter);
}

Relation
yq_index_scan_relation(YqIndexScan *scan)
{
	return scan->parts[0].relation;
}

static void
rescan(YqIndexScan *scan, IndexScanDesc descriptor, const text *key, StrategyNumber strategy)
{
	MemoryContext old_context = MemoryContextSwitchTo(scan->context);
	ScanKeyData scan_key;

	if (key == NULL)
		/* the scan was prepared for a single key; search for any key that is not null instead */
		ScanKeyEntryInitialize(&scan_key, SK_ISNULL | SK_SEARCHNOTNULL, 1, InvalidStrategy,
							   InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
	else
		ScanKeyEntryInitialize(&scan_key, 0, 1, strategy, InvalidOid, C_COLLATION_OID,
							   strategy == BTEqualStrategyNumber ? F_TEXTEQ : F_TEXT_GE,
							   PointerGetDatum(key));
	index_rescan(descriptor, &scan_key, 1, NULL, 0);
	MemoryContextSwitchTo(old_context);
}

static bool
get_next(YqIndexScan *scan, ScanPart *part, IndexScanDesc descriptor)
{
	MemoryContext old_context = MemoryContextSwitchTo(scan->context);
	bool		found = index_getnext_slot(descriptor, ForwardScanDirection, part->slot);

	MemoryContextSwitchTo(old_context);
	return found;
}

void
yq_index_scan_seek(YqIndexScan *scan, const text *key)
{
	scan->current = 0;
	scan->key = key;
	rescan(scan, scan->parts[0].descriptor, key, BTEqualStrategyNumber);
}

/* Put the next row into the slot of the current table.  Returns false at the end. */
static bool
find_next(YqIndexScan *scan)
{
	ScanPart *part = &scan->parts[scan->current];

	while (!get_next(scan, part, part->descriptor))
	{
		CHECK_FOR_INTERRUPTS();
		if ((scan->current == 0 && !children_may_have(scan)) || scan->current == scan->part_count - 1)
			return false;
		part = &scan->parts[++scan->current];
		rescan(scan, part->descriptor, scan->key, BTEqualStrategyNumber);
	}
	return true;
}

TupleTableSlot *
yq_index_scan_next(YqIndexScan *scan)
{
	return find_next(scan) ? scan->parts[scan->current].slot : NULL;
}

TupleTableSlot *
yq_index_scan_find(YqIndexScan *scan, const text *key)
{
	yq_index_scan_seek(scan, key);
	return yq_index_scan_next(scan);
}

/* -- ascending keys ------------------------------------------------------ */

/*
 * Go to the next entry of the merge scan.  This function and the following ones run in the memory
 * context of the scan.
 */
static void
advance(ScanPart *part)
{
	part->at_end = (index_getnext_tid(part->merge_scan, ForwardScanDirection) == NULL);
}

/* Go to the first entry whose key is at least "key". */
static void
descend(YqIndexScan *scan, ScanPart *part, const text *key)
{
	if (part->merge_scan == NULL)
	{
		part->merge_scan = index_beginscan(part->relation, part->index, SnapshotSelf,
										   NULL, 1, 0);
		part->merge_scan->xs_want_itup = true;
	}
	else
		pfree(part->merge_key);
	part->merge_key = cstring_to_text_with_len(VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key));
	rescan(scan, part->merge_scan, part->merge_key, BTGreaterEqualStrategyNumber);
	part->is_positioned = true;
	advance(part);
}

/* Compare the present entry of the merge scan with a key.  The index may compress long keys. */
static int
compare_entry(const ScanPart *part, const text *key)
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

/* Walk forward to a key.  Returns true when there is a row, which is then in the slot. */
static bool
merge_part(YqIndexScan *scan, ScanPart *part, const text *key)
{
	int			steps = 0;

	if (!part->is_positioned)
	{
		descend(scan, part, key);
		scan->merged_keys = 0;
	}
	while (!part->at_end)
	{
		int			order = compare_entry(part, key);

		CHECK_FOR_INTERRUPTS();
		if (order > 0)
			return false;
		if (order == 0 && index_fetch_heap(part->merge_scan, part->slot))
			return true;
		if (order < 0 && ++steps > MERGE_MAX_STEPS)
		{
			if (scan->merged_keys < MERGE_MIN_KEYS)
				scan->single_keys = MORE_SINGLE_KEYS;
			descend(scan, part, key);
			steps = scan->merged_keys = 0;
		}
		else
			advance(part);
	}
	return false;
}

void
yq_index_scan_restart(YqIndexScan *scan)
{
	for (int i = 0; scan != NULL && i < scan->part_count; i++)
		scan->parts[i].is_positioned = false;
}

TupleTableSlot *
yq_index_scan_advance(YqIndexScan *scan, const text *key)
{
	MemoryContext old_context;
	TupleTableSlot *found;

	if (scan->single_keys > 0)
	{
		scan->single_keys--;
		yq_index_scan_restart(scan);
		return yq_index_scan_find(scan, key);
	}
	old_context = MemoryContextSwitchTo(scan->context);
	scan->merged_keys++;
	scan->key = key;
	found = merge_part(scan, &scan->parts[0], key) ? scan->parts[0].slot : NULL;
	if (found == NULL && children_may_have(scan))
	{
		for (int i = 1; found == NULL && i < scan->part_count; i++)
			found = merge_part(scan, &scan->parts[i], key) ? scan->parts[i].slot : NULL;
	}
	MemoryContextSwitchTo(old_context);
	return found;
}

/* -- other transactions -------------------------------------------------- */

static void
open_dirty_scan(YqIndexScan *scan)
{
	MemoryContext old_context;
	ScanPart *part = &scan->parts[0];

	if (part->dirty_scan != NULL)
		return;
	old_context = MemoryContextSwitchTo(scan->context);
	InitDirtySnapshot(scan->dirty_snapshot);
	part->dirty_scan = index_beginscan(part->relation, part->index,
									   &scan->dirty_snapshot, NULL, 1, 0);
	MemoryContextSwitchTo(old_context);
}

/* Find the next row of the dirty scan that is not withdrawn.  Returns false at the end. */
static bool
get_next_dirty(YqIndexScan *scan, ScanPart *part)
{
	while (get_next(scan, part, part->dirty_scan))
	{
		CHECK_FOR_INTERRUPTS();
		if (!yq_claim_is_withdrawn(part->slot))
			return true;
	}
	return false;
}

bool
yq_index_scan_is_taken(YqIndexScan *scan, const text *key, ItemPointer except)
{
	ScanPart *part = &scan->parts[0];
	bool		taken = false;

	open_dirty_scan(scan);
	rescan(scan, part->dirty_scan, key, BTEqualStrategyNumber);
	while (!taken && get_next_dirty(scan, part))
		taken = !ItemPointerEquals(&part->slot->tts_tid, except);
	ExecClearTuple(part->slot);
	return taken;
}

bool
yq_index_scan_is_ours(YqIndexScan *scan, const text *key)
{
	ScanPart *part = &scan->parts[0];
	IndexScanDesc descriptor = index_beginscan(part->relation, part->index, SnapshotAny, NULL, 1, 0);
	bool		ours = false;

	rescan(scan, descriptor, key, BTEqualStrategyNumber);
	while (!ours && get_next(scan, part, descriptor))
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(part->slot, false, NULL);

		CHECK_FOR_INTERRUPTS();
		ours = !yq_claim_is_withdrawn(part->slot) &&
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	}
	ExecClearTuple(part->slot);
	index_endscan(descriptor);
	return ours;
}

TupleTableSlot *
yq_index_scan_wait_for(YqIndexScan *scan, const text *key)
{
	ScanPart *part = &scan->parts[0];

	/*
	 * Return an existing row without waiting for a transaction that inserts another row with the
	 * same key.  The other transaction will withdraw its row, and may be waiting for this
	 * transaction.  If another transaction is deleting the existing row, the caller will wait for
	 * that transaction when it changes the row.
	 */
	yq_index_scan_seek(scan, key);
	if (find_next(scan))
		return scan->parts[scan->current].slot;

	open_dirty_scan(scan);
	for (;;)
	{
		TransactionId busy;

		CHECK_FOR_INTERRUPTS();
		rescan(scan, part->dirty_scan, key, BTEqualStrategyNumber);
		if (!get_next_dirty(scan, part))
			return NULL;
		busy = TransactionIdIsValid(scan->dirty_snapshot.xmin) ?
			scan->dirty_snapshot.xmin : scan->dirty_snapshot.xmax;
		if (!TransactionIdIsValid(busy))
			return part->slot;

		/* return no row: this transaction has the key, so the other transaction will withdraw its row */
		if (yq_index_scan_is_ours(scan, key))
			return NULL;

		/* Release the buffer before waiting. */
		ExecClearTuple(part->slot);
		rescan(scan, part->dirty_scan, key, BTEqualStrategyNumber);
		XactLockTableWait(busy, NULL, NULL, XLTW_None);
	}
}
