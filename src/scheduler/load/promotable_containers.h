/*-------------------------------------------------------------------------
 *
 * promotable_containers.h
 *	  OPPORTUNISTIC containers that a cycle may promote by a rule.  Their queue sets
 *	  auto_promote_after, and they have run for that time.
 *
 * The running time is known only for containers in the queue of a node (yquota.node_queue).
 * It is the time since the container arrived there, without the time for which it
 * waited or was paused.  A container is not promoted if it is not RUNNING there now, or
 * if it has a pending update of its own.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PROMOTABLE_CONTAINERS_H
#define YQ_PROMOTABLE_CONTAINERS_H

#include "scheduler/load/loaded_cluster.h"

typedef struct YqPromotableContainer
{
	YqSchedulerKey key;			/* key of the promotion, which the application's array of keys does not contain */
	YqContainerUpdate update;
	YqResourceRequest requests[2];
	YqClusterNode *node;
	bool		is_elsewhere;	/* charging counts the container for another queue or user than the application has */
} YqPromotableContainer;

/*
 * Return the containers that have run long enough by the clock on the given nodes, or
 * on all nodes if the list is NULL.  They are sorted by descending running time, then
 * by id.  The list of YqPromotableContainer is in the current memory context.
 * Containers whose application or node is not in the cluster are left out.
 */
extern List *yq_promotable_containers_read(const YqLoadedCluster *loaded, const char **nodes, int node_count);

/* Return the text that says why the rule promotes the container of the key, palloc'd. */
extern char *yq_promotion_diagnostics(const YqSchedulerKey *key);

#endif							/* YQ_PROMOTABLE_CONTAINERS_H */
