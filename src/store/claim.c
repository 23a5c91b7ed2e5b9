/*-------------------------------------------------------------------------
 *
 * claim.c
 *	  Deleting and locking single rows that an index scan has found.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "access/htup_details.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/tuptable.h"
#include "store/claim.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

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

/* Lock a row as it is at this moment. */
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
