/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  Keeps the promises of a plan, and limits the share of one user.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "reservation/plan.h"
#include "utils/memutils.h"

/* -- sharing policy ------------------------------------------------------------ */

/* Limits how much of a plan one user may have (semantics/reservations 5). */

/* -- at any time ----------------------------------------------------------------- */

/* Replace the user's negative amounts by zero, and add the amounts of "old". */
static YqStepFunction *
keep_old(const YqPlan *plan, YqStepFunction *left, const YqPlanReservation *old, int64 start, int64 end)
{
	yq_steps_cut_below_zero(left);
	return old == NULL ? left : yq_steps_merge(plan->capacity, left, old->over_time, YQ_STEPS_ADD, start, end);
}

/*
 * Return the part of the plan's available amounts that a user may have.  Frees "available".
 * The amounts of "old", if not NULL, count as free.
 */
static YqStepFunction *
sharing_policy_limit(const YqPlan *plan, YqStepFunction *available, const char *username,
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
 * Compute the user's load, including a reservation.  The user's sum already contains the
 * old reservation, and this function adds it again.  Hadoop makes the same mistake: it
 * means to subtract the old reservation.
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

/*
 * List the steps of a load.  A step that is longer than a window is split into one point
 * per window.  Returns NULL if there are too many points.
 */
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

/* Compute a quotient as Java's Math.round() with a 32-bit result. */
static int64
round_quotient(int64 amount, int64 window)
{
	return (int32) (int64) floor((double) amount / window + 0.5);
}

/*
 * Compute the average use over the window that ends at each point, and subtract the average over
 * the preceding window.  Like Hadoop, the function considers only memory and cores.
 *
 * If a load never ends, its average overflows at the end of time, and so do the times that follow.
 * Unless ends_averages is set, the decision uses the overflowed values, as in Hadoop.
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
				total[type] = (int64) ((uint64) total[type] + (uint64) yq_step_amounts(points, i - 1)[type] *
									   (uint64) (points->times[i] - points->times[i - 1]));
			average[type] = round_quotient(total[type], plan->window);
		}
		yq_steps_put(up, points->times[i], average);
		yq_steps_put(down, (int64) ((uint64) points->times[i] + (uint64) plan->window), average);
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

/* Does the policy accept a reservation?  A reservation of the plan with the same id counts as replaced. */
static YqPlanFailure
sharing_policy_validate(const YqPlan *plan, const YqPlanReservation *reservation)
{
	const YqPlanReservation *old = yq_plan_find(plan, reservation->id);
	YqPlanFailure failure = validate_room(plan, reservation, old);

	if (plan->policy == YQ_NO_OVER_COMMIT)
		return failure;
	/* CapacityOverTimePolicy reports a lack of room as a violated quota, too */
	if (failure != YQ_PLAN_ACCEPTED)
		return failure == YQ_PLAN_CAPACITY ? YQ_PLAN_INSTANTANEOUS : failure;
	return validate_average(plan, reservation, old);
}

/* -- plan ---------------------------------------------------------------------- */

/* Maps a user's name to the user's position in the plan. */
typedef struct UserPlace
{
	YqBytes		username;
	int			user;
} UserPlace;

/* -- making -------------------------------------------------------------------- */

YqPlan *
yq_plan_make(const YqCalculator *calculator)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "yquota plan", ALLOCSET_DEFAULT_SIZES);
	YqPlan	   *plan = MemoryContextAllocZero(context, sizeof(YqPlan));

	plan->context = context;
	plan->calculator = calculator;
	plan->user_places = yq_bytes_table_create("users of a plan", sizeof(UserPlace), context);
	return plan;
}

