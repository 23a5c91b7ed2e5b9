/*-------------------------------------------------------------------------
 *
 * effective.h
 *	  How much each queue may use of the cluster there is (docs/design.md 5).
 *
 * Two ways to compute it, as scheduler_setting.legacy_queue_mode_enabled says:
 * Hadoop's legacy mode, in which the queues below one parent are of one kind,
 * and the calculation with vectors, in which amounts, percentages and weights
 * may be mixed for every resource.
 *
 * Figures are those of a scheduler that starts with the configuration and the
 * nodes at hand.  One that has been running remembers an absolute capacity whose
 * queue has been set to 0; that is not imitated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_EFFECTIVE_H
#define YQ_EFFECTIVE_H

#include "queues/hierarchy.h"

/*
 * Fill the computed fields of hierarchy.h once, from the totals and the
 * cluster, and not from usage.
 */
extern void yq_hierarchy_compute(YqHierarchy *hierarchy);

/* Compute the figures of a queue of a plan from its share; those of the plan are computed. */
extern void yq_queue_of_plan_compute(const YqHierarchy *hierarchy, YqQueue *queue);

/* Read the usage of running containers and the reservations, as committed now. */
extern void yq_hierarchy_read_usage(YqHierarchy *hierarchy);

/* Containers that name a queue which is gone, by its path or short name. */
extern int64 yq_containers_elsewhere(const YqHierarchy *hierarchy, const char *path);

/* Containers that name such queues below a path, by theirs. */
extern int64 yq_containers_elsewhere_below(const YqHierarchy *hierarchy, const char *path);

/*
 * What containers that lazy preemption has made killable use of a queue in the default
 * partition, as last read; NULL: there are none at all.
 */
extern const int64 *yq_queue_killable(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * The part of the default partition that is left for a queue, by usage as last
 * read: amounts, palloc'd; negative where other queues exceed their limits.  What is
 * killable in a parent counts as left for its children, the queue of the killable
 * container included (AbstractParentQueue.getResourceLimitsOfChild).
 */
extern int64 *yq_queue_limit(const YqHierarchy *hierarchy, const YqQueue *queue);

/*
 * The fractions of the partition, and of the queue's guarantee on a label, that
 * the used amounts are.
 */
extern float4 yq_queue_absolute_used(const YqHierarchy *hierarchy, int label, const int64 *used);
extern float4 yq_queue_used(const YqHierarchy *hierarchy, const YqQueueLabel *label, const int64 *used);

/* Do all children together take their capacity from weights? */
extern bool yq_children_use_weights(const YqQueue *queue);

/* Set the effective amounts of the children of a queue with effective amounts. */
extern void yq_vector_compute_children(const YqHierarchy *hierarchy, YqQueue *queue);

#endif							/* YQ_EFFECTIVE_H */
