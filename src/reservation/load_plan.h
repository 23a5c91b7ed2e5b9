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
 * Locks plans: until this transaction ends, no other transaction changes the
 * reservations of a plan, or the queues below it.
 *
 * Names are hashed to a few numbers, as in queue_lock.h.  A transaction locks a plan
 * before it takes the scheduler's lock and the lock of the configuration.
 */

extern void yq_plan_lock(const char *path);

/* Lock several plans, given by their paths (char *), in the order of their numbers. */
extern void yq_plans_lock(const List *paths);

/* -- load plan ----------------------------------------------------------------- */

/*
 * Loads plans without reservations that have ended or are archived.  As in Hadoop, a
 * reservation is archived when its deadline was more than a window ago; without a limit
 * on averages the window is 0. A periodic reservation stays in the plan where it
 * repeats.
 */

/* Return the queue with this path or name.  If it is not a plan, raises ERRCODE_FOREIGN_KEY_VIOLATION. */
extern const YqQueue *yq_plan_queue(const YqHierarchy *hierarchy, const char *name);

/* Return the part of the cluster that belongs to the plan's queue, palloc'd (reservation 8). */
extern int64 *yq_plan_capacity(const YqHierarchy *hierarchy, const YqQueue *queue);

/* Check that the end of an interval is not before its start. */
extern void yq_plan_check_interval(int64 start, int64 end);

/*
 * Read the arguments "from" and "to" of a function that shows a plan over time.  If the
 * time between them exceeds reservation_most_copies times the largest periodicity,
 * raises ERRCODE_PROGRAM_LIMIT_EXCEEDED.
 */
extern void yq_plan_window_arguments(FunctionCallInfo fcinfo, int from, int to, const YqReservationSettings *settings,
									 int64 *start, int64 *end);

/*
 * Raise ERRCODE_PROGRAM_LIMIT_EXCEEDED if the reservations of a plan repeat too often
 * in a time to be listed.
 */
extern void yq_plan_check_length(const YqPlan *plan, int64 start, int64 end);

/* Load a plan without reservations. */
extern YqPlan *yq_plan_load(const YqHierarchy *hierarchy, const YqQueue *queue, const YqReservationSettings *settings);

/*
 * Return the last deadline of the plan's non-periodic reservations that is not before
 * "from", or "from" if there is none.
 */
extern int64 yq_plan_last_deadline(const char *queue, int64 from);

/* Return the time such that reservations with a deadline up to it are archived. */
extern int64 yq_plan_archived_until(const YqReservationSettings *settings, int64 now);

/*
 * Add the promises in an interval, both ends included, the periodic promises, and the
 * reservation with an id, which may be NULL.  Then prepare the plan.  Only the
 * reservation with the id becomes a reservation of the plan; all others become
 * intervals.
 */
extern void yq_plan_load_intervals(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, const char *id,
								   int64 start, int64 end, int64 archived_until);

/* Add reservations that touch an interval, both ends included, and periodic ones; then prepare the plan. */
extern void yq_plan_load_reservations(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue,
									  int64 start, int64 end, int64 archived_until);

/*
 * Add the reservations that are active at a time, with their amounts at that time;
 * periodic ones get all their amounts.  Archived reservations are included.  The caller
 * prepares the plan.
 */
extern void yq_plan_load_active(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, int64 time);

/* Does a non-periodic reservation of the plan arrive after a time? */
extern bool yq_plan_goes_on(const char *queue, int64 time);

/*
 * Return the ids (char *) of reservations that do not occur again and whose deadlines
 * are not after a time.
 */
extern List *yq_plan_completed(const YqPlan *plan, const char *queue, int64 until);

#endif							/* YQ_LOAD_PLAN_H */
