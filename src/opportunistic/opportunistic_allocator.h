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
 * For each request hosts come first, then racks, then any of the least loaded nodes.
 * Labels and relaxed locality do not matter (opportunistic S2).  The allocator uses no
 * table: it calls back the caller, which looks nodes up.
 */

/* The nodes to choose from.  The allocator takes slots in the loads that the callbacks return. */
typedef struct YqNodeChoice
{
	YqLoadComparator comparator;
	const YqCalculator *calculator;
	int			candidate_count;	/* number of candidates: the first nodes of the load list, up to nodes-used */

	/*
	 * Return the candidate at a position of the list, or NULL if it has left since the list
	 * was made. Unless "waits" is set, the callback passes over a node on which another
	 * transaction takes slots, and sets has_passed.
	 */
	YqNodeLoad *(*candidate) (struct YqNodeChoice *choice, int place, bool waits);
	bool		has_passed;

	/* Return a node that has reported, or NULL if there is none with this name. */
	YqNodeLoad *(*node) (struct YqNodeChoice *choice, const char *name);

	/* Set the names of the nodes of a rack, in the order in which they are tried, and return their number. */
	int			(*rack) (struct YqNodeChoice *choice, const char *rack, const char *const **names);

	/*
	 * Return the position at which the search for any node begins, at least 0 and less than
	 * candidate_count.
	 */
	int			(*start) (struct YqNodeChoice *choice);

	/* Receive the position at which a node was found; may be NULL. */
	void		(*found) (struct YqNodeChoice *choice, int place);
} YqNodeChoice;

typedef struct YqCentralAllocation
{
	const YqOutstandingRequests *requests;
	const char **blacklist;		/* names of nodes, in order of strcmp() */
	int			blacklist_count;

	/*
	 * Limit on containers in this heartbeat, at most YQ_MOST_CONTAINERS_IN_CALL; 0 or less
	 * means that number.
	 */
	int			most;
	bool		ignores_places; /* ignore requested hosts and racks, and search for any node at once */
	const YqSharingLimits *limits;	/* limits that apply to the application; not in Hadoop */
	int64	  **sizes;			/* size of a container, per request; set only if there are limits */
} YqCentralAllocation;

/* A limit that refuses containers of a request.  The application still waits for them. */
typedef struct YqSharingRefusal
{
	int			request;		/* number of the request */
	const YqSharingLimit *limit;
} YqSharingRefusal;

typedef struct YqSharingRefusals
{
	YqSharingRefusal *refusals; /* at most one per request */
	int			count;
} YqSharingRefusals;

/* Allocate the containers for which there is room.  The caller counts them as served. */
extern YqOpportunisticContainers yq_central_allocator_run(const YqCentralAllocation *allocation, YqNodeChoice *choice,
														  YqSharingRefusals *refusals);

/* -- distributed allocator ----------------------------------------------------- */

/*
 * Allocates opportunistic containers on a list of nodes, as a local scheduler does
 * after it has received the list (opportunistic 5).
 *
 * The order of the list is all that the allocator knows about the load.  Unless an
 * application asks for a host, a node gets at most one container per call.  The
 * allocator uses no table.
 */

/* A node of the list. */
typedef struct YqListedNode
{
	const char *name;			/* each name occurs once */
	const char *rack;
	const char *label;			/* "" for the default partition */
	bool		is_blacklisted;
} YqListedNode;

/*
 * Allocate the containers for which there are nodes, and count them as served.  If
 * "most" is above 0, it limits their number.  The number never exceeds
 * YQ_MOST_CONTAINERS_IN_CALL.
 */
extern YqOpportunisticContainers yq_distributed_allocator_run(YqOutstandingRequests *requests,
															  const YqListedNode *nodes, int node_count, int most);

#endif							/* YQ_OPPORTUNISTIC_ALLOCATOR_H */
