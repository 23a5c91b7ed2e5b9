/*-------------------------------------------------------------------------
 *
 * vector.h
 *	  Capacities as vectors: amounts, percentages and weights, mixed (DESIGN 5).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_VECTOR_H
#define YQ_VECTOR_H

#include "queues/hierarchy.h"

/* Set the effective amounts of a queue's children, whose own ones are set. */
extern void yq_vector_compute_children(const YqHierarchy *hierarchy, YqQueue *queue);

#endif							/* YQ_VECTOR_H */
