/*-------------------------------------------------------------------------
 *
 * preemption_round.h
 *	  One round of preemption, and its selectors (semantics/preemption 2, 4 to 8).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_ROUND_H
#define YQ_PREEMPTION_ROUND_H

#include "preemption/preemption_state.h"

/* -- preemption selectors ------------------------------------------------------ */

/*
 * The selectors of containers, each with its rules (preemption 4 to 7).
 *
 * A selector computes the figures that it needs, completes the leaves that it
 * looks at, and selects containers until the budget is spent.  The caller has
 * set the selector at work in the state.
 */

/*
 * Leaves above their guarantee give to those below theirs: reservations, then
 * the containers that come first in each application, then its master.  The
 * second pass, YQ_SELECTOR_FIFO_BALANCE, also evens out leaves above theirs.
 */
extern void yq_select_fifo(YqPreemption *state);

/* The same excess, of those nodes where it makes room for a reservation. */
extern void yq_select_for_reservations(YqPreemption *state);

/*
 * A leaf below its guarantee takes the containers of less important leaves that
 * are in the way of its old reservations, or moves these to a better node.
 */
extern void yq_select_by_queue_priority(YqPreemption *state);

/*
 * Applications and users of an underserved leaf give to those of it that have a
 * higher priority, or are below their limit.
 */
extern void yq_select_intra_queue(YqPreemption *state);

/* -- preemption round ---------------------------------------------------------- */

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
