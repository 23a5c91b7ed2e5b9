/*-------------------------------------------------------------------------
 *
 * scheduler_count.h
 *	  Counts of the scheduler for metrics.
 *
 * Counts are in yquota_internal.scheduler_count, in parts to be added up: transactions
 * that are at work at once change different ones, and none waits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SCHEDULER_COUNT_H
#define YQ_SCHEDULER_COUNT_H

#include "base/compat.h"

/* Containers that ended because their application, or its attempt, was over. */
#define YQ_COUNT_COMPLETED "containers_completed"
/* What rounds have left out because it could not be written. */
#define YQ_COUNT_REFUSED "refused"

/* Add a number, or nothing if it is 0.  The part is locked until the transaction ends. */
extern void yq_scheduler_count_add(const char *name, int64 number);

#endif							/* YQ_SCHEDULER_COUNT_H */
