/*-------------------------------------------------------------------------
 *
 * queue_priority_selector.c
 *	  Takes containers that occupy nodes which a leaf below its guarantee has reserved.
 *
 * Two leaves are compared by the priorities of the ancestors just below their lowest
 * common ancestor.  A less important leaf gives containers up even if it is below its
 * own guarantee, and even if it disables preemption.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "preemption/preemption_round.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

typedef struct Search
{
	YqPreemption *state;
	int64	   *promised;		/* per queue and label: size of the reservations for which this selector makes room */
	YqPreemptionContainer **chosen; /* containers chosen on the current node */
	int			chosen_count;
	int			chosen_room;
} Search;

/* -- importance of leaves ----------------------------------------------------- */

static int
depth_of(const YqPreemptionQueue *queue)
{
	int			depth = 0;

	for (; queue->parent != NULL; queue = queue->parent)
		depth++;
	return depth;
}

static bool
has_priority_over(const YqPreemptionQueue *a, const YqPreemptionQueue *b)
{
	int			a_depth = depth_of(a);
	int			b_depth = depth_of(b);

	if (a == b)
		return false;
	for (; a_depth > b_depth; a_depth--)
		a = a->parent;
	for (; b_depth > a_depth; b_depth--)
		b = b->parent;
	for (; a->parent != b->parent; a = a->parent)
		b = b->parent;
	return a->relative_priority > b->relative_priority;
}

/* Does a queue have a higher priority than one of its siblings that has leaves? */
static bool
has_less_important_sibling(const YqPreemptionQueue *queue, const bool *has_leaves)
{
	for (int i = 0; queue->parent != NULL && i < queue->parent->child_count; i++)
	{
		const YqPreemptionQueue *sibling = queue->parent->children[i];

		if (has_leaves[sibling->number] && sibling->relative_priority < queue->relative_priority)
			return true;
	}
	return false;
}

/* Mark the queues that have priority over at least one leaf.  Returns whether there are such queues. */
static bool
set_priorities(YqPreemption *state)
{
	bool	   *has_leaves = palloc0(state->queue_count * sizeof(bool));
	bool		has_any = false;

	for (int i = state->queue_count - 1; i >= 0; i--)
	{
		const YqPreemptionQueue *queue = state->queues[i];

		has_leaves[i] = has_leaves[i] || queue->is_leaf;
		if (queue->parent != NULL && has_leaves[i])
			has_leaves[queue->parent->number] = true;
	}
	for (int i = 0; i < state->queue_count; i++)
	{
		YqPreemptionQueue *queue = state->queues[i];

		queue->has_priority_over_any = (queue->parent != NULL && queue->parent->has_priority_over_any) ||
			has_less_important_sibling(queue, has_leaves);
		has_any = has_any || (queue->is_leaf && queue->has_priority_over_any);
	}
	pfree(has_leaves);
	return has_any;
}

/* -- order -------------------------------------------------------------------- */

/*
 * Does container "a" come before "b"?  The container of the leaf with higher priority comes
 * first.  If neither leaf has priority, the older container comes first.
 */
static bool
comes_before(const YqPreemptionContainer *a, const YqPreemptionContainer *b)
{
	if (has_priority_over(a->application->leaf, b->application->leaf))
		return true;
	if (has_priority_over(b->application->leaf, a->application->leaf))
		return false;
	return a->started_at != b->started_at ? a->started_at < b->started_at : yq_preemption_compare_ids(a, b) < 0;
}

/*
 * Sort containers as Java sorts a small number of elements, by binary insertion.  The
 * algorithm affects the result, because the order is not always transitive.  A third leaf
 * may come between two leaves that have no priority over each other.
 */
static void
sort_containers(YqPreemptionContainer **containers, int count)
{
	for (int i = 1; i < count; i++)
	{
		YqPreemptionContainer *container = containers[i];
		int			low = 0;
		int			high = i;

		while (low < high)
		{
			int			middle = (low + high) / 2;

			if (comes_before(container, containers[middle]))
				high = middle;
			else
				low = middle + 1;
		}
		memmove(containers + low + 1, containers + low, (i - low) * sizeof(YqPreemptionContainer *));
		containers[low] = container;
	}
}

/*
 * Find the reservations of leaves that have priority over another leaf, in the order in
 * which they are served.  The result is palloc'd.
 */
static YqPreemptionContainer **
find_reservations(const YqPreemption *state, int *count)
{
	YqPreemptionContainer **found = palloc(Max(state->node_count, 1) * sizeof(YqPreemptionContainer *));

	*count = 0;
	for (int i = 0; i < state->node_count; i++)
	{
		YqPreemptionContainer *reservation = state->nodes[i]->reservation;

		if (reservation != NULL && reservation->application->leaf->has_priority_over_any)
			found[(*count)++] = reservation;
	}
	sort_containers(found, *count);
	return found;
}

/* -- room on a node ------------------------------------------------------------ */

/* Set how much a node lacks for a reservation, even after the selected containers have ended. */
static void
set_lacking(const YqPreemption *state, const YqPreemptionContainer *reservation, const YqPreemptionNode *node,
			int64 *lacking)
{
	memcpy(lacking, reservation->amounts, state->calculator->types * sizeof(int64));
	yq_amounts_subtract(state->calculator, lacking, node->total);
	yq_amounts_add(state->calculator, lacking, node->allocated);
	for (int i = 0; i < node->container_count; i++)
	{
		if (node->containers[i]->is_selected)
			yq_amounts_subtract(state->calculator, lacking, node->containers[i]->amounts);
	}
}

