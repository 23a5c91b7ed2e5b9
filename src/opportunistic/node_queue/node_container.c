/*-------------------------------------------------------------------------
 *
 * node_container.c
 *	  Manages the containers of a node: its measured use, and the orders in which
 *	  containers start and are killed.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/int.h"
#include "miscadmin.h"
#include "opportunistic/node_queue/node_container.h"

/* -- measured use -------------------------------------------------------------- */

/* Compute the measured use of a node from its last report, and compare it with the thresholds. */

#define MILLION INT64CONST(1000000)

/*
 * Return a fraction of a total, rounded down, or PG_INT64_MAX if the result is larger.
 *
 * Whole millions and the remainder are multiplied separately, so no intermediate result
 * overflows unless the final result does.
 */
static int64
measured_part(int64 total, int64 millionths)
{
	int64		part;

	if (pg_mul_s64_overflow(total / MILLION, millionths, &part) ||
		pg_add_s64_overflow(part, total % MILLION * millionths / MILLION, &part))
		return PG_INT64_MAX;
	return part;
}

static int64
saturating_sum(int64 a, int64 b)
{
	int64		sum;

	return pg_add_s64_overflow(a, b, &sum) ? PG_INT64_MAX : sum;
}

int64
yq_measured_room(const YqMeasuredAmount *amount, int64 guaranteed, int64 guaranteed_since, int64 opportunistic_since)
{
	int64		used;

	if (amount->thresholds.threshold == 0 || amount->measured == 0)
		return PG_INT64_MIN;
	used = Max(saturating_sum(amount->measured, guaranteed_since), guaranteed);
	/* neither term is negative, so the difference cannot overflow */
	return measured_part(amount->total, amount->thresholds.threshold) - saturating_sum(used, opportunistic_since);
}

int64
yq_measured_excess(const YqMeasuredAmount *amount)
{
	if (amount->thresholds.preemption_threshold == 0 || amount->total == 0)
		return 0;
	return Max(amount->measured - measured_part(amount->total, amount->thresholds.preemption_threshold), 0);
}

bool
yq_measured_has_excess(const YqMeasuredUse *use)
{
	return use->is_told && (yq_measured_excess(&use->memory) > 0 || yq_measured_excess(&use->vcores) > 0);
}

char *
yq_measured_fraction(int64 millionths)
{
	char	   *fraction = psprintf(INT64_FORMAT ".%06d", millionths / MILLION, (int) (millionths % MILLION));
	int			length = strlen(fraction);

	while (fraction[length - 1] == '0')
		length--;
	if (fraction[length - 1] == '.')
		length--;
	fraction[length] = '\0';
	return fraction;
}

/* -- start order --------------------------------------------------------------- */

/* Choose the next OPPORTUNISTIC container to start, among those that wait at the node. */

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

/*
 * Count each user's running OPPORTUNISTIC containers.  Containers that are being killed
 * or paused do not count.
 */
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

/* -- choice of the first container ----------------------------------------------- */

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

/* -- fewest containers --------------------------------------------------------- */

/*
 * Find the smallest number of containers that together free enough of each amount.
 *
 * The search tries sets of containers in order of increasing size.  Among sets of equal
 * size, the order is chosen so that the first sufficient set is the result.  The search
 * abandons a set if, for some amount, even the largest of the remaining containers
 * would not suffice.  It skips a container if another container, at least as large in
 * all amounts, has already been tried at the same position.
 */

/* Limit on the steps of a search.  This number of steps takes some milliseconds. */
#define YQ_FEWEST_MOST_STEPS 200000

/*
 * Limit on the size of the table of sums.  The size is the number of all containers times the
 * number of containers that the greedy choice takes.  A larger table is not searched.
 */
#define YQ_FEWEST_MOST_SUMS 1000000

/* Number of amounts: memory, virtual memory and cores. */
#define AMOUNTS 3

typedef struct Amounts
{
	int64		of[AMOUNTS];
} Amounts;

typedef struct Search
{
	const Amounts *containers;
	int			count;
	const int  *larger_before;	/* per container: the nearest earlier container that is at least as large, or -1 */
	Amounts    *largest_sums;	/* per container and number n: largest sum of n containers, from this container to
								 * the last */
	int			most;			/* largest n in largest_sums; the smallest is 0 */
	bool	   *is_chosen;
	int			steps;
} Search;

static Amounts
amounts_of(const YqNodeAmounts *amounts)
{
	return (Amounts) {{amounts->memory, amounts->virtual_memory, amounts->vcores}};
}

static Amounts
less(Amounts left, const Amounts *taken)
{
	for (int i = 0; i < AMOUNTS; i++)
		left.of[i] -= taken->of[i];
	return left;
}

/* Is each amount in "there" at least as large as the amount in "wanted"? */
static bool
covers(const Amounts *there, const Amounts *wanted)
{
	for (int i = 0; i < AMOUNTS; i++)
	{
		if (there->of[i] < wanted->of[i])
			return false;
	}
	return true;
}

/* -- greedy choice ------------------------------------------------------------- */

static int
first_lacking(const Amounts *lacking)
{
	for (int i = 0; i < AMOUNTS; i++)
	{
		if (lacking->of[i] > 0)
			return i;
	}
	return -1;
}

static int
largest_left(const Search *search, int amount)
{
	int			largest = -1;

	for (int i = 0; i < search->count; i++)
	{
		if (!search->is_chosen[i] &&
			(largest < 0 || search->containers[i].of[amount] > search->containers[largest].of[amount]))
			largest = i;
	}
	return largest;
}

