/*-------------------------------------------------------------------------
 *
 * distributed_allocator.c
 *	  Giving out opportunistic containers on a list of nodes.
 *
 * As Hadoop's DistributedOpportunisticContainerAllocator does: in rounds, in each of
 * which a request gets one container at most.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "opportunistic/distributed_allocator.h"

typedef struct NodeList
{
	const YqListedNode *nodes;
	int			count;
	bool	   *is_used;		/* has had a container in this call */
} NodeList;

static bool
has_label(const YqListedNode *node, const YqOutstandingRequest *request)
{
	return strcmp(node->label, request->label) == 0;
}

static int
find_listed(const NodeList *list, const char *name)
{
	for (int i = 0; i < list->count; i++)
	{
		if (strcmp(list->nodes[i].name, name) == 0)
			return i;
	}
	return -1;
}

/* The number of the node that each stage gives, or -1. */

/* Hadoop looks at as many hosts of the list as containers are wanted, blacklisted ones included. */
static int
find_host(const NodeList *list, const YqOutstandingRequest *request)
{
	int			seen = 0;

	for (int i = 0; i < request->hosts.count && seen < request->count; i++)
	{
		int			number = find_listed(list, request->hosts.places[i].name);

		if (number < 0 || !has_label(&list->nodes[number], request))
			continue;
		if (!list->nodes[number].is_blacklisted)
			return number;
		seen++;
	}
	return -1;
}

static bool
is_wanted_rack(const YqOutstandingRequest *request, const char *rack)
{
	for (int i = 0; i < request->racks.count; i++)
	{
		if (strcmp(request->racks.places[i].name, rack) == 0)
			return true;
	}
	return false;
}

static bool
is_free_in_wanted_rack(const NodeList *list, const YqOutstandingRequest *request, int number)
{
	const YqListedNode *node = &list->nodes[number];

	return !list->is_used[number] && !node->is_blacklisted && has_label(node, request) &&
		is_wanted_rack(request, node->rack);
}

/*
 * Hadoop collects as many unused nodes as containers are wanted, over and over again if
 * there are fewer, and takes the one that it has collected last.
 */
static int
find_in_rack(const NodeList *list, const YqOutstandingRequest *request)
{
	int			free_count = 0;
	int			last;

	for (int i = 0; i < list->count; i++)
		free_count += is_free_in_wanted_rack(list, request, i);
	if (free_count == 0)
		return -1;
	last = (request->count - 1) % free_count;
	for (int i = 0; i < list->count; i++)
	{
		if (is_free_in_wanted_rack(list, request, i) && last-- == 0)
			return i;
	}
	return -1;
}

static int
find_anywhere(const NodeList *list, const YqOutstandingRequest *request)
{
	for (int i = 0; i < list->count; i++)
	{
		if (!list->is_used[i] && !list->nodes[i].is_blacklisted && has_label(&list->nodes[i], request))
			return i;
	}
	return -1;
}

/* Racks are looked at only by those that ask for a host, too. */
static bool
serve_one(const NodeList *list, YqOpportunisticContainers *containers, const YqOutstandingRequests *requests,
		  int request_number)
{
	const YqOutstandingRequest *request = &requests->requests[request_number];
	YqLocality	locality = YQ_NODE_LOCAL;
	int			number = -1;
	const YqListedNode *node;

	if (request->hosts.count > 0)
	{
		number = find_host(list, request);
		if (number < 0)
		{
			locality = YQ_RACK_LOCAL;
			number = find_in_rack(list, request);
		}
	}
	if (number < 0)
	{
		locality = YQ_OFF_SWITCH;
		number = find_anywhere(list, request);
	}
	if (number < 0)
		return false;
	node = &list->nodes[number];
	list->is_used[number] = true;
	yq_outstanding_request_note(containers, request_number, node->name, locality,
								  locality == YQ_NODE_LOCAL ? node->name : locality == YQ_RACK_LOCAL ? node->rack : NULL);
	return true;
}

YqOpportunisticContainers
yq_distributed_allocator_run(YqOutstandingRequests *requests, const YqListedNode *nodes, int node_count, int most)
{
	YqOpportunisticContainers containers = {NULL, 0};
	NodeList	list = {nodes, node_count, palloc0(sizeof(bool) * Max(node_count, 1))};
	int			from;

	most = most > 0 ? Min(most, YQ_MOST_CONTAINERS_IN_CALL) : YQ_MOST_CONTAINERS_IN_CALL;
	do
	{
		CHECK_FOR_INTERRUPTS();
		from = containers.count;
		for (int i = 0; i < requests->count && containers.count < most; i++)
		{
			if (requests->requests[i].count > 0)
				(void) serve_one(&list, &containers, requests, i);
		}
		yq_outstanding_request_serve(requests, &containers, from);
	} while (containers.count > from);
	pfree(list.is_used);
	return containers;
}