YqPlanReservation *
yq_plan_make_reservation(YqPlan *plan, YqReservationId id, const char *username, int64 arrival, int64 deadline,
						 int64 period, const YqTimeInterval *intervals, int count)
{
	MemoryContext caller = MemoryContextSwitchTo(plan->context);
	YqPlanReservation *reservation = palloc0(sizeof(YqPlanReservation));
	YqTimeInterval *copies = palloc_extended(sizeof(YqTimeInterval) * Max(count, 1), MCXT_ALLOC_HUGE);

	if (count > 0)
		memcpy(copies, intervals, sizeof(YqTimeInterval) * count);
	reservation->id = id;
	reservation->username = pstrdup(username);
	reservation->arrival = arrival;
	reservation->deadline = deadline;
	reservation->period = period;
	reservation->interval_count = count;
	reservation->intervals = copies;
	reservation->over_time = yq_steps_make_sum(plan->calculator, period, copies, count);
	MemoryContextSwitchTo(caller);
	return reservation;
}

void
yq_plan_add_accepted(YqPlan *plan, YqPlanReservation *reservation)
{
	if (plan->count == plan->room)
	{
		plan->room = Max(16, 2 * plan->room);
		plan->reservations = plan->reservations == NULL ?
			MemoryContextAlloc(plan->context, sizeof(YqPlanReservation *) * plan->room) :
			repalloc(plan->reservations, sizeof(YqPlanReservation *) * plan->room);
	}
	plan->reservations[plan->count++] = reservation;
}

YqPlanReservation *
yq_plan_find(const YqPlan *plan, YqReservationId id)
{
	for (int i = 0; i < plan->count; i++)
	{
		YqPlanReservation *reservation = plan->reservations[i];

		if (reservation->id.number == id.number && reservation->id.cluster_timestamp == id.cluster_timestamp)
			return reservation;
	}
	return NULL;
}

/* -- users ----------------------------------------------------------------------- */

static YqPlanUser *
find_user(const YqPlan *plan, const char *username)
{
	UserPlace  *place = yq_bytes_table_find(plan->user_places, yq_bytes_of_string(username));

	return place == NULL ? NULL : &plan->users[place->user];
}

/* Return the position of a user.  A user is added when an interval or a look-up first names the user. */
static int
enter_user(YqPlan *plan, YqBytes username)
{
	UserPlace  *place = yq_bytes_table_find(plan->user_places, username);
	MemoryContext caller;
	bool		found;

	if (place != NULL)
		return place->user;
	caller = MemoryContextSwitchTo(plan->context);
	if (plan->user_count == plan->user_room)
	{
		plan->user_room = Max(16, 2 * plan->user_room);
		plan->users = plan->users == NULL ? palloc(sizeof(YqPlanUser) * plan->user_room) :
			repalloc_huge(plan->users, sizeof(YqPlanUser) * plan->user_room);
	}
	username.data = pnstrdup(username.data, username.length);
	place = yq_bytes_table_enter_kept(plan->user_places, username, &found);
	place->user = plan->user_count++;
	plan->users[place->user] = (YqPlanUser) {.username = username.data};
	MemoryContextSwitchTo(caller);
	return place->user;
}

void
yq_plan_add_interval(YqPlan *plan, YqBytes username, int64 period, const YqTimeInterval *interval)
{
	Size		bytes = sizeof(int64) * plan->calculator->types;
	int64	   *amounts = MemoryContextAlloc(plan->context, bytes);

	memcpy(amounts, interval->amounts, bytes);
	if (plan->interval_count == plan->interval_room)
	{
		plan->interval_room = Max(64, 2 * plan->interval_room);
		plan->intervals = plan->intervals == NULL ?
			MemoryContextAlloc(plan->context, sizeof(YqPlanInterval) * plan->interval_room) :
			repalloc_huge(plan->intervals, sizeof(YqPlanInterval) * plan->interval_room);
	}
	plan->intervals[plan->interval_count++] = (YqPlanInterval) {enter_user(plan, username), period, interval->start, interval->end, amounts};
}

/* -- sums ------------------------------------------------------------------------ */

typedef void (*PartVisitor) (void *argument, int64 start, int64 end, const int64 *amounts);

