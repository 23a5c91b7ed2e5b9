/*-------------------------------------------------------------------------
 *
 * posting.h
 *	  Records that a START, a change or an end of a container posts, for all ways of settling.
 *
 * The functions check whether the records admit an event, and make prices, counters and the row of the
 * container.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_POSTING_H
#define YQ_POSTING_H

#include "charging/ledger.h"

/* -- admit --------------------------------------------------------------------- */

/* Checks whether the records of charging admit a container or an allocation. */

/*
 * Return the problem with the START of a container that is not known, or NULL.  *container is then its
 * future row without the accrual.
 */
extern YqProblem *yq_admit_start(YqLedger *ledger, const YqEvent *event,
								 YqContainer *container);

/*
 * Return the problem with an event of a container that is not known, or NULL.  When the event lies before
 * the archive horizon, such a container may have been archived with all its events.
 */
extern YqProblem *yq_admit_check_age(const YqEvent *event);

/* Return the problem with an allocation, or NULL. */
extern YqProblem *yq_admit_check_allocation(const YqResource *allocation, TimestampTz at);

/* -- posting ------------------------------------------------------------------- */

/* Fill in factors and accrual_base of a running container; false when it does not fit. */
extern bool yq_posting_accrue(YqLedger *ledger, YqContainer *container);

/*
 * Fill in amount and dominant resource of a charge, or given_back of a free one; false when it does not
 * fit.
 */
extern bool yq_posting_price(YqLedger *ledger, YqCharge *charge);

/*
 * Return the instant from which a preempted container is free, by the rule in force at its start
 * (charging_rule.free_before_preemption); DT_NOEND when it is not free.
 */
extern TimestampTz yq_posting_free_from(const YqContainerLife *life);

/*
 * Return the ledger row of a segment, still without its number and its amount.  All ways of settling use
 * this function.  The container has its names and its START.  "wait" is the wait of the segment.  The exit
 * status counts where a FINISH ends the segment.
 */
extern YqCharge yq_posting_charge(const YqContainer *container, const YqSegment *segment, YqWait wait,
								  bool has_exit_status, int32 exit_status);

/*
 * Tell whether a finished container ran for less than the minimum run time.  *padding is then the row that
 * makes up the difference, still without its amount.
 */
extern bool yq_posting_padding(const YqCharge *finish, YqCharge *padding);

/* Count a running container in (1) or out (-1); a waiting container counts in no usage. */
extern void yq_posting_count(YqLedger *ledger, const YqContainer *container, int sign);

/*
 * Return the partition that a running container uses on the node.  It is the present partition of the node,
 * or the last one known when the node no longer has one.  "before" is NULL for a container that did not
 * run.
 */
extern text *yq_posting_label(YqLedger *ledger, const YqContainer *before, const text *node);

/*
 * Insert the row of a container that was not running.  Returns false, with nothing done, when another
 * transaction has claimed the container in the meantime.
 */
extern bool yq_posting_insert(YqLedger *ledger, const YqContainer *container);

/*
 * Insert the new row of a container whose old row this transaction has deleted.  A conflicting transaction
 * has seen the old row, and is about to withdraw its own row.
 */
extern void yq_posting_replace(YqLedger *ledger, const YqContainer *container);

/* Delete the row that this statement has inserted for a container.  The container stays claimed. */
extern void yq_posting_withdraw(YqLedger *ledger, const text *container_id);

/*
 * Claim a container that does not run: insert a row into the unique index and delete it again.  Until the
 * transaction ends, other transactions wait as if the container were about to start.  Returns false when
 * the container runs by now; the caller can then claim its row.
 */
extern bool yq_posting_claim_resting(YqLedger *ledger, text *container_id);

#endif							/* YQ_POSTING_H */
