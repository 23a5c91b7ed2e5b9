/*-------------------------------------------------------------------------
 *
 * settle_load.h
 *	  The rows that the tables hold of one container, and its life.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_LOAD_H
#define YQ_SETTLE_LOAD_H

#include "charging/ledger.h"

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