/* Call the visitor for each occurrence of a periodic interval within the largest period. */
static void
visit_instances(const YqPlan *plan, int64 period, int64 start, int64 end, const int64 *amounts, PartVisitor visit, void *argument)
{
	for (int64 shift = 0; shift < plan->largest_period / period * period; shift += period)
	{
		int64		beyond = end + shift - plan->largest_period;

		CHECK_FOR_INTERRUPTS();
		if (beyond > 0)
			visit(argument, 0, beyond, amounts);
		visit(argument, start + shift, Min(end + shift, plan->largest_period), amounts);
	}
}

/* Call the visitor for all intervals of a reservation, whether it is periodic or not. */
static void
visit_parts(const YqPlan *plan, const YqPlanReservation *reservation, PartVisitor visit, void *argument)
{
	for (int i = 0; i < reservation->interval_count; i++)
	{
		const YqTimeInterval *interval = &reservation->intervals[i];

		if (reservation->period > 0)
			visit_instances(plan, reservation->period, interval->start, interval->end, interval->amounts, visit, argument);
		else
			visit(argument, interval->start, interval->end, interval->amounts);
	}
}

static void
add_to_sum(void *sum, int64 start, int64 end, const int64 *amounts)
{
	yq_steps_add_to_sum(sum, start, end, amounts);
}

static void
add_intervals_to_sum(const YqPlan *plan, int user, bool is_periodic, YqStepSum *sum)
{
	for (int i = 0; i < plan->interval_count; i++)
	{
		const YqPlanInterval *interval = &plan->intervals[i];

		if ((interval->period > 0) != is_periodic || (user >= 0 && interval->user != user))
			continue;
		if (is_periodic)
			visit_instances(plan, interval->period, interval->start, interval->end, interval->amounts, add_to_sum, sum);
		else
			yq_steps_add_to_sum(sum, interval->start, interval->end, interval->amounts);
	}
}

/* Add up the promises to one user, or to all users if "user" is -1. */
static YqStepFunction *
sum_promises(const YqPlan *plan, int user, bool is_periodic)
{
	YqStepSum  *sum = yq_steps_begin_sum(plan->calculator, is_periodic ? plan->largest_period : 0);

	add_intervals_to_sum(plan, user, is_periodic, sum);
	for (int i = 0; i < plan->count; i++)
	{
		const YqPlanReservation *reservation = plan->reservations[i];

		if ((reservation->period > 0) == is_periodic && (user < 0 || strcmp(reservation->username, plan->users[user].username) == 0))
			visit_parts(plan, reservation, add_to_sum, sum);
	}
	return yq_steps_end_sum(sum);
}

/* Return a user, with the sums of the user's promises, which are computed at the first call. */
static const YqPlanUser *
get_user(YqPlan *plan, const char *username)
{
	int			place = enter_user(plan, yq_bytes_of_string(username));
	YqPlanUser *user = &plan->users[place];

	if (user->once == NULL)
	{
		MemoryContext caller = MemoryContextSwitchTo(plan->context);

		user->once = sum_promises(plan, place, false);
		user->periodic = sum_promises(plan, place, true);
		MemoryContextSwitchTo(caller);
	}
	return user;
}

void
yq_plan_prepare(YqPlan *plan)
{
	MemoryContext caller = MemoryContextSwitchTo(plan->context);

	plan->once = sum_promises(plan, -1, false);
	plan->periodic = sum_promises(plan, -1, true);
	MemoryContextSwitchTo(caller);
}

/* A sum, and whether amounts are added to the sum or subtracted. */
typedef struct SumChange
{
	YqStepFunction *sum;
	bool		adds;
} SumChange;

static void
change_sum(void *argument, int64 start, int64 end, const int64 *amounts)
{
	SumChange  *change = argument;

	if (change->adds)
		(void) yq_steps_add_interval(change->sum, start, end, amounts);
	else
		(void) yq_steps_remove_interval(change->sum, start, end, amounts);
}

