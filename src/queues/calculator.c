/*-------------------------------------------------------------------------
 *
 * calculator.c
 *	  Arithmetic on resources as the CapacityScheduler does it.
 *
 * Java converts a floating-point number to the nearest integer in range.  NaN becomes
 * zero, and a number that is too large becomes the largest integer.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "queues/calculator.h"
#include "utils/float.h"

bool
yq_amounts_are_none(const YqCalculator *calculator, const int64 *a)
{
	for (int i = 0; i < calculator->types; i++)
	{
		if (a[i] != 0)
			return false;
	}
	return true;
}

bool
yq_amounts_are_equal(const YqCalculator *calculator, const int64 *a, const int64 *b)
{
	for (int i = 0; i < calculator->types; i++)
	{
		if (a[i] != b[i])
			return false;
	}
	return true;
}

bool
yq_amounts_fit_in(const YqCalculator *calculator, const int64 *a, const int64 *b)
{
	for (int i = 0; i < calculator->types; i++)
	{
		if (a[i] > b[i])
			return false;
	}
	return true;
}

bool
yq_amounts_fit_in_by(const YqCalculator *calculator, const int64 *a, const int64 *b)
{
	if (!calculator->is_dominant)
		return a[YQ_MEMORY] <= b[YQ_MEMORY];
	return yq_amounts_fit_in(calculator, a, b);
}

static int64
to_integer(double value)
{
	if (isnan(value))
		return 0;
	if (value >= 9223372036854775807.0)
		return PG_INT64_MAX;
	if (value <= -9223372036854775808.0)
		return PG_INT64_MIN;
	return (int64) value;
}

/* -- the dominant calculator --------------------------------------------- */

static double
share_of(const int64 *cluster, const int64 *a, int type)
{
	if (cluster[type] == 0)
		return get_float8_infinity();
	return (double) a[type] / (double) cluster[type];
}

static int
compare_doubles(double a, double b)
{
	return a < b ? -1 : a > b ? 1 : 0;
}

/*
 * Compare two resources in an empty cluster.  A resource is larger if it has more of
 * some types and not less of any type.
 */
static int
compare_without_cluster(const YqCalculator *calculator, const int64 *a, const int64 *b)
{
	bool		more = false;
	bool		less = false;

	for (int i = 0; i < calculator->types; i++)
	{
		if (a[i] > b[i])
			more = true;
		else if (a[i] < b[i])
			less = true;
	}
	return more == less ? 0 : more ? 1 : -1;
}

/*
 * Compare two resources by memory and cores only.  The larger of the two shares
 * decides.  If the larger shares are equal, the smaller shares decide.
 */
static int
compare_two_shares(const int64 *cluster, const int64 *a, const int64 *b)
{
	double		a_first = share_of(cluster, a, 0);
	double		a_second = share_of(cluster, a, 1);
	double		b_first = share_of(cluster, b, 0);
	double		b_second = share_of(cluster, b, 1);
	int			result = compare_doubles(Max(a_first, a_second), Max(b_first, b_second));

	return result != 0 ? result :
		compare_doubles(Min(a_first, a_second), Min(b_first, b_second));
}

static bool
has_memory_and_cores_alone(const YqCalculator *calculator, const int64 *cluster)
{
	for (int i = YQ_VCORES + 1; i < calculator->types; i++)
	{
		if (cluster[i] != 0)
			return false;
	}
	return true;
}

/* Sort a short array of shares in ascending order. */
static void
sort_shares(double *shares, int count)
{
	for (int i = 1; i < count; i++)
	{
		double		share = shares[i];
		int			at = i;

		for (; at > 0 && shares[at - 1] > share; at--)
			shares[at] = shares[at - 1];
		shares[at] = share;
	}
}

/*
 * Compare two resources by their largest shares, then by their second largest shares,
 * and so on.  Types that the cluster lacks are skipped, because their shares are
 * infinite for both resources.
 */
static int
compare_shares(const YqCalculator *calculator, const int64 *cluster,
			   const int64 *a, const int64 *b)
{
	double		a_shares[YQ_MAX_RESOURCE_TYPES];
	double		b_shares[YQ_MAX_RESOURCE_TYPES];
	double		a_largest = -get_float8_infinity();
	double		b_largest = -get_float8_infinity();
	int			count = 0;

	for (int i = 0; i < calculator->types; i++)
	{
		if (cluster[i] == 0)
			continue;
		a_shares[count] = share_of(cluster, a, i);
		b_shares[count] = share_of(cluster, b, i);
		a_largest = Max(a_largest, a_shares[count]);
		b_largest = Max(b_largest, b_shares[count]);
		count++;
	}
	if (a_largest != b_largest)
		return compare_doubles(a_largest, b_largest);
	sort_shares(a_shares, count);
	sort_shares(b_shares, count);
	for (int i = count - 2; i >= 0; i--)
	{
		if (a_shares[i] != b_shares[i])
			return compare_doubles(a_shares[i], b_shares[i]);
	}
	return 0;
}

