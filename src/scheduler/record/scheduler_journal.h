/*-------------------------------------------------------------------------
 *
 * scheduler_journal.h
 *	  The scheduler's lock for one allocation cycle at a time, and the journal of
 *	  changes that sessions with a cached cluster must read again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_JOURNAL_H
#define YQ_SCHEDULER_JOURNAL_H

#include "base/compat.h"

#include "queues/hierarchy.h"
#include "scheduler/load/cluster_load.h"
#include "storage/lockdefs.h"

/* -- scheduler lock ------------------------------------------------------------ */

/*
 * The scheduler's lock admits one allocation cycle at a time.
 *
 * A cycle holds the lock exclusively until its transaction ends, so that the next cycle sees all
 * its decisions.  Transactions that change requests share the lock with each other, but not with a
 * cycle.  A transaction that changes or removes a node also holds the lock exclusively.  The lock
 * is taken before the locks of queue_lock.h.  Containers start and finish without it.
 */

/* ExclusiveLock for a cycle or a change of nodes, ShareLock for changes of requests. */
extern void yq_scheduler_lock(LOCKMODE mode);

/* Take the lock if it is free.  Returns false if another transaction holds it. */
extern bool yq_scheduler_try_lock(LOCKMODE mode);

/*
 * Lock every leaf, for a cycle that changes applications before it knows which other
 * applications it will serve.  All transactions lock leaves in the same order
 * (admission/application/queue_lock.h); a transaction that moves an application locks
 * two leaves.
 */
extern void yq_scheduler_lock_leaves(const YqHierarchy *hierarchy);

/*
 * Take the lock on the event log that statements which send events take.  It is taken after
 * the leaves and before any container, because a transaction that blocks all events may
 * wait for a container.
 */
extern void yq_scheduler_lock_events(void);

/* -- scheduler journal --------------------------------------------------------- */

/*
 * A transaction that changes scheduler data of an application appends a row to
 * yquota_internal.scheduler_change.  The functions that change requests, blacklists,
 * reservations and counters append the row themselves.  The row names the application,
 * which other sessions then read again.  If a cycle changes only requests and reservations
 * of an application, it records each of these changes instead.
 *
 * Triggers append rows for changes of applications and of killable containers.  If a
 * client changes the scheduler's tables directly, a trigger records that everything has
 * changed.
 *
 * yquota_internal.counter_delta contains changes of usage, and an invalidation of the
 * hierarchy signals changes of the configuration.
 */

/*
 * Values of the column kind, which say what has changed: an application, requests or
 * reservations by a cycle, everything, or killable containers.
 */
#define YQ_CHANGE_APPLICATION 'a'
#define YQ_CHANGE_CYCLE 'c'
#define YQ_CHANGE_EVERYTHING 'e'
#define YQ_CHANGE_KILLABLE 'k'

/* Record that applications with these ids (char *) have changed. */
extern void yq_scheduler_journal_applications(const List *ids);

/*
 * Record a cycle's changes of requests and reservations (YqCycleChange).  Their
 * applications have no other changes.
 */
extern void yq_scheduler_journal_cycle(const YqHierarchy *hierarchy, const List *changes);

/* Record that sessions must load the whole cluster again. */
extern void yq_scheduler_journal_everything(void);

/*
 * Suspend the recording by triggers between the two calls.  The caller itself records the
 * changes that its statements make.  An error ends the suspension.
 */
extern void yq_scheduler_journal_begin_own(void);
extern void yq_scheduler_journal_end_own(void);

/*
 * Until yq_scheduler_journal_end_own(), expect applications to lose their demand.  The cycle has
 * already recorded these applications, so the trigger records only the counters of their users.
 */
extern void yq_scheduler_journal_expect_end_of_demand(void);

#endif							/* YQ_SCHEDULER_JOURNAL_H */
