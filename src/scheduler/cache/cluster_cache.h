/*-------------------------------------------------------------------------
 *
 * cluster_cache.h
 *	  The cluster that a session keeps between allocation cycles, and the transaction
 *	  numbers in rows about usage.  By these numbers, the session finds the rows that
 *	  it has not read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_CACHE_H
#define YQ_CLUSTER_CACHE_H

#include "scheduler/load/cluster_load.h"
#include "utils/snapshot.h"

/*
 * Return the cluster with all its nodes, as committed now and as changed by this
 * transaction.  Returns NULL when the session cannot keep a cluster: the transaction
 * has savepoints, or its isolation level uses one snapshot for all statements.  Also
 * returns NULL while transactions may write rows about usage without their numbers.  The
 * caller holds the scheduler's lock exclusively.
 */
extern YqLoadedCluster *yq_cluster_cache_get(YqHierarchy *hierarchy);

/*
 * Load the cluster, or read all usage again, if either is necessary.  The caller does not
 * hold the scheduler's lock yet.  A later call of yq_cluster_cache_get(), under the lock,
 * then reads little.
 */
extern void yq_cluster_cache_prepare(YqHierarchy *hierarchy);

/* Read all committed changes before the caller takes the scheduler's lock. */
extern void yq_cluster_cache_catch_up(YqHierarchy *hierarchy);

/*
 * Return the cluster with all its nodes, for reading without the lock.  It contains
 * committed data and the changes of this transaction.  It is valid until the session's next
 * cycle or reading, and the caller must not change it.  Returns NULL on a standby, and
 * whenever yq_cluster_cache_get() would return NULL.
 */
extern YqLoadedCluster *yq_cluster_cache_read(YqHierarchy *hierarchy);

/* Note that a cycle over the cluster has ended and that its decisions are recorded. */
extern void yq_cluster_cache_end_cycle(YqLoadedCluster *loaded);

/* Does the session keep a cluster that was made from this hierarchy and contains its current nodes? */
extern bool yq_cluster_cache_is_of(const YqHierarchy *hierarchy);

#endif							/* YQ_CLUSTER_CACHE_H */
