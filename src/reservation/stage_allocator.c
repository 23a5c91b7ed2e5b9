/*-------------------------------------------------------------------------
 *
 * stage_allocator.c
 *	  Placing the gangs of one request of a reservation.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "reservation/stage_allocator.h"

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

const YqStepFunction *
yq_stage_available(YqPlacement *placement, int64 start, int64 end, YqPlanFailure *failure)
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

void
yq_stage_gangs(const YqPlacement *placement, const YqReservationRequest *request, int64 gangs, int64 *amounts)
{
	for (int i = 0; i < placement->plan->calculator->types; i++)
		amounts[i] = request->capability[i] * request->concurrency * gangs;
}

/* Java's conversion of a number to an int: not a number is 0. */
int64
yq_stage_gangs_in(const YqPlacement *placement, const int64 *amounts, const int64 *gang)
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
