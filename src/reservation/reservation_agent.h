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

#include "reservation/plan.h"

/* ReservationRequestInterpreter */
typedef enum YqReservationInterpreter
{
	YQ_RESERVE_ANY,				/* the first request that fits */
	YQ_RESERVE_ALL,				/* every request, in any relation */
	YQ_RESERVE_ORDER,			/* each request after the end of the one before */
	YQ_RESERVE_ORDER_NO_GAP		/* and without a gap between them */
} YqReservationInterpreter;

typedef struct YqReservationRequest
{
	int64		capability[YQ_MAX_RESOURCE_TYPES];	/* of one container */
	int32		containers;
	int32		concurrency;	/* containers that run together: a gang */
	int64		duration;		/* of each gang; above 0 */
} YqReservationRequest;

typedef struct YqReservationDefinition
{
	int64		arrival;
	int64		deadline;
	int64		period;			/* recurrence_expression; 0: once */
	YqReservationInterpreter interpreter;
	int			count;
	const YqReservationRequest *requests;
} YqReservationDefinition;

typedef struct YqReservationAgent
{
	bool		aligns;			/* AlignedPlannerWithGreedy */
	bool		favors_early;	/* favor-early-allocation */
	int			smoothness;		/* smoothness-factor; above 0 */
} YqReservationAgent;

/*
 * Place a reservation and add it to the plan, in place of the one with its id if there
 * is one.  *reservation is set when it is accepted.
 */
extern YqPlanFailure yq_reservation_agent_place(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id,
												const char *username, const YqReservationDefinition *definition,
												int64 now, YqPlanReservation **reservation);

#endif							/* YQ_RESERVATION_AGENT_H */