/* Return the largest finite share, but at least 0. */
static double
largest_share(const YqCalculator *calculator, const int64 *cluster, const int64 *a)
{
	double		largest = 0;

	for (int i = 0; i < calculator->types; i++)
	{
		double		share = share_of(cluster, a, i);

		if (!isinf(share))
			largest = Max(largest, share);
	}
	return largest;
}

/* -- both ---------------------------------------------------------------- */

int
yq_amounts_compare(const YqCalculator *calculator, const int64 *cluster,
				   const int64 *a, const int64 *b)
{
	if (!calculator->is_dominant)
		return a[YQ_MEMORY] < b[YQ_MEMORY] ? -1 : a[YQ_MEMORY] > b[YQ_MEMORY] ? 1 : 0;
	if (yq_amounts_are_equal(calculator, a, b))
		return 0;
	if (yq_amounts_are_none(calculator, cluster))
		return compare_without_cluster(calculator, a, b);
	if (has_memory_and_cores_alone(calculator, cluster))
		return compare_two_shares(cluster, a, b);
	return compare_shares(calculator, cluster, a, b);
}

const int64 *
yq_amounts_min(const YqCalculator *calculator, const int64 *cluster,
			   const int64 *a, const int64 *b)
{
	return yq_amounts_compare(calculator, cluster, a, b) <= 0 ? a : b;
}

const int64 *
yq_amounts_max(const YqCalculator *calculator, const int64 *cluster,
			   const int64 *a, const int64 *b)
{
	return yq_amounts_compare(calculator, cluster, a, b) >= 0 ? a : b;
}

/* Divide doubles as Java does: a division by zero raises no error. */
static double
quotient(double a, double b)
{
	if (b != 0)
		return a / b;
	return a == 0 ? get_float8_nan() : get_float8_infinity();
}

/* Divide as floats.  A division by 0 raises no error, and 0 / 0 is 0. */
static float4
safe_quotient(int64 a, int64 b)
{
	if (b != 0)
		return (float4) a / (float4) b;
	return a == 0 ? 0 : a > 0 ? get_float4_infinity() : -get_float4_infinity();
}

float4
yq_amounts_divide(const YqCalculator *calculator, const int64 *cluster,
				  const int64 *a, const int64 *b)
{
	if (calculator->is_dominant)
		return (float4) quotient(largest_share(calculator, cluster, a),
								 largest_share(calculator, cluster, b));
	return safe_quotient(a[YQ_MEMORY], b[YQ_MEMORY]);
}

float4
yq_amounts_ratio(const YqCalculator *calculator, const int64 *a, const int64 *b)
{
	float4		largest = 0;

	if (!calculator->is_dominant)
		return safe_quotient(a[YQ_MEMORY], b[YQ_MEMORY]);
	for (int i = 0; i < calculator->types; i++)
		largest = Max(largest, safe_quotient(a[i], b[i]));
	return largest;
}

void
yq_amounts_add(const YqCalculator *calculator, int64 *to, const int64 *a)
{
	for (int i = 0; i < calculator->types; i++)
		to[i] += a[i];
}

void
yq_amounts_subtract(const YqCalculator *calculator, int64 *to, const int64 *a)
{
	for (int i = 0; i < calculator->types; i++)
		to[i] -= a[i];
}

void
yq_amounts_subtract_to_none(const YqCalculator *calculator, int64 *to, const int64 *a)
{
	for (int i = 0; i < calculator->types; i++)
		to[i] = Max(to[i] - a[i], 0);
}

void
yq_amounts_lower_each(const YqCalculator *calculator, int64 *to, const int64 *a)
{
	for (int i = 0; i < calculator->types; i++)
		to[i] = Min(to[i], a[i]);
}

void
yq_amounts_raise_each(const YqCalculator *calculator, int64 *to, const int64 *a)
{
	for (int i = 0; i < calculator->types; i++)
		to[i] = Max(to[i], a[i]);
}

int64
yq_amounts_available_containers(const YqCalculator *calculator, const int64 *a, const int64 *b)
{
	int			types = calculator->is_dominant ? calculator->types : YQ_MEMORY + 1;
	int64		least = PG_INT64_MAX;

	for (int i = 0; i < types; i++)
	{
		if (b[i] > 0)
			least = Min(least, a[i] / b[i]);
	}
	return least;
}

bool
yq_amounts_any_above_none(const YqCalculator *calculator, const int64 *a)
{
	int			types = calculator->is_dominant ? calculator->types : YQ_MEMORY + 1;

	for (int i = 0; i < types; i++)
	{
		if (a[i] > 0)
			return true;
	}
	return false;
}

