/*-------------------------------------------------------------------------
 *
 * limits.c
 *	  Limits of queues and users in an allocation cycle.
 *
 *-------------------------------------------------------------------------
 */
#include "base/compat.h"

#include "admission/application/leaf_usage.h"
#include "scheduler/state/limits.h"

static const int64 nothing[YQ_MAX_RESOURCE_TYPES];

static void
assign_amounts(const YqCluster *cluster, int64 *result, const int64 *a)
{
	/* for few types a loop is faster than a call of memcpy() */
	for (int i = 0; i < cluster->calculator->types; i++)
		result[i] = a[i];
}

static void
set_difference(const YqCluster *cluster, int64 *result, const int64 *a, const int64 *b)
{
	for (int i = 0; i < cluster->calculator->types; i++)
		result[i] = a[i] - b[i];
}

static int
compare_resources(const YqCluster *cluster, const int64 *a, const int64 *b)
{
	return yq_amounts_compare(cluster->calculator, cluster->hierarchy->cluster, a, b);
}

static const int64 *
minimum_allocation(const YqCluster *cluster)
{
	return cluster->hierarchy->settings.minimum_allocation;
}

/* -- queues ---------------------------------------------------------------- */

void
yq_limits_set(const YqCluster *cluster, YqLimits *limits, const int64 *limit)
{
	for (int i = 0; i < cluster->calculator->types; i++)
	{
		limits->limit[i] = limit[i];
		limits->headroom[i] = limits->blocked[i] = limits->to_unreserve[i] = 0;
	}
	limits->uses_killable = false;
}

/* Set "result" to the smaller of two resources, compared as a whole.  "result" may point to one of them. */
static void
set_least(const YqCluster *cluster, int64 *result, const int64 *a, const int64 *b)
{
	const int64 *least = yq_amounts_min(cluster->calculator, cluster->hierarchy->cluster, a, b);

	if (least != result)
		assign_amounts(cluster, result, least);
}

void
yq_limits_set_left(const YqCluster *cluster, const YqClusterQueue *parent, int label, YqLimits *limits, int64 *left)
{
	int64		counted[YQ_MAX_RESOURCE_TYPES];

	yq_queue_set_counted(cluster, parent, label, counted);
	set_least(cluster, limits->limit, limits->limit, parent->maximum[label]);
	for (int i = 0; i < cluster->calculator->types; i++)
		left[i] = limits->limit[i] - limits->blocked[i] - counted[i];
}

void
yq_limits_set_of_child(const YqCluster *cluster, const YqClusterQueue *child, int label, const int64 *left,
					   YqLimits *of_child)
{
	const int64 *used = yq_at(cluster, child->used, label);
	int64		limit[YQ_MAX_RESOURCE_TYPES];

	for (int i = 0; i < cluster->calculator->types; i++)
		limit[i] = left[i] + used[i];
	yq_amounts_round_down(cluster->calculator, limit, limit, minimum_allocation(cluster));
	yq_limits_set(cluster, of_child, limit);
}

const int64 *
yq_limits_kept(const YqCluster *cluster, const YqClusterQueue *queue, const YqLimits *limits)
{
	return yq_amounts_max(cluster->calculator, cluster->hierarchy->cluster,
						  queue->is_leaf ? limits->headroom : limits->blocked, nothing);
}

void
yq_queue_set_counted(const YqCluster *cluster, const YqClusterQueue *queue, int label, int64 *counted)
{
	set_difference(cluster, counted, yq_at(cluster, queue->used, label),
				   queue->is_leaf ? nothing : yq_at(cluster, queue->killable, label));
}

const int64 *
yq_queue_guarantee(const YqClusterQueue *queue, int label)
{
	const YqQueueLabel *configured = queue->ranks[label].configured;

	return configured == NULL ? nothing : configured->effective_minimum;
}

bool
yq_queue_may_use_killable(const YqCluster *cluster, const YqClusterQueue *leaf, int label)
{
	const int64 *used = yq_at(cluster, leaf->used, label);
	const int64 *guarantee = yq_queue_guarantee(leaf, label);
	const int64 *total = cluster->hierarchy->totals[label];

	if (!yq_amounts_are_none(cluster->calculator, guarantee))
		return compare_resources(cluster, used, guarantee) < 0;
	/* the guarantee rounds to zero */
	return leaf->ranks[label].has_capacity &&
		yq_amounts_divide(cluster->calculator, total, used, total) < leaf->ranks[label].configured->absolute_capacity;
}

