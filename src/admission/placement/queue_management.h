/*-------------------------------------------------------------------------
 *
 * queue_management.h
 *	  Leaves of a managed parent that have a guarantee: Hadoop's
 *	  GuaranteedOrZeroCapacityOverTimePolicy (semantics/queues 3.1, 3.2).
 *
 * On each label of the template, a leaf is either active or not.  An active leaf has
 * the template's capacity; another leaf has no guarantee, but the same maximum.  A new
 * leaf becomes active if the parent's share has room for it.  Later the policy takes
 * the guarantee from leaves without applications.  It gives the guarantee to leaves
 * with applications, in the order in which the applications were submitted.  A leaf
 * with applications keeps its guarantee. yquota_internal.active_leaf lists the active
 * leaves.
 *
 * The active leaves together use the sum of the template's present capacities.  Hadoop
 * adds up the capacities at the times when the leaves became active.  The two sums
 * differ while the cluster changes under a parent with a weight.
 *
 * The functions only decide and write nothing.  The figures of the hierarchy must be
 * computed (yq_hierarchy_compute).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_QUEUE_MANAGEMENT_H
#define YQ_QUEUE_MANAGEMENT_H

#include "nodes/pg_list.h"
#include "queues/hierarchy.h"

/* The demand of a leaf of a managed parent. */
typedef struct YqLeafDemand
{
	bool		has_applications;	/* the leaf has live applications in any state */
	const char *first_application;	/* smallest id of an application that may run or runs; NULL: none */
} YqLeafDemand;

/* A change: the leaf becomes active on the label, or is no longer active. */
typedef struct YqLeafChange
{
	const char *queue;			/* path */
	const char *label;			/* name of the label; "" is the default partition */
	bool		is_active;
} YqLeafChange;

/* Return the numbers of the labels on which a leaf that is created now is active: an integer list. */
extern List *yq_labels_of_new_leaf(const YqHierarchy *hierarchy, const YqQueue *parent);

/*
 * Return the changes of the policy for the leaves of a parent: YqLeafChange by label,
 * with leaves in the order of decision.  Demands are indexed by the number of the
 * queue.  With "anew", the policy decides as if no leaf was active, as after a change
 * of the configuration.
 */
extern List *yq_queue_management_decide(const YqHierarchy *hierarchy, const YqQueue *parent,
										const YqLeafDemand *demands, bool anew);

/*
 * Add managed parents that their leaves exceed to a list of YqViolation, as Hadoop
 * checks before any change.  As in Hadoop, the check compares fractions of the parent
 * with the parent's fraction of its own parent.
 */
extern List *yq_queue_management_validate(YqHierarchy *hierarchy, List *violations);

/* Would a periodic run change anything now? */
extern bool yq_queue_management_is_due(YqHierarchy *hierarchy);

/*
 * Run the policy for all managed parents, and write its changes.  With "anew" it
 * decides about all leaves; the periodic run skips parents that create nothing beyond
 * their guarantee.  The caller holds ShareRowExclusiveLock on
 * yquota_internal.queue_status.  Returns YqLeafChange.  The hierarchy stays valid, but
 * yq_hierarchy_get() returns a new hierarchy after a change.
 */
extern List *yq_queue_management_run(YqHierarchy *hierarchy, bool anew);

#endif							/* YQ_QUEUE_MANAGEMENT_H */
