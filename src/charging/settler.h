/*-------------------------------------------------------------------------
 *
 * settler.h
 *	  The entry of settling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SETTLER_H
#define YQ_SETTLER_H

#include "charging/settle.h"

extern YqSettler *yq_settler_create(YqLedger *ledger, YqBadEventHandler bad_event,
									void *argument);

/*
 * Settle all events of one container in a statement.  They are sorted by instant and kind, and the
 * content of each has been checked.  The caller passes containers in the order of their ids.
 * Events may point into slots; they are copied if they have to be kept.
 */
extern void yq_settler_settle(YqSettler *settler, const YqEvent *const *events, int count);

/*
 * Make the records of a container agree with the present timelines.  Returns true if the records
 * had to be corrected.
 */
extern bool yq_settler_settle_again(YqSettler *settler, const text *container_id);

/*
 * Begin another statement.  It sees the results of earlier events.  Its first container may be the
 * last container of the previous statement.
 */
extern void yq_settler_next_statement(YqSettler *settler);

/*
 * Claim the containers of pending STARTs, and settle the events that wait for these STARTs.  This
 * is also called at the end.
 */
extern void yq_settler_claim_pending(YqSettler *settler);

#endif							/* YQ_SETTLER_H */
