/*-------------------------------------------------------------------------
 *
 * preemption_round.h
 *	  One round of preemption: what is selected, marked and killed
 *	  (preemption 2 and 8).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_ROUND_H
#define YQ_PREEMPTION_ROUND_H

#include "preemption/preemption_state.h"

/* Set the time and the budget, for figures without a round. */
extern void yq_preemption_begin_round(YqPreemption *state, TimestampTz now);

/*
 * Run the selectors that are enabled, and append an outcome for each container
 * that is selected and each reservation that is given up or moved.  "now" is the
 * time of marks and waits, and of the age of reservations.
 *
 * A container is killed when it is selected again after its wait, which counts
 * from its first mark.  A reservation that was selected is marked as well as
 * given up, as in Hadoop.  The caller forgets marks older than
 * yq_preemption_forget_before() afterwards, and those of containers that it
 * killed or made killable.
 */
extern void yq_preemption_round(YqPreemption *state, TimestampTz now);

#endif							/* YQ_PREEMPTION_ROUND_H */
