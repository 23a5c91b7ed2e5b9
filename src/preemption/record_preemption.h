/*-------------------------------------------------------------------------
 *
 * record_preemption.h
 *	  Writes a round of preemption to the tables (semantics/preemption 8).
 *
 * A killed container ends by an event in container_event, so that its charging ends, too.  Before
 * that, the container is read again.  The round does not end it if it has already ended, grown or
 * moved, or if another transaction is changing it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_RECORD_PREEMPTION_H
#define YQ_RECORD_PREEMPTION_H

#include "preemption/load_preemption.h"

/*
 * Return computed amounts as a resource.  With the default calculator only memory is
 * computed; the amounts of other types have no meaning.
 */
extern Datum yq_preemption_figure(const YqHierarchy *hierarchy, const int64 *amounts);

/*
 * Does a decision report the outcome?  A reservation that is marked or killed and also
 * given up is reported only as given up.
 */
extern bool yq_preemption_is_told(const YqPreemptionOutcome *outcome);

/*
 * Write the outcomes of a round and the time of the round, and delete forgotten marks.  The
 * caller holds the scheduler's lock.  No round and no change of the configuration may have
 * been committed since the state was loaded.  Returns for each outcome whether it took
 * effect.  An outcome has no effect if its container has changed since the round was
 * computed.
 */
extern bool *yq_preemption_record(YqLoadedPreemption *preemption);

#endif							/* YQ_RECORD_PREEMPTION_H */
