/*-------------------------------------------------------------------------
 *
 * shape_cost.c
 *	  The cost of one unit of a shape between two instants, interval by interval.
 *
 * Intervals are added one by one, or 64 and more at a time where price_block.c has a block.  As
 * long as the same resources are charged, even a long time takes only a few steps.  Nothing is
 * stored for a shape.
 *
 * Rivals are resources of which only the dearest is charged.  The charging mode makes all resources
 * rivals, or those of the same price group, or none (docs/semantics/charging.md 2.1).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "pricing/price_block.h"
#include "pricing/shape_cost.h"

void
yq_shape_cost_init(YqShapeCost *cost, const YqTimeline *timeline,
				   const YqResourceEntry *entries, int count, MemoryContext context)
{
	memset(cost, 0, sizeof(*cost));
	cost->timeline = timeline;
	cost->part_count = count;
	cost->resources = MemoryContextAlloc(context, sizeof(int) * Max(count, 1));
	cost->amounts = MemoryContextAlloc(context, sizeof(uint64) * Max(count, 1));
	for (int i = 0; i < count; i++)
		cost->amounts[i] = (uint64) entries[i].amount;
}

/* Return the project whose charging mode applies to the shape. */
static const char *
project_of_mode(const YqShapeCost *cost)
{
	return cost->factors == NULL || cost->factors->project_of_mode == NULL ? YQ_ALL_PROJECTS :
		cost->factors->project_of_mode;
}

YqChargingMode
yq_shape_cost_mode(const YqShapeCost *cost, int interval)
{
	if (cost->factors == NULL || cost->factors->project_of_mode == NULL)
		return cost->timeline->modes[interval];
	return yq_timeline_mode(project_of_mode(cost), cost->timeline->interval_from[interval]);
}

/* Tell whether two resources of the shape are rivals.  Only the dearest of a set of rivals is charged. */
static inline bool
are_rivals(const YqShapeCost *cost, YqChargingMode mode, int one, int other)
{
	const int  *groups = cost->timeline->resource_groups;

	switch (mode)
	{
		case YQ_CHARGE_SUM:
			return one == other;
		case YQ_CHARGE_SUM_OF_GROUPS:
			return groups[cost->resources[one]] == groups[cost->resources[other]];
		default:
			return true;
	}
}

/* Tell whether no resource before "part" in the shape is a rival of "part". */
static bool
is_first_rival(const YqShapeCost *cost, YqChargingMode mode, int part)
{
	for (int i = 0; i < part; i++)
	{
		if (are_rivals(cost, mode, i, part))
			return false;
	}
	return true;
}

/*
 * Find the dearest of resource "first" and its rivals after it in an interval.  Returns its number
 * in the shape, or -1 when none of them costs anything.
 */
static pg_attribute_always_inline int
dearest_resource(YqShapeCost *cost, int interval, YqChargingMode mode, int first, YqPrice *rate)
{
	const YqPrice *prices = &cost->timeline->prices[(Size) interval * cost->timeline->resource_count];
	int			dearest = -1;

	*rate = 0;
	if (cost->timeline->in_outage[interval])
		return -1;
	for (int i = first; i < cost->part_count; i++)
	{
		YqPrice		product;

		if (!are_rivals(cost, mode, first, i))
			continue;
		if (!yq_price_try_multiply(prices[cost->resources[i]], cost->amounts[i], &product))
		{
			cost->out_of_range = true;
			return -1;
		}
		if (product > *rate)
		{
			*rate = product;
			dearest = i;
		}
	}
	return dearest;
}

/* Add price x time x amount to a sum, multiplied by the factors in force at an instant. */
static void
add_cost_with_factors(const YqFactorSet *factors, TimestampTz at, YqPrice price, uint64 times,
					  YqWide *sum)
{
	YqWide		product = {{0}};

	if (yq_factor_set_in_outage(factors, at))
		return;
	yq_wide_add_product(&product, price, times);
	for (int i = 0; i < factors->chain_count; i++)
		yq_wide_multiply(&product, yq_factor_chain_value(&factors->chains[i], at, NULL));
	yq_wide_add(sum, &product);
}

/* Add price x time x amount to a sum, multiplied by the factors of the shape.  Most shapes have no factors. */
static inline void
add_cost(const YqShapeCost *cost, TimestampTz at, YqPrice price, uint64 times, YqWide *sum)
{
	if (cost->factors == NULL)
		yq_wide_add_product(sum, price, times);
	else
		add_cost_with_factors(cost->factors, at, price, times, sum);
}

/* Add the cost of the dearest resource among "first" and its rivals after it. */
static pg_attribute_always_inline void
add_time_of_rivals(YqShapeCost *cost, int interval, YqChargingMode mode, int first, uint64 microseconds,
				   YqWide *sums, bool by_resource)
{
	YqPrice		rate;
	int			dearest = dearest_resource(cost, interval, mode, first, &rate);

	if (dearest >= 0)
		add_cost(cost, cost->timeline->interval_from[interval], rate, microseconds,
				 by_resource ? &sums[dearest] : sums);
}

static void
add_time_of_sum(YqShapeCost *cost, int interval, YqChargingMode mode, uint64 microseconds,
				YqWide *sums, bool by_resource)
{
	for (int i = 0; i < cost->part_count; i++)
	{
		if (is_first_rival(cost, mode, i))
			add_time_of_rivals(cost, interval, mode, i, microseconds, sums, by_resource);
	}
}

