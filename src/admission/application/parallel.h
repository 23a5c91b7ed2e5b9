/*-------------------------------------------------------------------------
 *
 * parallel.h
 *	  Limits of the number of applications that run at the same time: max-parallel-apps
 *	  of queues and of users (semantics/placement 3.6).
 *
 * An application runs while it is ACCEPTED or ACTIVE.  The applications of a queue
 * include those of all its descendants; the applications of a user are counted over the
 * whole cluster. The counts come from yquota_internal.application_counter as
 * leaf_usage.h says.
 *
 * The functions only decide.  A decision stays true while the caller locks all queues
 * and users that have a limit and to which the applications belong.
 * yq_parallel_limited_queues() and yq_parallel_user_limit() return these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PARALLEL_H
#define YQ_PARALLEL_H

#include "admission/application/application.h"
#include "queues/hierarchy.h"

/* Value for a limit that is not set. */
#define YQ_UNLIMITED PG_INT32_MAX

typedef struct YqParallelDecision
{
	bool		may_run;
	const YqQueue *queue;		/* the queue whose limit is reached; NULL: the user's limit is reached */
	int64		running;
	int			limit;
} YqParallelDecision;

/* Return how many applications may run at the same time; YQ_UNLIMITED when not configured. */
extern int	yq_parallel_queue_limit(const YqQueue *queue);
extern int	yq_parallel_user_limit(const char *username);

/* Return those queues among the queue and its ancestors that have a limit (YqQueue), root first. */
extern List *yq_parallel_limited_queues(const YqQueue *queue);

/*
 * May another application of a user run in a leaf?  The user's limit is checked first,
 * then the limits of queues from the leaf upwards.
 */
extern YqParallelDecision yq_parallel_decide(const YqHierarchy *hierarchy, const YqQueue *leaf,
											 const char *username);

/*
 * Return the held applications (YqApplication, in order of submission) that could
 * become runnable when a running application of the user leaves the leaf.  Before
 * yq_parallel_after_end(), the caller has to lock only these.  Without a limit the call
 * costs nothing.
 */
extern List *yq_parallel_candidates(const YqHierarchy *hierarchy, const YqQueue *leaf,
									const char *username);

/*
 * Return the held applications (YqApplication) that become runnable, in order.  The
 * caller uses the first function after a running application of the user has left the
 * leaf and no longer counts.  It uses the second function after a change of limits.
 * After each application, the caller runs a round of activation in its leaf.
 */
extern List *yq_parallel_after_end(const YqHierarchy *hierarchy, const YqQueue *leaf,
								   const char *username);
extern List *yq_parallel_after_refresh(const YqHierarchy *hierarchy);

#endif							/* YQ_PARALLEL_H */
