/*-------------------------------------------------------------------------
 *
 * record_node_queue.h
 *	  Writing down what a call has done to the queue of a node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_NODE_QUEUE_H
#define YQ_RECORD_NODE_QUEUE_H

#include "opportunistic/node_queue/node_queue.h"

/*
 * Write rows of node_queue, decisions and events.  Containers that have joined the node
 * are acknowledged: their allocations do not expire.
 */
extern void yq_record_node_queue(YqNodeQueue *queue);

/* Only some of the events that it has to append, which follow each other. */
extern void yq_node_queue_write_events(const YqNodeQueue *queue, int first, int count);

#endif							/* YQ_RECORD_NODE_QUEUE_H */
