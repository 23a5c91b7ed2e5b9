/*-------------------------------------------------------------------------
 *
 * intra_queue_selector.c
 *	  Takes containers from applications of a leaf.  The containers are taken for
 *	  other applications of the leaf, with higher priority or of users below their
 *	  limit.
 *
 * On each label, the selector divides the leaf's usage among its applications,
 * beginning with the most important one.  The result is their ideal allocation.  The
 * selector then covers shortfalls by taking from other applications, beginning with the
 * least important one.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/application.h"
#include "lib/rbtree.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "preemption/ideal_allocation.h"
#include "preemption/preemption_candidates.h"
#include "preemption/preemption_round.h"
#include "preemption/preemption_state.h"

/* -- fair order ---------------------------------------------------------------- */

/*
 * Order the applications of a fair leaf for preemption.
 *
 * The comparison contradicts itself in two cases.  In the first case, two users have usages
 * that are equal for the calculator, but different in some types.  Then each user comes
 * after the other.  In the second case, two users have equal usages.  Their applications
 * are then compared by id, but the applications of one user by the leaf's order.
 *
 * The result of sorting therefore depends on the algorithm, and this file uses the same
 * algorithms as Hadoop.  A heap determines the order in which applications receive their
 * shares.  A red-black tree, filled in that order, determines the order in which
 * applications give up containers.
 */

/*
 * Sort applications into the order in which they receive their shares.  The input is in the
 * leaf's order, with inactive applications first.
 */
static void
fair_order_parts(YqPreemptionApplication **applications, int count, YqHeapComparison compare, void *argument)
{
	void	  **heap = palloc(Max(count, 1) * sizeof(void *));

	for (int i = 0; i < count; i++)
		yq_priority_heap_add(heap, i, applications[i], compare, argument);
	for (int i = 0; i < count; i++)
		applications[i] = yq_priority_heap_remove(heap, count - i, compare, argument);
	pfree(heap);
}

typedef struct TreeNode
{
	RBTNode		node;
	YqPreemptionApplication *application;
} TreeNode;

typedef struct Tree
{
	YqHeapComparison compare;
	void	   *argument;
} Tree;

/* Reverse the comparison, so that the last application comes first. */
static int
compare_nodes(const RBTNode *a, const RBTNode *b, void *argument)
{
	const Tree *tree = argument;

	return tree->compare(((const TreeNode *) b)->application, ((const TreeNode *) a)->application, tree->argument);
}

/* Raise an error, because two applications never compare as equal. */
static void
combine_nodes(RBTNode *existing, const RBTNode *added, void *argument)
{
	Assert(false);
}

static RBTNode *
allocate_node(void *argument)
{
	return palloc(sizeof(TreeNode));
}

/*
 * Sort applications into the order in which they give up containers; the last application
 * comes first.  The input is in the order in which applications receive their shares.
 */
static void
fair_order_givers(YqPreemptionApplication **applications, int count, YqHeapComparison compare, void *argument)
{
	Tree		tree = {.compare = compare,.argument = argument};
	RBTree	   *givers = rbt_create(sizeof(TreeNode), compare_nodes, combine_nodes, allocate_node, NULL, &tree);
	RBTreeIterator iterator;
	int			at = count;

	for (int i = 0; i < count; i++)
	{
		TreeNode	added = {.application = applications[i]};
		bool		is_new;

		rbt_insert(givers, &added.node, &is_new);
	}
	rbt_begin_iterate(givers, LeftRightWalk, &iterator);
	for (RBTNode *node; (node = rbt_iterate(&iterator)) != NULL;)
		applications[--at] = ((TreeNode *) node)->application;
}

/* -- intra queue selector ------------------------------------------------------ */

/*
 * Divide the leaf's usage on each label among its applications, beginning with the most
 * important application.  The result is the ideal allocation of each application.  If an
 * application has less, then take the difference from others, beginning with the least
 * important application.
 */

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* A leaf and a label on which the leaf's applications compete. */
typedef struct Contest
{
	YqPreemption *state;
	const YqCalculator *calculator;
	YqPreemptionQueue *leaf;
	int			label;
	bool		is_userlimit_first;
	YqPreemptionApplication **applications; /* the most important application comes first */
	int			count;
} Contest;

static int
compare(const Contest *contest, const int64 *a, const int64 *b)
{
	return yq_amounts_compare(contest->calculator, contest->state->cluster, a, b);
}

