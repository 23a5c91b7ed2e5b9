/*-------------------------------------------------------------------------
 *
 * cluster_plans.c
 *	  Changes of queues of plans in the state of an allocation cycle.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "scheduler/state/cluster.h"
#include "scheduler/state/order.h"

void
yq_cluster_note_share(YqClusterQueue *queue)
{
	const YqQueueLabel *configured = &queue->queue->labels[0];

	queue->share = configured->configured;
	queue->maximum_share = configured->configured_maximum;
	queue->ranks[0].has_capacity = configured->absolute_capacity > 0;
	queue->is_vacant = queue->queue->is_vacant;
}

static void
follow_plan(YqCluster *cluster, YqClusterQueue *plan, List **changed, List **came)
{
	int			changes = 0;

	for (int i = 0; i < plan->child_count; i++)
	{
		YqClusterQueue *queue = &cluster->queues[plan->queue->children[i]->number];
		const YqQueueLabel *configured = &queue->queue->labels[0];

		plan->children[i] = queue;
		queue->position = i;
		if (queue->is_vacant && !queue->queue->is_vacant)
			*came = lappend(*came, queue);
		else if (queue->share == configured->configured && queue->maximum_share == configured->configured_maximum)
			continue;
		yq_cluster_note_share(queue);
		yq_order_set_used(cluster, queue);
		*changed = lappend(*changed, queue);
		changes++;
	}
	/* sort all children, because several ranks may have changed together */
	if (changes > 0)
		yq_order_children(cluster, plan);
}

void
yq_cluster_follow_plans(YqCluster *cluster, List **changed, List **came)
{
	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
	{
		if (cluster->queues[i].queue->kind == YQ_QUEUE_PLAN)
			follow_plan(cluster, &cluster->queues[i], changed, came);
	}
}

static bool
is_in_use(const YqCluster *cluster, const YqClusterQueue *queue)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		if (!yq_amounts_are_none(cluster->calculator, yq_at(cluster, queue->used, label)))
			return true;
	}
	return queue->application_count > 0;
}

bool
yq_cluster_uses_gone_queues(const YqCluster *cluster)
{
	for (int i = 0; i < cluster->hierarchy->queue_count; i++)
	{
		const YqClusterQueue *queue = &cluster->queues[i];

		if (queue->queue->is_vacant && is_in_use(cluster, queue))
			return true;
	}
	return false;
}
