/*-------------------------------------------------------------------------
 *
 * load_node_queue.h
 *	  Reading the queue of a node from tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_NODE_QUEUE_H
#define YQ_LOAD_NODE_QUEUE_H

#include "opportunistic/node_queue/node_queue.h"

/* The node's size and settings; one that is gone has no room. */
extern void yq_load_node(YqNodeQueue *queue);

/* Rows of what waits and runs there, with what the books say of it. */
extern void yq_load_node_rows(YqNodeQueue *queue);

/*
 * A new row for a container that the books have on the node; otherwise NULL, and "reason"
 * says why.
 */
extern YqNodeQueueRow *yq_load_joining_row(const YqNodeQueue *queue, const char *container_id, const char **reason);

/* A state as column node_queue.state has it. */
extern const char *yq_container_state_name(YqContainerState state);

/* Those containers of a list of ids (char *) that the books do not have on the node. */
extern List *yq_load_ended(const YqNodeQueue *queue, List *container_ids);

/* When a container ended, by the ledger; "fallback" when it does not tell. */
extern TimestampTz yq_load_end(const char *container_id, TimestampTz fallback);

#endif							/* YQ_LOAD_NODE_QUEUE_H */
