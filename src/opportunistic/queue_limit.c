/*-------------------------------------------------------------------------
 *
 * queue_limit.c
 *	  The limit of their queues that nodes are told.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "opportunistic/queue_limit.h"

/* Java's conversion to an integer: truncated, and the nearest one when it is out of range. */
static int32
to_integer(double value)
{
	if (isnan(value))
		return 0;
	if (value >= PG_INT32_MAX)
		return PG_INT32_MAX;
	if (value <= PG_INT32_MIN)
		return PG_INT32_MIN;
	return (int32) value;
}

/* Math.round() of what is not negative. */
static int32
round_half_up(double value)
{
	double		whole = floor(value);

	return to_integer(value - whole >= 0.5 ? whole + 1 : whole);
}

/* An integer sum in Java goes round, and what a double is added to does not. */
void
yq_queue_limit_note_sort(YqQueueLoadFigures *figures, YqLoadComparator comparator, YqNodeLoad *const *loads, int count)
{
	uint32		sum = 0;
	int32		squares = 0;

	if (count == 0)
		return;
	for (int i = 0; i < count; i++)
		sum += (uint32) yq_node_load_metric(comparator, loads[i]);
	figures->mean = (int32) sum / count;
	for (int i = 0; i < count; i++)
	{
		double		difference = (int32) ((uint32) yq_node_load_metric(comparator, loads[i]) - (uint32) figures->mean);

		squares = to_integer(squares + difference * difference);
	}
	figures->deviation = round_half_up(sqrt((double) ((float4) squares / (float4) count)));
}

int32
yq_queue_limit_of(const YqQueueLoadFigures *figures, float4 sigma, int32 minimum, int32 maximum)
{
	/* rounded before it is added, also where the machine could do both at once */
	float4		spread = (float4) ((double) sigma * (float4) figures->deviation);
	int32		limit = to_integer((float4) figures->mean + spread);

	return Min(maximum, Max(minimum, limit));
}
