/*-------------------------------------------------------------------------
 *
 * unfetched_containers.h
 *	  Containers that are preempted before their applications have had them.
 *
 * A container that is allocated takes one off the counts of its request: for its node, its
 * rack and anywhere, as far as it is local.  When it is killed before its start is
 * acknowledged, they get it back (semantics/preemption 8; RMContainerImpl's
 * ContainerRescheduledTransition, AppSchedulingInfo).  Containers of application masters,
 * and of applications that are not ACTIVE, are not asked for again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_UNFETCHED_CONTAINERS_H
#define YQ_UNFETCHED_CONTAINERS_H

#include "scheduler/record/preempted_containers.h"

/* What is known of a container before it ends. */
typedef struct YqUnfetchedContainer
{
	bool		is_unfetched;	/* its start is not acknowledged; the rest is of such only */
	const char *asked_label;	/* NULL: not to be asked for again */
} YqUnfetchedContainer;

/* Before they end: which ones are unfetched, by container; NULL when none is. */
extern YqUnfetchedContainer *yq_unfetched_containers_find(const YqPreemptedContainers *containers);

/*
 * Once they have ended, ask for the unfetched ones among those that did once more, and
 * forget the decisions that gave them out.  The caller holds the locks of their leaves, and
 * has told the journal that its statements are the scheduler's own (scheduler_journal.h);
 * this notes the applications.  Returns whether there are any.
 */
extern bool yq_unfetched_containers_put_back(const YqPreemptedContainers *containers,
											 const YqUnfetchedContainer *unfetched, const bool *is_ended);

#endif							/* YQ_UNFETCHED_CONTAINERS_H */
