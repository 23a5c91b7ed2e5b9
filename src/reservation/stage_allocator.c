/*-------------------------------------------------------------------------
 *
 * stage_allocator.c
 *	  Places the gangs of a request of a reservation, by one of two allocators.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "reservation/stage_allocator.h"

/* -- stage allocator ----------------------------------------------------------- */

int64
yq_stage_round_up(int64 time, int64 step)
{
	return (time + step - 1) / step * step;
}

static YqStepFunction *
find_available(const YqPlacement *placement, int64 start, int64 end, YqPlanFailure *failure)
{
	return yq_plan_available(placement->plan, placement->username, placement->old, start, end, placement->definition->period, failure);
}

/*
 * Return the amounts that are available to the user between two times, from
 * yq_plan_available().  The result for the whole time from arrival to deadline is computed
 * only once.
 */
static const YqStepFunction *
stage_available(YqPlacement *placement, int64 start, int64 end, YqPlanFailure *failure)
{
	if (start != placement->definition->arrival || end != placement->definition->deadline)
		return find_available(placement, start, end, failure);
	if (placement->available == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(placement->context);

		placement->available = find_available(placement, start, end, failure);
		MemoryContextSwitchTo(caller);
	}
	return placement->available;
}

/* Set "amounts" to the size of "gangs" gangs of a request. */
static void
stage_gangs(const YqPlacement *placement, const YqReservationRequest *request, int64 gangs, int64 *amounts)
{
	for (int i = 0; i < placement->plan->calculator->types; i++)
		amounts[i] = request->capability[i] * request->concurrency * gangs;
}

/*
 * Return how many gangs fit in the given amounts.
 *
 * NaN becomes 0, as in Java.
 */
static int64
stage_gangs_in(const YqPlacement *placement, const int64 *amounts, const int64 *gang)
{
	double		gangs = floor(yq_amounts_divide(placement->plan->calculator, placement->plan->capacity, amounts, gang));

	if (isnan(gangs))
		return 0;
	return gangs >= PG_INT32_MAX ? PG_INT32_MAX : gangs <= PG_INT32_MIN ? PG_INT32_MIN : (int64) gangs;
}

int64
yq_stage_duration(const YqPlacement *placement, const YqReservationRequest *request)
{
	return yq_stage_round_up(request->duration, placement->plan->step);
}

/* -- greedy allocator ---------------------------------------------------------- */

/* Places gangs where they first fit (semantics/reservations 6.2). */

/*
 * A search through the steps of a plan's available amounts.  From the left, each step is
 * returned with its start; from the right, with its end.
 */
typedef struct GreedySearch
{
	const YqStepFunction *net;
	bool		is_left;
	int			first;			/* first and last step of the searched range */
	int			last;
	int			at;
	int64		reached;		/* searches from the right: end of the step that is returned next */
} GreedySearch;

static void
begin_greedy_search(GreedySearch *search, int64 start, int64 end)
{
	const YqStepFunction *net = search->net;

	search->first = net->count > 0 && start > net->times[0] ? yq_steps_find(net, start) : 0;
	search->last = net->count > 0 && end < net->times[net->count - 1] ? yq_steps_find(net, end) : net->count - 1;
	search->at = search->is_left ? search->first : search->last;
	search->reached = end;
}

/* Return the last step before a time within the range, or -1. */
static int
step_before(const GreedySearch *search, int64 time)
{
	int			step = yq_steps_find(search->net, time);

	step = Min(step, search->last);
	if (step >= search->first && search->net->times[step] == time)
		step--;
	return step < search->first ? -1 : step;
}

/* Return the first step after a time within the range, or -1. */
static int
step_after(const GreedySearch *search, int64 time)
{
	int			step = Max(yq_steps_find(search->net, time) + 1, search->first);

	return step > search->last ? -1 : step;
}

/* Find the next step.  Returns false at the end of the range. *amounts is NULL if the step is undefined. */
static bool
next_step(GreedySearch *search, int64 start, int64 *time, const int64 **amounts)
{
	const YqStepFunction *net = search->net;
	int			step;

	if (search->at < search->first || search->at > search->last)
		return false;
	if (search->is_left)
	{
		step = search->at++;
		*time = Max(net->times[step], start);
	}
	else
	{
		*time = search->reached;
		search->reached = net->times[search->at--];
		step = step_before(search, *time);
	}
	*amounts = step >= 0 && net->is_defined[step] ? yq_step_amounts(net, step) : NULL;
	return true;
}

/*
 * Return how many gangs, up to "wanted", fit for the whole duration at the left or right
 * end of the range.  Sets *limit to the time of the step that limits the number, or to -1.
 */
