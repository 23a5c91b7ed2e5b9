/*-------------------------------------------------------------------------
 *
 * expected_duration.c
 *	  How long an application master expects OPPORTUNISTIC containers to run.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/int.h"
#include "scheduler/request/expected_duration.h"
#include "utils/timestamp.h"

#define MAX_DURATION (INT64CONST(36500) * USECS_PER_DAY)

int64
yq_expected_duration_read(Datum interval)
{
	const Interval *given = DatumGetIntervalP(interval);
	int64		days = (int64) given->month * DAYS_PER_MONTH + given->day;
	int64		duration;

	if (pg_mul_s64_overflow(days, USECS_PER_DAY, &duration) || pg_add_s64_overflow(duration, given->time, &duration) ||
		duration <= 0 || duration > MAX_DURATION)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("expected_duration of a container must be more than 0 and at most 36500 days")));
	return duration;
}

Datum
yq_expected_duration_interval(int64 duration)
{
	Interval   *interval = palloc0(sizeof(Interval));

	interval->day = (int32) (duration / USECS_PER_DAY);
	interval->time = duration % USECS_PER_DAY;
	return IntervalPGetDatum(interval);
}
