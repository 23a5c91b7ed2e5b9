/*-------------------------------------------------------------------------
 *
 * settle_load.h
 *	  Loading the stored rows of a container, and recording the ends that events report for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_LOAD_H
#define YQ_SETTLE_LOAD_H

#include "charging/container_life.h"
#include "charging/ledger.h"

/* -- reported end -------------------------------------------------------------- */

/*
 * Ends that events report for a container.
 *
 * The ledger shows the end that counts, but not the source of that end.
 * yquota_internal.reported_end has a row for each FINISH that yquota itself sent.  If the reported
 * ends of a container differ, the table has a row for each different end, up to a limit.
 */

/* Record the FINISH that has ended a running container if yquota itself sent it. */
extern void yq_reported_end_note_own(YqLedger *ledger, const YqEvent *finish);

/*
 * Record the ends of a container that accepted events report, in time order.  "life" is the state
 * before the events.
 */
extern void yq_reported_end_note(YqLedger *ledger, const YqContainerLife *life,
								 const YqEvent *const *events, int count);

/* -- settle load --------------------------------------------------------------- */

/* The rows of one container in all tables. */
typedef struct YqContainerRecords
{
	bool		running;
	YqContainer container;		/* row of the running container; valid if the container is running */
	int			charge_count;
	YqCharge   *charges;		/* all ledger rows, in any order */
	bool	   *in_effect;		/* for each row: true unless it is reversed or reverses another row */
	int32		last_number;
	bool		has_changes;	/* true when container_change has rows of the container */
	YqContainerLife life;
} YqContainerRecords;

/*
 * Load the records of a container in the current memory context.  If another transaction is about
 * to start the container, wait for it.
 */
extern void yq_settle_load_records(YqLedger *ledger, YqContainerRecords *loaded, text *container_id);

/* Return copies of the events that wait for the container's START. The result is their number. */
extern int	yq_settle_load_waiting(YqLedger *ledger, const text *container_id,
								   YqEvent ***waiting);

#endif							/* YQ_SETTLE_LOAD_H */
