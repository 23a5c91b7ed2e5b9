/*-------------------------------------------------------------------------
 *
 * cycle_change.h
 *	  What a cycle has left of a request, or of the reservation of a node: a row
 *	  of scheduler_change.
 *
 * Sessions that keep a cluster apply such changes instead of reading the
 * application again.  A change has the state after the cycle, so that only the
 * last one of a request or node counts, and one that the cluster knows already
 * does no harm.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CYCLE_CHANGE_H
#define YQ_CYCLE_CHANGE_H

#include "access/xlogdefs.h"
#include "scheduler/load/loaded_cluster.h"

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

#endif							/* YQ_CYCLE_CHANGE_H */
