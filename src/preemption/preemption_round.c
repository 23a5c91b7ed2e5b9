/*-------------------------------------------------------------------------
 *
 * preemption_round.c
 *	  Runs one round of preemption: the selectors in order, then marks and kills.  This
 *	  file also contains the selectors that take from leaves above their guarantee.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/int.h"
#include "miscadmin.h"
#include "preemption/ideal_allocation.h"
#include "preemption/preemption_candidates.h"
#include "preemption/preemption_round.h"

/* -- fifo selector ------------------------------------------------------------- */

/*
 * Take containers from leaves above their guarantee.  The last application in the leaf's
 * order loses containers first.
 */

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* The amounts that a leaf must give up, and the application masters that have been passed over so far. */
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

/* -- containers on nodes of labels that the leaf may not use -------------------- */

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

/*
 * Find the containers of a leaf that requested the default partition, but run on nodes of
 * another partition.  The newest comes first.  The result is palloc'd.
 */
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
 * Give up every reservation that the selector examines, even if it did not select the
 * reservation.  Hadoop does so, too.
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

/*
 * Take application masters after all other containers, until the remaining masters fit in the share
 * of the leaf that masters may keep.
 */
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

/* -- reserved container selector ----------------------------------------------- */

/*
 * Take containers from leaves above their guarantee where this makes room for a
 * reservation.
 *
 * For each reserved node, the selector first computes whether it can make room, and at
 * which cost.  It then selects containers on these nodes, the cheapest node first, as long
 * as leaves still have amounts to give up.
 */

/* The amounts that each leaf may still lose on each label; NULL means nothing. */
typedef struct Quotas
{
	int64	  **amounts;
	int			count;
} Quotas;

/* A reserved node on which preemption can make room for the reservation. */
typedef struct NodePlan
{
	YqPreemptionNode *node;
	int			place;			/* position of the node among the nodes */
	float4		cost;			/* size of the containers to select, divided by the size of the reservation */
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
compare_newest_leaf(const void *a, const void *b)
{
	return yq_preemption_compare_ids(*(YqPreemptionContainer *const *) b, *(YqPreemptionContainer *const *) a);
}

/* Return the containers of a node, newest first.  The result is palloc'd. */
static YqPreemptionContainer **
newest_first(const YqPreemptionNode *node)
{
	YqPreemptionContainer **containers = palloc(Max(node->container_count, 1) * sizeof(YqPreemptionContainer *));

	if (node->container_count > 0)
	{
		memcpy(containers, node->containers, node->container_count * sizeof(YqPreemptionContainer *));
		qsort(containers, node->container_count, sizeof(YqPreemptionContainer *), compare_newest_leaf);
	}
	return containers;
}

/* Set the amount that is free on a node without further preemption.  Killable containers count as free. */
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

/* May a container be taken?  It must fit in what its leaf may still lose, and in the rest of the budget. */
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
 * Choose containers of a node, newest first, until there is room for the node's
 * reservation.  Sets the chosen containers that no selector has selected before, and the
 * sum of their sizes.
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

/* Can preemption make room on the node?  If so, sets the cost. */
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

/*
 * Choose the containers again, and select them if they make room.  If they do not, add their
 * amounts to what their leaves may lose again.  As in Hadoop, the budget stays reduced.
 */
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

/* -- preemption round ---------------------------------------------------------- */

static bool
is_enabled(const YqPreemptionSettings *settings, YqPreemptionSelector selector)
{
	switch (selector)
	{
		case YQ_SELECTOR_QUEUE_PRIORITY:
			return settings->selects_by_priority;
		case YQ_SELECTOR_RESERVED:
			return settings->selects_by_reserved;
		case YQ_SELECTOR_FIFO:
			return true;
		case YQ_SELECTOR_FIFO_BALANCE:
			return settings->balances_satisfied;
		case YQ_SELECTOR_INTRA_QUEUE:
			return settings->selects_intra_queue;
		case YQ_SELECTORS:
			break;
	}
	pg_unreachable();
}

static void
run(YqPreemption *state, YqPreemptionSelector selector)
{
	state->selector = selector;
	switch (selector)
	{
		case YQ_SELECTOR_QUEUE_PRIORITY:
			yq_select_by_queue_priority(state);
			break;
		case YQ_SELECTOR_RESERVED:
			yq_select_for_reservations(state);
			break;
		case YQ_SELECTOR_FIFO:
		case YQ_SELECTOR_FIFO_BALANCE:
			yq_select_fifo(state);
			break;
		case YQ_SELECTOR_INTRA_QUEUE:
			yq_select_intra_queue(state);
			break;
		case YQ_SELECTORS:
			pg_unreachable();
	}
	if (state->note_selector != NULL)
		state->note_selector(state, selector);
}

/* Return the time at which a wait ends.  A wait beyond the largest timestamp never ends. */
static TimestampTz
end_of_wait(TimestampTz marked_at, int64 wait)
{
	TimestampTz end;

	return pg_add_s64_overflow(marked_at, wait, &end) ? DT_NOEND : end;
}

/*
 * Mark a selected container, or kill it if its wait since the mark is over.  A killable
 * container stays killable: as in Hadoop, its application and the scheduler are informed
 * again.
 */
static void
decide(YqPreemption *state, const YqPreemptionSelection *selection)
{
	YqPreemptionContainer *container = selection->container;
	YqPreemptionOutcomeKind kind = YQ_PREEMPTION_OBSERVED;
	TimestampTz marked_at = container->marked_at;
	TimestampTz kill_at = DT_NOBEGIN;
	bool		was_marked = !TIMESTAMP_IS_NOBEGIN(marked_at);
	bool		acts = !state->settings.observes_only && !container->is_killable;
	YqPreemptionOutcome *outcome;

	if (!was_marked && acts)
	{
		kind = YQ_PREEMPTION_MARKED;
		marked_at = state->now;
	}
	if (!TIMESTAMP_IS_NOBEGIN(marked_at))
		kill_at = end_of_wait(marked_at, yq_preemption_wait(state, selection->selector));
	if (was_marked && kill_at <= state->now && acts)
		kind = state->settings.is_lazy ? YQ_PREEMPTION_KILLABLE : YQ_PREEMPTION_KILLED;
	if (kind == YQ_PREEMPTION_OBSERVED && container->is_unreserved)
		return;
	state->selector = selection->selector;
	outcome = yq_preemption_add_outcome(state, kind, container);
	outcome->marked_at = marked_at;
	outcome->kill_at = kill_at;
	outcome->figures = selection->figures;
}

void
yq_preemption_begin_round(YqPreemption *state, TimestampTz now)
{
	state->now = now;
	yq_amounts_multiply(state->calculator, state->allowed, state->cluster, state->settings.total_per_round);
}

void
yq_preemption_round(YqPreemption *state, TimestampTz now)
{
	yq_preemption_begin_round(state, now);
	for (int selector = 0; selector < YQ_SELECTORS; selector++)
	{
		if (is_enabled(&state->settings, selector))
			run(state, selector);
	}
	for (int i = 0; i < state->selection_count; i++)
		decide(state, &state->selections[i]);
}
