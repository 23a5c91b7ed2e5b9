/*-------------------------------------------------------------------------
 *
 * amounts_to_obtain.c
 *	  How much queues must give, once it is known how much each should have.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "preemption/amounts_to_obtain.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* The part of the excess of all children that the budget allows; total is what their parent should have. */
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
 * A queue keeps what it should have, and what it uses and wants up to its
 * guarantee.  Types may come out below zero (preemption 11, S15).
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

void
yq_obtain_divide_excess(YqPreemption *state, const YqPreemptionQueue *parent, int label)
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

void
yq_obtain_set(YqPreemption *state, bool counts_reserved)
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

/* Containers that are selected, oldest first; palloc'd. */
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
