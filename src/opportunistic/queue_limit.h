/*-------------------------------------------------------------------------
 *
 * queue_limit.h
 *	  The limit of their queues that nodes are told (opportunistic 6).
 *
 * Computed after each sort from the nodes in the list, by Java's arithmetic: sums
 * are integers of 32 bits, and the fraction is one of 32 bits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_QUEUE_LIMIT_H
#define YQ_QUEUE_LIMIT_H

#include "opportunistic/node_load.h"

/* Of queue lengths, or of waits in milliseconds; zeros before the first sort. */
typedef struct YqQueueLoadFigures
{
	int32		mean;
	int32		deviation;
} YqQueueLoadFigures;

/* Figures of sorted loads; without any, the earlier ones stay. */
extern void yq_queue_limit_note_sort(YqQueueLoadFigures *figures, YqLoadComparator comparator,
									YqNodeLoad *const *loads, int count);

/* mean + sigma * deviation, between two bounds. */
extern int32 yq_queue_limit_of(const YqQueueLoadFigures *figures, float4 sigma, int32 minimum, int32 maximum);

#endif							/* YQ_QUEUE_LIMIT_H */
