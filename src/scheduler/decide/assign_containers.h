/*-------------------------------------------------------------------------
 *
 * assign_containers.h
 *	  Assigning the free resources of a node (cs-semantics 5).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ASSIGN_CONTAINERS_H
#define YQ_ASSIGN_CONTAINERS_H

#include "scheduler/state/cluster.h"

/*
 * Handle a heartbeat of a node: fulfil its reservation, or assign containers
 * until a limit per heartbeat or "most" of them is reached (-1: only the
 * former).  Decisions are appended to the cluster's, whose state follows them.
 * Returns how many containers start.
 */
extern int	yq_assign_node(YqCluster *cluster, YqClusterNode *node, int most);

#endif							/* YQ_ASSIGN_CONTAINERS_H */
