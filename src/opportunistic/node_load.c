/*-------------------------------------------------------------------------
 *
 * node_load.c
 *	  How loaded the queues of nodes are.
 *
 * As Hadoop's NodeQueueLoadMonitor has it.  Its resources are always compared by
 * all types, whatever calculator the scheduler has.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "opportunistic/node_load.h"
#include "utils/float.h"

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

int32
yq_node_load_metric(YqLoadComparator comparator, const YqNodeLoad *load)
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

/* DominantResourceCalculator.minRatio() of what is available. */
static float4
least_ratio(const YqCalculator *calculator, const int64 *cluster, const YqNodeLoad *load)
{
	float4		least = get_float4_infinity();

	for (int i = 0; i < calculator->types; i++)
		least = Min(least, (float4) available_amount(load, i) / (float4) cluster[i]);
	return least;
}

/* Ratios are equal that differ by no more than Precision.EPSILON. */
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

/* The one with more available comes first. */
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

int
yq_node_load_compare(YqLoadComparator comparator, const YqCalculator *calculator, const int64 *cluster,
					 const YqNodeLoad *a, const YqNodeLoad *b)
{
	int			result = compare_integers(yq_node_load_metric(comparator, a), yq_node_load_metric(comparator, b));

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
	int			result = yq_node_load_compare(order->comparator, order->calculator, order->cluster, left, right);

	return result != 0 ? result : strcmp(left->name, right->name);
}

/*
 * A queue without capacity is not full, as the node refuses what it cannot queue.  By
 * resources a node is left out then as soon as a container waits.
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
