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

#include "queues/hierarchy.h"

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
