/*-------------------------------------------------------------------------
 *
 * assign_containers.h
 *	  Assignment of the free resources of a node (semantics/allocation).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ASSIGN_CONTAINERS_H
#define YQ_ASSIGN_CONTAINERS_H

#include "scheduler/state/cluster.h"

/*
 * Handle a heartbeat of a node: fulfil its reservation, or assign containers.
 * Assignment stops at a limit per heartbeat, or after "most" containers (-1: no such
 * limit).  The function appends decisions to the cluster, whose state follows them.
 * Returns how many containers start.
 */
extern int	yq_assign_node(YqCluster *cluster, YqClusterNode *node, int most);

/*
 * Serve an update key that is not among the keys of its application.  All limits of the
 * node, of the queues and of the user must have room for it now.  The update reserves
 * nothing, gives up no reservation, and kills no killable container.  Called after
 * searches of the node.  True when the key was served: the decision is the cluster's
 * last one.
 */
extern bool yq_assign_update(YqCluster *cluster, YqClusterNode *node, YqSchedulerKey *key);

#endif							/* YQ_ASSIGN_CONTAINERS_H */
