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
	const char **nodes;			/* names of nodes that report, in this order; NULL: all RUNNING nodes, by name */
	int			node_count;
	int			most;			/* limit on the number of containers that start; -1: the caller sets no limit */
	bool		is_dry;			/* the cycle takes no lock and writes nothing */
	bool		explains;
} YqAllocationCycle;

/*
 * Decide and, unless the cycle is dry, record the decisions.  The returned cluster
 * contains the decisions and the skipped applications.  An unknown node is
 * ERRCODE_UNDEFINED_OBJECT.  A node that is not RUNNING gets no container.
 *
 * Unless it is dry, the cycle first releases allocations that were not acknowledged in
 * time (expiry.h).  After it has served all requests, it promotes containers by the
 * rules of queues (promotable_containers.h).  It makes at most 100 promotions, which
 * count towards "most".  A cycle over all nodes also detects application masters whose
 * containers no longer run, and begins new attempts of their applications.
 */
extern YqLoadedCluster *yq_allocation_cycle_run(const YqAllocationCycle *cycle);

/* End the use of the cluster.  The caller must not use it afterwards, because it may be freed. */
extern void yq_allocation_cycle_end(YqLoadedCluster *loaded);

#endif							/* YQ_ALLOCATION_CYCLE_H */
