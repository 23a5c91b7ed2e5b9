/*-------------------------------------------------------------------------
 *
 * allocation_cycle.h
 *	  An allocation cycle over nodes (semantics/allocation 1).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ALLOCATION_CYCLE_H
#define YQ_ALLOCATION_CYCLE_H

#include "scheduler/load/cluster_load.h"

typedef struct YqAllocationCycle
{
	const char **nodes;			/* that report, in this order; NULL: all that are RUNNING, by name */
	int			node_count;
	int			most;			/* containers that may start; -1: no limit of its own */
	bool		is_dry;			/* nothing is locked, and nothing is written down */
	bool		explains;
} YqAllocationCycle;

/*
 * Decide and, unless it is dry, record the decisions; these, and skipped
 * applications, are in the cluster.  An unknown node is
 * ERRCODE_UNDEFINED_OBJECT; a node that is not RUNNING gets no container.
 *
 * Unless it is dry, allocations that were not acknowledged in time are released
 * first (expiry.h).  After all requests it promotes by rule what queues say
 * (promotable_containers.h), at most 100 containers, which count among "most".  A cycle over all nodes also notices application masters
 * whose containers are gone: their applications begin anew.
 */
extern YqLoadedCluster *yq_allocation_cycle_run(const YqAllocationCycle *cycle);

/* To be called when the cluster has been used; it may be gone then. */
extern void yq_allocation_cycle_end(YqLoadedCluster *loaded);

#endif							/* YQ_ALLOCATION_CYCLE_H */
