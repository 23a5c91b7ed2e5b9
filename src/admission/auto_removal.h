/*-------------------------------------------------------------------------
 *
 * auto_removal.h
 *	  Queues of the second generation that nobody uses any more (cs-semantics 7.3).
 *
 * yquota_internal.created_queue has when such a queue was last submitted to or, for
 * a parent, when a queue was last created below it, by yquota's clock.  Hadoop
 * looks at them once per expiration time and removes in two passes: a queue that is
 * found empty is marked; one that is marked and still empty is removed if it has
 * been idle for longer than that time, and else not marked any more.
 *
 * Empty is a leaf without applications, or a parent without children; here also
 * one in which no container runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_AUTO_REMOVAL_H
#define YQ_AUTO_REMOVAL_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

/*
 * An application was accepted by a leaf.  Costs a look-up, and a write when the last
 * one is older than a tenth of the expiration time, which is how early a queue may
 * go; nothing for queues that are not removed.  The caller holds RowExclusiveLock
 * on yquota_internal.queue_status and the lock of the leaf.
 */
extern void yq_auto_created_queue_used(const YqHierarchy *hierarchy, const YqQueue *queue);

/* The queues of these paths are in use now. */
extern void yq_created_queues_used(const List *paths);

/*
 * One pass over all queues; returns the paths of those that it has removed.  The
 * caller holds ShareRowExclusiveLock on yquota_internal.queue_status since before he
 * took the hierarchy.
 */
extern List *yq_unused_queues_remove(YqHierarchy *hierarchy);

#endif							/* YQ_AUTO_REMOVAL_H */
