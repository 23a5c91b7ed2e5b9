/*-------------------------------------------------------------------------
 *
 * reservation_agent.h
 *	  Placing a reservation in a plan (reservation 6).
 *
 * GreedyReservationAgent takes the first place that fits.  AlignedPlannerWithGreedy looks for
 * windows in which the plan has little load, and tries the other one where it finds none.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESERVATION_AGENT_H
#define YQ_RESERVATION_AGENT_H

#include "reservation/stage_allocator.h"

/*
 * Place a reservation and add it to the plan, in place of the one with its id if there
 * is one.  *reservation is set when it is accepted.
 */
extern YqPlanFailure yq_reservation_agent_place(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id,
												const char *username, const YqReservationDefinition *definition,
												int64 now, YqPlanReservation **reservation);

#endif							/* YQ_RESERVATION_AGENT_H */
