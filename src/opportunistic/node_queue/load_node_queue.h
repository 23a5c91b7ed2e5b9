/*-------------------------------------------------------------------------
 *
 * load_node_queue.h
 *	  Reads the queue of a node from tables, with its measured use and the ranks for its
 *	  orders.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_NODE_QUEUE_H
#define YQ_LOAD_NODE_QUEUE_H

#include "opportunistic/node_queue/node_queue.h"

/* -- load measured use --------------------------------------------------------- */

/*
 * Loads the measured use of a node from its last report, and the amounts freed there
 * since the report: yquota_internal.node_preemption.
 *
 * A row of node_preemption names the report to which it belongs; a newer report makes
 * the row void.  The row is written under the lock of the node's queue, and only while
 * the report has an excess.  A report therefore never causes more kills than it
 * requires.
 */

/*
 * Write the amounts that containers have released in this call, and the number of
 * containers killed or paused for the measured use.
 */
extern void yq_record_node_preemption(YqNodeQueue *queue);

/* -- load node order ----------------------------------------------------------- */

/* Loads the ranks for the orders of a node's queue from tables. */

/* Register the callbacks that compute ranks, if an order in the queue's settings needs ranks. */
extern void yq_node_order_attach(YqNodeQueue *queue);

/* -- load node queue ----------------------------------------------------------- */

/* Load the node's size and settings.  A node that was removed has no room. */
extern void yq_load_node(YqNodeQueue *queue);

/* Load the rows of the containers that wait or run at the node, with their data in the books. */
extern void yq_load_node_rows(YqNodeQueue *queue);

/*
 * Make a row for a container that is on the node according to the books.  Otherwise
 * return NULL, and set "reason".
 */
extern YqNodeQueueRow *yq_load_joining_row(const YqNodeQueue *queue, const char *container_id, const char **reason);

/* Return the name of a state, as in column node_queue.state. */
extern const char *yq_container_state_name(YqContainerState state);

/* Return those of the container ids (char *) that are not on the node according to the books. */
extern List *yq_load_ended(const YqNodeQueue *queue, List *container_ids);

/*
 * Return the time at which a container ended according to the ledger, or "fallback" if
 * the ledger has no end.
 */
extern TimestampTz yq_load_end(const char *container_id, TimestampTz fallback);

#endif							/* YQ_LOAD_NODE_QUEUE_H */
