/*-------------------------------------------------------------------------
 *
 * cluster_load.h
 *	  Loading the cluster from the tables, for an allocation cycle, and bringing it up to date
 *	  with what cycles of other sessions have left.
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
 * What a cycle has left of a request, or of the reservation of a node: a row
 * of scheduler_change.
 *
 * Sessions that keep a cluster apply such changes instead of reading the
 * application again.  A change has the state after the cycle, so that only the
 * last one of a request or node counts, and one that the cluster knows already
 * does no harm.
 */

typedef struct YqCycleChange
{
	XLogRecPtr	log_position;	/* orders cycles */
	const char *application_id; /* NULL: no application reserves the node any more, and nothing else is set */
	int64		next_container; /* of the application */
	int32		priority;		/* of the key */
	int64		allocation_request_id;	/* likewise */

	/* of a request */
	const char *resource_name;	/* NULL: only counters of the key have changed */
	int64		count;			/* containers; 0: the request is served, and has no row any more */
	YqRequestCounters counters; /* of the key */

	/* of a reservation */
	const char *node;			/* NULL: the change is one of a request */
	int64		container;		/* its number */
	const int64 *amounts;
} YqCycleChange;

/*
 * Apply changes (YqCycleChange), in any order, to a cluster that has seen all earlier
 * ones.  Returns the ids (char *) of applications that are not as the cycles knew
 * them: the caller reads these again.
 */
extern List *yq_cluster_follow_cycles(YqLoadedCluster *loaded, List *changes);

/* -- cluster load -------------------------------------------------------------- */

/*
 * The state is the newest committed one, with the changes of this transaction.
 * A caller that records decisions holds the scheduler's lock
 * (scheduler_journal.h).
 */

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
