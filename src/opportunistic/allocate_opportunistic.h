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

/* Decide whether an application may have OPPORTUNISTIC containers. */

/* The rule that keeps an application from getting containers.  If there is no such rule, all fields are NULL. */
typedef struct YqOpportunisticStop
{
	const char *rule;
	const char *at;				/* queue or project to which the rule belongs; may be NULL */
} YqOpportunisticStop;

/* Name of the rule that refuses containers while opportunistic allocation is switched off. */
#define YQ_OPPORTUNISTIC_NOT_ENABLED "opportunistic allocation is not enabled"

/*
 * Find a reason to refuse containers: the application's queue does not run, or its
 * project has no credit and may not continue without credit.
 */
extern YqOpportunisticStop yq_opportunistic_stop(const YqRequester *requester, const char *project);

/* -- allocate opportunistic ---------------------------------------------------- */

/*
 * The call takes locks in this order: the application's leaf, the sharing limits if any
 * exist, the nodes on which it takes slots, and events.  It takes the scheduler's lock
 * only if it contains GUARANTEED requests or changes the blacklist.  All other calls
 * can run during an allocation cycle.
 */

typedef struct YqOpportunisticCall
{
	const char *application_id;
	const YqContainerRequest *requests;
	int			request_count;
	const char **blacklist_additions;
	int			addition_count;
	const char **blacklist_removals;	/* removed before the additions are added, as in Hadoop's allocator */
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
	Datum	   *container_ids;	/* ids of the containers, as text; "allocations" has the same length */
	Datum	   *allocations;	/* yquota.resource */
	bool		is_repeated;	/* the previous call had the same response id; nothing has been decided again */
	YqOpportunisticStop stop;	/* rule that keeps the application from getting any containers */
	YqSharingRefusals refusals; /* containers refused because of sharing limits */
	int64	  **sizes;			/* per request: size of a container, in native units per type */
} YqOpportunisticAnswer;

/*
 * Record the application's requests, and allocate the containers for which there is
 * room.  Each container is started by an event and announced by a row of
 * yquota.decision; it does not run yet.  Raises the errors of yq_container_request()
 * and yq_blacklist_update().
 */
extern YqOpportunisticAnswer yq_allocate_opportunistic(const YqOpportunisticCall *call);

/*
 * Return the bounds of container sizes.  A bound that is not set for OPPORTUNISTIC
 * containers has the scheduler's general value.
 */
extern YqContainerBounds yq_opportunistic_bounds(const YqHierarchy *hierarchy, const YqAllocationSettings *settings);

#endif							/* YQ_ALLOCATE_OPPORTUNISTIC_H */