/*
 * Choose the largest container for the first lacking amount, until nothing is lacking.
 * All containers together would be enough.  Returns the number of chosen containers.
 */
static int
choose_one_by_one(Search *search, Amounts lacking)
{
	static const Amounts nothing = {{0}};
	int			chosen = 0;
	int			amount;

	memset(search->is_chosen, false, sizeof(bool) * search->count);
	while ((amount = first_lacking(&lacking)) >= 0)
	{
		int			next = largest_left(search, amount);

		CHECK_FOR_INTERRUPTS();
		search->is_chosen[next] = true;
		lacking = less(lacking, &search->containers[next]);
		chosen++;
	}
	for (int i = search->count - 1; i >= 0; i--)
	{
		Amounts		without = lacking;

		if (!search->is_chosen[i])
			continue;
		for (int j = 0; j < AMOUNTS; j++)
			without.of[j] += search->containers[i].of[j];
		if (!covers(&nothing, &without))
			continue;
		search->is_chosen[i] = false;
		lacking = without;
		chosen--;
	}
	return chosen;
}

/* -- the search ------------------------------------------------------------------ */

static const int *
find_larger_before(const Amounts *containers, int count)
{
	int		   *larger = palloc(sizeof(int) * count);

	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		larger[i] = i - 1;
		while (larger[i] >= 0 && !covers(&containers[larger[i]], &containers[i]))
			larger[i]--;
	}
	return larger;
}

static Amounts *
largest_sums_from(const Search *search, int container)
{
	return &search->largest_sums[(Size) container * (search->most + 1)];
}

/* Compute largest_sums, from the last container backwards. */
static void
sum_up_largest(Search *search)
{
	int64	   *sorted[AMOUNTS];

	search->largest_sums = palloc_extended(sizeof(Amounts) * (search->count + 1) * (search->most + 1), MCXT_ALLOC_HUGE);
	memset(largest_sums_from(search, search->count), 0, sizeof(Amounts) * (search->most + 1));
	for (int i = 0; i < AMOUNTS; i++)
		sorted[i] = palloc0(sizeof(int64) * (search->most + 1));
	for (int container = search->count - 1; container >= 0; container--)
	{
		Amounts    *sums = largest_sums_from(search, container);

		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < AMOUNTS; i++)
		{
			int			place = search->most;

			for (; place > 0 && sorted[i][place - 1] < search->containers[container].of[i]; place--)
				sorted[i][place] = sorted[i][place - 1];
			sorted[i][place] = search->containers[container].of[i];
			sums[0].of[i] = 0;
			for (int number = 1; number <= search->most; number++)
				sums[number].of[i] = sums[number - 1].of[i] + sorted[i][number - 1];
		}
	}
}

/*
 * Can "number" containers, none of them before position "from", cover the lacking
 * amounts?  If so, choose them.
 */
static bool
find(Search *search, int from, int number, Amounts lacking)
{
	check_stack_depth();
	if (number == 0)
		return first_lacking(&lacking) < 0;
	for (int i = from; i <= search->count - number; i++)
	{
		if (search->steps++ >= YQ_FEWEST_MOST_STEPS || !covers(&largest_sums_from(search, i)[number], &lacking))
			return false;
		if (search->larger_before[i] >= from)
			continue;
		if (find(search, i + 1, number - 1, less(lacking, &search->containers[i])))
		{
			search->is_chosen[i] = true;
			return true;
		}
	}
	return false;
}

/*
 * Find the smallest number of containers that is enough, among the numbers up to
 * "most".  Returns false if there is none.
 */
static bool
find_fewest(Search *search, Amounts lacking)
{
	memset(search->is_chosen, false, sizeof(bool) * search->count);
	for (int number = 1; number <= search->most; number++)
	{
		CHECK_FOR_INTERRUPTS();
		if (find(search, 0, number, lacking))
			return true;
	}
	return false;
}

/*
 * Set is_chosen for each container.  The first container is the newest.  If all
 * containers together are not enough, all are chosen.  Returns false if the search
 * reached its limit; a smaller number of containers may then be enough.
 */
static bool
fewest_containers_choose(const YqNodeAmounts *amounts, int count, YqNodeAmounts lacking, bool *is_chosen)
{
	Amounts    *containers = palloc(sizeof(Amounts) * Max(count, 1));
	Amounts		left = amounts_of(&lacking);
	Search		search = {.containers = containers,.count = count,.is_chosen = is_chosen};

	for (int i = 0; i < count; i++)
	{
		containers[i] = amounts_of(&amounts[i]);
		left = less(left, &containers[i]);
		is_chosen[i] = true;
	}
	if (first_lacking(&left) >= 0)
		return true;
	search.most = choose_one_by_one(&search, amounts_of(&lacking));
	if ((int64) count * search.most >= YQ_FEWEST_MOST_SUMS)
		return false;
	search.larger_before = find_larger_before(containers, count);
	sum_up_largest(&search);
	if (find_fewest(&search, amounts_of(&lacking)))
		return true;
	(void) choose_one_by_one(&search, amounts_of(&lacking));
	return false;
}

/* -- kill order ---------------------------------------------------------------- */

/* Choose the running OPPORTUNISTIC containers that are paused or killed to free given amounts. */

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
	fewest_containers_choose(amounts, count, lacking, is_chosen);
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
