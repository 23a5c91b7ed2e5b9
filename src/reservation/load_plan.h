/*-------------------------------------------------------------------------
 *
 * load_plan.h
 *	  Loads a plan from the tables, and locks plans.
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
 * Locks plans: no other transaction changes the reservations of a plan, or the queues below it,
 * until this one ends.
 *
 * Names are hashed to a few numbers, as in queue_lock.h.  A plan is locked before the scheduler's
 * lock and that of the configuration.
 */

extern void yq_plan_lock(const char *path);

/* Lock several plans, by paths (char *), in the order of their numbers. */
extern void yq_plans_lock(const List *paths);

/* -- load plan ----------------------------------------------------------------- */

/*
 * Loads plans without reservations that have left them.  These are reservations that have ended,
 * and those whose deadline was a window ago.  This is Hadoop's archiving; without a limit on
 * averages there is no window.  A periodic reservation stays where the plan repeats it.
 */

/* Return the queue with this path or name; raises ERRCODE_FOREIGN_KEY_VIOLATION unless it is a plan. */
extern const YqQueue *yq_plan_queue(const YqHierarchy *hierarchy, const char *name);

/* Return the share of the cluster that the plan's queue has, palloc'd (reservation 8). */
extern int64 *yq_plan_capacity(const YqHierarchy *hierarchy, const YqQueue *queue);

/* Check that the end of an interval is not before its start. */
extern void yq_plan_check_interval(int64 start, int64 end);

/*
 * Read the arguments "from" and "to" of a function that shows a plan over time.  The time must be
 * at most reservation_most_copies times the largest periodicity, else
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED is raised.
 */
extern void yq_plan_window_arguments(FunctionCallInfo fcinfo, int from, int to, const YqReservationSettings *settings,
									 int64 *start, int64 *end);

/* Refuse (likewise) to show a plan over a time in which its reservations repeat too often to be listed. */
extern void yq_plan_check_length(const YqPlan *plan, int64 start, int64 end);

/* Load a plan without reservations. */
extern YqPlan *yq_plan_load(const YqHierarchy *hierarchy, const YqQueue *queue, const YqReservationSettings *settings);

/* Return the last deadline of non-periodic reservations of a plan, from a time on; without any, that time. */
extern int64 yq_plan_last_deadline(const char *queue, int64 from);

/* Return the time up to which deadlines lie so far back that their reservations are archived. */
extern int64 yq_plan_archived_until(const YqReservationSettings *settings, int64 now);

/*
 * Add the promises in an interval, both ends included, the periodic ones, and the reservation with
 * an id, which may be NULL.  Then prepare the plan.  Only this one becomes a reservation of the
 * plan; the others are intervals.
 */
extern void yq_plan_load_intervals(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, const char *id,
								   int64 start, int64 end, int64 archived_until);

/* Add reservations that touch an interval, both ends included, and periodic ones; then prepare the plan. */
extern void yq_plan_load_reservations(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue,
									  int64 start, int64 end, int64 archived_until);

/*
 * Add the reservations that occur at a time, with their amounts at that time; periodic ones have
 * all their amounts.  Archived reservations are included.  The plan is not prepared.
 */
extern void yq_plan_load_active(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, int64 time);

/* Does a non-periodic reservation arrive after a time? */
extern bool yq_plan_goes_on(const char *queue, int64 time);

/* Return ids (char *) of reservations whose deadlines are at most a time, and that do not occur again. */
extern List *yq_plan_completed(const YqPlan *plan, const char *queue, int64 until);

#endif							/* YQ_LOAD_PLAN_H */
