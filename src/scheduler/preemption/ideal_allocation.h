/*-------------------------------------------------------------------------
 *
 * ideal_allocation.h
 *	  How much each queue should have, and how much leaves must give
 *	  (preemption 3; corrections P2).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_IDEAL_ALLOCATION_H
#define YQ_IDEAL_ALLOCATION_H

#include "scheduler/preemption/preemption_state.h"

/*
 * Set the figures of all queues on all labels, for the budget as it is now, and
 * append to the lists of underserved queues.  With counts_reserved, reservations
 * count as pending, and all of the excess is asked for at once.  With
 * balances_satisfied, leaves may have more than their guarantee.
 */
extern void yq_ideal_allocation_compute(YqPreemption *state, bool counts_reserved, bool balances_satisfied);

/*
 * Deduct each container that is selected from what its leaf has to give, and
 * from what each application of the leaf has, once that is computed.  One that
 * is as large as the amount, or larger, is not deducted (preemption 3.5), so the
 * order matters: by application and number.
 */
extern void yq_ideal_allocation_deduct_selected(YqPreemption *state);

#endif							/* YQ_IDEAL_ALLOCATION_H */
