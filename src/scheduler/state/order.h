/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Which queue, and which application of a leaf, comes first
 *	  (semantics/allocation 2.4 to 2.6).
 *
 * Orders are kept while a cycle allocates: one that gets something moves to its
 * new place, one without demand is dropped.  So a queue or application that
 * wants nothing costs nothing for any node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ORDER_H
#define YQ_ORDER_H

#include "scheduler/state/cluster.h"

/* Set the used fractions of a queue's capacity, on all labels. */
extern void yq_order_set_used(const YqCluster *cluster, YqClusterQueue *queue);

/* Order the children of a parent that have demand; demand and use of all are known. */
extern void yq_order_children(const YqCluster *cluster, YqClusterQueue *parent);

/* Move a queue among its siblings after its usage of a label has changed. */
extern void yq_order_note_used(const YqCluster *cluster, YqClusterQueue *queue, int label);

/* Demand for a label has become less: drop the queue where it has none. */
extern void yq_order_note_demand(const YqCluster *cluster, YqClusterQueue *queue, int label);

/* Move a queue among its siblings after its usage or demand has changed on any label. */
extern void yq_order_place(const YqCluster *cluster, YqClusterQueue *queue);

/* Order the applications of a leaf; their usage and demand are known. */
extern void yq_order_applications(const YqCluster *cluster, YqClusterQueue *leaf);

/*
 * Take an application out of the order before its usage or demand changes, and
 * put it back afterwards.
 */
extern void yq_order_take_out(const YqCluster *cluster, YqClusterApplication *application);
extern void yq_order_put_back(const YqCluster *cluster, YqClusterApplication *application);

/* Has the application demand for the label? */
extern bool yq_order_wants(const YqCluster *cluster, const YqClusterApplication *application, int label);

/* May nodes of the label be given to it, by the policy of its leaf? */
extern bool yq_order_is_of_partition(const YqClusterApplication *application, int label);

#endif							/* YQ_ORDER_H */
