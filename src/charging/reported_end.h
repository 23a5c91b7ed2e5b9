/*-------------------------------------------------------------------------
 *
 * reported_end.h
 *	  Ends that were reported of a container, where there is more to tell than
 *	  the ledger does.
 *
 * The ledger has the end that counts, and not its source.  A row of
 * yquota_internal.reported_end notes each FINISH that yquota sent itself, and
 * each of those that differ from one another.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_REPORTED_END_H
#define YQ_REPORTED_END_H

#include "charging/container_life.h"
#include "charging/ledger.h"

/* Note the FINISH that has ended a running container, if yquota sent it itself. */
extern void yq_reported_end_note_own(YqLedger *ledger, const YqEvent *finish);

/*
 * Note the end of a container that accepted events, in the order of time,
 * report; "life" is the state before them.
 */
extern void yq_reported_end_note(YqLedger *ledger, const YqContainerLife *life,
								 const YqEvent *const *events, int count);

/* Whether a FINISH of the container is noted by which yquota preempted it. */
extern bool yq_reported_end_has_own_preemption(YqLedger *ledger, const text *container_id);

#endif							/* YQ_REPORTED_END_H */
