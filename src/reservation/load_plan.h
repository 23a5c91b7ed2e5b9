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
 * Locks plans.  Until this transaction ends, no other transaction can change the
 * reservations of a locked plan, or the queues below it.
 *
 * Names are hashed to a few numbers, as in queue_lock.h.  A transaction locks plans before
 * it takes the scheduler's lock and the configuration's lock.
 */

extern void yq_plan_lock(const char *path);

/* Lock the plans with these paths (char *), in the order of their lock numbers. */
extern void yq_plans_lock(const List *paths);

/* -- load plan ----------------------------------------------------------------- */

/*
 * Loads plans.  Reservations that have ended or are archived are not loaded.  As in Hadoop,
 * a reservation is archived when its deadline was more than a window ago.  Without a limit
 * on averages, the window is 0.  If periodic reservations repeat in the plan, they are
 * never archived.
 */

/* Return the queue with this path or name.  Raises ERRCODE_FOREIGN_KEY_VIOLATION if the queue is not a plan. */
extern const YqQueue *yq_plan_queue(const YqHierarchy *hierarchy, const char *name);

/* Return the amounts of the cluster that the plan's queue may use, palloc'd (semantics/reservations 8). */
extern int64 *yq_plan_capacity(const YqHierarchy *hierarchy, const YqQueue *queue);

/* Check that an interval does not end before it starts. */
extern void yq_plan_check_interval(int64 start, int64 end);

/*
 * Read the arguments "from" and "to" of a function that shows a plan over time.  Raises
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if the time between them exceeds reservation_most_copies
 * times the largest periodicity.
 */
extern void yq_plan_window_arguments(FunctionCallInfo fcinfo, int from, int to, const YqReservationSettings *settings,
									 int64 *start, int64 *end);

/*
 * Raise ERRCODE_PROGRAM_LIMIT_EXCEEDED if the plan's reservations repeat so often between
 * two times that listing all occurrences would take too much memory.
 */
extern void yq_plan_check_length(const YqPlan *plan, int64 start, int64 end);

/* Return an empty plan with the settings of a queue. */
extern YqPlan *yq_plan_load(const YqHierarchy *hierarchy, const YqQueue *queue, const YqReservationSettings *settings);

/*
 * Return the last deadline of the plan's non-periodic reservations.  Returns "from" if no
 * such deadline is later.
 */
extern int64 yq_plan_last_deadline(const char *queue, int64 from);

/*
 * Return the time up to which deadlines are archived: a reservation with a deadline at or before
 * this time is archived.
 */
extern int64 yq_plan_archived_until(const YqReservationSettings *settings, int64 now);

/*
 * Add the promises that touch an interval, both ends included, and all periodic promises.
 * Also add the reservation with this id, which may be NULL.  Then prepare the plan.  Only
 * the reservation with the id is added as a reservation; the other promises are added as
 * intervals.
 */
extern void yq_plan_load_intervals(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, const char *id,
								   int64 start, int64 end, int64 archived_until);

/*
 * Add all periodic reservations, and the reservations that touch an interval, both ends
 * included.  Then prepare the plan.
 */
extern void yq_plan_load_reservations(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue,
									  int64 start, int64 end, int64 archived_until);

/*
 * Add the reservations that are active at a time.  A periodic reservation gets all its
 * intervals; any other reservation only gets its amounts at that time.  Archived
 * reservations are included.  The caller prepares the plan.
 */
extern void yq_plan_load_active(YqPlan *plan, const YqHierarchy *hierarchy, const char *queue, int64 time);

/* Does any non-periodic reservation of the plan arrive after a time? */
extern bool yq_plan_goes_on(const char *queue, int64 time);

/*
 * Return the ids (char *) of the plan's reservations with a deadline up to a time.
 * Reservations that occur again are not included.
 */
extern List *yq_plan_completed(const YqPlan *plan, const char *queue, int64 until);

#endif							/* YQ_LOAD_PLAN_H */
