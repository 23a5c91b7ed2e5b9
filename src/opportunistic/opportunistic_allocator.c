/*-------------------------------------------------------------------------
 *
 * opportunistic_allocator.c
 *	  Allocates opportunistic containers: on all nodes of the cluster, or on a list of
 *	  nodes.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "opportunistic/opportunistic_allocator.h"

/* -- central allocator --------------------------------------------------------- */

/*
 * Allocate OPPORTUNISTIC containers on all nodes of the cluster.
 *
 * This follows Hadoop's CentralizedOpportunisticContainerAllocator.  A node that has no
 * slot for a request will have none for it during the rest of the heartbeat.  The
 * allocator therefore does not try the node again for this request.
 */

/* State while a request is served. */
typedef struct Serving
{
	const YqCentralAllocation *allocation;
	YqNodeChoice *choice;
	YqOpportunisticContainers *containers;
	const YqOutstandingRequest *request;
	int			number;			/* index of the request */
	int			left;			/* number of containers that are still to be allocated */
} Serving;

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static bool
is_blacklisted(const YqCentralAllocation *allocation, const char *node)
{
	return allocation->blacklist_count > 0 &&
		bsearch(&node, allocation->blacklist, allocation->blacklist_count, sizeof(char *), compare_names) != NULL;
}

static bool
take(Serving *serving, YqNodeLoad *load, YqLocality locality, const char *place)
{
	if (load == NULL || is_blacklisted(serving->allocation, load->name) ||
		!yq_node_load_take_slot(serving->choice->comparator, serving->choice->calculator, load, serving->request->asked))
		return false;
	yq_outstanding_request_note(serving->containers, serving->number, load->name, locality, place);
	serving->left--;
	return true;
}

/* Take slots on a node, at most the wanted number.  Returns the number of slots taken. */
static int
take_several(Serving *serving, const char *name, int wanted, YqLocality locality, const char *place)
{
	YqNodeLoad *load = serving->choice->node(serving->choice, name);
	int			taken = 0;

	while (taken < wanted && take(serving, load, locality, place))
	{
		CHECK_FOR_INTERRUPTS();
		taken++;
	}
	return taken;
}

static void
serve_hosts(Serving *serving)
{
	const YqWantedPlaces *hosts = &serving->request->hosts;

	for (int i = 0; i < hosts->count && serving->left > 0; i++)
		(void) take_several(serving, hosts->places[i].name, Min(hosts->places[i].count, serving->left),
							YQ_NODE_LOCAL, hosts->places[i].name);
}

static void
serve_rack(Serving *serving, const YqWantedPlace *rack)
{
	const char *const *names;
	int			count = serving->choice->rack(serving->choice, rack->name, &names);
	int			wanted = Min(rack->count, serving->left);

	for (int i = 0; i < count && wanted > 0; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!is_blacklisted(serving->allocation, names[i]))
			wanted -= take_several(serving, names[i], wanted, YQ_RACK_LOCAL, rack->name);
	}
}

static void
serve_racks(Serving *serving)
{
	const YqWantedPlaces *racks = &serving->request->racks;

	for (int i = 0; i < racks->count && serving->left > 0; i++)
		serve_rack(serving, &racks->places[i]);
}

/* -- any of the least loaded nodes ----------------------------------------------- */

/*
 * Return the first open position at or after "place".  For a closed position, "next"
 * contains a later position; for an open position, it contains the position itself.
 * The array has one element more than there are positions.  This last element is
 * always open, and marks the end.
 */
static int
find_open(int *next, int place)
{
	int			open = place;

	while (next[open] != open)
		open = next[open];
	while (next[place] != open)
	{
		int			following = next[place];

		next[place] = open;
		place = following;
	}
	return open;
}

/*
 * Allocate a container on the next candidate that has a slot.  Each position is tried
 * once: from the start position to the end, then from the first position.  Returns
 * false if no candidate has a slot.
 */
