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
 * The load of a node: its last report, plus the slots that were taken on the node after
 * the report.  Amounts are in native units, one for each type of the calculator.  No
 * function here reads a table.
 */

/* Estimated wait of a node that has reported no estimate. */
#define YQ_WAIT_UNKNOWN (-1)

typedef struct YqNodeLoad
{
	const char *name;
	int32		queue_length;	/* number of queued containers of both execution types, plus slots taken after the
								 * report */
	int32		queue_capacity; /* number of OPPORTUNISTIC containers that fit in the node's queue; 0 or less: not
								 * reported */
	int32		wait;			/* estimated wait in milliseconds, or YQ_WAIT_UNKNOWN */
	TimestampTz reported_at;
	const int64 *capability;
	int64	   *allocated;		/* amounts allocated to the node's containers, plus amounts taken after the report */
} YqNodeLoad;

/* Return Hadoop's name of a comparator. */
extern const char *yq_node_load_comparator_name(YqLoadComparator comparator);

/* Can the comparator sort a node that has this estimated wait? */
extern bool yq_node_load_is_comparable(YqLoadComparator comparator, int32 wait);

/*
 * Sort nodes by load, the least loaded first, and remove nodes whose queues are full.
 * Nodes with equal load are sorted by the time of the report, newest first, then by
 * name.  "cluster" is the sum of all capabilities.  Returns the number of nodes that
 * are left.
 */
extern int	yq_node_load_sort(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
							  YqNodeLoad **loads, int count);

/*
 * Does the comparator count slots that are taken on the node?  The comparator of queue
 * lengths does, while the queue has room.  The comparator of waits never does.
 */
extern bool yq_node_load_counts_slots(YqLoadComparator comparator, const YqNodeLoad *load);

/*
 * Take a slot on the node for a container of the asked amounts.  Returns false if the
 * node has no room for it.
 *
 * The comparator of waits gives every container a slot, and changes nothing.  The
 * comparator of queue lengths adds 1 to the queue length.  The comparator that also
 * compares resources adds the asked amounts to the allocated amounts.  When these amounts
 * are not available, it adds 1 to the queue length instead.
 */
extern bool yq_node_load_take_slot(YqLoadComparator comparator, const YqCalculator *calculator, YqNodeLoad *load,
								   const int64 *asked);

/* -- queue limit --------------------------------------------------------------- */

/*
 * Compute the queue limit that is sent to nodes (semantics/opportunistic 5).
 *
 * The limit is computed after each sort, from the nodes in the list, with Java's
 * arithmetic.  Sums are 32-bit integers, and fractions are 32-bit floats.
 */

/*
 * Mean and deviation of the queue lengths, or of the waits in milliseconds.  Both are 0
 * before the first sort.
 */
typedef struct YqQueueLoadFigures
{
	int32		mean;
	int32		deviation;
} YqQueueLoadFigures;

/* Compute mean and deviation of sorted loads.  If there are no loads, the figures do not change. */
extern void yq_queue_limit_note_sort(YqQueueLoadFigures *figures, YqLoadComparator comparator,
									YqNodeLoad *const *loads, int count);

/* Return mean + sigma * deviation, but at least "minimum" and at most "maximum". */
extern int32 yq_queue_limit_of(const YqQueueLoadFigures *figures, float4 sigma, int32 minimum, int32 maximum);

#endif							/* YQ_NODE_LOAD_H */
