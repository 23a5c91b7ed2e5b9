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
	YQ_PLAN_EXISTS,				/* the id is in use */
	YQ_PLAN_UNKNOWN,			/* no reservation has the id */
	YQ_PLAN_CONCURRENCY,		/* concurrency is less than 1 */
	YQ_PLAN_CONTAINERS,			/* no containers are requested */
	YQ_PLAN_GANGS,				/* the number of containers is not a multiple of the concurrency */
	YQ_PLAN_TOO_LARGE_CONTAINER,	/* a container exceeds the maximum allocation */
	YQ_PLAN_NO_ROOM,			/* no placement satisfies the definition */
	YQ_PLAN_GAP,				/* the placement that was found violates R_ORDER_NO_GAP */
	YQ_PLAN_OVERCOMMITTED,		/* more is already promised than the plan has (S4) */
	YQ_PLAN_PERIOD,				/* the period does not divide the largest one, or is too short */
	YQ_PLAN_CAPACITY,			/* sharing policy: more than the plan has left */
	YQ_PLAN_INSTANTANEOUS,		/* more than a user may have at a time */
	YQ_PLAN_AVERAGE,			/* more than a user may have on average over the window */
	YQ_PLAN_SEARCH,				/* the search would be too long */
	YQ_PLAN_REPEATS				/* too many repeated steps (YQ_MOST_REPEATED_STEPS) in the reservation's time */
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
	const YqTimeInterval *intervals;	/* within [0, period] for a periodic reservation */
	YqStepFunction *over_time;	/* the intervals as a function */
} YqPlanReservation;

/* The promises to a user. */
typedef struct YqPlanUser
{
	const char *username;
	YqStepFunction *once;		/* sum of non-periodic promises; NULL: not needed yet */
	YqStepFunction *periodic;	/* sum of periodic promises, with the largest period; NULL: not needed yet */
} YqPlanUser;

/* An interval of a reservation that is not one of the plan's reservations. */
typedef struct YqPlanInterval
{
	int			user;			/* position of the owner */
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
	float4		instantaneous_share;	/* fraction of the capacity that a user may have at a time */
	float4		average_share;	/* fraction that a user may have on average over a window */
	bool		wraps;			/* intervals beyond a multiple of the period wrap around; Hadoop loses them */
	bool		repeats;		/* periodic reservations count in each period; Hadoop: only in the first (S15) */
	bool		plans_around;	/* if more is promised than the plan has, nothing is left; Hadoop fails (S4) */
	bool		ends_averages;	/* a user's load ends a window after the deadline; in Hadoop it never ends */
	int64		most_windows;	/* limit on windows of a search for all requests; above it, YQ_PLAN_SEARCH */
	YqPlanReservation **reservations;
	int			count;
	int			room;
	YqPlanInterval *intervals;	/* further promises */
	int			interval_count;
	int			interval_room;
	YqStepFunction *once;		/* sum of the reservations that occur once */
	YqStepFunction *periodic;	/* sum of the periodic reservations, with the largest period */
	YqPlanUser *users;
	int			user_count;
	int			user_room;
	HTAB	   *user_places;	/* by name */
} YqPlan;

/* Make an empty plan, in its own context below the current one. */
extern YqPlan *yq_plan_make(const YqCalculator *calculator);

/* Make a planned reservation with a copy of the intervals.  It is not part of the plan yet. */
extern YqPlanReservation *yq_plan_make_reservation(YqPlan *plan, YqReservationId id, const char *username,
												   int64 arrival, int64 deadline, int64 period,
												   const YqTimeInterval *intervals, int count);

/*
 * Add an accepted reservation, or only one of its intervals (copied) with its owner.
 * The third function computes the sums of everything that was added.
 */
extern void yq_plan_add_accepted(YqPlan *plan, YqPlanReservation *reservation);
extern void yq_plan_add_interval(YqPlan *plan, YqBytes username, int64 period, const YqTimeInterval *interval);
extern void yq_plan_prepare(YqPlan *plan);

/* Return the reservation with an id, or NULL. */
extern YqPlanReservation *yq_plan_find(const YqPlan *plan, YqReservationId id);

/*
 * Add a reservation to a prepared plan at a time, if the policy accepts it.  The second
 * function replaces the reservation with the same id.
 */
extern YqPlanFailure yq_plan_add(YqPlan *plan, YqPlanReservation *reservation, int64 now);
extern YqPlanFailure yq_plan_replace(YqPlan *plan, YqPlanReservation *reservation, int64 now);

/* Remove a reservation again, and restore the reservation that it replaced (NULL: none). */
extern void yq_plan_undo(YqPlan *plan, YqPlanReservation *reservation, YqPlanReservation *replaced);

/* Remove a reservation from a prepared plan.  Its memory is kept. */
extern void yq_plan_remove(YqPlan *plan, YqPlanReservation *reservation);

/*
 * Does a reservation with these times touch an interval, including the interval's end
 * (semantics/reservations 4.2)?
 */
extern bool yq_plan_occurs(int64 arrival, int64 deadline, int64 period, int64 start, int64 end);

/*
 * Set "amounts" to the amounts of a reservation at a time, as the plan follower reads
 * them.  The plan's sums include the amounts in each period, even if the reservation
 * itself has them only in the first period.
 */
extern void yq_plan_reservation_at(const YqPlan *plan, const YqPlanReservation *reservation, int64 time, int64 *amounts);

/* Set "amounts" to the promised amounts at a time, according to the plan's sums. */
extern void yq_plan_committed_at(const YqPlan *plan, int64 time, int64 *amounts);

/* Return the promised amounts over time: to all users, and to one user. */
extern YqStepFunction *yq_plan_committed(const YqPlan *plan, int64 start, int64 end);
extern YqStepFunction *yq_plan_committed_to(const YqPlan *plan, const char *username, int64 start, int64 end);

/*
 * Return the amounts that a user could have between two times, in each of the periods
 * (0: once).  The amounts of "old", which may be NULL, count as free.  Returns NULL
 * when the computation fails.
 */
extern YqStepFunction *yq_plan_available(const YqPlan *plan, const char *username, const YqPlanReservation *old,
										 int64 start, int64 end, int64 period, YqPlanFailure *failure);

#endif							/* YQ_PLAN_H */
