/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Order of queues, and of the applications of a leaf (semantics/allocation 2.4 to
 *	  2.6).
 *
 * Orders are maintained while a cycle allocates.  A queue or application that gets
 * resources moves to its new position.  A queue or application without demand is
 * removed from the order, so that searches spend no time on it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ORDER_H
#define YQ_ORDER_H

#include "scheduler/state/cluster.h"

/* Compute which fraction of its capacity a queue uses, on each label. */
extern void yq_order_set_used(const YqCluster *cluster, YqClusterQueue *queue);

/* Order the children of a parent that have demand.  The demand and usage of all children must be known. */
extern void yq_order_children(const YqCluster *cluster, YqClusterQueue *parent);

/* Move a queue among its siblings after its usage of a label has changed. */
extern void yq_order_note_used(const YqCluster *cluster, YqClusterQueue *queue, int label);

/* Remove a queue from the order if it has no demand left, after its demand for a label has decreased. */
extern void yq_order_note_demand(const YqCluster *cluster, YqClusterQueue *queue, int label);

/* Move a queue among its siblings after its usage or demand has changed on any label. */
extern void yq_order_place(const YqCluster *cluster, YqClusterQueue *queue);

/* Order the applications of a leaf.  Their usage and demand must be known. */
extern void yq_order_applications(const YqCluster *cluster, YqClusterQueue *leaf);

/*
 * Call the first function before the usage or demand of an application changes, and the
 * second function afterwards.  They remove the application from the order, and insert it
 * at its new position.
 */
extern void yq_order_take_out(const YqCluster *cluster, YqClusterApplication *application);
extern void yq_order_put_back(const YqCluster *cluster, YqClusterApplication *application);

/* Does the application have demand for the label? */
extern bool yq_order_wants(const YqCluster *cluster, const YqClusterApplication *application, int label);

/* Does the policy of the application's leaf allow the application to get nodes of the label? */
extern bool yq_order_is_of_partition(const YqClusterApplication *application, int label);

#endif							/* YQ_ORDER_H */
