/*-------------------------------------------------------------------------
 *
 * load_node_order.h
 *	  What the orders of a node's queue go by, from tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_NODE_ORDER_H
#define YQ_LOAD_NODE_ORDER_H

#include "opportunistic/node_queue/node_queue_row.h"

/* Have the queue ask for ranks when an order of its settings needs them. */
extern void yq_node_order_attach(YqNodeQueue *queue);

#endif							/* YQ_LOAD_NODE_ORDER_H */
