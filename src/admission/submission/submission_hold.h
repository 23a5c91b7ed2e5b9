/*-------------------------------------------------------------------------
 *
 * submission_hold.h
 *	  Credit that an application holds from its submission on (semantics/charging 8.5 to 8.7).
 *
 * A submission asks for a hold, or the hold_policy of the queue demands one.  The
 * decision locks the credit of the project that pays, after the locks of the leaf
 * (docs/internals.md, Locks).
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SUBMISSION_HOLD_H
#define YQ_SUBMISSION_HOLD_H

#include "admission/submission/submission.h"

/* Does the submission ask for a hold, or name expected containers? */
extern bool yq_submission_names_hold(const YqSubmission *submission);

/*
 * Decide which amount the application holds in a queue.  With by_quote, the amount is
 * the cost of the expected containers.  With "locks", other transactions that hold
 * credit of the project wait until this transaction ends.  If the credit does not
 * suffice, fills the verdict and returns false.
 */
extern bool yq_submission_decide_hold(const YqSubmission *submission, const char *queue, bool by_quote, bool locks,
									  YqAdmission *admission);

/* Record the hold that yq_submission_decide_hold() decided. */
extern void yq_submission_record_hold(const YqSubmission *submission, YqAdmission *admission);

/*
 * Has this submission, which asks for a hold, already been recorded?  If so, fills the
 * admission from the recorded application and its present state.  A submission with
 * another user or another amount counts as new.
 */
extern bool yq_submission_find_recorded(const YqSubmission *submission, YqAdmission *admission);

#endif							/* YQ_SUBMISSION_HOLD_H */
