/*-------------------------------------------------------------------------
 *
 * ideal_allocation.c
 *	  Computes how much each queue should have, and how much leaves must give up for
 *	  that.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "miscadmin.h"
#include "preemption/ideal_allocation.h"

/* -- priority heap ------------------------------------------------------------- */

/* A binary heap that removes equal elements in the same order as Java's heap. */

void
yq_priority_heap_add(void **heap, int count, void *element, YqHeapComparison compare, void *argument)
{
	int			at = count;

	while (at > 0 && compare(element, heap[(at - 1) / 2], argument) < 0)
	{
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = element;
}

void *
yq_priority_heap_remove(void **heap, int count, YqHeapComparison compare, void *argument)
{
	void	   *first = heap[0];
	void	   *last = heap[count - 1];
	int			left = count - 1;
	int			at = 0;

	while (at * 2 + 1 < left)
	{
		int			below = at * 2 + 1;

		if (below + 1 < left && compare(heap[below], heap[below + 1], argument) > 0)
			below++;
		if (compare(last, heap[below], argument) <= 0)
			break;
		heap[at] = heap[below];
		at = below;
	}
	heap[at] = last;
	return first;
}

/* -- amounts to obtain --------------------------------------------------------- */

/* Compute how much each queue must give up, after the ideal allocations have been computed. */

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/*
 * Return the factor, at most 1, that scales the excess of all children down to the budget.
 * "total" is the parent's ideal allocation.
 */
static float4
scale_of_budget(const YqPreemption *state, const YqPreemptionQueue *parent, int label, const int64 *total)
{
	const YqCalculator *calculator = state->calculator;
	int64		excess[YQ_MAX_RESOURCE_TYPES] = {0};

	for (int i = 0; i < parent->child_count; i++)
	{
		const YqPreemptionQueueLabel *figured = &parent->children[i]->labels[label];

		if (yq_amounts_compare(calculator, total, figured->used, figured->ideal) > 0)
		{
			yq_amounts_add(calculator, excess, figured->used);
			yq_amounts_subtract(calculator, excess, figured->ideal);
		}
	}
	if (yq_amounts_compare(calculator, total, excess, state->allowed) <= 0)
		return 1;
	return yq_amounts_divide(calculator, total, state->allowed, excess);
}

/*
 * Set how much a queue must give up on a label: its excess times "scale".  The queue keeps
 * the larger of two amounts: its ideal allocation, and its used and pending amounts up to
 * its guarantee.  As in Hadoop, the result may be negative for some resource types.
 */
static void
set_to_be_preempted(const YqPreemption *state, YqPreemptionQueueLabel *figured, const int64 *total, float4 scale)
{
	const YqCalculator *calculator = state->calculator;
	Size		size = calculator->types * sizeof(int64);
	int64		excess[YQ_MAX_RESOURCE_TYPES];
	int64		wanted[YQ_MAX_RESOURCE_TYPES];
	const int64 *kept;

	memcpy(excess, figured->used, size);
	yq_amounts_subtract(calculator, excess, figured->killable);
	memcpy(wanted, figured->used, size);
	yq_amounts_add(calculator, wanted, figured->pending);
	kept = yq_amounts_max(calculator, total,
						  yq_amounts_min(calculator, total, wanted, figured->guaranteed), figured->ideal);
	if (yq_amounts_compare(calculator, total, excess, kept) <= 0)
	{
		memset(figured->to_be_preempted, 0, size);
		return;
	}
	yq_amounts_subtract(calculator, excess, kept);
	yq_amounts_multiply(calculator, figured->to_be_preempted, excess, scale);
}

/*
 * Set how far each child of a parent exceeds its ideal allocation on a label.  The excesses
 * are scaled down, so that their sum stays within the budget.
 */
static void
obtain_divide_excess(YqPreemption *state, const YqPreemptionQueue *parent, int label)
{
	const int64 *total = parent->labels[label].ideal;
	float4		scale = scale_of_budget(state, parent, label, total);

	for (int i = 0; i < parent->child_count; i++)
		set_to_be_preempted(state, &parent->children[i]->labels[label], total, scale);
}

static void
set_obtain(const YqPreemption *state, YqPreemptionQueueLabel *figured, bool counts_reserved)
{
	const YqCalculator *calculator = state->calculator;
	Size		size = calculator->types * sizeof(int64);
	int64		ignored[YQ_MAX_RESOURCE_TYPES];
	int64		one[YQ_MAX_RESOURCE_TYPES];

	yq_amounts_multiply(calculator, ignored, figured->guaranteed, 1.0 + state->settings.ignored_over_capacity);
	memset(figured->obtain, 0, size);
	if (yq_amounts_compare(calculator, state->cluster, figured->used, ignored) <= 0)
		return;
	memcpy(figured->obtain, figured->to_be_preempted, size);
	if (counts_reserved || yq_amounts_compare(calculator, state->cluster, figured->obtain, nothing) <= 0)
		return;
	for (int i = 0; i < calculator->types; i++)
		one[i] = 1;
	yq_amounts_multiply_and_normalize_up(calculator, figured->obtain, figured->obtain,
										 state->settings.natural_termination_factor, one);
}

/*
 * Set the amount that each leaf must give up on each label, unless preemption is disabled
 * for the leaf.  A leaf that only slightly exceeds its guarantee gives up nothing.  Any
 * other leaf gives up a fraction of its excess or, with counts_reserved, the whole excess.
 */
static void
obtain_set(YqPreemption *state, bool counts_reserved)
{
	for (int i = 0; i < state->queue_count; i++)
	{
		if (!state->queues[i]->is_leaf || state->queues[i]->is_disabled)
			continue;
		for (int label = 0; label < state->label_count; label++)
			set_obtain(state, &state->queues[i]->labels[label], counts_reserved);
	}
}

static void
deduct(const YqPreemption *state, int label, int64 *from, const int64 *amounts)
{
	const int64 *total = state->totals[label];

	if (yq_amounts_compare(state->calculator, total, from, amounts) > 0)
		yq_amounts_subtract(state->calculator, from, amounts);
	if (yq_amounts_compare(state->calculator, total, from, nothing) < 0)
		memset(from, 0, state->calculator->types * sizeof(int64));
}

static int
compare_containers(const void *a, const void *b)
{
	return yq_preemption_compare_ids(*(YqPreemptionContainer *const *) a, *(YqPreemptionContainer *const *) b);
}

/* Return the selected containers, oldest first.  The result is palloc'd. */
static YqPreemptionContainer **
selected_by_id(const YqPreemption *state)
{
	YqPreemptionContainer **containers = palloc(Max(state->selection_count, 1) * sizeof(YqPreemptionContainer *));

	for (int i = 0; i < state->selection_count; i++)
		containers[i] = state->selections[i].container;
	if (state->selection_count > 0)
		qsort(containers, state->selection_count, sizeof(YqPreemptionContainer *), compare_containers);
	return containers;
}

void
yq_obtain_deduct_selected(YqPreemption *state)
{
	YqPreemptionContainer **containers = selected_by_id(state);

	for (int i = 0; i < state->selection_count; i++)
	{
		const YqPreemptionContainer *container = containers[i];
		const YqPreemptionQueue *leaf = container->application->leaf;
		int			label = container->node->label;

		CHECK_FOR_INTERRUPTS();
		deduct(state, label, leaf->labels[label].obtain, container->amounts);
		for (int j = 0; j < leaf->application_count; j++)
		{
			YqPreemptionApplicationLabel *figured = &leaf->applications[j]->labels[label];

			if (figured->is_computed)
				deduct(state, label, figured->taken, container->amounts);
		}
	}
	pfree(containers);
}

/* -- ideal allocation ---------------------------------------------------------- */

/*
 * Divide a parent's ideal allocation among its children.  Each child keeps its usage up to
 * its guarantee.  The rest is offered to the children that want more.  The most underserved
 * children get their offers first.
 *
 * This file calls the parent's ideal allocation the total.  The calculator compares amounts
 * as fractions of the total.
 */

/* Level of satisfaction of a queue without a guarantee, so that it is served last (semantics/preemption 3.3). */
#define SATISFIED_MOST ((float8) PG_INT32_MAX)

/* Sums over the queues with unmet demand.  They determine which fraction of an offer each queue gets. */
typedef struct Needs
{
	int			count;
	int			with_capacity;	/* number of queues that have an absolute capacity */
	float4		capacities;		/* sum of the absolute capacities, used when guarantees are rounded to zero */
	int64		guarantees[YQ_MAX_RESOURCE_TYPES];
	int			rounded[YQ_MAX_RESOURCE_TYPES]; /* number of queues whose guarantee is rounded to zero */
} Needs;

/* Children of a parent among which an amount on a label is divided. */
typedef struct Pool
{
	YqPreemption *state;
	const YqCalculator *calculator;
	int			label;
	const int64 *total;			/* ideal allocation of the parent */
	bool		counts_reserved;
	bool		balances_satisfied;
	void	  **needing;		/* queues with unmet demand, as a heap; the most underserved queue is on top */
	Needs		needs;			/* sums over the queues with unmet demand */
} Pool;

static bool
is_more(const Pool *pool, const int64 *a, const int64 *b)
{
	return yq_amounts_compare(pool->calculator, pool->total, a, b) > 0;
}

static YqPreemptionQueueLabel *
on_label(const Pool *pool, const YqPreemptionQueue *queue)
{
	return &queue->labels[pool->label];
}

/* -- extras -------------------------------------------------------------- */

static void
set_extras(const YqPreemption *state, const YqPreemptionQueue *queue, int label)
{
	const YqCalculator *calculator = state->calculator;
	const int64 *total = state->totals[label];
	YqPreemptionQueueLabel *figured = &queue->labels[label];
	Size		size = calculator->types * sizeof(int64);
	int64		extra[YQ_MAX_RESOURCE_TYPES];
	int64		of_children[YQ_MAX_RESOURCE_TYPES] = {0};

	memcpy(extra, figured->used, size);
	yq_amounts_subtract(calculator, extra, figured->guaranteed);
	if (yq_amounts_compare(calculator, total, extra, nothing) < 0)
		memset(extra, 0, size);
	memset(figured->untouchable, 0, size);
	if (queue->child_count == 0)
	{
		memcpy(figured->untouchable, queue->is_disabled ? extra : nothing, size);
		memcpy(figured->preemptable, queue->is_disabled ? nothing : extra, size);
		return;
	}
	for (int i = 0; i < queue->child_count; i++)
		yq_amounts_add(calculator, of_children, queue->children[i]->labels[label].preemptable);
	if (yq_amounts_compare(calculator, total, of_children, extra) < 0)
	{
		memcpy(figured->untouchable, extra, size);
		yq_amounts_subtract(calculator, figured->untouchable, of_children);
	}
	memcpy(figured->preemptable, yq_amounts_min(calculator, total, of_children, extra), size);
}

/* -- the order of need ----------------------------------------------------- */

/* Compare doubles as Java does: NaN comes last. */
static int
compare_doubles(float8 a, float8 b)
{
	if (isnan(a) || isnan(b))
		return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
	return a < b ? -1 : a > b;
}

/*
 * Compare how urgently two queues need resources.  Priorities count only if both queues are
 * below their guarantees, or neither is.
 */
static int
compare_needs(const void *left, const void *right, void *argument)
{
	const YqPreemptionQueue *a = left;
	const YqPreemptionQueue *b = right;
	const Pool *pool = argument;
	float8		a_satisfaction = on_label(pool, a)->satisfaction;
	float8		b_satisfaction = on_label(pool, b)->satisfaction;

	if (a->relative_priority != b->relative_priority &&
		((a_satisfaction < 1 && b_satisfaction < 1) || (a_satisfaction >= 1 && b_satisfaction >= 1)))
		return a->relative_priority > b->relative_priority ? -1 : 1;
	return compare_doubles(a_satisfaction, b_satisfaction);
}

/*
 * Add a queue to the sums over queues with unmet demand, but do not count it.  A sign of -1
 * subtracts the queue.
 */
static void
count_need(Pool *pool, const YqPreemptionQueueLabel *figured, int sign)
{
	bool		has_capacity = figured->absolute_capacity != 0;

	pool->needs.with_capacity += has_capacity ? sign : 0;
	for (int i = 0; i < pool->calculator->types; i++)
	{
		pool->needs.guarantees[i] += sign * figured->guaranteed[i];
		pool->needs.rounded[i] += has_capacity && figured->guaranteed[i] == 0 ? sign : 0;
	}
}

static void
add_needing(Pool *pool, YqPreemptionQueue *queue)
{
	YqPreemptionQueueLabel *figured = on_label(pool, queue);

	figured->satisfaction = is_more(pool, figured->guaranteed, nothing) ?
		yq_amounts_divide(pool->calculator, pool->total, figured->ideal, figured->guaranteed) : SATISFIED_MOST;
	count_need(pool, figured, 1);
	yq_priority_heap_add(pool->needing, pool->needs.count++, queue, compare_needs, pool);
}

static YqPreemptionQueue *
remove_first_needing(Pool *pool)
{
	YqPreemptionQueue *first = yq_priority_heap_remove(pool->needing, pool->needs.count--, compare_needs, pool);

	count_need(pool, on_label(pool, first), -1);
	return first;
}

static void
note_underserved(const Pool *pool, YqPreemptionQueue *queue)
{
	YqPreemptionQueueLabel *figured = on_label(pool, queue);

	if (figured->is_underserved)
		return;
	figured->is_underserved = true;
	pool->state->underserved[pool->label][pool->state->underserved_count[pool->label]++] = queue;
}

/*
 * Remove the most underserved queues.  They are equally underserved, so they are served
 * together.  These queues, and the queue that follows them, are marked as underserved.
 */
static int
remove_first_group(Pool *pool, YqPreemptionQueue **group)
{
	int			count = 0;

	do
	{
		group[count] = remove_first_needing(pool);
		note_underserved(pool, group[count++]);
		if (pool->needs.count == 0)
			return count;
	} while (compare_needs(group[count - 1], pool->needing[0], pool) >= 0);
	note_underserved(pool, pool->needing[0]);
	return count;
}

/* -- offers ---------------------------------------------------------------- */

/* Return the sums over all queues with unmet demand, before some of these queues are served. */
static Needs
needs_before_offer(const Pool *pool)
{
	Needs		needs = pool->needs;
	bool		capacities_decide = false;

	for (int i = 0; i < pool->calculator->types; i++)
		capacities_decide = capacities_decide || needs.rounded[i] > 0;
	needs.capacities = 0;
	for (int i = 0; capacities_decide && i < needs.count; i++)
		needs.capacities += on_label(pool, pool->needing[i])->absolute_capacity;
	return needs;
}

/*
 * Return the fraction of the unassigned amount of a type that is offered to a queue.  If
 * guarantees are rounded to zero, the fraction depends on capacities (semantics/preemption
 * 3.2).
 */
static float4
part_of_offer(const Needs *needs, const YqPreemptionQueueLabel *figured, int type, bool evenly)
{
	if (evenly || needs->guarantees[type] == 0 || needs->with_capacity == 0)
		return 1.0f / needs->count;
	if (needs->rounded[type] > 0)
		return figured->absolute_capacity / needs->capacities;
	return (float4) figured->guaranteed[type] / (float4) needs->guarantees[type];
}

static void
set_offer(const Pool *pool, const Needs *needs, const YqPreemptionQueueLabel *figured, bool evenly,
		  const int64 *unassigned, int64 *offer)
{
	float4		parts[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < pool->calculator->types; i++)
		parts[i] = part_of_offer(needs, figured, i, evenly);
	yq_amounts_multiply_each_and_normalize_up(pool->calculator, offer, unassigned, parts);
}

/* Limit the amount that a leaf accepts.  Its ideal allocation may reach the larger of its guarantee and its usage. */
static const int64 *
limit_to_guarantee(const Pool *pool, const YqPreemptionQueueLabel *figured, const int64 *accepted, int64 *limit)
{
	memcpy(limit, yq_amounts_max(pool->calculator, pool->total, figured->used, figured->guaranteed),
		   pool->calculator->types * sizeof(int64));
	yq_amounts_subtract(pool->calculator, limit, figured->ideal);
	return yq_amounts_min(pool->calculator, pool->total, accepted,
						  yq_amounts_max(pool->calculator, pool->total, limit, nothing));
}

/* Let a queue accept as much of an offer as it can use.  On return, "offer" is the accepted amount. */
static void
accept_offer(const Pool *pool, YqPreemptionQueue *queue, int64 *offer)
{
	const YqCalculator *calculator = pool->calculator;
	YqPreemptionQueueLabel *figured = on_label(pool, queue);
	Size		size = calculator->types * sizeof(int64);
	int64		room[YQ_MAX_RESOURCE_TYPES];
	int64		wanted[YQ_MAX_RESOURCE_TYPES];
	int64		limit[YQ_MAX_RESOURCE_TYPES];

	memcpy(wanted, figured->used, size);
	yq_amounts_add(calculator, wanted, pool->counts_reserved ? figured->pending : figured->pending_without_reserved);
	yq_amounts_subtract(calculator, wanted, figured->ideal);
	memcpy(room, figured->maximum, size);
	yq_amounts_subtract_to_none(calculator, room, figured->ideal);
	yq_amounts_lower_each(calculator, room, yq_amounts_min(calculator, pool->total, offer, wanted));
	if (queue->child_count == 0 && !pool->balances_satisfied)
		memcpy(wanted, limit_to_guarantee(pool, figured, room, limit), size);
	else
		memcpy(wanted, room, size);
	yq_amounts_raise_each(calculator, wanted, nothing);
	yq_amounts_lower_each(calculator, offer, wanted);
	yq_amounts_add(calculator, figured->ideal, offer);
}

/*
 * Offer amounts to the most underserved queues, and add what they accept.  The first
 * accepted amount is also deducted from *caller, because Hadoop's method changes its
 * caller's variable.
 */
static void
serve_first_group(Pool *pool, int64 *unassigned, int64 **caller, bool evenly)
{
	const YqCalculator *calculator = pool->calculator;
	Needs		needs = needs_before_offer(pool);
	YqPreemptionQueue **group = palloc(pool->needs.count * sizeof(YqPreemptionQueue *));
	int			count = remove_first_group(pool, group);
	int64		offered[YQ_MAX_RESOURCE_TYPES];

	memcpy(offered, unassigned, calculator->types * sizeof(int64));
	for (int i = 0; i < count && yq_amounts_any_above_none(calculator, unassigned); i++)
	{
		int64		offer[YQ_MAX_RESOURCE_TYPES];

		set_offer(pool, &needs, on_label(pool, group[i]), evenly, offered, offer);
		yq_amounts_lower_each(calculator, offer, unassigned);
		accept_offer(pool, group[i], offer);
		if (is_more(pool, offer, nothing))
			add_needing(pool, group[i]);
		if (*caller != NULL)
			yq_amounts_subtract(calculator, *caller, offer);
		*caller = NULL;
		yq_amounts_subtract_to_none(calculator, unassigned, offer);
	}
	pfree(group);
}

/* Set the ideal allocation that a queue has before any offer. */
static void
set_first_ideal(const Pool *pool, YqPreemptionQueueLabel *figured)
{
	memcpy(figured->ideal, figured->used, pool->calculator->types * sizeof(int64));
	if (is_more(pool, figured->used, figured->guaranteed))
	{
		yq_amounts_lower_each(pool->calculator, figured->ideal, figured->guaranteed);
		yq_amounts_add(pool->calculator, figured->ideal, figured->untouchable);
	}
}

/* Divide the unassigned amounts among the queues, until nothing is left or no queue wants more. */
static void
divide_unassigned(Pool *pool, YqPreemptionQueue **queues, int count, int64 *unassigned, bool evenly)
{
	int64	   *caller = unassigned;
	int64		rest[YQ_MAX_RESOURCE_TYPES];

	memset(&pool->needs, 0, sizeof(Needs));
	for (int i = 0; i < count; i++)
	{
		YqPreemptionQueueLabel *figured = on_label(pool, queues[i]);
		int64		wanted[YQ_MAX_RESOURCE_TYPES];

		set_first_ideal(pool, figured);
		yq_amounts_subtract(pool->calculator, unassigned, figured->ideal);
		memcpy(wanted, figured->used, pool->calculator->types * sizeof(int64));
		yq_amounts_add(pool->calculator, wanted, figured->pending);
		if (is_more(pool, wanted, figured->ideal))
			add_needing(pool, queues[i]);
	}
	memcpy(rest, unassigned, pool->calculator->types * sizeof(int64));
	while (pool->needs.count > 0 && is_more(pool, rest, nothing))
	{
		CHECK_FOR_INTERRUPTS();
		serve_first_group(pool, rest, &caller, evenly);
	}
	while (pool->needs.count > 0)
		note_underserved(pool, remove_first_needing(pool));
}

/* -- queues ------------------------------------------------------------------ */

/*
 * Divide a parent's ideal allocation.  Children with guarantees are served first; children
 * without guarantees share the rest.
 */
static void
divide_parent(Pool *pool, const YqPreemptionQueue *parent)
{
	YqPreemptionQueue **queues = palloc(parent->child_count * sizeof(YqPreemptionQueue *));
	int64		unassigned[YQ_MAX_RESOURCE_TYPES];
	int			with_guarantee = 0;
	int			without = parent->child_count;

	pool->needing = palloc(parent->child_count * sizeof(void *));
	pool->total = on_label(pool, parent)->ideal;
	memcpy(unassigned, pool->total, pool->calculator->types * sizeof(int64));
	for (int i = 0; i < parent->child_count; i++)
	{
		if (is_more(pool, on_label(pool, parent->children[i])->guaranteed, nothing))
			queues[with_guarantee++] = parent->children[i];
	}
	for (int i = parent->child_count - 1; i >= 0; i--)
	{
		if (!is_more(pool, on_label(pool, parent->children[i])->guaranteed, nothing))
			queues[--without] = parent->children[i];
	}
	divide_unassigned(pool, queues, with_guarantee, unassigned, false);
	if (without < parent->child_count && is_more(pool, unassigned, nothing))
		divide_unassigned(pool, queues + without, parent->child_count - without, unassigned, true);
	obtain_divide_excess(pool->state, parent, pool->label);
	pfree(pool->needing);
	pfree(queues);
}

void
yq_ideal_allocation_compute(YqPreemption *state, bool counts_reserved, bool balances_satisfied)
{
	if (state->queue_count == 0)
		return;
	for (int label = 0; label < state->label_count; label++)
	{
		Pool		pool = {.state = state,.calculator = state->calculator,.label = label,
			.counts_reserved = counts_reserved,.balances_satisfied = balances_satisfied};
		YqPreemptionQueueLabel *root = &state->queues[0]->labels[label];

		for (int i = state->queue_count - 1; i >= 0; i--)
			set_extras(state, state->queues[i], label);
		memcpy(root->ideal, root->guaranteed, state->calculator->types * sizeof(int64));
		for (int i = 0; i < state->queue_count; i++)
		{
			if (state->queues[i]->child_count > 0)
				divide_parent(&pool, state->queues[i]);
		}
	}
	obtain_set(state, counts_reserved);
}
