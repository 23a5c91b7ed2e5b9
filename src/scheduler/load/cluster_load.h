/*-------------------------------------------------------------------------
 *
 * cluster_load.h
 *	  The cluster as the tables have it, for an allocation pass.
 *
 * Read with the newest committed state and what this transaction has done: who
 * goes on to write down what is decided holds the lock of passes (scheduler_lock.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_LOAD_H
#define YQ_CLUSTER_LOAD_H

#include "scheduler/load/loaded_cluster.h"
#include "utils/snapshot.h"

/*
 * Load what a pass over some nodes needs, or over all (NULL): what is used as the
 * snapshot sees it, all else no older.  Applications that nobody can be charged for,
 * because there is no such project, are left out.  Goes with the cluster's
 * context, below the current one.
 */
extern YqLoadedCluster *yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count,
										Snapshot snapshot);

/*
 * Read applications again, by their ids (char *), whatever became of them.  False
 * when that does not go together with what was read of others.
 */
extern bool yq_cluster_reload_applications(YqLoadedCluster *loaded, const List *ids);

/*
 * A pass has written down what it changed of an application: have it be as if it were
 * read now.
 */
extern void yq_cluster_settle_application(YqLoadedCluster *loaded, YqClusterApplication *application);

/* Read again how many applications users have: queues and usernames (char *) in pairs. */
extern void yq_cluster_reload_counters(YqLoadedCluster *loaded, const List *queues, const List *usernames);

#endif							/* YQ_CLUSTER_LOAD_H */