bool
yq_queue_may_assign(const YqCluster *cluster, const YqClusterQueue *queue, int label,
					YqSchedulingMode mode, const int64 *unreservable, YqLimits *limits)
{
	const int64 *limit;
	int64		used[YQ_MAX_RESOURCE_TYPES];
	int64		without_reservations[YQ_MAX_RESOURCE_TYPES];

	if (mode == YQ_RESPECT_EXCLUSIVITY)
		limit = yq_amounts_min(cluster->calculator, cluster->hierarchy->cluster,
							   queue->maximum[label], limits->limit);
	else
		limit = cluster->hierarchy->totals[label];
	yq_queue_set_counted(cluster, queue, label, used);
	set_difference(cluster, limits->headroom, limit, used);
	if (compare_resources(cluster, used, limit) < 0)
		return true;
	if (!cluster->settings.continues_looking || compare_resources(cluster, unreservable, nothing) <= 0)
		return false;
	set_difference(cluster, without_reservations, used, unreservable);
	return compare_resources(cluster, without_reservations, limit) < 0;
}

/* -- demand ---------------------------------------------------------------- */

/*
 * Add demand.  As in Hadoop, a sum beyond 64 bits wraps around; it is correct again after
 * the demand has been removed.
 */
static void
add_pending(const YqCluster *cluster, int64 *pending, const int64 *amounts, int64 count)
{
	for (int i = 0; i < cluster->calculator->types; i++)
		pending[i] = (int64) ((uint64) pending[i] + (uint64) amounts[i] * (uint64) count);
}

void
yq_pending_change(const YqCluster *cluster, YqClusterApplication *application, int label,
				  const int64 *amounts, int64 count)
{
	add_pending(cluster, yq_at(cluster, application->pending, label), amounts, count);
	for (YqClusterQueue *queue = application->leaf; queue != NULL; queue = queue->parent)
	{
		int64	   *pending = yq_at(cluster, queue->pending, label);

		add_pending(cluster, pending, amounts, count);
		queue->is_demanding[label] = compare_resources(cluster, pending, nothing) > 0;
	}
}

/* -- users ----------------------------------------------------------------- */

/* Discard all limits that were computed from the usage of a leaf's users. */
static void
forget_limits(const YqCluster *cluster, YqClusterQueue *leaf)
{
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
	{
		YqLeafShares *shares = &leaf->shares[label];

		shares->is_current[YQ_RESPECT_EXCLUSIVITY] = shares->is_current[YQ_IGNORE_EXCLUSIVITY] = false;
		shares->version++;
	}
}

static void
sum_up_weights(YqClusterQueue *leaf)
{
	leaf->active_weights = 0;
	for (int i = 0; i < leaf->user_count; i++)
	{
		if (leaf->users[i]->is_active)
			leaf->active_weights += leaf->users[i]->weight;
	}
}

static void
sum_up_label(const YqCluster *cluster, YqClusterQueue *leaf, int label)
{
	YqLeafShares *shares = &leaf->shares[label];

	shares->usage_ratio = 0;
	assign_amounts(cluster, shares->used_by_active, nothing);
	for (int i = 0; i < leaf->user_count; i++)
	{
		YqClusterUser *user = leaf->users[i];
		const int64 *used = yq_at(cluster, user->used, label);

		user->usage_ratio[label] = yq_amounts_ratio(cluster->calculator, used,
													cluster->hierarchy->totals[label]);
		shares->usage_ratio += user->usage_ratio[label];
		if (user->is_active)
			yq_amounts_add(cluster->calculator, shares->used_by_active, used);
	}
}

void
yq_users_sum_up(const YqCluster *cluster, YqClusterQueue *leaf)
{
	sum_up_weights(leaf);
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
		sum_up_label(cluster, leaf, label);
	forget_limits(cluster, leaf);
}

