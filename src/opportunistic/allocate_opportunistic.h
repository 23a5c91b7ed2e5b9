/*-------------------------------------------------------------------------
 *
 * allocate_opportunistic.h
 *	  Allocates opportunistic containers to an application, centrally.
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

/* The rule that refuses; all NULL when no rule does. */
typedef struct YqOpportunisticStop
{
	const char *rule;
	const char *at;				/* the queue or project that refuses; may be NULL */
} YqOpportunisticStop;

/* The rule while no opportunistic containers are allocated at all. */
#define YQ_OPPORTUNISTIC_NOT_ENABLED "opportunistic allocation is not enabled"

/* Check that the application's queue runs, and that its project has credit or may continue without. */
extern YqOpportunisticStop yq_opportunistic_stop(const YqRequester *requester, const char *project);

/* -- allocate opportunistic ---------------------------------------------------- */

/*
 * The call locks the application's leaf, then the sharing limits if there are some, then the nodes
 * on which it takes slots, then events.  It takes the scheduler's lock only for GUARANTEED requests
 * or a change of the blacklist, so that it does not wait for an allocation cycle.
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
	Datum	   *container_ids;	/* ids of the containers, text; the other arrays are as long */
	Datum	   *allocations;	/* yquota.resource */
	bool		is_repeated;	/* the last call had the same response id: nothing was decided now */
	YqOpportunisticStop stop;	/* the rule that denies the application any container */
	YqSharingRefusals refusals; /* refusals by sharing limits */
	int64	  **sizes;			/* size of a container of each request, native units per type */
} YqOpportunisticAnswer;

/*
 * Note the application's requests and allocate the containers for which there is room.  Containers
 * start by events, without running, and are announced in yquota.decision.  Raises the errors of
 * yq_container_request() and yq_blacklist_update().
 */
extern YqOpportunisticAnswer yq_allocate_opportunistic(const YqOpportunisticCall *call);

/* Return the bounds of container sizes: those for opportunistic containers, or else the scheduler's. */
extern YqContainerBounds yq_opportunistic_bounds(const YqHierarchy *hierarchy, const YqAllocationSettings *settings);

#endif							/* YQ_ALLOCATE_OPPORTUNISTIC_H */
