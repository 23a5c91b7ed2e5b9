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
	const char **nodes;			/* nodes that report, in this order; NULL: all RUNNING nodes, by name */
	int			node_count;
	int			most;			/* most containers that may start; -1: no limit by the caller */
	bool		is_dry;			/* the cycle takes no lock and writes nothing */
	bool		explains;
} YqAllocationCycle;

/*
 * Decide and, unless the cycle is dry, record the decisions.  The cluster contains the
 * decisions and the skipped applications.  An unknown node is ERRCODE_UNDEFINED_OBJECT;
 * a node that is not RUNNING gets no container.
 *
 * Unless it is dry, the cycle first releases allocations that were not acknowledged in
 * time (expiry.h).  After all requests it promotes containers by the rules of queues
 * (promotable_containers.h).  At most 100 promotions are made, which count towards
 * "most".  A cycle over all nodes also detects application masters whose containers are
 * gone; their applications begin anew.
 */
extern YqLoadedCluster *yq_allocation_cycle_run(const YqAllocationCycle *cycle);

/* End the use of the cluster, which may be freed. */
extern void yq_allocation_cycle_end(YqLoadedCluster *loaded);

#endif							/* YQ_ALLOCATION_CYCLE_H */
