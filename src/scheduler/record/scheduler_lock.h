/*-------------------------------------------------------------------------
 *
 * scheduler_lock.h
 *	  One allocation pass at a time.
 *
 * A pass holds the lock alone until its transaction ends, so that the next one
 * sees all that it decided.  Whoever changes what applications ask for shares it:
 * several may, but not while a pass serves them.  Whoever changes or removes a node
 * holds it alone, too.  It is taken before the locks of queue_lock.h; containers
 * start and finish without it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_LOCK_H
#define YQ_SCHEDULER_LOCK_H

#include "base/compat.h"
#include "queues/hierarchy.h"
#include "storage/lockdefs.h"

/* ExclusiveLock for a pass or a change of nodes, ShareLock for changes of requests. */
extern void yq_scheduler_lock(LOCKMODE mode);

/* The same without waiting; false when somebody holds it. */
extern bool yq_scheduler_try_lock(LOCKMODE mode);

/*
 * Lock every leaf, for a pass that has to change applications before it knows which
 * others it will serve: leaves are locked in one order (admission/queue_lock.h),
 * and whoever moves an application locks two.
 */
extern void yq_scheduler_lock_leaves(const YqHierarchy *hierarchy);

/*
 * Lock the log as a statement that sends events does, after the leaves and before any
 * container: a transaction that holds up all events may wait for a container.
 */
extern void yq_scheduler_lock_events(void);

#endif							/* YQ_SCHEDULER_LOCK_H */