static void
change_sums(YqPlan *plan, const YqPlanReservation *reservation, bool adds)
{
	YqPlanUser *user = find_user(plan, reservation->username);
	bool		is_periodic = reservation->period > 0;
	YqStepFunction *sum;

	visit_parts(plan, reservation, change_sum, &(SumChange) {is_periodic ? plan->periodic : plan->once, adds});
	if (user == NULL || user->once == NULL)
		return;
	sum = is_periodic ? user->periodic : user->once;
	visit_parts(plan, reservation, change_sum, &(SumChange) {sum, adds});
	if (yq_steps_are_empty(sum))
		sum->count = 0;
}

/* -- reading ---------------------------------------------------------------------- */

bool
yq_plan_occurs(int64 arrival, int64 deadline, int64 period, int64 start, int64 end)
{
	int64		shift;
	int64		reservation_end;
	int64		search_start;
	int64		search_end;

	if (arrival > end)
		return false;
	if (period == 0)
		return deadline > start;
	shift = arrival % period;
	reservation_end = (deadline - shift) % period;
	search_start = (start - shift) % period;
	search_end = (end - shift) % period;
	return end - start > period || search_end < reservation_end || search_start < reservation_end ||
		search_start > search_end;
}

void
yq_plan_reservation_at(const YqPlan *plan, const YqPlanReservation *reservation, int64 time, int64 *amounts)
{
	bool		is_over = time >= reservation->deadline && !(plan->repeats && reservation->period > 0);

	if (time < reservation->arrival || is_over)
		memset(amounts, 0, sizeof(int64) * plan->calculator->types);
	else
		yq_steps_at(reservation->over_time, time, amounts);
}

void
yq_plan_committed_at(const YqPlan *plan, int64 time, int64 *amounts)
{
	int64		periodic[YQ_MAX_RESOURCE_TYPES];

	yq_steps_at(plan->once, time, amounts);
	yq_steps_at(plan->periodic, time, periodic);
	yq_amounts_add(plan->calculator, amounts, periodic);
}

YqStepFunction *
yq_plan_committed(const YqPlan *plan, int64 start, int64 end)
{
	return yq_steps_merge(plan->capacity, plan->once, plan->periodic, YQ_STEPS_ADD, start, end);
}

YqStepFunction *
yq_plan_committed_to(const YqPlan *plan, const char *username, int64 start, int64 end)
{
	const YqPlanUser *user = get_user(unconstify(YqPlan *, plan), username);

	return yq_steps_merge(plan->capacity, user->once, user->periodic, YQ_STEPS_ADD, start, end);
}

/* -- available amounts ------------------------------------------------------------- */

/* Merge "other" into "to", and return the result, or NULL if the merge fails.  Frees "to". */
static YqStepFunction *
merge_into(const YqPlan *plan, YqStepFunction *to, const YqStepFunction *other, YqStepOperator operator, int64 start, int64 end)
{
	YqStepFunction *result = yq_steps_merge(plan->capacity, to, other, operator, start, end);

	yq_steps_free(to);
	return result;
}

static YqStepFunction *
available_once(const YqPlan *plan, const char *username, const YqPlanReservation *old, int64 start, int64 end,
			   YqPlanFailure *failure)
{
	YqStepOperator operator = plan->plans_around ? YQ_STEPS_SUBTRACT : YQ_STEPS_SUBTRACT_WITHIN;
	YqStepFunction *net = yq_steps_make_constant(plan->calculator, start, plan->capacity);

	net = merge_into(plan, net, plan->once, operator, start, end);
	if (net != NULL)
		net = merge_into(plan, net, plan->periodic, operator, start, end);
	if (net == NULL)
	{
		*failure = YQ_PLAN_OVERCOMMITTED;
		return NULL;
	}
	if (plan->plans_around)
		yq_steps_cut_below_zero(net);
	if (old != NULL)
		net = merge_into(plan, net, old->over_time, YQ_STEPS_ADD, start, end);
	return sharing_policy_limit(plan, net, username, old, start, end);
}

