/*-------------------------------------------------------------------------
 *
 * record_preemption.h
 *	  Writing down a round of preemption (semantics/preemption 8).
 *
 * A killed container ends by an event in container_event, so that charging ends, too.
 * It is looked at once more before: one that has ended, grown or moved since the round
 * computed is not ended, and neither is one that another transaction is changing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_PREEMPTION_H
#define YQ_RECORD_PREEMPTION_H

#include "preemption/load_preemption.h"

/* A computed figure as a resource: the default calculator computes memory, and leaves of the rest what comes about. */
extern Datum yq_preemption_figure(const YqHierarchy *hierarchy, const int64 *amounts);

/* A reservation that is given up is not marked or killed as well. */
extern bool yq_preemption_is_told(const YqPreemptionOutcome *outcome);

/*
 * Write the outcomes of a round, what is forgotten, and its time.  Called under the
 * scheduler's lock; no round and no change of the configuration has been committed since
 * it was loaded.  Returns, per outcome, whether it came about: a container has not, if it
 * was not as the round knew it.
 */
extern bool *yq_preemption_record(YqLoadedPreemption *preemption);

#endif							/* YQ_RECORD_PREEMPTION_H */
