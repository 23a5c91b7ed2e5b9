/*-------------------------------------------------------------------------
 *
 * reserved_container_selector.c
 *	  Leaves above their guarantee give where that makes room for a reservation.
 *
 * Each node with a reservation is tried without consequences first.  Those where
 * it can be done are then done in the order of their cost, as long as leaves
 * still have the amounts to give.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "preemption/ideal_allocation.h"
#include "preemption/preemption_selectors.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* What leaves may still lose: per leaf and label, NULL for nothing. */
typedef struct Quotas
{
	int64	  **amounts;
	int			count;
} Quotas;

/* A node where a reservation can have room. */
typedef struct NodePlan
{
	YqPreemptionNode *node;
	int			place;			/* among the nodes */
	float4		cost;			/* size of what is selected, of the size of the reservation */
} NodePlan;

static int64 *
quota_of(const YqPreemption *state, const Quotas *quotas, const YqPreemptionQueue *leaf, int label)
{
	return quotas->amounts[(size_t) leaf->number * state->label_count + label];
}

static Quotas
make_quotas(const YqPreemption *state)
{
	Quotas		quotas = {palloc0((size_t) state->queue_count * state->label_count * sizeof(int64 *)), 0};

	for (int i = 0; i < state->queue_count; i++)
	{
		const YqPreemptionQueue *leaf = state->queues[i];

		for (int label = 0; leaf->is_leaf && !leaf->is_disabled && label < state->label_count; label++)
		{
			const int64 *obtain = leaf->labels[label].obtain;

			if (yq_amounts_compare(state->calculator, state->cluster, obtain, nothing) <= 0)
				continue;
			quotas.amounts[(size_t) i * state->label_count + label] = yq_preemption_copy(state, obtain);
			quotas.count++;
		}
	}
	return quotas;
}

static int
compare_newest(const void *a, const void *b)
{
	return yq_preemption_compare_ids(*(YqPreemptionContainer *const *) b, *(YqPreemptionContainer *const *) a);
}

/* The containers of a node, newest first; palloc'd. */
static YqPreemptionContainer **
newest_first(const YqPreemptionNode *node)
{
	YqPreemptionContainer **containers = palloc(Max(node->container_count, 1) * sizeof(YqPreemptionContainer *));

	if (node->container_count > 0)
	{
		memcpy(containers, node->containers, node->container_count * sizeof(YqPreemptionContainer *));
		qsort(containers, node->container_count, sizeof(YqPreemptionContainer *), compare_newest);
	}
	return containers;
}

/* Room of a node that needs no further preemption. */
static void
set_room(const YqPreemption *state, const YqPreemptionNode *node, int64 *room)
{
	memcpy(room, node->total, state->calculator->types * sizeof(int64));
	yq_amounts_subtract(state->calculator, room, node->allocated);
	for (int i = 0; i < node->container_count; i++)
	{
		if (node->containers[i]->is_killable)
			yq_amounts_add(state->calculator, room, node->containers[i]->amounts);
	}
}

/* May a container be taken: has its leaf enough to give, and the budget? */
static bool
take_quota(YqPreemption *state, const Quotas *quotas, const YqPreemptionContainer *container, bool is_trial)
{
	int64	   *quota = quota_of(state, quotas, container->application->leaf, container->node->label);

	if (quota == NULL || !yq_amounts_fit_in_by(state->calculator, container->amounts, quota) ||
		!yq_amounts_fit_in_by(state->calculator, container->amounts, state->allowed))
		return false;
	if (!is_trial)
	{
		yq_amounts_subtract(state->calculator, quota, container->amounts);
		yq_amounts_subtract(state->calculator, state->allowed, container->amounts);
	}
	return true;
}

/*
 * Choose containers of a node, newest first, until its reservation has room.
 * Sets those that are newly selected, and their size.
 */
static bool
choose_containers(YqPreemption *state, const Quotas *quotas, const YqPreemptionNode *node, bool is_trial,
				  YqPreemptionContainer **chosen, int *chosen_count, int64 *size)
{
	const YqCalculator *calculator = state->calculator;
	YqPreemptionContainer **containers = newest_first(node);
	int64		room[YQ_MAX_RESOURCE_TYPES];
	bool		has_room = false;

	*chosen_count = 0;
	set_room(state, node, room);
	for (int i = 0; i < node->container_count && !has_room; i++)
	{
		YqPreemptionContainer *container = containers[i];

		if (container->is_killable || container->is_master || !take_quota(state, quotas, container, is_trial))
			continue;
		if (!container->is_selected)
		{
			chosen[(*chosen_count)++] = container;
			yq_amounts_add(calculator, size, container->amounts);
		}
		yq_amounts_add(calculator, room, container->amounts);
		has_room = yq_amounts_fit_in_by(calculator, node->reservation->amounts, room);
	}
	pfree(containers);
	return has_room;
}

/* Is there a way to make room, and at what cost? */
static bool
plan_node(YqPreemption *state, const Quotas *quotas, NodePlan *plan)
{
	const YqPreemptionNode *node = plan->node;
	YqPreemptionContainer **chosen = palloc(Max(node->container_count, 1) * sizeof(YqPreemptionContainer *));
	int64		size[YQ_MAX_RESOURCE_TYPES] = {0};
	int64		room[YQ_MAX_RESOURCE_TYPES];
	int			count;
	bool		is_possible;

	set_room(state, node, room);
	is_possible = !yq_amounts_fit_in_by(state->calculator, node->reservation->amounts, room) &&
		choose_containers(state, quotas, node, true, chosen, &count, size);
	plan->cost = yq_amounts_ratio(state->calculator, size, node->reservation->amounts);
	pfree(chosen);
	return is_possible;
}

/* Leaves have their amounts back when there is no room in the end; the budget has not. */
static void
carry_out(YqPreemption *state, const Quotas *quotas, const YqPreemptionNode *node)
{
	YqPreemptionContainer **chosen = palloc(Max(node->container_count, 1) * sizeof(YqPreemptionContainer *));
	int64		size[YQ_MAX_RESOURCE_TYPES] = {0};
	int			count;
	bool		has_room = choose_containers(state, quotas, node, false, chosen, &count, size);

	for (int i = 0; i < count; i++)
	{
		if (has_room)
			yq_preemption_select(state, chosen[i]);
		else
			yq_amounts_add(state->calculator, quota_of(state, quotas, chosen[i]->application->leaf, node->label),
						   chosen[i]->amounts);
	}
	pfree(chosen);
}

static int
compare_plans(const void *left, const void *right)
{
	const NodePlan *a = left;
	const NodePlan *b = right;

	if (a->cost != b->cost)
		return a->cost < b->cost ? -1 : 1;
	return a->place - b->place;
}

void
yq_select_for_reservations(YqPreemption *state)
{
	Quotas		quotas;
	NodePlan	   *plans;
	int			count = 0;

	yq_ideal_allocation_compute(state, true, false);
	quotas = make_quotas(state);
	if (!state->has_reservations || quotas.count == 0)
		return;
	yq_preemption_complete_all(state);
	plans = palloc(Max(state->node_count, 1) * sizeof(NodePlan));
	for (int i = 0; i < state->node_count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		plans[count].node = state->nodes[i];
		plans[count].place = i;
		if (state->nodes[i]->reservation != NULL && plan_node(state, &quotas, &plans[count]))
			count++;
	}
	if (count > 0)
		qsort(plans, count, sizeof(NodePlan), compare_plans);
	for (int i = 0; i < count; i++)
		carry_out(state, &quotas, plans[i].node);
	pfree(plans);
}
