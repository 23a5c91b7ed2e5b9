/*-------------------------------------------------------------------------
 *
 * assign_containers.h
 *	  Assigning the free resources of a node (semantics/allocation).
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

/*
 * Serve a key that is an update and not among those of its application, if all limits of the
 * node, of the queues and of the user have room for it now.  It reserves nothing, gives
 * up no reservation, and no killable container dies for it.  Called after searches of the node.  True
 * when it was served: the decision is the cluster's last one.
 */
extern bool yq_assign_update(YqCluster *cluster, YqClusterNode *node, YqSchedulerKey *key);

#endif							/* YQ_ASSIGN_CONTAINERS_H */
