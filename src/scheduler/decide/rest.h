/*-------------------------------------------------------------------------
 *
 * rest.h
 *	  Queues that need not be walked again, because nothing would be found again.
 *
 * A walk through a whole queue that ends with nothing shows what that depends on:
 * on the applications of the queue, which only a decision of theirs changes; on
 * nodes and racks that they ask for by name; on how many more nodes are let go by
 * for a closer one, or for one of the default partition; on how large the node is, or how
 * little is free on it, where all that is wanted is reserved already; and on how much the
 * queue may still use, which may be so little that the rest of it is kept for the queue.
 * As long as all this holds the queue rests: the next walk passes it by and counts that
 * it came.  What a walk would have counted of request keys is added to them when the rest
 * ends, so every figure is as if there were no rests.
 *
 * Walks for a node's own label and those for the default partition on a node that is
 * shared have rests of their own.  Rests last for one pass at most.  Nothing rests while
 * a pass explains.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REST_H
#define YQ_REST_H

#include "scheduler/decide/rest_leaf.h"
#include "scheduler/decide/rest_names.h"

/* A pass over so many nodes begins; it is over when what rests has been counted. */
extern void yq_rest_begin_pass(YqCluster *cluster, int node_count);
extern void yq_rest_end_pass(YqCluster *cluster);

/* The next walks are for that node. */
extern void yq_rest_set_node(YqCluster *cluster, YqClusterNode *node);

/*
 * Does the queue rest on the node, with so much left to it by its parent?  Then it has
 * been counted that a walk came by, and *kept is what is kept for the queue: NULL for
 * nothing, if it is not a limit that stops it.
 */
extern bool yq_rest_lasts(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node,
						  YqSchedulingMode mode, const int64 *left, const int64 **kept);

/* A walk goes into the queue, after those above it. */
extern void yq_rest_interrupt(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node,
							  YqSchedulingMode mode);

/* Something is about to be decided for the application: it, its leaf and all above that rest no more. */
extern void yq_rest_end(const YqCluster *cluster, YqClusterApplication *application);

/* Notes of a walk through a leaf, without anything in them; NULL: none are to be taken. */
extern YqRestNotes *yq_rest_notes(const YqCluster *cluster, YqSchedulingMode mode);

/* The same of one application that is looked at. */
extern YqRestNotes *yq_rest_notes_of_application(const YqCluster *cluster);

/*
 * A walk below limits that leave so much headroom begins: false if applications of the
 * leaf are to be looked at one after the other.  Then it is told how many that were.
 */
extern bool yq_rest_begin_walk(const YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
							   YqSchedulingMode mode, const int64 *headroom, YqLeafWalk *walk);
extern void yq_rest_note_looks(const YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
							   YqSchedulingMode mode, int looks);

/* The walk is over with an application that gets something, or may not, or NULL. */
extern void yq_rest_end_walk(YqLeafWalk *walk, const YqClusterApplication *last, YqRestNotes *notes);

/*
 * A walk has found nothing in a leaf, or in a parent all of whose children rest now, to
 * which so much was left.  kept as for yq_rest_lasts().
 */
extern void yq_rest_begin_leaf(const YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
							   const YqRestNotes *notes, const int64 *left, const int64 *kept);
extern void yq_rest_begin_parent(const YqCluster *cluster, YqClusterQueue *parent, const YqClusterNode *node,
								 YqSchedulingMode mode, const int64 *left, const int64 *kept);

/*
 * The queue, to which so much is left, may use no more.  Has it reserved something that
 * might be given up?
 */
extern void yq_rest_begin_stopped(const YqCluster *cluster, YqClusterQueue *queue, const YqClusterNode *node,
								  YqSchedulingMode mode, const int64 *left, bool gives_up);

#endif							/* YQ_REST_H */
