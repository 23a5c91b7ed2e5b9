/*-------------------------------------------------------------------------
 *
 * follow_plan.h
 *	  Rounds of the plan follower: what they read, decide and write.
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
	int			queue;			/* place of the queue that it was in */
	bool		is_killed;		/* else it goes on in the default queue */
	bool		is_refused;		/* neither could be written, and it stays where it was (refusal.h) */
	const char *reason;			/* why, or why the default queue did not take it; NULL: that was not asked */
} YqFollowedApplication;

/* What a round finds out, and does when it is no dry one. */
typedef struct YqPlanRound
{
	const YqHierarchy *hierarchy;
	const YqQueue *queue;		/* the plan; NULL when it is one no more, and has no queues */
	const char *path;
	YqReservationSettings settings;
	TimestampTz now;
	YqPlanQueues queues;
	List	   *replanned;		/* ids (char *) of reservations, as the next one */
	List	   *archived;
	List	   *applications;	/* YqFollowedApplication; not of a dry round */
	bool		is_refused;		/* nothing of it could be written (refusal.h) */
} YqPlanRound;

/* Are there rounds?  Not while the reservation system is off. */
extern bool yq_plan_follower_is_on(void);

/*
 * A round for the plan with that path or name, or (NULL) for all of them.  Without "replans" a plan that has become too small shares
 * less out, and keeps its reservations.  Returns YqPlanRound.
 */
extern List *yq_plans_follow(const char *queue, bool replans, bool is_dry_run);

/* A round for one plan, by a transaction that holds all of its locks. */
extern void yq_plan_follow_now(const char *path);

/* Last part of it, palloc'd. */
extern char *yq_plan_queue_name(const YqPlanRound *round, const YqPlanQueue *queue);

#endif							/* YQ_FOLLOW_PLAN_H */
