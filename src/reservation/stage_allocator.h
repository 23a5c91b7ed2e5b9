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
	YQ_RESERVE_ANY,				/* the first request that fits is placed */
	YQ_RESERVE_ALL,				/* all requests are placed, at any times */
	YQ_RESERVE_ORDER,			/* each request is placed after the end of its predecessor */
	YQ_RESERVE_ORDER_NO_GAP		/* each request is placed directly after its predecessor */
} YqReservationInterpreter;

typedef struct YqReservationRequest
{
	int64		capability[YQ_MAX_RESOURCE_TYPES];	/* amounts of one container */
	int32		containers;
	int32		concurrency;	/* number of containers that run together as a gang */
	int64		duration;		/* duration of each gang; more than 0 */
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
	int			smoothness;		/* smoothness-factor; more than 0 */
} YqReservationAgent;

/* The reservation that is being placed. */
typedef struct YqPlacement
{
	const YqReservationAgent *agent;
	const YqPlan *plan;
	const YqReservationDefinition *definition;
	const char *username;
	const YqPlanReservation *old;	/* reservation that is replaced; NULL: none */
	YqStepFunction *load;		/* load of the plan, without the old reservation */
	YqStepFunction *changes;	/* changes by earlier requests */
	YqStepFunction *result;		/* placements of earlier requests */
	const YqStepFunction *available;	/* available from arrival to deadline; NULL: not needed yet */
	MemoryContext context;		/* context in which these functions live */
	int64		windows;		/* number of windows that this request and later ones may still examine */
} YqPlacement;

/* The placements of a request, palloc'd. */
typedef struct YqStagePlaces
{
	YqTimeInterval *intervals;
	int			count;
} YqStagePlaces;

/*
 * Place all gangs of a request between two times.  Returns YQ_PLAN_NO_ROOM when they do not fit.
 */
extern YqPlanFailure yq_greedy_allocator_place(YqPlacement *placement, const YqReservationRequest *request,
											   int64 start, int64 end, YqStagePlaces *places);
extern YqPlanFailure yq_aligned_allocator_place(YqPlacement *placement, const YqReservationRequest *request,
												int64 start, int64 end, YqStagePlaces *places);

/* Round a time that is not negative up to whole steps. */
extern int64 yq_stage_round_up(int64 time, int64 step);

/* Return a duration, rounded up to whole steps of the plan. */
extern int64 yq_stage_duration(const YqPlacement *placement, const YqReservationRequest *request);

#endif							/* YQ_STAGE_ALLOCATOR_H */