static inline void
add_time(YqShapeCost *cost, int interval, uint64 microseconds, YqWide *sums, bool by_resource)
{
	YqChargingMode mode;

	/* ignore a rate out of range when no time is charged */
	if (microseconds == 0)
		return;
	mode = cost->timeline->adds_up ? yq_shape_cost_mode(cost, interval) : YQ_CHARGE_DEAREST;
	if (mode == YQ_CHARGE_DEAREST)
		add_time_of_rivals(cost, interval, YQ_CHARGE_DEAREST, 0, microseconds, sums, by_resource);
	else
		add_time_of_sum(cost, interval, mode, microseconds, sums, by_resource);
}

void
yq_shape_cost_add_time(YqShapeCost *cost, int interval, uint64 microseconds,
					   YqWide *sums, bool by_resource)
{
	add_time(cost, interval, microseconds, sums, by_resource);
}

/* Tell whether a factor, an outage or the charging mode changes between the starts of two intervals. */
static inline bool
terms_change(const YqShapeCost *cost, int first, int end)
{
	TimestampTz from = cost->timeline->interval_from[first];
	TimestampTz to = cost->timeline->interval_from[end];

	return (cost->factors != NULL && yq_factor_set_changes(cost->factors, from, to)) ||
		(cost->timeline->adds_up && yq_timeline_mode_changes(project_of_mode(cost), from, to));
}

/*
 * Find the cost of a resource and its rivals after it in a block.  "dearest" is set to a number in
 * the shape.
 */
static bool
block_of_rivals(const YqShapeCost *cost, YqChargingMode mode, int part, int first, int end, YqBlockCost *block)
{
	int			rivals[YQ_RESOURCE_MAX_ENTRIES];
	int			resources[YQ_RESOURCE_MAX_ENTRIES];
	uint64		amounts[YQ_RESOURCE_MAX_ENTRIES];
	int			count = 0;

	for (int i = part; i < cost->part_count; i++)
	{
		if (!are_rivals(cost, mode, part, i))
			continue;
		rivals[count] = i;
		resources[count] = cost->resources[i];
		amounts[count++] = cost->amounts[i];
	}
	if (!yq_price_block_cost(cost->timeline, first, end, count, resources, amounts, block))
		return false;
	block->dearest = rivals[block->dearest];
	return true;
}

/*
 * Find the costs of all charged resources in one block.  Returns the number of costs, or 0 when
 * there is no block.
 */
static int
find_blocks(const YqShapeCost *cost, YqChargingMode mode, int first, int end, YqBlockCost *blocks)
{
	int			count = 0;

	for (int i = 0; i < cost->part_count; i++)
	{
		if (!is_first_rival(cost, mode, i))
			continue;
		if (!block_of_rivals(cost, mode, i, first, end, &blocks[count]))
			return 0;
		/* the blocks of all charged resources must have the same length */
		if (blocks[count].intervals < blocks[0].intervals)
			return find_blocks(cost, mode, first, first + blocks[count].intervals, blocks);
		end = first + blocks[0].intervals;
		count++;
	}
	return count;
}

/*
 * Add the cost of a block that begins with interval "first".  Returns the number of its intervals,
 * or 0 when there is no block.
 */
static int
add_cost_of_block(const YqShapeCost *cost, int first, int end, YqWide *sums, bool by_resource)
{
	YqBlockCost blocks[YQ_RESOURCE_MAX_ENTRIES];
	YqChargingMode mode = cost->timeline->adds_up ? yq_shape_cost_mode(cost, first) : YQ_CHARGE_DEAREST;
	int			count;

	if (mode == YQ_CHARGE_DEAREST)
		count = yq_price_block_cost(cost->timeline, first, end, cost->part_count,
									cost->resources, cost->amounts, &blocks[0]) ? 1 : 0;
	else
		count = find_blocks(cost, mode, first, end, blocks);
	if (count == 0 || terms_change(cost, first, first + blocks[0].intervals))
		return 0;
	for (int i = 0; i < count; i++)
		add_cost(cost, cost->timeline->interval_from[first], blocks[i].price_time,
				 cost->amounts[blocks[i].dearest], by_resource ? &sums[blocks[i].dearest] : sums);
	return blocks[0].intervals;
}

void
yq_shape_cost_add_intervals(YqShapeCost *cost, int first, int end,
							YqWide *sums, bool by_resource)
{
	while (first < end)
	{
		int			added = first % YQ_INTERVALS_PER_BLOCK != 0 ? 0 :
			add_cost_of_block(cost, first, end, sums, by_resource);

		if (added == 0)
		{
			const TimestampTz *from = &cost->timeline->interval_from[first];

			add_time(cost, first, (uint64) (from[1] - from[0]), sums, by_resource);
			added = 1;
		}
		first += added;
	}
}

void
yq_shape_cost_add(YqShapeCost *cost, TimestampTz from, TimestampTz to, YqWide *sums, bool by_resource)
{
	const TimestampTz *interval_from = cost->timeline->interval_from;
	int			first = yq_timeline_interval(from);
	int			last = yq_timeline_interval(to);

	if (first == last)
	{
		add_time(cost, first, (uint64) (to - from), sums, by_resource);
		return;
	}
	add_time(cost, first, (uint64) (interval_from[first + 1] - from), sums, by_resource);
	yq_shape_cost_add_intervals(cost, first + 1, last, sums, by_resource);
	add_time(cost, last, (uint64) (to - interval_from[last]), sums, by_resource);
}