bool
yq_amounts_any_none_or_below(const YqCalculator *calculator, const int64 *a)
{
	int			types = calculator->is_dominant ? calculator->types : YQ_MEMORY + 1;

	for (int i = 0; i < types; i++)
	{
		if (a[i] <= 0)
			return true;
	}
	return false;
}

void
yq_amounts_multiply(const YqCalculator *calculator, int64 *result, const int64 *a, double by)
{
	for (int i = 0; i < calculator->types; i++)
		result[i] = to_integer((double) a[i] * by);
}

static int64
round_down(int64 amount, int64 step)
{
	return step == 0 ? 0 : amount / step * step;
}

static int64
divide_and_ceil(int64 amount, float4 by)
{
	return by == 0 ? 0 : to_integer(ceil((double) ((float4) amount / by)));
}

static int64
divide_by_integer_and_ceil(int64 amount, int64 by)
{
	return by == 0 ? 0 : (amount + (by - 1)) / by;
}

static int64
round_amount_up(int64 amount, int64 step)
{
	return divide_by_integer_and_ceil(amount, step) * step;
}

/* Set all amounts of a resource from an amount of memory, as the default calculator does. */
static void
set_memory_alone(const YqCalculator *calculator, int64 *result, int64 memory)
{
	memset(result, 0, calculator->types * sizeof(int64));
	result[YQ_MEMORY] = memory;
	result[YQ_VCORES] = memory > 0 ? 1 : 0;
}

void
yq_amounts_divide_and_ceil(const YqCalculator *calculator, int64 *result, const int64 *a, float4 by)
{
	if (!calculator->is_dominant)
	{
		set_memory_alone(calculator, result, divide_and_ceil(a[YQ_MEMORY], by));
		return;
	}
	for (int i = 0; i < calculator->types; i++)
		result[i] = divide_and_ceil(a[i], by);
}

void
yq_amounts_divide_by_integer_and_ceil(const YqCalculator *calculator, int64 *result,
									  const int64 *a, int64 by)
{
	if (!calculator->is_dominant)
	{
		set_memory_alone(calculator, result, divide_by_integer_and_ceil(a[YQ_MEMORY], by));
		return;
	}
	for (int i = 0; i < calculator->types; i++)
		result[i] = divide_by_integer_and_ceil(a[i], by);
}

void
yq_amounts_multiply_and_normalize_up(const YqCalculator *calculator, int64 *result,
									 const int64 *a, double by, const int64 *step)
{
	if (!calculator->is_dominant)
	{
		set_memory_alone(calculator, result,
						 round_amount_up(to_integer((double) a[YQ_MEMORY] * by + 0.5), step[YQ_MEMORY]));
		return;
	}
	for (int i = 0; i < calculator->types; i++)
	{
		int64		amount = to_integer(ceil((float4) ((double) a[i] * by)));

		result[i] = step[i] != 0 ? round_amount_up(amount, step[i]) : amount;
	}
}

void
yq_amounts_multiply_each_and_normalize_up(const YqCalculator *calculator, int64 *result,
										  const int64 *a, const float4 *by)
{
	if (!calculator->is_dominant)
	{
		set_memory_alone(calculator, result, to_integer((double) a[YQ_MEMORY] * by[YQ_MEMORY] + 0.5));
		return;
	}
	for (int i = 0; i < calculator->types; i++)
		result[i] = to_integer(ceil((double) a[i] * by[i]));
}

void
yq_amounts_multiply_and_normalize_down(const YqCalculator *calculator, int64 *result,
									   const int64 *a, double by, const int64 *step)
{
	if (!calculator->is_dominant)
	{
		set_memory_alone(calculator, result,
						 round_down(to_integer((double) a[YQ_MEMORY] * by), step[YQ_MEMORY]));
		return;
	}
	for (int i = 0; i < calculator->types; i++)
	{
		int64		amount = to_integer((double) a[i] * by);

		result[i] = step[i] != 0 ? round_down(amount, step[i]) : amount;
	}
}

void
yq_amounts_round_up(const YqCalculator *calculator, int64 *result,
					const int64 *a, const int64 *step)
{
	if (!calculator->is_dominant)
	{
		set_memory_alone(calculator, result, round_amount_up(a[YQ_MEMORY], step[YQ_MEMORY]));
		return;
	}
	for (int i = 0; i < calculator->types; i++)
		result[i] = step[i] != 0 ? round_amount_up(a[i], step[i]) : a[i];
}

void
yq_amounts_round_down(const YqCalculator *calculator, int64 *result,
					  const int64 *a, const int64 *step)
{
	if (!calculator->is_dominant)
	{
		set_memory_alone(calculator, result, round_down(a[YQ_MEMORY], step[YQ_MEMORY]));
		return;
	}
	for (int i = 0; i < calculator->types; i++)
		result[i] = step[i] != 0 ? round_down(a[i], step[i]) : a[i];
}
