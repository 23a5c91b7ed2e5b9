/*-------------------------------------------------------------------------
 *
 * measured_use.c
 *	  What of a node is in use by its last report, and the thresholds that this
 *	  is compared with.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "common/int.h"
#include "opportunistic/node_queue/measured_use.h"

#define MILLION INT64CONST(1000000)

/* The whole millions and the rest apart, so that only the result may be too large. */
int64
yq_measured_part(int64 total, int64 millionths)
{
	int64		part;

	if (pg_mul_s64_overflow(total / MILLION, millionths, &part) ||
		pg_add_s64_overflow(part, total % MILLION * millionths / MILLION, &part))
		return PG_INT64_MAX;
	return part;
}

static int64
saturating_sum(int64 a, int64 b)
{
	int64		sum;

	return pg_add_s64_overflow(a, b, &sum) ? PG_INT64_MAX : sum;
}

int64
yq_measured_room(const YqMeasuredAmount *amount, int64 guaranteed, int64 guaranteed_since, int64 opportunistic_since)
{
	int64		used;

	if (amount->thresholds.threshold == 0 || amount->measured == 0)
		return PG_INT64_MIN;
	used = Max(saturating_sum(amount->measured, guaranteed_since), guaranteed);
	/* both are 0 or more */
	return yq_measured_part(amount->total, amount->thresholds.threshold) - saturating_sum(used, opportunistic_since);
}

int64
yq_measured_excess(const YqMeasuredAmount *amount)
{
	if (amount->thresholds.preemption_threshold == 0 || amount->total == 0)
		return 0;
	return Max(amount->measured - yq_measured_part(amount->total, amount->thresholds.preemption_threshold), 0);
}

bool
yq_measured_has_excess(const YqMeasuredUse *use)
{
	return use->is_told && (yq_measured_excess(&use->memory) > 0 || yq_measured_excess(&use->vcores) > 0);
}

char *
yq_measured_fraction(int64 millionths)
{
	char	   *fraction = psprintf(INT64_FORMAT ".%06d", millionths / MILLION, (int) (millionths % MILLION));
	int			length = strlen(fraction);

	while (fraction[length - 1] == '0')
		length--;
	if (fraction[length - 1] == '.')
		length--;
	fraction[length] = '\0';
	return fraction;
}
