/*-------------------------------------------------------------------------
 *
 * sharing_policy.c
 *	  How much of a plan one user may have (reservation 5).
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "reservation/sharing_policy.h"

/* -- at any time ----------------------------------------------------------------- */

/* The user has nothing left, not less than that, and what "old" has. */
static YqStepFunction *
keep_old(const YqPlan *plan, YqStepFunction *left, const YqPlanReservation *old, int64 start, int64 end)
{
	yq_steps_cut_below_zero(left);
	return old == NULL ? left : yq_steps_merge(plan->capacity, left, old->over_time, YQ_STEPS_ADD, start, end);
}

YqStepFunction *
yq_sharing_policy_limit(const YqPlan *plan, YqStepFunction *available, const char *username,
						const YqPlanReservation *old, int64 start, int64 end)
{
	int64		quota[YQ_MAX_RESOURCE_TYPES];
	YqStepFunction *left;
	YqStepFunction *used;
	YqStepFunction *result;

	if (plan->policy == YQ_NO_OVER_COMMIT)
		return available;
	yq_amounts_multiply(plan->calculator, quota, plan->capacity, plan->instantaneous_share);
	left = yq_steps_make_constant(plan->calculator, start, quota);
	used = yq_plan_committed_to(plan, username, start, end);
	if (old != NULL && !plan->plans_around)
		used = yq_steps_merge(plan->capacity, used, old->over_time, YQ_STEPS_SUBTRACT, start, end);
	left = yq_steps_merge(plan->capacity, left, used, YQ_STEPS_SUBTRACT, start, end);
	if (plan->plans_around)
		left = keep_old(plan, left, old, start, end);
	result = yq_steps_merge(plan->capacity, available, left, YQ_STEPS_MIN, start, end);
	yq_steps_free(available);
	yq_steps_free(left);
	yq_steps_free(used);
	return result;
}

static YqPlanFailure
validate_room(const YqPlan *plan, const YqPlanReservation *reservation, const YqPlanReservation *old)
{
	int64		start = reservation->arrival;
	int64		end = reservation->deadline;
	YqPlanFailure failure;
	YqStepFunction *available = yq_plan_available(plan, reservation->username, old, start, end, reservation->period, &failure);
	YqStepFunction *ask;

	if (available == NULL)
		return failure;
	ask = yq_steps_range(reservation->over_time, start, end);
	return yq_steps_merge(plan->capacity, available, ask, YQ_STEPS_SUBTRACT_WITHIN, start, end) == NULL ?
		YQ_PLAN_CAPACITY : YQ_PLAN_ACCEPTED;
}

/* -- on average --------------------------------------------------------------------- */

/*
 * What the user would have.  An old reservation counts twice, beside what it is part
 * of: Hadoop adds it where it means to leave it out (S1).
 */
static YqStepFunction *
user_load_with(const YqPlan *plan, const YqPlanReservation *reservation, const YqPlanReservation *old, int64 start, int64 end)
{
	YqStepFunction *load = yq_plan_committed_to(plan, reservation->username, start, end);

	if (old != NULL)
		load = yq_steps_merge(plan->capacity, load, old->over_time, YQ_STEPS_ADD, start, end);
	load = yq_steps_merge(plan->capacity, load, yq_steps_range(reservation->over_time, start, end), YQ_STEPS_ADD,
						  YQ_TIME_BEGINS, YQ_TIME_ENDS);
	if (plan->ends_averages)
		yq_steps_put(load, end, NULL);
	return load;
}

