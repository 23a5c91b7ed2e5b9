/*-------------------------------------------------------------------------
 *
 * reservation_agent.c
 *	  Places a reservation in a plan, request after request, and finds acceptable
 *	  alternatives to a refused reservation.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "reservation/reservation_agent.h"
#include "reservation/stage_allocator.h"
#include "utils/memutils.h"

/* -- reservation agent --------------------------------------------------------- */

/* -- intervals for a request --------------------------------------------------------- */

static int64
round_down(int64 time, int64 step)
{
	return time / step * step;
}

static bool
is_ordered(const YqReservationDefinition *definition)
{
	return definition->interpreter == YQ_RESERVE_ORDER || definition->interpreter == YQ_RESERVE_ORDER_NO_GAP;
}

/*
 * Set the interval in which a request may be placed.  If requests are ordered, the interval
 * begins after the requests that are already placed or, from the right, ends before them.
 */
static void
find_interval(const YqPlacement *placement, int64 *start, int64 *end)
{
	const YqReservationDefinition *definition = placement->definition;
	bool		is_left = placement->agent->favors_early;
	int64		bound = is_left ? yq_steps_latest(placement->result) : yq_steps_earliest(placement->result);

	*start = definition->arrival;
	*end = definition->deadline;
	if (!is_ordered(definition) || bound == -1)
		return;
	if (is_left)
		*start = bound;
	else
		*end = bound;
}

static double
weight_of(const YqReservationRequest *request)
{
	return (double) (request->duration * request->capability[YQ_MEMORY]) * request->containers;
}

/*
 * Set the interval of a request by its weight.  The time that exceeds the sum of all
 * durations is distributed by the requests' weights.
 */
static void
find_interval_by_demand(const YqPlacement *placement, int at, int64 *start, int64 *end)
{
	const YqReservationDefinition *definition = placement->definition;
	bool		is_left = placement->agent->favors_early;
	double		weights = 0;
	int64		durations = 0;
	int64		own = yq_stage_duration(placement, &definition->requests[at]);
	double		part;

	find_interval(placement, start, end);
	if (!is_ordered(definition))
		return;
	/* add up this request and all requests that will be placed after it */
	for (int i = is_left ? definition->count - 1 : 0;; i += is_left ? -1 : 1)
	{
		weights += weight_of(&definition->requests[i]);
		durations += yq_stage_duration(placement, &definition->requests[i]);
		if (i == at)
			break;
	}
	part = (*end - *start - durations) * (weight_of(&definition->requests[at]) / weights);
	if (is_left)
		*end = round_down((int64) (*start + own + part), placement->plan->step);
	else
		*start = yq_stage_round_up((int64) (*end - own - part), placement->plan->step);
}

/* -- requests one after the other ------------------------------------------------------ */

static YqPlanFailure
check_request(const YqPlan *plan, const YqReservationRequest *request)
{
	if (request->concurrency < 1)
		return YQ_PLAN_CONCURRENCY;
	if (request->containers <= 0)
		return YQ_PLAN_CONTAINERS;
	if (request->containers % request->concurrency != 0)
		return YQ_PLAN_GANGS;
	if (yq_amounts_compare(plan->calculator, plan->capacity, request->capability, plan->maximum_allocation) > 0)
		return YQ_PLAN_TOO_LARGE_CONTAINER;
	return YQ_PLAN_ACCEPTED;
}

/* Do the placements form one block?  Then exactly two times are the ends of an odd number of placements. */
static bool
is_one_block(const YqCalculator *calculator, const YqStagePlaces *places)
{
	int64	   *times = palloc_extended(sizeof(int64) * 2 * Max(places->count, 1), MCXT_ALLOC_HUGE);
	int			count = 0;
	int			odd = 0;

	for (int i = 0; i < places->count; i++)
	{
		if (yq_amounts_are_none(calculator, places->intervals[i].amounts))
			continue;
		times[count++] = places->intervals[i].start;
		times[count++] = places->intervals[i].end;
	}
	qsort(times, count, sizeof(int64), yq_times_compare);
	for (int i = 0; i < count;)
	{
		int			first = i;

		while (i < count && times[i] == times[first])
			i++;
		odd += (i - first) % 2;
	}
	pfree(times);
	return odd == 2;
}

