/*-------------------------------------------------------------------------
 *
 * amounts_to_obtain.h
 *	  How much queues must give, once it is known how much each should have
 *	  (preemption 3.4, 3.5).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_AMOUNTS_TO_OBTAIN_H
#define YQ_AMOUNTS_TO_OBTAIN_H

#include "preemption/preemption_state.h"

/*
 * Set what the children of a parent have above their ideal allocation on a
 * label, scaled down so that all of them together stay within the budget.
 */
extern void yq_obtain_divide_excess(YqPreemption *state, const YqPreemptionQueue *parent, int label);

/*
 * Set what each leaf is asked for that is not disabled, on all labels.  It is
 * nothing as long as the leaf is little above its guarantee; else a part of its
 * excess or, with counts_reserved, all of it.
 */
extern void yq_obtain_set(YqPreemption *state, bool counts_reserved);

/*
 * Deduct each container that is selected from what its leaf is asked for, and
 * from what each application of the leaf is to lose, once that is computed.  One
 * that is as large as the amount, or larger, is not deducted, so the order
 * matters: by application and number.
 */
extern void yq_obtain_deduct_selected(YqPreemption *state);

#endif							/* YQ_AMOUNTS_TO_OBTAIN_H */
