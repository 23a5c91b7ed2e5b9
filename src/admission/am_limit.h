/*-------------------------------------------------------------------------
 *
 * am_limit.h
 *	  How much application masters may use of a leaf queue (cs-semantics 4.5).
 *
 * The queue's limit in the default partition, which usage elsewhere lessens,
 * counts for the queue where it is larger than the guarantee; a user's limit is
 * a part of the guarantee.  Amounts are palloc'd, in native units.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_AM_LIMIT_H
#define YQ_AM_LIMIT_H

#include "queues/hierarchy.h"

/* The limit of a queue on a label by its guarantee alone: never more than the next one. */
extern int64 *yq_queue_guaranteed_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label);

/* The limit of a queue on a label by the queue limit that other queues leave (yq_queue_limit()). */
extern int64 *yq_queue_am_limit(const YqHierarchy *hierarchy, const YqQueueLabel *label,
								const int64 *limit);

/*
 * Of a user with a weight, of so many active ones (none are as one), before it is
 * cut down to the queue's, which the next one does.
 */
extern int64 *yq_user_share_of_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
										const YqQueueLabel *label, float4 weight, int active_users);
extern int64 *yq_user_am_limit(const YqHierarchy *hierarchy, const YqQueue *queue,
							   const YqQueueLabel *label, float4 weight, int active_users,
							   const int64 *queue_am_limit);

#endif							/* YQ_AM_LIMIT_H */
