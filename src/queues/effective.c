/*-------------------------------------------------------------------------
 *
 * effective.c
 *	  Effective resources of each queue: its share of the cluster's present resources.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include <math.h>

#include "queues/effective.h"
#include "utils/memutils.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* -- legacy mode ----------------------------------------------------------- */

/* Return the configuration that the queue's parent has for the same label, or NULL. */
static const YqQueueLabel *
label_above(const YqQueue *queue, const YqQueueLabel *label)
{
	return queue->parent == NULL ? NULL : yq_queue_label(queue->parent, label->label);
}

static void
set_absolute_fractions(YqQueue *queue)
{
	for (int i = 0; i < queue->label_count; i++)
	{
		YqQueueLabel *label = &queue->labels[i];
		const YqQueueLabel *above = label_above(queue, label);
		float4		capacity = Max(label->capacity_fraction, label->normalized_weight);

		if (queue->parent == NULL)
		{
			label->absolute_capacity = 1;
			label->absolute_maximum = Max(label->maximum_fraction, 0);
			continue;
		}
		if (capacity > 0)
			label->absolute_capacity = capacity * (above == NULL ? 0 : above->absolute_capacity);
		if (label->maximum_fraction > 0)
			label->absolute_maximum = label->maximum_fraction * (above == NULL ? 0 : above->absolute_maximum);
	}
}

bool
yq_children_use_weights(const YqQueue *queue)
{
	for (int i = 0; i < queue->child_count; i++)
	{
		for (int j = 0; j < queue->children[i]->label_count; j++)
		{
			const YqQueueLabel *label = &queue->children[i]->labels[j];

			if (label->weight >= 0 && yq_queue_label(queue, label->label) != NULL)
				return true;
		}
	}
	return false;
}

static void
normalize_weights(YqQueue *queue)
{
	if (!yq_children_use_weights(queue))
		return;
	for (int i = 0; i < queue->label_count; i++)
	{
		float4		sum = 0;

		for (int j = 0; j < queue->child_count; j++)
		{
			YqQueueLabel *label = yq_queue_label(queue->children[j], queue->labels[i].label);

			if (label != NULL)
				sum += Max(0, label->weight);
		}
		if (fabsf(sum) <= 1e-6)
			continue;
		for (int j = 0; j < queue->child_count; j++)
		{
			YqQueueLabel *label = yq_queue_label(queue->children[j], queue->labels[i].label);

			if (label != NULL)
				label->normalized_weight = label->weight / sum;
		}
	}
}

/* Divide amounts for display.  An infinite quotient is displayed as 0. */
static float4
finite_quotient(const YqHierarchy *hierarchy, const int64 *cluster, const int64 *a, const int64 *b)
{
	float4		quotient = yq_amounts_divide(&hierarchy->calculator, cluster, a, b);

	return isinf(quotient) ? 0 : quotient;
}

/*
 * Set the fractions that are computed from amounts.  They are only displayed; no decision uses
 * them.  In legacy mode, a fraction is a share of the cluster.  Otherwise, it is a share of the
 * partition.
 */
static void
derive_fractions(const YqHierarchy *hierarchy, const YqQueue *queue, YqQueueLabel *label,
				 const int64 *cluster)
{
	const YqQueueLabel *above = label_above(queue, label);

	label->capacity_fraction = finite_quotient(hierarchy, cluster, label->effective_minimum,
											   above == NULL ? nothing : above->effective_minimum);
	label->maximum_fraction = finite_quotient(hierarchy, cluster, label->effective_maximum,
											  above == NULL ? nothing : above->effective_maximum);
	label->absolute_capacity = label->capacity_fraction * (above == NULL ? 0 : above->absolute_capacity);
	/* if the computation with vectors yields no maximum, the configured fraction remains */
	if (hierarchy->settings.is_legacy || label->maximum_fraction > 0)
		label->absolute_maximum = label->maximum_fraction * (above == NULL ? 0 : above->absolute_maximum);
}

/*
 * Set the amounts of a queue in absolute mode.  If the children need more than the
 * parent has, the configured amounts are scaled down.
 */
