/*-------------------------------------------------------------------------
 *
 * limits.h
 *	  Limits of queues and users in an allocation cycle (semantics/allocation 2, 3).
 *
 * Limits of a queue follow from the limits of its parent.  They are computed anew in
 * each search for a container, and apply to the applications of the queue.  Limits of
 * users follow from sums of usage, which change whenever a container starts or ends.  A
 * user's limit is computed again only when one of its sums has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LIMITS_H
#define YQ_LIMITS_H

#include "scheduler/state/cluster.h"

/* Limits of a queue during a search.  Only the amounts of the calculator's resource types are set. */
typedef struct YqLimits
{
	int64		limit[YQ_MAX_RESOURCE_TYPES];	/* largest usage that the queue's ancestors permit */
	int64		headroom[YQ_MAX_RESOURCE_TYPES];	/* amount left below all limits; may be negative */
	int64		blocked[YQ_MAX_RESOURCE_TYPES]; /* amount withheld for children that want more than their limit */
	int64		to_unreserve[YQ_MAX_RESOURCE_TYPES];	/* amount of reservations to give up first */
	bool		uses_killable;	/* for leaves: may use the room of killable containers */
} YqLimits;

/* Set the limit.  All other amounts become 0, and the search may not use killable containers' room. */
extern void yq_limits_set(const YqCluster *cluster, YqLimits *limits, const int64 *limit);

/*
 * Set "left" to the amount that the children of a parent may use in addition to their
 * present usage.  Killable containers do not count as usage.  The function also lowers the
 * parent's limit to its configured maximum, if that is smaller.
 */
extern void yq_limits_set_left(const YqCluster *cluster, const YqClusterQueue *parent, int label,
							   YqLimits *limits, int64 *left);

/*
 * Set the limits of a child.  The children of its parent may use the amount "left" in addition
 * to their present usage.
 */
extern void yq_limits_set_of_child(const YqCluster *cluster, const YqClusterQueue *child, int label,
								   const int64 *left, YqLimits *of_child);

/*
 * Return the amount that the siblings of a queue must leave to it.  The queue was searched,
 * and wants more than it may use now.  The amount is never negative.
 */
extern const int64 *yq_limits_kept(const YqCluster *cluster, const YqClusterQueue *queue, const YqLimits *limits);

/*
 * Set the counted usage of a queue.  The usage of a parent excludes killable containers, because
 * the parent's children may take their resources.  The usage of a leaf includes them, because a
 * leaf cannot preempt its own containers (AbstractCSQueue).
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
 * May any container be assigned in the queue?  The queue must be below its limit, or be
 * below it after giving up reservations of the amount "unreservable".  Sets the headroom.
 */
extern bool yq_queue_may_assign(const YqCluster *cluster, const YqClusterQueue *queue, int label,
								YqSchedulingMode mode, const int64 *unreservable, YqLimits *limits);

/* Add "count" containers of this size, or subtract -count, in the demand of an application and its queues. */
extern void yq_pending_change(const YqCluster *cluster, YqClusterApplication *application, int label,
							  const int64 *amounts, int64 count);

/* Compute the sums of usage of a leaf's users. */
extern void yq_users_sum_up(const YqCluster *cluster, YqClusterQueue *leaf);

/* Add amounts to a user's usage of a label, or, with sign -1, subtract them. */
extern void yq_user_change_usage(const YqCluster *cluster, YqClusterUser *user, int label,
								 const int64 *amounts, int sign);

/*
 * Note that all requests of one of the user's applications are served.  The user becomes
 * inactive if no other application of the user has outstanding requests.
 */
extern void yq_user_note_satisfied(const YqCluster *cluster, YqClusterUser *user);

/*
 * Return the user's limit on a label (semantics/allocation 3.2), valid until the usage
 * of a user of the leaf changes.
 */
extern const int64 *yq_user_limit(const YqCluster *cluster, YqClusterUser *user, int label,
								  YqSchedulingMode mode);

/*
 * May the application get a container within its user's limit (semantics/allocation 3.3)?
 * The function also sets the amount of reservations that the application must give up
 * first.
 */
extern bool yq_user_may_assign(const YqCluster *cluster, const YqClusterApplication *application,
							   int label, YqSchedulingMode mode, YqLimits *limits);

#endif							/* YQ_LIMITS_H */
