/*-------------------------------------------------------------------------
 *
 * load_plan.h
 *	  A plan as the tables have it, and its locks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_PLAN_H
#define YQ_LOAD_PLAN_H

#include "admission/configuration/scheduler_setting.h"
#include "fmgr.h"
#include "nodes/pg_list.h"
#include "queues/hierarchy.h"
#include "reservation/plan.h"

/* -- plan lock ----------------------------------------------------------------- */

/*
 * The locks of plans: no other transaction changes the reservations of a plan, or the
 * queues below it, until this one ends.
 *
 * Names are hashed to few numbers, as in queue_lock.h.  A plan is locked before the
 * scheduler's lock and that of the configuration.
 */

extern void yq_plan_lock(const char *path);

/* Several plans, by paths (char *), in the order of their numbers. */
extern void yq_plans_lock(const List *paths);

/* -- load plan ----------------------------------------------------------------- */

/*
 * Reservations that are not in the plan any more are left out: those that have ended,
 * and those whose deadline was a window ago (Hadoop's archiving; there is no window
 * without a limit on averages), but for those that repeat where the plan repeats them.
 */

/* The queue with that path or name, which must be a plan, else ERRCODE_FOREIGN_KEY_VIOLATION. */
extern const YqQueue *yq_plan_queue(const YqHierarchy *hierarchy, const char *name);

/* The share of the cluster that the plan's queue has, palloc'd (reservation 8). */
extern int64 *yq_plan_capacity(const YqHierarchy *hierarchy, const YqQueue *queue);

/* The end of an interval must not be before its start. */
extern void yq_plan_check_interval(int64 start, int64 end);

/*
 * Arguments "from" and "to" of a function that shows a plan over time.  Longer than
 * reservation_most_copies times the largest periodicity is ERRCODE_PROGRAM_LIMIT_EXCEEDED.
 */
extern void yq_plan_window_arguments(FunctionCallInfo fcinfo, int from, int to, const YqReservationSettings *settings,
									 int64 *start, int64 *end);

/* Refuse (likewise) to show a plan over a time in which its reservations repeat too often to be written out. */
extern void yq_plan_check_length(const YqPlan *plan, int64 start, int64 end);

/* A plan without reservations. */
extern YqPlan *yq_plan_load(const YqHierarchy *hierarchy, const YqQueue *queue, const YqReservationSettings *settings);

/* The last deadline of reservations of a plan that do not repeat, from a time on; that time when there is none. */
extern int64 yq_plan_last_deadline(const char *queue, int64 from);

/* Deadlines up to this one lie so far back that the reservations are not in the plan any more. */
extern int64 yq_plan_archived_until(const YqReservationSettings *settings, int64 now);

/*
 * Add what is promised in an interval, both ends included, what repeats, and the reservation with
 * an id, which may be NULL; and prepare the plan.  Others than this one are no reservations of it.
 */
extern void yq_plan_load_intervals(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, const char *id,
								   int64 start, int64 end, int64 archived_until);

/* Add reservations that touch an interval, both ends included, and those that repeat; and prepare the plan. */
extern void yq_plan_load_reservations(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue,
									  int64 start, int64 end, int64 archived_until);

/*
 * Add those that occur at a time, with what they have then (those that repeat with all they
 * have), whether they are to be left out for their deadline or not.  The plan is not prepared.
 */
extern void yq_plan_load_active(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, int64 time);

/* Is there one that occurs once, and arrives after a time? */
extern bool yq_plan_goes_on(const char *queue, int64 time);

/* Ids (char *) of those whose deadlines are no later than a time, and that have nothing more to come. */
extern List *yq_plan_completed(const YqPlan *plan, const char *queue, int64 until);

#endif							/* YQ_LOAD_PLAN_H */
