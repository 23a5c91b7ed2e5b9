/*-------------------------------------------------------------------------
 *
 * parallel.h
 *	  Limits of the number of applications that run at once: max-parallel-apps of queues
 *	  and of users (semantics/placement 3.6).
 *
 * An application runs while it is ACCEPTED or ACTIVE.  Applications of a queue are
 * counted with all queues below it, applications of a user over the whole cluster.  The
 * counts come from yquota_internal.application_counter as leaf_usage.h says.
 *
 * Functions only decide.  A decision stays true while the caller locks all queues and
 * users with a limit to which the applications belong. yq_parallel_limited_queues() and
 * yq_parallel_user_limit() return these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PARALLEL_H
#define YQ_PARALLEL_H

#include "admission/application/application.h"
#include "queues/hierarchy.h"

/* Stands for a missing limit. */
#define YQ_UNLIMITED PG_INT32_MAX

typedef struct YqParallelDecision
{
	bool		may_run;
	const YqQueue *queue;		/* the queue with the reached limit; NULL for the user's limit */
	int64		running;
	int			limit;
} YqParallelDecision;

/* Return how many applications may run at once; YQ_UNLIMITED when not configured. */
extern int	yq_parallel_queue_limit(const YqQueue *queue);
extern int	yq_parallel_user_limit(const char *username);

/* Return the queue and the queues above it that have a limit (YqQueue), root first. */
extern List *yq_parallel_limited_queues(const YqQueue *queue);

/*
 * May another application of a user run in a leaf?  The user's limit is checked first,
 * then those of queues from the leaf up.
 */
extern YqParallelDecision yq_parallel_decide(const YqHierarchy *hierarchy, const YqQueue *leaf,
											 const char *username);

/*
 * Return held applications (YqApplication, in order of submission) that could become
 * runnable when a running application of the user leaves the leaf.  The caller need
 * lock no others for yq_parallel_after_end().  The call costs nothing where there is no
 * limit.
 */
extern List *yq_parallel_candidates(const YqHierarchy *hierarchy, const YqQueue *leaf,
									const char *username);

/*
 * Return the held applications (YqApplication) that become runnable, in order.  The
 * first function serves after a running application of the user has left the leaf and
 * is not counted any more.  The second serves after a change of limits.  After each
 * application the caller runs a round of activation in its leaf.
 */
extern List *yq_parallel_after_end(const YqHierarchy *hierarchy, const YqQueue *leaf,
								   const char *username);
extern List *yq_parallel_after_refresh(const YqHierarchy *hierarchy);

#endif							/* YQ_PARALLEL_H */
