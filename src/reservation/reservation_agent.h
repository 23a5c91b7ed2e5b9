/*-------------------------------------------------------------------------
 *
 * reservation_agent.h
 *	  Places a reservation in a plan, and finds acceptable alternatives (semantics/reservations 6).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RESERVATION_AGENT_H
#define YQ_RESERVATION_AGENT_H

#include "reservation/stage_allocator.h"

/* -- reservation agent --------------------------------------------------------- */

/*
 * Places reservations.  GreedyReservationAgent takes the first placement that fits.
 * AlignedPlannerWithGreedy looks for windows in which the plan has little load, and uses
 * the greedy agent if it finds no placement.
 */

/*
 * Place a reservation and add it to the plan, where it replaces a reservation with the same
 * id.  Sets *reservation if the plan accepts the reservation.
 */
extern YqPlanFailure yq_reservation_agent_place(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id,
												const char *username, const YqReservationDefinition *definition,
												int64 now, YqPlanReservation **reservation);

/* -- nearest definition -------------------------------------------------------- */

/*
 * Finds a definition that the plan would accept, when it has refused the user's definition.
 * Hadoop has no such search.
 *
 * The search calls a function of the caller, which tests whether the plan would accept a
 * definition.  The search first doubles the change, and then halves it.  It therefore finds
 * a near definition, but not always the nearest one: the plan may refuse a definition
 * between two accepted definitions.  The functions below read and write no tables.
 */

/* Returns whether the plan would accept the definition. */
typedef bool (*YqDefinitionTest) (const YqReservationDefinition *definition, void *argument);

/*
 * Find an accepted definition with a later deadline.  The deadline is moved by a multiple
 * of "step" milliseconds, but not beyond "latest".  The result is palloc'd, or NULL if no
 * definition is accepted.
 */
extern const YqReservationDefinition *yq_nearest_with_later_deadline(const YqReservationDefinition *definition,
																	 int64 step, int64 latest,
																	 YqDefinitionTest accepts, void *argument);

/*
 * Find an accepted definition with fewer gangs; the requests keep their proportions.  If
 * even one gang per request is too much, the gangs are made smaller.  The result is
 * palloc'd, or NULL if no definition is accepted.
 */
extern const YqReservationDefinition *yq_nearest_with_fewer_containers(const YqReservationDefinition *definition,
																	   YqDefinitionTest accepts, void *argument);

#endif							/* YQ_RESERVATION_AGENT_H */
