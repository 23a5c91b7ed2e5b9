/*-------------------------------------------------------------------------
 *
 * ideal_allocation.h
 *	  How much each queue should have (semantics/preemption 3).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_IDEAL_ALLOCATION_H
#define YQ_IDEAL_ALLOCATION_H

#include "preemption/preemption_state.h"

/*
 * Set the figures of all queues on all labels, also how much they must give for
 * the budget as it is now (amounts_to_obtain.h), and append to the lists of underserved queues.  With counts_reserved, reservations
 * count as pending, and all of the excess is asked for at once.  With
 * balances_satisfied, leaves may have more than their guarantee.
 */
extern void yq_ideal_allocation_compute(YqPreemption *state, bool counts_reserved, bool balances_satisfied);

#endif							/* YQ_IDEAL_ALLOCATION_H */