static bool
is_some(const Contest *contest, const int64 *amounts)
{
	return compare(contest, amounts, nothing) > 0;
}

/* Return the smaller of two amounts.  The calculator compares the amounts as a whole, not type by type. */
static const int64 *
lesser(const Contest *contest, const int64 *a, const int64 *b)
{
	return yq_amounts_min(contest->calculator, contest->state->cluster, a, b);
}

static Size
amounts_size(const Contest *contest)
{
	return contest->calculator->types * sizeof(int64);
}

static YqPreemptionApplicationLabel *
of_application(const Contest *contest, const YqPreemptionApplication *application)
{
	return &application->labels[contest->label];
}

static YqPreemptionUserLabel *
of_user(const Contest *contest, const YqPreemptionApplication *application)
{
	return &application->user->labels[contest->label];
}

/* -- users and order ---------------------------------------------------------- */

/* Allocate the figures of a label, all set to zero. */
static void
make_figures(const Contest *contest)
{
	const YqPreemption *state = contest->state;

	for (int i = 0; i < contest->leaf->user_count; i++)
	{
		YqPreemptionUserLabel *user = &contest->leaf->users[i]->labels[contest->label];

		user->is_computed = true;
		user->master_used = yq_preemption_amounts(state);
		user->limit_without_masters = yq_preemption_copy(state, user->limit);
		user->ideal = yq_preemption_amounts(state);
		user->selected = yq_preemption_amounts(state);
		user->remaining = yq_preemption_copy(state, user->used);
	}
	for (int i = 0; i < contest->count; i++)
	{
		YqPreemptionApplicationLabel *application = of_application(contest, contest->applications[i]);

		application->is_computed = true;
		application->ideal = yq_preemption_amounts(state);
		application->wants = yq_preemption_amounts(state);
		application->gives = yq_preemption_amounts(state);
		application->taken = yq_preemption_amounts(state);
		application->selected = yq_preemption_amounts(state);
	}
}

/*
 * Exclude the masters of active applications.  Masters are not given up, and do not count against
 * limits.  Their size is also deducted from the amount to divide.
 */
static void
set_aside_masters(const Contest *contest, int64 *divided)
{
	for (int i = 0; i < contest->count; i++)
	{
		YqPreemptionUserLabel *user = of_user(contest, contest->applications[i]);
		const int64 *size = of_application(contest, contest->applications[i])->master_used;

		if (!contest->applications[i]->is_active)
			continue;
		yq_amounts_add(contest->calculator, user->master_used, size);
		yq_amounts_subtract(contest->calculator, user->limit_without_masters, size);
		yq_amounts_subtract(contest->calculator, divided, size);
	}
}

/* Set the usage of a user, without application masters. */
static void
set_used_without_masters(const Contest *contest, const YqPreemptionUserLabel *user, int64 *used)
{
	memcpy(used, user->used, amounts_size(contest));
	yq_amounts_subtract(contest->calculator, used, user->master_used);
}

static int
compare_by_id(const YqPreemptionApplication *a, const YqPreemptionApplication *b)
{
	return yq_application_id_compare(a->application_id, b->application_id);
}

static int
compare_by_priority(const void *left, const void *right)
{
	const YqPreemptionApplication *a = *(YqPreemptionApplication *const *) left;
	const YqPreemptionApplication *b = *(YqPreemptionApplication *const *) right;

	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	return compare_by_id(a, b);
}

/*
 * Compare applications by the usage of their users; lower usage comes first.  Applications of the
 * same user compare as in the leaf's order.  Like Hadoop's comparison, it contradicts itself; see
 * the comment on the fair order above.
 */
static int
compare_fairly(const void *left, const void *right, void *argument)
{
	const YqPreemptionApplication *a = left;
	const YqPreemptionApplication *b = right;
	const Contest *contest = argument;
	int64		a_used[YQ_MAX_RESOURCE_TYPES];
	int64		b_used[YQ_MAX_RESOURCE_TYPES];

	if (a->user == b->user)
		return a->order - b->order;
	set_used_without_masters(contest, of_user(contest, a), a_used);
	set_used_without_masters(contest, of_user(contest, b), b_used);
	if (!yq_amounts_are_equal(contest->calculator, a_used, b_used))
		return compare(contest, a_used, b_used) < 0 ? -1 : 1;
	return compare_by_id(a, b);
}

