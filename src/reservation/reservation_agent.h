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
 * GreedyReservationAgent takes the first place that fits.  AlignedPlannerWithGreedy looks for
 * windows in which the plan has little load, and tries the greedy agent where it finds none.
 */

/*
 * Place a reservation and add it to the plan, in place of the one with its id if there is one.
 * *reservation is set when it is accepted.
 */
extern YqPlanFailure yq_reservation_agent_place(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id,
												const char *username, const YqReservationDefinition *definition,
												int64 now, YqPlanReservation **reservation);

/* -- nearest definition -------------------------------------------------------- */

/*
 * Finds a reservation that a user could request instead of a refused one; Hadoop has no such
 * search.
 *
 * Definitions are tried one after the other; the caller tests whether one would be accepted.  A
 * plan may refuse a definition between two that it accepts.  The result is therefore near, and not
 * always the nearest: a search first doubles its step and then halves it.  Nothing here reads or
 * writes a table.
 */

/* Would the plan accept the definition? */
typedef bool (*YqDefinitionTest) (const YqReservationDefinition *definition, void *argument);

/*
 * Find an accepted definition with a later deadline; palloc'd, NULL when none is accepted.  The
 * deadline is later by a multiple of "step" milliseconds, and at most "latest".
 */
extern const YqReservationDefinition *yq_nearest_with_later_deadline(const YqReservationDefinition *definition,
																	 int64 step, int64 latest,
																	 YqDefinitionTest accepts, void *argument);

/*
 * Find an accepted definition with fewer gangs in each request, in proportion.  Where one gang each
 * is too much, the gangs become smaller; palloc'd, NULL when none is accepted.
 */
extern const YqReservationDefinition *yq_nearest_with_fewer_containers(const YqReservationDefinition *definition,
																	   YqDefinitionTest accepts, void *argument);

#endif							/* YQ_RESERVATION_AGENT_H */
