/*-------------------------------------------------------------------------
 *
 * queue_lock.h
 *	  Locks for decisions about applications.
 *
 * A transaction that submits, changes or ends applications, or allocates containers,
 * holds these locks until it ends:
 *
 * - RowExclusiveLock on yquota_internal.queue_status.  The check of a changed
 *   configuration takes ShareRowExclusiveLock on the table.  Either transaction
 *   therefore sees all of the other or nothing.
 *
 * - The lock of the total, mostly shared, when it admits an application.
 *
 * - A lock for every queue and every user with a limit of parallel applications to
 *   which the applications belong.
 *
 * - A lock for the leaf: no other transaction changes its applications or counters.
 *
 * The locks are taken in one order (kind, then number), so that single statements
 * about one application never wait for each other in a circle.  Names are hashed to
 * few numbers, because a transaction about thousands of queues must not fill the
 * server's lock table.  It does no harm if two queues occasionally share a lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_QUEUE_LOCK_H
#define YQ_QUEUE_LOCK_H

#include "base/compat.h"
#include "nodes/pg_list.h"
#include "storage/lock.h"

/* Kinds in the order in which the locks are taken. */
typedef enum YqQueueLockKind
{
	YQ_LOCK_SYSTEM = 1,			/* yquota_internal.live_application_count as a whole */
	YQ_LOCK_PARALLEL_QUEUE,
	YQ_LOCK_PARALLEL_USER,
	YQ_LOCK_LEAF,
	YQ_LOCK_TOTAL				/* a row of live_application_count */
} YqQueueLockKind;

/* A set of locks, by kind and number. */
typedef struct YqQueueLocks
{
	List	   *keys;			/* integers, sorted, without duplicates */
} YqQueueLocks;

extern void yq_queue_locks_add(YqQueueLocks *locks, YqQueueLockKind kind,
									const char *name);

/* Add the locks of "from" to "to". */
extern void yq_queue_locks_merge(YqQueueLocks *to, const YqQueueLocks *from);

/* Is every lock of "part" in "whole"? */
extern bool yq_queue_locks_cover(const YqQueueLocks *whole, const YqQueueLocks *part);

/*
 * Take the locks in order. yq_queue_locks_release() releases the locks that this call
 * took and that the transaction did not hold before.  A release is allowed only while
 * nothing was changed under the locks.
 */
extern void yq_queue_locks_take(const YqQueueLocks *locks);
extern void yq_queue_locks_release(const YqQueueLocks *locks);

/*
 * Lock the configuration.  Afterwards this transaction sees the changes of other
 * transactions. In a read-only transaction and on a standby, raises
 * ERRCODE_READ_ONLY_SQL_TRANSACTION.
 */
extern void yq_queue_lock_configuration(LOCKMODE mode);

/*
 * Wait for transactions that have changed rows of queues and have not been checked yet.
 * A transaction that creates or removes queues calls this before it locks the
 * configuration.
 */
extern void yq_queue_lock_rows(void);

/* Lock the applications and counters of a leaf. */
extern void yq_queue_lock_leaf(const char *path);

/*
 * Lock the total.  The lock is shared while the transaction stays far from the limit.
 * It may be released only while no application was admitted under it.
 */
extern void yq_queue_lock_system(LOCKMODE mode);
extern void yq_queue_unlock_system(LOCKMODE mode);

/*
 * Lock a row of the total that no other transaction has locked, and return its number.
 * The transaction uses the same number until it ends.  The call never waits.  Other
 * counts that are kept in several rows use the number, too.
 */
extern int	yq_queue_lock_total(void);

#endif							/* YQ_QUEUE_LOCK_H */
