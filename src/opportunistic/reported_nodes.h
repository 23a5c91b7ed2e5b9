/*-------------------------------------------------------------------------
 *
 * reported_nodes.h
 *	  Provides the nodes from which allocators choose: the list by load, their free
 *	  slots, and the locks of these slots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REPORTED_NODES_H
#define YQ_REPORTED_NODES_H

#include "base/compat.h"

#include "opportunistic/node_load.h"
#include "opportunistic/opportunistic_allocator.h"
#include "queues/hierarchy.h"

/* -- slot lock ----------------------------------------------------------------- */

/*
 * Locks slots of nodes, so that only one transaction at a time takes slots of a node.
 *
 * A transaction that has taken slots keeps the lock until it ends, so that the next
 * transaction sees the taken slots.  Names of nodes are hashed to a few numbers,
 * because a call about thousands of nodes must not fill the server's lock table.  Two
 * nodes may share a lock; this does no harm.
 *
 * A call reaches its nodes in any order.  It waits for a lock only if the lock's number
 * is above the numbers of all its locks.  Otherwise the call starts again, and first
 * takes all locks that it has needed so far, in order.  Transactions with a single call
 * therefore never wait for each other in a cycle.
 */

#define YQ_SLOT_LOCKS 256

/* The locks of a call; zeroed before the first one. */
typedef struct YqSlotLocks
{
	int			taken[YQ_SLOT_LOCKS];	/* how often each lock was taken, by number of the lock */
	bool		has_missed;
	int			missed;			/* the lock for which the call must not wait */
} YqSlotLocks;

/*
 * Lock the position at which the next search for any node begins.  The call takes this
 * lock before any node.
 */
extern void yq_slot_lock_turn(void);

/*
 * Release all locks, and take them again together with the missed lock, in order.  The
 * caller has written nothing under these locks.
 */
extern void yq_slot_locks_take_missed(YqSlotLocks *locks);

/* -- load list ----------------------------------------------------------------- */

/*
 * The current list of nodes by load, and the queue limit that belongs to it
 * (opportunistic 3.2, 6).
 *
 * The first call after each scheduler_setting.node_sorting_interval makes the list.  It
 * is the only row of yquota_internal.load_list, which is unlogged, so there is no list
 * after a crash.  Only one transaction at a time makes the list.  Other transactions
 * use the existing list in the meantime, so that they never wait.
 */

typedef struct YqLoadList
{
	int64		number;			/* number of the sort, from 1; 0: there is no list yet */
	int32		max_queue_length;	/* queue length limit that nodes receive; -1: none */
	int32		max_wait;		/* wait limit that nodes receive, milliseconds; -1: none */
	const char **candidates;	/* the first nodes, up to nodes-used, if the caller wants them; palloc'd */
	int			candidate_count;
} YqLoadList;

/* Make the list if it is due, and return the current list. */
extern YqLoadList yq_load_list_refresh(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now,
									   bool wants_candidates);

/* -- reported nodes ------------------------------------------------------------ */

typedef struct YqReportedNodes YqReportedNodes;

/* The order in which the search for any node begins. */
typedef struct YqAnywhereOrder
{
	bool		has_seed;		/* draws follow from the seed; otherwise they are random */
	int64		seed;
	const int32 *starts;		/* recorded draws that replace the generated ones; NULL: none */
	int			start_count;
} YqAnywhereOrder;

/*
 * Open the nodes that have reported, and the candidates of a list, in the current
 * memory context.  A node is locked when the allocator requests it, after leaves and
 * before events and containers.
 */
extern YqReportedNodes *yq_reported_nodes_open(const YqHierarchy *hierarchy, const YqAllocationSettings *settings,
											   const YqLoadList *list, const YqAnywhereOrder *order,
											   YqSlotLocks *locks);
extern YqNodeChoice *yq_reported_nodes_choice(YqReportedNodes *nodes);

/*
 * Write the taken slots.  If a lock was missed, the function writes nothing and returns
 * false.  The caller then takes the lock, opens the nodes again, and decides again.
 */
extern bool yq_reported_nodes_close(YqReportedNodes *nodes);

#endif							/* YQ_REPORTED_NODES_H */
