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
 * The rows of yquota_internal.preemption_mark determine them, whatever the present
 * setting is.  As in Hadoop, the resources of killable containers stay available when
 * lazy preemption is switched off.
 */

/* Return the ids (palloc'd char *) of killable containers; some containers may have ended. */
extern List *yq_killable_marks_find(Snapshot snapshot);

/* Call the reader for the rows of those containers that run, in the order of the list. */
extern void yq_killable_marks_read_containers(const List *ids, Snapshot snapshot, const char *const *names, int count,
										YqRowReader reader, void *argument);

/* -- usage --------------------------------------------------------------------- */

/* A counter of usage, a change that is not compacted yet, or a reservation on a node. */
typedef struct YqUsage
{
	const char *queue_name;		/* path or name as in the events */
	const char *username;		/* NULL: the events do not name it */
	int			label;			/* number of the label; -1: the label was removed */
	bool		is_guaranteed;	/* false: OPPORTUNISTIC */
	const int64 *amounts;		/* native units, per type */
	int64		containers;
} YqUsage;

/* Reader of usage.  The usage is valid until the reader returns. */
typedef void (*YqUsageReader) (const YqUsage *usage, void *argument);

/* Forget the counted usage, because it was counted for other queues.  The next reading counts it again. */
extern void yq_hierarchy_forget_usage(YqHierarchy *hierarchy);

/* Call the reader for each item of a leaf's usage, as committed now. */
extern void yq_usage_of_leaf_read(const YqHierarchy *hierarchy, const YqQueue *leaf,
								  YqUsageReader reader, void *argument);

#endif							/* YQ_USAGE_H */
