/*-------------------------------------------------------------------------
 *
 * settle_internal.h
 *	  What settle.c, settle_load.c and settle_fast.c share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLE_INTERNAL_H
#define YQ_SETTLE_INTERNAL_H

#include "charging/settle.h"

/* Starts collected before they are claimed, and FINISHes that wait for that. */
#define YQ_PENDING_STARTS 1000
#define YQ_PENDING_FINISHES 1000

/* Events of one statement that may come with a START: the UPDATEs and FINISH
 * of a short life; with more of them the rule decides. */
#define YQ_EVENTS_WITH_START 8

/* Attribute number of the first event column in event_reject. */
#define YQ_REJECT_FIRST_EVENT_COLUMN 2

/*
 * A START that nobody seems to know, about to be claimed.  Its container is
 * counted in already, and out again should somebody know it.
 */
typedef struct YqPendingStart
{
	const YqEvent **events;		/* the START and what comes after it */
	int			event_count;
	YqContainer container;
	bool		contended;		/* somebody else has, or had, a row: settled
								 * by the rule */
	bool		withdrawn;		/* has finished already: the rule is to decide */
} YqPendingStart;

struct YqSettler
{
	YqBooks    *books;
	YqBadEventHandler bad_event;
	void	   *argument;
	MemoryContext container_context;	/* reset after each container */
	MemoryContext start_context;	/* what is pending; reset when it is done */
	bool		anything_waiting;	/* event_reject has waiting rows */
	bool		is_replay;		/* starts of finished containers were seen */
	int			start_count;
	YqPendingStart *starts;
	int			finish_count;	/* FINISHes among the ids of pending starts */
	int			finishes_done;
	const YqEvent **finishes;
};

/* What tables hold of one container. */
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
 * Load it, in the current memory context; waits for whoever is about to start
 * the container.
 */
extern void yq_container_books_load(YqBooks *books, YqContainerBooks *loaded,
									text *container_id);

/* Copies of the events that wait for the container's START; returns their number. */
extern int	yq_waiting_events_load(YqBooks *books, const text *container_id,
								   YqEvent ***waiting);

/*
 * What is wrong with the START of a container that is not known, or NULL; then
 * *container is what its row will be, all but the accrual.
 */
extern YqProblem *yq_settle_admit(YqBooks *books, const YqEvent *event,
								  YqContainer *container);

/*
 * What is wrong with an event of a container that is not known, or NULL: such
 * a container may have been archived, with all that could be told of it, when
 * the event lies before the archive horizon.
 */
extern YqProblem *yq_settle_check_age(const YqEvent *event);

/* What is wrong with an allocation, or NULL. */
extern YqProblem *yq_settle_check_allocation(const YqResource *allocation,
											 TimestampTz at);

/* Fill in factors and accrual_base of a running container; false when it does not fit. */
extern bool yq_settle_accrue(YqBooks *books, YqContainer *container);

/* Fill in amount and dominant resource of a charge; false when it does not fit. */
extern bool yq_settle_price(YqBooks *books, YqCharge *charge);

/*
 * Whether a finished container ran for less than the minimum run time: then
 * *padding is the row that makes up for it, still without its amount.
 */
extern bool yq_settle_padding(const YqCharge *finish, YqCharge *padding);

/*
 * Put the new row of a container whose old row this transaction has deleted.
 * What looks like a conflict is somebody who has seen the old row and is about
 * to withdraw.
 */
extern void yq_settle_replace(YqBooks *books, const YqContainer *container);

/*
 * Delete the row that this statement has inserted for a container, which stays
 * claimed.
 */
extern void yq_settle_withdraw(YqBooks *books, const text *container_id);

/* Count a running container in (1) or out (-1). */
extern void yq_settle_count(YqBooks *books, const YqContainer *container, int sign);

/*
 * The partition that a running container uses on the node: that of the node now,
 * or the last one known when nobody knows the node any more.  "before" is NULL for
 * a container that did not run.
 */
extern text *yq_settle_label(YqBooks *books, const YqContainer *before, const text *node);

/*
 * The rule, without short cuts: true when the books were changed.  Events, if
 * any, are all of the same container.
 */
extern bool yq_settle_events(YqSettler *settler, text *container_id,
							 const YqEvent *const *events, int count);

#endif							/* YQ_SETTLE_INTERNAL_H */
