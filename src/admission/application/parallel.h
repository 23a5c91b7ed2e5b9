/*-------------------------------------------------------------------------
 *
 * parallel.h
 *	  How many applications may run at once: max-parallel-apps of queues and of
 *	  users (semantics/placement 3.6).
 *
 * Running are those that are ACCEPTED or ACTIVE.  Those of a queue are counted
 * with all queues below it, those of a user over the whole cluster.  They are
 * counted in yquota_internal.application_counter as leaf_usage.h says.
 *
 * Pure decisions.  They hold as long as the caller locks all queues and users
 * with a limit to which the applications belong.  yq_parallel_limited_queues()
 * and yq_parallel_user_limit() return these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PARALLEL_H
#define YQ_PARALLEL_H

#include "admission/application/application.h"
#include "queues/hierarchy.h"

/* When there is no limit. */
#define YQ_UNLIMITED PG_INT32_MAX

typedef struct YqParallelDecision
{
	bool		may_run;
	const YqQueue *queue;		/* the queue with the reached limit; NULL for the user's limit */
	int64		running;
	int			limit;
} YqParallelDecision;

/* How many may run at once; YQ_UNLIMITED when nothing is configured. */
extern int	yq_parallel_queue_limit(const YqQueue *queue);
extern int	yq_parallel_user_limit(const char *username);

/* The queue and those above it that have a limit (YqQueue), root first. */
extern List *yq_parallel_limited_queues(const YqQueue *queue);

/*
 * May one more application of a user run in a leaf?  The user's limit is checked
 * first, then those of queues from the leaf up.
 */
extern YqParallelDecision yq_parallel_decide(const YqHierarchy *hierarchy, const YqQueue *leaf,
											 const char *username);

/*
 * Held applications (YqApplication, in order of submission) that could become
 * runnable when a running one of the user leaves the leaf: no others need be
 * locked for yq_parallel_after_end().  Costs nothing where there is no limit.
 */
extern List *yq_parallel_candidates(const YqHierarchy *hierarchy, const YqQueue *leaf,
									const char *username);

/*
 * Held applications (YqApplication) that become runnable, in order: when a running
 * one of the user has left the leaf and is not counted any more, and when limits
 * have changed.  After each one the caller runs a round of activation in its leaf.
 */
extern List *yq_parallel_after_end(const YqHierarchy *hierarchy, const YqQueue *leaf,
								   const char *username);
extern List *yq_parallel_after_refresh(const YqHierarchy *hierarchy);

#endif							/* YQ_PARALLEL_H */
