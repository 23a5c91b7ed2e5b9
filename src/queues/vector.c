/*-------------------------------------------------------------------------
 *
 * vector.c
 *	  Capacities as vectors: amounts, percentages and weights, mixed.
 *
 * For each resource the children with amounts come first, then those with
 * percentages of what is left, then weights share the rest.  Arithmetic is
 * Java's on doubles, in which dividing nothing by nothing is not a number, and
 * such a number becomes nothing in the end.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "queues/vector.h"

/* One resource on one label below one parent. */
typedef struct Share
{
	const YqHierarchy *hierarchy;
	const YqQueue *parent;
	const YqQueueLabel *above;
	int			type;
	double		cluster;		/* of the label's partition */
	double		overall;		/* not yet given to a child */
	double		batch;			/* what was left before this kind of capacity */
	double		weights;		/* sum of the children's */
	double		ratio;			/* for amounts that are more than there is */
} Share;

static const YqCapacityEntry *
entry_of(const YqCapacity *capacity, int type)
{
	return capacity->vector == NULL ? NULL : &capacity->vector[type];
}

static bool
is_of_unit(const YqQueueLabel *label, int type, YqCapacityUnit unit)
{
	const YqCapacityEntry *entry = label == NULL ? NULL : entry_of(&label->capacity, type);

	return entry != NULL && entry->unit == unit;
}

static double
sum_of_weights(const Share *share)
{
	double		sum = 0;

	for (int i = 0; i < share->parent->child_count; i++)
	{
		const YqQueueLabel *label = yq_queue_label(share->parent->children[i], share->above->label);

		if (is_of_unit(label, share->type, YQ_CAPACITY_WEIGHT))
			sum += label->capacity.vector[share->type].value;
	}
	return sum;
}

static double
ratio_of_amounts(const Share *share)
{
	int64		configured = 0;
	int64		available = share->above->effective_minimum[share->type];
	float4		numerator;

	if (share->parent->kind == YQ_QUEUE_MANAGED_PARENT)
		return 1;
	/* root is all of the partition, whatever is configured for it */
	if (share->parent->parent != NULL && share->above->capacity.vector == NULL)
		return 1;
	for (int i = 0; i < share->parent->child_count; i++)
	{
		const YqQueueLabel *label = yq_queue_label(share->parent->children[i], share->above->label);

		if (is_of_unit(label, share->type, YQ_CAPACITY_ABSOLUTE))
			configured = (int64) (configured + label->capacity.vector[share->type].value);
	}
	if (configured == 0)
		return 1;
	numerator = (float4) Min(available, configured);
	return numerator / (float4) configured;
}

static double
minimum_of(const Share *share, const YqCapacityEntry *entry)
{
	double		available = share->above->effective_minimum[share->type];
	double		remaining = share->batch / available;
	double		weight;

	switch (entry->unit)
	{
		case YQ_CAPACITY_ABSOLUTE:
			return floor(share->ratio * remaining * entry->value);
		case YQ_CAPACITY_PERCENT:
			return floor(share->cluster * (available / share->cluster * remaining * entry->value / 100));
		case YQ_CAPACITY_WEIGHT:
			weight = entry->value / share->weights;
			if (weight == 1)
				return floor(share->batch + 0.5);
			return floor(share->cluster * (available / share->cluster * remaining * weight) + 0.5);
		case YQ_CAPACITY_NONE:
			break;
	}
	return 0;
}

static double
maximum_of(const Share *share, const YqCapacityEntry *entry)
{
	double		most = share->above->effective_maximum[share->type];
	double		own = 0;

	if (entry != NULL && entry->unit == YQ_CAPACITY_ABSOLUTE)
		own = floor(entry->value);
	else if (entry != NULL && entry->unit == YQ_CAPACITY_PERCENT)
		own = floor(share->cluster * (most / share->cluster * entry->value / 100));
	if (own == 0)
		return most;
	return isnan(own) ? own : Min(own, most);
}

static int64
to_amount(double value)
{
	return isnan(value) ? 0 : (int64) value;
}

/* Give a child what it gets of the resource; returns how much that is. */
static double
give(Share *share, YqQueueLabel *label)
{
	double		least = minimum_of(share, &label->capacity.vector[share->type]);
	double		most = maximum_of(share, entry_of(&label->maximum, share->type));

	/* without memory there is nothing */
	if (isnan(least) && label->capacity.vector[share->type].unit == YQ_CAPACITY_WEIGHT)
		least = 0;
	if (share->type != YQ_MEMORY && label->effective_minimum[YQ_MEMORY] == 0)
		least = 0;
	if (most < least)
		least = most;
	if (least > share->overall)
		least = share->parent->kind == YQ_QUEUE_MANAGED_PARENT ? 0 : share->overall;
	label->effective_minimum[share->type] = to_amount(least);
	label->effective_maximum[share->type] = to_amount(most);
	return least;
}

static void
share_out(Share *share)
{
	static const YqCapacityUnit order[] = {YQ_CAPACITY_ABSOLUTE, YQ_CAPACITY_PERCENT, YQ_CAPACITY_WEIGHT};

	for (int i = 0; i < (int) lengthof(order); i++)
	{
		double		given = 0;

		for (int j = 0; j < share->parent->child_count; j++)
		{
			YqQueueLabel *label = yq_queue_label(share->parent->children[j], share->above->label);
			double		amount;

			if (!is_of_unit(label, share->type, order[i]))
				continue;
			amount = give(share, label);
			share->overall -= amount;
			given += amount;
		}
		share->batch -= given;
	}
}

void
yq_vector_compute_children(const YqHierarchy *hierarchy, YqQueue *queue)
{
	for (int type = 0; type < hierarchy->calculator.types; type++)
	{
		for (int i = 0; i < queue->label_count; i++)
		{
			Share		share = {.hierarchy = hierarchy, .parent = queue, .above = &queue->labels[i],
				.type = type};

			share.cluster = hierarchy->totals[share.above->label][type];
			share.overall = share.batch = share.above->effective_minimum[type];
			share.weights = sum_of_weights(&share);
			share.ratio = ratio_of_amounts(&share);
			share_out(&share);
		}
	}
}
