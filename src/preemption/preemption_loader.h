/*-------------------------------------------------------------------------
 *
 * preemption_loader.h
 *	  Completing leaves of a round of preemption when a selector first needs them.
 *
 * The loader adds users, applications, reservations and containers of leaves to the
 * state, by preemption_applications.h, preemption_reservations.h and
 * preemption_containers.h.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_LOADER_H
#define YQ_PREEMPTION_LOADER_H

#include "preemption/loaded_preemption.h"

/* Have the state call back for leaves; queues are added. */
extern void yq_preemption_loader_begin(YqLoadedPreemption *preemption);

#endif							/* YQ_PREEMPTION_LOADER_H */
