/*-------------------------------------------------------------------------
 *
 * finder.c
 *	  Looking up rows of yquota's own tables by an index on one text column.
 *
 * SnapshotSelf is what "at this moment" means to the server.  It may miss a
 * row that another transaction is replacing just now; who must not miss it
 * uses yq_finder_wait_for(), which looks with a dirty snapshot and waits.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/tableam.h"
#include "base/finder.h"
#include "catalog/pg_collation_d.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

struct YqFinder
{
	MemoryContext context;		/* scans allocate lazily, and keep it */
	Relation	relation;
	Relation	index;
	IndexScanDesc scan;
	IndexScanDesc dirty_scan;	/* opened when first needed */
	SnapshotData dirty_snapshot;
	TupleTableSlot *slot;
};

YqFinder *
yq_finder_open(YqTable table, const char *index_name)
{
	YqFinder   *finder = palloc0(sizeof(YqFinder));

	finder->context = CurrentMemoryContext;
	finder->relation = yq_table_open(table, RowExclusiveLock);
	finder->index = index_open(yq_index_oid(table, index_name), AccessShareLock);
	finder->scan = index_beginscan(finder->relation, finder->index, SnapshotSelf, NULL, 1, 0);
	finder->slot = table_slot_create(finder->relation, NULL);
	return finder;
}

void
yq_finder_close(YqFinder *finder)
{
	index_endscan(finder->scan);
	if (finder->dirty_scan != NULL)
		index_endscan(finder->dirty_scan);
	ExecDropSingleTupleTableSlot(finder->slot);
	index_close(finder->index, AccessShareLock);
	table_close(finder->relation, NoLock);
}

Relation
yq_finder_relation(YqFinder *finder)
{
	return finder->relation;
}

static void
rescan(YqFinder *finder, IndexScanDesc scan, const text *key)
{
	MemoryContext old_context = MemoryContextSwitchTo(finder->context);
	ScanKeyData scan_key;

	if (key == NULL)
		/* the scan was made for one key: look for any that is not null */
		ScanKeyEntryInitialize(&scan_key, SK_ISNULL | SK_SEARCHNOTNULL, 1, InvalidStrategy,
							   InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
	else
		ScanKeyEntryInitialize(&scan_key, 0, 1, BTEqualStrategyNumber, InvalidOid,
							   C_COLLATION_OID, F_TEXTEQ, PointerGetDatum(key));
	index_rescan(scan, &scan_key, 1, NULL, 0);
	MemoryContextSwitchTo(old_context);
}

static bool
get_next(YqFinder *finder, IndexScanDesc scan)
{
	MemoryContext old_context = MemoryContextSwitchTo(finder->context);
	bool		found = index_getnext_slot(scan, ForwardScanDirection, finder->slot);

	MemoryContextSwitchTo(old_context);
	return found;
}

void
yq_finder_seek(YqFinder *finder, const text *key)
{
	rescan(finder, finder->scan, key);
}

TupleTableSlot *
yq_finder_next(YqFinder *finder)
{
	return get_next(finder, finder->scan) ? finder->slot : NULL;
}

static void
open_dirty_scan(YqFinder *finder)
{
	MemoryContext old_context;

	if (finder->dirty_scan != NULL)
		return;
	old_context = MemoryContextSwitchTo(finder->context);
	InitDirtySnapshot(finder->dirty_snapshot);
	finder->dirty_scan = index_beginscan(finder->relation, finder->index,
										 &finder->dirty_snapshot, NULL, 1, 0);
	MemoryContextSwitchTo(old_context);
}

bool
yq_finder_is_taken(YqFinder *finder, const text *key)
{
	bool		taken;

	open_dirty_scan(finder);
	rescan(finder, finder->dirty_scan, key);
	taken = get_next(finder, finder->dirty_scan);
	ExecClearTuple(finder->slot);
	return taken;
}

TupleTableSlot *
yq_finder_wait_for(YqFinder *finder, const text *key)
{
	/*
	 * With a row in place, whoever inserts another one is about to withdraw
	 * it and may be waiting for us; and whoever deletes this one is waited
	 * for by who changes it.
	 */
	yq_finder_seek(finder, key);
	if (yq_finder_next(finder) != NULL)
		return finder->slot;

	open_dirty_scan(finder);
	for (;;)
	{
		TransactionId busy;

		CHECK_FOR_INTERRUPTS();
		rescan(finder, finder->dirty_scan, key);
		if (!get_next(finder, finder->dirty_scan))
			return NULL;
		busy = TransactionIdIsValid(finder->dirty_snapshot.xmin) ?
			finder->dirty_snapshot.xmin : finder->dirty_snapshot.xmax;
		if (!TransactionIdIsValid(busy))
			return finder->slot;

		/* Let go of the buffer before waiting. */
		ExecClearTuple(finder->slot);
		rescan(finder, finder->dirty_scan, key);
		XactLockTableWait(busy, NULL, NULL, XLTW_None);
	}
}
