/*-------------------------------------------------------------------------
 *
 * activation.h
 *	  Activation of the waiting applications of a leaf queue that may start their
 *	  application masters (semantics/placement 4.1, with the limits of 4.5).
 *
 * The functions only decide; the caller changes states, under the lock of the leaf.
 *
 * The rules are the CapacityScheduler's.  An application that does not fit does not
 * block the applications behind it.  The user limit that is computed for the first user
 * on a partition applies to all other users in the same round.  Limits are ignored
 * while the queue has no active application, or no application master on the partition.
 *
 * A round is caused by an application that enters or leaves the leaf.  As in a running
 * Hadoop, the round counts the active users (yq_leaf_active_users) that the leaf had
 * before (yq_leaf_keep_active_users).  The scheduler counts active users only after its
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
	YQ_ACTIVATION_EMPTY_CLUSTER,	/* no node exists on which a newcomer could start */
	YQ_ACTIVATION_AM_LIMIT,
	YQ_ACTIVATION_USER_AM_LIMIT
} YqActivationOutcome;

typedef struct YqActivation
{
	YqApplication *application;
	YqActivationOutcome outcome;
	bool		ignores_limit;	/* activated although a limit is too low for the application */
	/*
	 * The limit that holds the application, in native units per type.  NULL when the
	 * application is activated or the cluster is empty.
	 */
	const int64 *used;			/* resources used by application masters of the queue or of the user */
	const int64 *limit;
} YqActivation;

/*
 * Could a round activate an application? newcomer has the same meaning as in
 * yq_activation_decide(), but need not have a row.  The result is false only if
 * certainly no waiting application fits, not even the smallest one for the user with
 * the most room.  The caller then need not read the applications.  They must have been
 * noted in the leaf (yq_leaf_note).
 */
extern bool yq_activation_may_succeed(YqLeafUsage *leaf, const YqApplication *newcomer);

/*
 * Decide about the ACCEPTED applications of a leaf, which are given in order and have
 * been noted in the leaf. newcomer is the application that causes the round: it was
 * submitted or moved here, or became runnable.  It is NULL when an application has
 * left, or when the cluster or the configuration has changed.  A round for a newcomer
 * activates nothing in an empty cluster.
 *
 * Returns a YqActivation for each application, in the same order.  Activated
 * applications are noted as ACTIVE in the leaf, but neither the applications nor their
 * rows are changed.
 */
extern List *yq_activation_decide(YqLeafUsage *leaf, List *applications, const YqApplication *newcomer);

/*
 * Decide about the waiting applications of a leaf, with a newcomer (may be NULL) that
 * has no row yet.  Returns YqActivation of the applications that may start.  Sets *held
 * to the activation that holds the newcomer.
 */
extern List *yq_leaf_activate(YqLeafUsage *leaf, YqApplication *newcomer, YqActivation **held);

/* Return am_limit, user_am_limit or empty_cluster; NULL for YQ_ACTIVATION_ACTIVATE. */
extern const char *yq_activation_limit_name(YqActivationOutcome outcome);

/* Return the reason why the application waits, with figures, palloc'd.  Returns NULL when it is activated. */
extern char *yq_activation_reason(const YqLeafUsage *leaf, const YqActivation *activation);

#endif							/* YQ_ACTIVATION_H */
