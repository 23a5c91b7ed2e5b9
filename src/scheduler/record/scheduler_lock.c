/*-------------------------------------------------------------------------
 *
 * scheduler_lock.c
 *	  The scheduler's lock: one allocation cycle at a time.
 *
 * It is an object lock of yquota.application, as pg_locks shows it: a lock of
 * the table itself would keep autovacuum away.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/queue_lock.h"
#include "miscadmin.h"
#include "scheduler/record/scheduler_lock.h"
#include "storage/lmgr.h"
#include "store/catalog.h"

static LockAcquireResult
acquire(LOCKMODE mode, bool does_not_wait)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, yq_table_oid(YQ_APPLICATION), 0, 0);
	return LockAcquire(&tag, mode, false, does_not_wait);
}

void
yq_scheduler_lock(LOCKMODE mode)
{
	(void) acquire(mode, false);
}

bool
yq_scheduler_try_lock(LOCKMODE mode)
{
	return acquire(mode, true) != LOCKACQUIRE_NOT_AVAIL;
}

void
yq_scheduler_lock_leaves(const YqHierarchy *hierarchy)
{
	YqQueueLocks locks = {NIL};

	for (int i = 0; i < hierarchy->queue_count; i++)
	{
		if (hierarchy->queues[i]->kind == YQ_QUEUE_LEAF && !hierarchy->queues[i]->is_vacant)
			yq_queue_locks_add(&locks, YQ_LOCK_LEAF, hierarchy->queues[i]->path);
	}
	yq_queue_locks_take(&locks);
}

void
yq_scheduler_lock_events(void)
{
	LockRelationOid(yq_table_oid(YQ_CONTAINER_EVENT), RowExclusiveLock);
}
