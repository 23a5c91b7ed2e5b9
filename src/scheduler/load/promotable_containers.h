/*-------------------------------------------------------------------------
 *
 * promotable_containers.h
 *	  OPPORTUNISTIC containers that a cycle may promote by a rule: their queue has
 *	  auto_promote_after, and they have run so long.
 *
 * How long a container has run is known of those at the queue of a node
 * (yquota.node_queue): the time since it arrived there, without the time that it waited or
 * was paused.  A container that is not RUNNING there now is not promoted, nor is one
 * with an update of its own that waits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PROMOTABLE_CONTAINERS_H
#define YQ_PROMOTABLE_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"

typedef struct YqPromotableContainer
{
	YqSchedulerKey key;			/* not among those of its application */
	YqContainerUpdate update;
	YqResourceRequest requests[2];
	YqClusterNode *node;
	bool		is_elsewhere;	/* charging counts it for another queue or user than the cluster does */
} YqPromotableContainer;

/*
 * Those on some nodes, or (NULL) all, that have run long enough by the clock: the one
 * that has run longest first, then by id.  A list of YqPromotableContainer in the current
 * memory context; applications and nodes that are not in the cluster have none.
 */
extern List *yq_promotable_containers_read(const YqLoadedCluster *loaded, const char **nodes, int node_count);

/* In words, for the decision: palloc'd. */
extern char *yq_promotion_diagnostics(const YqSchedulerKey *key);

#endif							/* YQ_PROMOTABLE_CONTAINERS_H */
