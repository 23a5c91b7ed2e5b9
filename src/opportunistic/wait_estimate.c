/*-------------------------------------------------------------------------
 *
 * wait_estimate.c
 *	  How long an OPPORTUNISTIC container that comes to a node now would wait.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/int.h"
#include "opportunistic/wait_estimate.h"

static int64
sum_of(int64 a, int64 b)
{
	int64		sum;

	return pg_add_s64_overflow(a, b, &sum) ? PG_INT64_MAX : sum;
}

/* The mean of the durations that are known, or 0. */
static int64
mean_duration(const YqExpectedWork *containers, int count)
{
	int64		sum = 0;
	int			known = 0;

	for (int i = 0; i < count; i++)
	{
		sum = sum_of(sum, containers[i].duration);
		known += containers[i].duration > 0;
	}
	return known == 0 ? 0 : sum / known;
}

int64
yq_wait_estimate(const YqExpectedWork *containers, int count)
{
	int64		mean = mean_duration(containers, count);
	int64		work = 0;
	int			waiting = 0;

	if (mean == 0)
		return YQ_NO_ESTIMATE;
	for (int i = 0; i < count; i++)
	{
		const YqExpectedWork *container = &containers[i];
		int64		duration = container->duration > 0 ? container->duration : mean;

		if (container->waits)
			waiting++;
		else
			duration = Max(duration - Max(container->ran, 0), 0);
		work = sum_of(work, duration);
	}
	return waiting == 0 ? 0 : work / Max(count - waiting, 1);
}
