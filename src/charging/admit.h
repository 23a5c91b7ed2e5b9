/*-------------------------------------------------------------------------
 *
 * admit.h
 *	  Whether the records of charging admit a container or an allocation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ADMIT_H
#define YQ_ADMIT_H

#include "charging/ledger.h"

/*
 * The problem with the START of a container that is not known, or NULL.  Then
 * *container is its future row without the accrual.
 */
extern YqProblem *yq_admit_start(YqLedger *ledger, const YqEvent *event,
								 YqContainer *container);

/*
 * The problem with an event of a container that is not known, or NULL.  Such a
 * container may have been archived with all its events when the event lies
 * before the archive horizon.
 */
extern YqProblem *yq_admit_check_age(const YqEvent *event);

/* The problem with an allocation, or NULL. */
extern YqProblem *yq_admit_check_allocation(const YqResource *allocation, TimestampTz at);

#endif							/* YQ_ADMIT_H */
