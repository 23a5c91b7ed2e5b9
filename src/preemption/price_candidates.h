/*-------------------------------------------------------------------------
 *
 * price_candidates.h
 *	  What the containers of an application have cost so far, for the order of
 *	  candidates YQ_LEAST_PAID.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PRICE_CANDIDATES_H
#define YQ_PRICE_CANDIDATES_H

#include "preemption/preemption_state.h"

/* Rank the containers of an application by the credits that they have cost so far. */
extern void yq_price_candidates(YqPreemption *state, YqPreemptionApplication *application);

#endif							/* YQ_PRICE_CANDIDATES_H */
