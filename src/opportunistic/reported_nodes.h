/*-------------------------------------------------------------------------
 *
 * reported_nodes.h
 *	  Provides the nodes that allocators choose from: the list by load, their free slots, and the
 *	  locks of these slots.
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
 * Locks slots of nodes: one transaction at a time takes slots of a node.
 *
 * A lock is kept to the end of the transaction that took slots, so that the next one sees them.
 * Names of nodes are hashed to a few numbers, because a call about thousands of nodes must not fill
 * the server's lock table.  Two nodes that share a lock now and then do no harm.
 *
 * A call comes to its nodes in any order.  It waits for a lock only if the lock's number is above
 * those of all its locks.  Otherwise the call begins anew, and first takes all locks that it has
 * needed so far, in order.  Single calls therefore never wait for each other in a circle.
 */

#define YQ_SLOT_LOCKS 256

/* The locks of a call; zeroed before the first one. */
typedef struct YqSlotLocks
{
	int			taken[YQ_SLOT_LOCKS];	/* number of times taken, by number of the lock */
	bool		has_missed;
	int			missed;			/* the lock for which the call must not wait */
} YqSlotLocks;

/* Lock the position at which the next search for any node begins, before any node. */
extern void yq_slot_lock_turn(void);

/*
 * Release all locks, and take them again together with the missed one, in order.  Nothing may have
 * been written under them.
 */
extern void yq_slot_locks_take_missed(YqSlotLocks *locks);

/* -- load list ----------------------------------------------------------------- */

/*
 * The list of nodes by load, and the queue limit that goes with it, as they are in force
 * (opportunistic 3.2, 6).
 *
 * The first call after each scheduler_setting.node_sorting_interval makes the list.  It is the only
 * row of yquota_internal.load_list, which is unlogged: after a crash there is no list.  One
 * transaction at a time makes it.  Others use the existing list meanwhile, so that they never wait
 * for it.
 */

typedef struct YqLoadList
{
	int64		number;			/* number of the sort, from 1 on; 0: there is no list yet */
	int32		max_queue_length;	/* the limit that nodes are told; -1: none */
	int32		max_wait;		/* likewise, milliseconds */
	const char **candidates;	/* the first nodes, as many as nodes-used, if the caller wants them; palloc'd */
	int			candidate_count;
} YqLoadList;

/* Make the list if it is due, and return the one in force. */
extern YqLoadList yq_load_list_refresh(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now,
									   bool wants_candidates);

/* -- reported nodes ------------------------------------------------------------ */

typedef struct YqReportedNodes YqReportedNodes;

/* The order in which the search for any node begins. */
typedef struct YqAnywhereOrder
{
	bool		has_seed;		/* draws follow from the seed; otherwise they are random */
	int64		seed;
	const int32 *starts;		/* recorded draws that replace others; NULL: none */
	int			start_count;
} YqAnywhereOrder;

/*
 * Open the nodes that have reported, and the candidates of a list, in the current memory context.
 * Nodes are locked when the allocator asks for them, after the locks of leaves and before any of
 * events and containers.
 */
extern YqReportedNodes *yq_reported_nodes_open(const YqHierarchy *hierarchy, const YqAllocationSettings *settings,
											   const YqLoadList *list, const YqAnywhereOrder *order,
											   YqSlotLocks *locks);
extern YqNodeChoice *yq_reported_nodes_choice(YqReportedNodes *nodes);

/*
 * Write the taken slots.  When a lock was missed, the function writes nothing and returns false.
 * The caller then takes the lock, opens the nodes again and decides anew.
 */
extern bool yq_reported_nodes_close(YqReportedNodes *nodes);

#endif							/* YQ_REPORTED_NODES_H */
