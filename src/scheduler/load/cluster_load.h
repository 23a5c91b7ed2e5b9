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
	XLogRecPtr	log_position;	/* orders cycles */
	const char *application_id; /* NULL: the node has no reservation any more, and the other members are not set */
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
 * changes may be in any order.  Returns the ids (char *) of applications whose state
 * differs from the state that the cycles recorded; the caller reads these applications
 * again.
 */
extern List *yq_cluster_follow_cycles(YqLoadedCluster *loaded, List *changes);

/* -- cluster load -------------------------------------------------------------- */

/*
 * The state is the newest committed state, with the changes of this transaction.  A
 * caller that records decisions holds the scheduler's lock (scheduler_journal.h).
 */

/*
 * Load the state that a cycle over some nodes, or (NULL) all nodes, needs.  Usage is
 * read by the snapshot, everything else at that time or later.  Applications without an
 * existing project are left out, because no project would pay.  The result lives in the
 * cluster's memory context, which is a child of the current context.
 */
extern YqLoadedCluster *yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count,
										Snapshot snapshot);

/*
 * Check that no events are waiting to be charged, because usage is unknown until they are
 * charged.  Raises ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE otherwise.
 */
extern void yq_cluster_check_charging(void);

/*
 * Read the applications with the given ids (char *) again.  Returns false when they
 * contradict the rows of applications that are not read again.
 */
extern bool yq_cluster_reload_applications(YqLoadedCluster *loaded, const List *ids);

/*
 * Update an application after the cycle has written its changes.  The result is the
 * same as reading it again.
 */
extern void yq_cluster_settle_application(YqLoadedCluster *loaded, YqClusterApplication *application);

/* Read again how many applications users have.  Queues and usernames (char *) form pairs. */
extern void yq_cluster_reload_counters(YqLoadedCluster *loaded, const List *queues, const List *usernames);

#endif							/* YQ_CLUSTER_LOAD_H */
