/*-------------------------------------------------------------------------
 *
 * settle_load.h
 *	  Loading the rows of a container into its life, and the ends that were reported for it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_LOAD_H
#define YQ_SETTLE_LOAD_H

#include "charging/container_life.h"
#include "charging/ledger.h"

/* -- reported end -------------------------------------------------------------- */

/*
 * Ends that were reported for a container, if the ledger does not have all of them.
 *
 * The ledger has the end that counts, but not the source of that end.  A row of
 * yquota_internal.reported_end notes each FINISH that yquota sent itself, and each end that differs from
 * the others.
 */

/* Note the FINISH that has ended a running container, if yquota sent it itself. */
extern void yq_reported_end_note_own(YqLedger *ledger, const YqEvent *finish);

/*
 * Note the ends of a container that accepted events report, in the order of time.  "life" is the state
 * before the events.
 */
extern void yq_reported_end_note(YqLedger *ledger, const YqContainerLife *life,
								 const YqEvent *const *events, int count);

/* -- settle load --------------------------------------------------------------- */

/* The rows that the tables hold of one container. */
typedef struct YqContainerRecords
{
	bool		running;
	YqContainer container;		/* valid when it is running */
	int			charge_count;
	YqCharge   *charges;		/* all rows, in any order */
	bool	   *in_effect;		/* per row: true unless it is taken back or takes another row back */
	int32		last_number;
	bool		has_changes;	/* true when container_change has rows of it */
	YqContainerLife life;
} YqContainerRecords;

/*
 * Load the records, in the current memory context; waits for a transaction that is about to start the
 * container.
 */
extern void yq_settle_load_records(YqLedger *ledger, YqContainerRecords *loaded, text *container_id);

/* Return copies of the events that wait for the container's START, and their number. */
extern int	yq_settle_load_waiting(YqLedger *ledger, const text *container_id,
								   YqEvent ***waiting);

#endif							/* YQ_SETTLE_LOAD_H */
