/*-------------------------------------------------------------------------
 *
 * price_block.c
 *	  The cost of many consecutive intervals, computed without reading each interval.
 *
 * Blocks exist as long as their intervals.  A block is made at the second request, because adding
 * up its intervals once takes no longer than making the block.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "pricing/price_block.h"
#include "utils/memutils.h"

#define LEVELS 2

/*
 * Limit on the number of resource types.  With more types, no blocks are made and each
 * interval is read, because the number of pairs grows with the square.
 */
#define MAX_RESOURCES 8

typedef enum BlockState
{
	BLOCK_UNKNOWN,
	BLOCK_ASKED_FOR,
	BLOCK_MADE,
	BLOCK_USELESS				/* a sum of the block is out of range */
} BlockState;

/* The intervals in which the price ratio left / right of two resources is lowest and highest. */
typedef struct Extremes
{
	int			lowest;			/* interval with the lowest ratio; -1 when both resources are free in all intervals */
	int			highest;
} Extremes;

typedef struct Level
{
	int			count;			/* number of blocks for which there is room */
	uint8	   *states;			/* BlockState */
	YqPrice    *sums;			/* count x resource_count: price x microseconds */
	YqPrice    *highest_prices; /* count x resources */
	Extremes   *extremes;		/* count x pairs */
} Level;

static MemoryContext block_context = NULL;
static Level levels[LEVELS];
static uint64 known_generation = 0;
static uint64 known_fills = 0;
static int	resource_count;
static int	pair_count;

static int
intervals_of(int level)
{
	return level == 0 ? YQ_INTERVALS_PER_BLOCK : YQ_INTERVALS_PER_BLOCK * YQ_INTERVALS_PER_BLOCK;
}

/* Return the number of the pair of two resources; "left" is less than "right". */
static int
pair_number(int left, int right)
{
	return right * (right - 1) / 2 + left;
}

/* -- keeping them -------------------------------------------------------- */

/* Make room for all blocks of the timeline.  A new block is in state BLOCK_UNKNOWN. */
static void
make_room_for_blocks(Level *level, int count)
{
	MemoryContext old_context;

	if (count <= level->count)
		return;
	old_context = MemoryContextSwitchTo(block_context);
	if (level->count > 0)
	{
		level->states = repalloc_huge(level->states, count);
		level->sums = repalloc_huge(level->sums, sizeof(YqPrice) * count * resource_count);
		level->highest_prices = repalloc_huge(level->highest_prices, sizeof(YqPrice) * count * resource_count);
		level->extremes = repalloc_huge(level->extremes, sizeof(Extremes) * count * Max(pair_count, 1));
	}
	else
	{
		level->states = palloc_extended(count, MCXT_ALLOC_HUGE);
		level->sums = palloc_extended(sizeof(YqPrice) * count * resource_count, MCXT_ALLOC_HUGE);
		level->highest_prices = palloc_extended(sizeof(YqPrice) * count * resource_count, MCXT_ALLOC_HUGE);
		level->extremes = palloc_extended(sizeof(Extremes) * count * Max(pair_count, 1), MCXT_ALLOC_HUGE);
	}
	memset(level->states + level->count, BLOCK_UNKNOWN, count - level->count);
	level->count = count;
	MemoryContextSwitchTo(old_context);
}

static void
forget_blocks(const YqTimeline *timeline)
{
	if (block_context == NULL)
		block_context = AllocSetContextCreate(CacheMemoryContext,
											  "yquota blocks of prices",
											  ALLOCSET_DEFAULT_SIZES);
	memset(levels, 0, sizeof(levels));
	MemoryContextReset(block_context);
	resource_count = timeline->resource_count;
	pair_count = resource_count * (resource_count - 1) / 2;
}

