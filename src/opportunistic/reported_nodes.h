/*-------------------------------------------------------------------------
 *
 * reported_nodes.h
 *	  The nodes that allocators choose from: the list by load, their free slots, and the
 *	  locks of these.
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
 * Locks for slots of nodes: one transaction at a time takes slots of a node.
 *
 * A lock is kept to the end of the transaction that took slots, so that the next one sees them.
 * Names of nodes are hashed to few numbers: a call about thousands of nodes must not fill the
 * server's lock table, and that two nodes share a lock now and then does no harm.
 *
 * A call comes to its nodes in any order, and waits for a lock only if its number is above those
 * of all that the call has.  Else the call begins anew, and takes all that it has come to so far
 * in order.  So single calls never wait for each other in a circle.
 */

#define YQ_SLOT_LOCKS 256

/* The locks of a call; all zero before the first. */
typedef struct YqSlotLocks
{
	int			taken[YQ_SLOT_LOCKS];	/* how often, by number */
	bool		has_missed;
	int			missed;			/* the lock that could not be waited for */
} YqSlotLocks;

/* Lock the position at which the next search for any node begins, before any node. */
extern void yq_slot_lock_turn(void);

/*
 * Give all locks back, and take them again with the missed one, in order.  Nothing may have been
 * written under them.
 */
extern void yq_slot_locks_take_missed(YqSlotLocks *locks);

/* -- load list ----------------------------------------------------------------- */

/*
 * The list of nodes by load, and the queue limit that goes with it, as they are
 * in force (opportunistic 3.2, 6).
 *
 * The list is made by the first call after each scheduler_setting.node_sorting_interval
 * and is the only row of yquota_internal.load_list, which is unlogged: there is none
 * after a crash.  One transaction at a time makes it.  Others meanwhile use the list that
 * there is, so that they never wait for it.
 */

typedef struct YqLoadList
{
	int64		number;			/* of the sort, from 1 on; 0: there is no list yet */
	int32		max_queue_length;	/* the limit that nodes are told; -1: none */
	int32		max_wait;		/* likewise, milliseconds */
	const char **candidates;	/* the first nodes-used nodes, if they are asked for; palloc'd */
	int			candidate_count;
} YqLoadList;

/* Make the list if it is due, and return the one in force. */
extern YqLoadList yq_load_list_refresh(const YqHierarchy *hierarchy, const YqAllocationSettings *settings, TimestampTz now,
									   bool wants_candidates);

/* -- reported nodes ------------------------------------------------------------ */

typedef struct YqReportedNodes YqReportedNodes;

/* Where the search for any node begins. */
typedef struct YqAnywhereOrder
{
	bool		has_seed;		/* draws follow from it; else they are random */
	int64		seed;
	const int32 *starts;		/* recorded draws that take the place of others; NULL: none */
	int			start_count;
} YqAnywhereOrder;

/*
 * The nodes that have reported, and the candidates of a list, in the current memory
 * context.  Nodes are locked when the allocator asks for them, after the locks of leaves and
 * before any of events and containers.
 */
extern YqReportedNodes *yq_reported_nodes_open(const YqHierarchy *hierarchy, const YqAllocationSettings *settings,
											   const YqLoadList *list, const YqAnywhereOrder *order,
											   YqSlotLocks *locks);
extern YqNodeChoice *yq_reported_nodes_choice(YqReportedNodes *nodes);

/*
 * Write down the slots that were taken.  False, and nothing is written, when a lock was missed: the
 * caller takes it, opens the nodes again and decides anew.
 */
extern bool yq_reported_nodes_close(YqReportedNodes *nodes);

#endif							/* YQ_REPORTED_NODES_H */
