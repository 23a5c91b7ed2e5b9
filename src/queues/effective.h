/*-------------------------------------------------------------------------
 *
 * effective.h
 *	  Effective resources of each queue: its share of the cluster's present resources
 *	  (docs/design.md 5).
 *
 * The setting scheduler_setting.legacy_queue_mode_enabled chooses between two
 * computations.  In Hadoop's legacy mode all queues below a parent use the same kind of
 * capacity.  The computation with vectors allows amounts, percentages and weights to be
 * mixed for every resource.
 *
 * Figures equal those of a scheduler that starts with the present configuration and
 * nodes.  A running Hadoop scheduler remembers the absolute capacity of a queue whose
 * capacity was set to 0; yquota does not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EFFECTIVE_H
#define YQ_EFFECTIVE_H

#include "queues/hierarchy.h"

/*
 * Fill the computed fields of hierarchy.h once, from the totals and the cluster.  They
 * do not depend on usage.
 */
extern void yq_hierarchy_compute(YqHierarchy *hierarchy);

/*
 * Compute the figures of a queue of a plan from its share.  The plan's own figures must
 * have been computed.
 */
extern void yq_queue_of_plan_compute(const YqHierarchy *hierarchy, YqQueue *queue);

/* Read the usage of running containers and the reservations, as committed now. */
extern void yq_hierarchy_read_usage(YqHierarchy *hierarchy);

/* Count the containers that name the missing queue with this path or short name. */
extern int64 yq_containers_elsewhere(const YqHierarchy *hierarchy, const char *path);

/* Count the containers that name missing queues below this path by their paths. */
extern int64 yq_containers_elsewhere_below(const YqHierarchy *hierarchy, const char *path);

/*
 * Return the amounts of a queue in the default partition that killable containers use,
 * as last read.  Lazy preemption makes containers killable.  NULL means that no
 * container is killable.
 */
extern const int64 *yq_queue_killable(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * Return the part of the default partition that is left for a queue, by usage as last
 * read.  The amounts are palloc'd; they are negative if other queues exceed their
 * limits. A parent's killable amounts count as left for all its children, including the
 * queue of the killable container (AbstractParentQueue.getResourceLimitsOfChild).
 */
extern int64 *yq_queue_limit(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * Return the used amounts as a fraction of the partition.  The second function returns
 * a fraction of the queue's guarantee on a label.
 */
extern float4 yq_queue_absolute_used(const YqHierarchy *hierarchy, int label, const int64 *used);
extern float4 yq_queue_used(const YqHierarchy *hierarchy, const YqQueueLabel *label, const int64 *used);

/* Do all children get their capacity from weights? */
extern bool yq_children_use_weights(const YqQueue *queue);

/* Set the effective amounts of a queue's children.  The queue's own effective amounts must have been set. */
extern void yq_vector_compute_children(const YqHierarchy *hierarchy, YqQueue *queue);

#endif							/* YQ_EFFECTIVE_H */
