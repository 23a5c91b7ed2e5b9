/*-------------------------------------------------------------------------
 *
 * settle_load.h
 *	  The rows that the tables hold of one container, and its history.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_LOAD_H
#define YQ_SETTLE_LOAD_H

#include "charging/books.h"

/* The rows that the tables hold of one container. */
typedef struct YqContainerBooks
{
	bool		running;
	YqContainer container;		/* when it is */
	int			charge_count;
	YqCharge   *charges;		/* all rows, in any order */
	bool	   *in_effect;		/* per row: neither taken back nor taking back */
	int32		last_number;
	bool		has_changes;	/* there are rows in container_change */
	YqHistory	history;
} YqContainerBooks;

/*
 * Load them, in the current memory context; waits for a transaction that is
 * about to start the container.
 */
extern void yq_settle_load_books(YqBooks *books, YqContainerBooks *loaded, text *container_id);

/* Copies of the events that wait for the container's START; returns their number. */
extern int	yq_settle_load_waiting(YqBooks *books, const text *container_id,
								   YqEvent ***waiting);

#endif							/* YQ_SETTLE_LOAD_H */
