/*-------------------------------------------------------------------------
 *
 * usage.h
 *	  The usage of running containers and the reservations of one queue, by user
 *	  and label; for all queues see effective.h.
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
 * Which containers lazy preemption has made killable.
 *
 * Rows of yquota_internal.preemption_mark tell, whatever the setting is now: as in
 * Hadoop, the room of killable containers may still be used when lazy preemption is
 * switched off.
 */

/* The ids (palloc'd char *) of killable containers; some of them may have ended. */
extern List *yq_killable_marks_find(Snapshot snapshot);

/* Call the reader for the rows of those that run, in the order of the list. */
extern void yq_killable_marks_read_containers(const List *ids, Snapshot snapshot, const char *const *names, int count,
										YqRowReader reader, void *argument);

/* -- usage --------------------------------------------------------------------- */

/* One counter of usage, one change that is not yet compacted, or one reservation on a node. */
typedef struct YqUsage
{
	const char *queue_name;		/* path or name, as events have it */
	const char *username;		/* NULL when events name none */
	int			label;			/* number; -1 for a label that is gone */
	bool		is_guaranteed;	/* else OPPORTUNISTIC */
	const int64 *amounts;		/* native units, per type */
	int64		containers;
} YqUsage;

/* The usage is valid until the reader returns. */
typedef void (*YqUsageReader) (const YqUsage *usage, void *argument);

/* Usage that has been read was counted for other queues: the next reading counts it anew. */
extern void yq_hierarchy_forget_usage(YqHierarchy *hierarchy);

/* Call the reader for all parts of a leaf, as committed now. */
extern void yq_usage_of_leaf_read(const YqHierarchy *hierarchy, const YqQueue *leaf,
								  YqUsageReader reader, void *argument);

#endif							/* YQ_USAGE_H */
