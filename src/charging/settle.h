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

/* Handle an event that cannot be accepted.  The handler may raise the problem as an error. */
typedef void (*YqBadEventHandler) (void *argument, const YqEvent *event,
								   const YqProblem *problem);

struct YqStartBatch;

/* The state of settling the events of a single statement, with an open ledger. yq_settler_create() makes it. */
typedef struct YqSettler
{
	YqLedger   *ledger;
	YqBadEventHandler bad_event;
	void	   *argument;
	MemoryContext container_context;	/* reset after each container */
	MemoryContext event_context;	/* memory context that is reset after each appended event */
	bool		anything_waiting;	/* true if event_reject has waiting rows */
	struct YqStartBatch *batch; /* pending STARTs; see settler.c */
} YqSettler;

/*
 * Settle events of one container by the general rule.  Returns true when the records were changed.
 * There may be no events.
 */
extern bool yq_settle_events(YqSettler *settler, text *container_id,
							 const YqEvent *const *events, int count);

/* The result of voiding a container. */
typedef struct YqVoided
{
	text	   *project;		/* project, in the caller's memory context */
	text	   *application_id; /* application in the caller's memory context, or NULL */
	YqWide		amount;			/* total amount of the ledger rows that were in effect */
	bool		was_running;
	int32		charges;		/* number of ledger rows so far; later rows have larger numbers */
} YqVoided;

/*
 * Reverse all records of a container, as if none of its events had come.
 *
 * Correcting rows reverse the rows of the ledger.  The row of the running container and its
 * recorded changes are deleted.  The caller handles rows of event_reject.  Returns false when
 * there was nothing to reverse.  Raises an error when the container started before the archive
 * horizon, because its corrected events would be refused.
 */
extern bool yq_settle_void(YqSettler *settler, const text *container_id, YqVoided *voided);

#endif							/* YQ_SETTLE_H */
