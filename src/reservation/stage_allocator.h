/*-------------------------------------------------------------------------
 *
 * stage_allocator.h
 *	  Places the gangs of one request of a reservation, by each of the two allocators.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_STAGE_ALLOCATOR_H
#define YQ_STAGE_ALLOCATOR_H

#include "reservation/plan.h"

/* ReservationRequestInterpreter */
typedef enum YqReservationInterpreter
{
	YQ_RESERVE_ANY,				/* the first request that fits */
	YQ_RESERVE_ALL,				/* every request, in any relation */
	YQ_RESERVE_ORDER,			/* each request after the end of its predecessor */
	YQ_RESERVE_ORDER_NO_GAP		/* each request directly after its predecessor, without a gap */
} YqReservationInterpreter;

typedef struct YqReservationRequest
{
	int64		capability[YQ_MAX_RESOURCE_TYPES];	/* amounts of one container */
	int32		containers;
	int32		concurrency;	/* containers that run together as a gang */
	int64		duration;		/* duration of each gang; above 0 */
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

/* The reservation that is being placed. */
typedef struct YqPlacement
{
	const YqReservationAgent *agent;
	const YqPlan *plan;
	const YqReservationDefinition *definition;
	const char *username;
	const YqPlanReservation *old;	/* reservation to replace; NULL for none */
	YqStepFunction *load;		/* load of the plan, without the old reservation */
	YqStepFunction *changes;	/* changes by earlier requests */
	YqStepFunction *result;		/* placements of earlier requests */
	const YqStepFunction *available;	/* from arrival to deadline; NULL: not needed yet */
	MemoryContext context;		/* context of these functions */
	int64		windows;		/* windows that may still be examined, for this request and later ones */
} YqPlacement;

/* The places of one request, palloc'd. */
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

/* Round a time, not before 0, up to whole steps. */
extern int64 yq_stage_round_up(int64 time, int64 step);

/* Return a duration in whole steps of the plan. */
extern int64 yq_stage_duration(const YqPlacement *placement, const YqReservationRequest *request);

#endif							/* YQ_STAGE_ALLOCATOR_H */
