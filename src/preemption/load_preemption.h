/*-------------------------------------------------------------------------
 *
 * load_preemption.h
 *	  Loads the state of a round of preemption: the configuration, the marks of
 *	  earlier rounds, and the cluster (semantics/preemption 2).
 *
 * The cluster is the one that the session keeps for allocation cycles, brought up to
 * date without the scheduler's lock.  If no cluster can be kept, a cluster is loaded.
 * Containers of a leaf are read when a selector first needs them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_LOAD_PREEMPTION_H
#define YQ_LOAD_PREEMPTION_H

#include "preemption/loaded_preemption.h"

/* Read the configuration.  Raises ERRCODE_INVALID_PARAMETER_VALUE for a name that Hadoop does not know. */
extern YqPreemptionConfiguration yq_preemption_configuration(void);

/* Read the row of the last round. */
extern YqPreemptionRoundRow yq_preemption_last_round(void);

/*
 * Load the newest committed state for a round.  The round's time must not be before the
 * last round.  The state lives in its own context below the current one, until the caller
 * passes it to yq_preemption_unload().
 */
extern YqLoadedPreemption *yq_preemption_load(YqHierarchy *hierarchy, const YqPreemptionConfiguration *configuration,
											  const YqPreemptionRoundRow *last, TimestampTz as_of);
extern void yq_preemption_unload(YqLoadedPreemption *preemption);

#endif							/* YQ_LOAD_PREEMPTION_H */
