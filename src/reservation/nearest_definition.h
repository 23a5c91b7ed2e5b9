/*-------------------------------------------------------------------------
 *
 * nearest_definition.h
 *	  What a user could ask for instead of a reservation that is refused.
 *
 * Not of Hadoop.  Definitions are tried one after the other; the caller says whether
 * one would be accepted.  A plan may refuse one that lies between two that it accepts,
 * so what is found is near, and not always the nearest: a search first doubles its step
 * and then halves it.  Nothing here reads or writes a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_NEAREST_DEFINITION_H
#define YQ_NEAREST_DEFINITION_H

#include "reservation/reservation_agent.h"

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

#endif							/* YQ_NEAREST_DEFINITION_H */
