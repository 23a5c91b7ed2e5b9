/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What a plan has promised, and how much of it one user may have.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLAN_H
#define YQ_PLAN_H

#include "base/bytes_table.h"
#include "queues/text.h"
#include "reservation/step_function.h"

/* Why a plan does not take a reservation. */
typedef enum YqPlanFailure
{
	YQ_PLAN_ACCEPTED,
	YQ_PLAN_EXISTS,				/* the id is taken */
	YQ_PLAN_UNKNOWN,			/* there is none with the id */
	YQ_PLAN_CONCURRENCY,		/* less than 1 */
	YQ_PLAN_CONTAINERS,			/* none is asked for */
	YQ_PLAN_GANGS,				/* containers are no multiple of the concurrency */
	YQ_PLAN_TOO_LARGE_CONTAINER,	/* beyond the maximum allocation */
	YQ_PLAN_NO_ROOM,			/* no placement satisfies the definition */
	YQ_PLAN_GAP,				/* the placement found violates R_ORDER_NO_GAP */
	YQ_PLAN_OVERCOMMITTED,		/* more is promised already than there is (S4) */
	YQ_PLAN_PERIOD,				/* does not divide the largest period, or is too short */
	YQ_PLAN_CAPACITY,			/* the sharing policy: more than the plan has left */
	YQ_PLAN_INSTANTANEOUS,		/* more than a user may have at a time */
	YQ_PLAN_AVERAGE,			/* more than a user may have on average over the window */
	YQ_PLAN_SEARCH,				/* the search would be too long */
	YQ_PLAN_REPEATS				/* what repeats has too many steps (YQ_MOST_REPEATED_STEPS) in the time of the reservation */
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
	int64		period;			/* 0: once */
	int64		accepted_at;
	int			interval_count;
	const YqTimeInterval *intervals;	/* of a periodic one: within [0, period] */
	YqStepFunction *over_time;	/* the same */
} YqPlanReservation;

/* What a user has been promised. */
typedef struct YqPlanUser
{
	const char *username;
	YqStepFunction *once;		/* NULL: not asked for yet */
	YqStepFunction *periodic;	/* likewise; its period is the largest one */
} YqPlanUser;

/* An interval of a reservation that is not among those of the plan. */
typedef struct YqPlanInterval
{
	int			user;			/* place of the owner */
	int64		period;			/* 0: once */
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
	float4		instantaneous_share;	/* fraction of the capacity that a user may have at a time, */
	float4		average_share;	/* and on average over a window */
	bool		wraps;			/* what repeats keeps what lies beyond a multiple of its period; Hadoop loses it */
	bool		repeats;		/* what repeats has its allocation in each period; in Hadoop in the first one (S15) */
	bool		plans_around;	/* where more is promised than there is, nothing is left; Hadoop fails (S4) */
	bool		ends_averages;	/* a user's load ends a window after the deadline; in Hadoop it goes on for ever */
	int64		most_windows;	/* that a search looks at for all requests together; more is YQ_PLAN_SEARCH */
	YqPlanReservation **reservations;
	int			count;
	int			room;
	YqPlanInterval *intervals;	/* promised besides */
	int			interval_count;
	int			interval_room;
	YqStepFunction *once;		/* sum of those that occur once */
	YqStepFunction *periodic;	/* sum of the others; its period is the largest one */
	YqPlanUser *users;
	int			user_count;
	int			user_room;
	HTAB	   *user_places;	/* by name */
} YqPlan;

/* An empty plan, in a context of its own below the current one. */
extern YqPlan *yq_plan_make(const YqCalculator *calculator);

/*
 * Make a reservation with these intervals (copied), as planned.  It is not part of the
 * plan yet.
 */
extern YqPlanReservation *yq_plan_make_reservation(YqPlan *plan, YqReservationId id, const char *username,
												   int64 arrival, int64 deadline, int64 period,
												   const YqTimeInterval *intervals, int count);

/*
 * Add one that was accepted before; or an interval of one (copied), when nothing else of it matters
 * but what its owner has; and compute the sums of all of them.
 */
extern void yq_plan_add_accepted(YqPlan *plan, YqPlanReservation *reservation);
extern void yq_plan_add_interval(YqPlan *plan, YqBytes username, int64 period, const YqTimeInterval *interval);
extern void yq_plan_prepare(YqPlan *plan);

/* The reservation with an id, or NULL. */
extern YqPlanReservation *yq_plan_find(const YqPlan *plan, YqReservationId id);

/*
 * Put a reservation into a prepared plan at a time, if the policy agrees; in place of
 * the one with its id, if "replaces".
 */
extern YqPlanFailure yq_plan_add(YqPlan *plan, YqPlanReservation *reservation, int64 now);
extern YqPlanFailure yq_plan_replace(YqPlan *plan, YqPlanReservation *reservation, int64 now);

/* Take one out again, and put back what it replaced, NULL for nothing. */
extern void yq_plan_undo(YqPlan *plan, YqPlanReservation *reservation, YqPlanReservation *replaced);

/* Take one out of a prepared plan; it stays allocated. */
extern void yq_plan_remove(YqPlan *plan, YqPlanReservation *reservation);

/* Does a reservation with these times touch an interval, its end included (semantics/reservations 4.2)? */
extern bool yq_plan_occurs(int64 arrival, int64 deadline, int64 period, int64 start, int64 end);

/*
 * amounts := what a reservation has at a time, as the plan follower reads it.  The plan's sums
 * have that of each period, also where the reservation itself has it in the first one alone.
 */
extern void yq_plan_reservation_at(const YqPlan *plan, const YqPlanReservation *reservation, int64 time, int64 *amounts);

/* amounts := what is promised at a time, by the plan's sums. */
extern void yq_plan_committed_at(const YqPlan *plan, int64 time, int64 *amounts);

/* What is promised over time, in all and to one user. */
extern YqStepFunction *yq_plan_committed(const YqPlan *plan, int64 start, int64 end);
extern YqStepFunction *yq_plan_committed_to(const YqPlan *plan, const char *username, int64 start, int64 end);

/*
 * What a user could have between two times in each of the periods (0: once); what "old",
 * which may be NULL, has counts as free.  NULL when there is a failure.
 */
extern YqStepFunction *yq_plan_available(const YqPlan *plan, const char *username, const YqPlanReservation *old,
										 int64 start, int64 end, int64 period, YqPlanFailure *failure);

#endif							/* YQ_PLAN_H */
