/*-------------------------------------------------------------------------
 *
 * settle.h
 *	  From accepted events to the books.
 *
 * There is one rule, settle_history: what the ledger and the table of running
 * containers should say of a container follows from its history and the
 * timelines, and what they do say is corrected to that by appending to the
 * one and replacing the row of the other.  A START that is new and a FINISH
 * that comes last take short cuts with the same result, because that is what
 * nearly all events are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_H
#define YQ_SETTLE_H

#include "charging/books.h"

/* What came of an event; see the function that is called back. */
typedef void (*YqBadEventHandler) (void *argument, const YqEvent *event,
								   const YqProblem *problem);

typedef struct YqSettler YqSettler;

/*
 * Settle on open books.  "bad_event" is called for each event that cannot be
 * accepted, and may raise it.
 */
extern YqSettler *yq_settler_create(YqBooks *books, YqBadEventHandler bad_event,
									void *argument);

/*
 * All events of one container in a statement, sorted by instant and kind, each
 * checked by itself.  Containers must come in the order of their ids.  Events
 * may point into slots: they are copied as needed.
 */
extern void yq_settle_container(YqSettler *settler, const YqEvent *const *events, int count);

/*
 * Bring the books of a container in line with the present timelines.  True
 * when something had to be corrected.
 */
extern bool yq_settle_again(YqSettler *settler, const text *container_id);

/* What voiding a container took back. */
typedef struct YqVoided
{
	text	   *project;		/* in the caller's memory context, as the next */
	text	   *application_id; /* NULL for none */
	YqWide		amount;			/* of the ledger rows that were in effect */
	bool		was_running;
	int32		charges;		/* ledger rows since: what is in effect later has
								 * larger numbers */
} YqVoided;

/*
 * Take back all that the books say of a container, as if none of its events
 * had come: rows of the ledger by correcting rows, its running row, and the
 * record of its changes.  The caller sees to rows of event_reject.  False when
 * there was nothing to take back.  An error when the container started before
 * the archive horizon: its true events would be refused.
 */
extern bool yq_settle_void(YqSettler *settler, const text *container_id, YqVoided *voided);

/*
 * What comes is of another statement: it finds what those before have done.  The
 * container may be the one before once more.
 */
extern void yq_settler_next_statement(YqSettler *settler);

/* Write what short cuts have collected; to be called at the end. */
extern void yq_settler_finish(YqSettler *settler);

#endif							/* YQ_SETTLE_H */
