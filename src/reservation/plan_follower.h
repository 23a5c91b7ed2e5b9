/*-------------------------------------------------------------------------
 *
 * plan_follower.h
 *	  Computes the shares of the queues below a plan at a time, and the reservations that are
 *	  removed because the plan has become smaller.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLAN_FOLLOWER_H
#define YQ_PLAN_FOLLOWER_H

#include "nodes/pg_list.h"
#include "reservation/plan.h"

/* -- capacity replanner -------------------------------------------------------- */

/*
 * Does the work of Hadoop's SimpleCapacityReplanner: removes reservations when a plan has
 * become smaller (semantics/reservations 7).
 *
 * The functions below read and write no tables.
 */

/*
 * Remove reservations from a prepared plan, at each step from "now" to the end of the
 * enforcement window.  At each step, the reservation that was accepted last is removed
 * first, until the promised amounts fit.
 *
 * The plan must contain the reservations that touch the enforcement window.  "goes_on"
 * tells that other non-periodic reservations end after the window.  If it is false, the
 * function stops at the end of the last reservation.  Returns the removed reservations
 * (YqPlanReservation), in the order of their removal.
 */
extern List *yq_plan_shrink(YqPlan *plan, int64 now, int64 enforcement_window, bool goes_on);

/* -- plan follower ------------------------------------------------------------- */

/*
 * A queue below a plan belongs to a reservation or is the default queue, which gets the
 * rest of the plan.  Shares are fractions of the plan, stored in 32-bit floats as in
 * Hadoop.  The functions below read and write no tables.
 */

/* Reasons why a queue keeps its share. */
typedef enum YqShareRefusal
{
	YQ_SHARE_GIVEN,
	YQ_SHARE_BEYOND_PLAN,		/* the sum of all queues would exceed the plan */
	YQ_SHARE_OUT_OF_RANGE		/* the share is negative, or larger than the whole plan */
} YqShareRefusal;

typedef struct YqShare
{
	float4		capacity;
	float4		maximum_capacity;
} YqShare;

typedef struct YqPlanQueue
{
	bool		is_default;
	YqReservationId id;			/* id of the reservation; not set for the default queue */
	bool		exists;			/* the queue existed before the round; not set for the default queue */
	bool		is_active;		/* set by the round; true: the reservation is active; false: the queue has expired */
	bool		is_kept;		/* the expired queue is kept: applications were killed there or remain there */
	bool		is_postponed;	/* some applications remain for a later round */
	YqShare		before;			/* share of an existing queue or of the default queue before the round */
	YqShare		share;
	YqShareRefusal refusal;		/* why the last share was refused */
	float4		refused_capacity;	/* the refused share */
} YqPlanQueue;

typedef struct YqPlanQueues
{
	YqPlanQueue *queues;		/* the default queue, then existing queues by id, then new queues */
	int			count;
} YqPlanQueues;

/* Return the time at which the follower reads a plan: "now", rounded up to a multiple of the plan's step. */
extern int64 yq_plan_follower_time(const YqPlan *plan, int64 time);

/* Set "amounts" to the sum of all reservations of the plan at a time. */
extern void yq_plan_reserved_at(const YqPlan *plan, int64 time, int64 *amounts);

/*
 * Compute the shares of the queues at a time.  All reservations of the plan must be active
 * at that time.
 *
 * The caller passes the default queue and the existing queues, with their shares.  The
 * function adds queues for other reservations, and reallocates the array.
 * "absolute_capacity" is the plan's fraction of the cluster.  If "resizes" is set and the
 * reservations exceed the plan, their shares are scaled down.
 */
extern void yq_plan_follow(const YqPlan *plan, const int64 *cluster, float4 absolute_capacity, int64 time, bool resizes,
						   YqPlanQueues *queues);

/* Is the reservation's queue new, or has the round changed the queue's share? */
extern bool yq_plan_queue_has_changed(const YqPlanQueue *queue);

/* Explain why a queue keeps its share, with the share that was refused.  The result is palloc'd. */
extern char *yq_plan_queue_refusal_text(const YqPlanQueue *queue);

#endif							/* YQ_PLAN_FOLLOWER_H */
