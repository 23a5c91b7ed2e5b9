/*-------------------------------------------------------------------------
 *
 * node_load.h
 *	  How loaded the queues of nodes are: their order, which queues are full,
 *	  and taking a place in one (opportunistic 3).
 *
 * What is known of a node is its last report, and what was given out there
 * since.  Amounts are native units, one for each type of the calculator.
 * Knows no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NODE_LOAD_H
#define YQ_NODE_LOAD_H

#include "base/compat.h"
#include "datatype/timestamp.h"
#include "queues/allocation_setting.h"
#include "queues/calculator.h"

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

/* By what the comparator sorts, and what the queue limit is computed from. */
extern int32 yq_node_load_metric(YqLoadComparator comparator, const YqNodeLoad *load);

/*
 * Put loads in order, the least loaded first, and leave out those whose queues are
 * full.  Of equal ones the newer report comes first, then the name.  "cluster" is the
 * sum of the capabilities of all.  Returns how many are left.
 */
extern int	yq_node_load_sort(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
							  YqNodeLoad **loads, int count);

/* Negative, zero, positive: a is less, as much, more loaded than b. */
extern int	yq_node_load_compare(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
								 const YqNodeLoad *a, const YqNodeLoad *b);

/* May a slot be taken that counts?  By waits any number may, and nothing is counted. */
extern bool yq_node_load_counts_slots(YqLoadComparator comparator, const YqNodeLoad *load);

/*
 * Take a slot for a container of the asked amounts, if the comparator lets it: in the
 * queue, or, by resources, in what is not allocated.
 */
extern bool yq_node_load_take_slot(YqLoadComparator comparator, const YqCalculator *calculator, YqNodeLoad *load,
								   const int64 *asked);

#endif							/* YQ_NODE_LOAD_H */
