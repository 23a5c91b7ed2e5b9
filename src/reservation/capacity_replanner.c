/*-------------------------------------------------------------------------
 *
 * capacity_replanner.c
 *	  Reservations that go because a plan has become smaller.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "miscadmin.h"
#include "reservation/capacity_replanner.h"

/* Accepted last first, then the larger number. */
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

/* What a reservation has by itself is taken off, though its sums may have more (S15). */
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