/* Forget the blocks of intervals that have changed since the last call. */
static void
synchronize_blocks(const YqTimeline *timeline)
{
	if (block_context == NULL || known_generation != timeline->generation)
		forget_blocks(timeline);
	else if (known_fills != timeline->fills)
	{
		int			kept = yq_timeline_unchanged_intervals(known_fills);

		for (int i = 0; i < LEVELS; i++)
		{
			int			kept_blocks = Min(kept / intervals_of(i), levels[i].count);

			if (kept_blocks < levels[i].count)
				memset(levels[i].states + kept_blocks, BLOCK_UNKNOWN, levels[i].count - kept_blocks);
		}
	}
	for (int i = 0; i < LEVELS; i++)
		make_room_for_blocks(&levels[i], timeline->interval_count / intervals_of(i));
	known_generation = timeline->generation;
	known_fills = timeline->fills;
}

/* -- making them --------------------------------------------------------- */

static const YqPrice *
prices_of(const YqTimeline *timeline, int interval)
{
	return &timeline->prices[(Size) interval * timeline->resource_count];
}

/* Extend the range between the lowest and the highest ratio of a pair by an interval. */
static void
widen(const YqTimeline *timeline, Extremes *extremes, int left, int right, int interval)
{
	const YqPrice *prices = prices_of(timeline, interval);
	const YqPrice *other;

	if (prices[left] == 0 && prices[right] == 0)
		return;
	if (extremes->lowest < 0)
	{
		extremes->lowest = extremes->highest = interval;
		return;
	}
	other = prices_of(timeline, extremes->lowest);
	if (yq_price_compare_products(prices[left], other[right], other[left], prices[right]) < 0)
		extremes->lowest = interval;
	other = prices_of(timeline, extremes->highest);
	if (yq_price_compare_products(prices[left], other[right], other[left], prices[right]) > 0)
		extremes->highest = interval;
}

/* Add a sum to the sum of a resource in a block.  Returns false when the result is out of range. */
static bool
add_to_block(Level *level, int block, int resource, YqPrice sum, YqPrice highest_price)
{
	Size		place = (Size) block * resource_count + resource;

	level->highest_prices[place] = Max(level->highest_prices[place], highest_price);
	return !__builtin_add_overflow(level->sums[place], sum, &level->sums[place]);
}

static bool
add_interval(const YqTimeline *timeline, int block, int interval)
{
	Level	   *level = &levels[0];
	const YqPrice *prices = prices_of(timeline, interval);
	Extremes   *extremes = &level->extremes[(Size) block * pair_count];
	YqPrice		duration = (YqPrice) (timeline->interval_from[interval + 1] - timeline->interval_from[interval]);

	if (timeline->in_outage[interval])
		return true;
	for (int right = 0; right < resource_count; right++)
	{
		YqPrice		sum;

		if (__builtin_mul_overflow(prices[right], duration, &sum) ||
			!add_to_block(level, block, right, sum, prices[right]))
			return false;
		for (int left = 0; left < right; left++)
			widen(timeline, &extremes[pair_number(left, right)], left, right, interval);
	}
	return true;
}

static bool prepare_block(const YqTimeline *timeline, int level_number, int block);

/* Add a block of 64 intervals to a block of 64 x 64 intervals. */
static bool
add_block_parts(const YqTimeline *timeline, int block, int part)
{
	const Level *from = &levels[0];
	Level	   *level = &levels[1];
	const Extremes *parts = &from->extremes[(Size) part * pair_count];
	Extremes   *extremes = &level->extremes[(Size) block * pair_count];

	from->states[part] = Max(from->states[part], BLOCK_ASKED_FOR);
	if (!prepare_block(timeline, 0, part))
		return false;
	for (int right = 0; right < resource_count; right++)
	{
		Size		place = (Size) part * resource_count + right;

		if (!add_to_block(level, block, right, from->sums[place], from->highest_prices[place]))
			return false;
		for (int left = 0; left < right; left++)
		{
			int			pair = pair_number(left, right);

			if (parts[pair].lowest < 0)
				continue;
			widen(timeline, &extremes[pair], left, right, parts[pair].lowest);
			widen(timeline, &extremes[pair], left, right, parts[pair].highest);
		}
	}
	return true;
}

