/*-------------------------------------------------------------------------
 *
 * posting.h
 *	  Records that a START, a change or an end of a container posts, for all ways of settling.
 *
 * The functions check whether an event is acceptable, compute amounts, change the counters, and
 * write the row of the container.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_POSTING_H
#define YQ_POSTING_H

#include "charging/ledger.h"

/* -- admit --------------------------------------------------------------------- */

/* Check whether charging accepts a container or an allocation. */

/*
 * Return the problem of the START of an unknown container.  If charging accepts the START,
 * return NULL and set *container to the new row, without the accrual.
 */
extern YqProblem *yq_admit_start(YqLedger *ledger, const YqEvent *event,
								 YqContainer *container);

/*
 * Return the problem of an event of an unknown container, or NULL. If the event is before the
 * archive horizon, the container may have been archived with all its events.
 */
extern YqProblem *yq_admit_check_age(const YqEvent *event);

/* Return the problem with an allocation, or NULL. */
extern YqProblem *yq_admit_check_allocation(const YqResource *allocation, TimestampTz at);

/* -- posting ------------------------------------------------------------------- */

/* Set the factors and accrual_base of a running container.  Returns false when accrual_base is out of range. */
extern bool yq_posting_accrue(YqLedger *ledger, YqContainer *container);

/*
 * Set the amount and the dominant resource of a charge.  If the charge is free, set given_back
 * instead of the amount.  Returns false when the amount is out of range.
 */
extern bool yq_posting_price(YqLedger *ledger, YqCharge *charge);

/*
 * Return the start of the free window of a preempted container, by the rule in force when the
 * container started (charging_rule.free_before_preemption).  Returns DT_NOEND when there is no
 * free window.
 */
extern TimestampTz yq_posting_free_from(const YqContainerLife *life);

/*
 * Return the ledger row of a segment, without its number and its amount.  All ways of settling use
 * this function.  "container" supplies the names and the START. "wait" is the wait of the segment.
 * The exit status is used only if a FINISH ends the segment.
 */
extern YqCharge yq_posting_charge(const YqContainer *container, const YqSegment *segment, YqWait wait,
								  bool has_exit_status, int32 exit_status);

/*
 * Tell whether a finished container ran for less than the minimum run time.  If it did, *padding
 * is the row for the missing time, without its amount.
 */
extern bool yq_posting_padding(const YqCharge *finish, YqCharge *padding);

/*
 * Add a running container to the counters (1) or subtract it (-1).  A waiting container does not
 * count as usage.
 */
extern void yq_posting_count(YqLedger *ledger, const YqContainer *container, int sign);

/*
 * Return the partition of a running container on its node: the present partition of the node.  If
 * the node has no partition any more, return the partition that the container had before.
 * "before" is NULL if the container was not running.
 */
extern text *yq_posting_label(YqLedger *ledger, const YqContainer *before, const text *node);

/*
 * Insert the row of a container that was not running.  If another transaction has claimed the
 * container in the meantime, returns false and does nothing.
 */
extern bool yq_posting_insert(YqLedger *ledger, const YqContainer *container);

/*
 * Insert the new row of a container whose old row this transaction has deleted.  If another
 * transaction has a conflicting row, it has seen the old row and is about to withdraw its own row.
 */
extern void yq_posting_replace(YqLedger *ledger, const YqContainer *container);

/* Delete the row that this statement has inserted for a container.  The claim on the container remains. */
extern void yq_posting_withdraw(YqLedger *ledger, const text *container_id);

/*
 * Claim a container that is not running: insert a row into the unique index and delete it again.
 * Until this transaction ends, other transactions wait for it, as if the container were about to
 * start.  Returns false when another transaction has started the container in the meantime.  The
 * caller can then claim the row of the running container.
 */
extern bool yq_posting_claim_resting(YqLedger *ledger, text *container_id);

#endif							/* YQ_POSTING_H */