static int64
gangs_at_end(const YqPlacement *placement, GreedySearch *search, int64 start, int64 end, int64 duration, int64 wanted,
			 const int64 *gang, int64 *limit)
{
	int64		most = wanted;
	int64		time;
	const int64 *amounts;

	*limit = -1;
	begin_greedy_search(search, start, end);
	while (most > 0 && next_step(search, start, &time, &amounts))
	{
		int64		fitting;

		if (amounts == NULL)
			continue;
		if (search->is_left ? time >= start + duration : time < end - duration)
			break;
		fitting = Min(wanted, stage_gangs_in(placement, amounts, gang));
		if (fitting <= most)
		{
			most = fitting;
			*limit = time;
		}
	}
	return most;
}

static void
append_place(YqPlacement *placement, const YqReservationRequest *request, int64 start, int64 end, int64 gangs,
			 YqStagePlaces *places)
{
	YqTimeInterval *place;

	if (places->count == places->room)
	{
		places->room = Max(16, places->room * 2);
		places->intervals = places->intervals == NULL ? palloc(sizeof(YqTimeInterval) * places->room) :
			repalloc_huge(places->intervals, sizeof(YqTimeInterval) * places->room);
	}
	place = &places->intervals[places->count++];
	place->start = start;
	place->end = end;
	stage_gangs(placement, request, gangs, place->amounts);
	(void) yq_steps_add_interval(placement->changes, start, end, place->amounts);
}

static void
undo_places(YqPlacement *placement, YqStagePlaces *places)
{
	for (int i = 0; i < places->count; i++)
	{
		const YqTimeInterval *place = &places->intervals[i];

		(void) yq_steps_remove_interval(placement->changes, place->start, place->end, place->amounts);
	}
	places->count = 0;
}

/* Return the plan's available amounts less the amounts of the requests that are already placed. */
static YqStepFunction *
find_net(YqPlacement *placement, int64 start, int64 end, YqPlanFailure *failure)
{
	const YqStepFunction *available = stage_available(placement, start, end, failure);

	return available == NULL ? NULL :
		yq_steps_merge(placement->plan->capacity, available, placement->changes, YQ_STEPS_SUBTRACT, start, end);
}

YqPlanFailure
yq_greedy_allocator_place(YqPlacement *placement, const YqReservationRequest *request, int64 start, int64 end,
						  YqStagePlaces *places)
{
	int64		duration = yq_stage_duration(placement, request);
	int64		wanted = request->containers / request->concurrency;
	int64		gang[YQ_MAX_RESOURCE_TYPES];
	GreedySearch search = {.is_left = placement->agent->favors_early};
	YqPlanFailure failure = YQ_PLAN_NO_ROOM;

	if (request->duration > end - start)
		return YQ_PLAN_NO_ROOM;
	search.net = find_net(placement, start, end, &failure);
	if (search.net == NULL)
		return failure;
	stage_gangs(placement, request, 1, gang);
	while (wanted > 0 && start + duration <= end && placement->windows-- > 0)
	{
		int64		limit;
		int64		gangs = gangs_at_end(placement, &search, start, end, duration, wanted, gang, &limit);
		int			step = search.is_left ? step_after(&search, limit) : step_before(&search, limit);

		CHECK_FOR_INTERRUPTS();
		if (gangs > 0)
		{
			append_place(placement, request, search.is_left ? start : end - duration,
						 search.is_left ? start + duration : end, gangs, places);
			wanted -= gangs;
		}
		if (search.is_left)
			start = step < 0 ? start + duration : Min(search.net->times[step], start + duration);
		else
			end = step < 0 ? end - duration : Max(search.net->times[step], end - duration);
	}
	if (wanted == 0)
		return YQ_PLAN_ACCEPTED;
	undo_places(placement, places);
	return start + duration <= end ? YQ_PLAN_SEARCH : YQ_PLAN_NO_ROOM;
}

/* -- aligned allocator --------------------------------------------------------- */

/*
 * Places gangs in windows of their duration, where the plan has the least load
 * (semantics/reservations 6.3).
 *
 * Windows do not overlap, so a gang changes the cost and the room only of its own window.
 * The gangs of each window are counted first, and are added to the changes only at the end.
 */

typedef struct Window
{
	int64		start;
	int64		end;
	int64		placed;			/* gangs */
	int64		room;			/* number of further gangs that fit */
	double		cost;			/* sum over the window's steps of the fraction of the capacity that is used */
	bool		is_left;		/* true: the earlier of two windows with equal cost comes first; false: the later one */
} Window;

typedef struct AlignedSearch
{
	YqPlacement *placement;
	int64		duration;
	const YqStepFunction *net;	/* available amounts, without the changes by placed requests */
	int64		gang[YQ_MAX_RESOURCE_TYPES];
} AlignedSearch;

