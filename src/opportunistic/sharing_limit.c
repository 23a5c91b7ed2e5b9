/*-------------------------------------------------------------------------
 *
 * sharing_limit.c
 *	  How many OPPORTUNISTIC containers queues, a user and an application may have
 *	  at once.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "opportunistic/sharing_limit.h"

YqSharingLimits
yq_sharing_limits_copy(const YqCalculator *calculator, const YqSharingLimits *limits)
{
	YqSharingLimits copy = {.count = limits->count};
	Size		size = calculator->types * sizeof(int64);

	copy.limits = palloc(sizeof(YqSharingLimit) * Max(copy.count, 1));
	for (int i = 0; i < copy.count; i++)
	{
		copy.limits[i] = limits->limits[i];
		copy.limits[i].used = memcpy(palloc(size), limits->limits[i].used, size);
	}
	return copy;
}

/* Of any number, as far as one limit goes. */
static int64
room_of(const YqCalculator *calculator, const YqSharingLimit *limit, const int64 *size)
{
	int64		room = limit->maximum_containers - limit->containers;

	for (int i = 0; i < calculator->types; i++)
	{
		if (size[i] > 0 && limit->maximum[i] != PG_INT64_MAX)
			room = Min(room, limit->used[i] > limit->maximum[i] ? 0 : (limit->maximum[i] - limit->used[i]) / size[i]);
	}
	return Max(room, 0);
}

int
yq_sharing_limits_room(const YqCalculator *calculator, const YqSharingLimits *limits, const int64 *size,
					   int wanted, const YqSharingLimit **refusing)
{
	int64		room = wanted;

	*refusing = NULL;
	for (int i = 0; i < limits->count; i++)
	{
		int64		of_limit = room_of(calculator, &limits->limits[i], size);

		if (of_limit >= room)
			continue;
		room = of_limit;
		*refusing = &limits->limits[i];
	}
	return (int) room;
}

void
yq_sharing_limits_count(const YqCalculator *calculator, YqSharingLimits *limits, const int64 *size, int containers)
{
	for (int i = 0; i < limits->count; i++)
	{
		limits->limits[i].containers += containers;
		for (int j = 0; j < calculator->types; j++)
			limits->limits[i].used[j] += size[j] * containers;
	}
}
