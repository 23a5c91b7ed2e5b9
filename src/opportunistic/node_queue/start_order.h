/*-------------------------------------------------------------------------
 *
 * start_order.h
 *	  Which of the OPPORTUNISTIC containers that wait at a node starts next.
 *
 * Paused ones wait among the others.  Of equal ones the one that came first to the queue
 * is first.  Knows no table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_START_ORDER_H
#define YQ_START_ORDER_H

#include "opportunistic/node_queue/node_container.h"

/* One of them must wait. */
extern YqNodeContainer *yq_start_order_first(YqContainerQueue *queue);

#endif							/* YQ_START_ORDER_H */
