/*-------------------------------------------------------------------------
 *
 * limits.h
 *	  Limits of queues and users in an allocation cycle (semantics/allocation 2, 3).
 *
 * Limits of a queue come from its parent.  They exist during one allocation attempt,
 * which compares the queue's applications with them.  Limits of users follow from sums,
 * which are updated whenever a container starts or ends.  A limit is computed again
 * when one of its sums has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LIMITS_H
#define YQ_LIMITS_H

#include "scheduler/state/cluster.h"

/* Limits on the stack; amounts are set for the types of the calculator. */
typedef struct YqLimits
{
	int64		limit[YQ_MAX_RESOURCE_TYPES];	/* limit of the usage, set by the queue's parents */
	int64		headroom[YQ_MAX_RESOURCE_TYPES];	/* amount left below all limits; may be negative */
	int64		blocked[YQ_MAX_RESOURCE_TYPES]; /* amount kept for children that want more than their limit */
	int64		to_unreserve[YQ_MAX_RESOURCE_TYPES];	/* amount that a user must unreserve first */
	bool		uses_killable;	/* for leaves: may use the room of killable containers */
} YqLimits;

/* Set limits without blocked amounts and headroom, for a search that may use only free resources. */
extern void yq_limits_set(const YqCluster *cluster, YqLimits *limits, const int64 *limit);

/*
 * Set "left" to the additional amount that the children of a parent may use, including
 * the amount that killable containers use.  Lowers the parent's own limit to the limit
 * of its configuration.
 */
extern void yq_limits_set_left(const YqCluster *cluster, const YqClusterQueue *parent, int label,
							   YqLimits *limits, int64 *left);

/* Set the limits of a child.  Its parent has the amount "left" left. */
extern void yq_limits_set_of_child(const YqCluster *cluster, const YqClusterQueue *child, int label,
								   const int64 *left, YqLimits *of_child);

/*
 * Return the amount to keep for a queue that was searched and may not use as much as it
 * wants.  The amount is never negative.
 */
extern const int64 *yq_limits_kept(const YqCluster *cluster, const YqClusterQueue *queue, const YqLimits *limits);

/*
 * Set the counted usage of a queue.  The usage of a parent excludes killable
 * containers, because its children may take their resources.  The usage of a leaf
 * includes them, because a leaf cannot preempt its own containers (AbstractCSQueue).
 */
extern void yq_queue_set_counted(const YqCluster *cluster, const YqClusterQueue *queue, int label, int64 *counted);

/*
 * May a leaf use the resources of killable containers?  It may if it uses less than its
 * guarantee of the label (AbstractLeafQueue.setPreemptionAllowed).
 */
extern bool yq_queue_may_use_killable(const YqCluster *cluster, const YqClusterQueue *leaf, int label);

/* Return the guarantee of a queue on a label. */
extern const int64 *yq_queue_guarantee(const YqClusterQueue *queue, int label);

/*
 * May any container be assigned in the queue?  The queue must be below its limit, at least
 * without the reservations of "unreservable".  Sets the headroom.
 */
extern bool yq_queue_may_assign(const YqCluster *cluster, const YqClusterQueue *queue, int label,
								YqSchedulingMode mode, const int64 *unreservable, YqLimits *limits);

/* Change the number of containers that an application wants on a label. */
extern void yq_pending_change(const YqCluster *cluster, YqClusterApplication *application, int label,
							  const int64 *amounts, int64 count);

/* Compute the sums of usage of a leaf's users. */
extern void yq_users_sum_up(const YqCluster *cluster, YqClusterQueue *leaf);

/* Add amounts to a user's usage of a label, or, with sign -1, subtract them. */
extern void yq_user_change_usage(const YqCluster *cluster, YqClusterUser *user, int label,
								 const int64 *amounts, int sign);

/* Note that all requests of an application of the user are served. */
extern void yq_user_note_satisfied(const YqCluster *cluster, YqClusterUser *user);

/*
 * Return the user's limit on a label (semantics/allocation 3.2), valid until the usage
 * of a user of the leaf changes.
 */
extern const int64 *yq_user_limit(const YqCluster *cluster, YqClusterUser *user, int label,
								  YqSchedulingMode mode);

/*
 * Is the user below the limit, so that the application may get a container
 * (semantics/allocation 3.3)?  Sets the amounts that the application must first
 * unreserve.
 */
extern bool yq_user_may_assign(const YqCluster *cluster, const YqClusterApplication *application,
							   int label, YqSchedulingMode mode, YqLimits *limits);

#endif							/* YQ_LIMITS_H */
