/*-------------------------------------------------------------------------
 *
 * charge_events.h
 *	  The trigger of yquota.container_event: each lifecycle event is charged within its own transaction,
 *	  or kept to be charged later.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_CHARGE_EVENTS_H
#define YQ_CHARGE_EVENTS_H

#include "access/attnum.h"
#include "access/tupdesc.h"
#include "charging/event.h"
#include "postgres.h"
#include "utils/tuplestore.h"

/* -- deferred ------------------------------------------------------------------ */

/* Events that are in the log but have not been charged yet. */

/* Index of the column with the statement's number.  The column lies between the two runs of event columns. */
#define YQ_DEFERRED_ARRIVAL YQ_EVENT_SECOND_RUN

/* -- charge events ------------------------------------------------------------- */

typedef struct YqChargeEventsResult
{
	int64		events;			/* rows read */
	int64		set_aside;		/* number of events that were inserted into event_reject */
	int64		waiting;		/* number of these events that wait for their START */
	char	   *first_reason;	/* reason of the first event set aside; NULL if none */
} YqChargeEventsResult;

/*
 * Charge the events in rows of container_event or deferred_event.
 *
 * "arrival" is 0 if all rows came in a single statement.  Otherwise it is the attribute number of a bigint
 * column, which numbers the statements in the order in which they came.  With these numbers, the ledger is
 * the same as if each statement had been charged by itself.
 *
 * Bad events are raised or set aside, as yquota.on_bad_event says.  The rows are read twice, each time
 * from the beginning.  The caller holds the lock on container_event that an INSERT takes.
 */
extern YqChargeEventsResult yq_charge_events(Tuplestorestate *rows, TupleDesc descriptor,
											 AttrNumber arrival);

#endif							/* YQ_CHARGE_EVENTS_H */
