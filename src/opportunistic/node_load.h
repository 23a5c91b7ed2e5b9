/*-------------------------------------------------------------------------
 *
 * node_load.h
 *	  Computes how loaded the queues of nodes are, and the queue limit that nodes are told.
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
 * The load of a node combines its last report with the slots taken there since.  Amounts are native
 * units, one for each type of the calculator.  Nothing here knows a table.
 */

/* The estimated wait of a node that does not report one. */
#define YQ_WAIT_UNKNOWN (-1)

typedef struct YqNodeLoad
{
	const char *name;
	int32		queue_length;	/* queued containers of both execution types, and slots taken since the report */
	int32		queue_capacity; /* opportunistic containers that its queue may have; not above 0: none reported */
	int32		wait;			/* estimated, milliseconds; or YQ_WAIT_UNKNOWN */
	TimestampTz reported_at;
	const int64 *capability;
	int64	   *allocated;		/* allocated to its containers, and taken since the report */
} YqNodeLoad;

/* Hadoop's name of a comparator. */
extern const char *yq_node_load_comparator_name(YqLoadComparator comparator);

/* Can the comparator rank a node with this wait? */
extern bool yq_node_load_is_comparable(YqLoadComparator comparator, int32 wait);

/*
 * Sort loads, the least loaded first, and leave out nodes whose queues are full.  Among equal loads
 * the newer report comes first, then the name.  "cluster" is the sum of all capabilities.  Returns
 * the number of remaining loads.
 */
extern int	yq_node_load_sort(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
							  YqNodeLoad **loads, int count);

/* May a slot be taken that counts?  When waits are compared, any number may, and nothing is counted. */
extern bool yq_node_load_counts_slots(YqLoadComparator comparator, const YqNodeLoad *load);

/*
 * Take a slot for a container of the asked amounts, if the comparator allows it.  The slot is in
 * the queue or, when resources are compared, in the unallocated amounts.
 */
extern bool yq_node_load_take_slot(YqLoadComparator comparator, const YqCalculator *calculator, YqNodeLoad *load,
								   const int64 *asked);

/* -- queue limit --------------------------------------------------------------- */

/*
 * Computes the limit that nodes are told for their queues (opportunistic 6).
 *
 * The limit follows from the nodes in the list after each sort, by Java's arithmetic.  Sums are
 * integers of 32 bits, and the fraction has 32 bits.
 */

/* Figures of queue lengths, or of waits in milliseconds; zeros before the first sort. */
typedef struct YqQueueLoadFigures
{
	int32		mean;
	int32		deviation;
} YqQueueLoadFigures;

/* Compute the figures of sorted loads; without loads, the earlier figures stay. */
extern void yq_queue_limit_note_sort(YqQueueLoadFigures *figures, YqLoadComparator comparator,
									YqNodeLoad *const *loads, int count);

/* Compute mean + sigma * deviation, between two bounds. */
extern int32 yq_queue_limit_of(const YqQueueLoadFigures *figures, float4 sigma, int32 minimum, int32 maximum);

#endif							/* YQ_NODE_LOAD_H */