/* The steps of a load, and within those that are longer than a window one per window; NULL: too many. */
static YqStepFunction *
list_points(const YqPlan *plan, const YqStepFunction *load)
{
	YqStepFunction *points = yq_steps_make(plan->calculator, 0);
	int64		count = 0;

	for (int i = 0; i < load->count; i++)
	{
		const int64 *amounts = yq_step_amounts(load, i);

		yq_steps_put(points, load->times[i], load->is_defined[i] ? amounts : NULL);
		if (i + 1 == load->count || !load->is_defined[i + 1])
			continue;
		for (int64 j = 1; j <= (load->times[i + 1] - load->times[i]) / plan->window; j++)
		{
			if (count++ == plan->most_windows)
				return NULL;
			if (load->times[i] + j * plan->window < load->times[i + 1])
				yq_steps_put(points, load->times[i] + j * plan->window, amounts);
		}
	}
	return points;
}

/* Math.round() of a quotient of integers, as an int of 32 bits. */
static int64
round_quotient(int64 amount, int64 window)
{
	return (int32) (int64) floor((double) amount / window + 0.5);
}

/*
 * What has been used until each point, as an average over a window, less the same of a
 * window before.  Hadoop knows memory and cores alone.  A load that goes on to the end
 * of time overflows there, and so do times beyond it; Hadoop decides by what comes of it,
 * unless the plan ends averages.
 */
static YqStepFunction *
moving_average(const YqPlan *plan, const YqStepFunction *points)
{
	YqStepFunction *up = yq_steps_make(plan->calculator, 0);
	YqStepFunction *down = yq_steps_make(plan->calculator, 0);
	int64		total[] = {0, 0};

	for (int i = 0; i < points->count; i++)
	{
		int64		average[YQ_MAX_RESOURCE_TYPES] = {0};

		for (int type = YQ_MEMORY; type <= YQ_VCORES; type++)
		{
			if (i > 0 && points->is_defined[i - 1])
				total[type] += yq_step_amounts(points, i - 1)[type] * (points->times[i] - points->times[i - 1]);
			average[type] = round_quotient(total[type], plan->window);
		}
		yq_steps_put(up, points->times[i], average);
		yq_steps_put(down, points->times[i] + plan->window, average);
	}
	return yq_steps_merge(plan->capacity, up, down, YQ_STEPS_SUBTRACT, YQ_TIME_BEGINS, YQ_TIME_ENDS);
}

static YqPlanFailure
validate_average(const YqPlan *plan, const YqPlanReservation *reservation, const YqPlanReservation *old)
{
	int64		start = reservation->arrival - plan->window;
	int64		end = reservation->deadline + plan->window;
	int64		quota[YQ_MAX_RESOURCE_TYPES];
	YqStepFunction *load;
	YqStepFunction *points;
	YqStepFunction *limit;

	if (yq_steps_repeat_too_often(plan->periodic, start, end) || yq_steps_repeat_too_often(reservation->over_time, start, end))
		return YQ_PLAN_REPEATS;
	load = user_load_with(plan, reservation, old, start, end);
	points = list_points(plan, load);
	if (points == NULL)
		return YQ_PLAN_SEARCH;
	yq_amounts_multiply(plan->calculator, quota, plan->capacity, plan->average_share);
	limit = yq_steps_make_constant(plan->calculator, yq_steps_earliest(load) - plan->window, quota);
	return yq_steps_merge(plan->capacity, limit, moving_average(plan, points), YQ_STEPS_SUBTRACT_WITHIN, start, end) == NULL ?
		YQ_PLAN_AVERAGE : YQ_PLAN_ACCEPTED;
}

YqPlanFailure
yq_sharing_policy_validate(const YqPlan *plan, const YqPlanReservation *reservation)
{
	const YqPlanReservation *old = yq_plan_find(plan, reservation->id);
	YqPlanFailure failure = validate_room(plan, reservation, old);

	if (plan->policy == YQ_NO_OVER_COMMIT)
		return failure;
	/* CapacityOverTimePolicy calls each reason a violated quota */
	if (failure != YQ_PLAN_ACCEPTED)
		return failure == YQ_PLAN_CAPACITY ? YQ_PLAN_INSTANTANEOUS : failure;
	return validate_average(plan, reservation, old);
}
