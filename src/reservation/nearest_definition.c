/*-------------------------------------------------------------------------
 *
 * nearest_definition.c
 *	  What a user could ask for instead of a reservation that is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "reservation/nearest_definition.h"

/* Definitions that differ from the refused one by a number. */
typedef struct Search
{
	const YqReservationDefinition *refused;
	YqReservationDefinition variant;
	YqReservationRequest *requests; /* of the variant */
	void		(*vary) (struct Search *search, int64 number);
	int64		unit;			/* what the number counts or is a part of */
	YqDefinitionTest accepts;
	void	   *argument;
} Search;

static Search
begin_search(const YqReservationDefinition *refused, YqDefinitionTest accepts, void *argument)
{
	Size		bytes = sizeof(YqReservationRequest) * refused->count;
	Search		search = {.refused = refused,.variant = *refused,.requests = palloc(bytes),.accepts = accepts,.argument = argument};

	memcpy(search.requests, refused->requests, bytes);
	search.variant.requests = search.requests;
	return search;
}

static bool
is_accepted(Search *search, int64 number)
{
	CHECK_FOR_INTERRUPTS();
	search->vary(search, number);
	return search->accepts(&search->variant, search->argument);
}

/* Halve the way from an accepted number to a refused one until they are neighbours; the accepted one. */
static const YqReservationDefinition *
narrow(Search *search, int64 accepted, int64 refused)
{
	YqReservationDefinition *found = palloc(sizeof(YqReservationDefinition));

	while (accepted - refused > 1 || refused - accepted > 1)
	{
		int64		middle = accepted + (refused - accepted) / 2;

		if (is_accepted(search, middle))
			accepted = middle;
		else
			refused = middle;
	}
	search->vary(search, accepted);
	*found = search->variant;
	return found;
}

/* -- later --------------------------------------------------------------------------- */

static void
vary_deadline(Search *search, int64 number)
{
	search->variant.deadline = search->refused->deadline + number * search->unit;
}

const YqReservationDefinition *
yq_nearest_with_later_deadline(const YqReservationDefinition *definition, int64 step, int64 latest,
							   YqDefinitionTest accepts, void *argument)
{
	Search		search = begin_search(definition, accepts, argument);
	int64		most = (latest - definition->deadline) / step;
	int64		refused = 0;

	search.vary = vary_deadline;
	search.unit = step;
	while (refused < most)
	{
		int64		number = refused < most / 2 ? Max(2 * refused, 1) : most;

		if (is_accepted(&search, number))
			return narrow(&search, number, refused);
		refused = number;
	}
	return NULL;
}

/* -- fewer ---------------------------------------------------------------------------- */

static int64
part_of(int64 count, int64 number, int64 unit)
{
	return Max(count * number / unit, 1);
}

/* The largest request has so many gangs. */
static void
vary_gangs(Search *search, int64 number)
{
	for (int i = 0; i < search->refused->count; i++)
	{
		const YqReservationRequest *request = &search->refused->requests[i];

		search->requests[i].containers = request->concurrency * part_of(request->containers / request->concurrency, number, search->unit);
	}
}

/* The largest gang has so many containers, and each request has one. */
static void
vary_concurrency(Search *search, int64 number)
{
	for (int i = 0; i < search->refused->count; i++)
		search->requests[i].concurrency = search->requests[i].containers =
			part_of(search->refused->requests[i].concurrency, number, search->unit);
}

const YqReservationDefinition *
yq_nearest_with_fewer_containers(const YqReservationDefinition *definition, YqDefinitionTest accepts, void *argument)
{
	Search		search = begin_search(definition, accepts, argument);
	int64		gangs = 1;
	int64		concurrency = 1;

	for (int i = 0; i < definition->count; i++)
	{
		const YqReservationRequest *request = &definition->requests[i];

		gangs = Max(gangs, request->containers / request->concurrency);
		concurrency = Max(concurrency, request->concurrency);
	}
	search.vary = vary_gangs;
	search.unit = gangs;
	if (gangs > 1 && is_accepted(&search, 1))
		return narrow(&search, 1, gangs);
	search.vary = vary_concurrency;
	search.unit = concurrency;
	if (concurrency > 1 && is_accepted(&search, 1))
		return narrow(&search, 1, concurrency);
	return NULL;
}
