/*-------------------------------------------------------------------------
 *
 * limits.h
 *	  Limits of queues and users in an allocation cycle (semantics/allocation 2, 3).
 *
 * Limits of a queue come from its parent and exist during one allocation attempt, which
 * compares the queue's applications with them.  Limits of users follow from sums that
 * are maintained as containers come and go.  They are computed when one of the sums has
 * changed.
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
	int64		blocked[YQ_MAX_RESOURCE_TYPES]; /* amount kept for children that want more than they may have yet */
	int64		to_unreserve[YQ_MAX_RESOURCE_TYPES];	/* amount that a user must unreserve first */
	bool		uses_killable;	/* for leaves: may use the room of killable containers */
} YqLimits;

/* Set limits without blocked amounts and headroom, where only free room may be used. */
extern void yq_limits_set(const YqCluster *cluster, YqLimits *limits, const int64 *limit);

/*
 * left := the additional amount that the children of a parent may use, including the
 * amount that killable containers use.  The parent's own limit is lowered to the limit
 * of its configuration.
 */
extern void yq_limits_set_left(const YqCluster *cluster, const YqClusterQueue *parent, int label,
							   YqLimits *limits, int64 *left);

/* Set the limits of a child whose parent has that amount left. */
extern void yq_limits_set_of_child(const YqCluster *cluster, const YqClusterQueue *child, int label,
								   const int64 *left, YqLimits *of_child);

/* Return the amount kept for a queue that may not use as much as it wants, after it was searched; never negative. */
extern const int64 *yq_limits_kept(const YqCluster *cluster, const YqClusterQueue *queue, const YqLimits *limits);

/*
 * Set the counted usage of a queue.  A parent's usage excludes killable containers,
 * since its children may take their room; a leaf cannot preempt itself
 * (AbstractCSQueue).
 */
extern void yq_queue_set_counted(const YqCluster *cluster, const YqClusterQueue *queue, int label, int64 *counted);

/*
 * May a leaf use the room of killable containers, because it uses less than its
 * guarantee of the label (AbstractLeafQueue.setPreemptionAllowed)?
 */
extern bool yq_queue_may_use_killable(const YqCluster *cluster, const YqClusterQueue *leaf, int label);

/* Return the guarantee of a queue on a label. */
extern const int64 *yq_queue_guarantee(const YqClusterQueue *queue, int label);

/*
 * May any container be assigned in the queue?  The queue is below its limit, or would
 * be without the reservations of "unreservable".  Sets the headroom.
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

/* Note that an application of the user has got all its requests. */
extern void yq_user_note_satisfied(const YqCluster *cluster, YqClusterUser *user);

/*
 * Return the user's limit on a label (semantics/allocation 3.2), valid until the usage
 * of a user of the leaf changes.
 */
extern const int64 *yq_user_limit(const YqCluster *cluster, YqClusterUser *user, int label,
								  YqSchedulingMode mode);

/*
 * Is the user below the limit, so that the application may get a container
 * (semantics/allocation 3.3)?  Sets the amounts that have to be unreserved for it.
 */
extern bool yq_user_may_assign(const YqCluster *cluster, const YqClusterApplication *application,
							   int label, YqSchedulingMode mode, YqLimits *limits);

#endif							/* YQ_LIMITS_H */
