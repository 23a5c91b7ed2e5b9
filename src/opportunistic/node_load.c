/*-------------------------------------------------------------------------
 *
 * node_load.c
 *	  Computes the load of the queues of nodes, and the queue limit that nodes receive.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "opportunistic/node_load.h"
#include "utils/float.h"

/* -- node load ----------------------------------------------------------------- */

/*
 * Sort nodes by load, as Hadoop's NodeQueueLoadMonitor does.  Resources are always
 * compared by all types, even if the scheduler's calculator looks only at memory.
 */

static const char *const comparator_names[] = {
	[YQ_LOAD_QUEUE_LENGTH] = "QUEUE_LENGTH",
	[YQ_LOAD_QUEUE_WAIT_TIME] = "QUEUE_WAIT_TIME",
	[YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES] = "QUEUE_LENGTH_THEN_RESOURCES",
};

const char *
yq_node_load_comparator_name(YqLoadComparator comparator)
{
	return comparator_names[comparator];
}

bool
yq_node_load_is_comparable(YqLoadComparator comparator, int32 wait)
{
	return comparator != YQ_LOAD_QUEUE_WAIT_TIME || wait != YQ_WAIT_UNKNOWN;
}

/*
 * Return the number by which nodes are sorted: the estimated wait or the queue length.
 * The queue limit is computed from this number, too.
 */
static int32
node_load_metric(YqLoadComparator comparator, const YqNodeLoad *load)
{
	return comparator == YQ_LOAD_QUEUE_WAIT_TIME ? load->wait : load->queue_length;
}

/* -- order ------------------------------------------------------------------- */

static int
compare_integers(int64 a, int64 b)
{
	return a < b ? -1 : a > b ? 1 : 0;
}

static int64
available_amount(const YqNodeLoad *load, int type)
{
	return Max(load->capability[type] - load->allocated[type], 0);
}

/*
 * Return the smallest of the ratios available / total over all types, as
 * DominantResourceCalculator.minRatio() does.
 */
static float4
least_ratio(const YqCalculator *calculator, const int64 *cluster, const YqNodeLoad *load)
{
	float4		least = get_float4_infinity();

	for (int i = 0; i < calculator->types; i++)
		least = Min(least, (float4) available_amount(load, i) / (float4) cluster[i]);
	return least;
}

/* Compare two ratios.  They count as equal if they differ by at most Precision.EPSILON. */
static int
compare_ratios(double a, double b)
{
	return fabs(a - b) <= ldexp(1, -53) ? 0 : a < b ? -1 : 1;
}

static bool
has_every_type(const YqCalculator *calculator, const int64 *cluster)
{
	for (int i = 0; i < calculator->types; i++)
	{
		if (cluster[i] <= 0)
			return false;
	}
	return true;
}

/* Compare two nodes by their available amounts.  The node with more available comes first. */
static int
compare_available(const YqCalculator *calculator, const int64 *cluster, const YqNodeLoad *a, const YqNodeLoad *b)
{
	int			result = 0;

	if (has_every_type(calculator, cluster))
		result = compare_ratios(least_ratio(calculator, cluster, b), least_ratio(calculator, cluster, a));
	if (result == 0)
		result = compare_integers(available_amount(b, YQ_VCORES), available_amount(a, YQ_VCORES));
	if (result == 0)
		result = compare_integers(available_amount(b, YQ_MEMORY), available_amount(a, YQ_MEMORY));
	return result;
}

/*
 * Compare the loads of two nodes.  The result is negative if "a" is less loaded than
 * "b", zero if they are equally loaded, and positive otherwise.
 */
static int
node_load_compare(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
				  const YqNodeLoad *a, const YqNodeLoad *b)
{
	int			result = compare_integers(node_load_metric(comparator, a), node_load_metric(comparator, b));

	if (result == 0 && comparator == YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES)
		result = compare_available(calculator, cluster, a, b);
	return result != 0 ? result : compare_integers(b->reported_at, a->reported_at);
}

typedef struct Order
{
	YqLoadComparator comparator;
	const YqCalculator *calculator;
	const int64 *cluster;
} Order;

