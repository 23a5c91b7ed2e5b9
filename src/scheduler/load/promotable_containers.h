/*-------------------------------------------------------------------------
 *
 * promotable_containers.h
 *	  OPPORTUNISTIC containers that a cycle may promote by a rule: their queue has
 *	  auto_promote_after, and they have run that long.
 *
 * The running time is known for containers in the queue of a node (yquota.node_queue).
 * It is the time since the arrival there, without the time that the container waited or
 * was paused.  A container that is not RUNNING there now is not promoted, nor is a
 * container with a waiting update of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PROMOTABLE_CONTAINERS_H
#define YQ_PROMOTABLE_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"

typedef struct YqPromotableContainer
{
	YqSchedulerKey key;			/* not among the keys of its application */
	YqContainerUpdate update;
	YqResourceRequest requests[2];
	YqClusterNode *node;
	bool		is_elsewhere;	/* charging counts it for another queue or user than the cluster does */
} YqPromotableContainer;

/*
 * Return the containers on some nodes, or (NULL) all, that have run long enough by the
 * clock.  The container that has run longest comes first, then order is by id.  The
 * list of YqPromotableContainer is in the current memory context; applications and
 * nodes outside the cluster have none.
 */
extern List *yq_promotable_containers_read(const YqLoadedCluster *loaded, const char **nodes, int node_count);

/* Return the diagnostics of the decision, palloc'd. */
extern char *yq_promotion_diagnostics(const YqSchedulerKey *key);

#endif							/* YQ_PROMOTABLE_CONTAINERS_H */
