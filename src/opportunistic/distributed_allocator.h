/*-------------------------------------------------------------------------
 *
 * distributed_allocator.h
 *	  Giving out opportunistic containers on a list of nodes, as a local scheduler
 *	  does that has been given the list (opportunistic 5).
 *
 * The order of the list is all that it knows of the load.  Unless an application asks
 * for a host, a node gets one container in a call.  Knows no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_DISTRIBUTED_ALLOCATOR_H
#define YQ_DISTRIBUTED_ALLOCATOR_H

#include "opportunistic/outstanding_request.h"

/* A node of the list. */
typedef struct YqListedNode
{
	const char *name;			/* each once */
	const char *rack;
	const char *label;			/* "" for the default partition */
	bool		is_blacklisted;
} YqListedNode;

/*
 * Give out what there are nodes for, at most so many when "most" is above 0, and never more
 * than YQ_MOST_CONTAINERS_IN_CALL, and count it as served.
 */
extern YqOpportunisticContainers yq_distributed_allocator_run(YqOutstandingRequests *requests,
															  const YqListedNode *nodes, int node_count, int most);

#endif							/* YQ_DISTRIBUTED_ALLOCATOR_H */
