/*-------------------------------------------------------------------------
 *
 * plan_follower.h
 *	  The shares that the queues below a plan are to have at a time, and the reservations
 *	  that go because the plan has become smaller.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLAN_FOLLOWER_H
#define YQ_PLAN_FOLLOWER_H

#include "nodes/pg_list.h"
#include "reservation/plan.h"

/* -- capacity replanner -------------------------------------------------------- */

/*
 * SimpleCapacityReplanner: reservations that go because a plan has become smaller
 * (reservation 7).
 *
 * Nothing here reads or writes a table.
 */

/*
 * Remove reservations from a prepared plan, at each step from "now" on for as long as the
 * enforcement window: those accepted last first, until what is promised at that time fits.
 * The plan has those that touch this time; "goes_on" says that there are others which occur
 * once and end later, since nothing beyond the last of these is looked at (S5).
 * Returns what it has removed (YqPlanReservation), in that order.
 */
extern List *yq_plan_shrink(YqPlan *plan, int64 now, int64 enforcement_window, bool goes_on);

/* -- plan follower ------------------------------------------------------------- */

/*
 * A queue below a plan belongs to a reservation, or it is the default queue, which has what
 * reservations leave.  Shares are fractions of the plan, floats of 32 bits as in Hadoop.
 * Nothing here reads or writes a table.
 */

/* Why a queue keeps the share that it has. */
typedef enum YqShareRefusal
{
	YQ_SHARE_GIVEN,
	YQ_SHARE_BEYOND_PLAN,		/* all queues together would have more than the plan */
	YQ_SHARE_OUT_OF_RANGE		/* it is negative, or more than the whole plan */
} YqShareRefusal;

typedef struct YqShare
{
	float4		capacity;
	float4		maximum_capacity;
} YqShare;

typedef struct YqPlanQueue
{
	bool		is_default;
	YqReservationId id;			/* not of the default queue */
	bool		exists;			/* before the round; the default queue does without */
	bool		is_active;		/* by the round: its reservation occurs; else it has expired */
	bool		is_kept;		/* it has expired, and goes in a later round: applications were killed there, or are left */
	bool		is_postponed;	/* they are left */
	YqShare		before;			/* of one that exists, and of the default queue */
	YqShare		share;
	YqShareRefusal refusal;		/* of the share that it was to have last */
	float4		refused_capacity;	/* that share */
} YqPlanQueue;

typedef struct YqPlanQueues
{
	YqPlanQueue *queues;		/* the default queue first, then by id; those that are new at the end */
	int			count;
} YqPlanQueues;

/* A time as the follower sees it: in whole steps of the plan, rounded up. */
extern int64 yq_plan_follower_time(const YqPlan *plan, int64 time);

/* amounts := what all reservations of the plan have at a time. */
extern void yq_plan_reserved_at(const YqPlan *plan, int64 time, int64 *amounts);

/*
 * Give the queues their shares at a time, at which all reservations of the plan occur.  The
 * queues are those that exist, with their shares, and the default queue; queues for other
 * reservations are added, palloc'd anew.  "absolute_capacity" is the plan's of the cluster.
 * With "resizes" shares are scaled down when reservations have more than the plan.
 */
extern void yq_plan_follow(const YqPlan *plan, const int64 *cluster, float4 absolute_capacity, int64 time, bool resizes,
						   YqPlanQueues *queues);

/* Is the queue of a reservation new, or has a queue another share than before the round? */
extern bool yq_plan_queue_has_changed(const YqPlanQueue *queue);

/* Why a queue keeps its share, with the one that it was to have, palloc'd. */
extern char *yq_plan_queue_refusal_text(const YqPlanQueue *queue);

#endif							/* YQ_PLAN_FOLLOWER_H */
