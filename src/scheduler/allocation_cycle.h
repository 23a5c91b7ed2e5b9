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
	int			most;			/* limit on the number of started containers; -1: no limit by the caller */
	bool		is_dry;			/* true: the cycle takes no lock and writes nothing */
	bool		explains;		/* true: the cycle records skipped queues and applications, with the reasons */
} YqAllocationCycle;

/*
 * Decide and, unless this is a dry run, record the decisions.  The returned cluster
 * contains the decisions and the skipped applications.  An unknown node raises
 * ERRCODE_UNDEFINED_OBJECT.  A node that is not RUNNING gets no container.
 *
 * Unless this is a dry run, the cycle first releases allocations that were not acknowledged
 * in time (expiry.h).  After serving all requests, it promotes containers by the rules of
 * queues (promotable_containers.h).  It promotes at most 100 containers, which count
 * against "most".  A cycle over all nodes also detects application masters whose containers
 * have ended, and begins new attempts of their applications.
 */
extern YqLoadedCluster *yq_allocation_cycle_run(const YqAllocationCycle *cycle);

/* Finish a cycle.  The caller must not use the cluster afterwards, because this function may free it. */
extern void yq_allocation_cycle_end(YqLoadedCluster *loaded);

#endif							/* YQ_ALLOCATION_CYCLE_H */
