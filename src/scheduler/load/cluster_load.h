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
 * Change of a request, or of the reservation of a node, by a cycle: a row of
 * scheduler_change.
 *
 * Sessions that keep a cluster apply these changes instead of reading the application
 * again.  A change contains the state after the cycle.  Only the last change of a
 * request or node therefore counts, and a known change does no harm.
 */

typedef struct YqCycleChange
{
	XLogRecPtr	log_position;	/* orders cycles */
	const char *application_id; /* NULL: no application reserves the node now; other fields are unset */
	int64		next_container; /* number of the application's next container */
	int32		priority;		/* priority of the key */
	int64		allocation_request_id;	/* id of the key */

	/* fields of a change of a request */
	const char *resource_name;	/* NULL: only counters of the key have changed */
	int64		count;			/* containers; 0: the request is served, and its row is gone */
	YqRequestCounters counters; /* counters of the key */

	/* fields of a change of a reservation */
	const char *node;			/* NULL: the change concerns a request */
	int64		container;		/* number of the container */
	const int64 *amounts;
} YqCycleChange;

/*
 * Apply changes (YqCycleChange), in any order, to a cluster that has seen all earlier
 * changes.  Returns the ids (char *) of applications that differ from the cycles' view:
 * the caller reads these again.
 */
extern List *yq_cluster_follow_cycles(YqLoadedCluster *loaded, List *changes);

/* -- cluster load -------------------------------------------------------------- */

/*
 * The state is the newest committed state, with the changes of this transaction.  A
 * caller that records decisions holds the scheduler's lock (scheduler_journal.h).
 */

/*
 * Load the state that a cycle over some nodes, or all (NULL), needs: usage as the
 * snapshot sees it, the rest no older.  Applications without an existing project are
 * left out, since no project would pay.  The result lives in the cluster's context,
 * below the current one.
 */
extern YqLoadedCluster *yq_cluster_load(YqHierarchy *hierarchy, const char **nodes, int node_count,
										Snapshot snapshot);

/*
 * Check that no events wait to be charged, because usage is then unknown:
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.
 */
extern void yq_cluster_check_charging(void);

/*
 * Read applications again, by their ids (char *).  Returns false when they contradict
 * the rows read of other applications.
 */
extern bool yq_cluster_reload_applications(YqLoadedCluster *loaded, const List *ids);

/* Update an application after the cycle has written its changes, as if it were read now. */
extern void yq_cluster_settle_application(YqLoadedCluster *loaded, YqClusterApplication *application);

/* Read the numbers of users' applications again: queues and usernames (char *) in pairs. */
extern void yq_cluster_reload_counters(YqLoadedCluster *loaded, const List *queues, const List *usernames);

#endif							/* YQ_CLUSTER_LOAD_H */
