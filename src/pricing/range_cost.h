/*-------------------------------------------------------------------------
 *
 * range_cost.h
 *	  What many allocations cost over the same stretch of time.
 *
 * One walk over the timeline per allocation is slow when thousands of prices
 * meet thousands of allocations.  Which of two resources an allocation pays for
 * depends only on the ratio of their prices.  So the stretches of the range are
 * sorted by that ratio once, with running sums of price x time, and each
 * allocation is a binary search in them.  Exact: ratios are compared as cross
 * products of prices as they were formed, and sums are integers.
 *
 * Only the last range asked for is kept, and nothing is prepared before it has
 * been asked for several times.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RANGE_COST_H
#define YQ_RANGE_COST_H

#include "pricing/timeline.h"

/*
 * Add, in units of 10^-24 credits, what an allocation without factors costs
 * from "from" to "to", both within the timeline's window.  "resources" are the
 * timeline's numbers of its resource types, "amounts" are positive.
 *
 * False, with nothing added, when it would be no quicker than a walk or needs
 * one: a short range, one not asked for often enough yet, an allocation of
 * which three resources or more are the dearest at times, a number that does
 * not fit.
 */
extern bool yq_range_cost(const YqTimeline *timeline, TimestampTz from, TimestampTz to,
						  int part_count, const int *resources,
						  const uint64 *amounts, YqWide *sum);

#endif							/* YQ_RANGE_COST_H */
