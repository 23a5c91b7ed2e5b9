/*-------------------------------------------------------------------------
 *
 * opportunistic_allocator.h
 *	  Allocates opportunistic containers: on all nodes of the cluster, or on a list of nodes.
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
 * Allocates opportunistic containers on all nodes of the cluster (opportunistic 4).
 *
 * For each request hosts come first, then racks, then any of the least loaded nodes.  Labels and
 * relaxed locality do not matter (opportunistic S2).  The allocator knows no table: the caller
 * looks nodes up when the allocator asks for them.
 */

/* The nodes to choose from.  Slots are taken in the loads that the functions return. */
typedef struct YqNodeChoice
{
	YqLoadComparator comparator;
	const YqCalculator *calculator;
	int			candidate_count;	/* the first nodes of the load list, as many as nodes-used */

	/*
	 * Returns a candidate by its place in the list; NULL: it has left since the list was made.
	 * Unless the caller waits, a node where another transaction takes slots is passed over;
	 * has_passed notes that.
	 */
	YqNodeLoad *(*candidate) (struct YqNodeChoice *choice, int place, bool waits);
	bool		has_passed;

	/* Returns a node that has reported; NULL: no such name. */
	YqNodeLoad *(*node) (struct YqNodeChoice *choice, const char *name);

	/* Sets the names of nodes of a rack, in the order of trial, and returns their number. */
	int			(*rack) (struct YqNodeChoice *choice, const char *rack, const char *const **names);

	/* Returns the place where the search for any node begins, at least 0 and less than candidate_count. */
	int			(*start) (struct YqNodeChoice *choice);

	/* Receives the place at which a node was found; may be NULL. */
	void		(*found) (struct YqNodeChoice *choice, int place);
} YqNodeChoice;

typedef struct YqCentralAllocation
{
	const YqOutstandingRequests *requests;
	const char **blacklist;		/* names of nodes, in order of strcmp() */
	int			blacklist_count;

	/* Most containers in this heartbeat, never more than YQ_MOST_CONTAINERS_IN_CALL; not above 0: that number. */
	int			most;
	bool		ignores_places; /* looks for any node at once, regardless of places */
	const YqSharingLimits *limits;	/* limits of the application; not Hadoop's */
	int64	  **sizes;			/* size of a container of each request; set where there are limits */
} YqCentralAllocation;

/* A limit that refuses containers of a request, which remain requested. */
typedef struct YqSharingRefusal
{
	int			request;		/* number of the request */
	const YqSharingLimit *limit;
} YqSharingRefusal;

typedef struct YqSharingRefusals
{
	YqSharingRefusal *refusals; /* at most one for a request */
	int			count;
} YqSharingRefusals;

/* Allocate the containers for which there is room.  The caller counts them as served. */
extern YqOpportunisticContainers yq_central_allocator_run(const YqCentralAllocation *allocation, YqNodeChoice *choice,
														  YqSharingRefusals *refusals);

/* -- distributed allocator ----------------------------------------------------- */

/*
 * Allocates opportunistic containers on a list of nodes, as a local scheduler does that has
 * received the list (opportunistic 5).
 *
 * The order of the list is all that it knows of the load.  Unless an application asks for a host, a
 * node gets one container in a call.  The allocator knows no table.
 */

/* A node of the list. */
typedef struct YqListedNode
{
	const char *name;			/* each name once */
	const char *rack;
	const char *label;			/* "" for the default partition */
	bool		is_blacklisted;
} YqListedNode;

/*
 * Allocate the containers for which there are nodes, and count them as served.  The number is at
 * most "most" when that is above 0, and never above YQ_MOST_CONTAINERS_IN_CALL.
 */
extern YqOpportunisticContainers yq_distributed_allocator_run(YqOutstandingRequests *requests,
															  const YqListedNode *nodes, int node_count, int most);

#endif							/* YQ_OPPORTUNISTIC_ALLOCATOR_H */