static void
set_absolute_amounts(const YqHierarchy *hierarchy, const YqQueue *queue, YqQueueLabel *label)
{
	const YqQueueLabel *above = label_above(queue, label);
	const int64 *most = above == NULL ? nothing :
		above->maximum_amounts != NULL ? above->maximum_amounts : above->effective_maximum;
	Size		size = hierarchy->calculator.types * sizeof(int64);

	for (int i = 0; i < hierarchy->calculator.types; i++)
	{
		int64		configured = label->minimum_amounts == NULL ? 0 : label->minimum_amounts[i];

		if (above != NULL && above->minimum_ratio != NULL && above->minimum_ratio[i] >= 0)
			configured = (int64) ((float4) configured * above->minimum_ratio[i]);
		label->effective_minimum[i] = configured;
	}
	if (label->maximum_amounts != NULL)
		most = yq_amounts_min(&hierarchy->calculator, hierarchy->totals[label->label],
							  label->maximum_amounts, most);
	memcpy(label->effective_maximum, most, size);
	derive_fractions(hierarchy, queue, label, hierarchy->cluster);
}

static void
set_effective_amounts(const YqHierarchy *hierarchy, YqQueue *queue)
{
	for (int i = 0; i < queue->label_count; i++)
	{
		YqQueueLabel *label = &queue->labels[i];
		const int64 *total = hierarchy->totals[label->label];
		Size		size = hierarchy->calculator.types * sizeof(int64);

		if (!label->is_configured)
			continue;
		if (queue->parent == NULL)
		{
			memcpy(label->effective_minimum, total, size);
			memcpy(label->effective_maximum, total, size);
		}
		else if (queue->is_absolute)
			set_absolute_amounts(hierarchy, queue, label);
		else
		{
			yq_amounts_multiply(&hierarchy->calculator, label->effective_minimum, total,
								label->absolute_capacity);
			yq_amounts_multiply(&hierarchy->calculator, label->effective_maximum, total,
								label->absolute_maximum);
		}
	}
}

/*
 * Compute the factors, one per resource type, by which the children's configured
 * amounts are scaled down to the parent's amounts.
 */
static void
set_minimum_ratios(YqHierarchy *hierarchy, YqQueue *queue)
{
	const YqCalculator *calculator = &hierarchy->calculator;

	for (int i = 0; i < queue->label_count; i++)
	{
		YqQueueLabel *label = &queue->labels[i];
		int64		needed[YQ_MAX_RESOURCE_TYPES] = {0};

		for (int j = 0; j < queue->child_count; j++)
		{
			const YqQueueLabel *below = yq_queue_label(queue->children[j], label->label);

			for (int k = 0; below != NULL && below->minimum_amounts != NULL && k < calculator->types; k++)
				needed[k] += below->minimum_amounts[k];
		}
		label->minimum_ratio = NULL;
		if (queue->parent == NULL && yq_amounts_are_none(calculator, hierarchy->totals[label->label]))
			continue;
		if (yq_amounts_compare(calculator, hierarchy->cluster, label->effective_minimum, needed) >= 0)
			continue;
		label->minimum_ratio = palloc(sizeof(float4) * calculator->types);
		for (int k = 0; k < calculator->types; k++)
			label->minimum_ratio[k] = needed[k] == 0 ? -1 :
				(float4) label->effective_minimum[k] / (float4) needed[k];
	}
}

/* -- limits ---------------------------------------------------------------- */

int64 *
yq_queue_limit(const YqHierarchy *hierarchy, const YqQueue *queue)
{
	const YqCalculator *calculator = &hierarchy->calculator;
	const YqQueueLabel *parent;
	const int64 *killable;
	int64	   *limit;
	const int64 *least;

	if (queue->parent == NULL)
	{
		limit = yq_hierarchy_amounts(hierarchy);
		memcpy(limit, hierarchy->cluster, calculator->types * sizeof(int64));
		return limit;
	}
	parent = &queue->parent->labels[0];
	killable = yq_queue_killable(hierarchy, queue->parent);
	limit = yq_queue_limit(hierarchy, queue->parent);
	least = yq_amounts_min(calculator, hierarchy->cluster, limit, parent->effective_maximum);
	for (int i = 0; i < calculator->types; i++)
		limit[i] = least[i] - parent->used[i] + (killable == NULL ? 0 : killable[i]) + queue->labels[0].used[i];
	yq_amounts_round_down(calculator, limit, limit, hierarchy->settings.minimum_allocation);
	return limit;
}

/* Convert a float to an integer with Java's rules for NaN and overflow. */
static int
to_int(float4 value)
{
	if (isnan(value))
		return 0;
	if (value >= 2147483648.0f)
		return PG_INT32_MAX;
	return value <= -2147483648.0f ? PG_INT32_MIN : (int) value;
}

