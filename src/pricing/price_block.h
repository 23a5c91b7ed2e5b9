/*-------------------------------------------------------------------------
 *
 * price_block.h
 *	  The cost of many consecutive intervals, without reading each of them.
 *
 * Which of two resources of an allocation is the dearer one in an interval
 * depends only on the ratio of their prices.  So a block of neighbouring
 * intervals knows, of each pair of resources, in which interval that ratio is
 * lowest and in which it is highest: where both say the same, so do all between
 * them, and the block costs the dearest resource's sum of price x time.  Blocks
 * belong to the timeline, not to an allocation; blocks of 64 intervals are made
 * on request, blocks of 64 x 64 from them.
 *
 * Exact: ratios are compared as cross products, sums are integers.
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
	int			intervals;		/* how many of them the block has */
	int			dearest;		/* number of the part that is paid for in all of
								 * them; ties go to the first one */
	YqPrice		price_time;		/* its sum of price x microseconds */
} YqBlockCost;

/*
 * The cost of the largest block that begins with interval "first", ends before
 * interval number "end" starts, and has one part that is the dearest throughout;
 * "resources" are the timeline's numbers of the allocation's resource types,
 * "amounts" are positive.  False when there is no such block, or when it is not
 * worth making: then the next interval is looked at by itself.
 */
extern bool yq_price_block_cost(const YqTimeline *timeline, int first, int end,
								int part_count, const int *resources,
								const uint64 *amounts, YqBlockCost *cost);

#endif							/* YQ_PRICE_BLOCK_H */
