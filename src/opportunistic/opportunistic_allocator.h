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
 * Allocate OPPORTUNISTIC containers on all nodes of the cluster
 * (semantics/opportunistic 3).
 *
 * For each request, the named hosts are tried first, then the named racks, then the
 * least loaded nodes.  As in Hadoop, node labels and relaxed locality are ignored.  The
 * allocator reads no table.  It looks up nodes through the caller's callbacks.
 */

/*
 * The nodes among which the allocator chooses.  It takes slots by changing the loads
 * that the callbacks return.
 */
typedef struct YqNodeChoice
{
	YqLoadComparator comparator;
	const YqCalculator *calculator;
	int			candidate_count;	/* number of candidates for any node: the first nodes of the load list, at most
									 * nodes-used */

	/*
	 * Return the candidate at a position of the list, or NULL if the node has left since
	 * the list was made.  Without "waits", a node whose lock another transaction holds is
	 * passed over: the result is NULL, and has_passed is set.
	 */
	YqNodeLoad *(*candidate) (struct YqNodeChoice *choice, int place, bool waits);
	bool		has_passed;

	/* Return the node with this name, or NULL if no such node has reported. */
	YqNodeLoad *(*node) (struct YqNodeChoice *choice, const char *name);

	/*
	 * Return the number of nodes in a rack, and set *names to their names, in the order in
	 * which they are tried.
	 */
	int			(*rack) (struct YqNodeChoice *choice, const char *rack, const char *const **names);

	/* Return the position at which the search for any node begins, from 0 to candidate_count - 1. */
	int			(*start) (struct YqNodeChoice *choice);

	/* Note the position at which the search has found a node.  The callback may be NULL. */
	void		(*found) (struct YqNodeChoice *choice, int place);
} YqNodeChoice;

typedef struct YqCentralAllocation
{
	const YqOutstandingRequests *requests;
	const char **blacklist;		/* names of blacklisted nodes, sorted by strcmp() */
	int			blacklist_count;

	/*
	 * Limit on the containers that this heartbeat allocates.  0 or less stands for
	 * YQ_MOST_CONTAINERS_IN_CALL, and a larger limit is reduced to that number.
	 */
	int			most;
	bool		ignores_places; /* ignore the hosts and racks that requests name */
	const YqSharingLimits *limits;	/* sharing limits that apply to the application; Hadoop has none */
	int64	  **sizes;			/* per request: size of a container; set only if there are sharing limits */
} YqCentralAllocation;

/* A sharing limit by which a request gets fewer containers than wanted.  The request for the rest stays open. */
typedef struct YqSharingRefusal
{
	int			request;		/* index of the request */
	const YqSharingLimit *limit;
} YqSharingRefusal;

typedef struct YqSharingRefusals
{
	YqSharingRefusal *refusals; /* at most one refusal for each request */
	int			count;
} YqSharingRefusals;

/*
 * Allocate the containers for which there are slots.  The caller then subtracts them
 * from the requests (yq_outstanding_request_serve).
 */
extern YqOpportunisticContainers yq_central_allocator_run(const YqCentralAllocation *allocation, YqNodeChoice *choice,
														  YqSharingRefusals *refusals);

/* -- distributed allocator ----------------------------------------------------- */

/*
 * Allocate OPPORTUNISTIC containers on a list of nodes.  A local scheduler does this
 * after it has received the list (semantics/opportunistic 4).
 *
 * The allocator knows the load of the nodes only by their order in the list.  A node
 * gets at most one container per call, unless a request names it as a host.  The
 * allocator reads no table.
 */

/* A node in the list that a local scheduler has received. */
typedef struct YqListedNode
{
	const char *name;			/* name of the node, which occurs once in the list */
	const char *rack;
	const char *label;			/* node label; "" is the default partition */
	bool		is_blacklisted;
} YqListedNode;

/*
 * Allocate the containers for which there are nodes, and subtract them from the
 * requests.  If "most" is above 0, at most that number is allocated.  A call never
 * allocates more than YQ_MOST_CONTAINERS_IN_CALL.
 */
extern YqOpportunisticContainers yq_distributed_allocator_run(YqOutstandingRequests *requests,
															  const YqListedNode *nodes, int node_count, int most);

#endif							/* YQ_OPPORTUNISTIC_ALLOCATOR_H */
