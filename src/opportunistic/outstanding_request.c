/*-------------------------------------------------------------------------
 *
 * outstanding_request.c
 *	  Keeps the opportunistic containers that an application has requested and not
 *	  received.
 *
 * This follows Hadoop's OpportunisticContainerContext. yquota sorts places by their
 * names; in Hadoop, they have the order of a hash table.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "opportunistic/outstanding_request.h"

bool
yq_outstanding_request_is_rack(const char *name)
{
	return name[0] == '/';
}

/* -- places ------------------------------------------------------------------ */

/* Return the index of the first place whose name is equal to the name or sorts after it. */
static int
rank_of_place(const YqWantedPlaces *wanted, const char *name)
{
	int			from = 0;
	int			below = wanted->count;

	while (from < below)
	{
		int			middle = from + (below - from) / 2;

		if (strcmp(wanted->places[middle].name, name) < 0)
			from = middle + 1;
		else
			below = middle;
	}
	return from;
}

/* Find a place by its name.  Returns NULL if no container is wanted there. */
static YqWantedPlace *
find_place(const YqWantedPlaces *wanted, const char *name)
{
	int			at = rank_of_place(wanted, name);

	if (wanted->places == NULL || at == wanted->count)
		return NULL;
	return strcmp(wanted->places[at].name, name) == 0 ? &wanted->places[at] : NULL;
}

/* Enlarge an array for another element.  The capacity is always a power of two. */
static void *
make_room(void *array, int count, Size size)
{
	if (count == 0)
		return palloc(size);
	if ((count & (count - 1)) != 0)
		return array;
	return repalloc_huge(array, (Size) count * 2 * size);
}

static YqWantedPlace *
insert_place(YqWantedPlaces *wanted, const char *name)
{
	int			at = rank_of_place(wanted, name);
	YqWantedPlace *place;

	wanted->places = make_room(wanted->places, wanted->count, sizeof(YqWantedPlace));
	place = &wanted->places[at];
	memmove(place + 1, place, sizeof(YqWantedPlace) * (wanted->count - at));
	wanted->count++;
	place->name = name;
	return place;
}

static void
remove_place(YqWantedPlaces *wanted, YqWantedPlace *place)
{
	const YqWantedPlace *end = wanted->places + wanted->count;

	memmove(place, place + 1, sizeof(YqWantedPlace) * (end - (place + 1)));
	wanted->count--;
}

static void
set_place(YqWantedPlaces *wanted, const char *name, int32 count)
{
	YqWantedPlace *place = find_place(wanted, name);

	if (count == 0)
	{
		if (place != NULL)
			remove_place(wanted, place);
		return;
	}
	if (place == NULL)
		place = insert_place(wanted, name);
	place->count = count;
}

static void
serve_place(YqOutstandingRequest *request, const char *name)
{
	YqWantedPlaces *wanted = yq_outstanding_request_is_rack(name) ? &request->racks : &request->hosts;
	YqWantedPlace *place = find_place(wanted, name);

	if (place != NULL && --place->count == 0)
		remove_place(wanted, place);
}

/* -- requests ---------------------------------------------------------------- */

/*
 * Compare two requests by their keys.  The larger priority number comes first, then the
 * larger id.  The scheduler uses the reverse order, as in Hadoop.
 */
static int
compare_keys(const YqOutstandingRequest *a, const YqOutstandingRequest *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	if (a->allocation_request_id != b->allocation_request_id)
		return a->allocation_request_id > b->allocation_request_id ? -1 : 1;
	return 0;
}

/* Return the index of the first request whose key is equal to the key or sorts after it. */
static int
find_request(const YqOutstandingRequests *requests, const YqOutstandingRequest *key, bool *found)
{
	int			from = 0;
	int			below = requests->count;

	while (from < below)
	{
		int			middle = from + (below - from) / 2;

		if (compare_keys(&requests->requests[middle], key) < 0)
			from = middle + 1;
		else
			below = middle;
	}
	*found = from < requests->count && compare_keys(&requests->requests[from], key) == 0;
	return from;
}

static YqOutstandingRequest *
insert_request(YqOutstandingRequests *requests, int at, const YqOutstandingRequest *ask, int32 count)
{
	YqOutstandingRequest *request;

	requests->requests = make_room(requests->requests, requests->count, sizeof(YqOutstandingRequest));
	request = &requests->requests[at];
	memmove(request + 1, request, sizeof(YqOutstandingRequest) * (requests->count - at));
	requests->count++;
	*request = (YqOutstandingRequest) {
		.priority = ask->priority,
		.allocation_request_id = ask->allocation_request_id,
		.asked = ask->asked,
		.label = ask->label != NULL ? ask->label : "",
		.first_seen_at = ask->first_seen_at,
		.expected_duration = ask->expected_duration,
		.count = count
	};
	return request;
}

bool
yq_outstanding_request_add(YqOutstandingRequests *requests, const YqCalculator *calculator,
							 const YqOutstandingRequest *ask, const char *name, int32 count)
{
	bool		found;
	int			at = find_request(requests, ask, &found);
	YqOutstandingRequest *request;

	if (!found)
		request = insert_request(requests, at, ask, count);
	else
	{
		request = &requests->requests[at];
		if (!yq_amounts_are_equal(calculator, request->asked, ask->asked))
			return false;
	}
	if (strcmp(name, "*") == 0)
	{
		request->count = count;
		request->expected_duration = ask->expected_duration;
	}
	else
		set_place(yq_outstanding_request_is_rack(name) ? &request->racks : &request->hosts, name, count);
	return true;
}

/* -- containers ---------------------------------------------------------------- */

void
yq_outstanding_request_note(YqOpportunisticContainers *containers, int request, const char *node,
							  YqLocality locality, const char *place)
{
	containers->containers = make_room(containers->containers, containers->count, sizeof(YqOpportunisticContainer));
	containers->containers[containers->count++] = (YqOpportunisticContainer) {request, node, locality, place};
}

void
yq_outstanding_request_serve(YqOutstandingRequests *requests, const YqOpportunisticContainers *containers, int from)
{
	for (int i = from; i < containers->count; i++)
	{
		YqOutstandingRequest *request = &requests->requests[containers->containers[i].request];

		request->count--;
		if (request->count == 0)
			request->hosts.count = request->racks.count = 0;
		else if (containers->containers[i].place != NULL)
			serve_place(request, containers->containers[i].place);
	}
}

static int64
size_of(int64 asked, int64 minimum, int64 maximum, int64 increment)
{
	int64		amount = Max(asked, minimum);
	int64		missing;

	if (amount >= maximum)
		return maximum;
	if (increment == 0 || amount % increment == 0)
		return amount;
	missing = increment - amount % increment;
	return maximum - amount <= missing ? maximum : amount + missing;
}

void
yq_outstanding_request_size(const YqCalculator *calculator, int64 *result, const int64 *asked,
							  const YqContainerBounds *bounds)
{
	for (int i = 0; i < calculator->types; i++)
		result[i] = size_of(asked[i], bounds->minimum[i], bounds->maximum[i], bounds->increment[i]);
}