/* Compare windows in reverse order of cost, because the largest element of a binaryheap comes first. */
static int
compare_windows(Datum a, Datum b, void *argument)
{
	const Window *first = (const Window *) DatumGetPointer(a);
	const Window *second = (const Window *) DatumGetPointer(b);
	int			order;

	if (first->cost != second->cost)
		return first->cost < second->cost ? 1 : -1;
	order = first->end < second->end ? 1 : first->end > second->end ? -1 : 0;
	return first->is_left ? order : -order;
}

/* A walk through two functions at the same time, over [start, end). */
typedef struct Walk
{
	const YqStepFunction *functions[2];
	int			steps[2];		/* current steps of both functions; -1: before the first step */
	int64		time;
	int64		end;
} Walk;

static Walk
begin_walk(const YqStepFunction *a, const YqStepFunction *b, int64 start, int64 end)
{
	return (Walk) {{a, b}, {yq_steps_find(a, start), yq_steps_find(b, start)}, start, end};
}

/* Return the two values between *start and *stop; NULL is an undefined value.  Returns false at the end. */
static bool
next_part(Walk *walk, int64 *start, int64 *stop, const int64 **a, const int64 **b)
{
	const int64 *values[2];
	int64		next = walk->end;

	if (walk->time >= walk->end)
		return false;
	for (int i = 0; i < 2; i++)
	{
		const YqStepFunction *function = walk->functions[i];
		int			step = walk->steps[i];

		values[i] = step >= 0 && function->is_defined[step] ? yq_step_amounts(function, step) : NULL;
		if (step + 1 < function->count)
			next = Min(next, function->times[step + 1]);
	}
	*start = walk->time;
	*stop = walk->time = next;
	*a = values[0];
	*b = values[1];
	for (int i = 0; i < 2; i++)
	{
		if (walk->steps[i] + 1 < walk->functions[i]->count && walk->functions[i]->times[walk->steps[i] + 1] <= next)
			walk->steps[i]++;
	}
	return true;
}

/* Add amounts to "to"; NULL adds nothing. */
static void
add_known(const YqCalculator *calculator, int64 *to, const int64 *amounts)
{
	if (amounts != NULL)
		yq_amounts_add(calculator, to, amounts);
}

static void
find_cost(const AlignedSearch *search, Window *window)
{
	const YqPlan *plan = search->placement->plan;
	Walk		walk = begin_walk(search->placement->load, search->placement->changes, window->start, window->end);
	int64		placed[YQ_MAX_RESOURCE_TYPES];
	int64		previous[YQ_MAX_RESOURCE_TYPES];
	int64		since = window->start;
	int64		start;
	int64		stop;
	const int64 *load;
	const int64 *changes;

	for (int i = 0; i < plan->calculator->types; i++)
		placed[i] = search->gang[i] * window->placed;
	window->cost = 0;
	while (next_part(&walk, &start, &stop, &load, &changes))
	{
		int64		amounts[YQ_MAX_RESOURCE_TYPES];

		memcpy(amounts, placed, sizeof(amounts));
		add_known(plan->calculator, amounts, load);
		add_known(plan->calculator, amounts, changes);
		/* merge intervals with the same load, because rounding makes a sum of floats depend on its terms */
		if (start > window->start && !yq_amounts_are_equal(plan->calculator, amounts, previous))
		{
			window->cost += (double) yq_amounts_ratio(plan->calculator, previous, plan->capacity) * (start - since) / plan->step;
			since = start;
		}
		memcpy(previous, amounts, sizeof(previous));
	}
	window->cost += (double) yq_amounts_ratio(plan->calculator, previous, plan->capacity) * (window->end - since) / plan->step;
}

/* Compute how many more gangs fit in a window.  Returns false if at some time more is promised than the plan has. */
static bool
find_room(const AlignedSearch *search, Window *window)
{
	const YqPlan *plan = search->placement->plan;
	Walk		walk = begin_walk(search->net, search->placement->changes, window->start, window->end);
	int64		start;
	int64		stop;
	const int64 *net;
	const int64 *changes;

	window->room = PG_INT32_MAX;
	while (next_part(&walk, &start, &stop, &net, &changes))
	{
		int64		taken[YQ_MAX_RESOURCE_TYPES];
		int64		left[YQ_MAX_RESOURCE_TYPES];

		if (net == NULL)
		{
			window->room = 0;
			continue;
		}
		for (int i = 0; i < plan->calculator->types; i++)
			taken[i] = search->gang[i] * window->placed;
		add_known(plan->calculator, taken, changes);
		if ((window->placed > 0 || changes != NULL) && !yq_amounts_fit_in(plan->calculator, taken, net))
			return false;
		memcpy(left, net, sizeof(int64) * plan->calculator->types);
		yq_amounts_subtract(plan->calculator, left, taken);
		window->room = Min(window->room, stage_gangs_in(search->placement, left, search->gang));
	}
	return true;
}

