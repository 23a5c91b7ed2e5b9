/*-------------------------------------------------------------------------
 *
 * sharing_policy.h
 *	  How much of a plan one user may have (reservation 5).
 *
 * NoOverCommitPolicy limits by what the plan has left.  CapacityOverTimePolicy limits
 * each user besides: at any time, and on average over a window.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_SHARING_POLICY_H
#define YQ_SHARING_POLICY_H

#include "reservation/plan.h"

/* Does the policy agree to a reservation, which takes the place of the one with its id? */
extern YqPlanFailure yq_sharing_policy_validate(const YqPlan *plan, const YqPlanReservation *reservation);

/*
 * What is left to a user of what the plan has available, which is given up; "old" is
 * NULL, or counts as free.
 */
extern YqStepFunction *yq_sharing_policy_limit(const YqPlan *plan, YqStepFunction *available, const char *username,
											   const YqPlanReservation *old, int64 start, int64 end);

#endif							/* YQ_SHARING_POLICY_H */
