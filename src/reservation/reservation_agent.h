/*-------------------------------------------------------------------------
 *
 * reservation_agent.h
 *	  Placing a reservation in a plan, and what else a user could ask for
 *	  (semantics/reservations 6).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESERVATION_AGENT_H
#define YQ_RESERVATION_AGENT_H

#include "reservation/stage_allocator.h"

/* -- reservation agent --------------------------------------------------------- */

/*
 * GreedyReservationAgent takes the first place that fits.  AlignedPlannerWithGreedy looks for
 * windows in which the plan has little load, and tries the other one where it finds none.
 */

/*
 * Place a reservation and add it to the plan, in place of the one with its id if there
 * is one.  *reservation is set when it is accepted.
 */
extern YqPlanFailure yq_reservation_agent_place(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id,
												const char *username, const YqReservationDefinition *definition,
												int64 now, YqPlanReservation **reservation);

/* -- nearest definition -------------------------------------------------------- */

/*
 * What a user could ask for instead of a reservation that is refused.
 *
 * Not of Hadoop.  Definitions are tried one after the other; the caller says whether
 * one would be accepted.  A plan may refuse one that lies between two that it accepts,
 * so what is found is near, and not always the nearest: a search first doubles its step
 * and then halves it.  Nothing here reads or writes a table.
 */

/* Would it be accepted? */
typedef bool (*YqDefinitionTest) (const YqReservationDefinition *definition, void *argument);

/*
 * The same with a deadline that is a multiple of "step" milliseconds later, up to "latest";
 * palloc'd, NULL when none is accepted.
 */
extern const YqReservationDefinition *yq_nearest_with_later_deadline(const YqReservationDefinition *definition,
																	 int64 step, int64 latest,
																	 YqDefinitionTest accepts, void *argument);

/*
 * The same with fewer gangs in each request, in proportion; where one gang each is too much,
 * with smaller ones.  palloc'd, NULL when none is accepted.
 */
extern const YqReservationDefinition *yq_nearest_with_fewer_containers(const YqReservationDefinition *definition,
																	   YqDefinitionTest accepts, void *argument);

#endif							/* YQ_RESERVATION_AGENT_H */
