/*-------------------------------------------------------------------------
 *
 * cluster_load.h
 *	  Loading the cluster from the tables, for an allocation cycle.
 *
 * The state is the newest committed one, with the changes of this transaction.
 * A caller that records decisions holds the scheduler's lock
 * (scheduler_lock.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_LOAD_H
#define YQ_CLUSTER_LOAD_H

#include "scheduler/load/loaded_cluster.h"
#include "utils/snapshot.h"

/*
 * Load the state that a cycle over some nodes needs, or over all (NULL): usage
 * as the snapshot sees it, all else no older.  Applications without an existing
 * project are left out, since no project would pay.  The result lives in the
 * cluster's context, below the current one.
 */
extern YqLoadedCluster *yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count,
										Snapshot snapshot);

/* While events wait to be charged, usage is unknown: ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE. */
extern void yq_cluster_check_charging(void);

/*
 * Read applications again, by their ids (char *).  Returns false when they
 * contradict the rows that were read of other applications.
 */
extern bool yq_cluster_reload_applications(YqLoadedCluster *loaded, const List *ids);

/*
 * Update an application after the cycle has written its changes, as if it were
 * read now.
 */
extern void yq_cluster_settle_application(YqLoadedCluster *loaded, YqClusterApplication *application);

/* Read again how many applications users have: queues and usernames (char *) in pairs. */
extern void yq_cluster_reload_counters(YqLoadedCluster *loaded, const List *queues, const List *usernames);

#endif							/* YQ_CLUSTER_LOAD_H */
