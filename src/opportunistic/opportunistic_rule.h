/*-------------------------------------------------------------------------
 *
 * opportunistic_rule.h
 *	  May an application have opportunistic containers?
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OPPORTUNISTIC_RULE_H
#define YQ_OPPORTUNISTIC_RULE_H

#include "scheduler/request/container_request.h"

/* The rule that says no; all NULL when none does. */
typedef struct YqOpportunisticStop
{
	const char *rule;
	const char *at;				/* the queue or project that it is about; may be NULL */
} YqOpportunisticStop;

/* The rule while none are given out at all. */
#define YQ_OPPORTUNISTIC_NOT_ENABLED "opportunistic allocation is not enabled"

/* The queue of the application must run, and its project have credit or be one that may go on without. */
extern YqOpportunisticStop yq_opportunistic_stop(const YqRequester *requester, const char *project);

#endif							/* YQ_OPPORTUNISTIC_RULE_H */
