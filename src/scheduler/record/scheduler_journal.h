/*-------------------------------------------------------------------------
 *
 * scheduler_journal.h
 *	  The scheduler's lock, one allocation cycle at a time; and the changes that sessions with
 *	  a cached cluster must read again.
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
 * The scheduler's lock: one allocation cycle at a time.
 *
 * A cycle holds the lock alone until its transaction ends, so that the next one
 * sees all its decisions.  Transactions that change requests share it, but
 * never with a cycle.  A transaction that changes or removes a node holds it
 * alone, too.  The lock is taken before the locks of queue_lock.h; containers
 * start and finish without it.
 */

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

/* -- scheduler journal --------------------------------------------------------- */

/*
 * A transaction that changes scheduler data of an application appends a row to
 * yquota_internal.scheduler_change.  The functions that change requests,
 * blacklists, reservations and counters append it themselves, and cycles note what
 * they have left of requests and reservations where nothing else has changed.  A trigger does
 * so for applications and, coarsely, for changes of those tables by hand.  Another
 * one notes changes of killable containers.
 * yquota_internal.counter_delta has changes of usage; an invalidation of the
 * hierarchy signals changes of the configuration.
 */

/* Values of the column kind. */
#define YQ_CHANGE_APPLICATION 'a'
#define YQ_CHANGE_CYCLE 'c'
#define YQ_CHANGE_EVERYTHING 'e'
#define YQ_CHANGE_KILLABLE 'k'

/* Note applications, by their ids (char *). */
extern void yq_scheduler_journal_applications(const List *ids);

/*
 * Note what a cycle has left of requests and reservations (YqCycleChange), of applications
 * of which nothing else has changed.
 */
extern void yq_scheduler_journal_cycle(const YqHierarchy *hierarchy, const List *changes);

/* Note that nothing that was read holds any more. */
extern void yq_scheduler_journal_everything(void);

/*
 * Between the two, statements of this session on the scheduler's tables need not be
 * noted: the caller does it.  After an error they have to be again.
 */
extern void yq_scheduler_journal_begin_own(void);
extern void yq_scheduler_journal_end_own(void);

/*
 * From here until yq_scheduler_journal_end_own(), an application that has no demand any
 * more is noted already, and the trigger tells of its user's counters alone.
 */
extern void yq_scheduler_journal_expect_end_of_demand(void);

#endif							/* YQ_SCHEDULER_JOURNAL_H */
