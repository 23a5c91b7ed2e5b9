/*-------------------------------------------------------------------------
 *
 * queue_lock.h
 *	  Locks for decisions about applications.
 *
 * A transaction that submits, changes or ends applications, or allocates containers,
 * holds these locks until it ends:
 *
 * - RowExclusiveLock on yquota_internal.queue_status.  The check of a changed
 *   configuration takes ShareRowExclusiveLock on the table.  Each of the two
 *   transactions therefore sees either all changes of the other transaction or none.
 *
 * - The lock of the total, if the transaction admits an application.  Mostly, this lock is shared.
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

/* Kinds of locks, in the order in which they are taken. */
typedef enum YqQueueLockKind
{
	YQ_LOCK_SYSTEM = 1,			/* all rows of yquota_internal.live_application_count together */
	YQ_LOCK_PARALLEL_QUEUE,
	YQ_LOCK_PARALLEL_USER,
	YQ_LOCK_LEAF,
	YQ_LOCK_TOTAL				/* a single row of yquota_internal.live_application_count */
} YqQueueLockKind;

/* A set of locks, sorted by kind and number. */
typedef struct YqQueueLocks
{
	List	   *keys;			/* integers made of kind and number, sorted, without duplicates */
} YqQueueLocks;

extern void yq_queue_locks_add(YqQueueLocks *locks, YqQueueLockKind kind,
									const char *name);

/* Add the locks of the set "from" to the set "to". */
extern void yq_queue_locks_merge(YqQueueLocks *to, const YqQueueLocks *from);

/* Does the set "whole" contain all locks of the set "part"? */
extern bool yq_queue_locks_cover(const YqQueueLocks *whole, const YqQueueLocks *part);

/*
 * Take the locks of a set, in order.  yq_queue_locks_release() releases them, except
 * locks that the transaction held before.  The caller may release locks only if it has
 * changed nothing under them.
 */
extern void yq_queue_locks_take(const YqQueueLocks *locks);
extern void yq_queue_locks_release(const YqQueueLocks *locks);

/*
 * Lock the configuration.  After the call, this transaction sees the changes of other
 * transactions.  Raises ERRCODE_READ_ONLY_SQL_TRANSACTION in a read-only transaction
 * and on a standby.
 */
extern void yq_queue_lock_configuration(LOCKMODE mode);

/*
 * Wait for transactions that have changed rows of queues but have not checked them yet.
 * A transaction that creates or removes queues calls this function before it locks the
 * configuration.
 */
extern void yq_queue_lock_rows(void);

/* Lock a leaf, so that no other transaction changes its applications or counters. */
extern void yq_queue_lock_leaf(const char *path);

/*
 * Lock or unlock the number of live applications in the whole cluster.  As long as the
 * number is far from the limit, the lock is shared.  A transaction that has admitted an
 * application under the lock must not release it.
 */
extern void yq_queue_lock_system(LOCKMODE mode);
extern void yq_queue_unlock_system(LOCKMODE mode);

/*
 * Choose a row of live_application_count that no other transaction has locked, lock it,
 * and return its number.  The transaction uses this row until it ends.  The call never
 * waits.  Other counts that are spread over several rows use the same number.
 */
extern int	yq_queue_lock_total(void);

#endif							/* YQ_QUEUE_LOCK_H */
