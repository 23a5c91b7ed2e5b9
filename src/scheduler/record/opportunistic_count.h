/*-------------------------------------------------------------------------
 *
 * opportunistic_count.h
 *	  How many OPPORTUNISTIC containers have been given out, for metrics: Hadoop's
 *	  OpportunisticSchedulerMetrics.
 *
 * Counts are in yquota_internal.opportunistic_count, in parts to be added up: transactions
 * that are at work at once change different ones, and none waits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OPPORTUNISTIC_COUNT_H
#define YQ_OPPORTUNISTIC_COUNT_H

#include "base/compat.h"

/* Bounds of latencies in microseconds, growing; below each the containers are counted. */
#define YQ_LATENCY_BOUND_COUNT 12
extern const int64 yq_latency_bounds[YQ_LATENCY_BOUND_COUNT];

/* Begin with one that is all zero. */
typedef struct YqOpportunisticCount
{
	int64		central;		/* containers, like all but the sum */
	int64		node_local;
	int64		rack_local;
	int64		off_switch;
	int64		demoted;
	int64		promoted_by_rule;
	int64		timed;			/* those whose latency is known */
	int64		latency;		/* sum of these, microseconds */
	int64		within[YQ_LATENCY_BOUND_COUNT]; /* of these, those whose latency is the bound or less */
} YqOpportunisticCount;

/* Add some containers with a latency from the first request to the container; a negative one is none. */
extern void yq_opportunistic_count_latency(YqOpportunisticCount *count, int64 latency, int64 containers);

/* Add to what has been counted.  The part is locked until the transaction ends. */
extern void yq_opportunistic_count_write(const YqOpportunisticCount *count);

#endif							/* YQ_OPPORTUNISTIC_COUNT_H */
