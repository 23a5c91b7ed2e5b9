/*-------------------------------------------------------------------------
 *
 * cluster_cache.h
 *	  The cluster that a session keeps between allocation cycles, and the numbering of
 *	  usage rows by transactions, on which it depends.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_CACHE_H
#define YQ_CLUSTER_CACHE_H

#include "scheduler/load/cluster_load.h"
#include "utils/snapshot.h"

/*
 * Return the cluster with all its nodes, as committed now and as changed by this
 * transaction.  NULL when no cluster can be kept: the transaction has savepoints, or
 * its isolation level has its own snapshot.  NULL also while transactions may write
 * usage without their numbers.  The caller holds the lock of cycles exclusively.
 */
extern YqLoadedCluster *yq_cluster_cache_get(YqHierarchy *hierarchy);

/*
 * Load the cluster, or compacted counters, before the scheduler's lock is taken, so
 * that yq_cluster_cache_get() has little to read.
 */
extern void yq_cluster_cache_prepare(YqHierarchy *hierarchy);

/* Read all committed changes before the lock is taken. */
extern void yq_cluster_cache_catch_up(YqHierarchy *hierarchy);

/*
 * Return the cluster with all its nodes for reading, without the lock, as committed now
 * and as changed by this transaction.  The cluster is valid until the session's next
 * cycle or reading, and the reader decides nothing in it.  NULL when no cluster can be
 * kept, as above, or on a standby.
 */
extern YqLoadedCluster *yq_cluster_cache_read(YqHierarchy *hierarchy);

/* Note that a cycle over the cluster has ended and is recorded. */
extern void yq_cluster_cache_end_cycle(YqLoadedCluster *loaded);

/* Does the session keep a cluster of that hierarchy, with the present nodes? */
extern bool yq_cluster_cache_is_of(const YqHierarchy *hierarchy);

#endif							/* YQ_CLUSTER_CACHE_H */
