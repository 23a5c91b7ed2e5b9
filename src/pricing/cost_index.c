/*-------------------------------------------------------------------------
 *
 * cost_index.c
 *	  The cost of one unit of a shape between two instants, from prefix sums.
 *
 * An index has, per resource of the shape, the cost from the beginning of the
 * timeline's window to the start of every 64th interval.  Cursors keep the
 * places last looked at, for starts and ends of containers and for the full hours
 * that running ones are counted from.  So an event of a stream in time order moves
 * a cursor by one step, and any other one begins at the nearer of two sums.  Beyond
 * these, intervals are added or taken away one by one, or 64 and more at a time where
 * price_block.c has a block.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "pricing/cost_index.h"
#include "pricing/price_block.h"

static Size sum_bytes = 0;		/* of the prefix sums of all indexes */

void
yq_cost_index_init(YqCostIndex *index, const YqTimeline *timeline,
				   const YqResourceEntry *entries, int count, MemoryContext context)
{
	memset(index, 0, sizeof(*index));
	index->timeline = timeline;
	index->context = context;
	index->part_count = count;
	index->resources = MemoryContextAlloc(context, sizeof(int) * Max(count, 1));
	index->amounts = MemoryContextAlloc(context, sizeof(uint64) * Max(count, 1));
	for (int i = 0; i < count; i++)
		index->amounts[i] = (uint64) entries[i].amount;
	for (int i = 0; i < YQ_COST_CURSOR_COUNT; i++)
	{
		index->cursors[i].interval = -1;
		index->cursors[i].sums = MemoryContextAlloc(context, sizeof(YqWide) * Max(count, 1));
	}
}

Size
yq_cost_index_bytes(void)
{
	return sum_bytes;
}

void
yq_cost_index_reset_bytes(void)
{
	sum_bytes = 0;
}

void
yq_cost_index_keep(YqCostIndex *index, int kept)
{
	index->block_count = Min(index->block_count, kept / YQ_INTERVALS_PER_BLOCK + 1);
	for (int i = 0; i < YQ_COST_CURSOR_COUNT; i++)
	{
		if (index->cursors[i].interval > kept)
			index->cursors[i].interval = -1;
	}
	index->only_steps = false;
}

static void
forget_sums(YqCostIndex *index)
{
	index->block_count = 0;
	for (int i = 0; i < YQ_COST_CURSOR_COUNT; i++)
		index->cursors[i].interval = -1;
}

void
yq_cost_index_forget(YqCostIndex *index)
{
	forget_sums(index);
	index->only_steps = false;
}

/*
 * The dearest resource of the shape in an interval: its number in the shape, or
 * -1 when nothing is due.
 */