static bool
serve_anywhere_once(Serving *serving, int *next, bool waits)
{
	YqNodeChoice *choice = serving->choice;
	int			end = choice->candidate_count;
	int			start = choice->start(choice);
	int			place = find_open(next, start);
	bool		is_around = false;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (place == end && !is_around)
		{
			is_around = true;
			place = find_open(next, 0);
		}
		if (place == end || (is_around && place >= start))
			return false;
		if (take(serving, choice->candidate(choice, place, waits), YQ_OFF_SWITCH, NULL))
			break;
		next[place] = place + 1;
		place = find_open(next, place);
	}
	if (choice->found != NULL)
		choice->found(choice, place);
	return true;
}

static void
serve_candidates(Serving *serving, bool waits)
{
	int			count = serving->choice->candidate_count;
	int		   *next;

	if (serving->left <= 0 || count == 0)
		return;
	next = palloc(sizeof(int) * (count + 1));
	for (int i = 0; i <= count; i++)
		next[i] = i;
	while (serving->left > 0 && serve_anywhere_once(serving, next, waits))
		;
	pfree(next);
}

/*
 * First try the candidates whose locks are free, then the candidates whose locks other
 * transactions hold.  The search may begin at any position, so this order is allowed.
 */
static void
serve_anywhere(Serving *serving)
{
	serving->choice->has_passed = false;
	serve_candidates(serving, false);
	if (serving->choice->has_passed)
		serve_candidates(serving, true);
}

/* -- limits of sharing ------------------------------------------------------------ */

/* Reduce the number of containers still to be allocated to the number that fits under all sharing limits. */
static void
keep_below_limits(Serving *serving, const YqSharingLimits *limits, YqSharingRefusals *refusals)
{
	const YqSharingLimit *refusing;
	int			room;

	if (limits->count == 0 || serving->left <= 0)
		return;
	room = yq_sharing_limits_room(serving->choice->calculator, limits, serving->allocation->sizes[serving->number], serving->left, &refusing);
	if (refusing != NULL)
		refusals->refusals[refusals->count++] = (YqSharingRefusal) {.request = serving->number,
			.limit = &serving->allocation->limits->limits[refusing - limits->limits]};
	serving->left = room;
}

YqOpportunisticContainers
yq_central_allocator_run(const YqCentralAllocation *allocation, YqNodeChoice *choice, YqSharingRefusals *refusals)
{
	YqSharingLimits limits = yq_sharing_limits_copy(choice->calculator, allocation->limits);
	YqOpportunisticContainers containers = {NULL, 0};
	Serving		serving = {.allocation = allocation,.choice = choice,.containers = &containers};
	int			most = allocation->most > 0 ? Min(allocation->most, YQ_MOST_CONTAINERS_IN_CALL) : YQ_MOST_CONTAINERS_IN_CALL;

	refusals->count = 0;
	refusals->refusals = limits.count == 0 ? NULL : palloc(sizeof(YqSharingRefusal) * allocation->requests->count);
	for (int i = 0; i < allocation->requests->count; i++)
	{
		int			before = containers.count;

		serving.request = &allocation->requests->requests[i];
		serving.number = i;
		serving.left = Min(serving.request->count, most - containers.count);
		keep_below_limits(&serving, &limits, refusals);
		if (!allocation->ignores_places)
		{
			serve_hosts(&serving);
			serve_racks(&serving);
		}
		serve_anywhere(&serving);
		if (limits.count > 0)
			yq_sharing_limits_count(choice->calculator, &limits, allocation->sizes[i], containers.count - before);
	}
	return containers;
}

/* -- distributed allocator ----------------------------------------------------- */

/*
 * Allocate OPPORTUNISTIC containers on a list of nodes.
 *
 * This follows Hadoop's DistributedOpportunisticContainerAllocator, which works in
 * rounds.  In each round, a request gets at most one container.
 */

typedef struct NodeList
{
	const YqListedNode *nodes;
	int			count;
	bool	   *is_used;		/* has the node received a container in this call? */
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

/* Stages of the search for a node.  Each stage returns the index of a node, or -1. */

/*
 * Find a host that the request names.  Hadoop examines only as many of the named hosts
 * on the list as containers are wanted.  Blacklisted hosts count among these.
 */
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
 * Find a node in a rack that the request names.  Hadoop collects as many unused nodes
 * as containers are wanted, and then takes the node collected last.  If there are fewer
 * nodes, it collects nodes repeatedly.
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

/* Allocate one container for a request.  Named racks are only searched if the request also names a host. */
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
