/*-------------------------------------------------------------------------
 *
 * plan_lock.h
 *	  The locks of plans: no other transaction changes the reservations of a plan, or the
 *	  queues below it, until this one ends.
 *
 * Names are hashed to few numbers, as in queue_lock.h.  A plan is locked before the
 * scheduler's lock and that of the configuration.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PLAN_LOCK_H
#define YQ_PLAN_LOCK_H

#include "nodes/pg_list.h"

extern void yq_plan_lock(const char *path);

/* Several plans, by paths (char *), in the order of their numbers. */
extern void yq_plans_lock(const List *paths);

#endif							/* YQ_PLAN_LOCK_H */
