/*-------------------------------------------------------------------------
 *
 * load_node_queue.h
 *	  Reading the queue of a node from tables, with its measured use and what its orders go by.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_NODE_QUEUE_H
#define YQ_LOAD_NODE_QUEUE_H

#include "opportunistic/node_queue/node_queue.h"

/* -- load measured use --------------------------------------------------------- */

/*
 * The measured use of a node from its last report, and what was freed there
 * since: yquota_internal.node_preemption.
 *
 * A row of node_preemption names the report that it counts from, and a newer report makes it void.
 * It is written under the lock of the node's queue, and only while the report has an excess,
 * so that the same report never has more killed than it asks for.
 */

/* Write what containers have given back in this call, and how many it has killed or paused for the measured use. */
extern void yq_record_node_preemption(YqNodeQueue *queue);

/* -- load node order ----------------------------------------------------------- */

/* What the orders of a node's queue go by, from tables. */

/* Have the queue ask for ranks when an order of its settings needs them. */
extern void yq_node_order_attach(YqNodeQueue *queue);

/* -- load node queue ----------------------------------------------------------- */

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
