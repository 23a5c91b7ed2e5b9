/*-------------------------------------------------------------------------
 *
 * record_round.h
 *	  Queues of plans as their table has them, and writing down a round of the follower.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_ROUND_H
#define YQ_RECORD_ROUND_H

#include "reservation/follow_plan.h"

/* The queues that a plan has, and its default queue, palloc'd. */
extern YqPlanQueues yq_plan_queues_load(const char *path);

/*
 * Write down what a round has decided, and move or kill applications in queues that have
 * expired, which the round notes.  The caller holds all locks (follow_plan.h).
 */
extern void yq_plan_round_record(YqPlanRound *round);

#endif							/* YQ_RECORD_ROUND_H */
