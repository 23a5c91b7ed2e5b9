/*-------------------------------------------------------------------------
 *
 * user_limit.c
 *	  How much a user may use of a leaf queue, and how much of that is left.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/user_limit.h"
#include "queues/effective.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

/* The inputs of the user limit of one leaf on one label. */
typedef struct Computation
{
	const YqQueue *queue;
	const YqCalculator *calculator;
	const YqQueueLabel *configured; /* NULL when the queue has nothing for the label */
	const int64 *total;			/* of the partition */
	const int64 *step;			/* minimum allocation */
	const int64 *guarantee;
	const int64 *capacity;		/* the guarantee, but a step at least */
	YqUserLimit *result;
} Computation;

static int64 *
copy_limit_amounts(const YqHierarchy *hierarchy, const int64 *amounts)
{
	int64	   *result = yq_hierarchy_amounts(hierarchy);

	memcpy(result, amounts, hierarchy->calculator.types * sizeof(int64));
	return result;
}

static void
copy_to_amounts(const YqCalculator *calculator, int64 *result, const int64 *a)
{
	memcpy(result, a, calculator->types * sizeof(int64));
}

static void
set_sum(const YqCalculator *calculator, int64 *result, const int64 *a, const int64 *b)
{
	for (int i = 0; i < calculator->types; i++)
		result[i] = a[i] + b[i];
}

static const int64 *
used_on(const YqLeafUser *user, int label)
{
	return user == NULL || user->used[label] == NULL ? nothing : user->used[label];
}

/* -- the limit ------------------------------------------------------------- */

/* The guarantee as long as it is not consumed; then there is always one step more. */
static void
set_current_capacity(const Computation *computation)
{
	const YqCalculator *calculator = computation->calculator;
	YqUserLimit *result = computation->result;

	yq_amounts_multiply_and_normalize_up(calculator, result->consumed, computation->total,
										 result->usage_ratio, computation->step);
	if (yq_amounts_compare(calculator, computation->total, result->consumed, computation->capacity) < 0)
		copy_to_amounts(calculator, result->current_capacity, computation->capacity);
	else
		set_sum(calculator, result->current_capacity, result->consumed, computation->step);
}

static void
set_shares(const Computation *computation, const int64 *used_by_sharers)
{
	const YqCalculator *calculator = computation->calculator;
	YqUserLimit *result = computation->result;

	if (result->sharers == YQ_ALL_USERS)
		copy_to_amounts(calculator, result->used, result->current_capacity);
	else
		set_sum(calculator, result->used, used_by_sharers, computation->step);
	yq_amounts_divide_and_ceil(calculator, result->share, result->used, result->weights);

	yq_amounts_multiply(calculator, result->minimum_share, result->current_capacity,
						computation->queue->user_limit);
	yq_amounts_divide_by_integer_and_ceil(calculator, result->minimum_share, result->minimum_share, 100);
}

static void
set_most(const Computation *computation, bool ignores_exclusivity)
{
	const YqCalculator *calculator = computation->calculator;
	const YqQueue *queue = computation->queue;
	YqUserLimit *result = computation->result;

	if (ignores_exclusivity)
		copy_to_amounts(calculator, result->most, computation->total);
	/* the factor is off, or there is nothing to multiply by it */
	else if (queue->user_limit_factor == -1 || yq_amounts_are_none(calculator, computation->guarantee))
		yq_amounts_round_down(calculator, result->most,
							  computation->configured == NULL ? nothing : computation->configured->effective_maximum,
							  computation->step);
	else
		yq_amounts_multiply(calculator, result->most, computation->capacity, queue->user_limit_factor);
}

static void
set_limit(const Computation *computation)
{
	const YqCalculator *calculator = computation->calculator;
	YqUserLimit *result = computation->result;
	const int64 *limit = yq_amounts_max(calculator, computation->total, result->share, result->minimum_share);

	limit = yq_amounts_min(calculator, computation->total, limit, result->most);
	yq_amounts_round_up(calculator, result->limit, limit, computation->step);
}

YqUserLimit *
yq_user_limit_create(const YqHierarchy *hierarchy)
{
	YqUserLimit *result = palloc0(sizeof(YqUserLimit));

	result->consumed = yq_hierarchy_amounts(hierarchy);
	result->current_capacity = yq_hierarchy_amounts(hierarchy);
	result->used = yq_hierarchy_amounts(hierarchy);
	result->share = yq_hierarchy_amounts(hierarchy);
	result->minimum_share = yq_hierarchy_amounts(hierarchy);
	result->most = yq_hierarchy_amounts(hierarchy);
	result->limit = yq_hierarchy_amounts(hierarchy);
	return result;
}

void
yq_user_limit_derive(const YqHierarchy *hierarchy, const YqQueue *queue, int label,
					 bool ignores_exclusivity, const int64 *used_by_sharers, YqUserLimit *limit)
{
	Computation computation = {.queue = queue, .calculator = &hierarchy->calculator, .result = limit,
	.step = hierarchy->settings.minimum_allocation, .total = hierarchy->totals[label]};

	computation.configured = yq_queue_label(queue, label);
	computation.guarantee = computation.configured == NULL ? nothing : computation.configured->effective_minimum;
	computation.capacity = yq_amounts_max(computation.calculator, computation.total,
										  computation.guarantee, computation.step);
	set_current_capacity(&computation);
	set_shares(&computation, used_by_sharers);
	set_most(&computation, ignores_exclusivity);
	set_limit(&computation);
}

/* -- sums over users ------------------------------------------------------- */

