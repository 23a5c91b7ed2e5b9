/*-------------------------------------------------------------------------
 *
 * ideal_allocation.h
 *	  How much each queue should have, and how much leaves must give for it
 *	  (semantics/preemption 3).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_IDEAL_ALLOCATION_H
#define YQ_IDEAL_ALLOCATION_H

#include "preemption/preemption_state.h"

/* -- priority heap ------------------------------------------------------------- */

/*
 * A binary heap of which equal elements come out as they do of Java's.
 *
 * Hadoop serves equal siblings in the order in which java.util.PriorityQueue has
 * them, so every step is that of its offer() and poll(), where the server's
 * lib/binaryheap.h takes others.
 */

/* Negative when the first element comes out first. */
typedef int (*YqHeapComparison) (const void *a, const void *b, void *argument);

/* Add an element to a heap of "count", which has room for it. */
extern void yq_priority_heap_add(void **heap, int count, void *element, YqHeapComparison compare, void *argument);

/* Remove the first element of a heap of "count", which is not empty. */
extern void *yq_priority_heap_remove(void **heap, int count, YqHeapComparison compare, void *argument);

/* -- amounts to obtain --------------------------------------------------------- */

/*
 * How much queues must give, once it is known how much each should have
 * (preemption 3.4, 3.5).
 */

/*
 * Deduct each container that is selected from what its leaf is asked for, and
 * from what each application of the leaf is to lose, once that is computed.  One
 * that is as large as the amount, or larger, is not deducted, so the order
 * matters: by application and number.
 */
extern void yq_obtain_deduct_selected(YqPreemption *state);

/* -- ideal allocation ---------------------------------------------------------- */

/*
 * Set the figures of all queues on all labels, also how much they must give for
 * the budget as it is now, and append to the lists of underserved queues.  With
 * counts_reserved, reservations count as pending, and all of the excess is asked
 * for at once.  With balances_satisfied, leaves may have more than their guarantee.
 */
extern void yq_ideal_allocation_compute(YqPreemption *state, bool counts_reserved, bool balances_satisfied);

#endif							/* YQ_IDEAL_ALLOCATION_H */
