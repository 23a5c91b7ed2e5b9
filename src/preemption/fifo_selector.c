/*-------------------------------------------------------------------------
 *
 * fifo_selector.c
 *	  Leaves above their guarantee give, the last application first.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "preemption/amounts_to_obtain.h"
#include "preemption/ideal_allocation.h"
#include "preemption/preemption_candidates.h"
#include "preemption/preemption_selectors.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* What a leaf is asked for, and masters that were passed over so far. */
typedef struct Search
{
	YqPreemption *state;
	YqPreemptionQueue *leaf;
	YqWanted   *wanted;
	YqPreemptionContainer **masters;
	int			master_count;
	int64		masters_size[YQ_MAX_RESOURCE_TYPES];
} Search;

static bool
try_container(Search *search, YqPreemptionContainer *container)
{
	return yq_candidate_try(search->state, search->wanted, container, search->state->settings.is_conservative);
}

/* -- containers on nodes that the leaf has no right to ------------------------ */

static bool
ignores_exclusivity(const YqPreemptionContainer *container)
{
	return container->label == 0 && container->node->label != 0;
}

static int
compare_newest(const void *a, const void *b)
{
	return yq_preemption_compare_ids(*(YqPreemptionContainer *const *) b, *(YqPreemptionContainer *const *) a);
}

/* Those of a leaf that asked for the default partition and are elsewhere, newest first; palloc'd. */
static YqPreemptionContainer **
find_ignoring_exclusivity(const YqPreemptionQueue *leaf, int *count)
{
	YqPreemptionContainer **found;
	int			room = 0;

	*count = 0;
	for (int i = 0; i < leaf->application_count; i++)
		room += leaf->applications[i]->container_count;
	found = palloc(Max(room, 1) * sizeof(YqPreemptionContainer *));
	for (int i = 0; i < leaf->application_count; i++)
	{
		const YqPreemptionApplication *application = leaf->applications[i];

		for (int j = 0; j < application->container_count; j++)
		{
			if (ignores_exclusivity(application->containers[j]))
				found[(*count)++] = application->containers[j];
		}
	}
	if (*count > 0)
		qsort(found, *count, sizeof(YqPreemptionContainer *), compare_newest);
	return found;
}

static void
take_ignoring_exclusivity(Search *search)
{
	int			count;
	YqPreemptionContainer **found = find_ignoring_exclusivity(search->leaf, &count);

	for (int i = 0; i < count && search->wanted->count > 0; i++)
		(void) try_container(search, found[i]);
	pfree(found);
}

/* -- containers of applications ---------------------------------------------- */

/*
 * A reservation that is looked at is given up, whether it was taken or not
 * (preemption 11, S7).
 */
static void
unreserve(YqPreemption *state, YqPreemptionContainer *container)
{
	if (container->is_unreserved)
		return;
	container->is_unreserved = true;
	yq_preemption_add_outcome(state, state->settings.observes_only ? YQ_PREEMPTION_OBSERVED : YQ_PREEMPTION_UNRESERVED,
							  container)->figures = yq_preemption_figures(state, container);
}

static void
pass_over_master(Search *search, YqPreemptionContainer *container)
{
	search->masters[search->master_count++] = container;
	yq_amounts_add(search->state->calculator, search->masters_size, container->amounts);
}

static void
take_of_application(Search *search, YqPreemptionApplication *application)
{
	yq_candidates_sort(search->state, application);
	for (int i = 0; i < application->container_count && search->wanted->count > 0; i++)
	{
		YqPreemptionContainer *container = application->containers[i];

		if (container->is_selected || container->is_killable)
			continue;
		if (container->is_master && !container->is_reserved)
			pass_over_master(search, container);
		else
			(void) try_container(search, container);
		if (container->is_reserved)
			unreserve(search->state, container);
	}
}

/* Masters go last, as long as they have more than the share that they may keep. */
static void
take_masters(Search *search)
{
	const YqPreemption *state = search->state;
	int64		kept[YQ_MAX_RESOURCE_TYPES];

	yq_amounts_multiply(state->calculator, kept, search->leaf->capacity, search->leaf->maximum_am_percent);
	for (int i = 0; i < search->master_count && search->wanted->count > 0; i++)
	{
		if (yq_amounts_compare(state->calculator, state->cluster, search->masters_size, kept) <= 0)
			break;
		if (try_container(search, search->masters[i]))
			yq_amounts_subtract(state->calculator, search->masters_size, search->masters[i]->amounts);
	}
}

static int
count_masters(const YqPreemptionQueue *leaf)
{
	int			count = 0;

	for (int i = 0; i < leaf->application_count; i++)
	{
		for (int j = 0; j < leaf->applications[i]->container_count; j++)
			count += leaf->applications[i]->containers[j]->is_master;
	}
	return count;
}

static void
take_of_leaf(YqPreemption *state, YqPreemptionQueue *leaf, YqWanted *wanted)
{
	Search		search = {.state = state,.leaf = leaf,.wanted = wanted};

	yq_preemption_complete_leaf(state, leaf);
	search.masters = palloc(Max(count_masters(leaf), 1) * sizeof(YqPreemptionContainer *));
	take_ignoring_exclusivity(&search);
	for (int i = leaf->application_count - 1; i >= 0 && wanted->count > 0; i--)
	{
		CHECK_FOR_INTERRUPTS();
		if (leaf->applications[i]->is_active)
			take_of_application(&search, leaf->applications[i]);
	}
	take_masters(&search);
	pfree(search.masters);
}

void
yq_select_fifo(YqPreemption *state)
{
	bool		balances = state->selector == YQ_SELECTOR_FIFO_BALANCE;

	yq_ideal_allocation_compute(state, !balances && state->settings.balances_reserved, balances);
	yq_obtain_deduct_selected(state);
	for (int i = 0; i < state->queue_count; i++)
	{
		YqPreemptionQueue *leaf = state->queues[i];
		YqWanted   *wanted;

		if (!leaf->is_leaf || leaf->is_disabled)
			continue;
		wanted = yq_wanted_create(state);
		for (int label = 0; label < state->label_count; label++)
		{
			if (yq_amounts_compare(state->calculator, state->cluster, leaf->labels[label].obtain, nothing) > 0)
				yq_wanted_set(state, wanted, label, leaf->labels[label].obtain);
		}
		if (wanted->count > 0)
			take_of_leaf(state, leaf, wanted);
		yq_wanted_free(wanted);
	}
}
