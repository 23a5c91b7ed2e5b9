/*-------------------------------------------------------------------------
 *
 * cluster_usage.h
 *	  What GUARANTEED containers hold of queues, users and nodes, from the counters
 *	  that charging keeps (DESIGN 3).
 *
 * Folding moves what it finds in counter_delta to usage_counter and node_counter, and
 * changes usage_version in the same transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_USAGE_H
#define YQ_CLUSTER_USAGE_H

#include "scheduler/cluster_load.h"
#include "utils/uuid.h"

/* Add all that the snapshot sees to a cluster that knows of none, and follow deltas from there. */
extern void yq_cluster_read_usage(YqLoadedCluster *loaded, Snapshot snapshot, YqFollower *deltas);

/*
 * Add what deltas say that have not been seen.  What the transaction seen->own wrote is
 * counted already: returns how many such rows there are; -1 when the table has been
 * written anew.
 */
extern int64 yq_cluster_read_new_usage(YqLoadedCluster *loaded, const YqSeen *seen, Snapshot snapshot,
									   YqFollower *deltas);

/* How many rows of seen->own the snapshot sees; the follower stays where it is. */
extern int64 yq_usage_count_own(const YqSeen *seen, Snapshot snapshot, YqFollower *deltas);

/* Read everything again, after a folding. */
extern void yq_cluster_read_usage_again(YqLoadedCluster *loaded, Snapshot snapshot, YqFollower *deltas);

/* The version of what is folded. */
extern pg_uuid_t yq_usage_version(Snapshot snapshot);

#endif							/* YQ_CLUSTER_USAGE_H */
