/*-------------------------------------------------------------------------
 *
 * posting.h
 *	  What a START, a change or an end of a container posts: whether the records admit it,
 *	  and prices, counters and the row of the container, for all ways of settling.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_POSTING_H
#define YQ_POSTING_H

#include "charging/ledger.h"

/* -- admit --------------------------------------------------------------------- */

/* Whether the records of charging admit a container or an allocation. */

/*
 * The problem with the START of a container that is not known, or NULL.  Then
 * *container is its future row without the accrual.
 */
extern YqProblem *yq_admit_start(YqLedger *ledger, const YqEvent *event,
								 YqContainer *container);

/*
 * The problem with an event of a container that is not known, or NULL.  Such a
 * container may have been archived with all its events when the event lies
 * before the archive horizon.
 */
extern YqProblem *yq_admit_check_age(const YqEvent *event);

/* The problem with an allocation, or NULL. */
extern YqProblem *yq_admit_check_allocation(const YqResource *allocation, TimestampTz at);

/* -- posting ------------------------------------------------------------------- */

/* Fill in factors and accrual_base of a running container; false when it does not fit. */
extern bool yq_posting_accrue(YqLedger *ledger, YqContainer *container);

/*
 * Fill in amount and dominant resource of a charge, or what is given back of one that
 * is free; false when it does not fit.
 */
extern bool yq_posting_price(YqLedger *ledger, YqCharge *charge);

/*
 * From when on a preempted container is free by the rule in force at its start
 * (charging_rule.free_before_preemption); DT_NOEND when it is not.
 */
extern TimestampTz yq_posting_free_from(const YqContainerLife *life);

/*
 * The ledger row of a segment, still without its number and its amount: the one spelling of it, for
 * all ways of settling.  The container has its names and its START.  "wait" is that of the segment;
 * the exit status counts where a FINISH ends the segment.
 */
extern YqCharge yq_posting_charge(const YqContainer *container, const YqSegment *segment, YqWait wait,
								  bool has_exit_status, int32 exit_status);

/*
 * Whether a finished container ran for less than the minimum run time: then
 * *padding is the row that makes up for it, still without its amount.
 */
extern bool yq_posting_padding(const YqCharge *finish, YqCharge *padding);

/* Count a running container in (1) or out (-1); one that waits is in no usage. */
extern void yq_posting_count(YqLedger *ledger, const YqContainer *container, int sign);

/*
 * The partition that a running container uses on the node: that of the node
 * now, or the last one known when the node has none any more.  "before" is NULL
 * for a container that did not run.
 */
extern text *yq_posting_label(YqLedger *ledger, const YqContainer *before, const text *node);

/*
 * Insert the row of a container that was not running.  False, with nothing
 * done, when another transaction has claimed the container in the meantime.
 */
extern bool yq_posting_insert(YqLedger *ledger, const YqContainer *container);

/*
 * Insert the new row of a container whose old row this transaction has
 * deleted.  A conflict here is a transaction that has seen the old row and is
 * about to withdraw its own.
 */
extern void yq_posting_replace(YqLedger *ledger, const YqContainer *container);

/*
 * Delete the row that this statement has inserted for a container, which stays
 * claimed.
 */
extern void yq_posting_withdraw(YqLedger *ledger, const text *container_id);

/*
 * Claim a container that does not run: a row goes into the unique index and out
 * again.  Until the transaction ends, others wait as if the container were about
 * to start.  False when it runs by now: then its row is there to be claimed.
 */
extern bool yq_posting_claim_resting(YqLedger *ledger, text *container_id);

#endif							/* YQ_POSTING_H */
