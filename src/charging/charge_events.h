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

/* Index of the column with the statement's number, which lies between the two runs of event columns. */
#define YQ_DEFERRED_ARRIVAL YQ_EVENT_SECOND_RUN

/* -- charge events ------------------------------------------------------------- */

typedef struct YqChargeEventsResult
{
	int64		events;			/* rows read */
	int64		set_aside;		/* number of events put into event_reject */
	int64		waiting;		/* events set aside that wait for their START */
	char	   *first_reason;	/* reason of the first event set aside, if possible of an event that does
								 * not wait; NULL for none */
} YqChargeEventsResult;

/*
 * Charge the events of rows of container_event or deferred_event.  For rows of deferred_event, "arrival" is
 * the attribute number of a bigint that tells statements apart, in the order in which they came.  The
 * ledger is then the same as if each statement had been charged by itself.  "arrival" is 0 when all rows
 * came in a single statement.
 *
 * Bad events are raised or set aside, as yquota.on_bad_event says.  The rows are read from the beginning,
 * twice.  The caller holds the lock on container_event that an INSERT takes.
 */
extern YqChargeEventsResult yq_charge_events(Tuplestorestate *rows, TupleDesc descriptor,
											 AttrNumber arrival);

#endif							/* YQ_CHARGE_EVENTS_H */
