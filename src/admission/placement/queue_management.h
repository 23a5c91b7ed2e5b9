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
 * adds up the capacity that the template had when each leaf became active.  The two
 * sums differ while the cluster changes under a parent with a weight.
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

/* The demand for capacity in a leaf of a managed parent. */
typedef struct YqLeafDemand
{
	bool		has_applications;	/* does the leaf have live applications, in any state? */
	const char *first_application;	/* smallest id among the applications that run or may run; NULL: there are none */
} YqLeafDemand;

/* A change of a leaf on a label: the leaf becomes active, or is no longer active. */
typedef struct YqLeafChange
{
	const char *queue;			/* path */
	const char *label;			/* name of the node label; "" is the default partition */
	bool		is_active;
} YqLeafChange;

/* Return the labels on which a leaf would be active if it were created now: an integer list of label numbers. */
extern List *yq_labels_of_new_leaf(const YqHierarchy *hierarchy, const YqQueue *parent);

/*
 * Return the changes that the policy makes for the leaves of a parent: YqLeafChange *,
 * by label, in the order of the decisions.  "demands" is indexed by queue number.  With
 * "anew", the policy decides as if no leaf were active; this is the case after a change
 * of the configuration.
 */
extern List *yq_queue_management_decide(const YqHierarchy *hierarchy, const YqQueue *parent,
										const YqLeafDemand *demands, bool anew);

/*
 * Find managed parents whose leaves together have more capacity than the parent, and
 * add violations.  Hadoop makes this check before any change.  As in Hadoop, the sum of
 * the leaves' fractions of the parent is compared with the parent's fraction of its own
 * parent.
 */
extern List *yq_queue_management_validate(YqHierarchy *hierarchy, List *violations);

/* Would a periodic run of the policy change anything now? */
extern bool yq_queue_management_is_due(YqHierarchy *hierarchy);

/*
 * Run the policy for all managed parents, and write the changes.  With "anew", the
 * policy decides about all leaves.  Without it, this is a periodic run, which skips
 * parents with fail-on-exceeding-parent-capacity.  The caller holds
 * ShareRowExclusiveLock on yquota_internal.queue_status.  Returns the changes as
 * YqLeafChange *.  The hierarchy remains valid.  After a change, yq_hierarchy_get()
 * returns a new hierarchy.
 */
extern List *yq_queue_management_run(YqHierarchy *hierarchy, bool anew);

#endif							/* YQ_QUEUE_MANAGEMENT_H */
