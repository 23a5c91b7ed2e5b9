/*-------------------------------------------------------------------------
 *
 * scheduler_lock.h
 *	  The scheduler's lock: one allocation cycle at a time.
 *
 * A cycle holds the lock alone until its transaction ends, so that the next one
 * sees all its decisions.  Transactions that change requests share it, but
 * never with a cycle.  A transaction that changes or removes a node holds it
 * alone, too.  The lock is taken before the locks of queue_lock.h; containers
 * start and finish without it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_LOCK_H
#define YQ_SCHEDULER_LOCK_H

#include "base/compat.h"
#include "queues/hierarchy.h"
#include "storage/lockdefs.h"

/* ExclusiveLock for a cycle or a change of nodes, ShareLock for changes of requests. */
extern void yq_scheduler_lock(LOCKMODE mode);

/* Take the lock without waiting; false when another transaction holds it. */
extern bool yq_scheduler_try_lock(LOCKMODE mode);

/*
 * Lock every leaf, for a cycle that changes applications before it knows which
 * others it will serve.  Leaves are locked in one order
 * (admission/application/queue_lock.h), and a transaction that moves an application locks
 * two.
 */
extern void yq_scheduler_lock_leaves(const YqHierarchy *hierarchy);

/*
 * Lock the log as a statement that sends events does, after the leaves and before any
 * container: a transaction that holds up all events may wait for a container.
 */
extern void yq_scheduler_lock_events(void);

#endif							/* YQ_SCHEDULER_LOCK_H */
