/*-------------------------------------------------------------------------
 *
 * ideal_allocation.h
 *	  Computes how much each queue should have, and how much leaves must give up for
 *	  that (semantics/preemption 3).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_IDEAL_ALLOCATION_H
#define YQ_IDEAL_ALLOCATION_H

#include "preemption/preemption_state.h"

/* -- priority heap ------------------------------------------------------------- */

/*
 * A binary heap that removes equal elements in the same order as Java's heap.
 *
 * Hadoop serves equal siblings in the order of java.util.PriorityQueue.  The functions
 * below therefore take the same steps as its offer() and poll().  The server's
 * lib/binaryheap.h takes other steps.
 */

/* Returns a negative number if the first element comes before the second. */
typedef int (*YqHeapComparison) (const void *a, const void *b, void *argument);

/* Add an element to a heap of "count" elements.  The heap must have room for it. */
extern void yq_priority_heap_add(void **heap, int count, void *element, YqHeapComparison compare, void *argument);

/* Remove the first element of a heap of "count" elements.  The heap must not be empty. */
extern void *yq_priority_heap_remove(void **heap, int count, YqHeapComparison compare, void *argument);

/* -- amounts to obtain --------------------------------------------------------- */

/* Compute how much each queue must give up, from the ideal allocations (semantics/preemption 3.4, 3.5). */

/*
 * Deduct each selected container from the amount that its leaf must give up.  If the losses
 * of the leaf's applications are already computed, the container is also deducted from each
 * of these losses.
 *
 * A container that is at least as large as the remaining amount is not deducted.  The
 * result therefore depends on the order of the containers, which is by application and
 * number.
 */
extern void yq_obtain_deduct_selected(YqPreemption *state);

/* -- ideal allocation ---------------------------------------------------------- */

/*
 * Compute the figures of all queues on all labels, and append to the lists of underserved
 * queues.  The amounts that queues must give up depend on what is left of the budget.
 *
 * With counts_reserved, reservations count as pending, and the whole excess must be given up in one
 * round.  With balances_satisfied, the ideal allocation of a leaf may exceed its guarantee.
 */
extern void yq_ideal_allocation_compute(YqPreemption *state, bool counts_reserved, bool balances_satisfied);

#endif							/* YQ_IDEAL_ALLOCATION_H */
