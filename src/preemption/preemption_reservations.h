/*-------------------------------------------------------------------------
 *
 * preemption_reservations.h
 *	  Reservations of the applications that a round of preemption looks at.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_PREEMPTION_RESERVATIONS_H
#define YQ_PREEMPTION_RESERVATIONS_H

#include "preemption/loaded_preemption.h"

/* Add those of the applications that were found, which have been added. */
extern void yq_preemption_reservations_add(YqPreemptionLoader *loader);

#endif							/* YQ_PREEMPTION_RESERVATIONS_H */
