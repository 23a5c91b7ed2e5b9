/*-------------------------------------------------------------------------
 *
 * plan_follower.c
 *	  Computes the shares of the queues below a plan at a time, and the reservations that are
 *	  removed because the plan has become smaller.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "reservation/plan_follower.h"

/* -- capacity replanner -------------------------------------------------------- */

/* Removes reservations because a plan has become smaller. */

/*
 * Compare by time of acceptance, then by number.  The reservation that was accepted last comes
 * first.  Among reservations with equal times, the larger number comes first.
 */
static int
compare_acceptance(const ListCell *a, const ListCell *b)
{
	const YqPlanReservation *first = lfirst(a);
	const YqPlanReservation *second = lfirst(b);

	if (first->accepted_at != second->accepted_at)
		return first->accepted_at > second->accepted_at ? -1 : 1;
	if (first->id.number != second->id.number)
		return first->id.number > second->id.number ? -1 : 1;
	return first->id.cluster_timestamp > second->id.cluster_timestamp ? -1 : 1;
}

static List *
reservations_at(const YqPlan *plan, int64 time)
{
	List	   *reservations = NIL;

	for (int i = 0; i < plan->count; i++)
	{
		YqPlanReservation *reservation = plan->reservations[i];

		if (yq_plan_occurs(reservation->arrival, reservation->deadline, reservation->period, time, time))
			reservations = lappend(reservations, reservation);
	}
	list_sort(reservations, compare_acceptance);
	return reservations;
}

static bool
is_excess(const YqPlan *plan, const int64 *amounts)
{
	static const int64 none[YQ_MAX_RESOURCE_TYPES];

	return yq_amounts_compare(plan->calculator, plan->capacity, amounts, none) > 0;
}

/*
 * Remove reservations until the promises at a time fit.  Each removal counts only the
 * reservation's own amounts, although the plan's sums may contain more for the
 * reservation.
 */
static List *
shrink_at(YqPlan *plan, int64 time, List *removed)
{
	int64		excess[YQ_MAX_RESOURCE_TYPES];
	List	   *reservations;
	ListCell   *cell;

	yq_plan_committed_at(plan, time, excess);
	yq_amounts_subtract(plan->calculator, excess, plan->capacity);
	if (!is_excess(plan, excess))
		return removed;
	reservations = reservations_at(plan, time);
	foreach(cell, reservations)
	{
		YqPlanReservation *reservation = lfirst(cell);
		int64		amounts[YQ_MAX_RESOURCE_TYPES];

		CHECK_FOR_INTERRUPTS();
		if (!is_excess(plan, excess))
			break;
		yq_plan_remove(plan, reservation);
		removed = lappend(removed, reservation);
		yq_plan_reservation_at(plan, reservation, time, amounts);
		yq_amounts_subtract(plan->calculator, excess, amounts);
	}
	list_free(reservations);
	return removed;
}

List *
yq_plan_shrink(YqPlan *plan, int64 now, int64 enforcement_window, bool goes_on)
{
	List	   *removed = NIL;

	for (int64 time = now; time - now < enforcement_window && (goes_on || time < yq_steps_latest(plan->once)); time += plan->step)
	{
		CHECK_FOR_INTERRUPTS();
		removed = shrink_at(plan, time, removed);
	}
	return removed;
}

/* -- plan follower ------------------------------------------------------------- */

/*
 * Changes the shares in the same order as CapacitySchedulerPlanFollower.  Each change is
 * checked as in CapacityScheduler.setEntitlement(), because a refused change affects the
 * changes after it.
 */

/* Tolerance in comparing shares, from CSQueueUtils.EPSILON. */
#define SHARE_TOLERANCE 0.0001f

static const YqShare nothing = {0, 0};

int64
yq_plan_follower_time(const YqPlan *plan, int64 time)
{
	int64		beyond = time % plan->step;

	return beyond == 0 ? time : time + (plan->step - beyond);
}

void
yq_plan_reserved_at(const YqPlan *plan, int64 time, int64 *amounts)
{
	memset(amounts, 0, sizeof(int64) * plan->calculator->types);
	for (int i = 0; i < plan->count; i++)
	{
		int64		part[YQ_MAX_RESOURCE_TYPES];

		yq_plan_reservation_at(plan, plan->reservations[i], time, part);
		yq_amounts_add(plan->calculator, amounts, part);
	}
}

