/*-------------------------------------------------------------------------
 *
 * fewest_containers.c
 *	  The smallest number of containers that free enough of each amount.
 *
 * Sets of one size after the other are tried, in the order in which the first that is enough
 * is the one that is wanted.  A set is given up when the largest containers that are left
 * would not do, by one amount alone; and a container is passed over when one at least as
 * large in all amounts has been tried in its place.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "opportunistic/node_queue/fewest_containers.h"

/* Memory, virtual memory and cores. */
#define AMOUNTS 3

typedef struct Amounts
{
	int64		of[AMOUNTS];
} Amounts;

typedef struct Search
{
	const Amounts *containers;
	int			count;
	const int  *larger_before;	/* of each container: the last one before it that is at least as large, or -1 */
	Amounts    *largest_sums;	/* of each container and number: sums of so many of those from it on, each amount by itself */
	int			most;			/* numbers in there are 0 to this */
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

/* Is there at least as much of each? */
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

/* -- one by one ---------------------------------------------------------------- */

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

/* All together are enough.  Returns how many are chosen. */
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

/* Of the containers from the last one on, of which more and more are known. */
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

/* Can so many of the containers from one on cover what lacks?  They are chosen if so. */
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

/* The number that one by one has found is enough, if no smaller one is. */
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

bool
yq_fewest_containers_choose(const YqNodeAmounts *amounts, int count, YqNodeAmounts lacking, bool *is_chosen)
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
