/*-------------------------------------------------------------------------
 *
 * capacity_replanner.h
 *	  SimpleCapacityReplanner: reservations that go because a plan has become smaller
 *	  (reservation 7).
 *
 * Nothing here reads or writes a table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CAPACITY_REPLANNER_H
#define YQ_CAPACITY_REPLANNER_H

#include "nodes/pg_list.h"
#include "reservation/plan.h"

/*
 * Remove reservations from a prepared plan, at each step from "now" on for as long as the
 * enforcement window: those accepted last first, until what is promised at that time fits.
 * The plan has those that touch this time; "goes_on" says that there are others which occur
 * once and end later, since nothing beyond the last of these is looked at (S5).
 * Returns what it has removed (YqPlanReservation), in that order.
 */
extern List *yq_plan_shrink(YqPlan *plan, int64 now, int64 enforcement_window, bool goes_on);

#endif							/* YQ_CAPACITY_REPLANNER_H */
