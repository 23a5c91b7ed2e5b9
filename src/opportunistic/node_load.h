/*-------------------------------------------------------------------------
 *
 * node_load.h
 *	  Computes the load of the queues of nodes, and the queue limit that nodes receive.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NODE_LOAD_H
#define YQ_NODE_LOAD_H

#include "base/compat.h"

#include "datatype/timestamp.h"
#include "queues/allocation_setting.h"
#include "queues/calculator.h"

/* -- node load ----------------------------------------------------------------- */

/*
 * The load of a node combines its last report with the slots that were taken there
 * after the report. Amounts are native units, one for each type of the calculator.  No
 * function here uses a table.
 */

/* The estimated wait of a node that reports none. */
#define YQ_WAIT_UNKNOWN (-1)

typedef struct YqNodeLoad
{
	const char *name;
	int32		queue_length;	/* queued containers of both execution types, plus slots taken after the report */
	int32		queue_capacity; /* opportunistic containers that fit in its queue; 0 or less: not reported */
	int32		wait;			/* estimated wait in milliseconds, or YQ_WAIT_UNKNOWN */
	TimestampTz reported_at;
	const int64 *capability;
	int64	   *allocated;		/* amounts allocated to its containers, plus those taken after the report */
} YqNodeLoad;

/* Hadoop's name of a comparator. */
extern const char *yq_node_load_comparator_name(YqLoadComparator comparator);

/* Can the comparator rank a node that has this wait? */
extern bool yq_node_load_is_comparable(YqLoadComparator comparator, int32 wait);

/*
 * Sort loads, the least loaded first, and leave out nodes whose queues are full.  Among
 * equal loads the newer report comes first, then the smaller name.  "cluster" is the
 * sum of all capabilities. Returns the number of remaining loads.
 */
extern int	yq_node_load_sort(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
							  YqNodeLoad **loads, int count);

/*
 * Does the comparator count slots, so that the node has a limited number of them?  When
 * waits are compared, it does not.
 */
extern bool yq_node_load_counts_slots(YqLoadComparator comparator, const YqNodeLoad *load);

/*
 * Take a slot for a container of the asked amounts, if the comparator allows it.  The
 * slot occupies the queue or, when resources are compared, the unallocated amounts.
 */
extern bool yq_node_load_take_slot(YqLoadComparator comparator, const YqCalculator *calculator, YqNodeLoad *load,
								   const int64 *asked);

/* -- queue limit --------------------------------------------------------------- */

/*
 * Computes the queue limit that nodes receive (opportunistic 6).
 *
 * After each sort, the limit is computed from the nodes in the list, by Java's
 * arithmetic.  Sums are integers of 32 bits, and fractions are floats of 32 bits.
 */

/* Figures of queue lengths, or of waits in milliseconds; all zero before the first sort. */
typedef struct YqQueueLoadFigures
{
	int32		mean;
	int32		deviation;
} YqQueueLoadFigures;

/* Compute the figures of sorted loads.  Without loads, the earlier figures stay. */
extern void yq_queue_limit_note_sort(YqQueueLoadFigures *figures, YqLoadComparator comparator,
									YqNodeLoad *const *loads, int count);

/* Compute mean + sigma * deviation, and limit the result to two bounds. */
extern int32 yq_queue_limit_of(const YqQueueLoadFigures *figures, float4 sigma, int32 minimum, int32 maximum);

#endif							/* YQ_NODE_LOAD_H */
