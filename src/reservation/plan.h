/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  Keeps the promises of a plan, and limits the share of one user.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLAN_H
#define YQ_PLAN_H

#include "base/bytes_table.h"
#include "queues/text.h"
#include "reservation/step_function.h"

/* Reasons why a plan does not accept a reservation. */
typedef enum YqPlanFailure
{
	YQ_PLAN_ACCEPTED,
	YQ_PLAN_EXISTS,				/* the id is already in use */
	YQ_PLAN_UNKNOWN,			/* no reservation has the id */
	YQ_PLAN_CONCURRENCY,		/* concurrency is less than 1 */
	YQ_PLAN_CONTAINERS,			/* no containers are requested */
	YQ_PLAN_GANGS,				/* the number of containers must be a multiple of the concurrency */
	YQ_PLAN_TOO_LARGE_CONTAINER,	/* a container exceeds the maximum allocation */
	YQ_PLAN_NO_ROOM,			/* the definition cannot be placed in the plan */
	YQ_PLAN_GAP,				/* the placement that was found has gaps, which R_ORDER_NO_GAP forbids */
	YQ_PLAN_OVERCOMMITTED,		/* the plan has already promised more than its capacity */
	YQ_PLAN_PERIOD,				/* the period is too short, or the largest period is not a multiple of it */
	YQ_PLAN_CAPACITY,			/* sharing policy: the reservation needs more than the plan has left */
	YQ_PLAN_INSTANTANEOUS,		/* the user would have more than a user may have at one time */
	YQ_PLAN_AVERAGE,			/* the user would have more than a user may have on average over the window */
	YQ_PLAN_SEARCH,				/* the search would take too long */
	YQ_PLAN_REPEATS				/* steps repeat too often in the reservation's time (YQ_MOST_REPEATED_STEPS) */
} YqPlanFailure;

typedef enum YqSharingPolicy
{
	YQ_NO_OVER_COMMIT,
	YQ_CAPACITY_OVER_TIME
} YqSharingPolicy;

typedef struct YqPlanReservation
{
	YqReservationId id;
	const char *username;
	int64		arrival;
	int64		deadline;
	int64		period;			/* milliseconds; 0: the reservation occurs once */
	int64		accepted_at;
	int			interval_count;
	const YqTimeInterval *intervals;	/* intervals; those of a periodic reservation lie within [0, period] */
	YqStepFunction *over_time;	/* the intervals as a step function */
} YqPlanReservation;

/* The sums of the promises to a user. */
typedef struct YqPlanUser
{
	const char *username;
	YqStepFunction *once;		/* sum of the user's non-periodic promises; NULL: not computed */
	YqStepFunction *periodic;	/* sum of the user's periodic promises over the largest period; NULL: not computed */
} YqPlanUser;

/* An interval that was added without its reservation. */
typedef struct YqPlanInterval
{
	int			user;			/* position of the reservation's owner */
	int64		period;			/* milliseconds; 0: the reservation occurs once */
	int64		start;
	int64		end;
	const int64 *amounts;
} YqPlanInterval;

typedef struct YqPlan
{
	MemoryContext context;
	const YqCalculator *calculator;
	int64		capacity[YQ_MAX_RESOURCE_TYPES];
	int64		maximum_allocation[YQ_MAX_RESOURCE_TYPES];
	int64		step;			/* planfollower.time-step */
	int64		largest_period; /* max-periodicity */
	YqSharingPolicy policy;
	int64		window;			/* reservation-window */
	float4		instantaneous_share;	/* fraction of the plan's capacity that a user may have at one time */
	float4		average_share;	/* fraction of the plan's capacity that a user may have on average over a window */
	bool		wraps;			/* intervals that exceed the largest period continue at its start; Hadoop drops them */
	bool		repeats;		/* periodic reservations count in each period; in Hadoop only in the first */
	bool		plans_around;	/* a plan that has promised too much has nothing left; in Hadoop the call fails */
	bool		ends_averages;	/* a user's load ends a window after the deadline; in Hadoop it never ends */
	int64		most_windows;	/* number of windows that a search may examine; beyond it, YQ_PLAN_SEARCH */
	YqPlanReservation **reservations;
	int			count;
	int			room;
	YqPlanInterval *intervals;	/* further promises */
	int			interval_count;
	int			interval_room;
	YqStepFunction *once;		/* sum of the non-periodic reservations */
	YqStepFunction *periodic;	/* sum of the periodic reservations, over the largest period */
	YqPlanUser *users;
	int			user_count;
	int			user_room;
	HTAB	   *user_places;	/* by name */
} YqPlan;