static void
note_chosen(Search *search, YqPreemptionContainer *container)
{
	if (search->chosen_count == search->chosen_room)
	{
		search->chosen_room *= 2;
		search->chosen = repalloc(search->chosen, search->chosen_room * sizeof(YqPreemptionContainer *));
	}
	search->chosen[search->chosen_count++] = container;
}

/* Can preemption make room for a reservation on a node?  Sets the containers that would have to end. */
static bool
can_have_room(Search *search, const YqPreemptionContainer *reservation, YqPreemptionNode *node)
{
	const YqPreemption *state = search->state;
	const YqCalculator *calculator = state->calculator;
	int64		lacking[YQ_MAX_RESOURCE_TYPES];
	int64		allowed[YQ_MAX_RESOURCE_TYPES];

	search->chosen_count = 0;
	if (node->is_touched)
		return false;
	set_lacking(state, reservation, node, lacking);
	if (yq_amounts_fit_in_by(calculator, lacking, nothing))
		return true;
	memcpy(allowed, state->allowed, calculator->types * sizeof(int64));
	sort_containers(node->containers, node->container_count);
	for (int i = 0; i < node->container_count; i++)
	{
		YqPreemptionContainer *container = node->containers[i];

		if (container->is_selected || container->is_master ||
			!has_priority_over(reservation->application->leaf, container->application->leaf))
			continue;
		if (yq_amounts_compare(calculator, state->cluster, allowed, container->amounts) >= 0)
		{
			yq_amounts_subtract(calculator, allowed, container->amounts);
			yq_amounts_subtract(calculator, lacking, container->amounts);
			note_chosen(search, container);
		}
		if (yq_amounts_fit_in_by(calculator, lacking, nothing))
			return true;
	}
	return false;
}

/* -- moves ---------------------------------------------------------------------- */

static bool
may_move_to(const YqPreemptionContainer *reservation, const YqPreemptionNode *node)
{
	return node->reservation == NULL && reservation->label == node->label &&
		reservation->node->label == node->label;
}

static void
move(YqPreemption *state, YqPreemptionContainer *reservation, YqPreemptionNode *node)
{
	YqPreemptionOutcome *outcome = yq_preemption_add_outcome(state, state->settings.observes_only ?
															 YQ_PREEMPTION_OBSERVED : YQ_PREEMPTION_MOVED,
															 reservation);

	outcome->node = node;
	reservation->node->reservation = NULL;
	reservation->node = node;
	reservation->is_moved = true;
	node->reservation = reservation;
	node->is_touched = true;
}

/*
 * Move a reservation to the first node on which preemption can make room for it.  The
 * containers on that node are selected in a later round.
 */
static void
move_to_better_node(Search *search, YqPreemptionContainer *reservation)
{
	YqPreemption *state = search->state;

	if (reservation->is_update || !reservation->relaxes_locality || reservation->is_moved)
		return;
	for (int i = 0; i < state->node_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (may_move_to(reservation, state->nodes[i]) && can_have_room(search, reservation, state->nodes[i]))
		{
			move(state, reservation, state->nodes[i]);
			return;
		}
	}
}

/* -- reservations ----------------------------------------------------------------- */

static int64 *
promised_to(const Search *search, const YqPreemptionQueue *leaf, int label)
{
	const YqPreemption *state = search->state;

	return search->promised + ((size_t) leaf->number * state->label_count + label) * state->calculator->types;
}

/*
 * Does a leaf have its guarantee?  Among its reservations, only those for which this selector makes
 * room count as used.
 */
static bool
is_satisfied(const Search *search, const YqPreemptionQueue *leaf, int label)
{
	const YqPreemption *state = search->state;
	const YqPreemptionQueueLabel *figured = &leaf->labels[label];
	int64		used[YQ_MAX_RESOURCE_TYPES];

	memcpy(used, figured->used, state->calculator->types * sizeof(int64));
	yq_amounts_subtract(state->calculator, used, figured->reserved);
	yq_amounts_add(state->calculator, used, promised_to(search, leaf, label));
	return yq_amounts_compare(state->calculator, state->cluster, used, figured->guaranteed) >= 0;
}

/* Select the chosen containers of the reservation's node if they make enough room, otherwise none. */
static void
serve_reservation(Search *search, YqPreemptionContainer *reservation)
{
	YqPreemption *state = search->state;
	YqPreemptionNode *node = reservation->node;
	const YqPreemptionQueue *leaf = reservation->application->leaf;

	if (is_satisfied(search, leaf, node->label))
		return;
	if (!can_have_room(search, reservation, node))
	{
		if (state->settings.moves_reservations)
			move_to_better_node(search, reservation);
		return;
	}
	node->is_touched = true;
	yq_amounts_add(state->calculator, promised_to(search, leaf, node->label), reservation->amounts);
	for (int i = 0; i < search->chosen_count; i++)
	{
		yq_amounts_subtract(state->calculator, state->allowed, search->chosen[i]->amounts);
		yq_preemption_select(state, search->chosen[i]);
	}
}

void
yq_select_by_queue_priority(YqPreemption *state)
{
	Search		search = {.state = state,.chosen_room = 16};
	YqPreemptionContainer **reservations;
	int			count;

	if (!state->has_reservations || !set_priorities(state))
		return;
	yq_preemption_complete_all(state);
	search.promised = palloc0((size_t) state->queue_count * state->label_count * state->calculator->types *
							  sizeof(int64));
	search.chosen = palloc(search.chosen_room * sizeof(YqPreemptionContainer *));
	reservations = find_reservations(state, &count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (state->now - reservations[i]->started_at >= state->settings.reservation_delay)
			serve_reservation(&search, reservations[i]);
	}
	pfree(reservations);
	pfree(search.chosen);
	pfree(search.promised);
}