static bool
make_block(const YqTimeline *timeline, int level_number, int block)
{
	Level	   *level = &levels[level_number];
	int			first = block * YQ_INTERVALS_PER_BLOCK;

	memset(&level->sums[(Size) block * resource_count], 0, sizeof(YqPrice) * resource_count);
	memset(&level->highest_prices[(Size) block * resource_count], 0, sizeof(YqPrice) * resource_count);
	for (int i = 0; i < pair_count; i++)
		level->extremes[(Size) block * pair_count + i].lowest = -1;
	for (int i = first; i < first + YQ_INTERVALS_PER_BLOCK; i++)
	{
		if (!(level_number == 0 ? add_interval(timeline, block, i) : add_block_parts(timeline, block, i)))
			return false;
	}
	return true;
}

/*
 * Tell whether a block can be used.  The first request for a block only marks the block; the
 * second request makes it.
 */
static bool
prepare_block(const YqTimeline *timeline, int level_number, int block)
{
	uint8	   *state = &levels[level_number].states[block];

	if (*state == BLOCK_UNKNOWN)
		*state = BLOCK_ASKED_FOR;
	else if (*state == BLOCK_ASKED_FOR)
		*state = make_block(timeline, level_number, block) ? BLOCK_MADE : BLOCK_USELESS;
	return *state == BLOCK_MADE;
}

/* -- asking -------------------------------------------------------------- */

/*
 * Return part "first" if it costs at least as much as part "second" throughout a block.  Return
 * "second" if that part costs more than "first" throughout the block.  Otherwise return -1.
 */
static int
dearer_part(const YqTimeline *timeline, const Extremes *all, int first, int second,
			const int *resources, const uint64 *amounts)
{
	bool		is_left = resources[first] < resources[second];
	const Extremes *extremes = is_left ? &all[pair_number(resources[first], resources[second])] :
		&all[pair_number(resources[second], resources[first])];
	int			lowest = is_left ? extremes->lowest : extremes->highest;
	int			highest = is_left ? extremes->highest : extremes->lowest;
	const YqPrice *prices;

	if (extremes->lowest < 0)
		return first;
	prices = prices_of(timeline, lowest);
	if (prices[resources[first]] * amounts[first] >= prices[resources[second]] * amounts[second])
		return first;
	prices = prices_of(timeline, highest);
	if (prices[resources[first]] * amounts[first] < prices[resources[second]] * amounts[second])
		return second;
	return -1;
}

/*
 * Return the part with the highest cost throughout a block in state BLOCK_MADE. Returns -1 if no
 * part is the dearest throughout, or if a product is out of range.
 */
static int
dearest_part(const YqTimeline *timeline, const Level *level, int block,
			 int part_count, const int *resources, const uint64 *amounts)
{
	const Extremes *extremes = &level->extremes[(Size) block * pair_count];
	const YqPrice *highest_prices = &level->highest_prices[(Size) block * resource_count];
	int			dearest = 0;

	for (int i = 0; i < part_count; i++)
	{
		YqPrice		rate;

		if (__builtin_mul_overflow(highest_prices[resources[i]], (YqPrice) amounts[i], &rate))
			return -1;
	}
	for (int i = 1; i < part_count && dearest >= 0; i++)
		dearest = dearer_part(timeline, extremes, dearest, i, resources, amounts);
	return dearest;
}

bool
yq_price_block_cost(const YqTimeline *timeline, int first, int end,
					int part_count, const int *resources, const uint64 *amounts, YqBlockCost *cost)
{
	if (first % YQ_INTERVALS_PER_BLOCK != 0 || first + YQ_INTERVALS_PER_BLOCK > end ||
		part_count == 0 || timeline->resource_count > MAX_RESOURCES)
		return false;

	if (known_generation != timeline->generation || known_fills != timeline->fills)
		synchronize_blocks(timeline);
	for (int level = LEVELS - 1; level >= 0; level--)
	{
		int			intervals = intervals_of(level);
		int			block = first / intervals;
		int			dearest;

		if (first % intervals != 0 || first + intervals > end || !prepare_block(timeline, level, block))
			continue;
		dearest = dearest_part(timeline, &levels[level], block, part_count, resources, amounts);
		if (dearest >= 0)
		{
			cost->intervals = intervals;
			cost->dearest = dearest;
			cost->price_time = levels[level].sums[(Size) block * resource_count + resources[dearest]];
			return true;
		}
	}
	return false;
}