/* Copy the leaf's applications.  Inactive applications come first. */
static void
copy_applications(Contest *contest)
{
	int			count = 0;

	for (int i = 0; i < contest->count; i++)
	{
		if (!contest->leaf->applications[i]->is_active)
			contest->applications[count++] = contest->leaf->applications[i];
	}
	for (int i = 0; i < contest->count; i++)
	{
		if (contest->leaf->applications[i]->is_active)
			contest->applications[count++] = contest->leaf->applications[i];
	}
}

/* -- ideal allocations ----------------------------------------------------------- */

/*
 * Set the amounts that earlier selectors have taken from an application.  A container
 * counts on the label that it requested.
 */
static void
set_selected(const Contest *contest, const YqPreemptionApplication *application)
{
	for (int i = 0; i < application->container_count; i++)
	{
		const YqPreemptionContainer *container = application->containers[i];

		if (!container->is_selected || container->label != contest->label)
			continue;
		yq_amounts_add(contest->calculator, of_application(contest, application)->selected, container->amounts);
		yq_amounts_add(contest->calculator, of_user(contest, application)->selected, container->amounts);
	}
}

/* Set the usage that an application may give up.  Its master and the selected containers are not part of it. */
static void
set_held(const Contest *contest, const YqPreemptionApplication *application, int64 *held)
{
	const YqPreemptionApplicationLabel *figured = of_application(contest, application);

	memcpy(held, figured->used, amounts_size(contest));
	if (!application->waits_for_master)
		yq_amounts_subtract(contest->calculator, held, figured->master_used);
	yq_amounts_subtract(contest->calculator, held, figured->selected);
}

/* Give an application its share of the divided amount.  The share is limited by the limit of its user. */
static void
set_ideal(const Contest *contest, const YqPreemptionApplication *application, int64 *divided)
{
	const YqCalculator *calculator = contest->calculator;
	YqPreemptionApplicationLabel *figured = of_application(contest, application);
	YqPreemptionUserLabel *user = of_user(contest, application);
	int64		held[YQ_MAX_RESOURCE_TYPES];
	int64		asked[YQ_MAX_RESOURCE_TYPES];
	int64		left[YQ_MAX_RESOURCE_TYPES];

	if (!is_some(contest, divided) ||
		(contest->state->settings.intra_queue_is_conservative && yq_amounts_any_none_or_below(calculator, divided)))
		return;
	set_selected(contest, application);
	if (compare(contest, user->ideal, user->limit_without_masters) >= 0)
		return;
	set_held(contest, application, held);
	memcpy(asked, held, amounts_size(contest));
	yq_amounts_add(calculator, asked, figured->pending);
	memcpy(left, user->limit_without_masters, amounts_size(contest));
	yq_amounts_subtract(calculator, left, user->ideal);
	memcpy(figured->ideal, lesser(contest, divided, lesser(contest, asked, left)), amounts_size(contest));
	yq_amounts_add(calculator, user->ideal, figured->ideal);
	if (compare(contest, figured->ideal, held) > 0)
	{
		memcpy(figured->wants, figured->ideal, amounts_size(contest));
		yq_amounts_subtract(calculator, figured->wants, held);
	}
	yq_amounts_subtract_to_none(calculator, divided, figured->ideal);
}

/*
 * Divide the amount among the applications.  On return, they are in the order in which they
 * give up containers; the last application comes first.
 */
static void
set_ideals(Contest *contest, int64 *divided)
{
	bool		is_fair = contest->leaf->is_fair && contest->is_userlimit_first;

	if (is_fair)
		fair_order_parts(contest->applications, contest->count, compare_fairly, contest);
	else
		qsort(contest->applications, contest->count, sizeof(YqPreemptionApplication *), compare_by_priority);
	for (int i = 0; i < contest->count; i++)
		set_ideal(contest, contest->applications[i], divided);
	if (is_fair)
		fair_order_givers(contest->applications, contest->count, compare_fairly, contest);
}

/* Set the most that applications may give up: a fraction of the leaf's guarantee, but no more than the budget. */
static void
set_most_given(const Contest *contest, int64 *most)
{
	const YqPreemption *state = contest->state;
	const YqPreemptionQueueLabel *figured = &contest->leaf->labels[contest->label];

	yq_amounts_multiply(contest->calculator, most, figured->guaranteed, state->settings.intra_queue_limit);
	if (compare(contest, most, figured->obtain) > 0)
		yq_amounts_subtract(contest->calculator, most, figured->obtain);
	else
		memset(most, 0, amounts_size(contest));
	memmove(most, lesser(contest, most, state->allowed), amounts_size(contest));
}