static void
sum_up_users(const YqLeafUsage *leaf, int label, YqUserLimit *result, int64 *used_by_sharers)
{
	const YqCalculator *calculator = &leaf->hierarchy->calculator;

	for (int i = 0; i < leaf->user_count; i++)
	{
		const YqLeafUser *user = leaf->users[i];
		const int64 *used = used_on(user, label);

		result->usage_ratio += yq_amounts_ratio(calculator, used, leaf->hierarchy->totals[label]);
		if (result->sharers == YQ_ACTIVE_USERS && !yq_leaf_user_is_active(user))
			continue;
		result->users++;
		result->weights += user->weight;
		for (int j = 0; j < calculator->types; j++)
			used_by_sharers[j] += used[j];
	}
}

YqUserLimit *
yq_user_limit_compute(YqLeafUsage *leaf, int label, YqSharers sharers, bool ignores_exclusivity)
{
	YqUserLimit *result = yq_user_limit_create(leaf->hierarchy);
	int64		used_by_sharers[YQ_MAX_RESOURCE_TYPES] = {0};

	yq_leaf_read_usage(leaf);
	result->sharers = sharers;
	sum_up_users(leaf, label, result, used_by_sharers);
	yq_user_limit_derive(leaf->hierarchy, leaf->queue, label, ignores_exclusivity, used_by_sharers, result);
	return result;
}

int64 *
yq_user_limit_for(const YqLeafUsage *leaf, const YqUserLimit *limit, float4 weight)
{
	const YqHierarchy *hierarchy = leaf->hierarchy;
	int64	   *result = yq_hierarchy_amounts(hierarchy);

	yq_amounts_multiply_and_normalize_down(&hierarchy->calculator, result, limit->limit, weight,
										   hierarchy->settings.minimum_allocation);
	return result;
}

bool
yq_user_may_be_assigned(const YqLeafUsage *leaf, const int64 *used, const int64 *limit)
{
	return yq_amounts_compare(&leaf->hierarchy->calculator, leaf->hierarchy->cluster, used, limit) <= 0;
}

/* -- headroom -------------------------------------------------------------- */

/* a - b, of memory and cores at least nothing. */
static void
subtract_within_zero(const YqHierarchy *hierarchy, int64 *result, const int64 *a, const int64 *b)
{
	for (int i = 0; i < hierarchy->calculator.types; i++)
		result[i] = a[i] - b[i];
	result[YQ_MEMORY] = Max(result[YQ_MEMORY], 0);
	result[YQ_VCORES] = Max(result[YQ_VCORES], 0);
}

/* The limit of the queue; in the default partition, the part that other queues leave. */
static int64 *
queue_limit(const YqLeafUsage *leaf, const YqQueueLabel *configured)
{
	const YqHierarchy *hierarchy = leaf->hierarchy;
	int64	   *most = yq_hierarchy_amounts(hierarchy);

	if (configured == NULL)
		return most;
	if (configured->label != 0)
		return copy_limit_amounts(hierarchy, configured->effective_maximum);
	yq_amounts_round_down(&hierarchy->calculator, most, configured->effective_maximum,
						  hierarchy->settings.minimum_allocation);
	return copy_limit_amounts(hierarchy, yq_amounts_min(&hierarchy->calculator, hierarchy->cluster, most,
														yq_queue_limit(hierarchy, leaf->queue)));
}

static void
set_headroom(const YqHierarchy *hierarchy, YqHeadroom *result)
{
	int64		left_to_user[YQ_MAX_RESOURCE_TYPES] = {0};
	int64		left_to_queue[YQ_MAX_RESOURCE_TYPES] = {0};
	const int64 *least;

	subtract_within_zero(hierarchy, left_to_user, result->user_limit, result->user_used);
	subtract_within_zero(hierarchy, left_to_queue, result->queue_limit, result->queue_used);
	for (int i = 0; i < hierarchy->calculator.types; i++)
		left_to_user[i] = Min(left_to_user[i], left_to_queue[i]);
	yq_amounts_round_down(&hierarchy->calculator, left_to_user, left_to_user,
						  hierarchy->settings.minimum_allocation);
	least = yq_amounts_min(&hierarchy->calculator, result->total, result->free, left_to_user);
	result->headroom = copy_limit_amounts(hierarchy, least);
	result->headroom[YQ_MEMORY] = Max(result->headroom[YQ_MEMORY], 0);
}

YqHeadroom *
yq_headroom_compute(YqLeafUsage *leaf, int label, const char *username)
{
	YqHierarchy *hierarchy = leaf->hierarchy;
	YqUserLimit *limit = yq_user_limit_compute(leaf, label, YQ_ACTIVE_USERS, false);
	const YqLeafUser *user = yq_leaf_user(leaf, username);
	const YqQueueLabel *configured = yq_queue_label(leaf->queue, label);
	const YqQueueLabel *of_root = yq_queue_label(hierarchy->root, label);
	const int64 *used = of_root == NULL ? nothing : of_root->used;
	YqHeadroom *result = palloc0(sizeof(YqHeadroom));

	yq_hierarchy_read_usage(hierarchy);
	result->user_limit = yq_user_limit_for(leaf, limit, user == NULL ? 1 : user->weight);
	result->user_used = used_on(user, label);
	result->queue_limit = queue_limit(leaf, configured);
	result->queue_used = configured == NULL ? nothing : configured->used;
	result->total = hierarchy->totals[label];
	result->free = yq_hierarchy_amounts(hierarchy);
	for (int i = 0; i < hierarchy->calculator.types; i++)
		result->free[i] = result->total[i] - used[i];
	set_headroom(hierarchy, result);
	return result;
}
