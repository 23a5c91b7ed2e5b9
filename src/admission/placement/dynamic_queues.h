/*-------------------------------------------------------------------------
 *
 * dynamic_queues.h
 *	  Queues that submissions create, and their removal when they are unused
 *	  (semantics/queues 3).
 *
 * The parent decides between two generations.  Leaves of a managed parent
 * (auto-create-child-queue.enabled) get the properties of its
 * leaf-queue-template, and a guarantee while there is room for it
 * (queue_management.h).  Queues of any depth below a parent with
 * auto-queue-creation-v2.enabled share by weight, and are removed when they are
 * unused.
 *
 * Deciding comes first and writes nothing, so that a refusal is a value and not
 * an error: a refused submission is recorded.  A caller that decides in order
 * to write holds ShareRowExclusiveLock on yquota_internal.queue_status, taken
 * before the hierarchy.  So no other transaction creates, removes or submits to
 * queues until the caller commits.
 *
 * yquota_internal.created_queue has when such a queue was last submitted to or, for
 * a parent, when a queue was last created below it, by yquota's clock.  Hadoop
 * checks them once per expiration time and removes in two runs: a queue that is
 * found empty is marked; one that is marked and still empty is removed if it has
 * been idle for longer than that time, and else not marked any more.
 *
 * Empty is a leaf without applications, or a parent without children; here also
 * one in which no container runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_DYNAMIC_QUEUES_H
#define YQ_DYNAMIC_QUEUES_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"
#include "store/saved_plan.h"

typedef struct YqQueueCreation
{
	const char *leaf;			/* full path of the requested queue; NULL when it is refused */
	List	   *paths;			/* queues to create, full paths from the top down; NIL: the leaf exists */
	bool		is_managed;		/* the leaf of a managed parent */
	List	   *active_labels;	/* names of labels on which a leaf of a managed parent is active */
	const char *dynamic_parent;	/* of the second generation, below which it is created; NULL for none */
	const char *problem;		/* why it is refused, in Hadoop's words; NULL when it is not */
} YqQueueCreation;

/*
 * Decide whether the queue of a path can be created as a leaf, and which parents
 * before it.  The first part may be a short name that only one queue has.  A path
 * that has a queue already, leaf or not, yields its full path and nothing to
 * create.  Figures of the hierarchy are computed anew.  palloc'd.
 */
extern YqQueueCreation yq_queue_creation_decide(YqHierarchy *hierarchy, const char *path);

/*
 * Create the decided queues, under the lock above.  The hierarchy of the
 * decision is gone afterwards: yq_hierarchy_get() has a new one with the
 * queues.  Returns NULL, or Hadoop's message if the templates make an invalid
 * queue.  In that case a subtransaction has taken back the queues.
 */
extern char *yq_queue_creation_execute(const YqQueueCreation *creation);

/*
 * Run a statement that creates or removes dynamic queues in yquota.queue.  The
 * check at commit does not treat it as a change of the configuration, which
 * would decide anew about the leaves of managed parents.
 */
extern void yq_change_queues(YqSavedPlan *statement, Datum *values);
extern bool yq_is_changing_queues(void);

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
 * Check all queues once; returns the paths of those that it has removed.  The
 * caller holds ShareRowExclusiveLock on yquota_internal.queue_status since before he
 * took the hierarchy.
 */
extern List *yq_unused_queues_remove(YqHierarchy *hierarchy);

#endif							/* YQ_DYNAMIC_QUEUES_H */
