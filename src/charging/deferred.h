/*-------------------------------------------------------------------------
 *
 * deferred.h
 *	  Events that are in the log but have not been charged yet.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_DEFERRED_H
#define YQ_DEFERRED_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "charging/event.h"
#include "utils/tuplestore.h"

/* Index of the column with the statement's number, between the runs of those of the event. */
#define YQ_DEFERRED_ARRIVAL YQ_EVENT_SECOND_RUN

/* Keep the rows of a statement that was not charged. */
extern void yq_deferred_keep(Tuplestorestate *rows, TupleDesc descriptor);

/* Whether an event of a container has been kept, and committed. */
extern bool yq_deferred_has(const text *container_id);

#endif							/* YQ_DEFERRED_H */
