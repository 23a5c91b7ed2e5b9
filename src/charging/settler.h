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
 * Settle all events of one container in a statement, sorted by instant and kind, where each event has been
 * checked by itself.  Containers must come in the order of their ids.  Events may point into slots: they
 * are copied as needed.
 */
extern void yq_settler_settle(YqSettler *settler, const YqEvent *const *events, int count);

/*
 * Bring the records of a container in line with the present timelines.  Returns true when something had to
 * be corrected.
 */
extern bool yq_settler_settle_again(YqSettler *settler, const text *container_id);

/*
 * Begin another statement, which sees the results of the events before it.  Its first container may be the
 * last container of the previous statement.
 */
extern void yq_settler_next_statement(YqSettler *settler);

/*
 * Claim the containers of pending STARTs, and settle the events that wait for these STARTs; also called at the
 * end.
 */
extern void yq_settler_claim_pending(YqSettler *settler);

#endif							/* YQ_SETTLER_H */
