/*-------------------------------------------------------------------------
 *
 * limits.h
 *	  What queues and users may use in an allocation pass (cs-semantics 4, 5.3).
 *
 * Limits of a queue are handed down from its parent, and are what its
 * applications are compared with: they live as long as one walk through the
 * hierarchy.  Limits of users follow from sums that are kept as containers come
 * and go, and are computed when one of them has changed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LIMITS_H
#define YQ_LIMITS_H

#include "scheduler/state/cluster.h"

/* On the stack; amounts for as many types as the calculator has are set. */
typedef struct YqLimits
{
	int64		limit[YQ_MAX_RESOURCE_TYPES];	/* of what is used, by the queue's parents */
	int64		headroom[YQ_MAX_RESOURCE_TYPES];	/* what is left below all limits; may be negative */
	int64		blocked[YQ_MAX_RESOURCE_TYPES]; /* kept for children that want more than they may have yet */
	int64		to_unreserve[YQ_MAX_RESOURCE_TYPES];	/* what a user has to give up first */
} YqLimits;

/* Nothing is blocked, and there is no headroom yet. */
extern void yq_limits_set(const YqCluster *cluster, YqLimits *limits, const int64 *limit);

/*
 * left := what the children of a parent may use more than they do.  The parent's own
 * limit is lowered to what its configuration allows.
 */
extern void yq_limits_set_left(const YqCluster *cluster, const YqClusterQueue *parent, int label,
							   YqLimits *limits, int64 *left);

/* Limits of a child whose parent has that left. */
extern void yq_limits_set_of_child(const YqCluster *cluster, const YqClusterQueue *child, int label,
								   const int64 *left, YqLimits *of_child);

/* What is kept for a queue that may not use as much as it wants, once it was walked; never negative. */
extern const int64 *yq_limits_kept(const YqCluster *cluster, const YqClusterQueue *queue, const YqLimits *limits);

/*
 * May anything be assigned in the queue: does it use less than it may, or would
 * it, without the reservations of "unreservable"?  Sets the headroom.
 */
extern bool yq_queue_may_assign(const YqCluster *cluster, const YqClusterQueue *queue, int label,
								YqSchedulingMode mode, const int64 *unreservable, YqLimits *limits);

/* So many containers more (or less) are wanted by an application, on a label. */
extern void yq_pending_change(const YqCluster *cluster, YqClusterApplication *application, int label,
							  const int64 *amounts, int64 count);

/* Add up what the users of a leaf use, from the beginning. */
extern void yq_users_sum_up(const YqCluster *cluster, YqClusterQueue *leaf);

/* A user uses amounts more of a label, or, with sign -1, less. */
extern void yq_user_change_usage(const YqCluster *cluster, YqClusterUser *user, int label,
								 const int64 *amounts, int sign);

/* An application of the user has got all it asked for. */
extern void yq_user_note_satisfied(const YqCluster *cluster, YqClusterUser *user);

/* What the user may use of a label (cs-semantics 4.2), until somebody of the leaf uses more or less. */
extern const int64 *yq_user_limit(const YqCluster *cluster, YqClusterUser *user, int label,
								  YqSchedulingMode mode);

/*
 * May the user's application be assigned anything below his limit (cs-semantics
 * 4.3)?  Sets what has to be unreserved for it.
 */
extern bool yq_user_may_assign(const YqCluster *cluster, const YqClusterApplication *application,
							   int label, YqSchedulingMode mode, YqLimits *limits);

#endif							/* YQ_LIMITS_H */
