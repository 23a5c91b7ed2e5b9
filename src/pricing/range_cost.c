/*-------------------------------------------------------------------------
 *
 * range_cost.c
 *	  What many allocations cost over the same stretch of time.
 *
 * The range is a list of pieces, each a stretch of the timeline or the part of
 * one that lies in the range, without outages.  A pair of resources has the
 * pieces sorted by the ratio of their prices; a resource that is never dearer
 * than another one of the allocation drops out of it, which leaves one or two.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "pricing/range_cost.h"
#include "utils/memutils.h"

/* A range is worth preparing from so many stretches and requests on. */
#define MIN_STRETCHES 128
#define MIN_REQUESTS 8

/* More resource types than this are walked: pairs grow with the square. */
#define MAX_RESOURCES 32

/*
 * Of resources "left" and "right", which may be the same one; pieces in which
 * both are free are left out.  An allocation of the two pays for "right" in the
 * first k pieces, for some k, and for "left" in the others.
 */
typedef struct Pair
{
	bool		is_usable;		/* its sums fit */
	int			count;
	int		   *order;			/* pieces by price of left / price of right */
	YqPrice    *left_sums;		/* count + 1: price of left x time, first k pieces */
	YqPrice    *right_sums;
} Pair;

typedef struct Range
{
	MemoryContext context;
	uint64		generation;
	uint64		fills;
	TimestampTz from;
	TimestampTz to;
	int			requests;
	bool		is_ready;

	int			resource_count;
	int			piece_count;
	const YqPrice **prices;		/* of each piece, by resource */
	uint64	   *durations;		/* microseconds */
	Pair	  **pairs;			/* resource_count x resource_count, left first */
} Range;

static Range range;

/* -- preparing ----------------------------------------------------------- */

typedef struct RatioOrder
{
	int			left;
	int			right;
} RatioOrder;

static int
compare_ratios(const void *a, const void *b, void *argument)
{
	const RatioOrder *by = argument;
	const YqPrice *left = range.prices[*(const int *) a];
	const YqPrice *right = range.prices[*(const int *) b];

	return yq_price_compare_products(left[by->left], right[by->right], right[by->left], left[by->right]);
}

/* Sums of price x time over the pieces in order; false when they do not fit. */
static bool
add_up(const Pair *pair, int resource, YqPrice *sums)
{
	sums[0] = 0;
	for (int i = 0; i < pair->count; i++)
	{
		int			piece = pair->order[i];
		YqPrice		cost;

		if (__builtin_mul_overflow(range.prices[piece][resource],
								   (YqPrice) range.durations[piece], &cost) ||
			__builtin_add_overflow(sums[i], cost, &sums[i + 1]))
			return false;
	}
	return true;
}

