/*-------------------------------------------------------------------------
 *
 * activation.h
 *	  Activation of the waiting applications of a leaf queue that may start their
 *	  application masters (semantics/placement 4.1, with the limits of 4.2 and 4.3).
 *
 * The functions only decide; the caller changes states, under the lock of the leaf.
 *
 * The rules are those of the CapacityScheduler.  An application that does not fit does
 * not block the applications that follow it.  The user limit that is computed for the
 * first user on a partition applies to all other users in the same round.  Limits are
 * ignored while the queue has no active application, or no application master on the
 * partition.
 *
 * A round is caused by an application that enters or leaves the leaf.  As in a running
 * Hadoop, the round uses the number of active users (yq_leaf_active_users) that the
 * leaf had before this change (yq_leaf_keep_active_users).  Hadoop's scheduler counts
 * active users again only after its decision.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ACTIVATION_H
#define YQ_ACTIVATION_H

#include "admission/application/leaf_usage.h"

typedef enum YqActivationOutcome
{
	YQ_ACTIVATION_ACTIVATE,
	YQ_ACTIVATION_EMPTY_CLUSTER,	/* there is no node on which the newcomer could start */
	YQ_ACTIVATION_AM_LIMIT,
	YQ_ACTIVATION_USER_AM_LIMIT
} YqActivationOutcome;

typedef struct YqActivation
{
	YqApplication *application;
	YqActivationOutcome outcome;
	bool		ignores_limit;	/* activated although its resources exceed a limit */
	/*
	 * The limit that the application exceeds, and the resources that are used already, in
	 * native units per type.  Both members are NULL if the application was activated or if
	 * the cluster is empty.
	 */
	const int64 *used;			/* resources that application masters of the queue or of the user already use */
	const int64 *limit;
} YqActivation;

/*
 * Could a round of activation activate an application?  "newcomer" is as in
 * yq_activation_decide(), but may have no row yet.  The result is false only if
 * certainly no waiting application fits: the user with the most room could not even
 * start the smallest one.  The caller then need not read the applications.  The waiting
 * applications must have been counted with yq_leaf_note().
 */
extern bool yq_activation_may_succeed(YqLeafUsage *leaf, const YqApplication *newcomer);

/*
 * Decide about the ACCEPTED applications of a leaf.  The applications are given in
 * order, and have been counted with yq_leaf_note().  "newcomer" is the application that
 * causes the round.  It was submitted, was moved here, or became runnable.  It is NULL
 * if the round has another cause: an application has left, or the cluster or the
 * configuration has changed.  A round for a newcomer activates nothing in an empty
 * cluster.
 *
 * Returns a YqActivation for each application, in the same order.  An activated
 * application is counted as ACTIVE in the leaf.  The YqApplication and its row keep
 * their state.
 */
extern List *yq_activation_decide(YqLeafUsage *leaf, List *applications, const YqApplication *newcomer);

/*
 * Decide about the waiting applications of a leaf and a newcomer that has no row yet.
 * The newcomer may be NULL.  Returns a YqActivation for each application that may
 * start.  If the newcomer has to wait, sets *held to its YqActivation.
 */
extern List *yq_leaf_activate(YqLeafUsage *leaf, YqApplication *newcomer, YqActivation **held);

/* Return the limit's name: am_limit, user_am_limit or empty_cluster, or NULL for YQ_ACTIVATION_ACTIVATE. */
extern const char *yq_activation_limit_name(YqActivationOutcome outcome);

/*
 * Return the reason why the application waits, with figures, palloc'd.  The result is
 * NULL if it was activated.
 */
extern char *yq_activation_reason(const YqLeafUsage *leaf, const YqActivation *activation);

#endif							/* YQ_ACTIVATION_H */
