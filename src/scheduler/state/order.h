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

/*
 * In fair order, who gets a container, reserves a node, or loses either gets a new place
 * when the leaf is walked next.  A fulfilled reservation alone leaves an application
 * where it is (AbstractLeafQueue.apply()), until there is another reason to move it.
 * That matters for those with reservations, of which is known where they are.
 *
 * A reservation of so many MiB is about to be fulfilled, or there is a reason; both
 * between taking out and putting back, before anything else changes.
 */
extern void yq_order_keep_place(const YqCluster *cluster, YqClusterApplication *application, int64 memory);
extern void yq_order_lose_place(YqClusterApplication *application);

/* The same for one that is not taken out. */
extern void yq_order_replace(YqCluster *cluster, YqClusterApplication *application);

/* A leaf is walked: those with reservations that have lost their places get new ones. */
extern void yq_order_give_places(YqCluster *cluster, YqClusterQueue *leaf);

/* Has the application demand for the label? */
extern bool yq_order_wants(const YqCluster *cluster, const YqClusterApplication *application, int label);

/* May nodes of the label be given to it, by the policy of its leaf? */
extern bool yq_order_is_of_partition(const YqClusterApplication *application, int label);

#endif							/* YQ_ORDER_H */