static Pair *
make_pair(int left, int right)
{
	MemoryContext old_context = MemoryContextSwitchTo(range.context);
	Pair	   *pair = palloc0(sizeof(Pair));
	RatioOrder	by = {left, right};

	pair->order = palloc_extended(sizeof(int) * Max(range.piece_count, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < range.piece_count; i++)
	{
		if (range.prices[i][left] != 0 || range.prices[i][right] != 0)
			pair->order[pair->count++] = i;
	}
	qsort_arg(pair->order, pair->count, sizeof(int), compare_ratios, &by);
	pair->left_sums = palloc_extended(sizeof(YqPrice) * (pair->count + 1), MCXT_ALLOC_HUGE);
	pair->right_sums = palloc_extended(sizeof(YqPrice) * (pair->count + 1), MCXT_ALLOC_HUGE);
	pair->is_usable = add_up(pair, left, pair->left_sums) &&
		add_up(pair, right, pair->right_sums);
	MemoryContextSwitchTo(old_context);
	return pair;
}

static void
make_pieces(const YqTimeline *timeline)
{
	int			first = yq_timeline_stretch(range.from);
	int			end = yq_timeline_stretch(range.to) + 1;
	MemoryContext old_context = MemoryContextSwitchTo(range.context);

	range.resource_count = timeline->resource_count;
	range.piece_count = 0;
	range.prices = palloc_extended(sizeof(YqPrice *) * (end - first), MCXT_ALLOC_HUGE);
	range.durations = palloc_extended(sizeof(uint64) * (end - first), MCXT_ALLOC_HUGE);
	range.pairs = palloc0(sizeof(Pair *) * range.resource_count * range.resource_count);
	for (int i = first; i < end; i++)
	{
		TimestampTz from = Max(range.from, timeline->stretch_from[i]);
		TimestampTz to = i + 1 < end ? timeline->stretch_from[i + 1] : range.to;

		if (timeline->in_outage[i] || to <= from)
			continue;
		range.prices[range.piece_count] = &timeline->prices[(Size) i * timeline->resource_count];
		range.durations[range.piece_count++] = (uint64) (to - from);
	}
	MemoryContextSwitchTo(old_context);
}

/* Whether the range is prepared; requests for another one begin to count. */
static bool
is_prepared(const YqTimeline *timeline, TimestampTz from, TimestampTz to)
{
	if (range.context == NULL)
		range.context = AllocSetContextCreate(CacheMemoryContext,
											  "yquota range of prices",
											  ALLOCSET_DEFAULT_SIZES);
	if (range.generation != timeline->generation || range.fills != timeline->fills ||
		range.from != from || range.to != to)
	{
		range.is_ready = false;
		MemoryContextReset(range.context);
		range.generation = timeline->generation;
		range.fills = timeline->fills;
		range.from = from;
		range.to = to;
		range.requests = 0;
	}
	if (range.is_ready)
		return true;
	if (++range.requests < MIN_REQUESTS ||
		timeline->resource_count > MAX_RESOURCES ||
		yq_timeline_stretch(to) - yq_timeline_stretch(from) < MIN_STRETCHES)
		return false;

	/* an error on the way leaves what belongs to no range */
	range.fills = 0;
	make_pieces(timeline);
	range.fills = timeline->fills;
	range.is_ready = true;
	return true;
}

static const Pair *
find_pair(int left, int right)
{
	Pair	  **place = &range.pairs[left * range.resource_count + right];

	if (*place == NULL)
		*place = make_pair(left, right);
	return *place;
}

/* -- asking -------------------------------------------------------------- */

/*
 * The number of pieces, in order, in which "right" is at least as dear as "left";
 * -1 when a rate does not fit.
 */
static int
count_of_right(const Pair *pair, int left, uint64 left_amount, int right, uint64 right_amount)
{
	int			first = 0;
	int			end = pair->count;

	while (first < end)
	{
		int			middle = first + (end - first) / 2;
		const YqPrice *prices = range.prices[pair->order[middle]];
		YqPrice		left_rate,
					right_rate;

		if (__builtin_mul_overflow(prices[left], (YqPrice) left_amount, &left_rate) ||
			__builtin_mul_overflow(prices[right], (YqPrice) right_amount, &right_rate))
			return -1;
		if (left_rate <= right_rate)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

/* The cost of an allocation of two resources; false when it does not fit. */
static bool
cost_of_two(const int *resources, const uint64 *amounts, YqWide *sum)
{
	const Pair *pair = find_pair(resources[0], resources[1]);
	int			right_count;

	if (!pair->is_usable)
		return false;
	right_count = count_of_right(pair, resources[0], amounts[0], resources[1], amounts[1]);
	if (right_count < 0)
		return false;
	yq_wide_add_product(sum, pair->right_sums[right_count], amounts[1]);
	yq_wide_add_product(sum, pair->left_sums[pair->count] - pair->left_sums[right_count], amounts[0]);
	return true;
}

/*
 * Leave out resources that are nowhere dearer than another one that stays;
 * returns how many stay, or -1 when something does not fit.
 */
static int
drop_cheaper(int count, int *resources, uint64 *amounts)
{
	for (int i = 0; i < count; i++)
	{
		for (int j = i + 1; j < count; j++)
		{
			const Pair *pair = find_pair(resources[i], resources[j]);
			int			right_count = count_of_right(pair, resources[i], amounts[i],
												   resources[j], amounts[j]);
			int			dropped;

			if (right_count < 0)
				return -1;
			if (right_count == pair->count)
				dropped = i;
			else if (right_count == 0)
				dropped = j;
			else
				continue;
			count--;
			memmove(&resources[dropped], &resources[dropped + 1],
					sizeof(int) * (count - dropped));
			memmove(&amounts[dropped], &amounts[dropped + 1],
					sizeof(uint64) * (count - dropped));
			if (dropped == i)
			{
				i--;
				break;
			}
			j--;
		}
	}
	return count;
}

bool
yq_range_cost(const YqTimeline *timeline, TimestampTz from, TimestampTz to,
			  int part_count, const int *resources, const uint64 *amounts, YqWide *sum)
{
	int			kept_resources[MAX_RESOURCES + 1];
	uint64		kept_amounts[MAX_RESOURCES + 1];
	int			kept;

	if (part_count < 1 || part_count > MAX_RESOURCES || !is_prepared(timeline, from, to))
		return false;
	CHECK_FOR_INTERRUPTS();
	memcpy(kept_resources, resources, sizeof(int) * part_count);
	memcpy(kept_amounts, amounts, sizeof(uint64) * part_count);
	kept = part_count;
	if (kept > 2)
		kept = drop_cheaper(kept, kept_resources, kept_amounts);
	if (kept == 1)
	{
		/* a pair with itself */
		kept_resources[1] = kept_resources[0];
		kept_amounts[1] = kept_amounts[0];
		kept = 2;
	}
	return kept == 2 && cost_of_two(kept_resources, kept_amounts, sum);
}