static Window *
make_window(const AlignedSearch *search, int64 start)
{
	Window	   *window = palloc0(sizeof(Window));

	window->start = start;
	window->end = start + search->duration;
	window->is_left = search->placement->agent->favors_early;
	return window;
}

/*
 * Make a heap of all windows with room in a range, ordered by cost.  Returns NULL if at
 * some time more is promised than the plan has.
 */
static binaryheap *
list_windows(const AlignedSearch *search, int64 start, int64 end, int64 count)
{
	binaryheap *heap = binaryheap_allocate((int) count, compare_windows, NULL);
	bool		is_left = search->placement->agent->favors_early;

	for (int64 i = 0; i < count; i++)
	{
		Window	   *window = make_window(search, is_left ? start + i * search->duration : end - (i + 1) * search->duration);

		CHECK_FOR_INTERRUPTS();
		if (!find_room(search, window))
			return NULL;
		find_cost(search, window);
		if (window->room > 0)
			binaryheap_add_unordered(heap, PointerGetDatum(window));
	}
	binaryheap_build(heap);
	return heap;
}

/* Return the largest number of gangs that are put into a window in one step. */
static int64
gangs_at_once(const YqReservationAgent *agent, int64 gangs, int64 windows)
{
	int64		even = Max(gangs / windows, 1);

	return Max(even / agent->smoothness, 1);
}

/* Put gangs into the cheapest windows, step by step.  Sets *chosen to the windows that got gangs. */
static YqPlanFailure
fill_windows(const AlignedSearch *search, binaryheap *heap, int64 gangs, int64 at_once, List **chosen)
{
	while (gangs > 0 && !binaryheap_empty(heap))
	{
		Window	   *window = (Window *) DatumGetPointer(binaryheap_first(heap));
		int64		count = Min(Min(at_once, gangs), window->room);

		CHECK_FOR_INTERRUPTS();
		if (window->placed == 0)
			*chosen = lappend(*chosen, window);
		window->placed += count;
		gangs -= count;
		if (!find_room(search, window))
			return YQ_PLAN_OVERCOMMITTED;
		find_cost(search, window);
		if (window->room > 0)
			binaryheap_replace_first(heap, PointerGetDatum(window));
		else
			(void) binaryheap_remove_first(heap);
	}
	return gangs > 0 ? YQ_PLAN_NO_ROOM : YQ_PLAN_ACCEPTED;
}

/* Make the placements.  Adjacent windows with equal amounts become one placement. */
static void
make_places(const AlignedSearch *search, const List *chosen, YqStagePlaces *places)
{
	YqPlacement *placement = search->placement;
	YqTimeInterval *intervals = palloc_extended(sizeof(YqTimeInterval) * Max(list_length(chosen), 1), MCXT_ALLOC_HUGE);
	int			count = 0;
	ListCell   *cell;

	foreach(cell, chosen)
	{
		const Window *window = lfirst(cell);
		YqTimeInterval *interval = &intervals[count++];

		interval->start = window->start;
		interval->end = window->end;
		for (int i = 0; i < placement->plan->calculator->types; i++)
			interval->amounts[i] = search->gang[i] * window->placed;
		(void) yq_steps_add_interval(placement->changes, interval->start, interval->end, interval->amounts);
	}
	places->count = yq_steps_intervals(yq_steps_make_sum(placement->plan->calculator, 0, intervals, count), &places->intervals);
	pfree(intervals);
}

YqPlanFailure
yq_aligned_allocator_place(YqPlacement *placement, const YqReservationRequest *request, int64 start, int64 end,
						   YqStagePlaces *places)
{
	AlignedSearch search = {.placement = placement,.duration = yq_stage_duration(placement, request)};
	int64		gangs = request->containers / request->concurrency;
	int64		windows;
	YqPlanFailure failure = YQ_PLAN_NO_ROOM;
	List	   *chosen = NIL;
	binaryheap *heap;

	search.net = stage_available(placement, start, end, &failure);
	if (search.net == NULL)
		return failure;
	windows = (end - start) / search.duration;
	if (windows <= 0)
		return YQ_PLAN_NO_ROOM;
	if (windows > placement->windows)
		return YQ_PLAN_SEARCH;
	placement->windows -= windows;
	stage_gangs(placement, request, 1, search.gang);
	heap = list_windows(&search, start, end, windows);
	if (heap == NULL)
		return YQ_PLAN_OVERCOMMITTED;
	failure = fill_windows(&search, heap, gangs, gangs_at_once(placement->agent, gangs, windows), &chosen);
	if (failure == YQ_PLAN_ACCEPTED)
		make_places(&search, chosen, places);
	binaryheap_free(heap);
	return failure;
}
