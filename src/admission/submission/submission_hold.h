/*-------------------------------------------------------------------------
 *
 * submission_hold.h
 *	  Credit that an application holds from its submission on (docs/balances.md).
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

/* Does the submission itself name a hold, or expected containers? */
extern bool yq_submission_names_hold(const YqSubmission *submission);

/*
 * Decide what the application holds in a queue.  by_quote: the cost of the expected
 * containers.  With "locks", other holds of the project wait until the transaction ends.
 * Returns false and fills the verdict when the credit cannot be held.
 */
extern bool yq_submission_decide_hold(const YqSubmission *submission, const char *queue, bool by_quote, bool locks,
									  YqAdmission *admission);

/* Hold what was decided. */
extern void yq_submission_record_hold(const YqSubmission *submission, YqAdmission *admission);

/*
 * Is it a submission with a hold that has been recorded already?  Then the admission
 * becomes what the application has got, with its present state.  A submission that
 * names another user or amount is a new one.
 */
extern bool yq_submission_find_recorded(const YqSubmission *submission, YqAdmission *admission);

#endif							/* YQ_SUBMISSION_HOLD_H */
