/*-------------------------------------------------------------------------
 *
 * cluster_cache.h
 *	  The cluster that a session keeps from one allocation cycle to the next, and whether
 *	  transactions number their rows about usage for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_CACHE_H
#define YQ_CLUSTER_CACHE_H

#include "scheduler/load/cluster_load.h"
#include "utils/snapshot.h"

/*
 * The cluster with all its nodes, as committed now and as changed by this
 * transaction; or NULL when none can be kept at this point: in a transaction
 * that has savepoints, with an isolation level that has its own snapshot, or as long as
 * transactions may write usage without their numbers.
 * The caller holds the lock of cycles, alone.
 */
extern YqLoadedCluster *yq_cluster_cache_get(YqHierarchy *hierarchy);

/*
 * Load the cluster, or compacted counters, before the scheduler's lock is taken,
 * so that yq_cluster_cache_get() reads little.
 */
extern void yq_cluster_cache_prepare(YqHierarchy *hierarchy);

/* Read all that there is, before the lock is taken. */
extern void yq_cluster_cache_catch_up(YqHierarchy *hierarchy);

/*
 * The cluster with all its nodes for reading, without the lock: as committed now and as
 * changed by this transaction.  It is good until the session's next cycle or reading, and
 * the reader decides nothing in it.  NULL when none can be kept at this point, as above,
 * or on a standby.
 */
extern YqLoadedCluster *yq_cluster_cache_read(YqHierarchy *hierarchy);

/* A cycle over it is over, and written down. */
extern void yq_cluster_cache_end_cycle(YqLoadedCluster *loaded);

/* Is there one of that hierarchy, so that it knows the nodes that there are? */
extern bool yq_cluster_cache_is_of(const YqHierarchy *hierarchy);

#endif							/* YQ_CLUSTER_CACHE_H */
