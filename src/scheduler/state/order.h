/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Which queue, and which application of a leaf, comes first (cs-semantics
 *	  5.4, 5.5).
 *
 * Orders are kept while a pass allocates: one that gets something moves to its
 * new place, one without demand is dropped.  So a queue or application that
 * wants nothing costs nothing for any node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ORDER_H
#define YQ_ORDER_H

#include "scheduler/state/cluster.h"

/* Set what fractions of its capacity a queue uses, on all labels. */
extern void yq_order_set_used(const YqCluster *cluster, YqClusterQueue *queue);

/* Order the children of a parent that have demand; demand and use of all are known. */
extern void yq_order_children(const YqCluster *cluster, YqClusterQueue *parent);

/* What a queue uses of a label has changed: move it among its siblings. */
extern void yq_order_note_used(const YqCluster *cluster, YqClusterQueue *queue, int label);

/* Demand for a label has become less: drop the queue where it has none. */
extern void yq_order_note_demand(const YqCluster *cluster, YqClusterQueue *queue, int label);

/* What a queue uses and wants has changed, on any label: give it its place. */
extern void yq_order_place(const YqCluster *cluster, YqClusterQueue *queue);

/* Order the applications of a leaf; what they use and want is known. */
extern void yq_order_applications(const YqCluster *cluster, YqClusterQueue *leaf);

/*
 * An application is about to be changed in what it uses or wants, and then it has
 * been: between the two, which are a pair, it has no place.
 */
extern void yq_order_take_out(const YqCluster *cluster, YqClusterApplication *application);
extern void yq_order_put_back(const YqCluster *cluster, YqClusterApplication *application);

/* Has the application demand for the label? */
extern bool yq_order_wants(const YqCluster *cluster, const YqClusterApplication *application, int label);

/* May nodes of the label be given to it, by the policy of its leaf? */
extern bool yq_order_is_of_partition(const YqClusterApplication *application, int label);

#endif							/* YQ_ORDER_H */
