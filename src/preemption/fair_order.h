/*-------------------------------------------------------------------------
 *
 * fair_order.h
 *	  The order of applications of a fair leaf within which containers are
 *	  preempted (preemption 7.2).
 *
 * The comparison contradicts itself in two cases.  Users may use the same by
 * the calculator, though not of all types: then each comes after the other.  And
 * the leaf's order of a user's applications may differ from that of their ids,
 * which decides between users of equal usage.  The result then depends on the
 * collections that Hadoop puts the applications into, so these are the same here:
 * a heap for the order in which they have their part, and, filled in that order,
 * a red-black tree for the order in which they give.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FAIR_ORDER_H
#define YQ_FAIR_ORDER_H

#include "preemption/preemption_state.h"
#include "preemption/priority_heap.h"

/*
 * Put applications, given in the leaf's order with inactive ones first, in the
 * order in which they have their part.
 */
extern void yq_fair_order_parts(YqPreemptionApplication **applications, int count, YqHeapComparison compare,
								void *argument);

/* Put them, in that order, in the one of which the last gives first. */
extern void yq_fair_order_givers(YqPreemptionApplication **applications, int count, YqHeapComparison compare,
								 void *argument);

#endif							/* YQ_FAIR_ORDER_H */
