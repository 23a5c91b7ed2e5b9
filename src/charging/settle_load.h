/*-------------------------------------------------------------------------
 *
 * settle_load.h
 *	  Loading the rows of one container into its life, and the ends that were reported of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_LOAD_H
#define YQ_SETTLE_LOAD_H

#include "charging/container_life.h"
#include "charging/ledger.h"

/* -- reported end -------------------------------------------------------------- */

/*
 * Ends that were reported of a container, where there is more to tell than
 * the ledger does.
 *
 * The ledger has the end that counts, and not its source.  A row of
 * yquota_internal.reported_end notes each FINISH that yquota sent itself, and
 * each of those that differ from one another.
 */

/* Note the FINISH that has ended a running container, if yquota sent it itself. */
extern void yq_reported_end_note_own(YqLedger *ledger, const YqEvent *finish);

/*
 * Note the end of a container that accepted events, in the order of time,
 * report; "life" is the state before them.
 */
extern void yq_reported_end_note(YqLedger *ledger, const YqContainerLife *life,
								 const YqEvent *const *events, int count);

/* -- settle load --------------------------------------------------------------- */

/* The rows that the tables hold of one container. */
typedef struct YqContainerRecords
{
	bool		running;
	YqContainer container;		/* when it is */
	int			charge_count;
	YqCharge   *charges;		/* all rows, in any order */
	bool	   *in_effect;		/* per row: neither taken back nor taking back */
	int32		last_number;
	bool		has_changes;	/* there are rows in container_change */
	YqContainerLife life;
} YqContainerRecords;

/*
 * Load them, in the current memory context; waits for a transaction that is
 * about to start the container.
 */
extern void yq_settle_load_records(YqLedger *ledger, YqContainerRecords *loaded, text *container_id);

/* Copies of the events that wait for the container's START; returns their number. */
extern int	yq_settle_load_waiting(YqLedger *ledger, const text *container_id,
								   YqEvent ***waiting);

#endif							/* YQ_SETTLE_LOAD_H */
