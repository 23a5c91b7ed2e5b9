/*-------------------------------------------------------------------------
 *
 * activation.h
 *	  Which waiting applications of a leaf queue may start their application
 *	  masters (cs-semantics 3.7, with the limits of 4.5).
 *
 * Pure decisions: the caller changes states, under the lock of the leaf.
 *
 * As in the CapacityScheduler, an application that does not fit holds up nobody
 * behind it; the user limit computed for the first user on a partition serves
 * all others in the same pass; limits are ignored while the queue has no active
 * application, or no application master on the partition.
 *
 * Of what a running Hadoop remembers, one thing is as it is there: the active
 * users (yq_leaf_active_users) are those of before the application came, or the
 * one left, that is the reason for the pass (yq_leaf_keep_active_users), since the
 * scheduler counts them when it has decided, not before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ACTIVATION_H
#define YQ_ACTIVATION_H

#include "admission/leaf.h"

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
	/* What holds it, native units per type; NULL when it is activated or the cluster is empty. */
	const int64 *used;			/* by application masters of the queue or of the user */
	const int64 *limit;
} YqActivation;

/*
 * Whether a pass could activate anything; newcomer as for yq_activation_decide(),
 * may have no row yet.  False only when it is certain that none of the waiting
 * applications fits, so that they need not be read: not the least of them, and
 * not for the user who has most room.  They have been noted in the leaf
 * (yq_leaf_note).
 */
extern bool yq_activation_may_succeed(YqLeaf *leaf, const YqApplication *newcomer);

/*
 * Decide about ACCEPTED applications of a leaf, which are given in order, and are
 * noted in the leaf.  newcomer is the one among them whose coming is the reason
 * for the pass: it has been submitted or moved here, or become runnable.  NULL
 * when something else is: an application has left, or the cluster or the
 * configuration has changed.  A pass for a newcomer activates nothing while the
 * cluster has nothing.
 *
 * Returns YqActivation, one for each, in the same order.  Activated ones have
 * been noted as ACTIVE in the leaf; neither they nor their rows are changed.
 */
extern List *yq_activation_decide(YqLeaf *leaf, List *applications, const YqApplication *newcomer);

/*
 * Decide about the waiting applications of a leaf, with a newcomer (may be NULL) that
 * has no row yet: YqActivation of those that may start, and the one that holds the
 * newcomer in *held.
 */
extern List *yq_leaf_activate(YqLeaf *leaf, YqApplication *newcomer, YqActivation **held);

/* am_limit, user_am_limit or empty_cluster; NULL for YQ_ACTIVATION_ACTIVATE. */
extern const char *yq_activation_limit_name(YqActivationOutcome outcome);

/* Why it waits, in words with figures, palloc'd; NULL when it is activated. */
extern char *yq_activation_reason(const YqLeaf *leaf, const YqActivation *activation);

#endif							/* YQ_ACTIVATION_H */
