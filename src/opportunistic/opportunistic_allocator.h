/*-------------------------------------------------------------------------
 *
 * opportunistic_allocator.h
 *	  Giving out opportunistic containers: on all nodes of the cluster, and on a list of
 *	  nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef YQ_OPPORTUNISTIC_ALLOCATOR_H
#define YQ_OPPORTUNISTIC_ALLOCATOR_H

#include "opportunistic/node_load.h"
#include "opportunistic/outstanding_request.h"
#include "opportunistic/sharing_limit.h"

/* -- central allocator --------------------------------------------------------- */

/*
 * Giving out opportunistic containers on all nodes of the cluster
 * (opportunistic 4).
 *
 * For each request hosts come first, then racks, then any of the least loaded nodes.
 * Labels and relaxed locality do not matter (opportunistic S2).  Knows no table: the
 * caller looks nodes up when the allocator asks for them.
 */

/* The nodes to choose from.  Slots are taken in the loads that the functions return. */
typedef struct YqNodeChoice
{
	YqLoadComparator comparator;
	const YqCalculator *calculator;
	int			candidate_count;	/* the first nodes-used of the load list */

	/*
	 * One of them by its place in the list; NULL: it has left since the list was made.  Unless the
	 * caller waits, a node where another transaction takes slots is passed over, and that is noted.
	 */
	YqNodeLoad *(*candidate) (struct YqNodeChoice *choice, int place, bool waits);
	bool		has_passed;

	/* A node that has reported; NULL: there is none of that name. */
	YqNodeLoad *(*node) (struct YqNodeChoice *choice, const char *name);

	/* The names of nodes of a rack, in the order in which they are tried; how many. */
	int			(*rack) (struct YqNodeChoice *choice, const char *rack, const char *const **names);

	/* The place, from 0 up to and without candidate_count, from which on any node is looked for. */
	int			(*start) (struct YqNodeChoice *choice);

	/* Told of the place at which it was found; may be NULL. */
	void		(*found) (struct YqNodeChoice *choice, int place);
} YqNodeChoice;

typedef struct YqCentralAllocation
{
	const YqOutstandingRequests *requests;
	const char **blacklist;		/* names of nodes, in order of strcmp() */
	int			blacklist_count;
	int			most;			/* containers in this heartbeat; not above 0: YQ_MOST_CONTAINERS_IN_CALL, which is the most in any case */
	bool		ignores_places; /* looks for any node at once */
	const YqSharingLimits *limits;	/* of the application; not Hadoop's */
	int64	  **sizes;			/* of a container of each request; where there are limits */
} YqCentralAllocation;

/* Containers of a request are refused by a limit, and stay asked for. */
typedef struct YqSharingRefusal
{
	int			request;		/* its number */
	const YqSharingLimit *limit;
} YqSharingRefusal;

typedef struct YqSharingRefusals
{
	YqSharingRefusal *refusals; /* at most one for a request */
	int			count;
} YqSharingRefusals;

/* Give out what there is room for.  The caller counts it as served. */
extern YqOpportunisticContainers yq_central_allocator_run(const YqCentralAllocation *allocation, YqNodeChoice *choice,
														  YqSharingRefusals *refusals);

/* -- distributed allocator ----------------------------------------------------- */

/*
 * Giving out opportunistic containers on a list of nodes, as a local scheduler
 * does that has been given the list (opportunistic 5).
 *
 * The order of the list is all that it knows of the load.  Unless an application asks
 * for a host, a node gets one container in a call.  Knows no table.
 */

/* A node of the list. */
typedef struct YqListedNode
{
	const char *name;			/* each once */
	const char *rack;
	const char *label;			/* "" for the default partition */
	bool		is_blacklisted;
} YqListedNode;

/*
 * Give out what there are nodes for, at most so many when "most" is above 0, and never more
 * than YQ_MOST_CONTAINERS_IN_CALL, and count it as served.
 */
extern YqOpportunisticContainers yq_distributed_allocator_run(YqOutstandingRequests *requests,
															  const YqListedNode *nodes, int node_count, int most);

#endif							/* YQ_OPPORTUNISTIC_ALLOCATOR_H */
