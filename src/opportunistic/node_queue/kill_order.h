/*-------------------------------------------------------------------------
 *
 * kill_order.h
 *	  Which of the OPPORTUNISTIC containers that run at a node are paused or
 *	  killed for an amount.
 *
 * One order for all that takes containers back: for GUARANTEED ones that have no room, and
 * for amounts that are free no longer.  Ranks that an order goes by are those that the
 * queue's callback gives; of equal ones the last started goes first.  Knows no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_KILL_ORDER_H
#define YQ_KILL_ORDER_H

#include "opportunistic/node_queue/node_container.h"

/*
 * Those that may be chosen, in the order of the settings: they run and are neither being
 * killed nor paused.  With YQ_KILL_FEWEST the last started is the first.  A list of
 * YqNodeContainer *.
 */
extern List *yq_kill_order_candidates(YqContainerQueue *queue);

/*
 * Those of them that are to go until nothing of the amounts lacks, in that order: the first
 * ones, or with YQ_KILL_FEWEST as fewest_containers.h has it.  All of them when they are
 * not enough, none when nothing lacks.
 */
extern List *yq_kill_order_choose(YqContainerQueue *queue, YqNodeAmounts lacking);

#endif							/* YQ_KILL_ORDER_H */
