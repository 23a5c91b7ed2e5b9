/*-------------------------------------------------------------------------
 *
 * dynamic_queues.h
 *	  Queues that submissions create, and their removal when they are unused
 *	  (semantics/queues 3).
 *
 * There are two generations of dynamic queues.  The parent determines the generation of
 * its children.  Leaves of a managed parent (auto-create-child-queue.enabled) get the
 * properties of its leaf-queue-template, and a guarantee while the parent has room for
 * it (queue_management.h).  Below a parent with auto-queue-creation-v2.enabled, queues
 * of any depth share by weight, and are removed when they are unused.
 *
 * The decision is made before anything is written.  A refusal is a return value and not
 * an error, so that a refused submission can be recorded.  A caller that wants to
 * create queues takes ShareRowExclusiveLock on yquota_internal.queue_status before it
 * gets the hierarchy.  No other transaction then creates, removes or submits to queues
 * until the caller commits.
 *
 * yquota_internal.created_queue records, by yquota's clock, when an application was
 * last submitted to a queue.  For a parent it records when a queue was last created
 * below it. Hadoop checks the queues once per expiration time, and removes a queue in
 * two runs.  The first run marks a queue that is empty.  The next run removes a marked
 * queue if it is still empty and has been idle for longer than that time.  Otherwise
 * the run removes the mark.
 *
 * A leaf without applications is empty, and so is a parent without children.  In
 * yquota, an empty queue also has no running container.
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
	const char *leaf;			/* full path of the requested leaf; NULL: it cannot be created */
	List	   *paths;			/* full paths of the queues to create, topmost first; NIL: the leaf exists */
	bool		is_managed;		/* is the leaf a child of a managed parent? */
	List	   *active_labels;	/* names of the labels on which the leaf of a managed parent is active */
	const char *dynamic_parent;	/* existing dynamic queue (second generation) below which queues are created; NULL:
								 * none */
	const char *problem;		/* Hadoop's message why the leaf cannot be created; NULL: no problem */
} YqQueueCreation;

/*
 * Decide whether the path can be created as a leaf, and which parents have to be
 * created first.  The path may begin with a short name that only one queue has.  If the
 * queue already exists, the result contains its full path and no queues to create.  An
 * existing queue need not be a leaf.  The function computes the figures of the
 * hierarchy again.  The result is palloc'd.
 */
extern YqQueueCreation yq_queue_creation_decide(YqHierarchy *hierarchy, const char *path);

/*
 * Create the queues that yq_queue_creation_decide() returned.  The caller still holds
 * the lock on yquota_internal.queue_status.  After the call, the old hierarchy is no
 * longer valid; yq_hierarchy_get() returns a hierarchy with the new queues.  Returns
 * NULL, or Hadoop's message if a template makes a queue invalid.  In that case, the
 * creation is rolled back in a subtransaction.
 */
extern char *yq_queue_creation_execute(const YqQueueCreation *creation);

/*
 * Run a statement that creates or removes dynamic queues in yquota.queue.  At commit,
 * such a change does not count as a change of the configuration.  Otherwise, the policy
 * of managed parents (queue_management.h) would decide again about all their leaves.
 */
extern void yq_change_queues(YqSavedPlan *statement, Datum *values);
extern bool yq_is_changing_queues(void);

/*
 * Record that a leaf has accepted an application.  The row is written only if the last
 * write is older than a tenth of the expiration time.  A queue may therefore be removed
 * too early, by at most this tenth.  For queues that are never removed, the function
 * does nothing.  The caller holds RowExclusiveLock on yquota_internal.queue_status and
 * the lock of the leaf.
 */
extern void yq_auto_created_queue_used(const YqHierarchy *hierarchy, const YqQueue *queue);

/* Record that the queues with these paths were used now. */
extern void yq_created_queues_used(const List *paths);

/*
 * Run the removal of unused queues once, for all queues.  Returns the paths of the
 * removed queues.  The caller took ShareRowExclusiveLock on
 * yquota_internal.queue_status before it got the hierarchy.
 */
extern List *yq_unused_queues_remove(YqHierarchy *hierarchy);

#endif							/* YQ_DYNAMIC_QUEUES_H */
