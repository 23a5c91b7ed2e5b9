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
rescan(IndexScanDesc scan, const text *key)
{
	ScanKeyData scan_key;

	if (key == NULL)
	{
		/* the scan was made for one key: look for any that is not null */
		ScanKeyEntryInitialize(&scan_key, SK_ISNULL | SK_SEARCHNOTNULL, 1, InvalidStrategy,
							   InvalidOid, InvalidOid, InvalidOid, (Datum) 0);
		index_rescan(scan, &scan_key, 1, NULL, 0);
		return;
	}
	ScanKeyEntryInitialize(&scan_key, 0, 1, BTEqualStrategyNumber, InvalidOid,
						   C_COLLATION_OID, F_TEXTEQ, PointerGetDatum(key));
	index_rescan(scan, &scan_key, 1, NULL, 0);
}

void
yq_finder_seek(YqFinder *finder, const text *key)
{
	rescan(finder->scan, key);
}

TupleTableSlot *
yq_finder_next(YqFinder *finder)
{
	if (!index_getnext_slot(finder->scan, ForwardScanDirection, finder->slot))
		return NULL;
	return finder->slot;
}

TupleTableSlot *
yq_finder_wait_for(YqFinder *finder, const text *key)
{
	if (finder->dirty_scan == NULL)
	{
		InitDirtySnapshot(finder->dirty_snapshot);
		finder->dirty_scan = index_beginscan(finder->relation, finder->index,
											 &finder->dirty_snapshot, NULL, 1, 0);
	}

	for (;;)
	{
		TransactionId busy = InvalidTransactionId;

		CHECK_FOR_INTERRUPTS();
		rescan(finder->dirty_scan, key);
		while (index_getnext_slot(finder->dirty_scan, ForwardScanDirection, finder->slot))
		{
			busy = TransactionIdIsValid(finder->dirty_snapshot.xmin) ?
				finder->dirty_snapshot.xmin : finder->dirty_snapshot.xmax;
			if (!TransactionIdIsValid(busy))
				return finder->slot;
			break;
		}
		if (!TransactionIdIsValid(busy))
			return NULL;

		/* Let go of the buffer before waiting. */
		ExecClearTuple(finder->slot);
		rescan(finder->dirty_scan, key);
		XactLockTableWait(busy, NULL, NULL, XLTW_None);
	}
}