bool
yq_plan_queue_has_changed(const YqPlanQueue *queue)
{
	return (!queue->exists && !queue->is_default) || queue->before.capacity != queue->share.capacity ||
		queue->before.maximum_capacity != queue->share.maximum_capacity;
}

char *
yq_plan_queue_refusal_text(const YqPlanQueue *queue)
{
	return psprintf(queue->refusal == YQ_SHARE_OUT_OF_RANGE ? "a share of %g is not between 0 and 1" :
					"with a share of %g the queues of the plan would have more than the whole plan", queue->refused_capacity);
}

/* -- a single share -------------------------------------------------------------- */

static YqShareRefusal
check_share(const YqPlanQueues *queues, const YqPlanQueue *queue, float4 capacity)
{
	float4		sum = 0;

	for (int i = 0; i < queues->count; i++)
		sum += queues->queues[i].share.capacity;
	sum = sum - queue->share.capacity;
	sum = sum + capacity;
	if (!(sum >= 0 && sum < 1.0f + SHARE_TOLERANCE))
		return YQ_SHARE_BEYOND_PLAN;
	return capacity < 0 || capacity > 1 ? YQ_SHARE_OUT_OF_RANGE : YQ_SHARE_GIVEN;
}

static void
set_share(const YqPlanQueues *queues, YqPlanQueue *queue, YqShare share)
{
	queue->refusal = check_share(queues, queue, share.capacity);
	queue->refused_capacity = share.capacity;
	if (queue->refusal == YQ_SHARE_GIVEN)
		queue->share = share;
}

/* -- reservations and their queues -------------------------------------------------- */

static int
compare_ids(YqReservationId a, YqReservationId b)
{
	if (a.cluster_timestamp != b.cluster_timestamp)
		return a.cluster_timestamp < b.cluster_timestamp ? -1 : 1;
	return a.number < b.number ? -1 : a.number > b.number;
}

/* A reservation that is active at the time of the round. */
typedef struct Active
{
	const YqPlanReservation *reservation;
	int			queue;			/* position of the reservation's queue */
	int64		amounts[YQ_MAX_RESOURCE_TYPES];
	int64		change[YQ_MAX_RESOURCE_TYPES];	/* amounts by which the queue's share changes */
} Active;

typedef struct Round
{
	const YqPlan *plan;
	const int64 *cluster;
	float4		absolute_capacity;
	YqPlanQueues *queues;
	Active	   *active;
	int			count;
	float4		given;			/* sum of the shares that were set for reservations, even if they were refused */
} Round;

static int
compare_active_ids(const void *a, const void *b)
{
	return compare_ids(((const Active *) a)->reservation->id, ((const Active *) b)->reservation->id);
}

/* Compare changes as Resource.compareTo() does.  The largest decrease comes first; equal changes are ordered by id. */
static int
compare_changes(const void *a, const void *b, void *argument)
{
	const Active *first = a;
	const Active *second = b;
	int			types = *(const int *) argument;

	for (int type = 0; type < types; type++)
	{
		if (first->change[type] != second->change[type])
			return first->change[type] < second->change[type] ? -1 : 1;
	}
	return compare_active_ids(a, b);
}

static int
compare_queue_ids(const void *a, const void *b)
{
	const YqPlanQueue *first = a;
	const YqPlanQueue *second = b;

	if (first->is_default != second->is_default)
		return first->is_default ? -1 : 1;
	return compare_ids(first->id, second->id);
}

/* Return the position of a reservation's queue among the first "count" queues, or -1. */
static int
find_queue(const YqPlanQueues *queues, int count, YqReservationId id)
{
	YqPlanQueue wanted = {.id = id};
	YqPlanQueue *found = bsearch(&wanted, queues->queues, count, sizeof(YqPlanQueue), compare_queue_ids);

	return found == NULL ? -1 : (int) (found - queues->queues);
}