static void
set_application_limits(const YqHierarchy *hierarchy, YqQueue *queue)
{
	const YqSchedulerSettings *settings = &hierarchy->settings;
	bool		is_global = settings->global_queue_max_application > 0;
	int			base = settings->maximum_applications;
	int			most = queue->maximum_applications;

	if (is_global)
		base = Min(base, settings->global_queue_max_application);
	if (most < 0 && ((is_global && !queue->is_absolute) ||
					 (!settings->is_legacy && yq_amounts_are_none(&hierarchy->calculator, hierarchy->cluster))))
		most = base;
	else if (most < 0)
	{
		for (int i = 0; i < queue->label_count; i++)
		{
			if (queue->labels[i].is_configured)
				most = Max(most, to_int(base * queue->labels[i].absolute_capacity));
		}
	}
	queue->most_applications = most;
	queue->most_applications_per_user = most;
	if (queue->user_limit_factor != -1)
		queue->most_applications_per_user =
			Min(most, to_int(most * (queue->user_limit / 100.0f) * queue->user_limit_factor));
}

float4
yq_queue_absolute_used(const YqHierarchy *hierarchy, int label, const int64 *used)
{
	const int64 *total = hierarchy->totals[label];

	if (yq_amounts_compare(&hierarchy->calculator, total, total, nothing) <= 0)
		return 0;
	return yq_amounts_divide(&hierarchy->calculator, total, used, total);
}

float4
yq_queue_used(const YqHierarchy *hierarchy, const YqQueueLabel *label, const int64 *used)
{
	const int64 *total = hierarchy->totals[label->label];
	const int64 *guaranteed = label->effective_minimum;
	int64		templated[YQ_MAX_RESOURCE_TYPES];

	if (yq_amounts_compare(&hierarchy->calculator, total, total, nothing) <= 0)
		return 0;
	/* an inactive leaf has no guarantee of its own, so the template's guarantee counts (semantics/queues 2.7) */
	if (label->template != NULL && label->absolute_capacity == 0)
	{
		yq_amounts_multiply(&hierarchy->calculator, templated, total, label->template->absolute_capacity);
		guaranteed = templated;
	}
	return yq_amounts_divide(&hierarchy->calculator, total, used,
							 yq_amounts_max(&hierarchy->calculator, total, guaranteed,
											hierarchy->settings.minimum_allocation));
}

/* -- templates of managed parents ------------------------------------------ */

/* Compute the fractions of the partition that a managed parent's template gives to an active leaf. */
static void
set_template_fractions(const YqHierarchy *hierarchy, YqQueue *queue)
{
	for (int i = 0; i < queue->template_label_count; i++)
	{
		YqQueueLabel *template = &queue->template_labels[i];
		const YqQueueLabel *above = yq_queue_label(queue, template->label);

		template->capacity_fraction = template->configured;
		if (queue->is_absolute && above != NULL)
			template->capacity_fraction =
				finite_quotient(hierarchy, hierarchy->cluster,
								template->minimum_amounts == NULL ? nothing : template->minimum_amounts,
								above->minimum_amounts == NULL ? nothing : above->minimum_amounts);
		template->absolute_capacity = above == NULL ? 0 :
			template->capacity_fraction * above->absolute_capacity;
	}
}

/* -- the calculation with vectors ------------------------------------------ */

