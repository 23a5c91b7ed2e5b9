/*-------------------------------------------------------------------------
 *
 * activation.h
 *	  The waiting applications of a leaf queue that may start their application
 *	  masters (semantics/placement 4.1, with the limits of 4.5).
 *
 * Pure decisions: the caller changes states, under the lock of the leaf.
 *
 * As in the CapacityScheduler, an application that does not fit does not hold
 * up those behind it; the user limit computed for the first user on a partition
 * serves all others in the same round; limits are ignored while the queue has no
 * active application, or no application master on the partition.
 *
 * As in a running Hadoop, the active users (yq_leaf_active_users) are those
 * before the application came or left that causes the round
 * (yq_leaf_keep_active_users).  The scheduler counts active users after its
 * decision.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ACTIVATION_H
#define YQ_ACTIVATION_H

#include "admission/application/leaf_usage.h"

typedef enum YqActivationOutcome
{
	YQ_ACTIVATION_ACTIVATE,
	YQ_ACTIVATION_EMPTY_CLUSTER,	/* nothing to start a newcomer on */
	YQ_ACTIVATION_AM_LIMIT,
	YQ_ACTIVATION_USER_AM_LIMIT
} YqActivationOutcome;

typedef struct YqActivation
{
	YqApplication *application;
	YqActivationOutcome outcome;
	bool		ignores_limit;	/* activated though a limit is too low for it */
	/*
	 * The limit that holds it, native units per type; NULL when it is activated
	 * or the cluster is empty.
	 */
	const int64 *used;			/* by application masters of the queue or of the user */
	const int64 *limit;
} YqActivation;

/*
 * Whether a round could activate an application; newcomer as for
 * yq_activation_decide(), may have no row yet.  False only when certainly no
 * waiting application fits, so that they need not be read: not even the
 * smallest one, for the user with most room.  The applications have been noted
 * in the leaf (yq_leaf_note).
 */
extern bool yq_activation_may_succeed(YqLeafUsage *leaf, const YqApplication *newcomer);

/*
 * Decide about ACCEPTED applications of a leaf, which are given in order, and
 * are noted in the leaf. newcomer is the one that causes the round: it was
 * submitted or moved here, or became runnable.  It is NULL when an application
 * has left, or the cluster or the configuration has changed.  A round for a
 * newcomer activates nothing in an empty cluster.
 *
 * Returns YqActivation, one for each, in the same order.  Activated ones have
 * been noted as ACTIVE in the leaf; neither they nor their rows are changed.
 */
extern List *yq_activation_decide(YqLeafUsage *leaf, List *applications, const YqApplication *newcomer);

/*
 * Decide about the waiting applications of a leaf, with a newcomer (may be NULL) that
 * has no row yet: YqActivation of those that may start, and the one that holds the
 * newcomer in *held.
 */
extern List *yq_leaf_activate(YqLeafUsage *leaf, YqApplication *newcomer, YqActivation **held);

/* am_limit, user_am_limit or empty_cluster; NULL for YQ_ACTIVATION_ACTIVATE. */
extern const char *yq_activation_limit_name(YqActivationOutcome outcome);

/* Why it waits, in words with figures, palloc'd; NULL when it is activated. */
extern char *yq_activation_reason(const YqLeafUsage *leaf, const YqActivation *activation);

#endif							/* YQ_ACTIVATION_H */
