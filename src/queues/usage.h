/*-------------------------------------------------------------------------
 *
 * usage.h
 *	  Usage of running containers and reservations of a queue, by user and label.  For
 *	  the usage of all queues see effective.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_USAGE_H
#define YQ_USAGE_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"
#include "store/table_scan.h"
#include "utils/snapshot.h"

/* -- killable marks ------------------------------------------------------------ */

/*
 * Find the containers that lazy preemption has made killable.
 *
 * A container is killable if yquota_internal.preemption_mark says so, even if lazy
 * preemption has been switched off since.  In Hadoop, too, switching it off leaves
 * killable containers killable.
 */

/* Return the ids (char *, palloc'd) of killable containers.  Some of them may already have ended. */
extern List *yq_killable_marks_find(Snapshot snapshot);

/* Call the reader for the row of each listed container that still runs, in the order of the list. */
extern void yq_killable_marks_read_containers(const List *ids, Snapshot snapshot, const char *const *names, int count,
										YqRowReader reader, void *argument);

/* -- usage --------------------------------------------------------------------- */

/* An item of usage: a counter, a change that is not compacted yet, or a reservation on a node. */
typedef struct YqUsage
{
	const char *queue_name;		/* path or short name, as the container's events give it */
	const char *username;		/* NULL: the events do not name a user */
	int			label;			/* number of the label; -1: the label no longer exists */
	bool		is_guaranteed;	/* false: OPPORTUNISTIC */
	const int64 *amounts;		/* amounts per resource type, in the type's native unit */
	int64		containers;
} YqUsage;

/* Callback that receives an item of usage.  The item is valid until the callback returns. */
typedef void (*YqUsageReader) (const YqUsage *usage, void *argument);

/*
 * Discard the counted usage, because the queues have changed.  The next call of
 * yq_hierarchy_read_usage() counts it again.
 */
extern void yq_hierarchy_forget_usage(YqHierarchy *hierarchy);

/* Call the reader for each item of committed usage in a leaf. */
extern void yq_usage_of_leaf_read(const YqHierarchy *hierarchy, const YqQueue *leaf,
								  YqUsageReader reader, void *argument);

#endif							/* YQ_USAGE_H */
