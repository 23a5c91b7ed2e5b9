/*-------------------------------------------------------------------------
 *
 * settle.h
 *	  From accepted events to the ledger: the rule.
 *
 * There is one rule: the rows of a container in the ledger and among the
 * running containers follow from its life and the timelines.  Settling
 * appends to the ledger and replaces the running row until they do.  A new
 * START and an event behind all others take shorter ways with the same result
 * (settler.h, settler.h), because nearly all events are of these kinds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_H
#define YQ_SETTLE_H

#include "charging/ledger.h"

/* Called for each event that cannot be accepted; it may raise the problem. */
typedef void (*YqBadEventHandler) (void *argument, const YqEvent *event,
								   const YqProblem *problem);

struct YqStartBatch;

/* Settling with an open ledger, for one statement.  Made by yq_settler_create(). */
typedef struct YqSettler
{
	YqLedger   *ledger;
	YqBadEventHandler bad_event;
	void	   *argument;
	MemoryContext container_context;	/* reset after each container */
	MemoryContext event_context;	/* reset after each event that is appended */
	bool		anything_waiting;	/* event_reject has waiting rows */
	struct YqStartBatch *batch; /* of settler.c */
} YqSettler;

/*
 * Settle by the rule: true when the records were changed.  Events, if any, are
 * all of the same container.
 */
extern bool yq_settle_events(YqSettler *settler, text *container_id,
							 const YqEvent *const *events, int count);

/* The result of voiding a container. */
typedef struct YqVoided
{
	text	   *project;		/* in the caller's memory context, as the next */
	text	   *application_id; /* NULL for none */
	YqWide		amount;			/* of the ledger rows that were in effect */
	bool		was_running;
	int32		charges;		/* ledger rows so far: rows in effect later have
								 * larger numbers */
} YqVoided;

/*
 * Take back all that is recorded of a container, as if none of its events
 * had come: rows of the ledger by correcting rows, its running row, and the
 * record of its changes.  The caller sees to rows of event_reject.  False when
 * there was nothing to take back.  An error when the container started before
 * the archive horizon: its true events would be refused.
 */
extern bool yq_settle_void(YqSettler *settler, const text *container_id, YqVoided *voided);

#endif							/* YQ_SETTLE_H */
