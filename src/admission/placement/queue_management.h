/*-------------------------------------------------------------------------
 *
 * queue_management.h
 *	  The leaves of a managed parent that have a guarantee:  Hadoop's
 *	  GuaranteedOrZeroCapacityOverTimePolicy (semantics/queues 3.1, 3.2).
 *
 * On each label that the template names, a leaf is active and has the
 * template's capacity, or has no guarantee but the same maximum.  A leaf
 * becomes active as it is created if the parent's share has room for it.  Later
 * the policy takes the guarantee of leaves without applications and gives it to
 * leaves with applications, in the order in which the applications were
 * submitted.  A leaf with applications keeps its guarantee.
 * yquota_internal.active_leaf has the active leaves.
 *
 * Active leaves together hold the sum of the template's present capacities.
 * Hadoop adds up the capacities of the moments when the leaves became active.
 * The two differ while the cluster changes under a parent with a weight.
 *
 * Deciding is pure: figures of the hierarchy are computed (yq_hierarchy_compute),
 * nothing is written.
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
	bool		has_applications;	/* live ones of any state */
	const char *first_application;	/* the earliest id that may run or runs; NULL for none */
} YqLeafDemand;

/* A change: the leaf becomes active on the label, or ceases to be. */
typedef struct YqLeafChange
{
	const char *queue;			/* path */
	const char *label;			/* its name; "" is the default partition */
	bool		is_active;
} YqLeafChange;

/* Labels, as numbers, on which a leaf that is created now is active: an integer list. */
extern List *yq_labels_of_new_leaf(const YqHierarchy *hierarchy, const YqQueue *parent);

/*
 * The changes of the policy for the leaves of a parent:  YqLeafChange by label,
 * and leaves in the order of decision.  Demands are by number of the queue.
 * With "anew", the policy decides as if no leaf was active, as after a change
 * of the configuration.
 */
extern List *yq_queue_management_decide(const YqHierarchy *hierarchy, const YqQueue *parent,
										const YqLeafDemand *demands, bool anew);

/*
 * Add the managed parents whose leaves exceed them to a list of YqViolation, as
 * Hadoop checks before any change.  It compares fractions of the parent with
 * the fraction that the parent has of its own parent; so do we.
 */
extern List *yq_queue_management_validate(YqHierarchy *hierarchy, List *violations);

/* Would a run from time to time change anything now? */
extern bool yq_queue_management_is_due(YqHierarchy *hierarchy);

/*
 * Run the policy for all managed parents and write its changes.  With anew it
 * decides about all leaves; the periodic run leaves out parents that create
 * nothing beyond their guarantee.  The caller holds ShareRowExclusiveLock on
 * yquota_internal.queue_status.  Returns YqLeafChange; the hierarchy is still
 * valid, but yq_hierarchy_get() has another one if anything was changed.
 */
extern List *yq_queue_management_run(YqHierarchy *hierarchy, bool anew);

#endif							/* YQ_QUEUE_MANAGEMENT_H */
