/*-------------------------------------------------------------------------
 *
 * follow_plan.h
 *	  Runs rounds of the plan follower: reads their input, decides, and writes the
 *	  results.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FOLLOW_PLAN_H
#define YQ_FOLLOW_PLAN_H

#include "admission/configuration/scheduler_setting.h"
#include "nodes/pg_list.h"
#include "queues/hierarchy.h"
#include "reservation/plan_follower.h"
#include "utils/timestamp.h"

/* An application in an expired queue. */
typedef struct YqFollowedApplication
{
	const char *application_id;
	int			queue;			/* position of the expired queue */
	bool		is_killed;		/* true: the application is killed; false: it moves to the default queue */
	bool		is_refused;		/* the application could be neither moved nor killed, and stays (refusal.h) */
	const char *reason;			/* why the default queue or the database refused the application; NULL: no refusal */
} YqFollowedApplication;

/* The result of a round.  A dry run does not write this result. */
typedef struct YqPlanRound
{
	const YqHierarchy *hierarchy;
	const YqQueue *queue;		/* the plan; NULL if the queue is not a plan any more, and has no queues below it */
	const char *path;
	YqReservationSettings settings;
	TimestampTz now;
	YqPlanQueues queues;
	List	   *replanned;		/* ids (char *) of reservations that are removed */
	List	   *archived;		/* ids (char *) of reservations that are archived */
	List	   *applications;	/* YqFollowedApplication elements; NIL in a dry run */
	bool		is_refused;		/* an error prevented all changes of the round (refusal.h) */
} YqPlanRound;

/* Is the plan follower enabled?  It is disabled while the reservation system is off. */
extern bool yq_plan_follower_is_on(void);

/*
 * Run a round for the plan with this path or name, or for all plans if NULL.  A plan may
 * have become too small for its reservations.  With "replans", the round then removes
 * reservations; otherwise it scales down their shares.  Returns a list of YqPlanRound.
 */
extern List *yq_plans_follow(const char *queue, bool replans, bool is_dry_run);

/* Run a round for one plan.  The caller's transaction must hold all locks of the plan. */
extern void yq_plan_follow_now(const char *path);

/* Return the last part of the path of a queue, palloc'd. */
extern char *yq_plan_queue_name(const YqPlanRound *round, const YqPlanQueue *queue);

#endif							/* YQ_FOLLOW_PLAN_H */
