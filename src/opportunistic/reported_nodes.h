/*-------------------------------------------------------------------------
 *
 * reported_nodes.h
 *	  The nodes that the central allocator chooses from, looked up one by one as it
 *	  asks for them, and the slots that it takes there.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REPORTED_NODES_H
#define YQ_REPORTED_NODES_H

#include "opportunistic/central_allocator.h"
#include "opportunistic/load_list.h"
#include "opportunistic/slot_lock.h"

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