void
yq_user_change_usage(const YqCluster *cluster, YqClusterUser *user, int label,
					 const int64 *amounts, int sign)
{
	YqLeafShares *shares = &user->leaf->shares[label];
	int64	   *used = yq_at(cluster, user->used, label);
	float4		ratio;

	for (int i = 0; i < cluster->calculator->types; i++)
	{
		used[i] += sign * amounts[i];
		if (user->is_active)
			shares->used_by_active[i] += sign * amounts[i];
	}
	/* the difference of floats is added, as in Hadoop */
	ratio = yq_amounts_ratio(cluster->calculator, used, cluster->hierarchy->totals[label]);
	shares->usage_ratio += ratio - user->usage_ratio[label];
	user->usage_ratio[label] = ratio;
	forget_limits(cluster, user->leaf);
}

void
yq_user_note_satisfied(const YqCluster *cluster, YqClusterUser *user)
{
	YqClusterQueue *leaf = user->leaf;

	if (--user->demanding > 0 || !user->is_active)
		return;
	user->is_active = false;
	sum_up_weights(leaf);
	for (int label = 0; label < cluster->hierarchy->label_count; label++)
		set_difference(cluster, leaf->shares[label].used_by_active, leaf->shares[label].used_by_active,
					   yq_at(cluster, user->used, label));
	forget_limits(cluster, leaf);
}

/* Return the limit of a user with weight 1. */
static const int64 *
limit_of_leaf(const YqCluster *cluster, const YqClusterQueue *leaf, int label, YqSchedulingMode mode)
{
	YqLeafShares *shares = &leaf->shares[label];
	YqUserLimit *computed = cluster->user_limit;

	if (!shares->is_current[mode])
	{
		computed->weights = leaf->active_weights;
		computed->usage_ratio = shares->usage_ratio;
		yq_user_limit_derive(cluster->hierarchy, leaf->queue, label, mode == YQ_IGNORE_EXCLUSIVITY,
							 shares->used_by_active, computed);
		assign_amounts(cluster, shares->limit[mode], computed->limit);
		shares->is_current[mode] = true;
	}
	return shares->limit[mode];
}

const int64 *
yq_user_limit(const YqCluster *cluster, YqClusterUser *user, int label, YqSchedulingMode mode)
{
	uint64		version = user->leaf->shares[label].version;
	int64	   *limit = yq_at(cluster, user->limit[mode], label);

	if (user->limit_version[mode][label] == version)
		return limit;
	yq_amounts_multiply_and_normalize_down(cluster->calculator, limit, limit_of_leaf(cluster, user->leaf, label, mode),
										   user->weight, minimum_allocation(cluster));
	user->limit_version[mode][label] = version;
	return limit;
}

/*
 * Is the user below the limit?  The result is the same for all applications of the user,
 * until a value changes.
 */
static bool
is_below_limit(const YqCluster *cluster, YqClusterUser *user, int label, YqSchedulingMode mode)
{
	uint64		version = user->leaf->shares[label].version;

	if (user->below_version == version && user->below_label == label && user->below_mode == mode)
		return true;
	if (compare_resources(cluster, yq_at(cluster, user->used, label), yq_user_limit(cluster, user, label, mode)) > 0)
		return false;
	user->below_version = version;
	user->below_label = label;
	user->below_mode = mode;
	return true;
}

/*
 * Would the user be below the limit if the application gave up its reservations?  As in
 * Hadoop, the reserved amounts and the remaining usage are those of the default partition,
 * whatever the label is.
 */
static bool
is_below_without(const YqCluster *cluster, YqClusterUser *user, int label, YqSchedulingMode mode, const int64 *reserved)
{
	int64		without_reservations[YQ_MAX_RESOURCE_TYPES];

	if (!cluster->settings.continues_looking)
		return false;
	set_difference(cluster, without_reservations, yq_at(cluster, user->used, 0), reserved);
	return compare_resources(cluster, without_reservations, yq_user_limit(cluster, user, label, mode)) <= 0;
}

bool
yq_user_may_assign(const YqCluster *cluster, const YqClusterApplication *application, int label,
				   YqSchedulingMode mode, YqLimits *limits)
{
	YqClusterUser *user = application->user;

	assign_amounts(cluster, limits->to_unreserve, nothing);
	if (is_below_limit(cluster, user, label, mode))
		return true;
	if (!is_below_without(cluster, user, label, mode, yq_at(cluster, application->reserved, 0)))
		return false;
	set_difference(cluster, limits->to_unreserve, yq_at(cluster, user->used, label),
				   yq_user_limit(cluster, user, label, mode));
	return true;
}
