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

/* An application in a queue that has expired. */
typedef struct YqFollowedApplication
{
	const char *application_id;
	int			queue;			/* position of the queue that the application leaves */
	bool		is_killed;		/* true: the application is killed; false: it continues in the default queue */
	bool		is_refused;		/* neither could be written, so the application stays in its queue (refusal.h) */
	const char *reason;			/* reason of a refusal by the database or the default queue; NULL: none */
} YqFollowedApplication;

/* The result of a round.  Unless it is a dry run, the round also writes the result. */
typedef struct YqPlanRound
{
	const YqHierarchy *hierarchy;
	const YqQueue *queue;		/* the plan; NULL when the queue is no longer a plan and has no queues below it */
	const char *path;
	YqReservationSettings settings;
	TimestampTz now;
	YqPlanQueues queues;
	List	   *replanned;		/* ids (char *) of removed reservations; the next list contains ids, too */
	List	   *archived;
	List	   *applications;	/* YqFollowedApplication elements; not set in a dry run */
	bool		is_refused;		/* no change of the round could be written (refusal.h) */
} YqPlanRound;

/* Do rounds run?  They do not run while the reservation system is off. */
extern bool yq_plan_follower_is_on(void);

/*
 * Run a round for the plan with this path or name, or (NULL) for all plans.  Unless
 * "replans" is set, a plan that has become too small reduces its shares but keeps its
 * reservations.  Returns a list of YqPlanRound.
 */
extern List *yq_plans_follow(const char *queue, bool replans, bool is_dry_run);

/* Run a round for one plan, in a transaction that holds all locks of the plan. */
extern void yq_plan_follow_now(const char *path);

/* Return the last part of the path of a queue, palloc'd. */
extern char *yq_plan_queue_name(const YqPlanRound *round, const YqPlanQueue *queue);

#endif							/* YQ_FOLLOW_PLAN_H */
