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
 * Load the measured use of a node from its last report.  The amounts that were freed
 * since the report are in yquota_internal.node_preemption.
 *
 * Each row of node_preemption names the report to which it belongs.  After a newer
 * report, the row is ignored.  Rows are written under the lock of the node's queue, and
 * only if the report shows an excess.  In this way, a single report never causes more
 * kills than necessary.
 */

/*
 * Write the amounts that containers have freed in this call, and the number of
 * containers that were killed or paused because of the measured use.
 */
extern void yq_record_node_preemption(YqNodeQueue *queue);

/* -- load node order ----------------------------------------------------------- */

/* Load the ranks by which waiting containers start and running containers are killed. */

/* Register callbacks that compute ranks, if the start order or the kill order needs them. */
extern void yq_node_order_attach(YqNodeQueue *queue);

/* -- load node queue ----------------------------------------------------------- */

/* Load the node's size and settings.  A node that no longer exists has no room. */
extern void yq_load_node(YqNodeQueue *queue);

/* Load the rows of the containers that wait or run at the node, with their data from yquota.container. */
extern void yq_load_node_rows(YqNodeQueue *queue);

/*
 * Make a row for a container that yquota.container assigns to the node.  If the
 * container is not assigned to the node, sets *reason and returns NULL.
 */
extern YqNodeQueueRow *yq_load_joining_row(const YqNodeQueue *queue, const char *container_id, const char **reason);

/* Return the name of a state in the column node_queue.state. */
extern const char *yq_container_state_name(YqContainerState state);

/* Return the containers among container_ids (char *) that yquota.container no longer assigns to the node. */
extern List *yq_load_ended(const YqNodeQueue *queue, List *container_ids);

/*
 * Return the time at which a container ended according to the ledger.  If the ledger
 * has no such time, return "fallback".
 */
extern TimestampTz yq_load_end(const char *container_id, TimestampTz fallback);

#endif							/* YQ_LOAD_NODE_QUEUE_H */