static int
dearest_resource(YqCostIndex *index, int interval, YqPrice *rate)
{
	const YqPrice *prices = &index->timeline->prices[(Size) interval * index->timeline->resource_count];
	int			dearest = -1;

	*rate = 0;
	if (index->timeline->in_outage[interval])
		return -1;
	for (int i = 0; i < index->part_count; i++)
	{
		YqPrice		product;

		if (!yq_price_try_multiply(prices[index->resources[i]], index->amounts[i], &product))
		{
			index->out_of_range = true;
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
	YqWide		cost = {{0}};

	if (yq_factor_set_in_outage(factors, at))
		return;
	yq_wide_add_product(&cost, price, times);
	for (int i = 0; i < factors->chain_count; i++)
		yq_wide_multiply(&cost, yq_factor_chain_value(&factors->chains[i], at, NULL));
	yq_wide_add(sum, &cost);
}

/* The same with the factors of an index, which has none mostly. */
static inline void
add_cost(const YqCostIndex *index, TimestampTz at, YqPrice price, uint64 times, YqWide *sum)
{
	if (index->factors == NULL)
		yq_wide_add_product(sum, price, times);
	else
		add_cost_with_factors(index->factors, at, price, times, sum);
}

static inline void
add_time(YqCostIndex *index, int interval, uint64 microseconds, YqWide *sums, bool by_resource)
{
	YqPrice		rate;
	int			dearest;

	/* a rate out of range that was never paid is no error */
	if (microseconds == 0)
		return;
	dearest = dearest_resource(index, interval, &rate);
	if (dearest >= 0)
		add_cost(index, index->timeline->interval_from[interval], rate, microseconds,
				 by_resource ? &sums[dearest] : sums);
}

void
yq_cost_index_add_time(YqCostIndex *index, int interval, uint64 microseconds,
					   YqWide *sums, bool by_resource)
{
	add_time(index, interval, microseconds, sums, by_resource);
}

/* Add a block of intervals from "first" on; returns how many, 0 for none. */
static int
add_cost_of_block(const YqCostIndex *index, int first, int end, YqWide *sums, bool by_resource)
{
	YqBlockCost block;
	TimestampTz from;

	if (!yq_price_block_cost(index->timeline, first, end, index->part_count,
							 index->resources, index->amounts, &block))
		return 0;
	from = index->timeline->interval_from[first];
	if (index->factors != NULL &&
		yq_factor_set_changes(index->factors, from, index->timeline->interval_from[first + block.intervals]))
		return 0;
	add_cost(index, from, block.price_time, index->amounts[block.dearest],
			 by_resource ? &sums[block.dearest] : sums);
	return block.intervals;
}

void
yq_cost_index_add_intervals(YqCostIndex *index, int first, int end,
							YqWide *sums, bool by_resource)
{
	while (first < end)
	{
		int			added = first % YQ_INTERVALS_PER_BLOCK != 0 ? 0 :
			add_cost_of_block(index, first, end, sums, by_resource);

		if (added == 0)
		{
			const TimestampTz *from = &index->timeline->interval_from[first];

			add_time(index, first, (uint64) (from[1] - from[0]), sums, by_resource);
			added = 1;
		}
		first += added;
	}
}

/* Make the sums at the start of blocks 0 to "block" valid. */
static void
extend_blocks(YqCostIndex *index, int block)
{
	Size		sums_size = sizeof(YqWide) * index->part_count;

	if (block >= index->block_room)
	{
		int			room = Max(block + 1, index->block_room * 2);

		if (index->block_sums == NULL)
			index->block_sums = MemoryContextAllocHuge(index->context, room * sums_size);
		else
			index->block_sums = repalloc_huge(index->block_sums, room * sums_size);
		sum_bytes += (room - index->block_room) * sums_size;
		index->block_room = room;
	}
	if (index->block_count == 0)
	{
		memset(index->block_sums, 0, sums_size);
		index->block_count = 1;
	}
	for (int i = index->block_count; i <= block; i++)
	{
		YqWide	   *sums = &index->block_sums[(Size) i * index->part_count];

		memcpy(sums, sums - index->part_count, sums_size);
		yq_cost_index_add_intervals(index, (i - 1) * YQ_INTERVALS_PER_BLOCK,
									i * YQ_INTERVALS_PER_BLOCK, sums, true);
		index->block_count = i + 1;
	}
}

/* Whether the sums up to an interval are few intervals from a cursor. */
static inline bool
is_near(const YqCostCursor *cursor, int interval)
{
	return cursor->interval >= 0 && cursor->interval <= interval &&
		interval - cursor->interval <= YQ_INTERVALS_PER_BLOCK;
}

/* Go back to the sums up to the start of an earlier interval. */
static void
take_away_intervals(YqCostIndex *index, int first, int end, YqWide *sums)
{
	YqWide		taken[YQ_RESOURCE_MAX_ENTRIES];

	memset(taken, 0, sizeof(YqWide) * index->part_count);
	yq_cost_index_add_intervals(index, first, end, taken, true);
	for (int i = 0; i < index->part_count; i++)
		yq_wide_subtract(&sums[i], &taken[i]);
}

/* Put a cursor to the start of a block near an interval: that before or that behind it. */
static void
go_to_block(YqCostIndex *index, YqCostCursor *cursor, int interval)
{
	int			block = (interval + YQ_INTERVALS_PER_BLOCK / 2) / YQ_INTERVALS_PER_BLOCK;

	if (block * YQ_INTERVALS_PER_BLOCK >= index->timeline->interval_count)
		block--;
	extend_blocks(index, block);
	memcpy(cursor->sums, &index->block_sums[(Size) block * index->part_count],
		   sizeof(YqWide) * index->part_count);
	cursor->interval = block * YQ_INTERVALS_PER_BLOCK;
}

/* The sums up to an instant of an interval. */
static void
sums_at(YqCostIndex *index, TimestampTz instant, int interval, YqCostCursor *cursor, YqWide *sums)
{
	int			from;

	if (!is_near(cursor, interval))
		go_to_block(index, cursor, interval);
	from = cursor->interval;
	cursor->interval = -1;		/* should an error leave the sums half done */
	if (from <= interval)
		yq_cost_index_add_intervals(index, from, interval, cursor->sums, true);
	else
		take_away_intervals(index, interval, from, cursor->sums);
	cursor->interval = interval;

	memcpy(sums, cursor->sums, sizeof(YqWide) * index->part_count);
	yq_cost_index_add_time(index, interval,
						   (uint64) (instant - index->timeline->interval_from[interval]), sums, true);
}

/*
 * Whether to step from one interval to another rather than to extend the sums
 * that they are looked up in.  Steps are added up: when all of them have been as
 * long as that, sums are extended, so that neither is done much more than needed.
 */
static bool
is_stepping_shorter(YqCostIndex *index, int first, int last, const YqCostCursor *cursors)
{
	int			steps = (last - first) / YQ_INTERVALS_PER_BLOCK + 1;
	int			missing = 0;

	if (index->only_steps)
		return true;
	if (!is_near(&cursors[0], first))
		missing = first / YQ_INTERVALS_PER_BLOCK + 1 - index->block_count;
	if (!is_near(&cursors[1], last))
		missing = Max(missing, last / YQ_INTERVALS_PER_BLOCK + 1 - index->block_count);
	if (missing <= steps || index->steps_taken >= missing)
	{
		index->steps_taken = 0;
		return false;
	}
	index->steps_taken += steps;
	return true;
}

void
yq_cost_index_sums(YqCostIndex *index, TimestampTz from, TimestampTz to, YqWide *sums)
{
	int			first = yq_timeline_interval(from);
	int			last = yq_timeline_interval(to);
	YqCostCursor *cursors = &index->cursors[from % USECS_PER_HOUR == 0 ? YQ_COST_CURSOR_HOUR : YQ_COST_CURSOR_START];
	YqWide		sums_before[YQ_RESOURCE_MAX_ENTRIES];

	index->out_of_range = false;
	if (!is_stepping_shorter(index, first, last, cursors))
	{
		sums_at(index, from, first, &cursors[0], sums_before);
		sums_at(index, to, last, &cursors[1], sums);
		for (int i = 0; i < index->part_count; i++)
			yq_wide_subtract(&sums[i], &sums_before[i]);
		if (!index->out_of_range)
			return;
		/* that may have been before the interval */
		forget_sums(index);
		index->only_steps = true;
		index->out_of_range = false;
	}
	memset(sums, 0, sizeof(YqWide) * index->part_count);
	if (first == last)
	{
		yq_cost_index_add_time(index, first, (uint64) (to - from), sums, true);
		return;
	}
	yq_cost_index_add_time(index, first, (uint64) (index->timeline->interval_from[first + 1] - from), sums, true);
	yq_cost_index_add_intervals(index, first + 1, last, sums, true);
	yq_cost_index_add_time(index, last, (uint64) (to - index->timeline->interval_from[last]), sums, true);
}