static bool
has_gap(const YqPlacement *placement, const YqStagePlaces *places)
{
	bool		is_left = placement->agent->favors_early;
	int64		bound = is_left ? yq_steps_latest(placement->result) : yq_steps_earliest(placement->result);
	int64		earliest = YQ_TIME_ENDS;
	int64		latest = YQ_TIME_BEGINS;

	for (int i = 0; i < places->count; i++)
	{
		earliest = Min(earliest, places->intervals[i].start);
		latest = Max(latest, places->intervals[i].end);
	}
	if (bound != -1 && (is_left ? bound < earliest : latest < bound))
		return true;
	return !is_one_block(placement->plan->calculator, places);
}

/* Have an allocator place a request. */
static YqPlanFailure
allocate(YqPlacement *placement, int at, bool aligns, YqStagePlaces *places)
{
	const YqReservationRequest *request = &placement->definition->requests[at];
	int64		start;
	int64		end;

	if (aligns)
	{
		find_interval_by_demand(placement, at, &start, &end);
		return yq_aligned_allocator_place(placement, request, start, end, places);
	}
	find_interval(placement, &start, &end);
	return yq_greedy_allocator_place(placement, request, start, end, places);
}

/* Place the request, and add its placements to the result. */
static YqPlanFailure
place_request(YqPlacement *placement, int at, bool aligns)
{
	YqStagePlaces places = {NULL, 0, 0};
	YqPlanFailure failure = check_request(placement->plan, &placement->definition->requests[at]);

	if (failure == YQ_PLAN_ACCEPTED)
		failure = allocate(placement, at, aligns, &places);
	if (failure != YQ_PLAN_ACCEPTED)
		return failure;
	if (placement->definition->interpreter == YQ_RESERVE_ORDER_NO_GAP && has_gap(placement, &places))
		return YQ_PLAN_GAP;
	for (int i = 0; i < places.count; i++)
		(void) yq_steps_add_interval(placement->result, places.intervals[i].start, places.intervals[i].end,
									 places.intervals[i].amounts);
	return YQ_PLAN_ACCEPTED;
}

static YqPlanFailure
place_requests(YqPlacement *placement, bool aligns)
{
	const YqReservationDefinition *definition = placement->definition;
	bool		is_any = definition->interpreter == YQ_RESERVE_ANY;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota request of a reservation", ALLOCSET_DEFAULT_SIZES);
	YqPlanFailure failure = YQ_PLAN_NO_ROOM;

	for (int i = 0; i < definition->count; i++)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);

		failure = place_request(placement, placement->agent->favors_early ? i : definition->count - 1 - i, aligns);
		MemoryContextSwitchTo(caller);
		/* free the memory of the search */
		MemoryContextReset(scratch);
		if (is_any ? failure != YQ_PLAN_NO_ROOM : failure != YQ_PLAN_ACCEPTED)
			break;
	}
	MemoryContextDelete(scratch);
	return failure == YQ_PLAN_ACCEPTED && yq_steps_are_empty(placement->result) ? YQ_PLAN_NO_ROOM : failure;
}

/* -- a reservation ---------------------------------------------------------------------- */

static YqPlacement
begin_placement(const YqReservationAgent *agent, const YqPlan *plan, const YqReservationDefinition *definition,
				const char *username, const YqPlanReservation *old)
{
	int64		start = yq_stage_round_up(definition->arrival, plan->step);
	int64		end = round_down(definition->deadline, plan->step);
	YqPlacement placement = {
		.agent = agent,.plan = plan,.definition = definition,.username = username,.old = old,
		.load = yq_plan_committed(plan, start, end),
		.changes = yq_steps_make(plan->calculator, 0),
		.result = yq_steps_make(plan->calculator, 0),
		.context = CurrentMemoryContext,
		.windows = plan->most_windows
	};

	if (old != NULL)
		placement.load = yq_steps_merge(plan->capacity, placement.load, old->over_time, YQ_STEPS_SUBTRACT, start, end);
	return placement;
}