/* Make an empty plan in its own memory context below the current one. */
extern YqPlan *yq_plan_make(const YqCalculator *calculator);

/* Make a reservation with a copy of the intervals.  The reservation is not added to the plan. */
extern YqPlanReservation *yq_plan_make_reservation(YqPlan *plan, YqReservationId id, const char *username,
												   int64 arrival, int64 deadline, int64 period,
												   const YqTimeInterval *intervals, int count);

/*
 * Add an accepted reservation, or a copy of a single interval of a reservation with its
 * owner.  The third function computes the plan's sums after everything has been added.
 */
extern void yq_plan_add_accepted(YqPlan *plan, YqPlanReservation *reservation);
extern void yq_plan_add_interval(YqPlan *plan, YqBytes username, int64 period, const YqTimeInterval *interval);
extern void yq_plan_prepare(YqPlan *plan);

/* Return the reservation with an id, or NULL. */
extern YqPlanReservation *yq_plan_find(const YqPlan *plan, YqReservationId id);

/*
 * Add a reservation to a prepared plan if the policy accepts it.  "now" is the time of
 * acceptance.  The second function replaces the reservation with the same id.
 */
extern YqPlanFailure yq_plan_add(YqPlan *plan, YqPlanReservation *reservation, int64 now);
extern YqPlanFailure yq_plan_replace(YqPlan *plan, YqPlanReservation *reservation, int64 now);

/* Undo a replacement: remove a reservation, and add the reservation that it replaced (NULL: none). */
extern void yq_plan_undo(YqPlan *plan, YqPlanReservation *reservation, YqPlanReservation *replaced);

/* Remove a reservation from a prepared plan.  The reservation's memory is not freed. */
extern void yq_plan_remove(YqPlan *plan, YqPlanReservation *reservation);

/*
 * Does a reservation with these times touch an interval?  The end of the interval is part
 * of the interval (semantics/reservations 4.2).
 */
extern bool yq_plan_occurs(int64 arrival, int64 deadline, int64 period, int64 start, int64 end);

/*
 * Set "amounts" to the amounts of a reservation at a time, as the plan follower uses them.
 * In the plan's sums, a periodic reservation has amounts in each period, but the
 * reservation itself may have them only in the first period.
 */
extern void yq_plan_reservation_at(const YqPlan *plan, const YqPlanReservation *reservation, int64 time, int64 *amounts);

/* Set "amounts" to the amounts that the plan has promised at a time, according to its sums. */
extern void yq_plan_committed_at(const YqPlan *plan, int64 time, int64 *amounts);

/* Return the amounts promised over time: the first function to all users, the second to one user. */
extern YqStepFunction *yq_plan_committed(const YqPlan *plan, int64 start, int64 end);
extern YqStepFunction *yq_plan_committed_to(const YqPlan *plan, const char *username, int64 start, int64 end);

/*
 * Return the amounts that are available to a user between two times.  If "period" is not 0,
 * the amounts must be available in each period.  The amounts of "old", if not NULL, count
 * as free.  Returns NULL if the computation fails.
 */
extern YqStepFunction *yq_plan_available(const YqPlan *plan, const char *username, const YqPlanReservation *old,
										 int64 start, int64 end, int64 period, YqPlanFailure *failure);

#endif							/* YQ_PLAN_H */
