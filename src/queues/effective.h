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
 * The figures are those of a Hadoop scheduler that starts with the present
 * configuration and nodes.  A running Hadoop scheduler remembers the absolute capacity
 * of a queue whose capacity was set to 0; yquota does not.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EFFECTIVE_H
#define YQ_EFFECTIVE_H

#include "queues/hierarchy.h"

/*
 * Compute the fields of a hierarchy that depend on the totals of the cluster but not on
 * usage.  The computation runs once per hierarchy.
 */
extern void yq_hierarchy_compute(YqHierarchy *hierarchy);

/*
 * Compute the figures of a queue of a plan from the queue's share.  The plan's own
 * figures must already be set.
 */
extern void yq_queue_of_plan_compute(const YqHierarchy *hierarchy, YqQueue *queue);

/* Read the committed usage of running containers and reservations. */
extern void yq_hierarchy_read_usage(YqHierarchy *hierarchy);

/* Count the containers whose events name a queue that does not exist, by this path or short name. */
extern int64 yq_containers_elsewhere(const YqHierarchy *hierarchy, const char *path);

/* Count the containers whose events name nonexistent queues below this path, by the queues' full paths. */
extern int64 yq_containers_elsewhere_below(const YqHierarchy *hierarchy, const char *path);

/*
 * Return the amounts that killable containers use in a queue in the default partition,
 * or NULL if no container is killable.  The amounts are those of the last
 * yq_hierarchy_read_usage().
 */
extern const int64 *yq_queue_killable(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * Return the amounts of the default partition that the queue may still use, computed
 * from the usage of the last yq_hierarchy_read_usage() and palloc'd.  The amounts are
 * negative if other queues exceed their limits.  Resources of killable containers below
 * the parent count as free for every child, even for the queue of the killable
 * container (AbstractParentQueue.getResourceLimitsOfChild).
 */
extern int64 *yq_queue_limit(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * Return the used amounts as a fraction: yq_queue_absolute_used() of the partition, and
 * yq_queue_used() of the queue's guarantee on the label.
 */
extern float4 yq_queue_absolute_used(const YqHierarchy *hierarchy, int label, const int64 *used);
extern float4 yq_queue_used(const YqHierarchy *hierarchy, const YqQueueLabel *label, const int64 *used);

/* Do all children of the queue have a weight as their capacity? */
extern bool yq_children_use_weights(const YqQueue *queue);

/* Set the effective amounts of a queue's children.  The queue's own effective amounts must already be set. */
extern void yq_vector_compute_children(const YqHierarchy *hierarchy, YqQueue *queue);

#endif							/* YQ_EFFECTIVE_H */