/*
 * Return the smallest amounts that are available in any of the periods.  "least" contains
 * those of the first period, and is freed.  The memory for each period is freed before the
 * next period.
 */
static YqStepFunction *
least_of_periods(const YqPlan *plan, YqStepFunction *least, const char *username, const YqPlanReservation *old,
				 int64 start, int64 end, int64 period, YqPlanFailure *failure)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "yquota period of a plan", ALLOCSET_DEFAULT_SIZES);

	for (int64 shift = period; least != NULL && shift < plan->largest_period; shift += period)
	{
		MemoryContext caller = MemoryContextSwitchTo(scratch);
		YqStepFunction *instance = available_once(plan, username, old, start + shift, end + shift, failure);

		CHECK_FOR_INTERRUPTS();
		if (instance != NULL)
			yq_steps_shift(instance, -shift);
		MemoryContextSwitchTo(caller);
		least = instance == NULL ? NULL : merge_into(plan, least, instance, YQ_STEPS_MIN, start, end);
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
	return least;
}

YqStepFunction *
yq_plan_available(const YqPlan *plan, const char *username, const YqPlanReservation *old, int64 start, int64 end,
				  int64 period, YqPlanFailure *failure)
{
	YqStepFunction *available;

	if (period > 0 && (plan->largest_period % period != 0 || period < end - start))
	{
		*failure = YQ_PLAN_PERIOD;
		return NULL;
	}
	available = available_once(plan, username, old, start, end, failure);
	return available == NULL || period == 0 ? available :
		least_of_periods(plan, available, username, old, start, end, period, failure);
}

/* -- changing ----------------------------------------------------------------------- */

static void
add_reservation(YqPlan *plan, YqPlanReservation *reservation)
{
	yq_plan_add_accepted(plan, reservation);
	change_sums(plan, reservation, true);
}

YqPlanFailure
yq_plan_add(YqPlan *plan, YqPlanReservation *reservation, int64 now)
{
	YqPlanFailure failure;

	if (yq_plan_find(plan, reservation->id) != NULL)
		return YQ_PLAN_EXISTS;
	failure = sharing_policy_validate(plan, reservation);
	if (failure != YQ_PLAN_ACCEPTED)
		return failure;
	reservation->accepted_at = now;
	add_reservation(plan, reservation);
	return YQ_PLAN_ACCEPTED;
}

void
yq_plan_remove(YqPlan *plan, YqPlanReservation *reservation)
{
	int			at = 0;

	while (plan->reservations[at] != reservation)
		at++;
	plan->count--;
	memmove(plan->reservations + at, plan->reservations + at + 1, sizeof(YqPlanReservation *) * (plan->count - at));
	change_sums(plan, reservation, false);
}

/*
 * Replace a reservation.  As in Hadoop, the policy checks the new reservation once in
 * addition to the old reservation, and once after the old reservation is removed.  With
 * plans_around the second check is omitted, because it would not count the old amounts as
 * free.
 */
YqPlanFailure
yq_plan_replace(YqPlan *plan, YqPlanReservation *reservation, int64 now)
{
	YqPlanReservation *old = yq_plan_find(plan, reservation->id);
	YqPlanFailure failure;

	if (old == NULL)
		return YQ_PLAN_UNKNOWN;
	failure = sharing_policy_validate(plan, reservation);
	if (failure != YQ_PLAN_ACCEPTED)
		return failure;
	yq_plan_remove(plan, old);
	if (!plan->plans_around)
		failure = sharing_policy_validate(plan, reservation);
	if (failure == YQ_PLAN_ACCEPTED)
		reservation->accepted_at = now;
	add_reservation(plan, failure == YQ_PLAN_ACCEPTED ? reservation : old);
	return failure;
}

void
yq_plan_undo(YqPlan *plan, YqPlanReservation *reservation, YqPlanReservation *replaced)
{
	yq_plan_remove(plan, reservation);
	if (replaced != NULL)
		add_reservation(plan, replaced);
}
