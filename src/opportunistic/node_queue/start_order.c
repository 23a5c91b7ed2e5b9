/*-------------------------------------------------------------------------
 *
 * start_order.c
 *	  Which of the OPPORTUNISTIC containers that wait at a node starts next.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "opportunistic/node_queue/start_order.h"

/* -- ranks --------------------------------------------------------------------- */

static bool
has_unranked(dlist_head *containers)
{
	dlist_iter	iter;

	dlist_foreach(iter, containers)
	{
		if (!dlist_container(YqNodeContainer, node, iter.cur)->is_ranked)
			return true;
	}
	return false;
}

static void
rank_all(YqContainerQueue *queue)
{
	if (has_unranked(&queue->opportunistic) ||
		(queue->settings.start_order == YQ_START_FAIR && has_unranked(&queue->running)))
		queue->rank_waiting(queue->argument);
}

/* OPPORTUNISTIC containers of each user that run and go on running. */
static int *
count_by_user(const YqContainerQueue *queue)
{
	int		   *counts = palloc0(sizeof(int) * Max(queue->user_count, 1));
	dlist_iter	iter;

	dlist_foreach(iter, unconstify(dlist_head *, &queue->running))
	{
		const YqNodeContainer *container = dlist_container(YqNodeContainer, node, iter.cur);

		if (!container->is_guaranteed && container->state == YQ_CONTAINER_RUNNING)
			counts[container->user]++;
	}
	return counts;
}

/* -- the first ------------------------------------------------------------------- */

static YqNodeContainer *
first_by_rank(YqContainerQueue *queue)
{
	YqNodeContainer *first = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &queue->opportunistic)
	{
		YqNodeContainer *container = dlist_container(YqNodeContainer, node, iter.cur);

		if (first == NULL || container->start_rank < first->start_rank)
			first = container;
	}
	return first;
}

static YqNodeContainer *
first_by_user(YqContainerQueue *queue)
{
	int		   *counts = count_by_user(queue);
	YqNodeContainer *first = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &queue->opportunistic)
	{
		YqNodeContainer *container = dlist_container(YqNodeContainer, node, iter.cur);

		if (first == NULL || counts[container->user] < counts[first->user])
			first = container;
	}
	pfree(counts);
	return first;
}

YqNodeContainer *
yq_start_order_first(YqContainerQueue *queue)
{
	YqNodeContainer *head = dlist_head_element(YqNodeContainer, node, &queue->opportunistic);

	if (queue->settings.start_order == YQ_START_BY_ARRIVAL || !dlist_has_next(&queue->opportunistic, &head->node))
		return head;
	rank_all(queue);
	return queue->settings.start_order == YQ_START_FAIR ? first_by_user(queue) : first_by_rank(queue);
}