/*
 * Move the intervals into one period.  An interval that exceeds the period is split in two,
 * so the array has room for twice as many intervals.
 */
static int
wrap_intervals(int64 period, YqTimeInterval *intervals, int count)
{
	int			total = count;

	for (int i = 0; i < count; i++)
	{
		YqTimeInterval *interval = &intervals[i];
		int64		length = interval->end - interval->start;

		interval->start %= period;
		interval->end = interval->start + length;
		if (interval->end > period)
		{
			intervals[total] = *interval;
			intervals[total].start = 0;
			intervals[total++].end = interval->end - period;
			interval->end = period;
		}
	}
	return total;
}

static YqPlanReservation *
make_reservation(const YqPlacement *placement, YqPlan *plan, YqReservationId id)
{
	const YqReservationDefinition *definition = placement->definition;
	const YqStepFunction *result = placement->result;
	YqTimeInterval *intervals;
	int			count;

	if (definition->period > 0 && !plan->wraps)
		result = yq_steps_make_periodic(result, definition->period);
	count = yq_steps_intervals(result, &intervals);
	if (definition->period > 0 && plan->wraps)
	{
		intervals = repalloc_huge(intervals, sizeof(YqTimeInterval) * Max(2 * count, 1));
		count = wrap_intervals(definition->period, intervals, count);
	}
	return yq_plan_make_reservation(plan, id, placement->username, definition->arrival, definition->deadline,
									definition->period, intervals, count);
}

static YqPlanFailure
place_by(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id, const char *username,
		 const YqReservationDefinition *definition, int64 now, bool aligns, YqPlanReservation **reservation)
{
	YqPlacement placement;
	YqPlanFailure failure;

	if (yq_steps_repeat_too_often(plan->periodic, definition->arrival, definition->deadline))
		return YQ_PLAN_REPEATS;
	placement = begin_placement(agent, plan, definition, username, yq_plan_find(plan, id));
	failure = place_requests(&placement, aligns);
	if (failure != YQ_PLAN_ACCEPTED)
		return failure;
	*reservation = make_reservation(&placement, plan, id);
	return placement.old != NULL ? yq_plan_replace(plan, *reservation, now) : yq_plan_add(plan, *reservation, now);
}

YqPlanFailure
yq_reservation_agent_place(const YqReservationAgent *agent, YqPlan *plan, YqReservationId id, const char *username,
						   const YqReservationDefinition *definition, int64 now,
						   YqPlanReservation **reservation)
{
	YqPlanFailure failure = YQ_PLAN_NO_ROOM;

	if (agent->aligns)
		failure = place_by(agent, plan, id, username, definition, now, true, reservation);
	if (failure != YQ_PLAN_ACCEPTED && failure != YQ_PLAN_SEARCH && failure != YQ_PLAN_REPEATS)
		failure = place_by(agent, plan, id, username, definition, now, false, reservation);
	return failure;
}

/* -- nearest definition -------------------------------------------------------- */

/* Finds a definition that the plan would accept, when it has refused the user's definition. */

/* A search among definitions that differ from the refused definition only by a number. */
typedef struct Search
{
	const YqReservationDefinition *refused;
	YqReservationDefinition variant;
	YqReservationRequest *requests; /* requests of the tried definition */
	void		(*vary) (struct Search *search, int64 number);
	int64		unit;			/* milliseconds per unit of the number (deadlines), or number of the refused definition */
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

/*
 * Halve the distance between an accepted number and a refused number until they are
 * adjacent.  Returns the definition with the accepted number.
 */
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

/* Scale the number of gangs of each request.  "number" becomes the number of gangs of the largest request. */
static void
vary_gangs(Search *search, int64 number)
{
	for (int i = 0; i < search->refused->count; i++)
	{
		const YqReservationRequest *request = &search->refused->requests[i];

		search->requests[i].containers = request->concurrency * part_of(request->containers / request->concurrency, number, search->unit);
	}
}

/* Scale the gang size of each request, which then has a single gang.  "number" becomes the size of the largest gang. */
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