/* Set the amount that an application may give up: its usage above its ideal allocation. */
static void
set_gives(const Contest *contest, const YqPreemptionApplication *application, int64 *most)
{
	const YqCalculator *calculator = contest->calculator;
	YqPreemptionApplicationLabel *figured = of_application(contest, application);
	int64		excess[YQ_MAX_RESOURCE_TYPES];

	if (!is_some(contest, most) || !is_some(contest, figured->used))
		return;
	memcpy(excess, figured->used, amounts_size(contest));
	yq_amounts_subtract(calculator, excess, figured->ideal);
	yq_amounts_subtract_to_none(calculator, excess, figured->selected);
	yq_amounts_subtract_to_none(calculator, excess, application->waits_for_master ? nothing : figured->master_used);
	if (contest->is_userlimit_first)
		yq_amounts_subtract_to_none(calculator, excess, contest->state->minimum_allocation);
	memcpy(figured->gives,
		   lesser(contest, yq_amounts_max(calculator, contest->state->cluster, excess, nothing), most),
		   amounts_size(contest));
	yq_amounts_subtract_to_none(calculator, most, figured->gives);
}

/* -- matches -------------------------------------------------------------------- */

static bool
is_above_limit(const Contest *contest, const YqPreemptionApplication *application)
{
	const YqPreemptionUserLabel *user = of_user(contest, application);
	int64		used[YQ_MAX_RESOURCE_TYPES];

	set_used_without_masters(contest, user, used);
	return compare(contest, used, user->limit_without_masters) > 0;
}

/*
 * Limit what the giver loses to an application that has the same priority and another user.  The
 * limit is the amount by which the giver's user exceeds the user limit.  A user loses this surplus
 * only once.
 */
static void
limit_to_surplus(const Contest *contest, const YqPreemptionApplication *giver, int64 *given)
{
	YqPreemptionUserLabel *user = of_user(contest, giver);
	int64		surplus[YQ_MAX_RESOURCE_TYPES] = {0};

	if (!user->has_given_surplus)
	{
		set_used_without_masters(contest, user, surplus);
		yq_amounts_subtract(contest->calculator, surplus, user->selected);
		yq_amounts_subtract(contest->calculator, surplus, user->limit_without_masters);
	}
	if (compare(contest, surplus, given) < 0)
	{
		user->has_given_surplus = true;
		memcpy(given, surplus, amounts_size(contest));
	}
}

/*
 * Let the giver lose the amount that the taker wants, or the part of it that the giver may lose
 * (semantics/preemption 7.4).
 */
static void
match(const Contest *contest, const YqPreemptionApplication *taker, const YqPreemptionApplication *giver)
{
	YqPreemptionApplicationLabel *taking = of_application(contest, taker);
	YqPreemptionApplicationLabel *giving = of_application(contest, giver);
	bool		is_same_user = taker->user == giver->user;
	int64		given[YQ_MAX_RESOURCE_TYPES];

	if (!is_some(contest, giving->gives) || (is_same_user && giver->priority >= taker->priority) ||
		compare(contest, giving->gives, giving->taken) <= 0 || yq_amounts_are_none(contest->calculator, taking->wants))
		return;
	if (!is_same_user && contest->is_userlimit_first && !is_above_limit(contest, giver))
		return;
	memcpy(given, giving->gives, amounts_size(contest));
	yq_amounts_subtract(contest->calculator, given, giving->taken);
	if (!is_same_user && giver->priority == taker->priority && is_above_limit(contest, giver))
		limit_to_surplus(contest, giver, given);
	if (!is_some(contest, given))
		return;
	memmove(given, lesser(contest, taking->wants, given), amounts_size(contest));
	yq_amounts_subtract(contest->calculator, taking->wants, given);
	yq_amounts_add(contest->calculator, giving->taken, given);
}

static void
match_applications(const Contest *contest)
{
	for (int taker = 0; taker < contest->count; taker++)
	{
		if (!is_some(contest, of_application(contest, contest->applications[taker])->wants))
			continue;
		CHECK_FOR_INTERRUPTS();
		for (int giver = contest->count - 1; giver >= 0; giver--)
			match(contest, contest->applications[taker], contest->applications[giver]);
	}
}

/* -- a contest --------------------------------------------------------------------- */

/*
 * Compute how much each application of a leaf wants and gives up on a label.  Returns NULL
 * if the applications do not compete.
 */
