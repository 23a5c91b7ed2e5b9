/*-------------------------------------------------------------------------
 *
 * record_node_queue.h
 *	  Writes the changes of a call to the queue of a node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_NODE_QUEUE_H
#define YQ_RECORD_NODE_QUEUE_H

#include "opportunistic/node_queue/node_queue.h"

/*
 * Write the rows of node_queue, the decisions and the events.  Containers that have
 * joined the node are acknowledged, so their allocations do not expire.
 */
extern void yq_record_node_queue(YqNodeQueue *queue);

/* Write "count" consecutive events of the queue, from number "first". */
extern void yq_node_queue_write_events(const YqNodeQueue *queue, int first, int count);

#endif							/* YQ_RECORD_NODE_QUEUE_H */
