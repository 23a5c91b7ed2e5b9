/*-------------------------------------------------------------------------
 *
 * preemption_round.h
 *	  Runs one round of preemption, and its selectors (semantics/preemption 2, 4 to 8).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_ROUND_H
#define YQ_PREEMPTION_ROUND_H

#include "preemption/preemption_state.h"

/* -- preemption selectors ------------------------------------------------------ */

/*
 * Select containers.  Each selector has its own rules (preemption 4 to 7).
 *
 * A selector computes the figures that it needs, completes the leaves that it examines,
 * and selects containers until the budget is spent.  The caller has set the current
 * selector in the state.
 */

/*
 * Take from leaves above their guarantee for leaves below theirs.  Reservations come
 * first, then the containers of each application in order, then its master.  The second
 * pass, YQ_SELECTOR_FIFO_BALANCE, also evens out leaves above their guarantee.
 */
extern void yq_select_fifo(YqPreemption *state);

/* Take the same excess, but only from nodes where this makes room for a reservation. */
extern void yq_select_for_reservations(YqPreemption *state);

/*
 * Take containers for old reservations of a leaf below its guarantee.  The containers
 * occupy the reserved nodes and belong to less important leaves.  A reservation for
 * which this makes no room may move to a better node.
 */
extern void yq_select_by_queue_priority(YqPreemption *state);

/*
 * Take from applications and users of an underserved leaf for applications of the same
 * leaf.  The latter have a higher priority, or belong to users below their limit.
 */
extern void yq_select_intra_queue(YqPreemption *state);

/* -- preemption round ---------------------------------------------------------- */

/* Set the time and the budget, for computing figures without a round. */
extern void yq_preemption_begin_round(YqPreemption *state, TimestampTz now);

/*
 * Run the enabled selectors, and append an outcome for each selected container and for
 * each reservation that is given up or moved.  "now" is the time of marks and waits,
 * and the time at which the age of reservations is measured.
 *
 * A container is killed when it is selected again after its wait, which begins with its
 * first mark. A selected reservation is both marked and given up, as in Hadoop.
 *
 * The caller then forgets marks older than yq_preemption_forget_before(), and the marks
 * of containers that it has killed or made killable.
 */
extern void yq_preemption_round(YqPreemption *state, TimestampTz now);

#endif							/* YQ_PREEMPTION_ROUND_H */
