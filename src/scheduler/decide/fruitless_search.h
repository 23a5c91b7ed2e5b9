/*-------------------------------------------------------------------------
 *
 * fruitless_search.h
 *	  The last search of a leaf queue that found nothing.  The leaf is not searched
 *	  again for a node where a search would also find nothing.
 *
 * A search can be skipped if the last search found nothing for only three reasons.  These are
 * limits, keys that are too large, and keys that name other nodes or racks.  A key is too large if
 * it requests more than the whole node.  A search then has the same result on every other node of
 * the partition, except on larger nodes and on nodes that a key names.  Searches are skipped until
 * a decision is committed in the leaf.  They are skipped even if the headroom of the leaf shrinks,
 * as long as the largest request of the last search still fits.
 *
 * A search that finds nothing changes only the counters of the keys.  The module counts
 * the skipped searches (repetitions), and adds them to these counters before the counters
 * are used.
 *
 * assign_containers.c uses this module in a leaf below its limit, for requests for the
 * node's own label.  Explaining cycles always search.  Results are not kept from one cycle
 * to the next.  The memory belongs to the cluster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_FRUITLESS_SEARCH_H
#define YQ_FRUITLESS_SEARCH_H

#include "scheduler/decide/container_allocator.h"

/*
 * Return whether a search would have the same outcome as the last search.  If so,
 * set *outcome, and count this call as a search.
 */
extern bool yq_fruitless_search_repeats(YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
										const YqLimits *limits, YqOutcome *outcome);

/* Begin a search of the leaf. */
extern void yq_fruitless_search_begin(YqCluster *cluster, YqClusterQueue *leaf, const YqClusterNode *node,
									  const YqLimits *limits);

/* Note that the search has reached a key that is within all limits. */
extern void yq_fruitless_search_visit(YqCluster *cluster, YqSchedulerKey *key);

/* End the search.  A search that assigned a container is forgotten when the container is committed. */
extern void yq_fruitless_search_end(YqClusterQueue *leaf, YqOutcome outcome);

/* Add the skipped repetitions to the counters of the leaf's keys, before the counters are used. */
extern void yq_fruitless_search_count(YqClusterQueue *leaf);

/* Add the skipped repetitions and forget the search, because a decision is committed in the leaf. */
extern void yq_fruitless_search_forget(YqClusterQueue *leaf);

/* Forget the searches of all leaves at the end of the cycle. */
extern void yq_fruitless_search_forget_all(YqCluster *cluster);

#endif							/* YQ_FRUITLESS_SEARCH_H */
