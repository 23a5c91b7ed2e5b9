/*-------------------------------------------------------------------------
 *
 * preemption_containers.h
 *	  Running containers of the leaves that a round of preemption looks at.
 *
 * A container without an application is not selected: there is no application to tell.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_CONTAINERS_H
#define YQ_PREEMPTION_CONTAINERS_H

#include "preemption/loaded_preemption.h"

/* Containers that were read and not added yet. */
typedef struct YqPreemptionReading YqPreemptionReading;

/* Read those of the leaves that are wanted, and enter their applications. */
extern YqPreemptionReading *yq_preemption_containers_read(YqPreemptionLoader *loader);

/* Add them to the state, with what their marks say, once their applications are; frees them. */
extern void yq_preemption_containers_add(YqPreemptionReading *reading);

/*
 * The order of the containers of an application: by attempt, then by number, as their ids
 * end with both.  0 for an id that ends otherwise.
 */
extern int64 yq_preemption_container_number(const char *container_id);

#endif							/* YQ_PREEMPTION_CONTAINERS_H */
