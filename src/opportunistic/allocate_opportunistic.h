/*-------------------------------------------------------------------------
 *
 * allocate_opportunistic.h
 *	  Giving out opportunistic containers to an application, centrally.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_ALLOCATE_OPPORTUNISTIC_H
#define YQ_ALLOCATE_OPPORTUNISTIC_H

#include "opportunistic/opportunistic_allocator.h"
#include "opportunistic/reported_nodes.h"
#include "scheduler/request/container_request.h"

/* -- opportunistic rule -------------------------------------------------------- */

/* May an application have opportunistic containers? */

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

/* -- allocate opportunistic ---------------------------------------------------- */

/*
 * The call locks the application's leaf, then limits of sharing if there are some, then the nodes it takes slots of,
 * then events.  It takes the
 * scheduler's lock only if it asks for GUARANTEED containers or changes the blacklist, so
 * that it does not wait for an allocation cycle.
 */

typedef struct YqOpportunisticCall
{
	const char *application_id;
	const YqContainerRequest *requests;
	int			request_count;
	const char **blacklist_additions;
	int			addition_count;
	const char **blacklist_removals;	/* before the additions, as in Hadoop's allocator */
	int			removal_count;
	bool		has_response_id;
	int32		response_id;
	YqAnywhereOrder order;
} YqOpportunisticCall;

typedef struct YqOpportunisticAnswer
{
	YqRequester requester;
	YqOutstandingRequests requests;
	YqOpportunisticContainers containers;
	Datum	   *container_ids;	/* of the containers, text; like those that follow */
	Datum	   *allocations;	/* yquota.resource */
	bool		is_repeated;	/* the last call had the same response id: nothing was decided now */
	YqOpportunisticStop stop;	/* the rule that lets the application have none */
	YqSharingRefusals refusals; /* by limits of sharing */
	int64	  **sizes;			/* of a container of each request, native units per type */
} YqOpportunisticAnswer;

/*
 * Note what the application asks for and give out what there is room for.  Containers start by
 * events, without running, and are told in yquota.decision.  Errors are those of
 * yq_container_request() and yq_blacklist_update().
 */
extern YqOpportunisticAnswer yq_allocate_opportunistic(const YqOpportunisticCall *call);

/* The bounds of the size of containers: those of opportunistic ones, or else the scheduler's. */
extern YqContainerBounds yq_opportunistic_bounds(const YqHierarchy *hierarchy, const YqAllocationSettings *settings);

#endif							/* YQ_ALLOCATE_OPPORTUNISTIC_H */
