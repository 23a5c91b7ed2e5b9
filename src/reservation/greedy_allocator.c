/*-------------------------------------------------------------------------
 *
 * greedy_allocator.c
 *	  Placing gangs where they first fit (reservation 6.3).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "reservation/stage_allocator.h"

/* The next step of a search: what the plan has left there, and when that begins, or, from the right, ends. */
typedef struct Search
{
	const YqStepFunction *net;
	bool		is_left;
	int			first;			/* steps of the range that is searched */
	int			last;
	int			at;
	int64		reached;		/* from the right: the end of what comes next */
} Search;

static void
begin_search(Search *search, int64 start, int64 end)
{
	const YqStepFunction *net = search->net;

	search->first = net->count > 0 && start > net->times[0] ? yq_steps_find(net, start) : 0;
	search->last = net->count > 0 && end < net->times[net->count - 1] ? yq_steps_find(net, end) : net->count - 1;
	search->at = search->is_left ? search->first : search->last;
	search->reached = end;
}

/* The last step of the range before a time, or -1. */
static int
step_before(const Search *search, int64 time)
{
	int			step = yq_steps_find(search->net, time);

	step = Min(step, search->last);
	if (step >= search->first && search->net->times[step] == time)
		step--;
	return step < search->first ? -1 : step;
}

/* The first step of the range after a time, or -1. */
static int
step_after(const Search *search, int64 time)
{
	int			step = Max(yq_steps_find(search->net, time) + 1, search->first);

	return step > search->last ? -1 : step;
}

/* False at the end of the range.  A step whose amounts are NULL is undefined. */
static bool
next_step(Search *search, int64 start, int64 *time, const int64 **amounts)
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
 * The most gangs, up to "wanted", that fit all the time at one end of the range; *limit
 * is the time that allows no more, -1 for none.
 */
static int64
gangs_at_end(const YqPlacement *placement, Search *search, int64 start, int64 end, int64 duration, int64 wanted,
			 const int64 *gang, int64 *limit)
{
	int64		most = wanted;
	int64		time;
	const int64 *amounts;

	*limit = -1;
	begin_search(search, start, end);
	while (most > 0 && next_step(search, start, &time, &amounts))
	{
		int64		fitting;

		if (amounts == NULL)
			continue;
		if (search->is_left ? time >= start + duration : time < end - duration)
			break;
		fitting = Min(wanted, yq_stage_gangs_in(placement, amounts, gang));
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

	places->intervals = places->intervals == NULL ? palloc(sizeof(YqTimeInterval)) :
		repalloc_huge(places->intervals, sizeof(YqTimeInterval) * (places->count + 1));
	place = &places->intervals[places->count++];
	place->start = start;
	place->end = end;
	yq_stage_gangs(placement, request, gangs, place->amounts);
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

/* What the plan has left, less the changes of earlier requests; not less those of this one. */
static YqStepFunction *
find_net(YqPlacement *placement, int64 start, int64 end, YqPlanFailure *failure)
{
	const YqStepFunction *available = yq_stage_available(placement, start, end, failure);

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
	Search		search = {.is_left = placement->agent->favors_early};
	YqPlanFailure failure = YQ_PLAN_NO_ROOM;

	if (request->duration > end - start)
		return YQ_PLAN_NO_ROOM;
	search.net = find_net(placement, start, end, &failure);
	if (search.net == NULL)
		return failure;
	yq_stage_gangs(placement, request, 1, gang);
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
