/*-------------------------------------------------------------------------
 *
 * stage_allocator.h
 *	  Places the gangs of a request of a reservation, by one of two allocators.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_STAGE_ALLOCATOR_H
#define YQ_STAGE_ALLOCATOR_H

#include "reservation/plan.h"

/* ReservationRequestInterpreter */
typedef enum YqReservationInterpreter
{
	YQ_RESERVE_ANY,				/* R_ANY: one request is placed, the first that fits */
	YQ_RESERVE_ALL,				/* R_ALL: all requests are placed, at any times */
	YQ_RESERVE_ORDER,			/* R_ORDER: each request is placed after the end of the request before it */
	YQ_RESERVE_ORDER_NO_GAP		/* R_ORDER_NO_GAP: each request starts when the request before it ends */
} YqReservationInterpreter;

typedef struct YqReservationRequest
{
	int64		capability[YQ_MAX_RESOURCE_TYPES];	/* size of one container */
	int32		containers;
	int32		concurrency;	/* number of containers that must run at the same time, as a gang */
	int64		duration;		/* duration of each gang; greater than 0 */
} YqReservationRequest;

typedef struct YqReservationDefinition
{
	int64		arrival;
	int64		deadline;
	int64		period;			/* milliseconds from one occurrence to the next; 0: once */
	YqReservationInterpreter interpreter;
	int			count;
	const YqReservationRequest *requests;
} YqReservationDefinition;

typedef struct YqReservationAgent
{
	bool		aligns;			/* AlignedPlannerWithGreedy */
	bool		favors_early;	/* favor-early-allocation */
	int			smoothness;		/* smoothness-factor; greater than 0 */
} YqReservationAgent;

/* A reservation while the agent places it. */
typedef struct YqPlacement
{
	const YqReservationAgent *agent;
	const YqPlan *plan;
	const YqReservationDefinition *definition;
	const char *username;
	const YqPlanReservation *old;	/* the old reservation, which will be replaced; NULL: none */
	YqStepFunction *load;		/* the plan's load without the load of the old reservation */
	YqStepFunction *changes;	/* sum of the requests that are already placed */
	YqStepFunction *result;		/* placements of the requests that are already placed */
	const YqStepFunction *available;	/* amounts available from arrival to deadline; NULL: not computed yet */
	MemoryContext context;		/* memory context of these functions */
	int64		windows;		/* number of windows that the remaining requests may examine */
} YqPlacement;

/* The placements of a request, palloc'd. */
typedef struct YqStagePlaces
{
	YqTimeInterval *intervals;
	int			count;
	int			room;			/* number of intervals that the array has space for */
} YqStagePlaces;

/* Place all gangs of a request between two times.  Returns YQ_PLAN_NO_ROOM if they do not fit. */
extern YqPlanFailure yq_greedy_allocator_place(YqPlacement *placement, const YqReservationRequest *request,
											   int64 start, int64 end, YqStagePlaces *places);
extern YqPlanFailure yq_aligned_allocator_place(YqPlacement *placement, const YqReservationRequest *request,
												int64 start, int64 end, YqStagePlaces *places);

/* Round a non-negative time up to a multiple of the step. */
extern int64 yq_stage_round_up(int64 time, int64 step);

/* Return a request's duration, rounded up to a multiple of the plan's step. */
extern int64 yq_stage_duration(const YqPlacement *placement, const YqReservationRequest *request);

#endif							/* YQ_STAGE_ALLOCATOR_H */
