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
 * Lock nodes while slots are taken on them.  Only one transaction at a time takes slots
 * of a node.
 *
 * A transaction that has taken slots keeps the lock until it ends, so the next
 * transaction sees the taken slots.  Names of nodes are hashed to a few lock numbers.
 * Otherwise, a call that reaches thousands of nodes would fill the server's lock table.
 * It does no harm if two nodes share a lock.
 *
 * A call reaches nodes in any order.  It waits for a lock only if it holds no lock with
 * a higher number.  Otherwise, the call starts again: it first takes all locks that it
 * has needed so far, in the order of their numbers.  Therefore, transactions that make
 * a single call never deadlock.
 */

#define YQ_SLOT_LOCKS 256

/* The locks that a call holds.  The caller initializes the struct with zeros. */
typedef struct YqSlotLocks
{
	int			taken[YQ_SLOT_LOCKS];	/* indexed by lock number: how often has the call taken the lock? */
	bool		has_missed;
	int			missed;			/* number of the lock for which the call was not allowed to wait */
} YqSlotLocks;

/*
 * Lock the position at which the next search for any node begins.  A call must do this
 * before it locks a node.
 */
extern void yq_slot_lock_turn(void);

/*
 * Release all locks, and take them again together with the missed lock, in the order of
 * their numbers.  The caller has written nothing yet.
 */
extern void yq_slot_locks_take_missed(YqSlotLocks *locks);

/* -- load list ----------------------------------------------------------------- */

/*
 * The current list of nodes by load, and the queue limit computed from it
 * (semantics/opportunistic 2, 5).
 *
 * The first call after each scheduler_setting.node_sorting_interval makes a new list.
 * The list is the only row of yquota_internal.load_list.  The table is unlogged, so the
 * list is lost in a crash.  Only one transaction at a time makes a list.  Other
 * transactions do not wait; they use the previous list.
 */

typedef struct YqLoadList
{
	int64		number;			/* number of the list, counted from 1; 0: there is no list yet */
	int32		max_queue_length;	/* limit on the queue length that is sent to nodes; -1: none */
	int32		max_wait;		/* limit on the wait that is sent to nodes, in milliseconds; -1: none */
	const char **candidates;	/* names of the first nodes, at most nodes-used, palloc'd; only if the caller wants
								 * them */
	int			candidate_count;
} YqLoadList;

/* Make a new list if it is time for one, and return the current list. */
extern YqLoadList yq_load_list_refresh(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now,
									   bool wants_candidates);

/* -- reported nodes ------------------------------------------------------------ */

typedef struct YqReportedNodes YqReportedNodes;

/* How the start position of a search for any node is chosen. */
typedef struct YqAnywhereOrder
{
	bool		has_seed;		/* true: the positions are computed from the seed; false: they are random */
	int64		seed;
	const int32 *starts;		/* recorded positions, which are used instead of computed ones; NULL: none */
	int			start_count;
} YqAnywhereOrder;

/*
 * Prepare to read the nodes that have reported, and the candidates of a list.  The
 * result is allocated in the current memory context.  A node is locked when the
 * allocator asks for it.  Locks of nodes come after locks of leaves, and before events
 * and containers.
 */
extern YqReportedNodes *yq_reported_nodes_open(const YqHierarchy *hierarchy, const YqAllocationSettings *settings,
											   const YqLoadList *list, const YqAnywhereOrder *order,
											   YqSlotLocks *locks);
extern YqNodeChoice *yq_reported_nodes_choice(YqReportedNodes *nodes);

/*
 * Write the slots that were taken, and return true.  If a lock was missed, write
 * nothing and return false.  The caller then calls yq_slot_locks_take_missed(), opens
 * the nodes again and decides again.
 */
extern bool yq_reported_nodes_close(YqReportedNodes *nodes);

#endif							/* YQ_REPORTED_NODES_H */
