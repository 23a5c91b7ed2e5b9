/*-------------------------------------------------------------------------
 *
 * put_back_requests.h
 *	  Requests of containers that were killed before their applications had them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PUT_BACK_REQUESTS_H
#define YQ_PUT_BACK_REQUESTS_H

#include "admission/queue_lock.h"
#include "scheduler/preemption/load_preemption.h"

/*
 * Before they end: the labels that were asked for of those containers among the
 * outcomes of a round whose starts the resource manager has not acknowledged yet, by
 * outcome, and NULL for others; NULL when there are none.  Adds their leaves to the
 * locks that the caller is to take.
 */
extern const char **yq_preemption_find_unfetched(const YqPreemption *state, YqQueueLocks *locks);

/*
 * Once they have ended, ask for those that are done once more, and forget the decisions
 * that gave them out (preemption 8; RMContainerImpl, AppSchedulingInfo).  Containers of
 * application masters, and of applications that are not ACTIVE, are not asked for.
 */
extern void yq_preemption_put_back(const YqPreemption *state, const char *const *asked_labels, const bool *is_done);

#endif							/* YQ_PUT_BACK_REQUESTS_H */
