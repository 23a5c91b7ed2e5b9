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
 * Assignment stops at the configured limit per heartbeat, and after "most" containers
 * (-1: no such limit).  The function appends decisions to the cluster and applies them
 * to its state.  Returns the number of containers that start.
 */
extern int	yq_assign_node(YqCluster *cluster, YqClusterNode *node, int most);

/*
 * Serve the key of an update that is not among the keys of its application, such as a
 * promotion by rule.  The key is served only if there is room now within the limits of the
 * node, queues and user.  It never makes or gives up a reservation, and never kills a
 * container.  The caller must have finished its searches on the node.  Returns true if the
 * key was served; the last decision of the cluster is then for this key.
 */
extern bool yq_assign_update(YqCluster *cluster, YqClusterNode *node, YqSchedulerKey *key);

#endif							/* YQ_ASSIGN_CONTAINERS_H */
