/*-------------------------------------------------------------------------
 *
 * preemption_candidates.c
 *	  Orders the containers of an application, and decides whether a container is worth
 *	  taking.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "preemption/preemption_candidates.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

YqWanted *
yq_wanted_create(const YqPreemption *state)
{
	YqWanted   *wanted = palloc0(sizeof(YqWanted));

	wanted->amounts = palloc0(state->label_count * state->calculator->types * sizeof(int64));
	wanted->is_wanted = palloc0(state->label_count * sizeof(bool));
	return wanted;
}

void
yq_wanted_set(const YqPreemption *state, YqWanted *wanted, int label, const int64 *amounts)
{
	memcpy(wanted->amounts + (size_t) label * state->calculator->types, amounts,
		   state->calculator->types * sizeof(int64));
	wanted->is_wanted[label] = true;
	wanted->count++;
}

void
yq_wanted_free(YqWanted *wanted)
{
	pfree(wanted->amounts);
	pfree(wanted->is_wanted);
	pfree(wanted);
}

/* -- order ------------------------------------------------------------------ */

static int
compare_requests(const YqPreemption *state, const YqPreemptionContainer *a, const YqPreemptionContainer *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (state->settings.candidate_order == YQ_LEAST_PAID)
		return a->paid_rank < b->paid_rank ? -1 : a->paid_rank > b->paid_rank;
	if (a->allocation_request_id != b->allocation_request_id)
		return a->allocation_request_id > b->allocation_request_id ? -1 : 1;
	return 0;
}

static int
compare_candidates(const void *left, const void *right, void *state)
{
	const YqPreemptionContainer *a = *(YqPreemptionContainer *const *) left;
	const YqPreemptionContainer *b = *(YqPreemptionContainer *const *) right;
	int			result;

	if (a->is_reserved != b->is_reserved)
		return a->is_reserved ? -1 : 1;
	result = a->is_reserved ? strcmp(a->node->name, b->node->name) : compare_requests(state, a, b);
	return result != 0 ? result : yq_preemption_compare_ids(b, a);
}

void
yq_candidates_sort(YqPreemption *state, YqPreemptionApplication *application)
{
	if (application->is_sorted)
		return;
	if (state->settings.candidate_order == YQ_LEAST_PAID && state->price_candidates != NULL)
		state->price_candidates(state, application);
	if (application->container_count > 0)
		qsort_arg(application->containers, application->container_count, sizeof(YqPreemptionContainer *),
				  compare_candidates, state);
	application->is_sorted = true;
}

/* -- choice ----------------------------------------------------------------- */

/* Would taking the container reduce the wanted amounts?  Resource types of which nothing is wanted do not count. */
static bool
reduces_wanted(const YqPreemption *state, const int64 *wanted, const YqPreemptionContainer *container)
{
	const YqCalculator *calculator = state->calculator;
	int64		before[YQ_MAX_RESOURCE_TYPES];
	int64		after[YQ_MAX_RESOURCE_TYPES];

	memcpy(before, wanted, calculator->types * sizeof(int64));
	yq_amounts_raise_each(calculator, before, nothing);
	memcpy(after, wanted, calculator->types * sizeof(int64));
	yq_amounts_subtract_to_none(calculator, after, container->amounts);
	return yq_amounts_compare(calculator, state->cluster, after, before) < 0;
}

bool
yq_candidate_try(YqPreemption *state, YqWanted *wanted, YqPreemptionContainer *container, bool is_conservative)
{
	const YqCalculator *calculator = state->calculator;
	int			label = container->node->label;
	int64	   *amounts = wanted->amounts + (size_t) label * calculator->types;

	if (container->is_selected || !wanted->is_wanted[label])
		return false;
	for (int i = 0; i < calculator->types; i++)
	{
		if (amounts[i] == 0)
			amounts[i] = -1;
	}
	if (!yq_amounts_any_above_none(calculator, amounts) ||
		!yq_amounts_fit_in_by(calculator, container->amounts, state->allowed))
		return false;
	if (is_conservative ? yq_amounts_any_none_or_below(calculator, amounts) :
		!reduces_wanted(state, amounts, container))
		return false;
	yq_amounts_subtract(calculator, amounts, container->amounts);
	yq_amounts_subtract(calculator, state->allowed, container->amounts);
	if (yq_amounts_compare(calculator, state->cluster, amounts, nothing) <= 0)
	{
		wanted->is_wanted[label] = false;
		wanted->count--;
	}
	yq_preemption_select(state, container);
	return true;
}
