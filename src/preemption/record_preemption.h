/*-------------------------------------------------------------------------
 *
 * record_preemption.h
 *	  Writes a round of preemption to the tables (semantics/preemption 8).
 *
 * A killed container ends by an event in container_event, so that its charging ends,
 * too.  Before that, the container is read again.  It is not ended if it has ended,
 * grown or moved since the round computed, or if another transaction is changing it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_PREEMPTION_H
#define YQ_RECORD_PREEMPTION_H

#include "preemption/load_preemption.h"

/*
 * Return computed amounts as a resource.  The default calculator computes only memory;
 * the amounts of other types are by-products.
 */
extern Datum yq_preemption_figure(const YqHierarchy *hierarchy, const int64 *amounts);

/*
 * Does a decision report the outcome?  A reservation that is given up is not reported
 * as marked or killed, too.
 */
extern bool yq_preemption_is_told(const YqPreemptionOutcome *outcome);

/*
 * Write the outcomes of a round, the forgotten marks, and the time of the round.  The
 * caller holds the scheduler's lock, and no round and no change of the configuration
 * has been committed since the state was loaded.  Returns, per outcome, whether it took
 * effect.  It did not if the container has changed since the round computed.
 */
extern bool *yq_preemption_record(YqLoadedPreemption *preemption);

#endif							/* YQ_RECORD_PREEMPTION_H */
