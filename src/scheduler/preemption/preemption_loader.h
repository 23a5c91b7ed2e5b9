/*-------------------------------------------------------------------------
 *
 * preemption_loader.h
 *	  Leaves of a round of preemption with their applications and containers: for
 *	  load_preemption.c alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_LOADER_H
#define YQ_PREEMPTION_LOADER_H

#include "scheduler/preemption/load_preemption.h"

/* Have the state call back for leaves; queues are added. */
extern void yq_preemption_loader_begin(YqLoadedPreemption *preemption);

/* The queue of the state that a queue of the hierarchy is; NULL for one that is not in the tree. */
extern YqPreemptionQueue *yq_preemption_loader_queue(const YqLoadedPreemption *preemption, const YqQueue *queue);

/*
 * The order of the containers of an application: by attempt, then by number, as their ids
 * end with both.  0 for an id that ends otherwise.
 */
extern int64 yq_preemption_container_number(const char *container_id);

/* Rank the containers of an application by the credits that they have cost so far. */
extern void yq_price_candidates(YqPreemption *state, YqPreemptionApplication *application);

#endif							/* YQ_PREEMPTION_LOADER_H */
