/*-------------------------------------------------------------------------
 *
 * cluster_load.h
 *	  Loading the cluster from the tables for an allocation cycle, and applying the
 *	  changes of other sessions' cycles.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CLUSTER_LOAD_H
#define YQ_CLUSTER_LOAD_H

#include "access/xlogdefs.h"
#include "scheduler/load/loaded_cluster.h"
#include "utils/snapshot.h"

/* -- cycle change -------------------------------------------------------------- */

/*
 * A row of scheduler_change: the change that a cycle has made to a request, or to the
 * reservation of a node.
 *
 * Sessions that keep a cluster apply these changes instead of reading the application
 * again.  Each change contains the state after the cycle.  For each request and node, only
 * the last change matters, and a change may be applied twice.
 */

typedef struct YqCycleChange
{
	XLogRecPtr	log_position;	/* position in the write-ahead log, by which cycles are ordered */
	const char *application_id; /* NULL: the node has no reservation any more; only "node" and "log_position" are set */
	int64		next_container; /* number of the application's next container */
	int32		priority;		/* priority of the key */
	int64		allocation_request_id;	/* id of the key */

	/* fields of a change of a request */
	const char *resource_name;	/* NULL: only counters of the key have changed */
	int64		count;			/* number of containers; 0: the request was served, and its row was deleted */
	YqRequestCounters counters; /* counters of the key */

	/* fields of a change of a reservation */
	const char *node;			/* NULL: the change concerns a request */
	int64		container;		/* number of the container */
	const int64 *amounts;
} YqCycleChange;

/*
 * Apply changes (YqCycleChange) to a cluster that contains all earlier changes.  The
 * changes may be in any order.  Returns the ids (char *) of applications with changes that
 * do not fit the cluster.  The caller reads these applications again.
 */
extern List *yq_cluster_follow_cycles(YqLoadedCluster *loaded, List *changes);

/* -- cluster load -------------------------------------------------------------- */

/*
 * The functions below read the newest committed rows, and the changes of this transaction.
 * A caller that records decisions holds the scheduler's lock (scheduler_journal.h).
 */

/*
 * Load all that a cycle over these nodes needs; NULL stands for all nodes.  Usage and
 * killable containers are read with the given snapshot, everything else with newer
 * snapshots.  Applications without an existing project are left out, because no project
 * would pay.  The result lives in the cluster's memory context, which is a child of the
 * current context.
 */
extern YqLoadedCluster *yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count,
										Snapshot snapshot);

/*
 * Raise ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE while charging is deferred, or while
 * deferred events still wait to be charged.  Until then their usage is unknown.
 */
extern void yq_cluster_check_charging(void);

/*
 * Read the applications with the given ids (char *) again.  Returns false if their rows contradict
 * the rest of the cluster, for example because a node would have two reservations.
 */
extern bool yq_cluster_reload_applications(YqLoadedCluster *loaded, const List *ids);

/*
 * Update an application in the cluster after the cycle has written its changes.  The
 * result is the same as reading the application again.
 */
extern void yq_cluster_settle_application(YqLoadedCluster *loaded, YqClusterApplication *application);

/* Read the numbers of applications again for pairs of a queue and a user (char *), which the two lists contain. */
extern void yq_cluster_reload_counters(YqLoadedCluster *loaded, const List *queues, const List *usernames);

#endif							/* YQ_CLUSTER_LOAD_H */
