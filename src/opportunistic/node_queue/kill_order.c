/*-------------------------------------------------------------------------
 *
 * kill_order.c
 *	  Which of the OPPORTUNISTIC containers that run at a node are paused or
 *	  killed for an amount.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "opportunistic/node_queue/fewest_containers.h"
#include "opportunistic/node_queue/kill_order.h"

static int
compare_ranks(const ListCell *a, const ListCell *b)
{
	const YqNodeContainer *left = lfirst(a);
	const YqNodeContainer *right = lfirst(b);

	if (left->kill_rank != right->kill_rank)
		return left->kill_rank < right->kill_rank ? -1 : 1;
	return left->kill_place - right->kill_place;
}

static bool
goes_by_rank(YqKillOrder order)
{
	return order != YQ_KILL_LAST_STARTED && order != YQ_KILL_FEWEST;
}

List *
yq_kill_order_candidates(YqContainerQueue *queue)
{
	List	   *candidates = NIL;
	dlist_iter	iter;

	dlist_reverse_foreach(iter, &queue->running)
	{
		YqNodeContainer *container = dlist_container(YqNodeContainer, node, iter.cur);

		if (container->is_guaranteed || container->state != YQ_CONTAINER_RUNNING)
			continue;
		container->kill_place = list_length(candidates);
		candidates = lappend(candidates, container);
	}
	if (goes_by_rank(queue->settings.kill_order) && candidates != NIL)
	{
		queue->rank_running(queue->argument);
		list_sort(candidates, compare_ranks);
	}
	return candidates;
}

static List *
choose_first(const YqContainerQueue *queue, List *candidates, YqNodeAmounts lacking)
{
	int			count = 0;

	while (count < list_length(candidates) && yq_node_amounts_are_lacking(lacking))
		yq_node_amounts_add(&lacking, yq_node_amounts_of(queue, list_nth(candidates, count++)), -1);
	return list_truncate(candidates, count);
}

static List *
choose_fewest(const YqContainerQueue *queue, const List *candidates, YqNodeAmounts lacking)
{
	int			count = list_length(candidates);
	YqNodeAmounts *amounts = palloc(sizeof(YqNodeAmounts) * Max(count, 1));
	bool	   *is_chosen = palloc(sizeof(bool) * Max(count, 1));
	List	   *chosen = NIL;

	for (int i = 0; i < count; i++)
		amounts[i] = yq_node_amounts_of(queue, list_nth(candidates, i));
	yq_fewest_containers_choose(amounts, count, lacking, is_chosen);
	for (int i = 0; i < count; i++)
	{
		if (is_chosen[i])
			chosen = lappend(chosen, list_nth(candidates, i));
	}
	return chosen;
}

List *
yq_kill_order_choose(YqContainerQueue *queue, YqNodeAmounts lacking)
{
	List	   *candidates;

	if (!yq_node_amounts_are_lacking(lacking))
		return NIL;
	candidates = yq_kill_order_candidates(queue);
	if (queue->settings.kill_order == YQ_KILL_FEWEST)
		return choose_fewest(queue, candidates, lacking);
	return choose_first(queue, candidates, lacking);
}