static int
compare_loads(const void *a, const void *b, void *argument)
{
	const Order *order = argument;
	const YqNodeLoad *left = *(YqNodeLoad *const *) a;
	const YqNodeLoad *right = *(YqNodeLoad *const *) b;
	int			result = node_load_compare(order->comparator, order->calculator, order->cluster, left, right);

	return result != 0 ? result : strcmp(left->name, right->name);
}

/*
 * Is the queue of the node full?  A queue of unknown capacity counts as not full, because the node
 * itself refuses a container that it cannot queue.  If the comparator compares resources, such a
 * queue is full as soon as a container waits.
 */
static bool
is_full(YqLoadComparator comparator, const YqNodeLoad *load)
{
	if (load->queue_capacity > 0)
		return load->queue_length >= load->queue_capacity;
	return comparator == YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES && load->queue_length > 0;
}

int
yq_node_load_sort(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
				  YqNodeLoad **loads, int count)
{
	Order		order = {comparator, calculator, cluster};
	int			left = 0;

	for (int i = 0; i < count; i++)
	{
		if (!is_full(comparator, loads[i]))
			loads[left++] = loads[i];
	}
	qsort_arg(loads, left, sizeof(YqNodeLoad *), compare_loads, &order);
	return left;
}

/* -- slots --------------------------------------------------------------------- */

bool
yq_node_load_counts_slots(YqLoadComparator comparator, const YqNodeLoad *load)
{
	if (comparator == YQ_LOAD_QUEUE_LENGTH)
		return load->queue_length < load->queue_capacity;
	return comparator == YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES;
}

static bool
take_queue_slot(YqNodeLoad *load)
{
	if (load->queue_length >= load->queue_capacity)
		return false;
	load->queue_length++;
	return true;
}

static bool
fits_in_available(const YqCalculator *calculator, const YqNodeLoad *load, const int64 *asked)
{
	for (int i = 0; i < calculator->types; i++)
	{
		if (asked[i] > available_amount(load, i))
			return false;
	}
	return true;
}

bool
yq_node_load_take_slot(YqLoadComparator comparator, const YqCalculator *calculator, YqNodeLoad *load,
					   const int64 *asked)
{
	switch (comparator)
	{
		case YQ_LOAD_QUEUE_WAIT_TIME:
			return true;
		case YQ_LOAD_QUEUE_LENGTH_THEN_RESOURCES:
			if (fits_in_available(calculator, load, asked))
			{
				yq_amounts_add(calculator, load->allocated, asked);
				return true;
			}
			return yq_amounts_fit_in(calculator, asked, load->capability) && take_queue_slot(load);
		case YQ_LOAD_QUEUE_LENGTH:
			break;
	}
	return take_queue_slot(load);
}

/* -- queue limit --------------------------------------------------------------- */

/* Compute the queue limit that is sent to nodes. */

/* Convert to an integer as Java does: truncate.  A value out of range becomes the nearest integer. */
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

/* Round a number as Math.round() does.  The number is not negative. */
static int32
round_half_up(double value)
{
	double		whole = floor(value);

	return to_integer(value - whole >= 0.5 ? whole + 1 : whole);
}

/*
 * Compute mean and deviation with Java's rules for overflow: a sum of int values wraps
 * around, but int += double stops at the largest int.
 */
void
yq_queue_limit_note_sort(YqQueueLoadFigures *figures, YqLoadComparator comparator, YqNodeLoad *const *loads, int count)
{
	uint32		sum = 0;
	int32		squares = 0;

	if (count == 0)
		return;
	for (int i = 0; i < count; i++)
		sum += (uint32) node_load_metric(comparator, loads[i]);
	figures->mean = (int32) sum / count;
	for (int i = 0; i < count; i++)
	{
		double		difference = (int32) ((uint32) node_load_metric(comparator, loads[i]) - (uint32) figures->mean);

		squares = to_integer(squares + difference * difference);
	}
	figures->deviation = round_half_up(sqrt((double) ((float4) squares / (float4) count)));
}

int32
yq_queue_limit_of(const YqQueueLoadFigures *figures, float4 sigma, int32 minimum, int32 maximum)
{
	/* round before the addition, so that the compiler cannot use a fused multiply-add */
	float4		spread = (float4) ((double) sigma * (float4) figures->deviation);
	int32		limit = to_integer((float4) figures->mean + spread);

	return Min(maximum, Max(minimum, limit));
}
