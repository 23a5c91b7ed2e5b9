/*-------------------------------------------------------------------------
 *
 * preemption_selectors.h
 *	  The selectors of containers, each with its rules (preemption 4 to 7).
 *
 * A selector computes the figures that it needs, completes the leaves that it
 * looks at, and selects containers until the budget is spent.  The caller has
 * set the selector at work in the state.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_SELECTORS_H
#define YQ_PREEMPTION_SELECTORS_H

#include "preemption/preemption_state.h"

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

#endif							/* YQ_PREEMPTION_SELECTORS_H */
