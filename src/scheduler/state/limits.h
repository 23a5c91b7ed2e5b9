/*-------------------------------------------------------------------------
 *
 * limits.h
 *	  Limits of queues and users in an allocation cycle (semantics/allocation 2, 3).
 *
 * Limits of a queue come from its parent, and its applications are compared
 * with them: they live as long as one allocation attempt.  Limits of users
 * follow from sums that are kept as containers come and go, and are computed
 * when one of them has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LIMITS_H
#define YQ_LIMITS_H

#include "scheduler/state/cluster.h"

/* On the stack; amounts for as many types as the calculator has are set. */
typedef struct YqLimits
{
	int64		limit[YQ_MAX_RESOURCE_TYPES];	/* of the usage, by the queue's parents */
	int64		headroom[YQ_MAX_RESOURCE_TYPES];	/* the remaining amount below all limits; may be negative */
	int64		blocked[YQ_MAX_RESOURCE_TYPES]; /* kept for children that want more than they may have yet */
	int64		to_unreserve[YQ_MAX_RESOURCE_TYPES];	/* the amount that a user must unreserve first */
	bool		uses_killable;	/* leaves: may use the room of killable containers */
} YqLimits;

/* Nothing is blocked, there is no headroom yet, and only free room may be used. */
extern void yq_limits_set(const YqCluster *cluster, YqLimits *limits, const int64 *limit);

/*
 * left := the amount that the children of a parent may use in addition, in place of
 * the usage of killable containers, too.  The parent's own limit is lowered to the
 * one that its configuration allows.
 */
extern void yq_limits_set_left(const YqCluster *cluster, const YqClusterQueue *parent, int label,
							   YqLimits *limits, int64 *left);

/* Limits of a child whose parent has that left. */
extern void yq_limits_set_of_child(const YqCluster *cluster, const YqClusterQueue *child, int label,
								   const int64 *left, YqLimits *of_child);

/*
 * The amount kept for a queue that may not use as much as it wants, after it
 * was searched; never negative.
 */
extern const int64 *yq_limits_kept(const YqCluster *cluster, const YqClusterQueue *queue, const YqLimits *limits);

/*
 * What counts of a queue's usage: a parent's is without killable containers, since its
 * children may take their room; a leaf cannot preempt itself (AbstractCSQueue).
 */
extern void yq_queue_set_counted(const YqCluster *cluster, const YqClusterQueue *queue, int label, int64 *counted);

/*
 * May a leaf use the room of killable containers: does it use less than its guarantee
 * of the label (AbstractLeafQueue.setPreemptionAllowed)?
 */
extern bool yq_queue_may_use_killable(const YqCluster *cluster, const YqClusterQueue *leaf, int label);

/* The guarantee of a queue on a label. */
extern const int64 *yq_queue_guarantee(const YqClusterQueue *queue, int label);

/*
 * May anything be assigned in the queue: does it use less than it may, or would
 * it, without the reservations of "unreservable"?  Sets the headroom.
 */
extern bool yq_queue_may_assign(const YqCluster *cluster, const YqClusterQueue *queue, int label,
								YqSchedulingMode mode, const int64 *unreservable, YqLimits *limits);

/* So many containers more (or less) are wanted by an application, on a label. */
extern void yq_pending_change(const YqCluster *cluster, YqClusterApplication *application, int label,
							  const int64 *amounts, int64 count);

/* Compute the sums of usage of a leaf's users. */
extern void yq_users_sum_up(const YqCluster *cluster, YqClusterQueue *leaf);

/* A user uses amounts more of a label, or, with sign -1, less. */
extern void yq_user_change_usage(const YqCluster *cluster, YqClusterUser *user, int label,
								 const int64 *amounts, int sign);

/* An application of the user has got all it asked for. */
extern void yq_user_note_satisfied(const YqCluster *cluster, YqClusterUser *user);

/*
 * The user's limit on a label (semantics/allocation 3.2), valid until the usage of a
 * user of the leaf changes.
 */
extern const int64 *yq_user_limit(const YqCluster *cluster, YqClusterUser *user, int label,
								  YqSchedulingMode mode);

/*
 * May the user's application be assigned anything below his limit
 * (semantics/allocation 3.3)?  Sets the amounts that have to be unreserved for it.
 */
extern bool yq_user_may_assign(const YqCluster *cluster, const YqClusterApplication *application,
							   int label, YqSchedulingMode mode, YqLimits *limits);

#endif							/* YQ_LIMITS_H */
