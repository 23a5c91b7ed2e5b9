/*-------------------------------------------------------------------------
 *
 * queue_lock.h
 *	  Locks for decisions about applications.
 *
 * A transaction that submits, changes or ends applications, or allocates
 * containers, holds until it ends:
 *
 * - RowExclusiveLock on yquota_internal.queue_status.  A change of the
 *   configuration takes ShareRowExclusiveLock on it when it is checked, so that
 *   either sees all of the other or nothing.
 * - When it lets in one more, the lock of the total, mostly shared.
 * - A lock for every queue and every user that has a limit of parallel
 *   applications and that the applications belong to.
 * - A lock for the leaf: no other transaction changes its applications or counters.
 *
 * They are taken in one order (kind, then number), so that single statements
 * about one application never wait for each other in a circle.  Names are hashed
 * to few numbers: a transaction about thousands of queues must not fill the
 * server's lock table, and that two queues share a lock now and then does no
 * harm.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_QUEUE_LOCK_H
#define YQ_QUEUE_LOCK_H

#include "base/compat.h"
#include "nodes/pg_list.h"
#include "storage/lock.h"

/* In the order in which they are taken. */
typedef enum YqQueueLockKind
{
	YQ_LOCK_SYSTEM = 1,			/* yquota_internal.live_application_count as a whole */
	YQ_LOCK_PARALLEL_QUEUE,
	YQ_LOCK_PARALLEL_USER,
	YQ_LOCK_LEAF,
	YQ_LOCK_TOTAL				/* one row of it */
} YqQueueLockKind;

/* A set of locks, by kind and number. */
typedef struct YqQueueLocks
{
	List	   *keys;			/* of integers, sorted, each once */
} YqQueueLocks;

extern void yq_queue_locks_add(YqQueueLocks *locks, YqQueueLockKind kind,
									const char *name);

/* to := the locks of both */
extern void yq_queue_locks_merge(YqQueueLocks *to, const YqQueueLocks *from);

/* Is every lock of "part" in "whole"? */
extern bool yq_queue_locks_cover(const YqQueueLocks *whole, const YqQueueLocks *part);

/*
 * Take the locks in order.  yq_queue_locks_release() gives back the locks that
 * this call took and the transaction did not hold before.  It is allowed only
 * as long as nothing was changed under them.
 */
extern void yq_queue_locks_take(const YqQueueLocks *locks);
extern void yq_queue_locks_release(const YqQueueLocks *locks);

/*
 * Lock the configuration; afterwards a change of it by others is seen.
 * ERRCODE_READ_ONLY_SQL_TRANSACTION in a read-only transaction, and on a standby.
 */
extern void yq_queue_lock_configuration(LOCKMODE mode);

/*
 * Before that, by a transaction that creates or removes queues: wait for those that
 * change the rows of queues and have not been checked.
 */
extern void yq_queue_lock_rows(void);

/* Lock one leaf. */
extern void yq_queue_lock_leaf(const char *path);

/*
 * Lock the total: shared by transactions that stay far from the limit.  It is given back
 * only as long as nothing was let in under it.
 */
extern void yq_queue_lock_system(LOCKMODE mode);
extern void yq_queue_unlock_system(LOCKMODE mode);

/*
 * Lock a row of the total that no other transaction holds, and return its number: the same one for
 * the whole transaction.  Never waits.  Other counts that are kept in parts use the number, too.
 */
extern int	yq_queue_lock_total(void);

#endif							/* YQ_QUEUE_LOCK_H */
