/*-------------------------------------------------------------------------
 *
 * price_block.h
 *	  The cost of many consecutive intervals, computed without reading each interval.
 *
 * Which of two resources of an allocation is dearer in an interval depends on the ratio of their
 * prices.  For each pair of resources, a block of neighbouring intervals therefore stores the
 * intervals with the lowest and the highest ratio.  If the same resource is dearer in both of these
 * intervals, it is dearer in the whole block.  The block then costs the dearest resource's sum of
 * price x time.  Blocks belong to the timeline, so all allocations share them.  Blocks of 64
 * intervals are made on request, and blocks of 64 x 64 intervals are made from these.
 *
 * Results are exact: ratios are compared as cross products, and sums are integers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PRICE_BLOCK_H
#define YQ_PRICE_BLOCK_H

#include "pricing/timeline.h"

#define YQ_INTERVALS_PER_BLOCK 64

/* The cost of a block of intervals for an allocation without factors. */
typedef struct YqBlockCost
{
	int			intervals;		/* the number of intervals of the block */
	int			dearest;		/* number of the part that costs most in all intervals; the first of equal parts */
	YqPrice		price_time;		/* sum of price x microseconds of this part */
} YqBlockCost;

/*
 * Find the cost of the largest block that begins with interval "first" and ends no later than
 * interval "end" begins.
 *
 * A single part must be the dearest throughout the block.  "resources" contains the number that
 * each resource type of the allocation has in the timeline.  "amounts" are positive.  Returns false
 * when there is no such block, or when it is not worth making.  The caller then handles interval
 * "first" by itself.
 */
extern bool yq_price_block_cost(const YqTimeline *timeline, int first, int end,
								int part_count, const int *resources,
								const uint64 *amounts, YqBlockCost *cost);

#endif							/* YQ_PRICE_BLOCK_H */
