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

/* Decide whether an application may have opportunistic containers. */

/* The rule that refuses the containers; all fields are NULL when no rule refuses. */
typedef struct YqOpportunisticStop
{
	const char *rule;
	const char *at;				/* the queue or project that refuses; may be NULL */
} YqOpportunisticStop;

/* The rule that refuses while opportunistic allocation is switched off. */
#define YQ_OPPORTUNISTIC_NOT_ENABLED "opportunistic allocation is not enabled"

/* Check that the application's queue runs, and that its project has credit or may continue without credit. */
extern YqOpportunisticStop yq_opportunistic_stop(const YqRequester *requester, const char *project);

/* -- allocate opportunistic ---------------------------------------------------- */

/*
 * The call locks the application's leaf, then the sharing limits if any exist, then the
 * nodes on which it takes slots, then events.  It takes the scheduler's lock only for
 * GUARANTEED requests or a change of the blacklist.  Other calls therefore do not wait
 * for an allocation cycle.
 */

typedef struct YqOpportunisticCall
{
	const char *application_id;
	const YqContainerRequest *requests;
	int			request_count;
	const char **blacklist_additions;
	int			addition_count;
	const char **blacklist_removals;	/* applied before the additions, as in Hadoop's allocator */
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
	Datum	   *container_ids;	/* ids of the containers, text; the other arrays have the same length */
	Datum	   *allocations;	/* yquota.resource */
	bool		is_repeated;	/* the last call had the same response id, so this call has decided nothing */
	YqOpportunisticStop stop;	/* the rule that refuses all containers to the application */
	YqSharingRefusals refusals; /* refusals by sharing limits */
	int64	  **sizes;			/* size of a container, per request, in native units per type */
} YqOpportunisticAnswer;

/*
 * Record the application's requests, and allocate the containers for which there is
 * room.  Events start the containers, which do not run yet, and decisions in
 * yquota.decision announce them.  Raises the errors of yq_container_request() and
 * yq_blacklist_update().
 */
extern YqOpportunisticAnswer yq_allocate_opportunistic(const YqOpportunisticCall *call);

/*
 * Return the bounds of container sizes: the bounds for opportunistic containers where
 * set, otherwise the scheduler's.
 */
extern YqContainerBounds yq_opportunistic_bounds(const YqHierarchy *hierarchy, const YqAllocationSettings *settings);

#endif							/* YQ_ALLOCATE_OPPORTUNISTIC_H */
