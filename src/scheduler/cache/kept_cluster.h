/*-------------------------------------------------------------------------
 *
 * kept_cluster.h
 *	  The cluster that a session keeps from one allocation pass to the next.
 *
 * It is the same as one that is loaded anew, only sooner there: what has changed is
 * known by rows that other transactions have appended (change_log.h, counter_delta)
 * and this session has not seen.  Whatever cannot be told so is a reason to give it
 * up: another hierarchy, a project that went, a change of the scheduler's tables by
 * hand, rows that have been removed since, an abort of the transaction that changed it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_KEPT_CLUSTER_H
#define YQ_KEPT_CLUSTER_H

#include "scheduler/load/cluster_load.h"

/*
 * The cluster with all its nodes, as committed now and as changed by this transaction;
 * or NULL when none can be kept at this point: in a transaction that has savepoints, or
 * whose isolation level has a snapshot of its own.  The caller holds the lock of passes, alone.
 */
extern YqLoadedCluster *yq_kept_cluster_get(YqHierarchy *hierarchy);

/*
 * Read what takes long before the lock of passes is taken, so that there is little
 * left to be read when the cluster is got: when there is none, or counters were folded.
 */
extern void yq_kept_cluster_prepare(YqHierarchy *hierarchy);

/* Read all that there is, before the lock is taken. */
extern void yq_kept_cluster_catch_up(YqHierarchy *hierarchy);

/* A pass over it is over, and written down. */
extern void yq_kept_cluster_end_pass(YqLoadedCluster *loaded);

/* Is there one of that hierarchy, so that it knows the nodes that there are? */
extern bool yq_kept_cluster_is_of(const YqHierarchy *hierarchy);

#endif							/* YQ_KEPT_CLUSTER_H */