/* Computation of the children's amounts of a resource type on a label. */
typedef struct Share
{
	const YqHierarchy *hierarchy;
	const YqQueue *parent;
	const YqQueueLabel *above;
	int			type;
	double		cluster;		/* amount that the label's partition has */
	double		overall;		/* amount that no child has received yet */
	double		batch;			/* amount that was left before children with the present unit of capacity got theirs */
	double		weights;		/* sum of the weights of all children */
	double		ratio;			/* factor that scales the children's absolute amounts down to the available amount */
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
	/* root gets the whole partition, even if another capacity is configured for root */
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

/*
 * Set the amounts of a queue of a plan.  The only capacity of the queue is its share of the plan, a
 * percentage of each resource.
 */
static void
set_vector_of_share(const YqHierarchy *hierarchy, const YqQueue *plan, YqQueueLabel *label)
{
	for (int type = 0; type < hierarchy->calculator.types; type++)
	{
		YqCapacityEntry least = {YQ_CAPACITY_PERCENT, label->configured * 100};
		YqCapacityEntry most = {YQ_CAPACITY_PERCENT, label->configured_maximum * 100};
		Share		share = {.hierarchy = hierarchy, .parent = plan, .above = &plan->labels[0], .type = type};

		share.cluster = hierarchy->totals[0][type];
		share.batch = share.above->effective_minimum[type];
		label->effective_minimum[type] = to_amount(minimum_of(&share, &least));
		/* a plan stores 0 for a maximum that is not set */
		label->effective_maximum[type] = most.value == 0 ? 0 : to_amount(maximum_of(&share, &most));
	}
}

/* Set a child's amount of the resource type, and return the amount. */
static double
give(Share *share, YqQueueLabel *label)
{
	double		least = minimum_of(share, &label->capacity.vector[share->type]);
	double		most = maximum_of(share, entry_of(&label->maximum, share->type));

	/* an absolute capacity without an amount of memory counts as no capacity */
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

/* -- queues of plans --------------------------------------------------------- */

/*
 * Number of applications from which the limits of a plan are computed.  PlanQueue's
 * constructor uses this constant instead of the cluster's maximum-applications.
 */
#define PLAN_APPLICATIONS 10000

static void
set_plan_limits(YqQueue *plan)
{
	int			most = plan->maximum_applications;

	if (most < 0)
		most = to_int(PLAN_APPLICATIONS * plan->labels[0].absolute_capacity);
	plan->most_applications = most;
	plan->most_applications_per_user = plan->user_limit_factor == -1 ? most :
		to_int(most * (plan->user_limit / 100.0f) * plan->user_limit_factor);
}

void
yq_queue_of_plan_compute(const YqHierarchy *hierarchy, YqQueue *queue)
{
	const YqQueue *plan = queue->parent;
	const YqQueueLabel *above = &plan->labels[0];
	YqQueueLabel *label = &queue->labels[0];

	label->capacity_fraction = label->configured;
	label->maximum_fraction = label->configured_maximum;
	label->absolute_capacity = above->absolute_capacity * label->configured;
	label->absolute_maximum = above->absolute_maximum * label->configured_maximum;
	if (hierarchy->settings.is_legacy)
	{
		yq_amounts_multiply(&hierarchy->calculator, label->effective_minimum, hierarchy->totals[0], label->absolute_capacity);
		yq_amounts_multiply(&hierarchy->calculator, label->effective_maximum, hierarchy->totals[0], label->absolute_maximum);
	}
	else
		set_vector_of_share(hierarchy, plan, label);
	queue->most_applications = plan->most_applications;
	queue->most_applications_per_user = plan->most_applications_per_user;
}

/* -- both modes ------------------------------------------------------------ */

static void
forget_figures(const YqHierarchy *hierarchy, YqQueue *queue)
{
	Size		size = hierarchy->calculator.types * sizeof(int64);

	for (int i = 0; i < queue->label_count; i++)
	{
		YqQueueLabel *label = &queue->labels[i];

		label->capacity_fraction = label->configured;
		label->maximum_fraction = label->configured_maximum;
		label->normalized_weight = label->absolute_capacity = label->absolute_maximum = 0;
		memset(label->effective_minimum, 0, size);
		memset(label->effective_maximum, 0, size);
	}
}

static void
compute_queue(YqHierarchy *hierarchy, YqQueue *queue)
{
	if (yq_queue_is_of_plan(queue))
	{
		yq_queue_of_plan_compute(hierarchy, queue);
		return;
	}
	if (hierarchy->settings.is_legacy)
	{
		set_absolute_fractions(queue);
		normalize_weights(queue);
		set_effective_amounts(hierarchy, queue);
		set_minimum_ratios(hierarchy, queue);
	}
	else
	{
		if (queue->parent == NULL)
			set_effective_amounts(hierarchy, queue);
		yq_vector_compute_children(hierarchy, queue);
		for (int i = 0; i < queue->child_count && queue->kind != YQ_QUEUE_PLAN; i++)
		{
			for (int j = 0; j < queue->children[i]->label_count; j++)
			{
				YqQueueLabel *label = &queue->children[i]->labels[j];

				derive_fractions(hierarchy, queue->children[i], label, hierarchy->totals[label->label]);
			}
		}
	}
	set_template_fractions(hierarchy, queue);
	if (queue->kind == YQ_QUEUE_LEAF)
		set_application_limits(hierarchy, queue);
	else if (queue->kind == YQ_QUEUE_PLAN)
		set_plan_limits(queue);
}

void
yq_hierarchy_compute(YqHierarchy *hierarchy)
{
	MemoryContext old_context;
	int			count = hierarchy->queue_count - hierarchy->orphan_count;

	if (hierarchy->is_computed)
		return;
	old_context = MemoryContextSwitchTo(hierarchy->context);
	for (int i = 0; i < count; i++)
	{
		forget_figures(hierarchy, hierarchy->queues[i]);
		if (!hierarchy->settings.is_legacy)
			set_absolute_fractions(hierarchy->queues[i]);
	}
	for (int i = 0; i < count; i++)
		compute_queue(hierarchy, hierarchy->queues[i]);
	hierarchy->is_computed = true;
	MemoryContextSwitchTo(old_context);
}