/* Set the change: the reservation's amounts minus the amounts that its queue has now. */
static void
set_change(const Round *round, Active *active, int64 time)
{
	const YqCalculator *calculator = round->plan->calculator;
	const YqPlanQueue *queue = &round->queues->queues[active->queue];
	int64		present[YQ_MAX_RESOURCE_TYPES];

	yq_plan_reservation_at(round->plan, active->reservation, time, active->amounts);
	memcpy(active->change, active->amounts, sizeof(active->change));
	if (!queue->exists)
		return;
	yq_amounts_multiply(calculator, present, round->cluster, (float4) (round->absolute_capacity * queue->before.capacity));
	yq_amounts_subtract(calculator, active->change, present);
}

/* Find the queues of all active reservations, and add the missing queues. */
static void
find_active(Round *round, int64 time)
{
	const YqPlan *plan = round->plan;
	YqPlanQueues *queues = round->queues;
	int			existing = queues->count;

	qsort(queues->queues, existing, sizeof(YqPlanQueue), compare_queue_ids);
	queues->queues = repalloc_huge(queues->queues, sizeof(YqPlanQueue) * Max(existing + plan->count, 1));
	round->active = palloc_extended(sizeof(Active) * Max(plan->count, 1), MCXT_ALLOC_HUGE);
	for (int i = 0; i < plan->count; i++)
	{
		Active	   *active = &round->active[round->count++];

		active->reservation = plan->reservations[i];
		active->queue = find_queue(queues, existing, active->reservation->id);
		if (active->queue < 0)
		{
			active->queue = queues->count++;
			queues->queues[active->queue] = (YqPlanQueue) {.id = active->reservation->id};
		}
		queues->queues[active->queue].is_active = true;
		set_change(round, active, time);
	}
	qsort_arg(round->active, round->count, sizeof(Active), compare_changes, unconstify(int *, &plan->calculator->types));
}

/* -- the shares ------------------------------------------------------------------------ */

/* Return the share of a reservation.  If "reserved" is not NULL, the shares are scaled down to fit in the plan. */
static float4
share_of(const Round *round, const Active *active, const int64 *reserved)
{
	const YqPlan *plan = round->plan;
	int64		amounts[YQ_MAX_RESOURCE_TYPES];

	if (plan->capacity[YQ_MEMORY] <= 0 || plan->capacity[YQ_VCORES] <= 0)
		return 0;
	memcpy(amounts, active->amounts, sizeof(amounts));
	if (reserved != NULL)
		yq_amounts_multiply(plan->calculator, amounts, plan->capacity,
							yq_amounts_ratio(plan->calculator, active->amounts, reserved));
	return yq_amounts_divide(plan->calculator, round->cluster, amounts, plan->capacity);
}

static void
expire_queues(YqPlanQueues *queues)
{
	for (int i = 0; i < queues->count; i++)
	{
		YqPlanQueue *queue = &queues->queues[i];

		if (!queue->is_default && !queue->is_active)
			set_share(queues, queue, nothing);
	}
}

/*
 * Set the shares of the reservations; queues whose share decreases come first.  The maximum of each
 * queue is the whole plan; Hadoop sets another maximum only for gangs that an agent has marked, and
 * no agent does so.
 */
static void
share_out(Round *round, const int64 *reserved)
{
	for (int i = 0; i < round->count; i++)
	{
		const Active *active = &round->active[i];
		float4		capacity = share_of(round, active, reserved);

		CHECK_FOR_INTERRUPTS();
		set_share(round->queues, &round->queues->queues[active->queue], (YqShare) {capacity, 1});
		round->given += capacity;
	}
}

void
yq_plan_follow(const YqPlan *plan, const int64 *cluster, float4 absolute_capacity, int64 time, bool resizes,
			   YqPlanQueues *queues)
{
	Round		round = {.plan = plan,.cluster = cluster,.absolute_capacity = absolute_capacity,.queues = queues};
	YqPlanQueue *default_queue;
	int64		reserved[YQ_MAX_RESOURCE_TYPES];

	yq_plan_reserved_at(plan, time, reserved);
	resizes = resizes && yq_amounts_compare(plan->calculator, cluster, reserved, plan->capacity) > 0;
	find_active(&round, time);
	default_queue = &queues->queues[0];
	default_queue->is_active = true;
	expire_queues(queues);
	set_share(queues, default_queue, (YqShare) {0, 1});
	share_out(&round, resizes ? reserved : NULL);
	set_share(queues, default_queue, (YqShare) {1.0f - round.given, 1});
}
