/*-------------------------------------------------------------------------
 *
 * record_preemption.h
 *	  Writes down a round of preemption (semantics/preemption 8).
 *
 * A killed container ends by an event in container_event, so that its charging ends, too.  The
 * container is read once more before: one that has ended, grown or moved since the round computed
 * does not end.  A container that another transaction is changing does not end either.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_PREEMPTION_H
#define YQ_RECORD_PREEMPTION_H

#include "preemption/load_preemption.h"

/*
 * Return computed amounts as a resource: the default calculator computes memory, and other types
 * keep their by-products.
 */
extern Datum yq_preemption_figure(const YqHierarchy *hierarchy, const int64 *amounts);

/* Tell whether an outcome is told: a reservation that is given up is not marked or killed as well. */
extern bool yq_preemption_is_told(const YqPreemptionOutcome *outcome);

/*
 * Write the outcomes of a round, the forgotten marks, and its time.  The caller holds the
 * scheduler's lock, and no round and no change of the configuration has been committed since the
 * state was loaded.  Returns, per outcome, whether it came about: it did not for a container that
 * has changed since.
 */
extern bool *yq_preemption_record(YqLoadedPreemption *preemption);

#endif							/* YQ_RECORD_PREEMPTION_H */
