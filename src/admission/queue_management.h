/*-------------------------------------------------------------------------
 *
 * queue_management.h
 *	  Which leaves of a managed parent have a guarantee: Hadoop's
 *	  GuaranteedOrZeroCapacityOverTimePolicy (cs-semantics 7.1, 7.2).
 *
 * A leaf has on each label that the template names what the template says (it is
 * active there), or nothing guaranteed but the same maximum.  A leaf becomes active
 * as it is created if the parent's share has room for it.  Later the policy takes
 * the guarantee of leaves without applications and gives it to those that have
 * some, in the order in which the applications were submitted; a leaf with
 * applications keeps it.  Which leaves are active is yquota_internal.active_leaf.
 *
 * What active leaves hold is the sum of what the template says now, where Hadoop
 * adds up what it said when they became active; the two differ while the cluster
 * changes under a parent with a weight.
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

/* What a leaf of a managed parent has to do. */
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
 * What the policy changes about the leaves of a parent: YqLeafChange by label, and
 * leaves in the order in which they are decided.  Demands are by number of the
 * queue.  With "anew", as if no leaf was active, which is what a change of the
 * configuration does.
 */
extern List *yq_queue_management_decide(const YqHierarchy *hierarchy, const YqQueue *parent,
										const YqLeafDemand *demands, bool anew);

/*
 * Add to a list of YqViolation the managed parents whose leaves have more than they
 * may, which Hadoop looks at before it changes anything.  It compares fractions of
 * the parent with the fraction that the parent has of its own parent; so do we.
 */
extern List *yq_queue_management_validate(YqHierarchy *hierarchy, List *violations);

/* Would a run from time to time change anything now? */
extern bool yq_queue_management_is_due(YqHierarchy *hierarchy);

/*
 * Run the policy for all managed parents and write what it changes: all of them
 * anew, or as it is done from time to time, which leaves out parents that create
 * nothing beyond their guarantee.  The caller holds ShareRowExclusiveLock on
 * yquota_internal.queue_status.  Returns YqLeafChange; the hierarchy is still valid,
 * but yq_hierarchy_get() has another one if anything was changed.
 */
extern List *yq_queue_management_run(YqHierarchy *hierarchy, bool anew);

#endif							/* YQ_QUEUE_MANAGEMENT_H */
