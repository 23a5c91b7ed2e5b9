/*-------------------------------------------------------------------------
 *
 * fruitless_search.h
 *	  The last search of a leaf queue that found nothing, so that the leaf is not
 *	  searched again for a node where it would find nothing either.
 *
 * A search repeats when it met only limits, and scheduler keys that ask for more than
 * the whole node or for other nodes and racks.  It takes the same course on each node
 * of the partition that is not larger and that no key names, until something is
 * committed in the leaf.  The leaf may be left less headroom meanwhile, if the
 * largest request of the search still fits.  A search changes only counters of the
 * keys: the repetitions are counted, and added before the counters are used.
 *
 * assign_containers.c asks and tells of each search that respects exclusivity and is
 * below the limit of the leaf.  Explaining cycles search always.  Nothing is known
 * from one cycle to the next.  The memory belongs to the cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FRUITLESS_SEARCH_H
#define YQ_FRUITLESS_SEARCH_H

#include "scheduler/decide/container_allocator.h"

/* True: a search would have *outcome, as the last one had, and counts as made. */
extern bool yq_fruitless_search_repeats(YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
										const YqLimits *limits, YqOutcome *outcome);

/* A search of the leaf begins. */
extern void yq_fruitless_search_begin(YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
									  const YqLimits *limits);

/* The search has come to a key that passed all limits. */
extern void yq_fruitless_search_visit(YqCluster *cluster, YqSchedulerKey *key);

/* The search is over; one that assigned something is forgotten at its commit. */
extern void yq_fruitless_search_end(YqClusterQueue *leaf, YqOutcome outcome);

/* The counters of the leaf's keys are about to be used: add the repetitions. */
extern void yq_fruitless_search_count(YqClusterQueue *leaf);

/* Something is committed in the leaf: add the repetitions, and search anew. */
extern void yq_fruitless_search_forget(YqClusterQueue *leaf);

/* The cycle ends: forget the searches of all leaves. */
extern void yq_fruitless_search_forget_all(YqCluster *cluster);

#endif							/* YQ_FRUITLESS_SEARCH_H */
