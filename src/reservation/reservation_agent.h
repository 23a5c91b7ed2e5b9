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
 * GreedyReservationAgent takes the first placement that fits.  AlignedPlannerWithGreedy
 * looks for windows in which the plan has little load, and uses the greedy agent if it
 * finds none.
 */

/*
 * Place a reservation and add it to the plan.  It replaces a reservation with the same
 * id.  Sets *reservation if the plan accepts it.
 */
extern YqPlanFailure yq_reservation_agent_place(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id,
												const char *username, const YqReservationDefinition *definition,
												int64 now, YqPlanReservation **reservation);

/* -- nearest definition -------------------------------------------------------- */

/*
 * Finds a definition that a user could submit instead of a refused definition; Hadoop
 * has no such search.
 *
 * The search tries one definition after another; the caller tests whether the plan
 * would accept it.  A plan may refuse a definition between two that it accepts.  The
 * result is therefore near, but not always the nearest: the search first doubles its
 * step and then halves it.  No function here reads or writes a table.
 */

/* Would the plan accept the definition? */
typedef bool (*YqDefinitionTest) (const YqReservationDefinition *definition, void *argument);

/*
 * Find an accepted definition with a later deadline.  The deadline moves by a multiple
 * of "step" milliseconds, at most to "latest".  The result is palloc'd, or NULL when
 * none is accepted.
 */
extern const YqReservationDefinition *yq_nearest_with_later_deadline(const YqReservationDefinition *definition,
																	 int64 step, int64 latest,
																	 YqDefinitionTest accepts, void *argument);

/*
 * Find an accepted definition with fewer gangs in each request, in proportion.  If one
 * gang in each request is too much, the gangs become smaller.  The result is palloc'd,
 * or NULL when none is accepted.
 */
extern const YqReservationDefinition *yq_nearest_with_fewer_containers(const YqReservationDefinition *definition,
																	   YqDefinitionTest accepts, void *argument);

#endif							/* YQ_RESERVATION_AGENT_H */
