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
 * yq_parallel_limited_queues() and yq_parallel_user_limit() find these queues and
 * users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PARALLEL_H
#define YQ_PARALLEL_H

#include "admission/application/application.h"
#include "queues/hierarchy.h"

/* Value of a limit that is not set. */
#define YQ_UNLIMITED PG_INT32_MAX

typedef struct YqParallelDecision
{
	bool		may_run;
	const YqQueue *queue;		/* queue whose limit is reached; NULL: the user's limit is reached */
	int64		running;
	int			limit;
} YqParallelDecision;

/* Return the limit on running applications of the queue or the user.  YQ_UNLIMITED means that none is set. */
extern int	yq_parallel_queue_limit(const YqQueue *queue);
extern int	yq_parallel_user_limit(const char *username);

/* Return the queues on the way from root to this queue that have a limit: YqQueue *, topmost first. */
extern List *yq_parallel_limited_queues(const YqQueue *queue);

/*
 * May another application of the user run in the leaf?  The user's limit is checked
 * first, then the limits of the queues from the leaf upwards.
 */
extern YqParallelDecision yq_parallel_decide(const YqHierarchy *hierarchy, const YqQueue *leaf,
											 const char *username);

/*
 * Return the held applications that could become runnable when a running application of the user
 * leaves the leaf: YqApplication *, in order of submission.  yq_parallel_after_end() returns only
 * applications of this list.  The caller therefore locks only queues and users of these
 * applications before it calls that function.  If no limit is set, the function reads nothing.
 */
extern List *yq_parallel_candidates(const YqHierarchy *hierarchy, const YqQueue *leaf,
									const char *username);

/*
 * Return the held applications that become runnable: YqApplication *, in order.
 * yq_parallel_after_end() is for a running application of the user that has left the
 * leaf and is no longer counted.  yq_parallel_after_refresh() is for a change of
 * limits.  For each returned application, the caller runs a round of activation in its
 * leaf.
 */
extern List *yq_parallel_after_end(const YqHierarchy *hierarchy, const YqQueue *leaf,
								   const char *username);
extern List *yq_parallel_after_refresh(const YqHierarchy *hierarchy);

#endif							/* YQ_PARALLEL_H */
