/*-------------------------------------------------------------------------
 *
 * settle.h
 *	  From accepted events to the ledger: the rule.
 *
 * There is a single rule: the rows of a container in the ledger and among the running containers follow
 * from its life and the timelines.  Settling appends rows to the ledger and replaces the running row until
 * this is true.  A new START and an event after all others take shorter ways with the same result
 * (settler.h).  Nearly all events are of these kinds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_H
#define YQ_SETTLE_H

#include "charging/ledger.h"

/* Handle an event that cannot be accepted; the handler may raise the problem. */
typedef void (*YqBadEventHandler) (void *argument, const YqEvent *event,
								   const YqProblem *problem);

struct YqStartBatch;

/* The state of settling with an open ledger, for a single statement.  yq_settler_create() makes it. */
typedef struct YqSettler
{
	YqLedger   *ledger;
	YqBadEventHandler bad_event;
	void	   *argument;
	MemoryContext container_context;	/* reset after each container */
	MemoryContext event_context;	/* reset after each event that is appended */
	bool		anything_waiting;	/* event_reject has waiting rows */
	struct YqStartBatch *batch; /* pending STARTs, in settler.c */
} YqSettler;

/*
 * Settle by the rule; returns true when the records were changed.  The events, if there are any, all belong
 * to the same container.
 */
extern bool yq_settle_events(YqSettler *settler, text *container_id,
							 const YqEvent *const *events, int count);

/* The result of voiding a container. */
typedef struct YqVoided
{
	text	   *project;		/* in the caller's memory context, as the next field */
	text	   *application_id; /* NULL for none */
	YqWide		amount;			/* amount of the ledger rows that were in effect */
	bool		was_running;
	int32		charges;		/* number of ledger rows so far: rows in effect later have larger numbers */
} YqVoided;

/*
 * Take back all records of a container, as if none of its events had come.  Correcting rows take back the
 * rows of the ledger; the running row and the record of changes are deleted.  The caller handles rows of
 * event_reject.  Returns false when there was nothing to take back.  Raises an error when the container
 * started before the archive horizon, because its true events would be refused.
 */
extern bool yq_settle_void(YqSettler *settler, const text *container_id, YqVoided *voided);

#endif							/* YQ_SETTLE_H */
