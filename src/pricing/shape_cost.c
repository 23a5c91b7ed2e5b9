/*-------------------------------------------------------------------------
 *
 * shape_cost.c
 *	  The cost of one unit of a shape between two instants, interval by interval.
 *
 * Intervals are added one by one, or 64 and more at a time where price_block.c has a block.  While the same
 * resource stays the dearest, a time of any length therefore takes few steps.  Nothing is kept per shape.
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

/*
 * Find the dearest resource of the shape in an interval: its number in the shape, or -1 when nothing is
 * due.
 */
static int
dearest_resource(YqShapeCost *cost, int interval, YqPrice *rate)
{
	const YqPrice *prices = &cost->timeline->prices[(Size) interval * cost->timeline->resource_count];
	int			dearest = -1;

	*rate = 0;
	if (cost->timeline->in_outage[interval])
		return -1;
	for (int i = 0; i < cost->part_count; i++)
	{
		YqPrice		product;

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

/* Add price x time x amount to a sum, times the factors in force at an instant. */
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

/* Add price x time x amount to a sum, with the factors of the shape, which usually has none. */
static inline void
add_cost(const YqShapeCost *cost, TimestampTz at, YqPrice price, uint64 times, YqWide *sum)
{
	if (cost->factors == NULL)
		yq_wide_add_product(sum, price, times);
	else
		add_cost_with_factors(cost->factors, at, price, times, sum);
}

static inline void
add_time(YqShapeCost *cost, int interval, uint64 microseconds, YqWide *sums, bool by_resource)
{
	YqPrice		rate;
	int			dearest;

	/* a rate out of range is no error when no time at that rate is paid */
	if (microseconds == 0)
		return;
	dearest = dearest_resource(cost, interval, &rate);
	if (dearest >= 0)
		add_cost(cost, cost->timeline->interval_from[interval], rate, microseconds,
				 by_resource ? &sums[dearest] : sums);
}

void
yq_shape_cost_add_time(YqShapeCost *cost, int interval, uint64 microseconds,
					   YqWide *sums, bool by_resource)
{
	add_time(cost, interval, microseconds, sums, by_resource);
}

/* Add a block of intervals from "first" on; returns the number of intervals, 0 when there is no block. */
static int
add_cost_of_block(const YqShapeCost *cost, int first, int end, YqWide *sums, bool by_resource)
{
	YqBlockCost block;
	TimestampTz from;

	if (!yq_price_block_cost(cost->timeline, first, end, cost->part_count,
							 cost->resources, cost->amounts, &block))
		return 0;
	from = cost->timeline->interval_from[first];
	if (cost->factors != NULL &&
		yq_factor_set_changes(cost->factors, from, cost->timeline->interval_from[first + block.intervals]))
		return 0;
	add_cost(cost, from, block.price_time, cost->amounts[block.dearest],
			 by_resource ? &sums[block.dearest] : sums);
	return block.intervals;
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
