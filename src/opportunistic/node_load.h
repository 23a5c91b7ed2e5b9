/*-------------------------------------------------------------------------
 *
 * node_load.h
 *	  How loaded the queues of nodes are, and the limit of them that nodes are told.
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
 * What is known of a node is its last report, and what was given out there
 * since.  Amounts are native units, one for each type of the calculator.
 * Knows no table.
 */

/* The estimated wait of a node that does not tell one. */
#define YQ_WAIT_UNKNOWN (-1)

typedef struct YqNodeLoad
{
	const char *name;
	int32		queue_length;	/* queued containers of both execution types, and slots taken since the report */
	int32		queue_capacity; /* opportunistic containers that its queue may have; not above 0: it has told none */
	int32		wait;			/* estimated, milliseconds; or YQ_WAIT_UNKNOWN */
	TimestampTz reported_at;
	const int64 *capability;
	int64	   *allocated;		/* to containers on it, and taken since the report */
} YqNodeLoad;

/* Hadoop's name of a comparator. */
extern const char *yq_node_load_comparator_name(YqLoadComparator comparator);

/* Does the comparator know how loaded a node with that wait is? */
extern bool yq_node_load_is_comparable(YqLoadComparator comparator, int32 wait);

/*
 * Put loads in order, the least loaded first, and leave out those whose queues are
 * full.  Of equal ones the newer report comes first, then the name.  "cluster" is the
 * sum of the capabilities of all.  Returns how many are left.
 */
extern int	yq_node_load_sort(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
							  YqNodeLoad **loads, int count);

/* May a slot be taken that counts?  By waits any number may, and nothing is counted. */
extern bool yq_node_load_counts_slots(YqLoadComparator comparator, const YqNodeLoad *load);

/*
 * Take a slot for a container of the asked amounts, if the comparator lets it: in the
 * queue, or, by resources, in what is not allocated.
 */
extern bool yq_node_load_take_slot(YqLoadComparator comparator, const YqCalculator *calculator, YqNodeLoad *load,
								   const int64 *asked);

/* -- queue limit --------------------------------------------------------------- */

/*
 * The limit of their queues that nodes are told (opportunistic 6).
 *
 * Computed after each sort from the nodes in the list, by Java's arithmetic: sums
 * are integers of 32 bits, and the fraction is one of 32 bits.
 */

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

#endif							/* YQ_NODE_LOAD_H */
