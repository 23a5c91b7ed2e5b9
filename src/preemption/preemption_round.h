/*-------------------------------------------------------------------------
 *
 * preemption_round.h
 *	  Runs one round of preemption, and its selectors (semantics/preemption 1, 4 to
 *	  8).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_ROUND_H
#define YQ_PREEMPTION_ROUND_H

#include "preemption/preemption_state.h"

/* -- preemption selectors ------------------------------------------------------ */

/*
 * Select containers.  Each function is a selector with its own rules (semantics/preemption 4 to 7).
 *
 * A selector computes the figures that it needs, has the loader add the leaves that it
 * examines, and selects containers until the budget is spent.  The caller first sets the
 * current selector in the state.
 */

/*
 * Take containers from leaves above their guarantee, for leaves below their guarantee.
 * Reservations are taken first, then the containers of each application in order, then its master.
 * The second pass, YQ_SELECTOR_FIFO_BALANCE, also balances leaves that are all above their
 * guarantees.
 */
extern void yq_select_fifo(YqPreemption *state);

/* Take the excess of leaves above their guarantee, but only on nodes where this makes room for a reservation. */
extern void yq_select_for_reservations(YqPreemption *state);

/*
 * Take containers for the old reservations of a leaf below its guarantee.  The taken
 * containers run on the reserved nodes and belong to leaves with lower priority.  If they
 * would not make enough room, the reservation may move to another node.
 */
extern void yq_select_by_queue_priority(YqPreemption *state);

/*
 * Take containers from applications of an underserved leaf for other applications of the
 * same leaf.  The other applications have a higher priority, or belong to users below their
 * limit.
 */
extern void yq_select_intra_queue(YqPreemption *state);

/* -- preemption round ---------------------------------------------------------- */

/* Set the time and the budget, when figures are computed without a round. */
extern void yq_preemption_begin_round(YqPreemption *state, TimestampTz now);

/*
 * Run the enabled selectors.  Append an outcome for each selected container, and for each
 * reservation that is given up or moved.  "now" is the time from which marks, waits and the
 * age of reservations are computed.
 *
 * A container's wait begins with its first mark.  If the container is selected again after
 * the wait, it is killed.  A selected reservation is both marked and given up, as in
 * Hadoop.
 *
 * The caller then forgets the marks that are older than yq_preemption_forget_before(), and
 * the marks of containers that it has killed or made killable.
 */
extern void yq_preemption_round(YqPreemption *state, TimestampTz now);

#endif							/* YQ_PREEMPTION_ROUND_H */
