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
 * SimpleCapacityReplanner removes reservations because a plan has become smaller
 * (reservation 7).
 *
 * No function here reads or writes a table.
 */

/*
 * Remove reservations from a prepared plan, at each step from "now" to the end of the
 * enforcement window.  The last accepted reservations are removed first, until the
 * promised amounts at that time fit.
 *
 * The plan contains the reservations that touch this time.  "goes_on" means that
 * further non-periodic reservations end later; otherwise the function examines no time
 * after the end of the last reservation (S5).  Returns the removed reservations
 * (YqPlanReservation), in the order of their removal.
 */
extern List *yq_plan_shrink(YqPlan *plan, int64 now, int64 enforcement_window, bool goes_on);

/* -- plan follower ------------------------------------------------------------- */

/*
 * A queue below a plan belongs to a reservation, or is the default queue, which gets
 * the rest.  Shares are fractions of the plan, floats of 32 bits as in Hadoop.  No
 * function here reads or writes a table.
 */

/* Reasons why a queue keeps its share. */
typedef enum YqShareRefusal
{
	YQ_SHARE_GIVEN,
	YQ_SHARE_BEYOND_PLAN,		/* all queues together would exceed the plan */
	YQ_SHARE_OUT_OF_RANGE		/* the share is negative, or exceeds the whole plan */
} YqShareRefusal;

typedef struct YqShare
{
	float4		capacity;
	float4		maximum_capacity;
} YqShare;

typedef struct YqPlanQueue
{
	bool		is_default;
	YqReservationId id;			/* not set for the default queue */
	bool		exists;			/* the queue existed before the round; not set for the default queue */
	bool		is_active;		/* set by the round: the reservation is active; otherwise the queue has expired */
	bool		is_kept;		/* the expired queue stays for this round: applications were killed there or remain */
	bool		is_postponed;	/* applications remain for a later round */
	YqShare		before;			/* share of an existing queue or of the default queue */
	YqShare		share;
	YqShareRefusal refusal;		/* refusal of the last intended share */
	float4		refused_capacity;	/* the refused share */
} YqPlanQueue;

typedef struct YqPlanQueues
{
	YqPlanQueue *queues;		/* the default queue first, then by id; new queues at the end */
	int			count;
} YqPlanQueues;

/* Return a time as the follower uses it: rounded up to whole steps of the plan. */
extern int64 yq_plan_follower_time(const YqPlan *plan, int64 time);

/* Set "amounts" to the amounts of all reservations of the plan at a time. */
extern void yq_plan_reserved_at(const YqPlan *plan, int64 time, int64 *amounts);

/*
 * Compute the shares of the queues at a time at which all reservations of the plan are
 * active.
 *
 * The caller passes the existing queues with their shares, and the default queue.  The
 * function adds queues for other reservations, and allocates the array again.
 * "absolute_capacity" is the plan's fraction of the cluster.  With "resizes", shares
 * are scaled down when reservations have more than the plan.
 */
extern void yq_plan_follow(const YqPlan *plan, const int64 *cluster, float4 absolute_capacity, int64 time, bool resizes,
						   YqPlanQueues *queues);

/* Is the queue of a reservation new, or has the round changed its share? */
extern bool yq_plan_queue_has_changed(const YqPlanQueue *queue);

/* Explain why a queue keeps its share, and name the refused share.  The result is palloc'd. */
extern char *yq_plan_queue_refusal_text(const YqPlanQueue *queue);

#endif							/* YQ_PLAN_FOLLOWER_H */