static Contest *
hold_contest(YqPreemption *state, YqPreemptionQueue *leaf, int label)
{
	const YqPreemptionQueueLabel *figured = &leaf->labels[label];
	Contest    *contest;
	int64		divided[YQ_MAX_RESOURCE_TYPES];
	int64		most[YQ_MAX_RESOURCE_TYPES];

	yq_preemption_complete_leaf(state, leaf);
	if (leaf->application_count < 2)
		return NULL;
	contest = palloc(sizeof(Contest));
	*contest = (Contest) {.state = state,.calculator = state->calculator,.leaf = leaf,.label = label,
		.is_userlimit_first = state->settings.intra_queue_order == YQ_USERLIMIT_FIRST,
		.count = leaf->application_count};
	contest->applications = palloc(contest->count * sizeof(YqPreemptionApplication *));
	copy_applications(contest);
	memcpy(divided, figured->used, amounts_size(contest));
	yq_amounts_subtract(contest->calculator, divided, figured->obtain);
	make_figures(contest);
	set_aside_masters(contest, divided);
	set_ideals(contest, divided);
	set_most_given(contest, most);
	for (int i = contest->count - 1; i >= 0; i--)
		set_gives(contest, contest->applications[i], most);
	match_applications(contest);
	return contest;
}

/*
 * Would the user fall to or below its limit without the container?  Then the application
 * gives up no more containers.
 */
static bool
comes_to_limit(const Contest *contest, const YqPreemptionContainer *container)
{
	const YqPreemptionUser *user = container->application->user;
	const YqPreemptionUserLabel *limited = &user->labels[container->node->label];
	int64		remaining[YQ_MAX_RESOURCE_TYPES];

	if (!contest->is_userlimit_first || !limited->is_computed)
		return false;
	memcpy(remaining, user->labels[contest->label].remaining, amounts_size(contest));
	yq_amounts_subtract(contest->calculator, remaining, container->amounts);
	return compare(contest, remaining, limited->limit) <= 0;
}

static void
take_of_application(const Contest *contest, YqPreemptionApplication *application, YqWanted *wanted)
{
	YqPreemption *state = contest->state;

	yq_candidates_sort(state, application);
	for (int i = 0; i < application->container_count && wanted->count > 0; i++)
	{
		YqPreemptionContainer *container = application->containers[i];

		if (container->is_reserved || container->is_selected || container->is_killable || container->is_master)
			continue;
		if (comes_to_limit(contest, container))
			break;
		if (yq_candidate_try(state, wanted, container, state->settings.intra_queue_is_conservative))
			yq_amounts_subtract(contest->calculator, of_user(contest, application)->remaining, container->amounts);
	}
}

/*
 * Select containers until the sum of the amounts that applications must lose is reached.
 * An application may lose more than its own amount.
 */
static void
take_of_contest(const Contest *contest)
{
	YqPreemption *state = contest->state;
	YqWanted   *wanted = yq_wanted_create(state);
	int64		taken[YQ_MAX_RESOURCE_TYPES] = {0};

	for (int i = 0; i < contest->count; i++)
		yq_amounts_add(contest->calculator, taken, of_application(contest, contest->applications[i])->taken);
	yq_wanted_set(state, wanted, contest->label, taken);
	for (int i = contest->count - 1; i >= 0 && wanted->count > 0; i--)
	{
		CHECK_FOR_INTERRUPTS();
		if (!yq_amounts_are_none(contest->calculator, of_application(contest, contest->applications[i])->taken))
			take_of_application(contest, contest->applications[i], wanted);
	}
	yq_wanted_free(wanted);
}

static void
free_contest(Contest *contest)
{
	pfree(contest->applications);
	pfree(contest);
}

void
yq_select_intra_queue(YqPreemption *state)
{
	List	   *contests = NIL;
	ListCell   *cell;

	for (int label = 0; label < state->label_count; label++)
	{
		for (int i = 0; i < state->underserved_count[label]; i++)
		{
			YqPreemptionQueue *leaf = state->underserved[label][i];
			Contest    *contest;

			if (!leaf->is_leaf || leaf->is_intra_disabled ||
				leaf->labels[label].used_capacity < state->settings.intra_queue_threshold)
				continue;
			contest = hold_contest(state, leaf, label);
			if (contest != NULL)
				contests = lappend(contests, contest);
		}
	}
	yq_obtain_deduct_selected(state);
	foreach(cell, contests)
	{
		take_of_contest(lfirst(cell));
		free_contest(lfirst(cell));
	}
	list_free(contests);
}
